//! The two runs of cargo, for a resolved graph and for its build: progress, the stop button, and what went wrong.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use onrush_wire::{Class, Diagnostic};
use serde_json::Value;

use super::super::ROOT;
use super::{Artifact, Builder, LockWaits, Package, Resolution, failed};
use crate::interrupt::interrupted;
use crate::prelude_build;

pub struct Cargo<'a> {
    builder: &'a Builder<'a>,
    project: &'a Path,
    target: &'a Path,
}

/// Between two looks at whether the user interrupts.
const LOOK: Duration = Duration::from_millis(20);
/// The one that has cargo's lock of its downloads.
const ANOTHER: &str = "another cargo on this machine";

enum Line {
    Message(String),
    Said(String),
}

impl<'a> Cargo<'a> {
    /// `target`: the target folder. Only a build needs its lock.
    pub fn new(builder: &'a Builder<'a>, project: &'a Path, target: &'a Path) -> Self {
        Cargo { builder, project, target }
    }

    /// The graph, and whether it could be had only without the network.
    pub fn resolve(&self, waits: &mut LockWaits) -> Result<(Resolution, bool), Diagnostic> {
        let mut first = None;
        for offline in [false, true] {
            let mut command = self.command();
            command.args(["metadata", "--format-version=1", "--color=never", "--filter-platform"]);
            command.arg(self.builder.kit.toolchain.host());
            if offline {
                command.arg("--offline");
            }
            let mut out = String::new();
            let (good, said) = self.run(command, waits, &mut |line| match line {
                Line::Message(text) => out = text,
                Line::Said(text) if text.trim_start().starts_with("Download") => {
                    (self.builder.progress)(text.trim().to_lowercase(), None);
                }
                Line::Said(_) => {}
            })?;
            if good {
                let value: Value = serde_json::from_str(&out).map_err(failed)?;
                let resolved =
                    Resolution::of(&value).ok_or_else(|| failed("cargo says its graph in an unknown form"))?;
                return Ok((resolved, offline));
            }
            let said = first.get_or_insert(said);
            if offline || !is_about_the_network(said) {
                break;
            }
        }
        Err(self.explain(&first.unwrap_or_default()))
    }

    pub fn build(
        &self,
        wrapper: &Path,
        plan: &Path,
        total: usize,
        waits: &mut LockWaits,
    ) -> Result<Vec<Artifact>, Diagnostic> {
        let mut command = self.command();
        command
            .args(["build", "--release", "--color=never", "--message-format=json-render-diagnostics", "--target"])
            .arg(self.builder.kit.toolchain.host())
            // The first run has brought everything.
            .arg("--offline")
            .env("RUSTC_WRAPPER", wrapper)
            .env("ONRUSH_DEPS_PLAN", plan);
        let own = self.target.join(self.builder.kit.toolchain.host());
        let mut artifacts = Vec::new();
        let mut done: BTreeSet<String> = BTreeSet::new();
        let mut current = String::new();
        let (good, said) = self.run(command, waits, &mut |line| {
            match line {
                Line::Message(text) => {
                    let Ok(message) = serde_json::from_str::<Value>(&text) else { return };
                    if message["reason"] != "compiler-artifact" {
                        return;
                    }
                    done.extend(message["package_id"].as_str().map(str::to_string));
                    artifacts.extend(Artifact::of(&message, &own));
                }
                Line::Said(text) => match text.trim_start().strip_prefix("Compiling ") {
                    Some(what) => current = what.split(' ').next().unwrap_or(what).to_string(),
                    None => return,
                },
            }
            if !current.is_empty() && !current.starts_with(ROOT) {
                let done = done.len().min(total);
                let text = format!("compiling {current} ({done} of {total} crates)");
                (self.builder.progress)(text, Some(done as f32 / total.max(1) as f32));
            }
        })?;
        if good { Ok(artifacts) } else { Err(self.explain(&said)) }
    }

    fn command(&self) -> Command {
        let mut command = prelude_build::cargo(&self.builder.kit.toolchain, self.project, self.target);
        command.env("RUSTFLAGS", "").env("CARGO_INCREMENTAL", "0").env("CARGO_TERM_PROGRESS_WHEN", "never");
        command
    }

    /// Whether it succeeded, and what it said on standard error.
    fn run(
        &self,
        mut command: Command,
        waits: &mut LockWaits,
        see: &mut dyn FnMut(Line),
    ) -> Result<(bool, String), Diagnostic> {
        let stop = self.builder.stop;
        // A separate process group, so that an interrupt stops cargo with every rustc.
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        if !stop.watch(child.id() as i32) {
            let _ = child.kill();
        }
        let (sender, lines) = channel();
        let readers = [
            child.stdout.take().map(|pipe| read(pipe, sender.clone(), Line::Message)),
            child.stderr.take().map(|pipe| read(pipe, sender, Line::Said)),
        ];
        let mut said = String::new();
        // Since when cargo waits for a lock of its own.
        let mut blocked: Option<Instant> = None;
        loop {
            // A process that has left the group keeps the pipes open: after an interrupt nobody waits for it.
            let line = match lines.recv_timeout(LOOK) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) if !stop.interrupted() => continue,
                Err(_) => break,
            };
            if let Line::Said(text) = &line {
                said.push_str(text);
                said.push('\n');
                blocked.take().iter().for_each(|since| waits.add(since.elapsed(), ANOTHER));
                if text.trim_start().starts_with("Blocking ") {
                    blocked = Some(Instant::now());
                    (self.builder.progress)(format!("waiting for {ANOTHER}"), None);
                }
            }
            see(line);
        }
        if !stop.interrupted() {
            readers.into_iter().flatten().for_each(|reader| drop(reader.join()));
        }
        stop.unwatch();
        let status = child.wait().map_err(failed)?;
        if stop.interrupted() {
            return Err(interrupted().note("the crates of the notebook are as they were; what was built is kept"));
        }
        Ok((status.success(), said))
    }

    /// One sentence, then cargo's own words.
    fn explain(&self, said: &str) -> Diagnostic {
        let own = self.in_own_words(said);
        // The words before a long message of a build script are left out of `own`.
        let after_words = |after: &str| own.split_once(after).or_else(|| said.split_once(after));
        let quoted = |after: &str| after_words(after)?.1.split('`').next().map(str::to_string);
        let name = |after: &str| quoted(after).map(|n| n.split([' ', '@']).next().unwrap_or(&n).to_string());
        let (message, help) = if let Some(name) = name("no matching package named `") {
            (format!("there is no crate `{name}`"), "check its name at crates.io")
        } else if let (Some(name), true) = (name("failed to run custom build command for `"), self.lacks_compiler(said))
        {
            (
                format!("`{name}` compiles C, and there is no C compiler"),
                "install one: `sudo apt install build-essential` or `sudo dnf install gcc`",
            )
        } else if let Some(name) = name("failed to run custom build command for `") {
            (
                format!("the build script of `{name}` failed"),
                "what it says below is often a C library or a tool that is missing on this machine",
            )
        } else if let Some(name) = name("could not compile `") {
            (format!("the crate `{name}` does not compile"), "another version may: `:dep NAME = \"VERSION\"`")
        } else if own.contains("does not have that feature") || own.contains("does not have these features") {
            ("a feature that was asked for does not exist".to_string(), "its documentation lists a crate's features")
        } else if let Some(name) = name("failed to select a version for the requirement `") {
            (format!("there is no such version of `{name}`"), "`:dep NAME` without a version takes the newest one")
        } else if own.contains("failed to select a version") {
            ("no versions of these crates go together".to_string(), "ask for another version of one of them")
        } else if is_about_the_network(said) {
            (
                "the registry cannot be reached, and not all crates are on this machine".to_string(),
                "crates that were built here before need no network",
            )
        } else {
            ("cargo cannot make the crates of this notebook".to_string(), "`:dep` takes what `[dependencies]` takes")
        };
        Diagnostic::error(Class::Compile, "dep", message).note(own).help(help)
    }

    /// Whether a build script looked for a C compiler on a machine without one. The crates cc and cmake
    /// say so.
    fn lacks_compiler(&self, said: &str) -> bool {
        let messages = ["failed to find tool", "is `cmake` not installed?", "is `cc` not installed?"];
        self.builder.kit.toolchain.linker.is_some() && messages.iter().any(|message| said.contains(message))
    }

    /// cargo's message, without its progress and without the project that stands for the notebook.
    fn in_own_words(&self, said: &str) -> String {
        const PROGRESS: [&str; 9] = [
            "Updating ",
            "Locking ",
            "Adding ",
            "Downloading ",
            "Downloaded ",
            "Compiling ",
            "Blocking ",
            "Fresh ",
            "warning: build failed",
        ];
        let lines = said.lines().filter(|l| !PROGRESS.iter().any(|word| l.trim_start().starts_with(word)));
        let text = lines.collect::<Vec<_>>().join("\n");
        let project = self.project.display();
        let text = text.replace(&format!("`{ROOT} v0.0.0 ({project})`"), "`this notebook`");
        let text = text.replace(&format!("{project}/Cargo.toml"), "this notebook").replace(&format!("({project})"), "");
        let text = text.replace(&format!("{ROOT} v0.0.0"), "this notebook").replace(ROOT, "this notebook");
        let lines: Vec<&str> = text.trim().lines().collect();
        // A failed build script can say thousands of lines; the end has the reason.
        let skipped = lines.len().saturating_sub(60);
        lines[skipped..].join("\n")
    }
}

fn read(pipe: impl Read + Send + 'static, to: Sender<Line>, line: fn(String) -> Line) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let lines = BufReader::new(pipe).lines().map_while(Result::ok);
        lines.map(line).for_each(|line| drop(to.send(line)));
    })
}

fn is_about_the_network(said: &str) -> bool {
    let words =
        ["download", "network", "resolve host", "resolve hostname", "Could not connect", "timed out", "spurious"];
    words.iter().any(|word| said.contains(word)) || said.contains("Unable to update registry")
}

impl Resolution {
    fn of(metadata: &Value) -> Option<Resolution> {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let root = metadata["resolve"]["root"].as_str()?;
        let mut packages = std::collections::BTreeMap::new();
        let mut direct = std::collections::BTreeMap::new();
        for node in metadata["resolve"]["nodes"].as_array()? {
            let id = node["id"].as_str()?;
            let dependencies = node["deps"].as_array()?;
            if id == root {
                for dependency in dependencies {
                    direct.insert(text(&dependency["name"])?, text(&dependency["pkg"])?);
                }
                continue;
            }
            let package = metadata["packages"].as_array()?.iter().find(|p| p["id"] == id)?;
            let names = |of: &Value| of.as_array().into_iter().flatten().filter_map(text).collect::<BTreeSet<String>>();
            let manifest = PathBuf::from(package["manifest_path"].as_str()?);
            packages.insert(
                id.to_string(),
                Package {
                    name: text(&package["name"])?,
                    version: text(&package["version"])?,
                    folder: manifest.parent()?.to_path_buf(),
                    is_local: package["source"].is_null(),
                    features: names(&node["features"]),
                    dependencies: dependencies.iter().filter_map(|d| text(&d["pkg"])).collect(),
                },
            );
        }
        Some(Resolution { packages, direct })
    }
}
