//! Trainings whose columns stay on the device: the passes of `onrush_learn` by the kernels of `onrush_kernels::matrix`.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use arrow::array::Array;
use arrow::datatypes::DataType;
use onrush_device::Buffer;
use onrush_frame::{Table, TaskHandle};
use onrush_gpu::{Accelerator, Policy};
use onrush_kernels::matrix::{ColumnMatrix, Gradient, ScaledMatrix, chunks_of_nearer};
use onrush_kernels::{Column as KernelColumn, Context, Scalar};
use onrush_learn::device::{ClusterSums, ColumnStatistics, DeviceLimits, DevicePasses, DeviceRows, PassSums};
use onrush_learn::{Column, Data, Error, ErrorKind, runs_on_device};
use onrush_ops::residency::ColumnChunks;
use onrush_ops::{DeviceColumn, DeviceType};
use onrush_wire::learn::{Fit, info as estimator};
use onrush_wire::{Diagnostic, Field};

use super::data::{TARGET, Training, fill_target, name_of, sampled, whole};
use super::{Task, results, task_of};
use crate::engine::Engine;

/// The limits of the kernels.
const LIMITS: DeviceLimits =
    DeviceLimits { features: onrush_kernels::matrix::MOST_FEATURES, centers: onrush_kernels::matrix::MOST_CENTERS };

/// Columns on a device.
pub struct Passes {
    accelerator: Arc<Accelerator>,
    matrix: ColumnMatrix,
    /// What the matrix reads lives as long.
    _columns: Vec<DeviceColumn>,
    _target: Option<Buffer>,
    clusters: Mutex<Option<Clusters>>,
    statistics: OnceLock<Vec<ColumnStatistics>>,
    /// An error of the device that the session must hear of as it is.
    failed: Mutex<Option<Diagnostic>>,
}

/// The state of a k-means.
struct Clusters {
    shift: Vec<f64>,
    labels: Buffer,
    closest: Buffer,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine {
    /// A training whose columns stay on the device. `None` if it is one for the host.
    pub(super) fn device_training(
        &self,
        fit: &Fit,
        task: &TaskHandle,
    ) -> Result<Option<(Training, Arc<Passes>)>, Diagnostic> {
        let spec = &fit.spec;
        let plain = spec.weight.is_none() && spec.groups.is_none() && fit.eval.is_empty();
        let Some(accelerator) = self.accelerator.as_ref().filter(|_| plain) else { return Ok(None) };
        if !estimator(&spec.estimator).is_some_and(|estimator| estimator.device) {
            return Ok(None);
        }
        let (features, target) = self.roles(fit)?;
        let table = self.selected(fit.frame, spec, &features, target.as_ref(), task)?;
        let least = if let Policy::FromRows(least) = accelerator.policy { least as usize } else { 0 };
        let width = features.len();
        let position_of_target = table.schema().index_of(TARGET).ok();
        let is_class = task_of(spec) == Task::Classification;
        let read = (0..width).chain(position_of_target.filter(|_| !is_class));
        if table.rows() < least || read.clone().any(|column| !is_plain(&table, column)) {
            return Ok(None);
        }
        let values = |name: &str| Column::number(name, Vec::new());
        let columns = features.iter().map(|(name, _)| values(name)).collect();
        let mut data = Data { rows: table.rows(), ..Data::new(columns) };
        let (mut classes, mut target_field) = (None, None);
        if let (Some(target), Some(position)) = (&target, position_of_target) {
            let array = is_class.then(|| whole(&table, position)).transpose()?;
            let name = name_of(target);
            if let Some(array) = &array {
                classes = self.on_learners(|| fill_target(&mut data, &name, array, Task::Classification))?;
            }
            data.target.clone_from(&name);
            let dtype = onrush_frame::dtype_to_wire(table.schema().field(position).data_type());
            target_field = Some(Field { name, dtype, nullable: false });
        }
        if !runs_on_device(spec, &data, LIMITS) {
            return Ok(None);
        }
        task.stage("columns on the device");
        let y = if is_class { Some(data.y.as_slice()) } else { None };
        let passes = match Passes::new(accelerator, &table, &read.collect::<Vec<_>>(), width, y) {
            Ok(passes) => Arc::new(passes),
            Err(error) if error.is_memory() => return Ok(None),
            Err(error) => return Err(onrush_gpu::diagnostic(error)),
        };
        data.device = Some(DeviceRows(Arc::clone(&passes) as Arc<dyn DevicePasses>));
        let fields = features.into_iter().enumerate().map(|(column, (name, expr))| {
            let dtype = onrush_frame::dtype_to_wire(table.schema().field(column).data_type());
            (Field { name, dtype, nullable: false }, expr)
        });
        let mut training = Training {
            features: fields.collect(),
            target: target_field,
            classes,
            sample: None,
            place: if accelerator.name == "cuda" { "gpu" } else { accelerator.name },
            data,
            _memory: None,
        };
        // Rows for the score on the card.
        if let (Some(position), false) = (position_of_target, is_class && training.classes.is_none()) {
            let step = table.rows().div_ceil(results::SCORED).max(1);
            let rows = self.on_learners(|| sampled(&table, width, position, step, &training.data))?;
            training.sample = Some((step, rows));
        }
        Ok(Some((training, passes)))
    }
}

/// Whether a column has numbers of a type that kernels read, and no nulls.
fn is_plain(table: &Table, column: usize) -> bool {
    let dtype = table.schema().field(column).data_type();
    let number = dtype.is_integer() || matches!(dtype, DataType::Float32 | DataType::Float64);
    number && table.batches().iter().all(|batch| batch.column(column).null_count() == 0)
}

impl Passes {
    /// The columns at `read`, of which the first `width` are features. `y` is the target of a classifier, by class.
    fn new(
        accelerator: &Arc<Accelerator>,
        table: &Table,
        read: &[usize],
        width: usize,
        y: Option<&[f64]>,
    ) -> onrush_ops::Result<Passes> {
        let gpu = &accelerator.gpu;
        let chunks: Vec<ColumnChunks> = read.iter().map(|column| ColumnChunks::of(table.batches(), *column)).collect();
        let (columns, target) = gpu.with_eviction(|| {
            let lane = gpu.lane(table.rows() as u64)?;
            let mut columns = Vec::new();
            for chunks in &chunks {
                columns.push(gpu.residency.column(&lane, chunks, false)?);
            }
            let target = y.map(|y| lane.context.upload(y)).transpose()?;
            lane.context.stream.synchronize()?;
            Ok((columns, target))
        })?;
        let mut all = Vec::new();
        for column in &columns {
            match column.stored() {
                DeviceType::Number(scalar) => all.push(column.numbers(scalar)),
                _ => return Err(onrush_ops::Error::Unsupported("a column of a training".to_string())),
            }
        }
        all.extend(target.as_ref().map(|buffer| KernelColumn::new(Scalar::F64, buffer)));
        let matrix = ColumnMatrix::new(&all[..width], all.get(width))?;
        Ok(Passes {
            accelerator: Arc::clone(accelerator),
            matrix,
            _columns: columns,
            _target: target,
            clusters: Mutex::default(),
            statistics: OnceLock::new(),
            failed: Mutex::default(),
        })
    }

    /// The error of the device that ended a training.
    pub fn failure(&self) -> Option<Diagnostic> {
        lock(&self.failed).take()
    }

    /// Runs a pass on a stream. Its results are on the host when it returns, so the next pass may take another stream.
    fn pass<T>(&self, work: impl Fn(&Context) -> onrush_ops::Result<T>) -> Result<T, Error> {
        let gpu = &self.accelerator.gpu;
        let done = gpu.with_eviction(|| {
            let lane = gpu.lane(self.matrix.rows())?;
            let done = work(&lane.context);
            if done.is_err() {
                // Another attempt may take another stream, and write what this one still writes.
                lane.context.stream.synchronize()?;
            }
            done
        });
        done.map_err(|error| match error.is_memory() {
            true => Error::host_needed("the device has too little memory"),
            false => {
                let error = onrush_gpu::diagnostic(error);
                let message = error.message.clone();
                lock(&self.failed).get_or_insert(error);
                Error::new(ErrorKind::Gpu, message)
            }
        })
    }

    fn scaled<T>(
        &self,
        shift: &[f64],
        scale: &[f64],
        work: impl Fn(&Context, &ScaledMatrix<'_>) -> onrush_kernels::Result<T>,
    ) -> Result<T, Error> {
        self.pass(|context| Ok(work(context, &self.matrix.scaled(context, shift, scale)?)?))
    }

    /// A pass of a k-means that has begun.
    fn of_clusters<T>(
        &self,
        work: impl Fn(&Context, &ScaledMatrix<'_>, &Clusters) -> onrush_kernels::Result<T>,
    ) -> Result<T, Error> {
        let clusters = lock(&self.clusters);
        let clusters = clusters.as_ref().ok_or_else(|| Error::new(ErrorKind::Gpu, "no k-means has begun"))?;
        let scale = vec![1.0; clusters.shift.len()];
        self.scaled(&clusters.shift, &scale, |context, scaled| work(context, scaled, clusters))
    }
}

fn sums(found: Gradient) -> PassSums {
    let Gradient { gradient, sums, squares, total, hessian } = found;
    PassSums { gradient, sums, squares, total, hessian }
}

impl DevicePasses for Passes {
    fn statistics(&self) -> Result<Vec<ColumnStatistics>, Error> {
        if let Some(known) = self.statistics.get() {
            return Ok(known.clone());
        }
        let found = self.pass(|context| Ok(self.matrix.statistics(context)?))?;
        let of = |s: onrush_kernels::matrix::Statistics| ColumnStatistics {
            low: s.low,
            high: s.high,
            sum: s.sum,
            not_finite: s.not_finite,
        };
        Ok(self.statistics.get_or_init(|| found.into_iter().map(of).collect()).clone())
    }

    fn products(&self, shift: &[f64], scale: &[f64]) -> Result<Vec<f64>, Error> {
        self.scaled(shift, scale, |context, scaled| scaled.products(context))
    }

    fn residuals(&self, shift: &[f64], scale: &[f64], coef: &[f64]) -> Result<PassSums, Error> {
        self.scaled(shift, scale, |context, scaled| scaled.residuals(context, coef)).map(sums)
    }

    fn logistic(&self, shift: &[f64], scale: &[f64], params: &[f64], share: f64) -> Result<PassSums, Error> {
        self.scaled(shift, scale, |context, scaled| scaled.logistic(context, params, share)).map(sums)
    }

    fn begin_clusters(&self, shift: &[f64]) -> Result<(), Error> {
        let rows = self.matrix.rows();
        let made = self.pass(|context| {
            let labels = context.allocate(4 * rows)?;
            labels.fill(0xff, &context.stream)?;
            // Bytes that make a number of 1e306: farther than any row.
            let closest = context.allocate(8 * rows)?;
            closest.fill(0x7f, &context.stream)?;
            context.stream.synchronize()?;
            Ok(Clusters { shift: shift.to_vec(), labels, closest })
        })?;
        *lock(&self.clusters) = Some(made);
        Ok(())
    }

    fn rows_at(&self, rows: &[usize]) -> Result<Vec<f64>, Error> {
        let rows: Vec<u64> = rows.iter().map(|row| *row as u64).collect();
        self.of_clusters(|context, scaled, _| scaled.rows_at(context, &rows))
    }

    fn nearer(&self, points: &[f64], keep: bool) -> Result<Vec<f64>, Error> {
        self.of_clusters(|context, scaled, clusters| scaled.nearer(context, points, &clusters.closest, keep))
    }

    fn chunk_rows(&self) -> usize {
        chunks_of_nearer(self.matrix.rows()).0 as usize
    }

    fn closest(&self, chunk: usize) -> Result<Vec<f64>, Error> {
        let (first, rows) = (chunk * self.chunk_rows(), self.matrix.rows() as usize);
        let range = first..rows.min(first + self.chunk_rows());
        self.of_clusters(|context, _, clusters| Ok(clusters.closest.read::<f64>(range.clone(), &context.stream)?))
    }

    fn assign(&self, centers: &[f64]) -> Result<ClusterSums, Error> {
        let found = self.of_clusters(|context, scaled, clusters| scaled.assign(context, centers, &clusters.labels))?;
        let onrush_kernels::matrix::Assignment { sums, counts, changed, inertia } = found;
        Ok(ClusterSums { sums, counts, changed, inertia })
    }

    fn labels(&self) -> Result<Vec<u32>, Error> {
        let rows = self.matrix.rows() as usize;
        self.of_clusters(|context, _, clusters| Ok(clusters.labels.read::<u32>(0..rows, &context.stream)?))
    }
}
