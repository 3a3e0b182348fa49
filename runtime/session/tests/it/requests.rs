//! What is asked, by one notebook and by several, and what becomes of it when processes end.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use std::time::{Duration, Instant};

use onrush_frame::{Table, value_at};
use onrush_session::connection::split;
use onrush_wire::plan::{Op, Sink, SinkFormat, Source};
use onrush_wire::progress::TaskState;
use onrush_wire::session::{CellEnd, Event, Hello, Reply, Request, Role, Status, Welcome};
use onrush_wire::{Class, DataType, Expr, FrameId, Generation, NotebookId, PROTOCOL, Value};

use super::support::{CSV, Client, Session, endless, from_values, greater, kill, processor_ticks, until};

#[test]
fn a_file_is_read_filtered_shown_and_collected() {
    let session = Session::start();
    let mut cell = session.cell("one");
    let read = cell.step(Op::Read(session.file("a.csv", CSV)));
    let filtered = cell.step(greater(read, "n", 1));
    let preview = cell.preview(filtered);
    assert_eq!(preview.total_rows, 2);
    assert_eq!(preview.head, [[Value::from("b"), Value::Int(2)], [Value::from("c"), Value::Int(3)]]);
    assert_eq!(cell.count(read), 4);
    let table = cell.collect(read);
    let column = table.column(1).unwrap();
    assert_eq!((value_at(&column, 2), value_at(&column, 3)), (Value::Int(3), Value::Null));
    let error = cell.try_step(greater(read, "N", 1)).unwrap_err();
    assert_eq!(error.code, "unknown-column");
    let error =
        cell.try_step(Op::Read(Source { path: "b.csv".to_string(), ..session.file("a.csv", CSV) })).unwrap_err();
    assert_eq!(error.code, "no-file");
    match cell.ask(Request::Value { frame: read, expr: Expr::call("sum", [Expr::column("n")]) }) {
        Reply::Value { value, .. } => assert_eq!(value, Value::Int(6)),
        other => panic!("{other:?}"),
    }
    let sink = Sink {
        path: "out.parquet".to_string(),
        folder: session.dir.path().to_str().unwrap().to_string(),
        format: SinkFormat::Parquet { compression: "zstd".to_string(), row_group_rows: None },
    };
    match cell.ask(Request::Write { frame: filtered, sink }) {
        Reply::Written { rows, path, .. } => assert!(rows == 2 && Path::new(&path).is_file()),
        other => panic!("{other:?}"),
    }
}

/// By hand: the sum of 0..n is n (n - 1) / 2. On the emulated device the memory is a file, on a GPU only a process that
/// has one could look into it.
#[test]
fn a_column_is_lent_where_the_engine_has_a_device() {
    let lend = |cell: &mut Client, frame, column: &str| {
        cell.exchange(Request::ExportColumn { frame, column: column.to_string() }, None)
    };
    let sum = |table: &Table| {
        let column = table.column(0).unwrap();
        let numbers = (0..table.rows()).map(|row| match value_at(&column, row) {
            Value::Int(value) => value,
            other => panic!("{other:?}"),
        });
        numbers.sum::<i64>()
    };
    for engine in ["emulated", "cpu"] {
        let session = Session::start_in(&[("ONRUSH_ENGINE", engine)]);
        let mut cell = session.cell("one");
        let (many, few) = (from_values(&mut cell, 0..200_000), from_values(&mut cell, 0..1_000));
        // Too few are not worth it.
        let table = Client::rows_of(lend(&mut cell, few, "n"));
        assert_eq!((table.rows(), sum(&table)), (1_000, 499_500));
        for column in ["N", ""] {
            let (Reply::Failed(error), None) = lend(&mut cell, many, column) else { panic!("there is no `{column}`") };
            assert_eq!(error.code, "unknown-column");
        }
        let (reply, descriptor) = lend(&mut cell, many, "n");
        if engine == "cpu" {
            let table = Client::rows_of((reply, descriptor));
            assert_eq!((table.rows(), sum(&table)), (200_000, 19_999_900_000));
            continue;
        }
        let Reply::Exported { rows, bytes, dtype, device, emulated } = reply else { panic!("{reply:?}") };
        assert_eq!((rows, bytes, dtype, emulated), (200_000, 1_600_000, DataType::Int64, true));
        assert!(device.starts_with("emulated device on "), "{device}");
        // The engine is needed no more.
        kill(session.status().engine_pid.unwrap());
        let mut content = vec![0; bytes as usize];
        File::from(descriptor.expect("the memory's")).read_exact_at(&mut content, 0).unwrap();
        let (numbers, _) = content.as_chunks::<8>();
        let numbers: Vec<i64> = numbers.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
        assert!(numbers.iter().copied().eq(0..200_000));
    }
}

#[test]
fn frames_come_back_after_the_engine_was_killed() {
    let session = Session::start();
    let mut kernel = session.kernel("one");
    let mut events = session.kernel("one");
    events.sender.send(&Request::Subscribe, None).unwrap();
    kernel.begin(1, 1);
    let mut cell = session.cell("one");
    let read = cell.step(Op::Read(session.file("a.csv", CSV)));
    let filtered = cell.step(greater(read, "n", 1));
    let made = from_values(&mut cell, [5, 6, 7]);
    let persisted = match cell.ask(Request::Persist { frame: filtered }) {
        Reply::Frame { id, .. } => id,
        other => panic!("{other:?}"),
    };
    // The steps in between are released: their plans are still needed.
    kernel.commit(1, &[("p", persisted), ("v", made)], &[read, filtered], &[]);
    assert_eq!(session.status().frames, 2);
    let before = cell.preview(persisted);
    let old = session.status();
    assert_eq!(old.engine_starts, 1);
    kill(old.engine_pid.unwrap());
    assert_eq!(cell.preview(persisted).head, before.head);
    assert_eq!(cell.count(made), 3);
    let new = session.status();
    assert_eq!(new.engine_starts, 2);
    assert_ne!(new.engine_pid, old.engine_pid);
    loop {
        if let Event::EngineRestarted { reason } = events.receiver.receive::<Event>().unwrap().0 {
            assert!(reason.contains("signal 9"), "{reason}");
            break;
        }
    }
}

/// CUDA asks for a new process then; kernels of the emulated device, which checks only those of users, are the process.
/// On a GPU with `ONRUSH_TEST_ENGINE=cuda`. Expected values are those of the file.
#[test]
fn frames_come_back_after_a_fatal_error_of_the_device() {
    let engine = std::env::var("ONRUSH_TEST_ENGINE").unwrap_or_else(|_| "emulated".to_string());
    fail_the_device(&engine, "", if engine == "cuda" { "the GPU stopped" } else { "ended by signal 11" });
}

/// The same where the engine still answers, as it does after an error of the driver.
#[test]
fn frames_come_back_after_the_device_was_lost() {
    fail_the_device("emulated", "lost", "the GPU stopped");
}

fn fail_the_device(engine: &str, how: &str, why: &str) {
    let folder = tempfile::tempdir().unwrap();
    let fault = folder.path().join("fault");
    let session = Session::start_in(&[("ONRUSH_ENGINE", engine), ("ONRUSH_TEST_FAULT", fault.to_str().unwrap())]);
    let mut events = session.kernel("one");
    events.sender.send(&Request::Subscribe, None).unwrap();
    let (mut one, mut two) = (session.cell("one"), session.cell("two"));
    let mut persisted = Vec::new();
    for (cell, least) in [(&mut one, 1), (&mut two, 2)] {
        let read = cell.step(Op::Read(session.file("a.csv", CSV)));
        let filtered = cell.step(greater(read, "n", least));
        match cell.ask(Request::Persist { frame: filtered }) {
            Reply::Frame { id, .. } => persisted.push(id),
            other => panic!("{other:?}"),
        }
    }
    let made = from_values(&mut two, [5, 6, 7]);
    assert_eq!((one.count(persisted[0]), two.count(persisted[1])), (2, 1));
    std::fs::write(&fault, how).unwrap();
    // The request that met the fault is answered by the next engine.
    let least = two.step(greater(made, "n", 5));
    assert_eq!(two.count(least), 2);
    assert!(!fault.exists());
    assert_eq!(session.status().engine_starts, 2);
    let head = one.preview(persisted[0]).head;
    assert_eq!(head, [[Value::from("b"), Value::Int(2)], [Value::from("c"), Value::Int(3)]]);
    assert_eq!(two.preview(persisted[1]).head, [[Value::from("c"), Value::Int(3)]]);
    assert_eq!((two.count(made), session.status().engine_starts), (3, 2));
    loop {
        if let Event::EngineRestarted { reason } = events.receiver.receive::<Event>().unwrap().0 {
            assert_eq!(reason, why);
            break;
        }
    }
}

/// A call that computes nothing: the way to the engine and back. `--nocapture` prints how long it takes.
#[test]
fn the_way_to_the_engine_and_back() {
    let engine = std::env::var("ONRUSH_TEST_ENGINE").unwrap_or_else(|_| "cpu".to_string());
    let session = Session::start_in(&[("ONRUSH_ENGINE", &engine)]);
    let mut cell = session.cell("one");
    let made = from_values(&mut cell, [5, 6, 7]);
    let mut times = Vec::new();
    for _ in 0..2_001 {
        let begun = std::time::Instant::now();
        assert_eq!(cell.count(made), 3);
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    println!("an empty call: median {:?}, fastest {:?}, 99 of 100 within {:?}", times[1_000], times[0], times[1_980]);
}

#[test]
fn a_request_under_way_survives_the_engine() {
    let session = Session::start();
    let mut cell = session.cell("one");
    let frame = endless(&mut cell);
    let pid = session.status().engine_pid.unwrap();
    let waiting = std::thread::spawn(move || cell.try_ask(Request::RowCount { frame }));
    std::thread::sleep(Duration::from_millis(300));
    kill(pid);
    until("another engine", || session.status().engine_starts == 2);
    // It was begun again there; the second death is said to the caller.
    std::thread::sleep(Duration::from_millis(300));
    kill(session.status().engine_pid.unwrap());
    let error = waiting.join().unwrap().unwrap_err();
    assert_eq!(error.code, "engine-died");
    assert!(error.message.contains("signal 9"));
    let mut cell = session.cell("one");
    let read = cell.step(Op::Read(session.file("a.csv", CSV)));
    assert_eq!(cell.count(read), 4);
}

#[test]
fn a_long_query_is_cancelled_within_a_second() {
    let session = Session::start();
    let mut kernel = session.kernel("one");
    let mut events = session.kernel("one");
    events.sender.send(&Request::Subscribe, None).unwrap();
    let mut cell = session.cell("one");
    let frame = endless(&mut cell);
    let waiting = std::thread::spawn(move || (cell.try_ask(Request::RowCount { frame }), cell));
    // It shows itself while it runs, and status is answered meanwhile.
    let task = loop {
        if let Event::Task(task) = events.receiver.receive::<Event>().unwrap().0
            && task.title.starts_with("count")
        {
            break task;
        }
    };
    assert_eq!(task.state, TaskState::Running);
    assert_eq!(session.status().engine_starts, 1);
    let started = Instant::now();
    assert_eq!(kernel.ask(Request::Cancel), Reply::Done);
    let (result, mut cell) = waiting.join().unwrap();
    assert_eq!(result.unwrap_err().class, Class::Interrupted);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    // The engine has let go of it, too, and not only its caller.
    let engine = session.status().engine_pid.unwrap();
    until("the engine computes nothing", || {
        let before = processor_ticks(engine);
        std::thread::sleep(Duration::from_millis(300));
        processor_ticks(engine) - before <= 3
    });
    loop {
        if let Event::Task(task) = events.receiver.receive::<Event>().unwrap().0
            && task.state != TaskState::Running
        {
            assert_eq!(task.state, TaskState::Cancelled);
            break;
        }
    }
    let read = cell.step(Op::Read(session.file("a.csv", CSV)));
    assert_eq!(cell.count(read), 4);
}

#[test]
fn a_cell_process_that_dies_takes_its_query_along() {
    let session = Session::start();
    let _kernel = session.kernel("one");
    let mut cell = session.cell("one");
    let frame = endless(&mut cell);
    cell.sender.send(&Request::RowCount { frame }, None).unwrap();
    let running = || match session.connect("observer", Role::Observer, 0).ask(Request::Tasks) {
        Reply::Tasks(tasks) => tasks.iter().filter(|t| t.state == TaskState::Running).count(),
        other => panic!("{other:?}"),
    };
    until("the query runs", || running() == 1);
    drop(cell);
    until("the query is stopped", || running() == 0);
    // The notebook and its frames are still there for the process that takes over.
    assert_eq!(session.notebooks(), ["one"]);
    let mut next = session.cell("one");
    assert!(next.try_ask(Request::Schema { frame }).is_ok());
}

#[test]
fn a_rolled_back_cell_is_ignored_and_its_frames_go() {
    let session = Session::start();
    let mut kernel = session.kernel("one");
    kernel.begin(1, 1);
    let mut first = session.cell("one");
    let read = first.step(Op::Read(session.file("a.csv", CSV)));
    kernel.commit(1, &[("t", read)], &[], &[]);

    kernel.begin(2, 1);
    let filtered = first.step(greater(read, "n", 1));
    let end = CellEnd::RolledBack;
    assert_eq!(kernel.ask(Request::EndCell { generation: Generation(1), end }), Reply::Done);
    assert_eq!(first.try_step(greater(read, "n", 2)).unwrap_err().code, "rolled-back");
    assert_eq!(session.try_connect("one", Role::Cell, 1).err().unwrap().code, "rolled-back");

    let mut second = session.connect("one", Role::Cell, 2);
    kernel.begin(3, 2);
    assert_eq!(second.count(read), 4, "what older cells made is there");
    let again = second.step(greater(read, "n", 1));
    assert_ne!(again, filtered);
    assert_eq!(second.count(again), 2);
    match kernel.ask(Request::Names) {
        Reply::Names { own, .. } => assert_eq!(own.iter().map(|n| n.name.as_str()).collect::<Vec<_>>(), ["t"]),
        other => panic!("{other:?}"),
    }
}

/// A failed cell: what it makes, and that it is rolled back.
fn fail<T>(session: &Session, kernel: &mut Client, generation: u64, work: impl FnOnce(&mut Client) -> T) -> T {
    kernel.begin(generation, generation);
    let result = work(&mut session.connect("one", Role::Cell, generation));
    let end = CellEnd::RolledBack;
    assert_eq!(kernel.ask(Request::EndCell { generation: Generation(generation), end }), Reply::Done);
    result
}

fn persist(cell: &mut Client, frame: FrameId) -> FrameId {
    match cell.ask(Request::Persist { frame }) {
        Reply::Frame { id, .. } => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_corrected_cell_adopts_what_the_failed_one_had_finished() {
    // The session's caches are too small for these files: 64 MB of files, and results of up to 32 MB.
    let session = Session::start_in(&[("ONRUSH_MEMORY", "256M")]);
    let rows = |seed: u64| {
        let mut text = String::from("a,b,c\n");
        for i in 0..1_600_000u64 {
            let a = i.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed) >> 44;
            text.push_str(&format!("{a},{i},{}\n", a ^ i));
        }
        text
    };
    let (one, two) = (session.file("one.csv", &rows(1)), session.file("two.csv", &rows(2)));
    let mut kernel = session.kernel("one");
    let times = std::cell::RefCell::new(Vec::new());
    let load = |cell: &mut Client| {
        let begun = Instant::now();
        let read = cell.step(Op::Read(one.clone()));
        // Reading another file pushes the first one out of the cache.
        let other = cell.step(Op::Read(two.clone()));
        let filtered = cell.step(greater(read, "a", 10));
        let kept = persist(cell, filtered);
        times.borrow_mut().push(begun.elapsed());
        assert_eq!(cell.count(other), 1_600_000);
        (read, other, kept)
    };
    // The two that fail compute once.
    fail(&session, &mut kernel, 1, load);
    assert!(session.status().parked >= 3);
    fail(&session, &mut kernel, 2, load);
    assert_eq!(session.status().parked, 4, "each plan is parked once");
    kernel.begin(3, 3);
    let mut cell = session.connect("one", Role::Cell, 3);
    let (read, other, kept) = load(&mut cell);
    kernel.commit(3, &[("k", kept)], &[read, other], &[]);
    assert_eq!((session.status().parked, session.status().frames), (0, 2), "the filter's handle and the kept frame");
    {
        let times = times.borrow();
        assert!(times[1] < times[0] / 3 && times[2] < times[0] / 3, "{times:?}");
    }
    // Once a cell has succeeded nothing is kept for it: this is the first time again.
    kernel.commit(3, &[], &[kept], &[]);
    fail(&session, &mut kernel, 3, load);
    let times = times.borrow();
    assert!(times[3] > times[1] * 2, "{times:?}");
}

#[test]
fn failing_cells_leave_nothing_behind() {
    let session = Session::start_in(&[("ONRUSH_PARKED", "1")]);
    let mut kernel = session.kernel("one");
    kernel.begin(1, 1);
    let mut cell = session.cell("one");
    let source = session.file("a.csv", CSV);
    let read = cell.step(Op::Read(source.clone()));
    kernel.commit(1, &[("t", read)], &[], &[]);
    let work = |cell: &mut Client| {
        let again = cell.step(Op::Read(source.clone()));
        let filtered = cell.step(greater(again, "n", 1));
        let kept = persist(cell, filtered);
        let made = from_values(cell, 0..1000);
        assert_eq!((cell.count(kept), cell.count(made)), (2, 1000));
        assert!(cell.try_step(greater(kept, "nothing", 1)).is_err());
    };
    fail(&session, &mut kernel, 1, work);
    until("nothing is parked", || session.status().parked == 0);
    let ledger = || {
        let Status { frames, parked, resident_bytes, notebooks, .. } = session.status();
        (frames, parked, resident_bytes, notebooks)
    };
    let tasks = || match session.connect("observer", Role::Observer, 0).ask(Request::Tasks) {
        Reply::Tasks(tasks) => tasks.len(),
        other => panic!("{other:?}"),
    };
    // On a busy machine a task of the first failure may end after its cell.
    until("no task runs", || tasks() == 0);
    let before = (ledger(), tasks());
    for generation in 2..1002 {
        fail(&session, &mut kernel, generation, work);
    }
    until("the ledgers are as they were", || (ledger(), tasks()) == before);
    assert_eq!(session.connect("one", Role::Cell, 1002).count(read), 4);
}

#[test]
fn what_a_cell_process_held_goes_with_it() {
    let session = Session::start();
    let mut kernel = session.kernel("one");
    kernel.begin(1, 1);
    let mut cell = session.cell("one");
    // Only one of them has a name; the others are in a list of the cell's. One is shared.
    let frames: Vec<FrameId> = (0..4).map(|n| from_values(&mut cell, n..n + 10)).collect();
    kernel.commit_of(1, 1, &[("a", frames[0])], &[], &[("shared", frames[3])]);
    // A cell that fails in between changes nothing of it.
    fail(&session, &mut kernel, 1, |cell| assert_eq!(cell.count(frames[1]), 10));
    kernel.begin(2, 2);
    kernel.commit_of(1, 2, &[("a", frames[0])], &[], &[]);
    assert_eq!(session.status().frames, 4);
    // Another process, with one new frame.
    kernel.begin(3, 3);
    let mut cell = session.connect("one", Role::Cell, 3);
    let made = from_values(&mut cell, 0..5);
    kernel.commit_of(3, 3, &[("b", made)], &[], &[]);
    assert_eq!(session.status().frames, 2, "the new one and the shared one");
    assert_eq!(cell.count(made), 5);
}

#[test]
fn notebooks_share_what_they_publish_and_nothing_else() {
    let session = Session::start();
    let mut kernel = session.kernel("one");
    kernel.begin(1, 1);
    let mut cell = session.cell("one");
    let made = from_values(&mut cell, [1, 2, 3]);
    let other = from_values(&mut cell, [9]);
    kernel.commit(1, &[("n", made), ("o", other)], &[], &[("shared", made)]);

    let mut kernel_two = session.kernel("two");
    let mut two = session.cell("two");
    let error = two.try_ask(Request::Get { name: "n".to_string() }).unwrap_err();
    assert!(error.help[0].contains("`shared`"), "{error}");
    let Reply::Frame { id, schema } = two.ask(Request::Get { name: "shared".to_string() }) else { panic!() };
    assert_eq!(schema.names().collect::<Vec<_>>(), ["n"]);
    let big = two.step(greater(id, "n", 1));
    assert_eq!(two.count(big), 2);
    match kernel_two.ask(Request::Names) {
        Reply::Names { own, published, .. } => assert_eq!((own.len(), published.len()), (0, 1)),
        other => panic!("{other:?}"),
    }

    // The first notebook is closed: its names go, what it published stays.
    drop((kernel, cell));
    until("the first notebook is closed", || session.notebooks() == ["two"]);
    assert_eq!(session.status().frames, 3);
    assert_eq!(two.count(id), 3);
    let mut sql = |query: &str| two.try_step(Op::Sql { query: query.to_string(), tables: vec![] });
    let sum = sql("select sum(n) as s from shared").unwrap();
    assert!(sql("select * from o").is_err());
    let table = two.collect(sum);
    assert_eq!(value_at(&table.column(0).unwrap(), 0), Value::Int(6));
}

#[test]
fn released_frames_free_their_memory() {
    let session = Session::start();
    let mut kernel = session.kernel("one");
    kernel.begin(1, 1);
    let mut cell = session.cell("one");
    let made = from_values(&mut cell, 0..1_000_000);
    kernel.commit(1, &[("n", made)], &[], &[]);
    until("it is held", || session.status().resident_bytes >= 8_000_000);
    let half = cell.step(greater(made, "n", 500_000));
    kernel.commit(1, &[("half", half)], &[made], &[]);
    assert_eq!(session.status().frames, 1);
    assert_eq!(cell.count(half), 499_999, "what is made from it lives on");
    kernel.commit(1, &[], &[half], &[]);
    assert_eq!(session.status().frames, 0);
    let error = cell.try_ask(Request::RowCount { frame: made }).unwrap_err();
    assert_eq!(error.code, "unknown-frame");
}

#[test]
fn starters_join_the_one_that_runs() {
    let session = Session { dir: tempfile::tempdir().unwrap() };
    let mut starters: Vec<_> = (0..4).map(|_| session.command(&[]).spawn().unwrap()).collect();
    for starter in &mut starters {
        assert!(starter.wait().unwrap().success());
    }
    let pid = session.status().pid;
    assert!(session.command(&[]).status().unwrap().success());
    assert_eq!(session.status().pid, pid);
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(session.dir.path().join("run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    // One that was killed leaves its socket behind; the next one replaces it.
    let old = from_values(&mut session.cell("one"), [1]);
    kill(pid);
    until("it is gone", || UnixStream::connect(session.socket()).is_err());
    assert!(session.socket().exists());
    assert!(session.command(&[]).status().unwrap().success());
    assert_ne!(session.status().pid, pid);
    // What the first one knew is unknown, not another frame.
    let mut cell = session.cell("one");
    assert!(from_values(&mut cell, [2]) > old);
    assert_eq!(cell.try_ask(Request::RowCount { frame: old }).unwrap_err().code, "unknown-frame");
}

#[test]
fn an_idle_session_ends() {
    let session = Session::start_with(&["--idle", "0.5"]);
    let status = session.status();
    let client = session.cell("one");
    std::thread::sleep(Duration::from_millis(1000));
    assert_eq!(session.status().pid, status.pid, "somebody is attached");
    drop(client);
    until("the session ends", || !session.socket().exists());
    until("its engine ends, too", || !Path::new(&format!("/proc/{}", status.engine_pid.unwrap())).exists());
}

#[test]
fn an_idle_session_ends_without_its_socket() {
    let session = Session::start_with(&["--idle", "0.5"]);
    let pid = session.status().pid;
    std::fs::remove_file(session.socket()).unwrap();
    until("the session ends", || !Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn strangers_are_refused() {
    let session = Session::start();
    let (mut sender, mut receiver) = split(UnixStream::connect(session.socket()).unwrap()).unwrap();
    let hello = Hello {
        protocol: PROTOCOL + 1,
        notebook: NotebookId("x".to_string()),
        role: Role::Cell,
        generation: Generation(0),
        pid: 1,
        token: String::new(),
    };
    sender.send(&hello, None).unwrap();
    match receiver.receive::<Welcome>().unwrap().0 {
        Welcome::Refused(diagnostic) => assert_eq!(diagnostic.code, "protocol"),
        other => panic!("{other:?}"),
    }
    // Noise instead of a greeting closes the connection, and only that.
    use std::io::{Read, Write};
    let mut noise = UnixStream::connect(session.socket()).unwrap();
    noise.write_all(&[0xff; 64]).unwrap();
    assert!(matches!(noise.read(&mut [0; 1]), Ok(0) | Err(_)));
    assert_eq!(session.status().engine_starts, 1);
    let mut cell = session.cell("one");
    let end = CellEnd::RolledBack;
    assert!(cell.try_ask(Request::EndCell { generation: Generation(1), end }).is_err());
}
