//! Estimators, splitters and metrics against scikit-learn, statsmodels, NIST and XGBoost.

mod cluster;
mod ensemble;
mod foreign;
mod glm;
mod linear;
mod neural;
mod prepare;
mod select;
mod support;
mod text;
mod trees;
