//! Name analysis of a cell: finds which names of earlier cells it uses, by its tokens, without fields and methods.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use super::Name;
use crate::notebook::Notebook;
use crate::parse::{Cell, ItemKind, PartKind, identifiers, parse_cell};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    pub variables: BTreeSet<String>,
    pub items: BTreeSet<String>,
    /// Names on which the cell calls a method that changes shared state (`borrow_mut`, `lock`, `store`).
    pub shared: BTreeSet<String>,
}

impl Uses {
    pub fn names(&self) -> impl Iterator<Item = Name> {
        let variables = self.variables.iter().cloned().map(Name::Variable);
        variables.chain(self.items.iter().cloned().map(Name::Item))
    }
}

/// Methods that change a value through a shared reference.
const CHANGES: &[&str] = &[
    "borrow_mut",
    "lock",
    "write",
    "set",
    "store",
    "replace",
    "swap",
    "take",
    "get_mut",
    "try_lock",
    "fetch_add",
    "fetch_sub",
    "fetch_max",
    "fetch_min",
    "fetch_or",
    "fetch_and",
    "get_or_init",
    "push",
    "update",
    "send",
];

/// Types with interior mutability.
const SHARED: &[&str] = &["RefCell", "Cell", "Mutex", "RwLock", "Atomic", "OnceCell", "OnceLock", "Sender"];

/// The names of the notebook that a cell uses.
pub fn uses(cell: &Cell, notebook: &Notebook) -> Uses {
    let mut uses = Uses::default();
    let mut defined: BTreeSet<&str> = BTreeSet::new();
    let own: BTreeSet<&str> = cell
        .parts
        .iter()
        .filter_map(|part| match &part.kind {
            PartKind::Item(item) => match &item.kind {
                ItemKind::Named(name) | ItemKind::Trait(name) | ItemKind::Macro(name) => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    for part in &cell.parts {
        let Ok(tokens) = cell.code[part.range.clone()].parse::<TokenStream>() else { continue };
        let mut words = BTreeSet::new();
        let mut changes = false;
        collect(tokens, &mut words, &mut changes);
        let is_item = matches!(part.kind, PartKind::Item(_));
        for word in words {
            let is_known = notebook.items.contains_key(&word) || notebook.macros.contains_key(&word);
            if is_known && !own.contains(word.as_str()) {
                uses.items.insert(word.clone());
            }
            // Functions see no variables. Names that the cell defines above are local.
            let Some(variable) = notebook.variables.get(&word) else { continue };
            if is_item || defined.contains(word.as_str()) || !part.mentions.contains(&word) {
                continue;
            }
            if changes && SHARED.iter().any(|shared| variable.type_code.contains(shared)) {
                uses.shared.insert(word.clone());
            }
            uses.variables.insert(word);
        }
        if let PartKind::Let { names, .. } = &part.kind {
            defined.extend(names.iter().map(|binding| binding.name.as_str()));
        }
    }
    uses
}

/// The names that the source of a cell defines: variables, items, macros and imports.
pub fn defined_names(text: &str) -> BTreeSet<String> {
    let is_value = |_: &str| false;
    let cell = crate::commands::separate(text, "", &is_value);
    let mut names: BTreeSet<String> =
        cell.iter().flat_map(|cell| &cell.python).flat_map(|python| python.output_names()).collect();
    let code = cell.map_or_else(|_| text.to_string(), |cell| cell.code);
    for part in parse_cell(&code).parts {
        match part.kind {
            PartKind::Let { names: bound, .. } => names.extend(bound.into_iter().map(|b| b.name)),
            PartKind::Item(item) => match item.kind {
                ItemKind::Named(name) | ItemKind::Trait(name) | ItemKind::Macro(name) => drop(names.insert(name)),
                ItemKind::Statics(statics) => names.extend(statics),
                ItemKind::Use(leaves) => names.extend(leaves.into_iter().map(|leaf| leaf.name)),
                _ => {}
            },
            _ => {}
        }
    }
    names
}

/// Words that can be names of variables and items; `changes` if one of [`CHANGES`] is called.
fn collect(tokens: TokenStream, words: &mut BTreeSet<String>, changes: &mut bool) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let punct = |at: Option<usize>, c: char| matches!(at.and_then(|at| tokens.get(at)), Some(TokenTree::Punct(p)) if p.as_char() == c);
    for (i, token) in tokens.iter().enumerate() {
        let before = |n: usize| i.checked_sub(n);
        match token {
            TokenTree::Group(group) => collect(group.stream(), words, changes),
            TokenTree::Ident(ident) => {
                let word = ident.to_string();
                // `.x`, but not the `x` of `..x`.
                let member = punct(before(1), '.') && !punct(before(2), '.');
                let in_path = punct(before(1), ':') && punct(before(2), ':');
                // `x: 1` of a struct, of a `frame!`, or a parameter.
                let key = punct(Some(i + 1), ':') && !punct(Some(i + 2), ':');
                if member {
                    *changes |= CHANGES.contains(&word.as_str());
                } else if !in_path && !key {
                    words.insert(word);
                }
            }
            // Names in format strings.
            TokenTree::Literal(_) => identifiers(TokenStream::from(token.clone()), words),
            TokenTree::Punct(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::KnownVariable;

    fn used(code: &str) -> Vec<String> {
        let mut notebook = Notebook::default();
        for (name, type_code) in
            [("x", "i32"), ("y", "f64"), ("p", "::onrush_cell_1::P"), ("c", "::std::cell::RefCell<i32>")]
        {
            let variable = KnownVariable { type_code: type_code.into(), mutable: false, preview: None, bytes: 0 };
            notebook.variables.insert(name.into(), variable);
        }
        notebook.items.insert("f".into(), 0);
        let uses = uses(&parse_cell(code), &notebook);
        let shared = uses.shared.iter().map(|name| format!("{name}*"));
        uses.variables.iter().chain(&uses.items).cloned().chain(shared).collect()
    }

    #[test]
    fn fields_methods_and_own_names_are_no_uses() {
        assert_eq!(used("p.x + p.y()"), ["p"]);
        assert_eq!(used("P { x: 1, y }"), ["y"]);
        assert_eq!(used("let x = x + 1; x"), ["x"]);
        assert_eq!(used("let x = 1; x"), [""; 0]);
        assert_eq!(used("println!(\"{x} {}\", 0..y)"), ["x", "y"]);
        assert_eq!(used("fn g(x: i32) -> i32 { f(x) }"), ["f"]);
        assert_eq!(used("std::y::x(1)"), [""; 0]);
        assert_eq!(used("*c.borrow_mut() += 1"), ["c", "c*"]);
        assert_eq!(used("c.borrow().clone()"), ["c"]);
    }
}
