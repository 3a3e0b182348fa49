//! Scores of pairs of nodes.

use onrush_graph::similarity::{self, Measure, Scores};
use onrush_wire::Diagnostic;

use super::MaybeColumns;
use crate::arguments::{Arguments, Columns, floats};

pub fn columns(args: &Arguments<'_>) -> MaybeColumns {
    let name = args.call.algorithm.as_str();
    let Some(measure) = Measure::named(name) else { return Ok(None) };
    let (graph, pairs) = (args.graph(), args.pairs("pairs")?);
    let found = match (pairs, args.get("top")?) {
        (None, Some(top)) => similarity::top_pairs(graph, measure, top, args.run),
        (pairs, _) => similarity::scores(graph, pairs.as_deref(), measure, args.run),
    };
    result(args, &found.map_err(|e| args.failed(&e))?).map(Some)
}

/// A row for each pair, or for those of the highest scores.
pub(crate) fn result(args: &Arguments<'_>, found: &Scores) -> Result<Columns, Diagnostic> {
    let name = args.call.algorithm.as_str();
    let mut rows: Vec<usize> = (0..found.pairs.len()).collect();
    if let Some(top) = args.get("top")? {
        // The sort is stable: pairs of one score stay in their order.
        rows.sort_by(|a, b| found.values[*b].total_cmp(&found.values[*a]));
        rows.truncate(top);
    }
    let mut columns = args.index.ids_of("u", rows.iter().map(|row| found.pairs[*row].0))?;
    columns.extend(args.index.ids_of("v", rows.iter().map(|row| found.pairs[*row].1))?);
    columns.push((name.to_string(), floats(rows.iter().map(|row| found.values[*row]).collect())));
    Ok(columns)
}
