//! Functions and statics that name a variable of the notebook. In a cell the variables are those of another function,
//! so rustc looks for an item of that name and finds none.

use onrush_wire::Diagnostic;
use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::{Item, Stmt};

use super::{offset, primary};
use crate::notebook::Notebook;
use crate::parse::{Part, PartKind, identifiers, parse_cell};
use crate::types::{PRIMITIVES, short};

/// Widest header or body of a function, in characters, that a help repeats.
const WIDE: usize = 60;

/// Rewrites an error about an unknown name, if it is that of a variable.
pub fn advise(diagnostic: &mut Diagnostic, name: &str, code: &str, notebook: &Notebook) {
    let Some(at) = primary(diagnostic).and_then(|span| offset(code, &span)) else { return };
    let cell = parse_cell(code);
    let binds =
        |part: &&Part| matches!(&part.kind, PartKind::Let { names, .. } if names.iter().any(|b| b.name == name));
    let known = notebook.variables.get(name);
    let is_item = |part: &&Part| matches!(part.kind, PartKind::Item(_)) && part.range.contains(&at);
    let Some(part) =
        cell.parts.iter().find(is_item).filter(|_| known.is_some() || cell.parts.iter().any(|p| binds(&p)))
    else {
        return;
    };
    let text = &cell.code[part.range.clone()];
    let of_cell = cell.parts.iter().rfind(binds).map(|part| &cell.code[part.range.clone()]);
    let of = of_cell.and_then(type_of_let).or_else(|| known.map(|known| short(&known.type_code)));
    let (whose, help) = match syn::parse_str::<Item>(text) {
        Ok(Item::Fn(function)) => (format!("`fn {}`", function.sig.ident), of_function(&function, text, name, of)),
        Ok(Item::Static(item)) => (format!("`static {}`", item.ident), of_constant(&item.ident, &item.expr, text)),
        Ok(Item::Const(item)) => (format!("`const {}`", item.ident), of_constant(&item.ident, &item.expr, text)),
        _ => {
            let help = format!("pass it as a parameter, or keep its value in a field: `self.{name}`");
            ("an item".to_string(), vec![help])
        }
    };
    diagnostic.code = "E0434".to_string();
    diagnostic.message = format!("{whose} cannot use the variable `{name}`: it sees items and its parameters only");
    diagnostic.labels.retain(|label| label.primary);
    diagnostic.labels.iter_mut().for_each(|label| label.text = "a variable of the notebook".to_string());
    diagnostic.notes.clear();
    diagnostic.help = help;
}

/// The type that a `let` says, or that its literal has.
fn type_of_let(text: &str) -> Option<String> {
    let Ok(Stmt::Local(local)) = syn::parse_str::<Stmt>(text) else { return None };
    if let syn::Pat::Type(typed) = &local.pat {
        return Some(source(typed.ty.span(), text));
    }
    let syn::Expr::Lit(literal) = &*local.init?.expr else { return None };
    let suffix_or = |suffix: &str, usual: &str| if suffix.is_empty() { usual } else { suffix }.to_string();
    match &literal.lit {
        syn::Lit::Int(number) => Some(suffix_or(number.suffix(), "i32")),
        syn::Lit::Float(number) => Some(suffix_or(number.suffix(), "f64")),
        syn::Lit::Str(_) => Some("&str".to_string()),
        syn::Lit::Bool(_) => Some("bool".to_string()),
        syn::Lit::Char(_) => Some("char".to_string()),
        _ => None,
    }
}

fn source(span: proc_macro2::Span, text: &str) -> String {
    text.get(span.byte_range()).unwrap_or_default().to_string()
}

/// Two ways out: a parameter, and a closure.
fn of_function(function: &syn::ItemFn, text: &str, name: &str, of: Option<String>) -> Vec<String> {
    let signature = &function.sig;
    let is_copied = |of: &str| PRIMITIVES.contains(&of) || of.starts_with('&');
    let reference = of.as_deref().is_some_and(|of| !is_copied(of) && of != "_");
    let of = match of {
        Some(of) if reference => format!("&{of}"),
        Some(of) => of,
        None => "…".to_string(),
    };
    let start = signature.fn_token.span().byte_range().start;
    let close = signature.paren_token.span.close().byte_range().start;
    let end = function.block.span().byte_range().start;
    let before = text[start..close].trim_end().trim_end_matches(',').to_string();
    let comma = if signature.inputs.is_empty() { "" } else { ", " };
    let header = format!("{before}{comma}{name}: {of}{}", text[close..end].trim_end());
    let call = format!(
        "{}({}{})",
        signature.ident,
        if comma.is_empty() { "" } else { "…, " },
        match reference {
            true => format!("&{name}"),
            false => name.to_string(),
        }
    );
    let mut help = vec![match header.len() <= WIDE && !header.contains('\n') {
        true => format!("pass it as a parameter: `{header}`, called as `{call}`"),
        false => format!("pass it as a parameter `{name}: {of}`, called as `{call}`"),
    }];
    let mut used = std::collections::BTreeSet::new();
    identifiers(function.block.to_token_stream(), &mut used);
    let is_plain = signature.generics.params.is_empty() && signature.asyncness.is_none() && signature.abi.is_none();
    if is_plain && !used.contains(&signature.ident.to_string()) {
        let inputs: Vec<String> = signature.inputs.iter().map(|input| source(input.span(), text)).collect();
        let body = match &function.block.stmts[..] {
            [Stmt::Expr(one, None)] => source(one.span(), text),
            _ => String::new(),
        };
        let body =
            if body.is_empty() || body.len() > WIDE || body.contains('\n') { "{ … }".to_string() } else { body };
        help.push(format!(
            "or write a closure, which sees variables: `let {} = |{}| {body};`",
            signature.ident,
            inputs.join(", ")
        ));
    }
    help
}

fn of_constant(ident: &syn::Ident, value: &impl ToTokens, text: &str) -> Vec<String> {
    let tokens: TokenStream = value.to_token_stream();
    let value = source(tokens.span(), text);
    vec![format!("its value is computed when the cell is compiled: make it a variable, `let {ident} = {value};`")]
}

#[cfg(test)]
mod tests {
    use onrush_wire::{Class, Span};

    use super::*;
    use crate::notebook::KnownVariable;

    fn advised(code: &str, name: &str, of: Option<&str>) -> Diagnostic {
        let mut notebook = Notebook::default();
        if let Some(of) = of {
            let known = KnownVariable { type_code: of.to_string(), mutable: false, preview: None, bytes: 0 };
            notebook.variables.insert(name.to_string(), known);
        }
        let (line, column) = crate::lexer::position(code, code.rfind(name).unwrap());
        let span = Span { file: "c".into(), line, column, length: name.len() as u32 };
        let mut diagnostic = Diagnostic::error(Class::Compile, "E0425", "cannot find value").at(span, "");
        advise(&mut diagnostic, name, code, &notebook);
        diagnostic
    }

    #[test]
    fn a_function_gets_a_parameter_or_becomes_a_closure() {
        let earlier = advised("fn g() -> i32 { outer + 1 }", "outer", Some("i32"));
        assert_eq!(earlier.code, "E0434");
        assert_eq!(
            earlier.help,
            [
                "pass it as a parameter: `fn g(outer: i32) -> i32`, called as `g(outer)`",
                "or write a closure, which sees variables: `let g = || outer + 1;`"
            ]
        );
        let lists =
            advised("pub fn g(a: i32,\n b: i32) { for n in &list { f(n); } }", "list", Some("::std::vec::Vec<i32>"));
        assert_eq!(lists.help[0], "pass it as a parameter `list: &Vec<i32>`, called as `g(…, &list)`");
        assert_eq!(
            lists.help[1],
            "or write a closure, which sees variables: `let g = |a: i32, b: i32| for n in &list { f(n); };`"
        );
        let same_cell = advised("let k = 2.5; fn f(x: f64) -> f64 { x * k }", "k", None);
        assert!(same_cell.help[0].contains("`fn f(x: f64, k: f64) -> f64`"), "{same_cell:?}");
        // A closure cannot call itself.
        assert_eq!(advised("let k = 2; fn f(x: i32) -> i32 { f(x) + k }", "k", None).help.len(), 1);
    }

    #[test]
    fn other_items_and_names_are_told_apart() {
        let constant = advised("static N: i32 = outer;", "outer", Some("i32"));
        assert!(constant.message.starts_with("`static N` cannot use the variable `outer`"), "{constant:?}");
        assert!(constant.help[0].ends_with("`let N = outer;`"), "{constant:?}");
        let method = advised("impl P { fn f(&self) -> i32 { outer } }", "outer", Some("i32"));
        assert!(method.help[0].contains("`self.outer`"), "{method:?}");
        for unknown in [advised("fn g() -> i32 { outer }", "outer", None), advised("outer + 1", "outer", Some("i32"))] {
            assert_eq!((unknown.code.as_str(), unknown.help.len()), ("E0425", 0));
        }
    }
}
