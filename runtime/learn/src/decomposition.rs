//! Decompositions of matrices.

pub mod pca;

pub use pca::Projection;
