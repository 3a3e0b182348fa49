//! `cargo xtask wheel`: the package for pip. It holds the programs, the kernelspec, the extension for JupyterLab and
//! the crates of the prelude build. `xtask/wheel.py` writes the archive; the prelude is built at the first start.

mod registry;
mod test;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};

use crate::process::{self, Failure};
use crate::workspace::Workspace;
use crate::{lab, python, web};

/// The oldest minor version of glibc 2 that the programs run with: that of RHEL 8 and Debian 10.
const GLIBC: u32 = 28;
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// SSE4.2 and POPCNT: every x86-64 processor since 2009.
const PROCESSOR: &str = "-C target-cpu=x86-64-v2";
/// Package and program.
const PROGRAMS: [(&str, &str); 2] = [("onrush-session", "onrush-session"), ("onrush-jupyter", "onrush")];
/// The program as the front end finds it: it fills in the folder of the kernelspec.
const KERNEL: &str = "{resource_dir}/../../../../bin/onrush";

#[derive(Args)]
pub struct Options {
    /// Install the wheel into an empty environment without a network, and run the tour there
    #[arg(long)]
    test: bool,
    /// Link against the glibc of this machine, without zig: the wheel then needs this glibc or a newer one
    #[arg(long)]
    native: bool,
    /// Pack the programs in this folder instead of building them
    #[arg(long, value_name = "DIR", hide = true)]
    binaries: Option<PathBuf>,
}

pub fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    let start = Instant::now();
    lab::check_tools(workspace)?;
    python::check(workspace)?;
    let binaries = match &options.binaries {
        Some(folder) => folder.clone(),
        None => build(workspace, options.native, start)?,
    };

    process::stage(start, "Packing the wheel");
    let version = version(workspace)?;
    let tree = workspace.target.join("wheel");
    remove(&tree)?;
    let data = tree.join(format!("onrush-{version}.data"));
    let glibc = place_programs(workspace, &binaries, &data.join("scripts"))?;
    place_jupyter_files(workspace, &data)?;
    let crates = registry::write(workspace, &data.join("data/share/onrush/registry"))?;
    let tag = format!("py3-none-manylinux_2_{}_x86_64", glibc.max(GLIBC));
    place_papermill(workspace, &tree, &tree.join(format!("onrush-{version}.dist-info")))?;
    place_description(workspace, &tree.join(format!("onrush-{version}.dist-info")), &version, &tag)?;
    let wheel = workspace.root.join("dist").join(format!("onrush-{version}-{tag}.whl"));
    make(wheel.parent().unwrap_or(&wheel))?;
    let mut pack = workspace.command("python3");
    process::run("wheel.py", pack.arg(workspace.root.join("xtask/wheel.py")).arg(&tree).arg(&wheel))?;
    remove(&tree)?;

    let size = fs::metadata(&wheel).map_err(|e| Failure::io(wheel.display(), e))?.len();
    println!("{}", wheel.display());
    println!("{:.1} MB, {crates} crates of the prelude, glibc 2.{} or newer", size as f64 / 1e6, glibc.max(GLIBC));
    if glibc > GLIBC {
        println!(
            "note: the programs were linked against a newer glibc than 2.{GLIBC}: leave out --native for an older one"
        );
    }
    if options.test {
        test::run(workspace, &wheel, start)?;
    }
    Ok(())
}

/// The version of the workspace.
fn version(workspace: &Workspace) -> Result<String, Failure> {
    let mut cargo = workspace.cargo();
    cargo.args(["metadata", "--format-version=1", "--no-deps"]);
    let text = process::run_quietly("cargo metadata", &mut cargo)?;
    let metadata: Value = serde_json::from_str(&text).map_err(|e| Failure::new(format!("cargo metadata: {e}")))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let version = packages.filter(|package| package["name"] == "onrush-jupyter").find_map(|p| p["version"].as_str());
    version.map(str::to_string).ok_or_else(|| Failure::new("there is no package onrush-jupyter"))
}

/// Builds the programs with the release profile. Returns their folder.
fn build(workspace: &Workspace, native: bool, start: Instant) -> Result<PathBuf, Failure> {
    web::prepare(workspace);
    let path = if native { None } else { Some(zig(workspace)?) };
    process::stage(start, "Building Onrush with optimisation: the first time takes up to an hour on 2 cores");
    for (package, _) in PROGRAMS {
        let mut cargo = workspace.cargo();
        match &path {
            Some(path) => cargo.env("PATH", path).args(["zigbuild", "--target", &format!("{TRIPLE}.2.{GLIBC}")]),
            None => cargo.args(["build", "--target", TRIPLE]),
        };
        cargo.args(["--release", "--locked", "--bins", "--package", package]);
        // A wheel without the extension for JupyterLab is refused.
        cargo.env("RUSTFLAGS", PROCESSOR).env("ONRUSH_WEB", "require");
        process::run("cargo build", &mut cargo)?;
    }
    Ok(workspace.target.join(TRIPLE).join("release"))
}

/// Returns a search path with `cargo zigbuild`, which links against an older glibc than that of this machine. Installs
/// it into `.venv` if it is missing.
fn zig(workspace: &Workspace) -> Result<std::ffi::OsString, Failure> {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut help = workspace.command("cargo-zigbuild");
    if help.arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Ok(path);
    }
    python::prepare(workspace, &[python::WHEEL]).map_err(|failure| {
        Failure::new(format!("{failure}\nhelp: --native builds without zig, for this machine's glibc or a newer one"))
    })?;
    let folders = std::iter::once(workspace.venv().join("bin")).chain(env::split_paths(&path));
    env::join_paths(folders).map_err(|e| Failure::new(format!("PATH: {e}")))
}

/// Copies the programs without their symbols. Returns the minor version of glibc 2 that they need.
fn place_programs(workspace: &Workspace, from: &Path, scripts: &Path) -> Result<u32, Failure> {
    make(scripts)?;
    let mut needed = 0;
    for (_, name) in PROGRAMS {
        let to = scripts.join(name);
        fs::copy(from.join(name), &to).map_err(|e| Failure::io(from.join(name).display(), e))?;
        process::run("strip", workspace.command("strip").arg("--strip-all").arg(&to))?;
        needed = needed.max(glibc_of(&fs::read(&to).map_err(|e| Failure::io(to.display(), e))?));
    }
    Ok(needed)
}

/// The largest version of glibc in the names of a program's dynamic symbols.
fn glibc_of(program: &[u8]) -> u32 {
    let minor = |name: &[u8]| {
        let version = std::str::from_utf8(name.strip_prefix(b"GLIBC_2.")?).ok()?;
        version.split('.').next()?.parse().ok()
    };
    program.split(|byte| *byte == 0).filter_map(minor).max().unwrap_or(0)
}

/// The kernelspec and the extension as `onrush install` writes them, with the path and the instructions of a wheel.
fn place_jupyter_files(workspace: &Workspace, data: &Path) -> Result<(), Failure> {
    let prefix = data.join("data");
    let mut install = workspace.command(data.join("scripts/onrush"));
    install.args(["install", "--no-widgets", "--prefix"]).arg(&prefix);
    process::run_quietly("onrush install", &mut install)?;
    let jupyter = prefix.join("share/jupyter");
    edit(&jupyter.join("kernels/onrush/kernel.json"), |spec| spec["argv"][0] = KERNEL.into())?;
    edit(&jupyter.join("labextensions/@onrush/jupyterlab/install.json"), |install| {
        *install = json!({
            "packageManager": "python",
            "packageName": "onrush",
            "uninstallInstructions": "pip uninstall onrush",
        });
    })
}

/// The translator of papermill's parameters, and the entry point by which papermill finds it.
fn place_papermill(workspace: &Workspace, tree: &Path, description: &Path) -> Result<(), Failure> {
    const MODULE: &str = "onrush_papermill.py";
    let from = workspace.root.join("kernel/jupyter/papermill").join(MODULE);
    fs::copy(&from, tree.join(MODULE)).map_err(|e| Failure::io(from.display(), e))?;
    make(description)?;
    write(&description.join("entry_points.txt"), "[papermill.engine]\nonrush = onrush_papermill:Engine\n")
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) -> Result<(), Failure> {
    let text = fs::read_to_string(path).map_err(|e| Failure::io(path.display(), e))?;
    let mut value: Value = serde_json::from_str(&text).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
    change(&mut value);
    write(path, &format!("{value:#}\n"))
}

/// The fields of the package: <https://packaging.python.org/en/latest/specifications/core-metadata/>.
fn place_description(workspace: &Workspace, folder: &Path, version: &str, tag: &str) -> Result<(), Failure> {
    make(&folder.join("licenses"))?;
    let licenses = ["LICENSE-APACHE", "LICENSE-MIT"];
    for name in licenses {
        let from = workspace.root.join(name);
        fs::copy(&from, folder.join("licenses").join(name)).map_err(|e| Failure::io(from.display(), e))?;
    }
    let readme = workspace.root.join("README.md");
    let readme = fs::read_to_string(&readme).map_err(|e| Failure::io(readme.display(), e))?;
    let fields = [
        "Metadata-Version: 2.4".to_string(),
        "Name: onrush".to_string(),
        format!("Version: {version}"),
        "Summary: A Jupyter kernel for Rust with a dataframe session that outlives cells".to_string(),
        "License-Expression: Apache-2.0 OR MIT".to_string(),
        format!("License-File: {}", licenses[0]),
        format!("License-File: {}", licenses[1]),
        "Keywords: jupyter,rust,kernel,dataframe".to_string(),
        "Classifier: Framework :: Jupyter".to_string(),
        "Classifier: Operating System :: POSIX :: Linux".to_string(),
        "Classifier: Programming Language :: Rust".to_string(),
        "Requires-Python: >=3.8".to_string(),
        // Static files that draw controls in JupyterLab and Notebook 7.
        "Requires-Dist: jupyterlab_widgets>=3".to_string(),
        "Description-Content-Type: text/markdown".to_string(),
    ];
    write(&folder.join("METADATA"), &format!("{}\n\n{readme}", fields.join("\n")))?;
    let wheel = format!("Wheel-Version: 1.0\nGenerator: cargo xtask wheel\nRoot-Is-Purelib: false\nTag: {tag}\n");
    write(&folder.join("WHEEL"), &wheel)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|e| Failure::io(path.display(), e))
}

fn make(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| Failure::io(folder.display(), e))
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Failure::io(folder.display(), error)),
        _ => Ok(()),
    }
}

/// A folder for one run that is removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Failure> {
        // Short, because the path of a socket has at most 107 bytes.
        let folder = env::temp_dir().join(format!("onrush-w{}", std::process::id()));
        remove(&folder)?;
        make(&folder)?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The output of a command on both streams, and whether it succeeded.
fn both(what: &str, command: &mut Command) -> Result<(bool, String), Failure> {
    let output = command.output().map_err(|e| Failure::io(what, e))?;
    let text = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&text).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_glibc_counts() {
        assert_eq!(glibc_of(b"\x7fELF\0memcpy\0GLIBC_2.2.5\0GLIBC_2.28\0GLIBC_2.9\0GLIBC_PRIVATE\0"), 28);
        assert_eq!(glibc_of(b"\x7fELF\0no versions\0"), 0);
    }
}
