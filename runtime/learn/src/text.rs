//! Text: documents as counts of terms. Their outputs are sparse.
