//! One call of rustc for one cell, and its messages as diagnostics in the user's lines.

mod inner;
mod messages;
mod suggestion;
mod warm;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onrush_wire::{Class, Diagnostic};
use serde::Deserialize;

pub use messages::{Message, Place, RustcSpan, diagnostics, first_messages, warnings};
pub use suggestion::Source;

use crate::disk_full;
use crate::generate::{BODY, GeneratedCrate};
use crate::interrupt::{InterruptToken, interrupted};
use crate::notebook::Notebook;
use crate::prelude_build::PreludeBuild;
use warm::Folder;
pub use warm::{Warm, remove_abandoned};

/// The result of a compile.
pub enum CompileResult {
    /// With rustc's warnings, and where the time went.
    Done(Vec<Message>, Phases),
    /// rustc's messages.
    Errors(Vec<Message>),
}

/// How long the steps of a compile took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phases {
    /// rustc, until the crate's metadata is written: names, types, borrows.
    pub check: Duration,
    pub codegen: Duration,
    pub link: Duration,
}

pub struct Job<'a> {
    pub kit: &'a PreludeBuild,
    pub notebook: &'a Notebook,
    pub generated: &'a GeneratedCrate,
    pub crate_name: &'a str,
    /// The path of the shared object. Its file name is its soname: dependants find it by that.
    pub library: &'a Path,
    pub optimisation: u8,
    pub stop: &'a Arc<InterruptToken>,
    pub warm: &'a Warm,
    /// Let rustc link: it knows the libraries of the system that a cell asks for.
    pub full_link: bool,
}

fn failed(what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Environment, "rustc", format!("rustc could not be run: {what}"))
        .help("`onrush doctor` says what is wrong with the installation")
}

pub fn compile(job: &Job<'_>) -> Result<CompileResult, Diagnostic> {
    match compile_somehow(job).map_err(|diagnostic| disk_full::explained(diagnostic, job.folder()))? {
        // rustc's own error about a file that it could not write, at no place of the cell.
        CompileResult::Errors(messages)
            if messages.iter().any(|m| m.primary().is_none() && disk_full::is_full(&m.message)) =>
        {
            Err(disk_full::full(job.folder()))
        }
        compiled => Ok(compiled),
    }
}

fn compile_somehow(job: &Job<'_>) -> Result<CompileResult, Diagnostic> {
    let asks_for_libraries = |text: &String| ["extern \"", "#[link", "global_asm!"].iter().any(|w| text.contains(w));
    let full = job.full_link
        || job.notebook.dependencies.has_static()
        || job.generated.files.iter().any(|(_, text)| asks_for_libraries(text));
    let compiled = match &job.kit.linker {
        Some(linker) if !full => compile_and_link(job, linker)?,
        _ => None,
    };
    match compiled {
        Some(compiled) => Ok(compiled),
        None => compile_with_link(job),
    }
}

fn write_sources(job: &Job<'_>, work: &Folder) -> Result<(), Diagnostic> {
    for (name, text) in &job.generated.files {
        let path = work.path().join(name);
        let folder = path.parent().unwrap_or(work.path());
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, text)).map_err(failed)?;
    }
    Ok(())
}

const CODE: [&str; 2] = ["-Coverflow-checks=on", "--json=artifacts"];

/// Lines with code, from which on LLVM's work is divided between two threads. Dividing costs 4 ms.
const LONG: usize = 12;

/// A file that rustc has written, as it says with `--json=artifacts`.
#[derive(Deserialize)]
struct Artifact {
    artifact: PathBuf,
    emit: String,
}

/// The path of a compiled crate's metadata. Dependants read it there, because the shared object holds code only.
pub fn metadata_of(library: &Path) -> PathBuf {
    library.with_extension("rmeta")
}

/// An object file by rustc, a shared object by the linker, both started before there was anything to do for them.
/// `None` if the link fails: then rustc is to do it.
fn compile_and_link(job: &Job<'_>, linker: &crate::linker::Linker) -> Result<Option<CompileResult>, Diagnostic> {
    let begun = Instant::now();
    let (mut rustc, work) = job.warm.rustc(&job.kit.toolchain, job.folder()).map_err(failed)?;
    write_sources(job, &work)?;
    let [metadata, library] = ["cell.rmeta", "cell.so"].map(|name| work.path().join(name));
    let units = job.units();
    let mut arguments: Vec<String> = arguments(job);
    arguments.extend(CODE.map(String::from));
    arguments.extend(job.line_tables().map(String::from));
    arguments.push(format!("-Copt-level={}", job.optimisation));
    arguments.push(format!("-Ccodegen-units={units}"));
    // With several object files, rustc names them.
    arguments.push(format!("--emit=obj,metadata={}", metadata.display()));
    arguments.push(format!("--out-dir={}", work.path().display()));
    warm::tell(&mut rustc, &arguments).map_err(failed)?;
    let mut phases = Phases::default();
    let (mut stderr, mut objects) = (String::new(), Vec::new());
    watched(&mut rustc, job.stop, |rustc| {
        let Some(pipe) = rustc.stderr.take() else { return };
        let mut lines = BufReader::new(pipe);
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
            // rustc says when it has written a file; what it does after the last one is tidying up.
            let is_artifact = line.contains("\"$message_type\":\"artifact\"");
            match serde_json::from_str(&line).ok().filter(|_| is_artifact) {
                Some(Artifact { emit, .. }) if emit == "metadata" => phases.check = begun.elapsed(),
                Some(Artifact { artifact, emit }) if emit == "obj" => {
                    phases.codegen = begun.elapsed() - phases.check;
                    objects.push(artifact);
                }
                Some(_) => {}
                None => stderr.push_str(&line),
            }
            if objects.len() == units {
                break;
            }
            line.clear();
        }
    })?;
    let messages = messages::parse(&stderr);
    if objects.is_empty() {
        rustc.wait().map_err(failed)?;
        return errors(job, messages, &stderr).map(Some);
    }
    let begun = Instant::now();
    let file = job.library.file_name().unwrap_or_default().to_string_lossy();
    let mut arguments: Vec<String> = objects.iter().map(|object| object.display().to_string()).collect();
    arguments.extend(["-o".to_string(), library.display().to_string()]);
    arguments.push(format!("-soname={file}"));
    arguments.extend(job.libraries().iter().map(|library| library.display().to_string()));
    arguments.extend(job.crates().map(|library| library.display().to_string()));
    arguments.extend(job.notebook.dependencies.folders().map(|folder| format!("-rpath={}", folder.display())));
    arguments.extend(linker.libraries().iter().map(|library| library.display().to_string()));
    let mut link = job.warm.linker(linker).map_err(failed)?;
    warm::tell(&mut link, &arguments).map_err(failed)?;
    watched(&mut link, job.stop, |link| {
        if let Some(mut pipe) = link.stderr.take() {
            let _ = pipe.read_to_end(&mut Vec::new());
        }
    })?;
    let linked = link.wait().map_err(failed)?.success();
    phases.link = begun.elapsed();
    // It has long written what it was asked for; this only takes it from the process table.
    rustc.wait().map_err(failed)?;
    if !linked {
        return Ok(None);
    }
    publish(&metadata, &metadata_of(job.library))?;
    // The library is there only when it is whole, and its metadata before it.
    publish(&library, job.library)?;
    Ok(Some(CompileResult::Done(messages, phases)))
}

/// Puts a compiled file into its place, for its owner alone: others might get into the folder later, and it is loaded.
fn publish(from: &Path, to: &Path) -> Result<(), Diagnostic> {
    fs::set_permissions(from, fs::Permissions::from_mode(0o600)).and_then(|()| fs::rename(from, to)).map_err(failed)
}

/// rustc links, as it does for everybody.
fn compile_with_link(job: &Job<'_>) -> Result<CompileResult, Diagnostic> {
    let work = Folder::new(job.folder()).map_err(failed)?;
    write_sources(job, &work)?;
    let file = job.library.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (out, metadata) = (work.path().join(&file), work.path().join("cell.rmeta"));
    let begun = Instant::now();
    let mut command = base(job, &work);
    command.args(CODE).args(job.line_tables()).arg(format!("-Copt-level={}", job.optimisation));
    command.arg(format!("-Ccodegen-units={}", job.units()));
    command.arg(format!("-Clink-arg=-Wl,-soname,{file}"));
    for folder in job.notebook.dependencies.folders() {
        command.arg(format!("-Clink-arg=-Wl,-rpath,{}", folder.display()));
    }
    command.arg(format!("--emit=link={},metadata={}", out.display(), metadata.display()));
    let output = run(command, job.stop)?;
    let messages = messages::parse(&output.stderr);
    if output.success {
        publish(&metadata, &metadata_of(job.library))?;
        publish(&out, job.library)?;
        return Ok(CompileResult::Done(messages, Phases { codegen: begun.elapsed(), ..Phases::default() }));
    }
    errors(job, messages, &output.stderr)
}

fn errors(job: &Job<'_>, mut messages: Vec<Message>, stderr: &str) -> Result<CompileResult, Diagnostic> {
    if job.stop.interrupted() {
        return Err(interrupted());
    }
    if messages.iter().any(|m| m.level == "error") {
        inner::Inner::of(job).leave_out(&mut messages);
        return Ok(CompileResult::Errors(messages));
    }
    let tail: String =
        stderr.lines().rev().take(20).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n");
    Err(Diagnostic::error(Class::Internal, "rustc", "rustc ended without a message about the cell").note(tail))
}

/// rustc's messages about a source without making code of it, types spelled with their public paths.
pub fn check(job: &Job<'_>) -> Result<Vec<Message>, Diagnostic> {
    let work = Folder::new(job.folder()).map_err(failed)?;
    write_sources(job, &work)?;
    let mut command = base(job, &work);
    // The only way to have full paths in messages is an unstable option.
    command.env("RUSTC_BOOTSTRAP", "1").args(["-Ztrim-diagnostic-paths=no", "-Zwrite-long-types-to-disk=no"]);
    command.args(["--emit=metadata", "-o"]).arg(work.path().join("check.rmeta"));
    Ok(messages::parse(&run(command, job.stop)?.stderr))
}

/// Shows rustc's messages about a source one by one, until one is what was asked for: then rustc is stopped. With
/// public paths, too. The job's [`Warm`] must be one for questions.
pub fn ask<T>(job: &Job<'_>, mut answer: impl FnMut(&Message) -> Option<T>) -> Result<Option<T>, Diagnostic> {
    let (mut rustc, work) = job.warm.rustc(&job.kit.toolchain, job.folder()).map_err(failed)?;
    write_sources(job, &work)?;
    let mut arguments = arguments(job);
    arguments.extend(["-Ztrim-diagnostic-paths=no", "-Zwrite-long-types-to-disk=no"].map(String::from));
    arguments.push(format!("--emit=metadata={}", work.path().join("check.rmeta").display()));
    warm::tell(&mut rustc, &arguments).map_err(failed)?;
    let mut found = None;
    let watched = watched(&mut rustc, job.stop, |rustc| {
        let Some(pipe) = rustc.stderr.take() else { return };
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            found = messages::parse(&line).first().and_then(&mut answer);
            if found.is_some() {
                break;
            }
        }
    });
    let _ = rustc.kill();
    let _ = rustc.wait();
    watched.map(|()| found)
}

impl Job<'_> {
    /// Into how many pieces the code is divided for LLVM.
    fn units(&self) -> usize {
        let lines = self.generated.files.iter().flat_map(|(_, text)| text.lines());
        if lines.filter(|line| !line.trim().is_empty()).count() < LONG { 1 } else { 2 }
    }

    /// With which line a call is made, for the trace of an error. The tables cost a twentieth of the time; a cell of
    /// one line needs none.
    fn line_tables(&self) -> [&'static str; 2] {
        if self.generated.map.lines > 1 {
            ["-Cdebuginfo=line-tables-only", "-Cstrip=none"]
        } else {
            ["-Cdebuginfo=0", "-Cstrip=debuginfo"]
        }
    }

    /// The folder for work that is moved to its place afterwards.
    fn folder(&self) -> &Path {
        self.library.parent().unwrap_or(Path::new("."))
    }

    /// Lists the shared objects that this one needs when it is loaded, except those of the prelude and the system.
    fn libraries(&self) -> Vec<&Path> {
        self.generated.links.iter().map(|&index| self.notebook.crates[index].library.as_path()).collect()
    }

    /// The libraries of `:dep`, where the cell or what it links can need some of them: generics of one crate call
    /// another.
    fn crates(&self) -> impl Iterator<Item = &Path> {
        let dependencies = &self.notebook.dependencies;
        let mut externs = dependencies.externs(&|name| self.generated.names(name)).into_iter();
        let needed = !self.generated.links.is_empty() || externs.any(|(name, _)| self.generated.names(&name));
        dependencies.libraries().filter(move |_| needed)
    }
}

fn base(job: &Job<'_>, work: &Folder) -> Command {
    let mut command = Command::new(&job.kit.toolchain.rustc);
    warm::environment(&mut command, work);
    command.args(arguments(job));
    command.args(job.kit.toolchain.linker.iter().map(|linker| format!("-Clinker={}", linker.display())));
    command
}

/// The arguments of every call of rustc for this crate. It runs in the folder that holds the sources.
fn arguments(job: &Job<'_>) -> Vec<String> {
    let Job { kit, generated, .. } = *job;
    let prelude = kit.paths.prelude.display();
    let mut arguments: Vec<String> = vec![generated.files[0].0.clone()];
    arguments.extend(["--crate-name", job.crate_name, "--crate-type", "dylib", "--edition", "2024"].map(String::from));
    arguments.extend(
        ["-Cprefer-dynamic", "--error-format=json", "--diagnostic-width=100", "-Cpanic=unwind"].map(String::from),
    );
    arguments.push(format!("-Cmetadata={}", job.crate_name));
    // Only where it is asked for: the standard library's own assertions make other cells slower, to compile and to run.
    if generated.names("debug_assert") && job.optimisation < 2 {
        arguments.push("-Cdebug-assertions=on".to_string());
    }
    arguments.push(format!("--remap-path-prefix={BODY}/="));
    for (name, _) in generated.files.iter().skip(2) {
        if let Some((folder, _)) = name.split_once('/') {
            arguments.push(format!("--remap-path-prefix={folder}/="));
        }
    }
    arguments.push(format!("--extern=onrush={prelude}"));
    let dependencies = &job.notebook.dependencies;
    if !dependencies.replaces("serde") {
        // The derives of serde name the crate `serde`: the prelude re-exports all of it. (Its own rlib would be linked
        // twice.)
        arguments.push(format!("--extern=serde={prelude}"));
    }
    arguments.push(format!("-Ldependency={}", kit.paths.deps.display()));
    for (name, library) in dependencies.externs(&|name| job.generated.names(name)) {
        arguments.push(format!("--extern={name}={}", library.display()));
    }
    arguments.extend(dependencies.folders().map(|folder| format!("-Ldependency={}", folder.display())));
    for &index in &generated.links {
        let cell = &job.notebook.crates[index];
        // The metadata of the crate, and the path of its code.
        arguments.push(format!("--extern={}={}", cell.name, metadata_of(&cell.library).display()));
        arguments.push(format!("--extern={}={}", cell.name, cell.library.display()));
    }
    arguments
}

struct Output {
    success: bool,
    stderr: String,
}

/// Runs a command in a separate process group, so that an interrupt stops it with its linker.
fn run(mut command: Command, stop: &Arc<InterruptToken>) -> Result<Output, Diagnostic> {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0).spawn().map_err(failed)?;
    let mut stderr = Vec::new();
    watched(&mut child, stop, |child| {
        if let Some(mut pipe) = child.stderr.take() {
            let _ = pipe.read_to_end(&mut stderr);
        }
    })?;
    let status = child.wait().map_err(failed)?;
    Ok(Output { success: status.success(), stderr: String::from_utf8_lossy(&stderr).into_owned() })
}

/// Attends to a child that an interrupt is to kill.
fn watched(child: &mut Child, stop: &Arc<InterruptToken>, attend: impl FnOnce(&mut Child)) -> Result<(), Diagnostic> {
    if !stop.watch(child.id() as i32) {
        let _ = child.kill();
    }
    attend(child);
    stop.unwatch();
    if stop.interrupted() {
        let _ = child.kill();
        let _ = child.wait();
        return Err(interrupted());
    }
    Ok(())
}
