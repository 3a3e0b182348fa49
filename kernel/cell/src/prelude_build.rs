//! Prelude build: the installed rustc builds the prelude, the macros and the cell process from the sources embedded
//! here.
//!
//! A prelude build is a folder under the cache, named by a hash of the sources and of `rustc -vV`. A new rustc or a new
//! Onrush therefore has a separate folder. The module `rustc` compiles cells against it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use onrush_wire::{Class, Diagnostic};
use serde::{Deserialize, Serialize};

use crate::index::crates::cargo_home;
use crate::linker::{Linker, stand_in};
use crate::toolchain::InstalledToolchain;
pub use crate::toolchain::Toolchain;

mod sources {
    include!(concat!(env!("OUT_DIR"), "/kit_files.rs"));
}

/// Number of prelude builds that are kept: the most recently used ones.
const KEPT: usize = 3;

#[derive(Clone, Debug)]
pub struct PreludeBuild {
    pub toolchain: Toolchain,
    /// Stands for the sources, the compiler and the compiled prelude. Compiled cells belong to one identity.
    pub identity: String,
    pub paths: PreludePaths,
    pub linker: Option<Linker>,
}

impl PreludeBuild {
    fn new(toolchain: Toolchain, key: &str, paths: PreludePaths) -> Self {
        let linker = Linker::find(&toolchain);
        let identity = hash(&[key.as_bytes(), paths.content.as_bytes()]);
        PreludeBuild { toolchain, identity, paths, linker }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreludePaths {
    /// `libonrush.so`.
    pub prelude: PathBuf,
    /// Everything that the prelude was built from, for rustc's `-L dependency`.
    pub deps: PathBuf,
    /// `onrush-cell`.
    pub host: PathBuf,
    /// The crates that the prelude holds.
    pub crates: Vec<PreludeCrate>,
    /// A hash of `libonrush.so`. Builds of the same sources differ: crates have the paths of generated code in their
    /// own hashes. A record without this field is not read, and the prelude is built again.
    pub content: String,
}

/// A crate of a registry that the prelude was built from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreludeCrate {
    pub name: String,
    pub version: String,
    pub features: BTreeSet<String>,
    /// Its `.rlib`.
    pub file: PathBuf,
}

fn environment(code: &str, message: String) -> Diagnostic {
    Diagnostic::error(Class::Environment, code, message)
}

/// The value of an environment variable. An empty one counts as not set.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The absolute path of a program. A bare name is looked for on the search path, then in `~/.cargo/bin`.
fn find(program: &Path) -> Option<PathBuf> {
    // With a slash it is a path, as for a shell.
    if program.as_os_str().as_encoded_bytes().contains(&b'/') {
        return std::path::absolute(program).ok().filter(|path| path.is_file());
    }
    let home = variable("CARGO_HOME").or_else(|| onrush_wire::paths::home().map(|home| home.join(".cargo")));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(home.map(|home| home.join("bin")));
    folders.map(|folder| folder.join(program)).find(|path| path.is_file())
}

fn stdout_of(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_string())
    }
}

/// Makes a folder of the cache, or refuses one that another user could have put something into: what lies there is run.
pub fn private_cache(folder: &Path) -> Result<(), Diagnostic> {
    onrush_wire::paths::private_dir(folder).map_err(|error| {
        let message = format!("the cache folder {} cannot be used: {error}", folder.display());
        environment("cache", message).help("make it writable for you alone, or set ONRUSH_CACHE_DIR to another folder")
    })
}

const NO_STAND_IN: &str = "rust-lld can be used instead on x86-64 alone, with glibc 2.34 or newer and libgcc_s.so.1";

/// The compiler that cells will use. An installed toolchain comes before a rustc of another version, for which the
/// prelude would have to be built; `$RUSTC` comes before everything. If `$RUSTC` does not work, no other one is
/// taken. Missing: says how to install one.
pub fn toolchain(cache: &Path) -> Result<Toolchain, Diagnostic> {
    private_cache(cache)?;
    let installed = InstalledToolchain::find().and_then(|installed| installed.toolchain());
    let is_chosen = variable("RUSTC").is_some();
    let mut toolchain = match (installed, of_machine(cache)) {
        (_, own) if is_chosen => own?,
        (Some(installed), Ok(own)) if own.verbose_version == installed.verbose_version => own,
        (Some(installed), _) => installed,
        (None, own) => own?,
    };
    if !stand_in::has_compiler() {
        match stand_in::ensure(&toolchain, cache) {
            Ok(Some(linker)) => toolchain.linker = Some(linker),
            Ok(None) => toolchain.no_linker = Some(NO_STAND_IN.to_string()),
            Err(error) => toolchain.no_linker = Some(format!("rust-lld cannot be used instead: {error}")),
        }
    }
    Ok(toolchain)
}

/// `$RUSTC`, or the rustc of rustup or of the system.
fn of_machine(cache: &Path) -> Result<Toolchain, Diagnostic> {
    let missing = |tool: &str| {
        environment("no-rust", format!("`{tool}` was not found on PATH or in ~/.cargo/bin: cells are compiled by rustc"))
            .help("install Rust with `pip install 'onrush-kernel[toolchain]'`, or with `curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh`, then restart the kernel")
    };
    let chosen = variable("RUSTC");
    let not_usable = |name: &Path, reason: &str| {
        environment("broken-rust", format!("the variable RUSTC names `{}`, {reason}", name.display()))
            .help("set it to the path of a rustc, or unset it, then restart the kernel")
    };
    let broken = |text: String| match &chosen {
        Some(name) => not_usable(name, &format!("which does not work: {text}")),
        None => environment("broken-rust", format!("rustc does not work: {text}"))
            .help("`rustup show` says which toolchain is active; `rustup default stable` installs one"),
    };
    let rustc = match &chosen {
        Some(name) => find(name).ok_or_else(|| not_usable(name, "which is not a program"))?,
        None => find(Path::new("rustc")).ok_or_else(|| missing("rustc"))?,
    };
    // rustup chooses a toolchain by folder: the cache folder has no opinion, a notebook's folder might.
    let mut command = Command::new(&rustc);
    command.args(["--print", "sysroot"]).current_dir(cache);
    let sysroot = PathBuf::from(stdout_of(&mut command).map_err(broken)?.trim());
    let own = |tool: &str| Some(sysroot.join("bin").join(tool)).filter(|p| p.is_file());
    let rustc = own("rustc").unwrap_or(rustc);
    let has_version = |text: String| match text.contains("\nrelease: ") {
        true => Ok(text),
        false => Err("it does not say its version".to_string()),
    };
    let verbose_version = stdout_of(Command::new(&rustc).arg("-vV")).and_then(has_version).map_err(broken)?;
    let named = || variable("CARGO").and_then(|name| find(&name)).or_else(|| find(Path::new("cargo")));
    let cargo = own("cargo").or_else(named).ok_or_else(|| missing("cargo"))?;
    Ok(Toolchain { rustc, cargo, sysroot, verbose_version, linker: None, no_linker: None })
}

/// Returns the `Cargo.lock` with the versions of the prelude build.
pub fn lock_file() -> &'static str {
    let file = sources::FILES.iter().find(|(name, _)| *name == "Cargo.lock");
    file.and_then(|(_, bytes)| std::str::from_utf8(bytes).ok()).unwrap_or("")
}

pub fn hash(parts: &[&[u8]]) -> String {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().to_hex()[..20].to_string()
}

fn key(toolchain: &Toolchain) -> String {
    let mut parts: Vec<&[u8]> = vec![toolchain.verbose_version.as_bytes(), sources::MANIFEST.as_bytes()];
    for (name, bytes) in sources::FILES {
        parts.push(name.as_bytes());
        parts.push(bytes);
    }
    hash(&parts)
}

/// The prelude's sources and the manifest of their workspace, by their paths in it.
pub fn sources() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    sources::FILES.iter().copied().chain([("Cargo.toml", sources::MANIFEST.as_bytes())])
}

/// Whether there is a prelude build for this rustc, in the cache or installed.
pub fn built(cache: &Path, toolchain: &Toolchain) -> bool {
    let key = key(toolchain);
    installed_prelude(&key).is_some() || finished(&cache.join("kit").join(key)).is_some()
}

/// A sentence about packages `onrush-toolchain-*` that do not belong to this program, or of which some are missing.
pub fn mismatch_of_packages() -> Option<String> {
    let installed = InstalledToolchain::of_packages()?;
    let folder = installed.folder().display();
    let Some(toolchain) = installed.toolchain().filter(|_| installed.is_whole()) else {
        return Some(format!("{folder} lacks files of rustc, of LLVM or of the standard library: it is not used"));
    };
    let is_there = read_paths(&installed.prelude(&key(&toolchain))).is_some();
    (!is_there).then(|| format!("{folder} lacks the prelude of this version of Onrush"))
}

/// The prelude build that the packages `onrush-toolchain-*` bring along, if they belong to this program.
fn installed_prelude(key: &str) -> Option<PreludePaths> {
    read_paths(&InstalledToolchain::find()?.prelude(key))
}

/// Finds the prelude build for the installed rustc, or builds it. `progress` gets a line, and a fraction if that is
/// known.
pub fn ensure(cache: &Path, progress: &mut dyn FnMut(String, Option<f32>)) -> Result<PreludeBuild, Diagnostic> {
    find_or_build(cache, progress).map_err(|diagnostic| crate::disk_full::explained(diagnostic, cache))
}

fn find_or_build(cache: &Path, progress: &mut dyn FnMut(String, Option<f32>)) -> Result<PreludeBuild, Diagnostic> {
    let toolchain = toolchain(cache)?;
    let key = key(&toolchain);
    if let Some(paths) = installed_prelude(&key) {
        return Ok(PreludeBuild::new(toolchain, &key, paths));
    }
    let kits = cache.join("kit");
    let folder = kits.join(&key);
    if let Some(paths) = finished(&folder) {
        return Ok(PreludeBuild::new(toolchain, &key, paths));
    }
    let io = |e: std::io::Error| {
        environment("cache", format!("the cache folder {} cannot be used: {e}", kits.display()))
            .help("make it writable, or set ONRUSH_CACHE_DIR to a folder that is")
    };
    private_cache(&kits)?;
    let lock = File::create(kits.join("lock")).map_err(io)?;
    // SAFETY: plain system call on an open descriptor.
    if unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        progress("waiting for another kernel that builds the prelude".to_string(), None);
        // SAFETY: as above.
        unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX) };
        if let Some(paths) = finished(&folder) {
            return Ok(PreludeBuild::new(toolchain, &key, paths));
        }
    }
    let paths = build(&toolchain, &kits, &folder, progress)?;
    remove_old(&kits, &key);
    Ok(PreludeBuild::new(toolchain, &key, paths))
}

const STAMP: &str = "kit.json";
const DEPENDENCIES: &str = "deps";

fn finished(folder: &Path) -> Option<PreludePaths> {
    let paths = read_paths(folder)?;
    // The time of last use decides which prelude builds are kept.
    let stamp = File::options().append(true).open(folder.join(STAMP));
    let _ = stamp.and_then(|file| file.set_modified(SystemTime::now()));
    Some(paths)
}

/// Reads the paths of a prelude build, which are relative to its folder.
fn read_paths(folder: &Path) -> Option<PreludePaths> {
    let mut paths: PreludePaths = serde_json::from_slice(&fs::read(folder.join(STAMP)).ok()?).ok()?;
    for path in [&mut paths.prelude, &mut paths.deps, &mut paths.host] {
        *path = folder.join(&path);
    }
    for crate_ in &mut paths.crates {
        crate_.file = folder.join(&crate_.file);
    }
    (paths.prelude.is_file() && paths.host.is_file() && paths.deps.is_dir()).then_some(paths)
}

fn remove_old(kits: &Path, key: &str) {
    let Ok(entries) = fs::read_dir(kits) else { return };
    let mut old: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter(|e| e.file_name() != key)
        .filter_map(|e| Some((fs::metadata(e.path().join(STAMP)).ok()?.modified().ok()?, e.path())))
        .collect();
    old.sort();
    while old.len() >= KEPT {
        let _ = fs::remove_dir_all(old.remove(0).1);
    }
}

/// cargo's messages on its standard output, as far as they are needed.
#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    #[serde(default)]
    package_id: String,
    #[serde(default)]
    features: BTreeSet<String>,
    #[serde(default)]
    profile: CargoProfile,
    #[serde(default)]
    target: CargoTarget,
    #[serde(default)]
    filenames: Vec<PathBuf>,
    executable: Option<PathBuf>,
}

#[derive(Default, Deserialize)]
struct CargoTarget {
    name: String,
}

#[derive(Default, Deserialize)]
struct CargoProfile {
    opt_level: String,
}

/// A crate that is linked into the prelude; what build scripts and macros link is not optimised.
fn linked(message: &CargoMessage) -> Option<PreludeCrate> {
    let (name, version) = message.package_id.strip_prefix("registry+")?.rsplit_once('#')?.1.split_once('@')?;
    let file = message.filenames.iter().find(|f| f.extension().is_some_and(|e| e == "rlib"))?;
    (message.profile.opt_level != "0").then(|| PreludeCrate {
        name: name.to_string(),
        version: version.to_string(),
        features: message.features.clone(),
        file: file.clone(),
    })
}

/// Cargo, without what the caller's own cargo told this process.
pub fn cargo(toolchain: &Toolchain, source: &Path, target: &Path) -> Command {
    let mut command = Command::new(&toolchain.cargo);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let ours =
            name.starts_with("CARGO_PKG") || name.starts_with("CARGO_MANIFEST") || name.starts_with("CARGO_BUILD");
        if ours || name.starts_with("CARGO_PROFILE") || name.contains("RUSTFLAGS") || name == "RUSTC_WRAPPER" {
            command.env_remove(name);
        }
    }
    command
        .env("RUSTC", &toolchain.rustc)
        .env("RUSTFLAGS", "-C prefer-dynamic")
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_HOME", cargo_home())
        .env_remove("LD_LIBRARY_PATH")
        .current_dir(source)
        .stdin(Stdio::null());
    if let Some(linker) = &toolchain.linker {
        let variable = format!("CARGO_TARGET_{}_LINKER", toolchain.host().to_uppercase().replace('-', "_"));
        if std::env::var_os(&variable).is_none() {
            command.env(variable, linker);
        }
    }
    command
}

/// The local registry of cargo that a wheel installs below the prefix of the program, in `share/onrush/registry`. It
/// has the crates of the prelude build. `None` for a program that was built in a clone: cargo downloads the crates.
fn installed_registry() -> Option<PathBuf> {
    let program = std::env::current_exe().and_then(fs::canonicalize).ok()?;
    let registry = program.parent()?.parent()?.join("share/onrush/registry");
    registry.join("index").is_dir().then_some(registry)
}

/// Arguments of cargo for each attempt to get the crates: from the installed registry, else from the network, else from
/// what cargo downloaded before.
fn attempts(registry: Option<&Path>) -> Vec<Vec<String>> {
    let Some(registry) = registry else { return vec![vec![], vec!["--offline".to_string()]] };
    // A JSON string is a TOML string.
    let folder = serde_json::Value::from(registry.display().to_string());
    let source =
        ["source.crates-io.replace-with=\"onrush\"".to_string(), format!("source.onrush.local-registry={folder}")];
    let config = source.into_iter().flat_map(|setting| ["--config".to_string(), setting]);
    vec![config.chain(["--offline".to_string()]).collect()]
}

/// The reason of a failed build and what to do, from the last lines of cargo.
fn explain(failure: &str, toolchain: &Toolchain, is_installed: bool) -> Diagnostic {
    if failure.contains("linker `cc` not found") {
        let message = "there is no C compiler and linker (`cc`): rustc links cells with it".to_string();
        let missing = environment("no-linker", message)
            .help("install one: `sudo apt install build-essential` or `sudo dnf install gcc`");
        return match &toolchain.no_linker {
            Some(reason) => missing.note(reason),
            None => missing,
        };
    }
    let tail: Vec<&str> = failure.lines().rev().take(12).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    let help = "`rustup update stable` helps if rustc is older than 1.94";
    let help = if is_installed {
        help.to_string()
    } else {
        format!("the first start needs the network for a few crates; {help}")
    };
    environment("prelude", format!("the prelude could not be built with rustc {}", toolchain.version()))
        .note(tail.join("\n"))
        .help(help)
}

fn build(
    toolchain: &Toolchain,
    kits: &Path,
    folder: &Path,
    progress: &mut dyn FnMut(String, Option<f32>),
) -> Result<PreludePaths, Diagnostic> {
    let what = format!("building the prelude for rustc {}", toolchain.version());
    progress(what.clone(), None);
    let io = |e: std::io::Error| {
        environment("cache", format!("the prelude could not be written to {}: {e}", folder.display()))
            .help("free disk space or make it writable, or set ONRUSH_CACHE_DIR to another folder")
    };
    let source = folder.join("source");
    for (name, bytes) in self::sources() {
        let path = source.join(name);
        fs::create_dir_all(path.parent().unwrap_or(&source)).map_err(io)?;
        fs::write(&path, bytes).map_err(io)?;
    }
    // One target folder for each rustc: a new prelude does not build its dependencies again.
    let target = kits.join(format!("target-{}", &hash(&[toolchain.verbose_version.as_bytes()])[..8]));
    let registry = installed_registry();
    let attempts = attempts(registry.as_deref());
    let total = {
        let mut tree = cargo(toolchain, &source, &target);
        tree.args(["tree", "-q", "-e", "normal,build", "--prefix", "none", "-p", "onrush-host"]);
        if registry.is_some() {
            tree.args(attempts.iter().flatten());
        }
        stdout_of(&mut tree).ok().map(|text| {
            let mut names: Vec<&str> =
                text.lines().filter_map(|l| l.split(" (").next()).filter(|l| !l.is_empty()).collect();
            names.sort();
            names.dedup();
            names.len()
        })
    };
    let mut failure = String::new();
    for attempt in attempts {
        let mut command = cargo(toolchain, &source, &target);
        command.args(["build", "--profile", "kit", "-p", "onrush", "-p", "onrush-host", "--color", "never"]);
        command.arg("--message-format=json-render-diagnostics").args(attempt);
        match run_build(&mut command, &what, total, progress) {
            Ok(artifacts) => return collect(folder, artifacts).map_err(io),
            Err(text) => {
                let network = ["download", "network", "resolve host", "registry", "Could not connect", "timed out"];
                let may_be_network = network.iter().any(|word| text.contains(word));
                if failure.is_empty() || !may_be_network {
                    failure = text;
                }
                if !may_be_network {
                    break;
                }
            }
        }
    }
    Err(explain(&failure, toolchain, registry.is_some()))
}

struct Artifacts {
    files: Vec<PathBuf>,
    crates: Vec<PreludeCrate>,
    prelude: PathBuf,
    host: PathBuf,
}

fn run_build(
    command: &mut Command,
    what: &str,
    total: Option<usize>,
    progress: &mut dyn FnMut(String, Option<f32>),
) -> Result<Artifacts, String> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|e| format!("cargo: {e}"))?;
    let (Some(out), Some(mut errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("cargo has no output".to_string());
    };
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = errors.read_to_string(&mut text);
        text
    });
    let (mut files, mut crates) = (Vec::new(), Vec::new());
    let (mut prelude, mut host) = (None, None);
    let mut names = std::collections::BTreeSet::new();
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<CargoMessage>(&line) else { continue };
        if message.reason != "compiler-artifact" {
            continue;
        }
        crates.extend(linked(&message));
        if message.target.name == "onrush" {
            prelude = message.filenames.iter().find(|f| f.extension().is_some_and(|e| e == "so")).cloned();
        }
        if message.target.name == "onrush-cell" {
            host = message.executable.clone();
        } else if message.target.name != "build-script-build" {
            files.extend(message.filenames);
        }
        names.insert(message.target.name);
        let done = names.len();
        progress(
            total.map_or_else(|| what.to_string(), |total| format!("{what} ({} of {total} crates)", done.min(total))),
            total.map(|total| (done as f32 / total as f32).min(1.0)),
        );
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    let text = reader.join().unwrap_or_default();
    match (status.success(), prelude, host) {
        (true, Some(prelude), Some(host)) => Ok(Artifacts { files, crates, prelude, host }),
        _ => Err(text),
    }
}

/// Puts what cells need into the folder of the prelude build. The next build changes the target folder, which belongs
/// to cargo.
fn collect(folder: &Path, artifacts: Artifacts) -> std::io::Result<PreludePaths> {
    let deps = folder.join(DEPENDENCIES);
    let _ = fs::remove_dir_all(&deps);
    fs::create_dir_all(&deps)?;
    for file in &artifacts.files {
        let wanted = file.extension().is_some_and(|e| e == "rlib" || e == "rmeta" || e == "so");
        if let (true, Some(name)) = (wanted && *file != artifacts.prelude, file.file_name()) {
            let to = deps.join(name);
            if !to.exists() && fs::hard_link(file, &to).is_err() {
                fs::copy(file, &to)?;
            }
        }
    }
    // The paths are relative to the folder, which may be moved.
    let place = |from: &Path, name: &str| -> std::io::Result<PathBuf> {
        let to = folder.join(name);
        let _ = fs::remove_file(&to);
        fs::copy(from, &to)?;
        Ok(PathBuf::from(name))
    };
    let moved = |mut crate_: PreludeCrate| {
        crate_.file = Path::new(DEPENDENCIES).join(crate_.file.file_name()?);
        Some(crate_)
    };
    let crates = artifacts.crates.into_iter().filter_map(moved).collect();
    let paths = PreludePaths {
        crates,
        prelude: place(&artifacts.prelude, "libonrush.so")?,
        host: place(&artifacts.host, "onrush-cell")?,
        deps: PathBuf::from(DEPENDENCIES),
        content: hash(&[fs::read(&artifacts.prelude)?.as_slice()]),
    };
    let stamp = folder.join(format!("{STAMP}.{}", std::process::id()));
    fs::write(&stamp, serde_json::to_vec(&paths).map_err(std::io::Error::other)?)?;
    fs::rename(&stamp, folder.join(STAMP))?;
    read_paths(folder).ok_or_else(|| std::io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prelude_is_read_with_the_hash_of_its_contents() {
        let folder = std::env::temp_dir().join(format!("onrush-prelude-{}", std::process::id()));
        fs::create_dir_all(folder.join("deps")).unwrap();
        for name in ["libonrush.so", "onrush-cell"] {
            fs::write(folder.join(name), "").unwrap();
        }
        let record = r#"{"prelude": "libonrush.so", "deps": "deps", "host": "onrush-cell", "crates": []}"#;
        fs::write(folder.join(STAMP), record).unwrap();
        assert!(read_paths(&folder).is_none());
        fs::write(folder.join(STAMP), record.replace("[]", r#"[], "content": "00ff""#)).unwrap();
        let paths = read_paths(&folder).unwrap();
        assert_eq!((paths.prelude.as_path(), paths.content.as_str()), (folder.join("libonrush.so").as_path(), "00ff"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_bare_name_is_looked_for_on_the_search_path() {
        let shell = find(Path::new("sh")).unwrap();
        assert!(shell.is_absolute() && shell.ends_with("sh"));
        assert_eq!(find(&shell), Some(shell));
        assert_eq!(find(Path::new("/nowhere/sh")), None);
        assert_eq!(find(Path::new("no-such-program-of-onrush")), None);
    }

    #[test]
    fn an_installed_registry_replaces_the_network() {
        assert_eq!(attempts(None), [vec![], vec!["--offline".to_string()]]);
        let attempts = attempts(Some(Path::new("/opt/a \"b\"/share/onrush/registry")));
        let expected = [
            "--config",
            r#"source.crates-io.replace-with="onrush""#,
            "--config",
            r#"source.onrush.local-registry="/opt/a \"b\"/share/onrush/registry""#,
            "--offline",
        ];
        assert_eq!(attempts, [expected]);
    }

    #[test]
    fn a_missing_linker_is_named() {
        let path = PathBuf::new;
        let toolchain = Toolchain {
            rustc: path(),
            cargo: path(),
            sysroot: path(),
            verbose_version: "release: 1.95.0".to_string(),
            linker: None,
            no_linker: Some("rust-lld cannot be used".to_string()),
        };
        let text = "error: linker `cc` not found\n  |\n  = note: No such file or directory (os error 2)";
        let missing = explain(text, &toolchain, true);
        assert_eq!((missing.code.as_str(), missing.notes[0].as_str()), ("no-linker", "rust-lld cannot be used"));
        let other = explain("error: could not compile `syn`", &toolchain, true);
        assert_eq!((other.code.as_str(), other.help.len()), ("prelude", 1));
        assert!(!other.help[0].contains("network"));
    }
}
