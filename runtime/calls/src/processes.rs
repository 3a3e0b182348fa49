//! Processes that call a function: `onrush-cell --calls`, which load its shared objects and wait for arguments.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Weak};
use std::time::{Duration, Instant};

use datafusion::error::{DataFusionError, Result};
use onrush_expr::error::external;
use onrush_files::TemporaryFolder;
use onrush_wire::cell_function::{CallResult, FunctionEntry, LoadFunction};
use onrush_wire::codec::{CodecError, body_length, decode, encode};
use onrush_wire::{Class, Diagnostic, paths};
use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;

use crate::function::Function;

/// How long processes wait for the next calls of their function.
const IDLE: Duration = Duration::from_secs(60);

/// How long a process that does not answer may take to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Calls of a function that run at a time. 0: as many as there are cores.
static CONCURRENT: AtomicUsize = AtomicUsize::new(0);

/// So many calls of each function run at a time in this process. It is called once, when a worker starts.
pub fn set_concurrency(calls: usize) {
    CONCURRENT.store(calls, Ordering::Relaxed);
}

pub(crate) fn concurrency() -> usize {
    match CONCURRENT.load(Ordering::Relaxed) {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        calls => calls,
    }
}

/// The processes of a function.
pub(crate) struct Pool {
    function: Arc<Function>,
    /// The shared objects of the function, and their paths there.
    _folder: TemporaryFolder,
    objects: Vec<String>,
    library_path: String,
    idle: Mutex<Vec<Process>>,
    /// As many calls run at a time.
    permits: Semaphore,
    used: Mutex<Instant>,
}

/// One that runs.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// Pools by the key of their function.
static POOLS: LazyLock<Mutex<HashMap<[u8; 32], Arc<Pool>>>> = LazyLock::new(Mutex::default);

/// The pool of a function. It ends when nobody has used it for a while. Blocks: it may write files. Must be called
/// inside of a tokio runtime.
pub(crate) fn pool(function: &Arc<Function>) -> Result<Arc<Pool>> {
    let known = POOLS.lock().get(&function.key).map(Arc::clone);
    if let Some(pool) = known {
        *pool.used.lock() = Instant::now();
        return Ok(pool);
    }
    let made = Arc::new(Pool::new(function).map_err(external)?);
    let pool = Arc::clone(POOLS.lock().entry(function.key).or_insert_with(|| Arc::clone(&made)));
    if Arc::ptr_eq(&pool, &made) {
        tokio::spawn(end_when_idle(Arc::downgrade(&pool)));
    }
    Ok(pool)
}

async fn end_when_idle(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(IDLE).await;
        let Some(pool) = pool.upgrade() else { return };
        if pool.permits.available_permits() == concurrency() && pool.used.lock().elapsed() >= IDLE {
            // Calls that have it go on.
            POOLS.lock().remove(&pool.function.key);
            return;
        }
    }
}

impl Pool {
    fn new(function: &Arc<Function>) -> std::result::Result<Pool, Diagnostic> {
        function.check_prelude()?;
        // The objects there are loaded and run: nobody else may write there.
        let private = paths::cache_dir().join("calls");
        paths::private_dir(&private).map_err(|error| {
            let message = format!("`{}` cannot be used for compiled cells: {error}", private.display());
            Diagnostic::error(Class::Environment, "cluster-call", message)
                .help("set ONRUSH_CACHE_DIR of the worker to another folder")
        })?;
        let folder = TemporaryFolder::create(&private.join("objects"))?;
        let mut objects = Vec::new();
        for object in &function.objects {
            let path = folder.path().join(&object.name);
            std::fs::write(&path, &object.content).map_err(|error| {
                let message = format!("`{}` cannot be written: {error}", path.display());
                Diagnostic::error(Class::Environment, "cluster-call", message)
            })?;
            objects.push(path.to_string_lossy().into_owned());
        }
        let own = folder.path().to_string_lossy().into_owned();
        let folders: Vec<&str> =
            [own.as_str()].into_iter().chain(function.folders.iter().map(String::as_str)).collect();
        Ok(Pool {
            function: Arc::clone(function),
            library_path: folders.join(":"),
            _folder: folder,
            objects,
            idle: Mutex::default(),
            permits: Semaphore::new(concurrency()),
            used: Mutex::new(Instant::now()),
        })
    }

    /// Makes a call. A panic of the function and the death of its process are the call's own error.
    pub async fn call(&self, argument: &[u8]) -> Result<CallResult> {
        let permit = self.permits.acquire().await.map_err(|e| DataFusionError::External(Box::new(e)))?;
        let mut process = match self.waiting() {
            Some(process) => process,
            None => self.start().await.map_err(external)?,
        };
        // If the caller goes, the process is killed: its call runs on.
        let result = process.call(argument).await;
        let result = match result {
            Ok(result) => {
                self.idle.lock().push(process);
                result
            }
            Err(Broken::Process) => Err(format!("its process ended: {}", process.end().await)),
            Err(Broken::Message(reason)) => Err(reason),
        };
        drop(permit);
        *self.used.lock() = Instant::now();
        Ok(result)
    }

    /// A process that waits for a call. One may have ended meanwhile.
    fn waiting(&self) -> Option<Process> {
        loop {
            let mut process = self.idle.lock().pop()?;
            if matches!(process.child.try_wait(), Ok(None)) {
                return Some(process);
            }
        }
    }

    async fn start(&self) -> std::result::Result<Process, Diagnostic> {
        let host = PathBuf::from(&self.function.host);
        let failed = |reason: String| {
            let message =
                format!("a process for {} cannot be started with `{}`: {reason}", self.function.name, host.display());
            Diagnostic::error(Class::Environment, "cluster-call", message)
                .help("install the same wheels at the same path on all machines")
        };
        let mut child = Command::new(&host)
            .arg("--calls")
            .env("LD_LIBRARY_PATH", &self.library_path)
            // Functions of others are not told the token.
            .env_remove("ONRUSH_TOKEN")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|e| failed(e.to_string()))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed("it has no pipes".to_string()));
        };
        let mut process = Process { child, input, output: BufReader::new(output) };
        let (object, offset) = self.function.entry;
        let load = LoadFunction { objects: self.objects.clone(), entry: FunctionEntry { object, offset } };
        let loaded: std::result::Result<std::result::Result<(), String>, Broken> = process.exchange(&load).await;
        match loaded {
            Ok(Ok(())) => Ok(process),
            Ok(Err(reason)) | Err(Broken::Message(reason)) => Err(failed(reason)),
            Err(Broken::Process) => Err(failed(process.end().await)),
        }
    }
}

/// Why an exchange with a process failed.
enum Broken {
    /// It has ended, or does not read.
    Process,
    /// A message is too long.
    Message(String),
}

impl From<io::Error> for Broken {
    fn from(_: io::Error) -> Broken {
        Broken::Process
    }
}

impl From<CodecError> for Broken {
    fn from(error: CodecError) -> Broken {
        Broken::Message(error.to_string())
    }
}

impl Process {
    /// Ends the process if it has closed its pipes only. Gives how it ended.
    async fn end(mut self) -> String {
        let _ = tokio::time::timeout(LAST_WORDS, self.child.wait()).await;
        let _ = self.child.start_kill();
        self.child.wait().await.map_or_else(|e| e.to_string(), |status| cause(&status))
    }

    async fn call(&mut self, argument: &[u8]) -> std::result::Result<CallResult, Broken> {
        self.exchange(&argument.to_vec()).await
    }

    async fn exchange<T: serde::Serialize, R: serde::de::DeserializeOwned>(
        &mut self,
        message: &T,
    ) -> std::result::Result<R, Broken> {
        let message = encode(message)?;
        let Process { child, input, output } = self;
        let answer = async {
            input.write_all(&message).await?;
            let mut prefix = [0; 4];
            output.read_exact(&mut prefix).await?;
            let mut body = vec![0; body_length(prefix)?];
            output.read_exact(&mut body).await?;
            Ok(decode(&body)?)
        };
        // A program that the function has started may keep the pipe open.
        tokio::select! {
            biased;
            answer = answer => answer,
            _ = child.wait() => Err(Broken::Process),
        }
    }
}

impl Drop for Process {
    /// Ends the programs that the function has started, too.
    fn drop(&mut self) {
        // A process that was waited for has no number any more.
        if let Some(group) = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// How a process ended: `signal: 11 (SIGSEGV)`, `exit status: 3`.
fn cause(status: &ExitStatus) -> String {
    status.to_string()
}
