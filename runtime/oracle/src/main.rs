//! `onrush-gpu-bench`: what proves the engines right, on one engine by its name. It needs nothing beside itself.

use std::process::ExitCode;

use onrush_oracle::corpus;
use onrush_oracle::engines::{ENGINES, Subject};

const USAGE: &str = "usage: onrush-gpu-bench TASK [--engine NAME] [OPTIONS]

  sql      the queries of tests/sql; exit status 1 if an answer is not the expected one
           --only NAME  files whose name contains this    --chunk ROWS  tables in batches of at most so many rows
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
