//! Columns in device memory, from Arrow arrays and back. A column is one piece, in Arrow's layout: values, and a bitmap where there are
//! nulls. Texts are numbers into a dictionary on the host, of 8, 16 or 32 bits, or bytes (`text.rs`); decimals of up to 18 digits are 64-bit numbers.

use std::sync::{Arc, OnceLock};

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, new_empty_array, new_null_array,
};
use arrow::buffer::{BooleanBuffer, Buffer as HostBuffer};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType, Decimal128Type, Schema};
use onrush_device::{Buffer, Pod};
use onrush_kernels::{Column, Context, Program, Scalar, dictionary as dictionary_of, gather, headers, reduce};

use crate::coded::Together;
use crate::codegen::output::Target;
use crate::codegen::{Access, Parameters, Source};
use crate::dictionary::{self, Dictionary};
use crate::graph::Kind;
use crate::lane::Lane;
use crate::launch::launch;
use crate::list;
use crate::numbered::{AsKey, Slots};
use crate::small;
use crate::text::Texts;
use crate::{Error, Result};

/// Digits of a decimal that fit into 64 bits.
const NARROW: u8 = 18;

/// What values of an Arrow type are on a device, texts as numbers; none if it has no place there.
pub fn kind_of(dtype: &DataType) -> Option<Kind> {
    Some(match dtype {
        DataType::Boolean => Kind::Bool,
        DataType::Int8 => Kind::Number(Scalar::I8),
        DataType::Int16 => Kind::Number(Scalar::I16),
        DataType::Int32 | DataType::Date32 | DataType::Time32(_) => Kind::Number(Scalar::I32),
        DataType::Int64
        | DataType::Date64
        | DataType::Time64(_)
        | DataType::Timestamp(_, _)
        | DataType::Duration(_) => Kind::Number(Scalar::I64),
        DataType::UInt8 => Kind::Number(Scalar::U8),
        DataType::UInt16 => Kind::Number(Scalar::U16),
        DataType::UInt32 => Kind::Number(Scalar::U32),
        DataType::UInt64 => Kind::Number(Scalar::U64),
        DataType::Float32 => Kind::Number(Scalar::F32),
        DataType::Float64 => Kind::Number(Scalar::F64),
        DataType::Decimal128(_, _) => Kind::Number(Scalar::I128),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Code,
        DataType::Dictionary(_, values) if kind_of(values) == Some(Kind::Code) => Kind::Code,
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => {
            kind_of(of.data_type()).map(|_| Kind::List)?
        }
        DataType::Struct(fields) if !fields.is_empty() => {
            let is_known = fields.iter().all(|field| kind_of(field.data_type()).is_some());
            is_known.then_some(Kind::List)?
        }
        _ => return None,
    })
}

/// A column in device memory. Immutable; clones share the memory.
#[derive(Clone)]
pub struct DeviceColumn {
    /// What its values are for kernels.
    pub kind: Kind,
    /// What they are stored as, where that is shorter.
    pub(crate) stored: Kind,
    pub(crate) values: Arc<Buffer>,
    pub(crate) validity: Option<Arc<Buffer>>,
    pub dictionary: Option<Arc<Dictionary>>,
    /// Of texts as bytes: where they are. With a dictionary it has these once, and `values` says which is a row's.
    pub(crate) texts: Option<Arc<Texts>>,
    pub rows: u64,
    pub(crate) range: Arc<OnceLock<Option<(i128, i128)>>>,
    pub(crate) encoded: Arc<OnceLock<Option<Arc<Encoded>>>>,
    /// Numbers of its values together with those of other columns.
    pub(crate) together: Arc<Together>,
    pub(crate) as_key: Arc<AsKey>,
    /// The same texts in the other form.
    pub(crate) other: Arc<OnceLock<DeviceColumn>>,
    /// Its rows lie by the part of a table that they belong to.
    pub(crate) parted: bool,
}

/// A column's values as numbers from 0 on, the same for equal values: what makes keys that lie anywhere as good as dense ones.
pub struct Encoded {
    /// 32 bits a row; 0 where there is no value.
    pub codes: Arc<Buffer>,
    /// The value of each number, as the column stores it.
    pub values: Buffer,
    pub entries: u64,
    pub(crate) slots: Slots,
}

impl Encoded {
    pub fn bytes(&self) -> u64 {
        self.codes.bytes() + self.values.bytes() + self.slots.get().map_or(0, Buffer::bytes)
    }

    /// Of integers, from the column's first row on.
    pub(crate) fn of(context: &Context, column: &Column, validity: Option<&Buffer>) -> Result<Encoded> {
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
        Ok(Encoded { codes: Arc::new(found.codes), values, entries, slots: Slots::default() })
    }
}

/// Columns of the same number of rows.
#[derive(Clone)]
pub struct DeviceTable {
    pub rows: u64,
    pub columns: Vec<DeviceColumn>,
}

impl DeviceColumn {
    /// Copies the parts of a column to the device, one behind the other; texts as their bytes if so wanted.
    pub fn upload(context: &Context, dtype: &DataType, parts: &[ArrayRef], as_bytes: bool) -> Result<DeviceColumn> {
        let kind = kind_of(dtype).ok_or_else(|| Error::Unsupported(format!("columns of {dtype}")))?;
        let rows: usize = parts.iter().map(|part| part.len()).sum();
        let kind = if kind == Kind::Code && as_bytes { Kind::Text } else { kind };
        let mut stored = kind;
        let mut found = None;
        let mut texts = None;
        let values = match (kind, dtype) {
            (Kind::Text, _) => {
                let uploaded = Texts::upload(context, parts)?;
                let values = Arc::clone(&uploaded.bytes);
                texts = Some(Arc::new(uploaded));
                values
            }
            _ => Arc::new(Self::upload_values(context, (kind, dtype), parts, &mut stored, &mut found)?),
        };
        let nulls = parts.iter().any(|part| part.null_count() > 0);
        let validity = match nulls {
            true => Some(Arc::new(upload_bits(
                context,
                rows,
                parts.iter().map(|part| match part.nulls() {
                    Some(nulls) => nulls.inner().clone(),
                    None => BooleanBuffer::new_set(part.len()),
                }),
            )?)),
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
    pub(crate) fn plain(kind: Kind, values: Arc<Buffer>, rows: u64) -> DeviceColumn {
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
            together: Arc::default(),
            as_key: Arc::default(),
            other: Arc::default(),
            parted: false,
        }
    }

    /// Numbers below `entries` without nulls, of values that somebody else has.
    pub(crate) fn codes(codes: Arc<Buffer>, rows: u64, entries: u64) -> DeviceColumn {
        let column = DeviceColumn::plain(Kind::Code, codes, rows);
        let _ = column.range.set(Some((0, i128::from(entries) - 1)));
        column
    }

    fn upload_values(
        context: &Context,
        (kind, dtype): (Kind, &DataType),
        parts: &[ArrayRef],
        stored: &mut Kind,
        found: &mut Option<Arc<Dictionary>>,
    ) -> Result<Buffer> {
        let rows: usize = parts.iter().map(|part| part.len()).sum();
        Ok(match (kind, dtype) {
            (Kind::List, _) => {
                let (pieces, _, elements) = list::encode(context, parts)?;
                *found = Some(Arc::new(Dictionary::of_pieces(elements)));
                context.upload(&pieces)?
            }
            (Kind::Code, _) => {
                let codes = dictionary::upload(context, parts)?;
                (*stored, *found) = (codes.stored, Some(Arc::new(codes.dictionary)));
                codes.values
            }
            (Kind::Bool, _) => upload_bits(context, rows, parts.iter().map(|part| part.as_boolean().values().clone()))?,
            (_, DataType::Decimal128(precision, _)) if *precision <= NARROW => {
                *stored = Kind::Number(Scalar::I64);
                let short: Vec<i64> = parts
                    .iter()
                    .flat_map(|part| part.as_primitive::<Decimal128Type>().values().iter().map(|v| *v as i64))
                    .collect();
                context.upload(&short)?
            }
            _ => {
                let width = stored.bytes();
                let buffer = context.allocate(rows as u64 * width)?;
                let mut at = 0;
                for part in parts {
                    let data = part.to_data();
                    let bytes = &data.buffers()[0].as_slice()[data.offset() * width as usize..];
                    let bytes = &bytes[..part.len() * width as usize];
                    buffer.write(at, bytes, &context.stream)?;
                    at += bytes.len() as u64;
                }
                buffer
            }
        })
    }

    /// From what a kernel wrote.
    pub fn written(
        context: &Context,
        kind: Kind,
        target: Target,
        rows: u64,
        dictionary: Option<Arc<Dictionary>>,
    ) -> Result<DeviceColumn> {
        let packed = |bits: Buffer| if target.packed { Ok(bits) } else { pack(context, &bits, rows) };
        let values = if kind == Kind::Bool { packed(target.values)? } else { target.values };
        let validity = target.valid.map(packed).transpose()?.map(Arc::new);
        Ok(DeviceColumn { validity, dictionary, ..DeviceColumn::plain(kind, Arc::new(values), rows) })
    }

    /// Device memory that it holds.
    pub fn bytes(&self) -> u64 {
        let codes = self.encoded.get().and_then(Option::as_ref).map_or(0, |e| e.bytes());
        let together = self.together.sum(|found| found.as_ref().map_or(0, |found| found.encoded.bytes()));
        let codes = codes + together + self.as_key.bytes();
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

    /// Lowest and highest value of integers, codes and booleans; looked for once.
    pub fn range(&self, context: &Context) -> Result<Option<(i128, i128)>> {
        if let Some(known) = self.range.get() {
            return Ok(*known);
        }
        let found = match (self.kind, self.stored) {
            (Kind::Bool, _) => Some((0, 1)),
            (Kind::Text | Kind::List, _) => None,
            (Kind::Code, _) => {
                let entries = self.dictionary.as_ref().map_or(0, |d| d.entries());
                Some((0, (entries as i128 - 1).max(0)))
            }
            (_, Kind::Number(scalar)) if !scalar.is_float() && self.rows > 0 => {
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

    /// What it is stored as, where that is shorter than its kind.
    pub fn stored(&self) -> Kind {
        self.stored
    }

    /// Whether it is a decimal of 128 bits that is stored in 64. What kernels do with its values depends on how far they go.
    pub fn is_narrow(&self) -> bool {
        matches!(self.kind, Kind::Number(_)) && self.kind != self.stored
    }

    /// What the numbers of texts are stored as.
    pub(crate) fn code(&self) -> Scalar {
        match self.stored {
            Kind::Number(scalar) => scalar,
            _ => Scalar::U32,
        }
    }

    /// Integers as numbers from 0 on; found once, and kept as long as the column. None for other types, for more than 2^30 different
    /// values, and where there is no memory for it now.
    pub fn encoded(&self, context: &Context) -> Result<Option<Arc<Encoded>>> {
        self.encoded_if(context, |_| true)
    }

    /// The same, kept only if that is wanted; what is not kept is not given either.
    pub(crate) fn encoded_if(
        &self,
        context: &Context,
        keep: impl Fn(&Encoded) -> bool,
    ) -> Result<Option<Arc<Encoded>>> {
        if let Some(known) = self.encoded.get() {
            return Ok(known.clone());
        }
        let found = match self.stored {
            // Numbers of texts are that already.
            _ if !matches!(self.kind, Kind::Number(_)) => None,
            Kind::Number(scalar) if !scalar.is_float() && scalar.bytes() <= 8 && self.rows > 0 => {
                match Encoded::of(context, &self.numbers(scalar), self.validity.as_deref()) {
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

    /// How a kernel reads it at `row`; `table` begins the names of its parameters.
    fn access(&self, table: &str, index: usize, range: Option<(i128, i128)>, parameters: &mut Parameters) -> Access {
        let name = format!("{table}c{index}");
        let stored = match (self.kind, &self.dictionary) {
            (Kind::Text, None) => "u8",
            (Kind::Text, Some(_)) => self.code().cuda(),
            _ => self.stored.stored(),
        };
        parameters.buffer(&format!("const {stored}* __restrict__"), &name, &self.values);
        let mut place = String::new();
        if let Some(texts) = self.texts.as_ref().filter(|_| self.kind == Kind::Text) {
            let offset = if texts.wide { "u64" } else { "u32" };
            parameters.buffer(&format!("const {offset}* __restrict__"), &format!("{table}of{index}"), &texts.offsets);
            place = format!("text_at({table}of{index}, {name}, row)");
            if self.dictionary.is_some() {
                parameters.buffer("const u8* __restrict__", &format!("{table}by{index}"), &texts.bytes);
                place = format!("text_at({table}of{index}, {table}by{index}, {name}[row])");
            }
        }
        let valid = self.validity.as_ref().map(|validity| {
            parameters.buffer("const u32* __restrict__", &format!("{table}v{index}"), validity);
            format!("is_valid({table}v{index}, row)")
        });
        let value = match (self.kind, self.stored) {
            (Kind::Bool, _) => format!("is_valid({name}, row)"),
            (Kind::Text, _) => place,
            (kind, stored) if kind != stored => format!("({}){name}[row]", kind.cuda()),
            _ => format!("{name}[row]"),
        };
        let of = format!("{table}el{index}");
        let all = self.dictionary.as_ref().map_or(&[][..], |dictionary| &dictionary.elements);
        let elements = all.iter().enumerate().map(|(place, one)| one.access(&of, place, None, parameters)).collect();
        Access { kind: self.kind, value, valid, range, elements }
    }

    /// Copies the first `rows` rows to the host.
    pub fn download(&self, context: &Context, dtype: &DataType, rows: u64) -> Result<ArrayRef> {
        let rows = rows.min(self.rows) as usize;
        if self.is_apart() && rows > 0 {
            let words =
                |bits: &Arc<Buffer>| bits.read::<u8>(0..bitmap(rows), &context.stream).map(HostBuffer::from_vec);
            let validity = self.validity.as_ref().map(words).transpose()?;
            if self.kind == Kind::List {
                return self.download_pieces(context, dtype, rows, validity);
            }
            let texts = self.texts.as_ref().map(|texts| texts.download(context, rows, validity)).transpose()?;
            return match texts {
                Some(texts) => Ok(cast(&texts, dtype)?),
                None => Ok(new_null_array(dtype, rows)),
            };
        }
        let read = |(buffer, bytes): (&Buffer, usize)| -> Result<HostBuffer> {
            // Of the alignment that Arrow asks for.
            Ok(match self.stored.bytes() {
                16 if bytes % 16 == 0 => HostBuffer::from_vec(buffer.read::<i128>(0..bytes / 16, &context.stream)?),
                _ if bytes % 8 == 0 => HostBuffer::from_vec(buffer.read::<u64>(0..bytes / 8, &context.stream)?),
                _ if bytes % 4 == 0 => HostBuffer::from_vec(buffer.read::<u32>(0..bytes / 4, &context.stream)?),
                _ if bytes % 2 == 0 => HostBuffer::from_vec(buffer.read::<u16>(0..bytes / 2, &context.stream)?),
                _ => HostBuffer::from_vec(buffer.read::<u8>(0..bytes, &context.stream)?),
            })
        };
        let pieces = self.pieces(rows).into_iter().map(read).collect::<Result<Vec<_>>>()?;
        self.from_pieces(dtype, rows, pieces)
    }

    /// Whether it is not values and a bitmap: texts that are there as bytes alone, and pieces of other columns.
    fn is_apart(&self) -> bool {
        self.kind == Kind::List || (self.kind == Kind::Text && self.dictionary.is_none())
    }

    /// What is read of the first rows: bytes of the values, and then of the bitmap, if there is one.
    fn pieces(&self, rows: usize) -> Vec<(&Buffer, usize)> {
        let values = match (self.kind, &self.dictionary) {
            (Kind::Code | Kind::Text, None) => 0,
            (Kind::Code | Kind::Text, Some(_)) => rows * self.code().bytes() as usize,
            (Kind::Bool, _) => bitmap(rows),
            _ => rows * self.stored.bytes() as usize,
        };
        let validity = self.validity.as_ref().map(|bits| (&**bits, bitmap(rows)));
        std::iter::once((&*self.values, values)).chain(validity).collect()
    }

    /// The first rows, of what [`DeviceColumn::pieces`] asks for.
    fn from_pieces(&self, dtype: &DataType, rows: usize, pieces: Vec<HostBuffer>) -> Result<ArrayRef> {
        if rows == 0 {
            return Ok(new_empty_array(dtype));
        }
        let mut pieces = pieces.into_iter();
        let Some(values) = pieces.next() else { return Ok(new_null_array(dtype, rows)) };
        let validity = pieces.next();
        if matches!(self.kind, Kind::Code | Kind::Text) {
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
        if self.kind == Kind::Bool {
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
const TOGETHER: u64 = 1 << 10;

impl DeviceTable {
    /// Copies all rows to the host, an array for each column.
    pub fn download(&self, lane: &Lane, schema: &Schema) -> Result<Vec<ArrayRef>> {
        let columns = || self.columns.iter().zip(schema.fields());
        if self.rows > TOGETHER {
            return columns()
                .map(|(column, field)| column.download(&lane.context, field.data_type(), self.rows))
                .collect();
        }
        let rows = |column: &DeviceColumn| self.rows.min(column.rows) as usize;
        let few = self.columns.iter().filter(|column| !column.is_apart());
        let pieces: Vec<_> = few.flat_map(|column| column.pieces(rows(column))).collect();
        let mut read = small::read(lane, &pieces)?.into_iter();
        let arrays = columns().map(|(column, field)| match column.is_apart() {
            true => column.download(&lane.context, field.data_type(), self.rows),
            false => {
                let pieces = read.by_ref().take(column.pieces(0).len()).collect();
                column.from_pieces(field.data_type(), rows(column), pieces)
            }
        });
        arrays.collect()
    }

    /// As what a kernel loops over. Ranges are found for the columns for which `ranged` says so.
    pub fn source(&self, context: &Context, ranged: &dyn Fn(usize) -> bool) -> Result<Source> {
        let (inputs, parameters) = self.inputs(context, "", ranged)?;
        let identity = self.columns.first().map_or(0, |c| c.values.address()) ^ self.rows;
        let parted = self.columns.iter().any(|column| column.parted);
        Ok(Source { rows: self.rows, parameters, inputs, fetched: Vec::new(), present: None, identity, parted })
    }

    /// How a kernel reads its columns; `table` begins the names of the parameters.
    pub fn inputs(
        &self,
        context: &Context,
        table: &str,
        ranged: &dyn Fn(usize) -> bool,
    ) -> Result<(Vec<Access>, Parameters)> {
        let mut parameters = Parameters::new();
        let mut inputs = Vec::new();
        for (index, column) in self.columns.iter().enumerate() {
            let range = if ranged(index) { column.range(context)? } else { None };
            inputs.push(column.access(table, index, range, &mut parameters));
        }
        Ok((inputs, parameters))
    }

    pub fn bytes(&self) -> u64 {
        self.columns.iter().map(DeviceColumn::bytes).sum()
    }
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
        Kind::Bool => {
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
