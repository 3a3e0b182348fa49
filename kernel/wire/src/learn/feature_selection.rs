//! Choice of features.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! feature_selection_estimators {
    ($then:ident) => {
        $then! {
        }
    };
}
