//! Allowed dependencies between crates: the shape of the workspace as data, compared with `cargo metadata`.
//!
//! A new edge is an architectural change: it is added here and to ARCHITECTURE.md, and its commit says why.

use serde::Deserialize;

use super::{Finding, Tree, finding};
use crate::process::{self, Failure};
use crate::workspace::Workspace;

/// Crate, and the crates of the workspace that it may depend on. The two towers, `cell`..`jupyter` and
/// `frame`..`session`, meet only in `wire`, `stats`, `map` and `files`.
const EDGES: &[(&str, &[&str])] = &[
    ("onrush-wire", &[]),
    ("onrush-stats", &["onrush-wire"]),
    ("onrush-files", &["onrush-wire"]),
    ("onrush-map", &["onrush-wire"]),
    ("onrush-macros", &["onrush-wire"]),
    ("onrush", &["onrush-macros", "onrush-stats", "onrush-wire"]),
    ("onrush-host", &["onrush", "onrush-wire"]),
    ("onrush-python-cells", &["onrush-wire"]),
    ("onrush-cell", &["onrush-files", "onrush-python-cells", "onrush-wire"]),
    ("onrush-view", &["onrush-files", "onrush-map", "onrush-stats", "onrush-wire"]),
    ("onrush-web", &[]),
    ("onrush-jupyter", &["onrush-cell", "onrush-files", "onrush-view", "onrush-web", "onrush-wire"]),
    ("onrush-device", &[]),
    ("onrush-kernels", &["onrush-device"]),
    ("onrush-features", &[]),
    ("onrush-frame", &["onrush-features", "onrush-wire"]),
    ("onrush-databases", &["onrush-frame", "onrush-wire"]),
    (
        "onrush-io",
        &["onrush-databases", "onrush-files", "onrush-frame", "onrush-graph-io", "onrush-places", "onrush-wire"],
    ),
    ("onrush-places", &["onrush-frame", "onrush-wire"]),
    ("onrush-dense", &[]),
    ("onrush-learn", &["onrush-dense", "onrush-wire"]),
    ("onrush-learn-check", &["onrush-learn", "onrush-wire"]),
    ("onrush-graph", &["onrush-device", "onrush-kernels"]),
    ("onrush-graph-arrow", &["onrush-device", "onrush-frame", "onrush-graph", "onrush-kernels", "onrush-wire"]),
    ("onrush-graph-io", &["onrush-files", "onrush-wire"]),
    ("onrush-ops", &["onrush-device", "onrush-kernels"]),
    ("onrush-expr", &["onrush-frame", "onrush-learn", "onrush-wire"]),
    ("onrush-logical", &["onrush-expr", "onrush-frame", "onrush-wire"]),
    ("onrush-sql", &["onrush-expr", "onrush-frame", "onrush-logical", "onrush-wire"]),
    ("onrush-optimizer", &["onrush-expr", "onrush-logical"]),
    ("onrush-parallel", &["onrush-expr", "onrush-logical"]),
    (
        "onrush-gpu",
        &[
            "onrush-device",
            "onrush-expr",
            "onrush-frame",
            "onrush-kernels",
            "onrush-logical",
            "onrush-ops",
            "onrush-wire",
        ],
    ),
    ("onrush-calls", &["onrush-expr", "onrush-files", "onrush-wire"]),
    (
        "onrush-cluster",
        &[
            "onrush-calls",
            "onrush-expr",
            "onrush-frame",
            "onrush-io",
            "onrush-logical",
            "onrush-parallel",
            "onrush-sql",
            "onrush-wire",
        ],
    ),
    (
        "onrush-engine",
        &[
            "onrush-calls",
            "onrush-cluster",
            "onrush-device",
            "onrush-expr",
            "onrush-frame",
            "onrush-gpu",
            "onrush-io",
            "onrush-kernels",
            "onrush-graph-arrow",
            "onrush-graph",
            "onrush-learn",
            "onrush-logical",
            "onrush-ops",
            "onrush-optimizer",
            "onrush-parallel",
            "onrush-sql",
            "onrush-wire",
        ],
    ),
    (
        "onrush-explore",
        &[
            "onrush-engine",
            "onrush-expr",
            "onrush-frame",
            "onrush-graph",
            "onrush-io",
            "onrush-learn",
            "onrush-logical",
            "onrush-map",
            "onrush-stats",
            "onrush-wire",
        ],
    ),
    // Tests alone, above the engine and views: only they need the device and its operators beside these.
    (
        "onrush-plan-tests",
        &[
            "onrush-device",
            "onrush-engine",
            "onrush-explore",
            "onrush-expr",
            "onrush-frame",
            "onrush-gpu",
            "onrush-io",
            "onrush-learn",
            "onrush-logical",
            "onrush-ops",
            "onrush-optimizer",
            "onrush-parallel",
            "onrush-sql",
            "onrush-wire",
        ],
    ),
    ("onrush-worker", &["onrush-device", "onrush-wire"]),
    (
        "onrush-session",
        &[
            "onrush-databases",
            "onrush-engine",
            "onrush-explore",
            "onrush-expr",
            "onrush-frame",
            "onrush-gpu",
            "onrush-io",
            "onrush-logical",
            "onrush-wire",
            "onrush-worker",
        ],
    ),
    ("onrush-oracle", &["onrush-engine", "onrush-frame", "onrush-wire"]),
    ("xtask", &[]),
];

/// Outside crates (by the start of their names) that only some crates may use.
const OUTSIDE: &[(&str, &[&str], &str)] = &[
    ("jupyter-", &["onrush-jupyter"], "only kernel/jupyter knows Jupyter"),
    ("zeromq", &["onrush-jupyter"], "only kernel/jupyter knows Jupyter"),
    ("syn", &["onrush-cell", "onrush-macros"], "only kernel/cell and kernel/macros parse Rust"),
    ("plotters", &["onrush-view"], "only widgets/view draws"),
    ("resvg", &["onrush-view"], "only widgets/view draws"),
    ("svg2pdf", &["onrush-view"], "only widgets/view draws"),
    ("quick-xml", &["onrush-graph-io"], "only runtime/graph-io reads XML"),
    ("object_store", &["onrush-places"], "only runtime/places knows the network"),
    ("reqwest", &["onrush-places"], "only runtime/places knows the network"),
    ("tonic", &["onrush-cluster"], "only runtime/cluster knows other machines"),
    ("datafusion-distributed", &["onrush-cluster"], "only runtime/cluster knows other machines"),
    ("cudarc", &["onrush-device"], "only runtime/device knows CUDA"),
    (
        "arrow",
        &[
            "onrush",
            "onrush-calls",
            "onrush-cluster",
            "onrush-databases",
            "onrush-engine",
            "onrush-explore",
            "onrush-expr",
            "onrush-frame",
            "onrush-gpu",
            "onrush-graph-arrow",
            "onrush-graph-io",
            "onrush-io",
            "onrush-logical",
            "onrush-ops",
            "onrush-optimizer",
            "onrush-oracle",
            "onrush-parallel",
            "onrush-session",
            "onrush-sql",
        ],
        "the kernel process and the wire know no Arrow",
    ),
    ("parquet", &["onrush-io"], "only runtime/io reads files"),
    (
        "datafusion",
        &[
            "onrush-calls",
            "onrush-cluster",
            "onrush-engine",
            "onrush-expr",
            "onrush-gpu",
            "onrush-io",
            "onrush-logical",
            "onrush-optimizer",
            "onrush-parallel",
            "onrush-sql",
        ],
        "only the crates of plans, from expr to engine, and runtime/io know DataFusion",
    ),
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
pub struct Package {
    name: String,
    manifest_path: std::path::PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `None` for normal dependencies, `dev` or `build`.
    kind: Option<String>,
}

impl Package {
    /// Relative to the root.
    pub fn folder(&self, root: &std::path::Path) -> Option<String> {
        Some(self.manifest_path.parent()?.strip_prefix(root).ok()?.display().to_string())
    }
}

pub fn packages(workspace: &Workspace) -> Result<Vec<Package>, Failure> {
    let mut cargo = workspace.cargo();
    cargo.args(["metadata", "--no-deps", "--format-version=1"]);
    let json = process::run_quietly("cargo metadata", &mut cargo)?;
    let metadata: Metadata =
        serde_json::from_str(&json).map_err(|e| Failure::new(format!("cargo metadata is not understood: {e}")))?;
    Ok(metadata.packages)
}

pub fn crate_edges(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &tree.packages {
        let Some((_, allowed)) = EDGES.iter().find(|(name, _)| *name == package.name) else {
            findings.push(finding(
                "crate-edges",
                place(tree, package),
                format!("the crate `{}` is not in the table of xtask/src/tidy/edges.rs: add it there", package.name),
            ));
            continue;
        };
        for dependency in &package.dependencies {
            let internal = EDGES.iter().any(|(name, _)| *name == dependency.name);
            if internal && !allowed.contains(&dependency.name.as_str()) {
                let kind = dependency.kind.as_deref().unwrap_or("normal");
                findings.push(finding(
                    "crate-edges",
                    place(tree, package),
                    format!("`{}` must not depend on `{}` ({kind} dependency)", package.name, dependency.name),
                ));
            }
        }
    }
    for (name, _) in EDGES {
        if !tree.packages.iter().any(|p| p.name == *name) {
            findings.push(finding(
                "crate-edges",
                "xtask/src/tidy/edges.rs",
                format!("the crate `{name}` is in the table and not in the workspace: take it out"),
            ));
        }
    }
    findings
}

pub fn outside_things(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    // It calls nothing: it only names features.
    for package in tree.packages.iter().filter(|package| package.name != "onrush-features") {
        for dependency in package.dependencies.iter().filter(|d| d.kind.as_deref() != Some("dev")) {
            let matches = |prefix: &str| {
                dependency.name == prefix
                    || dependency.name.starts_with(prefix)
                        && (prefix.ends_with('-') || dependency.name[prefix.len()..].starts_with('-'))
            };
            for (prefix, users, reason) in OUTSIDE.iter().filter(|(prefix, ..)| matches(prefix)) {
                if !users.contains(&package.name.as_str()) {
                    findings.push(finding(
                        "outside-things",
                        place(tree, package),
                        format!("`{}` must not depend on `{}`: {reason} ({prefix})", package.name, dependency.name),
                    ));
                }
            }
        }
    }
    findings
}

/// Folder name = package name without `onrush-`.
pub fn folder_names(tree: &Tree) -> Vec<Finding> {
    tree.packages
        .iter()
        .filter_map(|package| {
            let folder = package.manifest_path.parent()?.file_name()?.to_str()?;
            let expected = package.name.strip_prefix("onrush-").unwrap_or(&package.name);
            (folder != expected).then(|| {
                let message =
                    format!("the package `{}` belongs into a folder `{expected}`, not `{folder}`", package.name);
                finding("folder-names", place(tree, package), message)
            })
        })
        .collect()
}

fn place(tree: &Tree, package: &Package) -> String {
    let path = package.manifest_path.strip_prefix(&tree.root).unwrap_or(&package.manifest_path);
    path.display().to_string()
}
