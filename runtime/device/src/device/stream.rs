//! Streams and events: the order of work on a device. There is no default stream, and nothing waits for the whole
//! device but an allocation that it has no memory for.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Device;
use crate::backend::{Handle, Priority};
use crate::error::Result;
use crate::phases::{self, Phase};

/// Work in the order in which it was given, concurrent with that of other streams. Clones are the same stream.
#[derive(Clone)]
pub struct Stream {
    inner: Arc<Inner>,
}

struct Inner {
    device: Device,
    handle: Handle,
}

impl Stream {
    pub(crate) fn new(device: &Device, priority: Priority) -> Result<Stream> {
        let handle = device.backend().create_stream(priority)?;
        Ok(Stream { inner: Arc::new(Inner { device: device.clone(), handle }) })
    }

    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    pub(crate) fn handle(&self) -> Handle {
        self.inner.handle
    }

    /// Blocks until all that was given to this stream is done.
    pub fn synchronize(&self) -> Result<()> {
        let _time = phases::scope(Phase::Device);
        // SAFETY: the handle is alive as long as `inner`.
        unsafe { self.device().backend().synchronize_stream(self.handle()) }?;
        // Behind the wait: callers let go of what the stream read.
        self.device().check()
    }

    /// An event that is done when all that was given so far is.
    pub fn record(&self) -> Result<Event> {
        let event = Event::new(self.device())?;
        // SAFETY: both handles are alive.
        unsafe { self.device().backend().record(event.handle, self.handle())? };
        Ok(event)
    }

    /// Work that is given from now on starts when the event is done.
    pub fn wait(&self, event: &Event) -> Result<()> {
        // SAFETY: both handles are alive.
        unsafe { self.device().backend().wait(self.handle(), event.handle) }
    }

    /// Work that is given to this stream from now on starts after the work of the other one so far.
    pub fn follow(&self, other: &Stream) -> Result<()> {
        if self.handle() == other.handle() {
            return Ok(());
        }
        self.wait(&other.record()?)
    }

    pub(crate) fn downgrade(&self) -> WeakStream {
        WeakStream(Arc::downgrade(&self.inner))
    }

    pub fn is_same(&self, other: &Stream) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

/// A stream, unless nobody has it any more.
pub(crate) struct WeakStream(Weak<Inner>);

impl WeakStream {
    pub fn upgrade(&self) -> Option<Stream> {
        self.0.upgrade().map(|inner| Stream { inner })
    }

    pub fn is_alive(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: this is the last owner; the driver lets pending work finish.
        let done = unsafe { self.device.backend().destroy_stream(self.handle) };
        self.device.defer(done);
    }
}

/// A point in a stream.
pub struct Event {
    device: Device,
    handle: Handle,
}

impl Event {
    fn new(device: &Device) -> Result<Event> {
        Ok(Event { device: device.clone(), handle: device.backend().create_event()? })
    }

    pub fn is_done(&self) -> Result<bool> {
        // SAFETY: the handle is alive.
        unsafe { self.device.backend().is_done(self.handle) }
    }

    pub fn synchronize(&self) -> Result<()> {
        let _time = phases::scope(Phase::Device);
        // SAFETY: the handle is alive.
        unsafe { self.device.backend().synchronize_event(self.handle) }
    }

    /// Device time from this event to a later one; both are waited for.
    pub fn elapsed(&self, later: &Event) -> Result<Duration> {
        later.synchronize()?;
        // SAFETY: both handles are alive.
        unsafe { self.device.backend().elapsed(self.handle, later.handle) }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: this is the owner; an event may be destroyed before it is done.
        let done = unsafe { self.device.backend().destroy_event(self.handle) };
        self.device.defer(done);
    }
}
