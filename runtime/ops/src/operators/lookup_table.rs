//! Lookup tables on the device: values that the host computed once for each dictionary entry, or UTC offsets of a
//! time zone. Entries are cached as long as the objects that they were computed from live.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array, UInt64Array, new_null_array};
use arrow::compute::{concat, max, min};
use arrow::datatypes::{DataType, UInt32Type};
use onrush_kernels::Context;
use parking_lot::Mutex;

use crate::codegen::LookupTable;
use crate::column::dictionary::{self, Dictionary};
use crate::column::list;
use crate::column::upload_array;
use crate::ir::expr::DeviceType;
use crate::pipeline::lookup::{Constant, Evaluate, Lookup, StringSource, TimeZoneTable};
use crate::{Error, Result};

/// A lookup table, and the dictionary that its values are indices of.
pub type LookupResult = (Arc<LookupTable>, Option<Arc<Dictionary>>);

/// The tables that there are.
#[derive(Default)]
pub struct LookupCache {
    known: Mutex<HashMap<(usize, usize), CacheEntry>>,
}

struct CacheEntry {
    made_from: LookupOwner,
    found: LookupResult,
}

enum LookupOwner {
    Strings(Weak<Dictionary>, Weak<dyn Fn(&ArrayRef) -> Result<ArrayRef> + Send + Sync>),
    TimeZone(Weak<TimeZoneTable>),
    Constant(Weak<Constant>),
}

impl LookupOwner {
    fn are_there(&self) -> bool {
        match self {
            LookupOwner::Strings(dictionary, evaluate) => dictionary.strong_count() > 0 && evaluate.strong_count() > 0,
            LookupOwner::TimeZone(zone) => zone.strong_count() > 0,
            LookupOwner::Constant(constant) => constant.strong_count() > 0,
        }
    }
}

impl LookupCache {
    /// The table of a lookup; dictionaries are those of the columns of the pipeline's source, and of the tables that it
    /// joins.
    pub fn get(
        &self,
        context: &Context,
        lookup: &Lookup,
        dictionaries: &[Option<Arc<Dictionary>>],
        joined: &[Vec<Option<Arc<Dictionary>>>],
    ) -> Result<LookupResult> {
        let (place, made_from) = match lookup {
            Lookup::TimeZone(zone) => ((Arc::as_ptr(zone).addr(), 0), LookupOwner::TimeZone(Arc::downgrade(zone))),
            Lookup::Constant(constant) => {
                ((Arc::as_ptr(constant).addr(), 0), LookupOwner::Constant(Arc::downgrade(constant)))
            }
            Lookup::Strings { of, evaluate } => {
                let dictionary = texts_of(*of, dictionaries, joined)?;
                let place = (Arc::as_ptr(dictionary).addr(), Arc::as_ptr(evaluate).cast::<()>().addr());
                (place, LookupOwner::Strings(Arc::downgrade(dictionary), Arc::downgrade(evaluate)))
            }
        };
        {
            let mut known = self.known.lock();
            known.retain(|_, known| known.made_from.are_there());
            if let Some(known) = known.get(&place) {
                return Ok(known.found.clone());
            }
        }
        let found = match lookup {
            Lookup::TimeZone(zone) => zone_table(context, zone)?,
            Lookup::Constant(constant) => {
                let values = context.upload(&constant.0)?;
                (Arc::new(LookupTable::plain(values, 1)), None)
            }
            Lookup::Strings { of, evaluate } => table(context, texts_of(*of, dictionaries, joined)?, evaluate)?,
        };
        // Other runs find it from here on.
        context.stream.synchronize()?;
        let mut known = self.known.lock();
        known.insert(place, CacheEntry { made_from, found: found.clone() });
        Ok(found)
    }
}

fn texts_of<'a>(
    of: StringSource,
    dictionaries: &'a [Option<Arc<Dictionary>>],
    joined: &'a [Vec<Option<Arc<Dictionary>>>],
) -> Result<&'a Arc<Dictionary>> {
    let found = match of {
        StringSource::Input(column) => dictionaries.get(column as usize),
        StringSource::BuildColumn(join, column) => {
            joined.get(join as usize).and_then(|columns| columns.get(column as usize))
        }
        StringSource::Elements(column) => {
            let lists = dictionaries.get(column as usize).and_then(Option::as_ref);
            lists.and_then(|lists| lists.elements.first()).map(|elements| &elements.dictionary)
        }
    };
    found.and_then(Option::as_ref).ok_or_else(|| Error::Unsupported("a text without a dictionary".to_string()))
}

fn zone_table(context: &Context, zone: &TimeZoneTable) -> Result<LookupResult> {
    let both: Vec<i64> = zone.starts.iter().chain(&zone.offsets).copied().collect();
    let values = context.upload(&both)?;
    let entries = zone.starts.len() as u64;
    Ok((Arc::new(LookupTable::plain(values, entries)), None))
}

fn table(context: &Context, dictionary: &Dictionary, evaluate: &Evaluate) -> Result<LookupResult> {
    let null = new_null_array(dictionary.values.data_type(), 1);
    let texts = concat(&[dictionary.values.as_ref(), null.as_ref()])?;
    let mut values = evaluate(&texts)?;
    let mut found = None;
    let mut range = None;
    let mut is_same = false;
    let count = dictionary.entries();
    let keeps_nulls = values.nulls().is_some_and(|nulls| nulls.null_count() == 1 && nulls.is_null(count));
    if crate::column::kind_of(values.data_type()) == Some(DeviceType::DictIndex) {
        let (codes, new) = dictionary::encode(std::slice::from_ref(&values))?;
        let nulls = values.nulls().cloned();
        range = Some((0, (new.entries() as i128 - 1).max(0)));
        found = Some(Arc::new(new));
        is_same = keeps_nulls && codes.iter().take(count).zip(0..).all(|(code, text)| *code == text);
        values = Arc::new(UInt32Array::new(codes.into(), nulls));
    } else if crate::column::kind_of(values.data_type()) == Some(DeviceType::ListView) {
        let (lists, nulls, elements) = list::encode(context, std::slice::from_ref(&values))?;
        found = Some(Arc::new(Dictionary::of_pieces(elements)));
        values = Arc::new(UInt64Array::new(lists.into(), nulls));
    } else if values.data_type() == &DataType::UInt32 {
        let numbers = values.as_primitive::<UInt32Type>();
        range = min(numbers).zip(max(numbers)).map(|(a, b)| (a.into(), b.into()));
    }
    let entries = values.len() as u64;
    let (values, valid) = upload_array(context, &values)?;
    Ok((Arc::new(LookupTable { values, valid, keeps_nulls, entries, range, is_same }), found))
}
