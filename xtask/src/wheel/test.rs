//! `cargo xtask wheel --test`: the wheel on a machine that has Python, Rust and a C compiler, but neither a network nor
//! this clone. Linux namespaces take the network and the folders away.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::{Scratch, both, make};
use crate::process::{self, Failure};
use crate::python;
use crate::workspace::{Workspace, cache};

const TOUR: &str = "01-tour.ipynb";
/// The programs of the system: the C compiler, the shell of `!` lines, and those of `ISOLATE`.
const SYSTEM: &str = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
/// Takes the network and the folders in `HIDDEN` away, then becomes the command with `SEARCH` as its search path.
const ISOLATE: &str = r#"
set -e
IFS=:
for folder in $HIDDEN; do mount -t tmpfs none "$folder"; done
ip link set lo up
PATH="$SEARCH"
unset IFS HIDDEN SEARCH
exec "$@"
"#;

/// The empty machine.
struct Machine {
    scratch: Scratch,
    /// Existing folders that commands find empty, separated by colons.
    hidden: String,
    /// The folder of `rustc` and `cargo`.
    rust: PathBuf,
}

pub fn run(workspace: &Workspace, wheel: &Path, start: Instant) -> Result<(), Failure> {
    python::prepare(workspace, &[python::WHEEL])?;
    process::stage(start, "Looking at the symbol versions of the wheel");
    let mut audit = workspace.command(workspace.venv().join("bin/auditwheel"));
    process::run("auditwheel show", audit.arg("show").arg(wheel))?;

    let machine = Machine::new(workspace)?;
    process::stage(start, "Installing the wheel and JupyterLab into an empty environment");
    let venv = machine.path("venv");
    process::run("python3 -m venv", workspace.command("python3").args(["-m", "venv"]).arg(&venv))?;
    let mut pip = workspace.command(venv.join("bin/pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check", "jupyterlab"]).arg(wheel);
    process::run("pip install", &mut pip)?;
    copy_folder(&workspace.root.join("notebooks"), &machine.path("notebooks"))?;

    process::stage(start, "Jupyter finds the kernel and the extension");
    machine.expect("jupyter", &["kernelspec", "list"], "onrush")?;
    machine.expect("jupyter", &["labextension", "list"], "@onrush/jupyterlab")?;
    process::stage(start, "Without Rust, one sentence says what to do");
    machine.expect_failure(&["run", TOUR, "-o", "out.ipynb"], "install Rust")?;
    process::stage(start, "`onrush run --check` of the tour; it builds the prelude");
    machine.expect("onrush", &["run", "--check", TOUR], "")?;
    process::stage(start, "nbconvert runs the tour through the kernelspec");
    let arguments = ["nbconvert", "--to", "notebook", "--execute", "--output", "executed.ipynb", TOUR];
    machine.expect("jupyter", &arguments, "executed.ipynb")?;
    machine.expect("onrush", &["doctor"], "Everything necessary is there.")?;
    process::stage(start, "The wheel works");
    Ok(())
}

impl Machine {
    fn new(workspace: &Workspace) -> Result<Self, Failure> {
        let scratch = Scratch::new()?;
        for folder in ["home", "run"] {
            make(&scratch.0.join(folder))?;
        }
        let sysroot = process::run_quietly("rustc", workspace.command("rustc").args(["--print", "sysroot"]))?;
        let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
        let home = home.unwrap_or_default();
        let folders = [workspace.root.clone(), workspace.target.clone(), cache()?, home.join("registry")];
        let existing: Vec<PathBuf> = folders.into_iter().filter(|folder| folder.is_dir()).collect();
        let hidden = env::join_paths(existing).map_err(|e| Failure::new(e.to_string()))?;
        Ok(Machine {
            scratch,
            hidden: hidden.to_string_lossy().into_owned(),
            rust: Path::new(sysroot.trim()).join("bin"),
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.0.join(name)
    }

    /// A command of the environment with an empty home folder, an empty folder of cargo, no network and no clone.
    fn command(&self, program: &str, search: &str) -> Command {
        let bin = self.path("venv/bin");
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "--net", "/bin/sh", "-c", ISOLATE, "sh"]);
        command.arg(bin.join(program)).current_dir(self.path("notebooks")).env_clear();
        command.env("HIDDEN", &self.hidden).env("PATH", SYSTEM).env("SEARCH", format!("{}:{search}", bin.display()));
        command.env("HOME", self.path("home")).env("CARGO_NET_OFFLINE", "true").env("LANG", "C.UTF-8");
        // The session of this test alone, which ends soon after its last notebook.
        command.env("ONRUSH_RUNTIME_DIR", self.path("run")).env("ONRUSH_IDLE", "5");
        command
    }

    /// Runs a command, which has to succeed and to print `text`.
    fn expect(&self, program: &str, arguments: &[&str], text: &str) -> Result<(), Failure> {
        let mut command = self.command(program, &format!("{}:{SYSTEM}", self.rust.display()));
        let transcript = process::run_recorded(program, command.args(arguments))?;
        let what = format!("{program} {}", arguments.join(" "));
        if !transcript.success {
            return Err(Failure::new(format!("{what} failed without the clone and the network")));
        }
        match transcript.lines.iter().any(|line| line.contains(text)) {
            true => Ok(()),
            false => Err(Failure::new(format!("{what} did not print `{text}`"))),
        }
    }

    /// Runs `onrush` on a machine without Rust. The command has to fail and to print `text`.
    fn expect_failure(&self, arguments: &[&str], text: &str) -> Result<(), Failure> {
        // The system may have a rustc: the environment alone is searched.
        let (success, output) = both("onrush", self.command("onrush", "").args(arguments))?;
        println!("{}", output.trim_end());
        match !success && output.contains(text) {
            true => Ok(()),
            false => Err(Failure::new(format!("without Rust, `onrush run` did not print `{text}`"))),
        }
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    make(to)?;
    for entry in fs::read_dir(from).map_err(|e| Failure::io(from.display(), e))?.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).map_err(|e| Failure::io(target.display(), e))?;
        }
    }
    Ok(())
}
