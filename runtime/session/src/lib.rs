//! The session: what outlives cells. One executable in two roles.
//!
//! - [`supervisor`]: connections, names, the plan of every live frame, tasks. No DataFusion work, no CUDA.
//! - [`engine`]: a child process that holds the data and runs plans (`onrush-engine`). It may die; the supervisor
//!   starts another one and rebuilds frames from their plans when they are next used.
//!
//! Clients speak `onrush_wire::session` to the supervisor ([`connection`]); the supervisor speaks [`protocol`] to its
//! engine.

pub mod connection;
pub mod engine;
pub mod memfd;
pub mod protocol;
pub mod supervisor;
#[doc(hidden)]
pub mod thread_pool;
