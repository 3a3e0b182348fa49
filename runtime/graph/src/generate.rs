//! Edges of regular and of random graphs, for tests and benchmarks.

use rayon::prelude::*;

/// The ends of edges: sources, and targets.
pub type Ends = (Vec<u32>, Vec<u32>);

/// `n` nodes in a line. NetworkX: `path_graph`.
pub fn path(n: u32) -> Ends {
    ((0..n.saturating_sub(1)).collect(), (1..n).collect())
}

/// Node 0 and its `leaves` neighbours. NetworkX: `star_graph`.
pub fn star(leaves: u32) -> Ends {
    (vec![0; leaves as usize], (1..=leaves).collect())
}

/// Each pair of `n` nodes once. NetworkX: `complete_graph`.
pub fn complete(n: u32) -> Ends {
    (0..n).flat_map(|u| (u + 1..n).map(move |v| (u, v))).unzip()
}

/// A random graph of `2^scale` nodes with `edge_factor` edges for each: R-MAT (Chakrabarti, Zhan and Faloutsos 2004)
/// with the probabilities 0.57, 0.19, 0.19 and 0.05 of Graph500. Self-loops and parallel edges occur. `scale` is at
/// most 31.
pub fn rmat(scale: u32, edge_factor: u32, seed: u64) -> Ends {
    let edges = (edge_factor as usize) << scale;
    let ends = |edge: usize| {
        let (mut u, mut v) = (0u32, 0u32);
        for level in 0..scale {
            let x = uniform(seed, (edge as u64) << 6 | u64::from(level));
            let (down, right) = (x >= 0.76, (0.57..0.76).contains(&x) || x >= 0.95);
            u = u << 1 | u32::from(down);
            v = v << 1 | u32::from(right);
        }
        (u, v)
    };
    (0..edges).into_par_iter().with_min_len(4096).map(ends).unzip()
}

/// A number in [0, 1) with 53 bits: SplitMix64 (Steele, Lea and Flood 2014) of a seed and a counter.
pub fn uniform(seed: u64, counter: u64) -> f64 {
    (hash(seed, counter) >> 11) as f64 / (1u64 << 53) as f64
}

/// 64 random bits for a seed and a counter.
pub fn hash(seed: u64, counter: u64) -> u64 {
    let mut z = mixed(seed).wrapping_add(counter.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A seed whose neighbours give unrelated numbers: what [`hash`] adds its counter to.
pub(crate) fn mixed(seed: u64) -> u64 {
    let z = (seed ^ 0x6a09_e667_f3bc_c909).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (z ^ (z >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53)
}
