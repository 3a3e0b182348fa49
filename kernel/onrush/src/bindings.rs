//! Which variables of the running cell hold frames: `sql` finds them by name before the cell ends.

use std::sync::{Mutex, MutexGuard};

use onrush_wire::{FrameId, Generation};

use crate::frame::Frame;
use crate::host;

struct Bindings {
    generation: Generation,
    frames: Vec<(String, Frame)>,
}

static BINDINGS: Mutex<Bindings> = Mutex::new(Bindings { generation: Generation(0), frames: Vec::new() });

fn lock() -> MutexGuard<'static, Bindings> {
    let mut bindings = BINDINGS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let generation = host::context().map_or(Generation(0), |c| c.generation);
    if bindings.generation != generation {
        bindings.generation = generation;
        bindings.frames.clear();
    }
    bindings
}

/// A `let` of the cell bound a frame.
pub(crate) fn bind(name: &str, frame: &Frame) {
    let previous;
    {
        let mut bindings = lock();
        previous = bindings.frames.iter().position(|(known, _)| known == name).map(|at| bindings.frames.swap_remove(at));
        bindings.frames.push((name.to_string(), frame.clone()));
    }
    // Outside of the lock: the last handle of a frame takes another one.
    drop(previous);
}

/// The cell ended: what lives on is in the session's names.
#[doc(hidden)]
pub fn clear() {
    let frames = std::mem::take(&mut lock().frames);
    drop(frames);
}

pub(crate) fn current() -> Vec<(String, FrameId)> {
    lock().frames.iter().map(|(name, frame)| (name.clone(), frame.id())).collect()
}
