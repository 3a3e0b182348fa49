//! An `impl` for a type of an earlier cell: Rust wants it in the type's crate, so that crate is made again with it.
//!
//! Same crate name and metadata, so unchanged definitions keep their `TypeId` and old values gain the methods. A new
//! file, so that the loader takes it. Then everything that links it, in order. Statics stay the first object's: the
//! loader finds theirs first.

use std::collections::BTreeSet;

use onrush_wire::{Class, Diagnostic, Span};
use quote::ToTokens;
use syn::spanned::Spanned;

use crate::compile::{Compiler, Places};
use crate::generate::{GeneratedCrate, crates_in, globs, lay_out_only, use_code};
use crate::hints;
use crate::lexer::position;
use crate::notebook::{KnownSource, Notebook};
use crate::parse::{Cell, ItemKind, ItemPart, Part, PartKind, UseLeaf};
use crate::rustc::{self, CompileResult, Source};
use crate::source_map::SourceMap;
use crate::unchanged_items::{import_context, own_uses, without};

/// A cell without the impls that went to earlier crates, and the notebook in which they are there.
pub struct ReopenedCrates {
    pub cell: Cell,
    pub notebook: Notebook,
}

/// Moves the impls of a cell that belong into earlier crates. `None` if there are none.
pub fn move_impls(
    compiler: &Compiler,
    cell: &Cell,
    file: &str,
    notebook: &Notebook,
) -> Result<Option<ReopenedCrates>, Vec<Diagnostic>> {
    let own: BTreeSet<&str> = cell.parts.iter().filter_map(own_name).collect();
    let mut homes: Vec<(usize, usize)> = Vec::new();
    for (index, part) in cell.parts.iter().enumerate() {
        if let Some(home) = home_of(cell, part, &own, notebook) {
            homes.push((index, home));
        }
    }
    if homes.is_empty() {
        return Ok(None);
    }
    let mut changed = notebook.clone();
    let targets: BTreeSet<usize> = homes.iter().map(|&(_, home)| home).collect();
    for &home in &targets {
        let impls: BTreeSet<usize> = homes.iter().filter(|(_, h)| *h == home).map(|&(index, _)| index).collect();
        let (moved, there) = companions(cell, &impls, home, &changed);
        let parts: Vec<&Part> = impls.union(&moved).map(|&index| &cell.parts[index]).collect();
        let there_already: BTreeSet<&str> = there.iter().filter_map(|&index| own_name(&cell.parts[index])).collect();
        add_impls(compiler, cell, file, &parts, home, &(&own - &there_already), &mut changed)?;
        homes.extend(moved.union(&there).map(|&index| (index, home)));
    }
    let rest = without(cell, &homes.iter().map(|&(index, _)| index).collect(), notebook);
    Ok(Some(ReopenedCrates { cell: rest, notebook: changed }))
}

fn own_name(part: &Part) -> Option<&str> {
    match &part.kind {
        PartKind::Item(item) => match &item.kind {
            ItemKind::Named(name) | ItemKind::Trait(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// The items of the cell that impls for an earlier crate mention, and what those mention: they go along. The second set
/// is there already, from an earlier run of the cell. An item that cannot go along is in neither.
fn companions(
    cell: &Cell,
    impls: &BTreeSet<usize>,
    home: usize,
    notebook: &Notebook,
) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut moved, mut there) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let along = || impls.union(&moved).map(|&index| &cell.parts[index]);
        let names: BTreeSet<&str> =
            along().chain(there.iter().map(|&index| &cell.parts[index])).filter_map(own_name).collect();
        let mentioned: BTreeSet<&str> = along().flat_map(|part| part.mentions.iter().map(String::as_str)).collect();
        let found = cell.parts.iter().enumerate().find(|(index, part)| {
            if impls.contains(index) || moved.contains(index) || there.contains(index) {
                return false;
            }
            match &part.kind {
                PartKind::Item(ItemPart { kind: ItemKind::Impl { header, .. }, .. }) => {
                    header.iter().any(|name| names.contains(name.as_str()))
                }
                _ => {
                    own_name(part).is_some_and(|name| mentioned.contains(name) && may_move(cell, part, home, notebook))
                }
            }
        });
        let Some((index, part)) = found else { return (moved, there) };
        if own_name(part).is_some_and(|name| is_there(cell, part, name, home, notebook)) {
            there.insert(index);
        } else {
            moved.insert(index);
        }
    }
}

/// An earlier crate has this very item, because it went there with an impl.
fn is_there(cell: &Cell, part: &Part, name: &str, home: usize, notebook: &Notebook) -> bool {
    let same = notebook.sources.get(name).is_some_and(|source| source.text == cell.code[part.range.clone()]);
    same && notebook.items.get(name) == Some(&home) && notebook.crates[home].files[0].1.contains(&reexport(name))
}

/// An item with a name that the earlier crate has itself stays. So does a type in place of one that went there before,
/// because values of that one may live.
fn may_move(cell: &Cell, part: &Part, home: usize, notebook: &Notebook) -> bool {
    let Some(name) = own_name(part) else { return false };
    if !notebook.sources.get(name).is_some_and(|source| source.homes.contains(&home)) {
        return true;
    }
    let went = notebook.crates[home].files[0].1.contains(&reexport(name));
    let text = cell.code[part.range.clone()].trim_start();
    let is_type = ["struct ", "enum ", "union ", "trait "].iter().any(|word| text.contains(word));
    went && (!is_type || is_there(cell, part, name, home, notebook))
}

/// How the root of a crate names an item that went to it with an impl, without the module before it.
fn reexport(name: &str) -> String {
    format!("::{name}; //went along")
}

/// The earlier crate that an impl belongs to.
fn home_of(cell: &Cell, part: &Part, own: &BTreeSet<&str>, notebook: &Notebook) -> Option<usize> {
    let PartKind::Item(item) = &part.kind else { return None };
    let ItemKind::Impl { target, of_trait, header, .. } = &item.kind else { return None };
    let home = |name: &Option<String>| name.as_ref().and_then(|n| notebook.items.get(n)).copied();
    if header.iter().any(|name| own.contains(name.as_str())) {
        // `impl Shape for Vec<Mine>`: a type of this cell is mentioned, and does not make it this crate's.
        let is_own = of_trait.as_ref().is_some_and(|name| own.contains(name.as_str()))
            || outer_names(&cell.code[part.range.clone()]).iter().any(|name| own.contains(name.as_str()));
        return if is_own { None } else { home(of_trait) };
    }
    match (home(target), home(of_trait)) {
        // The one that sees the other.
        (Some(of_type), Some(of_trait)) if notebook.crates[of_trait].links.contains(&of_type) => Some(of_trait),
        (Some(of_type), _) => Some(of_type),
        // `impl Mul<Point> for f64`.
        (None, None) => {
            let made = |name: &String| notebook.made.iter().rfind(|(names, _)| names.contains(name)).map(|made| made.1);
            header
                .iter()
                .filter_map(|name| notebook.items.get(name))
                .max()
                .copied()
                .or_else(|| target.as_ref().and_then(made))
        }
        (None, of_trait) => of_trait,
    }
}

/// The types that decide the crate of an `impl`: the type that it is for and the trait's arguments, bare, borrowed or
/// in a box.
fn outer_names(text: &str) -> Vec<String> {
    fn collect(of: &syn::Type, names: &mut Vec<String>) {
        match of {
            syn::Type::Reference(reference) => collect(&reference.elem, names),
            syn::Type::Paren(inner) => collect(&inner.elem, names),
            syn::Type::Path(path) => {
                let Some(last) = path.path.segments.last() else { return };
                if last.ident == "Box" || last.ident == "Pin" {
                    arguments(last, names);
                }
                names.push(last.ident.to_string());
            }
            syn::Type::TraitObject(object) => {
                for bound in &object.bounds {
                    if let syn::TypeParamBound::Trait(bound) = bound {
                        names.extend(bound.path.segments.last().map(|last| last.ident.to_string()));
                    }
                }
            }
            _ => {}
        }
    }
    fn arguments(of: &syn::PathSegment, names: &mut Vec<String>) {
        let syn::PathArguments::AngleBracketed(arguments) = &of.arguments else { return };
        for argument in &arguments.args {
            if let syn::GenericArgument::Type(of) = argument {
                collect(of, names);
            }
        }
    }
    let mut names = Vec::new();
    if let Ok(item) = syn::parse_str::<syn::ItemImpl>(text) {
        collect(&item.self_ty, &mut names);
        if let Some(last) = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last()) {
            arguments(last, &mut names);
        }
    }
    names
}

#[allow(clippy::too_many_arguments, reason = "one step of one algorithm")]
fn add_impls(
    compiler: &Compiler,
    cell: &Cell,
    file: &str,
    parts: &[&Part],
    home: usize,
    own: &BTreeSet<&str>,
    notebook: &mut Notebook,
) -> Result<(), Vec<Diagnostic>> {
    let number = notebook.impl_files.len();
    // A separate file name, because its columns differ from the columns of the cell's other part.
    let impl_file = format!("impl_{number}_{file}");
    let mut prologue = "use super::*; ".to_string();
    let mut links = notebook.crates[home].links.clone();
    let along: BTreeSet<&str> = parts.iter().copied().filter_map(own_name).collect();
    let mentions: BTreeSet<&String> = parts.iter().flat_map(|p| p.mentions.iter()).collect();
    for name in mentions.into_iter().filter(|name| !along.contains(name.as_str())) {
        let Some(&index) = notebook.items.get(name).filter(|&&index| index != home) else {
            if let (true, Some(part)) = (own.contains(name.as_str()), parts.first()) {
                return Err(vec![cannot(
                    cell,
                    file,
                    part,
                    &format!("`{name}`, which this cell defines"),
                    home,
                    notebook,
                )]);
            }
            continue;
        };
        if notebook.crates[index].links.contains(&home) {
            let part = parts[0];
            return Err(vec![cannot(
                cell,
                file,
                part,
                &format!("`{name}`, which was defined after it"),
                home,
                notebook,
            )]);
        }
        prologue.push_str(&format!("use ::{}::{name}; ", notebook.crates[index].name));
        links.insert(index);
        links.extend(notebook.crates[index].links.iter().copied());
    }
    let own_uses = own_uses(cell);
    for leaf in &notebook.uses {
        let is_own = own_uses.iter().any(|own| own.name == leaf.name && leaf.has_name() || *own == leaf);
        if leaf.name != "*" && !leaf.is_macro_use() && !is_own && !notebook.items.contains_key(leaf.first()) {
            prologue.push_str(&format!("use {}; ", use_code(leaf, notebook)));
        }
    }
    own_uses
        .iter()
        .filter(|leaf| !leaf.is_macro_use())
        .for_each(|leaf| prologue.push_str(&format!("use {}; ", use_code(leaf, notebook))));
    // A glob of the cell's own and that of the type's crate, which has the prelude, are equals: an import decides.
    let globs: Vec<&UseLeaf> = own_uses.iter().copied().filter(|leaf| leaf.name == "*").collect();
    let words = parts.iter().flat_map(|part| part.mentions.iter().cloned()).collect();
    for (path, name) in globs::claimed(&words, &globs, cell, notebook) {
        prologue.push_str(&format!("use {path}::{name}; "));
    }
    let (text, map) = lay_out_only(cell, parts, prologue);
    let folder = format!("impl_{number}");
    for index in 0..notebook.crates[home].files.len() {
        let (name, file) = &notebook.crates[home].files[index];
        if name.starts_with("impl_") || *name == notebook.crates[home].file {
            // A trait that was defined again is another one: what implements the older one stays.
            let is_same_trait = |name: &str| {
                let (Some(&newest), Some(source)) = (notebook.items.get(name), notebook.sources.get(name)) else {
                    return true;
                };
                source.homes.len() == 1 || file.contains(&format!("::{}::{name};", notebook.crates[newest].name))
            };
            let text = without_replaced(file, cell, parts, &is_same_trait);
            notebook.crates[home].files[index].1 = text;
        }
    }
    let crate_ = &mut notebook.crates[home];
    let root = &mut crate_.files[0].1;
    // The newest of a name is the crate's.
    let replaced = |line: &&str| along.iter().any(|name| line.ends_with(&reexport(name)));
    *root = root.lines().filter(|line| !replaced(line)).map(|line| format!("{line}\n")).collect();
    root.push_str(&format!("#[path = \"{folder}/{impl_file}\"] pub mod __impl_{number};\n"));
    along.iter().for_each(|name| root.push_str(&format!("pub use __impl_{number}{}\n", reexport(name))));
    crate_.files.push((format!("{folder}/{impl_file}"), text));
    crate_.links = links;
    notebook.impl_files.insert(impl_file, (file.to_string(), map));
    for part in parts {
        let Some(name) = own_name(part) else { continue };
        let mut homes = notebook.sources.remove(name).map_or_else(BTreeSet::new, |old| old.homes);
        homes.insert(home);
        let text = cell.code[part.range.clone()].to_string();
        let mentions = part.mentions.clone();
        let import_context = import_context(&mentions, cell, notebook);
        notebook
            .sources
            .insert(name.to_string(), KnownSource { text, mentions, homes, import_context, file: file.to_string() });
        notebook.items.insert(name.to_string(), home);
        notebook.uses.retain(|leaf| leaf.name != name);
        if matches!(&part.kind, PartKind::Item(item) if matches!(item.kind, ItemKind::Trait(_))) {
            notebook.traits.insert(name.to_string());
        }
    }

    // The crate itself, then what links it.
    for index in notebook.closure(&in_use(notebook)) {
        if index == home || notebook.crates[index].links.contains(&home) {
            rebuild(compiler, index, notebook, (file, &cell.code))?;
        }
    }
    Ok(())
}

/// The crates that a later cell can come to link: those of items and of what macros made, and of the types of
/// variables.
fn in_use(notebook: &Notebook) -> BTreeSet<usize> {
    let of_types = notebook.variables.values().flat_map(|variable| crates_in(&variable.type_code, notebook));
    let made = notebook.made.iter().map(|(_, home)| *home);
    notebook.items.values().copied().chain(made).chain(of_types).collect()
}

/// An earlier file without what new impls define again: a cell with an impl can be corrected and run again. Removed
/// text becomes blanks, so that every place stays.
fn without_replaced(text: &str, cell: &Cell, parts: &[&Part], is_same_trait: &dyn Fn(&str) -> bool) -> String {
    let Ok(earlier) = syn::parse_file(text) else { return text.to_string() };
    let mut blank: Vec<std::ops::Range<usize>> = Vec::new();
    for part in parts {
        let Ok(new) = syn::parse_str::<syn::ItemImpl>(&cell.code[part.range.clone()]) else { continue };
        for old in
            earlier.items.iter().filter_map(|item| if let syn::Item::Impl(old) = item { Some(old) } else { None })
        {
            if last_segment(&old.self_ty) != last_segment(&new.self_ty) {
                continue;
            }
            match (&old.trait_, &new.trait_) {
                (Some((_, old_path, _)), Some((_, new_path, _))) => {
                    let last = |path: &syn::Path| path.segments.last().map(|s| s.to_token_stream().to_string());
                    let name = new_path.segments.last().map(|s| s.ident.to_string()).unwrap_or_default();
                    if last(old_path) == last(new_path) && is_same_trait(&name) {
                        blank.push(old.span().byte_range());
                    }
                }
                (None, None) => {
                    let names: Vec<&syn::Ident> = new.items.iter().filter_map(name_in_impl).collect();
                    let again = old.items.iter().filter(|i| name_in_impl(i).is_some_and(|name| names.contains(&name)));
                    blank.extend(again.map(|item| item.span().byte_range()));
                }
                _ => {}
            }
        }
    }
    let hidden = |at: usize| blank.iter().any(|range| range.contains(&at));
    text.char_indices().map(|(at, c)| if c != '\n' && hidden(at) { ' ' } else { c }).collect()
}

fn last_segment(of: &syn::Type) -> String {
    match of {
        syn::Type::Path(path) => path.path.segments.last().to_token_stream().to_string(),
        other => other.to_token_stream().to_string(),
    }
}

fn name_in_impl(item: &syn::ImplItem) -> Option<&syn::Ident> {
    match item {
        syn::ImplItem::Fn(f) => Some(&f.sig.ident),
        syn::ImplItem::Const(c) => Some(&c.ident),
        syn::ImplItem::Type(t) => Some(&t.ident),
        _ => None,
    }
}

/// Compiles a crate again under its name, into a separate file.
fn rebuild(
    compiler: &Compiler,
    index: usize,
    notebook: &mut Notebook,
    (file, code): (&str, &str),
) -> Result<(), Vec<Diagnostic>> {
    let crate_ = &notebook.crates[index];
    let generated = GeneratedCrate {
        files: crate_.files.clone(),
        entry: String::new(),
        takes: Vec::new(),
        puts: Vec::new(),
        links: notebook.closure(&crate_.links),
        map: SourceMap::default(),
        macros: String::new(),
        closures: Default::default(),
        included: Vec::new(),
        returns: Vec::new(),
        has_boxes: false,
    };
    let library = compiler.library(&generated, &crate_.name, notebook);
    if !library.is_file() || !rustc::metadata_of(&library).is_file() {
        let job = compiler.job(notebook, &generated, &crate_.name, &library);
        if let CompileResult::Errors(messages) = rustc::compile(&job).map_err(|d| vec![d])? {
            let places = Places { file: "", map: &SourceMap::default(), notebook };
            let text = |users: &str| (users == file).then_some(code);
            let source = Source { place: &|span| places.of(span), text: &text };
            let mut diagnostics = rustc::diagnostics(&rustc::first_messages(&messages), &source);
            hints::advise(&mut diagnostics, code, notebook);
            return Err(diagnostics);
        }
    }
    notebook.crates[index].library = library;
    Ok(())
}

fn cannot(cell: &Cell, file: &str, part: &Part, what: &str, home: usize, notebook: &Notebook) -> Diagnostic {
    let (line, column) = position(&cell.code, part.range.start);
    let home_file = notebook.crates[home].file.trim_end_matches(".rs").replace('_', " ");
    Diagnostic::error(
        Class::Compile,
        "impl-elsewhere",
        format!("this `impl` belongs to a type of {home_file}, and it mentions {what}"),
    )
    .at(Span { file: file.to_string(), line, column, length: 4 }, "")
    .help("define the type again in this cell, together with this `impl`")
}
