//! Processes that cells have started and left: this process is their subreaper, so they become its children when the
//! one that started them ends. Here they are taken from the process table when they end, and stopped when the notebook
//! is closed.

use std::fs;
use std::sync::Once;
use std::time::Duration;

use parking_lot::Mutex;

const ROUND: Duration = Duration::from_secs(2);
/// Ended processes whose status is kept for a cell to ask for.
const KEPT: usize = 1000;

/// Child processes of a cell process that failed. Its snapshot may still wait for them (`kernel/host/src/children.rs`),
/// so they stay in the process table with their status.
static CHILDREN: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// These were started by cells that have succeeded, and their parent ends now.
pub fn keep(pids: &[i32]) {
    let mut kept = CHILDREN.lock();
    kept.extend(pids);
    let over = kept.len().saturating_sub(KEPT);
    kept.drain(..over);
}

fn is_kept(pid: i32) -> bool {
    CHILDREN.lock().contains(&pid)
}

/// Ends the processes that are left of these groups.
pub fn end(groups: &[i32]) {
    for child in children().into_iter().filter(|child| groups.contains(&child.group)) {
        // SAFETY: plain system call on a child of this process, which nobody else takes from the process table.
        unsafe { libc::kill(child.pid, libc::SIGKILL) };
    }
    CHILDREN.lock().clear();
}

/// Makes this process the one that orphans below it come to, and clears them away from here on.
pub fn adopt() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: plain system call. Snapshots, too, become children of this process when their parent, the runner, is
        // gone.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
        let _ = std::thread::Builder::new().name("orphans".into()).spawn(|| {
            loop {
                std::thread::sleep(ROUND);
                children().into_iter().filter(|child| child.orphan && child.ended && !is_kept(child.pid)).for_each(
                    |child| {
                        // SAFETY: plain system call on a process that has ended; nobody else waits for it.
                        unsafe { libc::waitpid(child.pid, std::ptr::null_mut(), libc::WNOHANG) };
                    },
                );
            }
        });
    });
}

#[derive(Debug, PartialEq, Eq)]
struct Child {
    pid: i32,
    /// It came to this process when its parent ended.
    orphan: bool,
    ended: bool,
    group: i32,
}

fn children() -> Vec<Child> {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let pids: Vec<i32> =
        lists.flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect();
    // SAFETY: plain system calls.
    let own = unsafe { (libc::getpgrp(), libc::getsid(0)) };
    pids.into_iter().filter_map(|pid| child(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?, own)).collect()
}

/// Parses a line of `/proc/PID/stat`. A child that this process starts leads a separate process group or is in this
/// process's group. A child in another group or in another session was started by another process.
fn child(stat: &str, (own_group, own_session): (i32, i32)) -> Option<Child> {
    let (pid, rest) = stat.split_once(" (")?;
    // The name may hold spaces and brackets.
    let mut fields = rest[rest.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    let mut numbers = fields.skip(1).map(|field| field.parse::<i32>());
    let (group, session) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let pid = pid.parse().ok()?;
    let orphan = session != own_session || (group != pid && group != own_group);
    Some(Child { pid, orphan, ended: state == "Z", group })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orphans_are_in_groups_of_others() {
        let own = (50, 50);
        let is_orphan = |stat| child(stat, own).unwrap().orphan;
        assert!(!is_orphan("60 (onrush-cell) S 50 60 50 0 -1"), "a cell process leads its group");
        assert!(!is_orphan("61 (rustc) R 50 50 50 0 -1"), "in our own group");
        assert!(is_orphan("62 (sleep (a) b) Z 50 60 50 0 -1"), "in the group of a cell process");
        assert!(is_orphan("63 (onrush-session) S 50 63 63 0 -1"), "a session of its own");
        assert_eq!(
            child("62 (sleep) Z 50 60 50 0 -1", own),
            Some(Child { pid: 62, orphan: true, ended: true, group: 60 })
        );
        assert_eq!(child("nonsense", own), None);
    }

    #[test]
    fn children_are_found() {
        let mut sleeper = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let pid = sleeper.id() as i32;
        assert!(children().iter().any(|child| (child.pid, child.orphan, child.ended) == (pid, false, false)));
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    }
}
