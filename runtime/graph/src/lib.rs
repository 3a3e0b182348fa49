//! Algorithms on graphs: NetworkX's names and results over nodes that are numbers.
//!
//! A [`Graph`] is made of edges between nodes `0..n`, numbered in ascending order of the user's ids by the caller. An
//! algorithm is a function of a graph, its parameters and, where it is long, a [`Run`]. Each algorithm repeats bit for
//! bit on any number of threads. Float sums have a fixed order (`parallel.rs`), and ties go to the lowest number of a
//! node. [`device`] has algorithms on a GPU. Knows no Arrow, no DataFusion and no session.

pub mod assortativity;
pub mod betweenness;
pub mod biconnected;
pub mod closeness;
pub mod cluster;
pub mod community;
pub mod components;
pub mod cores;
pub mod dag;
pub mod degree;
pub mod device;
pub mod distance_measures;
pub mod eigenvector;
pub mod error;
pub mod generate;
pub mod graph;
pub mod layout;
pub mod link_analysis;
pub mod parallel;
pub mod random;
pub mod run;
pub mod shortest_paths;
pub mod similarity;
mod symmetric;
pub mod traversal;
pub mod tree;
pub mod truss;
pub mod walks;

pub use error::{Error, ErrorKind};
pub use graph::{Graph, Rows};
pub use run::Run;
