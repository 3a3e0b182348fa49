//! `onrush-oracle`: what proves the engines right, on one engine by its name. It needs nothing beside itself.

use std::process::ExitCode;

use onrush_oracle::engines::{ENGINES, Subject};
use onrush_oracle::{corpus, random};

const USAGE: &str = "usage: onrush-oracle TASK [--engine NAME] [OPTIONS]

  sql      the queries of tests/sql; exit status 1 if an answer is not the expected one
           --only NAME  files whose name contains this    --chunk ROWS  tables in batches of at most so many rows
  random   random plans, on --engine and on another one, whose answers must be the same
           --against NAME [cpu]    --plans N [500]    --seed N [another one each day]    --print yes  show the plans
  engines  what --engine can name [cpu]";

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

fn main() -> ExitCode {
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
    match arguments.task.as_str() {
        "sql" => {
            arguments.known(&["engine", "only", "chunk"])?;
            sql(&engine, &arguments.text("only", ""), arguments.number("chunk")?)
        }
        "random" => {
            arguments.known(&["engine", "against", "plans", "seed", "print"])?;
            let seed = arguments.number("seed")?.unwrap_or_else(random::seed_of_today);
            let plans = arguments.number("plans")?.unwrap_or(500);
            compare(&engine, &arguments.text("against", "cpu"), seed, plans, &arguments.text("print", "no") == "yes")
        }
        "engines" => {
            ENGINES.iter().for_each(|spec| println!("{:<12} {}", spec.name, spec.what));
            Ok(true)
        }
        other => Err(format!("{other} is not understood\n{USAGE}")),
    }
}

fn sql(engine: &str, only: &str, chunk: Option<usize>) -> Result<bool, String> {
    let mut subject = Subject::open(engine)?;
    corpus::load(&mut subject, chunk)?;
    let outcome = corpus::run(&mut subject, only)?;
    outcome.failures.iter().for_each(|failure| println!("{failure}\n"));
    println!(
        "{engine}: {} passed, {} failed, {} skipped in {:.1} s",
        outcome.passed,
        outcome.failures.len(),
        outcome.skipped,
        outcome.took.as_secs_f64()
    );
    Ok(outcome.failures.is_empty() && outcome.passed > 0)
}

fn compare(engine: &str, against: &str, seed: u64, plans: u64, print: bool) -> Result<bool, String> {
    let (mut a, mut b) = (Subject::open(against)?, Subject::open(engine)?);
    println!("{engine} against {against}: {plans} plans from seed {seed}");
    if print {
        (seed..seed + plans).for_each(|seed| println!("{seed}: {}\n", random::case(seed, true).sql()));
    }
    let report = random::run(&mut a, &mut b, seed, plans);
    report.differences.iter().for_each(|difference| println!("{difference}\n"));
    println!("{}", report.line());
    Ok(report.differences.is_empty() && report.same > 0)
}
