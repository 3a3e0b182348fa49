//! Pictures of small graphs. Expected numbers are counted by hand.

use base64::Engine as _;
use onrush_wire::plot::{PlotStyle, Theme};
use onrush_wire::visual::{Drawing, GraphPlot, GraphRaster, NodeColor, NodeColumn, NodeLink, NodeSize, Window};
use serde_json::Value;

use super::raster::tests::SHADED;
use super::{bundle, describe, save};
use crate::GRAPH;

thread_local! {
    /// Drawn SVGs on this thread.
    pub static DRAWN: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

fn plot(drawing: Drawing, directed: bool) -> GraphPlot {
    let (nodes, edges) = match &drawing {
        Drawing::Points(points) => (points.ids.len(), points.links.len()),
        Drawing::Raster(_) => (100_000, 1_000_000),
    };
    GraphPlot {
        nodes: nodes as u64,
        edges: edges as u64,
        directed,
        positions: "spring_layout".to_string(),
        drawing,
        style: PlotStyle::default(),
        notes: Vec::new(),
    }
}

/// Nodes in the corners of a square, with links around it.
fn square() -> NodeLink {
    NodeLink {
        ids: ["a", "b", "c", "d"].map(str::to_string).to_vec(),
        x: vec![0.0, 1.0, 1.0, 0.0],
        y: vec![0.0, 0.0, 1.0, 1.0],
        degrees: vec![2; 4],
        links: vec![(0, 1), (1, 2), (2, 3), (3, 0)],
        widths: vec![1.0; 4],
        ..NodeLink::default()
    }
}

/// 200 × 100 pixels: a node in the middle, and an edge at the top.
fn raster() -> GraphRaster {
    let counts = |at: usize| (0..200 * 100).map(|i| u32::from(i == at)).collect::<Vec<u32>>();
    GraphRaster {
        window: Window { x0: 0.0, y0: 0.0, x1: 2.0, y1: 1.0 },
        width: 200,
        height: 100,
        node_counts: counts(50 * 200 + 100),
        edge_counts: counts(7),
    }
}

fn svg(plot: &GraphPlot) -> String {
    bundle(plot, None)["image/svg+xml"].as_str().unwrap().to_string()
}

fn bytes(text: &Value) -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(text.as_str().unwrap()).unwrap()
}

#[test]
fn a_directed_graph_has_a_head_at_each_link() {
    // Each head is a closed path of three corners.
    let heads = |directed| svg(&plot(Drawing::Points(square()), directed)).matches("Z").count();
    assert_eq!((heads(false), heads(true)), (0, 4));
    // Nodes that cover each other have no room for one.
    let mut close = square();
    close.x[1] = 0.001;
    (close.x[2], close.x[3]) = (0.9, 0.95);
    let mut close = plot(Drawing::Points(close), true);
    close.style.width = Some(200);
    assert_eq!(svg(&close).matches("Z").count(), 2);
}

#[test]
fn the_picture_shows_nodes_where_they_are() {
    let svg = svg(&plot(Drawing::Points(square()), false));
    let attribute = |line: &str, name: &str| -> f64 {
        line.split_once(&format!(" {name}=\"")).unwrap().1.split_once('"').unwrap().0.parse().unwrap()
    };
    let circles: Vec<(f64, f64)> = svg
        .lines()
        .filter(|line| line.starts_with("<circle"))
        .map(|line| (attribute(line, "cx"), attribute(line, "cy")))
        .collect();
    let [a, b, c, d] = circles[..] else { panic!("{circles:?}") };
    // The first is at the lower left, as y grows upwards; both axes have one scale.
    assert!(a.0 == d.0 && a.1 == b.1 && b.0 == c.0 && c.1 == d.1 && a.1 > d.1 && b.0 > a.0);
    assert!(((b.0 - a.0) - (a.1 - d.1)).abs() < 0.05, "{circles:?}");
}

#[test]
fn names_are_text_and_never_markup() {
    let hostile = "<script>alert('x')</script>&\"";
    let mut points = square();
    points.ids[0] = hostile.to_string();
    points.labels = vec![hostile.to_string(), "ok".into(), "fine".into(), "good".into()];
    points.columns = vec![NodeColumn { name: hostile.to_string(), values: vec![hostile.to_string(); 4] }];
    let names = vec![hostile.to_string(), "]]>".to_string()];
    points.color =
        Some(NodeColor::Categories { column: hostile.into(), names, codes: vec![Some(0), Some(1), None, Some(9)] });
    let mut plot = plot(Drawing::Points(points), false);
    plot.style.title = Some(hostile.to_string());
    plot.notes = vec![hostile.to_string()];
    let svg = svg(&plot);
    assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;"), "{svg}");
    resvg::usvg::Tree::from_str(&svg, &resvg::usvg::Options::default()).unwrap();
    // JSON carries it as it is: the extension makes text of it.
    let data = &bundle(&plot, None)[GRAPH];
    assert_eq!(data["points"]["ids"][0], hostile);
    // Code 9 has no name, and has the colour of no value.
    assert_eq!(bytes(&data["points"]["colors"]), [0, 1, 2, 2]);
}

#[test]
fn empty_graphs_single_nodes_and_one_place() {
    let empty = plot(Drawing::Points(NodeLink::default()), false);
    assert!(svg(&empty).contains("no nodes to draw"));
    assert_eq!(describe(&empty), "graph of 0 nodes and 0 edges: spring_layout");
    let one = NodeLink {
        ids: vec!["only".to_string()],
        x: vec![0.0],
        y: vec![0.0],
        degrees: vec![2],
        links: vec![(0, 0)],
        widths: vec![1.0],
        ..NodeLink::default()
    };
    let drawn = svg(&plot(Drawing::Points(one), true));
    // The node and the ring of its link to itself, and its name twice: as label and at the pointer.
    assert_eq!(drawn.matches("<circle").count(), 2);
    assert!(drawn.contains(">only</text>") && !drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    let mut same = square();
    (same.x, same.y) = (vec![0.5; 4], vec![f32::NAN; 4]);
    let drawn = svg(&plot(Drawing::Points(same), true));
    assert_eq!(drawn.matches("<circle").count(), 4);
    assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
}

#[test]
fn links_to_nodes_that_are_not_there_are_left_out() {
    let mut points = square();
    points.links.push((0, 4));
    points.widths.push(1.0);
    let data = bundle(&plot(Drawing::Points(points), false), None);
    assert_eq!(bytes(&data[GRAPH]["points"]["links"]).len(), 4 * 4);
}

#[test]
fn the_data_for_the_extension() {
    let mut points = square();
    points.size = Some(NodeSize { column: "rank".into(), values: vec![1.0, 4.0, f64::NAN, 0.0] });
    points.widths = vec![1.0, 9.0, 1.0, 1.0];
    points.color = Some(NodeColor::Numbers { column: "delay".into(), values: vec![0.0, 10.0, f64::NAN, 5.0] });
    let mut plot = plot(Drawing::Points(points), true);
    plot.style.theme = Theme::Dark;
    let bundle = bundle(&plot, Some("view-1"));
    let data = &bundle[GRAPH];
    assert_eq!((&data["view"], &data["theme"], &data["directed"]), (&"view-1".into(), &"dark".into(), &true.into()));
    let points = &data["points"];
    // Little endian: 0, 65535, 65535, 0.
    assert_eq!(bytes(&points["x"]), [0, 0, 255, 255, 255, 255, 0, 0]);
    assert_eq!(bytes(&points["links"]), [0, 0, 1, 0, 1, 0, 2, 0, 2, 0, 3, 0, 3, 0, 0, 0]);
    assert_eq!(bytes(&points["degrees"])[..8], [2, 0, 0, 0, 2, 0, 0, 0]);
    // Areas as the values: 16 pixels for 4, 8 for 1, the smallest for none; in quarters.
    assert_eq!(bytes(&points["radii"]), [32, 64, 8, 8]);
    // 64 shades, and grey for no value.
    assert_eq!(bytes(&points["colors"]), [0, 63, 64, 32]);
    assert_eq!(points["palette"].as_array().unwrap().len(), 65);
    assert_eq!(points["key"]["ticks"][0], serde_json::json!([0.0, "0"]));
    // 0.7 + 2.3 / 3 and 3 pixels, in tenths.
    assert_eq!(bytes(&points["widths"]), [15, 30, 15, 15]);
    assert!(
        bundle["text/plain"]
            .as_str()
            .unwrap()
            .starts_with("directed graph of 4 nodes and 4 edges: spring_layout, colour = delay, size = rank")
    );
}

#[test]
fn a_raster_is_a_picture_inside_of_the_picture() {
    let plot = plot(Drawing::Raster(raster()), false);
    let drawn = svg(&plot);
    assert!(drawn.contains("<image ") && drawn.contains("data:image/png;base64,"));
    let data = bundle(&plot, None);
    assert_eq!(data[GRAPH]["raster"]["window"], serde_json::json!([0.0, 0.0, 2.0, 1.0]));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.png");
    save(&plot, &path).unwrap();
    // In the middle is the one node, on 3 × 3 pixels: 1280 × 960 pixels are twice the size, and everything else is
    // transparent.
    let png = resvg::tiny_skia::Pixmap::load_png(&path).unwrap();
    assert_eq!((png.width(), png.height()), (1280, 960));
    let drawn: Vec<usize> = (0..1280 * 960).filter(|i| png.pixels()[*i].alpha() > 200).collect();
    assert!(!drawn.is_empty() && drawn.iter().all(|i| (i % 1280).abs_diff(640) < 26 && (i / 1280).abs_diff(480) < 26));
    let error = save(&plot, &folder.path().join("graph.pdf")).unwrap_err();
    assert_eq!((error.code.as_str(), error.message.contains("`.svg` or `.png`")), ("plot-format", true));
}

#[test]
fn a_picture_is_drawn_and_shaded_once() {
    let counts = || (DRAWN.replace(0), SHADED.replace(0));
    counts();
    bundle(&plot(Drawing::Points(square()), false), None);
    assert_eq!(counts(), (1, 0));
    let raster = plot(Drawing::Raster(raster()), false);
    let made = bundle(&raster, Some("view-1"));
    assert_eq!(counts(), (1, 1));
    // One PNG in the data and in the SVG.
    let png = made[GRAPH]["raster"]["png"].as_str().unwrap();
    assert!(made["image/svg+xml"].as_str().unwrap().contains(&format!("base64,{png}\"")));
    let folder = tempfile::tempdir().unwrap();
    save(&raster, &folder.path().join("graph.png")).unwrap();
    assert_eq!(counts(), (1, 1));
    // Letters that no font has are named in a note, with which the SVG of the PNG is drawn.
    let mut unknown = square();
    unknown.ids[0] = "\u{e1234}".to_string();
    bundle(&plot(Drawing::Points(unknown), false), None);
    assert_eq!(counts(), (2, 0));
}

#[test]
fn long_ids_are_shown_in_80_characters_and_saved_up_to_a_limit() {
    let long = |letter: &str, bytes: usize| letter.repeat(bytes);
    let mut points = square();
    points.ids[0] = long("a", 1000);
    let made = bundle(&plot(Drawing::Points(points.clone()), false), Some("view-1"));
    let shown = format!("{}…", long("a", 79));
    let (svg, text) = (made["image/svg+xml"].as_str().unwrap(), made["text/plain"].as_str().unwrap());
    assert!(svg.contains(&format!("<title>{shown}\n")) && !svg.contains(&long("a", 80)), "{svg}");
    assert!(text.contains(&format!("most edges: {shown}, b, c")) && !text.contains(&long("a", 80)), "{text}");
    // A selection needs the whole id.
    assert_eq!(made[GRAPH]["points"]["ids"][0], long("a", 1000));
    assert_eq!((&made[GRAPH]["points"]["labels"], &made[GRAPH]["view"]), (&serde_json::json!([]), &"view-1".into()));

    // 80 characters stay, whatever their bytes.
    points.labels = vec![long("é", 80), long("é", 81), String::new(), "d".to_string()];
    let made = bundle(&plot(Drawing::Points(points.clone()), false), None);
    let labels = serde_json::json!([long("é", 80), format!("{}…", long("é", 79)), "", "d"]);
    assert_eq!(made[GRAPH]["points"]["labels"], labels);

    // 999,997 bytes and three ids of one byte are at the limit.
    points.labels.clear();
    points.ids[0] = long("a", 999_997);
    let made = bundle(&plot(Drawing::Points(points.clone()), false), Some("view-1"));
    assert_eq!((made[GRAPH]["view"].as_str(), made[GRAPH]["notes"].as_array().unwrap().len()), (Some("view-1"), 0));
    points.ids[0].push('a');
    let made = bundle(&plot(Drawing::Points(points), false), Some("view-1"));
    let data = &made[GRAPH];
    assert_eq!((&data["view"], &data["points"]["ids"]), (&Value::Null, &serde_json::json!([])));
    assert_eq!(data["points"]["labels"], serde_json::json!([shown, "b", "c", "d"]));
    let note = "nodes cannot be selected for later cells: their ids have 1 000 001 bytes (limit 1 000 000)";
    assert_eq!(data["notes"], serde_json::json!([note.replace("0 0", "0\u{202f}0").replace("1 0", "1\u{202f}0")]));
    assert!(data.to_string().len() < 5_000);
}
