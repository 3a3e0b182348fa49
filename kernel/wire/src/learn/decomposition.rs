//! Decompositions.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! decomposition_estimators {
    ($then:ident) => {
        $then! {}
    };
}
