//! Components, cuts, orders and spanning trees.

use arrow::array::UInt32Array;
use arrow::compute::take;
use onrush_graph::components::{self, Components};
use onrush_graph::{Error, Graph, Run, biconnected, dag, tree};
use onrush_wire::Diagnostic;

use super::MaybeColumns;
use crate::arguments::{Arguments, Columns, counts, flag, positions, scalar};
use crate::error::internal;
use crate::ids::comparable;
use crate::numbering::numbered;

pub fn columns(args: &Arguments<'_>) -> MaybeColumns {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: Error| args.failed(&e);
    let name = args.call.algorithm.as_str();
    let by_node = |found: Components| args.one("component", counts(found.component));
    let number = |found: Components| scalar(name, counts(vec![found.count() as u64]));
    Ok(Some(match name {
        "connected_components" => by_node(components::connected_components(graph, run).map_err(error)?),
        "number_connected_components" => number(components::connected_components(graph, run).map_err(error)?),
        "is_connected" => scalar(name, flag(components::is_connected(graph, run).map_err(error)?)),
        "weakly_connected_components" => by_node(components::weakly_connected_components(graph, run).map_err(error)?),
        "number_weakly_connected_components" => {
            number(components::weakly_connected_components(graph, run).map_err(error)?)
        }
        "is_weakly_connected" => scalar(name, flag(components::is_weakly_connected(graph, run).map_err(error)?)),
        "strongly_connected_components" => {
            by_node(components::strongly_connected_components(graph, run).map_err(error)?)
        }
        "number_strongly_connected_components" => {
            number(components::strongly_connected_components(graph, run).map_err(error)?)
        }
        "is_strongly_connected" => scalar(name, flag(components::is_strongly_connected(graph, run).map_err(error)?)),
        "bridges" => args.edges(&biconnected::bridges(graph, run).map_err(error)?)?,
        "articulation_points" => args.nodes(&biconnected::articulation_points(graph, run).map_err(error)?, vec![])?,
        "topological_sort" => {
            let order = dag::topological_sort(graph, run).map_err(error)?;
            let mut columns = vec![("position".to_string(), positions(order.len()))];
            columns.extend(args.nodes(&order, vec![])?);
            columns
        }
        "topological_generations" => {
            let generations = dag::topological_generations(graph, run).map_err(error)?;
            let mut of_node = vec![0u64; graph.nodes()];
            for (number, nodes) in generations.iter().enumerate() {
                nodes.iter().for_each(|v| of_node[*v as usize] = number as u64);
            }
            args.one("generation", counts(of_node))
        }
        "is_directed_acyclic_graph" => scalar(name, flag(dag::is_directed_acyclic_graph(graph, run).map_err(error)?)),
        "ancestors" => args.nodes(&dag::ancestors(graph, args.node("source")?, run).map_err(error)?, vec![])?,
        "descendants" => args.nodes(&dag::descendants(graph, args.node("source")?, run).map_err(error)?, vec![])?,
        "minimum_spanning_edges" => spanning(args, tree::minimum_spanning_edges)?,
        "maximum_spanning_edges" => spanning(args, tree::maximum_spanning_edges)?,
        _ => return Ok(None),
    }))
}

/// Finds the edges of spanning trees.
type FindTrees = fn(&Graph, &Run<'_>) -> Result<Vec<u32>, Error>;

/// Edges of spanning trees with their weights, if there are any. Weights that f64 does not have are compared by their
/// ranks.
fn spanning(args: &Arguments<'_>, find: FindTrees) -> Result<Columns, Diagnostic> {
    let error = |e: Error| args.failed(&e);
    let Some(weights) = args.index.weight_column()? else {
        return args.edges(&find(args.graph(), args.run).map_err(error)?);
    };
    let graph = match args.index.has_inexact_weights() {
        true => {
            let (ranks, _) = numbered(&[comparable(&weights)?])?;
            args.graph().with_weights(ranks.into_iter().map(f64::from).collect()).map_err(error)?
        }
        false => args.graph().clone(),
    };
    let edges = find(&graph, args.run).map_err(error)?;
    let mut columns = args.edges(&edges)?;
    let weights = take(&weights, &UInt32Array::from(edges), None).map_err(internal)?;
    columns.insert(columns.len() - 1, ("weight".to_string(), weights));
    Ok(columns)
}
