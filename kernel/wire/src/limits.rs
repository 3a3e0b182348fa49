//! Limits of memory: what a machine has, and what the environment allows a session and a notebook's cells.

use std::env;
use std::fs;

use crate::diagnostic::{Class, Diagnostic};
use crate::paths;

/// Bytes that a user gave: `4G`, `1.5 MiB`, `512M`, `1000000`.
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['B', 'b']).trim_end_matches('i');
    let (digits, shift) = match text.chars().last()? {
        'K' | 'k' => (&text[..text.len() - 1], 10),
        'M' | 'm' => (&text[..text.len() - 1], 20),
        'G' | 'g' => (&text[..text.len() - 1], 30),
        'T' | 't' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let number: f64 = digits.trim().parse().ok()?;
    (number > 0.0).then_some((number * (1u64 << shift) as f64) as u64)
}

/// Bytes as a user reads them: `1.5 GB`, `24 bytes`.
pub fn size(bytes: u64) -> String {
    let units = [("kB", 1e3, 0), ("MB", 1e6, 0), ("GB", 1e9, 1), ("TB", 1e12, 1)];
    if bytes < 1_000 {
        return format!("{bytes} bytes");
    }
    // Of 999,999 bytes, a rounded number of kB would be 1000.
    let below_a_thousand =
        |per: f64, digits: i32| (bytes as f64 / per * 10f64.powi(digits)).round() < 10f64.powi(3 + digits);
    let fitting = units.iter().find(|(_, per, digits)| below_a_thousand(*per, *digits));
    let (unit, per, digits) = *fitting.unwrap_or(&units[units.len() - 1]);
    format!("{:.*} {unit}", digits as usize, bytes as f64 / per)
}

fn number_in(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Of a line such as `MemTotal:  24684096 kB` in a file of `/proc`.
pub fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|k| k << 10)
}

/// The machine's memory, or the container's if that is less.
pub fn machine_memory() -> u64 {
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemTotal"));
    let container = number_in("/sys/fs/cgroup/memory.max");
    let older = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    [container, older].into_iter().flatten().fold(total.unwrap_or(8 << 30), u64::min)
}

/// What can still be had without swapping: of the machine, or of the container if that is less.
pub fn available_memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable"))?;
    let left = |limit: &str, used: &str| Some(number_in(limit)?.saturating_sub(number_in(used)?));
    let container = left("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
    Some(container.map_or(machine, |c| c.min(machine)))
}

/// What the session may hold: what [`paths::MEMORY`] says, else half of the machine's memory.
pub fn session_memory() -> u64 {
    let given = env::var(paths::MEMORY).ok().and_then(|text| parse_size(&text));
    given.unwrap_or_else(|| machine_memory() / 2).max(64 << 20)
}

/// What a notebook's cells may hold in variables: what [`paths::CELL_MEMORY`] says (`none`: no limit), else half of the
/// machine's memory.
///
/// # Errors
/// If the variable is neither a size nor `none`.
pub fn cell_memory() -> Result<Option<u64>, Diagnostic> {
    match env::var(paths::CELL_MEMORY) {
        Ok(text) if !text.trim().is_empty() => parse_cell_memory(&text).map_err(|message| {
            Diagnostic::error(Class::Environment, "cell-memory", format!("{}: {message}", paths::CELL_MEMORY))
                .help("set it to a size such as 4G, or remove it: the default is half of the machine's memory")
        }),
        _ => Ok(Some(machine_memory() / 2)),
    }
}

/// The least that a cell process can work with.
const LEAST: u64 = 64 << 20;

/// A size, or `none`. An error is half a sentence.
pub fn parse_cell_memory(text: &str) -> Result<Option<u64>, String> {
    if text.trim().eq_ignore_ascii_case("none") {
        return Ok(None);
    }
    match parse_size(text) {
        Some(bytes) if bytes >= LEAST => Ok(Some(bytes)),
        Some(bytes) => Err(format!("`{text}` is {}, and cells need at least {}", size(bytes), size(LEAST))),
        None => Err(format!("`{text}` is not a size: write 4G, 512M or `none`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_with_suffixes() {
        assert_eq!(parse_size("4G"), Some(4 << 30));
        assert_eq!(parse_size("1.5 MiB"), Some(3 << 19));
        assert_eq!(parse_size("1000"), Some(1000));
        assert_eq!(parse_size("much"), None);
        assert_eq!(parse_size(""), None);
        assert!(machine_memory() > 1 << 28);
        assert!(available_memory().is_some_and(|bytes| bytes > 1 << 20));
    }

    #[test]
    fn limits_of_cells() {
        assert_eq!(parse_cell_memory("2G"), Ok(Some(2 << 30)));
        assert_eq!(parse_cell_memory("none"), Ok(None));
        assert!(parse_cell_memory("1M").unwrap_err().contains("at least 67 MB"));
        assert!(parse_cell_memory("lots").is_err());
    }

    #[test]
    fn sizes_are_read_easily() {
        let all = [24, 4096, 70 << 20, 3 << 30, 1 << 40].map(size);
        assert_eq!(all, ["24 bytes", "4 kB", "73 MB", "3.2 GB", "1.1 TB"]);
        let near = [999, 999_499, 999_500, 999_999_999, 999_949_999_999, 999_950_000_000].map(size);
        assert_eq!(near, ["999 bytes", "999 kB", "1 MB", "1.0 GB", "999.9 GB", "1.0 TB"]);
        assert_eq!(size(u64::MAX), "18446744.1 TB");
        assert_eq!(kilobytes("MemFree: 1 kB\nMemAvailable:   24 kB\n", "MemAvailable"), Some(24 << 10));
    }
}
