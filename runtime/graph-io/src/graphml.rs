//! GraphML (Brandes, Eiglsperger, Herman, Himsolt and Marshall 2002): nodes and edges with typed attributes.
//!
//! Keys with a default give it to all nodes or edges without a value. The label of yEd's extension is read. The ids of
//! edges are the attribute `id`.

use std::collections::HashMap;
use std::fmt::Write;

use crate::error::{ErrorKind, Fault, shown};
use crate::output::{GraphColumns, OutputColumn};
use crate::tables::{GraphTables, Id, Kind, Tables, Value};
use crate::xml::{Element, Xml, escape};

/// The declaration of an attribute.
struct Key {
    /// Columns of nodes and edges. `None` if the attribute is not theirs.
    node_column: Option<usize>,
    edge_column: Option<usize>,
    kind: Kind,
    /// The type as the file names it. `None` for yEd's elements.
    type_name: Option<String>,
    default: Option<Value>,
}

pub(crate) fn read(text: &str, cells: usize) -> Result<GraphTables, Fault> {
    let mut xml = Xml::new(text);
    xml.root("graphml")?;
    let mut tables = Tables::new(false, (text.len(), cells));
    let mut keys = HashMap::new();
    let mut is_read = false;
    while let Some(element) = xml.child()? {
        match element.name() {
            "key" => {
                let id = element.required("id")?.into_owned();
                let key = key(&element, &mut xml, &mut tables)?;
                keys.insert(id, key);
            }
            "graph" if is_read => {
                return Err(element
                    .fault("found a second graph, expected one")
                    .help("split the file into one for each graph"));
            }
            "graph" => {
                graph(&element, &mut xml, &keys, &mut tables)?;
                is_read = true;
            }
            _ => xml.skip()?,
        }
    }
    if !is_read {
        return Err(Fault::new(ErrorKind::File, "found no `graph` element, expected one"));
    }
    let (nodes, edges) = (tables.node_count(), tables.edge_count());
    for key in keys.values() {
        if let Some(default) = &key.default {
            if let Some(column) = key.node_column {
                tables.nodes.fill(nodes, column, default)?;
            }
            if let Some(column) = key.edge_column {
                tables.edges.fill(edges, column, default)?;
            }
        }
    }
    tables.finish()
}

/// The type of an attribute in GraphML, and in GEXF. `None` if it is unknown.
pub(crate) fn kind_of(name: &str) -> Option<Kind> {
    match name {
        "int" | "integer" | "long" | "short" | "byte" => Some(Kind::Int),
        "float" | "double" => Some(Kind::Float),
        "boolean" => Some(Kind::Bool),
        "string" => Some(Kind::Str),
        _ => None,
    }
}

fn key(element: &Element<'_>, xml: &mut Xml<'_>, tables: &mut Tables) -> Result<Key, Fault> {
    let domain = element.attribute("for")?.map_or("all".to_string(), |domain| domain.into_owned());
    let is_yed = element.attribute("yfiles.type")?.is_some();
    let (for_nodes, for_edges) = match domain.as_str() {
        "node" => (true, false),
        "edge" => (false, true),
        "all" => (true, true),
        // Attributes of the graph, of ports and of hyperedges are not in the tables.
        _ => (false, false),
    };
    if is_yed {
        xml.skip()?;
        let node_column = for_nodes.then(|| tables.nodes.column("label"));
        let edge_column = for_edges.then(|| tables.edges.column("label"));
        return Ok(Key { node_column, edge_column, kind: Kind::Str, type_name: None, default: None });
    }
    let type_name = element.attribute("attr.type")?.map_or("string".to_string(), |name| name.into_owned());
    let Some(kind) = kind_of(&type_name) else {
        let message =
            format!("found the type {}, expected int, long, float, double, boolean or string", shown(&type_name));
        return Err(element.fault(message));
    };
    let name = match element.attribute("attr.name")? {
        Some(name) => name.into_owned(),
        None => element.required("id")?.into_owned(),
    };
    let mut default = None;
    while let Some(child) = xml.child()? {
        match child.name() {
            "default" => {
                let text = xml.content()?;
                default = Some(kind.parse(&text, &type_name).map_err(|fault| fault.at_line(xml.line()))?);
            }
            _ => xml.skip()?,
        }
    }
    let node_column = for_nodes.then(|| tables.nodes.typed_column(&name, kind));
    let edge_column = for_edges.then(|| tables.edges.typed_column(&name, kind));
    Ok(Key { node_column, edge_column, kind, type_name: Some(type_name), default })
}

fn graph(
    element: &Element<'_>,
    xml: &mut Xml<'_>,
    keys: &HashMap<String, Key>,
    tables: &mut Tables,
) -> Result<(), Fault> {
    tables.directed = match element.attribute("edgedefault")?.as_deref() {
        Some("directed") => true,
        None | Some("undirected") => false,
        Some(other) => {
            return Err(
                element.fault(format!("found the `edgedefault` {}, expected directed or undirected", shown(other)))
            );
        }
    };
    while let Some(child) = xml.child()? {
        match child.name() {
            "node" => {
                let node = tables.node(Id::of(&child.required("id")?))? as usize;
                data(xml, keys, |key, value| match key.node_column {
                    Some(column) => tables.nodes.set(node, column, value),
                    None => Ok(()),
                })?;
            }
            "edge" => {
                if let Some(directed) = child.attribute("directed")?
                    && ["true", "1"].contains(&&*directed) != tables.directed
                {
                    return Err(mixed(&child, tables.directed));
                }
                let source = tables.node(Id::of(&child.required("source")?))?;
                let target = tables.node(Id::of(&child.required("target")?))?;
                let edge = tables.edge(source, target);
                if let Some(id) = child.attribute("id")? {
                    tables.edges.set_named(edge, "id", Value::Str(id.into_owned()))?;
                }
                data(xml, keys, |key, value| match key.edge_column {
                    Some(column) => tables.edges.set(edge, column, value),
                    None => Ok(()),
                })?;
            }
            "hyperedge" => {
                return Err(child
                    .fault("found a hyperedge, expected edges with two ends")
                    .help("make a node of the hyperedge, with an edge to each of its ends"));
            }
            _ => xml.skip()?,
        }
    }
    Ok(())
}

/// The error of a graph with directed and undirected edges.
pub(crate) fn mixed(edge: &Element<'_>, directed: bool) -> Fault {
    let (found, expected) = if directed { ("undirected", "directed") } else { ("directed", "undirected") };
    edge.fault(format!("found an edge that is {found}, expected {expected} edges as the graph says"))
        .help("make all edges directed, each undirected one twice, or all undirected")
}

/// Gives the values of a node or an edge, whose element is then closed.
fn data(
    xml: &mut Xml<'_>,
    keys: &HashMap<String, Key>,
    mut give: impl FnMut(&Key, Value) -> Result<(), Fault>,
) -> Result<(), Fault> {
    while let Some(child) = xml.child()? {
        match child.name() {
            "data" => {
                let id = child.required("key")?;
                let Some(key) = keys.get(&*id) else {
                    let message = format!("found a value of the key {}, which is not declared", shown(&id));
                    return Err(child.fault(message).help("declare it before the graph: `<key id=... for=... />`"));
                };
                let value = match &key.type_name {
                    None => label(xml)?.map(Value::Str),
                    Some(name) => {
                        let text = xml.content()?;
                        let is_missing = text.trim().is_empty() && key.kind != Kind::Str;
                        let value = || key.kind.parse(&text, name).map_err(|fault| fault.at_line(xml.line()));
                        if is_missing { None } else { Some(value()?) }
                    }
                };
                if let Some(value) = value {
                    give(key, value).map_err(|fault| fault.at_line(xml.line()))?;
                }
            }
            "graph" => {
                return Err(child
                    .fault("found a graph inside of a node or an edge, expected a flat graph")
                    .help("flatten the groups in the program that wrote the file"));
            }
            _ => xml.skip()?,
        }
    }
    Ok(())
}

/// The text of the first label inside of yEd's elements. Closes the open element.
fn label(xml: &mut Xml<'_>) -> Result<Option<String>, Fault> {
    let mut label = None;
    let mut depth = 1;
    while depth > 0 {
        match xml.child()? {
            Some(child) if matches!(child.name(), "NodeLabel" | "EdgeLabel") => {
                let text = xml.content()?;
                label.get_or_insert(text);
            }
            Some(_) => depth += 1,
            None => depth -= 1,
        }
    }
    Ok(label.map(|label| label.trim().to_string()))
}

pub(crate) fn write(graph: &GraphColumns) -> Result<String, Fault> {
    let mut out = String::from("<?xml version='1.0' encoding='utf-8'?>\n");
    out.push_str(
        "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" \
         xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns \
         http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n",
    );
    let mut keys = HashMap::new();
    for (domain, columns) in [("node", &graph.node_attributes), ("edge", &graph.edge_attributes)] {
        for column in columns.iter().filter(|column| !is_edge_id(domain, column)) {
            let kind = match column.values.kind() {
                Kind::Bool => "boolean",
                Kind::Int => "long",
                Kind::Float => "double",
                Kind::Str => "string",
            };
            let id = format!("d{}", keys.len());
            let _ = write!(out, "<key id=\"{id}\" for=\"{domain}\" attr.name=\"");
            escape(&mut out, &column.name)?;
            let _ = writeln!(out, "\" attr.type=\"{kind}\"/>");
            keys.insert((domain, column.name.as_str()), id);
        }
    }
    let data = |out: &mut String, domain: &'static str, column: &OutputColumn, value: &str| {
        let _ = write!(out, "<data key=\"{}\">", keys[&(domain, column.name.as_str())]);
        escape(out, value)?;
        out.push_str("</data>");
        Ok(())
    };
    let default = if graph.directed { "directed" } else { "undirected" };
    let _ = writeln!(out, "<graph edgedefault=\"{default}\">");
    for node in 0..graph.node_count {
        out.push_str("<node id=\"");
        escape(&mut out, &graph.nodes.id(node).to_string())?;
        out.push_str("\">");
        for (column, value) in graph.attributes_of_node(node) {
            data(&mut out, "node", column, &value.to_string())?;
        }
        out.push_str("</node>\n");
    }
    for edge in 0..graph.edge_count {
        let (source, target) = graph.ends(edge);
        out.push_str("<edge source=\"");
        escape(&mut out, &source.to_string())?;
        out.push_str("\" target=\"");
        escape(&mut out, &target.to_string())?;
        out.push('"');
        if let Some((_, id)) = graph.attributes_of_edge(edge).find(|(column, _)| is_edge_id("edge", column)) {
            out.push_str(" id=\"");
            escape(&mut out, &id.to_string())?;
            out.push('"');
        }
        out.push('>');
        for (column, value) in graph.attributes_of_edge(edge).filter(|(column, _)| !is_edge_id("edge", column)) {
            data(&mut out, "edge", column, &value.to_string())?;
        }
        out.push_str("</edge>\n");
    }
    out.push_str("</graph>\n</graphml>\n");
    Ok(out)
}

/// The strings `id` of edges are what the format calls ids of edges.
fn is_edge_id(domain: &str, column: &OutputColumn) -> bool {
    domain == "edge" && column.name == "id" && column.values.kind() == Kind::Str
}
