//! Operators on the emulated device, without DataFusion: stages and Arrow arrays in, Arrow arrays out. One binary.
//!
//! Expected values come from Arrow's compute kernels, from a loop in the test that follows SQL's definition, or from a
//! calculation by hand. Each test names its source.

mod arithmetic;
mod chunked;
mod columns;
mod explode;
mod few_strings;
mod filter;
mod group;
mod join;
mod partition;
mod sort;
mod strings;
mod support;
mod top_k;
mod udf;
mod window;
