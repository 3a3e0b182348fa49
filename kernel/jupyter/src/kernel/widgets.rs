//! Widgets: the models of ipywidgets that cells show, and the widget manager's questions about them.

use serde_json::{Value, json};

use super::comms::{Attached, Message, Sender, Target};

/// A front end opens it when it connects to a running kernel, and waits four seconds for an answer.
pub const CONTROL: &str = "jupyter.widget.control";

/// Answers the widget manager.
pub struct Widgets {
    sender: Sender,
}

impl Widgets {
    pub fn new(sender: Sender) -> Widgets {
        Widgets { sender }
    }
}

impl Target for Widgets {
    fn open(&self, message: &Message<'_>) -> bool {
        message.target == CONTROL
    }

    fn message(&self, message: &Message<'_>) {
        if message.target == CONTROL && message.data["method"] == "request_states" {
            let states: Value = json!({ "method": "update_states", "states": {}, "buffer_paths": [] });
            self.sender.message(message.header, message.comm, &states, Attached::default());
        }
    }

    fn closed(&self, _comm: &str) {}
}
