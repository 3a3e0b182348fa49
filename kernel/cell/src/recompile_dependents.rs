//! Functions of earlier cells that call a newly defined item. They are compiled again with it, in its crate, so that
//! they call the new one from then on.
//!
//! Functions only. A type stays what it is, and so do its methods and what values hold: those are named in a warning. A
//! function that the new definition does not suit is left as it was, and named too.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;
use syn::visit::Visit;

use crate::generate::{RecompiledFunction, globs, lay_out_only, use_code};
use crate::notebook::Notebook;
use crate::parse::{
    Cell, ItemKind, ItemPart, Part, PartKind, UseLeaf, identifiers, is_value, parse_cell, without_commands,
};
use crate::unchanged_items::{has_static, import_context};

/// How the names of their files begin.
pub const FILE: &str = "again_";

/// Finds the functions that call what this cell redefines, and the callers of such functions. `sources`: the source of
/// each cell.
pub fn callers(cell: &Cell, notebook: &Notebook, sources: &BTreeMap<String, (u64, String)>) -> Vec<RecompiledFunction> {
    let mut changed: BTreeSet<&str> = cell.parts.iter().filter_map(|part| changed(cell, part, notebook)).collect();
    let own: BTreeSet<&str> = cell.parts.iter().filter_map(own_name).collect();
    let mut names: BTreeSet<&str> = BTreeSet::new();
    loop {
        let calls = |user: &&str| {
            let (Some(known), Some(home)) = (notebook.sources.get(*user), notebook.items.get(*user)) else {
                return false;
            };
            let fits = !own.contains(user) && !names.contains(user);
            let sees =
                |name: &&str| known.mentions.contains(*name) && saw(notebook, *home, name) && !binds(&known.text, name);
            fits && changed.iter().any(sees) && is_plain_function(&known.text)
        };
        let found: Vec<&str> = notebook.items.keys().map(String::as_str).filter(calls).collect();
        if found.is_empty() {
            break;
        }
        names.extend(&found);
        changed.extend(&found);
    }
    // A function that names another changed item stays, and its callers stay with it.
    loop {
        let before = names.len();
        let stays = |name: &&str| {
            let (known, home) = (&notebook.sources[*name], notebook.items[*name]);
            let other = |word: &&String| *word != *name && !changed.contains(word.as_str());
            let is_seen = |word: &String| {
                notebook.items.get(word).is_none_or(|at| *at == home || notebook.crates[home].links.contains(at))
            };
            !known.mentions.iter().filter(other).all(is_seen)
                || known.mentions.iter().any(|word| notebook.macros.contains_key(word))
                || known.import_context != import_context(&known.mentions, &Cell::default(), notebook)
        };
        let left: Vec<&str> = names.iter().copied().filter(stays).collect();
        names.retain(|name| !left.contains(name));
        changed.retain(|name| !left.contains(name));
        if names.len() == before {
            break;
        }
    }
    let number = notebook.impl_files.len();
    names.iter().zip(number..).filter_map(|(name, number)| again(name, number, &changed, notebook, sources)).collect()
}

/// Types whose methods were compiled with the function or constant of these crates, and where they are.
pub fn types_that_call(name: &str, homes: &BTreeSet<usize>, notebook: &Notebook) -> BTreeSet<(String, usize)> {
    let mut found = BTreeSet::new();
    for (home, crate_) in notebook.crates.iter().enumerate() {
        let sees = homes.contains(&home) || !crate_.links.is_disjoint(homes);
        let texts = crate_.files.iter().filter(|(_, text)| sees && text.contains(name) && text.contains("impl"));
        let items = texts.filter_map(|(_, text)| syn::parse_file(text).ok()).flat_map(|file| file.items);
        for item in items {
            let syn::Item::Impl(item) = item else { continue };
            let mut words = BTreeSet::new();
            identifiers(item.items.iter().map(ToTokens::to_token_stream).collect(), &mut words);
            let syn::Type::Path(path) = *item.self_ty else { continue };
            let target = path.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
            if words.contains(name) && notebook.items.get(&target) == Some(&home) {
                found.insert((target, home));
            }
        }
    }
    found
}

fn own_name(part: &Part) -> Option<&str> {
    match &part.kind {
        PartKind::Item(ItemPart { kind: ItemKind::Named(name) | ItemKind::Trait(name), .. }) => Some(name),
        _ => None,
    }
}

/// The name of a function, constant or static that was one before, and another.
fn changed<'a>(cell: &'a Cell, part: &'a Part, notebook: &Notebook) -> Option<&'a str> {
    let PartKind::Item(ItemPart { kind: ItemKind::Named(name), .. }) = &part.kind else { return None };
    let (text, known) = (&cell.code[part.range.clone()], notebook.sources.get(name)?);
    (notebook.items.contains_key(name) && is_value(text, name) && is_value(&known.text, name)).then_some(name)
}

/// Whether a crate was compiled with an item of this name.
fn saw(notebook: &Notebook, home: usize, name: &str) -> bool {
    let homes = &notebook.sources[name].homes;
    homes.contains(&home) || !notebook.crates[home].links.is_disjoint(homes)
}

/// Names that a function's patterns bind. An argument `of` is not a call of a function `of`.
#[derive(Default)]
struct BoundNames(BTreeSet<String>);

impl<'ast> Visit<'ast> for BoundNames {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        self.0.insert(pattern.ident.to_string());
        syn::visit::visit_pat_ident(self, pattern);
    }
}

/// Whether a name in an item's text is one that its own patterns bind.
pub fn binds(text: &str, name: &str) -> bool {
    let mut bound = BoundNames::default();
    if let Ok(function) = syn::parse_str::<syn::ItemFn>(text) {
        bound.visit_item_fn(&function);
    }
    bound.0.contains(name)
}

/// Whether it is a function that can be there twice: no state, no name for the linker.
fn is_plain_function(text: &str) -> bool {
    let Ok(function) = syn::parse_str::<syn::ItemFn>(text) else { return false };
    let tokens = text.parse().unwrap_or_default();
    function.attrs.iter().all(|attribute| attribute.path().is_ident("doc") || attribute.path().is_ident("inline"))
        && function.sig.abi.is_none()
        && !has_static(&tokens)
}

fn again(
    name: &str,
    number: usize,
    changed: &BTreeSet<&str>,
    notebook: &Notebook,
    sources: &BTreeMap<String, (u64, String)>,
) -> Option<RecompiledFunction> {
    let (known, home) = (&notebook.sources[name], notebook.items[name]);
    let home = &notebook.crates[home];
    let cell = parse_cell(&without_commands(&sources.get(&known.file)?.1));
    let part = cell.parts.iter().find(|part| own_name(part) == Some(name))?;
    if cell.code[part.range.clone()] != known.text {
        return None;
    }
    let mut crates = BTreeSet::new();
    let mut prologue = "#![allow(warnings)] ".to_string();
    let uses: Vec<&UseLeaf> = notebook.uses.iter().collect();
    let found: Vec<&UseLeaf> = uses.iter().copied().filter(|leaf| leaf.name == "*").collect();
    if found.is_empty() {
        prologue.push_str("use ::onrush::prelude::*; ");
    } else {
        let is_other =
            |word: &&String| !notebook.items.contains_key(*word) && !uses.iter().any(|leaf| leaf.name == **word);
        let words = known.mentions.iter().filter(is_other).cloned().collect();
        let names = globs::imports(&words, &found, &notebook.missing, &Cell::default(), notebook);
        prologue.push_str(&format!("use ::onrush::prelude::{{{}}}; ", names.join(", ")));
    }
    for (item, &index) in &notebook.items {
        let wanted = known.mentions.contains(item) || notebook.traits.contains(item) && home.links.contains(&index);
        if item == name || !wanted {
            continue;
        }
        if changed.contains(item.as_str()) {
            prologue.push_str(&format!("use crate::{item}; "));
        } else {
            prologue.push_str(&format!("use ::{}::{item}; ", notebook.crates[index].name));
            crates.insert(index);
        }
    }
    for leaf in &notebook.uses {
        let is_there = notebook.items.contains_key(leaf.first());
        let is_wanted = !leaf.has_name() || known.mentions.contains(&leaf.name);
        if !is_there && is_wanted && !leaf.is_macro_use() {
            prologue.push_str(&format!("use {}; ", use_code(leaf, notebook)));
        }
    }
    let (text, map) = lay_out_only(&cell, &[part], prologue);
    Some(RecompiledFunction {
        name: name.to_string(),
        folder: format!("{FILE}{number}"),
        file: format!("{FILE}{number}_{}", known.file),
        text,
        users_file: known.file.clone(),
        map,
        crates,
    })
}
