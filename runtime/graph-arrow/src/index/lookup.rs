//! From ids to numbers of nodes and back: nodes that a user names, and columns of results that name nodes.

use std::cmp::Ordering;

use arrow::array::{Array, ArrayRef, DynComparator, RecordBatch, UInt32Array, make_comparator};
use arrow::compute::kernels::cmp::not_distinct;
use arrow::compute::{SortOptions, cast, take};
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use onrush_wire::{Diagnostic, Value};

use super::Index;
use crate::error::{internal, nearest, plan_error, type_name};
use crate::ids::{comparable, is_string, shown, tuple};
use crate::numbering::MISSING;

/// Names that an error looks through for a near one.
const MOST_NAMES: usize = 100_000;

impl Index {
    /// The id of a node as it is shown in messages: `JFK`, `(Boston, MA)`.
    pub fn name(&self, node: u32) -> String {
        match self.ids.len() {
            1 => self.label(node),
            _ => format!("({})", self.label(node)),
        }
    }

    /// The id of a node in a picture: its parts with commas between them.
    pub fn label(&self, node: u32) -> String {
        let text = |column: &ArrayRef| array_value_to_string(column, node as usize).unwrap_or_default();
        self.ids.iter().map(text).collect::<Vec<String>>().join(", ")
    }

    /// The columns of a result that name nodes: `name`, or `name_1`, `name_2`, ... Null for [`MISSING`].
    pub fn ids_of(
        &self,
        name: &str,
        nodes: impl IntoIterator<Item = u32>,
    ) -> Result<Vec<(String, ArrayRef)>, Diagnostic> {
        let nodes = UInt32Array::from_iter(nodes.into_iter().map(|node| (node != MISSING).then_some(node)));
        let columns = self.ids.iter().enumerate();
        let named =
            columns.map(|(part, column)| Ok((self.id_name(name, part), take(column, &nodes, None).map_err(internal)?)));
        named.collect()
    }

    /// The name of a part of an id.
    pub fn id_name(&self, name: &str, part: usize) -> String {
        match self.ids.len() {
            1 => name.to_string(),
            _ => format!("{name}_{}", part + 1),
        }
    }

    /// The numbers of the nodes in the rows of some columns. `None` for a null and for what is not a node.
    pub fn nodes_of(&self, columns: &[ArrayRef]) -> Result<Vec<Option<u32>>, Diagnostic> {
        if columns.len() != self.ids.len() {
            let message =
                format!("an id of this graph has {} columns, and {} are given", self.ids.len(), columns.len());
            return Err(plan_error("argument", message));
        }
        let length = columns.first().map_or(0, |column| column.len());
        let mut wanted = Vec::new();
        for (column, ids) in columns.iter().zip(&self.ids) {
            // A value that the type of the ids cannot represent exactly cannot be an id.
            let column = comparable(column)?;
            let (from, to) = (column.data_type(), ids.data_type());
            let is_literal = from == &DataType::Null || (from.is_numeric() && to.is_numeric());
            // A string may name a date or a time.
            let is_castable = from == to || is_literal || (is_string(from) && !is_string(to));
            if !is_castable {
                let message = format!("a node is given as `{}`, and the ids are `{}`", type_name(from), type_name(to));
                return Err(plan_error("type-mismatch", message));
            }
            let cast_to = cast(&column, to).map_err(internal)?;
            let back = cast(&cast_to, from).map_err(internal)?;
            let is_exact = (from != to && from != &DataType::Null).then(|| not_distinct(&back, &column)).transpose();
            let is_exact = is_exact.map_err(internal)?;
            let is_same = |row: usize| cast_to.is_valid(row) && is_exact.as_ref().is_none_or(|exact| exact.value(row));
            let same = (0..length).map(|row| is_same(row).then_some(row as u32));
            wanted.push(take(&cast_to, &UInt32Array::from_iter(same), None).map_err(internal)?);
        }
        let pairs = self.ids.iter().zip(&wanted);
        let comparators = pairs.map(|(ids, wanted)| make_comparator(ids, wanted, SortOptions::default()));
        let comparators: Vec<DynComparator> = comparators.collect::<Result<_, _>>().map_err(internal)?;
        // An id of several columns is compared as a tuple.
        let compare = |node: usize, row: usize| {
            let parts = comparators.iter().map(|compare| compare(node, row));
            parts.fold(Ordering::Equal, Ordering::then)
        };
        let nodes = self.nodes();
        let find = |row: usize| {
            if wanted.iter().any(|column| column.is_null(row)) {
                return None;
            }
            let (mut low, mut high) = (0, nodes);
            while low < high {
                let middle = low.midpoint(high);
                if compare(middle, row).is_lt() { low = middle + 1 } else { high = middle }
            }
            (low < nodes && compare(low, row).is_eq()).then_some(low as u32)
        };
        Ok((0..length).map(find).collect())
    }

    /// The number of the node with an id, whose parts are `values`.
    ///
    /// # Errors
    /// If the graph has no such node: the error names a near one.
    pub fn node(&self, values: &[&Value]) -> Result<u32, Diagnostic> {
        let columns: Vec<ArrayRef> =
            values.iter().map(|value| onrush_frame::array_from_value(value)).collect::<Result<_, _>>()?;
        let name = || tuple(&values.iter().map(|part| shown(part)).collect::<Vec<_>>());
        self.nodes_of(&columns)?.first().copied().flatten().ok_or_else(|| self.unknown(&name()))
    }

    /// The error for an id that is not a node's.
    pub fn unknown(&self, name: &str) -> Diagnostic {
        let error = plan_error("unknown-node", format!("no node `{name}`"));
        let names: Vec<String> = (0..self.nodes().min(MOST_NAMES) as u32).map(|node| self.name(node)).collect();
        match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.note(format!("the graph has {} nodes", self.nodes())),
        }
    }

    /// The columns of `batch` that hold ids under `name`: `name`, or `name_1`, `name_2`, ...
    pub fn id_columns(&self, batch: &RecordBatch, name: &str) -> Result<Vec<ArrayRef>, Diagnostic> {
        let column = |part: usize| {
            let name = self.id_name(name, part);
            batch.column_by_name(&name).cloned().ok_or_else(|| {
                let known: Vec<String> = batch.schema().fields().iter().map(|f| format!("`{}`", f.name())).collect();
                plan_error("unknown-column", format!("no column `{name}` with the ids of nodes"))
                    .note(format!("the columns are {}", known.join(", ")))
                    .help(format!("`rename` the column of the ids to `{name}`"))
            })
        };
        (0..self.ids.len()).map(column).collect()
    }
}
