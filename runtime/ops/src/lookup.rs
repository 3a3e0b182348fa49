//! Tables of values by code, in which a pipeline looks up what the host computed once for each text of a dictionary, or since when a
//! zone's clocks are how far ahead. They are kept as long as what they were made from.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, UInt64Array, new_null_array};
use arrow::compute::{concat, max, min};
use arrow::datatypes::{DataType, UInt32Type};
use onrush_kernels::Context;

use crate::codegen::Table;
use crate::column::upload_array;
use crate::dictionary::{self, Dictionary};
use crate::graph::Kind;
use crate::list;
use crate::{Error, Result};

/// A table that a pipeline looks values up in.
#[derive(Clone)]
pub enum Lookup {
    /// A function of one text column, computed once for each text of its dictionary.
    Texts {
        of: Origin,
        /// From the dictionary's texts, with a null behind them, to as many values.
        evaluate: Evaluate,
    },
    /// Clocks of a zone.
    Zone(Arc<Zone>),
    /// What expressions bring: a text, a set of characters, an automaton.
    Constant(Arc<Constant>),
}

/// Bytes in whole words, so that they can be read so.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Constant(Vec<u64>);

impl Lookup {
    /// Bytes that a kernel reads. The same ones are uploaded once.
    pub fn constant(bytes: &[u8]) -> Lookup {
        static KNOWN: Mutex<VecDeque<Arc<Constant>>> = Mutex::new(VecDeque::new());
        const KEPT: usize = 256;
        let words = bytes.chunks(8).map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            u64::from_le_bytes(word)
        });
        let constant = Constant(words.collect());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|one| **one == constant);
        let found = place.and_then(|place| known.remove(place)).unwrap_or_else(|| Arc::new(constant));
        known.push_back(Arc::clone(&found));
        if known.len() > KEPT {
            known.pop_front();
        }
        Lookup::Constant(found)
    }

    /// A text for [`crate::TextOp::Literal`].
    pub fn text(text: &str) -> Lookup {
        let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
        bytes.extend(text.as_bytes());
        Lookup::constant(&bytes)
    }
}

/// A column whose texts have numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Of the source.
    Input(u32),
    /// Of the table of a join.
    Joined(u32, u32),
    /// Elements of lists of the source.
    Elements(u32),
}

pub type Evaluate = Arc<dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync>;

/// Since when a zone's clocks are how far ahead of UTC, in seconds: ascending, the first one from the beginning of time on.
#[derive(Debug)]
pub struct Zone {
    pub starts: Vec<i64>,
    pub offsets: Vec<i64>,
}

/// A table, and the texts that its values are the numbers of.
pub type Found = (Arc<Table>, Option<Arc<Dictionary>>);

/// The tables that there are.
#[derive(Default)]
pub struct Lookups {
    known: Mutex<HashMap<(usize, usize), Known>>,
}

struct Known {
    made_from: Origins,
    found: Found,
}

enum Origins {
    Texts(Weak<Dictionary>, Weak<dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync>),
    Zone(Weak<Zone>),
    Constant(Weak<Constant>),
}

impl Origins {
    fn are_there(&self) -> bool {
        match self {
            Origins::Texts(dictionary, evaluate) => dictionary.strong_count() > 0 && evaluate.strong_count() > 0,
            Origins::Zone(zone) => zone.strong_count() > 0,
            Origins::Constant(constant) => constant.strong_count() > 0,
        }
    }
}

impl Lookups {
    /// The table of a lookup; dictionaries are those of the columns of the pipeline's source, and of the tables that it joins.
    pub fn get(
        &self,
        context: &Context,
        lookup: &Lookup,
        dictionaries: &[Option<Arc<Dictionary>>],
        joined: &[Vec<Option<Arc<Dictionary>>>],
    ) -> Result<Found> {
        let (place, made_from) = match lookup {
            Lookup::Zone(zone) => ((Arc::as_ptr(zone).addr(), 0), Origins::Zone(Arc::downgrade(zone))),
            Lookup::Constant(constant) => {
                ((Arc::as_ptr(constant).addr(), 0), Origins::Constant(Arc::downgrade(constant)))
            }
            Lookup::Texts { of, evaluate } => {
                let dictionary = texts_of(*of, dictionaries, joined)?;
                let place = (Arc::as_ptr(dictionary).addr(), Arc::as_ptr(evaluate).cast::<()>().addr());
                (place, Origins::Texts(Arc::downgrade(dictionary), Arc::downgrade(evaluate)))
            }
        };
        {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.retain(|_, known| known.made_from.are_there());
            if let Some(known) = known.get(&place) {
                return Ok(known.found.clone());
            }
        }
        let found = match lookup {
            Lookup::Zone(zone) => zone_table(context, zone)?,
            Lookup::Constant(constant) => {
                let values = context.upload(&constant.0)?;
                (Arc::new(Table::plain(values, 1)), None)
            }
            Lookup::Texts { of, evaluate } => table(context, texts_of(*of, dictionaries, joined)?, evaluate)?,
        };
        // Other runs find it from here on.
        context.stream.synchronize()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(place, Known { made_from, found: found.clone() });
        Ok(found)
    }
}

fn texts_of<'a>(
    of: Origin,
    dictionaries: &'a [Option<Arc<Dictionary>>],
    joined: &'a [Vec<Option<Arc<Dictionary>>>],
) -> Result<&'a Arc<Dictionary>> {
    let found = match of {
        Origin::Input(column) => dictionaries.get(column as usize),
        Origin::Joined(join, column) => joined.get(join as usize).and_then(|columns| columns.get(column as usize)),
        Origin::Elements(column) => {
            let lists = dictionaries.get(column as usize).and_then(Option::as_ref);
            lists.and_then(|lists| lists.elements.first()).map(|elements| &elements.dictionary)
        }
    };
    found.and_then(Option::as_ref).ok_or_else(|| Error::Unsupported("a text without a dictionary".to_string()))
}

fn zone_table(context: &Context, zone: &Zone) -> Result<Found> {
    let both: Vec<i64> = zone.starts.iter().chain(&zone.offsets).copied().collect();
    let values = context.upload(&both)?;
    let entries = zone.starts.len() as u64;
    Ok((Arc::new(Table::plain(values, entries)), None))
}

fn table(context: &Context, dictionary: &Dictionary, evaluate: &Evaluate) -> Result<Found> {
    let null = new_null_array(dictionary.values.data_type(), 1);
    let texts = concat(&[dictionary.values.as_ref(), null.as_ref()])?;
    let mut values = evaluate(&texts)?;
    let mut found = None;
    let mut range = None;
    let mut is_same = false;
    let count = dictionary.entries();
    let keeps_nulls = values.nulls().is_some_and(|nulls| nulls.null_count() == 1 && nulls.is_null(count));
    if crate::kind_of(values.data_type()) == Some(Kind::Code) {
        let (codes, new) = dictionary::encode(std::slice::from_ref(&values))?;
        let nulls = values.nulls().cloned();
        range = Some((0, (new.entries() as i128 - 1).max(0)));
        found = Some(Arc::new(new));
        is_same = keeps_nulls && codes.iter().take(count).zip(0..).all(|(code, text)| *code == text);
        values = Arc::new(UInt32Array::new(codes.into(), nulls));
    } else if crate::kind_of(values.data_type()) == Some(Kind::List) {
        let (lists, nulls, elements) = list::encode(context, std::slice::from_ref(&values))?;
        found = Some(Arc::new(Dictionary::of_pieces(elements)));
        values = Arc::new(UInt64Array::new(lists.into(), nulls));
    } else if values.data_type() == &DataType::UInt32 {
        let numbers = values.as_primitive::<UInt32Type>();
        range = min(numbers).zip(max(numbers)).map(|(a, b)| (a.into(), b.into()));
    }
    let entries = values.len() as u64;
    let (values, valid) = upload_array(context, &values)?;
    Ok((Arc::new(Table { values, valid, keeps_nulls, entries, range, is_same }), found))
}
