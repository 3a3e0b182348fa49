//! Estimators, splitters and metrics against scikit-learn, statsmodels, NIST, XGBoost, LightGBM and CatBoost.

mod cluster;
mod decomposition;
mod discrete;
mod ensemble;
mod foreign;
mod glm;
mod halving;
mod kernel_methods;
mod libraries;
mod linear;
mod manifold;
mod mixture;
mod neural;
mod outliers;
mod partitions;
mod prepare;
mod robust;
mod select;
mod selection;
mod studies;
mod support;
mod svm;
mod text;
mod tpe;
mod trees;
mod validation;
