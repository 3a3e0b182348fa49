//! Degrees, components, triangles, cores and orders.

use onrush_graph::{cluster, components, cores, dag, degree, distance_measures, tree};

use super::Found;
use crate::arguments::{Arguments, counts, flag, floats, positions, scalar};
use crate::error::diagnose;

pub fn columns(args: &Arguments<'_>) -> Found {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: onrush_graph::Error| diagnose(&e);
    let name = args.call.algorithm.as_str();
    Ok(Some(match name {
        "degree" => args.one("degree", counts(degree::degree(graph))),
        "in_degree" => args.one("in_degree", counts(degree::in_degree(graph))),
        "out_degree" => args.one("out_degree", counts(degree::out_degree(graph))),
        "density" => scalar(name, floats(vec![degree::density(graph)])),
        "connected_components" => {
            args.one("component", counts(components::connected_components(graph, run).map_err(error)?.component))
        }
        "weakly_connected_components" => {
            args.one("component", counts(components::weakly_connected_components(graph, run).map_err(error)?.component))
        }
        "strongly_connected_components" => {
            let found = components::strongly_connected_components(graph, run).map_err(error)?;
            args.one("component", counts(found.component))
        }
        "number_connected_components" => {
            let found = components::connected_components(graph, run).map_err(error)?;
            scalar(name, counts(vec![found.count() as u64]))
        }
        "is_connected" => scalar(name, flag(components::is_connected(graph, run).map_err(error)?)),
        "triangles" => args.one("triangles", counts(cluster::triangles(graph, run).map_err(error)?)),
        "clustering" => {
            args.one("clustering", floats(cluster::clustering(graph, args.flag("weighted", false), run).map_err(error)?))
        }
        "average_clustering" => {
            let found = cluster::average_clustering(graph, args.flag("weighted", false), args.flag("count_zeros", true), run);
            scalar(name, floats(vec![found.map_err(error)?]))
        }
        "transitivity" => scalar(name, floats(vec![cluster::transitivity(graph, run).map_err(error)?])),
        "core_number" => args.one("core_number", counts(cores::core_number(graph, run).map_err(error)?)),
        "minimum_spanning_edges" => {
            let edges = tree::minimum_spanning_edges(graph, run).map_err(error)?;
            let end = |end: usize| edges.iter().map(move |edge| args.index.ends[end][*edge as usize]);
            let mut columns = args.index.ids_of("source", end(0))?;
            columns.extend(args.index.ids_of("target", end(1))?);
            if let Some(weights) = graph.edge_weights() {
                let weights = edges.iter().map(|edge| weights[*edge as usize]).collect();
                columns.push(("weight".to_string(), floats(weights)));
            }
            columns
        }
        "topological_sort" => {
            let order = dag::topological_sort(graph, run).map_err(error)?;
            let mut columns = vec![("position".to_string(), positions(order.len()))];
            columns.extend(args.nodes(&order, vec![])?);
            columns
        }
        "diameter" => scalar(name, counts(vec![distance_measures::diameter(graph, run).map_err(error)?])),
        _ => return Ok(None),
    }))
}
