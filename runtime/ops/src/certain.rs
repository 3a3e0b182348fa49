//! Joins in which each row finds one: the keys of the joined table are all there are between the lowest and the highest of them, and the
//! pipeline's keys lie between these, as foreign keys do. Such a join leaves no row out, so nothing is looked at for that: columns that are
//! passed on are shared instead of copied, and what is joined is never null.

use onrush_kernels::Context;

use crate::Result;
use crate::codegen::group::Finding;
use crate::codegen::{Probing, Source};
use crate::column::DeviceTable;
use crate::graph::{Graph, Id, Op};
use crate::join::Built;
use crate::run::Stage;

/// Notes which joins are so, for a stage that goes over a table; what is left of its filter. Ranges of columns are looked for once, and only where the
/// joined table is complete.
pub(crate) fn note(
    context: &Context,
    (table, source): (&DeviceTable, &Source),
    stage: &Stage,
    built: &mut [Built],
) -> Result<Option<Id>> {
    for (join, built) in stage.joins.iter().zip(built.iter_mut()) {
        let probing = &mut built.probing;
        if probing.complete && probing.paired.is_none() && join.residual.is_none() {
            let keys = &stage.graph.node(join.probe).args;
            probing.certain = finds_all(context, (table, source), &stage.graph, keys, probing)?;
        }
    }
    // Each pair of an inner join has a row, too.
    let finds = |probing: &Probing| probing.certain || probing.paired == Some(false);
    let certain: Vec<Id> =
        stage.joins.iter().zip(built).filter(|(_, built)| finds(&built.probing)).map(|(join, _)| join.probe).collect();
    Ok(stage.filter.and_then(|filter| rest(&stage.graph, filter, &certain)))
}

/// Keys that are computed are not looked at: what is computed may fail, which somebody must see.
fn finds_all(
    context: &Context,
    (table, source): (&DeviceTable, &Source),
    graph: &Graph,
    keys: &[Id],
    probing: &Probing,
) -> Result<bool> {
    let Finding::Dense { digits, .. } = &probing.finding else { return Ok(false) };
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

/// A condition without the parts that say that a row was found.
fn rest(graph: &Graph, condition: Id, certain: &[Id]) -> Option<Id> {
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
