//! Decompositions of matrices, and random projections.

pub mod factor_analysis;
pub mod ica;
pub mod incremental;
pub(crate) mod linear_map;
pub mod nmf;
pub mod pca;
pub mod projections;
mod randomized;
mod sparse;

pub use linear_map::LinearMap;
pub use nmf::Factorization;
pub use pca::Projection;
