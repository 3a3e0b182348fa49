//! `onrush-session worker-node`: a worker of a cluster.

use std::path::PathBuf;
use std::process::ExitCode;

use onrush_engine::WorkerOptions;
use onrush_wire::limits;

const HELP: &str = "\
A worker of a cluster: runs parts of the queries of those who have its token. One for each machine.

Usage: onrush-session worker-node --listen HOST:PORT [--threads N] [--memory BYTES] [--spill FOLDER]
                                  [--stdin]
       onrush-session worker-node --new-token

  --listen HOST:PORT   where to listen, as 0.0.0.0:7433; port 0 is a free one, which is printed
  --threads N          tasks that compute at once (default: the cores of the machine)
  --memory SIZE        memory of all tasks before they spill, as 8GB (default: ONRUSH_MEMORY, else half of the machine's)
  --spill FOLDER       where they spill (default: the folder for temporary files)
  --stdin              read the token from the first line of the standard input, and end where the input ends
  --new-token          print a new token, for ONRUSH_TOKEN or ~/.config/onrush/token on each machine

The token is read from ONRUSH_TOKEN, else from ~/.config/onrush/token. Connections are encrypted with keys that are
derived from it. Nobody without it gets one.
";

/// Runs until the process is ended.
pub fn run(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let mut options = WorkerOptions {
        listen: String::new(),
        threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
        memory: limits::session_memory(),
        spill: None,
    };
    let mut token = None;
    while let Some(argument) = arguments.next() {
        let mut value = |name: &str| arguments.next().ok_or_else(|| format!("{name} needs a value"));
        let read = match argument.as_str() {
            "--listen" => value("--listen").map(|v| options.listen = v),
            "--threads" => value("--threads").and_then(|v| {
                options.threads =
                    v.parse().ok().filter(|n| *n > 0).ok_or(format!("--threads {v}: not a number above 0"))?;
                Ok(())
            }),
            "--memory" => value("--memory").and_then(|v| {
                options.memory = limits::parse_size(&v).ok_or(format!("--memory {v}: not a size, as 8GB is"))?;
                Ok(())
            }),
            "--spill" => value("--spill").map(|v| options.spill = Some(PathBuf::from(v))),
            "--stdin" => token_of_stdin().map(|read| token = Some(read)),
            "--new-token" => {
                return match onrush_wire::cluster::new_token() {
                    Ok(token) => {
                        println!("{token}");
                        ExitCode::SUCCESS
                    }
                    Err(error) => {
                        eprintln!("onrush-session worker-node: {error}");
                        ExitCode::FAILURE
                    }
                };
            }
            "--help" | "-h" => {
                print!("{HELP}");
                return ExitCode::SUCCESS;
            }
            other => Err(format!("unknown argument `{other}`")),
        };
        if let Err(error) = read {
            eprintln!("onrush-session worker-node: {error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    }
    if options.listen.is_empty() {
        eprintln!("onrush-session worker-node: --listen HOST:PORT is missing\n\n{HELP}");
        return ExitCode::from(2);
    }
    let size = limits::size(options.memory);
    let threads = options.threads;
    let ready = |address| {
        println!("listening on {address}: {threads} threads, {size}");
    };
    match onrush_engine::serve_worker(&options, token.as_deref(), ready) {
        Ok(()) => ExitCode::SUCCESS,
        Err(diagnostic) => {
            eprintln!("onrush-session worker-node: {diagnostic}");
            ExitCode::FAILURE
        }
    }
}

/// Reads the token from the first line of the standard input. The process ends when the input ends: the program that
/// started it holds the other end.
fn token_of_stdin() -> Result<String, String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|e| format!("--stdin: {e}"))?;
    let wait = || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        #[expect(clippy::disallowed_methods, reason = "tasks may still run for a session that is gone")]
        std::process::exit(0);
    };
    std::thread::Builder::new().name("stdin".into()).spawn(wait).map_err(|e| format!("--stdin: {e}"))?;
    Ok(line)
}
