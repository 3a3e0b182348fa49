//! Preprocessing.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! prepare_estimators {
    ($then:ident) => {
        $then! {}
    };
}
