//! Closures in variables: their types have no name, so one that outlives its cell does so in a box, whose type has one.
//!
//! In its own cell a closure stays what it is. Which of the function traits it has, rustc says: the first that fits.

use quote::ToTokens;
use syn::{Expr, Pat, ReturnType, Stmt};

use crate::compile::Ends;
use crate::split::{Cell, PartKind};

/// How a closure that a cell keeps is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closure {
    /// `(i32, _) -> _`, as far as the user said it.
    pub signature: String,
    /// All types of arguments are said. Of others a reference would be one of a certain lifetime, which no later cell can name.
    pub is_typed: bool,
}

impl Closure {
    /// The type of its box.
    pub fn boxed(&self, ends: Option<&Ends>) -> String {
        let of = match ends {
            Some(Ends::CallsMut) => "FnMut",
            Some(Ends::CallsOnce) => "FnOnce",
            _ => "Fn",
        };
        format!("::std::boxed::Box<dyn ::core::ops::{of}{}>", self.signature)
    }
}

/// The closure that the last `let` of this name binds, if it is written there and has no type of its own.
pub fn closure(cell: &Cell, name: &str) -> Option<Closure> {
    let binds =
        |kind: &PartKind| matches!(kind, PartKind::Let { names, .. } if names.len() == 1 && names[0].name == name);
    let part = cell.parts.iter().rfind(|part| binds(&part.kind))?;
    let text = &cell.code[part.range.clone()];
    if !text.contains('|') {
        return None;
    }
    let Stmt::Local(local) = syn::parse_str::<Stmt>(text).ok()? else { return None };
    let Expr::Closure(closure) = *local.init?.expr else { return None };
    if !matches!(local.pat, Pat::Ident(_)) || closure.asyncness.is_some() {
        return None;
    }
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
    Some(Closure { signature: format!("({}) -> {output}", arguments.join(", ")), is_typed })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::split;

    #[test]
    fn what_the_user_said_is_kept() {
        let signature = |code| closure(&split(code), "f").map(|closure| closure.signature);
        assert_eq!(signature("let f = |x: i32, y| x + y;").as_deref(), Some("(i32, _) -> _"));
        assert_eq!(signature("let f = move |s: &str| -> usize { s.len() };").as_deref(), Some("(& str) -> usize"));
        assert_eq!(signature("let f = || 1; let f = 2;"), None);
        assert_eq!(signature("let f: fn(i32) -> i32 = |x| x;"), None);
        assert_eq!(signature("let f = vec![|x: i32| x];"), None);
    }
}
