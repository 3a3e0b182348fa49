//! Functions of lists, under `.list`, and of structs, under `.struct`. Nulls in a list are left out of its sums; NaN is
//! left out of its extremes unless there is nothing else.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Float64Builder, Int64Array, Int64Builder, ListArray,
    UInt32Array, UInt64Array, UInt64Builder, make_comparator,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{SortOptions, cast as cast_array, take};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type};
use datafusion::error::Result as Outcome;
use datafusion::functions_nested::expr_fn as nested;
use datafusion::logical_expr::{Expr, cast, when};
use onrush_wire::Diagnostic;

use super::function::{Call, Function, Kind, function};
use super::scalar_udf::{Body, error, kernel, kernel_by_types, literal_text, text_literal};
use super::{Lower, TypedExpr, lit, operators};
use crate::diagnostics::{self, type_name};
use crate::type_coercion::{self, TEXT};

const R: Kind = Kind::Row;

/// A number of each list, from its values that are not null.
macro_rules! number_of {
    ($name:literal, $made:expr) => {
        function($name, &[], R, "self:list", |l, c| {
            let body: Body = |args| {
                let made: fn(&mut [f64]) -> Option<f64> = $made;
                let list = args[0].as_list::<i32>();
                let values = cast_array(list.values(), &DataType::Float64)?;
                let values = values.as_primitive::<Float64Type>();
                let mut out = Float64Builder::with_capacity(list.len());
                for range in ranges(list) {
                    let numbers =
                        |r: Range<usize>| r.filter(|i| values.is_valid(*i)).map(|i| values.value(i)).collect();
                    let numbers: Option<Vec<f64>> = range.map(numbers);
                    out.append_option(numbers.and_then(|mut numbers| made(&mut numbers)));
                }
                Ok(Arc::new(out.finish()))
            };
            numbers(l, c)?;
            Ok(c.this().with(kernel($name, DataType::Float64, body).call(vec![plain(c)]), DataType::Float64))
        })
    };
}

pub const FUNCTIONS: &[Function] = &[
    function("list.len", &["list.length", "list.lengths"], R, "self:list", |_, c| {
        Ok(c.this().with(cast(nested::array_length(c.this().expr), DataType::UInt32), DataType::UInt32))
    }),
    function("list.get", &[], R, "self:list index:int", |l, c| get(l, c, c.arg(1).i64())),
    function("list.first", &[], R, "self:list", |l, c| get(l, c, lit(0i64))),
    function("list.last", &[], R, "self:list", |l, c| get(l, c, lit(-1i64))),
    function("list.join", &[], R, "self:list separator:#str", |_, c| {
        let expr = nested::array_to_string(c.this().expr, c.arg(1).expr);
        Ok(c.this().with(cast(expr, TEXT), TEXT))
    }),
    function("list.contains", &[], R, "self:list item:any", |l, c| {
        let item = c.this().with(datafusion::logical_expr::lit(0), element(&c.this().dtype));
        let (_, sought) = operators::unify(l, item, c.arg(1), "`list.contains`:", c.span)?;
        let list = c.this().to(&list_of(&sought.dtype));
        Ok(c.this().with(nested::array_has(list.expr, sought.expr), DataType::Boolean))
    }),
    function("list.sum", &[], R, "self:list", sum),
    number_of!("list.mean", |v| (!v.is_empty()).then(|| v.iter().sum::<f64>() / v.len() as f64)),
    number_of!("list.median", |v| crate::quantile::of(v, 0.5, crate::quantile::Interpolation::Linear)),
    number_of!("list.var", |v| variance(v)),
    number_of!("list.std", |v| variance(v).map(f64::sqrt)),
    function("list.min", &[], R, "self:list", |l, c| picked(l, c, "list_min", |args| extreme(args, Ordering::Less))),
    function("list.max", &[], R, "self:list", |l, c| picked(l, c, "list_max", |args| extreme(args, Ordering::Greater))),
    function("list.sort", &[], R, "self:list descending:#bool? nulls_last:#bool?", |_, c| {
        let body: Body = |args| {
            let flag = |slot: usize| args[slot].as_boolean().iter().next().flatten().unwrap_or(false);
            let order = SortOptions { descending: flag(1), nulls_first: !flag(2) };
            let list = args[0].as_list::<i32>();
            let compare = make_comparator(list.values(), list.values(), order)?;
            rebuilt(list, |range| {
                let mut places: Vec<usize> = range.collect();
                places.sort_by(|a, b| compare(*a, *b));
                places
            })
        };
        Ok(same(c, "list_sort", body, vec![lit(c.flag(1)), lit(c.flag(2))]))
    }),
    function("list.unique", &["list.distinct"], R, "self:list", |_, c| {
        let body: Body = |args| {
            let list = args[0].as_list::<i32>();
            let compare = make_comparator(list.values(), list.values(), SortOptions::default())?;
            rebuilt(list, |range| distinct(range, &compare))
        };
        Ok(same(c, "list_unique", body, Vec::new()))
    }),
    function("list.n_unique", &[], R, "self:list", |_, c| {
        let body: Body = |args| {
            let list = args[0].as_list::<i32>();
            let compare = make_comparator(list.values(), list.values(), SortOptions::default())?;
            let counts = ranges(list).map(|range| range.map(|range| distinct(range, &compare).len() as u32));
            Ok(Arc::new(counts.collect::<UInt32Array>()))
        };
        Ok(c.this().with(kernel("list_n_unique", DataType::UInt32, body).call(vec![plain(c)]), DataType::UInt32))
    }),
    function("list.reverse", &[], R, "self:list", |_, c| {
        let body: Body = |args| rebuilt(args[0].as_list::<i32>(), |range| range.rev().collect());
        Ok(same(c, "list_reverse", body, Vec::new()))
    }),
    function("list.head", &[], R, "self:list n:#int?", |_, c| {
        Ok(same(c, "list_slice", slice, vec![lit(0i64), lit(c.int(1).unwrap_or(5).max(0))]))
    }),
    function("list.tail", &[], R, "self:list n:#int?", |_, c| {
        let n = c.int(1).unwrap_or(5).max(0);
        Ok(same(c, "list_slice", slice, vec![lit(-n), lit(n)]))
    }),
    function("list.slice", &[], R, "self:list offset:#int length:#int?", |_, c| {
        let length = c.int(2).unwrap_or(i64::MAX);
        Ok(same(c, "list_slice", slice, vec![lit(c.int(1).unwrap_or(0)), lit(length.max(0))]))
    }),
    function("struct.field", &["field"], R, "self:any name:#str", field),
    function("struct", &["as_struct", "struct_of"], R, "exprs:any*", |l, c| {
        let Some(first) = c.rest.first() else {
            return Err(c.wrong(l, 0, "`struct` needs at least one column"));
        };
        let mut seen = std::collections::HashSet::new();
        let mut args = Vec::new();
        for value in &c.rest {
            if !seen.insert(value.name.clone()) {
                return Err(l.fail(
                    diagnostics::duplicate_column(&value.name),
                    value.span.as_ref(),
                    "this name is taken",
                ));
            }
            args.extend([lit(value.name.clone()), value.expr.clone()]);
        }
        let expr = datafusion::functions::core::expr_fn::named_struct(args);
        let dtype = l.type_of(&expr)?;
        Ok(first.with(expr, dtype))
    }),
];

/// The type of a list's elements.
fn element(dtype: &DataType) -> DataType {
    match dtype {
        DataType::List(f) | DataType::LargeList(f) | DataType::FixedSizeList(f, _) | DataType::ListView(f) => {
            f.data_type().clone()
        }
        _ => DataType::Null,
    }
}

fn list_of(item: &DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(item.clone(), true)))
}

/// The receiver in the layout that kernels read.
fn plain(call: &Call) -> Expr {
    let this = call.this();
    match &this.dtype {
        DataType::List(_) => this.expr,
        dtype => this.to(&list_of(&element(dtype))).expr,
    }
}

/// Fails if the elements are no numbers.
fn numbers(lower: &Lower, call: &Call) -> Result<DataType, Diagnostic> {
    let item = element(&call.this().dtype);
    match type_coercion::is_number(&item) || matches!(item, DataType::Boolean | DataType::Null) {
        true => Ok(item),
        false => {
            let message = format!(
                "`{}` needs a list of numbers, but this is `{}`",
                call.function.name,
                type_name(&call.this().dtype)
            );
            let span = call.this().span;
            Err(lower.fail(diagnostics::plan_error("type-mismatch", message), span.as_ref().or(call.span), ""))
        }
    }
}

/// The places of each list's elements; `None` for null.
fn ranges(list: &ListArray) -> impl Iterator<Item = Option<Range<usize>>> + '_ {
    let offsets = list.value_offsets();
    (0..list.len()).map(move |row| list.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize))
}

/// Lists of some elements of the lists, in the order of their places.
fn rebuilt(list: &ListArray, mut places: impl FnMut(Range<usize>) -> Vec<usize>) -> Outcome<ArrayRef> {
    let (mut indices, mut lengths) = (Vec::new(), Vec::with_capacity(list.len()));
    for range in ranges(list) {
        let chosen = range.map(&mut places).unwrap_or_default();
        lengths.push(chosen.len());
        indices.extend(chosen.into_iter().map(|place| place as u64));
    }
    let values = take(list.values(), &UInt64Array::from(indices), None)?;
    let DataType::List(field) = list.data_type() else { return Err(error("a list was expected")) };
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(Arc::clone(field), offsets, values, list.nulls().cloned())?))
}

/// A kernel from lists to lists of the same type.
fn same(call: &Call, name: &'static str, body: Body, rest: Vec<Expr>) -> TypedExpr {
    let this = call.this();
    let dtype = match &this.dtype {
        DataType::List(_) => this.dtype.clone(),
        dtype => list_of(&element(dtype)),
    };
    let mut args = vec![plain(call)];
    args.extend(rest);
    let like = |types: &[DataType]| types.first().cloned().ok_or_else(|| error("a list was expected"));
    this.with(Expr::ScalarFunction(scalar(kernel_by_types(name, like, body), args)), dtype)
}

fn scalar(
    function: datafusion::logical_expr::ScalarUDF,
    args: Vec<Expr>,
) -> datafusion::logical_expr::expr::ScalarFunction {
    datafusion::logical_expr::expr::ScalarFunction::new_udf(Arc::new(function), args)
}

/// A kernel that takes one element of each list.
fn picked(lower: &mut Lower, call: &Call, name: &'static str, body: Body) -> Result<TypedExpr, Diagnostic> {
    let this = call.this();
    let item = element(&this.dtype);
    if item.is_nested() {
        let message = format!("`{}` has no order for `{}`", call.function.name, type_name(&this.dtype));
        return Err(lower.fail(
            diagnostics::plan_error("type-mismatch", message),
            this.span.as_ref().or(call.span),
            "",
        ));
    }
    let of_item = |types: &[DataType]| types.first().map(element).ok_or_else(|| error("a list was expected"));
    Ok(this.with(Expr::ScalarFunction(scalar(kernel_by_types(name, of_item, body), vec![plain(call)])), item))
}

fn is_nan(values: &ArrayRef) -> Option<BooleanArray> {
    match values.data_type() {
        DataType::Float64 => Some(values.as_primitive::<Float64Type>().iter().map(|v| Some(v?.is_nan())).collect()),
        DataType::Float32 => {
            let values = values.as_primitive::<arrow::datatypes::Float32Type>();
            Some(values.iter().map(|v| Some(v?.is_nan())).collect())
        }
        _ => None,
    }
}

fn extreme(args: &[ArrayRef], wanted: Ordering) -> Outcome<ArrayRef> {
    let list = args[0].as_list::<i32>();
    let values = list.values();
    let compare = make_comparator(values, values, SortOptions::default())?;
    let nans = is_nan(values);
    let is_number = |place: usize| nans.as_ref().is_none_or(|nans| !nans.value(place));
    let mut chosen = UInt64Builder::with_capacity(list.len());
    for range in ranges(list) {
        let present = range.into_iter().flatten().filter(|place| values.is_valid(*place));
        let best = present.reduce(|best, next| match (is_number(best), is_number(next)) {
            (false, _) => next,
            (true, false) => best,
            _ if compare(next, best) == wanted => next,
            _ => best,
        });
        chosen.append_option(best.map(|place| place as u64));
    }
    Ok(take(values, &chosen.finish(), None)?)
}

/// The first place of each value.
fn distinct(range: Range<usize>, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = range.collect();
    places.sort_by(|a, b| compare(*a, *b));
    places.dedup_by(|next, first| compare(*next, *first).is_eq());
    places.sort_unstable();
    places
}

fn variance(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// Elements from an offset on (from the end if it is negative), at most `length`.
fn slice(args: &[ArrayRef]) -> Outcome<ArrayRef> {
    let number = |slot: usize| args[slot].as_primitive::<Int64Type>().iter().next().flatten().unwrap_or(0);
    let (offset, length) = (number(1), number(2));
    rebuilt(args[0].as_list::<i32>(), |range| {
        let rows = range.len() as i64;
        let start = if offset < 0 { rows + offset } else { offset };
        let end = start.saturating_add(length).clamp(0, rows);
        (start.clamp(0, end)..end).map(|place| range.start + place as usize).collect()
    })
}

/// Integers in their own 64 bits, everything else as floats; 0 for an empty list.
fn sum(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let item = numbers(lower, call)?;
    if item.is_floating() || type_coercion::is_decimal(&item) {
        let body: Body = |args| {
            let list = args[0].as_list::<i32>();
            let values = cast_array(list.values(), &DataType::Float64)?;
            let values: &Float64Array = values.as_primitive();
            let total = |r: Range<usize>| r.filter(|i| values.is_valid(*i)).map(|i| values.value(i)).sum::<f64>();
            Ok(Arc::new(ranges(list).map(|range| range.map(total)).collect::<Float64Array>()))
        };
        return Ok(call
            .this()
            .with(kernel("list_sum", DataType::Float64, body).call(vec![plain(call)]), DataType::Float64));
    }
    let body: Body = |args| {
        let list = args[0].as_list::<i32>();
        let values = cast_array(list.values(), &DataType::Int64)?;
        let values: &Int64Array = values.as_primitive();
        let mut out = Int64Builder::with_capacity(list.len());
        for range in ranges(list) {
            let total = |r: Range<usize>| {
                r.filter(|i| values.is_valid(*i)).fold(0i64, |sum, i| sum.wrapping_add(values.value(i)))
            };
            out.append_option(range.map(total));
        }
        Ok(Arc::new(out.finish()))
    };
    Ok(call.this().with(kernel("list_sum", DataType::Int64, body).call(vec![plain(call)]), DataType::Int64))
}

/// The element at an index from 0, or from the end if it is negative; null beyond the ends.
fn get(lower: &mut Lower, call: &Call, index: Expr) -> Result<TypedExpr, Diagnostic> {
    // DataFusion counts from 1.
    let index = when(index.clone().gt_eq(lit(0i64)), index.clone() + lit(1i64)).otherwise(index);
    let expr = nested::array_element(call.this().expr, index.map_err(crate::error::diagnose)?);
    let dtype = lower.type_of(&expr)?;
    Ok(call.this().with(expr, dtype))
}

/// A field of a struct, under its own name.
fn field(lower: &mut Lower, call: &Call) -> Result<TypedExpr, Diagnostic> {
    let (value, name) = (call.this(), call.text(1).unwrap_or_default().to_string());
    let DataType::Struct(fields) = &value.dtype else {
        let dtype = type_name(&value.dtype);
        let message = format!("`.{name}` is a field of a struct, but this is `{dtype}`");
        let mut diagnostic = diagnostics::plan_error("type-mismatch", message);
        if lower.has_function(&name) {
            diagnostic = diagnostic.help(format!("a method needs parentheses: `.{name}()`"));
        }
        return Err(lower.fail(diagnostic, call.span, ""));
    };
    if !fields.iter().any(|f| f.name() == &name) {
        let names = || fields.iter().map(|f| f.name().as_str());
        let mut diagnostic = diagnostics::plan_error("unknown-field", format!("the struct has no field `{name}`"));
        if let Some(near) = diagnostics::nearest(&name, names()) {
            diagnostic = diagnostic.help(format!("did you mean `{near}`?"));
        }
        let all: Vec<String> = names().map(|n| format!("`{n}`")).collect();
        return Err(lower.fail(diagnostic.note(format!("fields: {}", all.join(", "))), call.span, ""));
    }
    // DataFusion moves its own function for this below other nodes, and loses the names of tables there.
    let body: Body = |args| {
        let (rows, name) = (args[0].as_struct(), literal_text(&args[1]).unwrap_or_default());
        let column = rows.column_by_name(name).ok_or_else(|| error(format!("there is no field `{name}`")))?;
        match rows.nulls() {
            Some(nulls) => {
                let gone = BooleanArray::new(!nulls.inner(), None);
                Ok(arrow::compute::nullif(column, &gone)?)
            }
            None => Ok(Arc::clone(column)),
        }
    };
    let found = fields.iter().find(|f| f.name() == &name).map(|f| f.data_type().clone());
    let dtype = found.unwrap_or(DataType::Null);
    let expr = kernel("field", dtype.clone(), body).call(vec![value.expr.clone(), text_literal(&name)]);
    Ok(TypedExpr { name, ..value.with(expr, dtype) })
}
