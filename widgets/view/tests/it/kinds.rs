//! Plots of distributions, intervals, hexagons, pairs and prices, and annotations: shapes of the picture and rows of
//! Vega-Lite.

use onrush_view::bundle;
use onrush_wire::display::Content;
use onrush_wire::plot::marks::StepPosition;
use onrush_wire::plot::{
    Annotations, Axis, AxisScale, Bins, BoxStats, Candles, Facet, Hexagons, Interval, Layer, Mark, Plot, PlotPosition,
    PlotStyle, PlotText, Series, ShadedSpan, Theme, Violin,
};
use serde_json::{Value, json};

const MIME: &str = "application/vnd.vegalite.v5+json";

fn axis(label: &str, categories: &[&str]) -> Axis {
    let scale = if categories.is_empty() { AxisScale::Number } else { AxisScale::Category };
    Axis { label: label.into(), scale, categories: categories.iter().map(|c| c.to_string()).collect() }
}

fn made(layers: Vec<Layer>, style: PlotStyle) -> Value {
    let plot = Plot { layers, style, notes: vec![], facets: vec![], facet_label: String::new() };
    bundle(&Content::Plot(plot)).into_json()
}

fn xy(mark: Mark, x: Axis, points: &[(f64, f64)]) -> Layer {
    let (x_values, y_values) = points.iter().copied().unzip();
    let series = vec![Series { name: String::new(), x: x_values, y: y_values }];
    Layer::Xy { mark, x, y: axis("v", &[]), series }
}

/// The labels of a picture.
fn words(made: &Value) -> Vec<String> {
    let svg = made["image/svg+xml"].as_str().unwrap();
    let texts = svg.split("</text>").filter_map(|part| part.rsplit_once('>'));
    texts.map(|(_, text)| text.to_string()).filter(|text| !text.trim().is_empty()).collect()
}

/// The points of the first path of the marks, on axes from 0 to 4, and the name by which Vega-Lite connects them.
fn steps(position: StepPosition) -> (Vec<(f64, f64)>, Value) {
    let limits = Some((0.0, 4.0));
    let style = PlotStyle { x_limits: limits, y_limits: limits, ..PlotStyle::default() };
    let layer = xy(Mark::Step(position), axis("t", &[]), &[(0.0, 0.0), (2.0, 4.0), (4.0, 1.0)]);
    let made = made(vec![layer], style);
    let svg = made["image/svg+xml"].as_str().unwrap();
    let number = |text: &str| text.trim().parse::<f64>().unwrap();
    let (_, frame) = svg.split_once("<clipPath").unwrap();
    let side = |name: &str| number(frame.split_once(&format!(" {name}=\"")).unwrap().1.split('"').next().unwrap());
    let (left, top, width, height) = (side("x"), side("y"), side("width"), side("height"));
    let (_, path) = frame.split_once("<path d=\"M").unwrap();
    let points = path.split('"').next().unwrap().split('L').map(|point| {
        let (x, y) = point.trim().split_once(' ').unwrap();
        let share = |part: f64| (part * 400.0).round() / 100.0;
        (share((number(x) - left) / width), share(1.0 - (number(y) - top) / height))
    });
    (points.collect(), made[MIME]["layer"][0]["mark"]["interpolate"].clone())
}

/// Corners by hand: `pre` changes at the left point, `post` at the right one, `mid` half-way.
#[test]
fn steps_have_corners_between_their_points() {
    let (points, name) = steps(StepPosition::Pre);
    assert_eq!(points, [(0.0, 0.0), (0.0, 4.0), (2.0, 4.0), (2.0, 1.0), (4.0, 1.0)]);
    assert_eq!(name, "step-before");
    let (points, name) = steps(StepPosition::Post);
    assert_eq!(points, [(0.0, 0.0), (2.0, 0.0), (2.0, 4.0), (4.0, 4.0), (4.0, 1.0)]);
    assert_eq!(name, "step-after");
    let (points, name) = steps(StepPosition::Mid);
    assert_eq!(points, [(0.0, 0.0), (1.0, 0.0), (1.0, 4.0), (2.0, 4.0), (3.0, 4.0), (3.0, 1.0), (4.0, 1.0)]);
    assert_eq!(name, "step");
    let text =
        made(vec![xy(Mark::Step(StepPosition::Pre), axis("t", &[]), &[(0.0, 0.0), (2.0, 4.0)])], PlotStyle::default());
    assert_eq!(text["text/plain"], "step line: 2 points, x = t, y = v");
}

fn violin(category: &str) -> Violin {
    let stats = BoxStats {
        category: category.into(),
        low: 1.0,
        q1: 2.0,
        median: 3.0,
        q3: 4.0,
        high: 5.0,
        outliers: vec![],
        different: 0,
        outside: 0,
        count: 9,
    };
    Violin { stats, at: vec![0.0, 3.0, 6.0], density: vec![0.0, 0.4, 0.0] }
}

/// The widest violin fills 85 % of its slot. Categories are numbers whose labels are looked up.
#[test]
fn violins_lie_around_their_categories() {
    let layer = || Layer::Violins { x: axis("k", &["p", "q\"s"]), y: axis("v", &[]), violins: vec![violin("q\"s")] };
    let made = self::made(vec![layer()], PlotStyle::default());
    let spec = &made[MIME];
    assert_eq!(spec["datasets"]["d0"][1], json!({ "x": 1.425, "y": 3, "x2": 0.575 }));
    let x = &spec["layer"][0]["encoding"]["x"];
    assert_eq!((&x["type"], &x["axis"]["values"]), (&json!("quantitative"), &json!([0, 1])));
    assert_eq!(x["axis"]["labelExpr"], "[\"p\",\"q\\\"s\"][datum.value]");
    // Whiskers, quartiles and the median.
    let marks: Vec<&str> = (0..4).map(|i| spec["layer"][i]["mark"]["type"].as_str().unwrap()).collect();
    assert_eq!(marks, ["area", "rule", "rule", "circle"]);
    assert_eq!(made["text/plain"], "violin plot: 1 violin (q\"s), x = k, y = v");
    assert!(words(&made).contains(&"q&quot;s".to_string()) || words(&made).contains(&"q\"s".to_string()));
    let lying = self::made(vec![layer()], PlotStyle { is_horizontal: true, ..PlotStyle::default() });
    let y = &lying[MIME]["layer"][0]["encoding"]["y"];
    assert_eq!((&y["field"], &y["scale"]["reverse"]), (&json!("x"), &json!(true)));
    assert_eq!(lying[MIME]["layer"][0]["mark"]["orient"], "vertical");
}

/// Three series are a sixth of a slot apart.
#[test]
fn error_bars_of_series_are_next_to_each_other() {
    let one = |name: &str| Interval {
        name: name.into(),
        x: vec![0.0, 1.0],
        y: vec![2.0, 3.0],
        low: vec![1.0, f64::NAN],
        high: vec![4.0, f64::NAN],
    };
    let series = vec![one("a"), one("b"), one("c")];
    let layer = Layer::Intervals { x: axis("k", &["p", "q"]), y: axis("v", &[]), series, is_band: false };
    let made = self::made(vec![layer], PlotStyle::default());
    let sets = made[MIME]["datasets"].as_object().unwrap();
    let bars: Vec<f64> = sets
        .values()
        .flat_map(|rows| rows.as_array().unwrap())
        .filter(|row| row.get("low").is_some())
        .map(|row| row["x"].as_f64().unwrap())
        .collect();
    assert_eq!(bars.len(), 3, "{sets:?}");
    assert!((bars[0] + 1.0 / 6.0).abs() < 1e-6 && bars[1] == 0.0 && (bars[2] - 1.0 / 6.0).abs() < 1e-6, "{bars:?}");
    assert_eq!(made["text/plain"], "point plot: 3 series (a, b, c), x = k, y = v");
}

#[test]
fn bands_have_both_ends_in_their_tooltips() {
    let one = Interval {
        x: vec![0.0, 1.0],
        y: vec![1.0, 2.0],
        low: vec![0.5, 1.5],
        high: vec![1.5, 2.5],
        ..Default::default()
    };
    let layer = Layer::Intervals { x: axis("x", &[]), y: axis("y", &[]), series: vec![one], is_band: true };
    let made = self::made(vec![layer], PlotStyle::default());
    let spec = &made[MIME];
    assert_eq!(spec["datasets"]["d0"][0], json!({ "x": 0, "y": 1.5, "y2": 0.5 }));
    let titles: Vec<&str> =
        (0..3).map(|i| spec["layer"][0]["encoding"]["tooltip"][i]["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["x", "from", "to"]);
    assert_eq!(spec["layer"][1]["mark"]["type"], "line");
}

#[test]
fn points_of_a_strip_stay_in_their_slot() {
    let points: Vec<(f64, f64)> = (0..400).map(|i| (f64::from(i % 2), f64::from(i))).collect();
    let made = self::made(vec![xy(Mark::Strip, axis("k", &["p", "q"]), &points)], PlotStyle::default());
    let rows = made[MIME]["datasets"]["d0"].as_array().unwrap();
    let moved: Vec<f64> = rows.iter().map(|row| row["x"].as_f64().unwrap()).map(|x| x - x.round()).collect();
    assert!(moved.iter().all(|by| by.abs() <= 0.16) && moved.iter().any(|by| *by > 0.1), "{moved:?}");
    // Names, not positions.
    let tooltip = &made[MIME]["layer"][0]["transform"][0]["calculate"];
    assert_eq!(tooltip, "[\"p\",\"q\"][round(datum.x)]");
}

/// By hand: half of a column to each side, and a third of the distance of two rows up and down.
#[test]
fn hexagons_are_symbols_of_their_size() {
    let hexagons = Hexagons {
        x: axis("x", &[]),
        y: axis("y", &[]),
        size: (1.0, 2.0),
        xs: vec![0.0, 1.0],
        ys: vec![0.0, 0.0],
        counts: vec![3, 7],
    };
    let made = self::made(vec![Layer::Hexagons(hexagons)], PlotStyle::default());
    let layer = &made[MIME]["layer"][0];
    assert!(layer["mark"]["shape"]["expr"].as_str().unwrap().starts_with("'M' + (0.000000 * width) + ',' + (-"));
    assert_eq!(made[MIME]["datasets"]["d0"][1], json!({ "x": 1, "y": 0, "c": 7 }));
    assert!(layer.get("params").is_none(), "zoom would not change the symbols");
    assert_eq!(made["text/plain"], "hexbin plot: 2 hexagons, 10 rows, x = x, y = y");
    let svg = made["image/svg+xml"].as_str().unwrap();
    assert!(svg.contains("rows"), "the colour bar has a label");
}

#[test]
fn candles_rise_and_fall() {
    let candles = Candles {
        x: axis("day", &[]),
        y: axis("price", &[]),
        at: vec![1.0, 2.0],
        open: vec![10.0, 12.0],
        high: vec![13.0, 12.5],
        low: vec![9.0, 8.0],
        close: vec![12.0, 9.0],
    };
    let made = self::made(vec![Layer::Candles(candles)], PlotStyle::default());
    let row = &made[MIME]["datasets"]["d0"][1];
    assert_eq!(
        *row,
        json!({ "x": 2, "x1": 1.65, "x2": 2.35, "open": 12, "high": 12.5, "low": 8, "close": 9, "s": "falling" })
    );
    assert_eq!(made["text/plain"], "candlestick chart: 2 candles, x = day, y = price");
    assert!(words(&made).contains(&"rising".to_string()));
}

#[test]
fn annotations_are_in_both_forms_and_say_what_has_no_place() {
    let texts = [("q", 2.0, "here"), ("nowhere", 2.0, "lost")].map(|(x, y, text)| PlotText {
        x: PlotPosition::Name(x.into()),
        y: PlotPosition::Number(y),
        text: text.into(),
    });
    let spans = vec![ShadedSpan { low: 3.0, high: 1.0, is_vertical: false, label: "usual".into() }];
    let annotations = Annotations { spans, texts: texts.to_vec() };
    let style = PlotStyle { annotations, order: vec!["q".into()], opacity: Some(0.5), ..PlotStyle::default() };
    let bars = xy(Mark::Bar, axis("k", &["p", "q"]), &[(0.0, 2.0), (1.0, 4.0)]);
    let made = self::made(vec![bars], style);
    let spec = &made[MIME];
    assert_eq!(spec["datasets"]["d0"][0], json!({ "y": 1, "y2": 3, "l": "usual" }));
    assert_eq!(spec["layer"][2]["encoding"]["x"]["scale"]["domain"], json!(["q", "p"]));
    assert_eq!(spec["layer"][2]["mark"]["opacity"], 0.5);
    let found = words(&made);
    assert!(found.contains(&"usual".into()) && found.contains(&"here".into()) && !found.contains(&"lost".into()));
    assert!(found.iter().any(|word| word.contains("left out: there is no category")), "{found:?}");
}

/// A histogram on the diagonal has the y axis of its row: the highest bar reaches 95 % of it.
#[test]
fn panels_of_a_grid_share_the_axes_of_their_row_and_column() {
    let histogram = || Layer::Histogram {
        x: axis("a", &[]),
        series: vec![Bins { name: String::new(), edges: vec![0.0, 1.0, 2.0], counts: vec![1, 4] }],
    };
    let facet = |layer: Layer, x: &str, y: &str| Facet {
        layers: vec![layer],
        x_label: Some(x.into()),
        y_label: Some(y.into()),
        ..Facet::default()
    };
    let points = |scale: f64| xy(Mark::Scatter, axis("b", &[]), &[(0.0, 0.0), (scale, scale)]);
    let facets = vec![
        facet(histogram(), "a", "a"),
        facet(points(10.0), "b", "a"),
        facet(points(100.0), "a", "b"),
        facet(histogram(), "b", "b"),
    ];
    for theme in [Theme::Light, Theme::Dark] {
        let style = PlotStyle { is_grid: true, facet_columns: Some(2), theme, ..PlotStyle::default() };
        let plot = Plot { layers: vec![], style, notes: vec![], facets: facets.clone(), facet_label: String::new() };
        let made = bundle(&Content::Plot(plot));
        let views = &made[MIME]["concat"];
        let domain = |panel: usize, side: &str| views[panel]["layer"][0]["encoding"][side]["scale"]["domain"].clone();
        assert_eq!(domain(0, "x"), domain(2, "x"));
        assert_eq!(domain(0, "y"), domain(1, "y"));
        assert_ne!(domain(0, "y"), domain(2, "y"));
        let words = words(&made.into_json());
        assert_eq!(words.iter().filter(|word| *word == "a").count(), 2, "{words:?}");
    }
}
