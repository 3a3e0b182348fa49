//! What the tests share: an engine with a frame in it, a short way to write expressions, and rows as text.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int8Array, Int64Array, RecordBatch, StringArray};
use onrush_engine::{Engine, EngineChoice, EngineConfig, Policy, Tuning};
use onrush_explore::Explorer;
use onrush_frame::TaskHandle;
use onrush_wire::expr::SortKey;
use onrush_wire::plan::Op;
use onrush_wire::{Arg, BinaryOp, Diagnostic, Expr, ExprKind, FrameId, Span, Value};

pub struct TestEngine {
    pub engine: Arc<Engine>,
    pub explorer: Explorer,
    next: AtomicU64,
}

pub fn is_cuda() -> bool {
    std::env::var("ONRUSH_TEST_ENGINE").is_ok_and(|engine| engine == "cuda")
}

/// The engines that a test of all of them runs on: a GPU where it is asked for (`ONRUSH_TEST_ENGINE=cuda`), without it
/// the others.
pub fn choices() -> Vec<EngineChoice> {
    match is_cuda() {
        true => vec![EngineChoice::Cuda],
        false => vec![EngineChoice::Cpu, EngineChoice::Emulated],
    }
}

/// A GPU where that is asked for, else the emulated device.
pub fn on_device() -> EngineConfig {
    EngineConfig {
        choice: if is_cuda() { EngineChoice::Cuda } else { EngineChoice::Emulated },
        cache: Some(onrush_wire::paths::cache_dir()),
        // What the emulated device has by itself.
        tuning: Some(Tuning::small()),
        ..EngineConfig::default()
    }
}

pub fn device() -> TestEngine {
    TestEngine::of(on_device())
}

/// One on which everything must run: what would be the processor's is an error.
pub fn only_device() -> TestEngine {
    TestEngine::of(EngineConfig { policy: Some(Policy::Only), ..on_device() })
}

impl Default for TestEngine {
    fn default() -> Self {
        // The same tests on another engine: `ONRUSH_TEST_ENGINE=emulated`.
        let choice =
            EngineChoice::parse(&std::env::var("ONRUSH_TEST_ENGINE").unwrap_or_else(|_| "cpu".into())).unwrap();
        let cache = Some(onrush_wire::paths::cache_dir());
        // What is the processor's stays there on a GPU, too, as on the emulated device: many of these tests are about
        // that.
        let policy = is_cuda().then_some(Policy::Always);
        // The same tests in partitions of so many rows that end at random times: `ONRUSH_TEST_CHUNK=5`.
        let chunk_rows = std::env::var("ONRUSH_TEST_CHUNK").ok().map(|rows| rows.parse().unwrap());
        let jitter = chunk_rows.is_some();
        TestEngine::of(EngineConfig { choice, cache, policy, chunk_rows, jitter, ..EngineConfig::default() })
    }
}

impl TestEngine {
    /// On the CPU whatever the environment says, for tests of what only that engine writes.
    pub fn on_cpu() -> Self {
        TestEngine::of(EngineConfig::default())
    }

    pub fn of(config: EngineConfig) -> Self {
        let engine = Arc::new(Engine::new(config).unwrap());
        let explorer = Explorer::new(Arc::clone(&engine));
        TestEngine { engine, explorer, next: AtomicU64::new(1) }
    }

    pub fn frame(&self, columns: Vec<(&str, ArrayRef)>) -> FrameId {
        let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap();
        self.batches(vec![batch])
    }

    pub fn batches(&self, batches: Vec<RecordBatch>) -> FrameId {
        let schema = onrush_frame::schema_to_wire(&batches[0].schema());
        let id = self.id();
        let op = Op::FromArrow { schema, bytes: None };
        self.engine.step(id, &op, None, Some(batches), &TaskHandle::new()).unwrap();
        id
    }

    pub fn id(&self) -> FrameId {
        FrameId(self.next.fetch_add(1, Ordering::Relaxed))
    }

    pub fn try_step(&self, op: Op) -> Result<FrameId, Diagnostic> {
        let id = self.id();
        self.engine.step(id, &op, Some(&span(99)), None, &TaskHandle::new())?;
        Ok(id)
    }

    pub fn step(&self, op: Op) -> FrameId {
        self.try_step(op).unwrap_or_else(|d| panic!("{d}\n{d:?}"))
    }

    pub fn try_select(&self, input: FrameId, expr: Expr) -> Result<FrameId, Diagnostic> {
        self.try_step(Op::Select { input, exprs: vec![expr] })
    }

    /// The column that an expression gives, with its type in front: `i64: 1 null 3`.
    pub fn select(&self, input: FrameId, expr: Expr) -> String {
        let id = self.step(Op::Select { input, exprs: vec![expr] });
        let schema = self.engine.schema(id).unwrap();
        format!("{}: {}", schema.fields[0].dtype, self.column(id, 0).join(" "))
    }

    pub fn column(&self, id: FrameId, index: usize) -> Vec<String> {
        self.try_rows(id).unwrap_or_else(|d| panic!("{d}\n{d:?}")).iter().map(|row| row[index].clone()).collect()
    }

    pub fn try_rows(&self, id: FrameId) -> Result<Vec<Vec<String>>, Diagnostic> {
        let table = self.engine.table(id, &[], &TaskHandle::new())?;
        let mut rows = Vec::new();
        for batch in table.batches() {
            for row in 0..batch.num_rows() {
                rows.push(batch.columns().iter().map(|c| text(&onrush_frame::value_at(c, row))).collect());
            }
        }
        Ok(rows)
    }

    /// All rows with the names on top: `a b|1 x|2 y`.
    pub fn rows(&self, id: FrameId) -> String {
        let schema = self.engine.schema(id).unwrap();
        let mut lines = vec![schema.names().collect::<Vec<_>>().join(" ")];
        lines.extend(self.try_rows(id).unwrap_or_else(|d| panic!("{d}\n{d:?}")).iter().map(|row| row.join(" ")));
        lines.join("|")
    }

    pub fn try_sql(&self, query: &str, tables: &[(&str, FrameId)]) -> Result<FrameId, Diagnostic> {
        let tables = tables.iter().map(|(n, id)| (n.to_string(), *id)).collect();
        self.try_step(Op::Sql { query: query.to_string(), tables })
    }

    pub fn sql(&self, query: &str, tables: &[(&str, FrameId)]) -> String {
        let id = self.try_sql(query, tables).unwrap_or_else(|d| panic!("{query}: {d}\n{d:?}"));
        self.rows(id)
    }
}

pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Boolean(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::UInt(v) => v.to_string(),
        Value::Float32(v) => format!("{v:?}"),
        Value::Float(v) => match (v * 1e9).round() / 1e9 {
            rounded if v.is_finite() => format!("{rounded:?}"),
            _ => format!("{v:?}"),
        },
        Value::Text(v) => v.clone(),
        Value::Date(days) => {
            let date = chrono::NaiveDate::from_ymd_opt(1970, 1, 1).unwrap() + chrono::TimeDelta::days((*days).into());
            date.to_string()
        }
        Value::Decimal { value, scale, .. } => {
            let digits = format!("{:0width$}", value.abs(), width = *scale as usize + 1);
            let (whole, part) = digits.split_at(digits.len() - *scale as usize);
            format!("{}{whole}.{part}", if *value < 0 { "-" } else { "" })
        }
        Value::Timestamp { value, unit, .. } => {
            let micros = match unit {
                onrush_wire::TimeUnit::Second => value * 1_000_000,
                onrush_wire::TimeUnit::Millisecond => value * 1_000,
                onrush_wire::TimeUnit::Microsecond => *value,
                onrush_wire::TimeUnit::Nanosecond => value / 1_000,
            };
            chrono::DateTime::from_timestamp_micros(micros).unwrap().naive_utc().format("%FT%T%.f").to_string()
        }
        Value::List(values) => format!("[{}]", values.iter().map(text).collect::<Vec<_>>().join(",")),
        other => format!("{other:?}"),
    }
}

/// A place in a cell: column `n` of line 1.
pub fn span(n: u32) -> Span {
    Span { file: "cell_1.rs".to_string(), line: 1, column: n, length: 3 }
}

pub fn col(name: &str) -> Expr {
    Expr::column(name)
}

pub fn lit(value: impl Into<Value>) -> Expr {
    Expr::literal(value)
}

/// A method call: the receiver first.
pub fn call<const N: usize>(function: &str, args: [Expr; N]) -> Expr {
    Expr::call(function, args)
}

pub fn named(mut expr: Expr, name: &str, value: Expr) -> Expr {
    if let ExprKind::Call { args, .. } = &mut expr.kind {
        args.push(Arg { name: Some(name.to_string()), value });
    }
    expr
}

pub fn op(left: Expr, operator: BinaryOp, right: Expr) -> Expr {
    Expr::new(ExprKind::Binary(operator, Box::new(left), Box::new(right)))
}

pub fn over(value: Expr, keys: &[&str]) -> Expr {
    let partition = keys.iter().map(|k| col(k)).collect();
    Expr::new(ExprKind::Over { value: Box::new(value), partition, order: Vec::new() })
}

pub fn asc(name: &str) -> SortKey {
    SortKey { expr: col(name), descending: false, nulls_last: None }
}

pub fn desc(name: &str) -> SortKey {
    SortKey { expr: col(name), descending: true, nulls_last: None }
}

pub fn ints(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

pub fn floats(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

pub fn string_array(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

pub fn bools(values: &[Option<bool>]) -> ArrayRef {
    Arc::new(BooleanArray::from(values.to_vec()))
}

/// The frame that the expressions of `docs/semantics.md` run on.
pub fn sample(bench: &TestEngine) -> FrameId {
    bench.frame(vec![
        ("i", ints(&[Some(7), Some(-7), Some(7), Some(-7), None])),
        ("j", ints(&[Some(2), Some(2), Some(-2), Some(-2), Some(1)])),
        ("z", ints(&[Some(0), Some(0), Some(0), Some(0), Some(0)])),
        ("f", floats(&[Some(1.5), Some(f64::NAN), Some(-0.5), None, Some(2.0)])),
        ("b", bools(&[Some(true), Some(false), None, Some(true), Some(true)])),
        ("s", string_array(&[Some("a"), Some("B"), None, Some("héllo"), Some("ab1c")])),
        ("t", Arc::new(Int8Array::from(vec![Some(100), Some(100), Some(100), Some(-3), None])) as ArrayRef),
    ])
}
