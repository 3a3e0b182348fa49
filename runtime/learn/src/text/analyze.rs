//! From documents to terms, as `build_analyzer` of scikit-learn's `feature_extraction/text.py`: accents and case, words
//! or characters, stop words, n-grams.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use icu_normalizer::DecomposingNormalizerBorrowed;
use icu_normalizer::properties::CanonicalCombiningClassMapBorrowed;
use icu_properties::CodePointMapData;
use icu_properties::props::{GeneralCategory, GeneralCategoryGroup};
use onrush_wire::learn::Param;
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::stop_words::ENGLISH;
use crate::error::{Error, ErrorKind};
use crate::params;

/// The parameters that say what a term is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    strip_accents: Option<String>,
    lowercase: bool,
    stop_words: Param,
    token_pattern: String,
    ngram_range: Param,
    analyzer: String,
}

macro_rules! terms_of {
    ($($estimator:ident)*) => {$(
        impl From<&params::$estimator> for Terms {
            fn from(params: &params::$estimator) -> Self {
                Terms {
                    strip_accents: params.strip_accents.clone(),
                    lowercase: params.lowercase,
                    stop_words: params.stop_words.clone(),
                    token_pattern: params.token_pattern.clone(),
                    ngram_range: params.ngram_range.clone(),
                    analyzer: params.analyzer.clone(),
                }
            }
        }
    )*};
}
terms_of! { CountVectorizer TfidfVectorizer HashingVectorizer }

/// Finds the terms of documents.
pub struct Analyzer {
    lowercase: bool,
    accents: Accents,
    stop_words: HashSet<String>,
    units: Units,
    /// Words or characters of a term.
    low: usize,
    high: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Accents {
    Stay,
    /// Marks are dropped after the compatibility decomposition.
    Unicode,
    /// All that is not ASCII is dropped after the compatibility decomposition.
    Ascii,
}

/// The parts of which terms are made.
enum Units {
    /// Runs of at least so many letters, digits and underscores.
    Words(usize),
    /// Matches of a regular expression, or of its group.
    Matches(Regex),
    Characters,
    CharactersInWords,
}

/// Memory that the documents of a task share.
#[derive(Default)]
pub struct Scratch {
    words: Vec<Range<usize>>,
    term: String,
}

impl Analyzer {
    /// # Errors
    /// If a parameter has none of its values.
    pub fn new(terms: &Terms) -> Result<Self, Error> {
        let (low, high) = ngram_range(&terms.ngram_range)?;
        let units = match terms.analyzer.as_str() {
            "char" => Units::Characters,
            "char_wb" => Units::CharactersInWords,
            _ => words(&terms.token_pattern)?,
        };
        let accents = match terms.strip_accents.as_deref() {
            Some("ascii") => Accents::Ascii,
            Some("unicode") => Accents::Unicode,
            _ => Accents::Stay,
        };
        Ok(Analyzer {
            lowercase: terms.lowercase,
            accents,
            stop_words: stop_words(&terms.stop_words)?,
            units,
            low,
            high,
        })
    }

    /// Calls `found` for each term of a document.
    pub fn each(&self, document: &str, scratch: &mut Scratch, mut found: impl FnMut(&str)) {
        let text = self.prepared(document);
        match &self.units {
            Units::Characters => self.characters(&single_spaced(&text), scratch, &mut found),
            Units::CharactersInWords => self.characters_in_words(&text, scratch, &mut found),
            Units::Words(least) => {
                scratch.words.clear();
                let (words, keeps) = (&mut scratch.words, |range: &Range<usize>| self.keeps(&text[range.clone()]));
                runs(&text, *least, |range| {
                    if keeps(&range) {
                        words.push(range)
                    }
                });
                self.sequences(&text, scratch, &mut found);
            }
            Units::Matches(pattern) => {
                scratch.words.clear();
                let group = pattern.captures_len() - 1;
                let matches = |range: Range<usize>| self.keeps(&text[range.clone()]).then_some(range);
                match group {
                    0 => scratch.words.extend(pattern.find_iter(&text).filter_map(|m| matches(m.range()))),
                    // A group that takes no part in a match is an empty word, as in Python.
                    _ => scratch.words.extend(
                        pattern
                            .captures_iter(&text)
                            .filter_map(|found| matches(found.get(1).map_or(0..0, |group| group.range()))),
                    ),
                }
                self.sequences(&text, scratch, &mut found);
            }
        }
    }

    fn keeps(&self, word: &str) -> bool {
        self.stop_words.is_empty() || !self.stop_words.contains(word)
    }

    /// Lower case, without accents.
    fn prepared<'a>(&self, document: &'a str) -> Cow<'a, str> {
        let text = match self.lowercase {
            true if document.is_ascii() && !document.bytes().any(|b| b.is_ascii_uppercase()) => Cow::Borrowed(document),
            true => Cow::Owned(document.to_lowercase()),
            false => Cow::Borrowed(document),
        };
        if self.accents == Accents::Stay || text.is_ascii() {
            return text;
        }
        let decomposed = DecomposingNormalizerBorrowed::new_nfkd().normalize(&text).into_owned();
        let marks = CanonicalCombiningClassMapBorrowed::new();
        let stays = |c: &char| match self.accents {
            Accents::Ascii => c.is_ascii(),
            _ => marks.get_u8(*c) == 0,
        };
        Cow::Owned(decomposed.chars().filter(stays).collect())
    }

    /// Sequences of `low` to `high` words with spaces between them.
    fn sequences(&self, text: &str, scratch: &mut Scratch, found: &mut impl FnMut(&str)) {
        let Scratch { words, term } = scratch;
        for first in 0..words.len() {
            if self.low == 1 {
                found(&text[words[first].clone()]);
            }
            if self.high == 1 {
                continue;
            }
            term.clear();
            term.push_str(&text[words[first].clone()]);
            for (length, word) in (2..=self.high).zip(&words[first + 1..]) {
                term.push(' ');
                term.push_str(&text[word.clone()]);
                if length >= self.low {
                    found(term);
                }
            }
        }
    }

    /// Sequences of `low` to `high` characters.
    fn characters(&self, text: &str, scratch: &mut Scratch, found: &mut impl FnMut(&str)) {
        let ends = &mut scratch.words;
        ends.clear();
        ends.extend(text.char_indices().map(|(at, c)| at..at + c.len_utf8()));
        for length in self.low..=self.high.min(ends.len()) {
            ends.windows(length).for_each(|window| found(&text[window[0].start..window[length - 1].end]));
        }
    }

    /// Sequences of characters of each word with a space before and after it. A word that is shorter than a sequence
    /// counts once.
    fn characters_in_words(&self, text: &str, scratch: &mut Scratch, found: &mut impl FnMut(&str)) {
        let mut padded = std::mem::take(&mut scratch.term);
        for word in text.split(is_space).filter(|word| !word.is_empty()) {
            padded.clear();
            padded.push(' ');
            padded.push_str(word);
            padded.push(' ');
            let ends = &mut scratch.words;
            ends.clear();
            ends.extend(padded.char_indices().map(|(at, c)| at..at + c.len_utf8()));
            for length in self.low..=self.high {
                if length >= ends.len() {
                    found(&padded);
                    break;
                }
                ends.windows(length).for_each(|window| found(&padded[window[0].start..window[length - 1].end]));
            }
        }
        scratch.term = padded;
    }
}

/// The words that a pattern finds. The usual patterns need no regular expression.
fn words(pattern: &str) -> Result<Units, Error> {
    match pattern.strip_prefix("(?u)").unwrap_or(pattern) {
        r"\b\w\w+\b" | r"\w\w+" => return Ok(Units::Words(2)),
        r"\b\w+\b" | r"\w+" => return Ok(Units::Words(1)),
        _ => {}
    }
    let broken = |why: String| {
        let message = format!("`token_pattern` is {pattern:?}: {why}");
        Error::new(ErrorKind::Parameter, message)
    };
    let regex = Regex::new(&translated(pattern)).map_err(|e| {
        let why = e.to_string();
        let why =
            why.lines().last().unwrap_or("it is not a regular expression").trim_start_matches("error: ").to_string();
        broken(why).help("look-around and references to groups do not exist in regular expressions of Rust")
    })?;
    match regex.captures_len() {
        1 | 2 => Ok(Units::Matches(regex)),
        n => Err(broken(format!("it has {} groups, expected at most one", n - 1))
            .help("`(?:...)` is a group that does not capture")),
    }
}

/// The pattern with the meaning that Python gives to `\w`: letters, numbers and the underscore, but no marks.
fn translated(pattern: &str) -> String {
    let mut out = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, false) => out.push(c),
            (_, true) => match chars.next() {
                Some('w') => out.push_str(r"[\p{L}\p{N}_]"),
                Some('W') => out.push_str(r"[^\p{L}\p{N}_]"),
                Some('Z') => out.push_str(r"\z"),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
        }
    }
    out
}

/// Calls `found` for the longest runs of at least `least` characters of words.
fn runs(text: &str, least: usize, mut found: impl FnMut(Range<usize>)) {
    let (mut start, mut length) = (0, 0);
    for (at, c) in text.char_indices() {
        if is_of_word(c) {
            start = if length == 0 { at } else { start };
            length += 1;
            continue;
        }
        if length >= least {
            found(start..at);
        }
        length = 0;
    }
    if length >= least {
        found(start..text.len());
    }
}

/// Python's `\w`.
fn is_of_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    let category = CodePointMapData::<GeneralCategory>::new().get(c);
    GeneralCategoryGroup::Letter.contains(category) || GeneralCategoryGroup::Number.contains(category)
}

/// Python's `\s`.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The text with a space for each run of two or more white-space characters.
fn single_spaced(text: &str) -> Cow<'_, str> {
    let mut before = false;
    let is_double = |c: char| {
        let is_second = before && is_space(c);
        before = is_space(c);
        is_second
    };
    if !text.chars().any(is_double) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if !is_space(c) {
            let end = rest.find(is_space).unwrap_or(rest.len());
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let after = rest.trim_start_matches(is_space);
        let is_single = rest.len() - after.len() == c.len_utf8();
        out.push(if is_single { c } else { ' ' });
        rest = after;
    }
    Cow::Owned(out)
}

fn stop_words(param: &Param) -> Result<HashSet<String>, Error> {
    match param {
        Param::None => Ok(HashSet::new()),
        Param::Str(word) if word == "english" => Ok(ENGLISH.iter().map(ToString::to_string).collect()),
        Param::List(list) if list.iter().all(|word| matches!(word, Param::Str(_))) => {
            Ok(list.iter().filter_map(params::word).map(str::to_string).collect())
        }
        other => {
            let message = format!("`stop_words` is {other}: \"english\", or a list of words");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

fn ngram_range(param: &Param) -> Result<(usize, usize), Error> {
    let wrong = |why: &str| {
        Err(Error::new(ErrorKind::Parameter, format!("`ngram_range` is {param}: {why}"))
            .help("`.ngram_range([1, 2])` takes single words and pairs"))
    };
    let Param::List(list) = param else { return wrong("expected two integers from 1") };
    match list.iter().map(params::count).collect::<Option<Vec<usize>>>().as_deref() {
        Some([low, high]) if *low >= 1 && low <= high => Ok((*low, *high)),
        Some([low, high]) if low > high => wrong("the first number must not be above the second"),
        _ => wrong("expected two integers from 1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_joined_as_in_python() {
        // `re.sub(r"\s\s+", " ", text)`: a single tab or line break stays.
        for (text, wanted) in
            [("a\tb", "a\tb"), ("a \n b", "a b"), ("  a\n", " a\n"), ("", ""), ("\u{1c}\u{1f}x", " x")]
        {
            assert_eq!(single_spaced(text), wanted, "{text:?}");
        }
    }

    #[test]
    fn patterns_get_the_words_of_python() {
        assert_eq!(translated(r"(?u)\b[\w'-]+\b"), r"(?u)\b[[\p{L}\p{N}_]'-]+\b");
        assert_eq!(translated(r"\\w"), r"\\w");
        // A vowel sign of Devanagari is a mark, and a number in a circle is a number.
        assert_eq!(
            "a_9é中²①\u{93f}😀-".chars().map(is_of_word).collect::<Vec<bool>>(),
            [true, true, true, true, true, true, true, false, false, false]
        );
    }
}
