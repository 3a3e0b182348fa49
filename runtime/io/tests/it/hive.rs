//! Folders named `key=value`: their keys are columns whatever the format of the files.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use onrush_frame::{Table, TaskHandle};
use onrush_io::FrameWriter;
use onrush_wire::plan::{CsvOptions, ExcelOptions, Format, ParquetOptions, Sink, SinkFormat};

use super::support::{Folder, assert_says, rows, schema};

/// Writes `v`, divided by `g` and `k`.
fn divided(folder: &Folder, path: &str, format: SinkFormat) {
    let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), Some("a"), Some("b"), None]));
    let numbers = |values: [i64; 4]| -> ArrayRef { Arc::new(Int64Array::from(values.to_vec())) };
    let columns = [("g", strings), ("v", numbers([1, 2, 3, 4])), ("k", numbers([1, 2, 1, 2]))];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    let format = SinkFormat::Folders { by: vec!["g".to_string(), "k".to_string()], format: Box::new(format) };
    let sink = Sink { path: path.to_string(), folder: folder.dir.path().to_str().unwrap().to_string(), format };
    let mut writer = FrameWriter::create(&sink, &batch.schema()).unwrap();
    writer.write(&batch, &TaskHandle::new()).unwrap();
    writer.finish(&TaskHandle::new()).unwrap();
}

fn formats() -> Vec<(&'static str, SinkFormat, Format)> {
    let none = || "none".to_string();
    vec![
        (
            "csv",
            SinkFormat::Csv { separator: ',', header: true, null: String::new() },
            Format::Csv(CsvOptions::default()),
        ),
        ("jsonl", SinkFormat::JsonLines, Format::JsonLines),
        ("json", SinkFormat::JsonArray, Format::JsonLines),
        ("arrow", SinkFormat::Ipc { compression: none() }, Format::Ipc),
        ("avro", SinkFormat::Avro { compression: none() }, Format::Avro),
        ("orc", SinkFormat::Orc { compression: none() }, Format::Orc),
        ("xlsx", SinkFormat::Excel { sheet: "s".to_string() }, Format::Excel(ExcelOptions::default())),
        (
            "parquet",
            SinkFormat::Parquet { compression: none(), row_group_rows: None },
            Format::Parquet(ParquetOptions::default()),
        ),
    ]
}

/// The written rows, by the names of the folders.
#[test]
fn rows_come_back_with_their_keys() {
    for (extension, written, read) in formats() {
        let folder = Folder::new();
        divided(&folder, "out", written);
        let expected = "4|null|2\n2|a|2\n1|b|1\n3|b|1";
        let check = |table: &Table, expected: &str| assert_eq!(rows(table), expected, "{extension}");
        let table = folder.open("out", read.clone()).unwrap_or_else(|e| panic!("{extension}: {e}"));
        assert_eq!(schema(&table), "v i64, g str, k i64", "{extension}");
        check(&table, expected);
        check(&folder.open(&format!("out/*/*/*.{extension}"), read.clone()).unwrap(), expected);
        check(&folder.open(&format!("out/g=b/**/*.{extension}"), read.clone()).unwrap(), "1|b|1\n3|b|1");
        // A single file has the columns of the file.
        let one = folder.open(&format!("out/g=a/k=2/part-0.{extension}"), read).unwrap();
        check(&one, "2");
    }
}

#[test]
fn keys_are_chosen_as_other_columns() {
    let folder = Folder::new();
    divided(&folder, "out", SinkFormat::Csv { separator: ',', header: true, null: String::new() });
    let csv = |change: fn(&mut CsvOptions)| {
        let mut options = CsvOptions::default();
        change(&mut options);
        folder.open("out", Format::Csv(options))
    };
    let chosen = csv(|o| o.columns = vec!["k".to_string(), "v".to_string()]).unwrap();
    assert_eq!((schema(&chosen).as_str(), rows(&chosen).as_str()), ("k i64, v i64", "2|4\n2|2\n1|1\n1|3"));
    assert_eq!(schema(&csv(|o| o.columns = vec!["g".to_string()]).unwrap()), "g str");
    assert_eq!(schema(&csv(|o| o.hive = Some(false)).unwrap()), "v i64");
    let named = csv(|o| (o.file_name, o.limit) = (Some("f".to_string()), Some(1))).unwrap();
    assert_eq!((schema(&named).as_str(), named.rows()), ("v i64, f str, g str, k i64", 1));
    assert_says(&csv(|o| o.columns = vec!["q".to_string()]).unwrap_err(), "unknown-column", &["q"]);
}

/// As DuckDB: a column of the files stays what it is there.
#[test]
fn keys_that_the_files_hold_are_read_from_there() {
    let folder = Folder::new();
    folder.put("h/k=1/a.csv", "k,v\n7,1\n").put("h/k=2/a.csv", "k,v\n8,2\n");
    let table = folder.open("h", Format::Csv(CsvOptions::default())).unwrap();
    assert_eq!((schema(&table).as_str(), rows(&table).as_str()), ("k i64, v i64", "7|1\n8|2"));
    let other = Folder::new();
    other.put("h/k=1/a.csv", "v\n1\n").put("h/j=2/a.csv", "v\n2\n");
    let error = other.open("h", Format::Csv(CsvOptions::default())).unwrap_err();
    assert_says(&error, "different-columns", &["`k` and `j`", "csv().hive(false)"]);
}
