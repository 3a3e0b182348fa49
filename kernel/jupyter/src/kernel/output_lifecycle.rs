//! Cells whose outputs are gone although they did not run again. A front end says so by opening a comm that is closed
//! at once, because the protocol has no message for it. Comms of these outputs are closed and their frames in the
//! session released at once, also while a cell runs. Their controls in the cell process are dropped when the queue
//! comes to them.
//!
//! A page that shows the notebook may say that it is there, by a comm that stays open, and which cells' outputs hold
//! something. Some time after the last of them has closed its comm, nobody looks at these outputs any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use super::Kernel;
use super::comms::{Message, Target};

/// The cells' ids are in `data.gone`, or those of a page in `data.holding`.
pub const NAME: &str = "onrush.outputs";
/// A page that was left for longer does not come back.
const LONGEST: f64 = 3600.0;

pub struct OutputLifecycle {
    kernel: Weak<Kernel>,
    pages: Arc<Mutex<Pages>>,
}

#[derive(Default)]
struct Pages {
    /// By their comms, with how long to wait for one that was left.
    open: BTreeMap<String, Duration>,
    /// Cells of which a page has said that their outputs hold something.
    holding: BTreeSet<String>,
    /// How many have been opened so far.
    opened: u64,
}

impl OutputLifecycle {
    pub fn new(kernel: &Arc<Kernel>) -> OutputLifecycle {
        OutputLifecycle { kernel: Arc::downgrade(kernel), pages: Arc::default() }
    }
}

impl Target for OutputLifecycle {
    fn open(&self, message: &Message<'_>) -> bool {
        if let Some(seconds) = message.data["page"]["patience"].as_f64() {
            let patience = Duration::from_secs_f64(if seconds >= 0.0 { seconds.min(LONGEST) } else { 0.0 });
            let mut pages = self.pages.lock();
            pages.opened += 1;
            pages.open.insert(message.comm.to_string(), patience);
            return true;
        }
        if let Some(kernel) = self.kernel.upgrade() {
            release(&kernel, message.header, cells(&message.data["gone"]));
        }
        // There is nothing more to say.
        false
    }

    fn message(&self, message: &Message<'_>) {
        self.pages.lock().holding.extend(cells(&message.data["holding"]));
    }

    fn closed(&self, comm: &str) {
        let (patience, opened) = {
            let mut pages = self.pages.lock();
            let Some(patience) = pages.open.remove(comm) else { return };
            (patience, pages.opened)
        };
        let (pages, kernel) = (Arc::clone(&self.pages), Weak::clone(&self.kernel));
        // If no thread can be had, the outputs keep what they hold.
        let _ = std::thread::Builder::new().name("page left".to_string()).spawn(move || {
            std::thread::sleep(patience);
            let mut pages = pages.lock();
            if !pages.open.is_empty() || pages.opened != opened {
                return;
            }
            let holding = std::mem::take(&mut pages.holding);
            drop(pages);
            if let Some(kernel) = kernel.upgrade() {
                release(&kernel, &Value::Null, holding.into_iter().collect());
            }
        });
    }
}

fn cells(ids: &Value) -> Vec<String> {
    ids.as_array().into_iter().flatten().filter_map(|cell| cell.as_str().map(str::to_string)).collect()
}

fn release(kernel: &Kernel, parent: &Value, mut gone: Vec<String>) {
    // It has begun to show new ones since this was said.
    gone.retain(|cell| !kernel.queue.is_running(cell));
    for cell in &gone {
        kernel.comms.release(parent, cell);
        kernel.explorer.forget(cell);
    }
    if !gone.is_empty() {
        kernel.queue.gone(gone);
    }
}
