//! Expressions row by row, without an engine: lowered, evaluated on a record batch, and compared.

mod rows;
mod support;
