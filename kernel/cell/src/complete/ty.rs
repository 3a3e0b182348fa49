//! A parser of types as rustc's messages and signatures spell them, as far as member lookup needs it.

use std::collections::HashMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ty {
    /// With its arguments, and with `Item = i32` of a trait.
    Path {
        path: String,
        arguments: Vec<Ty>,
        bindings: Vec<(String, Ty)>,
    },
    Reference(Box<Ty>),
    Pointer(Box<Ty>),
    Slice(Box<Ty>),
    Array(Box<Ty>),
    Tuple(Vec<Ty>),
    /// `impl A + B` and `dyn A`.
    Bounds(Vec<Ty>),
    /// A function, a closure, or what was not understood: as it was written.
    Other(String),
}

impl Ty {
    pub fn parse(text: &str) -> Ty {
        let mut parser = Parser { rest: text.trim() };
        parser.ty().unwrap_or_else(|| Ty::Other(text.to_string()))
    }

    pub fn path(path: &str) -> Ty {
        Ty::Path { path: path.to_string(), arguments: Vec::new(), bindings: Vec::new() }
    }

    /// With parameters replaced.
    pub fn with(&self, bound: &HashMap<String, Ty>) -> Ty {
        let all = |types: &[Ty]| types.iter().map(|t| t.with(bound)).collect();
        match self {
            Ty::Path { path, arguments, .. } if arguments.is_empty() && bound.contains_key(path) => bound[path].clone(),
            Ty::Path { path, arguments, bindings } => Ty::Path {
                path: path.clone(),
                arguments: all(arguments),
                bindings: bindings.iter().map(|(name, t)| (name.clone(), t.with(bound))).collect(),
            },
            Ty::Reference(inner) => Ty::Reference(Box::new(inner.with(bound))),
            Ty::Pointer(inner) => Ty::Pointer(Box::new(inner.with(bound))),
            Ty::Slice(inner) => Ty::Slice(Box::new(inner.with(bound))),
            Ty::Array(inner) => Ty::Array(Box::new(inner.with(bound))),
            Ty::Tuple(parts) => Ty::Tuple(all(parts)),
            Ty::Bounds(parts) => Ty::Bounds(all(parts)),
            Ty::Other(text) => Ty::Other(text.clone()),
        }
    }

    /// Whether this, the type of an impl with the given parameters, covers another one; what the parameters stand for
    /// then.
    pub fn covers(&self, actual: &Ty, parameters: &[&str], bound: &mut HashMap<String, Ty>) -> bool {
        match (self, actual) {
            (Ty::Path { path, arguments, .. }, _) if arguments.is_empty() && parameters.contains(&path.as_str()) => {
                bound.entry(path.clone()).or_insert_with(|| actual.clone());
                true
            }
            (Ty::Other(_), _) | (_, Ty::Other(_)) => true,
            (Ty::Path { path: p, arguments: a, .. }, Ty::Path { path: q, arguments: b, .. }) => {
                // `_` is what rustc does not know yet.
                q == "_"
                    || crate::index::last(p) == crate::index::last(q)
                        && a.iter().zip(b).all(|(a, b)| a.covers(b, parameters, bound))
            }
            (Ty::Reference(a), Ty::Reference(b))
            | (Ty::Pointer(a), Ty::Pointer(b))
            | (Ty::Slice(a), Ty::Slice(b))
            | (Ty::Array(a), Ty::Array(b)) => a.covers(b, parameters, bound),
            (Ty::Tuple(a), Ty::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.covers(b, parameters, bound))
            }
            // `Box<dyn Any>` has methods that `Box<dyn Fn()>` has not.
            (Ty::Bounds(a), Ty::Bounds(b)) => {
                let name = |t: &Ty| {
                    if let Ty::Path { path, .. } = t { Some(crate::index::last(path).to_string()) } else { None }
                };
                a.first().is_none_or(|a| b.iter().any(|b| name(a) == name(b)))
            }
            _ => false,
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn eat(&mut self, text: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> Option<String> {
        self.skip();
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '#')).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_string())
    }

    fn keyword(&mut self, word: &str) -> bool {
        self.skip();
        let follows = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        match self.rest.strip_prefix(word).filter(|rest| follows(rest)) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Up to the bracket that closes the one that was just eaten.
    fn skip_to(&mut self, close: char) -> Option<()> {
        let mut depth = 0;
        for (at, c) in self.rest.char_indices() {
            match c {
                '(' | '[' | '{' => depth += 1,
                c if c == close && depth == 0 => {
                    self.rest = &self.rest[at + c.len_utf8()..];
                    return Some(());
                }
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
        }
        None
    }

    fn lifetime(&mut self) -> bool {
        if self.eat("'") {
            self.word();
            return true;
        }
        false
    }

    fn list(&mut self, close: &str) -> Option<Vec<Ty>> {
        let mut types = Vec::new();
        while !self.eat(close) {
            types.push(self.ty()?);
            if !self.eat(",") && !self.rest.trim_start().starts_with(close) {
                return None;
            }
        }
        Some(types)
    }

    fn bounds(&mut self) -> Option<Ty> {
        let mut bounds = Vec::new();
        loop {
            self.eat("?");
            if !self.lifetime() {
                let in_brackets = self.eat("(");
                bounds.push(self.ty()?);
                if in_brackets {
                    self.eat(")");
                }
            }
            if !self.eat("+") {
                return Some(Ty::Bounds(bounds));
            }
        }
    }

    fn ty(&mut self) -> Option<Ty> {
        self.skip();
        let whole = self.rest;
        if self.eat("&") {
            self.lifetime();
            self.keyword("mut");
            return Some(Ty::Reference(Box::new(self.ty()?)));
        }
        if self.eat("*") {
            let _ = self.keyword("const") || self.keyword("mut");
            return Some(Ty::Pointer(Box::new(self.ty()?)));
        }
        if self.eat("[") {
            let inner = Box::new(self.ty()?);
            if self.eat("]") {
                return Some(Ty::Slice(inner));
            }
            self.skip_to(']')?;
            return Some(Ty::Array(inner));
        }
        if self.eat("(") {
            let mut parts = Vec::new();
            loop {
                if self.eat(")") {
                    return Some(Ty::Tuple(parts));
                }
                parts.push(self.ty()?);
                // `(dyn A + Send)`.
                if !self.eat(",") {
                    self.eat(")");
                    return Some(if parts.len() == 1 { parts.remove(0) } else { Ty::Tuple(parts) });
                }
            }
        }
        if self.eat("{") {
            let before = self.rest;
            self.skip_to('}')?;
            let inside = &before[..before.len() - self.rest.len() - 1];
            return Some(match inside {
                "integer" => Ty::path("i32"),
                "float" => Ty::path("f64"),
                _ => Ty::Other(format!("{{{inside}}}")),
            });
        }
        if self.keyword("dyn") || self.keyword("impl") {
            return self.bounds();
        }
        if self.keyword("for") {
            self.eat("<");
            self.skip_to('>')?;
            return self.ty();
        }
        if self.eat("!") {
            return Some(Ty::path("!"));
        }
        if self.eat("<") {
            // `<T as Trait>::Name`
            let mut depth = 1;
            for (at, c) in whole.char_indices().skip(1) {
                depth += i32::from(c == '<') - i32::from(c == '>' && !whole[..at].ends_with('-'));
                if depth == 0 {
                    self.rest = &whole[at + 1..];
                    break;
                }
            }
            while self.eat("::") {
                self.word()?;
            }
            return Some(Ty::Other(whole[..whole.len() - self.rest.len()].to_string()));
        }
        for word in ["unsafe", "extern", "fn"] {
            if self.keyword(word) {
                if word != "fn" {
                    self.eat("\"C\"");
                    return self.ty();
                }
                self.eat("(");
                self.skip_to(')')?;
                if self.eat("->") {
                    self.ty()?;
                }
                // Functions have their name behind them: `fn(i32) -> i32 {f}`.
                if self.eat("{") {
                    self.skip_to('}')?;
                }
                return Some(Ty::Other(whole[..whole.len() - self.rest.len()].trim().to_string()));
            }
        }
        self.eat("::");
        let mut path = self.word()?;
        let (mut arguments, mut bindings) = (Vec::new(), Vec::new());
        loop {
            if self.eat("::") {
                if !self.rest.starts_with('<') && !self.rest.starts_with('{') {
                    path.push_str("::");
                    path.push_str(&self.word()?);
                    continue;
                }
                if self.eat("{") {
                    // `main::{closure#0}`
                    self.skip_to('}')?;
                    continue;
                }
            }
            if self.eat("<") {
                while !self.eat(">") {
                    if !self.lifetime() && !self.constant() {
                        let before = self.rest;
                        let name = self.word().filter(|_| self.eat("="));
                        match name {
                            Some(name) => bindings.push((name, self.ty()?)),
                            None => {
                                self.rest = before;
                                arguments.push(self.ty()?);
                            }
                        }
                    }
                    if !self.eat(",") && !self.rest.trim_start().starts_with('>') {
                        return None;
                    }
                }
                continue;
            }
            break;
        }
        if matches!(crate::index::last(&path), "Fn" | "FnMut" | "FnOnce") && self.eat("(") {
            arguments = self.list(")")?;
            if self.eat("->") {
                bindings.push(("Output".into(), self.ty()?));
            }
        }
        Some(Ty::Path { path, arguments, bindings })
    }

    /// A number or a block as an argument.
    fn constant(&mut self) -> bool {
        self.skip();
        let is_number = self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        if is_number {
            self.eat("-");
            self.word();
        }
        is_number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str, arguments: Vec<Ty>) -> Ty {
        Ty::Path { path: name.into(), arguments, bindings: Vec::new() }
    }

    #[test]
    fn types_are_taken_apart() {
        assert_eq!(
            Ty::parse("std::vec::Vec<&'static mut (i32, [u8; 4])>"),
            path(
                "std::vec::Vec",
                vec![Ty::Reference(Box::new(Ty::Tuple(vec![Ty::path("i32"), Ty::Array(Box::new(Ty::path("u8")))])))]
            )
        );
        let closure = Ty::parse("std::iter::Map<std::slice::Iter<'_, {integer}>, {closure@cell_1.rs:1:2: 3:4}>");
        let Ty::Path { path: name, arguments, .. } = closure else { panic!() };
        assert_eq!((name.as_str(), arguments.len()), ("std::iter::Map", 2));
        let Ty::Bounds(bounds) = Ty::parse("impl std::iter::Iterator<Item = i32> + 'static + Send") else { panic!() };
        assert_eq!(bounds.len(), 2);
        assert_eq!(Ty::parse("(dyn std::fmt::Display + 'static)"), Ty::Bounds(vec![Ty::path("std::fmt::Display")]));
        assert!(matches!(Ty::parse("fn(i32) -> i32 {f}"), Ty::Other(_)));
        assert_eq!(
            Ty::parse("Box<dyn Fn(i32) -> i32>"),
            path(
                "Box",
                vec![Ty::Bounds(vec![Ty::Path {
                    path: "Fn".into(),
                    arguments: vec![Ty::path("i32")],
                    bindings: vec![("Output".into(), Ty::path("i32"))]
                }])]
            )
        );
    }

    #[test]
    fn impls_cover_types() {
        let covers = |of: &str, actual: &str| {
            Ty::parse(of).covers(&Ty::parse(actual), &["T", "A", "E", "N"], &mut HashMap::new())
        };
        assert!(covers("Vec<T, A>", "std::vec::Vec<i32>"));
        assert!(covers("Option<&T>", "std::option::Option<&str>"));
        assert!(!covers("Option<&T>", "std::option::Option<i32>"));
        assert!(covers("[u8]", "[u8]") && !covers("[u8]", "[i32]"));
        assert!(!covers("Vec<u8, A>", "std::vec::Vec<i32>"));
        let mut bound = HashMap::new();
        assert!(Ty::parse("Rc<T, A>").covers(&Ty::parse("std::rc::Rc<[i32]>"), &["T", "A"], &mut bound));
        assert_eq!(Ty::parse("&T").with(&bound), Ty::parse("&[i32]"));
    }
}
