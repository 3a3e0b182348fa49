//! From a cell to the source of a crate: items at the root, statements in a function, the user's text in its own lines.
//!
//! Both files carry the cell's file name and the same columns: what one inserts into a line, the other leaves blank. So one
//! [`SourceMap`] leads from rustc's positions back to the user's.

mod closures;
mod copies;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::ops::Range;

use syn::spanned::Spanned;

use crate::again::Again;
use crate::compile::{Ends, SHOWN};
use crate::notebook::Notebook;
use crate::rustc::LINTS;
use crate::split::{Binding, Cell, ItemKind, ItemPart, Part, PartKind, UseLeaf};
pub use closures::Closure;
pub use copies::copies;

/// Where generated columns come from. Lines are the user's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    /// For each line (from 1): insertions as (column in the user's line, characters inserted before it).
    inserted: BTreeMap<u32, Vec<(u32, u32)>>,
    pub lines: u32,
}

impl SourceMap {
    /// The user's column for a generated one; both count characters from 1. A column inside an insertion is the one after it.
    pub fn column(&self, line: u32, column: u32) -> u32 {
        let mut shift = 0;
        for &(at, length) in self.inserted.get(&line).into_iter().flatten() {
            let start = at + shift;
            if column < start {
                break;
            }
            if column < start + length {
                return at;
            }
            shift += length;
        }
        column - shift
    }

    pub fn is_users(&self, line: u32) -> bool {
        (1..=self.lines).contains(&line)
    }

    /// Whether a position is in what generated code put before the first line.
    pub fn is_prologue(&self, line: u32, column: u32) -> bool {
        line == 1 && self.inserted.get(&1).and_then(|i| i.first()).is_some_and(|&(_, length)| column <= length)
    }
}

pub struct Request<'a> {
    pub cell: &'a Cell,
    /// Names the crate and its entry.
    pub crate_name: &'a str,
    pub file: &'a str,
    pub notebook: &'a Notebook,
    /// Variables that are not put back: the cell moves them, or they borrow from another variable.
    pub omit: &'a BTreeMap<String, Ends>,
    /// Whether `?` takes errors that are not `std::error::Error`.
    pub any_error: bool,
    /// Variables whose types rustc is asked to spell: one line each, before the first that is put back.
    pub probes: &'a [String],
    /// Functions of earlier cells that are compiled with this one.
    pub again: &'a [Again],
}

#[derive(Clone, Debug)]
pub struct Generated {
    /// Paths in the compiler's folder; the first is the crate root.
    pub files: Vec<(String, String)>,
    pub entry: String,
    /// Variables taken from the store, in order.
    pub takes: Vec<String>,
    /// Variables put back, one on each line after the user's.
    pub puts: Vec<Binding>,
    /// Crates to link, older first.
    pub links: Vec<usize>,
    pub map: SourceMap,
    pub macros: String,
    /// Variables that are closures and are put back in a box.
    pub closures: BTreeMap<String, Closure>,
}

impl Generated {
    /// Whether a word stands anywhere in the text.
    pub fn names(&self, word: &str) -> bool {
        self.files.iter().any(|(_, text)| text.contains(word))
    }
}

/// The folder of the statements' file; rustc is told to leave it out of file names.
pub const BODY: &str = "body";

pub fn macro_folder(index: usize) -> String {
    format!("macros_{index}")
}

/// Macros that cells have without asking. One of a cell that has such a name is also imported by it: a name that a glob brings
/// in and that a definition in the text brings in is ambiguous to rustc.
const PRELUDE_MACROS: [&str; 6] = ["frame", "x", "show", "input", "password", "interact"];

/// Those of them that a cell has defined.
fn of_the_prelude(home: usize, notebook: &Notebook) -> impl Iterator<Item = &'static str> {
    let is_there = move |name: &&str| notebook.macros.get(*name).is_some_and(|known| known.home == home);
    PRELUDE_MACROS.into_iter().filter(is_there)
}

/// An insertion before a byte of the code: one text for the items' file or one for the statements' file.
struct Insertion {
    at: usize,
    text: String,
    into_items: bool,
}

pub fn generate(request: &Request<'_>) -> Generated {
    let Request { cell, notebook, .. } = *request;
    let mut own = own_names(&cell.parts);
    own.extend(request.again.iter().map(|again| again.name.as_str()));
    let uses = visible_uses(notebook, &own);
    let (mentions, macros) = mentioned(cell, notebook, &uses);

    let takes: Vec<String> = taken(cell, notebook);
    let puts = put_back(&cell.parts, notebook, &takes, request.omit);

    // Crates: of the items that are mentioned, and of the types that taken variables have.
    let mut roots = BTreeSet::new();
    let mut imports: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (name, &index) in &notebook.items {
        if (mentions.contains(name) || notebook.traits.contains(name)) && !own.contains(name.as_str()) {
            imports.entry(index).or_default().push(name);
            roots.insert(index);
        }
    }
    for name in &takes {
        roots.extend(crates_in(&notebook.variables[name].type_code, notebook));
    }
    let makers = made(&mentions, &own, notebook);
    roots.extend(&makers);
    roots.extend(request.again.iter().flat_map(|again| &again.crates));
    let links = notebook.closure(&roots);

    let mut insertions = Vec::new();
    let made =
        cell.parts.iter().filter_map(|p| if let PartKind::Let { names, .. } = &p.kind { Some(names) } else { None });
    let known: BTreeSet<&str> =
        made.flatten().map(|b| b.name.as_str()).chain(takes.iter().map(String::as_str)).collect();
    let mut before: BTreeSet<&str> = takes.iter().map(String::as_str).collect();
    for part in &cell.parts {
        if !matches!(part.kind, PartKind::Item(_)) {
            for (at, text) in copies(&cell.code[part.range.clone()], &before) {
                insertions.push(Insertion { at: part.range.start + at, text, into_items: false });
            }
        }
        if let PartKind::Let { names, .. } = &part.kind {
            before.extend(names.iter().map(|name| name.name.as_str()));
        }
        match &part.kind {
            PartKind::Item(item) => {
                let text = &cell.code[part.range.clone()];
                if matches!(item.kind, ItemKind::Made(_)) && !text.ends_with([';', '}']) {
                    insertions.push(Insertion { at: part.range.end, text: ";".to_string(), into_items: true });
                }
                if let ItemKind::Macro(name) = &item.kind {
                    if PRELUDE_MACROS.contains(&name.as_str()) {
                        let text = format!(" pub(crate) use {name};");
                        insertions.push(Insertion { at: part.range.end, text, into_items: true });
                    }
                }
                let publish = |&at: &usize| Insertion { at, text: "pub ".to_string(), into_items: true };
                insertions.extend(item.publish.iter().map(publish));
            }
            PartKind::Let { names, has_value: true } => {
                for name in names.iter().filter(|name| !name.name.starts_with('_')) {
                    let text = format!("::onrush::__bind!({:?}, &{});", name.name, name.name);
                    insertions.push(Insertion { at: part.range.end, text, into_items: false });
                }
            }
            PartKind::Show => {
                let plainly = request.omit.contains_key(SHOWN);
                let show = if plainly { "::onrush::__show_debug!(" } else { "::onrush::__show!(" }.to_string();
                insertions.push(Insertion { at: part.range.start, text: show, into_items: false });
                for at in shown_variables(&cell.code[part.range.clone()], &known) {
                    let text = "&".to_string();
                    insertions.push(Insertion { at: part.range.start + at, text, into_items: false });
                }
                insertions.push(Insertion { at: part.range.end, text: ", true);".to_string(), into_items: false });
            }
            PartKind::Statement => {
                // The last one may be an assignment without its `;`.
                insertions.push(Insertion { at: part.range.end, text: ";".to_string(), into_items: false });
            }
            _ => {}
        }
    }
    insertions.sort_by_key(|i| i.at);

    let mut root_start = root_prologue(request, &links, &imports, &uses, &macros, &own, &mentions);
    let imports_print = mentions.contains("print") && !own.contains("print") && !notebook.macros.contains_key("print");
    for index in makers {
        let _ = write!(root_start, "use ::{}::*; ", notebook.crates[index].name);
    }
    let body_start = body_prologue(request, &takes, imports_print, &explicit_crates(&own, &mentions, notebook));
    let layers = lay_out(cell, &insertions, root_start, body_start);

    let entry = format!("{}_run", request.crate_name);
    let mut root = layers.items;
    let convert = if request.any_error { ".map_err(|e| e.into_cell_error())" } else { "" };
    let _ = write!(
        root,
        "\n#[path = \"{BODY}/{file}\"] mod __body;\n#[unsafe(no_mangle)] pub fn {entry}(store: &mut ::onrush::host::Store) -> \
         ::core::result::Result<::onrush::host::Done, ::onrush::host::CellError> {{ __body::__onrush_run(store){convert} }}\n",
        file = request.file,
    );
    for (number, Again { name, folder, file, .. }) in request.again.iter().enumerate() {
        let _ = writeln!(root, "#[path = \"{folder}/{file}\"] mod __again_{number}; pub use __again_{number}::{name};");
    }
    let mut body = layers.body;
    body.push('\n');
    for name in request.probes {
        let _ = writeln!(body, "{{ fn probe<T: ::onrush::host::Nameable + ?Sized>(_: &T) {{}} probe(&{name}); }}");
    }
    for (name, _) in request.omit.iter().filter(|(_, ends)| **ends == Ends::Holds) {
        let _ = write!(body, "::core::mem::drop({name}); ");
    }
    let kept = |put: &&Binding| request.omit.get(&put.name) != Some(&Ends::Plain) && !takes.contains(&put.name);
    let closures: BTreeMap<String, Closure> = puts
        .iter()
        .filter(kept)
        .filter_map(|put| Some((put.name.clone(), closures::closure(cell, &put.name)?)))
        .collect();
    for put in &puts {
        if let Some(closure) = closures.get(&put.name) {
            let boxed = closure.boxed(request.omit.get(&put.name));
            let name = &put.name;
            let _ = writeln!(body, "__onrush_store.put({name:?}, ::std::boxed::Box::new({name}) as {boxed});");
            continue;
        }
        let _ = writeln!(body, "__onrush_store.put({:?}, {});", put.name.trim_start_matches("r#"), put.name);
    }
    let (_, end) = around(cell, request.notebook);
    let error = if request.any_error { "AnyError" } else { "CellError" };
    let _ = writeln!(
        body,
        "::core::result::Result::<::onrush::host::Done, ::onrush::host::{error}>::Ok(__onrush_store.done()) }}{end}"
    );

    let mut files = vec![(request.file.to_string(), root), (format!("{BODY}/{}", request.file), body)];
    for &index in &macros {
        let home = &notebook.crates[index];
        let mut text = home.macros.clone();
        for name in of_the_prelude(index, notebook) {
            let _ = write!(text, "\npub(crate) use {name};");
        }
        files.push((format!("{}/{}", macro_folder(index), home.file), text));
    }
    files.extend(request.again.iter().map(|again| (format!("{}/{}", again.folder, again.file), again.text.clone())));
    Generated { files, entry, takes, puts, links, map: layers.map, macros: layers.macros, closures }
}

/// Names that this cell's own items and imports define.
fn own_names(parts: &[Part]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for part in parts {
        let PartKind::Item(item) = &part.kind else { continue };
        match &item.kind {
            ItemKind::Named(name) | ItemKind::Trait(name) | ItemKind::Macro(name) => drop(names.insert(name.as_str())),
            ItemKind::Statics(statics) => names.extend(statics.iter().map(String::as_str)),
            ItemKind::Use(leaves) => {
                names.extend(leaves.iter().map(|l| l.name.as_str()).filter(|n| !matches!(*n, "*" | "_")))
            }
            _ => {}
        }
    }
    names
}

/// The crates in which macros may have defined some of these names: the newest for each.
fn made(mentions: &BTreeSet<String>, own: &BTreeSet<&str>, notebook: &Notebook) -> BTreeSet<usize> {
    let free = mentions.iter().filter(|name| !own.contains(name.as_str()) && !notebook.items.contains_key(*name));
    free.filter_map(|name| notebook.made.iter().rfind(|(names, _)| names.contains(name)).map(|(_, home)| *home))
        .collect()
}

/// Earlier imports that still hold here.
fn visible_uses<'a>(notebook: &'a Notebook, own: &BTreeSet<&str>) -> Vec<&'a UseLeaf> {
    notebook.uses.iter().filter(|leaf| !own.contains(leaf.name.as_str())).collect()
}

/// All names that the crate's text will mention, and the crates whose macros it needs.
fn mentioned(cell: &Cell, notebook: &Notebook, uses: &[&UseLeaf]) -> (BTreeSet<String>, BTreeSet<usize>) {
    let mut mentions: BTreeSet<String> = cell.parts.iter().flat_map(|p| p.mentions.iter().cloned()).collect();
    mentions.extend(uses.iter().map(|leaf| leaf.first().to_string()));
    for leaf in &notebook.uses {
        mentions.insert(leaf.first().to_string());
    }
    let (mut homes, mut seen) = (BTreeSet::new(), BTreeSet::new());
    loop {
        let found: Vec<&String> =
            notebook.macros.keys().filter(|name| mentions.contains(*name) && !seen.contains(*name)).collect();
        if found.is_empty() {
            return (mentions, homes);
        }
        for name in found {
            seen.insert(name.clone());
            let definition = &notebook.macros[name];
            homes.insert(definition.home);
            mentions.extend(definition.mentions.iter().cloned());
        }
    }
}

/// Variables that a part mentions before the cell defines one of that name. A function or constant of this cell hides a variable
/// of an earlier one.
fn taken(cell: &Cell, notebook: &Notebook) -> Vec<String> {
    let mut defined: BTreeSet<&str> = cell.values().collect();
    let mut taken: Vec<String> = Vec::new();
    for part in cell.parts.iter().filter(|part| !matches!(part.kind, PartKind::Item(_))) {
        for name in &part.mentions {
            if notebook.variables.contains_key(name) && !defined.contains(name.as_str()) && !taken.contains(name) {
                taken.push(name.clone());
            }
        }
        if let PartKind::Let { names, .. } = &part.kind {
            defined.extend(names.iter().map(|b| b.name.as_str()));
        }
    }
    taken
}

fn put_back(parts: &[Part], notebook: &Notebook, takes: &[String], omit: &BTreeMap<String, Ends>) -> Vec<Binding> {
    let mut puts: Vec<Binding> =
        takes.iter().map(|name| Binding { name: name.clone(), mutable: notebook.variables[name].mutable }).collect();
    for part in parts {
        let PartKind::Let { names, .. } = &part.kind else { continue };
        for binding in names.iter().filter(|b| !b.name.starts_with('_')) {
            puts.retain(|b| b.name != binding.name);
            puts.push(binding.clone());
        }
    }
    puts.retain(|b| omit.get(&b.name).is_none_or(|ends| !ends.is_end()));
    // What was defined last borrows from what was defined first: the error is then at the borrower's line.
    puts.reverse();
    puts
}

/// Where the variables in a tuple or list that is shown begin: looking at `(a, b)` moves neither.
fn shown_variables(code: &str, known: &BTreeSet<&str>) -> Vec<usize> {
    fn collect(expr: &syn::Expr, known: &BTreeSet<&str>, places: &mut Vec<usize>) {
        let mut is_variable = |item: &syn::Expr| match item {
            syn::Expr::Path(path) if path.path.get_ident().is_some_and(|i| known.contains(i.to_string().as_str())) => {
                Some(path.span().byte_range().start)
            }
            _ => None,
        };
        match expr {
            syn::Expr::Tuple(tuple) => {
                places.extend(tuple.elems.iter().filter_map(&mut is_variable));
                tuple.elems.iter().for_each(|item| collect(item, known, places));
            }
            // The items of a list have one type.
            syn::Expr::Array(array) => {
                let found: Vec<usize> = array.elems.iter().filter_map(&mut is_variable).collect();
                places.extend(found.iter().filter(|_| found.len() == array.elems.len()));
            }
            _ => {}
        }
    }
    let mut places = Vec::new();
    if code.starts_with(['(', '[']) {
        if let Ok(expr) = syn::parse_str::<syn::Expr>(code) {
            collect(&expr, known, &mut places);
        }
    }
    places
}

/// The cell crates that a type's code names.
pub fn crates_in(type_code: &str, notebook: &Notebook) -> BTreeSet<usize> {
    let words = type_code.split(|c: char| !(c.is_alphanumeric() || c == '_'));
    words.filter(|w| w.starts_with("onrush_cell_")).filter_map(|w| notebook.crate_by_name(w)).collect()
}

fn root_prologue(
    request: &Request<'_>,
    links: &[usize],
    imports: &BTreeMap<usize, Vec<&str>>,
    uses: &[&UseLeaf],
    macros: &BTreeSet<usize>,
    own: &BTreeSet<&str>,
    mentions: &BTreeSet<String>,
) -> String {
    let Request { cell, notebook, .. } = *request;
    let mut text = String::new();
    for range in &cell.inner_attributes {
        text.push_str(&cell.code[range.clone()].replace('\n', " "));
    }
    // The prelude first: rustc looks up what earlier cells link among the crates that are loaded.
    let _ = write!(
        text,
        "#![allow(unused, nonstandard_style, future_incompatible)] #![warn({LINTS}, unused_mut)] extern crate onrush; "
    );
    for &index in links {
        let _ = write!(text, "extern crate {}; ", notebook.crates[index].name);
    }
    text.push_str("use ::onrush::prelude::*; ");
    text.push_str(&explicit_crates(own, mentions, notebook));
    if mentions.contains("print") && !own.contains("print") && !notebook.macros.contains_key("print") {
        text.push_str("use ::onrush::__print as print; ");
    }
    if mentions.contains("input") && !own.contains("input") && !notebook.items.contains_key("input") {
        text.push_str("use ::onrush::host::ask as input; ");
    }
    for &index in macros {
        let home = &notebook.crates[index];
        let _ = write!(text, "#[macro_use] #[path = \"{}/{}\"] mod __macros_{index}; ", macro_folder(index), home.file);
    }
    for &index in macros {
        for name in of_the_prelude(index, notebook).filter(|name| !own.contains(name)) {
            let _ = write!(text, "pub(crate) use __macros_{index}::{name}; ");
        }
    }
    for (index, names) in imports {
        let _ = write!(text, "use ::{}::{{{}}}; ", notebook.crates[*index].name, names.join(", "));
    }
    for leaf in uses {
        let _ = write!(text, "use {}; ", use_code(leaf, notebook));
    }
    // Two globs with one name: what the user asked for hides the prelude's.
    let own_globs = cell.parts.iter().filter_map(|p| match &p.kind {
        PartKind::Item(item) => Some(&item.kind),
        _ => None,
    });
    let own_globs = own_globs.flat_map(|kind| if let ItemKind::Use(leaves) = kind { leaves.as_slice() } else { &[] });
    if own_globs.chain(uses.iter().copied()).any(|l| l.name == "*" && l.path == "arrow::datatypes") {
        for name in ["DataType", "Schema", "TimeUnit"] {
            let free =
                !own.contains(name) && !notebook.items.contains_key(name) && !uses.iter().any(|l| l.name == name);
            if free {
                let _ = write!(text, "use ::onrush::arrow::datatypes::{name}; ");
            }
        }
    }
    text
}

/// An import as the generated crate writes it.
pub fn use_code(leaf: &UseLeaf, notebook: &Notebook) -> String {
    if notebook.dependencies.replaces(leaf.first()) && !leaf.path.starts_with("::") {
        return format!("::{}", leaf.plain_code());
    }
    leaf.code()
}

/// The prelude's glob and the crates that rustc is given have the same crates: an explicit import decides.
fn explicit_crates(own: &BTreeSet<&str>, mentions: &BTreeSet<String>, notebook: &Notebook) -> String {
    let wanted =
        |name: &&&str| !own.contains(**name) && mentions.contains(**name) && !notebook.items.contains_key(**name);
    let import = |name: &&str| match notebook.dependencies.replaces(name) {
        true => format!("use ::{name}; "),
        false => format!("use ::onrush::{name}; "),
    };
    ["arrow", "chrono", "serde"].iter().filter(wanted).map(import).collect()
}

fn body_prologue(request: &Request<'_>, takes: &[String], imports_print: bool, crates: &str) -> String {
    let error = if request.any_error { "AnyError" } else { "CellError" };
    // A glob does not hide the standard library's macro of the same name.
    let print = if imports_print { "use ::onrush::__print as print; " } else { "" };
    let mut text = format!(
        "use super::*; {crates}{print}pub fn __onrush_run(__onrush_store: &mut ::onrush::host::Store) -> \
         ::core::result::Result<::onrush::host::Done, ::onrush::host::{error}> {{ "
    );
    text.push_str(&around(request.cell, request.notebook).0);
    for name in takes {
        let variable = &request.notebook.variables[name];
        let mutable = if variable.mutable { "mut " } else { "" };
        let plain = name.trim_start_matches("r#");
        let _ = write!(text, "let {mutable}{name} = __onrush_store.take::<{}>({plain:?})?; ", variable.type_code);
    }
    text
}

/// What stands around the statements of a cell that awaits something: tokio's runtime or a small executor.
fn around(cell: &Cell, notebook: &Notebook) -> (String, &'static str) {
    let awaits = |p: &Part| !matches!(p.kind, PartKind::Item(_)) && p.mentions.contains("await");
    if !cell.parts.iter().any(awaits) {
        return (String::new(), "");
    }
    let own = || "::onrush::host::block_on(async { ".to_string();
    (notebook.dependencies.runtime().unwrap_or_else(own), ") }")
}

/// A file with some items of a cell only, in their places, and the map of its columns.
pub fn lay_out_only(cell: &Cell, parts: &[&Part], prologue: String) -> (String, SourceMap) {
    let only = Cell { parts: parts.iter().map(|&p| p.clone()).collect(), ..cell.clone() };
    let mut insertions: Vec<Insertion> = Vec::new();
    for part in parts {
        if let PartKind::Item(item) = &part.kind {
            insertions.extend(item.publish.iter().map(|&at| Insertion {
                at,
                text: "pub ".to_string(),
                into_items: true,
            }));
        }
    }
    insertions.sort_by_key(|i| i.at);
    let layers = lay_out(&only, &insertions, prologue, String::new());
    (layers.items + "\n", layers.map)
}

struct Layers {
    items: String,
    body: String,
    macros: String,
    map: SourceMap,
}

fn lay_out(cell: &Cell, insertions: &[Insertion], root_start: String, body_start: String) -> Layers {
    let width = root_start.chars().count().max(body_start.chars().count());
    let mut layers = Layers {
        items: format!("{root_start:width$}"),
        body: format!("{body_start:width$}"),
        macros: " ".repeat(width),
        map: SourceMap { inserted: BTreeMap::new(), lines: cell.code.matches('\n').count() as u32 + 1 },
    };
    layers.map.inserted.entry(1).or_default().push((1, width as u32));

    let items: Vec<&Part> = cell.parts.iter().filter(|p| matches!(p.kind, PartKind::Item(_))).collect();
    let within = |ranges: &[Range<usize>], at: usize| ranges.iter().any(|r| r.contains(&at));
    let (mut line, mut column) = (1u32, 1u32);
    let mut insertions = insertions.iter().peekable();
    let ends = [(cell.code.len(), None)];
    for (at, character) in cell.code.char_indices().map(|(at, c)| (at, Some(c))).chain(ends) {
        while let Some(insertion) = insertions.next_if(|i| i.at <= at) {
            let length = insertion.text.chars().count();
            let blank = " ".repeat(length);
            let (items_text, body_text) = if insertion.into_items {
                (insertion.text.as_str(), blank.as_str())
            } else {
                (blank.as_str(), insertion.text.as_str())
            };
            layers.items.push_str(items_text);
            layers.body.push_str(body_text);
            let of_a_macro = |part: &&&Part| {
                matches!(&part.kind, PartKind::Item(ItemPart { kind: ItemKind::Macro(_), .. }))
                    && part.range.start <= insertion.at
                    && insertion.at < part.range.end
            };
            layers.macros.push_str(if items.iter().any(|part| of_a_macro(&part)) { items_text } else { &blank });
            layers.map.inserted.entry(line).or_default().push((column, length as u32));
        }
        let Some(character) = character else { break };
        if character == '\n' {
            for layer in [&mut layers.items, &mut layers.body, &mut layers.macros] {
                layer.push('\n');
            }
            line += 1;
            column = 1;
            continue;
        }
        column += 1;
        let item = items.iter().find(|p| p.range.contains(&at)).map(|p| &p.kind);
        let (mut in_items, mut in_body, mut in_macros) = (' ', ' ', ' ');
        match item {
            Some(PartKind::Item(item)) => {
                if !within(&item.restrictions, at) {
                    in_items = character;
                }
                if matches!(item.kind, ItemKind::Macro(_)) {
                    in_macros = character;
                }
            }
            _ if within(&cell.inner_attributes, at) => {}
            _ => in_body = character,
        }
        layers.items.push(in_items);
        layers.body.push(in_body);
        layers.macros.push(in_macros);
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::split;

    #[test]
    fn lines_stay_and_columns_lead_back() {
        let cell = split("let ä = 1; struct P { x: i32 }\nä + 1");
        let notebook = Notebook::default();
        let request = Request {
            cell: &cell,
            crate_name: "onrush_cell_1",
            file: "cell_1.rs",
            notebook: &notebook,
            omit: &BTreeMap::new(),
            any_error: false,
            probes: &[],
            again: &[],
        };
        let generated = generate(&request);
        let (root, body) = (&generated.files[0].1, &generated.files[1].1);
        assert!(root.lines().next().unwrap().ends_with("pub struct P { pub x: i32 }"));
        assert!(body.lines().nth(1).unwrap().ends_with("::onrush::__show!(ä + 1, true);"));
        for (text, wanted) in [(root, "struct P"), (root, "x: i32")] {
            let line = text.lines().next().unwrap();
            let column = line[..line.find(wanted).unwrap()].chars().count() as u32 + 1;
            let mapped = generated.map.column(1, column) as usize - 1;
            let users: String = "let ä = 1; struct P { x: i32 }".chars().skip(mapped).collect();
            assert!(users.starts_with(wanted), "{users}");
        }
        let line = body.lines().nth(1).unwrap();
        let column = line[..line.find("+ 1").unwrap()].chars().count() as u32 + 1;
        assert_eq!(generated.map.column(2, column), 3);
        assert_eq!(generated.puts, [Binding { name: "ä".into(), mutable: false }]);
    }
}
