//! Callbacks of controls: closures of cells, which live as long as their control is on the screen or in a variable.
//!
//! They run on the main thread, as cells do, and belong to the snapshot, as variables do.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::handle::{Handle, WeakHandle};

/// The lifetime of a callback.
pub enum Life {
    /// As long as the control is shown, or in a variable.
    Control(WeakHandle),
    /// As long as the control of this id is shown.
    Shown(String),
}

struct Reaction {
    to: Vec<String>,
    life: Life,
    /// The closure; `None` while it runs.
    action: Option<Box<dyn FnMut()>>,
}

#[derive(Default)]
struct Reactions {
    all: Vec<Reaction>,
    /// Keeps the control of this id alive while it is on the screen, whether a variable holds it or not.
    shown: BTreeMap<String, Handle>,
}

thread_local! {
    static REACTIONS: RefCell<Reactions> = RefCell::default();
}

pub fn add(to: Vec<String>, life: Life, action: Box<dyn FnMut()>) {
    REACTIONS.with_borrow_mut(|reactions| reactions.all.push(Reaction { to, life, action: Some(action) }));
}

pub fn show(id: &str, handle: &Handle) {
    let before = REACTIONS.with_borrow_mut(|reactions| reactions.shown.insert(id.to_string(), handle.clone()));
    drop(before);
}

pub fn is_shown(id: &str) -> bool {
    REACTIONS.with_borrow(|reactions| reactions.shown.contains_key(id))
}

/// Called by the host: runs the callbacks of changed controls, each once, in the order of registration.
pub fn react(changed: &[String]) {
    drop_dead();
    let count = REACTIONS.with_borrow(|reactions| reactions.all.len());
    for index in 0..count {
        let action = REACTIONS.with_borrow_mut(|reactions| {
            let reaction = reactions.all.get_mut(index)?;
            if reaction.to.iter().any(|id| changed.contains(id)) { reaction.action.take() } else { None }
        });
        // A panic ends in a rollback: the snapshot has the closure.
        let Some(mut action) = action else { continue };
        action();
        REACTIONS.with_borrow_mut(|reactions| {
            if let Some(reaction) = reactions.all.get_mut(index) {
                reaction.action = Some(action);
            }
        });
    }
}

/// Called by the host: the controls are on no screen any more.
pub fn forget(ids: &[String]) {
    let gone: Vec<Option<Handle>> =
        REACTIONS.with_borrow_mut(|reactions| ids.iter().map(|id| reactions.shown.remove(id)).collect());
    drop(gone);
    drop_dead();
}

/// Called by the host: variables were dropped.
pub fn forget_all() {
    let Reactions { all, shown } = REACTIONS.take();
    let _ = catch_unwind(AssertUnwindSafe(|| drop((all, shown))));
}

/// Drops dead callbacks. Called between callbacks only, because their indexes stay while they run. Dropping a closure
/// runs user code, which may drop other controls.
fn drop_dead() {
    loop {
        let dead: Vec<Reaction> = REACTIONS.with_borrow_mut(|Reactions { all, shown }| {
            let lives = |reaction: &Reaction| match &reaction.life {
                Life::Control(handle) => handle.is_alive(),
                Life::Shown(id) => shown.contains_key(id),
            };
            let (kept, dead) = std::mem::take(all).into_iter().partition(lives);
            *all = kept;
            dead
        });
        if dead.is_empty() {
            return;
        }
        let _ = catch_unwind(AssertUnwindSafe(|| drop(dead)));
    }
}
