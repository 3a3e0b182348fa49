//! The input and output of an executor: its configuration, the events of a cell, and how it ended.

use std::path::PathBuf;
use std::sync::mpsc::Sender;
use std::time::Duration;

use onrush_wire::cluster::ClusterInfo;
use onrush_wire::control::{Control, Setting};
use onrush_wire::dashboard::Filter;
use onrush_wire::display::{Display, Picture};
use onrush_wire::host::Stream;
use onrush_wire::progress::Loop;
use onrush_wire::{Diagnostic, Generation, NotebookId, ObjectId};

/// The configuration of an executor. Everything that is `None` is found by the executor.
#[derive(Clone, Debug)]
pub struct Config {
    pub notebook: NotebookId,
    /// Working folder of the cell process: the notebook's folder.
    pub folder: PathBuf,
    /// Unix socket of the session.
    pub session_socket: PathBuf,
    /// Folder for compiled cells and the prelude; `paths::cache_dir()` if `None`.
    pub cache: Option<PathBuf>,
    /// The notebook itself, where locked versions are read; else what Jupyter says it is.
    pub file: Option<PathBuf>,
}

/// Events while a cell is compiled and run, in order. Sent on the channel given to [`crate::Executor::execute`].
#[derive(Debug)]
pub enum Event {
    Output {
        stream: Stream,
        text: String,
    },
    Display(Display),
    ClearOutput {
        wait: bool,
    },
    /// The cell waits for a line; `None` on `reply` interrupts it.
    Input {
        prompt: String,
        password: bool,
        reply: Sender<Option<String>>,
    },
    /// From here on outputs belong to the panel that is shown next.
    Capture,
    /// A control on the screen has become this.
    Control(Control),
    /// A dashboard has these filters now.
    Filter {
        id: String,
        filters: Vec<Filter>,
    },
    /// How far a loop of the cell is.
    Loop(Loop),
    /// The setting that a user has chosen; `None` if the control is on no screen.
    ReadControl {
        id: String,
        reply: Sender<Option<Setting>>,
    },
    /// All that the cell process held is gone: its variables, and what was to be done when controls change.
    Lost,
    /// Draw and write a picture now; the cell waits.
    SavePicture {
        picture: Picture,
        path: PathBuf,
        reply: Sender<Result<(), Diagnostic>>,
    },
    /// The cell process wants a session and none answers; start one.
    NeedSession {
        reply: Sender<Result<(), Diagnostic>>,
    },
    /// The cell's code starts in this generation: the session's `BeginCell` must be said before `reply` is answered.
    Begin {
        generation: Generation,
        /// An error: the session does not take the cell, and it does not run.
        reply: Sender<Result<(), Diagnostic>>,
    },
    /// A thread or a child process of an earlier cell has printed this.
    Late {
        cell: u64,
        stream: Stream,
        text: String,
    },
    /// Long work before the cell runs: `building the prelude for rustc 1.96`, with a fraction if it is known.
    Working {
        what: String,
        fraction: Option<f32>,
    },
    /// That work is over: a line of progress that stays under the cell.
    Worked(String),
    /// A warning of rustc or of ours that belongs under the cell.
    Warning(Diagnostic),
    /// Names that the cell reads, before it runs. After it the names that it made, too, and the cells that are stale
    /// now.
    Flow(Flow),
    /// The exception that ends a `%%python` cell, as Python describes it. The outcome follows.
    Raised {
        name: String,
        message: String,
        /// With ANSI colours.
        traceback: Vec<String>,
    },
    /// `%%time`: what the cell took.
    Timed(Times),
    /// `:engine`: describe the engine of the session, or choose another.
    Engine {
        choice: Option<String>,
        reply: Sender<Result<String, Diagnostic>>,
    },
    /// `:cluster`: ask the workers of a cluster.
    Cluster {
        address: String,
        reply: Sender<Result<ClusterInfo, Diagnostic>>,
    },
    /// `:top`: what the session is doing, and for whom.
    Top {
        reply: Sender<Result<String, Diagnostic>>,
    },
    /// `:vars`: frames of variables as the session knows them without work. Each has a name, a few words, and its bytes
    /// if it is in memory.
    Frames {
        reply: Sender<FramesOfVariables>,
    },
}

/// By name: a few words, and bytes.
pub type FramesOfVariables = Vec<(String, (String, Option<u64>))>;

/// How long a cell took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Splitting, generating and compiling, before the code ran.
    pub compile: Duration,
    /// Whether the compiled code was there already.
    pub from_cache: bool,
    pub wall: Duration,
    /// Processor time of the cell process, all threads.
    pub user: Duration,
    pub system: Duration,
}

/// How a cell ended.
#[derive(Debug)]
pub enum Outcome {
    Ok {
        generation: Generation,
        /// The code succeeded and what it made is there, but a command that came after it failed.
        complaint: Option<Diagnostic>,
        /// For the session's `EndCell`.
        objects: Vec<(String, ObjectId)>,
        released: Vec<ObjectId>,
        published: Vec<(String, ObjectId)>,
        lineage: Generation,
        /// A `return` that could keep nothing: the snapshot has taken over, and the session hears of a rollback.
        rolled_back: bool,
    },
    /// Nothing was changed, or the snapshot has taken over. `labels` are in the cell's own lines: their `file` is
    /// [`crate::executor::cell_file`] of the cell that holds the place.
    Failed { generation: Generation, diagnostics: Vec<Diagnostic>, ran: bool },
}

/// Stops the running cell from any thread.
pub trait Interrupt: Send + Sync {
    fn interrupt(&self);
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    Complete,
    Incomplete { indent: String },
    Invalid,
}

/// Positions are in Unicode code points of the cell text, as Jupyter counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    pub start: usize,
    pub end: usize,
    /// Best first.
    pub matches: Vec<Match>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The inserted text.
    pub text: String,
    /// `function`, `variable`, `method`, `field`, `column`, `keyword`, `type`, `trait`, `macro`, `module`, `constant`,
    /// `file`, …
    pub kind: &'static str,
    pub signature: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    pub found: bool,
    pub markdown: String,
}

impl Inspection {
    /// For consoles: the same without the marks.
    pub fn plain(&self) -> String {
        let is_rule = |line: &str| line.starts_with("```") || line.starts_with("|---") || line == "| | |";
        let cells = |line: &str| match line.strip_prefix("| ").and_then(|l| l.strip_suffix(" |")) {
            Some(cells) => cells.split(" | ").collect::<Vec<_>>().join("  "),
            None => line.to_string(),
        };
        self.markdown.lines().filter(|l| !is_rule(l)).map(cells).collect::<Vec<_>>().join("\n").trim().to_string()
    }
}

/// A stale cell: its outputs do not follow from the cells above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    pub cell: String,
    pub execution: u64,
    /// The reason, such as "used `x`, which `In [7]` has made again".
    pub why: String,
}

/// The effects of a run, for metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// A name and the execution number that made it.
    pub reads: Vec<(String, u64)>,
    pub writes: Vec<String>,
    /// All cells that are stale after the run.
    pub stale: Vec<Stale>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableInfo {
    pub name: String,
    /// As a user would write it: `HashMap<String, i32>`.
    pub type_name: String,
    pub mutable: bool,
    pub preview: Option<String>,
}
