//! Comms: channels between a front end and an object of the kernel. Tables and plots are static so far, so the only target
//! is the widget manager's question for the state of all widgets; every other comm is closed at once, as the protocol asks.

use std::collections::HashMap;

use jupyter_protocol::messaging::{CommClose, CommInfoRequest, CommMsg, CommOpen};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::log;
use crate::message::Request;
use crate::outbox::Outbox;

/// JupyterLab opens it when it connects to a running kernel, and waits four seconds for an answer.
const WIDGET_CONTROL: &str = "jupyter.widget.control";

/// Open comms: id to target.
#[derive(Default)]
pub struct Comms {
    open: Mutex<HashMap<String, String>>,
}

impl Comms {
    pub fn info(&self, request: &Request) -> Value {
        let wanted =
            request.content::<CommInfoRequest>().ok().and_then(|r| r.target_name).filter(|name| !name.is_empty());
        let comms: serde_json::Map<String, Value> = self
            .open
            .lock()
            .iter()
            .filter(|(_, target)| wanted.as_ref().is_none_or(|wanted| wanted == *target))
            .map(|(id, target)| (id.clone(), json!({ "target_name": target })))
            .collect();
        json!({ "status": "ok", "comms": comms })
    }

    pub fn open(&self, outbox: &Outbox, request: &Request) {
        match request.content::<CommOpen>() {
            Ok(open) if open.target_name == WIDGET_CONTROL => {
                self.open.lock().insert(open.comm_id.0, open.target_name);
            }
            Ok(open) => {
                outbox.publish(&request.header, "comm_close", &json!({ "comm_id": open.comm_id.0, "data": {} }));
            }
            Err(why) => log::line(format_args!("a comm_open was ignored: {why}")),
        }
    }

    pub fn message(&self, outbox: &Outbox, request: &Request) {
        let CommMsg { comm_id, data } = match request.content() {
            Ok(message) => message,
            Err(why) => return log::line(format_args!("a comm_msg was ignored: {why}")),
        };
        if !self.open.lock().contains_key(&comm_id.0) {
            return outbox.publish(&request.header, "comm_close", &json!({ "comm_id": comm_id.0, "data": {} }));
        }
        if data.get("method").and_then(Value::as_str) == Some("request_states") {
            let data = json!({ "method": "update_states", "states": {}, "buffer_paths": [] });
            outbox.publish(&request.header, "comm_msg", &json!({ "comm_id": comm_id.0, "data": data }));
        }
    }

    pub fn close(&self, request: &Request) {
        match request.content::<CommClose>() {
            Ok(close) => drop(self.open.lock().remove(&close.comm_id.0)),
            Err(why) => log::line(format_args!("a comm_close was ignored: {why}")),
        }
    }
}
