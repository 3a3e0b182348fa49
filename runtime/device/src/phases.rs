//! The time of queries: counters of the process, one for each phase of the way of data to a device and back.
//!
//! A [`Scope`] adds the time that it is open to its phase. A scope within another one pauses that one, so that each
//! moment of a thread counts once. Waits for the device count for the scope that is open around them, if there is one.
//! A reduction that computes statistics is time for statistics. The counters add the times of all queries that run at
//! once. Work that one thread gives to others counts for the thread that waits for it.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Reading and decoding files.
    Read,
    /// Checks of steps, and planning.
    Plan,
    /// Dictionaries of strings.
    Encode,
    /// Columns copied to the device, with the preparation of their values on the host.
    Upload,
    /// Lowest and highest values of columns.
    Statistics,
    /// CUDA kernels compiled, or loaded from the cache on disk.
    Compile,
    /// Launches, and waits for kernels.
    Device,
    /// Waits for results and their copies to the host.
    Readback,
}

/// The name of each phase, in the order of [`Phase`].
const NAMES: [&str; 8] = ["read", "plan", "encode", "upload", "statistics", "compile", "device", "read back"];

/// Nanoseconds.
static SPENT: [AtomicU64; NAMES.len()] = [const { AtomicU64::new(0) }; NAMES.len()];

thread_local! {
    /// The innermost open scope, and since when its time counts.
    static OPEN: Cell<Option<(Phase, Instant)>> = const { Cell::new(None) };
}

/// Counts time of this thread for a phase until it is dropped. Scopes are dropped in reverse order.
#[must_use = "a scope that is dropped at once counts nothing"]
pub struct Scope {
    around: Option<Phase>,
    of_this_thread: PhantomData<*const ()>,
}

/// Opens a scope.
pub fn scope(phase: Phase) -> Scope {
    let now = Instant::now();
    let around = OPEN.get().map(|(around, since)| {
        add(around, now - since);
        around
    });
    let waits = matches!(phase, Phase::Device | Phase::Readback);
    OPEN.set(Some((around.filter(|_| waits).unwrap_or(phase), now)));
    Scope { around, of_this_thread: PhantomData }
}

/// Opens a scope within another one of this thread. Without another one it opens none: a thread that waits for others
/// has the scope, and counts for all of them.
pub fn part(phase: Phase) -> Option<Scope> {
    OPEN.get().map(|_| scope(phase))
}

impl Drop for Scope {
    fn drop(&mut self) {
        let now = Instant::now();
        if let Some((phase, since)) = OPEN.get() {
            add(phase, now - since);
        }
        OPEN.set(self.around.map(|around| (around, now)));
    }
}

fn add(phase: Phase, time: Duration) {
    SPENT[phase as usize].fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
}

/// The counters as read once, or the difference of two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases([Duration; NAMES.len()]);

impl Phases {
    /// The time of the process since it began.
    pub fn now() -> Phases {
        Phases(std::array::from_fn(|phase| Duration::from_nanos(SPENT[phase].load(Ordering::Relaxed))))
    }

    pub fn since(&self, earlier: &Phases) -> Phases {
        Phases(std::array::from_fn(|phase| self.0[phase].saturating_sub(earlier.0[phase])))
    }

    /// Each phase with its name.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        NAMES.into_iter().zip(self.0)
    }

    pub fn of(&self, phase: Phase) -> Duration {
        self.0[phase as usize]
    }

    /// Whether no phase took any time.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(Duration::is_zero)
    }
}

/// The phases that took time: `upload 1.2 ms, device 0.4 ms`.
impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (name, time) in self.named() {
            let time = time.as_secs_f64() * 1e3;
            if time > 0.0 {
                let digits = if time < 1.0 { 3 } else { 1 };
                write!(f, "{separator}{name} {time:.digits$} ms")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At least `time` on this thread.
    fn work(time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn each_moment_counts_once_and_waits_count_for_what_is_around_them() {
        let each = Duration::from_millis(3);
        let (before, begun) = (Phases::now(), Instant::now());
        {
            let _upload = scope(Phase::Upload);
            work(each);
            {
                let _encode = scope(Phase::Encode);
                let _wait = scope(Phase::Device);
                work(each * 2);
            }
            let _wait = scope(Phase::Readback);
            work(each);
        }
        {
            let _wait = scope(Phase::Device);
            work(each);
        }
        let (spent, all) = (Phases::now().since(&before), begun.elapsed());
        let [upload, encode, device] = [Phase::Upload, Phase::Encode, Phase::Device].map(|phase| spent.of(phase));
        assert!(upload >= each * 2 && encode >= each * 2 && device >= each, "{spent}");
        assert!(upload + encode + device <= all, "{spent} in {all:?}");
        assert_eq!(spent.of(Phase::Readback), Duration::ZERO);
        assert_eq!(OPEN.get(), None);
    }

    #[test]
    fn a_part_needs_a_scope_around_it() {
        assert!(part(Phase::Upload).is_none());
        let _encode = scope(Phase::Encode);
        assert!(part(Phase::Upload).is_some());
    }

    #[test]
    fn phases_without_time_are_not_named() {
        let mut phases = Phases::default();
        assert!(phases.is_zero());
        phases.0[Phase::Upload as usize] = Duration::from_micros(12_345);
        phases.0[Phase::Readback as usize] = Duration::from_micros(250);
        assert_eq!(phases.to_string(), "upload 12.3 ms, read back 0.250 ms");
    }
}
