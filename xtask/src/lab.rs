//! `cargo xtask lab`: from a fresh clone to JupyterLab at the tour.

mod build;

use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::thread;
use std::time::Instant;

use clap::Args;

use crate::process::{self, Failure};
use crate::progress;
use crate::python;
use crate::web;
use crate::workspace::Workspace;

pub use build::run as build;

const TOUR: &str = "01-tour.ipynb";
/// The first run on 2 cores: docs/measurements/builds-and-tests.md.
const MINUTES: u32 = 25;
const GIGABYTES: u32 = 7;

#[derive(Args)]
pub struct LabArguments {
    /// Serve, print the address, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Port to serve on [default: the first free one from 8888]
    #[arg(long)]
    port: Option<u16>,
    /// Build and install everything, but do not start JupyterLab
    #[arg(long)]
    prepare: bool,
}

pub fn run(workspace: &Workspace, options: &LabArguments) -> Result<(), Failure> {
    let start = Instant::now();
    check_tools(workspace)?;
    python::check(workspace)?;
    let port = choose_port(options.port)?;
    if workspace.binary("onrush-session").is_file() {
        eprintln!("Onrush was built here before: this takes from a few seconds to a few minutes.");
    } else {
        eprintln!(
            "The first time takes about {MINUTES} minutes on 2 idle cores, most of it the build of the query engine, and \
             {GIGABYTES} GB of disk,\nmost of it under {}. The next time takes seconds.",
            workspace.target.display()
        );
    }

    process::stage(start, "1 of 5: a node for the front end");
    web::prepare(workspace);
    // Downloading packages and compiling use different resources of the machine.
    let installed = thread::scope(|scope| {
        process::stage(start, "2 and 3 of 5: the Python environment in .venv, and Onrush");
        let environment = scope.spawn(|| {
            let prepared = python::prepare(workspace, &[python::LAB]);
            if prepared.is_ok() {
                progress::note("    the Python environment is ready");
            }
            prepared
        });
        let built = build(workspace);
        let prepared = environment.join().unwrap_or_else(|_| Err(Failure::new("preparing .venv panicked")));
        built.and(prepared)
    });
    installed?;

    process::stage(start, "4 of 5: the prelude, which notebook cells use");
    process::run("onrush kit", workspace.command(workspace.binary("onrush")).arg("kit"))?;
    process::run(
        "onrush install",
        workspace.command(workspace.binary("onrush")).arg("install").arg("--prefix").arg(workspace.venv()),
    )?;
    if options.prepare {
        process::stage(start, "Everything is there: `cargo xtask lab` starts JupyterLab");
        return Ok(());
    }

    process::stage(start, "5 of 5: JupyterLab; end it with Ctrl-C");
    serve(workspace, options.no_open, port)
}

/// Fails with the package to install if there is no Rust compiler or no linker.
pub fn check_tools(workspace: &Workspace) -> Result<(), Failure> {
    let works = |program: &str| workspace.command(program).arg("--version").output().is_ok_and(|o| o.status.success());
    if !works("rustc") {
        return Err(Failure::new(
            "rustc is missing\nhelp: Onrush compiles cells with it: install Rust from https://rustup.rs",
        ));
    }
    if !works("cc") {
        return Err(Failure::new(
            "there is no C compiler and linker (cc)\nhelp: on Debian and Ubuntu, apt install build-essential",
        ));
    }
    Ok(())
}

fn serve(workspace: &Workspace, no_open: bool, port: u16) -> Result<(), Failure> {
    let token = token()?;
    let address = format!("http://localhost:{port}/lab/tree/{TOUR}?token={token}");
    let mut jupyter = workspace.command(python::python(workspace));
    jupyter
        .args(["-m", "jupyterlab", TOUR, "--log-level=WARN", "--ServerApp.port_retries=0"])
        .arg(format!("--ServerApp.port={port}"))
        // In the environment, because arguments can be read by every user of the machine.
        .env("JUPYTER_TOKEN", &token)
        .current_dir(workspace.root.join("notebooks"));
    if no_open {
        jupyter.arg("--no-browser");
    }
    if is_root() {
        jupyter.arg("--allow-root");
    }
    // Prints the address when the server answers. It is a separate child, because this process becomes Jupyter, so that
    // a signal to it is a signal to Jupyter.
    let mut announcer = workspace.command(python::python(workspace));
    announcer.args(["-c", ANNOUNCE]).arg(port.to_string()).arg(&address);
    announcer.spawn().map_err(|e| Failure::io("python could not be started", e))?;
    Err(Failure::io("JupyterLab could not be started", jupyter.exec()))
}

/// Waits for the server as long as the parent lives.
const ANNOUNCE: &str = r#"
import os, socket, sys, time
parent = os.getppid()
while os.getppid() == parent:
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", int(sys.argv[1]))) == 0:
            print(f"\n    {sys.argv[2]}\n", flush=True)
            break
    time.sleep(0.1)
"#;

/// The requested port, or the first free one from the default of Jupyter.
fn choose_port(wanted: Option<u16>) -> Result<u16, Failure> {
    let free = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    match wanted {
        Some(port) if free(port) => Ok(port),
        Some(port) => Err(Failure::new(format!("port {port} is taken\nhelp: leave --port out to get a free one"))),
        None => (8888..8988)
            .find(|port| free(*port))
            .ok_or_else(|| Failure::new("all ports from 8888 to 8987 are taken\nhelp: choose one with --port")),
    }
}

/// 128 random bits: anyone with the token can run code here.
fn token() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|e| Failure::io("/dev/urandom", e))?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

pub fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0)
}
