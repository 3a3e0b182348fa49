//! How much memory a notebook's cell process holds while a cell runs, its snapshot counted in, and when that is too
//! much.
//!
//! A process alone cannot pass the limit, because it has it as `RLIMIT_DATA`. Runner and snapshot share their pages
//! until the runner changes them; together they are watched from here.

use std::fs;
use std::time::{Duration, Instant};

use onrush_wire::limits::{self, kilobytes, size};
use onrush_wire::{Class, Diagnostic, Severity};

/// The shortest time between two looks: a cell fills a few GB in a second.
const SOON: Duration = Duration::from_millis(25);
const LATE: Duration = Duration::from_millis(250);
/// Bytes that a cell may come to hold in a second.
const PACE: u64 = 4 << 30;
/// Variables over this size, or over an eighth of the limit, are worth a word when they are there twice.
const LARGE: u64 = 1 << 30;
/// The share of a processor that counting a snapshot's pages may take.
const SHARE: u32 = 20;

/// The limit of a notebook, and the memory that it held at the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowance {
    pub held: u64,
    pub limit: Option<u64>,
}

fn is_large(bytes: u64, limit: Option<u64>) -> bool {
    bytes >= limit.map_or(LARGE, |limit| (limit / 8).min(LARGE))
}

/// Too much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// The notebook's own limit. `of_snapshot` is what only the snapshot holds.
    Limit { held: u64, of_snapshot: u64, limit: u64 },
    /// The machine has `left` bytes left.
    Machine { held: u64, left: u64 },
}

/// One running cell.
#[derive(Debug)]
pub struct Watch {
    limit: Option<u64>,
    runner: i32,
    snapshot: Option<i32>,
    /// Memory that the process held when the cell began, and at the last look.
    pub before: u64,
    pub held: u64,
    began: Instant,
    next: Instant,
    /// When the snapshot's pages may be counted again, and what it held alone at the last count.
    count_at: Instant,
    of_snapshot: u64,
    /// The most that both held.
    peak: u64,
}

/// Reads the memory that a process holds, in bytes: anonymous memory, and shared memory that it maps.
fn held_by(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(kilobytes(&text, "RssAnon")? + kilobytes(&text, "RssShmem").unwrap_or(0))
}

/// Memory that a process shares with no other.
fn held_alone_by(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    Some(kilobytes(&text, "Private_Dirty")? + kilobytes(&text, "Private_Clean")?)
}

/// How often the machine has ended a process because memory had run out.
pub fn machine_kills() -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok()).unwrap_or(0)
}

impl Watch {
    pub fn start(limit: Option<u64>, runner: i32, snapshot: Option<i32>, before: u64) -> Self {
        let now = Instant::now();
        Watch {
            limit,
            runner,
            snapshot,
            before,
            held: before,
            began: now,
            next: now + SOON,
            count_at: now,
            of_snapshot: 0,
            peak: before,
        }
    }

    /// How long until the next look.
    pub fn due(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// Looks, if it is time to.
    pub fn look(&mut self) -> Option<Over> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        let held = held_by(self.runner)?;
        self.held = held;
        let most = held.saturating_add(self.before);
        let close = self.limit.is_some_and(|limit| most > limit);
        if (close || is_large(self.before, self.limit)) && now >= self.count_at {
            self.count();
        }
        let both = held + self.of_snapshot;
        self.peak = self.peak.max(both);
        if let Some(limit) = self.limit.filter(|limit| both > *limit) {
            return Some(Over::Limit { held: both, of_snapshot: self.of_snapshot, limit });
        }
        let left = limits::available_memory().unwrap_or(u64::MAX);
        let grown = both.saturating_sub(self.before);
        if left < limits::machine_memory() / 64 && grown > LARGE / 4 {
            return Some(Over::Machine { held: both, left });
        }
        let room = self.limit.unwrap_or(u64::MAX).saturating_sub(both).min(left);
        let wait = Duration::from_secs_f64(room as f64 / PACE as f64 / 2.0).clamp(SOON, LATE);
        self.next = now + wait;
        None
    }

    /// Counts the pages that only the snapshot still has: the kernel walks through all of them.
    fn count(&mut self) {
        let started = Instant::now();
        if let Some(bytes) = self.snapshot.and_then(held_alone_by) {
            self.of_snapshot = bytes;
        }
        self.count_at = Instant::now() + (started.elapsed() * SHARE).max(SOON);
    }

    /// A warning after a successful cell if its snapshot held a copy of much memory that the cell changed.
    pub fn doubled(&mut self) -> Option<Diagnostic> {
        // Changing so much takes longer than this.
        if !is_large(self.before, self.limit) || self.began.elapsed() < SOON {
            return None;
        }
        self.count();
        self.peak = self.peak.max(held_by(self.runner).unwrap_or(0) + self.of_snapshot);
        is_large(self.of_snapshot, self.limit).then(|| {
            let message = format!(
                "the cell changed {} of the variables' memory, which its snapshot kept until now: the notebook held {} meanwhile",
                size(self.of_snapshot),
                size(self.peak)
            );
            warning("doubled-memory", message)
                .help("large data that changes often is better kept in a frame, or changed a little at a time over several cells")
        })
    }
}

/// A warning before a cell runs if the memory limit cannot hold its variables twice. `told` is the size in bytes for
/// which the warning was given last.
pub fn room_to_double(allowance: Allowance, told: &mut u64) -> Option<Diagnostic> {
    let Allowance { held, limit } = allowance;
    if held < *told / 2 {
        *told = 0;
    }
    if !is_large(held, limit) || held < *told + *told / 4 {
        return None;
    }
    let left = limits::available_memory().unwrap_or(u64::MAX);
    let twice = held.saturating_mul(2);
    let reason = match limit {
        Some(limit) if twice > limit => format!("the notebook's limit is {}", size(limit)),
        _ if held > left => format!("the machine has {} left", size(left)),
        _ => return None,
    };
    *told = held;
    let message = format!(
        "the variables hold {}, and a cell that changes all of them needs as much again for its snapshot: {reason}",
        size(held)
    );
    Some(
        warning("memory-is-short", message)
            .help("drop what is no longer needed, keep large data in a frame, or allow more with --cell-memory"),
    )
}

fn warning(code: &str, message: String) -> Diagnostic {
    Diagnostic { severity: Severity::Warning, ..Diagnostic::error(Class::Resources, code, message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_holds_something_and_is_far_from_its_limit() {
        let own = std::process::id() as i32;
        let buffer = vec![1u8; 40 << 20];
        assert!(held_by(own).is_some_and(|bytes| bytes > 40 << 20), "{:?}", held_by(own));
        assert!(held_alone_by(own).is_some_and(|bytes| bytes > 40 << 20));
        let mut watch = Watch::start(Some(u64::MAX), own, None, 0);
        watch.next = Instant::now();
        assert_eq!(watch.look(), None);
        let mut watch = Watch::start(Some(30 << 20), own, None, 0);
        watch.next = Instant::now();
        assert!(matches!(watch.look(), Some(Over::Limit { of_snapshot: 0, .. })));
        drop(buffer);
    }

    #[test]
    fn a_word_is_said_once_for_a_size() {
        let mut told = 0;
        let of = |held| Allowance { held, limit: Some(12 << 30) };
        assert_eq!(room_to_double(of(5 << 30), &mut told), None);
        let text = room_to_double(of(7 << 30), &mut told).unwrap().message;
        assert!(text.contains("7.5 GB") && text.contains("12.9 GB"), "{text}");
        assert_eq!(room_to_double(of(7 << 30), &mut told), None);
        assert!(room_to_double(of(9 << 30), &mut told).is_some());
        assert_eq!(room_to_double(of(1 << 30), &mut told), None);
        assert!(room_to_double(of(9 << 30), &mut told).is_some(), "it was less meanwhile");
    }
}
