//! The table of the prelude's public functions and methods, for completion and inspection: name, signature, documentation.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use quote::ToTokens;
use syn::{Attribute, ImplItem, Item, Visibility};

/// Rust source of `ENTRIES`, from the prelude's files.
pub fn table(files: &[PathBuf]) -> String {
    let mut entries = BTreeSet::new();
    let mut names = BTreeSet::new();
    let parsed: Vec<(bool, syn::File)> = files
        .iter()
        .filter(|f| f.extension().is_some_and(|e| e == "rs"))
        .filter_map(|f| {
            let text = std::fs::read_to_string(f).ok()?;
            Some((f.ends_with("onrush/src/prelude.rs"), syn::parse_file(&text).ok()?))
        })
        .collect();
    for (_, file) in parsed.iter().filter(|(is_prelude, _)| *is_prelude) {
        for item in &file.items {
            if let Item::Use(item) = item {
                used(&item.tree, &mut names);
            }
        }
    }
    for (_, file) in &parsed {
        file.items.iter().for_each(|item| collect(item, &names, &mut entries));
    }
    let mut out = String::from("pub static ENTRIES: &[Entry] = &[\n");
    for (owner, name, kind, signature, docs) in entries {
        let _ = writeln!(
            out,
            "    Entry {{ owner: {owner:?}, name: {name:?}, kind: {kind:?}, signature: {signature:?}, docs: {docs:?} }},"
        );
    }
    out.push_str("];\n");
    out
}

type Entries = BTreeSet<(String, String, &'static str, String, String)>;

fn used(tree: &syn::UseTree, names: &mut BTreeSet<String>) {
    match tree {
        syn::UseTree::Path(path) => used(&path.tree, names),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| used(tree, names)),
        syn::UseTree::Name(name) => drop(names.insert(name.ident.to_string())),
        syn::UseTree::Rename(rename) => drop(names.insert(rename.rename.to_string())),
        syn::UseTree::Glob(_) => {}
    }
}

fn collect(item: &Item, names: &BTreeSet<String>, entries: &mut Entries) {
    match item {
        Item::Fn(function) => {
            let name = function.sig.ident.to_string();
            let macro_of = function.attrs.iter().any(|a| a.path().is_ident("proc_macro"));
            if names.contains(&name) && matches!(function.vis, Visibility::Public(_)) {
                if macro_of {
                    entries.insert((
                        String::new(),
                        format!("{name}!"),
                        "macro",
                        format!("{name}!(…)"),
                        docs(&function.attrs),
                    ));
                } else {
                    entries.insert((String::new(), name, "function", signature(&function.sig), docs(&function.attrs)));
                }
            }
        }
        Item::Struct(s) if names.contains(&s.ident.to_string()) => {
            let name = s.ident.to_string();
            entries.insert((String::new(), name.clone(), "type", format!("struct {name}"), docs(&s.attrs)));
        }
        Item::Impl(block) if block.trait_.is_none() => {
            let syn::Type::Path(path) = &*block.self_ty else { return };
            let Some(owner) = path.path.segments.last().map(|s| s.ident.to_string()) else { return };
            for inner in &block.items {
                let ImplItem::Fn(method) = inner else { continue };
                let hidden = method.attrs.iter().any(|a| a.to_token_stream().to_string().contains("hidden"));
                if matches!(method.vis, Visibility::Public(_)) && !hidden {
                    let name = method.sig.ident.to_string();
                    entries.insert((owner.clone(), name, "method", signature(&method.sig), docs(&method.attrs)));
                }
            }
        }
        Item::Mod(module) => {
            for item in module.content.iter().flat_map(|(_, items)| items) {
                collect(item, names, entries);
            }
        }
        _ => {}
    }
}

/// A signature as a person would write it.
fn signature(signature: &syn::Signature) -> String {
    let mut text = signature.to_token_stream().to_string();
    for (from, to) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" ::", "::"),
        (" < ", "<"),
        (" > ", "> "),
        (" >", ">"),
        ("< ", "<"),
        (" ,", ","),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("& ", "&"),
        (" : ", ": "),
        (" ;", ";"),
        ("[ ", "["),
        (" ]", "]"),
        (" . ", "."),
        (", )", ")"),
        (",)", ")"),
        ("' ", "'"),
        ("- >", "->"),
        ("-> ", " -> "),
        ("  ", " "),
    ] {
        text = text.replace(from, to);
    }
    text
}

fn docs(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes {
        if let syn::Meta::NameValue(value) = &attribute.meta {
            if let (true, syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(line), .. })) =
                (value.path.is_ident("doc"), &value.value)
            {
                let line = line.value();
                let line = line.strip_prefix(' ').unwrap_or(&line);
                // Links of rustdoc lead nowhere in a notebook.
                text.push_str(&line.replace("[`", "`").replace("`]", "`"));
                text.push('\n');
            }
        }
    }
    text.trim().to_string()
}
