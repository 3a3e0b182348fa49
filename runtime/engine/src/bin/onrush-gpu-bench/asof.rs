//! Times as-of joins, which SQL does not have. Results are summed, so that the download is not measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array};
use arrow::util::display::array_value_to_string;
use onrush_engine::Engine;
use onrush_frame::TaskHandle;
use onrush_wire::expr::ExprKind;
use onrush_wire::plan::{Asof, AsofStrategy, Op};
use onrush_wire::{Expr, FrameId};

use crate::{Columns, Random, floats, frame, generate, id, keys, median, query};

/// Sorted timestamps: on average one row per thousand units of time.
fn moments(rows: usize, seed: u64) -> ArrayRef {
    let mut moments = generate(rows, seed, |random: &mut Random| random.below(1000 * rows as u64) as i64);
    moments.sort_unstable();
    Arc::new(Int64Array::from(moments))
}

fn side(rows: usize, seed: u64, value: &'static str) -> Columns {
    vec![("time", moments(rows, seed)), ("by", keys(rows, 100 + seed, false)), (value, floats(rows, seed))]
}

/// The left rows with the right row before each, of the same `by` if so wanted.
fn join(engine: &Engine, (left, right): (FrameId, FrameId), by: bool) -> Result<FrameId, String> {
    let column = |name: &str| Expr::new(ExprKind::Column(name.to_string()));
    let by = if by { vec![column("by")] } else { Vec::new() };
    let with = Asof {
        left_on: column("time"),
        right_on: column("time"),
        left_by: by.clone(),
        right_by: by,
        strategy: AsofStrategy::Backward,
        tolerance: None,
        exact: true,
        suffix: "_right".to_string(),
    };
    let new = id();
    let op = Op::JoinAsof { left, right, with };
    engine.step(new, &op, None, None, &TaskHandle::new()).map_err(|e| e.message)?;
    Ok(new)
}

pub fn measure(engine: &Engine, rows: usize, runs: usize) -> Result<(), String> {
    let spent = || engine.accelerator().map_or(Duration::ZERO, |accelerator| accelerator.gpu.spent().1);
    println!("{:<22} {:>8} {:>9} {:>9} {:>9}  sum", "as-of join", "rows", "device ms", "whole ms", "first ms");
    for rows in [rows / 100, rows / 10, rows] {
        let sides = (frame(engine, &side(rows, 1, "price"))?, frame(engine, &side(rows, 2, "bid"))?);
        for by in [false, true] {
            let (mut device, mut whole, mut first, mut sum) = (Vec::new(), Vec::new(), 0.0, String::new());
            for run in 0..=runs {
                engine.forget_results();
                let joined = join(engine, sides, by)?;
                let summed = query(engine, "select count(bid) as n, sum(bid) as s from t", &[joined])?;
                let (before, begun) = (spent(), Instant::now());
                let table = engine.table(summed, &[], &TaskHandle::new()).map_err(|e| e.message)?;
                if run == 0 {
                    first = begun.elapsed().as_secs_f64() * 1e3;
                } else {
                    whole.push(begun.elapsed());
                    device.push(spent() - before);
                }
                let shown = |column: &ArrayRef| array_value_to_string(column, 0).map_err(|e| e.to_string());
                let row = table.batches().first().map(|batch| batch.columns().iter().map(shown).collect());
                sum = row.unwrap_or(Ok(Vec::new()))?.join(" ");
                engine.release(&[summed, joined]);
            }
            let name = if by { "backward, by" } else { "backward" };
            println!(
                "{name:<22} {:>8.0e} {:>9.3} {:>9.3} {first:>9.1}  {sum}",
                rows as f64,
                median(device),
                median(whole)
            );
        }
        engine.release(&[sides.0, sides.1]);
    }
    Ok(())
}
