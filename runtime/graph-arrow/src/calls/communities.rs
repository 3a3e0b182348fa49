//! Triangles, cores and communities.

use onrush_graph::community::{self, CommunityOptions};
use onrush_graph::{Error, cluster, cores, truss};
use onrush_wire::Diagnostic;

use super::MaybeColumns;
use crate::arguments::{Arguments, counts, floats, scalar};

pub fn columns(args: &Arguments<'_>) -> MaybeColumns {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: Error| args.failed(&e);
    let name = args.call.algorithm.as_str();
    let quality = |found: Result<f64, Error>| found.map(|value| scalar(name, floats(vec![value]))).map_err(error);
    Ok(Some(match name {
        "triangles" => args.one(name, counts(cluster::triangles(graph, run).map_err(error)?)),
        "clustering" => args.one(name, floats(cluster::clustering(graph, args.get("weighted")?, run).map_err(error)?)),
        "average_clustering" => {
            let (weighted, count_zeros) = (args.get("weighted")?, args.get("count_zeros")?);
            quality(cluster::average_clustering(graph, weighted, count_zeros, run))?
        }
        "transitivity" => quality(cluster::transitivity(graph, run))?,
        "square_clustering" => args.one(name, floats(cluster::square_clustering(graph, run).map_err(error)?)),
        "core_number" => args.one(name, counts(cores::core_number(graph, run).map_err(error)?)),
        "k_truss" => {
            let k = u32::try_from(args.get::<usize>("k")?).unwrap_or(u32::MAX);
            args.edges(&truss::k_truss(graph, k, run).map_err(error)?)?
        }
        "louvain_communities" => {
            let found = community::louvain_communities(graph, &louvain_options(args)?, run);
            args.one("community", counts(found.map_err(error)?))
        }
        "leiden_communities" => {
            let found = community::leiden_communities(graph, &leiden_options(args)?, run);
            args.one("community", counts(found.map_err(error)?))
        }
        "label_propagation_communities" => {
            args.one("community", counts(community::label_propagation_communities(graph, run).map_err(error)?))
        }
        "modularity" => {
            let (communities, _) = args.communities("communities")?;
            quality(community::modularity(graph, &communities, args.get("resolution")?))?
        }
        "coverage" => quality(community::coverage(graph, &args.communities("communities")?.0, run))?,
        "performance" => quality(community::performance(graph, &args.communities("communities")?.0, run))?,
        "conductance" => {
            let (communities, labels) = args.communities("communities")?;
            let found = community::conductance(graph, &communities, args.get("weighted")?, run);
            vec![("community".to_string(), labels), (name.to_string(), floats(found.map_err(error)?))]
        }
        _ => return Ok(None),
    }))
}

/// The options of a call of `louvain_communities`.
pub(crate) fn louvain_options(args: &Arguments<'_>) -> Result<CommunityOptions, Diagnostic> {
    Ok(CommunityOptions { threshold: args.get("threshold")?, ..leiden_options(args)? })
}

/// The options of a call of `leiden_communities`.
pub(crate) fn leiden_options(args: &Arguments<'_>) -> Result<CommunityOptions, Diagnostic> {
    Ok(CommunityOptions {
        resolution: args.get("resolution")?,
        max_level: args.get("max_level")?,
        seed: args.get("seed")?,
        ..CommunityOptions::default()
    })
}
