//! Models of other libraries. XGBoost trains in this process, and its files predict without it. LightGBM and CatBoost
//! train in a process of the active Python, and their models predict here.

pub mod catboost;
mod document;
mod find;
mod forest;
mod library;
pub mod lightgbm;
mod packed;
mod scores;
mod worker;
mod xgboost;

pub use library::LibraryModel;
pub use worker::Library;
pub use xgboost::{XgbModel, file, fit};
