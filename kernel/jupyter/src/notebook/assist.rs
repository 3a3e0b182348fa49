//! Completion, inspection and completeness, also while a cell runs: then from what the notebook was before that cell.

use std::time::Duration;

use onrush_cell::{Completeness, Completions, Inspection};

use super::Notebook;

/// A front end waits about this long before it gives up on completions; starting the executor may take longer.
const PATIENCE: Duration = Duration::from_secs(2);

impl Notebook {
    pub fn is_complete(&self, text: &str) -> Completeness {
        self.worker.names(Duration::ZERO).is_complete(text)
    }

    /// `cursor` counts code points.
    pub fn complete(&self, text: &str, cursor: usize) -> Completions {
        let cursor = cursor.min(text.chars().count());
        self.worker.names(PATIENCE).complete(text, cursor, &*self.session)
    }

    /// `detail` is Jupyter's level: 1 wants more.
    pub fn inspect(&self, text: &str, cursor: usize, detail: u8) -> Inspection {
        let cursor = cursor.min(text.chars().count());
        self.worker.names(PATIENCE).inspect(text, cursor, detail, &*self.session)
    }
}
