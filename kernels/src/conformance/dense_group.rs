//! `dense_group` against the standard library's map, and its speed.

use super::grouping::Table;
use super::values::{Nulls, Random};
use super::{Bench, Cases};
use crate::accumulate::{COUNT, HIGH, LOW, SUM, Shape};
use crate::column::Column;
use crate::dense_group::{DenseGroup, Range, Strategy, group, strategy};
use crate::error::Result;
use crate::scalar::Scalar;

const ALL: u32 = SUM | COUNT | LOW | HIGH;

fn one(
    cases: &mut Cases,
    random: &mut Random,
    rows: usize,
    range: Range,
    chosen: Option<Strategy>,
    nulls: (Nulls, Nulls),
) {
    let keys = (0..rows).map(|_| range.base + random.below(range.size) as i64).collect();
    let table = Table::new(random, keys, nulls.0, nulls.1);
    cases.case(
        || format!("dense_group {rows} rows, {range:?}, {chosen:?}, nulls {nulls:?}"),
        |context| {
            let columns = table.upload(context)?;
            match group(context, &columns.keys(), &columns.values(), ALL, range, chosen)? {
                Some(groups) => table.compare(context, &groups),
                None => Ok(Err("a key was said to be outside of the range".into())),
            }
        },
    );
}

pub fn check(cases: &mut Cases) {
    let mut random = Random(91);
    let absent = (Nulls::Absent, Nulls::Absent);
    for rows in cases.depth.sizes() {
        for (base, size) in [(0, 1), (-3, 10), (1 << 40, 1000), (i64::MIN, 70_000)] {
            one(cases, &mut random, rows, Range { base, size }, None, absent);
        }
    }
    let range = Range { base: -7, size: 900 };
    for rows in cases.depth.few_sizes() {
        for strategy in [Strategy::Shared { replicas: 1 }, Strategy::Shared { replicas: 4 }, Strategy::Direct] {
            for nulls in Nulls::ALL {
                one(cases, &mut random, rows, range, Some(strategy), (nulls, Nulls::Random));
                one(cases, &mut random, rows, range, Some(strategy), (Nulls::Random, nulls));
            }
        }
        one(cases, &mut random, rows, range, Some(Strategy::Partitioned), absent);
        one(cases, &mut random, rows, Range { base: 0, size: 100_000 }, Some(Strategy::Partitioned), absent);
        // A key outside the range is reported, whichever strategy meets it.
        for chosen in [Strategy::Shared { replicas: 2 }, Strategy::Direct, Strategy::Partitioned] {
            let keys = (0..rows as i64).map(|row| if row == rows as i64 / 2 { -8 } else { -7 }).collect();
            let table = Table::new(&mut random, keys, Nulls::Absent, Nulls::Absent);
            cases.case(
                || format!("dense_group {rows} rows, one of them outside, {chosen:?}"),
                |context| {
                    let columns = table.upload(context)?;
                    let found = group(context, &columns.keys(), &columns.values(), ALL, range, Some(chosen))?;
                    let told = found.is_none();
                    Ok(if told == (rows > 0) { Ok(()) } else { Err(format!("outside: {told}")) })
                },
            );
        }
    }
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let rows = bench.rows;
    let mut random = Random(3);
    let values: Vec<f64> = (0..rows).map(|_| random.below(1 << 40) as f64).collect();
    let values = bench.context.upload(&values)?;
    let values = Column::new(Scalar::F64, &values);
    for size in [100u64, 10_000, 1_000_000, 10_000_000] {
        // A table of so many groups takes minutes on the emulated device.
        if size > rows {
            continue;
        }
        let keys: Vec<i64> = (0..rows).map(|_| random.below(size) as i64).collect();
        let keys = bench.context.upload(&keys)?;
        let keys = Column::new(Scalar::I64, &keys);
        let mut time = |name: String, want: u32, rows: u64| {
            let (keys, values) = (keys.slice(0, rows), values.slice(0, rows));
            let shape = Shape::new(&keys, &values, want)?;
            let range = Range { base: 0, size };
            let chosen = strategy(bench.context, &shape, range, rows);
            let table = DenseGroup::new(bench.context, shape, range, rows, chosen)?;
            bench.measure(name, rows, rows * 16 + size * 24, |context| table.run(context, &keys, &values))
        };
        time(format!("dense_group mean, {size} keys"), SUM | COUNT, rows)?;
        if size == 100 {
            time(format!("dense_group sum, mean, min, max, count, {size} keys"), ALL, rows)?;
        }
        if size == 10_000_000 {
            time(format!("dense_group mean, {size} keys"), SUM | COUNT, rows / 10)?;
        }
    }
    Ok(())
}
