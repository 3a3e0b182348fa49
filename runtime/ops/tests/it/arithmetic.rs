//! Arithmetic, comparisons, logic and casts of a projection.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, PrimitiveArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow::compute::kernels::boolean::{and_kleene, is_null, not, or_kleene};
use arrow::compute::kernels::numeric::{add_wrapping, mul_wrapping, sub_wrapping};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{ArrowNativeTypeOp, DataType, Float64Type, Int64Type};
use onrush_kernels::Scalar;
use onrush_ops::{Comparison, DeviceType, ExprGraph, LiteralValue, Op, OverflowPolicy, kind_of};

use super::support::{
    BOOL, FEW_SIZES, FLOAT, INT, LONG, Nulls, SIZES, WIDE, check, check_row_error, column, float, long, one_of,
    project, random,
};

/// A column of each number type.
fn numbers(rows: usize, nulls: Nulls, seed: u64) -> Vec<ArrayRef> {
    let long = |row: usize| long(row, seed);
    vec![
        column::<Int8Array, i8>(rows, nulls, |row| long(row) as i8),
        column::<Int16Array, i16>(rows, nulls, |row| long(row) as i16),
        column::<Int32Array, i32>(rows, nulls, |row| long(row) as i32),
        column::<Int64Array, i64>(rows, nulls, long),
        column::<UInt8Array, u8>(rows, nulls, |row| long(row) as u8),
        column::<UInt16Array, u16>(rows, nulls, |row| long(row) as u16),
        column::<UInt32Array, u32>(rows, nulls, |row| long(row) as u32),
        column::<UInt64Array, u64>(rows, nulls, |row| long(row) as u64),
        column::<Float32Array, f32>(rows, nulls, |row| float(row, seed) as f32),
        column::<Float64Array, f64>(rows, nulls, |row| float(row, seed)),
    ]
}

/// NaN by its canonical bits: which NaN a sum has is not defined.
fn with_one_nan(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float64 => Arc::new(
            array.as_primitive::<Float64Type>().unary::<_, Float64Type>(|x| if x.is_nan() { f64::NAN } else { x }),
        ),
        _ => Arc::clone(array),
    }
}

/// Expected from `arrow-arith`.
#[test]
fn arithmetic_of_all_number_types_wraps_and_keeps_nulls() {
    let mut graph = ExprGraph::new();
    let (left, right) = (numbers(1, Nulls::None, 0), numbers(1, Nulls::None, 0));
    let mut columns = Vec::new();
    for (index, (a, b)) in left.iter().zip(&right).enumerate() {
        let kind = kind_of(a.data_type()).unwrap();
        let (a, b) = (graph.input(index, kind), graph.input(left.len() + index, kind_of(b.data_type()).unwrap()));
        columns.extend([Op::Add, Op::Subtract, Op::Multiply].map(|op| graph.add(op, &[a, b], kind)));
    }
    let stages = project(graph, columns);
    for rows in SIZES {
        for (nulls, other) in
            [(Nulls::None, Nulls::None), (Nulls::Alternating, Nulls::First), (Nulls::Last, Nulls::All)]
        {
            // Without NaN: which one a sum gives is not defined.
            let finite = |columns: Vec<ArrayRef>| -> Vec<ArrayRef> {
                let keep = |column: ArrayRef| -> ArrayRef {
                    match column.data_type() {
                        DataType::Float64 => Arc::new(column.as_primitive::<Float64Type>().unary::<_, Float64Type>(
                            |x| {
                                if x.is_finite() && x.abs() < 1e100 { x } else { 0.5 }
                            },
                        )),
                        DataType::Float32 => Arc::new(
                            column
                                .as_primitive::<arrow::datatypes::Float32Type>()
                                .unary::<_, arrow::datatypes::Float32Type>(|x| {
                                    if x.is_finite() && x.abs() < 1e18 { x } else { 0.5 }
                                }),
                        ),
                        _ => column,
                    }
                };
                columns.into_iter().map(keep).collect()
            };
            let (left, right) = (finite(numbers(rows, nulls, 1)), finite(numbers(rows, other, 2)));
            let mut expected = Vec::new();
            for (a, b) in left.iter().zip(&right) {
                expected.push(add_wrapping(a, b).unwrap());
                expected.push(sub_wrapping(a, b).unwrap());
                expected.push(mul_wrapping(a, b).unwrap());
            }
            check(stages.clone(), &[&[left, right].concat()], &expected);
        }
    }
}

/// Expected from `arrow-arith`, but for NaN, of which there is one.
#[test]
fn float_arithmetic_with_nan_and_infinities_follows_ieee_754() {
    let mut graph = ExprGraph::new();
    let (a, b) = (graph.input(0, FLOAT), graph.input(1, FLOAT));
    let nan = graph.literal(FLOAT, LiteralValue::F64(f64::NAN.to_bits()));
    let mut columns = Vec::new();
    for op in [Op::Add, Op::Subtract, Op::Multiply, Op::Divide] {
        let value = graph.add(op, &[a, b], FLOAT);
        let is_nan = graph.add(Op::MathFn("is_nan"), &[value], BOOL);
        columns.push(graph.add(Op::IfElse, &[is_nan, nan, value], FLOAT));
    }
    let stages = project(graph, columns);
    for rows in SIZES {
        let a = column::<Float64Array, f64>(rows, Nulls::First, |row| float(row, 3));
        let b = column::<Float64Array, f64>(rows, Nulls::Last, |row| float(row, 4));
        let expected = [
            add_wrapping(&a, &b).unwrap(),
            sub_wrapping(&a, &b).unwrap(),
            mul_wrapping(&a, &b).unwrap(),
            arrow::compute::kernels::numeric::div(&a, &b).unwrap(),
        ];
        check(stages.clone(), &[&[a, b]], &expected.each_ref().map(with_one_nan));
    }
}

/// Applies `of` where both rows have a value.
fn pairwise<T: ArrowPrimitiveType, U: ArrowPrimitiveType>(
    a: &ArrayRef,
    b: &ArrayRef,
    of: impl Fn(T::Native, T::Native) -> Option<U::Native>,
) -> ArrayRef {
    let (a, b) = (a.as_primitive::<T>(), b.as_primitive::<T>());
    let rows = a.iter().zip(b.iter()).map(|(a, b)| of(a?, b?));
    Arc::new(rows.collect::<PrimitiveArray<U>>())
}

/// Expected from Rust's `/` and `%`, which truncate as SQL does.
#[test]
fn integer_division_truncates_and_keeps_nulls() {
    let mut graph = ExprGraph::new();
    let (a, b) = (graph.input(0, LONG), graph.input(1, LONG));
    let columns = [Op::Divide, Op::Remainder].map(|op| graph.add(op, &[a, b], LONG));
    let stages = project(graph, columns.to_vec());
    for rows in SIZES {
        let a = column::<Int64Array, i64>(rows, Nulls::Alternating, |row| long(row, 5));
        // A null divisor has 0 below it, which is not a division by zero.
        let b = column::<Int64Array, i64>(rows, Nulls::Last, |row| one_of(&[7, -3, 2, i64::MAX, i64::MIN], row, 6));
        let expected = [
            pairwise::<Int64Type, Int64Type>(&a, &b, |a, b| Some(a / b)),
            pairwise::<Int64Type, Int64Type>(&a, &b, |a, b| Some(a % b)),
        ];
        check(stages.clone(), &[&[a, b]], &expected);
    }
}

fn longs(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

/// Two columns of 40 rows, in which one row has these values.
fn with_pair(at: usize, a: i64, b: i64) -> [ArrayRef; 2] {
    let with = |value: i64| longs(&(0..40).map(|row| if row == at { value } else { 3 }).collect::<Vec<_>>());
    [with(a), with(b)]
}

/// By hand: SQL's division by zero, and quotients and sums beyond 64 bits, are errors.
#[test]
fn integer_arithmetic_without_a_result_is_a_row_error() {
    let cases: [(Op, &[(i64, i64)]); 5] = [
        (Op::Divide, &[(1, 0), (0, 0), (i64::MIN, -1)]),
        (Op::Remainder, &[(1, 0), (i64::MIN, -1)]),
        (Op::AddChecked, &[(i64::MAX, 1), (i64::MIN, -1), (i64::MIN, i64::MIN)]),
        (Op::SubtractChecked, &[(i64::MIN, 1), (0, i64::MIN), (i64::MAX, -1)]),
        (Op::MultiplyChecked, &[(i64::MAX, 2), (i64::MIN, -1), (-1, i64::MIN), (1 << 32, 1 << 31)]),
    ];
    for (op, pairs) in cases {
        let mut graph = ExprGraph::new();
        let (a, b) = (graph.input(0, LONG), graph.input(1, LONG));
        let value = graph.add(op, &[a, b], LONG);
        let stages = project(graph, vec![value]);
        for (a, b) in pairs {
            for at in [0, 39] {
                check_row_error(stages.clone(), &[&with_pair(at, *a, *b)], &[DataType::Int64]);
            }
        }
        // The device computes again.
        let expected = match op {
            Op::Divide => 1,
            Op::Remainder | Op::SubtractChecked => 0,
            Op::AddChecked => 6,
            _ => 9,
        };
        check(stages, &[&with_pair(0, 3, 3)], &[longs(&[expected; 40])]);
    }
}

/// Expected from Rust's checked functions.
#[test]
fn checked_arithmetic_at_the_ends_of_64_bits_has_results() {
    let mut graph = ExprGraph::new();
    let (a, b) = (graph.input(0, LONG), graph.input(1, LONG));
    let columns = [Op::AddChecked, Op::SubtractChecked, Op::MultiplyChecked].map(|op| graph.add(op, &[a, b], LONG));
    let pairs =
        [(i64::MAX, 0), (i64::MIN, 0), (i64::MAX - 1, 1), (i64::MIN + 1, 1), (0, 5), (1 << 31, 1 << 31), (-1, 1)];
    let a = longs(&pairs.map(|(a, _)| a));
    let b = longs(&pairs.map(|(_, b)| b));
    let expected = [i64::checked_add, i64::checked_sub, i64::checked_mul]
        .map(|op| pairwise::<Int64Type, Int64Type>(&a, &b, |a, b| Some(op(a, b).unwrap())));
    check(project(graph, columns.to_vec()), &[&[a, b]], &expected);
}

/// By hand: null operands, and rows that a filter or the other branch of CASE leaves out, are not evaluated.
#[test]
fn division_by_zero_of_a_row_that_does_not_count_is_no_row_error() {
    let mut graph = ExprGraph::new();
    let (a, b) = (graph.input(0, LONG), graph.input(1, LONG));
    let quotient = graph.add(Op::Divide, &[a, b], LONG);
    let zero = graph.number(Scalar::I64, 0);
    let some = graph.add(Op::Compare(Comparison::NotEqual), &[b, zero], BOOL);
    let chosen = graph.add(Op::IfElse, &[some, quotient, zero], LONG);
    let first = graph.add(Op::Coalesce, &[a, quotient], LONG);
    let columns = [longs(&[8, 9, 10]), longs(&[2, 0, 5])];
    check(project(graph.clone(), vec![chosen, first]), &[&columns], &[longs(&[4, 0, 2]), longs(&[8, 9, 10])]);

    let mut stages = project(graph.clone(), vec![quotient]);
    stages[0].filter = Some(some);
    check(stages, &[&columns], &[longs(&[4, 2])]);

    let nulls: ArrayRef = Arc::new(Int64Array::from(vec![Some(8), None, Some(10)]));
    let expected: ArrayRef = Arc::new(Int64Array::from(vec![Some(4), None, Some(2)]));
    check(project(graph, vec![quotient]), &[&[nulls, longs(&[2, 0, 5])]], &[expected]);
}

/// Expected from Rust's checked functions on `i128`; of at most 18 digits a decimal has 64 bits on the device.
#[test]
fn decimal_arithmetic_is_exact_in_64_and_128_bits() {
    for (precision, most) in [(18_u8, 999_999_999_999_999_999_i128), (38, 10_i128.pow(36))] {
        let mut graph = ExprGraph::new();
        let (a, b) = (graph.input(0, WIDE), graph.input(1, WIDE));
        let columns = [Op::AddExact, Op::SubtractExact].map(|op| graph.add(op, &[a, b], WIDE));
        let hundred = graph.literal(WIDE, LiteralValue::I128(100));
        let product = graph.add(Op::MultiplyExact, &[a, hundred], WIDE);
        let rounded = graph.add(Op::DivideRounded, &[a, hundred], WIDE);
        let stages = project(graph, [&columns[..], &[product, rounded]].concat());
        let typed = |array: Decimal128Array| -> ArrayRef { Arc::new(array.with_precision_and_scale(38, 2).unwrap()) };
        for rows in FEW_SIZES {
            let values = |nulls: Nulls, seed: u64| -> Vec<Option<i128>> {
                let value = |row: usize| match random(row, seed) % 5 {
                    0 => most,
                    1 => -most,
                    2 => 0,
                    _ => i128::from(random(row, seed + 1) as i64) % most,
                };
                (0..rows).map(|row| nulls.is_valid(row, rows).then(|| value(row))).collect()
            };
            let (a, b) = (values(Nulls::Alternating, 7), values(Nulls::None, 8));
            let both = |of: &dyn Fn(i128, i128) -> i128| {
                typed(a.iter().zip(&b).map(|(a, b)| Some(of((*a)?, (*b)?))).collect::<Decimal128Array>())
            };
            // Divisors are powers of ten.
            let half_up = |a: i128, by: i128| (a.abs() + by / 2) / by * a.signum();
            let expected =
                [both(&|a, b| a + b), both(&|a, b| a - b), both(&|a, _| a * 100), both(&|a, _| half_up(a, 100))];
            let input = |values: &[Option<i128>]| -> ArrayRef {
                let array: Decimal128Array = values.iter().copied().collect();
                Arc::new(array.with_precision_and_scale(precision, 2).unwrap())
            };
            check(stages.clone(), &[&[input(&a), input(&b)]], &expected);
        }
    }
}

/// By hand: what does not fit 128 bits is an error.
#[test]
fn decimal_arithmetic_beyond_128_bits_is_a_row_error() {
    let decimals = |values: &[i128]| -> ArrayRef {
        Arc::new(Decimal128Array::from(values.to_vec()).with_precision_and_scale(38, 0).unwrap())
    };
    for (op, a, b) in [
        (Op::AddExact, i128::MAX, 1),
        (Op::SubtractExact, i128::MIN, 1),
        (Op::MultiplyExact, 1 << 100, 1 << 40),
        (Op::DivideExact, 1, 0),
    ] {
        let mut graph = ExprGraph::new();
        let args = [graph.input(0, WIDE), graph.input(1, WIDE)];
        let value = graph.add(op, &args, WIDE);
        let columns = [decimals(&[1, a, 4]), decimals(&[1, b, 2])];
        check_row_error(project(graph, vec![value]), &[&columns], &[DataType::Decimal128(38, 0)]);
    }
}

/// Expected from `arrow-cast` with `safe`, which is TRY_CAST: null where the value does not fit.
#[test]
fn cast_of_all_number_types_truncates_or_is_null() {
    let boolean =
        |rows: usize, nulls: Nulls| column::<BooleanArray, bool>(rows, nulls, |row| random(row, 9).is_multiple_of(2));
    let types = [
        DataType::Boolean,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float32,
        DataType::Float64,
    ];
    for (from, dtype) in types.iter().enumerate() {
        let mut graph = ExprGraph::new();
        let input = graph.input(0, kind_of(dtype).unwrap());
        let to = |to: &DataType| match to == dtype {
            true => input,
            false => graph.add(Op::Convert(OverflowPolicy::Null), &[input], kind_of(to).unwrap()),
        };
        let columns = types.iter().map(to).collect();
        let stages = project(graph, columns);
        for rows in FEW_SIZES {
            let nulls = Nulls::Alternating;
            let input = match from {
                0 => boolean(rows, nulls),
                from => numbers(rows, nulls, 10).swap_remove(from - 1),
            };
            let options = CastOptions { safe: true, ..CastOptions::default() };
            let expected: Vec<ArrayRef> =
                types.iter().map(|to| cast_with_options(&input, to, &options).unwrap()).collect();
            check(stages.clone(), &[&[input]], &expected);
        }
    }
}

/// By hand: the limits of both types, and floats that are no integers.
#[test]
fn cast_of_a_value_that_does_not_fit_is_a_row_error() {
    let mut graph = ExprGraph::new();
    let input = graph.input(0, LONG);
    let value = graph.add(Op::Convert(OverflowPolicy::Error), &[input], INT);
    let stages = project(graph, vec![value]);
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let expected: ArrayRef = Arc::new(Int32Array::from(vec![i32::MIN, i32::MAX]));
    check(stages.clone(), &[&[longs(&[low, high])]], &[expected]);
    for beyond in [low - 1, high + 1, i64::MIN, i64::MAX] {
        check_row_error(stages.clone(), &[&[longs(&[0, beyond])]], &[DataType::Int32]);
    }

    let mut graph = ExprGraph::new();
    let input = graph.input(0, FLOAT);
    let value = graph.add(Op::Convert(OverflowPolicy::Error), &[input], LONG);
    let stages = project(graph, vec![value]);
    let floats = |values: &[f64]| -> ArrayRef { Arc::new(Float64Array::from(values.to_vec())) };
    check(
        stages.clone(),
        &[&[floats(&[-0.0, -0.99, 2.99, i64::MIN as f64, 9_223_372_036_854_774_784.0])]],
        &[longs(&[0, 0, 2, i64::MIN, 9_223_372_036_854_774_784])],
    );
    for beyond in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, i64::MAX as f64, -1e19] {
        check_row_error(stages.clone(), &[&[floats(&[0.0, beyond])]], &[DataType::Int64]);
    }
}

const COMPARISONS: [Comparison; 6] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Less,
    Comparison::LessEqual,
    Comparison::Greater,
    Comparison::GreaterEqual,
];

fn holds(how: Comparison, order: std::cmp::Ordering) -> bool {
    match how {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterEqual => order.is_ge(),
    }
}

/// Both zeros are one value, and NaN is one value above all others: as DuckDB compares.
fn float_order(a: f64, b: f64) -> std::cmp::Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn compared<T: ArrowPrimitiveType>(
    a: &ArrayRef,
    b: &ArrayRef,
    order: impl Fn(T::Native, T::Native) -> std::cmp::Ordering,
) -> Vec<ArrayRef> {
    let (a, b) = (a.as_primitive::<T>(), b.as_primitive::<T>());
    let column = |how: Comparison| -> ArrayRef {
        Arc::new(a.iter().zip(b.iter()).map(|(a, b)| Some(holds(how, order(a?, b?)))).collect::<BooleanArray>())
    };
    let same = a.iter().zip(b.iter()).map(|(a, b)| match (a, b) {
        (Some(a), Some(b)) => Some(order(a, b).is_eq()),
        (a, b) => Some(a.is_none() && b.is_none()),
    });
    let mut all: Vec<ArrayRef> = COMPARISONS.map(column).into();
    all.push(Arc::new(same.collect::<BooleanArray>()));
    all
}

fn comparing(kind: DeviceType) -> (ExprGraph, Vec<u32>) {
    let mut graph = ExprGraph::new();
    let args = [graph.input(0, kind), graph.input(1, kind)];
    let mut columns: Vec<u32> = COMPARISONS.map(|how| graph.add(Op::Compare(how), &args, BOOL)).into();
    columns.push(graph.add(Op::IsNotDistinctFrom, &args, BOOL));
    (graph, columns)
}

/// Expected from Rust's order of integers, and from `float_order`.
#[test]
fn comparison_of_numbers_with_nan_and_null_follows_sql() {
    for rows in SIZES {
        for nulls in Nulls::ALL {
            // Small ones, so that some are equal.
            let value = |row: usize, seed: u64| {
                if row.is_multiple_of(2) { long(row, seed) } else { (random(row, seed) % 3) as i64 }
            };
            let a = column::<Int64Array, i64>(rows, nulls, |row| value(row, 11));
            let b = column::<Int64Array, i64>(rows, Nulls::First, |row| value(row, 12));
            let expected = compared::<Int64Type>(&a, &b, |a, b| a.cmp(&b));
            let (graph, columns) = comparing(LONG);
            check(project(graph, columns), &[&[a, b]], &expected);

            let a = column::<Float64Array, f64>(rows, nulls, |row| float(row, 13));
            let b = column::<Float64Array, f64>(rows, Nulls::Last, |row| float(row, 14));
            let expected = compared::<Float64Type>(&a, &b, float_order);
            let (graph, columns) = comparing(FLOAT);
            check(project(graph, columns), &[&[a, b]], &expected);
        }
    }
}

/// Expected from `arrow-arith` and `arrow-select`: Kleene's logic, where null is unknown.
#[test]
fn logic_of_three_values_follows_kleene() {
    let mut graph = ExprGraph::new();
    let (a, b, x, y) = (graph.input(0, BOOL), graph.input(1, BOOL), graph.input(2, LONG), graph.input(3, LONG));
    let columns = vec![
        graph.add(Op::And, &[a, b], BOOL),
        graph.add(Op::Or, &[a, b], BOOL),
        graph.add(Op::Not, &[a], BOOL),
        graph.add(Op::IsNull, &[a], BOOL),
        graph.add(Op::IfElse, &[a, x, y], LONG),
        graph.add(Op::Coalesce, &[x, y], LONG),
    ];
    let stages = project(graph, columns);
    for rows in SIZES {
        for nulls in Nulls::ALL {
            let a = column::<BooleanArray, bool>(rows, nulls, |row| random(row, 15).is_multiple_of(2));
            let b = column::<BooleanArray, bool>(rows, Nulls::Alternating, |row| random(row, 16).is_multiple_of(2));
            let x = column::<Int64Array, i64>(rows, nulls, |row| long(row, 17));
            let y = column::<Int64Array, i64>(rows, Nulls::Last, |row| long(row, 18));
            let (of_a, of_b) = (a.as_boolean(), b.as_boolean());
            let here: ArrayRef = Arc::new(is_null(&x).unwrap());
            let expected: Vec<ArrayRef> = vec![
                Arc::new(and_kleene(of_a, of_b).unwrap()),
                Arc::new(or_kleene(of_a, of_b).unwrap()),
                Arc::new(not(of_a).unwrap()),
                Arc::new(is_null(&a).unwrap()),
                zip(of_a, &x, &y).unwrap(),
                zip(here.as_boolean(), &y, &x).unwrap(),
            ];
            check(stages.clone(), &[&[a, b, x, y]], &expected);
        }
    }
}

/// Expected from Rust's wrapping functions.
#[test]
fn bit_operations_and_shifts_mask_the_distance() {
    let mut graph = ExprGraph::new();
    let (a, b) = (graph.input(0, LONG), graph.input(1, LONG));
    let mut columns: Vec<u32> = [Op::BitAnd, Op::BitOr, Op::BitXor, Op::ShiftLeft, Op::ShiftRight]
        .map(|op| graph.add(op, &[a, b], LONG))
        .into();
    columns.extend([Op::Negate, Op::Absolute].map(|op| graph.add(op, &[a], LONG)));
    let stages = project(graph, columns);
    for rows in FEW_SIZES {
        let a = column::<Int64Array, i64>(rows, Nulls::Last, |row| long(row, 19));
        let b = column::<Int64Array, i64>(rows, Nulls::None, |row| long(row, 20));
        let ops: [fn(i64, i64) -> i64; 7] = [
            |a, b| a & b,
            |a, b| a | b,
            |a, b| a ^ b,
            |a, b| a.wrapping_shl(b as u32),
            |a, b| a.wrapping_shr(b as u32),
            |a, _| a.neg_wrapping(),
            |a, _| a.wrapping_abs(),
        ];
        let expected = ops.map(|op| pairwise::<Int64Type, Int64Type>(&a, &b, |a, b| Some(op(a, b))));
        check(stages.clone(), &[&[a, b]], &expected);
    }
}
