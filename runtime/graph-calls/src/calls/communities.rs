//! Communities.

use onrush_graph::community;

use super::Found;
use crate::arguments::{Arguments, counts, floats, scalar};
use crate::error::diagnose;

pub fn columns(args: &Arguments<'_>) -> Found {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: onrush_graph::Error| diagnose(&e);
    let name = args.call.algorithm.as_str();
    let found = match name {
        "louvain_communities" | "leiden_communities" => {
            let default = community::CommunityOptions::default();
            let options = community::CommunityOptions {
                resolution: args.float("resolution", default.resolution),
                seed: args.seed(),
                ..default
            };
            match name {
                "louvain_communities" => community::louvain_communities(graph, &options, run),
                _ => community::leiden_communities(graph, &options, run),
            }
        }
        "label_propagation_communities" => community::label_propagation_communities(graph, run),
        "modularity" => {
            let communities = args.communities("communities")?;
            let found = community::modularity(graph, &communities, args.float("resolution", 1.0)).map_err(error)?;
            return Ok(Some(scalar(name, floats(vec![found]))));
        }
        _ => return Ok(None),
    };
    Ok(Some(args.one("community", counts(found.map_err(error)?))))
}
