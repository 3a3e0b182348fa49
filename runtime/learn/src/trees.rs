//! Trees, forests and boosting on binned features.
//!
//! Features are binned once to one byte a value (`bins`). Classification and regression trees are grown depth first or
//! best first (`grow`, `split`), boosted trees leaf by leaf from gradients (`leafwise`). Trained trees of both kinds
//! are stored and walked in one form (`tree`).

mod bins;
pub mod boost;
mod criterion;
pub mod forest;
mod grow;
mod leafwise;
mod loss;
mod split;
mod tree;

pub use boost::BoostedTrees;
pub use forest::Forest;
