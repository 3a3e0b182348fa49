//! Positions of nodes.

use onrush_graph::Error;
use onrush_graph::layout::{self, Point};
use onrush_wire::Diagnostic;

use super::MaybeColumns;
use crate::arguments::{Arguments, Columns, floats};
use crate::error::plan_error;

pub fn columns(args: &Arguments<'_>) -> MaybeColumns {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: Error| args.failed(&e);
    let points = match args.call.algorithm.as_str() {
        "circular_layout" => layout::circular_layout(graph.nodes(), args.get("scale")?, [0.0, 0.0]),
        "spectral_layout" => {
            let options = layout::Spectral {
                weighted: args.get("weighted")?,
                scale: args.get("scale")?,
                ..layout::Spectral::default()
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
            let options = layout::Spring {
                k: args.get("k")?,
                iterations: args.get("iterations")?,
                threshold: args.get("threshold")?,
                weighted: args.get("weighted")?,
                scale: Some(args.get("scale")?),
                fixed: fixed.unwrap_or_default(),
                seed: args.get("seed")?,
                ..layout::Spring::default()
            };
            layout::spring_layout(graph, &options, pos.as_deref(), run).map_err(error)?
        }
        "forceatlas2_layout" => {
            let pos = args.points("pos")?;
            let options = force_atlas_options(args)?;
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
pub(crate) fn force_atlas_options(args: &Arguments<'_>) -> Result<layout::ForceAtlas2, Diagnostic> {
    Ok(layout::ForceAtlas2 {
        max_iter: args.get("max_iter")?,
        jitter_tolerance: args.get("jitter_tolerance")?,
        scaling_ratio: args.get("scaling_ratio")?,
        gravity: args.get("gravity")?,
        distributed_action: args.get("distributed_action")?,
        strong_gravity: args.get("strong_gravity")?,
        linlog: args.get("linlog")?,
        weighted: args.get("weighted")?,
        seed: args.get("seed")?,
    })
}
