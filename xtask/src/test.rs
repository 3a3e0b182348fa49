//! `cargo xtask test`: installs the tools of the tests, runs all tests, and ends with one line that counts them.

mod count;
mod slowest;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use clap::ValueEnum;

use crate::process::{self, Failure, Transcript};
use crate::python;
use crate::workspace::{self, Workspace};
use crate::{lab, lint, tidy, web, wheel};
use count::Count;

/// Areas that can be run separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Area {
    /// The rules of the repository, and the spelling of names in documents
    Tidy,
    /// rustfmt
    Format,
    /// clippy and rustdoc with warnings as errors, and cargo-deny where it is installed
    Lint,
    /// The crates of the workspace
    Rust,
    /// The device and the CUDA kernels alone, which `rust` runs too
    Kernels,
    /// The front end's sources: linter and unit tests
    Web,
    /// The crates that cells use, in their separate build
    Prelude,
    /// The Jupyter protocol, against the real kernel
    Jupyter,
    /// The notebooks, by `onrush run` and by nbconvert
    Notebooks,
    /// Bad files and bad cells
    Badinput,
    /// The session: killed processes, sharing, memory; NetworkX's tests; random queries with DuckDB; the Python package
    Session,
    /// The tour in JupyterLab in a browser
    Browser,
    /// The wheels in an empty Debian without a network
    Wheel,
}

impl Area {
    /// Whether the area needs the built product and Python.
    fn is_product(self) -> bool {
        matches!(self, Area::Jupyter | Area::Notebooks | Area::Badinput | Area::Session | Area::Browser | Area::Wheel)
    }

    fn name(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default()
    }
}

struct AreaResult {
    area: Area,
    count: Count,
    /// Success of the area as a whole: a program that crashes before it counts anything has no failed test to show.
    success: bool,
    /// The reason why it did not run.
    note: Option<String>,
    took: Duration,
}

pub fn run(workspace: &Workspace, only: Option<Area>) -> Result<(), Failure> {
    let start = Instant::now();
    lab::check_tools(workspace)?;
    let areas: Vec<Area> = match only {
        Some(area) => vec![area],
        // Part of `rust`.
        None => Area::value_variants().iter().copied().filter(|area| *area != Area::Kernels).collect(),
    };
    if !workspace.binary("onrush-session").is_file() && only.is_none() {
        eprintln!("The first time takes up to 90 minutes on 2 cores, half of it the build of the query engine.");
    }
    // A report of an earlier run must not be read as one of this run.
    reports(workspace).iter().for_each(|report| _ = fs::remove_file(report));
    let scratch = Scratch::new()?;
    let mut product_ready = None;
    let mut finished = Vec::new();
    for area in areas {
        if area.is_product() && product_ready.is_none() {
            process::stage(start, "Python environment, and the product");
            let begun = Instant::now();
            let built = prepare_product(workspace);
            if let Err(failure) = &built {
                eprintln!("error: {failure}");
            }
            eprintln!("    built in {:.1} s", begun.elapsed().as_secs_f64());
            product_ready = Some(built.is_ok());
        }
        process::stage(start, &area.name());
        let begun = Instant::now();
        let result = if area.is_product() && product_ready == Some(false) {
            Err(Failure::new("the product was not built"))
        } else {
            run_area(workspace, area, &scratch)
        };
        let (count, success, note) = match result {
            Ok((count, success, note)) => (count, success, note),
            Err(failure) => {
                eprintln!("error: {failure}");
                (Count::default(), false, Some(failure.to_string()))
            }
        };
        finished.push(AreaResult { area, count, success, note, took: begun.elapsed() });
    }
    slowest::print(&reports(workspace));
    summary(&finished, start.elapsed())
}

/// The reports of nextest and of pytest with the time of each test.
fn reports(workspace: &Workspace) -> Vec<PathBuf> {
    let mut reports = vec![workspace.target.join("nextest/default/junit.xml")];
    reports.extend(Area::value_variants().iter().map(|area| report(workspace, *area)));
    reports
}

/// pytest's report of an area.
fn report(workspace: &Workspace, area: Area) -> PathBuf {
    workspace.target.join("tests").join(format!("{}.xml", area.name()))
}

/// Builds everything and installs the kernel into `.venv`.
fn prepare_product(workspace: &Workspace) -> Result<(), Failure> {
    python::check(workspace)?;
    web::prepare(workspace);
    std::thread::scope(|scope| {
        let environment = scope.spawn(|| python::prepare(workspace, &[python::LAB, python::TESTS]));
        let built = lab::build(workspace);
        let prepared = environment.join().unwrap_or_else(|_| Err(Failure::new("preparing .venv panicked")));
        built.and(prepared)
    })?;
    process::run("onrush kit", workspace.command(workspace.binary("onrush")).arg("kit"))
}

type Ran = (Count, bool, Option<String>);

fn run_area(workspace: &Workspace, area: Area, scratch: &Scratch) -> Result<Ran, Failure> {
    match area {
        Area::Tidy => {
            let report = tidy::check(workspace)?;
            report.print();
            let count =
                Count { passed: report.rules - report.broken_rules(), failed: report.broken_rules(), skipped: 0 };
            Ok((count, report.findings.is_empty(), None))
        }
        Area::Format => {
            let mut cargo = workspace.cargo();
            cargo.args(["fmt", "--all", "--check"]);
            let transcript = process::run_recorded("cargo fmt", &mut cargo)?;
            Ok((Count::one(transcript.success), transcript.success, None))
        }
        Area::Lint => {
            let transcripts = lint::check(workspace)?;
            let passed = transcripts.iter().filter(|transcript| transcript.success).count();
            let count = Count { passed, failed: transcripts.len() - passed, skipped: 0 };
            Ok((count, count.failed == 0, None))
        }
        Area::Rust => rust(workspace),
        Area::Kernels => kernels(workspace),
        Area::Web => {
            let transcripts = web::test(workspace)?;
            let mut ran = counted(&transcripts, count::node);
            ran.0 += Count::one(transcripts.first().is_some_and(|lint| lint.success));
            Ok(ran)
        }
        Area::Prelude => prelude(workspace),
        Area::Jupyter => pytest(workspace, scratch, area, &["tests/jupyter"]),
        Area::Notebooks => pytest(workspace, scratch, area, &["tests/notebooks", "tests/frames"]),
        Area::Badinput => pytest(workspace, scratch, area, &["tests/badinput"]),
        Area::Session => {
            check_programs(workspace)?;
            let tests = ["tests/session", "tests/graph", "tests/learn", "tests/sql", "tests/python"];
            pytest(workspace, scratch, area, &tests)
        }
        Area::Browser => browser(workspace, scratch, "tests/browser", Purpose::Compare),
        Area::Wheel => match wheel::test_in_empty_root(workspace)? {
            Some(passed) => Ok((Count { passed, ..Count::default() }, true, None)),
            None => {
                let note = "an empty root needs root and debootstrap: apt install debootstrap".to_string();
                Ok((Count { skipped: 1, ..Count::default() }, true, Some(note)))
            }
        },
    }
}

/// The crates of the session and of the kernel, tested by one cargo invocation: their dependencies are built once, with
/// the features of all.
pub const CRATES: &[&str] = &[
    "onrush-frame",
    "onrush-databases",
    "onrush-io",
    "onrush-places",
    "onrush-calls",
    "onrush-cluster",
    "onrush-dense",
    "onrush-learn",
    "onrush-graph",
    "onrush-graph-arrow",
    "onrush-graph-io",
    "onrush-ops",
    "onrush-expr",
    "onrush-logical",
    "onrush-sql",
    "onrush-optimizer",
    "onrush-parallel",
    "onrush-gpu",
    "onrush-engine",
    "onrush-explore",
    "onrush-plan-tests",
    "onrush-session",
    "onrush-oracle",
    "onrush-wire",
    "onrush-files",
    "onrush-map",
    "onrush-python-cells",
    "onrush-stats",
    "onrush-cell",
    "onrush-view",
    "onrush-web",
    "onrush-jupyter",
    "xtask",
    "onrush-device",
    "onrush-kernels",
    "onrush-worker",
];

/// The device, the CUDA kernels and the worker, on the emulated device: they need neither Arrow nor DataFusion.
pub const KERNELS: &[&str] = &["onrush-device", "onrush-kernels", "onrush-worker"];

/// Builds the programs that answer the tests of NetworkX and of scikit-learn and random queries, with the product, so
/// that dependencies keep their features.
fn check_programs(workspace: &Workspace) -> Result<(), Failure> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--bins"]);
    for package in ["onrush-session", "onrush-jupyter", "onrush-graph-arrow", "onrush-learn-check", "onrush-oracle"] {
        cargo.args(["--package", package]);
    }
    process::run("cargo build", &mut cargo)
}

/// Runs nextest if it is installed. No crate has examples in its documentation that run.
fn rust(workspace: &Workspace) -> Result<Ran, Failure> {
    let mut transcripts = vec![crate_tests(workspace, CRATES)?];
    // Results of plans, on the emulated device too.
    let mut cargo = workspace.cargo();
    cargo.env("ONRUSH_TEST_ENGINE", "emulated").args(["test", "--no-fail-fast", "--test", "plan"]);
    CRATES.iter().for_each(|package| _ = cargo.args(["--package", package]));
    cargo.arg("--").args(modules_of_any_engine(workspace)?);
    transcripts.push(process::run_recorded("the plans' tests on the emulated device", &mut cargo)?);
    Ok(counted(&transcripts, count::cargo))
}

/// The modules of the plans' tests with tests on the engine of `ONRUSH_TEST_ENGINE`, as filters. Tests of the others
/// name their engines: they would do again what they did.
fn modules_of_any_engine(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let folder = workspace.root.join("runtime/plan-tests/tests/plan");
    let entries = fs::read_dir(&folder).map_err(|e| Failure::io(folder.display(), e))?;
    let module = |path: PathBuf| {
        let text = fs::read_to_string(&path).ok()?;
        let is_of_any_engine = text.contains("TestEngine::default()");
        is_of_any_engine.then_some(format!("{}::", path.file_stem()?.to_str()?))
    };
    let mut modules: Vec<String> = entries.flatten().filter_map(|entry| module(entry.path())).collect();
    modules.sort();
    match modules.is_empty() {
        true => Err(Failure::new(format!("no module of {} uses `TestEngine::default()`", folder.display()))),
        false => Ok(modules),
    }
}

fn kernels(workspace: &Workspace) -> Result<Ran, Failure> {
    Ok(counted(&[crate_tests(workspace, KERNELS)?], count::cargo))
}

fn crate_tests(workspace: &Workspace, packages: &[&str]) -> Result<Transcript, Failure> {
    let nextest = workspace.cargo().args(["nextest", "--version"]).output().is_ok_and(|o| o.status.success());
    // Built first, so that the time of the build is seen.
    let begun = Instant::now();
    let mut build = workspace.cargo();
    build.args(["test", "--no-run", "--lib", "--bins", "--tests"]);
    packages.iter().for_each(|package| _ = build.args(["--package", package]));
    let built = process::run_recorded("the build of the crates' tests", &mut build)?;
    let programs = built.lines.iter().filter(|line| line.trim_start().starts_with("Executable ")).count();
    println!("{programs} test executables, built in {:.1} s", begun.elapsed().as_secs_f64());
    if !built.success {
        return Ok(built);
    }
    let mut cargo = workspace.cargo();
    // XGBoost's library is found as in a session: in the active Python.
    cargo.env("VIRTUAL_ENV", workspace.venv());
    if nextest {
        cargo.args(["nextest", "run", "--no-tests=pass"]);
    } else {
        cargo.args(["test", "--no-fail-fast", "--lib", "--bins", "--tests"]);
    }
    packages.iter().for_each(|package| _ = cargo.args(["--package", package]));
    process::run_recorded("the crates' tests", &mut cargo)
}

/// The prelude and the cell process share one standard library with the cells. They need a separate cargo invocation,
/// as in the prelude build of the product. The target folder is the same, because their dependencies take minutes to
/// build.
fn prelude(workspace: &Workspace) -> Result<Ran, Failure> {
    let mut cargo = workspace.cargo();
    cargo
        .env("CARGO_TARGET_DIR", kit_target().unwrap_or_else(|| workspace.target.join("kit")))
        .env("RUSTFLAGS", "-C prefer-dynamic")
        .args(["test", "--profile", "kit", "--no-fail-fast", "--lib", "--bins", "--tests"])
        .args(["-p", "onrush-macros", "-p", "onrush", "-p", "onrush-host"]);
    let tests = process::run_recorded("the prelude's tests", &mut cargo)?;
    Ok(counted(&[tests], count::cargo))
}

/// The target folder of the newest prelude build, if there is one.
fn kit_target() -> Option<PathBuf> {
    let entries = fs::read_dir(workspace::cache().ok()?.join("kit")).ok()?;
    let targets = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("target-"));
    let dated = targets.filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())));
    dated.max().map(|(_, path)| path)
}

fn pytest(workspace: &Workspace, scratch: &Scratch, area: Area, folders: &[&str]) -> Result<Ran, Failure> {
    let missing: Vec<&str> = folders.iter().copied().filter(|f| !workspace.root.join(f).is_dir()).collect();
    if !missing.is_empty() {
        return Err(Failure::new(format!("{} is missing", missing.join(", "))));
    }
    let mut pytest = pytest_command(workspace, area);
    // Each process has a session: the tests of a file share a kernel, and stay together.
    pytest.args(["--numprocesses", "auto", "--dist", "loadfile"]).args(folders);
    product_environment(workspace, scratch, area, &mut pytest);
    let transcript = process::run_recorded("pytest", &mut pytest)?;
    Ok(counted(&[transcript], count::pytest))
}

fn pytest_command(workspace: &Workspace, area: Area) -> Command {
    let mut pytest = workspace.command(python::python(workspace));
    pytest.args(["-m", "pytest", "-p", "no:cacheprovider", "-rfEs", "--tb=short", "-q", "--durations=20"]);
    pytest.arg("--junitxml").arg(report(workspace, area));
    pytest
}

/// Actions on pictures of outputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Compare,
    Bless,
}

/// The pictures of outputs alone.
pub fn screenshots(workspace: &Workspace, bless: bool) -> Result<(), Failure> {
    lab::check_tools(workspace)?;
    let scratch = Scratch::new()?;
    prepare_product(workspace)?;
    let purpose = if bless { Purpose::Bless } else { Purpose::Compare };
    let (count, success, note) = browser(workspace, &scratch, "tests/browser/test_screenshots.py", purpose)?;
    let taken = workspace.target.join("tests").join(Area::Browser.name()).join("screenshots");
    println!("the pictures are in {}", taken.display());
    match note {
        Some(note) => Err(Failure::new(note)),
        None if success => Ok(()),
        None => Err(Failure::new(format!("{} pictures look different", count.failed))),
    }
}

/// Chromium is installed only here, and only if that needs no permission.
fn browser(workspace: &Workspace, scratch: &Scratch, tests: &str, purpose: Purpose) -> Result<Ran, Failure> {
    let Some(chromium) = find_chromium().or_else(|| install_chromium(workspace)) else {
        let note = "no Chromium found: apt install chromium, or set ONRUSH_CHROMIUM to one".to_string();
        return Ok((Count { skipped: 1, ..Count::default() }, true, Some(note)));
    };
    let mut pytest = pytest_command(workspace, Area::Browser);
    pytest.arg(tests);
    product_environment(workspace, scratch, Area::Browser, &mut pytest);
    pytest.env("ONRUSH_CHROMIUM", chromium);
    if purpose == Purpose::Bless {
        pytest.env("ONRUSH_BLESS", "1");
    }
    let transcript = process::run_recorded("pytest", &mut pytest)?;
    Ok(counted(&[transcript], count::pytest))
}

/// The binaries under test, and separate folders for sockets and outputs: an open session of the developer is not
/// touched.
fn product_environment(workspace: &Workspace, scratch: &Scratch, area: Area, command: &mut Command) {
    let outputs = workspace.target.join("tests").join(area.name());
    command
        .env("ONRUSH_BIN", workspace.binary("onrush"))
        .env("ONRUSH_GRAPH_CHECK", workspace.binary("onrush-graph-check"))
        .env("ONRUSH_LEARN_CHECK", workspace.binary("onrush-learn-check"))
        .env("ONRUSH_RUNTIME_DIR", scratch.path.join(area.name()))
        .env("ONRUSH_TEST_OUTPUTS", outputs)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("JUPYTER_PLATFORM_DIRS", "1");
}

fn find_chromium() -> Option<PathBuf> {
    if let Some(path) = env::var_os("ONRUSH_CHROMIUM") {
        return Some(path.into());
    }
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|path| path.is_file())
}

fn install_chromium(workspace: &Workspace) -> Option<PathBuf> {
    let root = Path::new("/usr/bin/apt-get").is_file() && lab::is_root();
    if !root {
        return None;
    }
    eprintln!("    installing Chromium with apt-get");
    let apt = |arguments: &[&str]| {
        let mut apt = workspace.command("apt-get");
        apt.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        process::run_quietly("apt-get", &mut apt)
    };
    let install = ["install", "--yes", "--no-install-recommends", "chromium", "fonts-dejavu-core"];
    let installed = apt(&["update"]).and_then(|_| apt(&install));
    if let Err(failure) = installed {
        eprintln!("    {failure}");
    }
    find_chromium()
}

fn counted(transcripts: &[Transcript], count: fn(&[String]) -> Count) -> Ran {
    let mut sum = Count::default();
    for transcript in transcripts {
        sum += count(&transcript.lines);
    }
    (sum, transcripts.iter().all(|t| t.success), None)
}

fn summary(finished: &[AreaResult], took: Duration) -> Result<(), Failure> {
    println!("\n{:<10} {:>7} {:>7} {:>8} {:>8}", "area", "passed", "failed", "skipped", "seconds");
    let mut sum = Count::default();
    for area in finished {
        let mut count = area.count;
        if !area.success && count.failed == 0 {
            count.failed = 1;
        }
        let name = area.area.name();
        let Count { passed, failed, skipped } = count;
        print!("{name:<10} {passed:>7} {failed:>7} {skipped:>8} {:>8.1}", area.took.as_secs_f64());
        match &area.note {
            Some(note) => println!("  {}", note.lines().next().unwrap_or_default()),
            None => println!(),
        }
        sum += count;
    }
    let seconds = took.as_secs();
    println!("\nin {}:{:02} minutes, {} skipped", seconds / 60, seconds % 60, sum.skipped);
    println!("{} passed, {} failed", sum.passed, sum.failed);
    if sum.failed == 0 { Ok(()) } else { Err(Failure::new("tests failed")) }
}

/// A folder for sockets, with a short path (a Unix socket path has at most 107 bytes), deleted at the end.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new() -> Result<Self, Failure> {
        let path = env::temp_dir().join(format!("onrush-test-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|e| Failure::io(path.display(), e))?;
        Ok(Scratch { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Only a few sockets in the temporary folder stay.
        let _ = fs::remove_dir_all(&self.path);
    }
}
