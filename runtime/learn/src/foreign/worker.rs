//! A process of the active Python that trains models of LightGBM and CatBoost (`worker.py`, which has the protocol).
//! The libraries can end their process, so they run in none of ours.
//!
//! A process stays for the next training for a minute. One training runs at a time: each uses all threads.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::find;
use crate::error::{Error, ErrorKind};
use crate::run::Run;

const PROGRAM: &str = include_str!("worker.py");
/// How long a process waits for the next training. It ends by itself after two minutes.
const IDLE: Duration = Duration::from_secs(60);
/// Lines of standard error that a message has.
const LAST_LINES: usize = 6;
/// Bytes of a model's file at most.
const MOST_BYTES: u64 = 1 << 32;

/// A library that trains in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Library {
    Lightgbm,
    Catboost,
}

impl Library {
    pub fn name(self) -> &'static str {
        match self {
            Library::Lightgbm => "LightGBM",
            Library::Catboost => "CatBoost",
        }
    }

    /// The Python package.
    pub fn package(self) -> &'static str {
        match self {
            Library::Lightgbm => "lightgbm",
            Library::Catboost => "catboost",
        }
    }

    /// The variable that names the Python.
    fn variable(self) -> &'static str {
        match self {
            Library::Lightgbm => "ONRUSH_LIGHTGBM",
            Library::Catboost => "ONRUSH_CATBOOST",
        }
    }

    /// The library refused a training.
    pub fn refusal(self) -> ErrorKind {
        match self {
            Library::Lightgbm => ErrorKind::Lightgbm,
            Library::Catboost => ErrorKind::Catboost,
        }
    }

    fn is_missing(self) -> ErrorKind {
        match self {
            Library::Lightgbm => ErrorKind::LightgbmMissing,
            Library::Catboost => ErrorKind::CatboostMissing,
        }
    }

    /// Says how to install the library.
    fn absent(self) -> Error {
        Error::new(self.is_missing(), format!("{} is not installed", self.name())).help(format!(
            "`pip install {}` into the active Python, then run the cell again; \
             HistGradientBoostingClassifier is built in",
            self.package()
        ))
    }

    fn cannot_load(self, python: &Path, why: &str) -> Error {
        let message = format!("{} cannot be loaded by {}: {why}", self.name(), python.display());
        let error = Error::new(self.is_missing(), message);
        match why.contains("libgomp") {
            true => error.help("install the system's package `libgomp1` (Debian, Ubuntu) or `libgomp` (Fedora)"),
            false => error
                .help(format!("`pip install --force-reinstall {}` repairs it; then run the cell again", self.package()))
                .help(format!("the variable {} names another Python", self.variable())),
        }
    }
}

/// A training: the head of a request, and the columns of its rows.
pub struct Request<'a> {
    pub head: serde_json::Value,
    pub blocks: Vec<&'a [f64]>,
}

/// An answer of the process before the last one.
pub enum Message {
    Warning(String),
    /// The sets and metrics of the values of [`Message::Round`].
    Names(Vec<(String, String)>),
    /// The number of a round that has ended, and its scores.
    Round(usize, Vec<f64>),
    /// A score of the best round.
    Best(String, String, f64),
    Importances(Vec<f64>),
}

/// The model that a process has trained.
pub struct File {
    /// The number of rounds that predict, or 0 for all.
    pub best: usize,
    pub bytes: Vec<u8>,
}

enum Answer {
    Message(Message),
    Model(File),
    Failed(String, String),
}

/// A running process.
struct Process {
    library: Library,
    python: PathBuf,
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Answer>,
    last_lines: Arc<Mutex<VecDeque<String>>>,
    /// The end of the last training.
    since: Instant,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process that waits for the next training. The lock is held by the training that runs.
static WAITING: Mutex<Option<Process>> = Mutex::new(None);

/// Trains in a process. `heard` gets its messages, and `done` says how far the work is.
///
/// # Errors
/// If the library is missing or refuses the training, if its process ends, and if the user stops the training.
pub fn train(
    library: Library,
    request: &Request<'_>,
    run: &Run<'_>,
    heard: &mut dyn FnMut(Message),
    done: &dyn Fn() -> String,
) -> Result<File, Error> {
    let mut waiting = turn(library, run)?;
    let python = find::python(library.variable(), library.package()).ok_or_else(|| library.absent())?;
    let usable = waiting.take().filter(|p| p.library == library && p.python == python && p.since.elapsed() < IDLE);
    let usable = usable.and_then(|mut p| matches!(p.child.try_wait(), Ok(None)).then_some(p));
    let mut process = match usable {
        Some(process) => process,
        None => {
            run.stage(format!("starting {} in {}", library.name(), python.display()));
            Process::start(library, python)?
        }
    };
    let file = process.train(request, run, heard, done)?;
    process.since = Instant::now();
    *waiting = Some(process);
    Ok(file)
}

/// Waits until no other training runs.
fn turn(library: Library, run: &Run<'_>) -> Result<MutexGuard<'static, Option<Process>>, Error> {
    loop {
        if let Some(turn) = WAITING.try_lock() {
            return Ok(turn);
        }
        run.stage(format!("{} waits for another training", library.name()));
        run.check(|| "0 rounds".to_string())?;
        thread::sleep(Duration::from_millis(20));
    }
}

impl Process {
    fn start(library: Library, python: PathBuf) -> Result<Process, Error> {
        let failed = |e: std::io::Error| library.cannot_load(&python, &e.to_string());
        let mut child = Command::new(&python)
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let ((requests, out), err) = pipes.ok_or_else(|| failed(std::io::ErrorKind::BrokenPipe.into()))?;
        let (sender, answers) = channel();
        thread::spawn(move || {
            let mut out = BufReader::new(out);
            while let Some(answer) = read(&mut out) {
                if sender.send(answer).is_err() {
                    break;
                }
            }
        });
        let last_lines = Arc::new(Mutex::new(VecDeque::new()));
        let lines = Arc::clone(&last_lines);
        thread::spawn(move || {
            for line in BufReader::new(err).split(b'\n').map_while(Result::ok) {
                let mut lines = lines.lock();
                lines.push_back(String::from_utf8_lossy(&line).trim_end().to_string());
                if lines.len() > LAST_LINES {
                    lines.pop_front();
                }
            }
        });
        Ok(Process { library, python, child, requests, answers, last_lines, since: Instant::now() })
    }

    fn train(
        &mut self,
        request: &Request<'_>,
        run: &Run<'_>,
        heard: &mut dyn FnMut(Message),
        done: &dyn Fn() -> String,
    ) -> Result<File, Error> {
        let Process { library, python, child, requests, answers, .. } = self;
        let found = thread::scope(|scope| {
            // A process that ends early does not read, which is found below.
            scope.spawn(|| drop(write(requests, request)));
            loop {
                match answers.recv_timeout(Duration::from_millis(20)) {
                    Ok(Answer::Message(message)) => heard(message),
                    Ok(Answer::Model(file)) => return Ok(Some(file)),
                    Ok(Answer::Failed(kind, text)) => {
                        // Ends the writing.
                        let _ = child.kill();
                        return Err(refused(*library, python, &kind, text));
                    }
                    Err(RecvTimeoutError::Disconnected) => return Ok(None),
                    Err(RecvTimeoutError::Timeout) => {}
                }
                if let Err(stopped) = run.check(done) {
                    let _ = child.kill();
                    return Err(stopped);
                }
            }
        })?;
        found.ok_or_else(|| self.has_ended(done()))
    }

    /// The process ended without an answer.
    fn has_ended(&mut self, done: String) -> Error {
        let status = self.child.wait();
        let how = match status.as_ref().map(|s| (s.signal(), s.code())) {
            Ok((Some(6), _)) => "aborted".to_string(),
            Ok((Some(9), _)) => "was killed, perhaps because memory ran out".to_string(),
            Ok((Some(signal), _)) => format!("ended by signal {signal}"),
            Ok((None, Some(code))) => format!("ended with code {code}"),
            _ => "ended".to_string(),
        };
        let lines: Vec<String> = self.last_lines.lock().iter().filter(|line| !line.is_empty()).cloned().collect();
        let message = format!("the process of {} {how} after {done}", self.library.name());
        let error = Error::new(self.library.refusal(), message);
        match lines.is_empty() {
            true => error,
            false => error.help(format!("it said: {}", lines.join(" | "))),
        }
    }
}

fn refused(library: Library, python: &Path, kind: &str, text: String) -> Error {
    let (name, package) = (library.name(), library.package());
    match kind {
        "missing" => library.absent(),
        "broken" => library.cannot_load(python, &text),
        "version" => {
            Error::new(library.is_missing(), format!("{name} {text} is installed, and 4.0 or newer is needed"))
                .help(format!("`pip install --upgrade {package}` in the active Python, then run the cell again"))
        }
        "parameter" => Error::new(ErrorKind::Parameter, format!("`extra` sets `{text}`, which {name} does not know"))
            .help("https://lightgbm.readthedocs.io/en/stable/Parameters.html has the parameters"),
        _ => Error::new(library.refusal(), format!("{name}: {text}")),
    }
}

fn write(to: &mut ChildStdin, request: &Request<'_>) -> std::io::Result<()> {
    let head = serde_json::to_vec(&request.head)?;
    to.write_all(&(head.len() as u64).to_le_bytes())?;
    to.write_all(&head)?;
    let mut bytes = Vec::new();
    for chunk in request.blocks.iter().flat_map(|block| block.chunks(1 << 15)) {
        bytes.clear();
        bytes.extend(chunk.iter().flat_map(|v| v.to_le_bytes()));
        to.write_all(&bytes)?;
    }
    to.flush()
}

/// The next answer. `None` at the end, and for a line that is not an answer.
fn read(from: &mut impl BufRead) -> Option<Answer> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8_lossy(&line);
    let fields: Vec<&str> = line.strip_suffix('\n')?.split('\t').collect();
    let float = |text: &&str| text.parse::<f64>().ok();
    Some(Answer::Message(match &fields[..] {
        ["warning", text] => Message::Warning((*text).to_string()),
        ["names", names @ ..] => {
            let (pairs, _) = names.as_chunks::<2>();
            Message::Names(pairs.iter().map(|[set, metric]| ((*set).to_string(), (*metric).to_string())).collect())
        }
        ["round", round, values @ ..] => {
            Message::Round(round.parse().ok()?, values.iter().map(float).collect::<Option<_>>()?)
        }
        ["best", set, metric, value] => Message::Best((*set).to_string(), (*metric).to_string(), float(value)?),
        ["importances", values @ ..] => Message::Importances(values.iter().map(float).collect::<Option<_>>()?),
        ["error", kind, text] => return Some(Answer::Failed((*kind).to_string(), (*text).to_string())),
        ["model", best, len] => {
            let len = len.parse::<u64>().ok().filter(|len| *len <= MOST_BYTES)?;
            let mut bytes = Vec::new();
            from.take(len).read_to_end(&mut bytes).ok()?;
            let file = File { best: best.parse().ok()?, bytes };
            return (file.bytes.len() as u64 == len).then_some(Answer::Model(file));
        }
        _ => return None,
    }))
}
