//! Scores of pairs of nodes.

use onrush_graph::similarity;

use super::Found;
use crate::arguments::{Arguments, floats};
use crate::error::diagnose;

pub fn columns(args: &Arguments<'_>) -> Found {
    let name = args.call.algorithm.as_str();
    let score = match name {
        "jaccard_coefficient" => similarity::jaccard_coefficient,
        _ => return Ok(None),
    };
    let pairs = args.pairs("pairs")?;
    let found = score(args.graph(), pairs.as_deref(), args.run).map_err(|e| diagnose(&e))?;
    let mut columns = args.index.ids_of("u", found.pairs.iter().map(|pair| pair.0))?;
    columns.extend(args.index.ids_of("v", found.pairs.iter().map(|pair| pair.1))?);
    columns.push((name.to_string(), floats(found.values)));
    Ok(Some(columns))
}
