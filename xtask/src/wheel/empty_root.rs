//! `cargo xtask wheel --test debian12`: the wheels on a system that has Python and nothing else. debootstrap makes its
//! folder once; Linux namespaces make a machine of a copy, without a network and without rights.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::json;

use super::{Scratch, make, remove, write};
use crate::process::{self, Failure};
use crate::workspace::Workspace;
use crate::{lab, python};

/// A release of a distribution, by its name for debootstrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    Bookworm,
    Jammy,
}

impl Distribution {
    /// The name for debootstrap, and the version of its Python.
    fn facts(self) -> (&'static str, &'static str) {
        match self {
            Distribution::Bookworm => ("bookworm", "3.11"),
            Distribution::Jammy => ("jammy", "3.10"),
        }
    }

    /// Files that are needed on this machine, and their packages in Debian.
    fn tools(self) -> &'static [(&'static str, &'static str)] {
        const DEBOOTSTRAP: (&str, &str) = ("/usr/sbin/debootstrap", "debootstrap");
        match self {
            Distribution::Bookworm => &[DEBOOTSTRAP],
            Distribution::Jammy => &[DEBOOTSTRAP, ("/usr/share/keyrings/ubuntu-archive-keyring.gpg", "ubuntu-keyring")],
        }
    }

    /// Ubuntu has `venv` outside of `main`.
    fn components(self) -> Option<&'static str> {
        (self == Distribution::Jammy).then_some("--components=main,universe")
    }
}

/// Raise it when `debootstrap` gets other options.
const ROOT: &str = "1";
const REQUIREMENTS: &str = "requirements-root.txt";
/// From the start of pip to the answer of the first cell, in seconds.
const ANSWERED: f64 = 90.0;
/// From the request of the first cell to its answer, in seconds.
const FIRST_CELL: f64 = 2.0;
/// Mounts what programs expect of a system, takes the network away, and becomes the command in `ROOT`.
const ENTER: &str = r#"
set -e
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
mount --bind "$WHEELS" "$ROOT/mnt"
mount -o remount,bind,ro "$ROOT/mnt"
ip link set lo up
exec chroot --userspec="$USER_AND_GROUP" "$ROOT" /usr/bin/env -i HOME=/home/guest LANG=C.UTF-8 ONRUSH_IDLE=1 \
    PATH=/usr/bin:/bin "$@"
"#;
const GUEST: &str = "1000:1000";
const ADMINISTRATOR: &str = "0:0";

/// Installs, uses and removes the wheels. Returns the number of checks that passed.
pub fn run(
    workspace: &Workspace,
    distribution: Distribution,
    wheels: &[PathBuf],
    start: Instant,
) -> Result<usize, Failure> {
    let (name, _) = distribution.facts();
    process::stage(start, &format!("An empty root of {name}"));
    let root = root(workspace, distribution)?;
    let requirements = requirements(workspace, distribution)?;
    let machine = Machine::new(&root, &requirements, wheels)?;

    process::stage(start, &format!("{name}: installing the wheels, and the first cell"));
    let mut measured = machine.measure("install.sh", GUEST)?;
    process::stage(
        start,
        &format!("{name}: cells, crates and a client of Jupyter, with packages that cannot be written"),
    );
    machine.give(ADMINISTRATOR)?;
    measured.extend(machine.measure("use.sh", GUEST)?);
    machine.give(GUEST)?;
    process::stage(start, &format!("{name}: removing the packages"));
    let left: Vec<String> = machine.lines("remove.sh", GUEST)?.into_iter().filter(|l| l.starts_with("left ")).collect();
    if !left.is_empty() {
        return Err(Failure::new(format!("pip uninstall left files or folders behind:\n{}", left.join("\n"))));
    }
    for (what, limit) in [("answered", ANSWERED), ("first_cell", FIRST_CELL)] {
        let seconds = *measured.get(what).ok_or_else(|| Failure::new(format!("{what} was not measured")))?;
        if seconds > limit {
            return Err(Failure::new(format!("{what} took {seconds} s, and {limit} s are allowed")));
        }
    }
    // The three scripts, the two limits, and the files and folders that stayed.
    Ok(6)
}

/// Whether this machine can make an empty root.
pub fn is_possible() -> bool {
    lab::is_root() && (Path::new("/usr/sbin/debootstrap").is_file() || Path::new("/usr/bin/apt-get").is_file())
}

/// The folder with the system. It is kept in the target folder.
fn root(workspace: &Workspace, distribution: Distribution) -> Result<PathBuf, Failure> {
    let (name, _) = distribution.facts();
    let folder = workspace.target.join("roots").join(format!("{name}-{ROOT}"));
    if folder.is_dir() {
        return Ok(folder);
    }
    let missing = distribution.tools().iter().filter(|(file, _)| !Path::new(file).is_file());
    let missing: Vec<&str> = missing.map(|(_, package)| *package).collect();
    if !missing.is_empty() {
        process::run_quietly("apt-get", workspace.command("apt-get").arg("update"))?;
        let mut apt = workspace.command("apt-get");
        apt.args(["install", "--yes", "--no-install-recommends"]).args(&missing);
        process::run_quietly("apt-get", apt.env("DEBIAN_FRONTEND", "noninteractive"))?;
    }
    let partial = folder.with_extension("part");
    remove(&partial)?;
    make(&partial)?;
    let mut bootstrap = workspace.command("/usr/sbin/debootstrap");
    bootstrap.args(["--variant=minbase", "--include=python3,python3-venv"]).args(distribution.components());
    process::run_quietly("debootstrap", bootstrap.arg(name).arg(&partial)).map_err(|failure| {
        Failure::new(format!("{failure}\nhelp: debootstrap needs the package archive of {name}: is there a network?"))
    })?;
    fs::rename(&partial, &folder).map_err(|e| Failure::io(folder.display(), e))?;
    Ok(folder)
}

/// The folder with the requirements of the wheels, for the Python of the system. It is kept in the target folder.
fn requirements(workspace: &Workspace, distribution: Distribution) -> Result<PathBuf, Failure> {
    let (_, version) = distribution.facts();
    let list = workspace.root.join("xtask").join(REQUIREMENTS);
    let wanted = fs::read_to_string(&list).map_err(|e| Failure::io(list.display(), e))?;
    let folder = workspace.target.join("roots").join(format!("python{version}"));
    let stamp = folder.join(REQUIREMENTS);
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(folder);
    }
    remove(&folder)?;
    make(&folder)?;
    python::prepare(workspace, &[])?;
    let mut pip = workspace.command(python::python(workspace));
    pip.args(["-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version", version]);
    for platform in ["manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"] {
        pip.args(["--platform", platform]);
    }
    process::run_quietly("pip download", pip.arg("--dest").arg(&folder).arg("--requirement").arg(&list))?;
    write(&stamp, &wanted)?;
    Ok(folder)
}

/// A copy of a root, with a user `guest`.
struct Machine {
    scratch: Scratch,
}

impl Machine {
    fn new(root: &Path, requirements: &Path, wheels: &[PathBuf]) -> Result<Self, Failure> {
        let scratch = Scratch::new()?;
        let machine = Machine { scratch };
        let mut copy = Command::new("cp");
        process::run("cp", copy.args(["--archive", "--reflink=auto"]).arg(root).arg(machine.root()))?;
        make(&machine.wheels())?;
        let packed = fs::read_dir(requirements).map_err(|e| Failure::io(requirements.display(), e))?;
        let packed = packed.flatten().map(|entry| entry.path());
        for wheel in wheels.iter().cloned().chain(packed) {
            let to = machine.wheels().join(wheel.file_name().unwrap_or_default());
            if fs::hard_link(&wheel, &to).is_err() {
                fs::copy(&wheel, &to).map_err(|e| Failure::io(wheel.display(), e))?;
            }
        }
        machine.in_root(ADMINISTRATOR, &["/usr/sbin/useradd", "--create-home", "--uid", "1000", "guest"])?;
        machine.place_home()?;
        machine.in_root(ADMINISTRATOR, &["chown", "--recursive", GUEST, "/home/guest"])?;
        Ok(machine)
    }

    fn root(&self) -> PathBuf {
        self.scratch.0.join("root")
    }

    fn wheels(&self) -> PathBuf {
        self.scratch.0.join("wheels")
    }

    /// The files of the home folder: notebooks, crates, scripts, and the client of Jupyter.
    fn place_home(&self) -> Result<(), Failure> {
        let home = self.root().join("home/guest");
        let files = [
            ("install.sh", include_str!("empty_root/install.sh").to_string()),
            ("use.sh", include_str!("empty_root/use.sh").to_string()),
            ("remove.sh", include_str!("empty_root/remove.sh").to_string()),
            ("client.py", include_str!("empty_root/client.py").to_string()),
            ("first.ipynb", notebook(&["21 * 2"])),
            ("crates.ipynb", notebook(&[":dep counted = { path = \"counted\" }", "counted::Counted::text()"])),
        ];
        for (name, text) in files.into_iter().chain(crates()) {
            let path = home.join(name);
            make(path.parent().unwrap_or(&home))?;
            write(&path, &text)?;
        }
        let client = "python3 -m venv /tmp/pip && /tmp/pip/bin/pip install --quiet --no-cache-dir --no-index \
                      --find-links /mnt --target /home/guest/client jupyter_client && rm -r /tmp/pip";
        self.in_root(ADMINISTRATOR, &["sh", "-c", client]).map(drop)
    }

    /// Makes a user the owner of the installed packages. The cache goes away.
    fn give(&self, owner: &str) -> Result<(), Failure> {
        let cache = self.root().join("home/guest/.cache/onrush");
        if owner == ADMINISTRATOR {
            remove(&cache)?;
        }
        self.in_root(ADMINISTRATOR, &["chown", "--recursive", owner, "/home/guest/venv"]).map(drop)
    }

    fn measure(&self, script: &str, owner: &str) -> Result<BTreeMap<String, f64>, Failure> {
        let lines = self.lines(script, owner)?;
        let words = lines.iter().filter_map(|line| line.strip_prefix("seconds ")?.split_once(' '));
        Ok(words.filter_map(|(name, seconds)| Some((name.to_string(), seconds.parse().ok()?))).collect())
    }

    fn lines(&self, script: &str, owner: &str) -> Result<Vec<String>, Failure> {
        self.in_root(owner, &["sh", &format!("/home/guest/{script}")])
    }

    /// Runs a command in the root. Returns the lines that it printed.
    fn in_root(&self, owner: &str, arguments: &[&str]) -> Result<Vec<String>, Failure> {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "/bin/sh", "-c", ENTER, "sh"]);
        command.args(arguments).env("ROOT", self.root()).env("WHEELS", self.wheels()).env("USER_AND_GROUP", owner);
        let transcript = process::run_recorded("unshare", &mut command)?;
        let what = arguments.join(" ");
        match transcript.success {
            true => Ok(transcript.lines),
            false => Err(Failure::new(format!("`{what}` failed in the empty root"))),
        }
    }
}

/// A notebook of code cells.
fn notebook(cells: &[&str]) -> String {
    let cell = |(at, source): (usize, &&str)| {
        json!({ "cell_type": "code", "id": format!("cell{at}"), "metadata": {}, "execution_count": null,
            "outputs": [], "source": source })
    };
    let cells: Vec<serde_json::Value> = cells.iter().enumerate().map(cell).collect();
    let metadata = json!({ "kernelspec": { "display_name": "Rust (Onrush)", "language": "rust", "name": "onrush" } });
    json!({ "cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5 }).to_string()
}

/// A crate with a build script and a derive: both are linked on the machine.
fn crates() -> Vec<(&'static str, String)> {
    let manifest = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[workspace]\n{rest}")
    };
    vec![
        ("counted/Cargo.toml", manifest("counted", "[dependencies]\ncounted-derive = { path = \"../derive\" }\n")),
        (
            "counted/build.rs",
            "fn main() { println!(\"cargo::rustc-env=COUNTED={}\", \"built in Rust alone\"); }\n".to_string(),
        ),
        (
            "counted/src/lib.rs",
            "#[derive(counted_derive::Text)]\npub struct Counted;\n\
             pub(crate) const TEXT: &str = env!(\"COUNTED\");\n"
                .to_string(),
        ),
        ("derive/Cargo.toml", manifest("counted-derive", "[lib]\nproc-macro = true\n")),
        (
            "derive/src/lib.rs",
            "#[proc_macro_derive(Text)]\npub fn text(_: proc_macro::TokenStream) -> proc_macro::TokenStream {\n    \
             \"impl Counted { pub fn text() -> &'static str { crate::TEXT } }\".parse().unwrap()\n}\n"
                .to_string(),
        ),
    ]
}
