//! `onrush-oracle`: runs the suites of this crate on one engine, chosen by name. The binary is self-contained.

use std::path::PathBuf;
use std::process::ExitCode;

use onrush_engine::CALLS_STACK;
use onrush_frame::TaskHandle;
use onrush_oracle::engines::{Answers, ENGINES, Subject};
use onrush_oracle::{cores, corpus, queries, random, tpcds, tpch};
use onrush_wire::plan::{Sink, SinkFormat};

/// Planning makes and drops many small values: with it plans are made a tenth faster than with glibc's
/// (docs/measurements/calls-and-planning.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "usage: onrush-oracle TASK [--engine NAME] [OPTIONS]

  sql      the queries of tests/sql; exit status 1 if an answer is not the expected one
           --only NAME  files whose name contains this    --chunk ROWS  tables in batches of at most so many rows
           --file FILE  the queries of this one instead: answers that `tests/sql/expect.py FILE` wrote
           --reasons yes  say why parts of plans stayed on the CPU
  random   random plans, on --engine and on another one, whose answers must be the same
           --against NAME [cpu]    --plans N [500]    --seed N [ONRUSH_SEED, or one that is fixed]    --print yes  show the plans
  tpch     queries of TPC-H with DuckDB's answers
           --scale S [0.01], or 1    --time yes  at any scale, with the answers of --against NAME [cpu], or none
           --answers FOLDER  with --time, write them there    --write FOLDER  write the tables at any scale instead
  tpcds    queries of TPC-DS over small tables with DuckDB's answers
  cores    the queries of tests/sql and random plans, bit by bit on 1, 2, 3 and 16 threads
           --only NAME    --plans N [1000]    --seed N [1]
  queries  answers requests on standard input, one JSON object a line, with one JSON object a line: a table from an Arrow
           file, or a query (`tests/sql/corpus.py` runs the files of other systems so)
  engines  what --engine can name [cpu]

  --cache FOLDER  keep compiled kernels there";

struct Arguments {
    task: String,
    options: Vec<(String, String)>,
}

impl Arguments {
    fn read(mut rest: impl Iterator<Item = String>) -> Result<Self, String> {
        let task = rest.next().ok_or(USAGE)?;
        let mut options = Vec::new();
        while let Some(option) = rest.next() {
            let name = option.strip_prefix("--").ok_or_else(|| format!("{option} is not understood\n{USAGE}"))?;
            options.push((name.to_string(), rest.next().ok_or_else(|| format!("{option} needs a value"))?));
        }
        Ok(Arguments { task, options })
    }

    fn text(&self, name: &str, default: &str) -> String {
        let given = self.options.iter().rev().find(|(n, _)| n == name);
        given.map_or_else(|| default.to_string(), |(_, value)| value.clone())
    }

    fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let given = self.options.iter().rev().find(|(n, _)| n == name);
        given.map(|(_, value)| value.parse().map_err(|_| format!("--{name} {value} is not a number"))).transpose()
    }

    fn known(&self, names: &[&str]) -> Result<(), String> {
        match self.options.iter().find(|(name, _)| !names.contains(&name.as_str())) {
            Some((name, _)) => Err(format!("{} has no option --{name}\n{USAGE}", self.task)),
            None => Ok(()),
        }
    }
}

/// On a thread with the stack of a session's calls.
fn main() -> ExitCode {
    let thread = std::thread::Builder::new().stack_size(CALLS_STACK);
    let done = thread.spawn(answer).map(std::thread::JoinHandle::join);
    done.ok().and_then(Result::ok).unwrap_or(ExitCode::FAILURE)
}

fn answer() -> ExitCode {
    match Arguments::read(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, String> {
    let engine = arguments.text("engine", "cpu");
    let cache = arguments.options.iter().find(|(name, _)| name == "cache").map(|(_, folder)| PathBuf::from(folder));
    match arguments.task.as_str() {
        "sql" => {
            arguments.known(&["engine", "cache", "only", "file", "chunk", "reasons"])?;
            let reasons = arguments.text("reasons", "no") == "yes";
            let which = (arguments.text("only", ""), arguments.text("file", ""));
            sql(&engine, cache, which, arguments.number("chunk")?, reasons)
        }
        "random" => {
            arguments.known(&["engine", "cache", "against", "plans", "seed", "print"])?;
            let seed = arguments.number("seed")?.map_or_else(random::seed, Ok)?;
            let plans = arguments.number("plans")?.unwrap_or(500);
            compare(
                &engine,
                cache,
                &arguments.text("against", "cpu"),
                seed,
                plans,
                &arguments.text("print", "no") == "yes",
            )
        }
        "tpcds" => {
            arguments.known(&["engine", "cache"])?;
            tpcds_queries(&engine, cache)
        }
        "tpch" => {
            arguments.known(&["engine", "cache", "scale", "write", "time", "against", "answers"])?;
            let scale = arguments.text("scale", "0.01");
            if arguments.text("time", "no") == "yes" {
                let mut subject = Subject::open(&engine, cache)?;
                let mut other = match arguments.text("against", "cpu").as_str() {
                    "none" => None,
                    name => Some(Subject::open(name, None)?),
                };
                let answers =
                    Some(arguments.text("answers", "")).filter(|folder| !folder.is_empty()).map(PathBuf::from);
                tpch::time(&mut subject, other.as_mut(), &scale, answers.as_deref())?
                    .iter()
                    .for_each(|line| println!("{line}"));
                return Ok(true);
            }
            match arguments.text("write", "").as_str() {
                "" => tpch_queries(&engine, cache, &scale),
                folder => write_tables(&scale, folder),
            }
        }
        "cores" => {
            arguments.known(&["only", "plans", "seed"])?;
            let (plans, seed) = (arguments.number("plans")?.unwrap_or(1_000), arguments.number("seed")?.unwrap_or(1));
            println!("{}", cores::run(&arguments.text("only", ""), plans, seed)?);
            Ok(true)
        }
        "queries" => {
            arguments.known(&["engine", "cache"])?;
            queries::serve(&mut Subject::open(&engine, cache)?, std::io::stdin().lock(), std::io::stdout().lock())?;
            Ok(true)
        }
        "engines" => {
            ENGINES.iter().for_each(|spec| println!("{:<12} {}", spec.name, spec.what));
            Ok(true)
        }
        other => Err(format!("{other} is not understood\n{USAGE}")),
    }
}

fn sql(
    engine: &str,
    cache: Option<PathBuf>,
    (only, file): (String, String),
    chunk: Option<usize>,
    reasons: bool,
) -> Result<bool, String> {
    let mut subject = Subject::open(engine, cache)?;
    corpus::load(&mut subject, chunk)?;
    let outcome = match file.as_str() {
        "" => corpus::run(&mut subject, &only)?,
        file => {
            let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
            corpus::files(&mut subject, [(file, text.as_str())])?
        }
    };
    outcome.failures.iter().for_each(|failure| println!("{failure}\n"));
    if reasons {
        subject.reasons().iter().for_each(|(reason, count)| println!("{count:>6}  {reason}"));
    }
    println!(
        "{engine}: {} passed, {} failed, {} skipped, {} on a device, {} given up there, {} parts, in {:.1} s",
        outcome.passed,
        outcome.failures.len(),
        outcome.skipped,
        subject.on_device(),
        subject.cpu_fallbacks(),
        subject.parts(),
        outcome.took.as_secs_f64()
    );
    Ok(outcome.failures.is_empty() && outcome.passed > 0)
}

fn compare(
    engine: &str,
    cache: Option<PathBuf>,
    against: &str,
    seed: u64,
    plans: u64,
    print: bool,
) -> Result<bool, String> {
    let (mut a, mut b) = (Subject::open(against, None)?, Subject::open(engine, cache)?);
    println!("{engine} against {against}: {plans} plans from seed {seed}");
    if print {
        (seed..seed + plans).for_each(|seed| println!("{seed}: {}\n", random::case(seed, true).sql()));
    }
    let report = random::run(&mut a, &mut b, seed, plans);
    report.differences.iter().for_each(|difference| println!("{difference}\n"));
    println!("{}; {} on a device, {} parts", report.line(), b.on_device(), b.parts());
    Ok(report.differences.is_empty() && report.same > 0)
}

fn tpcds_queries(engine: &str, cache: Option<PathBuf>) -> Result<bool, String> {
    let mut subject = Subject::open(engine, cache)?;
    let outcome = tpcds::run(&mut subject)?;
    outcome.failures.iter().for_each(|failure| println!("{failure}\n"));
    subject.reasons().iter().for_each(|(reason, count)| println!("{count:>6}  {reason}"));
    println!(
        "{engine}: {} passed, {} failed, {} given up on the device, in {:.1} s",
        outcome.passed,
        outcome.failures.len(),
        subject.cpu_fallbacks(),
        outcome.took.as_secs_f64()
    );
    Ok(outcome.failures.is_empty() && outcome.passed > 0)
}

fn tpch_queries(engine: &str, cache: Option<PathBuf>, scale: &str) -> Result<bool, String> {
    let mut subject = Subject::open(engine, cache)?;
    let outcome = tpch::run(&mut subject, scale)?;
    outcome.failures.iter().for_each(|failure| println!("{failure}\n"));
    subject.reasons().iter().for_each(|(reason, count)| println!("{count:>6}  {reason}"));
    println!(
        "{engine}: {} passed, {} failed, {} given up on the device, over {} rows in {:.1} s",
        outcome.passed,
        outcome.failures.len(),
        subject.cpu_fallbacks(),
        outcome.rows,
        outcome.took.as_secs_f64()
    );
    Ok(outcome.failures.is_empty() && outcome.passed > 0)
}

fn write_tables(scale: &str, folder: &str) -> Result<bool, String> {
    let number: f64 = scale.parse().map_err(|_| format!("--scale {scale} is not a number"))?;
    std::fs::create_dir_all(folder).map_err(|e| format!("{folder}: {e}"))?;
    let mut subject = Subject::open("cpu", None)?;
    for (name, _) in tpch::TABLES {
        subject.load(name, &tpch::table(name, number)?).map_err(|d| d.to_string())?;
        let id = subject.frame(name).ok_or("the table was not kept")?;
        let sink = Sink {
            path: format!("{name}.parquet"),
            folder: std::path::absolute(folder).map_err(|e| e.to_string())?.display().to_string(),
            format: SinkFormat::Parquet { compression: "zstd".to_string(), row_group_rows: None },
        };
        let (path, rows, bytes) = subject.engine().write(id, &sink, &TaskHandle::new()).map_err(|d| d.to_string())?;
        println!("{path}: {rows} rows, {bytes} bytes");
    }
    Ok(true)
}
