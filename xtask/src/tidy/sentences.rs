//! The rules of prose for the comments of source files: how sentences begin, how long they are, and how wide lines are.
//! Documents are in `documents`, retired words in `words`.
//!
//! A sentence of code in backticks has one word for it. Blocks of code in doc comments and tables are not read.

use std::collections::BTreeMap;

use super::sentence_counts::{STANDING, Standing};
use super::{Finding, SourceFile, Tree, finding};

const EXTENSIONS: &[&str] = &["rs", "cuh", "cu", "cpp", "h", "ts", "tsx"];
/// Beginnings of sentences whose subject is not a noun.
const BEGINNINGS: &[&str] = &["What", "Of", "Where", "Which", "Those", "Whoever"];
const MAX_WORDS: usize = 25;
/// Columns of a line of a comment, as of code (`rustfmt.toml`).
const MAX_WIDTH: usize = 120;

/// A place in a comment that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    pub message: String,
}

/// The places of one crate.
#[derive(Default)]
pub struct CratePlaces {
    pub sentences: Vec<(String, String)>,
    pub wide_lines: Vec<(String, String)>,
}

pub fn sentences(tree: &Tree) -> Vec<Finding> {
    let found = places(tree);
    counted("sentences", STANDING, |row| row.sentences, found.iter().map(|(folder, all)| (&**folder, &*all.sentences)))
}

pub fn comment_width(tree: &Tree) -> Vec<Finding> {
    let found = places(tree);
    let wide = found.iter().map(|(folder, all)| (&**folder, &*all.wide_lines));
    counted("comment-width", STANDING, |row| row.wide_lines, wide)
}

/// The places that break the rules, for each crate.
pub fn places(tree: &Tree) -> BTreeMap<String, CratePlaces> {
    let mut all: BTreeMap<String, CratePlaces> = BTreeMap::new();
    for file in &tree.sources {
        if !EXTENSIONS.iter().any(|extension| file.is(extension)) {
            continue;
        }
        let places = all.entry(tree.crate_folder(&file.path)).or_default();
        let named = |place: Place| (file.place(place.line), place.message);
        places.sentences.extend(broken_sentences(&file.text).into_iter().map(named));
        places.wide_lines.extend(wide_comments(file).into_iter().map(named));
    }
    all
}

/// More places than a crate's row has are all reported, and fewer ask for a smaller number.
fn counted<'a>(
    rule: &'static str,
    standing: &[Standing],
    number: impl Fn(&Standing) -> usize,
    found: impl Iterator<Item = (&'a str, &'a [(String, String)])>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut gone: Vec<&Standing> = standing.iter().filter(|row| number(row) > 0).collect();
    for (folder, places) in found {
        let allowed = standing.iter().find(|row| row.folder == folder).map_or(0, &number);
        gone.retain(|row| row.folder != folder);
        if places.len() < allowed {
            findings.push(too_many(rule, folder, places.len(), allowed));
        }
        if places.len() > allowed {
            let message = format!("{} places break the rule, and {allowed} stand: mend the new ones", places.len());
            findings.push(finding(rule, folder, message));
            findings.extend(places.iter().map(|(place, message)| finding(rule, place.clone(), message.clone())));
        }
    }
    findings.extend(gone.into_iter().map(|row| too_many(rule, row.folder, 0, number(row))));
    findings
}

fn too_many(rule: &'static str, folder: &str, found: usize, allowed: usize) -> Finding {
    let message = format!("`{folder}` has {found} places, and {allowed} are allowed: lower the count");
    finding(rule, "xtask/src/tidy/sentence_counts.rs", message)
}

/// A word of a comment, and its line.
struct Word {
    line: usize,
    /// Code in backticks is one `X`.
    text: String,
}

fn broken_sentences(text: &str) -> Vec<Place> {
    paragraphs(text).iter().flat_map(|lines| broken_in(&words(lines))).collect()
}

fn broken_in(words: &[Word]) -> Vec<Place> {
    let mut places = Vec::new();
    let mut start = 0;
    for end in 1..=words.len() {
        let is_end = words.get(end).is_none_or(|next| {
            words[end - 1].text.ends_with(['.', '!', '?', ':', ';'])
                && next.text.starts_with(|c: char| c.is_ascii_uppercase() || c == '[')
        });
        if is_end {
            places.extend(broken(&words[start..end]));
            start = end;
        }
    }
    places
}

fn broken(sentence: &[Word]) -> Option<Place> {
    let first = sentence.first()?;
    let beginning = first.text.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
    let text = || sentence.iter().map(|word| &*word.text).collect::<Vec<_>>().join(" ");
    let message = if BEGINNINGS.contains(&beginning) {
        format!("a sentence begins with `{beginning}`, and its subject is a noun: {}", text())
    } else if sentence.len() > MAX_WORDS {
        format!("a sentence has {} words, and the limit is {MAX_WORDS}: {}", sentence.len(), text())
    } else {
        return None;
    };
    Some(Place { line: first.line, message })
}

/// The words of a paragraph.
fn words(lines: &[(usize, &str)]) -> Vec<Word> {
    let joined: Vec<(usize, char)> =
        lines.iter().flat_map(|(line, text)| text.chars().chain(['\n']).map(|c| (*line, c))).collect();
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut at = 0;
    while let Some((line, c)) = joined.get(at).copied() {
        at += 1;
        let code = if c == '`' { joined[at..].iter().position(|(_, c)| *c == '`') } else { None };
        if c.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let text = &mut word.get_or_insert_with(|| Word { line, text: String::new() }).text;
        match code {
            Some(length) => {
                text.push('X');
                at += length + 1;
            }
            None => text.push(c),
        }
    }
    words
}

/// The lines of one paragraph or list item, without comment signs.
type Paragraph<'a> = Vec<(usize, &'a str)>;

fn paragraphs(text: &str) -> Vec<Paragraph<'_>> {
    let mut all: Vec<Paragraph<'_>> = vec![Vec::new()];
    let (mut in_code, mut in_block) = (false, false);
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = comment(line, &mut in_block) else {
            in_code = false;
            all.push(Vec::new());
            continue;
        };
        let is_fence = comment.starts_with("```");
        in_code ^= is_fence;
        if is_fence || in_code || comment.is_empty() || comment.starts_with('|') {
            all.push(Vec::new());
            continue;
        }
        if is_item(comment) || comment.starts_with('#') {
            all.push(Vec::new());
        }
        if let Some(paragraph) = all.last_mut() {
            paragraph.push((index + 1, without_sign(comment)));
        }
        if comment.starts_with('#') {
            all.push(Vec::new());
        }
    }
    all
}

/// The text of a line that is a comment and nothing else. `in_block` says whether a comment between `/*` and `*/` is
/// open.
fn comment<'a>(line: &'a str, in_block: &mut bool) -> Option<&'a str> {
    let line = line.trim();
    if !*in_block && !line.starts_with("/*") {
        let text = line.strip_prefix("//")?;
        return Some(text.strip_prefix(['/', '!']).unwrap_or(text).trim());
    }
    let start = line.strip_prefix("/*").unwrap_or(line);
    *in_block = !start.contains("*/");
    Some(start.split("*/").next().unwrap_or_default().trim_start_matches('*').trim())
}

fn is_item(comment: &str) -> bool {
    without_sign(comment).len() < comment.len()
}

/// A list item without its sign.
fn without_sign(comment: &str) -> &str {
    let number = comment.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = if number.len() < comment.len() { number.strip_prefix(". ") } else { None };
    comment.strip_prefix("- ").or_else(|| comment.strip_prefix("* ")).or(numbered).unwrap_or(comment)
}

fn wide_comments(file: &SourceFile) -> Vec<Place> {
    let mut in_block = false;
    let lines = file.text.lines().enumerate().filter_map(|(index, line)| {
        let columns = line.trim_end().chars().count();
        let is_comment = comment(line, &mut in_block).is_some();
        (is_comment && columns > MAX_WIDTH).then(|| {
            let message = format!("{columns} columns, and the limit is {MAX_WIDTH}: wrap the comment");
            Place { line: index + 1, message }
        })
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        broken_sentences(text).into_iter().map(|place| place.line).collect()
    }

    #[test]
    fn beginnings_of_sentences_are_found() {
        let text = "//! What a file is.\n//! A noun is here. Of a noun\n//! is not: Which is it?\n\nfn f() {}\n    // Whatever is read.\n    // Those are.\n";
        assert_eq!(lines(text), [1, 2, 3, 7]);
        assert!(lines("let x = 1; // What it is.\n\"What\"\n/// `What` is code. Nouns, of which.\n").is_empty());
    }

    #[test]
    fn long_sentences_are_found() {
        let words = |count: usize| "word ".repeat(count);
        assert!(lines(&format!("// {}\n// {}\n", words(12), words(13))).is_empty());
        assert_eq!(lines(&format!("\n// {}\n// {}\n", words(12), words(14))), [2]);
        assert!(lines(&format!("// {}.\n// Word {}\n", words(20).trim(), words(20))).is_empty());
        // Code is one word, and an open backtick is none.
        assert!(lines(&format!("// `{}` {}\n", words(20), words(24))).is_empty());
        assert_eq!(lines(&format!("// `{} {}\n", words(20), words(24))), [1]);
    }

    #[test]
    fn items_headings_and_code_are_separate() {
        let words = "word ".repeat(15);
        let text = format!("/// - {words}\n/// - {words}\n///   word\n/// 1. {words}\n/// # {words}\n/// {words}\n");
        assert!(lines(&text).is_empty());
        assert_eq!(lines("/// - a\n/// - Where it is.\n"), [2]);
        assert!(lines(&format!("/// ```\n/// {words} {words}\n/// ```\n/// | {words} | {words} |\n")).is_empty());
    }

    #[test]
    fn comments_of_other_languages_are_read() {
        assert_eq!(
            lines("/** Where it is. */\nlet a;\n/*\n * Noun.\n * What it is. */\n * What is a product.\n"),
            [1, 5]
        );
    }

    #[test]
    fn wide_comments_are_found() {
        let wide = "é".repeat(MAX_WIDTH - 2);
        let file = SourceFile { path: "a.cuh".into(), text: format!("//{wide}\n// {wide}\nf({wide}{wide});\n") };
        let found: Vec<usize> = wide_comments(&file).into_iter().map(|place| place.line).collect();
        assert_eq!(found, [2]);
    }

    #[test]
    fn counts_only_shrink() {
        let standing = |folder, sentences| Standing { folder, sentences, wide_lines: 0 };
        let rows = [standing("a", 1), standing("b", 2), standing("gone", 1), standing("clean", 0)];
        let place = |line: u32| (format!("x.rs:{line}"), "message".to_string());
        let (two, one) = ([place(1), place(2)], [place(3)]);
        let found = [("a", &two[..]), ("b", &one[..]), ("clean", &[]), ("new", &one[..])];
        let messages = counted("sentences", &rows, |row| row.sentences, found.into_iter());
        let messages: Vec<String> = messages.into_iter().map(|f| format!("{}: {}", f.place, f.message)).collect();
        assert_eq!(
            messages,
            [
                "a: 2 places break the rule, and 1 stand: mend the new ones",
                "x.rs:1: message",
                "x.rs:2: message",
                "xtask/src/tidy/sentence_counts.rs: `b` has 1 places, and 2 are allowed: lower the count",
                "new: 1 places break the rule, and 0 stand: mend the new ones",
                "x.rs:3: message",
                "xtask/src/tidy/sentence_counts.rs: `gone` has 0 places, and 1 are allowed: lower the count",
            ]
        );
    }
}
