//! Times in zones on the emulated device.

use std::sync::Arc;

use arrow::array::{ArrayRef, TimestampMicrosecondArray};

use super::support::{TestEngine, call, col, lit, only_device};

fn micros(text: &str) -> i64 {
    let seconds = if text.len() == 16 { ":00" } else { "" };
    chrono::NaiveDateTime::parse_from_str(&format!("{text}{seconds}"), "%FT%T").unwrap().and_utc().timestamp_micros()
}

fn frame(bench: &TestEngine, zone: &str, moments: &[&str]) -> onrush_wire::FrameId {
    let moments = TimestampMicrosecondArray::from_iter_values(moments.iter().map(|text| micros(text)));
    bench.frame(vec![("t", Arc::new(moments.with_timezone(zone)) as ArrayRef)])
}

/// Timestamps in UTC around changes of the UTC offset, and the starts of their hour, day, week, month, quarter and
/// year: Python's `zoneinfo`. An ambiguous local time has the offset of the timestamp if it can, else the later
/// meaning. A local time that does not exist (midnight of 4 November 2018 in Sao Paulo, 30 December 2011 in Apia) has
/// the offset from before the change, as in PEP 495.
#[test]
fn truncation_in_zones_is_that_of_their_clocks() {
    let cases = [
        (
            "America/New_York",
            "2024-03-10T06:59:59",
            "2024-03-10T06:00 2024-03-10T05:00 2024-03-04T05:00 2024-03-01T05:00 2024-01-01T05:00 2024-01-01T05:00",
        ),
        (
            "America/New_York",
            "2024-03-10T07:30:00",
            "2024-03-10T07:00 2024-03-10T05:00 2024-03-04T05:00 2024-03-01T05:00 2024-01-01T05:00 2024-01-01T05:00",
        ),
        (
            "America/New_York",
            "2024-11-03T05:45:00",
            "2024-11-03T05:00 2024-11-03T04:00 2024-10-28T04:00 2024-11-01T04:00 2024-10-01T04:00 2024-01-01T05:00",
        ),
        (
            "America/New_York",
            "2024-11-03T06:45:00",
            "2024-11-03T06:00 2024-11-03T04:00 2024-10-28T04:00 2024-11-01T04:00 2024-10-01T04:00 2024-01-01T05:00",
        ),
        (
            "America/New_York",
            "2024-11-03T12:00:00",
            "2024-11-03T12:00 2024-11-03T04:00 2024-10-28T04:00 2024-11-01T04:00 2024-10-01T04:00 2024-01-01T05:00",
        ),
        (
            "America/New_York",
            "1955-07-04T03:59:59",
            "1955-07-04T03:00 1955-07-03T04:00 1955-06-27T04:00 1955-07-01T04:00 1955-07-01T04:00 1955-01-01T05:00",
        ),
        (
            "America/Sao_Paulo",
            "2018-11-04T02:59:59",
            "2018-11-04T02:00 2018-11-03T03:00 2018-10-29T03:00 2018-11-01T03:00 2018-10-01T03:00 2018-01-01T02:00",
        ),
        (
            "America/Sao_Paulo",
            "2018-11-04T03:00:01",
            "2018-11-04T03:00 2018-11-04T03:00 2018-10-29T03:00 2018-11-01T03:00 2018-10-01T03:00 2018-01-01T02:00",
        ),
        (
            "America/Sao_Paulo",
            "2018-11-04T15:00:00",
            "2018-11-04T15:00 2018-11-04T03:00 2018-10-29T03:00 2018-11-01T03:00 2018-10-01T03:00 2018-01-01T02:00",
        ),
        (
            "America/Sao_Paulo",
            "2018-02-18T02:30:00",
            "2018-02-18T02:00 2018-02-17T02:00 2018-02-12T02:00 2018-02-01T02:00 2018-01-01T02:00 2018-01-01T02:00",
        ),
        (
            "America/Sao_Paulo",
            "2018-02-18T01:30:00",
            "2018-02-18T01:00 2018-02-17T02:00 2018-02-12T02:00 2018-02-01T02:00 2018-01-01T02:00 2018-01-01T02:00",
        ),
        (
            "America/Havana",
            "2024-11-03T04:30:00",
            "2024-11-03T04:00 2024-11-03T04:00 2024-10-28T04:00 2024-11-01T04:00 2024-10-01T04:00 2024-01-01T05:00",
        ),
        (
            "America/Havana",
            "2024-11-03T05:30:00",
            "2024-11-03T05:00 2024-11-03T05:00 2024-10-28T04:00 2024-11-01T04:00 2024-10-01T04:00 2024-01-01T05:00",
        ),
        (
            "America/Havana",
            "2024-11-03T09:00:00",
            "2024-11-03T09:00 2024-11-03T05:00 2024-10-28T04:00 2024-11-01T04:00 2024-10-01T04:00 2024-01-01T05:00",
        ),
        (
            "Asia/Kolkata",
            "2020-02-29T18:29:59",
            "2020-02-29T17:30 2020-02-28T18:30 2020-02-23T18:30 2020-01-31T18:30 2019-12-31T18:30 2019-12-31T18:30",
        ),
        (
            "Asia/Kolkata",
            "2020-02-29T18:30:00",
            "2020-02-29T18:30 2020-02-29T18:30 2020-02-23T18:30 2020-02-29T18:30 2019-12-31T18:30 2019-12-31T18:30",
        ),
        (
            "Australia/Lord_Howe",
            "2024-04-06T14:50:00",
            "2024-04-06T14:00 2024-04-06T13:00 2024-03-31T13:00 2024-03-31T13:00 2024-03-31T13:00 2023-12-31T13:00",
        ),
        (
            "Australia/Lord_Howe",
            "2024-04-06T15:10:00",
            "2024-04-06T14:00 2024-04-06T13:00 2024-03-31T13:00 2024-03-31T13:00 2024-03-31T13:00 2023-12-31T13:00",
        ),
        (
            "Australia/Lord_Howe",
            "2024-10-05T15:40:00",
            "2024-10-05T15:30 2024-10-05T13:30 2024-09-29T13:30 2024-09-30T13:30 2024-09-30T13:30 2023-12-31T13:00",
        ),
        (
            "Pacific/Apia",
            "2011-12-30T09:59:59",
            "2011-12-30T09:00 2011-12-29T10:00 2011-12-26T10:00 2011-12-01T10:00 2011-10-01T10:00 2011-01-01T10:00",
        ),
        (
            "Pacific/Apia",
            "2011-12-30T10:00:00",
            "2011-12-30T10:00 2011-12-30T10:00 2011-12-26T10:00 2011-12-01T10:00 2011-10-01T10:00 2011-01-01T10:00",
        ),
        (
            "Pacific/Apia",
            "2011-12-31T12:00:00",
            "2011-12-31T12:00 2011-12-31T10:00 2011-12-26T10:00 2011-12-31T10:00 2011-12-31T10:00 2011-12-31T10:00",
        ),
    ];
    let bench = only_device();
    for (zone, moment, expected) in cases {
        let f = frame(&bench, zone, &[moment]);
        let units = ["hour", "day", "week", "month", "quarter", "year"];
        let columns = units.map(|unit| format!("date_trunc('{unit}', t)"));
        let id = bench.try_sql(&format!("select {} from t", columns.join(", ")), &[("t", f)]).unwrap();
        let found = bench.try_rows(id).unwrap_or_else(|d| panic!("{zone} {moment}: {d}"));
        let short: Vec<&str> = found[0].iter().map(|text| &text[..16]).collect();
        assert_eq!(short.join(" "), expected, "{zone} {moment}");
    }
}

/// Of the wall clock; the same calls on the processor.
#[test]
fn stretches_of_time_are_cut_as_on_the_processor() {
    let moments = ["2024-03-09T23:59:59", "2024-07-14T12:34:56", "1969-12-31T23:59:59", "1905-02-28T01:02:03"];
    let (cpu, device) = (TestEngine::on_cpu(), only_device());
    for zone in ["America/New_York", "Asia/Kolkata", "UTC", "+05:30"] {
        for every in ["1s", "7m", "1h", "5h", "1d", "3d", "1w", "1mo", "1q", "1y"] {
            let cut = |bench: &TestEngine| {
                bench.select(frame(bench, zone, &moments), call("dt.truncate", [col("t"), lit(every)]))
            };
            assert_eq!(cut(&device), cut(&cpu), "{zone} {every}");
        }
    }
}

/// Midnight of 4 November 2018 was not there in Sao Paulo: the day began at 01:00, as Polars 2.1 says.
#[test]
fn a_wall_clock_that_was_never_shown_is_moved() {
    for bench in [TestEngine::on_cpu(), only_device()] {
        let f = frame(&bench, "America/Sao_Paulo", &["2018-11-04T15:00:00"]);
        let day = bench.select(f, call("dt.truncate", [col("t"), lit("1d")]));
        assert!(day.ends_with("2018-11-04T03:00:00"), "{day}");
    }
}
