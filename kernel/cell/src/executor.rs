//! The interface of this crate: execute cells of one notebook, one after another.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use onrush_wire::display::{Content, Display, PreviewColumn, TableKind, TablePreview};
use onrush_wire::host::{Finished, Stream, Variable};
use onrush_wire::plot::Plot;
use onrush_wire::{Class, DataType, Diagnostic, FrameId, Generation, NotebookId, Span, Value};

use crate::commands::{self, CommandKind};
use crate::compile::{Compiler, Ends, Ready};
use crate::complete;
use crate::generate::SourceMap;
use crate::hints;
use crate::kit;
use crate::names::{self, Names};
use crate::notebook::{CellCrate, KnownMacro, KnownSource, KnownVariable, Notebook};
use crate::process::{self, CellProcess, Ended, Launch, Stoppable};
use crate::reemit;
use crate::scan;
use crate::shell;
use crate::split::{Cell, ItemKind, ItemPart, Part, PartKind, split};
use crate::types::{KnownTypes, Spelling, is_function, short, spell};

/// What an executor needs to know. Everything that is `None` is found by the executor.
#[derive(Clone, Debug)]
pub struct Config {
    pub notebook: NotebookId,
    /// Working folder of the cell process: the notebook's folder.
    pub folder: PathBuf,
    /// Unix socket of the session.
    pub session_socket: PathBuf,
    /// Folder for compiled cells and the prelude; `paths::cache_dir()` if `None`.
    pub cache: Option<PathBuf>,
}

/// What happens while a cell is compiled and run, in order. Sent on the channel given to [`Executor::execute`].
#[derive(Debug)]
pub enum Event {
    Output {
        stream: Stream,
        text: String,
    },
    Display(Display),
    ClearOutput {
        wait: bool,
    },
    /// The cell waits for a line; `None` on `reply` interrupts it.
    Input {
        prompt: String,
        password: bool,
        reply: Sender<Option<String>>,
    },
    /// Draw and write a plot now; the cell waits.
    SavePlot {
        plot: Plot,
        path: PathBuf,
        reply: Sender<Result<(), Diagnostic>>,
    },
    /// The cell process wants a session and none answers; start one.
    NeedSession {
        reply: Sender<Result<(), Diagnostic>>,
    },
    /// The cell's code starts in this generation: the session's `BeginCell` must be said before `reply` is answered.
    Begin {
        generation: Generation,
        reply: Sender<()>,
    },
    /// Long work before the cell runs: `building the prelude for rustc 1.96`, with a fraction if it is known.
    Working {
        what: String,
        fraction: Option<f32>,
    },
    /// A warning of rustc or of ours that belongs under the cell.
    Warning(Diagnostic),
}

/// How a cell ended.
#[derive(Debug)]
pub enum Outcome {
    Ok {
        generation: Generation,
        /// For the session's `EndCell`.
        frames: Vec<(String, FrameId)>,
        released: Vec<FrameId>,
        published: Vec<(String, FrameId)>,
    },
    /// Nothing was changed, or the snapshot has taken over. `labels` are in the cell's own lines: their `file` is
    /// [`cell_file`] of the cell that holds the place.
    Failed { generation: Generation, diagnostics: Vec<Diagnostic>, ran: bool },
}

/// Stops the running cell from any thread.
pub trait Interrupt: Send + Sync {
    fn interrupt(&self);
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completeness {
    Complete,
    Incomplete { indent: String },
    Invalid,
}

/// Positions are in Unicode code points of the cell text, as Jupyter counts them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completions {
    pub start: usize,
    pub end: usize,
    /// Text to insert and its kind (`function`, `variable`, `method`, `column`, `keyword`, `type`, `macro`, `module`).
    pub matches: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inspection {
    pub found: bool,
    /// Markdown; the plain text is the same text.
    pub markdown: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableInfo {
    pub name: String,
    /// As a user would write it: `HashMap<String, i32>`.
    pub type_name: String,
    pub mutable: bool,
    pub preview: Option<String>,
}

/// The file name under which rustc and diagnostics know the cell with this execution number.
pub fn cell_file(cell: u64) -> String {
    format!("cell_{cell}.rs")
}

/// One notebook's cells. Blocking; the kernel process runs it on a thread of its own.
pub struct Executor {
    config: Config,
    compiler: Compiler,
    process: CellProcess,
    notebook: Notebook,
    stop: Arc<Stoppable>,
    /// Text of every cell, by file name.
    sources: BTreeMap<String, (u64, String)>,
    /// How often an execution number was used: a crate's name must be new.
    used: BTreeMap<u64, u32>,
    /// Compiled statements by what they were made from, whatever their number: the same cell again runs the same code.
    shapes: BTreeMap<String, Shape>,
    timing: bool,
    types: KnownTypes,
}

impl Executor {
    /// Finds rustc and the prelude, and starts the cell process. Builds the prelude if rustc is not the one that built it,
    /// reporting [`Event::Working`].
    pub fn start(config: Config, events: &Sender<Event>) -> Result<Self, Diagnostic> {
        let cache = config.cache.clone().unwrap_or_else(onrush_wire::paths::cache_dir);
        let kit = kit::ensure(&cache, &mut |what, fraction| {
            let _ = events.send(Event::Working { what, fraction });
        })?;
        let cells = cache.join("cells");
        std::fs::create_dir_all(&cells).map_err(|e| {
            Diagnostic::error(
                Class::Environment,
                "cache",
                format!("the folder {} cannot be made: {e}", cells.display()),
            )
            .help("make it writable, or set ONRUSH_CACHE_DIR to another folder")
        })?;
        let libraries =
            [kit.paths.prelude.parent().map(PathBuf::from), Some(kit.toolchain.library_folder()), Some(cells.clone())];
        let launch = Launch {
            host: kit.paths.host.clone(),
            library_path: libraries.iter().flatten().map(|p| p.display().to_string()).collect::<Vec<_>>().join(":"),
            folder: config.folder.clone(),
            notebook: config.notebook.clone(),
            session_socket: config.session_socket.clone(),
            overflow: cache.join("output"),
        };
        let stop = Arc::new(Stoppable::default());
        let process = CellProcess::start(launch, Arc::clone(&stop), Generation(1))?;
        let types = KnownTypes::load(cells.join(format!("types-{}.json", kit.key)));
        let compiler = Compiler { kit, folder: cells, optimisation: 1, stop: Arc::clone(&stop) };
        Ok(Executor {
            config,
            compiler,
            process,
            notebook: Notebook::default(),
            stop,
            sources: BTreeMap::new(),
            used: BTreeMap::new(),
            shapes: BTreeMap::new(),
            timing: false,
            types,
        })
    }

    /// Compiles and runs one cell. `cell` is its execution number.
    pub fn execute(&mut self, cell: u64, text: &str, events: &Sender<Event>) -> Outcome {
        self.stop.begin();
        let outcome = self.execute_watched(cell, text, events);
        self.stop.end();
        outcome
    }

    fn failed(&self, diagnostics: Vec<Diagnostic>, ran: bool) -> Outcome {
        Outcome::Failed { generation: self.process.generation(), diagnostics, ran }
    }

    fn execute_watched(&mut self, number: u64, text: &str, events: &Sender<Event>) -> Outcome {
        let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let file = cell_file(number);
        self.sources.insert(file.clone(), (number, text.clone()));
        let started = Instant::now();
        let text = match self.commands(&text, &file, events) {
            Ok(code) => code,
            Err(diagnostic) => return self.failed(vec![diagnostic], false),
        };
        let cell = split(&text);
        if let (Some(_), Some(diagnostic)) = (&cell.error, scan::bracket_error(&text, &file)) {
            return self.failed(vec![diagnostic], false);
        }
        if let (Some(_), Some(diagnostic)) = (&cell.error, hints::missing_semicolon(&text, &file)) {
            return self.failed(vec![diagnostic], false);
        }
        if cell.parts.is_empty() && cell.error.is_none() {
            return self.nothing();
        }
        let names_main =
            |p: &Part| matches!(&p.kind, PartKind::Item(item) if item.kind == ItemKind::Named("main".into()));
        if cell.parts.iter().any(names_main) && cell.parts.iter().all(|p| matches!(p.kind, PartKind::Item(_))) {
            let message = "`main` is defined and not called: a cell runs its own statements".to_string();
            self.warn(
                events,
                "main",
                message,
                "call `main()` in this cell or another one, or write its statements without it",
            );
        }
        let saved_level = self.compiler.optimisation;
        self.compiler.optimisation = cell.optimisation.unwrap_or(saved_level);
        let outcome = self.compile_and_run(number, &file, cell, started, events);
        self.compiler.optimisation = saved_level;
        outcome
    }

    fn compile_and_run(
        &mut self,
        number: u64,
        file: &str,
        cell: Cell,
        started: Instant,
        events: &Sender<Event>,
    ) -> Outcome {
        let whole = &cell;
        let moved = match reemit::move_impls(&self.compiler, whole, file, &self.notebook) {
            Ok(moved) => moved,
            Err(diagnostics) => return self.failed(diagnostics, false),
        };
        let impls: Vec<Part> = if moved.is_some() { cell.parts.clone() } else { Vec::new() };
        let Some(moved) = moved else { return self.compile_rest(number, file, &cell, started, events) };
        let before = std::mem::replace(&mut self.notebook, moved.notebook);
        let outcome = if moved.cell.parts.is_empty() {
            self.nothing()
        } else {
            self.compile_rest(number, file, &moved.cell, started, events)
        };
        match &outcome {
            Outcome::Ok { .. } => impls.iter().for_each(|part| self.note_methods(part)),
            Outcome::Failed { .. } => {
                // Variables may have been lost with the process; everything else is as it was.
                let variables = std::mem::take(&mut self.notebook.variables);
                self.notebook = before;
                self.notebook.variables.retain(|name, _| variables.contains_key(name));
            }
        }
        outcome
    }

    fn note_methods(&mut self, part: &Part) {
        if let PartKind::Item(item) = &part.kind {
            if let ItemKind::Impl { target: Some(target), methods, .. } = &item.kind {
                self.notebook.methods.entry(target.clone()).or_default().extend(methods.iter().cloned());
            }
        }
    }

    fn compile_rest(
        &mut self,
        number: u64,
        file: &str,
        cell: &Cell,
        started: Instant,
        events: &Sender<Event>,
    ) -> Outcome {
        // The same statements again, on variables of the same types: the code that is loaded already.
        let shape = has_only_statements(cell).then(|| self.compiler.shape(cell, &self.notebook));
        let known = shape.as_ref().and_then(|shape| self.shapes.get(shape)).filter(|s| s.ready.library.is_file());
        let Shape { crate_name, file: crate_file, ready } = match known.cloned() {
            Some(shape) => shape,
            None => {
                let count = self.used.entry(number).or_default();
                *count += 1;
                let crate_name = match *count {
                    1 => format!("onrush_cell_{number}"),
                    count => format!("onrush_cell_{number}_{count}"),
                };
                match self.compiler.compile(cell, &crate_name, file, &self.notebook) {
                    Ok(ready) => Shape { crate_name, file: file.to_string(), ready },
                    Err(diagnostics) => return self.failed(diagnostics, false),
                }
            }
        };
        if let Some(shape) = shape {
            let ready = Ready { from_cache: true, ..ready.clone() };
            self.shapes.insert(shape, Shape { crate_name: crate_name.clone(), file: crate_file.clone(), ready });
        }
        for mut warning in ready.warnings.clone() {
            warning.labels.iter_mut().for_each(|label| label.span.file = file.to_string());
            let _ = events.send(Event::Warning(warning));
        }
        let users_file = file;
        let file = crate_file.as_str();
        let compiled = started.elapsed();
        self.process.know_places(file, &ready.generated.map);
        let ended = self.process.run(number, &ready.library, &ready.generated.entry, events);
        if self.timing {
            let ran = started.elapsed() - compiled;
            let how = if ready.from_cache { "found compiled" } else { "compiled" };
            let text =
                format!("{how} in {:.0} ms, ran in {:.1} ms\n", compiled.as_secs_f64() * 1e3, ran.as_secs_f64() * 1e3);
            process::output(events, Stream::Stdout, text);
        }
        match ended {
            Ended::Failed { mut diagnostic, variables_lost } => {
                if variables_lost {
                    for name in std::mem::take(&mut self.notebook.variables).into_keys() {
                        self.notebook.gone.insert(name, "was lost with the cell process".to_string());
                    }
                }
                self.map_labels(&mut diagnostic, file, &ready.generated.map);
                diagnostic.narrow(|file| self.sources.get(file).map(|(_, text)| text.as_str()));
                // Code that ran before is shown as this cell's: its text is the same.
                for label in diagnostic.labels.iter_mut().filter(|l| l.span.file == file) {
                    label.span.file = users_file.to_string();
                }
                self.failed(vec![diagnostic], true)
            }
            Ended::Ok(finished) => {
                let generation = self.process.generation();
                let Finished { variables, frames, released, published, .. } = finished;
                self.commit(number, cell, &crate_name, file, ready, variables, events);
                Outcome::Ok { generation, frames, released, published }
            }
        }
    }

    /// Carries out the commands of a cell, and gives its code.
    fn commands(&mut self, text: &str, file: &str, events: &Sender<Event>) -> Result<String, Diagnostic> {
        let known = |line: &str| {
            let word: String =
                line[1..].trim_start_matches('!').chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let name = self.notebook.variables.contains_key(&word) || self.notebook.items.contains_key(&word);
            name || matches!(word.as_str(), "" | "true" | "false" | "matches") || text.contains(&format!("let {word}"))
        };
        let (commands, code) = commands::separate(text, file, &known)?;
        for command in commands {
            let say = |text: String| process::output(events, Stream::Stdout, text);
            match command.kind {
                CommandKind::Vars => drop(events.send(Event::Display(self.variable_table()))),
                CommandKind::Help => say(commands::HELP.to_string()),
                CommandKind::Clear => {
                    self.process.forget(Vec::new())?;
                    let crates = std::mem::take(&mut self.notebook).crates;
                    // Their code stays loaded, and diagnostics may still point at it.
                    self.notebook.crates = crates;
                }
                CommandKind::Type(name) => match self.notebook.variables.get(&name) {
                    Some(variable) => say(format!("{name}: {}\n", short(&variable.type_code))),
                    None => {
                        let near = complete::complete(&self.notebook, &name, name.chars().count(), &|_| Vec::new());
                        let mut diagnostic = Diagnostic::error(
                            Class::Compile,
                            "unknown-variable",
                            format!("there is no variable `{name}`"),
                        );
                        diagnostic = match near.matches.first() {
                            Some((near, _)) => diagnostic.help(format!("did you mean `{near}`?")),
                            None => diagnostic.help("`:vars` lists them"),
                        };
                        return Err(diagnostic);
                    }
                },
                CommandKind::Timing => {
                    self.timing = !self.timing;
                    say(format!("timing is {}\n", if self.timing { "on" } else { "off" }));
                }
                CommandKind::Opt(level) => {
                    self.compiler.optimisation = level.unwrap_or(self.compiler.optimisation);
                    say(format!("optimisation level {}\n", self.compiler.optimisation));
                }
                CommandKind::Dep(name) => say(commands::dependency(&name, file, command.line)?),
                CommandKind::Shell(line) => {
                    shell::run(&line, &self.config.folder, &self.stop, events).map_err(|d| {
                        d.at(
                            Span {
                                file: file.to_string(),
                                line: command.line,
                                column: 1,
                                length: 1 + line.chars().count() as u32,
                            },
                            "",
                        )
                    })?
                }
            }
        }
        Ok(code)
    }

    fn variable_table(&self) -> Display {
        let column = |name: &str, dtype: DataType| PreviewColumn { name: name.to_string(), dtype, nulls: None };
        let row = |v: VariableInfo| {
            let bytes = self.notebook.variables.get(&v.name).map_or(0, |known| known.bytes);
            let name = if v.mutable { format!("mut {}", v.name) } else { v.name };
            vec![
                Value::Text(name),
                Value::Text(v.type_name),
                v.preview.map_or(Value::Null, Value::Text),
                Value::UInt(bytes),
            ]
        };
        let rows: Vec<Vec<Value>> = self.variables().into_iter().map(row).collect();
        let content = if rows.is_empty() {
            Content::Text("no variables yet".to_string())
        } else {
            Content::Table(TablePreview {
                kind: TableKind::Values,
                columns: vec![
                    column("variable", DataType::String),
                    column("type", DataType::String),
                    column("value", DataType::String),
                    column("bytes", DataType::UInt64),
                ],
                total_rows: rows.len() as u64,
                head: rows,
                tail: Vec::new(),
                bytes: None,
                location: "cell process".to_string(),
            })
        };
        Display { content, display_id: None, update: false, is_result: false }
    }

    /// A cell without code: an empty one, or comments.
    fn nothing(&mut self) -> Outcome {
        Outcome::Ok {
            generation: self.process.generation(),
            frames: Vec::new(),
            released: Vec::new(),
            published: Vec::new(),
        }
    }

    /// Leads a diagnostic that was made while the cell ran back to the columns of the user's text.
    fn map_labels(&self, diagnostic: &mut Diagnostic, file: &str, map: &SourceMap) {
        diagnostic.labels.retain_mut(|label| {
            let (users, map) = if label.span.file == file {
                (file.to_string(), map)
            } else {
                match self.notebook.map_of(&label.span.file) {
                    Some((users, map)) => (users.to_string(), map),
                    None => return false,
                }
            };
            let (column, is_users) = (map.column(label.span.line, label.span.column), map.is_users(label.span.line));
            label.span.file = users;
            label.span.column = column;
            is_users
        });
    }

    /// The cell succeeded: what it made is the notebook's.
    #[allow(clippy::too_many_arguments, reason = "one call: everything that a finished cell is")]
    fn commit(
        &mut self,
        number: u64,
        cell: &Cell,
        crate_name: &str,
        file: &str,
        ready: Ready,
        variables: Vec<Variable>,
        events: &Sender<Event>,
    ) {
        let types = self.type_codes(cell, crate_name, file, &ready, &variables);
        let index = self.notebook.crate_by_name(crate_name).unwrap_or(self.notebook.crates.len());
        let made = CellCrate {
            name: crate_name.to_string(),
            file: file.to_string(),
            library: ready.library.clone(),
            links: ready.generated.links.iter().copied().collect(),
            files: ready.generated.files.clone(),
            macros: ready.generated.macros.clone(),
            map: ready.generated.map.clone(),
        };
        // Statements that ran before are there already.
        if index == self.notebook.crates.len() {
            self.notebook.crates.push(made);
        }
        self.warn_of_users(cell, index, events);
        for part in &cell.parts {
            let PartKind::Item(item) = &part.kind else { continue };
            if let ItemKind::Named(name) | ItemKind::Trait(name) = &item.kind {
                let text = cell.code[part.range.clone()].to_string();
                let mut homes = self.notebook.sources.remove(name).map_or_else(BTreeSet::new, |old| old.homes);
                homes.insert(index);
                let source = KnownSource { text, mentions: part.mentions.clone(), homes };
                self.notebook.sources.insert(name.clone(), source);
            }
            match &item.kind {
                ItemKind::Named(name) => drop(self.notebook.items.insert(name.clone(), index)),
                ItemKind::Statics(names) => {
                    self.notebook.items.extend(names.iter().map(|name| (name.clone(), index)));
                }
                ItemKind::Trait(name) => {
                    self.notebook.items.insert(name.clone(), index);
                    self.notebook.traits.insert(name.clone());
                }
                ItemKind::Macro(name) => {
                    let known = KnownMacro { home: index, mentions: part.mentions.clone() };
                    self.notebook.macros.insert(name.clone(), known);
                }
                ItemKind::Use(leaves) => {
                    for leaf in leaves {
                        self.notebook.uses.retain(|old| {
                            old != leaf && (matches!(leaf.name.as_str(), "*" | "_") || old.name != leaf.name)
                        });
                        self.notebook.uses.push(leaf.clone());
                    }
                }
                ItemKind::Impl { .. } => self.note_methods(part),
                ItemKind::Other => {}
            }
        }
        // A new item hides an older import of its name.
        let items = &self.notebook.items;
        self.notebook.uses.retain(|leaf| items.get(&leaf.name) != Some(&index));

        for name in &ready.generated.takes {
            if !ready.generated.puts.iter().any(|put| put.name == *name) {
                self.notebook.variables.remove(name);
            }
        }
        for (name, ends) in &ready.omitted {
            let why = match ends {
                Ends::Moved => format!("was moved by cell {number}"),
                Ends::Borrows | Ends::Holds => format!("borrowed from another variable and ended with cell {number}"),
            };
            self.notebook.variables.remove(name);
            self.notebook.gone.insert(name.clone(), why);
            if *ends != Ends::Moved {
                let message = format!("`{name}` borrows from another variable, so it lasts only for this cell");
                self.warn(
                    events,
                    "borrowed-variable",
                    message,
                    "a variable that outlives its cell owns its value: `.clone()`, `.to_owned()` or `.collect()` it",
                );
            }
        }
        for part in &cell.parts {
            let PartKind::Let { names, .. } = &part.kind else { continue };
            for binding in names.iter().filter(|b| b.name.starts_with('_')) {
                let why = format!("begins with `_`, so it ended with cell {number}");
                self.notebook.gone.insert(binding.name.clone(), why);
            }
        }
        let mut forget = Vec::new();
        for variable in variables {
            let Some(put) = ready.generated.puts.iter().find(|put| plain(&put.name) == variable.name) else { continue };
            match types.get(&variable.name).cloned().unwrap_or(Err("of a private type")) {
                Ok(type_code) => {
                    self.notebook.gone.remove(&put.name);
                    self.notebook.variables.insert(
                        put.name.clone(),
                        KnownVariable {
                            type_code,
                            mutable: put.mutable,
                            preview: variable.preview,
                            bytes: variable.bytes,
                        },
                    );
                }
                Err(what) => {
                    self.notebook.variables.remove(&put.name);
                    self.notebook.gone.insert(put.name.clone(), format!("is {what}, and ended with cell {number}"));
                    self.warn(
                        events,
                        "unnameable-type",
                        format!("`{}` is {what}: its type has no name, so it lasts only for this cell", put.name),
                        help_for(what),
                    );
                    forget.push(variable.name);
                }
            }
        }
        if !forget.is_empty() {
            let _ = self.process.forget(forget);
        }
    }

    /// Items of earlier cells keep the older item that they were compiled with: says which.
    fn warn_of_users(&self, cell: &Cell, index: usize, events: &Sender<Event>) {
        for part in &cell.parts {
            let PartKind::Item(ItemPart { kind: ItemKind::Named(name) | ItemKind::Trait(name), .. }) = &part.kind
            else {
                continue;
            };
            let Some(source) = self.notebook.sources.get(name) else { continue };
            // The same function again changes nothing; the same type again is a new one.
            let is_type = ["struct ", "enum ", "trait ", "union "].iter().any(|word| source.text.contains(word));
            if source.homes.contains(&index) || !is_type && source.text == cell.code[part.range.clone()] {
                continue;
            }
            let uses = |(user, &home): (&String, &usize)| {
                let crate_ = &self.notebook.crates[home];
                let mentions = self.notebook.sources.get(user).is_some_and(|s| s.mentions.contains(name));
                (home != index && mentions && !crate_.links.is_disjoint(&source.homes))
                    .then(|| format!("`{user}` ({})", crate_.file.trim_end_matches(".rs").replace('_', " ")))
            };
            let users: Vec<String> = self.notebook.items.iter().filter_map(uses).collect();
            if !users.is_empty() {
                let verb = if users.len() == 1 { "uses" } else { "use" };
                let message = format!("{} still {verb} the earlier `{name}`", users.join(", "));
                self.warn(events, "earlier-item", message, "run those cells again to use the new one");
            }
        }
    }

    fn warn(&self, events: &Sender<Event>, code: &str, message: String, help: &str) {
        let mut warning = Diagnostic::error(Class::Compile, code, message).help(help);
        warning.severity = onrush_wire::Severity::Warning;
        let _ = events.send(Event::Warning(warning));
    }

    /// How code spells the types of the variables that the cell put back, or why nothing can.
    fn type_codes(
        &mut self,
        cell: &Cell,
        crate_name: &str,
        file: &str,
        ready: &Ready,
        variables: &[Variable],
    ) -> BTreeMap<String, Result<String, &'static str>> {
        let puts = &ready.generated.puts;
        let mut types = BTreeMap::new();
        let mut unsure = Vec::new();
        for variable in variables {
            let Some(put) = puts.iter().find(|put| plain(&put.name) == variable.name) else { continue };
            match spell(&variable.type_name) {
                Spelling::Code(code) => drop(types.insert(variable.name.clone(), Ok(code))),
                Spelling::Unnameable(what) => drop(types.insert(variable.name.clone(), Err(what))),
                Spelling::Unsure(_) => match self.types.get(&variable.type_name) {
                    Some(code) => drop(types.insert(variable.name.clone(), Ok(code.clone()))),
                    None => unsure.push((put.name.clone(), variable)),
                },
            }
        }
        if !unsure.is_empty() {
            let names: Vec<String> = unsure.iter().map(|(name, _)| name.clone()).collect();
            let found = self.compiler.type_codes(cell, crate_name, file, &self.notebook, ready, &names);
            for (name, variable) in unsure {
                match found.get(&name) {
                    Some(code) => {
                        types.insert(variable.name.clone(), Ok(code.clone()));
                        self.types.learn(&variable.type_name, code);
                    }
                    None if is_function(&variable.type_name) => {
                        types.insert(variable.name.clone(), Err("a function"));
                    }
                    None => {}
                }
            }
        }
        types
    }

    /// Shares the right to stop the running cell. Interrupting when nothing runs does nothing.
    pub fn interrupter(&self) -> Arc<dyn Interrupt> {
        self.stop.clone()
    }

    pub fn is_complete(&self, text: &str) -> Completeness {
        complete::is_complete(text)
    }

    /// `columns` gives a frame variable's column names, from the session.
    pub fn complete(&self, text: &str, cursor: usize, columns: &dyn Fn(&str) -> Vec<String>) -> Completions {
        complete::complete(&self.notebook, text, cursor, columns)
    }

    pub fn inspect(&self, text: &str, cursor: usize) -> Inspection {
        names::inspect(&self.notebook, &self.sources, text, cursor)
    }

    /// A copy of what completion and inspection need, for while the next cell runs.
    pub fn names(&self) -> Names {
        Names::new(&self.notebook, &self.sources)
    }

    pub fn variables(&self) -> Vec<VariableInfo> {
        let describe = |(name, variable): (&String, &KnownVariable)| VariableInfo {
            name: name.clone(),
            type_name: short(&variable.type_code),
            mutable: variable.mutable,
            preview: variable.preview.clone(),
        };
        self.notebook.variables.iter().map(describe).collect()
    }

    /// The text of an earlier cell, for diagnostics that point into it.
    pub fn source(&self, cell: u64) -> Option<&str> {
        self.sources.get(&cell_file(cell)).map(|(_, text)| text.as_str())
    }

    /// Version of rustc, such as `1.95.0`.
    pub fn rustc_version(&self) -> &str {
        self.compiler.kit.toolchain.version()
    }

    pub fn shutdown(self) {
        self.process.shutdown();
    }
}

/// A compiled cell of statements, to run again.
#[derive(Clone)]
struct Shape {
    crate_name: String,
    file: String,
    ready: Ready,
}

/// Items have an identity of their own each time, and so has a `static` inside a block.
fn has_only_statements(cell: &Cell) -> bool {
    cell.parts.iter().all(|part| !matches!(part.kind, PartKind::Item(_))) && !cell.code.contains("static ")
}

/// The name that the store has for a raw identifier.
fn plain(name: &str) -> &str {
    name.trim_start_matches("r#")
}

fn help_for(what: &str) -> &'static str {
    match what {
        "a closure" => "write a `fn`, or box it with its type: `let f: Box<dyn Fn(i32) -> i32> = Box::new(…)`",
        "a function" => "say its type: `let f: fn(i32) -> i32 = …`",
        "an iterator over a closure" => "`.collect::<Vec<_>>()` it, or keep what it iterates over",
        "of a private type" => "keep what it was made from, or turn it into a type with a name (`collect`, `to_owned`)",
        _ => "define the type at the top level of a cell",
    }
}
