//! With a target that repeats what it hears; what is sent is read by the protocol crate.

use std::time::Duration;

use jupyter_zmq_client::RawMessage;

use super::*;
use crate::message::{Channel, Signer};

/// Sends back what it is sent, and notes what ends.
struct Echo {
    sender: Sender,
    /// A message that follows the answer, and its comm.
    then: Mutex<Option<(String, Value)>>,
    ended: mpsc::Sender<String>,
}

impl Target for Echo {
    fn open(&self, message: &Message<'_>) -> bool {
        if let Some(cell) = message.data["cell"].as_str() {
            self.sender.belongs(message.comm, cell);
        }
        assert_ne!(message.data["panic"], true, "as the test wants");
        message.data["refuse"] != true
    }

    fn message(&self, message: &Message<'_>) {
        let attached = Attachments { metadata: Some(message.metadata), buffers: message.buffers };
        self.sender.message(message.header, message.comm, message.data, attached);
        let then = message.data.get("then").cloned();
        *self.then.lock() = then.map(|then| (message.comm.to_string(), then));
    }

    fn answered(&self) {
        if let Some((comm, then)) = self.then.lock().take() {
            self.sender.message(&Value::Null, &comm, &then, Attachments::default());
        }
    }

    fn closed(&self, comm: &str) {
        self.ended.send(format!("closed {comm}")).unwrap();
    }

    fn released(&self, cell: &str) {
        self.ended.send(format!("released {cell}")).unwrap();
    }
}

struct Fixture {
    comms: Comms,
    sent: crate::send_queue::QueueReceivers,
    ended: mpsc::Receiver<String>,
    current: Arc<Mutex<Value>>,
}

fn fixture() -> Fixture {
    let (send_queue, sent) = SendQueue::new(Signer::new(None, "s".into()));
    let current = Arc::new(Mutex::new(Value::Null));
    let comms = Comms::new(send_queue, Arc::clone(&current));
    let (ended, ends) = mpsc::channel();
    comms
        .register(&["echo", "echo.too"], Arc::new(Echo { sender: comms.sender(), then: Mutex::default(), ended }))
        .unwrap();
    Fixture { comms, sent, ended: ends, current }
}

fn request(msg_type: &str, content: Value) -> Request {
    Request {
        channel: Channel::Shell,
        identities: Vec::new(),
        parent: serde_json::Value::Null,
        header: json!({ "msg_id": msg_type, "msg_type": msg_type }),
        msg_type: msg_type.into(),
        metadata: json!({ "version": "2.1.0" }),
        content,
        buffers: vec![Bytes::from_static(b"\0\xff")],
    }
}

impl Fixture {
    /// Messages up to the next `idle`: type, content, and buffers.
    fn until_idle(&mut self) -> Vec<(String, Value, Vec<Bytes>)> {
        let mut all = Vec::new();
        loop {
            let frames = self.sent.next_within(Duration::from_secs(10)).expect("nothing is sent");
            let raw = RawMessage::from_multipart(frames, &None).unwrap();
            let json = |index: usize| serde_json::from_slice::<Value>(&raw.jparts[index]).unwrap();
            let (kind, content) = (json(0)["msg_type"].as_str().unwrap().to_string(), json(3));
            if content["execution_state"] == "idle" {
                return all;
            }
            all.push((kind, content, raw.jparts[4..].to_vec()));
        }
    }

    fn handle(&mut self, msg_type: &str, content: Value) -> Vec<(String, Value, Vec<Bytes>)> {
        self.comms.handle(request(msg_type, content));
        let mut sent = self.until_idle();
        assert_eq!(sent.remove(0).1, json!({ "execution_state": "busy" }));
        sent
    }

    fn open(&self) -> Value {
        self.comms.info(&request("comm_info_request", json!({})))["comms"].clone()
    }

    fn ended(&self) -> String {
        self.ended.recv_timeout(Duration::from_secs(10)).unwrap()
    }
}

/// Callbacks of a message say `busy` for themselves: front ends would take their `idle` for the message's.
#[test]
fn what_a_message_sets_off_comes_after_its_idle() {
    let mut all = fixture();
    all.handle("comm_open", json!({ "comm_id": "a", "target_name": "echo", "data": {} }));
    let sent = all.handle("comm_msg", json!({ "comm_id": "a", "data": { "then": 5 } }));
    assert_eq!(sent.len(), 1);
    all.comms.handle(request("comm_msg", json!({ "comm_id": "a", "data": 6 })));
    let after = all.until_idle();
    let said = |at: usize| (&after[at].1["data"], &after[at].1["execution_state"]);
    assert_eq!(said(0), (&json!(5), &Value::Null));
    assert_eq!(said(1), (&Value::Null, &json!("busy")));
    assert_eq!(said(2), (&json!(6), &Value::Null));
}

#[test]
fn a_comm_is_answered_with_its_metadata_and_buffers() {
    let mut all = fixture();
    assert!(all.handle("comm_open", json!({ "comm_id": "a", "target_name": "echo.too", "data": {} })).is_empty());
    assert_eq!(all.open(), json!({ "a": { "target_name": "echo.too" } }));
    let data = json!({ "ä": [1, null] });
    let sent = all.handle("comm_msg", json!({ "comm_id": "a", "data": data }));
    let buffers = vec![Bytes::from_static(b"\0\xff")];
    assert_eq!(sent, [("comm_msg".to_string(), json!({ "comm_id": "a", "data": data }), buffers)]);
    assert!(all.handle("comm_close", json!({ "comm_id": "a", "data": {} })).is_empty());
    assert_eq!(all.ended(), "closed a");
    assert_eq!(all.open(), json!({}));
}

#[test]
fn what_nobody_knows_or_wants_is_closed() {
    let mut all = fixture();
    let closed = |id: &str| ("comm_close".to_string(), json!({ "comm_id": id, "data": {} }), Vec::new());
    for (id, target, data) in
        [("b", "nobody", json!({})), ("c", "echo", json!({ "refuse": true })), ("d", "echo", json!({ "panic": true }))]
    {
        let content = json!({ "comm_id": id, "target_name": target, "data": data });
        assert_eq!(all.handle("comm_open", content), [closed(id)]);
        assert_eq!(all.handle("comm_msg", json!({ "comm_id": id, "data": {} })), [closed(id)]);
    }
    assert_eq!(all.open(), json!({}));
    // A target that panicked still answers.
    assert!(all.handle("comm_open", json!({ "comm_id": "e", "target_name": "echo", "data": {} })).is_empty());
}

#[test]
fn a_cells_comms_end_with_its_output_and_others_stay() {
    let mut all = fixture();
    for (id, cell) in [("a", "one"), ("b", "two"), ("c", "one")] {
        all.handle("comm_open", json!({ "comm_id": id, "target_name": "echo", "data": { "cell": cell } }));
    }
    all.comms.sender().open(&Value::Null, "echo", "d", Some("one"), &json!({}), Attachments::default());
    all.comms.release(&Value::Null, "one");
    let mut ended: Vec<String> = (0..4).map(|_| all.ended()).collect();
    ended.sort();
    assert_eq!(ended, ["closed a", "closed c", "closed d", "released one"]);
    assert_eq!(all.open(), json!({ "b": { "target_name": "echo" } }));
    all.comms.close();
    assert_eq!(all.open(), json!({}));
}

#[test]
fn a_cell_that_runs_is_busy_again_after_a_comm_was_answered() {
    let mut all = fixture();
    *all.current.lock() = json!({ "msg_id": "cell" });
    all.handle("comm_open", json!({ "comm_id": "a", "target_name": "echo", "data": {} }));
    all.handle("comm_msg", json!({ "comm_id": "a", "data": { "first": true } }));
    all.comms.handle(request("comm_msg", json!({ "comm_id": "a", "data": {} })));
    let states: Vec<Value> =
        all.until_idle().into_iter().map(|(_, content, _)| content["execution_state"].clone()).collect();
    // For the cell, for the message; its answer has no state.
    assert_eq!(states, [json!("busy"), json!("busy"), Value::Null]);
}
