//! Parquet files that are too large to be held, as DataFusion reads them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int32Array, Int64Array, RecordBatch};
use arrow::datatypes::Int64Type;
use datafusion::prelude::{SessionConfig, SessionContext};
use onrush_frame::TaskHandle;
use onrush_io::{Content, FileCache};
use onrush_wire::plan::{Format, ParquetOptions, Source};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// The numbers that a query gives over two files of four row groups each. One group of each has NaN and small numbers.
fn query(sql: &str) -> Vec<i64> {
    let dir = tempfile::tempdir().unwrap();
    for (k, folder) in ["k=1", "k=2"].iter().enumerate() {
        let numbers = (0..40).map(|i| Some(if i == 15 { f64::NAN } else { f64::from(i / 10) * 20.0 }));
        let x = Arc::new(numbers.collect::<Float64Array>()) as _;
        let i = Arc::new((0..40).map(|i| Some(i + 100 * k as i64)).collect::<Int64Array>()) as _;
        let batch = RecordBatch::try_from_iter([("x", x), ("i", i)]).unwrap();
        std::fs::create_dir(dir.path().join(folder)).unwrap();
        let file = std::fs::File::create(dir.path().join(folder).join("a.parquet")).unwrap();
        let properties = WriterProperties::builder().set_max_row_group_row_count(Some(10)).build();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
    scan(&dir.path().to_string_lossy(), ParquetOptions::default(), sql)
}

/// Only `*` is a wildcard in a file name, and no name is a URL. The expected rows are those that were written.
#[test]
fn names_of_files_may_have_any_character() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["what?.parquet", "[a].parquet", "50%.parquet", "a%20b.parquet", "#1 {x}.parquet"] {
        let batch = RecordBatch::try_from_iter([("i", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)]).unwrap();
        let path = dir.path().join(name);
        let mut writer = ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        assert_eq!(scan(&path.to_string_lossy(), ParquetOptions::default(), "select i from t"), [1, 2], "{name}");
    }
}

/// The numbers that a query gives over files.
fn scan(path: &str, options: ParquetOptions, sql: &str) -> Vec<i64> {
    let format = Format::Parquet(options);
    let source = Source { path: path.to_string(), folder: String::new(), format, cluster: None };
    let loaded = FileCache::new(10).open(&source, &TaskHandle::new()).unwrap();
    let Content::Scan(provider) = loaded.content else { panic!("nothing may be held") };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(1));
        context.register_table("t", provider).unwrap();
        let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
        batches.iter().flat_map(|b| b.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
    })
}

/// NaN is above all numbers, as in Polars. The expected rows are counted by hand.
#[test]
fn rows_with_nan_are_not_pruned() {
    // In each file the ten rows of 60, and the NaN.
    assert_eq!(query("select count(*) from t where x > 50"), [22]);
    assert_eq!(query("select count(*) from t where x > 50 and k = 2"), [11]);
    assert_eq!(query("select i from t where x > 60 order by i"), [15, 115]);
    assert_eq!(query("select i from t order by x desc, i limit 1"), [15]);
}

#[test]
fn columns_of_folders_are_scanned() {
    assert_eq!(query("select sum(k) from t"), [120]);
    assert_eq!(query("select i from t where k = 2 and i < 103"), [100, 101, 102]);
    assert_eq!(query("select k from t limit 1 offset 40"), [2]);
    assert_eq!(query("select count(*) from t"), [80]);
}

/// By hand: integers of 32 and 64 bits and floats are one column of floats, as `union_by_name` of DuckDB makes them.
#[test]
fn files_of_different_widths_are_scanned() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, values: ArrayRef| {
        let batch = RecordBatch::try_from_iter([("a", values)]).unwrap();
        let file = std::fs::File::create(dir.path().join(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    };
    put("1.parquet", Arc::new(Int32Array::from(vec![1, 2])));
    put("2.parquet", Arc::new(Int64Array::from(vec![3, 1 << 40])));
    let path = |name: &str| format!("{}/{name}", dir.path().display());
    let options = || ParquetOptions { union_by_name: true, ..ParquetOptions::default() };
    assert_eq!(scan(&path("*.parquet"), options(), "select a from t where a > 1 order by a"), [2, 3, 1 << 40]);
    put("3.parquet", Arc::new(Float64Array::from(vec![0.5, 2.5])));
    let query = "select cast(a * 2 as bigint) from t where a > 1 and a < 4 order by a";
    assert_eq!(scan(&path("*.parquet"), options(), query), [4, 5, 6]);
    // The same files, held.
    let format = Format::Parquet(options());
    let source = Source { path: path("*.parquet"), folder: String::new(), format, cluster: None };
    let loaded = FileCache::new(64 << 20).open(&source, &TaskHandle::new()).unwrap();
    let Content::Memory(table) = loaded.content else { panic!("small files are held") };
    assert_eq!(super::support::schema(&table), "a f64");
    assert_eq!(super::support::rows(&table), "1.0\n2.0\n3.0\n1099511627776.0\n0.5\n2.5");
}

/// The files of `files/make.py`: `a` is 1, 2 and 3, in two orders of columns, and only the last file has `more`.
#[test]
fn files_of_different_columns_are_scanned() {
    let path = format!("{}/tests/files/order-*.parquet", env!("CARGO_MANIFEST_DIR"));
    let options = || ParquetOptions { union_by_name: true, ..ParquetOptions::default() };
    assert_eq!(scan(&path, options(), "select a from t where b <> 'x'"), [2, 3]);
    assert_eq!(scan(&path, options(), "select count(more) from t"), [1]);
    assert_eq!(scan(&path, options(), "select a from t where more is null"), [1, 2]);
}
