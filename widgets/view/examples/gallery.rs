//! Writes one of everything that the notebook can show into a folder, to be looked at: `cargo run -p onrush-view
//! --example gallery -- FOLDER`, then open `light.html` and `dark.html`. Not a test.

use std::path::Path;

use onrush_stats::{Density, SampleStats};
use onrush_view::progress::{Line, Work};
use onrush_wire::display::{Content, PreviewColumn, TableKind, TablePreview};
use onrush_wire::map::{Choropleth, Projection, RegionValue, ShapeSet};
use onrush_wire::plot::{Axis, AxisScale, Bins, BoxStats, Facet, Layer, Mark, Plot, PlotStyle, Rule, Series, Theme};
use onrush_wire::progress::{Task, TaskState};
use onrush_wire::{Class, DataType, Diagnostic, Label, NotebookId, Span, TaskId, TimeUnit, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("say a folder to write into")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for (name, theme, page, text) in [("light", Theme::Light, "#fff", "#111"), ("dark", Theme::Dark, "#111", "#ddd")] {
        let mut body = String::new();
        for preview in [flights(), wide(), column()] {
            let bundle = onrush_view::bundle(&Content::Table(preview));
            body.push_str(bundle["text/html"].as_str().unwrap_or(""));
            body.push_str(&format!("<pre>{}</pre>", bundle["text/plain"].as_str().unwrap_or("").replace('<', "&lt;")));
        }
        body.push_str(running(&tasks())["text/html"].as_str().unwrap_or(""));
        let source =
            |_: &str| Some("let f = flights.head(5);\nf.filter(x!(dep_dely > 5 && \"東京\" == origim))".to_string());
        let lines = onrush_view::diagnostic(&error(), &source, &|_| "In [3]".to_string(), false);
        body.push_str(&format!("<pre>{}</pre>", lines.join("\n").replace('<', "&lt;")));
        for theme in [theme, Theme::Auto] {
            for (i, mut plot) in plots().into_iter().enumerate() {
                plot.style.theme = theme;
                let bundle = onrush_view::bundle(&Content::Plot(plot.clone()));
                body.push_str(bundle["image/svg+xml"].as_str().unwrap_or(""));
                let spec = bundle.get("application/vnd.vegalite.v5+json").map(ToString::to_string).unwrap_or_default();
                std::fs::write(folder.join(format!("{theme:?}-{i}.vl.json")), spec)?;
                if name == "light" {
                    onrush_view::save_plot(&plot, &folder.join(format!("{theme:?}-{i}.png")))?;
                    let size = |mime: &str| bundle.get(mime).and_then(|v| v.as_str()).map_or(0, str::len);
                    println!(
                        "{i}: svg {} png {} {:?}",
                        size("image/svg+xml"),
                        size("image/png"),
                        bundle["text/plain"].as_str()
                    );
                }
            }
        }
        let html = format!(
            "<!doctype html><meta charset=utf-8><body style='background:{page};color:{text};font:14px system-ui,sans-serif'>{body}"
        );
        std::fs::write(folder.join(format!("{name}.html")), html)?;
    }
    Ok(())
}

fn columns(list: &[(&str, DataType, u64)]) -> Vec<PreviewColumn> {
    list.iter()
        .map(|(n, t, nulls)| PreviewColumn { name: n.to_string(), dtype: t.clone(), nulls: Some(*nulls) })
        .collect()
}

fn flights() -> TablePreview {
    let zone = Some("America/New_York".to_string());
    let row = |i: i64| {
        vec![
            Value::Int(2013),
            if i == 2 { Value::Null } else { Value::Float(i as f64 * 3.25 - 4.0) },
            Value::from(["UA", "", "  ", "null", "שלום עולם", "a\tb\nc"][i as usize % 6]),
            Value::from(if i == 1 { f64::NAN } else { 1e3 * i as f64 / 7.0 }),
            Value::Text("A long text that tells a story without end, ".repeat(i as usize % 3 + 1)),
            Value::Timestamp {
                value: 1_357_034_400_000 + i * 3_600_000,
                unit: TimeUnit::Millisecond,
                zone: zone.clone(),
            },
            Value::Duration { value: i * 61, unit: TimeUnit::Second },
            Value::List(vec![Value::Int(1), Value::Null]),
            Value::Boolean(i % 2 == 0),
        ]
    };
    TablePreview {
        kind: TableKind::Frame,
        columns: columns(&[
            ("year", DataType::Int64, 0),
            ("dep_delay", DataType::Float64, 8_255),
            ("carrier", DataType::String, 0),
            ("mph", DataType::Float64, 9_430),
            ("<b>story</b>", DataType::String, 0),
            ("time_hour", DataType::Timestamp(TimeUnit::Millisecond, zone.clone()), 0),
            ("took", DataType::Duration(TimeUnit::Second), 0),
            ("list", DataType::List(Box::new(DataType::Int64)), 0),
            ("ok", DataType::Boolean, 0),
        ]),
        total_rows: 336_776,
        head: (0..6).map(row).collect(),
        tail: (6..9).map(row).collect(),
        bytes: Some(42_123_456),
        location: "memory".into(),
    }
}

fn wide() -> TablePreview {
    let list: Vec<(String, DataType, u64)> = (0..45).map(|i| (format!("v{i}"), DataType::Int32, 0)).collect();
    TablePreview {
        kind: TableKind::Frame,
        columns: list
            .iter()
            .map(|(n, t, _)| PreviewColumn { name: n.clone(), dtype: t.clone(), nulls: None })
            .collect(),
        total_rows: 2,
        head: (0..2).map(|r| (0..45).map(|c| Value::Int(r * c)).collect()).collect(),
        tail: vec![],
        bytes: None,
        location: "plan".into(),
    }
}

fn column() -> TablePreview {
    TablePreview {
        kind: TableKind::Column,
        columns: columns(&[("dest", DataType::Categorical, 0)]),
        total_rows: 12_000,
        head: ["IAH", "MIA"].map(|t| vec![Value::from(t)]).to_vec(),
        tail: vec![vec![Value::from("ORD")]],
        bytes: None,
        location: "plan".into(),
    }
}

fn running(tasks: &[Task]) -> onrush_view::Bundle {
    let line = |task| Line { depth: 0, work: Work::Task(task) };
    onrush_view::progress::progress(&tasks.iter().map(line).collect::<Vec<_>>())
}

fn tasks() -> Vec<Task> {
    let task = |total_rows, state| Task {
        id: TaskId(1),
        notebook: NotebookId("n".into()),
        title: "read flights.csv".into(),
        stage: "scan".into(),
        state,
        rows: 150_000,
        total_rows,
        bytes: 12_000_000,
        total_bytes: None,
        elapsed_ms: 3_400,
        memory_bytes: 81_000_000,
        device_bytes: None,
        steps: None,
        detail: None,
    };
    vec![task(Some(336_776), TaskState::Running), task(None, TaskState::Running), task(None, TaskState::Queued)]
}

fn error() -> Diagnostic {
    let span = |column, length| Span { file: "cell_3.rs".into(), line: 2, column, length };
    let mut d = Diagnostic::error(Class::Plan, "unknown-column", "there are no columns `dep_dely` and `origim`")
        .at(span(13, 8), "not in this frame")
        .note("the frame has the columns year, month, day, dep_delay, origin")
        .help("did you mean `dep_delay`?");
    d.labels.push(Label { span: span(37, 6), text: "nor is this".into(), primary: false });
    d
}

fn axis(label: &str) -> Axis {
    Axis { label: label.into(), scale: AxisScale::Number, categories: vec![] }
}

fn names(label: &str, names: &[&str]) -> Axis {
    Axis { label: label.into(), scale: AxisScale::Category, categories: names.iter().map(|s| s.to_string()).collect() }
}

fn series(name: &str, points: impl Iterator<Item = (f64, f64)>) -> Series {
    let (x, y) = points.unzip();
    Series { name: name.into(), x, y }
}

fn plot(title: &str, layers: Vec<Layer>) -> Plot {
    let style = PlotStyle { title: Some(title.into()), ..PlotStyle::default() };
    Plot { layers, style, notes: vec![], facets: vec![], facet_label: String::new() }
}

const AIRPORTS: [&str; 3] = ["EWR", "JFK", "LGA"];
const CARRIERS: [&str; 10] = [
    "Endeavor Air",
    "American",
    "JetBlue",
    "Delta",
    "ExpressJet",
    "Frontier",
    "AirTran",
    "Envoy Air Lines of America",
    "SkyWest",
    "United",
];

fn plots() -> Vec<Plot> {
    // A small generator: the same picture every time.
    let mut state = 7u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 31)
    };
    let mut normal = {
        let mut random = || random();
        move || (0..12).map(|_| random()).sum::<f64>() - 6.0
    };
    let mut all = bars();
    all.extend(lines(&mut normal));
    let cloud: Vec<(f64, f64)> = (0..4000)
        .map(|_| {
            let d = normal().abs() * 900.0 + 80.0;
            (d, 300.0 + d * 0.1 + normal() * 30.0)
        })
        .collect();
    all.extend(points(&cloud));
    all.push(density(&cloud));
    all.push(correlations());
    all.extend(histograms());
    all.push(boxes(&mut normal));
    all.push(heat_map());
    all.extend(unusual());
    all.extend(maps(&mut normal));
    all
}

fn bars() -> Vec<Plot> {
    let mut all = Vec::new();
    all.push(plot(
        "Flights by airport",
        vec![Layer::Xy {
            mark: Mark::Bar,
            x: names("origin", &AIRPORTS),
            y: axis("n"),
            series: vec![series("", [(0.0, 120_835.0), (1.0, 111_279.0), (2.0, 104_662.0)].into_iter())],
        }],
    ));
    let grouped: Vec<Series> = AIRPORTS
        .iter()
        .enumerate()
        .map(|(k, a)| series(a, (0..10).map(|i| (i as f64, (i as f64 - 3.0) * (k as f64 + 1.0) * 2.5))))
        .collect();
    let bars =
        Layer::Xy { mark: Mark::Bar, x: names("carrier", &CARRIERS), y: axis("mean arr_delay (min)"), series: grouped };
    all.push(plot("Grouped, with negative bars and long names", vec![bars.clone()]));
    let mut stacked = plot("Stacked", vec![bars]);
    stacked.style.stacked = true;
    stacked.style.legend_title = Some("origin".into());
    stacked.notes = vec!["8 255 nulls left out".into()];
    all.push(stacked);
    all
}

fn lines(normal: &mut impl FnMut() -> f64) -> Vec<Plot> {
    let mut all = Vec::new();
    let start = 1_356_998_400.0;
    let lines: Vec<Series> = AIRPORTS
        .iter()
        .enumerate()
        .map(|(k, a)| {
            let mut level = 100.0 * (k as f64 + 1.0);
            series(
                a,
                (0..365)
                    .map(|d| {
                        level += normal() * 4.0;
                        (start + d as f64 * 86_400.0, if d == 100 { f64::NAN } else { level })
                    })
                    .collect::<Vec<_>>()
                    .into_iter(),
            )
        })
        .collect();
    let time = Axis { label: "date".into(), scale: AxisScale::Time, categories: vec![] };
    all.push(plot(
        "Lines over a year",
        vec![Layer::Xy { mark: Mark::Line, x: time.clone(), y: axis("flights"), series: lines.clone() }],
    ));
    all.push(plot("Areas", vec![Layer::Xy { mark: Mark::Area, x: time, y: axis("flights"), series: lines }]));
    all
}

fn points(cloud: &[(f64, f64)]) -> Vec<Plot> {
    let mut all = Vec::new();
    all.push(plot(
        "A cloud of points",
        vec![Layer::Xy {
            mark: Mark::Scatter,
            x: axis("distance (miles)"),
            y: axis("mph"),
            series: vec![series("", cloud.iter().copied())],
        }],
    ));
    let (xs, ys): (Vec<f64>, Vec<f64>) = cloud.iter().take(1200).copied().unzip();
    let colors = xs.iter().zip(&ys).map(|(x, y)| x / y).collect();
    all.push(plot(
        "Numeric colour",
        vec![Layer::Points {
            x: axis("distance"),
            y: axis("mph"),
            name: String::new(),
            xs: xs.clone(),
            ys: ys.clone(),
            colors,
            color_label: "hours".into(),
            sizes: vec![],
            size_label: String::new(),
            size_range: (0.0, 0.0),
        }],
    ));
    let sizes: Vec<f64> = xs.iter().take(60).map(|x| x * x / 1e4).collect();
    let bubbles = Layer::Points {
        x: axis("distance"),
        y: axis("mph"),
        name: "JFK".into(),
        xs: xs[..60].to_vec(),
        ys: ys[..60].to_vec(),
        colors: vec![],
        color_label: String::new(),
        size_range: (0.0, sizes.iter().copied().fold(0.0, f64::max)),
        sizes,
        size_label: "seats".into(),
    };
    let mut rules = plot("Bubbles, and lines across", vec![bubbles]);
    rules.style.rules = vec![
        Rule { at: 400.0, is_vertical: false, label: "cruise".into() },
        Rule { at: 1500.0, is_vertical: true, label: "far".into() },
    ];
    rules.style.x_format = Some(",.1f".into());
    all.push(rules);
    let mut panels = plot("Panels", vec![]);
    panels.facet_label = "origin".into();
    panels.facets = (0..5)
        .map(|k| {
            let part = |from: usize| series("", cloud.iter().copied().skip(from).step_by(7 + k));
            let layer = Layer::Xy { mark: Mark::Scatter, x: axis("distance"), y: axis("mph"), series: vec![part(k)] };
            Facet { name: format!("panel {k}"), layers: vec![layer], ..Facet::default() }
        })
        .collect();
    all.push(panels);
    all
}

fn density(cloud: &[(f64, f64)]) -> Plot {
    let ys: Vec<f64> = cloud.iter().take(1200).map(|point| point.1).collect();
    let mut stats = SampleStats::default();
    ys.iter().for_each(|y| stats.add(*y));
    let mut density = Density::new(&stats, None);
    ys.iter().for_each(|y| density.add(*y));
    let (x, y) = density.curve(400);
    let curve = vec![Series { name: String::new(), x, y }];
    plot("Density", vec![Layer::Xy { mark: Mark::Density, x: axis("mph"), y: axis("density"), series: curve }])
}

fn correlations() -> Plot {
    let letters = ["dep_delay", "arr_delay", "air_time", "distance"];
    let matrix =
        (0..4).rev().map(|r| (0..4).map(|c| Some(1.0 - f64::from(i32::abs(r - c)) * 0.55)).collect()).collect();
    let reversed: Vec<&str> = letters.iter().rev().copied().collect();
    plot(
        "Correlations",
        vec![Layer::HeatMap {
            x: names("", &letters),
            y: names("", &reversed),
            values: matrix,
            color_label: "correlation".into(),
            range: Some((-1.0, 1.0)),
        }],
    )
}

fn histograms() -> Vec<Plot> {
    let mut all = Vec::new();
    let edges: Vec<f64> = (0..=30).map(|i| -60.0 + 10.0 * f64::from(i)).collect();
    let counts: Vec<u64> = (0..30).map(|i| (40_000.0 * (-(f64::from(i) - 6.0).powi(2) / 12.0).exp()) as u64).collect();
    let shifted: Vec<u64> = counts.iter().rev().copied().collect();
    all.push(plot(
        "Histogram",
        vec![Layer::Histogram {
            x: axis("dep_delay"),
            series: vec![Bins { name: String::new(), edges: edges.clone(), counts: counts.clone() }],
        }],
    ));
    all.push(plot(
        "Two histograms",
        vec![Layer::Histogram {
            x: axis("dep_delay"),
            series: vec![
                Bins { name: "a".into(), edges: edges.clone(), counts },
                Bins { name: "b".into(), edges, counts: shifted },
            ],
        }],
    ));
    all
}

fn boxes(normal: &mut impl FnMut() -> f64) -> Plot {
    let boxes: Vec<BoxStats> = CARRIERS
        .iter()
        .take(6)
        .enumerate()
        .map(|(i, c)| {
            let m = i as f64 * 3.0;
            BoxStats {
                category: c.to_string(),
                low: m - 20.0,
                q1: m - 5.0,
                median: m,
                q3: m + 8.0,
                high: m + 27.0,
                outliers: (0..40).map(|_| m + 30.0 + normal().abs() * 20.0).collect(),
                different: 40,
                outside: 40,
                count: 1000,
            }
        })
        .collect();
    plot("Boxes", vec![Layer::Box { x: names("carrier", &CARRIERS[..6]), y: axis("arr_delay"), boxes }])
}

fn heat_map() -> Plot {
    let months: Vec<String> = (1..=12).map(|m| m.to_string()).collect();
    let months: Vec<&str> = months.iter().map(String::as_str).collect();
    let values = (0..10)
        .map(|r| {
            (0..12).map(|c| if (r * 12 + c) % 17 == 3 { None } else { Some(f64::from(r * 3 - 2 * c) * 1.37) }).collect()
        })
        .collect();
    plot(
        "Heat map",
        vec![Layer::HeatMap {
            x: names("month", &months),
            y: names("carrier", &CARRIERS),
            values,
            color_label: "mean dep_delay".into(),
            range: None,
        }],
    )
}

/// Logarithmic axes, no data, one point.
fn unusual() -> Vec<Plot> {
    let mut all = Vec::new();
    let mut log = plot(
        "Log axes",
        vec![Layer::Xy {
            mark: Mark::Scatter,
            x: axis("x"),
            y: axis("y"),
            series: (0..10)
                .map(|k| {
                    series(
                        &format!("class {k}"),
                        (1..30).map(move |i| (f64::from(i) * 10.0, f64::from(i * i) * f64::from(k + 1) - 1.0)),
                    )
                })
                .collect(),
        }],
    );
    log.style.log_x = true;
    log.style.log_y = true;
    all.push(log);
    all.push(plot("Nothing", vec![Layer::Xy { mark: Mark::Line, x: axis("x"), y: axis("y"), series: vec![] }]));
    all.push(plot(
        "One point",
        vec![Layer::Xy {
            mark: Mark::Line,
            x: axis("x"),
            y: axis("y"),
            series: vec![series("", [(5.0, 1e9)].into_iter())],
        }],
    ));
    all
}

/// Points and a raster on maps, and regions with values.
fn maps(normal: &mut impl FnMut() -> f64) -> Vec<Plot> {
    const CITIES: [(f64, f64); 12] = [
        (-73.78, 40.64),
        (-118.41, 33.94),
        (-87.9, 41.98),
        (-149.99, 61.17),
        (-157.92, 21.32),
        (-99.07, 19.43),
        (2.55, 49.01),
        (28.82, 40.98),
        (55.36, 25.25),
        (103.99, 1.36),
        (139.78, 35.55),
        (151.18, -33.95),
    ];
    let cities = || {
        let (xs, ys): (Vec<f64>, Vec<f64>) = CITIES.into_iter().unzip();
        let colors = (0..xs.len()).map(|i| i as f64).collect();
        Layer::Points {
            x: axis("lon"),
            y: axis("lat"),
            name: String::new(),
            xs,
            ys,
            colors,
            color_label: "delay".into(),
            sizes: Vec::new(),
            size_label: String::new(),
            size_range: (0.0, 0.0),
        }
    };
    let on = |title: &str, layer: Layer, projection: Projection| {
        let mut made = plot(title, vec![layer]);
        made.style.map = Some(projection);
        made
    };
    let mut all: Vec<Plot> =
        Projection::ALL.into_iter().map(|one| on(&format!("Airports, {}", one.name()), cities(), one)).collect();
    for (shapes, projection) in
        [(ShapeSet::States, Projection::AlbersUsa), (ShapeSet::Countries, Projection::NaturalEarth)]
    {
        let regions = onrush_map::regions(shapes).iter().enumerate().filter(|(index, _)| index % 7 != 3);
        let regions = regions.map(|(_, region)| RegionValue {
            code: region.short.clone(),
            name: region.name().to_string(),
            value: 12.0 + normal() * 4.0,
        });
        let regions = regions.collect();
        let layer = Layer::Choropleth(Choropleth {
            shapes,
            regions,
            label: "region".into(),
            color_label: "mean(delay)".into(),
        });
        all.push(on("A value for each region", layer, projection));
    }
    all
}
