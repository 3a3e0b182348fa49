//! Mixtures of normal distributions, and discriminant analysis.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! mixture_estimators {
    ($then:ident) => {
        $then! {
        }
    };
}
