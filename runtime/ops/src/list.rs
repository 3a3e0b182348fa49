//! Lists in device memory: pieces of a column of elements, 64 bits each; and structs, which are pieces of one row of their fields' columns.
//! What filters, orders and joins rows moves the pieces alone; the elements are where they were until they go to the host, or until rows are
//! made of them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{
    Array, ArrayRef, AsArray, GenericListArray, LargeListArray, OffsetSizeTrait, StructArray, UInt32Array, make_array,
    new_empty_array, new_null_array,
};
use arrow::buffer::{BooleanBuffer, Buffer as HostBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, FieldRef};
use onrush_device::{Arguments, Buffer};
use onrush_kernels::scan::{Bounds, scan};
use onrush_kernels::{Column, Context, Program, Scalar, headers};

use crate::codegen::pairs::paired;
use crate::codegen::{Beside, Body, Source};
use crate::column::{DeviceColumn, DeviceTable};
use crate::dictionary::Dictionary;
use crate::graph::{Graph, Id, Kind, ListOp, Op};
use crate::lane::Lane;
use crate::launch::launch;
use crate::run::Gpu;
use crate::{Error, Result};

/// Rows that others become, and elements of lists: their numbers have 32 bits.
const MOST: u64 = u32::MAX as u64 - 2;

fn element_of(dtype: &DataType) -> Result<&FieldRef> {
    match dtype {
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => Ok(of),
        other => Err(Error::Unsupported(format!("lists of type {other}"))),
    }
}

fn as_long(part: &ArrayRef) -> Result<LargeListArray> {
    let of = element_of(part.data_type())?;
    let short = match part.data_type() {
        // Such a cast keeps the elements of rows without a list, which is what the others may have, too.
        DataType::FixedSizeList(..) => cast(part, &DataType::List(Arc::clone(of)))?,
        _ => Arc::clone(part),
    };
    Ok(cast(&short, &DataType::LargeList(Arc::clone(of)))?.as_list::<i64>().clone())
}

/// Which rows are there, where not all are.
fn nulls_of(parts: &[ArrayRef]) -> Option<NullBuffer> {
    let is_there = |part: &ArrayRef| part.nulls().cloned().unwrap_or_else(|| NullBuffer::new_valid(part.len()));
    let nulls: Vec<NullBuffer> = parts.iter().map(is_there).collect();
    let some = nulls.iter().any(|nulls| nulls.null_count() > 0);
    some.then(|| nulls.iter().flat_map(NullBuffer::iter).collect::<Vec<bool>>().into())
}

/// The pieces of some arrays of lists or structs, which rows have one where not all do, and the elements or fields. A row without a list has
/// one of no length; a row without a struct has one of one row, as all have, in which its fields are any.
pub fn encode(context: &Context, parts: &[ArrayRef]) -> Result<(Vec<u64>, Option<NullBuffer>, Vec<DeviceColumn>)> {
    let Some(DataType::Struct(fields)) = parts.first().map(|part| part.data_type()) else {
        let (pieces, elements) = encode_lists(context, parts)?;
        return Ok((pieces, nulls_of(parts), vec![elements]));
    };
    let rows: usize = parts.iter().map(|part| part.len()).sum();
    if rows as u64 > MOST {
        return Err(Error::Unsupported(format!("structs of {rows} rows")));
    }
    let mut columns = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let of: Vec<ArrayRef> = parts.iter().map(|part| Arc::clone(part.as_struct().column(index))).collect();
        columns.push(DeviceColumn::upload(context, field.data_type(), &of, false)?);
    }
    Ok(((0..rows as u64).map(|row| row << 32 | 1).collect(), nulls_of(parts), columns))
}

fn encode_lists(context: &Context, parts: &[ArrayRef]) -> Result<(Vec<u64>, DeviceColumn)> {
    let lists = parts.iter().map(as_long).collect::<Result<Vec<_>>>()?;
    let rows: usize = lists.iter().map(|part| part.len()).sum();
    let mut pieces = Vec::with_capacity(rows);
    let mut elements: Vec<ArrayRef> = Vec::new();
    let mut at = 0_u64;
    for part in &lists {
        let offsets = part.value_offsets();
        let (first, last) = (offsets[0], offsets[part.len()]);
        if at + (last - first) as u64 > MOST {
            return Err(Error::Unsupported(format!("lists of {} elements", at + (last - first) as u64)));
        }
        for (row, pair) in offsets.windows(2).enumerate() {
            let length = if part.is_valid(row) { (pair[1] - pair[0]) as u64 } else { 0 };
            pieces.push((at + (pair[0] - first) as u64) << 32 | length);
        }
        if last > first {
            elements.push(part.values().slice(first as usize, (last - first) as usize));
        }
        at += (last - first) as u64;
    }
    let dtype = parts.first().map(|part| element_of(part.data_type())).transpose()?;
    let dtype = dtype.map_or(DataType::Boolean, |field| field.data_type().clone());
    if elements.is_empty() {
        // So that there is a column to read, which nobody does.
        elements.push(new_null_array(&dtype, 1));
    }
    let elements = DeviceColumn::upload(context, &dtype, &elements, false)?;
    Ok((pieces, elements))
}

/// Columns of a table as what lists or structs are pieces of, by the numbers of its rows.
pub(crate) fn pieces_of(context: &Context, table: &DeviceTable, columns: &[u32]) -> Result<Arc<Dictionary>> {
    if table.rows > MOST {
        return Err(Error::Unsupported(format!("lists or structs of {} rows", table.rows)));
    }
    let elements = columns.iter().map(|column| table.columns[*column as usize].in_form(context, false));
    Ok(Arc::new(Dictionary::of_pieces(elements.collect::<Result<_>>()?)))
}

fn listed<O: OffsetSizeTrait>(
    of: &FieldRef,
    lengths: &[u32],
    elements: ArrayRef,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    let mut offsets = Vec::with_capacity(lengths.len() + 1);
    let mut at = 0_usize;
    offsets.push(O::usize_as(0));
    for length in lengths {
        at += *length as usize;
        offsets
            .push(O::from_usize(at).ok_or_else(|| Error::Unsupported(format!("lists of {at} elements in one array")))?);
    }
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(of), offsets, elements, nulls)?))
}

/// Lists that are pieces of no column: those that are there have no element.
fn of_nothing(dtype: &DataType, rows: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let lengths = vec![0; rows];
    match dtype {
        DataType::List(of) => listed::<i32>(of, &lengths, new_empty_array(of.data_type()), nulls),
        DataType::LargeList(of) => listed::<i64>(of, &lengths, new_empty_array(of.data_type()), nulls),
        _ => Ok(new_null_array(dtype, rows)),
    }
}

impl DeviceColumn {
    /// What lists and structs are pieces of.
    fn elements(&self) -> &[DeviceColumn] {
        self.dictionary.as_ref().map_or(&[], |dictionary| &dictionary.elements)
    }

    pub(crate) fn download_pieces(
        &self,
        context: &Context,
        dtype: &DataType,
        rows: usize,
        validity: Option<HostBuffer>,
    ) -> Result<ArrayRef> {
        let nulls = validity.map(|bits| NullBuffer::new(BooleanBuffer::new(bits, 0, rows)));
        let [elements, ..] = self.elements() else { return of_nothing(dtype, rows, nulls) };
        let pieces = self.values.read::<u64>(0..rows, &context.stream)?;
        let is_there = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let piece = |(row, piece): (usize, &u64)| if is_there(row) { (piece >> 32, *piece as u32) } else { (0, 0) };
        let pieces: Vec<(u64, u32)> = pieces.iter().enumerate().map(piece).collect();
        if let DataType::Struct(fields) = dtype {
            let rows_of = UInt32Array::from_iter(pieces.iter().map(|(row, is)| (*is > 0).then_some(*row as u32)));
            let column = |(column, field): (&DeviceColumn, &FieldRef)| {
                let all = column.download(context, field.data_type(), column.rows)?;
                Ok(take(&all, &rows_of, None)?)
            };
            let columns = self.elements().iter().zip(fields).map(column).collect::<Result<Vec<_>>>()?;
            return Ok(Arc::new(StructArray::try_new(fields.clone(), columns, nulls)?));
        }
        let of = element_of(dtype)?;
        let lengths: Vec<u32> = pieces.iter().map(|(_, length)| *length).collect();
        let mut end = 0_u64;
        let some = || pieces.iter().filter(|(_, length)| *length > 0);
        let in_order = some().all(|(begin, length)| std::mem::replace(&mut end, begin + u64::from(*length)) == *begin);
        let found = match in_order {
            true => elements.download(context, of.data_type(), end)?,
            false => {
                let all = elements.download(context, of.data_type(), elements.rows)?;
                let rows = some().flat_map(|(begin, length)| (*begin as u32..).take(*length as usize));
                take(&all, &UInt32Array::from_iter_values(rows), None)?
            }
        };
        // Of a type whose elements cannot be null, there is none.
        let bare: FieldRef = Arc::new(Field::clone(of).with_nullable(true));
        let made = match dtype {
            DataType::LargeList(_) => listed::<i64>(&bare, &lengths, found, nulls)?,
            _ => listed::<i32>(&bare, &lengths, found, nulls)?,
        };
        if let DataType::FixedSizeList(..) = dtype {
            return Ok(cast(&made, dtype)?);
        }
        Ok(make_array(made.to_data().into_builder().data_type(dtype.clone()).build()?))
    }
}

/// What rows became several, and the memory that it reads.
pub struct Spread {
    pub source: Source,
    _rows: Buffer,
    _places: Buffer,
}

/// How many pieces rows have in all, and where those of each begin, with the end behind the last one.
struct Counted {
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

impl Counted {
    /// The row of each piece, and its number among those of that row.
    fn spread(&self, context: &Context) -> Result<(Buffer, Buffer)> {
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

impl Gpu {
    fn counted(&self, lane: &Lane, body: &Body, count: Id) -> Result<Counted> {
        let (context, rows) = (&lane.context, body.source.rows);
        if rows > MOST {
            return Err(Error::Unsupported(format!("lists of {rows} rows")));
        }
        let written = self.write(lane, body, &[count], None, &|_| None)?;
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
        Ok(Counted { begins, rows, total })
    }

    /// A source whose rows are those of another one, each as often as a node says, with their numbers among those of the same one.
    pub(crate) fn spread(&self, lane: &Lane, body: &Body, count: Id) -> Result<Spread> {
        let counted = self.counted(lane, body, count)?;
        let (of_row, places) = counted.spread(&lane.context)?;
        let base = body.source;
        let mut parameters = base.parameters.clone();
        parameters.buffer("const u32* __restrict__", "pair", &of_row);
        parameters.buffer("const u32* __restrict__", "spread_place", &places);
        let source = Source {
            rows: counted.total,
            parameters,
            inputs: paired(&base.inputs, false),
            fetched: base.fetched.clone(),
            present: None,
            identity: base.identity,
            parted: base.parted,
        };
        Ok(Spread { source, _rows: of_row, _places: places })
    }

    /// A column as whoever keeps it should have it: lists, whose elements may be those of many more rows, with elements of their own.
    pub fn settled(&self, lane: &Lane, dtype: &DataType, column: &DeviceColumn) -> Result<DeviceColumn> {
        let (all, is_struct) = (column.elements(), matches!(dtype, DataType::Struct(_)));
        let Some(first) = all.first().filter(|_| column.kind == Kind::List && column.rows > 0) else {
            return Ok(column.clone());
        };
        let (context, rows) = (&lane.context, column.rows);
        let table = DeviceTable { rows, columns: vec![column.clone()] };
        let source = table.source(context, &|_| false)?;
        let mut graph = Graph::new();
        let list = graph.input(0, Kind::List);
        let word = Kind::Number(Scalar::U32);
        let length = graph.add(Op::List(ListOp::Length), &[list], word);
        let none = graph.number(Scalar::U32, 0);
        let length = match is_struct {
            true => graph.number(Scalar::U32, 1),
            false => graph.add(Op::Coalesce, &[length, none], word),
        };
        let body = Body::new(&source, &graph, Beside::default(), None, &self.memo);
        let counted = self.counted(lane, &body, length)?;
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
        let (of_row, numbers) = counted.spread(context)?;
        run(
            context,
            "number_elements",
            "const u64* lists, const u32* of_row, u64 total, u32* numbers",
            "for (u64 at = thread_in_grid(); at < total; at += threads_in_grid()) numbers[at] += (u32)list_begin(lists[of_row[at]]);",
            Arguments::new().buffer(&column.values).buffer(&of_row).value(counted.total).buffer(&numbers),
            counted.total,
        )?;
        let table = DeviceTable { rows: first.rows, columns: all.to_vec() };
        let source = table.source(context, &|index| all[index].is_narrow())?;
        let mut graph = Graph::new();
        let roots: Vec<Id> = all.iter().enumerate().map(|(index, one)| graph.input(index, one.kind)).collect();
        let body = Body::new(&source, &graph, Beside::default(), None, &self.memo);
        let order = (numbers.address(), counted.total);
        let dictionary_of = |id: Id| match graph.node(id).op {
            Op::Input(index) => all[index as usize].dictionary.clone(),
            _ => None,
        };
        let gathered = self.write(lane, &body, &roots, Some(order), &dictionary_of)?;
        let mut elements = Vec::new();
        for (index, one) in gathered.columns.iter().enumerate() {
            let dtype = match dtype {
                DataType::Struct(fields) => fields[index].data_type(),
                _ => element_of(dtype)?.data_type(),
            };
            elements.push(self.settled(lane, dtype, one)?);
        }
        // What they were made of is let go of.
        context.stream.synchronize()?;
        let dictionary = Some(Arc::new(Dictionary::of_pieces(elements)));
        let settled = DeviceColumn::plain(Kind::List, Arc::new(pieces), rows);
        Ok(DeviceColumn { validity: column.validity.clone(), dictionary, ..settled })
    }
}
