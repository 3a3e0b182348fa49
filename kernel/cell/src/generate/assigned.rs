//! Variables without a value to which a cell assigns. An earlier cell has moved them, or has declared them without a
//! value: `let x: i32;`. The cell declares them again, and rustc says whether they have a value at its end.

use std::collections::BTreeSet;

use syn::parse::{ParseStream, Parser};
use syn::visit::{self, Visit};
use syn::{Block, Expr, Pat, Stmt};

use crate::notebook::Notebook;
use crate::parse::{Cell, PartKind};

/// The variables to declare, in the order of their names.
pub fn assigned(cell: &Cell, notebook: &Notebook) -> Vec<String> {
    let is_free = |name: &&String| !notebook.variables.contains_key(*name);
    let without: BTreeSet<&str> = notebook.moved.keys().filter(is_free).map(String::as_str).collect();
    let (mut found, mut defined) = (BTreeSet::new(), BTreeSet::new());
    if without.is_empty() {
        return Vec::new();
    }
    for part in cell.parts.iter().filter(|part| !matches!(part.kind, PartKind::Item(_))) {
        if part.mentions.iter().any(|name| without.contains(name.as_str())) {
            let mut assignments = Assignments::default();
            let parse = |input: ParseStream<'_>| Block::parse_within(input);
            let statements = parse.parse_str(&cell.code[part.range.clone()]).unwrap_or_default();
            statements.iter().for_each(|statement| assignments.visit_stmt(statement));
            let is_wanted = |name: &String| without.contains(name.as_str()) && !defined.contains(name);
            found.extend(assignments.0.into_iter().filter(is_wanted));
        }
        if let PartKind::Let { names, .. } = &part.kind {
            defined.extend(names.iter().map(|binding| binding.name.clone()));
        }
    }
    found.into_iter().collect()
}

/// The names that statements assign to, outside of functions, closures and macros.
#[derive(Default)]
struct Assignments(BTreeSet<String>);

impl Assignments {
    fn target(&mut self, of: &Expr) {
        match of {
            Expr::Path(path) => self.0.extend(path.path.get_ident().map(ToString::to_string)),
            Expr::Paren(inner) => self.target(&inner.expr),
            Expr::Tuple(all) => all.elems.iter().for_each(|one| self.target(one)),
            Expr::Array(all) => all.elems.iter().for_each(|one| self.target(one)),
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Assignments {
    fn visit_expr_assign(&mut self, of: &'ast syn::ExprAssign) {
        self.target(&of.left);
        visit::visit_expr(self, &of.right);
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// The type of a variable that `let name: TYPE;` declares, as the user wrote it; `_` if it says none.
pub fn declared_type(text: &str, name: &str) -> Option<String> {
    use quote::ToTokens;
    let Stmt::Local(local) = syn::parse_str::<Stmt>(text).ok()? else { return None };
    let (pattern, of) = match &local.pat {
        Pat::Type(typed) => (&*typed.pat, typed.ty.to_token_stream().to_string()),
        other => (other, "_".to_string()),
    };
    matches!(pattern, Pat::Ident(of) if of.ident == name && local.init.is_none()).then_some(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::KnownVariable;
    use crate::parse::parse_cell;

    #[test]
    fn assignments_are_found_wherever_they_stand() {
        let known = KnownVariable { type_code: "i32".into(), mutable: false, preview: None, bytes: 0 };
        let moved = ["x", "y"].map(|name| (name.to_string(), known.clone())).into();
        let notebook = Notebook { moved, ..Notebook::default() };
        let found = |code: &str| assigned(&parse_cell(code), &notebook).join(" ");
        assert_eq!(found("x = 5; x + 1"), "x");
        assert_eq!(found("if a { x = 1 } else { (x, y) = (2, 3) }"), "x y");
        assert_eq!(found("let z = { y = 1; 2 };"), "y");
        for none in ["x + 1", "x == 5", "let x = 1; x = 2;", "p.x = 5;", "let f = || x = 1;", "fn f() { x = 1 }"] {
            assert_eq!(found(none), "", "{none}");
        }
    }

    #[test]
    fn a_declaration_says_its_type() {
        assert_eq!(declared_type("let mut x: Vec<i32>;", "x").as_deref(), Some("Vec < i32 >"));
        assert_eq!(declared_type("let x;", "x").as_deref(), Some("_"));
        assert_eq!(declared_type("let x = 1;", "x"), None);
    }
}
