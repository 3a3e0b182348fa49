//! Plots as Vega-Lite: what stands in the specification. That it is valid is tested with the schema, by `tests/notebooks`.

use onrush_view::bundle;
use onrush_wire::display::Content;
use onrush_wire::plot::{Axis, AxisScale, Layer, Mark, Plot, PlotStyle, Series};
use serde_json::{Value, json};

const MIME: &str = "application/vnd.vegalite.v5+json";

fn axis(label: &str, categories: &[&str]) -> Axis {
    let scale = if categories.is_empty() { AxisScale::Number } else { AxisScale::Category };
    Axis { label: label.into(), scale, categories: categories.iter().map(|c| c.to_string()).collect() }
}

fn series(name: &str, x: &[f64], y: &[f64]) -> Series {
    Series { name: name.into(), x: x.to_vec(), y: y.to_vec() }
}

fn spec(layers: Vec<Layer>) -> Value {
    let plot = Plot { layers, style: PlotStyle::default(), notes: vec![] };
    bundle(&Content::Plot(plot))[MIME].clone()
}

/// All strings that name a field.
fn fields<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get("field").and_then(Value::as_str));
            map.values().for_each(|v| fields(v, found));
        }
        Value::Array(list) => list.iter().for_each(|v| fields(v, found)),
        _ => {}
    }
}

#[test]
fn names_are_titles_and_never_fields() {
    let hostile = "a.b[0]'\"\\<img src=x onerror=alert(1)>";
    let names = ["x", "<b>y</b>", "c'd"];
    let bars = Layer::Xy {
        mark: Mark::Bar,
        x: axis(hostile, &names),
        y: axis("image", &[]),
        series: vec![series(hostile, &[0.0, 1.0], &[3.0, 4.0]), series("title", &[2.0], &[5.0])],
    };
    let spec = spec(vec![bars]);
    let mut found = Vec::new();
    fields(&spec, &mut found);
    assert!(!found.is_empty() && found.iter().all(|f| ["x", "y", "s"].contains(f)), "{found:?}");
    assert_eq!(spec["layer"][0]["encoding"]["x"]["title"], hostile);
    assert_eq!(spec["datasets"]["d0"][0], json!({ "x": "x", "y": 3, "s": hostile }));
    // A tooltip takes `image` for an address to be loaded.
    assert_eq!(spec["layer"][0]["encoding"]["tooltip"][1]["title"], "image ");
}

#[test]
fn a_line_keeps_its_gap_and_its_order() {
    let line = |x: &[f64]| {
        vec![Layer::Xy {
            mark: Mark::Line,
            x: axis("a", &[]),
            y: axis("b", &[]),
            series: vec![series("", x, &[1.0, f64::NAN, 3.0])],
        }]
    };
    let forward = spec(line(&[0.0, 1.0, 2.0]));
    // Single points on both sides of the gap.
    assert_eq!(forward["datasets"]["d0"], json!([{ "x": 0, "y": 1 }, { "x": 2, "y": 3 }]));
    let back = Layer::Xy {
        mark: Mark::Line,
        x: axis("a", &[]),
        y: axis("b", &[]),
        series: vec![series("", &[2.0, 0.0, 1.0], &[1.0, 2.0, 3.0])],
    };
    let back = spec(vec![back]);
    assert_eq!(back["layer"][0]["encoding"]["order"]["field"], "o");
    assert_eq!(back["datasets"]["d0"][1], json!({ "x": 0, "y": 2, "o": 1 }));
}

#[test]
fn large_plots_are_thinned_below_the_limit_and_say_so() {
    let x: Vec<f64> = (0..60_000).map(f64::from).collect();
    let y: Vec<f64> = x.iter().map(|x| (x / 1e3).sin() * 1.234_567_8).collect();
    let line = Layer::Xy { mark: Mark::Line, x: axis("a", &[]), y: axis("b", &[]), series: vec![series("", &x, &y)] };
    let spec = spec(vec![line]);
    assert!(spec.to_string().len() <= 512 * 1024, "{}", spec.to_string().len());
    assert!(spec["title"].to_string().contains("of 60000 points here"), "{}", spec["title"]);
}
