//! Callbacks of changed controls, and the place below the controls where their outputs stand.
//!
//! The outputs are the state of a model of ipywidgets (`OutputModel`). Every view of it shows them, and a page that is
//! loaded again, too.

use std::sync::Arc;
use std::time::{Duration, Instant};

use onrush_view::Bundle;
use onrush_wire::control::{Change, Control, Setting};
use onrush_wire::host::Stream;
use serde_json::{Value, json};

use super::super::Kernel;
use super::super::widgets::{self, ControlChange, Widgets};
use super::error_content;
use crate::notebook::{self, Answer, CellSink, Output};

/// Outputs of what takes longer are shown as they come, and as often.
const LIVE: Duration = Duration::from_millis(300);

/// Runs what the oldest change has set off.
pub fn run_callbacks(kernel: &Arc<Kernel>, hidden: &mut u64) {
    let Some(ControlChange { panel, controls, header }) = kernel.widgets.take_pending() else { return };
    kernel.send_queue.status(&header, "busy");
    *kernel.current.lock() = header.clone();
    *hidden += 1;
    kernel.widgets.say(&panel, "", &header);
    let mut widget = OutputWidget::new(kernel, &panel, &header);
    let change = Change { controls: controls.into_iter().collect() };
    let dropped = kernel.widgets.take_dropped();
    if let Err(error) = kernel.notebook.run_callbacks(*hidden, change, dropped, &mut widget) {
        let mut content = error_content(&error);
        content["output_type"] = "error".into();
        widget.outputs.push(content);
    }
    widget.finish();
    *kernel.current.lock() = Value::Null;
    kernel.send_queue.status(&header, "idle");
}

/// Has the cell process drop what it keeps for controls that are on no screen any more.
pub fn drop_controls(kernel: &Arc<Kernel>, hidden: &mut u64) {
    let dropped = kernel.widgets.take_dropped();
    if dropped.is_empty() {
        return;
    }
    *hidden += 1;
    let nobody = Value::Null;
    let mut widget = OutputWidget::new(kernel, "", &nobody);
    // Nothing runs, so nothing is shown; what a closure does when it is dropped is caught there.
    let _ = kernel.notebook.run_callbacks(*hidden, Change { controls: Vec::new() }, dropped, &mut widget);
}

/// An output as nbformat has it.
pub fn nbformat(all: &Widgets, output: Output, owner: Option<&str>, parent: &Value) -> Option<Value> {
    Some(match output {
        Output::Stream { stream, text } => stream_output(stream, &text),
        Output::Display { data, update: false, .. } | Output::Result { data, .. } => display_output(data),
        Output::Panel { mut panel, outputs, .. } => {
            let below = outputs.iter().cloned().filter_map(|output| nbformat(all, output, owner, parent)).collect();
            let shown = all.show(&mut panel, owner, below, parent);
            let mut data = notebook::panel_bundle(&panel, &outputs);
            if let Some((model, _)) = shown {
                widgets::insert_view(&mut data, &model);
            }
            display_output(data)
        }
        Output::Display { .. } | Output::Clear { .. } | Output::Progress { .. } => return None,
    })
}

fn stream_output(stream: Stream, text: &str) -> Value {
    let name = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    json!({ "output_type": "stream", "name": name, "text": text })
}

fn display_output(data: Bundle) -> Value {
    json!({ "output_type": "display_data", "data": data, "metadata": {} })
}

/// Outputs of one run, for one panel.
struct OutputWidget<'a> {
    kernel: &'a Kernel,
    panel: &'a str,
    header: &'a Value,
    outputs: Vec<Value>,
    /// Positions of displays that can be changed.
    displays: Vec<(String, usize)>,
    sent: Instant,
    says: bool,
}

impl<'a> OutputWidget<'a> {
    fn new(kernel: &'a Kernel, panel: &'a str, header: &'a Value) -> OutputWidget<'a> {
        let sent = Instant::now();
        OutputWidget { kernel, panel, header, outputs: Vec::new(), displays: Vec::new(), sent, says: false }
    }

    /// Whatever stood there before is replaced by all outputs at once.
    fn send_if_due(&mut self) {
        if self.sent.elapsed() > LIVE {
            self.sent = Instant::now();
            self.kernel.widgets.set_outputs(self.panel, self.outputs.clone(), self.header);
        }
    }

    fn finish(mut self) {
        if self.says {
            self.kernel.widgets.say(self.panel, "", self.header);
        }
        let outputs = std::mem::take(&mut self.outputs);
        if self.kernel.widgets.set_outputs(self.panel, outputs.clone(), self.header) {
            return;
        }
        // The control was shown before it had a closure, so there is no place below it.
        for mut output in outputs {
            let Some(kind) = output["output_type"].as_str().map(str::to_string) else { continue };
            if let Some(output) = output.as_object_mut() {
                output.remove("output_type");
            }
            if kind == "display_data" {
                output["transient"] = json!({});
            }
            self.kernel.send_queue.publish(self.header, &kind, &output);
        }
    }
}

impl CellSink for OutputWidget<'_> {
    fn output(&mut self, output: Output) {
        match output {
            Output::Progress { data } => {
                let html = data.get("text/html").or(data.get("text/plain")).and_then(Value::as_str).unwrap_or("");
                self.says = true;
                self.kernel.widgets.say(self.panel, html, self.header);
            }
            Output::Clear { .. } => {
                self.outputs.clear();
                self.displays.clear();
            }
            Output::Display { data, display_id: Some(id), update: true } => {
                match self.displays.iter().find(|(known, _)| *known == id) {
                    Some((_, position)) => {
                        self.outputs[*position] = display_output(data);
                        self.send_if_due();
                    }
                    None => {
                        let content = json!({ "data": data, "metadata": {}, "transient": { "display_id": id } });
                        self.kernel.send_queue.publish(self.header, "update_display_data", &content);
                    }
                }
            }
            Output::Stream { stream, text } => {
                let new = stream_output(stream, &text);
                match self.outputs.last_mut().filter(|last| last["name"] == new["name"] && last["text"].is_string()) {
                    Some(last) => last["text"] = (last["text"].as_str().unwrap_or("").to_string() + &text).into(),
                    None => self.outputs.push(new),
                }
                self.send_if_due();
            }
            output => {
                if let Output::Display { display_id: Some(id), .. } = &output {
                    self.displays.push((id.clone(), self.outputs.len()));
                }
                self.outputs.extend(nbformat(&self.kernel.widgets, output, None, self.header));
                self.send_if_due();
            }
        }
    }

    fn control(&mut self, control: Control) {
        self.kernel.widgets.change(control, self.header);
    }

    fn setting(&mut self, id: &str) -> Option<Setting> {
        self.kernel.widgets.setting(id)
    }

    fn lost(&mut self) {
        self.kernel.widgets.disconnect(None, "the cell process was started anew", self.header);
    }

    fn input(&mut self, _prompt: &str, _password: bool, _interrupted: &dyn Fn() -> bool) -> Answer {
        Answer::Unavailable("what a control has set off can ask nobody: give it a text field".to_string())
    }
}
