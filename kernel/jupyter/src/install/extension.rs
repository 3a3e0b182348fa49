//! The front end's extension: a folder of static files beside the kernels, which JupyterLab and Notebook 7 load. Also what else
//! they need for our outputs, and whether it is there.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::{InstallError, environment, replace, system_data, user_data};

/// What draws controls, and the package that brings it.
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

/// Folders in which Jupyter may look for extensions: Python's of the `jupyter` on PATH, the environment's, the user's, the system's.
fn data_folders() -> Vec<PathBuf> {
    let paths = std::env::var_os("PATH").map(|p| std::env::split_paths(&p).collect::<Vec<_>>()).unwrap_or_default();
    let program = paths.iter().find(|folder| folder.join("jupyter").is_file());
    let of_program = program.and_then(|bin| Some(super::below_prefix(bin.parent()?)));
    let own = [of_program, environment().map(|prefix| super::below_prefix(&prefix)), user_data()];
    own.into_iter().flatten().chain(system_data()).collect()
}

fn find(name: &str, beside: Option<&Path>) -> Option<PathBuf> {
    let folders = beside.map(Path::to_path_buf).into_iter().chain(data_folders());
    folders.map(|data| data.join("labextensions").join(name)).find(|folder| folder.join("package.json").is_file())
}

/// What a front end lacks to draw all of our outputs, each with what to do.
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
            format!("sliders and other controls need them: `pip install {}` where JupyterLab is", WIDGETS.1),
        ));
    }
    lacking
}

/// Where the extension is.
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
        assert_eq!(fs::read_dir(folder.join("static")).unwrap().count(), 1);
        assert!(folder.join("install.json").is_file());
        assert!(remove(&data).unwrap());
        assert!(!remove(&data).unwrap());
        fs::remove_dir_all(data).unwrap();
    }
}
