//! Foreign-key joins: if the build keys are dense and the probe range lies inside them, every probe row matches. So
//! no row is filtered, columns that pass through are shared instead of copied, and build columns are never null.

use onrush_kernels::Context;

use crate::Result;
use crate::codegen::group::KeyLookup;
use crate::codegen::{ProbePlan, RowSource};
use crate::column::DeviceTable;
use crate::ir::expr::{ExprGraph, NodeId, Op};
use crate::operators::join::BuildSide;
use crate::pipeline::Stage;

/// Notes which joins are foreign-key joins, for a stage over a table. Returns what is left of the stage's filter. Value
/// ranges of columns are computed once, and only if the build side is complete.
pub(crate) fn note(
    context: &Context,
    (table, source): (&DeviceTable, &RowSource),
    stage: &Stage,
    built: &mut [BuildSide],
) -> Result<Option<NodeId>> {
    for (join, built) in stage.joins.iter().zip(built.iter_mut()) {
        let probing = &mut built.probing;
        if probing.complete && probing.paired.is_none() && join.residual.is_none() {
            let keys = &stage.graph.node(join.probe).args;
            probing.certain = finds_all(context, (table, source), &stage.graph, keys, probing)?;
        }
    }
    // Each pair of an inner join has a row, too.
    let finds = |probing: &ProbePlan| probing.certain || probing.paired == Some(false);
    let certain: Vec<NodeId> =
        stage.joins.iter().zip(built).filter(|(_, built)| finds(&built.probing)).map(|(join, _)| join.probe).collect();
    Ok(stage.filter.and_then(|filter| rest(&stage.graph, filter, &certain)))
}

/// Whether each probe row has a match. Computed keys do not count: their evaluation may fail, and a row error must be
/// reported.
fn finds_all(
    context: &Context,
    (table, source): (&DeviceTable, &RowSource),
    graph: &ExprGraph,
    keys: &[NodeId],
    probing: &ProbePlan,
) -> Result<bool> {
    let KeyLookup::Direct { digits, .. } = &probing.key_lookup else { return Ok(false) };
    for ((key, digit), renumbered) in keys.iter().zip(digits).zip(&probing.renumbered) {
        let Op::Input(input) = graph.node(*key).op else { return Ok(false) };
        let nullable = source.inputs.get(input as usize).is_none_or(|access| access.valid.is_some());
        let Some(column) = table.columns.get(input as usize).filter(|_| !nullable && !renumbered) else {
            return Ok(false);
        };
        let base = i128::from(digit.base);
        let inside = |(low, high)| low >= base && high < base + i128::from(digit.count);
        if !column.range(context)?.is_some_and(inside) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A condition without its conjuncts that only test for a match.
fn rest(graph: &ExprGraph, condition: NodeId, certain: &[NodeId]) -> Option<NodeId> {
    let node = graph.node(condition);
    match node.op {
        Op::And => match (rest(graph, node.args[0], certain), rest(graph, node.args[1], certain)) {
            (Some(_), Some(_)) => Some(condition),
            (one, other) => one.or(other),
        },
        Op::Not if graph.node(node.args[0]).op == Op::IsNull => {
            (!certain.contains(&graph.node(node.args[0]).args[0])).then_some(condition)
        }
        _ => Some(condition),
    }
}
