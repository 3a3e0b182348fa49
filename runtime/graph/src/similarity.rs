//! Similarity of two nodes by the neighbours that they share. NetworkX calls it link prediction.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, Rows};
use crate::run::Run;

/// Pairs of nodes and a value for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    pub pairs: Vec<(u32, u32)>,
    pub values: Vec<f64>,
}

/// Pairs between checks for cancellation.
const PAIRS_BETWEEN_CHECKS: usize = 256;

/// The most pairs at distance 2 whose scores are given: 4 GB.
const MOST_PAIRS: usize = 1 << 28;

/// The measures of this module, each with a function of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    CommonNeighbors,
    Jaccard,
    AdamicAdar,
    ResourceAllocation,
    PreferentialAttachment,
    Overlap,
    Sorensen,
    Cosine,
}

/// The number of neighbours that both nodes have. NetworkX: the length of `common_neighbors`.
///
/// For this and the other measures of this module: self-loops and parallel edges do not count. `pairs: None` means all
/// pairs at distance 2, the lower node first, ascending; other pairs without an edge share no neighbours. Takes
/// O(shorter row * log(longer row)) time for a pair, and O(sum of squared degrees) for all pairs.
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn common_neighbors(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::CommonNeighbors, run)
}

/// Common neighbours over all neighbours of both (Jaccard 1901), 0 if there are none. NetworkX: `jaccard_coefficient`.
/// See [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn jaccard_coefficient(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::Jaccard, run)
}

/// The sum of 1 / log(degree) of common neighbours (Adamic and Adar 2003). NetworkX: `adamic_adar_index`. See
/// [`common_neighbors`]. Infinite for a node and itself if it has a neighbour of degree 1.
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn adamic_adar_index(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::AdamicAdar, run)
}

/// The sum of 1 / degree of common neighbours (Zhou, Lu and Zhang 2009). NetworkX: `resource_allocation_index`. See
/// [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn resource_allocation_index(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::ResourceAllocation, run)
}

/// The product of the degrees (Liben-Nowell and Kleinberg 2007). NetworkX: `preferential_attachment`. See
/// [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn preferential_attachment(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::PreferentialAttachment, run)
}

/// Common neighbours over the neighbours of the node that has fewer (Szymkiewicz 1934, Simpson 1943), 0 if it has none.
/// cuGraph: `overlap`. See [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn overlap(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::Overlap, run)
}

/// Twice the common neighbours over the sum of the numbers of neighbours (Sørensen 1948, Dice 1945), 0 if there are
/// none. cuGraph: `sorensen`. See [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn sorensen(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::Sorensen, run)
}

/// Common neighbours over the geometric mean of the numbers of neighbours (Salton and McGill 1983), 0 if one has none.
/// cuGraph: `cosine`. See [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn cosine(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::Cosine, run)
}

/// The pairs at distance 2 of the `top` highest scores: descending, pairs of one score ascending.
///
/// Takes O(sum of squared degrees) time, as all pairs do, and keeps `top` pairs for each 2^15 arcs. Nodes whose pairs
/// cannot reach the scores that are kept are passed over.
///
/// # Errors
/// If the graph is directed, more than 2^28 pairs are to be kept, or the user stops it.
pub fn top_pairs(graph: &Graph, measure: Measure, top: usize, run: &Run) -> Result<Scores, Error> {
    let name = measure.name();
    graph.check_undirected(name)?;
    let simple = graph.simple();
    let rows = simple.out_rows();
    let weights = rows.each(|v| measure.of_neighbor(rows.len(v)));
    let hops = TwoHops { rows, weights: &weights, measure, name, most: MOST_PAIRS };
    hops.scores(Some(top), run)
}

impl Measure {
    /// The measures with the names of their functions.
    const NAMES: [(Measure, &'static str); 8] = [
        (Measure::CommonNeighbors, "common_neighbors"),
        (Measure::Jaccard, "jaccard_coefficient"),
        (Measure::AdamicAdar, "adamic_adar_index"),
        (Measure::ResourceAllocation, "resource_allocation_index"),
        (Measure::PreferentialAttachment, "preferential_attachment"),
        (Measure::Overlap, "overlap"),
        (Measure::Sorensen, "sorensen"),
        (Measure::Cosine, "cosine"),
    ];

    /// The measure of a function. `None` if no function of this module has the name.
    pub fn named(name: &str) -> Option<Measure> {
        Measure::NAMES.iter().find(|(_, known)| *known == name).map(|(measure, _)| *measure)
    }

    fn name(self) -> &'static str {
        Measure::NAMES.iter().find(|(known, _)| *known == self).map_or("", |(_, name)| name)
    }

    /// An upper bound of the scores of a node's pairs, by its degree, its neighbours' terms added up, and the largest
    /// degree.
    fn bound(self, degree: usize, terms: f64, largest: usize) -> f64 {
        match self {
            Measure::CommonNeighbors | Measure::AdamicAdar | Measure::ResourceAllocation => terms,
            Measure::PreferentialAttachment => degree as f64 * largest as f64,
            Measure::Jaccard | Measure::Overlap | Measure::Sorensen | Measure::Cosine => 1.0,
        }
    }

    /// The term that a common neighbour of a degree adds.
    fn of_neighbor(self, degree: usize) -> f64 {
        match self {
            Measure::AdamicAdar => 1.0 / (degree as f64).ln(),
            Measure::ResourceAllocation => 1.0 / degree as f64,
            _ => 1.0,
        }
    }

    /// The value for a sum over common neighbours, and two degrees.
    fn value(self, sum: f64, a: usize, b: usize) -> f64 {
        match self {
            Measure::Jaccard if a + b == 0 => 0.0,
            Measure::Jaccard => sum / ((a + b) as f64 - sum),
            Measure::Overlap | Measure::Sorensen | Measure::Cosine if sum == 0.0 => 0.0,
            Measure::Overlap => sum / a.min(b) as f64,
            Measure::Sorensen => 2.0 * sum / (a + b) as f64,
            Measure::Cosine => sum / (a as f64 * b as f64).sqrt(),
            Measure::PreferentialAttachment => a as f64 * b as f64,
            _ => sum,
        }
    }
}

/// The scores of pairs by one of the measures. See [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn scores(graph: &Graph, pairs: Option<&[(u32, u32)]>, measure: Measure, run: &Run) -> Result<Scores, Error> {
    let name = measure.name();
    graph.check_undirected(name)?;
    let Some(pairs) = pairs else { return two_hops(graph, measure, MOST_PAIRS, run) };
    let simple = graph.simple();
    let rows = simple.out_rows();
    let weights = rows.each(|v| measure.of_neighbor(rows.len(v)));
    for (u, v) in pairs {
        graph.check_node(*u)?;
        graph.check_node(*v)?;
    }
    run.stage(format!("{name}: {} pairs", pairs.len()));
    let chunk = |pairs: &[(u32, u32)]| {
        run.check(|| format!("some pairs of {name}"))?;
        let value = |(u, v): &(u32, u32)| {
            let mut sum = 0.0;
            if !matches!(measure, Measure::PreferentialAttachment) {
                common(rows.row(*u), rows.row(*v), |i, _| sum += weights[rows.row(*u)[i] as usize]);
            }
            measure.value(sum, rows.len(*u), rows.len(*v))
        };
        Ok(pairs.iter().map(value).collect())
    };
    let values = pairs.par_chunks(PAIRS_BETWEEN_CHECKS).map(chunk).collect::<Result<Vec<Vec<f64>>, Error>>()?;
    Ok(Scores { pairs: pairs.to_vec(), values: values.concat() })
}

/// The scores of all pairs at distance 2 of an undirected graph.
///
/// # Errors
/// If there are more than `most` pairs, or the user stops it.
#[doc(hidden)]
pub fn two_hops(graph: &Graph, measure: Measure, most: usize, run: &Run) -> Result<Scores, Error> {
    let simple = graph.simple();
    let rows = simple.out_rows();
    let weights = rows.each(|v| measure.of_neighbor(rows.len(v)));
    TwoHops { rows, weights: &weights, measure, name: measure.name(), most }.scores(None, run)
}

/// A pair with its score.
type Scored = (f64, (u32, u32));

/// The higher score first, pairs of one score in ascending order.
fn by_score(a: &Scored, b: &Scored) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// The pairs at distance 2.
struct TwoHops<'a> {
    rows: &'a Rows,
    /// The term of each node as a common neighbour.
    weights: &'a [f64],
    measure: Measure,
    name: &'static str,
    /// The most pairs that are kept.
    most: usize,
}

/// Sums of a thread for the pairs of one node.
struct Scratch {
    sums: Vec<f64>,
    seen: Vec<u32>,
    found: Vec<u32>,
}

impl TwoHops<'_> {
    /// The scores of all pairs in ascending order, or the `top` highest in the order of [`by_score`].
    fn scores(&self, top: Option<usize>, run: &Run) -> Result<Scores, Error> {
        let (rows, name) = (self.rows, self.name);
        let kept = AtomicUsize::new(0);
        run.stage(format!("{name}: pairs at distance 2"));
        let n = rows.nodes();
        let scratch = || Scratch { sums: vec![0.0; n], seen: vec![u32::MAX; n], found: Vec::new() };
        let largest = (0..n as u32).map(|v| rows.len(v)).max().unwrap_or(0);
        let part = |scratch: &mut Scratch, range: Range<usize>| {
            let mut best: Vec<Scored> = Vec::new();
            // With `top` pairs of a part, the score that others of the part must exceed: they come later.
            let mut least = f64::NEG_INFINITY;
            for u in range.start as u32..range.end as u32 {
                run.check(|| format!("some nodes of {name}"))?;
                if top.is_some() && self.bound(u, largest) <= least {
                    continue;
                }
                let before = best.len();
                self.pairs_of(u, scratch, |pair, score| {
                    if score > least {
                        best.push((score, pair));
                    }
                });
                kept.fetch_add(best.len() - before, Relaxed);
                if let Some(top) = top.filter(|top| best.len() > *top) {
                    kept.fetch_sub(best.len() - top, Relaxed);
                    least = cut(&mut best, top);
                }
                if kept.load(Relaxed) > self.most {
                    return Err(self.too_many());
                }
            }
            Ok(best)
        };
        let parts = rows.ranges().into_par_iter().map_init(scratch, part);
        let mut parts = parts.collect::<Result<Vec<Vec<Scored>>, Error>>()?;
        if let Some(top) = top {
            let mut all = parts.concat();
            all.par_sort_unstable_by(by_score);
            all.truncate(top);
            parts = vec![all];
        }
        let mut scores = Scores::default();
        for part in parts {
            scores.pairs.extend(part.iter().map(|(_, pair)| *pair));
            scores.values.extend(part.iter().map(|(score, _)| *score));
        }
        Ok(scores)
    }

    /// An upper bound of the scores of the pairs of a node.
    fn bound(&self, u: u32, largest: usize) -> f64 {
        let terms = self.rows.row(u).iter().map(|via| self.weights[*via as usize]).sum();
        self.measure.bound(self.rows.len(u), terms, largest)
    }

    /// Calls `visit` with the pairs of a node and of those after it, in ascending order.
    fn pairs_of(&self, u: u32, scratch: &mut Scratch, mut visit: impl FnMut((u32, u32), f64)) {
        let Scratch { sums, seen, found } = scratch;
        let rows = self.rows;
        for via in rows.row(u) {
            let row = rows.row(*via);
            for v in &row[row.partition_point(|v| *v <= u)..] {
                if std::mem::replace(&mut seen[*v as usize], u) != u {
                    sums[*v as usize] = 0.0;
                    found.push(*v);
                }
                sums[*v as usize] += self.weights[*via as usize];
            }
        }
        found.retain(|v| rows.row(u).binary_search(v).is_err());
        found.sort_unstable();
        for v in found.drain(..) {
            visit((u, v), self.measure.value(sums[v as usize], rows.len(u), rows.len(v)));
        }
    }

    fn too_many(&self) -> Error {
        let message = format!("{} finds more than {} pairs at distance 2", self.name, self.most);
        let error = Error::new(ErrorKind::Size, message).help("name the pairs by `pairs`, or take a part of the graph");
        error.help("`top` keeps only the pairs of the highest scores")
    }
}

/// Keeps the `top` first pairs in the order of [`by_score`], in no order. Gives the lowest of their scores.
fn cut(best: &mut Vec<Scored>, top: usize) -> f64 {
    if top == 0 {
        best.clear();
        return f64::INFINITY;
    }
    let least = best.select_nth_unstable_by(top - 1, by_score).1.0;
    best.truncate(top);
    least
}

/// Calls `visit` with the positions of numbers that both lists have, ascending. The lists ascend without repetition.
#[inline]
pub(crate) fn common(a: &[u32], b: &[u32], mut visit: impl FnMut(usize, usize)) {
    let (mut i, mut j) = (0, 0);
    if 16 * a.len() < b.len() {
        // Few numbers: search for each in the rest of the long list.
        for (i, x) in a.iter().enumerate() {
            j += b[j..].partition_point(|y| y < x);
            if b.get(j) == Some(x) {
                visit(i, j);
            }
        }
    } else if 16 * b.len() < a.len() {
        for (j, x) in b.iter().enumerate() {
            i += a[i..].partition_point(|y| y < x);
            if a.get(i) == Some(x) {
                visit(i, j);
            }
        }
    } else {
        while i < a.len() && j < b.len() {
            let (x, y) = (a[i], b[j]);
            if x == y {
                visit(i, j);
            }
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
    }
}
