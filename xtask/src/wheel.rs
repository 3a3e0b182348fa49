//! `cargo xtask wheel`: the packages for pip. `onrush-kernel` holds the programs, the kernelspec, the extension for
//! JupyterLab, the Python package `onrush` and the crates of the prelude build. Its extra `toolchain` brings a compiler
//! and the built prelude along; without it the prelude is built at the first start. `xtask/wheel.py` writes archives.

mod empty_root;
mod notices;
mod package;
mod page;
mod registry;
mod test;
mod toolchain;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use self::empty_root::Distribution;
use self::notices::{Crates, Scope};
use self::package::{Compression, Description, WheelFolder, glibc_of_folder};
use crate::process::{self, Failure};
use crate::workspace::Workspace;
use crate::{lab, python, web};

/// The package on the index. `onrush` belongs to somebody else there.
const NAME: &str = "onrush-kernel";

/// The oldest minor version of glibc 2 that the programs run with: that of RHEL 8 and Debian 10.
const GLIBC: u32 = 28;
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// SSE4.2 and POPCNT, which processors of x86-64 have since about 2009.
const PROCESSOR: &str = "-C target-cpu=x86-64-v2";
/// WheelFolder and program.
const PROGRAMS: [(&str, &str); 2] = [("onrush-session", "onrush-session"), ("onrush-jupyter", "onrush")];
/// The packages of the prelude build that link crates.
const PRELUDE: [&str; 2] = ["onrush", "onrush-host"];
/// The name by which Python imports the package.
const PYTHON: &str = "onrush";
/// The program as the front end finds it: it fills in the folder of the kernelspec.
const KERNEL: &str = "{resource_dir}/../../../../bin/onrush";

#[derive(Args)]
pub struct Options {
    /// Install the wheels on a machine without a network, and run notebooks there
    #[arg(long, value_enum, value_name = "MACHINE", num_args = 0..=1, default_missing_value = "rust")]
    test: Option<Machine>,
    /// Pack the Rust toolchain of this machine and the built prelude too: `pip install 'onrush-kernel[toolchain]'`
    #[arg(long)]
    toolchain: bool,
    /// Link against the glibc of this machine, without zig: the wheel then needs this glibc or a newer one
    #[arg(long)]
    native: bool,
    /// Pack the programs in this folder instead of building them
    #[arg(long, value_name = "DIR", hide = true)]
    binaries: Option<PathBuf>,
}

/// Machines that the wheels are installed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Machine {
    /// This one, which has Rust and a C compiler, without the clone
    Rust,
    /// An empty Debian 12 with Python alone
    Debian12,
    /// An empty Ubuntu 22.04 with Python alone
    Ubuntu2204,
    /// All of them, one after another
    All,
}

impl Machine {
    fn suites(self) -> Vec<Distribution> {
        match self {
            Machine::Rust => Vec::new(),
            Machine::Debian12 => vec![Distribution::Bookworm],
            Machine::Ubuntu2204 => vec![Distribution::Jammy],
            Machine::All => vec![Distribution::Bookworm, Distribution::Jammy],
        }
    }
}

pub fn run(workspace: &Workspace, options: &Options) -> Result<(), Failure> {
    let start = Instant::now();
    lab::check_tools(workspace)?;
    python::check(workspace)?;
    let (binaries, compression) = match &options.binaries {
        Some(folder) => (folder.clone(), Compression::Fast),
        None => (build(workspace, options.native, start)?, Compression::Small),
    };
    let suites = options.test.map(Machine::suites).unwrap_or_default();
    let wheels = pack(workspace, &binaries, options.toolchain || !suites.is_empty(), compression, start)?;
    if matches!(options.test, Some(Machine::Rust | Machine::All)) {
        test::run(workspace, &wheels[0], start)?;
    }
    for suite in suites {
        empty_root::run(workspace, suite, &wheels, start)?;
    }
    Ok(())
}

/// Packs the programs of the default build and the toolchain.
fn pack_for_tests(workspace: &Workspace, start: Instant) -> Result<Vec<PathBuf>, Failure> {
    let binaries = workspace.binary("onrush").parent().unwrap_or(&workspace.target).to_path_buf();
    pack(workspace, &binaries, true, Compression::Fast, start)
}

/// The wheels in an empty Debian. Returns the number of checks that passed, or `None` where no root can be made.
pub fn test_in_empty_root(workspace: &Workspace) -> Result<Option<usize>, Failure> {
    if !empty_root::is_possible() {
        return Ok(None);
    }
    let start = Instant::now();
    let wheels = pack_for_tests(workspace, start)?;
    empty_root::run(workspace, Distribution::Bookworm, &wheels, start).map(Some)
}

/// Packs the programs in a folder. Returns the wheels, that of the kernel first.
fn pack(
    workspace: &Workspace,
    binaries: &Path,
    with_toolchain: bool,
    compression: Compression,
    start: Instant,
) -> Result<Vec<PathBuf>, Failure> {
    process::stage(start, "Packing the wheels");
    let version = version(workspace)?;
    let roots = [PROGRAMS[0].0, PROGRAMS[1].0, PRELUDE[0], PRELUDE[1]];
    let crates = Crates::read(workspace, &roots, Scope::Linked)?;
    let notice = crates.notice()? + &notices::of_data();
    let package = WheelFolder::new(workspace, NAME, &version)?;
    let data = package.data();
    place_programs(workspace, binaries, &data.join("scripts"))?;
    place_jupyter_files(workspace, &data)?;
    place_python(workspace, package.root())?;
    let archives = registry::write(workspace, &data.join("data/share/onrush/registry"))?;
    place_papermill(workspace, package.root(), &package.description())?;
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        package.license(&workspace.root.join(name), name)?;
    }
    write(&package.description().join("licenses/NOTICE"), &notice)?;
    let library = toolchain::sysroot(workspace)?.join("share/doc/rust/COPYRIGHT-library.html");
    package.license(&library, "RUST-STANDARD-LIBRARY.html")?;
    package.bill(&crates.bill(NAME, &version))?;
    let needed = glibc_of_folder(&data.join("scripts"))?;
    let readme = workspace.root.join("README.md");
    let description = Description {
        summary: "A Jupyter kernel for Rust with a dataframe session that outlives cells",
        license: "Apache-2.0 OR MIT",
        fields: fields(&version),
        page: page::of_readme(&fs::read_to_string(&readme).map_err(|e| Failure::io(readme.display(), e))?),
    };
    let mut wheels = vec![package.pack(workspace, &description, needed.max(GLIBC), compression)?];
    println!("{} crates linked, {archives} crates of the prelude, glibc 2.{needed}", crates.len());
    if needed > GLIBC {
        println!(
            "note: the programs were linked against a newer glibc than 2.{GLIBC}: leave out --native for an older one"
        );
    }
    if with_toolchain {
        process::stage(start, "Packing the toolchain and the prelude");
        let program = binaries.join("onrush");
        let crates = Crates::read(workspace, &PRELUDE, Scope::WithBuildScripts)?;
        wheels.extend(toolchain::pack(workspace, &version, &program, &crates, compression)?);
    }
    Ok(wheels)
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

/// Copies the programs without their symbols.
fn place_programs(workspace: &Workspace, from: &Path, scripts: &Path) -> Result<(), Failure> {
    make(scripts)?;
    for (_, name) in PROGRAMS {
        let to = scripts.join(name);
        fs::copy(from.join(name), &to).map_err(|e| Failure::io(from.join(name).display(), e))?;
        process::run("strip", workspace.command("strip").arg("--strip-all").arg(&to))?;
    }
    Ok(())
}

/// The Python package `onrush`, which is pure Python.
fn place_python(workspace: &Workspace, root: &Path) -> Result<(), Failure> {
    let base = Path::new("kernel/python");
    for file in workspace.files()?.iter().filter(|file| file.starts_with(base.join(PYTHON))) {
        let to = root.join(file.strip_prefix(base).unwrap_or(file));
        make(to.parent().unwrap_or(root))?;
        fs::copy(workspace.root.join(file), &to).map_err(|e| Failure::io(to.display(), e))?;
    }
    Ok(())
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
            "packageName": NAME,
            "uninstallInstructions": format!("pip uninstall {NAME}"),
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

/// The fields of the description that only this package has.
fn fields(version: &str) -> Vec<String> {
    let mut fields = vec![
        "Keywords: jupyter,rust,kernel,dataframe".to_string(),
        "Classifier: Framework :: Jupyter".to_string(),
        // Static files that draw controls in JupyterLab and Notebook 7.
        "Requires-Dist: jupyterlab_widgets>=3".to_string(),
        // Frames of the session as Arrow in Python.
        "Requires-Dist: nanoarrow>=0.6".to_string(),
    ];
    fields.extend(toolchain::requirements(version));
    fields
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
