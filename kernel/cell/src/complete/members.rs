//! The fields and methods of a type: its inherent members, those of its `Deref` targets, and those of its traits.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::ty::Ty;
use crate::index::{Index, Item, Line, Member, last};

/// Traits whose methods need no `use`.
const PRELUDE_TRAITS: &[&str] = &[
    "AsMut",
    "AsRef",
    "Clone",
    "DoubleEndedIterator",
    "ExactSizeIterator",
    "Extend",
    "Into",
    "IntoIterator",
    "Iterator",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "ToOwned",
    "ToString",
    "TryInto",
    // Associated functions: `Point::default()`, `String::from(…)`.
    "Default",
    "From",
    "FromIterator",
    "TryFrom",
];

/// Methods that operators stand for, and that nobody looks for.
const QUIET: &[&str] = &[
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "partial_cmp",
    "clone_from",
    "clone_into",
    "borrow",
    "borrow_mut",
    "type_id",
    "fmt",
    "hash",
    "try_into",
    "into",
    "as_ref",
    "as_mut",
    "extend",
    "to_owned",
    "cmp",
    "try_from",
];

/// Steps from a type to what it dereferences to: `Arc<Mutex<…>>` has few, and a circle many.
const DEPTH: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    Field,
    Own,
    Behind,
    Trait,
    Quiet,
}

#[derive(Clone, Debug)]
pub struct MemberMatch {
    pub name: String,
    pub kind: char,
    pub signature: String,
    pub docs: String,
    pub rank: Rank,
    /// The type or the trait that has it.
    pub owner: String,
}

/// Everything that is known where the cursor is.
#[derive(Clone, Debug, Default)]
pub struct MemberLookup {
    /// The cells' own first.
    pub indexes: Vec<Arc<Index>>,
    /// From which one on they are those of crates; 0 if there are none.
    pub crates: usize,
    /// Names of imported traits.
    pub traits: BTreeSet<String>,
    /// Bounds of type parameters.
    pub generics: BTreeMap<String, String>,
}

/// The name under which an index holds a type.
pub fn head(ty: &Ty) -> String {
    match ty {
        Ty::Path { path, .. } => without_cell(path).to_string(),
        Ty::Reference(_) => "reference".into(),
        Ty::Pointer(_) => "pointer".into(),
        Ty::Slice(_) => "slice".into(),
        Ty::Array(_) => "array".into(),
        Ty::Tuple(parts) if parts.is_empty() => "unit".into(),
        Ty::Tuple(_) => "tuple".into(),
        Ty::Bounds(_) => String::new(),
        Ty::Other(text) if text.starts_with("fn") || text.contains("fn(") => "fn".into(),
        Ty::Other(_) => String::new(),
    }
}

/// Strips the crate of a cell: `onrush_cell_3::geo::Point` is `geo::Point`.
pub fn without_cell(path: &str) -> &str {
    let path = path.trim_start_matches("::").trim_start_matches("crate::");
    let path = match path.split_once("::") {
        Some((root, rest)) if root.starts_with("onrush_cell_") || root == "onrush_probe" => rest,
        _ => path,
    };
    path.trim_start_matches("__body::").trim_start_matches("__onrush_run::")
}

impl MemberLookup {
    /// The items of a type's or a trait's path; of its name where the path is not known.
    pub fn items(&self, path: &str) -> Vec<Item<'_>> {
        let exact = |index: &'_ Arc<Index>| index.at(path).iter().any(|i| i.kind != "impl");
        if let Some(index) = self.indexes.iter().find(|index| exact(index)) {
            return index.at(path).into_iter().filter(|i| i.kind != "impl").collect();
        }
        let name = last(path);
        let named = |index: &'_ Arc<Index>| index.named(name).iter().any(|i| i.is_type() || i.kind == "trait");
        let Some(index) = self.indexes.iter().find(|index| named(index)) else { return Vec::new() };
        index.named(name).into_iter().filter(|i| i.is_type() || i.kind == "trait").take(1).collect()
    }

    /// Impls that stand for themselves: of cells and crates. One for a type that was defined again since is another
    /// type's.
    fn impls(&self, path: &str) -> impl Iterator<Item = Item<'_>> {
        let name = last(path).to_string();
        let home = self.indexes.iter().position(|i| i.named(&name).iter().any(|i| i.is_type()));
        let newer = home.map_or(self.indexes.len(), |home| home + 1);
        let all = self.indexes[..newer].iter().flat_map(move |i| i.named(&name).into_iter().chain(i.named("*")));
        all.filter(|item| item.kind == "impl")
    }

    pub fn trait_item(&self, name: &str) -> Option<Item<'_>> {
        self.items(name)
            .into_iter()
            .find(|i| i.kind == "trait")
            .or_else(|| self.indexes.iter().flat_map(|i| i.named(last(name))).find(|i| i.kind == "trait"))
    }

    fn in_scope(&self, of_trait: &str) -> bool {
        let name = last(of_trait);
        PRELUDE_TRAITS.contains(&name) || self.traits.contains(name)
    }

    /// The members that can stand behind the dot.
    pub fn members(&self, ty: &Ty) -> Vec<MemberMatch> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        let mut current = Some(ty.clone());
        for depth in 0..DEPTH {
            let Some(now) = current else { break };
            let mut of_type = Vec::new();
            current = self.level(&now, depth, &|kind| matches!(kind, 'm' | 'f'), &mut of_type);
            // A nearer member hides the ones behind it.
            for one in of_type {
                if seen.insert(one.name.clone()) {
                    found.push(one);
                }
            }
        }
        found
    }

    /// The names that can stand behind `Type::`.
    pub fn associated(&self, ty: &Ty) -> Vec<MemberMatch> {
        let mut found = Vec::new();
        self.level(ty, 0, &|kind| kind != 'f', &mut found);
        let mut seen = BTreeSet::new();
        found.retain(|one| seen.insert(one.name.clone()));
        found
    }

    /// Members of exactly this type; gives what it dereferences to.
    fn level(&self, ty: &Ty, depth: usize, wanted: &dyn Fn(char) -> bool, found: &mut Vec<MemberMatch>) -> Option<Ty> {
        let rank = if depth == 0 { Rank::Own } else { Rank::Behind };
        match ty {
            Ty::Bounds(bounds) => {
                self.of_bounds(bounds, wanted, found);
                return None;
            }
            Ty::Path { path, arguments, .. } if arguments.is_empty() && self.generics.contains_key(path) => {
                if let Ty::Bounds(bounds) = Ty::parse(&format!("impl {}", self.generics[path])) {
                    self.of_bounds(&bounds, wanted, found);
                }
                return None;
            }
            Ty::Tuple(parts) if wanted('f') => {
                for (i, part) in parts.iter().enumerate() {
                    let (name, signature) = (i.to_string(), format!("{part}"));
                    let owner = "tuple".to_string();
                    found.push(MemberMatch {
                        name,
                        kind: 'f',
                        signature,
                        docs: String::new(),
                        rank: Rank::Field,
                        owner,
                    });
                }
                self.of_trait("std::clone::Clone", wanted, found);
            }
            _ => {}
        }
        let head = head(ty);
        if head.is_empty() {
            return None;
        }
        let items = self.items(&head);
        // The target of a type alias.
        if let Some(alias) = items.iter().find(|i| i.kind == "type") {
            let target = alias.signature.split_once(" = ").map(|(_, t)| Ty::parse(t.trim_end_matches(';')));
            if let Some(target) = target.filter(|t| self::head(t) != head) {
                return self.level(&target, depth, wanted, found);
            }
        }
        let mut behind = match ty {
            Ty::Reference(inner) => Some((**inner).clone()),
            Ty::Array(inner) => Some(Ty::Slice(inner.clone())),
            _ => None,
        };
        // The members of a reference are also members of its target.
        let own = items.into_iter().filter(|i| i.kind != "trait" && !matches!(ty, Ty::Reference(_)));
        for item in own.chain(self.impls(&head)) {
            // Fields come before any impl.
            let mut bound = Some(HashMap::new());
            for line in item.lines() {
                match line {
                    Line::Impl { of, of_trait, parameters } => {
                        // Most impls are of traits that nobody calls by name.
                        let is_asked = of_trait.is_empty() || last(of_trait) == "Deref" || self.gives(of_trait);
                        bound = is_asked.then(|| self.covers(of, parameters, ty, DEPTH)).flatten();
                        if bound.is_some() && !of_trait.is_empty() {
                            self.of_trait(of_trait, wanted, found);
                        }
                    }
                    Line::Target(target) => {
                        if let Some(map) = &bound {
                            behind = behind.or_else(|| Some(Ty::parse(target).with(map)));
                        }
                    }
                    Line::Member(member) if bound.is_some() && wanted(member.kind) => {
                        let rank = match member.kind {
                            'f' | 'v' => Rank::Field,
                            _ => quiet_or(member.name, rank),
                        };
                        found.push(found_of(member, &head, rank));
                    }
                    Line::Member(_) => {}
                }
            }
        }
        behind
    }

    /// Whether an impl is for a type: what its parameters stand for then.
    fn covers(&self, of: &str, parameters: &str, ty: &Ty, depth: usize) -> Option<HashMap<String, Ty>> {
        let parameters: Vec<(&str, &str)> =
            parameters.split(',').map(|p| p.split_once(':').unwrap_or((p, ""))).collect();
        let names: Vec<&str> = parameters.iter().map(|p| p.0).collect();
        let pattern = Ty::parse(of);
        let mut map = HashMap::new();
        // The page of slices is also that of `&[T]`, and so on: what is for another type does not count.
        if !head_matches(&pattern, ty, &names) || !pattern.covers(ty, &names, &mut map) {
            return None;
        }
        let holds = |(name, traits): &(&str, &str)| match map.get(*name) {
            Some(actual) => traits.split(':').all(|of_trait| of_trait.is_empty() || self.has(actual, of_trait, depth)),
            None => true,
        };
        parameters.iter().all(holds).then_some(map)
    }

    /// Whether a trait gives methods that can be called here, or others that do.
    fn gives(&self, of_trait: &str) -> bool {
        matches!(last(of_trait), "Display" | "Future") || self.in_scope(of_trait)
    }

    /// Whether a type has a trait. In doubt it has: too much is offered rather than too little.
    pub fn has(&self, ty: &Ty, of_trait: &str, depth: usize) -> bool {
        let wanted = last(of_trait);
        let Some(depth) = depth.checked_sub(1) else { return true };
        // Parts decide about derives and operators.
        let by_parts = matches!(
            wanted,
            "Clone" | "Copy" | "PartialEq" | "Eq" | "PartialOrd" | "Ord" | "Hash" | "Debug" | "Default"
        );
        match ty {
            Ty::Bounds(bounds) => {
                bounds.iter().any(|b| matches!(b, Ty::Path { path, .. } if self.is_or_above(path, wanted, depth)))
            }
            Ty::Path { path, arguments, .. } if arguments.is_empty() && self.generics.contains_key(path) => {
                let bounds = Ty::parse(&format!("impl {}", self.generics[path]));
                !self.generics[path].is_empty() && self.has(&bounds, wanted, depth)
            }
            Ty::Reference(_) | Ty::Other(_) if matches!(wanted, "Clone" | "Copy") => true,
            Ty::Reference(inner) => self.has(inner, wanted, depth),
            Ty::Other(_) => matches!(wanted, "Fn" | "FnMut" | "FnOnce"),
            Ty::Tuple(parts) => by_parts && parts.iter().all(|part| self.has(part, wanted, depth)),
            Ty::Slice(inner) | Ty::Array(inner) if by_parts => self.has(inner, wanted, depth),
            _ => {
                let head = head(ty);
                let items = self.items(&head);
                if items.is_empty() {
                    return true;
                }
                // A crate may write its impls by macros that the index does not see through.
                let in_doubt = self.is_of_a_crate(wanted);
                in_doubt
                    || items.into_iter().chain(self.impls(&head)).any(|item| {
                        item.lines().any(|line| match line {
                            Line::Impl { of, of_trait, parameters } if last(of_trait) == wanted => {
                                self.covers(of, parameters, ty, depth).is_some()
                            }
                            _ => false,
                        })
                    })
            }
        }
    }

    fn is_of_a_crate(&self, of_trait: &str) -> bool {
        let home = self.indexes.iter().position(|i| i.named(of_trait).iter().any(|item| item.kind == "trait"));
        home.is_some_and(|home| self.crates > 0 && home >= self.crates)
    }

    /// Whether a trait is one, or has it as a supertrait.
    fn is_or_above(&self, path: &str, wanted: &str, depth: usize) -> bool {
        last(path) == wanted
            || depth > 0
                && self.trait_item(without_cell(path)).is_some_and(|item| {
                    supertraits(&item).iter().any(|above| self.is_or_above(above, wanted, depth - 1))
                })
    }

    fn of_bounds(&self, bounds: &[Ty], wanted: &dyn Fn(char) -> bool, found: &mut Vec<MemberMatch>) {
        for bound in bounds {
            if let Ty::Path { path, .. } = bound {
                // A bound needs no import.
                self.methods_of(path, wanted, found, 0);
            }
        }
    }

    fn of_trait(&self, of_trait: &str, wanted: &dyn Fn(char) -> bool, found: &mut Vec<MemberMatch>) {
        if self.in_scope(of_trait) {
            self.methods_of(of_trait, wanted, found, DEPTH - 1);
        }
        // The members from impls for all types with a trait.
        match last(of_trait) {
            "Display" => self.methods_of("std::string::ToString", wanted, found, DEPTH),
            "Iterator" => self.methods_of("std::iter::IntoIterator", wanted, found, DEPTH),
            _ => {}
        }
    }

    fn methods_of(&self, of_trait: &str, wanted: &dyn Fn(char) -> bool, found: &mut Vec<MemberMatch>, depth: usize) {
        let Some(item) = self.trait_item(without_cell(of_trait)) else { return };
        for member in item.members().filter(|m| wanted(m.kind)) {
            found.push(found_of(member, item.name(), quiet_or(member.name, Rank::Trait)));
        }
        if depth >= DEPTH {
            return;
        }
        for above in supertraits(&item) {
            self.methods_of(&above, wanted, found, depth + 1);
        }
        match last(of_trait) {
            "Display" => self.methods_of("std::string::ToString", wanted, found, DEPTH),
            "Iterator" => self.methods_of("std::iter::IntoIterator", wanted, found, DEPTH),
            _ => {}
        }
    }
}

/// The traits behind the colon of `trait Ord: Eq + PartialOrd`.
fn supertraits(item: &Item<'_>) -> Vec<String> {
    let head = item.signature.split(" where ").next().unwrap_or("");
    let Some((_, above)) = head.split_once(": ") else { return Vec::new() };
    match Ty::parse(&format!("impl {above}")) {
        Ty::Bounds(bounds) => {
            let path = |b: Ty| if let Ty::Path { path, .. } = b { Some(path) } else { None };
            bounds.into_iter().filter_map(path).collect()
        }
        _ => Vec::new(),
    }
}

fn quiet_or(name: &str, rank: Rank) -> Rank {
    if QUIET.contains(&name) { Rank::Quiet } else { rank }
}

fn head_matches(pattern: &Ty, actual: &Ty, parameters: &[&str]) -> bool {
    match pattern {
        Ty::Path { path, arguments, .. } if arguments.is_empty() && parameters.contains(&path.as_str()) => true,
        Ty::Path { path, .. } => last(path) == last(&head(actual)) || path == "Self",
        _ => head(pattern) == head(actual),
    }
}

fn found_of(member: Member<'_>, owner: &str, rank: Rank) -> MemberMatch {
    MemberMatch {
        name: member.name.to_string(),
        kind: member.kind,
        signature: member.signature.to_string(),
        docs: member.docs(),
        rank,
        owner: owner.to_string(),
    }
}

impl std::fmt::Display for Ty {
    /// As a user would write it, paths without their modules.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |f: &mut std::fmt::Formatter<'_>, types: &[Ty]| -> std::fmt::Result {
            for (i, ty) in types.iter().enumerate() {
                write!(f, "{}{ty}", if i > 0 { ", " } else { "" })?;
            }
            Ok(())
        };
        match self {
            Ty::Path { path, arguments, bindings } => {
                f.write_str(last(path))?;
                if arguments.is_empty() && bindings.is_empty() {
                    return Ok(());
                }
                f.write_str("<")?;
                list(f, arguments)?;
                for (i, (name, ty)) in bindings.iter().enumerate() {
                    write!(f, "{}{name} = {ty}", if i > 0 || !arguments.is_empty() { ", " } else { "" })?;
                }
                f.write_str(">")
            }
            Ty::Reference(inner) => write!(f, "&{inner}"),
            Ty::Pointer(inner) => write!(f, "*{inner}"),
            Ty::Slice(inner) => write!(f, "[{inner}]"),
            Ty::Array(inner) => write!(f, "[{inner}; _]"),
            Ty::Tuple(parts) => {
                f.write_str("(")?;
                list(f, parts)?;
                f.write_str(")")
            }
            Ty::Bounds(bounds) => {
                for (i, bound) in bounds.iter().enumerate() {
                    write!(f, "{}{bound}", if i > 0 { " + " } else { "" })?;
                }
                Ok(())
            }
            Ty::Other(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index;

    fn names(ty: &str) -> Vec<String> {
        let world = MemberLookup { indexes: vec![index::standard()], ..MemberLookup::default() };
        world.members(&Ty::parse(ty)).into_iter().map(|f| f.name).collect()
    }

    /// Expected names are those of the documentation of Rust 1.95.
    #[track_caller]
    fn check(ty: &str, has: &[&str], has_not: &[&str]) {
        let names = names(ty);
        for name in has {
            assert!(names.iter().any(|n| n == name), "{ty} has {name}: {names:?}");
        }
        for name in has_not {
            assert!(!names.iter().any(|n| n == name), "{ty} has no {name}");
        }
    }

    #[test]
    fn members_of_the_standard_library() {
        check(
            "std::vec::Vec<i32>",
            &["push", "iter", "sort_unstable", "windows", "clone", "into_iter", "len"],
            &["to_ascii_lowercase", "new", "into_flattened"],
        );
        check("std::vec::Vec<u8>", &["to_ascii_lowercase", "is_ascii"], &[]);
        check("std::string::String", &["push_str", "chars", "to_string", "to_uppercase", "as_bytes"], &["from_utf8"]);
        check("&str", &["split", "parse", "to_string", "trim", "to_owned"], &["push"]);
        check(
            "std::option::Option<std::string::String>",
            &["unwrap_or_default", "as_deref", "map", "is_some_and"],
            &["copied", "transpose", "flatten"],
        );
        check("std::option::Option<&i32>", &["copied", "cloned"], &["transpose"]);
        check("std::result::Result<i32, std::num::ParseIntError>", &["map_err", "unwrap", "ok"], &["push"]);
        check(
            "std::iter::Map<std::slice::Iter<'_, i32>, {closure@a:1:2: 3:4}>",
            &["collect", "rev", "sum", "len"],
            &[],
        );
        check("std::rc::Rc<std::cell::RefCell<std::vec::Vec<i32>>>", &["borrow_mut", "clone", "replace"], &["push"]);
        check("std::cell::RefMut<'_, std::vec::Vec<i32>>", &["push", "len"], &[]);
        check(
            "std::sync::MutexGuard<'_, std::collections::HashMap<std::string::String, i32>>",
            &["entry", "values_mut"],
            &[],
        );
        check("std::boxed::Box<dyn std::fmt::Display>", &["to_string"], &[]);
        check("{integer}", &["pow", "abs", "checked_add", "clamp", "to_string"], &["sqrt"]);
        check("f64", &["sqrt", "powi", "max", "is_nan", "to_string"], &[]);
        check("char", &["is_alphabetic", "to_digit"], &[]);
        check("[i32; 3]", &["iter", "map", "contains", "len"], &[]);
        check("std::boxed::Box<dyn std::error::Error>", &["to_string", "source"], &["map", "read"]);
        check("std::boxed::Box<std::vec::IntoIter<i32>>", &["map", "next"], &["write"]);
        check("std::vec::Vec<std::fs::File>", &["len", "push"], &["clone", "dedup"]);
        check("std::option::Option<std::vec::Vec<i32>>", &["clone", "cmp", "unwrap_or_default"], &["to_string"]);
        check("(i32, &str)", &["0", "1", "clone"], &["2"]);
        check("std::ops::Range<i32>", &["start", "end", "contains", "map", "rev"], &[]);
        check("impl std::iter::Iterator<Item = i32>", &["filter", "into_iter"], &["len", "next_back"]);
        check("impl DoubleEndedIterator<Item = i32>", &["rev", "map"], &[]);
        check(
            "std::collections::HashMap<std::string::String, i32>",
            ["entry", "keys", "get_or_insert_with"][..2].as_ref(),
            &["range"],
        );
        check(
            "std::collections::hash_map::Entry<'_, std::string::String, i32>",
            &["or_insert", "or_default", "and_modify"],
            &[],
        );
        check("std::time::Instant", &["elapsed"], &["now"]);
        check("std::path::PathBuf", &["push", "join", "exists", "display"], &[]);
        check("std::fs::File", &["metadata", "sync_all"], &["read_to_string"]);
        check("std::process::Output", &["status", "stdout"], &[]);
    }

    #[test]
    fn parameters_have_what_their_bounds_have() {
        let mut world = MemberLookup { indexes: vec![index::standard()], ..MemberLookup::default() };
        world.generics.insert("T".into(), "Iterator<Item = u8> + std::io::Read".into());
        let names: Vec<String> = world.members(&Ty::parse("&mut T")).into_iter().map(|f| f.name).collect();
        assert!(names.contains(&"filter".to_string()) && names.contains(&"read_to_end".to_string()));
        world.traits.insert("Read".into());
        let file: Vec<String> = world.members(&Ty::parse("std::fs::File")).into_iter().map(|f| f.name).collect();
        assert!(file.contains(&"read_to_string".to_string()));
    }
}
