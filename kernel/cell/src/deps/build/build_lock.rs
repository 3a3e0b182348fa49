//! Locks of builds, and the time that a build waits for them.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use onrush_wire::Diagnostic;

use super::{Builder, failed};
use crate::interrupt::interrupted;

/// Between two tries of a lock.
const LOOK: Duration = Duration::from_millis(50);
/// How long a build waits for a folder, for each of its crates that only that folder has: about what a crate takes to
/// build.
pub const FOR_EACH_CRATE: Duration = Duration::from_secs(2);

/// A lock, which ends with the file.
pub struct LockGuard {
    /// Its position among those that were asked for.
    pub at: usize,
    _file: File,
}

/// Time that a build has waited for others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LockWaits {
    total: Duration,
    /// For whom it has waited longest.
    who: String,
    longest: Duration,
}

impl LockWaits {
    pub fn add(&mut self, time: Duration, who: &str) {
        self.total += time;
        if time > self.longest {
            (self.longest, self.who) = (time, who.to_string());
        }
    }

    pub fn total(&self) -> Duration {
        self.total
    }

    /// `after 12.3 s of waiting for the build of tour.ipynb`. `None` if that was less than a second.
    pub fn said(&self) -> Option<String> {
        let seconds = self.total.as_secs_f64();
        (seconds >= 1.0).then(|| format!("after {seconds:.1} s of waiting for {}", self.who))
    }
}

impl Builder<'_> {
    /// Takes the first of these locks that is free. Waits until one is. `patience`: how long only the first one will
    /// do.
    pub fn hold(&self, locks: &[PathBuf], patience: Duration, waits: &mut LockWaits) -> Result<LockGuard, Diagnostic> {
        let open = |path: &PathBuf| File::options().create(true).truncate(false).read(true).write(true).open(path);
        let mut files = locks.iter().map(open).collect::<Result<Vec<File>, _>>().map_err(failed)?;
        let begun = Instant::now();
        let mut who = String::new();
        loop {
            let tried = if begun.elapsed() < patience { 1 } else { files.len() };
            for at in 0..tried {
                match files[at].try_lock() {
                    Ok(()) => {
                        if !who.is_empty() {
                            waits.add(begun.elapsed(), &who);
                        }
                        let mut file = files.swap_remove(at);
                        // Without a name the others say that another notebook builds.
                        let _ = file.set_len(0).and_then(|()| file.write_all(self.notebook.as_bytes()));
                        return Ok(LockGuard { at, _file: file });
                    }
                    Err(TryLockError::Error(error)) => return Err(failed(error)),
                    Err(TryLockError::WouldBlock) => {}
                }
            }
            if who.is_empty() {
                let mut name = String::new();
                let _ = File::open(&locks[0]).and_then(|mut file| file.read_to_string(&mut name));
                let name = name.trim();
                who = if name.is_empty() {
                    "the build of another notebook".into()
                } else {
                    format!("the build of {name}")
                };
                (self.progress)(format!("waiting for {who}"), None);
            }
            if self.stop.interrupted() {
                return Err(interrupted());
            }
            std::thread::sleep(LOOK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_names_the_one_that_took_longest() {
        let mut waits = LockWaits::default();
        waits.add(Duration::from_millis(400), "the build of a.ipynb");
        assert_eq!(waits.said(), None);
        waits.add(Duration::from_millis(2_100), "the build of b.ipynb");
        waits.add(Duration::from_millis(500), "another cargo");
        assert_eq!(waits.said().as_deref(), Some("after 3.0 s of waiting for the build of b.ipynb"));
    }
}
