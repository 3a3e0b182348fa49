//! As-of joins, on the CPU and on the emulated device.

use std::sync::Arc;

use arrow::array::{ArrayRef, Date32Array, TimestampMillisecondArray, UInt64Array};
use onrush_engine::{EngineChoice, EngineConfig, Policy};
use onrush_wire::plan::{Asof, AsofStrategy, AsofStrategy::*, Op};
use onrush_wire::{FrameId, Value};

use super::support::*;

fn engines() -> [TestEngine; 2] {
    let device = EngineConfig {
        choice: EngineChoice::Emulated,
        cache: Some(onrush_wire::paths::cache_dir()),
        policy: Some(Policy::Only),
        ..EngineConfig::default()
    };
    [TestEngine::on_cpu(), TestEngine::of(device)]
}

fn asof(strategy: AsofStrategy) -> Asof {
    Asof {
        left_on: col("t"),
        right_on: col("t"),
        left_by: vec![],
        right_by: vec![],
        strategy,
        tolerance: None,
        exact: true,
        suffix: "_right".to_string(),
    }
}

fn join(bench: &TestEngine, left: FrameId, right: FrameId, with: Asof) -> String {
    bench.rows(bench.step(Op::JoinAsof { left, right, with }))
}

fn column(array: impl arrow::array::Array + 'static) -> ArrayRef {
    Arc::new(array)
}

/// From pandas 3.1, `merge_asof` over sorted frames.
#[test]
fn rows_are_those_of_pandas() {
    let cases = [
        (Backward, true, None, true, "52 null 80 90 null 11"),
        (Backward, true, None, false, "20 null 80 90 null 11"),
        (Backward, true, Some(2), true, "52 null 80 90 null 11"),
        (Backward, true, Some(2), false, "null null 80 90 null 11"),
        (Backward, false, None, true, "52 11 90 90 52 20"),
        (Backward, false, None, false, "20 null 90 90 52 20"),
        (Backward, false, Some(2), true, "52 11 90 90 52 20"),
        (Backward, false, Some(2), false, "null null 90 90 52 20"),
        (Forward, true, None, true, "51 20 200 null 80 null"),
        (Forward, true, None, false, "90 20 200 null 80 null"),
        (Forward, true, Some(2), true, "51 20 null null 80 null"),
        (Forward, true, Some(2), false, "null 20 null null 80 null"),
        (Forward, false, None, true, "51 11 200 200 80 51"),
        (Forward, false, None, false, "80 20 200 200 80 51"),
        (Forward, false, Some(2), true, "51 11 null null 80 51"),
        (Forward, false, Some(2), false, "null 20 null null 80 51"),
        (Nearest, true, None, true, "52 20 80 90 80 11"),
        (Nearest, true, None, false, "20 20 80 90 80 11"),
        (Nearest, true, Some(2), true, "52 20 80 90 80 11"),
        (Nearest, true, Some(2), false, "null 20 80 90 80 11"),
        (Nearest, false, None, true, "52 11 90 90 80 20"),
        (Nearest, false, None, false, "20 20 90 90 80 20"),
        (Nearest, false, Some(2), true, "52 11 90 90 80 20"),
        (Nearest, false, Some(2), false, "null 20 90 90 80 20"),
    ];
    for bench in engines() {
        let numbers = |values: &[i64]| ints(&values.iter().map(|v| Some(*v)).collect::<Vec<_>>());
        let names = |text: &'static str| string_array(&text.split(' ').map(Some).collect::<Vec<_>>());
        let left = bench.frame(vec![
            ("t", numbers(&[5, 1, 10, 10, 7, 3])),
            ("k", names("a a b a b c")),
            ("v", numbers(&[50, 10, 100, 101, 70, 30])),
        ]);
        let right = bench.frame(vec![
            ("t", numbers(&[2, 5, 5, 8, 9, 20, 1])),
            ("k", names("a a a b a b c")),
            ("w", numbers(&[20, 51, 52, 80, 90, 200, 11])),
        ]);
        for (strategy, by, tolerance, exact, expected) in cases {
            let by = if by { vec![col("k")] } else { vec![] };
            let of = Asof {
                left_by: by.clone(),
                right_by: by,
                tolerance: tolerance.map(|n: i64| Value::Int(n)),
                exact,
                ..asof(strategy)
            };
            let found = join(&bench, left, right, of.clone());
            let found: Vec<&str> = found.split('|').collect();
            let names = if of.left_by.is_empty() { "t k v k_right w" } else { "t k v w" };
            assert_eq!(found[0], names);
            let last = |row: &&str| row.rsplit(' ').next().unwrap().to_string();
            let values: Vec<String> = found[1..].iter().map(last).collect();
            assert_eq!(values.join(" "), expected, "{of:?}");
            // The left rows as they were.
            let before: Vec<&str> = found[1..].iter().map(|row| row.split(' ').next().unwrap()).collect();
            assert_eq!(before.join(" "), "5 1 10 10 7 3");
        }
    }
}

/// By hand: a null or NaN is near nothing, minus zero is zero, and the ends of 64 bits are as far apart as they are.
#[test]
fn awkward_keys_match_as_numbers_do() {
    for bench in engines() {
        let values = [Some(-0.0), None, Some(f64::NAN), Some(f64::INFINITY), Some(1.5)];
        let left = bench.frame(vec![("t", floats(&values))]);
        let values = [Some(0.0), Some(f64::NAN), None, Some(1.0), Some(-1.0)];
        let right =
            bench.frame(vec![("t", floats(&values)), ("w", ints(&[Some(1), Some(2), Some(3), Some(4), Some(5)]))]);
        assert_eq!(join(&bench, left, right, asof(Backward)), "t w|-0.0 1|null null|NaN null|inf 4|1.5 4");
        assert_eq!(join(&bench, left, right, asof(Forward)), "t w|-0.0 1|null null|NaN null|inf null|1.5 null");
        let near = Asof { tolerance: Some(Value::Float(0.5)), ..asof(Nearest) };
        assert_eq!(join(&bench, left, right, near), "t w|-0.0 1|null null|NaN null|inf null|1.5 4");

        let left = bench.frame(vec![("t", ints(&[Some(i64::MAX), Some(0)]))]);
        let right = bench.frame(vec![("t", ints(&[Some(i64::MIN), Some(-1)])), ("w", ints(&[Some(1), None]))]);
        let near = |most: i64| Asof { tolerance: Some(Value::Int(most)), ..asof(Nearest) };
        assert_eq!(join(&bench, left, right, near(i64::MAX)), format!("t w|{} null|0 null", i64::MAX));
        let only = bench.frame(vec![("t", ints(&[Some(i64::MIN)])), ("w", ints(&[Some(1)]))]);
        assert_eq!(join(&bench, left, only, near(i64::MAX)), format!("t w|{} null|0 null", i64::MAX));
        assert_eq!(join(&bench, left, only, asof(Backward)), format!("t w|{} 1|0 1", i64::MAX));
        let left = bench.frame(vec![("t", column(UInt64Array::from(vec![u64::MAX])))]);
        let right = bench.frame(vec![("t", column(UInt64Array::from(vec![u64::MAX - 3]))), ("w", ints(&[Some(1)]))]);
        assert_eq!(join(&bench, left, right, near(3)), format!("t w|{} 1", u64::MAX));
        assert_eq!(join(&bench, left, right, near(2)), format!("t w|{} null", u64::MAX));
        let none = bench.frame(vec![("t", column(UInt64Array::from(Vec::<u64>::new()))), ("w", ints(&[]))]);
        assert_eq!(join(&bench, left, none, asof(Backward)), format!("t w|{} null", u64::MAX));
        assert_eq!(join(&bench, none, right, asof(Backward)), "t w w_right");
    }
}

/// Quotes of the last 10 ms, as in the example of pandas' documentation of `merge_asof`, whose values these are.
#[test]
fn times_have_spans() {
    let ms = |values: &[i64]| column(TimestampMillisecondArray::from(values.to_vec()));
    let names = |text: &'static str| string_array(&text.split(' ').map(Some).collect::<Vec<_>>());
    for bench in engines() {
        // From 13:30:00 on 25 May 2016.
        let at = 1_464_183_000_000;
        let times = |offsets: &[i64]| ms(&offsets.iter().map(|ms| at + ms).collect::<Vec<_>>());
        let trades = bench.frame(vec![
            ("t", times(&[23, 38, 48, 48, 48])),
            ("ticker", names("MSFT MSFT GOOG GOOG AAPL")),
            ("price", floats(&[Some(51.95), Some(51.95), Some(720.77), Some(720.92), Some(98.0)])),
        ]);
        let quotes = bench.frame(vec![
            ("t", times(&[23, 23, 30, 41, 48, 49, 72, 75])),
            ("ticker", names("GOOG MSFT MSFT MSFT GOOG AAPL GOOG MSFT")),
            ("bid", floats(&[720.50, 51.95, 51.97, 51.99, 720.50, 97.99, 720.50, 52.01].map(Some))),
        ]);
        let bids = |tolerance: Option<&str>, exact: bool| {
            let by = vec![col("ticker")];
            let of = Asof {
                left_by: by.clone(),
                right_by: by,
                tolerance: tolerance.map(Value::from),
                exact,
                ..asof(Backward)
            };
            bench.column(bench.step(Op::JoinAsof { left: trades, right: quotes, with: of }), 3).join(" ")
        };
        assert_eq!(bids(None, true), "51.95 51.97 720.5 720.5 null");
        assert_eq!(bids(Some("2ms"), true), "51.95 null 720.5 720.5 null");
        assert_eq!(bids(Some("10ms"), false), "null 51.97 null null null");
        // Days: by hand.
        let left = bench.frame(vec![("t", column(Date32Array::from(vec![10, 20])))]);
        let right = bench.frame(vec![("t", column(Date32Array::from(vec![3, 12]))), ("w", ints(&[Some(1), Some(2)]))]);
        let within = |text: &str| Asof { tolerance: Some(Value::from(text)), ..asof(Backward) };
        assert_eq!(join(&bench, left, right, within("1w")), "t w|1970-01-11 1|1970-01-21 null");
        assert_eq!(join(&bench, left, right, within("8d")), "t w|1970-01-11 1|1970-01-21 2");
    }
}

#[test]
fn what_is_near_nothing_is_refused() {
    let bench = TestEngine::on_cpu();
    let frame = bench.frame(vec![("t", ints(&[Some(1)])), ("k", string_array(&[Some("a")]))]);
    let refused = |with: Asof| {
        let error = bench.try_step(Op::JoinAsof { left: frame, right: frame, with }).unwrap_err();
        (error.code.clone(), error.message.clone())
    };
    let by_text = Asof { left_on: col("k"), right_on: col("k"), ..asof(Backward) };
    assert_eq!(refused(by_text), ("type-mismatch".into(), "the key `k` is str, which has no distances".into()));
    let unlike = Asof { left_on: col("k"), ..asof(Backward) };
    assert_eq!(refused(unlike).0, "type-mismatch");
    for tolerance in [Value::from("5m"), Value::Int(-1), Value::Float(f64::NAN), Value::Null] {
        let with = Asof { tolerance: Some(tolerance), ..asof(Backward) };
        assert_eq!(refused(with).0, "argument");
    }
}

/// By hand: the tolerance of decimals is not rounded up, and the distance of infinity from itself is 0.
#[test]
fn tolerances_are_not_rounded_up() {
    use arrow::array::Decimal128Array;
    for bench in engines() {
        let cents = |values: &[i128]| {
            let array = Decimal128Array::from_iter_values(values.iter().copied()).with_precision_and_scale(10, 2);
            column(array.unwrap())
        };
        let left = bench.frame(vec![("t", cents(&[113, 100 + 29]))]);
        let right = bench.frame(vec![("t", cents(&[100])), ("w", ints(&[Some(1)]))]);
        let within = |most: Value| Asof { tolerance: Some(most), ..asof(Backward) };
        let found = |most: Value| join(&bench, left, right, within(most));
        assert_eq!(found(Value::Float(0.126)), "t w|1.13 null|1.29 null");
        assert_eq!(found(Value::Float(0.13)), "t w|1.13 1|1.29 null");
        assert_eq!(found(Value::Float(0.29)), "t w|1.13 1|1.29 1");
        assert_eq!(found(Value::Decimal { value: 1299, precision: 5, scale: 4 }), "t w|1.13 null|1.29 null");
        assert_eq!(found(Value::Int(1)), "t w|1.13 1|1.29 1");
        let left = bench.frame(vec![("t", floats(&[Some(f64::INFINITY), Some(2.0)]))]);
        let right = bench.frame(vec![("t", floats(&[Some(f64::INFINITY)])), ("w", ints(&[Some(1)]))]);
        assert_eq!(join(&bench, left, right, within(Value::Float(1.0))), "t w|inf 1|2.0 null");
        assert_eq!(join(&bench, left, right, asof(Nearest)), "t w|inf 1|2.0 1");
    }
}
