//! The service of frames: steps of plans, their results, files.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::LogicalPlanBuilder;
use onrush_device::phases::{self, Phase};
use onrush_expr::Lower;
use onrush_expr::catalogue::{has_aggregate, is_aggregated};
use onrush_expr::error::{diagnose, internal};
use onrush_expr::{chains, diagnostics};
use onrush_frame::{PreviewOptions, Table, TaskHandle};
use onrush_io::Content;
use onrush_logical::fingerprint;
use onrush_logical::frame_table::{self, Frame};
use onrush_logical::ops::{self, Inputs};
use onrush_logical::resident::Resident;
use onrush_wire::display::{TableKind, TablePreview};
use onrush_wire::plan::{FileMark, Op, Sink, Source};
use onrush_wire::session::{Reply, Request};
use onrush_wire::{DataType, Diagnostic, Expr, FrameId, Schema, Span, Value, codec};

use super::preview::FrameRows;
use super::service::{Answer, Job, misrouted};
use super::{Engine, KEPT, guarded, placed};

impl Engine {
    /// Answers a call of the family of frames.
    pub(super) fn answer_frames(&self, job: Job, task: &TaskHandle) -> Result<Answer, Diagnostic> {
        let made = job.made_frame();
        let reply = match job.request {
            Request::Step { op: Op::Read(source), at } => {
                let id = made?;
                let (schema, files) = self.read(id, &source, job.files.as_deref(), at.as_ref(), task)?;
                return Ok(Answer::Read { id, schema, files });
            }
            Request::Step { op, at } => {
                let id = made?;
                Reply::Frame { id, schema: self.step(id, &op, at.as_ref(), job.rows, task)? }
            }
            Request::Persist { frame } => {
                let id = made?;
                Reply::Frame { id, schema: self.persist(frame, id, task)? }
            }
            Request::Preview { frame, head, tail, nulls } => {
                Reply::Preview(self.preview(frame, head, tail, nulls, task)?)
            }
            Request::RowCount { frame } => Reply::Count(self.row_count(frame, task)?),
            Request::Collect { frame, columns } => return Ok(Answer::Rows(self.table(frame, &columns, task)?)),
            Request::Share { frame, columns } => return Ok(Answer::Rows(self.shared(frame, &columns, task)?)),
            Request::ExportColumn { frame, column } => {
                let table = self.table(frame, &[column], task)?;
                return Ok(match self.export_column(&table, task)? {
                    Some(loan) => Answer::Exported(loan),
                    None => Answer::Rows(table),
                });
            }
            Request::Value { frame, expr } => {
                let (value, dtype) = self.value(frame, &expr, task)?;
                Reply::Value { value, dtype }
            }
            Request::Connect { address } => Reply::Cluster(self.connect(&address)?),
            Request::Explain { frame, analyze } => Reply::Text(self.explain(frame, analyze, task)?),
            Request::Write { frame, sink } => {
                let (path, rows, bytes) = self.write(frame, &sink, task)?;
                Reply::Written { path, rows, bytes }
            }
            other => return Err(misrouted(&other)),
        };
        Ok(Answer::reply(reply))
    }

    /// Adds a step under `id`: checked now, run later. `data` holds the rows of [`Op::FromArrow`] where its `bytes` do
    /// not. `at` is the place of the call, for mistakes that no token stands for. Reading a file reports to `task`.
    ///
    /// # Errors
    /// Everything that can be known without running the plan: unknown columns, types, arguments, names; files that
    /// cannot be read.
    pub fn step(
        &self,
        id: FrameId,
        op: &Op,
        at: Option<&Span>,
        data: Option<Vec<RecordBatch>>,
        task: &TaskHandle,
    ) -> Result<Schema, Diagnostic> {
        let mut frame = guarded(|| self.plan(op, at, data, task)).map_err(|d| placed(d, at))?;
        if frame_table::is_volatile(&frame.plan) {
            frame.key = fingerprint::hash(|h| std::hash::Hash::hash(&("volatile", frame.key, id.0), h));
        }
        let schema = onrush_frame::schema_to_wire(&frame.schema);
        self.insert(id, frame, task);
        Ok(schema)
    }

    /// As [`Engine::step`] with [`Op::Read`]; says what the files can be recognised by. With `marked` they must be
    /// those files, unchanged.
    ///
    /// # Errors
    /// As there, and if a file has changed.
    pub fn read(
        &self,
        id: FrameId,
        source: &Source,
        marked: Option<&[FileMark]>,
        at: Option<&Span>,
        task: &TaskHandle,
    ) -> Result<(Schema, Vec<FileMark>), Diagnostic> {
        let (frame, marks) = guarded(|| self.read_frame(source, marked, task)).map_err(|d| placed(d, at))?;
        let schema = onrush_frame::schema_to_wire(&frame.schema);
        self.insert(id, frame, task);
        Ok((schema, marks))
    }

    fn read_frame(
        &self,
        source: &Source,
        marked: Option<&[FileMark]>,
        task: &TaskHandle,
    ) -> Result<(Frame, Vec<FileMark>), Diagnostic> {
        let _time = phases::scope(Phase::Read);
        let (loaded, marks) = onrush_io::open(source, marked, self.pool.as_ref(), task)?;
        let title = format!("read {}", loaded.title());
        // The same files read by a cluster are another frame: its rows may come in another order.
        let key = match &source.cluster {
            Some(address) => fingerprint::hash(|h| std::hash::Hash::hash(&("cluster", loaded.key, address), h)),
            None => loaded.key,
        };
        let frame = match loaded.content {
            Content::Memory(table) => resident(key, title, table)?,
            Content::Scan(provider) => {
                let plan = LogicalPlanBuilder::scan("file", provider_as_source(provider), None)
                    .and_then(LogicalPlanBuilder::build)
                    .map_err(diagnose)?;
                let mut frame = Frame::computed(key, title, plan);
                frame.rows = loaded.rows.into();
                frame.cluster = source.cluster.as_deref().map(Arc::from);
                frame
            }
        };
        Ok((frame, marks))
    }

    pub(super) fn plan(
        &self,
        op: &Op,
        at: Option<&Span>,
        data: Option<Vec<RecordBatch>>,
        task: &TaskHandle,
    ) -> Result<Frame, Diagnostic> {
        let key = || fingerprint::step(op, |id| Ok::<_, Diagnostic>(self.frame(id)?.key));
        match op {
            Op::Read(source) => Ok(self.read_frame(source, None, task)?.0),
            Op::FromArrow { schema, bytes } => {
                let table = match (data, bytes) {
                    (Some(batches), _) => match batches.first() {
                        Some(first) => Table::new(first.schema(), batches),
                        None => Table::empty(Arc::new(onrush_frame::schema_from_wire(schema)?)),
                    },
                    (None, Some(bytes)) => onrush_frame::ipc::read(arrow::buffer::Buffer::from(bytes.as_slice()))
                        .map(|table| Table::new(Arc::clone(table.schema()), table.batches().to_vec()))
                        .map_err(|e| internal(&format!("rows that a cell sent could not be read: {e}")))?,
                    (None, None) => Table::empty(Arc::new(onrush_frame::schema_from_wire(schema)?)),
                };
                let names = table.schema().fields().iter().map(|f| (f.name().as_str(), None)).collect::<Vec<_>>();
                ops::distinct_names(names, at)?;
                let key = fingerprint::table(&table);
                resident(key, "values".to_string(), Arc::new(table))
            }
            Op::Map { input, cluster, function, .. } => self.calls(*input, cluster, function, key()?, task),
            Op::Split { input, split, part } => self.split(*input, split, *part, key()?, task),
            Op::Graph { input, graph, call } => self.graph_step(*input, graph, call, (key()?, at), task),
            _ => {
                let _time = phases::scope(Phase::Plan);
                chains::check(op.exprs(), at)?;
                let key = key()?;
                let plan = match op {
                    Op::Sql { query, tables } => {
                        let tables = tables
                            .iter()
                            .map(|(name, id)| Ok((name.clone(), self.frame(*id)?)))
                            .collect::<Result<Vec<_>, Diagnostic>>()?;
                        self.sql(query, &tables, task)?
                    }
                    op => ops::plan(op, self, at)?,
                };
                Engine::one_cluster(&plan)?;
                Ok(Frame::computed(key, op.name().to_string(), self.analysed(plan)?))
            }
        }
    }

    /// # Errors
    /// If there is no such frame.
    pub fn schema(&self, id: FrameId) -> Result<Schema, Diagnostic> {
        Ok(onrush_frame::schema_to_wire(&self.frame(id)?.schema))
    }

    /// First and last rows; computes the frame.
    pub fn preview(
        &self,
        id: FrameId,
        head: u32,
        tail: u32,
        nulls: bool,
        task: &TaskHandle,
    ) -> Result<TablePreview, Diagnostic> {
        let frame = self.frame(id)?;
        let mut options = PreviewOptions {
            kind: TableKind::Frame,
            head: head as usize,
            tail: tail as usize,
            nulls,
            location: "memory".to_string(),
        };
        let ends = match self.whole(&frame, (options.head, options.tail), task)? {
            FrameRows::Held(table) => {
                let host = if table.is_on_disk() { "disk" } else { "memory" };
                options.location = match self.place(&table) {
                    "cpu" | "disk" => host.to_string(),
                    device => format!("{host} and {device}"),
                };
                return Ok(onrush_frame::preview(&table, &options));
            }
            FrameRows::Ends(ends) => ends,
            FrameRows::Counted(rows) => self.ends(&frame, rows, (options.head, options.tail), task)?,
        };
        let location = if frame.title.starts_with("read ") { "file" } else { "plan" };
        Ok(TablePreview {
            kind: options.kind,
            columns: onrush_frame::preview::columns(&frame.schema, ends.nulls.as_deref().filter(|_| nulls)),
            total_rows: ends.rows,
            head: onrush_frame::preview::rows(&ends.first),
            tail: onrush_frame::preview::rows(&ends.last),
            bytes: None,
            location: location.to_string(),
        })
    }

    pub fn row_count(&self, id: FrameId, task: &TaskHandle) -> Result<u64, Diagnostic> {
        let frame = self.frame(id)?;
        match frame.too_many() {
            Some(rows) => Ok(rows),
            None => Ok(match self.whole(&frame, (0, 0), task)? {
                FrameRows::Held(table) => table.rows() as u64,
                FrameRows::Ends(ends) => ends.rows,
                FrameRows::Counted(rows) => rows,
            }),
        }
    }

    /// If it is known without running anything.
    pub fn known_rows(&self, id: FrameId) -> Option<u64> {
        let frame = self.frame(id).ok()?;
        frame.too_many().or_else(|| self.held(&frame).map(|t| t.rows() as u64))
    }

    /// The named columns (all if none is named), in the given order.
    pub fn collect(
        &self,
        id: FrameId,
        columns: &[String],
        task: &TaskHandle,
    ) -> Result<(SchemaRef, Vec<RecordBatch>), Diagnostic> {
        let table = self.table(id, columns, task)?;
        Ok((Arc::clone(table.schema()), table.batches().to_vec()))
    }

    /// As [`Engine::collect`], as one table.
    pub fn table(&self, id: FrameId, columns: &[String], task: &TaskHandle) -> Result<Arc<Table>, Diagnostic> {
        let frame = self.frame(id)?;
        if columns.is_empty() {
            return self.run(&frame, task);
        }
        let mut positions = Vec::new();
        for name in columns {
            match frame.schema.index_of(name) {
                Ok(position) => positions.push(position),
                Err(_) => return Err(diagnostics::unknown_column(name, &frame.schema)),
            }
        }
        if frame.too_many().is_some() && self.held(&frame).is_none() {
            let plan = ops::keep(ops::plain(&frame)?, columns)?;
            let schema = Arc::new(plan.schema().as_arrow().clone());
            return self.run_plan(plan, schema, task).map(Arc::new);
        }
        let table = self.run(&frame, task)?;
        table.project(&positions).map(Arc::new).map_err(|e| internal(&e.to_string()))
    }

    /// The only value of an expression that gives one row.
    pub fn value(&self, id: FrameId, expr: &Expr, task: &TaskHandle) -> Result<(Value, DataType), Diagnostic> {
        let frame = self.frame(id)?;
        chains::check([expr], None)?;
        let mut plain = expr.clone();
        fingerprint::without_places(&mut plain);
        let content = codec::content(&plain);
        let key = fingerprint::hash(|h| {
            use std::hash::Hash;
            ("value", frame.key, &content).hash(h);
        });
        let derived = guarded(|| {
            let lower = Lower::new(ops::plain(&frame)?, None)?;
            let plan = match is_aggregated(expr) && has_aggregate(expr) {
                true => ops::project::aggregate_all(lower, std::slice::from_ref(expr))?,
                false => ops::project::select(lower.plan, std::slice::from_ref(expr), None)?,
            };
            Ok(Frame::computed(key, "value".to_string(), self.analysed(plan)?))
        })?;
        let table = self.run(&Arc::new(derived), task)?;
        if table.rows() != 1 || table.schema().fields().len() != 1 {
            let message = format!("`value` needs one value, but this expression gives {} rows", table.rows());
            return Err(diagnostics::place(
                diagnostics::plan_error("argument", message),
                expr.span.as_ref(),
                None,
                "not one value",
            )
            .help("use an aggregate such as `.mean()` or `.first()`, or `column::<T>(...)` for all values"));
        }
        let column = table.column(0).map_err(|e| internal(&e.to_string()))?;
        Ok((onrush_frame::value_at(&column, 0), onrush_frame::dtype_to_wire(column.data_type())))
    }

    /// Computes a frame and holds its rows as `new` until that is released.
    pub fn persist(&self, id: FrameId, new: FrameId, task: &TaskHandle) -> Result<Schema, Diagnostic> {
        let source = self.frame(id)?;
        let table = self.rows_to_hold(&source, task)?;
        let schema = onrush_frame::schema_to_wire(table.schema());
        self.hold(&source, table, new, task)?;
        Ok(schema)
    }

    /// Holds the rows of a frame as `new` until that is released.
    pub fn hold(&self, frame: &Frame, table: Arc<Table>, new: FrameId, task: &TaskHandle) -> Result<(), Diagnostic> {
        // Two frames of the same rows hold them once.
        let resident = self.known.get(frame.key).filter(|known| Arc::ptr_eq(&known.table(), &table));
        let resident = resident.unwrap_or_else(|| Arc::new(Resident::new(table)));
        let held = Frame::held(frame.key, frame.title.clone(), resident).map_err(diagnose)?;
        self.insert(new, held, task);
        Ok(())
    }

    /// Whether the rows of a frame are there.
    pub fn is_held(&self, id: FrameId) -> Result<bool, Diagnostic> {
        Ok(self.held(&*self.frame(id)?).is_some())
    }

    /// Writes a frame to a file; returns its absolute path, rows and bytes. Rows that are not held are written as they
    /// are computed, and kept if they take no more than a part of the session's memory.
    pub fn write(&self, id: FrameId, sink: &Sink, task: &TaskHandle) -> Result<(String, u64, u64), Diagnostic> {
        let frame = self.frame(id)?;
        let mut writer = onrush_io::FrameWriter::create(sink, &frame.schema)?;
        let mut stage = Some(format!("write {}", sink.name()));
        let mut write = |batch: &RecordBatch| {
            stage.take().into_iter().for_each(|stage| task.stage(stage));
            writer.write(batch, task)
        };
        let _running = self.alone(&frame, task)?;
        match self.held(&frame) {
            None => _ = self.stream_and_keep(&frame, self.memory_limit() / KEPT, task, &mut write)?,
            Some(table) => {
                task.set_rows(0);
                task.set_total_rows(Some(table.rows() as u64));
                for batch in table.batches() {
                    write(batch)?;
                    task.add_rows(batch.num_rows() as u64);
                }
            }
        }
        let written = writer.finish(task)?;
        Ok((written.path.to_string_lossy().into_owned(), written.rows, written.bytes))
    }
}

/// A frame whose rows are in memory.
pub(super) fn resident(key: u128, title: String, table: Arc<Table>) -> Result<Frame, Diagnostic> {
    Frame::held(key, title, Arc::new(Resident::new(table))).map_err(diagnose)
}
