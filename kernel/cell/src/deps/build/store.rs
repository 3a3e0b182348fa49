//! The store of built graphs, and its size.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use onrush_wire::paths;

use super::super::graph::{Crate, Graph};
use super::super::lock;
use crate::prelude_build;

/// Graphs that are kept, by last use: their libraries are links to those in the target folder as long as that has them.
const GRAPHS: usize = 40;
/// Number of pools of target folders that are kept. Each rustc and each version of Onrush's wrapper has a separate
/// pool.
const POOLS: usize = 2;
/// Target folders of a pool. Cargo locks a target folder for a whole build, so as many notebooks build at the same
/// time.
const TARGETS: usize = 3;
/// A target folder that has grown beyond this is emptied after a build: the graphs keep what notebooks link. The first
/// folder is used most.
const TARGET_BYTES: [u64; TARGETS] = [6 << 30, 2 << 30, 2 << 30];

const RECORD: &str = "graph.json";

pub struct Store {
    folder: PathBuf,
    /// Names of target folders of this compiler begin with it.
    pool: String,
}

impl Store {
    /// `compilers`: everything that a compiled crate depends on and that cargo does not look at.
    pub fn open(cache: &Path, compilers: &[&str]) -> io::Result<Store> {
        let folder = cache.join("deps");
        // Cargo's target folder and the graphs hold what notebooks load: nobody else may write to them.
        paths::private_dir(&folder.join("graphs"))?;
        paths::private_dir(&folder)?;
        for name in ["locks", "projects"] {
            paths::private_dir(&folder.join(name))?;
        }
        let compilers = prelude_build::hash(&compilers.iter().map(|text| text.as_bytes()).collect::<Vec<_>>());
        Ok(Store { folder, pool: format!("target-{}", &compilers[..8]) })
    }

    /// The target folders, those that have the most of these crates first.
    pub fn targets(&self, host: &str, crates: &BTreeSet<String>) -> Vec<TargetFolder> {
        let target = |at: usize| {
            let name = if at == 0 { self.pool.clone() } else { format!("{}-{at}", self.pool) };
            let folder = self.folder.join(&name);
            let built = fs::read_dir(folder.join(host).join("release/deps")).into_iter().flatten().flatten();
            let names: BTreeSet<String> = built.filter_map(|entry| crate_of(entry.file_name().to_str()?)).collect();
            let has = crates.intersection(&names).count();
            TargetFolder { lock: self.lock(&name), folder, has, bytes: TARGET_BYTES[at] }
        };
        let mut targets: Vec<TargetFolder> = (0..TARGETS).map(target).collect();
        targets.sort_by_key(|target| std::cmp::Reverse(target.has));
        targets
    }

    /// The project of a build of these requests.
    pub fn project(&self, key: &str) -> PathBuf {
        self.folder.join("projects").join(&key[..12])
    }

    /// The lock of a set of requests: notebooks that ask for the same build once.
    pub fn lock_of_set(&self, key: &str) -> PathBuf {
        // Lock files are never removed, so their number is bounded.
        self.lock(&format!("set-{}", &key[..3]))
    }

    /// The lock of the graphs, held for milliseconds.
    pub fn lock_of_graphs(&self) -> PathBuf {
        self.lock("graphs")
    }

    fn lock(&self, name: &str) -> PathBuf {
        self.folder.join("locks").join(name)
    }

    pub fn tool(&self, key: &str) -> PathBuf {
        self.folder.join(format!("rustc-{key}"))
    }

    /// A graph of these requests whose versions are the locked ones, if there are any.
    pub fn find(&self, key: &str, locked: Option<&str>) -> Option<Graph> {
        let wanted = locked.map(lock::packages);
        let fits = |graph: &Graph| {
            let is_locked = wanted.as_ref().is_none_or(|wanted| {
                // A crate without a version in the notebook may have any.
                let known = |name: &str| wanted.iter().any(|(known, ..)| *known == name);
                let fits = |package: &(&str, &str, &str)| wanted.contains(package) || !known(package.0);
                lock::packages(&graph.lock).iter().all(|package| lock::is_shared(package.0) || fits(package))
            });
            let libraries = || graph.crates.iter().all(|c| c.library.is_file());
            is_locked && graph.stamps.iter().all(|(folder, seen)| stamp(folder) == *seen) && libraries()
        };
        let entries = fs::read_dir(self.folder.join("graphs")).ok()?.flatten();
        let own = entries.filter(|e| e.file_name().to_string_lossy().starts_with(key));
        let mut records: Vec<(SystemTime, PathBuf)> = own
            .filter_map(|e| {
                let record = e.path().join(RECORD);
                Some((fs::metadata(&record).ok()?.modified().ok()?, record))
            })
            .collect();
        records.sort();
        let read = |path: &PathBuf| serde_json::from_slice::<Graph>(&fs::read(path).ok()?).ok();
        let (path, graph) = records.iter().rev().find_map(|(_, path)| read(path).filter(fits).map(|g| (path, g)))?;
        // The time of last use decides which graphs are kept.
        let _ = File::options().append(true).open(path).and_then(|f| f.set_modified(SystemTime::now()));
        Some(graph)
    }

    /// Makes the folder of a graph: links to its libraries, and the record.
    pub fn keep(
        &self,
        key: &str,
        mut crates: Vec<Crate>,
        notes: Vec<String>,
        stamps: BTreeMap<PathBuf, String>,
        lock: String,
    ) -> io::Result<Graph> {
        let mut parts: Vec<&[u8]> = vec![lock.as_bytes()];
        parts.extend(stamps.values().map(|stamp| stamp.as_bytes()));
        let key = format!("{key}-{}", &prelude_build::hash(&parts)[..8]);
        let folder = self.folder.join("graphs").join(&key);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        for crate_ in crates.iter_mut().filter(|c| !c.shared) {
            let Some(name) = crate_.library.file_name() else { continue };
            let to = folder.join(name);
            if fs::hard_link(&crate_.library, &to).is_err() {
                fs::copy(&crate_.library, &to)?;
            }
            crate_.library = to;
        }
        let graph = Graph { key, folder, lock, crates, notes, stamps };
        // Without a record the folder is not used.
        fs::write(graph.folder.join(RECORD), serde_json::to_vec(&graph).map_err(io::Error::other)?)?;
        Ok(graph)
    }

    /// Removes what is too much. The caller holds the lock of `own` and that of the graphs.
    pub fn bound(&self, own: &TargetFolder) {
        let is_target = |name: &str| name.starts_with("target-");
        let pool = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.split('-').nth(1).unwrap_or_default().to_string()
        };
        let targets = by_time(&self.folder, &is_target, ".rustc_info.json");
        let mut kept: Vec<String> = vec![self.pool["target-".len()..].to_string()];
        for target in targets.iter().rev() {
            let pool = pool(target);
            if kept.contains(&pool) {
                continue;
            }
            if kept.len() < POOLS {
                kept.push(pool);
                continue;
            }
            // One in which another kernel builds stays for now.
            let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let lock = File::options().create(true).truncate(false).write(true).open(self.lock(&name));
            if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
                let _ = fs::remove_dir_all(target);
            }
        }
        let mut graphs = by_time(&self.folder.join("graphs"), &|_| true, RECORD);
        while graphs.len() > GRAPHS {
            let _ = fs::remove_dir_all(graphs.remove(0));
        }
        if bytes(&own.folder) > own.bytes {
            let _ = fs::remove_dir_all(&own.folder);
        }
    }
}

/// A target folder of cargo.
pub struct TargetFolder {
    pub folder: PathBuf,
    /// Its holder builds there.
    pub lock: PathBuf,
    /// How many of the wanted crates it has, in some version.
    pub has: usize,
    /// Bytes that it may grow to.
    bytes: u64,
}

/// `libserde_json-0123456789abcdef.so` is of the crate `serde_json`.
fn crate_of(file: &str) -> Option<String> {
    Some(file.strip_prefix("lib")?.strip_suffix(".onrush")?.rsplit_once('-')?.0.to_string())
}

/// Folders, by the time of a file in each, the oldest first.
fn by_time(folder: &Path, wanted: &dyn Fn(&str) -> bool, file: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|e| wanted(&e.file_name().to_string_lossy()) && e.path().is_dir())
        .map(|e| {
            let time = fs::metadata(e.path().join(file)).and_then(|m| m.modified());
            (time.unwrap_or(SystemTime::UNIX_EPOCH), e.path())
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn walk(folder: &Path, see: &mut dyn FnMut(&Path, &fs::Metadata)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            walk(&entry.path(), see);
        } else {
            see(&entry.path(), &metadata);
        }
    }
}

fn bytes(folder: &Path) -> u64 {
    let mut sum = 0;
    walk(folder, &mut |_, metadata| sum += metadata.len());
    sum
}

/// A stamp that changes with the source files under a folder.
pub fn stamp(folder: &Path) -> String {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return String::new() };
    let mut see = |path: &Path, metadata: &fs::Metadata| {
        let time = metadata.modified().ok().and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
        files.push(format!("{}\t{}\t{:?}", path.display(), metadata.len(), time));
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // Files that a build or an editor leaves there.
        if name == "target" || name.starts_with('.') || name == "Cargo.lock" {
            continue;
        }
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => walk(&entry.path(), &mut see),
            Ok(metadata) => see(&entry.path(), &metadata),
            Err(_) => {}
        }
    }
    files.sort();
    prelude_build::hash(&files.iter().map(|f| f.as_bytes()).collect::<Vec<_>>())[..12].to_string()
}
