//! Queries and writes through real drivers, in driver processes. The databases are made, and what was written is read,
//! by Python's `sqlite3` and `duckdb`. Without the Python of the tests nothing is tested.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    StringArray, TimestampMicrosecondArray,
};
use arrow::util::display::array_value_to_string;
use onrush_databases::{Address, TableWriter, Target, query, set_program};
use onrush_frame::TaskHandle;
use onrush_wire::Diagnostic;
use onrush_wire::plan::IfExists;

/// The Python with drivers; `None`, and a line that says so, if there is none.
fn python() -> Option<PathBuf> {
    set_program(env!("CARGO_BIN_EXE_onrush-driver").into());
    let python = PathBuf::from(std::env::var_os("VIRTUAL_ENV")?).join("bin/python");
    let works = Command::new(&python).args(["-c", "import sqlite3, duckdb, adbc_driver_sqlite"]).output();
    if works.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    eprintln!("skipped: {} lacks duckdb or adbc_driver_sqlite", python.display());
    None
}

/// The output of a script. Its only argument is a folder.
fn run(python: &Path, folder: &Path, script: &str) -> String {
    let output = Command::new(python).arg("-c").arg(script).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn target(folder: &Path, name: &str) -> Target {
    let file = folder.join(name).to_string_lossy().into_owned();
    Target { address: Address::parse(name).unwrap(), file: Some(file) }
}

/// The types and the rows of a query, as text.
fn read(target: &Target, sql: &str) -> Result<(Vec<String>, Vec<String>), Diagnostic> {
    let rows = query(target, sql, &TaskHandle::new())?;
    let types = rows.schema().fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect();
    let mut lines = Vec::new();
    for batch in rows {
        let batch = batch?;
        for row in 0..batch.num_rows() {
            let value = |column: &ArrayRef| match column.is_null(row) {
                true => "NULL".to_string(),
                false => array_value_to_string(column, row).unwrap(),
            };
            lines.push(batch.columns().iter().map(value).collect::<Vec<_>>().join("|"));
        }
    }
    Ok((types, lines))
}

fn fails(target: &Target, sql: &str) -> Diagnostic {
    read(target, sql).unwrap_err()
}

#[test]
fn values_of_sqlite_come_with_their_types() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    run(
        &python,
        folder.path(),
        r#"
import sqlite3
c = sqlite3.connect("a.db")
c.execute("create table t(i integer, f real, s text, b blob, n numeric, day date)")
c.executemany("insert into t values (?, ?, ?, ?, ?, ?)", [
    (1, 0.5, "é", b"\x00\xff", 7, "2024-02-29"), (None, None, None, None, None, None),
    (-2**63, -1e300, "", b"", 8, "1999-12-31")])
c.commit()
"#,
    );
    let (types, rows) = read(&target(folder.path(), "a.db"), "select i, f, s, b, n from t").unwrap();
    assert_eq!(types, ["i Int64", "f Float64", "s Utf8", "b Binary", "n Int64"]);
    assert_eq!(rows, ["1|0.5|é|00ff|7", "NULL|NULL|NULL|NULL|NULL", "-9223372036854775808|-1e300|||8"]);
    let (types, rows) =
        read(&target(folder.path(), "a.db"), "select count(*) as n, max(f) from t where i > 9").unwrap();
    assert_eq!((types.len(), rows), (2, vec!["0|NULL".to_string()]));
    let (types, rows) = read(&target(folder.path(), "a.db"), "select i from t where i > 9").unwrap();
    assert_eq!((types.len(), rows.len()), (1, 0));
    println!("{:?}", read(&target(folder.path(), "a.db"), "select day from t"));
}

#[test]
fn types_of_duckdb_are_those_of_arrow() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let sql = "select * from (values \
        (1::tinyint, 2::uint64, 0.1::float, 12.34::decimal(10,2), date '2024-02-29', timestamp '2024-01-02 03:04:05.678', \
         time '23:59:59', 'é', '\\x00\\xff'::blob, true, [1, null], {'a': 1, 'b': 'x'}, 'u'::enum('u', 'v')), \
        (null, null, null, null, null, null, null, null, null, null, null, null, null)) \
        t(i, u, f, d, day, ts, clock, s, b, ok, list, struct, enum)";
    run(
        &python,
        folder.path(),
        &format!("import duckdb\nduckdb.connect('a.duckdb').execute(r\"\"\"create table t as {sql}\"\"\")"),
    );
    let (types, rows) = read(&target(folder.path(), "a.duckdb"), "from t").unwrap();
    assert_eq!(
        types,
        [
            "i Int8",
            "u UInt64",
            "f Float32",
            "d Decimal128(10, 2)",
            "day Date32",
            "ts Timestamp(µs)",
            "clock Time64(µs)",
            "s Utf8",
            "b Binary",
            "ok Boolean",
            "list List(Int32, field: 'l')",
            "struct Struct(\"a\": Int32, \"b\": Utf8)",
            "enum Dictionary(UInt8, Utf8)",
        ]
    );
    // DuckDB's own texts, but for bytes and nested values.
    let expected = "1|2|0.1|12.34|2024-02-29|2024-01-02T03:04:05.678|23:59:59|é|00ff|true|[1, ]|{a: 1, b: x}|u";
    assert_eq!(rows, [expected, &["NULL"; 13].join("|")]);
    let many = "select i, i % 7 = 0 as seventh, if(i % 3 = 0, null, 'text ' || i) as s from range(300000) r(i)";
    let (_, rows) = read(&target(folder.path(), "a.duckdb"), many).unwrap();
    assert_eq!(
        (rows.len(), rows[299_999].as_str(), rows[299_998].as_str()),
        (300_000, "299999|true|text 299999", "299998|false|text 299998")
    );
}

#[test]
fn unknown_types_are_named() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    run(&python, folder.path(), "import duckdb\nduckdb.connect('a.duckdb')");
    let error = fails(&target(folder.path(), "a.duckdb"), "select map {'a': 1} as m");
    assert_eq!(
        (error.code.as_str(), error.message.as_str()),
        ("unsupported-type", "column `m` has the type map, which frames do not hold")
    );
}

#[test]
fn mistakes_are_the_words_of_the_database() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    run(
        &python,
        folder.path(),
        "import sqlite3, duckdb\nsqlite3.connect('a.db').execute('create table t(a)')\nduckdb.connect('a.duckdb')",
    );
    let sqlite = fails(&target(folder.path(), "a.db"), "select * from missing");
    assert_eq!(sqlite.code, "database-query");
    assert!(
        sqlite.message.starts_with("SQLite refuses the query: ") && sqlite.message.contains("no such table: missing"),
        "{sqlite}"
    );
    let duckdb = fails(&target(folder.path(), "a.duckdb"), "select 1 fro t");
    assert!(
        duckdb.message.starts_with("DuckDB refuses the query: ") && duckdb.message.contains("syntax error"),
        "{duckdb}"
    );
    for name in ["a.db", "a.duckdb"] {
        let error = fails(&target(folder.path(), name), "create table u(a integer)");
        assert_eq!((error.code.as_str(), error.message.as_str()), ("not-a-query", "CREATE is not a query"));
    }
}

fn everything(rows: usize) -> RecordBatch {
    let numbers = || 0..rows as i64;
    let kept = |n: i64| n % 3 != 1;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(numbers().map(|n| kept(n).then_some(n)).collect::<Int64Array>())),
        ("f", Arc::new(numbers().map(|n| kept(n).then_some(n as f64 / 4.0)).collect::<Float64Array>())),
        ("s", Arc::new(numbers().map(|n| kept(n).then(|| format!("é{n}"))).collect::<StringArray>())),
        ("b", Arc::new(numbers().map(|n| kept(n).then(|| vec![n as u8])).collect::<BinaryArray>())),
        ("ok", Arc::new(numbers().map(|n| kept(n).then_some(n % 2 == 0)).collect::<BooleanArray>())),
        ("day", Arc::new(numbers().map(|n| kept(n).then_some(19782 + n as i32)).collect::<Date32Array>())),
        ("at", Arc::new(numbers().map(|n| kept(n).then_some(n * 1_000_001)).collect::<TimestampMicrosecondArray>())),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn write(target: &Target, table: &str, if_exists: IfExists, batches: &[RecordBatch]) -> Result<(), Diagnostic> {
    let task = TaskHandle::new();
    let mut writer = TableWriter::start(target, table, if_exists, &batches[0].schema(), &task)?;
    for batch in batches {
        writer.write(batch, &task)?;
    }
    writer.finish()
}

#[test]
fn tables_of_sqlite_are_written() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let target = target(folder.path(), "new.db");
    let all = everything(5);
    write(&target, "my table", IfExists::Fail, &[all.slice(0, 2), all.slice(2, 3)]).unwrap();
    let script =
        "import sqlite3\nfor row in sqlite3.connect('new.db').execute('select * from \"my table\"'): print(row)";
    let expected = "\
(0, 0.0, 'é0', b'\\x00', 1, '2024-02-29', '1970-01-01T00:00:00.000000')
(None, None, None, None, None, None, None)
(2, 0.5, 'é2', b'\\x02', 1, '2024-03-02', '1970-01-01T00:00:02.000002')
(3, 0.75, 'é3', b'\\x03', 0, '2024-03-03', '1970-01-01T00:00:03.000003')
(None, None, None, None, None, None, None)
";
    assert_eq!(run(&python, folder.path(), script), expected);
    let error = write(&target, "my table", IfExists::Fail, &[all.slice(0, 1)]).unwrap_err();
    assert_eq!(error.code, "database-write");
    assert!(error.help.iter().any(|help| help.contains("if_exists(\"replace\")")), "{error:?}");
    write(&target, "my table", IfExists::Append, &[all.slice(0, 1)]).unwrap();
    write(&target, "other", IfExists::Append, &[all.slice(0, 1)]).unwrap();
    write(&target, "other", IfExists::Replace, &[all.slice(2, 2)]).unwrap();
    let script = "import sqlite3\nc = sqlite3.connect('new.db')\nfor t in ['my table', 'other']: print(c.execute(f'select count(*), max(i) from \"{t}\"').fetchone())";
    assert_eq!(run(&python, folder.path(), script), "(6, 3)\n(2, 3)\n");
}

#[test]
fn tables_of_duckdb_are_written() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let target = target(folder.path(), "new.duckdb");
    let all = everything(5);
    write(&target, "my table", IfExists::Fail, &[all.slice(0, 2), all.slice(2, 3)]).unwrap();
    let script = "import duckdb\nfor row in duckdb.connect('new.duckdb').execute('select * from \"my table\" limit 1').fetchall(): print(row)";
    let expected = "(0, 0.0, 'é0', b'\\x00', True, datetime.date(2024, 2, 29), datetime.datetime(1970, 1, 1, 0, 0))\n";
    assert_eq!(run(&python, folder.path(), script), expected);
    let error = write(&target, "my table", IfExists::Fail, &[all.slice(0, 1)]).unwrap_err();
    assert!(error.help.iter().any(|help| help.contains("if_exists(\"replace\")")), "{error:?}");
    write(&target, "my table", IfExists::Append, &[all.slice(0, 1)]).unwrap();
    write(&target, "other", IfExists::Append, &[all.slice(0, 1)]).unwrap();
    write(&target, "other", IfExists::Replace, &[all.slice(2, 2)]).unwrap();
    let script = "import duckdb\nc = duckdb.connect('new.duckdb')\nfor t in ['my table', 'other']: print(c.execute(f'select count(*), max(i) from \"{t}\"').fetchone())";
    assert_eq!(run(&python, folder.path(), script), "(6, 3)\n(2, 3)\n");
    let money: ArrayRef =
        Arc::new(Decimal128Array::from(vec![Some(1234), None]).with_precision_and_scale(9, 2).unwrap());
    let decimals = RecordBatch::try_from_iter([("d", money)]).unwrap();
    write(&target, "money", IfExists::Fail, std::slice::from_ref(&decimals)).unwrap();
    let script =
        "import duckdb\nprint(duckdb.connect('new.duckdb').execute('select d, typeof(d) from money').fetchall())";
    assert_eq!(run(&python, folder.path(), script), "[(Decimal('12.34'), 'DECIMAL(9,2)'), (None, 'DECIMAL(9,2)')]\n");
    let sqlite = Target {
        address: Address::parse("x.db").unwrap(),
        file: Some(folder.path().join("x.db").display().to_string()),
    };
    let error = write(&sqlite, "money", IfExists::Fail, &[decimals]).unwrap_err();
    assert_eq!(
        (error.code.as_str(), error.message.contains("column `d` has the type decimal")),
        ("unsupported-type", true),
        "{error}"
    );
}

/// In a separate process, whose surroundings say where drivers are.
#[test]
fn a_driver_that_is_not_there_is_a_sentence() {
    if let Some(kind) = std::env::var_os("ONRUSH_TEST_CHILD") {
        set_program(env!("CARGO_BIN_EXE_onrush-driver").into());
        let address = Address::parse(kind.to_str().unwrap()).unwrap();
        let error = fails(&Target { address, file: Some("/tmp/x".to_string()) }, "select 1");
        return println!("{}: {} | {}", error.code, error.message, error.help.join(" | "));
    }
    let said = |address: &str, file: Option<&str>| {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "drivers::a_driver_that_is_not_there_is_a_sentence", "--nocapture"])
            .env("ONRUSH_TEST_CHILD", address)
            .env("PATH", "/nowhere");
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX", "ADBC_DRIVER_PATH", "HOME", "XDG_CONFIG_HOME"] {
            child.env_remove(name);
        }
        child.env("XDG_CONFIG_HOME", "/nowhere");
        if let Some(file) = file {
            child.env("ONRUSH_ADBC_SQLITE", file);
        }
        String::from_utf8(child.output().unwrap().stdout).unwrap()
    };
    for (address, name, package) in [
        ("a.db", "SQLite", "adbc-driver-sqlite"),
        ("a.duckdb", "DuckDB", "duckdb"),
        ("postgresql://ann:secret@h/d", "PostgreSQL", "adbc-driver-postgresql"),
    ] {
        let found = said(address, None);
        let help = format!("`pip install {package}` into the active Python, then run the cell again");
        assert!(found.contains(&format!("no-driver: the ADBC driver for {name} is not installed | {help}")), "{found}");
    }
    let found = said("a.db", Some("/nowhere/lib.so"));
    assert!(found.contains("driver: the driver of SQLite cannot be loaded: /nowhere/lib.so: "), "{found}");
    let found = said("a.db", Some("/proc/self/exe"));
    assert!(found.contains("the driver of SQLite cannot be loaded"), "{found}");
}

/// DuckDB's own errors, where the statement begins as a query; all others do not reach it.
#[test]
fn a_query_reads_its_database_alone() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = "import duckdb\nduckdb.connect('a.duckdb').execute('create table t as select 7 as a')";
    run(&python, folder.path(), script);
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("other.csv"), "a\n1\n").unwrap();
    let database = target(folder.path(), "a.duckdb");
    for sql in [
        format!("select * from read_csv('{}')", path("other.csv")),
        format!("select * from '{}'", path("other.csv")),
        format!("select content from read_text('{}')", path("other.csv")),
        format!("from glob('{}/*')", folder.path().display()),
        "select * from read_parquet('http://127.0.0.1:9/x.parquet')".to_string(),
    ] {
        assert_eq!(fails(&database, &sql).code, "database-query", "{sql}");
    }
    for sql in [
        format!("copy (select 1) to '{}'", path("evil.csv")),
        format!("copy (select 1) to '{}.wal'", path("a.duckdb")),
        format!("select 1; copy (select 1) to '{}'", path("evil.csv")),
        format!("explain analyze copy (select 1) to '{}'", path("evil.csv")),
        format!("attach '{}'", path("new.duckdb")),
        "install httpfs".to_string(),
        "set enable_external_access = true".to_string(),
        "insert into t values (1)".to_string(),
    ] {
        assert_eq!(fails(&database, &sql).code, "not-a-query", "{sql}");
    }
    let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["a.duckdb", "other.csv"]);
    assert_eq!(read(&database, "with q as (from t) select a + 1 as b from q; -- the end").unwrap().1, ["8"]);
    // Rows that do not fit into memory go to a folder of DuckDB next to the file.
    let sorted = "select max(n) as m from (select row_number() over (order by hash(i)) as n from range(200000) r(i))";
    assert_eq!(read(&database, sorted).unwrap().1, ["200000"]);
}
