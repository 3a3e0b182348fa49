//! Glob imports of the user next to the prelude's glob. Rust reports a name from two globs as ambiguous, so the
//! prelude's glob must stand where the user's globs shadow it.
//!
//! For statements this place is an outer scope: the module around the function into whose block the user's names come.
//! Items have no such scope, because they must be at the root of their crate. So a cell imports only the names of the
//! prelude that its items mention and that none of the user's globs has. The names in a module or an enum are known for
//! the notebook and the standard library. For other crates rustc says which names are missing, and the cell is compiled
//! again with the missing names.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use syn::Item;

use crate::index;
use crate::notebook::Notebook;
use crate::parse::{Cell, ItemKind, ItemPart, Part, PartKind, UseLeaf, leaves_of};

/// Crates of the prelude, which are imported by themselves.
const CRATES: [&str; 3] = ["arrow", "chrono", "serde"];

/// The names that cells have without asking.
pub fn names() -> &'static BTreeSet<String> {
    static NAMES: OnceLock<BTreeSet<String>> = OnceLock::new();
    NAMES.get_or_init(|| {
        // Seen from a cell.
        let text = include_str!("../../../onrush/src/prelude.rs").replace("crate::", "onrush::");
        let items = syn::parse_file(&text).map_or(Vec::new(), |file| file.items);
        let uses = items.iter().filter_map(|item| if let Item::Use(item) = item { Some(item) } else { None });
        let names = uses.flat_map(leaves_of).map(|leaf| leaf.name);
        names.filter(|name| name != "_" && !CRATES.contains(&name.as_str())).collect()
    })
}

/// The globs of a cell and those that it has from earlier ones.
pub fn globs<'a>(cell: &'a Cell, uses: &[&'a UseLeaf]) -> Vec<&'a UseLeaf> {
    let own = cell.parts.iter().flat_map(|part| match &part.kind {
        PartKind::Item(ItemPart { kind: ItemKind::Use(leaves), .. }) => leaves.as_slice(),
        _ => &[],
    });
    own.chain(uses.iter().copied()).filter(|leaf| leaf.name == "*").collect()
}

/// Whether a glob brings a name in. `None` if only rustc knows.
fn brings(glob: &UseLeaf, name: &str, cell: &Cell, notebook: &Notebook) -> Option<bool> {
    let path = glob.path.trim_start_matches("::");
    if let Some(rest) = path.strip_prefix("std").or_else(|| path.strip_prefix("core"))
        && (rest.is_empty() || rest.starts_with("::"))
    {
        return Some(!index::standard().at(&format!("std{rest}::{name}")).is_empty());
    }
    let mut segments = path.split("::");
    let first = segments.next()?;
    let is_it = |part: &&Part| matches!(&part.kind, PartKind::Item(ItemPart { kind: ItemKind::Named(own), .. }) if own == first);
    let own = cell.parts.iter().rfind(is_it).map(|part| &cell.code[part.range.clone()]);
    let text = own.or_else(|| notebook.sources.get(first).map(|source| source.text.as_str()))?;
    let mut item = syn::parse_str::<Item>(text).ok()?;
    for segment in segments {
        let Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) = item else { return None };
        item = items.into_iter().find(|item| defined(item).is_some_and(|name| name == segment))?;
    }
    match item {
        Item::Enum(of) => Some(of.variants.iter().any(|variant| variant.ident == name)),
        Item::Mod(syn::ItemMod { content: Some((_, items)), .. }) => {
            let is_there = items.iter().any(|item| defined(item).is_some_and(|own| own == name));
            // Re-exports of a module, and names that a macro defines in it, are not examined.
            let is_open = items.iter().any(|item| matches!(item, Item::Use(_) | Item::Macro(_)));
            if is_there || !is_open { Some(is_there) } else { None }
        }
        _ => None,
    }
}

fn defined(item: &Item) -> Option<&syn::Ident> {
    match item {
        Item::Struct(i) => Some(&i.ident),
        Item::Union(i) => Some(&i.ident),
        Item::Enum(i) => Some(&i.ident),
        Item::Fn(i) => Some(&i.sig.ident),
        Item::Const(i) => Some(&i.ident),
        Item::Static(i) => Some(&i.ident),
        Item::Type(i) => Some(&i.ident),
        Item::Mod(i) => Some(&i.ident),
        Item::Trait(i) => Some(&i.ident),
        _ => None,
    }
}

/// Finds the names of the prelude to import one by one in addition to `globs`, for items that mention `mentions`.
/// `missing`: names that rustc did not find.
pub fn imports(
    mentions: &BTreeSet<String>,
    globs: &[&UseLeaf],
    missing: &BTreeSet<String>,
    cell: &Cell,
    notebook: &Notebook,
) -> Vec<&'static str> {
    let is_free = |name: &&String| {
        missing.contains(*name) || globs.iter().all(|glob| brings(glob, name, cell, notebook) == Some(false))
    };
    let mentioned = names().iter().filter(|name| mentions.contains(*name));
    mentioned.filter(is_free).map(String::as_str).collect()
}

/// The names of the prelude that a glob is known to bring in, of those that are mentioned.
pub fn claimed(
    mentions: &BTreeSet<String>,
    globs: &[&UseLeaf],
    cell: &Cell,
    notebook: &Notebook,
) -> Vec<(String, String)> {
    let mentioned = names().iter().filter(|name| mentions.contains(*name));
    let by = |name: &String| {
        let glob = globs.iter().find(|glob| brings(glob, name, cell, notebook) == Some(true))?;
        Some((glob.path.clone(), name.clone()))
    };
    mentioned.filter_map(by).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_cell;

    #[test]
    fn what_globs_bring_is_known_where_it_can_be() {
        let cell = parse_cell(
            "mod a { pub fn col() {} pub mod b { pub struct Frame; } } mod open { pub use x::*; } enum E { Value } use a::*;",
        );
        let notebook = Notebook::default();
        let has =
            |path: &str, name: &str| brings(&UseLeaf { path: path.into(), name: "*".into() }, name, &cell, &notebook);
        assert_eq!((has("a", "col"), has("a", "Frame"), has("a::b", "Frame")), (Some(true), Some(false), Some(true)));
        assert_eq!((has("E", "Value"), has("E", "col")), (Some(true), Some(false)));
        assert_eq!((has("open", "col"), has("anyhow", "Error")), (None, None));
        assert_eq!((has("std::io", "Error"), has("std::io", "Frame")), (Some(true), Some(false)));
        assert!(names().contains("col") && names().contains("NaiveDate") && !names().contains("arrow"));
    }
}
