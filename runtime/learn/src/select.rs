//! Model selection: splits of rows, scores of fitted models, cross-validation, searches of parameters, evaluations.

pub mod candidates;
pub mod evaluate;
pub mod score;
pub mod search;
#[cfg(test)]
mod tests;
pub mod validate;

pub use crate::split::{splits, train_test_split};
pub use evaluate::evaluate;
pub use score::score;
pub use validate::Fold;
