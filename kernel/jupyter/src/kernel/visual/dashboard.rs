//! Live dashboards. The kernel process keeps the filters of each, and asks the session for counts under them.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use onrush_wire::Diagnostic;
use onrush_wire::dashboard::{Filter, MAX_VIEWS};
use onrush_wire::visual::{VisualAsk, VisualHead, VisualSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CODE, REMEMBERED, Visuals, incomplete, invalid};
use crate::kernel::answer::{CommAnswer, superseded};
use crate::kernel::comms::{Attached, Message};

#[derive(Deserialize)]
pub(super) struct ViewsParams {
    filters: Value,
    /// The user is still dragging.
    moving: bool,
    /// The answer is the bundle that a notebook saves.
    #[serde(default)]
    whole: bool,
}

#[derive(Deserialize)]
pub(super) struct CubesParams {
    /// The position of the view.
    slots: u32,
    filters: Value,
}

fn filters_of(json: &Value) -> Result<Vec<Filter>, Diagnostic> {
    let filters = onrush_view::dashboard::filters_from_json(json);
    filters
        .filter(|filters| filters.len() <= MAX_VIEWS)
        .ok_or_else(|| invalid(CODE, "these are not filters of a dashboard"))
}

impl Visuals {
    /// The filters of a dashboard, as a user or a cell has set them.
    pub(super) fn filters(&self, id: &str) -> Vec<Filter> {
        self.state.lock().filters.get(id).cloned().unwrap_or_default()
    }

    /// A cell has set the filters.
    pub fn filter(&self, id: &str, filters: Vec<Filter>) {
        self.keep(id, filters.clone());
        let open: Vec<String> = {
            let state = self.state.lock();
            state.open.iter().filter(|(_, picture)| *picture == id).map(|(comm, _)| comm.clone()).collect()
        };
        self.tell(&Value::Null, &open, &filters);
    }

    pub(super) fn keep(&self, id: &str, filters: Vec<Filter>) {
        let mut state = self.state.lock();
        if state.filters.insert(id.to_string(), filters).is_none() {
            state.order_of_filters.push_back(id.to_string());
            if state.order_of_filters.len() > REMEMBERED
                && let Some(oldest) = state.order_of_filters.pop_front()
            {
                state.filters.remove(&oldest);
            }
        }
    }

    fn tell(&self, header: &Value, comms: &[String], filters: &[Filter]) {
        let params = json!({ "filters": onrush_view::dashboard::filters_to_json(filters) });
        let data = json!({ "jsonrpc": "2.0", "method": "filters", "params": params });
        comms.iter().for_each(|comm| self.sender.message(header, comm, &data, Attached::default()));
    }

    /// All views under filters, which are kept. A newer question replaces one that waits or runs.
    pub(super) fn views(&self, id: &str, message: &Message<'_>, asked: ViewsParams, answer: CommAnswer) {
        let filters = match filters_of(&asked.filters) {
            Ok(filters) => filters,
            Err(error) => return answer.give(Err(error)),
        };
        self.keep(id, filters.clone());
        if !asked.moving && !asked.whole {
            let others: Vec<String> = {
                let state = self.state.lock();
                let of_picture = state.open.iter().filter(|(comm, picture)| *picture == id && *comm != message.comm);
                of_picture.map(|(comm, _)| comm.clone()).collect()
            };
            self.tell(message.header, &others, &filters);
        }
        let Some((lane, spec, newest)) = self.lane(id) else {
            return answer.give(Err(invalid(CODE, "this is not a dashboard, or its session is gone")));
        };
        let VisualSpec::Dashboard(request) = spec.clone() else {
            return answer.give(Err(invalid(CODE, "this picture is not a dashboard")));
        };
        let (turn, id) = (newest.fetch_add(1, Ordering::Relaxed) + 1, id.to_string());
        lane.stop();
        lane.push(move |asker| {
            if newest.load(Ordering::Relaxed) != turn {
                return answer.give(Err(superseded()));
            }
            let ask = VisualAsk::Dashboard { filters: filters.clone(), moving: asked.moving };
            answer.give(match asker.ask_visual(spec, ask) {
                Ok((VisualHead::Dashboard(data), ..)) if asked.whole => {
                    Ok(Value::Object(onrush_view::dashboard::bundle(&id, &request, &filters, &data)))
                }
                Ok((VisualHead::Dashboard(data), ..)) => Ok(onrush_view::dashboard::changes(&request, &data, &filters)),
                Ok(_) => Err(incomplete("head")),
                Err(error) => Err(error),
            });
        });
    }

    /// The running sums by which a front end moves bars while a view is brushed.
    pub(super) fn cubes(&self, id: &str, asked: &CubesParams, answer: CommAnswer) {
        let filters = match filters_of(&asked.filters) {
            Ok(filters) => filters,
            Err(error) => return answer.give(Err(error)),
        };
        let Some((lane, spec, _)) = self.lane(id) else {
            return answer.give(Err(invalid(CODE, "this is not a dashboard, or its session is gone")));
        };
        let ask = VisualAsk::Cubes { view: asked.slots, filters };
        lane.push(move |asker| match asker.ask_visual(spec, ask) {
            Ok((_, sections, memory)) => {
                let sections: Vec<Value> = sections
                    .iter()
                    .map(|section| json!({ "name": section.name, "offset": section.offset, "length": section.length }))
                    .collect();
                answer.give_with(Ok(json!({ "sections": sections })), &[Bytes::from(memory)]);
            }
            Err(error) => answer.give(Err(error)),
        });
    }
}
