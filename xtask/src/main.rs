//! `cargo xtask`: all automation of this repository. Not part of the product: nothing here is linked into it.

mod bench;
mod bundle;
mod corpus;
mod lab;
mod lint;
mod process;
mod progress;
mod python;
mod test;
mod tidy;
mod web;
mod wheel;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::process::Failure;
use crate::workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Builds, tests and measures Onrush", disable_version_flag = true)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Prepares a fresh machine, then opens JupyterLab at the tour
    Lab(lab::LabArguments),
    /// Installs the tools of the tests and runs all tests
    Test {
        /// Run one area only
        #[arg(long, value_enum)]
        only: Option<test::Area>,
    },
    /// Takes a picture of every kind of output in light and in dark, and compares them with the references of the
    /// repository
    Screenshots {
        /// Make the new pictures the references of the repository
        #[arg(long)]
        bless: bool,
    },
    /// Checks the rules of the repository: module docs, crate edges, paths in documents, file sizes and more
    Tidy {
        /// Print how far each crate is from the rules, and rows for the tables of the rules
        #[arg(long)]
        counts: bool,
    },
    /// Runs clippy, rustdoc and, where it is installed, cargo-deny, with warnings as errors
    Lint,
    /// Runs one suite of measurements
    Bench {
        #[arg(value_enum)]
        suite: bench::Suite,
        /// Write the raw numbers there, one JSON object for each line
        #[arg(long, value_name = "FILE")]
        out: Option<std::path::PathBuf>,
        /// Options of the measuring program, such as `-- --only join --threads 1`
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// Runs public corpora of files and queries, and counts right, wrong and refused answers
    Corpus(corpus::Corpora),
    /// Builds Onrush and starts the workers of a cluster: `onrush cluster up` with these options
    Cluster {
        /// Options of `onrush cluster up`, such as `-- --workers 3`, or hosts, as `-- gpu1,gpu2`
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// Packs the built product into files of at most 60 MB, for a machine without Rust or a network
    Bundle {
        /// Pack one bundle only
        #[arg(long, value_enum)]
        only: Option<bundle::Part>,
    },
    /// Builds the wheel for pip: optimised programs, kernelspec, JupyterLab extension, and the crates of the prelude
    Wheel(wheel::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = Workspace::find().and_then(|workspace| match arguments.task {
        Task::Lab(options) => lab::run(&workspace, &options),
        Task::Test { only } => test::run(&workspace, only),
        Task::Screenshots { bless } => test::screenshots(&workspace, bless),
        Task::Tidy { counts: true } => tidy::counts(&workspace),
        Task::Tidy { counts: false } => tidy::run(&workspace),
        Task::Lint => lint(&workspace),
        Task::Bench { suite, out, options } => bench::run(&workspace, suite, out.as_deref(), &options),
        Task::Corpus(options) => corpus::run(&workspace, &options),
        Task::Cluster { options } => cluster(&workspace, &options),
        Task::Bundle { only } => bundle::run(&workspace, only),
        Task::Wheel(options) => wheel::run(&workspace, &options),
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn cluster(workspace: &Workspace, options: &[String]) -> Result<(), Failure> {
    lab::build(workspace)?;
    let mut up = workspace.command(workspace.binary("onrush"));
    process::run("onrush cluster up", up.args(["cluster", "up"]).args(options))
}

fn lint(workspace: &Workspace) -> Result<(), Failure> {
    match lint::check(workspace)?.iter().filter(|transcript| !transcript.success).count() {
        0 => Ok(()),
        failed => Err(Failure::new(format!("{failed} of the linters found something"))),
    }
}
