//! Streams of runs: queries of several notebooks, and the copies of a load, run beside each other.
//!
//! Memory belongs to the stream that it was allocated on, and what one run made others read: that is right because a run is done on the
//! device before what it made is given to anyone, and before it lets go of what it read. Whatever is kept for other runs while one is
//! under way (numbers of texts, tables of lookups) is waited for first.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use onrush_device::{Buffer, Mailbox, Priority};
use onrush_kernels::Context;

use crate::prepared::Known;
use crate::residency::Residency;
use crate::{Error, Result, group};

/// A stream, and what its kernels tell.
pub struct Lane {
    pub context: Context,
    pub(crate) status: Status,
    /// What a kernel tells without a copy.
    pub(crate) mailbox: Mailbox,
    /// Memory for results of one row: getting it takes as long as a kernel that makes one.
    small: Mutex<Vec<Buffer>>,
    /// Whether all that was given to the stream is done.
    pub(crate) is_idle: AtomicBool,
    pub(crate) known: Known,
    residency: Arc<Residency>,
}

/// Bytes of a piece of small memory, and how many of them there are for a run.
const SMALL: u64 = 512;
const PIECES: usize = 8;

impl Lane {
    /// What `tell` of `pipeline.cuh` says where no row had a fault.
    pub(crate) const DONE: u64 = 1;
    /// Bytes of small results that come to the host without a copy.
    pub(crate) const ROOM: usize = 64 << 10;

    fn new(of: &Context, priority: Priority, residency: &Arc<Residency>) -> Result<Lane> {
        let context = Context { stream: of.device().stream_of(priority)?, ..of.clone() };
        Ok(Lane {
            status: Status::new(&context)?,
            mailbox: Mailbox::new(context.device(), Self::ROOM)?,
            small: Mutex::default(),
            is_idle: AtomicBool::new(false),
            known: Known::default(),
            residency: Arc::clone(residency),
            context,
        })
    }

    fn small(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.small.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Launches a kernel whose last thread tells what came of it, and waits for that.
    ///
    /// # Errors
    /// [`Error::Fault`] if a row had one.
    pub(crate) fn told(&self, launch: impl FnOnce() -> Result<()>) -> Result<u64> {
        self.mailbox.empty();
        launch()?;
        // While the device works.
        self.residency.sweep_at_times();
        let told = self.mailbox.wait(&self.context.stream)?;
        match told {
            Some(Self::DONE) => {
                self.is_idle.store(true, Ordering::Relaxed);
                Ok(self.mailbox.value())
            }
            Some(_) => Err(Error::Fault),
            None => {
                let code = "a kernel ended without a word".to_string();
                Err(onrush_device::Error::Driver { call: "a kernel", code }.into())
            }
        }
    }

    /// Uninitialised memory, fast if it is that of a few words.
    pub(crate) fn piece(&self, bytes: u64) -> Result<Buffer> {
        let kept = if bytes <= SMALL { self.small().pop() } else { None };
        match kept {
            Some(piece) => Ok(piece),
            None => Ok(self.context.allocate(bytes.max(SMALL))?),
        }
    }

    /// Gets pieces for the next run, while the device works on this one. Where there are none now, the next one asks again.
    pub(crate) fn restock(&self) {
        let mut small = self.small();
        while small.len() < PIECES
            && let Ok(piece) = self.context.allocate(SMALL)
        {
            small.push(piece);
        }
    }
}

/// Lanes that nobody works with at the moment.
#[derive(Default)]
pub struct Lanes {
    quick: Mutex<Vec<Lane>>,
    usual: Mutex<Vec<Lane>>,
    /// Lanes that someone works with.
    taken: AtomicUsize,
}

/// Rows that are looked at up to which a run takes a millisecond or so: it comes before those that take longer.
const QUICK: u64 = 1 << 24;

impl Lanes {
    /// For a run that looks at so many rows.
    pub fn take(&self, of: &Context, residency: &Arc<Residency>, rows: u64) -> Result<Working<'_>> {
        let (free, priority) = match rows <= QUICK {
            true => (&self.quick, Priority::High),
            false => (&self.usual, Priority::Usual),
        };
        let kept = free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let lane = match kept {
            Some(lane) => lane,
            None => Lane::new(of, priority, residency)?,
        };
        lane.is_idle.store(false, Ordering::Relaxed);
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(Working { free, lane: Some(lane), taken: &self.taken })
    }

    /// Whether nobody works.
    pub fn are_idle(&self) -> bool {
        self.taken.load(Ordering::Relaxed) == 0
    }
}

/// A lane while someone works with it: for one run, and what comes before it.
pub struct Working<'a> {
    free: &'a Mutex<Vec<Lane>>,
    lane: Option<Lane>,
    taken: &'a AtomicUsize,
}

impl Deref for Working<'_> {
    type Target = Lane;

    fn deref(&self) -> &Lane {
        match &self.lane {
            Some(lane) => lane,
            None => unreachable!("a lane is taken out when it is dropped"),
        }
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
        // One that fails is not used again; who works with the device next is told why.
        let is_idle = |lane: &Lane| lane.is_idle.load(Ordering::Relaxed) && !std::thread::panicking();
        if let Some(lane) = self.lane.take()
            && (is_idle(&lane) || lane.context.stream.synchronize().is_ok())
        {
            self.free.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
        }
    }
}

/// What kernels tell: faults, overflow, a count, a ticket. Zero at first, and again after a run without a fault: kernels leave the ticket
/// so, and set the count. Behind it there is memory for the usual reduction.
pub struct Status {
    buffer: Buffer,
}

impl Status {
    const BYTES: u64 = 64;
    /// Words of a slot for which there is memory.
    pub const WORDS: u64 = 8;

    pub fn new(context: &Context) -> Result<Status> {
        let status = Status {
            buffer: context.allocate(Self::BYTES + 8 * Self::WORDS * (1 + u64::from(group::reducing(context))))?,
        };
        status.clear(context)?;
        Ok(status)
    }

    /// The address of the memory for a reduction.
    pub fn table(&self) -> u64 {
        self.buffer.address() + Self::BYTES
    }

    pub fn fault(&self) -> u64 {
        self.buffer.address()
    }

    pub fn overflow(&self) -> u64 {
        self.buffer.address() + 4
    }

    pub fn count(&self) -> u64 {
        self.buffer.address() + 8
    }

    pub fn ticket(&self) -> u64 {
        self.buffer.address() + 16
    }

    /// Blocks that are done, zero before a kernel and after it.
    pub fn done(&self) -> u64 {
        self.buffer.address() + 24
    }

    /// Whether a table of rows to be found has several for a key.
    pub fn duplicates(&self) -> u64 {
        self.buffer.address() + 20
    }

    pub fn clear(&self, context: &Context) -> Result<()> {
        Ok(self.buffer.fill_range(0, Self::BYTES, 0, &context.stream)?)
    }

    /// Before a larger table is tried. Faults stay: they may be those of another kernel.
    pub fn clear_overflow(&self, context: &Context) -> Result<()> {
        Ok(self.buffer.fill_range(4, 4, 0, &context.stream)?)
    }

    /// Waits.
    pub fn overflowed(&self, context: &Context) -> Result<bool> {
        Ok(self.buffer.read::<u32>(0..2, &context.stream)?[1] != 0)
    }

    pub fn clear_count(&self, context: &Context) -> Result<()> {
        Ok(self.buffer.fill_range(8, 8, 0, &context.stream)?)
    }

    /// Waits; whether a table of rows was too small, and whether it has several for a key.
    pub fn built(&self, context: &Context) -> Result<(bool, bool)> {
        let words = self.buffer.read::<u32>(0..6, &context.stream)?;
        Ok((words[1] != 0, words[5] != 0))
    }

    /// After a table that was too small, or that has several rows for a key.
    pub fn clear_build(&self, context: &Context) -> Result<()> {
        self.clear_overflow(context)?;
        Ok(self.buffer.fill_range(20, 4, 0, &context.stream)?)
    }

    /// Waits; gives the count unless a row had a fault.
    pub fn finish(&self, context: &Context) -> Result<u64> {
        let words = self.buffer.read::<u64>(0..2, &context.stream)?;
        if words[0] as u32 != 0 { Err(Error::Fault) } else { Ok(words[1]) }
    }
}
