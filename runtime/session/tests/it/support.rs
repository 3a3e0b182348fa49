//! Support for the tests: a session for each test, and clients that speak to it as a kernel process and cell processes
//! do.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array, RecordBatch};
use onrush_frame::{Table, ipc};
use onrush_session::connection::{Receiver, Sender, split};
use onrush_session::memfd;
use onrush_wire::display::TablePreview;
use onrush_wire::plan::{CsvOptions, Format, JoinKind, Op, Source};
use onrush_wire::session::{CellEnd, Hello, Reply, Request, Role, Status, Welcome};
use onrush_wire::{
    BinaryOp, Class, DataType, Diagnostic, Expr, ExprKind, Field, FrameId, Generation, NotebookId, ObjectId, PROTOCOL,
    Schema,
};
use tempfile::TempDir;

pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Session {
    pub dir: TempDir,
}

impl Session {
    pub fn start() -> Session {
        Session::start_with(&[])
    }

    pub fn start_with(arguments: &[&str]) -> Session {
        let session = Session { dir: tempfile::tempdir().unwrap() };
        assert!(session.command(arguments).status().unwrap().success());
        session
    }

    pub fn start_in(environment: &[(&str, &str)]) -> Session {
        let session = Session { dir: tempfile::tempdir().unwrap() };
        let mut command = session.command(&[]);
        assert!(command.envs(environment.iter().copied()).status().unwrap().success());
        session
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onrush-session"));
        command.arg("serve").args(arguments).env("ONRUSH_RUNTIME_DIR", self.dir.path().join("run"));
        command.env("ONRUSH_MEMORY", "1G").env_remove("ONRUSH_SESSION").env_remove("ONRUSH_IDLE").stdin(Stdio::null());
        command
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.path().join("run/session.sock")
    }

    pub fn try_connect(&self, notebook: &str, role: Role, generation: u64) -> Result<Client, Diagnostic> {
        Client::open(&self.socket(), notebook, role, generation)
    }

    pub fn connect(&self, notebook: &str, role: Role, generation: u64) -> Client {
        self.try_connect(notebook, role, generation).unwrap()
    }

    pub fn kernel(&self, notebook: &str) -> Client {
        self.connect(notebook, Role::Kernel, 1)
    }

    pub fn cell(&self, notebook: &str) -> Client {
        self.connect(notebook, Role::Cell, 1)
    }

    pub fn status(&self) -> Status {
        match self.connect("observer", Role::Observer, 0).ask(Request::Status) {
            Reply::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    pub fn notebooks(&self) -> Vec<String> {
        self.status().notebooks.into_iter().map(|one| one.notebook.0).collect()
    }

    pub fn file(&self, name: &str, content: &str) -> Source {
        std::fs::write(self.dir.path().join(name), content).unwrap();
        Source {
            path: name.to_string(),
            folder: self.dir.path().to_str().unwrap().to_string(),
            format: Format::Csv(CsvOptions::default()),
            cluster: None,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Ok(mut client) = self.try_connect("observer", Role::Observer, 0) {
            let _ = client.try_ask(Request::Shutdown { force: true });
        }
    }
}

pub struct Client {
    pub sender: Sender,
    pub receiver: Receiver,
}

impl Client {
    pub fn open(socket: &Path, notebook: &str, role: Role, generation: u64) -> Result<Client, Diagnostic> {
        let stream =
            UnixStream::connect(socket).map_err(|e| Diagnostic::error(Class::Environment, "connect", e.to_string()))?;
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut sender, mut receiver) = split(stream).unwrap();
        let hello = Hello {
            protocol: PROTOCOL,
            notebook: NotebookId(notebook.to_string()),
            role,
            generation: Generation(generation),
            pid: std::process::id(),
            token: String::new(),
        };
        let lost = |e: onrush_wire::codec::CodecError| Diagnostic::error(Class::Environment, "lost", e.to_string());
        sender.send(&hello, None).map_err(lost)?;
        match receiver.receive::<Welcome>().map_err(lost)?.0 {
            Welcome::Accepted { protocol, .. } => {
                assert_eq!(protocol, PROTOCOL);
                Ok(Client { sender, receiver })
            }
            Welcome::Refused(diagnostic) => Err(diagnostic),
        }
    }

    pub fn exchange(&mut self, request: Request, descriptor: Option<&OwnedFd>) -> (Reply, Option<OwnedFd>) {
        self.sender.send(&request, descriptor.map(|d| d.as_fd())).unwrap();
        self.receiver.receive().unwrap()
    }

    pub fn try_ask(&mut self, request: Request) -> Result<Reply, Diagnostic> {
        match self.exchange(request, None).0 {
            Reply::Failed(diagnostic) => Err(diagnostic),
            reply => Ok(reply),
        }
    }

    pub fn ask(&mut self, request: Request) -> Reply {
        self.try_ask(request).unwrap()
    }

    pub fn try_step(&mut self, op: Op) -> Result<FrameId, Diagnostic> {
        match self.try_ask(Request::Step { op, at: None })? {
            Reply::Frame { id, .. } => Ok(id),
            other => panic!("{other:?}"),
        }
    }

    pub fn step(&mut self, op: Op) -> FrameId {
        self.try_step(op).unwrap()
    }

    pub fn preview(&mut self, frame: FrameId) -> TablePreview {
        match self.ask(Request::Preview { frame, head: 5, tail: 5, nulls: true }) {
            Reply::Preview(preview) => preview,
            other => panic!("{other:?}"),
        }
    }

    pub fn count(&mut self, frame: FrameId) -> u64 {
        match self.ask(Request::RowCount { frame }) {
            Reply::Count(rows) => rows,
            other => panic!("{other:?}"),
        }
    }

    pub fn collect(&mut self, frame: FrameId) -> Table {
        let answer = self.exchange(Request::Collect { frame, columns: vec![] }, None);
        Client::rows_of(answer)
    }

    pub fn rows_of((reply, descriptor): (Reply, Option<OwnedFd>)) -> Table {
        let Reply::Batches { bytes, rows, inline: None, .. } = reply else { panic!("{reply:?}") };
        let content = memfd::read(&descriptor.expect("the rows come in shared memory")).unwrap();
        assert_eq!(content.len() as u64, bytes);
        let table = ipc::read(content.into()).unwrap();
        assert_eq!(table.rows() as u64, rows);
        table
    }

    pub fn begin(&mut self, cell: u64, generation: u64) {
        assert_eq!(self.ask(Request::BeginCell { cell, generation: Generation(generation) }), Reply::Done);
    }

    pub fn commit(
        &mut self,
        generation: u64,
        names: &[(&str, FrameId)],
        released: &[FrameId],
        published: &[(&str, FrameId)],
    ) {
        self.commit_of(0, generation, names, released, published);
    }

    /// `lineage`: the generation with which the cell process began.
    pub fn commit_of(
        &mut self,
        lineage: u64,
        generation: u64,
        names: &[(&str, FrameId)],
        released: &[FrameId],
        published: &[(&str, FrameId)],
    ) {
        let named = |list: &[(&str, FrameId)]| list.iter().map(|(n, f)| (n.to_string(), ObjectId::from(*f))).collect();
        let released = released.iter().copied().map(ObjectId::from).collect();
        let (names, published) = (named(names), named(published));
        let end = CellEnd::Committed { names, released, published, lineage: Generation(lineage) };
        assert_eq!(self.ask(Request::EndCell { generation: Generation(generation), end }), Reply::Done);
    }
}

pub fn greater(input: FrameId, column: &str, than: i64) -> Op {
    let binary = ExprKind::Binary(BinaryOp::Greater, Box::new(Expr::column(column)), Box::new(Expr::literal(than)));
    Op::Filter { input, predicate: Expr::new(binary) }
}

pub fn values(values: impl IntoIterator<Item = i64>) -> (Op, OwnedFd) {
    let column: ArrayRef = std::sync::Arc::new(Int64Array::from_iter_values(values));
    let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
    let table = Table::new(batch.schema(), vec![batch]);
    let descriptor = memfd::sealed_by("values", |f| ipc::write_file(&table, f).map_err(std::io::Error::other)).unwrap();
    let schema = Schema { fields: vec![Field { name: "n".to_string(), dtype: DataType::Int64, nullable: false }] };
    (Op::FromArrow { schema, bytes: None }, descriptor)
}

pub fn from_values(client: &mut Client, list: impl IntoIterator<Item = i64>) -> FrameId {
    let (op, descriptor) = values(list);
    match client.exchange(Request::Step { op, at: None }, Some(&descriptor)).0 {
        Reply::Frame { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

/// A query that takes far longer than any test waits: pairs of pairs.
pub fn endless(client: &mut Client) -> FrameId {
    pairs_of(client, 200_000)
}

/// The sum over so many rows with each of as many.
pub fn pairs_of(client: &mut Client, rows: i64) -> FrameId {
    let n = from_values(client, 0..rows);
    let cross = |client: &mut Client, left, right, suffix: &str| {
        client.step(Op::Join {
            left,
            right,
            how: JoinKind::Cross,
            left_on: vec![],
            right_on: vec![],
            suffix: suffix.to_string(),
        })
    };
    let pairs = cross(client, n, n, "_2");
    let sum = Expr::call(
        "sum",
        [Expr::new(ExprKind::Binary(BinaryOp::Multiply, Box::new(Expr::column("n")), Box::new(Expr::column("n_2"))))],
    );
    client.step(Op::Select { input: pairs, exprs: vec![sum.alias("s")] })
}

pub fn kill(pid: u32) {
    assert!(Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap().success());
}

/// Hundredths of a second of processor time.
pub fn processor_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

/// Waits for something that happens by itself.
pub fn until(what: &str, mut test: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !test() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub const CSV: &str = "name,n\na,1\nb,2\nc,3\nd,\n";
