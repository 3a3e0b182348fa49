//! GROUP BY: key lookups by direct address and by hash, and all accumulators. Expected is a loop over the rows with a
//! map of groups, as SQL defines GROUP BY: null is a group, and aggregates skip nulls. Groups come in any order.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Float64Array, Int16Array, Int32Array, Int64Array,
    StringArray, UInt64Array,
};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use onrush_kernels::Scalar;
use onrush_ops::operators::group::kinds;
use onrush_ops::{
    Accumulator, AggregateOp, Comparison, DeviceType, ExprGraph, NodeId, Op, OverflowPolicy, Sink, Stage,
};

use super::support::{
    BOOL, FEW_SIZES, FLOAT, INDEX, INT, LONG, Nulls, SIZES, STRINGS, UNSIGNED, WIDE, as_group, check, check_row_error,
    check_unordered, column, float, long, one_of, output, random, stage,
};

/// A pipeline that aggregates, and the one after it, which `finish` gives the keys and the accumulators.
fn grouped(
    graph: ExprGraph,
    keys: Vec<NodeId>,
    accumulators: Vec<Accumulator>,
    finish: impl FnOnce(&mut ExprGraph, &[NodeId], &[NodeId]) -> Vec<NodeId>,
) -> Vec<Stage> {
    let mut next = ExprGraph::new();
    let of_keys: Vec<DeviceType> = keys.iter().map(|key| graph.kind(*key)).collect();
    let of_values = kinds(&graph, &accumulators);
    let key_ids: Vec<NodeId> = of_keys.iter().enumerate().map(|(index, kind)| next.input(index, *kind)).collect();
    let ids: Vec<NodeId> =
        of_values.iter().enumerate().map(|(index, kind)| next.input(keys.len() + index, *kind)).collect();
    let columns = finish(&mut next, &key_ids, &ids);
    vec![stage(graph, Sink::Aggregate { keys, accumulators, quantiles: Vec::new() }), stage(next, output(columns))]
}

/// Null where the count is 0.
fn unless_empty(graph: &mut ExprGraph, count: NodeId, value: NodeId) -> NodeId {
    let zero = graph.number(Scalar::I64, 0);
    let some = graph.add(Op::Compare(Comparison::Greater), &[count, zero], BOOL);
    let kind = graph.kind(value);
    let null = graph.null(kind);
    graph.add(Op::IfElse, &[some, value, null], kind)
}

fn accumulate(op: AggregateOp, of: NodeId) -> Accumulator {
    Accumulator::new(op, Some(of))
}

/// count(*), count, sum, min, max and avg of 64-bit integers in input `value`.
fn statistics(mut graph: ExprGraph, keys: Vec<NodeId>, value: usize) -> Vec<Stage> {
    let value = graph.input(value, LONG);
    let key = graph.add(Op::OrderKey, &[value], LONG);
    let float = graph.add(Op::Convert(OverflowPolicy::Error), &[value], FLOAT);
    let accumulators = vec![
        Accumulator::new(AggregateOp::Count, None),
        accumulate(AggregateOp::Count, value),
        accumulate(AggregateOp::SumInteger, value),
        accumulate(AggregateOp::Min, key),
        accumulate(AggregateOp::Max, key),
        accumulate(AggregateOp::SumFloat, float),
    ];
    grouped(graph, keys, accumulators, |graph, keys, at| {
        let n = graph.add(Op::Convert(OverflowPolicy::Error), &[at[1]], FLOAT);
        let mean = graph.add(Op::Divide, &[at[5], n], FLOAT);
        let values = [at[2], at[3], at[4], mean].map(|id| unless_empty(graph, at[1], id));
        [keys, &at[..2], &values[..]].concat()
    })
}

#[derive(Clone, Default)]
struct Statistics {
    rows: i64,
    values: Vec<i64>,
}

impl Statistics {
    fn columns(groups: &[&Statistics]) -> Vec<ArrayRef> {
        let column = |of: &dyn Fn(&Statistics) -> Option<i64>| -> ArrayRef {
            Arc::new(groups.iter().map(|group| of(group)).collect::<Int64Array>())
        };
        let sum = |values: &[i64]| values.iter().fold(0_i64, |sum, value| sum.wrapping_add(*value));
        let mean = |group: &&Statistics| {
            let sum: f64 = group.values.iter().map(|value| *value as f64).sum();
            (!group.values.is_empty()).then(|| sum / group.values.len() as f64)
        };
        vec![
            column(&|group| Some(group.rows)),
            column(&|group| Some(group.values.len() as i64)),
            column(&|group| (!group.values.is_empty()).then(|| sum(&group.values))),
            column(&|group| group.values.iter().min().copied()),
            column(&|group| group.values.iter().max().copied()),
            Arc::new(groups.iter().map(mean).collect::<Float64Array>()),
        ]
    }
}

/// The groups of rows with equal keys.
fn groups<K: Ord>(rows: usize, key: impl Fn(usize) -> K, values: &ArrayRef) -> BTreeMap<K, Statistics> {
    let values = values.as_primitive::<Int64Type>();
    let mut groups: BTreeMap<K, Statistics> = BTreeMap::new();
    for row in 0..rows {
        let group = groups.entry(key(row)).or_default();
        group.rows += 1;
        group.values.extend(values.is_valid(row).then(|| values.value(row)));
    }
    groups
}

/// Small values, whose float sums are exact in any order.
fn values(rows: usize, nulls: Nulls) -> ArrayRef {
    column::<Int64Array, i64>(rows, nulls, |row| (random(row, 41) % 2001) as i64 - 1000)
}

fn check_long_keys(rows: usize, keys: &ArrayRef, nulls: Nulls) {
    let values = values(rows, nulls);
    let of = keys.as_primitive::<Int64Type>();
    let expected = groups(rows, |row| of.is_valid(row).then(|| of.value(row)), &values);
    let key: ArrayRef = Arc::new(expected.keys().copied().collect::<Int64Array>());
    let mut graph = ExprGraph::new();
    let input = graph.input(0, LONG);
    let columns = [vec![key], Statistics::columns(&expected.values().collect::<Vec<_>>())].concat();
    check_unordered(statistics(graph, vec![input], 1), &[&[Arc::clone(keys), values]], &columns);
}

#[test]
fn group_by_one_dense_key_counts_and_sums_each_group() {
    for rows in SIZES {
        for nulls in Nulls::ALL {
            let keys = column::<Int64Array, i64>(rows, nulls, |row| (random(row, 42) % 7) as i64 - 3);
            check_long_keys(rows, &keys, Nulls::Alternating);
        }
    }
}

#[test]
fn group_by_one_key_with_values_of_some_null_patterns_skips_nulls() {
    for rows in FEW_SIZES {
        for nulls in Nulls::ALL {
            let keys = column::<Int64Array, i64>(rows, Nulls::First, |row| (random(row, 43) % 40) as i64);
            check_long_keys(rows, &keys, nulls);
        }
    }
}

#[test]
fn group_by_a_sparse_key_with_the_ends_of_64_bits_hashes_each_value() {
    for rows in FEW_SIZES {
        for nulls in [Nulls::None, Nulls::Alternating, Nulls::All] {
            let keys = column::<Int64Array, i64>(rows, nulls, |row| long(row, 44));
            check_long_keys(rows, &keys, Nulls::Last);
            // Without the ends of the range the key is packed.
            let keys = column::<Int64Array, i64>(rows, nulls, |row| long(row, 44) / 1_000_003);
            check_long_keys(rows, &keys, Nulls::None);
        }
    }
}

#[test]
fn group_by_keys_that_all_differ_has_a_group_for_each_row() {
    for rows in SIZES {
        let keys = column::<Int64Array, i64>(rows, Nulls::None, |row| row as i64 * 1_000_000_007);
        check_long_keys(rows, &keys, Nulls::None);
    }
}

#[test]
fn group_by_unsigned_keys_keeps_values_above_63_bits() {
    let value = |row: usize| one_of(&[0, 1, u64::MAX, u64::MAX - 1, 1 << 63], row, 45);
    for rows in FEW_SIZES {
        for nulls in [Nulls::None, Nulls::First] {
            let keys = column::<UInt64Array, u64>(rows, nulls, value);
            let values = values(rows, Nulls::None);
            let of = keys.as_primitive::<UInt64Type>();
            let expected = groups(rows, |row| of.is_valid(row).then(|| of.value(row)), &values);
            let key: ArrayRef = Arc::new(expected.keys().copied().collect::<UInt64Array>());
            let mut graph = ExprGraph::new();
            let input = graph.input(0, UNSIGNED);
            let columns = [vec![key], Statistics::columns(&expected.values().collect::<Vec<_>>())].concat();
            check_unordered(statistics(graph, vec![input], 1), &[&[keys, values]], &columns);
        }
    }
}

#[test]
fn group_by_floats_has_one_group_of_zeros_and_one_of_nans() {
    // NaNs of both signs and with other bits.
    let nans = [f64::NAN, -f64::NAN, f64::from_bits(0x7ff8_0000_0000_0001)];
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::Alternating] {
            let value = |row: usize| match random(row, 46) % 3 {
                0 => one_of(&nans, row, 47),
                1 => one_of(&[0.0, -0.0], row, 48),
                _ => one_of(&[1.5, -1.5, f64::INFINITY, f64::MIN_POSITIVE], row, 49),
            };
            let keys = column::<Float64Array, f64>(rows, nulls, value);
            let values = values(rows, Nulls::None);
            let of = keys.as_primitive::<Float64Type>();
            // Bits of the value that stands for the group.
            let bits = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { (x + 0.0).to_bits() };
            let expected = groups(rows, |row| of.is_valid(row).then(|| bits(of.value(row))), &values);
            let key: ArrayRef = Arc::new(expected.keys().map(|key| key.map(f64::from_bits)).collect::<Float64Array>());
            let mut graph = ExprGraph::new();
            let input = graph.input(0, FLOAT);
            let input = as_group(&mut graph, input);
            let columns = [vec![key], Statistics::columns(&expected.values().collect::<Vec<_>>())].concat();
            check_unordered(statistics(graph, vec![input], 1), &[&[keys, values]], &columns);
        }
    }
}

#[test]
fn group_by_a_string_key_has_a_group_for_each_string() {
    for rows in SIZES {
        for nulls in Nulls::ALL {
            let keys = column::<StringArray, &str>(rows, nulls, |row| one_of(&STRINGS, row, 50));
            let values = values(rows, Nulls::Alternating);
            let of = keys.as_string::<i32>();
            let expected = groups(rows, |row| of.is_valid(row).then(|| of.value(row)), &values);
            let key: ArrayRef = Arc::new(expected.keys().copied().collect::<StringArray>());
            let mut graph = ExprGraph::new();
            let input = graph.input(0, INDEX);
            let columns = [vec![key], Statistics::columns(&expected.values().collect::<Vec<_>>())].concat();
            check_unordered(statistics(graph, vec![input], 1), &[&[Arc::clone(&keys), values]], &columns);
        }
    }
}

#[test]
fn group_by_several_keys_has_a_group_for_each_combination() {
    for rows in SIZES {
        for (wide, nulls) in
            [(false, Nulls::None), (false, Nulls::Alternating), (true, Nulls::First), (true, Nulls::None)]
        {
            let flags = column::<BooleanArray, bool>(rows, nulls, |row| random(row, 51).is_multiple_of(2));
            let names = column::<StringArray, &str>(rows, Nulls::Last, |row| one_of(&STRINGS[..5], row, 52));
            // Numbers without a common range need a word each.
            let numbers = column::<Int64Array, i64>(rows, nulls, |row| match wide {
                true => one_of(&[i64::MIN, i64::MAX, 0, -1], row, 53),
                false => (random(row, 53) % 5) as i64,
            });
            let values = values(rows, Nulls::Alternating);
            let (flag, name, number) =
                (flags.as_boolean(), names.as_string::<i32>(), numbers.as_primitive::<Int64Type>());
            let key = |row: usize| {
                (
                    flag.is_valid(row).then(|| flag.value(row)),
                    name.is_valid(row).then(|| name.value(row)),
                    number.is_valid(row).then(|| number.value(row)),
                )
            };
            let expected = groups(rows, key, &values);
            let keys: Vec<ArrayRef> = vec![
                Arc::new(expected.keys().map(|key| key.0).collect::<BooleanArray>()),
                Arc::new(expected.keys().map(|key| key.1).collect::<StringArray>()),
                Arc::new(expected.keys().map(|key| key.2).collect::<Int64Array>()),
            ];
            let mut graph = ExprGraph::new();
            let inputs = vec![graph.input(0, BOOL), graph.input(1, INDEX), graph.input(2, LONG)];
            let columns = [keys, Statistics::columns(&expected.values().collect::<Vec<_>>())].concat();
            check_unordered(
                statistics(graph, inputs, 3),
                &[&[Arc::clone(&flags), Arc::clone(&names), Arc::clone(&numbers), values]],
                &columns,
            );
        }
    }
}

#[test]
fn group_by_decimal_keys_of_128_bits_compares_both_words() {
    let value = |row: usize| one_of(&[1_i128, 1 << 64, (1 << 64) + 1, -1, -(1 << 64), 10_i128.pow(37)], row, 54);
    for rows in FEW_SIZES {
        for nulls in [Nulls::None, Nulls::Alternating] {
            let typed =
                |array: Decimal128Array| -> ArrayRef { Arc::new(array.with_precision_and_scale(38, 0).unwrap()) };
            let keys = typed((0..rows).map(|row| nulls.is_valid(row, rows).then(|| value(row))).collect());
            let values = values(rows, Nulls::None);
            let of = keys.as_primitive::<Decimal128Type>();
            let expected = groups(rows, |row| of.is_valid(row).then(|| of.value(row)), &values);
            let key = typed(expected.keys().copied().collect());
            let mut graph = ExprGraph::new();
            let input = graph.input(0, WIDE);
            let columns = [vec![key], Statistics::columns(&expected.values().collect::<Vec<_>>())].concat();
            check_unordered(statistics(graph, vec![input], 1), &[&[Arc::clone(&keys), values]], &columns);
        }
    }
}

#[test]
fn group_by_a_computed_key_of_filtered_rows_groups_the_kept_ones() {
    for rows in SIZES {
        let numbers = column::<Int64Array, i64>(rows, Nulls::First, |row| row as i64);
        let keep = column::<BooleanArray, bool>(rows, Nulls::Alternating, |row| row % 3 > 0);
        let values = values(rows, Nulls::None);
        let (of, kept) = (numbers.as_primitive::<Int64Type>(), keep.as_boolean());
        let mut expected: BTreeMap<Option<i64>, Statistics> = BTreeMap::new();
        for row in (0..rows).filter(|row| kept.is_valid(*row) && kept.value(*row)) {
            let group = expected.entry(of.is_valid(row).then(|| of.value(row) % 5)).or_default();
            group.rows += 1;
            group.values.push(values.as_primitive::<Int64Type>().value(row));
        }
        let key: ArrayRef = Arc::new(expected.keys().copied().collect::<Int64Array>());
        let mut graph = ExprGraph::new();
        let (input, five, filter) = (graph.input(0, LONG), graph.number(Scalar::I64, 5), graph.input(2, BOOL));
        let input = graph.add(Op::Remainder, &[input, five], LONG);
        let mut stages = statistics(graph, vec![input], 1);
        stages[0].filter = Some(filter);
        let columns = [vec![key], Statistics::columns(&expected.values().collect::<Vec<_>>())].concat();
        check_unordered(stages, &[&[numbers, values, keep]], &columns);
    }
}

#[test]
fn aggregate_without_keys_is_one_row_also_of_no_rows() {
    for rows in SIZES {
        for nulls in Nulls::ALL {
            for kept in [true, false] {
                let values = values(rows, nulls);
                let keep = column::<BooleanArray, bool>(rows, Nulls::None, |_| kept);
                let all = groups(rows, |_| (), &values).remove(&()).unwrap_or_default();
                let expected = if kept { all } else { Statistics::default() };
                let mut graph = ExprGraph::new();
                let filter = graph.input(1, BOOL);
                let mut stages = statistics(graph, Vec::new(), 0);
                stages[0].filter = Some(filter);
                check(stages, &[&[values, keep]], &Statistics::columns(&[&expected]));
            }
        }
    }
}

#[test]
fn sum_of_integers_beyond_64_bits_wraps_and_that_of_128_bits_does_not() {
    for rows in FEW_SIZES {
        let values = column::<Int64Array, i64>(rows, Nulls::First, |row| i64::MAX - (row % 2) as i64);
        let keys = column::<Int64Array, i64>(rows, Nulls::None, |row| (row % 3) as i64);
        let expected = groups(rows, |row| row % 3, &values);
        let mut graph = ExprGraph::new();
        let (key, value) = (graph.input(0, LONG), graph.input(1, LONG));
        let wide = graph.add(Op::Convert(OverflowPolicy::Error), &[value], WIDE);
        let accumulators = vec![
            accumulate(AggregateOp::Count, value),
            accumulate(AggregateOp::SumInteger, value),
            accumulate(AggregateOp::SumI128, wide),
        ];
        let stages = grouped(graph, vec![key], accumulators, |graph, keys, at| {
            let sums = [at[1], at[2]].map(|id| unless_empty(graph, at[0], id));
            vec![keys[0], sums[0], sums[1]]
        });
        let sum = |group: &Statistics| group.values.iter().map(|value| i128::from(*value)).sum::<i128>();
        let some = |group: &Statistics| (!group.values.is_empty()).then(|| sum(group));
        let sums: Decimal128Array = expected.values().map(some).collect();
        let columns: [ArrayRef; 3] = [
            Arc::new(Int64Array::from_iter_values(expected.keys().map(|key| *key as i64))),
            Arc::new(expected.values().map(|group| some(group).map(|sum| sum as i64)).collect::<Int64Array>()),
            Arc::new(sums.with_precision_and_scale(38, 0).unwrap()),
        ];
        check_unordered(stages, &[&[keys, values]], &columns);
    }
}

/// Minima and maxima of floats by their total order, in which NaN is the highest, and of strings by their bytes.
#[test]
fn min_and_max_of_floats_and_strings_follow_their_order() {
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::Alternating, Nulls::All] {
            let keys = column::<Int32Array, i32>(rows, Nulls::None, |row| (random(row, 55) % 3) as i32);
            let floats = column::<Float64Array, f64>(rows, nulls, |row| float(row, 56));
            let names = column::<StringArray, &str>(rows, nulls, |row| one_of(&STRINGS, row, 57));
            let mut graph = ExprGraph::new();
            let (key, float, name) = (graph.input(0, INT), graph.input(1, FLOAT), graph.input(2, INDEX));
            let order = graph.add(Op::OrderKey, &[float], LONG);
            let index = graph.add(Op::Convert(OverflowPolicy::Error), &[name], LONG);
            let accumulators = vec![
                accumulate(AggregateOp::Count, float),
                accumulate(AggregateOp::Min, order),
                accumulate(AggregateOp::Max, order),
                accumulate(AggregateOp::Count, name),
                accumulate(AggregateOp::Min, index),
                accumulate(AggregateOp::Max, index),
            ];
            let stages = grouped(graph, vec![key], accumulators, |graph, keys, at| {
                let mut columns = keys.to_vec();
                for id in [at[1], at[2]] {
                    let value = graph.add(Op::FromOrderKey, &[id], FLOAT);
                    columns.push(unless_empty(graph, at[0], value));
                }
                for id in [at[4], at[5]] {
                    let value = graph.add(Op::Convert(OverflowPolicy::Null), &[id], INDEX);
                    columns.push(unless_empty(graph, at[3], value));
                }
                columns
            });
            let mut expected: BTreeMap<i32, (Vec<f64>, Vec<&str>)> = BTreeMap::new();
            let (of_floats, of_names) = (floats.as_primitive::<Float64Type>(), names.as_string::<i32>());
            for row in 0..rows {
                let key = keys.as_primitive::<arrow::datatypes::Int32Type>().value(row);
                let group = expected.entry(key).or_default();
                if nulls.is_valid(row, rows) {
                    group.0.push(of_floats.value(row));
                    group.1.push(of_names.value(row));
                }
            }
            let least = |group: &(Vec<f64>, Vec<&str>)| group.0.iter().copied().min_by(f64::total_cmp);
            let most = |group: &(Vec<f64>, Vec<&str>)| group.0.iter().copied().max_by(f64::total_cmp);
            let columns: [ArrayRef; 5] = [
                Arc::new(Int32Array::from_iter_values(expected.keys().copied())),
                Arc::new(expected.values().map(least).collect::<Float64Array>()),
                Arc::new(expected.values().map(most).collect::<Float64Array>()),
                Arc::new(expected.values().map(|group| group.1.iter().min().copied()).collect::<StringArray>()),
                Arc::new(expected.values().map(|group| group.1.iter().max().copied()).collect::<StringArray>()),
            ];
            check_unordered(stages, &[&[keys, Arc::clone(&floats), Arc::clone(&names)]], &columns);
        }
    }
}

#[test]
fn min_and_max_of_unsigned_and_128_bit_integers_use_all_bits() {
    let wide_value = |row: usize| one_of(&[i128::MAX, i128::MIN, 1 << 64, -(1 << 64), -1, 0], row, 58);
    let value = |row: usize| one_of(&[u64::MAX, 1 << 63, 0, 5], row, 59);
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::First] {
            let keys = column::<Int16Array, i16>(rows, Nulls::Last, |row| (random(row, 60) % 4) as i16);
            let numbers = column::<UInt64Array, u64>(rows, nulls, value);
            let typed =
                |array: Decimal128Array| -> ArrayRef { Arc::new(array.with_precision_and_scale(38, 0).unwrap()) };
            let wide = typed((0..rows).map(|row| nulls.is_valid(row, rows).then(|| wide_value(row))).collect());
            let mut graph = ExprGraph::new();
            let (key, number, decimal) =
                (graph.input(0, DeviceType::Number(Scalar::I16)), graph.input(1, UNSIGNED), graph.input(2, WIDE));
            let accumulators = vec![
                accumulate(AggregateOp::Count, number),
                accumulate(AggregateOp::MinUnsigned, number),
                accumulate(AggregateOp::MaxUnsigned, number),
                accumulate(AggregateOp::Count, decimal),
                accumulate(AggregateOp::MinHigh, decimal),
                accumulate(AggregateOp::MinLow, decimal),
                accumulate(AggregateOp::MaxHigh, decimal),
                accumulate(AggregateOp::MaxLow, decimal),
            ];
            let stages = grouped(graph, vec![key], accumulators, |graph, keys, at| {
                let mut columns = keys.to_vec();
                columns.extend([at[1], at[2]].map(|id| unless_empty(graph, at[0], id)));
                for (upper, lower) in [(at[4], at[5]), (at[6], at[7])] {
                    let [upper, lower] =
                        [upper, lower].map(|id| graph.add(Op::Convert(OverflowPolicy::Error), &[id], WIDE));
                    let by = graph.number(Scalar::I128, 64);
                    let upper = graph.add(Op::ShiftLeft, &[upper, by], WIDE);
                    let value = graph.add(Op::BitOr, &[upper, lower], WIDE);
                    columns.push(unless_empty(graph, at[3], value));
                }
                columns
            });
            let mut expected: BTreeMap<Option<i16>, (Vec<u64>, Vec<i128>)> = BTreeMap::new();
            for row in 0..rows {
                let key = Nulls::Last.is_valid(row, rows).then(|| (random(row, 60) % 4) as i16);
                let group = expected.entry(key).or_default();
                if nulls.is_valid(row, rows) {
                    group.0.push(value(row));
                    group.1.push(wide_value(row));
                }
            }
            let columns: [ArrayRef; 5] = [
                Arc::new(expected.keys().copied().collect::<Int16Array>()),
                Arc::new(expected.values().map(|group| group.0.iter().min().copied()).collect::<UInt64Array>()),
                Arc::new(expected.values().map(|group| group.0.iter().max().copied()).collect::<UInt64Array>()),
                typed(expected.values().map(|group| group.1.iter().min().copied()).collect()),
                typed(expected.values().map(|group| group.1.iter().max().copied()).collect()),
            ];
            check_unordered(stages, &[&[keys, numbers, wide]], &columns);
        }
    }
}

#[test]
fn count_and_sum_of_distinct_values_see_each_value_once() {
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::Alternating, Nulls::All] {
            let keys = column::<Int64Array, i64>(rows, Nulls::First, |row| (random(row, 61) % 5) as i64);
            let values = column::<Int64Array, i64>(rows, nulls, |row| (random(row, 62) % 9) as i64 * 1_000_000_007);
            let all =
                groups(rows, |row| Nulls::First.is_valid(row, rows).then(|| (random(row, 61) % 5) as i64), &values);
            let mut graph = ExprGraph::new();
            let (key, value) = (graph.input(0, LONG), graph.input(1, LONG));
            let accumulators = vec![
                Accumulator::new(AggregateOp::Count, None),
                accumulate(AggregateOp::Distinct, value),
                accumulate(AggregateOp::DistinctInteger, value),
            ];
            let stages = grouped(graph, vec![key], accumulators, |graph, keys, at| {
                let sum = unless_empty(graph, at[1], at[2]);
                vec![keys[0], at[0], at[1], sum]
            });
            let distinct = |group: &Statistics| {
                let mut values = group.values.clone();
                values.sort_unstable();
                values.dedup();
                values
            };
            let sum = |group: &Statistics| {
                let values = distinct(group);
                (!values.is_empty()).then(|| values.iter().sum::<i64>())
            };
            let columns: [ArrayRef; 4] = [
                Arc::new(all.keys().copied().collect::<Int64Array>()),
                Arc::new(Int64Array::from_iter_values(all.values().map(|group| group.rows))),
                Arc::new(Int64Array::from_iter_values(all.values().map(|group| distinct(group).len() as i64))),
                Arc::new(all.values().map(sum).collect::<Int64Array>()),
            ];
            check_unordered(stages, &[&[keys, values]], &columns);
        }
    }
}

/// Groups of values around a mean of 0, so that the sum of squares is exact. By hand it is 2 for each pair of 1 and -1.
#[test]
fn sum_of_squared_deviations_in_a_second_pass_is_exact_for_small_integers() {
    for pairs in [1_usize, 16, 500] {
        let rows = 2 * pairs;
        let keys = column::<Int64Array, i64>(rows, Nulls::None, |row| (row / 2 % 4) as i64);
        let values = column::<Float64Array, f64>(rows, Nulls::None, |row| if row % 2 == 0 { 1.0 } else { -1.0 });
        let mut graph = ExprGraph::new();
        let (key, value) = (graph.input(0, LONG), graph.input(1, FLOAT));
        let accumulators = vec![
            accumulate(AggregateOp::Count, value),
            accumulate(AggregateOp::SumFloat, value),
            accumulate(AggregateOp::DeviationSum, value),
            accumulate(AggregateOp::M2, value),
        ];
        let stages = grouped(graph, vec![key], accumulators, |_, keys, at| vec![keys[0], at[0], at[1], at[2], at[3]]);
        let here = pairs.min(4);
        let counts: Vec<i64> = (0..here).map(|key| 2 * ((pairs - key).div_ceil(4)) as i64).collect();
        let zeros: ArrayRef = Arc::new(Float64Array::from(vec![0.0; here]));
        let columns: [ArrayRef; 5] = [
            Arc::new(Int64Array::from_iter_values(0..here as i64)),
            Arc::new(Int64Array::from(counts.clone())),
            Arc::clone(&zeros),
            zeros,
            Arc::new(counts.iter().map(|count| Some(*count as f64)).collect::<Float64Array>()),
        ];
        check_unordered(stages, &[&[keys, values]], &columns);
    }
}

/// By hand: an error in a key or in a value of a kept row ends the execution.
#[test]
fn group_by_with_a_row_error_in_key_or_value_reports_it() {
    let longs = |values: &[i64]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
    let columns = [longs(&[1, 2, 3]), longs(&[1, 0, 1])];
    for in_key in [true, false] {
        let mut graph = ExprGraph::new();
        let (a, b) = (graph.input(0, LONG), graph.input(1, LONG));
        let quotient = graph.add(Op::Divide, &[a, b], LONG);
        let (key, value) = if in_key { (quotient, a) } else { (a, quotient) };
        let accumulators = vec![accumulate(AggregateOp::SumInteger, value)];
        let stages = grouped(graph, vec![key], accumulators, |_, keys, at| vec![keys[0], at[0]]);
        check_row_error(stages, &[&columns], &[DataType::Int64, DataType::Int64]);
    }
}
