//! Aggregates: what is accumulated of a group, and how a result comes from that.

mod bivariate;

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, IsNotNullExpr};
use onrush_kernels::Scalar;
use onrush_ops::{
    Accumulator, AggregateOp, Comparison, DeviceType, ExprGraph, ListOp, LiteralValue, NodeId, Op, OverflowPolicy,
    Quantile, kind_of,
};

use self::bivariate::{CoMoments, Statistic};
use super::cpu_reason::CpuReason;
use super::lower::{Lowering, literal_of};

const FLOAT: DeviceType = DeviceType::Number(Scalar::F64);
const LONG: DeviceType = DeviceType::Number(Scalar::I64);
const WIDE: DeviceType = DeviceType::Number(Scalar::I128);

/// Accumulators of a stage, each once.
#[derive(Default)]
pub struct Accumulators {
    pub all: Vec<Accumulator>,
    /// The quantiles of aggregates without keys.
    pub quantiles: Vec<Quantile>,
    /// They run along rows, which they see once.
    run: bool,
}

impl Accumulators {
    pub fn that_run() -> Accumulators {
        Accumulators { run: true, ..Accumulators::default() }
    }

    pub fn add(&mut self, what: AggregateOp, of: Option<NodeId>) -> usize {
        self.add_pair(what, of, None)
    }

    pub fn add_pair(&mut self, what: AggregateOp, of: Option<NodeId>, with: Option<NodeId>) -> usize {
        let accumulator = Accumulator { op: what, of, with };
        self.all.iter().position(|a| *a == accumulator).unwrap_or_else(|| {
            self.all.push(accumulator);
            self.all.len() - 1
        })
    }
}

/// How a result is made of accumulators, by their number.
pub enum AggregateResult {
    /// A count or a product, which is there in any case.
    Count(usize),
    /// By its number among the quantiles, and later among all that the next stage reads behind the keys.
    Quantile(usize),
    /// The same as a number without a sign, null where it is zero.
    CountUnsigned(usize),
    /// Null where the count is zero.
    Value {
        of: usize,
        count: usize,
    },
    Mean {
        sum: usize,
        count: usize,
    },
    /// A decimal: the sum times a power of ten by the count.
    DecimalMean {
        sum: usize,
        count: usize,
        up: u32,
    },
    /// A value of 128 bits, from its upper and its lower word.
    Wide {
        upper: usize,
        lower: usize,
        count: usize,
    },
    /// The sum of squared distances from the mean by the count less `less`, or its root.
    Spread {
        of: M2,
        less: u32,
        root: bool,
    },
    /// That sum.
    M2(M2),
    /// A statistic of two values.
    CoMoments(CoMoments, Statistic),
    /// A number, and zero where it is null.
    OrZero(Box<AggregateResult>),
    /// A column of the input at the row of this number.
    Fetch {
        row: usize,
        count: usize,
        input: u32,
        kind: DeviceType,
    },
    /// A list of a column of the input: as many rows as are counted, from the one of this number on.
    Rows {
        row: usize,
        count: usize,
        input: u32,
    },
    /// From the key that orders values.
    Extreme {
        of: usize,
        count: usize,
        kind: DeviceType,
        float: bool,
    },
}

/// The accumulators of a sum of squared distances from the mean.
#[derive(Clone, Copy)]
pub struct M2 {
    pub sum: usize,
    pub count: usize,
    /// None where the sum of squares is that of distances from the mean itself.
    about: Option<usize>,
    squares: usize,
}

impl M2 {
    /// The accumulators for floats whose count is known.
    pub fn of(accumulators: &mut Accumulators, id: NodeId, count: usize) -> M2 {
        let runs = accumulators.run;
        let mut add = |what| accumulators.add(what, Some(id));
        let sum = add(AggregateOp::SumFloat);
        match runs {
            true => M2 { sum, count, about: None, squares: add(AggregateOp::Welford) },
            false => M2 { sum, count, about: Some(add(AggregateOp::DeviationSum)), squares: add(AggregateOp::M2) },
        }
    }
}

/// Whether [`state`] knows a function's states, whatever its values are.
pub fn merges(function: &AggregateFunctionExpr) -> bool {
    let spreads = ["var", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop"];
    let name = function.fun().name();
    let known = ["count", "sum", "avg", "min", "max", "bool_and", "bool_or"].contains(&name) || spreads.contains(&name);
    let known = known || bivariate::merges(name);
    known && !function.is_distinct() && function.order_bys().is_empty()
}

/// Lowers an aggregate to the fields of DataFusion's partial state, so that states can be merged. Known are counts,
/// sums, means, extremes and variances.
pub fn state(
    lowering: &mut Lowering,
    accumulators: &mut Accumulators,
    function: &AggregateFunctionExpr,
    filter: Option<&Arc<dyn PhysicalExpr>>,
) -> Result<Vec<AggregateResult>, CpuReason> {
    let refused = || Err(CpuReason::form(function.fun().name(), "in two steps"));
    if function.is_distinct() {
        return refused();
    }
    Ok(match aggregate(lowering, accumulators, function, filter)? {
        whole @ (AggregateResult::Count(_)
        | AggregateResult::Value { .. }
        | AggregateResult::Extreme { .. }
        | AggregateResult::Wide { .. }) => vec![whole],
        // Its states are those of a whole regression.
        AggregateResult::Mean { .. } if bivariate::is_known(function.fun().name()) => return refused(),
        AggregateResult::Mean { sum, count } | AggregateResult::DecimalMean { sum, count, .. } => {
            vec![AggregateResult::CountUnsigned(count), AggregateResult::Value { of: sum, count }]
        }
        AggregateResult::Spread { of, .. } => {
            let M2 { sum, count, .. } = of;
            // These states have no nulls.
            let or_zero = |recipe| AggregateResult::OrZero(Box::new(recipe));
            vec![
                or_zero(AggregateResult::CountUnsigned(count)),
                or_zero(AggregateResult::Mean { sum, count }),
                or_zero(AggregateResult::M2(of)),
            ]
        }
        AggregateResult::CoMoments(pair, _) => bivariate::state(function.fun().name(), &pair),
        _ => return refused(),
    })
}

/// Lowers one aggregate. Rows that its FILTER leaves out count as null.
pub fn aggregate(
    lowering: &mut Lowering,
    accumulators: &mut Accumulators,
    function: &AggregateFunctionExpr,
    filter: Option<&Arc<dyn PhysicalExpr>>,
) -> Result<AggregateResult, CpuReason> {
    let name = function.fun().name();
    let refused = |how: &'static str| Err(CpuReason::form(name, how));
    let distinct = function.is_distinct();
    if distinct && !matches!(name, "min" | "max" | "count" | "sum" | "avg" | "bool_and" | "bool_or") {
        return refused("of distinct values with other aggregates");
    }
    let args = function.expressions();
    let condition = filter;
    let filter = filter.map(|f| lowering.boolean(f)).transpose()?;
    let masked = |lowering: &mut Lowering, id: NodeId| match filter {
        Some(filter) => {
            let kind = lowering.graph.kind(id);
            let null = lowering.graph.null(kind);
            lowering.graph.add(Op::IfElse, &[filter, id, null], kind)
        }
        None => id,
    };
    if name == "count" {
        let [arg] = &args[..] else { return refused("of several columns") };
        let literal = literal_of(arg).is_some_and(|v| !v.is_null());
        let of = match (literal, filter) {
            (true, None) => None,
            (true, Some(_)) => {
                let yes = lowering.graph.bool(true);
                Some(masked(lowering, yes))
            }
            (false, _) => {
                let id = if distinct { lowering.key(arg)? } else { lowering.expr(arg)? };
                Some(masked(lowering, id))
            }
        };
        if let (true, Some(of)) = (distinct, of) {
            return Ok(AggregateResult::Count(accumulators.add(AggregateOp::Distinct, Some(of))));
        }
        if distinct {
            return refused("of a distinct literal");
        }
        return Ok(AggregateResult::Count(accumulators.add(AggregateOp::Count, of)));
    }
    // The exact number is the best estimate.
    if name == "approx_distinct" {
        let [arg] = &args[..] else { return refused("of several columns") };
        let id = lowering.key(arg)?;
        let id = masked(lowering, id);
        let count = accumulators.add(AggregateOp::Distinct, Some(id));
        return Ok(AggregateResult::OrZero(Box::new(AggregateResult::CountUnsigned(count))));
    }
    if matches!(name, "first_value" | "last_value") {
        return end(lowering, accumulators, function, (filter, condition));
    }
    if let ([a, b], true) = (&args[..], bivariate::is_known(name)) {
        return bivariate::aggregate(lowering, accumulators, name, (a, b), filter);
    }
    let [arg] = &args[..] else { return Err(CpuReason::Function(name.to_string())) };
    let dtype = lowering.dtype(arg)?;
    let result = function.field().data_type().clone();
    let id = lowering.key(arg)?;
    let id = masked(lowering, id);
    let kind = lowering.graph.kind(id);
    if kind == DeviceType::DictIndex && !matches!(name, "min" | "max") {
        return refused("of strings");
    }
    let convert = |graph: &mut ExprGraph, id: NodeId, to: DeviceType| match graph.kind(id) == to {
        true => id,
        false => graph.add(Op::Convert(OverflowPolicy::Error), &[id], to),
    };
    let count = accumulators.add(AggregateOp::Count, Some(id));
    let means_distinct = distinct && name == "avg";
    let number = if means_distinct { accumulators.add(AggregateOp::Distinct, Some(id)) } else { count };
    let (sum_float, sum_wide) = match distinct {
        true => (AggregateOp::DistinctFloat, AggregateOp::DistinctI128),
        false => (AggregateOp::SumFloat, AggregateOp::SumI128),
    };
    Ok(match (name, &dtype) {
        ("sum", t) if t.is_integer() => {
            let to = if t.is_unsigned_integer() { DeviceType::Number(Scalar::U64) } else { LONG };
            if kind_of(&result) != Some(to) {
                return Err(CpuReason::Function(name.to_string()));
            }
            let id = convert(&mut lowering.graph, id, to);
            let what = if distinct { AggregateOp::DistinctInteger } else { AggregateOp::SumInteger };
            AggregateResult::Value { of: accumulators.add(what, Some(id)), count }
        }
        ("sum", DataType::Float64 | DataType::Float32) if result == DataType::Float64 => {
            let id = convert(&mut lowering.graph, id, FLOAT);
            AggregateResult::Value { of: accumulators.add(sum_float, Some(id)), count }
        }
        ("sum", DataType::Decimal128(_, s)) if matches!(result, DataType::Decimal128(_, t) if t == *s) => {
            AggregateResult::Value { of: accumulators.add(sum_wide, Some(id)), count }
        }
        ("product", DataType::Float64 | DataType::Int64) if !distinct => {
            let float = dtype == DataType::Float64;
            let what = if float { AggregateOp::ProductFloat } else { AggregateOp::ProductInteger };
            AggregateResult::Count(accumulators.add(what, Some(id)))
        }
        ("avg", DataType::Float64) => {
            AggregateResult::Mean { sum: accumulators.add(sum_float, Some(id)), count: number }
        }
        ("avg", DataType::Decimal128(_, s)) => {
            let DataType::Decimal128(_, t) = result else { return Err(CpuReason::Function(name.to_string())) };
            let up = u32::try_from(i32::from(t) - i32::from(*s))
                .map_err(|_| CpuReason::form("avg", format!("of {dtype}")))?;
            AggregateResult::DecimalMean { sum: accumulators.add(sum_wide, Some(id)), count: number, up }
        }
        ("var" | "var_samp" | "var_pop" | "stddev" | "stddev_samp" | "stddev_pop", DataType::Float64) => {
            AggregateResult::Spread {
                of: M2::of(accumulators, id, count),
                less: u32::from(!name.ends_with("pop")),
                root: name.starts_with("stddev"),
            }
        }
        ("min" | "max", DataType::Decimal128(precision, _)) if *precision > 18 && dtype == result => {
            let (upper, lower) = match name {
                "min" => (AggregateOp::MinHigh, AggregateOp::MinLow),
                _ => (AggregateOp::MaxHigh, AggregateOp::MaxLow),
            };
            AggregateResult::Wide {
                upper: accumulators.add(upper, Some(id)),
                lower: accumulators.add(lower, Some(id)),
                count,
            }
        }
        ("min" | "max", t) if *t == result => {
            let least = name == "min";
            let (unsigned, id) = match kind {
                // Dictionary indices have the order of the strings.
                DeviceType::Bool | DeviceType::DictIndex | DeviceType::Number(Scalar::I128) => {
                    (false, convert(&mut lowering.graph, id, LONG))
                }
                DeviceType::Number(Scalar::U64) => (true, id),
                _ => (false, lowering.graph.add(Op::OrderKey, &[id], LONG)),
            };
            let what = match (least, unsigned) {
                (true, false) => AggregateOp::Min,
                (true, true) => AggregateOp::MinUnsigned,
                (false, false) => AggregateOp::Max,
                (false, true) => AggregateOp::MaxUnsigned,
            };
            AggregateResult::Extreme { of: accumulators.add(what, Some(id)), count, kind, float: kind.is_float() }
        }
        ("bool_and" | "bool_or", DataType::Boolean) => {
            let id = convert(&mut lowering.graph, id, LONG);
            let what = if name == "bool_and" { AggregateOp::Min } else { AggregateOp::Max };
            AggregateResult::Extreme {
                of: accumulators.add(what, Some(id)),
                count,
                kind: DeviceType::Bool,
                float: false,
            }
        }
        _ => return Err(CpuReason::form(name, format!("of {dtype}"))),
    })
}

/// The first or last value: the lowest or highest number of a row, whose value is fetched when all is known.
fn end(
    lowering: &mut Lowering,
    accumulators: &mut Accumulators,
    function: &AggregateFunctionExpr,
    (filter, condition): (Option<NodeId>, Option<&Arc<dyn PhysicalExpr>>),
) -> Result<AggregateResult, CpuReason> {
    let name = function.fun().name();
    let refused = |how: &'static str| Err(CpuReason::form(name, how));
    let args = function.expressions();
    let [arg] = &args[..] else { return refused("of several columns") };
    if !lowering.begins {
        return refused("with keys");
    }
    let id = lowering.key(arg)?;
    let node = lowering.graph.node(id);
    let (Op::Input(input), kind) = (node.op, node.kind) else {
        // A stage before this one can make it a column.
        lowering.requests.text(arg);
        return refused("of a computed value");
    };
    let mut rows = filter;
    if function.ignore_nulls() {
        let null = lowering.graph.add(Op::IsNull, &[id], DeviceType::Bool);
        let there = lowering.graph.add(Op::Not, &[null], DeviceType::Bool);
        rows = Some(rows.map_or(there, |filter| lowering.graph.add(Op::And, &[filter, there], DeviceType::Bool)));
    }
    let mut is_first = name == "first_value";
    if let Some(by) = function.order_bys().first() {
        let key = lowering.key(&by.expr)?;
        match lowering.rises(key) {
            true => is_first ^= by.options.descending,
            false => {
                let is_there = !by.expr.nullable(&lowering.schema)?
                    || condition.is_some_and(|condition| needs_value(condition, &by.expr));
                if !is_there {
                    return refused("with ORDER BY of values that may be null");
                }
                let row = first_in_order(lowering, accumulators, (function, is_first), (key, rows))?;
                return Ok(AggregateResult::Fetch { row: row.0, count: row.1, input, kind });
            }
        }
    }
    let row = lowering.graph.add(Op::RowNumber, &[], ROW);
    let row = masked(lowering, row, rows);
    let what = if is_first { AggregateOp::MinUnsigned } else { AggregateOp::MaxUnsigned };
    let count = accumulators.add(AggregateOp::Count, Some(row));
    Ok(AggregateResult::Fetch { row: accumulators.add(what, Some(row)), count, input, kind })
}

/// Whether a condition holds only where a value is not null.
fn needs_value(condition: &Arc<dyn PhysicalExpr>, value: &Arc<dyn PhysicalExpr>) -> bool {
    let any: &dyn Any = condition.as_ref();
    if let Some(both) = any.downcast_ref::<BinaryExpr>().filter(|both| *both.op() == Operator::And) {
        return needs_value(both.left(), value) || needs_value(both.right(), value);
    }
    any.downcast_ref::<IsNotNullExpr>().is_some_and(|is| is.arg() == value)
}

const ROW: DeviceType = DeviceType::Number(Scalar::U64);

/// A value, and null in other rows.
fn masked(lowering: &mut Lowering, value: NodeId, rows: Option<NodeId>) -> NodeId {
    let Some(rows) = rows else { return value };
    let kind = lowering.graph.kind(value);
    let null = lowering.graph.null(kind);
    lowering.graph.add(Op::IfElse, &[rows, value, null], kind)
}

/// The number of the first row in the order of a key, then of the rows, and how many rows count. One accumulator of 128
/// bits has the key in its upper word and the row in its lower one.
fn first_in_order(
    lowering: &mut Lowering,
    accumulators: &mut Accumulators,
    (function, is_first): (&AggregateFunctionExpr, bool),
    (key, rows): (NodeId, Option<NodeId>),
) -> Result<(usize, usize), CpuReason> {
    let refused = |how: &'static str| Err(CpuReason::form(function.fun().name(), how));
    let order = function.order_bys();
    let by = &order[0];
    let tie_descends = match &order[1..] {
        [] => false,
        [tie] => {
            let row = lowering.key(&tie.expr)?;
            if !lowering.rises(row) {
                return refused("with ORDER BY of several values");
            }
            tie.options.descending
        }
        _ => return refused("with ORDER BY of several values"),
    };
    // Rows that are equal stay in their order for the first one, and the last one is the last of them.
    if !is_first || tie_descends {
        return refused("with ORDER BY from the other end");
    }
    let graph = &mut lowering.graph;
    let signed = match graph.kind(key) {
        DeviceType::Bool | DeviceType::DictIndex => graph.add(Op::Convert(OverflowPolicy::Error), &[key], LONG),
        DeviceType::Number(Scalar::U64 | Scalar::I128) => return refused("with ORDER BY of numbers of this type"),
        _ => graph.add(Op::OrderKey, &[key], LONG),
    };
    let signed = match by.options.descending {
        true => {
            let all = graph.number(Scalar::I64, -1);
            graph.add(Op::BitXor, &[signed, all], LONG)
        }
        false => signed,
    };
    let row = graph.add(Op::RowNumber, &[], ROW);
    let [upper, lower] = [signed, row].map(|id| graph.add(Op::Convert(OverflowPolicy::Error), &[id], WIDE));
    let word = graph.literal(WIDE, LiteralValue::I128(64));
    let upper = graph.add(Op::ShiftLeft, &[upper, word], WIDE);
    let both = graph.add(Op::BitOr, &[upper, lower], WIDE);
    let both = masked(lowering, both, rows);
    accumulators.add(AggregateOp::MinHigh, Some(both));
    let row = accumulators.add(AggregateOp::MinLow, Some(both));
    Ok((row, accumulators.add(AggregateOp::Count, Some(both))))
}

/// The result's node in the next stage. `at` is the input of an accumulator.
pub fn result(graph: &mut ExprGraph, recipe: &AggregateResult, at: &dyn Fn(&mut ExprGraph, usize) -> NodeId) -> NodeId {
    let unless_empty = |graph: &mut ExprGraph, count: usize, value: NodeId| {
        let count = at(graph, count);
        let zero = graph.number(Scalar::I64, 0);
        let some = graph.add(Op::Compare(Comparison::Greater), &[count, zero], DeviceType::Bool);
        let kind = graph.kind(value);
        let null = graph.null(kind);
        graph.add(Op::IfElse, &[some, value, null], kind)
    };
    match recipe {
        AggregateResult::Count(index) | AggregateResult::Quantile(index) => at(graph, *index),
        AggregateResult::CountUnsigned(count) => {
            let long = at(graph, *count);
            let unsigned = graph.add(Op::Convert(OverflowPolicy::Error), &[long], DeviceType::Number(Scalar::U64));
            unless_empty(graph, *count, unsigned)
        }
        AggregateResult::Value { of, count } => {
            let value = at(graph, *of);
            unless_empty(graph, *count, value)
        }
        AggregateResult::Mean { sum, count } => {
            let n = at(graph, *count);
            let n = graph.add(Op::Convert(OverflowPolicy::Error), &[n], FLOAT);
            let sum = at(graph, *sum);
            let mean = graph.add(Op::Divide, &[sum, n], FLOAT);
            unless_empty(graph, *count, mean)
        }
        AggregateResult::DecimalMean { sum, count, up } => {
            let n = at(graph, *count);
            let n = graph.add(Op::Convert(OverflowPolicy::Error), &[n], WIDE);
            let sum = at(graph, *sum);
            let factor = graph.literal(WIDE, LiteralValue::I128(10_i128.pow(*up)));
            let sum = graph.add(Op::MultiplyExact, &[sum, factor], WIDE);
            let mean = graph.add(Op::DivideExact, &[sum, n], WIDE);
            unless_empty(graph, *count, mean)
        }
        AggregateResult::Wide { upper, lower, count } => {
            let (upper, lower) = (at(graph, *upper), at(graph, *lower));
            let [upper, lower] = [upper, lower].map(|id| graph.add(Op::Convert(OverflowPolicy::Error), &[id], WIDE));
            let by = graph.literal(WIDE, LiteralValue::I128(64));
            let upper = graph.add(Op::ShiftLeft, &[upper, by], WIDE);
            let whole = graph.add(Op::BitOr, &[upper, lower], WIDE);
            unless_empty(graph, *count, whole)
        }
        AggregateResult::Spread { of, less, root } => {
            let (long, n, spread) = squares(graph, of, at);
            let two = |graph: &mut ExprGraph, op, a, b| graph.add(op, &[a, b], FLOAT);
            let less_by = graph.literal(FLOAT, LiteralValue::F64(f64::from(*less).to_bits()));
            let by = two(graph, Op::Subtract, n, less_by);
            let mut result = two(graph, Op::Divide, spread, by);
            if *root {
                result = graph.add(Op::MathFn("sqrt"), &[result], FLOAT);
            }
            let least = graph.number(Scalar::I64, i128::from(*less));
            let enough = graph.add(Op::Compare(Comparison::Greater), &[long, least], DeviceType::Bool);
            let null = graph.null(FLOAT);
            graph.add(Op::IfElse, &[enough, result, null], FLOAT)
        }
        AggregateResult::OrZero(recipe) => {
            let value = result(graph, recipe, at);
            let kind = graph.kind(value);
            let zero = match kind {
                DeviceType::Number(scalar) => graph.number(scalar, 0),
                _ => graph.null(kind),
            };
            graph.add(Op::Coalesce, &[value, zero], kind)
        }
        AggregateResult::CoMoments(pair, statistic) => bivariate::result(graph, pair, *statistic, at),
        AggregateResult::M2(of) => {
            let (.., spread) = squares(graph, of, at);
            unless_empty(graph, of.count, spread)
        }
        AggregateResult::Fetch { row, count, input, kind } => {
            let row = at(graph, *row);
            let row = unless_empty(graph, *count, row);
            graph.add(Op::Gather(*input), &[row], *kind)
        }
        AggregateResult::Rows { row, count, input } => {
            let (row, number) = (at(graph, *row), at(graph, *count));
            let list = graph.add(Op::List(ListOp::Rows(*input)), &[row, number], DeviceType::ListView);
            unless_empty(graph, *count, list)
        }
        AggregateResult::Extreme { of, count, kind, float } => {
            let key = at(graph, *of);
            let value = match (kind, float) {
                (_, true) => graph.add(Op::FromOrderKey, &[key], *kind),
                _ if graph.kind(key) == *kind => key,
                _ => graph.add(Op::Convert(OverflowPolicy::Null), &[key], *kind),
            };
            unless_empty(graph, *count, value)
        }
    }
}

/// The count, as it is and as a float, and the sum of squared distances from the mean.
pub fn squares(
    graph: &mut ExprGraph,
    of: &M2,
    at: &dyn Fn(&mut ExprGraph, usize) -> NodeId,
) -> (NodeId, NodeId, NodeId) {
    let long = at(graph, of.count);
    let n = graph.add(Op::Convert(OverflowPolicy::Error), &[long], FLOAT);
    let (sum, squares) = (at(graph, of.sum), at(graph, of.squares));
    let Some(about) = of.about else { return (long, n, squares) };
    let about = at(graph, about);
    let float = |graph: &mut ExprGraph, value: f64| graph.literal(FLOAT, LiteralValue::F64(value.to_bits()));
    let two = |graph: &mut ExprGraph, op, a, b| graph.add(op, &[a, b], FLOAT);
    // Corrects the rounding of the mean: Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
    let bias = two(graph, Op::Multiply, about, about);
    let bias = two(graph, Op::Divide, bias, n);
    let spread = two(graph, Op::Subtract, squares, bias);
    // Different numbers lie further apart than this: below it all are the same one.
    let mean = two(graph, Op::Divide, sum, n);
    let unit = float(graph, f64::EPSILON / 4.0);
    let least = two(graph, Op::Multiply, mean, unit);
    let least = two(graph, Op::Multiply, least, least);
    let least = two(graph, Op::Multiply, least, n);
    let none = graph.add(Op::Compare(Comparison::LessEqual), &[spread, least], DeviceType::Bool);
    // A spread of NaN stays NaN.
    let unknown = graph.add(Op::MathFn("is_nan"), &[spread], DeviceType::Bool);
    let known = graph.add(Op::Not, &[unknown], DeviceType::Bool);
    let none = graph.add(Op::And, &[none, known], DeviceType::Bool);
    let zero = float(graph, 0.0);
    (long, n, graph.add(Op::IfElse, &[none, zero, spread], FLOAT))
}
