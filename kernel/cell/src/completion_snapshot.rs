//! A copy of the executor's state for completion and inspection. They are asked while a cell runs, and the executor is
//! busy then.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use onrush_wire::FrameId;
use onrush_wire::session::NamedFrame;
use parking_lot::Mutex;

use crate::deps::Crate;
use crate::index::crates::Package;
use crate::index::source::{Chunk, chunks_of};
use crate::index::{self, Index};
use crate::notebook::Notebook;
use crate::parse::items_of;
use crate::prelude_build::PreludeBuild;
use crate::python::SharedWorker;
use crate::type_query::Probe;

/// The session's answers about frames while code is typed. An answer is empty without a session, or if it does not come
/// at once.
pub trait Frames {
    /// This notebook's frames by variable name, then published ones.
    fn frames(&self) -> Vec<NamedFrame>;
    /// Facts about a column, such as (`nulls`, `8255`).
    fn summary(&self, frame: FrameId, column: &str) -> Vec<(String, String)>;
}

/// No session.
pub struct NoFrames;

impl Frames for NoFrames {
    fn frames(&self) -> Vec<NamedFrame> {
        Vec::new()
    }

    fn summary(&self, _: FrameId, _: &str) -> Vec<(String, String)> {
        Vec::new()
    }
}

/// The part that stays the same from cell to cell.
#[derive(Debug)]
pub(crate) struct Knowledge {
    pub probe: Arc<Probe>,
    /// The notebook's folder, for names of files.
    pub folder: PathBuf,
    /// Definitions of earlier cells, by their text.
    chunks: Mutex<HashMap<String, Arc<Vec<Chunk>>>>,
    /// Indexes of crates that cells added, by name.
    crates: Mutex<BTreeMap<String, Arc<Index>>>,
    /// The folder of indexes.
    work: PathBuf,
    wanted: Mutex<BTreeSet<Package>>,
    pub python: SharedWorker,
}

impl Knowledge {
    pub fn new(kit: PreludeBuild, work: PathBuf, folder: PathBuf) -> Arc<Self> {
        let _ = std::thread::Builder::new().name("index".into()).spawn(|| (index::standard(), index::prelude()));
        let probe = Arc::new(Probe::new(kit, work.clone()));
        let (chunks, crates, wanted) = (Mutex::default(), Mutex::default(), Mutex::default());
        let python = SharedWorker::default();
        Arc::new(Knowledge { probe, folder, chunks, crates, work, wanted, python })
    }

    /// Reads what crates hold, in the background: those that are not known yet.
    pub fn learn(self: &Arc<Self>, packages: Vec<Package>) {
        let mut wanted = self.wanted.lock();
        let new: Vec<Package> = packages.into_iter().filter(|package| wanted.insert(package.clone())).collect();
        if new.is_empty() {
            return;
        }
        let known = Arc::clone(self);
        let read = move || {
            for package in new {
                if let Some(index) = index::crates::of_registry(&known.work, &package) {
                    known.crates.lock().insert(package.name, index);
                }
            }
        };
        // Without a thread these crates have no members.
        let _ = std::thread::Builder::new().name("crates".into()).spawn(read);
    }

    fn chunks(&self, text: &str) -> Arc<Vec<Chunk>> {
        let mut known = self.chunks.lock();
        let chunks = known.entry(text.to_string()).or_insert_with(|| Arc::new(chunks_of(&items_of(text))));
        Arc::clone(chunks)
    }

    pub fn crates(&self) -> Vec<Arc<Index>> {
        self.crates.lock().values().cloned().collect()
    }
}

/// The notebook as it was when the last cell had ended.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub(crate) notebook: Arc<Notebook>,
    pub(crate) sources: Arc<BTreeMap<String, (u64, String)>>,
    /// `None` before the executor has started.
    pub(crate) knowledge: Option<Arc<Knowledge>>,
    pub(crate) cells: Arc<OnceLock<Arc<Index>>>,
}

impl Names {
    pub(crate) fn new(
        notebook: &Notebook,
        sources: &BTreeMap<String, (u64, String)>,
        knowledge: &Arc<Knowledge>,
    ) -> Self {
        // Crates that cells name come first.
        let mut crates: Vec<&Crate> =
            notebook.dependencies.crates().iter().filter(|c| !c.shared && !c.is_macro).collect();
        crates.sort_by_key(|c| c.direct.is_none());
        let package = |c: &&Crate| Package { name: c.package.clone(), version: c.version.clone() };
        knowledge.learn(crates.iter().map(package).collect());
        Names {
            notebook: Arc::new(notebook.clone()),
            sources: Arc::new(sources.clone()),
            knowledge: Some(Arc::clone(knowledge)),
            cells: Arc::default(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.knowledge.as_ref().map_or(Path::new("."), |known| &known.folder)
    }

    /// The definitions of the cells that ran. The newest item of a name hides the earlier ones, and their impls.
    pub(crate) fn cells(&self) -> Arc<Index> {
        let make = || {
            let notebook = &self.notebook;
            // A crate that `:clear` forgot is still linked.
            let is_known = |i: usize| {
                notebook.items.values().any(|&home| home == i) || notebook.macros.values().any(|m| m.home == i)
            };
            let crates = notebook.crates.iter().enumerate().filter(|(i, _)| is_known(*i)).map(|(_, c)| &c.file);
            let files = crates.chain(notebook.impl_files.values().map(|(file, _)| file));
            let mut texts: Vec<(u64, &str)> = files
                .filter_map(|file| self.sources.get(file))
                .map(|(number, text)| (*number, text.as_str()))
                .collect();
            texts.sort_unstable();
            texts.dedup();
            let mut chunks: Vec<Chunk> = Vec::new();
            for (_, text) in texts {
                let new = match &self.knowledge {
                    Some(known) => known.chunks(text),
                    None => Arc::new(chunks_of(&items_of(text))),
                };
                let is_new = |old: &Chunk| new.iter().any(|n| !n.is_impl && n.path == old.path);
                chunks.retain(|old| !is_new(old));
                chunks.extend(new.iter().cloned());
            }
            Arc::new(Index::new(chunks.iter().map(|c| c.text.as_str()).collect::<String>()))
        };
        Arc::clone(self.cells.get_or_init(make))
    }
}
