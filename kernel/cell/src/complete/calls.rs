//! The calls that enclose the cursor, and the method chain before a place.

use super::tokens::{Kind, Token, open_brackets, partners};

/// One bracket that is open at the cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// Empty for a bracket that belongs to no name.
    pub name: &'a str,
    pub is_macro: bool,
    /// Behind a dot.
    pub is_method: bool,
    /// The tokens of the bracket and of the name.
    pub open: usize,
    pub at: usize,
}

/// Innermost first.
pub fn enclosing<'a>(tokens: &[Token<'a>]) -> Vec<Call<'a>> {
    open_brackets(tokens).into_iter().rev().map(|open| call_at(tokens, open)).collect()
}

fn call_at<'a>(tokens: &[Token<'a>], open: usize) -> Call<'a> {
    let none = Call { name: "", is_macro: false, is_method: false, open, at: open };
    let is_call = matches!(tokens[open].kind, Kind::Open('('));
    let before = |n: usize| open.checked_sub(n).map(|i| &tokens[i]);
    if before(1).is_some_and(|t| t.is("!")) && before(2).is_some_and(|t| t.kind == Kind::Word) {
        return Call { name: tokens[open - 2].text, is_macro: true, at: open - 2, ..none };
    }
    if !is_call {
        return none;
    }
    let mut at = open;
    // `collect::<Vec<_>>(`
    if before(1).is_some_and(|t| t.is(">")) {
        let mut depth = 0;
        while at > 0 {
            at -= 1;
            depth += i32::from(tokens[at].is(">")) - i32::from(tokens[at].is("<"));
            if depth == 0 {
                break;
            }
        }
        at = at.saturating_sub(1);
    }
    let Some(name) = at.checked_sub(1).filter(|&i| tokens[i].kind == Kind::Word) else { return none };
    let is_method = name > 0 && tokens[name - 1].is(".");
    Call { name: tokens[name].text, is_method, at: name, ..none }
}

/// One step of a chain: `.filter(…)`, with its arguments' tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    pub name: &'a str,
    pub arguments: std::ops::Range<usize>,
}

/// The beginning of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root<'a> {
    Variable(&'a str),
    /// A function or a macro, with its arguments' tokens.
    Call(&'a str, std::ops::Range<usize>),
}

/// The chain that ends before the token `end`, oldest step first: of `a.f(x).g(y)` the root `a` and the steps `f` and
/// `g`.
pub fn chain<'a>(tokens: &[Token<'a>], end: usize) -> Option<(Root<'a>, Vec<Step<'a>>)> {
    let pairs = partners(&tokens[..end]);
    let mut steps = Vec::new();
    let mut at = end;
    loop {
        while at > 0 && tokens[at - 1].is("?") {
            at -= 1;
        }
        let last = at.checked_sub(1)?;
        let (name, arguments) = match tokens[last].kind {
            Kind::Word => (last, last..last),
            Kind::Close(_) => {
                let open = pairs[last]?;
                let call = call_at(tokens, open);
                if call.name.is_empty() {
                    return None;
                }
                if call.is_macro {
                    steps.reverse();
                    return Some((Root::Call(call.name, open + 1..last), steps));
                }
                (call.at, open + 1..last)
            }
            _ => return None,
        };
        let text = tokens[name].text;
        if name > 0 && tokens[name - 1].is(".") {
            if text != "clone" && text != "await" {
                steps.push(Step { name: text, arguments });
            }
            at = name - 1;
            continue;
        }
        steps.reverse();
        let root = if tokens[last].kind == Kind::Word { Root::Variable(text) } else { Root::Call(text, arguments) };
        return Some((root, steps));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::complete::tokens::tokens;

    #[test]
    fn calls_around_the_cursor() {
        let (found, _) = tokens("f.filter(x!(a > 1)).agg(x!(n = g::<i32>(");
        let calls: Vec<(&str, bool)> = enclosing(&found).iter().map(|c| (c.name, c.is_macro)).collect();
        assert_eq!(calls, [("g", false), ("x", true), ("agg", false)]);
    }

    #[test]
    fn chains_are_followed_to_their_root() {
        let (found, _) = tokens("let a = flights.filter(x!(a)).select([\"b\"])?.head(3)");
        let (root, steps) = chain(&found, found.len()).unwrap();
        assert_eq!(root, Root::Variable("flights"));
        assert_eq!(steps.iter().map(|s| s.name).collect::<Vec<_>>(), ["filter", "select", "head"]);
        let (found, _) = tokens("frame! { a: [1] }.tail(1)");
        assert!(matches!(chain(&found, found.len()), Some((Root::Call("frame", _), _))));
    }
}
