//! The variables of the notebook, and those of the running cell that hold frames: `sql` finds those by name before
//! their cell ends, and an unknown column of a variable's name gets a hint.
//!
//! Nothing is kept alive here: a binding goes when the last handle does.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use onrush_wire::{FrameId, Generation};

use crate::process;

/// The id of a frame; `None` if its last handle was dropped.
type WeakId = Box<dyn Fn() -> Option<FrameId> + Send>;

struct Bindings {
    generation: Generation,
    frames: Vec<(String, WeakId)>,
    variables: BTreeSet<String>,
}

static BINDINGS: Mutex<Bindings> =
    Mutex::new(Bindings { generation: Generation(0), frames: Vec::new(), variables: BTreeSet::new() });

fn lock() -> MutexGuard<'static, Bindings> {
    let mut bindings = BINDINGS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let generation = process::context().map_or(Generation(0), |c| c.generation);
    if bindings.generation != generation {
        bindings.generation = generation;
        bindings.frames.clear();
    }
    bindings
}

/// A `let` bound a frame. It shadows an earlier one of that name.
pub(crate) fn bind(name: &str, frame: impl Fn() -> Option<FrameId> + Send + 'static) {
    bind_name(name);
    let mut bindings = lock();
    bindings.frames.retain(|(known, frame)| known != name && frame().is_some());
    bindings.frames.push((name.to_string(), Box::new(frame)));
}

/// A `let` bound something.
pub(crate) fn bind_name(name: &str) {
    lock().variables.insert(name.to_string());
}

pub(crate) fn is_variable(name: &str) -> bool {
    lock().variables.contains(name)
}

/// A cell ended: from here on its variables are among the session's names.
pub fn clear() {
    lock().frames.clear();
}

pub(crate) fn current() -> Vec<(String, FrameId)> {
    lock().frames.iter().filter_map(|(name, frame)| Some((name.clone(), frame()?))).collect()
}
