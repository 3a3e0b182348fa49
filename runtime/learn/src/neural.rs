//! Models trained by stochastic gradients: perceptrons of several layers, and linear models.

mod descent;
pub mod mlp;
mod network;
mod optimizer;
pub mod stochastic;

pub use mlp::Perceptrons;
pub use stochastic::Stochastic;
