//! Ranks and centralities.

use onrush_graph::{betweenness, closeness, degree, eigenvector, link_analysis};

use super::Found;
use crate::arguments::{Arguments, floats};
use crate::error::diagnose;

pub fn columns(args: &Arguments<'_>) -> Found {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: onrush_graph::Error| diagnose(&e);
    let name = args.call.algorithm.as_str();
    Ok(Some(match name {
        "degree_centrality" => args.one(name, floats(degree::degree_centrality(graph))),
        "pagerank" => {
            let (personalization, nstart, dangling) =
                (args.node_values("personalization")?, args.node_values("nstart")?, args.node_values("dangling")?);
            let default = link_analysis::PageRank::default();
            let options = link_analysis::PageRank {
                alpha: args.float("alpha", default.alpha),
                max_iter: args.count("max_iter", default.max_iter),
                tol: args.float("tol", default.tol),
                personalization: personalization.as_deref(),
                nstart: nstart.as_deref(),
                dangling: dangling.as_deref(),
            };
            args.one(name, floats(link_analysis::pagerank(graph, &options, run).map_err(error)?))
        }
        "hits" => {
            let default = link_analysis::Hits::default();
            let options = link_analysis::Hits {
                max_iter: args.count("max_iter", default.max_iter),
                tol: args.float("tol", default.tol),
                ..default
            };
            let (hubs, authorities) = link_analysis::hits(graph, &options, run).map_err(error)?;
            args.by_node(vec![("hubs", floats(hubs)), ("authorities", floats(authorities))])
        }
        "eigenvector_centrality" => {
            let default = eigenvector::Eigenvector::default();
            let options = eigenvector::Eigenvector {
                max_iter: args.count("max_iter", default.max_iter),
                tol: args.float("tol", default.tol),
                ..default
            };
            args.one(name, floats(eigenvector::eigenvector_centrality(graph, &options, run).map_err(error)?))
        }
        "katz_centrality" => {
            let default = eigenvector::Katz::default();
            let options = eigenvector::Katz {
                alpha: args.float("alpha", default.alpha),
                max_iter: args.count("max_iter", default.max_iter),
                tol: args.float("tol", default.tol),
                ..default
            };
            args.one(name, floats(eigenvector::katz_centrality(graph, &options, run).map_err(error)?))
        }
        "betweenness_centrality" => {
            let sources = match args.call.count("k") {
                Some(k) => betweenness::Sources::Sample { k: k.min(graph.nodes()), seed: args.seed() },
                None => betweenness::Sources::All,
            };
            let options = betweenness::BetweennessOptions { sources, ..betweenness::BetweennessOptions::default() };
            args.one(name, floats(betweenness::betweenness_centrality(graph, &options, run).map_err(error)?))
        }
        "closeness_centrality" => {
            args.one(name, floats(closeness::closeness_centrality(graph, false, true, run).map_err(error)?))
        }
        "harmonic_centrality" => {
            args.one(name, floats(closeness::harmonic_centrality(graph, false, run).map_err(error)?))
        }
        _ => return Ok(None),
    }))
}
