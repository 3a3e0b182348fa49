//! Manifolds: maps of rows in two or three dimensions.
