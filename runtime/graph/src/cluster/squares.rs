//! Squares: cycles of four nodes.

use crate::error::Error;
use crate::graph::Graph;
use crate::parallel;
use crate::run::Run;

/// Memory for the counts of all threads, in bytes.
const COUNTS: usize = 4 << 30;

/// The part of the pairs of neighbours that have a common neighbour besides the node, among all that could (Lind,
/// González and Herrmann 2005; Zhang and others 2008). NetworkX: `square_clustering`.
///
/// O(sum of the squares of degrees).
///
/// # Errors
/// If the graph is directed, or the user stops it.
pub fn square_clustering(graph: &Graph, run: &Run) -> Result<Vec<f64>, Error> {
    graph.check_undirected("square_clustering")?;
    let simple = graph.simple();
    let rows = simple.out_rows();
    let n = rows.nodes();
    // By node, the paths of two steps to it.
    let make = || (vec![0u32; n], Vec::new());
    let one = |(paths, reached): &mut (Vec<u32>, Vec<u32>), v: u32| {
        let degree = rows.len(v) as u128;
        if degree < 2 {
            return 0.0;
        }
        let mut ends = 0u128;
        for u in rows.row(v) {
            ends += rows.len(*u) as u128;
            for x in rows.row(*u).iter().filter(|x| **x != v) {
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
            squares += count * (count - 1) / 2;
        }
        // Pairs of neighbours that could be corners: their other edges, less the squares that are counted for both.
        let potential = (ends * (degree - 1)) as i128 - (degree * (degree - 1) + triangles + squares) as i128;
        if potential > 0 { squares as f64 / potential as f64 } else { 0.0 }
    };
    let tasks = rows.ranges_of(1 << 10);
    let work = |scratch: &mut (Vec<u32>, Vec<u32>), task: usize| -> Vec<f64> {
        let nodes = tasks[task].clone();
        nodes.map(|v| if (run.is_stopped)() { 0.0 } else { one(scratch, v as u32) }).collect()
    };
    let (parts, _) = parallel::with_scratch(tasks.len(), (COUNTS / (8 * n + 1)).max(1), make, work);
    run.check(|| "part of square_clustering".to_string())?;
    Ok(parts.into_iter().flatten().collect())
}
