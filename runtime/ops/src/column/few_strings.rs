//! Dictionary encoding on the host, by all cores, of string columns with few distinct values.
//!
//! Only the codes cross the bus: one or two bytes a row. String views make this cheap. A Parquet reader gives all rows
//! that refer to one entry of a dictionary page the same view. Most rows are therefore found by the 16 bytes of their
//! view.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use arrow::array::{Array, ArrayRef, StringViewArray};
use onrush_device::{Buffer, Pod};
use onrush_kernels::{Context, Scalar};

use crate::Result;
use crate::column::chunked;
use crate::column::dictionary::{EncodedStrings, SortedStrings, sorted, stored};
use crate::ir::expr::DeviceType;

/// Distinct strings of a column, at most: their codes have 16 bits.
const MOST: usize = 1 << 16;
/// The limit on the emulated device, so that tests take both paths.
const MOST_EMULATED: usize = 16;
/// Distinct strings of all chunks together, at most: they are merged by one core.
const MOST_MERGED: usize = 1 << 22;
/// Views of a chunk that are remembered. Strings that lie apart have a view each.
const VIEWS: usize = 1 << 13;

/// Multiplies and folds: views are compared after that.
#[derive(Default)]
struct ViewHasher(u64);

impl Hasher for ViewHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u128(u128::from(*byte)));
    }

    fn write_u128(&mut self, value: u128) {
        let (low, high) = (value as u64 ^ self.0, (value >> 64) as u64);
        let product = u128::from(low ^ 0x9e37_79b9_7f4a_7c15) * u128::from(high ^ 0xd6e8_feb8_6659_fd93);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

/// The strings of a chunk: for each row a position in `distinct`.
pub struct Local<'a> {
    pub codes: Vec<u32>,
    pub distinct: Vec<&'a str>,
}

/// Encodes a column. `None` if it has too many distinct strings for this, or strings of another type than views.
pub fn encode(context: &Context, parts: &[ArrayRef]) -> Result<Option<EncodedStrings>> {
    let most = if context.device().is_emulated() { MOST_EMULATED } else { MOST };
    let pieces = chunked::pieces(parts);
    if pieces.iter().any(|piece| !piece.as_any().is::<StringViewArray>()) {
        return Ok(None);
    }
    let too_many = AtomicBool::new(false);
    let locals = chunked::each(&pieces, |chunk| {
        let views = chunk.array.as_any().downcast_ref::<StringViewArray>();
        let found = views.filter(|_| !too_many.load(Relaxed)).and_then(|views| local(views, most));
        too_many.fetch_or(found.is_none(), Relaxed);
        Ok(found)
    })?;
    let Some(locals) = locals.into_iter().collect::<Option<Vec<Local<'_>>>>() else { return Ok(None) };
    if locals.iter().map(|local| local.distinct.len()).sum::<usize>() > MOST_MERGED {
        return Ok(None);
    }
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut all: Vec<&str> = Vec::new();
    let mut merged: Vec<Vec<u32>> = Vec::with_capacity(locals.len());
    for local in &locals {
        let of = local.distinct.iter().map(|text| {
            *known.entry(text).or_insert_with(|| {
                all.push(text);
                all.len() as u32 - 1
            })
        });
        merged.push(of.collect());
        if all.len() > most {
            return Ok(None);
        }
    }
    let SortedStrings { dictionary, places } = sorted(&all);
    let rows: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    let stored = stored(context, rows, dictionary.entries());
    let values = context.allocate(rows * stored.bytes())?;
    chunked::each(&pieces, |chunk| {
        let Local { codes, .. } = &locals[chunk.index];
        // A chunk of nulls has no distinct string.
        let mut to: Vec<u32> = merged[chunk.index].iter().map(|code| places[*code as usize]).collect();
        to.resize(to.len().max(1), 0);
        match stored {
            DeviceType::Number(Scalar::U8) => write::<u8>(context, &values, chunk.row, codes, &to),
            DeviceType::Number(Scalar::U16) => write::<u16>(context, &values, chunk.row, codes, &to),
            _ => write::<u32>(context, &values, chunk.row, codes, &to),
        }
    })?;
    Ok(Some(EncodedStrings { values, stored, dictionary }))
}

fn write<T: Pod + TryFrom<u32> + Default>(
    context: &Context,
    values: &Buffer,
    row: u64,
    codes: &[u32],
    to: &[u32],
) -> Result<()> {
    let to: Vec<T> = to.iter().map(|code| T::try_from(*code).unwrap_or_default()).collect();
    let codes: Vec<T> = codes.iter().map(|code| to[*code as usize]).collect();
    Ok(values.write(row * size_of::<T>() as u64, &codes, &context.stream)?)
}

/// `None` if there are more than `most` distinct strings. A null has the code 0.
pub fn local(views: &StringViewArray, most: usize) -> Option<Local<'_>> {
    let mut by_view: HashMap<u128, u32, BuildHasherDefault<ViewHasher>> = HashMap::default();
    let mut by_text: HashMap<&str, u32> = HashMap::new();
    let mut distinct = Vec::new();
    let mut codes = Vec::with_capacity(views.len());
    let mut last = None;
    for (row, view) in views.views().iter().enumerate() {
        if views.is_null(row) {
            codes.push(0);
            continue;
        }
        if let Some((known, code)) = last
            && known == *view
        {
            codes.push(code);
            continue;
        }
        let code = match by_view.get(view) {
            Some(code) => *code,
            None => {
                let text = views.value(row);
                let code = *by_text.entry(text).or_insert_with(|| {
                    distinct.push(text);
                    distinct.len() as u32 - 1
                });
                if distinct.len() > most {
                    return None;
                }
                if by_view.len() < VIEWS {
                    by_view.insert(*view, code);
                }
                code
            }
        };
        last = Some((*view, code));
        codes.push(code);
    }
    Some(Local { codes, distinct })
}
