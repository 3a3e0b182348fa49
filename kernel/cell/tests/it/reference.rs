//! `docs/reference` is written from the entries of the reference.
//! `ONRUSH_WRITE=1 cargo test -p onrush-cell --test it -- reference` writes it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use onrush_cell::reference::{FunctionEntry, FunctionKind, Placement, SECTIONS, elsewhere, entries, places};

const WIDTH: usize = 120;
/// The frames of the examples.
const FRAMES: &str = include_str!("../../data/reference/frames.sql");
const CITIES: &str = "\
let cities = frame! { city: [\"Berlin\", \"Paris\", \"Oslo\"], country: [\"DE\", \"FR\", \"NO\"], people: [3, 2, 1] };";

const INDEX: &str = "\
# Reference

Every method of frames, every function of expressions and of SQL, and the methods of the other types that cells use.
In a notebook `:help WORD` shows an entry, for a name of Onrush (`:help group_by`, `:help str.contains`) and for one
of pandas, Polars or SQL (`:help groupby`, `:help fillna`, `:help left join`). Shift-Tab shows it at the cursor.

The pages are written from the code, from the placements of plans ([what runs on the GPU](../gpu-coverage.md)) and
from the reviewed lists in `kernel/cell/data/reference`. Names of pandas are methods of `DataFrame` (frames) or
`Series` (expressions), those of Polars are methods of `DataFrame` or `Expr`, unless they say otherwise. A counterpart
has the same purpose; [semantics](../semantics.md) says where meanings differ.
";

/// Lines of at most [`WIDTH`] characters. The words of a code span stay together.
fn wrapped(text: &str) -> String {
    let (mut words, mut is_code) = (vec![String::new()], false);
    for c in text.chars() {
        is_code ^= c == '`';
        match (c, words.last_mut()) {
            (' ', _) if !is_code => words.push(String::new()),
            (c, Some(word)) => word.push(c),
            (_, None) => {}
        }
    }
    let (mut out, mut line) = (String::new(), String::new());
    for word in words.iter().filter(|word| !word.is_empty()) {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    out + &line + "\n"
}

/// A cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", cell(text)) }
}

/// Names elsewhere, and the devices.
fn facts(entry: &FunctionEntry) -> String {
    let place = entry.place.map(|place| format!("Runs on {}.", places(place)));
    let names = Some(elsewhere(entry, "`")).filter(|names| !names.is_empty()).map(|names| format!("In {names}."));
    let aliases: Vec<String> = entry.aliases.iter().map(|name| format!("`{name}`")).collect();
    let aliases = (!aliases.is_empty()).then(|| format!("Also {}.", aliases.join(", ")));
    [aliases, names, place].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn block(entry: &FunctionEntry) -> String {
    let mut out = format!("\n### `{}`\n{}", entry.name, wrapped(&entry.sentence));
    let _ = write!(out, "\n```rust\n{}\n", entry.signature);
    if !entry.example.is_empty() {
        let _ = write!(out, "\n{}\n", entry.statement());
    }
    out.push_str("```\n");
    let facts = facts(entry);
    if !facts.is_empty() {
        out.push_str(&wrapped(&facts));
    }
    out
}

fn of(kind: FunctionKind) -> impl Iterator<Item = &'static FunctionEntry> {
    entries().iter().filter(move |entry| entry.kind == kind)
}

fn frames_of_examples() -> String {
    let query = FRAMES.trim_end().replace('\n', "\n    ");
    format!("```rust\nlet f = sql(r#\"\n    {query}\n\"#);\n{CITIES}\n```\n")
}

fn frames() -> String {
    let mut out = "# Frames\n\nThe examples of all pages run on these frames:\n\n".to_string();
    out.push_str(&frames_of_examples());
    let parts = [
        (FunctionKind::Frame, "Methods of frames", "A method gives a new frame; the frame itself never changes."),
        (
            FunctionKind::Group,
            "Methods of groups",
            "`group_by`, `group_by_dynamic` and `resample` begin an aggregation.",
        ),
        (FunctionKind::Function, "Functions", "Readers, and functions that make or combine frames."),
    ];
    for (kind, title, about) in parts {
        let _ = write!(out, "\n## {title}\n{}", wrapped(about));
        of(kind).for_each(|entry| out.push_str(&block(entry)));
    }
    out
}

fn expressions() -> String {
    let about = "Functions and methods of `x!` and of `Expr`. The examples run on the frame `f` of [frames](frames.md). \
                 Arguments after `=` are options: `rank(method = \"dense\")`; those with `?` may be left out.";
    let mut out = format!("# Expressions\n\n{}", wrapped(about));
    let mut section = "";
    for entry in of(FunctionKind::Expression) {
        if entry.section != section {
            section = entry.section;
            let _ = write!(out, "\n## {section}\n");
        }
        out.push_str(&block(entry));
    }
    out
}

fn sql() -> String {
    let about = "Functions of `sql(\"…\")` and `%%sql`, under the names and with the meanings of DuckDB. The examples are \
                 expressions over the frame `f` of [frames](frames.md). An empty last column stands for what no plan says.";
    let mut out = format!("# SQL\n\n{}", wrapped(about));
    let mut section = "";
    for entry in of(FunctionKind::Sql) {
        if entry.section != section {
            section = entry.section;
            let _ = write!(out, "\n## {section}\n\n| function | does | example | runs on |\n|---|---|---|---|\n");
        }
        let names = std::iter::once(entry.name.as_str()).chain(entry.aliases.iter().copied());
        let names: Vec<String> = names.map(code).collect();
        let (does, example) = (cell(&entry.sentence), code(entry.example));
        let _ = writeln!(out, "| {} | {does} | {example} | {} |", names.join(", "), entry.place.map_or("", places));
    }
    out
}

fn objects() -> String {
    let about = "Methods of the other types that cells use. Plots are described in [plots](../plots.md), graphs in \
                 [graphs](../graphs.md), models and their parameters in [models](../models.md).";
    let mut out = format!("# Other types\n\n{}", wrapped(about));
    let table = "\n| method | does |\n|---|---|\n";
    for (section, owners) in SECTIONS {
        let _ = write!(out, "\n## {section}\n");
        for owner in *owners {
            let _ = write!(out, "\n### `{owner}`\n{table}");
            for entry in of(FunctionKind::Object).filter(|entry| entry.owner == *owner) {
                let _ = writeln!(out, "| {} | {} |", code(&entry.signature), cell(&entry.sentence));
            }
        }
    }
    let _ = write!(out, "\n## Functions\n{table}");
    for entry in of(FunctionKind::Object).filter(|entry| entry.owner.is_empty()) {
        let _ = writeln!(out, "| {} | {} |", code(&entry.signature), cell(&entry.sentence));
    }
    out
}

fn index() -> String {
    let mut out = INDEX.to_string();
    out.push_str("\n| page | entries | with an example | on the GPU |\n|---|---|---|---|\n");
    let pages: [(&str, &str, &[FunctionKind]); 4] = [
        ("frames.md", "Frames", &[FunctionKind::Frame, FunctionKind::Group, FunctionKind::Function]),
        ("expressions.md", "Expressions", &[FunctionKind::Expression]),
        ("sql.md", "SQL", &[FunctionKind::Sql]),
        ("objects.md", "Other types", &[FunctionKind::Object]),
    ];
    for (file, title, kinds) in pages {
        let all: Vec<&FunctionEntry> = entries().iter().filter(|entry| kinds.contains(&entry.kind)).collect();
        let examples = all.iter().filter(|entry| !entry.example.is_empty()).count();
        let gpu = all.iter().filter(|entry| matches!(entry.place, Some(Placement::Gpu | Placement::Partly))).count();
        let number = |n: usize| if n == 0 { String::new() } else { n.to_string() };
        let _ = writeln!(out, "| [{title}]({file}) | {} | {} | {} |", all.len(), number(examples), number(gpu));
    }
    out
}

#[test]
fn the_pages_of_the_reference_are_those_of_the_entries() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let pages = [
        ("README.md", index()),
        ("frames.md", frames()),
        ("expressions.md", expressions()),
        ("sql.md", sql()),
        ("objects.md", objects()),
    ];
    if std::env::var_os("ONRUSH_WRITE").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        pages.iter().for_each(|(name, text)| std::fs::write(folder.join(name), text).unwrap());
    }
    for (name, text) in pages {
        let found = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert!(found == text, "docs/reference/{name} differs from the entries: ONRUSH_WRITE=1 writes it");
    }
}

/// Two entries of a page with one heading would have one anchor.
#[test]
fn headings_of_a_kind_are_unique() {
    let mut seen: BTreeMap<(FunctionKind, String), usize> = BTreeMap::new();
    for entry in entries() {
        *seen.entry((entry.kind, entry.title())).or_default() += 1;
    }
    let twice: Vec<_> = seen.into_iter().filter(|(_, count)| *count > 1).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
