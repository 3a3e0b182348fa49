//! Support vector machines.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! svm_estimators {
    ($then:ident) => {
        $then! {
        }
    };
}
