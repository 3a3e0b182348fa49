//! Functions of numbers that are several operations: division that rounds down, signs, the least and the greatest of a
//! row, powers of integers.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::ScalarFunctionExpr;
use onrush_expr::scalar_udf::is_ours;
use onrush_kernels::Scalar;
use onrush_ops::{Comparison, DeviceType, ExprGraph, LiteralValue, NodeId, Op, OverflowPolicy};

use super::{Lowering, literal_of};
use crate::cpu_reason::CpuReason;

const FLOAT: DeviceType = DeviceType::Number(Scalar::F64);
const LONG: DeviceType = DeviceType::Number(Scalar::I64);

/// The node of a call. `None` for functions that are not here.
pub fn call(
    lowering: &mut Lowering,
    function: &ScalarFunctionExpr,
    types: &[DataType],
    kind: DeviceType,
) -> Option<Result<NodeId, CpuReason>> {
    let (name, args, result) = (function.name(), function.args(), function.return_type().clone());
    let ours = is_ours(function.fun());
    let alike = types.iter().all(|dtype| *dtype == result);
    match (name, args) {
        ("mod" | "floor_div", [a, b]) if ours && alike && (result.is_integer() || result.is_floating()) => {
            let both = lowering.expr(a).and_then(|a| Ok((a, lowering.expr(b)?)));
            Some(both.map(|(a, b)| {
                let graph = &mut lowering.graph;
                let rest = name == "mod";
                match result.is_floating() {
                    true => float_division(graph, a, b, rest, kind),
                    false => integer_division(graph, a, b, rest, kind),
                }
            }))
        }
        ("sign", [arg]) if ours && result == DataType::Float64 && alike => Some(lowering.expr(arg).map(|arg| {
            let graph = &mut lowering.graph;
            let float = |graph: &mut ExprGraph, value: f64| graph.literal(FLOAT, LiteralValue::F64(value.to_bits()));
            let (one, less, zero) = (float(graph, 1.0), float(graph, -1.0), float(graph, 0.0));
            let unknown = graph.add(Op::MathFn("is_nan"), &[arg], DeviceType::Bool);
            let above = graph.add(Op::Compare(Comparison::Greater), &[arg, zero], DeviceType::Bool);
            let below = graph.add(Op::Compare(Comparison::Less), &[arg, zero], DeviceType::Bool);
            let sign = graph.add(Op::IfElse, &[below, less, arg], FLOAT);
            let sign = graph.add(Op::IfElse, &[above, one, sign], FLOAT);
            graph.add(Op::IfElse, &[unknown, arg, sign], FLOAT)
        })),
        ("least" | "greatest", [_, ..]) if alike && matches!(kind, DeviceType::Number(_)) => {
            let ids = args.iter().map(|arg| lowering.expr(arg)).collect::<Result<Vec<_>, _>>();
            let least = name == "least";
            let graph = &mut lowering.graph;
            Some(ids.map(|ids| {
                let one = ids.into_iter().reduce(|a, b| extreme(graph, a, b, least, kind));
                one.unwrap_or_else(|| graph.null(kind))
            }))
        }
        // Wrapping, by repeated squaring.
        ("pow", [base, exponent]) if ours && result == DataType::Int64 && alike => {
            let Some(ScalarValue::Int64(Some(exponent @ 0..=64))) = literal_of(exponent) else { return None };
            let exponent = *exponent as u32;
            Some(lowering.expr(base).map(|base| power(&mut lowering.graph, base, exponent)))
        }
        _ => None,
    }
}

/// `floor(a / b)`, or what is left of `a`. Runs in `f64`.
fn float_division(graph: &mut ExprGraph, a: NodeId, b: NodeId, rest: bool, kind: DeviceType) -> NodeId {
    let wide = |graph: &mut ExprGraph, id: NodeId| match kind {
        FLOAT => id,
        _ => graph.add(Op::Convert(OverflowPolicy::Error), &[id], FLOAT),
    };
    let (a, b) = (wide(graph, a), wide(graph, b));
    let quotient = graph.add(Op::Divide, &[a, b], FLOAT);
    let mut value = graph.add(Op::MathFn("floor"), &[quotient], FLOAT);
    if rest {
        let whole = graph.add(Op::Multiply, &[value, b], FLOAT);
        value = graph.add(Op::Subtract, &[a, whole], FLOAT);
    }
    if kind == FLOAT { value } else { graph.add(Op::Convert(OverflowPolicy::Error), &[value], kind) }
}

/// Division of integers, or its remainder; null if `b` is zero. The lowest number by -1 wraps.
fn integer_division(graph: &mut ExprGraph, a: NodeId, b: NodeId, rest: bool, kind: DeviceType) -> NodeId {
    let DeviceType::Number(scalar) = kind else { return graph.null(kind) };
    let compare = |graph: &mut ExprGraph, how, a, b| graph.add(Op::Compare(how), &[a, b], DeviceType::Bool);
    let (zero, one, null) = (graph.number(scalar, 0), graph.number(scalar, 1), graph.null(kind));
    let is_zero = compare(graph, Comparison::Equal, b, zero);
    let signed = !scalar.is_unsigned();
    let mut special = is_zero;
    let mut is_minus_one = None;
    if signed {
        let minus_one = graph.number(scalar, -1);
        let found = compare(graph, Comparison::Equal, b, minus_one);
        special = graph.add(Op::Or, &[is_zero, found], DeviceType::Bool);
        is_minus_one = Some(found);
    }
    let by = graph.add(Op::IfElse, &[special, one, b], kind);
    let left = graph.add(Op::Remainder, &[a, by], kind);
    let mut value = match rest {
        true => left,
        false => graph.add(Op::Divide, &[a, by], kind),
    };
    if signed {
        // Rounded towards zero so far: one too high where signs differ and something is left.
        let some = compare(graph, Comparison::NotEqual, left, zero);
        let (low, negative) = (compare(graph, Comparison::Less, a, zero), compare(graph, Comparison::Less, by, zero));
        let same = graph.add(Op::Compare(Comparison::Equal), &[low, negative], DeviceType::Bool);
        let differ = graph.add(Op::Not, &[same], DeviceType::Bool);
        let lower = graph.add(Op::And, &[some, differ], DeviceType::Bool);
        let moved = match rest {
            true => graph.add(Op::Add, &[value, by], kind),
            false => graph.add(Op::Subtract, &[value, one], kind),
        };
        value = graph.add(Op::IfElse, &[lower, moved, value], kind);
    }
    if let (Some(is_minus_one), false) = (is_minus_one, rest) {
        let negated = graph.add(Op::Negate, &[a], kind);
        value = graph.add(Op::IfElse, &[is_minus_one, negated, value], kind);
    }
    graph.add(Op::IfElse, &[is_zero, null, value], kind)
}

/// The lesser or the greater of two values, in the total order of floats; nulls left out.
fn extreme(graph: &mut ExprGraph, a: NodeId, b: NodeId, least: bool, kind: DeviceType) -> NodeId {
    let key = |graph: &mut ExprGraph, id: NodeId| match kind.is_float() {
        true => graph.add(Op::OrderKey, &[id], LONG),
        false => id,
    };
    let keys = [key(graph, a), key(graph, b)];
    let how = if least { Comparison::LessEqual } else { Comparison::GreaterEqual };
    let first = graph.add(Op::Compare(how), &keys, DeviceType::Bool);
    let chosen = graph.add(Op::IfElse, &[first, a, b], kind);
    let (no_a, no_b) = (graph.add(Op::IsNull, &[a], DeviceType::Bool), graph.add(Op::IsNull, &[b], DeviceType::Bool));
    let chosen = graph.add(Op::IfElse, &[no_a, b, chosen], kind);
    graph.add(Op::IfElse, &[no_b, a, chosen], kind)
}

fn power(graph: &mut ExprGraph, base: NodeId, mut exponent: u32) -> NodeId {
    let (mut square, mut product) = (base, None);
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = Some(match product {
                None => square,
                Some(product) => graph.add(Op::Multiply, &[product, square], LONG),
            });
        }
        exponent >>= 1;
        if exponent > 0 {
            square = graph.add(Op::Multiply, &[square, square], LONG);
        }
    }
    product.unwrap_or_else(|| {
        // One, but null stays null.
        let absent = graph.add(Op::IsNull, &[base], DeviceType::Bool);
        let (null, one) = (graph.null(LONG), graph.number(Scalar::I64, 1));
        graph.add(Op::IfElse, &[absent, null, one], LONG)
    })
}
