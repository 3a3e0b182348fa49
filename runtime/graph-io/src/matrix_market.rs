//! Matrix Market: the adjacency matrix as `coordinate` entries (Boisvert, Pozo and Remington 1996).
//!
//! Nodes are 1 to the number of rows. `symmetric` matrices are undirected graphs, `general` and `skew-symmetric` ones
//! directed: an entry (i, j) is an edge from i to j. Comments `% node POSITION ID`, which [`write()`] adds, give other
//! ids.

use std::fmt::Write;
use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array};

use crate::error::{ErrorKind, Fault, shown};
use crate::output::{GraphColumns, Values};
use crate::tables::{GraphTables, Id, Kind, Tables, Value, most_nodes, numbered};
use crate::text::lines;

#[derive(Clone, Copy, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

#[derive(Clone, Copy, PartialEq)]
enum Field {
    Pattern,
    Integer,
    Real,
}

const HEADER: &str = "%%MatrixMarket matrix coordinate real general";

pub(crate) fn read(text: &str) -> Result<GraphTables, Fault> {
    let mut lines = lines(text);
    let (field, symmetry) = header(lines.next().map_or("", |(_, line)| line)).map_err(|fault| fault.at_line(1))?;
    let mut ids: Vec<&str> = Vec::new();
    let mut are_ids = true;
    let mut content = lines.filter(|(_, line)| {
        if let Some(comment) = line.strip_prefix('%') {
            if let Some((position, id)) = comment.strip_prefix(" node ").and_then(|node| node.split_once(' ')) {
                are_ids &= position.parse() == Ok(ids.len() + 1);
                ids.push(id);
            }
            return false;
        }
        !line.trim().is_empty()
    });
    let Some((line, size)) = content.next() else {
        return Err(Fault::new(ErrorKind::File, "found no line with the size, expected `rows columns entries`"));
    };
    let (n, count) = size_of(size, text.len()).map_err(|fault| fault.at_line(line))?;
    let (mut sources, mut targets) = (Vec::new(), Vec::new());
    let (mut integers, mut reals) = (Vec::new(), Vec::new());
    let mut last = line;
    for (number, line) in content {
        let at = |fault: Fault| fault.at_line(number);
        let mut words = line.split_ascii_whitespace();
        let (i, j) = (end(words.next(), n).map_err(at)?, end(words.next(), n).map_err(at)?);
        sources.push(i);
        targets.push(j);
        let value = words.next();
        if value.is_some() == (field == Field::Pattern) || words.next().is_some() {
            let expected = if field == Field::Pattern { "two integers" } else { "two integers and a value" };
            return Err(Fault::file(number, format!("found {}, expected {expected}", shown(line.trim()))));
        }
        let value = value.unwrap_or_default();
        match field {
            Field::Pattern => {}
            Field::Integer => integers.push(number_of::<i64>(value, "an integer of 64 bits").map_err(at)?),
            Field::Real => reals.push(number_of::<f64>(value, "a number").map_err(at)?),
        }
        if symmetry == Symmetry::Skew {
            if i == j {
                let message = "found an entry on the diagonal, expected none: the matrix is skew-symmetric";
                return Err(Fault::file(number, message));
            }
            sources.push(j);
            targets.push(i);
            if let Some(value) = integers.last().copied() {
                integers.push(value.checked_neg().ok_or_else(|| at(Fault::limit("-2^63 cannot be negated")))?);
            }
            if let Some(value) = reals.last().copied() {
                reals.push(-value);
            }
        }
        last = number;
    }
    let found = if symmetry == Symmetry::Skew { sources.len() / 2 } else { sources.len() };
    if found != count {
        let message = format!("found {found} entries, expected {count}, as the line with the size says");
        return Err(Fault::file(last, message).help("the file may be cut off: fetch it again, or correct the number"));
    }
    let directed = symmetry != Symmetry::Symmetric;
    let values: Option<ArrayRef> = match field {
        Field::Pattern => None,
        Field::Integer => Some(Arc::new(Int64Array::from(integers))),
        Field::Real => Some(Arc::new(Float64Array::from(reals))),
    };
    match are_ids && !ids.is_empty() && ids.len() == n {
        false => numbered(directed, Arc::new((1..=n as i64).collect::<Int64Array>()), (sources, targets), values),
        true => named(directed, &ids, (sources, targets), values, text.len()),
    }
}

/// The graph with ids from comments.
fn named(
    directed: bool,
    ids: &[&str],
    (sources, targets): (Vec<i64>, Vec<i64>),
    values: Option<ArrayRef>,
    bytes: usize,
) -> Result<GraphTables, Fault> {
    let mut tables = Tables::new(directed, (bytes, usize::MAX));
    for id in ids {
        let before = tables.node_count();
        if (tables.node(Id::of(id))? as usize) < before {
            return Err(Fault::new(ErrorKind::File, format!("two nodes have the id {}", shown(id))));
        }
    }
    for (edge, (i, j)) in sources.into_iter().zip(targets).enumerate() {
        tables.edge(i as u32 - 1, j as u32 - 1);
        let value = match &values {
            None => None,
            Some(values) => match values.as_any().downcast_ref::<Int64Array>() {
                Some(values) => Some(Value::Int(values.value(edge))),
                None => values.as_any().downcast_ref::<Float64Array>().map(|values| Value::Float(values.value(edge))),
            },
        };
        if let Some(value) = value {
            tables.edges.set_named(edge, "weight", value)?;
        }
    }
    tables.finish()
}

fn header(line: &str) -> Result<(Field, Symmetry), Fault> {
    let lower = line.trim().to_ascii_lowercase();
    let words: Vec<&str> = lower.split_ascii_whitespace().collect();
    let ["%%matrixmarket", object, layout, field, symmetry] = words[..] else {
        let message = format!("found {}, expected a header such as `{HEADER}`", shown(line.trim()));
        return Err(Fault::new(ErrorKind::File, message).help("is it a Matrix Market file?"));
    };
    let unsupported = |what: &str, expected: &str| {
        Fault::new(ErrorKind::File, format!("found `{what}`, expected {expected}"))
            .help("write the adjacency matrix again, for example with scipy.io.mmwrite")
    };
    if object != "matrix" {
        return Err(unsupported(object, "`matrix`"));
    }
    if layout != "coordinate" {
        return Err(unsupported(layout, "`coordinate`: a dense matrix is not a graph's"));
    }
    let field = match field {
        "pattern" => Field::Pattern,
        "integer" => Field::Integer,
        "real" | "double" => Field::Real,
        other => return Err(unsupported(other, "`pattern`, `integer` or `real`: weights are real numbers")),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" if field == Field::Pattern => {
            return Err(unsupported("pattern skew-symmetric", "values for a skew-symmetric matrix"));
        }
        "skew-symmetric" => Symmetry::Skew,
        other => return Err(unsupported(other, "`general`, `symmetric` or `skew-symmetric`")),
    };
    Ok((field, symmetry))
}

/// The number of nodes and of entries.
fn size_of(line: &str, bytes: usize) -> Result<(usize, usize), Fault> {
    let numbers: Option<Vec<usize>> = line.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
    let Some([rows, columns, entries]) = numbers.as_deref() else {
        return Err(Fault::new(
            ErrorKind::File,
            format!("found {}, expected `rows columns entries`", shown(line.trim())),
        ));
    };
    if rows != columns {
        let message =
            format!("found a matrix of {rows} rows and {columns} columns, expected a square adjacency matrix");
        let help = "a bipartite graph is a square matrix of all nodes, or a table of edges";
        return Err(Fault::new(ErrorKind::File, message).help(help));
    }
    let most = most_nodes(bytes);
    if *rows > most {
        let message = format!("found {rows} nodes, expected at most {most} in a file of {bytes} bytes");
        return Err(Fault::limit(message).help("is the line with the size right?"));
    }
    Ok((*rows, *entries))
}

fn end(word: Option<&str>, n: usize) -> Result<i64, Fault> {
    let word = word.unwrap_or_default();
    match word.parse::<i64>() {
        Ok(end) if end >= 1 && end as u64 <= n as u64 => Ok(end),
        _ => Err(Fault::new(ErrorKind::File, format!("found {}, expected a node from 1 to {n}", shown(word)))
            .help("nodes count from 1, and the line with the size has their number")),
    }
}

fn number_of<T: std::str::FromStr>(word: &str, expected: &str) -> Result<T, Fault> {
    word.parse().map_err(|_| Fault::new(ErrorKind::File, format!("found {}, expected {expected}", shown(word))))
}

/// Writes a `general` matrix of a directed graph, a `symmetric` one of an undirected graph. Entries of an undirected
/// graph are in the lower triangle.
pub(crate) fn write(graph: &GraphColumns) -> Result<String, Fault> {
    let format = "Matrix Market";
    graph.check_edges_only(format, false)?;
    if let Some(column) = graph.edge_attributes.iter().find(|column| column.name != "weight") {
        let message = format!("{format} has weights only, the edges have `{}`", column.name);
        return Err(Fault::new(ErrorKind::Format, message).help("write GraphML, or leave the column out"));
    }
    let weights = graph.edge_attributes.first().map(|column| &column.values);
    let field = match weights.map(Values::kind) {
        None => "pattern",
        Some(Kind::Int) => "integer",
        Some(Kind::Float) => "real",
        Some(Kind::Bool | Kind::Str) => {
            let message = "the weights are not numbers";
            return Err(Fault::new(ErrorKind::Format, message).help("cast the column `weight` to a number"));
        }
    };
    let symmetry = if graph.directed { "general" } else { "symmetric" };
    let mut out = format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n");
    let positions = graph.positions();
    if positions.len() != graph.node_count {
        return Err(Fault::new(ErrorKind::Data, "the ids of the nodes are not unique").help("leave repeated nodes out"));
    }
    let is_plain = (0..graph.node_count).all(|node| graph.nodes.id(node).to_string() == (node + 1).to_string());
    for node in (0..graph.node_count).take_while(|_| !is_plain) {
        let id = graph.nodes.id(node).to_string();
        if id.contains(['\n', '\r']) {
            return Err(Fault::new(ErrorKind::Format, format!("the id {} has an end of a line", shown(&id))));
        }
        let _ = writeln!(out, "% node {} {id}", node + 1);
    }
    let n = graph.node_count;
    let _ = writeln!(out, "{n} {n} {}", graph.edge_count);
    for edge in 0..graph.edge_count {
        let (source, target) = graph.ends(edge);
        let position = |id: String| match positions.get(&id) {
            Some(at) => Ok(at + 1),
            None => {
                Err(Fault::new(ErrorKind::Data, format!("the edges have the node {}, the nodes do not", shown(&id))))
            }
        };
        let (mut i, mut j) = (position(source.to_string())?, position(target.to_string())?);
        if !graph.directed && i < j {
            (i, j) = (j, i);
        }
        let _ = write!(out, "{i} {j}");
        if let Some(weights) = weights {
            let Some(weight) = weights.get(edge) else {
                let message = format!("edge {} has no weight, and an entry of a matrix needs a value", edge + 1);
                return Err(Fault::new(ErrorKind::Data, message).help("fill nulls in `weight`, for example with 1"));
            };
            let _ = write!(out, " {weight}");
        }
        out.push('\n');
    }
    Ok(out)
}
