//! Columns in device memory, uploaded from Arrow arrays and downloaded again. A column is one contiguous piece in
//! Arrow's layout: values, and a validity bitmap if there are nulls. Strings are dictionary indices of 8, 16 or 32
//! bits, or bytes with offsets (`column/string.rs`). Decimals of up to 18 digits are stored in 64 bits.

mod chunked;
mod concat;
pub mod derived;
pub mod dictionary;
mod few_strings;
pub mod list;
mod one_nan;
pub mod output_column;
pub mod readback;
pub mod residency;
pub mod string;
pub mod weak_cache;

use std::sync::{Arc, OnceLock};

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, new_empty_array, new_null_array,
};
use arrow::buffer::{BooleanBuffer, Buffer as HostBuffer};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType, Decimal128Type, Schema};
use onrush_device::phases::{self, Phase};
use onrush_device::{Buffer, Pod};
use onrush_kernels::{Column, Context, Program, Scalar, dictionary as dictionary_of, gather, headers, reduce};

use crate::column::derived::{CompositeKeyCache, JoinKeyStats, Slots};
use crate::column::dictionary::Dictionary;
use crate::column::output_column::OutputColumn;
use crate::column::string::StringBuffers;
use crate::ir::expr::DeviceType;
use crate::launch::launch;
use crate::launch::stream_context::StreamContext;
use crate::{Error, Result};

#[doc(hidden)]
pub use chunked::{Chunk, LARGE, PIECE, each, pieces};
#[doc(hidden)]
pub use few_strings::local;

/// Digits of a decimal that fit into 64 bits.
const DECIMAL64_DIGITS: u8 = 18;

/// The device type of an Arrow type; strings are dictionary indices. `None` if a device column cannot have the type.
pub fn kind_of(dtype: &DataType) -> Option<DeviceType> {
    Some(match dtype {
        DataType::Boolean => DeviceType::Bool,
        DataType::Int8 => DeviceType::Number(Scalar::I8),
        DataType::Int16 => DeviceType::Number(Scalar::I16),
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) => DeviceType::Number(Scalar::I32),
        DataType::Int64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(_, _)
        | DataType::Duration(_) => DeviceType::Number(Scalar::I64),
        DataType::UInt8 => DeviceType::Number(Scalar::U8),
        DataType::UInt16 => DeviceType::Number(Scalar::U16),
        DataType::UInt32 => DeviceType::Number(Scalar::U32),
        DataType::UInt64 => DeviceType::Number(Scalar::U64),
        DataType::Float32 => DeviceType::Number(Scalar::F32),
        DataType::Float64 => DeviceType::Number(Scalar::F64),
        DataType::Decimal128(_, _) => DeviceType::Number(Scalar::I128),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DeviceType::DictIndex,
        DataType::Dictionary(_, values) if kind_of(values) == Some(DeviceType::DictIndex) => DeviceType::DictIndex,
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => {
            kind_of(of.data_type()).map(|_| DeviceType::ListView)?
        }
        DataType::Struct(fields) if !fields.is_empty() => {
            let is_known = fields.iter().all(|field| kind_of(field.data_type()).is_some());
            is_known.then_some(DeviceType::ListView)?
        }
        _ => return None,
    })
}

/// A column in device memory. Immutable; clones share the memory.
#[derive(Clone)]
pub struct DeviceColumn {
    /// The type of its values in kernels.
    pub kind: DeviceType,
    /// The type in which they are stored, if that is shorter.
    pub(crate) stored: DeviceType,
    pub(crate) values: Arc<Buffer>,
    pub(crate) validity: Option<Arc<Buffer>>,
    pub dictionary: Option<Arc<Dictionary>>,
    /// The bytes and offsets of strings that are stored as bytes. With a dictionary these are the dictionary's, and
    /// `values` has the dictionary index of each row.
    pub(crate) texts: Option<Arc<StringBuffers>>,
    pub rows: u64,
    pub(crate) range: Arc<OnceLock<Option<(i128, i128)>>>,
    pub(crate) encoded: Arc<OnceLock<Option<Arc<DictionaryEncoding>>>>,
    /// Dictionary encodings of composite keys of this and other columns.
    pub(crate) composite_keys: Arc<CompositeKeyCache>,
    pub(crate) join_key_stats: Arc<JoinKeyStats>,
    /// The same strings in the other representation, after first use.
    pub(crate) other: Arc<OnceLock<DeviceColumn>>,
    /// Whether its rows are ordered by the partition of a table that they belong to.
    pub(crate) is_partitioned: bool,
}

/// A column's values as numbers from 0 on, the same for equal values: what makes keys that lie anywhere as good as
/// dense ones.
pub struct DictionaryEncoding {
    /// 32 bits a row; 0 where there is no value.
    pub codes: Arc<Buffer>,
    /// The value of each number, as the column stores it.
    pub values: Buffer,
    pub entries: u64,
    pub(crate) slots: Slots,
}

impl DictionaryEncoding {
    pub fn bytes(&self) -> u64 {
        self.codes.bytes() + self.values.bytes() + self.slots.get().map_or(0, Buffer::bytes)
    }

    /// The dictionary encoding of a column of integers, from the column's first row on.
    pub(crate) fn of(context: &Context, column: &Column, validity: Option<&Buffer>) -> Result<DictionaryEncoding> {
        const ESTIMATE: u64 = 1 << 18;
        let scalar = column.scalar;
        let values = dictionary_of::Values::Fixed { scalar, values: column.values };
        let found = dictionary_of::encode(context, values, validity, column.rows, ESTIMATE)?;
        // One at least, so that a column of nulls has a number too.
        let entries = found.count.max(1);
        // And one behind the last, which a group without a key reads.
        let values = context.zeros((entries + 1) * scalar.bytes())?;
        if found.count > 0 {
            let rows = Column::new(Scalar::U64, &found.first_rows).slice(0, found.count);
            gather::gather(context, column, &rows, &values, None)?;
        }
        context.stream.synchronize()?;
        Ok(DictionaryEncoding { codes: Arc::new(found.codes), values, entries, slots: Slots::default() })
    }
}

/// Columns of the same number of rows.
#[derive(Clone)]
pub struct DeviceTable {
    pub rows: u64,
    pub columns: Vec<DeviceColumn>,
}

impl DeviceColumn {
    /// Uploads the chunks of a column, concatenated. Strings are stored as bytes if `as_bytes` is set, else they are
    /// dictionary-encoded.
    pub fn upload(context: &Context, dtype: &DataType, parts: &[ArrayRef], as_bytes: bool) -> Result<DeviceColumn> {
        let kind = kind_of(dtype).ok_or_else(|| Error::Unsupported(format!("columns of {dtype}")))?;
        let rows: usize = parts.iter().map(|part| part.len()).sum();
        let kind = if kind == DeviceType::DictIndex && as_bytes { DeviceType::String } else { kind };
        let mut stored = kind;
        let mut found = None;
        let mut texts = None;
        let values = match (kind, dtype) {
            (DeviceType::String, _) => {
                let uploaded = StringBuffers::upload(context, parts)?;
                let values = Arc::clone(&uploaded.bytes);
                texts = Some(Arc::new(uploaded));
                values
            }
            _ => Arc::new(Self::upload_values(context, (kind, dtype), parts, &mut stored, &mut found)?),
        };
        let nulls = parts.iter().any(|part| part.null_count() > 0);
        let validity = match nulls {
            true => Some(Arc::new(upload_validity(context, rows, parts)?)),
            false => None,
        };
        Ok(DeviceColumn {
            stored,
            validity,
            dictionary: found,
            texts,
            ..DeviceColumn::plain(kind, values, rows as u64)
        })
    }

    /// Without nulls.
    pub(crate) fn plain(kind: DeviceType, values: Arc<Buffer>, rows: u64) -> DeviceColumn {
        DeviceColumn {
            kind,
            stored: kind,
            values,
            validity: None,
            dictionary: None,
            texts: None,
            rows,
            range: Arc::default(),
            encoded: Arc::default(),
            composite_keys: Arc::default(),
            join_key_stats: Arc::default(),
            other: Arc::default(),
            is_partitioned: false,
        }
    }

    /// Numbers below `entries` without nulls, of values that somebody else has.
    pub(crate) fn codes(codes: Arc<Buffer>, rows: u64, entries: u64) -> DeviceColumn {
        let column = DeviceColumn::plain(DeviceType::DictIndex, codes, rows);
        let _ = column.range.set(Some((0, i128::from(entries) - 1)));
        column
    }

    fn upload_values(
        context: &Context,
        (kind, dtype): (DeviceType, &DataType),
        parts: &[ArrayRef],
        stored: &mut DeviceType,
        found: &mut Option<Arc<Dictionary>>,
    ) -> Result<Buffer> {
        let rows: usize = parts.iter().map(|part| part.len()).sum();
        Ok(match (kind, dtype) {
            (DeviceType::ListView, _) => {
                let (pieces, _, elements) = list::encode(context, parts)?;
                *found = Some(Arc::new(Dictionary::of_pieces(elements)));
                context.upload(&pieces)?
            }
            (DeviceType::DictIndex, _) => {
                let codes = dictionary::upload(context, parts)?;
                (*stored, *found) = (codes.stored, Some(Arc::new(codes.dictionary)));
                codes.values
            }
            (DeviceType::Bool, _) => {
                upload_bits(context, rows, parts.iter().map(|part| part.as_boolean().values().clone()))?
            }
            (_, DataType::Decimal128(precision, _)) if *precision <= DECIMAL64_DIGITS => {
                *stored = DeviceType::Number(Scalar::I64);
                let buffer = context.allocate(rows as u64 * 8)?;
                chunked::each(&chunked::pieces(parts), |chunk| {
                    let values = chunk.array.as_primitive::<Decimal128Type>().values();
                    let short: Vec<i64> = values.iter().map(|value| *value as i64).collect();
                    Ok(buffer.write(chunk.row * 8, &short, &context.stream)?)
                })?;
                buffer
            }
            _ => {
                let width = stored.bytes();
                let buffer = context.allocate(rows as u64 * width)?;
                chunked::each(parts, |chunk| {
                    let data = chunk.array.to_data();
                    let bytes = &data.buffers()[0].as_slice()[data.offset() * width as usize..];
                    let bytes = &bytes[..chunk.array.len() * width as usize];
                    Ok(buffer.write(chunk.row * width, bytes, &context.stream)?)
                })?;
                buffer
            }
        })
    }

    /// Numbers without nulls that other kernels have written, 64 bits each. They must be complete.
    pub fn of_numbers(scalar: Scalar, values: Buffer, rows: u64) -> DeviceColumn {
        DeviceColumn::plain(DeviceType::Number(scalar), Arc::new(values), rows)
    }

    /// From what a kernel wrote.
    pub fn written(
        context: &Context,
        kind: DeviceType,
        target: OutputColumn,
        rows: u64,
        dictionary: Option<Arc<Dictionary>>,
    ) -> Result<DeviceColumn> {
        let packed = |bits: Buffer| if target.packed { Ok(bits) } else { pack(context, &bits, rows) };
        let values = if kind == DeviceType::Bool { packed(target.values)? } else { target.values };
        let validity = target.valid.map(packed).transpose()?.map(Arc::new);
        Ok(DeviceColumn { validity, dictionary, ..DeviceColumn::plain(kind, Arc::new(values), rows) })
    }

    /// Device memory that it holds.
    pub fn bytes(&self) -> u64 {
        let codes = self.encoded.get().and_then(Option::as_ref).map_or(0, |e| e.bytes());
        let composite_keys = self.composite_keys.sum(|found| found.as_ref().map_or(0, |found| found.encoded.bytes()));
        let codes = codes + composite_keys + self.join_key_stats.bytes();
        let texts = match &self.texts {
            Some(texts) if self.dictionary.is_none() => texts.offsets.bytes(),
            _ => 0,
        };
        let other = match self.other.get() {
            Some(other) if !Arc::ptr_eq(&other.values, &self.values) => other.values.bytes(),
            _ => 0,
        };
        let other = other + self.dictionary.as_ref().map_or(0, |dictionary| dictionary.resident());
        self.values.bytes() + self.validity.as_ref().map_or(0, |validity| validity.bytes()) + codes + texts + other
    }

    pub fn has_nulls(&self) -> bool {
        self.validity.is_some()
    }

    /// The lowest and the highest value of integers, dictionary indices and booleans. Computed once.
    pub fn range(&self, context: &Context) -> Result<Option<(i128, i128)>> {
        if let Some(known) = self.range.get() {
            return Ok(*known);
        }
        let _time = phases::scope(Phase::Statistics);
        let found = match (self.kind, self.stored) {
            (DeviceType::Bool, _) => Some((0, 1)),
            (DeviceType::String | DeviceType::ListView, _) => None,
            (DeviceType::DictIndex, _) => {
                let entries = self.dictionary.as_ref().map_or(0, |d| d.entries());
                Some((0, (entries as i128 - 1).max(0)))
            }
            (_, DeviceType::Number(scalar)) if !scalar.is_float() && self.rows > 0 => {
                let mut column = Column::new(scalar, &self.values).slice(0, self.rows);
                if let Some(validity) = &self.validity {
                    column = column.with_validity(validity);
                }
                let totals = reduce::reduce(context, &column, reduce::LOW | reduce::HIGH)?;
                match (totals.count, totals.low, totals.high) {
                    (0, ..) => Some((0, 0)),
                    (_, reduce::Number::Integer(low), reduce::Number::Integer(high)) => Some((low, high)),
                    _ => None,
                }
            }
            _ => None,
        };
        Ok(*self.range.get_or_init(|| found))
    }

    /// As what algorithms read. It must be stored as `scalar`.
    pub fn numbers(&self, scalar: Scalar) -> Column<'_> {
        Column::new(scalar, &self.values).slice(0, self.rows)
    }

    /// The type in which it is stored, if that is shorter than its kind.
    pub fn stored(&self) -> DeviceType {
        self.stored
    }

    /// Whether it is a decimal of 128 bits that is stored in 64. Kernels choose their arithmetic by the range of its
    /// values.
    pub fn is_decimal64(&self) -> bool {
        matches!(self.kind, DeviceType::Number(_)) && self.kind != self.stored
    }

    /// The type that dictionary indices are stored as.
    pub(crate) fn code(&self) -> Scalar {
        match self.stored {
            DeviceType::Number(scalar) => scalar,
            _ => Scalar::U32,
        }
    }

    /// The dictionary encoding of integers, computed once and cached as long as the column lives. `None` for other
    /// types, for more than 2^30 distinct values, and if there is no memory for it now.
    pub fn encoded(&self, context: &Context) -> Result<Option<Arc<DictionaryEncoding>>> {
        self.encoded_if(context, |_| true)
    }

    /// The same, kept only if that is wanted; what is not kept is not given either.
    pub(crate) fn encoded_if(
        &self,
        context: &Context,
        keep: impl Fn(&DictionaryEncoding) -> bool,
    ) -> Result<Option<Arc<DictionaryEncoding>>> {
        if let Some(known) = self.encoded.get() {
            return Ok(known.clone());
        }
        let found = match self.stored {
            // Dictionary indices are encoded already.
            _ if !matches!(self.kind, DeviceType::Number(_)) => None,
            DeviceType::Number(scalar) if !scalar.is_float() && scalar.bytes() <= 8 && self.rows > 0 => {
                match DictionaryEncoding::of(context, &self.numbers(scalar), self.validity.as_deref()) {
                    Err(Error::Kernels(onrush_kernels::Error::TooManyGroups { .. })) => None,
                    Err(error) if error.is_memory() => return Ok(None),
                    other => Some(Arc::new(other?)),
                }
            }
            _ => None,
        };
        if found.as_ref().is_some_and(|found| !keep(found)) {
            return Ok(None);
        }
        Ok(self.encoded.get_or_init(|| found).clone())
    }

    /// Copies the first `rows` rows to the host.
    pub fn download(&self, context: &Context, dtype: &DataType, rows: u64) -> Result<ArrayRef> {
        let rows = rows.min(self.rows) as usize;
        if self.is_apart() && rows > 0 {
            let words =
                |bits: &Arc<Buffer>| bits.read::<u8>(0..bitmap(rows), &context.stream).map(HostBuffer::from_vec);
            let validity = self.validity.as_ref().map(words).transpose()?;
            if self.kind == DeviceType::ListView {
                return self.download_pieces(context, dtype, rows, validity);
            }
            let texts = self.texts.as_ref().map(|texts| texts.download(context, rows, validity)).transpose()?;
            return match texts {
                Some(texts) => Ok(cast(&texts, dtype)?),
                None => Ok(new_null_array(dtype, rows)),
            };
        }
        let read = |(buffer, bytes): (&Buffer, usize)| -> Result<HostBuffer> {
            // Aligned as Arrow requires.
            Ok(match self.stored.bytes() {
                16 if bytes % 16 == 0 => HostBuffer::from_vec(buffer.read::<i128>(0..bytes / 16, &context.stream)?),
                _ if bytes % 8 == 0 => HostBuffer::from_vec(buffer.read::<u64>(0..bytes / 8, &context.stream)?),
                _ if bytes % 4 == 0 => HostBuffer::from_vec(buffer.read::<u32>(0..bytes / 4, &context.stream)?),
                _ if bytes % 2 == 0 => HostBuffer::from_vec(buffer.read::<u16>(0..bytes / 2, &context.stream)?),
                _ => HostBuffer::from_vec(buffer.read::<u8>(0..bytes, &context.stream)?),
            })
        };
        let pieces = self.pieces(rows).into_iter().map(read).collect::<Result<Vec<_>>>()?;
        self.assemble(dtype, rows, pieces)
    }

    /// Whether the column is more than values and a bitmap. Strings that are stored as bytes alone are, and so are
    /// lists and structs, which refer to other columns.
    fn is_apart(&self) -> bool {
        self.kind == DeviceType::ListView || (self.kind == DeviceType::String && self.dictionary.is_none())
    }

    /// The bytes that are read of the first rows: those of the values, then those of the bitmap, if there is one.
    fn pieces(&self, rows: usize) -> Vec<(&Buffer, usize)> {
        let values = match (self.kind, &self.dictionary) {
            (DeviceType::DictIndex | DeviceType::String, None) => 0,
            (DeviceType::DictIndex | DeviceType::String, Some(_)) => rows * self.code().bytes() as usize,
            (DeviceType::Bool, _) => bitmap(rows),
            _ => rows * self.stored.bytes() as usize,
        };
        let validity = self.validity.as_ref().map(|bits| (&**bits, bitmap(rows)));
        std::iter::once((&*self.values, values)).chain(validity).collect()
    }

    /// The first rows, of what [`DeviceColumn::pieces`] asks for.
    fn assemble(&self, dtype: &DataType, rows: usize, pieces: Vec<HostBuffer>) -> Result<ArrayRef> {
        if rows == 0 {
            return Ok(new_empty_array(dtype));
        }
        let mut pieces = pieces.into_iter();
        let Some(values) = pieces.next() else { return Ok(new_null_array(dtype, rows)) };
        let validity = pieces.next();
        if matches!(self.kind, DeviceType::DictIndex | DeviceType::String) {
            let dictionary = self.dictionary.as_ref().filter(|dictionary| !dictionary.values.is_empty());
            let Some(dictionary) = dictionary else { return Ok(new_null_array(dtype, rows)) };
            let code = match self.code() {
                Scalar::U8 => DataType::UInt8,
                Scalar::U16 => DataType::UInt16,
                _ => DataType::UInt32,
            };
            let data = ArrayData::builder(code).len(rows).add_buffer(values).null_bit_buffer(validity);
            let texts = take(&dictionary.values, &arrow::array::make_array(data.build()?), None)?;
            return Ok(cast(&texts, dtype)?);
        }
        if self.kind == DeviceType::Bool {
            let bits = BooleanBuffer::new(values, 0, rows);
            let nulls = validity.map(|v| arrow::buffer::NullBuffer::new(BooleanBuffer::new(v, 0, rows)));
            return Ok(Arc::new(BooleanArray::new(bits, nulls)));
        }
        let values = match self.kind == self.stored {
            true => values,
            false => {
                HostBuffer::from_vec(values.typed_data::<i64>().iter().map(|v| i128::from(*v)).collect::<Vec<_>>())
            }
        };
        let data = ArrayData::builder(dtype.clone()).len(rows).add_buffer(values).null_bit_buffer(validity);
        Ok(arrow::array::make_array(data.build()?))
    }
}

/// Bytes of a bit a row, in whole words.
fn bitmap(rows: usize) -> usize {
    rows.div_ceil(32) * 4
}

/// Rows of a table up to which its columns come to the host together.
const GATHERED_ROWS: u64 = 1 << 10;

impl DeviceTable {
    /// Copies all rows to the host, an array for each column.
    pub fn download(&self, lane: &StreamContext, schema: &Schema) -> Result<Vec<ArrayRef>> {
        let columns = || self.columns.iter().zip(schema.fields());
        if self.rows > GATHERED_ROWS {
            return columns()
                .map(|(column, field)| column.download(&lane.context, field.data_type(), self.rows))
                .collect();
        }
        let rows = |column: &DeviceColumn| self.rows.min(column.rows) as usize;
        let few = self.columns.iter().filter(|column| !column.is_apart());
        let pieces: Vec<_> = few.flat_map(|column| column.pieces(rows(column))).collect();
        let mut read = readback::gather_to_host(lane, &pieces)?.into_iter();
        let arrays = columns().map(|(column, field)| match column.is_apart() {
            true => column.download(&lane.context, field.data_type(), self.rows),
            false => {
                let pieces = read.by_ref().take(column.pieces(0).len()).collect();
                column.assemble(field.data_type(), rows(column), pieces)
            }
        });
        arrays.collect()
    }

    pub fn bytes(&self) -> u64 {
        self.columns.iter().map(DeviceColumn::bytes).sum()
    }
}

/// The validity bitmap of some chunks.
pub(crate) fn upload_validity(context: &Context, rows: usize, parts: &[ArrayRef]) -> Result<Buffer> {
    let valid = |part: &ArrayRef| match part.nulls() {
        Some(nulls) => nulls.inner().clone(),
        None => BooleanBuffer::new_set(part.len()),
    };
    upload_bits(context, rows, parts.iter().map(valid))
}

pub(crate) fn upload_bits(
    context: &Context,
    rows: usize,
    parts: impl Iterator<Item = BooleanBuffer>,
) -> Result<Buffer> {
    let mut bits = BooleanBufferBuilder::new(rows.next_multiple_of(32));
    parts.for_each(|part| bits.append_buffer(&part));
    bits.append_n(rows.next_multiple_of(32) - rows, false);
    Ok(context.upload(bits.as_slice())?)
}

/// A byte a row to a bit a row.
fn pack(context: &Context, bytes: &Buffer, rows: u64) -> Result<Buffer> {
    let body = "extern \"C\" __global__ void __launch_bounds__(256) pack_rows(const u8* bytes, u64 rows, u32* bits) {\n  \
                pack_bytes(bytes, rows, bits);\n}\n";
    let program = Program::new(&[&headers::PIPELINE], body.to_string(), ["pack_rows"]);
    let bits = context.allocate(rows.div_ceil(32) * 4)?;
    let arguments = onrush_device::Arguments::new().buffer(bytes).value(rows).buffer(&bits);
    launch(context, &context.library.function(&program, "pack_rows")?, arguments, rows.next_multiple_of(32), 256, 0)?;
    Ok(bits)
}

/// All values of a host array of a number type, for tables that are looked up.
pub fn upload_array(context: &Context, array: &ArrayRef) -> Result<(Buffer, Option<Buffer>)> {
    fn upload<T: Pod>(context: &Context, values: &[T]) -> Result<Buffer> {
        Ok(context.upload(values)?)
    }
    let kind =
        kind_of(array.data_type()).ok_or_else(|| Error::Unsupported(format!("tables of {}", array.data_type())))?;
    let values = match kind {
        DeviceType::Bool => {
            let bytes: Vec<u8> = array.as_boolean().values().iter().map(u8::from).collect();
            upload(context, &bytes)?
        }
        kind => {
            let array = concat(&[array.as_ref()])?;
            let data = array.to_data();
            let width = kind.bytes() as usize;
            let start = data.offset() * width;
            upload(context, &data.buffers()[0].as_slice()[start..start + array.len() * width])?
        }
    };
    let valid = match array.null_count() {
        0 => None,
        _ => {
            let bytes: Vec<u8> = (0..array.len()).map(|row| u8::from(array.is_valid(row))).collect();
            Some(upload(context, &bytes)?)
        }
    };
    Ok((values, valid))
}
