//! The history of executed code, of this kernel and of earlier ones: in memory, and as JSON lines in the cache folder.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use onrush_wire::paths;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::log;

/// Bytes that are read from the end of the file.
const READ: u64 = 4 << 20;
/// A longer file is cut down to [`READ`] when a kernel starts.
const KEEP: u64 = 16 << 20;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    /// Counts kernels, from 1.
    session: i64,
    /// The execution count.
    line: i64,
    input: String,
    #[serde(default)]
    output: Option<String>,
}

/// See the module.
pub struct History {
    session: i64,
    entries: Vec<Entry>,
    file: Option<File>,
}

/// A `history_request`. The protocol crate's type wants fields that clients leave out.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Query {
    pub output: bool,
    pub hist_access_type: String,
    /// 0 is this kernel, -1 the one before it.
    pub session: Option<i64>,
    pub start: Option<i64>,
    pub stop: Option<i64>,
    pub n: Option<usize>,
    pub pattern: Option<String>,
    pub unique: bool,
}

impl History {
    /// A history that cannot be read or written is one of this kernel alone.
    pub fn open() -> History {
        let folder = paths::cache_dir();
        let opened = paths::private_dir(&folder).and_then(|()| Self::open_file(&folder.join("history.jsonl")));
        opened.unwrap_or_else(|error| {
            log::line(format_args!("the history in {} is not kept: {error}", folder.display()));
            History { session: 1, entries: Vec::new(), file: None }
        })
    }

    fn open_file(path: &Path) -> std::io::Result<History> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut file = OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
        let mut bytes = Vec::new();
        (&mut file).take(READ).read_to_end(&mut bytes)?;
        // A line that is cut or damaged is skipped: the others are worth having.
        let entries: Vec<Entry> =
            bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        if length > KEEP {
            let short = path.with_extension("jsonl.new");
            let mut text = Vec::with_capacity(bytes.len());
            for entry in &entries {
                serde_json::to_writer(&mut text, entry)?;
                text.push(b'\n');
            }
            paths::create_private(&short)?.write_all(&text)?;
            std::fs::rename(&short, path)?;
            file = OpenOptions::new().append(true).open(path)?;
        }
        let session = entries.iter().map(|entry| entry.session).max().unwrap_or(0) + 1;
        Ok(History { session, entries, file: Some(file) })
    }

    pub fn store(&mut self, line: u64, input: &str, output: Option<String>) {
        let entry = Entry { session: self.session, line: line as i64, input: input.to_string(), output };
        if let Some(file) = &mut self.file
            && let Ok(mut text) = serde_json::to_string(&entry)
        {
            text.push('\n');
            if let Err(error) = file.write_all(text.as_bytes()) {
                log::line(format_args!("the history is no longer kept: {error}"));
                self.file = None;
            }
        }
        self.entries.push(entry);
    }

    /// The `history` field of the reply: `[session, line, input]` or `[session, line, [input, output]]`.
    pub fn answer(&self, query: &Query) -> Vec<Value> {
        let found = match query.hist_access_type.as_str() {
            "tail" => self.last(self.entries.iter().collect(), query.n),
            "search" => self.search(query),
            _ => self.range(query),
        };
        let shown = |entry: &Entry| match query.output {
            false => json!([entry.session, entry.line, entry.input]),
            true => json!([entry.session, entry.line, [entry.input, entry.output]]),
        };
        found.into_iter().map(shown).collect()
    }

    fn last<'a>(&self, entries: Vec<&'a Entry>, n: Option<usize>) -> Vec<&'a Entry> {
        let skip = n.map_or(0, |n| entries.len().saturating_sub(n));
        entries.into_iter().skip(skip).collect()
    }

    fn range(&self, query: &Query) -> Vec<&Entry> {
        let session = match query.session.unwrap_or(0) {
            session if session <= 0 => self.session + session,
            session => session,
        };
        let start = query.start.unwrap_or(0);
        let stop = query.stop.unwrap_or(i64::MAX);
        self.entries.iter().filter(|e| e.session == session && e.line >= start && e.line < stop).collect()
    }

    fn search(&self, query: &Query) -> Vec<&Entry> {
        let pattern: Vec<char> = query.pattern.as_deref().unwrap_or("*").chars().collect();
        let mut found: Vec<&Entry> =
            self.entries.iter().filter(|e| matches(&pattern, &e.input.chars().collect::<Vec<_>>())).collect();
        if query.unique {
            // The newest one of equal inputs stays.
            let mut seen = HashSet::new();
            found = found.into_iter().rev().filter(|e| seen.insert(e.input.as_str())).collect();
            found.reverse();
        }
        self.last(found, query.n)
    }
}

/// Globs as in SQLite's `GLOB`, which IPython uses, without character classes: `*` is anything, `?` one character.
fn matches(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => match retry {
                Some((after, from)) => {
                    p = after;
                    t = from + 1;
                    retry = Some((after, from + 1));
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(pattern: &str, text: &str) -> bool {
        matches(&pattern.chars().collect::<Vec<_>>(), &text.chars().collect::<Vec<_>>())
    }

    fn history() -> History {
        let mut history = History { session: 2, entries: Vec::new(), file: None };
        let old = Entry { session: 1, line: 1, input: "let x = 1;".into(), output: None };
        history.entries.push(old);
        history.store(1, "x + 1", Some("2".into()));
        history.store(2, "x + 1", Some("2".into()));
        history
    }

    /// Values by Python's `fnmatch.fnmatchcase`.
    #[test]
    fn globs() {
        assert!(glob("x*1", "x + 1"));
        assert!(glob("*", ""));
        assert!(glob("a?c*", "abcd"));
        assert!(!glob("x", "x + 1"));
        assert!(!glob("a*b", "acbd"));
        assert!(glob("*ä*", "aäb"));
    }

    #[test]
    fn tail_range_and_search() {
        let history = history();
        let query = |text: &str| history.answer(&serde_json::from_str(text).unwrap());
        assert_eq!(
            query(r#"{"hist_access_type": "tail", "n": 2, "output": false, "raw": true}"#),
            [json!([2, 1, "x + 1"]), json!([2, 2, "x + 1"])]
        );
        assert_eq!(
            query(r#"{"hist_access_type": "range", "session": -1, "output": true, "raw": true}"#),
            [json!([1, 1, ["let x = 1;", null]])]
        );
        assert_eq!(
            query(r#"{"hist_access_type": "range", "session": 2, "start": 2, "stop": 3, "output": true}"#),
            [json!([2, 2, ["x + 1", "2"]])]
        );
        assert_eq!(
            query(r#"{"hist_access_type": "search", "pattern": "x*", "unique": true}"#),
            [json!([2, 2, "x + 1"])]
        );
    }
}
