//! Functions of numbers, types and any value: bits, even numbers, hashes, `typeof`.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, Decimal128Array, Float32Array, Float64Array, Int64Array, StringViewArray, UInt64Array,
};
use arrow::datatypes::{DataType, Decimal128Type, Float32Type, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::common::hash_utils::{RandomState, create_hashes};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, ScalarUDF};
use onrush_expr::scalar_udf::{Body, kernel, kernel_by_types, strict};

use super::{at, float, floats_of, integer, integers_of, invalid, number_at, strings_of, takes, text, to_strings};

pub fn functions() -> Vec<ScalarUDF> {
    vec![
        kernel_by_types("hash", |_| Ok(DataType::UInt64), hash),
        kernel_by_types("typeof", text, type_names),
        kernel_by_types("to_blob", |_| Ok(DataType::Binary), |args| blob(args, true)),
        kernel_by_types("try_to_blob", |_| Ok(DataType::Binary), |args| blob(args, false)),
        kernel_by_types("to_uuid", text, |args| uuid(args, true)),
        kernel_by_types("try_to_uuid", text, |args| uuid(args, false)),
        kernel_by_types("bit_count", integer, bits),
        kernel_by_types("even", float, |args| of_floats("even", args, even)),
        kernel_by_types("gamma", float, |args| of_floats("gamma", args, gamma)),
        kernel_by_types("lgamma", float, |args| of_floats("lgamma", args, libm::lgamma)),
        kernel_by_types("nextafter", next_type, next_after),
        kernel_by_types("xor", integer, |args| {
            takes("xor", args, 2, 2)?;
            let (a, b) = (integers_of(&args[0])?, integers_of(&args[1])?);
            Ok(Arc::new((0..a.len()).map(|r| Some(number_at(&a, r)? ^ number_at(&b, r)?)).collect::<Int64Array>()))
        }),
        kernel_by_types("bit_not", integer, |args| {
            takes("~", args, 1, 1)?;
            let values = integers_of(&args[0])?;
            Ok(Arc::new((0..values.len()).map(|row| number_at(&values, row).map(|v| !v)).collect::<Int64Array>()))
        }),
        kernel_by_types("to_base", text, to_base),
        kernel_by_types("fmod", float, |args| of_two("fmod", args, floor_remainder)),
        kernel_by_types("fdiv", float, |args| of_two("fdiv", args, |a, b| (a / b).floor())),
        kernel_by_types("round_to", round_type, rounded),
    ]
}

/// A decimal as a float, correctly rounded: Arrow divides, which rounds twice for more than 15 digits.
pub fn as_double(value: Expr) -> Expr {
    let body: Body = |args| Ok(Arc::new(floats_of_decimals(&args[0])?));
    kernel("decimal_as_double", DataType::Float64, body).call(vec![value])
}

/// The float nearest to a decimal that is written, or `None` if it is none.
pub fn exact_double(value: &ScalarValue) -> Option<ScalarValue> {
    match value {
        ScalarValue::Decimal128(Some(digits), _, scale) => Some(ScalarValue::Float64(Some(nearest(*digits, *scale)))),
        _ => None,
    }
}

/// Decimals as floats, correctly rounded.
pub(super) fn floats_of_decimals(values: &ArrayRef) -> Result<Float64Array> {
    match values.data_type() {
        DataType::Decimal128(_, scale) => {
            Ok(values.as_primitive::<Decimal128Type>().unary(|digits| nearest(digits, *scale)))
        }
        _ => Ok(strict(values, &DataType::Float64)?.as_primitive::<Float64Type>().clone()),
    }
}

fn nearest(digits: i128, scale: i8) -> f64 {
    // Both are exact as floats, so that their quotient is rounded once.
    if digits.unsigned_abs() < 1 << 53 && (0..=22).contains(&scale) {
        return digits as f64 / 10_f64.powi(i32::from(scale));
    }
    // The standard library reads digits correctly rounded.
    format!("{digits}e{}", -i32::from(scale)).parse().unwrap_or(f64::NAN)
}

fn of_two(name: &str, args: &[ArrayRef], f: impl Fn(f64, f64) -> f64) -> Result<ArrayRef> {
    takes(name, args, 2, 2)?;
    let (a, b) = (floats_of(&args[0])?, floats_of(&args[1])?);
    Ok(Arc::new(a.iter().zip(b.iter()).map(|(a, b)| Some(f(a?, b?))).collect::<Float64Array>()))
}

/// The remainder of a division that rounds down: it has the sign of the divisor.
fn floor_remainder(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

fn round_type(dtypes: &[DataType]) -> Result<DataType> {
    Ok(match dtypes.first() {
        Some(decimal @ DataType::Decimal128(..)) => decimal.clone(),
        _ => DataType::Float64,
    })
}

/// Rounds to more digits than a decimal has, on either side of its point.
fn rounded(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("round", args, 2, 2)?;
    let digits = integers_of(&args[1])?;
    if matches!(args[0].data_type(), DataType::Decimal128(..)) {
        let values = args[0].as_primitive::<Decimal128Type>();
        let kept = values.iter().zip(digits.iter());
        let kept =
            kept.map(|(value, digits)| value.zip(digits).map(|(value, digits)| if digits < 0 { 0 } else { value }));
        return Ok(Arc::new(kept.collect::<Decimal128Array>().with_data_type(args[0].data_type().clone())));
    }
    let values = floats_of(&args[0])?;
    let rounded = values.iter().zip(digits.iter()).map(|(value, digits)| Some(round_to(value?, digits?)));
    Ok(Arc::new(rounded.collect::<Float64Array>()))
}

/// Halves go away from zero. Digits that no float has change nothing, and powers of ten that no float has give zero.
fn round_to(value: f64, digits: i64) -> f64 {
    let power = |digits: i64| 10_f64.powi(i32::try_from(digits).unwrap_or(i32::MAX));
    match digits {
        _ if !value.is_finite() => value,
        0.. => {
            let scaled = (value * power(digits)).round() / power(digits);
            if scaled.is_finite() { scaled } else { value }
        }
        _ => {
            let unit = power(digits.checked_neg().unwrap_or(i64::MAX));
            let scaled = (value / unit).round() * unit;
            if scaled.is_finite() { scaled } else { 0.0 }
        }
    }
}

/// A hash of all arguments. Equal values have equal hashes; the hashes are not those of DuckDB.
fn hash(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("hash", args, 1, usize::MAX)?;
    let mut hashes = vec![0_u64; args[0].len()];
    // One form of an integer, so that equal numbers of two types are equal here.
    let args: Vec<ArrayRef> = args
        .iter()
        .map(|arg| match arg.data_type() {
            t if t.is_signed_integer() => strict(arg, &DataType::Int64),
            DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => strict(arg, &DataType::Int64),
            _ => Ok(Arc::clone(arg)),
        })
        .collect::<Result<_>>()?;
    create_hashes(&args, &RandomState::with_seed(0), &mut hashes)?;
    Ok(Arc::new(UInt64Array::from(hashes)))
}

/// The name of a type in DuckDB.
pub fn type_name(dtype: &DataType) -> String {
    let name = match dtype {
        DataType::Null => "\"NULL\"",
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "UTINYINT",
        DataType::UInt16 => "USMALLINT",
        DataType::UInt32 => "UINTEGER",
        DataType::UInt64 => "UBIGINT",
        DataType::Float16 | DataType::Float32 => "FLOAT",
        DataType::Float64 => "DOUBLE",
        DataType::Decimal128(38, 0) => "HUGEINT",
        DataType::Decimal32(p, s) => return format!("DECIMAL({p},{s})"),
        DataType::Decimal64(p, s) | DataType::Decimal128(p, s) => return format!("DECIMAL({p},{s})"),
        DataType::Date32 | DataType::Date64 => "DATE",
        DataType::Time32(_) | DataType::Time64(_) => "TIME",
        DataType::Timestamp(arrow::datatypes::TimeUnit::Nanosecond, None) => "TIMESTAMP_NS",
        DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, None) => "TIMESTAMP_MS",
        DataType::Timestamp(arrow::datatypes::TimeUnit::Second, None) => "TIMESTAMP_S",
        DataType::Timestamp(_, None) => "TIMESTAMP",
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE",
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL",
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "BLOB",
        DataType::Dictionary(_, values) => return type_name(values),
        DataType::List(f) | DataType::LargeList(f) | DataType::ListView(f) => {
            return format!("{}[]", type_name(f.data_type()));
        }
        DataType::FixedSizeList(f, n) => return format!("{}[{n}]", type_name(f.data_type())),
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|f| format!("{} {}", quoted(f.name()), type_name(f.data_type())));
            return format!("STRUCT({})", fields.collect::<Vec<_>>().join(", "));
        }
        DataType::Map(entries, _) => {
            return match entries.data_type() {
                DataType::Struct(f) if f.len() == 2 => {
                    format!("MAP({}, {})", type_name(f[0].data_type()), type_name(f[1].data_type()))
                }
                _ => "MAP".to_string(),
            };
        }
        other => return other.to_string(),
    };
    name.to_string()
}

fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    if plain { name.to_string() } else { format!("\"{name}\"") }
}

/// The type is the same in each row.
fn type_names(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("typeof", args, 1, 1)?;
    let name = type_name(args[0].data_type());
    Ok(Arc::new(StringViewArray::from_iter_values(std::iter::repeat_n(name, args[0].len()))))
}

/// A string as bytes.
pub fn bytes(of: Expr) -> Expr {
    kernel("to_blob", DataType::Binary, |args| blob(args, true)).call(vec![of])
}

/// Strings as bytes: `\\x41` is the byte 65, other characters are themselves and must be ASCII.
fn blob(args: &[ArrayRef], fail: bool) -> Result<ArrayRef> {
    takes("blob", args, 1, 1)?;
    if matches!(args[0].data_type(), DataType::Binary | DataType::LargeBinary | DataType::BinaryView) {
        return strict(&args[0], &DataType::Binary);
    }
    let values = strings_of(&args[0])?;
    let mut out = arrow::array::BinaryBuilder::new();
    for row in 0..values.len() {
        let Some(value) = at(&values, row) else {
            out.append_null();
            continue;
        };
        match bytes_of(value) {
            Some(bytes) => out.append_value(bytes),
            None if fail => {
                return invalid(format!("`{value}` is not a BLOB: bytes that are not ASCII are written as `\\xAB`"));
            }
            None => out.append_null(),
        }
    }
    Ok(Arc::new(out.finish()))
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(hex) = rest.strip_prefix("\\x").and_then(|after| after.get(..2)) {
            out.push(u8::from_str_radix(hex, 16).ok()?);
            rest = &rest[4..];
            continue;
        }
        if !c.is_ascii() || c == '\\' {
            return None;
        }
        out.push(c as u8);
        rest = &rest[1..];
    }
    Some(out)
}

/// A UUID as a string of 36 characters in small letters.
fn uuid(args: &[ArrayRef], fail: bool) -> Result<ArrayRef> {
    takes("uuid", args, 1, 1)?;
    let values = strings_of(&args[0])?;
    to_strings(values.len(), |row| {
        let Some(value) = at(&values, row) else { return Ok(None) };
        let digits: String = value.chars().filter(|c| !matches!(c, '-' | '{' | '}')).collect();
        if digits.len() == 32 && digits.chars().all(|c| c.is_ascii_hexdigit()) {
            let d = digits.to_lowercase();
            return Ok(Some(format!("{}-{}-{}-{}-{}", &d[..8], &d[8..12], &d[12..16], &d[16..20], &d[20..])));
        }
        if fail { invalid(format!("`{value}` is not a UUID")) } else { Ok(None) }
    })
}

fn bits(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("bit_count", args, 1, 1)?;
    let width = args[0].data_type().primitive_width().unwrap_or(8) as u32 * 8;
    let values = integers_of(&args[0])?;
    let counted = (0..values.len()).map(|row| {
        number_at(&values, row).map(|v| {
            let word = v as u64;
            i64::from(if width < 64 { (word & ((1 << width) - 1)).count_ones() } else { word.count_ones() })
        })
    });
    Ok(Arc::new(counted.collect::<Int64Array>()))
}

fn of_floats(name: &str, args: &[ArrayRef], f: impl Fn(f64) -> f64) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    Ok(Arc::new(floats_of(&args[0])?.unary::<_, arrow::datatypes::Float64Type>(f)))
}

/// The next even integer away from zero.
fn even(value: f64) -> f64 {
    let half = value / 2.0;
    2.0 * if value >= 0.0 { half.ceil() } else { half.floor() }
}

/// Whether the gamma function has no value: at zero and the integers below it.
fn is_pole(x: f64) -> bool {
    x <= 0.0 && x.fract() == 0.0
}

/// At zero it has a limit on either side, at the poles below none.
fn gamma(x: f64) -> f64 {
    if x == 0.0 {
        return f64::INFINITY.copysign(x);
    }
    if is_pole(x) || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    let rounded = x.fract() == 0.0 && (1.0..=171.0).contains(&x);
    if rounded {
        return (1..x as u64).fold(1.0, |product, n| product * n as f64);
    }
    libm::tgamma(x)
}

/// Two numbers in single precision give one in single precision.
fn next_type(dtypes: &[DataType]) -> Result<DataType> {
    let is_single = dtypes.iter().all(|dtype| *dtype == DataType::Float32);
    Ok(if is_single { DataType::Float32 } else { DataType::Float64 })
}

fn next_after(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("nextafter", args, 2, 2)?;
    if let (Some(from), Some(to)) =
        (args[0].as_primitive_opt::<Float32Type>(), args[1].as_primitive_opt::<Float32Type>())
    {
        let next = from.iter().zip(to.iter()).map(|(from, to)| {
            let (from, to) = (from?, to?);
            Some(match from.partial_cmp(&to) {
                None => f32::NAN,
                Some(std::cmp::Ordering::Less) => from.next_up(),
                Some(std::cmp::Ordering::Greater) => from.next_down(),
                Some(std::cmp::Ordering::Equal) => to,
            })
        });
        return Ok(Arc::new(next.collect::<Float32Array>()));
    }
    let (from, to) = (floats_of(&args[0])?, floats_of(&args[1])?);
    let next = from.iter().zip(to.iter()).map(|(from, to)| {
        let (from, to) = (from?, to?);
        Some(match from.partial_cmp(&to) {
            None => f64::NAN,
            Some(std::cmp::Ordering::Less) => from.next_up(),
            Some(std::cmp::Ordering::Greater) => from.next_down(),
            Some(std::cmp::Ordering::Equal) => to,
        })
    });
    Ok(Arc::new(next.collect::<Float64Array>()))
}

/// Digits of a number in a base of 2 to 36, filled with zeros to a length.
fn to_base(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("to_base", args, 2, 3)?;
    let (values, bases) = (integers_of(&args[0])?, integers_of(&args[1])?);
    let least = args.get(2).map(integers_of).transpose()?;
    to_strings(values.len(), |row| {
        let (Some(value), Some(base)) = (number_at(&values, row), number_at(&bases, row)) else { return Ok(None) };
        let least = least.as_ref().and_then(|least| number_at(least, row)).unwrap_or(0);
        if value < 0 || !(2..=36).contains(&base) {
            return invalid("`to_base` writes numbers from 0 on, in a base of 2 to 36");
        }
        let (mut rest, mut digits) = (value as u64, Vec::new());
        loop {
            digits.push(std::char::from_digit((rest % base as u64) as u32, base as u32).unwrap_or('0'));
            rest /= base as u64;
            if rest == 0 {
                break;
            }
        }
        digits.resize(digits.len().max(usize::try_from(least).unwrap_or(0).min(64)), '0');
        Ok(Some(digits.iter().rev().collect::<String>().to_uppercase()))
    })
}
