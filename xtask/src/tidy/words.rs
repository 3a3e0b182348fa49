//! Rule about words: documents, doc comments and messages use the terms of the glossary in ARCHITECTURE.md, not the
//! retired ones.
//!
//! The rule reads Markdown outside of code, `//!` and `///` comments, and string literals of several words. It does not
//! read plain comments, identifiers and the messages of tests: their readers have the file before them.

use super::standing::UNSWEPT;
use super::{Finding, SourceFile, Tree, finding};

/// A word or phrase, in lower case, and what to say instead.
struct RetiredTerm {
    phrase: &'static str,
    say: &'static str,
    /// Words before it that make it fine: "there is no" is English, "that is no number" is not.
    unless_after: &'static [&'static str],
    /// Words after it that make it fine.
    unless_before: &'static [&'static str],
}

const fn retired(phrase: &'static str, say: &'static str) -> RetiredTerm {
    RetiredTerm { phrase, say, unless_after: &[], unless_before: &[] }
}

/// The right column of the glossary, and the phrases of STYLE.md. A new term of the glossary adds its retired words
/// here.
const RETIRED: &[RetiredTerm] = &[
    retired("texts", "strings"),
    retired("number of a text", "dictionary index"),
    retired("numbers of texts", "dictionary indices"),
    retired("whole number", "integer"),
    retired("whole numbers", "integers"),
    retired("number with a point", "decimal literal"),
    retired("numbers with a point", "decimal literals"),
    retired("moments", "timestamps"),
    retired("stretch of time", "interval, or time bucket"),
    retired("stretches of time", "intervals, or time buckets"),
    retired("clocks of a zone", "local time"),
    retired("zone's clocks", "local time"),
    retired("text that is made", "computed string"),
    retired("texts that are made", "computed strings"),
    retired("where there is none", "null, or if there is none"),
    retired("parted", "partitioned"),
    retired("in parts", "out of core, or in partitions"),
    retired("joined table", "build side"),
    retired("rows become several", "join expansion"),
    retired("rows that become several", "join expansion"),
    retired("each row finds one", "foreign-key join"),
    retired("first rows of an order", "top-k"),
    retired("make room", "evict"),
    retired("makes room", "evicts"),
    retired("made room", "was evicted"),
    retired("making room", "eviction"),
    retired("page-locked", "pinned"),
    retired("shelf", "cache"),
    retired("mailbox", "completion flag"),
    retired("lend", "export"),
    retired("lends", "exports"),
    retired("lent", "exported"),
    retired("lending", "export"),
    retired("misfit", "overflow policy"),
    retired("complaint", "diagnostic"),
    retired("complaints", "diagnostics"),
    retired("refusal", "reason, or unsupported"),
    retired("refusals", "reasons, or unsupported"),
    retired("the kit", "the prelude build"),
    retired("of its own", "separate"),
    retired("of their own", "separate"),
    retired("of our own", "of Onrush, or separate"),
    retired("of one's own", "user-defined"),
    retired("the same of", "repeat the noun"),
    retired("kin", "similar"),
    retired("beside", "next to, with, or in addition to"),
    retired("one behind the other", "one after another, or concatenated"),
    retired("whoever", "name the reader"),
    retired("mended", "fixed"),
    RetiredTerm {
        phrase: "is no",
        say: "is not a",
        unless_after: &["there"],
        unless_before: &["longer", "more", "faster", "slower", "larger", "smaller", "better"],
    },
];

/// Reports retired words, and entries of `UNSWEPT` without any.
pub fn retired_words(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut clean: Vec<&str> = UNSWEPT.to_vec();
    for file in &tree.sources {
        let found = words_of(file);
        let Some(start) = UNSWEPT.iter().find(|start| file.path.starts_with(start)) else {
            findings.extend(found.into_iter().map(|(line, message)| finding("words", file.place(line), message)));
            continue;
        };
        if !found.is_empty() {
            clean.retain(|other| other != start);
        }
    }
    findings.extend(clean.into_iter().map(|start| {
        let message = format!("`{start}` has no retired words: take it out of UNSWEPT");
        finding("words", "xtask/src/tidy/standing.rs", message)
    }));
    findings
}

/// Each line with a retired word, and the message.
fn words_of(file: &SourceFile) -> Vec<(usize, String)> {
    let mut findings = Vec::new();
    for prose in prose_of(file) {
        let lines: Vec<String> = prose.iter().map(|(_, text)| without_code(text).to_lowercase()).collect();
        for (index, (line, _)) in prose.iter().enumerate() {
            // A phrase may go on in the next line.
            let next = lines.get(index + 1).map_or("", String::as_str);
            let both = format!("{} {}", lines[index].trim(), next.trim());
            let end = lines[index].trim().len();
            for word in RETIRED.iter().filter(|word| word.is_in(&both, end)) {
                findings.push((*line, format!("`{}` is retired: say \"{}\"", word.phrase, word.say)));
            }
        }
    }
    findings
}

impl RetiredTerm {
    /// Whether the phrase begins in the first `end` bytes of a text.
    fn is_in(&self, text: &str, end: usize) -> bool {
        text.match_indices(self.phrase).any(|(at, phrase)| {
            let (before, after) = (&text[..at], &text[at + phrase.len()..]);
            let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
            let last = before.split_whitespace().next_back().unwrap_or_default();
            let next = after.split_whitespace().next().unwrap_or_default();
            let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_string();
            at < end
                && !before.ends_with(is_word)
                && !after.starts_with(is_word)
                && !self.unless_after.contains(&plain(last).as_str())
                && !self.unless_before.contains(&plain(next).as_str())
        })
    }
}

/// Runs of consecutive lines of prose, each with its number in the file.
type Prose = Vec<(usize, String)>;

/// This file has the retired words as data.
const SELF: &str = "xtask/src/tidy/words.rs";

fn prose_of(file: &SourceFile) -> Vec<Prose> {
    if file.is("md") {
        return vec![markdown(&file.text)];
    }
    if !file.is("rs") || file.path.as_os_str() == SELF {
        return Vec::new();
    }
    let mut all = vec![doc_comments(&file.text)];
    let is_test = file.path.components().any(|part| part.as_os_str() == "tests")
        || file.path.file_stem().is_some_and(|stem| stem == "tests");
    if !is_test {
        all.extend(messages(&file.text));
    }
    all
}

/// The lines outside of code blocks.
fn markdown(text: &str) -> Prose {
    let mut in_block = false;
    let lines = text.lines().enumerate().filter_map(|(index, line)| {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            return None;
        }
        (!in_block).then(|| (index + 1, line.to_string()))
    });
    lines.collect()
}

fn doc_comments(text: &str) -> Prose {
    let mut in_block = false;
    let lines = text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.trim_start();
        let comment = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"))?;
        if comment.trim_start().starts_with("```") {
            in_block = !in_block;
            return None;
        }
        (!in_block).then(|| (index + 1, comment.to_string()))
    });
    lines.collect()
}

/// String literals of several words, in code that is not a test.
fn messages(text: &str) -> Vec<Prose> {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut literals = string_literals(code);
    literals.retain(|(_, literal)| literal.trim().contains(' ') && literal.contains(char::is_alphabetic));
    let as_lines = |(line, literal): (usize, String)| -> Prose {
        literal.lines().enumerate().map(|(index, text)| (line + index, text.to_string())).collect()
    };
    literals.into_iter().map(as_lines).collect()
}

/// Each string literal with the line on which it begins. Comments, characters and lifetimes are passed over.
fn string_literals(code: &str) -> Vec<(usize, String)> {
    let chars: Vec<char> = code.chars().collect();
    let mut literals = Vec::new();
    let mut at = 0;
    let mut line = 1;
    while at < chars.len() {
        let rest = &chars[at..];
        let start = line;
        let length = match rest {
            ['/', '/', ..] => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
            ['"', ..] => {
                let end = closing_quote(rest);
                literals.push((start, rest[1..end].iter().collect()));
                end + 1
            }
            ['r', '"' | '#', ..] if !is_in_name(&chars, at) => raw_string(rest).map_or(1, |(hashes, end)| {
                literals.push((start, rest[hashes + 2..end].iter().collect()));
                end + hashes + 1
            }),
            ['\'', '\\', _, ..] => 3 + rest[3..].iter().position(|c| *c == '\'').unwrap_or(0),
            ['\'', _, '\'', ..] => 3,
            _ => 1,
        };
        let end = (at + length).min(chars.len());
        line += chars[at..end].iter().filter(|c| **c == '\n').count();
        at = end;
    }
    literals
}

fn closing_quote(chars: &[char]) -> usize {
    let mut at = 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at.min(chars.len())
}

/// How many `#` a raw string has, and where its closing quote is.
fn raw_string(chars: &[char]) -> Option<(usize, usize)> {
    let hashes = chars[1..].iter().take_while(|c| **c == '#').count();
    let body = hashes + 2;
    if chars.get(hashes + 1) != Some(&'"') {
        return None;
    }
    let closes = |at: &usize| chars[*at] == '"' && chars[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes;
    (body..chars.len()).find(closes).map(|end| (hashes, end))
}

fn is_in_name(chars: &[char], at: usize) -> bool {
    at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_')
}

/// Code between backticks is not prose.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let file = SourceFile { path: path.into(), text: text.into() };
        words_of(&file).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn retired_words_are_found_in_documents() {
        assert_eq!(
            lines("a.md", "Whole numbers are read.\n\nA text and `texts`.\n```\ntexts\n```\nIt is\nno column.\n"),
            [1, 7]
        );
        assert!(lines("a.md", "\"There is no column.\" It is no longer there. The contexts are apart.\n").is_empty());
    }

    #[test]
    fn retired_words_are_found_in_docs_and_messages() {
        let code = "//! Texts.\n// texts\n/// Whole numbers.\nfn f() { g(\"this is no column\", 'a', r#\"a \"x\" of texts\"#, \"texts\") }\n";
        assert_eq!(lines("src/a.rs", code), [1, 3, 4, 4]);
        assert_eq!(lines("tests/a.rs", code), [1, 3]);
        let tests = "fn f<'a>() {}\n#[cfg(test)]\nmod tests {\n    const A: &str = \"of texts\";\n}\n";
        assert!(lines("src/a.rs", tests).is_empty());
    }

    #[test]
    fn the_rule_fails_on_a_retired_word_and_on_a_folder_that_is_clean() {
        let bad = SourceFile { path: "new/a.md".into(), text: "Of texts.".into() };
        let tree = Tree { root: PathBuf::new(), paths: Vec::new(), sources: vec![bad], packages: Vec::new() };
        let findings = retired_words(&tree);
        assert_eq!(findings[0].place, "new/a.md:1");
        assert_eq!(findings.len(), 1 + UNSWEPT.len());
    }
}
