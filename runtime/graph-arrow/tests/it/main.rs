//! Calls of graph algorithms over Arrow columns.

mod calls;
mod numbering;
mod table;
