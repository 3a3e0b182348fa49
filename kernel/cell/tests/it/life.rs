//! The life of a cell between processes: interrupts at any moment, and locks and child processes after a cell that
//! failed. Also code that runs outside of cells, processes that somebody has stopped, and output between two cells.
//!
//! Expected values are those of the operating system and of plain Rust: what a program would see that had not run the
//! failed cell.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use onrush_cell::{Bell, Event, Outcome};
use onrush_wire::control::Change;
use onrush_wire::{Class, Diagnostic};

use crate::support::{Notebook, Run, collect};

/// Interrupts the cell when there is a warning with this code.
fn run_until_warned(n: &mut Notebook, text: &str, code: &'static str) -> Run {
    let stop = n.executor.interrupter();
    let then = move |event: &Event| {
        if matches!(event, Event::Warning(warning) if warning.code == code) {
            stop.interrupt();
        }
    };
    n.run_with(text, Box::new(then), None)
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
}

/// `ONRUSH_SWEEP=20000` for a longer one.
#[test]
fn an_interrupt_loses_nothing_wherever_it_meets_a_cell() {
    const LONGEST: u64 = 30_000;
    let rounds = std::env::var("ONRUSH_SWEEP").ok().and_then(|text| text.parse().ok()).unwrap_or(2_000u64);
    let mut n = Notebook::new();
    n.run("let mut x = 0u64; let kept = String::from(\"kept\");").kept();
    let cell = "std::thread::sleep(std::time::Duration::from_millis(12)); x += 1;";
    let (mut expected, mut stopped) = (0, 0);
    n.run(cell).kept();
    expected += 1;
    for round in 0..rounds {
        // All of them once, in an order that does not grow.
        let after = Duration::from_micros(round * 7919 % LONGEST);
        let stop = n.executor.interrupter();
        let interrupt = std::thread::spawn(move || {
            std::thread::sleep(after);
            stop.interrupt();
        });
        let run = n.run(cell);
        interrupt.join().unwrap();
        match run.errors.is_empty() {
            true => expected += 1,
            false => {
                stopped += 1;
                let run = run.fails_with("interrupted");
                assert!(run.errors[0].message.ends_with("all variables are as they were before it"), "{run:#?}");
            }
        }
        if round % 20 == 0 || round + 1 == rounds {
            n.shows("(x, kept.len())", &format!("({expected}, 4)"));
        }
    }
    assert!(stopped > 0 && expected > 1, "the sweep meets no cell, or all of them: {stopped} of {rounds}");
}

#[test]
fn the_generation_of_the_session_and_of_the_cell_process_is_one() {
    let mut n = Notebook::new();
    let generation = "onrush::host::context().map(|context| context.generation.0)";
    let check = |n: &mut Notebook| {
        let run = n.run(generation).kept();
        let begun = run.begun.unwrap();
        assert_eq!(run.results, [format!("Some({})", begun.0)]);
        begun
    };
    let first = check(&mut n);
    // The session has heard of the beginning of a cell that did not run.
    let stop = n.executor.interrupter();
    let at_the_beginning = move |event: &Event| {
        if matches!(event, Event::Begin { .. }) {
            stop.interrupt();
        }
    };
    n.run_with("let a = 1;", Box::new(at_the_beginning), None).fails_with("interrupted");
    let second = check(&mut n);
    assert!(second > first);
    let refusal = Diagnostic::error(Class::Run, "rolled-back", "this process was rolled back");
    n.run_with("let a = 1;", Box::new(|_| {}), Some(refusal)).fails_with("rolled-back");
    assert!(check(&mut n) > second);
}

fn fails_with_an_error(n: &mut Notebook, before: &str) -> Run {
    n.run(&format!("{before} \"a\".parse::<i32>()?")).fails_with("error")
}

const WAIT: &str = "std::thread::sleep(std::time::Duration::from_millis(50));";

#[test]
fn locks_of_the_standard_library_are_free_after_a_cell_that_failed() {
    let mut n = Notebook::new();
    n.run("std::thread::spawn(|| loop { eprintln!(\"{}\", \"x\".repeat(200)); });").kept();
    let run = fails_with_an_error(&mut n, WAIT);
    assert!(
        run.errors[0]
            .notes
            .iter()
            .any(|note| note.contains("a lock inside of a value that such a thread held stays locked"))
    );
    n.shows("eprintln!(\"still here\"); 1", "1");
    let mut n = Notebook::new();
    n.run(
        "std::thread::spawn(|| loop { unsafe { std::env::set_var(\"QQ\", \"1\") }; let _ = std::env::var(\"QQ\"); });",
    )
    .kept();
    fails_with_an_error(&mut n, WAIT);
    n.shows("std::env::var(\"HOME\").is_ok()", "true");
    let mut n = Notebook::new();
    n.run("std::thread::spawn(|| loop { drop(std::backtrace::Backtrace::force_capture()); });").kept();
    fails_with_an_error(&mut n, WAIT);
    n.shows("std::backtrace::Backtrace::force_capture().status() == std::backtrace::BacktraceStatus::Captured", "true");
}

#[test]
fn locks_of_the_c_library_are_free_after_a_cell_that_failed() {
    let mut n = Notebook::new();
    n.run("unsafe extern \"C\" { fn tzset(); }\nfn zone() { unsafe { tzset() } }").kept();
    // As threads do that write the local time into a log.
    n.run("std::thread::spawn(|| loop { zone(); std::thread::sleep(std::time::Duration::from_micros(100)) });").kept();
    fails_with_an_error(&mut n, WAIT);
    n.shows("zone(); 1", "1");
    // A thread that holds the lock all the time may leave no moment for a snapshot: then the cell is told beforehand,
    // and nothing hangs.
    n.run("std::thread::spawn(|| loop { zone() });").kept();
    let run = n.run(&format!("{WAIT} \"a\".parse::<i32>()?"));
    assert_eq!(run.errors.first().map(|error| error.code.as_str()), Some("error"), "{run:#?}");
    assert_eq!(run.lost, run.warnings.iter().any(|warning| warning.code == "no-snapshot"), "{run:#?}");
    n.shows("zone(); 1", "1");
}

#[test]
fn a_wait_for_a_thread_that_is_gone_is_an_error_and_no_wait_without_an_end() {
    let mut n = Notebook::new();
    n.run("use std::sync::*; let m = vec![Arc::new(Mutex::new(0))]; let y = 5;").kept();
    n.run("{ let m = m[0].clone(); std::thread::Builder::new().name(\"holder\".into()).spawn(move || { let _g = m.lock(); loop { std::thread::park() } })?; }").kept();
    let run = fails_with_an_error(&mut n, WAIT);
    assert!(run.errors[0].notes.iter().any(|note| note.contains("`holder`")), "{run:#?}");
    n.run("*m[0].lock().unwrap()").fails_with("abandoned");
    n.shows("y", "5");
}

#[test]
fn a_lock_that_is_a_variable_is_open_after_a_cell_that_failed() {
    let mut n = Notebook::new();
    n.run("use std::sync::*; let m = Arc::new(Mutex::new(0)); { let m = m.clone(); std::thread::spawn(move || loop { let mut g = m.lock().unwrap(); *g += 1; std::thread::sleep(std::time::Duration::from_millis(200)); }); }").kept();
    n.run("std::thread::sleep(std::time::Duration::from_millis(300));").kept();
    let run = fails_with_an_error(&mut n, "");
    assert!(run.errors[0].notes.iter().any(|note| note.contains("the lock of `m`, which is open again")), "{run:#?}");
    n.shows("m.try_lock().is_ok()", "true");
}

#[test]
fn a_child_process_of_an_earlier_cell_is_still_a_child_after_a_cell_that_failed() {
    let mut n = Notebook::new();
    n.run("use std::process::Command; let mut child = Command::new(\"sleep\").arg(\"1000\").spawn()?; let mut short = Command::new(\"sh\").args([\"-c\", \"sleep 0.3; exit 7\"]).spawn()?;").kept();
    fails_with_an_error(&mut n, "let of_this_cell = Command::new(\"sleep\").arg(\"1001\").spawn()?;");
    n.shows("child.try_wait()?.is_none()", "true");
    n.shows("short.wait()?.code()", "Some(7)");
    // And after another one.
    fails_with_an_error(&mut n, "");
    n.shows("child.kill()?; child.wait()?.code()", "None");
    n.executor.shutdown();
}

#[test]
fn a_drop_that_panics_outside_of_a_cell_takes_nothing_along() {
    let mut n = Notebook::new();
    n.run("struct D;\nimpl Drop for D { fn drop(&mut self) { panic!(\"not me\") } }").kept();
    n.run("let d = D; let y = 5;").kept();
    let run = n.run(":clear").fails_with("panic");
    assert!(run.errors[0].message.contains("not me"), "{run:#?}");
    n.shows("y", "5");
    // A function hides the variable, which is dropped after the cell.
    let run = n.run("fn d() -> i32 { 3 }").kept();
    assert!(run.warnings.iter().any(|warning| warning.code == "drop"), "{run:#?}");
    n.shows("d() + y", "8");
}

#[test]
fn a_stopped_cell_process_is_named_and_an_interrupt_is_obeyed() {
    let mut n = Notebook::new();
    n.run("let y = 5;").kept();
    let pid = n.run("std::process::id()").kept().results[0].clone();
    signal("-STOP", &pid);
    let run = run_until_warned(&mut n, "y + 1", "stopped").fails_with("interrupted");
    assert!(run.warnings[0].message.contains(&format!("({pid})")), "{run:#?}");
    n.shows("y", "5");
    let stops = "std::process::Command::new(\"kill\").args([\"-STOP\", &std::process::id().to_string()]).status()?;";
    run_until_warned(&mut n, &format!("{stops} loop {{}}"), "stopped").fails_with("interrupted");
    n.shows("y", "5");
}

/// Passes on what is printed after a cell, until `enough` has come.
fn between(n: &mut Notebook, enough: &str) -> Vec<(u64, String)> {
    let bell = Arc::new(Bell::new().unwrap());
    let (events, received): (Sender<Event>, Receiver<Event>) = channel();
    let (ringer, enough) = (Arc::clone(&bell), enough.to_string());
    let reader = std::thread::spawn(move || {
        let mut late: Vec<(u64, String)> = Vec::new();
        while let Ok(event) = received.recv_timeout(Duration::from_secs(30)) {
            let Event::Late { cell, text, .. } = event else { continue };
            late.push((cell, text));
            if late.iter().any(|(_, text)| text.contains(&enough)) {
                break;
            }
        }
        ringer.ring();
        late
    });
    n.executor.between(&bell, &events);
    reader.join().unwrap()
}

#[test]
fn what_is_printed_between_cells_comes_at_once_and_belongs_to_the_cell_that_started_it() {
    let mut n = Notebook::new();
    let wait = "std::thread::sleep(std::time::Duration::from_millis(300));";
    // Nothing is compiled meanwhile.
    n.run(&format!("std::thread::spawn(|| {{ {wait} println!(\"of the thread\") }});")).kept();
    assert_eq!(between(&mut n, "thread"), [(1, "of the thread\n".to_string())]);
    n.run("std::process::Command::new(\"sh\").args([\"-c\", \"sleep 0.3; echo of the child\"]).spawn()?;").kept();
    assert_eq!(between(&mut n, "child"), [(2, "of the child\n".to_string())]);
    // While another cell runs, too.
    n.run(&format!("std::thread::spawn(|| {{ {wait} println!(\"late\") }});")).kept();
    let (told, cells) = channel();
    let then = move |event: &Event| {
        if let Event::Late { cell, text, .. } = event {
            told.send((*cell, text.clone())).unwrap();
        }
    };
    n.run_with(&format!("{wait} {wait} println!(\"own\");"), Box::new(then), None).kept();
    assert_eq!(cells.iter().collect::<Vec<_>>(), [(3, "late\n".to_string())]);
}

/// A file that lets a thread or a child process go on when the test makes it.
struct Gate(PathBuf);

impl Gate {
    fn new(name: &str) -> Gate {
        Gate(std::env::temp_dir().join(format!("onrush-life-{}-{name}", std::process::id())))
    }

    fn open(&self) {
        std::fs::write(&self.0, "").unwrap();
    }

    /// Code that waits for it.
    fn wait(&self) -> String {
        let nap = "std::thread::sleep(std::time::Duration::from_millis(5))";
        format!("while !std::path::Path::new({:?}).exists() {{ {nap} }}", self.0)
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn a_child_process_prints_under_the_cell_that_was_shown_last() {
    let mut n = Notebook::new();
    let gate = Gate::new("child");
    let script = format!("while ! test -e {}; do sleep 0.01; done; echo of the child", gate.0.display());
    n.run(&format!("std::process::Command::new(\"sh\").args([\"-c\", {script:?}]).spawn()?;")).kept();
    // A control was changed, and nothing of that is shown as a cell.
    let (events, _) = channel();
    let change = Change { controls: Vec::new() };
    let outcome = n.executor.run_callbacks(1 << 32, change, Vec::new(), &events);
    assert!(matches!(outcome, Outcome::Ok { .. }), "{outcome:?}");
    gate.open();
    assert_eq!(between(&mut n, "child"), [(1, "of the child\n".to_string())]);
}

/// A program without standard input reads its end.
#[test]
fn a_thread_that_asks_between_cells_has_no_answer_and_takes_none() {
    let mut n = Notebook::new();
    let gate = Gate::new("asks");
    let asks = "let mut line = String::new(); let read = std::io::stdin().read_line(&mut line);";
    let wait = gate.wait();
    n.run(&format!("std::thread::spawn(|| {{ {wait} {asks} println!(\"read {{read:?}}\"); }});")).kept();
    gate.open();
    assert_eq!(between(&mut n, "read"), [(1, "read Ok(0)\n".to_string())]);
    n.shows("1 + 1", "2");
}

/// A `return` after which nothing can be kept.
#[test]
fn a_return_that_keeps_nothing_is_a_rollback_for_the_session() {
    let mut n = Notebook::new();
    n.run("let text = String::from(\"a\");").kept();
    let (events, receiver) = channel();
    let reader = std::thread::spawn(move || collect(receiver, Box::new(|_| {}), None));
    let outcome = n.executor.execute(2, "if text == \"a\" { drop(text); return; }", &events);
    drop(events);
    let begun = reader.join().unwrap().begun;
    let Outcome::Ok { generation, rolled_back, .. } = outcome else { panic!("{outcome:?}") };
    assert!(rolled_back && begun.is_some_and(|begun| begun < generation), "{begun:?} {generation:?}");
    n.next = 3;
    n.shows("text", "\"a\"");
}

#[test]
fn output_of_c_code_comes_in_its_order() {
    let mut n = Notebook::new();
    n.run("unsafe extern \"C\" { fn puts(f: *const std::ffi::c_char) -> i32; fn putchar(c: i32) -> i32; }").kept();
    let run = n
        .run("println!(\"one\"); unsafe { puts(c\"two\".as_ptr()); } println!(\"three\"); unsafe { putchar(52); }")
        .kept();
    assert_eq!(run.shown, "one\ntwo\nthree\n4");
}
