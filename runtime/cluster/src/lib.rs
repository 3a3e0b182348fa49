//! Plans on several machines: workers, what travels to them, and the queries that they run together.
//!
//! The engine below is `datafusion-distributed`. It cuts a physical plan into stages at its exchanges. The tasks of a
//! stage run on workers, and rows stream from task to task. This crate holds the parts that the engine leaves to its
//! users:
//! - authentication ([`Identity`]),
//! - how plans with functions of ours are written ([`codec`]),
//! - which files a task reads ([`files`]),
//! - what happens when a worker is gone ([`query`]).
//!
//! Knows no sockets of notebooks and no names.

mod address;
mod build;
mod channel;
mod cluster;
mod codec;
mod column_cache;
mod errors;
mod files;
mod identity;
mod keys;
mod leaves;
mod plan_node;
mod progress;
mod query;
mod signed_plan;
mod worker;

pub use address::Address;
pub use build::build_id;
pub use cluster::{Cluster, Settings};
pub use identity::Identity;
pub use query::{ClusterExec, ClusterQuery};
pub use worker::{WorkerOptions, serve};

use onrush_wire::{Class, Diagnostic};

/// An error of the cluster as a whole: a worker, its address, the token.
fn failed(code: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Class::Environment, code, message)
}
