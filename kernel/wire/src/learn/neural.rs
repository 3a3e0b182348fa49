//! Models trained by stochastic gradients: linear ones and perceptrons of several layers.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! neural_estimators {
    ($then:ident) => {
        $then! {
        }
    };
}
