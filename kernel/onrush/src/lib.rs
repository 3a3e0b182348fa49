//! The crate that cells use: frames, expressions, display. Cells import [`prelude`] by default.
//!
//! Everything here is a handle or a message: work is done by the session. It holds no resident data and starts no threads,
//! so that the cell process can be forked and killed freely.

#[doc(hidden)]
pub mod host;
