//! Relational operators: each one chooses the generated kernels that it needs, allocates their memory and launches
//! them. The source of the kernels is in `codegen/`.

pub mod explode;
pub mod group;
pub mod join;
pub mod lookup_table;
pub mod partition;
pub mod quantile;
pub mod sort;
pub mod window;
pub mod write;
