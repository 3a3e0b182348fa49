//! Fields and truncation of dates and timestamps: `cuda/dates.cuh`.

use onrush_device::{Arguments, Buffer};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

const THREADS: u32 = 256;

/// The unit of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tick {
    Day,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
}

impl Tick {
    pub fn per_day(self) -> i64 {
        match self {
            Tick::Day => 1,
            Tick::Second => 86_400,
            Tick::Millisecond => 86_400_000,
            Tick::Microsecond => 86_400_000_000,
            Tick::Nanosecond => 86_400_000_000_000,
        }
    }
}

/// Numbered as in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Year,
    Quarter,
    Month,
    /// ISO 8601's.
    Week,
    Day,
    DayOfYear,
    /// 0 for Sunday.
    DayOfWeek,
    Hour,
    Minute,
    Second,
}

/// Numbered as in the header. Weeks begin on Monday.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

fn check(column: &Column) -> Result<()> {
    match column.scalar {
        Scalar::I32 | Scalar::I64 => Ok(()),
        other => Err(Error::Unsupported { algorithm: "a date", scalar: other.cuda() }),
    }
}

pub fn part_program(scalar: Scalar, tick: Tick, part: Part) -> Program {
    let (t, part, per_day) = (scalar.cuda(), part as u32, tick.per_day());
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) date_part_rows(const {t}* values, u64 rows, i32* out) {{\n  \
         date_parts<{t}, {part}, {per_day}ll>(values, rows, out);\n}}\n"
    );
    Program::new(&[&headers::DATES], body, ["date_part_rows"])
}

pub fn truncate_program(scalar: Scalar, tick: Tick, unit: Unit) -> Program {
    let (t, unit, per_day) = (scalar.cuda(), unit as u32, tick.per_day());
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({THREADS}) date_truncate_rows(const {t}* values, u64 rows, {t}* out) {{\n  \
         date_truncations<{t}, {unit}, {per_day}ll>(values, rows, out);\n}}\n"
    );
    Program::new(&[&headers::DATES], body, ["date_truncate_rows"])
}

/// One field of each timestamp as i32. Validity is that of the input; values of nulls are arbitrary.
pub fn part(context: &Context, column: &Column, tick: Tick, part: Part, out: &Buffer) -> Result<()> {
    check(column)?;
    assert!(out.bytes() >= column.rows * 4, "the output is too short");
    let function = context.library.function(&part_program(column.scalar, tick, part), "date_part_rows")?;
    let arguments = Arguments::new().value(column.address()).value(column.rows).buffer(out);
    fill(context, &function, arguments, column.rows, THREADS, 0)
}

/// Each timestamp truncated to the unit, in the same ticks.
pub fn truncate(context: &Context, column: &Column, tick: Tick, unit: Unit, out: &Buffer) -> Result<()> {
    check(column)?;
    assert!(out.bytes() >= column.rows * column.scalar.bytes(), "the output is too short");
    let program = truncate_program(column.scalar, tick, unit);
    let function = context.library.function(&program, "date_truncate_rows")?;
    let arguments = Arguments::new().value(column.address()).value(column.rows).buffer(out);
    fill(context, &function, arguments, column.rows, THREADS, 0)
}
