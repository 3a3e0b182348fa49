//! Cached indexes of crates, made from their sources once and kept on disk: the default crates of cells and their `:dep`s.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Index;
use super::source::index_crate;

/// Crates that the prelude re-exports, and the crates that they re-export in turn.
const OF_THE_PRELUDE: &[&str] = &["chrono", "serde_core", "arrow-schema", "arrow-array"];

/// The version of the cache: it changes with the format and with the way an index is made.
const FORMAT: u32 = 3;

/// The index of a crate whose root is `root`; `folder` is the cache.
fn index(folder: &Path, package: &str, version: &str, root: &Path) -> Arc<Index> {
    let kept = folder.join(format!("index-{FORMAT}-{package}-{version}"));
    if let Ok(text) = fs::read_to_string(&kept) {
        return Arc::new(Index::new(text));
    }
    let text = index_crate(root, &package.replace('-', "_"));
    let partial = kept.with_extension(format!("{}.part", std::process::id()));
    // An index that cannot be cached is made again.
    let _ = fs::write(&partial, &text).and_then(|()| fs::rename(&partial, &kept));
    Arc::new(Index::new(text))
}

/// A package in cargo's registry cache and its version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub name: String,
    pub version: String,
}

/// The crates that the prelude re-exports, in the versions with which cargo built the prelude.
pub fn of_the_prelude(lock: &str) -> Vec<Package> {
    let package = |name: &&str| Some(Package { name: name.to_string(), version: version_of(name, lock)?.to_string() });
    OF_THE_PRELUDE.iter().filter_map(package).collect()
}

/// The index of a package from the registry. `None` if its source is not in the cache.
pub fn of_registry(folder: &Path, package: &Package) -> Option<Arc<Index>> {
    let root = registry_source(&package.name, &package.version)?;
    Some(index(folder, &package.name, &package.version, &root))
}

fn version_of<'a>(package: &str, lock: &'a str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"\nversion = \"");
    lock[lock.find(&name)? + name.len()..].split('"').next()
}

/// `src/lib.rs` of a package in cargo's folder of unpacked sources.
fn registry_source(package: &str, version: &str) -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")))?;
    let registries = fs::read_dir(home.join("registry/src")).ok()?;
    let roots = registries.flatten().map(|r| r.path().join(format!("{package}-{version}/src/lib.rs")));
    roots.into_iter().find(|root| root.is_file())
}
