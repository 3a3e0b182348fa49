//! Cached indexes of crates, made from their sources once and kept on disk: the default crates of cells and their
//! `:dep`s.

use std::collections::BTreeMap;
use std::ffi::CString;
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

/// Packages that cargo has downloaded, each in its newest version.
pub fn on_this_machine() -> Vec<Package> {
    let registries = fs::read_dir(cargo_home().join("registry/cache")).into_iter().flatten().flatten();
    let files = registries.filter_map(|registry| fs::read_dir(registry.path()).ok()).flatten().flatten();
    let mut newest: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for file in files {
        let file = file.file_name().to_string_lossy().into_owned();
        let Some((name, version)) = file.strip_suffix(".crate").and_then(name_and_version) else { continue };
        let known = newest.entry(name.to_string()).or_default();
        *known = std::mem::take(known).max(version.split('.').filter_map(|part| part.parse().ok()).collect());
    }
    let spelled = |parts: Vec<u64>| parts.iter().map(u64::to_string).collect::<Vec<_>>().join(".");
    newest.into_iter().map(|(name, version)| Package { name, version: spelled(version) }).collect()
}

/// `serde-1.0.2` and `a-b-0.1.0-alpha.1`: the version begins behind the first `-` that a number and a dot follow.
fn name_and_version(stem: &str) -> Option<(&str, &str)> {
    let begins = |at: &usize| {
        let rest = &stem[at + 1..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        digits > 0 && rest[digits..].starts_with('.')
    };
    let at = stem.match_indices('-').map(|(at, _)| at).find(begins)?;
    Some((&stem[..at], stem[at + 1..].split(['-', '+']).next()?))
}

/// The folder of cargo's downloads: `$CARGO_HOME`, else `~/.cargo`. A folder of the cache if this user cannot write to
/// `~/.cargo`.
pub fn cargo_home() -> PathBuf {
    let set = std::env::var_os("CARGO_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
    let usual = || onrush_wire::paths::home().map(|home| home.join(".cargo")).filter(|folder| can_be_written(folder));
    set.or_else(usual).unwrap_or_else(|| onrush_wire::paths::cache_dir().join("cargo"))
}

/// Whether this user can write to a folder, or can make it. This function makes no folder.
fn can_be_written(folder: &Path) -> bool {
    let Some(there) = folder.ancestors().find(|folder| folder.exists()).filter(|folder| folder.is_dir()) else {
        return false;
    };
    let Ok(path) = CString::new(there.as_os_str().as_encoded_bytes()) else { return false };
    // SAFETY: plain system call; the string lives until it returns.
    unsafe { libc::access(path.as_ptr(), libc::W_OK | libc::X_OK) == 0 }
}

fn version_of<'a>(package: &str, lock: &'a str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"\nversion = \"");
    lock[lock.find(&name)? + name.len()..].split('"').next()
}

/// `src/lib.rs` of a package in cargo's folder of unpacked sources.
fn registry_source(package: &str, version: &str) -> Option<PathBuf> {
    let registries = fs::read_dir(cargo_home().join("registry/src")).ok()?;
    let roots = registries.flatten().map(|r| r.path().join(format!("{package}-{version}/src/lib.rs")));
    roots.into_iter().find(|root| root.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_where_its_parent_can_be_written() {
        let folder = std::env::temp_dir().join(format!("onrush-cargo-home-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), "").unwrap();
        assert!(can_be_written(&folder) && can_be_written(&folder.join("a/.cargo")));
        assert!(!can_be_written(&folder.join("file")) && !can_be_written(&folder.join("file/.cargo")));
        fs::remove_dir_all(&folder).unwrap();
    }

    /// File names as cargo gives them.
    #[test]
    fn names_and_versions_of_files() {
        for (stem, name, version) in [
            ("serde-1.0.219", "serde", "1.0.219"),
            ("arrow-array-55.1.0", "arrow-array", "55.1.0"),
            ("base64-0.22.1", "base64", "0.22.1"),
            ("h-2-o-0.1.0-alpha.1", "h-2-o", "0.1.0"),
            ("zstd-sys-2.0.15+zstd.1.5.7", "zstd-sys", "2.0.15"),
        ] {
            assert_eq!(name_and_version(stem), Some((name, version)), "{stem}");
        }
        assert_eq!(name_and_version("readme"), None);
    }
}
