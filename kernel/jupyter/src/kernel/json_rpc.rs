//! Answers to the requests of renderers, with JSON-RPC's fields: `id` and `result` or `error`, and binary buffers.

use bytes::Bytes;
use onrush_wire::{Class, Diagnostic};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::comms::{Attachments, Message, Sender};

/// The answer to a request, from any thread.
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
        self.sender.message(&self.header, &self.comm, &data, Attachments { metadata: None, buffers });
    }

    /// Says something that nobody asked for just now.
    pub fn event(&self, method: &str, params: Value) {
        let data = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        self.sender.message(&self.header, &self.comm, &data, Attachments::default());
    }
}

/// Reads the parameters of a request. `code`: see [`invalid`].
pub fn parse<T: DeserializeOwned>(code: &str, params: &Value) -> Result<T, Diagnostic> {
    serde_json::from_value(params.clone())
        .map_err(|e| invalid(code, format!("the request's parameters are wrong: {e}")))
}

/// A request that has no answer because of its method or its parameters. `code` says which kind of object refuses it:
/// `explore` for tables, `visual` for pictures.
pub fn invalid(code: &str, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Class::Plan, code, message)
}

/// The answer to a request that a newer one has replaced.
pub fn superseded() -> Diagnostic {
    Diagnostic::error(Class::Interrupted, "superseded", "something newer was asked for")
}
