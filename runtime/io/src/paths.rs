//! From what the user wrote to files: `~`, relative paths, globs, and helpful errors when there is nothing.

use std::fs;
use std::path::{Component, Path, PathBuf};

use onrush_wire::{Class, Diagnostic};

use crate::cache::{FileState, io_diagnostic};

/// Folders deeper than this below a `**` are not searched: a link that points upwards would never end.
const MAX_DEPTH: usize = 32;

/// A path as given: `~` is the home folder, a relative path is below `folder`.
pub(crate) fn absolute(path: &str, folder: &str) -> PathBuf {
    let expanded = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => match std::env::var_os("HOME") {
            Some(home) => PathBuf::from(home).join(rest.trim_start_matches('/')),
            None => PathBuf::from(path),
        },
        _ => PathBuf::from(path),
    };
    if expanded.is_absolute() { expanded } else { Path::new(folder).join(expanded) }
}

/// The last part of a path, for titles.
pub(crate) fn short(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The files of a path or glob, sorted by name; at least one.
pub(crate) fn resolve(path: &str, folder: &str) -> Result<Vec<FileState>, Diagnostic> {
    if path.trim().is_empty() {
        return Err(Diagnostic::error(Class::Plan, "no-file", "the file name is empty")
            .help("give a path, such as \"data/flights.csv\""));
    }
    let full = absolute(path, folder);
    // A file that is called so is meant, whatever characters are in its name.
    if !is_pattern(path) || fs::symlink_metadata(&full).is_ok() {
        return Ok(vec![single(&full)?]);
    }
    let mut found = Vec::new();
    let mut parts: Vec<String> = Vec::new();
    let mut base = PathBuf::new();
    for component in full.components() {
        match component {
            Component::Normal(part) if !parts.is_empty() || is_pattern(&part.to_string_lossy()) => {
                parts.push(part.to_string_lossy().into_owned());
            }
            other if parts.is_empty() => base.push(other),
            other => parts.push(other.as_os_str().to_string_lossy().into_owned()),
        }
    }
    walk(&base, &parts, 0, &mut found);
    found.sort();
    found.dedup();
    if found.is_empty() {
        let mut error =
            Diagnostic::error(Class::Data, "no-file", format!("no file matches `{path}` in `{}`", base.display()));
        if !base.is_dir() {
            error.message = format!("no file matches `{path}`: there is no folder `{}`", base.display());
            return Err(folder_help(error, &base));
        }
        let pattern = parts.last().map_or("", String::as_str);
        return Err(nearest_help(error, &base, &pattern.replace(['*', '?', '[', ']'], "")));
    }
    found.into_iter().map(|file| single(&file)).collect()
}

fn single(path: &Path) -> Result<FileState, Diagnostic> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Err(missing(path)),
        Err(error) => return Err(io_diagnostic("read", path, &error)),
    };
    if metadata.is_dir() {
        let mut error =
            Diagnostic::error(Class::Data, "is-a-folder", format!("`{}` is a folder, not a file", path.display()));
        let mut extensions: Vec<String> = entries(path)
            .iter()
            .filter_map(|n| Path::new(n).extension().map(|e| e.to_string_lossy().into_owned()))
            .filter(|e| ["csv", "tsv", "parquet", "jsonl", "ndjson", "gz", "txt"].contains(&e.as_str()))
            .collect();
        extensions.sort();
        extensions.dedup();
        error = match extensions.as_slice() {
            [] => nearest_help(error, path, ""),
            some => error.help(format!("to read all of its files use \"{}/*.{}\"", path.display(), some[0])),
        };
        return Err(error);
    }
    if !metadata.is_file() {
        return Err(Diagnostic::error(
            Class::Data,
            "not-a-file",
            format!("`{}` is not a regular file", path.display()),
        )
        .help("a pipe or device can be read once only: copy it to a file first"));
    }
    // Opened once here, so that a file without permission is an error at the call.
    fs::File::open(path).map_err(|e| io_diagnostic("read", path, &e))?;
    let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    Ok(FileState::of(canonical, &metadata))
}

fn missing(path: &Path) -> Diagnostic {
    let error = Diagnostic::error(Class::Data, "no-file", format!("there is no file `{}`", path.display()));
    match path.parent() {
        Some(parent) if parent.is_dir() => nearest_help(error, parent, &short(path)),
        Some(parent) => {
            let mut error = error;
            error.message =
                format!("there is no file `{}`: the folder `{}` does not exist", path.display(), parent.display());
            folder_help(error, parent)
        }
        None => error,
    }
}

/// Names the part of a missing folder that does exist, and what is in it.
fn folder_help(error: Diagnostic, folder: &Path) -> Diagnostic {
    match folder.ancestors().find(|a| a.is_dir()) {
        Some(existing) => {
            let next = folder.strip_prefix(existing).ok().and_then(|r| r.components().next());
            let wanted = next.map(|c| c.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
            nearest_help(error, existing, &wanted)
        }
        None => error,
    }
}

fn nearest_help(error: Diagnostic, folder: &Path, wanted: &str) -> Diagnostic {
    let mut names = entries(folder);
    let lower = wanted.to_lowercase();
    let best = names
        .iter()
        .map(|n| (strsim::jaro_winkler(&n.to_lowercase(), &lower), n.clone()))
        .filter(|(score, _)| *score > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let (Some((_, name)), false) = (best, wanted.is_empty()) {
        return error.help(format!("did you mean `{}`?", folder.join(name).display()));
    }
    if names.is_empty() {
        return error.help(format!("the folder `{}` is empty", folder.display()));
    }
    let more = names.len().saturating_sub(8);
    names.truncate(8);
    let list = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    error.help(format!("in `{}` there are {list}{tail}", folder.display()))
}

/// Names in a folder, sorted, without hidden ones.
fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .map(|dir| dir.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect())
        .unwrap_or_default();
    names.retain(|n| !n.starts_with('.'));
    names.sort();
    names
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

fn walk(base: &Path, parts: &[String], depth: usize, found: &mut Vec<PathBuf>) {
    let Some((first, rest)) = parts.split_first() else {
        if base.is_file() {
            found.push(base.to_path_buf());
        }
        return;
    };
    if first == "**" {
        walk(base, rest, depth, found);
        if depth < MAX_DEPTH {
            for name in entries(base) {
                let below = base.join(&name);
                if below.is_dir() {
                    walk(&below, parts, depth + 1, found);
                }
            }
        }
        // `data/**` means every file below.
        if rest.is_empty() {
            found.extend(entries(base).into_iter().map(|n| base.join(n)).filter(|p| p.is_file()));
        }
        return;
    }
    if !is_pattern(first) {
        let next = base.join(first);
        if next.exists() {
            walk(&next, rest, depth, found);
        }
        return;
    }
    let pattern: Vec<char> = first.chars().collect();
    let names = match first.starts_with('.') {
        true => fs::read_dir(base)
            .map(|d| d.flatten().map(|e| e.file_name().to_string_lossy().into_owned()).collect())
            .unwrap_or_default(),
        false => entries(base),
    };
    for name in names {
        if matches(&pattern, &name.chars().collect::<Vec<_>>()) {
            walk(&base.join(&name), rest, depth, found);
        }
    }
}

/// Shell patterns within one name: `*`, `?`, `[a-z]`, `[!0-9]`. Linear in the name for each star (it backs up to the last
/// star only).
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            star = Some((p + 1, n));
            p += 1;
            continue;
        }
        if let Some(used) = one(&pattern[p..], name[n]) {
            p += used;
            n += 1;
            continue;
        }
        match star {
            Some((after, at)) => {
                star = Some((after, at + 1));
                p = after;
                n = at + 1;
            }
            None => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// How many pattern characters match `c`, if any do.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '[' => {
            let close = pattern.iter().skip(2).position(|c| *c == ']').map(|i| i + 2);
            let Some(close) = close else { return (c == '[').then_some(1) };
            let (negate, set) = match pattern[1] {
                '!' | '^' => (true, &pattern[2..close]),
                _ => (false, &pattern[1..close]),
            };
            let mut hit = false;
            let mut i = 0;
            while i < set.len() {
                if i + 2 < set.len() && set[i + 1] == '-' {
                    hit |= set[i] <= c && c <= set[i + 2];
                    i += 3;
                } else {
                    hit |= set[i] == c;
                    i += 1;
                }
            }
            (hit != negate).then_some(close + 1)
        }
        literal => (*literal == c).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_as_in_a_shell() {
        let check = |p: &str, n: &str| matches(&p.chars().collect::<Vec<_>>(), &n.chars().collect::<Vec<_>>());
        assert!(check("*.csv", "a.csv") && check("a*b*c", "aXbYbZc") && check("?", "é"));
        assert!(check("part-[0-9][0-9].csv", "part-07.csv") && !check("part-[!0-9].csv", "part-7.csv"));
        assert!(!check("*.csv", "a.csv.gz") && !check("a", "ab") && check("[", "["));
    }

    #[test]
    fn globs_find_sorted_files_at_any_depth() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.csv", "x/c.csv", "x/y/d.csv", "x/e.txt"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let folder = dir.path().to_str().unwrap();
        let names = |pattern: &str| {
            let root = fs::canonicalize(dir.path()).unwrap();
            resolve(pattern, folder)
                .unwrap()
                .into_iter()
                .map(|f| f.path.strip_prefix(&root).unwrap().to_string_lossy().into_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(names("*.csv"), ["a.csv", "b.csv"]);
        assert_eq!(names("**/*.csv"), ["a.csv", "b.csv", "x/c.csv", "x/y/d.csv"]);
        assert_eq!(names("*/[cd].csv"), ["x/c.csv"]);
        assert_eq!(names("./x/../b.csv"), ["b.csv"]);
    }
}
