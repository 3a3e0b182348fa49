//! Manifolds: maps of rows in two or three dimensions.

mod affinities;
mod embedded;
pub mod isomap;
pub mod locally_linear;
pub mod mds;
mod quadtree;
pub mod spectral;
pub mod tsne;

pub use embedded::EmbeddedRows;
pub use isomap::Isomap;
pub use locally_linear::LocallyLinear;
pub use tsne::Tsne;
