//! Mixing of degrees: degrees of neighbours, assortativity and reciprocity.

use crate::error::{Error, ErrorKind};
use crate::graph::{Graph, Rows, loops_of};
use crate::parallel;
use crate::run::Run;

/// The degree that counts. In an undirected graph, all are the degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DegreeKind {
    In,
    Out,
    /// In and out.
    Both,
}

impl DegreeKind {
    fn has_in(self) -> bool {
        self != DegreeKind::Out
    }

    fn has_out(self) -> bool {
        self != DegreeKind::In
    }
}

/// The mean degree of the neighbours of each node. 0 of a node without edges. NetworkX: `average_neighbor_degree`.
///
/// `source` says which neighbours: those at edges in, out or both; `target` which of their degrees. With `weighted`,
/// the mean is weighted by edge (Barrat, Barthélemy, Pastor-Satorras and Vespignani 2004). Each parallel edge counts;
/// an undirected self-loop counts once as a neighbour, and twice as a degree. O(nodes + edges).
///
/// # Errors
/// If the graph is undirected and another kind than `Out` is asked for, or the user stops it.
pub fn average_neighbor_degree(
    graph: &Graph,
    source: DegreeKind,
    target: DegreeKind,
    weighted: bool,
    run: &Run,
) -> Result<Vec<f64>, Error> {
    if !graph.is_directed() && (source != DegreeKind::Out || target != DegreeKind::Out) {
        return Err(Error::parameter("`source` and `target` are for directed graphs, this one is undirected"));
    }
    run.check(|| "no nodes of average_neighbor_degree".to_string())?;
    let degrees = degrees(graph, target, false);
    let totals = self::degrees(graph, source, weighted);
    let side = |v: u32, rows: &Rows, weights: Option<&[f64]>| {
        let weight = |arc: usize| if weighted { weights.map_or(1.0, |w| w[arc]) } else { 1.0 };
        rows.arcs(v).map(|arc| weight(arc) * degrees[rows.targets[arc] as usize]).sum::<f64>()
    };
    graph.out_rows().try_each("average_neighbor_degree", run, |v| {
        let mut sum = 0.0;
        if source.has_out() || !graph.is_directed() {
            sum += side(v, graph.out_rows(), graph.out_weights());
        }
        if source.has_in() && graph.is_directed() {
            sum += side(v, graph.in_rows(), graph.in_weights());
        }
        let total = totals[v as usize];
        if total == 0.0 { 0.0 } else { sum / total }
    })
}

/// The degree of each node, or with `weighted` the sum of its edges' weights. An undirected self-loop counts twice.
fn degrees(graph: &Graph, kind: DegreeKind, weighted: bool) -> Vec<f64> {
    let side = |v: u32, rows: &Rows, weights: Option<&[f64]>| match weights.filter(|_| weighted) {
        Some(weights) => rows.arcs(v).map(|arc| weights[arc]).sum::<f64>(),
        None => rows.len(v) as f64,
    };
    let out = graph.out_rows();
    if !graph.is_directed() {
        let loops = |v: u32| match graph.out_weights().filter(|_| weighted) {
            Some(weights) => out.arcs(v).filter(|arc| out.targets[*arc] == v).map(|arc| weights[arc]).sum::<f64>(),
            None => loops_of(out, v) as f64,
        };
        return out.each(|v| side(v, out, graph.out_weights()) + loops(v));
    }
    out.each(|v| {
        let leaving = if kind.has_out() { side(v, out, graph.out_weights()) } else { 0.0 };
        let entering = if kind.has_in() { side(v, graph.in_rows(), graph.in_weights()) } else { 0.0 };
        leaving + entering
    })
}

/// The correlation of the degrees at both ends of edges (Newman 2003; of directed graphs Foster, Foster, Grassberger
/// and Paczuski 2010). NetworkX: `degree_assortativity_coefficient`. NaN if all ends have one degree.
///
/// `x` is the degree at the source and `y` that at the target, each `In` or `Out`. With `weighted`, degrees are sums of
/// weights. An undirected edge counts in both directions, an undirected self-loop once. O(nodes + edges).
///
/// # Errors
/// If the user stops it.
pub fn degree_assortativity_coefficient(
    graph: &Graph,
    x: DegreeKind,
    y: DegreeKind,
    weighted: bool,
    run: &Run,
) -> Result<f64, Error> {
    let (xs, ys) = (degrees(graph, x, weighted), degrees(graph, y, weighted));
    let rows = graph.out_rows();
    let arcs = rows.targets.len() as f64;
    let sum = |term: &(dyn Fn(f64, f64) -> f64 + Sync)| -> Result<f64, Error> {
        let of_node = |v: u32| rows.row(v).iter().map(|u| term(xs[v as usize], ys[*u as usize])).sum::<f64>();
        let sums = rows.try_each("degree_assortativity_coefficient", run, of_node)?;
        Ok(parallel::sum(sums.len(), |v| sums[v]))
    };
    let (mean_x, mean_y) = (sum(&|x, _| x)? / arcs, sum(&|_, y| y)? / arcs);
    let (of_x, of_y) = (sum(&|x, _| (x - mean_x).powi(2))?, sum(&|_, y| (y - mean_y).powi(2))?);
    let both = sum(&|x, y| (x - mean_x) * (y - mean_y))?;
    Ok(both / (of_x * of_y).sqrt())
}

/// The share of the edges of a directed graph that have an edge the other way. NetworkX: `overall_reciprocity`.
///
/// Parallel edges count once. A self-loop counts as an edge without another one the other way, as in NetworkX. O(edges
/// log(longest row)).
///
/// # Errors
/// If the graph is undirected or has no edges, or the user stops it.
pub fn reciprocity(graph: &Graph, run: &Run) -> Result<f64, Error> {
    graph.check_directed("reciprocity")?;
    if graph.edges() == 0 {
        return Err(Error::new(ErrorKind::Empty, "reciprocity is not defined for a graph without edges"));
    }
    let simple = graph.simple();
    let rows = simple.out_rows();
    let mutual = |v: u32| rows.row(v).iter().filter(|u| rows.row(**u).binary_search(&v).is_ok()).count();
    let mutual: usize = rows.try_each("reciprocity", run, mutual)?.into_iter().sum();
    let loops = (0..graph.nodes() as u32).filter(|v| loops_of(graph.out_rows(), *v) > 0).count();
    Ok(mutual as f64 / (rows.targets.len() + loops) as f64)
}
