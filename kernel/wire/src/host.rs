//! What the kernel process and a notebook's cell process say to each other over their socket pair.
//!
//! Standard output and error do not travel here but through the output pipe ([`OutputHeader`]).

use serde::{Deserialize, Serialize};

use crate::control::{Change, Control, Setting};
use crate::dashboard::Filter;
use crate::diagnostic::{Diagnostic, Span};
use crate::display::{Display, Picture};
use crate::progress::Loop;
use crate::{Generation, NotebookId, ObjectId};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ToHost {
    /// First message after the start and after a snapshot took over.
    Configure {
        notebook: NotebookId,
        generation: Generation,
        session_socket: String,
    },
    /// Take a snapshot, load the shared object and run its entry function.
    Run {
        cell: u64,
        library: String,
        entry: String,
    },
    /// As [`ToHost::Run`], but what runs is what the cells have left to be done when these controls change.
    React {
        cell: u64,
        change: Change,
    },
    /// These controls are on no screen any more: what was to be done when they change is forgotten.
    DropControls {
        ids: Vec<String>,
    },
    /// Answer to [`FromHost::ReadControl`]; `None` if the kernel process does not know the control.
    ControlSetting(Option<Setting>),
    /// Answer to [`FromHost::Input`]; `None` if the user interrupted.
    InputReply(Option<String>),
    /// Answer to [`FromHost::SavePicture`] and [`FromHost::NeedSession`].
    Answer(Result<(), Diagnostic>),
    /// As [`ToHost::Run`], but what runs is the end of these variables (`:clear`): all of them if the list is empty.
    Forget {
        cell: u64,
        names: Vec<String>,
    },
    /// What ran has succeeded and nobody stops it any more: its snapshot is not needed.
    Committed,
    Shutdown,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum FromHost {
    /// After [`ToHost::Configure`].
    Ready {
        pid: u32,
        generation: Generation,
        /// Of the runner, if this is a snapshot that took over.
        last: LastWords,
    },
    /// The snapshot sleeps; the cell's code starts now. `None`: no snapshot could be taken, with the reason.
    Started {
        snapshot_pid: Option<u32>,
        reason: Option<String>,
        /// Threads that earlier cells have started.
        threads: u32,
        /// Bytes of resident private memory of the process.
        held: u64,
    },
    Display(Display),
    ClearOutput {
        wait: bool,
    },
    /// From here on outputs are kept for the panel that is shown next: [`crate::display::Content::Panel`].
    Capture,
    /// A control that is on the screen has become this. Nothing happens if it is on no screen.
    Control(Control),
    /// A dashboard has these filters now. Nothing happens if it is on no screen.
    Filter {
        id: String,
        filters: Vec<Filter>,
    },
    /// How far a loop is.
    Loop(Loop),
    /// What a user has set. Answer: [`ToHost::ControlSetting`].
    ReadControl {
        id: String,
    },
    /// A line from the user. Answer: [`ToHost::InputReply`].
    Input {
        prompt: String,
        password: bool,
    },
    /// Draw a picture and write it; the format is the path's extension. Answer: [`ToHost::Answer`].
    SavePicture {
        picture: Picture,
        path: String,
    },
    /// No session answers at the socket: start one. Answer: [`ToHost::Answer`].
    NeedSession,
    /// The cell returned, with everything that the kernel process must know about it. The snapshot stays until
    /// [`ToHost::Committed`].
    Finished(FinishedRun),
}

/// What a cell's process noted down in memory that outlives it: its snapshot reads it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LastWords {
    /// Files that were opened for writing, as the cell named them.
    pub written: Vec<String>,
    /// Panics of the main thread, the oldest first.
    pub panics: Vec<LastPanic>,
    pub fault: Option<Fault>,
    /// Variables whose locks a gone thread held: they are open again.
    pub opened: Vec<String>,
    /// The calls that led to the fault, the innermost first: those in cells.
    pub calls: Vec<Address>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LastPanic {
    pub message: String,
    pub span: Option<Span>,
}

/// The fault that ended a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The main thread's stack is used up.
    Stack,
    /// The stack of another thread is.
    ThreadStack,
    /// An address that is not the process's own.
    Address(u64),
    /// Not of memory: the socket to the kernel process does not work any more.
    Channel,
    /// The main thread waits for something that only a thread could give that is gone since a cell failed.
    Abandoned,
    /// No fault of the code: another process (by its number) has sent the signal.
    Sent(u32),
    /// A signal that stands for no address: the process aborts, or runs into an instruction that cannot be executed.
    Signal,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinishedRun {
    /// An error ends in a rollback: the kernel process lets the snapshot take over.
    pub outcome: Result<(), Diagnostic>,
    /// All variables that live after the cell.
    pub variables: Vec<Variable>,
    /// Those that hold objects of the session.
    pub objects: Vec<(String, ObjectId)>,
    /// Handles of such objects that were dropped since the last success.
    pub released: Vec<ObjectId>,
    pub published: Vec<(String, ObjectId)>,
    /// How long the shared object took to load, and its entry function to run.
    pub load_micros: u64,
    pub run_micros: u64,
    /// The calls that led to the error, the innermost first; empty if nothing noted them down.
    pub calls: Vec<Address>,
}

/// A place in the code of a process: bytes from where a shared object was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    pub library: String,
    pub offset: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variable {
    pub name: String,
    /// As `std::any::type_name` spells it: may name private paths.
    pub type_name: String,
    /// A short preview for `:vars` and inspection, if the type can be shown cheaply.
    pub preview: Option<String>,
    pub bytes: u64,
}

/// In front of every piece of output in the output pipe: written with the piece in one `writev` of at most `PIPE_BUF`
/// bytes, so that pieces of several threads never mix and both streams keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputHeader {
    pub stream: Stream,
    pub length: u32,
    /// The cell that printed it, or that started the thread that did.
    pub cell: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    Stdout,
    Stderr,
}

impl OutputHeader {
    pub const LEN: usize = 13;
    /// First byte of a piece that stands for a message on the control socket; its other bytes are 0.
    pub const MARKER: u8 = 3;
    /// POSIX guarantees 512; Linux has 4096.
    pub const MAX_PIECE: usize = 4096 - Self::LEN;

    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let l = self.length.to_le_bytes();
        let stream = match self.stream {
            Stream::Stdout => 1,
            Stream::Stderr => 2,
        };
        let mut bytes = [stream, l[0], l[1], l[2], l[3], 0, 0, 0, 0, 0, 0, 0, 0];
        bytes[5..].copy_from_slice(&self.cell.to_le_bytes());
        bytes
    }

    /// `None` if the bytes are no header.
    pub fn from_bytes(bytes: [u8; Self::LEN]) -> Option<Self> {
        let stream = match bytes[0] {
            1 => Stream::Stdout,
            2 => Stream::Stderr,
            _ => return None,
        };
        let length = u32::from_le_bytes([bytes[1], bytes[2], bytes[3], bytes[4]]);
        let mut cell = [0; 8];
        cell.copy_from_slice(&bytes[5..]);
        let cell = u64::from_le_bytes(cell);
        (length as usize <= Self::MAX_PIECE).then_some(OutputHeader { stream, length, cell })
    }
}
