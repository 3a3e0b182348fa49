//! Models: trained and loaded by the engine, remembered here with a copy of their files, so that an engine that died costs no second training.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use onrush_wire::learn::{Fit, ModelAsk, ModelId};
use onrush_wire::session::Reply;
use onrush_wire::{Diagnostic, ObjectId, Span};

use super::catalog::{Kind, Object, Plan};
use super::requests::{Answer, unknown, unknown_model};
use super::serving::{Client, Supervisor};
use crate::memory;
use crate::protocol::Ask;

impl Supervisor {
    /// The frames of a training as the engine knows them, and a title for its task.
    pub(super) fn targets_of_fit(&self, mut fit: Fit) -> Result<(Fit, String), Diagnostic> {
        let state = self.state.lock();
        let known = state.catalog.get(fit.frame).ok_or_else(|| unknown(fit.frame))?;
        let title = format!("{} on {}", fit.spec.estimator, known.title);
        for frame in fit.frames_mut() {
            state.catalog.get(*frame).ok_or_else(|| unknown(*frame))?;
            *frame = state.catalog.target_frame(*frame);
        }
        Ok((fit, title))
    }

    pub(super) fn fit(&self, client: &Client, fit: Fit, at: Option<Span>, stream: &UnixStream) -> Answer {
        let (fit, title) = self.targets_of_fit(fit)?;
        let id = ModelId(self.state.lock().catalog.new_id().0);
        let needed: Vec<ObjectId> = fit.frames().into_iter().map(ObjectId::from).collect();
        let ask = Ask::Fit { id, fit: fit.clone(), at: at.clone() };
        let task = format!("fit {title}");
        let answer =
            self.with_task(client, stream, task, |task| self.ask(task, &needed, &|| (ask.clone(), None), true))?;
        self.made_model(client, id, Some(fit), at, answer)
    }

    pub(super) fn load_model(&self, client: &Client, path: &str, folder: &str, stream: &UnixStream) -> Answer {
        let id = ModelId(self.state.lock().catalog.new_id().0);
        let ask = Ask::LoadModel { id, path: path.to_string(), folder: folder.to_string() };
        let title = format!("load {path}");
        let answer =
            self.with_task(client, stream, title, |task| self.ask(task, &[], &|| (ask.clone(), None), true))?;
        self.made_model(client, id, None, None, answer)
    }

    /// Remembers a model that the engine has just made.
    fn made_model(
        &self,
        client: &Client,
        id: ModelId,
        fit: Option<Fit>,
        at: Option<Span>,
        (reply, file): (Reply, Option<std::os::fd::OwnedFd>),
    ) -> Answer {
        let Reply::Model { info, .. } = reply else { return Ok((reply, None)) };
        let copy = file.and_then(|file| memory::keep(file).ok()).map(|file| self.copies.keep(Arc::new(file)));
        let title = info.card.title.clone();
        let object = Object::new(Kind::Model(info.clone()), Plan::Model { fit, at, copy }, title);
        self.slot.lock().has.insert(id.into());
        self.state.lock().add(id.into(), object, &client.notebook, client.generation)?;
        Ok((Reply::Model { id, info }, None))
    }

    pub(super) fn model(&self, client: &Client, model: ModelId, what: ModelAsk, stream: &UnixStream) -> Answer {
        let (target, title, what, frame) = {
            let state = self.state.lock();
            let known = state.catalog.get(model).ok_or_else(|| unknown_model(model))?;
            let mut what = what;
            let mut used = None;
            if let ModelAsk::Evaluate { frame, .. } = &mut what {
                state.catalog.get(*frame).ok_or_else(|| unknown(*frame))?;
                *frame = state.catalog.target_frame(*frame);
                used = Some(*frame);
            }
            (ModelId(state.catalog.target(model.into()).0), known.title.clone(), what, used)
        };
        let pure = !matches!(what, ModelAsk::Save { .. });
        let mut needed = vec![ObjectId::from(target)];
        needed.extend(frame.map(ObjectId::from));
        let ask = Ask::Model { model: target, what };
        self.with_task(client, stream, title, |task| self.ask(task, &needed, &|| (ask.clone(), None), pure))
    }
}
