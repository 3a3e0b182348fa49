//! `onrush-cell`, the cell process: loads compiled cells, holds the variables, and forks a sleeping snapshot of itself
//! before each cell. The kernel process starts it and is the only one that talks to it.
//!
//! It starts no threads and knows neither rustc nor Jupyter nor the session.

mod calls;
mod children;
mod crash;
mod current_cell;
mod files;
mod fork_locks;
mod rayon_pool;
mod rtld_next;
mod run;
mod snapshot;
mod stdio;
mod threads;

use std::io;
use std::os::unix::net::UnixStream;

use onrush::host::{self, CONTROL_FD, Context, LIFETIME_FD, OUTPUT_FD, Store, crash_record};
use onrush_wire::codec::{CodecError, read_message, write_message};
use onrush_wire::host::{Fault, FinishedRun, FromHost, LastWords, ToHost};

fn main() {
    if std::env::args().nth(1).as_deref() == Some("--calls") {
        calls::serve();
    }
    if let Err(error) = prepare() {
        eprintln!("onrush-cell is started by the Onrush kernel, not by hand: {error}");
        #[expect(clippy::disallowed_methods, reason = "nothing is buffered before the first message")]
        std::process::exit(2);
    }
    let mut store = Store::new();
    loop {
        match serve(&mut store) {
            Ok(Turn::Again) => {}
            Ok(Turn::End) | Err(CodecError::Closed) => stdio::exit(0),
            Err(_) => {
                crash_record::fault(Fault::Channel);
                stdio::exit(3)
            }
        }
    }
}

enum Turn {
    Again,
    End,
}

/// Takes the descriptors over and makes this process safe to leave alone.
#[expect(clippy::disallowed_methods, reason = "there is one thread")]
fn prepare() -> io::Result<()> {
    for fd in [CONTROL_FD, OUTPUT_FD, LIFETIME_FD] {
        snapshot::close_on_exec(fd)?;
    }
    snapshot::end_with(LIFETIME_FD)?;
    // The loader has read them; programs that a cell starts should not get ours.
    // SAFETY: there is one thread.
    unsafe {
        std::env::remove_var("LD_LIBRARY_PATH");
        std::env::remove_var("GLIBC_TUNABLES");
    }
    crash_record::start();
    crash::install();
    run::install_panic_hook();
    stdio::start();
    Ok(())
}

/// Runs a cell. A process that the cell has forked ends where the cell ends: the sockets are its parent's.
fn run_alone(store: &mut Store, work: &dyn Fn(&mut Store) -> FinishedRun) -> FinishedRun {
    let own = std::process::id();
    let finished = work(store);
    if std::process::id() != own {
        stdio::exit(if finished.outcome.is_ok() { 0 } else { 101 });
    }
    finished
}

fn serve(store: &mut Store) -> Result<Turn, CodecError> {
    let mut control = snapshot::control();
    match read_message::<ToHost>(&mut *control)? {
        ToHost::Configure { notebook, generation, session_socket } => {
            host::configure(Context { notebook, generation, session_socket });
            let last = LastWords { opened: threads::take_opened(), ..crash_record::read() };
            let ready = FromHost::Ready { pid: std::process::id(), generation, last };
            host::send(|control| write_message(control, &ready))?;
        }
        ToHost::Run { cell, library, entry } => {
            current_cell::begin(cell);
            transaction(store, &mut control, |store| run::run(store, &library, &entry))?
        }
        ToHost::React { cell, change } => {
            current_cell::begin(cell);
            transaction(store, &mut control, |store| run::run_callbacks(store, &change))?
        }
        ToHost::DropControls { ids } => run::drop_controls(&ids),
        ToHost::Forget { cell, names } => {
            current_cell::begin(cell);
            transaction(store, &mut control, |store| run::forget(store, &names))?
        }
        ToHost::Shutdown => return Ok(Turn::End),
        // Messages to a cell without a snapshot, and answers to questions that nobody waits for any more.
        ToHost::Committed | ToHost::InputReply(_) | ToHost::Answer(_) | ToHost::ControlSetting(_) => {}
    }
    Ok(Turn::Again)
}

/// Runs code of a cell with a snapshot to go back to.
fn transaction(
    store: &mut Store,
    control: &mut UnixStream,
    work: impl Fn(&mut Store) -> FinishedRun,
) -> Result<(), CodecError> {
    crash_record::begin();
    let (threads, held) = (snapshot::other_threads(), snapshot::held());
    match snapshot::take(threads) {
        snapshot::Fork::Runner { wake, pid } => {
            let started = FromHost::Started { snapshot_pid: Some(pid), reason: None, threads, held };
            host::send_begin(|_| snapshot::send_with_descriptor(&started, wake))?;
            let finished = run_alone(store, &work);
            let succeeded = finished.outcome.is_ok();
            host::send_end(|control| write_message(control, &FromHost::Finished(finished)))?;
            // Until the kernel process has said that it stops the cell no more, an interrupt may end this process.
            while succeeded && !matches!(read_message::<ToHost>(control)?, ToHost::Committed) {}
            snapshot::reap(pid, succeeded);
        }
        // The cell failed: this process is the cell process now, and the kernel process configures it.
        snapshot::Fork::TookOver => {
            rayon_pool::forget();
            onrush::host::took_over();
            if threads > 0 {
                threads::abandoned(store);
            }
        }
        snapshot::Fork::Failed(reason) => {
            let started = FromHost::Started { snapshot_pid: None, reason: Some(reason), threads, held };
            host::send_begin(|control| write_message(control, &started))?;
            let finished = run_alone(store, &work);
            host::send_end(|control| write_message(control, &FromHost::Finished(finished)))?;
        }
    }
    Ok(())
}
