//! Aggregates: what is accumulated of a group, and how a result comes from that.

use arrow::datatypes::DataType;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use onrush_kernels::Scalar;
use onrush_ops::{Accumulator, Comparison, Graph, Id, Kind, Misfit, Op, Value, What, kind_of};
use std::sync::Arc;

use super::lower::{Lowering, Refusal, literal_of};

const FLOAT: Kind = Kind::Number(Scalar::F64);
const LONG: Kind = Kind::Number(Scalar::I64);
const WIDE: Kind = Kind::Number(Scalar::I128);

/// Accumulators of a stage, each once.
#[derive(Default)]
pub struct Accumulators {
    pub all: Vec<Accumulator>,
}

impl Accumulators {
    fn add(&mut self, what: What, of: Option<Id>) -> usize {
        let accumulator = Accumulator { what, of };
        self.all.iter().position(|a| *a == accumulator).unwrap_or_else(|| {
            self.all.push(accumulator);
            self.all.len() - 1
        })
    }
}

/// How a result is made of accumulators, by their number.
pub enum Recipe {
    Count(usize),
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
    /// From the key that orders values.
    Extreme {
        of: usize,
        count: usize,
        kind: Kind,
        float: bool,
    },
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
    if function.is_distinct() && !matches!(name, "min" | "max") {
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
                let id = lowering.expr(arg)?;
                Some(masked(lowering, id))
            }
        };
        return Ok(Recipe::Count(accumulators.add(What::Count, of)));
    }
    let [arg] = &args[..] else { return refused("") };
    let dtype = lowering.dtype(arg)?;
    let result = function.field().data_type().clone();
    let id = lowering.expr(arg)?;
    let id = masked(lowering, id);
    let kind = lowering.graph.kind(id);
    if kind == Kind::Code {
        return refused(" of texts");
    }
    let convert = |graph: &mut Graph, id: Id, to: Kind| match graph.kind(id) == to {
        true => id,
        false => graph.add(Op::Convert(Misfit::Fault), &[id], to),
    };
    let count = accumulators.add(What::Count, Some(id));
    Ok(match (name, &dtype) {
        ("sum", t) if t.is_integer() => {
            let to = if t.is_unsigned_integer() { Kind::Number(Scalar::U64) } else { LONG };
            if kind_of(&result) != Some(to) {
                return refused("");
            }
            let id = convert(&mut lowering.graph, id, to);
            Recipe::Value { of: accumulators.add(What::SumInteger, Some(id)), count }
        }
        ("sum", DataType::Float64 | DataType::Float32) if result == DataType::Float64 => {
            let id = convert(&mut lowering.graph, id, FLOAT);
            Recipe::Value { of: accumulators.add(What::SumFloat, Some(id)), count }
        }
        ("sum", DataType::Decimal128(_, s)) if matches!(result, DataType::Decimal128(_, t) if t == *s) => {
            Recipe::Value { of: accumulators.add(What::SumWide, Some(id)), count }
        }
        ("avg", DataType::Float64) => Recipe::Mean { sum: accumulators.add(What::SumFloat, Some(id)), count },
        ("avg", DataType::Decimal128(_, s)) => {
            let DataType::Decimal128(_, t) = result else { return refused("") };
            let up = u32::try_from(i32::from(t) - i32::from(*s)).map_err(|_| format!("`avg` of {dtype}"))?;
            Recipe::DecimalMean { sum: accumulators.add(What::SumWide, Some(id)), count, up }
        }
        ("min" | "max", t) if *t == result => {
            let least = name == "min";
            let (unsigned, id) = match kind {
                Kind::Bool => (false, convert(&mut lowering.graph, id, LONG)),
                Kind::Number(Scalar::U64) => (true, id),
                Kind::Number(Scalar::I128) => match t {
                    DataType::Decimal128(precision, _) if *precision <= 18 => {
                        (false, convert(&mut lowering.graph, id, LONG))
                    }
                    _ => return refused(" of decimals of more than 18 digits"),
                },
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
