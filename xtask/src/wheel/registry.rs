//! The crates of the prelude build as a local registry of cargo: the archives, and an index with one line for each
//! version. The format: <https://doc.rust-lang.org/cargo/reference/registry-index.html>.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::{Deserialize, Serialize};

use super::{TRIPLE, make, remove, write as write_text};
use crate::process::Failure;
use crate::workspace::Workspace;

#[path = "../../../kernel/cell/build/manifest.rs"]
mod manifest;

/// The answer of `cargo metadata`.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    source: Option<String>,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    features: BTreeMap<String, Vec<String>>,
    links: Option<String>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    rename: Option<String>,
    req: String,
    kind: Option<String>,
    optional: bool,
    uses_default_features: bool,
    features: Vec<String>,
    target: Option<String>,
}

#[derive(Serialize)]
struct IndexEntry<'a> {
    name: &'a str,
    vers: &'a str,
    deps: Vec<IndexDependency<'a>>,
    cksum: &'a str,
    features: BTreeMap<String, Vec<String>>,
    /// Features of version 2 of the index may say `dep:NAME` and `NAME?/FEATURE`.
    features2: &'a BTreeMap<String, Vec<String>>,
    yanked: bool,
    links: Option<&'a str>,
    v: u32,
}

#[derive(Serialize)]
struct IndexDependency<'a> {
    name: &'a str,
    package: &'a str,
    req: &'a str,
    features: &'a [String],
    optional: bool,
    default_features: bool,
    target: Option<&'a str>,
    kind: &'a str,
}

impl Metadata {
    /// The packages of a workspace that one platform needs, or all platforms.
    fn read(workspace: &Workspace, folder: &Path, platform: Option<&str>) -> Result<Self, Failure> {
        let mut cargo = workspace.cargo();
        cargo
            .args(["metadata", "--format-version=1"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit());
        cargo.args(platform.map(|platform| format!("--filter-platform={platform}")));
        let output = cargo.output().map_err(|e| Failure::io("cargo metadata", e))?;
        serde_json::from_slice(&output.stdout).map_err(|e| Failure::new(format!("cargo metadata: {e}")))
    }
}

impl Package {
    fn entry<'a>(&'a self, checksum: &'a str) -> IndexEntry<'a> {
        let deps = self.dependencies.iter().map(|dependency| IndexDependency {
            name: dependency.rename.as_deref().unwrap_or(&dependency.name),
            package: &dependency.name,
            req: &dependency.req,
            features: &dependency.features,
            optional: dependency.optional,
            default_features: dependency.uses_default_features,
            target: dependency.target.as_deref(),
            kind: dependency.kind.as_deref().unwrap_or("normal"),
        });
        IndexEntry {
            name: &self.name,
            vers: &self.version,
            deps: deps.collect(),
            cksum: checksum,
            features: BTreeMap::new(),
            features2: &self.features,
            yanked: false,
            links: self.links.as_deref(),
            v: 2,
        }
    }

    /// The archive that cargo unpacked: `registry/cache/INDEX/NAME-VERSION.crate` for
    /// `registry/src/INDEX/NAME-VERSION/Cargo.toml`.
    fn archive(&self) -> Option<PathBuf> {
        let source = self.manifest_path.parent()?;
        let index = source.parent()?;
        let cache = index.parent()?.parent()?.join("cache").join(index.file_name()?);
        Some(cache.join(self.archive_name()))
    }

    fn archive_name(&self) -> String {
        format!("{}-{}.crate", self.name, self.version)
    }
}

/// Writes the registry. Returns the number of archives.
pub fn write(workspace: &Workspace, folder: &Path) -> Result<usize, Failure> {
    let lock = read(&workspace.root.join("Cargo.lock"))?;
    let prelude = workspace.target.join("wheel-prelude");
    write_sources(workspace, &prelude, &lock)?;
    // cargo asks the index for the crates of all platforms, and unpacks those of its own.
    let all = Metadata::read(workspace, &prelude, None)?;
    let needed = Metadata::read(workspace, &prelude, Some(TRIPLE))?;
    remove(&prelude)?;
    let needed: BTreeSet<&str> = needed.packages.iter().map(|package| package.id.as_str()).collect();

    let mut packages: Vec<&Package> = all.packages.iter().filter(|package| package.source.is_some()).collect();
    packages.sort_by_key(|package| (&package.name, &package.version));
    let checksums = checksums(&lock);
    let mut index: BTreeMap<PathBuf, String> = BTreeMap::new();
    let mut archives = 0;
    make(folder)?;
    for package in packages {
        let missing = || Failure::new(format!("Cargo.lock has no checksum of {} {}", package.name, package.version));
        let checksum = checksums.get(&(package.name.clone(), package.version.clone())).ok_or_else(missing)?;
        let line = serde_json::to_string(&package.entry(checksum)).map_err(|e| Failure::new(e.to_string()))?;
        let lines = index.entry(folder.join("index").join(index_path(&package.name))).or_default();
        lines.push_str(&line);
        lines.push('\n');
        if needed.contains(package.id.as_str()) {
            let from = package.archive().unwrap_or_default();
            fs::copy(&from, folder.join(package.archive_name())).map_err(|e| Failure::io(from.display(), e))?;
            archives += 1;
        }
    }
    for (path, lines) in index {
        make(path.parent().unwrap_or(folder))?;
        write_text(&path, &lines)?;
    }
    Ok(archives)
}

/// Writes the workspace of the prelude build, as `kernel/cell` embeds it.
fn write_sources(workspace: &Workspace, folder: &Path, lock: &str) -> Result<(), Failure> {
    remove(folder)?;
    let members = manifest::CRATES.map(|name| Path::new("kernel").join(name));
    for file in workspace.files()?.iter().filter(|file| members.iter().any(|member| file.starts_with(member))) {
        let to = folder.join(file);
        make(to.parent().unwrap_or(folder))?;
        fs::copy(workspace.root.join(file), &to).map_err(|e| Failure::io(to.display(), e))?;
    }
    write_text(&folder.join("Cargo.lock"), lock)?;
    write_text(&folder.join("Cargo.toml"), &manifest::kit_manifest(&read(&workspace.root.join("Cargo.toml"))?))
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|e| Failure::io(path.display(), e))
}

/// The checksums of a lock file by name and version.
pub fn checksums(lock: &str) -> HashMap<(String, String), String> {
    let packages = lock.split("[[package]]").filter_map(|package| {
        let field = |name: &str| {
            let value = package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""))?;
            Some(value.trim_end_matches('"').to_string())
        };
        Some(((field("name")?, field("version")?), field("checksum")?))
    });
    packages.collect()
}

/// `1/a`, `2/ab`, `3/a/abc`, `ab/cd/abcd`.
fn index_path(name: &str) -> PathBuf {
    let name = name.to_lowercase();
    match name.len() {
        0..=2 => format!("{}/{name}", name.len()).into(),
        3 => format!("3/{}/{name}", &name[..1]).into(),
        _ => format!("{}/{}/{name}", &name[..2], &name[2..4]).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of cargo's book.
    #[test]
    fn paths_of_the_index() {
        for (name, path) in [("a", "1/a"), ("cc", "2/cc"), ("syn", "3/s/syn"), ("Cargo", "ca/rg/cargo")] {
            assert_eq!(index_path(name), Path::new(path));
        }
    }

    #[test]
    fn crates_of_a_lock_file_have_checksums_and_members_have_none() {
        let lock = "version = 4\n\n[[package]]\nname = \"cc\"\nversion = \"1.2.0\"\nsource = \"registry+x\"\n\
                    checksum = \"00ff\"\n\n[[package]]\nname = \"onrush\"\nversion = \"0.1.0\"\n";
        let found = checksums(lock);
        assert_eq!(found.len(), 1);
        assert_eq!(found[&("cc".to_string(), "1.2.0".to_string())], "00ff");
    }
}
