//! What a session stands: expressions that loops make, files that change, processes that are stopped, messages that end
//! in the middle. What is expected follows from arithmetic or from what the operating system says.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use onrush_frame::value_at;
use onrush_session::connection::split;
use onrush_session::memfd;
use onrush_wire::explore::{Explore, View};
use onrush_wire::plan::{CsvOptions, Format, Op, Source};
use onrush_wire::plot::{LayerRequest, PlotRequest, PlotStyle};
use onrush_wire::session::{Hello, Reply, Request, Role, Welcome};
use onrush_wire::{BinaryOp, Class, Expr, ExprKind, FrameId, Generation, NotebookId, PROTOCOL, Value};

use super::support::{Client, Session, from_values, greater, kill, until, values};

fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
    Expr::new(ExprKind::Binary(op, Box::new(left), Box::new(right)))
}

/// `n + 1 + 1 ...`, as a loop makes it.
fn sum(terms: usize) -> Expr {
    (0..terms).fold(Expr::column("n"), |sum, _| binary(BinaryOp::Add, sum, Expr::literal(1)))
}

fn first_of(client: &mut Client, frame: FrameId, column: usize) -> Value {
    let column = client.collect(frame).column(column).unwrap();
    value_at(&column, 0)
}

#[test]
fn a_long_expression_is_answered_and_nobody_else_notices() {
    let session = Session::start();
    let (mut one, mut other) = (session.cell("one"), session.cell("other"));
    let kept = from_values(&mut other, [7, 8]);
    let engine = session.status().engine_pid;
    let frame = from_values(&mut one, [5, 6]);
    let with = |terms: usize| Op::WithColumns { input: frame, exprs: vec![sum(terms).alias("z")] };
    let long = one.step(with(1_500));
    assert_eq!(first_of(&mut one, long, 1), Value::Int(1_505));
    // Of a hundred thousand levels, in a build without optimisation.
    let deep = with(100_000);
    let begun = Instant::now();
    let error = one.try_step(deep).unwrap_err();
    assert_eq!((error.code.as_str(), error.class), ("deep-expression", Class::Plan), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let error = one.try_ask(Request::Value { frame, expr: sum(200_000) }).unwrap_err();
    assert_eq!(error.code, "deep-expression");
    let layer = LayerRequest { x: Some(sum(200_000)), ..Default::default() };
    let plot = PlotRequest { frame, layers: vec![layer], style: PlotStyle::default(), facet: None };
    assert_eq!(one.try_ask(Request::Plot(plot)).unwrap_err().code, "deep-expression");
    let view = View { frame, filter: Some(sum(200_000)), sort: Vec::new() };
    let error = one.try_ask(Request::Explore { view, what: Explore::ComputeView }).unwrap_err();
    assert_eq!(error.code, "deep-expression");
    // Both notebooks go on, with the engine that they had.
    assert_eq!(one.count(long), 2);
    assert_eq!(first_of(&mut other, kept, 0), Value::Int(7));
    assert_eq!(session.status().engine_pid, engine);
}

/// Each frame says that its file has changed, until it is read again.
#[test]
fn frames_of_files_that_changed_are_not_made_again() {
    let session = Session::start();
    let mut cell = session.cell("one");
    let source = session.file("a.csv", "n\n1\n2\n");
    let (same, kept) = (session.file("same.csv", "n\n9\n"), source.clone());
    let folder = session.dir.path().join("parts");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("1.csv"), "n\n1\n").unwrap();
    let all = Source { path: folder.join("*.csv").display().to_string(), folder: "/".to_string(), ..source.clone() };
    let lines = folder.join("a.jsonl").display().to_string();
    std::fs::write(&lines, "{\"n\": 3}\n").unwrap();
    let lines = Source { path: lines, folder: "/".to_string(), format: Format::JsonLines, cluster: None };

    let read = cell.step(Op::Read(source));
    let (filtered, other) = (cell.step(greater(read, "n", 1)), cell.step(Op::Read(same)));
    let (parts, json) = (cell.step(Op::Read(all.clone())), cell.step(Op::Read(lines)));
    assert_eq!((cell.count(filtered), cell.count(other), cell.count(parts), cell.count(json)), (1, 1, 1, 1));

    // The same size, another content.
    std::fs::write(session.dir.path().join("a.csv"), "n\n5\n6\n").unwrap();
    std::fs::write(folder.join("2.csv"), "n\n2\n").unwrap();
    std::fs::write(folder.join("a.jsonl"), "{\"n\": 3}\n{\"n\": 4}\n").unwrap();
    kill(session.status().engine_pid.unwrap());

    let error = cell.try_ask(Request::RowCount { frame: filtered }).unwrap_err();
    assert_eq!((error.code.as_str(), error.class), ("file-changed", Class::Data), "{error}");
    assert!(error.message.contains("a.csv` has changed since this frame was read"), "{error}");
    assert!(error.help[0].contains("read_csv(\"a.csv\")"), "{error:?}");
    let error = cell.try_ask(Request::RowCount { frame: json }).unwrap_err();
    assert!(error.message.contains("a.jsonl` has changed") && error.message.contains("9 bytes"), "{error}");
    let error = cell.try_ask(Request::RowCount { frame: parts }).unwrap_err();
    assert!(error.message.contains("2.csv` has come"), "{error}");
    // What has not changed comes back, and what is read now is read.
    assert_eq!(cell.count(other), 1);
    let again = cell.step(Op::Read(kept));
    assert_eq!(first_of(&mut cell, again, 0), Value::Int(5));
    let again = cell.step(Op::Read(all));
    assert_eq!(cell.count(again), 2);
    // And again after the next engine.
    kill(session.status().engine_pid.unwrap());
    assert_eq!(cell.count(again), 2);
    std::fs::remove_file(folder.join("2.csv")).unwrap();
    kill(session.status().engine_pid.unwrap());
    let error = cell.try_ask(Request::RowCount { frame: again }).unwrap_err();
    assert!(error.message.contains("2.csv` is gone"), "{error}");
}

/// 1 GB of zeros in 1 MB: the session may have 64 MB.
#[test]
fn what_unpacks_to_more_than_the_session_may_hold_is_refused() {
    let session = Session::start_in(&[("ONRUSH_MEMORY", "64M")]);
    let path = session.dir.path().join("zeros.csv.gz");
    let packed = Command::new("sh").arg("-c").arg("(echo n; head -c 1000000000 /dev/zero) | gzip -1").output().unwrap();
    std::fs::write(&path, packed.stdout).unwrap();
    let mut cell = session.cell("one");
    let format = Format::Csv(CsvOptions::default());
    let source = Source { path: path.display().to_string(), folder: "/".to_string(), format, cluster: None };
    let error = cell.try_step(Op::Read(source)).unwrap_err();
    assert_eq!((error.code.as_str(), error.class), ("out-of-memory", Class::Resources), "{error}");
    assert!(error.message.contains("zeros.csv.gz") && error.message.contains("67 MB of ONRUSH_MEMORY"), "{error}");
    // Some MB of a process, and no GB of text.
    assert!(kilobytes(session.status().engine_pid.unwrap(), "VmHWM") < 600 << 10);
    let frame = from_values(&mut cell, [1]);
    assert_eq!(cell.count(frame), 1);
}

fn kilobytes(pid: u32, what: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(what)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
}

/// A connection that has said who it is.
fn greeted(session: &Session) -> UnixStream {
    let stream = UnixStream::connect(session.socket()).unwrap();
    let (mut sender, mut receiver) = split(stream.try_clone().unwrap()).unwrap();
    let (notebook, token) = (NotebookId("half".to_string()), String::new());
    let (role, generation, pid) = (Role::Cell, Generation(1), std::process::id());
    sender.send(&Hello { protocol: PROTOCOL, notebook, role, generation, pid, token }, None).unwrap();
    assert!(matches!(receiver.receive::<Welcome>().unwrap().0, Welcome::Accepted { .. }));
    stream
}

#[test]
fn half_messages_take_no_memory() {
    let session = Session::start();
    let before = kilobytes(session.status().pid, "VmRSS");
    // Ten times 200 MB are announced, and as much of them sent as is taken.
    let half = vec![0u8; 100 << 20];
    let mut open = Vec::new();
    for _ in 0..10 {
        let mut stream = greeted(&session);
        stream.write_all(&(200u32 << 20).to_le_bytes()).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        let _ = stream.write_all(&half);
        open.push(stream);
    }
    let taken = kilobytes(session.status().pid, "VmRSS").saturating_sub(before);
    // One message at a time is read; its buffer grows by copies.
    assert!(taken < 420 << 10, "{taken} kB");
    // Others are served meanwhile, and when those are gone nothing is left.
    let mut cell = session.cell("one");
    let frame = from_values(&mut cell, [1, 2]);
    assert_eq!(cell.count(frame), 2);
    drop(open);
    until("the memory is given back", || kilobytes(session.status().pid, "VmRSS") < before + (64 << 10));
    // A greeting is short.
    let mut stream = UnixStream::connect(session.socket()).unwrap();
    stream.write_all(&(1u32 << 20).to_le_bytes()).unwrap();
    until("the stranger is sent away", || onrush_session::connection::is_closed(&stream));
}

#[test]
fn damaged_rows_are_an_error_of_their_request() {
    let session = Session::start();
    let (mut one, mut other) = (session.cell("one"), session.cell("other"));
    let kept = from_values(&mut other, [7]);
    let engine = session.status().engine_pid;
    let send = |client: &mut Client, op: &Op, descriptor: &OwnedFd| match client
        .exchange(Request::Step { op: op.clone(), at: None }, Some(descriptor))
        .0
    {
        Reply::Failed(error) => Some(error.code),
        Reply::Frame { .. } => None,
        other => panic!("{other:?}"),
    };
    let (op, whole) = values(0..100);
    let whole = memfd::read(&whole).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        let damaged = memfd::sealed("damaged", &bytes).unwrap();
        refused += usize::from(send(&mut one, &op, &damaged).is_some());
    }
    assert!(refused > 10, "{refused}");
    for cut in [0, 4, 10, whole.len() / 2, whole.len() - 1] {
        let cut = memfd::sealed("cut", &whole[..cut]).unwrap();
        assert_eq!(send(&mut one, &op, &cut).as_deref(), Some("shared-memory"));
    }
    // It says that it has a TB, and an endless one.
    let huge = memfd::sealed_by("huge", |file| file.set_len(1 << 40)).unwrap();
    assert_eq!(send(&mut one, &op, &huge).as_deref(), Some("shared-memory"));
    let endless = OwnedFd::from(File::open("/dev/zero").unwrap());
    assert_eq!(send(&mut one, &op, &endless).as_deref(), Some("shared-memory"));
    let inline = Op::FromArrow { schema: Default::default(), bytes: Some(vec![0xff; 64]) };
    assert!(one.try_step(inline).is_err());
    assert_eq!(first_of(&mut other, kept, 0), Value::Int(7));
    assert_eq!(session.status().engine_pid, engine);
}

fn signal(pid: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

#[test]
fn an_engine_that_is_stopped_is_named_and_holds_up_nobody_else() {
    let session = Session::start();
    let (mut kernel, mut cell) = (session.kernel("one"), session.cell("one"));
    let frame = from_values(&mut cell, [1, 2, 3]);
    let engine = session.status().engine_pid.unwrap();
    signal(engine, "-STOP");
    // A second notebook waits, too, and its user stops the cell.
    let (mut other_kernel, mut other) = (session.kernel("two"), session.cell("two"));
    let stopped = std::thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let (op, descriptor) = values([1]);
            other.exchange(Request::Step { op, at: None }, Some(&descriptor)).0
        });
        let count = scope.spawn(|| cell.try_ask(Request::RowCount { frame }));
        until("both wait", || matches!(kernel.ask(Request::Tasks), Reply::Tasks(tasks) if !tasks.is_empty()));
        until(
            "the other waits",
            || matches!(other_kernel.ask(Request::Tasks), Reply::Tasks(tasks) if !tasks.is_empty()),
        );
        let begun = Instant::now();
        other_kernel.ask(Request::Cancel);
        let Reply::Failed(error) = waits.join().unwrap() else { panic!("it was stopped") };
        assert_eq!(error.class, Class::Interrupted);
        // What needs no engine is answered at once; all of it takes milliseconds.
        kernel.begin(1, 1);
        kernel.commit(1, &[("f", frame)], &[], &[]);
        assert!(matches!(kernel.ask(Request::Names), Reply::Names { own, .. } if own.len() == 1));
        assert_eq!(session.status().engine_pid, Some(engine));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        count.join().unwrap().unwrap_err()
    });
    assert_eq!((stopped.code.as_str(), stopped.class), ("engine-stopped", Class::Environment), "{stopped}");
    assert!(stopped.message.contains(&format!("(process {engine}) is stopped")), "{stopped}");
    assert!(stopped.help[0].contains(&format!("kill -CONT {engine}")), "{stopped:?}");
    signal(engine, "-CONT");
    assert_eq!(cell.count(frame), 3);
    assert_eq!(session.status().engine_pid, Some(engine));
    // A session that ends while its engine is stopped leaves none behind.
    signal(engine, "-STOP");
    kernel.ask(Request::Shutdown { force: true });
    until("the engine is gone", || !std::path::Path::new(&format!("/proc/{engine}/cmdline")).exists());
}
