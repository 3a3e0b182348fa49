//! Answers to the requests of renderers, with JSON-RPC's fields: `id` and `result` or `error`, and binary buffers.

use bytes::Bytes;
use onrush_wire::Diagnostic;
use serde_json::{Value, json};

use super::comms::{Attached, Message, Sender};

/// What answers a request, from whatever thread.
#[derive(Clone)]
pub struct CommAnswer {
    sender: Sender,
    header: Value,
    comm: String,
    id: Value,
}

impl CommAnswer {
    pub fn to(message: &Message<'_>, sender: &Sender) -> CommAnswer {
        CommAnswer {
            sender: sender.clone(),
            header: message.header.clone(),
            comm: message.comm.to_string(),
            id: message.data["id"].clone(),
        }
    }

    pub fn give(&self, result: Result<Value, Diagnostic>) {
        self.give_with(result, &[]);
    }

    /// The result, and buffers that go with it.
    pub fn give_with(&self, result: Result<Value, Diagnostic>, buffers: &[Bytes]) {
        let mut data = match result {
            Ok(result) => json!({ "jsonrpc": "2.0", "result": result }),
            Err(diagnostic) => {
                let help = diagnostic.help.iter().map(|help| format!("; {help}")).collect::<String>();
                let message = format!("{}{help}", diagnostic.message);
                json!({ "jsonrpc": "2.0", "error": { "code": -32000, "message": message, "data": { "kind": diagnostic.code } } })
            }
        };
        data["id"] = self.id.clone();
        self.sender.message(&self.header, &self.comm, &data, Attached { metadata: None, buffers });
    }

    /// Says something that nobody asked for just now.
    pub fn event(&self, method: &str, params: Value) {
        let data = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.sender.message(&self.header, &self.comm, &data, Attached::default());
    }
}
