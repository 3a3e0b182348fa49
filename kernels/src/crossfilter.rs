//! Passes over the slots of the rows of a dashboard: `cuda/crossfilter.cuh`.
//!
//! A row has a slot in each view, and a bit for each filter that it fails. Counts are integers: the result is the same
//! on every device.

use onrush_device::{Arguments, Buffer, Function, Grid};

use crate::error::Result;
use crate::headers;
use crate::library::{Context, Program};

/// Axes of a view at most: two of a heat map, and the slots of the view that is brushed.
pub const MOST_AXES: usize = 3;
/// Rows of a thread.
const EACH: u64 = 16;
/// Words of shared memory of a block of 256 threads, so that several blocks run on a multiprocessor.
const SMALL: u32 = 8 << 10;
/// Copies of a counter at most: a bank for each lane.
const MOST_COPIES: u32 = 32;
const IN_GLOBAL_MEMORY: u32 = u32::MAX;

/// Slots of rows along one axis of a view.
#[derive(Clone, Copy)]
pub struct SlotAxis<'a> {
    /// A u8 or a u16 for each row, from the beginning of the buffer.
    pub slots: &'a Buffer,
    /// Bytes of a slot: 1 or 2.
    pub bytes: u32,
    /// The factor by which a slot of this axis counts in the slot of the view.
    pub factor: u32,
}

/// The counters of a view. Without axes all rows are in slot 0.
#[derive(Clone)]
pub struct CountedView<'a> {
    pub axes: Vec<SlotAxis<'a>>,
    /// The number of slots.
    pub count: u32,
    /// Filters that do not matter: that of the view itself.
    pub own: u16,
}

/// A bit for each filter that a row fails: a u16 for each row.
#[derive(Clone, Copy)]
pub struct FailedFilters<'a> {
    pub failed: &'a Buffer,
    /// The filters that matter.
    pub bits: u16,
}

/// The position of the counters of a view.
struct Place {
    shared: u32,
    copies: u32,
}

fn axes_words(axes: &[SlotAxis<'_>]) -> Vec<u64> {
    assert!(axes.len() <= MOST_AXES, "{} axes", axes.len());
    let mut words: Vec<u64> = Vec::with_capacity(2 * MOST_AXES);
    for axis in axes {
        words.extend([axis.slots.address(), u64::from(axis.factor) | u64::from(axis.bytes) << 32]);
    }
    words.resize(2 * MOST_AXES, 0);
    words
}

fn check_rows(axes: &[SlotAxis<'_>], rows: u64) {
    axes.iter().for_each(|axis| assert!(axis.slots.bytes() >= rows * u64::from(axis.bytes), "{rows} rows"));
}

/// Places the counters of views in `most` words of shared memory, the smallest views first. Returns the words that are
/// used.
fn placed(views: &[CountedView<'_>], most: u32) -> (Vec<Place>, u32) {
    let mut order: Vec<usize> = (0..views.len()).collect();
    order.sort_by_key(|view| views[*view].count);
    let mut places: Vec<Place> = views.iter().map(|_| Place { shared: IN_GLOBAL_MEMORY, copies: 1 }).collect();
    let mut used = 0;
    for (done, view) in order.iter().enumerate() {
        let count = views[*view].count.max(1);
        // The larger views get no less than this one, so that it may have an equal share.
        let share = (most - used) / (views.len() - done) as u32;
        if count > most - used {
            continue;
        }
        let copies = (share / count).clamp(1, MOST_COPIES);
        let copies = 1 << copies.ilog2();
        places[*view] = Place { shared: used, copies };
        used += count * copies;
    }
    (places, used)
}

/// The rows of each slot of each view that fail no filter but the view's own.
///
/// # Errors
/// Errors of the device.
///
/// # Panics
/// If a buffer is shorter than the rows, or a view has more than [`MOST_AXES`] axes.
pub fn count(
    context: &Context,
    views: &[CountedView<'_>],
    filters: Option<FailedFilters<'_>>,
    rows: u64,
) -> Result<Vec<Vec<u64>>> {
    let total: u64 = views.iter().map(|view| u64::from(view.count)).sum();
    if rows == 0 || total == 0 {
        return Ok(views.iter().map(|view| vec![0; view.count as usize]).collect());
    }
    let limit = context.device().properties().shared_memory_per_block / 4;
    let (threads, most) = if total <= u64::from(SMALL) { (256, SMALL.min(limit)) } else { (1024, limit) };
    let (places, used) = placed(views, most);
    let (mut table, mut first) = (Vec::with_capacity(views.len() * 9), 0_u64);
    for (view, place) in views.iter().zip(&places) {
        check_rows(&view.axes, rows);
        table.extend(axes_words(&view.axes));
        table.push(first);
        table.push(u64::from(view.count) | u64::from(view.own) << 32);
        table.push(u64::from(place.shared) | u64::from(place.copies) << 32);
        first += u64::from(view.count);
    }
    let body = format!(
        "extern \"C\" __global__ void __launch_bounds__({threads}) cross_count_{threads}(const CrossView* views, u32 view_count, \
         const u16* failed, u32 bits, u64 rows, u32 words, u64* counts) {{\n  \
         cross_count(views, view_count, failed, bits, rows, words, counts);\n}}\n"
    );
    let function = function(context, body, &format!("cross_count_{threads}"))?;
    let (table, counts) = (context.upload(&table)?, context.zeros(8 * total)?);
    if let Some(filters) = filters {
        assert!(filters.failed.bytes() >= 2 * rows, "{rows} rows");
    }
    let arguments = Arguments::new()
        .buffer(&table)
        .value(views.len() as u32)
        .optional(filters.map(|filters| filters.failed))
        .value(u32::from(filters.map_or(0, |filters| filters.bits)))
        .value(rows)
        .value(used)
        .buffer(&counts);
    launch(context, &function, threads, 4 * used, rows, arguments)?;
    let all = counts.read::<u64>(0..total as usize, &context.stream)?;
    let mut rest = all.as_slice();
    let mut of_view = |view: &CountedView<'_>| {
        let (counts, others) = rest.split_at(view.count as usize);
        rest = others;
        counts.to_vec()
    };
    Ok(views.iter().map(&mut of_view).collect())
}

/// Sets the bit for the rows whose slot the filter does not keep, and clears it for the others. `kept` has an entry for
/// each slot; without it all rows are kept.
///
/// # Errors
/// Errors of the device.
///
/// # Panics
/// If a buffer is shorter than the rows, or there are more than [`MOST_AXES`] axes.
pub fn mark(
    context: &Context,
    axes: &[SlotAxis<'_>],
    kept: Option<&[bool]>,
    bit: u16,
    (failed, rows): (&Buffer, u64),
) -> Result<()> {
    check_rows(axes, rows);
    assert!(failed.bytes() >= 2 * rows, "{rows} rows");
    let mut table = axes_words(axes);
    table.extend([0; 3]);
    let table = context.upload(&table)?;
    let kept =
        kept.map(|kept| context.upload(&kept.iter().map(|kept| u8::from(*kept)).collect::<Vec<_>>())).transpose()?;
    let body = "extern \"C\" __global__ void __launch_bounds__(256) cross_mark_rows(const CrossView* view, const u8* kept, u32 bit, \
                u64 rows, u16* failed) {\n  cross_mark(view, kept, bit, rows, failed);\n}\n";
    let function = function(context, body.to_string(), "cross_mark_rows")?;
    let arguments = Arguments::new().buffer(&table).optional(kept.as_ref());
    launch(context, &function, 256, 0, rows, arguments.value(u32::from(bit)).value(rows).buffer(failed))
}

fn function(context: &Context, body: String, entry: &str) -> Result<Function> {
    context.library.function(&Program::new(&[&headers::CROSSFILTER], body, [entry]), entry)
}

fn launch(
    context: &Context,
    function: &Function,
    threads: u32,
    shared: u32,
    rows: u64,
    arguments: Arguments,
) -> Result<()> {
    let most = u64::from(function.resident_blocks(threads, shared)?);
    let blocks = rows.div_ceil(EACH * u64::from(threads)).min(most) as u32;
    // SAFETY: the parameters are those of the bodies above; tables, masks and counts have the lengths that are passed.
    unsafe { function.launch(&Grid::new(blocks, threads).shared(shared), arguments, &context.stream)? };
    Ok(())
}
