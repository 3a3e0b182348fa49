//! `cargo xtask bundle`: Onrush for a machine without Rust or a network, in files of at most 60 MB.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ValueEnum;

use crate::process::{self, Failure};
use crate::workspace::Workspace;
use crate::{bench, lab, test};

const PART: u64 = 60_000_000;

/// Bundles that can be packed separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Part {
    /// The conformance suite and the benchmark of the CUDA kernels, one binary
    Kernels,
    /// The SQL files, random plans and benchmark of the engines: two binaries
    Engine,
    /// The worker that runs CUDA kernels of cells, and its tests: two binaries
    Worker,
}

pub fn run(workspace: &Workspace, only: Option<Part>) -> Result<(), Failure> {
    match only {
        Some(Part::Kernels) => kernels(workspace),
        Some(Part::Engine) => engine(workspace),
        Some(Part::Worker) => worker(workspace),
        None => product(workspace),
    }
}

/// The headers of the CUDA kernels are inside the binary: it is the only file.
fn kernels(workspace: &Workspace) -> Result<(), Failure> {
    let mut cargo = workspace.cargo();
    cargo.arg("build");
    test::KERNELS.iter().for_each(|package| _ = cargo.args(["--package", package]));
    process::run("cargo build", &mut cargo)?;
    let folder = workspace.target.join("bundle");
    make(&folder)?;
    let to = folder.join("onrush-kernels-bench");
    let from = workspace.binary("onrush-kernels-bench");
    fs::copy(from, &to).map_err(|e| Failure::io(to.display(), e))?;
    process::run("strip", workspace.command("strip").arg("--strip-debug").arg(&to))?;
    println!("{}", to.display());
    println!("there: ./onrush-kernels-bench --device cuda && ./onrush-kernels-bench --device cuda --bench");
    println!(
        "       compute-sanitizer --tool memcheck ./onrush-kernels-bench --device cuda --small (racecheck likewise)"
    );
    Ok(())
}

/// SQL files, tables and answers are inside the binaries.
fn engine(workspace: &Workspace) -> Result<(), Failure> {
    bench::build_engine(workspace)?;
    let folder = workspace.target.join("bundle");
    make(&folder)?;
    for name in ["onrush-oracle", "onrush-gpu-bench", "onrush-limit-bench"] {
        let to = folder.join(name);
        fs::copy(workspace.binary(name), &to).map_err(|e| Failure::io(to.display(), e))?;
        process::run("strip", workspace.command("strip").arg("--strip-all").arg(&to))?;
        // A tenth of the size.
        process::run("xz", workspace.command("xz").args(["--force", "--threads=0", "-3"]).arg(&to))?;
        println!("{}.xz", to.display());
    }
    println!("there: unxz *.xz; chmod +x onrush-oracle onrush-*-bench");
    println!("       ./onrush-oracle sql --engine cuda && ./onrush-oracle tpch --engine cuda --scale 1");
    println!("       ./onrush-oracle random --engine cuda --plans 10000 && ./onrush-gpu-bench --engine cuda");
    Ok(())
}

/// The tests talk to the worker like a cell process: over a socket, from another process.
fn worker(workspace: &Workspace) -> Result<(), Failure> {
    let mut cargo = workspace.cargo();
    cargo.args(["test", "--no-run", "--bins", "--test", "it", "--message-format=json-render-diagnostics"]);
    test::KERNELS.iter().for_each(|package| _ = cargo.args(["--package", package]));
    let messages = process::run_quietly("cargo test --no-run", &mut cargo)?;
    let built = |line: &str| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        // The other crates of the kernels have a target of this name too.
        let is_workers = message["package_id"].as_str().is_some_and(|id| id.contains("runtime/worker"));
        let is_test = is_workers && message["target"]["name"] == "it";
        is_test.then(|| message["executable"].as_str().map(PathBuf::from)).flatten()
    };
    let tests = messages.lines().find_map(built).ok_or_else(|| Failure::new("cargo names no test program"))?;
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--bin", "onrush-worker"]);
    test::KERNELS.iter().for_each(|package| _ = cargo.args(["--package", package]));
    process::run("cargo build", &mut cargo)?;
    let folder = workspace.target.join("bundle");
    make(&folder)?;
    for (from, name) in [(workspace.binary("onrush-worker"), "onrush-worker"), (tests, "worker-tests")] {
        let to = folder.join(name);
        fs::copy(from, &to).map_err(|e| Failure::io(to.display(), e))?;
        process::run("strip", workspace.command("strip").arg("--strip-debug").arg(&to))?;
        println!("{}", to.display());
    }
    println!("there: ONRUSH_ENGINE=cuda ONRUSH_WORKER=./onrush-worker ./worker-tests --nocapture --test-threads=1");
    Ok(())
}

fn product(workspace: &Workspace) -> Result<(), Failure> {
    let start = Instant::now();
    lab::check_tools(workspace)?;
    process::stage(start, "Building");
    lab::build(workspace)?;
    // The prelude build belongs into the bundle, not into the cache of this user.
    let folder = workspace.target.join("bundle");
    let tree = folder.join("onrush");
    remove(&folder)?;
    make(&tree.join("bin"))?;
    for name in ["onrush", "onrush-session"] {
        let to = tree.join("bin").join(name);
        fs::copy(workspace.binary(name), &to).map_err(|e| Failure::io(to.display(), e))?;
        // Line tables are half of the size, and backtraces of the bundle are read where the build is.
        process::run("strip", workspace.command("strip").arg("--strip-debug").arg(&to))?;
    }
    process::stage(start, "Preparing the crate that notebook cells use");
    let mut kit = workspace.command(workspace.binary("onrush"));
    process::run("onrush kit", kit.arg("kit").env("ONRUSH_CACHE_DIR", tree.join("cache")))?;
    copy_tracked(workspace, &tree)?;

    process::stage(start, "Packing");
    let archive = folder.join("onrush.tar.gz");
    let mut tar = workspace.command("tar");
    process::run("tar", tar.arg("-C").arg(&folder).arg("-czf").arg(&archive).arg("onrush"))?;
    let parts = split(&archive, PART).map_err(|e| Failure::io(archive.display(), e))?;
    remove(&tree)?;
    fs::remove_file(&archive).map_err(|e| Failure::io(archive.display(), e))?;
    for part in &parts {
        println!("{}", part.display());
    }
    println!("unpack with: cat onrush.tar.gz.* | tar xz; then set ONRUSH_CACHE_DIR to onrush/cache");
    Ok(())
}

/// Notebooks and tests, as they are in the clone.
fn copy_tracked(workspace: &Workspace, tree: &Path) -> Result<(), Failure> {
    for file in workspace.files()?.iter().filter(|f| f.starts_with("notebooks") || f.starts_with("tests")) {
        let to = tree.join(file);
        make(to.parent().unwrap_or(tree))?;
        fs::copy(workspace.root.join(file), &to).map_err(|e| Failure::io(to.display(), e))?;
    }
    Ok(())
}

/// Writes `FILE.00`, `FILE.01`, ... of at most `limit` bytes each.
fn split(file: &Path, limit: u64) -> io::Result<Vec<PathBuf>> {
    let input = File::open(file)?;
    let length = input.metadata()?.len();
    let mut parts = Vec::new();
    for index in 0..length.div_ceil(limit).max(1) {
        let mut name = file.as_os_str().to_os_string();
        name.push(format!(".{index:02}"));
        let path = PathBuf::from(name);
        let mut output = BufWriter::new(File::create(&path)?);
        io::copy(&mut (&input).take(limit), &mut output)?;
        output.flush()?;
        parts.push(path);
    }
    Ok(parts)
}

fn make(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| Failure::io(folder.display(), e))
}

fn remove(folder: &Path) -> Result<(), Failure> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::io(folder.display(), error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_short_enough_and_make_up_the_whole() {
        let folder = std::env::temp_dir().join(format!("onrush-split-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("all");
        let bytes: Vec<u8> = (0..25u8).collect();
        fs::write(&file, &bytes).unwrap();
        let parts = split(&file, 10).unwrap();
        let lengths: Vec<usize> = parts.iter().map(|p| fs::read(p).unwrap().len()).collect();
        assert_eq!(lengths, [10, 10, 5]);
        let joined: Vec<u8> = parts.iter().flat_map(|p| fs::read(p).unwrap()).collect();
        assert_eq!(joined, bytes);
        fs::remove_dir_all(&folder).unwrap();
    }
}
