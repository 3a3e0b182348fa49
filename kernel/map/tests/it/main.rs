//! Projections of maps.

mod d3;
