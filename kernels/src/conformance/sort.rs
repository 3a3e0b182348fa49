//! `sort` against the standard library's stable sort, and its speed.

use super::values::{Random, Value};
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::error::Result;
use crate::scalar::Scalar;
use crate::sort::{sort, sort_keys, sort_with};

fn check_type<K: Value + Ord + TryFrom<u64>>(cases: &mut Cases) {
    let mut random = Random(61 + K::SCALAR.bytes());
    let number = |value: u64| K::try_from(value).ok();
    for rows in cases.depth.sizes() {
        let bits = 8 * K::SCALAR.bytes() as u32;
        let all = u64::MAX >> (64 - bits);
        let shapes: Vec<(&str, Vec<u64>)> = vec![
            ("random", (0..rows).map(|_| random.below(u64::MAX) & all).collect()),
            ("few values", (0..rows).map(|_| random.below(3) * 0x0101).collect()),
            ("upper bits", (0..rows).map(|_| random.below(7) << (bits - 5)).collect()),
            ("ascending", (0..rows as u64).collect()),
            ("descending", (0..rows as u64).rev().collect()),
            ("all the same", vec![0x55aa; rows]),
            ("highest", (0..rows).map(|_| all - random.below(2)).collect()),
            // Upper bits that seem to distinguish the keys, and do not: long runs, sorted or not below.
            (
                "twice the same",
                (0..rows).map(|_| random.below(256)).map(|x| (x * 0x0101) << (bits - 16) | (255 - x)).collect(),
            ),
            ("long runs", (0..rows).map(|_| (random.below(2) * 0x0101) << (bits - 16) | random.below(65536)).collect()),
        ];
        // Large sizes take long on an emulated device.
        let shapes = if rows > 10_000 { &shapes[..3] } else { &shapes[..] };
        for (shape, keys) in shapes {
            let highest = keys.iter().copied().max().unwrap_or(0);
            let keys: Vec<K> = keys.iter().copied().filter_map(number).collect();
            cases.case(
                || format!("sort {}, {rows} rows, {shape}", K::SCALAR.cuda()),
                |context| {
                    let there = context.upload(&keys)?;
                    let sorted = sort(context, &Column::new(K::SCALAR, &there).slice(0, rows as u64))?;
                    let mut expected: Vec<(K, u32)> = keys.iter().copied().zip(0..).collect();
                    expected.sort_by_key(|(key, _)| *key);
                    let found = sorted.keys.read::<K>(0..rows, &context.stream)?;
                    let numbers = sorted.rows.read::<u32>(0..rows, &context.stream)?;
                    let found: Vec<(K, u32)> = found.into_iter().zip(numbers).collect();
                    let alone = sort_keys(context, &Column::new(K::SCALAR, &there).slice(0, rows as u64))?;
                    let alone = alone.read::<K>(0..rows, &context.stream)?;
                    let values: Vec<u64> = (0..rows as u64).map(|row| !row << 20).collect();
                    let of = (K::SCALAR, rows as u64, highest);
                    let (beside, moved) = sort_with(context, of, there, context.upload(&values)?)?;
                    let beside = beside.read::<K>(0..rows, &context.stream)?;
                    let moved = moved.read::<u64>(0..rows, &context.stream)?;
                    let keys: Vec<K> = expected.iter().map(|(key, _)| *key).collect();
                    let values: Vec<u64> = expected.iter().map(|(_, row)| !u64::from(*row) << 20).collect();
                    let with = same(&beside, &keys).and(same(&moved, &values));
                    Ok(same(&found, &expected).and(same(&alone, &keys)).and(with))
                },
            );
        }
    }
}

pub fn check(cases: &mut Cases) {
    check_type::<u32>(cases);
    check_type::<u64>(cases);
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let (rows, context) = (bench.rows, bench.context);
    let mut random = Random(19);
    let mut wide: Vec<u64> = (0..rows).map(|_| random.below(u64::MAX)).collect();
    let keys = context.upload(&wide)?;
    let column = Column::new(Scalar::U64, &keys).slice(0, rows);
    bench
        .measure("sort random u64 with rows", rows, rows * (8 + 8 * 24), |context| sort(context, &column).map(drop))?;
    bench.measure("sort random u64", rows, rows * (8 + 8 * 16), |context| sort_keys(context, &column).map(drop))?;
    // Floats between 0 and 1, as their bits.
    let floats: Vec<u64> = wide.iter().map(|key| ((key >> 11) as f64 / (1u64 << 53) as f64).to_bits()).collect();
    let float_keys = context.upload(&floats)?;
    let floats = Column::new(Scalar::U64, &float_keys).slice(0, rows);
    bench.measure("sort f64", rows, rows * (8 + 8 * 16), |context| sort_keys(context, &floats).map(drop))?;
    wide.iter_mut().for_each(|key| *key &= (1 << 27) - 1);
    let keys = context.upload(&wide)?;
    let column = Column::new(Scalar::U64, &keys).slice(0, rows);
    bench.measure("sort u64 of 27 bits with rows", rows, rows * (8 + 4 * 24), |context| {
        sort(context, &column).map(drop)
    })?;
    let short: Vec<u32> = wide.iter().map(|key| *key as u32).collect();
    let keys = context.upload(&short)?;
    let column = Column::new(Scalar::U32, &keys).slice(0, rows);
    bench.measure("sort u32 of 27 bits with rows", rows, rows * (4 + 4 * 16), |context| {
        sort(context, &column).map(drop)
    })?;
    let values = context.upload(&wide)?;
    // Input buffers that may be overwritten need a copy.
    bench.measure("sort u32 of 27 bits with values", rows, rows * (24 + 4 + 4 * 24), |context| {
        let (k, v) = (context.allocate(keys.bytes())?, context.allocate(values.bytes())?);
        k.copy_from(0, &keys, 0, keys.bytes(), &context.stream)?;
        v.copy_from(0, &values, 0, values.bytes(), &context.stream)?;
        sort_with(context, (Scalar::U32, rows, u32::MAX.into()), k, v).map(drop)
    })
}
