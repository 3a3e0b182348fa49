//! A compiler and a linker that are started before there is a cell: loading LLVM is a sixth of the time of a one-line
//! cell.
//!
//! Both wait for their arguments on standard input (`@/proc/self/fd/0`), so they end by themselves when the kernel
//! process is gone. Their arguments are the caller's business.

use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::linker::Linker;
use crate::toolchain::Toolchain;

#[derive(Default)]
pub struct Warm {
    purpose: Purpose,
    /// With the folder that it runs in.
    rustc: Mutex<Option<(Child, Folder)>>,
    linker: Mutex<Option<(Child, ())>>,
}

/// The purpose of a rustc that waits.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Purpose {
    #[default]
    Cells,
    /// Types: behind the cells that run meanwhile, and with the options for messages, which are unstable.
    Questions,
}

/// Starts a command with a lower priority.
const NICE: &str = "/usr/bin/nice";

/// rustc's allocator (jemalloc) takes memory in huge pages and keeps it. A compile lives for 50 ms, and a tenth of that
/// went into page faults.
const ALLOCATOR: &str = "thp:always,metadata_thp:always,dirty_decay_ms:-1,muzzy_decay_ms:-1,retain:true";

/// The same for each rustc, waiting or not.
pub fn environment(command: &mut Command, work: &Folder) {
    command.current_dir(work.path()).env("MALLOC_CONF", ALLOCATOR).stdin(Stdio::null());
    command.env_remove("RUSTFLAGS").env_remove("LD_LIBRARY_PATH");
}

impl Warm {
    pub fn for_questions() -> Self {
        Warm { purpose: Purpose::Questions, rustc: Mutex::default(), linker: Mutex::default() }
    }

    /// Starts what does not wait already. Folders for the work are made in `parent`.
    pub fn prepare(&self, toolchain: &Toolchain, linker: Option<&Linker>, parent: &Path) {
        // A process that cannot be started now is started, and its error seen, when it is needed.
        fill(&self.rustc, || waiting_rustc(self.purpose, toolchain, parent));
        if let Some(linker) = linker {
            fill(&self.linker, || waiting_linker(linker));
        }
    }

    /// A rustc that waits to be told its arguments, and the folder that it runs in.
    pub fn rustc(&self, toolchain: &Toolchain, parent: &Path) -> io::Result<(Child, Folder)> {
        taken(&self.rustc).map_or_else(|| waiting_rustc(self.purpose, toolchain, parent), Ok)
    }

    /// Takes a linker that waits for its arguments. It has the arguments for every shared object already.
    pub fn linker(&self, linker: &Linker) -> io::Result<Child> {
        Ok(taken(&self.linker).map_or_else(|| waiting_linker(linker), Ok)?.0)
    }
}

impl Drop for Warm {
    fn drop(&mut self) {
        taken(&self.rustc).into_iter().for_each(|(child, _)| end(child));
        taken(&self.linker).into_iter().for_each(|(child, ())| end(child));
    }
}

fn fill<T>(waiting: &Mutex<Option<(Child, T)>>, start: impl Fn() -> io::Result<(Child, T)>) {
    let mut waiting = waiting.lock();
    if !waiting.as_mut().is_some_and(|(child, _)| lives(child)) {
        *waiting = start().ok();
    }
}

/// Takes the process that waits, if nobody has killed it meanwhile.
fn taken<T>(waiting: &Mutex<Option<(Child, T)>>) -> Option<(Child, T)> {
    let mut taken = waiting.lock().take()?;
    lives(&mut taken.0).then_some(taken)
}

fn lives(child: &mut Child) -> bool {
    matches!(child.try_wait(), Ok(None))
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// One argument a line; the end of the input starts the work.
pub fn tell(child: &mut Child, arguments: &[String]) -> io::Result<()> {
    let mut input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
    input.write_all(arguments.join("\n").as_bytes())
}

fn waiting_rustc(purpose: Purpose, toolchain: &Toolchain, parent: &Path) -> io::Result<(Child, Folder)> {
    let folder = Folder::new(parent)?;
    let mut command = match purpose {
        Purpose::Questions if Path::new(NICE).is_file() => {
            let mut command = Command::new(NICE);
            command.args(["-n", "5"]).arg(&toolchain.rustc);
            command
        }
        _ => Command::new(&toolchain.rustc),
    };
    if purpose == Purpose::Questions {
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    environment(&mut command, &folder);
    Ok((wait_for_arguments(command)?, folder))
}

fn waiting_linker(linker: &Linker) -> io::Result<(Child, ())> {
    let mut command = Command::new(linker.program());
    command.args(Linker::FOR_EVERY_LIBRARY);
    Ok((wait_for_arguments(command)?, ()))
}

fn wait_for_arguments(mut command: Command) -> io::Result<Child> {
    command
        .arg("@/proc/self/fd/0")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

const WORK: &str = ".work-";

/// A folder that goes away with its value.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(parent: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent.join(format!("{WORK}{}-{count}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes the folders of kernel processes that were killed.
pub fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|n| n.strip_prefix(WORK)?.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|process| !Path::new(&format!("/proc/{process}")).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
