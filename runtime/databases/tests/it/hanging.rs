//! Drivers that hang or are killed.

use std::process::Command;
use std::time::{Duration, Instant};

use onrush_databases::{Address, Target, query, set_program};
use onrush_frame::TaskHandle;

const ENDLESS: &str = "with recursive r(i) as (select 1 union all select i + 1 from r) select max(i) from r";

/// The driver processes of this process.
fn drivers() -> Vec<u32> {
    let own = std::process::id().to_string();
    let output = Command::new("ps").args(["-o", "pid=", "--ppid", &own]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let ids = text.split_whitespace().filter_map(|id| id.parse().ok());
    let is_driver = |id: &u32| {
        std::fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains("onrush-driver"))
    };
    ids.filter(is_driver).collect()
}

/// In a separate process, because it looks at all driver processes that it started.
#[test]
fn an_endless_query_is_cancelled_and_a_driver_may_be_killed() {
    if std::env::var_os("ONRUSH_TEST_CHILD").is_none() {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "hanging::an_endless_query_is_cancelled_and_a_driver_may_be_killed", "--nocapture"])
            .env("ONRUSH_TEST_CHILD", "1");
        let ran = child.output().unwrap();
        let said = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        println!("{said}");
        return assert!(ran.status.success() && said.contains("1 passed"), "{}\n{said}", ran.status);
    }
    set_program(env!("CARGO_BIN_EXE_onrush-driver").into());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    // An empty file is a database without tables.
    std::fs::write(&file, "").unwrap();
    let file = file.to_string_lossy().into_owned();
    let target = Target { address: Address::parse("a.db").unwrap(), file: Some(file) };
    if let Err(error) = query(&target, "select 1", &TaskHandle::new()) {
        assert_eq!(error.code, "no-driver");
        return eprintln!("skipped: {error}");
    }
    let task = TaskHandle::new();
    let (cancelled, took) = std::thread::scope(|scope| {
        let running = scope.spawn(|| query(&target, ENDLESS, &task).map(drop).unwrap_err());
        let deadline = Instant::now() + Duration::from_secs(20);
        while drivers().is_empty() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        let begun = Instant::now();
        task.cancel();
        (running.join().unwrap(), begun.elapsed())
    });
    assert_eq!(cancelled.code, "interrupted");
    assert!(took < Duration::from_secs(5) && drivers().is_empty());
    let error = std::thread::scope(|scope| {
        let running = scope.spawn(|| query(&target, ENDLESS, &TaskHandle::new()).map(drop).unwrap_err());
        let deadline = Instant::now() + Duration::from_secs(20);
        let id = loop {
            match drivers().first() {
                Some(id) => break *id,
                None => assert!(Instant::now() < deadline),
            }
        };
        assert!(Command::new("kill").args(["-KILL", &id.to_string()]).status().unwrap().success());
        running.join().unwrap()
    });
    assert_eq!(error.code, "driver-died");
    assert!(error.message.contains("it was ended by signal 9"), "{error}");
}
