//! Node-link JSON as NetworkX's `node_link_data` and D3 write it: `nodes` with `id`, and `edges` (before NetworkX 3.4
//! `links`) with `source` and `target`.
//!
//! Nested values are JSON in a string. The attributes of the graph itself are not read.

use std::cell::RefCell;
use std::fmt::{self, Write};

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use crate::error::{ErrorKind, Fault, shown};
use crate::output::{Cell, GraphColumns, OutputColumn};
use crate::tables::{GraphTables, Id, Tables, Value};

pub(crate) fn read(text: &str, cells: usize) -> Result<GraphTables, Fault> {
    let document =
        Document { tables: RefCell::new(Tables::new(false, (text.len(), cells))), fault: RefCell::new(None) };
    let mut json = serde_json::Deserializer::from_str(text);
    let read = (&document).deserialize(&mut json).and_then(|()| json.end());
    let Document { tables, fault } = document;
    if let Err(error) = read {
        let line = error.line().max(1);
        return Err(match fault.into_inner() {
            Some(fault) => fault.at_line(line),
            None => Fault::file(line, format!("found JSON that cannot be read: {error}"))
                .help("expected `{\"nodes\": [{\"id\": 1}], \"edges\": [{\"source\": 1, \"target\": 2}]}`"),
        });
    }
    tables.into_inner().finish()
}

/// The tables so far, and the error that serde's own does not hold.
struct Document {
    tables: RefCell<Tables>,
    fault: RefCell<Option<Fault>>,
}

impl Document {
    /// Keeps the error of this crate in place of one of serde.
    fn keep<T, E: serde::de::Error>(&self, result: Result<T, Fault>) -> Result<T, E> {
        result.map_err(|fault| {
            self.fault.replace(Some(fault));
            E::custom("")
        })
    }
}

impl<'de> DeserializeSeed<'de> for &Document {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &Document {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `nodes` and `edges`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut nodes, mut edges) = (false, None);
        while let Some(name) = map.next_key::<String>()? {
            match name.as_str() {
                "directed" => self.tables.borrow_mut().directed = map.next_value()?,
                "nodes" => {
                    nodes = true;
                    map.next_value_seed(Elements { document: self, is_edges: false })?;
                }
                "edges" | "links" => {
                    if let Some(before) = edges.replace(name.clone()) {
                        let message = format!("found both `{before}` and `{name}`, expected one list of edges");
                        return self.keep(Err(Fault::new(ErrorKind::File, message).help("leave one of them out")));
                    }
                    map.next_value_seed(Elements { document: self, is_edges: true })?;
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        if !nodes || edges.is_none() {
            let missing = if nodes { "edges" } else { "nodes" };
            let fault =
                Fault::new(ErrorKind::File, format!("found an object without `{missing}`, expected node-link JSON"));
            return self.keep(Err(fault.help("networkx.node_link_data makes it")));
        }
        Ok(())
    }
}

/// The array of nodes or of edges.
#[derive(Clone, Copy)]
struct Elements<'a> {
    document: &'a Document,
    is_edges: bool,
}

impl<'de> DeserializeSeed<'de> for Elements<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Elements<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an array of {}", if self.is_edges { "edges" } else { "nodes" })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let mut number = 0;
        while elements.next_element_seed(Object { within: self, number })?.is_some() {
            number += 1;
        }
        Ok(())
    }
}

/// A node or an edge.
#[derive(Clone, Copy)]
struct Object<'a> {
    within: Elements<'a>,
    number: i64,
}

impl<'de> DeserializeSeed<'de> for Object<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with attributes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Elements { document, is_edges } = self.within;
        let (mut ids, mut values) = ([None, None, None], Vec::new());
        while let Some(name) = map.next_key::<String>()? {
            let json: Json = map.next_value()?;
            match (name.as_str(), is_edges) {
                ("id", false) => ids[0] = Some(document.keep(id(&json))?),
                ("source", true) => ids[1] = Some(document.keep(id(&json))?),
                ("target", true) => ids[2] = Some(document.keep(id(&json))?),
                _ => {
                    if let Some(value) = value(json) {
                        values.push((name, value));
                    }
                }
            }
        }
        let tables = &mut *document.tables.borrow_mut();
        let (row, attributes) = match (is_edges, ids) {
            // NetworkX numbers nodes without an id.
            (false, [node, ..]) => {
                let id = node.unwrap_or(Id::Int(self.number));
                (document.keep(tables.node(id))? as usize, &mut tables.nodes)
            }
            (true, [_, Some(source), Some(target)]) => {
                let source = document.keep(tables.node(source))?;
                let target = document.keep(tables.node(target))?;
                (tables.edge(source, target), &mut tables.edges)
            }
            (true, [_, source, _]) => {
                let missing = if source.is_none() { "source" } else { "target" };
                let message = format!("found an edge without `{missing}`, expected one with `source` and `target`");
                return document.keep(Err(Fault::new(ErrorKind::File, message)));
            }
        };
        for (name, value) in values {
            document.keep(attributes.set_named(row, &name, value))?;
        }
        Ok(())
    }
}

fn id(json: &Json) -> Result<Id, Fault> {
    match json {
        Json::String(id) => Ok(Id::Str(id.clone())),
        Json::Number(id) => Ok(id.as_i64().map_or_else(|| Id::Str(id.to_string()), Id::Int)),
        other => Err(Fault::new(
            ErrorKind::File,
            format!("found the id {}, expected a string or a number", shown(&other.to_string())),
        )
        .help("write ids of several values as one string")),
    }
}

fn value(json: Json) -> Option<Value> {
    match json {
        Json::Null => None,
        Json::Bool(value) => Some(Value::Bool(value)),
        Json::Number(number) => Some(match number.as_i64() {
            Some(value) => Value::Int(value),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        }),
        Json::String(value) => Some(Value::Str(value)),
        nested => Some(Value::Str(nested.to_string())),
    }
}

pub(crate) fn write(graph: &GraphColumns) -> Result<String, Fault> {
    let multigraph = graph.has_parallel_edges();
    let mut out =
        format!("{{\"directed\": {}, \"multigraph\": {multigraph}, \"graph\": {{}}, \"nodes\": [", graph.directed);
    for node in 0..graph.node_count {
        out.push_str(if node == 0 { "\n{\"id\": " } else { ",\n{\"id\": " });
        push(&mut out, "node", graph.nodes.id(node))?;
        attributes(&mut out, "id", graph.attributes_of_node(node))?;
    }
    out.push_str("\n], \"edges\": [");
    for edge in 0..graph.edge_count {
        let (source, target) = graph.ends(edge);
        out.push_str(if edge == 0 { "\n{\"source\": " } else { ",\n{\"source\": " });
        push(&mut out, "source", source)?;
        out.push_str(", \"target\": ");
        push(&mut out, "target", target)?;
        attributes(&mut out, "source", graph.attributes_of_edge(edge))?;
    }
    out.push_str("\n]}\n");
    Ok(out)
}

/// The attributes and the end of an object.
fn attributes<'a>(
    out: &mut String,
    reserved: &str,
    attributes: impl Iterator<Item = (&'a OutputColumn, Cell<'a>)>,
) -> Result<(), Fault> {
    for (column, value) in attributes {
        if column.name == reserved {
            let message = format!("the attribute `{reserved}` has the name of the node's id in node-link JSON");
            return Err(Fault::new(ErrorKind::Format, message).help("rename the column"));
        }
        out.push_str(", ");
        push(out, &column.name, Cell::Str(&column.name))?;
        out.push_str(": ");
        push(out, &column.name, value)?;
    }
    out.push('}');
    Ok(())
}

fn push(out: &mut String, column: &str, cell: Cell<'_>) -> Result<(), Fault> {
    match cell {
        Cell::Float(value) if !value.is_finite() => {
            let message = format!("found {value} in `{column}`, and JSON has finite numbers only");
            return Err(Fault::new(ErrorKind::Format, message).help("replace it by null, or write GraphML"));
        }
        Cell::Str(text) => _ = write!(out, "{}", Json::from(text)),
        Cell::Bool(_) | Cell::Int(_) | Cell::Float(_) => _ = write!(out, "{cell}"),
    }
    Ok(())
}
