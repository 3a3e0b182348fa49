//! Closures that are given to a generic type of the notebook, `let c = Cacher::new(|x| x * 2);`. The type of `c` would
//! name the closure's, which has no name, so `c` could not outlive its cell. In a box of the kind that the type asks
//! for, it can.
//!
//! If the cell does not compile with the boxes, it is compiled without them (`Request::plain_arguments`).

use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Expr, GenericParam, Generics, Item, Local, Stmt, TypeParamBound, WherePredicate};

use super::closures::trait_object;
use super::layout::Insertion;
use crate::notebook::Notebook;
use crate::parse::{Cell, ItemKind, ItemPart, PartKind};

pub fn boxes(cell: &Cell, notebook: &Notebook) -> Vec<Insertion> {
    let mut insertions = Vec::new();
    for part in &cell.parts {
        let text = &cell.code[part.range.clone()];
        if !matches!(&part.kind, PartKind::Let { names, .. } if names.len() == 1) || !text.contains('|') {
            continue;
        }
        let Ok(Stmt::Local(Local { init: Some(init), .. })) = syn::parse_str::<Stmt>(text) else { continue };
        let Some((of, closures)) = closures_for(&init.expr) else { continue };
        let Some(items) = source(&of, cell, notebook) else { continue };
        let objects = asked_for(&of, &items);
        if objects.len() != closures.len() {
            continue;
        }
        for (closure, object) in closures.iter().zip(objects) {
            let insertion = |at: usize, text: String| Insertion { at: part.range.start + at, text, into_items: false };
            // The type of a `let` tells rustc more about the closure's arguments than a cast does.
            let start = format!("{{ let boxed: ::std::boxed::Box<dyn {object}> = ::std::boxed::Box::new(");
            insertions.push(insertion(closure.start, start));
            insertions.push(insertion(closure.end, "); boxed }".to_string()));
        }
    }
    insertions
}

/// The type that a value is made of, and where the closures are that it gets.
fn closures_for(value: &Expr) -> Option<(String, Vec<std::ops::Range<usize>>)> {
    let (path, arguments): (&syn::Path, Vec<&Expr>) = match value {
        Expr::Call(call) => {
            let Expr::Path(function) = &*call.func else { return None };
            (&function.path, call.args.iter().collect())
        }
        Expr::Struct(of) => (&of.path, of.fields.iter().map(|field| &field.expr).collect()),
        _ => return None,
    };
    let is_closure = |of: &&&Expr| matches!(of, Expr::Closure(_));
    let closures: Vec<_> = arguments.iter().filter(is_closure).map(|of| of.span().byte_range()).collect();
    (!closures.is_empty()).then(|| (path.segments[0].ident.to_string(), closures))
}

/// The items that say what a type of this or an earlier cell asks for: itself, then its impls.
fn source(of: &str, cell: &Cell, notebook: &Notebook) -> Option<Vec<Item>> {
    let is_it = |kind: &PartKind| match kind {
        PartKind::Item(ItemPart { kind: ItemKind::Named(name), .. }) => name == of,
        PartKind::Item(ItemPart { kind: ItemKind::Impl { target: Some(target), .. }, .. }) => target == of,
        _ => false,
    };
    let own = cell.parts.iter().filter(|part| is_it(&part.kind));
    let own: Vec<Item> = own.filter_map(|part| syn::parse_str(&cell.code[part.range.clone()]).ok()).collect();
    if own.iter().any(|item| matches!(item, Item::Struct(_) | Item::Enum(_))) {
        return Some(own);
    }
    let home = &notebook.crates[*notebook.items.get(of)?];
    Some(home.files.iter().filter_map(|(_, text)| syn::parse_file(text).ok()).flat_map(|file| file.items).collect())
}

/// The function traits that the type's parameters must have, in their order.
fn asked_for(of: &str, items: &[Item]) -> Vec<String> {
    let generics = |item: &Item| match item {
        Item::Struct(item) if item.ident == of => Some(item.generics.clone()),
        Item::Enum(item) if item.ident == of => Some(item.generics.clone()),
        Item::Impl(item) if item.trait_.is_none() => match &*item.self_ty {
            syn::Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == of) => {
                Some(item.generics.clone())
            }
            _ => None,
        },
        _ => None,
    };
    let found = items.iter().filter_map(generics).map(|generics| traits(&generics));
    found.max_by_key(Vec::len).unwrap_or_default()
}

fn traits(generics: &Generics) -> Vec<String> {
    let mut found = Vec::new();
    for parameter in &generics.params {
        let GenericParam::Type(parameter) = parameter else { continue };
        let where_clause = generics.where_clause.iter().flat_map(|of| &of.predicates);
        let of_where = where_clause.filter_map(|predicate| match predicate {
            WherePredicate::Type(of) if parameter.ident == of.bounded_ty.to_token_stream().to_string() => {
                Some(&of.bounds)
            }
            _ => None,
        });
        let bounds = parameter.bounds.iter().chain(of_where.flatten());
        found.extend(bounds.filter_map(|bound| match bound {
            TypeParamBound::Trait(bound) => trait_object(&bound.path),
            _ => None,
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_cell;

    #[test]
    fn boxes_are_what_the_type_asks_for() {
        let boxed = |code: &str| {
            let mut code = code.to_string();
            for insertion in boxes(&parse_cell(&code), &Notebook::default()).iter().rev() {
                code.insert_str(insertion.at, &insertion.text);
            }
            code[code.find("let ").unwrap() + 4..].to_string()
        };
        let of_new = boxed("struct C<T> where T: Fn(u32) -> u32 { f: T } let c = C::new(|x| x * 2);");
        assert_eq!(
            of_new,
            "c = C::new({ let boxed: ::std::boxed::Box<dyn ::core::ops::Fn(u32) -> u32> = ::std::boxed::Box::new(|x| x * 2); boxed });"
        );
        let of_impl = boxed("struct C<T> { f: T } impl<T: FnMut()> C<T> {} let c = C { f: || () };");
        assert_eq!(
            of_impl,
            "c = C { f: { let boxed: ::std::boxed::Box<dyn ::core::ops::FnMut() -> ()> = ::std::boxed::Box::new(|| ()); boxed } };"
        );
        assert_eq!(boxed("struct C<T> { f: T } let c = C { f: 1 };"), "c = C { f: 1 };");
        assert_eq!(boxed("let c = f(|x| x);"), "c = f(|x| x);");
    }
}
