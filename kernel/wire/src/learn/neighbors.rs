//! Nearest neighbours and naive Bayes.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! neighbors_estimators {
    ($then:ident) => {
        $then! {}
    };
}
