//! Databases through the session: frames of queries, tables of frames, and drivers that hang or are killed. Databases
//! are made and looked at by Python's `sqlite3`. Without the Python of the tests, which has the driver, nothing is
//! tested.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use onrush_frame::value_at;
use onrush_wire::plan::{Format, IfExists, Op, Sink, SinkFormat, Source};
use onrush_wire::session::{Reply, Request};
use onrush_wire::{Class, Diagnostic, FrameId, Value};

use super::support::{Client, Session, greater, kill};

/// The Python whose packages have the driver.
fn python() -> Option<PathBuf> {
    let python = PathBuf::from(std::env::var_os("VIRTUAL_ENV")?).join("bin/python");
    let works = Command::new(&python).args(["-c", "import sqlite3, adbc_driver_sqlite"]).output();
    if works.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    eprintln!("skipped: {} lacks adbc_driver_sqlite", python.display());
    None
}

fn run(session: &Session, script: &str) -> String {
    let output = Command::new(python().unwrap()).arg("-c").arg(script).current_dir(session.dir.path()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const SHOP: &str = "import sqlite3\nc = sqlite3.connect('shop.db')\nc.execute('create table t(n integer, s text)')\n\
                    c.executemany('insert into t values (?, ?)', [(1, 'a'), (2, None), (3, 'c')])\nc.commit()";

fn query(session: &Session, path: &str, query: &str) -> Op {
    let folder = session.dir.path().to_str().unwrap().to_string();
    let format = Format::Database { query: query.to_string() };
    Op::Read(Source { path: path.to_string(), folder, format, cluster: None })
}

fn write(
    session: &Session,
    cell: &mut Client,
    frame: FrameId,
    path: &str,
    if_exists: IfExists,
) -> Result<(String, u64), Diagnostic> {
    let folder = session.dir.path().to_str().unwrap().to_string();
    let format = SinkFormat::Database { table: "out".to_string(), if_exists };
    match cell.try_ask(Request::Write { frame, sink: Sink { path: path.to_string(), folder, format } })? {
        Reply::Written { path, rows, .. } => Ok((path, rows)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_query_is_a_frame_and_a_frame_becomes_a_table() {
    if python().is_none() {
        return;
    }
    let session = Session::start();
    run(&session, SHOP);
    let mut cell = session.cell("one");
    let read = cell.step(query(&session, "sqlite:///shop.db", "select n, s from t order by n"));
    let filtered = cell.step(greater(read, "n", 1));
    let table = cell.collect(filtered);
    assert_eq!(table.rows(), 2);
    let (n, s) = (table.column(0).unwrap(), table.column(1).unwrap());
    assert_eq!((value_at(&n, 0), value_at(&s, 0), value_at(&s, 1)), (Value::Int(2), Value::Null, Value::from("c")));

    let (path, rows) = write(&session, &mut cell, filtered, "new.db", IfExists::Fail).unwrap();
    assert!(rows == 2 && path.ends_with("/new.db"), "{path}");
    let error = write(&session, &mut cell, filtered, "new.db", IfExists::Fail).unwrap_err();
    assert_eq!(error.code, "database-write");
    write(&session, &mut cell, filtered, "sqlite:///new.db", IfExists::Append).unwrap();
    let rows = "import sqlite3\nprint(sqlite3.connect('new.db').execute('select * from out').fetchall())";
    assert_eq!(run(&session, rows), "[(2, None), (3, 'c'), (2, None), (3, 'c')]\n");
    // Another read sees what was written meanwhile.
    let again = cell.step(query(&session, "new.db", "select * from out"));
    write(&session, &mut cell, filtered, "new.db", IfExists::Append).unwrap();
    let later = cell.step(query(&session, "new.db", "select * from out"));
    assert_eq!((cell.count(again), cell.count(later)), (4, 6));

    // The query runs again for a new engine, unless the file has changed.
    kill(session.status().engine_pid.unwrap());
    assert_eq!(cell.count(filtered), 2);
    let error = cell.try_ask(Request::RowCount { frame: again }).unwrap_err();
    assert_eq!((error.code.as_str(), error.class), ("file-changed", Class::Data), "{error}");
    assert!(error.help[0].contains("read_database(\"new.db\")"), "{error:?}");
}

#[test]
fn mistakes_have_no_passwords() {
    let session = Session::start();
    let mut cell = session.cell("one");
    let mut fails = |path: &str, sql: &str| cell.try_step(query(&session, path, sql)).unwrap_err();
    for address in
        ["postgresql://ann:secret@host.invalid:1/db", "mysql://ann:secret@host/db", "postgresql://ann:secret"]
    {
        let error = fails(address, "select 1");
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
    if python().is_none() {
        return;
    }
    run(&session, SHOP);
    let missing = fails("sqlite:///shp.db", "select 1");
    assert_eq!(missing.code, "no-file");
    assert!(missing.help[0].contains("shop.db"), "{missing:?}");
    let wrong = fails("shop.db", "select * from missing");
    assert!(wrong.code == "database-query" && wrong.message.contains("no such table: missing"), "{wrong}");
    std::fs::write(session.dir.path().join("a.db"), "n\n1\n").unwrap();
    assert_eq!(fails("a.db", "select 1").code, "wrong-format");
}

/// The driver processes of an engine.
fn drivers(engine: u32) -> Vec<u32> {
    let output = Command::new("ps").args(["-o", "pid=,args=", "--ppid", &engine.to_string()]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let drivers = text.lines().filter(|line| line.trim_end().ends_with(" driver"));
    drivers.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
}

fn until_one(engine: u32) -> u32 {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match drivers(engine).first() {
            Some(id) => return *id,
            None => assert!(Instant::now() < deadline, "no driver process"),
        }
    }
}

#[test]
fn a_driver_that_hangs_or_dies_takes_nothing_along() {
    if python().is_none() {
        return;
    }
    let session = Session::start();
    run(&session, SHOP);
    let mut cell = session.cell("one");
    let read = cell.step(query(&session, "shop.db", "select * from t"));
    let engine = session.status().engine_pid;
    let endless = "with recursive r(i) as (select 1 union all select i + 1 from r) select max(i) from r";
    let endless = query(&session, "shop.db", endless);
    for is_killed in [true, false] {
        let mut other = session.cell("one");
        let op = endless.clone();
        let waiting = std::thread::spawn(move || other.try_step(op).unwrap_err());
        let driver = until_one(engine.unwrap());
        match is_killed {
            true => kill(driver),
            false => assert_eq!(session.kernel("one").ask(Request::Cancel), Reply::Done),
        }
        let error = waiting.join().unwrap();
        let expected =
            if is_killed { ("driver-died", Class::Environment) } else { ("interrupted", Class::Interrupted) };
        assert_eq!((error.code.as_str(), error.class), expected, "{error}");
        assert!(drivers(engine.unwrap()).is_empty());
    }
    assert_eq!((cell.count(read), session.status().engine_pid), (3, engine));
}
