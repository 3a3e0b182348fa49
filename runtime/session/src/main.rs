//! `onrush-session`: the session's executable. `serve` is the supervisor (in the background unless `--foreground`),
//! `engine` the child process that it starts for itself, `worker` what a cell process starts for the kernels of
//! `%%cuda` cells, `driver` what the engine starts for a query of a database, `probe` says which devices there are.
//! `worker-node` runs tasks of clusters' queries.

mod worker_node;

use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use onrush_session::engine;
use onrush_session::supervisor::{self, Options};
use onrush_wire::paths;

/// Planning makes and drops many small values: with it plans are made a tenth faster than with glibc's
/// (docs/measurements/calls-and-planning.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HELP: &str = "\
The Onrush session: holds the dataframes of notebooks. Started on demand; seldom by hand.

Usage: onrush-session [serve] [--socket PATH] [--idle SECONDS] [--foreground]
       onrush-session worker-node --listen HOST:PORT    (see `onrush-session worker-node --help`)

  --socket PATH    where to listen (default: ONRUSH_SESSION, else session.sock in the runtime folder)
  --idle SECONDS   end after so many seconds with nobody attached (default: ONRUSH_IDLE, else 60)
  --foreground     stay in the terminal
";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    match arguments.peek().map(String::as_str) {
        Some("engine") => return engine_role(),
        Some(onrush_wire::worker::ROLE) => return worker_role(),
        Some("worker-node") => return worker_node::run(arguments.skip(1)),
        Some(onrush_databases::ROLE) => return onrush_databases::serve(),
        // For `onrush doctor`, which links no CUDA.
        Some("probe") => {
            onrush_gpu::probe().iter().for_each(|line| println!("{line}"));
            return ExitCode::SUCCESS;
        }
        Some("serve") => {
            arguments.next();
        }
        _ => {}
    }
    let mut options = Options { socket: paths::session_socket(), idle: paths::idle(), detached: false };
    let mut foreground = false;
    while let Some(argument) = arguments.next() {
        let mut value = |name: &str| arguments.next().ok_or_else(|| format!("{name} needs a value"));
        let result = match argument.as_str() {
            "--socket" => value("--socket").map(|v| options.socket = PathBuf::from(v)),
            "--idle" => value("--idle").and_then(|v| {
                let seconds: f64 = v.parse().map_err(|_| format!("--idle {v}: not a number of seconds"))?;
                options.idle = Duration::try_from_secs_f64(seconds).map_err(|e| format!("--idle {v}: {e}"))?;
                Ok(())
            }),
            "--foreground" => {
                foreground = true;
                Ok(())
            }
            // What `serve` starts itself with.
            "--detached" => {
                options.detached = true;
                Ok(())
            }
            "--help" | "-h" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            "--version" | "-V" => {
                println!("onrush-session {}", env!("ONRUSH_VERSION"));
                return ExitCode::SUCCESS;
            }
            other => Err(format!("unknown argument `{other}`")),
        };
        if let Err(error) = result {
            eprintln!("onrush-session: {error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    }
    let result = match foreground || options.detached {
        true => supervisor::serve(&options),
        false => supervisor::start_in_background(&options),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(diagnostic) => {
            eprintln!("onrush-session: {diagnostic}");
            ExitCode::FAILURE
        }
    }
}

fn worker_role() -> ExitCode {
    match onrush_worker::serve() {
        Ok(()) => ExitCode::SUCCESS,
        // The cell process was told.
        Err(_) => ExitCode::FAILURE,
    }
}

fn engine_role() -> ExitCode {
    let stream = match std::io::stdin().as_fd().try_clone_to_owned() {
        Ok(descriptor) => UnixStream::from(descriptor),
        Err(error) => {
            eprintln!("onrush-session engine: no socket: {error}");
            return ExitCode::FAILURE;
        }
    };
    match engine::serve(stream) {
        #[expect(clippy::disallowed_methods, reason = "threads may still compute for callers that are gone")]
        Ok(()) => std::process::exit(0),
        Err(diagnostic) => {
            eprintln!("onrush-session engine: {diagnostic}");
            ExitCode::FAILURE
        }
    }
}
