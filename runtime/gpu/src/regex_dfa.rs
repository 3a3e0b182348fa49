//! Regular expressions and LIKE as automata over bytes, which a kernel walks: one look at a table for each byte.
//! `regex` means the same by them (its own engine finds the states); what needs more than [`MAX_STATES`], or looks at
//! words beyond ASCII, is refused.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use onrush_ops::Lookup;
use parking_lot::Mutex;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::DFA;
use regex_automata::nfa::thompson;
use regex_automata::{Input, MatchKind};

use super::cpu_reason::CpuReason;

const MAX_STATES: usize = 1 << 12;
/// So that what was found stays: a state needs a few hundred bytes.
const STATE_BYTES: usize = 64 << 20;

/// Bytes of a pattern's parts, as the `regex` crate limits them.
const NFA_BYTES: usize = 10 << 20;

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

/// The purpose of an automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Search {
    /// Whether a pattern is somewhere in a text.
    Any,
    /// Each place after the other: the first one, and of those there what the pattern says first.
    Each,
}

/// The automaton of a pattern, in the form of `cuda/strings.cuh`. Found once.
pub fn automaton(pattern: &str, search: Search) -> Result<Lookup, CpuReason> {
    type AutomatonCache = BTreeMap<(String, Search), Result<Lookup, CpuReason>>;
    static CACHE: Mutex<AutomatonCache> = Mutex::new(BTreeMap::new());
    const CACHE_CAPACITY: usize = 256;
    let lock = || CACHE.lock();
    let key = (pattern.to_string(), search);
    if let Some(known) = lock().get(&key) {
        return known.clone();
    }
    let found = find(pattern, search);
    let mut known = lock();
    if known.len() >= CACHE_CAPACITY {
        known.clear();
    }
    known.insert(key, found.clone());
    found
}

/// States by their numbers, which are those that kernels know and from [`States::FIRST`] on the automaton's.
struct States<'a> {
    pattern: &'a str,
    search: Search,
    numbers: HashMap<LazyStateID, u16>,
    ids: Vec<LazyStateID>,
}

impl States<'_> {
    const FIRST: u16 = 2;

    fn number(&mut self, id: LazyStateID) -> Result<u16, CpuReason> {
        if id.is_dead() {
            return Ok(DEAD);
        }
        if id.is_match() && self.search == Search::Any {
            return Ok(MATCH);
        }
        if id.is_quit() {
            return Err(self.refused("needs Unicode word boundaries, which are not supported on the GPU"));
        }
        if self.ids.len() > MAX_STATES {
            return Err(self.refused(&format!("has more than {MAX_STATES} states")));
        }
        Ok(*self.numbers.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.ids.len() as u16 - 1 + Self::FIRST
        }))
    }

    fn refused(&self, why: &str) -> CpuReason {
        CpuReason::Pattern { pattern: self.pattern.to_string(), why: why.to_string() }
    }
}

fn find(pattern: &str, search: Search) -> Result<Lookup, CpuReason> {
    let mut states = States { pattern, search, numbers: HashMap::new(), ids: Vec::new() };
    let kind = if search == Search::Any { MatchKind::All } else { MatchKind::LeftmostFirst };
    // States are never let go: a full cache is an error.
    let config = DFA::config().match_kind(kind).cache_capacity(STATE_BYTES).skip_cache_capacity_check(true);
    let config = config.minimum_cache_clear_count(Some(0));
    let thompson = thompson::Config::new().nfa_size_limit(Some(NFA_BYTES));
    let unknown = states.refused("is not supported on the GPU");
    let dfa = DFA::builder().configure(config).thompson(thompson).build(pattern).map_err(|_| unknown.clone())?;
    // Such a match could be inside of a character.
    if search == Search::Each && dfa.get_nfa().has_empty() && !dfa.get_nfa().look_set_any().is_empty() {
        return Err(unknown);
    }
    let mut cache = dfa.create_cache();
    let mut begin = |input: &Input| {
        let start = dfa.start_state_forward(&mut cache, input).map_err(|_| unknown.clone())?;
        states.number(start)
    };
    let at_begin = begin(&Input::new(""))?;
    let mut begins = Vec::new();
    if search == Search::Each {
        for before in 0..=u8::MAX {
            begins.push(begin(&Input::new(&[before]).span(1..1))?);
        }
        begins.push(at_begin);
    }
    let mut rows = vec![[DEAD; 256], [MATCH; 256]];
    let mut ends = vec![0_u8, 1];
    let mut at = 0;
    while let Some(id) = states.ids.get(at).copied() {
        at += 1;
        let mut row = [DEAD; 256];
        for (byte, next) in (0..=u8::MAX).zip(&mut row) {
            let id = dfa.next_state(&mut cache, id, byte).map_err(|_| states.refused("has too many states"))?;
            *next = states.number(id)?;
        }
        rows.push(row);
        let end = dfa.next_eoi_state(&mut cache, id).map_err(|_| states.refused("has too many states"))?;
        ends.push(match search {
            Search::Any => u8::from(end.is_match()),
            Search::Each => u8::from(id.is_match()) | u8::from(end.is_match()) << 1,
        });
    }
    Ok(Lookup::constant(&table(at_begin, &begins, &rows, &ends)))
}

/// Bytes that lead to the same states everywhere are one class.
fn table(begin: u16, begins: &[u16], rows: &[[u16; 256]], ends: &[u8]) -> Vec<u8> {
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
    bytes.extend(begins.iter().flat_map(|state| state.to_le_bytes()));
    for state in 0..rows.len() {
        bytes.extend(columns.iter().flat_map(|column| column[state].to_le_bytes()));
    }
    bytes.extend(ends);
    bytes
}
