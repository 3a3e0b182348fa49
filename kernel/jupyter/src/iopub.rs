//! The iopub socket. Every subscriber has a separate queue and connection, so that a subscriber that stopped reading
//! costs the others nothing. A publisher of the `zeromq` crate serves its subscribers one after another and waits for
//! each.
//!
//! This module knows no Jupyter messages. The bytes on the wire are in [`zmtp`].

mod zmtp;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zeromq::ZmqMessage;

use crate::log;

/// Most bytes that wait for one subscriber. A cell shows 2 MB of text; the rest is room for its pictures.
const WAITING: usize = 128 << 20;
/// A connection that does not end its greeting in this time is dropped.
const GREETING: Duration = Duration::from_secs(10);

/// The publishing end; cheap to clone.
#[derive(Clone, Default)]
pub struct Publisher {
    subscribers: Arc<Mutex<Vec<Arc<Subscriber>>>>,
}

/// A request of a subscriber.
pub enum Subscription {
    Begin { subscriber: Arc<Subscriber>, topic: Bytes },
    End { subscriber: Arc<Subscriber>, topic: Bytes },
}

/// One front end's connection.
#[derive(Default)]
pub struct Subscriber {
    topics: Mutex<Vec<Bytes>>,
    queue: Mutex<Queue>,
    filled: Notify,
    emptied: Notify,
    /// It was waited for in vain, and is not waited for until it has taken all.
    behind: AtomicBool,
}

#[derive(Default)]
struct Queue {
    /// Encoded messages; the first one stays until all of it is written.
    messages: VecDeque<Bytes>,
    bytes: usize,
    losing: bool,
}

/// Whether a message may be left out for a subscriber that does not take what waits for it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Droppable,
    /// Small, and without it a front end waits forever.
    Needed,
}

impl Publisher {
    /// Opens `tcp://ADDRESS:PORT` or `ipc://PATH`. Subscriptions come by the channel; the caller applies them.
    pub async fn bind(url: &str) -> io::Result<(Publisher, UnboundedReceiver<Subscription>)> {
        match url.split_once("://") {
            Some(("tcp", address)) => Ok(Self::on_tcp(TcpListener::bind(address.replace('*', "0.0.0.0")).await?)),
            Some(("ipc", path)) => Ok(Self::on_path(UnixListener::bind(path)?)),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "Jupyter uses tcp:// and ipc://")),
        }
    }

    fn on_tcp(listener: TcpListener) -> (Publisher, UnboundedReceiver<Subscription>) {
        let (events, subscriptions) = unbounded_channel();
        let publisher = Publisher::default();
        let accepting = publisher.clone();
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        // Messages are whole; waiting to fill a packet would delay each.
                        let _ = stream.set_nodelay(true);
                        accepting.serve(stream.into_split(), &events);
                    }
                    Err(error) => refused(&error).await,
                }
            }
        });
        (publisher, subscriptions)
    }

    fn on_path(listener: UnixListener) -> (Publisher, UnboundedReceiver<Subscription>) {
        let (events, subscriptions) = unbounded_channel();
        let publisher = Publisher::default();
        let accepting = publisher.clone();
        tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => accepting.serve(stream.into_split(), &events),
                    Err(error) => refused(&error).await,
                }
            }
        });
        (publisher, subscriptions)
    }

    /// Puts a message into the queue of everyone who subscribed to its topic, which is its first frame. Waits for
    /// nobody.
    pub fn publish(&self, frames: &ZmqMessage, weight: Weight) {
        let Some(topic) = frames.get(0) else { return };
        let subscribers = self.subscribers.lock().clone();
        let mut encoded = None;
        for subscriber in subscribers.iter().filter(|subscriber| subscriber.wants(topic)) {
            subscriber.push(encoded.get_or_insert_with(|| zmtp::message(frames)), weight);
        }
    }

    /// Returns when all who take messages have all that was published, at the latest after `limit`. A subscriber that
    /// is late is not waited for again until it has caught up.
    pub async fn taken(&self, limit: Duration) {
        let end = tokio::time::Instant::now() + limit;
        let subscribers = self.subscribers.lock().clone();
        for subscriber in subscribers.iter().filter(|subscriber| !subscriber.behind.load(Ordering::Relaxed)) {
            if tokio::time::timeout_at(end, subscriber.has_taken_all()).await.is_err() {
                subscriber.behind.store(true, Ordering::Relaxed);
            }
        }
    }

    fn serve<R, W>(&self, (mut reader, mut writer): (R, W), events: &UnboundedSender<Subscription>)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let publisher = self.clone();
        let events = events.clone();
        tokio::spawn(async move {
            match tokio::time::timeout(GREETING, zmtp::greet(&mut reader, &mut writer)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return log::line(format_args!("a connection to iopub was refused: {error}")),
                Err(_) => return log::line(format_args!("a connection to iopub said nothing")),
            }
            let subscriber = Arc::new(Subscriber::default());
            publisher.subscribers.lock().push(Arc::clone(&subscriber));
            // Whichever ends first: the front end is gone.
            let ended = tokio::select! {
                ended = follow(reader, &subscriber, &events) => ended,
                ended = subscriber.write(writer) => ended,
            };
            publisher.subscribers.lock().retain(|other| !Arc::ptr_eq(other, &subscriber));
            subscriber.clear();
            if let Err(error) = ended.filter_gone() {
                log::line(format_args!("a connection to iopub ended: {error}"));
            }
        });
    }
}

/// Some ends of a connection are not errors: the peer has gone.
trait FilterGone {
    fn filter_gone(self) -> Self;
}

impl FilterGone for io::Result<()> {
    fn filter_gone(self) -> Self {
        use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
        self.or_else(|error| {
            if matches!(error.kind(), BrokenPipe | ConnectionReset | UnexpectedEof) { Ok(()) } else { Err(error) }
        })
    }
}

async fn refused(error: &io::Error) {
    log::line(format_args!("a front end could not connect to iopub: {error}"));
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Reads what one front end asks for, until it goes.
async fn follow(
    mut reader: impl AsyncRead + Unpin,
    subscriber: &Arc<Subscriber>,
    events: &UnboundedSender<Subscription>,
) -> io::Result<()> {
    loop {
        let event = match zmtp::read(&mut reader).await? {
            zmtp::SubscriberMessage::Subscribe(topic) => {
                Subscription::Begin { subscriber: Arc::clone(subscriber), topic }
            }
            zmtp::SubscriberMessage::Cancel(topic) => Subscription::End { subscriber: Arc::clone(subscriber), topic },
            zmtp::SubscriberMessage::Ping(context) => {
                subscriber.push(&zmtp::pong(&context), Weight::Needed);
                continue;
            }
            zmtp::SubscriberMessage::Other => continue,
        };
        if events.send(event).is_err() {
            return Ok(());
        }
    }
}

impl Subscriber {
    pub fn subscribe(&self, topic: Bytes) {
        self.topics.lock().push(topic);
    }

    pub fn unsubscribe(&self, topic: &Bytes) {
        let mut topics = self.topics.lock();
        if let Some(at) = topics.iter().position(|other| other == topic) {
            topics.swap_remove(at);
        }
    }

    /// A message for this front end alone.
    pub fn send(&self, frames: &ZmqMessage) {
        self.push(&zmtp::message(frames), Weight::Needed);
    }

    fn wants(&self, topic: &[u8]) -> bool {
        self.topics.lock().iter().any(|prefix| topic.starts_with(prefix))
    }

    fn push(&self, message: &Bytes, weight: Weight) {
        let mut queue = self.queue.lock();
        let limit = if weight == Weight::Needed { 2 * WAITING } else { WAITING };
        // A message that is larger than the room goes where nothing waits.
        if !queue.messages.is_empty() && queue.bytes + message.len() > limit {
            if !std::mem::replace(&mut queue.losing, true) {
                log::line(format_args!("a front end takes no messages on iopub: it will miss some"));
            }
            return;
        }
        queue.bytes += message.len();
        queue.messages.push_back(message.clone());
        drop(queue);
        self.filled.notify_one();
    }

    /// Writes what waits, and what will, until the front end is gone.
    async fn write(&self, mut writer: impl AsyncWrite + Unpin) -> io::Result<()> {
        loop {
            let first = self.queue.lock().messages.front().cloned();
            let Some(message) = first else {
                self.filled.notified().await;
                continue;
            };
            writer.write_all(&message).await?;
            let mut queue = self.queue.lock();
            queue.messages.pop_front();
            queue.bytes -= message.len();
            if queue.messages.is_empty() {
                drop(queue);
                self.took_all();
            }
        }
    }

    fn took_all(&self) {
        self.queue.lock().losing = false;
        self.behind.store(false, Ordering::Relaxed);
        self.emptied.notify_waiters();
    }

    /// Nobody waits for a front end that is gone.
    fn clear(&self) {
        *self.queue.lock() = Queue::default();
        self.took_all();
    }

    async fn has_taken_all(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.queue.lock().messages.is_empty() {
                return;
            }
            emptied.await;
        }
    }
}

#[cfg(test)]
mod tests;
