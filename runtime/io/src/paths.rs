//! From what the user wrote to files: `~`, relative paths, globs, and helpful errors when there is nothing.

use std::fs;
use std::path::{Component, Path, PathBuf};

use onrush_frame::TaskHandle;
use onrush_places::Places;
use onrush_wire::{Class, Diagnostic};

use crate::file::{FileState, SourceFiles, extension, io_diagnostic};
use crate::hive;

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

/// A path as the user would write it in `folder`: relative if it is below.
pub(crate) fn below(path: &Path, folder: &str) -> String {
    let inner = path.strip_prefix(folder).ok().map(Path::to_path_buf).or_else(|| {
        let folder = fs::canonicalize(folder).ok()?;
        path.strip_prefix(folder).ok().map(Path::to_path_buf)
    });
    inner.as_deref().unwrap_or(path).display().to_string()
}

/// The files of a path, of a glob, or below a folder with one of `extensions`. Files of other places are fetched.
pub(crate) fn resolve(
    path: &str,
    folder: &str,
    extensions: Option<&[&str]>,
    task: &TaskHandle,
) -> Result<SourceFiles, Diagnostic> {
    if onrush_places::is_place(path.trim()) {
        return fetched(path.trim(), extensions, task);
    }
    if path.trim().is_empty() {
        return Err(Diagnostic::error(Class::Plan, "no-file", "the file name is empty")
            .help("give a path, such as \"data/flights.csv\""));
    }
    let full = absolute(path, folder);
    // The part of the path that the user did not write says nothing about the data.
    let base = if full.starts_with(folder) { PathBuf::from(folder) } else { PathBuf::new() };
    let (paths, is_set) = match extensions {
        // A file that is called so is meant, whatever characters are in its name.
        _ if is_pattern(path) && fs::symlink_metadata(&full).is_err() => (glob(path, &full)?, true),
        Some(extensions) if full.is_dir() => (in_folder(&full, extensions)?, true),
        _ => (vec![full], false),
    };
    let hive = paths.iter().map(|file| hive::keys(file.strip_prefix(&base).unwrap_or(file))).collect();
    let files = paths.iter().map(|file| single(file)).collect::<Result<_, _>>()?;
    Ok(SourceFiles { files, hive, is_set, urls: Vec::new() })
}

/// The files of an address, in the cache folder.
fn fetched(address: &str, extensions: Option<&[&str]>, task: &TaskHandle) -> Result<SourceFiles, Diagnostic> {
    let pattern: Vec<&str> = address.split("://").nth(1).unwrap_or_default().split('/').skip(1).collect();
    let is_folder = pattern.last().is_none_or(|last| last.is_empty());
    let wanted = |name: &str| {
        let parts: Vec<&str> = name.split('/').collect();
        let is_hidden = |part: &&str| part.starts_with(['.', '_']);
        match is_folder {
            true => {
                let below = parts.get(pattern.len().saturating_sub(1)..).unwrap_or_default();
                let extension = extension(Path::new(name));
                !below.iter().any(is_hidden) && extensions.is_none_or(|known| known.contains(&extension.as_str()))
            }
            false => matches_parts(&pattern, &parts),
        }
    };
    let is_http = address.get(..4).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http"));
    let files = Places::of_process().fetch(address, &wanted, task)?;
    let hive = files.iter().map(|file| hive::keys(Path::new(&file.url))).collect();
    let urls = files.iter().map(|file| file.url.clone()).collect();
    let files = files.iter().map(|file| single(&file.path).map(FileState::copied)).collect::<Result<_, _>>()?;
    Ok(SourceFiles { files, hive, is_set: !is_http && (is_folder || is_pattern(address)), urls })
}

/// Patterns of the parts of a path; `**` stands for any number of parts.
fn matches_parts(pattern: &[&str], parts: &[&str]) -> bool {
    let chars = |text: &str| text.chars().collect::<Vec<_>>();
    match (pattern, parts) {
        ([], []) => true,
        (["**"], rest) => !rest.is_empty(),
        (["**", pattern @ ..], rest) => (0..=rest.len()).any(|skip| matches_parts(pattern, &rest[skip..])),
        ([first, pattern @ ..], [part, rest @ ..]) => {
            matches(&chars(first), &chars(part)) && matches_parts(pattern, rest)
        }
        _ => false,
    }
}

/// The files of a folder and those below it, sorted by name: those with one of the extensions. Names that start with
/// `.` or `_` are left out, as by Spark and Polars.
fn in_folder(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>, Diagnostic> {
    fn walk(folder: &Path, extensions: &[&str], depth: usize, into: &mut Vec<PathBuf>) {
        for name in entries(folder).into_iter().filter(|name| !name.starts_with('_')) {
            let path = folder.join(name);
            if path.is_dir() {
                if depth < MAX_DEPTH {
                    walk(&path, extensions, depth + 1, into);
                }
            } else if extensions.contains(&extension(&path).as_str()) {
                into.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, extensions, 0, &mut found);
    found.sort();
    if found.is_empty() { Err(a_folder(folder)) } else { Ok(found) }
}

fn glob(path: &str, full: &Path) -> Result<Vec<PathBuf>, Diagnostic> {
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
    Ok(found)
}

pub(crate) fn single(path: &Path) -> Result<FileState, Diagnostic> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(missing(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Err(missing(path)),
        Err(error) => return Err(io_diagnostic("read", path, &error)),
    };
    if metadata.is_dir() {
        return Err(a_folder(path));
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

/// The error of a folder in the place of a file.
fn a_folder(path: &Path) -> Diagnostic {
    let error = Diagnostic::error(Class::Data, "is-a-folder", format!("`{}` is a folder, not a file", path.display()));
    let mut extensions: Vec<String> = entries(path)
        .iter()
        .filter_map(|n| Path::new(n).extension().map(|e| e.to_string_lossy().into_owned()))
        .filter(|e| ["csv", "tsv", "parquet", "jsonl", "ndjson", "gz", "txt", "xlsx"].contains(&e.as_str()))
        .collect();
    extensions.sort();
    extensions.dedup();
    match extensions.as_slice() {
        [] => nearest_help(error, path, ""),
        some => error.help(format!("to read all of its files use \"{}/*.{}\"", path.display(), some[0])),
    }
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

/// Shell patterns within one name: `*`, `?`, `[a-z]`, `[!0-9]`. Linear in the name for each star (it backs up to the
/// last star only).
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
            resolve(pattern, folder, None, &TaskHandle::new())
                .unwrap()
                .files
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
