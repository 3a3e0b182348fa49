//! The passes of `matrix` against loops over rows, and their speed.

use onrush_device::{Buffer, Pod};

use super::values::Random;
use super::{Bench, Cases, Coverage};
use crate::column::Column;
use crate::error::Result;
use crate::library::Context;
use crate::matrix::{ColumnMatrix, Gradient, chunks_of_nearer};
use crate::scalar::Scalar;

type Verdict = std::result::Result<(), String>;

/// Columns of several types as they are uploaded, and as the reference reads them.
struct Columns {
    buffers: Vec<Buffer>,
    scalars: Vec<Scalar>,
    values: Vec<Vec<f64>>,
    rows: usize,
}

fn typed<T: Pod>(
    context: &Context,
    values: &[f64],
    convert: impl Fn(f64) -> T,
    back: impl Fn(&T) -> f64,
) -> Result<(Buffer, Vec<f64>)> {
    let typed: Vec<T> = values.iter().map(|v| convert(*v)).collect();
    Ok((context.upload(&typed)?, typed.iter().map(back).collect()))
}

impl Columns {
    /// Values between -100 and 100, small integers for integer types; the column `binary` has 0 and 1.
    fn new(
        context: &Context,
        random: &mut Random,
        rows: usize,
        count: usize,
        binary: Option<usize>,
    ) -> Result<Columns> {
        const TYPES: [Scalar; 10] = [
            Scalar::F32,
            Scalar::F64,
            Scalar::I8,
            Scalar::F32,
            Scalar::I16,
            Scalar::I32,
            Scalar::I64,
            Scalar::U8,
            Scalar::U16,
            Scalar::U32,
        ];
        let mut columns = Columns { buffers: Vec::new(), scalars: Vec::new(), values: Vec::new(), rows };
        for c in 0..count {
            let scalar = if binary == Some(c) { Scalar::U64 } else { TYPES[c % TYPES.len()] };
            let draw = |random: &mut Random| (random.below(200_001) as f64 - 100_000.0) / 1000.0;
            let values: Vec<f64> = (0..rows)
                .map(|_| match (scalar.is_float(), binary == Some(c)) {
                    (_, true) => random.below(2) as f64,
                    (true, _) => draw(random),
                    (false, _) => draw(random).trunc().abs(),
                })
                .collect();
            let (buffer, values) = match scalar {
                Scalar::F32 => typed(context, &values, |v| v as f32, |v| f64::from(*v))?,
                Scalar::I8 => typed(context, &values, |v| v as i8, |v| f64::from(*v))?,
                Scalar::I16 => typed(context, &values, |v| v as i16, |v| f64::from(*v))?,
                Scalar::I32 => typed(context, &values, |v| v as i32, |v| f64::from(*v))?,
                Scalar::I64 => typed(context, &values, |v| v as i64, |v| *v as f64)?,
                Scalar::U8 => typed(context, &values, |v| v as u8, |v| f64::from(*v))?,
                Scalar::U16 => typed(context, &values, |v| v as u16, |v| f64::from(*v))?,
                Scalar::U32 => typed(context, &values, |v| v as u32, |v| f64::from(*v))?,
                Scalar::U64 => typed(context, &values, |v| v as u64, |v| *v as f64)?,
                _ => typed(context, &values, |v| v, |v| *v)?,
            };
            columns.buffers.push(buffer);
            columns.scalars.push(scalar);
            columns.values.push(values);
        }
        Ok(columns)
    }

    fn matrix(&self, features: usize) -> Result<ColumnMatrix> {
        let all = self.buffers.iter().zip(&self.scalars);
        let all: Vec<Column> =
            all.map(|(buffer, scalar)| Column::new(*scalar, buffer).slice(0, self.rows as u64)).collect();
        ColumnMatrix::new(&all[..features], all.get(features))
    }

    /// A row with shifts and scales, and a one behind the features.
    fn row(&self, row: usize, features: usize, shift: &[f64], scale: &[f64]) -> Vec<f64> {
        let value = |c: usize| (self.values[c][row] - shift[c]) * scale[c];
        (0..features).map(value).chain([1.0]).chain((features..self.values.len()).map(value)).collect()
    }
}

/// Shifts and scales that differ from column to column; the last column keeps its values if `plain`.
fn scaling(count: usize, plain: bool) -> (Vec<f64>, Vec<f64>) {
    let of = |c: usize| if plain && c + 1 == count { (0.0, 1.0) } else { (c as f64 / 3.0, 0.125 * (1 + c % 3) as f64) };
    (0..count).map(of).unzip()
}

/// Sums of f64 in another order differ by rounding: `size` is the sum of the absolute values.
fn close(what: &str, found: f64, expected: f64, size: f64) -> Verdict {
    match (found - expected).abs() <= 1e-12 * size + 1e-300 {
        true => Ok(()),
        false => Err(format!("{what} is {found}, expected {expected} (differs by {:e})", found - expected)),
    }
}

fn all_close(what: &str, found: &[f64], expected: &[(f64, f64)]) -> Verdict {
    if found.len() != expected.len() {
        return Err(format!("{what}: {} values, expected {}", found.len(), expected.len()));
    }
    let mut pairs = found.iter().zip(expected).enumerate();
    pairs.try_for_each(|(at, (found, (sum, size)))| close(&format!("{what} {at}"), *found, *sum, *size))
}

/// Sums with the sums of their absolute values.
fn add(sums: &mut (f64, f64), value: f64) {
    sums.0 += value;
    sums.1 += value.abs();
}

fn check_statistics(context: &Context, random: &mut Random, rows: usize, count: usize) -> Result<Verdict> {
    let columns = Columns::new(context, random, rows, count, None)?;
    let found = columns.matrix(count)?.statistics(context)?;
    let expected = columns.values.iter().map(|values| {
        let (mut low, mut high, mut sum) = (f64::INFINITY, f64::NEG_INFINITY, (0.0, 0.0));
        for value in values {
            (low, high) = (low.min(*value), high.max(*value));
            add(&mut sum, *value);
        }
        (low, high, sum)
    });
    for (found, (low, high, sum)) in found.iter().zip(expected) {
        if (found.low, found.high, found.not_finite) != (low, high, 0) {
            return Ok(Err(format!("{found:?}, expected {low} to {high}")));
        }
        if let Err(why) = close("the sum", found.sum, sum.0, sum.1) {
            return Ok(Err(why));
        }
    }
    Ok(Ok(()))
}

fn check_products(
    context: &Context,
    random: &mut Random,
    rows: usize,
    features: usize,
    target: bool,
) -> Result<Verdict> {
    let count = features + usize::from(target);
    let columns = Columns::new(context, random, rows, count, None)?;
    let (shift, scale) = scaling(count, false);
    let matrix = columns.matrix(features)?;
    let found = matrix.scaled(context, &shift, &scale)?.products(context)?;
    let width = count + 1;
    let mut expected = vec![(0.0, 0.0); width * width];
    for row in 0..rows {
        let row = columns.row(row, features, &shift, &scale);
        for j in 0..width {
            (0..width).for_each(|i| add(&mut expected[j * width + i], row[i] * row[j]));
        }
    }
    Ok(all_close("product", &found, &expected))
}

fn agree(found: &Gradient, expected: &Gradient, sizes: &[f64]) -> Verdict {
    let pairs = |values: &[f64]| values.iter().map(|v| (*v, sizes[0])).collect::<Vec<_>>();
    all_close("the derivative", &found.gradient, &pairs(&expected.gradient))?;
    all_close("the sum of column", &found.sums, &pairs(&expected.sums))?;
    all_close("the second derivative", &found.hessian, &pairs(&expected.hessian))?;
    close("the loss", found.squares, expected.squares, sizes[0])?;
    close("the sum", found.total, expected.total, sizes[0])
}

fn check_gradient(
    context: &Context,
    random: &mut Random,
    rows: usize,
    features: usize,
    logistic: bool,
) -> Result<Verdict> {
    let columns = Columns::new(context, random, rows, features + 1, logistic.then_some(features))?;
    let (shift, scale) = scaling(features + 1, logistic);
    let params: Vec<f64> = (0..=features).map(|c| ((c * 7 % 11) as f64 - 5.0) / (20.0 * features as f64)).collect();
    let share = 1.0 / rows.max(1) as f64;
    let matrix = columns.matrix(features)?;
    let scaled = matrix.scaled(context, &shift, &scale)?;
    let found =
        if logistic { scaled.logistic(context, &params, share)? } else { scaled.residuals(context, &params)? };
    let used = features + 1;
    let mut expected = Gradient {
        gradient: vec![0.0; used],
        sums: vec![0.0; used],
        squares: 0.0,
        total: 0.0,
        hessian: vec![0.0; if logistic { used * used } else { 0 }],
    };
    for row in 0..rows {
        let row = columns.row(row, features, &shift, &scale);
        let z: f64 = row.iter().zip(&params).map(|(x, w)| x * w).sum();
        let y = row[used];
        let p = 1.0 / (1.0 + (-z).exp());
        let rest = if logistic { share * (p - y) } else { y - z };
        match logistic {
            true => expected.squares -= share * if y == 1.0 { p.ln() } else { (1.0 - p).ln() },
            false => {
                expected.squares += rest * rest;
                expected.total += rest;
            }
        }
        for j in 0..used {
            expected.gradient[j] += row[j] * rest;
            expected.sums[j] += row[j];
            for i in 0..if logistic { used } else { 0 } {
                expected.hessian[j * used + i] += share * p * (1.0 - p) * row[i] * row[j];
            }
        }
    }
    // Products of values up to 40 with residuals up to 100.
    Ok(agree(&found, &expected, &[1e4 * rows as f64]))
}

fn check_clusters(
    context: &Context,
    random: &mut Random,
    rows: usize,
    features: usize,
    clusters: usize,
) -> Result<Verdict> {
    let columns = Columns::new(context, random, rows, features, None)?;
    let (shift, scale) = scaling(features, false);
    let matrix = columns.matrix(features)?;
    let scaled = matrix.scaled(context, &shift, &scale)?;
    let chosen: Vec<u64> = (0..clusters).map(|_| random.below(rows as u64)).collect();
    let point = |row: usize| columns.row(row, features, &shift, &scale)[..features].to_vec();
    let centers: Vec<f64> = chosen.iter().flat_map(|row| point(*row as usize)).collect();
    if scaled.rows_at(context, &chosen)? != centers {
        return Ok(Err("the rows differ".to_string()));
    }
    let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let labels = context.zeros(4 * rows as u64)?;
    let found = scaled.assign(context, &centers, &labels)?;
    let found_labels = labels.read::<u32>(0..rows, &context.stream)?;
    let (mut sums, mut counts, mut inertia) = (vec![(0.0, 0.0); clusters * features], vec![0; clusters], 0.0);
    for (row, label) in found_labels.iter().enumerate() {
        let point = point(row);
        let distances: Vec<f64> = centers.chunks_exact(features).map(|c| distance(&point, c)).collect();
        let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
        // Products are added without rounding between: another centre may win by as much.
        if distances[*label as usize] > least * (1.0 + 1e-12) {
            return Ok(Err(format!(
                "row {row} is in cluster {label} at {}, not at {least}",
                distances[*label as usize]
            )));
        }
        point.iter().enumerate().for_each(|(j, x)| add(&mut sums[*label as usize * features + j], *x));
        counts[*label as usize] += 1;
        inertia += least;
    }
    if found.counts != counts || found.changed != rows as u64 - counts[0] {
        return Ok(Err(format!("counts {:?}, {} changed, expected {counts:?}", found.counts, found.changed)));
    }
    if scaled.assign(context, &centers, &labels)?.changed != 0 {
        return Ok(Err("a second pass changed labels".to_string()));
    }
    // The distances of k-means++.
    let closest = context.upload(&vec![f64::INFINITY; rows])?;
    let points = &centers[..features * clusters.min(3)];
    let first = scaled.nearer(context, &points[..features], &closest, true)?;
    let second = scaled.nearer(context, points, &closest, false)?;
    let (each, parts) = chunks_of_nearer(rows as u64);
    for part in 0..parts as usize {
        let rows = part * each as usize..rows.min((part + 1) * each as usize);
        let near = |row: usize, p: usize| distance(&point(row), &points[p * features..(p + 1) * features]);
        let alone: f64 = rows.clone().map(|row| near(row, 0)).sum();
        if let Err(why) = close("the distance", first[part], alone, alone) {
            return Ok(Err(why));
        }
        for p in 0..clusters.min(3) {
            let both: f64 = rows.clone().map(|row| near(row, 0).min(near(row, p))).sum();
            if let Err(why) = close("the least distance", second[part * clusters.min(3) + p], both, alone) {
                return Ok(Err(why));
            }
        }
    }
    Ok(all_close("the sum", &found.sums, &sums).and_then(|()| close("the inertia", found.inertia, inertia, inertia)))
}

pub fn check(cases: &mut Cases) {
    let mut random = Random(0x6d61_7472);
    for rows in cases.depth.few_sizes() {
        // Wide matrices have other tiles; the emulated device takes long for many rows of them.
        let rows = rows.min(20_000);
        let widths: &[usize] = match (rows, cases.depth) {
            (..=100, _) => &[1, 2, 3, 7, 13, 50, 101, 240],
            (..=2000, Coverage::Small) => &[1, 13, 50],
            (_, Coverage::Small) => &[6],
            (_, Coverage::Full) => &[1, 6, 50],
        };
        for features in widths.iter().copied() {
            let name = |what: &str| format!("{what} of {rows} rows x {features}");
            let mut one = |what: &str, test: &dyn Fn(&Context, &mut Random) -> Result<Verdict>| {
                cases.case(|| name(what), |context| test(context, &mut random));
            };
            one("statistics", &|context, random| check_statistics(context, random, rows, features));
            one("products", &|context, random| check_products(context, random, rows, features, false));
            one("products with a target", &|context, random| check_products(context, random, rows, features, true));
            one("residuals", &|context, random| check_gradient(context, random, rows, features, false));
            one("logistic", &|context, random| check_gradient(context, random, rows, features, true));
            if rows > 0 {
                let most = (1000 / features).clamp(1, 20);
                one("clusters", &|context, random| check_clusters(context, random, rows, features, 1));
                one("clusters", &|context, random| check_clusters(context, random, rows, features, most));
            }
        }
    }
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    const FEATURES: usize = 50;
    let rows = (bench.rows / FEATURES as u64).max(1);
    let context = bench.context;
    let mut buffers = Vec::new();
    for c in 0..=FEATURES as u64 {
        let value = |row: u64| ((row.wrapping_mul(2_654_435_761).wrapping_add(c * 40_503)) % 1000) as f32 / 500.0 - 1.0;
        let value = |row: u64| if c == FEATURES as u64 { (row % 2) as f32 } else { value(row) };
        buffers.push(context.upload(&(0..rows).map(value).collect::<Vec<f32>>())?);
    }
    let all: Vec<Column> = buffers.iter().map(|buffer| Column::new(Scalar::F32, buffer)).collect();
    let (features, target) = (&all[..FEATURES], &all[FEATURES]);
    let (bytes, params) = (4 * rows * (FEATURES as u64 + 1), vec![0.01; FEATURES + 1]);
    let with_target = ColumnMatrix::new(features, Some(target))?;
    let alone = ColumnMatrix::new(features, None)?;
    bench.measure("statistics, 51 f32", rows, bytes, |context| with_target.statistics(context).map(drop))?;
    let scaled = with_target.scaled(context, &[0.0; FEATURES + 1], &[1.0; FEATURES + 1])?;
    bench.measure("products, 51 f32", rows, bytes, |context| scaled.products(context).map(drop))?;
    bench.measure("residuals, 51 f32", rows, bytes, |context| scaled.residuals(context, &params).map(drop))?;
    bench.measure("logistic, 51 f32", rows, bytes, |context| scaled.logistic(context, &params, 1e-6).map(drop))?;
    let scaled = alone.scaled(context, &[0.0; FEATURES], &[1.0; FEATURES])?;
    let centers = scaled.rows_at(context, &(0..20.min(rows)).collect::<Vec<u64>>())?;
    let (labels, closest) = (context.zeros(4 * rows)?, context.upload(&vec![f64::INFINITY; rows as usize])?);
    let bytes = 4 * rows * FEATURES as u64;
    bench.measure("nearest of 20 centres, 50 f32", rows, bytes + 8 * rows, |context| {
        scaled.assign(context, &centers, &labels).map(drop)
    })?;
    let points = &centers[..FEATURES * 4.min(rows as usize)];
    bench.measure("distances to 4 points, 50 f32", rows, bytes + 8 * rows, |context| {
        scaled.nearer(context, points, &closest, false).map(drop)
    })
}
