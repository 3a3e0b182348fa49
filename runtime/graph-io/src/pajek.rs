//! Pajek's `.net`: vertices with labels, arcs and edges with weights. Read only.
//!
//! Labels are the ids if they differ, else the numbers are. The attributes `x`, `y` and `shape` of vertices are read as
//! NetworkX reads them, others are not.

use std::collections::HashSet;

use crate::error::{ErrorKind, Fault, shown};
use crate::tables::{GraphTables, Id, Tables, Value, most_nodes};
use crate::text::lines;
use crate::tokens::words;

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Skipped,
    Vertices,
    /// `directed` or not, and whether a line has one edge or an end with all of its neighbours.
    Lines {
        directed: bool,
        is_list: bool,
    },
}

pub(crate) fn read(text: &str, cells: usize) -> Result<GraphTables, Fault> {
    let mut section = Section::Skipped;
    // `None` before the line `*Vertices`.
    let mut vertices: Option<Vec<Option<String>>> = None;
    let mut shapes = Vec::new();
    let mut edges = Vec::new();
    let mut directed = None;
    for (number, line) in lines(text) {
        let at = |fault: Fault| fault.at_line(number);
        let line = line.trim();
        if line.is_empty() || line.starts_with('%') {
            continue;
        }
        if line.starts_with('*') {
            let words = words(line).map_err(at)?;
            section = match words[0].to_ascii_lowercase().as_str() {
                "*vertices" if vertices.is_some() => {
                    let fault = Fault::file(number, "found a second `*Vertices`, expected one");
                    return Err(fault.help("split the file into one for each network"));
                }
                "*vertices" => {
                    vertices = Some(vec![None; count(words.get(1).copied(), text.len()).map_err(at)?]);
                    Section::Vertices
                }
                "*arcs" | "*arcs:" => Section::Lines { directed: true, is_list: false },
                "*edges" | "*edges:" => Section::Lines { directed: false, is_list: false },
                "*arcslist" => Section::Lines { directed: true, is_list: true },
                "*edgeslist" => Section::Lines { directed: false, is_list: true },
                "*matrix" => {
                    let fault = Fault::file(number, "found a matrix, expected arcs or edges");
                    return Err(fault.help("write the network with `*Arcs` or `*Edges`"));
                }
                _ => Section::Skipped,
            };
            if let Section::Lines { directed: found, .. } = section
                && directed.replace(found).is_some_and(|before| before != found)
            {
                let fault = Fault::file(number, "found both arcs and edges, expected one of them");
                return Err(fault.help("write each edge as two arcs"));
            }
            continue;
        }
        let words = words(line).map_err(at)?;
        let labels = vertices.as_deref_mut().unwrap_or_default();
        match section {
            Section::Skipped => {}
            Section::Vertices => {
                let vertex = vertex(words[0], labels.len()).map_err(at)?;
                labels[vertex] = words.get(1).map(|label| label.to_string());
                if let [_, _, x, y, shape, ..] = words[..]
                    && let (Ok(x), Ok(y)) = (x.parse(), y.parse())
                {
                    shapes.push((vertex, x, y, shape.to_string()));
                }
            }
            Section::Lines { is_list, .. } => {
                let source = vertex(words[0], labels.len()).map_err(at)?;
                let ends = if is_list { &words[1..] } else { &words[1..words.len().min(2)] };
                if ends.is_empty() && !is_list {
                    return Err(Fault::file(number, format!("found {}, expected two vertices", shown(line))));
                }
                let weight = match words.get(2) {
                    Some(word) if !is_list => match Value::guessed(word) {
                        Value::Str(_) => {
                            return Err(Fault::file(
                                number,
                                format!("found the weight {}, expected a number", shown(word)),
                            ));
                        }
                        value => Some(value),
                    },
                    _ => None,
                };
                for end in ends {
                    edges.push((source, vertex(end, labels.len()).map_err(at)?, weight.clone()));
                }
            }
        }
    }
    let labels = vertices.unwrap_or_default();
    let mut tables = Tables::new(directed.unwrap_or(false), (text.len(), cells));
    let names: HashSet<&String> = labels.iter().flatten().collect();
    let by_label = names.len() == labels.len();
    for (i, label) in labels.iter().enumerate() {
        let number = Id::Int(i as i64 + 1);
        let row = match label {
            Some(label) if by_label => tables.node(Id::of(label))?,
            _ => tables.node(number)?,
        };
        if let (false, Some(label)) = (by_label, label) {
            tables.nodes.set_named(row as usize, "label", Value::Str(label.clone()))?;
        }
    }
    for (vertex, x, y, shape) in shapes {
        tables.nodes.set_named(vertex, "x", Value::Float(x))?;
        tables.nodes.set_named(vertex, "y", Value::Float(y))?;
        tables.nodes.set_named(vertex, "shape", Value::Str(shape))?;
    }
    for (source, target, weight) in edges {
        let row = tables.edge(source as u32, target as u32);
        if let Some(weight) = weight {
            tables.edges.set_named(row, "weight", weight)?;
        }
    }
    tables.finish()
}

fn count(word: Option<&str>, bytes: usize) -> Result<usize, Fault> {
    let word = word.unwrap_or_default();
    let most = most_nodes(bytes);
    match word.parse() {
        Ok(count) if count <= most => Ok(count),
        Ok(count) => {
            let message = format!("found {count} vertices, expected at most {most} in a file of {bytes} bytes");
            Err(Fault::limit(message).help("is the number of vertices right?"))
        }
        Err(_) => Err(Fault::new(ErrorKind::File, format!("found {}, expected the number of vertices", shown(word)))),
    }
}

/// The position of a vertex, from 0.
fn vertex(word: &str, n: usize) -> Result<usize, Fault> {
    match word.parse::<usize>() {
        Ok(vertex) if (1..=n).contains(&vertex) => Ok(vertex - 1),
        _ => Err(Fault::new(ErrorKind::File, format!("found {}, expected a vertex from 1 to {n}", shown(word)))
            .help("vertices count from 1, and `*Vertices` has their number")),
    }
}
