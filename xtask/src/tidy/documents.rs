//! Rules about documents: required files, width of lines, and that every named path exists.

use std::path::{Path, PathBuf};

use super::{Finding, SourceFile, Tree, finding};

const REQUIRED: &[&str] = &[
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "STYLE.md",
    "clippy.toml",
    "deny.toml",
    "rust-toolchain.toml",
];

pub fn required(tree: &Tree) -> Vec<Finding> {
    REQUIRED
        .iter()
        .filter(|path| !tree.root.join(path).is_file())
        .map(|path| finding("documents", *path, "the file is missing"))
        .collect()
}

/// The paths that a document names in backticks or links to. Paths under a top-level folder and names of root documents
/// count; the rest in backticks is code.
pub fn paths_exist(tree: &Tree) -> Vec<Finding> {
    let folders: Vec<&str> = top_folders(tree);
    let mut findings = Vec::new();
    for file in tree.sources.iter().filter(|file| file.is("md")) {
        let folder = file.path.parent().unwrap_or(Path::new(""));
        for (line, name) in named_paths(file, &folders) {
            let exists = [PathBuf::from(&name), folder.join(&name)].iter().any(|path| tree.root.join(path).exists());
            if !exists {
                findings.push(finding("document-paths", file.place(line), format!("`{name}` does not exist")));
            }
        }
    }
    findings
}

/// Columns of a line of Markdown, as of code (`rustfmt.toml`).
const MAX_WIDTH: usize = 120;

/// Rows of tables and lines of code blocks cannot be wrapped.
pub fn width(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.sources.iter().filter(|file| file.is("md")) {
        for (line, columns) in wide_lines(&file.text) {
            let message = format!("{columns} columns, and the limit is {MAX_WIDTH}: wrap the line");
            findings.push(finding("document-width", file.place(line), message));
        }
    }
    findings
}

/// Number and columns of each line that is too wide.
fn wide_lines(text: &str) -> Vec<(usize, usize)> {
    let mut in_block = false;
    let lines = text.lines().enumerate().filter_map(|(index, line)| {
        let start = line.trim_start();
        in_block ^= start.starts_with("```");
        let columns = line.chars().count();
        (columns > MAX_WIDTH && !in_block && !start.starts_with('|')).then_some((index + 1, columns))
    });
    lines.collect()
}

/// The map in ARCHITECTURE.md has every crate.
pub fn map_is_complete(tree: &Tree) -> Vec<Finding> {
    let Some(map) = tree.sources.iter().find(|file| file.path == Path::new("ARCHITECTURE.md")) else {
        return Vec::new();
    };
    let folders = tree.packages.iter().filter_map(|package| package.folder(&tree.root));
    folders
        .filter(|folder| !map.text.contains(&format!("`{folder}`")))
        .map(|folder| finding("code-map", "ARCHITECTURE.md", format!("the code map lacks the crate in `{folder}`")))
        .collect()
}

fn top_folders(tree: &Tree) -> Vec<&str> {
    let mut folders: Vec<&str> = tree
        .paths
        .iter()
        .filter(|path| path.components().count() > 1)
        .filter_map(|path| path.components().next()?.as_os_str().to_str())
        .collect();
    // `kernels/` comes with the first CUDA kernel; a document that names it before that is wrong.
    folders.push("kernels");
    folders.sort_unstable();
    folders.dedup();
    folders
}

fn named_paths(file: &SourceFile, folders: &[&str]) -> Vec<(usize, String)> {
    let mut names = Vec::new();
    let mut in_block = false;
    for (index, line) in file.text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        if in_block {
            continue;
        }
        for piece in line.split('`').skip(1).step_by(2) {
            let piece = piece.split(':').next().unwrap_or_default();
            if is_path(piece, folders) {
                names.push((index + 1, piece.to_string()));
            }
        }
        for link in line.split("](").skip(1) {
            let target = link.split([')', '#', ' ']).next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                names.push((index + 1, target.to_string()));
            }
        }
    }
    names
}

fn is_path(text: &str, folders: &[&str]) -> bool {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
    let inside = text.split_once('/').is_some_and(|(first, _)| folders.contains(&first));
    let document = !text.contains('/') && text.ends_with(".md");
    plain && (inside || document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_wide_is_found_outside_of_tables_and_code() {
        let wide = "é".repeat(MAX_WIDTH + 1);
        let text = format!("{}\n{wide}\n| {wide} |\n```\n{wide}\n```\n{wide}\n", "é".repeat(MAX_WIDTH));
        assert_eq!(wide_lines(&text), [(2, MAX_WIDTH + 1), (7, MAX_WIDTH + 1)]);
    }

    #[test]
    fn paths_are_told_from_code() {
        let text = "See `kernel/wire` and `x.str.len` and [the style](STYLE.md#names), `kernel/none.rs:12`.\n```\n`kernel/block`\n```\n";
        let file = SourceFile { path: "README.md".into(), text: text.into() };
        let names: Vec<String> = named_paths(&file, &["kernel"]).into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["kernel/wire", "kernel/none.rs", "STYLE.md"]);
    }
}
