//! Lists on the emulated device: of more rows than the tables of `tests/sql` have, and the steps of frames. Expected is
//! what DataFusion gives on the processor, or what is computed by hand.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, Int64Array, ListArray, StringArray};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field};
use onrush_frame::TaskHandle;
use onrush_wire::FrameId;
use onrush_wire::expr::SortKey;
use onrush_wire::plan::Op;

use super::support::*;

/// Lists of `lengths` of items, those of no length null for some rows.
fn listed(lengths: &[usize], items: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let nulls = NullBuffer::from_iter(lengths.iter().zip(0..).map(|(length, row)| *length > 0 || row % 3 != 0));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Arc::new(ListArray::new(field, offsets, items, Some(nulls)))
}

/// `n` counts rows, `k` is a key, `l`, `t`, `b` and `m` are lists of numbers, strings, booleans and decimals, `o` is a
/// string of several words.
fn table(bench: &TestEngine, rows: usize) -> FrameId {
    let lengths: Vec<usize> = (0..rows).map(|row| if row % 97 == 5 { 70 } else { row * 7 % 5 }).collect();
    let all: usize = lengths.iter().sum();
    let some = |item: usize| item % 11 != 3;
    let numbers =
        Int64Array::from_iter((0..all as i64).map(|item| some(item as usize).then_some(item * 37 % 101 - 20)));
    let words = ["a", "ä", "", "日本", "long enough to be no short view", "b"];
    let texts = StringArray::from_iter((0..all).map(|item| some(item).then(|| words[item * 5 % words.len()])));
    let numbers: ArrayRef = Arc::new(numbers);
    let decimals = cast(&numbers, &DataType::Decimal128(12, 2)).unwrap();
    let flags: Vec<Option<bool>> = (0..all).map(|item| some(item).then_some(item % 3 == 0)).collect();
    let spoken = StringArray::from_iter((0..rows).map(|row| (row % 9 != 4).then(|| words[row % 4..5].join(" "))));
    bench.frame(vec![
        ("n", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef),
        ("k", Arc::new(Int64Array::from_iter((0..rows as i64).map(|row| (row % 13 != 7).then_some(row * row % 10))))),
        ("l", listed(&lengths, numbers)),
        ("t", listed(&lengths, Arc::new(texts))),
        ("b", listed(&lengths, bools(&flags))),
        ("m", listed(&lengths, decimals)),
        ("o", Arc::new(spoken)),
    ])
}

const QUERIES: [&str; 18] = [
    "select n, l, t, b, m from t where n % 3 = 1 order by n",
    "select l, t, b, m from t order by k, n desc",
    "select n, t from t order by n desc limit 40",
    "select n, unnest(l) as x, unnest(t) as y from t order by n",
    "select n, unnest(b) as x, unnest(m) as y, l from t where n % 7 < 3 order by n",
    "select x, count(*) as c, sum(n) as s from (select n, unnest(t) as x from t) group by x order by x",
    "select k, sum(x) as s, min(x) as a, count(*) as c from (select k, unnest(l) as x from t where n > 3) where x > 0 group by k order by k",
    "select n, len(l) as a, l[1] as b, l[-2] as c, t[3] as d, m[2] as e, b[1] as f from t order by n",
    "select n, list_contains(l, 17) as a, list_contains(t, 'ä') as b, list_max(l) as c, list_min(m) as d from t order by n",
    "select t[1] as x, upper(t[2]) as y, count(*) as c from t group by 1, 2 order by 1, 2",
    "select u.n, t.l, u.t from t join t u on t.n = u.k order by u.n",
    "select k, list(n order by n) as a, list(t order by n) as b, sum(n) as s from t group by k order by k",
    "select k, list(t[1] order by n) filter (where n % 2 = 0) as a from t group by k order by k",
    "select list(l[1] order by n desc) as a from t where n % 5 = 0",
    "select n, string_split(o, ' ') as a from t order by n",
    "select x, count(*) as c from (select unnest(string_split(o, ' ')) as x from t) group by x order by x",
    "select k, sum(len(x)) as c, sum(x[1]) as s from (select k, unnest(y) as x from (select k, list(l order by n) as y from t group by k)) group by k order by k",
    "select n, row_number() over (partition by n order by x) as r, x from (select n, unnest(l) as x from t) order by n, r",
];

/// The sizes at which kernels go over another tile, warp or word.
#[test]
fn queries_give_what_the_processor_does() {
    let (device, cpu) = (only_device(), TestEngine::on_cpu());
    for rows in [1, 2, 31, 32, 33, 64, 65, 257, 1025, 2100] {
        let (there, here) = (table(&device, rows), table(&cpu, rows));
        for query in QUERIES {
            let (found, expected) = (device.sql(query, &[("t", there)]), cpu.sql(query, &[("t", here)]));
            assert_eq!(found, expected, "{rows} rows: {query}");
        }
    }
    assert_eq!(device.engine.accelerator().unwrap().cpu_fallbacks.load(std::sync::atomic::Ordering::Relaxed), 0);
}

/// A frame's steps, by hand: an empty list gives no row, a null one gives one null.
#[test]
fn frames_explode_and_collect() {
    let bench = only_device();
    let items: ArrayRef = Arc::new(Int64Array::from(vec![Some(4), None, Some(6), Some(7)]));
    let lists = listed(&[0, 0, 3, 1], items);
    assert_eq!((lists.is_null(0), lists.is_null(1)), (true, false));
    let frame = bench.frame(vec![("k", ints(&[Some(1), Some(2), Some(1), None])), ("l", lists)]);
    let exploded = bench.step(Op::Explode { input: frame, columns: vec!["l".to_string()] });
    assert_eq!(bench.rows(exploded), "k l|1 null|1 4|1 null|1 6|null 7");
    let of = |function: &str| call(function, [col("l")]);
    assert_eq!(bench.select(frame, of("list.len")), "u32: null 0 3 1");
    assert_eq!(bench.select(frame, call("list.get", [col("l"), lit(0_i64)])), "i64: null null 4 7");
    assert_eq!(bench.select(frame, call("list.get", [col("l"), lit(-1_i64)])), "i64: null null 6 7");
    assert_eq!(bench.select(frame, call("list.contains", [col("l"), lit(6_i64)])), "bool: null false true false");
    let keys = vec![col("k")];
    let aggs = vec![call("implode", [col("l")])];
    let grouped = bench.step(Op::GroupBy { input: exploded, keys, aggs });
    let mut rows = bench.try_rows(grouped).unwrap();
    rows.sort();
    assert_eq!(rows, [["1", "[null,4,null,6]"], ["null", "[7]"]]);
    // The key of the groups is none of the rows that they become.
    for bench in [bench, TestEngine::on_cpu()] {
        let ones = [Some(1), Some(1), Some(1), None];
        let frame = bench.frame(vec![("k", ints(&ones)), ("l", ints(&[Some(5), Some(7), Some(5), Some(2)]))]);
        let op = Op::GroupBy { input: frame, keys: vec![col("k")], aggs: vec![call("implode", [col("l")])] };
        let exploded = bench.step(Op::Explode { input: bench.step(op), columns: vec!["l".to_string()] });
        let by = |name: &str| SortKey { expr: col(name), descending: true, nulls_last: Some(true) };
        let sorted = bench.step(Op::Sort { input: exploded, keys: vec![by("k"), by("l")] });
        assert_eq!(bench.rows(sorted), "k l|1 7|1 5|1 5|null 2");
        let count = || vec![call("len", []).alias("n")];
        let op = Op::GroupBy { input: exploded, keys: vec![col("k"), col("l")], aggs: count() };
        let by_both = bench.step(Op::Sort { input: bench.step(op), keys: vec![by("k"), by("l")] });
        assert_eq!(bench.rows(by_both), "k l n|1 7 1|1 5 2|null 2 1");
        let by_key = bench.step(Op::GroupBy { input: exploded, keys: vec![col("k")], aggs: count() });
        let mut rows = bench.try_rows(by_key).unwrap();
        rows.sort();
        assert_eq!(rows, [["1", "3"], ["null", "1"]]);
    }
}

/// The two zeros are one key, and so is what is not a number, whatever its sign: the processor takes such signs for
/// two.
#[test]
fn floats_are_one_group() {
    let bench = only_device();
    let nan = f64::NAN;
    let keys = [nan, -nan, 1.0, 0.0, -0.0, 0.0, -nan, -1.0, -0.0].map(Some);
    let frame = bench.frame(vec![
        ("f", floats(&keys)),
        ("g", cast(&floats(&keys), &DataType::Float32).unwrap()),
        ("n", Arc::new(Int64Array::from_iter_values(0..9)) as ArrayRef),
    ]);
    for key in ["f", "g"] {
        let of = |what: &str| {
            bench.sql(&format!("select {key} as k, {what} as x from t group by {key} order by k"), &[("t", frame)])
        };
        assert_eq!(of("list(n order by n)"), "k x|-1.0 [7]|0.0 [3,4,5,8]|1.0 [2]|NaN [0,1,6]");
        assert_eq!(of("list(n order by n) filter (where n > 3)"), "k x|-1.0 [7]|0.0 [4,5,8]|1.0 null|NaN [6]");
        assert_eq!(of("median(n)"), "k x|-1.0 7.0|0.0 4.5|1.0 2.0|NaN 1.0");
    }
    assert_eq!(bench.engine.accelerator().unwrap().cpu_fallbacks.load(std::sync::atomic::Ordering::Relaxed), 0);
}

/// A cached result has separate list elements, and later queries read it.
#[test]
fn results_are_read_again() {
    let bench = only_device();
    let all = table(&bench, 500);
    let of = bench.try_sql("select n, l, t from t where n % 50 = 20", &[("t", all)]).unwrap();
    let few = bench.id();
    bench.engine.persist(of, few, &TaskHandle::new()).unwrap();
    let again = bench.sql("select n, l, t, len(l) as c from t where n > 400 order by n", &[("t", few)]);
    let cpu = TestEngine::on_cpu();
    let here = table(&cpu, 500);
    let query = "select n, l, t, len(l) as c from t where n % 50 = 20 and n > 400 order by n";
    assert_eq!(again, cpu.sql(query, &[("t", here)]));
    assert_eq!(bench.column(few, 1).len(), 10);
}
