//! Communities by labels that spread.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use rayon::prelude::*;

use super::by_size;
use super::table::Table;
use crate::error::Error;
use crate::graph::{Graph, Rows};
use crate::run::Run;

/// Nodes take the label that most neighbours have, colour after colour of a greedy colouring, until all have such a
/// label (Cordasco and Gargano 2010). NetworkX: `label_propagation_communities`, with the same communities.
///
/// Neighbours count once, however many edges lead to them, and weights do not count. If several labels are most
/// frequent, a node keeps its own, else takes the largest. Takes O(nodes log nodes + edges) time and O(edges) for each
/// round.
///
/// # Errors
/// If the graph is directed, or the user stops it.
pub fn label_propagation_communities(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    graph.check_undirected("label_propagation_communities")?;
    let rows = graph.out_rows();
    let n = graph.nodes();
    let labels: Vec<AtomicU32> = (0..n as u32).map(AtomicU32::new).collect();
    let colors = by_color(&greedy_color(graph, run)?);
    for round in 1.. {
        run.stage(format!("label_propagation_communities: round {round}"));
        for nodes in &colors {
            for some in nodes.chunks(1 << 18) {
                run.check(|| format!("{} rounds of label_propagation_communities", round - 1))?;
                // Nodes of one colour are not neighbours: their order does not matter.
                some.par_iter().with_min_len(512).for_each_init(Table::default, |table, v| {
                    if let Some(label) = label_of(rows, &labels, *v, table) {
                        labels[*v as usize].store(label, Relaxed);
                    }
                });
            }
        }
        let changes = rows.ranges().into_par_iter().map_init(Table::default, |table, range| {
            range.into_iter().any(|v| label_of(rows, &labels, v as u32, table).is_some())
        });
        if !changes.any(|changes| changes) {
            break;
        }
    }
    let labels: Vec<u32> = labels.into_iter().map(AtomicU32::into_inner).collect();
    Ok(by_size(&labels))
}

/// The label of each node after `max_iter` rounds in which all nodes at once take the label that most neighbours have:
/// CDLP of LDBC Graphalytics, the synchronous variant of Raghavan, Albert and Kumara (2007). A label is the number of
/// the node that had it at first.
///
/// Ties go to the lowest label. A neighbour counts once, and in a directed graph once for each direction in which an
/// edge leads; weights do not count. A node without neighbours keeps its label. Ends early if no label changes.
/// O(nodes + edges) for each round.
///
/// # Errors
/// If the user stops it.
pub fn cdlp(graph: &Graph, max_iter: usize, run: &Run) -> Result<Vec<u32>, Error> {
    let (out, into) = (graph.out_rows(), graph.is_directed().then(|| graph.in_rows()));
    let sides: Vec<&Rows> = [Some(out), into].into_iter().flatten().collect();
    let mut labels: Vec<u32> = (0..graph.nodes() as u32).collect();
    for round in 0..max_iter {
        run.stage(format!("cdlp: round {} of at most {max_iter}", round + 1));
        (run.steps)(round as u64, max_iter as u64);
        let next = out.ranges().into_par_iter().map_init(Table::default, |table, range| {
            run.check(|| format!("{round} of at most {max_iter} rounds of cdlp"))?;
            Ok(range.map(|v| most_frequent(&sides, &labels, v as u32, table)).collect())
        });
        let next: Vec<u32> = next.collect::<Result<Vec<Vec<u32>>, Error>>()?.concat();
        let is_settled = next == labels;
        labels = next;
        if is_settled {
            break;
        }
    }
    Ok(labels)
}

/// The lowest of the labels that most neighbours have; the node's label if it has no neighbours.
fn most_frequent(sides: &[&Rows], labels: &[u32], node: u32, table: &mut Table) -> u32 {
    table.clear(sides.iter().map(|rows| rows.len(node)).sum());
    for rows in sides {
        let row = rows.row(node);
        for (i, target) in row.iter().enumerate() {
            if i == 0 || row[i - 1] != *target {
                table.add(labels[*target as usize], 1);
            }
        }
    }
    let best = table.iter().max_by_key(|(label, count)| (*count, u32::MAX - label));
    best.map_or(labels[node as usize], |(label, _)| label)
}

/// The label that a node takes, if its own is not among the most frequent of its neighbours.
fn label_of(rows: &Rows, labels: &[AtomicU32], node: u32, table: &mut Table) -> Option<u32> {
    let row = rows.row(node);
    if row.is_empty() {
        return None;
    }
    table.clear(row.len());
    for (i, target) in row.iter().enumerate() {
        if i == 0 || row[i - 1] != *target {
            table.add(labels[*target as usize].load(Relaxed), 1);
        }
    }
    let most = table.iter().map(|(_, count)| count).max()?;
    match table.get(labels[node as usize].load(Relaxed)) == most {
        true => None,
        false => table.iter().filter(|(_, count)| *count == most).map(|(label, _)| label).max(),
    }
}

/// The lowest colour that no neighbour has, in the order of falling degrees, then of numbers. NetworkX: `greedy_color`,
/// `largest_first`.
fn greedy_color(graph: &Graph, run: &Run) -> Result<Vec<u32>, Error> {
    let rows = graph.out_rows();
    let n = graph.nodes();
    let degrees = rows.each(|v| rows.len(v) + crate::graph::loops_of(rows, v));
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.par_sort_by_key(|v| std::cmp::Reverse(degrees[*v as usize]));
    let mut colors = vec![u32::MAX; n];
    // The last node that saw a colour at one of its neighbours.
    let mut seen_by: Vec<u32> = Vec::new();
    for (i, v) in order.into_iter().enumerate() {
        if i % 4096 == 0 {
            run.check(|| format!("{i} of {n} colours"))?;
        }
        for target in rows.row(v) {
            let color = colors[*target as usize];
            if color != u32::MAX {
                seen_by[color as usize] = v;
            }
        }
        let color = seen_by.iter().position(|by| *by != v).unwrap_or(seen_by.len());
        if color == seen_by.len() {
            seen_by.push(u32::MAX);
        }
        colors[v as usize] = color as u32;
    }
    Ok(colors)
}

/// The nodes of each colour, ascending.
fn by_color(colors: &[u32]) -> Vec<Vec<u32>> {
    let count = colors.iter().max().map_or(0, |c| *c as usize + 1);
    let mut nodes = vec![Vec::new(); count];
    colors.iter().enumerate().for_each(|(v, c)| nodes[*c as usize].push(v as u32));
    nodes
}
