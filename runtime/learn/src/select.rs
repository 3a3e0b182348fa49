//! Model selection: splits of rows, scores of fitted models, cross-validation, searches of parameters, evaluations.

pub mod candidates;
pub mod evaluate;
pub mod importance;
mod learning;
mod predict;
pub mod score;
pub mod search;
pub mod selectors;
pub mod shap;
#[cfg(test)]
mod tests;
pub mod tpe;
pub mod validate;

pub use crate::split::{splits, train_test_split};
pub use evaluate::evaluate;
pub(crate) use learning::learning_curve;
pub(crate) use predict::cross_val_predict;
pub use score::score;
pub use shap::{Explanation, ShapOptions, shap};
pub use validate::Fold;
