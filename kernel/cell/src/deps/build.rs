//! From requests to shared libraries: cargo resolves and builds, once on each machine.
//!
//! A small pool of target folders serves all notebooks. Each resolved graph has a folder with links to its libraries
//! and a record. A notebook that asks for the same again finds it without running cargo.
//!
//! A build holds two locks. The lock of the set of requests lets equal requests build once. The lock of a target folder
//! stands for cargo's own, for which cargo would wait in silence. A crate has the same hash in each folder of the pool,
//! so graphs of different folders go together: `deps/wrapper.rs` hides the folder's path from rustc.

mod build_lock;
mod cargo;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onrush_wire::{Class, Diagnostic};
use serde_json::Value;

use super::graph::{Crate, Graph};
use super::{CrateRequest, ROOT, lock};
use crate::disk_full;
use crate::interrupt::{InterruptToken, interrupted};
use crate::prelude_build::{self, PreludeBuild, PreludeCrate};
use build_lock::FOR_EACH_CRATE;
pub use build_lock::LockWaits;
use cargo::Cargo;
use store::Store;

/// Compiled by the rustc of the cells when it is first needed.
const WRAPPER: &str = include_str!("wrapper.rs");
/// Bump it when graphs of an older Onrush must not be used.
const FORMAT: &str = "3";

pub type Requests = BTreeMap<String, CrateRequest>;

pub struct Builder<'a> {
    pub cache: &'a Path,
    /// The name of the notebook, for the others that wait for its build.
    pub notebook: &'a str,
    pub kit: &'a PreludeBuild,
    pub stop: &'a Arc<InterruptToken>,
    /// A line and, where it is known, a fraction.
    pub progress: &'a dyn Fn(String, Option<f32>),
}

/// How a graph came to be there.
#[derive(Clone, Debug, PartialEq)]
pub enum How {
    Found,
    /// `seconds` are those of the work, without the waits.
    Built {
        seconds: f64,
        offline: bool,
        waits: LockWaits,
    },
}

fn failed(what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Environment, "dep", format!("the crates of this notebook cannot be built: {what}"))
        .help("free disk space or make the cache folder writable (`onrush doctor` names it)")
}

/// cargo's resolution, as far as it is needed.
struct Resolution {
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
        self.find_or_build(requests, locked).map_err(|diagnostic| disk_full::explained(diagnostic, self.cache))
    }

    fn find_or_build(&self, requests: &Requests, locked: Option<&str>) -> Result<(Graph, How), Diagnostic> {
        let store = Store::open(self.cache, &[&self.kit.toolchain.verbose_version, WRAPPER]).map_err(failed)?;
        let key = self.key(requests);
        if let Some(graph) = store.find(&key, locked) {
            return Ok((graph, How::Found));
        }
        let started = Instant::now();
        let mut waits = LockWaits::default();
        let _set = self.hold(&[store.lock_of_set(&key)], Duration::ZERO, &mut waits)?;
        if let Some(graph) = store.find(&key, locked) {
            return Ok((graph, How::Found));
        }
        let wrapper = self.wrapper(&store)?;
        let project = Project(store.project(&key));
        let seed = lock::seed(locked, prelude_build::lock_file());
        let manifest = self.manifest(requests, &[]);
        write_project(&project.0, &manifest, &seed).map_err(failed)?;

        (self.progress)(format!("resolving {}", list(requests.keys())), None);
        let (resolved, offline) = Cargo::new(self, &project.0, &project.0).resolve(&mut waits)?;
        let shared = self.shared(&resolved);
        let manifest = self.manifest(requests, &shared);
        fs::write(project.0.join("Cargo.toml"), manifest).map_err(failed)?;
        let stamps: BTreeMap<PathBuf, String> = resolved
            .packages
            .values()
            .filter(|p| p.is_local)
            .map(|p| (p.folder.clone(), store::stamp(&p.folder)))
            .collect();
        let wanted = resolved.packages.values().map(|package| package.name.replace('-', "_")).collect();
        let targets = store.targets(self.kit.toolchain.host(), &wanted);
        let locks: Vec<PathBuf> = targets.iter().map(|target| target.lock.clone()).collect();
        let only_there = targets[0].has - targets[1].has;
        let patience = FOR_EACH_CRATE * u32::try_from(only_there).unwrap_or(u32::MAX);
        let held = self.hold(&locks, patience, &mut waits)?;
        let target = &targets[held.at];
        let plan = project.0.join("plan");
        fs::write(&plan, self.plan(&shared, &stamps, &target.folder)).map_err(failed)?;
        let total = resolved.packages.len();
        let artifacts = Cargo::new(self, &project.0, &target.folder).build(&wrapper, &plan, total, &mut waits)?;
        let lock = fs::read_to_string(project.0.join("Cargo.lock")).map_err(failed)?;
        let (crates, notes) = crates(&resolved, &artifacts);
        let _graphs = self.hold(&[store.lock_of_graphs()], Duration::ZERO, &mut waits)?;
        let graph = store.keep(&key, crates, notes, stamps, lock).map_err(failed)?;
        store.bound(target);
        let seconds = (started.elapsed().saturating_sub(waits.total())).as_secs_f64();
        Ok((graph, How::Built { seconds, offline, waits }))
    }

    /// Stands for the prelude build at its place: graphs and target folders have absolute paths into its folder.
    fn placed_prelude(&self) -> String {
        prelude_build::hash(&[self.kit.identity.as_bytes(), self.kit.paths.prelude.as_os_str().as_encoded_bytes()])
    }

    fn key(&self, requests: &Requests) -> String {
        let (toolchain, prelude) = (&self.kit.toolchain, self.placed_prelude());
        let mut parts = vec![FORMAT, &toolchain.verbose_version, &prelude, WRAPPER];
        let codes: Vec<(&String, String)> = requests.iter().map(|(name, request)| (name, request.code())).collect();
        for (name, code) in &codes {
            parts.extend([name.as_str(), code.as_str()]);
        }
        let parts: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        prelude_build::hash(&parts)
    }

    /// The program that cargo calls in place of rustc.
    fn wrapper(&self, store: &Store) -> Result<PathBuf, Diagnostic> {
        let toolchain = &self.kit.toolchain;
        let path = store.tool(&prelude_build::hash(&[WRAPPER.as_bytes(), toolchain.verbose_version.as_bytes()]));
        if path.is_file() {
            return Ok(path);
        }
        // Another kernel may compile it at the same time.
        let source = path.with_extension(format!("{}.rs", std::process::id()));
        fs::write(&source, WRAPPER).map_err(failed)?;
        let partial = path.with_extension(format!("{}.part", std::process::id()));
        let mut command = Command::new(&toolchain.rustc);
        command.args(["--edition", "2024", "--crate-name", "onrush_rustc", "-Copt-level=1", "--cap-lints=allow", "-o"]);
        command.arg(&partial).arg(&source);
        command.args(toolchain.linker.iter().map(|linker| format!("-Clinker={}", linker.display())));
        command.env_remove("RUSTFLAGS").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        if !self.stop.watch(child.id() as i32) {
            let _ = child.kill();
        }
        let mut said = Vec::new();
        let read = child.stderr.take().map(|mut pipe| pipe.read_to_end(&mut said));
        self.stop.unwatch();
        let status = child.wait().map_err(failed)?;
        let _ = fs::remove_file(&source);
        if self.stop.interrupted() {
            return Err(interrupted());
        }
        if !status.success() || !matches!(read, Some(Ok(_))) {
            return Err(failed("rustc cannot build a program").note(String::from_utf8_lossy(&said)));
        }
        fs::rename(&partial, &path).map_err(failed)?;
        Ok(path)
    }

    fn manifest(&self, requests: &Requests, shared: &[SharedLibrary<'_>]) -> String {
        let version = self.kit.toolchain.version();
        let mut text = format!(
            "[package]\nname = \"{ROOT}\"\nversion = \"0.0.0\"\nedition = \"2024\"\nrust-version = \"{version}\"\n\
             publish = false\n\n[lib]\npath = \"lib.rs\"\n\n[workspace]\n\n[dependencies]\n"
        );
        for (name, request) in requests {
            text.push_str(&format!("{name} = {}\n", request.code()));
        }
        text.push_str("\n[profile.release]\nopt-level = 2\ndebug = false\ncodegen-units = 16\n");
        // A shared crate belongs to one prelude, and so does all that links it. Cargo's hash of a crate has the
        // settings of its profile in it, and those of the crates that it links. A number that stands for the prelude
        // makes them different crates.
        let number = u32::from_str_radix(&self.placed_prelude()[..6], 16).unwrap_or_default() + 256;
        for SharedLibrary { package, .. } in shared {
            let Package { name, version, .. } = package;
            text.push_str(&format!("\n[profile.release.package.\"{name}@{version}\"]\ncodegen-units = {number}\n"));
        }
        text
    }

    /// The crates that the prelude has in the same version, with all features that are asked for.
    fn shared<'r>(&self, resolved: &'r Resolution) -> Vec<SharedLibrary<'r>> {
        let has = |package: &Package| {
            let fits = |c: &&PreludeCrate| {
                c.name == package.name && c.version == package.version && package.features.is_subset(&c.features)
            };
            (lock::is_shared(&package.name) && !package.is_local)
                .then(|| self.kit.paths.crates.iter().find(fits))
                .flatten()
        };
        let mut found: BTreeMap<&str, SharedLibrary<'r>> = BTreeMap::new();
        for (id, package) in &resolved.packages {
            if let Some(file) = has(package) {
                found.insert(id, SharedLibrary { package, file: file.file.clone() });
            }
        }
        // The prelude's crate links the prelude's: one that links another one's type is not the same.
        loop {
            let stays = |id: &str, shared: &SharedLibrary<'_>| {
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

    /// The program that links a crate with a C library: the stand-in for a C compiler, `$CC`, or `cc`.
    fn linker(&self) -> PathBuf {
        // With options or a compiler cache in front it is not the name of a program.
        let is_program = |name: &String| !name.is_empty() && !name.contains(char::is_whitespace);
        let chosen = || std::env::var("CC").ok().filter(is_program).map(PathBuf::from);
        self.kit.toolchain.linker.clone().or_else(chosen).unwrap_or_else(|| PathBuf::from("cc"))
    }

    fn plan(&self, shared: &[SharedLibrary<'_>], stamps: &BTreeMap<PathBuf, String>, target: &Path) -> String {
        let folder = self.kit.paths.prelude.parent().unwrap_or(Path::new("."));
        let (folder, deps, target) = (folder.display(), self.kit.paths.deps.display(), target.display());
        let linker = self.linker();
        let mut text = format!("prelude\t{folder}\nkit\t{deps}\ntarget\t{target}\nlinker\t{}\n", linker.display());
        for SharedLibrary { package, file } in shared {
            text.push_str(&format!("shared\t{}\t{}\t{}\n", package.name, package.version, file.display()));
        }
        for (folder, stamp) in stamps {
            text.push_str(&format!("stamp\t{}\t{stamp}\n", folder.display()));
        }
        text
    }
}

struct SharedLibrary<'a> {
    package: &'a Package,
    file: PathBuf,
}

/// The folder of a build's project, which ends with the build.
struct Project(PathBuf);

impl Drop for Project {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn write_project(project: &Path, manifest: &str, lock: &str) -> io::Result<()> {
    fs::create_dir_all(project)?;
    fs::write(project.join("lib.rs"), "")?;
    fs::write(project.join("Cargo.toml"), manifest)?;
    fs::write(project.join("Cargo.lock"), lock)
}

/// cargo's artifact of a package.
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
fn crates(resolved: &Resolution, artifacts: &[Artifact]) -> (Vec<Crate>, Vec<String>) {
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
