//! Models of other libraries: XGBoost through its own library, and its files without it.

mod document;
mod forest;
mod xgboost;

pub use xgboost::{XgbModel, file, fit};
