//! `docs/graphs.md` is written from the table of algorithms.
//! `ONRUSH_WRITE=1 cargo test -p onrush-wire --test it -- graphs_page` writes it.

use std::fmt::Write as _;
use std::path::PathBuf;

use onrush_wire::graph::{GraphResult, table};

fn page() -> String {
    let mut out = include_str!("../../../../docs/graphs-intro.md").to_string();
    out.push_str("\n## Algorithms\n");
    for algorithm in table() {
        let arguments: Vec<&str> = algorithm.params.iter().filter(|p| p.is_argument()).map(|p| p.name).collect();
        let result = match algorithm.result {
            GraphResult::Frame => "a frame",
            GraphResult::Float | GraphResult::Int => "a number",
            GraphResult::Bool => "true or false",
        };
        let _ = write!(out, "\n### {}({})\n", algorithm.name, arguments.join(", "));
        out.push_str(&wrapped(&format!("{}. Gives {result}.", sentence(algorithm.doc)), ""));
        let options: Vec<_> = algorithm.params.iter().filter(|p| !p.is_argument()).collect();
        if let (Some(method), Some(first)) = (algorithm.with_options, options.first()) {
            let call = format!("Options: `g.{method}({}).{}(...).value()`.", arguments.join(", "), first.name);
            out.push_str(&wrapped(&call, ""));
        }
        if !options.is_empty() {
            out.push('\n');
        }
        for option in options {
            let line = format!("- `{}` (default {}): {}.", option.name, option.default, sentence(option.doc));
            out.push_str(&wrapped(&line, "  "));
        }
    }
    out
}

/// Lines of at most 120 characters, further ones indented.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].chars().count() + 1 + word.chars().count() > 120 {
            lines.push(format!("{indent}{word}"));
        } else {
            let line = &mut lines[last];
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n") + "\n"
}

fn sentence(doc: &str) -> &str {
    doc.trim().trim_end_matches('.')
}

#[test]
fn the_page_of_graphs_is_that_of_the_table() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/graphs.md");
    let wanted = page();
    if std::env::var_os("ONRUSH_WRITE").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "docs/graphs.md differs from the table: ONRUSH_WRITE=1 writes it");
    assert!(wanted.lines().all(|line| line.chars().count() <= 120));
}

#[test]
fn every_algorithm_is_documented_once() {
    let mut names: Vec<&str> = table().iter().map(|a| a.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count, "a name occurs twice");
    for algorithm in table() {
        assert!(!algorithm.doc.trim().is_empty(), "{}", algorithm.name);
        let has_options = algorithm.params.iter().any(|param| !param.is_argument());
        let is_value = algorithm.result != GraphResult::Frame;
        assert_eq!(algorithm.with_options.is_some(), is_value && has_options, "{}", algorithm.name);
    }
}
