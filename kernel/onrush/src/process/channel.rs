//! Messages to the kernel process and its answers, over the control socket.
//!
//! A message that is an output (a display) leaves a marker in the output pipe. The kernel process shows it between the
//! right pieces of text.

use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};

use onrush_wire::codec::{read_message, write_message};
use onrush_wire::control::Setting;
use onrush_wire::display::{Content, Display, Picture};
use onrush_wire::host::{FromHost, OutputHeader, ToHost};
use onrush_wire::{Class, Diagnostic};

use super::{CONTROL_FD, OUTPUT_FD};

/// Bytes in the output pipe that stand for one message on the control socket: an output header with a separate stream
/// number.
pub const MARKER: [u8; OutputHeader::LEN] = {
    let mut bytes = [0; OutputHeader::LEN];
    bytes[0] = OutputHeader::MARKER;
    bytes
};

static CHANNEL: Mutex<()> = Mutex::new(());

/// Whether a cell runs: the kernel process answers questions, and only the thread that asks reads the answers.
static ANSWERS: AtomicBool = AtomicBool::new(false);

/// Sends something on the control socket, of which no other thread's message gets into the middle.
pub fn send<T>(write: impl FnOnce(&mut UnixStream) -> T) -> T {
    let _guard = lock();
    write(&mut socket())
}

/// The same for the message with which a cell begins: from then on questions are answered.
pub fn send_begin<T>(write: impl FnOnce(&mut UnixStream) -> T) -> T {
    send(|socket| {
        ANSWERS.store(true, Ordering::Relaxed);
        write(socket)
    })
}

/// The same for the message with which a cell ends. A question that was asked before has its answer first. None is
/// asked after it, because the next message of the kernel process is for the main thread.
pub fn send_end<T>(write: impl FnOnce(&mut UnixStream) -> T) -> T {
    send(|socket| {
        ANSWERS.store(false, Ordering::Relaxed);
        write(socket)
    })
}

pub(super) fn lock() -> MutexGuard<'static, ()> {
    CHANNEL.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn connected() -> bool {
    super::context().is_some()
}

/// The control socket, without closing it at the end of the scope.
fn socket() -> ManuallyDrop<UnixStream> {
    // SAFETY: the host keeps CONTROL_FD open for its whole life, and ManuallyDrop leaves it open.
    ManuallyDrop::new(unsafe { UnixStream::from_raw_fd(CONTROL_FD) })
}

/// Sends a message that is an output: after the text that was written before it, before the text that comes after it.
pub fn output(message: &FromHost) {
    super::flush();
    let _guard = lock();
    // SAFETY: bytes of a constant; the pipe takes them in one piece.
    unsafe { libc::write(OUTPUT_FD, MARKER.as_ptr().cast(), MARKER.len()) };
    let _ = write_message(&mut *socket(), message);
}

/// Sends a question and waits for the answer. `None` between two cells, where a thread of an earlier cell may ask.
fn ask(question: &FromHost) -> Option<ToHost> {
    super::flush();
    let _guard = lock();
    // Under the lock: the main thread changes it there.
    if !ANSWERS.load(Ordering::Relaxed) {
        return None;
    }
    write_message(&mut *socket(), question).ok()?;
    read_message(&mut *socket()).ok()
}

/// Sends an output to the notebook. Outside a cell process it is printed as text.
pub fn display(display: Display) {
    if connected() {
        return output(&FromHost::Display(display));
    }
    match display.content {
        Content::Text(text) => println!("{text}"),
        Content::Mime(bundle) => {
            if let Some((_, text)) = bundle.iter().find(|(mime, _)| mime == "text/plain") {
                println!("{text}");
            }
        }
        Content::Table(table) | Content::Frame { preview: table, .. } => {
            println!("{}", table.columns.iter().map(|c| c.name.as_str()).collect::<Vec<_>>().join("\t"));
            for row in table.head.iter().chain(&table.tail) {
                println!("{}", row.iter().map(|v| format!("{v:?}")).collect::<Vec<_>>().join("\t"));
            }
        }
        Content::Plot(_) | Content::Raster { .. } => println!("[plot]"),
        Content::Graph(plot) | Content::GraphView { plot, .. } => {
            println!("[graph of {} nodes and {} edges]", plot.nodes, plot.edges);
        }
        Content::Dashboard { data, .. } => println!("[dashboard of {} rows]", data.rows),
        Content::Plan(text) => println!("{text}"),
        Content::Model(card) => println!("{}", card.title),
        Content::GraphCard(card) => println!("[graph of {} nodes and {} edges]", card.nodes, card.edges),
        // Nobody can set anything here.
        Content::Panel(_) => {}
    }
}

pub fn clear_output(wait: bool) {
    if connected() {
        output(&FromHost::ClearOutput { wait });
    }
}

/// Asks the user for a line; `None` if they interrupted, or if no cell runs. Outside a cell process it reads standard
/// input.
pub fn input(prompt: &str, password: bool) -> Option<String> {
    if !connected() {
        print!("{prompt}");
        super::flush();
        let mut line = String::new();
        return std::io::stdin().read_line(&mut line).ok().map(|_| line.trim_end_matches('\n').to_string());
    }
    match ask(&FromHost::Input { prompt: prompt.to_string(), password }) {
        Some(ToHost::InputReply(line)) => line,
        _ => None,
    }
}

fn answer(question: &FromHost) -> Result<(), Diagnostic> {
    if !connected() {
        return Err(Diagnostic::error(
            Class::Environment,
            "no-kernel",
            "this needs the Jupyter kernel, and this program runs outside of one",
        ));
    }
    match ask(question) {
        Some(ToHost::Answer(answer)) => answer,
        None if !ANSWERS.load(Ordering::Relaxed) => Err(Diagnostic::error(
            Class::Run,
            "no-cell",
            "a thread asks the kernel process for something between two cells, and is answered only while a cell runs",
        )),
        _ => Err(Diagnostic::error(Class::Internal, "channel", "the kernel process did not answer")),
    }
}

/// Has the kernel process draw and write a picture.
pub fn save_picture(picture: Picture, path: &str) -> Result<(), Diagnostic> {
    answer(&FromHost::SavePicture { picture, path: path.to_string() })?;
    super::crash_record::wrote(path.as_bytes());
    Ok(())
}

/// Has the kernel process start a session.
pub fn need_session() -> Result<(), Diagnostic> {
    answer(&FromHost::NeedSession)
}

/// Outputs from here on belong to the panel that is shown next.
pub fn capture() {
    if connected() {
        output(&FromHost::Capture);
    }
}

/// Tells the kernel process something other than output.
pub fn tell(message: &FromHost) {
    if connected() {
        let _guard = lock();
        let _ = write_message(&mut *socket(), message);
    }
}

/// The user's setting of a control. `None`: the kernel process does not know the control, or no cell runs.
pub fn read_control(id: &str) -> Option<Setting> {
    if !connected() {
        return None;
    }
    match ask(&FromHost::ReadControl { id: id.to_string() }) {
        Some(ToHost::ControlSetting(setting)) => setting,
        _ => None,
    }
}
