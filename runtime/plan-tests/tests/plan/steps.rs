//! The steps, on small frames. Values from Polars 2.1 unless a test says otherwise.

use onrush_wire::plan::{ConcatHow, JoinKind, Keep, Op, SampleSize};
use onrush_wire::{BinaryOp::*, FrameId, Value};

use super::support::*;

fn flights(bench: &TestEngine) -> FrameId {
    bench.frame(vec![
        ("carrier", string_array(&[Some("UA"), Some("AA"), None, Some("UA"), Some("DL")])),
        ("delay", ints(&[Some(5), Some(-3), Some(1), None, Some(20)])),
    ])
}

#[test]
fn group_by_is_sorted_with_nulls_first() {
    let bench = TestEngine::default();
    let input = flights(&bench);
    let aggs = vec![
        call("len", []).alias("n"),
        call("sum", [col("delay")]).alias("sum"),
        op(call("max", [col("delay")]), Subtract, call("min", [col("delay")])).alias("spread"),
        col("delay").alias("all"),
    ];
    let id = bench.step(Op::GroupBy { input, keys: vec![col("carrier")], aggs });
    assert_eq!(
        bench.rows(id),
        "carrier n sum spread all|null 1 1 0 [1]|AA 1 -3 0 [-3]|DL 1 20 0 [20]|UA 2 5 0 [5,null]"
    );
    let id = bench.step(Op::GroupBy { input, keys: vec![col("carrier")], aggs: vec![] });
    assert_eq!(bench.rows(id), "carrier|null|AA|DL|UA");
}

#[test]
fn first_of_a_group_follows_the_sort_before_it() {
    let bench = TestEngine::default();
    let input = bench.step(Op::Sort { input: flights(&bench), keys: vec![desc("delay")] });
    let aggs = vec![call("first", [col("delay")]).alias("first"), call("last", [col("delay")]).alias("last")];
    let id = bench.step(Op::GroupBy { input, keys: vec![col("carrier")], aggs });
    // By hand: nulls come first in a descending sort, too.
    assert_eq!(bench.rows(id), "carrier first last|null 1 1|AA -3 -3|DL 20 20|UA null 5");
}

#[test]
fn filters_and_columns_keep_the_order() {
    let bench = TestEngine::default();
    let input = flights(&bench);
    let above = op(col("delay"), Greater, call("mean", [col("delay")]));
    let id = bench.step(Op::Filter { input, predicate: above });
    assert_eq!(bench.rows(id), "carrier delay|DL 20");
    let rel = op(col("delay"), Subtract, over(call("min", [col("delay")]), &["carrier"]));
    let id = bench.step(Op::WithColumns {
        input,
        exprs: vec![rel.alias("rel"), op(col("delay"), Multiply, lit(2)).alias("delay")],
    });
    assert_eq!(bench.rows(id), "carrier delay rel|UA 10 0|AA -6 0|null 2 0|UA null null|DL 40 0");
}

#[test]
fn sort_slice_and_tail() {
    let bench = TestEngine::default();
    let input = flights(&bench);
    let sorted = bench.step(Op::Sort { input, keys: vec![asc("delay")] });
    assert_eq!(bench.column(sorted, 1), ["null", "-3", "1", "5", "20"]);
    let sorted = bench.step(Op::Sort { input, keys: vec![desc("carrier"), asc("delay")] });
    assert_eq!(bench.rows(sorted), "carrier delay|null 1|UA null|UA 5|DL 20|AA -3");
    let slice = |offset, length| bench.column(bench.step(Op::Slice { input, offset, length }), 1);
    assert_eq!(slice(1, Some(2)), ["-3", "1"]);
    assert_eq!(slice(-2, None), ["null", "20"]);
    assert_eq!(slice(-3, Some(1)), ["1"]);
    assert_eq!(slice(-9, Some(5)), ["5"]);
    assert_eq!(slice(9, None), Vec::<String>::new());
}

fn sides(bench: &TestEngine) -> (FrameId, FrameId) {
    let left = bench.frame(vec![
        ("k", ints(&[Some(3), Some(1), None, Some(2), Some(1)])),
        ("v", string_array(&[Some("a"), Some("b"), Some("c"), Some("d"), Some("e")])),
    ]);
    let right = bench.frame(vec![
        ("k", ints(&[Some(1), Some(2), Some(1), None, Some(9)])),
        ("v", string_array(&[Some("p"), Some("q"), Some("r"), Some("s"), Some("t")])),
    ]);
    (left, right)
}

#[test]
fn joins_have_polars_columns_and_rows() {
    let bench = TestEngine::default();
    let (left, right) = sides(&bench);
    let join = |how| {
        bench.rows(bench.step(Op::Join {
            left,
            right,
            how,
            left_on: vec![col("k")],
            right_on: vec![col("k")],
            suffix: "_right".to_string(),
        }))
    };
    assert_eq!(join(JoinKind::Inner), "k v v_right|1 b p|1 b r|2 d q|1 e p|1 e r");
    assert_eq!(join(JoinKind::Left), "k v v_right|3 a null|1 b p|1 b r|null c null|2 d q|1 e p|1 e r");
    assert_eq!(join(JoinKind::Right), "v k v_right|b 1 p|e 1 p|d 2 q|b 1 r|e 1 r|null null s|null 9 t");
    assert_eq!(join(JoinKind::Semi), "k v|1 b|2 d|1 e");
    assert_eq!(join(JoinKind::Anti), "k v|3 a|null c");
    let full = join(JoinKind::Full);
    assert!(
        full.starts_with("k v k_right v_right|3 a null null|1 b 1 p|1 b 1 r|null c null null|2 d 2 q|1 e 1 p|1 e 1 r|"),
        "{full}"
    );
    assert_eq!(full.split('|').count(), 10);
    let cross = bench.step(Op::Join {
        left,
        right,
        how: JoinKind::Cross,
        left_on: vec![],
        right_on: vec![],
        suffix: "_r".into(),
    });
    assert_eq!(bench.rows(cross).split('|').take(3).collect::<Vec<_>>(), ["k v k_r v_r", "3 a 1 p", "3 a 2 q"]);
}

#[test]
fn joins_of_different_names_drop_the_right_key() {
    let bench = TestEngine::default();
    let left = bench.frame(vec![("dest", string_array(&[Some("JFK"), Some("LGA")]))]);
    let right = bench.frame(vec![
        ("faa", string_array(&[Some("LGA"), Some("JFK")])),
        ("name", string_array(&[Some("La"), Some("Ke")])),
    ]);
    let id = bench.step(Op::Join {
        left,
        right,
        how: JoinKind::Left,
        left_on: vec![col("dest")],
        right_on: vec![col("faa")],
        suffix: "_right".to_string(),
    });
    assert_eq!(bench.rows(id), "dest name|JFK Ke|LGA La");
}

#[test]
fn unique_nulls_and_counts() {
    let bench = TestEngine::default();
    let input = flights(&bench);
    let unique = |keep| bench.rows(bench.step(Op::Unique { input, subset: vec![col("carrier")], keep }));
    assert_eq!(unique(Keep::First), "carrier delay|UA 5|AA -3|null 1|DL 20");
    assert_eq!(unique(Keep::Last), "carrier delay|AA -3|null 1|UA null|DL 20");
    assert_eq!(unique(Keep::None), "carrier delay|AA -3|null 1|DL 20");
    let id = bench.step(Op::DropNulls { input, subset: vec![] });
    assert_eq!(bench.rows(id), "carrier delay|UA 5|AA -3|DL 20");
    let id = bench.step(Op::FillNull { input, value: Value::Int(0) });
    assert_eq!(bench.column(id, 1), ["5", "-3", "1", "0", "20"]);
    let id = bench.step(Op::ValueCounts { input, column: col("carrier") });
    assert_eq!(bench.rows(id), "carrier count|UA 2|null 1|AA 1|DL 1");
}

#[test]
fn reshaping() {
    let bench = TestEngine::default();
    let long = bench.frame(vec![
        ("day", ints(&[Some(2), Some(2), Some(1)])),
        ("what", string_array(&[Some("b"), Some("a"), Some("b")])),
        ("x", ints(&[Some(10), Some(20), Some(30)])),
    ]);
    let wide = bench.step(Op::Pivot {
        input: long,
        on: vec!["what".into()],
        index: vec!["day".into()],
        values: vec!["x".into()],
        aggregate: "first".into(),
    });
    assert_eq!(bench.rows(wide), "day b a|2 10 20|1 30 null");
    let back = bench.step(Op::Unpivot {
        input: wide,
        index: vec!["day".into()],
        on: vec![],
        variable_name: "what".into(),
        value_name: "x".into(),
    });
    assert_eq!(bench.rows(back), "day what x|2 b 10|1 b 30|2 a 20|1 a null");
    let lists = bench.step(Op::GroupBy { input: long, keys: vec![col("day")], aggs: vec![col("x")] });
    let id = bench.step(Op::Explode { input: lists, columns: vec!["x".into()] });
    assert_eq!(bench.rows(id), "day x|1 30|2 10|2 20");
    let other = bench.frame(vec![("x", ints(&[Some(1)])), ("new", string_array(&[Some("z")]))]);
    let concat = |inputs, how| bench.rows(bench.step(Op::Concat { inputs, how }));
    assert_eq!(concat(vec![long, long], ConcatHow::Vertical).split('|').count(), 7);
    assert_eq!(
        concat(vec![long, other], ConcatHow::Diagonal),
        "day what x new|2 b 10 null|2 a 20 null|1 b 30 null|null null 1 z"
    );
    let renamed = bench.step(Op::Rename { input: other, names: vec![("x".into(), "y".into())] });
    let uneven = bench.step(Op::Concat { inputs: vec![long, renamed], how: ConcatHow::Horizontal });
    assert_eq!(bench.try_rows(uneven).unwrap_err().code, "different-heights");
    let one = bench.step(Op::Slice { input: long, offset: 0, length: Some(1) });
    assert_eq!(concat(vec![one, renamed], ConcatHow::Horizontal), "day what x y new|2 b 10 1 z");
    let id = bench.step(Op::WithRowIndex { input: long, name: "n".into(), offset: 5 });
    assert_eq!(bench.rows(id), "n day what x|5 2 b 10|6 2 a 20|7 1 b 30");
}

#[test]
fn describe_counts_and_quantiles() {
    let bench = TestEngine::default();
    let input = bench.frame(vec![
        ("a", ints(&[Some(1), Some(2), Some(3), Some(4), None])),
        ("s", string_array(&[Some("x"), None, Some("y"), None, None])),
    ]);
    let id = bench.step(Op::Describe { input });
    assert_eq!(
        bench.rows(id),
        "statistic a s|count 4.0 2|null_count 1.0 3|mean 2.5 null|std 1.290994449 null|min 1.0 x|25% 2.0 null|50% 3.0 null|75% 3.0 null|max 4.0 y"
    );
}

/// Of many columns, and of none of their rows; by hand. What a plan of them takes does not grow with the square of
/// their number: that was more than a minute here.
#[test]
fn describe_of_many_columns() {
    let bench = TestEngine::on_cpu();
    let columns: Vec<String> = (0..400).map(|i| format!("n + {i} as c{i}")).collect();
    let query = format!("select {} from range(5) as r(n)", columns.join(", "));
    let input = bench.step(Op::Sql { query, tables: Vec::new() });
    let started = std::time::Instant::now();
    let id = bench.step(Op::Describe { input });
    let said = ["5.0", "0.0", "301.0", "1.58113883", "299.0", "300.0", "301.0", "302.0", "303.0"];
    assert_eq!(bench.column(id, 300), said);
    assert!(started.elapsed().as_secs() < 40, "{:?}", started.elapsed());
    let nothing = bench.step(Op::Slice { input, offset: 0, length: Some(0) });
    let id = bench.step(Op::Describe { input: nothing });
    assert_eq!(bench.column(id, 400)[..4], ["0.0", "0.0", "null", "null"]);
    // A part of what is described, in another order.
    let few = bench.step(Op::Select { input: id, exprs: vec![col("c1"), col("statistic")] });
    let last = bench.step(Op::Slice { input: few, offset: -1, length: None });
    assert_eq!(bench.rows(last), "c1 statistic|null max");
}

#[test]
fn samples_are_the_same_each_time() {
    let bench = TestEngine::default();
    let values: Vec<Option<i64>> = (0..1000).map(Some).collect();
    let input = bench.frame(vec![("a", ints(&values))]);
    let sample =
        |amount, seed| bench.column(bench.step(Op::Sample { input, amount, seed, with_replacement: false }), 0);
    let ten = sample(SampleSize::Rows(10), 1);
    assert_eq!(ten.len(), 10);
    assert_eq!(ten, sample(SampleSize::Rows(10), 1));
    assert_ne!(ten, sample(SampleSize::Rows(10), 2));
    assert_eq!(sample(SampleSize::Fraction(0.25), 7).len(), 250);
    // With replacement: more than there are, in the frame's order, some of them twice.
    let amount = SampleSize::Rows(1500);
    let drawn = bench.column(bench.step(Op::Sample { input, amount, seed: 1, with_replacement: true }), 0);
    let numbers: Vec<i64> = drawn.iter().map(|v| v.parse().unwrap()).collect();
    assert_eq!(numbers.len(), 1500);
    assert!(numbers.is_sorted() && numbers.windows(2).any(|w| w[0] == w[1]));
}
