//! A notebook of these tests, and what its cells give. A new event is answered here.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use onrush_cell::{Config, Event, Executor, Outcome};
use onrush_wire::display::Content;
use onrush_wire::host::Stream;
use onrush_wire::{Diagnostic, Generation, NotebookId};

/// The MIME type of the versions of a notebook's crates.
pub const LOCK: &str = "application/vnd.onrush.lock+json";

pub struct Notebook {
    pub executor: Executor,
    pub next: u64,
}

/// The events of a cell, and its errors.
#[derive(Debug, Default)]
pub struct Run {
    /// Output in order. Standard error is in brackets, output of earlier cells in angle brackets.
    pub shown: String,
    pub results: Vec<String>,
    /// Output and results as text, in order.
    pub texts: Vec<String>,
    pub locks: Vec<String>,
    pub working: Vec<String>,
    pub worked: Vec<String>,
    pub warnings: Vec<Diagnostic>,
    pub errors: Vec<Diagnostic>,
    pub begun: Option<Generation>,
    /// The variables were lost.
    pub lost: bool,
}

impl Run {
    #[track_caller]
    pub fn ok(self) -> Self {
        assert!(self.errors.is_empty(), "{:#?}", self.errors);
        self
    }

    /// The cell has succeeded, and the variables are still there.
    #[track_caller]
    pub fn kept(self) -> Self {
        assert!(self.errors.is_empty() && !self.lost, "{self:#?}");
        self
    }

    #[track_caller]
    pub fn error(&self) -> &Diagnostic {
        self.errors.first().unwrap_or_else(|| panic!("the cell succeeded: {self:#?}"))
    }

    /// The cell has failed, and the variables are still there.
    #[track_caller]
    pub fn fails_with(self, code: &str) -> Self {
        assert_eq!(self.errors.first().map(|error| error.code.as_str()), Some(code), "{self:#?}");
        assert!(!self.lost, "{self:#?}");
        self
    }
}

/// Action of a test for each event, before the event is collected.
pub type Then = Box<dyn FnMut(&Event) + Send>;

/// Answers the events of a cell. `begin`: why the cell may not begin.
pub fn collect(events: Receiver<Event>, mut then: Then, begin: Option<Diagnostic>) -> Run {
    let mut run = Run::default();
    for event in events {
        then(&event);
        match event {
            Event::Output { stream, text } => {
                run.shown.push_str(&if stream == Stream::Stdout { text.clone() } else { format!("[{text}]") });
                run.texts.push(text);
            }
            Event::Late { cell, text, .. } => run.shown.push_str(&format!("<{cell}: {text}>")),
            Event::Display(display) => match display.content {
                Content::Mime(bundle) => {
                    let of = |mime: &str| bundle.iter().find(|(m, _)| m == mime).map(|(_, data)| data.clone());
                    run.texts.extend(of("text/plain"));
                    run.locks.extend(of(LOCK));
                    run.results.push(format!("{bundle:?}"));
                }
                content => {
                    let text = if let Content::Text(text) = content { text } else { format!("{content:?}") };
                    run.results.push(text.clone());
                    run.texts.push(text);
                }
            },
            Event::Begin { reply, generation } => {
                run.begun = Some(generation);
                drop(reply.send(begin.clone().map_or(Ok(()), Err)));
            }
            Event::Input { reply, .. } => drop(reply.send(Some("typed".to_string()))),
            Event::Warning(warning) => run.warnings.push(warning),
            Event::SavePicture { reply, .. } => drop(reply.send(Ok(()))),
            Event::NeedSession { reply } => drop(reply.send(Ok(()))),
            Event::Engine { reply, .. } => drop(reply.send(Ok("engine   none\n".to_string()))),
            Event::Frames { reply } => drop(reply.send(Vec::new())),
            Event::ReadControl { reply, .. } => drop(reply.send(None)),
            Event::Top { reply } => drop(reply.send(Ok(String::new()))),
            // A question whose reply is dropped has no answer.
            Event::Cluster { .. } => {}
            Event::Working { what, .. } => run.working.push(what),
            Event::Worked(line) => run.worked.push(line),
            Event::Lost => run.lost = true,
            Event::Loop(_) | Event::Control(_) | Event::Filter { .. } | Event::Capture => {}
            Event::ClearOutput { .. } | Event::Timed(_) | Event::Flow(_) | Event::Raised { .. } => {}
        }
    }
    run
}

impl Notebook {
    pub fn new() -> Self {
        Self::open(&std::env::temp_dir(), None)
    }

    pub fn open(folder: &Path, file: Option<PathBuf>) -> Self {
        Self::open_with_cache(folder, file, None)
    }

    pub fn open_with_cache(folder: &Path, file: Option<PathBuf>, cache: Option<PathBuf>) -> Self {
        let config = Config {
            notebook: NotebookId("test".into()),
            folder: folder.to_path_buf(),
            session_socket: "/nonexistent/session.sock".into(),
            cache,
            file,
        };
        let (events, _receiver) = channel();
        let executor = Executor::start(config, &events).unwrap_or_else(|e| panic!("{e:#?}"));
        Notebook { executor, next: 1 }
    }

    pub fn run(&mut self, text: &str) -> Run {
        self.run_with(text, Box::new(|_| {}), None)
    }

    pub fn run_with(&mut self, text: &str, then: Then, begin: Option<Diagnostic>) -> Run {
        let (events, receiver) = channel();
        let reader = std::thread::spawn(move || collect(receiver, then, begin));
        let outcome = self.executor.execute(self.next, text, &events);
        self.next += 1;
        drop(events);
        let mut run = reader.join().unwrap();
        match outcome {
            Outcome::Ok { complaint, .. } => run.errors.extend(complaint),
            Outcome::Failed { diagnostics, .. } => run.errors = diagnostics,
        }
        run
    }

    #[track_caller]
    pub fn shows(&mut self, text: &str, expected: &str) {
        let run = self.run(text).kept();
        assert_eq!(run.results, [expected], "{text}");
    }

    /// The last of several outputs and results.
    #[track_caller]
    pub fn shows_last(&mut self, text: &str, expected: &str) {
        let run = self.run(text).ok();
        assert_eq!(run.texts.last().map(String::as_str), Some(expected), "{text}");
    }
}
