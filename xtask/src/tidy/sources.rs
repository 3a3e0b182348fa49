//! Rules about single files: their opening, length and contents.

use std::path::Path;

use super::{Finding, SourceFile, Tree, finding};

/// A longer file is usually two ideas.
const MAX_LINES: usize = 800;

/// Catalogues of independent items may be longer. Path and reason.
const LONG: &[(&str, &str)] = &[];

/// Places with `unsafe`, by the start of the path, and the reason. The guarantees of the compiler hold everywhere
/// else.
const UNSAFE: &[(&str, &str)] = &[
    ("runtime/device/", "the CUDA driver, NVRTC, memory of devices, and kernels that are loaded into this process"),
    ("kernels/src/", "launches: the arguments are what the kernel takes"),
    ("runtime/ops/src/launch.rs", "launches of generated kernels: parameters and arguments are declared side by side"),
    ("runtime/worker/src/launch.rs", "launches of users' kernels, in the process that is there for them"),
    ("runtime/learn/src/foreign/xgboost/ffi.rs", "the C interface of XGBoost's library"),
    (
        "runtime/databases/src/adbc",
        "the C interfaces of ADBC and of Arrow's data, in the process that is there for a driver",
    ),
    (
        "runtime/expr/src/code_address.rs",
        "addresses of kernels' bodies that plans bring from a process of the same executable",
    ),
    ("runtime/frame/src/mapping.rs", "the mapping of tables on disk"),
    ("kernel/host/", "fork, dlopen and descriptors of the cell process"),
    ("kernel/onrush/src/host", "locks in variables whose holder is gone"),
    ("kernel/onrush/src/process", "fork and descriptors of the cell process, addresses of calls"),
    ("kernel/onrush/src/session/memory.rs", "the mapping of results in shared memory"),
    ("kernel/cell/src/process", "descriptors of a cell process that is started, and its limits"),
    ("kernel/python-cells/src/worker.rs", "the descriptor and the death signal of a Python that is started"),
    ("kernel/cell/src/procfs.rs", "signals to processes and process groups"),
    ("kernel/cell/src/prelude_build.rs", "the lock of the folder of kits"),
    ("kernel/cell/src/index/crates.rs", "whether cargo's folder can be written to"),
];

/// Code that writes Rust code: the word is in the generated text.
const WRITES_UNSAFE: &[&str] = &["kernel/cell/src/generate", "kernel/cell/tests/it/deps.rs", "xtask/src/tidy/"];

/// File names that say nothing.
const EMPTY_NAMES: &[&str] = &["utils", "util", "common", "base", "helpers", "misc"];

fn rust(tree: &Tree) -> impl Iterator<Item = &SourceFile> {
    tree.sources.iter().filter(|file| file.is("rs"))
}

pub fn module_docs(tree: &Tree) -> Vec<Finding> {
    rust(tree)
        .filter(|file| !opens_with_docs(&file.text))
        .map(|file| {
            finding(
                "module-docs",
                file.place(1),
                "the file does not open with `//!`: say what it is, and what it is not",
            )
        })
        .collect()
}

fn opens_with_docs(text: &str) -> bool {
    text.lines().next().is_some_and(|line| line.starts_with("//! ") && line.len() > 8)
}

pub fn file_size(tree: &Tree) -> Vec<Finding> {
    rust(tree)
        .filter_map(|file| {
            let lines = file.text.lines().count();
            let exempt = LONG.iter().any(|(path, _)| Path::new(path) == file.path);
            (lines > MAX_LINES && !exempt).then(|| {
                let message = format!("{lines} lines, and the limit is {MAX_LINES}: this is two ideas, or an entry in xtask/src/tidy/sources.rs");
                finding("file-size", file.place(lines), message)
            })
        })
        .collect()
}

pub fn no_mod_rs(tree: &Tree) -> Vec<Finding> {
    rust(tree)
        .filter(|file| file.path.file_name().is_some_and(|name| name == "mod.rs"))
        .map(|file| finding("no-mod-rs", file.place(1), "a module `foo` is `foo.rs` next to `foo/`"))
        .collect()
}

pub fn file_names(tree: &Tree) -> Vec<Finding> {
    rust(tree)
        .filter_map(|file| {
            let stem = file.path.file_stem()?.to_str()?;
            let empty = EMPTY_NAMES.contains(&stem) || stem.ends_with("_v2") || stem.ends_with("_new");
            empty.then(|| finding("file-names", file.place(1), format!("`{stem}` says nothing about what is in it")))
        })
        .collect()
}

pub fn unsafe_code(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in rust(tree) {
        let path = file.path.to_string_lossy();
        if WRITES_UNSAFE.iter().any(|start| path.starts_with(start)) {
            continue;
        }
        let allowed = UNSAFE.iter().any(|(start, _)| path.starts_with(start));
        let lines: Vec<&str> = file.text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            if !has_unsafe(line) {
                continue;
            }
            if !allowed {
                let message = "`unsafe` outside of the places that xtask/src/tidy/sources.rs lists with their reasons";
                findings.push(finding("unsafe", file.place(index + 1), message));
            } else if is_unsafe_block(line) && !has_safety_comment(&lines[..=index]) {
                findings.push(finding(
                    "unsafe",
                    file.place(index + 1),
                    "no `// SAFETY:` comment argues for this block",
                ));
            }
        }
    }
    findings
}

/// Whether a line of code has the keyword: not in a comment, a string or an attribute such as `unsafe(no_mangle)`.
fn has_unsafe(line: &str) -> bool {
    let code = without_strings(line);
    let code = code.split("//").next().unwrap_or_default();
    code.match_indices("unsafe").any(|(at, word)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].trim_start();
        before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
            && ["{", "fn ", "impl", "extern", "trait"].iter().any(|next| after.starts_with(next))
    })
}

fn is_unsafe_block(line: &str) -> bool {
    line.match_indices("unsafe").any(|(at, word)| line[at + word.len()..].trim_start().starts_with('{'))
}

/// On the line itself or above it, past other lines of the same statement, at most six lines away.
fn has_safety_comment(lines: &[&str]) -> bool {
    lines.iter().rev().take(7).any(|line| line.contains("SAFETY:"))
}

fn without_strings(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut in_string = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if in_string => {
                chars.next();
            }
            '"' => in_string = !in_string,
            _ if in_string => {}
            _ => out.push(c),
        }
    }
    out
}

/// Paths of one developer's machine.
pub fn machine_paths(tree: &Tree) -> Vec<Finding> {
    // In pieces, so that this file does not find itself.
    let patterns = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("file:", "///home")];
    let mut findings = Vec::new();
    for file in &tree.sources {
        for (index, line) in file.text.lines().enumerate() {
            for pattern in patterns.iter().filter(|pattern| line.contains(**pattern)) {
                findings.push(finding(
                    "machine-paths",
                    file.place(index + 1),
                    format!("`{pattern}` exists on one machine only"),
                ));
            }
        }
    }
    findings
}

/// Code that must not be committed: it panics, or it is a test that never runs.
pub fn unfinished(tree: &Tree) -> Vec<Finding> {
    let patterns =
        [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("dbg", "!("), concat!("#[ig", "nore")];
    let mut findings = Vec::new();
    for file in rust(tree) {
        for (index, line) in file.text.lines().enumerate() {
            let code = without_strings(line);
            let code = code.split("//").next().unwrap_or_default();
            for pattern in patterns.iter().filter(|pattern| code.contains(**pattern)) {
                findings.push(finding("unfinished", file.place(index + 1), format!("`{pattern}` is left in the code")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsafe_is_found_in_code_and_nowhere_else() {
        for line in ["unsafe { f() }", "    let x = unsafe{ *p };", "pub unsafe fn f() {}", "unsafe impl Send for X {}"]
        {
            assert!(has_unsafe(line), "{line}");
        }
        for line in
            ["// unsafe { }", "let s = \"unsafe { }\";", "#[unsafe(no_mangle)]", "let not_unsafe = 1;", "//! unsafe fn"]
        {
            assert!(!has_unsafe(line), "{line}");
        }
    }

    #[test]
    fn a_block_needs_its_argument_close_by() {
        assert!(has_safety_comment(&["// SAFETY: the pointer is ours", "let x = unsafe { *p };"]));
        assert!(!has_safety_comment(&["// the pointer is ours", "let x = unsafe { *p };"]));
    }

    #[test]
    fn an_opening_needs_words() {
        assert!(opens_with_docs("//! What this is.\n"));
        assert!(!opens_with_docs("use std::io;\n"));
        assert!(!opens_with_docs("//!\n"));
    }
}
