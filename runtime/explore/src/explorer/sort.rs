//! Stable radix sort of a table by several columns; the result is row positions.
//!
//! Each key is mapped to integers with the order of its values. The passes go from the last key to the first.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Schema, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use onrush_expr::diagnostics;
use onrush_expr::error::internal;
use onrush_frame::{Table, TaskHandle};
use onrush_wire::expr::SortKey;
use onrush_wire::{Class, Diagnostic, ExprKind};

use super::ranks::ranks;

pub struct Key {
    column: usize,
    descending: bool,
    nulls_last: bool,
}

/// The positions of the key columns.
pub fn keys(sort: &[SortKey], schema: &Schema) -> Result<Vec<Key>, Diagnostic> {
    let key = |key: &SortKey| {
        let ExprKind::Column(name) = &key.expr.kind else {
            return Err(internal("an explorer sorts by columns"));
        };
        let column = schema.index_of(name).map_err(|_| diagnostics::unknown_column(name, schema))?;
        let dtype = schema.field(column).data_type();
        if !sortable(dtype) {
            let dtype = onrush_frame::dtype_to_wire(dtype);
            let error = diagnostics::plan_error("sort", format!("the column `{name}` of type {dtype} has no order"));
            return Err(error.help("sort by another column, or make one with an expression"));
        }
        Ok(Key { column, descending: key.descending, nulls_last: key.nulls_last.unwrap_or(false) })
    };
    sort.iter().map(key).collect()
}

fn sortable(dtype: &DataType) -> bool {
    match dtype {
        DataType::Dictionary(_, values) => sortable(values),
        _ => {
            dtype.is_numeric()
                || dtype.is_temporal()
                || matches!(
                    dtype,
                    DataType::Null | DataType::Boolean | DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
                )
        }
    }
}

/// Positions are 32 bits wide.
pub fn few_enough(rows: usize) -> Result<(), Diagnostic> {
    match u32::try_from(rows) {
        Ok(_) => Ok(()),
        Err(_) => Err(Diagnostic::error(
            Class::Resources,
            "too-many-rows",
            format!("{rows} rows cannot be sorted or filtered here: {} at most", u32::MAX),
        )
        .help("filter the frame in a cell first")),
    }
}

/// The rows in `start` (all if `None`) in the order of the keys; `None` if that is the table's own.
pub fn order(
    table: &Table,
    start: Option<Vec<u32>>,
    keys: &[Key],
    limit: u64,
    task: &TaskHandle,
) -> Result<Option<Vec<u32>>, Diagnostic> {
    few_enough(table.rows())?;
    let rows = start.as_ref().map_or(table.rows(), Vec::len) as u64;
    // The codes of a key, and two lists of code and position.
    let needed = table.rows() as u64 * 8 + rows * 36;
    if needed > limit {
        let message =
            format!("sorting {rows} rows takes {} MB, and the session may use {} MB", needed >> 20, limit >> 20);
        let error = Diagnostic::error(Class::Resources, "out-of-memory", message);
        return Err(error.help("filter first, or raise ONRUSH_MEMORY"));
    }
    let mut order = start;
    for key in keys.iter().rev() {
        task.check()?;
        let codes = codes(table, key, task)?;
        order = sort_by(codes, order, task)?;
    }
    Ok(order)
}

/// Sorts positions by the codes of the rows.
fn sort_by(codes: Vec<u64>, order: Option<Vec<u32>>, task: &TaskHandle) -> Result<Option<Vec<u32>>, Diagnostic> {
    let sorted = match &order {
        None => is_sorted(codes.iter().copied(), task)?,
        Some(order) => is_sorted(order.iter().map(|row| codes[*row as usize]), task)?,
    };
    if sorted {
        return Ok(order);
    }
    let (mut least, mut most) = (u64::MAX, 0);
    for piece in codes.chunks(STEP) {
        task.check()?;
        let values = || piece.iter().copied().filter(|code| !NULLS.contains(code));
        (least, most) = values().fold((least, most), |(least, most), code| (least.min(code), most.max(code)));
    }
    let least = least.min(most);
    let row_codes = |row: u32| codes[row as usize];
    // Two more than values: one for each of the nulls' places.
    if most - least < u64::from(u32::MAX) - 2 {
        let narrow = |code: u64| match code {
            0 => 0,
            u64::MAX => most - least + 2,
            code => code - least + 1,
        };
        let packed = |row: u32| narrow(row_codes(row)) << 32 | u64::from(row);
        let pairs: Vec<u64> = match order {
            None => (0..codes.len() as u32).map(packed).collect(),
            Some(order) => order.into_iter().map(packed).collect(),
        };
        drop(codes);
        let sorted = radix(pairs, 32, |pair| *pair, task)?;
        return Ok(Some(sorted.into_iter().map(|pair| pair as u32).collect()));
    }
    let pair = |row: u32| (row_codes(row), row);
    let pairs: Vec<(u64, u32)> = match order {
        None => (0..codes.len() as u32).map(pair).collect(),
        Some(order) => order.into_iter().map(pair).collect(),
    };
    drop(codes);
    let sorted = radix(pairs, 0, |pair| pair.0, task)?;
    Ok(Some(sorted.into_iter().map(|(_, row)| row).collect()))
}

fn is_sorted(codes: impl Iterator<Item = u64>, task: &TaskHandle) -> Result<bool, Diagnostic> {
    let mut last = 0;
    for (row, code) in codes.enumerate() {
        if row.is_multiple_of(STEP) {
            task.check()?;
        }
        if code < last {
            return Ok(false);
        }
        last = code;
    }
    Ok(true)
}

/// Codes that stand for null.
const NULLS: [u64; 2] = [0, u64::MAX];

/// Rows between two looks at whether the work was stopped: a few milliseconds.
const STEP: usize = 1 << 20;

/// By the bits of `key` from `first` on, those that are the same in all left out. Equal rows stay in their order.
fn radix<T: Copy + Default>(
    mut from: Vec<T>,
    first: u32,
    key: impl Fn(&T) -> u64,
    task: &TaskHandle,
) -> Result<Vec<T>, Diagnostic> {
    const DIGIT: u32 = 11;
    const MASK: u64 = (1 << DIGIT) - 1;
    let (mut all, mut any) = (u64::MAX, 0);
    for piece in from.chunks(STEP) {
        task.check()?;
        (all, any) = piece.iter().fold((all, any), |(all, any), item| (all & key(item), any | key(item)));
    }
    let differing = all ^ any;
    let mut to = vec![T::default(); from.len()];
    for shift in (first..u64::BITS).step_by(DIGIT as usize) {
        if (differing >> shift) & MASK == 0 {
            continue;
        }
        let mut ends = vec![0usize; 1 << DIGIT];
        for piece in from.chunks(STEP) {
            task.check()?;
            piece.iter().for_each(|item| ends[((key(item) >> shift) & MASK) as usize] += 1);
        }
        let mut next = 0;
        for end in &mut ends {
            next += std::mem::replace(end, next);
        }
        for piece in from.chunks(STEP) {
            task.check()?;
            for item in piece {
                let at = &mut ends[((key(item) >> shift) & MASK) as usize];
                to[*at] = *item;
                *at += 1;
            }
        }
        std::mem::swap(&mut from, &mut to);
    }
    Ok(from)
}

/// A number for each row of the table: 0 and the largest are for nulls.
fn codes(table: &Table, key: &Key, task: &TaskHandle) -> Result<Vec<u64>, Diagnostic> {
    let null = if key.nulls_last { u64::MAX } else { 0 };
    let mut codes = Vec::with_capacity(table.rows());
    let chunks: Vec<ArrayRef> =
        table.batches().iter().map(|batch| std::sync::Arc::clone(batch.column(key.column))).collect();
    let ranked = ranks(&chunks, task)?;
    for chunk in &chunks {
        task.check()?;
        let from = codes.len();
        match &ranked {
            Some(ranked) => codes.extend(ranked[from..from + chunk.len()].iter().copied().map(u64::from)),
            None => numbers(chunk, &mut codes)?,
        }
        for code in &mut codes[from..] {
            // One below the largest is the most that is left for values.
            *code = (*code).min(u64::MAX - 2) + 1;
            if key.descending {
                *code = u64::MAX - *code;
            }
        }
        if let Some(nulls) = chunk.logical_nulls() {
            for row in (0..chunk.len()).filter(|row| nulls.is_null(*row)) {
                codes[from + row] = null;
            }
        }
    }
    Ok(codes)
}

const SIGN: u64 = 1 << 63;

/// The order of floats in the order of numbers: -0.0 is 0.0, and NaN, whatever its sign, comes last.
fn float_code(x: f64) -> u64 {
    if x.is_nan() {
        return u64::MAX - 2;
    }
    let bits = (x + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

/// Numbers in the order of the values; anything for nulls.
fn numbers(chunk: &ArrayRef, out: &mut Vec<u64>) -> Result<(), Diagnostic> {
    macro_rules! signed {
        ($t:ty) => {
            out.extend(chunk.as_primitive::<$t>().values().iter().map(|v| (i64::from(*v) as u64) ^ SIGN))
        };
    }
    macro_rules! unsigned {
        ($t:ty) => {
            out.extend(chunk.as_primitive::<$t>().values().iter().map(|v| u64::from(*v)))
        };
    }
    match chunk.data_type() {
        DataType::Null => out.extend(std::iter::repeat_n(0, chunk.len())),
        DataType::Boolean => out.extend(chunk.as_boolean().values().iter().map(u64::from)),
        DataType::Int8 => signed!(Int8Type),
        DataType::Int16 => signed!(Int16Type),
        DataType::Int32 => signed!(Int32Type),
        DataType::Int64 => signed!(Int64Type),
        DataType::UInt8 => unsigned!(UInt8Type),
        DataType::UInt16 => unsigned!(UInt16Type),
        DataType::UInt32 => unsigned!(UInt32Type),
        DataType::UInt64 => unsigned!(UInt64Type),
        DataType::Float32 => {
            out.extend(chunk.as_primitive::<Float32Type>().values().iter().map(|v| float_code(f64::from(*v))));
        }
        DataType::Float64 => out.extend(chunk.as_primitive::<Float64Type>().values().iter().map(|v| float_code(*v))),
        other => {
            let to = match other {
                DataType::Float16 => DataType::Float32,
                DataType::Date32 | DataType::Time32(_) => DataType::Int32,
                DataType::Decimal32(..) | DataType::Decimal64(..) => {
                    // The scale is the same in all rows: the digits have the values' order.
                    let text = |e: arrow::error::ArrowError| internal(&e.to_string());
                    let whole = cast(chunk, &DataType::Decimal128(38, decimal_scale(other))).map_err(text)?;
                    let values = whole.as_primitive::<arrow::datatypes::Decimal128Type>();
                    out.extend(values.values().iter().map(|v| (*v as i64 as u64) ^ SIGN));
                    return Ok(());
                }
                _ => DataType::Int64,
            };
            let numbers_of = cast(chunk, &to).map_err(|e| internal(&e.to_string()))?;
            return numbers(&numbers_of, out);
        }
    }
    Ok(())
}

fn decimal_scale(dtype: &DataType) -> i8 {
    match dtype {
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => *scale,
        _ => 0,
    }
}
