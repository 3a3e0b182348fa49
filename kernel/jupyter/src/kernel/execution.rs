//! The queue of cells and the thread that works it off.

mod output_widget;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use onrush_cell::{Flow, Origin};
use onrush_view::Bundle;
use onrush_wire::FrameId;
use onrush_wire::control::{Control, Setting};
use onrush_wire::dashboard::Filter;
use onrush_wire::display::TablePreview;
use onrush_wire::host::Stream;
use onrush_wire::visual::VisualSpec;
use parking_lot::{Condvar, Mutex};
use serde::Deserialize;
use serde_json::{Value, json};

use super::staleness_metadata::{self, StalenessMetadata};
use super::{Kernel, replies, widgets};
use crate::message::Request;
use crate::notebook::{self, Answer, CellError, CellSink, HIDDEN, Output};
use crate::send_queue::SendQueue;

/// Cells that a front end sent at once arrive within this time of each other.
const SETTLE: Duration = Duration::from_millis(20);

/// Waiting cells, and changes of controls, in the order in which they came.
#[derive(Default)]
pub struct Queue {
    waiting: Mutex<(VecDeque<Job>, bool)>,
    changed: Condvar,
    runs_a_cell: AtomicBool,
    /// By the front end's id; empty if it gave none, or no cell runs.
    running: Mutex<String>,
}

enum Job {
    Cell(Request),
    /// The oldest change that waits in the widgets.
    React,
    /// The outputs of these cells are gone.
    Gone(Vec<String>),
}

impl Queue {
    pub fn push(&self, request: Request) {
        self.waiting.lock().0.push_back(Job::Cell(request));
        self.changed.notify_all();
    }

    /// A control was changed.
    pub fn run_callbacks(&self) {
        self.waiting.lock().0.push_back(Job::React);
        self.changed.notify_all();
    }

    /// The outputs of these cells are gone: what the cell process and the marks of stale outputs keep for them is not
    /// needed.
    pub fn gone(&self, cells: Vec<String>) {
        self.waiting.lock().0.push_back(Job::Gone(cells));
        self.changed.notify_all();
    }

    pub fn is_running_a_cell(&self) -> bool {
        self.runs_a_cell.load(Ordering::Acquire)
    }

    /// Whether the cell of this id runs.
    pub fn is_running(&self, cell: &str) -> bool {
        *self.running.lock() == cell
    }

    /// No cell starts after this.
    pub fn close(&self) {
        self.waiting.lock().1 = true;
        self.changed.notify_all();
    }

    fn next(&self) -> Option<Job> {
        let mut waiting = self.waiting.lock();
        loop {
            if waiting.1 {
                return None;
            }
            match waiting.0.pop_front() {
                Some(job) => return Some(job),
                None => self.changed.wait(&mut waiting),
            }
        }
    }

    /// The cells; changes stay.
    fn drain(&self) -> Vec<Request> {
        let mut waiting = self.waiting.lock();
        let mut cells = Vec::new();
        for job in std::mem::take(&mut waiting.0) {
            match job {
                Job::Cell(request) => cells.push(request),
                Job::React | Job::Gone(_) => waiting.0.push_back(job),
            }
        }
        cells
    }
}

/// The protocol crate's type wants fields that clients leave out.
#[derive(Deserialize)]
#[serde(default)]
struct Execute {
    code: Option<String>,
    silent: bool,
    store_history: Option<bool>,
    user_expressions: Option<BTreeMap<String, String>>,
    allow_stdin: bool,
    stop_on_error: bool,
}

impl Default for Execute {
    fn default() -> Self {
        Execute {
            code: None,
            silent: false,
            store_history: None,
            user_expressions: None,
            allow_stdin: false,
            stop_on_error: true,
        }
    }
}

/// Execution numbers. The user sees the count. Hidden cells have separate numbers, because a number names a source
/// file.
struct Counter {
    count: u64,
    hidden: u64,
    lineage: StalenessMetadata,
}

/// Works the queue off until it is closed.
pub fn run(kernel: &Arc<Kernel>) {
    let mut counter = Counter { count: 0, hidden: HIDDEN, lineage: StalenessMetadata::default() };
    while let Some(job) = kernel.queue.next() {
        let request = match job {
            Job::Cell(request) => request,
            Job::React => {
                output_widget::run_callbacks(kernel, &mut counter.hidden);
                continue;
            }
            Job::Gone(cells) => {
                cells.iter().for_each(|cell| counter.lineage.forget(cell));
                output_widget::drop_controls(kernel, &mut counter.hidden);
                continue;
            }
        };
        kernel.queue.runs_a_cell.store(true, Ordering::Release);
        *kernel.queue.running.lock() = request.metadata["cellId"].as_str().unwrap_or("").to_string();
        kernel.send_queue.status(&request.header, "busy");
        *kernel.current.lock() = request.header.clone();
        let (reply, metadata, abort) = cell(kernel, &request, &mut counter);
        let aborted = if abort {
            // Requests that were sent before the error could be known must not run. Requests after the reply may run.
            std::thread::sleep(SETTLE);
            kernel.queue.drain()
        } else {
            Vec::new()
        };
        *kernel.current.lock() = Value::Null;
        kernel.queue.running.lock().clear();
        kernel.queue.runs_a_cell.store(false, Ordering::Release);
        kernel.send_queue.reply_with(&request, &request.reply_type(), &metadata, &reply);
        kernel.send_queue.status(&request.header, "idle");
        for request in aborted {
            kernel.send_queue.status(&request.header, "busy");
            let reply = json!({
                "status": "aborted", "execution_count": counter.count, "ename": "Aborted",
                "evalue": "an earlier cell failed", "traceback": [], "payload": [], "user_expressions": {},
            });
            kernel.send_queue.reply(&request, &reply);
            kernel.send_queue.status(&request.header, "idle");
        }
    }
}

/// Runs one cell; gives the reply with its metadata, and whether the waiting cells must be given up.
fn cell(kernel: &Arc<Kernel>, request: &Request, counter: &mut Counter) -> (Value, Value, bool) {
    let parsed = request.content::<Execute>().and_then(|execute| match execute.code.clone() {
        Some(code) => Ok((execute, code)),
        None => Err("it has no `code`".to_string()),
    });
    let (execute, code) = match parsed {
        Ok(parsed) => parsed,
        Err(why) => return (replies::error(&request.msg_type, &why), json!({}), false),
    };
    let store_history = execute.store_history.unwrap_or(true) && !execute.silent;
    if code.trim().is_empty() {
        if !execute.silent {
            let count = counter.count + u64::from(store_history);
            kernel.send_queue.publish(
                &request.header,
                "execute_input",
                &json!({ "code": code, "execution_count": count }),
            );
        }
        return (ok(counter.count, json!({})), json!({}), false);
    }
    let number = if store_history {
        counter.count += 1;
        counter.count
    } else {
        counter.hidden += 1;
        counter.hidden
    };
    let count = if store_history { number } else { counter.count };
    if !execute.silent {
        kernel.send_queue.publish(&request.header, "execute_input", &json!({ "code": code, "execution_count": count }));
    }
    let mut origin = counter.lineage.origin(request);
    if !execute.silent {
        kernel.runs_as(number, &request.header, origin.id.as_deref());
    }
    // Earlier outputs of the cell are replaced, and outputs of deleted cells are gone.
    let gone = origin.id.iter().filter(|_| !execute.silent).chain(&origin.deleted);
    gone.for_each(|cell| {
        kernel.comms.release(&request.header, cell);
        kernel.explorer.forget(cell);
    });
    origin.dropped = kernel.widgets.take_dropped();
    origin.is_hidden = execute.silent;
    kernel.widgets.refresh(&request.header);
    let mut sink = JupyterSink {
        origin,
        flow: None,
        shown: Vec::new(),
        kernel,
        request,
        count,
        quiet: execute.silent,
        allow_stdin: execute.allow_stdin,
        result_text: None,
        result: None,
        progress: None,
        panels: Vec::new(),
    };
    let result = kernel.notebook.run_cell(number, &code, &mut sink);
    if result.is_err() && !sink.panels.is_empty() {
        let panels = std::mem::take(&mut sink.panels);
        kernel.widgets.disconnect(Some(&panels), "the cell that made it failed", &request.header);
    }
    let text = sink.result_text.take();
    let (shown, flow) = (std::mem::take(&mut sink.shown), sink.flow.take());
    let id = sink.origin.id.take();
    // A cell that failed has made nothing: what is stale is so as before.
    let metadata = flow.as_ref().filter(|_| result.is_ok()).map_or(json!({}), |flow| {
        counter.lineage.finish(&kernel.send_queue, request, id.as_deref(), shown, flow);
        staleness_metadata::of_reply(id.as_deref(), flow)
    });
    if store_history {
        kernel.history.lock().store(number, &code, text);
    }
    match result {
        Ok(()) => {
            let expressions = execute.user_expressions.unwrap_or_default();
            let values = expressions
                .iter()
                .map(|(name, expression)| (name.clone(), user_expression(kernel, request, expression, counter)))
                .collect::<serde_json::Map<_, _>>();
            (ok(count, Value::Object(values)), metadata, false)
        }
        Err(error) => {
            let mut reply = error_content(&error);
            if !execute.silent {
                kernel.send_queue.publish(&request.header, "error", &reply);
            }
            reply["status"] = "error".into();
            reply["execution_count"] = count.into();
            reply["user_expressions"] = json!({});
            reply["payload"] = json!([]);
            (reply, metadata, execute.stop_on_error)
        }
    }
}

fn ok(count: u64, user_expressions: Value) -> Value {
    json!({ "status": "ok", "execution_count": count, "payload": [], "user_expressions": user_expressions })
}

fn error_content(error: &CellError) -> Value {
    json!({ "ename": error.ename, "evalue": error.evalue, "traceback": error.traceback })
}

/// The value of an expression as a MIME bundle, for the reply. It runs as a silent cell.
fn user_expression(kernel: &Arc<Kernel>, request: &Request, expression: &str, counter: &mut Counter) -> Value {
    counter.hidden += 1;
    let mut sink = JupyterSink {
        origin: Origin { is_hidden: true, ..Origin::default() },
        flow: None,
        shown: Vec::new(),
        kernel,
        request,
        count: 0,
        quiet: true,
        allow_stdin: false,
        result_text: None,
        result: None,
        progress: None,
        panels: Vec::new(),
    };
    match kernel.notebook.run_cell(counter.hidden, expression, &mut sink) {
        Ok(()) => json!({ "status": "ok", "data": sink.result.unwrap_or(json!({})), "metadata": {} }),
        Err(error) => {
            let mut content = error_content(&error);
            content["status"] = "error".into();
            content
        }
    }
}

/// Outputs become iopub messages of the request.
struct JupyterSink<'a> {
    origin: Origin,
    /// Names that the cell reads, and in the end names that it made.
    flow: Option<Flow>,
    /// Outputs that can be marked later, by display id.
    shown: Vec<(String, Bundle)>,
    kernel: &'a Kernel,
    request: &'a Request,
    count: u64,
    /// Publishes nothing.
    quiet: bool,
    allow_stdin: bool,
    /// The plain text of the cell's value, for the history.
    result_text: Option<String>,
    result: Option<Value>,
    /// The display id of progress, once there is one.
    progress: Option<String>,
    /// Controls that the cell has shown.
    panels: Vec<String>,
}

impl JupyterSink<'_> {
    fn send_queue(&self) -> &SendQueue {
        &self.kernel.send_queue
    }

    fn metadata(&self) -> Value {
        self.flow.as_ref().map_or(json!({}), |flow| staleness_metadata::of_output(self.origin.id.as_deref(), flow))
    }

    /// Every output of a cell with an id can be found again.
    fn remember(&mut self, display_id: Option<String>, data: &Bundle) -> Option<String> {
        if self.origin.id.is_none() {
            return display_id;
        }
        let id = display_id.unwrap_or_else(|| format!("output-{}", uuid::Uuid::new_v4()));
        self.shown.push((id.clone(), data.clone()));
        Some(id)
    }
}

impl CellSink for JupyterSink<'_> {
    fn output(&mut self, output: Output) {
        if let Output::Result { data, .. } = &output {
            self.result_text = data.get("text/plain").and_then(Value::as_str).map(str::to_string);
            self.result = Some(data.clone().into_json());
        }
        if self.quiet {
            return;
        }
        let parent = &self.request.header;
        let transient = |id: Option<String>| id.map_or(json!({}), |id| json!({ "display_id": id }));
        match output {
            Output::Stream { stream, text } => {
                if text.is_empty() {
                    return;
                }
                let name = super::stream_name(stream);
                self.send_queue().publish(parent, "stream", &json!({ "name": name, "text": text }));
            }
            Output::Display { data, display_id, update } => {
                let msg_type = if update { "update_display_data" } else { "display_data" };
                let display_id = if update {
                    self.shown
                        .iter_mut()
                        .filter(|(id, _)| Some(id) == display_id.as_ref())
                        .for_each(|(_, old)| *old = data.clone());
                    display_id
                } else {
                    self.remember(display_id, &data)
                };
                let content = json!({ "data": data, "metadata": self.metadata(), "transient": transient(display_id) });
                self.send_queue().publish(parent, msg_type, &content);
            }
            Output::Result { data, display_id } => {
                let display_id = self.remember(display_id, &data);
                let content = json!({
                    "data": data, "metadata": self.metadata(), "transient": transient(display_id),
                    "execution_count": self.count,
                });
                self.send_queue().publish(parent, "execute_result", &content);
            }
            Output::Progress { data } => {
                let msg_type = if self.progress.is_some() { "update_display_data" } else { "display_data" };
                let id = self.progress.get_or_insert_with(|| format!("progress-{}", uuid::Uuid::new_v4())).clone();
                // Who compares outputs leaves it out: what is quick shows none.
                let metadata = json!({ "onrush": { "progress": true } });
                let content = json!({ "data": data, "metadata": metadata, "transient": transient(Some(id)) });
                self.send_queue().publish(parent, msg_type, &content);
            }
            Output::Panel { mut panel, outputs, is_result } => {
                let (owner, widgets) = (self.origin.id.as_deref(), &self.kernel.widgets);
                let below = outputs
                    .iter()
                    .cloned()
                    .filter_map(|output| output_widget::nbformat(widgets, output, owner, parent));
                let shown = widgets.show(&mut panel, owner, below.collect(), parent);
                let mut data = notebook::panel_bundle(&panel, &outputs);
                let display = format!("output-{}", uuid::Uuid::new_v4());
                if let Some((model, id)) = shown {
                    widgets::insert_view(&mut data, &model);
                    self.kernel.widgets.displayed(&id, &model, &display, &self.metadata(), &panel.controls);
                    self.panels.push(id);
                }
                let display_id = Some(display);
                match is_result {
                    true => self.output(Output::Result { data, display_id }),
                    false => self.output(Output::Display { data, display_id, update: false }),
                }
            }
            Output::Clear { wait } => {
                self.shown.clear();
                if let Some(cell) = &self.origin.id {
                    self.kernel.comms.release(parent, cell);
                    self.kernel.explorer.forget(cell);
                }
                self.send_queue().publish(parent, "clear_output", &json!({ "wait": wait }));
            }
        }
    }

    fn origin(&self) -> Origin {
        self.origin.clone()
    }

    fn control(&mut self, control: Control) {
        self.kernel.widgets.change(control, &self.request.header);
    }

    fn filter(&mut self, id: &str, filters: Vec<Filter>) {
        self.kernel.visuals.filter(id, filters);
    }

    fn setting(&mut self, id: &str) -> Option<Setting> {
        self.kernel.widgets.setting(id).or_else(|| self.kernel.visuals.selection(id))
    }

    fn late(&mut self, cell: u64, stream: Stream, text: String) {
        self.kernel.late(cell, stream, &text);
    }

    fn lost(&mut self) {
        self.kernel.widgets.disconnect(None, "the cell process was started anew", &self.request.header);
    }

    fn shows(&mut self, frame: FrameId, preview: &TablePreview) {
        self.kernel.explorer.show(self.origin.id.as_deref(), frame, preview);
    }

    fn shows_visual(&mut self, id: &str, what: &VisualSpec, is_raster: bool) {
        self.kernel.visuals.show(self.origin.id.as_deref(), id, what, is_raster);
    }

    fn flow(&mut self, flow: Flow) {
        self.flow = Some(flow);
    }

    fn input(&mut self, prompt: &str, password: bool, interrupted: &dyn Fn() -> bool) -> Answer {
        if !self.allow_stdin {
            return Answer::Unavailable("this front end has no way to ask for it".to_string());
        }
        self.kernel.stdin.ask(self.send_queue(), self.request, prompt, password, interrupted)
    }
}
