//! One call of rustc for one cell, and its messages as diagnostics in the user's lines.

mod messages;

use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use onrush_wire::{Class, Diagnostic};

pub use messages::{LINTS, Message, Place, RustcSpan, diagnostics, first_messages, warnings};

use crate::generate::{BODY, Generated};
use crate::kit::Kit;
use crate::linker::Linker;
use crate::notebook::Notebook;
use crate::process::{Stoppable, interrupted};

/// What a compile gives.
pub enum Compiled {
    /// With rustc's warnings.
    Done(Vec<Message>),
    /// rustc's messages.
    Errors(Vec<Message>),
}

pub struct Job<'a> {
    pub kit: &'a Kit,
    pub notebook: &'a Notebook,
    pub generated: &'a Generated,
    pub crate_name: &'a str,
    /// Where the shared object goes. Its file name is its soname: dependants find it by that.
    pub library: &'a Path,
    pub optimisation: u8,
    pub stop: &'a Arc<Stoppable>,
}

fn failed(what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Environment, "rustc", format!("rustc could not be run: {what}"))
        .help("`onrush doctor` says what is wrong with the installation")
}

pub fn compile(job: &Job<'_>) -> Result<Compiled, Diagnostic> {
    let work = Folder::new(job.library.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    for (name, text) in &job.generated.files {
        let path = work.0.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&work.0)).and_then(|()| fs::write(&path, text)).map_err(failed)?;
    }
    let file = job.library.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let out = work.0.join(&file);
    let link = |linker: Option<&Linker>| -> Result<(Output, Vec<Message>), Diagnostic> {
        let mut command = base(job, &work.0);
        command.arg("-o").arg(&out).arg(format!("-Copt-level={}", job.optimisation)).args([
            "-Ccodegen-units=1",
            "-Coverflow-checks=on",
            "-Cdebuginfo=0",
            "-Cstrip=debuginfo",
        ]);
        match linker {
            Some(linker) => command.args(linker.arguments()).arg(format!("-Clink-arg=-soname={file}")),
            None => command.arg(format!("-Clink-arg=-Wl,-soname,{file}")),
        };
        let output = run(command, job.stop)?;
        let messages = messages::parse(&output.stderr);
        Ok((output, messages))
    };
    let (mut output, mut messages) = link(job.kit.linker.as_ref())?;
    // A library that only the C compiler finds.
    if job.kit.linker.is_some() && messages.iter().any(|m| m.level == "error" && m.message.starts_with("linking with"))
    {
        (output, messages) = link(None)?;
    }
    if output.success {
        // The link is there only when it is whole.
        fs::rename(&out, job.library).map_err(failed)?;
        return Ok(Compiled::Done(messages));
    }
    if messages.iter().any(|m| m.level == "error") {
        return Ok(Compiled::Errors(messages));
    }
    let tail: String =
        output.stderr.lines().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n");
    Err(Diagnostic::error(Class::Internal, "rustc", "rustc ended without a message about the cell").note(tail))
}

/// rustc's messages about a source without making code of it, types spelled with their public paths.
pub fn check(job: &Job<'_>) -> Result<Vec<Message>, Diagnostic> {
    let work = Folder::new(job.library.parent().unwrap_or(Path::new("."))).map_err(failed)?;
    for (name, text) in &job.generated.files {
        let path = work.0.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&work.0)).and_then(|()| fs::write(&path, text)).map_err(failed)?;
    }
    let mut command = base(job, &work.0);
    // The only way to have full paths in messages is an unstable option.
    command.env("RUSTC_BOOTSTRAP", "1").args(["-Ztrim-diagnostic-paths=no", "-Zwrite-long-types-to-disk=no"]);
    command.args(["--emit=metadata", "-o"]).arg(work.0.join("check.rmeta"));
    Ok(messages::parse(&run(command, job.stop)?.stderr))
}

fn base(job: &Job<'_>, folder: &Path) -> Command {
    let Job { kit, generated, .. } = *job;
    let mut command = Command::new(&kit.toolchain.rustc);
    command
        .current_dir(folder)
        .arg(&generated.files[0].0)
        .args(["--crate-name", job.crate_name, "--crate-type", "dylib", "--edition", "2024"])
        .args(["-Cprefer-dynamic", "--error-format=json", "--diagnostic-width=100", "--color=never"])
        .arg("-Cpanic=unwind")
        .arg(format!("-Cmetadata={}", job.crate_name))
        .arg(format!("--remap-path-prefix={BODY}/="))
        .arg(format!("--extern=onrush={}", kit.paths.prelude.display()))
        // The derives of serde name the crate `serde`: the prelude re-exports all of it. (Its own rlib would be linked twice.)
        .arg(format!("--extern=serde={}", kit.paths.prelude.display()))
        .arg(format!("-Ldependency={}", kit.paths.deps.display()));
    for (name, _) in generated.files.iter().skip(2) {
        if let Some((folder, _)) = name.split_once('/') {
            command.arg(format!("--remap-path-prefix={folder}/="));
        }
    }
    for &index in &generated.links {
        let cell = &job.notebook.crates[index];
        command.arg(format!("--extern={}={}", cell.name, cell.library.display()));
    }
    command.env_remove("RUSTFLAGS").env_remove("LD_LIBRARY_PATH").stdin(Stdio::null());
    command
}

struct Output {
    success: bool,
    stderr: String,
}

/// Runs a command in a process group of its own, so that an interrupt stops it with its linker.
fn run(mut command: Command, stop: &Arc<Stoppable>) -> Result<Output, Diagnostic> {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn().map_err(failed)?;
    let stopped = !stop.watch(child.id() as i32);
    if stopped {
        let _ = child.kill();
    }
    let mut stderr = Vec::new();
    if let Some(mut pipe) = child.stderr.take() {
        let _ = pipe.read_to_end(&mut stderr);
    }
    stop.unwatch();
    let status = child.wait().map_err(failed)?;
    if stop.interrupted() {
        return Err(interrupted());
    }
    Ok(Output { success: status.success(), stderr: String::from_utf8_lossy(&stderr).into_owned() })
}

/// A folder that goes away with its value.
struct Folder(PathBuf);

impl Folder {
    fn new(parent: &Path) -> std::io::Result<Self> {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let path = parent.join(format!(".work-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
