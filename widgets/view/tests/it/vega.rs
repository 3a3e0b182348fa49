//! Plots as Vega-Lite: the contents of the specification. `tests/notebooks` tests with the schema that it is valid.

use onrush_view::bundle;
use onrush_wire::display::Content;
use onrush_wire::plot::{Axis, AxisScale, Bins, Facet, Layer, Mark, Plot, PlotStyle, Rule, Series};
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
    let facet = |name: &str, high| Facet { name: name.into(), layers: vec![layer(high)], ..Facet::default() };
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
        ..Facet::default()
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
        ..Facet::default()
    };
    let facets = vec![facet("a", 1.0), facet("b", f64::NAN)];
    let plot = Plot { layers: vec![], style: PlotStyle::default(), notes: vec![], facets, facet_label: "k".into() };
    let made = bundle(&Content::Plot(plot));
    assert_eq!(made[MIME]["concat"][1]["layer"][0]["mark"]["text"], "no data to draw");
}

fn panel(name: &str, layer: Layer) -> Facet {
    Facet { name: name.into(), layers: vec![layer], ..Facet::default() }
}

fn panelled(facets: Vec<Facet>, style: PlotStyle) -> Value {
    let plot = Plot { layers: vec![], style, notes: vec![], facets, facet_label: String::new() };
    bundle(&Content::Plot(plot)).into_json()
}

fn xy(mark: Mark, x: Axis, y: &str, points: &[(f64, f64)]) -> Layer {
    let (xs, ys): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    Layer::Xy { mark, x, y: axis(y, &[]), series: vec![series("", &xs, &ys)] }
}

fn time(label: &str) -> Axis {
    Axis { scale: AxisScale::Time, ..axis(label, &[]) }
}

fn encoding<'a>(made: &'a Value, panel: usize, side: &str) -> &'a Value {
    &made[MIME]["concat"][panel]["layer"][0]["encoding"][side]
}

/// The labels of a picture.
fn words(made: &Value) -> Vec<String> {
    let svg = made["image/svg+xml"].as_str().unwrap();
    let texts = svg.split("</text>").filter_map(|part| part.rsplit_once('>'));
    texts.map(|(_, text)| text.to_string()).filter(|text| !text.trim().is_empty()).collect()
}

#[test]
fn a_panel_of_nothing_has_no_say_in_shared_axes() {
    let points = |y: f64| xy(Mark::Line, axis("t", &[]), "v", &[(1_000.0, y), (2_000.0, y + 100.0)]);
    let made = panelled(vec![panel("a", points(500.0)), panel("b", points(f64::NAN))], PlotStyle::default());
    // 5 % of the 100 that the only values lie apart.
    assert_eq!(encoding(&made, 0, "x")["scale"]["domain"], json!([1000, 2000]));
    assert_eq!(encoding(&made, 0, "y")["scale"]["domain"], json!([495, 605]));
    assert!(!words(&made).contains(&"0".to_string()), "{:?}", words(&made));
}

#[test]
fn panels_of_different_kinds_have_axes_of_their_own() {
    // 2013-01-01 and a day later.
    let day = 1_356_998_400.0;
    let facets = vec![
        panel("model", xy(Mark::Line, axis("seconds", &[]), "speed", &[(0.0, 1.0), (10.0, 2.0)])),
        panel("flights", xy(Mark::Line, time("date"), "delay", &[(day, 0.0), (day + 86_400.0, 9.0)])),
        panel("airports", xy(Mark::Bar, axis("airport", &["JFK", "LGA"]), "rows", &[(0.0, 3.0), (1.0, 4.0)])),
    ];
    let made = panelled(facets, PlotStyle::default());
    let kinds = [0, 1, 2].map(|i| encoding(&made, i, "x")["type"].clone());
    assert_eq!(kinds, ["quantitative", "temporal", "nominal"]);
    assert_eq!(encoding(&made, 0, "x")["scale"]["domain"], json!([0, 10]));
    assert_eq!(encoding(&made, 2, "x")["scale"]["domain"], json!(["JFK", "LGA"]));
    let titles =
        [0, 1, 2].map(|i| (encoding(&made, i, "x")["title"].clone(), encoding(&made, i, "y")["title"].clone()));
    assert_eq!(
        titles.map(|(x, y)| format!("{x} {y}")),
        [r#""seconds" "speed""#, r#""date" "delay""#, r#""airport" "rows""#]
    );
    let words = words(&made);
    for word in ["seconds", "speed", "date (2013)", "delay", "airport", "rows", "JFK", "10"] {
        assert!(words.iter().any(|w| w == word), "no {word} in {words:?}");
    }
    assert_eq!(
        made["text/plain"],
        "3 panels (model, flights, airports)\nmodel: line chart: 2 points, x = seconds, y = speed\n\
         flights: line chart: 2 points, x = date, y = delay\nairports: bar chart: 2 bars, x = airport, y = rows"
    );
}

#[test]
fn panels_of_different_columns_have_axes_of_their_own() {
    let of = |label: &str, high: f64| xy(Mark::Line, axis("t", &[]), label, &[(0.0, 0.0), (1.0, high)]);
    let highest = |labels: [&str; 2], y_label: Option<&str>| {
        let facets = vec![panel("a", of(labels[0], 20.0)), panel("b", of(labels[1], 1_000.0))];
        let made = panelled(facets, PlotStyle { y_label: y_label.map(String::from), ..PlotStyle::default() });
        [0, 1].map(|i| encoding(&made, i, "y")["scale"]["domain"][1].as_f64().unwrap())
    };
    assert_eq!(highest(["speed", "delay"], None), [21.0, 1050.0]);
    // The same column, a name for both, and values that have no name.
    assert_eq!(highest(["delay", "delay"], None), [1050.0; 2]);
    assert_eq!(highest(["speed", "delay"], Some("y")), [1050.0; 2]);
    assert_eq!(highest(["", "delay"], None), [1050.0; 2]);
    let bins = Bins { name: String::new(), edges: vec![0.0, 1.0], counts: vec![40] };
    let facets = vec![panel("a", of("", 20.0)), panel("b", Layer::Histogram { x: axis("", &[]), series: vec![bins] })];
    let made = panelled(facets, PlotStyle::default());
    assert_eq!([0, 1].map(|i| encoding(&made, i, "y")["scale"]["domain"][1].as_f64().unwrap()), [21.0, 42.0]);
}

#[test]
fn free_times_say_their_own_year() {
    // 2013-03-01 and 2014-03-01, and twenty days from there.
    let days = |start: f64| xy(Mark::Line, time("date"), "v", &[(start, 1.0), (start + 20.0 * 86_400.0, 2.0)]);
    let facets = || vec![panel("a", days(1_362_096_000.0)), panel("b", days(1_393_632_000.0))];
    let made = words(&panelled(facets(), PlotStyle { free_x: true, ..PlotStyle::default() }));
    let dates: Vec<&String> = made.iter().filter(|w| w.starts_with("date")).collect();
    assert_eq!(dates, ["date (2013)", "date (2014)"]);
    // One axis over both years has them at its ticks.
    let made = words(&panelled(facets(), PlotStyle::default()));
    let dates: Vec<&String> = made.iter().filter(|w| w.starts_with("date")).collect();
    assert_eq!(dates, ["date"]);
}

#[test]
fn bars_of_all_panels_are_as_wide_and_have_their_own_lines() {
    let week = 7.0 * 86_400.0;
    let mut alone = panel("b", xy(Mark::Bar, time("date"), "v", &[(0.0, 1.0)]));
    alone.rules.push(Rule { at: 0.5, is_vertical: false, label: "half".into() });
    let facets = vec![panel("a", xy(Mark::Bar, time("date"), "v", &[(0.0, 1.0), (week, 2.0)])), alone];
    let made = panelled(facets, PlotStyle::default());
    let widths = |name: &str| {
        let rows = made[MIME]["datasets"][name].as_array().unwrap();
        let side = |row: &Value, side: &str| row[side].as_f64().unwrap();
        rows.iter().map(|row| side(row, "x2") - side(row, "x")).collect::<Vec<_>>()
    };
    // Four fifths of a week, in milliseconds.
    assert_eq!(widths("d0"), [0.8 * week * 1000.0; 2]);
    assert_eq!(widths("d1"), [0.8 * week * 1000.0]);
    assert_eq!(words(&made).iter().filter(|w| *w == "half").count(), 1);
}

/// A million names are counted once, not compared with each other: that took minutes.
#[test]
fn of_a_million_categories_the_first_are_drawn() {
    let names: Vec<String> = (0..1_000_000).map(|n| format!("k{n}")).collect();
    let x = Axis { label: "k".into(), scale: AxisScale::Category, categories: names };
    let at: Vec<f64> = (0..1_000_000).map(f64::from).collect();
    let bars = Layer::Xy { mark: Mark::Bar, x, y: axis("n", &[]), series: vec![series("", &at, &at)] };
    let started = std::time::Instant::now();
    let spec = spec(vec![bars]).to_string();
    assert!(spec.contains("the first 50 of 1\u{202f}000\u{202f}000 categories are shown"), "{spec}");
    assert!(spec.contains("\"k49\"") && !spec.contains("\"k50\"") && spec.len() < 20_000, "{}", spec.len());
    assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
}

/// Blocks of cells are their means, by hand. A block has three adjacent numbers of 0 to 299, or of the zeros of the
/// first row.
#[test]
fn large_matrices_are_drawn_in_blocks() {
    let names = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    let named = |categories| Axis { label: String::new(), scale: AxisScale::Category, categories };
    let row = |first: bool| (0..300).map(|n| if first { Some(0.0) } else { Some(f64::from(n)) }).collect::<Vec<_>>();
    let values = vec![row(true), row(false)];
    let color_label = String::new();
    let matrix = Layer::HeatMap { x: named(names(300)), y: named(names(2)), values, color_label, range: None };
    let spec = spec(vec![matrix]);
    let cells = spec["datasets"]["d0"].as_array().unwrap();
    assert_eq!(
        (cells.len(), &cells[99], &cells[199]),
        (200, &json!({ "x": "297 to 299", "y": "0", "c": 0 }), &json!({ "x": "297 to 299", "y": "1", "c": 298 }),)
    );
    assert!(spec.to_string().contains("means of blocks of 3 × 1 cells"), "{spec}");
    let values = vec![vec![Some(1.0); 100]; 100];
    let whole =
        Layer::HeatMap { x: named(names(100)), y: named(names(100)), values, color_label: String::new(), range: None };
    let spec = self::spec(vec![whole]);
    assert_eq!(spec["datasets"]["d0"].as_array().map(Vec::len), Some(10_000));
    assert!(spec.get("title").is_none(), "{:?}", spec["title"]);
}

/// By hand: 110 pixels are seven letters, an ellipsis and seven letters.
#[test]
fn long_names_that_differ_at_their_ends_lose_their_middles() {
    let names = |end: &str| (0..3).map(|n| format!("a category with a very long name {n}{end}")).collect::<Vec<_>>();
    let bars = |categories: Vec<String>| {
        let x = Axis { label: "c".into(), scale: AxisScale::Category, categories };
        spec(vec![Layer::Xy {
            mark: Mark::Bar,
            x,
            y: axis("n", &[]),
            series: vec![series("", &[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0])],
        }])
    };
    let written = "length(datum.label) > 15 ? slice(datum.label, 0, 7) + '…' + slice(datum.label, -7) : datum.label";
    assert!(bars(names("")).to_string().contains(written), "{}", bars(names("")));
    // Short ones, those that begin differently, and letters of two halves are cut by Vega.
    let other: Vec<String> = ["one", "two", "three"].map(|n| format!("{n} category with a very long name")).to_vec();
    for names in [vec!["a".to_string(), "b".into(), "c".into()], other, names("\u{1f980}")] {
        assert!(!bars(names).to_string().contains("labelExpr"));
    }
}

#[test]
fn limits_are_the_ends_of_both_forms() {
    let line = |y: &[f64]| Layer::Xy {
        mark: Mark::Line,
        x: axis("a", &[]),
        y: axis("b", &[]),
        series: vec![series("", &[0.0, 1.0, 9.0], y)],
    };
    let style = PlotStyle { x_limits: Some((0.0, 2.0)), y_limits: Some((5.0, 1.0)), ..PlotStyle::default() };
    let layers = vec![line(&[1.0, 2.0, 3.0]), line(&[3.0, 2.0, 1.0])];
    let plot = Plot { layers, style, notes: vec![], facets: vec![], facet_label: String::new() };
    let made = bundle(&Content::Plot(plot));
    let x = &made[MIME]["layer"][0]["encoding"]["x"]["scale"]["domain"];
    assert_eq!(x, &json!([0, 2]));
    let svg = made["image/svg+xml"].as_str().unwrap();
    assert!(svg.contains("<clipPath") && svg.contains("an axis cannot go from 5 to 1"), "{svg}");
    // Layers without names have different colours in Vega, too.
    let color = |layer: usize| &made[MIME]["layer"][layer]["mark"]["color"];
    assert!(color(0).is_string() && color(0) != color(1), "{}", made[MIME]["layer"]);
}
