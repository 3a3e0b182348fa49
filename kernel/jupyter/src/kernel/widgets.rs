//! Controls as models of ipywidgets. The kernel process keeps their state, so that a page can be loaded again and a
//! slider moves while a cell runs. Callbacks wait for the cell process (`kernel/execution.rs`).

mod models;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onrush_view::Bundle;
use onrush_wire::control::{Control, Panel, Setting};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::comms::{Attachments, Message, Sender, Target};
use super::execution::Queue;
use models::Model;

/// Comms of models.
pub const WIDGET: &str = "jupyter.widget";
/// A front end opens it when it connects to a running kernel, and waits four seconds for an answer.
pub const CONTROL: &str = "jupyter.widget.control";
/// Settings of controls that are on no screen are kept for when they are shown again.
const REMEMBERED: usize = 10_000;

/// How a front end finds the model that is shown.
pub const VIEW: &str = "application/vnd.jupyter.widget-view+json";
/// By which our extension knows that values are to be shown where ipywidgets finds no model.
const CONTROLS: &str = "application/vnd.onrush.controls.v1+json";

/// Has a front end draw a model, in addition to the static form that is there.
pub fn insert_view(data: &mut Bundle, model: &str) {
    data.insert(VIEW.to_string(), view(model));
    data.insert(CONTROLS.to_string(), json!({}));
}

pub fn view(model: &str) -> Value {
    json!({ "version_major": 2, "version_minor": 0, "model_id": model })
}

/// An output of nbformat as a file shows it.
fn static_form(output: &Value) -> Option<Bundle> {
    let text = |text: &Value| Some(Bundle::from_iter([("text/plain".to_string(), text.clone())]));
    match output["output_type"].as_str()? {
        "stream" => text(&output["text"]),
        "error" => text(&output["evalue"]),
        _ => output["data"].as_object().cloned().map(Bundle::from),
    }
}

/// Metadata that ipywidgets wants in a `comm_open`.
fn version() -> Value {
    json!({ "version": "2.1.0" })
}

/// A control's change that a cell process wants to hear of.
#[derive(Debug)]
pub struct ControlChange {
    pub panel: String,
    pub controls: BTreeSet<String>,
    /// Header of the newest message that brought it.
    pub header: Value,
}

/// Answers the widget manager, and keeps all models.
pub struct Widgets {
    sender: Sender,
    queue: Arc<Queue>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    models: BTreeMap<String, Model>,
    controls: BTreeMap<String, ControlState>,
    panels: BTreeMap<String, PanelOutput>,
    pending: VecDeque<ControlChange>,
    /// Something is pending that the queue does not know of yet.
    set_off: bool,
    /// Controls whose comms were closed since the cell process was told.
    dropped: Vec<String>,
    remembered: BTreeMap<String, Setting>,
}

struct ControlState {
    control: Control,
    /// The panel that has shown it last.
    panel: String,
}

/// One output.
#[derive(Clone, Default)]
struct PanelOutput {
    /// Models that are not controls.
    status: Option<String>,
    area: Option<String>,
    /// The display, if it can be shown anew.
    display: Option<Display>,
}

/// The output of a panel, as it is in the notebook's file.
#[derive(Clone)]
struct Display {
    id: String,
    metadata: Value,
    model: String,
    controls: Vec<String>,
    /// The settings have changed since.
    is_old: bool,
}

impl Widgets {
    pub fn new(sender: Sender, queue: Arc<Queue>) -> Widgets {
        Widgets { sender, queue, state: Mutex::default() }
    }

    /// Makes a panel's models known to the front ends; gives the one that stands for all. `outputs` stand below the
    /// controls. `owner`: the cell that shows it. `panel` has the settings of now when this returns.
    pub fn show(
        &self,
        panel: &mut Panel,
        owner: Option<&str>,
        outputs: Vec<Value>,
        parent: &Value,
    ) -> Option<(String, String)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let root = panel.controls.last()?.id.clone();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let part = |name: &str| format!("{root}-{name}-{number}");
        let mut state = self.state.lock();
        let layout = part("layout");
        self.open(&mut state, &layout, models::layout(), owner, parent);
        let width = panel.controls.iter().map(|control| control.label.chars().count()).max().unwrap_or(0);
        // Short ones have the width that they have in ipywidgets.
        let width = if width > 10 { width } else { 0 };
        let wide = (width > 0).then(|| part("wide-layout"));
        if let Some(wide) = &wide {
            self.open(&mut state, wide, models::wide_layout(width), owner, parent);
        }
        let id = part("panel");
        for control in &mut panel.controls {
            if let Some(known) = state.controls.get(&control.id) {
                control.setting = known.control.setting.clone();
            } else if let Some(setting) = state.remembered.remove(&control.id) {
                control.setting = setting;
            }
            let is_open = state.models.contains_key(&control.id);
            state.controls.insert(control.id.clone(), ControlState { control: control.clone(), panel: id.clone() });
            state.dropped.retain(|dropped| *dropped != control.id);
            if is_open {
                // Its output is from here on this one's.
                if let Some(owner) = owner {
                    self.sender.belongs(&control.id, owner);
                }
                self.update(&mut state, &control.id.clone(), models::changing(control), parent);
                continue;
            }
            let style = models::style(&control.kind, width).map(|(name, style)| {
                let id = part(name);
                if !state.models.contains_key(&id) {
                    self.open(&mut state, &id, style, owner, parent);
                }
                id
            });
            let layout = wide.as_ref().filter(|_| models::is_described(&control.kind)).unwrap_or(&layout);
            let model = models::of_control(control, layout, style.as_deref());
            self.open(&mut state, &control.id, model, owner, parent);
        }
        if !panel.has_area {
            state.panels.insert(id.clone(), PanelOutput::default());
            return Some((root, id));
        }
        let style = part("status-style");
        if let Some((_, model)) = models::style(&onrush_wire::control::ControlKind::Html, 0) {
            self.open(&mut state, &style, model, owner, parent);
        }
        let (status, area) = (part("status"), part("area"));
        self.open(&mut state, &status, models::status(&layout, &style), owner, parent);
        let mut model = models::area(&layout);
        model.state.insert("outputs".to_string(), outputs.into());
        self.open(&mut state, &area, model, owner, parent);
        let children = [root, status.clone(), area.clone()];
        self.open(&mut state, &id, models::column(&layout, &children), owner, parent);
        state.panels.insert(id.clone(), PanelOutput { status: Some(status), area: Some(area), display: None });
        Some((id.clone(), id))
    }

    /// By which display a panel can be shown anew. `model` stands for all of it.
    pub fn displayed(&self, panel: &str, model: &str, display: &str, metadata: &Value, controls: &[Control]) {
        if let Some(shown) = self.state.lock().panels.get_mut(panel) {
            let controls = controls.iter().map(|control| control.id.clone()).collect();
            let (id, model, metadata) = (display.to_string(), model.to_string(), metadata.clone());
            shown.display = Some(Display { id, metadata, model, controls, is_old: false });
        }
    }

    /// Updates displays of panels whose settings were changed, for files and for pages without a kernel. Sent when a
    /// cell begins, and not while somebody drags, because a front end draws such an output anew.
    pub fn refresh(&self, parent: &Value) {
        let mut state = self.state.lock();
        let State { models, controls, panels, .. } = &mut *state;
        for PanelOutput { area, display, .. } in panels.values_mut() {
            let Some(display) = display.as_mut().filter(|display| display.is_old) else { continue };
            display.is_old = false;
            let known = display.controls.iter().filter_map(|id| Some(controls.get(id)?.control.clone()));
            let panel = Panel { controls: known.collect(), has_area: area.is_some(), captured: false };
            let below = area.as_ref().and_then(|area| models.get(area)?.state.get("outputs")?.as_array());
            let below: Vec<Bundle> = below.into_iter().flatten().filter_map(static_form).collect();
            let mut data = onrush_view::panel(&panel, &below);
            insert_view(&mut data, &display.model);
            let transient = json!({ "display_id": display.id });
            let content = json!({ "data": data, "metadata": display.metadata, "transient": transient });
            self.sender.update_display(parent, &content);
        }
    }

    fn open(&self, state: &mut State, id: &str, model: Model, owner: Option<&str>, parent: &Value) {
        let data = json!({ "state": model.state, "buffer_paths": [] });
        state.models.insert(id.to_string(), model);
        let attached = Attachments { metadata: Some(&version()), buffers: &[] };
        self.sender.open(parent, WIDGET, id, owner, &data, attached);
    }

    /// Sends what is different.
    fn update(&self, state: &mut State, id: &str, new: Map<String, Value>, parent: &Value) {
        let Some(model) = state.models.get_mut(id) else { return };
        let changed: Map<String, Value> =
            new.into_iter().filter(|(key, value)| model.state.get(key) != Some(value)).collect();
        if changed.is_empty() {
            return;
        }
        model.state.extend(changed.clone());
        let data = json!({ "method": "update", "state": changed, "buffer_paths": [] });
        self.sender.message(parent, id, &data, Attachments::default());
    }

    /// The cell process has changed a control.
    pub fn change(&self, control: Control, parent: &Value) {
        let mut state = self.state.lock();
        let Some(known) = state.controls.get_mut(&control.id) else { return };
        known.control = control.clone();
        self.update(&mut state, &control.id.clone(), models::changing(&control), parent);
    }

    pub fn setting(&self, id: &str) -> Option<Setting> {
        Some(self.state.lock().controls.get(id)?.control.setting.clone())
    }

    /// Controls that are on no screen any more and of which the cell process was not told.
    pub fn take_dropped(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().dropped)
    }

    /// The oldest change that waits.
    pub fn take_pending(&self) -> Option<ControlChange> {
        self.state.lock().pending.pop_front()
    }

    /// Sets the outputs below the controls of a panel; `false` if it has no place for that.
    pub fn set_outputs(&self, panel: &str, outputs: Vec<Value>, parent: &Value) -> bool {
        let mut state = self.state.lock();
        let Some(area) = state.panels.get(panel).and_then(|shown| shown.area.clone()) else { return false };
        self.update(&mut state, &area, Map::from_iter([("outputs".to_string(), outputs.into())]), parent);
        true
    }

    /// A line of HTML below the controls; empty: none.
    pub fn say(&self, panel: &str, html: &str, parent: &Value) {
        let mut state = self.state.lock();
        let Some(status) = state.panels.get(panel).and_then(|shown| shown.status.clone()) else { return };
        self.update(&mut state, &status, Map::from_iter([("value".to_string(), html.into())]), parent);
    }

    /// The closures behind these panels are gone: the controls say so, and cannot be used.
    pub fn disconnect(&self, panels: Option<&[String]>, why: &str, parent: &Value) {
        let of_these = |panel: &String| panels.is_none_or(|panels| panels.contains(panel));
        let mut state = self.state.lock();
        let ids: Vec<String> =
            state.controls.iter().filter(|(_, k)| of_these(&k.panel)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            let keys = state.models.get(&id).map(|model| model.state.contains_key("disabled"));
            let mut new = Map::from_iter([("tooltip".to_string(), Value::from(format!("not connected: {why}")))]);
            if keys == Some(true) {
                new.insert("disabled".to_string(), true.into());
            }
            self.update(&mut state, &id, new, parent);
            if let Some(known) = state.controls.get_mut(&id) {
                known.control.watched = false;
                known.control.enabled = false;
            }
        }
        state.pending.retain(|pending| !of_these(&pending.panel));
        let ids: Vec<String> = state.panels.keys().filter(|id| of_these(id)).cloned().collect();
        drop(state);
        for panel in ids {
            self.say(&panel, &format!("<i>not connected any more: {why}</i>"), parent);
        }
    }

    /// A front end has set something, or pressed a button.
    fn changed(&self, state: &mut State, id: &str, header: &Value) -> Option<String> {
        let known = state.controls.get(id).filter(|known| known.control.watched && known.control.enabled)?;
        let panel = known.panel.clone();
        match state.pending.iter_mut().find(|pending| pending.panel == panel) {
            // Only the newest of what is set is read when its turn comes.
            Some(pending) => {
                pending.controls.insert(id.to_string());
                pending.header = header.clone();
            }
            None => {
                let controls = BTreeSet::from([id.to_string()]);
                state.pending.push_back(ControlChange { panel: panel.clone(), controls, header: header.clone() });
                state.set_off = true;
            }
        }
        Some(panel)
    }

    fn states(&self) -> Value {
        let state = self.state.lock();
        let states: Map<String, Value> =
            state.models.iter().map(|(id, model)| (id.clone(), model.described())).collect();
        json!({ "method": "update_states", "states": states, "buffer_paths": [] })
    }

    fn set(&self, message: &Message<'_>) {
        let Some(new) = message.data["state"].as_object() else { return };
        let mut state = self.state.lock();
        let Some(model) = state.models.get_mut(message.comm) else { return };
        model.state.extend(new.clone());
        // The other views of this model, and the sender, which waits for it.
        let echo = json!({ "method": "echo_update", "state": new, "buffer_paths": message.data["buffer_paths"] });
        let attached = Attachments { metadata: None, buffers: message.buffers };
        self.sender.message(message.header, message.comm, &echo, attached);
        let Some(known) = state.controls.get_mut(message.comm) else { return };
        let Some(setting) = models::setting(new, &known.control.setting) else { return };
        if known.control.setting == setting {
            return;
        }
        known.control.setting = setting;
        let panel = known.panel.clone();
        if let Some(display) = state.panels.get_mut(&panel).and_then(|shown| shown.display.as_mut()) {
            display.is_old = true;
        }
        let panel = self.changed(&mut state, message.comm, message.header);
        drop(state);
        self.say_waiting(panel, message.header);
    }

    /// A cell runs, and the change waits for it.
    fn say_waiting(&self, panel: Option<String>, parent: &Value) {
        if let Some(panel) = panel.filter(|_| self.queue.is_running_a_cell()) {
            self.say(&panel, "<i>waits for the cell that runs</i>", parent);
        }
    }
}

impl Target for Widgets {
    fn open(&self, message: &Message<'_>) -> bool {
        message.target == CONTROL
    }

    fn message(&self, message: &Message<'_>) {
        match (message.target, message.data["method"].as_str()) {
            (CONTROL, Some("request_states")) => {
                self.sender.message(message.header, message.comm, &self.states(), Attachments::default());
            }
            (WIDGET, Some("update")) => self.set(message),
            (WIDGET, Some("request_state")) => {
                let state = self.state.lock();
                let Some(model) = state.models.get(message.comm) else { return };
                let data = json!({ "method": "update", "state": model.state, "buffer_paths": [] });
                self.sender.message(message.header, message.comm, &data, Attachments::default());
            }
            (WIDGET, Some("custom")) if message.data["content"]["event"] == "click" => {
                let panel = self.changed(&mut self.state.lock(), message.comm, message.header);
                self.say_waiting(panel, message.header);
            }
            _ => {}
        }
    }

    fn answered(&self) {
        if std::mem::take(&mut self.state.lock().set_off) {
            self.queue.run_callbacks();
        }
    }

    fn closed(&self, comm: &str) {
        let mut state = self.state.lock();
        state.models.remove(comm);
        state.panels.remove(comm);
        if let Some(known) = state.controls.remove(comm) {
            state.dropped.push(comm.to_string());
            if state.remembered.len() < REMEMBERED {
                state.remembered.insert(comm.to_string(), known.control.setting);
            }
        }
    }
}
