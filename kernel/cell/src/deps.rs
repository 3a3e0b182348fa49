//! The crates that a notebook asks for with `:dep`: requests, versions, and what cells link.
//!
//! Each crate of a graph is a shared library, so that what it keeps in statics is there once for all cells. Crates in
//! the prelude's own interface (serde, chrono, arrow) are the prelude's if its version and features are enough. Then a
//! type that derives in a cell is the same for a frame and for `serde_json`.

mod build;
mod graph;
pub mod lock;
mod request;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::types::INDIRECT;
pub use build::{Builder, How, Requests};
pub use graph::{Crate, Graph};
pub use request::{CrateRequest, parse_in};

/// The crate that stands for the notebook.
pub const ROOT: &str = "onrush_dependencies";

/// A notebook's crates.
#[derive(Clone, Debug, Default)]
pub struct Dependencies {
    pub requests: Requests,
    pub graph: Option<Arc<Graph>>,
    /// Folders of earlier graphs: cells may link what was in them.
    earlier: Vec<PathBuf>,
}

impl Dependencies {
    /// The crates that are others now than before: values of their types are of the old ones.
    pub fn replace(&mut self, requests: Requests, graph: Graph) -> BTreeSet<String> {
        let mut changed = BTreeSet::new();
        if let Some(old) = self.graph.take() {
            let file = |c: &Crate| c.library.file_name().map(|name| name.to_os_string());
            for crate_ in &old.crates {
                let mut same_name = graph.crates.iter().filter(|c| c.name == crate_.name).peekable();
                if same_name.peek().is_some() && !same_name.any(|c| file(c) == file(crate_)) {
                    changed.extend(crate_.direct.clone());
                    changed.insert(format!("{INDIRECT}{}", crate_.name));
                }
            }
            if old.folder != graph.folder && !self.earlier.contains(&old.folder) {
                self.earlier.push(old.folder.clone());
            }
        }
        self.requests = requests;
        self.earlier.retain(|folder| *folder != graph.folder);
        self.graph = Some(Arc::new(graph));
        changed
    }

    pub fn crates(&self) -> &[Crate] {
        self.graph.as_ref().map_or(&[], |graph| graph.crates.as_slice())
    }

    /// The key of the crates, on which a compiled cell depends.
    pub fn key(&self) -> &str {
        self.graph.as_ref().map_or("", |graph| graph.key.as_str())
    }

    /// The folders of libraries, newest first.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        let newest = self.graph.iter().map(|graph| graph.folder.as_path());
        newest.chain(self.earlier.iter().rev().map(PathBuf::as_path))
    }

    /// All shared libraries of the graph, for the linker.
    pub fn libraries(&self) -> impl Iterator<Item = &Path> {
        let linked = self.crates().iter().filter(|c| !c.is_macro && !c.shared);
        linked.map(|c| c.library.as_path())
    }

    /// Whether some crate could not be a shared library: then rustc has to link it.
    pub fn has_static(&self) -> bool {
        self.graph.as_ref().is_some_and(|graph| !graph.notes.is_empty())
    }

    /// Whether a name that the prelude has too means a crate of the notebook's own.
    pub fn replaces(&self, name: &str) -> bool {
        self.crates().iter().any(|c| c.direct.as_deref() == Some(name) && !c.is_in_prelude())
    }

    /// The indirect crates among those that a type's name mentions, as code names them.
    pub fn indirect<'a>(&'a self, type_name: &'a str) -> impl Iterator<Item = String> + 'a {
        let words = type_name.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let roots = words.filter_map(|word| Some(word.split_once("::")?.0));
        roots
            .filter_map(|root| self.root(root))
            .filter(|root| root[2..].starts_with(INDIRECT))
            .map(|r| r[2..].to_string())
    }

    /// How code of a cell names a crate, if it can.
    pub fn root(&self, name: &str) -> Option<String> {
        if name.starts_with(INDIRECT) {
            return Some(format!("::{name}"));
        }
        if self.crates().iter().any(|c| c.direct.as_deref() == Some(name)) {
            return Some(format!("::{name}"));
        }
        let mut indirect = self.crates().iter().filter(|c| c.name == name);
        let found = indirect.next().is_some() && indirect.next().is_none();
        found.then(|| format!("::{INDIRECT}{name}"))
    }

    /// Name and library for rustc's `--extern`. Crates that were not asked for only where the code names them.
    pub fn externs(&self, names: &dyn Fn(&str) -> bool) -> Vec<(String, &Path)> {
        let mut externs = Vec::new();
        for crate_ in self.crates() {
            match &crate_.direct {
                Some(_) if crate_.is_in_prelude() => {}
                Some(name) => externs.push((name.clone(), crate_.library.as_path())),
                None => {
                    let name = format!("{INDIRECT}{}", crate_.name);
                    if !crate_.is_macro && names(&name) {
                        externs.push((name, crate_.library.as_path()));
                    }
                }
            }
        }
        externs
    }

    /// The code around a future of a cell that awaits: tokio's runtime if that is one of the crates. Waits for time
    /// or the network need it. It runs on the cell's own thread and starts none, because a fork takes no threads
    /// along.
    pub fn runtime(&self) -> Option<String> {
        let tokio = |c: &&Crate| c.package == "tokio" && (c.features.contains("rt") || c.features.contains("rt-core"));
        let found =
            self.crates().iter().filter(tokio).max_by_key(|c| (c.direct.is_some(), !c.version.starts_with("0.")))?;
        let name = found.direct.clone().unwrap_or_else(|| format!("{INDIRECT}{}", found.name));
        let builder = match found.version.strip_prefix("0.2.") {
            Some(_) => "new().basic_scheduler()",
            None => "new_current_thread().thread_keep_alive(::core::time::Duration::ZERO)",
        };
        Some(format!(
            "::onrush::host::once(|| ::{name}::runtime::Builder::{builder}.enable_all().build().unwrap())\
             .lock().unwrap_or_else(|kept| kept.into_inner()).block_on(async {{ "
        ))
    }

    /// The requests and their versions: a line each.
    pub fn list(&self) -> String {
        if self.requests.is_empty() {
            return "no crates yet: `:dep regex`, `:dep rand = \"0.9\"`\n".to_string();
        }
        let rows: Vec<[String; 3]> = self.requests.iter().map(|(name, request)| self.row(name, request)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (names, versions) = (width(0), width(1));
        let lines = rows.iter().map(|[name, version, of]| format!("{name:names$}  {version:versions$}  {of}\n"));
        lines.collect()
    }

    fn row(&self, name: &str, request: &CrateRequest) -> [String; 3] {
        let code_name = name.replace('-', "_");
        let package = request.package().unwrap_or(name);
        let is_it =
            |c: &&Crate| c.direct.is_some() && (c.direct.as_deref() == Some(&*code_name) || c.package == package);
        let found = self.crates().iter().find(is_it);
        let version = found.map_or("", |c| c.version.as_str()).to_string();
        let of = match found {
            Some(c) if c.is_in_prelude() => "the one of Onrush itself".to_string(),
            _ => request.wanted(),
        };
        [name.to_string(), version, of]
    }

    /// Such as `rand 0.9.5, regex 1.13.1`, for these requests.
    pub fn versions(&self, names: &BTreeMap<String, CrateRequest>) -> String {
        let of = |(name, request): (&String, &CrateRequest)| {
            let [name, version, of] = self.row(name, request);
            if of.starts_with("the one") { format!("{name} {version} ({of})") } else { format!("{name} {version}") }
        };
        names.iter().map(of).collect::<Vec<_>>().join(", ")
    }
}
