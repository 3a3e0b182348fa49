//! The commands of a cell: `:vars`, `:type`, `:opt`, `!ls`.

use std::sync::mpsc::Sender;

use onrush_wire::display::{Content, Display, PreviewColumn, TableKind, TablePreview};
use onrush_wire::host::Stream;
use onrush_wire::{Class, DataType, Diagnostic, Span, Value};

use super::{Event, Executor, VariableInfo};
use crate::commands::{self, CommandKind};
use crate::types::short;
use crate::{complete, process, shell};

impl Executor {
    /// Carries out the commands of a cell, and gives its code.
    pub(super) fn commands(&mut self, text: &str, file: &str, events: &Sender<Event>) -> Result<String, Diagnostic> {
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
}
