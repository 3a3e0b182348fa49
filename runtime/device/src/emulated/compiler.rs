//! The host's C++ compiler: found in PATH, run on a kernel's source behind a header that gives it CUDA's language.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use super::runtime::Runtime;
use crate::error::{Error, Result};
use crate::module::{CompileOptions, Source};

const FIBER: &str = include_str!("../../emulated/fiber.h");
const EMULATED: &str = include_str!("../../emulated/emulated.h");

/// The runtime's thread-locals are where kernels expect them, from the first launch on: once one was used in another way, a kernel
/// that needs them there could not be loaded any more.
pub const RUNTIME_FLAGS: [&str; 7] = [
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-shared",
    "-pthread",
    "-ftls-model=initial-exec",
    "-Wl,-soname,libonrush-emulated.so",
];

/// What undefined.h of the runtime answers: mistakes in CUDA as in C++. `shift-base` would be more than that.
const UNDEFINED: &str = "-fsanitize=bounds,integer-divide-by-zero,alignment,shift-exponent";

#[derive(Clone, Debug)]
pub struct HostCompiler {
    path: PathBuf,
    /// The first line of `--version`.
    pub identity: String,
    is_clang: bool,
}

/// `CXX` if it is set, or else the first of g++, c++ and clang++ that starts.
pub fn find() -> Result<HostCompiler> {
    let chosen = env::var_os("CXX").map(PathBuf::from);
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let named = ["g++", "c++", "clang++"].iter();
    let in_path = named.flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    chosen
        .into_iter()
        .chain(in_path.filter(|path| path.is_file()))
        .find_map(|path| version(&path))
        .ok_or(Error::NoHostCompiler)
}

fn version(path: &Path) -> Option<HostCompiler> {
    let output = Command::new(path).arg("--version").stdin(Stdio::null()).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let identity = text.lines().next()?.trim().to_string();
    Some(HostCompiler { path: path.to_path_buf(), is_clang: text.contains("clang"), identity })
}

impl HostCompiler {
    /// A kernel's source to a shared object.
    pub fn compile(
        &self,
        source: &Source,
        options: &CompileOptions,
        checked: bool,
        runtime: &Runtime,
    ) -> Result<Vec<u8>> {
        let folder = tempfile::tempdir().map_err(|source| Error::File { path: env::temp_dir(), source })?;
        let input = folder.path().join("kernel.cpp");
        let output = folder.path().join("kernel.so");
        let mut text = String::with_capacity(source.text.len() + FIBER.len() + EMULATED.len() + 256);
        text.push_str("#line 1 \"fiber.h\"\n");
        text.push_str(FIBER);
        text.push_str("#line 1 \"emulated.h\"\n");
        text.push_str(&EMULATED.replace("#pragma once", ""));
        text.push_str(&format!("#line 1 \"{}\"\n", source.name.replace(['"', '\\', '\n'], "_")));
        text.push_str(&source.text);
        text.push_str("\n#line 1 \"entries\"\n");
        source.entries.iter().for_each(|entry| text.push_str(&format!("ONRUSH_ENTRY({entry})\n")));
        fs::write(&input, text).map_err(|source| Error::File { path: input.clone(), source })?;

        let mut command = Command::new(&self.path);
        command.args(["-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"]);
        // As CUDA: overflow wraps, types may alias, and the runtime calls nothing while the library is loaded.
        command.args(["-fwrapv", "-fno-strict-aliasing", "-fno-stack-protector", "-nostdlib", "-w"]);
        command.arg(if options.contract { "-ffp-contract=fast" } else { "-ffp-contract=off" });
        if checked {
            command.args(["-O1", "-g1", "-gdwarf-4", "-fno-omit-frame-pointer", "-fsanitize=thread"]);
            command.arg(UNDEFINED);
            // A null pointer that is followed must be seen, and not be taken for what cannot be.
            command.arg("-fno-delete-null-pointer-checks");
            if self.is_clang {
                command.args(["-mllvm", "-tsan-distinguish-volatile"]);
            } else {
                command.args(["--param", "tsan-distinguish-volatile=1"]);
            }
        } else {
            command.arg("-O2");
        }
        command.arg("-o").arg(&output).arg(&input).arg(runtime.path()).args(["-lm", "-lc", "-lgcc"]);
        let done = command.stdin(Stdio::null()).env("LC_ALL", "C").output();
        let done = done.map_err(|source| Error::File { path: self.path.clone(), source })?;
        if !done.status.success() {
            let log = String::from_utf8_lossy(&done.stderr).trim_end().to_string();
            return Err(Error::Compile { name: source.name.clone(), log });
        }
        fs::read(&output).map_err(|source| Error::File { path: output, source })
    }

    /// The runtime's own source to a shared object at `output`.
    pub fn compile_runtime(&self, folder: &Path, output: &Path) -> Result<()> {
        let mut command = Command::new(&self.path);
        command.args(RUNTIME_FLAGS).arg("-o");
        command.arg(output).arg(folder.join("runtime.cpp"));
        let done = command.stdin(Stdio::null()).env("LC_ALL", "C").output();
        let done = done.map_err(|source| Error::File { path: self.path.clone(), source })?;
        if done.status.success() {
            return Ok(());
        }
        Err(Error::EmulationFailed { reason: String::from_utf8_lossy(&done.stderr).trim_end().to_string() })
    }
}
