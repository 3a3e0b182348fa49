//! Searches and shortest paths.

use onrush_graph::shortest_paths::{self, Path, Paths};
use onrush_graph::{Error, traversal};
use onrush_wire::Diagnostic;

use super::MaybeColumns;
use crate::arguments::{Arguments, Columns, counts, flag, floats, positions, row_numbers, scalar};
use crate::error::plan_error;
use crate::numbering::MISSING;

pub fn columns(args: &Arguments<'_>) -> MaybeColumns {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: Error| args.failed(&e);
    let name = args.call.algorithm.as_str();
    let path = |weighted: bool| {
        let (source, target) = (args.node("source")?, args.node("target")?);
        shortest_paths::shortest_path(graph, source, target, weighted, run).map_err(error)
    };
    let negative_path = || {
        let (source, target) = (args.node("source")?, args.node("target")?);
        shortest_paths::bellman_ford_path(graph, source, target, run).map_err(error)
    };
    Ok(Some(match name {
        "bfs" => {
            let found = traversal::bfs(graph, args.node("source")?, hops(args, "depth_limit")?, run).map_err(error)?;
            reached(args, &found.distance, |d| *d != MISSING, |d| counts(d.to_vec()), Some(&found.predecessor))?
        }
        "single_source_shortest_path_length" => {
            let source = args.node("source")?;
            let found = traversal::distances(graph, &[source], hops(args, "cutoff")?, run).map_err(error)?;
            reached(args, &found, |d| *d != MISSING, |d| counts(d.to_vec()), None)?
        }
        "bfs_layers" => {
            let layers = traversal::bfs_layers(graph, &[args.node("source")?], run).map_err(error)?;
            let numbers = layers.iter().enumerate().flat_map(|(layer, nodes)| vec![layer as u64; nodes.len()]);
            let mut columns = vec![("layer".to_string(), counts(numbers.collect()))];
            columns.extend(args.nodes(&layers.concat(), vec![])?);
            columns
        }
        "descendants_at_distance" => {
            let distance = most_hops(args.get("distance")?);
            let found = traversal::descendants_at_distance(graph, args.node("source")?, distance, run);
            args.nodes(&found.map_err(error)?, vec![])?
        }
        "single_source_dijkstra" => {
            let cutoff = args.get("cutoff")?;
            by_weight(
                args,
                &shortest_paths::single_source_dijkstra(graph, args.node("source")?, cutoff, run).map_err(error)?,
            )?
        }
        "multi_source_dijkstra" => {
            let sources = args.frame("sources").map(|batch| args.nodes_of("sources", batch)).transpose()?;
            let sources = sources
                .filter(|sources| !sources.is_empty())
                .ok_or_else(|| plan_error("argument", "`sources` has no rows, expected the ids of nodes in `node`"))?;
            let cutoff = args.get("cutoff")?;
            let found = shortest_paths::multi_source_dijkstra(graph, &sources, cutoff, run).map_err(error)?;
            let mut columns = by_weight(args, &found)?;
            let nearest = found.sources().into_iter().filter(|source| *source != MISSING);
            columns.extend(args.index.ids_of("source", nearest)?);
            columns
        }
        "single_source_bellman_ford" => {
            by_weight(args, &shortest_paths::bellman_ford(graph, args.node("source")?, run).map_err(error)?)?
        }
        "shortest_path" => match args.get("weighted")? {
            true => steps(args, path(true)?, WithDistance::Yes)?,
            false => steps(args, path(false)?, WithDistance::No)?,
        },
        "shortest_path_length" => scalar(name, counts(vec![path(false)?.edges.len() as u64])),
        "dijkstra_path" => steps(args, path(true)?, WithDistance::Yes)?,
        "dijkstra_path_length" => scalar(name, floats(vec![length(args, &path(true)?)?])),
        "bellman_ford_path" => steps(args, negative_path()?, WithDistance::Yes)?,
        "bellman_ford_path_length" => scalar(name, floats(vec![length(args, &negative_path()?)?])),
        "negative_edge_cycle" => scalar(name, flag(shortest_paths::negative_edge_cycle(graph, run).map_err(error)?)),
        "has_path" => {
            let found = shortest_paths::has_path(graph, args.node("source")?, args.node("target")?, run);
            scalar(name, flag(found.map_err(error)?))
        }
        _ => return Ok(None),
    }))
}

/// A number of hops, if it was given.
pub(crate) fn hops(args: &Arguments<'_>, name: &str) -> Result<Option<u32>, Diagnostic> {
    Ok(args.get::<Option<usize>>(name)?.map(most_hops))
}

/// A number of hops: larger ones than any path are as good as the largest.
fn most_hops(hops: usize) -> u32 {
    u32::try_from(hops).unwrap_or(u32::MAX).min(u32::MAX - 1)
}

/// The nodes that a search has reached, with their distances and the nodes before.
pub(crate) fn reached<T: Copy>(
    args: &Arguments<'_>,
    distance: &[T],
    is_reached: impl Fn(&T) -> bool,
    column: impl Fn(&[T]) -> arrow::array::ArrayRef,
    before: Option<&[u32]>,
) -> Result<Columns, Diagnostic> {
    let nodes: Vec<u32> = (0..distance.len() as u32).filter(|v| is_reached(&distance[*v as usize])).collect();
    let distance: Vec<T> = nodes.iter().map(|v| distance[*v as usize]).collect();
    let mut columns = args.nodes(&nodes, vec![("distance", column(&distance))])?;
    if let Some(before) = before {
        columns.extend(args.index.ids_of("predecessor", nodes.iter().map(|v| before[*v as usize]))?);
    }
    Ok(columns)
}

fn by_weight(args: &Arguments<'_>, found: &Paths) -> Result<Columns, Diagnostic> {
    args.index.check_sums(&found.distance)?;
    reached(args, &found.distance, |d| d.is_finite(), |d| floats(d.to_vec()), Some(&found.predecessor))
}

fn length(args: &Arguments<'_>, path: &Path) -> Result<f64, Diagnostic> {
    args.index.check_sums(&path.distance)?;
    Ok(path.distance.last().copied().unwrap_or(0.0))
}

#[derive(PartialEq, Eq)]
enum WithDistance {
    Yes,
    No,
}

/// The nodes of a path, step by step, with the row of the edge that leads to each: null for the source.
fn steps(args: &Arguments<'_>, path: Path, with: WithDistance) -> Result<Columns, Diagnostic> {
    let mut columns = vec![("step".to_string(), positions(path.nodes.len()))];
    columns.extend(args.nodes(&path.nodes, vec![])?);
    if with == WithDistance::Yes {
        args.index.check_sums(&path.distance)?;
        columns.push(("distance".to_string(), floats(path.distance)));
    }
    let rows = path.edges.iter().map(|edge| Some(args.index.row(*edge)));
    columns.push(("edge".to_string(), row_numbers([None].into_iter().chain(rows))));
    Ok(columns)
}
