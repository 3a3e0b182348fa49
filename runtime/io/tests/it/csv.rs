//! CSV files of every kind: options, compression, encodings, rows that do not fit. Each test names where its values
//! come from.

use std::io::Write;

use onrush_frame::{Table, value_at};
use onrush_wire::plan::{CsvOptions, DuplicateNames, Format, OnError, SinkFormat};
use onrush_wire::{Class, DataType, Diagnostic, Value};

use crate::support::{Folder, assert_says, rows, schema};

fn csv(folder: &Folder, path: &str, change: impl FnOnce(&mut CsvOptions)) -> Result<Table, Diagnostic> {
    let mut options = CsvOptions::default();
    change(&mut options);
    folder.open(path, Format::Csv(options))
}

fn column(table: &Table, index: usize) -> Vec<Value> {
    let column = table.column(index).unwrap();
    (0..column.len()).map(|i| value_at(column.as_ref(), i)).collect()
}

fn read(content: impl AsRef<[u8]>, change: impl FnOnce(&mut CsvOptions)) -> (String, String) {
    let table = csv(Folder::new().put("a.csv", content), "a.csv", change).unwrap();
    (schema(&table), rows(&table))
}

fn error(content: impl AsRef<[u8]>, change: impl FnOnce(&mut CsvOptions)) -> Diagnostic {
    csv(Folder::new().put("sub/a.csv", content), "sub/a.csv", change).unwrap_err()
}

fn is(got: (String, String), schema: &str, rows: &str) {
    assert_eq!((got.0.as_str(), got.1.as_str()), (schema, rows));
}

fn to_csv(null: &str) -> SinkFormat {
    SinkFormat::Csv { separator: ',', header: true, null: null.to_string() }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

const PLAIN: &[u8] = b"a,b\n1,x\n2,y\n";

/// By the first bytes, whatever the name says.
#[test]
fn compressed_files() {
    for packed in [gzip(PLAIN), zstd::encode_all(PLAIN, 3).unwrap(), bzip2(PLAIN), zip(&[("plain.csv", PLAIN)])] {
        is(read(&packed, |_| {}), "a i64, b str", "1|x\n2|y");
        assert_says(&error(&packed[..packed.len() - 9], |_| {}), "damaged-file", &["a.csv", "not a complete"]);
    }
    // Two members, one after the other.
    let two = [gzip(b"a,b\n1,x\n"), gzip(b"2,y\n")].concat();
    is(read(two, |_| {}), "a i64, b str", "1|x\n2|y");
    let mac = zip(&[("__MACOSX/._plain.csv", b"x"), ("data/plain.csv", PLAIN), ("data/.DS_Store", b"x")]);
    is(read(mac, |_| {}), "a i64, b str", "1|x\n2|y");
    let several = error(zip(&[("one.csv", PLAIN), ("two.csv", PLAIN)]), |_| {});
    assert_says(&several, "several-files", &["2 files", "`one.csv`, `two.csv`", "unzip"]);
    assert_says(&error(zip(&[]), |_| {}), "empty-file", &["no file"]);
}

#[test]
fn files_that_are_not_text() {
    let names = [
        (zip(&[("[Content_Types].xml", b"<x/>"), ("xl/workbook.xml", b"<x/>")]), "an Excel file", "read_excel"),
        (b"PAR1\x15\x04".to_vec(), "a Parquet file", "read_parquet"),
        (b"\xfd7zXZ\0\0\x04".to_vec(), "an xz file", "unxz"),
        (b"SQLite format 3\0\x10".to_vec(), "a SQLite database", "export"),
        (b"ARROW1\0\0".to_vec(), "an Arrow IPC file", "read_ipc"),
        (b"\n<!DOCTYPE html><html>".to_vec(), "an HTML page", "fetch it again"),
    ];
    for (bytes, what, help) in names {
        assert_says(&error(bytes, |_| {}), "not-text", &["a.csv", what, help]);
    }
    // Texts that begin as such files do.
    is(read("PAR,ORC\n1,2\n", |_| {}), "PAR i64, ORC i64", "1|2");
    is(read("BZh9,a\n1,2\n", |_| {}), "BZh9 i64, a i64", "1|2");
}

/// A text of the size of memory unpacks to no more than 200 times its packed size.
#[test]
fn a_compressed_bomb() {
    let zeros = zstd::encode_all(std::io::Read::take(std::io::repeat(b'0'), 300 << 20), 1).unwrap();
    assert_says(&error(zeros, |_| {}), "unpacks-too-large", &["200 times", "unzstd"]);
}

/// Expected values: Python's `bytes.decode`.
#[test]
fn encodings() {
    let encoded = |name: &str| {
        let name = name.to_string();
        move |o: &mut CsvOptions| o.encoding = Some(name)
    };
    is(read(b"n\nJos\xe9\n", encoded("latin1")), "n str", "José");
    is(read(b"n\n\x80 \x93x\x94\n", encoded("windows-1252")), "n str", "€ “x”");
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    is(read(wide("\u{feff}a,b\n1,é\n"), |_| {}), "a i64, b str", "1|é");
    is(read(wide("a,b\n1,é\n"), encoded("utf-16")), "a i64, b str", "1|é");
    is(read(b"n\na\xffb\n", encoded("utf8-lossy")), "n str", "a\u{fffd}b");
    let unmarked = error(wide("name,number\nx,1\ny,2\n"), |_| {});
    assert_says(&unmarked, "not-utf8", &["UTF-16", "csv().encoding(\"utf-16\").read(\"sub/a.csv\")"]);
    let latin = error(b"n\nJos\xe9\n", |_| {});
    assert_says(&latin, "not-utf8", &["line 2", "csv().encoding(\"windows-1252\").read(\"sub/a.csv\")"]);
    assert_says(&error("a\n", encoded("klingon")), "bad-option", &["`klingon`"]);
}

/// Expected values: pandas with `escapechar` and `skipinitialspace`; DuckDB for blanks after a quote.
#[test]
fn escapes_and_blanks() {
    let text = "a,b\n\"5\\\" disk\",\"x\\\\y\"\n\"p,q\",z\\,w\n";
    is(read(text, |o| o.escape = Some('\\')), "a str, b str", "5\" disk|x\\y\np,q|z,w");
    let text = "a, b\n1, \"x, y\"\n2,\"z\" \n";
    is(read(text, |o| o.trim = true), "a i64, b str", "1|x, y\n2|z");
    assert_says(&error("a, b\n1, \"x, y\"\n", |_| {}), "ragged-rows", &["csv().trim(true).read(\"sub/a.csv\")"]);
    assert_says(&error("a,b\n1,\"x\" \n", |_| {}), "text-after-quote", &["csv().trim(true).read(\"sub/a.csv\")"]);
    let escape = error("a,b\n1,\"5\\\" disk\"\n", |_| {});
    assert_says(&escape, "text-after-quote", &["csv().escape('\\\\').read(\"sub/a.csv\")"]);
}

/// Expected values: pandas with `decimal` and `thousands`.
#[test]
fn notations_of_numbers() {
    let text = "n;p\nA;1.234,5\nB;-0,5\nC;10\n";
    let german = |o: &mut CsvOptions| (o.separator, o.decimal, o.thousands) = (';', ',', Some('.'));
    is(read(text, german), "n str, p f64", "A|1234.5\nB|-0.5\nC|10.0");
    let typed = read("a;b\n1.234,5;1,25\n", |o| {
        german(o);
        o.dtypes =
            vec![("a".to_string(), DataType::Float32), ("b".to_string(), DataType::Decimal { precision: 6, scale: 2 })];
    });
    is(typed, "a f32, b decimal[6,2]", "1234.5|1.25");
    is(read("a\n\"1,234\"\n5\n", |o| o.thousands = Some(',')), "a i64", "1234\n5");
    assert_says(&error("a\n1\n", |o| o.decimal = ','), "bad-option", &["sep(';').decimal(',')"]);
    assert_says(&error("a\n1\n", |o| o.thousands = Some('.')), "bad-option", &["same character"]);
}

/// Expected values: DuckDB with `dateformat` and `timestampformat`; Polars and DuckDB without.
#[test]
fn dates() {
    let us = |o: &mut CsvOptions| o.dates = vec!["%m/%d/%Y".to_string(), "%m/%d/%Y %H:%M".to_string()];
    let text = "d,t\n12/31/2023,1/2/2024 10:30\n1/2/2024,12/31/2023 00:00\n";
    is(read(text, us), "d date, t datetime[μs]", "2023-12-31|2024-01-02T10:30:00\n2024-01-02|2023-12-31T00:00:00");
    is(read(text, |_| {}), "d str, t str", "12/31/2023|1/2/2024 10:30\n1/2/2024|12/31/2023 00:00");
    is(read("d\n2012/01/01\n2012/1/2\n", |_| {}), "d date", "2012-01-01\n2012-01-02");
    is(read("d\n31/12/2023\n01/02/2024\n", |_| {}), "d date", "2023-12-31\n2024-02-01");
    is(read("d\n2012/01/01\n", |o| o.parse_dates = false), "d str", "2012/01/01");
    is(read("p\n+15551234567\n+442071234567\n", |_| {}), "p str", "+15551234567\n+442071234567");
    let typed = read("d\n31.12.23\n", |o| {
        o.dates = vec!["%d.%m.%y".to_string()];
        o.dtypes = vec![("d".to_string(), DataType::Date)];
    });
    is(typed, "d date", "2023-12-31");
    assert_says(&error("d\n1\n", |o| o.dates = vec!["%Q".to_string()]), "bad-option", &["`%Q`", "%d.%m.%Y"]);
}

/// Expected values: Polars.
#[test]
fn names_and_rows() {
    is(read("a,b,a,a\n1,2,3,4\n", |_| {}), "a i64, b i64, a_duplicated_0 i64, a_duplicated_1 i64", "1|2|3|4");
    let twice = error("a,b,a\n1,2,3\n", |o| o.duplicate_names = DuplicateNames::Error);
    assert_says(&twice, "duplicate-column", &["`a`", "duplicate_names(\"rename\")"]);
    // A file without a header: as renamed names the first row would be lost.
    let data = error("0,1,0\n1,2,3\n", |_| {});
    assert_says(&data, "duplicate-column", &["csv().header(false).read(\"sub/a.csv\")"]);
    assert!(!format!("{data}").contains("skip_rows"));
    let rename = |o: &mut CsvOptions| o.duplicate_names = DuplicateNames::Rename;
    is(read("0,1,0\n1,2,3\n", rename), "0 i64, 1 i64, 0_duplicated_0 i64", "1|2|3");
    let names = |o: &mut CsvOptions| o.names = vec!["p".to_string(), "q".to_string()];
    is(read("a,b\n1,x\n", names), "p i64, q str", "1|x");
    let headless = |o: &mut CsvOptions| {
        names(o);
        o.has_header = false;
    };
    is(read("1,x\n2,y\n", headless), "p i64, q str", "1|x\n2|y");
    assert_says(&error("a\n1\n", names), "too-many-names", &["2 names", "1 columns"]);
    is(read("a,b\nkm,h\n1,2\n", |o| o.skip_after_header = 1), "a i64, b i64", "1|2");
    let numbered = read("a,b\n1,x\n2,y\n", |o| {
        o.row_number = Some("n".to_string());
        o.columns = vec!["b".to_string()];
    });
    is(numbered, "n u32, b str", "0|x\n1|y");
    assert_says(&error("a\n1\n", |o| o.row_number = Some("a".to_string())), "duplicate-column", &["`a` already"]);
}

/// Expected values: pandas for line ends (W8 of the list of cases), DuckDB for separators at the end of rows.
#[test]
fn line_ends_and_separators() {
    is(read("a,b\r1,2\r3,4\r", |_| {}), "a i64, b i64", "1|2\n3|4");
    is(read("a,b\r\n1,2\n3,4\r\n", |_| {}), "a i64, b i64", "1|2\n3|4");
    is(read("a,b\r\r\n1,2\r\r\n", |_| {}), "a i64, b i64", "1|2");
    is(read("a,b\n1,2,\n3,4,\n", |_| {}), "a i64, b i64", "1|2\n3|4");
    assert_says(&error("a,b\n1,2,\n3,4,5\n", |_| {}), "ragged-rows", &["line 3", "3 fields"]);
    assert_says(&error("a,b\n1,2\n3,4,\n", |_| {}), "ragged-rows", &["line 3"]);
}

/// Expected values: Polars for `NA` without quotes, the round trip for the rest.
#[test]
fn nulls() {
    let quoted = "s,i\n\"NA\",1\nNA,\"NA\"\n\"\",\n,3\n";
    is(read(quoted, |_| {}), "s str, i i64", "NA|1\nnull|null\n|null\nnull|3");
    let named = |o: &mut CsvOptions| (o.nulls, o.quoted_nulls) = (vec!["NA".to_string(), "-".to_string()], true);
    is(read("s,i\n\"NA\",1\n-,-\n", named), "s str, i i64", "null|1\nnull|null");
    let one = |o: &mut CsvOptions| o.column_nulls = vec![("i".to_string(), vec!["-".to_string()])];
    is(read("s,i\n-,-\nNA,2\n", one), "s str, i i64", "-|null\nnull|2");
    is(read("s,i\n,\nx,1\n", |o| o.empty_is_null = false), "s str, i i64", "|null\nx|1");
    let unfit = error("i\n1\n?\n", |o| o.dtypes = vec![("i".to_string(), DataType::Int64)]);
    // The help keeps `NA`, and reading as text loses nothing.
    assert_says(&unfit, "bad-value", &["`?`", ".nulls([\"NA\", \"?\"])", ".dtypes([(\"i\", \"str\")])"]);
}

/// Expected values: Polars with `truncate_ragged_lines`, DuckDB with `null_padding` and `ignore_errors`.
#[test]
fn rows_that_do_not_fit() {
    let text = "a,b,c\n1,2,3\n4,5\n6\n7,8,9,10\n";
    let padded = "1|2|3\n4|5|null\n6|null|null\n7|8|9";
    is(read(text, |o| (o.pad_rows, o.cut_rows) = (true, true)), "a i64, b i64, c i64", padded);
    is(read(text, |o| o.on_error = OnError::Null), "a i64, b i64, c i64", padded);
    is(read(text, |o| o.on_error = OnError::Skip), "a i64, b i64, c i64", "1|2|3");
    assert_says(&error(text, |o| o.pad_rows = true), "ragged-rows", &["line 5", "cut_rows(true)"]);
    assert_says(&error(text, |_| {}), "ragged-rows", &["line 3", "pad_rows(true)"]);

    let typed = |policy| {
        move |o: &mut CsvOptions| {
            o.dtypes = vec![("a".to_string(), DataType::Int64), ("b".to_string(), DataType::Int8)];
            o.on_error = policy;
        }
    };
    let text = "a,b\n1,2\nx,4\n5,600\ny,700\n7,8\n";
    is(read(text, typed(OnError::Null)), "a i64, b i8", "1|2\nnull|4\n5|null\nnull|null\n7|8");
    is(read(text, typed(OnError::Skip)), "a i64, b i8", "1|2\n7|8");
    let few = |o: &mut CsvOptions| {
        typed(OnError::Skip)(o);
        o.max_errors = Some(2);
    };
    let many = error(text, few);
    assert_says(&many, "too-many-errors", &["3 rows", "allows 2", "line 3", "column `a`", "rejects(\"sub/a.csv\")"]);
}

#[test]
fn rejected_rows() {
    let mut text = b"a,b\n1,x\n2\nz,y\n3,\"q\"r\n4,\xff\n5,w,v\n6,u\n7,\"open\n8,t\n".to_vec();
    let skip = |o: &mut CsvOptions| {
        o.dtypes = vec![("a".to_string(), DataType::Int64)];
        o.on_error = OnError::Skip;
    };
    is(read(&text, skip), "a i64, b str", "1|x\n6|u\n8|t");
    let folder = Folder::new();
    let rejects = |o: &mut CsvOptions| {
        skip(o);
        o.rejects = true;
    };
    let table = csv(folder.put("a.csv", &text), "a.csv", rejects).unwrap();
    assert_eq!(schema(&table), "file str, line i64, column str, text str, reason str");
    assert!(column(&table, 0).iter().all(|file| matches!(file, Value::Text(path) if path.ends_with("/a.csv"))));
    let without_file: Vec<String> = rows(&table).lines().map(|l| l.split_once('|').unwrap().1.to_string()).collect();
    assert_eq!(
        without_file,
        [
            "3|null|2|1 field instead of 2",
            "4|a|z,y|not of type i64",
            "5|null|3,\"q\"r|text behind a closing quote",
            "6|null|4,\u{fffd}|not UTF-8",
            "7|null|5,w,v|3 fields instead of 2",
            "9|null|7,\"open|a quote is never closed",
        ]
    );
    text.truncate(8);
    let none = csv(folder.put("b.csv", &text), "b.csv", rejects).unwrap();
    assert_eq!(none.rows(), 0);
}

#[test]
fn several_files() {
    let folder = Folder::new();
    folder.put("p/1.csv", "a,b\n1,x\n").put("p/2.csv", "b,a\ny,2\n");
    let table = csv(&folder, "p/*.csv", |o| o.file_name = Some("path".to_string())).unwrap();
    assert_eq!(schema(&table), "a i64, b str, path str");
    let names: Vec<String> = rows(&table).lines().map(|l| l.rsplit('/').next().unwrap().to_string()).collect();
    assert_eq!((names, rows(&table).starts_with("1|x|")), (vec!["1.csv".to_string(), "2.csv".to_string()], true));
    folder.put("p/3.csv", "a,c\n3,2024-01-02\n");
    let error = csv(&folder, "p/*.csv", |_| {}).unwrap_err();
    assert_says(&error, "different-columns", &["3.csv", "union_by_name(true)"]);
    // As DuckDB with `union_by_name`.
    let all = csv(&folder, "p/*.csv", |o| o.union_by_name = true).unwrap();
    assert_eq!(schema(&all), "a i64, b str, c date");
    assert_eq!(rows(&all), "1|x|null\n2|y|null\n3|null|2024-01-02");
}

/// W11 of the list of cases: an empty string and `NA` come back, and so do nulls.
#[test]
fn written_files_come_back() {
    let folder = Folder::new();
    let text = "s,i\n\"\",1\n\"NA\",\n,3\nx,4\n\"a,\"\"b\"\"\nc\",5\n";
    let table = csv(folder.put("a.csv", text), "a.csv", |_| {}).unwrap();
    for name in ["b.csv", "b.csv.gz", "b.csv.zst", "b.csv.bz2"] {
        assert_eq!(folder.write(name, to_csv(""), &table).unwrap(), 5);
        let back = csv(&folder, name, |_| {}).unwrap();
        assert_eq!((schema(&back), column(&back, 0)), (schema(&table), column(&table, 0)), "{name}");
    }
    assert_eq!(String::from_utf8(folder.bytes("b.csv")).unwrap(), text);
    assert!(folder.bytes("b.csv.gz").starts_with(&[0x1f, 0x8b]) && folder.bytes("b.csv.bz2").starts_with(b"BZh"));
    folder.write("n.csv", to_csv("x"), &table).unwrap();
    assert_eq!(folder.bytes("n.csv"), b"s,i\n\"\",1\n\"NA\",x\nx,3\n\"x\",4\n\"a,\"\"b\"\"\nc\",5\n");
    assert_says(&folder.write("n.csv.xz", to_csv(""), &table).unwrap_err(), "bad-option", &[".xz", ".zst"]);
    // More rows than one core takes at a time, of every kind of column.
    let mut text = String::from("i,f,b,d,t,s\n");
    for i in 0..30_000 {
        let day = i % 28 + 1;
        text += &format!("{i},{}.5,{},2013-01-{day:02},2013-01-{day:02}T03:04:05Z,word {i}\n", i % 7, i % 2 == 0);
    }
    let table = csv(folder.put("c.csv", &text), "c.csv", |_| {}).unwrap();
    folder.write("d.csv", to_csv(""), &table).unwrap();
    assert!(folder.bytes("d.csv") == text.as_bytes());
}

/// The files of csv-spectrum (github.com/maxogden/csv-spectrum) whose content is certain, with the values of its JSON
/// files.
#[test]
fn csv_spectrum() {
    let strings = |o: &mut CsvOptions| o.parse_dates = false;
    is(read("a,b\n1,\"ha \"\"ha\"\" ha\"\n3,4\n", strings), "a i64, b str", "1|ha \"ha\" ha\n3|4");
    is(read("a,b,c\n1,\"\",\"\"\n2,3,4\n", strings), "a i64, b i64, c i64", "1|null|null\n2|3|4");
    is(read("a,b\n1,\"{\"\"type\"\": \"\"Point\"\"}\"\n", strings), "a i64, b str", "1|{\"type\": \"Point\"}");
    is(
        read("a,b,c\n1,2,3\n\"Once upon \na time\",5,6\n", strings),
        "a str, b i64, c i64",
        "1|2|3\nOnce upon \na time|5|6",
    );
    is(read("a,b,c\n1,2,3\n4,5,ʤ\n", strings), "a i64, b i64, c str", "1|2|3\n4|5|ʤ");
    is(read("a,b,c\r\n1,2,3\r\n", strings), "a i64, b i64, c i64", "1|2|3");
}

/// Bytes of compressed files changed, and files read with random options: rows or an error, and no panic.
#[test]
fn damaged_bytes_and_odd_options() {
    let folder = Folder::new();
    let text = b"a;b, c\n1,5;\"x\\\" y\" ,2013-01-02\n-2.5e3;'z',12/31/2013\r\n,\xe9;true\n\"q\"\"\",1.234,\n";
    let packed = [gzip(text), zstd::encode_all(&text[..], 1).unwrap(), bzip2(text), zip(&[("a", text)]), text.to_vec()];
    // Knuth's linear congruential generator: the same files every time.
    let mut seed = 11u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for round in 0..800 {
        let mut bytes = packed[round % packed.len()].clone();
        for _ in 0..random(3) {
            let at = random(bytes.len());
            bytes[at] = [b'"', b',', b'\n', b'\r', b'\\', 0, 0xff, b';'][random(8)];
        }
        bytes.truncate(random(bytes.len() * 4).max(1));
        folder.put("m.csv", &bytes);
        let read = csv(&folder, "m.csv", |o| {
            o.separator = [',', ';', '\t', '"'][random(4)];
            o.quote = [Some('"'), None, Some('\'')][random(3)];
            o.escape = [None, Some('\\'), Some('"')][random(3)];
            o.trim = random(2) == 0;
            o.has_header = random(3) > 0;
            o.on_error = [OnError::Fail, OnError::Null, OnError::Skip][random(3)];
            o.rejects = random(4) == 0;
            o.decimal = ['.', ','][random(2)];
            o.thousands = [None, Some('.'), Some(' ')][random(3)];
            o.encoding = [None, Some("latin1"), Some("utf-16"), Some("utf8-lossy")][random(4)].map(str::to_string);
            o.dates = vec!["%m/%d/%Y".to_string(); random(2)];
            o.comment = [None, Some('-')][random(2)];
            o.row_number = [None, Some("n".to_string())][random(2)].clone();
            o.limit = [None, Some(1)][random(2)];
            o.skip_rows = random(2) as u64;
            o.skip_after_header = random(2) as u64;
            o.pad_rows = random(2) == 0;
            if random(3) == 0 {
                o.dtypes = vec![("a".to_string(), DataType::Int64), ("b".to_string(), DataType::Date)];
            }
        });
        if let Err(error) = read {
            assert!(error.class != Class::Internal && !error.message.is_empty(), "{error}");
        }
    }
}
