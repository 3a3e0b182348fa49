//! The driver process: loads one driver, does one order, and ends. It is alone with the driver, which may crash or
//! hang.

use std::io::{self, BufReader, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use onrush_wire::codec;
use onrush_wire::plan::IfExists;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getpid, kill_process};

use crate::adbc::Driver;
use crate::address::Setting;
use crate::error::{Failure, Stage};
use crate::protocol::{Order, Pieces, Work};
use crate::types::Conversion;

/// Bytes that are sent or received at once.
const BUFFER: usize = 1 << 20;

/// Does the order that comes over the socket, which is standard input.
pub fn serve() -> ExitCode {
    let Ok(socket) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else { return ExitCode::FAILURE };
    match answer(&socket) {
        Ok(()) => ExitCode::SUCCESS,
        // The engine is gone: nobody would read the reason.
        Err(_) => ExitCode::FAILURE,
    }
}

fn answer(socket: &UnixStream) -> io::Result<()> {
    let order: Order = codec::read_message(&mut { socket }).map_err(io::Error::other)?;
    end_with(socket.try_clone()?)?;
    let mut out = Pieces::new(BufWriter::with_capacity(BUFFER, socket.try_clone()?));
    let done = catch_unwind(AssertUnwindSafe(|| work(&order, socket, &mut out)));
    let result = done.unwrap_or_else(|_| Err(Failure::new(Stage::Load, "the driver process failed")));
    out.end(&result)?;
    out.flush()
}

/// Ends this process with the engine: a driver that hangs would never notice.
fn end_with(socket: UnixStream) -> io::Result<()> {
    let watch = move || {
        let closed = poll(&mut [PollFd::new(&socket, PollFlags::RDHUP)], None);
        if closed.is_ok() {
            let _ = kill_process(getpid(), Signal::KILL);
        }
    };
    std::thread::Builder::new().name("engine".into()).spawn(watch).map(drop)
}

fn work(order: &Order, socket: &UnixStream, out: &mut impl Write) -> Result<(), Failure> {
    let driver = Driver::load(&order.driver)?;
    let mut connection = driver.connect(&order.settings)?;
    match &order.work {
        Work::Query { query, before } => {
            if let Some(before) = before {
                connection.execute(before)?;
            }
            let rows = connection.query(query)?;
            let gone = |e: arrow::error::ArrowError| Failure::new(Stage::Rows, e.to_string());
            let conversion = Conversion::of(&rows.schema)?;
            let mut stream = StreamWriter::try_new(&mut *out, &conversion.schema).map_err(gone)?;
            for batch in rows {
                stream.write(&conversion.apply(&batch?)?).map_err(gone)?;
                stream.flush().map_err(gone)?;
            }
            stream.finish().map_err(gone)
        }
        Work::Insert { table, if_exists } => {
            let broken = |e: arrow::error::ArrowError| Failure::new(Stage::Write, e.to_string());
            let input = BufReader::with_capacity(BUFFER, socket.try_clone().map_err(|e| broken(e.into()))?);
            let rows = StreamReader::try_new(input, None).map_err(broken)?;
            let schema = rows.schema();
            let batches = rows.map(|batch| batch.map_err(|e| e.to_string()));
            connection.insert(&target(table, *if_exists), schema, Box::new(batches))
        }
    }
}

/// The options of a statement that writes to a table.
fn target(table: &str, if_exists: IfExists) -> Vec<Setting> {
    let mode = match if_exists {
        IfExists::Fail => "adbc.ingest.mode.create",
        IfExists::Replace => "adbc.ingest.mode.replace",
        IfExists::Append => "adbc.ingest.mode.create_append",
    };
    let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
    vec![pair("adbc.ingest.target_table", table), pair("adbc.ingest.mode", mode)]
}
