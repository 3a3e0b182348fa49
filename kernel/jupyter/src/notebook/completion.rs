//! Completion, inspection and completeness, also while a cell runs: then from what the notebook was before that cell.

use std::sync::atomic::Ordering;
use std::time::Duration;

use onrush_cell::{Completeness, Completions, Inspection};
use onrush_view::Bundle;
use onrush_wire::{Class, Diagnostic};

use super::Notebook;

/// A front end waits about this long before it gives up on completions; starting the executor may take longer.
const PATIENCE: Duration = Duration::from_secs(2);

impl Notebook {
    pub fn is_complete(&self, text: &str) -> Completeness {
        self.worker.names(Duration::ZERO).is_complete(text)
    }

    /// The number of a request, in the order in which they came.
    pub fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }

    /// `cursor` counts code points.
    pub fn complete(&self, text: &str, cursor: usize, turn: u64) -> Completions {
        let cursor = cursor.min(text.chars().count());
        self.worker.names(PATIENCE).complete(text, cursor, turn, &*self.session)
    }

    /// `detail` is Jupyter's level: 1 wants more.
    pub fn inspect(&self, text: &str, cursor: usize, detail: u8, turn: u64) -> Inspection {
        let cursor = cursor.min(text.chars().count());
        self.worker.names(PATIENCE).inspect(text, cursor, detail, turn, &*self.session)
    }

    /// The answer to a cell such as `name?`. `None` for a cell that is none.
    pub fn answer(&self, text: &str) -> Option<Result<Bundle, Diagnostic>> {
        let names = self.worker.names(Duration::ZERO);
        let (subject, detail) = names.question(text)?;
        if !text.trim_start().starts_with('?') && names.is_tried(subject, self.turn(), &*self.session) {
            return None;
        }
        let found = self.inspect(subject, subject.chars().count(), detail, self.turn());
        if !found.found {
            let message = format!("nothing is known about `{subject}`");
            let help = "`:vars` lists the variables; Shift-Tab explains what stands in code";
            return Some(Err(Diagnostic::error(Class::Compile, "unknown-name", message).help(help)));
        }
        Some(Ok(described(found.plain(), found.markdown)))
    }
}

/// The text of an inspection in two forms.
pub fn described(plain: String, markdown: String) -> Bundle {
    let mut data = Bundle::new();
    data.insert("text/plain".to_string(), plain.into());
    data.insert("text/markdown".to_string(), markdown.into());
    data
}
