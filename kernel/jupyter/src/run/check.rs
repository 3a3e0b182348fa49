//! `onrush run --check`: compares a notebook's stored outputs with those of a run from top to bottom.
//!
//! The comparison covers the text of outputs and errors, normalised for times, addresses and counts, and the presence
//! of images. The cells have been run already when it begins.

use serde_json::Value;

use super::ipynb::{CodeCell, Document, joined};

/// Lines of a difference that are shown of each side.
const SHOWN: usize = 4;

/// The result of a check.
pub struct Report {
    pub lines: Vec<String>,
    pub compared: usize,
    pub different: usize,
}

/// The outputs of a cell, in the form that is compared.
#[derive(Debug, Default, PartialEq, Eq)]
struct CellOutputs {
    stdout: String,
    stderr: String,
    /// Displays and results, each a text.
    displays: Vec<String>,
    images: Vec<String>,
    error: Option<String>,
}

/// Compares what is stored with what a run has given. `failed`: why a cell failed now, by its index.
pub fn compare(stored: &Document, fresh: &Document, failed: &dyn Fn(usize) -> Option<String>) -> Report {
    let cells = stored.code_cells();
    let runs: Vec<&CodeCell> = cells.iter().filter(|cell| is_run(cell)).collect();
    let mut report = Report { lines: Vec::new(), compared: 0, different: 0 };
    let has_outputs =
        |cell: &&CodeCell| !stored.outputs_of(cell.index).is_empty() || stored.count(cell.index).is_some();
    let nothing_stored = !runs.iter().any(has_outputs);
    for cell in &runs {
        let number = 1 + cells.iter().position(|c| c.index == cell.index).unwrap_or(0);
        let name = match stored.count(cell.index) {
            Some(count) => format!("cell {number} (In [{count}])"),
            None => format!("cell {number}"),
        };
        let failure = failed(cell.index);
        if nothing_stored {
            if let Some(why) = failure.filter(|_| !cell.has_tag("raises-exception")) {
                report.different += 1;
                report.lines.push(format!("{name} fails: {why}"));
                report.lines.extend(explain(&why, cell, &cells));
            }
            continue;
        }
        if cell.has_tag("nbval-ignore-output") && failure.is_none() {
            continue;
        }
        report.compared += 1;
        let (before, now) = (shown(stored.outputs_of(cell.index)), shown(fresh.outputs_of(cell.index)));
        if before == now {
            continue;
        }
        report.different += 1;
        let was_run = stored.count(cell.index).is_some() || !stored.outputs_of(cell.index).is_empty();
        match &failure {
            Some(why) if before.error.is_none() => report.lines.push(format!("{name} fails: {why}")),
            _ if !was_run => report.lines.push(format!("{name} has outputs, and none are stored: it was not run")),
            _ => report.lines.push(format!("{name} shows something else than what is stored")),
        }
        report.lines.extend(differences(&before, &now));
        if let Some(why) = &failure {
            report.lines.extend(explain(why, cell, &cells));
        }
    }
    report.lines.extend(order(stored, &runs));
    report
}

pub fn is_run(cell: &CodeCell) -> bool {
    !cell.source.trim().is_empty() && !cell.has_tag("skip-execution")
}

/// The first pair of cells whose stored counts are in another order than the cells.
fn order(stored: &Document, cells: &[&CodeCell]) -> Option<String> {
    let counts: Vec<u64> = cells.iter().filter_map(|cell| stored.count(cell.index)).collect();
    let (above, below) = counts.windows(2).map(|pair| (pair[0], pair[1])).find(|(above, below)| above >= below)?;
    Some(format!("note: the cells were run in another order: In [{above}] stands above In [{below}]"))
}

/// Why a name is not there, if that is what an error is about.
fn explain(why: &str, cell: &CodeCell, cells: &[CodeCell]) -> Option<String> {
    let name = onrush_cell::unknown_name(why)?;
    let here = cells.iter().position(|c| c.index == cell.index)?;
    let defines = |cell: &CodeCell| onrush_cell::defined_names(&cell.source).contains(name);
    let place = cells.iter().enumerate().skip(here + 1).find(|(_, cell)| defines(cell)).map(|(at, _)| at + 1);
    if cells[..=here].iter().any(defines) {
        return None;
    }
    Some(match place {
        Some(number) => format!("  it uses `{name}`, which is first defined in cell {number}"),
        None => format!("  no cell defines `{name}`: the one that did was deleted or changed"),
    })
}

fn differences(before: &CellOutputs, now: &CellOutputs) -> Vec<String> {
    let mut out = Vec::new();
    let mut texts = |what: &str, before: &str, now: &str| {
        if before != now {
            out.extend(difference(what, before, now));
        }
    };
    texts("standard output", &before.stdout, &now.stdout);
    texts("standard error", &before.stderr, &now.stderr);
    for i in 0..before.displays.len().max(now.displays.len()) {
        let text = |shown: &CellOutputs| shown.displays.get(i).cloned().unwrap_or_default();
        texts("output", &text(before), &text(now));
    }
    match (&before.error, &now.error) {
        (Some(before), now) if now.as_ref() != Some(before) => texts("error", before, now.as_deref().unwrap_or("")),
        _ => {}
    }
    if before.images != now.images {
        let list = |images: &[String]| if images.is_empty() { "none".to_string() } else { images.join(", ") };
        out.push(format!("  images: stored {}, now {}", list(&before.images), list(&now.images)));
    }
    out
}

/// The lines that differ, from the first one on.
fn difference(what: &str, before: &str, now: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let end = old[same..].iter().rev().zip(new[same..].iter().rev()).take_while(|(a, b)| a == b).count();
    let mut out = vec![format!("  {what}, line {}:", same + 1)];
    for (sign, lines) in [('-', &old[same..old.len() - end]), ('+', &new[same..new.len() - end])] {
        out.extend(lines.iter().take(SHOWN).map(|line| format!("  {sign} {line}")));
        if lines.len() > SHOWN {
            out.push(format!("  {sign} … {} more lines", lines.len() - SHOWN));
        }
    }
    let sorted = |text: &str| {
        let mut characters: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
        characters.sort_unstable();
        characters
    };
    if !before.is_empty() && sorted(before) == sorted(now) {
        out.push("  the same in another order: a `HashMap` has none; sort, or use a `BTreeMap`".to_string());
    }
    out
}

fn shown(outputs: &[Value]) -> CellOutputs {
    let mut shown = CellOutputs::default();
    for output in outputs {
        match output["output_type"].as_str().unwrap_or("") {
            "stream" => {
                let text = joined(&output["text"]);
                match output["name"].as_str() {
                    Some("stderr") => shown.stderr.push_str(&text),
                    _ => shown.stdout.push_str(&text),
                }
            }
            "error" => {
                let field = |name: &str| output[name].as_str().unwrap_or("").to_string();
                shown.error = Some(settled(&format!("{}: {}", field("ename"), field("evalue"))));
            }
            _ => {
                // A quick cell shows no progress on another machine.
                if output["metadata"]["onrush"]["progress"] == true {
                    continue;
                }
                let Some(data) = output["data"].as_object() else { continue };
                let images = data.keys().filter(|mime| mime.starts_with("image/") || mime.contains("vega"));
                shown.images.extend(images.cloned());
                let text =
                    ["text/plain", "text/markdown", "text/latex", "text/html"].iter().find_map(|mime| data.get(*mime));
                let text = settled(&text.map(joined).unwrap_or_default());
                // A line of progress that is over leaves an empty display.
                if !text.is_empty() {
                    shown.displays.push(text);
                }
            }
        }
    }
    (shown.stdout, shown.stderr) = (settled(&shown.stdout), settled(&shown.stderr));
    shown
}

/// Text without what differs from run to run.
fn settled(text: &str) -> String {
    let plain = super::terminal::without_colors(text);
    // Text that a carriage return overwrote is gone.
    let lines = plain.lines().map(|line| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or(line));
    let lines = lines.filter(|line| !is_progress(line)).map(|line| {
        if REST.iter().any(|start| line.starts_with(start)) {
            return "‹rest in a file›".to_string();
        }
        let of_a_cell = ["compiled in ", "found compiled in ", "wall "].iter().any(|start| line.starts_with(start));
        if of_a_cell && line.chars().any(|c| c.is_ascii_digit()) {
            return "‹times›".to_string();
        }
        let settled = settled_line(line);
        // The columns of a table are as wide as a time that stood there.
        if settled.contains('‹') { squeezed(&settled) } else { settled.trim_end().to_string() }
    });
    lines.collect::<Vec<_>>().join("\n").trim().to_string()
}

/// How the line begins that names the file of a long output: its name has the number of a process.
const REST: [&str; 2] = ["[the cell printed ", "[threads or programs of this cell print more lines; "];

/// Whether a line says how the crates of the notebook came to be there. Earlier versions stored such lines as outputs.
fn is_progress(line: &str) -> bool {
    let is_build = |rest: &str| (rest.starts_with(" crate ") || rest.starts_with(" crates ")) && rest.contains(" in ");
    is_build(line.trim_start_matches(|c: char| c.is_ascii_digit())) && line.contains("once for all notebooks")
        || line.starts_with("the registry was not reached: these are versions that were here already")
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

const UNITS: [&str; 8] = ["ns", "µs", "us", "ms", "s", "min", "h", "seconds"];

/// One line with times, addresses and counts of executions replaced.
fn settled_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let inside_word = out.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '.');
        if let Some(after) = rest.strip_prefix("In [").filter(|_| !inside_word)
            && let Some(end) =
                after.find(']').filter(|end| after[..*end].chars().all(|c| c.is_ascii_digit() || c == ' '))
        {
            out.push_str("In [‹n›]");
            rest = &after[end + 1..];
            continue;
        }
        if let Some(after) = rest.strip_prefix("0x").filter(|_| !inside_word) {
            let digits = after.chars().take_while(char::is_ascii_hexdigit).count();
            if digits >= 6 {
                out.push_str("‹address›");
                rest = &after[digits..];
                continue;
            }
        }
        if c.is_ascii_digit() && !inside_word {
            let number = rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(rest.len());
            let after = &rest[number..];
            let unit = after.strip_prefix([' ', '\u{a0}']).unwrap_or(after);
            let word: String = unit.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if UNITS.contains(&word.as_str()) {
                out.push_str("‹time›");
                rest = &unit[word.len()..];
            } else {
                out.push_str(&rest[..number]);
                rest = after;
            }
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document(cells: Value) -> Document {
        Document::of(json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells }))
    }

    fn code(source: &str, count: Option<u64>, text: &str) -> Value {
        let outputs = match text {
            "" => json!([]),
            text => json!([{ "output_type": "execute_result", "execution_count": count, "metadata": {},
                "data": { "text/plain": [text] } }]),
        };
        json!({ "cell_type": "code", "source": source, "metadata": {}, "execution_count": count, "outputs": outputs })
    }

    fn check(stored: Value, fresh: Value, failed: Option<(usize, &str)>) -> (usize, usize, String) {
        let why = |index: usize| failed.filter(|(at, _)| *at == index).map(|(_, why)| why.to_string());
        let report = compare(&document(stored), &document(fresh), &why);
        (report.compared, report.different, report.lines.join("\n"))
    }

    #[test]
    fn what_differs_from_run_to_run_is_no_difference() {
        for (a, b) in [
            ("took 1.5 ms", "took 12 s"),
            ("at 0x7f00aa10", "at 0x55d0bb2000"),
            ("error in In [3]", "error in In [14]"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("10 %\r100 %", "100 %"),
            ("│ 9.1 ms  │", "│ 10.25 ms │"),
            ("compiled in 9 ms", "found compiled in 1.2 ms, ran in 2 ms"),
            (
                "wall 2 ms · processor 1 ms user, 0 ms system",
                "wall 2 s · processor 1 ms user, 0 ms system · session 10 ms",
            ),
            ("fnv 1.0.7\n1 crate in 145.3 s, once for all notebooks", "fnv 1.0.7"),
            ("rand 0.9.5\n12 crates in 9.0 s, once for all notebooks\nnote: x", "rand 0.9.5\nnote: x"),
            (
                "[the cell printed 3.1 MB more; they are in /a/output-7-cell_1.txt until the notebook is closed]",
                "[the cell printed 3.1 MB more; they are in /b/output-12-cell_1.txt until the notebook is closed]",
            ),
        ] {
            assert_eq!(settled(a), settled(b), "{a}");
        }
        for (a, b) in [
            ("1.5", "1.6"),
            ("0x10", "0x11"),
            ("x1 s", "x2 s"),
            ("2013-01-01", "2013-01-02"),
            ("5 m/s", "6 m/s"),
            ("5 crates in 2 rows", "6 crates in 2 rows"),
        ] {
            assert_ne!(settled(a), settled(b), "{a}");
        }
    }

    #[test]
    fn equal_outputs_follow_and_others_are_shown() {
        let cells = || json!([code("let x = 1;", Some(1), ""), code("x", Some(2), "1")]);
        assert_eq!(check(cells(), cells(), None), (2, 0, String::new()));
        let other = json!([code("let x = 1;", Some(1), ""), code("x", Some(2), "7")]);
        let (_, different, text) = check(other, cells(), None);
        assert_eq!(different, 1);
        assert_eq!(text, "cell 2 (In [2]) shows something else than what is stored\n  output, line 1:\n  - 7\n  + 1");
    }

    #[test]
    fn a_name_that_is_defined_below_is_explained() {
        let stored =
            json!([code("x + 1", Some(3), "2"), code("let y = 0;", Some(1), ""), code("let x = 1;", Some(2), "")]);
        let fresh =
            json!([code("x + 1", Some(1), ""), code("let y = 0;", Some(2), ""), code("let x = 1;", Some(3), "")]);
        let (_, different, text) = check(stored, fresh, Some((0, "cannot find value `x` in this scope")));
        assert_eq!(different, 1);
        assert!(text.contains("cell 1 (In [3]) fails: cannot find value `x`"), "{text}");
        assert!(text.contains("which is first defined in cell 3"), "{text}");
        assert!(text.contains("In [3] stands above In [1]"), "{text}");
    }

    #[test]
    fn without_stored_outputs_only_failures_count() {
        let cells = || json!([code("x", None, "")]);
        assert_eq!(check(cells(), json!([code("x", Some(1), "5")]), None), (0, 0, String::new()));
        let (compared, different, text) = check(cells(), cells(), Some((0, "cannot find value `x` in this scope")));
        assert_eq!((compared, different), (0, 1));
        assert!(text.contains("no cell defines `x`"), "{text}");
    }

    #[test]
    fn another_order_of_the_same_is_said() {
        let text = difference("output", "{\"a\": 1, \"b\": 2}", "{\"b\": 2, \"a\": 1}").join("\n");
        assert!(text.contains("`HashMap`"), "{text}");
    }
}
