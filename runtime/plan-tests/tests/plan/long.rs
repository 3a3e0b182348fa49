//! Expressions, queries and plans that programs write: answered, or refused in a sentence, and in a time that grows as
//! they do. Values come from arithmetic.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array};
use onrush_engine::CALLS_STACK;
use onrush_wire::plan::{ConcatHow, Op};
use onrush_wire::{BinaryOp, Expr, ExprKind, FrameId};

use super::support::{TestEngine, span};

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Binary(op, Box::new(left), Box::new(right)))
}

fn add(left: Expr, right: Expr) -> Expr {
    binary(BinaryOp::Add, left, right)
}

fn col(name: &str) -> Expr {
    Expr::column(name)
}

fn lit(value: i64) -> Expr {
    Expr::literal(value)
}

fn numbers(bench: &TestEngine) -> FrameId {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(2.0)]));
    let decimals = Decimal128Array::from(vec![Some(150), None, Some(-25)]).with_precision_and_scale(10, 2).unwrap();
    bench.frame(vec![
        ("n", Arc::new(Int64Array::from(vec![Some(5), None, Some(-7)]))),
        ("x", floats),
        ("d", Arc::new(decimals)),
    ])
}

/// Much less than a growth with the square of the terms takes, and enough for a busy machine. On the stack that calls
/// have in an engine.
fn quickly<T: Send>(what: &str, work: impl FnOnce() -> T + Send) -> T {
    let begun = Instant::now();
    let done = std::thread::scope(|scope| {
        let call = std::thread::Builder::new().stack_size(CALLS_STACK).spawn_scoped(scope, work).unwrap();
        call.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    let took = begun.elapsed();
    eprintln!("{what}: {took:?}");
    assert!(took < Duration::from_secs(20), "{what}: {took:?}");
    done
}

#[test]
fn sums_of_many_terms() {
    let bench = TestEngine::default();
    let frame = numbers(&bench);
    let left = (0..1_500).fold(col("n"), |sum, _| add(sum, lit(1)));
    assert_eq!(quickly("left", || bench.select(frame, left)), "i64: 1505 null 1493");
    let right = (0..1_500).fold(col("n"), |sum, _| add(lit(1), sum));
    assert_eq!(quickly("right", || bench.select(frame, right)), "i64: 1505 null 1493");
    let mut level = vec![col("n"); 1_500];
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| pair.iter().cloned().reduce(add).unwrap()).collect();
    }
    assert_eq!(quickly("balanced", || bench.select(frame, level.remove(0))), "i64: 7500 null -10500");
    // One to the other side after each: n - (n - (n - ...)) is n, as there are evenly many.
    let minus = (0..1_500).fold(col("n"), |sum, _| binary(BinaryOp::Subtract, col("n"), sum));
    assert_eq!(quickly("to and fro", || bench.select(frame, minus)), "i64: 5 null -7");
    // 0.5 times 2 and 0.5 again and again.
    let factors = (0..1_000).fold(col("x"), |product, i| {
        binary(BinaryOp::Multiply, product, Expr::literal(if i % 2 == 0 { 2.0 } else { 0.5 }))
    });
    assert_eq!(quickly("factors", || bench.select(frame, factors)), "f64: 0.5 null 2.0");
    let decimals = (0..1_000).fold(col("d"), |sum, _| add(sum, col("d")));
    assert_eq!(quickly("decimals", || bench.select(frame, decimals)), "decimal[38,2]: 1501.50 null -250.25");
    let mixed = (0..1_000).fold(col("n"), |sum, i| add(sum, if i % 2 == 0 { col("x") } else { lit(1) }));
    assert_eq!(quickly("mixed", || bench.select(frame, mixed)), "f64: 755.0 null 1493.0");
}

#[test]
fn conditions_of_many_parts() {
    // Kernels of a device do not take so many parameters: there the plan runs on the CPU.
    let bench = TestEngine::default();
    let frame = bench.frame(vec![("n", Arc::new(Int64Array::from_iter_values(0..10_000)))]);
    let is = |value: i64| binary(BinaryOp::Equal, col("n"), lit(value));
    let any = (1..3_000).map(|i| is(i * 3)).reduce(|a, b| binary(BinaryOp::Or, a, b)).unwrap();
    let count = |predicate: Expr| {
        let kept = bench.step(Op::Filter { input: frame, predicate });
        bench.try_rows(kept).unwrap().len()
    };
    assert_eq!(quickly("any of 3,000", || count(any)), 2_999);
    let not = |value: i64| binary(BinaryOp::NotEqual, col("n"), lit(value));
    let all = (1..3_000).map(|i| not(i * 3)).reduce(|a, b| binary(BinaryOp::And, a, b)).unwrap();
    assert_eq!(quickly("all of 3,000", || count(all)), 10_000 - 2_999);
}

#[test]
fn what_is_too_deep_is_refused_in_a_sentence() {
    let bench = TestEngine::default();
    let frame = numbers(&bench);
    let refused = |expr: Expr| {
        let error = quickly("refused", || bench.try_select(frame, expr).unwrap_err());
        assert_eq!(error.code, "deep-expression", "{error}");
        // At the call: no single token is wrong.
        assert_eq!(error.labels[0].span, span(99));
    };
    refused((0..100_000).fold(col("n"), |sum, _| add(sum, lit(1))));
    refused((0..100_000).fold(col("n"), |value, _| Expr::call("abs", [value])));
    refused((0..2_000).fold(col("n"), |value, _| Expr::call("abs", [value])));
    // A rolling hash.
    refused((0..200).fold(lit(7), |hash, _| binary(BinaryOp::Remainder, add(hash, col("n")), lit(1_000_003))));
    refused(
        (0..2_000).fold(col("n"), |value, _| Expr::new(ExprKind::Unary(onrush_wire::UnaryOp::Negate, Box::new(value)))),
    );
    let nested = (0..10).fold(col("n"), |value, _| Expr::call("abs", [value]));
    assert_eq!(quickly("calls", || bench.select(frame, nested)), "i64: 5 null 7");
}

#[test]
fn many_columns() {
    // Kernels of a device do not take so many parameters: there the plan runs on the CPU.
    let bench = TestEngine::default();
    let frame = numbers(&bench);
    let sums = (0..5_000).map(|i| add(col("n"), lit(i)).alias(format!("c{i}"))).collect();
    let wide = quickly("5,000 sums", || {
        let wide = bench.step(Op::Select { input: frame, exprs: sums });
        bench.try_rows(wide).unwrap()
    });
    assert_eq!((wide[0].len(), wide[0][4_999].as_str()), (5_000, "5004"));
}

#[test]
fn queries_of_many_terms() {
    let bench = TestEngine::default();
    let query = |terms: usize| format!("select {} as s", vec!["1"; terms].join("+"));
    for terms in [60, 65, 66, 1_500] {
        assert_eq!(quickly("terms", || bench.sql(&query(terms), &[])), format!("s|{terms}"));
    }
    // 1,000 times 3, less 999, and the product of 62 times 2.
    let mixed = format!("select {}-{} as s", vec!["3"; 1_000].join("+"), vec!["1"; 999].join("-"));
    assert_eq!(quickly("mixed", || bench.sql(&mixed, &[])), "s|2001");
    let product = format!("select {} as s", vec!["2"; 62].join("*") + &"*1".repeat(100));
    assert_eq!(quickly("product", || bench.sql(&product, &[])), "s|4611686018427387904");
    // As in DuckDB, a sum that does not fit is an error, also in the middle of a chain.
    let overflow = format!("select {}+9223372036854775807-{} as s", vec!["1"; 100].join("+"), vec!["1"; 300].join("-"));
    // Whether the sum is folded at once or computed with the rows is the planner's choice.
    let error = bench.try_sql(&overflow, &[]).and_then(|id| bench.try_rows(id)).unwrap_err();
    assert!(error.message.contains("too large for its type"), "{error}");
    // Two sums of the same terms are two aggregates: 66 - 2 and 3 * 66 - 4 less than 66 + 2 and 3 * 66 + 4, by 12.
    let many = vec!["a"; 66].join("+");
    let sums = format!("with t(a, b) as (values (1, 2), (3, 4)) select sum({many}+b) - sum({many}-b) as s from t");
    assert_eq!(bench.sql(&sums, &[]), "s|12");
    let cases = vec!["case when true then 1 end"; 3_000].join("+");
    let error = bench.try_sql(&format!("select {cases} as s"), &[]).unwrap_err();
    assert_eq!(error.code, "deep-expression", "{error}");
    let error = quickly("20,000 terms", || bench.try_sql(&query(20_000), &[]).unwrap_err());
    assert_eq!(error.code, "deep-expression", "{error}");
}

#[test]
fn concat_of_many_frames() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![("n", Arc::new(Int64Array::from(vec![1, 2])))]);
    let rows = quickly("1,000 frames", || {
        let all = bench.step(Op::Concat { inputs: vec![frame; 1_000], how: ConcatHow::Vertical });
        bench.try_rows(all).unwrap()
    });
    assert_eq!((rows.len(), rows[0][0].as_str(), rows[1_999][0].as_str()), (2_000, "1", "2"));
}
