//! A cell's text taken apart: items, statements, the last expression, and which names each part defines and mentions.
//!
//! Positions are byte ranges of the text, which stays as the user wrote it. Code that rustc accepts and syn does not is
//! kept as one piece of statements: rustc has the last word.

pub mod item_macros;

use std::collections::BTreeSet;
use std::ops::Range;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, Block, Fields, ImplItem, Item, Pat, Stmt, Visibility};

/// A cell without its commands: what is compiled.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// The text with commands blanked out; lines and columns are the user's.
    pub code: String,
    /// `#![…]` at the top.
    pub inner_attributes: Vec<Range<usize>>,
    pub parts: Vec<Part>,
    /// `#![opt(3)]`: the level for this cell alone.
    pub optimisation: Option<u8>,
    /// syn's error message; `None` if syn parsed the cell. If there is an error, `parts` is empty and rustc reports it.
    pub error: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Part {
    pub range: Range<usize>,
    pub kind: PartKind,
    /// Identifiers in it, also in macros and format strings, without those that a `let` binds.
    pub mentions: BTreeSet<String>,
}

#[derive(Clone, Debug)]
pub enum PartKind {
    Item(ItemPart),
    Let {
        names: Vec<Binding>,
        /// `let x;` has no value yet.
        has_value: bool,
    },
    Statement,
    /// The last expression, to be shown.
    Show,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub name: String,
    pub mutable: bool,
    /// It is there if this configuration is: `any(windows, unix)`.
    pub cfg: Option<String>,
}

#[derive(Clone, Debug)]
pub struct ItemPart {
    pub kind: ItemKind,
    /// `pub ` to insert at these places.
    pub publish: Vec<usize>,
    /// The restriction of a `pub(crate)`, to blank out.
    pub restrictions: Vec<Range<usize>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// Has a name that later cells import: type, function, constant, module.
    Named(String),
    /// The names in a macro such as `thread_local!` or in an `extern` block.
    Statics(Vec<String>),
    Trait(String),
    Macro(String),
    /// A call of a macro that defines items, with the names that may be theirs.
    Made(BTreeSet<String>),
    Use(Vec<UseLeaf>),
    /// With the names of the type that it is for and of the trait.
    Impl {
        target: Option<String>,
        of_trait: Option<String>,
        /// All names of the type and the trait, their arguments included.
        header: BTreeSet<String>,
        methods: Vec<String>,
    },
    Other,
}

/// One name that a `use` brings in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UseLeaf {
    /// `std::collections::HashMap`, or `std::fmt` for `use std::fmt::*`.
    pub path: String,
    /// Its name here; `*` for a glob, `_` for an unnamed trait.
    pub name: String,
}

impl UseLeaf {
    pub fn code(&self) -> String {
        // The prelude's glob has these crates too: the leading colons say which is meant.
        let root =
            if matches!(self.path.split("::").next(), Some("arrow" | "chrono" | "serde")) { "::onrush::" } else { "" };
        format!("{root}{}", self.plain_code())
    }

    /// Without the prelude before its own crates.
    pub fn plain_code(&self) -> String {
        match self.name.as_str() {
            "*" => format!("{}::*", self.path),
            name if self.path.rsplit("::").next() == Some(name) => self.path.clone(),
            name => format!("{} as {name}", self.path),
        }
    }

    /// A name that hides others, which globs and unnamed traits have not.
    pub fn has_name(&self) -> bool {
        !matches!(self.name.as_str(), "*" | "_" | MACRO_USE)
    }

    /// Macros of a crate that only its root can bring in.
    pub fn is_macro_use(&self) -> bool {
        self.name == MACRO_USE
    }

    pub fn first(&self) -> &str {
        self.path.trim_start_matches("::").split("::").next().unwrap_or("")
    }
}

impl Cell {
    /// Names of functions, constants and statics that it defines.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match &part.kind {
            PartKind::Item(ItemPart { kind: ItemKind::Named(name), .. })
                if is_value(&self.code[part.range.clone()], name) =>
            {
                Some(name.as_str())
            }
            _ => None,
        })
    }

    pub fn with_optimisation(mut self, level: Option<u8>) -> Self {
        self.optimisation = level;
        self
    }
}

/// Whether the item of this text is a function, a constant or a static.
pub fn is_value(text: &str, name: &str) -> bool {
    let words: Vec<&str> = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
    words
        .windows(2)
        .find(|pair| pair[1] == name)
        .is_some_and(|pair| matches!(pair[0], "fn" | "const" | "static" | "mut"))
}

/// Macros of statements that define items, whose names later cells want.
const ITEM_MACROS: [&str; 3] = ["thread_local", "lazy_static", "bitflags"];

pub fn parse_cell(code: &str) -> Cell {
    let parse = |input: ParseStream<'_>| -> syn::Result<(Vec<Attribute>, Vec<Stmt>)> {
        Ok((Attribute::parse_inner(input)?, Block::parse_within(input)?))
    };
    let mut cell = Cell { code: code.to_string(), ..Cell::default() };
    match parse.parse_str(code) {
        Err(error) => cell.error = Some(error.to_string()),
        Ok((attributes, statements)) => {
            for attribute in &attributes {
                let range = attribute.span().byte_range();
                match attribute.parse_args::<syn::LitInt>().ok().filter(|_| attribute.path().is_ident("opt")) {
                    Some(level) => {
                        cell.optimisation = level.base10_parse().ok().filter(|l| *l <= 3);
                        let blank = " ".repeat(range.len());
                        cell.code.replace_range(range, &blank);
                    }
                    None => cell.inner_attributes.push(range),
                }
            }
            let last = statements.len().wrapping_sub(1);
            cell.parts = statements.iter().enumerate().map(|(i, s)| part(s, i == last)).collect();
        }
    }
    cell
}

/// A cell's text with empty lines in place of commands.
pub fn without_commands(text: &str) -> String {
    let is_command = |line: &&str| line.starts_with([':', '%', '!']) && !line.starts_with("::");
    let lines: Vec<&str> = text.split('\n').map(|line| if is_command(&line) { "" } else { line }).collect();
    lines.join("\n")
}

/// The items of a cell, wherever they stand between its statements. Commands are not Rust: their lines count as empty.
pub fn items_of(code: &str) -> Vec<Item> {
    let parse = |input: ParseStream<'_>| -> syn::Result<Vec<Stmt>> {
        Attribute::parse_inner(input)?;
        Block::parse_within(input)
    };
    let statements = parse.parse_str(&without_commands(code)).unwrap_or_default();
    statements.into_iter().filter_map(|s| if let Stmt::Item(item) = s { Some(item) } else { None }).collect()
}

fn part(statement: &Stmt, is_last: bool) -> Part {
    let range = statement.span().byte_range();
    let mut mentions = BTreeSet::new();
    let kind = match statement {
        Stmt::Item(item) => {
            identifiers(item.to_token_stream(), &mut mentions);
            PartKind::Item(item_part(item))
        }
        Stmt::Macro(call) if call.mac.path.get_ident().is_some_and(|name| ITEM_MACROS.iter().any(|m| name == m)) => {
            identifiers(call.to_token_stream(), &mut mentions);
            let (kind, publish) = statics(call.mac.tokens.clone());
            PartKind::Item(ItemPart { kind, publish, restrictions: Vec::new() })
        }
        Stmt::Local(local) => {
            let mut names =
                Bindings { refutable: local.init.as_ref().is_some_and(|i| i.diverge.is_some()), ..Bindings::default() };
            names.visit_pat(&local.pat);
            if let Some(init) = &local.init {
                identifiers(init.expr.to_token_stream(), &mut mentions);
                if let Some((_, diverge)) = &init.diverge {
                    identifiers(diverge.to_token_stream(), &mut mentions);
                }
            }
            // Paths and types of the pattern: `let Point { x, y } = p`, `let v: Vec<Item> = …`.
            let mut pattern = BTreeSet::new();
            identifiers(local.pat.to_token_stream(), &mut pattern);
            mentions.extend(pattern.into_iter().filter(|name| !names.found.iter().any(|b| b.name == *name)));
            let cfg = configuration(&local.attrs);
            names.found.iter_mut().for_each(|binding| binding.cfg = cfg.clone());
            PartKind::Let { names: names.found, has_value: local.init.is_some() }
        }
        Stmt::Expr(_, semicolon) => {
            identifiers(statement.to_token_stream(), &mut mentions);
            // `#[cfg(unix)] { … }` is not a value: attributes stand on statements only.
            let mut tokens = statement.to_token_stream().into_iter();
            let is_plain = !matches!(tokens.next(), Some(TokenTree::Punct(mark)) if mark.as_char() == '#');
            if is_last && semicolon.is_none() && is_plain && is_shown(statement) {
                PartKind::Show
            } else {
                PartKind::Statement
            }
        }
        Stmt::Macro(call) => {
            identifiers(statement.to_token_stream(), &mut mentions);
            if is_last && call.semi_token.is_none() { PartKind::Show } else { PartKind::Statement }
        }
    };
    Part { range, kind, mentions }
}

/// The conditions in the `#[cfg(…)]` of a statement.
fn configuration(attributes: &[Attribute]) -> Option<String> {
    let conditions = attributes.iter().filter(|a| a.path().is_ident("cfg"));
    let conditions: Vec<String> =
        conditions.filter_map(|a| Some(a.meta.require_list().ok()?.tokens.to_string())).collect();
    match &conditions[..] {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(format!("all({})", conditions.join(", "))),
    }
}

/// The names that `static NAME` or `static ref NAME` in a macro's tokens define, and where they are made public.
fn statics(tokens: TokenStream) -> (ItemKind, Vec<usize>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let word = |i: usize, w: &str| matches!(tokens.get(i), Some(TokenTree::Ident(ident)) if ident == w);
    let (mut names, mut publish) = (Vec::new(), Vec::new());
    for i in (0..tokens.len()).filter(|&i| word(i, "static")) {
        if let Some(TokenTree::Ident(name)) = tokens.get(if word(i + 1, "ref") { i + 2 } else { i + 1 }) {
            names.push(name.to_string());
            if i == 0 || !word(i - 1, "pub") {
                publish.push(tokens[i].span().byte_range().start);
            }
        }
    }
    (ItemKind::Statics(names), publish)
}

/// Loops have no value to show.
fn is_shown(statement: &Stmt) -> bool {
    use syn::Expr::*;
    match statement {
        Stmt::Expr(e, _) if returns(e) => false,
        Stmt::Expr(While(_) | ForLoop(_) | Break(_) | Continue(_) | Assign(_), _) => false,
        Stmt::Expr(If(e), _) => e.else_branch.is_some(),
        Stmt::Expr(Binary(e), _) => !is_assignment(&e.op),
        Stmt::Expr(Loop(e), _) => e.to_token_stream().to_string().contains("break "),
        _ => true,
    }
}

/// Whether an expression ends with a `return` on all its ways, and so has no value to show.
fn returns(expression: &syn::Expr) -> bool {
    use syn::Expr::*;
    let ends = |block: &syn::Block| matches!(block.stmts.last(), Some(Stmt::Expr(last, _)) if returns(last));
    match expression {
        Return(_) => true,
        Block(of) => ends(&of.block),
        If(of) => ends(&of.then_branch) && of.else_branch.as_ref().is_some_and(|(_, other)| returns(other)),
        Match(of) => !of.arms.is_empty() && of.arms.iter().all(|arm| returns(&arm.body)),
        _ => false,
    }
}

fn is_assignment(op: &syn::BinOp) -> bool {
    use syn::BinOp::*;
    matches!(
        op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitXorAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    )
}

#[derive(Default)]
struct Bindings {
    found: Vec<Binding>,
    /// In a `let … else` a name with a capital is more likely a constant or a variant.
    refutable: bool,
}

impl<'ast> Visit<'ast> for Bindings {
    fn visit_pat_ident(&mut self, pattern: &'ast syn::PatIdent) {
        let name = pattern.ident.to_string();
        // `None`, constants and variants look like bindings. In an irrefutable pattern a capital is a matrix, or a
        // size.
        let plain = pattern.subpat.is_none() && pattern.mutability.is_none();
        let constant = self.refutable && plain && name.starts_with(char::is_uppercase);
        if !constant && !self.found.iter().any(|b| b.name == name) {
            self.found.push(Binding { name, mutable: pattern.mutability.is_some(), cfg: None });
        }
        syn::visit::visit_pat_ident(self, pattern);
    }

    fn visit_expr(&mut self, _: &'ast syn::Expr) {}

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        syn::visit::visit_pat(self, pattern);
    }
}

/// Every identifier of a token stream, and those in `{…}` of string literals.
pub fn identifiers(tokens: TokenStream, names: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                names.insert(ident.to_string());
            }
            TokenTree::Group(group) => identifiers(group.stream(), names),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                if text.contains('{') && (text.starts_with('"') || text.starts_with('r')) {
                    format_arguments(&text, names);
                }
            }
            TokenTree::Punct(_) => {}
        }
    }
}

fn format_arguments(text: &str, names: &mut BTreeSet<String>) {
    for piece in text.split('{').skip(1) {
        let inside = piece.split('}').next().unwrap_or("");
        // `{x}`, `{x:?}`, and the width and precision of `{:>w$.p$}`.
        for word in inside.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
            if word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                names.insert(word.to_string());
                // `{type}` means the variable `r#type`.
                if syn::parse_str::<syn::Ident>(word).is_err() {
                    names.insert(format!("r#{word}"));
                }
            }
        }
    }
}

fn item_part(item: &Item) -> ItemPart {
    let mut publish = Publish::default();
    let kind = match item {
        // Tests are compiled out: there is nothing that a later cell could import.
        Item::Fn(i) if i.attrs.iter().any(is_for_tests) => ItemKind::Other,
        Item::Mod(i) if i.attrs.iter().any(is_for_tests) => ItemKind::Other,
        Item::Struct(i) => {
            publish.item(&i.vis, item);
            publish.fields(&i.fields);
            ItemKind::Named(i.ident.to_string())
        }
        Item::Union(i) => {
            publish.item(&i.vis, item);
            i.fields.named.iter().for_each(|f| publish.item(&f.vis, f));
            ItemKind::Named(i.ident.to_string())
        }
        Item::Enum(i) => publish.named(&i.vis, item, &i.ident),
        Item::Fn(i) => publish.named(&i.vis, item, &i.sig.ident),
        Item::Const(i) => publish.named(&i.vis, item, &i.ident),
        Item::Static(i) => publish.named(&i.vis, item, &i.ident),
        Item::Type(i) => publish.named(&i.vis, item, &i.ident),
        Item::Mod(i) => {
            Inside { publish: &mut publish, depth: 0 }.visit_item_mod(i);
            publish.named(&i.vis, item, &i.ident)
        }
        Item::Trait(i) => {
            publish.item(&i.vis, item);
            ItemKind::Trait(i.ident.to_string())
        }
        Item::TraitAlias(i) => {
            publish.item(&i.vis, item);
            ItemKind::Trait(i.ident.to_string())
        }
        Item::Macro(i) => {
            publish
                .places
                .extend(i.ident.as_ref().and_then(|_| item_macros::places(i.mac.tokens.clone())).unwrap_or_default());
            i.ident.as_ref().map_or(ItemKind::Other, |name| ItemKind::Macro(name.to_string()))
        }
        Item::Use(i) => {
            let leaves = leaves_of(i);
            if leaves.is_empty() {
                // `use crate::f;`: the name is there.
                publish.restrictions.push(item.span().byte_range());
            }
            ItemKind::Use(leaves)
        }
        // A `use` does not find the crates of the standard library as names.
        Item::ExternCrate(i)
            if !["self", "std", "core", "alloc", "proc_macro", "test"].iter().any(|n| i.ident == n) =>
        {
            let path = format!("::{}", i.ident);
            let name = i.rename.as_ref().map_or(&i.ident, |(_, name)| name).to_string();
            let mut leaves = vec![UseLeaf { path: path.clone(), name }];
            if i.attrs.iter().any(|attribute| attribute.path().is_ident("macro_use")) {
                leaves.push(UseLeaf { path, name: MACRO_USE.to_string() });
            }
            ItemKind::Use(leaves)
        }
        Item::Impl(i) => {
            if i.trait_.is_none() {
                for inner in &i.items {
                    match inner {
                        ImplItem::Fn(f) => publish.item(&f.vis, inner),
                        ImplItem::Const(c) => publish.item(&c.vis, inner),
                        ImplItem::Type(t) => publish.item(&t.vis, inner),
                        _ => {}
                    }
                }
            }
            let target = match &*i.self_ty {
                syn::Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
                _ => None,
            };
            let of_trait = i.trait_.as_ref().and_then(|(_, path, _)| path.segments.last()).map(|s| s.ident.to_string());
            let method = |inner: &ImplItem| match inner {
                ImplItem::Fn(f) => Some(f.sig.ident.to_string()),
                _ => None,
            };
            let mut header = BTreeSet::new();
            identifiers(i.self_ty.to_token_stream(), &mut header);
            if let Some((_, path, _)) = &i.trait_ {
                identifiers(path.to_token_stream(), &mut header);
            }
            ItemKind::Impl { target, of_trait, header, methods: i.items.iter().filter_map(method).collect() }
        }
        Item::ForeignMod(i) => {
            let mut names = Vec::new();
            for inner in &i.items {
                match inner {
                    syn::ForeignItem::Fn(f) => {
                        publish.item(&f.vis, inner);
                        names.push(f.sig.ident.to_string());
                    }
                    syn::ForeignItem::Static(s) => {
                        publish.item(&s.vis, inner);
                        names.push(s.ident.to_string());
                    }
                    _ => {}
                }
            }
            ItemKind::Statics(names)
        }
        _ => ItemKind::Other,
    };
    ItemPart { kind, publish: publish.places, restrictions: publish.restrictions }
}

/// Whether an attribute leaves its item out of a cell: it is a test's.
pub fn is_for_tests(attribute: &Attribute) -> bool {
    let path = attribute.path();
    path.is_ident("test")
        || path.is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|argument| argument.is_ident("test"))
}

#[derive(Default)]
struct Publish {
    places: Vec<usize>,
    restrictions: Vec<Range<usize>>,
}

impl Publish {
    fn named(&mut self, visibility: &Visibility, item: &Item, name: &syn::Ident) -> ItemKind {
        self.item(visibility, item);
        ItemKind::Named(name.to_string())
    }

    fn fields(&mut self, fields: &Fields) {
        for field in fields {
            self.item(&field.vis, field);
        }
    }

    fn item(&mut self, visibility: &Visibility, tokens: &impl ToTokens) {
        match visibility {
            Visibility::Public(_) => {}
            Visibility::Restricted(r) => {
                let start = r.paren_token.span.open().byte_range().start;
                self.restrictions.push(start..r.paren_token.span.close().byte_range().end);
            }
            Visibility::Inherited => self.places.extend(after_attributes(tokens.to_token_stream())),
        }
    }
}

/// Makes what a module shows to the cell around it public, because later cells are separate crates.
struct Inside<'a> {
    publish: &'a mut Publish,
    depth: usize,
}

impl<'ast> Visit<'ast> for Inside<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if self.depth > 0 {
            self.visit_visibility(&module.vis);
        }
        self.depth += 1;
        module.content.iter().flat_map(|(_, items)| items).for_each(|item| self.visit_item(item));
        self.depth -= 1;
    }

    fn visit_visibility(&mut self, visibility: &'ast Visibility) {
        let Visibility::Restricted(r) = visibility else { return };
        let names: Vec<String> = r.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let supers = names.iter().filter(|name| *name == "super").count();
        if self.depth > 0 && (names == ["crate"] || supers == names.len() && supers >= self.depth) {
            let start = r.paren_token.span.open().byte_range().start;
            self.publish.restrictions.push(start..r.paren_token.span.close().byte_range().end);
        }
    }
}

/// The first token that belongs to no attribute.
fn after_attributes(tokens: TokenStream) -> Option<usize> {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_attribute = matches!(&token, TokenTree::Punct(p) if p.as_char() == '#')
            && matches!(tokens.peek(), Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Bracket);
        if !is_attribute {
            return Some(token.span().byte_range().start);
        }
        tokens.next();
    }
    None
}

/// In place of a leaf's name: the crate's macros, as `#[macro_use] extern crate` brings them in.
const MACRO_USE: &str = "#[macro_use]";

/// The names that a `use` brings in. Paths from the root of the crate, `crate::a::f`, are as other cells say them:
/// `a::f`.
pub fn leaves_of(item: &syn::ItemUse) -> Vec<UseLeaf> {
    let mut leaves = Vec::new();
    use_leaves(&item.tree, if item.leading_colon.is_some() { "::" } else { "" }, &mut leaves);
    leaves
}

fn is_root(name: &syn::Ident) -> bool {
    name == "crate" || name == "self"
}

/// Without those that bring in the name that is there already.
fn leaves_of_root(tree: &syn::UseTree, leaves: &mut Vec<UseLeaf>) {
    match tree {
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves_of_root(tree, leaves)),
        syn::UseTree::Name(_) | syn::UseTree::Glob(_) => {}
        tree => use_leaves(tree, "", leaves),
    }
}

fn use_leaves(tree: &syn::UseTree, prefix: &str, leaves: &mut Vec<UseLeaf>) {
    let join = |name: &str| {
        if prefix.is_empty() || prefix == "::" { format!("{prefix}{name}") } else { format!("{prefix}::{name}") }
    };
    match tree {
        syn::UseTree::Path(path) if prefix.is_empty() && is_root(&path.ident) => leaves_of_root(&path.tree, leaves),
        syn::UseTree::Path(path) => use_leaves(&path.tree, &join(&path.ident.to_string()), leaves),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| use_leaves(tree, prefix, leaves)),
        syn::UseTree::Glob(_) => leaves.push(UseLeaf { path: prefix.to_string(), name: "*".to_string() }),
        syn::UseTree::Rename(rename) => {
            leaves.push(UseLeaf { path: join(&rename.ident.to_string()), name: rename.rename.to_string() })
        }
        syn::UseTree::Name(name) => {
            let name = name.ident.to_string();
            if name == "self" {
                let last = prefix.rsplit("::").next().unwrap_or(prefix).to_string();
                leaves.push(UseLeaf { path: prefix.to_string(), name: last });
            } else {
                leaves.push(UseLeaf { path: join(&name), name });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(code: &str) -> Vec<String> {
        let cell = parse_cell(code);
        assert_eq!(cell.error, None);
        cell.parts
            .iter()
            .map(|part| {
                let text = &code[part.range.clone()];
                let kind = match &part.kind {
                    PartKind::Item(item) => {
                        format!("{:?}", item.kind).split(['(', ' ']).next().unwrap_or("").to_string()
                    }
                    PartKind::Let { names, .. } => {
                        format!("let {}", names.iter().map(|b| b.name.as_str()).collect::<Vec<_>>().join(","))
                    }
                    PartKind::Statement => "statement".to_string(),
                    PartKind::Show => "show".to_string(),
                };
                format!("{kind}: {text}")
            })
            .collect()
    }

    #[test]
    fn parts_keep_their_text() {
        assert_eq!(
            kinds("/// ä\nstruct P { x: i32 }\nlet (a, mut b) = (1, 2); a += 1;\nmacro_rules! m { () => {} }\na + b"),
            [
                "Named: /// ä\nstruct P { x: i32 }",
                "let a,b: let (a, mut b) = (1, 2);",
                "statement: a += 1;",
                "Macro: macro_rules! m { () => {} }",
                "show: a + b",
            ]
        );
        assert_eq!(kinds("for i in 0..3 { println!(\"{i}\") }").len(), 1);
        for (code, kind) in
            [("if a { 1 } else { return 2 }", "show"), ("if a { return 1 } else { return 2; }", "statement")]
        {
            assert_eq!(kinds(code), [format!("{kind}: {code}")]);
        }
        assert!(parse_cell("let x = (1;").error.is_some());
    }

    #[test]
    fn mentions_include_macros_and_format_strings() {
        let cell = parse_cell("let total = sum(v); println!(\"{total:>width$} {0}\", x!(a + b))");
        assert_eq!(cell.parts[0].mentions.iter().collect::<Vec<_>>(), ["sum", "v"]);
        for name in ["total", "width", "a", "b", "x"] {
            assert!(cell.parts[1].mentions.contains(name), "{name}");
        }
    }

    #[test]
    fn uses_are_taken_apart() {
        let cell = parse_cell("use std::{fmt::{self, Write as _}, collections::*}; use a::b as c;");
        let leaves: Vec<String> = cell
            .parts
            .iter()
            .flat_map(|p| match &p.kind {
                PartKind::Item(ItemPart { kind: ItemKind::Use(leaves), .. }) => leaves.clone(),
                _ => Vec::new(),
            })
            .map(|l| l.code())
            .collect();
        assert_eq!(leaves, ["std::fmt", "std::fmt::Write as _", "std::collections::*", "a::b as c"]);
        let leaves = |code: &str| match &parse_cell(code).parts[0].kind {
            PartKind::Item(ItemPart { kind: ItemKind::Use(leaves), .. }) => {
                leaves.iter().map(UseLeaf::plain_code).collect::<Vec<_>>()
            }
            _ => Vec::new(),
        };
        assert_eq!(leaves("use crate::a::{f, g as h};"), ["a::f", "a::g as h"]);
        assert_eq!(leaves("use self::Color::*;"), ["Color::*"]);
        assert_eq!(leaves("use crate::{f, a::g};"), ["a::g"]);
        assert_eq!(leaves("use self::f;"), [""; 0]);
        assert_eq!(leaves("extern crate rand as r;"), ["::rand as r"]);
    }
}
