//! Dictionary encoding of 64-bit integers and of strings: `cuda/dictionary.cuh`.

use onrush_device::{Arguments, Buffer};

use crate::error::{Error, Result};
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

/// Threads of a block, slots for each expected value, and the growth factor of a table that was too small.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub threads: u32,
    pub slots_per_value: u64,
    pub smallest_table: u64,
    pub growth: u64,
}

pub const TUNING: Tuning = Tuning { threads: 256, slots_per_value: 2, smallest_table: 1 << 10, growth: 8 };

/// Input: values of a column on a device.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    /// Integers, or floats as their bits.
    Fixed { scalar: Scalar, values: &'a Buffer },
    /// Strings in the layout of Arrow: one offset more than rows, of 32 or 64 bits (`wide`).
    Strings { offsets: &'a Buffer, bytes: &'a Buffer, wide: bool },
}

impl Values<'_> {
    /// The type of the header, and the types of two parameters.
    fn types(self) -> Result<(String, String, &'static str)> {
        match self {
            Values::Fixed { scalar, .. } if scalar.is_float() || scalar.bytes() > 8 => {
                Err(Error::Unsupported { algorithm: "dictionary encoding", scalar: scalar.cuda() })
            }
            Values::Fixed { scalar, .. } => {
                let t = scalar.cuda();
                Ok((format!("FixedValues<{t}>{{a}}"), t.into(), "u8"))
            }
            Values::Strings { wide, .. } => {
                let t = if wide { "i64" } else { "u32" };
                Ok((format!("StringValues<{t}>{{a, b}}"), t.into(), "u8"))
            }
        }
    }

    fn addresses(self) -> (u64, u64) {
        match self {
            Values::Fixed { values, .. } => (values.address(), 0),
            Values::Strings { offsets, bytes, .. } => (offsets.address(), bytes.address()),
        }
    }
}

pub fn program(values: Values) -> Result<Program> {
    let ((make, first, second), threads) = (values.types()?, TUNING.threads);
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) dictionary_find_rows(const {first}* a, const {second}* b, \
         const u32* validity, u64 bit, u64 rows, u64* table, u64 slots, u32* codes, u32* overflow) {{\n  \
         dictionary_find({make}, validity, bit, rows, table, slots, codes, overflow);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({threads}) dictionary_number_slots(u64* table, u64 slots, u64* count, \
         u64* first_rows, u64 capacity) {{\n  dictionary_number(table, slots, count, first_rows, capacity);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({threads}) dictionary_code_rows(const u64* table, u64 rows, u32* codes) {{\n  \
         dictionary_codes(table, rows, codes);\n}}\n"
    );
    let entries = ["dictionary_find_rows", "dictionary_number_slots", "dictionary_code_rows"];
    Ok(Program::new(&[&headers::DICTIONARY], body, entries))
}

/// Indices of 32 bits, 0 for rows with a null, and for each index one row that has its value.
pub struct Dictionary {
    pub codes: Buffer,
    pub count: u64,
    pub first_rows: Buffer,
    /// How often the table was too small.
    pub retries: u32,
}

/// Encodes `rows` values, of which about `estimate` are distinct. Validity is a bitmap from bit 0 on.
pub fn encode(
    context: &Context,
    values: Values,
    validity: Option<&Buffer>,
    rows: u64,
    estimate: u64,
) -> Result<Dictionary> {
    let program = program(values)?;
    let find = context.library.function(&program, "dictionary_find_rows")?;
    let number = context.library.function(&program, "dictionary_number_slots")?;
    let code = context.library.function(&program, "dictionary_code_rows")?;
    let codes = context.allocate(rows * 4)?;
    let overflow = context.allocate(4)?;
    let mut retries = 0;
    let mut slots = estimate.saturating_mul(TUNING.slots_per_value).max(TUNING.smallest_table);
    loop {
        let table = context.allocate(slots * 8)?;
        table.fill(0xff, &context.stream)?;
        overflow.fill(0, &context.stream)?;
        let (a, b) = values.addresses();
        let arguments = Arguments::new().value(a).value(b).optional(validity).value(0_u64).value(rows);
        let arguments = arguments.buffer(&table).value(slots).buffer(&codes).buffer(&overflow);
        fill(context, &find, arguments, rows, TUNING.threads, 0)?;
        if overflow.read_one::<u32>(&context.stream)? != 0 {
            if slots > 64 * rows.max(1) || slots >= 1 << 31 {
                return Err(Error::TooManyGroups { slots });
            }
            retries += 1;
            slots *= TUNING.growth;
            continue;
        }
        let capacity = slots.min(rows);
        let first_rows = context.allocate(capacity * 8)?;
        let count = context.zeros(8)?;
        let arguments = Arguments::new().buffer(&table).value(slots).buffer(&count).buffer(&first_rows).value(capacity);
        fill(context, &number, arguments, slots, 256, 0)?;
        let arguments = Arguments::new().buffer(&table).value(rows).buffer(&codes);
        fill(context, &code, arguments, rows, TUNING.threads, 0)?;
        let count = count.read_one::<u64>(&context.stream)?;
        return Ok(Dictionary { codes, count, first_rows, retries });
    }
}
