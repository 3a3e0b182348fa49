//! The columns of a frame expression: of a variable, and after the steps of a method chain. Nothing runs for it: the
//! columns after a step are inferred from its source.

use onrush_wire::session::NamedFrame;
use onrush_wire::{DataType, FrameId};

use super::CursorContext;
use super::calls::{Call, Root, Step, chain, enclosing};
use super::tokens::{Kind, Token, partners};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// `None` for one that a step made.
    pub dtype: Option<DataType>,
    /// The frame of the session that has it.
    pub of: Option<(String, FrameId)>,
}

/// Variables of a cell that are made from each other, and no further.
const DEPTH: usize = 8;

pub fn columns_of(frame: &NamedFrame) -> Vec<Column> {
    let of = Some((frame.name.clone(), frame.frame));
    let column = |f: &onrush_wire::Field| Column { name: f.name.clone(), dtype: Some(f.dtype.clone()), of: of.clone() };
    frame.schema.fields.iter().map(column).collect()
}

/// The frame that the call around the cursor is made on. `None` if there is none.
pub fn in_hand(place: &CursorContext<'_>) -> Option<Vec<Column>> {
    let frames = place.frames.frames();
    let calls = enclosing(&place.tokens);
    calls.iter().find_map(|call| of_call(&place.tokens, call, &frames, 0))
}

fn of_call(tokens: &[Token<'_>], call: &Call<'_>, frames: &[NamedFrame], depth: usize) -> Option<Vec<Column>> {
    if !call.is_method {
        return None;
    }
    let (root, steps) = chain(tokens, call.at - 1)?;
    of_chain(tokens, &root, &steps, frames, depth)
}

/// The columns of every frame that is known.
pub fn all(place: &CursorContext<'_>) -> Vec<Column> {
    let mut all: Vec<Column> = place.frames.frames().iter().flat_map(columns_of).collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all.dedup_by(|a, b| a.name == b.name);
    all
}

fn of_chain(
    tokens: &[Token<'_>],
    root: &Root<'_>,
    steps: &[Step<'_>],
    frames: &[NamedFrame],
    depth: usize,
) -> Option<Vec<Column>> {
    let mut columns = match root {
        Root::Variable(name) => of_variable(tokens, name, frames, depth)?,
        Root::Call("frame", arguments) => made(names_before(&tokens[arguments.clone()], ":")),
        Root::Call(..) => return None,
    };
    let mut keys: Vec<String> = Vec::new();
    for step in steps {
        let arguments = &tokens[step.arguments.clone()];
        apply(step.name, arguments, &mut columns, &mut keys, tokens, frames, depth);
    }
    Some(columns)
}

fn made(names: Vec<String>) -> Vec<Column> {
    names.into_iter().map(|name| Column { name, dtype: None, of: None }).collect()
}

/// The columns of a variable that this cell makes, or of one that the session knows.
fn of_variable(tokens: &[Token<'_>], name: &str, frames: &[NamedFrame], depth: usize) -> Option<Vec<Column>> {
    let pairs = partners(tokens);
    let is_let = |i: &usize| {
        let at = if tokens.get(i + 1).is_some_and(|t| t.is("mut")) { i + 2 } else { i + 1 };
        tokens[*i].is("let")
            && tokens.get(at).is_some_and(|t| t.is(name))
            && tokens.get(at + 1).is_some_and(|t| t.is("="))
    };
    for i in (0..tokens.len()).rev().filter(is_let) {
        let from = (i..tokens.len()).find(|&n| tokens[n].is("="))? + 1;
        let mut end = from;
        while end < tokens.len() && !tokens[end].is(";") {
            end = pairs[end].filter(|&p| p > end).map_or(end + 1, |p| p + 1);
        }
        // The statement that is being typed defines nothing yet.
        if end < tokens.len() && depth < DEPTH {
            let (root, steps) = chain(&tokens[..end], end)?;
            // The initialiser precedes the variable: the same name in it means the earlier variable.
            let mut columns = match &root {
                Root::Variable(name) => of_variable(&tokens[..i], name, frames, depth + 1)?,
                other => of_chain(&tokens[..end], other, &[], frames, depth + 1)?,
            };
            let mut keys = Vec::new();
            for step in &steps {
                let arguments = &tokens[step.arguments.clone()];
                apply(step.name, arguments, &mut columns, &mut keys, &tokens[..i], frames, depth + 1);
            }
            return Some(columns);
        }
    }
    frames.iter().find(|f| f.name == name).map(columns_of)
}

/// The columns after a step. One that is not named here changes no names.
fn apply(
    name: &str,
    arguments: &[Token<'_>],
    columns: &mut Vec<Column>,
    keys: &mut Vec<String>,
    tokens: &[Token<'_>],
    frames: &[NamedFrame],
    depth: usize,
) {
    let known = |columns: &[Column], name: &str| columns.iter().find(|c| c.name == name).cloned();
    let add = |columns: &mut Vec<Column>, name: String| {
        if !columns.iter().any(|c| c.name == name) {
            columns.push(Column { name, dtype: None, of: None });
        }
    };
    match name {
        "select" => {
            let names = results(arguments);
            // `all()` and similar functions keep the columns.
            if !names.is_empty() && !arguments.iter().any(|t| t.is("all")) {
                let before = std::mem::take(columns);
                *columns = names
                    .into_iter()
                    .map(|name| known(&before, &name).unwrap_or(Column { name, dtype: None, of: None }))
                    .collect();
            }
        }
        "with_columns" | "with_column" => results(arguments).into_iter().for_each(|name| add(columns, name)),
        "with_row_index" | "with_values" => texts(arguments).into_iter().take(1).for_each(|name| add(columns, name)),
        "drop" => {
            let gone = texts(arguments);
            columns.retain(|c| !gone.contains(&c.name));
        }
        "rename" => {
            for pair in texts(arguments).chunks_exact(2) {
                if let Some(column) = columns.iter_mut().find(|c| c.name == pair[0]) {
                    column.name = pair[1].clone();
                }
            }
        }
        "group_by" => *keys = results(arguments),
        "agg" | "count" | "sum" | "mean" | "median" | "min" | "max" | "std" | "var" | "first" | "last"
            if !keys.is_empty() =>
        {
            let before = std::mem::take(columns);
            for name in keys.drain(..).chain(results(arguments)) {
                if !columns.iter().any(|c| c.name == name) {
                    columns.push(known(&before, &name).unwrap_or(Column { name, dtype: None, of: None }));
                }
            }
        }
        "len" if !keys.is_empty() => {
            columns.retain(|c| keys.contains(&c.name));
            add(columns, "len".to_string());
        }
        "inner_join" | "join" | "left_join" | "right_join" | "full_join" | "cross_join" | "join_asof" | "hstack" => {
            let other = arguments.iter().find(|t| t.kind == Kind::Word);
            let other =
                other.and_then(|t| (depth < DEPTH).then(|| of_variable(tokens, t.text, frames, depth + 1)).flatten());
            for column in other.into_iter().flatten() {
                if !columns.iter().any(|c| c.name == column.name) {
                    columns.push(column);
                }
            }
        }
        _ => {}
    }
}

/// The string literals among tokens, nested ones too.
pub fn texts(tokens: &[Token<'_>]) -> Vec<String> {
    tokens.iter().filter(|t| t.kind == Kind::Text).map(|t| t.text.trim_matches('"').to_string()).collect()
}

/// `a` and `b` of `a = 1, "b" = 2`: names before a mark, outside of further brackets.
fn names_before(tokens: &[Token<'_>], mark: &str) -> Vec<String> {
    let pairs = partners(tokens);
    let mut names = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let is_name = matches!(tokens[i].kind, Kind::Word | Kind::Text);
        if is_name && tokens.get(i + 1).is_some_and(|t| t.is(mark)) {
            names.push(tokens[i].text.trim_matches('"').trim_start_matches("r#").to_string());
        }
        i = pairs[i].filter(|&p| p > i).map_or(i + 1, |p| p + 1);
    }
    names
}

/// The names of what a list of expressions gives: `x!(a, b = c)`, `["a", "b"]`, `col("a").sum().alias("b")`.
fn results(tokens: &[Token<'_>]) -> Vec<String> {
    let mut names = Vec::new();
    for element in elements(tokens) {
        let inner = match element {
            [name, bang, open, .., _] if name.is("x") && bang.is("!") && matches!(open.kind, Kind::Open(_)) => {
                &element[3..element.len() - 1]
            }
            [open, .., close] if open.kind == Kind::Open('[') && close.kind == Kind::Close(']') => {
                names.extend(results(&element[1..element.len() - 1]));
                continue;
            }
            _ => {
                let alias = element.iter().rposition(|t| t.is("alias")).and_then(|n| element.get(n + 2));
                let name = alias.or_else(|| element.iter().find(|t| t.kind == Kind::Text));
                names.extend(name.filter(|t| t.kind == Kind::Text).map(|t| t.text.trim_matches('"').to_string()));
                continue;
            }
        };
        for one in elements(inner) {
            match one {
                [name, equals, ..] if equals.is("=") => names.push(name.text.trim_matches('"').to_string()),
                [name, ..] if matches!(name.kind, Kind::Word) => names.push(name.text.to_string()),
                _ => {}
            }
        }
    }
    names
}

/// Parts between commas.
fn elements<'a, 't>(tokens: &'a [Token<'t>]) -> Vec<&'a [Token<'t>]> {
    let pairs = partners(tokens);
    let (mut parts, mut start, mut i) = (Vec::new(), 0, 0);
    while i < tokens.len() {
        if tokens[i].is(",") {
            parts.push(&tokens[start..i]);
            start = i + 1;
        }
        i = pairs[i].filter(|&p| p > i).map_or(i + 1, |p| p + 1);
    }
    if start < tokens.len() {
        parts.push(&tokens[start..]);
    }
    parts
}
