//! Notebooks: their names, their generations, and what ends with them.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use onrush_wire::plan::FileMark;
use onrush_wire::session::{CellEnd, NamedFrame, NamedModel, Role};
use onrush_wire::{Class, Diagnostic, FrameId, Generation, ModelId, NotebookId, ObjectId};

use super::catalog::{Catalog, FrameFacts, Holder, Object, Parking, Plan};
use super::tasks::Tasks;

/// A kernel that reconnects does so within this time; after it the notebook is closed.
const CLOSING: Duration = Duration::from_secs(1);

/// The first character of published names that are listed nowhere: a kernel and its Python process hand frames over
/// under them.
const PRIVATE: char = '%';

#[derive(Debug, Default)]
pub(super) struct Notebook {
    /// Variables that hold objects, as of the last cell that succeeded.
    pub names: Vec<(String, ObjectId)>,
    /// What its outputs show, as often as they do.
    pub shown: Vec<ObjectId>,
    /// Older generations were rolled back or replaced.
    oldest: Generation,
    /// The generation of the cell that runs.
    open: Option<Generation>,
    kernels: u32,
    others: u32,
    /// A notebook without a kernel (a program) ends with its last connection.
    had_kernel: bool,
    closing: Option<Instant>,
}

#[derive(Default)]
pub(super) struct State {
    pub catalog: Catalog,
    pub tasks: Tasks,
    pub notebooks: HashMap<NotebookId, Notebook>,
    pub published: BTreeMap<String, ObjectId>,
    /// The notebooks that published private names.
    pub private: HashMap<String, NotebookId>,
    /// What steps under way have read, until their frames are made.
    pub read: HashMap<ObjectId, Vec<FileMark>>,
    pub attached: u32,
    pub idle_since: Option<Instant>,
    /// How long the frames of a failed cell are kept for the corrected one.
    pub parking_time: Duration,
    /// Asked to end when nobody is attached.
    pub ending: bool,
    pub ended: bool,
}

/// What the engine can let go.
pub(super) type ReleasedObjects = Vec<ObjectId>;

impl State {
    pub fn attach(&mut self, notebook: &NotebookId, role: Role, generation: Generation) -> Result<(), Diagnostic> {
        if role == Role::Cell {
            self.check_generation(notebook, generation)?;
        }
        self.attached += 1;
        self.idle_since = None;
        if role == Role::Observer {
            return Ok(());
        }
        let notebook = self.notebooks.entry(notebook.clone()).or_default();
        match role {
            Role::Kernel => {
                notebook.kernels += 1;
                notebook.had_kernel = true;
                notebook.closing = None;
            }
            _ => {
                notebook.others += 1;
                if !notebook.had_kernel {
                    notebook.closing = None;
                }
            }
        }
        Ok(())
    }

    pub fn detach(&mut self, id: &NotebookId, role: Role) {
        self.attached -= 1;
        if self.attached == 0 {
            self.idle_since = Some(Instant::now());
        }
        let Some(notebook) = self.notebooks.get_mut(id) else { return };
        match role {
            Role::Observer => return,
            Role::Kernel => notebook.kernels -= 1,
            Role::Cell => notebook.others -= 1,
        }
        if notebook.kernels == 0 && (notebook.had_kernel || notebook.others == 0) && notebook.closing.is_none() {
            notebook.closing = Some(Instant::now());
        }
    }

    /// A message of a cell process that was rolled back or replaced is refused.
    pub fn check_generation(&self, notebook: &NotebookId, generation: Generation) -> Result<(), Diagnostic> {
        match self.notebooks.get(notebook) {
            Some(known) if generation < known.oldest => Err(Diagnostic::error(
                Class::Run,
                "rolled-back",
                "this process was rolled back: what it asks of the session is ignored",
            )),
            _ => Ok(()),
        }
    }

    pub fn begin_cell(&mut self, id: &NotebookId, generation: Generation) {
        let notebook = self.notebooks.entry(id.clone()).or_default();
        notebook.oldest = notebook.oldest.max(generation);
        notebook.open = Some(generation);
        // What was made between two cells belongs to the first.
        for frame in self.catalog.held(|h| h.notebook == *id && h.fresh) {
            self.settle(frame);
        }
    }

    fn settle(&mut self, id: ObjectId) {
        if let Some(holder) = self.catalog.get_mut(id).and_then(|f| f.holder.as_mut()) {
            holder.fresh = false;
        }
    }

    pub fn end_cell(
        &mut self,
        id: &NotebookId,
        generation: Generation,
        end: CellEnd,
    ) -> Result<ReleasedObjects, Diagnostic> {
        match end {
            CellEnd::Committed { names, released, published, lineage } => {
                self.check_generation(id, generation)?;
                if let Some(notebook) = self.notebooks.get_mut(id) {
                    notebook.open = None;
                    notebook.names = names;
                }
                for frame in self.catalog.held(|h| h.notebook == *id && h.fresh) {
                    self.settle(frame);
                }
                // What a failed cell had finished was for the cell that has now succeeded.
                let mut candidates = self.catalog.unpark(|parked| parked.notebook == *id);
                for (name, frame) in published {
                    candidates.extend(self.publish_object(name, frame));
                }
                // Frames in lists and structs have no names: their process alone knew of them.
                let lost = self.catalog.held(|h| h.notebook == *id && h.generation < lineage);
                for frame in released.into_iter().chain(lost) {
                    if let Some(entry) = self.catalog.get_mut(frame)
                        && entry.holder.as_ref().is_some_and(|h| h.notebook == *id)
                    {
                        entry.holder = None;
                        candidates.push(frame);
                    }
                }
                Ok(self.catalog.sweep(candidates))
            }
            CellEnd::RolledBack => {
                let Some(notebook) = self.notebooks.get_mut(id) else { return Ok(Vec::new()) };
                // A kernel that does not know which process failed means the one that runs.
                let generation = notebook.open.map_or(generation, |open| generation.max(open));
                notebook.open = None;
                notebook.oldest = notebook.oldest.max(Generation(generation.0 + 1));
                let given_up = self.park(id, generation);
                Ok(self.catalog.sweep(given_up))
            }
        }
    }

    /// What the failed cell made is kept for a while without a holder, so that its results are there for the corrected
    /// cell. Returns what was parked before and is made in the same way.
    fn park(&mut self, notebook: &NotebookId, generation: Generation) -> Vec<ObjectId> {
        let failed = self.catalog.held(|h| h.notebook == *notebook && h.fresh && h.generation <= generation);
        let parked = self.parked(notebook);
        failed.into_iter().filter_map(|id| self.catalog.park(id, parked.clone())).collect()
    }

    fn parked(&self, notebook: &NotebookId) -> Parking {
        Parking { notebook: notebook.clone(), until: Instant::now() + self.parking_time }
    }

    /// Publishes an object under a name. Returns what the name stood for.
    fn publish_object(&mut self, name: String, id: ObjectId) -> Option<ObjectId> {
        self.catalog.get_mut(id)?.published += 1;
        let old = self.published.insert(name, id)?;
        self.unpublish(old);
        Some(old)
    }

    /// Publishes as a cell that has succeeded. A private name ends with the notebook that published it.
    pub fn publish(&mut self, name: &str, id: ObjectId, notebook: &NotebookId) -> ReleasedObjects {
        if name.starts_with(PRIVATE) {
            self.private.insert(name.to_string(), notebook.clone());
        }
        let old = self.publish_object(name.to_string(), id);
        self.catalog.sweep(old.into_iter().collect())
    }

    /// Takes a published name back.
    pub fn withdraw(&mut self, name: &str) -> Result<ReleasedObjects, Diagnostic> {
        self.published(name)?;
        self.private.remove(name);
        let old = self.published.remove(name);
        old.into_iter().for_each(|old| self.unpublish(old));
        Ok(self.catalog.sweep(old.into_iter().collect()))
    }

    /// Nobody has a handle of the object any more.
    pub fn let_go(&mut self, id: ObjectId) -> ReleasedObjects {
        if let Some(entry) = self.catalog.get_mut(id) {
            entry.holder = None;
        }
        self.catalog.sweep(vec![id])
    }

    fn unpublish(&mut self, id: ObjectId) {
        if let Some(frame) = self.catalog.get_mut(id) {
            frame.published -= 1;
        }
    }

    /// A new object of a notebook. If its process was rolled back meanwhile, the object is parked and the caller
    /// refused.
    pub fn add(
        &mut self,
        id: ObjectId,
        mut object: Object,
        notebook: &NotebookId,
        generation: Generation,
    ) -> Result<(), Diagnostic> {
        let valid = self.check_generation(notebook, generation);
        match valid {
            Ok(()) => {
                object.holder = Some(Holder { notebook: notebook.clone(), generation, fresh: true });
            }
            Err(_) => object.parked = Some(self.parked(notebook)),
        }
        object.key = match object.model() {
            Some(info) => info.key,
            None => self.catalog.key_of(id, &object.plan),
        };
        self.catalog.insert(id, object);
        valid
    }

    /// An output shows an object: it lives on when its variables are gone.
    pub fn show(&mut self, id: &NotebookId, object: ObjectId) -> bool {
        let (Some(notebook), Some(entry)) = (self.notebooks.get_mut(id), self.catalog.get_mut(object)) else {
            return false;
        };
        entry.shown += 1;
        notebook.shown.push(object);
        true
    }

    pub fn hide(&mut self, id: &NotebookId, object: ObjectId) -> ReleasedObjects {
        let Some(notebook) = self.notebooks.get_mut(id) else { return Vec::new() };
        let Some(at) = notebook.shown.iter().position(|shown| *shown == object) else { return Vec::new() };
        notebook.shown.swap_remove(at);
        if let Some(entry) = self.catalog.get_mut(object) {
            entry.shown -= 1;
        }
        self.catalog.sweep(vec![object])
    }

    /// The object that was published under a name.
    pub fn published(&self, name: &str) -> Result<ObjectId, Diagnostic> {
        let Some(of) = self.published.get(name).copied() else {
            let mut names: Vec<&String> = self.published.keys().filter(|name| !name.starts_with(PRIVATE)).collect();
            names.truncate(12);
            let list = names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
            let error = Diagnostic::error(
                Class::Plan,
                "unknown-name",
                format!("no notebook has published a frame named `{name}`"),
            );
            return Err(match names.is_empty() {
                true => error.help("publish it in the other notebook: frame.publish(\"name\")"),
                false => error.help(format!("published are {list}")),
            });
        };
        Ok(of)
    }

    /// What another notebook published, under a separate id.
    pub fn get(&mut self, name: &str, notebook: &NotebookId, generation: Generation) -> Result<ObjectId, Diagnostic> {
        let of = self.published(name)?;
        let Some(source) = self.catalog.get(of) else {
            return Err(Diagnostic::error(
                Class::Internal,
                "unknown-frame",
                format!("the frame published as `{name}` is gone"),
            ));
        };
        let object = Object::new(source.kind.clone(), Plan::Alias { of }, name.to_string());
        let id = self.catalog.new_id();
        self.add(id, object, notebook, generation)?;
        Ok(id)
    }

    pub fn names(&self, notebook: &NotebookId) -> (Vec<NamedFrame>, Vec<NamedFrame>) {
        let named = |name: &String, id: &ObjectId| {
            let FrameFacts { schema, rows } = self.catalog.get(*id)?.frame()?.clone();
            Some(NamedFrame { name: name.clone(), frame: FrameId(id.0), schema, rows, held: None })
        };
        let own = self.notebooks.get(notebook).map(|n| n.names.iter().filter_map(|(n, id)| named(n, id)).collect());
        let listed = self.published.iter().filter(|(name, _)| !name.starts_with(PRIVATE));
        (own.unwrap_or_default(), listed.filter_map(|(n, id)| named(n, id)).collect())
    }

    /// The models of a notebook, by the names of its variables.
    pub fn models(&self, notebook: &NotebookId) -> Vec<(NamedModel, ObjectId)> {
        let named = |(name, id): &(String, ObjectId)| {
            let title = self.catalog.get(*id)?.model()?.card.title.clone();
            let model = NamedModel { name: name.clone(), model: ModelId(id.0), title, bytes: None };
            Some((model, self.catalog.target(*id)))
        };
        self.notebooks.get(notebook).map(|n| n.names.iter().filter_map(named).collect()).unwrap_or_default()
    }

    /// Called a few times a second: closes notebooks whose kernel is gone, lets parked frames go, and some of them
    /// earlier where the engine is `crowded`.
    pub fn tick(&mut self, crowded: bool) -> ReleasedObjects {
        let now = Instant::now();
        let mut candidates = Vec::new();
        let closed: Vec<NotebookId> = self
            .notebooks
            .iter()
            .filter(|(_, n)| n.closing.is_some_and(|since| now.duration_since(since) >= CLOSING))
            .map(|(id, _)| id.clone())
            .collect();
        for id in closed {
            self.tasks.cancel(&id, None);
            let private = self.private.iter().filter(|(_, notebook)| **notebook == id);
            for name in private.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
                self.private.remove(&name);
                if let Some(old) = self.published.remove(&name) {
                    self.unpublish(old);
                    candidates.push(old);
                }
            }
            for frame in self.catalog.held(|h| h.notebook == id) {
                if let Some(frame) = self.catalog.get_mut(frame) {
                    frame.holder = None;
                }
                candidates.push(frame);
            }
            candidates.extend(self.catalog.unpark(|parked| parked.notebook == id));
            for frame in self.notebooks.remove(&id).map(|notebook| notebook.shown).unwrap_or_default() {
                if let Some(entry) = self.catalog.get_mut(frame) {
                    entry.shown -= 1;
                }
                candidates.push(frame);
            }
        }
        candidates.extend(self.catalog.unpark(|parked| parked.until <= now));
        if crowded {
            candidates.extend(self.catalog.unpark_oldest());
        }
        if candidates.is_empty() { Vec::new() } else { self.catalog.sweep(candidates) }
    }
}
