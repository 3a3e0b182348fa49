//! Processes that call a function: `onrush-cell --calls`, which load its shared objects and wait for arguments.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use datafusion::error::{DataFusionError, Result};
use onrush_expr::error::external;
use onrush_files::TemporaryFolder;
use onrush_wire::cell_function::{CallResult, FunctionEntry, LoadFunction};
use onrush_wire::codec::{CodecError, body_length, decode, encode};
use onrush_wire::{Class, Diagnostic};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;

use crate::function::Function;

/// How long processes wait for the next calls of their function.
const IDLE: Duration = Duration::from_secs(60);

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

/// The pool of a function. Pools that nobody has used for a while end.
pub(crate) fn pool(function: &Arc<Function>) -> Result<Arc<Pool>> {
    static POOLS: LazyLock<Mutex<HashMap<u64, Arc<Pool>>>> = LazyLock::new(Mutex::default);
    let mut hasher = DefaultHasher::new();
    function.hash(&mut hasher);
    let key = hasher.finish();
    let mut pools = POOLS.lock();
    pools.retain(|known, pool| *known == key || Arc::strong_count(pool) > 1 || pool.used.lock().elapsed() < IDLE);
    if let Some(pool) = pools.get(&key).filter(|pool| pool.function == *function) {
        *pool.used.lock() = Instant::now();
        return Ok(Arc::clone(pool));
    }
    let pool = Arc::new(Pool::new(function).map_err(external)?);
    pools.insert(key, Arc::clone(&pool));
    Ok(pool)
}

impl Pool {
    fn new(function: &Arc<Function>) -> std::result::Result<Pool, Diagnostic> {
        function.check_prelude()?;
        let folder = TemporaryFolder::create(&std::env::temp_dir().join("onrush-calls"))?;
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
        let waiting = self.idle.lock().pop();
        let mut process = match waiting {
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
            Err(Broken::Process) => {
                let status = process.child.wait().await.map_or_else(|e| e.to_string(), |status| cause(&status));
                Err(format!("its process ended: {status}"))
            }
            Err(Broken::Message(reason)) => Err(reason),
        };
        drop(permit);
        *self.used.lock() = Instant::now();
        Ok(result)
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
            Err(Broken::Process) => {
                let status = process.child.wait().await.map_or_else(|e| e.to_string(), |status| cause(&status));
                Err(failed(status))
            }
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
    async fn call(&mut self, argument: &[u8]) -> std::result::Result<CallResult, Broken> {
        self.exchange(&argument.to_vec()).await
    }

    async fn exchange<T: serde::Serialize, R: serde::de::DeserializeOwned>(
        &mut self,
        message: &T,
    ) -> std::result::Result<R, Broken> {
        self.input.write_all(&encode(message)?).await?;
        let mut prefix = [0; 4];
        self.output.read_exact(&mut prefix).await?;
        let mut body = vec![0; body_length(prefix)?];
        self.output.read_exact(&mut body).await?;
        Ok(decode(&body)?)
    }
}

/// How a process ended: `signal: 11 (SIGSEGV)`, `exit status: 3`.
fn cause(status: &ExitStatus) -> String {
    status.to_string()
}
