//! Functions of one row: DataFusion's, and ours under the names of `expr/`.

use std::f64::consts::PI;
use std::sync::Arc;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_expr::calendar_interval::CalendarInterval;
use onrush_expr::scalar_udf::is_ours;
use onrush_expr::type_coercion::MAX_EXACT_SUM;
use onrush_kernels::Scalar;
use onrush_kernels::dates::{Part, Tick, Unit};
use onrush_logical::fingerprint;
use onrush_ops::{Comparison, DeviceType, ExprGraph, Fold, LiteralValue, Lookup, NodeId, Op, OverflowPolicy};

use super::{Lowering, calendar, literal_of, numbers, udf};
use crate::cpu_reason::CpuReason;
use crate::{arithmetic, time_zone};

const FLOAT: DeviceType = DeviceType::Number(Scalar::F64);
const TICKS: DeviceType = DeviceType::Number(Scalar::I64);

/// Functions of one float by their names in CUDA.
const UNARY: &[(&str, &str)] = &[
    ("sqrt", "sqrt"),
    ("cbrt", "cbrt"),
    ("exp", "exp"),
    ("ln", "log"),
    ("log10", "log10"),
    ("log2", "log2"),
    ("log1p", "log1p"),
    ("expm1", "expm1"),
    ("sin", "sin"),
    ("cos", "cos"),
    ("tan", "tan"),
    ("asin", "asin"),
    ("acos", "acos"),
    ("atan", "atan"),
    ("sinh", "sinh"),
    ("cosh", "cosh"),
    ("tanh", "tanh"),
    ("floor", "floor"),
    ("ceil", "ceil"),
    ("trunc", "trunc"),
];

const DATE_PARTS: &[(&str, Part)] = &[
    ("year", Part::Year),
    ("quarter", Part::Quarter),
    ("month", Part::Month),
    ("week", Part::Week),
    ("day", Part::Day),
    ("doy", Part::DayOfYear),
    ("ordinal_day", Part::DayOfYear),
    ("dow", Part::DayOfWeek),
    ("hour", Part::Hour),
    ("minute", Part::Minute),
    ("second", Part::Second),
];

const UNITS: &[(&str, Unit)] = &[
    ("year", Unit::Year),
    ("quarter", Unit::Quarter),
    ("month", Unit::Month),
    ("week", Unit::Week),
    ("day", Unit::Day),
    ("hour", Unit::Hour),
    ("minute", Unit::Minute),
    ("second", Unit::Second),
];

/// The unit of a date or time. `None` for a timestamp whose local time is not UTC.
fn tick_of(dtype: &DataType) -> Option<Tick> {
    match dtype {
        DataType::Date32 => Some(Tick::Day),
        DataType::Timestamp(unit, None) => Some(arithmetic::tick(*unit)),
        DataType::Timestamp(unit, Some(zone)) if matches!(&**zone, "UTC" | "+00:00" | "Z") => {
            Some(arithmetic::tick(*unit))
        }
        _ => None,
    }
}

/// The same where a zone's table tells the wall clock.
fn tick_in_zone(dtype: &DataType) -> Option<Tick> {
    match dtype {
        DataType::Timestamp(unit, _) => Some(arithmetic::tick(*unit)),
        _ => tick_of(dtype),
    }
}

/// A zone whose clocks are not those of UTC.
fn zone_of(dtype: &DataType) -> Option<&str> {
    match dtype {
        DataType::Timestamp(_, Some(zone)) if tick_of(dtype).is_none() => Some(zone),
        _ => None,
    }
}

fn zone_table(lowering: &mut Lowering, zone: &str) -> Option<u32> {
    lowering.lookups.push(Lookup::TimeZone(time_zone::find(zone)?));
    Some(lowering.lookups.len() as u32 - 1)
}

/// Interprets local time in the zone of `to`. A local time that is ambiguous or does not exist is treated by the
/// overflow policy.
pub fn in_zone(lowering: &mut Lowering, local: NodeId, to: &DataType, misfit: OverflowPolicy) -> Option<NodeId> {
    let Some(zone) = zone_of(to) else { return Some(local) };
    let (tick, table) = (tick_in_zone(to)?, zone_table(lowering, zone)?);
    Some(lowering.graph.add(Op::ToUtc(table, tick, Fold::No(misfit)), &[local], TICKS))
}

pub fn call(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Result<NodeId, CpuReason> {
    let name = function.name();
    let args = function.args();
    let refused = || CpuReason::Function(name.to_string());
    let types = args.iter().map(|arg| lowering.dtype(arg)).collect::<Result<Vec<_>, _>>()?;
    let result = function.return_type().clone();
    let kind = onrush_ops::kind_of(&result).ok_or_else(refused)?;
    let floats = matches!(types.first(), Some(DataType::Float64 | DataType::Float32)) && types[0] == result;
    if let ([arg], true) = (args, floats)
        && let Some((_, cuda)) = UNARY.iter().find(|(known, _)| *known == name)
    {
        let arg = lowering.expr(arg)?;
        return Ok(lowering.graph.add(Op::MathFn(cuda), &[arg], kind));
    }
    let doubles = types.iter().all(|t| *t == DataType::Float64) && result == DataType::Float64;
    match (name, args) {
        ("abs", [arg]) if types[0] == result && !matches!(result, DataType::Decimal128(..)) => {
            if !floats && !result.is_unsigned_integer() {
                // The lowest number has no absolute value, which is an error there.
                return Err(refused());
            }
            let arg = lowering.expr(arg)?;
            Ok(if floats { lowering.graph.add(Op::Absolute, &[arg], kind) } else { arg })
        }
        ("degrees" | "radians", [arg]) if doubles => {
            let factor = if name == "degrees" { 180.0 / PI } else { PI / 180.0 };
            let arg = lowering.expr(arg)?;
            let factor = lowering.graph.literal(FLOAT, LiteralValue::F64(factor.to_bits()));
            Ok(lowering.graph.add(Op::Multiply, &[arg, factor], FLOAT))
        }
        ("powf" | "power" | "pow", [base, exponent]) if doubles && is_two(exponent) => {
            let base = lowering.expr(base)?;
            Ok(lowering.graph.add(Op::Multiply, &[base, base], FLOAT))
        }
        ("powf" | "power" | "pow" | "atan2" | "hypot", [_, _]) if doubles => {
            let cuda = match name {
                "atan2" => "atan2",
                "hypot" => "hypot",
                _ => "pow",
            };
            two(lowering, function, Op::MathFn(cuda))
        }
        // Operators of SQL as functions.
        ("add" | "subtract" | "multiply", [a, b])
            if result.is_integer() && types[0] == result && types[1] == result =>
        {
            let (a, b) = (lowering.expr(a)?, lowering.expr(b)?);
            let op = match name {
                "add" => Op::AddChecked,
                "subtract" => Op::SubtractChecked,
                _ => Op::MultiplyChecked,
            };
            Ok(lowering.graph.add(op, &[a, b], kind))
        }
        // A sum of decimals, and the same sum as a float. The float is scaled down, so that a sum beyond 128 bits
        // overflows 64 bits.
        ("checked_sum", [sum, float]) if types[1] == DataType::Float64 => {
            let DataType::Decimal128(_, scale) = types[0] else { return Err(refused()) };
            let (sum, float) = (lowering.expr(sum)?, lowering.expr(float)?);
            let graph = &mut lowering.graph;
            let smaller = 2_f64.powi(63) / MAX_EXACT_SUM * 10_f64.powi(i32::from(scale));
            let smaller = graph.literal(FLOAT, LiteralValue::F64(smaller.to_bits()));
            let float = graph.add(Op::Multiply, &[float, smaller], FLOAT);
            let whole = graph.add(Op::Convert(OverflowPolicy::Error), &[float], TICKS);
            // So that it is computed.
            let least = graph.number(Scalar::I64, i64::MIN.into());
            let is_least = graph.add(Op::Compare(Comparison::Equal), &[whole, least], DeviceType::Bool);
            let null = graph.null(kind);
            Ok(graph.add(Op::IfElse, &[is_least, null, sum], kind))
        }
        // A row of which either number is missing has none: the sum does not fit, and the CPU says what is wrong.
        ("same_height", [_, _]) if is_ours(function.fun()) && kind == DeviceType::Number(Scalar::U64) => {
            let (a, b) = (lowering.expr(&args[0])?, lowering.expr(&args[1])?);
            let graph = &mut lowering.graph;
            let [no_a, no_b] = [a, b].map(|id| graph.add(Op::IsNull, &[id], DeviceType::Bool));
            let lacks = graph.add(Op::Or, &[no_a, no_b], DeviceType::Bool);
            let (most, one) = (graph.literal(kind, LiteralValue::U64(u64::MAX)), graph.number(Scalar::U64, 1));
            let number = graph.add(Op::IfElse, &[lacks, most, a], kind);
            let next = graph.add(Op::AddChecked, &[number, one], kind);
            Ok(graph.add(Op::Subtract, &[next, one], kind))
        }
        ("shuffle", [row, seed]) if is_ours(function.fun()) => shuffled(lowering, row, seed).ok_or_else(refused)?,
        ("round_half_even", [arg]) if doubles => {
            let arg = lowering.expr(arg)?;
            Ok(lowering.graph.add(Op::MathFn("rint"), &[arg], FLOAT))
        }
        // DataFusion's, away from zero, and ours, to the even neighbour.
        ("round", [arg]) if doubles => {
            let arg = lowering.expr(arg)?;
            Ok(lowering.graph.add(Op::MathFn("round"), &[arg], FLOAT))
        }
        ("round", [arg, decimals])
            if is_ours(function.fun()) && types[0] == DataType::Float64 && result == DataType::Float64 =>
        {
            let Some(ScalarValue::Int64(Some(decimals))) = literal_of(decimals) else { return Err(refused()) };
            let scale = lowering.graph.literal(FLOAT, LiteralValue::F64(10_f64.powi(*decimals as i32).to_bits()));
            let arg = lowering.expr(arg)?;
            Ok(lowering.graph.add(Op::MathFn("round_even"), &[arg, scale], FLOAT))
        }
        ("isnan", [_]) if matches!(types[0], DataType::Float64 | DataType::Float32) => {
            let arg = lowering.expr(&args[0])?;
            Ok(lowering.graph.add(Op::MathFn("is_nan"), &[arg], DeviceType::Bool))
        }
        ("coalesce", [_, ..]) if kind != DeviceType::DictIndex && types.iter().all(|t| *t == result) => {
            let ids = udf::in_turn(lowering, args)?;
            let last = ids.iter().rev().copied();
            let chosen = last.reduce(|later, earlier| lowering.graph.add(Op::Coalesce, &[earlier, later], kind));
            chosen.ok_or_else(refused)
        }
        ("nullif", [_, _]) if kind != DeviceType::DictIndex && types[0] == types[1] => {
            let (a, b) = (lowering.expr(&args[0])?, lowering.expr(&args[1])?);
            let same = Op::Compare(Comparison::Equal);
            let same = lowering.graph.add(same, &[a, b], DeviceType::Bool);
            let null = lowering.graph.null(kind);
            Ok(lowering.graph.add(Op::IfElse, &[same, null, a], kind))
        }
        _ => {
            let known = numbers::call(lowering, function, &types, kind);
            known
                .or_else(|| calendar::call(lowering, function, &types))
                .unwrap_or_else(|| call_of_times(lowering, function, &types, kind))
        }
    }
}

/// Whether a function is of dates and timestamps: its string arguments are options.
pub fn takes_dates(name: &str) -> bool {
    matches!(name, "date_part" | "date_trunc" | "truncate" | "offset_by" | "moved" | "localized")
}

/// Calls of functions of dates and timestamps; `types` are those of the arguments, and `kind` is that of the result.
fn call_of_times(
    lowering: &mut Lowering,
    function: &ScalarFunctionExpr,
    types: &[DataType],
    kind: DeviceType,
) -> Result<NodeId, CpuReason> {
    let (name, args, result) = (function.name(), function.args(), function.return_type().clone());
    let refused = || CpuReason::Function(name.to_string());
    match (name, args) {
        ("date_part", [part, of]) => {
            let part = literal_of(part).and_then(|v| v.try_as_str().flatten()).unwrap_or_default().to_lowercase();
            let found = DATE_PARTS.iter().find(|(known, _)| *known == part).map(|(_, part)| *part);
            let whole = found.filter(|_| result == DataType::Int32).ok_or_else(refused)?;
            date_part(lowering, whole, of, &types[1], kind).ok_or_else(refused)?
        }
        ("date_trunc", [unit, of]) if types[1] == result => {
            let unit = literal_of(unit).and_then(|v| v.try_as_str().flatten()).unwrap_or_default().to_lowercase();
            let found = UNITS.iter().find(|(known, _)| *known == unit).map(|(_, unit)| *unit);
            let unit = found.ok_or_else(refused)?;
            let fine = matches!(unit, Unit::Minute | Unit::Second);
            let zone = zone_of(&types[1]).filter(|_| !fine);
            let tick = tick_in_zone(&types[1]).ok_or_else(refused)?;
            let table = zone.map(|zone| zone_table(lowering, zone).ok_or_else(refused)).transpose()?;
            let of = lowering.expr(of)?;
            let Some(table) = table else { return Ok(lowering.graph.add(Op::Truncate(unit, tick), &[of], kind)) };
            let local = lowering.graph.add(Op::ToLocal(table, tick), &[of], TICKS);
            let local = lowering.graph.add(Op::Truncate(unit, tick), &[local], TICKS);
            Ok(lowering.graph.add(Op::ToUtc(table, tick, Fold::As), &[local, of], kind))
        }
        ("to_local_time", [of]) => {
            let zone = zone_of(&types[0]);
            let tick = tick_in_zone(&types[0]).ok_or_else(refused)?;
            let table = zone.map(|zone| zone_table(lowering, zone).ok_or_else(refused)).transpose()?;
            let of = lowering.expr(of)?;
            Ok(match table {
                Some(table) => lowering.graph.add(Op::ToLocal(table, tick), &[of], kind),
                None => of,
            })
        }
        // Ours: the timestamps of a wall clock. A time that needs a choice is an error of the row, and the CPU says it.
        ("localized", [wall, zone, ambiguous, missing]) if is_ours(function.fun()) => {
            let word = |arg| literal_of(arg).and_then(|v| v.try_as_str().flatten());
            let zone = word(zone).filter(|_| (word(ambiguous), word(missing)) == (Some("raise"), Some("raise")));
            let zone = DataType::Timestamp(TimeUnit::Microsecond, Some(zone.ok_or_else(refused)?.into()));
            let local = lowering.expr(wall)?;
            in_zone(lowering, local, &zone, OverflowPolicy::Error).ok_or_else(refused)
        }
        ("moved", [wall, before, zone]) if is_ours(function.fun()) => {
            let zone = literal_of(zone).and_then(|v| v.try_as_str().flatten()).ok_or_else(refused)?;
            let table = zone_table(lowering, zone).ok_or_else(refused)?;
            let (local, of) = (lowering.expr(wall)?, lowering.expr(before)?);
            Ok(lowering.graph.add(Op::ToUtc(table, Tick::Microsecond, Fold::As), &[local, of], kind))
        }
        // Ours: of the wall clock, by a literal.
        ("truncate", [of, every]) if is_ours(function.fun()) && types[0] == result => {
            let every = literal_of(every).and_then(|v| v.try_as_str().flatten()).and_then(CalendarInterval::parse);
            let (every, tick) = every.zip(tick_of(&result)).ok_or_else(refused)?;
            let unit = match every {
                CalendarInterval::Months(12) => Some(Unit::Year),
                CalendarInterval::Months(3) => Some(Unit::Quarter),
                CalendarInterval::Months(1) => Some(Unit::Month),
                CalendarInterval::Weeks(1) => Some(Unit::Week),
                CalendarInterval::Micros(_) => None,
                CalendarInterval::Weeks(_) | CalendarInterval::Months(_) => return Err(refused()),
            };
            let of = lowering.expr(of)?;
            let graph = &mut lowering.graph;
            match (unit, every) {
                (Some(unit), _) => Ok(graph.add(Op::Truncate(unit, tick), &[of], kind)),
                (None, CalendarInterval::Micros(n)) if tick == Tick::Microsecond => {
                    let n = graph.number(Scalar::I64, n.into());
                    let rest = graph.add(Op::Remainder, &[of, n], TICKS);
                    let zero = graph.number(Scalar::I64, 0);
                    let below = graph.add(Op::Compare(Comparison::Less), &[rest, zero], DeviceType::Bool);
                    let more = graph.add(Op::Add, &[rest, n], TICKS);
                    let rest = graph.add(Op::IfElse, &[below, more, rest], TICKS);
                    Ok(graph.add(Op::Subtract, &[of, rest], kind))
                }
                _ => Err(refused()),
            }
        }
        // Ours: `dt.hour` and the like.
        (field, [of]) if field.starts_with("dt.") => {
            let found = DATE_PARTS.iter().find(|(known, _)| *known == &field[3..]).map(|(_, part)| *part);
            let part = found.filter(|_| result == DataType::Int32).ok_or_else(refused)?;
            date_part(lowering, part, of, &types[0], kind).ok_or_else(refused)?
        }
        _ => Err(refused()),
    }
}

/// A step of SplitMix64 over a row's number and a seed, as in `logical/ops/sample.rs`.
fn shuffled(
    lowering: &mut Lowering,
    row: &Arc<dyn PhysicalExpr>,
    seed: &Arc<dyn PhysicalExpr>,
) -> Option<Result<NodeId, CpuReason>> {
    const WORD: DeviceType = DeviceType::Number(Scalar::U64);
    let Some(ScalarValue::UInt64(Some(seed))) = literal_of(seed) else { return None };
    let seed = fingerprint::mix(seed.wrapping_add(fingerprint::GOLDEN_RATIO));
    Some(lowering.expr(row).map(|row| {
        let graph = &mut lowering.graph;
        let seed = graph.literal(WORD, LiteralValue::U64(seed));
        let value = graph.add(Op::BitXor, &[row, seed], WORD);
        let step = graph.literal(WORD, LiteralValue::U64(fingerprint::GOLDEN_RATIO));
        let mut value = graph.add(Op::Add, &[value, step], WORD);
        for (shift, factor) in fingerprint::MIX {
            value = xor_shifted(graph, value, shift);
            let factor = graph.literal(WORD, LiteralValue::U64(factor));
            value = graph.add(Op::Multiply, &[value, factor], WORD);
        }
        xor_shifted(graph, value, fingerprint::LAST_SHIFT)
    }))
}

fn xor_shifted(graph: &mut ExprGraph, value: NodeId, by: u64) -> NodeId {
    const WORD: DeviceType = DeviceType::Number(Scalar::U64);
    let by = graph.literal(WORD, LiteralValue::U64(by));
    let shifted = graph.add(Op::ShiftRight, &[value, by], WORD);
    graph.add(Op::BitXor, &[value, shifted], WORD)
}

fn is_two(expr: &Arc<dyn PhysicalExpr>) -> bool {
    matches!(literal_of(expr), Some(ScalarValue::Float64(Some(v))) if *v == 2.0)
}

fn two(lowering: &mut Lowering, function: &ScalarFunctionExpr, op: Op) -> Result<NodeId, CpuReason> {
    let (a, b) = (lowering.expr(&function.args()[0])?, lowering.expr(&function.args()[1])?);
    Ok(lowering.graph.add(op, &[a, b], FLOAT))
}

fn date_part(
    lowering: &mut Lowering,
    part: Part,
    of: &Arc<dyn PhysicalExpr>,
    dtype: &DataType,
    kind: DeviceType,
) -> Option<Result<NodeId, CpuReason>> {
    let tick = tick_in_zone(dtype)?;
    let within_day = matches!(part, Part::Hour | Part::Minute | Part::Second);
    if tick == Tick::Day && within_day {
        return None;
    }
    let table = match zone_of(dtype) {
        Some(zone) => Some(zone_table(lowering, zone)?),
        None => None,
    };
    Some(lowering.expr(of).map(|of| {
        let of = match table {
            Some(table) => lowering.graph.add(Op::ToLocal(table, tick), &[of], TICKS),
            None => of,
        };
        let found = lowering.graph.add(Op::DatePart(part, tick), &[of], DeviceType::Number(Scalar::I32));
        lowering.graph.add(Op::Convert(OverflowPolicy::Error), &[found], kind)
    }))
}
