//! Model selection: splits of rows, scores of fitted models, cross-validation, searches of parameters, evaluations.

pub mod candidates;
pub mod evaluate;
pub mod score;
pub mod search;
pub mod split;
#[cfg(test)]
pub(crate) mod tests;
pub mod validate;

pub use evaluate::evaluate;
pub use score::score;
pub use split::{splits, train_test_split};
pub use validate::{Fold, cross_validate};
