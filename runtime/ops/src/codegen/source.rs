//! Row sources: how generated kernels read the columns of a table, and which rows they loop over.

use onrush_device::{Arguments, Function};
use onrush_kernels::Context;

use super::Parameters;
use crate::Result;
use crate::column::{DeviceColumn, DeviceTable};
use crate::ir::expr::DeviceType;
use crate::launch::{launch, launch_tiles};

/// How a kernel reads a column of its source, in terms of `row`.
#[derive(Clone, Debug)]
pub struct ColumnRef {
    pub kind: DeviceType,
    pub value: String,
    pub valid: Option<String>,
    /// Lowest and highest value, where they are known.
    pub range: Option<(i128, i128)>,
    /// How the elements of lists or the fields of structs are read, in terms of a separate `row`. Empty for other
    /// columns.
    pub elements: Vec<ColumnRef>,
}

impl ColumnRef {
    /// How a kernel reads it at `row`; `table` begins the names of its parameters.
    fn of(
        column: &DeviceColumn,
        table: &str,
        index: usize,
        range: Option<(i128, i128)>,
        parameters: &mut Parameters,
    ) -> ColumnRef {
        let name = format!("{table}c{index}");
        let stored = match (column.kind, &column.dictionary) {
            (DeviceType::String, None) => "u8",
            (DeviceType::String, Some(_)) => column.code().cuda(),
            _ => column.stored.stored(),
        };
        parameters.buffer(&format!("const {stored}* __restrict__"), &name, &column.values);
        let mut place = String::new();
        if let Some(texts) = column.texts.as_ref().filter(|_| column.kind == DeviceType::String) {
            let offset = if texts.wide { "u64" } else { "u32" };
            parameters.buffer(&format!("const {offset}* __restrict__"), &format!("{table}of{index}"), &texts.offsets);
            place = format!("text_at({table}of{index}, {name}, row)");
            if column.dictionary.is_some() {
                parameters.buffer("const u8* __restrict__", &format!("{table}by{index}"), &texts.bytes);
                place = format!("text_at({table}of{index}, {table}by{index}, {name}[row])");
            }
        }
        let valid = column.validity.as_ref().map(|validity| {
            parameters.buffer("const u32* __restrict__", &format!("{table}v{index}"), validity);
            format!("is_valid({table}v{index}, row)")
        });
        let value = match (column.kind, column.stored) {
            (DeviceType::Bool, _) => format!("is_valid({name}, row)"),
            (DeviceType::String, _) => place,
            (kind, stored) if kind != stored => format!("({}){name}[row]", kind.cuda()),
            _ => format!("{name}[row]"),
        };
        let of = format!("{table}el{index}");
        let all = column.dictionary.as_ref().map_or(&[][..], |dictionary| &dictionary.elements);
        let elements =
            all.iter().enumerate().map(|(place, one)| ColumnRef::of(one, &of, place, None, parameters)).collect();
        ColumnRef { kind: column.kind, value, valid, range, elements }
    }
}

/// The rows that a kernel loops over.
pub struct RowSource {
    pub rows: u64,
    pub parameters: Parameters,
    pub inputs: Vec<ColumnRef>,
    /// Columns of the table that these rows were made from.
    pub fetched: Vec<ColumnRef>,
    /// The condition that a row exists, in terms of `row`.
    pub present: Option<String>,
    /// Equal only for the same data.
    pub identity: u64,
    /// Whether rows are ordered by the partition of a table that they belong to. The fewer of them are processed at
    /// once, the more of the partition the cache holds.
    pub is_partitioned: bool,
}

impl RowSource {
    /// A table as the source that a kernel loops over. Value ranges are computed for the columns for which `ranged`
    /// says so.
    pub fn of(context: &Context, table: &DeviceTable, ranged: &dyn Fn(usize) -> bool) -> Result<RowSource> {
        let (inputs, parameters) = inputs(context, table, "", ranged)?;
        let identity = table.columns.first().map_or(0, |c| c.values.address()) ^ table.rows;
        let is_partitioned = table.columns.iter().any(|column| column.is_partitioned);
        Ok(RowSource {
            rows: table.rows,
            parameters,
            inputs,
            fetched: Vec::new(),
            present: None,
            identity,
            is_partitioned,
        })
    }
}

/// How a kernel reads its columns; `prefix` begins the names of the parameters.
pub fn inputs(
    context: &Context,
    table: &DeviceTable,
    prefix: &str,
    ranged: &dyn Fn(usize) -> bool,
) -> Result<(Vec<ColumnRef>, Parameters)> {
    let mut parameters = Parameters::new();
    let mut inputs = Vec::new();
    for (index, column) in table.columns.iter().enumerate() {
        let range = if ranged(index) { column.range(context)? } else { None };
        inputs.push(ColumnRef::of(column, prefix, index, range, &mut parameters));
    }
    Ok((inputs, parameters))
}

/// As [`launch`], over the rows of a source. If rows are partitioned, each block takes as many rows as it has threads,
/// and the device takes blocks in order. Blocks that went on with later rows would drift apart, and with them the
/// partitions that are processed at once.
pub fn launch_rows(
    context: &Context,
    function: &Function,
    arguments: Arguments,
    source: &RowSource,
    threads: u32,
) -> Result<()> {
    match source.is_partitioned {
        true => launch_tiles(context, function, arguments, source.rows.div_ceil(u64::from(threads)), threads),
        false => launch(context, function, arguments, source.rows, threads, 0),
    }
}
