//! One account of memory: readers, models, graphs and dashboards under `ONRUSH_MEMORY`. The processes' high-water marks
//! (`VmHWM` of Linux) and the sizes of their shared memory say how much was taken; what fits follows from arithmetic.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;

use onrush_wire::dashboard::{DashboardRequest, ViewKind, ViewRequest};
use onrush_wire::learn::{Fit, Param, Spec};
use onrush_wire::plan::{Format, GraphPart, Op, Source};
use onrush_wire::plot::{LayerRequest, Theme};
use onrush_wire::session::{Reply, Request};
use onrush_wire::visual::{VisualAsk, VisualSpec};
use onrush_wire::{Class, Diagnostic, Expr, FrameId};

use super::support::{Client, Session};

/// `ONRUSH_MEMORY`, in MB. The programs themselves take about 100.
const LIMIT: u64 = 512;
const PROGRAM: u64 = 220;

/// Most MB that a process had.
fn most(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() >> 10
}

/// MB of anonymous shared memory that a process holds.
fn shared(pid: u32) -> u64 {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let is_model = |path: std::path::PathBuf| {
        std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().starts_with("/memfd:onrush-model"))
    };
    let memory = files.filter(|file| is_model(file.path()));
    memory.filter_map(|file| std::fs::metadata(file.path()).ok()).map(|file| file.size()).sum::<u64>() >> 20
}

fn session() -> Session {
    Session::start_in(&[("ONRUSH_MEMORY", &format!("{LIMIT}M"))])
}

fn checked(session: &Session, what: &str) {
    let status = session.status();
    let (engine, supervisor) = (most(status.engine_pid.unwrap()), most(status.pid));
    assert!(engine < LIMIT + PROGRAM, "{what}: the engine had {engine} MB");
    assert!(supervisor < PROGRAM, "{what}: the supervisor had {supervisor} MB");
}

fn refused(error: &Diagnostic) {
    assert_eq!((error.class, error.code.as_str()), (Class::Resources, "out-of-memory"), "{error}");
    let text = format!("{} {}", error.message, error.help.join(" "));
    assert!(text.contains("ONRUSH_MEMORY") && text.contains("memory"), "{text}");
}

fn sql(client: &mut Client, query: &str) -> FrameId {
    client.step(Op::Sql { query: query.to_string(), tables: Vec::new() })
}

fn persisted(client: &mut Client, frame: FrameId) -> FrameId {
    match client.ask(Request::Persist { frame }) {
        Reply::Frame { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

/// A model of nearest neighbours has a copy of its 12 MB of rows: about 40 of them are as much as the session has. The
/// supervisor keeps an eighth of it in memory.
#[test]
fn models_are_counted_and_their_copies_go_to_disk() {
    let session = session();
    let mut cell = session.cell("n");
    let query = "select x::double a, (x*7%1001)::double b, (x*13%997)::double c, (x%3) y from range(400000) q(x)";
    let frame = sql(&mut cell, query);
    let frame = persisted(&mut cell, frame);
    let mut fitted = 0;
    let error = loop {
        let neighbours = Param::Int(fitted + 1);
        let spec = Spec {
            estimator: "KNeighborsClassifier".to_string(),
            params: vec![("n_neighbors".to_string(), neighbours)],
            features: Some(vec![Expr::column("a"), Expr::column("b"), Expr::column("c")]),
            ..Spec::default()
        };
        let fit = Fit { spec, frame, target: Some(Expr::column("y")), eval: Vec::new() };
        match cell.try_ask(Request::Fit { fit, at: None }) {
            Ok(Reply::Model { .. }) => fitted += 1,
            Ok(other) => panic!("{other:?}"),
            Err(error) => break error,
        }
        assert!(fitted < 60, "no model was refused");
    };
    refused(&error);
    assert!(error.message.contains("models"), "{error}");
    assert!(fitted >= 10, "{fitted}");
    let held = shared(session.status().pid);
    assert!(held <= LIMIT / 8, "copies of {held} MB are in memory");
    checked(&session, "models");
}

/// 8,000 attributes of 2,000 nodes are 16 million cells, of which none has a value.
#[test]
fn a_graph_of_many_attributes_is_refused_before_it_is_made() {
    let session = session();
    let mut cell = session.cell("n");
    let mut file = String::from("<graphml>");
    (0..8_000).for_each(|key| write!(file, "<key id=\"k{key}\" for=\"node\"/>").unwrap());
    file.push_str("<graph edgedefault=\"directed\">");
    (0..2_000).for_each(|node| write!(file, "<node id=\"n{node}\"/>").unwrap());
    file.push_str("</graph></graphml>");
    let csv = session.file("keys.graphml", &file);
    let format = Format::Graph { format: None, part: GraphPart::Nodes };
    let error = cell.try_step(Op::Read(Source { format, ..csv })).unwrap_err();
    refused(&error);
    checked(&session, "a graph");
}

/// Rows of 400 MB as text, and lines of one value.
#[test]
fn text_that_does_not_fit_is_refused() {
    let session = session();
    let mut cell = session.cell("n");
    for (name, line) in
        [("wide.jsonl", format!("{{\"a\": \"{}\"}}\n", "x".repeat(4_000))), ("narrow.jsonl", "{\"a\":1}\n".to_string())]
    {
        let path = session.file(name, &line.repeat((300 << 20) / line.len()));
        match cell.try_step(Op::Read(Source { format: Format::JsonLines, ..path })) {
            Ok(frame) => assert!(cell.count(frame) > 70_000),
            Err(error) => refused(&error),
        }
        checked(&session, name);
    }
}

/// Slots of 2 bytes for each row and view, and the rows that they are made of.
#[test]
fn dashboards_are_counted() {
    let session = session();
    let mut cell = session.cell("n");
    let frame = sql(&mut cell, "select x, x % 1000 y, x % 77 z from range(6000000) q(x)");
    let frame = persisted(&mut cell, frame);
    for _ in 0..2 {
        let views = ["x", "y", "z"].map(|column| ViewRequest {
            kind: ViewKind::Histogram,
            layer: LayerRequest { x: Some(Expr::column(column)), ..LayerRequest::default() },
            columns: Vec::new(),
            range: None,
            title: None,
            wide: false,
            tall: false,
        });
        let request =
            DashboardRequest { frame, views: views.into(), title: None, columns: None, theme: Theme::default() };
        let ask = VisualAsk::Dashboard { filters: Vec::new(), moving: false };
        let asked = cell.try_ask(Request::Visual { what: VisualSpec::Dashboard(Box::new(request)), ask });
        asked.as_ref().err().into_iter().for_each(refused);
        checked(&session, "a dashboard");
    }
}
