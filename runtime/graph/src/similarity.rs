//! Similarity of two nodes by the neighbours that they share. NetworkX calls it link prediction.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

use crate::error::Error;
use crate::graph::{Graph, Rows};
use crate::run::Run;

/// Pairs of nodes and a value for each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    pub pairs: Vec<(u32, u32)>,
    pub values: Vec<f64>,
}

/// Pairs between checks for cancellation.
const PAIRS: usize = 256;

/// The most pairs at distance 2 whose scores are given: 4 GB.
const MOST_PAIRS: usize = 1 << 28;

/// The measures of this module.
#[derive(Clone, Copy)]
enum Measure {
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
    scores(graph, pairs, Measure::CommonNeighbors, "common_neighbors", run)
}

/// Common neighbours over all neighbours of both (Jaccard 1901), 0 if there are none. NetworkX: `jaccard_coefficient`.
/// See [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn jaccard_coefficient(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::Jaccard, "jaccard_coefficient", run)
}

/// The sum of 1 / log(degree) of common neighbours (Adamic and Adar 2003). NetworkX: `adamic_adar_index`. See
/// [`common_neighbors`]. Infinite for a node and itself if it has a neighbour of degree 1.
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn adamic_adar_index(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::AdamicAdar, "adamic_adar_index", run)
}

/// The sum of 1 / degree of common neighbours (Zhou, Lu and Zhang 2009). NetworkX: `resource_allocation_index`. See
/// [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn resource_allocation_index(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::ResourceAllocation, "resource_allocation_index", run)
}

/// The product of the degrees (Liben-Nowell and Kleinberg 2007). NetworkX: `preferential_attachment`. See
/// [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn preferential_attachment(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::PreferentialAttachment, "preferential_attachment", run)
}

/// Common neighbours over the neighbours of the node that has fewer (Szymkiewicz 1934, Simpson 1943), 0 if it has none.
/// cuGraph: `overlap`. See [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn overlap(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::Overlap, "overlap", run)
}

/// Twice the common neighbours over the sum of the numbers of neighbours (Sørensen 1948, Dice 1945), 0 if there are
/// none. cuGraph: `sorensen`. See [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn sorensen(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::Sorensen, "sorensen", run)
}

/// Common neighbours over the geometric mean of the numbers of neighbours (Salton and McGill 1983), 0 if one has none.
/// cuGraph: `cosine`. See [`common_neighbors`].
///
/// # Errors
/// If the graph is directed, a pair names a node that is not in the graph, or the user stops it.
pub fn cosine(graph: &Graph, pairs: Option<&[(u32, u32)]>, run: &Run) -> Result<Scores, Error> {
    scores(graph, pairs, Measure::Cosine, "cosine", run)
}

impl Measure {
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

fn scores(
    graph: &Graph,
    pairs: Option<&[(u32, u32)]>,
    measure: Measure,
    name: &str,
    run: &Run,
) -> Result<Scores, Error> {
    graph.check_undirected(name)?;
    let simple = graph.simple();
    let rows = simple.out_rows();
    let weights = rows.each(|v| measure.of_neighbor(rows.len(v)));
    let Some(pairs) = pairs else { return two_hops(rows, &weights, measure, (name, MOST_PAIRS), run) };
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
    let values = pairs.par_chunks(PAIRS).map(chunk).collect::<Result<Vec<Vec<f64>>, Error>>()?;
    Ok(Scores { pairs: pairs.to_vec(), values: values.concat() })
}

/// The scores of all pairs at distance 2, at most `most`.
fn two_hops(
    rows: &Rows,
    weights: &[f64],
    measure: Measure,
    (name, most): (&str, usize),
    run: &Run,
) -> Result<Scores, Error> {
    let count = AtomicUsize::new(0);
    run.stage(format!("{name}: pairs at distance 2"));
    let empty = || (vec![0.0f64; rows.nodes()], vec![u32::MAX; rows.nodes()], Vec::new());
    let part = |(sums, seen, found): &mut (Vec<f64>, Vec<u32>, Vec<u32>), range: std::ops::Range<usize>| {
        let mut scores = Scores::default();
        for u in range.start as u32..range.end as u32 {
            run.check(|| format!("some nodes of {name}"))?;
            for via in rows.row(u) {
                let row = rows.row(*via);
                for v in &row[row.partition_point(|v| *v <= u)..] {
                    if std::mem::replace(&mut seen[*v as usize], u) != u {
                        sums[*v as usize] = 0.0;
                        found.push(*v);
                    }
                    sums[*v as usize] += weights[*via as usize];
                }
            }
            found.retain(|v| rows.row(u).binary_search(v).is_err());
            if count.fetch_add(found.len(), Relaxed) + found.len() > most {
                let message = format!("{name} finds more than {most} pairs at distance 2");
                return Err(Error::new("size", message).help("name the pairs by `pairs`, or take a part of the graph"));
            }
            found.sort_unstable();
            for v in found.drain(..) {
                scores.pairs.push((u, v));
                scores.values.push(measure.value(sums[v as usize], rows.len(u), rows.len(v)));
            }
        }
        Ok(scores)
    };
    let parts = rows.ranges().into_par_iter().map_init(empty, part).collect::<Result<Vec<Scores>, Error>>()?;
    let mut all = Scores::default();
    for part in parts {
        all.pairs.extend(part.pairs);
        all.values.extend(part.values);
    }
    Ok(all)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    // The five leaves of a star are ten pairs.
    #[test]
    fn too_many_pairs_are_an_error() {
        let (sources, targets) = generate::star(5);
        let graph = Graph::new(false, 6, &sources, &targets, None).unwrap();
        let found = |most| {
            two_hops(
                graph.out_rows(),
                &[1.0; 6],
                Measure::CommonNeighbors,
                ("jaccard_coefficient", most),
                &Run::silent(),
            )
        };
        assert_eq!(found(10).unwrap().pairs.len(), 10);
        assert_eq!(found(9).unwrap_err().code, "size");
    }

    // No pair of a complete graph is at distance 2.
    #[test]
    fn neighbors_do_not_count_as_pairs() {
        let ends = (0..6).flat_map(|u| (0..u).map(move |v| (u, v)));
        let (sources, targets): (Vec<u32>, Vec<u32>) = ends.unzip();
        let graph = Graph::new(false, 6, &sources, &targets, None).unwrap();
        let options = ("jaccard_coefficient", 0);
        let found = two_hops(graph.out_rows(), &[1.0; 6], Measure::CommonNeighbors, options, &Run::silent());
        assert!(found.unwrap().pairs.is_empty());
    }
}
