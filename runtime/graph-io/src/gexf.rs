//! GEXF 1.1 to 1.3 (Gephi's format): static graphs with attributes, labels, weights and types of edges.
//!
//! Defaults of attributes are given to all nodes or edges without a value. An edge of the type `mutual` is two edges
//! of a directed graph. Ids of edges are the attribute `id`. Colours, sizes and positions are not read.

use std::collections::HashMap;
use std::fmt::Write;

use crate::error::{ErrorKind, Fault, shown};
use crate::graphml::{kind_of, mixed};
use crate::output::{Cell, GraphColumns, OutputColumn};
use crate::tables::{Attributes, GraphTables, Id, Kind, Tables, Value};
use crate::xml::{Element, Xml, escape};

struct Attribute {
    column: usize,
    kind: Kind,
    type_name: String,
    default: Option<Value>,
}

/// By id.
type AttributesById = HashMap<String, Attribute>;

pub(crate) fn read(text: &str, cells: usize) -> Result<GraphTables, Fault> {
    let mut xml = Xml::new(text);
    xml.root("gexf")?;
    let mut graph = None;
    while let Some(element) = xml.child()? {
        match element.name() {
            "graph" if graph.is_some() => {
                let fault = element.fault("found a second graph, expected one");
                return Err(fault.help("split the file into one for each graph"));
            }
            "graph" => graph = Some(read_graph(&element, &mut xml, (text.len(), cells))?),
            _ => xml.skip()?,
        }
    }
    graph.ok_or_else(|| Fault::new(ErrorKind::File, "found no `graph` element, expected one"))
}

fn check_static(element: &Element<'_>) -> Result<(), Fault> {
    match element.attribute("mode")?.as_deref() {
        Some("dynamic") => Err(element
            .fault("found a dynamic graph, expected a static one")
            .help("export the graph at one time, or its edges as a table with their times")),
        _ => Ok(()),
    }
}

fn read_graph(element: &Element<'_>, xml: &mut Xml<'_>, size: (usize, usize)) -> Result<GraphTables, Fault> {
    check_static(element)?;
    let directed = match element.attribute("defaultedgetype")?.as_deref() {
        Some("directed") => true,
        None | Some("undirected") => false,
        Some(other) => {
            let message = format!("found the `defaultedgetype` {}, expected directed or undirected", shown(other));
            return Err(element.fault(message));
        }
    };
    let mut tables = Tables::new(directed, size);
    let (mut of_nodes, mut of_edges) = (AttributesById::new(), AttributesById::new());
    while let Some(child) = xml.child()? {
        match child.name() {
            "attributes" => {
                check_static(&child)?;
                match child.required("class")?.as_ref() {
                    "node" => declare(xml, &mut of_nodes, &mut tables.nodes)?,
                    "edge" => declare(xml, &mut of_edges, &mut tables.edges)?,
                    other => {
                        let message = format!("found attributes of the class {}, expected node or edge", shown(other));
                        return Err(child.fault(message));
                    }
                }
            }
            "nodes" => {
                while let Some(child) = xml.child()? {
                    match child.name() {
                        "node" => node(&child, xml, &of_nodes, &mut tables)?,
                        _ => xml.skip()?,
                    }
                }
            }
            "edges" => {
                while let Some(child) = xml.child()? {
                    match child.name() {
                        "edge" => edge(&child, xml, &of_edges, &mut tables)?,
                        _ => xml.skip()?,
                    }
                }
            }
            _ => xml.skip()?,
        }
    }
    let (nodes, edges) = (tables.node_count(), tables.edge_count());
    for (declared, rows, attributes) in [(&of_nodes, nodes, &mut tables.nodes), (&of_edges, edges, &mut tables.edges)] {
        for attribute in declared.values() {
            if let Some(default) = &attribute.default {
                attributes.fill(rows, attribute.column, default)?;
            }
        }
    }
    tables.finish()
}

fn declare(xml: &mut Xml<'_>, declared: &mut AttributesById, attributes: &mut Attributes) -> Result<(), Fault> {
    while let Some(child) = xml.child()? {
        if child.name() != "attribute" {
            xml.skip()?;
            continue;
        }
        let id = child.required("id")?.into_owned();
        let type_name = child.required("type")?.into_owned();
        let title = child.attribute("title")?.map_or_else(|| id.clone(), |title| title.into_owned());
        // Lists, characters, URIs and large numbers stay strings, as in NetworkX.
        let kind = kind_of(&type_name).unwrap_or(Kind::Str);
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
        let column = attributes.typed_column(&title, kind);
        declared.insert(id, Attribute { column, kind, type_name, default });
    }
    Ok(())
}

fn node(element: &Element<'_>, xml: &mut Xml<'_>, declared: &AttributesById, tables: &mut Tables) -> Result<(), Fault> {
    let node = tables.node(Id::of(&element.required("id")?))? as usize;
    if let Some(label) = element.attribute("label")? {
        tables.nodes.set_named(node, "label", Value::Str(label.into_owned()))?;
    }
    if element.attribute("pid")?.is_some() {
        return Err(nested(element));
    }
    values(xml, declared, |column, value| tables.nodes.set(node, column, value))
}

fn nested(element: &Element<'_>) -> Fault {
    element
        .fault("found a node inside of another node, expected a flat graph")
        .help("flatten the hierarchy in the program that wrote the file")
}

fn edge(element: &Element<'_>, xml: &mut Xml<'_>, declared: &AttributesById, tables: &mut Tables) -> Result<(), Fault> {
    let edge_type = element.attribute("type")?;
    match edge_type.as_deref() {
        Some("directed") if !tables.directed => return Err(mixed(element, false)),
        Some("undirected") if tables.directed => return Err(mixed(element, true)),
        None | Some("directed" | "undirected" | "mutual") => {}
        Some(other) => {
            let message = format!("found the edge type {}, expected directed, undirected or mutual", shown(other));
            return Err(element.fault(message));
        }
    }
    let source = tables.node(Id::of(&element.required("source")?))?;
    let target = tables.node(Id::of(&element.required("target")?))?;
    let mut set = Vec::new();
    if let Some(id) = element.attribute("id")? {
        set.push((tables.edges.typed_column("id", Kind::Str), Value::Str(id.into_owned())));
    }
    if let Some(weight) = element.attribute("weight")? {
        let weight = Kind::Float.parse(&weight, "float").map_err(|fault| fault.at_line(xml.line()))?;
        set.push((tables.edges.column("weight"), weight));
    }
    if let Some(label) = element.attribute("label")? {
        set.push((tables.edges.column("label"), Value::Str(label.into_owned())));
    }
    values(xml, declared, |column, value| {
        set.push((column, value));
        Ok(())
    })?;
    let is_mutual = tables.directed && edge_type.as_deref() == Some("mutual") && source != target;
    let mut rows = vec![tables.edge(source, target)];
    if is_mutual {
        rows.push(tables.edge(target, source));
    }
    for row in rows {
        for (column, value) in &set {
            tables.edges.set(row, *column, value.clone()).map_err(|fault| fault.at_line(xml.line()))?;
        }
    }
    Ok(())
}

/// Gives the values of a node or an edge, whose element is then closed.
fn values(
    xml: &mut Xml<'_>,
    declared: &AttributesById,
    mut give: impl FnMut(usize, Value) -> Result<(), Fault>,
) -> Result<(), Fault> {
    while let Some(child) = xml.child()? {
        match child.name() {
            "attvalues" => {
                while let Some(child) = xml.child()? {
                    if child.name() == "attvalue" {
                        // Before 1.2, `id` instead of `for`.
                        let id = match child.attribute("for")? {
                            Some(id) => id,
                            None => child.required("id")?,
                        };
                        let Some(attribute) = declared.get(&*id) else {
                            let message =
                                format!("found a value of the attribute {}, which is not declared", shown(&id));
                            return Err(child.fault(message).help("declare it in `attributes` before the nodes"));
                        };
                        let text = child.required("value")?;
                        if attribute.kind == Kind::Str || !text.trim().is_empty() {
                            let parsed = attribute.kind.parse(&text, &attribute.type_name);
                            let value = parsed.map_err(|fault| fault.at_line(child.line()))?;
                            give(attribute.column, value).map_err(|fault| fault.at_line(child.line()))?;
                        }
                    }
                    xml.skip()?;
                }
            }
            "nodes" | "edges" => return Err(nested(&child)),
            _ => xml.skip()?,
        }
    }
    Ok(())
}

pub(crate) fn write(graph: &GraphColumns) -> Result<String, Fault> {
    let mut out = String::from("<?xml version='1.0' encoding='utf-8'?>\n");
    out.push_str("<gexf xmlns=\"http://www.gexf.net/1.2draft\" version=\"1.2\">\n");
    let default = if graph.directed { "directed" } else { "undirected" };
    let _ = writeln!(out, "<graph defaultedgetype=\"{default}\" mode=\"static\">");
    for (class, columns) in [("node", &graph.node_attributes), ("edge", &graph.edge_attributes)] {
        let declared: Vec<_> = columns.iter().enumerate().filter(|(_, column)| !is_own(class, column)).collect();
        if declared.is_empty() {
            continue;
        }
        let _ = writeln!(out, "<attributes class=\"{class}\" mode=\"static\">");
        for (i, column) in declared {
            let kind = match column.values.kind() {
                Kind::Bool => "boolean",
                Kind::Int => "long",
                Kind::Float => "double",
                Kind::Str => "string",
            };
            let _ = write!(out, "<attribute id=\"{i}\" title=\"");
            escape(&mut out, &column.name)?;
            let _ = writeln!(out, "\" type=\"{kind}\"/>");
        }
        out.push_str("</attributes>\n");
    }
    out.push_str("<nodes>\n");
    for node in 0..graph.node_count {
        let id = graph.nodes.id(node).to_string();
        attribute(&mut out, "<node id", &id)?;
        // The format asks for a label.
        let label = graph.attributes_of_node(node).find(|(column, _)| is_own("node", column));
        attribute(&mut out, " label", &label.map_or(id, |(_, label)| label.to_string()))?;
        write_values(&mut out, "node", &graph.node_attributes, node)?;
        out.push_str("</node>\n");
    }
    out.push_str("</nodes>\n<edges>\n");
    for edge in 0..graph.edge_count {
        let (source, target) = graph.ends(edge);
        let own = |name: &str| {
            let mut found = graph.attributes_of_edge(edge).filter(|(column, _)| is_own("edge", column));
            found.find(|(column, _)| column.name == name).map(|(_, value)| value.to_string())
        };
        attribute(&mut out, "<edge id", &own("id").unwrap_or_else(|| edge.to_string()))?;
        attribute(&mut out, " source", &source.to_string())?;
        attribute(&mut out, " target", &target.to_string())?;
        for name in ["weight", "label"] {
            if let Some(value) = own(name) {
                attribute(&mut out, &format!(" {name}"), &value)?;
            }
        }
        write_values(&mut out, "edge", &graph.edge_attributes, edge)?;
        out.push_str("</edge>\n");
    }
    out.push_str("</edges>\n</graph>\n</gexf>\n");
    Ok(out)
}

/// The column is written as an XML attribute of the element.
fn is_own(class: &str, column: &OutputColumn) -> bool {
    match (column.name.as_str(), column.values.kind()) {
        ("label", Kind::Str) => true,
        ("id", Kind::Str) | ("weight", Kind::Float) => class == "edge",
        _ => false,
    }
}

fn attribute(out: &mut String, name: &str, value: &str) -> Result<(), Fault> {
    out.push_str(name);
    out.push_str("=\"");
    escape(out, value)?;
    out.push('"');
    Ok(())
}

/// Ends the begin of the element and writes its values.
fn write_values(out: &mut String, class: &str, columns: &[OutputColumn], row: usize) -> Result<(), Fault> {
    out.push('>');
    let values: Vec<(usize, Cell<'_>)> = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| !is_own(class, column))
        .filter_map(|(i, column)| Some((i, column.values.get(row)?)))
        .collect();
    if values.is_empty() {
        return Ok(());
    }
    out.push_str("<attvalues>");
    for (i, value) in values {
        let _ = write!(out, "<attvalue for=\"{i}\"");
        attribute(out, " value", &value.to_string())?;
        out.push_str("/>");
    }
    out.push_str("</attvalues>");
    Ok(())
}
