//! The places of other libraries: the file of XGBoost's, and the Python that has LightGBM or CatBoost. Looks at files
//! only: no Python runs, and nothing is loaded here.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The variable that names the library's file.
pub const VARIABLE: &str = "ONRUSH_XGBOOST";

/// Files that exist, best first: `ONRUSH_XGBOOST` alone if it is set. Otherwise the prefixes are `VIRTUAL_ENV`,
/// `CONDA_PREFIX` and that of the first `python3` in `PATH`. The library in their packages comes before the one in
/// their `lib`. The order is that of the Python package's `libpath.py`, which begins with its own folder.
pub fn files() -> Vec<PathBuf> {
    if let Some(file) = set(VARIABLE) {
        return vec![PathBuf::from(file)];
    }
    let prefixes = prefixes();
    let packages = prefixes.iter().flat_map(|p| sites(p)).map(|site| site.join("xgboost/lib").join(name()));
    let own = prefixes.iter().map(|prefix| prefix.join("lib").join(name()));
    packages.chain(own).filter(|file| file.is_file()).collect()
}

/// The Python that has a package: the program that `variable` or `ONRUSH_PYTHON` names. Otherwise the first one of
/// [`files`]' prefixes with the package, or else the first one.
pub fn python(variable: &str, package: &str) -> Option<PathBuf> {
    if let Some(program) = set(variable).or_else(|| set("ONRUSH_PYTHON")) {
        return Some(PathBuf::from(program));
    }
    let prefixes = prefixes();
    let program = |prefix: &PathBuf| {
        ["bin/python3", "bin/python"].into_iter().map(|name| prefix.join(name)).find(|program| program.is_file())
    };
    let has_package = |prefix: &&PathBuf| sites(prefix).iter().any(|site| site.join(package).is_dir());
    let with_package = prefixes.iter().filter(has_package).find_map(program);
    with_package.or_else(|| prefixes.iter().find_map(program))
}

/// The name under which the dynamic linker looks for the system's library.
pub fn name() -> String {
    format!("libxgboost{}", env::consts::DLL_SUFFIX)
}

/// A variable that is set and not empty.
fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}

fn prefixes() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(set).map(PathBuf::from).collect();
    let python = env::var_os("PATH")
        .into_iter()
        .flat_map(|path| env::split_paths(&path).collect::<Vec<_>>())
        .map(|folder| folder.join("python3"));
    if let Some(python) = python.into_iter().find(|python| python.is_file()) {
        // The `python3` of a virtual environment is a link to the Python that it was made with, which may have
        // packages, too.
        let resolved = fs::canonicalize(&python).unwrap_or_else(|_| python.clone());
        for file in [python, resolved] {
            prefixes.extend(file.parent().and_then(Path::parent).map(Path::to_path_buf));
        }
    }
    let mut seen = Vec::new();
    prefixes.retain(|prefix| {
        !seen.contains(prefix) && {
            seen.push(prefix.clone());
            true
        }
    });
    prefixes
}

/// The folders of packages of a Python's prefix.
fn sites(prefix: &Path) -> Vec<PathBuf> {
    let mut sites = Vec::new();
    for lib in ["lib", "local/lib", "lib64"] {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(prefix.join(lib)).into_iter().flatten().flatten().map(|e| e.path()).collect();
        entries.sort();
        for entry in entries {
            if entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")) {
                sites.extend(["site-packages", "dist-packages"].map(|folder| entry.join(folder)));
            }
        }
    }
    sites
}
