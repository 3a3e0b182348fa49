//! Choice of features.
