//! Type names: from what `std::any::type_name` says to what code can spell.
//!
//! `type_name` gives the path where a type is defined, which is often private (`alloc::vec::Vec`). The
//! compiler is asked for a path that the table below does not have (`rustc::public_type_name`).

use std::collections::BTreeMap;
use std::path::PathBuf;

use proc_macro2::{TokenStream, TokenTree};

use crate::index;

/// Before the name of a crate that the notebook did not ask for itself: for types that code must name.
pub const INDIRECT: &str = "onrush_dep_";

/// How a type's name can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// Code that names the type.
    Code(String),
    /// A path that is not in the table: rustc must be asked.
    Unsure(String),
    /// No code can name it, and why: "a closure".
    Unnameable(&'static str),
}

/// Paths of the standard library whose modules are private, and the public path. Roots `core` and `alloc` are `std`'s
/// already.
const PUBLIC: &[(&str, &str)] = &[
    ("std::collections::hash::map::", "std::collections::hash_map::"),
    ("std::collections::hash::set::", "std::collections::hash_set::"),
    ("std::collections::btree::map::", "std::collections::btree_map::"),
    ("std::collections::btree::set::", "std::collections::btree_set::"),
    ("std::collections::vec_deque::into_iter::", "std::collections::vec_deque::"),
    ("std::collections::vec_deque::iter::", "std::collections::vec_deque::"),
    ("std::collections::vec_deque::drain::", "std::collections::vec_deque::"),
    ("std::vec::into_iter::", "std::vec::"),
    ("std::vec::drain::", "std::vec::"),
    ("std::slice::iter::", "std::slice::"),
    ("std::array::iter::", "std::array::"),
    ("std::str::iter::", "std::str::"),
    ("std::ops::range::", "std::ops::"),
    ("std::ops::function::", "std::ops::"),
    ("std::ops::control_flow::", "std::ops::"),
    ("std::num::nonzero::", "std::num::"),
    ("std::num::wrapping::", "std::num::"),
    ("std::num::saturating::", "std::num::"),
    ("std::num::error::", "std::num::"),
    ("std::num::dec2flt::", "std::num::"),
    ("std::num::float_parse::", "std::num::"),
    ("std::net::ip_addr::", "std::net::"),
    ("std::net::socket_addr::", "std::net::"),
    ("std::net::tcp::", "std::net::"),
    ("std::net::udp::", "std::net::"),
    ("std::sync::poison::mutex::", "std::sync::"),
    ("std::sync::poison::rwlock::", "std::sync::"),
    ("std::sync::poison::condvar::", "std::sync::"),
    ("std::sync::poison::once::", "std::sync::"),
    ("std::sync::poison::", "std::sync::"),
    ("std::sync::once_lock::", "std::sync::"),
    ("std::sync::lazy_lock::", "std::sync::"),
    ("std::sync::barrier::", "std::sync::"),
    ("std::cell::once::", "std::cell::"),
    ("std::cell::lazy::", "std::cell::"),
    ("std::mem::manually_drop::", "std::mem::"),
    ("std::mem::maybe_uninit::", "std::mem::"),
    ("std::marker::variance::", "std::marker::"),
    ("std::io::error::", "std::io::"),
    ("std::io::cursor::", "std::io::"),
    ("std::io::stdio::", "std::io::"),
    ("std::io::buffered::bufreader::", "std::io::"),
    ("std::io::buffered::bufwriter::", "std::io::"),
    ("std::io::buffered::linewriter::", "std::io::"),
    ("std::io::buffered::", "std::io::"),
    ("std::io::util::", "std::io::"),
    ("std::hash::random::", "std::hash::"),
    ("std::hash::sip::", "std::hash::"),
    ("std::thread::join_handle::", "std::thread::"),
    ("std::iter::sources::empty::", "std::iter::"),
    ("std::iter::sources::repeat::", "std::iter::"),
    ("std::iter::sources::once::", "std::iter::"),
    ("std::ffi::os_str::", "std::ffi::"),
    ("std::ffi::c_str::", "std::ffi::"),
    ("std::iter::traits::iterator::", "std::iter::"),
    ("std::iter::traits::double_ended::", "std::iter::"),
    ("std::iter::traits::exact_size::", "std::iter::"),
    ("std::future::future::", "std::future::"),
    ("std::iter::adapters::map::", "std::iter::"),
    ("std::iter::adapters::filter::", "std::iter::"),
    ("std::iter::adapters::rev::", "std::iter::"),
    ("std::iter::adapters::enumerate::", "std::iter::"),
    ("std::iter::adapters::zip::", "std::iter::"),
    ("std::iter::adapters::take::", "std::iter::"),
    ("std::iter::adapters::skip::", "std::iter::"),
    ("std::iter::adapters::step_by::", "std::iter::"),
    ("std::iter::adapters::peekable::", "std::iter::"),
    ("std::iter::adapters::chain::", "std::iter::"),
    ("std::iter::adapters::cycle::", "std::iter::"),
    ("std::iter::adapters::cloned::", "std::iter::"),
    ("std::iter::adapters::copied::", "std::iter::"),
];

/// Types that are re-exported under another parent than their module's.
const EXACT: &[(&str, &str)] = &[
    ("std::collections::hash::map::HashMap", "std::collections::HashMap"),
    ("std::collections::hash::set::HashSet", "std::collections::HashSet"),
    ("std::collections::btree::map::BTreeMap", "std::collections::BTreeMap"),
    ("std::collections::btree::set::BTreeSet", "std::collections::BTreeSet"),
    ("std::collections::vec_deque::VecDeque", "std::collections::VecDeque"),
    ("std::collections::binary_heap::BinaryHeap", "std::collections::BinaryHeap"),
    ("std::collections::linked_list::LinkedList", "std::collections::LinkedList"),
];

/// Modules of std whose direct contents are public.
const OPEN: &[&str] = &[
    "std::alloc",
    "std::any",
    "std::array",
    "std::borrow",
    "std::boxed",
    "std::cell",
    "std::char",
    "std::cmp",
    "std::collections",
    "std::collections::hash_map",
    "std::collections::hash_set",
    "std::collections::btree_map",
    "std::collections::btree_set",
    "std::collections::vec_deque",
    "std::collections::binary_heap",
    "std::env",
    "std::error",
    "std::ffi",
    "std::fmt",
    "std::fs",
    "std::future",
    "std::hash",
    "std::io",
    "std::iter",
    "std::marker",
    "std::mem",
    "std::net",
    "std::num",
    "std::ops",
    "std::option",
    "std::panic",
    "std::path",
    "std::pin",
    "std::process",
    "std::ptr",
    "std::rc",
    "std::result",
    "std::slice",
    "std::str",
    "std::string",
    "std::sync",
    "std::sync::atomic",
    "std::sync::mpsc",
    "std::task",
    "std::thread",
    "std::time",
    "std::vec",
];

pub const PRIMITIVES: &[&str] = &[
    "bool", "char", "str", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
    "f32", "f64", "dyn", "fn", "unsafe", "extern", "mut", "const", "for", "_",
];

/// The spelling in code for a name that `type_name` gave.
pub fn spell(type_name: &str) -> Spelling {
    if type_name.contains("{{closure}}") || type_name.contains("{closure") {
        let inside = type_name.contains("::adapters::");
        return Spelling::Unnameable(if inside { "an iterator over a closure" } else { "a closure" });
    }
    if type_name.contains("::__body::") {
        return Spelling::Unnameable("of a type defined inside a function");
    }
    let Ok(tokens) = type_name.parse::<TokenStream>() else {
        return Spelling::Unsure(type_name.to_string());
    };
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut writer = Writer { out: String::new(), unknown: Vec::new(), path: &public_path };
    writer.write(&tokens);
    if writer.unknown.is_empty() { Spelling::Code(writer.out) } else { Spelling::Unsure(writer.out) }
}

/// Code for a type as rustc's messages spell it with full paths, in a crate of this name. `None` if other crates cannot
/// name it. `dependency` says how code names one of the notebook's crates.
pub fn from_message(text: &str, crate_name: &str, dependency: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    // Nothing but its default decides a literal's type here.
    let text = &text.replace("{float}", "f64").replace("{integer}", "i32");
    let has_impl = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "impl");
    if text.contains('{') || text.contains("__body") || has_impl {
        return None;
    }
    let path = |path: &str| {
        let path = path.strip_prefix("crate::").filter(|p| p.starts_with(INDIRECT)).unwrap_or(path);
        let root = path.split("::").next().unwrap_or(path);
        if PRIMITIVES.contains(&path) || matches!(path, "Output" | "Item") {
            Some(path.to_string())
        } else if matches!(root, "std" | "onrush") || root.starts_with("onrush_cell_") {
            Some(format!("::{path}"))
        } else if matches!(root, "core" | "alloc") {
            public_path(path)
        } else if let (true, Some(named)) = (path.contains("::"), dependency(root)) {
            Some(format!("{named}{}", &path[root.len()..]))
        } else if path.contains("::") && root.starts_with(|c: char| c.is_lowercase()) && root != "crate" {
            // Another crate that cells cannot see, or a module of this cell.
            Some(format!("::{crate_name}::{path}"))
        } else {
            Some(format!("::{crate_name}::{}", path.trim_start_matches("crate::")))
        }
    };
    let tokens: Vec<TokenTree> = text.parse::<TokenStream>().ok()?.into_iter().collect();
    let mut writer = Writer { out: String::new(), unknown: Vec::new(), path: &path };
    writer.write(&tokens);
    writer.unknown.is_empty().then_some(writer.out)
}

/// Cache of rustc's answers about types, stored next to the compiled cells. A notebook that runs again asks nothing.
#[derive(Debug, Default)]
pub struct KnownTypes {
    path: PathBuf,
    codes: BTreeMap<String, String>,
}

impl KnownTypes {
    pub fn load(path: PathBuf) -> Self {
        let codes = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        KnownTypes { path, codes }
    }

    pub fn get(&self, type_name: &str) -> Option<&String> {
        self.codes.get(type_name)
    }

    pub fn learn(&mut self, type_name: &str, code: &str) {
        self.codes.insert(type_name.to_string(), code.to_string());
        // Types of cells mean something else in another notebook.
        let lasting: BTreeMap<_, _> = self.codes.iter().filter(|(name, _)| !name.contains("onrush_cell_")).collect();
        let partial = self.path.with_extension(format!("{}.part", std::process::id()));
        if let Ok(bytes) = serde_json::to_vec(&lasting) {
            // Without the file, rustc is asked again next time.
            let _ = std::fs::write(&partial, bytes).and_then(|()| std::fs::rename(&partial, &self.path));
        }
    }
}

/// Writes a type with its paths replaced.
struct Writer<'a> {
    out: String,
    /// Paths that `path` does not know.
    unknown: Vec<String>,
    path: &'a dyn Fn(&str) -> Option<String>,
}

impl Writer<'_> {
    fn write(&mut self, tokens: &[TokenTree]) {
        let mut i = 0;
        while i < tokens.len() {
            match &tokens[i] {
                TokenTree::Ident(_) => {
                    let path = take_path(tokens, &mut i);
                    if self.out.ends_with('\'') {
                        self.out.push_str(&path);
                        // `&'static str`, but `Cow<'_, str>`.
                        if matches!(tokens.get(i), Some(TokenTree::Ident(_) | TokenTree::Group(_))) {
                            self.out.push(' ');
                        }
                        continue;
                    }
                    if self.out.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
                        self.out.push(' ');
                    }
                    match (self.path)(&path) {
                        Some(code) => self.out.push_str(&code),
                        None => {
                            self.out.push_str(&path);
                            self.unknown.push(path);
                        }
                    }
                }
                TokenTree::Punct(p) => {
                    match p.as_char() {
                        ',' => self.out.push_str(", "),
                        ';' => self.out.push_str("; "),
                        '+' | '=' => {
                            self.out.push(' ');
                            self.out.push(p.as_char());
                            self.out.push(' ');
                        }
                        '-' => self.out.push_str(" -"),
                        '>' if self.out.ends_with(" -") => self.out.push_str("> "),
                        c => self.out.push(c),
                    }
                    i += 1;
                }
                TokenTree::Group(group) => {
                    let (open, close) = match group.delimiter() {
                        proc_macro2::Delimiter::Parenthesis => ("(", ")"),
                        proc_macro2::Delimiter::Bracket => ("[", "]"),
                        proc_macro2::Delimiter::Brace => ("{", "}"),
                        proc_macro2::Delimiter::None => ("", ""),
                    };
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    self.out.push_str(open);
                    self.write(&inner);
                    self.out.push_str(close);
                    i += 1;
                }
                TokenTree::Literal(literal) => {
                    self.out.push_str(&literal.to_string());
                    i += 1;
                }
            }
        }
    }
}

/// `a::b::C`, up to generic arguments.
fn take_path(tokens: &[TokenTree], i: &mut usize) -> String {
    let mut path = String::new();
    while let Some(TokenTree::Ident(ident)) = tokens.get(*i) {
        let name = ident.to_string();
        let in_path = !path.is_empty() || is_path(tokens, *i);
        // A module `r#async` is named without its mark.
        let is_raw = in_path && !is_root_word(&name) && syn::parse_str::<syn::Ident>(&name).is_err();
        path.push_str(if is_raw { "r#" } else { "" });
        path.push_str(&name);
        *i += 1;
        let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
        if colon(*i) && colon(*i + 1) && matches!(tokens.get(*i + 2), Some(TokenTree::Ident(_))) {
            path.push_str("::");
            *i += 2;
        } else {
            break;
        }
    }
    path
}

fn is_path(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
    colon(at + 1) && colon(at + 2) && matches!(tokens.get(at + 3), Some(TokenTree::Ident(_)))
}

fn is_root_word(name: &str) -> bool {
    matches!(name, "crate" | "self" | "super" | "Self")
}

/// Whether a name from `type_name` is the name of a function. Each function has a separate type.
pub fn is_function(type_name: &str) -> bool {
    let path = type_name.split('<').next().unwrap_or(type_name);
    let path = if path.ends_with("::") { type_name } else { path };
    path.rsplit_once("::").is_some_and(|(_, name)| name.starts_with(|c: char| c.is_lowercase()))
}

/// Text without the crates that generated code has: a type is named as in the cell that defines it.
pub fn without_crates(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("onrush_cell_") {
        let end = rest[at + 12..]
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .map_or(rest.len(), |n| at + 12 + n);
        out.push_str(rest[..at].strip_suffix("::").unwrap_or(&rest[..at]));
        rest = &rest[end..];
        rest = rest.strip_prefix("::").unwrap_or(rest);
    }
    out.push_str(rest);
    out.replace("__body::", "")
}

fn public_path(path: &str) -> Option<String> {
    if PRIMITIVES.contains(&path) {
        return Some(path.to_string());
    }
    if is_function(path) {
        return None;
    }
    // In `dyn Fn<…, Output = …>` the output of a function trait has a name, which `Fn(i32) -> i32` leaves out.
    if !path.contains("::") {
        return (path == "Output" || path == "Item").then(|| path.to_string());
    }
    let (root, rest) = path.split_once("::")?;
    if root.starts_with("onrush_cell_") {
        return Some(format!("::{path}"));
    }
    if root == "onrush" {
        // Exports of the prelude have a short public path.
        let name = rest.rsplit("::").next()?;
        let public = format!("onrush::prelude::{name}");
        return index::prelude().at(&public).iter().any(|item| item.is_type()).then(|| format!("::{public}"));
    }
    if !matches!(root, "std" | "core" | "alloc") {
        return None;
    }
    let full = format!("std::{rest}");
    if let Some((_, public)) = EXACT.iter().find(|(private, _)| *private == full) {
        return Some(format!("::{public}"));
    }
    let public = PUBLIC
        .iter()
        .find(|(private, _)| full.strip_prefix(private).is_some_and(|name| !name.contains("::")))
        .map(|(private, public)| format!("{public}{}", &full[private.len()..]))
        .unwrap_or(full);
    let module = public.rsplit_once("::")?.0;
    OPEN.contains(&module).then(|| format!("::{public}"))
}

/// A type as a user would write it: names without their modules.
pub fn short(type_code: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    let mut characters = type_code.chars().peekable();
    while let Some(c) = characters.next() {
        if c.is_alphanumeric() || c == '_' {
            word.push(c);
        } else if c == ':' && characters.peek() == Some(&':') {
            characters.next();
            word.clear();
        } else {
            out.push_str(&word);
            word.clear();
            out.push(c);
        }
    }
    out.push_str(&word);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str) -> String {
        match spell(name) {
            Spelling::Code(code) => code,
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn private_paths_become_public() {
        assert_eq!(
            code("std::collections::hash::map::HashMap<alloc::string::String, i32>"),
            "::std::collections::HashMap<::std::string::String, i32>"
        );
        assert_eq!(code("alloc::vec::Vec<core::option::Option<&str>>"), "::std::vec::Vec<::std::option::Option<&str>>");
        assert_eq!(code("(i32, [f64; 3], onrush_cell_2::Point)"), "(i32, [f64; 3], ::onrush_cell_2::Point)");
        assert_eq!(code("onrush_cell_1::async::Foo"), "::onrush_cell_1::r#async::Foo");
        assert_eq!(code("core::ops::range::Range<usize>"), "::std::ops::Range<usize>");
        assert_eq!(code("alloc::borrow::Cow<'_, str>"), "::std::borrow::Cow<'_, str>");
        assert_eq!(
            code("alloc::boxed::Box<dyn core::ops::function::Fn(i32) -> i32>"),
            "::std::boxed::Box<dyn ::std::ops::Fn(i32) -> i32>"
        );
        assert_eq!(code("alloc::collections::btree::map::BTreeMap<u8, ()>"), "::std::collections::BTreeMap<u8, ()>");
    }

    #[test]
    fn what_has_no_name_is_said() {
        assert!(matches!(spell("onrush_cell_1::__body::__onrush_run::{{closure}}"), Spelling::Unnameable(_)));
        assert!(matches!(spell("onrush_cell_1::__body::__onrush_run::Local"), Spelling::Unnameable(_)));
        assert!(matches!(spell("arrow_array::record_batch::RecordBatch"), Spelling::Unsure(_)));
    }

    #[test]
    fn messages_name_crates_and_defaults() {
        let direct = |root: &str| (root == "ndarray").then(|| "::ndarray".to_string());
        let text = "ndarray::ArrayBase<ndarray::OwnedRepr<{float}>, ndarray::Dim<[usize; 2]>>";
        assert_eq!(
            from_message(text, "onrush_cell_1", &direct).as_deref(),
            Some("::ndarray::ArrayBase<::ndarray::OwnedRepr<f64>, ::ndarray::Dim<[usize; 2]>>")
        );
        assert_eq!(from_message("Vec<{closure@x}>", "onrush_cell_1", &direct), None);
    }

    #[test]
    fn short_names_drop_modules() {
        assert_eq!(short("::std::collections::HashMap<::std::string::String, i32>"), "HashMap<String, i32>");
    }
}
