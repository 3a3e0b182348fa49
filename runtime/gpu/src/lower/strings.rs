//! Lowers expressions over string columns stored as bytes, for columns with too large a dictionary for a lookup table.
//! A kernel computes them from the string of each row. Other columns use the dictionary (`lower.rs`).

use std::any::Any;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CaseExpr, CastExpr, Column, LikeExpr, Literal, TryCastExpr};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_expr::scalar_udf::is_ours;
use onrush_kernels::Scalar;
use onrush_ops::{Comparison, DeviceType, Lookup, NodeId, Op, OverflowPolicy, StringOp, kind_of};

use super::{Lowering, calendar, lists, literal_of};
use crate::cpu_reason::CpuReason;
use crate::regex_dfa::{self, Like, Search};
use crate::{arithmetic, powers_of_ten};

const LONG: DeviceType = DeviceType::Number(Scalar::I64);

pub fn is_text(dtype: &DataType) -> bool {
    kind_of(dtype) == Some(DeviceType::DictIndex)
}

fn of(lowering: &mut Lowering, op: StringOp, args: &[NodeId], kind: DeviceType) -> NodeId {
    lowering.graph.add(Op::Str(op), args, kind)
}

fn table(lowering: &mut Lowering, lookup: Lookup) -> u32 {
    let same = lowering.lookups.iter().position(|known| match (known, &lookup) {
        (Lookup::Constant(a), Lookup::Constant(b)) => Arc::ptr_eq(a, b),
        _ => false,
    });
    same.unwrap_or_else(|| {
        lowering.lookups.push(lookup);
        lowering.lookups.len() - 1
    }) as u32
}

fn literal_text(expr: &Arc<dyn PhysicalExpr>) -> Option<&str> {
    literal_of(expr)?.try_as_str().flatten()
}

pub fn literal(lowering: &mut Lowering, text: &str) -> NodeId {
    let table = table(lowering, Lookup::text(text));
    of(lowering, StringOp::Literal(table), &[], DeviceType::String)
}

/// A string that lies in memory. A computed string exists only where it is written, so that no function can read it.
pub fn piece(lowering: &mut Lowering, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
    let id = text(lowering, expr)?;
    match lowering.graph.node(id).op {
        Op::Str(op) if op.is_computed() => {
            lowering.requests.text(expr);
            Err(CpuReason::feature(format!("a function of the computed string `{expr}`")))
        }
        _ => Ok(id),
    }
}

/// Lowers a future column: a string as bytes, or the dictionary index of a list element.
pub fn column(lowering: &mut Lowering, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
    match is_text(&lowering.dtype(expr)?) && !lists::is_element(lowering, expr) {
        true => text(lowering, expr),
        false => lowering.expr(expr),
    }
}

/// A text as bytes.
pub fn text(lowering: &mut Lowering, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
    let any: &dyn Any = expr.as_ref();
    if let Some(column) = lowering.materialised(expr).or_else(|| any.downcast_ref::<Column>().map(Column::index)) {
        return lowering.column_as(column, true);
    }
    if let Some(value) = any.downcast_ref::<Literal>() {
        return Ok(match value.value().try_as_str() {
            Some(Some(text)) => literal(lowering, text),
            _ if value.value().is_null() => lowering.graph.null(DeviceType::String),
            _ => return Err(CpuReason::NotA { expression: expr.to_string(), expected: "a string" }),
        });
    }
    let cast = any.downcast_ref::<CastExpr>().map(|cast| (cast.expr(), cast.cast_type()));
    let tried = any.downcast_ref::<TryCastExpr>().map(|cast| (cast.expr(), cast.cast_type()));
    if let Some((inner, _)) = cast.or(tried).filter(|(_, to)| is_text(to)) {
        let from = lowering.dtype(inner)?;
        return if is_text(&from) { text(lowering, inner) } else { written(lowering, inner, &from) };
    }
    if let Some(binary) = any.downcast_ref::<BinaryExpr>()
        && *binary.op() == Operator::StringConcat
    {
        let parts = [text(lowering, binary.left())?, text(lowering, binary.right())?];
        return Ok(of(lowering, StringOp::Concat, &parts, DeviceType::String));
    }
    if let Some(case) = any.downcast_ref::<CaseExpr>() {
        return lowering.case(case, expr, true);
    }
    if lists::is_element(lowering, expr) {
        // The element is a dictionary index. An earlier stage makes it a column, which has both representations.
        lowering.requests.text(expr);
        return Err(CpuReason::feature(format!("a function of the list element `{expr}`")));
    }
    if let Some(function) = any.downcast_ref::<ScalarFunctionExpr>() {
        return materialised(lowering, function);
    }
    Err(CpuReason::Expression(expr.to_string()))
}

/// A value as a text.
fn written(lowering: &mut Lowering, expr: &Arc<dyn PhysicalExpr>, from: &DataType) -> Result<NodeId, CpuReason> {
    let op = match from {
        DataType::Boolean => {
            let (yes, no) = (literal(lowering, "true"), literal(lowering, "false"));
            let value = lowering.boolean(expr)?;
            let null = lowering.graph.null(DeviceType::String);
            let text = lowering.graph.add(Op::IfElse, &[value, yes, no], DeviceType::String);
            let absent = lowering.graph.add(Op::IsNull, &[value], DeviceType::Bool);
            return Ok(lowering.graph.add(Op::IfElse, &[absent, null, text], DeviceType::String));
        }
        from if from.is_integer() => StringOp::FormatInt,
        DataType::Float32 | DataType::Float64 => StringOp::FormatFloat(table(lowering, powers_of_ten::of_ten())),
        DataType::Decimal128(_, scale) if *scale >= 0 => StringOp::FormatDecimal(u32::from(scale.unsigned_abs())),
        DataType::Date32 => StringOp::FormatDate,
        DataType::Timestamp(unit, None) => StringOp::FormatTimestamp(arithmetic::tick(*unit)),
        _ => return Err(CpuReason::Cast { from: from.clone(), to: DataType::Utf8 }),
    };
    let value = lowering.expr(expr)?;
    Ok(of(lowering, op, &[value], DeviceType::String))
}

/// Lowers an integer expression to 64 bits.
fn number(lowering: &mut Lowering, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
    if !lowering.dtype(expr)?.is_integer() {
        return Err(CpuReason::NotA { expression: expr.to_string(), expected: "an integer" });
    }
    let id = lowering.expr(expr)?;
    Ok(match lowering.graph.kind(id) {
        LONG => id,
        _ => lowering.graph.add(Op::Convert(OverflowPolicy::Error), &[id], LONG),
    })
}

fn is_negative(expr: &Arc<dyn PhysicalExpr>) -> Option<bool> {
    match literal_of(expr)? {
        ScalarValue::Int64(Some(v)) => Some(*v < 0),
        ScalarValue::Int32(Some(v)) => Some(*v < 0),
        ScalarValue::UInt64(Some(_)) => Some(false),
        _ => None,
    }
}

/// A set of ASCII characters, or white space.
fn set(characters: Option<&str>) -> Option<Lookup> {
    let mut words = [0_u64; 3];
    match characters {
        None => words[2] = 1,
        Some(characters) => {
            for c in characters.chars() {
                let code = u32::from(c);
                *words.get_mut(code as usize / 64).filter(|_| code < 128)? |= 1 << (code % 64);
            }
        }
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Some(Lookup::constant(&bytes))
}

/// The other case of all characters, in the form of `cuda/strings.cuh`, from Rust's tables.
fn case_table(upper: bool) -> Lookup {
    const SEVERAL: u32 = 1 << 31;
    let mut entries: Vec<u32> = Vec::new();
    let mut several: Vec<u32> = Vec::new();
    let mut last = 0;
    for code in 0..=u32::from(char::MAX) {
        let mut other = [0; 3];
        let Some(c) = char::from_u32(code) else {
            entries.push(code);
            continue;
        };
        match upper {
            true => c.to_uppercase().zip(&mut other).for_each(|(c, to)| *to = c.into()),
            false => c.to_lowercase().zip(&mut other).for_each(|(c, to)| *to = c.into()),
        }
        let entry = match other {
            // At the end of a word it is another letter.
            _ if c == 'Σ' && !upper => u32::MAX,
            [one, 0, 0] => one,
            _ => {
                several.extend(other);
                SEVERAL | (several.len() as u32 / 3 - 1)
            }
        };
        if entry != code {
            last = code + 1;
        }
        entries.push(entry);
    }
    entries.truncate(last as usize);
    let words = [last, u32::from(upper)].into_iter().chain(entries).chain(several);
    Lookup::constant(&words.flat_map(u32::to_le_bytes).collect::<Vec<_>>())
}

static UPPER: LazyLock<Lookup> = LazyLock::new(|| case_table(true));
static LOWER: LazyLock<Lookup> = LazyLock::new(|| case_table(false));

/// The text that a function gives.
fn materialised(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Result<NodeId, CpuReason> {
    let (name, args) = (function.name(), function.args());
    let refused = || CpuReason::Function(name.to_string());
    let ours = is_ours(function.fun());
    Ok(match (name, args) {
        ("upper" | "to_uppercase" | "lower" | "to_lowercase", [arg]) => {
            let case = if name.ends_with("lower") || name.ends_with("lowercase") { &LOWER } else { &UPPER };
            let arg = piece(lowering, arg)?;
            let case = table(lowering, (*case).clone());
            of(lowering, StringOp::Case(case), &[arg], DeviceType::String)
        }
        ("substr" | "substring", [arg, start]) => {
            let args = [piece(lowering, arg)?, number(lowering, start)?];
            of(lowering, StringOp::Substring, &args, DeviceType::String)
        }
        // A count below zero is an error.
        ("substr" | "substring", [arg, start, count]) if is_negative(count) == Some(false) => {
            let args = [piece(lowering, arg)?, number(lowering, start)?, number(lowering, count)?];
            of(lowering, StringOp::Substring, &args, DeviceType::String)
        }
        ("slice", [arg, start, count]) if ours => {
            let args = [piece(lowering, arg)?, number(lowering, start)?, number(lowering, count)?];
            of(lowering, StringOp::Slice, &args, DeviceType::String)
        }
        ("to_string", [_, _]) if ours => calendar::written(lowering, function)?,
        ("left" | "right", [arg, count]) => {
            let args = [piece(lowering, arg)?, number(lowering, count)?];
            let op = if name == "left" { StringOp::Left } else { StringOp::Right };
            of(lowering, op, &args, DeviceType::String)
        }
        ("btrim" | "trim" | "ltrim" | "rtrim" | "strip_chars" | "strip_chars_start" | "strip_chars_end", [arg, ..]) => {
            let characters = match (&args[1..], name.starts_with("strip")) {
                ([], true) => None,
                ([], false) => Some(" "),
                ([characters], _) => Some(literal_text(characters).ok_or_else(refused)?),
                _ => return Err(refused()),
            };
            let start = !matches!(name, "rtrim" | "strip_chars_end");
            let end = !matches!(name, "ltrim" | "strip_chars_start");
            let arg = piece(lowering, arg)?;
            let set = table(lowering, set(characters).ok_or_else(refused)?);
            of(lowering, StringOp::Trim { set, start, end }, &[arg], DeviceType::String)
        }
        ("split_part", [arg, by, part]) if literal_text(by).is_some_and(|by| is_part(by, part)) => {
            let args = [piece(lowering, arg)?, piece(lowering, by)?, number(lowering, part)?];
            of(lowering, StringOp::SplitPart, &args, DeviceType::String)
        }
        ("replace", [arg, what, with]) if !ours && literal_text(what).is_some_and(|what| !what.is_empty()) => {
            let args = [piece(lowering, arg)?, piece(lowering, what)?, piece(lowering, with)?];
            of(lowering, StringOp::Replace, &args, DeviceType::String)
        }
        ("reverse", [arg]) => {
            let arg = piece(lowering, arg)?;
            of(lowering, StringOp::Reverse, &[arg], DeviceType::String)
        }
        ("repeat", [arg, count]) if !ours => {
            let args = [piece(lowering, arg)?, number(lowering, count)?];
            of(lowering, StringOp::Repeat, &args, DeviceType::String)
        }
        ("lpad" | "rpad", [arg, chars, ..]) if !ours && args.len() <= 3 => {
            let (arg, chars) = (piece(lowering, arg)?, number(lowering, chars)?);
            let with = match args.get(2) {
                Some(with) => piece(lowering, with)?,
                None => literal(lowering, " "),
            };
            of(lowering, StringOp::Pad { left: name == "lpad" }, &[arg, chars, with], DeviceType::String)
        }
        // Patterns that say what they mean.
        ("replace_all" | "replace_all_literal", [arg, what, with]) if ours => {
            let (pattern, by) = (literal_text(what).ok_or_else(refused)?, literal_text(with).ok_or_else(refused)?);
            let plain = if name == "replace_all" { pattern.to_string() } else { unescaped(pattern) };
            if plain.is_empty() || regex::escape(&plain) != pattern || (name == "replace_all" && by.contains('$')) {
                return Err(refused());
            }
            let args = [piece(lowering, arg)?, literal(lowering, &plain), piece(lowering, with)?];
            of(lowering, StringOp::Replace, &args, DeviceType::String)
        }
        ("concat", [_, ..]) => {
            // Nulls are empty.
            let empty = literal(lowering, "");
            let mut parts = Vec::new();
            for arg in args {
                let part = piece(lowering, arg)?;
                parts.push(lowering.graph.add(Op::Coalesce, &[part, empty], DeviceType::String));
            }
            of(lowering, StringOp::Concat, &parts, DeviceType::String)
        }
        ("coalesce", [_, ..]) => {
            let ids = args.iter().map(|arg| piece(lowering, arg)).collect::<Result<Vec<_>, _>>()?;
            let last = ids.iter().rev().copied();
            let chosen =
                last.reduce(|later, earlier| lowering.graph.add(Op::Coalesce, &[earlier, later], DeviceType::String));
            chosen.ok_or_else(refused)?
        }
        ("nullif", [a, b]) => {
            let (a, b) = (piece(lowering, a)?, piece(lowering, b)?);
            let same = lowering.graph.add(Op::Compare(Comparison::Equal), &[a, b], DeviceType::Bool);
            let null = lowering.graph.null(DeviceType::String);
            lowering.graph.add(Op::IfElse, &[same, null, a], DeviceType::String)
        }
        _ => return Err(refused()),
    })
}

/// Part 0 is an error. From the end, where separators can overlap, others are found than from the start.
fn is_part(by: &str, part: &Arc<dyn PhysicalExpr>) -> bool {
    let overlaps = (1..by.len()).any(|length| by.as_bytes().starts_with(&by.as_bytes()[by.len() - length..]));
    match literal_of(part) {
        Some(ScalarValue::Int64(Some(part))) if *part < 0 => *part > i64::MIN && !by.is_empty() && !overlaps,
        Some(ScalarValue::Int64(Some(part))) => *part > 0 && !by.is_empty(),
        _ => false,
    }
}

/// The argument of `regex::escape`.
fn unescaped(pattern: &str) -> String {
    let mut characters = pattern.chars();
    let next = || match characters.next()? {
        '\\' => characters.next(),
        c => Some(c),
    };
    std::iter::from_fn(next).collect()
}

/// Lowers a function of strings that returns a number or a boolean.
pub fn call(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Result<NodeId, CpuReason> {
    let (name, args) = (function.name(), function.args());
    let refused = || CpuReason::Function(name.to_string());
    if is_text(function.return_type()) {
        return materialised(lowering, function);
    }
    let kind = kind_of(function.return_type()).ok_or_else(refused)?;
    match (name, args) {
        ("character_length" | "char_length" | "length" | "len", [arg]) if is_text(&lowering.dtype(arg)?) => {
            let arg = piece(lowering, arg)?;
            Ok(of(lowering, StringOp::CharLength, &[arg], kind))
        }
        ("octet_length" | "len_bytes", [arg]) if is_text(&lowering.dtype(arg)?) => {
            let arg = piece(lowering, arg)?;
            Ok(of(lowering, StringOp::ByteLength, &[arg], kind))
        }
        ("starts_with" | "ends_with" | "contains" | "strpos" | "instr" | "position", [arg, what]) => {
            if !is_text(&lowering.dtype(arg)?) || !is_text(&lowering.dtype(what)?) {
                return Err(refused());
            }
            let op = match name {
                "starts_with" => StringOp::StartsWith,
                "ends_with" => StringOp::EndsWith,
                "contains" => StringOp::Contains,
                _ => StringOp::Position,
            };
            let args = [piece(lowering, arg)?, piece(lowering, what)?];
            Ok(of(lowering, op, &args, kind))
        }
        ("regexp_count" | "count_matches", [arg, pattern, ..]) => {
            // From the first character on, and with flags for the pattern.
            let flags = match (name, &args[2..]) {
                (_, []) => "",
                ("regexp_count", [start, flags @ ..])
                    if matches!(literal_of(start), Some(ScalarValue::Int64(Some(1)))) =>
                {
                    flags.first().map_or(Some(""), literal_text).ok_or_else(refused)?
                }
                _ => return Err(refused()),
            };
            let pattern = literal_text(pattern).ok_or_else(refused)?;
            let pattern = if flags.is_empty() { pattern.to_string() } else { format!("(?{flags}){pattern}") };
            let arg = piece(lowering, arg)?;
            let automaton = table(lowering, regex_dfa::automaton(&pattern, Search::Each)?);
            Ok(of(lowering, StringOp::Count(automaton), &[arg], kind))
        }
        _ => Err(refused()),
    }
}

fn negated(lowering: &mut Lowering, id: NodeId, not: bool) -> NodeId {
    if not { lowering.graph.add(Op::Not, &[id], DeviceType::Bool) } else { id }
}

pub fn like(lowering: &mut Lowering, like: &LikeExpr) -> Result<NodeId, CpuReason> {
    let Some(pattern) = literal_text(like.pattern()) else {
        return Err(CpuReason::feature("LIKE with a pattern from a column"));
    };
    let text = piece(lowering, like.expr())?;
    if like.case_insensitive() {
        let automaton =
            table(lowering, regex_dfa::automaton(&format!("(?i){}", regex_dfa::regex_of(pattern)), Search::Any)?);
        let id = of(lowering, StringOp::Matches(automaton), &[text], DeviceType::Bool);
        return Ok(negated(lowering, id, like.negated()));
    }
    let (op, part) = match Like::of(pattern) {
        Like::Equal(part) => (None, part),
        Like::Starts(part) => (Some(StringOp::StartsWith), part),
        Like::Ends(part) => (Some(StringOp::EndsWith), part),
        Like::Contains(part) => (Some(StringOp::Contains), part),
        Like::Pattern(pattern) => {
            let automaton = table(lowering, regex_dfa::automaton(&pattern, Search::Any)?);
            let id = of(lowering, StringOp::Matches(automaton), &[text], DeviceType::Bool);
            return Ok(negated(lowering, id, like.negated()));
        }
    };
    let part = literal(lowering, &part);
    let id = match op {
        Some(op) => of(lowering, op, &[text, part], DeviceType::Bool),
        None => lowering.graph.add(Op::Compare(Comparison::Equal), &[text, part], DeviceType::Bool),
    };
    Ok(negated(lowering, id, like.negated()))
}

/// `~` and its relatives.
pub fn regex(lowering: &mut Lowering, binary: &BinaryExpr) -> Result<Option<NodeId>, CpuReason> {
    let (not, fold) = match binary.op() {
        Operator::RegexMatch => (false, false),
        Operator::RegexIMatch => (false, true),
        Operator::RegexNotMatch => (true, false),
        Operator::RegexNotIMatch => (true, true),
        _ => return Ok(None),
    };
    let pattern = literal_text(binary.right()).ok_or(CpuReason::feature("a pattern from a column"))?;
    let pattern = if fold { format!("(?i){pattern}") } else { pattern.to_string() };
    let text = piece(lowering, binary.left())?;
    let automaton = table(lowering, regex_dfa::automaton(&pattern, Search::Any)?);
    let id = of(lowering, StringOp::Matches(automaton), &[text], DeviceType::Bool);
    Ok(Some(negated(lowering, id, not)))
}

/// Parses a string as a signed integer, a float, a date or a timestamp.
pub fn parsed(
    lowering: &mut Lowering,
    arg: &Arc<dyn PhysicalExpr>,
    to: &DataType,
    misfit: OverflowPolicy,
) -> Result<NodeId, CpuReason> {
    let op = match to {
        to if to.is_signed_integer() => Some(StringOp::ParseInt(misfit)),
        DataType::Float64 | DataType::Date32 => Some(StringOp::Parse(misfit)),
        DataType::Timestamp(unit, None) => Some(StringOp::ParseTimestamp(misfit, arithmetic::tick(*unit))),
        _ => None,
    };
    let (op, kind) = op.zip(kind_of(to)).ok_or_else(|| CpuReason::Cast { from: DataType::Utf8, to: to.clone() })?;
    let arg = piece(lowering, arg)?;
    Ok(of(lowering, op, &[arg], kind))
}

/// Whether an expression is a cast of one text type to another one.
pub fn same_text(lowering: &Lowering, expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let any: &dyn Any = expr.as_ref();
    let (inner, to) = match (any.downcast_ref::<CastExpr>(), any.downcast_ref::<TryCastExpr>()) {
        (Some(cast), _) => (cast.expr(), cast.cast_type()),
        (_, Some(cast)) => (cast.expr(), cast.cast_type()),
        _ => return None,
    };
    (is_text(to) && is_text(&lowering.dtype(inner).ok()?)).then(|| Arc::clone(inner))
}
