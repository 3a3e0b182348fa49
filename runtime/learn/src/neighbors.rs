//! Nearest neighbours and naive Bayes.

pub mod bayes;
pub mod categorical;
pub mod discrete;
pub mod multinomial;
pub mod search;
pub mod tile;
pub mod tree;
pub mod vote;

pub use bayes::GaussianNb;
pub use categorical::CategoricalNb;
pub use discrete::DiscreteNb;
pub use multinomial::MultinomialNb;
pub use search::Neighbors;
pub use vote::{Nearest, Vote};
