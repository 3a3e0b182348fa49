//! An entry as text for a terminal, and what inspection adds to a documentation.

use std::fmt::Write;

use super::{FunctionEntry, FunctionKind, Placement};

const WIDTH: usize = 80;

/// `pandas groupby; Polars group_by; SQL GROUP BY`. `mark` surrounds each name.
pub fn elsewhere(entry: &FunctionEntry, mark: &str) -> String {
    let of = |library: &str, names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("{mark}{name}{mark}")).collect();
        (!names.is_empty()).then(|| format!("{library} {}", names.join(", ")))
    };
    let all = [of("pandas", &entry.pandas), of("Polars", &entry.polars), of("SQL", &entry.sql)];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The devices that run it.
pub fn places(place: Placement) -> &'static str {
    match place {
        Placement::Cpu => "CPU",
        Placement::Gpu => "CPU and GPU",
        Placement::Partly => "CPU; some forms also GPU",
    }
}

/// Lines of at most [`WIDTH`] columns, the first one after `first`, the others after `indent`.
fn wrapped(text: &str, first: &str, indent: &str) -> String {
    let mut out = String::new();
    let mut line = first.to_string();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        // A word that is wider than a line is cut.
        let mut word: Vec<char> = word.chars().collect();
        while !word.is_empty() {
            let space = usize::from(!is_empty);
            let free = WIDTH.saturating_sub(line.chars().count() + space);
            if word.len() <= free {
                line.extend(std::iter::repeat_n(' ', space));
                line.extend(word.drain(..));
                is_empty = false;
            } else if is_empty {
                line.extend(word.drain(..free.max(1)));
                is_empty = false;
            } else {
                let _ = writeln!(out, "{line}");
                line = indent.to_string();
                is_empty = true;
            }
        }
    }
    out + &line + "\n"
}

/// The kind in a title.
fn kind(entry: &FunctionEntry) -> String {
    match entry.kind {
        FunctionKind::Frame | FunctionKind::Group | FunctionKind::Object if !entry.owner.is_empty() => String::new(),
        FunctionKind::Expression => " (expression)".to_string(),
        FunctionKind::Sql => " (SQL)".to_string(),
        _ => " (function)".to_string(),
    }
}

/// The entry for a terminal.
pub fn plain(entry: &FunctionEntry) -> String {
    let mut text = format!("{}{}\n", entry.title(), kind(entry));
    if !entry.signature.is_empty() {
        text.push_str(&wrapped(&entry.signature, "  ", "      "));
    }
    text.push_str(&wrapped(&entry.sentence, "  ", "  "));
    let mut row = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&wrapped(value, &format!("  {name:<10} "), "             "));
        }
    };
    row("example", &entry.statement());
    row("elsewhere", &elsewhere(entry, ""));
    row("also", &entry.aliases.join(", "));
    row("runs on", entry.place.map_or("", places));
    text
}

/// One line of a list.
pub fn brief(entry: &FunctionEntry) -> String {
    let line = format!("  {:<28} {}", format!("{}{}", entry.title(), kind(entry)), entry.sentence);
    match line.chars().count() > WIDTH {
        true => line.chars().take(WIDTH - 1).chain("…\n".chars()).collect(),
        false => line + "\n",
    }
}

/// The text below a documentation in inspection: example, other names and place.
pub fn footer(entry: &FunctionEntry) -> String {
    let mut text = String::new();
    if !entry.example.is_empty() {
        let language = if entry.kind == FunctionKind::Sql { "sql" } else { "rust" };
        let _ = write!(text, "\n```{language}\n{}\n```\n", entry.statement());
    }
    let place = entry.place.map(|place| format!("runs on {}", places(place)));
    let facts: Vec<String> =
        [elsewhere(entry, "`")].into_iter().filter(|names| !names.is_empty()).chain(place).collect();
    if !facts.is_empty() {
        let _ = write!(text, "\n*{}*\n", facts.join("; "));
    }
    text
}

/// The entry as inspection shows it where the prelude has no documentation: functions of `x!` and of SQL.
pub fn markdown(entry: &FunctionEntry) -> String {
    let head = if entry.signature.is_empty() { &entry.name } else { &entry.signature };
    format!("```rust\n{head}\n```\n\n{}\n{}", entry.sentence, footer(entry))
}
