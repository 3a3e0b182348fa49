//! Values in variables whose types have no name: closures, what functions return as `impl Trait`, iterators over
//! closures, futures. One that outlives its cell does so in a box, whose type has a name.
//!
//! In its own cell such a value stays what it is. Its box follows from how it was written. rustc decides which of the
//! function traits a closure has: the first that fits.

use std::collections::{BTreeMap, BTreeSet};

use quote::ToTokens;
use syn::{Expr, Pat, ReturnType, Stmt, Type, TypeParamBound};

use super::VariableFate;
use crate::notebook::Notebook;
use crate::parse::{Cell, ItemKind, ItemPart, Part, PartKind};
use crate::types::PRIMITIVES;

/// The box in which a cell keeps a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closure {
    pub kind: ClosureKind,
    /// Whether all arguments have written types. A reference among arguments without a type has one certain lifetime,
    /// which no later cell can name.
    pub is_typed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClosureKind {
    /// `(i32, _) -> _`, as far as the user said it.
    Calls(String),
    /// The type that the function that made it returns: `Fn(i32) -> i32`.
    Dyn(String),
    /// The future of an `async` block or function.
    Future,
    /// Perhaps an iterator over a closure: the prelude looks at the type.
    Iterator,
}

impl Closure {
    /// Puts the variable back.
    pub fn put(&self, name: &str, ends: Option<&VariableFate>) -> String {
        let plain = name.trim_start_matches("r#");
        let put = |made: &str, of: &str| format!("__onrush_store.put({plain:?}, {made}({name}) as {of});");
        match &self.kind {
            ClosureKind::Calls(signature) => {
                let of = match ends {
                    Some(VariableFate::CallsMut) => "FnMut",
                    Some(VariableFate::CallsOnce) => "FnOnce",
                    _ => "Fn",
                };
                put("::std::boxed::Box::new", &format!("::std::boxed::Box<dyn ::core::ops::{of}{signature}>"))
            }
            ClosureKind::Dyn(of) => put("::std::boxed::Box::new", &format!("::std::boxed::Box<dyn {of}>")),
            ClosureKind::Future => put(
                "::std::boxed::Box::pin",
                "::core::pin::Pin<::std::boxed::Box<dyn ::core::future::Future<Output = _>>>",
            ),
            ClosureKind::Iterator => format!("::onrush::__keep!(__onrush_store, {plain:?}, {name});"),
        }
    }
}

/// Methods of iterators that give an iterator over what they are given.
const ADAPTERS: [&str; 21] = [
    "map",
    "filter",
    "filter_map",
    "flat_map",
    "flatten",
    "take_while",
    "skip_while",
    "map_while",
    "scan",
    "inspect",
    "enumerate",
    "zip",
    "rev",
    "skip",
    "take",
    "step_by",
    "chain",
    "cycle",
    "fuse",
    "cloned",
    "copied",
];

/// Functions of `std::iter` that make an iterator over a closure.
const SOURCES: [&str; 4] = ["from_fn", "successors", "repeat_with", "once_with"];

/// Finds the variables among `names` whose last `let` has no type annotation and binds a value of an unnamed type.
pub fn closures(cell: &Cell, names: &BTreeSet<&str>, notebook: &Notebook) -> BTreeMap<String, Closure> {
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for part in cell.parts.iter().rev() {
        let PartKind::Let { names: bound, .. } = &part.kind else { continue };
        let [binding] = &bound[..] else { continue };
        if names.contains(binding.name.as_str())
            && seen.insert(binding.name.as_str())
            && let Some(closure) = closure(cell, part, notebook)
        {
            found.insert(binding.name.clone(), closure);
        }
    }
    found
}

/// Finds the variables as [`closures`] does, from the items of the cell and the parts before `part`.
pub fn before(cell: &Cell, part: usize, names: &BTreeSet<&str>, notebook: &Notebook) -> BTreeMap<String, Closure> {
    let is_there = |(at, of): &(usize, &Part)| *at < part || matches!(of.kind, PartKind::Item(_));
    let parts = cell.parts.iter().enumerate().filter(is_there).map(|(_, part)| part.clone()).collect();
    closures(&Cell { parts, ..cell.clone() }, names, notebook)
}

fn closure(cell: &Cell, part: &Part, notebook: &Notebook) -> Option<Closure> {
    let text = &cell.code[part.range.clone()];
    let may_be = text.contains('|') || text.contains("async") || text.contains('(');
    if !may_be {
        return None;
    }
    let Stmt::Local(local) = syn::parse_str::<Stmt>(text).ok()? else { return None };
    if !matches!(local.pat, Pat::Ident(_)) {
        return None;
    }
    let typed = |kind: ClosureKind| Some(Closure { kind, is_typed: true });
    match *local.init?.expr {
        Expr::Closure(closure) if closure.asyncness.is_none() => {
            let mut is_typed = true;
            let mut arguments = Vec::new();
            for input in &closure.inputs {
                arguments.push(match input {
                    Pat::Type(typed) => typed.ty.to_token_stream().to_string(),
                    _ => {
                        is_typed = false;
                        "_".to_string()
                    }
                });
            }
            let output = match &closure.output {
                ReturnType::Type(_, of) => of.to_token_stream().to_string(),
                ReturnType::Default => "_".to_string(),
            };
            Some(Closure { kind: ClosureKind::Calls(format!("({}) -> {output}", arguments.join(", "))), is_typed })
        }
        Expr::Async(_) => typed(ClosureKind::Future),
        Expr::MethodCall(call) if text.contains('|') && ADAPTERS.iter().any(|name| call.method == name) => {
            typed(ClosureKind::Iterator)
        }
        Expr::Call(call) => {
            let Expr::Path(function) = *call.func else { return None };
            let last = function.path.segments.last()?.ident.to_string();
            if text.contains('|') && SOURCES.contains(&last.as_str()) {
                return typed(ClosureKind::Iterator);
            }
            let function = function.path.get_ident().and_then(|_| source(cell, &last, notebook))?;
            let signature = syn::parse_str::<syn::ItemFn>(function).ok()?.sig;
            if signature.asyncness.is_some() {
                return typed(ClosureKind::Future);
            }
            let ReturnType::Type(_, of) = signature.output else { return None };
            let Type::ImplTrait(of) = *of else { return None };
            typed(returned(&of)?)
        }
        _ => None,
    }
}

/// The text of a function of this cell or of an earlier one.
fn source<'a>(cell: &'a Cell, name: &str, notebook: &'a Notebook) -> Option<&'a str> {
    let own = cell.parts.iter().rfind(|part| match &part.kind {
        PartKind::Item(ItemPart { kind: ItemKind::Named(own), .. }) => own == name,
        _ => false,
    });
    let earlier = || notebook.sources.get(name).map(|source| source.text.as_str());
    own.map(|part| &cell.code[part.range.clone()]).or_else(earlier).filter(|text| {
        // Most functions return what has a name: they need not be parsed.
        text.contains("impl") || text.contains("async")
    })
}

fn returned(of: &syn::TypeImplTrait) -> Option<ClosureKind> {
    let mut bounds = of.bounds.iter().filter_map(|bound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().map(|last| (&bound.path, last)),
        _ => None,
    });
    let (path, last) = bounds.next()?;
    match last.ident.to_string().as_str() {
        "Future" => Some(ClosureKind::Future),
        "Fn" | "FnMut" | "FnOnce" => trait_object(path).map(ClosureKind::Dyn),
        name @ ("Iterator" | "DoubleEndedIterator" | "ExactSizeIterator") => {
            Some(ClosureKind::Dyn(format!("::core::iter::{name}<Item = _>")))
        }
        _ => Some(ClosureKind::Dyn(path.to_token_stream().to_string())),
    }
}

/// `Fn(u32) -> u32`, if it is one of the function traits.
pub fn trait_object(path: &syn::Path) -> Option<String> {
    let last = path.segments.last()?;
    let syn::PathArguments::Parenthesized(arguments) = &last.arguments else { return None };
    let inputs: Vec<String> = arguments.inputs.iter().map(known).collect();
    let output = match &arguments.output {
        ReturnType::Type(_, of) => known(of),
        ReturnType::Default => "()".to_string(),
    };
    Some(format!("::core::ops::{}({}) -> {output}", last.ident, inputs.join(", ")))
}

/// A type as far as every cell can say it: rustc finds out the rest.
fn known(of: &Type) -> String {
    match of {
        Type::Reference(of) => {
            let lifetime = of.lifetime.as_ref().filter(|name| name.ident == "static");
            let lifetime = lifetime.map_or(String::new(), |name| format!("{name} "));
            format!("&{lifetime}{}{}", of.mutability.map_or("", |_| "mut "), known(&of.elem))
        }
        Type::Slice(of) => format!("[{}]", known(&of.elem)),
        Type::Tuple(of) => of.elems.iter().map(|of| known(of) + ", ").fold("(".to_string(), |all, of| all + &of) + ")",
        Type::Path(path) => match path.path.get_ident().map(ToString::to_string) {
            Some(name) if PRIMITIVES.contains(&name.as_str()) => name,
            _ => "_".to_string(),
        },
        _ => "_".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_cell;

    fn kind(code: &str) -> Option<ClosureKind> {
        closures(&parse_cell(code), &BTreeSet::from(["f"]), &Notebook::default())
            .remove("f")
            .map(|closure| closure.kind)
    }

    #[test]
    fn what_the_user_said_is_kept() {
        let calls = |text: &str| Some(ClosureKind::Calls(text.to_string()));
        assert_eq!(kind("let f = |x: i32, y| x + y;"), calls("(i32, _) -> _"));
        assert_eq!(kind("let f = move |s: &str| -> usize { s.len() };"), calls("(& str) -> usize"));
        assert_eq!(kind("let f = || 1; let f = 2;"), None);
        assert_eq!(kind("let f: fn(i32) -> i32 = |x| x;"), None);
        assert_eq!(kind("let f = vec![|x: i32| x];"), None);
    }

    #[test]
    fn functions_say_what_they_return() {
        let returns = |of: &str| kind(&format!("fn g(n: u8) -> {of} {{ todo!() }} let f = g(1);"));
        let dynamic = |text: &str| Some(ClosureKind::Dyn(text.to_string()));
        assert_eq!(returns("impl Fn(i32, &Mine) -> i32 + Clone"), dynamic("::core::ops::Fn(i32, &_) -> i32"));
        assert_eq!(returns("impl FnMut()"), dynamic("::core::ops::FnMut() -> ()"));
        assert_eq!(returns("impl Iterator<Item = u32>"), dynamic("::core::iter::Iterator<Item = _>"));
        assert_eq!(returns("impl Shape"), dynamic("Shape"));
        assert_eq!(returns("impl Future<Output = i32>"), Some(ClosureKind::Future));
        assert_eq!(returns("i32"), None);
        assert_eq!(kind("async fn g() {} let f = g();"), Some(ClosureKind::Future));
        assert_eq!(kind("let f = v.into_iter().map(|x| x + 1);"), Some(ClosureKind::Iterator));
        assert_eq!(kind("let f = v.iter().map(|x| x + 1).sum();"), None);
    }
}
