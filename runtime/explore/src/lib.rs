//! Views of frames for people: pages and summaries of a table explorer, the data of plots, pictures and cards of
//! graphs.
//!
//! Stands above the engine, which does not know it. Knows no DataFusion, no devices and no drawing (`widgets/view`).

mod dashboard;
mod explorer;
mod graph;
mod plot;
mod views;

pub use dashboard::Dashboards;
pub use explorer::Explorer;
pub use graph::{Pictures, graph_card};
pub use plot::{Rasters, plot};
pub use views::Views;
