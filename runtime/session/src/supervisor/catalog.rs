//! The catalog: every live object of the session and its plan. An object lives while a notebook holds it or an output
//! shows it, it is published or parked, or another live object is made from it; its data in the engine lives only for
//! the first four.
//!
//! Holding, parking, publishing, sweeping and making again are the same for all kinds: frames and models.

use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Instant;

use onrush_logical::fingerprint;
use onrush_wire::call::EngineCall;
use onrush_wire::learn::ModelInfo;
use onrush_wire::plan::FileMark;
use onrush_wire::session::Request;
use onrush_wire::{FrameId, Generation, NotebookId, ObjectId, Schema, codec};

use super::copies::Copy;

/// How an object is made, with everything that is needed to make it again.
#[derive(Clone, Debug)]
pub enum Plan {
    Call {
        /// The call that makes it, with the ids of the engine.
        call: EngineCall,
        /// The objects that it is made from. Empty for a model with a copy, which needs neither its frames nor another
        /// training.
        inputs: Vec<ObjectId>,
        /// The rows of `Op::FromArrow`, or the file of a model.
        copy: Option<Arc<Copy>>,
        /// The files that `Op::Read` has read.
        files: Option<Vec<FileMark>>,
    },
    /// The same object under another id, for another notebook.
    Alias { of: ObjectId },
}

/// What kind of object it is, and what is known of it besides its plan. A new kind has its variant here.
#[derive(Clone, Debug)]
pub enum Kind {
    Frame(FrameFacts),
    Model(Box<ModelInfo>),
}

#[derive(Clone, Debug)]
pub struct FrameFacts {
    pub schema: Schema,
    /// If it has been counted.
    pub rows: Option<u64>,
}

#[derive(Debug)]
pub struct Object {
    pub kind: Kind,
    pub plan: Plan,
    pub title: String,
    /// Who holds a handle to it.
    pub holder: Option<Holder>,
    /// Under how many names it is published.
    pub published: u32,
    /// How many outputs show it.
    pub shown: u32,
    /// Kept although nobody holds it: a failed cell had finished it.
    pub parked: Option<Parking>,
    /// Equal for objects that are made in the same way; of the same file if it has not changed.
    pub key: u128,
    /// Live objects that are made from it.
    pub dependants: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parking {
    pub notebook: NotebookId,
    pub until: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub notebook: NotebookId,
    pub generation: Generation,
    /// Made by the cell that runs now: undone if it fails.
    pub fresh: bool,
}

impl Object {
    /// An object that nobody holds yet. [`super::state::State::add`] gives it its holder and its key.
    pub fn new(kind: Kind, plan: Plan, title: String) -> Self {
        Object { kind, plan, title, holder: None, published: 0, shown: 0, parked: None, key: 0, dependants: 0 }
    }

    /// `None` for an object of another kind.
    pub fn frame(&self) -> Option<&FrameFacts> {
        match &self.kind {
            Kind::Frame(facts) => Some(facts),
            Kind::Model(_) => None,
        }
    }

    pub fn frame_mut(&mut self) -> Option<&mut FrameFacts> {
        match &mut self.kind {
            Kind::Frame(facts) => Some(facts),
            Kind::Model(_) => None,
        }
    }

    /// `None` for an object of another kind.
    pub fn model(&self) -> Option<&ModelInfo> {
        match &self.kind {
            Kind::Model(info) => Some(info),
            Kind::Frame(_) => None,
        }
    }

    fn wanted(&self) -> bool {
        self.holder.is_some() || self.published > 0 || self.shown > 0 || self.parked.is_some()
    }
}

#[derive(Debug, Default)]
pub struct Catalog {
    next: u64,
    all: HashMap<ObjectId, Object>,
}

impl Plan {
    /// The objects that a plan is made from.
    pub fn inputs(&self) -> &[ObjectId] {
        match self {
            Plan::Call { inputs, .. } => inputs,
            Plan::Alias { of } => std::slice::from_ref(of),
        }
    }
}

impl Catalog {
    /// Ids begin where no earlier session of this machine can have come: a handle that outlived its session is then
    /// unknown and never another object.
    pub fn of_a_new_session() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Catalog { next: now.map_or(0, |d| d.as_micros() as u64), all: HashMap::new() }
    }

    pub fn new_id(&mut self) -> ObjectId {
        self.next += 1;
        ObjectId(self.next)
    }

    pub fn get(&self, id: impl Into<ObjectId>) -> Option<&Object> {
        self.all.get(&id.into())
    }

    pub fn get_mut(&mut self, id: impl Into<ObjectId>) -> Option<&mut Object> {
        self.all.get_mut(&id.into())
    }

    /// What is known of a frame. `None` for an object of another kind, too.
    pub fn frame(&self, id: FrameId) -> Option<&FrameFacts> {
        self.get(id)?.frame()
    }

    /// Objects that somebody wants.
    pub fn count(&self) -> usize {
        self.all.values().filter(|f| f.wanted()).count()
    }

    /// The object that an id stands for in the engine.
    pub fn target(&self, mut id: ObjectId) -> ObjectId {
        while let Some(Object { plan: Plan::Alias { of }, .. }) = self.all.get(&id) {
            id = *of;
        }
        id
    }

    pub fn insert(&mut self, id: ObjectId, object: Object) {
        for input in object.plan.inputs() {
            if let Some(input) = self.all.get_mut(input) {
                input.dependants += 1;
            }
        }
        self.all.insert(id, object);
    }

    /// The objects of a holder, in the order of their making.
    pub fn held(&self, test: impl Fn(&Holder) -> bool) -> Vec<ObjectId> {
        let mut ids: Vec<ObjectId> =
            self.all.iter().filter(|(_, f)| f.holder.as_ref().is_some_and(&test)).map(|(id, _)| *id).collect();
        ids.sort();
        ids
    }

    /// Forgets what nobody wants any more. Returns the objects whose data the engine can let go: those that no id
    /// stands for which somebody wants, whether their plans are still needed or not.
    pub fn sweep(&mut self, candidates: Vec<ObjectId>) -> Vec<ObjectId> {
        let mut released = Vec::new();
        let mut look = candidates;
        while let Some(id) = look.pop() {
            let Some(object) = self.all.get(&id) else { continue };
            if object.wanted() {
                continue;
            }
            let target = self.target(id);
            let gone = object.dependants == 0;
            if gone && let Some(object) = self.all.remove(&id) {
                for input in object.plan.inputs() {
                    if let Some(input) = self.all.get_mut(input) {
                        input.dependants -= 1;
                    }
                    look.push(*input);
                }
            }
            let still = self.all.iter().any(|(other, f)| f.wanted() && self.target(*other) == target);
            if !still && !released.contains(&target) {
                released.push(target);
            }
        }
        released
    }

    /// The steps that an engine needs before it has `id`, inputs first, ids ascending. `has` says what is there; below
    /// such objects nothing is needed.
    pub fn steps_for(&self, id: ObjectId, has: &dyn Fn(ObjectId) -> bool) -> Option<Vec<ObjectId>> {
        let mut steps = Vec::new();
        let mut look = vec![self.target(id)];
        while let Some(id) = look.pop() {
            if has(id) || steps.contains(&id) {
                continue;
            }
            steps.push(id);
            look.extend(self.all.get(&id)?.plan.inputs().iter().map(|input| self.target(*input)));
        }
        // A object's inputs are older than it.
        steps.sort();
        Some(steps)
    }

    /// Parks a object. One of the same plan that was parked before is given up: it is a candidate for
    /// [`Catalog::sweep`].
    pub fn park(&mut self, id: ObjectId, parked: Parking) -> Option<ObjectId> {
        let key = self.all.get(&id)?.key;
        let same = |f: &Object| f.key == key && f.parked.as_ref().is_some_and(|p| p.notebook == parked.notebook);
        let earlier = self.all.iter().find(|(other, f)| **other != id && same(f)).map(|(other, _)| *other);
        if let Some(earlier) = earlier.and_then(|id| self.all.get_mut(&id)) {
            earlier.parked = None;
        }
        let object = self.all.get_mut(&id)?;
        object.holder = None;
        object.parked = Some(parked);
        earlier
    }

    /// Ends the parking of the objects that `over` names; they are candidates for [`Catalog::sweep`].
    pub fn unpark(&mut self, over: impl Fn(&Parking) -> bool) -> Vec<ObjectId> {
        let found = self.all.iter_mut().filter(|(_, object)| object.parked.as_ref().is_some_and(&over));
        let ended = found.map(|(id, object)| {
            object.parked = None;
            *id
        });
        ended.collect()
    }

    /// The objects that were parked first, if any are.
    pub fn unpark_oldest(&mut self) -> Vec<ObjectId> {
        match self.all.values().filter_map(|object| object.parked.as_ref().map(|p| p.until)).min() {
            Some(first) => self.unpark(|parked| parked.until <= first),
            None => Vec::new(),
        }
    }

    pub fn parked(&self) -> usize {
        self.all.values().filter(|object| object.parked.is_some()).count()
    }

    /// What a object that is made in this way is called: see [`Object::key`].
    pub fn key_of(&self, id: ObjectId, plan: &Plan) -> u128 {
        let of = |id: ObjectId| self.all.get(&id).map_or(u128::from(id.0), |object| object.key);
        match plan {
            Plan::Alias { of: object } => of(*object),
            // The rows that a cell sent are compared nowhere. The engine says by what a model is found again: see
            // `State::add`.
            Plan::Call { copy: Some(_), .. } => u128::from(id.0),
            Plan::Call { call, files, .. } => match call.request() {
                Request::Step { op, .. } => {
                    let Ok::<_, Infallible>(key) = fingerprint::step(op, |id| Ok(of(id.into())));
                    let files = codec::content(files);
                    fingerprint::hash(|h| (key, &files).hash(h))
                }
                Request::Persist { frame } => fingerprint::hash(|h| ("persist", of((*frame).into())).hash(h)),
                _ => u128::from(id.0),
            },
        }
    }

    pub fn wanted_target(&self, id: ObjectId) -> bool {
        self.all.iter().any(|(other, f)| f.wanted() && self.target(*other) == id)
    }
}
