//! From positions in generated code back to the user's: generated lines are the user's, columns are shifted by what was
//! inserted.

use std::collections::BTreeMap;

/// The source positions of generated columns. Lines are the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    /// For each line (from 1): insertions as (column in the user's line, characters inserted before it).
    inserted: BTreeMap<u32, Vec<(u32, u32)>>,
    pub lines: u32,
}

impl SourceMap {
    /// Makes the map of a text with so many lines and no insertions.
    pub fn of_lines(lines: u32) -> Self {
        SourceMap { inserted: BTreeMap::new(), lines }
    }

    /// Adds an insertion before a column of the user's line. Insertions of a line come from left to right.
    pub fn insert(&mut self, line: u32, column: u32, characters: u32) {
        self.inserted.entry(line).or_default().push((column, characters));
    }

    /// The user's column for a generated one; both count characters from 1. A column inside an insertion is the one
    /// after it.
    pub fn column(&self, line: u32, column: u32) -> u32 {
        let mut shift = 0;
        for &(at, length) in self.inserted.get(&line).into_iter().flatten() {
            let start = at + shift;
            if column < start {
                break;
            }
            if column < start + length {
                return at;
            }
            shift += length;
        }
        column - shift
    }

    pub fn is_users(&self, line: u32) -> bool {
        (1..=self.lines).contains(&line)
    }

    /// Whether a position is in what generated code put before the first line.
    pub fn is_prologue(&self, line: u32, column: u32) -> bool {
        line == 1 && self.inserted.get(&1).and_then(|i| i.first()).is_some_and(|&(_, length)| column <= length)
    }
}
