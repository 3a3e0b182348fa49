//! Plots: what the engine gives for drawing. Values are calculated by hand.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    TimestampSecondArray,
};
use onrush_engine::EngineConfig;
use onrush_frame::TaskHandle;
use onrush_wire::plan::Op;
use onrush_wire::plot::{AxisScale, Layer, LayerRequest, Mark, Plot, PlotRequest, PlotStyle, Series};
use onrush_wire::{BinaryOp, Diagnostic, Expr, ExprKind, FrameId};

use super::support::TestEngine;

fn layer(mark: Mark, x: &str, y: Option<&str>) -> LayerRequest {
    LayerRequest { mark, x: Some(Expr::column(x)), y: y.map(Expr::column), ..LayerRequest::default() }
}

fn plot(bench: &TestEngine, frame: FrameId, layer: LayerRequest) -> Result<Plot, Diagnostic> {
    let request = PlotRequest { frame, layers: vec![layer], style: PlotStyle::default(), facet: None };
    onrush_explore::plot(&bench.engine, &request, &TaskHandle::new())
}

fn toy(bench: &TestEngine) -> FrameId {
    let k: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), Some("a"), Some("b"), None, Some("a")]));
    let n: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), Some(3), Some(4), None]));
    let v: ArrayRef = Arc::new(Float64Array::from(vec![10.0, 20.0, 30.0, 40.0, f64::NAN]));
    bench.frame(vec![("k", k), ("n", n), ("v", v)])
}

#[test]
fn bars_keep_their_order_or_combine() {
    let bench = TestEngine::default();
    let frame = toy(&bench);
    let made = plot(&bench, frame, layer(Mark::Bar, "k", Some("n"))).unwrap();
    let Layer::Xy { x, series, .. } = &made.layers[0] else { panic!("no bars") };
    assert_eq!((x.scale, x.categories.join(" ").as_str()), (AxisScale::Category, "b a"));
    assert_eq!((series[0].x.as_slice(), series[0].y.as_slice()), (&[0.0, 1.0][..], &[4.0, 2.0][..]));
    let added = "3 rows in 2 bars: their sums; choose with `.aggregate(\"mean\")`";
    assert_eq!(made.notes, ["2 points with no value left out", added]);

    let mean = LayerRequest { aggregate: Some("mean".into()), ..layer(Mark::Bar, "k", Some("n")) };
    let made = plot(&bench, frame, mean).unwrap();
    let Layer::Xy { x, y, series, .. } = &made.layers[0] else { panic!("no bars") };
    assert_eq!((x.categories.join(" ").as_str(), y.label.as_str()), ("a b", "mean(n)"));
    assert_eq!(series[0].y, [2.0, 2.0]);
    assert_eq!(made.notes, ["1 point with no value left out"]);
}

#[test]
fn histograms_count_and_say_what_is_missing() {
    let bench = TestEngine::default();
    let frame = toy(&bench);
    let made = plot(&bench, frame, LayerRequest { bins: Some(3), ..layer(Mark::Histogram, "v", None) }).unwrap();
    let Layer::Histogram { series, .. } = &made.layers[0] else { panic!("no histogram") };
    assert_eq!(series[0].edges, [10.0, 20.0, 30.0, 40.0]);
    assert_eq!(series[0].counts, [1, 1, 2]);
    assert_eq!(made.notes, ["1 row with no finite value left out"]);
    let error = plot(&bench, frame, layer(Mark::Histogram, "k", None)).unwrap_err();
    assert!(error.message.contains("`k` is text"), "{error}");
}

#[test]
fn boxes_and_heat_maps() {
    let bench = TestEngine::default();
    let frame = toy(&bench);
    let made = plot(&bench, frame, layer(Mark::Box, "k", Some("v"))).unwrap();
    let Layer::Box { boxes, .. } = &made.layers[0] else { panic!("no boxes") };
    let seen: Vec<_> = boxes.iter().map(|b| (b.category.as_str(), b.q1, b.count)).collect();
    assert_eq!(seen, [("b", 15.0, 2), ("a", 20.0, 1)]);

    let heat = LayerRequest { color: Some(Expr::column("v")), ..layer(Mark::HeatMap, "k", Some("n")) };
    let made = plot(&bench, frame, heat).unwrap();
    let Layer::HeatMap { y, values, color_label, .. } = &made.layers[0] else { panic!("no heat map") };
    assert_eq!((y.categories.join(" ").as_str(), color_label.as_str()), ("1 2 3 4", "mean(v)"));
    assert_eq!(values[0], [Some(10.0), None]);
    assert_eq!(values[1], [None, Some(20.0)]);
    assert_eq!(values[3], [None, None]);
}

#[test]
fn a_wrong_column_type_or_function_is_named() {
    let bench = TestEngine::default();
    let frame = toy(&bench);
    let wrong = |layer| plot(&bench, frame, layer).unwrap_err().to_string();
    let text = wrong(layer(Mark::Line, "n", Some("k")));
    assert!(text.contains("the y of a line chart needs a number, and `k` is text"), "{text}");
    assert!(wrong(layer(Mark::Bar, "nope", Some("n"))).contains("there is no column `nope`"));
    let odd = LayerRequest { aggregate: Some("mode".into()), ..layer(Mark::Bar, "k", Some("n")) };
    assert!(wrong(odd).contains("`mode`"));
}

#[test]
fn many_points_are_reduced_and_said() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![("n", Arc::new(Int64Array::from_iter_values(0..20_000)) as ArrayRef)]);
    let made = plot(&bench, frame, layer(Mark::Scatter, "n", Some("n"))).unwrap();
    let Layer::Xy { series, .. } = &made.layers[0] else { panic!("no points") };
    assert_eq!((series[0].x.len(), series[0].x[4_999]), (5_000, 19_999.0));
    assert_eq!(made.notes, ["5\u{202f}000 of 20\u{202f}000 points shown"]);
    let error = plot(&bench, frame, layer(Mark::Bar, "n", Some("n"))).unwrap_err();
    assert!(error.message.contains("20\u{202f}000 bars"), "{error}");
}

#[test]
fn correlations_are_numpys_over_complete_pairs() {
    let bench = TestEngine::default();
    // pandas.DataFrame({"a": [1, 2, 3, 4, None], "b": [2, 1, 4, 3, 9], "c": [5, 5, 5, 5, 5]}).corr()
    let a: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), Some(3), Some(4), None]));
    let b: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 1.0, 4.0, 3.0, 9.0]));
    let c: ArrayRef = Arc::new(Int64Array::from(vec![5; 5]));
    let t: ArrayRef = Arc::new(StringArray::from(vec!["x"; 5]));
    let frame = bench.frame(vec![("a", a), ("t", t), ("b", b), ("c", c)]);
    let made = plot(&bench, frame, LayerRequest { mark: Mark::Correlation, ..LayerRequest::default() }).unwrap();
    let Layer::HeatMap { x, y, values, range, .. } = &made.layers[0] else { panic!("no matrix") };
    assert_eq!((x.categories.join(" ").as_str(), y.categories.join(" ").as_str()), ("a b c", "c b a"));
    assert_eq!(*range, Some((-1.0, 1.0)));
    assert_eq!(values[2][0], Some(1.0));
    assert!((values[2][1].unwrap() - 0.6).abs() < 1e-12, "{values:?}");
    assert_eq!((values[2][1], values[0][0], values[0][2]), (values[1][0], None, None));
    let frame = toy(&bench);
    let text = bench.step(onrush_wire::plan::Op::Select { input: frame, exprs: vec![Expr::column("k")] });
    let error = plot(&bench, text, LayerRequest { mark: Mark::Correlation, ..LayerRequest::default() }).unwrap_err();
    assert!(error.message.contains("needs two columns of numbers"), "{error}");
}

#[test]
fn panels_share_their_bins() {
    let bench = TestEngine::default();
    let frame = toy(&bench);
    let layer = LayerRequest { bins: Some(3), ..layer(Mark::Histogram, "v", None) };
    let facet = Some(Expr::column("k"));
    let request = PlotRequest { frame, layers: vec![layer], style: PlotStyle::default(), facet };
    let frames = bench.engine.frame_count();
    let made = onrush_explore::plot(&bench.engine, &request, &TaskHandle::new()).unwrap();
    assert_eq!(bench.engine.frame_count(), frames);
    assert_eq!((made.layers.len(), made.facet_label.as_str()), (0, "k"));
    let counts: Vec<_> = made
        .facets
        .iter()
        .map(|f| match &f.layers[0] {
            Layer::Histogram { series, .. } => (f.name.as_str(), series[0].edges.clone(), series[0].counts.clone()),
            other => panic!("no histogram: {other:?}"),
        })
        .collect();
    let edges = vec![10.0, 20.0, 30.0, 40.0];
    assert_eq!(counts, [("a", edges.clone(), vec![0, 1, 0]), ("b", edges, vec![1, 0, 1])]);
    assert!(made.notes.iter().any(|n| n == "1 rows with no k left out"), "{:?}", made.notes);
}

#[test]
fn many_categories_leave_the_largest_and_say_so() {
    let bench = TestEngine::default();
    // k0 once, k1 twice, ... k99 a hundred times.
    let names: Vec<String> = (0..100).flat_map(|i| std::iter::repeat_n(format!("k{i}"), i + 1)).collect();
    let frame = bench.frame(vec![("k", Arc::new(StringArray::from_iter_values(names)) as ArrayRef)]);
    let bars = LayerRequest { aggregate: Some("count".into()), ..layer(Mark::Bar, "k", None) };
    let made = plot(&bench, frame, bars).unwrap();
    let Layer::Xy { x, series, .. } = &made.layers[0] else { panic!("no bars") };
    assert_eq!((x.categories.len(), x.categories[0].as_str(), series[0].y[0]), (40, "k99", 100.0));
    // 1 + 2 + ... + 60 = 1830 rows are not shown: too many for a bar next to the others.
    assert_eq!(made.notes, ["40 of 100 values of k shown: the largest; the others add up to 1\u{202f}830"]);
}

#[test]
fn densities_and_long_lines() {
    let bench = TestEngine::default();
    let n = 50_000_i64;
    let wave = (0..n).map(|i| (i * 7_919 % n) as f64);
    let columns = vec![
        ("n", Arc::new(Int64Array::from_iter_values((0..n).map(|i| i * 7_919 % n))) as ArrayRef),
        (
            "v",
            Arc::new(Float64Array::from_iter_values(wave.map(|x| if x == 25_000.0 { 9.0 } else { x % 2.0 })))
                as ArrayRef,
        ),
    ];
    let frame = bench.frame(columns);
    let made = plot(&bench, frame, layer(Mark::Line, "n", Some("v"))).unwrap();
    let Layer::Xy { series, .. } = &made.layers[0] else { panic!("no line") };
    assert!(series[0].x.is_sorted() && series[0].x.len() <= 4_000 && series[0].y.contains(&9.0));
    assert!(made.notes[0].contains("of 50\u{202f}000 points shown"), "{:?}", made.notes);
    let made = plot(&bench, frame, layer(Mark::Density, "n", None)).unwrap();
    let Layer::Xy { series, .. } = &made.layers[0] else { panic!("no density") };
    // Evenly spread: the density in the middle is one by the range.
    let middle = series[0].x.partition_point(|x| *x < 25_000.0);
    assert!((series[0].y[middle] * 50_000.0 - 1.0).abs() < 0.01, "{}", series[0].y[middle]);
}

/// A value for each minute of two days, in three series; by hand from there.
#[test]
fn more_moments_than_pixels_are_combined_and_said() {
    let bench = TestEngine::default();
    let minutes = 0..2_880_i64;
    let columns = vec![
        ("t", Arc::new(TimestampSecondArray::from_iter_values(minutes.clone().map(|m| m * 60))) as ArrayRef),
        ("v", Arc::new(Float64Array::from_iter_values(minutes.clone().map(|m| m as f64)))),
        ("k", Arc::new(StringArray::from_iter_values(minutes.map(|m| ["a", "b"][usize::from(m >= 1_440)])))),
    ];
    let frame = bench.frame(columns);
    let of = |layer| {
        let made = plot(&bench, frame, layer).unwrap();
        let Some(Layer::Xy { x, y, series, .. }) = made.layers.into_iter().next() else { panic!("no series") };
        assert_eq!((x.scale, y.scale), (AxisScale::Time, AxisScale::Number));
        (y.label, series, made.notes)
    };
    let mean = LayerRequest { aggregate: Some("mean".into()), ..layer(Mark::Line, "t", Some("v")) };
    let (label, series, notes) = of(mean.clone());
    assert_eq!((label.as_str(), notes), ("mean(v)", vec!["mean of each 5 minutes".to_string()]));
    assert_eq!((series[0].x[..3].to_vec(), series[0].y[..3].to_vec()), (vec![0.0, 300.0, 600.0], vec![2.0, 7.0, 12.0]));
    assert_eq!(series[0].x.len(), 576);

    let (label, series, notes) = of(LayerRequest { aggregate: Some("count".into()), ..layer(Mark::Bar, "t", None) });
    assert_eq!((label.as_str(), notes), ("rows", vec!["rows of each hour".to_string()]));
    assert_eq!((series[0].x.len(), series[0].y[0], series[0].y[47]), (48, 60.0, 60.0));

    let daily = LayerRequest {
        every: Some("1d".into()),
        color: Some(Expr::column("k")),
        aggregate: Some("sum".into()),
        ..mean.clone()
    };
    let (_, series, _) = of(daily);
    let named: Vec<_> = series.iter().map(|s| (s.name.as_str(), s.x[0], s.y[0])).collect();
    assert_eq!(named, [("a", 0.0, 1_036_080.0), ("b", 86_400.0, 3_109_680.0)]);

    let wrong = |layer| plot(&bench, frame, layer).unwrap_err().to_string();
    assert!(wrong(LayerRequest { every: Some("often".into()), ..mean.clone() }).contains("`often` is not a time span"));
    let second = wrong(LayerRequest { every: Some("1s".into()), ..mean });
    assert!(second.contains("172\u{202f}740 points, one for each second, are more than 20\u{202f}000"), "{second}");
    let minute =
        LayerRequest { every: Some("1m".into()), aggregate: Some("count".into()), ..layer(Mark::Bar, "t", None) };
    assert!(
        wrong(minute.clone()).contains("2\u{202f}879 bars, one for each minute, are more than 1\u{202f}000"),
        "{}",
        wrong(minute)
    );
    assert!(
        wrong(LayerRequest { every: Some("1d".into()), ..layer(Mark::Line, "v", Some("v")) }).contains("`v` has none")
    );
}

#[test]
fn blank_texts_have_names_and_nothing_has_no_correlation() {
    let bench = TestEngine::default();
    let k: ArrayRef = Arc::new(StringArray::from(vec!["a", "", " \n"]));
    let n: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let frame = bench.frame(vec![("k", k), ("n", n)]);
    let made = plot(&bench, frame, layer(Mark::Bar, "k", Some("n"))).unwrap();
    let Layer::Xy { x, .. } = &made.layers[0] else { panic!("no bars") };
    assert_eq!(x.categories, ["a", "\"\"", "\"␣⏎\""]);

    let none: ArrayRef = Arc::new(Float64Array::from(vec![None::<f64>, None]));
    let one: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0]));
    let frame = bench.frame(vec![("none", none), ("one", one)]);
    let made = plot(&bench, frame, LayerRequest { mark: Mark::Correlation, ..LayerRequest::default() }).unwrap();
    let Layer::HeatMap { values, .. } = &made.layers[0] else { panic!("no cells") };
    assert_eq!(values, &[[None, Some(1.0)], [None, None]]);
}

fn times(seconds: &[i64]) -> ArrayRef {
    Arc::new(TimestampSecondArray::from(seconds.to_vec()))
}

fn series_of(made: &Plot) -> &[Series] {
    match &made.layers[0] {
        Layer::Xy { series, .. } => series,
        other => panic!("no series: {other:?}"),
    }
}

/// As `pandas.Series([1, 2, 4], index=[00:10, 00:50, 03:05]).resample("1h")` combines, Pandas 3.
#[test]
fn stretches_without_rows_are_those_of_pandas() {
    let bench = TestEngine::default();
    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 4.0]));
    let frame = bench.frame(vec![("t", times(&[600, 3_000, 11_100])), ("v", values)]);
    let of = |mark, function: &str| {
        let request =
            LayerRequest { aggregate: Some(function.into()), every: Some("1h".into()), ..layer(mark, "t", Some("v")) };
        let made = plot(&bench, frame, request).unwrap();
        let Series { x, y, .. } = series_of(&made)[0].clone();
        (x, y.into_iter().map(|y| Some(y).filter(|y| !y.is_nan())).collect::<Vec<_>>())
    };
    let hours = vec![0.0, 3_600.0, 7_200.0, 10_800.0];
    for (function, expected) in [
        ("sum", [Some(3.0), Some(0.0), Some(0.0), Some(4.0)]),
        ("count", [Some(2.0), Some(0.0), Some(0.0), Some(1.0)]),
        ("mean", [Some(1.5), None, None, Some(4.0)]),
        ("min", [Some(1.0), None, None, Some(4.0)]),
        ("max", [Some(2.0), None, None, Some(4.0)]),
        ("median", [Some(1.5), None, None, Some(4.0)]),
    ] {
        assert_eq!(of(Mark::Line, function), (hours.clone(), expected.to_vec()), "{function}");
    }
    // Bars are where there are rows.
    assert_eq!(of(Mark::Bar, "count"), (vec![0.0, 10_800.0], vec![Some(2.0), Some(1.0)]));
}

/// The start of the fortnight by `polars.Series([...]).dt.truncate("2w")`, Polars 2.1.
#[test]
fn stretches_are_those_of_truncate() {
    let bench = TestEngine::default();
    // 2013-09-18 14:47:31, a Wednesday.
    let frame =
        bench.frame(vec![("t", times(&[1_379_515_651])), ("n", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
    for (every, start) in
        [("2w", 1_379_289_600.0), ("7d", 1_378_944_000.0), ("day", 1_379_462_400.0), ("3y", 1_325_376_000.0)]
    {
        let request = LayerRequest { every: Some(every.into()), ..layer(Mark::Line, "t", Some("n")) };
        assert_eq!(series_of(&plot(&bench, frame, request).unwrap())[0].x, [start], "{every}");
    }
}

/// A hundred rows of which one is in the panel `b`, so that alone it would be drawn as it is; by hand.
#[test]
fn panels_share_their_stretches_and_cells() {
    let bench = TestEngine::default();
    let hours: Vec<i64> = (0..2_000).map(|h| h * 3_600 + 1_800).collect();
    let panel = (0..2_000).map(|h| if h == 30 { "b" } else { "a" });
    let frame = bench.frame(vec![
        ("t", times(&hours)),
        ("v", Arc::new(Float64Array::from_iter_values((0..2_000).map(f64::from))) as ArrayRef),
        ("few", Arc::new(Int64Array::from_iter_values((0..2_000).map(|h| h % 3)))),
        ("k", Arc::new(StringArray::from_iter_values(panel))),
    ]);
    let of = |layer| {
        let facet = Some(Expr::column("k"));
        let request = PlotRequest { frame, layers: vec![layer], style: PlotStyle::default(), facet };
        onrush_explore::plot(&bench.engine, &request, &TaskHandle::new()).unwrap()
    };
    let made = of(LayerRequest { aggregate: Some("mean".into()), ..layer(Mark::Line, "t", Some("v")) });
    let series = |facet: usize| match &made.facets[facet].layers[0] {
        Layer::Xy { series, .. } => &series[0],
        other => panic!("no line: {other:?}"),
    };
    // 2000 hours are 83 days: stretches of three hours are 667, of six 334.
    assert_eq!(series(0).x[..2], [0.0, 21_600.0]);
    assert_eq!(
        (series(1).x.as_slice(), series(1).y.as_slice()),
        (&[108_000.0 - 108_000.0 % 21_600.0][..], &[30.0][..])
    );
    assert_eq!(made.notes, ["mean of each 6 hours"]);

    let made = of(layer(Mark::Box, "few", Some("v")));
    let Layer::Box { x, boxes, .. } = &made.facets[1].layers[0] else { panic!("no boxes") };
    assert_eq!((x.categories.join(" ").as_str(), boxes[0].category.as_str(), boxes[0].median), ("0 1 2", "0", 30.0));
    let made = of(layer(Mark::HeatMap, "few", Some("v")));
    let axes = made.facets.iter().map(|facet| match &facet.layers[0] {
        Layer::HeatMap { x, y, .. } => (x.categories.join(" "), y.categories.len()),
        other => panic!("no heat map: {other:?}"),
    });
    let axes: Vec<_> = axes.collect();
    assert_eq!((axes.len(), &axes[0], axes[0].0.as_str()), (2, &axes[1], "0 1 2"));
}

/// By hand. A moment without a value is a gap.
#[test]
fn few_moments_are_combined_as_they_are() {
    let bench = TestEngine::default();
    let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(3), None, Some(5), Some(7)]));
    let names: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), Some("a"), Some("a"), Some("b"), None]));
    let frame = bench.frame(vec![("t", times(&[10, 10, 20, -5, 10])), ("v", values), ("k", names)]);
    let mean = LayerRequest { aggregate: Some("mean".into()), ..layer(Mark::Line, "t", Some("v")) };
    let made = plot(&bench, frame, LayerRequest { color: Some(Expr::column("k")), ..mean.clone() }).unwrap();
    let lines = series_of(&made);
    assert_eq!((lines[0].name.as_str(), lines[0].x.as_slice(), lines[0].y[0]), ("a", &[10.0, 20.0][..], 2.0));
    assert!(lines[0].y[1].is_nan());
    assert_eq!((lines[1].name.as_str(), lines[1].x.as_slice(), lines[1].y.as_slice()), ("b", &[-5.0][..], &[5.0][..]));
    assert_eq!(made.notes, ["2 rows with no value left out"]);
    let made = plot(&bench, frame, LayerRequest { aggregate: Some("sum".into()), mark: Mark::Bar, ..mean }).unwrap();
    assert_eq!(
        (series_of(&made)[0].x.as_slice(), series_of(&made)[0].y.as_slice()),
        (&[-5.0, 10.0][..], &[5.0, 11.0][..])
    );
}

#[test]
fn long_lines_over_time_are_reduced_and_said() {
    let bench = TestEngine::default();
    let frame = bench.frame(vec![("t", times(&(0..9_000).map(|m| m * 60).collect::<Vec<_>>()))]);
    let minutes =
        LayerRequest { aggregate: Some("count".into()), every: Some("1m".into()), ..layer(Mark::Line, "t", None) };
    let made = plot(&bench, frame, minutes).unwrap();
    // Of each five minutes, which all have one row, one stays; the lowest is the highest.
    assert!(series_of(&made)[0].x.len() <= 4_000 && series_of(&made)[0].x.is_sorted());
    assert_eq!(made.notes[0], "rows of each minute");
    assert!(
        made.notes[1].ends_with("of 9\u{202f}000 points shown: the lowest and highest of adjacent points"),
        "{:?}",
        made.notes
    );
}

/// Names by hand.
#[test]
fn categories_that_are_close_have_different_names() {
    let bench = TestEngine::default();
    let names = |column: ArrayRef| {
        let v: ArrayRef = Arc::new(Int64Array::from_iter_values(0..column.len() as i64));
        let frame = bench.frame(vec![("c", column), ("v", v)]);
        let made = plot(&bench, frame, layer(Mark::Box, "c", Some("v"))).unwrap();
        let Layer::Box { x, boxes, .. } = &made.layers[0] else { panic!("no boxes") };
        assert_eq!(boxes.iter().map(|b| &b.category).collect::<Vec<_>>(), x.categories.iter().collect::<Vec<_>>());
        x.categories.clone()
    };
    let numbers = |list: &[f64]| names(Arc::new(Float64Array::from(list.to_vec())));
    assert_eq!(numbers(&[0.1234567, 0.1234568, 5.0]), ["0.1234567", "0.1234568", "5"]);
    assert_eq!(numbers(&[1.0 / 3.0, 2.0]), ["0.333333", "2"]);
    assert_eq!(numbers(&[0.3, 0.1 + 0.2]), ["0.3", "0.30000000000000004"]);
    assert_eq!(numbers(&[1e300, 1e-300]), ["1e-300", "1e300"]);
    assert_eq!(names(times(&[-59, 3_600])), ["1969-12-31 23:59", "1970-01-01 01:00"]);
    assert_eq!(names(times(&[61, 62, 0])), ["1970-01-01", "1970-01-01 00:01:01", "1970-01-01 00:01:02"]);
    let micros: ArrayRef =
        Arc::new(TimestampMicrosecondArray::from(vec![-1, 1_356_998_400_000_001, 1_356_998_400_000_002]));
    assert_eq!(
        names(micros),
        ["1969-12-31 23:59:59.999999", "2013-01-01 00:00:00.000001", "2013-01-01 00:00:00.000002"]
    );
    // As seconds in floats these two are one.
    let nanos: ArrayRef =
        Arc::new(TimestampNanosecondArray::from(vec![1_356_998_400_000_000_001, 1_356_998_400_000_000_002]));
    assert_eq!(names(nanos), ["2013-01-01 00:00:00.000000001", "2013-01-01 00:00:00.000000002"]);
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["", "\"\"", " ", "\u{a0}"]));
    assert_eq!(names(texts), ["\"\"", "\"\" (2)", "\"␣\"", "\"␣\" (2)"]);
}

/// 50 categories of which one is called `other`; by hand.
#[test]
fn the_rest_has_a_name_of_its_own() {
    let bench = TestEngine::default();
    let name = |i| if i == 49 { "other".to_string() } else { format!("k{i}") };
    let names: Vec<String> = (0..50).flat_map(|i| vec![name(i); 1 + i]).collect();
    let frame = bench.frame(vec![("k", Arc::new(StringArray::from_iter_values(names)) as ArrayRef)]);
    let bars = LayerRequest { aggregate: Some("count".into()), ..layer(Mark::Bar, "k", None) };
    let made = plot(&bench, frame, bars).unwrap();
    let Layer::Xy { x, series, .. } = &made.layers[0] else { panic!("no bars") };
    // The smallest ten have 1 to 10 rows: 55, and the largest has 50.
    assert_eq!((x.categories.len(), x.categories[0].as_str(), series[0].y[0]), (41, "other", 50.0));
    assert_eq!((x.categories[40].as_str(), series[0].y[40]), ("other (2)", 55.0));
    assert_eq!(made.notes, ["40 of 50 values of k shown: the largest; the rest is `other (2)`"]);
}

/// A plan with more rows than the session may hold is walked over as it runs, as often as needed; what is drawn is what
/// is drawn of rows that are held.
#[test]
fn plans_with_more_rows_than_memory_are_drawn() {
    let query = "select n, (n * 7919) % 100003 / 7.0 as v, n % 7 as few, 'k' || (n % 60) as k, \
                 to_timestamp(n * 60) as t from range(600000) as r(n)";
    let frame = |memory_limit| {
        let bench = TestEngine::of(EngineConfig { memory_limit, ..EngineConfig::default() });
        let frame = bench.step(Op::Sql { query: query.to_string(), tables: Vec::new() });
        (bench, frame)
    };
    let (small, lazy) = frame(4 << 20);
    let (large, held) = frame(4 << 30);
    let error = small.engine.table(lazy, &[], &TaskHandle::new()).unwrap_err();
    assert_eq!(error.code, "out-of-memory");
    let column = |name: &str| Some(Expr::column(name));
    let mean = LayerRequest { aggregate: Some("mean".into()), ..layer(Mark::Line, "t", Some("v")) };
    for layer in [
        layer(Mark::Histogram, "v", None),
        LayerRequest { color: column("k"), ..layer(Mark::Histogram, "v", None) },
        LayerRequest { color: column("few"), ..layer(Mark::Density, "v", None) },
        LayerRequest { color: column("few"), ..layer(Mark::Line, "n", Some("v")) },
        LayerRequest { color: column("few"), ..layer(Mark::Line, "k", Some("v")) },
        LayerRequest { color: column("k"), ..mean },
        layer(Mark::Box, "k", Some("v")),
        layer(Mark::Box, "few", Some("v")),
        layer(Mark::HeatMap, "few", Some("v")),
        LayerRequest { color: column("v"), ..layer(Mark::HeatMap, "k", Some("n")) },
        layer(Mark::Scatter, "n", Some("v")),
        layer(Mark::Bar, "k", Some("v")),
        LayerRequest { mark: Mark::Correlation, ..LayerRequest::default() },
    ] {
        let (few, many) = (plot(&small, lazy, layer.clone()).unwrap(), plot(&large, held, layer.clone()).unwrap());
        // NaN is not itself.
        assert_eq!(format!("{few:?}"), format!("{many:?}"), "{layer:?}");
    }
}

/// What is drawn of a text with very many values, and that the plot says so; by hand.
#[test]
fn of_too_many_texts_some_are_drawn() {
    let bench = TestEngine::default();
    let query = "select 'k' || n as k, n, n % 3 as few from range(5000) as r(n)";
    let frame = bench.step(Op::Sql { query: query.to_string(), tables: Vec::new() });
    let drawn = |layer: LayerRequest| {
        let made = plot(&bench, frame, layer).unwrap();
        let Some(Layer::Xy { x, series, .. }) = made.layers.into_iter().next() else { panic!("nothing is drawn") };
        (x.categories, series, made.notes)
    };
    let (names, bars, notes) = drawn(layer(Mark::Bar, "k", Some("n")));
    assert_eq!((names.len(), names[0].as_str(), names[39].as_str()), (40, "k4999", "k4960"));
    assert_eq!((bars[0].x[39], bars[0].y[0], bars[0].y[39]), (39.0, 4999.0, 4960.0));
    assert_eq!(notes, ["40 of 5\u{202f}000 values of k shown: the largest"]);
    let (names, points, notes) = drawn(layer(Mark::Scatter, "k", Some("n")));
    assert_eq!((names.len(), names[49].as_str(), points[0].y.len()), (50, "k49", 50));
    let said = "50 of 5\u{202f}000 values of k shown: those with most rows";
    assert_eq!(notes, [said, "50 of 5\u{202f}000 points shown"]);
    let (names, line, notes) = drawn(layer(Mark::Line, "k", Some("n")));
    assert_eq!((names.len(), line[0].y.len(), notes), (50, 50, vec![said.to_string()]));
    let density = LayerRequest { color: Some(Expr::column("k")), ..layer(Mark::Density, "n", None) };
    assert_eq!(drawn(density).2, ["20 of 5\u{202f}000 values of k shown: those with most rows"]);
    let error = plot(&bench, frame, layer(Mark::Bar, "n", Some("n"))).unwrap_err();
    assert_eq!(error.message, "5\u{202f}000 bars cannot be told apart");
    // Colours are not places: of three values 1,667, 1,667 and 1,666 rows each have a bar.
    let colored = LayerRequest { color: Some(Expr::column("few")), ..layer(Mark::Bar, "k", Some("n")) };
    let (names, bars, _) = drawn(colored);
    assert_eq!((names.len(), bars.iter().map(|series| series.x.len()).sum::<usize>()), (40, 40));
}

/// A line over strings visits them in the order of their first rows. Expected values are by hand.
#[test]
fn lines_over_texts_are_in_their_order() {
    let bench = TestEngine::default();
    let query = "select * from (values ('b', 1, 'x'), ('a', 2, 'x'), (null, 3, 'x'), ('b', 4, 'y'), ('a', null, 'y'), \
                 ('c', 6, null)) as r(k, n, c)";
    let frame = bench.step(Op::Sql { query: query.to_string(), tables: Vec::new() });
    let colored = LayerRequest { color: Some(Expr::column("c")), ..layer(Mark::Line, "k", Some("n")) };
    let made = plot(&bench, frame, colored).unwrap();
    let Layer::Xy { x, series, .. } = &made.layers[0] else { panic!("no lines") };
    assert_eq!(x.categories, ["b", "a", "c"]);
    assert_eq!((series[0].x.as_slice(), series[0].y.as_slice()), (&[0.0, 1.0][..], &[1.0, 2.0][..]));
    assert_eq!((series[1].x.as_slice(), series[1].y[0], series[1].y[1].is_nan()), (&[0.0, 1.0][..], 4.0, true));
    assert_eq!(made.notes, ["1 point with no value left out", "1 row with no colour left out"]);
}

/// Panels and layers of a plan are of the same rows, which are computed once: with random numbers that can be seen. The
/// panels of all rows have all rows.
#[test]
fn panels_and_layers_compute_a_plan_once() {
    let bench = TestEngine::on_cpu();
    let query = "select random() as r, n from range(1000) as s(n)";
    let frame = bench.step(Op::Sql { query: query.to_string(), tables: Vec::new() });
    let below = |at: f64| {
        let (r, at) = (Box::new(Expr::column("r")), Box::new(Expr::literal(at)));
        Expr::new(ExprKind::Binary(BinaryOp::Less, r, at))
    };
    let bins = LayerRequest { bins: Some(1), ..layer(Mark::Histogram, "n", None) };
    let request = PlotRequest { frame, layers: vec![bins], style: PlotStyle::default(), facet: Some(below(0.5)) };
    let made = onrush_explore::plot(&bench.engine, &request, &TaskHandle::new()).unwrap();
    let rows = made.facets.iter().map(|facet| match &facet.layers[0] {
        Layer::Histogram { series, .. } => series[0].counts.iter().sum::<u64>(),
        other => panic!("no histogram: {other:?}"),
    });
    assert_eq!(rows.sum::<u64>(), 1_000);
    let line = || layer(Mark::Line, "n", Some("r"));
    let request = PlotRequest { layers: vec![line(), line()], facet: None, ..request };
    let made = onrush_explore::plot(&bench.engine, &request, &TaskHandle::new()).unwrap();
    assert_eq!(format!("{:?}", made.layers[0]), format!("{:?}", made.layers[1]));
}

/// Panels of a plan whose columns are too many to be held, and of one that is held, are the same.
#[test]
fn panels_of_more_rows_than_memory_are_drawn() {
    let query = "select n, n % 7 as few, n % 2 as k from range(600000) as r(n)";
    let made = |memory_limit| {
        let bench = TestEngine::of(EngineConfig { memory_limit, ..EngineConfig::default() });
        let frame = bench.step(Op::Sql { query: query.to_string(), tables: Vec::new() });
        let layers = vec![layer(Mark::Histogram, "n", None), layer(Mark::Box, "few", Some("n"))];
        let request = PlotRequest { frame, layers, style: PlotStyle::default(), facet: Some(Expr::column("k")) };
        format!("{:?}", onrush_explore::plot(&bench.engine, &request, &TaskHandle::new()).unwrap())
    };
    assert_eq!(made(40 << 20), made(4 << 30));
}

/// A group has as many rows as are behind it. Series `s0` has two rows, `s1` four, ..., `s24` fifty, and each has one
/// group for each of the two values of `x`. By hand.
#[test]
fn the_series_with_most_rows_are_those_with_most_rows() {
    let bench = TestEngine::default();
    let query = "select 's' || s as s, i % 2 as x, i as v, 'k' || s as k from range(25) as a(s), range(50) as b(i) where i <= s * 2 + 1";
    let frame = bench.step(Op::Sql { query: query.to_string(), tables: Vec::new() });
    let said = "20 of 25 values of s shown: those with most rows";
    for mark in [Mark::Line, Mark::Bar, Mark::Area] {
        for aggregate in [Some("mean"), Some("count"), None] {
            let asked = LayerRequest {
                aggregate: aggregate.map(str::to_string),
                color: Some(Expr::column("s")),
                ..layer(mark, "x", Some("v"))
            };
            let made = plot(&bench, frame, asked).unwrap();
            let Layer::Xy { series, .. } = &made.layers[0] else { panic!("no series") };
            let mut names: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
            names.sort_by_key(|name| name[1..].parse::<u32>().unwrap());
            let expected: Vec<String> = (5..25).map(|s| format!("s{s}")).collect();
            assert_eq!(names, expected, "{mark:?} {aggregate:?}");
            assert!(made.notes.contains(&said.to_string()), "{:?}", made.notes);
        }
    }
}

/// 1,000 rows of 0 and 1, and around them 90 rows of 30 different values: all different ones are drawn, and the plot
/// says how many rows they are. By hand.
#[test]
fn boxes_show_different_outliers_and_say_the_rest() {
    let bench = TestEngine::default();
    let query = "select 'a' as k, n % 2 as v from range(1000) as r(n) union all \
                 select 'a', case when n % 30 < 5 then -10 - n % 30 else 10 + n % 30 end from range(90) as s(n)";
    let frame = bench.step(Op::Sql { query: query.to_string(), tables: Vec::new() });
    let made = plot(&bench, frame, layer(Mark::Box, "k", Some("v"))).unwrap();
    let Layer::Box { boxes, .. } = &made.layers[0] else { panic!("no boxes") };
    let expected: Vec<f64> = (-14..=-10).chain(15..40).map(f64::from).collect();
    assert_eq!((boxes[0].outliers.as_slice(), boxes[0].outside), (expected.as_slice(), 90));
    assert_eq!(made.notes, ["90 outliers at 30 points: equal ones are drawn once"]);
    let many =
        "select 'a' as k, n % 2 as v from range(10000) as r(n) union all select 'a', 100 + n from range(900) as s(n)";
    let frame = bench.step(Op::Sql { query: many.to_string(), tables: Vec::new() });
    let made = plot(&bench, frame, layer(Mark::Box, "k", Some("v"))).unwrap();
    let Layer::Box { boxes, .. } = &made.layers[0] else { panic!("no boxes") };
    let ends = (boxes[0].outliers[0], boxes[0].outliers[499]);
    assert_eq!((boxes[0].outliers.len(), ends), (500, (100.0, 999.0)));
    assert_eq!(made.notes, ["500 of 900 outliers shown, spread over their values"]);
}
