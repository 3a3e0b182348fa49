//! A cell that runs again, or repeats items of an earlier one. Unchanged items stay where they are, so that values of
//! their types remain of these types. Functions compiled with them need not be compiled again.
//!
//! An item is what it was if its tokens are, and if all that they name is. Statics and macros are new each time.

use std::collections::{BTreeMap, BTreeSet};

use onrush_wire::Diagnostic;
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;

use crate::lexer::{Lines, position};
use crate::notebook::Notebook;
use crate::parse::item_macros::recognise;
use crate::parse::{Cell, ItemKind, Part, PartKind, UseLeaf, parse_cell};

/// The cell without the items that earlier cells have already, and those items. `None` if there are none.
pub fn without_unchanged(cell: &Cell, notebook: &Notebook) -> Option<(Cell, Vec<Part>)> {
    let mut same: Vec<(usize, usize)> =
        cell.parts.iter().enumerate().filter_map(|(index, part)| Some((index, home(cell, part, notebook)?))).collect();
    // An item that names something new is new itself.
    loop {
        let indexes: BTreeSet<usize> = same.iter().map(|&(known, _)| known).collect();
        let is_same = |index: usize| indexes.contains(&index);
        let new: BTreeSet<&str> = cell
            .parts
            .iter()
            .enumerate()
            .filter(|(index, _)| !is_same(*index))
            .flat_map(|(_, part)| defined(part))
            .collect();
        let before = same.len();
        same.retain(|&(index, _)| {
            let part = &cell.parts[index];
            !part.mentions.iter().any(|name| new.contains(name.as_str()))
        });
        if same.len() == before {
            break;
        }
    }
    let same: BTreeSet<usize> = same.into_iter().map(|(index, _)| index).collect();
    (!same.is_empty())
        .then(|| (without(cell, &same, notebook), same.iter().map(|&index| cell.parts[index].clone()).collect()))
}

/// rustc's warnings about items, by the item's source. A warning is reported again if its item stays. Lines count from
/// the item.
#[derive(Default)]
pub struct Warnings(BTreeMap<String, Vec<Diagnostic>>);

impl Warnings {
    pub fn note(&mut self, cell: &Cell, warnings: &[Diagnostic]) {
        let lines = Lines::new(&cell.code);
        for part in cell.parts.iter().filter(|part| matches!(part.kind, PartKind::Item(_))) {
            let (first, last) = (lines.line(part.range.start), lines.line(part.range.end));
            let within = |warning: &&Diagnostic| {
                !warning.labels.is_empty() && warning.labels.iter().all(|l| (first..=last).contains(&l.span.line))
            };
            let mut found: Vec<Diagnostic> = warnings.iter().filter(within).cloned().collect();
            found.iter_mut().flat_map(|warning| &mut warning.labels).for_each(|label| label.span.line -= first);
            let text = cell.code[part.range.clone()].to_string();
            if found.is_empty() { drop(self.0.remove(&text)) } else { drop(self.0.insert(text, found)) }
        }
    }

    pub fn of(&self, part: &Part, code: &str, file: &str) -> Vec<Diagnostic> {
        let mut warnings = self.0.get(&code[part.range.clone()]).cloned().unwrap_or_default();
        let first = position(code, part.range.start).0;
        for label in warnings.iter_mut().flat_map(|warning| &mut warning.labels) {
            label.span.line += first;
            label.span.file = file.to_string();
        }
        warnings
    }
}

/// The cell with some of its parts blanked out.
pub fn without(cell: &Cell, parts: &BTreeSet<usize>, notebook: &Notebook) -> Cell {
    let mut is_inside = vec![false; cell.code.len()];
    parts.iter().for_each(|&index| is_inside[cell.parts[index].range.clone()].fill(true));
    let inside = |at: usize| is_inside[at];
    // At the same columns; characters of several bytes become spaces of one, so the parts are found anew.
    let code: String = cell.code.char_indices().map(|(at, c)| if inside(at) && c != '\n' { ' ' } else { c }).collect();
    recognise(parse_cell(&code), &|name| notebook.macro_definition(name)).with_optimisation(cell.optimisation)
}

/// The cell's own imports.
pub fn own_uses(cell: &Cell) -> Vec<&UseLeaf> {
    let items =
        cell.parts.iter().filter_map(|part| if let PartKind::Item(item) = &part.kind { Some(item) } else { None });
    items.flat_map(|item| if let ItemKind::Use(leaves) = &item.kind { leaves.as_slice() } else { &[] }).collect()
}

/// Collects what decides the meaning of an item's names: imports, and the key of the crates of `:dep`.
pub fn import_context(mentions: &BTreeSet<String>, cell: &Cell, notebook: &Notebook) -> BTreeSet<String> {
    let own = own_uses(cell);
    let named = |leaf: &&UseLeaf| mentions.contains(&leaf.name);
    let earlier = notebook.uses.iter().filter(|leaf| !own.iter().any(|new| new.name == leaf.name));
    let imports = earlier.chain(own.iter().copied()).filter(named).map(UseLeaf::code);
    imports.chain([notebook.dependencies.key().to_string()]).collect()
}

/// The names that a part defines for other parts, and that may have been something else before.
fn defined(part: &Part) -> Vec<&str> {
    let PartKind::Item(item) = &part.kind else { return Vec::new() };
    match &item.kind {
        ItemKind::Named(name) | ItemKind::Trait(name) | ItemKind::Macro(name) => vec![name],
        ItemKind::Statics(names) => names.iter().map(String::as_str).collect(),
        // The meaning of an import is compared by itself.
        _ => Vec::new(),
    }
}

/// The crate that has this very item.
fn home(cell: &Cell, part: &Part, notebook: &Notebook) -> Option<usize> {
    let PartKind::Item(item) = &part.kind else { return None };
    let text = &cell.code[part.range.clone()];
    let home = match &item.kind {
        ItemKind::Named(name) | ItemKind::Trait(name) => {
            let (source, &home) = (notebook.sources.get(name)?, notebook.items.get(name)?);
            let hidden = notebook.variables.contains_key(name) || notebook.uses.iter().any(|leaf| leaf.name == *name);
            let same = same_tokens(text, &source.text)
                && source.import_context == import_context(&part.mentions, cell, notebook)
                && !hidden;
            same.then_some(home)?
        }
        ItemKind::Impl { target: Some(target), .. } => {
            let &home = notebook.items.get(target)?;
            let wanted = tokens_of_impl(syn::parse_str(text).ok()?);
            let files = notebook.crates[home].files.iter().filter_map(|(_, text)| syn::parse_file(text).ok());
            let mut impls = files.flat_map(|file| file.items).filter_map(|item| match item {
                syn::Item::Impl(known) => Some(tokens_of_impl(known)),
                _ => None,
            });
            impls.any(|known| known == wanted).then_some(home)?
        }
        _ => return None,
    };
    if has_static(&text.parse().ok()?) || part.mentions.iter().any(|name| notebook.macros.contains_key(name)) {
        return None;
    }
    let links = &notebook.crates[home].links;
    let is_seen = |name: &String| notebook.items.get(name).is_none_or(|index| *index == home || links.contains(index));
    part.mentions.iter().all(is_seen).then_some(home)
}

fn same_tokens(a: &str, b: &str) -> bool {
    let tokens = |text: &str| text.parse::<TokenStream>().map(|tokens| tokens.to_string());
    a == b || matches!((tokens(a), tokens(b)), (Ok(a), Ok(b)) if a == b)
}

/// Without what makes its items public.
fn tokens_of_impl(mut of: syn::ItemImpl) -> String {
    for item in &mut of.items {
        match item {
            syn::ImplItem::Fn(item) => item.vis = syn::Visibility::Inherited,
            syn::ImplItem::Const(item) => item.vis = syn::Visibility::Inherited,
            syn::ImplItem::Type(item) => item.vis = syn::Visibility::Inherited,
            _ => {}
        }
    }
    of.into_token_stream().to_string()
}

/// Whether there is a `static` somewhere, which begins anew.
pub fn has_static(tokens: &TokenStream) -> bool {
    let mut after_quote = false;
    tokens.clone().into_iter().any(|token| {
        let found = match &token {
            TokenTree::Group(group) => has_static(&group.stream()),
            TokenTree::Ident(ident) => !after_quote && (ident == "static" || ident == "thread_local"),
            _ => false,
        };
        after_quote = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '\'');
        found
    })
}
