//! The engine itself: results kept, frames released, cancellation, values, plans as text.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use onrush_engine::{EngineChoice, EngineConfig};
use onrush_frame::TaskHandle;
use onrush_wire::plan::Op;
use onrush_wire::{BinaryOp::*, Class, DataType, Value};

use super::support::*;

#[test]
fn a_frame_is_computed_once() {
    let bench = TestEngine::default();
    let f = sample(&bench);
    let id = bench.step(Op::Filter { input: f, predicate: op(col("i"), Greater, lit(0)) });
    let task = TaskHandle::new();
    assert_eq!(bench.engine.row_count(id, &task).unwrap(), 2);
    assert_eq!(task.progress().stage, "filter");
    let again = TaskHandle::new();
    let preview = bench.engine.preview(id, 5, 5, true, &again).unwrap();
    assert_eq!((preview.total_rows, preview.head.len()), (2, 2));
    assert_eq!(preview.columns[5].nulls, Some(1));
    // The same step under another id is the same rows.
    let twin = bench.step(Op::Filter { input: f, predicate: op(col("i"), Greater, lit(0)) });
    assert_eq!(bench.engine.known_rows(twin), Some(2));
    assert_eq!(again.progress().stage, "");
}

#[test]
fn released_frames_are_gone_but_their_children_live() {
    let bench = TestEngine::default();
    let f = sample(&bench);
    let child = bench.step(Op::Select { input: f, exprs: vec![col("i")] });
    bench.engine.release(&[f]);
    assert_eq!(bench.engine.schema(f).unwrap_err().code, "unknown-frame");
    assert_eq!(bench.column(child, 0), ["7", "-7", "7", "-7", "null"]);
    bench.engine.release(&[child]);
    bench.engine.forget_results();
    assert_eq!(bench.engine.resident_bytes(), 0);
}

#[test]
fn persist_pins_and_value_answers() {
    let bench = TestEngine::default();
    let f = sample(&bench);
    let id = bench.step(Op::Sort { input: f, keys: vec![asc("j")] });
    let pinned = bench.id();
    bench.engine.persist(id, pinned, &TaskHandle::new()).unwrap();
    bench.engine.forget_results();
    assert_eq!(bench.engine.known_rows(pinned), Some(5));
    let value = |e| bench.engine.value(pinned, &e, &TaskHandle::new());
    assert_eq!(value(call("mean", [col("j")])).unwrap(), (Value::Float(0.2), DataType::Float64));
    assert_eq!(value(op(call("len", []), Multiply, lit(2))).unwrap(), (Value::UInt(10), DataType::UInt32));
    let d = value(col("j").at(span(4))).unwrap_err();
    assert_eq!((d.code.as_str(), d.labels[0].span.column), ("argument", 4), "{d}");
    let (schema, batches) = bench.engine.collect(pinned, &["s".into(), "i".into()], &TaskHandle::new()).unwrap();
    assert_eq!((schema.field(0).name().as_str(), batches[0].num_rows()), ("s", 5));
}

#[test]
fn a_cancelled_task_stops() {
    let bench = TestEngine::default();
    let values: Vec<Option<i64>> = (0..3000).map(Some).collect();
    let f = bench.frame(vec![("a", ints(&values))]);
    let cross = Op::Join {
        left: f,
        right: f,
        how: onrush_wire::plan::JoinKind::Cross,
        left_on: vec![],
        right_on: vec![],
        suffix: "_r".into(),
    };
    let big = bench.step(cross);
    let task = TaskHandle::new();
    let stop = task.clone();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        stop.cancel();
    });
    let started = std::time::Instant::now();
    let d = bench.engine.row_count(big, &task).unwrap_err();
    stopper.join().unwrap();
    assert_eq!(d.class, Class::Interrupted);
    assert!(started.elapsed().as_secs() < 5, "stopped after {:?}", started.elapsed());
    assert_eq!(bench.select(f, call("len", [])), "u32: 3000");
}

#[test]
fn plans_say_where_they_run() {
    let bench = TestEngine::on_cpu();
    let f = sample(&bench);
    let id = bench.step(Op::GroupBy { input: f, keys: vec![col("j")], aggs: vec![call("sum", [col("i")])] });
    let text = bench.engine.explain(id, false, &TaskHandle::new()).unwrap();
    assert!(text.contains("aggregate sum(i) by j  [cpu]") && text.contains("[cpu] the engine is `cpu`"), "{text}");
    let text = bench.engine.explain(id, true, &TaskHandle::new()).unwrap();
    assert!(text.contains("rows=3") && text.contains("ran in"), "{text}");
}

/// By hand: 500 times plus one.
#[test]
fn a_loop_of_steps_and_a_deep_expression() {
    let bench = TestEngine::default();
    let mut id = bench.frame(vec![("a", ints(&[Some(0), None]))]);
    for _ in 0..500 {
        id = bench.step(Op::WithColumns { input: id, exprs: vec![op(col("a"), Add, lit(1)).alias("a")] });
    }
    assert_eq!(bench.column(id, 0), ["500", "null"]);
    let f = bench.frame(vec![("a", ints(&[Some(1)]))]);
    let deep = (0..300).fold(col("a"), |sum, _| op(sum, Add, col("a")));
    assert_eq!(bench.select(f, deep), "i64: 301");
}

/// In the words of the cell: no positions, no names of hidden columns, rows by the step that made them.
#[test]
fn plans_read_like_the_cell() {
    let bench = TestEngine::default();
    let f = sample(&bench);
    let mean = over(call("mean", [col("f")]), &["s"]);
    let f = bench.step(Op::WithColumns { input: f, exprs: vec![op(col("f"), Subtract, mean).alias("r")] });
    let f = bench.step(Op::Filter { input: f, predicate: op(col("s"), Equal, lit("a")) });
    let keys = vec![col("s")];
    let f = bench.step(Op::GroupBy { input: f, keys, aggs: vec![call("len", []), call("max", [col("r")])] });
    let text = bench.engine.explain(f, false, &TaskHandle::new()).unwrap();
    for part in
        ["aggregate len()", "by s", "filter s == \"a\"", "window mean(f) over s", "scan values (2 of 7 columns)"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("__") && !text.contains('@') && !text.contains("Exec"), "{text}");
}

#[test]
fn describe_and_casts_are_shown_as_they_were_written() {
    let bench = TestEngine::on_cpu();
    let f = sample(&bench);
    let kept = bench.step(Op::Filter { input: f, predicate: op(col("i"), Greater, lit(0)) });
    let id = bench.step(Op::Describe { input: kept });
    for analyze in [false, true] {
        let text = bench.engine.explain(id, analyze, &TaskHandle::new()).unwrap();
        let steps: Vec<&str> = text.lines().take_while(|line| line.contains("  [cpu]")).collect();
        assert_eq!(steps.len(), 3, "{text}");
        assert!(steps[0].starts_with("describe  [cpu]"), "{text}");
        assert!(steps[1].starts_with("  filter i > 0  [cpu]"), "{text}");
        assert!(steps[2].starts_with("    scan values (7 columns)  [cpu]"), "{text}");
    }
    let whole = call("cast", [col("s"), lit("i64")]).at(span(3));
    let id = bench.step(Op::Select { input: f, exprs: vec![whole] });
    let text = bench.engine.explain(id, false, &TaskHandle::new()).unwrap();
    assert!(text.contains("s = s as i64"), "{text}");
}

/// The emulated device with little memory: what does not fit runs on the CPU, and smaller queries go on. Expected
/// values are sums of arithmetic series.
#[test]
fn what_does_not_fit_on_a_device_has_the_same_answer() {
    let config = EngineConfig {
        choice: EngineChoice::Emulated,
        cache: Some(onrush_wire::paths::cache_dir()),
        device_memory: Some(4 << 20),
        ..EngineConfig::default()
    };
    let bench = TestEngine::of(config);
    let numbers = |rows: i64| bench.frame(vec![("n", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef)]);
    let sum = |frame| bench.step(Op::Select { input: frame, exprs: vec![call("sum", [col("n")])] });
    let (small, large) = (numbers(1_000), numbers(1_000_000));
    assert_eq!(bench.rows(sum(small)), "n|499500");
    assert_eq!(bench.rows(sum(large)), "n|499999500000");
    // Earlier frames are still there, and cached columns are evicted for new ones.
    let again: Vec<_> = (1..=8).map(|k| numbers(100_000 * k / 2)).collect();
    for (k, frame) in (1..=8).zip(&again) {
        let rows: i64 = 100_000 * k / 2;
        assert_eq!(bench.rows(sum(*frame)), format!("n|{}", rows * (rows - 1) / 2));
    }
    assert_eq!(bench.rows(sum(small)), "n|499500");
}

/// An aggregate, an order and a join over ten times the memory of the device; what is in order comes from the standard
/// library.
#[test]
fn data_of_ten_times_the_device_has_the_same_answers() {
    const LIMIT: u64 = 1 << 20;
    let config = EngineConfig {
        choice: EngineChoice::Emulated,
        cache: Some(onrush_wire::paths::cache_dir()),
        device_memory: Some(LIMIT),
        ..EngineConfig::default()
    };
    let bench = TestEngine::of(config);
    let rows = 10 * LIMIT as i64 / 8;
    let mut numbers: Vec<i64> = (0..rows).map(|row| row * 7919 % 250_007).collect();
    let frame = bench.frame(vec![("n", Arc::new(Int64Array::from(numbers.clone())) as ArrayRef)]);
    let query = |text: String| bench.step(Op::Sql { query: text, tables: vec![("t".to_string(), frame)] });
    let joined = "select count(*) as c from t a join (select distinct n from t) b on a.n = b.n";
    assert_eq!(bench.rows(query(joined.to_string())), format!("c|{rows}"));
    numbers.sort_unstable();
    let total: i64 = numbers.iter().sum();
    assert_eq!(
        bench.rows(query("select sum(n) as s, count(*) as c from t".to_string())),
        format!("s c|{total} {rows}")
    );
    for at in [0, 777_777, rows - 1] {
        let text = format!("select n from t order by n limit 1 offset {at}");
        assert_eq!(bench.rows(query(text)), format!("n|{}", numbers[at as usize]));
    }
}

/// The same step over the same rows again: planned once, and its joins are built anew.
#[test]
fn a_plan_runs_again_when_its_result_is_forgotten() {
    let bench = TestEngine::default();
    let left = bench.frame(vec![("k", ints(&[Some(1), Some(2), None])), ("a", ints(&[Some(10), Some(20), Some(30)]))]);
    let right = bench.frame(vec![("k", ints(&[Some(2), Some(1)])), ("b", ints(&[Some(200), Some(100)]))]);
    let query = "select a, b from l join r on l.k = r.k order by a";
    let mut seen = Vec::new();
    for _ in 0..3 {
        let tables = vec![("l".to_string(), left), ("r".to_string(), right)];
        let id = bench.step(Op::Sql { query: query.to_string(), tables });
        seen.push(bench.rows(id));
        bench.engine.forget_results();
    }
    assert_eq!(seen, vec!["a b|10 100|20 200"; 3]);
    // A frame that goes takes the plans that read it along.
    bench.engine.release(&[left]);
    let other = bench.frame(vec![("k", ints(&[Some(2)])), ("a", ints(&[Some(7)]))]);
    let tables = vec![("l".to_string(), other), ("r".to_string(), right)];
    let id = bench.step(Op::Sql { query: query.to_string(), tables });
    assert_eq!(bench.rows(id), "a b|7 200");
}

/// More columns than one kernel takes are described by several kernels. Expected values are those of the CPU engine.
#[test]
fn hundreds_of_columns_are_several_kernels() {
    let device = EngineConfig {
        choice: EngineChoice::Emulated,
        cache: Some(onrush_wire::paths::cache_dir()),
        ..EngineConfig::default()
    };
    let rows = [TestEngine::on_cpu(), TestEngine::of(device)].map(|bench| {
        let names: Vec<String> = (0..300).map(|i| format!("c{i}")).collect();
        let columns = names.iter().map(|name| (name.as_str(), ints(&[Some(1), None, Some(4)])));
        let input = bench.frame(columns.collect());
        let rows = bench.rows(bench.step(Op::Describe { input }));
        let runs = bench.engine.accelerator().map(|accelerator| accelerator.gpu.spent().0);
        assert!(runs.is_none_or(|runs| runs > 1), "{runs:?} runs on the device");
        rows
    });
    assert_eq!(rows[0], rows[1]);
}
