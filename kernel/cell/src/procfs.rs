//! Processes and process groups: signals to them, and what Linux says of them in `/proc`.

use std::fs;

/// Ends the processes of a group, but not those that are spared.
pub fn kill_group(group: i32, spared: &[i32]) {
    // SAFETY: plain system calls; the group is that of a child which has not been reaped.
    unsafe {
        if spared.is_empty() {
            libc::kill(-group, libc::SIGKILL);
        }
        libc::kill(group, libc::SIGKILL);
    }
    if !spared.is_empty() {
        for pid in members(group).into_iter().filter(|pid| !spared.contains(pid)) {
            // SAFETY: plain system call.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

/// Sends SIGINT to the processes of a group, as Ctrl+C does.
pub fn interrupt_group(group: i32) {
    // SAFETY: a plain system call; the group is that of a child which has not been reaped.
    unsafe { libc::kill(-group, libc::SIGINT) };
}

/// Lets the processes of a group go on that somebody has stopped.
pub fn wake_group(group: i32) {
    // SAFETY: plain system calls; the group is that of a child which has not been reaped.
    unsafe {
        libc::kill(-group, libc::SIGCONT);
        libc::kill(group, libc::SIGCONT);
    }
}

fn members(group: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| group_of(*pid) == Some(group)).collect()
}

/// From `/proc/PID/stat`, whose second field, a name, may hold anything.
fn fields(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(')')?.1.split_whitespace().map(str::to_string).collect())
}

fn group_of(pid: i32) -> Option<i32> {
    fields(pid)?.get(2)?.parse().ok()
}

/// Whether a child has ended. It stays in the process table until it is waited for.
pub fn has_ended(pid: i32) -> bool {
    matches!(state_of(pid), Some('Z' | 'X') | None)
}

/// The state of the main thread as Linux names it: `S` waits, `T` was stopped by a signal.
pub fn state_of(pid: i32) -> Option<char> {
    fields(pid)?.first()?.chars().next()
}

/// Whether somebody has stopped the process: by SIGSTOP, Ctrl+Z or a debugger.
pub fn is_stopped(pid: i32) -> bool {
    matches!(state_of(pid), Some('T' | 't'))
}

/// The processes that a process has started and that still are its children.
pub fn children_of(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = tasks.flatten().filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()).collect()
}

/// These processes and all that they have started.
pub fn with_descendants(pids: &[i32]) -> Vec<i32> {
    let mut all = pids.to_vec();
    let mut at = 0;
    while let Some(pid) = all.get(at).copied() {
        all.extend(children_of(pid));
        at += 1;
    }
    all
}

/// The names that a process has given to its threads except the main one; `None` for one without.
pub fn thread_names(pid: i32) -> Vec<Option<String>> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let name = |path: &std::path::Path| fs::read_to_string(path.join("comm")).unwrap_or_default().trim().to_string();
    let usual = name(std::path::Path::new(&format!("/proc/{pid}/task/{pid}")));
    let others = tasks.flatten().filter(|task| task.file_name().to_str() != Some(pid.to_string().as_str()));
    others.map(|task| Some(name(&task.path())).filter(|name| *name != usual && !name.is_empty())).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn what_is_spared_lives_on() {
        use std::os::unix::process::CommandExt;
        let mut leader = Command::new("sleep").arg("100").process_group(0).spawn().unwrap();
        let group = leader.id() as i32;
        let mut spared = Command::new("sleep").arg("100").process_group(group).spawn().unwrap();
        let mut other = Command::new("sleep").arg("100").process_group(group).spawn().unwrap();
        kill_group(group, &[spared.id() as i32]);
        assert!(!leader.wait().unwrap().success() && !other.wait().unwrap().success());
        assert!(spared.try_wait().unwrap().is_none());
        spared.kill().unwrap();
        spared.wait().unwrap();
    }

    #[test]
    fn a_stopped_process_is_told_from_one_that_waits() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        let pid = child.id() as i32;
        assert!(children_of(std::process::id() as i32).contains(&pid) && !is_stopped(pid));
        // SAFETY: plain system call on a child of ours.
        unsafe { libc::kill(pid, libc::SIGSTOP) };
        while !is_stopped(pid) {
            std::thread::yield_now();
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
