//! What can be said about a cell while it is typed: whether it is whole, how a word goes on, what a name is.

pub mod table;

use std::collections::BTreeMap;

use crate::executor::{Completeness, Completions, Inspection};
use crate::notebook::Notebook;
use crate::scan::scan;
use crate::types::short;

/// Whether a cell can be run as it is, for consoles that run on Enter.
pub fn is_complete(text: &str) -> Completeness {
    let first = text.trim_start();
    if first.is_empty() || first.starts_with('!') || (first.starts_with(':') && !first.starts_with("::")) {
        return Completeness::Complete;
    }
    if first.starts_with("%%") {
        // A query ends with an empty line.
        let ends = text.ends_with('\n') && text.trim_end().contains('\n');
        return if ends { Completeness::Complete } else { Completeness::Incomplete { indent: String::new() } };
    }
    let found = scan(text);
    if found.wrong.is_some() {
        return Completeness::Invalid;
    }
    if found.unterminated.is_some() {
        return Completeness::Incomplete { indent: String::new() };
    }
    if !found.open.is_empty() {
        return Completeness::Incomplete { indent: "    ".repeat(found.open.len().min(8)) };
    }
    let cell = crate::split::split(text);
    match cell.error {
        None => Completeness::Complete,
        // syn came to the end and wanted more.
        Some(error) if error.contains("end of input") || ends_open(text) => {
            Completeness::Incomplete { indent: "    ".to_string() }
        }
        Some(error) if error == "expected `;`" || error == "expected one of: `;`" => {
            Completeness::Incomplete { indent: String::new() }
        }
        Some(_) => Completeness::Invalid,
    }
}

/// An operator or a dot at the end.
fn ends_open(text: &str) -> bool {
    let text = text.trim_end();
    ["=", "+", "-", "*", "/", ".", ",", "&&", "||", "->", "=>"].iter().any(|end| text.ends_with(end))
}

const KEYWORDS: &[&str] = &[
    "as", "async", "await", "break", "const", "continue", "else", "enum", "false", "fn", "for", "if", "impl", "in",
    "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "static", "struct", "trait", "true",
    "type", "unsafe", "use", "where", "while",
];

const STD: &[(&str, &str)] = &[
    ("Vec", "type"),
    ("String", "type"),
    ("Option", "type"),
    ("Result", "type"),
    ("Some", "function"),
    ("None", "function"),
    ("Ok", "function"),
    ("Err", "function"),
    ("Box", "type"),
    ("std", "module"),
    ("println!", "macro"),
    ("print!", "macro"),
    ("eprintln!", "macro"),
    ("format!", "macro"),
    ("vec!", "macro"),
    ("dbg!", "macro"),
    ("assert!", "macro"),
    ("assert_eq!", "macro"),
    ("panic!", "macro"),
    ("matches!", "macro"),
    ("todo!", "macro"),
    ("input!", "macro"),
    ("password!", "macro"),
    ("write!", "macro"),
    ("bool", "type"),
    ("char", "type"),
    ("str", "type"),
    ("i8", "type"),
    ("i16", "type"),
    ("i32", "type"),
    ("i64", "type"),
    ("i128", "type"),
    ("isize", "type"),
    ("u8", "type"),
    ("u16", "type"),
    ("u32", "type"),
    ("u64", "type"),
    ("u128", "type"),
    ("usize", "type"),
    ("f32", "type"),
    ("f64", "type"),
];

/// A little of std's module tree, for `use` lines.
const PATHS: &[(&str, &[&str])] = &[
    (
        "std",
        &[
            "collections",
            "fmt",
            "fs",
            "io",
            "iter",
            "mem",
            "env",
            "path",
            "process",
            "rc",
            "sync",
            "thread",
            "time",
            "cell",
            "cmp",
            "ops",
            "str",
            "string",
            "vec",
            "error",
            "f64",
            "f32",
        ],
    ),
    ("collections", &["HashMap", "HashSet", "BTreeMap", "BTreeSet", "VecDeque", "BinaryHeap", "hash_map", "btree_map"]),
    ("fmt", &["Debug", "Display", "Formatter", "Result", "Write"]),
    ("io", &["Read", "Write", "BufRead", "BufReader", "BufWriter", "Error", "Result", "stdin", "stdout", "stderr"]),
    ("fs", &["File", "read_to_string", "write", "read", "read_dir", "create_dir_all", "remove_file", "OpenOptions"]),
    ("sync", &["Arc", "Mutex", "RwLock", "OnceLock", "LazyLock", "atomic", "mpsc"]),
    ("rc", &["Rc", "Weak"]),
    ("cell", &["Cell", "RefCell", "OnceCell"]),
    ("time", &["Duration", "Instant", "SystemTime"]),
    ("thread", &["spawn", "sleep", "scope", "JoinHandle"]),
    ("path", &["Path", "PathBuf"]),
    ("Vec", &["new", "with_capacity", "from"]),
    ("String", &["new", "from", "with_capacity", "from_utf8"]),
    ("HashMap", &["new", "from", "with_capacity"]),
    ("f64", &["consts", "MAX", "MIN", "NAN", "INFINITY", "EPSILON"]),
    ("i32", &["MAX", "MIN"]),
    ("i64", &["MAX", "MIN"]),
];

/// Methods of std's usual types: for values whose type is known by name.
const METHODS: &[(&str, &[&str])] = &[
    (
        "Vec",
        &[
            "len",
            "is_empty",
            "push",
            "pop",
            "iter",
            "iter_mut",
            "into_iter",
            "sort",
            "sort_by",
            "sort_by_key",
            "sort_unstable",
            "contains",
            "first",
            "last",
            "get",
            "insert",
            "remove",
            "extend",
            "clear",
            "truncate",
            "retain",
            "dedup",
            "drain",
            "join",
            "concat",
            "chunks",
            "windows",
            "reverse",
            "binary_search",
            "to_vec",
            "swap",
            "split_at",
            "clone",
        ],
    ),
    (
        "String",
        &[
            "len",
            "is_empty",
            "push",
            "push_str",
            "chars",
            "bytes",
            "lines",
            "split",
            "split_whitespace",
            "trim",
            "replace",
            "to_uppercase",
            "to_lowercase",
            "contains",
            "starts_with",
            "ends_with",
            "find",
            "parse",
            "as_str",
            "clone",
            "repeat",
        ],
    ),
    (
        "str",
        &[
            "len",
            "is_empty",
            "chars",
            "bytes",
            "lines",
            "split",
            "split_whitespace",
            "trim",
            "replace",
            "to_uppercase",
            "to_lowercase",
            "to_string",
            "contains",
            "starts_with",
            "ends_with",
            "find",
            "parse",
            "repeat",
        ],
    ),
    (
        "HashMap",
        &[
            "len",
            "is_empty",
            "get",
            "get_mut",
            "insert",
            "remove",
            "contains_key",
            "entry",
            "keys",
            "values",
            "values_mut",
            "iter",
            "iter_mut",
            "extend",
            "retain",
            "clear",
            "clone",
        ],
    ),
    (
        "BTreeMap",
        &[
            "len",
            "is_empty",
            "get",
            "get_mut",
            "insert",
            "remove",
            "contains_key",
            "entry",
            "keys",
            "values",
            "iter",
            "range",
            "first_key_value",
            "last_key_value",
            "clear",
            "clone",
        ],
    ),
    (
        "HashSet",
        &[
            "len",
            "is_empty",
            "insert",
            "remove",
            "contains",
            "iter",
            "union",
            "intersection",
            "difference",
            "extend",
            "clear",
        ],
    ),
    (
        "Option",
        &[
            "is_some",
            "is_none",
            "unwrap",
            "unwrap_or",
            "unwrap_or_default",
            "expect",
            "map",
            "and_then",
            "ok_or",
            "as_ref",
            "take",
            "filter",
        ],
    ),
    ("Result", &["is_ok", "is_err", "unwrap", "unwrap_or", "expect", "map", "map_err", "and_then", "ok", "err"]),
    (
        "f64",
        &[
            "abs", "sqrt", "powi", "powf", "ln", "log10", "exp", "sin", "cos", "tan", "floor", "ceil", "round", "min",
            "max", "is_nan", "clamp",
        ],
    ),
    ("i32", &["abs", "pow", "min", "max", "checked_add", "wrapping_add", "saturating_sub", "rem_euclid", "clamp"]),
    ("i64", &["abs", "pow", "min", "max", "checked_add", "wrapping_add", "saturating_sub", "rem_euclid", "clamp"]),
];

/// Where the cursor is: the word before it, and what comes before the word.
struct Spot<'a> {
    word: &'a str,
    /// Byte positions of the whole word.
    start: usize,
    end: usize,
    before: &'a str,
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn spot(text: &str, cursor: usize) -> Spot<'_> {
    let at = text.char_indices().nth(cursor).map_or(text.len(), |(i, _)| i);
    let start = text[..at].rfind(|c| !is_word(c)).map_or(0, |i| i + text[i..].chars().next().map_or(1, char::len_utf8));
    Spot { word: &text[start..at], start, end: at, before: &text[..start] }
}

/// The name in front of a dot: `flights` of `flights.`; empty for other expressions.
fn receiver(before: &str) -> Option<&str> {
    let before = before.strip_suffix('.')?;
    let start = before.rfind(|c| !is_word(c)).map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
    Some(&before[start..])
}

/// The innermost call that the position is in: `x!` or a method's name, and the receiver variable of its chain.
fn enclosing(before: &str) -> Option<(String, Option<String>)> {
    let found = scan(before);
    let (_, at) = *found.open.iter().rev().find(|(c, _)| *c == '(' || *c == '[')?;
    let head = before[..at].trim_end();
    let (head, bang) = head.strip_suffix('!').map_or((head, ""), |h| (h, "!"));
    let start = head.rfind(|c| !is_word(c)).map_or(0, |i| i + head[i..].chars().next().map_or(1, char::len_utf8));
    let name = format!("{}{bang}", &head[start..]);
    let outer = if bang.is_empty() { None } else { enclosing(&before[..start]).and_then(|(_, r)| r) };
    Some((name, outer.or_else(|| chain_root(&head[..start]))))
}

/// `flights` of `flights.filter(…).select(`.
fn chain_root(head: &str) -> Option<String> {
    let mut rest = head.trim_end();
    loop {
        rest = rest.strip_suffix('.')?.trim_end();
        while let Some(close) = rest.chars().next_back().filter(|c| matches!(c, ')' | ']')) {
            let (mut depth, mut at) = (0i32, None);
            for (i, c) in rest.char_indices().rev() {
                match c {
                    ')' | ']' => depth += 1,
                    '(' | '[' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    at = Some(i);
                    break;
                }
            }
            let _ = close;
            rest = rest[..at?].trim_end().trim_end_matches('!');
        }
        let start = rest.rfind(|c| !is_word(c)).map_or(0, |i| i + rest[i..].chars().next().map_or(1, char::len_utf8));
        let word = &rest[start..];
        if !rest[..start].trim_end().ends_with('.') {
            return (!word.is_empty()).then(|| word.to_string());
        }
        rest = rest[..start].trim_end();
    }
}

pub fn complete(notebook: &Notebook, text: &str, cursor: usize, columns: &dyn Fn(&str) -> Vec<String>) -> Completions {
    let spot = spot(text, cursor);
    let mut found: BTreeMap<String, String> = BTreeMap::new();
    let mut add = |name: &str, kind: &str| {
        if name.to_lowercase().starts_with(&spot.word.to_lowercase()) && name != spot.word {
            found.entry(name.to_string()).or_insert_with(|| kind.to_string());
        }
    };
    let scanned = scan(spot.before);
    let in_string = scanned.unterminated.is_some_and(|(what, _)| what != "comment");
    let line_start = spot.before.rsplit('\n').next().unwrap_or("");
    if line_start == ":" {
        for name in ["vars", "help", "clear", "type", "timing", "opt", "dep"] {
            add(name, "magic");
        }
    } else if let Some((_, at)) = scanned.unterminated.filter(|_| in_string) {
        let frame = enclosing(&spot.before[..at]).and_then(|(_, frame)| frame);
        for name in frame_columns(notebook, frame.as_deref(), columns) {
            add(&name, "column");
        }
    } else if let Some(name) = receiver(spot.before) {
        let type_code = notebook.variables.get(name).map(|v| short(&v.type_code));
        let type_name = type_code.as_deref().map(bare);
        let own = type_name.unwrap_or("");
        let known = METHODS.iter().find(|(t, _)| *t == own).map(|(_, methods)| *methods);
        let in_x = enclosing(spot.before).is_some_and(|(call, _)| call == "x!");
        let of = if in_x {
            "Expr"
        } else if type_name.is_none() || own == "Frame" {
            "Frame"
        } else {
            own
        };
        for entry in table::ENTRIES.iter().filter(|e| e.owner == of) {
            add(entry.name, "method");
        }
        known.unwrap_or(&[]).iter().for_each(|method| add(method, "method"));
        for method in notebook.methods.get(own).into_iter().flatten() {
            add(method, "method");
        }
    } else if let Some(path) = spot.before.strip_suffix("::") {
        let start = path.rfind(|c| !is_word(c)).map_or(0, |i| i + 1);
        let module = &path[start..];
        for (_, names) in PATHS.iter().filter(|(name, _)| *name == module) {
            names.iter().for_each(|name| add(name, "module"));
        }
        for entry in table::ENTRIES.iter().filter(|e| e.owner == module) {
            add(entry.name, "function");
        }
    } else {
        if let Some((call, frame)) = enclosing(spot.before) {
            if call == "x!" {
                for name in frame_columns(notebook, frame.as_deref(), columns) {
                    if name.chars().all(is_word) {
                        add(&name, "column");
                    }
                }
            }
        }
        notebook.variables.keys().for_each(|name| add(name, "variable"));
        for name in notebook.items.keys() {
            add(name, if name.starts_with(char::is_uppercase) { "type" } else { "function" });
        }
        notebook.macros.keys().for_each(|name| add(&format!("{name}!"), "macro"));
        notebook.uses.iter().filter(|u| u.name != "*" && u.name != "_").for_each(|u| add(&u.name, "type"));
        for entry in table::ENTRIES.iter().filter(|e| e.owner.is_empty()) {
            add(entry.name, entry.kind);
        }
        STD.iter().for_each(|(name, kind)| add(name, kind));
        if !spot.word.is_empty() {
            KEYWORDS.iter().for_each(|name| add(name, "keyword"));
            // Names of this very cell.
            let cell = crate::split::split(text);
            for part in &cell.parts {
                if let crate::split::PartKind::Let { names, .. } = &part.kind {
                    names.iter().for_each(|b| add(&b.name, "variable"));
                }
            }
        }
    }
    let characters = |at: usize| text[..at].chars().count();
    let rank = |kind: &str| match kind {
        "column" => 0,
        "variable" => 1,
        "method" | "function" => 2,
        "keyword" => 4,
        _ => 3,
    };
    let mut matches: Vec<(String, String)> = found.into_iter().collect();
    matches.sort_by(|a, b| (rank(&a.1), &a.0).cmp(&(rank(&b.1), &b.0)));
    Completions { start: characters(spot.start), end: characters(spot.end), matches }
}

/// The columns of the frame that a call is made on, or of every frame if that is not known.
fn frame_columns(notebook: &Notebook, frame: Option<&str>, columns: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    if let Some(known) = frame.map(columns).filter(|c| !c.is_empty()) {
        return known;
    }
    let frames = notebook.variables.iter().filter(|(_, v)| bare(&short(&v.type_code)) == "Frame");
    let mut all: Vec<String> = frames.flat_map(|(name, _)| columns(name)).collect();
    all.sort();
    all.dedup();
    all
}

/// `Vec` of `Vec<i32>`, `Point` of `&Point`.
fn bare(type_name: &str) -> &str {
    let name = type_name.trim_start_matches(['&', '(']).trim_start_matches("mut ");
    name.split(['<', '(', ' ', ',']).next().unwrap_or(name)
}

pub fn inspect(notebook: &Notebook, sources: &dyn Fn(&str) -> Option<String>, text: &str, cursor: usize) -> Inspection {
    let at = text.char_indices().nth(cursor).map_or(text.len(), |(i, _)| i);
    // The cursor may stand behind the opening bracket of a call.
    let at = if at > 0 && text[..at].ends_with('(') { at - 1 } else { at };
    let end = at + text[at..].find(|c| !is_word(c)).unwrap_or(text.len() - at);
    let spot = spot(text, text[..end].chars().count());
    if spot.word.is_empty() {
        return Inspection::default();
    }
    let found = |markdown: String| Inspection { found: true, markdown };
    let method = spot.before.ends_with('.') || spot.before.ends_with("::");
    if !method {
        if let Some(variable) = notebook.variables.get(spot.word) {
            let mutable = if variable.mutable { "mut " } else { "" };
            let mut text = format!("```rust\nlet {mutable}{}: {}\n```\n", spot.word, short(&variable.type_code));
            if let Some(preview) = &variable.preview {
                text.push_str(&format!("\n`{preview}`\n"));
            }
            return found(text);
        }
        if let Some(source) = sources(spot.word) {
            return found(format!("```rust\n{source}\n```\n"));
        }
    }
    let owner = if method {
        let variable = receiver(spot.before).and_then(|name| notebook.variables.get(name));
        let in_x = enclosing(spot.before).is_some_and(|(call, _)| call == "x!");
        variable.map(|v| bare(&short(&v.type_code)).to_string()).or_else(|| in_x.then(|| "Expr".to_string()))
    } else {
        Some(String::new())
    };
    let entries = || table::ENTRIES.iter().filter(|e| e.name.trim_end_matches('!') == spot.word);
    let entry = entries().find(|e| Some(e.owner) == owner.as_deref()).or_else(|| {
        entries()
            .find(|e| method == !e.owner.is_empty() && (e.owner == "Frame" || !method))
            .or_else(|| entries().find(|e| method == !e.owner.is_empty()))
    });
    match entry {
        Some(entry) => found(format!("```rust\n{}\n```\n\n{}\n", entry.signature, entry.docs)),
        None => Inspection::default(),
    }
}

/// The text of an item from the cell that holds it.
pub fn item_text(code: &str, name: &str) -> Option<String> {
    use crate::split::{ItemKind, PartKind};
    let cell = crate::split::split(code);
    cell.parts.iter().find_map(|part| match &part.kind {
        PartKind::Item(item) => match &item.kind {
            ItemKind::Named(n) | ItemKind::Trait(n) | ItemKind::Macro(n) if n == name => {
                Some(code[part.range.clone()].to_string())
            }
            _ => None,
        },
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::KnownVariable;

    #[test]
    fn whole_and_unfinished_cells() {
        for text in
            ["let x = 1;", "x + 1", "", "fn f() {}", ":vars", "println!(\"a\")", "for i in 0..3 { }", "struct S;"]
        {
            assert_eq!(is_complete(text), Completeness::Complete, "{text}");
        }
        for text in ["fn f() {", "let x = (1,", "let s = \"abc", "let x =", "foo.", "let x = 1"] {
            assert!(matches!(is_complete(text), Completeness::Incomplete { .. }), "{text}");
        }
        for text in ["let x = );", "}", "let let = 2;"] {
            assert_eq!(is_complete(text), Completeness::Invalid, "{text}");
        }
    }

    fn notebook() -> Notebook {
        let mut notebook = Notebook::default();
        let variable = |code: &str| KnownVariable { type_code: code.into(), mutable: false, preview: None, bytes: 0 };
        notebook.variables.insert("flights".into(), variable("::onrush::Frame"));
        notebook.variables.insert("values".into(), variable("::std::vec::Vec<i32>"));
        notebook
    }

    fn names(text: &str) -> Vec<String> {
        let columns = |name: &str| {
            if name == "flights" { vec!["dep_delay".to_string(), "Sale Price".into()] } else { Vec::new() }
        };
        complete(&notebook(), text, text.chars().count(), &columns).matches.into_iter().map(|m| m.0).collect()
    }

    #[test]
    fn words_go_on() {
        assert_eq!(names("let ä = fli"), ["flights"]);
        assert!(names("values.le").contains(&"len".to_string()));
        assert_eq!(names("flights.filter(x!(de")[0], "dep_delay");
        assert_eq!(names("flights.sort(\"De"), ["dep_delay"]);
        assert_eq!(names("flights.head(3).select([\"Sale"), ["Sale Price"]);
        assert!(names("use std::colle").contains(&"collections".to_string()));
        let completions = complete(&notebook(), "ä + fli", 7, &|_| Vec::new());
        assert_eq!((completions.start, completions.end), (4, 7));
    }
}
