//! Shared parts of the conformance tests of both groupings: columns with nulls, and a reference by the standard
//! library's map.

use std::collections::HashMap;

use onrush_device::Buffer;

use super::same;
use super::values::{Nulls, Random, bitmap};
use crate::accumulate::Groups;
use crate::column::Column;
use crate::error::Result;
use crate::library::Context;
use crate::scalar::Scalar;

/// Key (`None`: null), count, sum, low, high.
pub type Row = (Option<i64>, u64, i64, i64, i64);

/// Columns of a case, on the host.
pub struct Table {
    pub keys: Vec<i64>,
    values: Vec<i64>,
    key_nulls: Nulls,
    value_nulls: Nulls,
    has_key: Vec<bool>,
    valid: Vec<bool>,
    key_bits: Vec<u32>,
    value_bits: Vec<u32>,
}

/// The same on the device.
pub struct Uploaded {
    keys: Buffer,
    values: Buffer,
    key_bits: Option<Buffer>,
    value_bits: Option<Buffer>,
}

impl Table {
    pub fn new(random: &mut Random, keys: Vec<i64>, key_nulls: Nulls, value_nulls: Nulls) -> Table {
        let rows = keys.len();
        let values = (0..rows).map(|_| random.next_u64() as i64).collect();
        let (has_key, valid) = (key_nulls.valid(random, rows), value_nulls.valid(random, rows));
        let (key_bits, value_bits) = (bitmap(random, &has_key, 0), bitmap(random, &valid, 0));
        Table { keys, values, key_nulls, value_nulls, has_key, valid, key_bits, value_bits }
    }

    pub fn upload(&self, context: &Context) -> Result<Uploaded> {
        let bits = |nulls: Nulls, bits: &[u32]| {
            if nulls == Nulls::Absent { Ok(None) } else { context.upload(bits).map(Some) }
        };
        Ok(Uploaded {
            keys: context.upload(&self.keys)?,
            values: context.upload(&self.values)?,
            key_bits: bits(self.key_nulls, &self.key_bits)?,
            value_bits: bits(self.value_nulls, &self.value_bits)?,
        })
    }

    fn reference(&self) -> Vec<Row> {
        let mut groups: HashMap<Option<i64>, (u64, i64, i64, i64)> = HashMap::new();
        for row in 0..self.keys.len() {
            let key = self.has_key[row].then_some(self.keys[row]);
            let group = groups.entry(key).or_insert((0, 0, i64::MAX, i64::MIN));
            if self.valid[row] {
                let x = self.values[row];
                *group = (group.0 + 1, group.1.wrapping_add(x), group.2.min(x), group.3.max(x));
            }
        }
        let mut rows: Vec<Row> =
            groups.into_iter().map(|(key, (n, sum, low, high))| (key, n, sum, low, high)).collect();
        rows.sort();
        rows
    }

    /// Compares groups that have all four accumulators.
    pub fn compare(&self, context: &Context, groups: &Groups) -> Result<std::result::Result<(), String>> {
        let count = groups.count as usize;
        if groups.count > groups.capacity {
            return Ok(Err(format!("{count} groups where there is room for {}", groups.capacity)));
        }
        let keys = groups.keys.read::<i64>(0..count, &context.stream)?;
        let column = |which: usize| {
            let start = which * groups.capacity as usize;
            groups.accumulators.read::<i64>(start..start + count, &context.stream)
        };
        let (sums, counts, lows, highs) = (column(0)?, column(1)?, column(2)?, column(3)?);
        let mut found: Vec<Row> = (0..count)
            .map(|g| {
                let key = (groups.null_group != Some(g as u64)).then_some(keys[g]);
                (key, counts[g] as u64, sums[g], lows[g], highs[g])
            })
            .collect();
        found.sort();
        Ok(same(&found, &self.reference()))
    }
}

impl Uploaded {
    pub fn keys(&self) -> Column<'_> {
        with_bits(Column::new(Scalar::I64, &self.keys), self.key_bits.as_ref())
    }

    pub fn values(&self) -> Column<'_> {
        with_bits(Column::new(Scalar::I64, &self.values), self.value_bits.as_ref())
    }
}

fn with_bits<'a>(column: Column<'a>, bits: Option<&'a Buffer>) -> Column<'a> {
    match bits {
        Some(bits) => column.with_validity(bits),
        None => column,
    }
}
