//! Estimators made of estimators.

pub mod path;
