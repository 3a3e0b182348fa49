//! Live pictures: the selection of nodes of graphs, rasters of graphs and plots, and dashboards. A comm for each output
//! on the screen.
//!
//! Requests are `{"id", "method", "params"}`, as those of tables. The kernel process keeps the selection, as it keeps
//! the values of controls. The session makes rasters, which are shaded here. It keeps the frames of a raster until its
//! cell runs again.

mod dashboard;

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use lru::LruCache;
use onrush_wire::control::Setting;
use onrush_wire::visual::{MAX_NODES, Section, VisualAsk, VisualHead, VisualSpec, Window};
use onrush_wire::{Class, Diagnostic, FrameId, NotebookId};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::comms::{Attachments, Message, Sender, Target};
use super::json_rpc::{CommAnswer, invalid, parse, superseded};
use super::session_thread::{SessionClient, SessionThread};
use crate::notebook::TABLES;
use crate::session::Session;
use dashboard::DashboardFilters;

/// By which front ends open a comm, with the picture's id in `data.view`.
pub const NAME: &str = "onrush.visual";

/// The code of errors.
const CODE: &str = "visual";

/// Pictures without a cell's id that are remembered: nobody says when they are gone.
const NAMELESS: usize = 20;
/// Selections of pictures, also of those that are on no screen.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1_000).unwrap();
/// Pixels of a side of a raster.
const SIDE: (u32, u32) = (16, 4_096);

/// All pictures of a notebook.
pub struct Visuals {
    session: Arc<Session>,
    sender: Sender,
    state: Mutex<State>,
    filters: Arc<DashboardFilters>,
}

struct State {
    pictures: BTreeMap<String, Picture>,
    selections: LruCache<String, Vec<String>>,
    /// The picture of each comm.
    open: BTreeMap<String, String>,
    nameless: VecDeque<String>,
}

/// A picture that outputs show.
struct Picture {
    what: VisualSpec,
    /// A raster that the session can draw anew.
    is_raster: bool,
    outputs: Vec<ShownOutput>,
    session_thread: Option<Arc<SessionThread>>,
    /// Counts the rasters that were asked for.
    newest: Arc<AtomicU64>,
}

/// One output.
struct ShownOutput {
    /// Empty if it has no id.
    cell: String,
    /// The frames that the session keeps for it.
    frames: Vec<FrameId>,
}

#[derive(Deserialize)]
struct RasterParams {
    /// x0, y0, x1, y1 in the coordinates of the layout.
    window: [f64; 4],
    width: u32,
    height: u32,
}

#[derive(Deserialize)]
struct SelectParams {
    nodes: Vec<String>,
}

impl Picture {
    /// The thread that asks the session, what is asked of it, and the number of the newest question.
    fn session_thread(&mut self, session: &Session) -> Option<(Arc<SessionThread>, VisualSpec, Arc<AtomicU64>)> {
        if self.session_thread.is_none() {
            let (socket, notebook) = session.address();
            self.session_thread =
                SessionThread::start("visuals", socket, NotebookId(notebook.0 + TABLES)).ok().map(Arc::new);
        }
        Some((self.session_thread.clone()?, self.what.clone(), Arc::clone(&self.newest)))
    }

    /// Nobody looks at the picture: stops the session's work for it.
    fn stop(&mut self) {
        self.newest.fetch_add(1, Ordering::Relaxed);
        if let Some(session_thread) = self.session_thread.take() {
            let spec = self.what.clone();
            session_thread.stop();
            session_thread.push(move |client| drop(client.ask_visual(spec, VisualAsk::Forget)));
        }
    }
}

impl Visuals {
    fn session_thread(&self, id: &str) -> Option<(Arc<SessionThread>, VisualSpec, Arc<AtomicU64>)> {
        self.state.lock().pictures.get_mut(id)?.session_thread(&self.session)
    }

    pub fn new(session: Arc<Session>, sender: Sender) -> Visuals {
        let state = State {
            pictures: BTreeMap::new(),
            selections: LruCache::new(REMEMBERED),
            open: BTreeMap::new(),
            nameless: VecDeque::new(),
        };
        Visuals { session, sender, state: Mutex::new(state), filters: Arc::default() }
    }

    /// An output shows a picture. `cell`: the front end's id of the cell.
    pub fn show(&self, cell: Option<&str>, id: &str, what: &VisualSpec, is_raster: bool) {
        let mut held = Vec::new();
        if is_raster {
            held = what.frames().filter(|frame| self.session.show(*frame)).collect();
            if held.len() < what.frames().count() {
                return self.hide(&held);
            }
        }
        let mut state = self.state.lock();
        let mut oldest = None;
        if cell.is_none() {
            state.nameless.push_back(id.to_string());
            oldest = if state.nameless.len() > NAMELESS { state.nameless.pop_front() } else { None };
        }
        let picture = state.pictures.entry(id.to_string()).or_insert_with(|| Picture {
            what: what.clone(),
            is_raster,
            outputs: Vec::new(),
            session_thread: None,
            newest: Arc::default(),
        });
        // A view may have other settings than when it was shown first.
        (picture.what, picture.is_raster) = (what.clone(), is_raster);
        picture.outputs.push(ShownOutput { cell: cell.unwrap_or("").to_string(), frames: held });
        drop(state);
        if let Some(oldest) = oldest {
            self.forget(&oldest, "");
        }
    }

    fn hide(&self, frames: &[FrameId]) {
        frames.iter().for_each(|frame| self.session.hide(*frame));
    }

    /// Removes one output of `cell`. With its last output a picture is gone, and its comms are closed.
    fn forget(&self, id: &str, cell: &str) {
        let mut state = self.state.lock();
        let Some(picture) = state.pictures.get_mut(id) else { return };
        let Some(at) = picture.outputs.iter().position(|output| output.cell == cell) else { return };
        let gone = picture.outputs.swap_remove(at);
        let mut comms = Vec::new();
        if picture.outputs.is_empty()
            && let Some(mut picture) = state.pictures.remove(id)
        {
            let of_picture = state.open.extract_if(.., |_, open| *open == id);
            comms = of_picture.map(|(comm, _)| comm).collect();
            picture.stop();
        }
        drop(state);
        comms.iter().for_each(|comm| self.sender.close(&Value::Null, comm, &json!({})));
        self.hide(&gone.frames);
    }

    /// The selected nodes, or the filters of a dashboard. `None` if this is not the id of a picture.
    pub fn selection(&self, id: &str) -> Option<Setting> {
        if let Some(filters) = self.filters.settled(id) {
            return Some(Setting::Filters(filters));
        }
        let state = self.state.lock();
        let selected = state.selections.peek(id);
        match selected {
            Some(nodes) => Some(Setting::Nodes(nodes.clone())),
            None => state.pictures.contains_key(id).then(|| Setting::Nodes(Vec::new())),
        }
    }

    fn select(&self, id: &str, message: &Message<'_>, nodes: Vec<String>) -> Result<Value, Diagnostic> {
        if nodes.len() > MAX_NODES as usize {
            return Err(invalid(CODE, format!("{} nodes are selected, at most {MAX_NODES} can be", nodes.len())));
        }
        let count = nodes.len();
        let mut state = self.state.lock();
        state.selections.put(id.to_string(), nodes.clone());
        let of_picture = state.open.iter().filter(|(comm, picture)| *picture == id && *comm != message.comm);
        let others: Vec<String> = of_picture.map(|(comm, _)| comm.clone()).collect();
        drop(state);
        // Other outputs of the same picture.
        let data = json!({ "jsonrpc": "2.0", "method": "selected", "params": { "nodes": nodes } });
        others.iter().for_each(|comm| self.sender.message(message.header, comm, &data, Attachments::default()));
        Ok(json!({ "count": count }))
    }

    fn raster(&self, id: &str, asked: &RasterParams, answer: CommAnswer) {
        let [x0, y0, x1, y1] = asked.window;
        if ![x0, y0, x1, y1].iter().all(|edge| edge.is_finite()) || x1 <= x0 || y1 <= y0 {
            return answer.give(Err(invalid(CODE, format!("the window {:?} has no area", asked.window))));
        }
        let window = Window { x0, y0, x1, y1 };
        let [width, height] = [asked.width, asked.height].map(|side| side.clamp(SIDE.0, SIDE.1));
        let mut state = self.state.lock();
        let Some(picture) = state.pictures.get_mut(id).filter(|picture| picture.is_raster) else {
            return answer.give(Err(invalid(CODE, "this picture is not a raster")));
        };
        let Some((session_thread, spec, newest)) = picture.session_thread(&self.session) else {
            return answer.give(Err(invalid(CODE, "no thread could be started")));
        };
        let turn = newest.fetch_add(1, Ordering::Relaxed) + 1;
        drop(state);
        // Nobody waits for an older window.
        session_thread.stop();
        session_thread.push(move |client| {
            if newest.load(Ordering::Relaxed) != turn {
                return answer.give(Err(superseded()));
            }
            let asked = VisualAsk::Raster { window, width, height };
            let request = match &spec {
                VisualSpec::Graph(request) => request,
                VisualSpec::Raster(_) | VisualSpec::Dashboard(_) => return answer.give(plotted(client, spec, asked)),
            };
            let map = request.style.color_map.unwrap_or_default();
            let drawn = client.ask_visual(spec.clone(), asked).and_then(|(head, sections, memory)| {
                let counts = |name: &str| counts(&sections, &memory, name).ok_or_else(|| incomplete(name));
                let png =
                    onrush_view::graph_raster(width, height, &counts("node_counts")?, &counts("edge_counts")?, map);
                Ok((head, png.ok_or_else(|| incomplete("node_counts"))?))
            });
            match drawn {
                Ok((VisualHead::Raster { nodes, notes }, png)) => {
                    let result = json!({ "window": [x0, y0, x1, y1], "nodes": nodes, "notes": notes });
                    answer.give_with(Ok(result), &[Bytes::from(png)]);
                }
                Ok(_) => answer.give(Err(incomplete("head"))),
                Err(diagnostic) => answer.give(Err(diagnostic)),
            }
        });
    }
}

/// The plot of a window, drawn.
fn plotted(client: &mut SessionClient, what: VisualSpec, ask: VisualAsk) -> Result<Value, Diagnostic> {
    match client.ask_visual(what, ask)?.0 {
        VisualHead::Plot(plot) => Ok(onrush_view::raster_state(&plot)),
        _ => Err(incomplete("head")),
    }
}

/// The numbers of a section.
fn counts(sections: &[Section], memory: &[u8], name: &str) -> Option<Vec<u32>> {
    let bytes = sections.iter().find(|section| section.name == name)?.of(memory)?;
    let (words, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| words.iter().map(|word| u32::from_le_bytes(*word)).collect())
}

impl Target for Visuals {
    fn open(&self, message: &Message<'_>) -> bool {
        let Some(id) = message.data["view"].as_str() else { return false };
        let mut state = self.state.lock();
        if !state.pictures.contains_key(id) {
            return false;
        }
        // Several cells may show the picture, so that the comm belongs to none of them.
        state.open.insert(message.comm.to_string(), id.to_string());
        true
    }

    fn message(&self, message: &Message<'_>) {
        let Some(id) = self.state.lock().open.get(message.comm).cloned() else { return };
        let answer = CommAnswer::to(message, &self.sender);
        let params = &message.data["params"];
        match message.data["method"].as_str().unwrap_or("") {
            "state" => {
                let state = self.state.lock();
                let nodes = state.selections.peek(&id).cloned().unwrap_or_default();
                let is_raster = state.pictures.get(&id).is_some_and(|picture| picture.is_raster);
                let is_dashboard =
                    state.pictures.get(&id).is_some_and(|picture| matches!(picture.what, VisualSpec::Dashboard(_)));
                drop(state);
                answer.give(Ok(match is_dashboard {
                    true => json!({ "filters": onrush_view::dashboard::filters_to_json(&self.filters.of(&id).unwrap_or_default()) }),
                    false => json!({ "nodes": nodes, "raster": is_raster }),
                }));
            }
            "select" => {
                let done = parse::<SelectParams>(CODE, params).and_then(|asked| self.select(&id, message, asked.nodes));
                answer.give(done);
            }
            "raster" => match parse::<RasterParams>(CODE, params) {
                Ok(asked) => self.raster(&id, &asked, answer),
                Err(error) => answer.give(Err(error)),
            },
            "dashboard" => match parse::<dashboard::ViewsParams>(CODE, params) {
                Ok(asked) => self.views(&id, message, asked, answer),
                Err(error) => answer.give(Err(error)),
            },
            "cubes" => match parse::<dashboard::CubesParams>(CODE, params) {
                Ok(asked) => self.cubes(&id, &asked, answer),
                Err(error) => answer.give(Err(error)),
            },
            other => answer.give(Err(invalid(CODE, format!("a picture has no method `{other}`")))),
        }
    }

    fn closed(&self, comm: &str) {
        let mut state = self.state.lock();
        let Some(id) = state.open.remove(comm) else { return };
        if state.open.values().any(|open| *open == id) {
            return;
        }
        if let Some(picture) = state.pictures.get_mut(&id) {
            picture.stop();
        }
    }

    fn released(&self, cell: &str) {
        let of_cell = |picture: &Picture| picture.outputs.iter().filter(|output| output.cell == cell).count();
        let gone: Vec<(String, usize)> = {
            let state = self.state.lock();
            state.pictures.iter().map(|(id, one)| (id.clone(), of_cell(one))).filter(|(_, count)| *count > 0).collect()
        };
        for (id, count) in gone {
            (0..count).for_each(|_| self.forget(&id, cell));
        }
    }
}

fn incomplete(part: &str) -> Diagnostic {
    Diagnostic::error(Class::Internal, CODE, format!("the session's picture has no usable `{part}`"))
}
