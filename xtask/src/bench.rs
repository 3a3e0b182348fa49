//! `cargo xtask bench`: measurements that can be repeated. The programs that measure are in `xtask/bench`.

use std::path::Path;
use std::time::Instant;

use clap::ValueEnum;

use crate::process::{self, Failure};
use crate::workspace::Workspace;
use crate::{lab, python};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Suite {
    /// How long a cell takes from Enter to its reply, compiled and from the cache
    Cells,
    /// How long common steps take on the flights data, beside Polars and DuckDB
    Frames,
    /// How long a list of completions takes, for each kind of place
    Completion,
}

pub fn run(workspace: &Workspace, suite: Suite, out: Option<&Path>) -> Result<(), Failure> {
    let start = Instant::now();
    lab::check_tools(workspace)?;
    python::check(workspace)?;
    process::stage(start, "Building, and the Python environment");
    lab::build(workspace)?;
    python::prepare(workspace, &[python::LAB, python::TESTS])?;
    process::run("onrush kit", workspace.command(workspace.binary("onrush")).arg("kit"))?;

    let script = match suite {
        Suite::Cells => "cells.py",
        Suite::Frames => "frames.py",
        Suite::Completion => "completion.py",
    };
    process::stage(start, script);
    let mut bench = workspace.command(python::python(workspace));
    bench.arg(workspace.root.join("xtask/bench").join(script)).env("ONRUSH_BIN", workspace.binary("onrush"));
    if let Some(out) = out {
        bench.arg("--out").arg(std::path::absolute(out).map_err(|e| Failure::io(out.display(), e))?);
    }
    process::run(script, &mut bench)
}
