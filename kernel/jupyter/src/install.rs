//! `onrush install` and `onrush uninstall`: the Jupyter kernelspec and the front-end extension.

pub mod extension;

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use jupyter_protocol::JupyterKernelspec;

/// The folder's name, and so the kernel's name for `--kernel`.
pub const NAME: &str = "onrush";
const DISPLAY_NAME: &str = "Rust (Onrush)";

const LOGOS: [(&str, &[u8]); 3] = [
    ("logo-32x32.png", include_bytes!("../assets/logo-32x32.png")),
    ("logo-64x64.png", include_bytes!("../assets/logo-64x64.png")),
    ("logo-svg.svg", include_bytes!("../assets/logo-svg.svg")),
];

/// Where kernels are looked for. Without an option: the active Python environment if there is one, else the user's
/// folder.
#[derive(Args, Clone, Debug, Default)]
pub struct Location {
    /// Below this folder, in share/jupyter/kernels
    #[arg(long, value_name = "DIR", conflicts_with_all = ["user", "sys_prefix"])]
    prefix: Option<PathBuf>,
    /// For this user, whatever Python environment is active
    #[arg(long, conflicts_with = "sys_prefix")]
    user: bool,
    /// In the active Python environment (VIRTUAL_ENV or CONDA_PREFIX)
    #[arg(long)]
    sys_prefix: bool,
    /// Leave out the files of ipywidgets, which pip fetches where Jupyter has none
    #[arg(long)]
    no_widgets: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("no Python environment is active: activate one, or use --user or --prefix DIR")]
    NoEnvironment,
    #[error("there is no home folder (HOME is not set): use --prefix DIR")]
    NoHome,
    #[error("the path of this program cannot be found out: {0}")]
    Executable(#[source] io::Error),
    #[error("the kernel's description could not be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{path} could not be written: {source}")]
    Write { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Target(String),
    #[error("{path} could not be removed: {source}")]
    Remove { path: PathBuf, source: io::Error },
}

/// `JUPYTER_DATA_DIR`, else `$XDG_DATA_HOME/jupyter`, else `~/.local/share/jupyter`, as jupyter_core does it.
fn user_data() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("JUPYTER_DATA_DIR")
        .or_else(|| set("XDG_DATA_HOME").map(|folder| folder.join("jupyter")))
        .or_else(|| set("HOME").map(|folder| folder.join(".local/share/jupyter")))
}

fn environment() -> Option<PathBuf> {
    ["VIRTUAL_ENV", "CONDA_PREFIX"]
        .iter()
        .find_map(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
        .map(PathBuf::from)
}

/// The prefix that pip installed this program into, if it did.
fn own_prefix() -> Option<PathBuf> {
    let program = std::env::current_exe().and_then(fs::canonicalize).ok()?;
    Some(program.parent()?.parent()?.to_path_buf())
}

fn below_prefix(prefix: &Path) -> PathBuf {
    prefix.join("share/jupyter")
}

impl Location {
    /// Jupyter's data folder.
    fn data(&self) -> Result<PathBuf, InstallError> {
        Ok(match &self.prefix {
            Some(prefix) => below_prefix(prefix),
            None if self.user => user_data().ok_or(InstallError::NoHome)?,
            None => match environment() {
                Some(prefix) => below_prefix(&prefix),
                None if self.sys_prefix => return Err(InstallError::NoEnvironment),
                None => user_data().ok_or(InstallError::NoHome)?,
            },
        })
    }
}

fn kernel_folder(data: &Path) -> PathBuf {
    data.join("kernels").join(NAME)
}

fn system_data() -> [PathBuf; 2] {
    ["/usr/local/share/jupyter", "/usr/share/jupyter"].map(PathBuf::from)
}

/// Folders in which Jupyter may find the kernel: those of the active environment, of this program, the user and the
/// system.
pub fn installed() -> Vec<PathBuf> {
    let below = |prefix: Option<PathBuf>| prefix.map(|prefix| below_prefix(&prefix));
    let data = [below(environment()), below(own_prefix()), user_data()];
    let mut seen = HashSet::new();
    data.into_iter()
        .flatten()
        .chain(system_data())
        .map(|data| kernel_folder(&data))
        .filter(|folder| folder.join("kernel.json").is_file() && seen.insert(folder.clone()))
        .collect()
}

pub fn install(location: &Location) -> Result<(), InstallError> {
    let data = location.data()?;
    let folder = kernel_folder(&data);
    write_spec(&folder)?;
    println!("The kernel \"{DISPLAY_NAME}\" is installed in\n  {}", folder.display());
    if let Some(folder) = extension::write(&data)? {
        println!("The extension for JupyterLab and Notebook 7 is installed in\n  {}", folder.display());
    }
    match if location.no_widgets { None } else { extension::write_widgets(&data) } {
        Some(Ok(folder)) => {
            println!("The files of ipywidgets, which draw controls, are installed in\n  {}", folder.display())
        }
        Some(Err(why)) => println!("note: the files of ipywidgets could not be fetched: {why}"),
        None => {}
    }
    for (what, help) in extension::lacking(Some(&data)) {
        println!("note: {what}: {help}");
    }
    Ok(())
}

/// In one step, so that Jupyter never reads half a file.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), InstallError> {
    let failed = |source| InstallError::Write { path: path.to_path_buf(), source };
    fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    onrush_files::write(path, bytes).map(drop).map_err(|why| InstallError::Target(why.message))
}

fn write_spec(folder: &Path) -> Result<(), InstallError> {
    let executable = std::env::current_exe().and_then(fs::canonicalize).map_err(InstallError::Executable)?;
    let argument = |text: &str| text.to_string();
    let spec = JupyterKernelspec {
        argv: vec![
            executable.display().to_string(),
            argument("kernel"),
            argument("--connection-file"),
            argument("{connection_file}"),
        ],
        display_name: DISPLAY_NAME.to_string(),
        language: "rust".to_string(),
        metadata: Some(Default::default()),
        interrupt_mode: Some("message".to_string()),
        env: Some(Default::default()),
    };
    let json = serde_json::to_vec_pretty(&spec)?;
    for (name, bytes) in LOGOS.into_iter().chain([("kernel.json", json.as_slice())]) {
        replace(&folder.join(name), bytes)?;
    }
    Ok(())
}

pub fn uninstall(location: &Location) -> Result<(), InstallError> {
    let data = location.data()?;
    if extension::remove(&data)? {
        println!("The extension for JupyterLab and Notebook 7 is removed from\n  {}", data.display());
    }
    if extension::remove_widgets(&data)? {
        println!("The files of ipywidgets are removed from\n  {}", data.display());
    }
    let folder = kernel_folder(&data);
    if !folder.join("kernel.json").is_file() {
        println!("There is no kernel in\n  {}", folder.display());
        return Ok(());
    }
    fs::remove_dir_all(&folder).map_err(|source| InstallError::Remove { path: folder.clone(), source })?;
    println!("The kernel \"{DISPLAY_NAME}\" is removed from\n  {}", folder.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernelspec_names_this_program_and_the_logos_are_pictures() {
        let prefix = std::env::temp_dir().join(format!("onrush-install-{}", std::process::id()));
        let location = Location { prefix: Some(prefix.clone()), no_widgets: true, ..Location::default() };
        install(&location).unwrap();
        let folder = prefix.join("share/jupyter/kernels/onrush");
        let spec: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("kernel.json")).unwrap()).unwrap();
        assert_eq!(spec["language"], "rust");
        assert_eq!(spec["interrupt_mode"], "message");
        assert_eq!(spec["argv"][3], "{connection_file}");
        assert!(Path::new(spec["argv"][0].as_str().unwrap()).is_absolute());
        for name in ["logo-32x32.png", "logo-64x64.png"] {
            assert!(fs::read(folder.join(name)).unwrap().starts_with(b"\x89PNG\r\n"));
        }
        uninstall(&location).unwrap();
        assert!(!folder.exists());
        fs::remove_dir_all(prefix).unwrap();
    }
}
