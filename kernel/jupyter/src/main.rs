//! `onrush`: the Jupyter kernel and its command line. The only crate that knows Jupyter.

mod cli;
mod cluster;
mod doctor;
mod install;
mod iopub;
mod kernel;
mod log;
mod message;
mod notebook;
mod options;
mod prelude_build;
mod run;
mod send_queue;
mod session;

fn main() -> std::process::ExitCode {
    cli::main()
}
