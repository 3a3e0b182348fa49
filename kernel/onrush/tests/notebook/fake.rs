//! A session that knows nothing: it takes every step, remembers it, and answers with one small table.

use std::io::{IoSlice, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, OnceLock};

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use onrush::arrow;
use onrush_wire::cluster::{ClusterInfo, WorkerInfo};
use onrush_wire::codec::{CodecError, encode, read_message, write_message};
use onrush_wire::learn::{Card, EstimatorKind, Fit, ModelId, ModelInfo};
use onrush_wire::plan::Op;
use onrush_wire::session::{Hello, NamedFrame, Reply, Request, Welcome};
use onrush_wire::visual::{Drawing, GraphPlot, GraphPlotRequest, NodeLink};
use onrush_wire::{Class, DataType, Diagnostic, Field, FrameId, Schema, Span, Value};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

/// The steps that were sent, with the place of the call.
pub static STEPS: Mutex<Vec<(Op, Option<Span>)>> = Mutex::new(Vec::new());

/// The trainings that were sent.
pub static FITS: Mutex<Vec<Fit>> = Mutex::new(Vec::new());

/// The pictures of graphs that were asked for.
pub static GRAPHS: Mutex<Vec<GraphPlotRequest>> = Mutex::new(Vec::new());

/// One test at a time: there is one connection for each process.
pub fn session() -> std::sync::MutexGuard<'static, ()> {
    static READY: OnceLock<()> = OnceLock::new();
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(|p| p.into_inner());
    READY.get_or_init(|| {
        let path = std::env::temp_dir().join(format!("onrush-fake-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).unwrap();
        onrush::use_session(&path);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                std::thread::spawn(move || serve(stream.unwrap()));
            }
        });
    });
    STEPS.lock().unwrap().clear();
    FITS.lock().unwrap().clear();
    GRAPHS.lock().unwrap().clear();
    turn
}

/// The step that was sent last.
pub fn last() -> Op {
    STEPS.lock().unwrap().last().unwrap().0.clone()
}

pub fn last_place() -> Span {
    STEPS.lock().unwrap().last().unwrap().1.clone().unwrap()
}

pub fn table() -> RecordBatch {
    let a: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let b: ArrayRef = Arc::new(Float64Array::from(vec![Some(0.5), None, Some(2.5)]));
    let name: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    let day: ArrayRef = Arc::new(arrow::array::Date32Array::from(vec![0, 1, 15_706]));
    RecordBatch::try_from_iter([("a", a), ("b", b), ("name", name), ("day", day)]).unwrap()
}

fn schema() -> Schema {
    let field = |name: &str, dtype| Field { name: name.to_string(), dtype, nullable: true };
    Schema {
        fields: vec![
            field("a", DataType::Int64),
            field("b", DataType::Float64),
            field("name", DataType::String),
            field("day", DataType::Date),
        ],
    }
}

/// A model as the session describes it: with one column for each kind of estimator.
fn model(fit: &Fit) -> ModelInfo {
    let output = match onrush_wire::learn::info(&fit.spec.estimator).map(|e| e.kind) {
        Some(EstimatorKind::Transformer) => Some("a"),
        Some(EstimatorKind::Clusterer) => Some("label"),
        Some(EstimatorKind::Index) => None,
        _ => Some("prediction"),
    };
    let field = |name: &str| Field { name: name.to_string(), dtype: DataType::Float64, nullable: true };
    ModelInfo {
        spec: fit.spec.clone(),
        key: 1,
        features: vec![field("a")],
        target: fit.target.as_ref().map(|_| field("b")),
        target_expr: fit.target.clone(),
        classes: Vec::new(),
        outputs: output.map(field).into_iter().collect(),
        card: Card::default(),
    }
}

fn worker(port: u16) -> WorkerInfo {
    let (device, build) = ("cpu".to_string(), "fake".to_string());
    WorkerInfo { address: format!("127.0.0.1:{port}"), cores: 2, memory: 4_000_000_000, device, build, tasks: 0 }
}

fn serve(mut stream: UnixStream) {
    let _: Hello = read_message(&mut stream).unwrap();
    let welcome = Welcome::Accepted { protocol: onrush_wire::PROTOCOL, pid: 1, engine: "fake".to_string() };
    write_message(&mut stream, &welcome).unwrap();
    let mut next = 0;
    loop {
        let request = match read_message::<Request>(&mut stream) {
            Ok(request) => request,
            Err(CodecError::Closed) => return,
            Err(e) => panic!("{e}"),
        };
        let reply = match request {
            Request::Step { op: Op::Drop { columns, .. }, at } if columns == ["missing"] => {
                let span = at.unwrap();
                Reply::Failed(
                    Diagnostic::error(Class::Plan, "unknown-column", "there is no column `missing`").at(span, ""),
                )
            }
            Request::Step { op, at } => {
                STEPS.lock().unwrap().push((op, at));
                next += 1;
                Reply::Frame { id: FrameId(next), schema: schema() }
            }
            Request::Connect { address } if !address.starts_with("onrush://") => {
                let message = format!("`{address}` is not the address of a cluster");
                Reply::Failed(Diagnostic::error(Class::Plan, "address", message))
            }
            Request::Connect { address } => {
                Reply::Cluster(ClusterInfo { address, workers: vec![worker(7433), worker(7434)] })
            }
            Request::Fit { fit, .. } => {
                let info = Box::new(model(&fit));
                FITS.lock().unwrap().push(fit);
                next += 1;
                Reply::Model { id: ModelId(next), info }
            }
            Request::CrossValidate { fit, .. }
            | Request::CrossValPredict { fit, .. }
            | Request::LearningCurve { fit, .. }
            | Request::ValidationCurve { fit, .. } => {
                FITS.lock().unwrap().push(fit);
                send_batch(&mut stream, &table());
                continue;
            }
            Request::Model { .. } => {
                send_batch(&mut stream, &table());
                continue;
            }
            Request::GraphPlot(request) => {
                let plot = GraphPlot {
                    nodes: 3,
                    edges: 2,
                    directed: request.graph.directed,
                    positions: String::new(),
                    drawing: Drawing::Points(NodeLink::default()),
                    style: request.style.clone(),
                    notes: Vec::new(),
                };
                GRAPHS.lock().unwrap().push(request);
                Reply::GraphPlot(plot)
            }
            Request::RowCount { .. } => Reply::Count(3),
            Request::Value { .. } => Reply::Value { value: Value::Float(1.5), dtype: DataType::Float64 },
            Request::Names => Reply::Names {
                own: vec![NamedFrame {
                    name: "old".to_string(),
                    frame: FrameId(900),
                    schema: schema(),
                    rows: None,
                    held: None,
                }],
                published: Vec::new(),
                models: Vec::new(),
            },
            // As an engine without a device: the column itself.
            Request::ExportColumn { column, .. } => {
                let batch = table();
                let place = batch.schema().index_of(&column).unwrap();
                send_batch(&mut stream, &batch.project(&[place]).unwrap());
                continue;
            }
            Request::Collect { columns, .. } => {
                let batch = table();
                let batch = if columns.is_empty() {
                    batch
                } else {
                    let picked: Vec<usize> = columns.iter().map(|c| batch.schema().index_of(c).unwrap()).collect();
                    batch.project(&picked).unwrap()
                };
                send_batch(&mut stream, &batch);
                continue;
            }
            other => panic!("not expected: {other:?}"),
        };
        write_message(&mut stream, &reply).unwrap();
    }
}

/// As the real session does: an Arrow IPC file in a sealed memfd, whose descriptor goes with the message's first bytes.
fn send_batch(stream: &mut UnixStream, batch: &RecordBatch) {
    let memory = rustix::fs::memfd_create("fake", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
    let mut file = std::fs::File::from(memory);
    let mut writer = arrow::ipc::writer::FileWriter::try_new(&mut file, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    drop(writer);
    let bytes = file.stream_position().unwrap();
    let reply = Reply::Batches { schema: schema(), rows: batch.num_rows() as u64, bytes, inline: None };
    let message = encode(&reply).unwrap();
    let descriptors = [file.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let sent = sendmsg(&*stream, &[IoSlice::new(&message)], &mut control, SendFlags::empty()).unwrap();
    stream.write_all(&message[sent..]).unwrap();
}
