//! The bytes of every request. Processes of one protocol number understand each other, whichever build they come from.
//!
//! postcard writes the position of the variant and then the fields in order
//! (<https://postcard.jamesmunns.com/wire-format>). The positions and the orders below have stood since protocol 20.

use onrush_wire::codec::content;
use onrush_wire::dashboard::DashboardRequest;
use onrush_wire::explore::{Explore, View};
use onrush_wire::graph::GraphSpec;
use onrush_wire::learn::{Fit, Grid, ModelAsk, Param, Size, Spec, Splitter, TrainSizes};
use onrush_wire::plan::{Op, Sink, SinkFormat};
use onrush_wire::plot::PlotRequest;
use onrush_wire::session::{CellEnd, Request};
use onrush_wire::visual::{GraphCardRequest, GraphPlotRequest, GraphWrite, Positions, VisualAsk, VisualSpec};
use onrush_wire::{Expr, FrameId, Generation, ModelId, ObjectId, Span, TaskId};

#[track_caller]
fn check(position: u8, request: &Request, fields: &[Vec<u8>]) {
    let expected: Vec<u8> = std::iter::once(position).chain(fields.concat()).collect();
    assert_eq!(content(request), expected, "{request:?}");
}

fn text(text: &str) -> Vec<u8> {
    content(&text.to_string())
}

const FRAME: FrameId = FrameId(7);

fn at() -> Option<Span> {
    Some(Span { file: "cell_1.rs".to_string(), line: 3, column: 5, length: 2 })
}

fn graph() -> GraphSpec {
    let (source, target) = (vec!["a".to_string()], vec!["b".to_string()]);
    GraphSpec { source, target, directed: true, weight: None, nodes: vec![] }
}

fn fit() -> Fit {
    Fit { spec: Spec::default(), frame: FRAME, target: None, eval: vec![FrameId(8)] }
}

#[test]
fn requests_of_frames_keep_their_bytes() {
    let op = Op::Describe { input: FRAME };
    check(0, &Request::Step { op: op.clone(), at: at() }, &[content(&op), content(&at())]);
    check(1, &Request::Schema { frame: FRAME }, &[vec![7]]);
    check(2, &Request::Preview { frame: FRAME, head: 5, tail: 6, nulls: true }, &[vec![7, 5, 6, 1]]);
    check(3, &Request::RowCount { frame: FRAME }, &[vec![7]]);
    let columns = vec!["n".to_string()];
    check(4, &Request::Collect { frame: FRAME, columns: columns.clone() }, &[vec![7], content(&columns)]);
    check(5, &Request::ExportColumn { frame: FRAME, column: "n".to_string() }, &[vec![7], text("n")]);
    let expr = Expr::column("n");
    check(6, &Request::Value { frame: FRAME, expr: expr.clone() }, &[vec![7], content(&expr)]);
    check(7, &Request::Persist { frame: FRAME }, &[vec![7]]);
    check(8, &Request::Explain { frame: FRAME, analyze: true }, &[vec![7, 1]]);
    let sink = Sink { path: "a.csv".to_string(), folder: "/tmp".to_string(), format: SinkFormat::Any };
    check(9, &Request::Write { frame: FRAME, sink: sink.clone() }, &[vec![7], content(&sink)]);
}

#[test]
fn requests_of_views_and_graphs_keep_their_bytes() {
    let plot = PlotRequest { frame: FRAME, layers: vec![], style: Default::default(), facet: None };
    check(10, &Request::Plot(plot.clone()), &[content(&plot)]);
    let write = GraphWrite {
        edges: FRAME,
        graph: graph(),
        nodes: None,
        path: "a.graphml".to_string(),
        folder: String::new(),
        format: None,
    };
    check(11, &Request::WriteGraph(write.clone()), &[content(&write)]);
    let picture = GraphPlotRequest {
        edges: FRAME,
        graph: graph(),
        nodes: None,
        positions: Positions::Columns { x: "x".to_string(), y: "y".to_string() },
        color: None,
        size: None,
        label: None,
        max_nodes: 9,
        style: Default::default(),
    };
    check(12, &Request::GraphPlot(picture.clone()), &[content(&picture)]);
    let card = GraphCardRequest { edges: FRAME, graph: graph() };
    check(13, &Request::GraphCard(card.clone()), &[content(&card)]);
    let view = View { frame: FRAME, filter: None, sort: vec![] };
    check(21, &Request::Explore { view: view.clone(), what: Explore::ComputeView }, &[content(&view), vec![0]]);
    let dashboard =
        DashboardRequest { frame: FRAME, views: vec![], title: None, columns: None, theme: Default::default() };
    let what = VisualSpec::Dashboard(Box::new(dashboard));
    let ask = VisualAsk::Forget;
    check(22, &Request::Visual { what: what.clone(), ask: ask.clone() }, &[content(&what), content(&ask)]);
}

#[test]
fn requests_of_models_keep_their_bytes() {
    check(14, &Request::Fit { fit: fit(), at: at() }, &[content(&fit()), content(&at())]);
    let (path, folder) = ("m.onrush".to_string(), "/tmp".to_string());
    check(15, &Request::LoadModel { path, folder }, &[text("m.onrush"), text("/tmp")]);
    let what = ModelAsk::Rows;
    check(16, &Request::Model { model: ModelId(4), what: what.clone() }, &[vec![4], content(&what)]);
    let (cv, scoring) = (Splitter::LeaveOneOut, vec!["r2".to_string()]);
    let fields = [content(&fit()), content(&cv), content(&scoring), vec![1], content(&at())];
    check(17, &Request::CrossValidate { fit: fit(), cv, scoring, train_score: true, at: at() }, &fields);
    let (label, score) = ("label".to_string(), "silhouette".to_string());
    check(18, &Request::ClusterScore { frame: FRAME, label, score }, &[vec![7], text("label"), text("silhouette")]);
}

/// `ValidationCurve` came with protocol 21, `Share` with 22, `CrossValPredict` and `LearningCurve` with 23, `Connect`
/// with 24.
#[test]
fn requests_that_came_later_are_last() {
    let (cv, scoring, param) = (Splitter::LeaveOneOut, vec!["r2".to_string()], "alpha".to_string());
    let values = Grid::List(vec![Param::Float(0.5), Param::Float(1.0)]);
    let fields = [content(&fit()), content(&cv), content(&scoring), text("alpha"), content(&values), content(&at())];
    check(33, &Request::ValidationCurve { fit: fit(), cv, scoring, param, values, at: at() }, &fields);
    check(34, &Request::Share { frame: FRAME, columns: vec!["x".to_string()] }, &[vec![7, 1], text("x")]);
    let (cv, method) = (Splitter::LeaveOneGroupOut, "predict_proba".to_string());
    let fields = [content(&fit()), content(&cv), text("predict_proba"), content(&at())];
    check(35, &Request::CrossValPredict { fit: fit(), cv: cv.clone(), method, at: at() }, &fields);
    let (scoring, sizes) = (vec!["r2".to_string()], vec![Size::Share(0.5), Size::Rows(9)]);
    let sizes = TrainSizes { sizes, shuffle: true, random_state: 3 };
    let fields = [content(&fit()), content(&cv), content(&scoring), content(&sizes), content(&at())];
    check(36, &Request::LearningCurve { fit: fit(), cv, scoring, sizes, at: at() }, &fields);
    let address = "onrush://127.0.0.1:7433".to_string();
    check(37, &Request::Connect { address: address.clone() }, &[text(&address)]);
}

#[test]
fn requests_to_the_supervisor_keep_their_bytes() {
    check(19, &Request::Show { frame: FRAME }, &[vec![7]]);
    check(20, &Request::Hide { frame: FRAME }, &[vec![7]]);
    check(23, &Request::Get { name: "n".to_string() }, &[text("n")]);
    check(24, &Request::Names, &[]);
    check(25, &Request::BeginCell { cell: 3, generation: Generation(2) }, &[vec![3, 2]]);
    let names = vec![("n".to_string(), ObjectId(7))];
    let end = CellEnd::Committed { names, released: vec![], published: vec![], lineage: Generation(1) };
    check(26, &Request::EndCell { generation: Generation(2), end: end.clone() }, &[vec![2], content(&end)]);
    check(27, &Request::Cancel, &[]);
    check(28, &Request::CancelTask { task: TaskId(6) }, &[vec![6]]);
    check(29, &Request::Tasks, &[]);
    check(30, &Request::Subscribe, &[]);
    check(31, &Request::Status, &[]);
    check(32, &Request::Shutdown { force: true }, &[vec![1]]);
}
