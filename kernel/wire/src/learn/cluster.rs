//! Clustering.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! cluster_estimators {
    ($then:ident) => {
        $then! {}
    };
}
