//! Tables as the writers take them: ids as strings, and columns of four types.

use std::collections::{HashMap, HashSet};

use arrow::array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::DataType;
use arrow::record_batch::RecordBatch;

use crate::error::{ErrorKind, Fault};
use crate::tables::{GraphTables, Kind};

/// A column of attributes. Other types are cast to these.
pub(crate) struct OutputColumn {
    pub name: String,
    pub values: Values,
}

pub(crate) enum Values {
    Bool(BooleanArray),
    Int(Int64Array),
    Float(Float64Array),
    Str(StringArray),
}

/// A value to write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(&'a str),
}

impl Values {
    pub fn kind(&self) -> Kind {
        match self {
            Values::Bool(_) => Kind::Bool,
            Values::Int(_) => Kind::Int,
            Values::Float(_) => Kind::Float,
            Values::Str(_) => Kind::Str,
        }
    }

    /// `None` if it is null.
    pub fn get(&self, row: usize) -> Option<Cell<'_>> {
        match self {
            Values::Bool(values) => values.is_valid(row).then(|| Cell::Bool(values.value(row))),
            Values::Int(values) => values.is_valid(row).then(|| Cell::Int(values.value(row))),
            Values::Float(values) => values.is_valid(row).then(|| Cell::Float(values.value(row))),
            Values::Str(values) => values.is_valid(row).then(|| Cell::Str(values.value(row))),
        }
    }
}

impl std::fmt::Display for Cell<'_> {
    /// Numbers as Python reads them: floats have a point or an exponent.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Cell::Bool(value) => write!(f, "{value}"),
            Cell::Int(value) => write!(f, "{value}"),
            Cell::Float(value) if value.is_infinite() => f.write_str(if *value > 0.0 { "INF" } else { "-INF" }),
            Cell::Float(value) => write!(f, "{value:?}"),
            Cell::Str(value) => f.write_str(value),
        }
    }
}

/// The tables of a graph, checked.
pub(crate) struct GraphColumns {
    pub directed: bool,
    pub nodes: OutputColumn,
    pub node_attributes: Vec<OutputColumn>,
    pub sources: OutputColumn,
    pub targets: OutputColumn,
    /// The column `weight`, if there is one, is the first.
    pub edge_attributes: Vec<OutputColumn>,
    pub node_count: usize,
    pub edge_count: usize,
}

impl GraphColumns {
    pub fn of(graph: &GraphTables) -> Result<Self, Fault> {
        let ids = |table: &RecordBatch, which: &str, name: &str| {
            let Some(column) = table.column_by_name(name) else {
                let message = format!("the table of {which} has no column `{name}`");
                return Err(Fault::new(ErrorKind::Format, message).help(format!("name the column of ids `{name}`")));
            };
            if column.null_count() > 0 {
                let message =
                    format!("the column `{name}` of the {which} has {} nulls, expected ids", column.null_count());
                return Err(Fault::new(ErrorKind::Data, message).help("leave rows without an id out"));
            }
            let column = output_column(name, column)?;
            match column.values.kind() {
                Kind::Int | Kind::Str => Ok(column),
                Kind::Float | Kind::Bool => {
                    let message = format!("the ids in `{name}` are neither integers nor strings");
                    Err(Fault::new(ErrorKind::Format, message).help("cast them to strings"))
                }
            }
        };
        let attributes = |table: &RecordBatch, ids: &[&str]| {
            let schema = table.schema();
            let named = schema.fields().iter().zip(table.columns()).filter(|(f, _)| !ids.contains(&f.name().as_str()));
            let mut columns =
                named.map(|(field, column)| output_column(field.name(), column)).collect::<Result<Vec<_>, _>>()?;
            columns.sort_by_key(|column| column.name != "weight");
            Ok(columns)
        };
        Ok(GraphColumns {
            directed: graph.directed,
            nodes: ids(&graph.nodes, "nodes", "node")?,
            node_attributes: attributes(&graph.nodes, &["node"])?,
            sources: ids(&graph.edges, "edges", "source")?,
            targets: ids(&graph.edges, "edges", "target")?,
            edge_attributes: attributes(&graph.edges, &["source", "target"])?,
            node_count: graph.nodes.num_rows(),
            edge_count: graph.edges.num_rows(),
        })
    }

    /// The ids at the ends of an edge.
    pub fn ends(&self, edge: usize) -> (Cell<'_>, Cell<'_>) {
        (self.sources.id(edge), self.targets.id(edge))
    }

    /// The edges with the attributes that they have.
    pub fn attributes_of_edge(&self, edge: usize) -> impl Iterator<Item = (&OutputColumn, Cell<'_>)> {
        self.edge_attributes.iter().filter_map(move |column| Some((column, column.values.get(edge)?)))
    }

    /// The attributes that a node has.
    pub fn attributes_of_node(&self, node: usize) -> impl Iterator<Item = (&OutputColumn, Cell<'_>)> {
        self.node_attributes.iter().filter_map(move |column| Some((column, column.values.get(node)?)))
    }

    /// Two edges have the same ends.
    pub fn has_parallel_edges(&self) -> bool {
        let mut seen = HashSet::with_capacity(self.edge_count);
        (0..self.edge_count).any(|edge| {
            let (source, target) = self.ends(edge);
            let (source, target) = (source.to_string(), target.to_string());
            let swap = !self.directed && target < source;
            !seen.insert(if swap { (target, source) } else { (source, target) })
        })
    }

    /// The position of each id, from 0.
    pub fn positions(&self) -> HashMap<String, usize> {
        (0..self.node_count).map(|node| (self.nodes.id(node).to_string(), node)).collect()
    }

    /// The error if the format would lose attributes of nodes, and, if `isolated` says so, nodes without edges.
    pub fn check_edges_only(&self, format: &str, isolated: bool) -> Result<(), Fault> {
        if let Some(column) = self.node_attributes.first() {
            let message = format!("{format} has no attributes of nodes, the graph has `{}`", column.name);
            let help = "write GraphML, GEXF or node-link JSON, or leave the columns of the nodes out";
            return Err(Fault::new(ErrorKind::Format, message).help(help));
        }
        if isolated {
            let mut lonely = self.positions();
            for edge in 0..self.edge_count {
                let (source, target) = self.ends(edge);
                lonely.remove(&source.to_string());
                lonely.remove(&target.to_string());
            }
            if let Some((node, _)) = lonely.into_iter().min_by_key(|(_, at)| *at) {
                let message = format!("{format} has no nodes without edges, the graph has `{node}`");
                let help = "write GraphML, GEXF or node-link JSON, or leave isolated nodes out";
                return Err(Fault::new(ErrorKind::Format, message).help(help));
            }
        }
        Ok(())
    }
}

impl OutputColumn {
    /// The id in a row: ids are never null.
    pub fn id(&self, row: usize) -> Cell<'_> {
        self.values.get(row).unwrap_or(Cell::Str(""))
    }
}

fn output_column(name: &str, array: &ArrayRef) -> Result<OutputColumn, Fault> {
    let failed = |error: arrow::error::ArrowError| {
        let message = format!("the column `{name}` cannot be written: {error}");
        Fault::new(ErrorKind::Format, message).help("cast the column to strings")
    };
    let strict = |to: DataType| cast_with_options(array, &to, &CastOptions { safe: false, ..CastOptions::default() });
    let typed = |to: DataType| strict(to).map_err(failed);
    let values = match array.data_type() {
        DataType::Dictionary(_, value) => {
            return output_column(name, &cast(array, value).map_err(failed)?);
        }
        DataType::Boolean => Values::Bool(BooleanArray::from(array.to_data())),
        kind if kind.is_integer() => Values::Int(Int64Array::from(typed(DataType::Int64)?.to_data())),
        kind if kind.is_floating() || matches!(kind, DataType::Decimal128(..) | DataType::Decimal256(..)) => {
            Values::Float(Float64Array::from(typed(DataType::Float64)?.to_data()))
        }
        kind if kind.is_nested() || matches!(kind, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => {
            let message = format!("the column `{name}` is of type {kind}, expected numbers, booleans or strings");
            return Err(Fault::new(ErrorKind::Format, message).help("leave the column out, or cast it to strings"));
        }
        _ => Values::Str(StringArray::from(typed(DataType::Utf8)?.to_data())),
    };
    Ok(OutputColumn { name: name.to_string(), values })
}
