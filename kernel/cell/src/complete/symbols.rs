//! The symbols at the cursor: names in scope, the indexes, the types from rustc.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::CursorContext;
use super::error_recovery::repair;
use super::members::MemberLookup;
use super::scope::{Scope, scope};
use super::tokens::{End, tokens};
use super::ty::Ty;
use crate::index::source::chunks_of;
use crate::index::{self, Index, Item, last};
use crate::parse::{UseLeaf, items_of};
use crate::type_query::PROBE;

/// Names that every Rust program has, and where they come from.
const STD_PRELUDE: &[(&str, &str)] = &[
    ("Vec", "std::vec::Vec"),
    ("String", "std::string::String"),
    ("ToString", "std::string::ToString"),
    ("Option", "std::option::Option"),
    ("Result", "std::result::Result"),
    ("Box", "std::boxed::Box"),
    ("Clone", "std::clone::Clone"),
    ("Copy", "std::marker::Copy"),
    ("Send", "std::marker::Send"),
    ("Sync", "std::marker::Sync"),
    ("Sized", "std::marker::Sized"),
    ("Drop", "std::ops::Drop"),
    ("Fn", "std::ops::Fn"),
    ("FnMut", "std::ops::FnMut"),
    ("FnOnce", "std::ops::FnOnce"),
    ("AsRef", "std::convert::AsRef"),
    ("AsMut", "std::convert::AsMut"),
    ("Into", "std::convert::Into"),
    ("From", "std::convert::From"),
    ("TryFrom", "std::convert::TryFrom"),
    ("TryInto", "std::convert::TryInto"),
    ("Default", "std::default::Default"),
    ("Iterator", "std::iter::Iterator"),
    ("Extend", "std::iter::Extend"),
    ("IntoIterator", "std::iter::IntoIterator"),
    ("FromIterator", "std::iter::FromIterator"),
    ("DoubleEndedIterator", "std::iter::DoubleEndedIterator"),
    ("ExactSizeIterator", "std::iter::ExactSizeIterator"),
    ("Eq", "std::cmp::Eq"),
    ("PartialEq", "std::cmp::PartialEq"),
    ("Ord", "std::cmp::Ord"),
    ("PartialOrd", "std::cmp::PartialOrd"),
    ("ToOwned", "std::borrow::ToOwned"),
    ("drop", "std::mem::drop"),
    ("size_of", "std::mem::size_of"),
];

pub const PRIMITIVES: &[&str] = &[
    "bool", "char", "str", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize",
    "f32", "f64",
];

/// See the module.
pub struct Symbols {
    pub scope: Scope,
    pub world: MemberLookup,
    /// The cell's own definitions.
    pub present: Arc<Index>,
    pub cells: Arc<Index>,
    /// Imports of this cell and of earlier ones, the newest first.
    pub uses: Vec<UseLeaf>,
    /// The cell as rustc can read it, asking about the place; empty if nothing was left of it.
    pub code: String,
}

impl Symbols {
    /// `asked` is what stands behind the place's code in the question to rustc: `.__onrush_probe`.
    pub fn at(place: &CursorContext<'_>, before: &str, asked: &str) -> Self {
        let (found, end) = tokens(before);
        let scope = scope(&found);
        let after = &place.text[place.at..];
        let before = match end {
            // Inside of a string the question stands in its place.
            End::Text { start, .. } => &before[..start],
            _ => before,
        };
        let before = without_commands(before);
        let code = repair(&before, asked, after).unwrap_or_default();
        let mut defined = items_of(&code);
        if code.is_empty() {
            defined = items_of(&before);
        }
        let chunks: String = chunks_of(&defined).into_iter().map(|c| c.text).collect();
        let present = Arc::new(Index::new(chunks));
        let cells = place.names.cells();
        let notebook = &place.names.notebook;
        let mut uses = scope.uses.clone();
        uses.extend(defined.iter().filter_map(leaves).flatten());
        uses.extend(notebook.uses.iter().rev().cloned());
        let mut traits: BTreeSet<String> = notebook.traits.clone();
        traits.extend(scope.items.iter().filter(|(_, kind)| *kind == "trait").map(|(name, _)| name.clone()));
        let mut indexes = vec![Arc::clone(&present), Arc::clone(&cells), index::prelude()];
        indexes.push(index::standard());
        let crates = indexes.len();
        if let Some(known) = &place.names.knowledge {
            indexes.extend(known.crates());
        }
        let mut world = MemberLookup { indexes, crates, traits: BTreeSet::new(), generics: scope.generics.clone() };
        for leaf in &uses {
            traits.insert(last(&leaf.path).to_string());
            if leaf.name == "*" {
                let mut inside: Vec<String> = Vec::new();
                for index in &world.indexes {
                    let children = index.children(leaf.path.trim_start_matches("::"));
                    inside.extend(
                        children.into_iter().filter(|(_, i)| i.kind == "trait").map(|(name, _)| name.to_string()),
                    );
                }
                traits.extend(inside);
                if leaf.path.ends_with("std::io::prelude") {
                    traits.extend(["Read", "Write", "BufRead", "Seek"].map(str::to_string));
                }
            }
        }
        traits.extend(
            present.children("").into_iter().filter(|(_, i)| i.kind == "trait").map(|(name, _)| name.to_string()),
        );
        world.traits = traits;
        Symbols { scope, world, present, cells, uses, code }
    }

    /// rustc's answer for the place. A type, or nothing.
    pub fn asked(&self, place: &CursorContext<'_>) -> Option<Ty> {
        let known = place.names.knowledge.as_ref()?;
        if !self.code.contains(PROBE) {
            return None;
        }
        let spelled = known.probe.ask(&place.names.notebook, &self.code, place.turn)?;
        Some(Ty::parse(&spelled))
    }

    /// The full path of a path as it is written, if it can be told without rustc.
    pub fn full_path(&self, written: &[&str]) -> Option<String> {
        let (first, rest) = written.split_first()?;
        let with_rest = |root: &str| -> String {
            if rest.is_empty() { root.to_string() } else { format!("{root}::{}", rest.join("::")) }
        };
        match *first {
            "Self" => {
                let own = self.scope.self_type.as_deref()?;
                return Some(with_rest(&super::members::head(&self.full_type(own))));
            }
            "crate" | "self" => return Some(rest.join("::")),
            "core" | "alloc" | "std" => return Some(with_rest("std")),
            _ => {}
        }
        let here = with_rest(first);
        if [&self.present, &self.cells].iter().any(|i| !i.at(first).is_empty()) {
            return Some(here);
        }
        if let Some(leaf) = self.uses.iter().find(|leaf| leaf.name == *first) {
            let mut path = leaf.path.trim_start_matches("::").to_string();
            if let Some(rest) = path.strip_prefix("core::").or(path.strip_prefix("alloc::")) {
                path = format!("std::{rest}");
            }
            if path != *first {
                // `use Shape::*` in an earlier cell names what that cell has.
                return Some(with_rest(&path));
            }
        }
        for leaf in self.uses.iter().filter(|leaf| leaf.name == "*") {
            let path = format!("{}::{first}", leaf.path.trim_start_matches("::"));
            if !self.items(&path).is_empty() {
                return Some(with_rest(&path));
            }
        }
        if PRIMITIVES.contains(first) {
            return Some(here);
        }
        if let Some((_, path)) = STD_PRELUDE.iter().find(|(name, _)| name == first) {
            return Some(with_rest(path));
        }
        let exported = format!("onrush::prelude::{first}");
        if !index::prelude().at(&exported).is_empty() {
            return Some(with_rest(&exported));
        }
        // The name of a crate.
        self.world.indexes.iter().any(|i| i.has_module(first)).then_some(here)
    }

    pub fn items(&self, path: &str) -> Vec<Item<'_>> {
        self.world.indexes.iter().flat_map(|i| i.at(path)).filter(|i| i.kind != "impl").collect()
    }

    /// A type as it is written, its name with its full path.
    pub fn full_type(&self, written: &str) -> Ty {
        match Ty::parse(written) {
            Ty::Path { path, arguments, bindings } => {
                let parts: Vec<&str> = path.split("::").collect();
                let full = if parts == ["Self"] { None } else { self.full_path(&parts) };
                Ty::Path { path: full.unwrap_or(path), arguments, bindings }
            }
            other => other,
        }
    }
}

fn leaves(item: &syn::Item) -> Option<Vec<UseLeaf>> {
    match item {
        syn::Item::Use(item) => Some(crate::parse::leaves_of(item)),
        _ => None,
    }
}

/// Lines such as `:dep x` are blanked out: rustc sees none of them.
fn without_commands(text: &str) -> String {
    let is_command = |line: &str| line.starts_with([':', '%', '!']) && !line.starts_with("::");
    let lines: Vec<String> =
        text.split('\n').map(|line| if is_command(line) { " ".repeat(line.len()) } else { line.to_string() }).collect();
    lines.join("\n")
}

pub fn std_prelude() -> impl Iterator<Item = (&'static str, &'static str)> {
    STD_PRELUDE.iter().copied()
}
