//! Ranks and centralities.

use onrush_graph::{Error, betweenness, closeness, eigenvector, link_analysis};

use onrush_wire::Diagnostic;

use super::MaybeColumns;
use crate::arguments::{Arguments, floats};

pub fn columns(args: &Arguments<'_>) -> MaybeColumns {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: Error| args.failed(&e);
    let name = args.call.algorithm.as_str();
    Ok(Some(match name {
        "pagerank" => {
            let found = with_pagerank(args, |options| link_analysis::pagerank(graph, options, run))?;
            args.one(name, floats(found.map_err(error)?))
        }
        "hits" => {
            let (hubs, authorities) =
                with_hits(args, |options| link_analysis::hits(graph, options, run))?.map_err(error)?;
            args.by_node(vec![("hubs", floats(hubs)), ("authorities", floats(authorities))])
        }
        "eigenvector_centrality" => {
            let nstart = args.node_values("nstart")?;
            let default = eigenvector::Eigenvector::default();
            let options = eigenvector::Eigenvector {
                max_iter: args.count("max_iter", default.max_iter),
                tol: args.float("tol", default.tol),
                nstart: nstart.as_deref(),
            };
            let graph = args.graph_by_option(false);
            args.one(name, floats(eigenvector::eigenvector_centrality(&graph, &options, run).map_err(error)?))
        }
        "katz_centrality" => {
            let nstart = args.node_values("nstart")?;
            let default = eigenvector::Katz::default();
            let options = eigenvector::Katz {
                alpha: args.float("alpha", default.alpha),
                beta: args.float("beta", default.beta),
                max_iter: args.count("max_iter", default.max_iter),
                tol: args.float("tol", default.tol),
                nstart: nstart.as_deref(),
                normalized: args.flag("normalized", default.normalized),
                ..default
            };
            let graph = args.graph_by_option(false);
            args.one(name, floats(eigenvector::katz_centrality(&graph, &options, run).map_err(error)?))
        }
        "betweenness_centrality" => {
            let found = betweenness::betweenness_centrality(graph, &betweenness_options(args), run).map_err(error)?;
            args.one(name, floats(found))
        }
        "edge_betweenness_centrality" => {
            let found = betweenness::edge_betweenness_centrality(graph, &betweenness_options(args), run);
            let found = found.map_err(error)?;
            let mut columns = args.edges(&(0..found.len() as u32).collect::<Vec<u32>>())?;
            columns.push((name.to_string(), floats(found)));
            columns
        }
        "closeness_centrality" => {
            let (weighted, wf_improved) = (args.flag("weighted", false), args.flag("wf_improved", true));
            let found = closeness::closeness_centrality(graph, weighted, wf_improved, run);
            args.one(name, floats(found.map_err(error)?))
        }
        "harmonic_centrality" => {
            let found = closeness::harmonic_centrality(graph, args.flag("weighted", false), run);
            args.one(name, floats(found.map_err(error)?))
        }
        _ => return Ok(None),
    }))
}

/// Calls `work` with the options of a call of `pagerank`.
pub(crate) fn with_pagerank<T>(
    args: &Arguments<'_>,
    work: impl FnOnce(&link_analysis::PageRank<'_>) -> T,
) -> Result<T, Diagnostic> {
    let (personalization, nstart, dangling) =
        (args.node_values("personalization")?, args.node_values("nstart")?, args.node_values("dangling")?);
    let default = link_analysis::PageRank::default();
    Ok(work(&link_analysis::PageRank {
        alpha: args.float("alpha", default.alpha),
        max_iter: args.count("max_iter", default.max_iter),
        tol: args.float("tol", default.tol),
        personalization: personalization.as_deref(),
        nstart: nstart.as_deref(),
        dangling: dangling.as_deref(),
        ..default
    }))
}

/// Calls `work` with the options of a call of `hits`.
pub(crate) fn with_hits<T>(
    args: &Arguments<'_>,
    work: impl FnOnce(&link_analysis::Hits<'_>) -> T,
) -> Result<T, Diagnostic> {
    let nstart = args.node_values("nstart")?;
    let default = link_analysis::Hits::default();
    Ok(work(&link_analysis::Hits {
        max_iter: args.count("max_iter", default.max_iter),
        tol: args.float("tol", default.tol),
        nstart: nstart.as_deref(),
        normalized: args.flag("normalized", default.normalized),
    }))
}

pub(crate) fn betweenness_options(args: &Arguments<'_>) -> betweenness::BetweennessOptions {
    let default = betweenness::BetweennessOptions::default();
    let sources = match args.call.count("k") {
        Some(k) => betweenness::Sources::Sample { k: k.min(args.index.nodes()), seed: args.seed() },
        None => default.sources,
    };
    betweenness::BetweennessOptions {
        sources,
        normalized: args.flag("normalized", default.normalized),
        endpoints: args.flag("endpoints", default.endpoints),
        weighted: args.flag("weighted", default.weighted),
    }
}
