//! Indexes of crates, made from their sources once and kept on disk: those that cells always have, and those that they add.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Index;
use super::source::index_crate;

/// Crates that the prelude hands on, and those that hold what they hand on themselves.
const OF_THE_PRELUDE: &[&str] = &["chrono", "serde_core", "arrow-schema", "arrow-array"];

/// What changes when the format or what is put into it does.
const FORMAT: u32 = 1;

/// The index of a crate whose root is `root`; `folder` keeps it for the next time.
pub fn index(folder: &Path, package: &str, version: &str, root: &Path) -> Arc<Index> {
    let kept = folder.join(format!("index-{FORMAT}-{package}-{version}"));
    if let Ok(text) = fs::read_to_string(&kept) {
        return Arc::new(Index::new(text));
    }
    let text = index_crate(root, &package.replace('-', "_"));
    let partial = kept.with_extension(format!("{}.part", std::process::id()));
    // What cannot be kept is made again.
    let _ = fs::write(&partial, &text).and_then(|()| fs::rename(&partial, &kept));
    Arc::new(Index::new(text))
}

/// The crates that the prelude hands on, from where cargo keeps the sources with which it built the kit.
pub fn of_the_prelude(folder: &Path, lock: &str) -> Vec<(String, Arc<Index>)> {
    let mut found = Vec::new();
    for &package in OF_THE_PRELUDE {
        let version = version_of(package, lock);
        if let Some((version, root)) = version.and_then(|v| Some((v, registry_source(package, v)?))) {
            found.push((package.to_string(), index(folder, package, version, &root)));
        }
    }
    found
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
