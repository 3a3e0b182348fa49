//! List views in device memory: 64 bits a row, an offset and a length into a column of elements. A struct is a view
//! of one row of its fields' columns. Filters, sorts and joins move views only; the elements stay in place until rows
//! go to the host or are exploded.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, GenericListArray, LargeListArray, OffsetSizeTrait, StructArray, UInt32Array, make_array,
    new_empty_array, new_null_array,
};
use arrow::buffer::{BooleanBuffer, Buffer as HostBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, Field, FieldRef};
use onrush_kernels::Context;

use crate::column::dictionary::Dictionary;
use crate::column::{DeviceColumn, DeviceTable};
use crate::{Error, Result};

/// Rows that others become, and elements of lists: their numbers have 32 bits.
pub(crate) const MOST: u64 = u32::MAX as u64 - 2;

pub(crate) fn element_of(dtype: &DataType) -> Result<&FieldRef> {
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

/// The validity of the rows, `None` if all are valid.
fn nulls_of(parts: &[ArrayRef]) -> Option<NullBuffer> {
    let is_there = |part: &ArrayRef| part.nulls().cloned().unwrap_or_else(|| NullBuffer::new_valid(part.len()));
    let nulls: Vec<NullBuffer> = parts.iter().map(is_there).collect();
    let some = nulls.iter().any(|nulls| nulls.null_count() > 0);
    some.then(|| nulls.iter().flat_map(NullBuffer::iter).collect::<Vec<bool>>().into())
}

/// The pieces of some arrays of lists or structs, which rows have one where not all do, and the elements or fields. A
/// row without a list has an empty list. A row without a struct has a struct of one row, as all have, in which the
/// fields are arbitrary.
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
    let elements = columns.iter().map(|column| table.columns[*column as usize].to_representation(context, false));
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
    /// The columns that lists and structs refer to.
    pub(crate) fn elements(&self) -> &[DeviceColumn] {
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
        // A type whose elements cannot be null has none.
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
