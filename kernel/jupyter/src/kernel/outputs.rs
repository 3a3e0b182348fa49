//! Cells whose outputs are gone although they did not run again: a front end says so, because nothing in the protocol does, by
//! opening a comm that is closed at once. What these outputs held is released at once, and also while a cell runs; what the cell
//! process holds for them, in its turn.

use std::sync::{Arc, Weak};

use super::Kernel;
use super::comms::{Message, Target};

/// The cells' ids are in `data.gone`.
pub const NAME: &str = "onrush.outputs";

pub struct Outputs {
    kernel: Weak<Kernel>,
}

impl Outputs {
    pub fn new(kernel: &Arc<Kernel>) -> Outputs {
        Outputs { kernel: Arc::downgrade(kernel) }
    }
}

impl Target for Outputs {
    fn open(&self, message: &Message<'_>) -> bool {
        let Some(kernel) = self.kernel.upgrade() else { return false };
        let gone = message.data["gone"].as_array().into_iter().flatten().filter_map(|cell| cell.as_str());
        let gone: Vec<String> = gone
            // It has begun to show new ones since this was said.
            .filter(|cell| !kernel.queue.is_running(cell))
            .map(str::to_string)
            .collect();
        for cell in &gone {
            kernel.comms.release(message.header, cell);
            kernel.explorer.forget(cell);
        }
        if !gone.is_empty() {
            kernel.queue.gone(gone);
        }
        // There is nothing more to say.
        false
    }

    fn message(&self, _message: &Message<'_>) {}

    fn closed(&self, _comm: &str) {}
}
