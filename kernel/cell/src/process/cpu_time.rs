//! Processor time of the cell process, for `%%time`. Threads count, the snapshot and child processes do not.

use std::ops::Sub;
use std::time::Duration;

/// Processor time since a process began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessorTime {
    pub user: Duration,
    pub system: Duration,
}

impl Sub for ProcessorTime {
    type Output = ProcessorTime;

    fn sub(self, earlier: ProcessorTime) -> ProcessorTime {
        ProcessorTime {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
        }
    }
}

impl ProcessorTime {
    /// The time of a process that runs; zero if it is gone. The sum is exact, its parts are as Linux counts them, in
    /// ticks of 10 ms.
    pub fn of(pid: i32) -> ProcessorTime {
        let (user, system) = ticks(pid).unwrap_or_default();
        match clock(pid) {
            // Linux scales the parts to the sum when it shows them; what it rounds off goes to the user's part.
            Some(sum) => ProcessorTime { user: sum.saturating_sub(system), system: system.min(sum) },
            None => ProcessorTime { user, system },
        }
    }
}

/// The processor clock of another process, in nanoseconds.
fn clock(pid: i32) -> Option<Duration> {
    // SAFETY: both calls only write into the value that they are given.
    unsafe {
        let mut id: libc::clockid_t = 0;
        let mut time: libc::timespec = std::mem::zeroed();
        (libc::clock_getcpuclockid(pid, &mut id) == 0 && libc::clock_gettime(id, &mut time) == 0)
            .then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }
}

/// User and system time, from `/proc/PID/stat`.
fn ticks(pid: i32) -> Option<(Duration, Duration)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || Some(Duration::from_millis(fields.next()?.parse::<u64>().ok()? * 10));
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_processor_time_and_waiting_does_not() {
        let me = std::process::id() as i32;
        let begun = ProcessorTime::of(me);
        let mut sum = 0u64;
        while (ProcessorTime::of(me) - begun).user < Duration::from_millis(30) {
            sum = (0..10_000u64).fold(sum, |a, b| a.wrapping_mul(31).wrapping_add(b));
        }
        assert!(sum != 1, "the loop is not optimised away");
        // More than Linux gives to any process.
        assert_eq!(ProcessorTime::of(5_000_000), ProcessorTime::default());
    }
}
