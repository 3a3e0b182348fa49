//! `:dep`: the crates of a notebook, resolved, built, shown with their versions, and what that means for variables.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Sender;

use onrush_wire::display::{Content, Display};
use onrush_wire::{Class, Diagnostic, Span};

use super::Executor;
use crate::deps::{self, Builder, How, Requests, lock};
use crate::export::{self, Ran};
use crate::interface::Event;
use crate::notebook::Loss;
use crate::types::INDIRECT;

impl Executor {
    /// All `:dep` lines of a cell at once: their versions must go together. Each comes with its line in the cell.
    pub(super) fn depend(
        &mut self,
        lines: &[(u32, &str)],
        file: &str,
        events: &Sender<Event>,
    ) -> Result<(), Diagnostic> {
        let at = |line: u32, text: &str| {
            let length = 5 + text.chars().count() as u32;
            Span { file: file.to_string(), line, column: 1, length }
        };
        let mut requests: Requests = self.notebook.dependencies.requests.clone();
        let mut asked: Requests = BTreeMap::new();
        for (line, text) in lines {
            let (name, mut request) = deps::parse_in(text, &self.config.folder).map_err(|what| {
                Diagnostic::error(Class::Compile, "dep", what).at(at(*line, text), "").help(
                    "`:dep regex`, `:dep rand = \"0.9\"`, `:dep serde = { version = \"1\", features = [\"rc\"] }`",
                )
            })?;
            request.resolve_path(&self.config.folder);
            requests.entry(name.clone()).or_default().add(request.clone());
            asked.entry(name).or_default().add(request);
        }
        let cache = self.config.cache.clone().unwrap_or_else(onrush_wire::paths::cache_dir);
        let locked = self.locked();
        let file = self.config.file.clone().or_else(notebook_file);
        let name = file.as_ref().and_then(|file| file.file_name()).map(|name| name.to_string_lossy().into_owned());
        let builder = Builder {
            cache: &cache,
            notebook: name.as_deref().unwrap_or_default(),
            kit: &self.compiler.kit,
            stop: &self.stop,
            progress: &|what, fraction| drop(events.send(Event::Working { what, fraction })),
        };
        let built = builder.ensure(&requests, locked.as_deref()).map_err(|diagnostic| {
            // The line of the crate that cargo names, else the first.
            let named = lines.iter().find(|(_, text)| {
                deps::parse_in(text, &self.config.folder)
                    .is_ok_and(|(name, _)| diagnostic.message.contains(&format!("`{name}`")))
            });
            let (line, text) = named.or(lines.first()).copied().unwrap_or((1, ""));
            diagnostic.at(at(line, text), "")
        });
        let (graph, how) = built?;
        let count = graph.crates.iter().filter(|c| !c.shared).count();
        if let How::Built { seconds, offline, waits } = how {
            let crates = if count == 1 { "1 crate".to_string() } else { format!("{count} crates") };
            let after = waits.said().map_or(String::new(), |after| format!(", {after}"));
            let versions =
                if offline { "; the registry was not reached: these versions were here already" } else { "" };
            // A progress line, not an output: another run finds the crates built.
            let _ = events.send(Event::Worked(format!(
                "{crates} built in {seconds:.1} s, once for all notebooks{after}{versions}"
            )));
        }
        let mut said = String::new();
        for note in &graph.notes {
            said.push_str(&format!("note: {note}\n"));
        }
        let lock = graph.lock.clone();
        let changed = self.notebook.dependencies.replace(requests, graph);
        self.forget_types_of(&changed, events)?;
        let text = format!("{}\n{said}", self.notebook.dependencies.versions(&asked));
        let bundle =
            vec![("text/plain".to_string(), text.trim_end().to_string()), (lock::MIME.to_string(), lock::data(&lock))];
        let content = Content::Mime(bundle);
        let _ = events.send(Event::Display(Display { content, display_id: None, update: false, is_result: false }));
        Ok(())
    }

    /// The versions that this notebook had: those of the crates in use, then those of its file.
    fn locked(&mut self) -> Option<String> {
        let file = || self.config.file.clone().or_else(notebook_file);
        let of_file = self.locked.get_or_insert_with(|| file().and_then(|path| lock::in_notebook(&path)));
        let current = self.notebook.dependencies.graph.as_ref().map(|graph| graph.lock.as_str());
        match (current, of_file.as_deref()) {
            (Some(current), Some(of_file)) => Some(lock::merge(current, of_file)),
            (one, other) => one.or(other).map(str::to_string),
        }
    }

    /// Variables whose types come from a crate that was built anew with other features or in another version.
    fn forget_types_of(
        &mut self,
        changed: &std::collections::BTreeSet<String>,
        events: &Sender<Event>,
    ) -> Result<(), Diagnostic> {
        let of = |code: &str| changed.iter().find(|name| code.contains(&format!("::{name}::"))).cloned();
        let variables = self.notebook.variables.iter();
        let lost: Vec<(String, String)> =
            variables.filter_map(|(name, v)| Some((name.clone(), of(&v.type_code)?))).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let names = lost.iter().map(|(name, _)| name.trim_start_matches("r#").to_string()).collect();
        self.forget_variables(names, events)?;
        for (name, crate_) in &lost {
            self.notebook.variables.remove(name);
            let crate_ = crate_.trim_start_matches(INDIRECT);
            self.notebook.gone.insert(name.clone(), Loss::EarlierBuild(crate_.to_string()));
        }
        let names: Vec<String> = lost.iter().map(|(name, _)| format!("`{name}`")).collect();
        let message = format!("{} went: of a type that these crates define anew", names.join(", "));
        self.warn(events, "earlier-crate", message, "run the cells that make them again");
        Ok(())
    }
}

impl Executor {
    /// Runs `:export crate`: writes a cargo project to a folder next to the notebook.
    pub(super) fn export(&mut self, folder: Option<&str>) -> Result<String, Diagnostic> {
        let file = self.config.file.clone().or_else(notebook_file);
        let stem = file.as_ref().and_then(|file| file.file_stem()).map(|stem| stem.to_string_lossy().into_owned());
        let folder = folder.map_or_else(|| stem.unwrap_or_else(|| "notebook".to_string()), str::to_string);
        let cells = self.in_order(file);
        export::write(&self.config.folder, &folder, &cells, &self.notebook.dependencies)
    }

    /// The cells that succeeded, in the order of the notebook's file if that is up to date, else as they ran.
    fn in_order(&self, file: Option<PathBuf>) -> Vec<Ran> {
        let of_file = || {
            let file: serde_json::Value = serde_json::from_slice(&std::fs::read(file?).ok()?).ok()?;
            let text = |source: &serde_json::Value| match source {
                serde_json::Value::Array(lines) => lines.iter().filter_map(|l| l.as_str()).collect::<String>(),
                other => other.as_str().unwrap_or_default().to_string(),
            };
            let texts: Vec<String> = file["cells"].as_array()?.iter().map(|cell| text(&cell["source"])).collect();
            let newest = self.ran.last()?;
            texts.iter().any(|text| text.trim() == newest.text.trim()).then_some(texts)
        };
        match of_file() {
            Some(texts) => {
                let ran = |text: &String| self.ran.iter().rev().find(|ran| ran.text.trim() == text.trim()).cloned();
                texts.iter().filter_map(ran).collect()
            }
            None => self.ran.clone(),
        }
    }
}

/// The notebook's file, as Jupyter tells its kernels.
fn notebook_file() -> Option<PathBuf> {
    std::env::var_os("JPY_SESSION_NAME").map(PathBuf::from).filter(|path| path.is_file())
}
