//! Reports of models.

use onrush_wire::display::Content;

use crate::display::{Show, offer};
use crate::frame::Frame;
use crate::plot::Plot;

/// How good a model is on the rows of a frame; see [`Model::report`](super::Model::report).
#[derive(Clone)]
pub struct Report {
    pub(super) table: Frame,
    pub(super) plot: Plot,
}

impl Report {
    /// The numbers of the report.
    pub fn table(&self) -> Frame {
        self.table.clone()
    }

    /// The plots of the report.
    pub fn plot(&self) -> Plot {
        self.plot.clone()
    }
}

impl Show for Report {
    #[track_caller]
    fn content(&self) -> Option<Content> {
        crate::display::show(&self.table);
        self.plot.content()
    }
}

impl std::fmt::Debug for Report {
    #[track_caller]
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if offer(self, || self.content().unwrap_or(Content::Text(String::new()))) {
            return Ok(());
        }
        f.write_str("a report of a model")
    }
}
