//! The report of a failed cell. One sentence says what happened and that the variables were kept. Notes say what is
//! gone and what stays.

use onrush_wire::host::{Fault, FinishedRun, LastPanic, LastWords};
use onrush_wire::limits::size;
use onrush_wire::{Class, Diagnostic};

use super::STACK_BYTES;
use super::memory_limit::{Allowance, Over};
use crate::interrupt;

/// How a cell ended in its process.
pub enum RunOutcome {
    Ok(FinishedRun),
    /// The snapshot has taken over, or a new process was started (then `diagnostic` says that variables are lost).
    Failed {
        diagnostic: Diagnostic,
        variables_lost: bool,
    },
}

impl RunOutcome {
    /// Whether the dynamic loader missed a symbol. `kernel/host` gives its error a code, and passes on the text of
    /// glibc.
    pub fn misses_symbol(&self) -> bool {
        self.is_kept_error("load", "undefined symbol")
    }

    /// Whether the cell returned and keeps nothing, which the prelude reports as an error.
    pub fn is_early_return(&self) -> bool {
        self.is_kept_error("returned", "")
    }

    fn is_kept_error(&self, code: &str, text: &str) -> bool {
        matches!(self, RunOutcome::Failed { diagnostic, variables_lost: false }
            if diagnostic.code == code && diagnostic.message.contains(text))
    }
}

/// Why a cell failed.
#[derive(Debug)]
pub enum Failure {
    /// The cell said so itself: a panic, an error, a bad call.
    Said(Diagnostic),
    /// Its process ended: by an exit code or a signal.
    Died(Death),
    Interrupted,
    /// It was stopped because it held too much memory.
    Memory(Over),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    Exit(i32),
    Signal(i32),
    /// It is gone, and nobody knows how.
    Unknown,
}

/// Facts about a failed cell, in addition to its failure.
#[derive(Debug, Default)]
pub struct Circumstances {
    pub words: LastWords,
    /// The last text on standard error.
    pub stderr: String,
    /// Threads that earlier cells had started, and those that this one had.
    pub threads: (u32, u32),
    /// Names of the earlier cells' threads, if they have one.
    pub names: Vec<String>,
    pub allowance: Allowance,
    /// Whether the machine ended processes for want of memory meanwhile.
    pub out_of_memory: bool,
}

/// Codes of panics and crashes. Without a label, the place is that of the innermost call (`backtrace::place`).
const PANIC: &str = "panic";
const STACK_OVERFLOW: &str = "stack-overflow";
const SEGFAULT: &str = "segfault";
const ABORT: &str = "abort";

/// Whether an error is a panic of the cell, or a crash of its process.
pub fn is_crash(diagnostic: &Diagnostic) -> bool {
    [PANIC, STACK_OVERFLOW, SEGFAULT, ABORT].contains(&diagnostic.code.as_str())
}

/// The state of the variables after a failed cell.
#[derive(Debug)]
pub enum Variables {
    Kept,
    /// And why.
    Lost(String),
}

/// The diagnostic of a failed cell.
pub fn describe(failure: Failure, variables: &Variables, known: &Circumstances) -> Diagnostic {
    let kept = match variables {
        Variables::Kept => interrupt::KEPT,
        Variables::Lost(_) => "the variables are lost",
    };
    let mut diagnostic = match failure {
        Failure::Said(diagnostic) => {
            let sentence = match diagnostic.code.as_str() {
                PANIC => format!("the cell panicked, and {kept}"),
                _ => format!("the cell was stopped by this error, and {kept}"),
            };
            diagnostic.note(sentence)
        }
        Failure::Interrupted => interrupt::interrupted_and(kept),
        Failure::Memory(over) => out_of_memory(&over, kept),
        Failure::Died(death) => describe_death(death, kept, known),
    };
    let (earlier, own) = known.threads;
    let of_this_cell = if earlier > 0 && own > 0 { format!(", and so are {own} of this cell") } else { String::new() };
    match known.threads {
        (0, 0) => {}
        (0, own) => diagnostic = diagnostic.note(format!("{} gone", threads(own, "this cell", &[]))),
        (earlier, _) => {
            let gone = threads(earlier, "earlier cells", &known.names);
            let locks = "; a lock inside of a value that such a thread held stays locked";
            diagnostic = diagnostic.note(format!("{gone} gone{of_this_cell}{locks}"));
        }
    }
    if !known.words.opened.is_empty() {
        let names = known.words.opened.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        diagnostic = diagnostic.note(format!(
            "such a thread held the lock of {names}, which is open again: the value may be half changed"
        ));
    }
    if let Some(text) = files(&known.words.written) {
        diagnostic = diagnostic.note(text);
    }
    if let Variables::Lost(why) = variables {
        diagnostic = diagnostic
            .note(format!("the variables are lost because {why}"))
            .help("run the cells above again; frames in the session are still there and are not computed again");
    }
    diagnostic
}

fn threads(count: u32, who: &str, names: &[String]) -> String {
    const NAMED: usize = 5;
    let listed = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let more = if names.len() > NAMED || (!names.is_empty() && (names.len() as u32) < count) { ", …" } else { "" };
    let listed = if listed.is_empty() { listed } else { format!(" ({listed}{more})") };
    match count {
        1 => format!("the thread that {who} had started{listed} is"),
        count => format!("{count} threads that {who} had started{listed} are"),
    }
}

/// Files that a failed cell has written.
pub fn files(written: &[String]) -> Option<String> {
    const NAMED: usize = 3;
    let names = written.iter().take(NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    match written.len() {
        0 => None,
        1 => Some(format!("the file {names}, which the cell wrote, stays as it left it")),
        2..=NAMED => Some(format!("the files {names}, which the cell wrote, stay as it left them")),
        all => Some(format!(
            "the files {names} and {} more, which the cell wrote, stay as it left them",
            all.saturating_sub(NAMED)
        )),
    }
}

fn out_of_memory(over: &Over, kept: &str) -> Diagnostic {
    let error = |message| Diagnostic::error(Class::Resources, "out-of-memory", message);
    match over {
        Over::Limit { held, of_snapshot, limit } => {
            let diagnostic = error(format!(
                "the cell used up the notebook's memory: {} of at most {}; it was stopped, and {kept}",
                size(*held),
                size(*limit)
            ));
            match of_snapshot {
                0..100_000_000 => diagnostic,
                bytes => diagnostic.note(format!(
                    "{} of that are values from before the cell which it had changed: its snapshot keeps them until it ends",
                    size(*bytes)
                )),
            }
            .help(RAISE)
        }
        Over::Machine { held, left } => error(format!(
            "the machine was running out of memory ({} left) while the cell held {}; it was stopped, and {kept}",
            size(*left),
            size(*held)
        ))
        .help("keep large data in a frame, or work on parts of it; other programs on this machine may hold much, too"),
    }
}

const RAISE: &str = "keep large data in a frame or work on parts of it; `--cell-memory 16G` in the kernel's command or \
                     ONRUSH_CELL_MEMORY=16G in its environment allow more";

/// `memory allocation of 24 bytes failed`, at the end of standard error.
fn refused_allocation(stderr: &str) -> Option<u64> {
    let line = stderr.lines().rev().take(3).find_map(|line| line.split("memory allocation of ").nth(1))?;
    let (number, rest) = line.split_once(' ')?;
    if rest.starts_with("bytes failed") { number.parse().ok() } else { None }
}

fn describe_death(death: Death, kept: &str, known: &Circumstances) -> Diagnostic {
    let run = |code: &str, what: String| Diagnostic::error(Class::Run, code, format!("{what}, and {kept}"));
    let number = match death {
        Death::Exit(_) if known.words.fault == Some(Fault::Channel) => {
            return run(
                "descriptors",
                "the cell closed or used up descriptors of its process that are not its own".into(),
            )
            .help("leave the descriptors 3, 4 and 5 alone: the cell process speaks to the kernel over them");
        }
        Death::Exit(_) if known.words.fault == Some(Fault::Abandoned) => {
            return run(
                "abandoned",
                "the cell waited for a lock or a message that only a thread could give which ended when an earlier cell failed"
                    .into(),
            )
            .help("run the cells again that make the lock or the channel and start the thread");
        }
        Death::Exit(number) => {
            return run("exit", format!("the cell ended its process with exit code {number}")).help(
                "a cell does not need `std::process::exit`: `return` from a function, or `?` with an error, ends it",
            );
        }
        Death::Unknown => return run("signal", "the cell's process is gone".into()),
        Death::Signal(number) => number,
    };
    if let Some(Fault::Sent(sender)) = known.words.fault {
        let name = signal_name(number);
        return run("signal", format!("the cell's process was ended from outside: process {sender} sent {name}"))
            .help("the cell itself did nothing wrong: run it again");
    }
    match (number, known.words.fault) {
        (libc::SIGSTKFLT, Some(Fault::ThreadStack)) => {
            run(STACK_OVERFLOW, "a thread of the cell used up its stack (a recursion without an end?)".into()).help(
                "check the condition that ends the recursion; `std::thread::Builder::new().stack_size(bytes)` gives a thread more",
            )
        }
        (libc::SIGSTKFLT, _) => run(
            STACK_OVERFLOW,
            format!("the cell used up its stack of {} MB (a recursion without an end?)", STACK_BYTES >> 20),
        )
        .help("check the condition that ends the recursion; large arrays belong into a `Vec` or a `Box`"),
        (libc::SIGSEGV | libc::SIGBUS, fault) => {
            let place = match fault {
                Some(Fault::Address(0)) => " (segmentation fault at a null pointer)".to_string(),
                Some(Fault::Address(address)) => format!(" (segmentation fault at address {address:#x})"),
                _ => " (segmentation fault)".to_string(),
            };
            run(SEGFAULT, format!("the cell touched memory that is not its own{place}"))
                .help("look for `unsafe` code, raw pointers or a C library in this cell")
        }
        (libc::SIGABRT, _) => match refused_allocation(&known.stderr) {
            Some(bytes) => refused(bytes, kept, known),
            None => aborted(kept, &known.words.panics),
        },
        (libc::SIGKILL, _) if known.out_of_memory => Diagnostic::error(
            Class::Resources,
            "out-of-memory",
            format!("the machine ran out of memory and ended the cell's process, and {kept}"),
        )
        .help(RAISE),
        (libc::SIGKILL, _) => Diagnostic::error(
            Class::Resources,
            "killed",
            format!("the cell's process was killed from outside (SIGKILL), and {kept}"),
        )
        .help("somebody, or a service that limits memory, ended it: run the cell again"),
        (libc::SIGILL | libc::SIGTRAP, _) => {
            run(ABORT, format!("the cell's process was ended by an illegal instruction (signal {number})"))
        }
        (libc::SIGFPE, _) => run(ABORT, "the cell's process was ended by an arithmetic fault (SIGFPE)".into()),
        _ => run("signal", format!("the cell's process was ended by {}", signal_name(number))),
    }
}

/// `the signal SIGTERM`.
fn signal_name(number: i32) -> String {
    const NAMES: [(i32, &str); 14] = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    match NAMES.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => format!("the signal {name}"),
        None => format!("signal {number}"),
    }
}

/// The allocator said no.
fn refused(bytes: u64, kept: &str, known: &Circumstances) -> Diagnostic {
    let Allowance { held, limit } = known.allowance;
    let error = |message| Diagnostic::error(Class::Resources, "out-of-memory", message);
    let held = size(held);
    match limit {
        Some(limit) => error(format!(
            "the cell held {held} and asked for {} more, which is over the notebook's memory limit of {}, and {kept}",
            size(bytes),
            size(limit)
        ))
        .help(RAISE),
        None => error(format!(
            "the cell held {held} and asked for {} more, which the machine does not have, and {kept}",
            size(bytes)
        ))
        .help("keep large data in a frame, or work on parts of it"),
    }
}

/// Describes an abort. A panic that cannot unwind aborts the process, too: its message tells it from a call of `abort`.
fn aborted(kept: &str, panics: &[LastPanic]) -> Diagnostic {
    let error = |what: String| Diagnostic::error(Class::Run, ABORT, format!("{what}, and {kept}"));
    let at = |diagnostic: Diagnostic, panic: &LastPanic| match &panic.span {
        Some(span) => diagnostic.at(span.clone(), ""),
        None => diagnostic,
    };
    match panics {
        [.., first, second, last] if last.message.starts_with("panic in a destructor") => at(
            error(format!(
                "the cell panicked (`{}`) in a `Drop` while it was unwinding from a panic (`{}`), which aborts the process",
                second.message, first.message
            )),
            second,
        )
        .help("a `drop` must not panic: test `std::thread::panicking()` first, or log the error instead"),
        [.., first, last] if last.message.starts_with("panic in a function that cannot unwind") => at(
            error(format!(
                "the cell panicked (`{}`) in a function that must not unwind (`extern \"C\"`), which aborts the process",
                first.message
            )),
            first,
        )
        .help("catch the panic inside of the function: `std::panic::catch_unwind`"),
        _ => error("the cell aborted its process (SIGABRT)".into())
            .help("its own text on standard error says why, if it gave one"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(failure: Failure, known: &Circumstances) -> String {
        describe(failure, &Variables::Kept, known).message
    }

    #[test]
    fn what_happened_and_what_was_kept_is_one_sentence() {
        let known = Circumstances::default();
        for failure in [
            Failure::Interrupted,
            Failure::Died(Death::Exit(3)),
            Failure::Died(Death::Signal(libc::SIGSEGV)),
            Failure::Died(Death::Signal(libc::SIGKILL)),
            Failure::Memory(Over::Limit { held: 2 << 30, of_snapshot: 1 << 30, limit: 1 << 30 }),
        ] {
            let text = message(failure, &known);
            assert!(text.ends_with("and all variables are as they were before it"), "{text}");
        }
        let said = Diagnostic::error(Class::Run, PANIC, "index out of bounds");
        let diagnostic = describe(Failure::Said(said), &Variables::Kept, &known);
        assert_eq!(diagnostic.notes, ["the cell panicked, and all variables are as they were before it"]);
        let lost = Variables::Lost("the snapshot did not answer".into());
        let diagnostic = describe(Failure::Interrupted, &lost, &known);
        assert_eq!(diagnostic.message, "the cell was interrupted, and the variables are lost");
        assert_eq!(diagnostic.notes, ["the variables are lost because the snapshot did not answer"]);
    }

    #[test]
    fn a_signal_from_outside_is_not_a_fault_of_the_cell() {
        let sent = LastWords { fault: Some(Fault::Sent(42)), ..Default::default() };
        let known = Circumstances { words: sent, ..Default::default() };
        let text = message(Failure::Died(Death::Signal(libc::SIGSEGV)), &known);
        assert!(text.contains("process 42 sent the signal SIGSEGV") && !text.contains("memory"), "{text}");
        let none = Circumstances::default();
        let text = message(Failure::Died(Death::Signal(libc::SIGTERM)), &none);
        assert!(text.starts_with("the cell's process was ended by the signal SIGTERM"), "{text}");
    }

    #[test]
    fn an_allocation_that_was_refused_is_told_from_an_abort() {
        let allowance = Allowance { held: 100_000_000, limit: Some(1_000_000_000) };
        let stderr = "mine\nmemory allocation of 1099511627776 bytes failed\n".to_string();
        let known = Circumstances { stderr, allowance, ..Default::default() };
        let text = message(Failure::Died(Death::Signal(libc::SIGABRT)), &known);
        assert!(text.contains("held 100 MB and asked for 1.1 TB") && text.contains("limit of 1.0 GB"), "{text}");
        let stderr = "memory allocation of patience failed".to_string();
        let known = Circumstances { stderr, ..Default::default() };
        assert!(message(Failure::Died(Death::Signal(libc::SIGABRT)), &known).contains("SIGABRT"));
    }

    #[test]
    fn threads_and_files_are_notes() {
        let words = LastWords { written: vec!["a".into(), "b".into(), "c".into(), "d".into()], ..Default::default() };
        let known = Circumstances { words, threads: (2, 1), ..Default::default() };
        let notes = describe(Failure::Interrupted, &Variables::Kept, &known).notes;
        let locks = "a lock inside of a value that such a thread held stays locked";
        let gone = "2 threads that earlier cells had started are gone, and so are 1 of this cell";
        assert_eq!(notes[0], format!("{gone}; {locks}"));
        assert_eq!(notes[1], "the files `a`, `b`, `c` and 1 more, which the cell wrote, stay as it left them");
        let known = Circumstances { threads: (2, 0), names: vec!["logger".into()], ..Default::default() };
        let notes = describe(Failure::Interrupted, &Variables::Kept, &known).notes;
        assert_eq!(notes[0], format!("2 threads that earlier cells had started (`logger`, …) are gone; {locks}"));
        assert_eq!(files(&[]), None);
    }
}
