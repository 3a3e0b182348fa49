//! `printf` with C's conversions and `format` with those of the fmt library: values into the places of a pattern.
//!
//! <https://fmt.dev/latest/syntax/> and `printf(3)`; numbers that DuckDB formats so are formatted so.

use arrow::array::{Array, ArrayRef, AsArray, Decimal128Array};
use arrow::datatypes::{DataType, Decimal128Type};
use datafusion::error::Result;
use datafusion::logical_expr::ScalarUDF;
use onrush_expr::scalar_udf::{kernel_by_types, strict};
use onrush_expr::type_coercion;

use super::{at, floats_of, invalid, strings_of, takes, text, to_strings, varchar};

pub fn functions() -> Vec<ScalarUDF> {
    vec![
        kernel_by_types("printf", text, |args| filled("printf", args)),
        kernel_by_types("format", text, |args| filled("format", args)),
    ]
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Integer(i128),
    Float(f64),
    Text(String),
}

const HUGE: DataType = DataType::Decimal128(38, 0);

enum Column {
    Integers(Decimal128Array),
    Floats(arrow::array::Float64Array),
    Others(ArrayRef),
}

impl Column {
    fn of(values: &ArrayRef) -> Result<Column> {
        Ok(match values.data_type() {
            // `HUGEINT` is a decimal here.
            t if t.is_integer() || t.is_null() || *t == HUGE => {
                Column::Integers(strict(values, &HUGE)?.as_primitive::<Decimal128Type>().clone())
            }
            t if t.is_floating() || type_coercion::is_decimal(t) => Column::Floats(floats_of(values)?),
            _ => Column::Others(std::sync::Arc::clone(values)),
        })
    }

    fn value(&self, row: usize) -> Result<Option<Value>> {
        Ok(match self {
            Column::Integers(values) => values.is_valid(row).then(|| Value::Integer(values.value(row))),
            Column::Floats(values) => values.is_valid(row).then(|| Value::Float(values.value(row))),
            Column::Others(values) => match values.is_valid(row) {
                true => Some(Value::Text(varchar::shown(values, row)?)),
                false => None,
            },
        })
    }
}

fn filled(name: &str, args: &[ArrayRef]) -> Result<ArrayRef> {
    takes(name, args, 1, usize::MAX)?;
    let patterns = strings_of(&args[0])?;
    let columns = args[1..].iter().map(Column::of).collect::<Result<Vec<_>>>()?;
    to_strings(patterns.len(), |row| {
        let Some(pattern) = at(&patterns, row) else { return Ok(None) };
        let values = columns.iter().map(|column| column.value(row)).collect::<Result<Option<Vec<_>>>>()?;
        let Some(values) = values else { return Ok(None) };
        let filled = if name == "printf" { c_style(pattern, &values) } else { braces(pattern, &values) };
        match filled {
            Ok(text) => Ok(Some(text)),
            Err(message) => invalid(format!("`{name}('{pattern}', ...)`: {message}")),
        }
    })
}

/// How a value is written.
#[derive(Clone, Debug, Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    thousands: Option<char>,
    kind: Option<char>,
}

/// More than this is a mistake in a pattern, and would take memory.
const WIDEST: usize = 10_000;

fn number(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<usize> {
    let mut value: Option<usize> = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        value = Some((value.unwrap_or(0) * 10 + digit as usize).min(WIDEST));
        chars.next();
    }
    value
}

/// A pattern of `printf` with its values. `Err` says what is wrong.
pub fn c_style(pattern: &str, values: &[Value]) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    let mut next = 0;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            out.push('%');
            continue;
        }
        let mut spec = Spec { align: Some('>'), ..Spec::default() };
        // `%1$s` names its argument.
        let mut ahead = chars.clone();
        if let (Some(place @ 1..), Some('$')) = (number(&mut ahead), ahead.next()) {
            next = place - 1;
            chars = ahead;
        }
        loop {
            match chars.peek() {
                Some('-') => spec.align = Some('<'),
                Some('0') => spec.zeros = true,
                Some('+') => spec.sign = Some('+'),
                Some(' ') => spec.sign = spec.sign.or(Some(' ')),
                Some('#') => spec.alternate = true,
                Some(mark @ (',' | '\'' | '_')) => spec.thousands = Some(*mark),
                _ => break,
            }
            chars.next();
        }
        spec.width = number(&mut chars).unwrap_or(0);
        if chars.peek() == Some(&'.') {
            chars.next();
            // `%.d` separates thousands by points.
            match number(&mut chars) {
                None if matches!(chars.peek(), Some('d' | 'i' | 'u')) => spec.thousands = Some('.'),
                precision => spec.precision = Some(precision.unwrap_or(0)),
            }
        }
        while matches!(chars.peek(), Some('l' | 'h' | 'j' | 'z' | 't' | 'L')) {
            chars.next();
        }
        let Some(kind) = chars.next() else { return Err("the pattern ends after `%`".to_string()) };
        spec.kind = Some(if matches!(kind, 'i' | 'u') { 'd' } else { kind });
        let Some(value) = values.get(next) else {
            return Err(format!("there are {} values, and the pattern has more places", values.len()));
        };
        next += 1;
        out.push_str(&written(value, &spec)?);
    }
    Ok(out)
}

/// A pattern of `format` with its values. `Err` says what is wrong.
pub fn braces(pattern: &str, values: &[Value]) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = pattern.chars().peekable();
    let mut next = 0;
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('{', Some('{')) | ('}', Some('}')) => {
                chars.next();
                out.push(c);
            }
            ('{', _) => {
                let mut inside = String::new();
                loop {
                    match chars.next() {
                        Some('}') => break,
                        Some(c) => inside.push(c),
                        None => return Err("a `{` is not closed".to_string()),
                    }
                }
                let (place, spec) = inside.split_once(':').unwrap_or((&inside, ""));
                let index = match place {
                    "" => {
                        next += 1;
                        next - 1
                    }
                    place => place.parse().map_err(|_| format!("`{place}` is not the number of a value"))?,
                };
                let Some(value) = values.get(index) else {
                    return Err(format!("there are {} values, and the pattern asks for number {index}", values.len()));
                };
                out.push_str(&written(value, &spec_of(spec)?)?);
            }
            ('}', _) => return Err("a `}` without a `{`; write `}}`".to_string()),
            (c, _) => out.push(c),
        }
    }
    Ok(out)
}

/// `[[fill]align][sign][#][0][width][,][.precision][type]`
fn spec_of(text: &str) -> Result<Spec, String> {
    let mut spec = Spec::default();
    let mut chars = text.chars().peekable();
    let all: Vec<char> = text.chars().collect();
    let is_align = |c: &char| matches!(c, '<' | '>' | '^');
    if all.get(1).is_some_and(is_align) {
        spec.fill = chars.next();
        spec.align = chars.next();
    } else if all.first().is_some_and(is_align) {
        spec.align = chars.next();
    }
    if let Some(sign @ ('+' | '-' | ' ')) = chars.peek().copied() {
        spec.sign = Some(sign);
        chars.next();
    }
    if chars.peek() == Some(&'#') {
        spec.alternate = true;
        chars.next();
    }
    if chars.peek() == Some(&'0') {
        spec.zeros = true;
        chars.next();
    }
    spec.width = number(&mut chars).unwrap_or(0);
    match chars.peek().copied() {
        Some('t') => {
            chars.next();
            spec.thousands = chars.next();
        }
        Some(mark @ (',' | '_' | '\'')) => {
            spec.thousands = Some(mark);
            chars.next();
        }
        _ => {}
    }
    if chars.peek() == Some(&'.') {
        chars.next();
        spec.precision = Some(number(&mut chars).ok_or("a precision has digits")?);
    }
    spec.kind = chars.next();
    match chars.next() {
        None => Ok(spec),
        Some(c) => Err(format!("`{c}` is not understood in `{{:{text}}}`")),
    }
}

fn written(value: &Value, spec: &Spec) -> Result<String, String> {
    let wrong = |what: &str| Err(format!("`{}` does not write {what}", spec.kind.unwrap_or_default()));
    let (sign, prefix, digits, is_number) = match (value, spec.kind) {
        (Value::Integer(v), None | Some('d' | 'x' | 'X' | 'o' | 'b' | 'B')) => {
            let (sign, size) = (sign_of(*v < 0, spec), v.unsigned_abs());
            let (prefix, digits) = match spec.kind {
                Some('x') => ("0x", format!("{size:x}")),
                Some('X') => ("0X", format!("{size:X}")),
                Some('o') => ("0", format!("{size:o}")),
                Some('b' | 'B') => ("0b", format!("{size:b}")),
                _ => ("", whole(size, spec)),
            };
            (sign, if spec.alternate { prefix } else { "" }, digits, true)
        }
        (Value::Integer(v), Some('c')) => {
            let c = u32::try_from(*v).ok().and_then(char::from_u32);
            (String::new(), "", c.map(String::from).unwrap_or_default(), false)
        }
        (Value::Integer(v), Some('s')) => {
            let sign = if *v < 0 { "-" } else { "" };
            (sign.to_string(), "", grouped(&v.unsigned_abs().to_string(), spec.thousands), false)
        }
        // With a mark for thousands, integers stay what they are.
        (Value::Integer(v), Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A')) if spec.thousands.is_some() => {
            (sign_of(*v < 0, spec), "", whole(v.unsigned_abs(), spec), true)
        }
        (Value::Integer(v), Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A')) => {
            (sign_of(*v < 0, spec), "", float((*v as f64).abs(), spec), true)
        }
        (Value::Float(v), Some('d')) if v.is_finite() => {
            let whole = v.trunc();
            (sign_of(whole < 0.0, spec), "", grouped(&format!("{:.0}", whole.abs()), spec.thousands), true)
        }
        (Value::Float(v), None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | 's')) => {
            (sign_of(v.is_sign_negative() && !v.is_nan(), spec), "", float(v.abs(), spec), v.is_finite())
        }
        (Value::Text(v), None | Some('s')) => {
            let cut = spec.precision.map_or_else(|| v.clone(), |most| v.chars().take(most).collect());
            (String::new(), "", cut, false)
        }
        (Value::Integer(_), _) => return wrong("an integer"),
        (Value::Float(_), _) => return wrong("a float"),
        (Value::Text(_), _) => return wrong("a string"),
    };
    let length = sign.chars().count() + prefix.len() + digits.chars().count();
    let missing = spec.width.saturating_sub(length);
    if spec.zeros && is_number && spec.align != Some('<') {
        return Ok(format!("{sign}{prefix}{}{digits}", "0".repeat(missing)));
    }
    let fill = |count: usize| spec.fill.unwrap_or(' ').to_string().repeat(count);
    let before = match spec.align {
        Some('<') => 0,
        Some('^') => missing / 2,
        Some(_) => missing,
        None => {
            if matches!(value, Value::Text(_)) {
                0
            } else {
                missing
            }
        }
    };
    Ok(format!("{}{sign}{prefix}{digits}{}", fill(before), fill(missing - before)))
}

fn sign_of(negative: bool, spec: &Spec) -> String {
    match (negative, spec.sign) {
        (true, _) => "-".to_string(),
        (false, Some(sign @ ('+' | ' '))) => sign.to_string(),
        (false, _) => String::new(),
    }
}

/// The digits of an integer, marks for thousands included, with zeros before it up to the precision.
fn whole(size: u128, spec: &Spec) -> String {
    let digits = grouped(&size.to_string(), spec.thousands);
    format!("{digits:0>0$}", spec.precision.unwrap_or(0))
}

/// Digits with a mark between each three.
fn grouped(digits: &str, mark: Option<char>) -> String {
    let Some(mark) = mark else { return digits.to_string() };
    let (whole, part) = digits.find('.').map_or((digits, ""), |at| digits.split_at(at));
    let mut out = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(mark);
        }
        out.push(digit);
    }
    out + part
}

/// A float that is not negative.
fn float(value: f64, spec: &Spec) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "nan" } else { "inf" }.to_string();
    }
    let upper =
        |text: String| if spec.kind.is_some_and(|k| k.is_ascii_uppercase()) { text.to_uppercase() } else { text };
    match spec.kind {
        Some('f' | 'F') => grouped(&format!("{value:.*}", spec.precision.unwrap_or(6)), spec.thousands),
        Some('e' | 'E') => upper(scientific(value, spec.precision.unwrap_or(6))),
        Some('g' | 'G') => upper(general(value, spec.precision.unwrap_or(6).max(1), spec.alternate)),
        None if let Some(precision) = spec.precision => pointed(value, precision.max(1)),
        _ if spec.precision.is_some() => general(value, spec.precision.unwrap_or(6).max(1), spec.alternate),
        // The shortest form that is the same number.
        _ => grouped(&shortest(value), spec.thousands),
    }
}

/// A float as `cast(x as varchar)` writes it. `single` is the value that a 32-bit float is read as.
pub fn float_text(value: f64, single: Option<f64>) -> String {
    let shown = single.unwrap_or(value);
    match value {
        v if v.is_nan() => "nan".to_string(),
        v if v.is_infinite() => if v > 0.0 { "inf" } else { "-inf" }.to_string(),
        _ => format!("{}{}", if value.is_sign_negative() { "-" } else { "" }, shortest(shown.abs())),
    }
}

fn shortest(value: f64) -> String {
    match value != 0.0 && !(1e-4..1e16).contains(&value) {
        true => {
            let text = format!("{value:e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{mantissa}e{}", signed_exponent(exponent.parse().unwrap_or(0)))
        }
        false => format!("{value:?}"),
    }
}

fn signed_exponent(exponent: i32) -> String {
    format!("{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}e{}", signed_exponent(exponent.parse().unwrap_or(0)))
}

/// The fmt library's form of a float without a type: as C's `%g` with all digits, and one behind the point at least.
/// Below 1 there are no zeros at the end.
fn pointed(value: f64, precision: usize) -> String {
    let whole = precision as i32;
    match exponent(value, precision) {
        power if power < -4 || power >= whole => scientific(value, precision - 1),
        power if power < 0 => general(value, precision, false),
        power => match format!("{value:.*}", (whole - 1 - power) as usize) {
            text if text.contains('.') => text,
            text => text + ".0",
        },
    }
}

/// The power of ten of the first digit, after rounding to a number of digits.
fn exponent(value: f64, precision: usize) -> i32 {
    if value == 0.0 {
        return 0;
    }
    let text = format!("{value:.*e}", precision - 1);
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0)
}

/// C's `%g`: as many digits that count, without zeros at the end.
fn general(value: f64, precision: usize, alternate: bool) -> String {
    let exponent = exponent(value, precision);
    let text = match exponent < -4 || exponent >= precision as i32 {
        true => scientific(value, precision - 1),
        false => format!("{value:.*}", (precision as i32 - 1 - exponent).max(0) as usize),
    };
    if alternate || !text.contains('.') {
        return text;
    }
    let (mantissa, rest) = text.find('e').map_or((text.as_str(), ""), |at| text.split_at(at));
    format!("{}{rest}", mantissa.trim_end_matches('0').trim_end_matches('.'))
}
