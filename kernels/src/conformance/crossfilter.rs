//! The passes of `crossfilter` against loops over rows, and their speed.

use onrush_device::Buffer;

use super::values::Random;
use super::{Bench, Cases, same};
use crate::crossfilter::{CountedView, FailedFilters, SlotAxis, count, mark};
use crate::error::Result;
use crate::library::Context;

type Verdict = std::result::Result<(), String>;

/// Slots of rows, on the host and on the device.
struct Slots {
    host: Vec<u32>,
    device: Buffer,
    bytes: u32,
}

impl Slots {
    /// Half of the rows are in slot 0.
    fn new(context: &Context, random: &mut Random, rows: usize, count: u32) -> Result<Slots> {
        let one = |_| if random.below(2) == 0 { 0 } else { random.below(u64::from(count)) as u32 };
        let host: Vec<u32> = (0..rows).map(one).collect();
        let (device, bytes) = match count {
            0..=256 => (context.upload(&host.iter().map(|slot| *slot as u8).collect::<Vec<_>>())?, 1),
            _ => (context.upload(&host.iter().map(|slot| *slot as u16).collect::<Vec<_>>())?, 2),
        };
        Ok(Slots { host, device, bytes })
    }

    fn axis(&self, factor: u32) -> SlotAxis<'_> {
        SlotAxis { slots: &self.device, bytes: self.bytes, factor }
    }
}

/// Views of one, two and three axes and of none, of few and of many slots, with and without filters.
fn check_counts(context: &Context, random: &mut Random, rows: usize, sizes: &[u32], filtered: bool) -> Result<Verdict> {
    let slots: Vec<Slots> =
        sizes.iter().map(|count| Slots::new(context, random, rows, *count)).collect::<Result<_>>()?;
    let failed: Vec<u16> = (0..rows).map(|_| if random.below(3) > 0 { 0 } else { 1 << random.below(7) }).collect();
    let on_device = context.upload(&failed)?;
    let bits: u16 = if filtered { 0b10_1101 } else { 0 };
    // The axes of each view, and the filters that it does not look at.
    let mut wanted: Vec<(Vec<usize>, u16)> = vec![(Vec::new(), 0), (Vec::new(), 1)];
    wanted.extend((0..sizes.len()).map(|at| (vec![at], 1 << at)));
    if sizes.len() > 2 {
        wanted.extend([(vec![0, 1], 0b11), (vec![2, 1, 0], 0b101)]);
    }
    let mut views = Vec::new();
    for (axes, own) in &wanted {
        let mut factor = 1;
        let mut of_view = Vec::new();
        for at in axes {
            of_view.push(slots[*at].axis(factor));
            factor *= sizes[*at];
        }
        views.push(CountedView { axes: of_view, count: factor, own: *own });
    }
    let filters = filtered.then_some(FailedFilters { failed: &on_device, bits });
    let found = count(context, &views, filters, rows as u64)?;
    for (view, ((axes, own), found)) in wanted.iter().zip(&found).enumerate() {
        let mut expected = vec![0_u64; views[view].count as usize];
        for (row, failed) in failed.iter().enumerate() {
            if failed & bits & !own != 0 {
                continue;
            }
            let (mut slot, mut factor) = (0, 1);
            for at in axes {
                slot += slots[*at].host[row] * factor;
                factor *= sizes[*at];
            }
            expected[slot as usize] += 1;
        }
        if let Err(difference) = same(found, &expected) {
            return Ok(Err(format!("view {view}: {difference}")));
        }
    }
    Ok(Ok(()))
}

fn check_marks(context: &Context, random: &mut Random, rows: usize, sizes: [u32; 2]) -> Result<Verdict> {
    let slots = sizes.map(|count| Slots::new(context, random, rows, count));
    let [x, y] = slots;
    let (x, y) = (x?, y?);
    let mut failed: Vec<u16> = (0..rows).map(|_| random.next_u64() as u16).collect();
    let on_device = context.upload(&failed)?;
    let kept: Vec<bool> = (0..sizes[0] * sizes[1]).map(|_| random.below(2) == 0).collect();
    mark(context, &[x.axis(1), y.axis(sizes[0])], Some(&kept), 1 << 3, (&on_device, rows as u64))?;
    mark(context, &[x.axis(1)], None, 1 << 15, (&on_device, rows as u64))?;
    for (row, failed) in failed.iter_mut().enumerate() {
        let is_kept = kept[(x.host[row] + sizes[0] * y.host[row]) as usize];
        *failed = (*failed & !(1 << 3) & !(1 << 15)) | if is_kept { 0 } else { 1 << 3 };
    }
    Ok(same(&on_device.read::<u16>(0..rows, &context.stream)?, &failed))
}

pub fn check(cases: &mut Cases) {
    let mut random = Random(0x6372_6f73);
    for rows in cases.depth.sizes() {
        let rows = rows.min(100_003);
        for filtered in [false, true] {
            for sizes in [&[5][..], &[256, 3], &[40, 50, 7, 2], &[300, 20, 11], &[60_000, 2, 4]] {
                let name = || format!("counts of {rows} rows, {sizes:?} slots, filters: {filtered}");
                cases.case(name, |context| check_counts(context, &mut random, rows, sizes, filtered));
            }
        }
        for sizes in [[40, 1], [12, 9], [700, 2]] {
            let name = || format!("marks of {rows} rows, {sizes:?} slots");
            cases.case(name, |context| check_marks(context, &mut random, rows, sizes));
        }
    }
}

/// Six views of a dashboard: three histograms, two bar views and a heat map of two of their columns.
pub fn measure(bench: &mut Bench) -> Result<()> {
    const SIZES: [u32; 5] = [42, 42, 42, 8, 51];
    let (rows, context) = (bench.rows, bench.context);
    let mut slots = Vec::new();
    for (at, count) in SIZES.iter().enumerate() {
        // A multiplicative sequence, another one for each column; the fourth column is mostly of one value.
        let slot = |row: u64| {
            let mixed = row.wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ (at as u64) << 17) >> 40;
            if at == 3 && mixed % 10 < 7 { 0 } else { (mixed % u64::from(*count)) as u8 }
        };
        slots.push(context.upload(&(0..rows).map(slot).collect::<Vec<u8>>())?);
    }
    let failed = context.zeros(2 * rows)?;
    let axis = |at: usize, factor: u32| SlotAxis { slots: &slots[at], bytes: 1, factor };
    let mut views: Vec<CountedView> = SIZES
        .iter()
        .enumerate()
        .map(|(at, count)| CountedView { axes: vec![axis(at, 1)], count: *count, own: 1 << at })
        .collect();
    views.push(CountedView { axes: vec![axis(3, 1), axis(4, SIZES[3])], count: SIZES[3] * SIZES[4], own: 1 << 5 });
    let kept: Vec<bool> = (0..SIZES[0]).map(|slot| (10..30).contains(&slot)).collect();
    mark(context, &[axis(0, 1)], Some(&kept), 1, (&failed, rows))?;
    let filters = FailedFilters { failed: &failed, bits: 1 };
    bench.measure("crossfilter: six views", rows, rows * 7, |context| {
        count(context, &views, Some(filters), rows).map(|_| ())
    })?;
    bench.measure("crossfilter: mark a filter", rows, rows * 5, |context| {
        mark(context, &[axis(0, 1)], Some(&kept), 1, (&failed, rows))
    })?;
    // A brush of the first view: pairs of its slots with those of the others.
    let pairs: Vec<CountedView> = (1..SIZES.len())
        .map(|at| CountedView {
            axes: vec![axis(at, 1), axis(0, SIZES[at])],
            count: SIZES[at] * SIZES[0],
            own: 1 | 1 << at,
        })
        .collect();
    bench.measure("crossfilter: sums for a brush", rows, rows * 7, |context| {
        count(context, &pairs, Some(filters), rows).map(|_| ())
    })
}
