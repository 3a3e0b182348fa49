//! Whole calls over frames that come from files: TPC-H's tables as Parquet, read, persisted and queried with another
//! literal each time. A call is what a cell waits for, without the way from the cell to the engine.

use std::path::Path;
use std::time::{Duration, Instant};

use onrush_engine::Engine;
use onrush_frame::TaskHandle;
use onrush_wire::FrameId;
use onrush_wire::plan::{Format, Op, Source};

use crate::{id, median};

const TABLES: [&str; 8] = ["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"];

/// Name and text. `{n}` is the number of the run, from 1.
const STEPS: &[(&str, &str)] = &[
    ("filter, sum", "select sum(l_extendedprice) as s from lineitem where l_quantity < 20 + {n}"),
    (
        "group by 3",
        "select l_returnflag, avg(l_quantity + {n}) as m, count(*) as n from lineitem group by l_returnflag",
    ),
    ("group by 1e5", "select l_suppkey, sum(l_quantity + {n}) as s from lineitem group by l_suppkey"),
    (
        "join, group by priority",
        "select o_orderpriority, count(*) as n from lineitem join orders on l_orderkey = o_orderkey \
         where l_quantity < 20 + {n} group by o_orderpriority",
    ),
    ("contains", "select count(*) as n from lineitem where contains(l_comment, 'furiously{n}') or l_quantity < {n}"),
    ("top 10", "select * from lineitem where l_quantity > {n} order by l_extendedprice desc limit 10"),
];

const RANK: (&str, &str) = (
    "rank",
    "select max(r) as m from (select rank() over (partition by l_suppkey order by l_extendedprice) + {n} as r \
     from lineitem)",
);

/// A step with its runs.
struct Line {
    name: String,
    text: String,
}

/// `queries` is a file of queries, each after a line `-- query NAME`.
pub fn measure(
    engine: &Engine,
    folder: &Path,
    queries: Option<&Path>,
    runs: usize,
    only: Option<&str>,
) -> Result<(), String> {
    let tables = load(engine, folder)?;
    let mut lines: Vec<Line> =
        STEPS.iter().map(|(name, text)| Line { name: name.to_string(), text: text.to_string() }).collect();
    if let Some(queries) = queries {
        let text = std::fs::read_to_string(queries).map_err(|e| format!("{}: {e}", queries.display()))?;
        for query in text.split("-- query ").skip(1) {
            let (name, text) = query.split_once('\n').unwrap_or((query, ""));
            lines.push(Line { name: format!("query {name}"), text: format!("{} limit 100{{n}}", text.trim()) });
        }
    }
    lines.push(Line { name: RANK.0.to_string(), text: RANK.1.to_string() });
    println!(
        "{:<26} {:>10} {:>9} {:>9} {:>8} {:>10} {:>8}",
        "step", "first ms", "new ms", "same ms", "kernels", "compile ms", "rows"
    );
    let mut totals = [0.0; 4];
    for line in &lines {
        if only.is_some_and(|only| !only.split(';').any(|only| line.name.contains(only))) {
            continue;
        }
        let found = step(engine, &tables, line, runs)?;
        if line.name.starts_with("query") {
            totals.iter_mut().zip(found).for_each(|(total, found)| *total += found);
        }
    }
    let [first, new, same, compile] = totals;
    println!("{:<26} {first:>10.1} {new:>9.2} {same:>9.2} {:>8} {compile:>10.1}", "all queries", "");
    Ok(())
}

fn load(engine: &Engine, folder: &Path) -> Result<Vec<(String, FrameId)>, String> {
    let task = TaskHandle::new();
    let mut tables = Vec::new();
    let all = Instant::now();
    for name in TABLES {
        let path = folder.join(format!("{name}.parquet")).to_string_lossy().into_owned();
        let (read, held) = (id(), id());
        let begun = Instant::now();
        let format = Format::Parquet(Default::default());
        let source = Source { path, folder: String::new(), format, cluster: None };
        engine.step(read, &Op::Read(source), None, None, &task).map_err(|e| e.message)?;
        let decoded = begun.elapsed();
        engine.persist(read, held, &task).map_err(|e| e.message)?;
        println!("{name:<26} read {:>8.1} ms, persisted after {:>8.1} ms", ms(decoded), ms(begun.elapsed()));
        engine.release(&[read]);
        tables.push((name.to_string(), held));
    }
    println!("{:<26} {:>8.1} ms", "all tables", ms(all.elapsed()));
    Ok(tables)
}

/// First, new literals, the same literal again, and the compiler: milliseconds.
fn step(engine: &Engine, tables: &[(String, FrameId)], line: &Line, runs: usize) -> Result<[f64; 4], String> {
    let compiled = || engine.accelerator().map(|a| a.gpu.context().library.statistics()).unwrap_or_default();
    let run = |n: usize| call(engine, tables, &line.text.replace("{n}", &n.to_string()));
    let before = compiled();
    let (first, rows) = run(1)?;
    let now = compiled();
    let (kernels, compile) = (now.compiled - before.compiled, now.compiling.saturating_sub(before.compiling));
    let times = |which: &dyn Fn(usize) -> usize| {
        let times = (2..2 + runs).map(|n| Ok(run(which(n))?.0));
        times.collect::<Result<Vec<_>, String>>().map(median)
    };
    let (new, same) = (times(&|n| n)?, times(&|_| 1)?);
    let (first, compile) = (ms(first), ms(compile));
    println!("{:<26} {first:>10.1} {new:>9.2} {same:>9.2} {kernels:>8} {compile:>10.1} {rows:>8}", line.name);
    Ok([first, new, same, compile])
}

/// From the query's text to the rows on the host.
fn call(engine: &Engine, tables: &[(String, FrameId)], text: &str) -> Result<(Duration, usize), String> {
    engine.forget_results();
    let task = TaskHandle::new();
    let new = id();
    let op = Op::Sql { query: text.into(), tables: tables.to_vec() };
    let begun = Instant::now();
    engine.step(new, &op, None, None, &task).map_err(|e| format!("{text}: {}", e.message))?;
    let table = engine.table(new, &[], &task).map_err(|e| format!("{text}: {}", e.message))?;
    let time = begun.elapsed();
    engine.release(&[new]);
    Ok((time, table.rows()))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
