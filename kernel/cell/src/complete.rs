//! Code assistance while a cell is typed: is-complete, completion and inspection.
//!
//! Types come from rustc (`type_query`), members from indexes (`crate::index`), columns from the session, the rest from
//! the source.

mod calls;
mod columns;
mod cuda;
mod error_recovery;
mod files;
mod identifiers;
mod inspect;
mod is_complete;
mod magics;
mod members;
mod scope;
mod sql;
mod string_literals;
mod symbols;
mod tokens;
mod ty;

use std::collections::BTreeSet;

use inspect::{inspect, is_tried, question};

use crate::completion_snapshot::{Frames, Names};
use crate::index::crates::of_the_prelude;
use crate::interface::{Completeness, Completions, Inspection, Match};
use crate::prelude_build::lock_file;
use tokens::{End, Kind, Token, tokens, word_start};

/// Questions of front ends while a cell is typed.
impl Names {
    pub fn is_complete(&self, text: &str) -> Completeness {
        match self.question(text) {
            Some(_) => Completeness::Complete,
            None => is_complete::is_complete(text),
        }
    }

    /// `cursor` counts code points; `turn` counts requests.
    pub fn complete(&self, text: &str, cursor: usize, turn: u64, frames: &dyn Frames) -> Completions {
        if let Some(known) = &self.knowledge {
            known.learn(of_the_prelude(lock_file()));
        }
        complete(self, text, cursor, turn, frames)
    }

    /// `detail` as Jupyter asks for it: 1 wants more.
    pub fn inspect(&self, text: &str, cursor: usize, detail: u8, turn: u64, frames: &dyn Frames) -> Inspection {
        inspect(self, text, cursor, detail, turn, frames)
    }

    /// The name in a question in place of Rust, `name?`, and how much the question wants to know.
    pub fn question<'a>(&self, text: &'a str) -> Option<(&'a str, u8)> {
        question(self, text)
    }

    /// Whether the `?` of such a question is Rust's operator: its subject is a field that holds a result or an option.
    pub fn is_tried(&self, subject: &str, turn: u64, frames: &dyn Frames) -> bool {
        subject.contains('.') && is_tried(self, subject, turn, frames)
    }
}

/// A place in a cell, and what is known there.
pub struct CursorContext<'a> {
    pub names: &'a Names,
    /// The number of the request: a later one makes earlier questions to rustc moot.
    pub turn: u64,
    pub frames: &'a dyn Frames,
    pub text: &'a str,
    /// Bytes: where the cursor is, and where the word before it begins.
    pub at: usize,
    pub start: usize,
    /// Tokens before the cursor, without the word that is being typed.
    pub tokens: Vec<Token<'a>>,
    pub end: End,
}

impl<'a> CursorContext<'a> {
    pub fn new(names: &'a Names, frames: &'a dyn Frames, text: &'a str, cursor: usize, turn: u64) -> Self {
        let at = text.char_indices().nth(cursor).map_or(text.len(), |(i, _)| i);
        let start = word_start(text, at);
        let (tokens, end) = tokens(&text[..start]);
        CursorContext { names, turn, frames, text, at, start, tokens, end }
    }

    pub fn word(&self) -> &'a str {
        &self.text[self.start..self.at]
    }

    pub fn before(&self) -> &'a str {
        &self.text[..self.start]
    }

    pub fn last(&self) -> Option<&Token<'a>> {
        self.tokens.last()
    }
}

/// Candidates in the order in which they were found. Names that do not begin with the word are left out.
pub struct Candidates<'a> {
    word: &'a str,
    seen: BTreeSet<String>,
    found: Vec<(u8, Match)>,
    /// Bytes that the choice replaces.
    pub range: std::ops::Range<usize>,
}

impl<'a> Candidates<'a> {
    fn new(place: &CursorContext<'a>) -> Self {
        Candidates { word: place.word(), seen: BTreeSet::new(), found: Vec::new(), range: place.start..place.at }
    }

    /// For a word that is none of Rust's: a file name, a column with spaces.
    pub fn replace(&mut self, text: &'a str, range: std::ops::Range<usize>) {
        self.word = &text[range.clone()];
        self.range = range;
    }

    /// Smaller ranks come first.
    pub fn add(&mut self, rank: u8, text: &str, kind: &'static str, signature: &str) {
        let fits = text.to_lowercase().starts_with(&self.word.to_lowercase());
        if fits && self.seen.insert(text.to_string()) {
            let one = Match { text: text.to_string(), kind, signature: signature.to_string() };
            self.found.push((rank, one));
        }
    }

    /// For a text that does not begin with the word: its last name does.
    pub fn add_as(&mut self, rank: u8, text: &str, kind: &'static str, signature: &str) {
        if self.seen.insert(text.to_string()) {
            let one = Match { text: text.to_string(), kind, signature: signature.to_string() };
            self.found.push((rank, one));
        }
    }

    fn done(mut self, text: &str) -> Completions {
        // A word that is complete already is not offered, unless there are several candidates.
        if self.found.len() == 1 && self.found[0].1.text == self.word {
            self.found.clear();
        }
        let exact = |m: &Match| !m.text.starts_with(self.word);
        self.found.sort_by(|a, b| (a.0, exact(&a.1), &a.1.text).cmp(&(b.0, exact(&b.1), &b.1.text)));
        let characters = |at: usize| text[..at].chars().count();
        let (start, end) = (characters(self.range.start), characters(self.range.end));
        Completions { start, end, matches: self.found.into_iter().map(|(_, m)| m).collect() }
    }
}

/// `cursor` counts code points.
fn complete(names: &Names, text: &str, cursor: usize, turn: u64, frames: &dyn Frames) -> Completions {
    let place = CursorContext::new(names, frames, text, cursor, turn);
    let mut candidates = Candidates::new(&place);
    if !magics::complete(&place, &mut candidates) {
        match place.end {
            End::Comment => {}
            End::Text { start, contents, raw } => {
                string_literals::complete(&place, start, contents, raw, &mut candidates)
            }
            End::Code => code(&place, &mut candidates),
        }
    }
    candidates.done(text)
}

fn code<'a>(place: &CursorContext<'a>, candidates: &mut Candidates<'a>) {
    // A number with its suffix, a lifetime.
    if place.word().starts_with(|c: char| c.is_ascii_digit()) || place.before().ends_with('\'') {
        return;
    }
    match place.last() {
        Some(dot) if dot.is(".") => identifiers::members(place, candidates),
        Some(colons) if colons.is("::") => identifiers::path(place, candidates),
        // A definition here has no name yet.
        Some(token)
            if token.kind == Kind::Word
                && matches!(
                    token.text,
                    "fn" | "struct" | "enum" | "trait" | "mod" | "type" | "union" | "static" | "const"
                ) => {}
        _ => identifiers::names(place, candidates),
    }
}

#[cfg(test)]
mod tests;
