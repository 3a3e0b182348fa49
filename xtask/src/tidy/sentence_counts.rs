//! How many sentences and lines of comments break the rules of `sentences`, for each crate.
//!
//! The numbers only shrink, and a crate without a row has none. `cargo xtask tidy --counts` prints the rows.

/// The limits of one crate.
pub struct Standing {
    pub folder: &'static str,
    pub sentences: usize,
    pub wide_lines: usize,
}

const fn standing(folder: &'static str, sentences: usize, wide_lines: usize) -> Standing {
    Standing { folder, sentences, wide_lines }
}

#[rustfmt::skip]
pub const STANDING: &[Standing] = &[
    standing("kernel/cell", 262, 186),
    standing("kernel/files", 3, 0),
    standing("kernel/host", 24, 29),
    standing("kernel/jupyter", 113, 68),
    standing("kernel/macros", 2, 11),
    standing("kernel/map", 5, 11),
    standing("kernel/onrush", 67, 224),
    standing("kernel/stats", 6, 8),
    standing("kernel/wire", 113, 79),
    standing("kernels", 201, 209),
    standing("runtime/dense", 2, 2),
    standing("runtime/device", 136, 112),
    standing("runtime/engine", 75, 54),
    standing("runtime/explore", 79, 42),
    standing("runtime/expr", 50, 52),
    standing("runtime/features", 0, 1),
    standing("runtime/frame", 16, 15),
    standing("runtime/gpu", 117, 82),
    standing("runtime/graph", 79, 20),
    standing("runtime/graph-calls", 11, 15),
    standing("runtime/graph-io", 6, 3),
    standing("runtime/io", 72, 72),
    standing("runtime/learn", 93, 18),
    standing("runtime/logical", 17, 20),
    standing("runtime/ops", 213, 84),
    standing("runtime/optimizer", 15, 30),
    standing("runtime/oracle", 27, 23),
    standing("runtime/parallel", 25, 35),
    standing("runtime/places", 8, 8),
    standing("runtime/plan-tests", 50, 72),
    standing("runtime/session", 44, 41),
    standing("runtime/sql", 79, 78),
    standing("runtime/worker", 43, 24),
    standing("widgets/view", 42, 36),
    standing("widgets/web", 19, 36),
];
