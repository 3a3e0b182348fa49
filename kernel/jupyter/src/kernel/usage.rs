//! `usage_request`: what JupyterLab's panel "Kernel usage" shows. Counts the kernel, its cell process and the session.

use std::collections::HashMap;
use std::fs;
use std::time::Instant;

use parking_lot::Mutex;
use serde_json::{Value, json};

/// Linux counts processor time in ticks of 1/100 s for user space, whatever its own clock.
const TICKS: f64 = 100.0;

/// Remembers the last answer: percentages are over the time since then.
#[derive(Default)]
pub struct Usage {
    last: Mutex<Option<Sample>>,
}

struct Sample {
    at: Instant,
    /// Seconds that our processes ran.
    own: f64,
    /// Ticks of the machine: busy and all.
    host: (f64, f64),
}

impl Usage {
    /// `session`: the process ids of the session, if there is one.
    pub fn answer(&self, session: Vec<u32>) -> Value {
        let processes = processes();
        let mut wanted: Vec<u32> = vec![std::process::id()];
        wanted.extend(session);
        let mut index = 0;
        while index < wanted.len() {
            let parent = wanted[index];
            let children: Vec<u32> = processes
                .iter()
                .filter(|(pid, p)| p.parent == parent && !wanted.contains(pid))
                .map(|(pid, _)| *pid)
                .collect();
            wanted.extend(children);
            index += 1;
        }
        wanted.sort_unstable();
        wanted.dedup();
        let own: f64 = wanted.iter().filter_map(|pid| processes.get(pid)).map(|p| p.seconds).sum();
        let memory: u64 = wanted.iter().map(|pid| proportional_memory(*pid)).sum();
        let now = Sample { at: Instant::now(), own, host: host_ticks() };
        let mut last = self.last.lock();
        let (cpu, host_cpu) = match &*last {
            Some(before) => {
                let seconds = now.at.duration_since(before.at).as_secs_f64().max(0.001);
                let all = (now.host.1 - before.host.1).max(1.0);
                // A process that ended takes its time with it: never below zero.
                let own = ((now.own - before.own) / seconds * 100.0).max(0.0);
                (own, ((now.host.0 - before.host.0) / all * 100.0).clamp(0.0, 100.0))
            }
            None => (0.0, 0.0),
        };
        *last = Some(now);
        let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        json!({
            "status": "ok",
            "hostname": hostname.trim(),
            "pid": std::process::id(),
            "kernel_cpu": round(cpu),
            "kernel_memory": memory,
            "cpu_count": std::thread::available_parallelism().map_or(1, usize::from),
            "host_cpu_percent": round(host_cpu),
            "host_virtual_memory": host_memory(),
        })
    }
}

fn round(percent: f64) -> f64 {
    (percent * 10.0).round() / 10.0
}

struct Process {
    parent: u32,
    seconds: f64,
}

fn processes() -> HashMap<u32, Process> {
    let Ok(folder) = fs::read_dir("/proc") else { return HashMap::new() };
    folder
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            Some((pid, parse_stat(&fs::read_to_string(entry.path().join("stat")).ok()?)?))
        })
        .collect()
}

/// `/proc/PID/stat`; the name in it may hold spaces and brackets.
fn parse_stat(stat: &str) -> Option<Process> {
    let rest = &stat[stat.rfind(')')? + 1..];
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(Process { parent: fields.get(1)?.parse().ok()?, seconds: ticks / TICKS })
}

/// Pages that processes share are counted once among them, so that a snapshot of the cell process does not count
/// double.
fn proportional_memory(pid: u32) -> u64 {
    let kilobytes = |text: String, field: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(field))?.split_whitespace().next()?.parse().ok()
    };
    fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))
        .ok()
        .and_then(|text| kilobytes(text, "Pss:"))
        .or_else(|| fs::read_to_string(format!("/proc/{pid}/status")).ok().and_then(|text| kilobytes(text, "VmRSS:")))
        .unwrap_or(0)
        * 1024
}

fn host_ticks() -> (f64, f64) {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let numbers: Vec<f64> =
        text.lines().next().unwrap_or("").split_whitespace().skip(1).filter_map(|field| field.parse().ok()).collect();
    let all: f64 = numbers.iter().take(8).sum();
    let idle: f64 = numbers.iter().skip(3).take(2).sum();
    (all - idle, all)
}

fn host_memory() -> Value {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let field = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.split_whitespace().next()).and_then(|n| n.parse::<u64>().ok()).unwrap_or(0) * 1024
    };
    let (total, available, free) = (field("MemTotal:"), field("MemAvailable:"), field("MemFree:"));
    let used = total.saturating_sub(available);
    json!({
        "total": total,
        "available": available,
        "percent": round(used as f64 / total.max(1) as f64 * 100.0),
        "used": used,
        "free": free,
        "active": field("Active:"),
        "inactive": field("Inactive:"),
        "buffers": field("Buffers:"),
        "cached": field("Cached:"),
        "shared": field("Shmem:"),
        "slab": field("Slab:"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line is of proc_pid_stat(5)'s format: parent 7, utime 250, stime 50 ticks.
    #[test]
    fn a_process_name_with_brackets_does_not_shift_the_fields() {
        let process = parse_stat("42 (a) b) S 7 42 42 0 -1 4194560 1 0 0 0 250 50 0 0 20 0 1 0 5 1 1").unwrap();
        assert_eq!(process.parent, 7);
        assert_eq!(process.seconds, 3.0);
    }
}
