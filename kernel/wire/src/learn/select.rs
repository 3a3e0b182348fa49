//! Model selection.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! select_estimators {
    ($then:ident) => {
        $then! {}
    };
}
