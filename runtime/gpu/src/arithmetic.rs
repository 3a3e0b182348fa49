//! Arithmetic, conversions and literals with the rules of Arrow and DataFusion.

use arrow::datatypes::{DataType, FieldRef, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use onrush_kernels::Scalar;
use onrush_kernels::dates::{Tick, Unit};
use onrush_ops::{Comparison, DeviceType, ExprGraph, LiteralValue, NodeId, Op, OverflowPolicy, kind_of};

use super::cpu_reason::CpuReason;

const WIDE: DeviceType = DeviceType::Number(Scalar::I128);
const FLOAT: DeviceType = DeviceType::Number(Scalar::F64);

pub fn tick(unit: TimeUnit) -> Tick {
    match unit {
        TimeUnit::Second => Tick::Second,
        TimeUnit::Millisecond => Tick::Millisecond,
        TimeUnit::Microsecond => Tick::Microsecond,
        TimeUnit::Nanosecond => Tick::Nanosecond,
    }
}

/// The type of the elements of a list.
pub fn element_of(dtype: &DataType) -> Option<&FieldRef> {
    match dtype {
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => Some(of),
        _ => None,
    }
}

/// The key that rows are grouped by: a float with one zero and one NaN.
pub fn as_group(graph: &mut ExprGraph, value: NodeId) -> NodeId {
    let kind = graph.kind(value);
    let (DeviceType::Number(scalar), true) = (kind, kind.is_float()) else { return value };
    let zero = graph.number(scalar, 0);
    let value = graph.add(Op::Add, &[value, zero], kind);
    with_one_nan(graph, value)
}

/// A float whose every NaN has the bits of one: an emulated device makes those of the processor, with a sign.
pub fn with_one_nan(graph: &mut ExprGraph, value: NodeId) -> NodeId {
    let kind = graph.kind(value);
    let (DeviceType::Number(scalar), true) = (kind, kind.is_float()) else { return value };
    let nan = match scalar {
        Scalar::F32 => LiteralValue::F32(f32::NAN.to_bits()),
        _ => LiteralValue::F64(f64::NAN.to_bits()),
    };
    let nan = graph.literal(kind, nan);
    let is_nan = graph.add(Op::MathFn("is_nan"), &[value], DeviceType::Bool);
    graph.add(Op::IfElse, &[is_nan, nan, value], kind)
}

pub fn literal(graph: &mut ExprGraph, value: &ScalarValue) -> Result<NodeId, CpuReason> {
    let dtype = value.data_type();
    if value.is_null() {
        let kind = if dtype == DataType::Null { Some(DeviceType::Bool) } else { kind_of(&dtype) };
        let kind = kind.ok_or_else(|| CpuReason::of_type("a literal", &dtype))?;
        return Ok(graph.null(kind));
    }
    use ScalarValue as S;
    let kind = kind_of(&dtype).ok_or_else(|| CpuReason::of_type("a literal", &dtype))?;
    let value = match value {
        S::Boolean(Some(v)) => LiteralValue::Bool(*v),
        S::Int8(Some(v)) => LiteralValue::I64((*v).into()),
        S::Int16(Some(v)) => LiteralValue::I64((*v).into()),
        S::Int32(Some(v)) | S::Date32(Some(v)) | S::Time32Second(Some(v)) | S::Time32Millisecond(Some(v)) => {
            LiteralValue::I64((*v).into())
        }
        S::Int64(Some(v))
        | S::Date64(Some(v))
        | S::Time64Microsecond(Some(v))
        | S::Time64Nanosecond(Some(v))
        | S::TimestampSecond(Some(v), _)
        | S::TimestampMillisecond(Some(v), _)
        | S::TimestampMicrosecond(Some(v), _)
        | S::TimestampNanosecond(Some(v), _)
        | S::DurationSecond(Some(v))
        | S::DurationMillisecond(Some(v))
        | S::DurationMicrosecond(Some(v))
        | S::DurationNanosecond(Some(v)) => LiteralValue::I64(*v),
        S::UInt8(Some(v)) => LiteralValue::I64((*v).into()),
        S::UInt16(Some(v)) => LiteralValue::I64((*v).into()),
        S::UInt32(Some(v)) => LiteralValue::I64((*v).into()),
        S::UInt64(Some(v)) => LiteralValue::U64(*v),
        S::Float32(Some(v)) => LiteralValue::F32(v.to_bits()),
        S::Float64(Some(v)) => LiteralValue::F64(v.to_bits()),
        S::Decimal128(Some(v), _, _) => LiteralValue::I128(*v),
        _ => return Err(CpuReason::of_type("a literal", &dtype)),
    };
    Ok(graph.literal(kind, value))
}

/// Whether values of two types are compared as they are.
pub fn comparable(a: &DataType, b: &DataType) -> bool {
    use DataType::{Decimal128, Timestamp};
    match (a, b) {
        (Decimal128(_, s), Decimal128(_, t)) => s == t,
        // Both are UTC timestamps. The time zone only matters for display.
        (Timestamp(u, a), Timestamp(v, b)) => u == v && a.is_some() == b.is_some(),
        (DataType::Null, _) | (_, DataType::Null) => false,
        (a, b) => a == b && kind_of(a).is_some_and(|kind| kind != DeviceType::ListView),
    }
}

fn power_of_ten(exponent: u32) -> Result<i128, CpuReason> {
    10_i128.checked_pow(exponent).ok_or_else(|| CpuReason::feature(format!("a decimal scaled by 10^{exponent}")))
}

fn scaled(graph: &mut ExprGraph, id: NodeId, by: i64) -> Result<NodeId, CpuReason> {
    if by <= 0 {
        return Ok(id);
    }
    let factor = power_of_ten(by as u32)?;
    let factor = graph.literal(WIDE, LiteralValue::I128(factor));
    Ok(graph.add(Op::MultiplyExact, &[id, factor], WIDE))
}

/// A binary operator that is neither logic nor a comparison.
pub fn arithmetic(
    graph: &mut ExprGraph,
    op: Operator,
    (a, left): (NodeId, &DataType),
    (b, right): (NodeId, &DataType),
    result: &DataType,
) -> Result<NodeId, CpuReason> {
    use DataType::Decimal128;
    let refused = || CpuReason::Operands { operator: op.to_string(), left: left.clone(), right: right.clone() };
    if let (Decimal128(_, s), Decimal128(_, t), Decimal128(_, scale)) = (left, right, result) {
        let (s, t, scale) = (i64::from(*s), i64::from(*t), i64::from(*scale));
        return match op {
            Operator::Plus | Operator::Minus => {
                let most = s.max(t);
                let (a, b) = (scaled(graph, a, most - s)?, scaled(graph, b, most - t)?);
                let op = if op == Operator::Plus { Op::AddExact } else { Op::SubtractExact };
                Ok(graph.add(op, &[a, b], WIDE))
            }
            Operator::Multiply => Ok(graph.add(Op::MultiplyExact, &[a, b], WIDE)),
            Operator::Divide => {
                let up = scale - s + t;
                let (a, b) = (scaled(graph, a, up)?, scaled(graph, b, -up)?);
                Ok(graph.add(Op::DivideExact, &[a, b], WIDE))
            }
            Operator::Modulo => {
                let most = s.max(t);
                let (a, b) = (scaled(graph, a, most - s)?, scaled(graph, b, most - t)?);
                Ok(graph.add(Op::Remainder, &[a, b], WIDE))
            }
            _ => Err(refused()),
        };
    }
    if let Some(found) = moments(graph, op, (a, left), (b, right), result) {
        return Ok(found);
    }
    let number = left.is_integer() || matches!(left, DataType::Float32 | DataType::Float64);
    if !number || left != right || left != result {
        return Err(refused());
    }
    let kind = graph.kind(a);
    let op = match op {
        Operator::Plus => Op::Add,
        Operator::Minus => Op::Subtract,
        Operator::Multiply => Op::Multiply,
        Operator::Divide => Op::Divide,
        Operator::Modulo => Op::Remainder,
        Operator::BitwiseAnd if left.is_integer() => Op::BitAnd,
        Operator::BitwiseOr if left.is_integer() => Op::BitOr,
        Operator::BitwiseXor if left.is_integer() => Op::BitXor,
        Operator::BitwiseShiftLeft if left.is_integer() => Op::ShiftLeft,
        Operator::BitwiseShiftRight if left.is_integer() => Op::ShiftRight,
        _ => return Err(refused()),
    };
    Ok(graph.add(op, &[a, b], kind))
}

/// Differences of timestamps, and timestamps plus or minus durations, in one unit. A result that does not fit is a row
/// error.
fn moments(
    graph: &mut ExprGraph,
    op: Operator,
    (a, left): (NodeId, &DataType),
    (b, right): (NodeId, &DataType),
    result: &DataType,
) -> Option<NodeId> {
    use DataType::{Date32, Duration, Timestamp};
    let long = DeviceType::Number(Scalar::I64);
    let op = match op {
        Operator::Plus => Op::AddChecked,
        Operator::Minus => Op::SubtractChecked,
        _ => return None,
    };
    match (left, right, result) {
        (Timestamp(u, x), Timestamp(v, y), Duration(w)) if op == Op::SubtractChecked => {
            (u == v && v == w && x.is_some() == y.is_some()).then(|| graph.add(op, &[a, b], long))
        }
        (Timestamp(u, _) | Duration(u), Duration(v), _) if left == result && u == v => {
            Some(graph.add(op, &[a, b], long))
        }
        (Duration(u), Timestamp(v, _), _) if right == result && u == v && op == Op::AddChecked => {
            Some(graph.add(op, &[a, b], long))
        }
        (Date32, Date32, Duration(unit)) if op == Op::SubtractChecked => {
            let [a, b] = [a, b].map(|id| graph.add(Op::Convert(OverflowPolicy::Error), &[id], long));
            let days = graph.add(Op::Subtract, &[a, b], long);
            let per_day = graph.number(Scalar::I64, tick(*unit).per_day().into());
            Some(graph.add(Op::MultiplyChecked, &[days, per_day], long))
        }
        (Date32, Date32, DataType::Int64) if op == Op::SubtractChecked => {
            let [a, b] = [a, b].map(|id| graph.add(Op::Convert(OverflowPolicy::Error), &[id], long));
            Some(graph.add(Op::Subtract, &[a, b], long))
        }
        _ => None,
    }
}

/// A decimal that fits into its precision, or else is null or a fault.
fn within(graph: &mut ExprGraph, id: NodeId, precision: u8, misfit: OverflowPolicy) -> Result<NodeId, CpuReason> {
    let limit = graph.literal(WIDE, LiteralValue::I128(power_of_ten(precision.into())? - 1));
    Ok(graph.add(Op::CheckRange(misfit), &[id, limit], WIDE))
}

pub fn cast(
    graph: &mut ExprGraph,
    arg: NodeId,
    from: &DataType,
    to: &DataType,
    misfit: OverflowPolicy,
) -> Result<NodeId, CpuReason> {
    use DataType::{Date32, Decimal128, Duration, Timestamp};
    let same_elements = element_of(from).zip(element_of(to)).is_some_and(|(a, b)| a.data_type() == b.data_type());
    if from == to || (same_elements && !matches!(to, DataType::FixedSizeList(..))) {
        return Ok(arg);
    }
    let refused = || CpuReason::Cast { from: from.clone(), to: to.clone() };
    let kind = kind_of(to).ok_or_else(refused)?;
    if *from == DataType::Null {
        return Ok(graph.null(kind));
    }
    let plain = |t: &DataType| t.is_integer() || matches!(t, DataType::Float32 | DataType::Float64 | DataType::Boolean);
    let ticks = |t: &DataType| {
        matches!(t, Timestamp(_, None) | DataType::Duration(_) | Date32 | DataType::Date64 | DataType::Time64(_))
    };
    match (from, to) {
        (a, b) if plain(a) && plain(b) => Ok(graph.add(Op::Convert(misfit), &[arg], kind)),
        (Decimal128(_, s), Decimal128(precision, t)) => {
            let by = i64::from(*t) - i64::from(*s);
            let moved = if by >= 0 {
                scaled(graph, arg, by)?
            } else {
                let factor = graph.literal(WIDE, LiteralValue::I128(power_of_ten(by.unsigned_abs() as u32)?));
                graph.add(Op::DivideRounded, &[arg, factor], WIDE)
            };
            if misfit == OverflowPolicy::Null && by > 0 {
                // A value that does not fit 128 bits would have to be null, too.
                return Err(refused());
            }
            within(graph, moved, *precision, misfit)
        }
        (Decimal128(_, s), DataType::Float64 | DataType::Float32) if *s >= 0 => {
            let float = graph.add(Op::Convert(misfit), &[arg], FLOAT);
            let factor = graph.literal(FLOAT, LiteralValue::F64(10_f64.powi((*s).into()).to_bits()));
            let value = graph.add(Op::Divide, &[float, factor], FLOAT);
            Ok(graph.add(Op::Convert(misfit), &[value], kind))
        }
        // Sums of integers need no division. A division of 128 bits takes hundreds of instructions.
        (Decimal128(_, 0), b) if b.is_integer() => Ok(graph.add(Op::Convert(misfit), &[arg], kind)),
        (Decimal128(_, s), b) if b.is_integer() && *s >= 0 => {
            let factor = graph.literal(WIDE, LiteralValue::I128(power_of_ten((*s) as u32)?));
            let whole = graph.add(Op::Divide, &[arg, factor], WIDE);
            Ok(graph.add(Op::Convert(misfit), &[whole], kind))
        }
        (a, Decimal128(precision, s)) if a.is_integer() && *s >= 0 => {
            let wide = graph.add(Op::Convert(misfit), &[arg], WIDE);
            let moved = scaled(graph, wide, (*s).into())?;
            within(graph, moved, *precision, misfit)
        }
        (DataType::Float64, Decimal128(precision, s)) if *s >= 0 => {
            let factor = graph.literal(FLOAT, LiteralValue::F64(10_f64.powi((*s).into()).to_bits()));
            let moved = graph.add(Op::Multiply, &[arg, factor], FLOAT);
            let whole = graph.add(Op::MathFn("round"), &[moved], FLOAT);
            let wide = graph.add(Op::Convert(misfit), &[whole], WIDE);
            within(graph, wide, *precision, misfit)
        }
        (a, DataType::Int64) if ticks(a) => Ok(graph.add(Op::Convert(OverflowPolicy::Null), &[arg], kind)),
        (Date32, DataType::Int32) | (DataType::Int32, Date32) => Ok(arg),
        (DataType::Int64, b) if ticks(b) && *b != Date32 => Ok(arg),
        (Date32, Timestamp(unit, None)) if *unit != TimeUnit::Nanosecond => {
            let days = graph.add(Op::Convert(misfit), &[arg], kind);
            let per_day = graph.number(Scalar::I64, tick(*unit).per_day().into());
            Ok(graph.add(Op::Multiply, &[days, per_day], kind))
        }
        (Timestamp(unit, None), Date32) => {
            let whole = graph.add(Op::Truncate(Unit::Day, tick(*unit)), &[arg], DeviceType::Number(Scalar::I64));
            let per_day = graph.number(Scalar::I64, tick(*unit).per_day().into());
            let days = graph.add(Op::Divide, &[whole, per_day], DeviceType::Number(Scalar::I64));
            Ok(graph.add(Op::Convert(misfit), &[days], kind))
        }
        (Timestamp(a, None), Timestamp(b, None)) if tick(*a).per_day() > tick(*b).per_day() => {
            let factor = graph.number(Scalar::I64, i128::from(tick(*a).per_day() / tick(*b).per_day()));
            Ok(graph.add(Op::Divide, &[arg, factor], kind))
        }
        (Timestamp(a, None), Timestamp(b, None)) if misfit == OverflowPolicy::Error => {
            let factor = graph.number(Scalar::I64, i128::from(tick(*b).per_day() / tick(*a).per_day()));
            Ok(graph.add(Op::MultiplyChecked, &[arg, factor], kind))
        }
        (Duration(a), Duration(b)) if tick(*a).per_day() < tick(*b).per_day() && misfit == OverflowPolicy::Error => {
            let factor = graph.number(Scalar::I64, i128::from(tick(*b).per_day() / tick(*a).per_day()));
            Ok(graph.add(Op::MultiplyChecked, &[arg, factor], kind))
        }
        (Timestamp(a, None), DataType::Time64(b)) if a == b => {
            let day = graph.add(Op::Truncate(Unit::Day, tick(*a)), &[arg], kind);
            Ok(graph.add(Op::Subtract, &[arg, day], kind))
        }
        // The timestamps are equal. Only their display differs.
        (Timestamp(a, Some(_)), Timestamp(b, Some(_))) if a == b => Ok(arg),
        _ => Err(refused()),
    }
}

/// A number of 128 bits as one of 64 in the same order, but that those beyond the 64 bits are all alike.
pub fn clamped(graph: &mut ExprGraph, value: NodeId) -> NodeId {
    let (wide, long) = (graph.kind(value), DeviceType::Number(Scalar::I64));
    let narrow = graph.add(Op::Convert(OverflowPolicy::Null), &[value], long);
    let [zero, low, high] =
        [(wide, LiteralValue::I128(0)), (long, LiteralValue::I64(i64::MIN)), (long, LiteralValue::I64(i64::MAX))]
            .map(|(kind, value)| graph.literal(kind, value));
    let is_low = graph.add(Op::Compare(Comparison::Less), &[value, zero], DeviceType::Bool);
    let beyond = graph.add(Op::IfElse, &[is_low, low, high], long);
    let found = graph.add(Op::Coalesce, &[narrow, beyond], long);
    let is_null = graph.add(Op::IsNull, &[value], DeviceType::Bool);
    graph.add(Op::IfElse, &[is_null, narrow, found], long)
}
