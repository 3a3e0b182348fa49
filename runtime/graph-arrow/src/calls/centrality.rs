//! Ranks and centralities.

use onrush_graph::betweenness::{self, BetweennessOptions, Sources};
use onrush_graph::{Error, closeness, eigenvector, link_analysis};
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
            let options = eigenvector::Eigenvector {
                max_iter: args.get("max_iter")?,
                tol: args.get("tol")?,
                nstart: nstart.as_deref(),
            };
            let graph = args.graph_by_option()?;
            args.one(name, floats(eigenvector::eigenvector_centrality(&graph, &options, run).map_err(error)?))
        }
        "katz_centrality" => {
            let nstart = args.node_values("nstart")?;
            let options = eigenvector::Katz {
                alpha: args.get("alpha")?,
                beta: args.get("beta")?,
                betas: None,
                max_iter: args.get("max_iter")?,
                tol: args.get("tol")?,
                nstart: nstart.as_deref(),
                normalized: args.get("normalized")?,
            };
            let graph = args.graph_by_option()?;
            args.one(name, floats(eigenvector::katz_centrality(&graph, &options, run).map_err(error)?))
        }
        "betweenness_centrality" => {
            let found = betweenness::betweenness_centrality(graph, &betweenness_options(args)?, run).map_err(error)?;
            args.one(name, floats(found))
        }
        "edge_betweenness_centrality" => {
            let found = betweenness::edge_betweenness_centrality(graph, &edge_betweenness_options(args)?, run);
            let found = found.map_err(error)?;
            let mut columns = args.edges(&(0..found.len() as u32).collect::<Vec<u32>>())?;
            columns.push((name.to_string(), floats(found)));
            columns
        }
        "closeness_centrality" => {
            let (weighted, wf_improved) = (args.get("weighted")?, args.get("wf_improved")?);
            let found = closeness::closeness_centrality(graph, weighted, wf_improved, run);
            args.one(name, floats(found.map_err(error)?))
        }
        "harmonic_centrality" => {
            let found = closeness::harmonic_centrality(graph, args.get("weighted")?, run);
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
    Ok(work(&link_analysis::PageRank {
        alpha: args.get("alpha")?,
        max_iter: args.get("max_iter")?,
        tol: args.get("tol")?,
        personalization: personalization.as_deref(),
        nstart: nstart.as_deref(),
        dangling: dangling.as_deref(),
        ..link_analysis::PageRank::default()
    }))
}

/// Calls `work` with the options of a call of `hits`.
pub(crate) fn with_hits<T>(
    args: &Arguments<'_>,
    work: impl FnOnce(&link_analysis::Hits<'_>) -> T,
) -> Result<T, Diagnostic> {
    let nstart = args.node_values("nstart")?;
    Ok(work(&link_analysis::Hits {
        max_iter: args.get("max_iter")?,
        tol: args.get("tol")?,
        nstart: nstart.as_deref(),
        normalized: args.get("normalized")?,
    }))
}

/// The options of a call of `betweenness_centrality`.
pub(crate) fn betweenness_options(args: &Arguments<'_>) -> Result<BetweennessOptions, Diagnostic> {
    Ok(BetweennessOptions { endpoints: args.get("endpoints")?, ..edge_betweenness_options(args)? })
}

/// The options of a call of `edge_betweenness_centrality`.
fn edge_betweenness_options(args: &Arguments<'_>) -> Result<BetweennessOptions, Diagnostic> {
    let sources = match args.get("k")? {
        Some(k) => Sources::Sample { k: args.index.nodes().min(k), seed: args.get("seed")? },
        None => Sources::All,
    };
    let (normalized, weighted) = (args.get("normalized")?, args.get("weighted")?);
    Ok(BetweennessOptions { sources, normalized, weighted, ..BetweennessOptions::default() })
}
