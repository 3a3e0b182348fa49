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
    standing("kernel/files", 1, 0),
    standing("kernel/jupyter", 5, 1),
    standing("kernel/macros", 1, 0),
    standing("kernel/onrush", 14, 0),
    standing("kernel/wire", 88, 0),
    standing("kernels", 3, 0),
    standing("runtime/dense", 2, 0),
    standing("runtime/engine", 53, 0),
    standing("runtime/explore", 3, 0),
    standing("runtime/expr", 1, 0),
    standing("runtime/graph", 9, 0),
    standing("runtime/logical", 1, 0),
    standing("runtime/ops", 1, 0),
    standing("runtime/optimizer", 1, 0),
    standing("runtime/oracle", 3, 0),
    standing("runtime/parallel", 2, 0),
    standing("runtime/plan-tests", 50, 0),
    standing("runtime/session", 44, 0),
    standing("widgets/view", 1, 0),
    standing("widgets/web", 13, 12),
    standing("xtask", 1, 1),
];
