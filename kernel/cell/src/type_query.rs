//! Type queries to rustc: checks the cell up to the cursor with a field that no type has. rustc's error names the type.
//!
//! A query never delays a cell: rustc runs with a low priority, an outdated query is stopped, and answers are cached.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use parking_lot::Mutex;

use crate::generate::{GeneratedCrate, Request, generate};
use crate::interface::Interrupt;
use crate::interrupt::InterruptToken;
use crate::notebook::Notebook;
use crate::parse::parse_cell;
use crate::prelude_build::PreludeBuild;
use crate::rustc::{self, Job, Message, Warm};

/// A field that no type has: rustc's error about it names the type.
pub const PROBE: &str = "__onrush_probe";

/// A front end that waits longer shows nothing at all.
const PATIENCE: Duration = Duration::from_millis(1500);
/// Answers that are kept.
const KEPT: usize = 1000;
const CRATE: &str = "onrush_probe";
const FILE: &str = "probe.rs";

/// Known types, shared by all requests of a notebook.
pub struct Probe {
    kit: PreludeBuild,
    /// A folder to which rustc may write.
    folder: PathBuf,
    warm: Warm,
    answers: Mutex<HashMap<String, Option<String>>>,
    /// The running query: its turn and its key.
    current: Mutex<Option<(u64, String, Arc<InterruptToken>)>>,
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Probe {
    pub fn new(kit: PreludeBuild, folder: PathBuf) -> Self {
        Probe { kit, folder, warm: Warm::for_questions(), answers: Mutex::default(), current: Mutex::default() }
    }

    /// The type that the question in `code` is about, as rustc spells it.
    pub fn ask(self: &Arc<Self>, notebook: &Arc<Notebook>, code: &str, turn: u64) -> Option<String> {
        let cell = parse_cell(code);
        let request = Request { any_error: true, ..Request::new(&cell, CRATE, FILE, notebook) };
        let generated = generate(&request);
        let mut key = String::new();
        generated.files.iter().for_each(|(_, text)| key.push_str(text));
        // A crate that was made again has another file.
        generated.links.iter().for_each(|&i| key.push_str(&notebook.crates[i].library.to_string_lossy()));
        if let Some(known) = self.answers.lock().get(&key) {
            return known.clone();
        }
        let stop = Arc::new(InterruptToken::default());
        stop.begin();
        {
            let mut current = self.current.lock();
            match &*current {
                // Each request has a separate thread, so an earlier request can arrive later.
                Some((newer, ..)) if *newer > turn => return None,
                Some((_, other, running)) if *other != key => running.interrupt(),
                _ => {}
            }
            *current = Some((turn, key.clone(), Arc::clone(&stop)));
        }
        let (sender, answer) = channel();
        let (probe, notebook) = (Arc::clone(self), Arc::clone(notebook));
        let work = move || {
            let found = probe.run(&notebook, &generated, &stop);
            // A query that was stopped gives no answer.
            if let Ok(found) = &found {
                let mut answers = probe.answers.lock();
                if answers.len() >= KEPT {
                    answers.clear();
                }
                answers.insert(key, found.clone());
            }
            let is_done = found.is_ok();
            let _ = sender.send(found.ok().flatten());
            // Starts rustc for the next query. A stopped query does not: a cell or another query runs then.
            if is_done {
                probe.warm.prepare(&probe.kit.toolchain, None, &probe.folder);
            }
        };
        std::thread::Builder::new().name("types".into()).spawn(work).ok()?;
        answer.recv_timeout(PATIENCE).ok().flatten()
    }

    /// A cell is run: what was asked while it was typed is moot, and must not keep it waiting.
    pub fn stop(&self) {
        if let Some((_, _, running)) = self.current.lock().take() {
            running.interrupt();
        }
    }

    fn run(
        &self,
        notebook: &Notebook,
        generated: &GeneratedCrate,
        stop: &Arc<InterruptToken>,
    ) -> Result<Option<String>, ()> {
        let library = self.folder.join("libonrush_probe.so");
        let job = Job {
            kit: &self.kit,
            notebook,
            generated,
            crate_name: CRATE,
            library: &library,
            optimisation: 0,
            stop,
            warm: &self.warm,
            full_link: false,
        };
        rustc::ask(&job, type_in).map_err(|_| ())
    }
}

/// The type that rustc's error about the query names.
fn type_in(message: &Message) -> Option<String> {
    let text = &message.message;
    if !text.contains(PROBE) && message.code() != "E0610" {
        return None;
    }
    let quoted = |after: &str| -> Option<String> {
        let rest = &text[text.find(after)? + after.len()..];
        // A type may hold no backtick.
        Some(rest.split('`').next()?.to_string())
    };
    match message.code() {
        // no field `x` on type `T`
        "E0609" => quoted("on type `"),
        // `T` is a primitive type and therefore doesn't have fields
        "E0610" => text.strip_prefix('`')?.split('`').next().map(str::to_string),
        // no associated item named `x` found for struct `T` in the current scope
        "E0599" | "E0576" | "E0223" => {
            text.rsplit_once(" for ").and_then(|(_, rest)| rest.split('`').nth(1)).map(str::to_string)
        }
        _ => None,
    }
}
