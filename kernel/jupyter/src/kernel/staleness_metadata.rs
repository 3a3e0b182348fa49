//! The cell of an execution, and the marks on the outputs of cells that have become stale.
//!
//! `kernel/cell` finds stale cells. Here staleness becomes metadata: of the reply, of new outputs, and of earlier ones,
//! which are sent again as updates of their displays.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::SystemTime;

use lru::LruCache;
use onrush_cell::{Flow, Origin};
use onrush_view::Bundle;
use serde_json::{Map, Value, json};

use crate::message::Request;
use crate::send_queue::SendQueue;

/// An output that is larger is not kept to be marked later.
const LARGEST: usize = 256 << 10;
/// Kept outputs of all cells together.
const MOST: usize = 8 << 20;
/// A notebook's file that is larger is not read for the order of its cells.
const LARGEST_FILE: u64 = 8 << 20;

/// Outputs and marks of the cells of a notebook.
pub struct StalenessMetadata {
    /// Outputs by cell (display id and bundle), and their size in bytes.
    outputs: LruCache<String, (Vec<(String, Bundle)>, usize)>,
    marked: BTreeSet<String>,
    order: Order,
}

/// The order of the cells in the notebook's file, which Jupyter names in the environment.
#[derive(Default)]
struct Order {
    read: Option<SystemTime>,
    ids: Vec<String>,
}

impl Default for StalenessMetadata {
    fn default() -> StalenessMetadata {
        StalenessMetadata { outputs: LruCache::unbounded(), marked: BTreeSet::new(), order: Order::default() }
    }
}

impl StalenessMetadata {
    /// The origin of a request: JupyterLab says the cell's id and which cells were deleted.
    pub fn origin(&mut self, request: &Request) -> Origin {
        let id = request.metadata["cellId"].as_str().map(str::to_string);
        let deleted = request.metadata["deletedCells"].as_array().into_iter().flatten();
        let deleted = deleted.filter_map(|id| Some(id.as_str()?.to_string())).collect();
        let order = if id.is_some() { self.order.ids() } else { Vec::new() };
        Origin { id, deleted, order, ..Origin::default() }
    }

    /// A cell has ended: keeps what it showed, and marks the outputs of those that it has made stale.
    pub fn finish(
        &mut self,
        send_queue: &SendQueue,
        request: &Request,
        cell: Option<&str>,
        shown: Vec<(String, Bundle)>,
        flow: &Flow,
    ) {
        if let Some(cell) = cell {
            self.marked.remove(cell);
            self.keep(cell, shown);
        }
        for stale in &flow.stale {
            // Its own outputs had the mark from the beginning.
            if !self.marked.insert(stale.cell.clone()) {
                continue;
            }
            for (id, data) in self.outputs.peek(&stale.cell).into_iter().flat_map(|(shown, _)| shown) {
                let metadata = json!({ "onrush": { "cell": stale.cell, "stale": stale.why } });
                let content = json!({ "data": data, "metadata": metadata, "transient": { "display_id": id } });
                send_queue.publish(&request.header, "update_display_data", &content);
            }
        }
        self.marked.retain(|cell| flow.stale.iter().any(|stale| stale.cell == *cell));
    }

    /// The outputs of a cell are gone.
    pub fn forget(&mut self, cell: &str) {
        self.keep(cell, Vec::new());
    }

    fn keep(&mut self, cell: &str, shown: Vec<(String, Bundle)>) {
        let size = |data: &Bundle| data.values().map(|v| v.as_str().map_or(1000, str::len)).sum::<usize>();
        let shown: Vec<(String, Bundle)> = shown.into_iter().filter(|(_, data)| size(data) <= LARGEST).collect();
        let bytes = shown.iter().map(|(_, data)| size(data)).sum();
        self.outputs.put(cell.to_string(), (shown, bytes));
        while self.outputs.iter().map(|(_, (_, bytes))| bytes).sum::<usize>() > MOST {
            self.outputs.pop_lru();
        }
    }
}

impl Order {
    fn ids(&mut self) -> Vec<String> {
        let Some(path) = notebook_file() else { return Vec::new() };
        let modified =
            std::fs::metadata(&path).ok().filter(|m| m.len() <= LARGEST_FILE).and_then(|m| m.modified().ok());
        if modified.is_some() && modified != self.read {
            self.read = modified;
            let notebook = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
            let cells = notebook.as_ref().and_then(|n| n["cells"].as_array()).map_or(&[][..], Vec::as_slice);
            self.ids = cells.iter().filter_map(|cell| Some(cell["id"].as_str()?.to_string())).collect();
        }
        self.ids.clone()
    }
}

/// `JPY_SESSION_NAME` is the path of the notebook, for Jupyter's server.
fn notebook_file() -> Option<PathBuf> {
    let named = PathBuf::from(std::env::var_os("JPY_SESSION_NAME")?);
    let here = std::env::current_dir().ok()?.join(named.file_name()?);
    [named, here].into_iter().find(|path| path.extension().is_some_and(|e| e == "ipynb") && path.is_file())
}

/// The metadata of an output of a cell that has read something.
pub fn of_output(cell: Option<&str>, flow: &Flow) -> Value {
    let mut own = Map::new();
    own.extend(cell.map(|cell| ("cell".to_string(), Value::from(cell))));
    if !flow.reads.is_empty() {
        own.insert("reads".to_string(), reads(flow));
    }
    if own.is_empty() { json!({}) } else { json!({ "onrush": own }) }
}

/// The metadata of a reply.
pub fn of_reply(cell: Option<&str>, flow: &Flow) -> Value {
    let stale = |s: &onrush_cell::Stale| json!({ "cell": s.cell, "execution_count": s.execution, "why": s.why });
    json!({ "onrush": {
        "cell": cell,
        "reads": reads(flow),
        "writes": flow.writes,
        "stale": flow.stale.iter().map(stale).collect::<Vec<_>>(),
    } })
}

fn reads(flow: &Flow) -> Value {
    flow.reads.iter().map(|(name, count)| (name.clone(), Value::from(*count))).collect::<Map<_, _>>().into()
}
