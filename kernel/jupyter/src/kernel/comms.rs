//! Comms: channels between a front end and an object of the kernel. Each [`Target`] answers on a separate thread, also
//! while a cell runs, and may send messages at any time through a [`Sender`].
//!
//! This is also the one place that knows which cell's output a comm belongs to. The comm is closed when that cell runs
//! again, when its output is cleared, when the cell is deleted, and at the end. The targets give comms their meaning.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::log;
use crate::message::Request;
use crate::send_queue::SendQueue;

/// A message of a front end by a comm, or while opening one.
#[allow(dead_code, reason = "metadata is read by the targets that tables bring")]
pub struct Message<'a> {
    pub comm: &'a str,
    /// The name that the comm was opened by: a target may have several.
    pub target: &'a str,
    /// The message's own header: what is said because of it has this as its parent.
    pub header: &'a Value,
    pub data: &'a Value,
    pub metadata: &'a Value,
    pub buffers: &'a [Bytes],
}

/// Objects of one kind. Messages of front ends come from one thread, one after another. They wait for each call to
/// return before the next message of the same object, so long work belongs on the target's own thread.
pub trait Target: Send + Sync {
    /// A front end opened a comm. `false`: it is closed again.
    fn open(&self, message: &Message<'_>) -> bool;

    fn message(&self, message: &Message<'_>);

    /// The front end has been told that its message is answered: what that set off may say `busy` for itself now.
    fn answered(&self) {}

    /// A comm of this target is closed: by the front end, or because its cell's output is gone. In the second case the
    /// thread that is about to run the cell again calls this.
    fn closed(&self, comm: &str);

    /// The outputs of a cell are gone, with or without a comm. Called as [`Target::closed`] is. See [`Comms::release`]
    /// for what names the cell.
    fn released(&self, _cell: &str) {}
}

/// The part of a message in addition to its data.
#[derive(Clone, Copy, Default)]
pub struct Attachments<'a> {
    /// Null: none.
    pub metadata: Option<&'a Value>,
    pub buffers: &'a [Bytes],
}

/// The sending end; cheap to clone, for any thread.
#[derive(Clone)]
pub struct Sender {
    send_queue: SendQueue,
    open: Arc<Mutex<BTreeMap<String, Open>>>,
}

struct Open {
    target: String,
    /// The cell whose output it belongs to.
    owner: Option<String>,
}

impl Sender {
    /// Opens a comm from this side. `parent`: header of the request that is the cause, or null. `owner`: the cell that
    /// shows it.
    pub fn open(
        &self,
        parent: &Value,
        target: &str,
        comm: &str,
        owner: Option<&str>,
        data: &Value,
        attached: Attachments<'_>,
    ) {
        let open = Open { target: target.to_string(), owner: owner.map(str::to_string) };
        self.open.lock().insert(comm.to_string(), open);
        let content = json!({ "comm_id": comm, "target_name": target, "data": data });
        self.publish(parent, "comm_open", &content, attached);
    }

    /// Nothing is sent by a comm that is not open.
    pub fn message(&self, parent: &Value, comm: &str, data: &Value, attached: Attachments<'_>) {
        if self.is_open(comm) {
            self.publish(parent, "comm_msg", &json!({ "comm_id": comm, "data": data }), attached);
        }
    }

    pub fn close(&self, parent: &Value, comm: &str, data: &Value) {
        if self.open.lock().remove(comm).is_some() {
            self.publish(parent, "comm_close", &json!({ "comm_id": comm, "data": data }), Attachments::default());
        }
    }

    /// An output of an object that a comm belongs to is shown anew.
    pub fn update_display(&self, parent: &Value, content: &Value) {
        self.send_queue.publish(parent, "update_display_data", content);
    }

    pub fn is_open(&self, comm: &str) -> bool {
        self.open.lock().contains_key(comm)
    }

    /// Says whose output a comm belongs to that a front end opened.
    pub fn belongs(&self, comm: &str, cell: &str) {
        if let Some(open) = self.open.lock().get_mut(comm) {
            open.owner = Some(cell.to_string());
        }
    }

    fn publish(&self, parent: &Value, msg_type: &str, content: &Value, attached: Attachments<'_>) {
        let none = json!({});
        let metadata = attached.metadata.unwrap_or(&none);
        self.send_queue.publish_attached(parent, msg_type, metadata, content, attached.buffers);
    }
}

/// A target with its thread: what is to be done there, with the name that it came by.
#[derive(Clone)]
struct TargetThread {
    target: Arc<dyn Target>,
    jobs: mpsc::Sender<(Request, String)>,
}

/// All comms and targets of a kernel.
pub struct Comms {
    sender: Sender,
    current: Arc<Mutex<Value>>,
    targets: Mutex<BTreeMap<String, TargetThread>>,
}

impl Comms {
    /// `current`: header of the cell that runs.
    pub fn new(send_queue: SendQueue, current: Arc<Mutex<Value>>) -> Comms {
        Comms { sender: Sender { send_queue, open: Arc::default() }, current, targets: Mutex::default() }
    }

    pub fn sender(&self) -> Sender {
        self.sender.clone()
    }

    /// From here on comms of these names are `target`'s.
    pub fn register(&self, names: &[&str], target: Arc<dyn Target>) -> std::io::Result<()> {
        let (jobs, inbox) = mpsc::channel::<(Request, String)>();
        let (sender, current) = (self.sender.clone(), Arc::clone(&self.current));
        let thread = std::thread::Builder::new().name(format!("comm {}", names.first().unwrap_or(&"")));
        let on_thread = Arc::clone(&target);
        thread.spawn(move || {
            while let Ok((request, name)) = inbox.recv() {
                begin(&sender, &request);
                attend(&*on_thread, &request, &name, &sender);
                end(&sender, &current, &request);
                guarded("what a message set off", || on_thread.answered()).unwrap_or(());
            }
        })?;
        let registered = TargetThread { target, jobs };
        self.targets.lock().extend(names.iter().map(|name| (name.to_string(), registered.clone())));
        Ok(())
    }

    /// The reply to `comm_info_request`.
    pub fn info(&self, request: &Request) -> Value {
        let wanted = request.content["target_name"].as_str().filter(|name| !name.is_empty());
        let open = self.sender.open.lock();
        let comms: serde_json::Map<String, Value> = open
            .iter()
            .filter(|(_, open)| wanted.is_none_or(|wanted| wanted == open.target))
            .map(|(id, open)| (id.clone(), json!({ "target_name": open.target })))
            .collect();
        json!({ "status": "ok", "comms": comms })
    }

    /// A `comm_open`, `comm_msg` or `comm_close`: answered between `busy` and `idle`, for which front ends wait.
    pub fn handle(&self, request: Request) {
        let Some(comm) = request.content["comm_id"].as_str().map(str::to_string) else {
            log::line(format_args!("a {} without `comm_id` was ignored", request.msg_type));
            return self.ignored(&request);
        };
        let target = match request.msg_type.as_str() {
            "comm_open" => {
                let name = request.content["target_name"].as_str().unwrap_or("").to_string();
                // At once: what comes next may ask for it.
                if self.targets.lock().contains_key(&name) {
                    self.sender.open.lock().insert(comm.clone(), Open { target: name.clone(), owner: None });
                }
                name
            }
            _ => self.sender.open.lock().get(&comm).map(|open| open.target.clone()).unwrap_or_default(),
        };
        let registered = self.targets.lock().get(&target).cloned();
        match registered {
            Some(registered) => drop(registered.jobs.send((request, target))),
            None => {
                begin(&self.sender, &request);
                // A `comm_close` of one that is closed already needs no answer.
                if request.msg_type != "comm_close" {
                    refuse(&self.sender, &request, &comm);
                }
                end(&self.sender, &self.current, &request);
            }
        }
    }

    fn ignored(&self, request: &Request) {
        begin(&self.sender, request);
        end(&self.sender, &self.current, request);
    }

    /// A cell's output is gone: its comms are closed, and every target hears of it. `cell` is what outputs were opened
    /// with: the id by which the front end knows the cell.
    pub fn release(&self, parent: &Value, cell: &str) {
        let of_cell = |open: &Open| open.owner.as_deref() == Some(cell);
        let gone: Vec<(String, String)> = {
            let open = self.sender.open.lock();
            open.iter().filter(|(_, open)| of_cell(open)).map(|(id, open)| (id.clone(), open.target.clone())).collect()
        };
        let targets = self.targets.lock().clone();
        for (comm, target) in gone {
            self.sender.close(parent, &comm, &json!({}));
            if let Some(TargetThread { target, .. }) = targets.get(&target) {
                guarded("a closed comm", || target.closed(&comm)).unwrap_or(());
            }
        }
        // One for each target, whatever the number of its names.
        let mut told: Vec<&Arc<dyn Target>> = Vec::new();
        for TargetThread { target, .. } in targets.values() {
            if told.iter().all(|known| !Arc::ptr_eq(known, target)) {
                told.push(target);
                guarded("a cell's outputs", || target.released(cell)).unwrap_or(());
            }
        }
    }

    /// The kernel ends. Nothing is sent: front ends show by themselves that a kernel is gone, and what they draw stays.
    pub fn close(&self) {
        let open = std::mem::take(&mut *self.sender.open.lock());
        let targets = std::mem::take(&mut *self.targets.lock());
        for (comm, Open { target, .. }) in open {
            if let Some(TargetThread { target, .. }) = targets.get(&target) {
                guarded("a closed comm", || target.closed(&comm)).unwrap_or(());
            }
        }
    }
}

fn attend(target: &dyn Target, request: &Request, name: &str, sender: &Sender) {
    let comm = request.content["comm_id"].as_str().unwrap_or("");
    let message = Message {
        comm,
        target: name,
        header: &request.header,
        data: &request.content["data"],
        metadata: &request.metadata,
        buffers: &request.buffers,
    };
    match request.msg_type.as_str() {
        "comm_open" => {
            if guarded("a comm_open", || target.open(&message)) != Some(true) {
                refuse(sender, request, comm);
            }
        }
        "comm_close" => {
            if sender.open.lock().remove(comm).is_some() {
                guarded("a comm_close", || target.closed(comm)).unwrap_or(());
            }
        }
        _ if !sender.is_open(comm) => refuse(sender, request, comm),
        _ => guarded("a comm_msg", || target.message(&message)).unwrap_or(()),
    }
}

/// A bug in a target must not end the others. `None`: it panicked.
fn guarded<T>(what: &str, call: impl FnOnce() -> T) -> Option<T> {
    let result = catch_unwind(AssertUnwindSafe(call));
    if result.is_err() {
        log::line(format_args!("a bug in the kernel: handling {what} panicked"));
    }
    result.ok()
}

/// As the protocol asks where there is nobody to talk to.
fn refuse(sender: &Sender, request: &Request, comm: &str) {
    sender.open.lock().remove(comm);
    let content = json!({ "comm_id": comm, "data": {} });
    sender.publish(&request.header, "comm_close", &content, Attachments::default());
}

fn begin(sender: &Sender, request: &Request) {
    sender.send_queue.status(&request.header, "busy");
}

fn end(sender: &Sender, current: &Mutex<Value>, request: &Request) {
    sender.send_queue.idle_beside(&request.header, current);
}

#[cfg(test)]
mod tests;
