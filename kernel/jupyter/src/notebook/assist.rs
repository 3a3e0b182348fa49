//! Completion, inspection and completeness while cells may be running: from the executor if it is free, else from what is
//! known of the last finished cell and of the text itself.

use std::time::Duration;

use onrush_cell::{Completeness, Completions, Inspection};

use super::Notebook;

/// A front end waits about this long before it gives up on completions; starting the executor may take longer.
const PATIENCE: Duration = Duration::from_secs(2);

impl Notebook {
    pub fn is_complete(&self, text: &str) -> Completeness {
        self.worker.idle(PATIENCE, |executor| executor.is_complete(text)).unwrap_or_else(|| brackets(text))
    }

    /// `cursor` counts code points.
    pub fn complete(&self, text: &str, cursor: usize) -> Completions {
        let cursor = cursor.min(text.chars().count());
        let columns = |name: &str| self.session.columns(name);
        self.worker
            .idle(PATIENCE, |executor| executor.complete(text, cursor, &columns))
            .unwrap_or_else(|| self.complete_from_names(text, cursor))
    }

    pub fn inspect(&self, text: &str, cursor: usize) -> Inspection {
        let cursor = cursor.min(text.chars().count());
        self.worker.idle(PATIENCE, |executor| executor.inspect(text, cursor)).unwrap_or_default()
    }

    /// Words of all cells so far, and of this one, that start with what stands before the cursor.
    fn complete_from_names(&self, text: &str, cursor: usize) -> Completions {
        let before: Vec<char> = text.chars().take(cursor).collect();
        let start = before.iter().rposition(|c| !is_word(*c)).map_or(0, |at| at + 1);
        let prefix: String = before[start..].iter().collect();
        if prefix.is_empty() || prefix.starts_with(|c: char| c.is_ascii_digit()) {
            return Completions { start: cursor, end: cursor, matches: Vec::new() };
        }
        let sources = self.sources.lock();
        let mut names: Vec<&str> = sources
            .values()
            .map(String::as_str)
            .chain([text])
            .flat_map(|source| source.split(|c| !is_word(c)))
            .filter(|word| word.starts_with(&prefix) && *word != prefix)
            .collect();
        names.sort_unstable();
        names.dedup();
        let matches = names.into_iter().map(|name| (name.to_string(), "variable".to_string())).collect();
        Completions { start, end: cursor, matches }
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Whether brackets and strings are closed: enough for a console that asks while a cell runs.
fn brackets(text: &str) -> Completeness {
    let mut open = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            '{' => open.push('}'),
            ')' | ']' | '}' if open.pop() != Some(c) => return Completeness::Invalid,
            '/' if chars.peek() == Some(&'/') => while chars.next_if(|c| *c != '\n').is_some() {},
            '"' => loop {
                match chars.next() {
                    Some('\\') => drop(chars.next()),
                    Some('"') => break,
                    Some(_) => {}
                    None => return Completeness::Incomplete { indent: String::new() },
                }
            },
            _ => {}
        }
    }
    if open.is_empty() {
        Completeness::Complete
    } else {
        Completeness::Incomplete { indent: "    ".repeat(open.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_and_strings_decide_completeness_while_a_cell_runs() {
        assert_eq!(brackets("let a = [1, 2];"), Completeness::Complete);
        assert_eq!(brackets("fn f() {"), Completeness::Incomplete { indent: "    ".into() });
        assert_eq!(brackets("f(\")\")"), Completeness::Complete);
        assert_eq!(brackets("f(1]"), Completeness::Invalid);
        assert_eq!(brackets("1 // ("), Completeness::Complete);
        assert_eq!(brackets("\"abc"), Completeness::Incomplete { indent: String::new() });
    }
}
