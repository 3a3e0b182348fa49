//! Nearest neighbours and naive Bayes.

pub mod tile;
