//! The library of a driver: in the packages of the active Python, or named by the manifests of the system. Looks at
//! files only: no Python runs, and nothing is loaded here.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use onrush_wire::{Class, Diagnostic};
use serde::{Deserialize, Serialize};

use crate::address::Kind;

/// A library, and the names that its function of initialisation can have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverFile {
    pub file: PathBuf,
    pub entries: Vec<String>,
    /// A library that must be there before, because this one takes symbols of it.
    pub needs: Option<PathBuf>,
}

/// Finds the driver of a kind. The first of these places that has it counts:
/// - the variable `ONRUSH_ADBC_SQLITE` (`_DUCKDB`, `_POSTGRESQL`)
/// - the Python packages of `VIRTUAL_ENV`, of `CONDA_PREFIX` and of the first `python3` in `PATH`
/// - the manifests of ADBC's drivers in `ADBC_DRIVER_PATH`, `~/.config/adbc/drivers` and `/etc/adbc/drivers`
///
/// # Errors
/// If there is none: the help says what to install.
pub fn find(kind: Kind) -> Result<DriverFile, Diagnostic> {
    let name = kind.name();
    if let Some(file) = set(&format!("ONRUSH_ADBC_{}", name.to_uppercase())) {
        return Ok(DriverFile { file: file.into(), entries: entries(kind), needs: None });
    }
    let prefixes = prefixes();
    for site in prefixes.iter().flat_map(|prefix| sites(prefix)) {
        if let Some(file) = in_packages(kind, &site) {
            let needs = if kind == Kind::DuckDb { python(&site, &prefixes) } else { None };
            return Ok(DriverFile { file, entries: entries(kind), needs });
        }
    }
    if let Some(library) = manifests().into_iter().find_map(|folder| manifest(kind, &folder)) {
        return Ok(library);
    }
    Err(Diagnostic::error(Class::Environment, "no-driver", format!("the ADBC driver for {name} is not installed"))
        .help(format!("`pip install {}` into the active Python, then run the cell again", package(kind))))
}

/// The Python package that has the driver.
pub fn package(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "adbc-driver-sqlite",
        Kind::DuckDb => "duckdb",
        Kind::Postgres => "adbc-driver-postgresql",
    }
}

/// The name of a driver among manifests.
fn driver(kind: Kind) -> &'static str {
    match kind {
        Kind::Sqlite => "sqlite",
        Kind::DuckDb => "duckdb",
        Kind::Postgres => "postgresql",
    }
}

fn entries(kind: Kind) -> Vec<String> {
    let own = match kind {
        Kind::Sqlite => "AdbcDriverSqliteInit",
        Kind::DuckDb => "duckdb_adbc_init",
        Kind::Postgres => "AdbcDriverPostgresqlInit",
    };
    vec![own.to_string(), "AdbcDriverInit".to_string()]
}

/// The library in a folder of packages.
fn in_packages(kind: Kind, site: &Path) -> Option<PathBuf> {
    let suffix = env::consts::DLL_SUFFIX;
    match kind {
        Kind::Sqlite | Kind::Postgres => {
            let package = format!("adbc_driver_{}", driver(kind));
            Some(site.join(&package).join(format!("lib{package}{suffix}"))).filter(|file| file.is_file())
        }
        // The module for Python is the library; newer packages have it in a folder or next to it.
        Kind::DuckDb => {
            let folders = [site.join("_duckdb"), site.join("duckdb"), site.to_path_buf()];
            folders.iter().find_map(|folder| {
                files(folder).into_iter().find(|file| {
                    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                    let is_library =
                        name.starts_with("_duckdb") || name.starts_with("duckdb.") || name == "libduckdb.so";
                    is_library && name.ends_with(suffix) && file.is_file()
                })
            })
        }
    }
}

/// Python's library for the packages of a folder `lib/python3.11/site-packages`: DuckDB's module takes symbols of it.
/// If it is not next to the packages, the dynamic linker looks for it by its name.
fn python(site: &Path, prefixes: &[PathBuf]) -> Option<PathBuf> {
    let version = site.parent()?.file_name()?.to_string_lossy().into_owned();
    let name = format!("lib{version}{}.1.0", env::consts::DLL_SUFFIX);
    let folders = prefixes.iter().flat_map(|prefix| [prefix.join("lib"), prefix.join("lib64")]);
    let file = folders.map(|folder| folder.join(&name)).find(|file| file.is_file());
    Some(file.unwrap_or_else(|| PathBuf::from(name)))
}

/// The folders of manifests, as ADBC's driver manager looks through them.
fn manifests() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        set("ADBC_DRIVER_PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
    let config =
        set("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| Some(onrush_wire::paths::home()?.join(".config")));
    folders.extend(config.map(|config| config.join("adbc/drivers")));
    folders.push(PathBuf::from("/etc/adbc/drivers"));
    folders
}

/// The library that a manifest names: `Driver.shared`, a path or a path for each platform.
fn manifest(kind: Kind, folder: &Path) -> Option<DriverFile> {
    let file = folder.join(format!("{}.toml", driver(kind)));
    let text = fs::read_to_string(&file).ok()?;
    let (library, entry) = read_manifest(&text)?;
    // A relative path begins at the manifest.
    let library = folder.join(library);
    let entries = entry.into_iter().chain(entries(kind)).collect();
    library.is_file().then_some(DriverFile { file: library, entries, needs: None })
}

/// The path of the library and the name of its function, of the lines of a manifest that tell them.
fn read_manifest(text: &str) -> Option<(String, Option<String>)> {
    let platform = format!("{}_{}", env::consts::OS, if cfg!(target_arch = "x86_64") { "amd64" } else { "arm64" });
    let (mut table, mut library, mut entry) = (String::new(), None, None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
            table = name.trim().to_string();
        } else if let Some((key, value)) = line.split_once('=') {
            let quote = value.trim().chars().next().filter(|quote| ['"', '\''].contains(quote));
            let value = quote.and_then(|quote| value.trim()[1..].split(quote).next()).unwrap_or_default().to_string();
            match (table.as_str(), key.trim().trim_matches('"')) {
                ("Driver", "shared") | ("", "Driver.shared") => library = Some(value),
                ("Driver.shared", key) if key == platform => library = Some(value),
                ("Driver", "entrypoint") => entry = Some(value),
                _ => {}
            }
        }
    }
    Some((library.filter(|path| !path.is_empty())?, entry))
}

/// A variable that is set and not empty.
fn set(variable: &str) -> Option<OsString> {
    env::var_os(variable).filter(|value| !value.is_empty())
}

/// The prefixes of the active Python.
fn prefixes() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].into_iter().filter_map(set).map(PathBuf::from).collect();
    let path = env::var_os("PATH").unwrap_or_default();
    let python = env::split_paths(&path).map(|folder| folder.join("python3")).find(|python| python.is_file());
    if let Some(python) = python {
        // The `python3` of a virtual environment is a link to the Python that it was made with.
        let resolved = fs::canonicalize(&python).unwrap_or_else(|_| python.clone());
        for file in [python, resolved] {
            prefixes.extend(file.parent().and_then(Path::parent).map(Path::to_path_buf));
        }
    }
    // The Python that a virtual environment was made with has the library of Python.
    let homes = prefixes.iter().filter_map(|prefix| home_of(&fs::read_to_string(prefix.join("pyvenv.cfg")).ok()?));
    let homes: Vec<PathBuf> = homes.collect();
    prefixes.extend(homes);
    prefixes
}

/// The prefix that `home = /usr/bin` of a virtual environment stands for.
fn home_of(settings: &str) -> Option<PathBuf> {
    let homes = settings.lines().filter_map(|line| line.split_once('=')).filter(|(key, _)| key.trim() == "home");
    homes.map(|(_, home)| Path::new(home.trim()).parent().map(Path::to_path_buf)).next()?
}

/// The folders of packages of a Python's prefix.
fn sites(prefix: &Path) -> Vec<PathBuf> {
    let libraries = ["lib", "local/lib", "lib64"].into_iter().flat_map(|lib| files(&prefix.join(lib)));
    let pythons =
        libraries.filter(|entry| entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")));
    pythons.flat_map(|python| ["site-packages", "dist-packages"].map(|folder| python.join(folder))).collect()
}

/// The entries of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    entries.sort();
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_the_library_of_the_platform() {
        let text = "manifest_version = 1\nname = 'SQLite'\n[ADBC]\nversion = \"1.1.0\"\n[Driver]\nentrypoint = \"Start\"\n\
                    [Driver.shared]\nlinux_amd64 = \"lib/amd.so\" # here\nlinux_arm64 = 'lib/arm.so'\n";
        let own = if cfg!(target_arch = "x86_64") { "lib/amd.so" } else { "lib/arm.so" };
        assert_eq!(read_manifest(text), Some((own.to_string(), Some("Start".to_string()))));
        assert_eq!(read_manifest("[Driver]\nshared = \"/a.so\""), Some(("/a.so".to_string(), None)));
        assert_eq!(read_manifest("[Driver]\nname = \"a\""), None);
    }

    #[test]
    fn a_manifest_next_to_its_library_is_found() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("sqlite.toml"), "[Driver]\nshared = \"a.so\"\n").unwrap();
        assert_eq!(manifest(Kind::Sqlite, folder.path()), None);
        fs::write(folder.path().join("a.so"), "").unwrap();
        let library = manifest(Kind::Sqlite, folder.path()).unwrap();
        assert_eq!(library.file, folder.path().join("a.so"));
        assert_eq!(library.entries, ["AdbcDriverSqliteInit", "AdbcDriverInit"]);
    }
}
