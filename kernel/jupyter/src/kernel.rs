//! The Jupyter front: sockets, signals, the start and the end of the kernel process. [`requests`] answers requests, and
//! cells run in [`execution`].

mod comms;
mod execution;
mod explorer;
mod history;
mod interrupt_comm;
mod json_rpc;
mod output_lifecycle;
mod replies;
mod requests;
mod session_thread;
mod staleness_metadata;
mod stdin;
mod usage;
mod visual;
mod widgets;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jupyter_protocol::ConnectionInfo;
use jupyter_zmq_client as zmq;
use jupyter_zmq_client::RawMessage;
use lru::LruCache;
use onrush_wire::host::Stream;
use onrush_wire::paths;
use parking_lot::Mutex;
use ring::hmac;
use serde_json::{Value, json};
use tokio::sync::Notify;
use zeromq::{RouterRecvHalf, SocketRecv, SocketSend};

use crate::iopub::Publisher;
use crate::log;
use crate::message::{Channel, Request, Signer};
use crate::notebook::{Late, Notebook, Output};
use crate::send_queue::{self, SendQueue};

pub use replies::language_info;

/// Why a kernel could not start or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    #[error("the connection file {path} cannot be read: {source}")]
    ReadConnection { path: String, source: std::io::Error },
    #[error("the connection file {path} is not what Jupyter writes: {source}")]
    ParseConnection { path: String, source: serde_json::Error },
    #[error("the connection file asks for signatures by `{0}`; this kernel knows `hmac-sha256`")]
    Scheme(String),
    #[error("a socket could not be opened: {0}")]
    Socket(#[from] zmq::RuntimeError),
    #[error("the iopub socket {url} could not be opened: {source}")]
    Publish { url: String, source: std::io::Error },
    #[error("the asynchronous runtime could not be started: {0}")]
    Runtime(#[from] std::io::Error),
}

/// Cells whose threads are told apart.
const PARENTS: NonZeroUsize = NonZeroUsize::new(1000).unwrap();

fn stream_name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

/// Everything that requests work on.
pub struct Kernel {
    pub notebook: Arc<Notebook>,
    pub send_queue: SendQueue,
    pub queue: Arc<execution::Queue>,
    pub widgets: Arc<widgets::Widgets>,
    pub history: Mutex<history::History>,
    pub comms: comms::Comms,
    pub explorer: Arc<explorer::Explorer>,
    pub visuals: Arc<visual::Visuals>,
    pub stdin: stdin::Stdin,
    pub usage: usage::Usage,
    /// Header of the cell that runs; null between cells.
    pub current: Arc<Mutex<Value>>,
    /// The cells that have run last: what their threads print later belongs to them.
    parents: Mutex<Parents>,
    shutdown: Notify,
}

/// Headers of the cells that have run last.
struct Parents {
    /// By the number of the cell. Cells that are not counted have high numbers.
    headers: LruCache<u64, Value>,
    /// Header and id of the newest.
    newest: Option<(Value, Option<String>)>,
}

impl Default for Parents {
    fn default() -> Parents {
        Parents { headers: LruCache::new(PARENTS), newest: None }
    }
}

impl Parents {
    fn add(&mut self, cell: u64, header: &Value, id: Option<&str>) {
        self.newest = Some((header.clone(), id.map(str::to_string)));
        self.headers.put(cell, header.clone());
    }
}

/// Serves one notebook until Jupyter, a signal or the death of the parent ends it.
pub fn serve(connection_file: &Path) -> Result<(), KernelError> {
    let path = connection_file.display().to_string();
    let text = std::fs::read_to_string(connection_file)
        .map_err(|source| KernelError::ReadConnection { path: path.clone(), source })?;
    let info: ConnectionInfo =
        serde_json::from_str(&text).map_err(|source| KernelError::ParseConnection { path, source })?;
    if !info.key.is_empty() && info.signature_scheme != "hmac-sha256" {
        return Err(KernelError::Scheme(info.signature_scheme));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(serve_sockets(info));
    // Threads that wait for a process that does not end must not keep the kernel alive.
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn serve_sockets(info: ConnectionInfo) -> Result<(), KernelError> {
    let session = uuid::Uuid::new_v4().to_string();
    let heartbeat = zmq::create_kernel_heartbeat_connection(&info).await?;
    let url = info.iopub_url();
    let (iopub, subscriptions) = Publisher::bind(&url).await.map_err(|source| KernelError::Publish { url, source })?;
    let shell = zmq::create_kernel_shell_connection(&info, &session).await?;
    let control = zmq::create_kernel_control_connection(&info, &session).await?;
    let stdin = zmq::create_kernel_stdin_connection(&info, &session).await?;

    let key = shell.mac.clone();
    let (send_queue, queues) = SendQueue::new(Signer::new(key.clone(), session));
    let (shell_out, shell_in) = shell.socket.split();
    let (control_out, control_in) = control.socket.split();
    let (stdin_out, stdin_in) = stdin.socket.split();
    tokio::spawn(send_queue::run(send_queue.clone(), queues, iopub, subscriptions, shell_out, stdin_out, control_out));
    tokio::spawn(beat(heartbeat));

    send_queue.status(&Value::Null, "starting");
    if let Some(notice) = paths::cache_notice() {
        log::line(format_args!("{notice}"));
    }
    let folder = std::env::current_dir().unwrap_or_else(|_| std::env::temp_dir());
    let notebook = Notebook::open(folder.clone(), None, true);
    let current = Arc::new(Mutex::new(Value::Null));
    let comms = comms::Comms::new(send_queue.clone(), Arc::clone(&current));
    let queue = Arc::new(execution::Queue::default());
    let widgets = Arc::new(widgets::Widgets::new(comms.sender(), Arc::clone(&queue)));
    comms.register(&[widgets::WIDGET, widgets::CONTROL], Arc::clone(&widgets) as Arc<dyn comms::Target>)?;
    let explorer = explorer::Explorer::new(Arc::clone(&notebook.session), comms.sender(), folder);
    comms.register(&[explorer::NAME, explorer::POSITRON], Arc::clone(&explorer) as Arc<dyn comms::Target>)?;
    let visuals = Arc::new(visual::Visuals::new(Arc::clone(&notebook.session), comms.sender()));
    comms.register(&[visual::NAME], Arc::clone(&visuals) as Arc<dyn comms::Target>)?;
    let button = interrupt_comm::InterruptComm::new(comms.sender(), Arc::clone(&notebook));
    comms.register(&[interrupt_comm::PROGRESS], Arc::new(button))?;
    let kernel = Arc::new(Kernel {
        notebook,
        send_queue,
        queue,
        widgets,
        history: Mutex::new(history::History::open()),
        comms,
        explorer,
        visuals,
        stdin: stdin::Stdin::default(),
        usage: usage::Usage::default(),
        current,
        parents: Mutex::default(),
        shutdown: Notify::new(),
    });
    kernel.comms.register(&[output_lifecycle::NAME], Arc::new(output_lifecycle::OutputLifecycle::new(&kernel)))?;
    let cells = Arc::clone(&kernel);
    let late = Arc::downgrade(&kernel);
    kernel.notebook.show_late_output(move |output| {
        if let Some(kernel) = late.upgrade() {
            kernel.show_late(output);
        }
    });
    std::thread::Builder::new().name("execution".into()).spawn(move || execution::run(&cells))?;

    tokio::spawn(receive(shell_in, key.clone(), Channel::Shell, Arc::clone(&kernel)));
    tokio::spawn(receive(control_in, key.clone(), Channel::Control, Arc::clone(&kernel)));
    tokio::spawn(stdin::receive(stdin_in, key, Arc::clone(&kernel)));
    wait_for_end(&kernel).await?;
    stop(&kernel).await;
    Ok(())
}

impl Kernel {
    /// Remembers which request runs as the cell of this number.
    fn runs_as(&self, cell: u64, header: &Value, id: Option<&str>) {
        self.parents.lock().add(cell, header, id);
    }

    /// An output that arrives between two cells: a display is that of the cell that was shown last.
    fn show_late(&self, late: Late) {
        let newest = self.parents.lock().newest.clone();
        let (output, frame) = match late {
            Late::Text { cell, stream, text } => return self.late(cell, stream, &text),
            Late::Output(output) => (output, None),
            Late::Frame { frame, preview, output } => (output, Some((frame, preview))),
        };
        let Some((parent, id)) = newest else { return };
        if let Some((frame, preview)) = frame {
            self.explorer.show(id.as_deref(), frame, &preview);
        }
        match output {
            Output::Display { data, display_id, update } => {
                let msg_type = if update { "update_display_data" } else { "display_data" };
                let transient = display_id.map_or(json!({}), |id| json!({ "display_id": id }));
                let content = json!({ "data": data, "metadata": {}, "transient": transient });
                self.send_queue.publish(&parent, msg_type, &content);
            }
            Output::Clear { wait } => {
                if let Some(cell) = &id {
                    self.comms.release(&parent, cell);
                    self.explorer.forget(cell);
                }
                self.send_queue.publish(&parent, "clear_output", &json!({ "wait": wait }));
            }
            // A result has become a display, and panels are displays without models.
            _ => {}
        }
    }

    /// Text that a thread or a child process of an earlier cell has printed.
    fn late(&self, cell: u64, stream: Stream, text: &str) {
        let parent = self.parents.lock().headers.peek(&cell).cloned();
        let Some(parent) = parent.filter(|_| !text.is_empty()) else { return };
        self.send_queue.publish(&parent, "stream", &json!({ "name": stream_name(stream), "text": text }));
    }

    /// Ends [`serve`].
    pub fn end(&self) {
        self.shutdown.notify_one();
    }
}

/// Reads requests as long as the process lives: nothing that arrives ends it.
async fn receive(mut socket: RouterRecvHalf, key: Option<hmac::Key>, channel: Channel, kernel: Arc<Kernel>) {
    loop {
        match read(&mut socket, &key).await {
            Ok(raw) => match Request::parse(raw, channel) {
                Ok(request) => requests::handle(&kernel, request),
                Err(error) => log::line(format_args!("a message on {channel:?} was ignored: {error}")),
            },
            Err(error) => {
                log::line(format_args!("a message on {channel:?} was refused: {error}"));
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

/// One multipart message; its frames are checked and its signature is right.
async fn read(socket: &mut RouterRecvHalf, key: &Option<hmac::Key>) -> Result<RawMessage, zmq::RuntimeError> {
    RawMessage::from_multipart(socket.recv().await?, key)
}

/// Sends back whatever arrives.
async fn beat(mut heartbeat: zmq::KernelHeartbeatConnection) {
    loop {
        match heartbeat.socket.recv().await {
            Ok(message) => {
                let _ = heartbeat.socket.send(message).await;
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn wait_for_end(kernel: &Arc<Kernel>) -> Result<(), KernelError> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupts = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    // Jupyter says which process started the kernel. Without it the kernel would outlive a server that was killed.
    let parent = std::env::var("JPY_PARENT_PID").ok().and_then(|pid| pid.parse::<u32>().ok()).filter(|pid| *pid > 1);
    let mut poll = tokio::time::interval(Duration::from_secs(1));
    loop {
        tokio::select! {
            () = kernel.shutdown.notified() => return Ok(()),
            _ = terminate.recv() => return Ok(()),
            _ = hang_up.recv() => return Ok(()),
            _ = interrupts.recv() => kernel.notebook.interrupt(),
            _ = poll.tick() => {
                if parent.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                    log::line(format_args!("the process that started this kernel is gone: ending"));
                    return Ok(());
                }
            }
        }
    }
}

async fn stop(kernel: &Arc<Kernel>) {
    kernel.queue.close();
    kernel.comms.close();
    let notebook = Arc::clone(&kernel.notebook);
    let stopped = tokio::task::spawn_blocking(move || notebook.shutdown());
    let _ = tokio::time::timeout(Duration::from_secs(4), stopped).await;
    kernel.send_queue.flush().await;
    // The sockets' own writers have the last replies now.
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_parent_goes_first_whatever_its_number() {
        let mut parents = Parents::default();
        for number in (1..=PARENTS.get() as u64 / 2).flat_map(|cell| [cell, crate::notebook::HIDDEN + cell]) {
            parents.add(number, &json!(number), None);
        }
        parents.add(PARENTS.get() as u64, &json!("newest"), Some("id"));
        assert_eq!(parents.headers.len(), PARENTS.get());
        assert!(!parents.headers.contains(&1) && parents.headers.contains(&2));
        assert_eq!(parents.newest, Some((json!("newest"), Some("id".to_string()))));
    }
}
