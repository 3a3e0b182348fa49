//! Operators on the emulated device, without DataFusion: stages and Arrow arrays in, Arrow arrays out. One binary.
//!
//! Expected values come from Arrow's compute kernels, from a loop in the test that follows SQL's definition, or from a
//! calculation by hand; each test says from which.

mod ops {
    pub mod arithmetic;
    pub mod columns;
    pub mod explode;
    pub mod filter;
    pub mod group;
    pub mod join;
    pub mod partition;
    pub mod sort;
    pub mod strings;
    pub mod support;
    pub mod top_k;
    pub mod window;
}
