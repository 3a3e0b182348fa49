//! Manifolds: maps of rows in two or three dimensions.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! manifold_estimators {
    ($then:ident) => {
        $then! {
        }
    };
}
