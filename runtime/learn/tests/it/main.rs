//! Estimators, splitters and metrics against scikit-learn, statsmodels, NIST and XGBoost.

mod cluster;
mod foreign;
mod linear;
mod prepare;
mod select;
mod support;
mod text;
mod trees;
