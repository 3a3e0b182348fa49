//! `hash_group` against the standard library's map, and its speed.

use super::grouping::Table;
use super::values::{Nulls, Random};
use super::{Bench, Cases};
use crate::accumulate::{COUNT, HIGH, LOW, SUM, Shape};
use crate::column::Column;
use crate::error::Result;
use crate::hash_group::{HashGroup, Strategy, group, strategy};
use crate::scalar::Scalar;

const ALL: u32 = SUM | COUNT | LOW | HIGH;

#[derive(Clone, Copy, Debug)]
struct Keys {
    domain: u64,
    spread: bool,
    estimate: u64,
}

fn one(
    cases: &mut Cases,
    random: &mut Random,
    rows: usize,
    keys: Keys,
    chosen: Option<Strategy>,
    nulls: (Nulls, Nulls),
) {
    let key = |random: &mut Random| {
        let key = random.below(keys.domain) as i64 - 2;
        // -1 marks an empty slot in the table: it is among the keys.
        if keys.spread && key != -1 { key.wrapping_mul(0x5851_f42d_4c95_7f2d) } else { key }
    };
    let column = (0..rows).map(|_| key(random)).collect();
    let table = Table::new(random, column, nulls.0, nulls.1);
    cases.case(
        || format!("hash_group {rows} rows, {keys:?}, {chosen:?}, nulls {nulls:?}"),
        |context| {
            let columns = table.upload(context)?;
            let groups = group(context, &columns.keys(), &columns.values(), ALL, keys.estimate, chosen)?;
            table.compare(context, &groups)
        },
    );
}

pub fn check(cases: &mut Cases) {
    let mut random = Random(77);
    let absent = (Nulls::Absent, Nulls::Absent);
    for rows in cases.depth.sizes() {
        for (domain, spread) in [(1, false), (10, false), (1000, true), (1 << 40, true)] {
            let keys = Keys { domain, spread, estimate: domain.min(rows as u64) };
            one(cases, &mut random, rows, keys, None, absent);
        }
    }
    let fifty = Keys { domain: 50, spread: true, estimate: 50 };
    for rows in cases.depth.few_sizes() {
        // The second one is too small for the keys: most go past it.
        let fronts = [Strategy::Front { front: 100, replicas: 4 }, Strategy::Front { front: 7, replicas: 1 }];
        for strategy in [fronts[0], fronts[1], Strategy::Direct] {
            for nulls in Nulls::ALL {
                one(cases, &mut random, rows, fifty, Some(strategy), (nulls, Nulls::Random));
                one(cases, &mut random, rows, fifty, Some(strategy), (Nulls::Random, nulls));
            }
        }
        // Ten groups were expected, and all keys are different.
        let wrong = Keys { domain: 1 << 60, spread: false, estimate: 10 };
        let thousand = Keys { domain: 1000, spread: true, estimate: 1000 };
        one(cases, &mut random, rows, wrong, None, absent);
        for strategy in [Strategy::Partitioned, Strategy::PartitionedFront { front: 64 }, fronts[0], Strategy::Direct] {
            one(cases, &mut random, rows, wrong, Some(strategy), absent);
            one(cases, &mut random, rows, thousand, Some(strategy), absent);
        }
    }
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let (rows, context) = (bench.rows, bench.context);
    let mut random = Random(3);
    let values: Vec<f64> = (0..rows).map(|_| random.below(1 << 40) as f64).collect();
    let values = context.upload(&values)?;
    let values = Column::new(Scalar::F64, &values);
    for groups in [100u64, 10_000, 1_000_000, 10_000_000] {
        // A table of so many groups takes minutes on the emulated device.
        if groups > rows {
            continue;
        }
        let keys: Vec<i64> =
            (0..rows).map(|_| (random.below(groups) as i64).wrapping_mul(0x5851_f42d_4c95_7f2d)).collect();
        let keys = context.upload(&keys)?;
        let keys = Column::new(Scalar::I64, &keys);
        let shape = Shape::new(&keys, &values, SUM | COUNT)?;
        let mut time = |name: String, rows: u64, chosen: Strategy| {
            let (keys, values) = (keys.slice(0, rows), values.slice(0, rows));
            let table = HashGroup::new(context, shape, rows, groups, chosen)?;
            bench.measure(name, rows, rows * 16 + groups * 24, |context| table.run(context, &keys, &values))
        };
        let chosen = strategy(&shape, rows, groups);
        time(format!("hash_group mean, {groups} keys"), rows, chosen)?;
        if chosen != Strategy::Direct {
            time(format!("hash_group mean, {groups} keys, table in device memory alone"), rows, Strategy::Direct)?;
        }
        if groups == 10_000_000 {
            let chosen = strategy(&shape, rows / 10, groups);
            time(format!("hash_group mean, {groups} keys"), rows / 10, chosen)?;
        }
    }
    Ok(())
}
