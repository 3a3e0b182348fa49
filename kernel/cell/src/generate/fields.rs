//! Structs of which a cell has moved a field: `let a = p.a;`. The fields that are left outlive the cell as separate
//! variables, named `p.b`. A later cell that uses nothing but such fields gets them in a struct of that shape.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use proc_macro2::{TokenStream, TokenTree};
use syn::{Expr, Item, Stmt, Type};

use crate::notebook::Notebook;
use crate::parse::{Cell, ItemKind, ItemPart, PartKind};

/// The variable that a field belongs to, and the field.
pub fn parts_of(name: &str) -> Option<(&str, &str)> {
    name.split_once('.')
}

/// The fields of earlier cells' structs that a cell takes.
pub fn taken(cell: &Cell, notebook: &Notebook) -> Vec<String> {
    let mut left: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (variable, field) in notebook.variables.keys().filter_map(|name| parts_of(name)) {
        left.entry(variable).or_default().insert(field);
    }
    let used = |(variable, fields): (&str, BTreeSet<&str>)| {
        let mut used = BTreeSet::new();
        let uses = cell.parts.iter().all(|part| match &part.kind {
            PartKind::Item(_) => true,
            PartKind::Let { names, .. } if names.iter().any(|binding| binding.name == variable) => false,
            _ if !part.mentions.contains(variable) => true,
            _ => {
                let tokens = cell.code[part.range.clone()].parse::<TokenStream>();
                tokens.is_ok_and(|tokens| uses_fields(tokens, variable, &fields, &mut used))
            }
        });
        let found: Vec<String> = used.iter().map(|field| format!("{variable}.{field}")).collect();
        if uses { found } else { Vec::new() }
    };
    left.into_iter().flat_map(used).collect()
}

/// Whether a variable stands nowhere but in front of these fields. Collects those that are used.
fn uses_fields(tokens: TokenStream, variable: &str, fields: &BTreeSet<&str>, used: &mut BTreeSet<String>) -> bool {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_dot = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(dot)) if dot.as_char() == '.');
    tokens.iter().enumerate().all(|(at, token)| match token {
        TokenTree::Group(group) => uses_fields(group.stream(), variable, fields, used),
        // A format string.
        TokenTree::Literal(literal) => !literal.to_string().contains(&format!("{{{variable}")),
        TokenTree::Ident(name) if name == variable && !(at > 0 && is_dot(at - 1)) => match tokens.get(at + 2) {
            Some(TokenTree::Ident(field)) if is_dot(at + 1) && fields.contains(field.to_string().as_str()) => {
                used.insert(field.to_string());
                let is_call = matches!(tokens.get(at + 3), Some(TokenTree::Group(group))
                    if group.delimiter() == proc_macro2::Delimiter::Parenthesis);
                !is_call
            }
            _ => false,
        },
        _ => true,
    })
}

/// Declares the structs of the fields among `takes`.
pub fn prologue(takes: &[String], notebook: &Notebook) -> String {
    let mut structs: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for name in takes {
        if let Some((variable, field)) = parts_of(name) {
            structs.entry(variable).or_default().push((field, name));
        }
    }
    let mut text = String::new();
    for (variable, fields) in structs {
        let list = |one: &dyn Fn(&str, &str) -> String| {
            fields.iter().map(|(field, name)| one(field, name)).collect::<Vec<_>>().join(", ")
        };
        let mutable = fields.iter().any(|(_, name)| notebook.variables[*name].mutable);
        let generics = list(&|field, _| format!("T_{field}"));
        let declared = list(&|field, _| format!("{field}: T_{field}"));
        let values = list(&|field, name| {
            format!("{field}: __onrush_store.take::<{}>({name:?})?", notebook.variables[name].type_code)
        });
        let mutable = if mutable { "mut " } else { "" };
        let _ = write!(
            text,
            "struct __onrush_{variable}<{generics}> {{ {declared} }} let {mutable}{variable} = __onrush_{variable} {{ {values} }}; "
        );
    }
    text
}

/// The names of all fields of a variable, if its type is a struct with named fields of this or an earlier cell.
pub fn of(cell: &Cell, notebook: &Notebook, variable: &str) -> Vec<String> {
    let own = cell
        .parts
        .iter()
        .rfind(|part| matches!(&part.kind, PartKind::Let { names, .. } if names.iter().any(|b| b.name == variable)));
    let of = match own {
        Some(part) => type_of_let(&cell.code[part.range.clone()]),
        None => notebook.variables.get(variable).and_then(|known| {
            let path = known.type_code.split('<').next()?;
            path.rsplit("::").next().map(str::to_string)
        }),
    };
    let Some(of) = of else { return Vec::new() };
    let is_it =
        |kind: &PartKind| matches!(kind, PartKind::Item(ItemPart { kind: ItemKind::Named(name), .. }) if *name == of);
    let in_cell = cell.parts.iter().rfind(|part| is_it(&part.kind)).map(|part| &cell.code[part.range.clone()]);
    let text = in_cell.or_else(|| notebook.sources.get(&of).map(|source| source.text.as_str()));
    let Some(Ok(Item::Struct(item))) = text.map(syn::parse_str::<Item>) else { return Vec::new() };
    let names = item.fields.iter().filter_map(|field| Some(field.ident.as_ref()?.to_string()));
    names.filter(|name| !name.starts_with("r#")).map(|name| format!("{variable}.{name}")).collect()
}

/// The name of the type that a `let` says: `let p: P = ..`, `let p = P { .. }`, `let p = P::new(..)`.
fn type_of_let(text: &str) -> Option<String> {
    let Stmt::Local(local) = syn::parse_str::<Stmt>(text).ok()? else { return None };
    if let syn::Pat::Type(typed) = &local.pat {
        let Type::Path(path) = &*typed.ty else { return None };
        return Some(path.path.segments.last()?.ident.to_string());
    }
    match &*local.init?.expr {
        Expr::Struct(of) => Some(of.path.segments.last()?.ident.to_string()),
        Expr::Call(call) => {
            let Expr::Path(function) = &*call.func else { return None };
            Some(function.path.segments.first()?.ident.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::KnownVariable;
    use crate::parse::parse_cell;

    fn notebook() -> Notebook {
        let known = |of: &str| KnownVariable { type_code: of.into(), mutable: false, preview: None, bytes: 0 };
        let variables = [("p.b", "i32"), ("p.c", "u8"), ("q", "i32")].map(|(name, of)| (name.to_string(), known(of)));
        Notebook { variables: variables.into(), ..Notebook::default() }
    }

    #[test]
    fn fields_are_taken_if_nothing_else_is_used() {
        let found = |code: &str| taken(&parse_cell(code), &notebook()).join(" ");
        assert_eq!(found("p.b + 1"), "p.b");
        assert_eq!(found("let x = (p.b, p.c); q.p"), "p.b p.c");
        for none in ["p.a", "f(p)", "p.b(1)", "println!(\"{p:?}\")", "let p = 1; p.b", "fn f(p: P) { p.b }", "q + 1"] {
            assert_eq!(found(none), "", "{none}");
        }
        assert_eq!(
            prologue(&["p.b".to_string(), "q".to_string()], &notebook()),
            "struct __onrush_p<T_b> { b: T_b } let p = __onrush_p { b: __onrush_store.take::<i32>(\"p.b\")? }; "
        );
    }

    #[test]
    fn fields_are_known_from_the_struct() {
        let fields =
            |code: &str| of(&parse_cell(&format!("struct P {{ a: u8, b: u8 }} {code}")), &notebook(), "x").join(" ");
        assert_eq!(fields("let x = P { a: 1, b: 2 };"), "x.a x.b");
        assert_eq!(fields("let x = P::new();"), "x.a x.b");
        assert_eq!(fields("let x: P = f();"), "x.a x.b");
        assert_eq!(fields("let x = f();"), "");
    }
}
