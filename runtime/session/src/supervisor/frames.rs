//! Every live frame and its plan. A frame lives while a notebook holds it or an output shows it, it is published or parked, or another
//! live frame is made from it; its data in the engine lives only for the first four.

use std::collections::HashMap;
use std::hash::Hash;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use onrush_wire::plan::{FileMark, Op};
use onrush_wire::{FrameId, Generation, NotebookId, Schema, Span};

/// How a frame is made, with everything that is needed to make it again.
#[derive(Clone, Debug)]
pub(super) enum Plan {
    /// `data` holds the rows of `Op::FromArrow`.
    Step {
        op: Op,
        at: Option<Span>,
        data: Option<Arc<OwnedFd>>,
        /// What `Op::Read` has read.
        files: Option<Vec<FileMark>>,
    },
    Persist {
        input: FrameId,
    },
    /// The same frame under another id, for another notebook.
    Alias {
        of: FrameId,
    },
}

#[derive(Debug)]
pub(super) struct Frame {
    pub plan: Plan,
    pub schema: Schema,
    pub title: String,
    /// Who holds a handle to it.
    pub holder: Option<Holder>,
    /// Under how many names it is published.
    pub published: u32,
    /// How many outputs show it.
    pub shown: u32,
    /// Kept although nobody holds it: a failed cell had finished it.
    pub parked: Option<Parked>,
    /// Equal for frames that are made in the same way; of the same file if it has not changed.
    pub key: u128,
    /// Live frames that are made from it.
    pub dependants: u32,
    pub rows: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parked {
    pub notebook: NotebookId,
    pub until: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    pub notebook: NotebookId,
    pub generation: Generation,
    /// Made by the cell that runs now: undone if it fails.
    pub fresh: bool,
}

impl Frame {
    fn wanted(&self) -> bool {
        self.holder.is_some() || self.published > 0 || self.shown > 0 || self.parked.is_some()
    }
}

#[derive(Debug, Default)]
pub(super) struct Frames {
    next: u64,
    all: HashMap<FrameId, Frame>,
}

/// The frames that a plan is made from.
pub(super) fn inputs(plan: &Plan) -> Vec<FrameId> {
    match plan {
        Plan::Step { op, .. } => onrush_logical::key::inputs(&mut op.clone()).into_iter().map(|id| *id).collect(),
        Plan::Persist { input } => vec![*input],
        Plan::Alias { of } => vec![*of],
    }
}

impl Frames {
    /// Ids begin where no earlier session of this machine can have come: a handle that outlived its session is then unknown
    /// and never another frame.
    pub fn of_a_new_session() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Frames { next: now.map_or(0, |d| d.as_micros() as u64), all: HashMap::new() }
    }

    pub fn new_id(&mut self) -> FrameId {
        self.next += 1;
        FrameId(self.next)
    }

    pub fn get(&self, id: FrameId) -> Option<&Frame> {
        self.all.get(&id)
    }

    pub fn get_mut(&mut self, id: FrameId) -> Option<&mut Frame> {
        self.all.get_mut(&id)
    }

    pub fn len(&self) -> usize {
        self.all.values().filter(|f| f.wanted()).count()
    }

    /// The frame that an id stands for in the engine.
    pub fn target(&self, mut id: FrameId) -> FrameId {
        while let Some(Frame { plan: Plan::Alias { of }, .. }) = self.all.get(&id) {
            id = *of;
        }
        id
    }

    pub fn insert(&mut self, id: FrameId, frame: Frame) {
        for input in inputs(&frame.plan) {
            if let Some(input) = self.all.get_mut(&input) {
                input.dependants += 1;
            }
        }
        self.all.insert(id, frame);
    }

    /// The frames of a holder, in the order of their making.
    pub fn held(&self, test: impl Fn(&Holder) -> bool) -> Vec<FrameId> {
        let mut ids: Vec<FrameId> =
            self.all.iter().filter(|(_, f)| f.holder.as_ref().is_some_and(&test)).map(|(id, _)| *id).collect();
        ids.sort();
        ids
    }

    /// Forgets what nobody wants any more. Returns the frames whose data the engine can let go: those that no id stands for
    /// which somebody wants, whether their plans are still needed or not.
    pub fn sweep(&mut self, candidates: Vec<FrameId>) -> Vec<FrameId> {
        let mut released = Vec::new();
        let mut look = candidates;
        while let Some(id) = look.pop() {
            let Some(frame) = self.all.get(&id) else { continue };
            if frame.wanted() {
                continue;
            }
            let target = self.target(id);
            let gone = frame.dependants == 0;
            if gone && let Some(frame) = self.all.remove(&id) {
                for input in inputs(&frame.plan) {
                    if let Some(input) = self.all.get_mut(&input) {
                        input.dependants -= 1;
                    }
                    look.push(input);
                }
            }
            let still = self.all.iter().any(|(other, f)| f.wanted() && self.target(*other) == target);
            if !still && !released.contains(&target) {
                released.push(target);
            }
        }
        released
    }

    /// The steps that an engine needs before it has `id`, inputs first, ids ascending. `has` says what is there; below such
    /// frames nothing is needed.
    pub fn steps_for(&self, id: FrameId, has: &dyn Fn(FrameId) -> bool) -> Option<Vec<FrameId>> {
        let mut steps = Vec::new();
        let mut look = vec![self.target(id)];
        while let Some(id) = look.pop() {
            if has(id) || steps.contains(&id) {
                continue;
            }
            steps.push(id);
            look.extend(inputs(&self.all.get(&id)?.plan).into_iter().map(|i| self.target(i)));
        }
        // A frame's inputs are older than it.
        steps.sort();
        Some(steps)
    }

    /// Parks a frame. One of the same plan that was parked before is given up: it is a candidate for [`Frames::sweep`].
    pub fn park(&mut self, id: FrameId, parked: Parked) -> Option<FrameId> {
        let key = self.all.get(&id)?.key;
        let same = |f: &Frame| f.key == key && f.parked.as_ref().is_some_and(|p| p.notebook == parked.notebook);
        let earlier = self.all.iter().find(|(other, f)| **other != id && same(f)).map(|(other, _)| *other);
        if let Some(earlier) = earlier.and_then(|id| self.all.get_mut(&id)) {
            earlier.parked = None;
        }
        let frame = self.all.get_mut(&id)?;
        frame.holder = None;
        frame.parked = Some(parked);
        earlier
    }

    /// Ends the parking of the frames that `over` names; they are candidates for [`Frames::sweep`].
    pub fn unpark(&mut self, over: impl Fn(&Parked) -> bool) -> Vec<FrameId> {
        let found = self.all.iter_mut().filter(|(_, frame)| frame.parked.as_ref().is_some_and(&over));
        let ended = found.map(|(id, frame)| {
            frame.parked = None;
            *id
        });
        ended.collect()
    }

    /// The frames that were parked first, if any are.
    pub fn unpark_oldest(&mut self) -> Vec<FrameId> {
        match self.all.values().filter_map(|frame| frame.parked.as_ref().map(|p| p.until)).min() {
            Some(first) => self.unpark(|parked| parked.until <= first),
            None => Vec::new(),
        }
    }

    pub fn parked(&self) -> usize {
        self.all.values().filter(|frame| frame.parked.is_some()).count()
    }

    /// What a frame that is made in this way is called: see [`Frame::key`].
    pub fn key_of(&self, id: FrameId, plan: &Plan) -> u128 {
        let of = |id: FrameId| self.all.get(&id).map_or(u128::from(id.0), |frame| frame.key);
        match plan {
            // The rows that a cell sent are compared nowhere.
            Plan::Step { data: Some(_), .. } => u128::from(id.0),
            Plan::Step { op, .. } => {
                let keys: Vec<u128> = inputs(plan).into_iter().map(of).collect();
                onrush_logical::key::step(op, &keys)
            }
            Plan::Persist { input } => onrush_logical::key::hash(|h| ("persist", of(*input)).hash(h)),
            Plan::Alias { of: frame } => of(*frame),
        }
    }

    pub fn wanted_target(&self, id: FrameId) -> bool {
        self.all.iter().any(|(other, f)| f.wanted() && self.target(*other) == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(plan: Plan, held: bool) -> Frame {
        let holder =
            held.then(|| Holder { notebook: NotebookId("n".to_string()), generation: Generation(0), fresh: false });
        Frame {
            plan,
            schema: Schema::default(),
            title: String::new(),
            holder,
            published: 0,
            shown: 0,
            parked: None,
            key: 0,
            dependants: 0,
            rows: None,
        }
    }

    fn step(input: u64) -> Plan {
        Plan::Step { op: Op::Describe { input: FrameId(input) }, at: None, data: None, files: None }
    }

    #[test]
    fn plans_stay_while_something_is_made_from_them() {
        let mut frames = Frames::default();
        let source = Op::FromArrow { schema: Schema::default(), bytes: None };
        let source = Plan::Step { op: source, at: None, data: None, files: None };
        for plan in [source, step(1), step(2), Plan::Alias { of: FrameId(3) }] {
            let id = frames.new_id();
            frames.insert(id, frame(plan, true));
        }
        frames.get_mut(FrameId(2)).unwrap().holder = None;
        assert_eq!(frames.sweep(vec![FrameId(2)]), [FrameId(2)], "its data can go, its plan is needed");
        assert_eq!(frames.steps_for(FrameId(4), &|_| false).unwrap(), [FrameId(1), FrameId(2), FrameId(3)]);
        assert_eq!(frames.steps_for(FrameId(3), &|id| id == FrameId(1)).unwrap(), [FrameId(2), FrameId(3)]);
        frames.get_mut(FrameId(3)).unwrap().holder = None;
        assert!(frames.sweep(vec![FrameId(3)]).is_empty(), "the alias still wants it");
        frames.get_mut(FrameId(4)).unwrap().holder = None;
        let released = frames.sweep(vec![FrameId(4)]);
        assert!(released.contains(&FrameId(3)) && !released.contains(&FrameId(1)));
        assert!(frames.get(FrameId(2)).is_none() && frames.get(FrameId(1)).is_some());
    }

    #[test]
    fn a_plan_is_parked_once() {
        let mut frames = Frames::default();
        let now = Instant::now();
        let parked = |seconds| Parked {
            notebook: NotebookId("n".to_string()),
            until: now + std::time::Duration::from_secs(seconds),
        };
        let park = |frames: &mut Frames, of: u64, seconds| {
            let id = frames.new_id();
            let key = frames.key_of(id, &step(of));
            frames.insert(id, Frame { key, ..frame(step(of), true) });
            (id, frames.park(id, parked(seconds)))
        };
        let (first, nothing) = park(&mut frames, 100, 1);
        assert_eq!(nothing, None);
        let (other, nothing) = park(&mut frames, 101, 2);
        assert_eq!(nothing, None, "another plan");
        let (again, given_up) = park(&mut frames, 100, 3);
        assert_eq!((given_up, frames.parked()), (Some(first), 2));
        assert_eq!(frames.unpark_oldest(), [other]);
        assert_eq!(frames.unpark(|p| p.until <= now + std::time::Duration::from_secs(9)), [again]);
        assert_eq!((frames.parked(), frames.unpark_oldest()), (0, vec![]));
    }
}
