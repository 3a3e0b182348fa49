//! Rows that frames hold for good. If they exceed their limit of memory, the least recently used tables are spilled to
//! disk. A spilled table is memory-mapped, so readers notice only the time.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, TryLockError};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use onrush_frame::disk::{self, DiskWriter};
use onrush_frame::table::own_bytes;
use onrush_frame::{Table, TaskHandle};
use onrush_logical::frame_table::Frame;
use onrush_wire::{Class, Diagnostic};

use super::Engine;

/// The limit of resident rows, and the folder for spilled tables.
pub(super) struct Store {
    /// Bytes that residents may take.
    limit: u64,
    folder: Option<PathBuf>,
    /// Held while a thread spills tables.
    busy: Mutex<()>,
}

impl Store {
    pub fn new(limit: u64, folder: Option<PathBuf>) -> Self {
        Store { limit, folder, busy: Mutex::new(()) }
    }
}

impl Engine {
    /// Moves what was used longest ago to disk, as long as frames hold more than they may. What cannot be written
    /// stays: the frames are there, and the system has the last word about its memory.
    pub(super) fn make_room(&self, task: &TaskHandle) {
        let Some(folder) = &self.store.folder else { return };
        let _busy = match self.store.busy.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(e)) => e.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let stopped = || match task.check() {
            Ok(()) => Ok(()),
            Err(e) => Err(ArrowError::ExternalError(e.into())),
        };
        loop {
            let mut all = self.all_residents();
            let held: u64 = all.iter().map(|resident| resident.memory()).sum();
            all.retain(|resident| resident.memory() > 0 && !resident.stays());
            let oldest = all.iter().min_by_key(|resident| resident.used());
            let Some(oldest) = oldest.filter(|_| held > self.store.limit) else { return };
            let table = oldest.look();
            task.stage("write to disk what was used longest ago".to_string());
            let moved = onrush_wire::paths::private_dir(folder)
                .map_err(ArrowError::from)
                .and_then(|()| disk::move_to(folder, &table, stopped));
            let Ok(moved) = moved else {
                if task.check().is_err() {
                    return;
                }
                oldest.stay();
                continue;
            };
            let moved = Arc::new(moved);
            // What is on a device stays there.
            if let Some(accelerator) = &self.accelerator {
                accelerator.gpu.residency.moved(table.batches(), moved.batches());
            }
            oldest.put(moved);
            // They would keep it in memory.
            self.results.forget(&table);
            self.each_holder(|holder| holder.forget_table(&table));
            self.plans.clear();
        }
    }

    /// The rows of a frame to be held: in memory if they take no more than all that are held may, else on disk.
    pub(super) fn rows_to_hold(&self, frame: &Arc<Frame>, task: &TaskHandle) -> Result<Arc<Table>, Diagnostic> {
        let running = self.alone(frame, task)?;
        if let Some(table) = self.held(frame) {
            return Ok(table);
        }
        if let Some(table) = self.decoded(frame, task)? {
            return Ok(Arc::new(table));
        }
        if let Some(table) = self.run_on_device(frame, task)? {
            return Ok(Arc::new(table));
        }
        let Some(folder) = &self.store.folder else {
            drop(running);
            return self.run(frame, task);
        };
        let (mut batches, mut bytes) = (Vec::new(), 0);
        let mut writer = None;
        self.stream(frame, task, &mut |batch| {
            bytes += batch.columns().iter().map(own_bytes).sum::<u64>();
            if let Some(writer) = &mut writer {
                return DiskWriter::write(writer, &batch).map_err(|e| self.no_room(&e, bytes));
            }
            batches.push(batch);
            task.set_memory(bytes);
            if bytes > self.store.limit {
                let begun = begin(folder, &frame.schema, std::mem::take(&mut batches));
                writer = Some(begun.map_err(|e| self.no_room(&e, bytes))?);
                task.set_memory(0);
            }
            Ok(())
        })?;
        let table = match writer {
            None => self.for_device(Table::new(Arc::clone(&frame.schema), batches)),
            Some(writer) => writer.finish().map_err(|e| self.no_room(&e, bytes))?,
        };
        Ok(Arc::new(table))
    }

    /// Rows that are to be held. For a device small batches are put together: it finds a column by its batches.
    fn for_device(&self, table: Table) -> Table {
        if self.accelerator.is_none() {
            return table;
        }
        let small = table.clone();
        table.coalesced(onrush_parallel::CHUNK).unwrap_or(small)
    }

    fn no_room(&self, error: &ArrowError, bytes: u64) -> Diagnostic {
        let folder = self.store.folder.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default();
        let message = format!(
            "{} MB of rows were to be held, more than the {} MB for all frames, and they cannot be written to {folder}: {error}",
            bytes >> 20,
            self.store.limit >> 20,
        );
        Diagnostic::error(Class::Resources, "out-of-memory", message)
            .help("take fewer rows or columns, aggregate first, free space on that disk, or raise ONRUSH_MEMORY")
    }
}

/// A table on disk that begins with these rows.
fn begin(folder: &Path, schema: &SchemaRef, batches: Vec<RecordBatch>) -> Result<DiskWriter, ArrowError> {
    onrush_wire::paths::private_dir(folder)?;
    let mut writer = DiskWriter::create(folder, Arc::clone(schema))?;
    batches.iter().try_for_each(|batch| writer.write(batch))?;
    Ok(writer)
}
