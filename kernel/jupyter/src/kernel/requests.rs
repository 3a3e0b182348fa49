//! Answers each kind of request. Execution is queued; everything else is answered at once, also while a cell runs.

use std::sync::Arc;

use jupyter_protocol::messaging::{CompleteRequest, DebugRequest, InspectRequest, IsCompleteRequest};
use onrush_cell::Completeness;
use onrush_view::Bundle;
use serde_json::{Value, json};

use super::{Kernel, replies};
use crate::log;
use crate::message::{Channel, Request};
use crate::notebook::completion::described;

/// Called for every well-formed message on shell and control; does not block.
pub fn handle(kernel: &Arc<Kernel>, request: Request) {
    match request.msg_type.as_str() {
        "execute_request" if request.channel == Channel::Shell => kernel.queue.push(request),
        "comm_open" | "comm_msg" | "comm_close" => kernel.comms.handle(request),
        // These wait for the executor, for rustc or for the session, each for a limited time.
        "complete_request"
        | "inspect_request"
        | "is_complete_request"
        | "history_request"
        | "usage_request"
        | "kernel_info_request" => {
            let kernel = Arc::clone(kernel);
            let turn = kernel.notebook.turn();
            tokio::task::spawn_blocking(move || answer(&kernel, &request, turn));
        }
        _ => answer(kernel, &request, 0),
    }
}

/// Answers between `busy` and `idle`.
fn answer(kernel: &Arc<Kernel>, request: &Request, turn: u64) {
    kernel.send_queue.status(&request.header, "busy");
    dispatch(kernel, request, turn);
    kernel.send_queue.idle_beside(&request.header, &kernel.current);
    if request.msg_type == "shutdown_request" {
        kernel.end();
    }
}

fn dispatch(kernel: &Arc<Kernel>, request: &Request, turn: u64) {
    let result = match request.msg_type.as_str() {
        "kernel_info_request" => Ok(replies::kernel_info(kernel.notebook.rustc_version())),
        "complete_request" => complete(kernel, request, turn),
        "inspect_request" => inspect(kernel, request, turn),
        "is_complete_request" => is_complete(kernel, request),
        "history_request" => {
            request.content().map(|query| json!({ "status": "ok", "history": kernel.history.lock().answer(&query) }))
        }
        "connect_request" => Err("this kernel's ports are in its connection file".to_string()),
        "comm_info_request" => Ok(kernel.comms.info(request)),
        "interrupt_request" => {
            kernel.notebook.interrupt();
            Ok(json!({ "status": "ok" }))
        }
        "shutdown_request" => {
            let reply = json!({ "status": "ok", "restart": request.content["restart"].as_bool().unwrap_or(false) });
            kernel.send_queue.publish(&request.header, "shutdown_reply", &reply);
            Ok(reply)
        }
        "usage_request" => Ok(kernel.usage.answer(kernel.notebook.session.pids())),
        "debug_request" => return debug(kernel, request),
        "create_subshell_request" | "delete_subshell_request" | "list_subshell_request" => {
            Err("this kernel has no subshells: it answers everything but execution while a cell runs".to_string())
        }
        "execute_request" => Err("cells are executed on the shell channel".to_string()),
        // No request: a front end's reply or broadcast that strayed. Answering it would only confuse.
        other if !other.ends_with("_request") => {
            return log::line(format_args!("a message of the unknown type `{other}` was ignored"));
        }
        other => Err(format!("this kernel does not know the request `{other}`")),
    };
    let content = result.unwrap_or_else(|why| {
        log::line(format_args!("`{}` was answered with an error: {why}", request.msg_type));
        replies::error(&request.msg_type, &why)
    });
    kernel.send_queue.reply(request, &content);
}

fn complete(kernel: &Kernel, request: &Request, turn: u64) -> Result<Value, String> {
    let CompleteRequest { code, cursor_pos } = request.content()?;
    let found = kernel.notebook.complete(&code, cursor_pos, turn);
    let typed: Vec<Value> = found
        .matches
        .iter()
        .map(|m| {
            json!({ "start": found.start, "end": found.end, "text": m.text, "type": m.kind, "signature": m.signature })
        })
        .collect();
    let matches: Vec<&String> = found.matches.iter().map(|m| &m.text).collect();
    Ok(json!({
        "status": "ok",
        "matches": matches,
        "cursor_start": found.start,
        "cursor_end": found.end,
        "metadata": { "_jupyter_types_experimental": typed },
    }))
}

fn inspect(kernel: &Kernel, request: &Request, turn: u64) -> Result<Value, String> {
    let InspectRequest { code, cursor_pos, detail_level } = request.content()?;
    let found = kernel.notebook.inspect(&code, cursor_pos, detail_level.unwrap_or(0) as u8, turn);
    let (is_found, data) = (
        found.found,
        match found.found {
            true => described(found.plain(), found.markdown),
            false => Bundle::new(),
        },
    );
    Ok(json!({ "status": "ok", "found": is_found, "data": data, "metadata": {} }))
}

fn is_complete(kernel: &Kernel, request: &Request) -> Result<Value, String> {
    let IsCompleteRequest { code } = request.content()?;
    Ok(match kernel.notebook.is_complete(&code) {
        Completeness::Complete => json!({ "status": "complete" }),
        Completeness::Incomplete { indent } => json!({ "status": "incomplete", "indent": indent }),
        Completeness::Invalid => json!({ "status": "invalid" }),
    })
}

/// A response of the Debug Adapter Protocol that says no: front ends ask even though no debugger is advertised.
fn debug(kernel: &Kernel, request: &Request) {
    let DebugRequest { content } = request.content().unwrap_or_default();
    let reply = json!({
        "type": "response",
        "seq": 1,
        "request_seq": content["seq"].as_i64().unwrap_or(0),
        "success": false,
        "command": content["command"].as_str().unwrap_or(""),
        "message": "this kernel has no debugger",
        "body": {},
    });
    kernel.send_queue.reply(request, &reply);
}
