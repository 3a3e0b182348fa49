//! What each request does: checks at the door, the engine's part, and what is remembered of it.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use onrush_expr::chains;
use onrush_gpu::GPU_LOST;
use onrush_wire::explore::Explore;
use onrush_wire::plan::Op;
use onrush_wire::progress::TaskState;
use onrush_wire::session::{NotebookUse, Reply, Request, Role, Status};
use onrush_wire::visual::VisualSpec;
use onrush_wire::{Class, Diagnostic, Expr, ExprKind, FrameId, ModelId, ObjectId, Span};

use super::catalog::{FrameFacts, Kind, Object, Plan};
use super::link::{Broken, ENDLESS, GPU_STOPPED, Link};
use super::serving::{Client, Supervisor};
use super::state::State;
use super::tasks::Stop;
use crate::connection::is_closed;
use crate::memory;
use crate::protocol::Ask;

pub(super) type Answer = Result<(Reply, Option<OwnedFd>), Diagnostic>;

/// A plan's last words in the title of its tasks.
const TITLE_STEPS: usize = 3;
/// Between two looks at whether someone still wants what waits for another request's frames.
const REBUILDING_LOOK: Duration = Duration::from_millis(50);
/// Ends of engines that other requests met, after which one is not tried again.
const OTHERS: usize = 5;

impl Supervisor {
    pub fn answer(
        &self,
        client: &Client,
        request: Request,
        descriptor: Option<OwnedFd>,
        stream: &UnixStream,
    ) -> (Reply, Option<OwnedFd>) {
        self.handle(client, request, descriptor, stream).unwrap_or_else(|d| (Reply::Failed(d), None))
    }

    /// Replaces ids of frames by those that the engine knows. Gives `first`, which is one of them, as the client knows it, and all as
    /// objects that the request needs.
    fn targets<'a>(
        &self,
        first: FrameId,
        frames: impl Iterator<Item = &'a mut FrameId>,
    ) -> Result<(FrameId, Vec<ObjectId>), Diagnostic> {
        let state = self.state.lock();
        let mut needed = Vec::new();
        for frame in frames {
            state.catalog.get(*frame).ok_or_else(|| unknown(*frame))?;
            *frame = state.catalog.target_frame(*frame);
            needed.push(ObjectId::from(*frame));
        }
        Ok((first, needed))
    }

    /// Keeps a frame for an output of the notebook.
    fn show(&self, client: &Client, frame: FrameId) -> Answer {
        kernel_only(client)?;
        match self.state.lock().show(&client.notebook, frame.into()) {
            true => Ok((Reply::Done, None)),
            false => Err(unknown(frame)),
        }
    }

    /// An output of the notebook is gone, and no longer keeps its frame.
    fn hide(&self, client: &Client, frame: FrameId) -> Answer {
        kernel_only(client)?;
        let released = self.state.lock().hide(&client.notebook, frame.into());
        self.release(released);
        Ok((Reply::Done, None))
    }

    /// A request about a graph or a live picture: its title, its first frame, all objects that it needs, and what is asked of the engine.
    fn graph_ask(&self, request: Request) -> Result<(String, FrameId, Vec<ObjectId>, Ask), Diagnostic> {
        Ok(match request {
            Request::WriteGraph(mut request) => {
                let (frame, needed) = self.targets(request.edges, request.frames_mut())?;
                (format!("write {}", file_name(&request.path)), frame, needed, Ask::WriteGraph(request))
            }
            Request::GraphPlot(mut request) => {
                let (frame, needed) = self.targets(request.edges, request.frames_mut())?;
                ("plot".to_string(), frame, needed, Ask::GraphPlot(request))
            }
            Request::GraphCard(mut request) => {
                let (frame, needed) = self.targets(request.edges, request.frames_mut())?;
                ("show".to_string(), frame, needed, Ask::GraphCard(request))
            }
            Request::Visual { mut what, ask } => {
                let (first, models) = match &what {
                    VisualSpec::Graph(request) => (request.edges, Vec::new()),
                    VisualSpec::Raster(request) => {
                        chains::check(request.exprs(), None)?;
                        (request.frame, models_in(request.exprs(), &self.state.lock())?)
                    }
                    VisualSpec::Dashboard(request) => {
                        chains::check(request.exprs(), None)?;
                        (request.frame, models_in(request.exprs(), &self.state.lock())?)
                    }
                };
                let (frame, mut needed) = self.targets(first, what.frames_mut())?;
                needed.extend(models);
                ("plot".to_string(), frame, needed, Ask::Visual { what, ask })
            }
            _ => {
                let message = "the session took a request for one about a graph";
                return Err(Diagnostic::error(Class::Internal, "request", message));
            }
        })
    }

    fn handle(&self, client: &Client, request: Request, descriptor: Option<OwnedFd>, stream: &UnixStream) -> Answer {
        if client.role == Role::Cell {
            self.state.lock().check_generation(&client.notebook, client.generation)?;
        }
        let done = |reply| Ok((reply, None));
        let work_with = |title: &str, frame: FrameId, models: Vec<ObjectId>, pure: bool, ask: Ask| {
            let (mut needed, title) = {
                let state = self.state.lock();
                let known = state.catalog.get(frame).ok_or_else(|| unknown(frame))?;
                (vec![state.catalog.target(frame.into())], format!("{title}: {}", known.title))
            };
            needed.extend(models);
            self.with_task(client, stream, title, |task| self.ask(task, &needed, &|| (ask.clone(), None), pure))
        };
        let work = |title: &str, frame: FrameId, pure: bool, ask: Ask| work_with(title, frame, Vec::new(), pure, ask);
        let target = |frame: FrameId| self.state.lock().catalog.target_frame(frame);
        match request {
            Request::Step { op, at } => {
                // Here, before it is copied for the engine and for the frame's plan.
                chains::check(op.exprs(), at.as_ref())?;
                self.step(client, op, at, descriptor, stream)
            }
            Request::Schema { frame } => {
                let state = self.state.lock();
                let known = state.catalog.frame(frame).ok_or_else(|| unknown(frame))?;
                done(Reply::Frame { id: frame, schema: known.schema.clone() })
            }
            Request::Preview { frame, head, tail, nulls } => {
                let answer = work("show", frame, true, Ask::Preview { frame: target(frame), head, tail, nulls })?;
                if let Reply::Preview(preview) = &answer.0 {
                    self.remember_rows(frame, preview.total_rows);
                }
                Ok(answer)
            }
            Request::RowCount { frame } => {
                let answer = work("count", frame, true, Ask::RowCount { frame: target(frame) })?;
                if let Reply::Count(rows) = &answer.0 {
                    self.remember_rows(frame, *rows);
                }
                Ok(answer)
            }
            Request::Collect { frame, columns } => {
                work("collect", frame, true, Ask::Collect { frame: target(frame), columns })
            }
            Request::Lend { frame, column } => work("lend", frame, true, Ask::Lend { frame: target(frame), column }),
            Request::Value { frame, expr } => {
                chains::check([&expr], None)?;
                let models = models_in([&expr], &self.state.lock())?;
                work_with("value", frame, models, true, Ask::Value { frame: target(frame), expr })
            }
            Request::Explain { frame, analyze } => {
                work("explain", frame, true, Ask::Explain { frame: target(frame), analyze })
            }
            Request::Write { frame, sink } => {
                let title = format!("write {}", file_name(&sink.name()));
                work(&title, frame, false, Ask::Write { frame: target(frame), sink })
            }
            Request::Plot(mut plot) => {
                chains::check(plot.exprs(), None)?;
                let models = models_in(plot.exprs(), &self.state.lock())?;
                let frame = plot.frame;
                plot.frame = target(frame);
                work_with("plot", frame, models, true, Ask::Plot(plot))
            }
            request @ (Request::WriteGraph(_)
            | Request::GraphPlot(_)
            | Request::GraphCard(_)
            | Request::Visual { .. }) => {
                let (title, frame, needed, ask) = self.graph_ask(request)?;
                let pure = !matches!(ask, Ask::WriteGraph(_));
                work_with(&title, frame, needed, pure, ask)
            }
            Request::Explore { mut view, what } => {
                chains::check(view.exprs(), None)?;
                let models = models_in(view.exprs(), &self.state.lock())?;
                let frame = view.frame;
                view.frame = target(frame);
                let (title, pure) = match &what {
                    Explore::Write { sink, .. } => (format!("write {}", file_name(&sink.name())), false),
                    _ => ("explore".to_string(), true),
                };
                work_with(&title, frame, models, pure, Ask::Explore { view, what })
            }
            Request::Show { frame } => self.show(client, frame),
            Request::Hide { frame } => self.hide(client, frame),
            Request::Persist { frame } => self.persist(client, frame, stream),
            Request::Fit { fit, at } => self.fit(client, fit, at, stream),
            Request::LoadModel { path, folder } => self.load_model(client, &path, &folder, stream),
            Request::Model { model, what } => self.model(client, model, what, stream),
            Request::ClusterScore { frame, label, score } => {
                work(&score.clone(), frame, true, Ask::ClusterScore { frame: target(frame), label, score })
            }
            Request::CrossValidate { fit, cv, scoring, train_score, at } => {
                let (fit, title) = self.targets_of_fit(fit)?;
                let needed: Vec<ObjectId> = fit.frames().into_iter().map(ObjectId::from).collect();
                let ask = Ask::CrossValidate { fit, cv, scoring, train_score, at };
                let title = format!("cross_validate {title}");
                self.with_task(client, stream, title, |task| self.ask(task, &needed, &|| (ask.clone(), None), true))
            }
            Request::Get { name } => self.get(client, &name),
            Request::Names => {
                let held = self.slot.lock().link.as_ref().map(|link| link.held()).unwrap_or_default();
                let state = self.state.lock();
                let (mut own, mut published) = state.names(&client.notebook);
                for named in own.iter_mut().chain(&mut published) {
                    named.held = held.get(&state.catalog.target(named.frame.into())).cloned();
                    named.rows = named.rows.or(named.held.as_ref().map(|held| held.rows));
                }
                let models = state.models(&client.notebook).into_iter().map(|(mut model, target)| {
                    model.bytes = held.get(&target).map(|held| held.bytes);
                    model
                });
                done(Reply::Names { own, published, models: models.collect() })
            }
            Request::BeginCell { generation, .. } => {
                kernel_only(client)?;
                self.state.lock().begin_cell(&client.notebook, generation);
                done(Reply::Done)
            }
            Request::EndCell { generation, end } => {
                kernel_only(client)?;
                let released = self.state.lock().end_cell(&client.notebook, generation, end)?;
                self.release(released);
                done(Reply::Done)
            }
            Request::Cancel => {
                self.state.lock().tasks.cancel(&client.notebook, None);
                done(Reply::Done)
            }
            Request::CancelTask { task } => {
                self.state.lock().tasks.cancel(&client.notebook, Some(task));
                done(Reply::Done)
            }
            Request::Tasks => {
                let only = (client.role != Role::Observer).then_some(&client.notebook);
                done(Reply::Tasks(self.state.lock().tasks.list(only)))
            }
            Request::Status => done(Reply::Status(self.status())),
            Request::Shutdown { force } => {
                let mut state = self.state.lock();
                state.ending = true;
                state.ended |= force;
                done(Reply::Done)
            }
            // Answered where the connection is.
            Request::Subscribe => done(Reply::Done),
        }
    }

    /// An object that another notebook has published.
    fn get(&self, client: &Client, name: &str) -> Answer {
        let mut state = self.state.lock();
        let id = state.get(name, &client.notebook, client.generation)?;
        let reply = match state.catalog.get(id).and_then(Object::model) {
            Some(info) => Reply::Model { id: ModelId(id.0), info: Box::new(info.clone()) },
            None => {
                let id = FrameId(id.0);
                let schema = state.catalog.frame(id).map(|frame| frame.schema.clone()).unwrap_or_default();
                Reply::Frame { id, schema }
            }
        };
        Ok((reply, None))
    }

    fn status(&self) -> Status {
        let (engine_pid, engine_starts, resident_bytes, device_bytes, engine) = {
            let slot = self.slot.lock();
            let alive = slot.link.as_ref().filter(|l| !l.is_dead());
            let engine = alive.and_then(|l| l.known_engine());
            let device = alive.and_then(|l| l.device_bytes());
            (alive.map(|l| l.pid), slot.starts, alive.map_or(0, |l| l.resident_bytes()), device, engine)
        };
        let link = self.slot.lock().link.as_ref().map(|link| (link.held(), link.spent()));
        let (held, spent) = link.unwrap_or_default();
        let state = self.state.lock();
        let mut notebooks: Vec<NotebookUse> = state
            .notebooks
            .iter()
            .map(|(notebook, one)| {
                let objects: BTreeSet<ObjectId> = state
                    .catalog
                    .held(|h| h.notebook == *notebook)
                    .into_iter()
                    .chain(one.shown.iter().copied())
                    .collect();
                // Two handles of one result hold it once.
                let results: BTreeSet<ObjectId> = objects.iter().map(|id| state.catalog.target(*id)).collect();
                let bytes = results.iter().filter_map(|id| Some(held.get(id)?.bytes)).sum();
                NotebookUse { notebook: notebook.clone(), frames: objects.len() as u64, bytes }
            })
            .collect();
        notebooks.sort_by(|a, b| a.notebook.cmp(&b.notebook));
        Status {
            pid: std::process::id(),
            engine_pid,
            engine_starts,
            engine: engine.unwrap_or_else(|| "cpu".to_string()),
            notebooks,
            frames: state.catalog.count() as u64,
            parked: state.catalog.parked() as u64,
            resident_bytes,
            device_bytes,
            memory_limit: onrush_wire::limits::session_memory(),
            spent,
            uptime_ms: self.started.elapsed().as_millis() as u64,
        }
    }

    fn remember_rows(&self, frame: FrameId, rows: u64) {
        if let Some(frame) = self.state.lock().catalog.get_mut(frame).and_then(Object::frame_mut) {
            frame.rows = Some(rows);
        }
    }

    fn step(
        &self,
        client: &Client,
        mut op: Op,
        at: Option<Span>,
        descriptor: Option<OwnedFd>,
        stream: &UnixStream,
    ) -> Answer {
        let data = rows_of(&mut op, descriptor)?;
        let (id, title, given) = {
            let mut state = self.state.lock();
            if let Op::Sql { query, tables } = &mut op {
                // Every frame that a name stands for can be queried; those that the query names are its inputs.
                let (own, published) = state.names(&client.notebook);
                for named in own.into_iter().chain(published) {
                    if !tables.iter().any(|(name, _)| *name == named.name) && mentions(query, &named.name) {
                        tables.push((named.name, named.frame));
                    }
                }
            }
            let mut title = None;
            for input in op.inputs_mut() {
                let known = state.catalog.get(*input).ok_or_else(|| unknown(*input))?;
                title.get_or_insert_with(|| known.title.clone());
                *input = state.catalog.target_frame(*input);
            }
            models_in(op.exprs(), &state)?;
            (FrameId(state.catalog.new_id().0), titled(title, &op), op)
        };
        let copy = data.clone().map(|data| self.copies.keep(data));
        let mut plan = Plan::Step { op: given.clone(), at: at.clone(), data: copy, files: None };
        let needed = plan.inputs();
        let ask = || (Ask::Step { id, op: given.clone(), at: at.clone(), files: None }, data.clone());
        let asked = self.with_task(client, stream, title.clone(), |task| self.ask(task, &needed, &ask, true));
        let read = self.state.lock().read.remove(&id.into());
        let (reply, _) = asked?;
        if let Plan::Step { files, .. } = &mut plan {
            *files = read;
        }
        self.made(client, id, plan, title, reply)
    }

    fn persist(&self, client: &Client, frame: FrameId, stream: &UnixStream) -> Answer {
        let (new, input, title) = {
            let mut state = self.state.lock();
            let title = state.catalog.get(frame).ok_or_else(|| unknown(frame))?.title.clone();
            let input = state.catalog.target_frame(frame);
            (FrameId(state.catalog.new_id().0), input, title)
        };
        let (reply, _) = self.with_task(client, stream, format!("persist: {title}"), |task| {
            self.ask(task, &[input.into()], &|| (Ask::Persist { frame: input, new }, None), true)
        })?;
        self.made(client, new, Plan::Persist { input }, title, reply)
    }

    /// Remembers a frame that the engine has just made.
    fn made(&self, client: &Client, id: FrameId, plan: Plan, title: String, reply: Reply) -> Answer {
        let Reply::Frame { schema, .. } = reply else { return Ok((reply, None)) };
        let facts = FrameFacts { schema: schema.clone(), rows: None };
        let object = Object::new(Kind::Frame(facts), plan, title);
        self.slot.lock().has.insert(id.into());
        self.state.lock().add(id.into(), object, &client.notebook, client.generation)?;
        Ok((Reply::Frame { id, schema }, None))
    }

    /// Runs `work` as a task that can be seen and stopped.
    pub(super) fn with_task(
        &self,
        client: &Client,
        stream: &UnixStream,
        title: String,
        work: impl FnOnce(&Work<'_>) -> Answer,
    ) -> Answer {
        let (id, stop) = self.state.lock().tasks.begin(client.notebook.clone(), title);
        let task = Work { id, stop, stream };
        let result = match work(&task) {
            Ok((Reply::Failed(diagnostic), _)) => Err(diagnostic),
            other => other,
        };
        let state = match &result {
            Ok(_) => TaskState::Done,
            Err(d) if d.class == Class::Interrupted => TaskState::Cancelled,
            Err(_) => TaskState::Failed,
        };
        self.state.lock().tasks.end(id, state);
        result
    }

    /// A call of the engine. What has no effect outside of it is done again if the engine dies.
    pub(super) fn ask(
        &self,
        work: &Work<'_>,
        objects: &[ObjectId],
        make: &dyn Fn() -> (Ask, Option<Arc<OwnedFd>>),
        pure: bool,
    ) -> Answer {
        let mut reason = String::new();
        // Of engines that this request may have ended, and of those that another one did.
        let (mut own, mut others) = (0, 0);
        while own < 2 && others < OTHERS {
            let link = self.link()?;
            let prepared = self.prepare(&link, work, objects);
            let result = match prepared {
                Ok(()) => {
                    let (ask, data) = make();
                    let result = self.call(&link, work, ask, data.as_deref());
                    if let (Err(Failure::Broken(Broken::Gone(why))), false) = (&result, pure) {
                        return Err(died(why).note("whether it was done is not known: it was not tried again"));
                    }
                    result
                }
                Err(failure) => Err(failure),
            };
            match result {
                Ok(answer) => return Ok(answer),
                Err(Failure::Broken(Broken::Gone(why))) => {
                    *(if why == GPU_STOPPED || why == ENDLESS { &mut others } else { &mut own }) += 1;
                    reason = why;
                }
                Err(Failure::Broken(Broken::Cancelled)) => {
                    return Err(onrush_frame::Cancelled.into());
                }
                Err(Failure::Broken(Broken::Stopped(pid))) => {
                    let error = stopped(pid);
                    return Err(if pure { error } else { error.note("whether this was done is not known") });
                }
                // The engine ends after this answer, and nothing was done: the next one is asked once.
                Err(Failure::Said(diagnostic)) if diagnostic.code == GPU_LOST && own == 0 => {
                    own += 1;
                    reason = diagnostic.message;
                }
                Err(Failure::Broken(Broken::Unsendable(diagnostic)) | Failure::Said(diagnostic)) => {
                    return Err(diagnostic);
                }
            }
        }
        Err(died(&reason).note("it died more than once over this request"))
    }

    fn call(
        &self,
        link: &Arc<Link>,
        work: &Work<'_>,
        ask: Ask,
        data: Option<&OwnedFd>,
    ) -> Result<(Reply, Option<OwnedFd>), Failure> {
        let begun = |call| self.state.lock().tasks.sent(work.id, Arc::clone(link), call);
        let first_read = match &ask {
            Ask::Step { id, files: None, .. } => Some(*id),
            _ => None,
        };
        let answer = link.call(ask, data, begun, &|| work.wanted(), &|| work.keeps());
        if let Some((id, files)) = first_read.and_then(|id| Some((id, link.take_files(id)?))) {
            self.state.lock().read.insert(id.into(), files);
        }
        match answer {
            Ok((Reply::Failed(diagnostic), _)) => Err(Failure::Said(diagnostic)),
            Ok(answer) => Ok(answer),
            Err(broken) => Err(Failure::Broken(broken)),
        }
    }

    /// Makes sure that the engine has objects: makes those again that a dead one took along.
    fn prepare(&self, link: &Arc<Link>, work: &Work<'_>, objects: &[ObjectId]) -> Result<(), Failure> {
        if self.missing(link, objects)?.is_empty() {
            return Ok(());
        }
        let _one_at_a_time = loop {
            match self.rebuilding.try_lock_for(REBUILDING_LOOK) {
                Some(guard) => break guard,
                None if !work.wanted() => return Err(Failure::Broken(Broken::Cancelled)),
                None => {}
            }
        };
        let missing = self.missing(link, objects)?;
        let mut made = Vec::new();
        for id in missing {
            let plan = self.state.lock().catalog.get(id).map(|f| f.plan.clone());
            let (ask, data) = match plan {
                Some(Plan::Step { op, at, data, files }) => {
                    (Ask::Step { id: FrameId(id.0), op, at, files }, data.map(|data| data.file()))
                }
                Some(Plan::Persist { input }) => {
                    (Ask::Persist { frame: self.state.lock().catalog.target_frame(input), new: FrameId(id.0) }, None)
                }
                Some(Plan::Model { copy: Some(copy), .. }) => {
                    (Ask::RestoreModel { id: ModelId(id.0) }, Some(copy.file()))
                }
                Some(Plan::Model { fit: Some(fit), at, copy: None }) => (Ask::Fit { id: ModelId(id.0), fit, at }, None),
                Some(Plan::Model { fit: None, .. } | Plan::Alias { .. }) | None => continue,
            };
            self.call(link, work, ask, data.as_deref()).map_err(|failure| match failure {
                Failure::Said(d) if d.class != Class::Interrupted => {
                    Failure::Said(d.note("it was being made again after the session's engine had died"))
                }
                other => other,
            })?;
            let mut slot = self.slot.lock();
            if slot.link.as_ref().is_some_and(|l| l.life == link.life) {
                slot.has.insert(id);
            }
            made.push(id);
        }
        // What only led to the objects lives on in the engine as long as they need it.
        let state = self.state.lock();
        let led: Vec<ObjectId> =
            made.into_iter().filter(|id| !objects.contains(id) && !state.catalog.wanted_target(*id)).collect();
        drop(state);
        self.release(led);
        Ok(())
    }

    fn missing(&self, link: &Arc<Link>, objects: &[ObjectId]) -> Result<Vec<ObjectId>, Failure> {
        let slot = self.slot.lock();
        if slot.link.as_ref().is_none_or(|l| l.life != link.life) {
            return Err(Failure::Broken(Broken::Gone(link.reason())));
        }
        let has = slot.has.clone();
        drop(slot);
        let state = self.state.lock();
        let mut missing = Vec::new();
        for object in objects {
            let steps = state
                .catalog
                .steps_for(*object, &|id| has.contains(&id))
                .ok_or_else(|| Failure::Said(unknown(FrameId(object.0))))?;
            missing.extend(steps);
        }
        missing.sort();
        missing.dedup();
        Ok(missing)
    }
}

/// A task as the thread that waits for it sees it.
pub(super) struct Work<'a> {
    id: onrush_wire::TaskId,
    stop: Stop,
    stream: &'a UnixStream,
}

impl Work<'_> {
    /// True if it was stopped alone, and who asked still waits for what it has so far.
    fn keeps(&self) -> bool {
        self.stop.keeps() && !is_closed(self.stream)
    }

    /// False once it was stopped, or the process that asked is gone.
    fn wanted(&self) -> bool {
        !self.stop.is_set() && !is_closed(self.stream)
    }
}

enum Failure {
    Broken(Broken),
    /// The engine answered with an error.
    Said(Diagnostic),
}

/// The models in expressions, as the engine knows them.
pub(super) fn models_in<'e>(
    exprs: impl IntoIterator<Item = &'e Expr>,
    state: &State,
) -> Result<Vec<ObjectId>, Diagnostic> {
    let (mut models, mut unknown) = (Vec::new(), None);
    for expr in exprs {
        expr.for_each(|node| {
            if let ExprKind::Model(output) = &node.kind {
                match state.catalog.get(output.model) {
                    Some(_) => models.push(state.catalog.target(output.model.into())),
                    None => unknown = Some(output.model),
                }
            }
        });
    }
    match unknown {
        Some(model) => Err(unknown_model(model)),
        None => Ok(models),
    }
}

pub(super) fn unknown_model(model: ModelId) -> Diagnostic {
    Diagnostic::error(
        Class::Run,
        "unknown-model",
        format!("the session has no model {}: it was released, or the session was restarted", model.0),
    )
    .help("run the cell again that trains or loads the model")
}

pub(super) fn unknown(frame: FrameId) -> Diagnostic {
    Diagnostic::error(
        Class::Run,
        "unknown-frame",
        format!("the session has no frame {}: it was released, or the session was restarted", frame.0),
    )
    .help("run the cell that makes the frame again")
}

fn died(reason: &str) -> Diagnostic {
    let memory = reason.contains("memory");
    let class = if memory { Class::Resources } else { Class::Internal };
    let error = Diagnostic::error(class, "engine-died", format!("the session's engine died at this request: {reason}"));
    let error = error.note("frames are made again from their plans when they are next used");
    match memory {
        true => error.help("if memory ran out: take fewer rows or columns first, or lower ONRUSH_MEMORY so that the session spills earlier"),
        false => error.help("please report it with the cell that led to it"),
    }
}

fn stopped(pid: u32) -> Diagnostic {
    Diagnostic::error(
        Class::Environment,
        "engine-stopped",
        format!("the session's engine (process {pid}) is stopped, and does not answer"),
    )
    .help(format!("let it go on: `kill -CONT {pid}`; or end it: `kill -KILL {pid}`, and frames are made again"))
}

fn kernel_only(client: &Client) -> Result<(), Diagnostic> {
    match client.role {
        Role::Kernel => Ok(()),
        _ => Err(Diagnostic::error(Class::Internal, "request", "only the kernel process begins and ends cells")),
    }
}

/// Takes the rows of a frame made from values out of the step, into sealed memory that outlives engines.
fn rows_of(op: &mut Op, descriptor: Option<OwnedFd>) -> Result<Option<Arc<OwnedFd>>, Diagnostic> {
    let Op::FromArrow { bytes, .. } = op else { return Ok(None) };
    let kept = match (bytes.take(), descriptor) {
        (Some(bytes), _) => memory::sealed("onrush-values", &bytes),
        (None, Some(descriptor)) => memory::keep(descriptor),
        (None, None) => return Ok(None),
    };
    kept.map(|d| Some(Arc::new(d))).map_err(|e| {
        Diagnostic::error(Class::Resources, "shared-memory", format!("the rows cannot be kept in shared memory: {e}"))
            .help("write them to a Parquet file and read that, or make the frame from fewer rows")
    })
}

/// True if `name` is a word of the query, in any case.
pub fn mentions(query: &str, name: &str) -> bool {
    let (query, name) = (query.to_lowercase(), name.to_lowercase());
    let word = |c: char| c.is_alphanumeric() || c == '_';
    query.match_indices(&name).any(|(at, _)| {
        !query[..at].chars().next_back().is_some_and(word) && !query[at + name.len()..].chars().next().is_some_and(word)
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A few words for progress: the last steps of the plan.
pub fn titled(input: Option<String>, op: &Op) -> String {
    let step = match op {
        Op::Read(source) => format!("read {}", file_name(&source.name())),
        Op::FromArrow { .. } => "values".to_string(),
        Op::Sql { .. } => return "sql".to_string(),
        other => other.name().to_string(),
    };
    let Some(input) = input else { return step };
    let mut steps: Vec<&str> = input.split(" → ").collect();
    steps.push(&step);
    let from = steps.len().saturating_sub(TITLE_STEPS);
    steps[from..].join(" → ")
}
