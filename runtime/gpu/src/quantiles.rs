//! Quantiles of sorted values: their parameters, and the position at which a quantile is read.

use std::sync::Arc;

use datafusion::logical_expr::AggregateUDF;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use onrush_kernels::Scalar;
use onrush_ops::{Comparison, DeviceType, ExprGraph, Interpolation, LiteralValue, NodeId, Op, OverflowPolicy};

use super::cpu_reason::CpuReason;
use super::lower::Lowering;

const ROWS: DeviceType = DeviceType::Number(Scalar::U64);
const FLOAT: DeviceType = DeviceType::Number(Scalar::F64);

/// Interpolation and rank of an aggregate, if it is a quantile.
pub fn quantile(function: &AggregateFunctionExpr) -> Option<(Interpolation, f64)> {
    parameters(function.fun())
}

/// Interpolation and rank of a function of `expr/quantile.rs`.
pub fn parameters(function: &AggregateUDF) -> Option<(Interpolation, f64)> {
    use onrush_expr::quantile::Interpolation as Of;
    let (q, interpolation) = onrush_expr::quantile::parameters(function)?;
    let interpolation = match interpolation {
        Of::Nearest => Interpolation::Nearest,
        Of::Lower => Interpolation::Lower,
        Of::Higher => Interpolation::Higher,
        Of::Midpoint => Interpolation::Midpoint,
        Of::Linear => Interpolation::Linear,
    };
    Some((interpolation, q))
}

/// Whether an aggregate has quantiles among its functions.
pub fn has_quantiles(aggregate: &AggregateExec) -> bool {
    aggregate.aggr_expr().iter().any(|function| quantile(function).is_some())
}

/// A value, in the rows where a condition holds.
#[derive(Clone)]
pub struct FilteredValue {
    pub of: Arc<dyn PhysicalExpr>,
    pub filter: Option<Arc<dyn PhysicalExpr>>,
}

// By hand: the derived one moves out of a pointer to a trait object.
impl PartialEq for FilteredValue {
    fn eq(&self, other: &Self) -> bool {
        self.of.eq(&other.of) && self.filter == other.filter
    }
}

impl FilteredValue {
    /// Its node, null in other rows.
    pub fn node(&self, lowering: &mut Lowering) -> Result<NodeId, CpuReason> {
        let id = lowering.key(&self.of)?;
        let Some(filter) = &self.filter else { return Ok(id) };
        let kind = lowering.graph.kind(id);
        let (passes, null) = (lowering.boolean(filter)?, lowering.graph.null(kind));
        Ok(lowering.graph.add(Op::IfElse, &[passes, id, null], kind))
    }
}

/// The sorted values of a group.
pub struct SortedValues {
    /// The number of the first of its rows.
    pub begin: NodeId,
    /// How many values there are, before the nulls.
    pub count: NodeId,
    /// The column that they are in.
    pub input: u32,
}

impl SortedValues {
    /// As `expr/quantile.rs` has it.
    pub fn quantile(&self, graph: &mut ExprGraph, interpolation: Interpolation, q: f64) -> NodeId {
        let zero = graph.number(Scalar::I64, 0);
        let some = graph.add(Op::Compare(Comparison::Greater), &[self.count, zero], DeviceType::Bool);
        let one = graph.number(Scalar::I64, 1);
        let last = graph.add(Op::Subtract, &[self.count, one], DeviceType::Number(Scalar::I64));
        let last = graph.add(Op::Convert(OverflowPolicy::Error), &[last], FLOAT);
        let q = graph.literal(FLOAT, LiteralValue::F64(q.to_bits()));
        let position = graph.add(Op::Multiply, &[q, last], FLOAT);
        let at = |graph: &mut ExprGraph, place: NodeId| {
            let row = graph.add(Op::Convert(OverflowPolicy::Null), &[place], ROWS);
            let row = graph.add(Op::Add, &[self.begin, row], ROWS);
            let none = graph.null(ROWS);
            let row = graph.add(Op::IfElse, &[some, row, none], ROWS);
            graph.add(Op::Gather(self.input), &[row], FLOAT)
        };
        let rounded = |graph: &mut ExprGraph, how| graph.add(Op::MathFn(how), &[position], FLOAT);
        let (low, high) = (rounded(graph, "floor"), rounded(graph, "ceil"));
        match interpolation {
            Interpolation::Nearest => {
                let place = rounded(graph, "round");
                return at(graph, place);
            }
            Interpolation::Lower => return at(graph, low),
            Interpolation::Higher => return at(graph, high),
            Interpolation::Midpoint | Interpolation::Linear => {}
        }
        let (a, b) = (at(graph, low), at(graph, high));
        let value = if interpolation == Interpolation::Midpoint {
            let sum = graph.add(Op::Add, &[a, b], FLOAT);
            let two = graph.literal(FLOAT, LiteralValue::F64(2.0_f64.to_bits()));
            graph.add(Op::Divide, &[sum, two], FLOAT)
        } else {
            let distance = graph.add(Op::Subtract, &[b, a], FLOAT);
            let part = graph.add(Op::Subtract, &[position, low], FLOAT);
            let part = graph.add(Op::Multiply, &[distance, part], FLOAT);
            graph.add(Op::Add, &[a, part], FLOAT)
        };
        let whole = graph.add(Op::Compare(Comparison::Equal), &[low, high], DeviceType::Bool);
        graph.add(Op::IfElse, &[whole, a, value], FLOAT)
    }
}
