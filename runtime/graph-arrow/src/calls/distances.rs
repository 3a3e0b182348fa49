//! Distances of all pairs of nodes, and random walks.

use onrush_graph::{Error, distance_measures, walks};

use super::MaybeColumns;
use crate::arguments::{Arguments, counts, floats, scalar};

pub fn columns(args: &Arguments<'_>) -> MaybeColumns {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: Error| args.failed(&e);
    let name = args.call.algorithm.as_str();
    Ok(Some(match name {
        "average_shortest_path_length" => {
            let found = distance_measures::average_shortest_path_length(graph, args.get("weighted")?, run);
            scalar(name, floats(vec![found.map_err(error)?]))
        }
        "eccentricity" => args.one(name, counts(distance_measures::eccentricity(graph, run).map_err(error)?)),
        "diameter" => scalar(name, counts(vec![distance_measures::diameter(graph, run).map_err(error)?])),
        "radius" => scalar(name, counts(vec![distance_measures::radius(graph, run).map_err(error)?])),
        "center" => args.nodes(&distance_measures::center(graph, run).map_err(error)?, vec![])?,
        "periphery" => args.nodes(&distance_measures::periphery(graph, run).map_err(error)?, vec![])?,
        "random_walks" => {
            let starts = match args.frame("starts") {
                Some(batch) => args.nodes_of("starts", batch)?,
                None => (0..graph.nodes() as u32).collect(),
            };
            let options = walks::WalkOptions {
                length: args.get("length")?,
                per_node: args.get("per_node")?,
                p: args.get("p")?,
                q: args.get("q")?,
                weighted: args.get("weighted")?,
                seed: args.get("seed")?,
            };
            let found = walks::random_walks(graph, &starts, &options, run).map_err(error)?;
            let lengths = || found.offsets.windows(2).enumerate().map(|(walk, ends)| (walk, ends[1] - ends[0]));
            let walk = lengths().flat_map(|(walk, length)| std::iter::repeat_n(walk as u64, length)).collect();
            let step = lengths().flat_map(|(_, length)| 0..length as u64).collect();
            let mut columns =
                vec![("walk".to_string(), counts::<u64>(walk)), ("step".to_string(), counts::<u64>(step))];
            columns.extend(args.nodes(&found.nodes, vec![])?);
            columns
        }
        _ => return Ok(None),
    }))
}
