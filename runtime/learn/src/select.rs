//! Model selection: splits of rows, scores of fitted models, cross-validation and searches of parameters.

pub mod split;
