//! Concatenates tables in device memory.

use std::sync::Arc;

use onrush_device::{Arguments, Buffer};
use onrush_kernels::{Context, Program, headers};

use crate::column::dictionary::{self, Dictionary};
use crate::column::string::StringBuffers;
use crate::column::{DeviceColumn, DeviceTable};
use crate::ir::expr::DeviceType;
use crate::launch::launch;
use crate::{Error, Result};

impl DeviceTable {
    /// Concatenates tables of the same columns. Strings are stored as bytes if they are bytes in all tables, else as
    /// indices of one dictionary. Columns of a single table are shared.
    pub fn concat(context: &Context, tables: &[DeviceTable]) -> Result<DeviceTable> {
        let tables: Vec<&DeviceTable> = match tables.iter().filter(|table| table.rows > 0).collect::<Vec<_>>() {
            some if !some.is_empty() => some,
            _ => tables.iter().take(1).collect(),
        };
        let [first, others @ ..] = &tables[..] else {
            return Err(Error::Unsupported("a concatenation of no tables".to_string()));
        };
        if others.is_empty() {
            return Ok((*first).clone());
        }
        let rows = tables.iter().map(|table| table.rows).sum();
        let column = |index: usize| {
            let parts: Vec<DeviceColumn> = tables.iter().map(|table| table.columns[index].clone()).collect();
            concat(context, &parts, rows)
        };
        Ok(DeviceTable { rows, columns: (0..first.columns.len()).map(column).collect::<Result<_>>()? })
    }
}

fn concat(context: &Context, parts: &[DeviceColumn], rows: u64) -> Result<DeviceColumn> {
    let validity = match parts.iter().any(DeviceColumn::has_nulls) {
        true => {
            let bits: Vec<_> = parts.iter().map(|part| (part.validity.as_deref(), part.rows)).collect();
            Some(Arc::new(concat_bits(context, &bits, rows)?))
        }
        false => None,
    };
    let with_validity = |column: DeviceColumn| Ok(DeviceColumn { validity: validity.clone(), ..column });
    let kind = parts[0].kind;
    match kind {
        DeviceType::Bool => {
            let bits: Vec<_> = parts.iter().map(|part| (Some(&*part.values), part.rows)).collect();
            let values = concat_bits(context, &bits, rows)?;
            with_validity(DeviceColumn::plain(kind, Arc::new(values), rows))
        }
        DeviceType::String | DeviceType::DictIndex => {
            if parts.iter().all(|part| part.kind == DeviceType::String && part.dictionary.is_none()) {
                let texts = concat_texts(context, parts, rows)?;
                let values = Arc::clone(&texts.bytes);
                let column = DeviceColumn::plain(DeviceType::String, values, rows);
                return with_validity(DeviceColumn { texts: Some(Arc::new(texts)), ..column });
            }
            let coded = parts.iter().map(|part| part.to_representation(context, false)).collect::<Result<Vec<_>>>()?;
            with_validity(concat_codes(context, &coded, rows)?)
        }
        DeviceType::ListView => {
            let (values, dictionary) = concat_lists(context, parts, rows)?;
            let column = DeviceColumn::plain(kind, Arc::new(values), rows);
            with_validity(DeviceColumn { dictionary: Some(dictionary), ..column })
        }
        DeviceType::Number(_) => {
            // Decimals may lie there in fewer bits.
            let stored = match parts.iter().all(|part| part.stored() == parts[0].stored()) {
                true => parts[0].stored(),
                false => kind,
            };
            let width = stored.bytes();
            let values = context.allocate(width * rows)?;
            let mut at = 0;
            for part in parts {
                match part.stored() == stored {
                    true => values.copy_from(width * at, &part.values, 0, width * part.rows, &context.stream)?,
                    false => widen(context, &part.values, part.rows, values.address() + width * at)?,
                }
                at += part.rows;
            }
            with_validity(DeviceColumn { stored, ..DeviceColumn::plain(kind, Arc::new(values), rows) })
        }
    }
}

fn run(context: &Context, name: &'static str, body: String, arguments: Arguments, rows: u64) -> Result<()> {
    let program = Program::new(&[&headers::CONCAT], body, [name]);
    launch(context, &context.library.function(&program, name)?, arguments, rows, 256, 0)
}

/// Concatenates bitmaps. A part without a bitmap has all bits set.
fn concat_bits(context: &Context, parts: &[(Option<&Buffer>, u64)], rows: u64) -> Result<Buffer> {
    // Neighbours share a word.
    let bits = context.zeros(rows.div_ceil(32) * 4)?;
    let mut at = 0_u64;
    for (from, rows) in parts {
        let (name, has_ones) = if from.is_some() { ("concat_bits", false) } else { ("concat_ones", true) };
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__(256) {name}(const u32* from, u64 rows, u32* to, u64 at) {{\n  \
             concat_bitmap<{has_ones}>(from, rows, to, at);\n}}\n"
        );
        let arguments = Arguments::new().optional(*from).value(*rows).buffer(&bits).value(at);
        run(context, name, body, arguments, rows.div_ceil(32))?;
        at += rows;
    }
    Ok(bits)
}

/// Numbers of 64 bits as such of 128.
fn widen(context: &Context, from: &Buffer, rows: u64, to: u64) -> Result<()> {
    let body = "extern \"C\" __global__ void __launch_bounds__(256) concat_wide(const i64* from, u64 rows, i128* to) {\n  \
                concat_moved(from, rows, to, (i64)0);\n}\n";
    run(context, "concat_wide", body.to_string(), Arguments::new().buffer(from).value(rows).value(to), rows)
}

/// Concatenates strings as bytes, of columns without dictionaries.
fn concat_texts(context: &Context, parts: &[DeviceColumn], rows: u64) -> Result<StringBuffers> {
    let missing = || Error::Unsupported("strings without bytes on the device".to_string());
    let mut ends = Vec::new();
    for part in parts {
        let texts = part.texts.as_ref().ok_or_else(missing)?;
        ends.push(texts.end(context, part.rows)?);
    }
    let all: u64 = ends.iter().sum();
    let bytes = context.allocate(crate::column::string::room(all))?;
    let wide = all > u64::from(u32::MAX);
    let offsets = context.allocate((rows + 1) * if wide { 8 } else { 4 })?;
    let (mut at, mut row) = (0_u64, 0_u64);
    for (part, end) in parts.iter().zip(&ends) {
        let texts = part.texts.as_ref().ok_or_else(missing)?;
        bytes.copy_from(at, &texts.bytes, 0, *end, &context.stream)?;
        let (from, to) = (if texts.wide { "u64" } else { "u32" }, if wide { "u64" } else { "u32" });
        let name = match (texts.wide, wide) {
            (false, false) => "concat_offsets",
            (true, true) => "concat_offsets_wide",
            (true, false) => "concat_offsets_short",
            (false, true) => "concat_offsets_widened",
        };
        // Each part writes its end, which is where the next one begins.
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__(256) {name}(const {from}* from, u64 rows, {to}* to, u64 at) {{\n  \
             concat_moved(from, rows + 1, to, at);\n}}\n"
        );
        let to = offsets.address() + row * if wide { 8 } else { 4 };
        let arguments = Arguments::new().buffer(&texts.offsets).value(part.rows).value(to).value(at);
        run(context, name, body, arguments, part.rows + 1)?;
        at += end;
        row += part.rows;
    }
    Ok(StringBuffers { bytes: Arc::new(bytes), offsets: Arc::new(offsets), wide })
}

/// Lists and structs, as pieces of the same columns.
fn concat_lists(context: &Context, parts: &[DeviceColumn], rows: u64) -> Result<(Buffer, Arc<Dictionary>)> {
    let missing = || Error::Unsupported("lists that lie nowhere".to_string());
    let known = parts.iter().map(|part| part.dictionary.as_ref().ok_or_else(missing)).collect::<Result<Vec<_>>>()?;
    let values = context.allocate(8 * rows)?;
    let same = known.iter().all(|other| Arc::ptr_eq(other, known[0]));
    let (mut at, mut begin) = (0, 0);
    for (part, known) in parts.iter().zip(&known) {
        let body = "extern \"C\" __global__ void __launch_bounds__(256) concat_lists(const u64* from, u64 rows, u64* to, u64 begin) {\n  \
                    concat_moved(from, rows, to, begin << 32);\n}\n";
        let to = values.address() + 8 * at;
        let arguments = Arguments::new().buffer(&part.values).value(part.rows).value(to);
        run(context, "concat_lists", body.to_string(), arguments.value(if same { 0 } else { begin }), part.rows)?;
        at += part.rows;
        begin += known.elements.first().ok_or_else(missing)?.rows;
    }
    if same {
        return Ok((values, Arc::clone(known[0])));
    }
    if begin > u64::from(u32::MAX) {
        return Err(Error::Unsupported(format!("lists of {begin} elements")));
    }
    let mut elements = Vec::new();
    for index in 0..known[0].elements.len() {
        let of = known.iter().map(|one| one.elements.get(index).cloned().ok_or_else(missing));
        elements.push(concat(context, &of.collect::<Result<Vec<_>>>()?, begin)?);
    }
    Ok((values, Arc::new(Dictionary::of_pieces(elements))))
}

/// Concatenates dictionary-encoded columns, as indices of one dictionary.
fn concat_codes(context: &Context, parts: &[DeviceColumn], rows: u64) -> Result<DeviceColumn> {
    let known: Vec<Option<&Arc<Dictionary>>> = parts.iter().map(|part| part.dictionary.as_ref()).collect();
    let mut at = 0;
    if let Some(one) = known[0]
        && known.iter().all(|other| other.is_some_and(|other| Arc::ptr_eq(other, one)))
        && parts.iter().all(|part| part.code() == parts[0].code())
    {
        let width = parts[0].code().bytes();
        let values = context.allocate(width * rows)?;
        for part in parts {
            values.copy_from(width * at, &part.values, 0, width * part.rows, &context.stream)?;
            at += part.rows;
        }
        let column = DeviceColumn::plain(DeviceType::DictIndex, Arc::new(values), rows);
        return Ok(DeviceColumn { stored: parts[0].stored(), dictionary: Some(Arc::clone(one)), ..column });
    }
    let values = context.allocate(4 * rows)?;
    let different: Vec<&Arc<Dictionary>> = known.iter().flatten().copied().collect();
    let (dictionary, mut places) = dictionary::merged(&different)?;
    places.reverse();
    for (part, known) in parts.iter().zip(&known) {
        match known.and_then(|_| places.pop()).filter(|places| !places.is_empty()) {
            // The dictionary index of a null is arbitrary.
            None => values.fill_range(4 * at, 4 * part.rows, 0, &context.stream)?,
            Some(places) => {
                let body = format!(
                    "extern \"C\" __global__ void __launch_bounds__(256) concat_codes(const {}* from, u64 rows, u32* to, const u32* places, u32 count) {{\n  \
                     concat_indices(from, rows, to, places, count);\n}}\n",
                    part.code().cuda()
                );
                let count = places.len() as u32;
                let places = context.upload(&places)?;
                let to = values.address() + 4 * at;
                let arguments =
                    Arguments::new().buffer(&part.values).value(part.rows).value(to).buffer(&places).value(count);
                run(context, "concat_codes", body, arguments, part.rows)?;
            }
        }
        at += part.rows;
    }
    let column = DeviceColumn::plain(DeviceType::DictIndex, Arc::new(values), rows);
    Ok(DeviceColumn { dictionary: Some(Arc::new(dictionary)), ..column })
}
