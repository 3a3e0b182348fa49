//! Lists: sorting, sets, positions, slices, and aggregates of the elements of each list.
//!
//! Null elements follow DuckDB: sets and aggregates leave them out, a sort puts them last.

mod deviations;
mod strings;

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, DynComparator, Float64Array, Int64Array, ListArray, ListBuilder,
    StructArray, UInt32Array, make_comparator, new_null_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{SortOptions, concat, take};
use arrow::datatypes::{DataType, Field, Fields, Int64Type};
use arrow::util::display::array_value_to_string;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, ScalarUDF};
use onrush_expr::diagnostics::{plan_error, type_name};
use onrush_expr::error::external;
use onrush_expr::scalar_udf::{kernel, kernel_by_types, strict};
use onrush_expr::type_coercion;

use deviations::{absolute_deviations, deviation, deviation_type, kurtosis, kurtosis_pop, skewness};

pub use strings::concatenated;

use super::{
    at, boolean, float, floats_of, integer, integers_of, invalid, number_at, strings_of, takes, text, to_strings,
};

pub fn functions() -> Vec<ScalarUDF> {
    let same = |name, body: fn(&[ArrayRef]) -> Result<ArrayRef>| kernel_by_types(name, same_list, body);
    let number = |name, body: fn(&[ArrayRef]) -> Result<ArrayRef>| kernel_by_types(name, float, body);
    vec![
        same("list_sort", |args| sorted("list_sort", args, false)),
        same("list_reverse_sort", |args| sorted("list_reverse_sort", args, true)),
        same("list_distinct", |args| {
            takes("list_distinct", args, 1, 1)?;
            let list = list_of(&args[0])?;
            let same = comparator(list.values(), list.values())?;
            gathered(&list, |_, range| Ok(Some(distinct(&list, range, &same))))
        }),
        kernel_by_types("list_intersect", common_list, |args| sets("list_intersect", args, true)),
        kernel_by_types("list_except", common_list, |args| sets("list_except", args, false)),
        same("list_select", select),
        same("list_where", filter),
        same("list_piece", slice),
        same("list_resize", resize),
        kernel_by_types("flatten", flat_type, flatten),
        kernel_by_types("list_zip", zip_type, zip),
        kernel_by_types("list_grade_up", |_| Ok(list_type(DataType::Int64)), grades),
        kernel_by_types("list_unique", integer, |args| {
            takes("list_unique", args, 1, 1)?;
            let list = list_of(&args[0])?;
            let same = comparator(list.values(), list.values())?;
            let counted = rows(&list).map(|range| range.map(|range| distinct(&list, range, &same).len() as i64));
            Ok(Arc::new(counted.collect::<Int64Array>()))
        }),
        kernel_by_types("list_position", integer, position),
        kernel_by_types("list_has_any", boolean, |args| has("list_has_any", args, false)),
        kernel_by_types("list_has_all", boolean, |args| has("list_has_all", args, true)),
        kernel_by_types("list_count", integer, |args| {
            takes("list_count", args, 1, 1)?;
            let list = list_of(&args[0])?;
            let counted = rows(&list).map(|range| range.map(|range| present(&list, range).count() as i64));
            Ok(Arc::new(counted.collect::<Int64Array>()))
        }),
        kernel_by_types("list_sum", sum_type, sum),
        kernel_by_types("list_first", element_type, |args| one("list_first", args, |mut all| all.next())),
        kernel_by_types("list_any_value", element_type, |args| one_present("list_any_value", args, |all| all.next())),
        kernel_by_types("list_last", element_type, |args| one("list_last", args, |all| all.last())),
        kernel_by_types("list_mode", element_type, mode),
        number("list_avg", |args| of_numbers("list_avg", args, |v| some(v, v.iter().sum::<f64>() / v.len() as f64))),
        number("list_product", |args| of_numbers("list_product", args, |v| some(v, v.iter().product()))),
        number("list_median", |args| of_numbers("list_median", args, median)),
        number("list_var_samp", |args| of_numbers("list_var_samp", args, |v| deviation(v, 1))),
        number("list_var_pop", |args| of_numbers("list_var_pop", args, |v| deviation(v, 0))),
        number("list_stddev_samp", |args| of_numbers("list_stddev_samp", args, |v| deviation(v, 1).map(f64::sqrt))),
        number("list_stddev_pop", |args| of_numbers("list_stddev_pop", args, |v| deviation(v, 0).map(f64::sqrt))),
        number("list_fsum", |args| of_numbers("list_fsum", args, |v| some(v, compensated(v)))),
        number("list_favg", |args| of_numbers("list_favg", args, |v| some(v, compensated(v) / v.len() as f64))),
        kernel_by_types("list_mad", deviation_type, absolute_deviations),
        number("list_skewness", |args| of_numbers("list_skewness", args, skewness)),
        number("list_kurtosis", |args| of_numbers("list_kurtosis", args, kurtosis)),
        number("list_kurtosis_pop", |args| of_numbers("list_kurtosis_pop", args, kurtosis_pop)),
        number("list_geomean", |args| {
            of_numbers("list_geomean", args, |v| {
                some(v, (v.iter().map(|v| v.ln()).sum::<f64>() / v.len() as f64).exp())
            })
        }),
        number("list_sem", |args| {
            of_numbers("list_sem", args, |v| deviation(v, 0).map(|d| d.sqrt() / (v.len() as f64).sqrt()))
        }),
        number("list_entropy", entropy),
        kernel_by_types("list_histogram", histogram_type, histogram),
        kernel_by_types("list_bool_and", boolean, |args| booleans("list_bool_and", args, true)),
        kernel_by_types("list_bool_or", boolean, |args| booleans("list_bool_or", args, false)),
        kernel_by_types("list_string_agg", text, joined),
        kernel_by_types("string_slice", text, string_slice),
        kernel_by_types("list_equals_any", boolean, equals_any),
        kernel_by_types("list_inner_product", float, |args| {
            pairs("list_inner_product", args, |a, b| a.iter().zip(b).map(|(a, b)| a * b).sum())
        }),
        kernel_by_types("list_distance", float, |args| {
            pairs("list_distance", args, |a, b| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt())
        }),
        kernel_by_types("list_cosine_similarity", float, |args| {
            pairs("list_cosine_similarity", args, |a, b| {
                let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                product(a, b) / (product(a, a).sqrt() * product(b, b).sqrt())
            })
        }),
    ]
}

/// The function that computes an aggregate of each list, if there is one: `list_aggregate(l, 'median')`.
pub fn aggregated(name: &str) -> Option<&'static str> {
    Some(match name {
        "sum" => "list_sum",
        "fsum" | "sumkahan" | "kahan_sum" => "list_fsum",
        "avg" | "mean" => "list_avg",
        "favg" => "list_favg",
        "min" => "array_min",
        "max" => "array_max",
        "count" => "list_count",
        "first" | "arbitrary" => "list_first",
        "any_value" => "list_any_value",
        "last" => "list_last",
        "mode" => "list_mode",
        "median" => "list_median",
        "product" => "list_product",
        "var_samp" | "variance" => "list_var_samp",
        "var_pop" => "list_var_pop",
        "stddev" | "stddev_samp" => "list_stddev_samp",
        "stddev_pop" => "list_stddev_pop",
        "bool_and" => "list_bool_and",
        "bool_or" => "list_bool_or",
        "string_agg" | "group_concat" | "listagg" => "list_string_agg",
        _ => return None,
    })
}

fn list_type(of: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(of, true)))
}

fn element(dtype: Option<&DataType>) -> Result<DataType> {
    match dtype {
        Some(DataType::List(f) | DataType::LargeList(f) | DataType::ListView(f) | DataType::FixedSizeList(f, _)) => {
            Ok(f.data_type().clone())
        }
        Some(DataType::Null) => Ok(DataType::Null),
        Some(other) => {
            let message = format!("a list is expected, not a value of type `{}`", type_name(other));
            Err(external(plan_error("type-mismatch", message).help("make a list with `[x]`")))
        }
        None => Err(external(plan_error("argument", "a list is expected as the first argument"))),
    }
}

fn element_type(dtypes: &[DataType]) -> Result<DataType> {
    element(dtypes.first())
}

fn same_list(dtypes: &[DataType]) -> Result<DataType> {
    element(dtypes.first()).map(list_type)
}

fn flat_type(dtypes: &[DataType]) -> Result<DataType> {
    match element(dtypes.first())? {
        DataType::Null => Ok(list_type(DataType::Null)),
        inner => element(Some(&inner)).map(list_type),
    }
}

fn sum_type(dtypes: &[DataType]) -> Result<DataType> {
    Ok(if element(dtypes.first())?.is_integer() { DataType::Int64 } else { DataType::Float64 })
}

fn zip_type(dtypes: &[DataType]) -> Result<DataType> {
    zip_fields(dtypes).map(|fields| list_type(DataType::Struct(fields)))
}

fn zip_fields(dtypes: &[DataType]) -> Result<Fields> {
    let lists = dtypes.iter().filter(|dtype| **dtype != DataType::Boolean).enumerate();
    lists.map(|(i, dtype)| Ok(Field::new(format!("element{}", i + 1), element(Some(dtype))?, true))).collect()
}

/// Any kind of list as one.
fn list_of(values: &ArrayRef) -> Result<ListArray> {
    let of = element(Some(values.data_type()))?;
    if *values.data_type() == DataType::Null {
        return Ok(new_null_array(&list_type(of), values.len()).as_list::<i32>().clone());
    }
    Ok(strict(values, &list_type(of))?.as_list::<i32>().clone())
}

/// The places of the elements of each list, `None` where it is null.
fn rows(list: &ListArray) -> impl Iterator<Item = Option<Range<usize>>> {
    (0..list.len()).map(|row| row_of(list, row))
}

fn row_of(list: &ListArray, row: usize) -> Option<Range<usize>> {
    list.is_valid(row).then(|| {
        let offsets = list.value_offsets();
        offsets[row] as usize..offsets[row + 1] as usize
    })
}

fn comparator(a: &ArrayRef, b: &ArrayRef) -> Result<DynComparator> {
    Ok(make_comparator(a, b, SortOptions { descending: false, nulls_first: false })?)
}

/// The places of elements that are not null.
fn present(list: &ListArray, range: Range<usize>) -> impl Iterator<Item = usize> {
    let values = list.values();
    // An array of nulls alone has no null buffer.
    let is_null = *values.data_type() == DataType::Null;
    range.filter(move |at| !is_null && values.is_valid(*at))
}

/// Lists of the elements that `pick` names by their places, for each row.
fn gathered(
    list: &ListArray,
    mut pick: impl FnMut(usize, Range<usize>) -> Result<Option<Vec<usize>>>,
) -> Result<ArrayRef> {
    let (mut places, mut lengths, mut valid): (Vec<u32>, Vec<usize>, Vec<bool>) = Default::default();
    for row in 0..list.len() {
        let picked = match row_of(list, row) {
            Some(range) => pick(row, range)?,
            None => None,
        };
        valid.push(picked.is_some());
        let picked = picked.unwrap_or_default();
        lengths.push(picked.len());
        places.extend(picked.into_iter().map(|at| at as u32));
    }
    let elements = take(list.values(), &UInt32Array::from(places), None)?;
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(field, offsets, elements, Some(NullBuffer::from(valid)))?))
}

/// The first of equal elements, without nulls.
fn distinct(list: &ListArray, range: Range<usize>, same: &DynComparator) -> Vec<usize> {
    let mut order: Vec<usize> = present(list, range).collect();
    order.sort_by(|a, b| same(*a, *b).then(a.cmp(b)));
    order.dedup_by(|b, a| same(*a, *b) == Ordering::Equal);
    order.sort_unstable();
    order
}

/// `list_sort(l, 'desc', 'nulls first')`.
fn sorted(name: &str, args: &[ArrayRef], reverse: bool) -> Result<ArrayRef> {
    takes(name, args, 1, 3)?;
    let list = list_of(&args[0])?;
    let words = args[1..].iter().map(strings_of).collect::<Result<Vec<_>>>()?;
    let compare = comparator(list.values(), list.values())?;
    gathered(&list, |row, range| {
        let (mut descending, mut nulls_first) = (reverse, false);
        for word in words.iter().filter_map(|words| at(words, row)) {
            match word.to_lowercase().as_str() {
                "asc" => descending = reverse,
                "desc" => descending = !reverse,
                "nulls first" => nulls_first = true,
                "nulls last" => nulls_first = false,
                other => {
                    let message = format!("`{other}` is not an order of `{name}`");
                    let help = "orders are 'ASC', 'DESC', 'NULLS FIRST' and 'NULLS LAST'";
                    return Err(external(plan_error("argument", message).help(help)));
                }
            }
        }
        let values = list.values();
        let (mut there, null): (Vec<usize>, Vec<usize>) = range.partition(|at| values.is_valid(*at));
        there.sort_by(|a, b| if descending { compare(*b, *a) } else { compare(*a, *b) });
        Ok(Some(if nulls_first { [null, there].concat() } else { [there, null].concat() }))
    })
}

fn grades(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_grade_up", args, 1, 1)?;
    let list = list_of(&args[0])?;
    let compare = comparator(list.values(), list.values())?;
    let mut out = ListBuilder::new(arrow::array::Int64Builder::new());
    for range in rows(&list) {
        let Some(range) = range else {
            out.append_null();
            continue;
        };
        let start = range.start;
        let mut order: Vec<usize> = range.collect();
        order.sort_by(|a, b| compare(*a, *b));
        order.iter().for_each(|at| out.values().append_value((at - start) as i64 + 1));
        out.append(true);
    }
    Ok(Arc::new(out.finish()))
}

/// The type in which elements of two lists are compared.
fn common_element(a: &DataType, b: &DataType) -> Option<DataType> {
    match (a, b) {
        (a, b) if a == b => Some(a.clone()),
        (DataType::Null, other) | (other, DataType::Null) => Some(other.clone()),
        (a, b) => type_coercion::supertype(a, b),
    }
}

/// The type of a set of elements of two lists.
fn common_list(dtypes: &[DataType]) -> Result<DataType> {
    let own = element(dtypes.first())?;
    let common = dtypes.get(1).and_then(|other| common_element(&own, &element(Some(other)).ok()?));
    Ok(list_type(common.unwrap_or(own)))
}

/// Two lists with elements of one type.
fn alike(name: &str, args: &[ArrayRef]) -> Result<(ListArray, ListArray)> {
    takes(name, args, 2, 2)?;
    let (a, b) = (list_of(&args[0])?, list_of(&args[1])?);
    if a.value_type() == b.value_type() {
        return Ok((a, b));
    }
    let Some(dtype) = common_element(&a.value_type(), &b.value_type()) else {
        let (a, b) = (a.value_type(), b.value_type());
        let message = format!("`{name}` compares lists of `{}` and of `{}`", type_name(&a), type_name(&b));
        return Err(external(plan_error("type-mismatch", message).help("cast the elements of one")));
    };
    let as_list = |list: ListArray| -> Result<ListArray> {
        let values: ArrayRef = Arc::new(list);
        Ok(strict(&values, &list_type(dtype.clone()))?.as_list::<i32>().clone())
    };
    Ok((as_list(a)?, as_list(b)?))
}

fn sets(name: &str, args: &[ArrayRef], common: bool) -> Result<ArrayRef> {
    let (a, b) = alike(name, args)?;
    let (own, cross) = (comparator(a.values(), a.values())?, comparator(a.values(), b.values())?);
    gathered(&a, |row, range| {
        let Some(others) = row_of(&b, row) else { return Ok((!common).then(|| distinct(&a, range, &own))) };
        let found = |at: &usize| others.clone().any(|other| cross(*at, other) == Ordering::Equal);
        Ok(Some(distinct(&a, range, &own).into_iter().filter(|at| found(at) == common).collect()))
    })
}

fn has(name: &str, args: &[ArrayRef], all: bool) -> Result<ArrayRef> {
    let (a, b) = alike(name, args)?;
    let same = comparator(a.values(), b.values())?;
    let found = (0..a.len()).map(|row| {
        let (own, other) = (row_of(&a, row)?, row_of(&b, row)?);
        let is_there = |at: usize| present(&a, own.clone()).any(|own| same(own, at) == Ordering::Equal);
        let mut others = present(&b, other);
        Some(if all { others.all(is_there) } else { others.any(is_there) })
    });
    Ok(Arc::new(found.collect::<BooleanArray>()))
}

/// An element as a list of one, to be compared with the elements of lists.
fn single(values: &ArrayRef) -> Result<ArrayRef> {
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(1, values.len()));
    Ok(Arc::new(ListArray::try_new(field, offsets, Arc::clone(values), None)?))
}

/// The place of a value from 1 on, null if it is not there.
fn position(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_position", args, 2, 2)?;
    let (list, value) = alike("list_position", &[Arc::clone(&args[0]), single(&args[1])?])?;
    let same = comparator(list.values(), value.values())?;
    let found = (0..list.len()).map(|row| {
        let (range, at) = (row_of(&list, row)?, row_of(&value, row)?.start);
        let start = range.start;
        range.into_iter().find(|own| same(*own, at) == Ordering::Equal).map(|own| (own - start) as i64 + 1)
    });
    Ok(Arc::new(found.collect::<Int64Array>()))
}

/// `x = any(l)`: null if no element equals and one is null.
fn equals_any(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("any", args, 2, 2)?;
    let (list, value) = alike("any", &[Arc::clone(&args[0]), single(&args[1])?])?;
    let same = comparator(list.values(), value.values())?;
    let found = (0..list.len()).map(|row| {
        let (range, at) = (row_of(&list, row)?, row_of(&value, row)?.start);
        if value.values().is_null(at) {
            return range.is_empty().then_some(false);
        }
        let has_null = range.clone().any(|own| list.values().is_null(own));
        match present(&list, range).any(|own| same(own, at) == Ordering::Equal) {
            true => Some(true),
            false => (!has_null).then_some(false),
        }
    });
    Ok(Arc::new(found.collect::<BooleanArray>()))
}

/// Bounds of a slice from 1 on, negative ones from the end, as places from `start`.
fn bounds(count: i64, from: Option<i64>, to: Option<i64>) -> Range<usize> {
    let place = |bound: i64| if bound < 0 { count.saturating_add(bound).saturating_add(1) } else { bound };
    let from = from.map_or(1, place).max(1) - 1;
    let to = to.map_or(count, place).clamp(0, count);
    from as usize..(to.max(from) as usize)
}

fn slice(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_slice", args, 3, 4)?;
    let list = list_of(&args[0])?;
    let (from, to) = (integers_of(&args[1])?, integers_of(&args[2])?);
    let steps = args.get(3).map(integers_of).transpose()?;
    gathered(&list, |row, range| {
        let step = steps.as_ref().map_or(Some(1), |steps| number_at(steps, row));
        let (from, to) = (number_at(&from, row), number_at(&to, row));
        if from.is_none() || to.is_none() {
            return Ok(None);
        }
        let is_back = step.is_some_and(|step| step < 0);
        let (first, last) = if is_back { (to, from) } else { (from, to) };
        let inner = bounds(range.len() as i64, first, last);
        let inner = range.start + inner.start..range.start + inner.end.min(range.len());
        Ok(match step {
            Some(step @ 1..) => Some(inner.step_by(step as usize).collect()),
            Some(step) if step < 0 => Some(inner.rev().step_by(step.unsigned_abs() as usize).collect()),
            Some(_) => return invalid("the step of a slice cannot be 0"),
            None => None,
        })
    })
}

/// Each `step`th element of a list between two bounds, backwards for a step below zero.
pub fn stepped(list: Expr, from: Expr, to: Expr, step: Expr) -> Expr {
    kernel_by_types("list_piece", same_list, slice).call(vec![list, from, to, step])
}

/// The characters of a string between two bounds.
pub fn sliced(value: Expr, from: Expr, to: Expr) -> Expr {
    kernel("string_slice", type_coercion::TEXT, string_slice).call(vec![value, from, to])
}

fn string_slice(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("slice", args, 3, 3)?;
    let (values, from, to) = (strings_of(&args[0])?, integers_of(&args[1])?, integers_of(&args[2])?);
    to_strings(values.len(), |row| {
        let Some(value) = at(&values, row) else { return Ok(None) };
        // A bound that is left out is a number by now.
        let (Some(from), Some(to)) = (number_at(&from, row), number_at(&to, row)) else { return Ok(None) };
        let range = bounds(value.chars().count() as i64, Some(from), Some(to));
        Ok(Some(value.chars().skip(range.start).take(range.len()).collect()))
    })
}

/// A list with a null to point at after the elements, and the place of the null.
fn with_null(list: &ListArray) -> Result<(ListArray, usize)> {
    let null = new_null_array(&list.value_type(), 1);
    let elements = concat(&[list.values(), &null])?;
    let missing = elements.len() - 1;
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    Ok((ListArray::try_new(field, list.offsets().clone(), elements, list.nulls().cloned())?, missing))
}

/// The elements at positions from 1 on, null beyond the end of the list.
fn select(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_select", args, 2, 2)?;
    let (list, places) = (list_of(&args[0])?, list_of(&args[1])?);
    let numbers = integers_of(places.values())?;
    let (with_null, missing) = with_null(&list)?;
    gathered(&with_null, |row, range| {
        let Some(wanted) = row_of(&places, row) else { return Ok(None) };
        let place = |at: usize| {
            number_at(&numbers, at)
                .and_then(|n| usize::try_from(n - 1).ok())
                .filter(|n| *n < range.len())
                .map_or(missing, |n| range.start + n)
        };
        Ok(Some(wanted.map(place).collect()))
    })
}

fn filter(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_where", args, 2, 2)?;
    let (list, mask) = (list_of(&args[0])?, list_of(&args[1])?);
    let flags = strict(mask.values(), &DataType::Boolean)?;
    let flags = flags.as_boolean();
    let (with_null, missing) = with_null(&list)?;
    gathered(&with_null, |row, range| {
        let Some(mask) = row_of(&mask, row) else { return Ok(None) };
        // A mask that is longer than the list picks nulls.
        let places = range.chain(std::iter::repeat(missing));
        Ok(Some(places.zip(mask).filter(|(_, m)| flags.is_valid(*m) && flags.value(*m)).map(|(at, _)| at).collect()))
    })
}

/// Longer lists are cut, shorter ones filled with a value, or with null.
fn resize(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_resize", args, 2, 3)?;
    let (list, sizes) = (list_of(&args[0])?, integers_of(&args[1])?);
    let fill = match args.get(2) {
        Some(fill) => strict(fill, &list.value_type())?,
        None => new_null_array(&list.value_type(), list.len()),
    };
    let first = list.values().len();
    let elements = concat(&[list.values(), &fill])?;
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    let all = ListArray::try_new(field, list.offsets().clone(), elements, list.nulls().cloned())?;
    gathered(&all, |row, range| {
        let size = number_at(&sizes, row).unwrap_or(0);
        let Ok(size) = usize::try_from(size) else { return invalid("a list cannot have a negative length") };
        if size > 100_000_000 {
            return invalid(format!("a list of {size} elements is too long: at most 100000000"));
        }
        Ok(Some(range.take(size).chain(std::iter::repeat(first + row)).take(size).collect()))
    })
}

/// The elements of lists of lists; inner nulls have none.
fn flatten(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("flatten", args, 1, 1)?;
    let outer = list_of(&args[0])?;
    if outer.value_type() == DataType::Null {
        let field = Arc::new(Field::new_list_field(DataType::Null, true));
        let empty = new_null_array(&DataType::Null, 0);
        let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(0, outer.len()));
        return Ok(Arc::new(ListArray::try_new(field, offsets, empty, outer.nulls().cloned())?));
    }
    let inner = list_of(outer.values())?;
    let mut lengths = Vec::with_capacity(outer.len());
    let mut places: Vec<u32> = Vec::new();
    for range in rows(&outer) {
        let before = places.len();
        for at in range.into_iter().flatten() {
            places.extend(row_of(&inner, at).into_iter().flatten().map(|at| at as u32));
        }
        lengths.push(places.len() - before);
    }
    let elements = take(inner.values(), &UInt32Array::from(places), None)?;
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), elements, outer.nulls().cloned())?))
}

/// Structs of the elements of several lists; the shorter ones are filled with null, or the longer ones cut.
fn zip(args: &[ArrayRef]) -> Result<ArrayRef> {
    let cut = args.last().filter(|last| *last.data_type() == DataType::Boolean);
    let cut = cut.map(|last| last.as_boolean().clone());
    let args = if cut.is_some() { &args[..args.len() - 1] } else { args };
    takes("list_zip", args, 1, usize::MAX)?;
    let dtypes: Vec<DataType> = args.iter().map(|arg| arg.data_type().clone()).collect();
    let lists = args.iter().map(list_of).collect::<Result<Vec<_>>>()?;
    let mut places: Vec<Vec<Option<u32>>> = vec![Vec::new(); lists.len()];
    let mut lengths = Vec::new();
    for row in 0..args[0].len() {
        let ranges: Vec<Range<usize>> = lists.iter().map(|list| row_of(list, row).unwrap_or(0..0)).collect();
        let is_cut = cut.as_ref().is_some_and(|cut| cut.is_valid(row) && cut.value(row));
        let sizes = ranges.iter().map(|range| range.len());
        let size = if is_cut { sizes.min() } else { sizes.max() }.unwrap_or(0);
        lengths.push(size);
        for (places, range) in places.iter_mut().zip(ranges) {
            places.extend((0..size).map(|at| (at < range.len()).then(|| (range.start + at) as u32)));
        }
    }
    let columns =
        lists.iter().zip(places).map(|(list, places)| Ok(take(list.values(), &UInt32Array::from(places), None)?));
    let columns = columns.collect::<Result<Vec<ArrayRef>>>()?;
    let fields = zip_fields(&dtypes)?;
    let structs: ArrayRef = Arc::new(StructArray::try_new(fields.clone(), columns, None)?);
    let field = Arc::new(Field::new_list_field(DataType::Struct(fields), true));
    Ok(Arc::new(ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), structs, None)?))
}

/// One element of each list, `None` for null.
fn one(
    name: &str,
    args: &[ArrayRef],
    pick: impl Fn(Box<dyn Iterator<Item = usize>>) -> Option<usize>,
) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    let list = list_of(&args[0])?;
    let places = rows(&list).map(|range| range.and_then(|range| pick(Box::new(range))).map(|at| at as u32));
    Ok(take(list.values(), &places.collect::<UInt32Array>(), None)?)
}

fn one_present(
    name: &str,
    args: &[ArrayRef],
    pick: impl Fn(&mut dyn Iterator<Item = usize>) -> Option<usize>,
) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    let list = list_of(&args[0])?;
    let places = rows(&list).map(|range| range.and_then(|range| pick(&mut present(&list, range))).map(|at| at as u32));
    Ok(take(list.values(), &places.collect::<UInt32Array>(), None)?)
}

/// The most frequent element; the first of several.
fn mode(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_mode", args, 1, 1)?;
    let list = list_of(&args[0])?;
    let same = comparator(list.values(), list.values())?;
    let places = rows(&list).map(|range| {
        let range = range?;
        let kinds = distinct(&list, range.clone(), &same);
        let count = |kind: usize| present(&list, range.clone()).filter(|at| same(*at, kind) == Ordering::Equal).count();
        let best = kinds.into_iter().map(|kind| (count(kind), kind));
        best.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, at)| at as u32)
    });
    Ok(take(list.values(), &places.collect::<UInt32Array>(), None)?)
}

fn sum(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_sum", args, 1, 1)?;
    let list = list_of(&args[0])?;
    if !list.value_type().is_integer() {
        return of_numbers("list_sum", args, |v| some(v, v.iter().sum()));
    }
    let numbers = strict(list.values(), &DataType::Int64)?;
    let numbers = numbers.as_primitive::<Int64Type>();
    let sums = rows(&list).map(|range| {
        let Some(range) = range else { return Ok(None) };
        let mut there = present(&list, range).peekable();
        if there.peek().is_none() {
            return Ok(None);
        }
        let total = there.try_fold(0_i64, |sum, at| sum.checked_add(numbers.value(at)));
        match total {
            Some(total) => Ok(Some(total)),
            None => invalid("the sum of a list is too large for a 64-bit integer"),
        }
    });
    Ok(Arc::new(sums.collect::<Result<Int64Array>>()?))
}

/// Kahan's compensated summation ([CACM 8, 1965](https://doi.org/10.1145/363707.363723)).
fn compensated(values: &[f64]) -> f64 {
    let (mut sum, mut error) = (0.0, 0.0);
    for value in values {
        let corrected = value - error;
        let next = sum + corrected;
        error = (next - sum) - corrected;
        sum = next;
    }
    sum
}

fn some(values: &[f64], value: f64) -> Option<f64> {
    (!values.is_empty()).then_some(value)
}

fn of_numbers(name: &str, args: &[ArrayRef], f: impl Fn(&mut [f64]) -> Option<f64>) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    let list = list_of(&args[0])?;
    let numbers = floats_of(list.values())?;
    let values =
        rows(&list).map(|range| f(&mut present(&list, range?).map(|at| numbers.value(at)).collect::<Vec<_>>()));
    Ok(Arc::new(values.collect::<Float64Array>()))
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

/// The distinct elements, with the number of times that each is there.
fn tally(list: &ListArray, range: Range<usize>, same: &DynComparator) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = present(list, range).collect();
    order.sort_by(|a, b| same(*a, *b).then(a.cmp(b)));
    let mut out: Vec<(usize, usize)> = Vec::new();
    for at in order {
        match out.last_mut() {
            Some((kind, count)) if same(*kind, at) == Ordering::Equal => *count += 1,
            _ => out.push((at, 1)),
        }
    }
    out
}

/// In bits. 0 for an empty list, null for null.
fn entropy(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_entropy", args, 1, 1)?;
    let list = list_of(&args[0])?;
    let same = comparator(list.values(), list.values())?;
    let values = (0..list.len()).map(|row| {
        let counts = tally(&list, row_of(&list, row)?, &same);
        let total = counts.iter().map(|(_, count)| *count).sum::<usize>() as f64;
        let bits = counts.iter().map(|(_, count)| *count as f64 / total).map(|p| -p * p.log2()).sum::<f64>();
        Some(bits.max(0.0))
    });
    Ok(Arc::new(values.collect::<Float64Array>()))
}

fn histogram_type(dtypes: &[DataType]) -> Result<DataType> {
    let entries = histogram_fields(&element(dtypes.first())?);
    Ok(DataType::Map(Arc::new(Field::new("entries", DataType::Struct(entries), false)), false))
}

fn histogram_fields(key: &DataType) -> Fields {
    Fields::from(vec![Field::new("key", key.clone(), false), Field::new("value", DataType::UInt64, true)])
}

/// A map of each value to the number of times that it is there, by value. Null for no values.
fn histogram(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_histogram", args, 1, 1)?;
    let list = list_of(&args[0])?;
    let same = comparator(list.values(), list.values())?;
    let (mut places, mut counts, mut lengths, mut valid) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for range in rows(&list) {
        let tally = range.map(|range| tally(&list, range, &same)).unwrap_or_default();
        valid.push(!tally.is_empty());
        lengths.push(tally.len());
        places.extend(tally.iter().map(|(at, _)| *at as u32));
        counts.extend(tally.iter().map(|(_, count)| *count as u64));
    }
    let keys = take(list.values(), &UInt32Array::from(places), None)?;
    let fields = histogram_fields(&list.value_type());
    let counts: ArrayRef = Arc::new(arrow::array::UInt64Array::from(counts));
    let entries = StructArray::try_new(fields.clone(), vec![keys, counts], None)?;
    let field = Arc::new(Field::new("entries", DataType::Struct(fields), false));
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(arrow::array::MapArray::try_new(field, offsets, entries, Some(NullBuffer::from(valid)), false)?))
}

fn booleans(name: &str, args: &[ArrayRef], all: bool) -> Result<ArrayRef> {
    takes(name, args, 1, 1)?;
    let list = list_of(&args[0])?;
    let flags = strict(list.values(), &DataType::Boolean)?;
    let flags = flags.as_boolean();
    let found = rows(&list).map(|range| {
        let mut there = present(&list, range?).map(|at| flags.value(at)).peekable();
        there.peek().is_some().then(|| if all { there.all(|flag| flag) } else { there.any(|flag| flag) })
    });
    Ok(Arc::new(found.collect::<BooleanArray>()))
}

fn joined(args: &[ArrayRef]) -> Result<ArrayRef> {
    takes("list_string_agg", args, 1, 2)?;
    let list = list_of(&args[0])?;
    let separators = args.get(1).map(strings_of).transpose()?;
    to_strings(list.len(), |row| {
        let Some(range) = row_of(&list, row) else { return Ok(None) };
        let separator = separators.as_ref().and_then(|s| at(s, row)).unwrap_or(",");
        let all = present(&list, range).map(|at| array_value_to_string(list.values(), at));
        let all = all.collect::<std::result::Result<Vec<_>, _>>()?;
        Ok((!all.is_empty()).then(|| all.join(separator)))
    })
}

/// A number from two lists of as many numbers.
fn pairs(name: &str, args: &[ArrayRef], f: impl Fn(&[f64], &[f64]) -> f64) -> Result<ArrayRef> {
    takes(name, args, 2, 2)?;
    let (a, b) = (list_of(&args[0])?, list_of(&args[1])?);
    let (left, right) = (floats_of(a.values())?, floats_of(b.values())?);
    let values = (0..a.len()).map(|row| {
        let (Some(own), Some(other)) = (row_of(&a, row), row_of(&b, row)) else { return Ok(None) };
        if own.len() != other.len() {
            return invalid(format!("`{name}` takes lists of one length, not {} and {}", own.len(), other.len()));
        }
        Ok(Some(f(&left.values()[own], &right.values()[other])))
    });
    Ok(Arc::new(values.collect::<Result<Float64Array>>()?))
}

/// The elements of the list of a row.
pub fn list_at(values: &ArrayRef, row: usize) -> Result<ArrayRef> {
    Ok(list_of(&values.slice(row, 1))?.value(0))
}
