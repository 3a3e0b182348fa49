//! What is done when controls change: closures of cells, which live as long as their control is on the screen or in a variable.
//!
//! They are the main thread's, as cells are, and belong to the snapshot as variables do.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::handle::{Handle, WeakHandle};

/// How long a reaction is kept.
pub enum Life {
    /// As long as the control is shown, or in a variable.
    Control(WeakHandle),
    /// As long as the control of this id is shown.
    Shown(String),
}

struct Reaction {
    to: Vec<String>,
    life: Life,
    /// Taken out while it runs.
    action: Option<Box<dyn FnMut()>>,
}

#[derive(Default)]
struct Reactions {
    all: Vec<Reaction>,
    /// What is on the screen lives, whether a variable holds it or not.
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

/// Called by the host: runs what is to be done when these controls change, each once, in the order in which cells said so.
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

/// Called by the host: these controls are on no screen any more.
pub fn forget(ids: &[String]) {
    let gone: Vec<Option<Handle>> =
        REACTIONS.with_borrow_mut(|reactions| ids.iter().map(|id| reactions.shown.remove(id)).collect());
    drop(gone);
    drop_dead();
}

/// Called by the host: variables are gone, and so is this.
pub fn forget_all() {
    let Reactions { all, shown } = REACTIONS.take();
    let _ = catch_unwind(AssertUnwindSafe(|| drop((all, shown))));
}

/// Called between reactions only: their indexes stay while they run. What closures hold is the user's, and so is what it does when it
/// is dropped: to drop other controls, for one.
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
