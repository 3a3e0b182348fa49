//! Requests that the supervisor answers. All others are calls of the engine (`calls.rs`).

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use onrush_wire::session::{NotebookUse, Reply, Request, Role, Status};
use onrush_wire::{Class, Diagnostic, FrameId, ModelId, ObjectId};

use super::calls::{Answer, unknown};
use super::catalog::Object;
use super::server::{Client, Supervisor};

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

    fn handle(&self, client: &Client, request: Request, descriptor: Option<OwnedFd>, stream: &UnixStream) -> Answer {
        if client.role == Role::Cell {
            self.state.lock().check_generation(&client.notebook, client.generation)?;
        }
        let done = |reply| Ok((reply, None));
        let request = match request.into_call() {
            Ok(call) => return self.forward(client, call, descriptor, stream),
            Err(request) => *request,
        };
        match request {
            Request::Schema { frame } => {
                let state = self.state.lock();
                let known = state.catalog.frame(frame).ok_or_else(|| unknown(frame))?;
                done(Reply::Frame { id: frame, schema: known.schema.clone() })
            }
            Request::Show { frame } => self.show(client, frame),
            Request::Hide { frame } => self.hide(client, frame),
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
            other => {
                let message = format!("the supervisor does not answer `{}`", other.name());
                Err(Diagnostic::error(Class::Internal, "request", message))
            }
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
}

fn kernel_only(client: &Client) -> Result<(), Diagnostic> {
    match client.role {
        Role::Kernel => Ok(()),
        _ => Err(Diagnostic::error(Class::Internal, "request", "only the kernel process begins and ends cells")),
    }
}
