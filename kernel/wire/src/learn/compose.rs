//! Estimators made of estimators.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! compose_estimators {
    ($then:ident) => {
        $then! {}
    };
}
