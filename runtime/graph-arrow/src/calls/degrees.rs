//! Degrees and how they mix.

use onrush_graph::assortativity::{self, DegreeKind};
use onrush_graph::{Error, degree};
use onrush_wire::Diagnostic;

use super::MaybeColumns;
use crate::arguments::{Arguments, counts, floats, scalar};
use crate::error::plan_error;

pub fn columns(args: &Arguments<'_>) -> MaybeColumns {
    let (graph, run) = (args.graph(), args.run);
    let error = |e: Error| args.failed(&e);
    let name = args.call.algorithm.as_str();
    Ok(Some(match name {
        "degree" => args.one(name, counts(degree::degree(graph))),
        "in_degree" => args.one(name, counts(degree::in_degree(graph))),
        "out_degree" => args.one(name, counts(degree::out_degree(graph))),
        "degree_centrality" => args.one(name, floats(degree::degree_centrality(graph))),
        "in_degree_centrality" => {
            graph.check_directed(name).map_err(error)?;
            args.one(name, floats(degree::in_degree_centrality(graph)))
        }
        "out_degree_centrality" => {
            graph.check_directed(name).map_err(error)?;
            args.one(name, floats(degree::out_degree_centrality(graph)))
        }
        "average_neighbor_degree" => {
            let source = kind(args, "source", &["in", "out", "in+out"])?;
            let target = kind(args, "target", &["in", "out", "in+out"])?;
            let weighted = args.get("weighted")?;
            let found = assortativity::average_neighbor_degree(graph, source, target, weighted, run);
            args.one(name, floats(found.map_err(error)?))
        }
        "degree_assortativity_coefficient" => {
            let x = kind(args, "x", &["in", "out"])?;
            let y = kind(args, "y", &["in", "out"])?;
            let weighted = args.get("weighted")?;
            let found = assortativity::degree_assortativity_coefficient(graph, x, y, weighted, run);
            scalar(name, floats(vec![found.map_err(error)?]))
        }
        "isolates" => args.nodes(&degree::isolates(graph), vec![])?,
        "number_of_selfloops" => scalar(name, counts(vec![graph.number_of_selfloops() as u64])),
        "density" => scalar(name, floats(vec![degree::density(graph)])),
        "reciprocity" => scalar(name, floats(vec![assortativity::reciprocity(graph, run).map_err(error)?])),
        _ => return Ok(None),
    }))
}

/// A kind of degree that an option names by one of the words `known`.
fn kind(args: &Arguments<'_>, name: &str, known: &[&str]) -> Result<DegreeKind, Diagnostic> {
    match args.get::<String>(name)?.as_str() {
        "in" => Ok(DegreeKind::In),
        "out" => Ok(DegreeKind::Out),
        "in+out" if known.contains(&"in+out") => Ok(DegreeKind::Both),
        word => {
            let words: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
            let message = format!("`{name}` is `{word}`, expected one of {}", words.join(", "));
            Err(plan_error("argument", message))
        }
    }
}
