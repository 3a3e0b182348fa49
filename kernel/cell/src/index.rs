//! The completion index of a library: items, members, signatures and the first paragraph of their documentation. They
//! are lines of text that are parsed when they are needed.
//!
//! The index of the standard library is made from its documentation (`data/std_index.py`). The indexes of the prelude,
//! of crates and of cells are made from their sources ([`source`]).
//!
//! Fields are separated by tabs, and `\n` in documentation is written as two characters:
//! ```text
//! #KIND PATH SIGNATURE DOCS     an item; the lines below belong to it. Kind `impl`: impls of a type of that name
//! =PATH TARGET                  another path of an item
//! % TYPE TRAIT PARAMETERS       an impl of the item, and what it is for: `Vec<T>`, `std::io::Write` or nothing,
//!                              and its parameters with the traits that they must have: `T:Clone:Debug,A`
//! >TYPE                         what the impl above dereferences to
//! K NAME SIGNATURE DOCS         a member: K is m(ethod), a(ssociated function), c(onstant), t(ype), f(ield), v(ariant)
//! ```

pub mod crates;
pub mod source;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// A parsed index, ready for queries.
#[derive(Debug, Default)]
pub struct Index {
    text: Cow<'static, str>,
    /// The lines at which items begin and end.
    items: Vec<(usize, usize)>,
    /// Indices of items by path, by name and by module.
    by_path: HashMap<String, Vec<usize>>,
    by_name: HashMap<String, Vec<usize>>,
    by_parent: HashMap<String, Vec<usize>>,
    aliases: HashMap<String, String>,
    aliases_by_parent: HashMap<String, Vec<String>>,
}

/// One item of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Item<'a> {
    pub kind: &'a str,
    pub path: &'a str,
    pub signature: &'a str,
    docs: &'a str,
    body: &'a str,
}

/// One line below an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Impl { of: &'a str, of_trait: &'a str, parameters: &'a str },
    Target(&'a str),
    Member(Member<'a>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    pub kind: char,
    pub name: &'a str,
    pub signature: &'a str,
    docs: &'a str,
}

fn unescape(docs: &str) -> String {
    docs.replace("\\n", "\n")
}

impl Member<'_> {
    pub fn docs(&self) -> String {
        unescape(self.docs)
    }
}

impl<'a> Item<'a> {
    pub fn name(&self) -> &'a str {
        last(self.path)
    }

    pub fn docs(&self) -> String {
        unescape(self.docs)
    }

    pub fn lines(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.body.lines().filter_map(|line| {
            let mut fields = line.split('\t');
            let mut next = || fields.next().unwrap_or("");
            let first = next();
            if let Some(target) = first.strip_prefix('>') {
                return Some(Line::Target(target));
            }
            match first {
                "%" => Some(Line::Impl { of: next(), of_trait: next(), parameters: next() }),
                _ => {
                    let kind = first.chars().next()?;
                    Some(Line::Member(Member { kind, name: next(), signature: next(), docs: next() }))
                }
            }
        })
    }

    pub fn members(&self) -> impl Iterator<Item = Member<'a>> + use<'a> {
        self.lines().filter_map(|line| if let Line::Member(member) = line { Some(member) } else { None })
    }

    pub fn is_type(&self) -> bool {
        matches!(self.kind, "struct" | "enum" | "union" | "type" | "primitive")
    }
}

/// The last segment of a path.
pub fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

impl Index {
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        let mut index = Index { text: text.into(), ..Index::default() };
        let mut at = 0;
        let text = std::mem::take(&mut index.text);
        for line in text.split_inclusive('\n') {
            if let Some(rest) = line.strip_prefix('#') {
                if let Some(path) = rest.split('\t').nth(1) {
                    let parent = path.rsplit_once("::").map_or("", |(parent, _)| parent);
                    let number = index.items.len();
                    index.items.push((at, at));
                    index.by_path.entry(path.to_string()).or_default().push(number);
                    index.by_name.entry(last(path).to_string()).or_default().push(number);
                    index.by_parent.entry(parent.to_string()).or_default().push(number);
                }
            } else if let Some((path, target)) = line.strip_prefix('=').and_then(|l| l.trim_end().split_once('\t')) {
                let parent = path.rsplit_once("::").map_or("", |(parent, _)| parent);
                index.aliases_by_parent.entry(parent.to_string()).or_default().push(path.to_string());
                index.aliases.insert(path.to_string(), target.to_string());
            }
            at += line.len();
            if let Some(item) = index.items.last_mut().filter(|_| !line.starts_with('=')) {
                item.1 = at;
            }
        }
        index.text = text;
        index
    }

    fn item(&self, number: usize) -> Item<'_> {
        let (start, end) = self.items[number];
        let rest = &self.text[start + 1..end];
        let (head, body) = rest.split_once('\n').unwrap_or((rest, ""));
        let mut fields = head.split('\t');
        let mut next = || fields.next().unwrap_or("");
        Item { kind: next(), path: next(), signature: next(), docs: next(), body }
    }

    /// All items, in the order of their sources.
    pub fn items(&self) -> impl Iterator<Item = Item<'_>> {
        (0..self.items.len()).map(|number| self.item(number))
    }

    /// The items of a path, or of the path that a re-export stands for.
    pub fn at(&self, path: &str) -> Vec<Item<'_>> {
        let mut target = path;
        // Follows a re-export of a re-export, but no cycle.
        for _ in 0..6 {
            target = self.aliases.get(target).map_or(target, String::as_str);
        }
        self.by_path.get(target).into_iter().flatten().map(|&at| self.item(at)).collect()
    }

    /// All items with this name, in any module.
    pub fn named(&self, name: &str) -> Vec<Item<'_>> {
        self.by_name.get(name).into_iter().flatten().map(|&at| self.item(at)).collect()
    }

    /// Names that begin with a prefix.
    pub fn names_from(&self, word: &str) -> Vec<&str> {
        self.by_name.keys().filter(|name| name.starts_with(word)).map(String::as_str).collect()
    }

    /// The items of a module, by their names in it.
    pub fn children(&self, module: &str) -> Vec<(&str, Item<'_>)> {
        let own = self.by_parent.get(module).into_iter().flatten().map(|&at| self.item(at)).map(|i| (i.name(), i));
        let aliases = self.aliases_by_parent.get(module).into_iter().flatten();
        let others = aliases.flat_map(|alias| self.at(alias).into_iter().map(move |item| (last(alias), item)));
        own.chain(others).filter(|(_, item)| item.kind != "impl").collect()
    }

    pub fn has_module(&self, path: &str) -> bool {
        self.by_parent.contains_key(path) || self.aliases_by_parent.contains_key(path)
    }
}

/// The index of the standard library.
pub fn standard() -> Arc<Index> {
    static INDEX: OnceLock<Arc<Index>> = OnceLock::new();
    let make = || {
        let bytes = miniz_oxide::inflate::decompress_to_vec(include_bytes!("../data/std.index.deflate").as_slice());
        // The index is embedded, and a test parses it.
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        Arc::new(Index::new(text))
    };
    Arc::clone(INDEX.get_or_init(make))
}

/// The index of the prelude, which cells import by default.
pub fn prelude() -> Arc<Index> {
    static INDEX: OnceLock<Arc<Index>> = OnceLock::new();
    Arc::clone(INDEX.get_or_init(|| Arc::new(Index::new(include_str!(concat!(env!("OUT_DIR"), "/prelude.index"))))))
}

/// A function, macro or method that cells can call.
pub struct Entry {
    /// The receiver type of a method; empty for functions and macros.
    pub owner: String,
    pub name: String,
    pub signature: String,
}

/// All functions, macros and methods of the prelude.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: OnceLock<Vec<Entry>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let prelude = prelude();
        let entry = |owner: &str, name: &str, signature: &str| Entry {
            owner: owner.to_string(),
            name: name.to_string(),
            signature: signature.to_string(),
        };
        let mut entries = Vec::new();
        for (name, item) in prelude.children("onrush::prelude") {
            match item.kind {
                "fn" => entries.push(entry("", name, item.signature)),
                "macro" => entries.push(entry("", &format!("{name}!"), item.signature)),
                _ => {}
            }
        }
        for item in prelude.by_name.values().flatten().map(|&at| prelude.item(at)).filter(|i| i.kind == "impl") {
            let methods = item.members().filter(|m| matches!(m.kind, 'm' | 'a'));
            entries.extend(methods.map(|m| entry(item.path, m.name, m.signature)));
        }
        entries.sort_by(|a, b| (&a.owner, &a.name).cmp(&(&b.owner, &b.name)));
        entries
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_library_is_there() {
        let std = standard();
        let names = |path: &str| -> Vec<String> {
            std.at(path).iter().flat_map(|i| i.members()).map(|m| m.name.to_string()).collect()
        };
        // From the documentation of Rust 1.95.
        for (path, name) in [
            ("std::vec::Vec", "push"),
            ("str", "split_whitespace"),
            ("slice", "binary_search"),
            ("std::iter::Iterator", "filter_map"),
            ("std::collections::hash_map::HashMap", "entry"),
            ("f64", "sqrt"),
            ("std::option::Option", "Some"),
        ] {
            assert!(names(path).iter().any(|n| n == name), "{path} {name}");
        }
        assert!(!names("std::vec::Vec").contains(&"try_with_capacity".to_string()), "unstable");
        let inside: Vec<&str> = std.children("std::collections").into_iter().map(|(name, _)| name).collect();
        assert!(inside.contains(&"BTreeMap") && inside.contains(&"hash_map"), "{inside:?}");
    }

    #[test]
    fn lines_are_read() {
        let index = Index::new(
            "#mod\ta\t\t\n#struct\ta::B\tstruct B<T>\tFirst.\\nSecond.\n%\tB<T>\t\tT\nm\tgo\tfn go(&self)\tGoes.\n=a::C\ta::B\n",
        );
        let item = index.at("a::C")[0];
        assert_eq!((item.kind, item.name(), item.docs().as_str()), ("struct", "B", "First.\nSecond."));
        assert_eq!(item.lines().next(), Some(Line::Impl { of: "B<T>", of_trait: "", parameters: "T" }));
        assert_eq!(item.members().map(|m| m.name).collect::<Vec<_>>(), ["go"]);
        assert_eq!(index.children("a").iter().map(|c| c.0).collect::<Vec<_>>(), ["B", "C"]);
    }
}
