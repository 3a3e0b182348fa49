//! The columns of a frame of nodes, in the order of the graph's nodes.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt32Array};
use arrow::compute::{cast, concat_batches, take};
use arrow::datatypes::{DataType, Float64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use onrush_engine::{Engine, Index};
use onrush_expr::diagnostics::{plan_error, type_name, unknown_column};
use onrush_expr::error::internal;
use onrush_frame::TaskHandle;
use onrush_wire::Diagnostic;
use onrush_wire::visual::{GraphPlotRequest, MAX_CATEGORIES, NodeColor, NodeColumn, NodeLink, NodeSize};

/// Columns that are shown for reading.
const READ: usize = 8;
/// Characters of a value that is shown.
const LONG: usize = 80;
/// Integers are names if there are no more values than this.
const FEW: usize = 10;
/// Integer columns that are names: their values have separate colours also if there are many.
const NAMES: [&str; 2] = ["community", "component"];

/// The rows of a frame of nodes.
pub struct NodeRows {
    batch: RecordBatch,
    /// The row of each node.
    rows: Vec<Option<u32>>,
    ids: Vec<String>,
}

impl NodeRows {
    /// Reads the request's frame of nodes.
    pub fn read(
        engine: &Engine,
        request: &GraphPlotRequest,
        index: &Index,
        task: &TaskHandle,
    ) -> Result<Self, Diagnostic> {
        let Some(frame) = request.nodes else {
            return Err(plan_error("argument", "the graph has no columns of nodes")
                .help("`.with_nodes(&frame, \"id\")` adds them to the graph"));
        };
        let table = engine.table(frame, &[], task)?;
        let batch = concat_batches(table.schema(), table.batches()).map_err(|e| internal(&e.to_string()))?;
        let found = index.nodes_of(&index.id_columns(&batch, "node")?)?;
        let mut rows = vec![None; index.nodes()];
        for (row, node) in found.into_iter().enumerate() {
            if let Some(node) = node {
                rows[node as usize].get_or_insert(row as u32);
            }
        }
        let ids = (0..index.ids.len()).map(|part| index.id_name("node", part)).collect();
        Ok(NodeRows { batch, rows, ids })
    }

    /// A column with a value for each node; null where the frame lacks the node.
    pub fn column(&self, name: &str) -> Result<ArrayRef, Diagnostic> {
        let Some(column) = self.batch.column_by_name(name) else {
            return Err(unknown_column(name, &self.batch.schema()));
        };
        take(column, &UInt32Array::from(self.rows.clone()), None).map_err(|e| internal(&e.to_string()))
    }

    /// Checks that the columns of colour, size and label exist.
    pub fn check(&self, request: &GraphPlotRequest) -> Result<(), Diagnostic> {
        let named = [&request.color, &request.size, &request.label];
        named.into_iter().flatten().try_for_each(|name| self.column(name).map(drop))
    }

    /// Colours, sizes, labels and columns for reading, of some nodes.
    pub fn fill(&self, request: &GraphPlotRequest, nodes: &[u32], picture: &mut NodeLink) -> Result<(), Diagnostic> {
        let broken = |e: arrow::error::ArrowError| internal(&e.to_string());
        let of_nodes = UInt32Array::from(nodes.to_vec());
        let column = |name: &str| take(&self.column(name)?, &of_nodes, None).map_err(broken);
        if let Some(name) = &request.color {
            picture.color = Some(color(name, &column(name)?)?);
        }
        if let Some(name) = &request.size {
            let values = column(name)?;
            if !values.data_type().is_numeric() {
                let found = type_name(values.data_type());
                return Err(plan_error("type-mismatch", format!("the size `{name}` is `{found}`, expected numbers")));
            }
            let values = floats(&values)?;
            if let Some(at) = values.iter().position(|value| *value < 0.0) {
                let message = format!("the size `{name}` of the node `{}` is {}", picture.ids[at], values[at]);
                return Err(plan_error("argument", message).help("expected numbers of at least 0"));
            }
            picture.size = Some(NodeSize { column: name.clone(), values });
        }
        if let Some(name) = &request.label {
            picture.labels = texts(&column(name)?)?.iter().map(|text| short(text)).collect();
        }
        let schema = self.batch.schema();
        let others = schema.fields().iter().map(|field| field.name()).filter(|name| !self.ids.contains(name));
        for name in others.take(READ) {
            picture.columns.push(NodeColumn {
                name: name.clone(),
                values: texts(&column(name)?)?.iter().map(|text| short(text)).collect(),
            });
        }
        Ok(())
    }
}

fn floats(array: &ArrayRef) -> Result<Vec<f64>, Diagnostic> {
    let values = cast(array, &DataType::Float64).map_err(|e| internal(&e.to_string()))?;
    Ok(values.as_primitive::<Float64Type>().iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// Values as text. Null is empty.
fn texts(array: &ArrayRef) -> Result<Vec<String>, Diagnostic> {
    let options = FormatOptions::default().with_display_error(true);
    let format = ArrayFormatter::try_new(array.as_ref(), &options).map_err(|e| internal(&e.to_string()))?;
    let text = |row: usize| match array.is_null(row) {
        true => String::new(),
        false => format.value(row).to_string(),
    };
    Ok((0..array.len()).map(text).collect())
}

/// A text that is cut where it is long.
fn short(text: &str) -> String {
    text.chars().take(LONG).collect()
}

/// Numbers as a scale, everything else as names.
fn color(name: &str, array: &ArrayRef) -> Result<NodeColor, Diagnostic> {
    let is_whole = array.data_type().is_integer();
    let values = texts(array)?;
    let mut counts: HashMap<&str, usize> = HashMap::new();
    let valid = || (0..array.len()).filter(|row| array.is_valid(*row));
    valid().for_each(|row| *counts.entry(values[row].as_str()).or_insert(0) += 1);
    let is_number = array.data_type().is_numeric() && !is_whole;
    let is_scale = is_whole && counts.len() > FEW && !NAMES.contains(&name);
    if is_number || is_scale {
        return Ok(NodeColor::Numbers { column: name.to_string(), values: floats(array)? });
    }
    let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
    let whole = |name: &str| name.parse::<i128>().unwrap_or(i128::MAX);
    let is_ordered = is_whole || array.data_type() == &DataType::Boolean;
    names.sort_by(|a, b| match is_ordered {
        true => whole(a.0).cmp(&whole(b.0)).then(a.0.cmp(b.0)),
        false => b.1.cmp(&a.1).then(a.0.cmp(b.0)),
    });
    let is_cut = names.len() > MAX_CATEGORIES;
    if is_cut {
        names.truncate(MAX_CATEGORIES - 1);
    }
    let code_of: HashMap<&str, u32> = names.iter().enumerate().map(|(code, (name, _))| (*name, code as u32)).collect();
    let other = names.len() as u32;
    let code = |row: usize| array.is_valid(row).then(|| code_of.get(values[row].as_str()).copied().unwrap_or(other));
    let codes = (0..array.len()).map(code).collect();
    let mut names: Vec<String> = names.into_iter().map(|(name, _)| short(name)).collect();
    names.extend(is_cut.then(|| "other".to_string()));
    Ok(NodeColor::Categories { column: name.to_string(), names, codes })
}
