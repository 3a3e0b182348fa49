//! `cargo build` of the product with the time that is left. `build-seconds.txt` has the measured work of each crate;
//! the speed of this machine comes from the crates that are done.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, IsTerminal, Read};
use std::process::Stdio;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::process::{self, Failure};
use crate::progress;
use crate::workspace::Workspace;

const PACKAGES: [&str; 2] = ["onrush-session", "onrush-jupyter"];
/// Seconds of compilers for each crate, as `name seconds`: on 2 cores, both busy. Crates that are not listed took less
/// than 3 s. `cargo build --timings` measures them again: the sum of the units of each package.
const SECONDS: &str = include_str!("build-seconds.txt");
/// The mean of the crates that are not listed.
const SMALL: f64 = 0.6;
/// The seconds of measured work after which the speed of this machine counts as much as the assumed one.
const TRUST: f64 = 300.0;

/// The characters of blanks and of colours before the first word of a line of cargo.
const COLOUR: [char; 14] = [' ', '\x1b', '[', 'm', ';', '0', '1', '2', '3', '4', '6', '7', '8', '9'];

/// The packages of the product, and how many are done.
struct Estimate {
    /// Seconds of work of the packages that are not done, by name and version.
    open: BTreeMap<String, f64>,
    total: usize,
    /// Seconds of work of the packages that this run compiled.
    compiled: f64,
    started: Option<Instant>,
    /// Seconds on the wall for a second of work, before anything is known.
    assumed: f64,
    /// The last estimate, and its time: between two finished crates it shrinks with the clock.
    left: Option<(f64, Instant)>,
}

enum Event {
    /// The last artifact of a package, and whether an earlier run made it.
    Done {
        package: String,
        fresh: bool,
    },
    Compiling,
    Message(String),
}

/// A message of cargo: <https://doc.rust-lang.org/cargo/reference/external-tools.html#json-messages>.
#[derive(Deserialize)]
struct Artifact {
    reason: String,
    package_id: Option<String>,
    target: Option<Target>,
    #[serde(default)]
    fresh: bool,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// Builds every binary except the cell process, which `onrush kit` builds. One cargo invocation: the dependencies that
/// the session and the kernel share are built once, with the features of both.
pub fn run(workspace: &Workspace) -> Result<(), Failure> {
    let mut estimate = Estimate::new(&packages(workspace)?, cores());
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--bins", "--message-format=json-render-diagnostics"]);
    PACKAGES.iter().for_each(|package| _ = cargo.args(["--package", package]));
    if std::io::stderr().is_terminal() {
        cargo.args(["--color", "always"]);
    }
    let mut child = cargo
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| Failure::io("cargo could not be started", e))?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(Failure::new("the output of cargo could not be read"));
    };
    let (sender, events) = mpsc::channel();
    let messages = sender.clone();
    thread::spawn(move || read(stderr, &messages, status));
    thread::spawn(move || read(stdout, &sender, artifact));

    loop {
        match events.recv_timeout(Duration::from_secs(1)) {
            Ok(Event::Done { package, fresh }) => estimate.done(&package, fresh, Instant::now()),
            Ok(Event::Compiling) => _ = estimate.started.get_or_insert_with(Instant::now),
            Ok(Event::Message(message)) => progress::note(&message),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if let Some(text) = estimate.text(Instant::now()) {
            progress::set(text);
        }
    }
    progress::clear();
    let status = child.wait().map_err(|e| Failure::io("cargo build", e))?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("cargo build failed ({status})"))) }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Name and version of each package that the binaries need on this platform.
fn packages(workspace: &Workspace) -> Result<BTreeSet<String>, Failure> {
    let mut cargo = workspace.cargo();
    cargo.args(["tree", "--quiet", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]);
    PACKAGES.iter().for_each(|package| _ = cargo.args(["--package", package]));
    progress::set("Downloading crates".to_string());
    let tree = process::run_quietly("cargo tree", &mut cargo)?;
    progress::clear();
    Ok(tree.lines().filter_map(named).collect())
}

/// `serde 1.0.228` for `serde v1.0.228 (*)`.
fn named(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
}

/// `serde 1.0.228` for `registry+https://…#serde@1.0.228`, and `xtask 0.1.0` for `path+file:///…/xtask#0.1.0`.
fn name_of_id(id: &str) -> Option<String> {
    let (source, fragment) = id.rsplit_once('#')?;
    match fragment.split_once('@') {
        Some((name, version)) => Some(format!("{name} {version}")),
        None => Some(format!("{} {fragment}", source.rsplit('/').next()?)),
    }
}

fn read(from: impl Read, to: &Sender<Event>, event: impl Fn(&str) -> Option<Event>) {
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        if let Some(event) = event(&line) {
            // The receiver is gone only if the run has ended.
            let _ = to.send(event);
        }
    }
}

/// A line of cargo on standard error. The progress replaces the lines of crates.
fn status(line: &str) -> Option<Event> {
    let is = |word: &str| line.trim_start_matches(COLOUR).starts_with(word);
    match () {
        () if is("Compiling") => Some(Event::Compiling),
        () if is("Downloading") || is("Downloaded") => None,
        () => Some(Event::Message(line.to_string())),
    }
}

/// A package is done with its library, or, if its program is wanted, with its program.
fn artifact(line: &str) -> Option<Event> {
    let artifact: Artifact = serde_json::from_str(line).ok()?;
    if artifact.reason != "compiler-artifact" {
        return None;
    }
    let package = name_of_id(&artifact.package_id?)?;
    let kind = artifact.target?.kind;
    let is = |name: &str| kind.iter().any(|kind| kind == name);
    let has_program = PACKAGES.iter().any(|name| package.split(' ').next() == Some(name));
    let last = if has_program { is("bin") } else { !is("custom-build") };
    last.then_some(Event::Done { package, fresh: artifact.fresh })
}

impl Estimate {
    fn new(packages: &BTreeSet<String>, cores: usize) -> Self {
        let seconds: BTreeMap<&str, f64> = SECONDS
            .lines()
            .filter_map(|line| line.split_once(' ').and_then(|(name, seconds)| Some((name, seconds.parse().ok()?))))
            .collect();
        let work = |package: &String| {
            let name = package.split(' ').next().unwrap_or_default();
            (package.clone(), seconds.get(name).copied().unwrap_or(SMALL))
        };
        Estimate {
            open: packages.iter().map(work).collect(),
            total: packages.len(),
            compiled: 0.0,
            started: None,
            // More than eight cores wait for the longest chain of crates.
            assumed: 1.0 / cores.clamp(1, 8) as f64,
            left: None,
        }
    }

    fn done(&mut self, package: &str, fresh: bool, now: Instant) {
        let Some(work) = self.open.remove(package) else {
            return;
        };
        if fresh {
            return;
        }
        let elapsed = now.saturating_duration_since(*self.started.get_or_insert(now)).as_secs_f64();
        self.compiled += work;
        let rate = (elapsed + TRUST * self.assumed) / (self.compiled + TRUST);
        self.left = Some((self.open.values().sum::<f64>() * rate, now));
    }

    /// None before a crate is compiled.
    fn text(&self, now: Instant) -> Option<String> {
        self.started?;
        let (left, at) = self.left.unwrap_or_else(|| (self.open.values().sum::<f64>() * self.assumed, now));
        let left = (left - now.saturating_duration_since(at).as_secs_f64()).max(0.0);
        let done = self.total - self.open.len();
        Some(format!("Building Onrush: {done} of {} crates, {} left", self.total, progress::about(left)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_trees_and_of_ids_agree() {
        let ids = [
            ("serde v1.0.228 (*)", "registry+https://github.com/rust-lang/crates.io-index#serde@1.0.228"),
            ("zstd-sys v2.0.16+zstd.1.5.7", "registry+https://x/index#zstd-sys@2.0.16+zstd.1.5.7"),
            ("onrush-wire v0.1.0 (/clone/kernel/wire)", "path+file:///clone/kernel/wire#onrush-wire@0.1.0"),
            ("xtask v0.1.0 (/clone/xtask)", "path+file:///clone/xtask#0.1.0"),
        ];
        for (line, id) in ids {
            assert!(named(line).is_some());
            assert_eq!(named(line), name_of_id(id));
        }
    }

    #[test]
    fn lines_of_crates_are_not_messages() {
        assert!(matches!(status("   Compiling serde v1.0.228"), Some(Event::Compiling)));
        assert!(matches!(status("\x1b[1m\x1b[92m   Compiling\x1b[0m serde v1.0.228"), Some(Event::Compiling)));
        assert!(status("  Downloaded serde v1.0.228").is_none());
        let waiting = "    Blocking waiting for file lock on build directory";
        assert!(matches!(status(waiting), Some(Event::Message(message)) if message == waiting));
    }

    #[test]
    fn a_program_is_the_last_artifact_of_its_package() {
        let message = |id: &str, kind: &str| {
            artifact(&format!(
                r#"{{"reason":"compiler-artifact","package_id":"{id}","target":{{"kind":["{kind}"],"name":"x"}},"fresh":false}}"#
            ))
        };
        assert!(message("x#serde@1.0.0", "custom-build").is_none());
        assert!(message("x#serde@1.0.0", "lib").is_some());
        assert!(message("x#serde_derive@1.0.0", "proc-macro").is_some());
        assert!(message("x#onrush-session@0.1.0", "lib").is_none());
        assert!(message("x#onrush-session@0.1.0", "bin").is_some());
        assert!(artifact(r#"{"reason":"build-finished","success":true}"#).is_none());
    }

    /// 400 s of measured work in two crates, and 600 s in one that is there: after 200 s, 200 s are left.
    #[test]
    fn the_time_left_follows_the_work_done() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let open = [("a 1".to_string(), 200.0), ("b 1".to_string(), 200.0), ("c 1".to_string(), 600.0)];
        let mut estimate =
            Estimate { open: open.into(), total: 3, compiled: 0.0, started: Some(start), assumed: 1.0, left: None };
        assert_eq!(estimate.text(start).unwrap(), "Building Onrush: 0 of 3 crates, about 17 min left");
        estimate.done("c 1", true, start);
        assert_eq!(estimate.text(start).unwrap(), "Building Onrush: 1 of 3 crates, about 7 min left");
        estimate.done("a 1", false, at(200));
        assert_eq!(estimate.text(at(200)).unwrap(), "Building Onrush: 2 of 3 crates, about 3 min left");
        assert_eq!(estimate.text(at(290)).unwrap(), "Building Onrush: 2 of 3 crates, about 2 min left");
        estimate.done("b 1", false, at(1000));
        assert_eq!(estimate.text(at(1000)).unwrap(), "Building Onrush: 3 of 3 crates, less than a minute left");
    }

    #[test]
    fn the_work_of_each_crate_is_a_number() {
        for line in SECONDS.lines() {
            let (name, seconds) = line.split_once(' ').unwrap();
            assert!(!name.is_empty() && seconds.parse::<f64>().unwrap() >= 3.0, "{line}");
        }
    }
}
