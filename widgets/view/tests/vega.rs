//! Plots as Vega-Lite: what stands in the specification. That it is valid is tested with the schema, by `tests/notebooks`.

use onrush_view::bundle;
use onrush_wire::display::Content;
use onrush_wire::plot::{Axis, AxisScale, Facet, Layer, Mark, Plot, PlotStyle, Rule, Series};
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
    let plot = Plot { layers, style: PlotStyle::default(), notes: vec![], facets: vec![], facet_label: String::new() };
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
    assert!(spec["title"].to_string().contains("of 60\u{202f}000 points here"), "{}", spec["title"]);
}

#[test]
fn a_plot_that_is_too_large_to_be_zoomed_is_a_picture_that_says_so() {
    // Thirty names of 20,000 letters are more than the limit.
    let names: Vec<String> = (0..30).map(|n| n.to_string() + &"x".repeat(20_000)).collect();
    let x = Axis { label: "a".into(), scale: AxisScale::Category, categories: names };
    let places: Vec<f64> = (0..30).map(f64::from).collect();
    let bars = Layer::Xy { mark: Mark::Bar, x, y: axis("b", &[]), series: vec![series("", &places, &places)] };
    let plot = Plot {
        layers: vec![bars],
        style: PlotStyle::default(),
        notes: vec![],
        facets: vec![],
        facet_label: String::new(),
    };
    let bundle = bundle(&Content::Plot(plot));
    assert!(!bundle.contains_key("application/vnd.vegalite.v5+json"));
    let said = "a still picture: what can be zoomed would have more than 512 kB";
    assert!(
        bundle["image/svg+xml"].as_str().unwrap().contains(said)
            && bundle["text/plain"].as_str().unwrap().contains(said)
    );
}

#[test]
fn panels_share_scales_and_one_legend() {
    let layer = |high: f64| Layer::Xy {
        mark: Mark::Scatter,
        x: axis("a", &[]),
        y: axis("b", &[]),
        series: vec![series("s", &[0.0, high], &[0.0, 1.0]), series("t", &[1.0], &[0.5])],
    };
    let facet = |name: &str, high| Facet { name: name.into(), layers: vec![layer(high)] };
    let plot = Plot {
        layers: vec![],
        style: PlotStyle { alt: Some("what is seen".into()), ..PlotStyle::default() },
        notes: vec![],
        facets: vec![facet("<b>", 10.0), facet("two", 20.0)],
        facet_label: "k".into(),
    };
    let bundle = bundle(&Content::Plot(plot));
    let spec = &bundle[MIME];
    assert_eq!(spec["description"], "what is seen");
    assert_eq!(spec["concat"][0]["title"]["text"], "<b>");
    let domain = |i: usize| spec["concat"][i]["layer"][0]["encoding"]["x"]["scale"]["domain"].clone();
    assert_eq!(domain(0), domain(1));
    assert!(domain(0)[1].as_f64().unwrap() >= 20.0);
    let names = |i: usize| -> Vec<String> {
        let parameters = spec["concat"][i]["layer"][0]["params"].as_array().unwrap();
        parameters.iter().map(|p| p["name"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!((names(0), names(1)), (vec!["zoom0".to_string(), "chosen".into()], vec!["zoom1".to_string()]));
    let svg = bundle["image/svg+xml"].as_str().unwrap();
    assert!(svg.contains("&lt;b&gt;") && svg.contains("<desc>what is seen</desc>"), "{svg}");
}

#[test]
fn formats_and_lines_across_are_in_both_forms() {
    let line = Layer::Xy {
        mark: Mark::Line,
        x: axis("a", &[]),
        y: axis("share", &[]),
        series: vec![series("", &[0.0, 1.0], &[0.0, 0.5])],
    };
    let style = PlotStyle {
        y_format: Some(".0%".into()),
        x_format: Some("no format".into()),
        rules: vec![Rule { at: 0.25, is_vertical: false, label: "quarter".into() }],
        ..PlotStyle::default()
    };
    let plot = Plot { layers: vec![line], style, notes: vec![], facets: vec![], facet_label: String::new() };
    let bundle = bundle(&Content::Plot(plot));
    assert_eq!(bundle[MIME]["layer"][0]["encoding"]["y"]["axis"]["format"], ".0%");
    assert_eq!(bundle[MIME]["datasets"]["d1"][0], json!({ "y": 0.25, "l": "quarter" }));
    let svg = bundle["image/svg+xml"].as_str().unwrap();
    assert!(svg.contains(">40%<") && svg.contains(">quarter<"), "{svg}");
    assert!(svg.contains("is not one for this axis"), "{svg}");
}

#[test]
fn a_pdf_is_written() {
    let line = Layer::Xy {
        mark: Mark::Line,
        x: axis("a", &[]),
        y: axis("b", &[]),
        series: vec![series("", &[0.0, 1.0], &[0.0, 0.5])],
    };
    let plot = Plot {
        layers: vec![line],
        style: PlotStyle::default(),
        notes: vec![],
        facets: vec![],
        facet_label: String::new(),
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plot.pdf");
    onrush_view::save_plot(&plot, &path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes.starts_with(b"%PDF-1.") && bytes.len() > 1000, "{} bytes", bytes.len());
    let error = onrush_view::save_plot(&plot, &folder.path().join("plot.gif")).unwrap_err();
    assert!(error.message.contains("`.svg`, `.png` or `.pdf`"), "{error}");
}

#[test]
fn horizontal_bars_have_the_same_rows_and_exchanged_channels() {
    let bars = || Layer::Xy {
        mark: Mark::Bar,
        x: axis("carrier", &["UA", "AA"]),
        y: axis("delay", &[]),
        series: vec![series("JFK", &[0.0, 1.0], &[3.0, 4.0]), series("LGA", &[0.0], &[5.0])],
    };
    let rule = Rule { at: 4.5, is_vertical: true, label: "limit".into() };
    let style = PlotStyle {
        is_horizontal: true,
        x_label: Some("minutes".into()),
        x_format: Some(".1f".into()),
        rules: vec![rule],
        ..PlotStyle::default()
    };
    let plot = Plot { layers: vec![bars()], style, notes: vec![], facets: vec![], facet_label: String::new() };
    let made = bundle(&Content::Plot(plot));
    let (upright, lying) = (spec(vec![bars()]), &made[MIME]);
    assert_eq!(lying["datasets"]["d0"], upright["datasets"]["d0"]);
    let encoding = &lying["layer"][0]["encoding"];
    // Labels and formats are said of the axis that is drawn.
    assert_eq!((&encoding["y"]["field"], &encoding["x"]["field"]), (&json!("x"), &json!("y")));
    assert_eq!((&encoding["x"]["title"], &encoding["y"]["title"]), (&json!("minutes"), &json!("carrier")));
    assert_eq!(encoding["x"]["axis"]["format"], ".1f");
    assert_eq!(encoding["y"]["scale"]["domain"], json!(["UA", "AA"]));
    assert_eq!((&encoding["yOffset"]["field"], encoding.get("xOffset")), (&json!("s"), None));
    // A line from bottom to top at a value of the axis at the bottom.
    assert_eq!(lying["layer"][1]["encoding"]["x"]["field"], "y");
    let told = "horizontal bar chart: 2 series (JFK, LGA), x = minutes, y = carrier";
    assert_eq!(made["text/plain"], told);
    // The first category is at the top of the picture, too.
    let svg = made["image/svg+xml"].as_str().unwrap();
    let height = |name: &str| {
        let before = &svg[..svg.find(&format!(">{name}<")).unwrap()];
        let y = &before[before.rfind(" y=\"").unwrap() + 4..];
        y[..y.find('"').unwrap()].parse::<f64>().unwrap()
    };
    assert!(height("UA") < height("AA"), "{svg}");
}

#[test]
fn panels_have_ranges_of_their_own_if_they_are_free() {
    let facet = |name: &str, high: f64| Facet {
        name: name.into(),
        layers: vec![Layer::Xy {
            mark: Mark::Line,
            x: axis("t", &[]),
            y: axis("v", &[]),
            series: vec![series("", &[0.0, high], &[0.0, high])],
        }],
    };
    let domains = |free_x, free_y| {
        let style = PlotStyle { free_x, free_y, ..PlotStyle::default() };
        let facets = vec![facet("a", 1.0), facet("b", 100.0)];
        let plot = Plot { layers: vec![], style, notes: vec![], facets, facet_label: String::new() };
        let made = bundle(&Content::Plot(plot));
        assert!(made["text/plain"].as_str().unwrap().starts_with("2 panels (a, b), each a"));
        let domain =
            |n: usize, side: &str| made[MIME]["concat"][n]["layer"][0]["encoding"][side]["scale"]["domain"][1].clone();
        [domain(0, "x"), domain(1, "x"), domain(0, "y"), domain(1, "y")].map(|v| v.as_f64().unwrap())
    };
    assert_eq!(domains(false, false), [100.0, 100.0, 105.0, 105.0]);
    assert_eq!(domains(false, true), [100.0, 100.0, 1.05, 105.0]);
    assert_eq!(domains(true, true), [1.0, 100.0, 1.05, 105.0]);
}

/// Vega draws nothing at all of a specification in which a view has no layers.
#[test]
fn a_panel_of_nothing_keeps_its_place() {
    let facet = |name: &str, y: f64| Facet {
        name: name.into(),
        layers: vec![Layer::Xy {
            mark: Mark::Scatter,
            x: axis("t", &[]),
            y: axis("v", &[]),
            series: vec![series("", &[1.0], &[y])],
        }],
    };
    let facets = vec![facet("a", 1.0), facet("b", f64::NAN)];
    let plot = Plot { layers: vec![], style: PlotStyle::default(), notes: vec![], facets, facet_label: "k".into() };
    let made = bundle(&Content::Plot(plot));
    assert_eq!(made[MIME]["concat"][1]["layer"][0]["mark"]["text"], "no data to draw");
}
