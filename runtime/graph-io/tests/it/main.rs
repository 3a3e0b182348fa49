//! Files of graphs against NetworkX, and files that are not what their format says.

mod bad_input;
mod compressed;
mod files;
mod property;
mod support;
mod untyped;
