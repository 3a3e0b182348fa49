//! Stream contexts: each execution has a stream with its status block and completion flag, so queries and uploads run
//! concurrently.
//!
//! Memory belongs to the stream that it was allocated on, and other streams read it. This is safe because each
//! execution synchronises its stream before it publishes results or drops inputs. Shared cache entries (dictionary
//! encodings, lookup tables) are synchronised before they are published.

use std::any::Any;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use onrush_device::{Buffer, CompletionFlag, Priority};
use onrush_kernels::Context;
use parking_lot::{Mutex, MutexGuard};

use crate::{Error, Result};

/// A stream, and what its kernels tell.
pub struct StreamContext {
    pub context: Context,
    pub(crate) status: StatusBlock,
    /// The channel on which a kernel reports without a copy.
    pub(crate) mailbox: CompletionFlag,
    /// Memory for results of one row: getting it takes as long as a kernel that makes one.
    small: Mutex<Vec<Buffer>>,
    /// Whether all that was given to the stream is done.
    pub(crate) is_idle: AtomicBool,
    /// Done by the host while a kernel runs.
    meanwhile: Meanwhile,
    /// State of the executor that belongs to this stream.
    attached: OnceLock<Box<dyn Any + Send + Sync>>,
}

/// Work of the host while a kernel runs.
pub type Meanwhile = Arc<dyn Fn() + Send + Sync>;

/// Threads of a block of a reduction.
pub const REDUCTION_THREADS: u32 = 256;

/// Blocks of a reduction at most: as many as there is room for at once, as each has memory in every lane.
pub fn max_reduce_blocks(context: &Context) -> u32 {
    const EACH: u32 = 2048 / REDUCTION_THREADS;
    EACH * context.device().properties().multiprocessors.max(1)
}

/// Bytes of a piece of small memory, and how many of them there are for a run.
const SMALL: u64 = 512;
const PIECES: usize = 8;

impl StreamContext {
    /// The value that `tell` of `pipeline.cuh` writes if no row had a row error.
    pub(crate) const DONE: u64 = 1;
    /// Bytes of small results that come to the host without a copy.
    pub(crate) const ROOM: usize = 64 << 10;

    fn new(of: &Context, priority: Priority, meanwhile: &Meanwhile) -> Result<StreamContext> {
        let context = Context { stream: of.device().stream_of(priority)?, ..of.clone() };
        Ok(StreamContext {
            status: StatusBlock::new(&context)?,
            mailbox: CompletionFlag::new(context.device(), Self::ROOM)?,
            small: Mutex::default(),
            is_idle: AtomicBool::new(false),
            meanwhile: Arc::clone(meanwhile),
            attached: OnceLock::new(),
            context,
        })
    }

    /// State that belongs to this stream, made at its first use. Each stream has one value of one type.
    pub(crate) fn attached<T: Any + Default + Send + Sync>(&self) -> &T {
        let attached = self.attached.get_or_init(|| Box::new(T::default()));
        match attached.downcast_ref() {
            Some(attached) => attached,
            None => unreachable!("a stream has one attached value"),
        }
    }

    fn small(&self) -> MutexGuard<'_, Vec<Buffer>> {
        self.small.lock()
    }

    /// Launches a kernel whose last thread tells what came of it, and waits for that.
    ///
    /// # Errors
    /// [`Error::Fault`] if a row had one.
    pub(crate) fn launch_and_wait(&self, launch: impl FnOnce() -> Result<()>) -> Result<u64> {
        self.mailbox.empty();
        launch()?;
        (self.meanwhile)();
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
    pub(crate) fn scratch(&self, bytes: u64) -> Result<Buffer> {
        let kept = if bytes <= SMALL { self.small().pop() } else { None };
        match kept {
            Some(piece) => Ok(piece),
            None => Ok(self.context.allocate(bytes.max(SMALL))?),
        }
    }

    /// Gets pieces for the next run, while the device works on this one. If there are none now, the next run asks
    /// again.
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
pub struct StreamPool {
    quick: Mutex<Vec<StreamContext>>,
    usual: Mutex<Vec<StreamContext>>,
    /// Lanes that someone works with.
    taken: AtomicUsize,
}

/// Rows that are looked at up to which a run takes a millisecond or so: it comes before those that take longer.
const QUICK: u64 = 1 << 24;

impl StreamPool {
    /// For a run that looks at so many rows.
    pub fn take(&self, of: &Context, meanwhile: &Meanwhile, rows: u64) -> Result<StreamGuard<'_>> {
        let (free, priority) = match rows <= QUICK {
            true => (&self.quick, Priority::High),
            false => (&self.usual, Priority::Usual),
        };
        let kept = free.lock().pop();
        let lane = match kept {
            Some(lane) => lane,
            None => StreamContext::new(of, priority, meanwhile)?,
        };
        lane.is_idle.store(false, Ordering::Relaxed);
        self.taken.fetch_add(1, Ordering::Relaxed);
        Ok(StreamGuard { free, lane: Some(lane), taken: &self.taken })
    }

    /// Whether nobody works.
    pub fn are_idle(&self) -> bool {
        self.taken.load(Ordering::Relaxed) == 0
    }
}

/// A lane while someone works with it: for one run, and what comes before it.
pub struct StreamGuard<'a> {
    free: &'a Mutex<Vec<StreamContext>>,
    lane: Option<StreamContext>,
    taken: &'a AtomicUsize,
}

impl Deref for StreamGuard<'_> {
    type Target = StreamContext;

    fn deref(&self) -> &StreamContext {
        match &self.lane {
            Some(lane) => lane,
            None => unreachable!("a lane is taken out when it is dropped"),
        }
    }
}

impl Drop for StreamGuard<'_> {
    fn drop(&mut self) {
        self.taken.fetch_sub(1, Ordering::Relaxed);
        // One that fails is not used again; who works with the device next is told why.
        let is_idle = |lane: &StreamContext| lane.is_idle.load(Ordering::Relaxed) && !std::thread::panicking();
        if let Some(lane) = self.lane.take()
            && (is_idle(&lane) || lane.context.stream.synchronize().is_ok())
        {
            self.free.lock().push(lane);
        }
    }
}

/// The words that kernels report in: row errors, overflow, a count, a ticket. All are 0 at first, and again after an
/// execution without a row error: kernels leave the ticket so, and set the count. After the words there is memory for
/// the usual reduction.
pub struct StatusBlock {
    buffer: Buffer,
}

impl StatusBlock {
    const BYTES: u64 = 64;
    /// Words of a slot for which there is memory.
    pub const WORDS: u64 = 8;

    pub fn new(context: &Context) -> Result<StatusBlock> {
        let status = StatusBlock {
            buffer: context.allocate(Self::BYTES + 8 * Self::WORDS * (1 + u64::from(max_reduce_blocks(context))))?,
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

    /// The address of the word that says whether a build side has several rows for a key.
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

    /// Waits. Returns the count, or an error if a row had a row error.
    pub fn finish(&self, context: &Context) -> Result<u64> {
        let words = self.buffer.read::<u64>(0..2, &context.stream)?;
        if words[0] as u32 != 0 { Err(Error::Fault) } else { Ok(words[1]) }
    }
}
