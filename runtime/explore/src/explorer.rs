//! Views of a frame for the table explorer: filtered and sorted once, then read page by page.
//!
//! A cached view is dropped if it is forgotten, its frame is released or newer views need the memory. It can be
//! computed again.

mod column_profile;
mod ranks;
mod sort;

use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::interleave_record_batch;
use lru::LruCache;
use onrush_engine::{Engine, FrameRows, TableHolder};
use onrush_expr::error::internal;
use onrush_frame::{Table, TaskHandle, preview};
use onrush_logical::fingerprint;
use onrush_logical::frame_table::Frame;
use onrush_logical::ops::Inputs;
use onrush_wire::explore::{Explore, ExploreReply, View};
use onrush_wire::plan::{Op, Sink};
use onrush_wire::{Class, Diagnostic, Expr, ExprKind, FrameId, ObjectId, Value, codec};
use parking_lot::Mutex;

/// Rows that a page has at most.
const PAGE: u32 = 2000;
/// Rows that are written at once.
const WRITE: usize = 1 << 16;
/// Views that are kept.
const KEPT: usize = 24;

/// The rows of a view: those of `table` in `order`, or all of them as they are.
struct ViewRows {
    table: Arc<Table>,
    /// The first row of each batch of the table.
    starts: Vec<usize>,
    order: Option<Vec<u32>>,
}

struct CachedView {
    frame: FrameId,
    rows: Arc<ViewRows>,
    /// The bytes that it alone keeps in memory.
    bytes: u64,
}

/// Answers table explorers over the frames of an engine.
pub struct Explorer {
    engine: Arc<Engine>,
    cache: Arc<ViewCache>,
}

/// An LRU cache of views with a limit of their number and of their bytes.
struct ViewCache {
    kept: Mutex<LruCache<u128, CachedView>>,
    /// Held while an order is computed: two at a time would need twice the memory.
    computing: Mutex<()>,
}

impl Default for ViewCache {
    fn default() -> Self {
        ViewCache { kept: Mutex::new(LruCache::unbounded()), computing: Mutex::new(()) }
    }
}

impl ViewCache {
    fn get(&self, key: u128) -> Option<Arc<ViewRows>> {
        self.kept.lock().get(&key).map(|view| Arc::clone(&view.rows))
    }

    fn put(&self, key: u128, view: CachedView, limit: u64) {
        let mut kept = self.kept.lock();
        kept.put(key, view);
        while kept.len() > KEPT || (kept.len() > 1 && kept.iter().map(|(_, view)| view.bytes).sum::<u64>() > limit) {
            kept.pop_lru();
        }
    }

    fn forget(&self, key: u128) {
        self.kept.lock().pop(&key);
    }

    fn remove_if(&self, is_stale: impl Fn(&CachedView) -> bool) {
        let mut kept = self.kept.lock();
        let stale: Vec<u128> = kept.iter().filter(|(_, view)| is_stale(view)).map(|(key, _)| *key).collect();
        for key in stale {
            kept.pop(&key);
        }
    }
}

impl TableHolder for ViewCache {
    fn forget_table(&self, table: &Arc<Table>) {
        self.remove_if(|view| Arc::ptr_eq(&view.rows.table, table));
    }

    fn release(&self, objects: &[ObjectId]) {
        self.remove_if(|view| objects.contains(&view.frame.into()));
    }
}

impl ViewRows {
    fn new(table: Arc<Table>, order: Option<Vec<u32>>) -> Self {
        let mut next = 0;
        let starts = table.batches().iter().map(|batch| {
            let start = next;
            next += batch.num_rows();
            start
        });
        ViewRows { starts: starts.collect(), order, table }
    }

    fn rows(&self) -> usize {
        self.order.as_ref().map_or(self.table.rows(), Vec::len)
    }

    /// The batch and the row in it.
    fn place(&self, row: usize) -> (usize, usize) {
        let batch = self.starts.partition_point(|start| *start <= row) - 1;
        (batch, row - self.starts[batch])
    }

    fn position(&self, row: usize) -> usize {
        self.order.as_ref().map_or(row, |order| order[row] as usize)
    }
}

impl Explorer {
    /// The engine tells the cache of views what it lets go of.
    pub fn new(engine: Arc<Engine>) -> Self {
        let cache = Arc::<ViewCache>::default();
        let holder: Weak<ViewCache> = Arc::downgrade(&cache);
        engine.add_holder(holder);
        Explorer { engine, cache }
    }

    /// Answers a table explorer; see [`Explore`].
    ///
    /// # Errors
    /// What running the frame and its filter can give, columns that cannot be sorted, and stopping.
    pub fn explore(&self, view: &View, what: &Explore, task: &TaskHandle) -> Result<ExploreReply, Diagnostic> {
        if !matches!(what, Explore::DropView) {
            self.look_at(view.frame, task)?;
        }
        match what {
            Explore::ComputeView => Ok(ExploreReply::Count(self.row_count(view, task)?)),
            Explore::Rows { offset, count, columns } => self.page(view, *offset, (*count).min(PAGE), columns, task),
            Explore::Summary(request) => {
                // Its rows count, not their order.
                let unsorted = View { sort: Vec::new(), ..view.clone() };
                let name = self.column_name(view.frame, request.column)?;
                let chunks = self.column_chunks(&unsorted, &name, task)?;
                task.stage(format!("summarise {name}"));
                Ok(ExploreReply::Summary(column_profile::of(&chunks, request, task)?))
            }
            Explore::Write { columns, sink } => self.write_view(view, columns, sink, task),
            Explore::DropView => {
                self.cache.forget(self.view_key(view)?);
                Ok(ExploreReply::Done)
            }
        }
    }

    /// Computes a frame that is not held, so that its rows are, or are known to be too many.
    fn look_at(&self, id: FrameId, task: &TaskHandle) -> Result<(), Diagnostic> {
        let frame = self.engine.frame(id)?;
        let all = View { frame: id, filter: None, sort: Vec::new() };
        let key = self.view_key(&all)?;
        if self.engine.held(&frame).is_some() || frame.too_many().is_some() || self.cache.get(key).is_some() {
            return Ok(());
        }
        if let FrameRows::Held(table) = self.engine.whole(&frame, (0, 0), task)? {
            self.keep(key, &all, ViewRows::new(table, None))?;
        }
        Ok(())
    }

    /// The rows of a frame that are not too many.
    fn rows_of_frame(&self, frame: &Arc<Frame>, id: FrameId, task: &TaskHandle) -> Result<Arc<Table>, Diagnostic> {
        let key = self.view_key(&View { frame: id, filter: None, sort: Vec::new() })?;
        match self.cache.get(key) {
            Some(all) => Ok(Arc::clone(&all.table)),
            None => self.engine.run(frame, task),
        }
    }

    fn view_key(&self, view: &View) -> Result<u128, Diagnostic> {
        let frame = self.engine.frame(view.frame)?;
        let content = codec::content(&(&view.filter, &view.sort));
        Ok(fingerprint::hash(|h| ("view", view.frame.0, frame.key, &content).hash(h)))
    }

    /// How many rows a frame has that is too large to be held.
    fn scanned(&self, frame: &Frame) -> Option<u64> {
        frame.too_many().filter(|_| self.engine.held(frame).is_none())
    }

    fn column_name(&self, frame: FrameId, column: u32) -> Result<String, Diagnostic> {
        let frame = self.engine.frame(frame)?;
        let field = frame.schema.fields().get(column as usize);
        field.map(|field| field.name().clone()).ok_or_else(|| internal(&format!("there is no column {column}")))
    }

    fn row_count(&self, view: &View, task: &TaskHandle) -> Result<u64, Diagnostic> {
        let frame = self.engine.frame(view.frame)?;
        match self.scanned(&frame) {
            Some(rows) if view.filter.is_none() && view.sort.is_empty() => Ok(rows),
            _ => Ok(self.view_rows(view, task)?.rows() as u64),
        }
    }

    fn view_rows(&self, view: &View, task: &TaskHandle) -> Result<Arc<ViewRows>, Diagnostic> {
        let key = self.view_key(view)?;
        if let Some(found) = self.cache.get(key) {
            return Ok(found);
        }
        if view.filter.is_none() && view.sort.is_empty() {
            // The view is the frame itself. Its pages do not wait for the sort of another table.
            return self.keep(key, view, self.compute_rows(view, task)?);
        }
        let _one_at_a_time = loop {
            if let Some(guard) = self.cache.computing.try_lock() {
                break guard;
            }
            task.check()?;
            std::thread::sleep(Duration::from_millis(3));
        };
        if let Some(found) = self.cache.get(key) {
            return Ok(found);
        }
        self.keep(key, view, self.compute_rows(view, task)?)
    }

    fn keep(&self, key: u128, view: &View, view_rows: ViewRows) -> Result<Arc<ViewRows>, Diagnostic> {
        let order = view_rows.order.as_ref().map_or(0, |order| order.len() as u64 * 4);
        // Rows that the frame holds itself cost nothing more.
        let rows = match &self.engine.frame(view.frame)?.resident {
            Some(resident) if Arc::ptr_eq(&resident.look(), &view_rows.table) => 0,
            _ => view_rows.table.bytes(),
        };
        let view_rows = Arc::new(view_rows);
        let kept = CachedView { frame: view.frame, rows: Arc::clone(&view_rows), bytes: order + rows };
        self.cache.put(key, kept, self.engine.memory_limit() / 4);
        Ok(view_rows)
    }

    fn compute_rows(&self, view: &View, task: &TaskHandle) -> Result<ViewRows, Diagnostic> {
        let frame = self.engine.frame(view.frame)?;
        let (table, mut order) = match (&view.filter, self.scanned(&frame)) {
            (None, _) => (self.rows_of_frame(&frame, view.frame, task)?, None),
            // The rows that pass are held instead of the whole.
            (Some(predicate), Some(_)) => {
                let filter = Op::Filter { input: view.frame, predicate: predicate.clone() };
                (self.engine.run_op(&filter, task)?, None)
            }
            (Some(predicate), None) => {
                let table = self.rows_of_frame(&frame, view.frame, task)?;
                let kept = self.passing(view.frame, predicate, task)?;
                (table, Some(kept))
            }
        };
        if !view.sort.is_empty() {
            task.stage("sort");
            let keys = sort::keys(&view.sort, table.schema())?;
            let limit = self.engine.memory_limit();
            order = sort::order(&table, order, &keys, limit, task)?;
        }
        Ok(ViewRows::new(table, order))
    }

    /// Positions of the rows for which a predicate is true.
    fn passing(&self, input: FrameId, predicate: &Expr, task: &TaskHandle) -> Result<Vec<u32>, Diagnostic> {
        task.stage("filter");
        let kind = ExprKind::Alias(Box::new(predicate.clone()), "passes".to_string());
        let exprs = vec![Expr { kind, span: None }];
        let table = self.engine.run_op(&Op::Select { input, exprs }, task)?;
        sort::few_enough(table.rows())?;
        let mut kept = Vec::new();
        let mut start = 0u32;
        for batch in table.batches() {
            let passes: &BooleanArray = batch.column(0).as_boolean_opt().ok_or_else(|| {
                Diagnostic::error(Class::Plan, "filter", "a filter has to be true or false for each row")
            })?;
            let both = match passes.nulls() {
                Some(nulls) => passes.values() & nulls.inner(),
                None => passes.values().clone(),
            };
            kept.extend(both.set_indices_u32().map(|row| start + row));
            start += passes.len() as u32;
            task.check()?;
        }
        Ok(kept)
    }

    fn page(
        &self,
        view: &View,
        offset: u64,
        count: u32,
        columns: &[u32],
        task: &TaskHandle,
    ) -> Result<ExploreReply, Diagnostic> {
        let frame = self.engine.frame(view.frame)?;
        let known = columns.iter().all(|c| (*c as usize) < frame.schema.fields().len());
        if !known {
            return Err(internal(&format!("the frame has {} columns", frame.schema.fields().len())));
        }
        if let (Some(total), true) = (self.scanned(&frame), view.filter.is_none() && view.sort.is_empty()) {
            let part = self.engine.part(&frame, offset.min(total) as usize, count as usize, task)?;
            let part = ViewRows::new(Arc::new(part), None);
            return Ok(rows_of(&part, 0, count, columns, total, offset));
        }
        let view_rows = self.view_rows(view, task)?;
        let total = view_rows.rows() as u64;
        Ok(rows_of(&view_rows, offset, count, columns, total, 0))
    }

    /// The values of a column in the view's rows, in pieces.
    fn column_chunks(&self, view: &View, name: &str, task: &TaskHandle) -> Result<Vec<ArrayRef>, Diagnostic> {
        let frame = self.engine.frame(view.frame)?;
        let failed = |e: arrow::error::ArrowError| internal(&e.to_string());
        if view.filter.is_none() && self.scanned(&frame).is_some() {
            let table = self.engine.table(view.frame, &[name.to_string()], task)?;
            return Ok(table.batches().iter().map(|batch| Arc::clone(batch.column(0))).collect());
        }
        let view_rows = self.view_rows(view, task)?;
        let table = &view_rows.table;
        let column = table.schema().index_of(name).map_err(failed)?;
        let Some(order) = &view_rows.order else {
            return Ok(table.batches().iter().map(|batch| Arc::clone(batch.column(column))).collect());
        };
        // Rows that pass a filter are in the table's order: each batch has a stretch of them.
        let mut chunks = Vec::new();
        let mut rest = order.as_slice();
        for (batch, start) in table.batches().iter().zip(&view_rows.starts) {
            let end = start + batch.num_rows();
            let (here, after) = rest.split_at(rest.partition_point(|row| (*row as usize) < end));
            rest = after;
            if here.len() == batch.num_rows() {
                chunks.push(Arc::clone(batch.column(column)));
            } else if !here.is_empty() {
                let rows = arrow::array::UInt32Array::from_iter_values(here.iter().map(|row| row - *start as u32));
                chunks.push(arrow::compute::take(batch.column(column), &rows, None).map_err(failed)?);
            }
            task.check()?;
        }
        Ok(chunks)
    }

    fn write_view(
        &self,
        view: &View,
        columns: &[u32],
        sink: &Sink,
        task: &TaskHandle,
    ) -> Result<ExploreReply, Diagnostic> {
        let frame = self.engine.frame(view.frame)?;
        if view.sort.is_empty() && self.scanned(&frame).is_some() {
            return self.write_rows(view, columns, sink, task);
        }
        let failed = |e: arrow::error::ArrowError| internal(&e.to_string());
        let view_rows = self.view_rows(view, task)?;
        let positions: Vec<usize> = match columns {
            [] => (0..view_rows.table.schema().fields().len()).collect(),
            some => some.iter().map(|c| *c as usize).collect(),
        };
        let table = view_rows.table.project(&positions).map_err(failed)?;
        let mut writer = onrush_io::FileWriter::create(sink, table.schema())?;
        task.stage(format!("write {}", sink.name()));
        task.set_rows(0);
        task.set_total_rows(Some(view_rows.rows() as u64));
        let mut write = |batch: &RecordBatch| {
            task.add_rows(batch.num_rows() as u64);
            writer.write(batch, task)
        };
        match &view_rows.order {
            None => table.batches().iter().try_for_each(&mut write)?,
            Some(order) => {
                let batches: Vec<&RecordBatch> = table.batches().iter().collect();
                for rows in order.chunks(WRITE) {
                    let places: Vec<_> = rows.iter().map(|row| view_rows.place(*row as usize)).collect();
                    write(&interleave_record_batch(&batches, &places).map_err(failed)?)?;
                }
            }
        }
        Ok(written(writer.finish()?))
    }

    /// The rows of a view that is not sorted, as they are computed.
    fn write_rows(
        &self,
        view: &View,
        columns: &[u32],
        sink: &Sink,
        task: &TaskHandle,
    ) -> Result<ExploreReply, Diagnostic> {
        let failed = |e: arrow::error::ArrowError| internal(&e.to_string());
        let frame = match &view.filter {
            None => self.engine.frame(view.frame)?,
            Some(predicate) => {
                Arc::new(self.engine.made(&Op::Filter { input: view.frame, predicate: predicate.clone() }, task)?)
            }
        };
        let positions: Vec<usize> = match columns {
            [] => (0..frame.schema.fields().len()).collect(),
            some => some.iter().map(|c| *c as usize).collect(),
        };
        let schema = Arc::new(frame.schema.project(&positions).map_err(failed)?);
        let mut writer = onrush_io::FileWriter::create(sink, &schema)?;
        self.engine
            .stream(&frame, task, &mut |batch| writer.write(&batch.project(&positions).map_err(failed)?, task))?;
        Ok(written(writer.finish()?))
    }
}

fn written(file: onrush_io::WrittenFile) -> ExploreReply {
    ExploreReply::Written { path: file.path.to_string_lossy().into_owned(), rows: file.rows, bytes: file.bytes }
}

fn rows_of(view_rows: &ViewRows, offset: u64, count: u32, columns: &[u32], total: u64, before: u64) -> ExploreReply {
    let rows = view_rows.rows();
    let from = usize::try_from(offset).unwrap_or(usize::MAX).min(rows);
    let to = from.saturating_add(count as usize).min(rows);
    let positions: Vec<usize> = (from..to).map(|row| view_rows.position(row)).collect();
    let places: Vec<(usize, usize)> = positions.iter().map(|row| view_rows.place(*row)).collect();
    let batches = view_rows.table.batches();
    let values = |column: u32| -> Vec<Value> {
        places.iter().map(|(batch, row)| preview::shown(batches[*batch].column(column as usize), *row)).collect()
    };
    ExploreReply::Rows {
        total,
        columns: columns.iter().map(|column| values(*column)).collect(),
        positions: positions.into_iter().map(|row| row as u64 + before).collect(),
    }
}
