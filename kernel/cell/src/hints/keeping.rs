//! How a variable can outlive its cell, by the reason why it did not.

use syn::{Expr, Stmt};

use crate::parse::{Cell, PartKind};

/// A borrower of none of the kinds below.
pub const BORROWED: &str = "borrowed";
const CLOSURE: &str = "a closure that borrows from another variable";
const ITERATOR: &str = "an iterator over another variable";
const SLICE: &str = "a slice of another variable";
const LIST: &str = "a list of references to another variable";

/// Methods of lists, maps and strings that give an iterator which borrows, and methods of iterators that keep
/// borrowing.
const ITERATORS: [&str; 31] = [
    "iter",
    "iter_mut",
    "chars",
    "char_indices",
    "bytes",
    "lines",
    "split",
    "split_whitespace",
    "splitn",
    "rsplit",
    "matches",
    "match_indices",
    "keys",
    "values",
    "values_mut",
    "windows",
    "chunks",
    "drain",
    "map",
    "filter",
    "filter_map",
    "enumerate",
    "zip",
    "rev",
    "skip",
    "take",
    "step_by",
    "chain",
    "peekable",
    "cycle",
    "flatten",
];

/// The kind of a variable of the cell that borrows: the argument of [`keeping`].
pub fn borrower(cell: &Cell, name: &str) -> &'static str {
    let binds = |kind: &PartKind| matches!(kind, PartKind::Let { names, .. } if names.iter().any(|b| b.name == name));
    let part = cell.parts.iter().rfind(|part| binds(&part.kind));
    let text = part.map_or("", |part| &cell.code[part.range.clone()]);
    let Ok(Stmt::Local(local)) = syn::parse_str::<Stmt>(text) else { return BORROWED };
    let is_name = matches!(&local.pat, syn::Pat::Ident(_) | syn::Pat::Type(_));
    match local.init.filter(|_| is_name).map(|init| *init.expr) {
        Some(Expr::Closure(_)) => CLOSURE,
        Some(Expr::Reference(of)) if is_slice(&of.expr) => SLICE,
        Some(Expr::MethodCall(call)) if call.method == "collect" => LIST,
        Some(Expr::MethodCall(call)) if call.method == "as_slice" => SLICE,
        Some(Expr::MethodCall(call)) if ITERATORS.iter().any(|method| call.method == method) => ITERATOR,
        _ => BORROWED,
    }
}

fn is_slice(of: &Expr) -> bool {
    matches!(of, Expr::Index(of) if matches!(*of.index, Expr::Range(_)))
}

/// The hint on how a variable can persist.
pub fn keeping(what: &str) -> &'static str {
    match what {
        BORROWED => "a variable that outlives its cell owns its value: `.clone()`, `.to_owned()` or `.collect()` it",
        CLOSURE => {
            "write `move |x| …`: the closure then owns what it uses; `let k = k.clone();` before it leaves the variable"
        }
        ITERATOR => {
            "own what it goes over, `v.clone().into_iter()` in place of `v.iter()`, or its items: `.cloned().collect::<Vec<_>>()`"
        }
        SLICE => "own the items: `v[1..].to_vec()`, of a string `s[1..].to_string()`",
        LIST => "own the items: `.map(|s| s.to_string()).collect::<Vec<_>>()`, or `.cloned()` in place of that `map`",
        "a closure" => "write a `fn`, or box it with its type: `let f: Box<dyn Fn(i32) -> i32> = Box::new(…)`",
        "a function" => "say its type: `let f: fn(i32) -> i32 = …`",
        "an iterator over a closure" => {
            "`.collect::<Vec<_>>()` it, or box it: `let it: Box<dyn Iterator<Item = i32>> = Box::new(…)`"
        }
        "a future" => "await it in its cell, or box it: `let f: Pin<Box<dyn Future<Output = i32>>> = Box::pin(…)`",
        "of a private type" => "keep what it was made from, or turn it into a type with a name (`collect`, `to_owned`)",
        _ => "define the type at the top level of a cell",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_cell;

    #[test]
    fn borrowers_are_told_apart() {
        for (code, what) in [
            ("let f = |x| x + k;", CLOSURE),
            ("let part = &v[1..];", SLICE),
            ("let it = v.iter();", ITERATOR),
            ("let mut it = v.iter().enumerate();", ITERATOR),
            ("let words: Vec<&str> = text.split(' ').collect();", LIST),
            ("let r = &v;", BORROWED),
            ("let (a, b) = s.split_once('=').unwrap();", BORROWED),
        ] {
            let name = parse_cell(code).parts.iter().find_map(|part| match &part.kind {
                PartKind::Let { names, .. } => Some(names[0].name.clone()),
                _ => None,
            });
            assert_eq!(borrower(&parse_cell(code), &name.unwrap()), what, "{code}");
        }
    }
}
