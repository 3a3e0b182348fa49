//! String columns in device memory: bytes with offsets, or dictionary indices. Readers choose the representation;
//! each one is derived from the other if it is missing.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeStringArray, StringViewArray};
use arrow::buffer::{BooleanBuffer, Buffer as HostBuffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use onrush_device::Buffer;
use onrush_kernels::{Context, Scalar};

use crate::Result;
use crate::column::dictionary::{self, EncodedStrings};
use crate::column::{DeviceColumn, DeviceTable, chunked};
use crate::ir::expr::{DeviceType, ExprGraph, NodeId, Op};

/// The bytes of strings, concatenated, and their offsets; the last offset is the end. Kernels read the bytes in whole
/// words.
pub struct StringBuffers {
    pub bytes: Arc<Buffer>,
    pub offsets: Arc<Buffer>,
    /// Offsets are of 64 bits, else of 32.
    pub wide: bool,
}

/// Room for some bytes that are read in words.
pub(crate) fn room(bytes: u64) -> u64 {
    (bytes + 1).next_multiple_of(8)
}

/// Bytes of a chunk's strings.
fn bytes_of(part: &ArrayRef) -> Result<u64> {
    if let Some(views) = part.as_any().downcast_ref::<StringViewArray>() {
        let lengths = views.views().iter().map(|view| u64::from(*view as u32));
        return Ok(match views.nulls().filter(|nulls| nulls.null_count() > 0) {
            // The view of a null is arbitrary.
            Some(nulls) => lengths.zip(nulls).map(|(length, valid)| if valid { length } else { 0 }).sum(),
            None => lengths.sum(),
        });
    }
    let part = cast(part, &DataType::LargeUtf8)?;
    let offsets = part.as_string::<i64>().value_offsets();
    Ok((offsets[part.len()] - offsets[0]) as u64)
}

/// The strings of a chunk one after another, `length` bytes, and where each begins if the first one begins at `start`.
fn flat(part: &ArrayRef, start: u64, length: usize) -> Result<(Vec<u8>, Vec<u64>)> {
    let mut places = Vec::with_capacity(part.len());
    if let Some(views) = part.as_any().downcast_ref::<StringViewArray>() {
        let mut bytes = Vec::with_capacity(length);
        for row in 0..views.len() {
            places.push(start + bytes.len() as u64);
            if views.is_valid(row) {
                bytes.extend_from_slice(views.value(row).as_bytes());
            }
        }
        return Ok((bytes, places));
    }
    let part = cast(part, &DataType::LargeUtf8)?;
    let part: &LargeStringArray = part.as_string();
    let offsets = part.value_offsets();
    places.extend(offsets[..part.len()].iter().map(|offset| start + (offset - offsets[0]) as u64));
    Ok((part.value_data()[offsets[0] as usize..offsets[part.len()] as usize].to_vec(), places))
}

impl StringBuffers {
    /// Uploads strings of any of Arrow's string types, with the chunks concatenated.
    pub fn upload(context: &Context, parts: &[ArrayRef]) -> Result<StringBuffers> {
        let pieces = chunked::pieces(parts);
        let lengths = chunked::each(&pieces, |chunk| bytes_of(chunk.array))?;
        let rows: u64 = pieces.iter().map(|part| part.len() as u64).sum();
        let (starts, all) = chunked::starts(lengths.iter().copied());
        let wide = all > u64::from(u32::MAX);
        let bytes = context.allocate(room(all))?;
        let offsets = context.allocate((rows + 1) * if wide { 8 } else { 4 })?;
        let stream = &context.stream;
        chunked::each(&pieces, |chunk| {
            let start = starts[chunk.index];
            let (text, places) = flat(chunk.array, start, lengths[chunk.index] as usize)?;
            bytes.write(start, &text, stream)?;
            match wide {
                true => offsets.write(chunk.row * 8, &places, stream)?,
                false => {
                    let places: Vec<u32> = places.iter().map(|place| *place as u32).collect();
                    offsets.write(chunk.row * 4, &places, stream)?;
                }
            }
            Ok(())
        })?;
        match wide {
            true => offsets.write(rows * 8, &[all], stream)?,
            false => offsets.write(rows * 4, &[all as u32], stream)?,
        }
        Ok(StringBuffers { bytes: Arc::new(bytes), offsets: Arc::new(offsets), wide })
    }

    /// The end offset of the first `rows` strings.
    pub(crate) fn end(&self, context: &Context, rows: u64) -> Result<u64> {
        let at = rows as usize..rows as usize + 1;
        Ok(match self.wide {
            true => self.offsets.read::<u64>(at, &context.stream)?[0],
            false => u64::from(self.offsets.read::<u32>(at, &context.stream)?[0]),
        })
    }

    fn host_offsets(&self, context: &Context, rows: usize) -> Result<Vec<i64>> {
        Ok(match self.wide {
            true => self.offsets.read::<i64>(0..rows + 1, &context.stream)?,
            false => {
                let short = self.offsets.read::<u32>(0..rows + 1, &context.stream)?;
                short.into_iter().map(i64::from).collect()
            }
        })
    }

    /// The first `rows` of them.
    pub fn download(&self, context: &Context, rows: usize, validity: Option<HostBuffer>) -> Result<ArrayRef> {
        let offsets = self.host_offsets(context, rows)?;
        let end = offsets.last().copied().unwrap_or_default() as usize;
        let bytes = self.bytes.read::<u8>(0..end, &context.stream)?;
        let nulls = validity.map(|bits| NullBuffer::new(BooleanBuffer::new(bits, 0, rows)));
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(LargeStringArray::try_new(offsets, HostBuffer::from_vec(bytes), nulls)?))
    }
}

impl DeviceColumn {
    /// Converts strings to bytes or to dictionary indices. Other columns are returned as they are. The result is cached
    /// as long as the column lives.
    pub fn to_representation(&self, context: &Context, as_bytes: bool) -> Result<DeviceColumn> {
        let wanted = match (self.kind, as_bytes) {
            (DeviceType::DictIndex, true) => DeviceType::String,
            (DeviceType::String, false) => DeviceType::DictIndex,
            _ => return Ok(self.clone()),
        };
        if let Some(other) = self.other.get() {
            return Ok(other.clone());
        }
        let mut other = DeviceColumn::plain(wanted, Arc::clone(&self.values), self.rows);
        other.validity.clone_from(&self.validity);
        // The same numbers.
        let as_numbers = if matches!(self.stored, DeviceType::Number(_)) { self.stored } else { wanted };
        match (wanted, &self.dictionary, &self.texts) {
            (DeviceType::String, Some(dictionary), _) => {
                other.texts = Some(dictionary.bytes(context)?);
                (other.stored, other.dictionary) = (as_numbers, Some(Arc::clone(dictionary)));
            }
            (DeviceType::DictIndex, Some(dictionary), _) => {
                (other.stored, other.dictionary) = (as_numbers, Some(Arc::clone(dictionary)));
            }
            (DeviceType::DictIndex, None, Some(texts)) => {
                let codes = self.numbers_of(context, texts)?;
                (other.values, other.stored) = (Arc::new(codes.values), codes.stored);
                other.dictionary = Some(Arc::new(codes.dictionary));
            }
            // Not a single string.
            _ => {
                let offsets = Arc::new(context.zeros(8 * (self.rows + 1))?);
                other.texts = Some(Arc::new(StringBuffers { bytes: Arc::clone(&self.values), offsets, wide: true }));
            }
        }
        // Other runs find it from here on.
        context.stream.synchronize()?;
        Ok(self.other.get_or_init(|| other).clone())
    }

    fn numbers_of(&self, context: &Context, texts: &StringBuffers) -> Result<EncodedStrings> {
        let host = texts.download(context, self.rows as usize, None)?;
        let of = dictionary::DeviceStrings { texts, validity: self.validity.as_deref(), rows: self.rows };
        let host: &LargeStringArray = host.as_string();
        dictionary::number(context, &of, |row| host.value(row as usize))
    }
}

impl DeviceTable {
    /// Converts strings to the representations that a graph reads.
    pub fn to_representation(&self, context: &Context, graph: &ExprGraph) -> Result<DeviceTable> {
        let mut columns = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            columns.push(column.to_representation(context, reads_bytes(graph, index))?);
        }
        Ok(DeviceTable { rows: self.rows, columns })
    }
}

/// Whether a graph reads an input's strings as bytes.
pub fn reads_bytes(graph: &ExprGraph, index: usize) -> bool {
    graph.nodes().iter().any(|node| node.op == Op::Input(index as u32) && node.kind == DeviceType::String)
}

/// Whether some results are strings as bytes, which are measured before they are written.
pub fn has_strings(graph: &ExprGraph, roots: &[NodeId]) -> bool {
    roots.iter().any(|root| graph.kind(*root) == DeviceType::String)
}

/// The rows whose strings are written. `numbers` has the type and the address of their row numbers in the source;
/// `None` if all rows of the source are written.
pub struct StringRows {
    pub numbers: Option<(&'static str, u64)>,
    pub count: u64,
}

/// A body over the same rows with a number for each.
pub fn with_row_number(graph: &ExprGraph, roots: &[NodeId]) -> (ExprGraph, Vec<NodeId>) {
    let mut graph = graph.clone();
    let row = graph.add(Op::RowNumber, &[], DeviceType::Number(Scalar::U64));
    let roots = roots.iter().copied().chain([row]).collect();
    (graph, roots)
}
