//! Passes over compressed sparse rows against plain loops, and their speed.

mod passes;
mod shapes;
pub mod structure;

use super::{Bench, Cases, same};
use crate::error::Result;
use crate::graph;
use shapes::{HostRows, shapes};

pub fn check(cases: &mut Cases) {
    for (name, rows) in shapes(cases.depth) {
        check_rows(cases, &name, &rows);
        passes::check(cases, &name, &rows);
    }
    cases.case(
        || "look".into(),
        |context| {
            let words: Vec<u64> = (1..=24).map(|x| x << 40 | x).collect();
            let (buffer, flag) = (context.upload(&words)?, graph::completion_flag(context)?);
            let found = graph::look::<24>(context, &flag, &buffer)?;
            let again = graph::look::<3>(context, &flag, &buffer)?;
            context.stream.synchronize()?;
            Ok(same(&found, &words).and_then(|()| same(&again, &words[..3])))
        },
    );
    cases.case(
        || "fill".into(),
        |context| {
            let (small, large) = (graph::filled(context, 1001, 7_u32)?, graph::filled(context, 77, 0.5_f64)?);
            let small = small.read::<u32>(0..1001, &context.stream)?;
            let large = large.read::<f64>(0..77, &context.stream)?;
            Ok(same(&small, &[7; 1001]).and_then(|()| same(&large, &[0.5; 77])))
        },
    );
}

fn check_rows(cases: &mut Cases, name: &str, rows: &HostRows) {
    cases.case(
        || format!("transposed {name}"),
        |context| {
            let found = HostRows::read(context, &rows.upload(context)?.transposed(context)?)?;
            Ok(found.same(&rows.transposed()))
        },
    );
    cases.case(
        || format!("degree classes {name}"),
        |context| {
            let csr = rows.upload(context)?;
            let classes = csr.classes(context)?;
            let order = classes.order.read::<u32>(0..rows.nodes(), &context.stream)?;
            // Falling powers of two, then ascending nodes.
            let mut expected: Vec<u32> = (0..rows.nodes() as u32).collect();
            expected.sort_by_key(|v| (rows.degree(*v).leading_zeros(), *v));
            let range = |low: u32, high: u32| {
                order[classes.range(low, high).start as usize..][..classes.range(low, high).len()]
                    .iter()
                    .all(|v| rows.degree(*v) >> low != 0 && u64::from(rows.degree(*v)) >> high == 0)
            };
            let empty = order[classes.empty().start as usize..].iter().all(|v| rows.degree(*v) == 0);
            let all = classes.range(0, 32).len() + classes.empty().len() == rows.nodes();
            match (0..32).all(|k| range(k, k + 1)) && range(2, 5) && empty && all {
                true => Ok(same(&order, &expected)),
                false => Ok(Err("a range has nodes of another class".into())),
            }
        },
    );
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    // About 16 arcs a node.
    let rows = shapes::random(bench.rows.clamp(64, 50_000_000) as usize / 16, bench.rows as usize, 3);
    let csr = rows.upload(bench.context)?;
    let arcs = u64::from(csr.arcs);
    bench.measure("graph transposed", arcs, 32 * arcs, |context| csr.transposed(context).map(drop))
}
