//! What a table explorer gets: orders against the sort of frames, pages, filters, summaries against calculations by
//! hand.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use onrush_engine::EngineConfig;
use onrush_frame::TaskHandle;
use onrush_wire::explore::{Distinct, Explore, ExploreReply, Summary, SummaryRequest, View};
use onrush_wire::expr::SortKey;
use onrush_wire::plan::{Op, Sink, SinkFormat};
use onrush_wire::{BinaryOp, Diagnostic, Expr, FrameId, Value};

use super::support::{TestEngine, asc, bools, call, col, desc, floats, ints, lit, op, string_array, text};

fn view(frame: FrameId, filter: Option<Expr>, sort: Vec<SortKey>) -> View {
    View { frame, filter, sort }
}

fn ask(bench: &TestEngine, view: &View, what: &Explore) -> Result<ExploreReply, Diagnostic> {
    bench.explorer.explore(view, what, &TaskHandle::new())
}

/// Rows as strings, and their positions in the frame.
fn rows(bench: &TestEngine, view: &View, offset: u64, count: u32) -> (Vec<String>, Vec<u64>) {
    let width = bench.engine.schema(view.frame).unwrap().fields.len() as u32;
    let what = Explore::Rows { offset, count, columns: (0..width).collect() };
    let Ok(ExploreReply::Rows { columns, positions, .. }) = ask(bench, view, &what) else { panic!("no rows") };
    let row = |i: usize| columns.iter().map(|c| text(&c[i])).collect::<Vec<_>>().join(" ");
    ((0..positions.len()).map(row).collect(), positions)
}

fn summary(bench: &TestEngine, view: &View, column: u32, bins: u32, top: u32) -> Summary {
    match ask(
        bench,
        view,
        &Explore::Summary(SummaryRequest { column, bins, top, quantiles: vec![0.0, 0.25, 0.5, 1.0], median: true }),
    ) {
        Ok(ExploreReply::Summary(summary)) => summary,
        other => panic!("{other:?}"),
    }
}

/// Numbers with many ties, nulls, NaN and both zeros, in uneven batches.
fn awkward(bench: &TestEngine) -> FrameId {
    let mut state = 7u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let batches = [1, 700, 64, 0, 1235].map(|rows| {
        let pick = |n: u64, small: i64| (!n.is_multiple_of(7)).then_some((n % 40) as i64 - small);
        let i: Vec<Option<i64>> = (0..rows).map(|_| pick(next(), 20)).collect();
        let f: Vec<Option<f64>> = (0..rows)
            .map(|_| match next() % 12 {
                0 => None,
                1 => Some(f64::NAN),
                2 => Some(-0.0),
                3 => Some(0.0),
                4 => Some(f64::NEG_INFINITY),
                n => Some((n as f64 - 8.0) * 1e10),
            })
            .collect();
        let s: Vec<Option<String>> =
            (0..rows).map(|_| (next() % 9 != 0).then(|| format!("t{}", next() % 30))).collect();
        let t: Vec<Option<i64>> = (0..rows).map(|_| Some(next() as i64 % 1000 - 500)).collect();
        let n: Vec<i64> = (0..rows).map(|_| (next() % 5) as i64).collect();
        RecordBatch::try_from_iter_with_nullable([
            ("i", Arc::new(Int64Array::from(i)) as ArrayRef, true),
            ("f", Arc::new(Float64Array::from(f)), true),
            ("s", Arc::new(StringArray::from(s)), true),
            ("t", Arc::new(TimestampMicrosecondArray::from(t)), true),
            ("n", Arc::new(Int64Array::from(n)), true),
        ])
        .unwrap()
    });
    bench.batches(batches.to_vec())
}

#[test]
fn the_order_is_that_of_the_sort_of_frames() {
    let bench = TestEngine::default();
    let frame = awkward(&bench);
    let last = |key: SortKey| SortKey { nulls_last: Some(true), ..key };
    let orders = [
        vec![asc("i")],
        vec![last(desc("i"))],
        vec![desc("f")],
        vec![last(asc("f"))],
        vec![asc("s")],
        vec![last(desc("s"))],
        vec![desc("t")],
        vec![asc("n"), last(desc("s")), asc("i")],
        vec![desc("n"), asc("f")],
    ];
    for keys in orders {
        // Row numbers as a last key: the sort of frames keeps ties as they are, and so must ours.
        let numbered = bench.step(Op::WithRowIndex { input: frame, name: "row".into(), offset: 0 });
        let sorted = bench.step(Op::Sort { input: numbered, keys: keys.clone() });
        let expected: Vec<String> = bench.column(sorted, 0);
        let (_, positions) = rows(&bench, &view(frame, None, keys.clone()), 0, 2000);
        let got: Vec<String> = positions.iter().map(u64::to_string).collect();
        assert_eq!(got, expected, "{keys:?}");
    }
}

#[test]
fn pages_are_cut_at_the_ends_and_filters_leave_rows_out() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![
        ("a", ints(&[Some(5), None, Some(3), Some(4), Some(1)])),
        ("b", string_array(&[Some("x"), Some(""), None, Some("<b>"), Some("z")])),
    ]);
    let all = view(frame, None, vec![]);
    assert_eq!(rows(&bench, &all, 1, 2), (vec!["null ".to_string(), "3 null".to_string()], vec![1, 2]));
    assert_eq!(rows(&bench, &all, 4, 10).1, [4]);
    assert_eq!(rows(&bench, &all, 99, 10).1, [0u64; 0]);
    let large = op(col("a"), BinaryOp::Greater, lit(2));
    let filtered = view(frame, Some(large.clone()), vec![]);
    assert_eq!(ask(&bench, &filtered, &Explore::ComputeView).unwrap(), ExploreReply::Count(3));
    assert_eq!(rows(&bench, &filtered, 0, 10).1, [0, 2, 3]);
    let both = view(frame, Some(large), vec![asc("a")]);
    assert_eq!(rows(&bench, &both, 0, 10), (vec!["3 null".into(), "4 <b>".into(), "5 x".into()], vec![2, 3, 0]));
    assert_eq!(ask(&bench, &both, &Explore::DropView).unwrap(), ExploreReply::Done);
    assert_eq!(rows(&bench, &both, 1, 1).1, [3], "computed again");
    let wrong = view(frame, Some(op(col("nothing"), BinaryOp::Greater, lit(2))), vec![]);
    assert_eq!(ask(&bench, &wrong, &Explore::ComputeView).unwrap_err().code, "unknown-column");
    let nested = bench.step(Op::Select { input: frame, exprs: vec![call("implode", [col("a")])] });
    let error = ask(&bench, &view(nested, None, vec![asc("a")]), &Explore::ComputeView).unwrap_err();
    assert!(error.message.contains("has no order"), "{error}");
}

#[test]
fn summaries_count_what_can_be_counted_by_hand() {
    let bench = TestEngine::default();
    let nan = Some(f64::NAN);
    let frame = bench.frame(vec![
        ("f", floats(&[Some(1.0), Some(2.0), nan, None, Some(4.0), Some(f64::INFINITY)])),
        ("i", ints(&[Some(1), Some(1), Some(4), None, Some(2), Some(1)])),
        ("s", string_array(&[Some("a"), Some(""), None, Some("b"), Some("b"), Some("a")])),
        ("b", bools(&[Some(true), Some(true), None, Some(false), Some(true), Some(true)])),
    ]);
    let all = view(frame, None, vec![desc("i")]);
    let f = summary(&bench, &all, 0, 3, 0);
    assert_eq!((f.rows, f.nulls, f.nans, f.distinct), (6, 1, 1, Some(Distinct { count: 5, exact: true })));
    assert_eq!((f.min, f.max), (Some(Value::Float(1.0)), Some(Value::Float(f64::INFINITY))));
    let bars = f.histogram.unwrap();
    assert_eq!(bars.edges, [1.0, 2.0, 3.0, 4.0].map(Value::Float));
    assert_eq!(bars.counts, [1, 1, 1], "4 is in the last bar, infinity in none");
    let i = summary(&bench, &all, 1, 10, 2);
    assert_eq!((i.mean, i.distinct.unwrap().count), (Some(1.8), 3));
    // Squares of the distances from 1.8: 3 × 0.64, 4.84, 0.04; over n - 1 = 4.
    assert!((i.std.unwrap() - 1.7f64.sqrt()).abs() < 1e-12);
    let bars = i.histogram.unwrap();
    assert_eq!(bars.edges, [1, 2, 3, 4, 4].map(Value::Int));
    assert_eq!(bars.counts, [3, 1, 0, 1]);
    assert_eq!(i.top.unwrap(), [(Value::Int(1), 3), (Value::Int(4), 1)]);
    let s = summary(&bench, &all, 2, 5, 5);
    assert_eq!((s.nulls, s.empty, s.distinct.unwrap().count), (1, 1, 3));
    assert_eq!(s.top.unwrap(), [("a", 2), ("b", 2), ("", 1)].map(|(t, n)| (Value::from(t), n)));
    let b = summary(&bench, &all, 3, 5, 5);
    assert_eq!((b.min, b.max), (Some(Value::Boolean(false)), Some(Value::Boolean(true))));
    assert_eq!(b.top.unwrap(), [(Value::Boolean(true), 4), (Value::Boolean(false), 1)]);
    let filtered = view(frame, Some(op(col("i"), BinaryOp::Equal, lit(1))), vec![]);
    let i = summary(&bench, &filtered, 1, 10, 2);
    assert_eq!((i.rows, i.min, i.max), (3, Some(Value::Int(1)), Some(Value::Int(1))));
    assert_eq!(i.histogram.unwrap().counts, [3]);
}

#[test]
fn many_distinct_values_are_estimated() {
    let bench = TestEngine::default();
    let values: Vec<Option<i64>> = (0..300_000).map(|i| Some(i * 7919 % 200_003)).collect();
    let frame = bench.frame(vec![("n", ints(&values))]);
    let summary = summary(&bench, &view(frame, None, vec![]), 0, 20, 5);
    let Distinct { count, exact } = summary.distinct.unwrap();
    // 200,003 is a prime: that many values. Four standard errors are 3.2 %.
    assert!(!exact && count.abs_diff(200_003) < 6_400, "{count}");
    assert_eq!(summary.top, None);
    assert_eq!(summary.histogram.unwrap().counts.iter().sum::<u64>(), 300_000);
}

#[test]
fn a_view_is_written_in_its_order() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![("a", ints(&[Some(2), Some(9), None, Some(1)])), ("b", ints(&[Some(1); 4]))]);
    let folder = std::env::temp_dir().join(format!("onrush-explore-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let sink = Sink {
        path: "view.csv".into(),
        folder: folder.display().to_string(),
        format: SinkFormat::Csv { separator: ',', header: true, null: String::new() },
    };
    let sorted = view(frame, Some(op(col("a"), BinaryOp::Less, lit(5))), vec![asc("a")]);
    let written = ask(&bench, &sorted, &Explore::Write { columns: vec![0], sink }).unwrap();
    assert!(matches!(written, ExploreReply::Written { rows: 2, .. }), "{written:?}");
    assert_eq!(std::fs::read_to_string(folder.join("view.csv")).unwrap(), "a\n1\n2\n");
    std::fs::remove_dir_all(folder).unwrap();
}

/// A plan with more rows than the session may hold is counted, looked at, filtered and written all the same; numbers by
/// hand.
#[test]
fn plans_with_more_rows_than_memory_are_looked_at() {
    let bench = TestEngine::of(EngineConfig { memory_limit: 12 << 20, ..EngineConfig::default() });
    let query =
        "select n, case when n % 10 = 3 then null else n * 2 end as v, 'k' || (n % 60) as k from range(600000) as r(n)";
    let frame = bench.step(Op::Sql { query: query.to_string(), tables: Vec::new() });
    let task = TaskHandle::new();
    let first = bench.engine.preview(frame, 2, 1, true, &task).unwrap();
    assert_eq!((first.total_rows, first.columns[1].nulls, first.location.as_str()), (600_000, Some(60_000), "plan"));
    assert_eq!((first.head.len(), &first.head[1][0], &first.tail[0][1]), (2, &Value::Int(1), &Value::Int(1_199_998)));
    assert_eq!(bench.engine.known_rows(frame), Some(600_000));
    let again = bench.engine.preview(frame, 2, 1, true, &task).unwrap();
    assert_eq!((again.head, again.tail, again.columns[1].nulls), (first.head, first.tail, None));
    assert_eq!(bench.engine.row_count(frame, &task).unwrap(), 600_000);

    let all = view(frame, None, Vec::new());
    assert!(matches!(ask(&bench, &all, &Explore::ComputeView), Ok(ExploreReply::Count(600_000))));
    assert_eq!(
        rows(&bench, &all, 500_000, 2),
        (vec!["500000 1000000 k20".into(), "500001 1000002 k21".into()], vec![500_000, 500_001])
    );
    let few = view(frame, Some(op(col("n"), BinaryOp::Less, lit(5))), vec![desc("n")]);
    assert_eq!(rows(&bench, &few, 0, 2).0, ["4 8 k4", "3 null k3"]);
    assert_eq!(summary(&bench, &all, 1, 4, 0).nulls, 60_000);
    let folder = std::env::temp_dir().join(format!("onrush-explore-all-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let sink = Sink {
        path: "all.csv".into(),
        folder: folder.display().to_string(),
        format: SinkFormat::Csv { separator: ',', header: true, null: String::new() },
    };
    let written = ask(&bench, &all, &Explore::Write { columns: vec![0], sink });
    assert!(matches!(written, Ok(ExploreReply::Written { rows: 600_000, .. })), "{written:?}");
    assert!(std::fs::read_to_string(folder.join("all.csv")).unwrap().ends_with("\n599999\n"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// Written as they are computed, not held first: the values are counted by hand, and the task's rows are those of the
/// file.
#[test]
fn more_rows_than_memory_are_written() {
    let bench = TestEngine::of(EngineConfig { memory_limit: 4 << 20, ..EngineConfig::default() });
    let query = "select n, n * 2 as v from range(600000) as r(n)";
    let frame = bench.step(Op::Sql { query: query.to_string(), tables: Vec::new() });
    let folder = std::env::temp_dir().join(format!("onrush-write-all-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let sink = Sink {
        path: "all.csv".into(),
        folder: folder.display().to_string(),
        format: SinkFormat::Csv { separator: ',', header: false, null: String::new() },
    };
    assert_eq!(bench.engine.table(frame, &[], &TaskHandle::new()).unwrap_err().code, "out-of-memory");
    let task = TaskHandle::new();
    let (path, rows, _) = bench.engine.write(frame, &sink, &task).unwrap();
    assert_eq!((rows, task.progress().rows, task.progress().stage.as_str()), (600_000, 600_000, "write all.csv"));
    let text = std::fs::read_to_string(path).unwrap();
    let second = text.lines().map(|line| line.split_once(',').unwrap().1.parse::<u64>().unwrap());
    assert_eq!(second.sum::<u64>(), 600_000 * 599_999);
    std::fs::remove_dir_all(folder).unwrap();
}
