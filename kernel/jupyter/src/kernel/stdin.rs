//! Questions to the user: one at a time, asked of the front end that sent the running cell. A line that was typed for a
//! question which an interrupt has ended answers no later one.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use chrono::{DateTime, Utc};
use jupyter_protocol::messaging::InputReply;
use parking_lot::Mutex;
use ring::hmac;
use zeromq::RouterRecvHalf;

use super::{Kernel, read};
use crate::log;
use crate::message::{Channel, Request, new_id};
use crate::notebook::Answer;
use crate::send_queue::SendQueue;

/// Who waits for a line.
#[derive(Default)]
pub struct Stdin {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: Option<PendingInput>,
    /// The question before this one got no answer: one may still come.
    abandoned: bool,
}

struct PendingInput {
    /// The id of the `input_request`.
    id: String,
    asked: DateTime<Utc>,
    to: Sender<String>,
}

impl State {
    /// The question that a reply answers. Front ends name the question, or else say when they wrote the answer.
    fn take(&mut self, reply: &Request) -> Option<Sender<String>> {
        let waiting = self.waiting.as_ref()?;
        let is_late = match reply.parent["msg_id"].as_str() {
            Some(question) => question != waiting.id,
            // Clocks of two machines differ: only where there is a question that it could be for.
            None => self.abandoned && written(reply).is_some_and(|date| date < waiting.asked),
        };
        if is_late {
            return None;
        }
        self.abandoned = false;
        self.waiting.take().map(|waiting| waiting.to)
    }
}

fn written(reply: &Request) -> Option<DateTime<Utc>> {
    let date = DateTime::parse_from_rfc3339(reply.header["date"].as_str()?).ok()?;
    Some(date.to_utc())
}

impl Stdin {
    /// Asks, and waits for the answer or an interrupt.
    pub fn ask(
        &self,
        send_queue: &SendQueue,
        request: &Request,
        prompt: &str,
        password: bool,
        interrupted: &dyn Fn() -> bool,
    ) -> Answer {
        let (sender, answer) = mpsc::channel();
        let id = new_id();
        self.state.lock().waiting = Some(PendingInput { id: id.clone(), asked: Utc::now(), to: sender });
        send_queue.ask(&id, request, prompt, password);
        let result = loop {
            match answer.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => break Answer::Line(line),
                Err(RecvTimeoutError::Timeout) if !interrupted() => {}
                Err(_) => break Answer::Interrupted,
            }
        };
        let mut state = self.state.lock();
        state.abandoned |= state.waiting.take().is_some();
        result
    }
}

/// Reads answers as long as the process lives.
pub async fn receive(mut socket: RouterRecvHalf, key: Option<hmac::Key>, kernel: Arc<Kernel>) {
    loop {
        let raw = match read(&mut socket, &key).await {
            Ok(raw) => raw,
            Err(error) => {
                log::line(format_args!("a message on Stdin was refused: {error}"));
                tokio::time::sleep(Duration::from_millis(1)).await;
                continue;
            }
        };
        let message = Request::parse(raw, Channel::Shell).map_err(|e| e.to_string());
        let reply = message.and_then(|m| Ok((m.content::<InputReply>()?, m)));
        match reply {
            Ok((reply, message)) => match kernel.stdin.state.lock().take(&message) {
                Some(waiting) => drop(waiting.send(reply.value)),
                None => log::line(format_args!("an input reply that nobody asked for was ignored")),
            },
            Err(error) => log::line(format_args!("a message on Stdin was ignored: {error}")),
        }
    }
}
