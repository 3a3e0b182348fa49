//! Trees, forests and boosting on binned features.
//!
//! Features are binned once to one byte a value (`bins`). Classification and regression trees are grown depth first or
//! best first (`grow`, `split`), boosted trees leaf by leaf from gradients (`leafwise`). Trained trees of both kinds
//! are stored and walked in one form (`tree`).

pub mod bins;
pub mod boost;
pub mod criterion;
pub mod forest;
pub mod grow;
mod leafwise;
mod loss;
mod split;
pub mod tree;

pub use boost::BoostedTrees;
pub use forest::Forest;
