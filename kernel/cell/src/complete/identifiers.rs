//! Completion of a Rust identifier: after a dot, after `::`, and in place of a name.

use onrush_wire::plan::FORMATS;
use onrush_wire::session::NamedFrame;

use super::calls::{Call, chain, enclosing};
use super::columns;
use super::members::{MemberMatch, Rank, head};
use super::symbols::{PRIMITIVES, Symbols, std_prelude};
use super::tokens::{Kind, Token};
use super::ty::Ty;
use super::{Candidates, CursorContext};
use crate::index::Item;
use crate::type_query::PROBE;

const KEYWORDS: &[&str] = &[
    "as", "async", "await", "break", "const", "continue", "dyn", "else", "enum", "false", "fn", "for", "if", "impl",
    "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "static", "struct", "trait", "true",
    "type", "unsafe", "use", "where", "while",
];

const DERIVES: &[&str] =
    &["Clone", "Copy", "Debug", "Default", "Deserialize", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd", "Serialize"];

const ATTRIBUTES: &[&str] = &[
    "allow",
    "cfg",
    "cold",
    "deny",
    "deprecated",
    "derive",
    "doc",
    "expect",
    "inline",
    "macro_export",
    "macro_use",
    "must_use",
    "non_exhaustive",
    "opt",
    "path",
    "repr",
    "serde",
    "test",
    "track_caller",
    "warn",
];

/// The receiver of `x!`'s own functions is a type of the prelude.
pub const EXPR: &str = "onrush::prelude::Expr";
const FRAME: &str = "onrush::prelude::Frame";

fn rank_of(rank: Rank) -> u8 {
    match rank {
        Rank::Field => 0,
        Rank::Own => 1,
        Rank::Behind => 2,
        Rank::Trait => 3,
        Rank::Quiet => 8,
    }
}

fn kind_of(member: char) -> &'static str {
    match member {
        'm' => "method",
        'f' => "field",
        'c' => "constant",
        't' => "type",
        'v' => "variant",
        _ => "function",
    }
}

fn kind_of_item(item: &Item<'_>) -> &'static str {
    match item.kind {
        "trait" => "trait",
        "fn" => "function",
        "macro" => "macro",
        "const" | "static" => "constant",
        "mod" => "module",
        _ => "type",
    }
}

fn add_found(found: &[MemberMatch], candidates: &mut Candidates<'_>) {
    for one in found {
        candidates.add(rank_of(one.rank), &one.name, kind_of(one.kind), &one.signature);
    }
}

/// The nearest macro around the cursor that reads names as columns, if no block of Rust is in between.
pub fn in_expression(tokens: &[Token<'_>]) -> bool {
    let is_rust = |call: &&Call<'_>| tokens[call.open].kind == Kind::Open('{') && !call.is_macro;
    enclosing(tokens).iter().find(|c| c.is_macro || is_rust(c)).is_some_and(|call| call.is_macro && call.name == "x")
}

/// The type of what stands before the dot.
pub fn receiver(place: &CursorContext<'_>, known: &Symbols, tokens: &[Token<'_>]) -> Option<Ty> {
    let before = tokens.len().checked_sub(2)?;
    let token = &tokens[before];
    let is_whole = before == 0 || !(tokens[before - 1].is(".") || tokens[before - 1].is("::"));
    if in_expression(tokens) {
        let is_space = before > 0 && tokens[before - 1].is(".");
        let name = match token.text {
            "str" if is_space => "ExprStr",
            "dt" if is_space => "ExprDt",
            "list" if is_space => "ExprList",
            _ => return Some(Ty::path(EXPR)),
        };
        return Some(Ty::path(&format!("onrush::{name}")));
    }
    match token.kind {
        Kind::Word if is_whole && !known.scope.locals.iter().any(|l| l == token.text) && !known.scope.in_function => {
            if let Some(variable) = place.names.notebook.variables.get(token.text) {
                return Some(Ty::parse(&variable.type_code));
            }
        }
        Kind::Text if is_whole && token.text.starts_with(['"', 'r']) => {
            return Some(Ty::Reference(Box::new(Ty::path("str"))));
        }
        Kind::Character if is_whole => return Some(Ty::path("char")),
        _ => {}
    }
    known.asked(place).or_else(|| guess(tokens, &place.frames.frames()))
}

/// A chain that begins with a frame goes on as one.
fn guess(tokens: &[Token<'_>], known: &[NamedFrame]) -> Option<Ty> {
    let (root, _) = chain(tokens, tokens.len() - 1)?;
    let is_frame = match root {
        super::calls::Root::Variable(name) => known.iter().any(|f| f.name == name),
        super::calls::Root::Call(name, _) => {
            matches!(name, "sql" | "frame" | "read_database") || FORMATS.iter().any(|info| info.readers.contains(&name))
        }
    };
    is_frame.then(|| Ty::path(FRAME))
}

/// Behind a dot.
pub fn members(place: &CursorContext<'_>, candidates: &mut Candidates<'_>) {
    let Some(dot) = place.last() else { return };
    let known = Symbols::at(place, &place.text[..dot.start], &format!(".{PROBE}"));
    let Some(ty) = receiver(place, &known, &place.tokens) else { return };
    add_found(&known.world.members(&ty), candidates);
    let is_block = matches!(&ty, Ty::Other(text) if text.contains("{async"));
    if is_block || matches!(&ty, Ty::Bounds(_)) && known.world.has(&ty, "Future", 4) {
        candidates.add(0, "await", "keyword", "");
    }
}

/// The path in front of the cursor, `["std", "collections"]` of `std::collections::`, and whether rustc must be asked
/// about it. Inside of the brackets of a `use`, with what stands before them.
pub fn written_path<'a>(tokens: &[Token<'a>]) -> Option<Vec<&'a str>> {
    let mut segments = Vec::new();
    let mut at = tokens.len();
    while at > 0 && tokens[at - 1].is("::") {
        at -= 1;
        // `Vec::<i32>::`
        if at > 0 && tokens[at - 1].is(">") {
            let mut depth = 0;
            while at > 0 {
                at -= 1;
                depth += i32::from(tokens[at].is(">")) - i32::from(tokens[at].is("<"));
                if depth == 0 {
                    break;
                }
            }
            if at > 0 && tokens[at - 1].is("::") {
                at -= 1;
            }
        }
        let name = at.checked_sub(1).filter(|&i| tokens[i].kind == Kind::Word)?;
        segments.push(tokens[name].text);
        at = name;
    }
    segments.reverse();
    Some(segments)
}

/// The path before the cursor in a `use`: `["std", "io"]` of `use std::{fmt, io::`. `None` outside of one.
pub fn in_use<'a>(tokens: &[Token<'a>]) -> Option<Vec<&'a str>> {
    let mut segments = Vec::new();
    let mut at = tokens.len();
    let mut wants_name = false;
    let mut depth = 0;
    while at > 0 {
        at -= 1;
        let token = &tokens[at];
        match token.kind {
            Kind::Close('}') => depth += 1,
            Kind::Open('{') if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            Kind::Open('{') => {
                // An earlier path in the same brackets is another one.
                wants_name = false;
                if !(at > 0 && tokens[at - 1].is("::")) {
                    return None;
                }
            }
            Kind::Word if token.text == "use" => {
                segments.reverse();
                return Some(segments);
            }
            Kind::Mark if token.is("::") => wants_name = true,
            Kind::Word if wants_name => {
                segments.push(token.text);
                wants_name = false;
            }
            Kind::Word | Kind::Mark
                if token.is(",") || token.is("as") || token.is("self") || token.kind == Kind::Word => {}
            _ => return None,
        }
    }
    None
}

/// Behind `::`.
pub fn path(place: &CursorContext<'_>, candidates: &mut Candidates<'_>) {
    let used = in_use(&place.tokens);
    let segments = match &used {
        Some(segments) => Some(segments.clone()),
        None => written_path(&place.tokens),
    };
    let known = Symbols::at(place, place.before(), PROBE);
    let written = segments.unwrap_or_default();
    let mut any = false;
    let full = match &used {
        Some(path) if path.first().is_some_and(|f| known.world.indexes.iter().any(|i| i.has_module(f))) => {
            Some(path.join("::"))
        }
        _ => known.full_path(&written),
    };
    if let Some(path) = &full {
        any |= module(&known, path, used.is_some(), candidates);
    }
    if used.is_some() {
        return;
    }
    let ty = match (&full, written.as_slice()) {
        (_, [name]) if known.scope.generics.contains_key(*name) => Some(Ty::path(name)),
        (_, ["Self"]) => known.scope.self_type.as_deref().map(|own| known.full_type(own)),
        (Some(path), _) if !known.items(path).is_empty() => Some(Ty::path(path)),
        _ => None,
    };
    let ty = ty.or_else(|| if any { None } else { known.asked(place) });
    if let Some(ty) = ty {
        let found = known.world.associated(&ty);
        for one in &found {
            // Methods are called behind a dot; here they are for `map(String::len)`.
            let rank = match one.kind {
                'm' => 5,
                'a' | 'c' if one.rank == Rank::Trait => 4,
                _ => rank_of(one.rank),
            };
            candidates.add(rank, &one.name, kind_of(one.kind), &one.signature);
        }
        if let Some(item) = known.world.trait_item(&head(&ty)).filter(|i| known.items(&head(&ty)).contains(i)) {
            for member in item.members() {
                candidates.add(1, member.name, kind_of(member.kind), member.signature);
            }
        }
    }
}

/// The items of a module.
fn module(known: &Symbols, path: &str, in_use: bool, candidates: &mut Candidates<'_>) -> bool {
    let mut any = false;
    for index in &known.world.indexes {
        for (name, item) in index.children(path) {
            if matches!(item.kind, "keyword" | "attr" | "derive" | "primitive") {
                continue;
            }
            any = true;
            let name = if item.kind == "macro" && !in_use { format!("{name}!") } else { name.to_string() };
            candidates.add(if item.kind == "mod" { 3 } else { 2 }, &name, kind_of_item(&item), item.signature);
        }
    }
    // Variants can be imported.
    for item in known.items(path).into_iter().filter(|i| i.kind == "enum" && in_use) {
        for member in item.members().filter(|m| m.kind == 'v') {
            any = true;
            candidates.add(1, member.name, "variant", member.signature);
        }
    }
    any
}

/// Candidates in a place for a name.
pub fn names(place: &CursorContext<'_>, candidates: &mut Candidates<'_>) {
    let tokens = &place.tokens;
    let calls = enclosing(tokens);
    let is_attribute = |call: &Call<'_>| {
        let before = |n: usize| call.open.checked_sub(n).map(|i| &tokens[i]);
        tokens[call.open].kind == Kind::Open('[')
            && (before(1).is_some_and(|t| t.is("#"))
                || before(1).is_some_and(|t| t.is("!")) && before(2).is_some_and(|t| t.is("#")))
    };
    if calls.iter().any(is_attribute) {
        match calls.first() {
            Some(call) if call.name == "derive" => DERIVES.iter().for_each(|name| candidates.add(0, name, "trait", "")),
            Some(call) if is_attribute(call) => {
                ATTRIBUTES.iter().for_each(|name| candidates.add(0, name, "attribute", ""))
            }
            _ => {}
        }
        return;
    }
    let known = Symbols::at(place, place.before(), PROBE);
    if let Some(path) = in_use(tokens) {
        if path.is_empty() {
            for name in ["std", "crate", "self", "super"] {
                candidates.add(1, name, "module", "");
            }
            roots(place, &known, candidates);
            items(&known, candidates);
        } else {
            module(&known, &known.full_path(&path).unwrap_or_else(|| path.join("::")), true, candidates);
        }
        return;
    }
    if in_expression(tokens) {
        columns(place, candidates);
        for name in ["when", "coalesce", "len", "lit", "col", "all", "concat_str"] {
            if let Some(item) = crate::index::prelude().at(&format!("onrush::prelude::{name}")).first() {
                candidates.add(2, name, "function", item.signature);
            }
        }
        return;
    }
    fields_of_literal(&known, tokens, candidates);
    let wants_type = is_type_due(tokens);
    if !wants_type {
        variables(place, &known, candidates);
    }
    items(&known, candidates);
    imported(&known, candidates);
    let prelude = crate::index::prelude();
    for (name, item) in prelude.children("onrush::prelude") {
        let name = if item.kind == "macro" { format!("{name}!") } else { name.to_string() };
        candidates.add(3, &name, kind_of_item(&item), item.signature);
    }
    for (name, signature) in [("Some", "Some(T)"), ("None", "None"), ("Ok", "Ok(T)"), ("Err", "Err(E)")] {
        candidates.add(3, name, "variant", signature);
    }
    for (name, path) in std_prelude() {
        if let Some(item) = known.items(path).first() {
            candidates.add(4, name, kind_of_item(item), item.signature);
        }
    }
    for (name, item) in crate::index::standard().children("std") {
        if item.kind == "macro" {
            candidates.add(4, &format!("{name}!"), "macro", item.signature);
        }
    }
    for name in ["input!", "password!", "print!"] {
        candidates.add(4, name, "macro", "");
    }
    if place.word().is_empty() {
        return;
    }
    for name in ["std", "crate"] {
        candidates.add(5, name, "module", "");
    }
    roots(place, &known, candidates);
    PRIMITIVES.iter().for_each(|name| candidates.add(5, name, "type", ""));
    KEYWORDS.iter().for_each(|name| candidates.add(6, name, "keyword", ""));
    if known.scope.self_type.is_some() {
        candidates.add(1, "Self", "type", known.scope.self_type.as_deref().unwrap_or(""));
    }
    not_imported(place, &known, candidates);
}

/// Whether a type follows these tokens, as after `let x:`, `->` or `as`.
fn is_type_due(tokens: &[Token<'_>]) -> bool {
    let before = tokens.iter().rev().find(|t| !(t.is("&") || t.is("mut") || t.kind == Kind::Lifetime));
    let Some(token) = before else { return false };
    let call = enclosing(tokens).first().copied();
    // The value of a field, or of a named argument.
    let is_value = call.is_some_and(|c| {
        c.is_macro
            || tokens[c.open].kind == Kind::Open('{')
                && c.open > 0
                && tokens[c.open - 1].text.starts_with(char::is_uppercase)
                && !tokens[..c.open - 1].last().is_some_and(|t| matches!(t.text, "struct" | "enum" | "union"))
    });
    matches!(token.text, "->" | "as" | "impl" | "dyn") || token.is(":") && !is_value
}

/// Crates that cells can use.
fn roots(place: &CursorContext<'_>, known: &Symbols, candidates: &mut Candidates<'_>) {
    for name in place.names.notebook.dependencies.crates().iter().filter_map(|c| c.direct.as_deref()) {
        candidates.add(5, name, "module", "");
    }
    for name in ["arrow", "chrono", "serde"] {
        candidates.add(5, name, "module", "");
    }
    for leaf in known.uses.iter().filter(|l| !l.path.contains("::")) {
        candidates.add(5, &leaf.path, "module", "");
    }
}

fn variables(place: &CursorContext<'_>, known: &Symbols, candidates: &mut Candidates<'_>) {
    // The cell that is typed hides variables of its names.
    for name in known.scope.locals.iter().rev() {
        candidates.add(0, name, "variable", "");
    }
    if known.scope.in_function {
        return;
    }
    for (name, variable) in &place.names.notebook.variables {
        candidates.add(1, name, "variable", &crate::types::short(&variable.type_code));
    }
}

fn items(known: &Symbols, candidates: &mut Candidates<'_>) {
    for index in [&known.present, &known.cells] {
        for (name, item) in index.children("") {
            let text = if item.kind == "macro" { format!("{name}!") } else { name.to_string() };
            candidates.add(2, &text, kind_of_item(&item), item.signature);
        }
    }
    for (name, kind) in &known.scope.items {
        let kind = match *kind {
            "fn" => "function",
            "const" | "static" => "constant",
            "mod" => "module",
            _ => "type",
        };
        candidates.add(2, name, kind, "");
    }
}

/// The names that `use` brings in.
fn imported(known: &Symbols, candidates: &mut Candidates<'_>) {
    for leaf in &known.uses {
        let path = leaf.path.trim_start_matches("::");
        match leaf.name.as_str() {
            "_" => {}
            "*" => {
                let full = known.full_path(&path.split("::").collect::<Vec<_>>()).unwrap_or_else(|| path.to_string());
                module(known, &full, false, candidates);
                for item in known.items(&full).into_iter().filter(|i| i.kind == "enum") {
                    for member in item.members().filter(|m| m.kind == 'v') {
                        candidates.add(2, member.name, "variant", member.signature);
                    }
                }
            }
            name => {
                let found = known.items(path);
                let item = found.first();
                let kind = item.map_or("type", kind_of_item);
                let is_macro = kind == "macro";
                let text = if is_macro { format!("{name}!") } else { name.to_string() };
                candidates.add(2, &text, kind, item.map_or("", |i| i.signature));
            }
        }
    }
}

/// Types of the standard library by their full path, which works without a `use`.
fn not_imported(place: &CursorContext<'_>, known: &Symbols, candidates: &mut Candidates<'_>) {
    let word = place.word();
    if word.len() < 3 || !word.starts_with(char::is_uppercase) || known.full_path(&[word]).is_some() {
        return;
    }
    let standard = crate::index::standard();
    for name in standard.names_from(word) {
        for item in standard.named(name).into_iter().filter(|i| i.is_type() || i.kind == "trait") {
            let is_there = known.full_path(&[item.name()]).is_some();
            if !is_there && item.path.matches("::").count() <= 2 {
                candidates.add_as(7, item.path, kind_of_item(&item), item.signature);
            }
        }
    }
}

/// `Point { x: 1, |`: the fields that are not there yet.
fn fields_of_literal(known: &Symbols, tokens: &[Token<'_>], candidates: &mut Candidates<'_>) {
    let Some(call) = enclosing(tokens).first().copied() else { return };
    if tokens[call.open].kind != Kind::Open('{') || call.open == 0 || tokens[call.open - 1].kind != Kind::Word {
        return;
    }
    let is_due = tokens.last().is_some_and(|t| t.is(",") || matches!(t.kind, Kind::Open('{')));
    let name = &tokens[call.open - 1];
    if !is_due || !name.text.starts_with(char::is_uppercase) {
        return;
    }
    let mut written = written_path(&tokens[..call.open - 1]).unwrap_or_default();
    let first = call.open - 1 - 2 * written.len();
    // Definitions and impls have such brackets too.
    if first > 0
        && matches!(tokens[first - 1].text, "struct" | "enum" | "union" | "trait" | "impl" | "for" | "->" | "mod")
    {
        return;
    }
    written.push(name.text);
    let given: Vec<&str> = tokens[call.open + 1..].windows(2).filter(|w| w[1].is(":")).map(|w| w[0].text).collect();
    let Some(path) = known.full_path(&written) else { return };
    // A variant's fields are in its signature: `Square { side: f64 }`.
    if let Some((of, variant)) = path.rsplit_once("::") {
        for member in known.items(of).iter().flat_map(|i| i.members()).filter(|m| m.kind == 'v' && m.name == variant) {
            let inside = member.signature.split_once('{').map_or("", |(_, rest)| rest.trim_end().trim_end_matches('}'));
            let (fields, _) = super::tokens::tokens(inside);
            for pair in fields.windows(2).filter(|w| w[1].is(":") && !given.contains(&w[0].text)) {
                candidates.add(0, pair[0].text, "field", member.signature);
            }
        }
    }
    for item in known.items(&path) {
        for member in item.members().filter(|m| m.kind == 'f' && !given.contains(&m.name)) {
            candidates.add(0, member.name, "field", member.signature);
        }
    }
}

/// Columns as names, for `x!`.
pub fn columns(place: &CursorContext<'_>, candidates: &mut Candidates<'_>) {
    let found = columns::in_hand(place).unwrap_or_else(|| columns::all(place));
    for column in found {
        let is_name = column.name.chars().all(super::tokens::is_word) && !column.name.is_empty();
        if is_name {
            let dtype = column.dtype.map(|d| d.to_string()).unwrap_or_default();
            candidates.add(0, &column.name, "column", &dtype);
        }
    }
}
