//! Dictionary encoding of strings: the distinct values are sorted on the host, indices are in device memory. Indices
//! compare as their strings do. Uploaded columns use the narrowest index type (`DeviceColumn::stored`); kernels write
//! 32 bits.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray, StringViewBuilder, new_empty_array, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use onrush_device::Buffer;
use onrush_device::phases::{self, Phase};
use onrush_kernels::{Context, Program, Scalar, dictionary, headers};
use rayon::prelude::*;

use crate::column::string::StringBuffers;
use crate::column::{DeviceColumn, chunked, few_strings};
use crate::ir::expr::DeviceType;
use crate::launch::launch;
use crate::{Error, Result};

/// The values that a column's dictionary indices stand for. They are distinct strings in ascending order of their
/// bytes, or the columns that lists and structs refer to.
pub struct Dictionary {
    /// The strings, of type `Utf8View` without nulls.
    pub values: ArrayRef,
    bytes: OnceLock<Arc<StringBuffers>>,
    /// The elements of lists, or the fields of structs, whose strings are dictionary-encoded. `values` is empty then.
    pub elements: Vec<DeviceColumn>,
}

impl Dictionary {
    pub fn new(values: ArrayRef) -> Dictionary {
        Dictionary { values, bytes: OnceLock::new(), elements: Vec::new() }
    }

    pub fn of_pieces(elements: Vec<DeviceColumn>) -> Dictionary {
        Dictionary { elements, ..Dictionary::new(new_empty_array(&DataType::Utf8View)) }
    }

    pub fn entries(&self) -> usize {
        self.values.len()
    }

    /// Bytes of device memory.
    pub fn resident(&self) -> u64 {
        let texts = self.bytes.get().map_or(0, |texts| texts.bytes.bytes() + texts.offsets.bytes());
        texts + self.elements.iter().map(DeviceColumn::bytes).sum::<u64>()
    }

    /// The strings on the device, uploaded once. Two empty strings follow the last one, for the indices of nulls if the
    /// dictionary is empty.
    pub fn bytes(&self, context: &Context) -> Result<Arc<StringBuffers>> {
        if let Some(known) = self.bytes.get() {
            return Ok(Arc::clone(known));
        }
        let null = new_null_array(self.values.data_type(), 2);
        let texts = Arc::new(StringBuffers::upload(context, &[Arc::clone(&self.values), null])?);
        // Other runs find them from here on.
        context.stream.synchronize()?;
        Ok(Arc::clone(self.bytes.get_or_init(|| texts)))
    }
}

/// Rows from which on the device finds the distinct strings.
const DEVICE_ROWS: usize = 1 << 15;
/// The same on the emulated device, so that tests take both ways.
const DEVICE_ROWS_EMULATED: usize = 64;

/// Rows from which on numbers are stored in as few bits as they need: of fewer there is little to read.
const NARROW_ROWS: u64 = 1 << 15;
/// The same on the emulated device, so that tests take both ways.
const NARROW_ROWS_EMULATED: u64 = 16;

/// Dictionary indices in device memory, and their dictionary. The index of a null is arbitrary.
pub struct EncodedStrings {
    pub values: Buffer,
    /// Their type in memory: [`DeviceType::DictIndex`], or numbers of 8 or 16 bits.
    pub stored: DeviceType,
    pub dictionary: Dictionary,
}

/// The type that the indices of a dictionary of so many entries are stored as.
pub(crate) fn stored(context: &Context, rows: u64, entries: usize) -> DeviceType {
    let narrow = if context.device().is_emulated() { NARROW_ROWS_EMULATED } else { NARROW_ROWS };
    match entries {
        _ if rows < narrow => DeviceType::DictIndex,
        0..=0x100 => DeviceType::Number(Scalar::U8),
        0x101..=0x1_0000 => DeviceType::Number(Scalar::U16),
        _ => DeviceType::DictIndex,
    }
}

/// Dictionary-encodes the strings of a column's chunks.
pub fn upload(context: &Context, parts: &[ArrayRef]) -> Result<EncodedStrings> {
    let _time = phases::scope(Phase::Encode);
    let rows: usize = parts.iter().map(|part| part.len()).sum();
    let large = if context.device().is_emulated() { DEVICE_ROWS_EMULATED } else { DEVICE_ROWS };
    if rows >= large {
        if let Some(encoded) = few_strings::encode(context, parts)? {
            return Ok(encoded);
        }
        return on_device(context, parts);
    }
    let (codes, dictionary) = encode(parts)?;
    let stored = stored(context, rows as u64, dictionary.entries());
    let values = match stored {
        DeviceType::Number(Scalar::U8) => context.upload(&codes.iter().map(|code| *code as u8).collect::<Vec<_>>())?,
        DeviceType::Number(Scalar::U16) => {
            context.upload(&codes.iter().map(|code| *code as u16).collect::<Vec<_>>())?
        }
        _ => context.upload(&codes)?,
    };
    Ok(EncodedStrings { values, stored, dictionary })
}

/// The same on the host.
pub fn encode(parts: &[ArrayRef]) -> Result<(Vec<u32>, Dictionary)> {
    let views = parts.iter().map(view).collect::<Result<Vec<_>>>()?;
    let mut known: HashMap<&str, u32> = HashMap::new();
    let mut texts: Vec<&str> = Vec::new();
    let mut codes = Vec::with_capacity(views.iter().map(|part| part.len()).sum());
    for text in views.iter().flat_map(|part| part.iter()) {
        codes.push(match text {
            None => 0,
            Some(text) => *known.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() as u32 - 1
            }),
        });
    }
    let SortedStrings { dictionary, places } = sorted(&texts);
    if !texts.is_empty() {
        codes.iter_mut().for_each(|code| *code = places[*code as usize]);
    }
    Ok((codes, dictionary))
}

fn view(part: &ArrayRef) -> Result<StringViewArray> {
    match part.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..) => {
            Ok(cast(part, &DataType::Utf8View)?.as_string_view().clone())
        }
        other => Err(Error::Unsupported(format!("strings of type {other}"))),
    }
}

/// Sorted strings.
pub(crate) struct SortedStrings {
    pub dictionary: Dictionary,
    /// The index in it of each string that was given.
    pub places: Vec<u32>,
}

/// Sorts distinct strings.
pub(crate) fn sorted(texts: &[&str]) -> SortedStrings {
    let common = common_prefix(texts);
    // Most comparisons end within the eight bytes after the prefix that all have.
    let start = |text: &str| {
        let mut bytes = [0; 8];
        let rest = &text.as_bytes()[common..];
        let length = rest.len().min(8);
        bytes[..length].copy_from_slice(&rest[..length]);
        u64::from_be_bytes(bytes)
    };
    let mut order: Vec<(u64, u32)> = texts.iter().zip(0..).map(|(text, code)| (start(text), code)).collect();
    let compare =
        |a: &(u64, u32), b: &(u64, u32)| a.0.cmp(&b.0).then_with(|| texts[a.1 as usize].cmp(texts[b.1 as usize]));
    order.par_sort_unstable_by(compare);
    let mut places = vec![0; texts.len()];
    let mut values = StringViewBuilder::with_capacity(texts.len());
    for (place, (_, code)) in (0..).zip(&order) {
        places[*code as usize] = place;
        values.append_value(texts[*code as usize]);
    }
    SortedStrings { dictionary: Dictionary::new(Arc::new(values.finish())), places }
}

/// How many first bytes all strings have in common.
fn common_prefix(texts: &[&str]) -> usize {
    let Some((first, rest)) = texts.split_first() else { return 0 };
    let of = |most: usize, text: &&str| {
        let pairs = first.as_bytes()[..most].iter().zip(text.as_bytes());
        pairs.take_while(|(a, b)| a == b).count()
    };
    rest.iter().fold(first.len(), of)
}

/// Merges dictionaries. Returns the merged one, and for each dictionary the new indices of its entries.
pub fn merged(all: &[&Arc<Dictionary>]) -> Result<(Dictionary, Vec<Vec<u32>>)> {
    let texts: Vec<ArrayRef> = all.iter().map(|one| Arc::clone(&one.values)).collect();
    let (codes, dictionary) = encode(&texts)?;
    let mut rest = &codes[..];
    let mut places = Vec::new();
    for one in all {
        let (its, others) = rest.split_at(one.entries());
        places.push(its.to_vec());
        rest = others;
    }
    Ok((dictionary, places))
}

/// Strings on the device.
pub struct DeviceStrings<'a> {
    pub texts: &'a StringBuffers,
    pub validity: Option<&'a Buffer>,
    pub rows: u64,
}

fn on_device(context: &Context, parts: &[ArrayRef]) -> Result<EncodedStrings> {
    let views = parts.iter().filter(|part| !part.is_empty()).map(view).collect::<Result<Vec<_>>>()?;
    let parts: Vec<ArrayRef> = views.iter().map(|part| Arc::new(part.clone()) as ArrayRef).collect();
    let (starts, rows) = chunked::starts(parts.iter().map(|part| part.len() as u64));
    let texts = StringBuffers::upload(context, &parts)?;
    let validity = match parts.iter().any(|part| part.null_count() > 0) {
        true => Some(crate::column::upload_validity(context, rows as usize, &parts)?),
        false => None,
    };
    let text = |row: u64| {
        let part = starts.partition_point(|start| *start <= row) - 1;
        views[part].value((row - starts[part]) as usize)
    };
    number(context, &DeviceStrings { texts: &texts, validity: validity.as_ref(), rows }, text)
}

/// Dictionary-encodes strings on the device. The device finds the distinct strings, the host sorts them, and the device
/// replaces its numbers by indices of the sorted strings. `text` gives the string of a row.
pub fn number<'a>(context: &Context, of: &DeviceStrings, text: impl Fn(u64) -> &'a str) -> Result<EncodedStrings> {
    let rows = of.rows;
    let values =
        dictionary::Values::Strings { offsets: &of.texts.offsets, bytes: &of.texts.bytes, wide: of.texts.wide };
    // Few distinct strings are the rule. If there are more, a larger table is tried.
    let found = dictionary::encode(context, values, of.validity, rows, 1 << 14)?;
    let rows_of = found.first_rows.read::<u64>(0..found.count as usize, &context.stream)?;
    let different: Vec<&str> = rows_of.iter().map(|row| text(*row)).collect();
    let SortedStrings { dictionary, places } = sorted(&different);
    if places.is_empty() {
        return Ok(EncodedStrings { values: found.codes, stored: DeviceType::DictIndex, dictionary });
    }
    let stored = stored(context, rows, dictionary.entries());
    let (places, narrow) = (context.upload(&places)?, context.allocate(rows * stored.bytes())?);
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__(256) place_codes(const u32* codes, u64 rows, const u32* places, {to}* to) {{\n  \
         for (u64 row = thread_in_grid(); row < rows; row += threads_in_grid()) to[row] = ({to})places[codes[row]];\n}}\n",
        to = stored.cuda()
    );
    let program = Program::new(&[&headers::PRELUDE], body, ["place_codes"]);
    let arguments = onrush_device::Arguments::new().buffer(&found.codes).value(rows).buffer(&places).buffer(&narrow);
    launch(context, &context.library.function(&program, "place_codes")?, arguments, rows, 256, 0)?;
    Ok(EncodedStrings { values: narrow, stored, dictionary })
}
