//! Manifolds: maps of rows in two or three dimensions.

mod affinities;
mod quadtree;
pub mod tsne;

pub use tsne::Tsne;
