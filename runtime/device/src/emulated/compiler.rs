//! The host's C++ compiler: found in PATH, run on a kernel's source behind a header that gives it CUDA's language.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::{env, fs};

use super::runtime::Runtime;
use super::{Emulation, red_zones};
use crate::error::{Error, Result};
use crate::source::{CompileOptions, Source};

const FIBER: &str = include_str!("../../emulated/fiber.h");
const EMULATED: &str = include_str!("../../emulated/emulated.h");

/// The runtime's thread-locals are where kernels expect them, from the first launch on. After one use in another way, a
/// kernel that needs them there could not be loaded any more.
pub const RUNTIME_FLAGS: [&str; 8] = [
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-shared",
    "-pthread",
    "-ftls-model=initial-exec",
    // Hooks leave their frames to what they call: these say where the kernel's are.
    "-fno-optimize-sibling-calls",
    "-Wl,-soname,libonrush-emulated.so",
];

/// The checks that ubsan_hooks.h of the runtime answers: mistakes in CUDA as in C++. `shift-base` would be more than
/// that.
const UNDEFINED: &str = "-fsanitize=bounds,integer-divide-by-zero,alignment,shift-exponent,return";

/// For LLVM: volatile accesses are atomic ones. A read is checked although a write of the same follows. Calls in two
/// branches stay two, each with its line. Unreachable code stops the processor. Loops stay loops, because a `memcpy` in
/// their place would not be checked.
const CLANG_CHECKED: [&str; 7] = [
    "-tsan-distinguish-volatile",
    "-tsan-instrument-read-before-write",
    "-simplifycfg-sink-common=false",
    "-simplifycfg-hoist-common=false",
    "-enable-tail-merge=false",
    "-trap-unreachable",
    "-disable-loop-idiom-all",
];

#[derive(Clone, Debug)]
pub struct HostCompiler {
    path: PathBuf,
    /// The first line of `--version`.
    pub identity: String,
    is_clang: bool,
    /// Whether it gives variables without a value a conspicuous one: g++ since 12, clang++ for long.
    sets_variables: bool,
}

/// `CXX` if it is set, or else the first of g++, c++ and clang++ that starts. The checks of g++ find more: clang++ does
/// not check the alignment of a struct that is copied as a whole.
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
    let is_clang = text.contains("clang");
    // `g++ (Debian 12.2.0-14+deb12u1) 12.2.0`
    let major = identity.rsplit(' ').next().and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    let sets_variables = is_clang || major.is_some_and(|major| major >= 12);
    Some(HostCompiler { path: path.to_path_buf(), is_clang, sets_variables, identity })
}

impl HostCompiler {
    /// A kernel's source to a shared object.
    pub fn compile(
        &self,
        source: &Source,
        options: &CompileOptions,
        emulation: &Emulation,
        runtime: &Runtime,
    ) -> Result<Vec<u8>> {
        let checked = emulation.checked;
        let strict = checked && emulation.strict;
        // Nobody else may exchange what is compiled and loaded, whatever the umask.
        let mut builder = tempfile::Builder::new();
        let folder = builder.permissions(Permissions::from_mode(0o700)).tempdir();
        let folder = folder.map_err(|source| Error::File { path: env::temp_dir(), source })?;
        let input = folder.path().join("kernel.cpp");
        let assembly = folder.path().join("kernel.s");
        let output = folder.path().join("kernel.so");
        let mut text = String::with_capacity(source.text.len() + FIBER.len() + EMULATED.len() + 256);
        text.push_str("#line 1 \"fiber.h\"\n");
        text.push_str(&FIBER.replace("#pragma once", ""));
        text.push_str("#line 1 \"emulated.h\"\n");
        text.push_str(&EMULATED.replace("#pragma once", ""));
        text.push_str(&format!("#line 1 \"{}\"\n", source.name.replace(['"', '\\', '\n'], "_")));
        text.push_str(&source.text);
        text.push_str("\n#line 1 \"entries\"\n");
        source.entries.iter().for_each(|entry| text.push_str(&format!("ONRUSH_ENTRY({entry})\n")));
        fs::write(&input, text).map_err(|source| Error::File { path: input.clone(), source })?;

        let mut command = Command::new(&self.path);
        command.args(["-std=c++17", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"]);
        // As CUDA: overflow wraps, and types may alias.
        command.args(["-fwrapv", "-fno-strict-aliasing", "-fno-stack-protector"]);
        command.arg(if options.contract { "-ffp-contract=fast" } else { "-ffp-contract=off" });
        if checked {
            command.args(["-O1", "-g1", "-gdwarf-4", "-fno-omit-frame-pointer", "-fsanitize=thread"]);
            command.arg(UNDEFINED);
            // An access past a function's arrays is detected if the compiler knows the array. Any other write is
            // detected when the function ends.
            if strict {
                command.args(["-fsanitize=object-size", "-fstack-protector-strong"]);
            }
            // A null pointer that is followed must be detected, and not be optimised away. A full stack must be
            // detected at its end, not after it.
            command.args(["-fno-delete-null-pointer-checks", "-fstack-clash-protection"]);
            // CUDA has no arrays of a variable length, and a variable that is never set has any value. Both are errors,
            // or else conspicuous numbers.
            command.args(["-Werror=vla", "-Werror=uninitialized"]);
            // Code that is always a mistake.
            if strict {
                command.args([
                    "-Werror=sizeof-pointer-div",
                    "-Werror=sizeof-array-argument",
                    "-Werror=logical-not-parentheses",
                ]);
                command.arg(if self.is_clang { "-Werror=return-stack-address" } else { "-Werror=return-local-addr" });
            }
            if strict && !self.is_clang {
                command.args(["-Wparentheses", "-Wunused-value"]);
            }
            if !self.is_clang {
                command.arg("-Werror=maybe-uninitialized");
            }
            if self.sets_variables {
                command.arg("-ftrivial-auto-var-init=pattern");
            }
            if self.is_clang {
                // A part of `bounds` that stops without a word.
                command.arg("-fno-sanitize=local-bounds");
                CLANG_CHECKED.iter().for_each(|option| _ = command.args(["-mllvm", option]));
            } else {
                command.args(["--param", "tsan-distinguish-volatile=1"]);
            }
        } else {
            command.args([if options.quick { "-O0" } else { "-O2" }, "-w"]);
        }
        // The runtime calls nothing while the library is loaded; and kernels have their own `new`, and not that of
        // another library.
        let link = |command: &mut Command, from: &Path| {
            command.args(["-shared", "-nostdlib", "-Wl,-Bsymbolic", "-o"]).arg(&output);
            command.arg(from).arg(runtime.path()).args(["-lm", "-lc", "-lgcc"]);
        };
        if strict {
            command.args(["-S", "-o"]).arg(&assembly).arg(&input);
        } else {
            link(&mut command, &input);
        }
        let mut done = self.run(&mut command)?;
        if !done.status.success() && is_false_alarm(&String::from_utf8_lossy(&done.stderr), &source.text) {
            done = self.run(command.arg("-Wno-maybe-uninitialized"))?;
        }
        let told = String::from_utf8_lossy(&done.stderr);
        let log = mistakes(&told, &source.text);
        if done.status.success() && !log.is_empty() {
            return Err(Error::Compile { name: source.name.clone(), log });
        }
        if strict && done.status.success() {
            let text =
                fs::read_to_string(&assembly).map_err(|source| Error::File { path: assembly.clone(), source })?;
            fs::write(&assembly, red_zones::with_red_zones(&text))
                .map_err(|source| Error::File { path: assembly.clone(), source })?;
            let mut command = Command::new(&self.path);
            link(&mut command, &assembly);
            done = self.run(&mut command)?;
        }
        if !done.status.success() {
            let log = String::from_utf8_lossy(&done.stderr).trim_end().to_string();
            return Err(Error::Compile { name: source.name.clone(), log });
        }
        fs::read(&output).map_err(|source| Error::File { path: output, source })
    }

    fn run(&self, command: &mut Command) -> Result<Output> {
        let done = command.stdin(Stdio::null()).env("LC_ALL", "C").output();
        done.map_err(|source| Error::File { path: self.path.clone(), source })
    }

    /// The runtime's own source to a shared object at `output`.
    pub fn compile_runtime(&self, folder: &Path, output: &Path) -> Result<()> {
        let mut command = Command::new(&self.path);
        command.args(RUNTIME_FLAGS).arg("-o");
        command.arg(output).arg(folder.join("runtime.cpp"));
        let done = self.run(&mut command)?;
        if done.status.success() {
            return Ok(());
        }
        Err(Error::EmulationFailed { reason: String::from_utf8_lossy(&done.stderr).trim_end().to_string() })
    }
}

/// The warnings of g++ about certain mistakes, as errors. The other warnings of the same options are a matter of style.
fn mistakes(log: &str, text: &str) -> String {
    let never = |line: &&str| {
        let Some((place, said)) = line.split_once(" warning: ") else { return false };
        // `for (i; i < n; i++)` is right.
        let in_a_loop = || {
            let mut place = place.split(':');
            let line = place.next().zip(place.next()?.parse().ok()).and_then(|(file, line)| written(text, file, line));
            line.map(|line| line.trim_start().starts_with("for"))
        };
        said.contains("do not have their mathematical meaning")
            || said.contains("suggest parentheses around comparison in operand of")
            || said.contains("statement has no effect") && in_a_loop() != Some(true)
    };
    let found = log.lines().filter(never).map(|line| line.replacen(" warning: ", " error: ", 1));
    found.collect::<Vec<_>>().join("\n")
}

/// A line of one of the files that a text is made of, by its `#line`s.
fn written<'a>(text: &'a str, file: &str, number: u32) -> Option<&'a str> {
    let mut at = None;
    for line in text.lines() {
        if let Some((next, name)) = line.strip_prefix("#line ").and_then(|rest| rest.split_once(' ')) {
            at = next.parse::<u32>().ok().filter(|_| name.trim().trim_matches('"') == file);
            continue;
        }
        if at == Some(number) {
            return Some(line);
        }
        at = at.map(|at| at + 1);
    }
    None
}

/// Whether the only errors are of g++ about variables that may have no value, which its author may know better. A
/// variable that the code first adds to (`int sum; for (…) sum += x;`) has none.
fn is_false_alarm(log: &str, text: &str) -> bool {
    const MAYBE_UNINITIALIZED: &str = "[-Werror=maybe-uninitialized]";
    let errors: Vec<&str> = log.lines().filter(|line| line.contains(" error: ")).collect();
    let adds_first = |line: &&str| {
        let name = line.split('\'').nth(1).unwrap_or("");
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let whole = |at: &usize| !text[..*at].ends_with(is_word) && !text[at + name.len()..].starts_with(is_word);
        let mentions: Vec<usize> = text.match_indices(name).map(|(at, _)| at).filter(whole).collect();
        let rest = |at: usize| text[at + name.len()..].trim_start();
        // Another variable of the same name may have been set.
        let declared = |at: &&usize| {
            let before = text[..**at].trim_end();
            let behind_type = before.ends_with(|c: char| is_word(c) || c == '*') && !before.ends_with("return");
            let in_list = before.ends_with(',') && rest(**at).starts_with(';');
            rest(**at).starts_with([';', ',']) && behind_type || in_list
        };
        let mut declarations = mentions.iter().filter(declared);
        let Some(first) = declarations.next().filter(|_| declarations.next().is_none()) else { return false };
        let next = mentions.iter().find(|at| *at > first);
        next.is_some_and(|at| ["+=", "-=", "*=", "++", "--", "|=", "^="].iter().any(|sign| rest(*at).starts_with(sign)))
    };
    let all = |of: &dyn Fn(&&str) -> bool| errors.iter().all(of);
    !errors.is_empty() && all(&|line| line.ends_with(MAYBE_UNINITIALIZED)) && !errors.iter().any(adds_first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_warnings_are_errors() {
        let log = "c.rs:3:7: warning: statement has no effect [-Wunused-value]\n\
                   c.rs:4:7: warning: statement has no effect [-Wunused-value]\n\
                   c.rs:5:7: warning: value computed is not used [-Wunused-value]\n\
                   c.rs:6:7: warning: suggest parentheses around '&&' within '||' [-Wparentheses]";
        let text = "#line 3 \"names\"\nfor (;;)\n#line 1 \"c.rs\"\n\n\na == b;\n  for (i; i < n; i++)\n";
        assert_eq!(mistakes(log, text), "c.rs:3:7: error: statement has no effect [-Wunused-value]");
    }

    #[test]
    fn what_is_added_to_first_has_no_value() {
        let log = "cell_1.rs:3:9: error: 'sum' may be used uninitialized [-Werror=maybe-uninitialized]";
        assert!(!is_false_alarm(log, "int sum;\nfor (;;) sum += x;"));
        assert!(!is_false_alarm(log, "float a, sum;\nwhile (a > 0) sum++;"));
        assert!(is_false_alarm(log, "int sum;\nif (n > 0) sum = 1;\nif (n > 3) sum += 2;"));
        assert!(is_false_alarm(log, "int sum;\nif (n) sum = 1;\n{ int sum; sum += 2; }"));
        let other = format!("{log}\ncell_1.rs:3:9: error: expected ';' before 'x'");
        assert!(!is_false_alarm(&other, "int sum;\nif (n > 0) sum = 1;"));
        assert!(!is_false_alarm("", ""));
    }
}
