//! Speed of queries on a device, through the engine: `cargo xtask bench gpu`, and on a GPU machine without Rust.
//!
//! Two times for each query, as medians. The first is that of the device, from the accepted plan to the result in its
//! memory. The second is the whole call, with DataFusion's planning and the result's way to the host. The first run is
//! listed separately: upload, dictionary, compilation. Each query is compared with the CPU engine on fewer rows before.

mod asof;
mod concurrency;
mod eviction;
mod files;
mod host;
mod later;
mod models;
mod random;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arrow::array::{
    Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewBuilder, TimestampMicrosecondArray,
};
use arrow::util::display::array_value_to_string;
use onrush_engine::{Engine, EngineChoice, EngineConfig, Tuning};
use onrush_frame::{Table, TaskHandle};
use onrush_wire::FrameId;
use onrush_wire::plan::Op;
use parking_lot::Mutex;
use random::{Random, scattered};

/// Planning makes and drops many small values: with it plans are made a tenth faster than with glibc's
/// (docs/measurements/calls-and-planning.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const USAGE: &str = "onrush-gpu-bench [--engine cuda|emulated|cpu] [--rows N] [--runs N] [--only NAME;NAME] [--check] [--show] [--host] [--memory] [--beside] [--asof] [--room] [--models] [--files DIR [--queries FILE]] [--tuning SHARED,ROWS,CACHED] [--cache DIR]";

struct Options {
    choice: EngineChoice,
    rows: usize,
    /// Calls of a query after the first one.
    runs: usize,
    only: Option<String>,
    check: bool,
    /// Prints the first row of each result.
    show: bool,
    host: bool,
    memory: bool,
    beside: bool,
    asof: bool,
    room: bool,
    models: bool,
    files: Option<std::path::PathBuf>,
    queries: Option<std::path::PathBuf>,
    tuning: Option<Tuning>,
    cache: Option<std::path::PathBuf>,
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        choice: EngineChoice::Cuda,
        rows: 100_000_000,
        runs: 11,
        only: None,
        check: false,
        show: false,
        host: false,
        memory: false,
        beside: false,
        asof: false,
        room: false,
        models: false,
        files: None,
        queries: None,
        tuning: None,
        cache: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
        match arg.as_str() {
            "--engine" => options.choice = EngineChoice::parse(&value()?).map_err(|e| e.message)?,
            "--rows" => options.rows = value()?.parse::<f64>().map_err(|e| e.to_string())? as usize,
            "--runs" => options.runs = value()?.parse::<usize>().map_err(|e| e.to_string())?.max(1),
            "--only" => options.only = Some(value()?),
            "--cache" => options.cache = Some(value()?.into()),
            "--tuning" => {
                let value = value()?;
                let numbers: Vec<u64> = value.split(',').filter_map(|number| number.parse().ok()).collect();
                let [shared, rows, cached_bytes] = numbers[..] else {
                    return Err(format!("--tuning wants SHARED,ROWS,CACHED, not {value}"));
                };
                options.tuning = Some(Tuning { rows, cached_bytes, ..Tuning::new(shared as u32) });
            }
            "--check" => options.check = true,
            "--show" => options.show = true,
            "--host" => options.host = true,
            "--beside" => options.beside = true,
            "--asof" => options.asof = true,
            "--room" => options.room = true,
            "--files" => options.files = Some(value()?.into()),
            "--queries" => options.queries = Some(value()?.into()),
            "--models" => options.models = true,
            "--memory" => options.memory = true,
            _ => return Err(format!("{arg} is not known\n{USAGE}")),
        }
    }
    Ok(options)
}

/// Values by several threads, the same ones each time.
fn generate<T: Send + Copy + Default>(rows: usize, seed: u64, value: impl Fn(&mut Random) -> T + Sync) -> Vec<T> {
    const PIECE: usize = 1 << 20;
    let mut values = vec![T::default(); rows];
    let pieces = Mutex::new(values.chunks_mut(PIECE).enumerate());
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = pieces.lock().next();
                    let Some((number, piece)) = next else { return };
                    let mut random = Random(scattered(seed * 1_000_003 + number as u64 + 1) as u64 | 1);
                    piece.fill_with(|| value(&mut random));
                }
            });
        }
    });
    values
}

fn floats(rows: usize, seed: u64) -> ArrayRef {
    Arc::new(Float64Array::from(generate(rows, seed, Random::float)))
}

fn keys(rows: usize, n: u64, scatter: bool) -> ArrayRef {
    let key = |k: u64| if scatter { scattered(k) } else { k as i64 };
    Arc::new(Int64Array::from(generate(rows, n.min(1 << 30) + 99, |random| key(random.below(n)))))
}

/// Each number below `rows` once, in no order, another one for each seed.
fn shuffled(rows: usize, seed: u64) -> ArrayRef {
    let mut numbers: Vec<i64> = (0..rows as i64).collect();
    let mut random = Random(rows as u64 + seed);
    for at in (1..rows).rev() {
        numbers.swap(at, random.below(at as u64 + 1) as usize);
    }
    Arc::new(Int64Array::from(numbers))
}

fn texts(rows: usize, n: u64) -> ArrayRef {
    let mut random = Random(n + 7);
    let mut builder = StringViewBuilder::with_capacity(rows);
    for _ in 0..rows {
        builder.append_value(format!("text number {}", random.below(n)));
    }
    Arc::new(builder.finish())
}

/// Lines of about 150 bytes, all different.
fn lines(rows: usize) -> ArrayRef {
    let mut random = Random(13);
    let mut builder = StringViewBuilder::with_capacity(rows);
    for row in 0..rows {
        builder.append_value(format!("text number {row}, then {:>128}", random.next()));
    }
    Arc::new(builder.finish())
}

/// Words, each with a number behind it if they are to differ.
fn words(rows: usize, differ: bool) -> ArrayRef {
    const WORDS: [&str; 6] = ["card", "cash", "dispute", "no charge", "unknown", "voided"];
    let mut random = Random(11);
    let mut builder = StringViewBuilder::with_capacity(rows);
    for row in 0..rows {
        let word = WORDS[random.below(6) as usize];
        match differ {
            true => builder.append_value(format!("{word}{row}")),
            false => builder.append_value(word),
        }
    }
    Arc::new(builder.finish())
}

fn taxi(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let tip = Float64Array::from(generate(rows, 5, |random| random.float() * 10.0 - 1.0));
    let fare = Float64Array::from(generate(rows, 6, |random| random.float() * 60.0 - 2.0));
    let (from, to) = (1_420_070_400_000_000u64, 1_451_606_400_000_000u64);
    let ts = generate(rows, 7, |random| (from + random.below(to - from)) as i64);
    let ts = TimestampMicrosecondArray::from(ts);
    vec![("tip", Arc::new(tip) as ArrayRef), ("fare", Arc::new(fare)), ("ts", Arc::new(ts))]
}

type Columns = Vec<(&'static str, ArrayRef)>;

struct Query {
    name: &'static str,
    sql: &'static str,
    /// Milliseconds of the peer and the target, for 1e8 rows unless `rows` says otherwise.
    peer: f64,
    target: f64,
    /// Bytes that must cross memory, for each row.
    bytes: f64,
    rows: Option<usize>,
    data: fn(usize) -> Columns,
    /// A second table, `u`, for as many rows of the first.
    beside: Option<fn(usize) -> Columns>,
}

const MEAN: &str = "select k, avg(y) as m from t group by k";
const FIVE: &str = "select k, sum(y) as s, avg(y) as m, min(y) as a, max(y) as b, count(y) as n from t group by k";

const QUERIES: &[Query] = &[
    Query {
        name: "sin2+cos2",
        sql: "select count(*) as n from t where power(sin(y), 2) + power(cos(y), 2) = 1",
        peer: 3.10,
        target: 0.45,
        bytes: 8.0,
        rows: None,
        data: |n| vec![("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "sin2+cos2, products",
        sql: "select count(*) as n from t where sin(y) * sin(y) + cos(y) * cos(y) = cast(1 as double)",
        peer: 3.10,
        target: 0.45,
        bytes: 8.0,
        rows: None,
        data: |n| vec![("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "mean",
        sql: "select avg(y) as m from t",
        peer: 0.228,
        target: 0.21,
        bytes: 8.0,
        rows: None,
        data: |n| vec![("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "dense 100",
        sql: MEAN,
        peer: 21.0,
        target: 0.6,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 100, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "five aggregates, 100",
        sql: FIVE,
        peer: 28.6,
        target: 1.0,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 100, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "dense 1e4",
        sql: MEAN,
        peer: 6.29,
        target: 1.2,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 10_000, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "dense 1e6",
        sql: MEAN,
        peer: 11.5,
        target: 2.6,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 1_000_000, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "dense 1e7",
        sql: MEAN,
        peer: 18.8,
        target: 7.0,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 10_000_000, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "dense 1e5",
        sql: MEAN,
        peer: f64::NAN,
        target: f64::NAN,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 100_000, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "five, dense 1e6",
        sql: FIVE,
        peer: f64::NAN,
        target: f64::NAN,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 1_000_000, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "five, dense 1e7",
        sql: FIVE,
        peer: f64::NAN,
        target: f64::NAN,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 10_000_000, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "1e7 groups in order",
        sql: MEAN,
        peer: f64::NAN,
        target: f64::NAN,
        bytes: 16.0,
        rows: None,
        data: |n| {
            let key = |row: i64| row * 10_000_000 / n as i64;
            vec![("k", Arc::new(Int64Array::from_iter_values((0..n as i64).map(key)))), ("y", floats(n, 1))]
        },
        beside: None,
    },
    Query {
        name: "scattered 1e4",
        sql: MEAN,
        peer: 6.29,
        target: 2.5,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 10_000, true)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "scattered 1e6",
        sql: MEAN,
        peer: 11.5,
        target: 4.0,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 1_000_000, true)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "scattered 1e7",
        sql: MEAN,
        peer: 18.8,
        target: 7.0,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 10_000_000, true)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "1e7 rows, 1e7 keys",
        sql: MEAN,
        peer: 2.65,
        target: 1.5,
        bytes: 16.0,
        rows: Some(10_000_000),
        data: |n| vec![("k", keys(n, 10_000_000, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "taxi",
        sql: "select date_part('hour', ts) as h, avg(tip / fare) as m from t where tip > 0 and fare > 0 group by 1",
        peer: 21.3,
        target: 1.2,
        bytes: 24.0,
        rows: None,
        data: taxi,
        beside: None,
    },
    Query {
        name: "strings 6, 1e7 rows",
        sql: MEAN,
        peer: 2.19,
        target: 0.6,
        bytes: 12.0,
        rows: Some(10_000_000),
        data: |n| vec![("k", texts(n, 6)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "strings 1e6, 1e7 rows",
        sql: MEAN,
        peer: 1.79,
        target: 1.7,
        bytes: 12.0,
        rows: Some(10_000_000),
        data: |n| vec![("k", texts(n, 1_000_000)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "upper, 6 strings",
        sql: "select upper(s) as u from t",
        peer: 0.7,
        target: 0.05,
        bytes: 8.0,
        rows: Some(10_000_000),
        data: |n| vec![("s", words(n, false))],
        beside: None,
    },
    Query {
        name: "upper, 1e7 strings",
        sql: "select upper(s) as u from t",
        peer: f64::NAN,
        target: 0.9,
        bytes: 46.0,
        rows: Some(10_000_000),
        data: |n| vec![("s", words(n, true))],
        beside: None,
    },
    Query {
        name: "like, 6 strings",
        sql: "select s like '%pute%' as l from t",
        peer: 0.68,
        target: 0.05,
        bytes: 4.1,
        rows: Some(10_000_000),
        data: |n| vec![("s", words(n, false))],
        beside: None,
    },
    Query {
        name: "like, 1e7 strings",
        sql: "select s like '%pute%' as l from t",
        peer: f64::NAN,
        target: 0.7,
        bytes: 19.1,
        rows: Some(10_000_000),
        data: |n| vec![("s", words(n, true))],
        beside: None,
    },
    Query {
        name: "regex, 6 strings",
        sql: "select regexp_matches(s, 'c[a-z]+h|dis.*e$') as l from t",
        peer: 4.9,
        target: 0.05,
        bytes: 4.1,
        rows: Some(10_000_000),
        data: |n| vec![("s", words(n, false))],
        beside: None,
    },
    Query {
        name: "regex, 1e7 strings",
        sql: "select regexp_matches(s, 'c[a-z]+h|dis.*e$') as l from t",
        peer: f64::NAN,
        target: 3.0,
        bytes: 19.1,
        rows: Some(10_000_000),
        data: |n| vec![("s", words(n, true))],
        beside: None,
    },
    Query {
        name: "3 GB of strings",
        sql: "select count(*) as n, sum(length(s)) as l, count(*) filter (where s like '%9') as e, max(right(s, 3)) as m, \
              count(*) filter (where s > 'text number 5') as c from t",
        peer: f64::NAN,
        target: f64::NAN,
        bytes: 154.0,
        rows: Some(20_000_000),
        data: |n| vec![("s", lines(n))],
        beside: None,
    },
    Query {
        name: "filter and project",
        sql: "select y * 2 as a, k from t where y < 0.5",
        peer: f64::NAN,
        target: f64::NAN,
        bytes: 24.0,
        rows: None,
        data: |n| vec![("k", keys(n, 100, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "join 1e6, one payload",
        sql: "select t.k, t.y, u.z from t join u on t.k = u.k",
        peer: 6.56,
        target: 2.0,
        bytes: 40.0,
        rows: None,
        data: |n| vec![("k", keys(n, 1_000_000.min(n as u64 / 100), false)), ("y", floats(n, 1))],
        beside: Some(|n| vec![("k", shuffled(1_000_000.min(n / 100), 77)), ("z", floats(1_000_000.min(n / 100), 2))]),
    },
    Query {
        name: "join 1e6, summed",
        sql: "select sum(t.y * u.z) as s, count(*) as n from t join u on t.k = u.k",
        peer: f64::NAN,
        target: f64::NAN,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("k", keys(n, 1_000_000.min(n as u64 / 100), false)), ("y", floats(n, 1))],
        beside: Some(|n| vec![("k", shuffled(1_000_000.min(n / 100), 77)), ("z", floats(1_000_000.min(n / 100), 2))]),
    },
    Query {
        name: "join 1e6, scattered",
        sql: "select t.k, t.y, u.z from t join u on t.k = u.k",
        peer: 6.56,
        target: 2.0,
        bytes: 40.0,
        rows: None,
        data: |n| vec![("k", keys(n, 1_000_000.min(n as u64 / 100), true)), ("y", floats(n, 1))],
        beside: Some(|n| {
            vec![("k", later::scattered_once(1_000_000.min(n / 100))), ("z", floats(1_000_000.min(n / 100), 2))]
        }),
    },
    Query {
        name: "self-merge 1e7",
        sql: "select t.k, t.y, u.z from t join u on t.k = u.k",
        peer: 2.88,
        target: 1.5,
        bytes: 80.0,
        rows: Some(10_000_000),
        data: |n| vec![("k", keys(n, n as u64, false)), ("y", floats(n, 1))],
        beside: Some(|n| vec![("k", keys(n, n as u64, false)), ("z", floats(n, 2))]),
    },
    Query {
        name: "self-merge 1e8",
        sql: "select t.k, t.y, u.z from t join u on t.k = u.k",
        peer: 33.0,
        target: 16.0,
        bytes: 80.0,
        rows: None,
        data: |n| vec![("k", keys(n, n as u64, false)), ("y", floats(n, 1))],
        beside: Some(|n| vec![("k", keys(n, n as u64, false)), ("z", floats(n, 2))]),
    },
    Query {
        name: "join, 4 rows a key",
        sql: "select sum(t.y * u.z) as s, count(*) as n from t join u on t.k = u.k",
        peer: f64::NAN,
        target: f64::NAN,
        bytes: 16.0,
        rows: Some(10_000_000),
        data: |n| vec![("k", keys(n, n as u64 / 100, false)), ("y", floats(n, 1))],
        beside: Some(|n| vec![("k", keys(n / 25, n as u64 / 100, false)), ("z", floats(n / 25, 2))]),
    },
    Query {
        name: "sort f64",
        sql: "select y from t order by y",
        peer: 30.6,
        target: 12.0,
        bytes: 16.0,
        rows: None,
        data: |n| vec![("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "sort by 27 bits",
        sql: "select k, y from t order by k",
        peer: 12.0,
        target: 8.0,
        bytes: 32.0,
        rows: None,
        data: |n| vec![("k", keys(n, 1 << 27, false)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "sort by 64 bits",
        sql: "select k, y from t order by k",
        peer: f64::NAN,
        target: 14.0,
        bytes: 32.0,
        rows: None,
        data: |n| vec![("k", keys(n, u64::MAX >> 1, true)), ("y", floats(n, 1))],
        beside: None,
    },
    Query {
        name: "top 100",
        sql: "select y from t order by y limit 100",
        peer: f64::NAN,
        target: 0.5,
        bytes: 8.0,
        rows: None,
        data: |n| vec![("y", floats(n, 1))],
        beside: None,
    },
];

static NEXT: AtomicU64 = AtomicU64::new(1);

fn id() -> FrameId {
    FrameId(NEXT.fetch_add(1, Ordering::Relaxed))
}

fn frame(engine: &Engine, columns: &Columns) -> Result<FrameId, String> {
    let named = columns.iter().map(|(name, array)| (*name, Arc::clone(array)));
    let batch = RecordBatch::try_from_iter(named).map_err(|e| e.to_string())?;
    let op = Op::FromArrow { schema: onrush_frame::schema_to_wire(&batch.schema()), bytes: None };
    let new = id();
    engine.step(new, &op, None, Some(vec![batch]), &TaskHandle::new()).map_err(|e| e.message)?;
    Ok(new)
}

fn query(engine: &Engine, text: &str, of: &[FrameId]) -> Result<FrameId, String> {
    let new = id();
    let tables = ["t", "u"].iter().zip(of).map(|(name, of)| (name.to_string(), *of)).collect();
    let op = Op::Sql { query: text.into(), tables };
    engine.step(new, &op, None, None, &TaskHandle::new()).map_err(|e| e.message)?;
    Ok(new)
}

/// Rows by their first column, each value as a text; floats cut to ten digits.
fn rows(table: &Table) -> Result<BTreeMap<String, Vec<String>>, String> {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for batch in table.batches() {
        for row in 0..batch.num_rows() {
            let mut values = Vec::new();
            for column in batch.columns() {
                values.push(match column.as_any().downcast_ref::<Float64Array>() {
                    Some(floats) if floats.is_valid(row) => format!("{:.9e}", floats.value(row)),
                    _ => array_value_to_string(column, row).map_err(|e| e.to_string())?,
                });
            }
            all.entry(values[0].clone()).or_default().push(values.join(" "));
        }
    }
    all.values_mut().for_each(|rows| rows.sort_unstable());
    Ok(all)
}

fn check(engine: &Engine, cpu: &Engine, query_of: &Query) -> Result<String, String> {
    let data = (query_of.data)(200_003);
    let task = TaskHandle::new();
    let mut results = Vec::new();
    for engine in [engine, cpu] {
        let mut of = vec![frame(engine, &data)?];
        if let Some(beside) = query_of.beside {
            of.push(frame(engine, &beside(200_003))?);
        }
        let id = query(engine, query_of.sql, &of)?;
        results.push(rows(&*engine.table(id, &[], &task).map_err(|e| e.message)?)?);
    }
    if query_of.name.starts_with("sin") {
        // How many sums are 1 to the last bit depends on the last bits of sine and cosine, which no two libraries
        // share.
        let count =
            |r: &BTreeMap<String, Vec<String>>| r.keys().next().and_then(|k| k.parse::<f64>().ok()).unwrap_or(0.0);
        let (a, b) = (count(&results[0]), count(&results[1]));
        return if (a / b - 1.0).abs() < 0.1 { Ok("about as many".into()) } else { Err(format!("{a} and {b}")) };
    }
    match results[0] == results[1] {
        true => Ok(format!("{} keys agree", results[0].len())),
        false => {
            let first = results[0].iter().zip(&results[1]).find(|(a, b)| a != b);
            Err(format!("{} and {} keys differ, first at {first:?}", results[0].len(), results[1].len()))
        }
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn main() -> Result<(), String> {
    let options = options()?;
    let config = EngineConfig {
        choice: options.choice,
        cache: options.cache.clone(),
        memory_limit: 100 << 30,
        tuning: options.tuning,
        ..EngineConfig::default()
    };
    if options.models {
        return models::measure(&config, options.rows.min(1_000_000), options.runs, options.only.as_deref());
    }
    if options.room {
        return eviction::measure(&config, options.runs);
    }
    let begun = Instant::now();
    let engine = Engine::new(config).map_err(|e| e.message)?;
    let cpu = Engine::new(EngineConfig::default()).map_err(|e| e.message)?;
    let opened = begun.elapsed();
    let gpu = engine.accelerator().map(|a| &a.gpu);
    if let Some(gpu) = gpu {
        let properties = gpu.context().device().properties();
        println!("{}, {}, opened in {:.0} ms", properties.name, properties.architecture, opened.as_secs_f64() * 1e3);
    }
    if let (true, Some(gpu)) = (options.host, gpu) {
        return host::costs(gpu);
    }
    if let Some(folder) = &options.files {
        let (queries, only) = (options.queries.as_deref(), options.only.as_deref());
        return files::measure(&engine, folder, queries, options.runs, only);
    }
    if options.beside {
        return concurrency::measure(&engine, options.rows);
    }
    if options.asof {
        return asof::measure(&engine, options.rows, options.runs);
    }
    let mut failed = 0;
    println!(
        "{:<22} {:>8} {:>9} {:>9} {:>9} {:>10} {:>8} {:>7} {:>9} {:>9}",
        "query", "rows", "device ms", "whole ms", "first ms", "compile ms", "peer", "target", "TB/s", "groups"
    );
    for q in QUERIES.iter().chain(later::QUERIES) {
        if options.only.as_deref().is_some_and(|only| !only.split(';').any(|only| q.name.contains(only))) {
            continue;
        }
        match check(&engine, &cpu, q) {
            Ok(_) => {}
            Err(error) => {
                failed += 1;
                println!("{:<22} WRONG: {error}", q.name);
                continue;
            }
        }
        if options.check {
            println!("{:<22} agrees with the CPU", q.name);
            continue;
        }
        let rows = q.rows.map_or(options.rows, |rows| rows.min(options.rows));
        let mut of = vec![frame(&engine, &(q.data)(rows))?];
        if let Some(beside) = q.beside {
            of.push(frame(&engine, &beside(rows))?);
        }
        let task = TaskHandle::new();
        let (mut device, mut whole) = (Vec::new(), Vec::new());
        let (mut first, mut groups) = (0.0, 0);
        let compiled = || gpu.map_or(Duration::ZERO, |gpu| gpu.context().library.statistics().compiling);
        let before = compiled();
        for run in 0..=options.runs {
            engine.forget_results();
            let frame = query(&engine, q.sql, &of)?;
            let before = gpu.map(|gpu| gpu.spent().1);
            let begun = Instant::now();
            let table = engine.table(frame, &[], &task).map_err(|e| e.message)?;
            let time = begun.elapsed();
            groups = table.rows();
            if let (true, 0, Some(batch)) = (options.show, run, table.batches().first().filter(|b| b.num_rows() > 0)) {
                let values = batch.columns().iter().map(|column| array_value_to_string(column, 0));
                println!("{:?}", values.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?);
            }
            if run == 0 {
                first = time.as_secs_f64() * 1e3;
            } else {
                whole.push(time);
                device.push(gpu.zip(before).map_or(time, |(gpu, before)| gpu.spent().1 - before));
            }
            engine.release(&[frame]);
        }
        let compiling = (compiled() - before).as_secs_f64() * 1e3;
        if let (Some(gpu), true) = (gpu, options.memory) {
            let device = gpu.context().device();
            let kept = device.memory().map_err(|e| e.to_string())?.pool;
            // Longer than it takes to give back what is kept.
            std::thread::sleep(Duration::from_secs(3));
            let report = device.memory().map_err(|e| e.to_string())?;
            let driver = report.driver_total - report.driver_free - report.baseline;
            let more = |of: u64| (driver as f64 / of.max(1) as f64 - 1.0) * 100.0;
            println!(
                "{:<22} ledger {} bytes and {} that its pool keeps, driver {driver} since it was opened: {:+.2} % of both, {:+.2} % of the first; the pool had {kept} before",
                q.name,
                report.used,
                report.pool.saturating_sub(report.used),
                more(report.pool.max(report.used)),
                more(report.used)
            );
        }
        engine.release(&of);
        let device = median(device);
        println!(
            "{:<22} {:>8.0e} {:>9.3} {:>9.3} {:>9.1} {:>10.1} {:>8} {:>7} {:>9.2} {:>9}",
            q.name,
            rows as f64,
            device,
            median(whole),
            first,
            compiling,
            q.peer,
            q.target,
            rows as f64 * q.bytes / device / 1e9,
            groups
        );
    }
    match failed {
        0 => Ok(()),
        failed => Err(format!("{failed} queries give other results than the CPU")),
    }
}
