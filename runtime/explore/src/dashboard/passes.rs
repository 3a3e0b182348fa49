//! Passes over the slots of rows. They give counts and sums of each view under the filters of the others, and the
//! counts for each step of a brush (Falcon: Moritz, Howe and Heer, CHI 2019).
//!
//! Each row has a bit for each filter that it fails. A view counts the rows that fail no filter but its own.

use std::thread;

use onrush_frame::TaskHandle;
use onrush_stats::Combine;
use onrush_wire::Diagnostic;

use super::dimension::Codes;

/// Parts of the rows whose sums are added up one after another, whatever the number of threads: sums have the same
/// bits.
const PARTS: usize = 16;
/// Rows whose slots are looked up together.
const CHUNK: usize = 1 << 13;

/// The slots in which the rows of a view are counted: `codes[x] + width * codes[y]`.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    pub x: &'a Codes,
    /// The slots along y, and the number of slots along x.
    pub y: Option<(&'a Codes, u32)>,
    /// The number of slots, or of pairs.
    pub count: usize,
}

impl Keys<'_> {
    /// The slots of the rows from `start` on.
    pub fn read(&self, start: usize, keys: &mut [u32]) {
        keys.fill(0);
        self.x.add_to(start, 1, keys);
        if let Some((y, width)) = self.y {
            y.add_to(start, width, keys);
        }
    }
}

/// The rows that count.
#[derive(Clone, Copy)]
pub struct Passing<'a> {
    /// The bits of the filters that each row fails.
    pub failed: &'a [u16],
    /// The filters that are looked at.
    pub bits: u16,
}

/// The aggregates of each slot.
#[derive(Clone)]
pub struct Tally {
    pub counts: Vec<u64>,
    /// The number of rows with a value.
    valued: Vec<u64>,
    values: Vec<f64>,
    combine: Combine,
}

impl Tally {
    fn new(slots: usize, combine: Combine) -> Self {
        let start = match combine {
            Combine::Min => f64::INFINITY,
            Combine::Max => f64::NEG_INFINITY,
            _ => 0.0,
        };
        let slots_of_values = if combine == Combine::Count { 0 } else { slots };
        Tally {
            counts: vec![0; slots],
            valued: vec![0; slots_of_values],
            values: vec![start; slots_of_values],
            combine,
        }
    }

    /// Rows that were counted elsewhere.
    pub fn of_counts(counts: Vec<u64>) -> Self {
        Tally { counts, valued: Vec::new(), values: Vec::new(), combine: Combine::Count }
    }

    fn add(&mut self, slot: usize, value: f64) {
        if value.is_nan() {
            return;
        }
        self.valued[slot] += 1;
        let kept = &mut self.values[slot];
        match self.combine {
            Combine::Min => *kept = kept.min(value),
            Combine::Max => *kept = kept.max(value),
            _ => *kept += value,
        }
    }

    fn merge(&mut self, later: &Tally) {
        let add = |sums: &mut Vec<u64>, more: &[u64]| sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        add(&mut self.counts, &later.counts);
        add(&mut self.valued, &later.valued);
        self.values.iter_mut().zip(&later.values).for_each(|(kept, value)| match self.combine {
            Combine::Min => *kept = kept.min(*value),
            Combine::Max => *kept = kept.max(*value),
            _ => *kept += value,
        });
    }

    /// The aggregate of each slot. A slot without a value has a sum of 0, and no mean, minimum or maximum: NaN.
    pub fn finish(&self) -> Vec<f64> {
        match self.combine {
            Combine::Count => self.counts.iter().map(|count| *count as f64).collect(),
            Combine::Sum => self.values.clone(),
            _ => {
                let value = |(value, count): (&f64, &u64)| match (count, self.combine) {
                    (0, _) => f64::NAN,
                    (count, Combine::Mean) => value / *count as f64,
                    _ => *value,
                };
                self.values.iter().zip(&self.valued).map(value).collect()
            }
        }
    }
}

/// Runs `one` for each part of the rows on all cores, and gives the results in the order of the parts.
fn in_parts<T: Send>(rows: usize, one: impl Fn(std::ops::Range<usize>) -> T + Sync) -> Vec<T> {
    let parts = if rows < CHUNK * 8 { 1 } else { PARTS };
    let part = rows.div_ceil(parts).max(1);
    let cores = thread::available_parallelism().map_or(1, |n| n.get());
    let ranges: Vec<_> = (0..parts).map(|i| (i * part).min(rows)..((i + 1) * part).min(rows)).collect();
    let mut results: Vec<Option<T>> = (0..parts).map(|_| None).collect();
    let per_thread = parts.div_ceil(cores).max(1);
    let one = &one;
    thread::scope(|scope| {
        for (ranges, results) in ranges.chunks(per_thread).zip(results.chunks_mut(per_thread)) {
            let work = move || {
                ranges.iter().zip(results).for_each(|(range, result)| *result = Some(one(range.clone())));
            };
            if parts == 1 {
                work();
            } else {
                scope.spawn(work);
            }
        }
    });
    results.into_iter().flatten().collect()
}

/// Counts slots of a byte. Two tables, so that equal neighbors do not wait for each other.
fn narrow(codes: &[u8], passing: Option<(&[u16], u16)>, counts: &mut [u32]) {
    let mut tables = [[0_u32; 256]; 2];
    match passing {
        None => {
            for (at, slot) in codes.iter().enumerate() {
                tables[at & 1][usize::from(*slot)] += 1;
            }
        }
        Some((failed, bits)) => {
            for (at, (slot, failed)) in codes.iter().zip(failed).enumerate() {
                tables[at & 1][usize::from(*slot)] += u32::from(failed & bits == 0);
            }
        }
    }
    for (slot, count) in counts.iter_mut().enumerate().take(256) {
        *count += tables[0][slot] + tables[1][slot];
    }
}

/// Counts rows, and aggregates their values, in each slot.
pub fn tally(
    keys: Keys<'_>,
    passing: Option<Passing<'_>>,
    values: Option<(&[f64], Combine)>,
    rows: usize,
    task: &TaskHandle,
) -> Result<Tally, Diagnostic> {
    let combine = values.map_or(Combine::Count, |(_, combine)| combine);
    let mut parts = in_parts(rows, |range| {
        let mut tally = Tally::new(keys.count, combine);
        let mut counts = vec![0_u32; keys.count];
        let mut buffer = vec![0_u32; CHUNK];
        for start in range.clone().step_by(CHUNK) {
            if task.cancelled() {
                break;
            }
            let buffer = &mut buffer[..CHUNK.min(range.end - start)];
            if let (Codes::Narrow(codes), None, None) = (keys.x, keys.y, values) {
                narrow(&codes[start..start + buffer.len()], passing.map(|p| (&p.failed[start..], p.bits)), &mut counts);
                continue;
            }
            keys.read(start, buffer);
            match passing {
                None => buffer.iter().for_each(|key| counts[*key as usize] += 1),
                Some(Passing { failed, bits }) => {
                    let failed = &failed[start..start + buffer.len()];
                    let pass = |failed: &u16| u32::from(failed & bits == 0);
                    buffer.iter().zip(failed).for_each(|(key, failed)| counts[*key as usize] += pass(failed));
                }
            }
            let Some((values, _)) = values else { continue };
            for (at, key) in buffer.iter().enumerate() {
                if passing.is_none_or(|passing| passing.failed[start + at] & passing.bits == 0) {
                    tally.add(*key as usize, values[start + at]);
                }
            }
        }
        tally.counts = counts.into_iter().map(u64::from).collect();
        tally
    })
    .into_iter();
    task.check()?;
    let mut sum = parts.next().unwrap_or_else(|| Tally::new(keys.count, combine));
    parts.for_each(|part| sum.merge(&part));
    Ok(sum)
}

/// Rows that fail none of the filters.
pub fn selected(passing: Passing<'_>, task: &TaskHandle) -> Result<u64, Diagnostic> {
    let counts = in_parts(passing.failed.len(), |range| {
        passing.failed[range].iter().filter(|failed| **failed & passing.bits == 0).count() as u64
    });
    task.check()?;
    Ok(counts.into_iter().sum())
}

/// The counts of another view for each step of a brush of the active view.
pub struct Cube {
    /// `slots + 1` rows of `others` counts: the running sums over the slots of the active view.
    pub counts: Vec<u32>,
    /// The same for sums of values; empty without values.
    pub sums: Vec<f64>,
    /// The same for the rows with a value.
    pub valued: Vec<u32>,
}

/// The counts of another view for each slot of the active one.
pub fn cube(
    active: Keys<'_>,
    other: Keys<'_>,
    passing: Option<Passing<'_>>,
    values: Option<&[f64]>,
    rows: usize,
    task: &TaskHandle,
) -> Result<Cube, Diagnostic> {
    let (steps, width) = (active.count, other.count);
    let size = steps * width;
    let parts = in_parts(rows, |range| {
        let mut counts = vec![0_u32; size];
        let with_values = if values.is_some() { size } else { 0 };
        let (mut sums, mut valued) = (vec![0.0_f64; with_values], vec![0_u32; with_values]);
        let (mut steps, mut slots) = (vec![0_u32; CHUNK], vec![0_u32; CHUNK]);
        for start in range.clone().step_by(CHUNK) {
            if task.cancelled() {
                break;
            }
            let length = CHUNK.min(range.end - start);
            let (steps, slots) = (&mut steps[..length], &mut slots[..length]);
            active.read(start, steps);
            other.read(start, slots);
            let cells = steps.iter().zip(&*slots).map(|(step, slot)| *step as usize * width + *slot as usize);
            match passing {
                None => cells.clone().for_each(|cell| counts[cell] += 1),
                Some(Passing { failed, bits }) => {
                    let failed = &failed[start..start + length];
                    cells.clone().zip(failed).for_each(|(cell, failed)| counts[cell] += u32::from(failed & bits == 0));
                }
            }
            let Some(values) = values else { continue };
            for (at, cell) in cells.enumerate() {
                let value = values[start + at];
                if !value.is_nan() && passing.is_none_or(|p| p.failed[start + at] & p.bits == 0) {
                    sums[cell] += value;
                    valued[cell] += 1;
                }
            }
        }
        (counts, sums, valued)
    });
    task.check()?;
    let with_values = if values.is_some() { size } else { 0 };
    let mut cube = Cube { counts: vec![0; size + width], sums: Vec::new(), valued: Vec::new() };
    if with_values > 0 {
        (cube.sums, cube.valued) = (vec![0.0; size + width], vec![0; size + width]);
    }
    for (counts, sums, valued) in parts {
        cube.counts[width..].iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        if with_values > 0 {
            cube.sums[width..].iter_mut().zip(sums).for_each(|(sum, value)| *sum += value);
            cube.valued[width..].iter_mut().zip(valued).for_each(|(sum, count)| *sum += count);
        }
    }
    running(&mut cube.counts, width, |sum, before| *sum += before);
    running(&mut cube.sums, width, |sum, before| *sum += before);
    running(&mut cube.valued, width, |sum, before| *sum += before);
    Ok(cube)
}

/// Adds to each row of `width` entries the row before.
pub fn running<T: Copy>(all: &mut [T], width: usize, add: impl Fn(&mut T, T)) {
    for at in width..all.len() {
        let before = all[at - width];
        add(&mut all[at], before);
    }
}
