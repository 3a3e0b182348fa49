//! SQL files in the format of sqllogictest: queries with the answers that are expected, and the runner of them.
//!
//! ```text
//! query IR rowsort
//! select a, avg(b) from t group by a
//! ----
//! 1 0.5
//!
//! query error overflow
//! select 9223372036854775807 + a from t
//! ```
//! Letters: [`crate::answer::letter`]. A query ends at `----`, or at an empty line where an error is expected. `onlyif
//! ENGINE` and `skipif ENGINE` stand on the line before. `# differs: REASON` there means that the answer is not
//! DuckDB's.

use crate::answer;
use crate::engines::Answers;

#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The number of the `query` line, from 1.
    pub line: usize,
    pub sql: String,
    pub expect: Expect,
    only: Option<String>,
    skip: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    Rows {
        letters: String,
        sorted: bool,
        rows: Vec<Vec<String>>,
    },
    /// The code of the diagnostic.
    Error(String),
}

/// # Errors
/// With the line that is not understood.
pub fn read(text: &str) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    let (mut only, mut skip) = (None, Vec::new());
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let fail = |what: &str| format!("line {}: {what}", number + 1);
        match words.as_slice() {
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            ["onlyif", name] => only = Some(name.to_string()),
            ["skipif", name] => skip.push(name.to_string()),
            ["query", rest @ ..] => {
                let mut sql = Vec::new();
                let mut answered = false;
                for (_, line) in lines.by_ref() {
                    match line.trim() {
                        "" => break,
                        "----" => {
                            answered = true;
                            break;
                        }
                        _ => sql.push(line.trim()),
                    }
                }
                let mut rows: Vec<Vec<String>> = Vec::new();
                let answer = lines.by_ref().take_while(|(_, line)| answered && !line.trim().is_empty());
                // Without `----` the empty line is already read.
                if answered {
                    rows.extend(answer.map(|(_, line)| line.split_whitespace().map(str::to_string).collect()));
                }
                let expect = match rest {
                    ["error", code] if !answered => Expect::Error(code.to_string()),
                    ["error", ..] => return Err(fail("`query error CODE` has no answer")),
                    [letters, mode @ ("" | "nosort" | "rowsort")] if answered => {
                        Expect::Rows { letters: letters.to_string(), sorted: *mode == "rowsort", rows }
                    }
                    [letters] if answered => Expect::Rows { letters: letters.to_string(), sorted: false, rows },
                    _ => return Err(fail("expected `query LETTERS [rowsort]` with `----`, or `query error CODE`")),
                };
                let (only, skip) = (only.take(), std::mem::take(&mut skip));
                cases.push(Case { line: number + 1, sql: sql.join("\n"), expect, only, skip });
            }
            _ => return Err(fail(&format!("`{line}` is not understood"))),
        }
    }
    Ok(cases)
}

impl Case {
    pub fn is_for(&self, engine: &str) -> bool {
        self.only.as_deref().is_none_or(|only| only == engine) && !self.skip.iter().any(|name| name == engine)
    }

    /// # Errors
    /// What is different, with both answers.
    pub fn run(&self, engine: &mut dyn Answers) -> Result<(), String> {
        let (letters, sorted, expected) = match (engine.sql(&self.sql), &self.expect) {
            (Ok(table), Expect::Error(code)) => {
                return Err(format!("the error `{code}` is expected, but there are {} rows", table.rows()));
            }
            (Err(d), Expect::Error(code)) if d.code == *code => return Ok(()),
            (Err(d), Expect::Error(code)) => {
                return Err(format!("the error `{code}` is expected, got `{}`: {d}", d.code));
            }
            (Err(d), Expect::Rows { .. }) => return Err(format!("error `{}`: {d}", d.code)),
            (Ok(table), Expect::Rows { letters, sorted, rows }) => {
                let found = answer::letters(&table);
                let fits = |(a, b): (char, char)| a == b || a == '?' || b == '?';
                if found.len() != letters.len() || !found.chars().zip(letters.chars()).all(fits) {
                    return Err(format!("columns of the classes {letters} are expected, got {found}"));
                }
                let mut found = answer::rows(&table);
                let mut expected = rows.clone();
                if *sorted {
                    // By what is not a float, which may differ in its last digits.
                    let exact: Vec<usize> = letters.char_indices().filter(|(_, l)| *l != 'R').map(|(i, _)| i).collect();
                    let reals: Vec<usize> = letters.char_indices().filter(|(_, l)| *l == 'R').map(|(i, _)| i).collect();
                    let real = |word: &str| word.parse::<f64>().map_or(u64::MAX, rank);
                    found.sort_by_cached_key(|row| {
                        let words: Vec<String> = row.iter().map(answer::text).collect();
                        key(&words, &exact, &reals, real)
                    });
                    expected.sort_by_cached_key(|words| key(words, &exact, &reals, real));
                }
                (letters, found, expected)
            }
        };
        let letters: Vec<char> = letters.chars().collect();
        let agree = sorted.len() == expected.len()
            && sorted.iter().zip(&expected).all(|(found, expected)| {
                found.len() == expected.len()
                    && found.iter().zip(expected).zip(&letters).all(|((f, e), l)| answer::is(f, e, *l))
            });
        if agree {
            return Ok(());
        }
        let found: Vec<String> = sorted.iter().map(|row| answer::line(row)).collect();
        let expected: Vec<String> = expected.iter().map(|row| row.join("\t")).collect();
        let shown = |rows: &[String]| rows.iter().take(40).map(|r| format!("    {r}\n")).collect::<String>();
        Err(format!("expected {} rows\n{}got {}\n{}", expected.len(), shown(&expected), found.len(), shown(&found)))
    }
}

fn key(words: &[String], exact: &[usize], reals: &[usize], real: impl Fn(&str) -> u64) -> (Vec<String>, Vec<u64>) {
    let exact = exact.iter().map(|i| words.get(*i).cloned().unwrap_or_default()).collect();
    (exact, reals.iter().map(|i| words.get(*i).map_or(u64::MAX, |w| real(w))).collect())
}

/// Floats in their order, to seven digits.
fn rank(value: f64) -> u64 {
    let value = if value == 0.0 || value.is_nan() { value.abs() } else { value };
    let bits = value.to_bits();
    (if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }) >> 30
}
