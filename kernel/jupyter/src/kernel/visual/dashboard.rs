//! Live dashboards. The kernel process keeps the filters of each, and asks the session for counts under them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use lru::LruCache;
use onrush_wire::Diagnostic;
use onrush_wire::dashboard::{Filter, MAX_VIEWS};
use onrush_wire::visual::{VisualAsk, VisualHead, VisualSpec};
use parking_lot::{Condvar, Mutex};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CODE, REMEMBERED, Visuals, incomplete, invalid};
use crate::kernel::comms::{Attachments, Message, Sender};
use crate::kernel::json_rpc::{CommAnswer, superseded};

/// A cell waits for the session's answers this long.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// The filters of dashboards. Filters of a front end count after the session has taken them, so that a refused filter
/// changes nothing.
#[derive(Default)]
pub(super) struct DashboardFilters {
    state: Mutex<FilterState>,
    /// Told when a question is over.
    settled: Condvar,
}

struct FilterState {
    entries: LruCache<String, FilterEntry>,
    /// Counts all filters that were set or asked for.
    version: u64,
    /// Questions that have no answer yet, by dashboard.
    open: BTreeMap<String, usize>,
}

struct FilterEntry {
    filters: Vec<Filter>,
    version: u64,
}

/// Filters that the session is asked about. The question is over when this is dropped.
struct FilterQuestion {
    of: Arc<DashboardFilters>,
    id: String,
    version: u64,
}

impl Default for FilterState {
    fn default() -> FilterState {
        FilterState { entries: LruCache::new(REMEMBERED), version: 0, open: BTreeMap::new() }
    }
}

impl DashboardFilters {
    /// As they are now.
    pub(super) fn of(&self, id: &str) -> Option<Vec<Filter>> {
        self.state.lock().entries.peek(id).map(|entry| entry.filters.clone())
    }

    /// After all questions so far, which a user may have asked just before running a cell. Waits no longer than
    /// [`PATIENCE`].
    pub(super) fn settled(&self, id: &str) -> Option<Vec<Filter>> {
        let mut state = self.state.lock();
        let until = Instant::now() + PATIENCE;
        while state.open.contains_key(id) && !self.settled.wait_until(&mut state, until).timed_out() {}
        state.entries.peek(id).map(|entry| entry.filters.clone())
    }

    /// Filters that a cell has set, which the session has made.
    fn set(&self, id: &str, filters: Vec<Filter>) {
        let mut state = self.state.lock();
        state.version += 1;
        let version = state.version;
        state.keep(id, FilterEntry { filters, version });
    }

    fn ask(self: &Arc<Self>, id: &str) -> FilterQuestion {
        let mut state = self.state.lock();
        state.version += 1;
        *state.open.entry(id.to_string()).or_default() += 1;
        FilterQuestion { of: Arc::clone(self), id: id.to_string(), version: state.version }
    }
}

impl FilterState {
    /// The newer of two stays.
    fn keep(&mut self, id: &str, entry: FilterEntry) {
        if self.entries.peek(id).is_none_or(|known| known.version <= entry.version) {
            self.entries.put(id.to_string(), entry);
        }
    }
}

impl FilterQuestion {
    /// The session has taken the filters.
    fn keep(&self, filters: Vec<Filter>) {
        self.of.state.lock().keep(&self.id, FilterEntry { filters, version: self.version });
    }
}

impl Drop for FilterQuestion {
    fn drop(&mut self) {
        let mut state = self.of.state.lock();
        if let Some(open) = state.open.get_mut(&self.id) {
            *open -= 1;
            if *open == 0 {
                state.open.remove(&self.id);
            }
        }
        self.of.settled.notify_all();
    }
}

fn tell(sender: &Sender, header: &Value, comms: &[String], filters: &[Filter]) {
    let params = json!({ "filters": onrush_view::dashboard::filters_to_json(filters) });
    let data = json!({ "jsonrpc": "2.0", "method": "filters", "params": params });
    comms.iter().for_each(|comm| sender.message(header, comm, &data, Attachments::default()));
}

impl Visuals {
    /// A cell has set the filters.
    pub fn filter(&self, id: &str, filters: Vec<Filter>) {
        self.filters.set(id, filters.clone());
        let open: Vec<String> = {
            let state = self.state.lock();
            state.open.iter().filter(|(_, picture)| *picture == id).map(|(comm, _)| comm.clone()).collect()
        };
        tell(&self.sender, &Value::Null, &open, &filters);
    }

    /// All views under filters, which are kept if the session takes them. A newer question replaces one that waits or
    /// runs.
    pub(super) fn views(&self, id: &str, message: &Message<'_>, asked: ViewsParams, answer: CommAnswer) {
        let filters = match filters_of(&asked.filters) {
            Ok(filters) => filters,
            Err(error) => return answer.give(Err(error)),
        };
        let mut others: Vec<String> = Vec::new();
        if !asked.moving && !asked.whole {
            let state = self.state.lock();
            let of_picture = state.open.iter().filter(|(comm, picture)| *picture == id && *comm != message.comm);
            others.extend(of_picture.map(|(comm, _)| comm.clone()));
        }
        let Some((session_thread, spec, newest)) = self.session_thread(id) else {
            return answer.give(Err(invalid(CODE, "this is not a dashboard, or its session is gone")));
        };
        let VisualSpec::Dashboard(request) = spec.clone() else {
            return answer.give(Err(invalid(CODE, "this picture is not a dashboard")));
        };
        let (turn, id) = (newest.fetch_add(1, Ordering::Relaxed) + 1, id.to_string());
        let question = self.filters.ask(&id);
        let (sender, header) = (self.sender.clone(), message.header.clone());
        session_thread.stop();
        session_thread.push(move |client| {
            if newest.load(Ordering::Relaxed) != turn {
                return answer.give(Err(superseded()));
            }
            let ask = VisualAsk::Dashboard { filters: filters.clone(), moving: asked.moving };
            let data = match client.ask_visual(spec, ask) {
                Ok((VisualHead::Dashboard(data), ..)) => data,
                Ok(_) => return answer.give(Err(incomplete("head"))),
                Err(error) => return answer.give(Err(error)),
            };
            question.keep(filters.clone());
            drop(question);
            tell(&sender, &header, &others, &filters);
            answer.give(Ok(match asked.whole {
                true => onrush_view::dashboard::bundle(&id, &request, &filters, &data).into_json(),
                false => onrush_view::dashboard::changes(&request, &data, &filters),
            }));
        });
    }

    /// The running sums by which a front end moves bars while a view is brushed.
    pub(super) fn cubes(&self, id: &str, asked: &CubesParams, answer: CommAnswer) {
        let filters = match filters_of(&asked.filters) {
            Ok(filters) => filters,
            Err(error) => return answer.give(Err(error)),
        };
        let Some((session_thread, spec, _)) = self.session_thread(id) else {
            return answer.give(Err(invalid(CODE, "this is not a dashboard, or its session is gone")));
        };
        let ask = VisualAsk::Cubes { view: asked.slots, filters };
        session_thread.push(move |client| match client.ask_visual(spec, ask) {
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
