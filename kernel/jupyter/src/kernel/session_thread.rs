//! A thread with a separate connection to the session: a question of one lane does not wait for the answers of another.
//! The connection is an observer's, under a separate name: a cell's interrupt does not stop it, and its work does not
//! count as the cell's.

use std::fs::File;
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};

use onrush_wire::explore::{Explore, ExploreReply, View};
use onrush_wire::session::{Reply, Request, Role};
use onrush_wire::visual::{Section, VisualAsk, VisualHead, VisualSpec};
use onrush_wire::{Class, Diagnostic, Generation, NotebookId};
use parking_lot::Mutex;

use crate::session::Connection;

type Job = Box<dyn FnOnce(&mut SessionClient) + Send>;

/// The sending end. The thread ends with it.
pub struct SessionThread {
    jobs: mpsc::Sender<Job>,
    stream: Arc<Mutex<Option<UnixStream>>>,
}

/// How jobs ask.
pub struct SessionClient {
    socket: PathBuf,
    notebook: NotebookId,
    connection: Option<Connection>,
    stream: Arc<Mutex<Option<UnixStream>>>,
}

impl SessionThread {
    pub fn start(name: &str, socket: PathBuf, notebook: NotebookId) -> std::io::Result<SessionThread> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let stream = Arc::new(Mutex::new(None));
        let mut client = SessionClient { socket, notebook, connection: None, stream: Arc::clone(&stream) };
        std::thread::Builder::new().name(name.to_string()).spawn(move || {
            while let Ok(job) = inbox.recv() {
                job(&mut client);
            }
        })?;
        Ok(SessionThread { jobs, stream })
    }

    pub fn push(&self, job: impl FnOnce(&mut SessionClient) + Send + 'static) {
        let _ = self.jobs.send(Box::new(job));
    }

    /// Stops what the session does for the lane's job, if it does anything.
    pub fn stop(&self) {
        if let Some(stream) = self.stream.lock().take() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

impl SessionClient {
    pub fn ask(&mut self, view: &View, what: Explore) -> Result<ExploreReply, Diagnostic> {
        match self.request(&Request::Explore { view: view.clone(), what })? {
            (Reply::Explored(explored), _) => Ok(explored),
            (other, _) => Err(unexpected("explore", &other)),
        }
    }

    /// A request of a live picture, with the memory of the sections.
    pub fn ask_visual(
        &mut self,
        what: VisualSpec,
        ask: VisualAsk,
    ) -> Result<(VisualHead, Vec<Section>, Vec<u8>), Diagnostic> {
        match self.request(&Request::Visual { what, ask })? {
            (Reply::Visual { head, sections, inline: Some(memory) }, _) => Ok((head, sections, memory)),
            (Reply::Visual { head, sections, inline: None }, memory) => {
                let memory = memory.map_or(Ok(Vec::new()), read).map_err(|e| {
                    Diagnostic::error(Class::Internal, "shared-memory", "the session's picture could not be read")
                        .note(e.to_string())
                })?;
                Ok((head, sections, memory))
            }
            (other, _) => Err(unexpected("visual", &other)),
        }
    }

    fn request(&mut self, request: &Request) -> Result<(Reply, Option<OwnedFd>), Diagnostic> {
        // A connection that was left open may have died with its session.
        let fresh = self.connection.is_none();
        match self.try_ask(request) {
            Err(None) if !fresh => self.try_ask(request).map_err(|error| error.unwrap_or_else(stopped)),
            result => result.map_err(|error| error.unwrap_or_else(stopped)),
        }
    }

    /// `None` as the error: the connection broke, by itself or because it was stopped.
    fn try_ask(&mut self, request: &Request) -> Result<(Reply, Option<OwnedFd>), Option<Diagnostic>> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut connection =
                    Connection::open(&self.socket, &self.notebook, Role::Observer, Generation(0)).map_err(Some)?;
                connection.wait_as_long_as_it_takes();
                connection
            }
        };
        *self.stream.lock() = connection.closer();
        let answer = connection.ask_with_memory(request);
        let stopped = self.stream.lock().take().is_none();
        match answer {
            Ok(reply) => {
                if !stopped {
                    self.connection = Some(connection);
                }
                match reply {
                    (Reply::Failed(diagnostic), _) => Err(Some(diagnostic)),
                    reply => Ok(reply),
                }
            }
            Err(_) if stopped => Err(Some(self::stopped())),
            Err(_) => Err(None),
        }
    }
}

fn unexpected(code: &str, reply: &Reply) -> Diagnostic {
    Diagnostic::error(Class::Internal, code, format!("the session answered with {reply:?}"))
}

/// Most bytes that a picture has.
const MEMORY: u64 = 256 << 20;

fn read(memory: OwnedFd) -> std::io::Result<Vec<u8>> {
    let file = File::from(memory);
    let length = file.metadata()?.len();
    if length > MEMORY {
        return Err(std::io::Error::other(format!("{length} bytes, at most {MEMORY} are expected")));
    }
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

fn stopped() -> Diagnostic {
    Diagnostic::error(Class::Interrupted, "stopped", "stopped: something else was asked for")
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use onrush_wire::FrameId;
    use onrush_wire::codec;
    use onrush_wire::graph::GraphSpec;
    use onrush_wire::plot::PlotStyle;
    use onrush_wire::session::{Hello, Welcome};
    use onrush_wire::visual::{GraphPlotRequest, Positions};

    use super::*;

    /// A session that answers every request with `Done`.
    fn serve(listener: &UnixListener) {
        let (mut stream, _) = listener.accept().unwrap();
        let _: Hello = codec::read_message(&mut stream).unwrap();
        let (protocol, pid) = (onrush_wire::PROTOCOL, std::process::id());
        codec::write_message(&mut stream, &Welcome::Accepted { protocol, pid, engine: "test".to_string() }).unwrap();
        while codec::read_message::<Request>(&mut stream).is_ok() {
            codec::write_message(&mut stream, &Reply::Done).unwrap();
        }
    }

    #[test]
    fn an_unexpected_reply_has_the_code_of_its_request() {
        let socket = std::env::temp_dir().join(format!("onrush-lane-{}.sock", std::process::id()));
        let listener = UnixListener::bind(&socket).unwrap();
        let server = std::thread::spawn(move || serve(&listener));
        let notebook = NotebookId("test".to_string());
        let mut client = SessionClient { socket: socket.clone(), notebook, connection: None, stream: Arc::default() };
        let view = View { frame: FrameId(1), filter: None, sort: Vec::new() };
        let error = client.ask(&view, Explore::ComputeView).unwrap_err();
        assert_eq!((error.code.as_str(), error.class), ("explore", Class::Internal), "{error:?}");
        let [source, target] = ["a", "b"].map(|name| vec![name.to_string()]);
        let request = GraphPlotRequest {
            edges: FrameId(1),
            graph: GraphSpec { source, target, directed: false, weight: None, nodes: Vec::new() },
            nodes: None,
            positions: Positions::Columns { x: "x".to_string(), y: "y".to_string() },
            color: None,
            size: None,
            label: None,
            max_nodes: 1,
            style: PlotStyle::default(),
        };
        let error = client.ask_visual(VisualSpec::Graph(Box::new(request)), VisualAsk::Forget).unwrap_err();
        assert_eq!((error.code.as_str(), error.class), ("visual", Class::Internal), "{error:?}");
        drop(client);
        server.join().unwrap();
        std::fs::remove_file(socket).unwrap();
    }
}
