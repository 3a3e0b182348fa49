//! What a step is called, and what it is made from. A new step has its place here; nothing else lists all steps but the
//! planner.

use super::Op;
use crate::FrameId;
use crate::expr::Expr;

/// The frames of a step, in a fixed order.
macro_rules! inputs {
    ($op:expr, $iter:ident) => {
        match $op {
            Op::Read(_) | Op::FromArrow { .. } => Vec::new(),
            Op::Sql { tables, .. } => tables.$iter().map(|(_, id)| id).collect(),
            Op::Concat { inputs, .. } => inputs.$iter().collect(),
            Op::Join { left, right, .. } | Op::JoinAsof { left, right, .. } => vec![left, right],
            Op::Select { input, .. }
            | Op::WithColumns { input, .. }
            | Op::Filter { input, .. }
            | Op::GroupBy { input, .. }
            | Op::Sort { input, .. }
            | Op::Slice { input, .. }
            | Op::Sample { input, .. }
            | Op::Unique { input, .. }
            | Op::DropNulls { input, .. }
            | Op::FillNull { input, .. }
            | Op::Rename { input, .. }
            | Op::Drop { input, .. }
            | Op::Cast { input, .. }
            | Op::Describe { input }
            | Op::ValueCounts { input, .. }
            | Op::Pivot { input, .. }
            | Op::Unpivot { input, .. }
            | Op::WithRowIndex { input, .. }
            | Op::Explode { input, .. }
            | Op::Map { input, .. }
            | Op::Split { input, .. } => vec![input],
            Op::Graph { input, graph, call } => {
                let nodes = graph.nodes.$iter().map(|crate::graph::NodeIds { frame, .. }| frame);
                let frames = call.frames.$iter().map(|(_, id)| id);
                [input].into_iter().chain(nodes).chain(frames).collect()
            }
        }
    };
}

/// The expressions of a step, in a fixed order. `$expr` takes the one out of a sort key.
macro_rules! exprs {
    ($op:expr, $iter:ident, $expr:expr) => {
        match $op {
            Op::Select { exprs, .. } | Op::WithColumns { exprs, .. } => exprs.$iter().collect(),
            Op::Filter { predicate, .. } => vec![predicate],
            Op::GroupBy { keys, aggs, .. } => keys.$iter().chain(aggs.$iter()).collect(),
            Op::Join { left_on, right_on, .. } => left_on.$iter().chain(right_on.$iter()).collect(),
            Op::JoinAsof { with, .. } => {
                let super::Asof { left_on, right_on, left_by, right_by, .. } = with;
                [left_on, right_on].into_iter().chain(left_by.$iter()).chain(right_by.$iter()).collect()
            }
            Op::Sort { keys, .. } => keys.$iter().map($expr).collect(),
            Op::Unique { subset, .. } | Op::DropNulls { subset, .. } => subset.$iter().collect(),
            Op::ValueCounts { column, .. } => vec![column],
            Op::Read(_)
            | Op::FromArrow { .. }
            | Op::Sql { .. }
            | Op::Slice { .. }
            | Op::Sample { .. }
            | Op::FillNull { .. }
            | Op::Rename { .. }
            | Op::Drop { .. }
            | Op::Cast { .. }
            | Op::Concat { .. }
            | Op::Describe { .. }
            | Op::Pivot { .. }
            | Op::Unpivot { .. }
            | Op::WithRowIndex { .. }
            | Op::Explode { .. }
            | Op::Map { .. }
            | Op::Split { .. }
            | Op::Graph { .. } => Vec::new(),
        }
    };
}

impl Op {
    /// The name of the method that makes the step.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Read(_) => "read",
            Op::FromArrow { .. } => "values",
            Op::Sql { .. } => "sql",
            Op::Select { .. } => "select",
            Op::WithColumns { .. } => "with_columns",
            Op::Filter { .. } => "filter",
            Op::GroupBy { .. } => "group_by",
            Op::Join { .. } => "join",
            Op::JoinAsof { .. } => "join_asof",
            Op::Sort { .. } => "sort",
            Op::Slice { .. } => "slice",
            Op::Sample { .. } => "sample",
            Op::Unique { .. } => "unique",
            Op::DropNulls { .. } => "drop_nulls",
            Op::FillNull { .. } => "fill_null",
            Op::Rename { .. } => "rename",
            Op::Drop { .. } => "drop",
            Op::Cast { .. } => "cast",
            Op::Concat { .. } => "concat",
            Op::Describe { .. } => "describe",
            Op::ValueCounts { .. } => "value_counts",
            Op::Pivot { .. } => "pivot",
            Op::Unpivot { .. } => "unpivot",
            Op::WithRowIndex { .. } => "with_row_index",
            Op::Explode { .. } => "explode",
            Op::Map { .. } => "map",
            Op::Split { .. } => "split",
            Op::Graph { .. } => "graph",
        }
    }

    /// The frames that the step is made from, in a fixed order: that of [`Op::inputs_mut`].
    pub fn inputs(&self) -> Vec<FrameId> {
        let inputs: Vec<&FrameId> = inputs!(self, iter);
        inputs.into_iter().copied().collect()
    }

    /// The frames that the step is made from, to be replaced.
    pub fn inputs_mut(&mut self) -> Vec<&mut FrameId> {
        inputs!(self, iter_mut)
    }

    /// The expressions of the step, in a fixed order: that of [`Op::exprs_mut`].
    pub fn exprs(&self) -> Vec<&Expr> {
        exprs!(self, iter, |key| &key.expr)
    }

    /// The expressions of the step, to be replaced.
    pub fn exprs_mut(&mut self) -> Vec<&mut Expr> {
        exprs!(self, iter_mut, |key| &mut key.expr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::SortKey;
    use crate::plan::{Asof, AsofStrategy, JoinKind};

    fn exprs(op: &mut Op) -> (Vec<Expr>, Vec<Expr>) {
        (op.exprs().into_iter().cloned().collect(), op.exprs_mut().into_iter().map(|expr| expr.clone()).collect())
    }

    #[test]
    fn inputs_and_expressions_are_seen_alike_when_read_and_when_replaced() {
        let [a, b, c, d] = ["a", "b", "c", "d"].map(Expr::column);
        let asof = Asof {
            left_on: a.clone(),
            right_on: b.clone(),
            left_by: vec![c.clone()],
            right_by: vec![d.clone()],
            strategy: AsofStrategy::Backward,
            tolerance: None,
            exact: true,
            suffix: "_right".to_string(),
        };
        let (left, right) = (FrameId(7), FrameId(8));
        let mut op = Op::JoinAsof { left, right, with: asof };
        assert_eq!(op.inputs(), [left, right]);
        assert_eq!(op.inputs_mut(), [&FrameId(7), &FrameId(8)]);
        assert_eq!(
            exprs(&mut op),
            (vec![a.clone(), b.clone(), c.clone(), d.clone()], vec![a.clone(), b.clone(), c.clone(), d])
        );

        let key = |expr: &Expr| SortKey { expr: expr.clone(), descending: true, nulls_last: None };
        let mut op = Op::Sort { input: left, keys: vec![key(&b), key(&a)] };
        assert_eq!(exprs(&mut op), (vec![b.clone(), a.clone()], vec![b.clone(), a.clone()]));

        let mut op = Op::Sql { query: String::new(), tables: vec![("x".to_string(), right), ("y".to_string(), left)] };
        op.inputs_mut().into_iter().for_each(|id| id.0 += 1);
        assert_eq!((op.inputs(), op.name()), (vec![FrameId(9), FrameId(8)], "sql"));
        let on = vec![c];
        let mut op = Op::Join {
            left,
            right,
            how: JoinKind::Inner,
            left_on: on.clone(),
            right_on: vec![a.clone()],
            suffix: String::new(),
        };
        assert_eq!(exprs(&mut op).0, [on[0].clone(), a]);
    }
}
