//! Calls of the engine: ids are replaced, the call is sent as a task, and the object that it makes is remembered. All
//! calls go one way: the table of `kernel/wire/src/call.rs` says what differs.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use onrush_expr::chains;
use onrush_gpu::GPU_LOST;
use onrush_wire::call::{Effect, EngineCall, ObjectMut};
use onrush_wire::plan::Op;
use onrush_wire::progress::TaskState;
use onrush_wire::session::{Reply, Request};
use onrush_wire::{Class, Diagnostic, Expr, ExprKind, FrameId, ModelId, ObjectId};

use super::catalog::{FrameFacts, Kind, Object, Plan};
use super::engine_process::{Broken, ENDLESS, GPU_STOPPED, Link};
use super::server::{Client, Supervisor};
use super::state::State;
use super::tasks::Stop;
use crate::connection::is_closed;
use crate::memfd;
use crate::protocol::EngineRequest;

pub(super) type Answer = Result<(Reply, Option<OwnedFd>), Diagnostic>;

/// Between two looks at whether someone still wants what waits for another request's frames.
const REBUILDING_LOOK: Duration = Duration::from_millis(50);
/// Ends of engines that other requests met, after which one is not tried again.
const OTHERS: usize = 5;

impl Supervisor {
    /// Sends a call to the engine and remembers the object that it makes.
    pub(super) fn forward(
        &self,
        client: &Client,
        mut call: EngineCall,
        descriptor: Option<OwnedFd>,
        stream: &UnixStream,
    ) -> Answer {
        // Before the call is copied for the engine and for the plan of an object.
        chains::check(call.exprs(), call.at())?;
        let data = rows_of(&mut call, descriptor)?;
        let Targets { first, input, needed, made } = self.targets(client, &mut call)?;
        let ask = || {
            let (call, files) = (call.clone(), None);
            (EngineRequest::Call { call, made, files }, data.clone())
        };
        let title = call.title(input.as_deref());
        let is_pure = call.effect() != Effect::Writes;
        let answered = self.with_task(client, stream, title, |task| self.ask(task, &needed, &ask, is_pure));
        let files = made.and_then(|id| self.state.lock().read.remove(&id));
        let answer = answered?;
        if let (Some(first), Some(rows)) = (first, rows_in(&answer.0)) {
            self.remember_rows(first, rows);
        }
        match made {
            Some(id) => {
                let title = call.title_of_made(input.as_deref());
                let copy = data.map(|data| self.copies.keep(data));
                self.remember(client, id, title, Plan::Call { call, inputs: needed, copy, files }, answer)
            }
            None => Ok(answer),
        }
    }

    /// Replaces the ids in a call by those that the engine knows, and gives the call an id for what it makes.
    fn targets(&self, client: &Client, call: &mut EngineCall) -> Result<Targets, Diagnostic> {
        let mut state = self.state.lock();
        if let Request::Step { op: Op::Sql { query, tables }, .. } = call.request_mut() {
            // Every frame that a name stands for can be queried; those that the query names are its inputs.
            let (own, published) = state.names(&client.notebook);
            for named in own.into_iter().chain(published) {
                if !tables.iter().any(|(name, _)| *name == named.name) && mentions(query, &named.name) {
                    tables.push((named.name, named.frame));
                }
            }
        }
        let (mut first, mut input, mut needed) = (None, None, Vec::new());
        for mut object in call.objects_mut() {
            let id = object.get();
            let known = state.catalog.get(id).ok_or_else(|| match object {
                ObjectMut::Frame(_) => unknown(FrameId(id.0)),
                ObjectMut::Model(_) => unknown_model(ModelId(id.0)),
            })?;
            input.get_or_insert_with(|| known.title.clone());
            first.get_or_insert(id);
            let target = state.catalog.target(id);
            object.set(target);
            needed.push(target);
        }
        needed.extend(models_in(call.exprs(), &state)?);
        let made = (call.effect() == Effect::Makes).then(|| state.catalog.new_id());
        Ok(Targets { first, input, needed, made })
    }

    fn remember_rows(&self, id: ObjectId, rows: u64) {
        if let Some(frame) = self.state.lock().catalog.get_mut(id).and_then(Object::frame_mut) {
            frame.rows = Some(rows);
        }
    }

    /// Remembers an object that the engine has just made. The file of a model is kept, so that an engine that died
    /// costs no second training.
    fn remember(
        &self,
        client: &Client,
        id: ObjectId,
        title: String,
        mut plan: Plan,
        (reply, file): (Reply, Option<OwnedFd>),
    ) -> Answer {
        let (kind, title) = match &reply {
            Reply::Frame { schema, .. } => (Kind::Frame(FrameFacts { schema: schema.clone(), rows: None }), title),
            Reply::Model { info, .. } => (Kind::Model(info.clone()), info.card.title.clone()),
            _ => return Ok((reply, None)),
        };
        let file = file.and_then(|file| memfd::keep(file).ok()).map(Arc::new);
        if let (Some(file), Plan::Call { inputs, copy, .. }) = (file, &mut plan) {
            inputs.clear();
            *copy = Some(self.copies.keep(file));
        }
        self.slot.lock().has.insert(id);
        self.state.lock().add(id, Object::new(kind, plan, title), &client.notebook, client.generation)?;
        Ok((reply, None))
    }

    /// Runs `work` as a task that can be seen and stopped.
    fn with_task(
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
    fn ask(
        &self,
        work: &Work<'_>,
        objects: &[ObjectId],
        make: &dyn Fn() -> (EngineRequest, Option<Arc<OwnedFd>>),
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
                    return Err(onrush_frame::CancelError.into());
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
        ask: EngineRequest,
        data: Option<&OwnedFd>,
    ) -> Result<(Reply, Option<OwnedFd>), Failure> {
        let begun = |call| self.state.lock().tasks.sent(work.id, Arc::clone(link), call);
        let first_read = match &ask {
            EngineRequest::Call { made, files: None, .. } => *made,
            _ => None,
        };
        let answer = link.call(ask, data, begun, &|| work.wanted(), &|| work.keeps());
        if let Some((id, files)) = first_read.and_then(|id| Some((id, link.take_files(FrameId(id.0))?))) {
            self.state.lock().read.insert(id, files);
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
            let known = self.state.lock().catalog.get(id).map(|object| (object.plan.clone(), object.model().is_some()));
            let (ask, data) = match known {
                Some((Plan::Call { copy: Some(copy), .. }, true)) => {
                    (EngineRequest::RestoreModel { id: ModelId(id.0) }, Some(copy.file()))
                }
                // Its file may hold another model by now.
                Some((Plan::Call { call, .. }, true)) if call.loads_a_model() => continue,
                Some((Plan::Call { call, copy, files, .. }, _)) => {
                    (EngineRequest::Call { call, made: Some(id), files }, copy.map(|copy| copy.file()))
                }
                Some((Plan::Alias { .. }, _)) | None => continue,
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

/// What a call reads and makes.
struct Targets {
    /// The first object as the client knows it, and its title.
    first: Option<ObjectId>,
    input: Option<String>,
    /// All objects that the engine must have, models in expressions included.
    needed: Vec<ObjectId>,
    made: Option<ObjectId>,
}

/// A task as the thread that waits for it sees it.
struct Work<'a> {
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
fn models_in<'e>(exprs: impl IntoIterator<Item = &'e Expr>, state: &State) -> Result<Vec<ObjectId>, Diagnostic> {
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

fn unknown_model(model: ModelId) -> Diagnostic {
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

/// The number of rows of a frame, if a reply says it.
fn rows_in(reply: &Reply) -> Option<u64> {
    match reply {
        Reply::Preview(preview) => Some(preview.total_rows),
        Reply::Count(rows) => Some(*rows),
        _ => None,
    }
}

/// Takes the rows of a frame made from values out of the call, into sealed memory that outlives engines.
fn rows_of(call: &mut EngineCall, descriptor: Option<OwnedFd>) -> Result<Option<Arc<OwnedFd>>, Diagnostic> {
    let Request::Step { op: Op::FromArrow { bytes, .. }, .. } = call.request_mut() else { return Ok(None) };
    let kept = match (bytes.take(), descriptor) {
        (Some(bytes), _) => memfd::sealed("onrush-values", &bytes),
        (None, Some(descriptor)) => memfd::keep(descriptor),
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
