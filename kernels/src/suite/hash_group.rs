//! `hash_group` against the standard library's map, and its speed.

use std::collections::HashMap;

use super::values::{Nulls, Random, bitmap};
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::error::Result;
use crate::hash_group::{COUNT, HIGH, HashGroup, LOW, SUM, group};
use crate::scalar::Scalar;

/// Key (`None`: null), count, sum, low, high.
type Row = (Option<i64>, u64, i64, i64, i64);

fn reference(keys: &[i64], has_key: &[bool], values: &[i64], valid: &[bool]) -> Vec<Row> {
    let mut groups: HashMap<Option<i64>, (u64, i64, i64, i64)> = HashMap::new();
    for row in 0..keys.len() {
        let group = groups.entry(has_key[row].then_some(keys[row])).or_insert((0, 0, i64::MAX, i64::MIN));
        if valid[row] {
            let x = values[row];
            *group = (group.0 + 1, group.1.wrapping_add(x), group.2.min(x), group.3.max(x));
        }
    }
    let mut rows: Vec<Row> = groups.into_iter().map(|(key, (n, sum, low, high))| (key, n, sum, low, high)).collect();
    rows.sort();
    rows
}

#[allow(clippy::too_many_arguments)]
fn one(
    cases: &mut Cases,
    random: &mut Random,
    rows: usize,
    domain: u64,
    spread: bool,
    estimate: u64,
    key_nulls: Nulls,
    value_nulls: Nulls,
) {
    let key = |random: &mut Random| {
        let key = random.below(domain) as i64 - 2;
        // -1 marks an empty slot in the table: it is among the keys.
        if spread && key != -1 { key.wrapping_mul(0x5851_f42d_4c95_7f2d) } else { key }
    };
    let keys: Vec<i64> = (0..rows).map(|_| key(random)).collect();
    let values: Vec<i64> = (0..rows).map(|_| random.next() as i64).collect();
    let has_key = key_nulls.valid(random, rows);
    let valid = value_nulls.valid(random, rows);
    let (key_bits, value_bits) = (bitmap(random, &has_key, 0), bitmap(random, &valid, 0));
    cases.case(
        || format!("hash_group {rows} rows, keys of {domain}, estimate {estimate}, null keys {key_nulls:?}, null values {value_nulls:?}"),
        |context| {
            let (key_buffer, value_buffer) = (context.upload(&keys)?, context.upload(&values)?);
            let (key_validity, value_validity) = (context.upload(&key_bits)?, context.upload(&value_bits)?);
            let mut key_column = Column::new(Scalar::I64, &key_buffer);
            if key_nulls != Nulls::Absent {
                key_column = key_column.with_validity(&key_validity);
            }
            let mut value_column = Column::new(Scalar::I64, &value_buffer);
            if value_nulls != Nulls::Absent {
                value_column = value_column.with_validity(&value_validity);
            }
            let groups = group(context, &key_column, &value_column, SUM | COUNT | LOW | HIGH, estimate)?;
            let count = groups.count as usize;
            let found_keys = groups.keys.read::<i64>(0..count, &context.stream)?;
            let column = |which: usize| {
                let start = which * groups.capacity as usize;
                groups.accumulators.read::<i64>(start..start + count, &context.stream)
            };
            let (sums, counts, lows, highs) = (column(0)?, column(1)?, column(2)?, column(3)?);
            let mut found: Vec<Row> = (0..count)
                .map(|g| {
                    let key = (groups.null_group != Some(g as u64)).then_some(found_keys[g]);
                    (key, counts[g] as u64, sums[g], lows[g], highs[g])
                })
                .collect();
            found.sort();
            Ok(same(&found, &reference(&keys, &has_key, &values, &valid)))
        },
    );
}

pub fn check(cases: &mut Cases) {
    let mut random = Random(77);
    for rows in cases.depth.sizes() {
        for (domain, spread) in [(1, false), (10, false), (1000, true), (1 << 40, true)] {
            one(cases, &mut random, rows, domain, spread, domain.min(rows as u64), Nulls::Absent, Nulls::Absent);
        }
    }
    for rows in cases.depth.few_sizes() {
        for nulls in Nulls::ALL {
            one(cases, &mut random, rows, 50, true, 50, nulls, Nulls::Random);
            one(cases, &mut random, rows, 50, true, 50, Nulls::Random, nulls);
        }
        // Ten groups were expected, and all keys are different.
        one(cases, &mut random, rows, 1 << 60, false, 10, Nulls::Absent, Nulls::Absent);
    }
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let rows = bench.rows;
    let mut random = Random(3);
    for groups in [100u64, 10_000, 1_000_000, 10_000_000] {
        if groups > rows {
            continue;
        }
        let keys: Vec<i64> = (0..rows).map(|_| random.below(groups) as i64).collect();
        let keys = bench.context.upload(&keys)?;
        let values = bench.context.zeros(rows * 8)?;
        let table = HashGroup::new(bench.context, Scalar::I64, Scalar::F64, SUM | COUNT, groups)?;
        bench.measure(format!("hash_group mean, {groups} keys"), rows, rows * 16, |context| {
            table.clear(context)?;
            table.add(context, &Column::new(Scalar::I64, &keys), &Column::new(Scalar::F64, &values))
        })?;
    }
    Ok(())
}
