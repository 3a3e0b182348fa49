//! Files as users have them: good ones with values from other systems, and every kind of bad one with what its error
//! says.

use std::io::Write;
use std::path::Path;

use onrush_frame::{Table, TaskHandle, dtype_to_wire, value_at};
use onrush_io::{Content, FileCache, FileWriter, LoadedSource};
use onrush_wire::plan::{CsvOptions, Format, ParquetOptions, Sink, SinkFormat, Source};
use onrush_wire::{Class, DataType, Diagnostic, TimeUnit, Value};
use tempfile::TempDir;

struct Folder {
    dir: TempDir,
    cache: FileCache,
}

impl Folder {
    fn new() -> Self {
        Folder { dir: tempfile::tempdir().unwrap(), cache: FileCache::new(64 << 20) }
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
        self
    }

    fn open(&self, path: &str, format: Format) -> Result<LoadedSource, Diagnostic> {
        let folder = self.dir.path().to_str().unwrap().to_string();
        self.cache.open(&Source { path: path.to_string(), folder, format, cluster: None }, &TaskHandle::new())
    }

    fn csv(&self, path: &str) -> Result<Table, Diagnostic> {
        self.csv_with(path, |_| {})
    }

    fn csv_with(&self, path: &str, change: impl FnOnce(&mut CsvOptions)) -> Result<Table, Diagnostic> {
        let mut options = CsvOptions::default();
        change(&mut options);
        self.open(path, Format::Csv(options)).map(|l| table(&l))
    }

    fn sink(&self, path: &str, format: SinkFormat) -> Sink {
        Sink { path: path.to_string(), folder: self.dir.path().to_str().unwrap().to_string(), format }
    }

    fn write(&self, path: &str, format: SinkFormat, table: &Table) -> Result<u64, Diagnostic> {
        let mut writer = FileWriter::create(&self.sink(path, format), table.schema())?;
        for batch in table.batches() {
            writer.write(batch, &TaskHandle::new())?;
        }
        writer.finish().map(|w| w.rows)
    }
}

fn table(loaded: &LoadedSource) -> Table {
    match &loaded.content {
        Content::Memory(table) => table.as_ref().clone(),
        Content::Scan(_) => panic!("a small file is held"),
    }
}

fn types(table: &Table) -> Vec<String> {
    table.schema().fields().iter().map(|f| dtype_to_wire(f.data_type()).to_string()).collect()
}

fn column(table: &Table, index: usize) -> Vec<Value> {
    let column = table.column(index).unwrap();
    (0..column.len()).map(|i| value_at(column.as_ref(), i)).collect()
}

fn text(value: &str) -> Value {
    Value::from(value)
}

/// The error of a CSV file of this text.
fn csv_error(content: impl AsRef<[u8]>) -> Diagnostic {
    let folder = Folder::new();
    folder.put("a.csv", content).csv("a.csv").unwrap_err()
}

fn assert_says(error: &Diagnostic, code: &str, parts: &[&str]) {
    assert_eq!(error.code, code, "{error}");
    let all = format!("{error}\n{}", error.notes.join("\n"));
    for part in parts {
        assert!(all.contains(part), "no `{part}` in: {all}");
    }
}

#[test]
fn csv_types_come_from_the_whole_file() {
    let folder = Folder::new();
    let mut content = String::from("i,f,b,d,t,z,zip,s,n\n");
    for i in 0..3000 {
        content += &format!("{i},{i},true,2013-01-02,2013-01-02 03:04:05,2013-01-02T03:04:05Z,0{i},x,NA\n");
    }
    content += "NA,0.5,FALSE,,2013-01-02,2013-01-02T03:04:05+01:00,12345,\"\",\n";
    let table = folder.put("a.csv", content).csv("a.csv").unwrap();
    assert_eq!(types(&table), ["i64", "f64", "bool", "date", "datetime[μs]", "datetime[μs, UTC]", "str", "str", "str"]);
    assert_eq!(table.rows(), 3001);
    let last = |i: usize| column(&table, i)[3000].clone();
    assert_eq!(
        (last(0), last(1), last(2), last(3)),
        (Value::Null, Value::Float(0.5), Value::Boolean(false), Value::Null)
    );
    // 2013-01-02 is day 15707; 03:04:05 is second 11045: Python's datetime.
    let at = |seconds: i64, zone: Option<&str>| Value::Timestamp {
        value: (15707 * 86_400 + seconds) * 1_000_000,
        unit: TimeUnit::Microsecond,
        zone: zone.map(str::to_string),
    };
    assert_eq!((last(4), last(5)), (at(0, None), at(11045 - 3600, Some("UTC"))));
    assert_eq!(column(&table, 4)[0], at(11045, None));
    assert_eq!((last(7), last(8)), (text(""), Value::Null), "a quoted empty text is no null");
    assert_eq!(column(&table, 6)[7], text("07"));
}

#[test]
fn csv_forms() {
    let folder = Folder::new();
    let crlf = "\u{feff}a,b\r\n1,\"x, \"\"y\"\"\r\nz\"\r\n\r\n2,é";
    let table = folder.put("crlf.csv", crlf).csv("crlf.csv").unwrap();
    assert_eq!(table.schema().field(0).name(), "a", "the byte order mark is no part of the name");
    assert_eq!(column(&table, 0), [Value::Int(1), Value::Int(2)]);
    assert_eq!(column(&table, 1), [text("x, \"y\"\r\nz"), text("é")]);

    let semicolons = "# made by hand\nskip me\na;b\n1,5;-\n# not a row\n2;3\n";
    let table = folder
        .put("s.csv", semicolons)
        .csv_with("s.csv", |o| {
            o.separator = ';';
            o.comment = Some('#');
            o.skip_rows = 2;
            o.nulls = vec!["-".to_string()];
        })
        .unwrap();
    assert_eq!(column(&table, 0), [text("1,5"), text("2")]);
    assert_eq!(column(&table, 1), [Value::Null, Value::Int(3)]);

    let table = folder.put("n.csv", "1,a\n2,b\n").csv_with("n.csv", |o| o.has_header = false).unwrap();
    assert_eq!((table.rows(), table.schema().field(1).name().as_str()), (2, "column_2"));

    let table = folder
        .csv_with("n.csv", |o| {
            o.has_header = false;
            o.columns = vec!["column_2".to_string()];
            o.limit = Some(1);
        })
        .unwrap();
    assert_eq!(column(&table, 0), [text("a")]);

    let table = folder.put("one.csv", "a\n1\n\n3\n").csv("one.csv").unwrap();
    assert_eq!(column(&table, 0), [Value::Int(1), Value::Null, Value::Int(3)], "one column: a blank line is a null");

    let table = folder.put("head.csv", "a,b\n").csv("head.csv").unwrap();
    assert_eq!((table.rows(), types(&table)), (0, vec!["str".to_string(), "str".to_string()]));
}

#[test]
fn csv_types_that_the_user_gives() {
    let folder = Folder::new();
    folder.put("a.csv", "zip,n,d,c,when\n01234,7,1.50,x,2013-01-02\n1,,2,x,2013-01-03\n");
    let table = folder
        .csv_with("a.csv", |o| {
            o.dtypes = vec![
                ("zip".to_string(), DataType::Int64),
                ("n".to_string(), DataType::Int8),
                ("d".to_string(), DataType::Decimal { precision: 6, scale: 2 }),
                ("c".to_string(), DataType::Categorical),
                ("when".to_string(), DataType::String),
            ]
        })
        .unwrap();
    assert_eq!(types(&table), ["i64", "i8", "decimal[6,2]", "cat", "str"]);
    assert_eq!(column(&table, 0), [Value::Int(1234), Value::Int(1)]);
    assert_eq!(column(&table, 1), [Value::Int(7), Value::Null]);
    assert_eq!(column(&table, 2)[0], Value::Decimal { value: 150, precision: 6, scale: 2 });
    assert_eq!(column(&table, 3), [text("x"), text("x")]);

    let error = folder
        .put("b.csv", "a,b\n1,2\n3,\"four\"\n")
        .csv_with("b.csv", |o| o.dtypes = vec![("b".to_string(), DataType::Int64)])
        .unwrap_err();
    assert_says(&error, "bad-value", &["line 3", "`four`", "column `b`", "i64", "b.csv"]);
    let error = folder.csv_with("b.csv", |o| o.dtypes = vec![("a".to_string(), DataType::Int8)]);
    assert!(error.is_ok());
    folder.put("c.csv", "a\n1\n300\n");
    let error = folder.csv_with("c.csv", |o| o.dtypes = vec![("a".to_string(), DataType::Int8)]).unwrap_err();
    assert_says(&error, "bad-value", &["line 3", "`300`", "i8"]);
    let error = folder.csv_with("c.csv", |o| o.dtypes = vec![("A".to_string(), DataType::Int8)]).unwrap_err();
    assert_says(&error, "unknown-column", &["`A`", "did you mean `a`"]);
}

#[test]
fn many_pieces_are_one_table() {
    // More than two pieces of 2 MiB, with line breaks in quotes, so that the cuts matter.
    let folder = Folder::new();
    let mut content = String::from("n,t\n");
    let rows = 200_000i64;
    for i in 0..rows {
        content += &if i % 3 == 0 { format!("{i},\"line\nbreak {i}\"\n") } else { format!("{i},plain text {i}\n") };
    }
    let table = folder.put("big.csv", &content).csv("big.csv").unwrap();
    assert!(table.batches().len() > 1 && table.rows() as i64 == rows);
    let numbers = column(&table, 0);
    assert!(numbers.iter().enumerate().all(|(i, v)| *v == Value::Int(i as i64)));
    assert_eq!(column(&table, 1)[199_998], text("line\nbreak 199998"));

    // A value far behind the first rows changes the type of all.
    content += "oops,x\n";
    assert_eq!(types(&folder.put("big.csv", &content).csv("big.csv").unwrap()), ["str", "str"]);
    content += "1,2,3\n";
    let error = folder.put("big.csv", &content).csv("big.csv").unwrap_err();
    // 200 000 rows, a third of them on two lines, and the header.
    assert_says(&error, "ragged-rows", &[&format!("line {} ", 1 + 200_000 + 66_667 + 2), "3 fields", "has 2"]);
}

#[test]
fn ragged_rows() {
    let error = csv_error("a,b,c\n1,2,3\n4,5\n");
    assert_says(&error, "ragged-rows", &["line 3", "a.csv", "2 fields", "header has 3", "`4,5`"]);
    assert_eq!(error.class, Class::Data);
    let error = csv_error("a,b\n1,2\n\"x\",y,z\n");
    assert_says(&error, "ragged-rows", &["line 3", "3 fields", "in quotes"]);
    assert_says(&csv_error("# by hand\na,b\n1,2\n"), "ragged-rows", &["line 2", "`# by hand`", "comment('#')"]);
}

#[test]
fn quotes_that_do_not_fit() {
    assert_says(&csv_error("a,b\n1,\"open\n2,3\n"), "unclosed-quote", &["line 2", "quote(None)"]);
    assert_says(&csv_error("a,b\n1,2\n\"x\"y,3\n"), "text-after-quote", &["line 3", "twice"]);
}

#[test]
fn text_that_is_not_utf8() {
    let error = csv_error(b"name,n\nJos\xe9,1\n");
    assert_says(&error, "not-utf8", &["line 2", "column 4", "0xe9", "byte 10", "csv().encoding(\"windows-1252\")"]);
}

#[test]
fn a_wrong_separator_is_noticed() {
    for (content, separator) in [("a;b\n1;2\n", "';'"), ("a\tb\n1\t2\n", "'\\t'"), ("a|b\n1|2\n", "'|'")] {
        assert_says(&csv_error(content), "wrong-separator", &["one column", &format!("sep({separator})")]);
    }
    let folder = Folder::new();
    let error = folder.put("a.csv", "a,b\n1,2\n").csv_with("a.csv", |o| o.separator = ';').unwrap_err();
    assert_says(&error, "wrong-separator", &["sep(',')"]);
    let one = folder.put("b.csv", "a text; with a semicolon\n1\n").csv("b.csv").unwrap();
    assert_eq!(one.rows(), 1, "one column may have any name");
}

#[test]
fn names_that_clash() {
    // Values in place of names.
    assert_says(
        &csv_error("1,2,1\n1,2,3\n"),
        "duplicate-column",
        &["line 1", "`1`", "csv().header(false).read(\"a.csv\")"],
    );
}

#[test]
fn files_that_are_not_there() {
    let folder = Folder::new();
    folder.put("data/flights.csv", "a\n1\n").put("data/airlines.csv", "a\n1\n");
    let error = folder.csv("data/fligths.csv").unwrap_err();
    assert_says(&error, "no-file", &["fligths.csv", "did you mean", "data/flights.csv"]);
    assert_says(&folder.csv("dta/flights.csv").unwrap_err(), "no-file", &["does not exist", "did you mean", "data"]);
    let error = folder.csv("data/*.parquet").unwrap_err();
    assert_says(&error, "no-file", &["*.parquet", "data", "`airlines.csv`, `flights.csv`"]);
    assert_eq!(folder.csv("data").unwrap().rows(), 2, "a folder stands for its files");
    let error = folder.open("data", Format::JsonLines).unwrap_err();
    assert_says(&error, "is-a-folder", &["is a folder", "/*.csv"]);
    assert_says(&folder.csv("").unwrap_err(), "no-file", &["empty"]);
    assert_says(&folder.put("empty.csv", "").csv("empty.csv").unwrap_err(), "empty-file", &["is empty"]);
    assert_says(
        &folder.put("blank.csv", "\n \n\n").csv_with("blank.csv", |o| o.skip_rows = 2).unwrap_err(),
        "empty-file",
        &["2 lines"],
    );
}

#[test]
fn a_text_file_larger_than_memory() {
    let folder = Folder::new();
    folder.put("huge.csv", "a\n1\n");
    let file = std::fs::OpenOptions::new().write(true).open(folder.dir.path().join("huge.csv")).unwrap();
    // Sparse: 8 TB that take no disk. A file system that cannot do this has nothing to test.
    if file.set_len(8 << 40).is_ok() {
        assert_says(
            &folder.csv("huge.csv").unwrap_err(),
            "out-of-memory",
            &["huge.csv", "MB of memory are free", "Parquet"],
        );
    }
}

#[test]
fn unreadable_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.put("secret.csv", "a\n1\n");
    let path = folder.dir.path().join("secret.csv");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser reads everything.
    if std::fs::File::open(&path).is_err() {
        assert_says(&folder.csv("secret.csv").unwrap_err(), "file-error", &["secret.csv", "permission"]);
    }
    assert_says(&folder.csv("/dev/null").unwrap_err(), "not-a-file", &["not a regular file"]);
}

#[test]
fn files_with_the_same_columns_are_one_table() {
    let folder = Folder::new();
    folder.put("p/1.csv", "a,b\n1,x\n").put("p/2.csv", "a,b\n2.5,y\n");
    let table = folder.csv("p/*.csv").unwrap();
    assert_eq!(types(&table), ["f64", "str"], "the type holds for all files");
    assert_eq!(column(&table, 0), [Value::Float(1.0), Value::Float(2.5)]);
    folder.put("p/3.csv", "a,c\n1,x\n");
    assert_says(&folder.csv("p/*.csv").unwrap_err(), "different-columns", &["3.csv", "no column `b`"]);
}

#[test]
fn gzip_by_content() {
    let folder = Folder::new();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(b"a,b\n1,2\n").unwrap();
    let packed = encoder.finish().unwrap();
    let table = folder.put("a.csv.gz", &packed).csv("a.csv.gz").unwrap();
    assert_eq!(column(&table, 1), [Value::Int(2)]);
    let error = folder.put("b.csv.gz", &packed[..packed.len() / 2]).csv("b.csv.gz").unwrap_err();
    assert_says(&error, "damaged-file", &["b.csv.gz", "gzip"]);
}

#[test]
fn a_file_is_read_once_until_it_changes() {
    let folder = Folder::new();
    folder.put("a.csv", "a\n1\n");
    let options = || Format::Csv(CsvOptions::default());
    let first = folder.open("a.csv", options()).unwrap();
    let again = folder.open("./a.csv", options()).unwrap();
    let (Content::Memory(one), Content::Memory(two)) = (&first.content, &again.content) else { panic!() };
    assert!(std::sync::Arc::ptr_eq(one, two) && first.key == again.key);
    folder.put("a.csv", "a\n1\n2\n");
    let changed = folder.open("a.csv", options()).unwrap();
    assert_eq!(changed.rows, 2);
    assert_ne!(changed.key, first.key);
    assert!(folder.cache.bytes() > 0);
    folder.cache.trim(0);
    assert_eq!(folder.cache.bytes(), 0);
}

#[test]
fn a_stopped_read_ends() {
    let folder = Folder::new();
    folder.put("a.csv", "a\n1\n");
    let task = TaskHandle::new();
    task.cancel();
    let source = Source {
        path: "a.csv".to_string(),
        folder: folder.dir.path().to_str().unwrap().to_string(),
        format: Format::Csv(CsvOptions::default()),
        cluster: None,
    };
    assert_eq!(folder.cache.open(&source, &task).unwrap_err().class, Class::Interrupted);
    assert!(folder.cache.open(&source, &TaskHandle::new()).is_ok(), "a stopped read leaves nothing behind");
}

#[test]
fn parquet_there_and_back() {
    let folder = Folder::new();
    let table = folder
        .put("a.csv", "i,f,s,d,z\n1,0.5,x,2013-01-02,2013-01-02T03:04:05Z\n,,,,\n3,1.5,a longer text than twelve,2014-01-02,2014-01-02T03:04:05Z\n")
        .csv("a.csv")
        .unwrap();
    for compression in ["zstd", "snappy", "lz4", "gzip", "brotli", "none"] {
        let format = SinkFormat::Parquet { compression: compression.to_string(), row_group_rows: None };
        assert_eq!(folder.write("a.parquet", format, &table).unwrap(), 3);
        let back =
            folder.open("a.parquet", Format::Parquet(ParquetOptions::default())).map(|l| self::table(&l)).unwrap();
        assert_eq!(types(&back), types(&table), "{compression}");
        for i in 0..5 {
            assert_eq!(column(&back, i), column(&table, i), "{compression}");
        }
    }
    let odd = SinkFormat::Parquet { compression: "zip".to_string(), row_group_rows: None };
    assert_says(&folder.write("b.parquet", odd, &table).unwrap_err(), "bad-option", &["`zip`", "zstd"]);
    let left: Vec<_> = std::fs::read_dir(folder.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "no temporary files: {left:?}");
}

#[test]
fn parquet_files_that_are_none() {
    let folder = Folder::new();
    let table = folder.put("a.csv", format!("a\n{}", "12345\n".repeat(5000))).csv("a.csv").unwrap();
    let format = || SinkFormat::Parquet { compression: "none".to_string(), row_group_rows: None };
    folder.write("a.parquet", format(), &table).unwrap();
    let whole = std::fs::read(folder.dir.path().join("a.parquet")).unwrap();
    let open = |name: &str| folder.open(name, Format::Parquet(ParquetOptions::default())).unwrap_err();
    for cut in [whole.len() / 2, whole.len() - 1, 100, 13] {
        folder.put("cut.parquet", &whole[..cut]);
        assert_says(&open("cut.parquet"), "damaged-file", &["cut.parquet", "cut off"]);
    }
    let mut damaged = whole.clone();
    let middle = damaged.len() - 60;
    damaged[middle..middle + 40].fill(0xff);
    folder.put("damaged.parquet", &damaged);
    assert_says(&open("damaged.parquet"), "damaged-file", &["damaged.parquet"]);
    assert_says(&open("a.csv"), "no-parquet", &["PAR1", "read_csv"]);
    folder.put("empty.parquet", "");
    assert_says(&open("empty.parquet"), "empty-file", &["is empty"]);

    let other = folder.put("b.csv", "a\nx\n").csv("b.csv").unwrap();
    folder.write("p/1.parquet", format(), &table).unwrap_err();
    std::fs::create_dir(folder.dir.path().join("p")).unwrap();
    folder.write("p/1.parquet", format(), &table).unwrap();
    folder.write("p/2.parquet", format(), &other).unwrap();
    let error = folder.open("p/*.parquet", Format::Parquet(ParquetOptions::default())).unwrap_err();
    assert_says(&error, "different-columns", &["2.parquet", "`a` is str, not i64"]);
}

#[test]
fn a_large_parquet_file_is_scanned() {
    let folder = Folder::new();
    let table = folder.put("a.csv", format!("a\n{}", "12345\n".repeat(5000))).csv("a.csv").unwrap();
    folder
        .write("a.parquet", SinkFormat::Parquet { compression: "none".to_string(), row_group_rows: None }, &table)
        .unwrap();
    let small = FileCache::new(100);
    let source = Source {
        path: "a.parquet".to_string(),
        folder: folder.dir.path().to_str().unwrap().to_string(),
        format: Format::Parquet(ParquetOptions::default()),
        cluster: None,
    };
    let loaded = small.open(&source, &TaskHandle::new()).unwrap();
    assert!(matches!(loaded.content, Content::Scan(_)));
    assert_eq!((loaded.rows, loaded.schema.fields().len()), (5000, 1));
}

#[test]
fn json_lines() {
    let folder = Folder::new();
    folder.put("a.jsonl", "{\"a\": 1, \"s\": \"x\"}\n\n{\"a\": 2.5, \"l\": [1, 2], \"o\": {\"k\": true}}\n");
    let table = folder.open("a.jsonl", Format::JsonLines).map(|l| table(&l)).unwrap();
    let names: Vec<&str> = table.schema().fields().iter().map(|f| f.name().as_str()).collect();
    let position = |n: &str| names.iter().position(|x| *x == n).unwrap();
    assert_eq!(column(&table, position("a")), [Value::Float(1.0), Value::Float(2.5)]);
    assert_eq!(column(&table, position("s")), [text("x"), Value::Null]);
    assert_eq!(column(&table, position("l"))[1], Value::List(vec![Value::Int(1), Value::Int(2)]));
    let error = |content: &str| folder.put("b.jsonl", content).open("b.jsonl", Format::JsonLines).unwrap_err();
    assert_says(&error("{\"a\": 1}\n{\"a\": \n"), "bad-json", &["line 2", "b.jsonl"]);
    assert_says(&error("{\"a\": 1}\n3\n"), "bad-json", &["line 2", "a number instead of an object"]);
    assert_says(&error("[1]\n"), "bad-json", &["line 1", "a number instead of an object"]);
    assert_says(&error("{\"a\": 1}\n{\"a\": [1]}\n{\"a\": {\"b\": 1}}\n"), "mixed-types", &["b.jsonl"]);
    assert_says(&error(""), "empty-file", &["is empty"]);

    let simple = folder.put("c.csv", "a,s,d\n1,x,2013-01-02\n2,,\n").csv("c.csv").unwrap();
    folder.write("c.jsonl", SinkFormat::JsonLines, &simple).unwrap();
    let lines = std::fs::read_to_string(folder.dir.path().join("c.jsonl")).unwrap();
    assert_eq!(lines, "{\"a\":1,\"s\":\"x\",\"d\":\"2013-01-02\"}\n{\"a\":2,\"s\":null,\"d\":null}\n");
}

#[test]
fn csv_there_and_back() {
    let folder = Folder::new();
    let content = "i,s,t\n1,\"a, \"\"b\"\"\",2013-01-02T03:04:05\n,,2013-01-02T03:04:05\n";
    let table = folder.put("a.csv", content).csv("a.csv").unwrap();
    let format = |separator| SinkFormat::Csv { separator, header: true, null: String::new() };
    folder.write("b.csv", format(','), &table).unwrap();
    assert_eq!(std::fs::read_to_string(folder.dir.path().join("b.csv")).unwrap(), content);
    folder.write("c.csv", format(';'), &table).unwrap();
    let back = folder.csv_with("c.csv", |o| o.separator = ';').unwrap();
    assert_eq!(column(&back, 1), column(&table, 1));
    folder.write("e.csv", format(','), &table.head(0)).unwrap();
    assert_eq!(std::fs::read_to_string(folder.dir.path().join("e.csv")).unwrap(), "i,s,t\n");
}

#[test]
fn places_that_cannot_be_written() {
    let folder = Folder::new();
    let table = folder.put("a.csv", "a\n1\n").csv("a.csv").unwrap();
    let format = || SinkFormat::JsonLines;
    std::fs::create_dir(folder.dir.path().join("out")).unwrap();
    assert_says(&folder.write("out", format(), &table).unwrap_err(), "is-a-folder", &["is a folder"]);
    assert_says(
        &folder.write("nowhere/a.jsonl", format(), &table).unwrap_err(),
        "no-folder",
        &["nowhere", "create_dir_all"],
    );
    let writer = FileWriter::create(&folder.sink("half.jsonl", format()), table.schema()).unwrap();
    drop(writer);
    assert!(!Path::exists(&folder.dir.path().join("half.jsonl")));
    let names: Vec<_> = std::fs::read_dir(folder.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "an unfinished file leaves nothing behind: {names:?}");
}

/// Files with random bytes changed are read or refused, and nothing panics.
#[test]
fn damaged_bytes_are_no_panic() {
    let folder = Folder::new();
    let csv = "a,b,c\n1,\"x, \"\"y\"\"\",2013-01-02\n-2.5e3,z,2013-01-02T03:04:05.678+01:00\n,é,true\n";
    let json = "{\"a\": 1, \"b\": [1, {\"c\": null}]}\n{\"a\": \"x\"}\n";
    let table = folder.put("a.csv", csv).csv("a.csv").unwrap();
    folder
        .write("a.parquet", SinkFormat::Parquet { compression: "snappy".to_string(), row_group_rows: None }, &table)
        .unwrap();
    let parquet = std::fs::read(folder.dir.path().join("a.parquet")).unwrap();
    // Knuth's linear congruential generator: the same files every time.
    let mut seed = 7u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for round in 0..400 {
        for (name, content, format) in [
            ("m.csv", csv.as_bytes(), Format::Csv(CsvOptions::default())),
            ("m.jsonl", json.as_bytes(), Format::JsonLines),
            ("m.parquet", &parquet, Format::Parquet(ParquetOptions::default())),
        ] {
            let mut bytes = content.to_vec();
            for _ in 0..1 + round % 3 {
                let at = random(bytes.len());
                bytes[at] = [b'"', b',', b'\n', b'\r', b'{', 0, 0xff, b'9'][random(8)];
            }
            let cut = random(bytes.len() * 4);
            bytes.truncate(cut.max(1));
            folder.put(name, &bytes);
            if let Err(error) = folder.open(name, format) {
                assert!(error.class == Class::Data && !error.message.is_empty(), "{error}");
            }
        }
    }
}
