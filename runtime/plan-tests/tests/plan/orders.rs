//! Orders over more rows than the tables of `tests/sql` have, on the emulated device. What is expected is the standard
//! library's stable sort.

use std::cmp::Reverse;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int32Array, Int64Array};
use arrow::datatypes::{Float64Type, Int64Type};
use onrush_frame::TaskHandle;
use onrush_wire::plan::Op;

use super::support::{TestEngine, device};

const ROWS: i64 = 6000;

struct Data {
    a: Vec<Option<i64>>,
    b: Vec<i32>,
    c: Vec<f64>,
}

/// Few values with nulls, some hundred values, and values that are nearly all different.
fn data() -> Data {
    let mixed = |row: i64| (row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
    let rows = || 0..ROWS;
    Data {
        a: rows().map(|row| (row % 11 != 3).then_some(mixed(row) as i64 % 7 - 3)).collect(),
        b: rows().map(|row| (mixed(row + 1) % 1000) as i32 - 500).collect(),
        c: rows().map(|row| (mixed(row + 2) as f64 / 1e9 - 3000.0) * if row % 2 == 0 { 1.0 } else { 1e-7 }).collect(),
    }
}

fn column(bench: &TestEngine, data: &Data, query: &str) -> ArrayRef {
    let numbers: Vec<i64> = (0..ROWS).collect();
    let frame = bench.frame(vec![
        ("a", Arc::new(Int64Array::from(data.a.clone())) as ArrayRef),
        ("b", Arc::new(Int32Array::from(data.b.clone()))),
        ("c", Arc::new(Float64Array::from(data.c.clone()))),
        ("n", Arc::new(Int64Array::from(numbers))),
    ]);
    let id = bench.step(Op::Sql { query: query.to_string(), tables: vec![("t".to_string(), frame)] });
    let table = bench.engine.table(id, &[], &TaskHandle::new()).unwrap();
    let parts: Vec<&dyn Array> = table.batches().iter().map(|batch| batch.column(0).as_ref()).collect();
    if parts.is_empty() {
        arrow::array::new_empty_array(table.schema().field(0).data_type())
    } else {
        arrow::compute::concat(&parts).unwrap()
    }
}

fn numbers(array: &ArrayRef) -> Vec<i64> {
    array.as_primitive::<Int64Type>().values().to_vec()
}

#[test]
fn keys_that_share_a_word_order_as_each_by_itself() {
    let (bench, data) = (device(), data());
    let mut expected: Vec<i64> = (0..ROWS).collect();
    let at = |row: &i64| *row as usize;
    expected.sort_by_key(|row| (data.a[at(row)].is_none(), Reverse(data.a[at(row)]), data.b[at(row)]));
    let found = column(&bench, &data, "select n from t order by a desc nulls last, b, n");
    assert_eq!(numbers(&found), expected);
    expected.sort_by_key(|row| (data.a[at(row)].is_some(), data.a[at(row)], Reverse(data.b[at(row)]), *row));
    let found = column(&bench, &data, "select n from t order by a nulls first, b desc, n");
    assert_eq!(numbers(&found), expected);
    expected.sort_by(|x, y| data.b[at(x)].cmp(&data.b[at(y)]).then(data.c[at(y)].total_cmp(&data.c[at(x)])));
    assert_eq!(numbers(&column(&bench, &data, "select n from t order by b, c desc")), expected);
}

#[test]
fn floats_alone_come_back_in_order() {
    let (bench, data) = (device(), data());
    let mut expected = data.c.clone();
    expected.sort_by(f64::total_cmp);
    let found = column(&bench, &data, "select c from t order by c");
    assert_eq!(found.as_primitive::<Float64Type>().values().to_vec(), expected);
    expected.reverse();
    let found = column(&bench, &data, "select c from t order by c desc");
    assert_eq!(found.as_primitive::<Float64Type>().values().to_vec(), expected);
}

/// NaN is one value whatever its sign (docs/semantics.md), and the highest.
#[test]
fn what_is_not_a_number_comes_last() {
    let bench = device();
    let floats: Vec<f64> = vec![1.0, -f64::NAN, f64::NEG_INFINITY, 0.5, f64::NAN];
    let frame = bench.frame(vec![("c", Arc::new(Float64Array::from(floats)) as ArrayRef)]);
    let query = "select c from t order by c".to_string();
    let id = bench.step(Op::Sql { query, tables: vec![("t".to_string(), frame)] });
    let table = bench.engine.table(id, &[], &TaskHandle::new()).unwrap();
    let found = table.batches()[0].column(0).as_primitive::<Float64Type>().values().to_vec();
    assert_eq!(found[..3], [f64::NEG_INFINITY, 0.5, 1.0]);
    assert!(found[3].is_nan() && found[4].is_nan());
}

/// A row passes without a look at what it was joined by, which has no value: a division by zero.
#[test]
fn a_key_that_fails_fails_the_query() {
    let bench = device();
    let numbers = |values: Vec<i64>| Arc::new(Int64Array::from(values)) as ArrayRef;
    let left = bench.frame(vec![("n", numbers(vec![1, 2])), ("a", numbers(vec![4, 4])), ("b", numbers(vec![2, 0]))]);
    let right = bench.frame(vec![("k", numbers(vec![0, 1, 2])), ("v", numbers(vec![10, 11, 12]))]);
    let query =
        "select l.n, t.v from l left join t on l.a // l.b = t.k where case when l.n = 1 then t.v > 5 else true end";
    let tables = vec![("l".to_string(), left), ("t".to_string(), right)];
    let id = bench.try_step(Op::Sql { query: query.to_string(), tables }).unwrap();
    let error = bench.engine.table(id, &[], &TaskHandle::new()).unwrap_err();
    assert!(error.message.contains("zero"), "{}", error.message);
}

/// Without rows the CPU does what the device would have: over what is known of the rows that were not there.
#[test]
fn a_window_over_no_rows_and_constant_columns_has_none() {
    let (bench, data) = (device(), data());
    let query = "select rank() over (partition by two, none order by none desc, two, n) as r from \
                 (select n, cast(null as bigint) as none, b as two from t) where two between 1.75 and -2.25";
    assert_eq!(column(&bench, &data, query).len(), 0);
    // DataFusion knows of the two sums that they are equal.
    let query = "select max(x) over (partition by n order by n desc, x desc, y rows between 2 preceding and 1 following) as m from \
                 (select min(a) as x, min(a) as y, count(*) as n from t) where cast(n as varchar) like '%a%'";
    assert_eq!(column(&bench, &data, query).len(), 0);
}

#[test]
fn the_first_rows_are_found_by_a_sample_or_without() {
    let (bench, data) = (device(), data());
    let first = |rows: usize, keep: &dyn Fn(usize) -> bool| {
        let mut expected: Vec<i64> = (0..ROWS).filter(|row| keep(*row as usize)).collect();
        expected.sort_by(|x, y| data.c[*x as usize].total_cmp(&data.c[*y as usize]));
        expected.truncate(rows);
        expected
    };
    // The emulated device leaves 2401 and 3097 candidates: too many to come to the host by themselves, and too many for
    // the host. Below, they come.
    for rows in [1, 7, 60] {
        let found = column(&bench, &data, &format!("select n from t order by c limit {rows}"));
        assert_eq!(numbers(&found), first(rows, &|_| true));
    }
    let found = column(&bench, &data, "select n from t where b > 100 order by c limit 20");
    assert_eq!(numbers(&found), first(20, &|row| data.b[row] > 100));
    // Fewer rows than are wanted pass: the sample does not see them.
    let found = column(&bench, &data, "select n from t where b = 77 order by c limit 20");
    assert_eq!(numbers(&found), first(20, &|row| data.b[row] == 77));
    // As many equal ones at the edge as there may be: the second key decides.
    let mut expected: Vec<i64> = (0..ROWS).filter(|row| data.a[*row as usize].is_some()).collect();
    expected.sort_by_key(|row| (data.a[*row as usize], Reverse(*row)));
    expected.truncate(9);
    assert_eq!(numbers(&column(&bench, &data, "select n from t order by a nulls last, n desc limit 9")), expected);
}

/// So many rows that a GPU, too, looks at a sample: its candidates come by themselves, are read, and stay there.
#[test]
fn the_first_of_many_rows_are_found_by_a_sample() {
    const MANY: i64 = 300_000;
    let bench = device();
    let mixed = |row: i64| ((row as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11) as i64;
    let frame = bench.frame(vec![
        ("x", Arc::new(Int64Array::from_iter_values((0..MANY).map(mixed))) as ArrayRef),
        ("n", Arc::new(Int64Array::from_iter_values(0..MANY))),
    ]);
    let mut order: Vec<i64> = (0..MANY).collect();
    order.sort_by_key(|row| mixed(*row));
    for limit in [1, 5, 1000, 4000] {
        let found = bench.sql(&format!("select n from t order by x limit {limit}"), &[("t", frame)]);
        let found: Vec<i64> = found.split('|').skip(1).map(|row| row.parse().unwrap()).collect();
        assert_eq!(found, order[..limit], "{limit}");
    }
}
