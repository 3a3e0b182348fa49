//! Boosting by trees and by weights.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! ensemble_estimators {
    ($then:ident) => {
        $then! {
        }
    };
}
