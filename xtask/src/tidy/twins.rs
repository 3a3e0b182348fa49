//! Crates of `Cargo.lock` in several versions: each is compiled once for each version.

use std::collections::BTreeMap;

use super::{Finding, Tree, finding};

const LOCK: &str = "Cargo.lock";

/// The crates that stand in several versions today, because dependencies ask for different ones. The list only shrinks.
/// A new name comes with a crate that nothing replaces, and says why.
const KNOWN: &[&str] = &[
    "base64",
    "bitflags",
    "block-buffer",
    "constant_time_eq",
    "crypto-common",
    "digest",
    "embedded-io",
    "equator",
    "equator-macro",
    "foldhash",
    "getrandom",
    "hashbrown",
    "itertools",
    "kurbo",
    "lz4_flex",
    "md-5",
    "miniz_oxide",
    "num-bigint",
    "object",
    // `orc-rust` reads ORC files with 0.13, and tonic and DataFusion write plans with 0.14.
    "prost",
    "prost-derive",
    "quick-xml",
    "r-efi",
    "rand",
    "rand_core",
    "syn",
    // 0.13 stands in the lock file alone: `rcgen` names `x509-parser` in a feature, and nothing builds it.
    "synstructure",
    "thiserror",
    "thiserror-impl",
    "typed-path",
    "windows-sys",
    "windows_aarch64_gnullvm",
    "windows_aarch64_msvc",
    "windows_i686_gnu",
    "windows_i686_msvc",
    "windows_x86_64_gnu",
    "windows_x86_64_gnullvm",
    "windows_x86_64_msvc",
    "zip",
];

/// A crate in a further version, and a name of the list that stands in one version only.
pub fn twins(tree: &Tree) -> Vec<Finding> {
    let Some(lock) = tree.sources.iter().find(|source| source.path.to_str() == Some(LOCK)) else { return Vec::new() };
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    for name in lock.text.lines().filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"')) {
        *versions.entry(name).or_default() += 1;
    }
    let several = |name: &str| versions.get(name).is_some_and(|count| *count > 1);
    let new = versions.keys().filter(|name| several(name) && !KNOWN.contains(*name)).map(|name| {
        let message = format!("`{name}` stands here in several versions: take the version that the others ask for");
        finding("twins", LOCK, message)
    });
    let gone = KNOWN.iter().filter(|name| !several(name)).map(|name| {
        finding(
            "twins",
            "xtask/src/tidy/twins.rs",
            format!("`{name}` stands in one version now: remove it from the list"),
        )
    });
    new.chain(gone).collect()
}
