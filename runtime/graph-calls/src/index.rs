//! A graph whose nodes have numbers.

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::{CastOptions, cast_with_options, concat, take};
use arrow::datatypes::{DataType, Float64Type};
use onrush_graph::Graph;
use onrush_wire::Diagnostic;

use crate::error::{diagnose, internal, plan_error, type_name};
use crate::ids::comparable;
use crate::numbering::numbered;

/// What a graph is made of. All columns of edges have one length.
pub struct EdgeColumns {
    /// The columns of an id at either end.
    pub source: Vec<ArrayRef>,
    pub target: Vec<ArrayRef>,
    /// Their names, for errors.
    pub names: [Vec<String>; 2],
    pub weight: Option<WeightColumn>,
    pub directed: bool,
    /// Ids that are nodes without being at an edge: columns as of an end.
    pub nodes: Vec<Vec<ArrayRef>>,
}

pub struct WeightColumn {
    pub name: String,
    pub values: ArrayRef,
}

/// A graph whose nodes have numbers, in ascending order of their ids.
pub struct Index {
    pub graph: Graph,
    /// The id of each node, in one or several columns.
    pub ids: Vec<ArrayRef>,
    /// The nodes at both ends of each edge.
    pub ends: [Vec<u32>; 2],
    /// The row of each edge. `None` if no row was left out.
    pub rows: Option<Vec<u32>>,
    /// Rows with a null at an end, which are no edges.
    pub left_out: usize,
}

impl Index {
    /// Numbers the ids and sorts the edges. A row with a null at an end is left out, and an id that occurs only there does not become a
    /// node.
    ///
    /// # Errors
    /// If the ends have different types, or types without an order; if a weight is not a finite number; if there are too many nodes.
    pub fn new(columns: EdgeColumns) -> Result<Index, Diagnostic> {
        let EdgeColumns { source, target, names, weight, directed, nodes } = columns;
        let source: Vec<ArrayRef> = source.iter().map(comparable).collect::<Result<_, _>>()?;
        let target: Vec<ArrayRef> = target.iter().map(comparable).collect::<Result<_, _>>()?;
        if source.len() != target.len() {
            let message = format!("an id has {} columns at one end and {} at the other", source.len(), target.len());
            return Err(plan_error("argument", message));
        }
        for (part, (from, to)) in source.iter().zip(&target).enumerate() {
            if from.data_type() != to.data_type() {
                let (a, b) = (type_name(from.data_type()), type_name(to.data_type()));
                let (from, to) = (&names[0][part], &names[1][part]);
                let message = format!("`{from}` is `{a}` and `{to}` is `{b}`: both ends of an edge need one type");
                return Err(plan_error("type-mismatch", message).help("`cast` one of the columns"));
            }
        }
        let weights = weight.as_ref().map(weights).transpose()?;
        let length = source.first().map_or(0, |column| column.len());
        let has_nulls = source.iter().chain(&target).any(|column| column.null_count() > 0);
        let kept: Option<Vec<u32>> = has_nulls.then(|| {
            let is_kept = |row: &u32| source.iter().chain(&target).all(|column| column.is_valid(*row as usize));
            (0..length as u32).filter(is_kept).collect()
        });
        let edges = kept.as_ref().map_or(length, Vec::len);
        let mut ends = Vec::new();
        for (part, (from, to)) in source.iter().zip(&target).enumerate() {
            let (from, to) = match &kept {
                None => (from.clone(), to.clone()),
                Some(kept) => {
                    let rows = UInt32Array::from(kept.clone());
                    (take(from, &rows, None).map_err(internal)?, take(to, &rows, None).map_err(internal)?)
                }
            };
            let mut parts = vec![from, to];
            for more in &nodes {
                let more = more.get(part).ok_or_else(|| internal("a column of ids is missing"))?;
                let more = comparable(more)?;
                if more.data_type() != parts[0].data_type() {
                    let (a, b) = (type_name(parts[0].data_type()), type_name(more.data_type()));
                    let message = format!("the ids at the edges are `{a}`, and those of the nodes `{b}`");
                    return Err(plan_error("type-mismatch", message).help("`cast` the column of the nodes"));
                }
                parts.push(more);
            }
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            ends.push(concat(&parts).map_err(internal)?);
        }
        let (mut codes, ids) = numbered(&ends)?;
        codes.truncate(2 * edges);
        let to = codes.split_off(edges);
        let weights = match (weights, &weight) {
            (Some(values), Some(WeightColumn { name, .. })) => {
                let values = match &kept {
                    None => values,
                    Some(kept) => kept.iter().map(|row| values[*row as usize]).collect(),
                };
                if let Some(edge) = values.iter().position(|value| !value.is_finite()) {
                    let row = kept.as_ref().map_or(edge, |kept| kept[edge] as usize);
                    let is_null = weight.as_ref().is_some_and(|weight| weight.values.is_null(row));
                    let found = if is_null { "null".to_string() } else { values[edge].to_string() };
                    let message = format!("the weight `{name}` is {found} in row {row}: expected finite numbers");
                    return Err(
                        plan_error("weight", message).help("`drop_nulls_in` and `filter_edges` leave such edges out")
                    );
                }
                Some(values)
            }
            _ => None,
        };
        let count = ids.first().map_or(0, |column| column.len()) as u32;
        let graph = Graph::new(directed, count, &codes, &to, weights).map_err(|e| diagnose(&e))?;
        Ok(Index { graph, ids, ends: [codes, to], rows: kept, left_out: length - edges })
    }

    /// About: rows in both directions, the distinct pairs, ends, weights and ids.
    pub fn bytes(&self) -> u64 {
        let edges = self.graph.edges() as u64;
        let weights = if self.graph.is_weighted() { 3 * 8 * edges } else { 0 };
        let ids: usize = self.ids.iter().map(|ids| ids.get_array_memory_size()).sum();
        48 * edges + weights + 32 * self.graph.nodes() as u64 + ids as u64
    }

    /// The row of the frame that an edge comes from.
    pub fn row(&self, edge: u32) -> u32 {
        self.rows.as_ref().map_or(edge, |rows| rows[edge as usize])
    }
}

/// Weights as f64; null is NaN.
fn weights(column: &WeightColumn) -> Result<Vec<f64>, Diagnostic> {
    let WeightColumn { name, values } = column;
    if !values.data_type().is_numeric() {
        let message = format!("the weight `{name}` is `{}`, expected numbers", type_name(values.data_type()));
        return Err(plan_error("type-mismatch", message));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let values = cast_with_options(values, &DataType::Float64, &options).map_err(internal)?;
    Ok(values.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}
