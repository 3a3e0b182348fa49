//! A device: the handle that all others come from, with its ledger and what its destructors could not report.

pub mod staging;
mod stream;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;

use self::staging::Staging;
use self::stream::WeakStream;
pub use self::stream::{Event, Stream};
use crate::backend::{Backend, Priority};
use crate::cuda::CudaBackend;
use crate::emulated::{EmulatedBackend, Emulation};
use crate::error::{Error, Result};
use crate::ledger::{Ledger, Owner, Reservation};
use crate::pinned_chunks::PinnedChunkPool;
use crate::properties::{Kind, Properties};
use crate::source::{CompileOptions, Source};

/// How a device is opened.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Bytes that the ledger gives out at most; without it, nine tenths of what is free.
    pub capacity: Option<u64>,
    /// The folder for the compiled runtime of the emulated device; `None` is a temporary folder.
    pub cache: Option<PathBuf>,
}

/// Device memory as the ledger and as the driver count it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryReport {
    pub used: u64,
    pub reserved: u64,
    pub high_water: u64,
    pub capacity: u64,
    /// Held by the pool from the driver, in use or kept for the next allocation.
    pub pool: u64,
    pub driver_free: u64,
    pub driver_total: u64,
    /// In use when the device was opened: the context, and other processes.
    pub baseline: u64,
}

impl MemoryReport {
    /// Bytes that the driver says are gone and that neither the pool nor the baseline explains. Modules and local
    /// memory of kernels are a few megabytes; more is a leak, or another process.
    pub fn gap(&self) -> i64 {
        let gone = self.driver_total - self.driver_free;
        gone as i64 - self.baseline as i64 - self.pool as i64
    }
}

/// Clones are the same device.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Box<dyn Backend>,
    ledger: Ledger,
    staging: Staging,
    pages: PinnedChunkPool,
    deferred: Mutex<Option<Error>>,
    streams: Mutex<Vec<WeakStream>>,
    baseline: u64,
}

impl Device {
    /// The GPU with the driver's number `ordinal`. Makes its context, which takes a third of a second.
    pub fn cuda(ordinal: usize, options: &Options) -> Result<Device> {
        Device::new(Box::new(CudaBackend::open(ordinal)?), options)
    }

    /// The emulated device. The first one on a machine compiles its runtime, which takes a second or two.
    pub fn emulated(emulation: &Emulation, options: &Options) -> Result<Device> {
        Device::new(Box::new(EmulatedBackend::open(emulation, options.cache.as_deref())?), options)
    }

    fn new(backend: Box<dyn Backend>, options: &Options) -> Result<Device> {
        let (free, total) = backend.memory()?;
        let capacity = options.capacity.unwrap_or(free / 10 * 9);
        let ledger = Ledger::new(capacity);
        backend.set_cache_capacity(capacity);
        let inner = Inner {
            backend,
            ledger,
            staging: Staging::default(),
            pages: PinnedChunkPool::default(),
            deferred: Mutex::new(None),
            streams: Mutex::default(),
            baseline: total.saturating_sub(free),
        };
        Ok(Device { inner: Arc::new(inner) })
    }

    pub fn properties(&self) -> &Properties {
        self.inner.backend.properties()
    }

    pub fn is_emulated(&self) -> bool {
        self.properties().kind == Kind::Emulated
    }

    pub fn ledger(&self) -> &Ledger {
        &self.inner.ledger
    }

    pub fn memory(&self) -> Result<MemoryReport> {
        let (driver_free, driver_total) = self.inner.backend.memory()?;
        let usage = self.ledger().total();
        Ok(MemoryReport {
            used: usage.used,
            reserved: usage.reserved,
            high_water: usage.high_water,
            capacity: self.ledger().capacity(),
            pool: self.inner.backend.pool_bytes()?,
            driver_free,
            driver_total,
            baseline: self.inner.baseline,
        })
    }

    /// Bytes of the ledger, and of the pool beyond that. The pool takes memory from the driver in pieces of 32 MB, and
    /// keeps some for later.
    pub fn held(&self) -> u64 {
        let used = self.ledger().total().used;
        // The ledger answers if the driver does not.
        self.inner.backend.pool_bytes().map_or(used, |pool| pool.max(used))
    }

    pub fn stream(&self) -> Result<Stream> {
        self.stream_of(Priority::Usual)
    }

    pub fn stream_of(&self, priority: Priority) -> Result<Stream> {
        let stream = Stream::new(self, priority)?;
        let mut streams = self.inner.streams.lock();
        streams.retain(WeakStream::is_alive);
        streams.push(stream.downgrade());
        Ok(stream)
    }

    /// Waits for what all streams have been given so far, so that what they free is free.
    fn settle(&self) -> Result<()> {
        let streams: Vec<Stream> = {
            let streams = self.inner.streams.lock();
            streams.iter().filter_map(WeakStream::upgrade).collect()
        };
        streams.iter().try_for_each(Stream::synchronize)
    }

    pub fn reserve(&self, owner: &Owner, bytes: u64) -> Result<Reservation> {
        self.check()?;
        self.ledger().reserve(owner, bytes)
    }

    /// Returns what the pool keeps for later to the driver, and staging memory to the host.
    pub fn trim(&self) -> Result<()> {
        self.inner.staging.clear(self)?;
        self.inner.pages.clear(self.backend())?;
        self.trim_pool(0)
    }

    fn trim_pool(&self, keep: u64) -> Result<()> {
        self.inner.backend.release_cached()?;
        // The pool gives back what streams have passed.
        self.settle()?;
        self.inner.backend.trim_pool(keep)
    }

    /// Returns the free memory of the pool to the driver, except for `spare` bytes. When nothing runs, other processes
    /// find the memory, and the driver reports what the ledger has.
    pub fn trim_to(&self, spare: u64) -> Result<()> {
        self.inner.pages.clear(self.backend())?;
        let keep = self.ledger().total().used + spare;
        if self.inner.backend.pool_bytes()? > keep { self.trim_pool(keep) } else { Ok(()) }
    }

    /// The compiler's name and version.
    pub fn compiler(&self) -> Result<String> {
        self.inner.backend.compiler()
    }

    /// Compiles CUDA C++ to what `load` takes: a cubin, or a shared object of the host. Nothing is cached here.
    pub fn compile(&self, source: &Source, options: &CompileOptions) -> Result<Vec<u8>> {
        self.inner.backend.compile(source, options)
    }

    /// Whether [`CompileOptions::quick`] makes a difference.
    pub fn has_quick_compiler(&self) -> bool {
        self.inner.backend.has_quick_compiler()
    }

    /// Compiles an empty kernel in the background: the first compilation in a process takes a quarter of a second
    /// longer.
    pub fn warm_compiler(&self) -> JoinHandle<Result<()>> {
        let device = self.clone();
        std::thread::spawn(move || {
            let source = Source::new("warm.cu", "extern \"C\" __global__ void warm() {}\n", ["warm"]);
            device.compile(&source, &CompileOptions::default()).map(drop)
        })
    }

    /// Reports what a destructor could not.
    pub fn check(&self) -> Result<()> {
        match self.inner.deferred.lock().take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    pub(crate) fn defer(&self, result: Result<()>) {
        if let Err(error) = result {
            // The first error is the cause of those that follow.
            self.inner.deferred.lock().get_or_insert(error);
        }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.inner.backend
    }

    pub(crate) fn staging(&self) -> &Staging {
        &self.inner.staging
    }

    pub(crate) fn pages(&self) -> &PinnedChunkPool {
        &self.inner.pages
    }
}
