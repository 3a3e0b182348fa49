//! From a cell to the source of a crate: items at the root, statements in a function, the user's text in its own lines.
//!
//! Both files carry the cell's file name and the same columns: what one inserts into a line, the other leaves blank. So
//! one [`SourceMap`] leads from rustc's positions back to the user's.

mod arguments;
mod assigned;
mod borrowers;
mod closures;
mod copies;
mod fields;
pub mod globs;
mod layout;
mod location_macros;
mod returns;
mod variable_fate;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::path::PathBuf;

use syn::spanned::Spanned;

use crate::notebook::Notebook;
use crate::parse::{Binding, Cell, ItemKind, Part, PartKind, UseLeaf, identifiers};
use crate::source_map::SourceMap;
use assigned::assigned;
pub use assigned::declared_type;
pub use closures::Closure;
pub use copies::copies;
pub use fields::parts_of;
pub use layout::lay_out_only;
use layout::{Insertion, lay_out, width_of};
pub use returns::Return;
pub use variable_fate::{SHOWN, VariableFate};

#[derive(Clone, Copy)]
pub struct Request<'a> {
    pub cell: &'a Cell,
    /// Names the crate and its entry.
    pub crate_name: &'a str,
    pub file: &'a str,
    pub notebook: &'a Notebook,
    /// Variables that are not put back: the cell moves them, or they borrow from another variable.
    pub omit: &'a BTreeMap<String, VariableFate>,
    /// Whether `?` takes errors that are not `std::error::Error`.
    pub any_error: bool,
    /// Variables whose types rustc is asked to spell: one line each, before the first that is put back.
    pub probes: &'a [String],
    /// Functions of earlier cells that are compiled with this one.
    pub recompiled: &'a [RecompiledFunction],
    /// Nothing is put back: rustc is asked which variables borrow from others (`compile/borrowers.rs`).
    pub asks_for_borrowers: bool,
    /// A `return` at the top level keeps nothing: what it would keep was moved before, or is borrowed.
    pub returns_bare: bool,
    /// Closures that are given to generic types stay what they are.
    pub plain_arguments: bool,
    /// Names of the prelude that rustc did not find among the user's globs.
    pub missing: &'a BTreeSet<String>,
}

/// The fields of a request before anything has been decided.
static NOTHING: (BTreeMap<String, VariableFate>, BTreeSet<String>) = (BTreeMap::new(), BTreeSet::new());

impl<'a> Request<'a> {
    pub fn new(cell: &'a Cell, crate_name: &'a str, file: &'a str, notebook: &'a Notebook) -> Self {
        Request {
            cell,
            crate_name,
            file,
            notebook,
            omit: &NOTHING.0,
            any_error: false,
            probes: &[],
            recompiled: &[],
            asks_for_borrowers: false,
            returns_bare: false,
            plain_arguments: false,
            missing: &NOTHING.1,
        }
    }
}

/// A function of an earlier cell that is to be compiled again.
#[derive(Clone, Debug)]
pub struct RecompiledFunction {
    pub name: String,
    /// A separate folder in which rustc finds it, and the name of the file there.
    pub folder: String,
    pub file: String,
    pub text: String,
    /// The cell that it is from, and how its columns lead there.
    pub users_file: String,
    pub map: SourceMap,
    /// The crates of what it mentions.
    pub crates: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
pub struct GeneratedCrate {
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
    /// Variables whose types have no name, and which are put back in a box.
    pub closures: BTreeMap<String, Closure>,
    /// Files that its text includes.
    pub included: Vec<PathBuf>,
    /// Each `return` at its top level.
    pub returns: Vec<Return>,
    /// Closures that are given to generic types are in boxes.
    pub has_boxes: bool,
}

impl GeneratedCrate {
    /// Whether a word stands anywhere in the text.
    pub fn names(&self, word: &str) -> bool {
        self.files.iter().any(|(_, text)| text.contains(word))
    }

    /// The variable that is put back at a place where the cell returns. `line` and `column` count from 1, in the
    /// statements' file.
    pub fn put_at_return(&self, line: u32, column: u32) -> Option<&Binding> {
        let (_, body) = self.files.get(1).filter(|_| !self.returns.is_empty())?;
        let line = body.lines().nth((line as usize).checked_sub(1)?)?;
        let before = line.char_indices().nth(column as usize - 1).map_or(line, |(at, _)| &line[..at]);
        let name = returns::last_put(before)?;
        self.puts.iter().find(|put| put.name.trim_start_matches("r#") == name)
    }
}

/// The folder of the statements' file; rustc is told to leave it out of file names.
pub const BODY: &str = "body";

/// Lints that say something about a cell. A notebook is not a finished program: that something is unused, or badly
/// named, is nobody's worry.
pub const LINTS: &str = "arithmetic_overflow, unconditional_panic, unconditional_recursion, \
    unreachable_code, unreachable_patterns, unused_comparisons, unused_must_use";

pub fn macro_folder(index: usize) -> String {
    format!("macros_{index}")
}

/// Macros that cells have without asking. A macro of a cell with such a name is also imported by name. For rustc a name
/// is ambiguous if a glob brings it in and the text defines it.
const PRELUDE_MACROS: [&str; 6] = ["frame", "x", "show", "input", "password", "interact"];

/// The macros of them that a cell has defined.
fn of_the_prelude(home: usize, notebook: &Notebook) -> impl Iterator<Item = &'static str> {
    let is_there = move |name: &&str| notebook.macros.get(*name).is_some_and(|known| known.home == home);
    PRELUDE_MACROS.into_iter().filter(is_there)
}

pub fn generate(request: &Request<'_>) -> GeneratedCrate {
    let Request { cell, notebook, .. } = *request;
    let mut own = own_names(&cell.parts);
    own.extend(request.recompiled.iter().map(|recompiled| recompiled.name.as_str()));
    let uses = visible_uses(notebook, &own);
    let mut takes: Vec<String> = taken(cell, notebook);
    takes.extend(fields::taken(cell, notebook));
    let assigned = assigned(cell, notebook);
    let (mentions, macros) = mentioned(cell, notebook, &uses, &assigned);
    let puts = put_back(cell, notebook, &takes, &assigned, request.omit);

    let imports = imported(&mentions, &own, notebook);
    let makers = made(&mentions, &own, notebook);
    let links = linked(request, &imports, &makers, &takes, &assigned);

    let returns = returns::find(cell);
    let mut insertions = part_insertions(request, &takes, &assigned, &returns);
    let mut root_start = root_prologue(request, &links, &imports, &uses, &macros, &own, &mentions);
    let imports_print = mentions.contains("print") && !own.contains("print") && !notebook.macros.contains_key("print");
    for index in makers {
        let _ = write!(root_start, "use ::{}::*; ", notebook.crates[index].name);
    }
    let crates = explicit_crates(&own, &mentions, &uses, notebook);
    let has_globs = !globs::globs(cell, &uses).is_empty();
    let is_macro =
        |name: &&str| own.contains(*name) || macros.iter().any(|&i| of_the_prelude(i, notebook).any(|m| m == *name));
    let own_macros: Vec<&str> = PRELUDE_MACROS.into_iter().filter(is_macro).collect();
    let body_start = body_prologue(request, &takes, &assigned, &puts, imports_print, &crates, has_globs, &own_macros);
    let boxes = if request.plain_arguments { Vec::new() } else { arguments::boxes(cell, notebook) };
    let has_boxes = !boxes.is_empty();
    insertions.extend(boxes);
    let keeps = !request.returns_bare && !request.asks_for_borrowers;
    let mut closures_at_returns = BTreeMap::new();
    for part in returns.iter().filter(|_| keeps).map(|of| of.part).collect::<BTreeSet<usize>>() {
        let there = puts_before(cell, part, &takes, &assigned, &puts);
        let closures = closures::before(cell, part, &boxed(&there, &takes, request.omit), notebook);
        let text: String = there.iter().map(|put| put_code(put, &closures, request.omit) + " ").collect();
        insertions.push(returns::definition(part, cell.parts[part].range.start, &text));
        closures_at_returns.extend(closures);
    }
    for of in &returns {
        insertions.extend(returns::insertions(of, keeps));
    }
    let found = location_macros::find(&cell.code, &notebook.folder);
    insertions.extend(location_macros::insertions(&found, cell, notebook));
    // The text for a `column!()` is inside of the text around it.
    let order = |i: &Insertion| match i.text.as_str() {
        "(" => 3,
        text if text.starts_with(" - ") => 0,
        // In front of all that belongs to the statement.
        text if returns::is_definition(text) => 1,
        _ => 2,
    };
    insertions.sort_by_key(|i| (i.at, order(i)));
    location_macros::number_columns(&mut insertions, &found.columns, &cell.code, width_of(&root_start, &body_start));
    let layers = lay_out(cell, &insertions, root_start, body_start);

    let entry = format!("{}_run", request.crate_name);
    let root = layers.items + &root_epilogue(request, &entry);
    let mut closures = closures::closures(cell, &boxed(&puts, &takes, request.omit), notebook);
    let body = layers.body + &body_epilogue(request, &puts, &closures);
    for (name, closure) in closures_at_returns {
        closures.entry(name).or_insert(closure);
    }

    let mut files = vec![(request.file.to_string(), root), (format!("{BODY}/{}", request.file), body)];
    for &index in &macros {
        let home = &notebook.crates[index];
        let mut text = home.macros.clone();
        for name in of_the_prelude(index, notebook) {
            let _ = write!(text, "\npub(crate) use {name};");
        }
        files.push((format!("{}/{}", macro_folder(index), home.file), text));
    }
    files.extend(
        request
            .recompiled
            .iter()
            .map(|recompiled| (format!("{}/{}", recompiled.folder, recompiled.file), recompiled.text.clone())),
    );
    let map = layers.map;
    GeneratedCrate {
        files,
        entry,
        takes,
        puts,
        links,
        map,
        macros: layers.macros,
        closures,
        included: found.files,
        returns,
        has_boxes,
    }
}

/// Collects the items that are mentioned and must be imported, by their crates.
fn imported<'a>(
    mentions: &BTreeSet<String>,
    own: &BTreeSet<&str>,
    notebook: &'a Notebook,
) -> BTreeMap<usize, Vec<&'a str>> {
    let mut imports: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (name, &index) in &notebook.items {
        if (mentions.contains(name) || notebook.traits.contains(name)) && !own.contains(name.as_str()) {
            imports.entry(index).or_default().push(name);
        }
    }
    imports
}

/// Collects the crates to link: of the items that are mentioned, and of the types that taken variables have.
fn linked(
    request: &Request<'_>,
    imports: &BTreeMap<usize, Vec<&str>>,
    makers: &BTreeSet<usize>,
    takes: &[String],
    assigned: &[String],
) -> Vec<usize> {
    let notebook = request.notebook;
    let mut roots: BTreeSet<usize> = imports.keys().copied().collect();
    let declared = takes.iter().map(|name| &notebook.variables[name]);
    for variable in declared.chain(assigned.iter().map(|name| &notebook.moved[name])) {
        roots.extend(crates_in(&variable.type_code, notebook));
    }
    roots.extend(makers);
    roots.extend(request.recompiled.iter().flat_map(|recompiled| &recompiled.crates));
    notebook.closure(&roots)
}

/// Makes the insertions that follow from the kind of each part.
fn part_insertions(request: &Request<'_>, takes: &[String], assigned: &[String], returns: &[Return]) -> Vec<Insertion> {
    let cell = request.cell;
    let mut insertions = Vec::new();
    let made =
        cell.parts.iter().filter_map(|p| if let PartKind::Let { names, .. } = &p.kind { Some(names) } else { None });
    let known: BTreeSet<&str> =
        made.flatten().map(|b| b.name.as_str()).chain(takes.iter().chain(assigned).map(String::as_str)).collect();
    let mut before: BTreeSet<&str> = takes.iter().chain(assigned).map(String::as_str).collect();
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
                if let ItemKind::Macro(name) = &item.kind
                    && PRELUDE_MACROS.contains(&name.as_str())
                {
                    let text = format!(" pub(crate) use {name};");
                    insertions.push(Insertion { at: part.range.end, text, into_items: true });
                }
                let publish = |&at: &usize| Insertion { at, text: "pub ".to_string(), into_items: true };
                insertions.extend(item.publish.iter().map(publish));
            }
            PartKind::Let { names, has_value: true } => {
                for name in names.iter().filter(|name| !name.name.starts_with('_')) {
                    let cfg = cfg_of(name);
                    let text = format!("{cfg}{{ ::onrush::__bind!({:?}, &{}); }}", name.name, name.name);
                    let text = if cfg.is_empty() { text[2..text.len() - 2].to_string() } else { text };
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
            // Its block is written by `returns`.
            PartKind::Statement if returns.iter().any(|of| (of.start..of.end) == part.range) => {}
            PartKind::Statement => {
                // The last one may be an assignment without its `;`.
                insertions.push(Insertion { at: part.range.end, text: ";".to_string(), into_items: false });
            }
            _ => {}
        }
    }
    insertions
}

/// Writes the end of the items' file: the entry that the cell process calls, and the functions that are compiled again.
fn root_epilogue(request: &Request<'_>, entry: &str) -> String {
    let convert = if request.any_error { ".map_err(|e| e.into_cell_error())" } else { "" };
    let mut text = format!(
        "\n#[path = \"{BODY}/{file}\"] mod __body;\n#[allow(unsafe_code)] #[unsafe(no_mangle)] pub fn {entry}(store: &mut ::onrush::host::Store) -> \
         ::core::result::Result<::onrush::host::CellEnd, ::onrush::host::CellError> {{ __body::__onrush_run(store){convert} }}\n",
        file = request.file,
    );
    for (number, RecompiledFunction { name, folder, file, .. }) in request.recompiled.iter().enumerate() {
        let _ = writeln!(text, "#[path = \"{folder}/{file}\"] mod __again_{number}; pub use __again_{number}::{name};");
    }
    text
}

/// Writes the end of the statements' file: questions to rustc, and the variables that are put back, one on each line.
fn body_epilogue(request: &Request<'_>, puts: &[Binding], closures: &BTreeMap<String, Closure>) -> String {
    let mut body = "\n".to_string();
    for name in request.probes {
        let _ = writeln!(body, "{{ fn probe<T: ::onrush::host::Nameable + ?Sized>(_: &T) {{}} probe(&{name}); }}");
    }
    if request.asks_for_borrowers {
        body.push_str(&borrowers::epilogue(puts));
    }
    for (name, _) in request.omit.iter().filter(|(_, ends)| **ends == VariableFate::Holds) {
        let _ = write!(body, "::core::mem::drop({name}); ");
    }
    for put in puts.iter().filter(|_| !request.asks_for_borrowers) {
        let _ = writeln!(body, "{}", put_code(put, closures, request.omit));
    }
    let (_, end) = around(request.cell, request.notebook);
    let error = if request.any_error { "AnyError" } else { "CellError" };
    let _ = writeln!(
        body,
        "::core::result::Result::<::onrush::host::CellEnd, ::onrush::host::{error}>::Ok(__onrush_store.done()) }}{end}"
    );
    body
}

/// The variables that a `return` in a part of the cell puts back: those before that part.
fn puts_before(cell: &Cell, part: usize, takes: &[String], assigned: &[String], puts: &[Binding]) -> Vec<Binding> {
    let before = || cell.parts[..part].iter();
    let made = before().filter_map(|part| match &part.kind {
        PartKind::Let { names, has_value: true } => Some(names),
        _ => None,
    });
    let made: BTreeSet<&str> = made.flatten().map(|binding| binding.name.as_str()).collect();
    let is_statement = |part: &&Part| matches!(part.kind, PartKind::Statement);
    // The first statement that names such a variable assigns to it.
    let is_set = |name: &String| {
        assigned.contains(name) && before().filter(is_statement).any(|part| part.mentions.contains(name))
    };
    let is_there = |put: &&Binding| made.contains(put.name.as_str()) || takes.contains(&put.name) || is_set(&put.name);
    puts.iter().filter(is_there).cloned().collect()
}

/// The variables that are put back in a box, if their types have no name.
fn boxed<'a>(puts: &'a [Binding], takes: &[String], omit: &BTreeMap<String, VariableFate>) -> BTreeSet<&'a str> {
    let may_be = |put: &&Binding| omit.get(&put.name) != Some(&VariableFate::Plain) && !takes.contains(&put.name);
    puts.iter().filter(may_be).map(|put| put.name.as_str()).collect()
}

/// A statement that puts a variable back.
fn put_code(put: &Binding, closures: &BTreeMap<String, Closure>, omit: &BTreeMap<String, VariableFate>) -> String {
    let code = match closures.get(&put.name) {
        Some(closure) => closure.put(&put.name, omit.get(&put.name)),
        None => format!("__onrush_store.put({:?}, {});", put.name.trim_start_matches("r#"), put.name),
    };
    cfg_of(put) + &code
}

/// The attribute of a statement about a variable that is there in some configurations only.
pub fn cfg_of(binding: &Binding) -> String {
    binding.cfg.as_ref().map_or(String::new(), |cfg| format!("#[cfg({cfg})] "))
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
                names.extend(leaves.iter().filter(|leaf| leaf.has_name()).map(|leaf| leaf.name.as_str()))
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
fn mentioned(
    cell: &Cell,
    notebook: &Notebook,
    uses: &[&UseLeaf],
    assigned: &[String],
) -> (BTreeSet<String>, BTreeSet<usize>) {
    let mut mentions: BTreeSet<String> = cell.parts.iter().flat_map(|p| p.mentions.iter().cloned()).collect();
    for of in assigned.iter().filter_map(|name| notebook.moved[name].type_code.parse().ok()) {
        identifiers(of, &mut mentions);
    }
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

/// Variables that a part mentions before the cell defines one of that name. A function or constant of this cell hides a
/// variable of an earlier one.
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

fn put_back(
    cell: &Cell,
    notebook: &Notebook,
    takes: &[String],
    assigned: &[String],
    omit: &BTreeMap<String, VariableFate>,
) -> Vec<Binding> {
    let mut puts: Vec<Option<Binding>> = Vec::new();
    // The last place of each name: a later definition comes later.
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut put = |mut binding: Binding| {
        if let Some(at) = places.insert(binding.name.clone(), puts.len()) {
            let earlier = puts[at].take().and_then(|earlier| earlier.cfg);
            binding.cfg = binding.cfg.zip(earlier).map(|(one, other)| format!("any({other}, {one})"));
        }
        puts.push(Some(binding));
    };
    let earlier = |name: &String, mutable: bool| Binding { name: name.clone(), mutable, cfg: None };
    takes.iter().for_each(|name| put(earlier(name, notebook.variables[name].mutable)));
    assigned.iter().for_each(|name| put(earlier(name, notebook.moved[name].mutable)));
    for part in &cell.parts {
        let PartKind::Let { names, .. } = &part.kind else { continue };
        names.iter().filter(|b| !b.name.starts_with('_')).for_each(|binding| put(binding.clone()));
    }
    // A variable that was moved in part is put back as the fields that are left.
    let parts = |put: Binding| match omit.get(&put.name) {
        Some(VariableFate::MovedInPart) => {
            let fields = fields::of(cell, notebook, &put.name);
            fields.into_iter().map(|name| Binding { name, ..put.clone() }).collect()
        }
        _ => vec![put],
    };
    let mut puts: Vec<Binding> = puts.into_iter().flatten().flat_map(parts).collect();
    puts.retain(|b| omit.get(&b.name).is_none_or(|ends| !ends.is_end()));
    // A later variable may borrow from an earlier one: the error is then at the borrower's line.
    puts.reverse();
    puts
}

/// The beginnings of variables in a shown tuple or list: looking at `(a, b)` moves neither.
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
    if code.starts_with(['(', '['])
        && let Ok(expr) = syn::parse_str::<syn::Expr>(code)
    {
        collect(&expr, known, &mut places);
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
    let is_free = |name: &str| {
        !own.contains(name) && !notebook.items.contains_key(name) && !uses.iter().any(|leaf| leaf.name == name)
    };
    let mut text = String::new();
    for range in &cell.inner_attributes {
        // Generated lines may have what is forbidden to the user's lines.
        text.push_str(&cell.code[range.clone()].replace('\n', " ").replacen("forbid", "deny", 1));
    }
    if !cell.inner_attributes.is_empty() {
        // Items are public for later cells only: what a library must have of them is not asked of a cell.
        text.push_str("#![allow(missing_docs, missing_debug_implementations, missing_copy_implementations)] ");
        text.push_str("#![allow(unreachable_pub, unnameable_types)] ");
    }
    // The prelude first: rustc looks up what earlier cells link among the crates that are loaded.
    let _ = write!(
        text,
        "#![allow(unused, nonstandard_style, future_incompatible)] #![warn({LINTS}, unused_mut)] extern crate onrush; "
    );
    for &index in links {
        let _ = write!(text, "extern crate {}; ", notebook.crates[index].name);
    }
    let globs = globs::globs(cell, uses);
    if globs.is_empty() {
        text.push_str("use ::onrush::prelude::*; ");
    } else {
        let mut words: BTreeSet<String> = BTreeSet::new();
        let items = cell.parts.iter().filter(|part| matches!(part.kind, PartKind::Item(_)));
        items.for_each(|part| words.extend(part.mentions.iter().cloned()));
        let words = words.into_iter().filter(|name| is_free(name)).collect();
        let names = globs::imports(&words, &globs, request.missing, cell, notebook);
        let _ =
            write!(text, "use ::onrush::prelude::{{{}}}; use ::onrush::cuda::SharedMemory as _; ", names.join(", "));
    }
    text.push_str(&explicit_crates(own, mentions, uses, notebook));
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
        if leaf.is_macro_use() {
            let _ = write!(text, "#[macro_use] extern crate {} as _; ", leaf.first());
        } else {
            let _ = write!(text, "use {}; ", use_code(leaf, notebook));
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
fn explicit_crates(
    own: &BTreeSet<&str>,
    mentions: &BTreeSet<String>,
    uses: &[&UseLeaf],
    notebook: &Notebook,
) -> String {
    let wanted = |name: &&&str| {
        let is_taken = own.contains(**name) || uses.iter().any(|leaf| leaf.name == **name);
        !is_taken && mentions.contains(**name) && !notebook.items.contains_key(**name)
    };
    let import = |name: &&str| match notebook.dependencies.replaces(name) {
        true => format!("use ::{name}; "),
        false => format!("use ::onrush::{name}; "),
    };
    ["arrow", "chrono", "serde"].iter().filter(wanted).map(import).collect()
}

fn body_prologue(
    request: &Request<'_>,
    takes: &[String],
    assigned: &[String],
    puts: &[Binding],
    imports_print: bool,
    crates: &str,
    has_globs: bool,
    own_macros: &[&str],
) -> String {
    let error = if request.any_error { "AnyError" } else { "CellError" };
    // A glob does not hide the standard library's macro of the same name.
    let print = if imports_print { "use ::onrush::__print as print; " } else { "" };
    // Names of the user's globs hide the prelude's names, which are a scope further out.
    let (outer, mut inner) = match has_globs {
        true => ("::onrush::prelude::*", "use super::*; ".to_string()),
        false => ("super::*", String::new()),
    };
    if has_globs {
        // Rust asks of macros that no two scopes on the way out have the name, if a glob brings it in.
        inner.push_str(crates);
        inner.push_str(print);
        own_macros.iter().for_each(|name| inner.push_str(&format!("use super::{name}; ")));
    }
    let (crates, print) = if has_globs { ("", "") } else { (crates, print) };
    let mut text = format!(
        "use {outer}; {crates}{print}pub fn __onrush_run(__onrush_store: &mut ::onrush::host::Store) -> \
         ::core::result::Result<::onrush::host::CellEnd, ::onrush::host::{error}> {{ {inner}"
    );
    text.push_str(&around(request.cell, request.notebook).0);
    if request.asks_for_borrowers {
        text.push_str(&borrowers::prologue(puts));
    }
    for name in takes.iter().filter(|name| parts_of(name).is_none()) {
        let variable = &request.notebook.variables[name];
        let mutable = if variable.mutable { "mut " } else { "" };
        // Whether it changes is asked of rustc, and no error.
        if variable.mutable && !request.cell.inner_attributes.is_empty() {
            text.push_str("#[warn(warnings, unused_mut)] ");
        }
        let plain = name.trim_start_matches("r#");
        let _ = write!(text, "let {mutable}{name} = __onrush_store.take::<{}>({plain:?})?; ", variable.type_code);
    }
    text.push_str(&fields::prologue(takes, request.notebook));
    for name in assigned {
        let variable = &request.notebook.moved[name];
        let mutable = if variable.mutable { "mut " } else { "" };
        let _ = write!(text, "let {mutable}{name}: {}; ", variable.type_code);
    }
    text
}

/// The code around the statements of a cell that awaits something: tokio's runtime or a small executor.
fn around(cell: &Cell, notebook: &Notebook) -> (String, &'static str) {
    let awaits = |p: &Part| !matches!(p.kind, PartKind::Item(_)) && p.mentions.contains("await");
    if !cell.parts.iter().any(awaits) {
        return (String::new(), "");
    }
    let own = || "::onrush::host::block_on(async { ".to_string();
    (notebook.dependencies.runtime().unwrap_or_else(own), ") }")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::parse_cell;

    #[test]
    fn lines_stay_and_columns_lead_back() {
        let cell = parse_cell("let ä = 1; struct P { x: i32 }\nä + 1");
        let notebook = Notebook::default();
        let request = Request::new(&cell, "onrush_cell_1", "cell_1.rs", &notebook);
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
        assert_eq!(generated.puts, [Binding { name: "ä".into(), mutable: false, cfg: None }]);
    }
}
