//! Choice of features: by scores of single features, and by what estimators learn. The training of the second kind is
//! in `select/selectors.rs`, because it trains other estimators.

mod distribution;
mod mutual;
pub mod scores;
pub mod selection;
pub mod univariate;

pub use selection::{CvScores, Selection};
pub use univariate::Univariate;
