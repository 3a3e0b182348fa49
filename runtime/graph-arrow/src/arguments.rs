//! Arguments of calls: parameters, nodes and frames.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use onrush_graph::layout::Point;
use onrush_graph::{Error, ErrorKind, Graph, Run};
use onrush_wire::graph::{GraphAlgorithm, GraphCall, GraphDefault};
use onrush_wire::{Diagnostic, Value};

use crate::error::{diagnose, internal, plan_error, type_name};
use crate::index::Index;

/// The columns of a result with their names.
pub type Columns = Vec<(String, ArrayRef)>;

/// A call with the rows of its frames.
pub struct Arguments<'a> {
    pub index: &'a Index,
    pub call: &'a GraphCall,
    /// Rows of the frames that are parameters, by the parameter's name.
    pub frames: &'a [(String, RecordBatch)],
    pub run: &'a Run<'a>,
    /// The algorithm's row in the table.
    algorithm: &'static GraphAlgorithm,
}

/// A type of parameters.
pub trait Parameter: Sized {
    /// `None` if the value has another type.
    fn of_value(value: &Value) -> Option<Self>;
    fn of_default(default: GraphDefault) -> Option<Self>;
}

impl Parameter for f64 {
    fn of_value(value: &Value) -> Option<f64> {
        match value {
            Value::Float(value) => Some(*value),
            Value::Int(value) => Some(*value as f64),
            _ => None,
        }
    }

    fn of_default(default: GraphDefault) -> Option<f64> {
        if let GraphDefault::Float(value) = default { Some(value) } else { None }
    }
}

/// A count: 0 for a negative value.
impl Parameter for usize {
    fn of_value(value: &Value) -> Option<usize> {
        if let Value::Int(value) = value { Some(usize::try_from(*value).unwrap_or(0)) } else { None }
    }

    fn of_default(default: GraphDefault) -> Option<usize> {
        if let GraphDefault::Int(value) = default { usize::try_from(value).ok() } else { None }
    }
}

/// A seed: 0 for a negative value.
impl Parameter for u64 {
    fn of_value(value: &Value) -> Option<u64> {
        usize::of_value(value).map(|value| value as u64)
    }

    fn of_default(default: GraphDefault) -> Option<u64> {
        usize::of_default(default).map(|value| value as u64)
    }
}

impl Parameter for bool {
    fn of_value(value: &Value) -> Option<bool> {
        if let Value::Boolean(value) = value { Some(*value) } else { None }
    }

    fn of_default(default: GraphDefault) -> Option<bool> {
        if let GraphDefault::Bool(value) = default { Some(value) } else { None }
    }
}

impl Parameter for String {
    fn of_value(value: &Value) -> Option<String> {
        if let Value::Text(value) = value { Some(value.clone()) } else { None }
    }

    fn of_default(default: GraphDefault) -> Option<String> {
        if let GraphDefault::Text(value) = default { Some(value.to_string()) } else { None }
    }
}

/// An option without which the algorithm runs.
impl<T: Parameter> Parameter for Option<T> {
    fn of_value(value: &Value) -> Option<Option<T>> {
        T::of_value(value).map(Some)
    }

    fn of_default(default: GraphDefault) -> Option<Option<T>> {
        if default == GraphDefault::None { Some(None) } else { None }
    }
}

impl<'a> Arguments<'a> {
    /// # Errors
    /// If the table has no such algorithm.
    pub fn new(
        index: &'a Index,
        call: &'a GraphCall,
        frames: &'a [(String, RecordBatch)],
        run: &'a Run<'a>,
    ) -> Result<Arguments<'a>, Diagnostic> {
        let algorithm = GraphAlgorithm::named(&call.algorithm).ok_or_else(|| unknown_algorithm(&call.algorithm))?;
        Ok(Arguments { index, call, frames, run, algorithm })
    }
}

impl Arguments<'_> {
    pub fn graph(&self) -> &Graph {
        self.index.graph()
    }

    /// The value of a parameter: as it was set, else the table's default.
    ///
    /// # Errors
    /// If an argument is missing, or the table has no such parameter of this type.
    pub fn get<T: Parameter>(&self, name: &str) -> Result<T, Diagnostic> {
        let algorithm = self.algorithm;
        let missing = || internal(format!("a call of `{}` has no `{name}`", algorithm.name));
        let param = algorithm.param(name).ok_or_else(missing)?;
        let set = self.call.param(name).and_then(T::of_value);
        set.or_else(|| T::of_default(param.default)).ok_or_else(missing)
    }

    /// The graph, without its weights unless `weighted` is set.
    pub fn graph_by_option(&self) -> Result<Graph, Diagnostic> {
        Ok(match self.get("weighted")? {
            true => self.graph().clone(),
            false => self.graph().unweighted(),
        })
    }

    /// An error of an algorithm with the ids of nodes and the rows of edges.
    pub fn failed(&self, error: &Error) -> Diagnostic {
        let mut diagnostic = diagnose(error);
        let names: Vec<String> = error.nodes.iter().take(10).map(|v| format!("`{}`", self.index.name(*v))).collect();
        match (error.kind, names.as_slice()) {
            (ErrorKind::NoPath, [source, target]) => {
                diagnostic.message = format!("no path leads from {source} to {target}")
            }
            (ErrorKind::NegativeCycle, [_, ..]) => {
                let more = if error.nodes.len() > names.len() { ", ..." } else { "" };
                diagnostic.message = format!("there is a cycle of negative weight: {}{more}", names.join(", "));
            }
            _ => {}
        }
        if let Some(edge) = error.edge {
            let ends = [0, 1].map(|end| self.index.name(self.index.ends().nodes[end][edge as usize]));
            let row = format!("the edge in row {} (`{}` to `{}`)", self.index.row(edge), ends[0], ends[1]);
            diagnostic.message = diagnostic.message.replacen(&format!("edge {edge}"), &row, 1);
        }
        diagnostic
    }

    /// The number of the node that a parameter names.
    pub fn node(&self, name: &str) -> Result<u32, Diagnostic> {
        self.index.node(&self.call.values(name))
    }

    /// The rows of a parameter that is a frame.
    pub fn frame(&self, name: &str) -> Option<&RecordBatch> {
        self.frames.iter().find(|(known, _)| known == name).map(|(_, batch)| batch)
    }

    /// A value for each node from a frame with the ids in `node` and one column of numbers: 0 for nodes that it lacks.
    /// `None` if the parameter was not given.
    ///
    /// # Errors
    /// If the frame names an unknown node, or has not one column of numbers.
    pub fn node_values(&self, name: &str) -> Result<Option<Vec<f64>>, Diagnostic> {
        let Some(batch) = self.frame(name) else { return Ok(None) };
        let numbers = self.value_column(name, batch)?;
        let mut values = vec![0.0; self.index.nodes()];
        for (row, node) in self.nodes_of(name, batch)?.into_iter().enumerate() {
            values[node as usize] = numbers[row];
        }
        Ok(Some(values))
    }

    fn value_column(&self, name: &str, batch: &RecordBatch) -> Result<Vec<f64>, Diagnostic> {
        let schema = batch.schema();
        let ids: Vec<String> = (0..self.index.ids.len()).map(|part| self.index.id_name("node", part)).collect();
        let others = schema.fields().iter().zip(batch.columns()).filter(|(field, _)| !ids.contains(field.name()));
        let numeric: Vec<_> = others.filter(|(_, column)| column.data_type().is_numeric()).collect();
        let [(field, column)] = numeric.as_slice() else {
            let found: Vec<String> = numeric.iter().map(|(field, _)| format!("`{}`", field.name())).collect();
            let message = match found.is_empty() {
                true => format!("`{name}` has no column of numbers"),
                false => format!("`{name}` has several columns of numbers: {}", found.join(", ")),
            };
            return Err(plan_error("argument", message)
                .help("expected the ids of nodes in `node`, and their values in one other column: `select` them"));
        };
        let values = cast(column, &DataType::Float64).map_err(internal)?;
        let values = values.as_primitive::<Float64Type>();
        match (0..values.len()).find(|row| !values.is_valid(*row) || !values.value(*row).is_finite()) {
            Some(row) => {
                let found = if values.is_valid(row) { values.value(row).to_string() } else { "null".to_string() };
                let column = field.name();
                Err(plan_error(
                    "argument",
                    format!("`{column}` of `{name}` is {found} in row {row}: expected finite numbers"),
                ))
            }
            None => Ok(values.values().to_vec()),
        }
    }

    /// The node of each row of a frame with ids in `node`.
    ///
    /// # Errors
    /// If an id is not a node's.
    pub fn nodes_of(&self, name: &str, batch: &RecordBatch) -> Result<Vec<u32>, Diagnostic> {
        let columns = self.index.id_columns(batch, "node")?;
        self.known(name, &columns)
    }

    fn known(&self, name: &str, columns: &[ArrayRef]) -> Result<Vec<u32>, Diagnostic> {
        let found = self.index.nodes_of(columns)?;
        let known = found.iter().enumerate().map(|(row, node)| {
            node.ok_or_else(|| {
                let parts: Vec<String> =
                    columns.iter().map(|column| crate::ids::shown(&onrush_frame::value_at(column, row))).collect();
                self.index.unknown(&crate::ids::tuple(&parts)).note(format!("`{name}` names it in row {row}"))
            })
        });
        known.collect()
    }

    /// A position for each node, from a frame with the columns `node`, `x` and `y`. `None` if the parameter was not
    /// given.
    ///
    /// # Errors
    /// If a node has no position, or a position is not two numbers.
    pub fn points(&self, name: &str) -> Result<Option<Vec<Point>>, Diagnostic> {
        let Some(batch) = self.frame(name) else { return Ok(None) };
        let mut points = vec![[f64::NAN; 2]; self.index.nodes()];
        let nodes = self.nodes_of(name, batch)?;
        for (axis, column) in ["x", "y"].into_iter().enumerate() {
            let values =
                batch.column_by_name(column).filter(|values| values.data_type().is_numeric()).ok_or_else(|| {
                    plan_error("unknown-column", format!("`{name}` has no column `{column}` of numbers"))
                        .help("expected the ids of nodes in `node`, and their positions in `x` and `y`")
                })?;
            let values = cast(values, &DataType::Float64).map_err(internal)?;
            let values = values.as_primitive::<Float64Type>();
            nodes.iter().enumerate().filter(|(row, _)| values.is_valid(*row)).for_each(|(row, node)| {
                points[*node as usize][axis] = values.value(row);
            });
        }
        match points.iter().position(|[x, y]| !x.is_finite() || !y.is_finite()) {
            Some(node) => {
                let message = format!("the node `{}` has no position in `{name}`", self.index.name(node as u32));
                Err(plan_error("argument", message).help("expected a row with finite `x` and `y` for each node"))
            }
            None => Ok(Some(points)),
        }
    }

    /// The community of each node, from a frame with the columns `node` and `community`, and the labels of the
    /// communities in ascending order.
    ///
    /// # Errors
    /// If a node has no community, or two.
    pub fn communities(&self, name: &str) -> Result<(Vec<u32>, ArrayRef), Diagnostic> {
        let batch = self.frame(name).ok_or_else(|| internal("a frame is missing"))?;
        let nodes = self.nodes_of(name, batch)?;
        let Some(labels) = batch.column_by_name("community") else {
            return Err(plan_error("unknown-column", format!("`{name}` has no column `community`"))
                .help("expected the ids of nodes in `node`, and their communities in `community`"));
        };
        let (codes, mut labels) = crate::numbering::numbered(&[crate::ids::comparable(labels)?])?;
        let mut found = vec![crate::numbering::MISSING; self.index.nodes()];
        for (node, code) in nodes.into_iter().zip(codes) {
            let place = &mut found[node as usize];
            if *place != crate::numbering::MISSING && *place != code {
                let message = format!("the node `{}` is in two communities", self.index.name(node));
                return Err(plan_error("argument", message).help("expected a partition: one community for each node"));
            }
            *place = code;
        }
        match found.iter().position(|code| *code == crate::numbering::MISSING) {
            Some(node) => {
                let message = format!("the node `{}` has no community", self.index.name(node as u32));
                Err(plan_error("argument", message).help("expected a partition: one community for each node"))
            }
            None => Ok((found, labels.swap_remove(0))),
        }
    }

    /// Pairs of nodes from a frame with the ids of both ends, whose columns may have any names. `None` if the parameter
    /// was not given.
    ///
    /// # Errors
    /// If an id is not a node's.
    pub fn pairs(&self, name: &str) -> Result<Option<Vec<(u32, u32)>>, Diagnostic> {
        let Some(batch) = self.frame(name) else { return Ok(None) };
        let parts = self.index.ids.len();
        if batch.num_columns() != 2 * parts {
            let types: Vec<String> = batch.columns().iter().map(|column| type_name(column.data_type())).collect();
            let message =
                format!("`{name}` has {} columns ({}), expected {}", types.len(), types.join(", "), 2 * parts);
            return Err(plan_error("argument", message)
                .help("expected the ids of two nodes in each row, and nothing else: `select` them"));
        }
        let from = self.known(name, &batch.columns()[..parts])?;
        let to = self.known(name, &batch.columns()[parts..2 * parts])?;
        Ok(Some(from.into_iter().zip(to).collect()))
    }

    /// A row for each node, with its id.
    pub fn by_node(&self, columns: Vec<(&str, ArrayRef)>) -> Columns {
        let ids = self.index.ids.iter().enumerate();
        let ids = ids.map(|(part, column)| (self.index.id_name("node", part), column.clone()));
        ids.chain(columns.into_iter().map(|(name, column)| (name.to_string(), column))).collect()
    }

    /// A row for each node, with its id and one value.
    pub fn one(&self, name: &str, values: ArrayRef) -> Columns {
        self.by_node(vec![(name, values)])
    }

    /// A row for each of some edges: its ends, and its row in the frame of edges.
    pub fn edges(&self, edges: &[u32]) -> Result<Columns, Diagnostic> {
        let end = |end: usize| edges.iter().map(move |edge| self.index.ends().nodes[end][*edge as usize]);
        let mut columns = self.index.ids_of("source", end(0))?;
        columns.extend(self.index.ids_of("target", end(1))?);
        columns.push(("edge".to_string(), counts(edges.iter().map(|edge| self.index.row(*edge)).collect())));
        Ok(columns)
    }

    /// A row for each of some nodes.
    pub fn nodes(&self, nodes: &[u32], columns: Vec<(&str, ArrayRef)>) -> Result<Columns, Diagnostic> {
        let mut all = self.index.ids_of("node", nodes.iter().copied())?;
        all.extend(columns.into_iter().map(|(name, column)| (name.to_string(), column)));
        Ok(all)
    }
}

pub fn unknown_algorithm(name: &str) -> Diagnostic {
    internal(format!("the engine knows no algorithm `{name}`"))
}

/// A frame of one row.
pub fn scalar(name: &str, value: ArrayRef) -> Columns {
    vec![(name.to_string(), value)]
}

pub fn floats(values: Vec<f64>) -> ArrayRef {
    Arc::new(Float64Array::from(values))
}

pub fn counts<T: Into<u64>>(values: Vec<T>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.into_iter().map(|value| value.into() as i64)))
}

/// 0, 1, 2, ...
pub fn positions(length: usize) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(0..length as i64))
}

pub fn flag(value: bool) -> ArrayRef {
    Arc::new(BooleanArray::from(vec![value]))
}

/// Rows of the frame of edges, null where there is no edge.
pub fn row_numbers(rows: impl Iterator<Item = Option<u32>>) -> ArrayRef {
    Arc::new(rows.map(|row| row.map(i64::from)).collect::<Int64Array>())
}
