//! Frames with more rows than should be held: they run once, to be counted, and what is looked at of them runs again.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow::array::{Array, RecordBatch};
use datafusion::logical_expr::LogicalPlanBuilder;
use onrush_expr::error::diagnose;
use onrush_frame::table::own_bytes;
use onrush_frame::{Table, TaskHandle};
use onrush_logical::frame_table::Frame;
use onrush_wire::Diagnostic;

use super::Engine;

/// The part of the session's memory that the rows of one frame may take before they are not held as a whole.
const PART: u64 = 2;

/// What is known of a frame's rows.
pub enum FrameRows {
    /// All of them.
    Held(Arc<Table>),
    /// Too many, found just now.
    Ends(HeadTail),
    /// Too many, known before.
    Counted(u64),
}

/// The first and the last rows of a frame that is not held. If they are all that there are, the first.
pub struct HeadTail {
    pub first: Table,
    pub last: Table,
    pub rows: u64,
    /// Of each column, if all rows were looked at.
    pub nulls: Option<Vec<u64>>,
}

impl Engine {
    /// The rows of a frame, if the session has room for them; else as many of the first and last as are asked for. It
    /// is computed if it is neither held nor known to be too large.
    pub fn whole(
        &self,
        frame: &Arc<Frame>,
        (head, tail): (usize, usize),
        task: &TaskHandle,
    ) -> Result<FrameRows, Diagnostic> {
        let _running = self.alone(frame, task)?;
        if let Some(table) = self.held(frame) {
            return Ok(FrameRows::Held(table));
        }
        if let Some(rows) = frame.too_many() {
            return Ok(FrameRows::Counted(rows));
        }
        let limit = self.memory_limit() / PART;
        let mut kept = Some(Vec::new());
        let (mut bytes, mut rows) = (0, 0);
        let mut ends = RowStream { first: Vec::new(), last: VecDeque::new(), rows_first: 0, rows_last: 0 };
        let mut nulls = vec![0; frame.schema.fields().len()];
        // Rows that are others each time have to be held.
        let varies = self.varies(frame);
        self.stream(frame, task, &mut |batch| {
            rows += batch.num_rows() as u64;
            for (count, column) in nulls.iter_mut().zip(batch.columns()) {
                *count += column.logical_null_count() as u64;
            }
            bytes += batch.columns().iter().map(own_bytes).sum::<u64>();
            ends.add(&batch, head, tail);
            if let Some(kept) = &mut kept {
                kept.push(batch);
                task.set_memory(bytes);
            }
            if bytes > limit && varies {
                return Err(super::run::too_large(self.memory_limit()));
            }
            if bytes > limit && kept.take().is_some() {
                task.set_memory(0);
            }
            Ok(())
        })?;
        if let Some(batches) = kept {
            let table = Arc::new(Table::new(Arc::clone(&frame.schema), batches));
            self.remember(frame, &table);
            return Ok(FrameRows::Held(table));
        }
        let rows = *frame.rows.get_or_init(|| rows);
        let first = Table::new(Arc::clone(&frame.schema), ends.first);
        let last = Table::new(Arc::clone(&frame.schema), ends.last.into());
        Ok(FrameRows::Ends(HeadTail { first: first.head(head), last: last.tail(tail), rows, nulls: Some(nulls) }))
    }

    /// The rows of a frame one batch after another, which runs meanwhile. If they take no more than `keep` bytes, they
    /// are kept and given.
    pub fn stream_and_keep(
        &self,
        frame: &Frame,
        keep: u64,
        task: &TaskHandle,
        each: &mut dyn FnMut(&RecordBatch) -> Result<(), Diagnostic>,
    ) -> Result<Option<Arc<Table>>, Diagnostic> {
        let (mut kept, mut bytes) = (Some(Vec::new()), 0);
        self.stream(frame, task, &mut |batch| {
            each(&batch)?;
            if let Some(batches) = &mut kept {
                bytes += batch.columns().iter().map(own_bytes).sum::<u64>();
                batches.push(batch);
                task.set_memory(bytes);
            }
            if bytes > keep && kept.take().is_some() {
                task.set_memory(0);
            }
            Ok(())
        })?;
        let table = kept.map(|batches| Arc::new(Table::new(Arc::clone(&frame.schema), batches)));
        table.iter().for_each(|table| self.remember(frame, table));
        Ok(table)
    }

    /// The first and last rows of a frame that has so many; nulls stay uncounted.
    pub(super) fn ends(
        &self,
        frame: &Frame,
        rows: u64,
        (head, tail): (usize, usize),
        task: &TaskHandle,
    ) -> Result<HeadTail, Diagnostic> {
        let all = rows <= (head + tail) as u64;
        let first = self.part(frame, 0, if all { head + tail } else { head }, task)?;
        let last = match all || tail == 0 {
            true => Table::empty(Arc::clone(&frame.schema)),
            false => self.part(frame, (rows - tail as u64) as usize, tail, task)?,
        };
        Ok(HeadTail { first, last, rows, nulls: None })
    }

    /// Some rows of a frame, which runs as far as these.
    pub fn part(&self, frame: &Frame, skip: usize, fetch: usize, task: &TaskHandle) -> Result<Table, Diagnostic> {
        let plan = LogicalPlanBuilder::new(frame.plan.clone())
            .limit(skip, Some(fetch))
            .and_then(LogicalPlanBuilder::build)
            .map_err(diagnose)?;
        self.run_plan(plan, Arc::clone(&frame.schema), task)
    }
}

/// Batches with the first and with the last rows of those that came by.
struct RowStream {
    first: Vec<RecordBatch>,
    last: VecDeque<RecordBatch>,
    rows_first: usize,
    rows_last: usize,
}

impl RowStream {
    fn add(&mut self, batch: &RecordBatch, head: usize, tail: usize) {
        if self.rows_first < head {
            self.rows_first += batch.num_rows();
            self.first.push(batch.clone());
        }
        if tail == 0 {
            return;
        }
        self.rows_last += batch.num_rows();
        self.last.push_back(batch.clone());
        while let Some(oldest) = self.last.front()
            && self.rows_last - oldest.num_rows() >= tail
        {
            self.rows_last -= oldest.num_rows();
            self.last.pop_front();
        }
    }
}
