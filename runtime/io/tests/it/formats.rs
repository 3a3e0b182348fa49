//! Binary formats: files of other libraries with what these libraries read (`files/make.py`), round trips of each
//! writer, and damaged files.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, DurationMicrosecondArray,
    Float64Array, Int8Array, Int64Array, ListArray, RecordBatch, StringArray, StringDictionaryBuilder,
    Time64MicrosecondArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{Field, Int8Type, Int64Type};
use arrow::ipc::writer::FileWriter;
use onrush_frame::{Table, TaskHandle, dtype_to_wire, value_at};
use onrush_io::{Content, FileCache, FrameWriter, LoadedSource};
use onrush_wire::plan::{ExcelOptions, Format, ParquetOptions, Sheet, Sink, SinkFormat, Source};
use onrush_wire::{Class, DataType, Diagnostic, TimeUnit, Value};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

/// A folder in memory where there is one: each written file waits for the disk.
fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

fn files() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

fn load(path: &str, folder: &Path, format: Format) -> Result<LoadedSource, Diagnostic> {
    let folder = folder.to_string_lossy().into_owned();
    let source = Source { path: path.to_string(), folder, format, cluster: None };
    FileCache::new(64 << 20).open(&source, &TaskHandle::new())
}

fn open(path: &str, folder: &Path, format: Format) -> Result<Table, Diagnostic> {
    load(path, folder, format).map(|loaded| match loaded.content {
        Content::Memory(table) => table.as_ref().clone(),
        Content::Scan(_) => panic!("a small file is held"),
    })
}

fn excel(change: impl FnOnce(&mut ExcelOptions)) -> Format {
    let mut options = ExcelOptions::default();
    change(&mut options);
    Format::Excel(options)
}

fn parquet(change: impl FnOnce(&mut ParquetOptions)) -> Format {
    let mut options = ParquetOptions::default();
    change(&mut options);
    Format::Parquet(options)
}

fn names(table: &Table) -> Vec<&str> {
    table.schema().fields().iter().map(|f| f.name().as_str()).collect()
}

fn column(table: &Table, name: &str) -> Vec<Value> {
    let column = table.column(table.schema().index_of(name).unwrap()).unwrap();
    (0..column.len()).map(|i| value_at(column.as_ref(), i)).collect()
}

fn assert_says(error: &Diagnostic, code: &str, parts: &[&str]) {
    assert_eq!(error.code, code, "{error}");
    let all = format!("{error}\n{}\n{}", error.notes.join("\n"), error.help.join("\n"));
    for part in parts {
        assert!(all.contains(part), "no `{part}` in: {all}");
    }
}

/// A value as `make.py` writes it.
fn plain(value: &Value) -> Json {
    let micros = |value: i64, unit: &TimeUnit| match unit {
        TimeUnit::Second => value * 1_000_000,
        TimeUnit::Millisecond => value * 1_000,
        TimeUnit::Microsecond => value,
        TimeUnit::Nanosecond => value.div_euclid(1_000),
    };
    match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => json!(value),
        Value::Int(value) => json!(value),
        Value::UInt(value) => json!(value),
        Value::Float32(value) => json!(value),
        Value::Float(value) => json!(value),
        Value::Text(text) => json!(text),
        Value::Binary(bytes) => json!({"hex": bytes.iter().map(|b| format!("{b:02x}")).collect::<String>()}),
        Value::Decimal { value, scale, .. } => {
            let digits = 10i128.pow(*scale as u32);
            let sign = if *value < 0 { "-" } else { "" };
            let (whole, rest) = (value.abs() / digits, value.abs() % digits);
            json!({"decimal": format!("{sign}{whole}.{rest:0width$}", width = *scale as usize)})
        }
        Value::Date(day) => json!({"day": day}),
        Value::Time(nanos) => json!({"time": nanos / 1_000}),
        Value::Timestamp { value, unit, .. } => json!({"micros": micros(*value, unit)}),
        Value::Duration { value, unit } => json!({"span": micros(*value, unit)}),
        Value::List(values) => Json::Array(values.iter().map(plain).collect()),
        Value::Struct(fields) => {
            json!({"struct": fields.iter().map(|(name, value)| json!([name, plain(value)])).collect::<Vec<_>>()})
        }
    }
}

fn type_name(dtype: &DataType) -> String {
    match dtype {
        DataType::Struct(_) => "struct".to_string(),
        DataType::Time(_) => "time".to_string(),
        // Avro has no name for UTC but an offset.
        DataType::Timestamp(unit, Some(zone)) if zone == "+00:00" => {
            DataType::Timestamp(*unit, Some("UTC".to_string())).to_string()
        }
        other => other.to_string(),
    }
}

#[test]
fn files_of_other_libraries() {
    let text = std::fs::read_to_string(files().join("expected.json")).unwrap();
    let expected: serde_json::Map<String, Json> = serde_json::from_str(&text).unwrap();
    let mut wrong = Vec::new();
    for (name, expected) in &expected {
        let format = match expected["reader"].as_str().unwrap() {
            "ipc" => Format::Ipc,
            "orc" => Format::Orc,
            "avro" => Format::Avro,
            _ => excel(|_| {}),
        };
        let table = match open(name, &files(), format) {
            Ok(table) => table,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let columns: Vec<Json> = table
            .schema()
            .fields()
            .iter()
            .map(|field| {
                let values: Vec<Json> = column(&table, field.name()).iter().map(plain).collect();
                json!([field.name(), type_name(&dtype_to_wire(field.data_type())), values])
            })
            .collect();
        let wanted = expected["columns"].as_array().unwrap();
        for (found, wanted) in columns.iter().zip(wanted).filter(|(found, wanted)| !same(found, wanted)) {
            wrong.push(format!("{name}: {found} and not {wanted}"));
        }
        assert_eq!(columns.len(), wanted.len(), "{name}");
        // The same file without its format.
        let any = open(name, &files(), Format::Any).unwrap();
        assert_eq!(any.batches(), table.batches(), "{name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(expected.len() >= 14);
}

/// `1` and `1.0` are one number.
fn same(left: &Json, right: &Json) -> bool {
    match (left, right) {
        (Json::Number(left), Json::Number(right)) => left.as_f64() == right.as_f64(),
        (Json::Array(left), Json::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Json::Object(left), Json::Object(right)) => {
            left.len() == right.len() && left.iter().all(|(key, left)| right.get(key).is_some_and(|r| same(left, r)))
        }
        _ => left == right,
    }
}

#[test]
fn parts_of_workbooks() {
    let open = |change: fn(&mut ExcelOptions)| open("book.xlsx", &files(), excel(change));
    let sheets = self::open("book.xlsx", &files(), Format::Sheets).unwrap();
    assert_eq!(column(&sheets, "sheet"), ["Data", "More here", "Empty", "Hidden"].map(Value::from));
    assert_eq!(column(&sheets, "visible"), [true, true, true, false].map(Value::Boolean));

    // The cell aside gives a column and a row; the blank row between is left out, and names are made distinct.
    let more = open(|o| o.sheet = Sheet::from("More here")).unwrap();
    assert_eq!(names(&more), ["a", "a_duplicated_0", "column_4"]);
    assert_eq!(column(&more, "a"), [Value::Int(1), Value::Int(2), Value::Null]);
    let more = open(|o| {
        o.sheet = Sheet::from(1);
        o.range = Some("B4:C9".to_string());
        o.has_header = false;
    })
    .unwrap();
    assert_eq!(names(&more), ["column_1", "column_2"]);
    assert_eq!(column(&more, "column_2"), ["x", "y"].map(Value::from));

    let some = open(|o| {
        o.columns = vec!["text".to_string(), "whole".to_string()];
        o.limit = Some(1);
    })
    .unwrap();
    assert_eq!((names(&some), some.rows()), (vec!["text", "whole"], 1));
    let header = open(|o| o.sheet = Sheet::from("Hidden")).unwrap();
    assert_eq!((names(&header), header.rows()), (vec!["only a header"], 0));

    assert_says(&open(|o| o.sheet = Sheet::from("Empty")).unwrap_err(), "empty-sheet", &["`Empty`", "book.xlsx"]);
    let error = open(|o| o.sheet = Sheet::from("2024")).unwrap_err();
    assert_says(&error, "no-sheet", &["no sheet `2024`", "`Data`, `More here`"]);
    assert_says(&open(|o| o.sheet = Sheet::from(4)).unwrap_err(), "no-sheet", &["4 sheets", "position 4"]);
    assert_says(&open(|o| o.range = Some("Z".to_string())).unwrap_err(), "bad-option", &["`Z`", "B3:F200"]);
    let error = open(|o| o.columns = vec!["Text".to_string()]).unwrap_err();
    assert_says(&error, "unknown-column", &["`Text`", "did you mean `text`"]);
}

#[test]
fn files_of_another_kind() {
    let read = |name: &str, format: Format| open(name, &files(), format).unwrap_err();
    let avro = read("book.xlsx", Format::Avro);
    assert_says(&avro, "wrong-format", &["book.xlsx", "is not an Avro file: it is an Excel file", "read_excel"]);
    let parquet = read("zlib.orc", parquet(|_| {}));
    assert_says(&parquet, "no-parquet", &["an ORC file", "read_orc"]);
    assert_says(&read("expected.json", Format::Ipc), "wrong-format", &["read_json"]);
    assert_says(&read("make.py", excel(|_| {})), "wrong-format", &["read_csv"]);
    assert_says(&read("one.feather", Format::Ipc), "unsupported-format", &["Feather 1", "one.feather"]);
    assert_says(&read("make.py", Format::Any), "unknown-format", &["`.py`", "read_csv"]);
}

#[test]
fn folders_are_columns() {
    let table = open("hive/*/*/*/*.parquet", &files(), parquet(|_| {})).unwrap();
    assert_eq!(names(&table), ["v", "year", "day", "name"]);
    // Sorted by path: the name of null comes after the digits.
    let rows: Vec<(Value, Value, Value)> = ["v", "year", "name"]
        .map(|name| column(&table, name))
        .into_iter()
        .map(Vec::into_iter)
        .fold(Vec::new(), |mut rows: Vec<Vec<Value>>, values| {
            for (i, value) in values.enumerate() {
                if rows.len() <= i {
                    rows.push(Vec::new());
                }
                rows[i].push(value);
            }
            rows
        })
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone(), row[2].clone()))
        .collect();
    assert_eq!(
        rows,
        [
            (Value::Int(1), Value::Int(2023), Value::from("a b")),
            (Value::Int(2), Value::Int(2023), Value::from("c/d")),
            (Value::Int(3), Value::Int(2024), Value::from("a b")),
            (Value::Int(4), Value::Null, Value::from("é")),
        ]
    );
    // 2013-01-02 is day 15707, and 2023 is ten years of 365 days and two leap days later: Python's datetime.
    assert_eq!(column(&table, "day")[0], Value::Date(15707 + 3652));
    let folder = open("hive", &files(), parquet(|_| {})).unwrap();
    assert_eq!(folder.batches(), table.batches());
    let any = open("hive/", &files(), Format::Any).unwrap();
    assert_eq!(any.batches(), table.batches());

    let without = open("hive", &files(), parquet(|o| o.hive = Some(false))).unwrap();
    assert_eq!(names(&without), ["v"]);
    let one = "hive/year=2023/day=2023-01-02/name=a%20b/0.parquet";
    assert_eq!(names(&open(one, &files(), parquet(|_| {})).unwrap()), ["v"], "the folders of a single file");
    assert_eq!(open(one, &files(), parquet(|o| o.hive = Some(true))).unwrap().schema().fields().len(), 4);
    let some = parquet(|o| o.columns = vec!["year".to_string(), "v".to_string()]);
    assert_eq!(names(&open("hive", &files(), some).unwrap()), ["year", "v"]);
}

#[test]
fn columns_by_name() {
    let values = |table: &Table, name: &str| column(table, name);
    let table = open("order-[12].parquet", &files(), parquet(|_| {})).unwrap();
    assert_eq!(values(&table, "a"), [Value::Int(1), Value::Int(2)]);
    assert_eq!(values(&table, "b"), ["x", "y"].map(Value::from));
    let error = open("order-*.parquet", &files(), parquet(|_| {})).unwrap_err();
    assert_says(&error, "different-columns", &["order-3.parquet", "`more`", "union_by_name"]);
    let table = open("order-*.parquet", &files(), parquet(|o| o.union_by_name = true)).unwrap();
    assert_eq!(names(&table), ["a", "b", "more"]);
    assert_eq!(values(&table, "more"), [Value::Null, Value::Null, Value::Float(0.5)]);
}

/// Rows of every type that the formats have together, and some that few have.
fn rows(count: usize) -> RecordBatch {
    let at = |i: usize| (i % 5 != 3).then_some(i as i64);
    let range = || 0..count;
    let mut words = StringDictionaryBuilder::<Int8Type>::new();
    range().for_each(|i| words.append_option((i % 7 != 2).then_some(["red", "green", "blue"][i % 3])));
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>(
        range().map(|i| (i % 4 != 1).then(|| (0..i as i64 % 3).map(Some).collect::<Vec<_>>())),
    );
    let moment = |i: usize| at(i).map(|n| n * 3_600_000_123 + 1_500_000_000_000_000);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("row", Arc::new(range().map(|i| Some(i as i64)).collect::<Int64Array>())),
        ("whole", Arc::new(range().map(at).collect::<Int64Array>())),
        ("tiny", Arc::new(range().map(|i| at(i).map(|n| (n % 100) as i8)).collect::<Int8Array>())),
        ("number", Arc::new(range().map(|i| at(i).map(|n| n as f64 / 4.0)).collect::<Float64Array>())),
        ("text", Arc::new(range().map(|i| at(i).map(|n| format!("text, \"{n}\" é\n"))).collect::<StringArray>())),
        ("yes", Arc::new(range().map(|i| at(i).map(|n| n % 2 == 0)).collect::<BooleanArray>())),
        ("day", Arc::new(range().map(|i| at(i).map(|n| n as i32 + 15_000)).collect::<Date32Array>())),
        ("moment", Arc::new(range().map(moment).collect::<TimestampMicrosecondArray>())),
        ("utc", Arc::new(range().map(moment).collect::<TimestampMicrosecondArray>().with_timezone("UTC"))),
        ("word", Arc::new(words.finish())),
        ("bytes", Arc::new(range().map(|i| at(i).map(|n| n.to_le_bytes())).collect::<BinaryArray>())),
        ("list", Arc::new(lists)),
        ("big", Arc::new(range().map(|i| at(i).map(|n| n as u64)).collect::<UInt64Array>())),
        (
            "money",
            Arc::new(
                range()
                    .map(|i| at(i).map(|n| i128::from(n) * 101 - 5000))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(12, 2)
                    .unwrap(),
            ),
        ),
        (
            "clock",
            Arc::new(
                range().map(|i| at(i).map(|n| n * 1_000_000 % 86_400_000_000)).collect::<Time64MicrosecondArray>(),
            ),
        ),
        ("span", Arc::new(range().map(|i| at(i).map(|n| n * 1_000_000)).collect::<DurationMicrosecondArray>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn without(batch: &RecordBatch, names: &[&str]) -> RecordBatch {
    let keep = batch
        .schema()
        .fields()
        .iter()
        .enumerate()
        .filter(|(_, f)| !names.contains(&f.name().as_str()))
        .map(|(i, _)| i)
        .collect::<Vec<_>>();
    batch.project(&keep).unwrap()
}

fn write(folder: &Path, path: &str, format: SinkFormat, batches: &[RecordBatch]) -> Result<u64, Diagnostic> {
    let sink = Sink { path: path.to_string(), folder: folder.to_string_lossy().into_owned(), format };
    let mut writer = FrameWriter::create(&sink, &batches[0].schema())?;
    for batch in batches {
        writer.write(batch, &TaskHandle::new())?;
    }
    writer.finish(&TaskHandle::new()).map(|written| written.rows)
}

/// The values of columns, by their Arrow arrays.
fn values(batch: &RecordBatch, name: &str) -> Vec<Json> {
    let column = batch.column_by_name(name).unwrap();
    (0..column.len()).map(|i| plain(&value_at(column.as_ref(), i))).collect()
}

#[test]
fn there_and_back() {
    let dir = scratch();
    let all = rows(100);
    let text = |names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    let cases: Vec<(&str, SinkFormat, Vec<String>)> = vec![
        ("none.arrow", SinkFormat::Ipc { compression: "none".to_string() }, vec![]),
        ("lz4.arrow", SinkFormat::Ipc { compression: "lz4".to_string() }, vec![]),
        ("zstd.arrow", SinkFormat::Ipc { compression: "zstd".to_string() }, vec![]),
        ("snappy.avro", SinkFormat::Avro { compression: "snappy".to_string() }, text(&["span"])),
        ("deflate.avro", SinkFormat::Avro { compression: "deflate".to_string() }, text(&["span"])),
        ("zstd.avro", SinkFormat::Avro { compression: "zstd".to_string() }, text(&["span"])),
        ("none.avro", SinkFormat::Avro { compression: "none".to_string() }, text(&["span"])),
        ("zstd.orc", SinkFormat::Orc { compression: "zstd".to_string() }, text(&["span", "list", "money", "clock"])),
        ("zlib.orc", SinkFormat::Orc { compression: "zlib".to_string() }, text(&["span", "list", "money", "clock"])),
        ("none.orc", SinkFormat::Orc { compression: "none".to_string() }, text(&["span", "list", "money", "clock"])),
        ("a.parquet", SinkFormat::Any, vec![]),
        ("a.feather", SinkFormat::Any, vec![]),
        ("a.xlsx", SinkFormat::Any, text(&["bytes", "list", "utc"])),
    ];
    for (name, format, leave) in cases {
        let batch = without(&all, &leave.iter().map(String::as_str).collect::<Vec<_>>());
        let count = write(dir.path(), name, format, &[batch.slice(0, 37), batch.slice(37, 63)]).unwrap();
        assert_eq!(count, 100, "{name}");
        let back = open(name, dir.path(), Format::Any).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(names(&back), batch.schema().fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>());
        for field in batch.schema().fields() {
            let mut expected = values(&batch, field.name());
            if name.ends_with("xlsx") && field.name() == "money" {
                // A number of Excel is a float.
                expected.iter_mut().for_each(|v| {
                    if let Some(text) = v.get("decimal").and_then(Json::as_str) {
                        *v = json!(text.parse::<f64>().unwrap());
                    }
                });
            }
            if name.ends_with("xlsx") && field.name() == "moment" {
                // Excel has milliseconds.
                expected.iter_mut().for_each(|v| {
                    if let Some(micros) = v.get("micros").and_then(Json::as_i64) {
                        *v = json!({"micros": (micros as f64 / 1000.0).round() as i64 * 1000});
                    }
                });
            }
            let found: Vec<Json> = column(&back, field.name()).iter().map(plain).collect();
            let differs = found.iter().zip(&expected).find(|(found, expected)| !same(found, expected));
            assert!(differs.is_none(), "{name} {}: {differs:?}", field.name());
        }
        // Without rows the columns are still there.
        write(dir.path(), &format!("empty-{name}"), SinkFormat::Any, &[batch.slice(0, 0)]).unwrap();
        let empty = open(&format!("empty-{name}"), dir.path(), Format::Any).unwrap();
        assert_eq!((names(&empty), empty.rows()), (names(&back), 0));
    }
}

/// Nulls among the values of a dictionary, here and inside of a list. Expected values: pyarrow.
#[test]
fn nulls_of_dictionaries() {
    let values = StringArray::from(vec![Some("a"), None, Some("")]);
    let keys = Int8Array::from(vec![Some(0), Some(1), None, Some(2)]);
    let words: ArrayRef = Arc::new(DictionaryArray::new(keys, Arc::new(values)));
    let item = Arc::new(Field::new_list_field(words.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths([2, 0, 1, 1]);
    let lists: ArrayRef = Arc::new(ListArray::new(item, offsets, Arc::clone(&words), None));
    let batch = RecordBatch::try_from_iter([("word", words), ("list", lists)]).unwrap();
    let dir = scratch();
    let mut writer =
        FileWriter::try_new(File::create(dir.path().join("a.arrow")).unwrap(), batch.schema_ref()).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
    let table = open("a.arrow", dir.path(), Format::Ipc).unwrap();
    let (a, none, empty) = (Value::Text("a".into()), Value::Null, Value::Text("".into()));
    assert_eq!(column(&table, "word"), [a.clone(), none.clone(), none.clone(), empty.clone()]);
    let lists = [vec![a, none.clone()], vec![], vec![none], vec![empty]].map(Value::List);
    assert_eq!(column(&table, "list"), lists);
}

#[test]
fn values_that_a_format_lacks() {
    let dir = scratch();
    let all = rows(10);
    let error = write(dir.path(), "a.orc", SinkFormat::Any, std::slice::from_ref(&all)).unwrap_err();
    assert_says(&error, "unsupported-type", &["`list`", "ORC", "Parquet"]);
    let error = write(dir.path(), "a.avro", SinkFormat::Any, std::slice::from_ref(&all)).unwrap_err();
    assert_says(&error, "unsupported-type", &["`span`", "Avro"]);
    let big: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
    let big = RecordBatch::try_from_iter([("big", big)]).unwrap();
    let error = write(dir.path(), "b.avro", SinkFormat::Any, std::slice::from_ref(&big)).unwrap_err();
    assert_says(&error, "write-failed", &["`big`", "18446744073709551615"]);
    write(dir.path(), "b.xlsx", SinkFormat::Any, &[big]).unwrap();
    let back = open("b.xlsx", dir.path(), Format::Any).unwrap();
    assert_eq!(column(&back, "big"), [Value::from("18446744073709551615")], "more digits than Excel has are text");
    for (name, parts) in [("a.zip", "`.zip`"), ("a", "no extension")] {
        let error = write(dir.path(), name, SinkFormat::Any, std::slice::from_ref(&all)).unwrap_err();
        assert_says(&error, "unknown-format", &[parts, ".parquet"]);
    }
    let odd = SinkFormat::Ipc { compression: "gzip".to_string() };
    assert_says(&write(dir.path(), "a.arrow", odd, &[all]).unwrap_err(), "bad-option", &["`gzip`", "lz4"]);
    let many: ArrayRef = Arc::new((0..1 << 20).map(Some).collect::<Int64Array>());
    let many = RecordBatch::try_from_iter([("n", many)]).unwrap();
    let error = write(dir.path(), "many.xlsx", SinkFormat::Any, &[many]).unwrap_err();
    assert_says(&error, "write-failed", &["1048576 rows"]);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["b.xlsx"], "a file that failed leaves nothing behind");
}

#[test]
fn folders_there_and_back() {
    let dir = scratch();
    let batch = rows(100);
    let into = |by: &[&str]| SinkFormat::Folders {
        by: by.iter().map(|name| name.to_string()).collect(),
        format: Box::new(SinkFormat::Parquet { compression: "zstd".to_string(), row_group_rows: Some(5) }),
    };
    let count = write(dir.path(), "out", into(&["word", "yes"]), &[batch.slice(0, 50), batch.slice(50, 50)]).unwrap();
    assert_eq!(count, 100);
    let mut folders: Vec<String> = std::fs::read_dir(dir.path().join("out"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    folders.sort();
    assert_eq!(folders, ["word=__HIVE_DEFAULT_PARTITION__", "word=blue", "word=green", "word=red"]);
    assert!(dir.path().join("out/word=red/yes=true/part-0.parquet").is_file());
    let back = open("out", dir.path(), Format::Any).unwrap();
    assert_eq!(back.rows(), 100);
    assert!(names(&back).ends_with(&["word", "yes"]), "{:?}", names(&back));
    // Rows keep their order inside of a folder.
    let red = open("out/word=red/yes=true", dir.path(), Format::Any).unwrap();
    let expected: Vec<Value> = (0..100)
        .filter(|i| i % 5 != 3 && i % 7 != 2 && i % 3 == 0 && i % 2 == 0)
        .map(|i| Value::Int(i as i64))
        .collect();
    assert_eq!(column(&red, "whole"), expected);

    let again = write(dir.path(), "out", into(&["word"]), std::slice::from_ref(&batch)).unwrap_err();
    assert_says(&again, "folder-not-empty", &["out", "remove_dir_all"]);
    for (by, code, part) in [
        (&["words"][..], "unknown-column", "did you mean `word`"),
        (&["number"][..], "bad-option", "`number`"),
        (&[][..], "bad-option", "no column"),
    ] {
        assert_says(&write(dir.path(), "other", into(by), std::slice::from_ref(&batch)).unwrap_err(), code, &[part]);
    }
    let many: ArrayRef = Arc::new((0..10_001).map(Some).collect::<Int64Array>());
    let many = RecordBatch::try_from_iter([("n", Arc::clone(&many)), ("m", many)]).unwrap();
    assert_says(&write(dir.path(), "many", into(&["n"]), &[many]).unwrap_err(), "too-many-folders", &["10000"]);
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["out"], "folders that failed leave nothing behind");
}

/// A workbook of a few kilobytes that unpacks to gigabytes.
#[test]
fn a_workbook_that_unpacks_to_too_much() {
    use std::io::Write;
    let dir = scratch();
    let file = std::fs::File::create(dir.path().join("bomb.xlsx")).unwrap();
    let mut archive = zip::ZipWriter::new(file);
    archive.start_file("[Content_Types].xml", zip::write::SimpleFileOptions::default()).unwrap();
    let zeros = vec![b' '; 1 << 20];
    for _ in 0..100 {
        archive.write_all(&zeros).unwrap();
    }
    archive.finish().unwrap();
    let error = open("bomb.xlsx", dir.path(), excel(|_| {})).unwrap_err();
    assert_says(&error, "unpacks-too-large", &["bomb.xlsx", "unpacks to more than"]);
}

/// Files with random bytes changed are read or refused, and nothing panics or takes the memory of the machine.
#[test]
fn damaged_files_are_errors() {
    let dir = scratch();
    // Knuth's linear congruential generator: the same files every time.
    let mut seed = 7u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let names = [
        "lz4.feather",
        "zstd.feather",
        "plain.feather",
        "stream.arrows",
        "polars.arrow",
        "zlib.orc",
        "zstd.orc",
        "snappy.orc",
        "uncompressed.orc",
        "null.avro",
        "deflate.avro",
        "bzip2.avro",
        "polars.avro",
        "book.xlsx",
        "book.xls",
        "book.ods",
        "order-3.parquet",
    ];
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    for name in names {
        let whole = std::fs::read(files().join(name)).unwrap();
        let format = match Path::new(name).extension().unwrap().to_str().unwrap() {
            "orc" => Format::Orc,
            "avro" => Format::Avro,
            "parquet" => parquet(|_| {}),
            "xlsx" | "xls" | "ods" => excel(|_| {}),
            _ => Format::Ipc,
        };
        for round in 0..60 {
            let mut bytes = whole.clone();
            for _ in 0..1 + round % 4 {
                let at = random(bytes.len());
                match round % 3 {
                    0 => bytes[at] = [0, 0xff, 0x80, 1][random(4)],
                    1 => bytes[at] ^= 1 << random(8),
                    // A length of 2^31 or 2^63 or so.
                    _ => bytes[at..].iter_mut().take(8).for_each(|byte| *byte = 0x7f),
                }
            }
            if round % 5 == 0 {
                bytes.truncate(random(bytes.len()).max(1));
            }
            std::fs::write(dir.path().join(name), &bytes).unwrap();
            if let Err(error) = open(name, dir.path(), format.clone()) {
                assert!(matches!(error.class, Class::Data | Class::Plan) && error.message.contains(name), "{error}");
            }
        }
    }
    std::panic::set_hook(hook);
}
