//! `%%python` cells: the Python worker of the notebook runs the code, and frames go in and out by name.
//!
//! The worker reads the frames of `-i` from the session by itself. It publishes the tables of `-o` under private names,
//! which a Rust statement of the same cell takes as variables.

use std::fmt::Write;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use onrush_python_cells::{FromWorker, Heard, Launch, ToWorker, Worker};
use onrush_wire::display::{Content, Display};
use onrush_wire::host::Stream;
use onrush_wire::{Class, Diagnostic, Span};
use serde_json::{Map, Value};

use super::Executor;
use crate::commands::python::{Argument, PythonCell};
use crate::interface::{Event, Outcome};
use crate::interrupt::interrupted;
use crate::notebook::Loss;
use crate::parse::parse_cell;
use crate::stale::Uses;
use crate::types::short;

/// Between two looks at whether the user interrupts.
const LOOK: Duration = Duration::from_millis(100);
/// How long Python may take to stop after an interrupt.
const GRACE: Duration = Duration::from_secs(3);
/// Pieces of output between two cells that are passed on at once.
const PIECES: usize = 64;
/// The pause between them: a thread that prints without an end waits, instead of the machine.
const PAUSE: Duration = Duration::from_millis(20);

const GONE: &str = "the variables of `%%python` cells are gone; those of Rust cells are as they were";
const AGAIN: &str = "run the `%%python` cells again that make them";

/// How the code of a cell ended.
enum CodeEnd {
    /// Pairs of a variable's name and the private name of its table.
    Done(Vec<(String, String)>),
    Raised(Diagnostic),
    /// The worker has ended.
    Died,
    /// It did not stop after an interrupt and was killed.
    Killed,
}

impl Executor {
    /// Runs a `%%python` cell. `text` is the whole cell.
    pub(super) fn run_python(
        &mut self,
        number: u64,
        file: &str,
        text: &str,
        cell: &PythonCell,
        events: &Sender<Event>,
    ) -> Outcome {
        if let Err(diagnostic) = self.check_inputs(cell, file) {
            return self.failed(vec![diagnostic], false);
        }
        let uses = Uses { variables: cell.input_names().into_iter().collect(), ..Uses::default() };
        self.begin_uses(number, &uses, events);
        self.say_notes(events);
        let ended = self.run_in_worker(number, file, cell, events);
        self.process.finish_prints(events);
        let mut code = "\n".repeat(cell.line as usize - 1);
        let outcome = match ended {
            Err(diagnostic) => self.failed(vec![diagnostic], true),
            Ok(outputs) if outputs.is_empty() => self.nothing(),
            Ok(outputs) => {
                for (name, published) in &outputs {
                    let _ = write!(code, "let {name} = ::onrush::prelude::get({published:?}); ");
                }
                let outcome = self.compile_and_run(number, file, parse_cell(&code), Instant::now(), events);
                let names = outputs.into_iter().map(|(_, published)| published).collect();
                if let Some(worker) = self.knowledge.python.lock().as_mut() {
                    // A worker that is gone cannot release them; the next cell says that it is gone.
                    let _ = worker.send(&ToWorker::Release { names });
                }
                outcome
            }
        };
        let succeeded = matches!(outcome, Outcome::Ok { .. });
        self.end_flow(&parse_cell(&code), text, &uses, succeeded, events);
        if !succeeded {
            for name in cell.output_names().into_iter().filter(|name| !self.notebook.variables.contains_key(name)) {
                self.notebook.gone.insert(name, Loss::CellFailed(number));
            }
        }
        outcome
    }

    /// The names after `-i` are variables that hold frames.
    fn check_inputs(&self, cell: &PythonCell, file: &str) -> Result<(), Diagnostic> {
        for Argument { name, column } in &cell.inputs {
            let length = name.chars().count() as u32;
            let span = Span { file: file.to_string(), line: cell.line, column: *column, length };
            let Some(variable) = self.notebook.variables.get(name) else {
                return Err(Diagnostic { class: Class::Plan, ..self.no_variable(name) }.at(span, ""));
            };
            if !is_frame(&variable.type_code) {
                let message = format!("`{name}` is of the type {}, expected a frame", short(&variable.type_code));
                return Err(Diagnostic::error(Class::Plan, "kind", message)
                    .at(span, "")
                    .help("`-i` takes frames: `frame! { x: values }` makes one of Rust values"));
            }
        }
        Ok(())
    }

    /// Runs the code, and returns the outputs.
    fn run_in_worker(
        &mut self,
        number: u64,
        file: &str,
        cell: &PythonCell,
        events: &Sender<Event>,
    ) -> Result<Vec<(String, String)>, Diagnostic> {
        // Also finds out that a worker has ended since the last cell.
        self.pass_late_python(events);
        self.python_cell = number;
        let shared = self.knowledge.python.clone();
        let mut slot = shared.lock();
        if slot.is_none() {
            let launch = Launch {
                folder: self.config.folder.clone(),
                notebook: self.config.notebook.clone(),
                session_socket: self.config.session_socket.clone(),
            };
            let started = Worker::start(&launch)?;
            if let Some(why) = self.python_lost.take() {
                let message = format!("the variables of `%%python` cells are gone, because {why}");
                self.warn(events, "python-restarted", message, AGAIN);
            }
            *slot = Some(started);
        }
        let Some(mut worker) = slot.take() else { return Ok(Vec::new()) };
        let ended = match self.stop.watch_asking(worker.group()) {
            true => self.converse(&mut worker, number, file, cell, events),
            false => CodeEnd::Raised(interrupted()),
        };
        self.stop.unwatch();
        match ended {
            CodeEnd::Done(outputs) => {
                // An interrupt that Python has handled is over.
                self.stop.begin();
                *slot = Some(worker);
                Ok(outputs)
            }
            CodeEnd::Raised(diagnostic) => {
                *slot = Some(worker);
                Err(diagnostic)
            }
            CodeEnd::Died => {
                let death = worker.death();
                self.python_lost = Some(in_a_sentence(&death.message));
                Err(died(death, self.stop.interrupted()))
            }
            CodeEnd::Killed => {
                let seconds = GRACE.as_secs();
                self.python_lost = Some(format!("the last Python did not stop within {seconds} s after an interrupt"));
                let message = format!(
                    "the cell was interrupted, and Python was ended because it did not stop within {seconds} s"
                );
                Err(Diagnostic::error(Class::Interrupted, "interrupted", message).note(GONE).help(AGAIN))
            }
        }
    }

    /// Sends the code and passes on what the worker says, until the code has ended.
    fn converse(
        &mut self,
        worker: &mut Worker,
        number: u64,
        file: &str,
        cell: &PythonCell,
        events: &Sender<Event>,
    ) -> CodeEnd {
        let id = worker.id();
        let name = if number < super::staleness::HIDDEN { format!("In [{number}]") } else { "In [ ]".to_string() };
        let execute = ToWorker::Execute {
            id,
            code: cell.code.clone(),
            name,
            inputs: cell.input_names(),
            outputs: cell.output_names(),
            library: cell.library.map(str::to_string),
        };
        // A worker that cannot be told has ended, or ends now: what it has printed says why.
        let mut is_told = worker.send(&execute).is_ok();
        let (mut raised, mut interrupted_at, mut looked) = (None, None, Instant::now());
        loop {
            match worker.hear(LOOK) {
                Some(Heard::Printed(stream, bytes)) => self.process.print_bytes(stream, &bytes, events),
                Some(Heard::Message(FromWorker::Stream { name, text })) => {
                    self.process.print(stream_of(&name), text, events);
                }
                Some(Heard::Message(FromWorker::Input { prompt, password })) => {
                    let (reply, answer) = channel();
                    let asked = events.send(Event::Input { prompt, password, reply }).is_ok();
                    let text = if asked { answer.recv().ok().flatten() } else { None };
                    // An interrupt has woken Python already.
                    if !self.stop.interrupted() {
                        is_told &= worker.send(&ToWorker::Input { text }).is_ok();
                    }
                }
                Some(Heard::Message(FromWorker::Error { ename, evalue, line, traceback })) => {
                    raised = Some(self.raised(ename, evalue, line, traceback, file, events));
                }
                Some(Heard::Message(FromWorker::Done { id: of, ok, outputs })) if of == id => {
                    return match (ok, raised) {
                        (true, _) => CodeEnd::Done(outputs),
                        (false, Some(diagnostic)) => CodeEnd::Raised(diagnostic),
                        (false, None) => {
                            let message = "the cell failed, and Python gave no reason";
                            CodeEnd::Raised(Diagnostic::error(Class::Internal, "python", message))
                        }
                    };
                }
                Some(Heard::Message(message)) => shown(message).into_iter().for_each(|event| _ = events.send(event)),
                None if worker.has_ended() => return CodeEnd::Died,
                None if !is_told => worker.kill(),
                None => {}
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                // Threads of Rust cells print, too.
                self.process.drain(events);
                if self.stop.interrupted() && looked - *interrupted_at.get_or_insert(looked) >= GRACE {
                    worker.kill();
                    return CodeEnd::Killed;
                }
            }
        }
    }

    /// An exception has ended the cell.
    fn raised(
        &self,
        name: String,
        message: String,
        line: Option<u32>,
        traceback: Vec<String>,
        file: &str,
        events: &Sender<Event>,
    ) -> Diagnostic {
        let is_interrupt = name == "KeyboardInterrupt" && self.stop.interrupted();
        let class = if is_interrupt { Class::Interrupted } else { Class::Run };
        let mut diagnostic = Diagnostic::error(class, name.clone(), message.clone());
        if let Some(line) = line.filter(|line| *line > 0) {
            let text = self.sources.get(file).and_then(|(_, text)| text.split('\n').nth(line as usize - 1));
            let length = text.map_or(1, |text| text.trim_end().chars().count().max(1) as u32);
            diagnostic = diagnostic.at(Span { file: file.to_string(), line, column: 1, length }, "");
        }
        let _ = events.send(Event::Raised { name, message, traceback });
        diagnostic
    }

    /// Passes on what threads and processes of earlier `%%python` cells print, and notices the end of the worker.
    pub(super) fn pass_late_python(&mut self, events: &Sender<Event>) {
        let shared = self.knowledge.python.clone();
        let mut slot = shared.lock();
        let Some(worker) = slot.as_mut() else { return };
        for _ in 0..PIECES {
            match worker.hear(Duration::ZERO) {
                Some(Heard::Printed(stream, bytes)) => {
                    self.process.print_late(self.python_cell, stream, &bytes, events);
                }
                Some(Heard::Message(FromWorker::Stream { name, text })) => {
                    self.process.print_late(self.python_cell, stream_of(&name), text.as_bytes(), events);
                }
                Some(Heard::Message(message)) => shown(message).into_iter().for_each(|event| _ = events.send(event)),
                None => break,
            }
        }
        if worker.has_ended()
            && let Some(worker) = slot.take()
        {
            self.python_lost = Some(in_a_sentence(&worker.death().message));
        }
    }

    /// The same until the descriptors have nothing more at once. Call it between two cells.
    pub(super) fn pass_late_python_slowly(&mut self, events: &Sender<Event>) {
        self.pass_late_python(events);
        std::thread::sleep(PAUSE);
    }

    /// Ends the worker with its variables; `false` if there was none.
    pub(super) fn end_python(&mut self) -> bool {
        self.python_lost = None;
        let worker = self.knowledge.python.lock().take();
        worker.map(Worker::end).is_some()
    }
}

/// The error of a cell whose Python has ended. An interrupt ends Python that has no handler for it: while it starts, or
/// if the code has removed it.
fn died(death: Diagnostic, is_interrupted: bool) -> Diagnostic {
    let diagnostic = if is_interrupted {
        let message = format!("the cell was interrupted, and {}", death.message);
        Diagnostic::error(Class::Interrupted, "interrupted", message)
    } else {
        death
    };
    diagnostic.note(GONE).help(AGAIN)
}

/// `Python was ended` in the middle of a sentence.
fn in_a_sentence(message: &str) -> String {
    format!("the last {message}")
}

fn stream_of(name: &str) -> Stream {
    if name == "stderr" { Stream::Stderr } else { Stream::Stdout }
}

/// The event of a message that shows something.
fn shown(message: FromWorker) -> Option<Event> {
    match message {
        FromWorker::Display { data, display_id, update, result } => {
            let content = Content::Mime(bundle(data));
            Some(Event::Display(Display { content, display_id, update, is_result: result }))
        }
        FromWorker::Clear { wait } => Some(Event::ClearOutput { wait }),
        _ => None,
    }
}

/// A MIME bundle: strings as they are, JSON as its text.
fn bundle(data: Map<String, Value>) -> Vec<(String, String)> {
    let text = |value| match value {
        Value::String(text) => text,
        value => value.to_string(),
    };
    data.into_iter().map(|(mime, value)| (mime, text(value))).collect()
}

/// Whether a variable of this type is a handle of a frame.
fn is_frame(type_code: &str) -> bool {
    type_code.contains("onrush") && type_code.ends_with("::Frame")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_of_displays_is_text() {
        let message: FromWorker = serde_json::from_str(
            r#"{"type":"display","data":{"text/plain":"a","application/json":{"b":[1,2.5]}},"metadata":{},"display_id":"x","update":true}"#,
        )
        .unwrap();
        let Some(Event::Display(display)) = shown(message) else { panic!("a display is an output") };
        assert!(display.update && !display.is_result && display.display_id.as_deref() == Some("x"));
        let Content::Mime(mut bundle) = display.content else { panic!("a bundle is shown as it is") };
        bundle.sort();
        let expected = [("application/json", r#"{"b":[1,2.5]}"#), ("text/plain", "a")];
        assert_eq!(bundle, expected.map(|(mime, text)| (mime.to_string(), text.to_string())));
        assert!(shown(FromWorker::Unknown).is_none());
    }

    #[test]
    fn an_interrupt_that_ends_python_is_not_a_crash() {
        let death = Diagnostic::error(Class::Run, "python-ended", "Python was ended by signal 2 (SIGINT)")
            .help("Python 3.9 or newer is needed");
        let crash = died(death.clone(), false);
        assert_eq!((crash.class, crash.code.as_str(), crash.help.len()), (Class::Run, "python-ended", 2));
        let stopped = died(death, true);
        assert_eq!((stopped.class, stopped.code.as_str()), (Class::Interrupted, "interrupted"));
        assert_eq!(stopped.message, "the cell was interrupted, and Python was ended by signal 2 (SIGINT)");
        assert_eq!((stopped.notes, stopped.help), (vec![GONE.to_string()], vec![AGAIN.to_string()]));
    }

    #[test]
    fn only_frames_go_in() {
        assert!(is_frame("::onrush::Frame") && !is_frame("::std::vec::Vec<::onrush::Frame>"));
        assert!(!is_frame("::onrush::FittedModel") && !is_frame("i64"));
    }
}
