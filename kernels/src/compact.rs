//! Stream compaction: the values of the rows whose bit is set: `cuda/compact.cuh`.

use onrush_device::{Arguments, Buffer, Function, Grid};

use crate::column::{Column, moved_as};
use crate::error::Result;
use crate::headers;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

/// Threads of a block, and rows of each thread.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub threads: u32,
    pub items: u32,
}

/// One tuning for all types: the tiles of the first column are those of the others.
pub const TUNING: Tuning = Tuning { threads: 512, items: 16 };

fn tile_rows() -> u64 {
    u64::from(TUNING.threads * TUNING.items)
}

pub fn program(scalar: Scalar) -> Program {
    let t = moved_as(scalar);
    let Tuning { threads, items } = TUNING;
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) compact_{t}(const {t}* values, const u32* keep, u64 rows, \
         u32* ticket, u64* state, u64* offsets, {t}* out) {{\n  \
         compact<{t}, {threads}, {items}>(values, keep, rows, ticket, state, offsets, out);\n}}\n\
         extern \"C\" __global__ void __launch_bounds__({threads}) compact_more_{t}(const {t}* values, const u32* keep, u64 rows, \
         const u64* offsets, {t}* out) {{\n  \
         compact_more<{t}, {threads}, {items}>(values, keep, rows, offsets, out);\n}}\n"
    );
    Program::new(&[&headers::COMPACT], body, [format!("compact_{t}"), format!("compact_more_{t}")])
}

/// Output offsets of the kept rows of a bitmap, computed with the first column and used by the others.
pub struct Compact {
    rows: u64,
    tiles: u64,
    /// Ticket in the first 8 bytes, then the look-back state.
    state: Buffer,
    offsets: Buffer,
}

impl Compact {
    pub fn new(context: &Context, rows: u64) -> Result<Compact> {
        let tiles = rows.div_ceil(tile_rows());
        Ok(Compact { rows, tiles, state: context.allocate(8 * (1 + tiles))?, offsets: context.zeros(8 * (1 + tiles))? })
    }

    fn function(context: &Context, scalar: Scalar, entry: &str) -> Result<Function> {
        context.library.function(&program(scalar), &format!("{entry}_{}", moved_as(scalar)))
    }

    /// The first column. `keep` has a bit for each row; `out` has capacity for all rows that may be kept.
    pub fn first(&self, context: &Context, column: &Column, keep: &Buffer, out: &Buffer) -> Result<()> {
        self.check(column, keep);
        let function = Compact::function(context, column.scalar, "compact")?;
        self.state.fill(0, &context.stream)?;
        let arguments = Arguments::new()
            .value(column.address())
            .buffer(keep)
            .value(self.rows)
            .value(self.state.address())
            .value(self.state.address() + 8)
            .buffer(&self.offsets)
            .buffer(out);
        let grid = Grid::new(self.tiles as u32, TUNING.threads);
        // SAFETY: the parameters are those of `program`; bitmap and state are long enough, and the caller vouches for `out`.
        unsafe { function.launch(&grid, arguments, &context.stream)? };
        Ok(())
    }

    /// Synchronises, and reads the number of kept rows.
    pub fn count(&self, context: &Context) -> Result<u64> {
        let last = self.tiles as usize;
        Ok(self.offsets.read::<u64>(last..last + 1, &context.stream)?[0])
    }

    /// Another column of the same rows.
    pub fn more(&self, context: &Context, column: &Column, keep: &Buffer, out: &Buffer) -> Result<()> {
        self.check(column, keep);
        let function = Compact::function(context, column.scalar, "compact_more")?;
        let arguments =
            Arguments::new().value(column.address()).buffer(keep).value(self.rows).buffer(&self.offsets).buffer(out);
        let grid = Grid::new(self.tiles as u32, TUNING.threads);
        // SAFETY: as above.
        unsafe { function.launch(&grid, arguments, &context.stream)? };
        Ok(())
    }

    fn check(&self, column: &Column, keep: &Buffer) {
        assert_eq!(column.rows, self.rows, "the column has other rows than the table");
        assert!(keep.bytes() >= self.rows.div_ceil(32) * 4, "the bitmap is too short");
    }
}
