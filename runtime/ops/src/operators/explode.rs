//! Explode: repeats rows by a count, with the number of each repetition; and compacts lists whose elements are views
//! into larger columns.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::datatypes::DataType;
use onrush_device::{Arguments, Buffer};
use onrush_kernels::scan::{Bounds, scan};
use onrush_kernels::{Column, Context, Program, Scalar, headers};

use crate::codegen::expand::paired;
use crate::codegen::{KernelBody, RowSource, SideInputs};
use crate::column::dictionary::Dictionary;
use crate::column::list::{MOST, element_of};
use crate::column::{DeviceColumn, DeviceTable};
use crate::ir::expr::{DeviceType, ExprGraph, ListOp, NodeId, Op};
use crate::launch::kernel_cache::KernelCache;
use crate::launch::launch;
use crate::launch::stream_context::StreamContext;
use crate::operators::write;
use crate::{Error, Result};

/// Rows that were repeated, and the memory that they read.
pub struct Explode {
    pub source: RowSource,
    _rows: Buffer,
    _places: Buffer,
}

/// How many pieces rows have in all, and where those of each begin, with the end behind the last one.
struct RepeatCounts {
    begins: Buffer,
    rows: u64,
    total: u64,
}

fn run(
    context: &Context,
    name: &'static str,
    parameters: &str,
    line: &str,
    arguments: Arguments,
    rows: u64,
) -> Result<()> {
    let body = format!("extern \"C\" __global__ void __launch_bounds__(256) {name}({parameters}) {{\n  {line}\n}}\n");
    let program = Program::new(&[&headers::LIST], body, [name]);
    launch(context, &context.library.function(&program, name)?, arguments, rows, 256, 0)
}

impl RepeatCounts {
    /// The row of each piece, and its number among those of that row.
    fn row_numbers(&self, context: &Context) -> Result<(Buffer, Buffer)> {
        let room = || context.allocate(4 * self.total.max(1));
        let (of_row, places) = (room()?, room()?);
        if self.total > 0 {
            let arguments = Arguments::new().buffer(&self.begins).value(self.rows).value(self.total);
            let arguments = arguments.buffer(&of_row).buffer(&places);
            let parameters = "const u64* begins, u64 rows, u64 total, u32* of_row, u32* places";
            let line = "list_spread(begins, rows, total, of_row, places);";
            run(context, "spread_rows", parameters, line, arguments, self.total)?;
        }
        Ok((of_row, places))
    }
}

fn counted(lane: &StreamContext, body: &KernelBody, count: NodeId) -> Result<RepeatCounts> {
    let (context, rows) = (&lane.context, body.source.rows);
    if rows > MOST {
        return Err(Error::Unsupported(format!("lists of {rows} rows")));
    }
    let written = write::write(lane, body, &[count], None, &|_| None)?;
    // One more, of no length: its sum is the end.
    let counts = context.allocate(4 * (rows + 1))?;
    counts.fill_range(4 * rows, 4, 0, &context.stream)?;
    counts.copy_from(0, &written.columns[0].values, 0, 4 * rows, &context.stream)?;
    let begins = scan(context, &Column::new(Scalar::U32, &counts).slice(0, rows + 1), Bounds::Exclusive)?;
    let last = rows as usize;
    let total = begins.read::<u64>(last..last + 1, &context.stream)?[0];
    if total > MOST {
        return Err(Error::Unsupported(format!("{total} elements of lists")));
    }
    lane.is_idle.store(false, Ordering::Relaxed);
    Ok(RepeatCounts { begins, rows, total })
}

/// A source whose rows are those of another one, each as often as a node says, with their numbers among those of the
/// same one.
pub fn explode(lane: &StreamContext, body: &KernelBody, count: NodeId) -> Result<Explode> {
    let counted = counted(lane, body, count)?;
    let (of_row, places) = counted.row_numbers(&lane.context)?;
    let base = body.source;
    let mut parameters = base.parameters.clone();
    parameters.buffer("const u32* __restrict__", "pair", &of_row);
    parameters.buffer("const u32* __restrict__", "spread_place", &places);
    let source = RowSource {
        rows: counted.total,
        parameters,
        inputs: paired(&base.inputs, false),
        fetched: base.fetched.clone(),
        present: None,
        identity: base.identity,
        is_partitioned: base.is_partitioned,
    };
    Ok(Explode { source, _rows: of_row, _places: places })
}

/// Compacts a column that is to be kept. A list column may share the elements of many more rows; the result has only
/// its elements.
pub fn compacted(
    memo: &KernelCache,
    lane: &StreamContext,
    dtype: &DataType,
    column: &DeviceColumn,
) -> Result<DeviceColumn> {
    let (all, is_struct) = (column.elements(), matches!(dtype, DataType::Struct(_)));
    let Some(first) = all.first().filter(|_| column.kind == DeviceType::ListView && column.rows > 0) else {
        return Ok(column.clone());
    };
    let (context, rows) = (&lane.context, column.rows);
    let table = DeviceTable { rows, columns: vec![column.clone()] };
    let source = RowSource::of(context, &table, &|_| false)?;
    let mut graph = ExprGraph::new();
    let list = graph.input(0, DeviceType::ListView);
    let word = DeviceType::Number(Scalar::U32);
    let length = graph.add(Op::List(ListOp::Length), &[list], word);
    let none = graph.number(Scalar::U32, 0);
    let length = match is_struct {
        true => graph.number(Scalar::U32, 1),
        false => graph.add(Op::Coalesce, &[length, none], word),
    };
    let body = KernelBody::new(&source, &graph, SideInputs::default(), None, memo);
    let counted = counted(lane, &body, length)?;
    let (pieces, moved) = (context.allocate(8 * rows)?, context.zeros(8)?);
    let arguments = Arguments::new().buffer(&column.values).value(rows).buffer(&counted.begins);
    run(
        context,
        "settle_lists",
        "const u64* lists, u64 rows, const u64* begins, u64* settled, u64* moved",
        "list_settle(lists, rows, begins, settled, moved);",
        arguments.buffer(&pieces).buffer(&moved),
        rows,
    )?;
    if moved.read_one::<u64>(&context.stream)? == 0 && 2 * counted.total >= first.rows {
        return Ok(column.clone());
    }
    let (of_row, numbers) = counted.row_numbers(context)?;
    run(
        context,
        "number_elements",
        "const u64* lists, const u32* of_row, u64 total, u32* numbers",
        "for (u64 at = thread_in_grid(); at < total; at += threads_in_grid()) numbers[at] += (u32)list_begin(lists[of_row[at]]);",
        Arguments::new().buffer(&column.values).buffer(&of_row).value(counted.total).buffer(&numbers),
        counted.total,
    )?;
    let table = DeviceTable { rows: first.rows, columns: all.to_vec() };
    let source = RowSource::of(context, &table, &|index| all[index].is_decimal64())?;
    let mut graph = ExprGraph::new();
    let roots: Vec<NodeId> = all.iter().enumerate().map(|(index, one)| graph.input(index, one.kind)).collect();
    let body = KernelBody::new(&source, &graph, SideInputs::default(), None, memo);
    let order = (numbers.address(), counted.total);
    let dictionary_of = |id: NodeId| match graph.node(id).op {
        Op::Input(index) => all[index as usize].dictionary.clone(),
        _ => None,
    };
    let gathered = write::write(lane, &body, &roots, Some(order), &dictionary_of)?;
    let mut elements = Vec::new();
    for (index, one) in gathered.columns.iter().enumerate() {
        let dtype = match dtype {
            DataType::Struct(fields) => fields[index].data_type(),
            _ => element_of(dtype)?.data_type(),
        };
        elements.push(compacted(memo, lane, dtype, one)?);
    }
    // The memory of the source columns is freed.
    context.stream.synchronize()?;
    let dictionary = Some(Arc::new(Dictionary::of_pieces(elements)));
    let settled = DeviceColumn::plain(DeviceType::ListView, Arc::new(pieces), rows);
    Ok(DeviceColumn { validity: column.validity.clone(), dictionary, ..settled })
}
