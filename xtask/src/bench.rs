//! `cargo xtask bench`: repeatable measurements. The measuring programs are in `xtask/bench`.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;

use crate::process::{self, Failure};
use crate::workspace::{self, Workspace};
use crate::{lab, python, test};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// How long a cell takes from Enter to its reply, compared with evcxr_jupyter
    Cells,
    /// How long common steps take on the flights data, compared with Polars and DuckDB
    Frames,
    /// How long a list of completions takes, for each kind of place
    Completion,
    /// How long trainings of models take, compared with scikit-learn
    Learn,
    /// How long algorithms on graphs take, compared with NetworKit, igraph and Ursa
    Graph,
    /// How long the group-by and join questions of db-benchmark take, compared with Polars and DuckDB
    H2o,
    /// How long the 22 queries of TPC-H take, compared with Polars and DuckDB
    Tpch,
    /// How long the cells of a notebook take, from files to the 22 queries of TPC-H, compared with DuckDB
    Notebook,
    /// How long a dashboard and a raster of ten million rows take, compared with DuckDB and datashader
    Dashboard,
    /// How long summaries, windows, strings, as-of joins and files take, compared with Polars and DuckDB
    Idioms,
    /// How long each reader and writer of files takes, compared with Polars, DuckDB, pyarrow and pandas
    Files,
    /// How long queries take on a cluster of workers on this machine, compared with the session and with Dask
    Cluster,
    /// How long queries take on a GPU, on the device and as whole calls, compared with libcudf. Without a GPU, whether
    /// they are correct on the emulated device
    Gpu,
}

/// `options` go to the measuring program.
pub fn run(workspace: &Workspace, suite: Suite, out: Option<&Path>, options: &[String]) -> Result<(), Failure> {
    let start = Instant::now();
    lab::check_tools(workspace)?;
    if suite == Suite::Gpu {
        return gpu(workspace, start, out);
    }
    python::check(workspace)?;
    process::stage(start, "Building, and the Python environment");
    lab::build(workspace)?;
    python::prepare(workspace, &[python::LAB, python::TESTS])?;
    match suite {
        Suite::Learn => python::prepare(workspace, &[python::LEARN])?,
        Suite::Graph => python::prepare(workspace, &[python::GRAPH])?,
        Suite::Dashboard => python::prepare(workspace, &[python::DASHBOARD])?,
        Suite::Files => python::prepare(workspace, &[python::FILES])?,
        Suite::Cluster => python::prepare(workspace, &[python::TPCH, python::CLUSTER])?,
        Suite::Notebook | Suite::Tpch => python::prepare(workspace, &[python::TPCH])?,
        _ => {}
    }
    process::run("onrush kit", workspace.command(workspace.binary("onrush")).arg("kit"))?;

    let script = match suite {
        Suite::Cells => "cells.py",
        Suite::Frames => "frames.py",
        Suite::Completion => "completion.py",
        Suite::Learn => "learn.py",
        Suite::Graph => "graph.py",
        Suite::H2o => "h2o.py",
        Suite::Tpch => "tpch.py",
        Suite::Cluster => "cluster.py",
        Suite::Notebook => "notebook.py",
        Suite::Dashboard => "dashboard.py",
        Suite::Idioms => "idioms.py",
        Suite::Files => "files.py",
        Suite::Gpu => return Err(Failure::new("the GPU suite is a separate program")),
    };
    let peer = if suite == Suite::Cells { Some(evcxr(workspace, start)?) } else { None };
    process::stage(start, script);
    let mut bench = workspace.command(python::python(workspace));
    bench.arg(workspace.root.join("xtask/bench").join(script)).env("ONRUSH_BIN", workspace.binary("onrush"));
    if let Some(peer) = peer {
        bench.env("EVCXR_BIN", peer);
    }
    if let Some(out) = out {
        bench.arg("--out").arg(std::path::absolute(out).map_err(|e| Failure::io(out.display(), e))?);
    }
    process::run(script, bench.args(options))
}

/// The program prints a table; `out` gets a copy of it.
fn gpu(workspace: &Workspace, start: Instant, out: Option<&Path>) -> Result<(), Failure> {
    process::stage(start, "Building");
    build_engine(workspace)?;
    let bench = workspace.binary("onrush-gpu-bench");
    let mut probe = workspace.command(&bench);
    probe.args(["--engine", "cuda", "--check", "--only", "mean"]);
    let mut run = workspace.command(&bench);
    match process::run_quietly("the search for a GPU", &mut probe) {
        Ok(_) => run.args(["--engine", "cuda"]),
        Err(reason) => {
            eprintln!(
                "No GPU can be used here: {reason}\nThe queries are checked on the emulated device; `cargo xtask bundle --only engine` packs \
                       what a GPU machine needs."
            );
            run.args(["--engine", "emulated", "--check"])
        }
    };
    let transcript = process::run_recorded("onrush-gpu-bench", &mut run)?;
    if let Some(out) = out {
        std::fs::write(out, transcript.lines.join("\n") + "\n").map_err(|e| Failure::io(out.display(), e))?;
    }
    if transcript.success { Ok(()) } else { Err(Failure::new("the benchmark failed")) }
}

/// The crates with their programs, as the tests build them.
pub fn build_engine(workspace: &Workspace) -> Result<(), Failure> {
    let mut cargo = workspace.cargo();
    cargo.arg("build");
    test::CRATES.iter().for_each(|package| _ = cargo.args(["--package", package]));
    process::run("cargo build", &mut cargo)
}

/// The version of the comparison. It builds with its own lock file only.
const EVCXR: &str = "0.22.0";

/// evcxr_jupyter as its users have it: installed by cargo, optimised.
fn evcxr(workspace: &Workspace, start: Instant) -> Result<PathBuf, Failure> {
    let root = workspace::cache()?.join("bench").join(format!("evcxr-{EVCXR}"));
    let binary = root.join("bin/evcxr_jupyter");
    if !binary.is_file() {
        process::stage(start, &format!("Installing evcxr_jupyter {EVCXR}: about 10 minutes on 2 cores"));
        let mut cargo = workspace.cargo();
        cargo.args(["install", "evcxr_jupyter", "--version", EVCXR, "--locked", "--root"]).arg(&root);
        // None of its dependencies are shared with Onrush: its build is not reused.
        cargo.env("CARGO_TARGET_DIR", root.join("target"));
        process::run("cargo install evcxr_jupyter", &mut cargo)?;
        let _ = std::fs::remove_dir_all(root.join("target"));
    }
    Ok(binary)
}
