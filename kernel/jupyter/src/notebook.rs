//! One notebook's cells, without Jupyter: the executor, the session, and what a cell shows on the way. The Jupyter
//! front ([`crate::kernel`]) and `onrush run` ([`crate::run`]) both drive this and nothing below it.

pub mod completion;
mod executor_thread;
mod progress;
mod session_info;
mod stream_buffer;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use onrush_cell::{Config, Event, Flow, Origin, Outcome};
use onrush_view::Bundle;
use onrush_wire::control::{Change, Control, Panel, Setting};
use onrush_wire::dashboard::Filter;
use onrush_wire::display::{Content, Display, TablePreview};
use onrush_wire::host::Stream;
use onrush_wire::progress::TaskState;
use onrush_wire::session::CellEnd;
use onrush_wire::visual::{Drawing, VisualSpec};
use onrush_wire::{Class, Diagnostic, FrameId, Generation, Severity, paths};
use parking_lot::Mutex;

use crate::session::{self, Session};
use executor_thread::ExecutorThread;
use progress::Progress;
pub use session_info::TABLES;
use stream_buffer::Coalescer;

/// Numbers of cells that have no execution count (silent ones, user expressions) start here.
pub const HIDDEN: u64 = 1 << 32;

/// Between two looks at whether the session has been stopped.
const LOOK: Duration = Duration::from_secs(1);

/// One thing that a cell shows.
#[derive(Clone, Debug)]
pub enum Output {
    Stream {
        stream: Stream,
        text: String,
    },
    Display {
        data: Bundle,
        display_id: Option<String>,
        update: bool,
    },
    Result {
        data: Bundle,
        display_id: Option<String>,
    },
    /// Controls, and what stands below them.
    Panel {
        panel: Panel,
        outputs: Vec<Output>,
        is_result: bool,
    },
    Clear {
        wait: bool,
    },
    /// The line that says what is under way: each one replaces the one before, the last one stays. Blank: nothing
    /// stays.
    Progress {
        data: Bundle,
    },
}

/// An output of a thread or a child process that arrives when no cell runs.
pub enum Late {
    /// Text of the cell with this number.
    Text { cell: u64, stream: Stream, text: String },
    /// Nobody knows of which cell: that of the cell that was shown last.
    Output(Output),
    /// The same; it shows a frame of the session.
    Frame { frame: FrameId, preview: TablePreview, output: Output },
}

/// A failed cell, as Jupyter and nbformat describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct CellError {
    pub ename: String,
    pub evalue: String,
    /// With ANSI colours.
    pub traceback: Vec<String>,
}

/// A user's answer to a question of the cell.
pub enum Answer {
    Line(String),
    Interrupted,
    /// Nobody can be asked: the reason.
    Unavailable(String),
}

/// The receiver of a cell's outputs, which also answers its questions.
pub trait CellSink {
    fn output(&mut self, output: Output);
    /// The cell of the notebook, if the front end names it.
    fn origin(&self) -> Origin {
        Origin::default()
    }
    /// An output that comes next shows a frame of the session.
    fn shows(&mut self, _frame: FrameId, _preview: &TablePreview) {}
    /// An output that comes next shows a live picture. A raster is drawn again for each window.
    fn shows_visual(&mut self, _id: &str, _what: &VisualSpec, _is_raster: bool) {}
    /// Names that the cell reads, before it runs, and names that it has made, after that.
    fn flow(&mut self, _flow: Flow) {}
    /// The cell process has changed a control that is on the screen.
    fn control(&mut self, _control: Control) {}
    /// The cell process has set the filters of a dashboard.
    fn filter(&mut self, _id: &str, _filters: Vec<Filter>) {}
    /// The setting that a user has chosen.
    fn setting(&mut self, _id: &str) -> Option<Setting> {
        None
    }
    /// A thread or a child process of an earlier cell has printed this.
    fn late(&mut self, _cell: u64, stream: Stream, text: String) {
        self.output(Output::Stream { stream, text });
    }
    /// The cell process has forgotten everything.
    fn lost(&mut self) {}
    /// `interrupted` becomes true when the question is moot.
    fn input(&mut self, prompt: &str, password: bool, interrupted: &dyn Fn() -> bool) -> Answer;
}

/// See the module. Shared between the thread that runs cells and those that answer meanwhile.
pub struct Notebook {
    pub folder: PathBuf,
    pub session: Arc<Session>,
    worker: ExecutorThread,
    sources: Mutex<HashMap<u64, String>>,
    running: AtomicBool,
    interrupted: AtomicBool,
    /// Requests for completion and inspection.
    turns: AtomicU64,
}

impl Notebook {
    /// Starts the executor, and the session if `warm`, in the background; returns at once.
    pub fn open(folder: PathBuf, file: Option<PathBuf>, warm: bool) -> Arc<Notebook> {
        // Jupyter's server says which notebook it is.
        let named = file.clone().or_else(|| std::env::var_os("JPY_SESSION_NAME").map(PathBuf::from));
        let id = session_info::notebook_id(named.as_deref());
        let socket = paths::session_socket();
        let session = Session::new(id.clone(), socket.clone());
        let config = Config { notebook: id, folder: folder.clone(), session_socket: socket, cache: None, file };
        let notebook = Arc::new(Notebook {
            folder,
            session: Arc::clone(&session),
            worker: ExecutorThread::spawn(config),
            sources: Mutex::new(HashMap::new()),
            running: AtomicBool::new(false),
            interrupted: AtomicBool::new(false),
            turns: AtomicU64::new(1),
        });
        if warm {
            let _ = std::thread::Builder::new().name("session start".into()).spawn(move || {
                if let Err(diagnostic) = session.ensure() {
                    crate::log::line(format_args!("no session yet: {diagnostic}"));
                }
            });
        }
        notebook
    }

    /// Stops the running cell from any thread; does nothing between cells. If the cell waits for a search of parameters
    /// that has complete trials, the search ends instead. The cell goes on with the best of them.
    pub fn interrupt(&self) {
        if self.running.load(Ordering::Acquire) && !self.session.stop_searches() {
            self.interrupt_cell();
        }
    }

    /// The same, whatever the cell waits for.
    pub fn interrupt_cell(&self) {
        if !self.running.load(Ordering::Acquire) {
            return;
        }
        self.interrupted.store(true, Ordering::Release);
        self.session.interrupt();
        self.worker.interrupt();
        let session = Arc::clone(&self.session);
        let _ = std::thread::Builder::new().name("session cancel".into()).spawn(move || session.cancel());
    }

    /// Output of threads and child processes of earlier cells that arrives between two cells is passed to `show` from
    /// here on, on a separate thread.
    pub fn show_late_output(&self, show: impl Fn(Late) + Send + 'static) {
        let (events, received) = mpsc::channel();
        self.worker.pass_late_output_to(events);
        let _ = std::thread::Builder::new().name("late output".into()).spawn(move || {
            while let Ok(event) = received.recv() {
                match event {
                    Event::Late { cell, stream, text } => show(Late::Text { cell, stream, text }),
                    Event::Display(Display { content: Content::Panel(panel), .. }) => {
                        let data = panel_bundle(&panel, &[]);
                        show(Late::Output(Output::Display { data, display_id: None, update: false }));
                    }
                    Event::Display(display) => {
                        let frame = match &display.content {
                            Content::Frame { frame, preview } => Some((*frame, preview.clone())),
                            _ => None,
                        };
                        let output = output_of(Display { is_result: false, ..display });
                        match frame {
                            Some((frame, preview)) => show(Late::Frame { frame, preview, output }),
                            None => show(Late::Output(output)),
                        }
                    }
                    Event::ClearOutput { wait } => show(Late::Output(Output::Clear { wait })),
                    // Nothing collects outputs for a panel between two cells: they are shown as they come.
                    _ => {}
                }
            }
        });
    }

    /// Version of rustc, once it is known.
    pub fn rustc_version(&self) -> Option<String> {
        self.worker.rustc_version()
    }

    /// Ends the cell process; a running cell is stopped first.
    pub fn shutdown(&self) {
        self.interrupt_cell();
        self.worker.stop(Duration::from_secs(3));
        self.session.close();
    }

    /// Runs one cell to its end. `number` is its execution count, or [`HIDDEN`] and above. Everything that the cell
    /// shows has been given to `sink` when this returns; the error has not.
    pub fn run_cell(&self, number: u64, text: &str, sink: &mut dyn CellSink) -> Result<(), CellError> {
        self.sources.lock().insert(number, text.to_string());
        self.run(number, Work::Cell(text), sink)
    }

    /// Runs the callbacks of changed controls, as a cell is run. `number` is [`HIDDEN`] or above; `dropped`: controls
    /// that are on no screen any more.
    pub fn run_callbacks(
        &self,
        number: u64,
        change: Change,
        dropped: Vec<String>,
        sink: &mut dyn CellSink,
    ) -> Result<(), CellError> {
        self.run(number, Work::React(change, dropped), sink)
    }

    fn run(&self, number: u64, work: Work<'_>, sink: &mut dyn CellSink) -> Result<(), CellError> {
        self.interrupted.store(false, Ordering::Release);
        self.session.go_on();
        self.running.store(true, Ordering::Release);
        self.session.forget_tasks();
        let mut run = Run {
            notebook: self,
            cell: number,
            sink,
            streams: Coalescer::new(),
            progress: Progress::new(),
            started: Instant::now(),
            session_time: None,
            refusal: None,
            begun: None,
            captures: Vec::new(),
            stopped_session: false,
            raised: None,
        };
        let result = run.whole(work);
        let raised = run.raised.take();
        self.running.store(false, Ordering::Release);
        result.map_err(|diagnostics| raised.unwrap_or_else(|| self.cell_error(&diagnostics)))
    }

    /// All diagnostics of a failed cell as one error.
    fn cell_error(&self, diagnostics: &[Diagnostic]) -> CellError {
        let first = diagnostics.iter().find(|d| d.severity == Severity::Error).or_else(|| diagnostics.first());
        let mut traceback: Vec<String> = Vec::new();
        for (index, diagnostic) in diagnostics.iter().enumerate() {
            if index > 0 {
                traceback.push(String::new());
            }
            traceback.extend(self.describe(diagnostic));
        }
        match first {
            None => CellError {
                ename: "failed".into(),
                evalue: "the cell failed and gave no reason".into(),
                traceback: vec!["the cell failed and gave no reason".into()],
            },
            Some(first) => CellError { ename: first.code.clone(), evalue: on_lines(&first.message), traceback },
        }
    }

    /// A diagnostic as lines with ANSI colours.
    fn describe(&self, diagnostic: &Diagnostic) -> Vec<String> {
        let sources = self.sources.lock();
        let source = |file: &str| cell_number(file).and_then(|cell| sources.get(&cell).cloned());
        let lines = onrush_view::diagnostic(diagnostic, &source, &title, true);
        if lines.is_empty() { diagnostic.to_string().lines().map(str::to_string).collect() } else { lines }
    }
}

/// Text that may quote data: without anything that a terminal obeys, in as many lines as before.
fn on_lines(text: &str) -> String {
    text.split('\n').map(onrush_view::plain).collect::<Vec<_>>().join("\n")
}

/// `cell_3.rs` is cell 3.
fn cell_number(file: &str) -> Option<u64> {
    file.rsplit('/').next()?.strip_prefix("cell_")?.strip_suffix(".rs")?.parse().ok()
}

/// The name of a source file for the user: `In [3]`.
fn title(file: &str) -> String {
    match cell_number(file) {
        Some(cell) if cell < HIDDEN => format!("In [{cell}]"),
        Some(_) => "In [ ]".to_string(),
        None => file.to_string(),
    }
}

/// One cell under way.
struct Run<'a> {
    notebook: &'a Notebook,
    cell: u64,
    sink: &'a mut dyn CellSink,
    streams: Coalescer,
    progress: Progress,
    started: Instant,
    /// Processor time of the session when a cell of `%%time` began.
    session_time: Option<Duration>,
    /// Why a question of the cell could not be asked: it replaces the interruption that follows from it.
    refusal: Option<String>,
    /// The generation in which the cell's code runs.
    begun: Option<Generation>,
    /// Outputs that wait for the panel that they belong to.
    captures: Vec<Vec<Output>>,
    /// It was said that the session's process is stopped.
    stopped_session: bool,
    /// The exception that ends a `%%python` cell, in Python's words.
    raised: Option<CellError>,
}

/// A cell, or callbacks of controls.
enum Work<'a> {
    Cell(&'a str),
    React(Change, Vec<String>),
}

impl Run<'_> {
    fn whole(&mut self, work: Work<'_>) -> Result<(), Vec<Diagnostic>> {
        let ready = self.wait_for_executor();
        let answered = |text| ready.as_ref().ok().and_then(|()| self.notebook.answer(text));
        let answer = if let Work::Cell(text) = work { answered(text) } else { None };
        let result = ready.and_then(|()| match answer {
            Some(answer) => {
                let data = answer.map_err(|diagnostic| vec![diagnostic])?;
                self.show(Output::Display { data, display_id: None, update: false });
                Ok(())
            }
            None => self.execute(work),
        });
        self.flush();
        // A panel that never came: what was kept for it is shown as it is.
        for output in std::mem::take(&mut self.captures).into_iter().flatten() {
            self.sink.output(output);
        }
        let interrupted = self.interrupted();
        let ended_as = match &result {
            Ok(()) => TaskState::Done,
            // A query that was stopped alone ends the cell too; its own last event may still be under way.
            Err(diagnostics) if interrupted || diagnostics.iter().any(|d| d.class == Class::Interrupted) => {
                TaskState::Cancelled
            }
            Err(_) => TaskState::Failed,
        };
        self.progress.finish(&self.notebook.session, ended_as, self.sink);
        for notice in self.notebook.session.take_notices() {
            self.show(Output::Stream { stream: Stream::Stderr, text: format!("note: {notice}\n") });
        }
        if self.refusal.is_some() {
            self.raised = None;
        }
        match (result, self.refusal.take()) {
            (Err(_), Some(why)) => Err(vec![
                Diagnostic::error(Class::Run, "no-input", format!("the cell asks for input, and {why}"))
                    .help("run the cell in a notebook, or put the value into the cell"),
            ]),
            (Err(diagnostics), None) if diagnostics.is_empty() && interrupted => Err(vec![interrupted_diagnostic()]),
            (result, _) => result,
        }
    }

    fn interrupted(&self) -> bool {
        self.notebook.interrupted.load(Ordering::Acquire)
    }

    /// The first cell waits until the prelude is built and the cell process runs.
    fn wait_for_executor(&mut self) -> Result<(), Vec<Diagnostic>> {
        loop {
            match self.notebook.worker.wait(Duration::from_millis(50)) {
                executor_thread::Readiness::Ready => {
                    self.progress.working_done(self.sink);
                    return Ok(());
                }
                executor_thread::Readiness::Failed(diagnostic) => {
                    self.progress.working_done(self.sink);
                    return Err(vec![diagnostic]);
                }
                executor_thread::Readiness::Starting(working) => {
                    if let Some((what, fraction)) = working {
                        self.progress.working(&what, fraction);
                    }
                    self.progress.tick(self.started, &self.notebook.session, self.sink);
                }
            }
            if self.interrupted() {
                self.progress.working_done(self.sink);
                return Err(vec![interrupted_diagnostic()]);
            }
        }
    }

    fn execute(&mut self, work: Work<'_>) -> Result<(), Vec<Diagnostic>> {
        let (sender, events) = mpsc::channel();
        let worker = &self.notebook.worker;
        let ticket = match work {
            Work::Cell(text) => {
                if text.contains("%%time") {
                    self.session_time = Some(session_info::processor_time(&self.notebook.session.pids()));
                }
                worker.execute(self.cell, text, self.sink.origin(), sender)
            }
            Work::React(change, dropped) => worker.run_callbacks(self.cell, change, dropped, sender),
        };
        let outcome = self.pump(&events, &ticket);
        self.flush();
        let (newest, end, mut result) = match outcome {
            Outcome::Ok { generation, complaint, objects, released, published, lineage, rolled_back } => {
                let result = complaint.map_or(Ok(()), |diagnostic| Err(vec![diagnostic]));
                // A command after the code has begun with the generation that took over: that one is not rolled back.
                let end = match rolled_back && self.begun.is_some_and(|begun| begun < generation) {
                    true => CellEnd::RolledBack,
                    false => CellEnd::Committed { names: objects, released, published, lineage },
                };
                (generation, end, result)
            }
            // After a rollback the executor names the generation that has taken over.
            Outcome::Failed { generation, mut diagnostics, ran } => {
                if !ran && let Some(last) = diagnostics.last_mut().filter(|last| last.class == Class::Compile) {
                    last.notes
                        .push("the cell did not compile: nothing of it ran, and all variables are as they were".into());
                }
                (generation, CellEnd::RolledBack, Err(diagnostics))
            }
        };
        // A cell without code to run has no beginning and no end.
        if let Some(begun) = self.begun.take() {
            let ended = self.notebook.session.end_cell(begun, end);
            if let (Ok(()), Err(refused)) = (&result, ended) {
                result = Err(vec![refused]);
            }
        }
        self.notebook.session.set_generation(newest);
        result
    }

    /// Handles events until the executor has returned and every event sent before that is handled.
    fn pump(&mut self, events: &Receiver<Event>, ticket: &executor_thread::Ticket) -> Outcome {
        let mut look = Instant::now() + LOOK;
        loop {
            let now = Instant::now();
            let wait = self.streams.due(now).unwrap_or(LOOK).min(self.progress.due(now)).min(LOOK);
            match events.recv_timeout(wait) {
                Ok(event) => self.event(event),
                Err(RecvTimeoutError::Timeout) => {}
                // The worker sends a last, empty piece of output after the outcome, so this is a dead worker.
                Err(RecvTimeoutError::Disconnected) => {
                    return ticket.outcome().unwrap_or_else(executor_thread::lost);
                }
            }
            let now = Instant::now();
            for (stream, text) in self.streams.take_due(now) {
                self.show(Output::Stream { stream, text });
            }
            if let Some(outcome) = ticket.outcome() {
                while let Ok(event) = events.try_recv() {
                    self.event(event);
                }
                return outcome;
            }
            self.progress.tick(self.started, &self.notebook.session, self.sink);
            if now > look {
                look = now + LOOK;
                self.look_at_session();
            }
        }
    }

    /// Says once if the session, for which the cell may wait, has been stopped.
    fn look_at_session(&mut self) {
        if !self.stopped_session
            && let Some(why) = session::stopped()
        {
            self.stopped_session = true;
            let text = format!("note: the session does not answer: {why}; an interrupt ends the cell\n");
            self.flush();
            self.show(Output::Stream { stream: Stream::Stderr, text });
        }
    }

    /// Passes on an output of the cell.
    fn show(&mut self, output: Output) {
        let Some(kept) = self.captures.last_mut() else { return self.sink.output(output) };
        if let Output::Display { data, display_id: Some(id), update: true } = &output {
            let is_it = |old: &&mut Output| matches!(old, Output::Display { display_id: Some(of), .. } if of == id);
            match kept.iter_mut().find(is_it) {
                Some(Output::Display { data: old, .. }) => *old = data.clone(),
                _ => self.sink.output(output),
            }
            return;
        }
        kept.push(output);
    }

    fn flush(&mut self) {
        for (stream, text) in self.streams.take_all() {
            self.show(Output::Stream { stream, text });
        }
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Output { stream, text } => {
                for (stream, text) in self.streams.push(stream, text, Instant::now()) {
                    self.show(Output::Stream { stream, text });
                }
            }
            Event::Late { cell, stream, text } => {
                self.flush();
                self.sink.late(cell, stream, text);
            }
            Event::Display(display) => {
                self.flush();
                if let Content::Frame { frame, preview } = &display.content {
                    self.sink.shows(*frame, preview);
                }
                if let Content::GraphView { id, request, plot } = &display.content {
                    let is_raster = matches!(plot.drawing, Drawing::Raster(_));
                    self.sink.shows_visual(id, &VisualSpec::Graph(request.clone()), is_raster);
                }
                if let Content::Raster { id, request, .. } = &display.content {
                    self.sink.shows_visual(id, &VisualSpec::Raster(request.clone()), true);
                }
                if let Content::Dashboard { id, request, filters, .. } = &display.content {
                    self.sink.shows_visual(id, &VisualSpec::Dashboard(request.clone()), true);
                    self.sink.filter(id, filters.clone());
                }
                let output = match display.content {
                    Content::Panel(panel) => {
                        let outputs = if panel.captured { self.captures.pop().unwrap_or_default() } else { Vec::new() };
                        Output::Panel { panel, outputs, is_result: display.is_result }
                    }
                    _ => output_of(display),
                };
                self.show(output);
            }
            Event::ClearOutput { wait } => {
                self.flush();
                match self.captures.last_mut() {
                    Some(kept) => kept.clear(),
                    None => self.sink.output(Output::Clear { wait }),
                }
            }
            Event::Capture => {
                self.flush();
                self.captures.push(Vec::new());
            }
            Event::Control(control) => self.sink.control(control),
            Event::Filter { id, filters } => self.sink.filter(&id, filters),
            Event::Loop(one) => self.progress.looping(one),
            Event::ReadControl { id, reply } => drop(reply.send(self.sink.setting(&id))),
            Event::Lost => self.sink.lost(),
            Event::Input { prompt, password, reply } => {
                self.flush();
                let interrupted = || self.notebook.interrupted.load(Ordering::Acquire);
                let line = match self.sink.input(&prompt, password, &interrupted) {
                    Answer::Line(line) => Some(line),
                    Answer::Interrupted => None,
                    Answer::Unavailable(why) => {
                        self.refusal = Some(why);
                        None
                    }
                };
                let _ = reply.send(line);
            }
            Event::SavePicture { picture, path, reply } => {
                let path = self.notebook.folder.join(path);
                let _ = reply.send(onrush_view::save(&picture, &path, onrush_web::page_script()));
            }
            Event::NeedSession { reply } => {
                // Starting one takes a moment; the interrupt button and the progress line work meanwhile.
                let session = Arc::clone(&self.notebook.session);
                std::thread::spawn(move || reply.send(session.ensure()));
            }
            Event::Begin { generation, reply } => {
                self.progress.working_done(self.sink);
                self.begun = Some(generation);
                let begun = self.notebook.session.begin_cell(self.cell, generation);
                if let Ok(Some(notice)) = &begun {
                    self.stopped_session = true;
                    self.show(Output::Stream { stream: Stream::Stderr, text: format!("note: {notice}\n") });
                }
                if self.interrupted() {
                    // It came before the executor had taken the cell up, and did nothing then.
                    self.notebook.worker.interrupt();
                }
                let _ = reply.send(begun.map(drop));
            }
            Event::Working { what, fraction } => self.progress.working(&what, fraction),
            Event::Worked(line) => self.progress.worked(line, self.sink),
            Event::Flow(flow) => self.sink.flow(flow),
            Event::Raised { name, message, traceback } => {
                self.raised = Some(CellError { ename: name, evalue: on_lines(&message), traceback });
            }
            Event::Timed(times) => {
                let session = self
                    .session_time
                    .map(|begun| session_info::processor_time(&self.notebook.session.pids()).saturating_sub(begun));
                self.flush();
                let text = session_info::times(&times, session);
                self.show(Output::Stream { stream: Stream::Stdout, text });
            }
            Event::Engine { choice, reply } => {
                let _ = reply.send(session_info::engine(choice.as_deref(), &self.notebook.session));
            }
            Event::Top { reply } => {
                let _ = reply.send(session_info::top(self.notebook.session.notebook()));
            }
            Event::Cluster { address, reply } => {
                let _ = reply.send(self.notebook.session.cluster(&address));
            }
            Event::Frames { reply } => {
                let (frames, models) = self.notebook.session.own_objects();
                let shown = frames.iter().map(|frame| (frame.name.clone(), session_info::frame(frame)));
                let models = models.into_iter().map(|model| (model.name, (model.title, model.bytes)));
                let _ = reply.send(shown.chain(models).collect());
            }
            Event::Warning(diagnostic) => {
                self.flush();
                let mut text = self.notebook.describe(&diagnostic).join("\n");
                text.push('\n');
                self.show(Output::Stream { stream: Stream::Stderr, text });
            }
        }
    }
}

/// An output with no front end, as data.
pub fn as_bundle(output: &Output) -> Option<Bundle> {
    match output {
        Output::Stream { text, .. } => {
            Some(Bundle::from_iter([("text/plain".to_string(), serde_json::Value::from(text.as_str()))]))
        }
        Output::Display { data, update: false, .. } | Output::Result { data, .. } => Some(data.clone()),
        Output::Panel { panel, outputs, .. } => Some(panel_bundle(panel, outputs)),
        Output::Display { .. } | Output::Clear { .. } | Output::Progress { .. } => None,
    }
}

/// Controls with what stands below them, where nobody can move them.
pub fn panel_bundle(panel: &Panel, outputs: &[Output]) -> Bundle {
    let outputs: Vec<Bundle> = outputs.iter().filter_map(as_bundle).collect();
    onrush_view::panel(panel, &outputs)
}

fn output_of(display: Display) -> Output {
    let Display { content, display_id, update, is_result } = display;
    let data = onrush_view::bundle(&content);
    if is_result && !update {
        Output::Result { data, display_id }
    } else {
        Output::Display { data, display_id, update }
    }
}

fn interrupted_diagnostic() -> Diagnostic {
    let message = "the cell was interrupted, and all variables are as they were before it";
    Diagnostic::error(Class::Interrupted, "interrupted", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_cells_have_the_prompt_as_their_title() {
        assert_eq!(title("cell_3.rs"), "In [3]");
        assert_eq!(title("/tmp/x/cell_12.rs"), "In [12]");
        assert_eq!(title(&format!("cell_{}.rs", HIDDEN + 1)), "In [ ]");
        assert_eq!(title("library.rs"), "library.rs");
    }
}
