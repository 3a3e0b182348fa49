//! Matrices and their decompositions.

mod decompositions;
