//! The process group that an interrupt stops: one at a time. Processes that earlier cells have started are spared.

use onrush_wire::{Class, Diagnostic};
use parking_lot::Mutex;

use crate::interface::Interrupt;
use crate::procfs::{interrupt_group, kill_group};

/// Says that a failed cell has changed no variable.
pub const KEPT: &str = "all variables are as they were before it";

/// Reports that work for a cell was stopped before the cell's own code ran.
pub fn interrupted() -> Diagnostic {
    interrupted_and(KEPT)
}

/// Reports that a cell was stopped; `variables` says what became of the variables.
pub fn interrupted_and(variables: &str) -> Diagnostic {
    Diagnostic::error(Class::Interrupted, "interrupted", format!("the cell was interrupted, and {variables}"))
}

/// The work that can be stopped at this moment, shared with [`Interrupt`]ers.
#[derive(Default)]
pub struct InterruptToken {
    state: Mutex<StopState>,
}

#[derive(Default)]
struct StopState {
    /// A process group to kill.
    group: Option<i32>,
    /// Processes of that group that are not killed.
    spared: Vec<i32>,
    /// The group is asked to stop (SIGINT) and not killed.
    is_asked: bool,
    busy: bool,
    interrupted: bool,
}

impl InterruptToken {
    /// A cell begins: an interrupt from here on counts.
    pub fn begin(&self) {
        *self.state.lock() = StopState { busy: true, ..StopState::default() };
    }

    pub fn end(&self) {
        *self.state.lock() = StopState::default();
    }

    /// Makes a process group the one to stop; `false` if it was interrupted already.
    pub fn watch(&self, group: i32) -> bool {
        self.watch_sparing(group, Vec::new())
    }

    /// The same, but these processes of the group live on.
    pub fn watch_sparing(&self, group: i32, spared: Vec<i32>) -> bool {
        let mut state = self.state.lock();
        (state.group, state.spared, state.is_asked) = (Some(group), spared, false);
        !state.interrupted
    }

    /// Makes a process group the one that an interrupt asks to stop with SIGINT. `false` if it was interrupted already.
    pub fn watch_asking(&self, group: i32) -> bool {
        let mut state = self.state.lock();
        (state.group, state.spared, state.is_asked) = (Some(group), Vec::new(), true);
        !state.interrupted
    }

    /// Call before the process is reaped, so that its id cannot belong to another one when a signal is sent.
    pub fn unwatch(&self) {
        self.state.lock().group = None;
    }

    /// The code of the cell has come to its end: an interrupt from here on does nothing. `false` if one came before.
    pub fn settle(&self) -> bool {
        let mut state = self.state.lock();
        state.group = None;
        state.busy = state.interrupted;
        !state.interrupted
    }

    pub fn interrupted(&self) -> bool {
        self.state.lock().interrupted
    }
}

impl Interrupt for InterruptToken {
    fn interrupt(&self) {
        let mut state = self.state.lock();
        if state.busy {
            state.interrupted = true;
            match state.group {
                Some(group) if state.is_asked => interrupt_group(group),
                Some(group) => kill_group(group, &state.spared),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupt_counts_until_the_cell_has_come_to_its_end() {
        let stop = InterruptToken::default();
        stop.begin();
        assert!(stop.settle());
        stop.interrupt();
        assert!(!stop.interrupted(), "the cell has ended");
        stop.begin();
        stop.interrupt();
        assert!(!stop.settle() && stop.interrupted(), "it came before the end");
    }
}
