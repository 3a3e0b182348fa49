//! Plots: what the engine gives for drawing. Values are calculated by hand.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use onrush_frame::TaskHandle;
use onrush_wire::plot::{AxisScale, Layer, LayerRequest, Mark, Plot, PlotRequest, PlotStyle};
use onrush_wire::{Diagnostic, Expr, FrameId};

use super::support::Bench;

fn layer(mark: Mark, x: &str, y: Option<&str>) -> LayerRequest {
    LayerRequest { mark, x: Some(Expr::column(x)), y: y.map(Expr::column), color: None, bins: None, aggregate: None }
}

fn plot(bench: &Bench, frame: FrameId, layer: LayerRequest) -> Result<Plot, Diagnostic> {
    let request = PlotRequest { frame, layers: vec![layer], style: PlotStyle::default() };
    onrush_plan::plot::plot(&bench.engine, &request, &TaskHandle::new())
}

fn toy(bench: &Bench) -> FrameId {
    let k: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), Some("a"), Some("b"), None, Some("a")]));
    let n: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(2), Some(3), Some(4), None]));
    let v: ArrayRef = Arc::new(Float64Array::from(vec![10.0, 20.0, 30.0, 40.0, f64::NAN]));
    bench.frame(vec![("k", k), ("n", n), ("v", v)])
}

#[test]
fn bars_keep_their_order_or_combine() {
    let bench = Bench::default();
    let frame = toy(&bench);
    let made = plot(&bench, frame, layer(Mark::Bar, "k", Some("n"))).unwrap();
    let Layer::Xy { x, series, .. } = &made.layers[0] else { panic!("no bars") };
    assert_eq!((x.scale, x.categories.join(" ").as_str()), (AxisScale::Category, "b a"));
    assert_eq!((series[0].x.as_slice(), series[0].y.as_slice()), (&[0.0, 1.0, 0.0][..], &[1.0, 2.0, 3.0][..]));

    let mean = LayerRequest { aggregate: Some("mean".into()), ..layer(Mark::Bar, "k", Some("n")) };
    let made = plot(&bench, frame, mean).unwrap();
    let Layer::Xy { x, y, series, .. } = &made.layers[0] else { panic!("no bars") };
    assert_eq!((x.categories.join(" ").as_str(), y.label.as_str()), ("a b", "mean(n)"));
    assert_eq!(series[0].y, [2.0, 2.0]);
    assert_eq!(made.notes, ["1 point with no value left out"]);
}

#[test]
fn histograms_count_and_say_what_is_missing() {
    let bench = Bench::default();
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
    let bench = Bench::default();
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
    let bench = Bench::default();
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
    let bench = Bench::default();
    let frame = bench.frame(vec![("n", Arc::new(Int64Array::from_iter_values(0..20_000)) as ArrayRef)]);
    let made = plot(&bench, frame, layer(Mark::Scatter, "n", Some("n"))).unwrap();
    let Layer::Xy { series, .. } = &made.layers[0] else { panic!("no points") };
    assert_eq!((series[0].x.len(), series[0].x[4_999]), (5_000, 19_999.0));
    assert_eq!(made.notes, ["5\u{202f}000 of 20\u{202f}000 points shown"]);
    let error = plot(&bench, frame, layer(Mark::Bar, "n", Some("n"))).unwrap_err();
    assert!(error.message.contains("20000 bars"), "{error}");
}
