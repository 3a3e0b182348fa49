//! Steps are streams: the plan of a frame that nobody holds becomes a part of the plan that reads it. Expected values
//! are a calculation by hand, or those of the same steps over rows that are held.

use onrush_engine::{EngineChoice, EngineConfig};
use onrush_frame::TaskHandle;
use onrush_wire::plan::{ConcatHow, JoinKind, Keep, Op};
use onrush_wire::{BinaryOp, Expr, FrameId};

use super::support::*;

fn sum(name: &str) -> Expr {
    call("sum", [col(name)])
}

fn letters(bench: &TestEngine) -> FrameId {
    bench.frame(vec![
        ("k", string_array(&[Some("b"), Some("a"), Some("c"), Some("a"), Some("b"), Some("a")])),
        ("n", ints(&[Some(3), Some(1), None, Some(2), Some(5), Some(9)])),
        ("m", ints(&[Some(0), Some(1), Some(2), Some(3), Some(4), Some(5)])),
    ])
}

/// By hand: 20 a frame.
#[test]
fn a_concatenation_is_read_as_it_comes() {
    let bench = TestEngine::on_cpu();
    let frame = letters(&bench);
    let all = bench.step(Op::Concat { inputs: vec![frame; 10], how: ConcatHow::Vertical });
    let total = bench.step(Op::Select { input: all, exprs: vec![sum("n").alias("n")] });
    let plan = bench.engine.explain(total, true, &TaskHandle::new()).unwrap();
    assert!(!plan.contains("the result of") && !plan.contains("sort"), "{plan}");
    assert_eq!(bench.rows(total), "n|200");
    // The order of the frames, and of the rows of each.
    let numbered = bench.step(Op::WithRowIndex { input: all, name: "i".to_string(), offset: 0 });
    let some = bench.step(Op::Filter {
        input: numbered,
        predicate: op(op(col("i"), BinaryOp::Remainder, lit(7i64)), BinaryOp::Equal, lit(0i64)),
    });
    assert_eq!(bench.column(some, 3).join(" "), "0 1 2 3 4 5 0 1 2");
}

/// The order of the rows does not matter to a sum. By hand.
#[test]
fn a_sort_that_decides_nothing_is_left_out() {
    let bench = TestEngine::on_cpu();
    let frame = letters(&bench);
    let sorted = bench.step(Op::Sort { input: frame, keys: vec![desc("m")] });
    let plan = |id| bench.engine.explain(id, true, &TaskHandle::new()).unwrap();
    let total =
        bench.step(Op::Select { input: sorted, exprs: vec![sum("m").alias("m"), call("max", [col("k")]).alias("k")] });
    assert!(!plan(total).contains("sort"), "{}", plan(total));
    assert_eq!(bench.rows(total), "m k|15 c");
    let first = bench.step(Op::Select { input: sorted, exprs: vec![call("first", [col("m")]).alias("m")] });
    assert!(plan(first).contains("sort"), "{}", plan(first));
    assert_eq!(bench.rows(first), "m|5");
}

/// Steps that give rows in an order, and steps whose result depends on it.
fn chains(bench: &TestEngine, show: bool) -> Vec<String> {
    let shown = |op: Op| {
        let id = bench.step(op);
        if show {
            bench.rows(id);
        }
        id
    };
    let frame = letters(bench);
    let other = bench.frame(vec![
        ("k", string_array(&[Some("a"), Some("b"), Some("a"), Some("d")])),
        ("w", ints(&[Some(7), Some(8), Some(6), Some(1)])),
    ]);
    let sorted = shown(Op::Sort { input: frame, keys: vec![desc("m")] });
    let twice = shown(Op::Sort { input: sorted, keys: vec![asc("k")] });
    let others = shown(Op::Sort { input: other, keys: vec![asc("w")] });
    let (left_on, right_on) = (vec![col("k")], vec![col("k")]);
    let joined = |left, right, how| {
        let (left_on, right_on) = (left_on.clone(), right_on.clone());
        shown(Op::Join { left, right, how, left_on, right_on, suffix: "_right".to_string() })
    };
    let groups =
        shown(Op::GroupBy { input: frame, keys: vec![col("k")], aggs: vec![sum("n").alias("n"), sum("m").alias("m")] });
    let ordered = [
        sorted,
        twice,
        joined(sorted, others, JoinKind::Inner),
        joined(twice, others, JoinKind::Left),
        joined(sorted, others, JoinKind::Full),
        joined(sorted, sorted, JoinKind::Inner),
        joined(sorted, others, JoinKind::Semi),
        groups,
        shown(Op::Concat { inputs: vec![sorted, twice, groups, sorted], how: ConcatHow::Vertical }),
        shown(Op::Concat { inputs: vec![sorted, frame], how: ConcatHow::Diagonal }),
        shown(Op::Unique { input: twice, subset: vec![col("k")], keep: Keep::First }),
        shown(Op::Slice { input: sorted, offset: 1, length: Some(3) }),
    ];
    let mut results = Vec::new();
    for input in ordered {
        let aggregates = vec![
            sum("m").alias("sum"),
            call("first", [col("m")]).alias("first"),
            call("last", [col("k")]).alias("last"),
            call("implode", [col("m")]).alias("all"),
        ];
        let by_k = Op::GroupBy { input, keys: vec![col("k")], aggs: aggregates.clone() };
        results.push(bench.rows(input));
        for op in [
            Op::Select { input, exprs: aggregates },
            by_k,
            Op::WithRowIndex { input, name: "i".to_string(), offset: 0 },
            Op::WithColumns {
                input,
                exprs: vec![call("cum_sum", [col("m")]).alias("c"), over(call("first", [col("m")]), &["k"]).alias("f")],
            },
            Op::Unique { input, subset: vec![col("k")], keep: Keep::Last },
            Op::Slice { input, offset: -2, length: None },
            Op::Concat { inputs: vec![input, input], how: ConcatHow::Vertical },
            Op::Sort { input, keys: vec![asc("k")] },
        ] {
            results.push(bench.rows(bench.step(op)));
        }
    }
    results
}

/// The rows of frames that are shown, and so held, are those of frames that are not.
#[test]
fn orders_are_kept_where_a_result_depends_on_them() {
    for choice in choices() {
        // Kernels of a device take a while to compile.
        for chunk_rows in if choice == EngineChoice::Cpu { vec![None, Some(2)] } else { vec![None] } {
            let config = || EngineConfig { choice, chunk_rows, jitter: chunk_rows.is_some(), ..on_device() };
            let (held, streamed) = (chains(&TestEngine::of(config()), true), chains(&TestEngine::of(config()), false));
            assert_eq!(held.len(), 12 * 9);
            for (number, (held, streamed)) in held.iter().zip(&streamed).enumerate() {
                assert_eq!(streamed, held, "chain {number} on {choice:?} in chunks of {chunk_rows:?}");
            }
        }
    }
}

/// A frame that two steps of one plan read is computed once, if its rows are few.
#[test]
fn what_is_read_twice_is_computed_once() {
    let bench = TestEngine::on_cpu();
    let frame = letters(&bench);
    let groups = bench.step(Op::GroupBy { input: frame, keys: vec![col("k")], aggs: vec![sum("m").alias("m")] });
    let both = bench.step(Op::Concat { inputs: vec![groups, groups], how: ConcatHow::Vertical });
    let total = bench.step(Op::Select { input: both, exprs: vec![sum("m").alias("m")] });
    let plan = bench.engine.explain(total, true, &TaskHandle::new()).unwrap();
    assert!(plan.contains("the result of group_by"), "{plan}");
    assert_eq!(bench.rows(total), "m|30");
}

/// A frame of itself twice, and so on: 2^40 times the first one, of which the steps are few.
#[test]
fn plans_of_frames_that_are_read_twice_stay_small() {
    let bench = TestEngine::on_cpu();
    let mut frame = bench.frame(vec![("n", ints(&[Some(1)]))]);
    for _ in 0..40 {
        let both = bench.step(Op::Concat { inputs: vec![frame, frame], how: ConcatHow::Vertical });
        frame = bench.step(Op::Slice { input: both, offset: 0, length: Some(1) });
    }
    assert_eq!(bench.rows(frame), "n|1");
}

/// Plans have 24 MB, and each query has several times as much in the middle. By hand: the numbers below 2,000,000 in an
/// order that a multiplication modulo a prime gives.
#[test]
fn a_query_whose_result_is_one_row_does_not_die_of_its_middle() {
    const ROWS: i64 = 2_000_000;
    const PRIME: i64 = 2_000_003;
    let place = |x: i64| x * 7_919 % PRIME;
    let config = EngineConfig { choice: EngineChoice::Cpu, memory_limit: 48 << 20, ..EngineConfig::default() };
    let bench = TestEngine::of(config);
    let query = format!("select x, x * 7919 % {PRIME} place, x % 1500000 k from range({ROWS}) q(x)");
    let frame = bench.try_sql(&query, &[]).unwrap();

    let groups = bench.step(Op::GroupBy {
        input: frame,
        keys: vec![col("k")],
        aggs: vec![sum("x").alias("x"), sum("place").alias("p")],
    });
    let total = bench
        .step(Op::Select { input: groups, exprs: vec![sum("x").alias("x"), sum("p").alias("p"), sum("k").alias("k")] });
    let (all, places): (i64, i64) = (ROWS * (ROWS - 1) / 2, (0..ROWS).map(place).sum());
    assert_eq!(bench.rows(total), format!("x p k|{all} {places} {}", 1_500_000i64 * 1_499_999 / 2));

    let sorted = bench.step(Op::Sort { input: frame, keys: vec![desc("place")] });
    let numbered = bench.step(Op::WithRowIndex { input: sorted, name: "i".to_string(), offset: 0 });
    let some = bench.step(Op::Filter {
        input: numbered,
        predicate: op(op(col("i"), BinaryOp::Remainder, lit(500_000i64)), BinaryOp::Equal, lit(0i64)),
    });
    let mut expected: Vec<i64> = (0..ROWS).map(place).collect();
    expected.sort_unstable_by(|a, b| b.cmp(a));
    let expected: Vec<String> = expected.iter().step_by(500_000).map(i64::to_string).collect();
    let chosen = bench.step(Op::Select { input: some, exprs: vec![col("place")] });
    assert_eq!(bench.column(chosen, 0), expected);
}

/// A build side of 800,000 rows needs 57 MB, and 24 MB are there. The sums and the order are by hand.
#[test]
fn a_join_larger_than_memory_goes_to_disk() {
    const ROWS: i64 = 800_000;
    let config = EngineConfig { choice: EngineChoice::Cpu, memory_limit: 48 << 20, ..EngineConfig::default() };
    let bench = TestEngine::of(config);
    // Each key once: 1,000,003 is a prime.
    let side = |name: &str| format!("select x {name}, x * 7919 % 1000003 k from range({ROWS}) q(x)");
    let (left, right) = (bench.try_sql(&side("x"), &[]).unwrap(), bench.try_sql(&side("y"), &[]).unwrap());
    let on = vec![col("k")];
    let joined = bench.step(Op::Join {
        left,
        right,
        how: JoinKind::Inner,
        left_on: on.clone(),
        right_on: on,
        suffix: "_right".to_string(),
    });
    let exprs = vec![call("len", []).alias("n"), sum("x").alias("x"), sum("y").alias("y")];
    let total = bench.step(Op::Select { input: joined, exprs });
    let all = ROWS * (ROWS - 1) / 2;
    assert_eq!(bench.rows(total), format!("n x y|{ROWS} {all} {all}"));
    let some = bench.step(Op::Filter {
        input: joined,
        predicate: op(op(col("x"), BinaryOp::Remainder, lit(200_000i64)), BinaryOp::Equal, lit(0i64)),
    });
    let chosen = bench.step(Op::Select { input: some, exprs: vec![col("x"), col("y")] });
    assert_eq!(bench.rows(chosen), "x y|0 0|200000 200000|400000 400000|600000 600000");
}

/// Thousands of aggregates are planned in a time that grows with their number, not with its square or cube. By hand: 6
/// rows.
#[test]
fn thousands_of_sums_are_selected() {
    let bench = TestEngine::on_cpu();
    let frame = letters(&bench);
    let of = |count: i64| {
        let exprs = (0..count).map(|at| {
            let value = op(col("m"), BinaryOp::Add, lit(at));
            call("sum", [value]).alias(format!("s{at}"))
        });
        let begun = std::time::Instant::now();
        let row = bench.step(Op::Select { input: frame, exprs: exprs.collect() });
        let values = bench.try_rows(row).unwrap();
        (values, begun.elapsed())
    };
    let (first, few) = of(1_000);
    assert_eq!(first[0][..3], ["15", "21", "27"]);
    let (rows, many) = of(4_000);
    assert_eq!((rows.len(), rows[0].len(), rows[0][3_999].as_str()), (1, 4_000, "24009"));
    // 4 for linear growth, 16 for a square, 64 for a cube.
    assert!(many < few * 14, "{few:?}, {many:?}");
}
