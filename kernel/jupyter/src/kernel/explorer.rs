//! The data explorer of tables: a comm for each open table, with separate filters and sort keys. The session answers,
//! also while a cell runs. The protocol is Positron's (see [`positron_protocol`]). The session keeps the frames of
//! outputs until their cell runs again.

mod columns;
mod filters;
mod positron_protocol;
mod replies;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use lru::LruCache;
use onrush_view::Formats;
use onrush_wire::display::TablePreview;
use onrush_wire::explore::{Explore, ExploreReply, View};
use onrush_wire::expr::{Expr, SortKey};
use onrush_wire::schema::Field;
use onrush_wire::{Diagnostic, FrameId, NotebookId};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::comms::{Attachments, Message, Sender, Target};
use super::json_rpc::{CommAnswer, invalid, parse, superseded};
use super::session_thread::SessionThread;
use crate::notebook::TABLES;
use crate::session::Session;
use positron_protocol::{ColumnFilter, ConvertToCode, SortColumns};

/// By which front ends open a comm, with the frame's number in `data.frame`.
pub const NAME: &str = "onrush.data_explorer";

/// The code of errors.
const CODE: &str = "explore";

/// The comm target of Positron.
pub const POSITRON: &str = "positron.dataExplorer";

/// Outputs without a cell's id that are remembered: nobody says when they are gone.
const NAMELESS: usize = 20;

/// Tables that are looked at. A page that is loaded again says nothing of those that it had.
const OPEN: usize = 100;

/// Frames of one cell that are kept.
const OF_A_CELL: usize = 50;

/// A frame that an output shows.
struct ShownFrame {
    columns: Arc<Vec<Field>>,
    formats: Arc<Formats>,
    rows: u64,
    /// The cell of each output.
    cells: Vec<String>,
}

/// The tables of a notebook, and the frames that they show.
pub struct Explorer {
    session: Arc<Session>,
    sender: Sender,
    folder: PathBuf,
    shown: Mutex<HashMap<FrameId, ShownFrame>>,
    nameless: Mutex<VecDeque<FrameId>>,
    /// By comm, in the order of their opening.
    open: Mutex<LruCache<String, Arc<Table>>>,
}

/// One table that is looked at.
struct Table {
    frame: FrameId,
    columns: Arc<Vec<Field>>,
    formats: Arc<Formats>,
    rows: u64,
    state: Mutex<State>,
    /// Pages of rows: quick.
    pages: SessionThread,
    /// The thread for requests that read all rows.
    work: SessionThread,
}

struct State {
    /// As the front end said it.
    filters: Vec<Value>,
    column_filters: Vec<ColumnFilter>,
    /// Columns that these leave, in the frame's order: what positions of a schema or selection count.
    left: Vec<usize>,
    predicate: Option<Expr>,
    sort: Vec<positron_protocol::SortKey>,
    /// The view that the session has computed, from which pages are read.
    view: View,
    selected: u64,
    /// Counts the views that were asked for.
    epoch: u64,
}

impl Explorer {
    pub fn new(session: Arc<Session>, sender: Sender, folder: PathBuf) -> Arc<Explorer> {
        Arc::new(Explorer {
            session,
            sender,
            folder,
            shown: Mutex::default(),
            nameless: Mutex::default(),
            open: Mutex::new(LruCache::unbounded()),
        })
    }

    /// A cell's output shows a frame: it lives on from here. `cell`: the front end's id of the cell.
    pub fn show(&self, cell: Option<&str>, frame: FrameId, preview: &TablePreview) {
        if !self.session.show(frame) {
            return;
        }
        if cell.is_none() {
            let mut nameless = self.nameless.lock();
            nameless.push_back(frame);
            if nameless.len() > NAMELESS
                && let Some(oldest) = nameless.pop_front()
            {
                drop(nameless);
                self.hide(oldest, "");
            }
        }
        let field = |c: &onrush_wire::display::PreviewColumn| Field {
            name: c.name.clone(),
            dtype: c.dtype.clone(),
            nullable: true,
        };
        let mut shown = self.shown.lock();
        let entry = shown.entry(frame).or_insert_with(|| ShownFrame {
            columns: Arc::new(preview.columns.iter().map(field).collect()),
            formats: Arc::new(Formats::of(preview)),
            rows: preview.total_rows,
            cells: Vec::new(),
        });
        entry.cells.push(cell.unwrap_or("").to_string());
        let Some(cell) = cell else { return };
        // A cell that shows frames in a loop, or at every turn of a slider: the first ones go.
        let of_cell =
            shown.iter().filter(|(_, shown)| shown.cells.iter().any(|one| one == cell)).map(|(frame, _)| *frame);
        let frames: Vec<FrameId> = of_cell.collect();
        drop(shown);
        if frames.len() > OF_A_CELL
            && let Some(first) = frames.into_iter().min()
        {
            self.hide(first, cell);
        }
    }

    /// One output of `cell` less shows the frame.
    fn hide(&self, frame: FrameId, cell: &str) {
        let mut shown = self.shown.lock();
        let Some(entry) = shown.get_mut(&frame) else { return };
        let Some(at) = entry.cells.iter().position(|one| one == cell) else { return };
        entry.cells.swap_remove(at);
        if entry.cells.is_empty() {
            shown.remove(&frame);
        }
        drop(shown);
        self.session.hide(frame);
    }

    fn open_table(&self, message: &Message<'_>) -> Option<Table> {
        let frame = message.data["frame"].as_str().and_then(|text| text.parse().ok()).map(FrameId)?;
        self.table(frame, message.comm)
    }

    fn table(&self, frame: FrameId, comm: &str) -> Option<Table> {
        let (columns, formats, rows, cell) = {
            let shown = self.shown.lock();
            let entry = shown.get(&frame)?;
            let cell = entry.cells.first().cloned().unwrap_or_default();
            (Arc::clone(&entry.columns), Arc::clone(&entry.formats), entry.rows, cell)
        };
        if !cell.is_empty() {
            self.sender.belongs(comm, &cell);
        }
        let (socket, notebook) = self.session.address();
        let notebook = NotebookId(notebook.0 + TABLES);
        let session_thread = |name: &str| SessionThread::start(name, socket.clone(), notebook.clone()).ok();
        let view = View { frame, filter: None, sort: Vec::new() };
        let state = State {
            filters: Vec::new(),
            column_filters: Vec::new(),
            left: (0..columns.len()).collect(),
            predicate: None,
            sort: Vec::new(),
            view,
            selected: rows,
            epoch: 0,
        };
        let (pages, work) = (session_thread("table pages")?, session_thread("table work")?);
        Some(Table { frame, columns, formats, rows, state: Mutex::new(state), pages, work })
    }

    fn request(&self, table: &Arc<Table>, message: &Message<'_>) {
        let answer = CommAnswer::to(message, &self.sender);
        let method = message.data["method"].as_str().unwrap_or("");
        let params = &message.data["params"];
        let now = match method {
            "get_schema" => {
                parse(CODE, params).map(|asked| replies::schema(&table.columns, &table.state.lock().left, &asked))
            }
            "search_schema" => parse(CODE, params).and_then(|asked| columns::search(&table.columns, &asked)),
            "get_state" => Ok(table.backend_state()),
            "set_column_filters" => parse(CODE, params).and_then(|asked| table.filter_columns(asked)),
            "open_data_explorer" => Ok(self.open_another(table, message)),
            "open_dataset" | "set_dataset_import_options" => {
                Ok(json!({ "error_message": "a frame is read by a cell: read_csv(path).has_header(false), for one" }))
            }
            "suggest_code_syntax" => Ok(json!({ "code_syntax_name": "rust" })),
            "convert_to_code" => parse(CODE, params).and_then(|asked| self.code(table, &asked)),
            "get_data_values" => match parse(CODE, params) {
                Ok(asked) => return replies::values(table, asked, answer),
                Err(error) => Err(error),
            },
            "get_row_labels" => match parse(CODE, params) {
                Ok(asked) => return replies::labels(table, asked, answer),
                Err(error) => Err(error),
            },
            "get_value" => match parse(CODE, params) {
                Ok(asked) => return replies::value(table, asked, answer),
                Err(error) => Err(error),
            },
            "get_column_profiles" => match parse(CODE, params) {
                Ok(asked) => return replies::profiles(table, asked, answer),
                Err(error) => Err(error),
            },
            "export_data_selection" => match parse(CODE, params) {
                Ok(asked) => return replies::export(table, asked, answer),
                Err(error) => Err(error),
            },
            "export_file" => match parse(CODE, params) {
                Ok(asked) => return replies::export_file(table, asked, self.folder.clone(), answer),
                Err(error) => Err(error),
            },
            "set_row_filters" => match parse::<positron_protocol::RowFilters>(CODE, params) {
                Ok(asked) => {
                    let sort = table.state.lock().sort.clone();
                    return table.arrange(asked.filters, sort, answer);
                }
                Err(error) => Err(error),
            },
            "set_sort_columns" => match parse::<SortColumns>(CODE, params) {
                Ok(asked) => {
                    let filters = table.state.lock().filters.clone();
                    return table.arrange(filters, asked.sort_keys, answer);
                }
                Err(error) => Err(error),
            },
            other => Err(invalid(CODE, format!("the data explorer has no method `{other}`"))),
        };
        answer.give(now);
    }

    fn code(&self, table: &Table, asked: &ConvertToCode) -> Result<Value, Diagnostic> {
        let predicate =
            filters::predicate(&asked.row_filters, &table.columns).map_err(|(_, why)| invalid(CODE, why))?;
        let named = self.session.own_frames();
        let name = named.iter().find(|named| named.frame == table.frame).map_or("frame", |named| &named.name);
        let predicate = predicate.as_ref().map(|(_, text)| text.as_str());
        let mut lines = filters::code(name, predicate, &asked.sort_keys, &table.columns);
        if !asked.column_filters.is_empty() {
            let left = columns::left(&table.columns, &asked.column_filters)?;
            let names: Vec<String> = left.iter().map(|index| format!("{:?}", table.columns[*index].name)).collect();
            lines.push(format!(".select([{}])", names.join(", ")));
        }
        Ok(json!({ "converted_code": lines }))
    }

    /// Opens a table with the rows of this one, by a comm that the kernel opens.
    fn open_another(&self, table: &Table, message: &Message<'_>) -> Value {
        let comm = uuid::Uuid::new_v4().to_string();
        let Some(another) = self.table(table.frame, &comm) else { return json!({}) };
        let data = json!({ "title": "frame", "frame": table.frame.0.to_string() });
        self.open.lock().put(comm.clone(), Arc::new(another));
        self.sender.open(message.header, POSITRON, &comm, None, &data, Attachments::default());
        json!({})
    }
}

impl Table {
    /// The session computes which rows the view has; the answer says how many. Pages are of the old view until then.
    fn arrange(self: &Arc<Self>, filters: Vec<Value>, sort: Vec<positron_protocol::SortKey>, answer: CommAnswer) {
        let predicate = match filters::predicate(&filters, &self.columns) {
            Ok(predicate) => predicate.map(|(expr, _)| expr),
            Err((_, why)) => return answer.give(Err(invalid(CODE, why))),
        };
        let key = |key: &positron_protocol::SortKey| {
            let name = &self.columns.get(key.column_index)?.name;
            Some(SortKey { expr: Expr::column(name), descending: !key.ascending, nulls_last: Some(true) })
        };
        let Some(keys) = sort.iter().map(key).collect::<Option<Vec<_>>>() else {
            return answer.give(Err(invalid(CODE, "the column to sort by does not exist")));
        };
        let view = View { frame: self.frame, filter: predicate.clone(), sort: keys };
        let epoch = {
            let mut state = self.state.lock();
            state.epoch += 1;
            (state.filters, state.sort) = (filters, sort);
            state.predicate = predicate;
            state.epoch
        };
        // Summaries of the old view, and orders that nobody waits for.
        self.work.stop();
        let table = Arc::clone(self);
        self.work.push(move |client| {
            if table.state.lock().epoch != epoch {
                return answer.give(Err(superseded()));
            }
            match client.ask(&view, Explore::ComputeView) {
                Ok(ExploreReply::Count(rows)) => {
                    let old = {
                        let mut state = table.state.lock();
                        state.selected = rows;
                        std::mem::replace(&mut state.view, view.clone())
                    };
                    let plain = old.filter.is_none() && old.sort.is_empty();
                    if !plain && old != view {
                        let _ = client.ask(&old, Explore::DropView);
                    }
                    answer.give(Ok(json!({ "selected_num_rows": rows, "had_errors": false })));
                }
                Ok(_) => answer.give(Err(invalid(CODE, "the session gave no count"))),
                Err(diagnostic) => answer.give(Err(diagnostic)),
            }
        });
    }

    fn filter_columns(&self, asked: positron_protocol::ColumnFilters) -> Result<Value, Diagnostic> {
        let left = columns::left(&self.columns, &asked.filters)?;
        let mut state = self.state.lock();
        (state.column_filters, state.left) = (asked.filters, left);
        Ok(json!({}))
    }

    fn backend_state(&self) -> Value {
        let state = self.state.lock();
        replies::state(self, &state)
    }

    fn view(&self) -> View {
        self.state.lock().view.clone()
    }
}

impl Target for Explorer {
    fn open(&self, message: &Message<'_>) -> bool {
        let Some(table) = self.open_table(message) else { return false };
        let mut open = self.open.lock();
        open.put(message.comm.to_string(), Arc::new(table));
        let oldest = open.peek_lru().filter(|_| open.len() > OPEN).map(|(comm, _)| comm.clone());
        drop(open);
        if let Some(oldest) = oldest {
            self.sender.close(message.header, &oldest, &json!({ "reason": "many other tables were opened since" }));
            self.closed(&oldest);
        }
        true
    }

    fn message(&self, message: &Message<'_>) {
        let table = self.open.lock().peek(message.comm).map(Arc::clone);
        if let Some(table) = table {
            self.request(&table, message);
        }
    }

    fn closed(&self, comm: &str) {
        let Some(table) = self.open.lock().pop(comm) else { return };
        table.work.stop();
        let view = table.view();
        table.pages.push(move |client| drop(client.ask(&view, Explore::DropView)));
    }
}

impl Explorer {
    /// The outputs of the cell are gone. Called where cells are run, and not as a target, so that it cannot come after
    /// what the cell shows next.
    pub fn forget(&self, cell: &str) {
        let of_cell = |shown: &ShownFrame| shown.cells.iter().filter(|one| *one == cell).count();
        let frames: Vec<(FrameId, usize)> = {
            let shown = self.shown.lock();
            shown.iter().map(|(frame, shown)| (*frame, of_cell(shown))).filter(|(_, count)| *count > 0).collect()
        };
        for (frame, count) in frames {
            (0..count).for_each(|_| self.hide(frame, cell));
        }
    }
}
