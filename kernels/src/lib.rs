//! CUDA kernels: their headers (`cuda/`), the code that compiles, caches and launches them, and a library of fixed
//! algorithms. Each algorithm has a host reference, tuning data, a test and a benchmark.
//!
//! Not here: devices and memory (`runtime/device`), and kernels generated from plans. Generated kernels are written in
//! the same headers and compiled by the same `Library`.

mod cache;
mod column;
mod error;
mod launch;
mod library;
mod scalar;

pub mod conformance;
pub mod crossfilter;
pub mod dates;
pub mod decimal;
pub mod dictionary;
pub mod gather;
pub mod graph;
pub mod headers;
pub mod matrix;
pub mod raster;
pub mod reduce;
pub mod scan;
pub mod sort;
pub mod top_k;

pub use cache::CacheStatistics;
#[doc(hidden)]
pub use cache::DiskCache;
pub use column::Column;
pub use error::{Error, Result};
pub use library::{Context, Library, Program, is_compiling};
pub use scalar::Scalar;
