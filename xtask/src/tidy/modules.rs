//! The order of modules inside a crate: a module imports only those before it in the list of `module_layers`. Crates
//! themselves are in `edges`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::module_layers::{LAYERS, Layers};
use super::{Finding, Tree, finding};

/// A crate with more modules has an order.
const MAX_UNORDERED: usize = 3;

pub fn module_order(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = LAYERS.iter().flat_map(|layers| check(layers, files(tree))).collect();
    findings.extend(tree.source_folders().iter().filter_map(|folder| without_order(folder, files(tree))));
    findings
}

/// The imports of a folder that run against the order of its modules.
pub struct Order {
    /// From the lowest to the highest.
    pub modules: Vec<String>,
    pub backward: usize,
    /// Whether `LAYERS` has the order; otherwise it is the best that was found.
    pub is_listed: bool,
}

/// The listed order of a folder, or the best that was found.
pub fn order(tree: &Tree, folder: &str) -> Order {
    let (all, pairs) = pairs(folder, files(tree));
    let listed = LAYERS.iter().find(|layers| layers.folder == folder);
    let modules = match listed {
        Some(layers) => layers.order.iter().map(ToString::to_string).collect(),
        None => best_order(all, &pairs),
    };
    let backward = backward(&modules, &pairs);
    Order { modules, backward, is_listed: listed.is_some() }
}

fn files(tree: &Tree) -> impl Iterator<Item = (&Path, &str)> {
    tree.sources.iter().map(|file| (&*file.path, &*file.text))
}

/// The name of a module of a folder, such as `codegen/group`. The root of the crate, its binaries and its prelude, which
/// lists names of the root, are not modules.
fn module<'a>(folder: &str, path: &'a Path) -> Option<&'a str> {
    let module = path.strip_prefix(folder).ok()?.to_str()?.strip_suffix(".rs")?;
    (!matches!(module, "lib" | "main" | "prelude") && !module.starts_with("bin/")).then_some(module)
}

/// The topmost part of a module's name, and its depth.
fn top(module: &str) -> (&str, usize) {
    (module.split('/').next().unwrap_or_default(), module.split('/').count())
}

fn without_order<'a>(folder: &str, files: impl Iterator<Item = (&'a Path, &'a str)>) -> Option<Finding> {
    let modules: BTreeSet<&str> = files.filter_map(|(path, _)| Some(top(module(folder, path)?).0)).collect();
    let is_listed = LAYERS.iter().any(|layers| layers.folder == folder);
    (modules.len() > MAX_UNORDERED && !is_listed).then(|| {
        let message = format!(
            "{} modules and no order: add one to xtask/src/tidy/module_layers.rs; `cargo xtask tidy --counts` prints it",
            modules.len()
        );
        finding("module-order", folder, message)
    })
}

/// How many files of the first module import the second one.
type Pairs = BTreeMap<(String, String), usize>;

/// The topmost modules of a folder, and the imports between them.
fn pairs<'a>(folder: &str, files: impl Iterator<Item = (&'a Path, &'a str)>) -> (BTreeSet<String>, Pairs) {
    let mut modules = BTreeSet::new();
    let mut imported = Vec::new();
    for (path, text) in files {
        let Some(module) = module(folder, path) else { continue };
        let (own, depth) = top(module);
        modules.insert(own.to_string());
        let names: BTreeSet<String> = imports(text, depth).into_iter().map(|(_, name)| name).collect();
        imported.extend(names.into_iter().filter(|name| name != own).map(|name| (own.to_string(), name)));
    }
    let mut pairs = Pairs::new();
    for pair in imported.into_iter().filter(|(_, name)| modules.contains(name)) {
        *pairs.entry(pair).or_default() += 1;
    }
    (modules, pairs)
}

/// The imports against an order, each counted once for a file.
fn backward(order: &[String], pairs: &Pairs) -> usize {
    let place = |name: &String| order.iter().position(|other| other == name);
    pairs.iter().filter(|((own, name), _)| place(name) > place(own)).map(|(_, count)| count).sum()
}

/// An order with few imports against it, and without any if there are no circles: after each other the modules that
/// import the fewest of the rest. Then modules are moved one at a time as long as that helps.
fn best_order(mut modules: BTreeSet<String>, pairs: &Pairs) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    loop {
        let missing = |own: &String| -> usize {
            let of_own = pairs.iter().filter(|((module, name), _)| module == own && modules.contains(name));
            of_own.map(|(_, count)| count).sum()
        };
        let Some(next) = modules.iter().min_by_key(|module| missing(module)).cloned() else { break };
        modules.remove(&next);
        order.push(next);
    }
    let mut least = backward(&order, pairs);
    while least > 0 {
        let before = least;
        for module in order.clone() {
            let rest: Vec<String> = order.iter().filter(|other| **other != module).cloned().collect();
            for place in 0..=rest.len() {
                let mut moved = rest.clone();
                moved.insert(place, module.clone());
                let count = backward(&moved, pairs);
                if count < least {
                    (order, least) = (moved, count);
                }
            }
        }
        if least == before {
            break;
        }
    }
    order
}

fn check<'a>(layers: &Layers, files: impl Iterator<Item = (&'a Path, &'a str)>) -> Vec<Finding> {
    let (mut findings, mut standing) = (Vec::new(), Vec::new());
    for (path, text) in files {
        let Some(module) = module(layers.folder, path) else { continue };
        let inside = format!("{module}.rs");
        let (top, depth) = top(module);
        let place = |line: usize| format!("{}:{line}", path.display());
        let Some(own) = layers.order.iter().position(|name| *name == top) else {
            let message = format!("the module `{top}` has no place in the order of xtask/src/tidy/module_layers.rs");
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
        findings.push(finding("module-order", "xtask/src/tidy/module_layers.rs", message));
    }
    findings
}

/// The names of the folder's root in a file, with lines: `crate::a::B`, `use crate::{a, b::C}`, and both with as many
/// `super` as the module is deep. Comments and strings do not count.
fn imports(text: &str, depth: usize) -> Vec<(usize, String)> {
    // Tests inside of the file are a module deeper.
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let (above, above_tests) = ("super::".repeat(depth), "super::".repeat(depth + 1));
    let mut found = Vec::new();
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let code = without_strings(line);
        let code = code.split("//").next().unwrap_or_default();
        for start in ["crate::", if at < tests { &above } else { &above_tests }] {
            for (place, _) in code.match_indices(start) {
                let before = code[..place].chars().next_back();
                if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                let rest = &text[at + place + start.len()..];
                let names = match rest.strip_prefix('{') {
                    Some(group) => top_names(group),
                    None => {
                        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
                        // A macro has its path at the root of the crate, wherever it is defined.
                        if rest[end..].starts_with('!') { Vec::new() } else { vec![rest[..end].to_string()] }
                    }
                };
                let names = names.into_iter().filter(|name| !name.is_empty() && name != "super");
                found.extend(names.map(|name| (number + 1, name)));
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
                "runtime/x/src/other.rs:1: the module `other` has no place in the order of xtask/src/tidy/module_layers.rs"
                    .to_string(),
            ]
        );
    }

    #[test]
    fn strings_and_macros_are_not_imports() {
        let text = "fn f() { g(\"ü \\\"use crate::high::A;\", crate::low::b(), \"use crate::{x};\", crate::m!(1)) }\n";
        assert_eq!(messages(&[STANDING, ("runtime/x/src/middle.rs", text)]), [""; 0]);
    }

    #[test]
    fn tests_inside_of_a_file_are_a_module_deeper() {
        let text = "#[cfg(test)]\nmod tests {\n    use super::high;\n    use super::super::middle;\n}\n";
        let found = messages(&[STANDING, ("runtime/x/src/low.rs", text)]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("runtime/x/src/low.rs:4: `low` must not import `middle`"), "{found:?}");
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
        assert_eq!(
            found,
            ["xtask/src/tidy/module_layers.rs: `low.rs` no longer imports `high`: take the exception out"]
        );
    }

    const FILES: [(&str, &str); 6] = [
        ("x/src/lib.rs", "mod a;"),
        ("x/src/bin/tool.rs", "use crate::a;"),
        ("x/src/a.rs", "use crate::b::B;\nuse crate::c;\n"),
        ("x/src/b.rs", "use super::c::C;\nuse crate::c;\n"),
        ("x/src/b/inner.rs", "use crate::d::D;\nuse crate::b;\n"),
        ("x/src/c.rs", "use crate::a::A;\n"),
    ];

    fn files() -> impl Iterator<Item = (&'static Path, &'static str)> {
        FILES.into_iter().chain([("x/src/d.rs", "\n")]).map(|(path, text)| (Path::new(path), text))
    }

    #[test]
    fn a_crate_of_four_modules_needs_an_order() {
        assert!(without_order("x/src", files().take(6)).is_none());
        let found = without_order("x/src", files()).expect("a crate of four modules");
        assert!(found.message.starts_with("4 modules and no order"), "{found}");
    }

    #[test]
    fn the_best_order_has_the_fewest_imports_against_it() {
        let (modules, pairs) = pairs("x/src", files());
        let order = best_order(modules, &pairs);
        // The circle of `a`, `b` and `c` has one import against each order.
        assert_eq!(backward(&order, &pairs), 1, "{order:?}");
        let listed = ["a", "b", "c", "d"].map(String::from);
        assert_eq!(backward(&listed, &pairs), 4);
    }
}
