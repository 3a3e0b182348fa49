//! Kernel methods without support vectors: approximations of kernels, kernel ridge regression, densities, and Gaussian
//! processes.

pub mod density;
pub mod features;
mod pairwise;
pub mod ridge;

pub use density::KernelDensity;
pub use features::{FourierFeatures, Nystroem};
pub use pairwise::PairwiseKernel;
pub use ridge::KernelRidge;
