//! Stable radix sort by unsigned keys: `cuda/sort.cuh`.

use std::fmt::Write;

use onrush_device::{Arguments, Buffer, Function, Grid};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::headers;
use crate::launch::fill;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

const DIGITS: u64 = 256;
const COUNT_THREADS: u32 = 512;
const REPAIR_THREADS: u32 = 256;

/// Keys of a thread in a pass, and resident blocks of a multiprocessor.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    pub items: u32,
    pub blocks: u32,
}

/// The payload that is moved with the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    Nothing,
    /// Original row indices.
    Numbers,
    /// Values of 64 bits.
    Values,
}

impl Payload {
    fn bytes(self) -> u64 {
        if self == Payload::Values { 8 } else { 4 }
    }
}

/// As many keys as fit into 48 KB of shared memory: fewer tiles look back. Measured on an H200. Values need registers
/// too.
pub fn tuning(_: Scalar, payload: Payload) -> Tuning {
    match payload {
        Payload::Nothing => Tuning { items: 20, blocks: 4 },
        Payload::Numbers => Tuning { items: 20, blocks: 3 },
        Payload::Values => Tuning { items: 16, blocks: 3 },
    }
}

/// Minimum rows for skipping lower digits: below, the check whether the skip was correct costs more than their passes.
const SHORTER_FROM: u64 = 1 << 18;
const SHORTER_FROM_EMULATED: u64 = 16;
/// Expected pairs of keys, for each key, that the upper digits may leave unordered.
const UNORDERED: f64 = 1.0 / 16.0;

/// Digits that are counted only if those above do not distinguish the keys: counting is bound by atomic operations in
/// shared memory.
fn counted_later(scalar: Scalar) -> u64 {
    if scalar == Scalar::U64 { 3 } else { 0 }
}

pub fn program(scalar: Scalar, payload: Payload) -> Program {
    let (k, Tuning { items, blocks }) = (scalar.cuda(), tuning(scalar, payload));
    let (n, what) = match payload {
        Payload::Nothing => ("u32", "SORT_NOTHING"),
        Payload::Numbers => ("u32", "SORT_NUMBERS"),
        Payload::Values => ("u64", "SORT_VALUES"),
    };
    let count = |name: &str, first: u64, last: u64| {
        format!(
            "extern \"C\" __global__ void __launch_bounds__({COUNT_THREADS}) {name}(const {k}* keys, u64 rows, u64* counts) {{\n  \
             sort_count<{k}, {first}, {last}>(keys, rows, counts);\n}}\n"
        )
    };
    let (passes, below) = (scalar.bytes(), counted_later(scalar));
    let mut text = count("sort_count_upper", below, passes);
    let mut entries = vec!["sort_count_upper", "sort_by_digit"];
    if below > 0 {
        text += &count("sort_count_lower", 0, below);
        entries.push("sort_count_lower");
    }
    let _ = write!(
        text,
        "extern \"C\" __global__ void __launch_bounds__({DIGITS}, {blocks}) sort_by_digit(const {k}* keys, const {n}* numbers, {k}* keys_out, \
         {n}* numbers_out, u64 rows, u32 shift, const u64* begins, u64* state, u32* ticket) {{\n  \
         sort_pass<{k}, {n}, {items}, {what}>(keys, numbers, keys_out, numbers_out, rows, shift, begins, state, ticket);\n}}\n"
    );
    if payload == Payload::Values {
        entries.push("sort_begin");
        let _ = write!(
            text,
            "extern \"C\" __global__ void __launch_bounds__({DIGITS}) sort_begin(u64* counts) {{\n  sort_begins(counts);\n}}\n"
        );
    } else {
        let numbered = payload == Payload::Numbers;
        entries.extend(["sort_mark_runs", "sort_repair_runs"]);
        let _ = write!(
            text,
            "extern \"C\" __global__ void __launch_bounds__({REPAIR_THREADS}) sort_mark_runs(const {k}* keys, u64 rows, u32 shift, u32* marks, \
             u32* too_long) {{\n  sort_mark(keys, rows, shift, marks, too_long);\n}}\n\
             extern \"C\" __global__ void __launch_bounds__({REPAIR_THREADS}) sort_repair_runs({k}* keys, u32* numbers, u64 rows, u32 shift, \
             const u32* marks, u32* too_long) {{\n  sort_repair<{k}, {numbered}>(keys, numbers, rows, shift, marks, too_long);\n}}\n"
        );
    }
    Program::new(&[&headers::SORT], text, entries)
}

/// Keys in ascending order, and their original row indices. Equal keys keep their order.
pub struct SortedRows {
    pub keys: Buffer,
    /// Numbers of 32 bits.
    pub rows: Buffer,
}

/// Sorts keys of type `u32` or `u64` without nulls. The input column is not changed.
///
/// # Errors
/// For other types, for 2^32 rows or more, and if there is no memory for four copies of keys and rows.
pub fn sort(context: &Context, column: &Column) -> Result<SortedRows> {
    match Sorting::new(context, column, Payload::Numbers)?.run()? {
        (keys, Some(rows)) => Ok(SortedRows { keys, rows }),
        (_, None) => Err(unsupported(column.scalar)),
    }
}

/// Sorts keys with a payload of 64 bits for each key instead of the row indices, and returns keys and payload in order.
/// Their memory is used as scratch. No key is above `highest`, so that the digits are known without reading the keys,
/// and nothing synchronises.
///
/// # Errors
/// As for [`sort`], and if there is no memory for one more copy.
pub fn sort_with(
    context: &Context,
    (scalar, rows, highest): (Scalar, u64, u64),
    keys: Buffer,
    values: Buffer,
) -> Result<(Buffer, Buffer)> {
    let sorting = Sorting::new(context, &Column::new(scalar, &keys).slice(0, rows), Payload::Values)?;
    let counts = context.zeros(scalar.bytes() * DIGITS * 8)?;
    sorting.start_count("sort_count_upper", &counts)?;
    if counted_later(scalar) > 0 {
        sorting.start_count("sort_count_lower", &counts)?;
    }
    // SAFETY: a block for each pass, and as many counts for each as the block has threads.
    unsafe {
        let grid = Grid::new(scalar.bytes() as u32, DIGITS as u32);
        sorting.function("sort_begin")?.launch(&grid, Arguments::new().buffer(&counts), &context.stream)?;
    }
    let is_there = |number: &u32| *number == 0 || highest >> (8 * number) > 0;
    let needed: Vec<Digit> =
        (0..scalar.bytes() as u32).take_while(is_there).map(|number| Digit { number, alike: 1.0 }).collect();
    match sorting.passes(&needed, &counts, Some((keys, Some(values))))? {
        (keys, Some(values)) => Ok((keys, values)),
        (_, None) => Err(unsupported(scalar)),
    }
}

/// Sorts the keys without a payload.
///
/// # Errors
/// As for [`sort`].
pub fn sort_keys(context: &Context, column: &Column) -> Result<Buffer> {
    Ok(Sorting::new(context, column, Payload::Nothing)?.run()?.0)
}

fn unsupported(scalar: Scalar) -> Error {
    Error::Unsupported { algorithm: "sorting", scalar: scalar.cuda() }
}

/// Eight bits of the keys, numbered from the lowest on.
struct Digit {
    number: u32,
    /// The probability that two keys have the same digit.
    alike: f64,
}

/// Keys and their payload.
type Pair = (Buffer, Option<Buffer>);

struct Sorting<'a> {
    context: &'a Context,
    scalar: Scalar,
    rows: u64,
    /// The order of the input.
    address: u64,
    payload: Payload,
    program: Program,
}

impl Sorting<'_> {
    fn new<'a>(context: &'a Context, column: &Column, payload: Payload) -> Result<Sorting<'a>> {
        if !matches!(column.scalar, Scalar::U32 | Scalar::U64) || column.rows >= u64::from(u32::MAX) {
            return Err(unsupported(column.scalar));
        }
        let (scalar, rows, address) = (column.scalar, column.rows, column.address());
        Ok(Sorting { context, scalar, rows, address, payload, program: program(scalar, payload) })
    }

    fn function(&self, entry: &str) -> Result<Function> {
        self.context.library.function(&self.program, entry)
    }

    fn run(&self) -> Result<Pair> {
        let context = self.context;
        let counts = context.zeros(self.scalar.bytes() * DIGITS * 8)?;
        let count = |entry: &str| self.count(entry, &counts);
        let later = counted_later(self.scalar);
        let (mut begins, mut needed) = self.digits(&count("sort_count_upper")?, later);
        let mut upper = self.upper(&needed, later > 0);
        // If upper digits suffice by these counts, they suffice with all digits counted.
        let mut sorted = self.upper_alone(&begins, &needed, upper)?;
        if sorted.is_none() && later > 0 {
            let tried = upper.is_some();
            (begins, needed) = self.digits(&count("sort_count_lower")?, 0);
            if !tried {
                upper = self.upper(&needed, false);
                sorted = self.upper_alone(&begins, &needed, upper)?;
            }
        }
        match sorted {
            Some(sorted) => Ok(sorted),
            None => self.passes(&needed, &context.upload(&begins)?, None),
        }
    }

    /// Adds to `counts` how many keys have each of the digits that `entry` counts.
    fn start_count(&self, entry: &str, counts: &Buffer) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        let arguments = Arguments::new().value(self.address).value(self.rows).buffer(counts);
        fill(self.context, &self.function(entry)?, arguments, self.rows, COUNT_THREADS, 0)
    }

    /// The same, and returns all `counts`. Synchronises.
    fn count(&self, entry: &str, counts: &Buffer) -> Result<Vec<u64>> {
        let context = self.context;
        self.start_count(entry, counts)?;
        Ok(counts.read::<u64>(0..(self.scalar.bytes() * DIGITS) as usize, &context.stream)?)
    }

    /// Keys sorted by so many of the highest digits, with unordered runs fixed up; `None` if that is not possible.
    fn upper_alone(&self, begins: &[u64], needed: &[Digit], upper: Option<usize>) -> Result<Option<Pair>> {
        let Some(upper) = upper else { return Ok(None) };
        let upper = &needed[needed.len() - upper..];
        let (mut keys, mut order) = self.passes(upper, &self.context.upload(begins)?, None)?;
        let repaired = self.repair(&mut keys, &mut order, 8 * upper[0].number)?;
        Ok(repaired.then_some((keys, order)))
    }

    /// Exclusive digit counts, and the digits from `first` on in which keys differ: at least one, whose pass makes the
    /// row indices.
    fn digits(&self, counted: &[u64], first: u64) -> (Vec<u64>, Vec<Digit>) {
        let rows = self.rows;
        let mut begins: Vec<u64> = Vec::with_capacity(counted.len());
        let mut needed = Vec::new();
        for (number, digits) in (0..).zip(counted.chunks(DIGITS as usize)) {
            let (mut before, mut alike) = (0, 0.0);
            for digit in digits {
                begins.push(before);
                before += digit;
                alike += (*digit as f64 / rows as f64).powi(2);
            }
            if u64::from(number) >= first && !digits.contains(&rows) {
                needed.push(Digit { number, alike });
            }
        }
        if needed.is_empty() && first == 0 {
            needed.push(Digit { number: 0, alike: 1.0 });
        }
        (begins, needed)
    }

    /// The number of highest digits that suffice to skip the lower ones, assuming independent digits.
    fn upper(&self, needed: &[Digit], others: bool) -> Option<usize> {
        let emulated = self.context.device().is_emulated();
        if self.rows < if emulated { SHORTER_FROM_EMULATED } else { SHORTER_FROM } {
            return None;
        }
        let mut pairs = self.rows as f64 / 2.0;
        for (taken, digit) in (1..).zip(needed.iter().rev()) {
            pairs *= digit.alike;
            if pairs <= UNORDERED {
                return (others || taken < needed.len()).then_some(taken);
            }
        }
        None
    }

    /// A stable sort by some digits. Keys and values that may be overwritten are read first, and reused later.
    fn passes(&self, digits: &[Digit], begins: &Buffer, given: Option<Pair>) -> Result<Pair> {
        let (context, scalar, rows) = (self.context, self.scalar, self.rows);
        let pass = self.function("sort_by_digit")?;
        let tiles = rows.div_ceil(DIGITS * u64::from(tuning(scalar, self.payload).items));
        let state = context.allocate((tiles * DIGITS + 1) * 8)?;
        let room = || -> Result<Pair> {
            let has_payload = self.payload != Payload::Nothing;
            let numbers = has_payload.then(|| context.allocate(rows.max(1) * self.payload.bytes())).transpose()?;
            Ok((context.allocate(rows.max(1) * scalar.bytes())?, numbers))
        };
        let address = |numbers: &Option<Buffer>| numbers.as_ref().map_or(0, Buffer::address);
        let mut from = given;
        let mut spare: Option<Pair> = None;
        for Digit { number, .. } in digits {
            let (keys_out, numbers_out) = match spare.take() {
                Some(spare) => spare,
                None => room()?,
            };
            state.fill(0, &context.stream)?;
            let (keys, numbers) = match &from {
                Some((keys, numbers)) => (keys.address(), address(numbers)),
                None => (self.address, 0),
            };
            let arguments = Arguments::new()
                .value(keys)
                .value(numbers)
                .buffer(&keys_out)
                .value(address(&numbers_out))
                .value(rows)
                .value(8 * number)
                .value(begins.address() + u64::from(*number) * DIGITS * 8)
                .value(state.address())
                .value(state.address() + tiles * DIGITS * 8);
            if rows > 0 {
                // SAFETY: a tile for each block, state for each tile and the ticket behind it, and outputs of as many
                // rows as the input.
                unsafe { pass.launch(&Grid::new(tiles as u32, DIGITS as u32), arguments, &context.stream)? };
            }
            spare = from.replace((keys_out, numbers_out));
        }
        from.ok_or_else(|| unsupported(self.scalar))
    }

    /// Sorts runs with the same bits from `shift` on; returns whether no run was too long for that. Synchronises.
    fn repair(&self, keys: &mut Buffer, numbers: &mut Option<Buffer>, shift: u32) -> Result<bool> {
        let (context, rows) = (self.context, self.rows);
        let words = rows.div_ceil(32);
        // After the marks: whether a run is too long.
        let marks = context.zeros(4 * (words + 1))?;
        let too_long = marks.address() + 4 * words;
        let arguments = Arguments::new().buffer(keys).value(rows).value(shift).buffer(&marks).value(too_long);
        fill(context, &self.function("sort_mark_runs")?, arguments, rows, REPAIR_THREADS, 0)?;
        let arguments = Arguments::new()
            .buffer(keys)
            .optional(numbers.as_ref())
            .value(rows)
            .value(shift)
            .buffer(&marks)
            .value(too_long);
        fill(context, &self.function("sort_repair_runs")?, arguments, words, REPAIR_THREADS, 0)?;
        let words = words as usize;
        Ok(marks.read::<u32>(words..words + 1, &context.stream)?[0] == 0)
    }
}
