//! Connections and time: who may speak, who listens, when the session ends.

use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onrush_wire::codec::CodecError;
use onrush_wire::session::{CellEnd, Event, Hello, Reply, Request, Role, Welcome};
use onrush_wire::{Class, Diagnostic, Generation, NotebookId, ObjectId, PROTOCOL, limits, paths};
use parking_lot::Mutex;

use super::catalog::Catalog;
use super::client::{self, GREETING_OF_CLIENTS};
use super::copies::Copies;
use super::engine_process::Link;
use super::state::State;
use crate::connection::{Incoming, Receiver, Room, Sender, split};
use crate::protocol::EngineRequest;

/// How often progress is reported and time-outs are looked at.
const TICK: Duration = Duration::from_millis(100);
/// A client that does not say who it is in this time is sent away.
pub(super) const GREETING: Duration = Duration::from_secs(10);
/// Of what it says then.
pub(super) const GREETING_BYTES: usize = 64 << 10;
/// A message that has begun is whole in this time, or its sender is sent away: the longest takes less than a second.
pub(super) const REST: Duration = Duration::from_secs(20);

pub(super) struct Supervisor {
    pub state: Mutex<State>,
    pub slot: Mutex<Slot>,
    /// Held while frames are rebuilt, so that two requests do not rebuild the same ones.
    pub rebuilding: Mutex<()>,
    pub copies: Copies,
    pub started: Instant,
    incoming: Incoming,
    idle: Duration,
}

/// The engine that runs now.
#[derive(Default)]
pub(super) struct Slot {
    pub link: Option<Arc<Link>>,
    pub starts: u32,
    /// The objects that it has.
    pub has: std::collections::HashSet<ObjectId>,
}

/// Who is at the other end of a connection.
#[derive(Clone, Debug)]
pub(super) struct Client {
    pub notebook: NotebookId,
    pub role: Role,
    pub generation: Generation,
}

impl Supervisor {
    pub fn new(idle: Duration) -> Self {
        let state = State {
            catalog: Catalog::of_a_new_session(),
            idle_since: Some(Instant::now()),
            parking_time: paths::parked(),
            ..Default::default()
        };
        Supervisor {
            state: Mutex::new(state),
            slot: Mutex::default(),
            rebuilding: Mutex::new(()),
            copies: Copies::default(),
            started: Instant::now(),
            incoming: Incoming::default(),
            idle,
        }
    }

    /// Ends the engine.
    pub fn end(&self) {
        if let Some(link) = self.slot.lock().link.take() {
            link.close();
        }
    }

    /// Lets the engine forget objects.
    pub fn release(&self, objects: Vec<ObjectId>) {
        if objects.is_empty() {
            return;
        }
        let mut slot = self.slot.lock();
        let there: Vec<ObjectId> = objects.into_iter().filter(|id| slot.has.remove(id)).collect();
        if let (Some(link), false) = (&slot.link, there.is_empty()) {
            link.tell(EngineRequest::Release(there));
        }
    }

    /// The engine, started if none runs.
    pub fn link(&self) -> Result<Arc<Link>, Diagnostic> {
        let (link, died) = {
            let mut slot = self.slot.lock();
            if let Some(link) = slot.link.as_ref().filter(|l| !l.is_dead()) {
                return Ok(Arc::clone(link));
            }
            let died = slot.link.take().map(|l| l.reason());
            slot.has.clear();
            let link = Link::start(slot.starts + 1).map_err(|e| {
                Diagnostic::error(
                    Class::Environment,
                    "no-engine",
                    format!("the session's engine could not be started: {e}"),
                )
            })?;
            slot.starts += 1;
            let link = Arc::new(link);
            slot.link = Some(Arc::clone(&link));
            (link, died)
        };
        if let Some(reason) = died {
            eprintln!("onrush-session: the engine died: {reason}; started another one");
            self.state.lock().tasks.broadcast(&Event::EngineRestarted { reason });
        }
        Ok(link)
    }

    /// What happens without anybody asking. True if the session ends.
    fn tick(&self) -> bool {
        let resident = self.slot.lock().link.as_ref().map_or(0, |link| link.resident_bytes());
        let crowded = resident > limits::session_memory() / 4 * 3;
        let (released, over) = {
            let mut state = self.state.lock();
            state.tasks.tick();
            let released = state.tick(crowded);
            let idle = state.attached == 0
                && (state.ending || state.idle_since.is_some_and(|since| since.elapsed() >= self.idle));
            state.ended |= idle;
            (released, state.ended)
        };
        self.release(released);
        over
    }
}

/// Serves until the session ends.
pub(super) fn run(supervisor: &Arc<Supervisor>, listener: &UnixListener) {
    // Starts the engine before the first cell needs it. A failure is reported to the first request that needs the
    // engine.
    let warm = Arc::clone(supervisor);
    spawn("warm", move || {
        let _ = warm.link();
    });
    let clock = Arc::clone(supervisor);
    let door = listener.try_clone();
    spawn("clock", move || {
        while !clock.tick() {
            std::thread::sleep(TICK);
        }
        // Wakes the loop below, also where somebody has removed the socket's folder.
        let _ = door.map(|door| rustix::net::shutdown(&door, rustix::net::Shutdown::Both));
    });
    for stream in listener.incoming() {
        if supervisor.state.lock().ended {
            return;
        }
        match stream {
            Ok(stream) => {
                let supervisor = Arc::clone(supervisor);
                spawn("client", move || supervisor.serve(stream));
            }
            // Out of descriptors or memory: others may close theirs.
            Err(_) => std::thread::sleep(TICK),
        }
    }
}

pub(super) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) {
    if let Err(error) = std::thread::Builder::new().name(name.to_string()).spawn(work) {
        eprintln!("onrush-session: no thread for `{name}`: {error}");
    }
}

/// The objects that a cell publishes.
fn published_by(request: &Request) -> Vec<ObjectId> {
    match request {
        Request::EndCell { end: CellEnd::Committed { published, .. }, .. } => {
            published.iter().map(|(_, id)| *id).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a connection begins with these bytes, which are then read. A message of the kernel's protocol begins with a
/// length, which is never as large.
fn begins_with(stream: &UnixStream, bytes: &[u8; 8]) -> bool {
    use rustix::net::{RecvFlags, recv};
    let begun = Instant::now();
    let mut found = [0; 8];
    loop {
        let got = recv(stream, &mut found[..], RecvFlags::PEEK).map_or(0, |(got, _)| got);
        if got == 0 || found[..got] != bytes[..got] || begun.elapsed() >= GREETING {
            return false;
        }
        if got == bytes.len() {
            return recv(stream, &mut found[..], RecvFlags::empty()).is_ok();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Supervisor {
    fn serve(self: &Arc<Self>, stream: UnixStream) {
        let own = rustix::process::getuid();
        let theirs = rustix::net::sockopt::socket_peercred(&stream).map(|c| c.uid);
        if theirs != Ok(own) {
            eprintln!("onrush-session: refused a connection of another user");
            return;
        }
        let _ = stream.set_read_timeout(Some(GREETING));
        if begins_with(&stream, GREETING_OF_CLIENTS) {
            return self.serve_client(&stream);
        }
        let Ok((mut sender, mut receiver)) = split(stream) else { return };
        let hello = receiver.receive_from_outside::<Hello>(Room::AtMost(GREETING_BYTES), GREETING);
        let Ok((hello, _)) = hello else { return };
        let client = match self.greet(&hello) {
            Ok(client) => client,
            Err(diagnostic) => {
                let _ = sender.send(&Welcome::Refused(diagnostic), None);
                return;
            }
        };
        // Who asked for another one refuses it at their end.
        let engine = self.link().ok().and_then(|link| link.engine()).unwrap_or_else(|| "cpu".to_string());
        let welcome = Welcome::Accepted { protocol: PROTOCOL, pid: std::process::id(), engine };
        let _ = receiver.stream().set_read_timeout(None);
        if sender.send(&welcome, None).is_ok() {
            self.converse(&client, &mut sender, &mut receiver);
        }
        self.state.lock().detach(&client.notebook, client.role);
    }

    fn greet(&self, hello: &Hello) -> Result<Client, Diagnostic> {
        if hello.protocol != PROTOCOL {
            return Err(Diagnostic::error(
                Class::Environment,
                "protocol",
                format!(
                    "the session speaks protocol {PROTOCOL}, this process {}: they are of different builds",
                    hello.protocol
                ),
            )
            .help("restart the kernels of all notebooks; the old session ends when the last one is closed"));
        }
        self.state.lock().attach(&hello.notebook, hello.role, hello.generation)?;
        Ok(Client { notebook: hello.notebook.clone(), role: hello.role, generation: hello.generation })
    }

    fn converse(self: &Arc<Self>, client: &Client, sender: &mut Sender, receiver: &mut Receiver) {
        loop {
            let received = receiver.receive_from_outside::<Request>(Room::Shared(&self.incoming), REST);
            let (request, descriptor) = match received {
                Ok(message) => message,
                Err(CodecError::Decode(_)) => {
                    let error =
                        Diagnostic::error(Class::Internal, "request", "the session does not understand this request");
                    let error = error.help("restart the kernel: it and the session are of different builds");
                    if sender.send(&Reply::Failed(error), None).is_err() {
                        return;
                    }
                    continue;
                }
                Err(_) => return,
            };
            if matches!(request, Request::Subscribe) {
                return self.events(client, sender);
            }
            let published = published_by(&request);
            let work = std::panic::AssertUnwindSafe(|| self.answer(client, request, descriptor, receiver.stream()));
            let (reply, descriptor) = std::panic::catch_unwind(work).unwrap_or_else(|_| {
                (Reply::Failed(Diagnostic::error(Class::Internal, "panic", "the session failed at this request")), None)
            });
            if !published.is_empty() {
                client::share_soon(self, published);
            }
            use std::os::fd::AsFd;
            let sent = sender.send(&reply, descriptor.as_ref().map(|d| d.as_fd()));
            let sent = match sent {
                Err(CodecError::TooLong(bytes)) => {
                    let error =
                        Diagnostic::error(Class::Resources, "too-long", format!("the answer has {bytes} bytes"));
                    sender.send(&Reply::Failed(error.help("ask for fewer rows or shorter strings")), None)
                }
                sent => sent,
            };
            if sent.is_err() {
                return;
            }
        }
    }

    /// Sends events until the client hangs up.
    fn events(&self, client: &Client, sender: &mut Sender) {
        let events = self.state.lock().tasks.subscribe(client.notebook.clone());
        loop {
            match events.recv_timeout(Duration::from_millis(500)) {
                Ok(event) => {
                    if sender.send(&event, None).is_err() {
                        return;
                    }
                }
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                    if crate::connection::is_closed(sender.stream()) {
                        return;
                    }
                }
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}
