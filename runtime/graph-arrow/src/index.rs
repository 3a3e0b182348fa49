//! A graph whose nodes have numbers.

mod lookup;

use std::sync::OnceLock;

use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{CastOptions, cast_with_options, concat, take};
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use onrush_graph::Graph;
use onrush_graph::graph::once;
use onrush_wire::{Diagnostic, Value};

use crate::error::{diagnose, internal, plan_error, type_name};
use crate::ids::{comparable, shown};
use crate::numbering::numbered;

/// The columns that make a graph. All columns of edges have one length.
#[derive(Clone)]
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

#[derive(Clone)]
pub struct WeightColumn {
    pub name: String,
    pub values: ArrayRef,
}

/// Makes the columns of a graph again: what is only needed by the host is made when it is first used.
pub type MakeColumns = Box<dyn Fn() -> Result<EdgeColumns, Diagnostic> + Send + Sync>;

/// A graph whose nodes have numbers, in ascending order of their ids.
///
/// The rows of the graph on the host, and after [`Index::of_device`] the numbers at its edges, are made at their first
/// use.
pub struct Index {
    /// The id of each node, in one or several columns.
    pub ids: Vec<ArrayRef>,
    pub directed: bool,
    /// Rows with a node at both ends.
    pub edges: usize,
    /// Rows with a null at an end, which are no edges.
    pub left_out: usize,
    columns: MakeColumns,
    numbered: OnceLock<Ends>,
    graph: OnceLock<Graph>,
    integers: OnceLock<IntegerWeights>,
}

/// Whether weights are integers, and f64 has all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
enum IntegerWeights {
    No,
    /// All are exact as f64.
    Exact,
    /// The first one that is not, and its row.
    Inexact {
        value: String,
        row: u32,
    },
}

/// From here on, f64 does not have every integer.
const FIRST_INEXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// The nodes at both ends of each edge.
pub struct Ends {
    pub nodes: [Vec<u32>; 2],
    /// The row of each edge. `None` if no row was left out.
    rows: Option<Vec<u32>>,
}

impl Ends {
    /// Numbers the ids of edges, and gives the distinct ids and the rows that are left out.
    fn number(columns: &EdgeColumns) -> Result<(Ends, Vec<ArrayRef>, usize), Diagnostic> {
        let EdgeColumns { source, target, names, nodes, .. } = columns;
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
        let length = source.first().map_or(0, |column| column.len());
        if length >= u32::MAX as usize {
            let message = format!("{length} edges: a graph has at most {}", u32::MAX - 1);
            return Err(plan_error("size", message).help("merge parallel edges first: `group_by` both ends"));
        }
        // A column of type null has no bitmap.
        let nulls: Vec<NullBuffer> = source.iter().chain(&target).filter_map(|column| column.logical_nulls()).collect();
        let kept: Option<UInt32Array> = nulls.iter().any(|nulls| nulls.null_count() > 0).then(|| {
            let is_kept = |row: &u32| nulls.iter().all(|nulls| nulls.is_valid(*row as usize));
            UInt32Array::from_iter_values((0..length as u32).filter(is_kept))
        });
        let edges = kept.as_ref().map_or(length, |kept| kept.len());
        let mut ends = Vec::new();
        for (part, (from, to)) in source.iter().zip(&target).enumerate() {
            let (from, to) = match &kept {
                None => (from.clone(), to.clone()),
                Some(kept) => (take(from, kept, None).map_err(internal)?, take(to, kept, None).map_err(internal)?),
            };
            let mut parts = vec![from, to];
            for more in nodes {
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
        let rows = kept.map(|kept| kept.values().to_vec());
        Ok((Ends { nodes: [codes, to], rows }, ids, length - edges))
    }

    /// The row of the frame that an edge comes from.
    fn row(&self, edge: u32) -> u32 {
        self.rows.as_ref().map_or(edge, |rows| rows[edge as usize])
    }
}

impl Index {
    /// Numbers the ids. A row with a null at an end is left out, and an id that occurs only there does not become a
    /// node.
    ///
    /// # Errors
    /// Errors of `columns`. Also if the ends have different types or types without an order, a weight is not finite, or
    /// there are too many rows or nodes.
    pub fn new(columns: MakeColumns) -> Result<Index, Diagnostic> {
        let made = columns()?;
        let (ends, ids, left_out) = Ends::number(&made)?;
        let mut integers = IntegerWeights::No;
        if let Some(weight) = &made.weight {
            integers = integer_weights(&weight.values, &weights(weight, &ends)?, &ends);
        }
        let edges = ends.nodes[0].len();
        let index = Index::of_parts(made.directed, edges, left_out, ids, columns);
        let _ = (index.numbered.set(ends), index.integers.set(integers));
        Ok(index)
    }

    /// [`Index::new`] of columns that are there.
    ///
    /// # Errors
    /// As [`Index::new`].
    pub fn of(columns: EdgeColumns) -> Result<Index, Diagnostic> {
        Index::new(Box::new(move || Ok(columns.clone())))
    }

    /// The index of a graph that a device has made of `columns`, which have integers and no nulls. `ids` are the ids of
    /// its nodes, ascending.
    ///
    /// # Errors
    /// If the ids have a type that no id has.
    pub fn of_device(directed: bool, edges: usize, ids: &ArrayRef, columns: MakeColumns) -> Result<Index, Diagnostic> {
        Ok(Index::of_parts(directed, edges, 0, vec![comparable(ids)?], columns))
    }

    fn of_parts(directed: bool, edges: usize, left_out: usize, ids: Vec<ArrayRef>, columns: MakeColumns) -> Index {
        let (numbered, graph, integers) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Index { ids, directed, edges, left_out, columns, numbered, graph, integers }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        self.ids.first().map_or(0, |column| column.len())
    }

    /// Arcs of the rows, where each self-loop of an undirected graph is counted twice.
    pub fn arcs(&self) -> usize {
        if self.directed { self.edges } else { 2 * self.edges }
    }

    /// The nodes at both ends of each edge.
    ///
    /// # Panics
    /// If the columns cannot be made or numbered again.
    pub fn ends(&self) -> &Ends {
        once(&self.numbered, || {
            let numbered = (self.columns)().and_then(|columns| Ends::number(&columns));
            numbered.unwrap_or_else(|error| panic!("columns that were numbered before: {error}")).0
        })
    }

    /// The graph on the host.
    ///
    /// # Panics
    /// If the columns cannot be made or numbered again.
    pub fn graph(&self) -> &Graph {
        once(&self.graph, || {
            let ends = self.ends();
            let made = (self.columns)().and_then(|columns| {
                let weights = columns.weight.as_ref().map(|weight| weights(weight, ends)).transpose()?;
                let [from, to] = &ends.nodes;
                Graph::new(self.directed, self.nodes() as u32, from, to, weights).map_err(|e| diagnose(&e))
            });
            made.unwrap_or_else(|error| panic!("columns that were numbered before: {error}"))
        })
    }

    /// [`Index::graph`] if it is already made.
    pub fn made_graph(&self) -> Option<&Graph> {
        self.graph.get()
    }

    /// [`Index::ends`] if they are already made.
    pub fn made_ends(&self) -> Option<&Ends> {
        self.numbered.get()
    }

    /// The weights of the edges, made anew. `None` if there are none.
    ///
    /// # Errors
    /// Errors of [`Index::new`].
    pub fn weights(&self) -> Result<Option<Vec<f64>>, Diagnostic> {
        (self.columns)()?.weight.as_ref().map(|weight| weights(weight, self.ends())).transpose()
    }

    /// The weights of the edges in their own type, made anew. `None` if there are none.
    ///
    /// # Errors
    /// Errors of [`Index::new`].
    pub fn weight_column(&self) -> Result<Option<ArrayRef>, Diagnostic> {
        let Some(weight) = (self.columns)()?.weight else { return Ok(None) };
        match &self.ends().rows {
            None => Ok(Some(weight.values)),
            Some(rows) => take(&weight.values, &UInt32Array::from(rows.clone()), None).map(Some).map_err(internal),
        }
    }

    fn integers(&self) -> &IntegerWeights {
        once(&self.integers, || {
            let found = (self.columns)().and_then(|columns| match &columns.weight {
                Some(weight) => {
                    let ends = self.ends();
                    Ok(integer_weights(&weight.values, &weights(weight, ends)?, ends))
                }
                None => Ok(IntegerWeights::No),
            });
            found.unwrap_or_else(|error| panic!("columns that were numbered before: {error}"))
        })
    }

    /// Whether a weight is an integer that f64 does not have.
    pub fn has_inexact_weights(&self) -> bool {
        matches!(self.integers(), IntegerWeights::Inexact { .. })
    }

    /// The error if sums of weights would be those of other weights: a weight is an integer that f64 does not have.
    ///
    /// # Errors
    /// If it is, with the value and its row; `algorithm` is the name in the message.
    pub fn check_exact(&self, algorithm: &str) -> Result<(), Diagnostic> {
        let IntegerWeights::Inexact { value, row } = self.integers() else { return Ok(()) };
        let message = format!(
            "the weight is {value} in row {row}: {algorithm} adds integers up to {FIRST_INEXACT_INTEGER} exactly"
        );
        Err(rounded(message))
    }

    /// The error if a sum of integer weights may be rounded.
    ///
    /// # Errors
    /// If one of `sums` is finite and too large to be exact, with its value.
    pub fn check_sums(&self, sums: &[f64]) -> Result<(), Diagnostic> {
        let is_large = |sum: &&f64| sum.is_finite() && sum.abs() >= FIRST_INEXACT_INTEGER;
        let Some(sum) = sums.iter().find(is_large).filter(|_| *self.integers() != IntegerWeights::No) else {
            return Ok(());
        };
        Err(rounded(format!(
            "a distance is about {sum}: sums of integer weights are exact up to {FIRST_INEXACT_INTEGER}"
        )))
    }

    /// About: ends, ids, and of the graph the rows in both directions, the distinct pairs and the weights.
    pub fn bytes(&self) -> u64 {
        let edges = self.edges as u64;
        let weights = if self.graph.get().is_some_and(Graph::is_weighted) { 3 * 8 * edges } else { 0 };
        let ids: usize = self.ids.iter().map(|ids| ids.get_array_memory_size()).sum();
        let of_graph = if self.graph.get().is_some() { 40 * edges + 32 * self.nodes() as u64 } else { 0 };
        let ends = if self.numbered.get().is_some() { 8 * edges } else { 0 };
        of_graph + ends + weights + ids as u64
    }

    /// The row of the frame that an edge comes from.
    pub fn row(&self, edge: u32) -> u32 {
        self.ends().row(edge)
    }
}

/// The weights of the edges.
fn weights(column: &WeightColumn, ends: &Ends) -> Result<Vec<f64>, Diagnostic> {
    let values = numbers(column)?;
    let values = match &ends.rows {
        None => values,
        Some(rows) => rows.iter().map(|row| values[*row as usize]).collect(),
    };
    if let Some(edge) = values.iter().position(|value| !value.is_finite()) {
        return Err(not_finite(column, ends.row(edge as u32) as usize));
    }
    Ok(values)
}

/// Compares weights in their own type with their f64 by edge.
fn integer_weights(values: &ArrayRef, floats: &[f64], ends: &Ends) -> IntegerWeights {
    if !values.data_type().is_integer() {
        return IntegerWeights::No;
    }
    let is_exact = |row: u32, float: f64| match values.data_type() {
        DataType::Int64 => i128::from(values.as_primitive::<Int64Type>().value(row as usize)) == float as i128,
        DataType::UInt64 => i128::from(values.as_primitive::<UInt64Type>().value(row as usize)) == float as i128,
        _ => true,
    };
    let mut large = floats.iter().enumerate().filter(|(_, float)| float.abs() >= FIRST_INEXACT_INTEGER);
    let inexact = large.find_map(|(edge, float)| {
        let row = ends.row(edge as u32);
        (!is_exact(row, *float)).then_some(row)
    });
    match inexact {
        None => IntegerWeights::Exact,
        Some(row) => {
            let value = shown(&onrush_frame::value_at(values, row as usize));
            IntegerWeights::Inexact { value, row }
        }
    }
}

/// An error of a sum that would be rounded.
fn rounded(message: String) -> Diagnostic {
    plan_error("weight", message).help(
        "`.weight(x!(km as f64))` takes the nearest floats of a column `km`; or give the weights in a larger unit",
    )
}

/// The error for a weight that is not a finite number.
pub(crate) fn not_finite(column: &WeightColumn, row: usize) -> Diagnostic {
    let found = match onrush_frame::value_at(&column.values, row) {
        Value::Null => "null".to_string(),
        value => shown(&value),
    };
    let message = format!("the weight `{}` is {found} in row {row}: expected finite numbers", column.name);
    plan_error("weight", message).help("`drop_nulls_in` and `filter_edges` leave such edges out")
}

/// Weights as f64; null is NaN.
fn numbers(column: &WeightColumn) -> Result<Vec<f64>, Diagnostic> {
    let WeightColumn { name, values } = column;
    if !values.data_type().is_numeric() {
        let message = format!("the weight `{name}` is `{}`, expected numbers", type_name(values.data_type()));
        return Err(plan_error("type-mismatch", message));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let values = cast_with_options(values, &DataType::Float64, &options).map_err(internal)?;
    Ok(values.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}
