//! The interface of this crate: execute cells of one notebook, one after another.

mod callbacks;
mod commit;
mod dependencies;
mod python_cells;
mod run_commands;
mod sql_spans;
mod staleness;
mod test;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use onrush_wire::host::{FinishedRun, Stream};
use onrush_wire::{Diagnostic, ObjectId};

use crate::backtrace;
use crate::compile::{self, CompiledCell, Compiler};
use crate::completion_snapshot::{Knowledge, Names};
use crate::export::{self, Ran};
use crate::hints;
use crate::interface::{Config, Event, Interrupt, Outcome, Times, VariableInfo};
use crate::interrupt::InterruptToken;
use crate::lexer;
use crate::notebook::{KnownVariable, Loss, Notebook};
use crate::parse::item_macros::recognise;
use crate::parse::{Cell, ItemKind, Part, PartKind, parse_cell};
use crate::prelude_build;
use crate::process::{self, Bell, CellProcess, Launch, RunOutcome};
use crate::recompile_dependents;
use crate::reopen_crate;
use crate::rustc::{Phases, remove_abandoned};
use crate::source_map::SourceMap;
use crate::stale::{Ledger, NewVersions, Origin};
use crate::types::{KnownTypes, short};
use crate::unchanged_items;

/// The file name under which rustc and diagnostics know the cell with this execution number.
pub fn cell_file(cell: u64) -> String {
    format!("cell_{cell}.rs")
}

/// The time of each step of a cell, in a line.
fn timing(ready: &CompiledCell, compiled: Duration, ran: Duration, ended: &RunOutcome) -> String {
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let Phases { check, codegen, link, .. } = ready.phases;
    let parse = compiled.saturating_sub(check + codegen + link);
    let mut text = if ready.from_cache {
        format!("found compiled in {:.1} ms", ms(compiled))
    } else {
        let [whole, parse, check, codegen, link] = [compiled, parse, check, codegen, link].map(ms);
        format!(
            "compiled in {whole:.1} ms (parse {parse:.1} ms, check {check:.1} ms, codegen {codegen:.1} ms, link {link:.1} ms)"
        )
    };
    text.push_str(&format!(", ran in {:.1} ms", ms(ran)));
    if let RunOutcome::Ok(finished) = ended {
        let load = Duration::from_micros(finished.load_micros);
        let run = Duration::from_micros(finished.run_micros);
        let snapshot = ran.saturating_sub(load + run);
        let [snapshot, load, run] = [snapshot, load, run].map(ms);
        text.push_str(&format!(" (snapshot {snapshot:.1} ms, load {load:.1} ms, run {run:.1} ms)"));
    }
    text + "\n"
}

/// Executor of one notebook's cells. Its methods block, so the kernel process runs it on a separate thread.
pub struct Executor {
    config: Config,
    compiler: Compiler,
    process: CellProcess,
    notebook: Notebook,
    stop: Arc<InterruptToken>,
    /// Text of every cell, by file name.
    sources: BTreeMap<String, (u64, String)>,
    /// How often an execution number was used: a crate's name must be new.
    used: BTreeMap<u64, u32>,
    /// Compiled statements by what they were made from, whatever their number: the same cell again runs the same code.
    shapes: BTreeMap<String, Shape>,
    timing: bool,
    warnings: unchanged_items::Warnings,
    /// The cell that runs begins with `%%time`.
    timed: bool,
    types: KnownTypes,
    origin: Origin,
    ledger: Ledger,
    /// Sentences about stale values, to be said when the cell runs.
    notes: Vec<String>,
    /// Versions of names that the running cell makes.
    made: NewVersions,
    knowledge: Arc<Knowledge>,
    /// The cells that succeeded.
    ran: Vec<Ran>,
    /// Objects of the session that the tests of the cell that runs (`:test`) have released, and published.
    of_tests: (Vec<ObjectId>, Vec<(String, ObjectId)>),
    /// The versions of crates in the notebook's file, once they were asked for.
    locked: Option<Option<String>>,
    /// The `%%python` cell that ran last.
    python_cell: u64,
    /// Why the Python worker has ended, until it is said.
    python_lost: Option<String>,
}

impl Executor {
    /// Finds rustc and the prelude, and starts the cell process. Builds the prelude if rustc is not the one that built
    /// it, reporting [`Event::Working`].
    pub fn start(config: Config, events: &Sender<Event>) -> Result<Self, Diagnostic> {
        let cache = config.cache.clone().unwrap_or_else(onrush_wire::paths::cache_dir);
        let kit = prelude_build::ensure(&cache, &mut |what, fraction| {
            let _ = events.send(Event::Working { what, fraction });
        })?;
        let cells = cache.join("cells");
        let overflow = cache.join("output");
        prelude_build::private_cache(&cells)?;
        prelude_build::private_cache(&overflow)?;
        let printed = overflow.clone();
        // Without a thread it is done another time.
        let _ = std::thread::Builder::new().spawn(move || compile::bound_cache(&printed));
        let libraries =
            [kit.paths.prelude.parent().map(PathBuf::from), Some(kit.toolchain.library_folder()), Some(cells.clone())];
        let launch = Launch {
            host: kit.paths.host.clone(),
            library_path: libraries.iter().flatten().map(|p| p.display().to_string()).collect::<Vec<_>>().join(":"),
            folder: config.folder.clone(),
            notebook: config.notebook.clone(),
            session_socket: config.session_socket.clone(),
            overflow,
        };
        let stop = Arc::new(InterruptToken::default());
        let types = KnownTypes::load(cells.join(format!("types-{}.json", kit.identity)));
        let knowledge = Knowledge::new(kit.clone(), cells.clone(), config.folder.clone());
        let compiler = Compiler {
            kit,
            folder: cells,
            optimisation: 1,
            stop: Arc::clone(&stop),
            compiled: Default::default(),
            warm: Default::default(),
            full_link: Default::default(),
        };
        compiler.prepare();
        remove_abandoned(&compiler.folder);
        let process = CellProcess::start(launch, Arc::clone(&stop), process::next_generation())?;
        let folder = std::path::absolute(&config.folder).unwrap_or_else(|_| config.folder.clone());
        Ok(Executor {
            config,
            compiler,
            process,
            notebook: Notebook { folder, ..Notebook::default() },
            stop,
            sources: BTreeMap::new(),
            used: BTreeMap::new(),
            shapes: BTreeMap::new(),
            timing: false,
            warnings: Default::default(),
            timed: false,
            types,
            origin: Origin::default(),
            ledger: Ledger::default(),
            notes: Vec::new(),
            made: NewVersions::default(),
            knowledge,
            ran: Vec::new(),
            of_tests: Default::default(),
            locked: None,
            python_cell: 0,
            python_lost: None,
        })
    }

    /// As [`Executor::execute`], for a cell that the front end knows by an id.
    pub fn execute_from(&mut self, origin: Origin, cell: u64, text: &str, events: &Sender<Event>) -> Outcome {
        self.ledger.arrange(&origin);
        if !origin.dropped.is_empty() {
            self.process.drop_controls(origin.dropped.clone());
        }
        self.origin = origin;
        let outcome = self.execute(cell, text, events);
        self.origin = Origin::default();
        outcome
    }

    /// Compiles and runs one cell. `cell` is its execution number.
    pub fn execute(&mut self, cell: u64, text: &str, events: &Sender<Event>) -> Outcome {
        self.knowledge.probe.stop();
        self.stop.begin();
        self.process.open(cell);
        if !self.origin.is_hidden {
            self.process.show_children();
        }
        let outcome = self.execute_watched(cell, text, events);
        self.process.close();
        self.stop.end();
        outcome
    }

    /// Passes on what threads and child processes of earlier cells print, until `bell` rings. Call it between two
    /// cells.
    pub fn between(&mut self, bell: &Bell, events: &Sender<Event>) {
        while !self.process.between(bell, &self.knowledge.python.descriptors(), events) {
            self.pass_late_python_slowly(events);
        }
    }

    fn failed(&self, diagnostics: Vec<Diagnostic>, ran: bool) -> Outcome {
        Outcome::Failed { generation: self.process.generation(), diagnostics, ran }
    }

    fn execute_watched(&mut self, number: u64, text: &str, events: &Sender<Event>) -> Outcome {
        let mut text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        if text.starts_with("#!/") {
            // The first line of a script.
            text.replace_range(..text.find('\n').unwrap_or(text.len()), "");
        }
        let file = cell_file(number);
        self.sources.insert(file.clone(), (number, text.clone()));
        self.of_tests = Default::default();
        let separated = match self.separate(&text, &file) {
            Ok(separated) => separated,
            Err(diagnostic) => return self.failed(vec![diagnostic], false),
        };
        if let Err(diagnostic) = self.carry_out(&separated.before, &file, events) {
            return self.failed(vec![diagnostic], false);
        }
        let left_out = export::left_out(&separated);
        if let Some((mime, text)) = separated.shown {
            run_commands::show(mime, text, events);
        }
        self.timed = separated.timed;
        let code = separated.code.clone();
        let outcome = match &separated.python {
            Some(python) => self.run_python(number, &file, &text, python, events),
            None => self.execute_code(number, &file, separated.code, events),
        };
        self.timed = false;
        match outcome {
            Outcome::Ok { mut released, mut published, rolled_back, .. } => {
                if !code.trim().is_empty() || !left_out.is_empty() {
                    self.ran.push(Ran { number, code, text: text.clone(), left_out });
                }
                if !separated.after.is_empty() {
                    self.stop.begin();
                }
                let complaint = self.carry_out(&separated.after, &file, events).err();
                let (of_released, of_published) = std::mem::take(&mut self.of_tests);
                released.extend(of_released);
                published.extend(of_published);
                // `:clear` and `:restart-cells` after the code: what it has made is gone.
                let (generation, lineage) = (self.process.generation(), self.process.lineage());
                let objects = self.process.objects();
                Outcome::Ok { generation, complaint, objects, released, published, lineage, rolled_back }
            }
            mut failed => {
                if let (Outcome::Failed { diagnostics, .. }, Some(_)) = (&mut failed, separated.query) {
                    diagnostics.iter_mut().for_each(|d| sql_spans::find_place(d, &text, &file));
                }
                failed
            }
        }
    }

    /// Compiles and runs a cell's code, whose commands are blanked out.
    fn execute_code(&mut self, number: u64, file: &str, text: String, events: &Sender<Event>) -> Outcome {
        let started = Instant::now();
        let cell = recognise(parse_cell(&text), &|name| self.notebook.macro_definition(name));
        if let (Some(_), Some(diagnostic)) = (&cell.error, lexer::bracket_error(&text, file)) {
            return self.failed(vec![diagnostic], false);
        }
        if let (Some(_), Some(diagnostic)) = (&cell.error, hints::missing_semicolon(&text, file)) {
            return self.failed(vec![diagnostic], false);
        }
        if cell.parts.is_empty() && cell.error.is_none() {
            return self.nothing();
        }
        let names_main =
            |p: &Part| matches!(&p.kind, PartKind::Item(item) if item.kind == ItemKind::Named("main".into()));
        if cell.parts.iter().any(names_main) && cell.parts.iter().all(|p| matches!(p.kind, PartKind::Item(_))) {
            let message = "`main` is defined: `main()` runs it".to_string();
            self.warn(events, "main", message, "write `main()` into this cell's last line or into another cell");
        }
        let saved_level = self.compiler.optimisation;
        let usual = if saved_level == 1 && has_long_statements(&cell) { 0 } else { saved_level };
        self.compiler.optimisation = cell.optimisation.unwrap_or(usual);
        let made: Vec<String> = cell.parts.iter().flat_map(new_variables).collect();
        let uses = self.begin_flow(number, &cell, events);
        let outcome = self.compile_and_run(number, file, cell.clone(), started, events);
        self.compiler.optimisation = saved_level;
        self.end_flow(&cell, &cell.code, &uses, matches!(outcome, Outcome::Ok { .. }), events);
        if matches!(outcome, Outcome::Failed { .. }) {
            for name in made.into_iter().filter(|name| !self.notebook.variables.contains_key(name)) {
                self.notebook.gone.insert(name, Loss::CellFailed(number));
            }
        }
        outcome
    }

    /// Without the items that earlier cells have already; with all of them, if that does not compile.
    fn compile_and_run(
        &mut self,
        number: u64,
        file: &str,
        cell: Cell,
        started: Instant,
        events: &Sender<Event>,
    ) -> Outcome {
        if let Some((rest, same)) = unchanged_items::without_unchanged(&cell, &self.notebook) {
            let outcome = match rest.parts.is_empty() {
                true => self.nothing(),
                false => self.compile_parts(number, file, rest, started, events),
            };
            if !matches!(outcome, Outcome::Failed { ran: false, .. }) || self.stop.interrupted() {
                let warnings = same.iter().flat_map(|part| self.warnings.of(part, &cell.code, file));
                warnings.for_each(|warning| drop(events.send(Event::Warning(warning))));
                return outcome;
            }
        }
        self.compile_parts(number, file, cell, started, events)
    }

    fn compile_parts(
        &mut self,
        number: u64,
        file: &str,
        cell: Cell,
        started: Instant,
        events: &Sender<Event>,
    ) -> Outcome {
        let whole = &cell;
        let moved = match reopen_crate::move_impls(&self.compiler, whole, file, &self.notebook) {
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
            Outcome::Ok { .. } => {
                self.warn_of_callers(&impls, &before, events);
                impls.iter().for_each(|part| self.note_methods(part));
            }
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
        if let PartKind::Item(item) = &part.kind
            && let ItemKind::Impl { target: Some(target), methods, .. } = &item.kind
        {
            self.notebook.methods.entry(target.clone()).or_default().extend(methods.iter().cloned());
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
                let recompiled = recompile_dependents::callers(cell, &self.notebook, &self.sources);
                match self.compiler.compile(cell, &crate_name, file, &self.notebook, recompiled) {
                    Ok(ready) => Shape { crate_name, file: file.to_string(), ready },
                    Err(diagnostics) => return self.failed(diagnostics, false),
                }
            }
        };
        if let Some(shape) = shape {
            let ready = CompiledCell { from_cache: true, ..ready.clone() };
            self.shapes.insert(shape, Shape { crate_name: crate_name.clone(), file: crate_file.clone(), ready });
        }
        self.warnings.note(cell, &ready.warnings);
        for mut warning in ready.warnings.clone() {
            warning.labels.iter_mut().for_each(|label| label.span.file = file.to_string());
            let _ = events.send(Event::Warning(warning));
        }
        let users_file = file;
        let file = crate_file.as_str();
        let compiled = started.elapsed();
        if !ready.from_cache {
            self.compiler.prepare();
        }
        self.process.know_places(file, &ready.generated.map);
        self.say_notes(events);
        let clock = self.timed.then(|| self.process.processor_time());
        let ended = self.process.run(number, &ready.library, &ready.generated.entry, events);
        if ended.misses_symbol() && !self.compiler.full_link.swap(true, Ordering::Relaxed) {
            // The quick link left out a library of the system. From here on rustc links.
            let _ = std::fs::remove_file(&ready.library);
            return self.compile_rest(number, users_file, cell, started, events);
        }
        if let (Some(before), RunOutcome::Ok(_)) = (clock, &ended) {
            let used = self.process.processor_time() - before;
            let _ = events.send(Event::Timed(Times {
                compile: compiled,
                from_cache: ready.from_cache,
                wall: started.elapsed() - compiled,
                user: used.user,
                system: used.system,
            }));
        }
        if self.timing {
            process::output(events, Stream::Stdout, timing(&ready, compiled, started.elapsed() - compiled, &ended));
        }
        match ended {
            // A `return` that could keep nothing: all is as it was before.
            ended if ended.is_early_return() => self.returned(),
            RunOutcome::Failed { mut diagnostic, variables_lost } => {
                if variables_lost {
                    self.lose_variables(events);
                }
                let current = backtrace::Current { library: &ready.library, file, map: &ready.generated.map };
                diagnostic.trace = backtrace::calls(&self.process.take_calls(), &self.notebook, Some(&current));
                self.map_labels(&mut diagnostic, file, &ready.generated.map);
                let source = |file: &str| self.sources.get(file).map(|(_, text)| text.as_str());
                backtrace::place(&mut diagnostic, source);
                diagnostic.narrow(source);
                diagnostic.widen(source);
                hints::advise_run(&mut diagnostic);
                if !variables_lost {
                    diagnostic.notes.extend(hints::variables_begin_anew(&self.notebook));
                }
                // Code that ran before is shown as this cell's: its text is the same.
                for label in diagnostic.labels.iter_mut().filter(|l| l.span.file == file) {
                    label.span.file = users_file.to_string();
                }
                for call in diagnostic.trace.iter_mut().filter(|call| call.file == file) {
                    call.file = users_file.to_string();
                }
                self.failed(vec![diagnostic], true)
            }
            RunOutcome::Ok(finished) => {
                let FinishedRun { variables, released, published, .. } = finished;
                self.note_made(&ready);
                self.commit(number, cell, &crate_name, file, ready, variables, events);
                // Only now: the end of hidden values may have lost the process.
                Outcome::Ok {
                    generation: self.process.generation(),
                    complaint: None,
                    objects: self.process.objects(),
                    released,
                    published,
                    lineage: self.process.lineage(),
                    rolled_back: false,
                }
            }
        }
    }

    fn lose_variables(&mut self, events: &Sender<Event>) {
        self.ledger.forget();
        for name in std::mem::take(&mut self.notebook.variables).into_keys() {
            self.notebook.gone.insert(name, Loss::ProcessLost);
        }
        let _ = events.send(Event::Lost);
    }

    /// A cell without code: an empty one, or comments.
    fn nothing(&self) -> Outcome {
        Outcome::Ok {
            generation: self.process.generation(),
            complaint: None,
            objects: self.process.objects(),
            released: Vec::new(),
            published: Vec::new(),
            lineage: self.process.lineage(),
            rolled_back: false,
        }
    }

    /// A cell whose `return` could keep nothing.
    fn returned(&self) -> Outcome {
        Outcome::Ok {
            generation: self.process.generation(),
            complaint: None,
            objects: self.process.objects(),
            released: Vec::new(),
            published: Vec::new(),
            lineage: self.process.lineage(),
            rolled_back: true,
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

    /// Shares the right to stop the running cell. Interrupting when nothing runs does nothing.
    pub fn interrupter(&self) -> Arc<dyn Interrupt> {
        self.stop.clone()
    }

    /// A copy of what completion and inspection need, for while the next cell runs.
    pub fn names(&self) -> Names {
        Names::new(&self.notebook, &self.sources, &self.knowledge)
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

    pub fn shutdown(mut self) {
        self.end_python();
        self.process.shutdown();
    }
}

/// A compiled cell of statements, to run again.
#[derive(Clone)]
struct Shape {
    crate_name: String,
    file: String,
    ready: CompiledCell,
}

/// Whether a cell has neither items nor a `static`. An item has a new identity in each compiled cell, as has a `static`
/// in a block.
fn has_only_statements(cell: &Cell) -> bool {
    cell.parts.iter().all(|part| !matches!(part.kind, PartKind::Item(_))) && !cell.code.contains("static ")
}

/// Lines of statements from which on a cell is not optimised: LLVM takes the square of their number, 200 s for a list
/// of 4,000 pairs that is kept, where it takes 3 s without. `:opt` and `#![opt(…)]` still ask for it.
const LONG: usize = 500;

fn has_long_statements(cell: &Cell) -> bool {
    let statements = cell.parts.iter().filter(|part| !matches!(part.kind, PartKind::Item(_)));
    statements.map(|part| cell.code[part.range.clone()].matches('\n').count() + 1).sum::<usize>() > LONG
}

fn new_variables(part: &Part) -> Vec<String> {
    match &part.kind {
        PartKind::Let { names, .. } => names.iter().map(|binding| binding.name.clone()).collect(),
        _ => Vec::new(),
    }
}
