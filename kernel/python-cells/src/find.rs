//! The active Python: the program that runs `%%python` cells.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

use onrush_wire::{Class, Diagnostic};

/// The variable that names the program.
const VARIABLE: &str = "ONRUSH_PYTHON";

/// The program. `ONRUSH_PYTHON` alone if it is set. Otherwise the first that exists of the environments `VIRTUAL_ENV`
/// and `CONDA_PREFIX`, the environment in which `onrush` is installed, and `python3` in `PATH`. XGBoost and the drivers
/// of databases are looked for in the same environments.
///
/// # Errors
/// If none is an executable file. The error names what was tried.
pub fn python() -> Result<PathBuf, Diagnostic> {
    let program = env::current_exe().ok().and_then(|program| fs::canonicalize(program).ok());
    find(&|name| env::var_os(name), program.as_deref())
}

fn find(variable: &dyn Fn(&str) -> Option<OsString>, program: Option<&Path>) -> Result<PathBuf, Diagnostic> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(named) = set(VARIABLE).map(PathBuf::from) {
        if is_executable(&named) {
            return Ok(named);
        }
        let message = format!("{VARIABLE} is {}, expected an executable file", named.display());
        return Err(Diagnostic::error(Class::Resources, "no-python", message).help(format!(
            "set {VARIABLE} to the path of a Python 3.9 or newer, or unset it, and restart the kernel"
        )));
    }
    let mut tried: Vec<(String, PathBuf)> = Vec::new();
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(prefix) = set(name) {
            tried.push((name.to_string(), PathBuf::from(prefix).join("bin/python")));
        }
    }
    if let Some(folder) = program.and_then(Path::parent) {
        // A program in `bin` of an environment, or in the package that pip has put there.
        let is_prefix = |folder: &&Path| folder.join("pyvenv.cfg").is_file() || folder.join("conda-meta").is_dir();
        if folder.file_name().is_some_and(|name| name == "bin") {
            tried.push(("the environment of `onrush`".to_string(), folder.join("python")));
            tried.push(("the environment of `onrush`".to_string(), folder.join("python3")));
        } else if let Some(prefix) = folder.ancestors().find(is_prefix) {
            tried.push(("the environment of `onrush`".to_string(), prefix.join("bin/python")));
        }
    }
    let path = set("PATH").unwrap_or_default();
    let in_path = env::split_paths(&path).map(|folder| folder.join("python3")).find(|file| is_executable(file));
    if let Some((_, python)) = tried.iter().find(|(_, python)| is_executable(python)) {
        return Ok(python.clone());
    }
    if let Some(python) = in_path {
        return Ok(python);
    }
    let tried: Vec<String> = tried.iter().map(|(why, python)| format!("{} ({why})", python.display())).collect();
    let tried = [tried, vec!["python3 in PATH".to_string()]].concat().join(", ");
    Err(Diagnostic::error(Class::Resources, "no-python", "no Python was found to run the cell")
        .note(format!("tried: {tried}"))
        .help(format!("install Python 3.9 or newer, or set {VARIABLE} to its path and restart the kernel")))
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with executable files at these paths.
    fn tree(paths: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in paths {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "").unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    }

    #[test]
    fn the_active_environment_comes_before_the_programs_and_the_path() {
        let tree = tree(&["venv/bin/python", "conda/bin/python", "own/bin/python", "own/bin/onrush", "usr/python3"]);
        let at = |path: &str| tree.path().join(path);
        let found = |set: &[(&str, &str)]| {
            let variable =
                |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, path)| at(path).into_os_string());
            find(&variable, Some(&at("own/bin/onrush"))).map(|python| python.strip_prefix(tree.path()).unwrap().into())
        };
        let is = |set: &[(&str, &str)], expected: &str| assert_eq!(found(set), Ok(PathBuf::from(expected)));
        let path = ("PATH", "usr");
        is(&[("ONRUSH_PYTHON", "usr/python3"), ("VIRTUAL_ENV", "venv"), path], "usr/python3");
        is(&[("VIRTUAL_ENV", "venv"), ("CONDA_PREFIX", "conda"), path], "venv/bin/python");
        is(&[("CONDA_PREFIX", "conda"), path], "conda/bin/python");
        is(&[("VIRTUAL_ENV", "gone"), path], "own/bin/python");
        is(&[path], "own/bin/python");
    }

    #[test]
    fn the_path_is_last_and_the_error_says_what_was_tried() {
        let tree = tree(&["usr/python3", "clone/onrush", "site/lib/python3/onrush/bin/onrush"]);
        let at = |path: &str| tree.path().join(path);
        let path = |name: &str| (name == "PATH").then(|| at("usr").into_os_string());
        assert_eq!(find(&path, Some(&at("clone/onrush"))), Ok(at("usr/python3")));
        let venv = |name: &str| (name == "VIRTUAL_ENV").then(|| OsString::from("/nowhere/venv"));
        let error = find(&venv, None).unwrap_err();
        assert_eq!(error.code, "no-python");
        assert_eq!(error.notes, ["tried: /nowhere/venv/bin/python (VIRTUAL_ENV), python3 in PATH"]);
        let named = |name: &str| (name == "ONRUSH_PYTHON").then(|| OsString::from("/nowhere/python"));
        let error = find(&named, None).unwrap_err();
        assert_eq!(error.message, "ONRUSH_PYTHON is /nowhere/python, expected an executable file");
    }
}
