//! Progress bars of loops: reports to the kernel process, which draws them with the tasks of the session.

use std::io::Write;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use onrush_wire::host::FromHost;
use onrush_wire::progress::{Loop, TaskState};

use crate::process;

/// The time before a loop is reported, and the interval of its reports.
const FIRST: Duration = Duration::from_millis(500);
const EVERY: Duration = Duration::from_millis(200);

/// The running loops, outermost first.
static OPEN: AtomicU32 = AtomicU32::new(0);
static TIMES: Mutex<Times> = Mutex::new(Times { outermost: None, told: None, window: None, begun: 0 });

struct Times {
    /// The start of the outermost loop.
    outermost: Option<Instant>,
    /// The time of the last report.
    told: Option<Instant>,
    /// The start of the interval in which new loops are counted, and the number of loops reported in it.
    window: Option<Instant>,
    begun: u32,
}

/// The number of new loops that are reported at once in each [`EVERY`]: a nested loop may start a million times.
const BEGUN: u32 = 20;
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Goes through `items`, and shows its progress after half a second: `for x in progress(0..1_000_000) { ... }`.
#[track_caller]
pub fn progress<I: IntoIterator>(items: I) -> Progress<I::IntoIter> {
    let items = items.into_iter();
    let total = match items.size_hint() {
        (low, Some(high)) if low == high => Some(high as u64),
        _ => None,
    };
    Progress { items, line: Line::new(total, format!("line {}", Location::caller().line())) }
}

/// An iterator that shows its progress; see [`progress`].
pub struct Progress<I> {
    items: I,
    line: Line,
}

impl<I> Progress<I> {
    /// Puts a label before the bar, in place of the line number.
    pub fn label(mut self, text: &str) -> Self {
        self.line.told.title = text.to_string();
        self
    }
}

fn times() -> MutexGuard<'static, Times> {
    TIMES.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

struct Line {
    told: Loop,
    begun: Option<Instant>,
    next: Duration,
    /// Whether the kernel process was told of the loop.
    is_told: bool,
    is_over: bool,
}

impl Line {
    fn new(total: Option<u64>, title: String) -> Line {
        let id = COUNT.fetch_add(1, Ordering::Relaxed);
        let told = Loop { id, depth: 0, title, done: 0, total, elapsed_ms: 0, state: TaskState::Running };
        Line { told, begun: None, next: FIRST, is_told: false, is_over: false }
    }

    /// Reads the clock at every step, since a step of a loop worth watching takes longer. Items given out before are
    /// done.
    fn step(&mut self) {
        let Some(begun) = self.begun else {
            self.told.depth = OPEN.fetch_add(1, Ordering::Relaxed);
            let now = Instant::now();
            self.begun = Some(now);
            if self.told.depth == 0 {
                let mut times = times();
                times.outermost = Some(now);
                if times.window.is_none_or(|since| now - since > EVERY) {
                    (times.window, times.begun) = (Some(now), 0);
                }
                times.begun += 1;
                if times.begun > BEGUN {
                    return;
                }
            }
            if self.told.depth == 0 || self.is_wanted() {
                self.tell(Duration::ZERO);
            }
            return;
        };
        self.told.done += 1;
        let elapsed = begun.elapsed();
        if elapsed >= self.next || self.told.depth > 0 && self.is_wanted() {
            self.next = elapsed + EVERY;
            self.tell(elapsed);
        }
    }

    /// A loop inside of a shown loop: each may be quick, and there may be very many.
    fn is_wanted(&self) -> bool {
        let times = times();
        let is_old = times.outermost.is_some_and(|begun| begun.elapsed() >= FIRST);
        is_old && times.told.is_none_or(|last| last.elapsed() >= EVERY)
    }

    #[inline(never)]
    fn tell(&mut self, elapsed: Duration) {
        self.is_told = true;
        times().told = Some(Instant::now());
        self.told.elapsed_ms = elapsed.as_millis() as u64;
        if process::context().is_some() {
            return process::tell(&FromHost::Loop(self.told.clone()));
        }
        // A program has a terminal.
        if elapsed < FIRST {
            return;
        }
        let Loop { title, done, total, .. } = &self.told;
        let of = total.map_or(String::new(), |total| format!(" of {total}"));
        let end = if self.is_over { "\n" } else { "" };
        eprint!("\r{title}: {done}{of}, {:.1} s{end}", elapsed.as_secs_f64());
        let _ = std::io::stderr().flush();
    }

    /// Reports the progress. With `last` the item that was given out last is done, too.
    fn end(&mut self, last: bool) {
        let Some(begun) = self.begun.filter(|_| !std::mem::replace(&mut self.is_over, true)) else { return };
        OPEN.fetch_sub(1, Ordering::Relaxed);
        self.told.done += u64::from(last);
        self.told.state = if std::thread::panicking() { TaskState::Failed } else { TaskState::Done };
        if self.is_told {
            self.tell(begun.elapsed());
        }
    }
}

impl<I: Iterator> Iterator for Progress<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let item = self.items.next();
        match item {
            Some(_) => self.line.step(),
            None => self.line.end(true),
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for Progress<I> {}

impl<I> Drop for Progress<I> {
    fn drop(&mut self) {
        self.line.end(false);
    }
}
