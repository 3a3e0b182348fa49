//! Text: documents as counts of terms. Their outputs are sparse.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! text_estimators {
    ($then:ident) => {
        $then! {
        }
    };
}
