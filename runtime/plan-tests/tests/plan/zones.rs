//! Wall clocks that a time zone repeats or skips. Values from Polars 2.1: the same expression on the same frame.

use super::support::*;

const ZONE: &str = "America/New_York";

#[test]
fn a_repeated_hour_stays_the_one_that_it_was() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![("s", string_array(&[Some("2024-11-03 06:30:00"), Some("2024-11-03 05:30:00")]))]);
    let utc = call("dt.replace_time_zone", [call("str.to_datetime", [col("s")]), lit("UTC")]);
    let local = || call("dt.convert_time_zone", [utc.clone(), lit(ZONE)]);
    // Shown as moments in UTC: 01:00 EST and 01:00 EDT.
    let shown = |expr| bench.select(f, expr).split(": ").nth(1).unwrap().to_string();
    assert_eq!(shown(call("dt.truncate", [local(), lit("1h")])), "2024-11-03T06:00:00 2024-11-03T05:00:00");
    assert_eq!(shown(call("dt.offset_by", [local(), lit("1h")])), "2024-11-03T07:30:00 2024-11-03T06:30:00");
    assert_eq!(shown(call("dt.offset_by", [local(), lit("1d")])), "2024-11-04T06:30:00 2024-11-04T06:30:00");
    // In Sao Paulo the day began at 01:00.
    let f = bench.frame(vec![("s", string_array(&[Some("2018-11-04 12:00:00")]))]);
    let local = call("dt.replace_time_zone", [call("str.to_datetime", [col("s")]), lit("America/Sao_Paulo")]);
    let day = bench.select(f, call("dt.truncate", [local, lit("1d")]));
    assert!(day.ends_with("2018-11-04T03:00:00"), "{day}");
}

#[test]
fn a_time_that_occurs_twice_or_never_needs_a_choice() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![
        ("twice", string_array(&[Some("2024-11-03 01:30:00")])),
        ("never", string_array(&[Some("2024-03-10 02:30:00")])),
    ]);
    let placed = |name: &str| {
        let mut expr = call("dt.replace_time_zone", [call("str.to_datetime", [col(name)]), lit(ZONE)]);
        expr.span = Some(span(7));
        expr
    };
    let with = |name: &str, option: &str, word: &str| {
        bench.column(bench.try_select(f, named(placed(name), option, lit(word))).unwrap(), 0).concat()
    };
    assert_eq!(with("twice", "ambiguous", "earliest"), "2024-11-03T05:30:00");
    assert_eq!(with("twice", "ambiguous", "latest"), "2024-11-03T06:30:00");
    assert_eq!(with("twice", "ambiguous", "null"), "null");
    assert_eq!(with("never", "non_existent", "null"), "null");
    for (name, message) in [
        ("twice", "`2024-11-03 01:30:00` occurs twice in the time zone America/New_York"),
        ("never", "`2024-03-10 02:30:00` does not exist in the time zone America/New_York"),
    ] {
        let error = bench.try_rows(bench.try_select(f, placed(name)).unwrap()).unwrap_err();
        assert_eq!(error.message, message);
        assert_eq!((error.labels[0].span.column, error.help.len()), (7, 1));
    }
}

#[test]
fn an_offset_in_a_text_is_read() {
    let bench = TestEngine::default();
    let f = bench.frame(vec![
        ("s", string_array(&[Some("2024-05-01T10:00:00+0200"), Some("2024-05-01T10:00:00+0000"), None])),
        ("c", string_array(&[Some("2024-05-01T10:00:00+02:00"), Some("x"), None])),
    ]);
    let read = |name: &str, format: &str| call("str.to_datetime", [col(name), lit(format)]);
    let expected = "datetime[μs, UTC]: 2024-05-01T08:00:00 2024-05-01T10:00:00 null";
    assert_eq!(bench.select(f, read("s", "%Y-%m-%dT%H:%M:%S%z")), expected);
    let lenient = named(read("c", "%Y-%m-%dT%H:%M:%S%:z"), "strict", lit(false));
    assert_eq!(bench.select(f, lenient), "datetime[μs, UTC]: 2024-05-01T08:00:00 null null");
}
