//! Facets: the same layers for the rows of each value of a column.
//!
//! Bins and time buckets come from all rows, so that panels can be compared.

use onrush_engine::Engine;
use onrush_frame::TaskHandle;
use onrush_frame::scalar::value_at;
use onrush_wire::plan::Op;
use onrush_wire::plot::{Facet, Plot, PlotRequest};
use onrush_wire::{BinaryOp, Diagnostic, Expr, ExprKind, Value};

use super::axis_values::{Column, label};
use super::materialized_input::MaterializedInput;
use super::{SharedScales, Source, grouped, layers};

/// Panels that can be told apart.
const PANELS: usize = 20;
/// Notes about single panels.
const NOTES: usize = 3;

pub fn panels(
    engine: &Engine,
    request: &PlotRequest,
    by: &Expr,
    shared: &mut SharedScales,
    task: &TaskHandle,
    plot: &mut Plot,
) -> Result<(), Diagnostic> {
    plot.facet_label = label(by);
    let key = [by.clone().alias("facet")];
    let table = engine.run_aggregate(request.frame, &key, &[Expr::call("len", []).alias("rows")], task)?;
    let column = Column::of(&table, 0, by)?;
    let sizes = Column::of(&table, 1, by)?.positions;
    let column_array = table.column(0).map_err(|e| onrush_expr::error::internal(&e.to_string()))?;
    let mut found: Vec<(usize, Value)> = Vec::new();
    for (row, size) in sizes.iter().enumerate() {
        match value_at(&*column_array, row) {
            Value::Null => {
                plot.notes.push(format!("{} rows with no {} left out", grouped(*size as usize), plot.facet_label));
            }
            value => found.push((row, value)),
        }
    }
    if found.len() > PANELS {
        plot.notes.push(format!(
            "{PANELS} of {} values of {} shown: those with most rows",
            grouped(found.len()),
            plot.facet_label
        ));
        found.sort_by(|a, b| sizes[b.0].total_cmp(&sizes[a.0]));
        found.truncate(PANELS);
        found.sort_by_key(|f| f.0);
    }
    for (index, layer) in request.layers.iter().enumerate() {
        let notes = &mut Vec::new();
        let has_log_bins = super::has_log_bins(&request.style);
        Source {
            engine,
            frame: request.frame,
            index,
            points: 0,
            line: 0,
            has_log_bins,
            shared: &mut *shared,
            task,
            notes,
        }
        .share(layer)?;
    }
    let mut notes: Vec<(String, Vec<String>)> = Vec::new();
    let count = found.len();
    let names = column.names(&found.iter().map(|f| f.0).collect::<Vec<_>>());
    for ((_, value), name) in found.into_iter().zip(names) {
        let literal = Expr::new(ExprKind::Literal(value));
        let predicate = Expr::new(ExprKind::Binary(BinaryOp::Equal, Box::new(by.clone()), Box::new(literal)));
        let panel = MaterializedInput::step(engine, &Op::Filter { input: request.frame, predicate }, task)?;
        let mut own = Vec::new();
        let made = layers(engine, request, panel.id, shared, task, (count, &mut own))?;
        notes.push((name.clone(), own));
        plot.facets.push(Facet { name, layers: made, ..Facet::default() });
    }
    // A note that holds for every panel is said once.
    let everywhere: Vec<String> = match notes.split_first() {
        Some(((_, first), rest)) if !rest.is_empty() => {
            first.iter().filter(|note| rest.iter().all(|(_, own)| own.contains(note))).cloned().collect()
        }
        _ => Vec::new(),
    };
    let of_one = notes.iter().flat_map(|(name, own)| {
        own.iter().filter(|note| !everywhere.contains(note)).map(move |note| format!("{name}: {note}"))
    });
    let mut notes: Vec<String> = of_one.collect();
    plot.notes.extend(everywhere.iter().cloned());
    let more = notes.len().saturating_sub(NOTES);
    notes.truncate(NOTES);
    if more > 0 {
        notes.push(format!("and {more} more of this kind"));
    }
    plot.notes.push(notes.join("; "));
    plot.notes.retain(|note| !note.is_empty());
    Ok(())
}
