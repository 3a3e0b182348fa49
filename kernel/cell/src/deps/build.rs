//! From requests to shared libraries: cargo resolves and builds, once on each machine.
//!
//! One target folder serves all notebooks. Each resolved graph has a folder with links to its libraries and a record; a
//! notebook that asks for the same again finds it without running cargo.

mod cargo;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onrush_wire::{Class, Diagnostic};
use serde_json::Value;

use super::graph::{Crate, Graph};
use super::{ROOT, Request, lock};
use crate::interrupt::{Stoppable, interrupted};
use crate::kit::{self, Kit, KitCrate};
use crate::space;
use cargo::Cargo;
use store::Store;

/// Compiled by the rustc of the cells when it is first needed.
const WRAPPER: &str = include_str!("wrapper.rs");
/// Bump it when graphs of an older Onrush must not be used.
const FORMAT: &str = "2";

pub type Requests = BTreeMap<String, Request>;

pub struct Builder<'a> {
    pub cache: &'a Path,
    pub kit: &'a Kit,
    pub stop: &'a Arc<Stoppable>,
    /// A line and, where it is known, a fraction.
    pub progress: &'a dyn Fn(String, Option<f32>),
}

/// How a graph came to be there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    Found,
    Built { seconds: f64, offline: bool },
}

fn failed(what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Environment, "dep", format!("the crates of this notebook cannot be built: {what}"))
        .help("free disk space or make the cache folder writable (`onrush doctor` names it)")
}

/// What cargo resolved, as far as it is needed.
struct Resolved {
    packages: BTreeMap<String, Package>,
    /// Ids of the crates that the notebook asks for, by the names that cells have for them.
    direct: BTreeMap<String, String>,
}

struct Package {
    name: String,
    version: String,
    folder: PathBuf,
    is_local: bool,
    features: BTreeSet<String>,
    dependencies: BTreeSet<String>,
}

impl Builder<'_> {
    /// The graph of these requests. `locked`: versions that the notebook had before.
    pub fn ensure(&self, requests: &Requests, locked: Option<&str>) -> Result<(Graph, How), Diagnostic> {
        self.find_or_build(requests, locked).map_err(|diagnostic| space::explained(diagnostic, self.cache))
    }

    fn find_or_build(&self, requests: &Requests, locked: Option<&str>) -> Result<(Graph, How), Diagnostic> {
        let store = Store::open(self.cache, &[&self.kit.toolchain.verbose_version, WRAPPER]).map_err(failed)?;
        let key = self.key(requests);
        if let Some(graph) = store.find(&key, locked) {
            return Ok((graph, How::Found));
        }
        let started = Instant::now();
        let _alone = self.alone(&store)?;
        if let Some(graph) = store.find(&key, locked) {
            return Ok((graph, How::Found));
        }
        let wrapper = self.wrapper(&store)?;
        let project = store.project();
        let seed = lock::seed(locked, kit::lock_file());
        let manifest = self.manifest(requests, &[]);
        write_project(&project, &manifest, &seed).map_err(failed)?;
        let cargo = Cargo { builder: self, project: &project, target: store.target() };

        (self.progress)(format!("resolving {}", list(requests.keys())), None);
        let (resolved, offline) = cargo.resolve()?;
        let shared = self.shared(&resolved);
        let manifest = self.manifest(requests, &shared);
        fs::write(project.join("Cargo.toml"), manifest).map_err(failed)?;
        let stamps: BTreeMap<PathBuf, String> = resolved
            .packages
            .values()
            .filter(|p| p.is_local)
            .map(|p| (p.folder.clone(), store::stamp(&p.folder)))
            .collect();
        let plan = store.plan();
        fs::write(&plan, self.plan(&shared, &stamps)).map_err(failed)?;
        let artifacts = cargo.build(&wrapper, &plan, resolved.packages.len())?;
        let lock = fs::read_to_string(project.join("Cargo.lock")).map_err(failed)?;
        let (crates, notes) = crates(&resolved, &artifacts);
        let graph = store.keep(&key, crates, notes, stamps, lock).map_err(failed)?;
        store.bound();
        Ok((graph, How::Built { seconds: started.elapsed().as_secs_f64(), offline }))
    }

    fn key(&self, requests: &Requests) -> String {
        let toolchain = &self.kit.toolchain;
        let mut parts = vec![FORMAT, &toolchain.verbose_version, &self.kit.key, WRAPPER];
        let codes: Vec<(&String, String)> = requests.iter().map(|(name, request)| (name, request.code())).collect();
        for (name, code) in &codes {
            parts.extend([name.as_str(), code.as_str()]);
        }
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        kit::hash(&parts)
    }

    /// Waits for another kernel that builds. The lock ends with the file.
    fn alone(&self, store: &Store) -> Result<File, Diagnostic> {
        let lock = File::create(store.lock()).map_err(failed)?;
        let mut said = false;
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
                Err(fs::TryLockError::WouldBlock) => {}
            }
            if !std::mem::replace(&mut said, true) {
                (self.progress)("waiting for another kernel that builds crates".to_string(), None);
            }
            if self.stop.interrupted() {
                return Err(interrupted());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The program that cargo calls in place of rustc.
    fn wrapper(&self, store: &Store) -> Result<PathBuf, Diagnostic> {
        let toolchain = &self.kit.toolchain;
        let path = store.tool(&kit::hash(&[WRAPPER.as_bytes(), toolchain.verbose_version.as_bytes()]));
        if path.is_file() {
            return Ok(path);
        }
        let source = path.with_extension("rs");
        fs::write(&source, WRAPPER).map_err(failed)?;
        let partial = path.with_extension("part");
        let mut command = Command::new(&toolchain.rustc);
        command.args(["--edition", "2024", "-Copt-level=1", "--cap-lints=allow", "-o"]).arg(&partial).arg(&source);
        command.env_remove("RUSTFLAGS").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        if !self.stop.watch(child.id() as i32) {
            let _ = child.kill();
        }
        let mut said = Vec::new();
        let read = child.stderr.take().map(|mut pipe| pipe.read_to_end(&mut said));
        self.stop.unwatch();
        let status = child.wait().map_err(failed)?;
        if self.stop.interrupted() {
            return Err(interrupted());
        }
        if !status.success() || !matches!(read, Some(Ok(_))) {
            return Err(failed("rustc cannot build a program").note(String::from_utf8_lossy(&said)));
        }
        fs::rename(&partial, &path).map_err(failed)?;
        Ok(path)
    }

    fn manifest(&self, requests: &Requests, shared: &[Shared<'_>]) -> String {
        let version = self.kit.toolchain.version();
        let mut text = format!(
            "[package]\nname = \"{ROOT}\"\nversion = \"0.0.0\"\nedition = \"2024\"\nrust-version = \"{version}\"\n\
             publish = false\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n\n[dependencies]\n"
        );
        for (name, request) in requests {
            text.push_str(&format!("{name} = {}\n", request.code()));
        }
        text.push_str("\n[profile.release]\nopt-level = 2\ndebug = false\ncodegen-units = 16\n");
        // What is shared belongs to one prelude, and so does all that links it. Cargo's hash of a crate has the settings of its
        // profile in it, and those of what it links: a number that stands for the prelude makes them different crates.
        let number = u32::from_str_radix(&self.kit.key[..6], 16).unwrap_or_default() + 256;
        for Shared { package, .. } in shared {
            let Package { name, version, .. } = package;
            text.push_str(&format!("\n[profile.release.package.\"{name}@{version}\"]\ncodegen-units = {number}\n"));
        }
        text
    }

    /// The crates that the prelude has in the same version, with all features that are asked for.
    fn shared<'r>(&self, resolved: &'r Resolved) -> Vec<Shared<'r>> {
        let has = |package: &Package| {
            let fits = |c: &&KitCrate| {
                c.name == package.name && c.version == package.version && package.features.is_subset(&c.features)
            };
            (lock::is_shared(&package.name) && !package.is_local)
                .then(|| self.kit.paths.crates.iter().find(fits))
                .flatten()
        };
        let mut found: BTreeMap<&str, Shared<'r>> = BTreeMap::new();
        for (id, package) in &resolved.packages {
            if let Some(file) = has(package) {
                found.insert(id, Shared { package, file: file.file.clone() });
            }
        }
        // The prelude's crate links the prelude's: one that links another one's type is not the same.
        loop {
            let stays = |id: &str, shared: &Shared<'_>| {
                let mut below = shared.package.dependencies.iter().filter(|d| {
                    let name = resolved.packages.get(*d).map(|p| p.name.as_str());
                    name.is_some_and(lock::is_shared) && *d != id
                });
                below.all(|d| found.contains_key(d.as_str()))
            };
            let gone: Vec<String> =
                found.iter().filter(|(id, s)| !stays(id, s)).map(|(id, _)| id.to_string()).collect();
            if gone.is_empty() {
                return found.into_values().collect();
            }
            gone.iter().for_each(|id| drop(found.remove(id.as_str())));
        }
    }

    fn plan(&self, shared: &[Shared<'_>], stamps: &BTreeMap<PathBuf, String>) -> String {
        let folder = self.kit.paths.prelude.parent().unwrap_or(Path::new("."));
        let mut text = format!("prelude\t{}\nkit\t{}\n", folder.display(), self.kit.paths.deps.display());
        for Shared { package, file } in shared {
            text.push_str(&format!("shared\t{}\t{}\t{}\n", package.name, package.version, file.display()));
        }
        for (folder, stamp) in stamps {
            text.push_str(&format!("stamp\t{}\t{stamp}\n", folder.display()));
        }
        text
    }
}

struct Shared<'a> {
    package: &'a Package,
    file: PathBuf,
}

fn write_project(project: &Path, manifest: &str, lock: &str) -> io::Result<()> {
    fs::create_dir_all(project)?;
    fs::write(project.join("lib.rs"), "")?;
    fs::write(project.join("Cargo.toml"), manifest)?;
    fs::write(project.join("Cargo.lock"), lock)
}

/// What cargo made of a package.
struct Artifact {
    package: String,
    /// As code names it.
    name: String,
    is_macro: bool,
    file: PathBuf,
}

impl Artifact {
    /// From cargo's message; `None` for build scripts, and for what they link.
    fn of(message: &Value, target: &Path) -> Option<Artifact> {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let kinds: Vec<&str> = message["target"]["kind"].as_array()?.iter().filter_map(Value::as_str).collect();
        let files = message["filenames"].as_array()?.iter().filter_map(|f| f.as_str().map(PathBuf::from));
        let is_macro = kinds.contains(&"proc-macro");
        let wanted = |file: &PathBuf| match is_macro {
            true => file.extension().is_some_and(|e| e == "so"),
            false => file.extension().is_some_and(|e| e == "rlib") && file.starts_with(target),
        };
        let name = text(&message["target"]["name"])?.replace('-', "_");
        let file = files.filter(|_| !kinds.contains(&"custom-build")).find(wanted)?;
        Some(Artifact { package: text(&message["package_id"])?, name, is_macro, file })
    }
}

/// The crates of a graph as cells link them, and what is to be said about some.
fn crates(resolved: &Resolved, artifacts: &[Artifact]) -> (Vec<Crate>, Vec<String>) {
    let (mut crates, mut notes) = (Vec::new(), Vec::new());
    for artifact in artifacts {
        let Some(package) = resolved.packages.get(&artifact.package) else { continue };
        let pointer = fs::read_to_string(artifact.file.with_extension("onrush")).unwrap_or_default();
        let library = pointer.lines().next().map_or_else(|| artifact.file.clone(), PathBuf::from);
        let shared = library.extension().is_some_and(|e| e == "rlib") && !pointer.is_empty();
        if !shared && library.extension().is_some_and(|e| e == "rlib") {
            notes.push(format!(
                "`{}` cannot be a shared library: it is linked into each crate that uses it",
                package.name
            ));
        }
        let direct = resolved.direct.iter().find(|(_, id)| **id == artifact.package).map(|(name, _)| name.clone());
        crates.push(Crate {
            package: package.name.clone(),
            version: package.version.clone(),
            name: artifact.name.clone(),
            direct,
            library,
            shared,
            is_macro: artifact.is_macro,
            features: package.features.clone(),
        });
    }
    (crates, notes)
}

/// `rand, serde and 3 more`.
fn list<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let count = names.len();
    let names: Vec<&str> = names.map(String::as_str).take(4).collect();
    let more = count - names.len();
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}
