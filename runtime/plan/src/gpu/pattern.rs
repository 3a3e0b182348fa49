//! Regular expressions and LIKE as automata over bytes, which a kernel walks: one look at a table for each byte. `regex` means the same by
//! them (its own engine finds the states); what needs more than [`MOST_STATES`], or looks at words beyond ASCII, is refused.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};

use onrush_ops::Lookup;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson;
use regex_automata::{Input, MatchKind};

use super::lower::Refusal;

const MOST_STATES: usize = 1 << 12;
/// So that what was found stays: a state needs a few hundred bytes.
const MEMORY: usize = 64 << 20;

/// Bytes of a pattern's parts, as the `regex` crate limits them.
const LARGEST: usize = 10 << 20;

/// States that kernels know: there is no match any more, and there is one.
const DEAD: u16 = 0;
const MATCH: u16 = 1;

/// LIKE as Arrow reads it: `%` is anything, `_` a character, what stands behind `\\` is meant.
pub enum Like {
    Equal(String),
    Starts(String),
    Ends(String),
    Contains(String),
    Pattern(String),
}

impl Like {
    pub fn of(pattern: &str) -> Like {
        let plain = |text: &str| !text.contains(['%', '_', '\\']);
        if plain(pattern) {
            return Like::Equal(pattern.to_string());
        }
        if let Some(inner) = pattern.strip_prefix('%').and_then(|rest| rest.strip_suffix('%'))
            && plain(inner)
        {
            return Like::Contains(inner.to_string());
        }
        match (pattern.strip_suffix('%'), pattern.strip_prefix('%')) {
            (Some(start), _) if plain(start) => Like::Starts(start.to_string()),
            (_, Some(end)) if plain(end) => Like::Ends(end.to_string()),
            _ => Like::Pattern(regex_of(pattern)),
        }
    }
}

/// The same as a regular expression.
pub fn regex_of(like: &str) -> String {
    let mut text = String::from("(?s)\\A");
    let mut characters = like.chars();
    while let Some(c) = characters.next() {
        let _ = match c {
            '%' => write!(text, ".*"),
            '_' => write!(text, "."),
            '\\' => write!(text, "{}", regex::escape(&characters.next().unwrap_or('\\').to_string())),
            c => write!(text, "{}", regex::escape(&c.to_string())),
        };
    }
    text + "\\z"
}

/// The automaton that says whether a pattern is somewhere in a text, in the form of `cuda/text.cuh`. Found once.
pub fn automaton(pattern: &str) -> Result<Lookup, Refusal> {
    static KNOWN: Mutex<BTreeMap<String, Result<Lookup, Refusal>>> = Mutex::new(BTreeMap::new());
    const KEPT: usize = 256;
    let lock = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock().get(pattern) {
        return known.clone();
    }
    let found = find(pattern);
    let mut known = lock();
    if known.len() >= KEPT {
        known.clear();
    }
    known.insert(pattern.to_string(), found.clone());
    found
}

fn find(pattern: &str) -> Result<Lookup, Refusal> {
    let refused = |why: &str| format!("the pattern `{pattern}` {why}");
    // States are never let go: a full cache is an error.
    let config = DFA::config().match_kind(MatchKind::All).cache_capacity(MEMORY).skip_cache_capacity_check(true);
    let config = config.minimum_cache_clear_count(Some(0));
    let thompson = thompson::Config::new().nfa_size_limit(Some(LARGEST));
    let dfa = DFA::builder()
        .configure(config)
        .thompson(thompson)
        .build(pattern)
        .map_err(|_| refused("is not on the GPU yet"))?;
    let mut cache = dfa.create_cache();
    let start = dfa.start_state_forward(&mut cache, &Input::new("")).map_err(|_| refused("is not on the GPU yet"))?;
    let mut numbers: HashMap<LazyStateID, u16> = HashMap::new();
    let mut states: Vec<LazyStateID> = Vec::new();
    let mut number = |id: LazyStateID, states: &mut Vec<LazyStateID>| -> Result<u16, Refusal> {
        if id.is_dead() {
            return Ok(DEAD);
        }
        if id.is_match() {
            return Ok(MATCH);
        }
        if id.is_quit() {
            return Err(refused("asks for words of more than ASCII, which the GPU does not know"));
        }
        if states.len() > MOST_STATES {
            return Err(refused(&format!("has more than {MOST_STATES} states")));
        }
        Ok(*numbers.entry(id).or_insert_with(|| {
            states.push(id);
            states.len() as u16 + 1
        }))
    };
    let begin = number(start, &mut states)?;
    let mut rows = vec![[DEAD; 256], [MATCH; 256]];
    let mut ends = vec![0_u8, 1];
    let mut at = 0;
    while let Some(id) = states.get(at).copied() {
        at += 1;
        let mut row = [DEAD; 256];
        let full = |_| refused("has too many states");
        for (byte, next) in (0..=u8::MAX).zip(&mut row) {
            let id = dfa.next_state(&mut cache, id, byte).map_err(full)?;
            *next = number(id, &mut states)?;
        }
        rows.push(row);
        let end = dfa.next_eoi_state(&mut cache, id).map_err(full)?;
        ends.push(u8::from(end.is_match()));
    }
    Ok(Lookup::constant(&table(begin, &rows, &ends)))
}

/// Bytes that lead to the same states everywhere are one class.
fn table(begin: u16, rows: &[[u16; 256]], ends: &[u8]) -> Vec<u8> {
    let mut classes: HashMap<Vec<u16>, u8> = HashMap::new();
    let mut columns: Vec<Vec<u16>> = Vec::new();
    let mut class_of = [0_u8; 256];
    for (byte, class) in class_of.iter_mut().enumerate() {
        let column: Vec<u16> = rows.iter().map(|row| row[byte]).collect();
        *class = *classes.entry(column.clone()).or_insert_with(|| {
            columns.push(column);
            columns.len() as u8 - 1
        });
    }
    let head = [columns.len() as u32, begin.into(), rows.len() as u32, 0];
    let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(class_of);
    for state in 0..rows.len() {
        bytes.extend(columns.iter().flat_map(|column| column[state].to_le_bytes()));
    }
    bytes.extend(ends);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn like_is_split_into_what_is_cheapest() {
        let of = |pattern: &str| match Like::of(pattern) {
            Like::Equal(text) => format!("= {text}"),
            Like::Starts(text) => format!("starts {text}"),
            Like::Ends(text) => format!("ends {text}"),
            Like::Contains(text) => format!("contains {text}"),
            Like::Pattern(text) => text,
        };
        assert_eq!(of("abc"), "= abc");
        assert_eq!(of("abc%"), "starts abc");
        assert_eq!(of("%abc"), "ends abc");
        assert_eq!(of("%abc%"), "contains abc");
        assert_eq!(of("%"), "starts ");
        assert_eq!(of("%a%b%"), "(?s)\\A.*a.*b.*\\z");
        assert_eq!(of("a_c"), "(?s)\\Aa.c\\z");
        assert_eq!(of("10\\%"), "(?s)\\A10%\\z");
        assert_eq!(of("a.c\\"), "(?s)\\Aa\\.c\\\\\\z");
    }
}
