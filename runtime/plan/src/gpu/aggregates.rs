//! Aggregates: what is accumulated of a group, and how a result comes from that.

use arrow::datatypes::DataType;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use onrush_kernels::Scalar;
use onrush_ops::{Accumulator, Comparison, Graph, Id, Kind, ListOp, Misfit, Op, Value, What, kind_of};
use std::sync::Arc;

use super::lower::{Lowering, Refusal, literal_of};
use super::pairs::{self, Pair, Statistic};

const FLOAT: Kind = Kind::Number(Scalar::F64);
const LONG: Kind = Kind::Number(Scalar::I64);
const WIDE: Kind = Kind::Number(Scalar::I128);

/// Accumulators of a stage, each once.
#[derive(Default)]
pub struct Accumulators {
    pub all: Vec<Accumulator>,
    /// They run along rows, which they see once.
    run: bool,
}

impl Accumulators {
    pub fn that_run() -> Accumulators {
        Accumulators { all: Vec::new(), run: true }
    }

    pub fn add(&mut self, what: What, of: Option<Id>) -> usize {
        self.add_pair(what, of, None)
    }

    pub fn add_pair(&mut self, what: What, of: Option<Id>, with: Option<Id>) -> usize {
        let accumulator = Accumulator { what, of, with };
        self.all.iter().position(|a| *a == accumulator).unwrap_or_else(|| {
            self.all.push(accumulator);
            self.all.len() - 1
        })
    }
}

/// How a result is made of accumulators, by their number.
pub enum Recipe {
    Count(usize),
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
    /// Of 128 bits, from its upper and its lower word.
    Wide {
        upper: usize,
        lower: usize,
        count: usize,
    },
    /// The sum of squared distances from the mean by the count less `less`, or its root.
    Spread {
        of: Squares,
        less: u32,
        root: bool,
    },
    /// That sum.
    Squares(Squares),
    /// What two values have to do with each other.
    Pair(Pair, Statistic),
    /// A number, and zero where it is null.
    OrZero(Box<Recipe>),
    /// A column of the input at the row of this number.
    Fetch {
        row: usize,
        count: usize,
        input: u32,
        kind: Kind,
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
        kind: Kind,
        float: bool,
    },
}

/// What a sum of squared distances from the mean is made of.
#[derive(Clone, Copy)]
pub struct Squares {
    pub sum: usize,
    pub count: usize,
    /// None where the sum of squares is that of distances from the mean itself.
    about: Option<usize>,
    squares: usize,
}

impl Squares {
    /// Of floats, whose count is known.
    pub fn of(accumulators: &mut Accumulators, id: Id, count: usize) -> Squares {
        let runs = accumulators.run;
        let mut add = |what| accumulators.add(what, Some(id));
        let sum = add(What::SumFloat);
        match runs {
            true => Squares { sum, count, about: None, squares: add(What::Spread) },
            false => Squares { sum, count, about: Some(add(What::About)), squares: add(What::SquaresAbout) },
        }
    }
}

/// Whether [`state`] knows a function's states, whatever its values are. `grouped`: there are keys, for which some functions have others.
pub fn merges(function: &AggregateFunctionExpr, grouped: bool) -> bool {
    let spreads = ["var", "var_samp", "var_pop", "stddev", "stddev_samp", "stddev_pop"];
    let name = function.fun().name();
    let known = ["count", "sum", "avg", "min", "max", "bool_and", "bool_or"].contains(&name) || spreads.contains(&name);
    let known = known || pairs::merges(name, grouped);
    known && !function.is_distinct() && function.order_bys().is_empty()
}

/// What is needed for the state that DataFusion's function keeps of some of the rows, for each of its fields, so that such states can be
/// merged: of counts, sums, means, extremes and spreads.
pub fn state(
    lowering: &mut Lowering,
    accumulators: &mut Accumulators,
    function: &AggregateFunctionExpr,
    filter: Option<&Arc<dyn PhysicalExpr>>,
) -> Result<Vec<Recipe>, Refusal> {
    let refused = || Err(format!("`{}` in two steps is not on the GPU yet", function.fun().name()));
    if function.is_distinct() {
        return refused();
    }
    Ok(match aggregate(lowering, accumulators, function, filter)? {
        whole @ (Recipe::Count(_) | Recipe::Value { .. } | Recipe::Extreme { .. } | Recipe::Wide { .. }) => vec![whole],
        // Its states are those of a whole regression.
        Recipe::Mean { .. } if pairs::is_known(function.fun().name()) => return refused(),
        Recipe::Mean { sum, count } | Recipe::DecimalMean { sum, count, .. } => {
            vec![Recipe::CountUnsigned(count), Recipe::Value { of: sum, count }]
        }
        Recipe::Spread { of, .. } => {
            let Squares { sum, count, .. } = of;
            // These states have no nulls.
            let or_zero = |recipe| Recipe::OrZero(Box::new(recipe));
            vec![
                or_zero(Recipe::CountUnsigned(count)),
                or_zero(Recipe::Mean { sum, count }),
                or_zero(Recipe::Squares(of)),
            ]
        }
        Recipe::Pair(pair, _) => pairs::state(function.fun().name(), &pair),
        _ => return refused(),
    })
}

/// What is needed for one aggregate. Rows that its FILTER leaves out count as null.
pub fn aggregate(
    lowering: &mut Lowering,
    accumulators: &mut Accumulators,
    function: &AggregateFunctionExpr,
    filter: Option<&Arc<dyn PhysicalExpr>>,
) -> Result<Recipe, Refusal> {
    let name = function.fun().name();
    let refused = |why: &str| Err(format!("`{name}`{why} is not on the GPU yet"));
    let distinct = function.is_distinct();
    if distinct && !matches!(name, "min" | "max" | "count" | "sum" | "avg" | "bool_and" | "bool_or") {
        return refused(" of distinct values beside other aggregates");
    }
    let args = function.expressions();
    let filter = filter.map(|f| lowering.boolean(f)).transpose()?;
    let masked = |lowering: &mut Lowering, id: Id| match filter {
        Some(filter) => {
            let kind = lowering.graph.kind(id);
            let null = lowering.graph.null(kind);
            lowering.graph.add(Op::Choose, &[filter, id, null], kind)
        }
        None => id,
    };
    if name == "count" {
        let [arg] = &args[..] else { return refused(" of several columns") };
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
            return Ok(Recipe::Count(accumulators.add(What::Distinct, Some(of))));
        }
        if distinct {
            return refused(" of a distinct literal");
        }
        return Ok(Recipe::Count(accumulators.add(What::Count, of)));
    }
    // The exact number is the best estimate.
    if name == "approx_distinct" {
        let [arg] = &args[..] else { return refused(" of several columns") };
        let id = lowering.key(arg)?;
        let id = masked(lowering, id);
        let count = accumulators.add(What::Distinct, Some(id));
        return Ok(Recipe::OrZero(Box::new(Recipe::CountUnsigned(count))));
    }
    if matches!(name, "first_value" | "last_value") {
        return end(lowering, accumulators, function, filter);
    }
    if let ([a, b], true) = (&args[..], pairs::is_known(name)) {
        return pairs::aggregate(lowering, accumulators, name, (a, b), filter);
    }
    let [arg] = &args[..] else { return refused("") };
    let dtype = lowering.dtype(arg)?;
    let result = function.field().data_type().clone();
    let id = lowering.key(arg)?;
    let id = masked(lowering, id);
    let kind = lowering.graph.kind(id);
    if kind == Kind::Code && !matches!(name, "min" | "max") {
        return refused(" of texts");
    }
    let convert = |graph: &mut Graph, id: Id, to: Kind| match graph.kind(id) == to {
        true => id,
        false => graph.add(Op::Convert(Misfit::Fault), &[id], to),
    };
    let count = accumulators.add(What::Count, Some(id));
    let means_distinct = distinct && name == "avg";
    let number = if means_distinct { accumulators.add(What::Distinct, Some(id)) } else { count };
    let (sum_float, sum_wide) = match distinct {
        true => (What::DistinctFloat, What::DistinctWide),
        false => (What::SumFloat, What::SumWide),
    };
    Ok(match (name, &dtype) {
        ("sum", t) if t.is_integer() => {
            let to = if t.is_unsigned_integer() { Kind::Number(Scalar::U64) } else { LONG };
            if kind_of(&result) != Some(to) {
                return refused("");
            }
            let id = convert(&mut lowering.graph, id, to);
            let what = if distinct { What::DistinctInteger } else { What::SumInteger };
            Recipe::Value { of: accumulators.add(what, Some(id)), count }
        }
        ("sum", DataType::Float64 | DataType::Float32) if result == DataType::Float64 => {
            let id = convert(&mut lowering.graph, id, FLOAT);
            Recipe::Value { of: accumulators.add(sum_float, Some(id)), count }
        }
        ("sum", DataType::Decimal128(_, s)) if matches!(result, DataType::Decimal128(_, t) if t == *s) => {
            Recipe::Value { of: accumulators.add(sum_wide, Some(id)), count }
        }
        ("avg", DataType::Float64) => Recipe::Mean { sum: accumulators.add(sum_float, Some(id)), count: number },
        ("avg", DataType::Decimal128(_, s)) => {
            let DataType::Decimal128(_, t) = result else { return refused("") };
            let up = u32::try_from(i32::from(t) - i32::from(*s)).map_err(|_| format!("`avg` of {dtype}"))?;
            Recipe::DecimalMean { sum: accumulators.add(sum_wide, Some(id)), count: number, up }
        }
        ("var" | "var_samp" | "var_pop" | "stddev" | "stddev_samp" | "stddev_pop", DataType::Float64) => {
            Recipe::Spread {
                of: Squares::of(accumulators, id, count),
                less: u32::from(!name.ends_with("pop")),
                root: name.starts_with("stddev"),
            }
        }
        ("min" | "max", DataType::Decimal128(precision, _)) if *precision > 18 && dtype == result => {
            let (upper, lower) = match name {
                "min" => (What::LeastUpper, What::LeastLower),
                _ => (What::GreatestUpper, What::GreatestLower),
            };
            Recipe::Wide { upper: accumulators.add(upper, Some(id)), lower: accumulators.add(lower, Some(id)), count }
        }
        ("min" | "max", t) if *t == result => {
            let least = name == "min";
            let (unsigned, id) = match kind {
                // Texts have numbers in their order.
                Kind::Bool | Kind::Code | Kind::Number(Scalar::I128) => (false, convert(&mut lowering.graph, id, LONG)),
                Kind::Number(Scalar::U64) => (true, id),
                _ => (false, lowering.graph.add(Op::OrderKey, &[id], LONG)),
            };
            let what = match (least, unsigned) {
                (true, false) => What::Least,
                (true, true) => What::LeastUnsigned,
                (false, false) => What::Greatest,
                (false, true) => What::GreatestUnsigned,
            };
            Recipe::Extreme { of: accumulators.add(what, Some(id)), count, kind, float: kind.is_float() }
        }
        ("bool_and" | "bool_or", DataType::Boolean) => {
            let id = convert(&mut lowering.graph, id, LONG);
            let what = if name == "bool_and" { What::Least } else { What::Greatest };
            Recipe::Extreme { of: accumulators.add(what, Some(id)), count, kind: Kind::Bool, float: false }
        }
        _ => return refused(&format!(" of {dtype}")),
    })
}

/// The first or last value: the lowest or highest number of a row, whose value is fetched when all is known.
fn end(
    lowering: &mut Lowering,
    accumulators: &mut Accumulators,
    function: &AggregateFunctionExpr,
    filter: Option<Id>,
) -> Result<Recipe, Refusal> {
    let name = function.fun().name();
    let refused = |why: &str| Err(format!("`{name}`{why} is not on the GPU yet"));
    let args = function.expressions();
    let [arg] = &args[..] else { return refused(" of several columns") };
    if !function.order_bys().is_empty() {
        return refused(" with an order of its own");
    }
    if !lowering.begins {
        return refused(" of groups");
    }
    let id = lowering.key(arg)?;
    let node = lowering.graph.node(id);
    let (Op::Input(input), kind) = (node.op, node.kind) else { return refused(" of a computed value") };
    let number = Kind::Number(Scalar::U64);
    let mut row = lowering.graph.add(Op::Row, &[], number);
    let mut rows = filter;
    if function.ignore_nulls() {
        let null = lowering.graph.add(Op::IsNull, &[id], Kind::Bool);
        let there = lowering.graph.add(Op::Not, &[null], Kind::Bool);
        rows = Some(rows.map_or(there, |filter| lowering.graph.add(Op::And, &[filter, there], Kind::Bool)));
    }
    if let Some(rows) = rows {
        let null = lowering.graph.null(number);
        row = lowering.graph.add(Op::Choose, &[rows, row, null], number);
    }
    let what = if name == "first_value" { What::LeastUnsigned } else { What::GreatestUnsigned };
    let count = accumulators.add(What::Count, Some(row));
    Ok(Recipe::Fetch { row: accumulators.add(what, Some(row)), count, input, kind })
}

/// The result's node in the next stage. `at` is the input of an accumulator.
pub fn result(graph: &mut Graph, recipe: &Recipe, at: &dyn Fn(&mut Graph, usize) -> Id) -> Id {
    let unless_empty = |graph: &mut Graph, count: usize, value: Id| {
        let count = at(graph, count);
        let zero = graph.number(Scalar::I64, 0);
        let some = graph.add(Op::Compare(Comparison::Greater), &[count, zero], Kind::Bool);
        let kind = graph.kind(value);
        let null = graph.null(kind);
        graph.add(Op::Choose, &[some, value, null], kind)
    };
    match recipe {
        Recipe::Count(count) => at(graph, *count),
        Recipe::CountUnsigned(count) => {
            let long = at(graph, *count);
            let unsigned = graph.add(Op::Convert(Misfit::Fault), &[long], Kind::Number(Scalar::U64));
            unless_empty(graph, *count, unsigned)
        }
        Recipe::Value { of, count } => {
            let value = at(graph, *of);
            unless_empty(graph, *count, value)
        }
        Recipe::Mean { sum, count } => {
            let n = at(graph, *count);
            let n = graph.add(Op::Convert(Misfit::Fault), &[n], FLOAT);
            let sum = at(graph, *sum);
            let mean = graph.add(Op::Divide, &[sum, n], FLOAT);
            unless_empty(graph, *count, mean)
        }
        Recipe::DecimalMean { sum, count, up } => {
            let n = at(graph, *count);
            let n = graph.add(Op::Convert(Misfit::Fault), &[n], WIDE);
            let sum = at(graph, *sum);
            let factor = graph.literal(WIDE, Value::I128(10_i128.pow(*up)));
            let sum = graph.add(Op::MultiplyExact, &[sum, factor], WIDE);
            let mean = graph.add(Op::DivideExact, &[sum, n], WIDE);
            unless_empty(graph, *count, mean)
        }
        Recipe::Wide { upper, lower, count } => {
            let (upper, lower) = (at(graph, *upper), at(graph, *lower));
            let [upper, lower] = [upper, lower].map(|id| graph.add(Op::Convert(Misfit::Fault), &[id], WIDE));
            let by = graph.literal(WIDE, Value::I128(64));
            let upper = graph.add(Op::ShiftLeft, &[upper, by], WIDE);
            let whole = graph.add(Op::BitOr, &[upper, lower], WIDE);
            unless_empty(graph, *count, whole)
        }
        Recipe::Spread { of, less, root } => {
            let (long, n, spread) = squares(graph, of, at);
            let two = |graph: &mut Graph, op, a, b| graph.add(op, &[a, b], FLOAT);
            let less_by = graph.literal(FLOAT, Value::F64(f64::from(*less).to_bits()));
            let by = two(graph, Op::Subtract, n, less_by);
            let mut result = two(graph, Op::Divide, spread, by);
            if *root {
                result = graph.add(Op::Call("sqrt"), &[result], FLOAT);
            }
            let least = graph.number(Scalar::I64, i128::from(*less));
            let enough = graph.add(Op::Compare(Comparison::Greater), &[long, least], Kind::Bool);
            let null = graph.null(FLOAT);
            graph.add(Op::Choose, &[enough, result, null], FLOAT)
        }
        Recipe::OrZero(recipe) => {
            let value = result(graph, recipe, at);
            let kind = graph.kind(value);
            let zero = match kind {
                Kind::Number(scalar) => graph.number(scalar, 0),
                _ => graph.null(kind),
            };
            graph.add(Op::Coalesce, &[value, zero], kind)
        }
        Recipe::Pair(pair, statistic) => pairs::result(graph, pair, *statistic, at),
        Recipe::Squares(of) => {
            let (.., spread) = squares(graph, of, at);
            unless_empty(graph, of.count, spread)
        }
        Recipe::Fetch { row, count, input, kind } => {
            let row = at(graph, *row);
            let row = unless_empty(graph, *count, row);
            graph.add(Op::Fetch(*input), &[row], *kind)
        }
        Recipe::Rows { row, count, input } => {
            let (row, number) = (at(graph, *row), at(graph, *count));
            let list = graph.add(Op::List(ListOp::Rows(*input)), &[row, number], Kind::List);
            unless_empty(graph, *count, list)
        }
        Recipe::Extreme { of, count, kind, float } => {
            let key = at(graph, *of);
            let value = match (kind, float) {
                (_, true) => graph.add(Op::FromOrderKey, &[key], *kind),
                _ if graph.kind(key) == *kind => key,
                _ => graph.add(Op::Convert(Misfit::Null), &[key], *kind),
            };
            unless_empty(graph, *count, value)
        }
    }
}

/// The count, as it is and as a float, and the sum of squared distances from the mean.
pub fn squares(graph: &mut Graph, of: &Squares, at: &dyn Fn(&mut Graph, usize) -> Id) -> (Id, Id, Id) {
    let long = at(graph, of.count);
    let n = graph.add(Op::Convert(Misfit::Fault), &[long], FLOAT);
    let (sum, squares) = (at(graph, of.sum), at(graph, of.squares));
    let Some(about) = of.about else { return (long, n, squares) };
    let about = at(graph, about);
    let float = |graph: &mut Graph, value: f64| graph.literal(FLOAT, Value::F64(value.to_bits()));
    let two = |graph: &mut Graph, op, a, b| graph.add(op, &[a, b], FLOAT);
    // What the mean's rounding adds, corrected: Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983.
    let bias = two(graph, Op::Multiply, about, about);
    let bias = two(graph, Op::Divide, bias, n);
    let spread = two(graph, Op::Subtract, squares, bias);
    // Different numbers lie further apart than this: below it all are the same one.
    let mean = two(graph, Op::Divide, sum, n);
    let unit = float(graph, f64::EPSILON / 4.0);
    let least = two(graph, Op::Multiply, mean, unit);
    let least = two(graph, Op::Multiply, least, least);
    let least = two(graph, Op::Multiply, least, n);
    let none = graph.add(Op::Compare(Comparison::LessEqual), &[spread, least], Kind::Bool);
    // What is not a number is no spread of zero.
    let unknown = graph.add(Op::Call("is_nan"), &[spread], Kind::Bool);
    let known = graph.add(Op::Not, &[unknown], Kind::Bool);
    let none = graph.add(Op::And, &[none, known], Kind::Bool);
    let zero = float(graph, 0.0);
    (long, n, graph.add(Op::Choose, &[none, zero, spread], FLOAT))
}
