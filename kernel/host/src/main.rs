//! `onrush-cell`, the cell process: loads compiled cells, holds the variables, and forks a sleeping snapshot of itself before
//! each cell. The kernel process starts it and is the only one that talks to it.
//!
//! It starts no threads and knows neither rustc nor Jupyter nor the session.

mod crash;
mod run;
mod snapshot;
mod stdio;

use std::io;

use onrush::host::{self, CONTROL_FD, Context, LIFETIME_FD, OUTPUT_FD, Store};
use onrush_wire::codec::{CodecError, read_message, write_message};
use onrush_wire::host::{FromHost, ToHost};

fn main() {
    if let Err(error) = prepare() {
        eprintln!("onrush-cell is started by the Onrush kernel, not by hand: {error}");
        std::process::exit(2);
    }
    let mut store = Store::new();
    loop {
        match serve(&mut store) {
            Ok(Turn::Again) => {}
            Ok(Turn::End) | Err(CodecError::Closed) => stdio::exit(0),
            Err(_) => stdio::exit(3),
        }
    }
}

enum Turn {
    Again,
    End,
}

/// Takes the descriptors over and makes this process safe to leave alone.
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
    crash::install();
    run::install_panic_hook();
    stdio::start();
    Ok(())
}

fn serve(store: &mut Store) -> Result<Turn, CodecError> {
    let mut control = snapshot::control();
    match read_message::<ToHost>(&mut *control)? {
        ToHost::Configure { notebook, generation, session_socket } => {
            host::configure(Context { notebook, generation, session_socket });
            write_message(&mut *control, &FromHost::Ready { pid: std::process::id(), generation })?;
        }
        ToHost::Run { library, entry, .. } => match snapshot::take() {
            snapshot::Fork::Runner { wake, pid } => {
                snapshot::send_with_descriptor(&FromHost::Started { snapshot_pid: Some(pid), reason: None }, wake)?;
                let finished = run::run(store, &library, &entry);
                write_message(&mut *control, &FromHost::Finished(finished))?;
                snapshot::reap(pid);
            }
            // The cell failed: this process is the cell process now, and the kernel process configures it.
            snapshot::Fork::TookOver => {}
            snapshot::Fork::Failed(reason) => {
                write_message(&mut *control, &FromHost::Started { snapshot_pid: None, reason: Some(reason) })?;
                let finished = run::run(store, &library, &entry);
                write_message(&mut *control, &FromHost::Finished(finished))?;
            }
        },
        ToHost::Forget { names } => {
            store.forget(&names);
            write_message(&mut *control, &FromHost::Variables(store.variables()))?;
        }
        ToHost::Shutdown => return Ok(Turn::End),
        // Answers to questions that nobody waits for any more.
        ToHost::InputReply(_) | ToHost::Answer(_) => {}
    }
    Ok(Turn::Again)
}
