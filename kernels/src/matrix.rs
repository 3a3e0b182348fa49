//! Passes over the rows of columns of numbers, for linear models and k-means: `cuda/matrix.cuh`.
//!
//! All arithmetic is f64. Sums are in an order that depends on the number of rows alone: a result is the same on every
//! device.

use onrush_device::{Arguments, Buffer, Function, Grid};

use crate::column::Column;
use crate::error::{Error, Result};
use crate::headers;
use crate::library::{Context, Program};
use crate::scalar::Scalar;

/// Features at most: a tile of 16 rows of them is in the shared memory of a block.
pub const MOST_FEATURES: usize = 240;

/// Values of all centres of k-means at most: they and their sums are in shared memory.
pub const MOST_CENTERS: usize = 1024;

/// Points at most whose distances one pass of [`ScaledMatrix::nearer`] finds.
pub const MOST_POINTS: usize = 8;

const THREADS: u32 = 256;
/// 4 x 4 blocks of products of a block of threads, which has another group of threads for every second row.
const SLOTS: usize = 128;
/// Bytes of shared memory that every device has for a block.
const SHARED: usize = 48 << 10;

/// Statistics of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// The lowest finite value.
    pub low: f64,
    pub high: f64,
    pub sum: f64,
    /// Values that are infinite or NaN.
    pub not_finite: u64,
}

/// The result of a pass of a linear regression. `features` and a column of ones are the columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Gradient {
    /// For each column its product with the residuals; of a logistic regression the derivatives of the loss.
    pub gradient: Vec<f64>,
    /// The sums of the columns.
    pub sums: Vec<f64>,
    /// The sum of squares of the residuals; of a logistic regression the loss.
    pub squares: f64,
    /// The sum of the residuals.
    pub total: f64,
    /// Second derivatives of a logistic regression, (features + 1) squared. Else empty.
    pub hessian: Vec<f64>,
}

/// The result of a pass of k-means.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// centres x features: sums of the shifted and scaled features of each cluster.
    pub sums: Vec<f64>,
    /// Rows of each cluster.
    pub counts: Vec<u64>,
    /// Rows whose cluster is another one than before.
    pub changed: u64,
    /// The sum of the squared distances.
    pub inertia: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Products = 0,
    Residuals = 1,
    Logistic = 2,
}

/// Columns of numbers without nulls: features, and for some passes a target.
#[derive(Clone)]
pub struct ColumnMatrix {
    columns: Vec<(u64, u64)>,
    features: usize,
    has_target: bool,
    rows: u64,
}

/// A [`ColumnMatrix`] whose values are seen as `(value - shift) * scale`.
pub struct ScaledMatrix<'a> {
    matrix: &'a ColumnMatrix,
    table: Buffer,
}

fn type_number(scalar: Scalar) -> Result<u64> {
    Ok(match scalar {
        Scalar::F32 => 0,
        Scalar::F64 => 1,
        Scalar::I8 => 2,
        Scalar::I16 => 3,
        Scalar::I32 => 4,
        Scalar::I64 => 5,
        Scalar::U8 => 6,
        Scalar::U16 => 7,
        Scalar::U32 => 8,
        Scalar::U64 => 9,
        Scalar::I128 => return Err(Error::Unsupported { algorithm: "matrix", scalar: scalar.cuda() }),
    })
}

/// Rows of a chunk, and how many chunks there are. Both depend on the number of rows alone.
fn chunks(rows: u64, most: u64, step: u64) -> (u64, u64) {
    let each = rows.div_ceil(most).next_multiple_of(step).max(step);
    (each, rows.div_ceil(each))
}

fn pitch(width: usize) -> usize {
    width.div_ceil(4) * 4 + 2
}

/// Rows of a tile, so that it and `others` doubles fit into shared memory.
fn tile_rows(width: usize, others: usize) -> usize {
    let fits = |rows: usize| 8 * (rows * (pitch(width) + MOST_POINTS + 2) + others) <= SHARED;
    [64, 32, 16].into_iter().find(|rows| fits(*rows)).unwrap_or(8)
}

/// Bytes of shared memory. The results of all threads are collected there in the end.
fn shared(doubles: usize) -> u32 {
    (8 * doubles.max(2 * THREADS as usize)) as u32
}

impl ColumnMatrix {
    /// The columns must live as long as passes run.
    ///
    /// # Errors
    /// If a column is of a type that is not a number of up to 64 bits.
    ///
    /// # Panics
    /// If columns have different numbers of rows, or there are more than [`MOST_FEATURES`].
    pub fn new(features: &[Column], target: Option<&Column>) -> Result<ColumnMatrix> {
        assert!(features.len() <= MOST_FEATURES, "{} features", features.len());
        let rows = features.first().map_or(0, |column| column.rows);
        let all = features.iter().chain(target);
        let columns = all.map(|column| {
            assert!(column.rows == rows && column.validity.is_none());
            Ok((column.address(), type_number(column.scalar)?))
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Ok(ColumnMatrix { columns, features: features.len(), has_target: target.is_some(), rows })
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn features(&self) -> usize {
        self.features
    }

    /// Statistics of the features, then of the target. Sums are of values as they are.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn statistics(&self, context: &Context) -> Result<Vec<Statistics>> {
        let count = self.columns.len();
        let scaled = self.scaled(context, &vec![0.0; count], &vec![1.0; count])?;
        let (each, chunks) = chunks(self.rows, 128, 4096);
        let body = "extern \"C\" __global__ void __launch_bounds__(256) statistics(const MatrixColumn* columns, u64 rows, u64 chunk_rows, \
                    f64* out) {\n  matrix_statistics(columns, rows, chunk_rows, out);\n}\n";
        let function = function(context, body.to_string(), "statistics")?;
        let out = context.allocate(32 * chunks.max(1) * count as u64)?;
        let arguments = Arguments::new().buffer(&scaled.table).value(self.rows).value(each).buffer(&out);
        launch(context, &function, [chunks as u32, count as u32], 0, arguments)?;
        let found = out.read::<f64>(0..4 * chunks as usize * count, &context.stream)?;
        let of = |parts: &[f64]| {
            let mut all = Statistics { low: f64::INFINITY, high: f64::NEG_INFINITY, sum: 0.0, not_finite: 0 };
            for part in parts.chunks_exact(4) {
                all.low = all.low.min(part[0]);
                all.high = all.high.max(part[1]);
                all.sum += part[2];
                all.not_finite += part[3] as u64;
            }
            all
        };
        Ok((0..count).map(|c| of(&found[4 * c * chunks as usize..4 * (c + 1) * chunks as usize])).collect())
    }

    /// A shift and a scale for each column: features, then the target.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn scaled(&self, context: &Context, shift: &[f64], scale: &[f64]) -> Result<ScaledMatrix<'_>> {
        let mut table: Vec<u64> = Vec::with_capacity(4 * (self.columns.len() + 1));
        for (c, (address, dtype)) in self.columns.iter().enumerate() {
            table.extend([*address, *dtype, shift[c].to_bits(), scale[c].to_bits()]);
        }
        // The kernels always read one entry after those of the features, even without a target.
        table.extend([0; 4]);
        Ok(ScaledMatrix { matrix: self, table: context.upload(&table)? })
    }
}

impl ScaledMatrix<'_> {
    /// Sums of products of all columns, with a column of ones between the features and the target: a symmetric matrix,
    /// column after column.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn products(&self, context: &Context) -> Result<Vec<f64>> {
        let used = self.matrix.features + 1 + usize::from(self.matrix.has_target);
        let found = self.pass(context, Mode::Products, used, &[], 0.0)?;
        Ok(symmetric(&found, used))
    }

    /// The residuals `target - columns * params` in products with the columns. The last parameter is that of the column
    /// of ones.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn residuals(&self, context: &Context, params: &[f64]) -> Result<Gradient> {
        let used = self.matrix.features + 1;
        let found = self.pass(context, Mode::Residuals, used, params, 0.0)?;
        Ok(gradient(&found, used, Vec::new()))
    }

    /// The logistic loss of a target of 0 and 1 and its derivatives, each row with the weight `share`.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn logistic(&self, context: &Context, params: &[f64], share: f64) -> Result<Gradient> {
        let used = self.matrix.features + 1;
        let found = self.pass(context, Mode::Logistic, used, params, share)?;
        let hessian = symmetric(&found[2 * used + 2..], used);
        Ok(gradient(&found, used, hessian))
    }

    fn pass(&self, context: &Context, mode: Mode, used: usize, params: &[f64], share: f64) -> Result<Vec<f64>> {
        let matrix = self.matrix;
        let target = u32::from(matrix.has_target);
        let width = matrix.features + 1 + target as usize;
        let rows_of_tile = tile_rows(width, pitch(width));
        let quads = used.div_ceil(4);
        let blocks = if mode == Mode::Residuals { 0 } else { quads * (quads + 1) / 2 };
        let slots = blocks.next_power_of_two().clamp(1, SLOTS);
        let slices = blocks.div_ceil(slots).max(1);
        let vectors = if mode == Mode::Products { 0 } else { 2 * used + 2 };
        let stride = vectors + 16 * blocks;
        let name = format!("matrix_{}_{rows_of_tile}", mode as u32);
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}(const MatrixColumn* columns, u32 features, u32 target, \
             const f64* params, f64 share, u64 rows, u64 chunk_rows, u32 slots, f64* partials, u64 stride) {{\n  \
             matrix_pass<{}, {rows_of_tile}>(columns, features, target, params, share, rows, chunk_rows, slots, partials, stride);\n}}\n",
            mode as u32
        );
        let function = function(context, body, &name)?;
        let (each, chunks) = chunks(matrix.rows, 512, 64);
        let partials = context.allocate(8 * chunks * stride as u64)?;
        let params = if params.is_empty() { None } else { Some(context.upload(params)?) };
        let arguments = Arguments::new()
            .buffer(&self.table)
            .value(matrix.features as u32)
            .value(target)
            .optional(params.as_ref())
            .value(share)
            .value(matrix.rows)
            .value(each)
            .value(slots as u32)
            .buffer(&partials)
            .value(stride as u64);
        let doubles = (rows_of_tile * (pitch(width) + 2) + pitch(width)).max(16 * slots);
        launch(context, &function, [chunks as u32, slices as u32], shared(doubles), arguments)?;
        merged(context, &partials, chunks, stride)
    }

    /// The features of some rows, shifted and scaled, row after row.
    ///
    /// # Errors
    /// Errors of the device.
    pub fn rows_at(&self, context: &Context, rows: &[u64]) -> Result<Vec<f64>> {
        let features = self.matrix.features;
        let values = rows.len() * features;
        if values == 0 {
            return Ok(Vec::new());
        }
        let body = "extern \"C\" __global__ void __launch_bounds__(256) gather(const MatrixColumn* columns, u32 features, const u64* rows, \
                    u64 count, f64* out) {\n  matrix_gather(columns, features, rows, count, out);\n}\n";
        let function = function(context, body.to_string(), "gather")?;
        let (wanted, out) = (context.upload(rows)?, context.allocate(8 * values as u64)?);
        let arguments = Arguments::new().buffer(&self.table).value(features as u32).buffer(&wanted);
        let arguments = arguments.value(rows.len() as u64).buffer(&out);
        launch(context, &function, [(values as u32).div_ceil(THREADS), 1], 0, arguments)?;
        Ok(out.read::<f64>(0..values, &context.stream)?)
    }

    /// For each point, the sums over each chunk of rows of the smaller of the squared distance and `closest`, an f64
    /// for each row. The sums of a chunk are adjacent, a value for each point. With `keep` the distances to the first
    /// point become `closest`.
    ///
    /// # Errors
    /// Errors of the device.
    ///
    /// # Panics
    /// If there are more than [`MOST_POINTS`] points.
    pub fn nearer(&self, context: &Context, points: &[f64], closest: &Buffer, keep: bool) -> Result<Vec<f64>> {
        let features = self.matrix.features;
        let count = points.len() / features;
        assert!(count <= MOST_POINTS && closest.bytes() >= 8 * self.matrix.rows);
        let rows_of_tile = tile_rows(features + 1, points.len());
        let name = format!("matrix_nearer_{rows_of_tile}");
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}(const MatrixColumn* columns, u32 features, \
             const f64* points, u32 count, u32 keep, u64 rows, u64 chunk_rows, f64* closest, f64* partials) {{\n  \
             matrix_nearer<{rows_of_tile}>(columns, features, points, count, keep, rows, chunk_rows, closest, partials);\n}}\n"
        );
        let function = function(context, body, &name)?;
        let (each, chunks) = chunks_of_nearer(self.matrix.rows);
        let partials = context.allocate(8 * chunks * count as u64)?;
        let values = context.upload(points)?;
        let arguments = Arguments::new()
            .buffer(&self.table)
            .value(features as u32)
            .buffer(&values)
            .value(count as u32)
            .value(u32::from(keep))
            .value(self.matrix.rows)
            .value(each)
            .buffer(closest)
            .buffer(&partials);
        let doubles = rows_of_tile * (pitch(features + 1) + count) + points.len();
        launch(context, &function, [chunks as u32, 1], shared(doubles), arguments)?;
        Ok(partials.read::<f64>(0..chunks as usize * count, &context.stream)?)
    }

    /// The nearest centre of each row, the lower one on ties. `labels` has a u32 for each row, and is read and written.
    ///
    /// # Errors
    /// Errors of the device.
    ///
    /// # Panics
    /// If the centres have more than [`MOST_CENTERS`] values.
    pub fn assign(&self, context: &Context, centers: &[f64], labels: &Buffer) -> Result<Assignment> {
        let features = self.matrix.features;
        let count = centers.len() / features;
        assert!(centers.len() <= MOST_CENTERS && labels.bytes() >= 4 * self.matrix.rows);
        let sums = count * (features + 1);
        let rows_of_tile = tile_rows(features + 1, centers.len() + sums);
        let name = format!("matrix_assign_{rows_of_tile}");
        let body = format!(
            "extern \"C\" __global__ void __launch_bounds__({THREADS}) {name}(const MatrixColumn* columns, u32 features, \
             const f64* centers, u32 count, u64 rows, u64 chunk_rows, u32* labels, f64* partials, u64 stride) {{\n  \
             matrix_assign<{rows_of_tile}>(columns, features, centers, count, rows, chunk_rows, labels, partials, stride);\n}}\n"
        );
        let function = function(context, body, &name)?;
        let (each, chunks) = chunks(self.matrix.rows, 512, 64);
        let stride = sums + 2;
        let partials = context.allocate(8 * chunks * stride as u64)?;
        // Before the launch: a pass that ends for want of memory must not have written labels.
        let out = context.allocate(8 * stride as u64)?;
        let values = context.upload(centers)?;
        let arguments = Arguments::new()
            .buffer(&self.table)
            .value(features as u32)
            .buffer(&values)
            .value(count as u32)
            .value(self.matrix.rows)
            .value(each)
            .buffer(labels)
            .buffer(&partials)
            .value(stride as u64);
        let doubles = rows_of_tile * (pitch(features + 1) + 2) + centers.len() + sums;
        launch(context, &function, [chunks as u32, 1], shared(doubles), arguments)?;
        let found = merged_into(context, &partials, chunks, stride, &out)?;
        let rows = found.chunks_exact(features + 1).take(count);
        Ok(Assignment {
            sums: rows.clone().flat_map(|row| row[..features].to_vec()).collect(),
            counts: rows.map(|row| row[features] as u64).collect(),
            changed: found[sums] as u64,
            inertia: found[sums + 1],
        })
    }
}

/// Rows of a chunk of [`ScaledMatrix::nearer`], and how many there are.
pub fn chunks_of_nearer(rows: u64) -> (u64, u64) {
    chunks(rows, 512, 64)
}

fn gradient(found: &[f64], used: usize, hessian: Vec<f64>) -> Gradient {
    Gradient {
        gradient: found[..used].to_vec(),
        sums: found[used..2 * used].to_vec(),
        squares: found[2 * used],
        total: found[2 * used + 1],
        hessian,
    }
}

/// The matrix of 4 x 4 blocks of the upper triangle, by columns of blocks.
fn symmetric(blocks: &[f64], width: usize) -> Vec<f64> {
    let mut out = vec![0.0; width * width];
    for right in 0..width.div_ceil(4) {
        for left in 0..=right {
            let block = &blocks[16 * (right * (right + 1) / 2 + left)..][..16];
            for (position, value) in block.iter().enumerate() {
                let (i, j) = (4 * left + position % 4, 4 * right + position / 4);
                if i < width && j < width {
                    out[j * width + i] = *value;
                    out[i * width + j] = *value;
                }
            }
        }
    }
    out
}

fn function(context: &Context, body: String, entry: &str) -> Result<Function> {
    context.library.function(&Program::new(&[&headers::MATRIX], body, [entry]), entry)
}

fn launch(context: &Context, function: &Function, blocks: [u32; 2], shared: u32, arguments: Arguments) -> Result<()> {
    let grid = Grid { blocks: [blocks[0], blocks[1], 1], ..Grid::new(1, THREADS).shared(shared) };
    // SAFETY: the parameters are those of the bodies above. Tables and outputs have the lengths that are passed.
    // Columns live as long as the matrix is used, which its maker promises.
    unsafe { function.launch(&grid, arguments, &context.stream)? };
    Ok(())
}

/// The sums of all chunks, on the host.
fn merged(context: &Context, partials: &Buffer, chunks: u64, stride: usize) -> Result<Vec<f64>> {
    merged_into(context, partials, chunks, stride, &context.allocate(8 * stride as u64)?)
}

fn merged_into(context: &Context, partials: &Buffer, chunks: u64, stride: usize, out: &Buffer) -> Result<Vec<f64>> {
    let body = "extern \"C\" __global__ void __launch_bounds__(256) merge(const f64* partials, u64 chunks, u64 stride, f64* out) {\n  \
                matrix_merge(partials, chunks, stride, out);\n}\n";
    let function = function(context, body.to_string(), "merge")?;
    let arguments = Arguments::new().buffer(partials).value(chunks).value(stride as u64).buffer(out);
    launch(context, &function, [(stride as u32).div_ceil(THREADS), 1], 0, arguments)?;
    Ok(out.read::<f64>(0..stride, &context.stream)?)
}
