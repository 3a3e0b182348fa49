//! The button in a line of progress: a front end with our extension says what is to be stopped.

use std::sync::Arc;

use onrush_wire::TaskId;
use serde_json::json;

use super::comms::{Attachments, Message, Sender, Target};
use crate::notebook::Notebook;

pub const PROGRESS: &str = "onrush.progress";

pub struct InterruptComm {
    sender: Sender,
    notebook: Arc<Notebook>,
}

impl InterruptComm {
    pub fn new(sender: Sender, notebook: Arc<Notebook>) -> InterruptComm {
        InterruptComm { sender, notebook }
    }
}

impl Target for InterruptComm {
    fn open(&self, _message: &Message<'_>) -> bool {
        true
    }

    /// `{"id", "method": "stop", "params": {"task": NUMBER}}` stops one task of the session; without a task, the cell.
    fn message(&self, message: &Message<'_>) {
        let answer = match (message.data["method"].as_str(), message.data["params"]["task"].as_u64()) {
            (Some("stop"), Some(task)) => {
                // The session may take a moment to answer, and the front end waits for this to return.
                let session = Arc::clone(&self.notebook.session);
                std::thread::spawn(move || session.cancel_task(TaskId(task)));
                json!({ "result": {} })
            }
            (Some("stop"), None) => {
                self.notebook.interrupt();
                json!({ "result": {} })
            }
            _ => json!({ "error": { "message": "the only method is `stop`" } }),
        };
        let mut answer = answer;
        answer["id"] = message.data["id"].clone();
        self.sender.message(message.header, message.comm, &answer, Attachments::default());
    }

    fn closed(&self, _comm: &str) {}
}
