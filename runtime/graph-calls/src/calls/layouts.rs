//! Positions of nodes.

use onrush_graph::layout;

use super::Found;
use crate::arguments::{Arguments, floats};
use crate::error::diagnose;

pub fn columns(args: &Arguments<'_>) -> Found {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: onrush_graph::Error| diagnose(&e);
    let points = match args.call.algorithm.as_str() {
        "circular_layout" => layout::circular_layout(graph.nodes(), 1.0, [0.0, 0.0]),
        "spring_layout" => {
            let default = layout::Spring::default();
            let iterations = args.count("iterations", default.iterations);
            let options = layout::Spring { iterations, seed: args.seed(), ..default };
            layout::spring_layout(graph, &options, None, run).map_err(error)?
        }
        "forceatlas2_layout" => {
            let default = layout::ForceAtlas2::default();
            let options = layout::ForceAtlas2 {
                max_iter: args.count("max_iter", default.max_iter),
                scaling_ratio: args.float("scaling_ratio", default.scaling_ratio),
                gravity: args.float("gravity", default.gravity),
                seed: args.seed(),
                ..default
            };
            layout::forceatlas2_layout(graph, &options, None, run).map_err(error)?
        }
        _ => return Ok(None),
    };
    let axis = |k: usize| floats(points.iter().map(|point| point[k]).collect());
    Ok(Some(args.by_node(vec![("x", axis(0)), ("y", axis(1))])))
}
