//! The two tables of a graph, also while a file is read.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use crate::error::{ErrorKind, Fault};

/// A graph as two tables.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphTables {
    pub directed: bool,
    /// The column `node` with the ids, each once, then attributes. Ids are `Int64` if all are integers, else `Utf8`.
    pub nodes: RecordBatch,
    /// The columns `source` and `target` with ids of nodes, then `weight` if there is one, then attributes. Parallel
    /// edges are rows.
    pub edges: RecordBatch,
}

/// Bytes that a cell of an attribute takes while a graph is read.
pub const CELL: usize = 64;

/// The cells of attributes, values and nulls, that a file of so many bytes may have: each for nodes and for edges.
pub fn most_cells(bytes: usize) -> usize {
    (1 << 22) + bytes.saturating_mul(32)
}

/// An attribute's value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    /// A number of a format without types whose printed form differs, such as `007`. The number if the column has
    /// numbers only, else the string.
    Untyped(String),
}

/// An attribute's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    Int,
    Float,
    Str,
}

impl Value {
    pub fn kind(&self) -> Kind {
        match self {
            Value::Bool(_) => Kind::Bool,
            Value::Int(_) => Kind::Int,
            Value::Float(_) => Kind::Float,
            Value::Str(_) => Kind::Str,
            Value::Untyped(text) => Value::guessed(text).kind(),
        }
    }

    /// A field of a format without types. The other values of its column say whether it is a number or a string.
    pub fn untyped(text: &str) -> Value {
        let guess = Value::guessed(text);
        let is_exact = match &guess {
            Value::Int(_) => matches!(Id::of(text), Id::Int(_)),
            Value::Float(value) => format!("{value:?}") == text,
            Value::Bool(_) | Value::Str(_) | Value::Untyped(_) => true,
        };
        if is_exact { guess } else { Value::Untyped(text.to_string()) }
    }

    /// An integer, a float or a string, as a text format without types means it.
    pub fn guessed(text: &str) -> Value {
        match text.parse::<i64>() {
            Ok(value) => Value::Int(value),
            Err(_) => text.parse().map_or_else(|_| Value::Str(text.to_string()), Value::Float),
        }
    }

    fn into_string(self) -> String {
        match self {
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Float(value) => format!("{value:?}"),
            Value::Str(value) | Value::Untyped(value) => value,
        }
    }

    /// The value in a column of numbers.
    fn into_number(self) -> Value {
        match self {
            Value::Untyped(text) => Value::guessed(&text),
            value => value,
        }
    }
}

impl Kind {
    /// Parses a value as NetworkX's readers do; `name` is the type in the message.
    pub fn parse(self, text: &str, name: &str) -> Result<Value, Fault> {
        let trimmed = text.trim();
        let parsed = match self {
            Kind::Bool => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "1" => Some(Value::Bool(true)),
                "false" | "0" => Some(Value::Bool(false)),
                _ => None,
            },
            Kind::Int => trimmed.parse().ok().map(Value::Int),
            Kind::Float => trimmed.parse().ok().map(Value::Float),
            Kind::Str => Some(Value::Str(text.to_string())),
        };
        parsed.ok_or_else(|| {
            let expected = match self {
                Kind::Int => "an integer of 64 bits",
                Kind::Bool => "`true` or `false`",
                Kind::Float | Kind::Str => "a number",
            };
            let message = format!("found {}, expected {expected}", crate::error::shown(trimmed));
            Fault::new(ErrorKind::File, message)
                .help(format!("the attribute is declared as `{name}`: change one of them"))
        })
    }
}

/// The id of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    Int(i64),
    Str(String),
}

impl Id {
    /// An id in a format whose ids have no types: an integer if it is written as one. `007` is a string.
    pub fn of(text: &str) -> Id {
        let starts_well = match text.as_bytes() {
            [b'0'] => true,
            [b'-', first, ..] | [first, ..] => (b'1'..=b'9').contains(first),
            [] => false,
        };
        match starts_well.then(|| text.parse()) {
            Some(Ok(value)) => Id::Int(value),
            _ => Id::Str(text.to_string()),
        }
    }
}

/// Attribute columns. Rows may miss values.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    index: HashMap<String, usize>,
    columns: Vec<Column>,
    /// Values and nulls of all columns.
    cells: usize,
    /// Cells that fit: a file of many sparse attributes would take far more memory than it has bytes.
    most_cells: usize,
    /// The limit is that of the memory, not of the file.
    is_memory: bool,
}

#[derive(Debug)]
struct Column {
    name: String,
    /// The type of the column if the file declares it.
    kind: Option<Kind>,
    values: Vec<Option<Value>>,
}

impl Attributes {
    /// The limits follow from the size of the file, and from the cells for which there is memory.
    fn new((bytes, cells): (usize, usize)) -> Self {
        let most_cells = most_cells(bytes);
        Attributes { most_cells: most_cells.min(cells), is_memory: cells < most_cells, ..Attributes::default() }
    }

    /// The position of a column, made if there is none of this name.
    pub fn column(&mut self, name: &str) -> usize {
        if let Some(at) = self.index.get(name) {
            return *at;
        }
        self.index.insert(name.to_string(), self.columns.len());
        self.columns.push(Column { name: name.to_string(), kind: None, values: Vec::new() });
        self.columns.len() - 1
    }

    /// The position of a column whose type the file declares: without values it has this type.
    pub fn typed_column(&mut self, name: &str, kind: Kind) -> usize {
        let at = self.column(name);
        self.columns[at].kind.get_or_insert(kind);
        at
    }

    fn check_cells(&self, cells: usize) -> Result<(), Fault> {
        if cells <= self.most_cells {
            return Ok(());
        }
        if self.is_memory {
            let (most, each) = ((self.most_cells * CELL) >> 20, self.columns.len());
            let message =
                format!("{each} attributes need more memory than the {most} MB of ONRUSH_MEMORY that are free");
            return Err(Fault::memory(message).help("leave rare attributes out of the file, or raise ONRUSH_MEMORY"));
        }
        let message = format!(
            "{} attributes make more than {} cells, most of them null: the limit for a file of this size",
            self.columns.len(),
            self.most_cells
        );
        Err(Fault::limit(message).help("leave rare attributes out of the file"))
    }

    pub fn set(&mut self, row: usize, column: usize, value: Value) -> Result<(), Fault> {
        let values = &mut self.columns[column].values;
        match values.get_mut(row) {
            Some(slot) => *slot = Some(value),
            None => {
                self.cells += row + 1 - values.len();
                self.check_cells(self.cells)?;
                let values = &mut self.columns[column].values;
                values.resize(row, None);
                values.push(Some(value));
            }
        }
        Ok(())
    }

    pub fn set_named(&mut self, row: usize, name: &str, value: Value) -> Result<(), Fault> {
        let column = self.column(name);
        self.set(row, column, value)
    }

    /// Gives `value` to all rows without one.
    pub fn fill(&mut self, rows: usize, column: usize, value: &Value) -> Result<(), Fault> {
        let missing = rows.saturating_sub(self.columns[column].values.len());
        self.cells += missing;
        self.check_cells(self.cells)?;
        let values = &mut self.columns[column].values;
        values.resize(rows.max(values.len()), None);
        values.iter_mut().filter(|slot| slot.is_none()).for_each(|slot| *slot = Some(value.clone()));
        Ok(())
    }

    /// The columns, those named as in `first` before the others. Names in `reserved` get `_attribute` at their end.
    fn finish(mut self, rows: usize, reserved: &[&str], first: &[&str]) -> Result<Vec<(Field, ArrayRef)>, Fault> {
        self.check_cells(rows.saturating_mul(self.columns.len()))?;
        let mut taken: Vec<String> = reserved.iter().map(|name| name.to_string()).collect();
        taken.extend(self.index.keys().filter(|name| !reserved.contains(&name.as_str())).cloned());
        self.columns.sort_by_key(|column| !first.contains(&column.name.as_str()));
        let renamed = |name: String| {
            if !reserved.contains(&name.as_str()) {
                return name;
            }
            let mut other = format!("{name}_attribute");
            while taken.contains(&other) {
                other.push('_');
            }
            other
        };
        let finished = self.columns.into_iter().map(|column| {
            let name = renamed(column.name);
            let array = array(column.values, column.kind, rows, &name)?;
            Ok((Field::new(name, array.data_type().clone(), true), array))
        });
        finished.collect()
    }
}

/// Bytes of a column of strings, whose offsets have 32 bits.
const MOST_CHARACTERS: usize = i32::MAX as usize;

/// The error if the ids of the ends take too much memory: formats whose edges name nodes by number repeat long labels.
fn check_characters(ids: &ArrayRef, ends: [&Vec<u32>; 2]) -> Result<(), Fault> {
    let Some(ids) = ids.as_any().downcast_ref::<StringArray>() else { return Ok(()) };
    for ends in ends {
        if ends.iter().map(|v| ids.value_length(*v as usize) as usize).sum::<usize>() > MOST_CHARACTERS {
            let message = "the ids at the ends of the edges have more than 2 GiB of characters, the limit";
            return Err(Fault::limit(message).help("use shorter ids"));
        }
    }
    Ok(())
}

/// The type that holds values of both: floats for integers and floats, else strings.
fn common(a: Kind, b: Kind) -> Kind {
    match (a, b) {
        _ if a == b => a,
        (Kind::Int, Kind::Float) | (Kind::Float, Kind::Int) => Kind::Float,
        _ => Kind::Str,
    }
}

fn array(mut values: Vec<Option<Value>>, declared: Option<Kind>, rows: usize, name: &str) -> Result<ArrayRef, Fault> {
    values.resize(rows, None);
    let found = values.iter().flatten().map(Value::kind).reduce(common);
    Ok(match found.or(declared).unwrap_or(Kind::Str) {
        Kind::Bool => {
            let value = |v: Option<Value>| if let Some(Value::Bool(v)) = v { Some(v) } else { None };
            Arc::new(values.into_iter().map(value).collect::<BooleanArray>())
        }
        Kind::Int => {
            let value = |v: Option<Value>| if let Value::Int(v) = v?.into_number() { Some(v) } else { None };
            Arc::new(values.into_iter().map(value).collect::<Int64Array>())
        }
        Kind::Float => {
            let value = |v: Option<Value>| match v?.into_number() {
                Value::Int(v) => Some(v as f64),
                Value::Float(v) => Some(v),
                _ => None,
            };
            Arc::new(values.into_iter().map(value).collect::<Float64Array>())
        }
        Kind::Str => {
            let strings: Vec<Option<String>> = values.into_iter().map(|v| v.map(Value::into_string)).collect();
            if strings.iter().flatten().map(String::len).sum::<usize>() > MOST_CHARACTERS {
                return Err(Fault::limit(format!(
                    "the attribute `{name}` has more than 2 GiB of characters, the limit"
                )));
            }
            Arc::new(StringArray::from(strings))
        }
    })
}

/// Nodes, edges and their attributes, in the order in which the file names them.
#[derive(Debug)]
pub(crate) struct Tables {
    pub directed: bool,
    ids: HashMap<Id, u32>,
    pub nodes: Attributes,
    sources: Vec<u32>,
    targets: Vec<u32>,
    pub edges: Attributes,
}

impl Tables {
    /// `size`: the bytes of the file, and the cells of attributes for which there is memory.
    pub fn new(directed: bool, size: (usize, usize)) -> Self {
        Tables {
            directed,
            ids: HashMap::new(),
            nodes: Attributes::new(size),
            sources: Vec::new(),
            targets: Vec::new(),
            edges: Attributes::new(size),
        }
    }

    /// The row of a node, made if there is none of this id.
    pub fn node(&mut self, id: Id) -> Result<u32, Fault> {
        let next = self.ids.len();
        match self.ids.entry(id) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(place) => {
                let next = u32::try_from(next).map_err(|_| Fault::limit("more than 4,294,967,295 nodes, the limit"))?;
                Ok(*place.insert(next))
            }
        }
    }

    pub fn node_count(&self) -> usize {
        self.ids.len()
    }

    pub fn edge_count(&self) -> usize {
        self.sources.len()
    }

    /// The row of a new edge.
    pub fn edge(&mut self, source: u32, target: u32) -> usize {
        self.sources.push(source);
        self.targets.push(target);
        self.sources.len() - 1
    }

    pub fn finish(self) -> Result<GraphTables, Fault> {
        let (n, edges) = (self.ids.len(), self.sources.len());
        let ids = id_array(self.ids)?;
        let mut nodes = vec![(Field::new("node", ids.data_type().clone(), false), Arc::clone(&ids))];
        nodes.extend(self.nodes.finish(n, &["node"], &["label"])?);
        let mut columns = Vec::new();
        check_characters(&ids, [&self.sources, &self.targets])?;
        for (name, ends) in [("source", self.sources), ("target", self.targets)] {
            let column =
                take(&ids, &UInt32Array::from(ends), None).map_err(|e| Fault::new(ErrorKind::File, e.to_string()))?;
            columns.push((Field::new(name, ids.data_type().clone(), false), column));
        }
        columns.extend(self.edges.finish(edges, &["source", "target"], &["weight"])?);
        Ok(GraphTables { directed: self.directed, nodes: batch(nodes, n)?, edges: batch(columns, edges)? })
    }
}

/// A table of columns.
pub(crate) fn batch(columns: Vec<(Field, ArrayRef)>, rows: usize) -> Result<RecordBatch, Fault> {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|error| Fault::new(ErrorKind::File, error.to_string()))
}

/// The ids in the order of their rows: integers if all are, else strings.
fn id_array(ids: HashMap<Id, u32>) -> Result<ArrayRef, Fault> {
    let n = ids.len();
    if ids.keys().all(|id| matches!(id, Id::Int(_))) {
        let mut all = vec![0; n];
        ids.into_iter().for_each(|(id, at)| {
            if let Id::Int(value) = id {
                all[at as usize] = value;
            }
        });
        return Ok(Arc::new(Int64Array::from(all)));
    }
    let both = |id: &Id| matches!(id, Id::Int(value) if ids.contains_key(&Id::Str(value.to_string())));
    if let Some(Id::Int(value)) = ids.keys().find(|id| both(id)) {
        let message = format!("found the ids {value} and \"{value}\", expected ids of one type");
        return Err(Fault::new(ErrorKind::File, message).help("write all ids as strings, or all as integers"));
    }
    let mut all = vec![String::new(); n];
    for (id, at) in ids {
        all[at as usize] = match id {
            Id::Int(value) => value.to_string(),
            Id::Str(value) => value,
        };
    }
    if all.iter().map(String::len).sum::<usize>() > MOST_CHARACTERS {
        return Err(Fault::limit("the ids have more than 2 GiB of characters, the limit").help("use shorter ids"));
    }
    Ok(Arc::new(StringArray::from(all)))
}

/// Nodes without edges that a header may declare, whatever the size of its file.
const MOST_ISOLATED_NODES: usize = 1 << 20;

/// Nodes that the header of a file of `bytes` may declare without naming them: one for each byte, and
/// [`MOST_ISOLATED_NODES`] more. Columns of nodes thus stay in proportion to the file.
pub(crate) fn most_nodes(bytes: usize) -> usize {
    MOST_ISOLATED_NODES.saturating_add(bytes).min(u32::MAX as usize)
}

/// The graph of a format with nodes `first..first + n` and numeric weights, without attributes.
pub(crate) fn numbered(
    directed: bool,
    nodes: ArrayRef,
    ends: (Vec<i64>, Vec<i64>),
    weights: Option<ArrayRef>,
) -> Result<GraphTables, Fault> {
    let (n, edges) = (nodes.len(), ends.0.len());
    let id = |name: &str| Field::new(name, DataType::Int64, false);
    let mut columns: Vec<(Field, ArrayRef)> =
        vec![(id("source"), Arc::new(Int64Array::from(ends.0))), (id("target"), Arc::new(Int64Array::from(ends.1)))];
    if let Some(weights) = weights {
        columns.push((Field::new("weight", weights.data_type().clone(), true), weights));
    }
    Ok(GraphTables { directed, nodes: batch(vec![(id("node"), nodes)], n)?, edges: batch(columns, edges)? })
}
