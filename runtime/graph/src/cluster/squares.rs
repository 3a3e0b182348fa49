//! Squares: cycles of four nodes.

use crate::error::Error;
use crate::graph::Graph;
use crate::parallel;
use crate::run::Run;

/// Memory for the counts of all threads, in bytes.
const COUNT_BYTES: usize = 4 << 30;

/// Counts by node, the nodes that have one, and marks by node.
type Scratch = (Vec<u32>, Vec<u32>, Vec<u32>);

/// The part of the pairs of neighbours that have a common neighbour besides the node, among all that could (Lind,
/// González and Herrmann 2005; Zhang and others 2008). NetworkX: `square_clustering`.
///
/// In a directed graph, neighbours are the ends of edges out. A common neighbour of two neighbours is in reach of the
/// node by one edge or two, and edges lead from it to both. O(sum of the squares of degrees).
///
/// # Errors
/// If the user stops it.
pub fn square_clustering(graph: &Graph, run: &Run) -> Result<Vec<f64>, Error> {
    let simple = graph.simple();
    let (rows, into) = (simple.out_rows(), simple.in_rows());
    let n = rows.nodes();
    let directed = graph.is_directed();
    // By node, its edges to neighbours of `v`, and the last node from which it was in reach.
    let make = || (vec![0u32; n], Vec::new(), vec![u32::MAX; if directed { n } else { 0 }]);
    let one = |(paths, reached, reach): &mut Scratch, v: u32| {
        let degree = rows.len(v) as u128;
        if degree < 2 {
            return 0.0;
        }
        let mut ends = 0u128;
        for u in rows.row(v) {
            ends += rows.len(*u) as u128;
            if directed {
                reach[*u as usize] = v;
                rows.row(*u).iter().for_each(|x| reach[*x as usize] = v);
            }
            for x in into.row(*u).iter().filter(|x| **x != v) {
                if paths[*x as usize] == 0 {
                    reached.push(*x);
                }
                paths[*x as usize] += 1;
            }
        }
        let triangles: u128 = rows.row(v).iter().map(|u| u128::from(paths[*u as usize])).sum();
        let mut squares = 0u128;
        for x in reached.drain(..) {
            let count = u128::from(std::mem::take(&mut paths[x as usize]));
            if !directed || reach[x as usize] == v {
                squares += count * (count - 1) / 2;
            }
        }
        // Pairs of neighbours that could be corners: their other edges, less the squares that are counted for both.
        let potential = (ends * (degree - 1)) as i128 - (degree * (degree - 1) + triangles + squares) as i128;
        if potential > 0 { squares as f64 / potential as f64 } else { 0.0 }
    };
    let tasks = rows.ranges_of(1 << 10);
    let work = |scratch: &mut Scratch, task: usize| -> Vec<f64> {
        let nodes = tasks[task].clone();
        nodes.map(|v| if (run.is_stopped)() { 0.0 } else { one(scratch, v as u32) }).collect()
    };
    let (parts, _) = parallel::with_scratch(tasks.len(), (COUNT_BYTES / (12 * n + 1)).max(1), make, work);
    run.check(|| "part of square_clustering".to_string())?;
    Ok(parts.into_iter().flatten().collect())
}
