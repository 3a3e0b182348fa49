//! The kernel process's side of the session: starting it, saying when cells begin and end, stopping its work, and
//! watching its tasks. The kernel lives without a session: whatever is asked of one that is not there is a plain error.

mod connection;
mod start;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use onrush_cell::Frames;
use onrush_wire::cluster::ClusterInfo;
use onrush_wire::codec::{self, CodecError};
use onrush_wire::learn::Detail;
use onrush_wire::progress::{Task, TaskState};
use onrush_wire::session::{CellEnd, Event, NamedFrame, NamedModel, Reply, Request, Role, Status};
use onrush_wire::{Arg, Class, Diagnostic, Expr, ExprKind, FrameId, Generation, NotebookId, TaskId};
use parking_lot::Mutex;

use crate::log;
use connection::{ANSWER_LIMIT, ConnectError, unreachable_session};
pub use connection::{Connection, stopped};
use start::start;

/// Completion does without columns rather than wait longer.
const NAMES_LIMIT: Duration = Duration::from_millis(300);

/// So many trials of a search have a complete one among them.
const MANY_TRIALS: usize = 200;

/// Time that the workers of a cluster may take to answer, all of them together.
const CLUSTER_LIMIT: Duration = Duration::from_secs(60);

/// Time that a summary of a column may take, for each number.
const SUMMARY_LIMIT: Duration = Duration::from_millis(700);

/// Tasks of this notebook, as the session last reported them.
#[derive(Default)]
struct Board {
    tasks: BTreeMap<TaskId, Task>,
    /// Tasks of earlier cells that had not ended when the present one began.
    earlier: BTreeSet<TaskId>,
    notices: Vec<String>,
    /// Searches that an interrupt has stopped: the next one ends the cell.
    stopped: BTreeSet<TaskId>,
}

impl Board {
    /// The searches that run and have a trial to give.
    fn searches(&self) -> Vec<TaskId> {
        let can_stop = |task: &&Task| {
            let Some(Detail::Trials(trials)) = &task.detail else { return false };
            let is_open = task.state == TaskState::Running && !self.stopped.contains(&task.id);
            // The board has only the last ones of many trials.
            is_open && (trials.len() >= MANY_TRIALS || trials.iter().any(|trial| trial.state == "done"))
        };
        self.tasks.values().filter(can_stop).map(|task| task.id).collect()
    }
}

struct State {
    connection: Option<Connection>,
    generation: Generation,
    /// The cell that runs: said again to a session that was started in the middle of it.
    open_cell: Option<u64>,
    /// The engine that a cell asked for before a session ran.
    engine: Option<String>,
    /// Ends of cells that the session has not heard of.
    owed: Vec<Request>,
}

/// The outcome of a request.
enum Delivery {
    Done,
    Refused(Diagnostic),
    /// There is no connection, or it broke.
    NoConnection,
}

/// This notebook's session.
pub struct Session {
    socket: PathBuf,
    notebook: NotebookId,
    state: Mutex<State>,
    board: Mutex<Board>,
    subscribed: AtomicBool,
    starting: Mutex<()>,
    closed: AtomicBool,
    /// The user has interrupted the running cell: answers are not waited for.
    interrupted: Arc<AtomicBool>,
}

impl Session {
    pub fn new(notebook: NotebookId, socket: PathBuf) -> Arc<Self> {
        Arc::new(Session {
            socket,
            notebook,
            state: Mutex::new(State {
                connection: None,
                generation: Generation(0),
                open_cell: None,
                engine: None,
                owed: Vec::new(),
            }),
            board: Mutex::new(Board::default()),
            subscribed: AtomicBool::new(false),
            starting: Mutex::new(()),
            closed: AtomicBool::new(false),
            interrupted: Arc::default(),
        })
    }

    pub fn notebook(&self) -> &NotebookId {
        &self.notebook
    }

    /// Connects, starting a session if none answers.
    pub fn ensure(self: &Arc<Self>) -> Result<(), Diagnostic> {
        let _one_at_a_time = self.starting.lock();
        let connected = match self.connect() {
            Ok(()) => Ok(()),
            // One of another build answers and says why it will not talk.
            Err(ConnectError::Refused(refused)) => Err(refused),
            // One that a signal has stopped holds the lock of the session: another one cannot start.
            Err(ConnectError::Unreachable(silent)) if stopped().is_some() => Err(silent),
            Err(ConnectError::Unreachable(_)) => {
                let engine = self.engine();
                start(&self.socket, engine.as_deref()).and_then(|()| self.connect_within(Duration::from_secs(2)))
            }
        };
        connected?;
        self.subscribe();
        Ok(())
    }

    /// The engine that was chosen for a session that is yet to start.
    pub fn engine(&self) -> Option<String> {
        self.state.lock().engine.clone()
    }

    /// A session that this notebook starts has this engine.
    pub fn choose_engine(&self, name: &str) {
        self.state.lock().engine = Some(name.to_string());
    }

    /// A session in which nothing is held, and that nobody else uses, ends; another one with this engine starts.
    ///
    /// # Errors
    /// If it does not end, and if the other one does not start or has no such engine.
    pub fn restart(self: &Arc<Self>, engine: &str) -> Result<(), Diagnostic> {
        let gone = {
            let mut state = self.state.lock();
            tell(&mut state, &Request::Shutdown { force: true });
            state.connection = None;
            Instant::now() + ANSWER_LIMIT
        };
        while UnixStream::connect(&self.socket).is_ok() {
            if Instant::now() > gone {
                return Err(unreachable_session(&self.socket, "it was to end, and does not"));
            }
            std::thread::sleep(Duration::from_millis(3));
        }
        self.choose_engine(engine);
        self.ensure()
    }

    fn connect_within(&self, limit: Duration) -> Result<(), Diagnostic> {
        let started = Instant::now();
        loop {
            match self.connect() {
                Ok(()) => return Ok(()),
                Err(ConnectError::Unreachable(_)) if started.elapsed() <= limit => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(error) => {
                    let log = format!("its log is {}", log_path(&self.socket).display());
                    return Err(Diagnostic::from(error).note(log));
                }
            }
        }
    }

    /// Makes sure that the kernel's connection works; says the open cell's beginning again on a new one.
    fn connect(&self) -> Result<(), ConnectError> {
        let mut state = self.state.lock();
        if let Some(connection) = &mut state.connection {
            if connection.ask(&Request::Tasks).is_ok() {
                return Ok(());
            }
            state.connection = None;
        }
        let interrupted = Some(Arc::clone(&self.interrupted));
        let (socket, notebook, generation) = (&self.socket, &self.notebook, state.generation);
        let mut connection =
            Connection::open_within(socket, notebook, Role::Kernel, generation, ANSWER_LIMIT, interrupted)?;
        // Another notebook may have started it meanwhile. A request for an engine never quietly gets another one,
        // except once: then it is known that the session has its own.
        if let Some(wanted) = state.engine.take_if(|wanted| *wanted != "auto" && *wanted != connection.engine) {
            let message =
                format!("the engine `{wanted}` was asked for, and the session runs on `{}`", connection.engine);
            let help = "run the cell again, or say `:engine auto`, to work with the engine that runs; or end the kernels of all notebooks first";
            return Err(ConnectError::Refused(
                Diagnostic::error(Class::Environment, "engine", message)
                    .note("another notebook started the session meanwhile")
                    .help(help),
            ));
        }
        let unreachable = |e: CodecError| ConnectError::Unreachable(unreachable_session(&self.socket, &e.to_string()));
        while let Some(end) = state.owed.first() {
            if let Reply::Failed(refused) = connection.ask(end).map_err(unreachable)? {
                log::line(format_args!("the session refused the end of a cell: {refused}"));
            }
            state.owed.remove(0);
        }
        if let Some(cell) = state.open_cell {
            let begin = Request::BeginCell { cell, generation: state.generation };
            connection.ask(&begin).map_err(unreachable)?;
        }
        state.connection = Some(connection);
        Ok(())
    }

    /// The code of a cell starts. A session that is not there is told when it comes. Gives a word about one that is
    /// there and does not answer.
    ///
    /// # Errors
    /// If the session does not take the cell.
    pub fn begin_cell(self: &Arc<Self>, cell: u64, generation: Generation) -> Result<Option<String>, Diagnostic> {
        let told = {
            let mut state = self.state.lock();
            state.generation = generation;
            state.open_cell = Some(cell);
            tell(&mut state, &Request::BeginCell { cell, generation })
        };
        match told {
            Delivery::Refused(diagnostic) => return Err(diagnostic.note("the cell did not run")),
            Delivery::NoConnection if self.socket.exists() => match self.connect() {
                Ok(()) => self.subscribe(),
                Err(_) => return Ok(stopped().map(|why| format!("the session does not answer: {why}"))),
            },
            _ => {}
        }
        Ok(None)
    }

    /// `generation` is the one in which the cell began.
    ///
    /// # Errors
    /// If the session refuses it, or has to know the published names and does not answer. The cell must not look as if
    /// it had succeeded.
    pub fn end_cell(&self, generation: Generation, end: CellEnd) -> Result<(), Diagnostic> {
        let publishes = matches!(&end, CellEnd::Committed { published, .. } if !published.is_empty());
        let request = Request::EndCell { generation, end };
        let told = {
            let mut state = self.state.lock();
            state.open_cell = None;
            match tell(&mut state, &request) {
                Delivery::NoConnection if self.socket.exists() => {
                    state.owed.push(request);
                    Delivery::NoConnection
                }
                told => told,
            }
        };
        match told {
            Delivery::Done => Ok(()),
            Delivery::Refused(diagnostic) => Err(diagnostic
                .note("the cell has run, and its variables stay; the session does not know what it has published")),
            Delivery::NoConnection if self.socket.exists() => match self.connect() {
                // The session was restarted meanwhile, or another process started it for a frame: now it has heard of
                // it.
                Ok(()) => Ok(()),
                Err(error) if publishes => Err(Diagnostic::from(error).note(
                    "the cell has run, and its variables stay; what it has published is there when the session answers",
                )),
                Err(_) => Ok(()),
            },
            Delivery::NoConnection => Ok(()),
        }
    }

    /// Interrupts the running cell: threads that wait for an answer stop waiting. Holds until [`Self::go_on`].
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::Release);
    }

    /// A cell begins.
    pub fn go_on(&self) {
        self.interrupted.store(false, Ordering::Release);
    }

    /// The newest generation of the cell process: new connections say it.
    pub fn set_generation(&self, generation: Generation) {
        self.state.lock().generation = generation;
    }

    /// Stops what this notebook has under way.
    pub fn cancel(&self) {
        self.stop_by(&Request::Cancel);
    }

    /// Stops the searches of parameters that this notebook waits for: they give the best of their complete trials.
    /// False if there are none, or if they have been stopped before.
    pub fn stop_searches(self: &Arc<Self>) -> bool {
        let searches = {
            let mut board = self.board.lock();
            let searches = board.searches();
            board.stopped.extend(&searches);
            if !searches.is_empty() {
                let notice = "the interrupt stopped the search, which gives the best of its complete trials; the cell went \
                              on (another interrupt ends the cell)";
                board.notices.push(notice.to_string());
            }
            searches
        };
        for task in &searches {
            let (session, task) = (Arc::clone(self), *task);
            let _ = std::thread::Builder::new().name("search stop".into()).spawn(move || session.cancel_task(task));
        }
        !searches.is_empty()
    }

    /// Stops one task: what waits for it is told that it was stopped.
    pub fn cancel_task(&self, task: TaskId) {
        self.stop_by(&Request::CancelTask { task });
    }

    fn stop_by(&self, request: &Request) {
        let generation = self.state.lock().generation;
        let result = Connection::open(&self.socket, &self.notebook, Role::Kernel, generation)
            .map_err(|d| d.message)
            .and_then(|mut connection| connection.ask(request).map_err(|e| e.to_string()));
        if let Err(error) = result
            && self.socket.exists()
        {
            log::line(format_args!("the session's work could not be stopped: {error}"));
        }
    }

    /// An output shows a frame: it is kept. False if there is no such frame any more.
    pub fn show(&self, frame: FrameId) -> bool {
        let mut state = self.state.lock();
        let answer = state.connection.as_mut().map(|connection| connection.ask(&Request::Show { frame }));
        if matches!(answer, Some(Err(_))) {
            // A late answer would be taken for that to the next question.
            state.connection = None;
        }
        matches!(answer, Some(Ok(Reply::Done)))
    }

    pub fn hide(&self, frame: FrameId) {
        tell(&mut self.state.lock(), &Request::Hide { frame });
    }

    /// The workers of a cluster, which the session asks. Starts a session if none answers.
    ///
    /// # Errors
    /// The errors of the session, such as a wrong token or a worker that does not answer.
    pub fn cluster(self: &Arc<Self>, address: &str) -> Result<ClusterInfo, Diagnostic> {
        self.ensure()?;
        let (socket, interrupted) = (&self.socket, Some(Arc::clone(&self.interrupted)));
        let generation = self.state.lock().generation;
        let mut connection =
            Connection::open_within(socket, &self.notebook, Role::Kernel, generation, CLUSTER_LIMIT, interrupted)?;
        match connection.ask(&Request::Connect { address: address.to_string() }) {
            Ok(Reply::Cluster(cluster)) => Ok(cluster),
            Ok(Reply::Failed(diagnostic)) => Err(diagnostic),
            Ok(_) => Err(unreachable_session(socket, "it gave an unexpected answer")),
            Err(error) => Err(unreachable_session(socket, &error.to_string())),
        }
    }

    /// The socket of the session, and the id of this notebook.
    pub fn address(&self) -> (PathBuf, NotebookId) {
        (self.socket.clone(), self.notebook.clone())
    }

    /// The frames that variables hold; none if the session does not answer at once.
    pub fn own_frames(&self) -> Vec<NamedFrame> {
        self.own_objects().0
    }

    /// The frames and models that variables hold, likewise.
    pub fn own_objects(&self) -> (Vec<NamedFrame>, Vec<NamedModel>) {
        match self.ask_quickly(&Request::Names) {
            Some(Reply::Names { own, models, .. }) => (own, models),
            _ => Default::default(),
        }
    }

    /// A connection for a question that nobody waits long for.
    fn ask_quickly(&self, request: &Request) -> Option<Reply> {
        if !self.socket.exists() {
            return None;
        }
        let generation = self.state.try_lock()?.generation;
        let (socket, notebook) = (&self.socket, &self.notebook);
        let mut connection =
            Connection::open_within(socket, notebook, Role::Kernel, generation, NAMES_LIMIT, None).ok()?;
        connection.ask(request).ok()
    }

    /// Process ids of the supervisor and the engine, if a session answers.
    pub fn pids(&self) -> Vec<u32> {
        match status(&self.socket) {
            Ok((status, _)) => [Some(status.pid), status.engine_pid].into_iter().flatten().collect(),
            Err(_) => Vec::new(),
        }
    }

    /// A cell starts: tasks from before are not its own, even if they have yet to end.
    pub fn forget_tasks(&self) {
        let mut board = self.board.lock();
        let is_open = |task: &&Task| matches!(task.state, TaskState::Queued | TaskState::Running);
        let open: Vec<TaskId> = board.tasks.values().filter(is_open).map(|task| task.id).collect();
        board.earlier.extend(open);
        board.tasks.clear();
    }

    pub fn tasks(&self) -> Vec<Task> {
        self.board.lock().tasks.values().cloned().collect()
    }

    /// Takes the notices about the session since the last call.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut self.board.lock().notices)
    }

    /// Closes the connections: the session then releases the notebook's names.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        if let Some(mut state) = self.state.try_lock_for(Duration::from_millis(500))
            && let Some(connection) = state.connection.take()
        {
            let _ = connection.stream.shutdown(Shutdown::Both);
        }
    }

    /// Follows the notebook's tasks on a separate connection and thread, until the session goes away.
    fn subscribe(self: &Arc<Self>) {
        if self.subscribed.swap(true, Ordering::AcqRel) {
            return;
        }
        let session = Arc::clone(self);
        let spawned = std::thread::Builder::new().name("session events".into()).spawn(move || {
            if let Err(error) = session.follow()
                && !session.closed.load(Ordering::Relaxed)
            {
                log::line(format_args!("the session's events ended: {error}"));
            }
            // Tasks that ran when the session went away have failed.
            for task in session.board.lock().tasks.values_mut() {
                if matches!(task.state, TaskState::Queued | TaskState::Running) {
                    task.state = TaskState::Failed;
                }
            }
            session.subscribed.store(false, Ordering::Release);
        });
        if spawned.is_err() {
            self.subscribed.store(false, Ordering::Release);
        }
    }

    fn follow(&self) -> Result<(), CodecError> {
        let generation = self.state.lock().generation;
        let mut connection = Connection::open(&self.socket, &self.notebook, Role::Kernel, generation)
            .map_err(|d| CodecError::Io(io::Error::other(d.message)))?;
        codec::write_message(&mut connection.stream, &Request::Subscribe)?;
        connection.limit(None);
        // Another session counts its tasks anew.
        {
            let mut board = self.board.lock();
            board.earlier.clear();
            board.stopped.clear();
        }
        loop {
            match codec::read_message(&mut connection.reader)? {
                Event::Task(task) if task.notebook == self.notebook => {
                    let mut board = self.board.lock();
                    if !board.earlier.contains(&task.id) {
                        board.tasks.insert(task.id, task);
                    }
                }
                Event::Task(_) => {}
                Event::EngineRestarted { reason } => self.board.lock().notices.push(format!(
                    "the session's engine was restarted ({reason}): frames are computed again when they are next used"
                )),
            }
        }
    }
}

impl Frames for Session {
    fn frames(&self) -> Vec<NamedFrame> {
        match self.ask_quickly(&Request::Names) {
            Some(Reply::Names { own, published, .. }) => {
                let is_new = |frame: &NamedFrame| !own.iter().any(|f| f.name == frame.name);
                let published: Vec<NamedFrame> = published.into_iter().filter(is_new).collect();
                own.into_iter().chain(published).collect()
            }
            _ => Vec::new(),
        }
    }

    fn summary(&self, frame: FrameId, column: &str) -> Vec<(String, String)> {
        // A frame whose rows are not known has not been computed: a look at a name must not start that.
        let known = self.frames().into_iter().find(|f| f.frame == frame);
        let Some((field, rows)) = known.and_then(|f| Some((f.schema.field(column)?.clone(), f.rows?))) else {
            return Vec::new();
        };
        let state = self.state.try_lock().map(|state| state.generation);
        let connection =
            state.map(|generation| Connection::open(&self.socket, &self.notebook, Role::Kernel, generation));
        let Some(Ok(mut connection)) = connection else { return Vec::new() };
        connection.limit(Some(SUMMARY_LIMIT));
        let mut facts = vec![("rows".to_string(), rows.to_string())];
        let ends: &[&str] = if field.dtype.is_numeric() { &["min", "max", "mean"] } else { &["min", "max"] };
        for function in ["null_count", "n_unique"].iter().chain(ends) {
            let expr = |kind| Expr { kind, span: None };
            let value = expr(ExprKind::Column(column.to_string()));
            let args = vec![Arg { name: None, value }];
            let call = expr(ExprKind::Call { function: function.to_string(), args });
            match connection.ask(&Request::Value { frame, expr: call }) {
                Ok(Reply::Value { value, .. }) => {
                    let name = match *function {
                        "null_count" => "nulls",
                        "n_unique" => "distinct",
                        other => other,
                    };
                    facts.push((name.to_string(), onrush_view::value(&value)));
                }
                // Lists have no least one.
                Ok(_) => {}
                Err(_) => break,
            }
        }
        facts
    }
}

/// One request on the kernel's connection.
fn tell(state: &mut State, request: &Request) -> Delivery {
    let Some(connection) = &mut state.connection else { return Delivery::NoConnection };
    match connection.ask(request) {
        Ok(Reply::Failed(diagnostic)) => {
            log::line(format_args!("the session refused a request: {diagnostic}"));
            Delivery::Refused(diagnostic)
        }
        Ok(_) => Delivery::Done,
        Err(error) => {
            log::line(format_args!("the session's connection broke: {error}"));
            state.connection = None;
            Delivery::NoConnection
        }
    }
}

/// The status of a running session, and the name of its engine.
pub fn status(socket: &Path) -> Result<(Status, String), Diagnostic> {
    let observer = NotebookId("observer".into());
    let mut connection = Connection::open(socket, &observer, Role::Observer, Generation(0))?;
    match connection.ask(&Request::Status) {
        Ok(Reply::Status(status)) => Ok((status, connection.engine)),
        Ok(Reply::Failed(diagnostic)) => Err(diagnostic),
        Ok(_) => Err(unreachable_session(socket, "it gave an unexpected answer")),
        Err(error) => Err(unreachable_session(socket, &error.to_string())),
    }
}

/// All tasks of all notebooks. Starts no session.
pub fn all_tasks(socket: &Path) -> Result<Vec<Task>, Diagnostic> {
    let observer = NotebookId("observer".into());
    let mut connection = Connection::open(socket, &observer, Role::Observer, Generation(0))?;
    match connection.ask(&Request::Tasks) {
        Ok(Reply::Tasks(tasks)) => Ok(tasks),
        Ok(Reply::Failed(diagnostic)) => Err(diagnostic),
        Ok(_) => Err(unreachable_session(socket, "it gave an unexpected answer")),
        Err(error) => Err(unreachable_session(socket, &error.to_string())),
    }
}

/// The session's executable: next to this one, else from `PATH`.
pub fn executable() -> Result<PathBuf, Diagnostic> {
    const NAME: &str = "onrush-session";
    let beside = std::env::current_exe().ok().and_then(|exe| Some(exe.canonicalize().ok()?.parent()?.join(NAME)));
    if let Some(path) = beside.filter(|path| path.is_file()) {
        return Ok(path);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(NAME)).find(|path| path.is_file()).ok_or_else(|| {
        Diagnostic::error(
            Class::Environment,
            "no-session",
            "frames need the program `onrush-session`, which is neither next to `onrush` nor in PATH",
        )
        .help("build it with `cargo build -p onrush-session`, or install Onrush again")
        .note("cells without frames work")
    })
}

fn log_path(socket: &Path) -> PathBuf {
    socket.with_file_name("session.log")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;
    use std::sync::mpsc;

    use onrush_wire::session::{Hello, Welcome};
    use onrush_wire::{DataType, Field, FrameId, ObjectId, PROTOCOL, Schema};

    fn socket(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("onrush-{name}-{}.sock", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    fn task(state: TaskState, rows: u64) -> Task {
        Task {
            id: TaskId(1),
            notebook: NotebookId("n".into()),
            title: "read".into(),
            stage: String::new(),
            state,
            rows,
            total_rows: None,
            bytes: 0,
            total_bytes: None,
            elapsed_ms: 700,
            memory_bytes: 0,
            device_bytes: None,
            steps: None,
            detail: None,
        }
    }

    /// The end of a cell of this generation is refused.
    const REFUSED: Generation = Generation(99);

    /// A session that answers everything and notes down what it was told.
    fn fake(path: &Path) -> mpsc::Receiver<Request> {
        let listener = UnixListener::bind(path).unwrap();
        let (told, heard) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let told = told.clone();
                std::thread::spawn(move || -> Result<(), CodecError> {
                    let _: Hello = codec::read_message(&mut stream)?;
                    let welcome = Welcome::Accepted { protocol: PROTOCOL, pid: 7, engine: "cpu".into() };
                    codec::write_message(&mut stream, &welcome)?;
                    loop {
                        let request: Request = codec::read_message(&mut stream)?;
                        let _ = told.send(request.clone());
                        let field = Field { name: "dep_delay".into(), dtype: DataType::Int64, nullable: true };
                        let schema = Schema { fields: vec![field] };
                        match request {
                            Request::Names => {
                                let frame = NamedFrame {
                                    name: "flights".into(),
                                    frame: FrameId(1),
                                    schema,
                                    rows: None,
                                    held: None,
                                };
                                codec::write_message(
                                    &mut stream,
                                    &Reply::Names { own: vec![frame], published: vec![], models: vec![] },
                                )?;
                            }
                            Request::Subscribe => {
                                codec::write_message(&mut stream, &Event::Task(task(TaskState::Running, 5)))?;
                                let reason = "it was killed".to_string();
                                codec::write_message(&mut stream, &Event::EngineRestarted { reason })?;
                            }
                            Request::EndCell { generation: REFUSED, .. } => {
                                let refusal =
                                    Diagnostic::error(Class::Run, "rolled-back", "this process was rolled back");
                                codec::write_message(&mut stream, &Reply::Failed(refusal))?;
                            }
                            _ => codec::write_message(&mut stream, &Reply::Done)?,
                        }
                    }
                });
            }
        });
        heard
    }

    fn until(condition: impl Fn() -> bool) {
        let end = Instant::now() + Duration::from_secs(5);
        while !condition() {
            assert!(Instant::now() < end, "it did not happen within five seconds");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn without_a_session_nothing_fails_and_nothing_waits() {
        let session = Session::new(NotebookId("n".into()), socket("absent"));
        let begun = Instant::now();
        session.begin_cell(1, Generation(1)).unwrap();
        session.end_cell(Generation(1), CellEnd::RolledBack).unwrap();
        session.cancel();
        assert!(session.frames().is_empty() && session.pids().is_empty() && session.tasks().is_empty());
        assert!(begun.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_session_that_comes_in_the_middle_of_a_cell_hears_of_its_beginning() {
        let path = socket("late");
        let session = Session::new(NotebookId("n".into()), path.clone());
        session.begin_cell(3, Generation(2)).unwrap();
        let heard = fake(&path);
        session.ensure().unwrap();
        session.end_cell(Generation(2), CellEnd::RolledBack).unwrap();
        let told: Vec<Request> = heard.try_iter().filter(|r| !matches!(r, Request::Subscribe)).collect();
        assert_eq!(
            told,
            [
                Request::BeginCell { cell: 3, generation: Generation(2) },
                Request::EndCell { generation: Generation(2), end: CellEnd::RolledBack }
            ]
        );
    }

    #[test]
    fn tasks_notices_and_columns_come_from_the_session() {
        let path = socket("events");
        let _heard = fake(&path);
        let session = Session::new(NotebookId("n".into()), path);
        session.ensure().unwrap();
        let columns: Vec<Vec<String>> =
            session.frames().iter().map(|f| f.schema.names().map(str::to_string).collect()).collect();
        assert_eq!(columns, [["dep_delay"]]);
        until(|| !session.tasks().is_empty());
        assert_eq!(session.tasks(), [task(TaskState::Running, 5)]);
        session.forget_tasks();
        assert!(session.tasks().is_empty(), "a task of an earlier cell is not shown");
        until(|| !session.take_notices().is_empty());
    }

    #[test]
    fn an_end_that_the_session_refuses_or_does_not_hear_of_is_an_error_for_the_cell() {
        let path = socket("refuses");
        let session = Session::new(NotebookId("n".into()), path.clone());
        let end = |published| CellEnd::Committed {
            names: Vec::new(),
            released: Vec::new(),
            published,
            lineage: Generation(1),
        };
        // Something other than a session is at the socket.
        std::fs::write(&path, "").unwrap();
        let publishes = || end(vec![("shared".to_string(), ObjectId(1))]);
        assert_eq!(session.end_cell(Generation(1), end(Vec::new())), Ok(()));
        assert_eq!(session.end_cell(Generation(1), publishes()).unwrap_err().code, "no-session");
        std::fs::remove_file(&path).unwrap();
        let heard = fake(&path);
        session.ensure().unwrap();
        let told: Vec<Request> = heard.try_iter().filter(|r| matches!(r, Request::EndCell { .. })).collect();
        assert_eq!(told.len(), 2, "it hears of them when it answers");
        let refused = session.end_cell(REFUSED, publishes()).unwrap_err();
        assert_eq!(refused.code, "rolled-back");
        assert!(refused.notes[0].contains("its variables stay"), "{refused:?}");
    }

    #[test]
    fn a_broken_connection_is_opened_anew() {
        let path = socket("broken");
        let heard = fake(&path);
        let session = Session::new(NotebookId("n".into()), path);
        session.ensure().unwrap();
        if let Some(connection) = &session.state.lock().connection {
            connection.stream.shutdown(Shutdown::Both).unwrap();
        }
        session.begin_cell(1, Generation(1)).unwrap();
        session.end_cell(Generation(1), CellEnd::RolledBack).unwrap();
        let told: Vec<Request> = heard.try_iter().filter(|r| !matches!(r, Request::Subscribe)).collect();
        assert_eq!(told.len(), 2, "{told:?}");
    }
}
