//! The program that cargo calls in place of rustc for the crates of `:dep`: it makes each one a shared library.
//!
//! The program is not part of the binary `onrush`. The rustc that compiles the cells compiles it from this one file
//! when a notebook first asks for a crate (`deps/build.rs`). Crates for build scripts and procedural macros pass
//! through it unchanged.
//!
//! A pointer file `libNAME-HASH.onrush` lies next to each crate's library. It says where the shared library is, and
//! whether it links the prelude. Cargo itself sees an empty `.rlib`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio, exit};

/// Names the plan; without it every call passes through.
const PLAN: &str = "ONRUSH_DEPS_PLAN";
/// Set for the linker: this program called as one. Names the program that links.
const LINKER: &str = "ONRUSH_DEPS_LINKER";

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let Some(linker) = std::env::var_os(LINKER) {
        return link(Path::new(&linker), &arguments);
    }
    let Some((rustc, arguments)) = arguments.split_first() else {
        eprintln!("cargo calls this program with the path of rustc");
        return ExitCode::FAILURE;
    };
    let plan = std::env::var_os(PLAN).and_then(|path| fs::read_to_string(path).ok());
    if let (Some(plan), Some(unit)) = (plan, Unit::of(arguments)) {
        return match unit.make(Path::new(rustc), &Plan::parse(&plan)) {
            Ok(code) => code,
            Err(error) => {
                eprintln!("error: {} cannot be written: {error}", unit.out.display());
                ExitCode::FAILURE
            }
        };
    }
    let error = Command::new(rustc).args(arguments).exec();
    eprintln!("error: {} cannot be run: {error}", rustc.display());
    exit(101)
}

/// The kernel process's decisions for this build, in lines of words.
#[derive(Default)]
struct Plan {
    /// `shared NAME VERSION PATH`: the prelude has this crate; nothing is compiled.
    shared: BTreeMap<(String, String), PathBuf>,
    /// `prelude FOLDER`, with `libonrush.so`.
    prelude: PathBuf,
    /// `kit FOLDER`, with what the prelude was built from.
    kit: PathBuf,
    /// `target FOLDER`: cargo's target folder, of which there are several. A crate must not depend on which one it is.
    target: PathBuf,
    /// `linker PROGRAM`, which links crates that have a C library.
    linker: PathBuf,
    /// `stamp FOLDER WORD`: a crate whose sources may change goes by a new name after each change.
    stamps: BTreeMap<PathBuf, String>,
}

impl Plan {
    fn parse(text: &str) -> Plan {
        let mut plan = Plan::default();
        for line in text.lines() {
            match line.split('\t').collect::<Vec<_>>().as_slice() {
                ["shared", name, version, path] => {
                    plan.shared.insert((name.to_string(), version.to_string()), PathBuf::from(path));
                }
                ["prelude", folder] => plan.prelude = PathBuf::from(folder),
                ["kit", folder] => plan.kit = PathBuf::from(folder),
                ["target", folder] => plan.target = PathBuf::from(folder),
                ["linker", program] => plan.linker = PathBuf::from(program),
                ["stamp", folder, word] => drop(plan.stamps.insert(PathBuf::from(folder), word.to_string())),
                _ => {}
            }
        }
        plan
    }
}

/// One library of the graph, for the cell process.
struct Unit<'a> {
    arguments: &'a [OsString],
    /// `libNAME-HASH`, without an extension.
    stem: String,
    out: PathBuf,
    crate_name: String,
}

impl<'a> Unit<'a> {
    /// `None` for what stays as cargo wants it: build scripts, procedural macros and what they link, and questions to
    /// rustc.
    fn of(arguments: &'a [OsString]) -> Option<Unit<'a>> {
        let text: Vec<&str> = arguments.iter().map(|a| a.to_str()).collect::<Option<_>>()?;
        let value = |name: &str| text.iter().position(|a| *a == name).and_then(|at| text.get(at + 1)).copied();
        let codegen = |name: &str| text.windows(2).find_map(|w| (w[0] == "-C").then(|| w[1].strip_prefix(name))?);
        let links = text.iter().any(|a| a.starts_with("--emit=") && a.contains("link") && a.contains("metadata"));
        let is_library = text.windows(2).any(|w| w[0] == "--crate-type" && matches!(w[1], "lib" | "rlib" | "dylib"));
        value("--target")?;
        let crate_name = value("--crate-name")?.to_string();
        let out = PathBuf::from(value("--out-dir")?);
        let hash = codegen("extra-filename=")?;
        let is_root = crate_name == "onrush_dependencies";
        (links && is_library && !is_root).then(|| Unit { arguments, stem: format!("lib{crate_name}{hash}"), out, crate_name })
    }

    fn file(&self, extension: &str) -> PathBuf {
        self.out.join(format!("{}.{extension}", self.stem))
    }

    fn make(&self, rustc: &Path, plan: &Plan) -> std::io::Result<ExitCode> {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let package = (variable("CARGO_PKG_NAME"), variable("CARGO_PKG_VERSION"));
        if let Some(path) = plan.shared.get(&package) {
            fs::write(self.out.join(format!("{}.d", &self.stem[3..])), format!("{}:\n", self.file("rlib").display()))?;
            fs::write(self.file("rmeta"), "")?;
            fs::write(self.file("rlib"), "")?;
            fs::write(self.file("onrush"), format!("{}\nprelude\n", path.display()))?;
            eprintln!("{{\"$message_type\":\"artifact\",\"artifact\":{:?},\"emit\":\"metadata\"}}", self.file("rmeta"));
            return Ok(ExitCode::SUCCESS);
        }
        let stamp = plan.stamps.get(Path::new(&variable("CARGO_MANIFEST_DIR")));
        let name = match stamp {
            Some(stamp) => format!("{}-{stamp}.so", self.stem),
            None => format!("{}.so", self.stem),
        };
        let externs = self.externs();
        let uses_prelude = externs.values().any(|found| found.uses_prelude);
        let (status, kept) = self.run(rustc, plan, &externs, uses_prelude, stamp, Some(&name))?;
        if status == 0 {
            let library = self.out.join(&name);
            if stamp.is_some() {
                fs::rename(self.file("so"), &library)?;
            }
            fs::write(self.file("rlib"), "")?;
            let word = if uses_prelude { "prelude" } else { "" };
            fs::write(self.file("onrush"), format!("{}\n{word}\n", library.display()))?;
            forward(&kept);
            return Ok(ExitCode::SUCCESS);
        }
        // Not every crate can be a shared library; one that cannot is linked into what uses it.
        let (second, kept_second) = self.run(rustc, plan, &externs, uses_prelude, stamp, None)?;
        if second == 0 {
            let _ = fs::remove_file(self.file("onrush"));
            fs::write(self.file("static"), kept.iter().filter(|l| l.contains("\"level\":\"error\"")).take(1).cloned().collect::<String>())?;
        }
        forward(&kept_second);
        Ok(ExitCode::from(second as u8))
    }

    /// The crates that this one is given, by the whole argument.
    fn externs(&self) -> BTreeMap<String, Extern> {
        let mut found = BTreeMap::new();
        for pair in self.arguments.windows(2).filter(|pair| pair[0] == "--extern") {
            let text = pair[1].to_string_lossy().into_owned();
            let Some((_, path)) = text.split_once('=') else { continue };
            let path = Path::new(path);
            let pointer = fs::read_to_string(path.with_extension("onrush")).unwrap_or_default();
            let mut lines = pointer.lines();
            let library = match lines.next() {
                Some(library) => PathBuf::from(library),
                None if path.extension().is_some_and(|e| e == "rmeta") => path.with_extension("rlib"),
                None => path.to_path_buf(),
            };
            let uses_prelude = lines.next() == Some("prelude");
            found.insert(text.clone(), Extern { library, uses_prelude });
        }
        found
    }

    /// A copy of a C library that hides its symbols (as zstd does), with all of them visible. Cells and other crates
    /// call it from outside of this crate's shared library. `None` where nothing is hidden.
    fn visible(&self, name: &str) -> std::io::Result<Option<PathBuf>> {
        let folders = self.arguments.windows(2).filter(|pair| pair[0] == "-L");
        let folders = folders.filter_map(|pair| {
            let text = pair[1].to_str()?;
            Some(Path::new(text.strip_prefix("native=").or(text.strip_prefix("all=")).unwrap_or(text)))
        });
        let file = format!("lib{name}.a");
        let Some(archive) = folders.map(|folder| folder.join(&file)).find(|path| path.is_file()) else { return Ok(None) };
        let mut bytes = fs::read(archive)?;
        if !unhide(&mut bytes) {
            return Ok(None);
        }
        let copy = self.out.join(format!("{}-{file}", self.stem));
        fs::write(&copy, bytes)?;
        Ok(Some(copy))
    }

    /// The exit status, and what rustc said. `shared`: the file name of the shared library to make.
    fn run(
        &self,
        rustc: &Path,
        plan: &Plan,
        externs: &BTreeMap<String, Extern>,
        uses_prelude: bool,
        stamp: Option<&String>,
        shared: Option<&str>,
    ) -> std::io::Result<(i32, Vec<String>)> {
        let mut command = Command::new(rustc);
        let mut arguments = self.arguments.iter().map(|a| a.to_string_lossy().into_owned());
        let mut has_type = false;
        let mut native = Vec::new();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--crate-type" => {
                    let _ = arguments.next();
                    if !std::mem::replace(&mut has_type, true) {
                        command.args(["--crate-type", if shared.is_some() { "dylib" } else { "rlib" }]);
                    }
                }
                "--extern" => {
                    let text = arguments.next().unwrap_or_default();
                    match (text.split_once('='), externs.get(&text)) {
                        (Some((name, _)), Some(found)) => {
                            command.arg("--extern").arg(format!("{name}={}", found.library.display()))
                        }
                        _ => command.arg("--extern").arg(text),
                    };
                }
                "-l" if shared.is_some() => {
                    let text = arguments.next().unwrap_or_default();
                    match text.split_once('=') {
                        Some((kind, name)) if kind.split(':').next() == Some("static") => {
                            native.push(name.split(':').next_back().unwrap_or(name).to_string());
                        }
                        _ => drop(command.args(["-l", &text])),
                    }
                }
                // The whole of a crate is one library already.
                _ => drop(command.arg(argument)),
            }
        }
        if let Some(stamp) = stamp {
            command.args(["-C", &format!("metadata={stamp}")]);
        }
        command.args(["-C", "prefer-dynamic"]);
        // The path of generated code (`OUT_DIR`) is part of a crate's hash.
        command.arg(format!("--remap-path-prefix={}=/onrush/target", plan.target.display()));
        let mut unstable = false;
        if let Some(name) = shared {
            command.arg(format!("-Clink-arg=-Wl,-soname,{name}")).arg("-Clink-arg=-Wl,-rpath,$ORIGIN");
            // A library without the standard library has nobody who handles its panics.
            command.args(["--extern", "force:std"]);
            unstable = true;
            if !native.is_empty() {
                command.arg("-Clink-arg=-Wl,--whole-archive");
                for name in &native {
                    let argument = match self.visible(name)? {
                        // Symbols that were compiled to be hidden are reached directly: they must not be looked up
                        // elsewhere.
                        Some(archive) => format!("-Clink-arg=-Wl,-Bsymbolic,{}", archive.display()),
                        None => format!("-Clink-arg=-l{name}"),
                    };
                    command.arg(argument);
                }
                command.arg("-Clink-arg=-Wl,--no-whole-archive");
                command.arg(format!("-Clinker={}", std::env::current_exe()?.display())).env(LINKER, &plan.linker);
            }
        }
        if uses_prelude {
            command.arg(format!("-Ldependency={}", plan.kit.display()));
            command.arg(format!("-Ldependency={}", plan.prelude.display()));
            // Crates that the prelude holds already are linked from it, and not a second time.
            command.arg("--extern").arg(format!("force:onrush={}", plan.prelude.join("libonrush.so").display()));
            unstable = true;
        }
        if unstable {
            command.arg("-Zunstable-options").env("RUSTC_BOOTSTRAP", "1");
        }
        let mut child = command.stdin(Stdio::inherit()).stderr(Stdio::piped()).spawn()?;
        // Cargo would start what uses this crate when its metadata is there: before the library is.
        let lines = child.stderr.take().map(|pipe| BufReader::new(pipe).lines().map_while(Result::ok).collect());
        let status = child.wait()?.code().unwrap_or(101);
        Ok((status, lines.unwrap_or_default()))
    }
}

/// Makes the hidden symbols of an archive's object files visible, in place; `false` if there are none. Only ELF of 64
/// bits, little endian; anything else is left alone.
fn unhide(archive: &mut [u8]) -> bool {
    let mut changed = false;
    if !archive.starts_with(b"!<arch>\n") {
        return false;
    }
    let mut at = 8;
    while let Some(header) = archive.get(at..at + 60) {
        let size = std::str::from_utf8(&header[48..58]).ok().and_then(|text| text.trim().parse::<usize>().ok());
        let Some(size) = size else { break };
        let Some(member) = archive.get_mut(at + 60..at + 60 + size) else { break };
        changed |= unhide_object(member).unwrap_or(false);
        at += 60 + size + size % 2;
    }
    changed
}

fn unhide_object(object: &mut [u8]) -> Option<bool> {
    const SYMBOLS: u64 = 2;
    let number = |object: &[u8], at: usize, length: usize| -> Option<u64> {
        let bytes = object.get(at..at + length)?;
        Some(bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    if !object.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let sections = number(object, 0x28, 8)? as usize;
    let (size, count) = (number(object, 0x3a, 2)? as usize, number(object, 0x3c, 2)? as usize);
    let mut changed = false;
    for section in (0..count).map(|i| sections + i * size) {
        if number(object, section + 4, 4)? != SYMBOLS {
            continue;
        }
        let (start, length) = (number(object, section + 0x18, 8)? as usize, number(object, section + 0x20, 8)? as usize);
        for symbol in object.get_mut(start..start + length)?.chunks_exact_mut(24) {
            let is_global = matches!(symbol[4] >> 4, 1 | 2);
            if is_global && matches!(symbol[5] & 3, 1 | 2) {
                symbol[5] &= !3;
                changed = true;
            }
        }
    }
    Some(changed)
}

struct Extern {
    library: PathBuf,
    uses_prelude: bool,
}

fn forward(lines: &[String]) {
    let mut out = std::io::stderr().lock();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
}

/// The C compiler as a linker, but what a C library has is seen from outside: rustc's own list names only what is Rust.
fn link(linker: &Path, arguments: &[OsString]) -> ExitCode {
    let hides = |argument: &&OsString| !argument.to_string_lossy().contains("--version-script");
    let status = Command::new(linker).args(arguments.iter().filter(hides)).env_remove(LINKER).status();
    match status {
        Ok(status) => ExitCode::from(status.code().unwrap_or(101) as u8),
        Err(error) => {
            eprintln!("{} cannot be run: {error}", linker.display());
            ExitCode::FAILURE
        }
    }
}
