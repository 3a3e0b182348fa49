//! `cargo xtask lint`, and the area `lint` of the tests: clippy, rustdoc and cargo-deny, each with warnings as errors.
//! The rules of the repository that no such tool knows are in `tidy`.

use std::process::Command;

use crate::process::{self, Failure, Transcript};
use crate::workspace::Workspace;

/// The crates that cells link. They never share a cargo invocation with the rest: see `Cargo.toml`.
const PRELUDE: [&str; 3] = ["onrush-macros", "onrush", "onrush-host"];

/// Runs every linter, one after the other, and goes on after one that finds something.
pub fn check(workspace: &Workspace) -> Result<Vec<Transcript>, Failure> {
    let mut transcripts = Vec::new();
    for (what, mut command) in commands(workspace) {
        transcripts.push(process::run_recorded(what, &mut command)?);
    }
    Ok(transcripts)
}

fn commands(workspace: &Workspace) -> Vec<(&'static str, Command)> {
    let prelude = |cargo: &mut Command| PRELUDE.iter().for_each(|name| _ = cargo.args(["--package", name]));

    let rest_of_workspace = |cargo: &mut Command| {
        cargo.arg("--workspace");
        PRELUDE.iter().for_each(|name| _ = cargo.args(["--exclude", name]));
    };

    let mut rest = workspace.cargo();
    rest.args(["clippy", "--all-targets"]);
    rest_of_workspace(&mut rest);
    rest.args(["--", "--deny", "warnings"]);
    let mut cells = workspace.cargo();
    cells.args(["clippy", "--all-targets"]);
    prelude(&mut cells);
    cells.args(["--", "--deny", "warnings"]);

    let mut docs = workspace.cargo();
    docs.env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links").args([
        "doc",
        "--no-deps",
        "--document-private-items",
    ]);
    rest_of_workspace(&mut docs);
    let mut cell_docs = workspace.cargo();
    cell_docs
        .env("RUSTDOCFLAGS", "--deny warnings --allow rustdoc::private_intra_doc_links")
        .args(["doc", "--no-deps"]);
    prelude(&mut cell_docs);

    let mut all = vec![
        ("clippy", rest),
        ("clippy of the prelude", cells),
        ("rustdoc", docs),
        ("rustdoc of the prelude", cell_docs),
    ];
    let installed = workspace.cargo().args(["deny", "--version"]).output().is_ok_and(|o| o.status.success());
    if installed {
        let mut deny = workspace.cargo();
        // The advisory database is a download that not every machine can make.
        deny.args(["deny", "--offline", "check", "bans", "licenses", "sources"]);
        all.push(("cargo deny", deny));
    }
    all
}
