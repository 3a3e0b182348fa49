//! Files in other places: `https://`, `http://`, `s3://`, `gs://`, `az://`, `abfs://`. They are fetched whole into the
//! cache folder and read as local files.
//!
//! A file is fetched again only if the place says that it has changed. Credentials come from the usual environment
//! variables and files. They are in no message.

mod error;
mod http;
mod kept;
mod stores;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onrush_frame::TaskHandle;
use onrush_wire::limits::parse_size;
use onrush_wire::{Class, Diagnostic, paths};

#[doc(hidden)]
pub use error::{Address, code_of, name_of};

use kept::FileStore;

const SCHEMES: &[&str] = &["http", "https", "s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"];
/// Between two looks at the task.
const CHECK: Duration = Duration::from_millis(50);
/// Bytes of a file that is fetched, at most, unless the environment says otherwise: as many as the cache keeps.
const LIMIT: u64 = kept::LIMIT;

/// A file that is here now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedFile {
    /// Without a password and without a query.
    pub url: String,
    pub path: PathBuf,
}

/// Whether a path is one of another place: whether it starts with a scheme such as `s3://`.
pub fn is_place(path: &str) -> bool {
    scheme(path).is_some()
}

/// The scheme of a path in another place. A scheme that is not known is none: a file may have such a name.
fn scheme(path: &str) -> Option<&str> {
    let (scheme, _) = path.split_once("://")?;
    SCHEMES.iter().find(|known| known.eq_ignore_ascii_case(scheme)).copied()
}

/// The way to other places.
#[derive(Clone, Debug)]
pub struct Places {
    kept: FileStore,
    environment: HashMap<String, String>,
    timeout: Duration,
    /// Bytes of a file that is fetched, at most.
    limit: u64,
}

impl Places {
    /// Places of this process: its environment, and its cache folder.
    pub fn of_process() -> Places {
        Places::new(paths::cache_dir().join("places"), std::env::vars())
    }

    /// Keeps fetched files in `folder`. The variables are those of [`std::env::vars`].
    pub fn new(folder: impl Into<PathBuf>, environment: impl IntoIterator<Item = (String, String)>) -> Places {
        let environment: HashMap<String, String> = environment.into_iter().collect();
        let limit = limit(environment.get(paths::DOWNLOAD_LIMIT).map(String::as_str));
        Places { kept: FileStore::new(folder.into()), environment, timeout: Duration::from_secs(30), limit }
    }

    /// The time that a place may take for an answer, and between two pieces of it.
    pub fn with_timeout(self, timeout: Duration) -> Places {
        Places { timeout, ..self }
    }

    /// Fetches the files that a path stands for, sorted by name. The path may hold `*`, `?` and `[..]`, or end in `/`,
    /// in places that can list names; `wanted` says whether a name belongs to it, from its part behind the scheme.
    ///
    /// # Errors
    /// A place that cannot be reached, that refuses access or lacks the file; a full disk.
    pub fn fetch(
        &self,
        path: &str,
        wanted: &(dyn Fn(&str) -> bool + Sync),
        task: &TaskHandle,
    ) -> Result<Vec<FetchedFile>, Diagnostic> {
        let address = Address::parse(path)?;
        task.stage(format!("fetch {}", address.shown()));
        self.kept.prepare()?;
        let fetched = self.run(task, async {
            match address.is_http() {
                true => http::fetch(self, &address, task).await.map(|path| vec![(address.shown(), path)]),
                false => stores::fetch(self, &address, wanted, task).await,
            }
        })?;
        Ok(fetched.into_iter().map(|(url, path)| FetchedFile { url, path }).collect())
    }

    /// Writes a complete file to a place.
    ///
    /// # Errors
    /// As [`Places::fetch`]; an address of `http`, which cannot be written.
    pub fn put(&self, path: &str, file: &Path, task: &TaskHandle) -> Result<(), Diagnostic> {
        let address = Address::parse(path)?;
        if address.is_http() {
            return Err(read_only(&address));
        }
        task.stage(format!("upload {}", address.shown()));
        self.run(task, stores::put(self, &address, file, task))
    }

    /// Fails if a path cannot be written.
    ///
    /// # Errors
    /// A path that is not an address, or one of `http`.
    pub fn check_writable(&self, path: &str) -> Result<(), Diagnostic> {
        let address = Address::parse(path)?;
        if address.is_http() { Err(read_only(&address)) } else { Ok(()) }
    }

    /// Runs a request on a thread that is not one of a runtime, until it is done or the task is stopped.
    fn run<T: Send>(
        &self,
        task: &TaskHandle,
        work: impl Future<Output = Result<T, Diagnostic>> + Send,
    ) -> Result<T, Diagnostic> {
        let internal = |what: String| Diagnostic::error(Class::Internal, "internal", what);
        let work = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|e| internal(format!("no runtime for requests: {e}")))?;
            runtime.block_on(async {
                tokio::select! {
                    done = work => done,
                    stopped = stopped(task) => Err(stopped),
                }
            })
        };
        std::thread::scope(|scope| scope.spawn(work).join())
            .unwrap_or_else(|_| Err(internal("a request has failed".to_string())))
    }
}

/// The value of the variable. A value that is not a size counts as not set.
fn limit(variable: Option<&str>) -> u64 {
    match variable.map(str::trim) {
        Some(none) if none.eq_ignore_ascii_case("none") => u64::MAX,
        given => given.and_then(parse_size).unwrap_or(LIMIT),
    }
}

fn read_only(address: &Address) -> Diagnostic {
    let message = format!("`{}` cannot be written: files are only read from addresses of http", address.shown());
    Diagnostic::error(Class::Plan, "read-only", message).help("write to a local file, or to s3://, gs:// or az://")
}

async fn stopped(task: &TaskHandle) -> Diagnostic {
    loop {
        if let Err(cancelled) = task.check() {
            return cancelled.into();
        }
        tokio::time::sleep(CHECK).await;
    }
}
