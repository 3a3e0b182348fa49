//! The real executable, spoken to as a kernel process and cell processes do.

mod adverse;
mod catalog;
mod client;
mod concurrency;
mod connection;
mod databases;
mod limits;
mod memfd;
mod names;
mod requests;
mod support;
mod thread_pool;
