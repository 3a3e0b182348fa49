//! JSON files of every kind: lines, arrays, objects one after another, fields of objects. Each test names where its
//! values come from.

use std::io::Write;

use onrush_wire::Diagnostic;
use onrush_wire::plan::{Format, SinkFormat};

use crate::support::{Folder, assert_says, rows, schema};

fn open(content: impl AsRef<[u8]>, at: Option<&str>) -> Result<(String, String), Diagnostic> {
    let format = at.map_or(Format::JsonLines, |at| Format::JsonAt(at.to_string()));
    Folder::new().put("sub/a.json", content).open("sub/a.json", format).map(|t| (schema(&t), rows(&t)))
}

fn is(content: impl AsRef<[u8]>, schema: &str, rows: &str) {
    let got = open(content, None).unwrap();
    assert_eq!((got.0.as_str(), got.1.as_str()), (schema, rows));
}

fn error(content: impl AsRef<[u8]>) -> Diagnostic {
    open(content, None).unwrap_err()
}

/// Expected values: DuckDB.
#[test]
fn lines_arrays_and_objects() {
    let (types, values) = ("a i64, b str", "1|x\n2|y");
    is("{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n", types, values);
    is("[{\"a\":1,\"b\":\"x\"},{\"a\":2,\"b\":\"y\"}]\n", types, values);
    is("\u{feff} [\n  {\n    \"a\": 1,\n    \"b\": \"x\"\n  },\n  {\"a\": 2, \"b\": \"y\"}\n]\n", types, values);
    is("{\"a\":1,\"b\":\"x\"}{\"a\":2,\"b\":\"y\"}", types, values);
    is("{\n\"a\":1,\n\"b\":\"x\"\n}\n{\n\"a\":2,\"b\":\"y\"\n}", types, values);
    // The first object is one line, the second is not.
    is("{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\n\"b\":\"y\"}\n", types, values);
    is("{\"a\":1,\"b\":\"x\"}\r\n\r\n{\"a\":2,\"b\":\"y\"} ", types, values);
    is("[]", "", "");
    let many: String = (0..20_000).map(|i| format!("{{\"a\": {i}, \"b\": \"}}{i}]\"}},\n")).collect();
    let table = open(format!("[{}]", many.trim_end().trim_end_matches(',')), None).unwrap();
    assert_eq!((table.0.as_str(), table.1.lines().count()), (types, 20_000));
    assert_eq!(table.1.lines().nth(12_345), Some("12345|}12345]"));
}

/// Expected values: pandas and DuckDB for the order, Polars for mixed scalars.
#[test]
fn columns_and_types() {
    is("{\"b\":1,\"a\":2}\n{\"a\":3,\"c\":4,\"b\":5}\n", "b i64, a i64, c i64", "1|2|null\n5|3|4");
    let nested = open("{\"s\":{\"z\":1,\"a\":2}}\n{\"s\":{\"q\":1,\"z\":5}}\n", None).unwrap();
    assert!(nested.1.starts_with("{z: 1, a: 2, q: null}\n"), "{}", nested.1);
    is("{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":true}\n{\"a\":1.50}\n", "a str", "1\nx\ntrue\n1.50");
    is("{\"a\":9007199254740993}\n{\"a\":-9007199254740993}\n", "a i64", "9007199254740993\n-9007199254740993");
    // pandas has u64.
    is("{\"a\":9223372036854775808}\n{\"a\":1}\n", "a u64", "9223372036854775808\n1");
    // No integer type holds both; as for CSV, digits are not lost.
    is("{\"a\":9223372036854775808}\n{\"a\":-1}\n", "a str", "9223372036854775808\n-1");
    is("{\"a\":123456789012345678901}\n{\"a\":1}\n", "a str", "123456789012345678901\n1");
    is("{\"a\":1}\n{\"a\":2.5}\n", "a f64", "1.0\n2.5");
    // The last of two equal names, as in pandas.
    is("{\"a\":1,\"a\":2}\n{\"a\":3}\n", "a i64", "2\n3");
    is("[{\"a\":1,\"a\":\"x\"},\n{\"a\":\"y\"}]", "a str", "x\ny");
}

#[test]
fn rows_in_a_field() {
    let text = "{\"n\": 2, \"data\": {\n\"records\": [{\"a\": 1}, {\"a\": 2}]\n}, \"one\": {\"b\": 3}}";
    let at = |path: &str| open(text, Some(path));
    assert_eq!(at("data.records").unwrap(), ("a i64".to_string(), "1\n2".to_string()));
    assert_eq!(at("one").unwrap(), ("b i64".to_string(), "3".to_string()));
    assert_says(&at("data.rows").unwrap_err(), "no-such-field", &["`data.rows`", "its fields are `records`"]);
    assert_says(&at("n.x").unwrap_err(), "no-such-field", &["a number"]);
    assert_says(&at("n").unwrap_err(), "bad-json", &["a number instead of an object"]);
    let broken = open("{\"r\": [\n{\"a\": 1},\n{\"a\": }\n]}", Some("r")).unwrap_err();
    assert_says(&broken, "bad-json", &["line 3", "column 7"]);
}

#[test]
fn errors_name_line_and_column() {
    assert_says(&error("[\n{\"a\": 1},\n{\"a\": tru}\n]"), "bad-json", &["line 3", "column 10", "sub/a.json"]);
    assert_says(&error("{\"a\": 1}\n{\"a\": \n{\"a\": 3}\n"), "bad-json", &["line 2", "column 5", "EOF"]);
    assert_says(&error("[{\"a\": 1}, 3]"), "bad-json", &["line 1", "a number instead of an object"]);
    assert_says(&error("[{\"a\": 1},\n]"), "bad-json", &["line 2", "`]` behind a comma"]);
    assert_says(&error("[{\"a\": 1}\n{\"a\": 2}]"), "bad-json", &["line 2", "no comma"]);
    assert_says(&error("[{\"a\": 1}\n"), "bad-json", &["never closed"]);
    assert_says(&error("[{\"a\": 1}] x"), "bad-json", &["text behind the array"]);
    assert_says(&error("hello\n"), "bad-json", &["line 1", "no JSON"]);
    assert_says(&error("{\"a\": 1}\n{\"a\": NaN}\n"), "bad-json", &["line 2", "NaN and Infinity are not JSON"]);
    assert_says(&error("{\"a\": [1]}\n{\"a\": {\"b\": 1}}\n"), "mixed-types", &["line 2", "`a`"]);
    assert_says(&error("[{\"a\": [1]},\n{\"a\": {\"b\": 1}}]"), "mixed-types", &["line 2", "`a`"]);
    assert_says(&error("\n \n"), "empty-file", &["is empty"]);
    let latin = error(b"{\"a\": \"Jos\xe9\"}\n");
    assert_says(&latin, "not-utf8", &["line 1", "iconv -f WINDOWS-1252", "sub/a.json"]);
    // The texts are those of `DataFrame.to_json` of pandas.
    let columns = error("{\"a\":{\"0\":1,\"1\":2},\"b\":{\"0\":\"x\",\"1\":\"y\"}}");
    assert_says(&columns, "columns-json", &["pandas", "an object for each column", "orient=\"records\""]);
    assert_says(&error("{\"columns\":[\"a\"],\"index\":[0],\"data\":[[1]]}"), "columns-json", &["pandas"]);
}

#[test]
fn compressed_files() {
    let text = b"[{\"a\": 1}]";
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    is(encoder.finish().unwrap(), "a i64", "1");
    is(zstd::encode_all(&text[..], 1).unwrap(), "a i64", "1");
    assert_says(&error(b"PAR1\x15"), "not-text", &["read_parquet"]);
}

/// Expected text: `write_ndjson` and `write_json` of Polars.
#[test]
fn written_files() {
    let folder = Folder::new();
    let lines = "{\"s\":null,\"f\":1.0}\n{\"s\":\"x\",\"f\":2.5}\n{\"s\":\"\",\"f\":null}\n";
    let table = folder.put("a.jsonl", lines).open("a.jsonl", Format::JsonLines).unwrap();
    folder.write("b.jsonl", SinkFormat::JsonLines, &table).unwrap();
    assert_eq!(folder.bytes("b.jsonl"), lines.as_bytes());
    folder.write("b.json", SinkFormat::JsonArray, &table).unwrap();
    let array = "[{\"s\":null,\"f\":1.0},{\"s\":\"x\",\"f\":2.5},{\"s\":\"\",\"f\":null}]";
    assert_eq!(folder.bytes("b.json"), array.as_bytes());
    folder.write("e.json", SinkFormat::JsonArray, &table.head(0)).unwrap();
    assert_eq!(folder.bytes("e.json"), b"[]");
    for (name, format) in [("c.jsonl.gz", SinkFormat::JsonLines), ("c.json.zst", SinkFormat::JsonArray)] {
        folder.write(name, format, &table).unwrap();
        assert_eq!(rows(&folder.open(name, Format::JsonLines).unwrap()), rows(&table), "{name}");
    }
}

/// Values of JSONTestSuite (github.com/nst/JSONTestSuite), each as a field of the one object of a file: those of the
/// files `y_*` are read.
#[test]
fn json_test_suite_of_valid_files() {
    let yes = [
        "[]",
        "[[]   ]",
        "[\"\"]",
        "[\"a\"]",
        "[false]",
        "[null]",
        "[ 1]",
        "[123e65]",
        "[0e+1]",
        "[0e1]",
        "[-0]",
        "[-123]",
        "[-1]",
        "[20e1]",
        "[1E22]",
        "[1E-2]",
        "[1E+2]",
        "[123.456e78]",
        "[123.456789]",
        "[\"\\u0060\\u012a\\u12AB\"]",
        "[\"\\uD801\\udc37\"]",
        "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
        "[\"\\\\u0000\"]",
        "[\"\\u0012\"]",
        "[\"\u{10ffff}\"]",
        "[\"asd \"]",
        "[\"\\uDBFF\\uDFFF\"]",
        "[\"\\u0000\"]",
        "[\"\u{2028}\"]",
        "\"asd\"",
        "true",
        "42",
        "-0.1",
        "{\"\":0}",
        "{\"foo\\u0000bar\": 42}",
        "{\"a\":[]}",
        "{\"title\":\"\\u041f\\u043e\\u043b\"}",
        "{\n\"a\": \"b\"\n}",
    ];
    for value in yes {
        let read = open(format!("{{\"v\": {value}}}"), None);
        assert!(read.is_ok(), "{value}: {}", read.unwrap_err());
    }
}

/// Expected values: Python's `json`.
#[test]
fn characters_beyond_the_first_plane() {
    is("{\"a\": \"\\uDBFF\\uDFFF\"}\n{\"a\": \"\\ud840\\udc00\"}\n", "a str", "\u{10ffff}\n\u{20000}");
    is("{\"\\ud83d\\ude00\": \"\\\\ud83d\\\\ude00\"}\n", "\u{1f600} str", "\\ud83d\\ude00");
}

/// The files `n_*` of the same suite.
#[test]
fn json_test_suite_of_invalid_files() {
    let no = [
        "[1 true]",
        "[a\u{e9}]",
        "[\"\": 1]",
        "[\"\"],",
        "[,1]",
        "[1,,2]",
        "[\"x\",,]",
        "[\"x\"]]",
        "[\"\",]",
        "[\"x\"",
        "[x",
        "[3[4]]",
        "[1:2]",
        "[,]",
        "[-]",
        "[   , \"\"]",
        "[1,]",
        "[1,,]",
        "[*]",
        "[\"\"",
        "[1,",
        "[{}",
        "[fals]",
        "[nul]",
        "[tru]",
        "[++1234]",
        "[+1]",
        "[+Inf]",
        "[-01]",
        "[-1.0.]",
        "[-2.]",
        "[-NaN]",
        "[.-1]",
        "[.2e-3]",
        "[0.1.2]",
        "[0.3e+]",
        "[0.e1]",
        "[0E+]",
        "[1.0e-]",
        "[1 000.0]",
        "[1eE2]",
        "[2.e3]",
        "[9.e+]",
        "[Inf]",
        "[NaN]",
        "[\u{ff11}]",
        "[1+2]",
        "[0x1]",
        "[Infinity]",
        "[0e+-1]",
        "[-123.123foo]",
        "[-foo]",
        "[- 1]",
        "[-012]",
        "[-.123]",
        "[1ea]",
        "[1.]",
        "[.123]",
        "[1.2a-3]",
        "[012]",
        "[\"x\", truth]",
        "{[: \"x\"}",
        "{\"x\", null}",
        "{\"x\"::\"b\"}",
        "{\"a\":\"a\" 123}",
        "{key: 'value'}",
        "{\"a\" b}",
        "{:\"b\"}",
        "{\"a\" \"b\"}",
        "{\"a\":",
        "{\"a\"",
        "{1:1}",
        "{null:null}",
        "{\"id\":0,,,,,}",
        "{'a':0}",
        "{\"id\":0,}",
        "{\"a\":/*comment*/\"b\"}",
        "{\"a\":\"b\"}/**/",
        "{\"a\":\"b\",,\"c\":\"d\"}",
        "{a: \"b\"}",
        "{\"a\":\"a",
        "{ \"foo\" : \"bar\", \"a\" }",
        "{\"a\":\"b\"}#",
        "[\"\\uD800\\\"]",
        "[\"\\uD800\\u\"]",
        "[\"\\x00\"]",
        "[\"\\\\\\\"]",
        "[\"\\\t\"]",
        "[\"\\u00A\"]",
        "[\"\\a\"]",
        "[\"\\",
        "[\"a\u{0}a\"]",
        "[\"new\nline\"]",
        "[\"\t\"]",
        "\"\\UA66D\"",
        "<.>",
        "[<null>]",
        "[1]x",
        "2@",
        "[True]",
        "1]",
        "{\"x\": true,",
        "[][]",
        "]",
        "{\"\":",
        "*",
        "[\u{2060}]",
        "[\u{c}]",
    ];
    for value in no {
        let read = open(format!("{{\"v\": {value}}}"), None);
        assert!(read.is_err(), "{value}: {read:?}");
    }
    let deep = format!("{{\"v\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(open(deep, None).is_err());
}

/// Bytes of arrays and objects changed: rows or an error, and no panic.
#[test]
fn damaged_bytes_are_no_panic() {
    let texts = [
        "[{\"a\": 1, \"b\": [1, {\"c\": null}]},\n {\"a\": \"x\"}]",
        "{\n\"a\": 1.5e3}{\"a\": {\"0\": 1}}\n{\"b\": \"\\u00e9\\\"\"}",
        "{\"r\": {\"s\": [{\"a\": -0}, {\"a\": 18446744073709551615}]}, \"t\": true}",
    ];
    let folder = Folder::new();
    // Knuth's linear congruential generator: the same files every time.
    let mut seed = 5u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    for round in 0..600 {
        let mut bytes = texts[round % texts.len()].as_bytes().to_vec();
        for _ in 0..random(4) {
            let at = random(bytes.len());
            bytes[at] = [b'"', b',', b'\n', b'[', b'{', b'}', b']', b'\\', b':', 0xff, b'9'][random(11)];
        }
        bytes.truncate(random(bytes.len() * 4).max(1));
        let format = if random(2) == 0 { Format::JsonAt("r.s".to_string()) } else { Format::JsonLines };
        if let Err(error) = folder.put("m.json", &bytes).open("m.json", format) {
            assert!(error.class == onrush_wire::Class::Data && !error.message.is_empty(), "{error}");
        }
    }
}
