//! CUDA kernels on the emulated device.

mod cache;
mod conformance;
mod graph;
mod headers;
mod optimise;
