//! Aggregates of two values side by side: covariance, correlation and the line through them. A row counts where both
//! are there.
//!
//! In two rounds over the rows, as variances: the means, then the sums of the distances from these, of their squares
//! and of their products. The rounding of the means is corrected (Chan, Golub and LeVeque, "Algorithms for computing
//! the sample variance", 1983).

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::physical_expr::PhysicalExpr;
use onrush_kernels::Scalar;
use onrush_ops::{AggregateOp, Comparison, DeviceType, ExprGraph, NodeId, Op};

use super::{Accumulators, AggregateResult, M2, squares};
use crate::cpu_reason::CpuReason;
use crate::lower::Lowering;

const FLOAT: DeviceType = DeviceType::Number(Scalar::F64);

/// The accumulators of two values.
#[derive(Clone, Copy)]
pub struct CoMoments {
    x: M2,
    y: M2,
    x_about: usize,
    y_about: usize,
    products: usize,
}

#[derive(Clone, Copy)]
pub enum Statistic {
    /// The sum of the products of both distances by the count less so many.
    Covariance(u32),
    /// That sum.
    Products,
    Correlation,
    Slope,
    Intercept,
    /// The square of the correlation.
    R2,
}

pub fn is_known(name: &str) -> bool {
    matches!(name, "corr" | "covar_samp" | "covar_pop") || name.starts_with("regr_")
}

/// Whether [`state`] gives what the functions keep on the CPU.
pub fn merges(name: &str) -> bool {
    matches!(name, "corr" | "covar_samp" | "covar_pop" | "regr_slope" | "regr_intercept" | "regr_r2" | "regr_sxy")
}

/// Lowers one aggregate of the values `a` and `b`, over the rows for which `filter` is true.
pub fn aggregate(
    lowering: &mut Lowering,
    accumulators: &mut Accumulators,
    name: &str,
    (a, b): (&Arc<dyn PhysicalExpr>, &Arc<dyn PhysicalExpr>),
    filter: Option<NodeId>,
) -> Result<AggregateResult, CpuReason> {
    for arg in [a, b] {
        let dtype = lowering.dtype(arg)?;
        if dtype != DataType::Float64 {
            return Err(CpuReason::form(name, format!("of {dtype}")));
        }
    }
    let (a, b) = (lowering.expr(a)?, lowering.expr(b)?);
    let graph = &mut lowering.graph;
    let mut beside = |of: NodeId, other: NodeId| {
        let null = graph.null(FLOAT);
        let absent = graph.add(Op::IsNull, &[other], DeviceType::Bool);
        let of = graph.add(Op::IfElse, &[absent, null, of], FLOAT);
        filter.map_or(of, |filter| graph.add(Op::IfElse, &[filter, of, null], FLOAT))
    };
    let (a, b) = (beside(a, b), beside(b, a));
    // A regression's first argument is what is to be explained.
    let (x, y) = if name.starts_with("regr_") { (b, a) } else { (a, b) };
    let count = accumulators.add(AggregateOp::Count, Some(x));
    let mut mean = |of| AggregateResult::Mean { sum: accumulators.add(AggregateOp::SumFloat, Some(of)), count };
    let statistic = match name {
        "regr_count" => return Ok(AggregateResult::OrZero(Box::new(AggregateResult::CountUnsigned(count)))),
        "regr_avgx" => return Ok(mean(x)),
        "regr_avgy" => return Ok(mean(y)),
        "regr_sxx" => return Ok(AggregateResult::M2(M2::of(accumulators, x, count))),
        "regr_syy" => return Ok(AggregateResult::M2(M2::of(accumulators, y, count))),
        "covar_samp" => Statistic::Covariance(1),
        "covar_pop" => Statistic::Covariance(0),
        "corr" => Statistic::Correlation,
        "regr_slope" => Statistic::Slope,
        "regr_intercept" => Statistic::Intercept,
        "regr_r2" => Statistic::R2,
        "regr_sxy" => Statistic::Products,
        _ => return Err(CpuReason::Function(name.to_string())),
    };
    let (x_squares, y_squares) = (M2::of(accumulators, x, count), M2::of(accumulators, y, count));
    let [x_about, y_about] = [x, y].map(|id| accumulators.add(AggregateOp::DeviationSum, Some(id)));
    let products = accumulators.add_pair(AggregateOp::CoMoment, Some(x), Some(y));
    Ok(AggregateResult::CoMoments(CoMoments { x: x_squares, y: y_squares, x_about, y_about, products }, statistic))
}

/// The fields of a function's state, which have no nulls.
pub fn state(name: &str, pair: &CoMoments) -> Vec<AggregateResult> {
    let mean = |of: &M2| AggregateResult::Mean { sum: of.sum, count: of.count };
    let (x, y) = (&pair.x, &pair.y);
    let products = AggregateResult::CoMoments(*pair, Statistic::Products);
    let count = AggregateResult::CountUnsigned(x.count);
    let fields = match name {
        "corr" => vec![count, mean(x), AggregateResult::M2(*x), mean(y), AggregateResult::M2(*y), products],
        "covar_samp" | "covar_pop" => vec![count, mean(x), mean(y), products],
        _ => vec![count, mean(x), mean(y), AggregateResult::M2(*x), AggregateResult::M2(*y), products],
    };
    fields.into_iter().map(|recipe| AggregateResult::OrZero(Box::new(recipe))).collect()
}

/// The result's node in the next stage. `at` is the input of an accumulator.
pub fn result(
    graph: &mut ExprGraph,
    pair: &CoMoments,
    statistic: Statistic,
    at: &dyn Fn(&mut ExprGraph, usize) -> NodeId,
) -> NodeId {
    let (long, n, x_spread) = squares(graph, &pair.x, at);
    let (_, _, y_spread) = squares(graph, &pair.y, at);
    let two = |graph: &mut ExprGraph, op, a, b| graph.add(op, &[a, b], FLOAT);
    let is_nan = |graph: &mut ExprGraph, of| graph.add(Op::MathFn("is_nan"), &[of], DeviceType::Bool);
    let zero = graph.number(Scalar::F64, 0);
    let null = graph.null(FLOAT);
    let is_zero =
        |graph: &mut ExprGraph, of: NodeId| graph.add(Op::Compare(Comparison::Equal), &[of, zero], DeviceType::Bool);
    let either = |graph: &mut ExprGraph, a, b| graph.add(Op::Or, &[a, b], DeviceType::Bool);

    let (x_about, y_about, products) = (at(graph, pair.x_about), at(graph, pair.y_about), at(graph, pair.products));
    let bias = two(graph, Op::Multiply, x_about, y_about);
    let bias = two(graph, Op::Divide, bias, n);
    let products = two(graph, Op::Subtract, products, bias);
    // If all values of one side are equal, the sum of products is zero, however the means are rounded.
    let (x_flat, y_flat) = (is_zero(graph, x_spread), is_zero(graph, y_spread));
    let flat = either(graph, x_flat, y_flat);
    let unknown = is_nan(graph, products);
    let known = graph.add(Op::Not, &[unknown], DeviceType::Bool);
    let none = graph.add(Op::And, &[flat, known], DeviceType::Bool);
    let products = graph.add(Op::IfElse, &[none, zero, products], FLOAT);

    let more_than = |graph: &mut ExprGraph, least: u32| {
        let least = graph.number(Scalar::I64, least.into());
        graph.add(Op::Compare(Comparison::Greater), &[long, least], DeviceType::Bool)
    };
    let covariance = two(graph, Op::Divide, products, n);
    let (x_variance, y_variance) = (two(graph, Op::Divide, x_spread, n), two(graph, Op::Divide, y_spread, n));
    let (value, least, absent) = match statistic {
        Statistic::Products => (products, 0, None),
        Statistic::Covariance(less) => {
            let less_by = graph.number(Scalar::F64, less.into());
            let by = two(graph, Op::Subtract, n, less_by);
            (two(graph, Op::Divide, products, by), less, None)
        }
        Statistic::Correlation => {
            let [x, y] = [x_variance, y_variance].map(|of| graph.add(Op::MathFn("sqrt"), &[of], FLOAT));
            let value = two(graph, Op::Divide, covariance, x);
            let value = two(graph, Op::Divide, value, y);
            // NaN of both is NaN, whatever the count; of one of them it is nothing.
            let (x_sum, y_sum) = (at(graph, pair.x.sum), at(graph, pair.y.sum));
            let (x_nan, y_nan) = (is_nan(graph, x_sum), is_nan(graph, y_sum));
            let both = graph.add(Op::And, &[x_nan, y_nan], DeviceType::Bool);
            let one = either(graph, x_nan, y_nan);
            let few = more_than(graph, 1);
            let few = graph.add(Op::Not, &[few], DeviceType::Bool);
            let absent = either(graph, flat, one);
            let absent = either(graph, absent, few);
            let value = graph.add(Op::IfElse, &[absent, null, value], FLOAT);
            return graph.add(Op::IfElse, &[both, x_sum, value], FLOAT);
        }
        Statistic::Slope => (two(graph, Op::Divide, covariance, x_variance), 1, Some(x_flat)),
        Statistic::Intercept => {
            let slope = two(graph, Op::Divide, covariance, x_variance);
            let (x_sum, y_sum) = (at(graph, pair.x.sum), at(graph, pair.y.sum));
            let (x_mean, y_mean) = (two(graph, Op::Divide, x_sum, n), two(graph, Op::Divide, y_sum, n));
            let risen = two(graph, Op::Multiply, slope, x_mean);
            (two(graph, Op::Subtract, y_mean, risen), 1, Some(x_flat))
        }
        Statistic::R2 => {
            let square = two(graph, Op::Multiply, covariance, covariance);
            let by = two(graph, Op::Multiply, x_variance, y_variance);
            (two(graph, Op::Divide, square, by), 1, Some(flat))
        }
    };
    let enough = more_than(graph, least);
    let value = graph.add(Op::IfElse, &[enough, value, null], FLOAT);
    absent.map_or(value, |absent| graph.add(Op::IfElse, &[absent, null, value], FLOAT))
}
