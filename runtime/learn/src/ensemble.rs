//! Gradient boosting of regression trees (`sklearn/ensemble/_gb.py`; Friedman 2001).

pub mod gradient_boosting;
mod losses;
mod model;

pub use model::GradientBoosted;
