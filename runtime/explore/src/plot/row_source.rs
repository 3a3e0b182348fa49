//! Rows that a plot reads in several passes: those of a table in memory, or those of a plan.
//!
//! The rows of a plan are cached after the first pass if they are few, else each pass computes them again.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::SchemaRef;
use onrush_engine::Engine;
use onrush_expr::error::internal;
use onrush_frame::table::own_bytes;
use onrush_frame::{Table, TaskHandle};
use onrush_logical::frame_table::Frame;
use onrush_wire::plan::Op;
use onrush_wire::{Diagnostic, Expr, FrameId};

/// Rows that are looked at together.
const TOGETHER: usize = 1 << 16;

pub struct Rows<'a> {
    /// The plan that gives them; none if they are held from the beginning.
    plan: Option<Plan<'a>>,
    schema: SchemaRef,
    held: RefCell<Option<Arc<Table>>>,
    /// Known after a walk.
    count: Cell<Option<usize>>,
}

struct Plan<'a> {
    engine: &'a Engine,
    frame: Arc<Frame>,
    keep: u64,
}

impl<'a> Rows<'a> {
    /// Selects expressions of a frame, to be walked over. Nothing runs yet; up to `keep` bytes are kept between walks.
    pub fn select(engine: &'a Engine, id: FrameId, exprs: &[Expr], keep: u64) -> Result<Self, Diagnostic> {
        let op = Op::Select { input: id, exprs: exprs.to_vec() };
        Ok(Rows::of_plan(engine, engine.made(&op, &TaskHandle::new())?, keep))
    }

    /// The rows of a frame that needs no id. Up to `keep` bytes of it are kept for the next walk.
    pub fn of_plan(engine: &'a Engine, frame: Frame, keep: u64) -> Self {
        let (schema, held) = (Arc::clone(&frame.schema), engine.held(&frame));
        let count = Cell::new(held.as_ref().map(|table| table.rows()));
        Rows { plan: Some(Plan { engine, frame: Arc::new(frame), keep }), schema, held: RefCell::new(held), count }
    }

    #[cfg(test)]
    pub fn of_table(table: Table) -> Self {
        let (schema, count) = (Arc::clone(table.schema()), Cell::new(Some(table.rows())));
        Rows { plan: None, schema, held: RefCell::new(Some(Arc::new(table))), count }
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub fn count(&self) -> Option<usize> {
        self.count.get()
    }

    /// Whether the next walk has the same pieces as this one, without anything that runs.
    pub fn is_held(&self) -> bool {
        self.held.borrow().is_some()
    }

    /// All rows at once.
    pub fn table(&self, task: &TaskHandle) -> Result<Arc<Table>, Diagnostic> {
        if let Some(table) = self.held.borrow().as_ref() {
            return Ok(Arc::clone(table));
        }
        let Some(Plan { engine, frame, .. }) = &self.plan else { return Err(internal("a plot has no rows")) };
        let table = engine.run(frame, task)?;
        self.hold(&table);
        Ok(table)
    }

    /// All rows at once, with the frame that they are of, if they take no more than what may be kept. Else a part of
    /// them was computed for nothing. Rows that are others each time have to be kept.
    pub fn if_few(self, task: &TaskHandle) -> Result<Option<(Arc<Frame>, Arc<Table>)>, Diagnostic> {
        let Some(Plan { engine, frame, keep }) = &self.plan else { return Ok(None) };
        if engine.varies(frame) {
            return Ok(Some((Arc::clone(frame), self.table(task)?)));
        }
        let (mut batches, mut bytes) = (Vec::new(), 0);
        let ran = engine.stream(frame, task, &mut |batch| {
            bytes += batch.columns().iter().map(own_bytes).sum::<u64>();
            task.set_memory(bytes);
            batches.push(batch);
            if bytes > *keep { Err(internal("the rows take more than may be kept")) } else { Ok(()) }
        });
        if bytes > *keep {
            task.set_memory(0);
            return Ok(None);
        }
        ran?;
        Ok(Some((Arc::clone(frame), Arc::new(Table::new(Arc::clone(&self.schema), batches)))))
    }

    fn hold(&self, table: &Arc<Table>) {
        self.count.set(Some(table.rows()));
        *self.held.borrow_mut() = Some(Arc::clone(table));
    }

    /// One piece after another, each with its number.
    pub fn each(
        &self,
        task: &TaskHandle,
        each: &mut dyn FnMut(usize, &RecordBatch) -> Result<(), Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let mut pieces = 0;
        let mut cut = |batch: &RecordBatch| {
            for start in (0..batch.num_rows()).step_by(TOGETHER) {
                task.check()?;
                each(pieces, &batch.slice(start, TOGETHER.min(batch.num_rows() - start)))?;
                pieces += 1;
            }
            Ok::<_, Diagnostic>(())
        };
        let held = self.held.borrow().clone();
        let Plan { engine, frame, keep } = match (held, &self.plan) {
            (Some(table), _) => return table.batches().iter().try_for_each(cut),
            (None, Some(plan)) => plan,
            (None, None) => return Err(internal("a plot has no rows")),
        };
        if engine.varies(frame) {
            // Other rows each time would not fit what was counted.
            return self.table(task)?.batches().iter().try_for_each(cut);
        }
        if self.count.get().is_some() {
            return engine.stream(frame, task, &mut |batch| cut(&batch));
        }
        let mut count = 0;
        let kept = engine.stream_and_keep(frame, *keep, task, &mut |batch| {
            count += batch.num_rows();
            cut(batch)
        })?;
        self.count.set(Some(count));
        kept.iter().for_each(|table| self.hold(table));
        Ok(())
    }

    /// At most about twice `most` rows at about equal distances, and how many there are. The place inside a stretch
    /// changes, so that no pattern in the rows repeats in the sample. In one walk, of which nothing else is kept.
    pub fn some(&self, most: usize, task: &TaskHandle) -> Result<(Table, usize), Diagnostic> {
        let broken = |e: arrow::error::ArrowError| internal(&e.to_string());
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = move |bound: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % bound
        };
        let (mut stretch, mut next, mut total) = (1, 0, 0);
        let (mut batches, mut kept) = (Vec::<RecordBatch>::new(), 0);
        self.each(task, &mut |_, batch| {
            let mut wanted = Vec::new();
            // `next` is a row of the whole; each is in its own stretch.
            while next < total + batch.num_rows() {
                wanted.push((next - total) as u32);
                next = (next / stretch + 1) * stretch + below(stretch);
            }
            total += batch.num_rows();
            kept += wanted.len();
            let all = wanted.len() == batch.num_rows();
            batches.push(if all { batch.clone() } else { taken(batch, wanted).map_err(broken)? });
            if kept > 2 * most {
                // One of each pair.
                let all = arrow::compute::concat_batches(batch.schema_ref(), &batches).map_err(broken)?;
                let half = (0..all.num_rows() / 2).map(|pair| (2 * pair + below(2)) as u32).collect::<Vec<u32>>();
                kept = half.len();
                batches = vec![taken(&all, half).map_err(broken)?];
                stretch *= 2;
                next = total.div_ceil(stretch) * stretch + below(stretch);
            }
            Ok(())
        })?;
        Ok((Table::new(Arc::clone(&self.schema), batches), total))
    }
}

fn taken(batch: &RecordBatch, rows: Vec<u32>) -> Result<RecordBatch, arrow::error::ArrowError> {
    let rows = UInt32Array::from(rows);
    let columns = batch.columns().iter().map(|column| arrow::compute::take(column, &rows, None));
    RecordBatch::try_new(batch.schema(), columns.collect::<Result<Vec<ArrayRef>, _>>()?)
}
