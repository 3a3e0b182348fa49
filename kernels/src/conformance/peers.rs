//! Times of libcudf and CuPy for the operations of the benchmark on one H200, and the targets, in milliseconds.
//!
//! Peers: RAPIDS 26.10 and CuPy 14.2, driver 580.159, wall time around the call with a synchronisation, median after a
//! warm-up, data resident. Targets are the least that is accepted, not the floor.

/// Times of one operation: of other libraries, if one has the same operation, and the target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeerNumber {
    pub peer: f64,
    pub target: f64,
}

/// By the name of the measurement and its rows.
const MARKS: &[(&str, u64, f64, f64)] = &[
    ("count where sin2 + cos2 == 1, f64", 100_000_000, 3.1042, 0.45),
    ("reduce f64 sum (mean)", 100_000_000, 0.2279, 0.21),
];

pub fn mark(name: &str, rows: u64) -> Option<PeerNumber> {
    let found = MARKS.iter().find(|(its, its_rows, ..)| *its == name && *its_rows == rows)?;
    Some(PeerNumber { peer: found.2, target: found.3 })
}
