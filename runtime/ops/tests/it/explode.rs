//! Lists: rows of their elements, and functions of them. Expected is a loop over the lists.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, ListArray, StringArray};
use arrow::compute::take;
use arrow::datatypes::{DataType, Int64Type};
use onrush_kernels::Scalar;
use onrush_ops::{ExprGraph, ListOp, Op, OverflowPolicy, Stage};

use super::support::{
    BOOL, INDEX, LIST, LONG, Nulls, ROW, SIZES, STRINGS, check, column, long, one_of, output, project, random, stage,
};

type List = Option<Vec<Option<i64>>>;

/// A function of a row's number and its list.
type ListFn<'a> = &'a dyn Fn(usize, &[Option<i64>]) -> Option<i64>;

/// Lists of up to `most` elements, some of them null, with the ends of 64 bits among them.
fn lists(rows: usize, nulls: Nulls, most: u64, seed: u64) -> Vec<List> {
    let element =
        |row: usize, at: u64| (!(row as u64 + at).is_multiple_of(5)).then(|| long(row * 7 + at as usize, seed));
    (0..rows)
        .map(|row| {
            let length = random(row, seed + 1) % (most + 1);
            nulls.is_valid(row, rows).then(|| (0..length).map(|at| element(row, at)).collect())
        })
        .collect()
}

fn array(lists: &[List]) -> ArrayRef {
    Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists.iter().cloned()))
}

/// The number of an element from 1 on, and the number of elements, or `of_null`.
fn explode(graph: &mut ExprGraph, list: u32, of_null: i128) -> (u32, u32) {
    let length = graph.add(Op::List(ListOp::Length), &[list], ROW);
    let of_null = graph.number(Scalar::U32, of_null);
    let count = graph.add(Op::Coalesce, &[length, of_null], ROW);
    let place = graph.add(Op::RepeatIndex, &[], ROW);
    let place = graph.add(Op::Convert(OverflowPolicy::Error), &[place], LONG);
    let one = graph.number(Scalar::I64, 1);
    (graph.add(Op::Add, &[place, one], LONG), count)
}

#[test]
fn explode_of_lists_gives_a_row_for_each_element() {
    for rows in SIZES {
        for nulls in Nulls::ALL {
            for (of_null, most) in [(0, 4), (1, 4), (0, 0), (1, if rows > 1000 { 5 } else { 70 })] {
                let lists = lists(rows, nulls, most, 151);
                let names = column::<StringArray, &str>(rows, Nulls::Alternating, |row| one_of(&STRINGS, row, 152));
                let mut graph = ExprGraph::new();
                let (list, name) = (graph.input(0, LIST), graph.input(1, INDEX));
                let (number, count) = explode(&mut graph, list, of_null);
                let element = graph.add(Op::List(ListOp::Element), &[list, number], LONG);
                let stages = vec![Stage { repeat: Some(count), ..stage(graph, output(vec![number, element, name])) }];
                let (mut numbers, mut elements, mut of_rows) = (Vec::new(), Vec::new(), Vec::new());
                for (row, list) in lists.iter().enumerate() {
                    let count = list.as_ref().map_or(of_null as usize, Vec::len);
                    for at in 0..count {
                        numbers.push(at as i64 + 1);
                        elements.push(list.as_ref().and_then(|list| list[at]));
                        of_rows.push(row as u32);
                    }
                }
                let of_names = take(&names, &arrow::array::UInt32Array::from(of_rows), None).unwrap();
                let expected: [ArrayRef; 3] =
                    [Arc::new(Int64Array::from(numbers)), Arc::new(Int64Array::from(elements)), of_names];
                check(stages, &[&[array(&lists), names]], &expected);
            }
        }
    }
}

#[test]
fn explode_of_lists_of_strings_keeps_their_dictionary() {
    for rows in SIZES {
        for nulls in [Nulls::None, Nulls::Alternating] {
            let list = |row: usize| -> Option<Vec<Option<&str>>> {
                let element = |at: u64| {
                    (!random(row, 153 + at).is_multiple_of(6)).then(|| one_of(&STRINGS, row + at as usize, 154))
                };
                nulls.is_valid(row, rows).then(|| (0..random(row, 155) % 4).map(element).collect())
            };
            let mut builder = arrow::array::ListBuilder::new(arrow::array::StringBuilder::new());
            (0..rows).for_each(|row| builder.append_option(list(row)));
            let lists: ArrayRef = Arc::new(builder.finish());
            let mut graph = ExprGraph::new();
            let input = graph.input(0, LIST);
            let (number, count) = explode(&mut graph, input, 0);
            let element = graph.add(Op::List(ListOp::Element), &[input, number], INDEX);
            let stages = vec![Stage { repeat: Some(count), ..stage(graph, output(vec![element])) }];
            let expected: StringArray = (0..rows).flat_map(|row| list(row).unwrap_or_default()).collect();
            check(stages, &[&[lists]], &[Arc::new(expected)]);
        }
    }
}

/// `list[n]` from 1 on, or from the end below 0; null if there is no such element.
fn element_at(list: &[Option<i64>], n: i64) -> Option<i64> {
    let at = match n {
        1.. => n - 1,
        _ => list.len() as i64 + n,
    };
    if n == 0 { None } else { *list.get(usize::try_from(at).ok()?)? }
}

#[test]
fn list_functions_skip_null_elements_and_null_lists() {
    let mut graph = ExprGraph::new();
    let (list, n, item) = (graph.input(0, LIST), graph.input(1, LONG), graph.input(2, LONG));
    let columns = vec![
        graph.add(Op::List(ListOp::Length), &[list], LONG),
        graph.add(Op::List(ListOp::Element), &[list, n], LONG),
        graph.add(Op::List(ListOp::Contains), &[list, item], BOOL),
        graph.add(Op::List(ListOp::Min), &[list], LONG),
        graph.add(Op::List(ListOp::Max), &[list], LONG),
    ];
    let stages = project(graph, columns);
    for rows in SIZES {
        for nulls in Nulls::ALL {
            let lists = lists(rows, nulls, 4, 156);
            let n = |row: usize| one_of(&[1, 2, 4, -1, -4, 0, i64::MAX, i64::MIN], row, 157);
            let item = |row: usize| match lists[row].as_ref().and_then(|list| list.first().copied().flatten()) {
                Some(first) if row.is_multiple_of(2) => first,
                _ => 12,
            };
            let inputs = [
                array(&lists),
                column::<Int64Array, i64>(rows, Nulls::Last, n),
                column::<Int64Array, i64>(rows, Nulls::None, item),
            ];
            let of = |of: ListFn| -> ArrayRef {
                Arc::new((0..rows).map(|row| of(row, lists[row].as_deref()?)).collect::<Int64Array>())
            };
            let has = |row: usize| lists[row].as_ref().map(|list| list.contains(&Some(item(row))));
            let expected = [
                of(&|_, list| Some(list.len() as i64)),
                of(&|row, list| element_at(list, Nulls::Last.is_valid(row, rows).then(|| n(row))?)),
                Arc::new((0..rows).map(has).collect::<BooleanArray>()) as ArrayRef,
                of(&|_, list| list.iter().flatten().min().copied()),
                of(&|_, list| list.iter().flatten().max().copied()),
            ];
            check(stages.clone(), &[&inputs], &expected);
        }
    }
}

/// From one number to another one, both from 1 on and inclusive.
#[test]
fn slice_of_a_list_gives_the_elements_between_two_numbers() {
    let mut graph = ExprGraph::new();
    let (list, from, to) = (graph.input(0, LIST), graph.input(1, LONG), graph.input(2, LONG));
    let slice = graph.add(Op::List(ListOp::Slice), &[list, from, to], LIST);
    let stages = project(graph, vec![slice]);
    for rows in SIZES {
        let lists = lists(rows, Nulls::Alternating, 6, 158);
        let (from, to) =
            (|row: usize| (random(row, 159) % 8) as i64 + 1, |row: usize| (random(row, 160) % 8) as i64 + 1);
        let inputs = [
            array(&lists),
            column::<Int64Array, i64>(rows, Nulls::None, from),
            column::<Int64Array, i64>(rows, Nulls::None, to),
        ];
        let slice = |row: usize| -> List {
            let list = lists[row].as_ref()?;
            let (from, to) = (from(row) as usize - 1, (to(row) as usize).min(list.len()));
            Some(if from < to { list[from..to].to_vec() } else { Vec::new() })
        };
        let expected = array(&(0..rows).map(slice).collect::<Vec<_>>());
        check(stages.clone(), &[&inputs], &[expected]);
    }
}

/// Rows of a filter, whose lists are views into the elements of all rows.
#[test]
fn filtered_lists_come_back_with_their_own_elements() {
    for rows in SIZES {
        let lists = array(&lists(rows, Nulls::First, 5, 161));
        let keep = column::<BooleanArray, bool>(rows, Nulls::None, |row| random(row, 162).is_multiple_of(3));
        let mut graph = ExprGraph::new();
        let (list, filter) = (graph.input(0, LIST), graph.input(1, BOOL));
        let mut stages = project(graph, vec![list]);
        stages[0].filter = Some(filter);
        let expected = arrow::compute::filter(&lists, keep.as_boolean()).unwrap();
        assert_eq!(expected.data_type(), &DataType::new_list(DataType::Int64, true));
        check(stages, &[&[Arc::clone(&lists), keep]], &[expected]);
    }
}
