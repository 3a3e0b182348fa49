//! Frames that are written by the engine and read again: folders of Parquet that are scanned, and formats that are
//! held.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array};
use onrush_frame::TaskHandle;
use onrush_io::FileCache;
use onrush_wire::FrameId;
use onrush_wire::plan::{Format, Op, ParquetOptions, Sink, SinkFormat, Source};

use super::support::*;

/// 80 rows: `i` counts them, `k` is 1 for the first half and 2 for the other, and `x` is 0, 20, 40 and 60 for ten rows
/// each, in each half, but for one NaN.
fn rows(bench: &TestEngine) -> FrameId {
    let x = (0..80).map(|i| if i % 40 == 15 { f64::NAN } else { f64::from(i % 40 / 10) * 20.0 });
    let x: ArrayRef = Arc::new(x.map(Some).collect::<Float64Array>());
    let numbers = |of: fn(i64) -> i64| Arc::new((0..80).map(|i| Some(of(i))).collect::<Int64Array>()) as ArrayRef;
    bench.frame(vec![("x", x), ("i", numbers(|i| i)), ("k", numbers(|i| i / 40 + 1))])
}

fn write(bench: &TestEngine, frame: FrameId, path: &str, format: SinkFormat) {
    let sink = Sink { path: path.to_string(), folder: "/".to_string(), format };
    let (_, rows, bytes) = bench.engine.write(frame, &sink, &TaskHandle::new()).unwrap();
    assert!(rows == 80 && bytes > 0);
}

fn read(bench: &TestEngine, path: &str, format: Format) -> FrameId {
    bench.step(Op::Read(Source { path: path.to_string(), folder: "/".to_string(), format, cluster: None }))
}

/// The expected rows are counted by hand. NaN is above all numbers, as in Polars.
#[test]
fn scans_of_folders_give_rows_with_nan() {
    // Nothing is held: each query reads the files.
    FileCache::shared().set_limit(0);
    for choice in choices() {
        let bench = TestEngine::of(onrush_engine::EngineConfig { choice, ..Default::default() });
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out").to_string_lossy().into_owned();
        let parquet = SinkFormat::Parquet { compression: String::new(), row_group_rows: Some(10) };
        let frame = rows(&bench);
        write(&bench, frame, &path, SinkFormat::Folders { by: vec!["k".to_string()], format: Box::new(parquet) });
        let scan = read(&bench, &path, Format::Parquet(ParquetOptions::default()));
        let ask = |query: &str| bench.sql(query, &[("t", scan)]);
        assert_eq!(ask("select count(*) as n from t where x > 50"), "n|22", "{choice:?}");
        assert_eq!(ask("select count(*) as n, sum(i) as s from t where x > 50 and k = 2"), "n s|11 800", "{choice:?}");
        assert_eq!(ask("select i, k from t where x > 60 order by i"), "i k|15 1|55 2", "{choice:?}");
        assert_eq!(ask("select i from t order by x desc, i limit 1"), "i|15", "{choice:?}");
        assert_eq!(ask("select k, count(*) as n, max(i) as m from t group by k order by k"), "k n m|1 40 39|2 40 79");
        assert_eq!(ask("select count(*) as n from t"), "n|80");
        let some = ParquetOptions { columns: vec!["k".to_string(), "i".to_string()], ..ParquetOptions::default() };
        let some = read(&bench, &path, Format::Parquet(some));
        assert_eq!(bench.sql("select * from t limit 1 offset 40", &[("t", some)]), "k i|2 40");
    }
}

#[test]
fn formats_by_their_extension() {
    let bench = TestEngine::on_cpu();
    let dir = tempfile::tempdir().unwrap();
    let frame = rows(&bench);
    for name in ["a.parquet", "a.arrow", "a.feather", "a.avro", "a.orc", "a.xlsx", "a.csv", "a.jsonl"] {
        let path = dir.path().join(name).to_string_lossy().into_owned();
        write(&bench, frame, &path, SinkFormat::Any);
        let back = read(&bench, &path, Format::Any);
        let sums = bench.sql("select sum(i) as i, sum(k) as k, count(*) as n from t where x = 60", &[("t", back)]);
        // Rows 30 to 39 and 70 to 79.
        assert_eq!(sums, "i k n|1090 30 20", "{name}");
    }
}
