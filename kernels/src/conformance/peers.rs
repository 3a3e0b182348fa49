//! Times of libcudf and CuPy for the operations of the benchmark on one H200, and the targets, in milliseconds.
//!
//! Peers: RAPIDS 26.10 and CuPy 14.2, driver 580.159, wall time around the call with a synchronisation, median after a warm-up, data
//! resident. Targets are the least that is accepted, not the floor.

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
    ("dense_group mean, 100 keys", 100_000_000, 21.0012, 0.6),
    ("dense_group mean, 10000 keys", 100_000_000, 6.2917, 1.2),
    ("dense_group mean, 1000000 keys", 100_000_000, 11.5406, 2.6),
    ("dense_group mean, 10000000 keys", 100_000_000, 18.8118, 7.0),
    // libcudf hashes dense keys too: the same times.
    ("hash_group mean, 10000 keys", 100_000_000, 6.2917, 2.5),
    ("hash_group mean, 1000000 keys", 100_000_000, 11.5406, 4.0),
    ("hash_group mean, 10000000 keys", 100_000_000, 18.8118, 7.0),
    ("dense_group mean, 10000000 keys", 10_000_000, 2.6477, 1.5),
    ("hash_group mean, 10000000 keys", 10_000_000, 2.6477, 1.5),
    ("group-by mean, 6 string keys, encoding included", 10_000_000, 2.1862, 0.6),
    ("group-by mean, 1000000 string keys, encoding included", 10_000_000, 1.7929, 1.7),
    ("group-by mean, 6 string keys, encoded before", 10_000_000, 2.1862, 0.6),
    ("group-by mean, 1000000 string keys, encoded before", 10_000_000, 1.7929, 1.7),
    ("dense_group sum, mean, min, max, count, 100 keys", 100_000_000, 28.5601, 1.0),
];

pub fn mark(name: &str, rows: u64) -> Option<PeerNumber> {
    let found = MARKS.iter().find(|(its, its_rows, ..)| *its == name && *its_rows == rows)?;
    Some(PeerNumber { peer: found.2, target: found.3 })
}
