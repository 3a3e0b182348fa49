//! The commands of a cell: `:vars`, `:type`, `:opt`, `!ls`.

use std::collections::BTreeMap;
use std::sync::mpsc::{Sender, channel};

use onrush_wire::display::{Content, Display, PreviewColumn, TableKind, TablePreview};
use onrush_wire::host::Stream;
use onrush_wire::{Class, DataType, Diagnostic, Span, Value};

use super::Executor;
use crate::commands::{self, CellParts, Command, CommandKind};
use crate::interface::{Event, Stale, VariableInfo};
use crate::interrupt::interrupted;
use crate::notebook::{Loss, Notebook};
use crate::process::RunOutcome;
use crate::source_map::SourceMap;
use crate::types::short;
use crate::{backtrace, process, shell};

impl Executor {
    /// A cell's commands, and its code without them.
    pub(super) fn separate(&self, text: &str, file: &str) -> Result<CellParts, Diagnostic> {
        let is_value =
            |name: &str| self.notebook.variables.contains_key(name) || self.notebook.items.contains_key(name);
        commands::separate(text, file, &is_value)
    }

    pub(super) fn carry_out(
        &mut self,
        commands: &[Command],
        file: &str,
        events: &Sender<Event>,
    ) -> Result<(), Diagnostic> {
        let is_request = |command: &Command| match &command.kind {
            CommandKind::Dep(text) if !text.is_empty() => Some((command.line, text.clone())),
            _ => None,
        };
        let requests: Vec<(u32, String)> = commands.iter().filter_map(is_request).collect();
        if !requests.is_empty() {
            let lines: Vec<(u32, &str)> = requests.iter().map(|(line, text)| (*line, text.as_str())).collect();
            self.depend(&lines, file, events)?;
        }
        for command in commands.iter().filter(|command| is_request(command).is_none()) {
            // Points at the command if it has no better place.
            let outcome = match &command.kind {
                CommandKind::Test(filter) => self.test(filter, file, events),
                _ => self.command(command, events),
            };
            outcome.map_err(|mut d| {
                if d.labels.is_empty() {
                    let text = self.sources.get(file).map_or("", |(_, text)| text.as_str());
                    let line = text.split('\n').nth(command.line as usize - 1).unwrap_or("");
                    let length = line.trim_end().chars().count().max(1) as u32;
                    d = d.at(Span { file: file.to_string(), line: command.line, column: 1, length }, "");
                }
                d
            })?;
        }
        Ok(())
    }

    fn command(&mut self, command: &Command, events: &Sender<Event>) -> Result<(), Diagnostic> {
        let say = |text: String| process::output(events, Stream::Stdout, text);
        match &command.kind {
            CommandKind::Vars => drop(events.send(Event::Display(self.variable_table(events)))),
            CommandKind::Stale => {
                let cells = self.ledger.stale_cells();
                let line = |stale: &Stale| format!("In [{}] {}\n", stale.execution, stale.why);
                say(match cells.is_empty() {
                    true => "no cell is stale: the outputs follow from the cells above them\n".to_string(),
                    false => cells.iter().map(line).collect(),
                });
            }
            CommandKind::Help(None) => say(commands::HELP.to_string()),
            CommandKind::Help(Some(word)) => say(commands::about(word)?),
            CommandKind::Clear => {
                self.forget_variables(Vec::new(), events)?;
                let _ = events.send(Event::Lost);
                self.ledger.forget();
                // Tests and the exported program are made of these cells: their items are forgotten.
                self.ran.clear();
                let old = std::mem::take(&mut self.notebook);
                self.notebook.gone = lost(&old, &Loss::Cleared);
                // Their code stays loaded, and diagnostics may still point at it.
                self.notebook.crates = old.crates;
                self.notebook.dependencies = old.dependencies;
                self.notebook.folder = old.folder;
            }
            CommandKind::RestartCells => {
                say(self.restart_cells()?);
                let _ = events.send(Event::Lost);
                // The session hears of it as of a cell that dropped its variables.
                let (reply, begun) = channel();
                if events.send(Event::Begin { generation: self.process.generation(), reply }).is_ok() {
                    begun.recv().unwrap_or(Ok(()))?;
                }
            }
            CommandKind::Type(name) => match self.notebook.variables.get(name) {
                Some(variable) => say(format!("{name}: {}\n", short(&variable.type_code))),
                None => return Err(self.no_variable(name)),
            },
            CommandKind::Timing => {
                self.timing = !self.timing;
                say(format!("timing is {}\n", if self.timing { "on" } else { "off" }));
            }
            CommandKind::Opt(level) => {
                self.compiler.optimisation = level.unwrap_or(self.compiler.optimisation);
                say(format!("optimisation level {}\n", self.compiler.optimisation));
            }
            CommandKind::Top => {
                let (reply, answer) = channel();
                let _ = events.send(Event::Top { reply });
                let gone = || Err(Diagnostic::error(Class::Internal, "top", "the kernel gave no answer"));
                say(answer.recv().unwrap_or_else(|_| gone())?);
            }
            CommandKind::Engine(choice) => {
                let (reply, answer) = channel();
                let _ = events.send(Event::Engine { choice: choice.clone(), reply });
                let gone = || Err(Diagnostic::error(Class::Internal, "engine", "the kernel gave no answer"));
                say(answer.recv().unwrap_or_else(|_| gone())?);
            }
            CommandKind::Cluster(address) => {
                let (reply, answer) = channel();
                let _ = events.send(Event::Cluster { address: address.clone(), reply });
                let gone = || Err(Diagnostic::error(Class::Internal, "cluster", "the kernel gave no answer"));
                let content = Content::Table(answer.recv().unwrap_or_else(|_| gone())?.table_with_tasks());
                let display = Display { content, display_id: None, update: false, is_result: false };
                let _ = events.send(Event::Display(display));
            }
            // Lines that ask for crates were carried out together.
            CommandKind::Dep(_) => say(self.notebook.dependencies.list()),
            // It needs the number of its cell.
            CommandKind::Test(_) => {}
            CommandKind::Export(folder) => say(self.export(folder.as_deref())?),
            CommandKind::Shell(line) => {
                // The folder of the cells: one of them may have changed it.
                let folder = self.process.folder();
                let folder = if folder.is_dir() { folder } else { self.config.folder.clone() };
                shell::run(line, &folder, &self.stop, events)?
            }
        }
        Ok(())
    }

    /// Drops variables, all of them if there are no `names`. If a `Drop` fails, they stay.
    pub(super) fn forget_variables(&mut self, names: Vec<String>, events: &Sender<Event>) -> Result<(), Diagnostic> {
        if self.stop.interrupted() {
            return Err(interrupted());
        }
        match self.process.forget(names, events) {
            RunOutcome::Ok(_) => {
                // Commands may follow, which an interrupt stops.
                self.stop.begin();
                Ok(())
            }
            RunOutcome::Failed { mut diagnostic, variables_lost } => {
                if variables_lost {
                    self.lose_variables(events);
                }
                diagnostic.trace = backtrace::calls(&self.process.take_calls(), &self.notebook, None);
                self.map_labels(&mut diagnostic, "", &SourceMap::default());
                backtrace::place(&mut diagnostic, |file| self.sources.get(file).map(|(_, text)| text.as_str()));
                Err(diagnostic)
            }
        }
    }

    pub(super) fn no_variable(&self, name: &str) -> Diagnostic {
        let names: Vec<&str> = self.notebook.variables.keys().map(String::as_str).collect();
        let diagnostic =
            Diagnostic::error(Class::Compile, "unknown-variable", format!("there is no variable `{name}`"));
        match commands::nearest(name, &names) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help("`:vars` lists them"),
        }
    }

    /// Ends the cell process with all that is in it, and says what that was.
    fn restart_cells(&mut self) -> Result<String, Diagnostic> {
        self.process.restart()?;
        let had_python = self.end_python();
        self.ledger.forget();
        self.ran.clear();
        let old = std::mem::take(&mut self.notebook);
        self.notebook.dependencies = old.dependencies.clone();
        self.notebook.folder = old.folder.clone();
        // Compiled code links crates that are no longer loaded.
        self.shapes.clear();
        self.notebook.gone = lost(&old, &Loss::CellsRestarted);
        let variables = listed("variable", old.variables.keys());
        let items = listed("item", old.items.keys().chain(old.macros.keys()));
        let python = had_python.then(|| "the variables of `%%python` cells".to_string());
        let gone = [variables, items, python].into_iter().flatten().collect::<Vec<_>>().join(" and ");
        let gone = if gone.is_empty() { "there was nothing to forget".to_string() } else { format!("{gone} went") };
        Ok(format!(
            "a new cell process runs; {gone}. The session keeps what is published and what other notebooks use.\n"
        ))
    }

    fn variable_table(&self, events: &Sender<Event>) -> Display {
        let (reply, answer) = channel();
        let holds_objects = self.notebook.variables.values().any(|v| is_object(&v.type_code));
        let is_asked = holds_objects && events.send(Event::Frames { reply }).is_ok();
        let frames: BTreeMap<String, (String, Option<u64>)> = match is_asked {
            true => answer.recv().unwrap_or_default().into_iter().collect(),
            false => BTreeMap::new(),
        };
        let made = self.ledger.variables();
        let some_stale = made.values().any(|(_, state)| state.is_some());
        let column = |name: &str, dtype: DataType| PreviewColumn { name: name.to_string(), dtype, nulls: None };
        let row = |v: VariableInfo| {
            let known = self.notebook.variables.get(&v.name);
            let is_object = known.is_some_and(|known| is_object(&known.type_code));
            let frame = frames.get(&v.name).cloned().filter(|_| is_object);
            // A frame's bytes are those in the session: the handle's are of no interest.
            let bytes = frame.as_ref().map_or(known.map(|known| known.bytes), |(_, bytes)| *bytes);
            let shown = frame.map(|(text, _)| text).or(v.preview);
            let (made, state) = made.get(&v.name).cloned().unzip();
            let name = if v.mutable { format!("mut {}", v.name) } else { v.name };
            let made = made.map(|number| Value::Text(format!("In [{number}]")));
            let mut row = vec![
                Value::Text(name),
                Value::Text(v.type_name),
                shown.map_or(Value::Null, Value::Text),
                bytes.map_or(Value::Null, Value::UInt),
                made.unwrap_or(Value::Null),
            ];
            row.extend(some_stale.then(|| state.flatten().map_or(Value::Null, Value::Text)));
            row
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
                    column("cell", DataType::String),
                ]
                .into_iter()
                .chain(some_stale.then(|| column("state", DataType::String)))
                .collect(),
                total_rows: rows.len() as u64,
                head: rows,
                tail: Vec::new(),
                bytes: None,
                location: "cell process".to_string(),
            })
        };
        Display { content, display_id: None, update: false, is_result: false }
    }
}

/// Maps each variable to the reason why it is gone.
fn lost(old: &Notebook, why: &Loss) -> BTreeMap<String, Loss> {
    old.variables.keys().map(|name| (name.clone(), why.clone())).collect()
}

/// `3 variables (a, b, c)`.
fn listed<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Option<String> {
    let names: Vec<&str> = names.map(String::as_str).collect();
    let more = if names.len() > 8 { ", …" } else { "" };
    let plural = if names.len() == 1 { "" } else { "s" };
    let shown = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| format!("{} {what}{plural} ({shown}{more})", names.len()))
}

/// `%%html` and `%%markdown`: the text is its own plain form.
pub(super) fn show(mime: &str, text: String, events: &Sender<Event>) {
    let content = Content::Mime(vec![(mime.to_string(), text.clone()), ("text/plain".to_string(), text)]);
    let _ = events.send(Event::Display(Display { content, display_id: None, update: false, is_result: false }));
}

/// Whether a variable of this type is a handle of an object of the session: a frame or a model.
fn is_object(type_code: &str) -> bool {
    // The arguments of a generic type may be anything.
    let name = type_code.split('<').next().unwrap_or_default();
    name.contains("onrush") && ["::Frame", "::Model", "::FittedModel"].iter().any(|object| name.ends_with(object))
}
