//! From a cell to a shared object: the cache, rustc, and the second tries after errors that are about what outlives the
//! cell.

mod borrowers;
mod tries;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};

use onrush_wire::{Class, Diagnostic, Span};
use serde::{Deserialize, Serialize};

use crate::generate::{GeneratedCrate, RecompiledFunction, Request, VariableFate, generate, globs, parts_of};
use crate::hints::rustc_text;
use crate::interrupt::InterruptToken;
use crate::lexer::position;
use crate::notebook::Notebook;
use crate::parse::{Binding, Cell, Part, PartKind};
use crate::prelude_build::PreludeBuild;
use crate::rustc::{self, CompileResult, Job, Message, Phases, Place, Source, Warm};
use crate::source_map::SourceMap;
use crate::types::from_message;
use tries::Tries;

/// Compiled cells that the cache holds, in bytes; the least recently used go.
const CACHE_BYTES: u64 = 1 << 30;
/// Compiled cells between two looks at the size of the cache.
const BOUND_EVERY: u32 = 100;
/// Tries of one cell: each one leaves out at least one variable.
const TRIES: usize = 8;

/// The cache's record of a compiled cell, stored next to the shared object.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct CacheRecord {
    #[serde(flatten)]
    choices: Choices,
    file: String,
    #[serde(default)]
    warnings: Vec<Diagnostic>,
    #[serde(default)]
    unchanged: BTreeSet<String>,
    /// The callers of what it defines again did not compile with it.
    #[serde(default)]
    alone: bool,
}

/// Decisions from rustc's errors about the generated code.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Choices {
    /// Variables that are not put back, or not as they are.
    pub omitted: BTreeMap<String, VariableFate>,
    /// Whether `?` takes errors that are not `std::error::Error`.
    pub any_error: bool,
    /// Names of the prelude that the user's globs have not.
    #[serde(default)]
    pub missing: BTreeSet<String>,
    /// A `return` at the top level keeps nothing.
    #[serde(default)]
    pub returns_bare: bool,
    /// Closures that are given to generic types are in no boxes.
    #[serde(default)]
    pub plain_arguments: bool,
}

impl Choices {
    /// The request for the generator with these choices.
    pub fn request<'a>(
        &'a self,
        cell: &'a Cell,
        crate_name: &'a str,
        file: &'a str,
        notebook: &'a Notebook,
        recompiled: &'a [RecompiledFunction],
    ) -> Request<'a> {
        Request {
            omit: &self.omitted,
            any_error: self.any_error,
            missing: &self.missing,
            returns_bare: self.returns_bare,
            plain_arguments: self.plain_arguments,
            recompiled,
            ..Request::new(cell, crate_name, file, notebook)
        }
    }
}

impl CacheRecord {
    /// Makes the compiled cell. `phases` is `None` if it was in the cache.
    fn ready(
        self,
        library: PathBuf,
        generated: GeneratedCrate,
        recompiled: Vec<RecompiledFunction>,
        phases: Option<Phases>,
    ) -> CompiledCell {
        let CacheRecord { choices, warnings, unchanged, .. } = self;
        let (from_cache, phases) = (phases.is_none(), phases.unwrap_or_default());
        CompiledCell { library, generated, choices, from_cache, phases, warnings, unchanged, recompiled }
    }
}

#[derive(Clone, Debug)]
pub struct CompiledCell {
    pub library: PathBuf,
    pub generated: GeneratedCrate,
    pub choices: Choices,
    pub from_cache: bool,
    pub phases: Phases,
    /// rustc's warnings in the cell's lines; the same when the cell comes from the cache.
    pub warnings: Vec<Diagnostic>,
    /// Variables of earlier cells that are `mut` and that this cell does not change, says rustc.
    pub unchanged: BTreeSet<String>,
    /// Functions of earlier cells that were compiled with it.
    pub recompiled: Vec<RecompiledFunction>,
}

pub struct Compiler {
    pub kit: PreludeBuild,
    pub folder: PathBuf,
    pub optimisation: u8,
    pub stop: Arc<InterruptToken>,
    pub compiled: AtomicU32,
    pub warm: Arc<Warm>,
    /// Set once a library turned out to need more of the system than the quick link gives.
    pub full_link: AtomicBool,
}

impl Compiler {
    pub fn compile(
        &self,
        cell: &Cell,
        crate_name: &str,
        file: &str,
        notebook: &Notebook,
        callers: Vec<RecompiledFunction>,
    ) -> Result<CompiledCell, Vec<Diagnostic>> {
        let mut tries = Tries::new(cell, crate_name, file, notebook, callers);
        let key = self.key(&tries.generated, crate_name, notebook);
        let record = self.folder.join(format!("{crate_name}-{key}.json"));
        if let Some(remembered) = read_record(&record) {
            let library = self.folder.join(&remembered.file);
            if touch(&rustc::metadata_of(&library)) && touch(&library) {
                if remembered.alone {
                    tries.callers.clear();
                }
                let generated = tries.make(&remembered.choices);
                return Ok(remembered.ready(library, generated, tries.callers, None));
            }
        }
        let name = format!("lib{crate_name}-{key}.so");
        let library = self.folder.join(&name);
        let mut tried = Duration::ZERO;
        for _ in 0..TRIES {
            let job = self.job(notebook, &tries.generated, crate_name, &library);
            let begun = Instant::now();
            match rustc::compile(&job).map_err(|d| vec![d])? {
                CompileResult::Done(messages, mut phases) => {
                    phases.check += tried;
                    let places = Places { file, map: &tries.generated.map, notebook };
                    let remembered = CacheRecord {
                        warnings: places.warnings(&messages, &cell.code),
                        unchanged: unchanged(&messages, &tries.generated, &places),
                        choices: tries.choices,
                        file: name,
                        alone: tries.alone,
                    };
                    write_record(&record, &remembered);
                    self.bound_cache_sometimes();
                    return Ok(remembered.ready(library, tries.generated, tries.callers, Some(phases)));
                }
                CompileResult::Errors(messages) => {
                    tried += begun.elapsed();
                    tries.decide(self, &messages, &library)?;
                }
            }
        }
        Err(vec![
            Diagnostic::error(
                Class::Internal,
                "compile",
                "the cell's variables could not be sorted out in a few tries",
            )
            .help("split the cell into smaller ones"),
        ])
    }

    /// The types of variables as rustc spells them, for those whose `type_name` does not say it.
    pub fn type_codes(
        &self,
        cell: &Cell,
        crate_name: &str,
        file: &str,
        notebook: &Notebook,
        ready: &CompiledCell,
        names: &[String],
        crates: &BTreeSet<String>,
    ) -> BTreeMap<String, String> {
        let request = ready.choices.request(cell, crate_name, file, notebook, &ready.recompiled);
        let mut generated = generate(&Request { probes: names, ..request });
        // rustc says the public paths of the crates that a crate names.
        crates.iter().for_each(|name| generated.files[0].1.push_str(&format!("extern crate {name};\n")));
        let job = self.job(notebook, &generated, crate_name, &ready.library);
        let Ok(messages) = rustc::check(&job) else { return BTreeMap::new() };
        let places = Places { file, map: &generated.map, notebook };
        let mut types = BTreeMap::new();
        for message in messages.iter().filter(|m| m.code() == "E0277") {
            let Some(Place::Added(line)) = message.primary().map(|span| places.of(span)) else { continue };
            let Some(name) = names.get(line as usize - 1) else { continue };
            let spelled = message.message.strip_prefix("the trait bound `").and_then(|m| Some(m.rsplit_once(": ")?.0));
            if let Some(code) =
                spelled.and_then(|text| from_message(text, crate_name, &|root| notebook.dependencies.root(root)))
            {
                types.insert(name.clone(), code);
            }
        }
        types
    }

    /// The path of the shared object for this source.
    pub fn library(&self, generated: &GeneratedCrate, crate_name: &str, notebook: &Notebook) -> PathBuf {
        self.folder.join(format!("lib{crate_name}-{}.so", self.key(generated, crate_name, notebook)))
    }

    pub fn job<'a>(
        &'a self,
        notebook: &'a Notebook,
        generated: &'a GeneratedCrate,
        crate_name: &'a str,
        library: &'a Path,
    ) -> Job<'a> {
        Job {
            kit: &self.kit,
            notebook,
            generated,
            crate_name,
            library,
            optimisation: self.optimisation,
            stop: &self.stop,
            warm: &self.warm,
            full_link: self.full_link.load(Ordering::Relaxed),
        }
    }

    /// A hash of what a cell would be compiled to, whatever its number.
    pub fn shape(&self, cell: &Cell, notebook: &Notebook) -> String {
        let (crate_name, file) = ("onrush_cell_0", "cell_0.rs");
        let choices = Choices { missing: notebook.missing.clone(), ..Choices::default() };
        let generated = generate(&choices.request(cell, crate_name, file, notebook, &[]));
        self.key(&generated, crate_name, notebook)
    }

    /// A hash of everything that the shared object depends on.
    fn key(&self, generated: &GeneratedCrate, crate_name: &str, notebook: &Notebook) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut add = |text: &str| {
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        };
        add(&self.kit.identity);
        add(crate_name);
        add(&self.optimisation.to_string());
        for (name, text) in &generated.files {
            add(name);
            add(text);
        }
        for file in &generated.included {
            add(&fs::read(file).map_or_else(|e| e.to_string(), |bytes| blake3::hash(&bytes).to_string()));
        }
        add(notebook.dependencies.key());
        for &index in &generated.links {
            // The file name holds the hash of that crate.
            add(&notebook.crates[index].library.file_name().unwrap_or_default().to_string_lossy());
        }
        hasher.finalize().to_hex()[..20].to_string()
    }

    /// Starts the compiler and the linker of the next cell, while this one runs.
    pub fn prepare(&self) {
        let (warm, kit, folder) = (Arc::clone(&self.warm), self.kit.clone(), self.folder.clone());
        // Without a thread they are started when they are needed.
        let _ = std::thread::Builder::new().spawn(move || warm.prepare(&kit.toolchain, kit.linker.as_ref(), &folder));
    }

    /// Looking at every file takes longer than compiling where there are thousands.
    fn bound_cache_sometimes(&self) {
        if self.compiled.fetch_add(1, Ordering::Relaxed).is_multiple_of(BOUND_EVERY) {
            let folder = self.folder.clone();
            // Without a thread it is done another time.
            let _ = std::thread::Builder::new().spawn(move || bound_cache(&folder));
        }
    }
}

/// Removes what was used longest ago from a folder that holds too much.
pub fn bound_cache(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut files: Vec<(SystemTime, u64, PathBuf)> = entries
        .flatten()
        .filter_map(|e| {
            let metadata = e.metadata().ok().filter(|m| m.is_file())?;
            Some((metadata.modified().ok()?, metadata.len(), e.path()))
        })
        .collect();
    let mut total: u64 = files.iter().map(|f| f.1).sum();
    files.sort();
    for (_, bytes, path) in files {
        if total <= CACHE_BYTES {
            break;
        }
        // A library that a running notebook has loaded stays loaded; only a later compile would miss the file.
        if fs::remove_file(&path).is_ok() {
            total -= bytes;
        }
    }
}

fn read_record(path: &Path) -> Option<CacheRecord> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn write_record(path: &Path, remembered: &CacheRecord) {
    let partial = path.with_extension(format!("{}.part", std::process::id()));
    if let Ok(bytes) = serde_json::to_vec(remembered) {
        // A record that cannot be written costs a compile next time, nothing else.
        let _ = fs::write(&partial, bytes).and_then(|()| fs::rename(&partial, path));
    }
}

/// Notes the use for the cache's order; `false` if the file is not there.
fn touch(path: &Path) -> bool {
    match fs::File::options().append(true).open(path) {
        Ok(file) => {
            let _ = file.set_modified(SystemTime::now());
            true
        }
        Err(_) => false,
    }
}

/// Whether variables cannot be put back where the cell returns.
fn is_about_a_return(errors: &[&Message], generated: &GeneratedCrate, places: &Places<'_>) -> bool {
    let at = |message: &Message| message.primary().is_some_and(|span| put_at_return(span, generated, places).is_some());
    // A variable of the cell that borrows is put back nowhere, and the others are.
    let borrows = |message: &Message| {
        about_the_end(message, generated, places).is_some_and(|(name, _)| !generated.takes.contains(&name))
    };
    errors.iter().any(|message| is_about_borrowing(message) && at(message) && !borrows(message))
}

/// The variable that is put back at this place, where the cell returns.
fn put_at_return<'a>(
    span: &rustc::RustcSpan,
    generated: &'a GeneratedCrate,
    places: &Places<'_>,
) -> Option<&'a Binding> {
    let mut current = Some(span);
    while let Some(span) = current {
        if span.file_name == places.file
            && let Some(put) = generated.put_at_return(span.line_end, span.column_end)
        {
            return Some(put);
        }
        current = span.expansion.as_ref().map(|expansion| &expansion.span);
    }
    None
}

/// The name of the prelude that rustc does not find, if that is what it says.
fn missing_name(message: &Message) -> Option<String> {
    let about_a_name = matches!(
        message.code(),
        "E0404" | "E0405" | "E0412" | "E0422" | "E0423" | "E0425" | "E0432" | "E0433" | "E0531" | "E0532" | "E0574"
    ) || rustc_text::is_unknown_name(&message.message);
    let mut quoted = message.message.split('`').skip(1).step_by(2);
    quoted.find(|name| about_a_name && globs::names().contains(*name)).map(str::to_string)
}

/// Nothing that the cell makes outlives it.
fn omit_all(cell: &Cell, generated: &GeneratedCrate, omitted: &mut BTreeMap<String, VariableFate>) {
    for part in &cell.parts {
        let PartKind::Let { names, .. } = &part.kind else { continue };
        for name in names.iter().map(|binding| &binding.name) {
            let is_kept = generated.puts.iter().any(|put| put.name == *name) || omitted.contains_key(name);
            if is_kept && omitted.get(name).is_none_or(|ends| !ends.is_end()) {
                omitted.insert(name.clone(), VariableFate::WithCell);
            }
        }
    }
}

/// Leads rustc's positions to cells.
pub struct Places<'a> {
    pub file: &'a str,
    pub map: &'a SourceMap,
    pub notebook: &'a Notebook,
}

impl Places<'_> {
    /// `code`: the text of the cell.
    pub fn diagnostics(&self, messages: &[&Message], code: &str) -> Vec<Diagnostic> {
        rustc::diagnostics(
            messages,
            &Source { place: &|span| self.of(span), text: &|file| (file == self.file).then_some(code) },
        )
    }

    fn warnings(&self, messages: &[Message], code: &str) -> Vec<Diagnostic> {
        rustc::warnings(
            messages,
            &Source { place: &|span| self.of(span), text: &|file| (file == self.file).then_some(code) },
        )
    }

    pub fn of(&self, span: &rustc::RustcSpan) -> Place {
        let (file, map) = if span.file_name == self.file {
            (self.file, self.map)
        } else if let Some(found) = self.notebook.map_of(&span.file_name) {
            found
        } else {
            return Place::Elsewhere;
        };
        if !map.is_users(span.line_start) {
            return Place::Added(span.line_start - map.lines);
        }
        let column = map.column(span.line_start, span.column_start);
        let end =
            if span.line_end == span.line_start { map.column(span.line_end, span.column_end) } else { column + 1 };
        if map.is_prologue(span.line_start, span.column_start) {
            return Place::Elsewhere;
        }
        Place::Users(Span {
            file: file.to_string(),
            line: span.line_start,
            column,
            length: end.saturating_sub(column).max(1),
        })
    }
}

/// The variables that are taken as `mut`, of which rustc says that they need not be.
fn unchanged(messages: &[Message], generated: &GeneratedCrate, places: &Places<'_>) -> BTreeSet<String> {
    let first = generated.files.get(1).and_then(|(_, body)| body.lines().next()).unwrap_or("");
    let name = |message: &Message| {
        let span = message.primary().filter(|span| message.code() == "unused_mut" && span.line_start == 1)?;
        let taken = matches!(places.of(span), Place::Elsewhere);
        let text = first.chars().skip(span.column_start as usize - 1);
        let text: String = text.take((span.column_end - span.column_start) as usize).collect();
        taken.then(|| text.trim_start_matches("mut ").trim().to_string())
    };
    messages.iter().filter_map(name).collect()
}

/// If an error is about the box of a closure, which one, and what to try next.
fn about_a_closure(
    message: &Message,
    generated: &GeneratedCrate,
    places: &Places<'_>,
    omitted: &BTreeMap<String, VariableFate>,
) -> Option<(String, VariableFate)> {
    if generated.closures.is_empty() || is_about_borrowing(message) {
        return None;
    }
    let put = |span: &rustc::RustcSpan| match places.of(span) {
        Place::Added(line) if span.file_name == places.file => generated.puts.get(line as usize - 1),
        _ => put_at_return(span, generated, places),
    };
    let name = message.spans.iter().find_map(put)?.name.clone();
    generated.closures.get(&name)?;
    let next = match (message.code(), omitted.get(&name)) {
        ("E0525", None) => VariableFate::CallsMut,
        ("E0525", Some(VariableFate::CallsMut)) => VariableFate::CallsOnce,
        _ => VariableFate::Plain,
    };
    Some((name, next))
}

/// Errors at the variable that another one borrows from.
fn is_about_the_source(message: &Message) -> bool {
    matches!(message.code(), "E0499" | "E0502" | "E0503" | "E0505" | "E0506")
}

/// The variable that cannot be put back because one that is not put back borrows from it.
fn source_of(message: &Message, generated: &GeneratedCrate, places: &Places<'_>) -> Option<String> {
    let span = message.primary().filter(|_| is_about_the_source(message))?;
    match places.of(span) {
        Place::Added(line) if span.file_name == places.file => {
            generated.puts.get(line as usize - 1).map(|put| put.name.clone())
        }
        _ => None,
    }
}

/// If an error is about putting a variable back, which one, and why it cannot be.
fn about_the_end(message: &Message, generated: &GeneratedCrate, places: &Places<'_>) -> Option<(String, VariableFate)> {
    let put = |span: &rustc::RustcSpan| match places.of(span) {
        Place::Added(line) if span.file_name == places.file => {
            generated.puts.get(line as usize - 1).map(|b| b.name.clone())
        }
        _ => None,
    };
    // A field that was moved, or that the type no longer has.
    let of_field = message.primary().and_then(put).filter(|name| parts_of(name).is_some());
    match message.code() {
        _ if of_field.is_some() && !is_about_the_source(message) => Some((of_field?, VariableFate::Moved)),
        "E0382" | "E0381" => {
            // Used in the epilogue, moved before.
            let name = message.primary().and_then(put)?;
            Some((
                name,
                match message.code() {
                    "E0381" => VariableFate::Unset,
                    _ if rustc_text::is_moved_in_part(&message.message) => VariableFate::MovedInPart,
                    _ => VariableFate::Moved,
                },
            ))
        }
        _ if is_about_borrowing(message) => {
            // The put that needs the borrow is the borrower's; the other one is what it borrows from.
            let others = message.spans.iter().filter(|s| !s.is_primary);
            let noted = message.children.iter().flat_map(|c| &c.spans);
            let at_return = |span| put_at_return(span, generated, places).map(|put| put.name.clone());
            let borrower = others.chain(noted).find_map(|span| put(span).or_else(|| at_return(span)));
            let alone = || message.primary().filter(|_| !is_about_the_source(message)).and_then(put);
            Some((borrower.or_else(alone)?, VariableFate::Borrows))
        }
        _ => None,
    }
}

/// Variables of the cell that end with it because of their names.
fn unkept(cell: &Cell) -> impl Iterator<Item = String> {
    let names = cell.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Let { names, .. } => Some(names),
        _ => None,
    });
    names.flatten().map(|binding| binding.name.clone()).filter(|name| name.starts_with('_'))
}

fn is_about_borrowing(message: &Message) -> bool {
    matches!(
        message.code(),
        "E0382"
            | "E0381"
            | "E0597"
            | "E0505"
            | "E0506"
            | "E0499"
            | "E0502"
            | "E0503"
            | "E0515"
            | "E0716"
            | "E0521"
            | "E0310"
            | "E0373"
    ) || rustc_text::is_lifetime(&message.message)
}

/// A variable of an earlier cell that could not be put back. That is an error: nobody wants to lose it by a borrow.
fn still_borrowed(cell: &Cell, name: &str, error: &Message, places: &Places<'_>) -> Diagnostic {
    let bound = |p: &Part| matches!(&p.kind, PartKind::Let { names, .. } if names.iter().any(|b| b.name == name));
    let replaced = cell.parts.iter().any(bound);
    let message = if replaced {
        format!("`{name}` borrows from the `{name}` that it replaces: neither would be left after this cell")
    } else {
        format!("`{name}` is still borrowed when the cell ends, so it could not be kept")
    };
    let mut diagnostic = places.diagnostics(&[error], &cell.code).remove(0);
    diagnostic.labels.retain(|label| label.text.contains("borrow") && !label.text.contains("argument requires"));
    let first = cell.parts.iter().find(|p| bound(p)).map(|p| position(&cell.code, p.range.start));
    if let (true, Some((line, column))) = (diagnostic.labels.is_empty(), first) {
        diagnostic = diagnostic.at(Span { file: places.file.to_string(), line, column, length: 3 }, "");
    }
    // A thread, say, of which nobody knows how long it runs.
    let lasting = diagnostic.labels.iter().any(|l| l.text.contains("`'static`")) || message_of_static(error);
    let help = if lasting && !replaced {
        "let the closure own what it uses: `let name = name.clone();` before it, and `move || …`"
    } else if replaced {
        "give the new variable another name, or let it own its value: `.to_owned()`, `.clone()`, `.collect()`"
    } else {
        "end the borrow before the cell does: put it into a block `{ … }`, or let the new variable own its value (`.clone()`)"
    };
    Diagnostic {
        code: "borrowed-variable".to_string(),
        message,
        notes: Vec::new(),
        help: vec![help.to_string()],
        ..diagnostic
    }
}

/// Whether something must be borrowed as long as the process lives.
fn message_of_static(error: &Message) -> bool {
    let labels = error.spans.iter().filter_map(|s| s.label.as_deref());
    labels.chain([error.message.as_str()]).any(rustc_text::needs_static)
}

/// Whether `?` met an error type that does not convert, such as one that is not a `std::error::Error`.
fn is_unconverted(message: &Message) -> bool {
    message.code() == "E0277" && rustc_text::is_try_without_conversion(&message.message)
}
