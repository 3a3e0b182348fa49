//! Mixtures of normal distributions, and discriminant analysis.
