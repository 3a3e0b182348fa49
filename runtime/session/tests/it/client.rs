//! The protocol of programs in other languages: JSON and descriptors (`docs/client-protocol.md`).

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use onrush_frame::{ipc, sealed};
use onrush_session::memfd;
use onrush_wire::fd_passing;
use onrush_wire::session::Request;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Session, endless, from_values, values};

struct Program(UnixStream);

impl Program {
    fn new(session: &Session, hello: &Value) -> Program {
        let mut program = Program(UnixStream::connect(session.socket()).unwrap());
        program.0.set_read_timeout(Some(PATIENCE)).unwrap();
        program.0.write_all(b"ONRUSHC1").unwrap();
        let welcome = program.ask(hello, None).0;
        assert_eq!(welcome["ok"], true, "{welcome}");
        assert_eq!(welcome["engine"], "cpu");
        program
    }

    fn send(&mut self, message: &Value, descriptor: Option<&OwnedFd>) {
        let body = message.to_string();
        let bytes = [&(body.len() as u32).to_le_bytes()[..], body.as_bytes()].concat();
        let descriptor = descriptor.map(|d| d.as_fd());
        fd_passing::send_encoded(&self.0, &bytes, descriptor.as_slice()).unwrap();
    }

    fn receive(&mut self) -> (Value, Option<OwnedFd>) {
        let (body, descriptors) = fd_passing::begin(&self.0).unwrap().finish_bytes(None).unwrap();
        (serde_json::from_slice(&body).unwrap(), descriptors.into_iter().next())
    }

    fn ask(&mut self, message: &Value, descriptor: Option<&OwnedFd>) -> (Value, Option<OwnedFd>) {
        self.send(message, descriptor);
        self.receive()
    }

    /// The numbers of a reply with one column of `i64` without nulls, found by the layout alone.
    fn numbers((reply, memory): &(Value, Option<OwnedFd>)) -> Vec<i64> {
        assert_eq!(reply["ok"], true, "{reply}");
        let memory = memory.as_ref().unwrap();
        assert!(sealed::is_immutable(memory));
        let bytes = memfd::read(memory).unwrap();
        let batches = reply["layout"]["batches"].as_array().unwrap();
        let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
        let of_batch = |batch: &Value| {
            let buffer = &batch["buffers"][1];
            let (start, length) = (number(&buffer[0]), number(&batch["rows"]) * 8);
            bytes[start..start + length].chunks(8).map(|n| i64::from_le_bytes(n.try_into().unwrap())).collect()
        };
        batches.iter().map(of_batch).flat_map(|numbers: Vec<i64>| numbers).collect()
    }
}

fn hello() -> Value {
    json!({"op": "hello", "client": "test", "pid": std::process::id(), "notebook": null})
}

fn code(reply: &Value) -> &str {
    assert_eq!(reply["ok"], false, "{reply}");
    reply["error"]["code"].as_str().unwrap()
}

#[test]
fn a_frame_goes_to_a_program_and_comes_back() {
    let session = Session::start();
    let mut kernel = session.kernel("a");
    let mut cell = session.cell("a");
    kernel.begin(1, 1);
    let frame = from_values(&mut cell, [5, 6, 7]);
    kernel.commit(1, &[("mine", frame)], &[], &[("shared", frame)]);

    let mut program = Program::new(&session, &hello());
    let names = program.ask(&json!({"op": "names"}), None).0;
    assert_eq!(names["names"][0]["name"], "shared");
    assert_eq!(names["names"][0]["columns"], json!([{"name": "n", "type": "i64"}]));
    assert_eq!(names["names"].as_array().unwrap().len(), 1);
    let got = program.ask(&json!({"op": "get", "name": "shared"}), None);
    assert_eq!(Program::numbers(&got), [5, 6, 7]);
    let again = program.ask(&json!({"op": "get", "name": "shared", "columns": ["n"]}), None);
    let inode = |memory: &Option<OwnedFd>| rustix::fs::fstat(memory.as_ref().unwrap()).unwrap().st_ino;
    assert_eq!(inode(&again.1), inode(&got.1), "the second answer is the same memory");
    assert_eq!(again.0["id"], got.0["id"]);
    let none = program.ask(&json!({"op": "get", "name": "shared", "columns": []}), None).0;
    assert_eq!((&none["rows"], &none["layout"]["batches"][0]["buffers"]), (&json!(3), &json!([])));
    assert_eq!(cell.collect(frame).rows(), 3);

    let (_, rows) = values([1, 2]);
    let published = program.ask(&json!({"op": "publish", "name": "back"}), Some(&rows)).0;
    assert_eq!(published, json!({"ok": true, "rows": 2, "columns": [{"name": "n", "type": "i64"}]}));
    drop(program);
    // It stays when the program has gone.
    let mut other = Program::new(&session, &hello());
    assert_eq!(Program::numbers(&other.ask(&json!({"op": "get", "name": "back"}), None)), [1, 2]);
    let sql = json!({"op": "sql", "query": "select max(n) as n from shared"});
    assert_eq!(Program::numbers(&other.ask(&sql, None)), [7]);
    let sql = json!({"op": "sql", "query": "select n + 1 as n from back", "name": "more"});
    assert_eq!(other.ask(&sql, None).0["rows"], 2);
    assert_eq!(Program::numbers(&other.ask(&json!({"op": "get", "name": "more"}), None)), [2, 3]);
    assert_eq!(other.ask(&json!({"op": "unpublish", "name": "more"}), None).0["ok"], true);
    assert_eq!(code(&other.ask(&json!({"op": "get", "name": "more"}), None).0), "unknown-name");
    assert_eq!(other.ask(&json!({"op": "get_device", "name": "back", "column": "n"}), None).0["on_host"], true);
}

#[test]
fn a_program_of_a_notebook_sees_its_variables() {
    let session = Session::start();
    let mut kernel = session.kernel("a");
    let mut cell = session.cell("a");
    kernel.begin(1, 1);
    let frame = from_values(&mut cell, [5]);
    kernel.commit(1, &[("mine", frame)], &[], &[]);
    let mut hello = hello();
    assert_eq!(
        code(&Program::new(&session, &hello).ask(&json!({"op": "get", "name": "mine"}), None).0),
        "unknown-name"
    );
    hello["notebook"] = json!("a");
    let mut program = Program::new(&session, &hello);
    assert_eq!(Program::numbers(&program.ask(&json!({"op": "get", "name": "mine"}), None)), [5]);
    let sql = json!({"op": "sql", "query": "select n * 2 as n from mine"});
    assert_eq!(Program::numbers(&program.ask(&sql, None)), [10]);
    let (_, rows) = values([9]);
    assert_eq!(program.ask(&json!({"op": "publish", "name": "%private"}), Some(&rows)).0["ok"], true);
    assert_eq!(program.ask(&json!({"op": "names"}), None).0["names"].as_array().unwrap().len(), 1);
    let mut other = Program::new(&session, &json!({"op": "hello", "pid": 1}));
    let get = json!({"op": "get", "name": "%private"});
    assert_eq!(Program::numbers(&other.ask(&get, None)), [9]);
    // It ends with the program that published it.
    drop(program);
    let begun = Instant::now();
    while other.ask(&get, None).0["ok"] == true {
        assert!(begun.elapsed() < PATIENCE, "the private name stayed");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn errors_say_what_was_wrong_and_the_connection_goes_on() {
    let session = Session::start();
    let mut program = Program::new(&session, &hello());
    let unknown = program.ask(&json!({"op": "get", "name": "nothing"}), None).0;
    assert_eq!(code(&unknown), "unknown-name");
    assert!(unknown["error"]["help"][0].as_str().unwrap().contains("publish"));
    assert_eq!(code(&program.ask(&json!({"op": "fly"}), None).0), "request");
    assert_eq!(code(&program.ask(&json!([1, 2]), None).0), "request");
    assert_eq!(code(&program.ask(&json!({"op": "publish", "name": "x"}), None).0), "request");
    let junk = memfd::sealed("junk", b"this is not Arrow").unwrap();
    assert_eq!(code(&program.ask(&json!({"op": "publish", "name": "x"}), Some(&junk)).0), "arrow");
    let (_, rows) = values([1]);
    assert_eq!(code(&program.ask(&json!({"op": "publish", "name": ""}), Some(&rows)).0), "name");
    assert_eq!(program.ask(&json!({"op": "publish", "name": "x"}), Some(&rows)).0["ok"], true);
    let wrong = program.ask(&json!({"op": "get", "name": "x", "columns": ["m"]}), None).0;
    assert_eq!(code(&wrong), "unknown-column");
    assert!(wrong["error"]["help"][0].as_str().unwrap().contains("its columns: n"));
    assert_eq!(program.ask(&json!({"op": "sql", "query": "selec 1"}), None).0["ok"], false);
    assert_eq!(program.ask(&json!({"op": "names"}), None).0["ok"], true);
    // An announced message that is too long ends the connection, and so does a wrong start.
    program.0.write_all(&u32::MAX.to_le_bytes()).unwrap();
    assert_eq!(program.0.read(&mut [0; 8]).unwrap_or(0), 0);
    let mut stranger = UnixStream::connect(session.socket()).unwrap();
    stranger.set_read_timeout(Some(PATIENCE)).unwrap();
    stranger.write_all(b"ONRUSHX1........").unwrap();
    assert_eq!(stranger.read(&mut [0; 8]).unwrap_or(0), 0);
    assert_eq!(Program::new(&session, &hello()).ask(&json!({"op": "names"}), None).0["ok"], true);
}

#[test]
fn another_connection_of_the_process_interrupts() {
    let session = Session::start();
    let mut kernel = session.kernel("a");
    let mut cell = session.cell("a");
    kernel.begin(1, 1);
    let frame = endless(&mut cell);
    kernel.commit(1, &[], &[], &[("endless", frame)]);
    let mut program = Program::new(&session, &hello());
    program.send(&json!({"op": "get", "name": "endless"}), None);
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    assert_eq!(Program::new(&session, &hello()).ask(&json!({"op": "interrupt"}), None).0["ok"], true);
    let stopped = program.receive().0;
    assert_eq!(stopped["error"]["class"], "interrupted", "{stopped}");
    assert!(begun.elapsed() < Duration::from_secs(20));
}

#[test]
fn many_answers_leave_nothing_behind() {
    let session = Session::start();
    let mut program = Program::new(&session, &hello());
    let pid = session.status().pid;
    let open = || std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
    let mut round = |n: i64| {
        let (_, rows) = values(n..n + 1000);
        assert_eq!(program.ask(&json!({"op": "publish", "name": "x"}), Some(&rows)).0["ok"], true);
        assert_eq!(Program::numbers(&program.ask(&json!({"op": "get", "name": "x"}), None))[0], n);
        let sql = json!({"op": "sql", "query": "select n from x limit 1"});
        assert_eq!(Program::numbers(&program.ask(&sql, None)), [n]);
    };
    (0..5).for_each(&mut round);
    let before = (open(), session.status());
    (5..105).for_each(&mut round);
    let after = (open(), session.status());
    assert!(after.0 <= before.0 + 4, "descriptors: {} and {}", before.0, after.0);
    assert_eq!(after.1.frames, before.1.frames);
    assert!(after.1.resident_bytes <= before.1.resident_bytes + (1 << 20), "{after:?}");
}

/// A reader that asks while a writer publishes the same name finds one of the frames each time.
#[test]
fn a_name_that_is_published_again_is_always_there() {
    let session = Session::start();
    let mut program = Program::new(&session, &hello());
    let (_, rows) = values(0..10);
    let publish = json!({"op": "publish", "name": "live"});
    assert_eq!(program.ask(&publish, Some(&rows)).0["ok"], true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut writer = Program::new(&session, &json!({"op": "hello", "pid": 1}));
            for n in 0..50 {
                assert_eq!(writer.ask(&publish, Some(&values(n..n + 10).1)).0["ok"], true);
            }
        });
        for _ in 0..50 {
            assert_eq!(Program::numbers(&program.ask(&json!({"op": "get", "name": "live"}), None)).len(), 10);
        }
    });
}

/// A stream whose first message says that 64 TB follow is an error, and takes no memory.
#[test]
fn an_absurd_length_in_a_stream_is_an_error() {
    let session = Session::start();
    let mut program = Program::new(&session, &hello());
    let (_, rows) = values([1]);
    let file = memfd::read(&rows).unwrap();
    let table = ipc::read(file.into()).unwrap();
    let mut stream = Vec::new();
    let mut writer = arrow::ipc::writer::StreamWriter::try_new(&mut stream, table.schema()).unwrap();
    table.batches().iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    drop(writer);
    for at in 0..stream.len().min(400) {
        let mut damaged = stream.clone();
        damaged[at] = 0x7f;
        let damaged = memfd::sealed("damaged", &damaged).unwrap();
        // Read or refused: the session answers.
        program.ask(&json!({"op": "publish", "name": "x"}), Some(&damaged));
    }
    assert_eq!(session.status().engine_starts, 1);
}

/// A file of the session's memory that a cell made is what the engine itself reads after it was shared.
#[test]
fn shared_rows_are_in_memory_once() {
    let session = Session::start();
    let mut kernel = session.kernel("a");
    let mut cell = session.cell("a");
    kernel.begin(1, 1);
    let frame = from_values(&mut cell, 0..1_000_000);
    let held = cell.ask(Request::Persist { frame });
    let onrush_wire::session::Reply::Frame { id, .. } = held else { panic!("{held:?}") };
    let before = session.status().resident_bytes;
    let shared = cell.exchange(Request::Share { frame: id, columns: vec![] }, None);
    let again = cell.exchange(Request::Share { frame: id, columns: vec![] }, None);
    let inode = |memory: &Option<OwnedFd>| rustix::fs::fstat(memory.as_ref().unwrap()).unwrap().st_ino;
    assert_eq!(inode(&shared.1), inode(&again.1));
    assert_eq!(ipc::read(memfd::read(&shared.1.unwrap()).unwrap().into()).unwrap().rows(), 1_000_000);
    let after = session.status().resident_bytes;
    assert!(after < before + before / 4, "{before} and {after} bytes");
}
