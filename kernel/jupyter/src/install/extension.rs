//! The front-end extension: a folder of static files that JupyterLab and Notebook 7 load. Also checks and installs the
//! files of ipywidgets, which draw controls.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{InstallError, environment, replace, system_data, user_data};

/// The package that draws controls in front ends, and the Python package that brings it.
const WIDGETS: (&str, &str) = ("@jupyter-widgets/jupyterlab-manager", "jupyterlab_widgets");

fn folder(data: &Path) -> PathBuf {
    data.join("labextensions").join(onrush_web::NAME)
}

/// Writes the files; the folder, or `None` if this program was built without them.
pub fn write(data: &Path) -> Result<Option<PathBuf>, InstallError> {
    if onrush_web::FILES.is_empty() {
        return Ok(None);
    }
    let folder = folder(data);
    let installed = serde_json::to_vec_pretty(&json!({
        "packageManager": "onrush",
        "packageName": "onrush",
        "uninstallInstructions": "`onrush uninstall`, with the option that `onrush install` had",
    }))?;
    // The description last: it names the others.
    let (description, rest): (Vec<_>, Vec<_>) = onrush_web::FILES.iter().partition(|(name, _)| *name == "package.json");
    for (name, bytes) in rest.iter().chain(&description) {
        replace(&folder.join(name), bytes)?;
    }
    replace(&folder.join("install.json"), &installed)?;
    for old in fs::read_dir(folder.join("static")).into_iter().flatten().flatten() {
        let name = format!("static/{}", old.file_name().to_string_lossy());
        if !onrush_web::FILES.iter().any(|(kept, _)| *kept == name) {
            // A file of an older version that cannot be removed is not read by anybody.
            let _ = fs::remove_file(old.path());
        }
    }
    Ok(Some(folder))
}

/// True if there was one.
pub fn remove(data: &Path) -> Result<bool, InstallError> {
    let folder = folder(data);
    if !folder.join("package.json").is_file() {
        return Ok(false);
    }
    fs::remove_dir_all(&folder).map_err(|source| InstallError::Remove { path: folder.clone(), source })?;
    // The scope's folder, if nothing else is in it.
    let _ = folder.parent().map(fs::remove_dir);
    Ok(true)
}

/// Folders in which Jupyter may look for extensions: Python's of the `jupyter` on PATH, that of a wheel, the
/// environment's, the user's, the system's.
fn data_folders() -> Vec<PathBuf> {
    let paths = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect::<Vec<_>>()).unwrap_or_default();
    let program = paths.iter().find(|folder| folder.join("jupyter").is_file());
    let of_program = program.and_then(|bin| Some(super::below_prefix(bin.parent()?)));
    let of_prefix = |prefix: Option<PathBuf>| prefix.map(|prefix| super::below_prefix(&prefix));
    let own = [of_program, of_prefix(super::own_prefix()), of_prefix(environment()), user_data()];
    own.into_iter().flatten().chain(system_data()).collect()
}

fn find(name: &str, beside: Option<&Path>) -> Option<PathBuf> {
    let folders = beside.map(Path::to_path_buf).into_iter().chain(data_folders());
    folders.map(|data| data.join("labextensions").join(name)).find(|folder| folder.join("package.json").is_file())
}

/// The parts that a front end lacks to draw all of our outputs, each with advice.
pub fn lacking(beside: Option<&Path>) -> Vec<(String, String)> {
    let mut lacking = Vec::new();
    if onrush_web::FILES.is_empty() {
        lacking.push((
            format!("this program was built without the extension for JupyterLab ({})", onrush_web::MISSING),
            "tables are static; build Onrush again where node 20 or newer is on PATH, and `onrush install`".to_string(),
        ));
    } else if find(onrush_web::NAME, beside).is_none() {
        lacking.push((
            "the extension for JupyterLab and Notebook 7 is not installed".to_string(),
            "tables are static; `onrush install` writes it".to_string(),
        ));
    }
    if find(WIDGETS.0, beside).is_none() {
        lacking.push((
            "no ipywidgets were found in Jupyter".to_string(),
            format!("sliders and other controls need them: `onrush install` fetches their files, or `pip install {}` where JupyterLab is", WIDGETS.1),
        ));
    }
    lacking
}

/// In a folder of files that this program has put there.
const OURS: &str = "installed-by-onrush";

/// Has pip write the static files of ipywidgets next to Onrush's, if Jupyter has none. No Python environment is
/// changed. Returns the new folder, or the reason why there is none; nothing if there is no need.
pub fn write_widgets(data: &Path) -> Option<Result<PathBuf, String>> {
    if find(WIDGETS.0, Some(data)).is_some() {
        return None;
    }
    Some(pythons(data).first().ok_or("there is no Python with pip".to_string()).and_then(|python| fetch(python, data)))
}

/// Pythons that may have pip: of the target folder, of the environment, of Jupyter, any.
fn pythons(data: &Path) -> Vec<PathBuf> {
    let prefix = data.parent().and_then(Path::parent).map(Path::to_path_buf);
    let of_prefixes = [prefix, environment()].into_iter().flatten().map(|prefix| prefix.join("bin"));
    let paths = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect::<Vec<_>>()).unwrap_or_default();
    let beside_jupyter = paths.iter().filter(|folder| folder.join("jupyter").is_file()).cloned();
    let folders: Vec<PathBuf> = of_prefixes.chain(beside_jupyter).chain(paths.iter().cloned()).collect();
    let programs = folders.iter().flat_map(|folder| ["python3", "python"].map(|name| folder.join(name)));
    let has_pip = |python: &PathBuf| {
        let quiet = || std::process::Stdio::null();
        let mut asked = std::process::Command::new(python);
        asked.args(["-m", "pip", "--version"]).stdin(quiet()).stdout(quiet()).stderr(quiet());
        python.is_file() && asked.status().is_ok_and(|status| status.success())
    };
    programs.filter(has_pip).take(1).collect()
}

fn fetch(python: &Path, data: &Path) -> Result<PathBuf, String> {
    let taken = data.join(format!(".onrush-widgets-{}", std::process::id()));
    let mut pip = std::process::Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps"]);
    pip.args(["--only-binary", ":all:", "--retries", "1", "--timeout", "15", "--target"]).arg(&taken).arg(WIDGETS.1);
    let ran = pip.stdin(std::process::Stdio::null()).output().map_err(|e| format!("pip could not be run: {e}"));
    let moved = ran.and_then(|ran| {
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            let said = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it gave no reason");
            return Err(format!("pip failed: {}", said.trim()));
        }
        let (from, to) =
            (taken.join("share/jupyter/labextensions").join(WIDGETS.0), data.join("labextensions").join(WIDGETS.0));
        let place = || {
            fs::create_dir_all(to.parent().unwrap_or(data))?;
            fs::write(from.join(OURS), "`onrush uninstall` removes this folder\n")?;
            fs::rename(&from, &to)
        };
        place().map_err(|e| format!("{} could not be written: {e}", to.display())).map(|()| to)
    });
    let _ = fs::remove_dir_all(&taken);
    moved
}

/// True if [`write_widgets`] had written some.
pub fn remove_widgets(data: &Path) -> Result<bool, InstallError> {
    let folder = data.join("labextensions").join(WIDGETS.0);
    if !folder.join(OURS).is_file() {
        return Ok(false);
    }
    fs::remove_dir_all(&folder).map_err(|source| InstallError::Remove { path: folder.clone(), source })?;
    let _ = folder.parent().map(fs::remove_dir);
    Ok(true)
}

/// The folder of the extension.
pub fn installed() -> Option<PathBuf> {
    find(onrush_web::NAME, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_jupyter_reads_names_a_file_and_old_files_go() {
        let data = std::env::temp_dir().join(format!("onrush-extension-{}", std::process::id()));
        let Some(folder) = write(&data).unwrap() else {
            assert_ne!(onrush_web::MISSING, "");
            return;
        };
        fs::write(folder.join("static/remoteEntry.old.js"), "").unwrap();
        write(&data).unwrap();
        assert!(folder.ends_with("labextensions/@onrush/jupyterlab"));
        let description: serde_json::Value =
            serde_json::from_slice(&fs::read(folder.join("package.json")).unwrap()).unwrap();
        let entry = description["jupyterlab"]["_build"]["load"].as_str().unwrap();
        assert!(folder.join(entry).is_file());
        let entries = fs::read_dir(folder.join("static")).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        let entry_name = entry.strip_prefix("static/").unwrap();
        assert_eq!(names, [entry_name, "standalone.js"]);
        assert!(folder.join("install.json").is_file());
        assert!(remove(&data).unwrap());
        assert!(!remove(&data).unwrap());
        fs::remove_dir_all(data).unwrap();
    }
}
