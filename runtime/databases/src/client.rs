//! The engine's side of a driver process: starts it, takes its rows or gives it rows, and ends it when the task is
//! cancelled.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::ipc::reader::StreamDecoder;
use arrow::ipc::writer::StreamWriter;
use onrush_frame::TaskHandle;
use onrush_wire::plan::IfExists;
use onrush_wire::{Class, Diagnostic, codec};

use crate::address::{Address, Kind, settings};
use crate::error::{Failure, Stage};
use crate::protocol::{self, Order, Piece, ROLE, Work};
use crate::{drivers, statement};

/// How long a read or a write waits before the task is looked at.
const LOOK: Duration = Duration::from_millis(50);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Names the program whose role `driver` is a driver process. The first call counts.
pub fn set_program(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

/// A database that is asked: its address, and for a database in a file its absolute path.
#[derive(Clone, Debug)]
pub struct Target {
    pub address: Address,
    pub file: Option<String>,
}

impl Target {
    /// The database as messages name it.
    fn name(&self) -> String {
        self.address.name()
    }

    /// A text of the driver without passwords.
    fn public(&self, text: &str) -> String {
        self.address.secrets().iter().fold(text.to_string(), |text, secret| text.replace(secret, "***"))
    }
}

/// A driver process that does an order.
struct Process {
    child: Child,
    socket: UnixStream,
    task: TaskHandle,
    target: Target,
}

impl Process {
    fn start(target: &Target, writes: bool, work: Work, task: &TaskHandle) -> Result<Process, Diagnostic> {
        let kind = target.address.kind;
        let driver = drivers::find(kind)?;
        let failed = |e: io::Error| {
            Diagnostic::error(Class::Environment, "driver", format!("the driver process cannot be started: {e}"))
        };
        let program = PROGRAM.get().ok_or_else(|| {
            let message = "this program has no driver process: databases are read by the session";
            Diagnostic::error(Class::Environment, "driver", message)
        })?;
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let child = Command::new(program)
            .arg(ROLE)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // The output of drivers has no reader, and may have passwords.
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/")
            .spawn()
            .map_err(failed)?;
        let mut process = Process { child, socket: ours, task: task.clone(), target: target.clone() };
        process.socket.set_read_timeout(Some(LOOK)).map_err(failed)?;
        process.socket.set_write_timeout(Some(LOOK)).map_err(failed)?;
        let settings = settings(&target.address, target.file.as_deref(), writes);
        let order = codec::encode(&Order { driver, settings, work }).map_err(|e| failed(io::Error::other(e)))?;
        process.write_all(&order).map_err(|e| process.ended(&e))?;
        Ok(process)
    }

    fn next(&mut self) -> Result<Piece, Diagnostic> {
        match protocol::next(self) {
            Ok(Piece::Failed(failure)) => Err(diagnostic(&self.target, &failure)),
            Ok(piece) => Ok(piece),
            Err(error) => Err(self.ended(&error)),
        }
    }

    /// The reason why a process says nothing more.
    fn ended(&mut self, error: &io::Error) -> Diagnostic {
        if let Err(cancelled) = self.task.check() {
            return cancelled.into();
        }
        let how = match self.wait() {
            Some(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("it was ended by signal {signal}"),
                (None, code) => format!("it ended with status {}", code.unwrap_or(0)),
            },
            None => error.to_string(),
        };
        let (name, database) = (self.target.address.kind.name(), self.target.name());
        let message = format!("the driver of {name} died while it worked on `{database}`: {how}");
        Diagnostic::error(Class::Environment, "driver-died", message)
            .help(format!(
                "run the cell again; `pip install --upgrade {}` may mend it",
                drivers::package(self.target.address.kind)
            ))
            .note("the session and its frames are as they were")
    }

    /// The exit status of a process that has closed its end.
    fn wait(&mut self) -> Option<ExitStatus> {
        for _ in 0..100 {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(_) => return None,
            }
        }
        None
    }
}

impl Drop for Process {
    /// A process that is not done, or hangs, is killed.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a call that a time-out interrupts until it is done or the task is cancelled.
fn patient<T>(task: &TaskHandle, mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                task.check().map_err(|_| io::Error::other("cancelled"))?;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

impl Read for Process {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Process { socket, task, .. } = self;
        patient(task, || socket.read(buffer))
    }
}

impl Write for Process {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Process { socket, task, .. } = self;
        patient(task, || socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The rows of a query, batch by batch.
pub struct QueryRows {
    process: Process,
    decoder: StreamDecoder,
    /// Bytes of a piece that have not been decoded yet.
    rest: Buffer,
    schema: SchemaRef,
    first: Option<RecordBatch>,
    is_done: bool,
}

/// Runs a query in a driver process.
///
/// # Errors
/// A missing driver, a database that cannot be opened, a query that is wrong or would change something. Columns of
/// types that frames do not hold.
pub fn query(target: &Target, query: &str, task: &TaskHandle) -> Result<QueryRows, Diagnostic> {
    task.check()?;
    statement::check(query, target.address.kind)?;
    // Files are opened for reading alone.
    let before = match target.address.kind {
        Kind::Postgres => Some("set session characteristics as transaction read only".to_string()),
        Kind::DuckDb => Some("set lock_configuration = true".to_string()),
        Kind::Sqlite => None,
    };
    let work = Work::Query { query: query.to_string(), before };
    let process = Process::start(target, false, work, task)?;
    let rest = Buffer::from_vec(Vec::<u8>::new());
    let schema = SchemaRef::new(Schema::empty());
    let mut rows = QueryRows { process, decoder: StreamDecoder::new(), rest, schema, first: None, is_done: false };
    rows.first = rows.advance()?;
    if let Some(schema) = rows.decoder.schema() {
        rows.schema = schema;
    }
    Ok(rows)
}

impl QueryRows {
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch, or the end.
    fn advance(&mut self) -> Result<Option<RecordBatch>, Diagnostic> {
        while !self.is_done {
            if self.rest.is_empty() {
                match self.process.next()? {
                    Piece::Rows(bytes) => self.rest = Buffer::from_vec(bytes),
                    _ => {
                        self.is_done = true;
                        break;
                    }
                }
            }
            let Self { decoder, rest, .. } = self;
            // The decoder panics at numbers that make no sense.
            let decoded = catch_unwind(AssertUnwindSafe(|| decoder.decode(rest)));
            let strange = |what: String| {
                let message = format!(
                    "the rows of the driver of {} are damaged: {what}",
                    self.process.target.address.kind.name()
                );
                Diagnostic::error(Class::Environment, "driver-died", message)
            };
            match decoded {
                Ok(Ok(Some(batch))) => return Ok(Some(batch)),
                Ok(Ok(None)) => {}
                Ok(Err(error)) => return Err(strange(error.to_string())),
                Err(_) => return Err(strange("their structure makes no sense".to_string())),
            }
        }
        Ok(None)
    }
}

impl Iterator for QueryRows {
    type Item = Result<RecordBatch, Diagnostic>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.first.take() {
            Some(batch) => Some(Ok(batch)),
            None => {
                let next = self.advance();
                // Nothing follows an error.
                self.is_done |= next.is_err();
                next.transpose()
            }
        }
    }
}

/// Rows on their way into a table. Dropped before [`TableWriter::finish`], it writes nothing.
pub struct TableWriter {
    stream: StreamWriter<Process>,
}

impl TableWriter {
    /// Starts to write batches of a schema, in a transaction. Strings and bytes have offsets, not views.
    ///
    /// # Errors
    /// A missing driver, columns of types that the database does not hold.
    pub fn start(
        target: &Target,
        table: &str,
        if_exists: IfExists,
        schema: &Schema,
        task: &TaskHandle,
    ) -> Result<TableWriter, Diagnostic> {
        if let Some(field) = schema.fields().iter().find(|field| !is_written(field, target.address.kind)) {
            let failure = Failure::unsupported(field.name(), onrush_frame::dtype_to_wire(field.data_type()));
            return Err(unwritten(target, &failure));
        }
        let work = Work::Insert { table: table.to_string(), if_exists };
        let process = Process::start(target, true, work, task)?;
        let stream = StreamWriter::try_new(process, schema);
        let stream = stream.map_err(|e| Diagnostic::error(Class::Internal, "internal", e.to_string()))?;
        Ok(TableWriter { stream })
    }

    /// Writes some rows; the task is only asked whether it goes on.
    pub fn write(&mut self, batch: &RecordBatch, task: &TaskHandle) -> Result<(), Diagnostic> {
        self.stream.get_mut().task = task.clone();
        task.check()?;
        match self.stream.write(batch) {
            Ok(()) => Ok(()),
            // The driver has given up, and says why.
            Err(error) => Err(self.reason(&io::Error::other(error))),
        }
    }

    /// Waits until the rows are in the table.
    pub fn finish(mut self) -> Result<(), Diagnostic> {
        if let Err(error) = self.stream.finish() {
            return Err(self.reason(&io::Error::other(error)));
        }
        match self.stream.get_mut().next()? {
            Piece::Done => Ok(()),
            _ => Err(self.stream.get_mut().ended(&io::Error::other("it sent rows"))),
        }
    }

    fn reason(&mut self, error: &io::Error) -> Diagnostic {
        let process = self.stream.get_mut();
        if let Err(cancelled) = process.task.check() {
            return cancelled.into();
        }
        match process.next() {
            Err(diagnostic) => diagnostic,
            Ok(_) => process.ended(error),
        }
    }
}

/// Whether a database has a place for a column.
fn is_written(field: &Field, kind: Kind) -> bool {
    match field.data_type() {
        DataType::Decimal128(..) | DataType::Time32(_) | DataType::Time64(_) => kind != Kind::Sqlite,
        dtype => !dtype.is_nested() && !matches!(dtype, DataType::Duration(_) | DataType::Interval(_)),
    }
}

fn unwritten(target: &Target, failure: &Failure) -> Diagnostic {
    let message = format!("{failure}, which is not written to {}", target.address.kind.name());
    Diagnostic::error(Class::Plan, "unsupported-type", message)
        .help("cast it first, for example to a string or a float, or leave it out")
}

/// A failure of the driver as the user reads it.
fn diagnostic(target: &Target, failure: &Failure) -> Diagnostic {
    let (kind, database) = (target.address.kind, target.name());
    let (stage, message) = match failure {
        Failure::Unsupported { .. } => {
            return Diagnostic::error(Class::Data, "unsupported-type", format!("{failure}, which frames do not hold"))
                .help("cast it in the query, for example `cast(x as varchar)`");
        }
        Failure::Driver { stage, message, .. } => (*stage, target.public(&sentence(message))),
    };
    let name = kind.name();
    let error = |class, code: &'static str, what: String| Diagnostic::error(class, code, what);
    match stage {
        Stage::Load => {
            let mut error =
                error(Class::Environment, "driver", format!("the driver of {name} cannot be loaded: {message}"));
            if kind == Kind::DuckDb && message.contains("libpython") {
                error = error.help(
                    "DuckDB's Python module needs the shared library of Python; or let ONRUSH_ADBC_DUCKDB name a \
                     `libduckdb.so`",
                );
            }
            error.help(format!("`pip install --force-reinstall {}` may repair it", drivers::package(kind)))
        }
        Stage::Open => {
            let error = error(Class::Environment, "no-database", format!("`{database}` cannot be opened: {message}"));
            match kind {
                Kind::DuckDb if message.contains("lock") => {
                    error.help("another program has the file open for writing: close its connection first")
                }
                Kind::Postgres => error.help("check the host, the user, the password and the name of the database"),
                _ => error,
            }
        }
        Stage::Query => error(Class::Plan, "database-query", format!("{name} refuses the query: {message}")),
        Stage::Rows => {
            let error =
                error(Class::Data, "database-query", format!("{name} failed while it ran the query: {message}"));
            match message.contains("Type mismatch") {
                true => error.help("the column has values of several types: cast it in the query, `cast(x as text)`"),
                false => error,
            }
        }
        Stage::Write => {
            let error = error(Class::Data, "database-write", format!("the rows were not written to {name}: {message}"));
            match message.contains("already exists") {
                true => {
                    error.help("`.if_exists(\"replace\")` or `.if_exists(\"append\")` writes to a table that is there")
                }
                false => error,
            }
        }
    }
}

/// A message of a driver on one line: without its name in brackets, without the query and without a full stop.
fn sentence(message: &str) -> String {
    let message = ["\nquery:", "\nQuery was:", "\nLINE 1:"]
        .iter()
        .fold(message, |text, end| text.split(end).next().unwrap_or(text));
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((_, rest)) => rest,
        None => line.as_str(),
    };
    let line = ["Failed to prepare query: ", "Failed to step query: "]
        .iter()
        .find_map(|start| line.strip_prefix(start))
        .unwrap_or(line);
    line.trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages are those of the drivers of SQLite and PostgreSQL 1.13 and of DuckDB 2.0.
    #[test]
    fn messages_of_drivers_are_sentences() {
        for (message, expected) in [
            ("[SQLite] Failed to prepare query: no such table: t\nquery: select * from t", "no such table: t"),
            (
                "Failed to prepare query: ERROR:  column \"a\" does not exist\nLINE 1: select a\n   ^\nQuery was:select a",
                "ERROR: column \"a\" does not exist",
            ),
            (
                "Parser Error: syntax error at or near \"selec\"\n\nLINE 1: selec 1\n^^",
                "Parser Error: syntax error at or near \"selec\"",
            ),
            ("attempt to write a readonly database.", "attempt to write a readonly database"),
        ] {
            assert_eq!(sentence(message), expected);
        }
    }
}
