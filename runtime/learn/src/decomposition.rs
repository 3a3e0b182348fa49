//! Decompositions of matrices.

pub mod pca;
mod sparse;

pub use pca::Projection;
