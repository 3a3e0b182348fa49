//! Searches and shortest paths.

use onrush_graph::{Error, shortest_paths, traversal};
use onrush_wire::Diagnostic;

use super::Found;
use crate::arguments::{Arguments, Columns, counts, flag, floats, positions, scalar};
use crate::error::diagnose;
use crate::numbering::MISSING;

pub fn columns(args: &Arguments<'_>) -> Found {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: Error| diagnose(&e);
    let name = args.call.algorithm.as_str();
    let path = |weighted: bool| {
        let (source, target) = (args.node("source")?, args.node("target")?);
        shortest_paths::shortest_path(graph, source, target, weighted, run)
            .map_err(|e| no_path(args, e, source, target))
    };
    Ok(Some(match name {
        "bfs" => {
            let limit = args.call.count("depth_limit").and_then(|limit| u32::try_from(limit).ok());
            let found = traversal::bfs(graph, args.node("source")?, limit, run).map_err(error)?;
            let reached = (0..graph.nodes() as u32).filter(|v| found.distance[*v as usize] != MISSING);
            let reached: Vec<u32> = reached.collect();
            let distance = reached.iter().map(|v| found.distance[*v as usize]).collect::<Vec<u32>>();
            let before = reached.iter().map(|v| found.predecessor[*v as usize]);
            let mut columns = args.nodes(&reached, vec![("distance", counts(distance))])?;
            columns.extend(args.index.ids_of("predecessor", before)?);
            columns
        }
        "single_source_dijkstra" => {
            let cutoff = args.call.float("cutoff");
            let found = shortest_paths::single_source_dijkstra(graph, args.node("source")?, cutoff, run).map_err(error)?;
            let reached = (0..graph.nodes() as u32).filter(|v| found.distance[*v as usize].is_finite());
            let reached: Vec<u32> = reached.collect();
            let distance = reached.iter().map(|v| found.distance[*v as usize]).collect();
            let before = reached.iter().map(|v| found.predecessor[*v as usize]);
            let mut columns = args.nodes(&reached, vec![("distance", floats(distance))])?;
            columns.extend(args.index.ids_of("predecessor", before)?);
            columns
        }
        "shortest_path" => steps(args, &path(false)?.nodes, None)?,
        "shortest_path_length" => scalar(name, counts(vec![path(false)?.edges.len() as u64])),
        "dijkstra_path" => {
            let found = path(true)?;
            steps(args, &found.nodes, Some(found.distance))?
        }
        "dijkstra_path_length" => scalar(name, floats(vec![path(true)?.distance.last().copied().unwrap_or(0.0)])),
        "has_path" => {
            let found = shortest_paths::has_path(graph, args.node("source")?, args.node("target")?, run);
            scalar(name, flag(found.map_err(error)?))
        }
        _ => return Ok(None),
    }))
}

/// The nodes of a path, step by step.
fn steps(args: &Arguments<'_>, nodes: &[u32], distance: Option<Vec<f64>>) -> Result<Columns, Diagnostic> {
    let mut columns = vec![("step".to_string(), positions(nodes.len()))];
    columns.extend(args.nodes(nodes, vec![])?);
    columns.extend(distance.map(|distance| ("distance".to_string(), floats(distance))));
    Ok(columns)
}

/// An unreachable target with the names of both nodes.
fn no_path(args: &Arguments<'_>, error: Error, source: u32, target: u32) -> Diagnostic {
    let mut diagnostic = diagnose(&error);
    if error.code == "no_path" {
        diagnostic.message =
            format!("no path leads from `{}` to `{}`", args.index.name(source), args.index.name(target));
    }
    diagnostic
}
