//! Trees, forests and boosting.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! tree_estimators {
    ($then:ident) => {
        $then! {}
    };
}
