//! The number of each id: its rank among the distinct ids.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringViewArray, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Int64Type};
use arrow::row::{RowConverter, SortField};
use onrush_wire::{Class, Diagnostic};
use rayon::prelude::*;

use crate::error::{internal, plan_error, type_name};

/// The number of an id that is null, and of a node that was not reached.
pub const MISSING: u32 = u32::MAX;

/// Rows that a thread numbers at a time.
const CHUNK: usize = 1 << 16;

fn too_many() -> Diagnostic {
    Diagnostic::error(Class::Resources, "size", "a graph has at most 4,294,967,294 nodes")
}

/// The number of each row's id, in ascending order of the ids, and the distinct ids, in the columns of `columns`. A row
/// with a null in one of the columns has [`MISSING`].
///
/// # Errors
/// If a type has no order, or there are 2^32 - 1 ids or more.
pub fn numbered(columns: &[ArrayRef]) -> Result<(Vec<u32>, Vec<ArrayRef>), Diagnostic> {
    match columns {
        [one] if one.data_type() == &DataType::Int64 => {
            let (codes, ids) = integers(one.as_primitive::<Int64Type>())?;
            Ok((codes, vec![ids]))
        }
        [one] if one.data_type() == &DataType::Utf8View => {
            let (codes, ids) = strings(one.as_string_view())?;
            Ok((codes, vec![ids]))
        }
        columns => rows(columns),
    }
}

fn integers(values: &Int64Array) -> Result<(Vec<u32>, ArrayRef), Diagnostic> {
    let valid = |row: usize| values.is_valid(row).then(|| values.value(row));
    let rows = || (0..values.len()).into_par_iter().with_min_len(CHUNK);
    let range = rows().filter_map(|row| valid(row).map(|v| (v, v)));
    let range = range.reduce_with(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let Some((first, last)) = range else {
        return Ok((vec![MISSING; values.len()], Arc::new(Int64Array::from(Vec::<i64>::new()))));
    };
    // Most ids lie close together: a table gives their ranks.
    let span = last.checked_sub(first).and_then(|span| usize::try_from(span).ok());
    if let Some(span) = span.filter(|span| *span < 8 * values.len() + 1024) {
        let mut table = vec![MISSING; span + 1];
        values.iter().flatten().for_each(|id| table[(id - first) as usize] = 0);
        let mut ids = Vec::new();
        for (offset, code) in table.iter_mut().enumerate().filter(|(_, code)| **code == 0) {
            *code = u32::try_from(ids.len()).ok().filter(|code| *code != MISSING).ok_or_else(too_many)?;
            ids.push(first + offset as i64);
        }
        let codes = rows().map(|row| valid(row).map_or(MISSING, |id| table[(id - first) as usize])).collect();
        return Ok((codes, Arc::new(Int64Array::from(ids))));
    }
    let mut ids: Vec<i64> = values.iter().flatten().collect();
    ids.par_sort_unstable();
    ids.dedup();
    if ids.len() >= MISSING as usize {
        return Err(too_many());
    }
    let rank = |id: i64| ids.partition_point(|other| *other < id) as u32;
    let codes = rows().map(|row| valid(row).map_or(MISSING, rank)).collect();
    Ok((codes, Arc::new(Int64Array::from(ids))))
}

/// The hash of rustc (FxHash) over words of eight bytes: ids are short, and come from the user's own data.
#[derive(Default)]
struct FxHasher(u64);

impl Hasher for FxHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        for word in words.iter().chain([&last]) {
            self.0 = (self.0.rotate_left(5) ^ u64::from_le_bytes(*word)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

type Codes<'a> = HashMap<&'a str, u32, BuildHasherDefault<FxHasher>>;

/// Each thread numbers a part of the rows; the parts' distinct strings are sorted together, and ranks replace the
/// numbers.
fn strings(values: &StringViewArray) -> Result<(Vec<u32>, ArrayRef), Diagnostic> {
    let parts = rayon::current_num_threads().min(values.len() / CHUNK + 1);
    let size = values.len().div_ceil(parts).max(1);
    let mut codes = vec![MISSING; values.len()];
    let numbered = codes.par_chunks_mut(size).enumerate().map(|(part, codes)| {
        let mut known = Codes::default();
        let mut distinct: Vec<&str> = Vec::new();
        for (row, code) in codes.iter_mut().enumerate() {
            let row = part * size + row;
            if values.is_valid(row) {
                *code = match known.entry(values.value(row)) {
                    Entry::Occupied(entry) => *entry.get(),
                    Entry::Vacant(entry) => {
                        distinct.push(entry.key());
                        *entry.insert(distinct.len() as u32 - 1)
                    }
                };
            }
        }
        distinct
    });
    let distinct: Vec<Vec<&str>> = numbered.collect();
    let mut ids: Vec<&str> = distinct.iter().flatten().copied().collect();
    ids.par_sort_unstable();
    ids.dedup();
    if ids.len() >= MISSING as usize {
        return Err(too_many());
    }
    codes.par_chunks_mut(size).zip(&distinct).for_each(|(codes, distinct)| {
        let rank = |id: &&str| ids.partition_point(|other| other < id) as u32;
        let ranks: Vec<u32> = distinct.par_iter().map(rank).collect();
        codes.iter_mut().filter(|code| **code != MISSING).for_each(|code| *code = ranks[*code as usize]);
    });
    let ids = StringViewArray::from_iter_values(ids);
    Ok((codes, Arc::new(ids)))
}

fn rows(columns: &[ArrayRef]) -> Result<(Vec<u32>, Vec<ArrayRef>), Diagnostic> {
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let converter = RowConverter::new(fields).map_err(|_| {
        let types: Vec<String> = columns.iter().map(|column| format!("`{}`", type_name(column.data_type()))).collect();
        plan_error("type-mismatch", format!("{} cannot be the id of a node", types.join(", ")))
            .help("ids are numbers, strings, booleans, dates and times")
    })?;
    let rows = converter.convert_columns(columns).map_err(internal)?;
    let length = columns.first().map_or(0, |column| column.len());
    let is_valid = |row: usize| columns.iter().all(|column| column.is_valid(row));
    let mut known: HashMap<&[u8], u32> = HashMap::new();
    let mut first: Vec<u64> = Vec::new();
    let mut codes = Vec::with_capacity(length);
    for row in 0..length {
        codes.push(match is_valid(row) {
            false => MISSING,
            true => *known.entry(rows.row(row).data()).or_insert_with(|| {
                first.push(row as u64);
                first.len() as u32 - 1
            }),
        });
    }
    if first.len() >= MISSING as usize {
        return Err(too_many());
    }
    let mut order: Vec<u32> = (0..first.len() as u32).collect();
    let row_of = |code: u32| rows.row(first[code as usize] as usize);
    order.par_sort_unstable_by(|a, b| row_of(*a).cmp(&row_of(*b)));
    let mut rank = vec![0; first.len()];
    order.iter().enumerate().for_each(|(position, code)| rank[*code as usize] = position as u32);
    codes.iter_mut().filter(|code| **code != MISSING).for_each(|code| *code = rank[*code as usize]);
    let firsts = UInt64Array::from_iter_values(order.iter().map(|code| first[*code as usize]));
    let ids = columns.iter().map(|column| take(column, &firsts, None).map_err(internal)).collect::<Result<_, _>>()?;
    Ok((codes, ids))
}
