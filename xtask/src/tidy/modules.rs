//! The order of modules inside large crates, as data: a module imports only those before it in the list. Crates themselves are in `edges`.

use std::path::Path;

use super::{Finding, Tree, finding};

/// The modules of one folder, from the lowest to the highest.
struct Layers {
    folder: &'static str,
    order: &'static [&'static str],
    /// Names of the folder's root that every module may use.
    root: &'static [&'static str],
    /// Imports against the order that stand today: the file and the module that it imports. The list only shrinks.
    exceptions: &'static [(&'static str, &'static str)],
}

const LAYERS: &[Layers] = &[
    Layers {
        folder: "kernel/cell/src",
        order: &[
            // What front ends see, and the operating system.
            "interface",
            "procfs",
            "interrupt",
            "disk_full",
            // Text, types and crates of Rust.
            "lexer",
            "source_map",
            "index",
            "reference",
            "types",
            "toolchain",
            "linker",
            "prelude_build",
            "deps",
            // The parser, and what earlier cells left behind.
            "parse",
            "cuda",
            "commands",
            "notebook",
            "unchanged_items",
            // From a cell to a shared object.
            "generate",
            "recompile_dependents",
            "hints",
            "rustc",
            "compile",
            "reopen_crate",
            // The cell process.
            "process",
            "shell",
            "backtrace",
            // What is asked about cells.
            "stale",
            "parameters",
            "type_query",
            "completion_snapshot",
            "complete",
            "export",
            "executor",
        ],
        root: &[],
        exceptions: &[],
    },
    Layers {
        folder: "runtime/ops/src",
        order: &["ir", "launch", "column", "pipeline", "codegen", "operators", "exec"],
        root: &["Error", "Result"],
        exceptions: &[],
    },
];

pub fn module_order(tree: &Tree) -> Vec<Finding> {
    LAYERS.iter().flat_map(|layers| check(layers, tree.sources.iter().map(|file| (&*file.path, &*file.text)))).collect()
}

fn check<'a>(layers: &Layers, files: impl Iterator<Item = (&'a Path, &'a str)>) -> Vec<Finding> {
    let (mut findings, mut standing) = (Vec::new(), Vec::new());
    for (path, text) in files {
        let Ok(inside) = path.strip_prefix(layers.folder) else { continue };
        let inside = inside.display().to_string();
        let Some(module) = inside.strip_suffix(".rs").filter(|module| *module != "lib" && *module != "main") else {
            continue;
        };
        let (top, depth) = (module.split('/').next().unwrap_or_default(), module.split('/').count());
        let place = |line: usize| format!("{}:{line}", path.display());
        let Some(own) = layers.order.iter().position(|name| *name == top) else {
            let message = format!("the module `{top}` has no place in the order of xtask/src/tidy/modules.rs");
            findings.push(finding("module-order", place(1), message));
            continue;
        };
        for (line, name) in imports(text, depth) {
            let other = layers.order.iter().position(|module| *module == name);
            let message = match other {
                Some(other) if other <= own => continue,
                Some(_) if layers.exceptions.contains(&(&inside, &name)) => {
                    standing.push((inside.clone(), name));
                    continue;
                }
                Some(_) => format!("`{top}` must not import `{name}`, which stands above it in the order of modules"),
                None if layers.root.contains(&&*name) => continue,
                None => format!("import `{name}` from its module, so that the order of modules can be checked"),
            };
            findings.push(finding("module-order", place(line), message));
        }
    }
    let is_gone = |(file, name): &&(&str, &str)| !standing.iter().any(|(f, n)| f == file && n == name);
    for (file, name) in layers.exceptions.iter().filter(is_gone) {
        let message = format!("`{file}` no longer imports `{name}`: take the exception out");
        findings.push(finding("module-order", "xtask/src/tidy/modules.rs", message));
    }
    findings
}

/// What a file names at the root of its folder, with lines: `crate::a::B`, `use crate::{a, b::C}`, and the same with as many `super` as the
/// module is deep. Comments and strings do not count.
fn imports(text: &str, depth: usize) -> Vec<(usize, String)> {
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let code = without_strings(line);
        let code = code.split("//").next().unwrap_or_default();
        for start in ["crate::", &up] {
            for (place, _) in code.match_indices(start) {
                let before = code[..place].chars().next_back();
                if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                let rest = &text[at + place + start.len()..];
                let names = match rest.strip_prefix('{') {
                    Some(group) => top_names(group),
                    None => {
                        rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).take(1).map(String::from).collect()
                    }
                };
                found.extend(
                    names.into_iter().filter(|name| !name.is_empty() && name != "super").map(|n| (number + 1, n)),
                );
            }
        }
        at += line.len();
    }
    found
}

/// The line with spaces in its strings, so that every byte stays in its place.
fn without_strings(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let (mut in_string, mut is_escaped) = (false, false);
    for c in line.replace("'\"'", "   ").chars() {
        let is_quote = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped && in_string;
        if in_string && !is_quote && c != '\n' {
            out.extend(std::iter::repeat_n(' ', c.len_utf8()));
        } else {
            out.push(c);
        }
        in_string ^= is_quote;
    }
    out
}

/// The first names of the paths in a group of imports, up to its closing brace.
fn top_names(group: &str) -> Vec<String> {
    let (mut depth, mut names, mut name, mut is_first) = (0, Vec::new(), String::new(), true);
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(std::mem::take(&mut name));
                is_first = true;
            }
            c if depth == 0 && is_first && (c.is_alphanumeric() || c == '_') => name.push(c),
            c if !c.is_whitespace() => is_first = false,
            _ => {}
        }
    }
    names.push(name);
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: Layers = Layers {
        folder: "runtime/x/src",
        order: &["low", "middle", "high"],
        root: &["Error"],
        exceptions: &[("low.rs", "high")],
    };

    fn messages(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| (Path::new(*path), *text));
        check(&LAYERS, files).into_iter().map(|finding| format!("{}: {}", finding.place, finding.message)).collect()
    }

    /// The import that the exception of the tests stands for.
    const STANDING: (&str, &str) = ("runtime/x/src/low.rs", "use crate::high::Thing;\n");

    #[test]
    fn imports_of_lower_modules_pass() {
        let high =
            "//! High.\nuse crate::{Error, low, middle::{self, crate_like}};\nuse super::low::A; // crate::nothing\n";
        assert_eq!(
            messages(&[STANDING, ("runtime/x/src/high.rs", high), ("runtime/x/src/lib.rs", "use crate::any;")]),
            [""; 0]
        );
    }

    #[test]
    fn imports_of_higher_modules_are_refused() {
        let found = messages(&[
            STANDING,
            ("runtime/x/src/middle/part.rs", "//! Part.\n\nuse crate::{\n    Error,\n    high::A,\n};\n"),
            ("runtime/x/src/middle.rs", "fn f() { super::high::g() }\n"),
            ("runtime/x/src/low/a.rs", "use super::super::middle;\nuse super::middle;\nuse crate::Thing;\n"),
            ("runtime/x/src/other.rs", "\n"),
        ]);
        let above = "which stands above it in the order of modules";
        assert_eq!(
            found,
            [
                format!("runtime/x/src/middle/part.rs:3: `middle` must not import `high`, {above}"),
                format!("runtime/x/src/middle.rs:1: `middle` must not import `high`, {above}"),
                format!("runtime/x/src/low/a.rs:1: `low` must not import `middle`, {above}"),
                "runtime/x/src/low/a.rs:3: import `Thing` from its module, so that the order of modules can be checked"
                    .to_string(),
                "runtime/x/src/other.rs:1: the module `other` has no place in the order of xtask/src/tidy/modules.rs"
                    .to_string(),
            ]
        );
    }

    #[test]
    fn strings_are_not_imports() {
        let text = "fn f() { g(\"ü \\\"use crate::high::A;\", crate::low::b(), \"use crate::{x};\") }\n";
        assert_eq!(messages(&[STANDING, ("runtime/x/src/middle.rs", text)]), [""; 0]);
    }

    /// Every name has one place, and the folder exists.
    #[test]
    fn the_orders_of_the_workspace_are_lists_of_modules() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for layers in super::LAYERS {
            for (place, module) in layers.order.iter().enumerate() {
                assert!(!layers.order[..place].contains(module), "{module} stands twice");
                let file = root.join(layers.folder).join(format!("{module}.rs"));
                assert!(file.is_file(), "{} is not a file", file.display());
            }
        }
    }

    #[test]
    fn exceptions_that_no_longer_stand_are_refused() {
        let found = messages(&[("runtime/x/src/low.rs", "use crate::Error;\n")]);
        assert_eq!(found, ["xtask/src/tidy/modules.rs: `low.rs` no longer imports `high`: take the exception out"]);
    }
}
