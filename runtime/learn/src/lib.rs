//! Estimators: scikit-learn's names and results over columns of numbers.
//!
//! [`fit()`] trains a [`Spec`] on [`Data`] and gives a [`FittedModel`]. The model predicts, transforms, has attributes,
//! and is written to a container ([`save`]). An estimator is a file in one of the families' folders, a line or two in
//! `estimators.rs`, and an entry in the table of `kernel/wire/src/learn`.
//!
//! Everything repeats: sums are in a fixed order on any number of threads, and random numbers come from a seed
//! (`random.rs`). Knows no Arrow, no DataFusion and no session.

mod categories;
pub mod check;
mod cluster;
pub mod compose;
pub mod data;
mod decomposition;
pub mod device;
mod elementary;
mod ensemble;
pub mod error;
mod estimators;
mod eval_set;
pub mod explain;
mod feature_selection;
mod fit;
mod foreign;
mod impute;
mod kernel_methods;
mod linear;
mod manifold;
pub mod metrics;
mod minimize;
mod mixture;
pub mod model;
mod neighbors;
mod neural;
pub mod params;
pub mod path;
mod prepare;
mod quantile;
pub mod random;
pub mod run;
pub mod save;
pub mod select;
pub mod split;
mod stored;
pub mod sums;
mod svm;
pub mod tensor;
mod text;
mod trees;
pub mod weights;

pub use data::{Column, Data, Kind};
pub use error::{Error, ErrorKind};
pub use estimators::{FittedModel, runs_on_device};
pub use fit::{ValidationCurve, cross_val_predict, cross_validate, fit, fit_transform, learning_curve};
pub use linear::t_distribution;
pub use model::{Attribute, Field, LinearScores, Link, Model, Output, Role, Values};
pub use neighbors::Neighbors;
pub use run::Run;
pub use tensor::Tensor;
pub use text::documents;

pub use onrush_wire::learn::{Param, Spec};
