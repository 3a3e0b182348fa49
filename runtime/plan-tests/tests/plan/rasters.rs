//! Rasters, and layers that share a plot. Grids are those of datashader 0.19.1 (`Canvas.points` and `Canvas.line`) over
//! the same rows, with its rows from the top.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray, TimestampSecondArray};
use onrush_engine::{EngineConfig, Policy};
use onrush_explore::Rasters;
use onrush_frame::TaskHandle;
use onrush_wire::plot::{Layer, LayerRequest, Mark, Pixels, Plot, PlotRequest, PlotStyle, Raster};
use onrush_wire::visual::{VisualAsk, Window};
use onrush_wire::{Diagnostic, Expr, FrameId};

use super::support::{TestEngine, on_device};

fn plot(bench: &TestEngine, frame: FrameId, layers: Vec<LayerRequest>, style: PlotStyle) -> Result<Plot, Diagnostic> {
    let request = PlotRequest { frame, layers, style, facet: None };
    onrush_explore::plot(&bench.engine, &request, &TaskHandle::new())
}

fn layer(mark: Mark, x: &str, y: &str) -> LayerRequest {
    LayerRequest { mark, x: Some(Expr::column(x)), y: Some(Expr::column(y)), ..LayerRequest::default() }
}

fn points(bench: &TestEngine, rows: i64) -> FrameId {
    let of = |value: &dyn Fn(i64) -> f64| -> ArrayRef { Arc::new((0..rows).map(value).collect::<Float64Array>()) };
    let names: ArrayRef = Arc::new((0..rows).map(|i| Some(["a", "b", "c"][i as usize % 3])).collect::<StringArray>());
    let groups: ArrayRef = Arc::new((0..rows).map(|i| i % 2).collect::<Int64Array>());
    bench.frame(vec![
        ("x", of(&|i| ((i * 37) % 101) as f64 / 4.0)),
        ("y", of(&|i| ((i * 53) % 97) as f64 / 8.0)),
        ("k", names),
        ("v", of(&|i| (i % 7) as f64)),
        ("g", groups),
    ])
}

fn raster(bench: &TestEngine, frame: FrameId, layer: LayerRequest, size: (u32, u32)) -> (Raster, Vec<String>) {
    let style = PlotStyle { width: Some(size.0), height: Some(size.1), ..PlotStyle::default() };
    let plot = plot(bench, frame, vec![layer], style).unwrap();
    match plot.layers.into_iter().next() {
        Some(Layer::Raster(raster)) => (raster, plot.notes),
        other => panic!("no raster: {other:?}"),
    }
}

#[test]
fn counts_and_means_are_those_of_datashader() {
    let bench = TestEngine::default();
    let frame = points(&bench, 200);
    let (made, _) = raster(&bench, frame, layer(Mark::Raster, "x", "y"), (7, 5));
    let expected = [
        [7, 5, 7, 5, 6, 5, 5],
        [6, 6, 4, 6, 5, 6, 7],
        [6, 4, 7, 5, 7, 5, 5],
        [3, 7, 5, 6, 5, 4, 8],
        [8, 5, 5, 8, 4, 8, 5],
    ];
    assert_eq!(made.pixels, Pixels::Counts(expected.concat()));
    assert_eq!((made.window.x0, made.window.x1, made.window.y0, made.window.y1), (0.0, 25.0, 0.0, 12.0));
    assert_eq!((made.rows, made.color_label.as_str()), (200, "rows"));

    let mean = LayerRequest { color: Some(Expr::column("v")), ..layer(Mark::Raster, "x", "y") };
    let (made, _) = raster(&bench, frame, mean, (7, 5));
    let expected = [
        [3.142857, 2.4, 3.428571, 1.6, 2.833333, 2.8, 3.2],
        [2.666667, 3.166667, 2.0, 3.333333, 3.4, 2.833333, 3.428571],
        [2.666667, 4.0, 2.571429, 4.4, 2.571429, 3.6, 2.6],
        [3.333333, 2.857143, 3.6, 2.5, 2.8, 4.0, 2.5],
        [2.5, 2.8, 3.2, 3.25, 2.5, 2.75, 3.6],
    ];
    let Pixels::Numbers(numbers) = &made.pixels else { panic!("no numbers") };
    let near = |(found, expected): (&f32, &f32)| (found - expected).abs() < 2e-6;
    assert!(numbers.iter().zip(expected.concat().iter()).all(near), "{numbers:?}");
    assert_eq!(made.color_label, "mean(v)");
}

/// Of rows with infinities and NaN, in columns of two types, in the whole and in a window.
#[test]
fn a_device_counts_the_pixels_of_the_host() {
    let host = TestEngine::on_cpu();
    let device = TestEngine::of(EngineConfig { policy: Some(Policy::Always), ..on_device() });
    let mut pictures = Vec::new();
    for bench in [&host, &device] {
        let x = (0..5_000).map(|i| match i % 50 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            _ => f64::from((i * 37) % 1_009) / 4.0,
        });
        let y = (0..5_000).map(|i| (i * 53) % 977 - 300).map(i64::from);
        let frame = bench.frame(vec![
            ("x", Arc::new(x.collect::<Float64Array>()) as ArrayRef),
            ("y", Arc::new(y.collect::<Int64Array>())),
        ]);
        let has_device =
            bench.engine.device_positions(frame, [&Expr::column("x"), &Expr::column("y")], &TaskHandle::new());
        assert_eq!(has_device.unwrap().is_some(), std::ptr::eq(bench, &device));
        let whole = raster(bench, frame, layer(Mark::Raster, "x", "y"), (90, 41));
        assert_eq!(whole.0.rows, 4_800);
        let rasters = Rasters::default();
        let style = PlotStyle { width: Some(90), height: Some(41), ..PlotStyle::default() };
        let request = PlotRequest { frame, layers: vec![layer(Mark::Raster, "x", "y")], style, facet: None };
        let window = Window { x0: 10.0, y0: -100.5, x1: 77.25, y1: 300.0 };
        let ask = VisualAsk::Raster { window, width: 60, height: 30 };
        let part = rasters.answer(&bench.engine, &request, &ask, &TaskHandle::new()).unwrap();
        pictures.push((whole, part));
    }
    assert_eq!(pictures[0], pictures[1]);
}

#[test]
fn categories_are_counted_apart() {
    let bench = TestEngine::default();
    let frame = points(&bench, 200);
    let colored = LayerRequest { color: Some(Expr::column("k")), ..layer(Mark::Raster, "x", "y") };
    let (made, _) = raster(&bench, frame, colored, (7, 5));
    let Pixels::Categories { names, counts } = &made.pixels else { panic!("no categories") };
    assert_eq!(names, &["a", "b", "c"]);
    let first = [
        [2, 2, 3, 2, 2, 1, 2],
        [3, 2, 1, 1, 2, 2, 2],
        [1, 2, 2, 3, 2, 1, 2],
        [1, 3, 2, 1, 2, 1, 3],
        [2, 2, 1, 4, 1, 2, 2],
    ];
    assert_eq!(counts[0], first.concat());
    assert_eq!(counts.iter().flatten().sum::<u32>(), 200);
}

#[test]
fn lines_connect_the_rows_of_a_group() {
    let bench = TestEngine::default();
    let frame = points(&bench, 60);
    let lines = LayerRequest { by: Some(Expr::column("g")), ..layer(Mark::RasterLines, "x", "y") };
    let (made, _) = raster(&bench, frame, lines, (9, 6));
    let expected = [
        [0, 0, 2, 5, 5, 5, 3, 0, 0],
        [1, 6, 11, 7, 5, 5, 7, 8, 3],
        [0, 2, 6, 7, 7, 5, 4, 1, 0],
        [2, 6, 5, 2, 0, 5, 5, 6, 3],
        [2, 5, 5, 7, 8, 4, 1, 0, 0],
        [4, 6, 6, 6, 6, 8, 9, 5, 1],
    ];
    assert_eq!(made.pixels, Pixels::Counts(expected.concat()));
    assert_eq!(made.color_label, "lines");
}

/// By hand.
#[test]
fn rows_without_a_position_are_told_and_strings_are_refused() {
    let bench = TestEngine::default();
    let x: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.0), None, Some(f64::INFINITY), Some(100.0), Some(0.0)]));
    let y: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 1.0, 1.0, 3.0, 2.0]));
    let s: ArrayRef = Arc::new(StringArray::from(vec!["a"; 5]));
    let frame = bench.frame(vec![("x", x), ("y", y), ("s", s)]);
    let (made, notes) = raster(&bench, frame, layer(Mark::Raster, "x", "y"), (2, 1));
    assert_eq!(made.pixels, Pixels::Counts(vec![2, 1]));
    assert_eq!(notes, ["2 rows with no finite position left out", "3 rows"]);
    // On a logarithmic axis 0 has no position either, and 1 is the lower end.
    let style = PlotStyle { log_x: true, width: Some(2), height: Some(1), ..PlotStyle::default() };
    let made = plot(&bench, frame, vec![layer(Mark::Raster, "x", "y")], style).unwrap();
    assert_eq!(made.notes[0], "3 rows with no finite position left out");
    let error = plot(&bench, frame, vec![layer(Mark::Raster, "s", "y")], PlotStyle::default()).unwrap_err();
    assert!(error.message.contains("`s` is text"), "{error:?}");
}

/// By hand.
#[test]
fn several_columns_are_series_of_one_layer() {
    let bench = TestEngine::default();
    let frame = points(&bench, 4);
    let lines = LayerRequest { more_y: vec![Expr::column("v")], ..layer(Mark::Line, "x", "y") };
    let made = plot(&bench, frame, vec![lines.clone()], PlotStyle::default()).unwrap();
    let [Layer::Xy { series, .. }] = made.layers.as_slice() else { panic!("no lines") };
    let names: Vec<&str> = series.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["y", "v"]);
    assert_eq!(series[1].y, [0.0, 3.0, 1.0, 2.0]);
    let colored = LayerRequest { color: Some(Expr::column("k")), ..lines };
    let error = plot(&bench, frame, vec![colored], PlotStyle::default()).unwrap_err();
    assert!(error.message.contains("either several columns for `y` or a colour"), "{error:?}");
}

/// By hand: values of three decades in three bins, and one that has no logarithm.
#[test]
fn bins_of_a_logarithmic_axis_are_decades() {
    let bench = TestEngine::default();
    let v: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 1.0, 2.0, 20.0, 200.0, 300.0, 1000.0]));
    let frame = bench.frame(vec![("v", v)]);
    let hist = LayerRequest { mark: Mark::Histogram, x: Some(Expr::column("v")), bins: Some(3), ..Default::default() };
    let made = plot(&bench, frame, vec![hist], PlotStyle { log_x: true, ..PlotStyle::default() }).unwrap();
    let [Layer::Histogram { series, .. }] = made.layers.as_slice() else { panic!("no bins") };
    assert_eq!(series[0].counts, [2, 1, 3]);
    assert_eq!(made.notes, ["1 not positive, left out of the logarithmic axis"]);
}

/// From pandas: `pd.to_datetime([1357016400 - 1, 1357016400], unit='s', utc=True).tz_convert('America/New_York').date`.
#[test]
fn days_begin_at_midnight_of_the_zone() {
    let bench = TestEngine::default();
    let midnight = 1_357_016_400; // 2013-01-01 00:00 in New York
    let times = TimestampSecondArray::from(vec![midnight - 1, midnight, midnight + 86_399]);
    let t: ArrayRef = Arc::new(times.with_timezone("America/New_York"));
    let frame = bench.frame(vec![("t", t)]);
    let daily = LayerRequest {
        mark: Mark::Bar,
        x: Some(Expr::column("t")),
        aggregate: Some("count".into()),
        every: Some("1d".into()),
        ..LayerRequest::default()
    };
    let made = plot(&bench, frame, vec![daily], PlotStyle::default()).unwrap();
    let [Layer::Xy { series, .. }] = made.layers.as_slice() else { panic!("no bars") };
    assert_eq!(series[0].x, [1_356_912_000.0, 1_356_998_400.0]);
    assert_eq!(series[0].y, [1.0, 2.0]);
}
