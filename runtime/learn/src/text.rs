//! Text: documents as counts of terms. Their outputs are sparse.

mod analyze;
mod documents;
pub mod hashing;
mod stop_words;
mod uses;
pub mod vectorizer;
pub mod weights;
mod words;

pub(crate) use documents::few_columns;
pub use hashing::Hashing;
pub use uses::documents;
pub(crate) use uses::{check_columns, takes_documents};
pub use vectorizer::Vectorizer;
pub use weights::Tfidf;
pub(crate) use words::packed;
