//! Parts of times, spans of several units, and times as strings. Values from Polars 2.1, unless a test says otherwise.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, DurationMicrosecondArray, Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray,
};
use onrush_wire::{BinaryOp, Expr, ExprKind, UnaryOp};

use super::support::*;

fn moment(text: &str) -> i64 {
    chrono::NaiveDateTime::parse_from_str(text, "%F %T").unwrap().and_utc().timestamp_micros()
}

/// Before the clocks change in Paris, and in the first of the two hours after two.
fn paris(bench: &TestEngine) -> onrush_wire::FrameId {
    let moments = TimestampMicrosecondArray::from(vec![moment("2024-03-30 10:30:00"), moment("2024-10-27 00:30:00")]);
    bench.frame(vec![("z", Arc::new(moments.with_timezone("Europe/Paris")) as ArrayRef)])
}

/// pandas 3.1 and DuckDB 2.0; Polars has 8 bits and wraps.
#[test]
fn parts_of_times_have_32_bits() {
    for choice in choices() {
        let cache = Some(onrush_wire::paths::cache_dir());
        let bench = TestEngine::of(onrush_engine::EngineConfig { choice, cache, ..on_device() });
        let times = TimestampMicrosecondArray::from(vec![Some(moment("2024-12-29 15:23:45")), None]);
        let f = bench.frame(vec![("t", Arc::new(times) as ArrayRef)]);
        let part = |name: &str| call(&format!("dt.{name}"), [col("t")]);
        let minutes = op(op(part("hour"), BinaryOp::Multiply, lit(60)), BinaryOp::Add, part("minute"));
        assert_eq!(bench.select(f, minutes), "i32: 923 null");
        for (name, value) in [
            ("month", 12),
            ("day", 29),
            ("second", 45),
            ("quarter", 4),
            ("week", 52),
            ("weekday", 7),
            ("ordinal_day", 364),
            ("days_in_month", 31),
            ("iso_year", 2024),
            ("year", 2024),
        ] {
            let hundred = op(part(name), BinaryOp::Multiply, lit(1_000));
            assert_eq!(bench.select(f, hundred), format!("i32: {} null", value * 1_000), "{name}");
        }
    }
}

#[test]
fn zoned_times_are_written_in_local_time() {
    let bench = TestEngine::default();
    let f = paris(&bench);
    let written = |format: &str| bench.select(f, call("dt.to_string", [col("z"), lit(format)]));
    assert_eq!(written("%H:%M %z %Z"), "str: 11:30 +0100 CET 02:30 +0200 CEST");
    assert_eq!(written("%:z|%d"), "str: +01:00|30 +02:00|27");
    assert_eq!(written("%s"), "str: 1711794600 1729989000");
    assert_eq!(written("%+"), "str: 2024-03-30T11:30:00+01:00 2024-10-27T02:30:00+02:00");
    assert_eq!(written("%Y-%m-%d %H:%M"), "str: 2024-03-30 11:30 2024-10-27 02:30");
    let fixed = TimestampMicrosecondArray::from(vec![moment("2024-03-30 10:30:00")]).with_timezone("+05:30");
    let f = bench.frame(vec![("z", Arc::new(fixed) as ArrayRef)]);
    assert_eq!(bench.select(f, call("dt.to_string", [col("z"), lit("%H:%M%z")])), "str: 16:00+0530");
    // A time of day has no date.
    let time = Time64MicrosecondArray::from(vec![((13 * 60 + 5) * 60 + 9) * 1_000_000 + 123_000]);
    let f = bench.frame(vec![("t", Arc::new(time) as ArrayRef)]);
    assert_eq!(bench.select(f, call("dt.to_string", [col("t"), lit("%H.%M.%S%.f")])), "str: 13.05.09.123");
    let error = bench.try_select(f, call("dt.to_string", [col("t"), lit("%Y")])).unwrap_err();
    assert!(error.message.contains("time of day"), "{error}");
}

#[test]
fn spans_have_several_units() {
    let bench = TestEngine::default();
    let f = paris(&bench);
    let wall = call("dt.replace_time_zone", [col("z"), lit(onrush_wire::Value::Null)]);
    let moved = |of: Expr, by: &str| {
        let moved = call("dt.offset_by", [of, lit(by)]);
        let text = call("dt.to_string", [moved, lit("%m-%dT%H:%M")]);
        bench.select(f, text).trim_start_matches("str: ").to_string()
    };
    // In Paris days are those of the calendar, hours pass.
    assert_eq!(moved(col("z"), "1d12h"), "03-31T23:30 10-28T14:30");
    assert_eq!(moved(col("z"), "1mo2d3h"), "05-02T14:30 11-29T05:30");
    assert_eq!(moved(col("z"), "-1h30m"), "03-30T10:00 10-27T01:00");
    assert_eq!(moved(col("z"), "500ns"), "03-30T11:30 10-27T02:30");
    assert_eq!(moved(wall.clone(), "1d12h"), "03-31T23:30 10-28T14:30");
    assert_eq!(moved(wall.clone(), "-1d"), "03-29T11:30 10-26T02:30");
    assert_eq!(moved(wall, "1mo2d3h"), "05-02T14:30 11-29T05:30");
    let nanos = TimestampNanosecondArray::from(vec![1_700_000_000_000_000_123]);
    let f = bench.frame(vec![("n", Arc::new(nanos) as ArrayRef), ("x", ints(&[Some(1)]))]);
    let ticks = |expr: Expr| bench.select(f, call("dt.epoch", [expr, lit("ns")]));
    let by = |function: &str, span: &str| ticks(call(function, [col("n"), lit(span)]));
    assert_eq!(by("dt.offset_by", "500ns"), "i64: 1700000000000000623");
    assert_eq!(by("dt.offset_by", "1d"), "i64: 1700086400000000123");
    assert_eq!(by("dt.offset_by", "-1us"), "i64: 1699999999999999123");
    assert_eq!(by("dt.truncate", "500ns"), "i64: 1700000000000000000");
    // By hand: 13117 times 36 hours since 1970.
    assert_eq!(by("dt.truncate", "1d12h"), "i64: 1699963200000000000");
    let error = bench.try_select(f, call("dt.offset_by", [col("n"), lit("1d12")])).unwrap_err();
    assert!(error.message.contains("`1d12` is not a time span"), "{error}");
}

/// By hand: the rows of the last 1500 ns, and of the last minute and a half.
#[test]
fn windows_by_time_take_spans_of_nanoseconds_and_of_several_units() {
    let bench = TestEngine::default();
    let nanos = TimestampNanosecondArray::from(vec![0, 500, 1_400, 2_000]);
    let micros = TimestampMicrosecondArray::from(vec![0, 60_000_000, 90_000_000, 200_000_000]);
    let f = bench.frame(vec![
        ("n", Arc::new(nanos) as ArrayRef),
        ("t", Arc::new(micros) as ArrayRef),
        ("x", ints(&[Some(1), Some(2), Some(4), Some(8)])),
    ]);
    let sum = |by: &str, span: &str| bench.select(f, call("rolling_sum_by", [col("x"), col(by), lit(span)]));
    assert_eq!(sum("n", "1500ns"), "i64: 1 3 7 12");
    assert_eq!(sum("t", "1m30s"), "i64: 1 3 6 8");
}

#[test]
fn durations_have_a_sign() {
    let bench = TestEngine::default();
    let values = DurationMicrosecondArray::from(vec![Some(1), Some(-2), None]);
    let f = bench.frame(vec![("d", Arc::new(values) as ArrayRef)]);
    let negative = Expr::new(ExprKind::Unary(UnaryOp::Negate, Box::new(col("d"))));
    assert_eq!(bench.select(f, call("dt.total_microseconds", [negative])), "i64: -1 2 null");
}
