//! Text of data in every kind of output: no `text/plain` has what a terminal obeys. The sequences are those of
//! ECMA-48 and xterm's ctlseqs (OSC 52 sets the clipboard, CSI 2 J clears the screen).

use onrush_view::{Bundle, bundle};
use onrush_wire::control::{ChoiceLook, Control, ControlKind, Panel, Setting};
use onrush_wire::dashboard::{
    Dashboard, DashboardRequest, DashboardView, Dimension, Filter, KeptSlots, Measure, Slot, SlotKind, SlotQuery,
    ViewData, ViewKind, ViewRequest,
};
use onrush_wire::display::{Content, PreviewColumn, TableKind, TablePreview};
use onrush_wire::graph::GraphSpec;
use onrush_wire::learn::Card;
use onrush_wire::map::{Choropleth, RegionValue, ShapeSet};
use onrush_wire::plot::{
    Axis, AxisScale, Bins, BoxStats, Candles, Facet, Hexagons, Interval, Layer, LayerRequest, Mark, Pixels, Plot,
    PlotRequest, PlotStyle, Raster, Series, Theme, Violin,
};
use onrush_wire::visual::{
    Drawing, GraphCard, GraphPlot, GraphPlotRequest, NodeColor, NodeLink, NodeSize, Positions, Window,
};
use onrush_wire::{DataType, FrameId, Value};

/// A clipboard, a cleared screen, and the first of these in one character.
const BAD: &str = "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2Jx\u{9d}0;t\u{9c}";

fn bad() -> String {
    BAD.to_string()
}

fn axis(categories: usize) -> Axis {
    let scale = if categories == 0 { AxisScale::Number } else { AxisScale::Category };
    Axis { label: bad(), scale, categories: (0..categories).map(|i| format!("{BAD}{i}")).collect() }
}

fn boxed() -> BoxStats {
    BoxStats {
        category: format!("{BAD}0"),
        low: 1.0,
        q1: 2.0,
        median: 3.0,
        q3: 4.0,
        high: 5.0,
        outliers: vec![9.0],
        different: 1,
        outside: 1,
        count: 9,
    }
}

/// A layer of each kind, with bad names wherever a layer has a name.
fn layers() -> Vec<Layer> {
    let two = || vec![1.0, 2.0];
    let series = || vec![Series { name: bad(), x: two(), y: two() }];
    let window = Window { x0: 0.0, y0: 0.0, x1: 1.0, y1: 1.0 };
    let marks = [Mark::Line, Mark::Scatter, Mark::Area, Mark::Bar, Mark::Density, Mark::Ecdf, Mark::Strip, Mark::Roc];
    let mut all: Vec<Layer> =
        marks.into_iter().map(|mark| Layer::Xy { mark, x: axis(0), y: axis(0), series: series() }).collect();
    all.extend([
        Layer::Points {
            x: axis(0),
            y: axis(0),
            name: bad(),
            xs: two(),
            ys: two(),
            colors: two(),
            color_label: bad(),
            sizes: two(),
            size_label: bad(),
            size_range: (1.0, 2.0),
        },
        Layer::Histogram { x: axis(0), series: vec![Bins { name: bad(), edges: two(), counts: vec![3] }] },
        Layer::Box { x: axis(1), y: axis(0), boxes: vec![boxed()] },
        Layer::HeatMap { x: axis(1), y: axis(1), values: vec![vec![Some(1.0)]], color_label: bad(), range: None },
        Layer::Raster(Raster {
            x: axis(0),
            y: axis(0),
            window,
            width: 1,
            height: 1,
            pixels: Pixels::Categories { names: vec![bad()], counts: vec![vec![1]] },
            color_label: bad(),
            how: None,
            spread: None,
            rows: 1,
        }),
        Layer::Intervals {
            x: axis(0),
            y: axis(0),
            series: vec![Interval { name: bad(), x: two(), y: two(), low: two(), high: two() }],
            is_band: false,
        },
        Layer::Violins { x: axis(1), y: axis(0), violins: vec![Violin { stats: boxed(), at: two(), density: two() }] },
        Layer::Hexagons(Hexagons {
            x: axis(0),
            y: axis(0),
            size: (1.0, 1.0),
            xs: two(),
            ys: two(),
            counts: vec![1, 2],
        }),
        Layer::Candles(Candles {
            x: axis(0),
            y: axis(0),
            at: two(),
            open: two(),
            high: two(),
            low: two(),
            close: two(),
        }),
        Layer::Choropleth(Choropleth {
            shapes: ShapeSet::Countries,
            regions: vec![RegionValue { code: "FR".to_string(), name: bad(), value: 1.0 }],
            label: bad(),
            color_label: bad(),
        }),
    ]);
    all
}

fn plot(layers: Vec<Layer>, facets: Vec<Facet>) -> Plot {
    let style = PlotStyle { title: Some(bad()), x_label: Some(bad()), y_label: Some(bad()), ..PlotStyle::default() };
    Plot { layers, style, notes: vec![bad()], facets, facet_label: bad() }
}

fn table() -> TablePreview {
    TablePreview {
        kind: TableKind::Frame,
        columns: vec![PreviewColumn { name: bad(), dtype: DataType::String, nulls: None }],
        total_rows: 1,
        head: vec![vec![Value::Text(bad())]],
        tail: Vec::new(),
        bytes: None,
        location: String::new(),
    }
}

fn graph() -> GraphPlot {
    let ids: Vec<String> = (0..4).map(|i| format!("{BAD}{i}")).collect();
    let points = NodeLink {
        labels: ids.clone(),
        x: vec![0.0, 1.0, 0.0, 1.0],
        y: vec![0.0, 0.0, 1.0, 1.0],
        degrees: vec![1, 1, 0, 0],
        color: Some(NodeColor::Categories { column: bad(), names: vec![bad()], codes: vec![Some(0); 4] }),
        size: Some(NodeSize { column: bad(), values: vec![1.0; 4] }),
        links: vec![(0, 1)],
        widths: vec![1.0],
        ids,
        ..NodeLink::default()
    };
    let style = PlotStyle { title: Some(bad()), ..PlotStyle::default() };
    let drawing = Drawing::Points(points);
    GraphPlot { nodes: 4, edges: 1, directed: false, positions: bad(), drawing, style, notes: vec![bad()] }
}

fn graph_request() -> GraphPlotRequest {
    GraphPlotRequest {
        edges: FrameId(1),
        graph: GraphSpec { source: vec![bad()], target: vec![bad()], directed: false, weight: None, nodes: Vec::new() },
        nodes: None,
        positions: Positions::Columns { x: bad(), y: bad() },
        color: None,
        size: None,
        label: None,
        max_nodes: 9,
        style: PlotStyle::default(),
    }
}

fn dashboard() -> Content {
    let view = |kind| ViewRequest {
        kind,
        layer: LayerRequest::default(),
        columns: Vec::new(),
        range: None,
        title: Some(bad()),
        wide: false,
        tall: false,
    };
    let kinds = [ViewKind::Bar, ViewKind::Numbers, ViewKind::Table];
    let slots = vec![Slot { name: bad(), kind: SlotKind::Value }];
    let x = Dimension { label: bad(), scale: AxisScale::Category, slots };
    let measure = Measure { label: bad(), all: vec![1.0], shown: vec![1.0] };
    let shown = [ViewData::Slots { x, measure }, ViewData::Numbers(table()), ViewData::Table(table())];
    let views = shown.into_iter().map(|data| DashboardView { title: bad(), data }).collect();
    let (wanted, marks) = (SlotQuery::Values(vec![Value::Text(bad())]), vec![(0.0, 1.0)]);
    Content::Dashboard {
        id: "d".to_string(),
        request: Box::new(DashboardRequest {
            frame: FrameId(1),
            views: kinds.into_iter().map(view).collect(),
            title: Some(bad()),
            columns: None,
            theme: Theme::Light,
        }),
        filters: vec![Filter { view: 0, kept: KeptSlots::Exact { wanted, marks } }],
        data: Box::new(Dashboard { rows: 1, selected: 1, views, notes: vec![bad()] }),
    }
}

fn model() -> Card {
    Card {
        title: bad(),
        estimator: bad(),
        rows: 1,
        features: 1,
        place: "cpu".to_string(),
        seconds: 1.0,
        params: vec![(bad(), bad(), true)],
        scores: vec![(bad(), bad(), 1.0)],
        bars_title: bad(),
        bars: vec![(bad(), 1.0)],
        curve_title: (bad(), bad()),
        curves: vec![(bad(), vec![(0.0, 1.0)])],
        notes: vec![bad()],
        parts: Vec::new(),
    }
}

fn panel() -> Panel {
    let control = Control {
        id: "c".to_string(),
        kind: ControlKind::Choice { options: vec![bad()], look: ChoiceLook::Dropdown },
        label: bad(),
        setting: Setting::One(Some(0)),
        enabled: true,
        watched: false,
        live: false,
    };
    Panel { controls: vec![control], has_area: false, captured: false }
}

/// The number of a kind. A new kind is a new number here, and an output in [`outputs`].
fn kind(content: &Content) -> usize {
    match content {
        Content::Table(_) => 0,
        Content::Frame { .. } => 1,
        Content::Plot(_) => 2,
        Content::Raster { .. } => 3,
        Content::Graph(_) => 4,
        Content::GraphView { .. } => 5,
        Content::Dashboard { .. } => 6,
        Content::Panel(_) => 7,
        Content::Model(_) => 8,
        Content::GraphCard(_) => 9,
        Content::Plan(_) => 10,
        Content::Text(_) => 11,
        Content::Mime(_) => 12,
    }
}
const KINDS: usize = 13;

/// The number of a kind of layers, as of [`kind`].
fn layer_kind(layer: &Layer) -> usize {
    match layer {
        Layer::Xy { .. } => 0,
        Layer::Points { .. } => 1,
        Layer::Histogram { .. } => 2,
        Layer::Box { .. } => 3,
        Layer::HeatMap { .. } => 4,
        Layer::Raster(_) => 5,
        Layer::Intervals { .. } => 6,
        Layer::Violins { .. } => 7,
        Layer::Hexagons(_) => 8,
        Layer::Candles(_) => 9,
        Layer::Choropleth(_) => 10,
    }
}
const LAYER_KINDS: usize = 11;

fn outputs() -> Vec<Content> {
    let mut all = vec![
        Content::Table(table()),
        Content::Frame { frame: FrameId(1), preview: table() },
        Content::Graph(graph()),
        Content::GraphView { id: "g".to_string(), request: Box::new(graph_request()), plot: graph() },
        dashboard(),
        Content::Panel(panel()),
        Content::Model(model()),
        Content::GraphCard(Box::new(GraphCard { source: vec![bad()], target: vec![bad()], ..GraphCard::default() })),
        Content::Plan(bad()),
        Content::Text(bad()),
        Content::Mime(vec![("text/plain".to_string(), bad())]),
    ];
    all.extend(layers().into_iter().map(|layer| Content::Plot(plot(vec![layer], Vec::new()))));
    let facet = |layer| Facet { name: bad(), layers: vec![layer], x_label: Some(bad()), ..Facet::default() };
    all.extend(layers().into_iter().take(1).map(|layer| Content::Plot(plot(Vec::new(), vec![facet(layer)]))));
    let raster = layers().into_iter().find(|layer| matches!(layer, Layer::Raster(_))).into_iter().collect();
    let request = PlotRequest { frame: FrameId(1), layers: Vec::new(), style: PlotStyle::default(), facet: None };
    all.push(Content::Raster { id: "r".to_string(), request: Box::new(request), plot: plot(raster, Vec::new()) });
    all
}

/// The text has signs in place of what was there.
fn check(made: &Bundle, what: &str) {
    let text = made["text/plain"].as_str().unwrap();
    let is_command = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(!text.contains(is_command), "{what}: {text:?}");
    assert!(text.contains("␛]52") || text.contains("\\u{1b}]52"), "{what} does not show the text: {text:?}");
}

#[test]
fn no_kind_of_output_has_commands_for_a_terminal() {
    let (mut kinds, mut layer_kinds) = ([false; KINDS], [false; LAYER_KINDS]);
    layers().iter().for_each(|layer| layer_kinds[layer_kind(layer)] = true);
    for content in outputs() {
        kinds[kind(&content)] = true;
        check(&bundle(&content), &format!("{content:?}"));
    }
    assert_eq!((kinds, layer_kinds), ([true; KINDS], [true; LAYER_KINDS]));
    let below = bundle(&Content::Text(bad()));
    check(&onrush_view::panel(&panel(), &[below]), "a panel with an output");
}
