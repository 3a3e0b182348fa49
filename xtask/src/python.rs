//! The Python environment in `.venv`: JupyterLab for people, and the tools of the tests. Made once, and again when the
//! committed requirements change.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{self, Failure};
use crate::progress;
use crate::workspace::Workspace;

/// Lists of pinned packages, in `xtask/`.
pub const LAB: &str = "requirements-lab.txt";
/// Only if the machine has no node.
pub const NODE: &str = "requirements-node.txt";
pub const TESTS: &str = "requirements-test.txt";
pub const WHEEL: &str = "requirements-wheel.txt";
/// Peers of the benchmark of models.
pub const LEARN: &str = "requirements-learn.txt";
/// Peers of the benchmark of graphs.
pub const GRAPH: &str = "requirements-graph.txt";
/// The peer of the benchmark of rasters.
pub const DASHBOARD: &str = "requirements-dashboard.txt";
/// The readers and the writer of workbooks of the peers of the benchmark of files.
pub const FILES: &str = "requirements-files.txt";
/// The peer of the benchmark of clusters.
pub const CLUSTER: &str = "requirements-cluster.txt";
/// The generator of the tables of the TPC-H benchmark.
pub const TPCH: &str = "requirements-tpch.txt";

/// Fails with the name of the package to install if Python cannot make virtual environments.
pub fn check(workspace: &Workspace) -> Result<(), Failure> {
    let mut python = workspace.command("python3");
    python.args(["-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 10), sys.version"]);
    match python.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().last().unwrap_or("it gave no reason").to_string();
            Err(Failure::new(format!(
                "python3 cannot make a virtual environment ({why})\n\
                 help: Python 3.10 or newer with venv is needed: on Debian and Ubuntu, apt install python3-venv"
            )))
        }
        Err(error) => Err(Failure::new(format!(
            "python3 could not be started ({error})\nhelp: on Debian and Ubuntu, apt install python3 python3-venv"
        ))),
    }
}

/// Makes `.venv` if it does not exist, and installs the missing packages of `lists`.
pub fn prepare(workspace: &Workspace, lists: &[&str]) -> Result<(), Failure> {
    let venv = workspace.venv();
    if !works(workspace, &venv) {
        let mut python = workspace.command("python3");
        python.args(["-m", "venv", "--clear"]).arg(&venv);
        process::run_quietly("making .venv", &mut python)?;
    }
    for list in lists {
        let path = workspace.root.join("xtask").join(list);
        let wanted = fs::read_to_string(&path).map_err(|e| Failure::io(path.display(), e))?;
        let stamp = venv.join(format!("onrush-{list}"));
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            continue;
        }
        progress::note(&format!("    installing {list} into .venv"));
        let mut pip = workspace.command(python(workspace));
        pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--quiet", "-r"]).arg(&path);
        process::run_quietly(&format!("pip install -r xtask/{list}"), &mut pip).map_err(|failure| {
            Failure::new(format!(
                "{failure}\nhelp: the packages come from the Python package index: is there a network?"
            ))
        })?;
        fs::write(&stamp, wanted).map_err(|e| Failure::io(stamp.display(), e))?;
    }
    Ok(())
}

pub fn python(workspace: &Workspace) -> PathBuf {
    workspace.venv().join("bin/python")
}

/// A moved clone or an upgraded Python leaves an environment that cannot start.
fn works(workspace: &Workspace, venv: &Path) -> bool {
    let mut pip = workspace.command(python(workspace));
    pip.args(["-c", "import pip, sys; print(sys.prefix)"]);
    pip.output().is_ok_and(|output| {
        let prefix = String::from_utf8_lossy(&output.stdout).trim().to_string();
        output.status.success() && fs::canonicalize(prefix).ok() == fs::canonicalize(venv).ok()
    })
}
