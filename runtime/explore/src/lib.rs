//! Views of frames for people: pages and summaries of a table explorer, and the data of plots.
//!
//! Stands above the engine, which does not know it. Knows no DataFusion, no devices and no drawing (`widgets/view`).

mod explorer;
mod plot;

pub use explorer::Explorer;
pub use plot::plot;
