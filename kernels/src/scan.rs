//! Prefix sums of a column: `cuda/scan.cuh`.

use onrush_device::{Arguments, Buffer, Function, Grid};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::headers;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

/// Inclusive or exclusive: whether the sum of a row includes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    Inclusive,
    Exclusive,
}

/// Threads of a block, and 16-byte rounds of output for each.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub threads: u32,
    pub rounds: u32,
}

pub fn tuning(scalar: Scalar) -> Tuning {
    match scalar.bytes() {
        1 | 2 | 4 => Tuning { threads: 512, rounds: 8 },
        _ => Tuning { threads: 512, rounds: 6 },
    }
}

fn tile_rows(scalar: Scalar) -> u64 {
    let Tuning { threads, rounds } = tuning(scalar);
    u64::from(threads * rounds) * (16 / scalar.sum().bytes())
}

pub fn program(scalar: Scalar, bounds: Bounds) -> Program {
    let (t, s) = (scalar.cuda(), scalar.sum().cuda());
    let Tuning { threads, rounds } = tuning(scalar);
    let inclusive = bounds == Bounds::Inclusive;
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) scan_{t}(const {t}* values, u64 rows, u32* ticket, u32* flags, \
         {s}* own, {s}* all, {s}* out) {{\n  \
         scan<{t}, {s}, {inclusive}, {threads}, {rounds}>(values, rows, ticket, Lookback<{s}>{{flags, own, all}}, out);\n}}\n"
    );
    Program::new(&[&headers::SCAN], body, [format!("scan_{t}")])
}

/// A reusable scan over columns of up to a number of rows.
pub struct Scan {
    function: Function,
    scalar: Scalar,
    tiles: u64,
    /// Ticket, then flags: the words that must be zero.
    flags: Buffer,
    sums: Buffer,
}

impl Scan {
    pub fn new(context: &Context, scalar: Scalar, bounds: Bounds, rows: u64) -> Result<Scan> {
        if scalar.bytes() > 8 {
            return Err(Error::Unsupported { algorithm: "scan", scalar: scalar.cuda() });
        }
        let function = context.library.function(&program(scalar, bounds), &format!("scan_{}", scalar.cuda()))?;
        let tiles = rows.div_ceil(tile_rows(scalar));
        let flags = context.allocate(4 * (1 + tiles))?;
        let sums = context.allocate(2 * tiles * scalar.sum().bytes())?;
        Ok(Scan { function, scalar, tiles, flags, sums })
    }

    /// `out` has capacity for the sums of all rows.
    pub fn launch(&self, context: &Context, column: &Column, out: &Buffer) -> Result<()> {
        debug_assert_eq!(column.scalar, self.scalar);
        let tiles = column.rows.div_ceil(tile_rows(self.scalar));
        assert!(tiles <= self.tiles, "{} rows are more than this scan was made for", column.rows);
        assert!(out.bytes() >= column.rows * self.scalar.sum().bytes(), "the output is too short");
        self.flags.fill(0, &context.stream)?;
        let arguments = Arguments::new()
            .value(column.address())
            .value(column.rows)
            .value(self.flags.address())
            .value(self.flags.address() + 4)
            .value(self.sums.address())
            .value(self.sums.address() + self.tiles * self.scalar.sum().bytes())
            .buffer(out);
        let grid = Grid::new(tiles as u32, tuning(self.scalar).threads);
        // SAFETY: the parameters are those of `program`, and the lengths were checked.
        unsafe { self.function.launch(&grid, arguments, &context.stream)? };
        Ok(())
    }
}

/// All of a column at once.
pub fn scan(context: &Context, column: &Column, bounds: Bounds) -> Result<Buffer> {
    let scan = Scan::new(context, column.scalar, bounds, column.rows)?;
    let out = context.allocate(column.rows * column.scalar.sum().bytes())?;
    scan.launch(context, column, &out)?;
    Ok(out)
}
