//! `onrush cluster`: starts the workers of a cluster, on this machine or over SSH, and ends them with itself.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use clap::Subcommand;
use onrush_wire::cluster::new_token;
use onrush_wire::{limits, paths};

use crate::session;

#[derive(Subcommand)]
pub enum Command {
    /// Start workers and stay until Ctrl-C, which ends them
    ///
    /// Without hosts the workers run on this machine. With hosts one runs on each, started over SSH: Onrush must be
    /// installed there in the same version. The token is that of ONRUSH_TOKEN, else of ~/.config/onrush/token, which is
    /// made if there is none.
    Up {
        /// Machines to start workers on, as `gpu1,gpu2`, or a file with one in each line
        #[arg(value_name = "HOSTS")]
        hosts: Option<String>,
        /// Workers on this machine
        #[arg(long, default_value_t = 2, conflicts_with = "hosts", value_parser = clap::value_parser!(u16).range(1..=64))]
        workers: u16,
        /// The port of the first worker; the next ones follow on this machine
        #[arg(long, default_value_t = 7433, value_parser = clap::value_parser!(u16).range(1..=65_000))]
        port: u16,
        /// Threads of each worker; default: the cores of its machine, divided among its workers
        #[arg(long)]
        threads: Option<usize>,
        /// Memory of each worker before it spills, as 8GB; default: half of its machine's, divided among its workers
        #[arg(long, value_name = "SIZE")]
        memory: Option<String>,
    },
    /// Print a new token
    Token,
}

pub fn run(command: &Command) -> Result<(), String> {
    match command {
        Command::Token => {
            println!("{}", new_token().map_err(|e| e.to_string())?);
            Ok(())
        }
        Command::Up { hosts, workers, port, threads, memory } => {
            let mut options = Vec::new();
            if let Some(threads) = threads {
                options.extend(["--threads".to_string(), threads.to_string()]);
            } else if hosts.is_none() {
                let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
                options.extend(["--threads".to_string(), (cores / usize::from(*workers)).max(1).to_string()]);
            }
            if let Some(memory) = memory {
                options.extend(["--memory".to_string(), memory.clone()]);
            } else if hosts.is_none() {
                let bytes = limits::session_memory() / u64::from(*workers);
                options.extend(["--memory".to_string(), bytes.to_string()]);
            }
            up(hosts.as_deref(), *workers, *port, &options)
        }
    }
}

/// Starts the workers, says how to connect to them, and waits until one of them ends.
fn up(hosts: Option<&str>, workers: u16, port: u16, options: &[String]) -> Result<(), String> {
    let token = token()?;
    let mut started = Vec::new();
    match hosts {
        Some(hosts) => {
            for host in listed(hosts)? {
                let mut command = std::process::Command::new("ssh");
                // The token goes through the standard input, where nobody sees it, and the worker ends with it.
                let remote = format!(
                    "exec onrush session worker-node --listen 0.0.0.0:{port} --stdin {}",
                    options
                        .iter()
                        .map(|option| format!("'{}'", option.replace('\'', "")))
                        .collect::<Vec<_>>()
                        .join(" ")
                );
                command.args([
                    "-o",
                    "BatchMode=yes",
                    "-o",
                    "ConnectTimeout=10",
                    "-o",
                    "ServerAliveInterval=15",
                    &host,
                    &remote,
                ]);
                let name = host.rsplit_once('@').map_or(host.as_str(), |(_, name)| name).to_string();
                started.push(Worker::start(&format!("{name}:{port}"), command, &token)?);
            }
        }
        None => {
            let program = session::executable().map_err(|diagnostic| diagnostic.to_string())?;
            for number in 0..workers {
                let address = format!("127.0.0.1:{}", port + number);
                let mut command = std::process::Command::new(&program);
                command.args(["worker-node", "--listen", &address, "--stdin"]).args(options);
                started.push(Worker::start(&address, command, &token)?);
            }
        }
    }
    let names: Vec<&str> = started.iter().map(|worker| worker.name.as_str()).collect();
    println!("\nIn a notebook:\n\n    let c = connect(\"onrush://{}\");\n\nCtrl-C ends the workers.", names.join(","));
    loop {
        std::thread::sleep(Duration::from_millis(200));
        for worker in &mut started {
            if let Ok(Some(status)) = worker.child.try_wait() {
                return Err(format!("the worker {} has ended ({status})", worker.name));
            }
        }
    }
}

/// A worker that ends with this process: the process holds the other end of its standard input.
struct Worker {
    name: String,
    child: Child,
}

impl Worker {
    /// Starts a worker and waits until it listens.
    fn start(name: &str, mut command: std::process::Command, token: &str) -> Result<Worker, String> {
        let failed = |e: std::io::Error| format!("the worker {name} could not be started: {e}");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
        if let Some(input) = &mut child.stdin {
            writeln!(input, "{token}").map_err(failed)?;
        }
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output).read_line(&mut line).map_err(failed)?;
        }
        if line.is_empty() {
            let status = child.wait().map_err(failed)?;
            return Err(format!("the worker {name} did not start ({status}): what it said is above"));
        }
        print!("{name}: {line}");
        Ok(Worker { name: name.to_string(), child })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Hosts of a list, or of a file with one in each line. `#` begins a comment.
fn listed(hosts: &str) -> Result<Vec<String>, String> {
    let text = match Path::new(hosts).is_file() {
        true => fs::read_to_string(hosts).map_err(|e| format!("`{hosts}`: {e}"))?,
        false => hosts.replace(',', "\n"),
    };
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let hosts: Vec<String> = lines.filter(|host| !host.is_empty()).map(str::to_string).collect();
    if let Some(wrong) = hosts.iter().find(|host| host.starts_with('-') || host.contains(char::is_whitespace)) {
        return Err(format!("`{wrong}` is not a name of a host"));
    }
    if hosts.is_empty() { Err("the list of hosts is empty".to_string()) } else { Ok(hosts) }
}

/// The token of the environment or of the user's file, which is created if it is missing.
fn token() -> Result<String, String> {
    if let Some(token) = std::env::var(paths::TOKEN).ok().filter(|token| !token.trim().is_empty()) {
        return Ok(token.trim().to_string());
    }
    let file = paths::token_file().ok_or("no home folder was found for the token file: set ONRUSH_TOKEN")?;
    let failed = |e: std::io::Error| format!("`{}`: {e}", file.display());
    match fs::read_to_string(&file) {
        Ok(token) => return Ok(token.trim().to_string()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => return Err(failed(e)),
    }
    let folder = file.parent().unwrap_or(&file);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let token = new_token().map_err(failed)?;
    let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file).map_err(failed)?;
    writeln!(out, "{token}").map_err(failed)?;
    println!("a new token is in {}", file.display());
    Ok(token)
}
