//! Where built graphs are kept, and how much of them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use onrush_wire::paths;

use super::super::graph::{Crate, Graph};
use super::super::lock;
use crate::kit;

/// Graphs that are kept, by last use: their libraries are links to those in the target folder as long as that has them.
const GRAPHS: usize = 40;
/// Number of target folders that are kept. Each rustc and each version of Onrush's wrapper has a separate target folder.
const TARGETS: usize = 2;
/// A target folder that has grown beyond this is emptied after a build: the graphs keep what notebooks link.
const TARGET_BYTES: u64 = 6 << 30;

const RECORD: &str = "graph.json";

pub struct Store {
    folder: PathBuf,
    target: PathBuf,
}

impl Store {
    /// `compilers`: everything that a compiled crate depends on and that cargo does not look at.
    pub fn open(cache: &Path, compilers: &[&str]) -> io::Result<Store> {
        let folder = cache.join("deps");
        // Cargo's target folder and the graphs hold what notebooks load: nobody else may write to them.
        paths::private_dir(&folder.join("graphs"))?;
        paths::private_dir(&folder)?;
        let target = folder.join(format!(
            "target-{}",
            &kit::hash(&compilers.iter().map(|text| text.as_bytes()).collect::<Vec<_>>())[..8]
        ));
        Ok(Store { folder, target })
    }

    pub fn target(&self) -> &Path {
        &self.target
    }

    pub fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    pub fn plan(&self) -> PathBuf {
        self.folder.join("plan")
    }

    pub fn lock(&self) -> PathBuf {
        self.folder.join("lock")
    }

    pub fn tool(&self, key: &str) -> PathBuf {
        self.folder.join(format!("rustc-{key}"))
    }

    /// A graph of these requests whose versions are the locked ones, if there are any.
    pub fn find(&self, key: &str, locked: Option<&str>) -> Option<Graph> {
        let wanted = locked.map(lock::packages);
        let fits = |graph: &Graph| {
            let is_locked = wanted.as_ref().is_none_or(|wanted| {
                // What the notebook has no version of may have any.
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
        let key = format!("{key}-{}", &kit::hash(&parts)[..8]);
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

    pub fn bound(&self) {
        let is_target = |name: &str| name.starts_with("target-");
        let mut targets = by_time(&self.folder, &is_target, ".rustc_info.json");
        while targets.len() > TARGETS {
            let _ = fs::remove_dir_all(targets.remove(0));
        }
        let mut graphs = by_time(&self.folder.join("graphs"), &|_| true, RECORD);
        while graphs.len() > GRAPHS {
            let _ = fs::remove_dir_all(graphs.remove(0));
        }
        if bytes(&self.target) > TARGET_BYTES {
            let _ = fs::remove_dir_all(&self.target);
        }
    }
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

/// What changes when a source file under a folder changes.
pub fn stamp(folder: &Path) -> String {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return String::new() };
    let mut see = |path: &Path, metadata: &fs::Metadata| {
        let time = metadata.modified().ok().and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok());
        files.push(format!("{}\t{}\t{:?}", path.display(), metadata.len(), time));
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // What a build leaves there, and what an editor does.
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
    kit::hash(&files.iter().map(|f| f.as_bytes()).collect::<Vec<_>>())[..12].to_string()
}
