//! `partition` against the definition of its partitions, and its speed.

use super::values::{Random, Value};
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::error::Result;
use crate::partition::{By, PARTS, Partition};
use crate::scalar::Scalar;

/// splitmix64's finaliser, as in prelude.cuh.
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

fn part(key: i64, by: By) -> u64 {
    match by {
        By::Hash => mix(key as u64) >> 56,
        By::Range { base, size } => {
            let scale = (u128::from(PARTS) << 64) / u128::from(size.max(PARTS + 1));
            let offset = (key as u64).wrapping_sub(base as u64);
            ((u128::from(offset) * scale) >> 64).min(255) as u64
        }
    }
}

fn check_type<K: Value + Into<i64> + Ord, V: Value + Ord>(cases: &mut Cases, by: By, keys_of: fn(&mut Random) -> K) {
    let mut random = Random(41 + K::SCALAR.bytes() + V::SCALAR.bytes());
    for rows in cases.depth.sizes() {
        let keys: Vec<K> = (0..=rows).map(|_| keys_of(&mut random)).collect();
        let values = V::column(&mut random, rows);
        cases.case(
            || format!("partition {} with {}, {rows} rows, {by:?}", K::SCALAR.cuda(), V::SCALAR.cuda()),
            |context| {
                let (a, b) = (context.upload(&keys)?, context.upload(&values)?);
                let partition = Partition::new(context, K::SCALAR, V::SCALAR, rows as u64, by)?;
                partition.run(
                    context,
                    &Column::new(K::SCALAR, &a).slice(1, rows as u64),
                    &Column::new(V::SCALAR, &b),
                )?;
                let stream = &context.stream;
                let found_keys = partition.keys().values.read::<K>(0..rows, stream)?;
                let found_values = partition.values().values.read::<V>(0..rows, stream)?;
                let offsets = partition.offsets().read::<u64>(0..PARTS as usize + 1, stream)?;
                let mut expected: Vec<(u64, K, V)> =
                    (0..rows).map(|row| (part(keys[row + 1].into(), by), keys[row + 1], values[row])).collect();
                // Rows of a partition have no order: both sides are sorted.
                expected.sort();
                let mut found = Vec::new();
                for p in 0..PARTS as usize {
                    let (start, end) = (offsets[p] as usize, offsets[p + 1] as usize);
                    if start > end || end > rows {
                        return Ok(Err(format!("part {p} is rows {start} to {end}")));
                    }
                    found.extend((start..end).map(|row| (p as u64, found_keys[row], found_values[row])));
                }
                found.sort();
                Ok(same(&found, &expected))
            },
        );
    }
}

pub fn check(cases: &mut Cases) {
    check_type::<i64, u64>(cases, By::Hash, |random| random.next_u64() as i64);
    check_type::<i64, u16>(cases, By::Hash, |random| random.below(3) as i64 - 1);
    check_type::<i32, u32>(cases, By::Range { base: -100, size: 5000 }, |random| random.below(5100) as i32 - 150);
    check_type::<i64, u64>(cases, By::Range { base: 7, size: 100 }, |random| 7 + random.below(100) as i64);
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let rows = bench.rows;
    let mut random = Random(9);
    let keys: Vec<i64> = (0..rows).map(|_| random.next_u64() as i64).collect();
    let keys = bench.context.upload(&keys)?;
    let values = bench.context.zeros(rows * 8)?;
    let partition = Partition::new(bench.context, Scalar::I64, Scalar::F64, rows, By::Hash)?;
    bench.measure("partition i64 and f64 by hash", rows, rows * 40, |context| {
        partition.run(context, &Column::new(Scalar::I64, &keys), &Column::new(Scalar::F64, &values))
    })
}
