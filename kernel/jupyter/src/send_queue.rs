//! Everything that the kernel sends, in one order: what a cell prints is on its way before the reply that ends the
//! cell.
//!
//! Replies on the control channel have a separate queue, and so has every subscriber of iopub (`iopub.rs`). A front end
//! that reads nothing cannot hold up an interrupt or the other front ends. Any thread may send; nothing here blocks.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jupyter_protocol::messaging::IoPubWelcome;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use zeromq::{RouterSendHalf, SocketSend, ZmqMessage};

use crate::iopub::{Publisher, Subscription, Weight};
use crate::log;
use crate::message::{Channel, Request, Signer};

/// A receiver that takes nothing for this long loses the message.
const SEND_LIMIT: Duration = Duration::from_secs(2);
/// For those who took nothing the last time, so that one stopped front end does not hold up the others for long.
const SLOW_LIMIT: Duration = Duration::from_millis(20);
/// How long a reply waits for what the cell has shown to be taken.
const TAKEN: Duration = Duration::from_millis(200);

enum Item {
    Iopub(ZmqMessage, Weight),
    Shell(ZmqMessage),
    Stdin(ZmqMessage),
    Flush(oneshot::Sender<()>),
}

/// The sending end; cheap to clone.
#[derive(Clone)]
pub struct SendQueue {
    signer: Arc<Signer>,
    ordered: UnboundedSender<Item>,
    control: UnboundedSender<ZmqMessage>,
}

/// The receiving ends, for [`run`] and [`run_control`].
pub struct QueueReceivers {
    ordered: UnboundedReceiver<Item>,
    control: UnboundedReceiver<ZmqMessage>,
}

#[cfg(test)]
impl QueueReceivers {
    /// The next message on iopub, as it would be sent.
    pub fn next_within(&mut self, limit: Duration) -> Option<ZmqMessage> {
        let end = std::time::Instant::now() + limit;
        loop {
            match self.ordered.try_recv() {
                Ok(Item::Iopub(frames, _)) => return Some(frames),
                Ok(_) => {}
                Err(_) if std::time::Instant::now() > end => return None,
                Err(_) => std::thread::yield_now(),
            }
        }
    }
}

impl SendQueue {
    pub fn new(signer: Signer) -> (SendQueue, QueueReceivers) {
        let (ordered, ordered_out) = unbounded_channel();
        let (control, control_out) = unbounded_channel();
        (
            SendQueue { signer: Arc::new(signer), ordered, control },
            QueueReceivers { ordered: ordered_out, control: control_out },
        )
    }

    /// Broadcasts on iopub. `parent` is the header of the request that caused it, or null.
    pub fn publish(&self, parent: &Value, msg_type: &str, content: &Value) {
        self.publish_with(parent, msg_type, &json!({}), content);
    }

    pub fn publish_with(&self, parent: &Value, msg_type: &str, metadata: &Value, content: &Value) {
        self.publish_attached(parent, msg_type, metadata, content, &[]);
    }

    /// With binary frames after the content; the signature does not cover them.
    pub fn publish_attached(
        &self,
        parent: &Value,
        msg_type: &str,
        metadata: &Value,
        content: &Value,
        buffers: &[Bytes],
    ) {
        let topic = Bytes::from(format!("kernel.{msg_type}"));
        let mut frames = self.signer.frames(&[topic], parent, msg_type, metadata, content);
        buffers.iter().for_each(|buffer| frames.push_back(buffer.clone()));
        let weight = if msg_type == "status" { Weight::Needed } else { Weight::Droppable };
        let _ = self.ordered.send(Item::Iopub(frames, weight));
    }

    /// `busy` or `idle`.
    pub fn status(&self, parent: &Value, state: &str) {
        self.publish(parent, "status", &json!({ "execution_state": state }));
    }

    /// The `idle` of a request that was answered, perhaps while a cell runs, whose header is `current`.
    pub fn idle_beside(&self, request: &Value, current: &Mutex<Value>) {
        self.status(request, "idle");
        // Front ends show the last state they saw: a cell that still runs is busy. Said under the lock, so that it
        // cannot come after the cell's own `idle`.
        let current = current.lock();
        if current.is_object() {
            self.status(&current, "busy");
        }
    }

    /// Answers a request by the channel that it came from.
    pub fn reply(&self, request: &Request, content: &Value) {
        self.reply_as(request, &request.reply_type(), content);
    }

    pub fn reply_as(&self, request: &Request, msg_type: &str, content: &Value) {
        self.reply_with(request, msg_type, &json!({}), content);
    }

    pub fn reply_with(&self, request: &Request, msg_type: &str, metadata: &Value, content: &Value) {
        let frames = self.signer.frames(&request.identities, &request.header, msg_type, metadata, content);
        let _ = match request.channel {
            Channel::Shell => self.ordered.send(Item::Shell(frames)).is_ok(),
            Channel::Control => self.control.send(frames).is_ok(),
        };
    }

    /// Asks the front end that sent `request` for a line.
    pub fn ask(&self, id: &str, request: &Request, prompt: &str, password: bool) {
        let content = json!({ "prompt": prompt, "password": password });
        let (to, parent) = (&request.identities, &request.header);
        let frames = self.signer.frames_as(id, to, parent, "input_request", &json!({}), &content);
        let _ = self.ordered.send(Item::Stdin(frames));
    }

    /// Returns when everything sent before has been handed to the sockets.
    pub async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        if self.ordered.send(Item::Flush(done)).is_ok() {
            let _ = tokio::time::timeout(SEND_LIMIT, wait).await;
        }
    }
}

/// Sends the ordered queue, and welcomes those who subscribe to iopub (JEP 65).
pub async fn run(
    send_queue: SendQueue,
    queues: QueueReceivers,
    iopub: Publisher,
    mut subscriptions: UnboundedReceiver<Subscription>,
    mut shell: RouterSendHalf,
    mut stdin: RouterSendHalf,
    control: RouterSendHalf,
) {
    tokio::spawn(run_control(queues.control, control));
    let mut queue = queues.ordered;
    let (mut shell_limit, mut stdin_limit) = (SEND_LIMIT, SEND_LIMIT);
    loop {
        tokio::select! {
            biased;
            Some(subscription) = subscriptions.recv() => match subscription {
                Subscription::Begin { subscriber, topic } => {
                    let content = IoPubWelcome::new(String::from_utf8_lossy(&topic).into_owned());
                    let content = serde_json::to_value(content).unwrap_or_default();
                    let identities = [topic.clone()];
                    subscriber.subscribe(topic);
                    subscriber.send(&send_queue.signer.frames(&identities, &Value::Null, "iopub_welcome", &json!({}), &content));
                }
                Subscription::End { subscriber, topic } => subscriber.unsubscribe(&topic),
            },
            item = queue.recv() => match item {
                None => return,
                Some(Item::Iopub(frames, weight)) => iopub.publish(&frames, weight),
                Some(Item::Shell(frames)) => {
                    iopub.taken(TAKEN).await;
                    send(&mut shell, frames, "shell", &mut shell_limit).await;
                }
                Some(Item::Stdin(frames)) => {
                    iopub.taken(TAKEN).await;
                    send(&mut stdin, frames, "stdin", &mut stdin_limit).await;
                }
                Some(Item::Flush(done)) => {
                    iopub.taken(SEND_LIMIT).await;
                    let _ = done.send(());
                }
            },
        }
    }
}

async fn run_control(mut queue: UnboundedReceiver<ZmqMessage>, mut control: RouterSendHalf) {
    let mut limit = SEND_LIMIT;
    while let Some(frames) = queue.recv().await {
        send(&mut control, frames, "control", &mut limit).await;
    }
}

/// `limit` is the socket's: shorter after a message that was not taken, until one is.
async fn send(socket: &mut impl SocketSend, frames: ZmqMessage, name: &str, limit: &mut Duration) {
    match tokio::time::timeout(*limit, socket.send(frames)).await {
        Ok(Ok(())) => *limit = SEND_LIMIT,
        Ok(Err(error)) => log::line(format_args!("a message on {name} was not sent: {error}")),
        Err(_) => {
            if *limit == SEND_LIMIT {
                log::line(format_args!("a front end takes no messages on {name}: it will miss some"));
            }
            *limit = SLOW_LIMIT;
        }
    }
}
