//! Positions of nodes.

use onrush_graph::Error;
use onrush_graph::layout::{self, Point};

use super::MaybeColumns;
use crate::arguments::{Arguments, Columns, floats};
use crate::error::plan_error;

pub fn columns(args: &Arguments<'_>) -> MaybeColumns {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: Error| args.failed(&e);
    let points = match args.call.algorithm.as_str() {
        "circular_layout" => layout::circular_layout(graph.nodes(), args.float("scale", 1.0), [0.0, 0.0]),
        "spectral_layout" => {
            let default = layout::Spectral::default();
            let options = layout::Spectral {
                weighted: args.flag("weighted", default.weighted),
                scale: args.float("scale", default.scale),
                ..default
            };
            layout::spectral_layout(graph, &options, run).map_err(error)?
        }
        "spring_layout" => {
            let pos = args.points("pos")?;
            let fixed = args.frame("fixed").map(|batch| args.nodes_of("fixed", batch)).transpose()?;
            if fixed.is_some() && pos.is_none() {
                return Err(
                    plan_error("argument", "`fixed` needs positions").help("give the positions to begin with by `pos`")
                );
            }
            let default = layout::Spring::default();
            let options = layout::Spring {
                k: args.call.float("k").or(default.k),
                iterations: args.count("iterations", default.iterations),
                threshold: args.float("threshold", default.threshold),
                weighted: args.flag("weighted", default.weighted),
                scale: args.call.float("scale").or(default.scale),
                fixed: fixed.unwrap_or_default(),
                seed: args.seed(),
                ..default
            };
            layout::spring_layout(graph, &options, pos.as_deref(), run).map_err(error)?
        }
        "forceatlas2_layout" => {
            let pos = args.points("pos")?;
            let options = force_atlas_options(args);
            layout::forceatlas2_layout(graph, &options, pos.as_deref(), run).map_err(error)?
        }
        _ => return Ok(None),
    };
    Ok(Some(positions(args, &points)))
}

/// The columns of positions, by node.
pub(crate) fn positions(args: &Arguments<'_>, points: &[Point]) -> Columns {
    let axis = |k: usize| floats(points.iter().map(|point| point[k]).collect());
    args.by_node(vec![("x", axis(0)), ("y", axis(1))])
}

/// The options of a call of `forceatlas2_layout`.
pub(crate) fn force_atlas_options(args: &Arguments<'_>) -> layout::ForceAtlas2 {
    let default = layout::ForceAtlas2::default();
    layout::ForceAtlas2 {
        max_iter: args.count("max_iter", default.max_iter),
        jitter_tolerance: args.float("jitter_tolerance", default.jitter_tolerance),
        scaling_ratio: args.float("scaling_ratio", default.scaling_ratio),
        gravity: args.float("gravity", default.gravity),
        distributed_action: args.flag("distributed_action", default.distributed_action),
        strong_gravity: args.flag("strong_gravity", default.strong_gravity),
        linlog: args.flag("linlog", default.linlog),
        weighted: args.flag("weighted", default.weighted),
        seed: args.seed(),
    }
}
