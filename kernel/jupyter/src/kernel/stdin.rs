//! Questions to the user: one at a time, asked of the front end that sent the running cell.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::Duration;

use jupyter_protocol::messaging::InputReply;
use parking_lot::Mutex;
use ring::hmac;
use zeromq::RouterRecvHalf;

use super::{Kernel, read};
use crate::log;
use crate::message::{Channel, Request};
use crate::notebook::Answer;
use crate::outbox::Outbox;

/// Who waits for a line.
#[derive(Default)]
pub struct Stdin {
    waiting: Mutex<Option<Sender<String>>>,
}

impl Stdin {
    /// Asks, and waits for the answer or an interrupt.
    pub fn ask(
        &self,
        outbox: &Outbox,
        request: &Request,
        prompt: &str,
        password: bool,
        interrupted: &dyn Fn() -> bool,
    ) -> Answer {
        let (sender, answer) = mpsc::channel();
        *self.waiting.lock() = Some(sender);
        outbox.ask(request, prompt, password);
        let result = loop {
            match answer.recv_timeout(Duration::from_millis(50)) {
                Ok(line) => break Answer::Line(line),
                Err(RecvTimeoutError::Timeout) if !interrupted() => {}
                Err(_) => break Answer::Interrupted,
            }
        };
        *self.waiting.lock() = None;
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
        let reply =
            Request::parse(raw, Channel::Shell).map_err(|e| e.to_string()).and_then(|m| m.content::<InputReply>());
        match reply {
            Ok(reply) => match kernel.stdin.waiting.lock().take() {
                Some(waiting) => drop(waiting.send(reply.value)),
                None => log::line(format_args!("an input reply that nobody asked for was ignored")),
            },
            Err(error) => log::line(format_args!("a message on Stdin was ignored: {error}")),
        }
    }
}
