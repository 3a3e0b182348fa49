//! `onrush`: the Jupyter kernel and its command line. The only crate that knows Jupyter.

mod cli;
mod doctor;
mod install;
mod iopub;
mod kernel;
mod kit;
mod log;
mod message;
mod notebook;
mod outbox;
mod run;
mod session;

fn main() -> std::process::ExitCode {
    cli::main()
}
