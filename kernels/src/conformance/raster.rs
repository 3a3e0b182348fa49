//! Rasters against loops over rows, and their speed.

use super::values::Random;
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::crossfilter::FailedFilters;
use crate::error::Result;
use crate::library::Context;
use crate::raster::{PixelWindow, PositionColumns};
use crate::scalar::Scalar;

type Verdict = std::result::Result<(), String>;

fn window(x: (f64, f64), y: (f64, f64), width: u32, height: u32) -> PixelWindow {
    let scale = |(low, high): (f64, f64), count: u32| {
        let scale = f64::from(count) / (high - low);
        (scale, low * scale)
    };
    PixelWindow { x, y, x_scale: scale(x, width), y_scale: scale(y, height), width, height }
}

fn is_inside(window: &PixelWindow, x: f64, y: f64) -> bool {
    (window.x.0..=window.x.1).contains(&x) && (window.y.0..=window.y.1).contains(&y)
}

fn expected(window: &PixelWindow, rows: impl Iterator<Item = (f64, f64)>) -> Vec<u32> {
    let mut counts = vec![0; (window.width * window.height) as usize];
    for (x, y) in rows.filter(|(x, y)| is_inside(window, *x, *y)) {
        let along =
            |value: f64, (scale, offset): (f64, f64), count: u32| ((value * scale - offset) as u32).min(count - 1);
        let column = along(x, window.x_scale, window.width);
        let row = along(y, window.y_scale, window.height);
        counts[((window.height - 1 - row) * window.width + column) as usize] += 1;
    }
    counts
}

/// How positions lie: everywhere, in one pixel, on the edges of pixels, with values that are not finite.
#[derive(Clone, Copy, Debug)]
enum Spread {
    Uniform,
    Hot,
    Edges,
    NotFinite,
}

fn position(random: &mut Random, spread: Spread) -> f64 {
    match spread {
        Spread::Uniform => random.below(1 << 30) as f64 / f64::from(1 << 30) * 12.0 - 1.0,
        Spread::Hot => 3.25,
        Spread::Edges => random.below(41) as f64 / 4.0,
        Spread::NotFinite => match random.below(4) {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            _ => random.below(10) as f64,
        },
    }
}

fn check_counts(
    context: &Context,
    random: &mut Random,
    rows: usize,
    spread: Spread,
    (width, height): (u32, u32),
) -> Result<Verdict> {
    let mut draw = || (0..rows).map(|_| position(random, spread)).collect::<Vec<f64>>();
    let (x, y) = (draw(), draw());
    let (x_values, y_values) = (context.upload(&x)?, context.upload(&y)?);
    let column = |buffer| Column::new(Scalar::F64, buffer).slice(0, rows as u64);
    let positions = PositionColumns::new(column(&x_values), column(&y_values))?;
    let window = window((0.0, 10.0), (0.5, 9.5), width, height);
    let all = || x.iter().copied().zip(y.iter().copied());
    if let Err(difference) = same(&positions.count(context, &window, None)?, &expected(&window, all())) {
        return Ok(Err(difference));
    }
    let extent = positions.extent(context)?;
    let finite: Vec<(f64, f64)> = all().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    let low = |of: fn(&(f64, f64)) -> f64| finite.iter().map(of).fold(f64::INFINITY, f64::min);
    let high = |of: fn(&(f64, f64)) -> f64| finite.iter().map(of).fold(f64::NEG_INFINITY, f64::max);
    let range = ((low(|at| at.0), high(|at| at.0)), (low(|at| at.1), high(|at| at.1)), finite.len() as u64);
    if (extent.x, extent.y, extent.rows) != range {
        return Ok(Err(format!("the extent is {extent:?}, expected {range:?}")));
    }
    // A filter of a part of the window, and a row in three that fails another one.
    let mut failed: Vec<u16> = (0..rows).map(|row| if row % 3 == 0 { 0b1100 } else { 0b1000 }).collect();
    let mask = context.upload(&failed)?;
    let part = PixelWindow { x: (2.0, 5.0), y: (1.0, 8.0), ..window };
    positions.mark(context, &part, 0b10, &mask)?;
    failed.iter_mut().zip(all()).for_each(|(failed, (x, y))| *failed |= if is_inside(&part, x, y) { 0 } else { 0b10 });
    if let Err(difference) = same(&mask.read::<u16>(0..rows, &context.stream)?, &failed) {
        return Ok(Err(format!("the mask: {difference}")));
    }
    let filters = FailedFilters { failed: &mask, bits: 0b110 };
    let kept = all().zip(&failed).filter(|(_, failed)| **failed & 0b110 == 0).map(|(at, _)| at);
    Ok(same(&positions.count(context, &window, Some(filters))?, &expected(&window, kept)))
}

/// Columns of two other types.
fn check_types(context: &Context, random: &mut Random, rows: usize) -> Result<Verdict> {
    let x: Vec<f32> = (0..rows).map(|_| random.below(1000) as f32 / 99.0).collect();
    let y: Vec<i16> = (0..rows).map(|_| random.below(500) as i16 - 250).collect();
    let (x_values, y_values) = (context.upload(&x)?, context.upload(&y)?);
    let x_column = Column::new(Scalar::F32, &x_values).slice(0, rows as u64);
    let positions = PositionColumns::new(x_column, Column::new(Scalar::I16, &y_values).slice(0, rows as u64))?;
    let window = window((1.0, 9.0), (-200.0, 100.0), 37, 23);
    let all = x.iter().map(|x| f64::from(*x)).zip(y.iter().map(|y| f64::from(*y)));
    Ok(same(&positions.count(context, &window, None)?, &expected(&window, all)))
}

pub fn check(cases: &mut Cases) {
    let mut random = Random(0x7261_7374);
    for rows in cases.depth.few_sizes() {
        for spread in [Spread::Uniform, Spread::Hot, Spread::Edges, Spread::NotFinite] {
            // One pixel; one part; two parts; too many for shared memory.
            for size in [(1, 1), (33, 21), (600, 360), (1201, 900)] {
                let name = || format!("{rows} rows, {spread:?}, {size:?} pixels");
                cases.case(name, |context| check_counts(context, &mut random, rows, spread, size));
            }
        }
        cases.case(|| format!("{rows} rows of f32 and i16"), |context| check_types(context, &mut random, rows));
    }
    // More rows of one pixel than half of a counter's range.
    let rows = 40_000;
    cases.case(|| format!("{rows} rows of one pixel"), |c| check_counts(c, &mut random, rows, Spread::Hot, (33, 21)));
}

/// Points everywhere, and points in a few places; in columns of f32 and of f64.
pub fn measure(bench: &mut Bench) -> Result<()> {
    let (rows, context) = (bench.rows, bench.context);
    let window = window((0.0, 1.0), (0.0, 1.0), 600, 360);
    let share =
        |row: u64, salt: u64| (row.wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ salt) >> 11) as f64 / (1_u64 << 53) as f64;
    let clustered = |row: u64, salt: u64| {
        let center = share(row % 20, salt ^ 77);
        (center + (share(row, salt) + share(row, salt ^ 5) - 1.0) * 0.02).clamp(0.0, 1.0)
    };
    let column = |of: &dyn Fn(u64) -> f64| (0..rows).map(of).collect::<Vec<f64>>();
    for (name, x, y) in [
        ("everywhere", column(&|row| share(row, 3)), column(&|row| share(row, 1 << 20))),
        ("clustered", column(&|row| clustered(row, 3)), column(&|row| clustered(row, 1 << 20))),
    ] {
        let (wide_x, wide_y) = (context.upload(&x)?, context.upload(&y)?);
        let narrow = |values: &[f64]| context.upload(&values.iter().map(|value| *value as f32).collect::<Vec<f32>>());
        let (narrow_x, narrow_y) = (narrow(&x)?, narrow(&y)?);
        let f64s = PositionColumns::new(Column::new(Scalar::F64, &wide_x), Column::new(Scalar::F64, &wide_y))?;
        let f32s = PositionColumns::new(Column::new(Scalar::F32, &narrow_x), Column::new(Scalar::F32, &narrow_y))?;
        bench
            .measure(format!("raster of f64 {name}"), rows, rows * 16, |c| f64s.canvas(c, &window, None).map(|_| ()))?;
        bench
            .measure(format!("raster of f32 {name}"), rows, rows * 8, |c| f32s.canvas(c, &window, None).map(|_| ()))?;
    }
    Ok(())
}
