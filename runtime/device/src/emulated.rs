//! The emulated device: CUDA C++ compiled by the host's C++ compiler and run on its processor, so that kernels are
//! tested and taught without a GPU. Work is done when it is given: streams and events keep no queue.

mod compiler;
mod ipc_memory;
mod red_zones;
mod runtime;

use std::alloc::{Layout, alloc, dealloc};
use std::collections::{BTreeMap, HashMap};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use libc::c_void;
use parking_lot::Mutex;

use crate::backend::{Backend, Handle, Priority};
use crate::error::{Error, Result};
use crate::grid::{FunctionUsage, Grid};
use crate::properties::{Kind, Properties};
use crate::source::{CompileOptions, Source};

pub use compiler::{HostCompiler, find as find_compiler};
use runtime::{Kernel, LoadedModule, Runtime};

/// How kernels run on the emulated device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulation {
    /// Checks each access to memory. Bounds, races and missing barriers are errors with thread and line. So are an
    /// index past a declared array, a misaligned address, and a division by zero. Shifts by too many bits and the end
    /// of a function without its `return` are errors, too. About fifty times slower.
    pub checked: bool,
    /// For CUDA kernels of people who learn, with `checked`. Barriers are errors if threads reach them in different
    /// lines or not at all. Shared memory must be written before it is read, and not exceed what a kernel has without
    /// asking. Accesses outside the module's variables and writes to `__constant__` ones are errors. So are results
    /// that depend on values that shuffles read from lanes that take no part.
    pub strict: bool,
    /// Cores that run blocks; 0 takes those that there are.
    pub workers: u32,
    pub memory_bytes: u64,
    /// After so long without the end of any block, spinning threads are an error.
    pub patience: Duration,
    /// For tests: kernels run without optimisation until the optimised ones are there, as on a GPU.
    pub quick: bool,
}

impl Default for Emulation {
    fn default() -> Self {
        Emulation {
            checked: false,
            strict: false,
            workers: 0,
            memory_bytes: 4 << 30,
            patience: Duration::from_secs(60),
            quick: false,
        }
    }
}

/// Space on both sides of an allocation that belongs to nobody, so that an access outside the allocation is detected.
const MARGIN: usize = 4096;
/// Wider where people learn: an index is wrong by a whole block or row. Memory that nobody touches costs nothing.
const STRICT_MARGIN: usize = 4 << 20;

pub struct EmulatedBackend {
    emulation: Emulation,
    properties: Properties,
    compiler: HostCompiler,
    runtime: Runtime,
    used: Mutex<u64>,
    /// Pages of the host's memory, by where they begin.
    locked: Mutex<BTreeMap<usize, usize>>,
    events: Mutex<(usize, HashMap<usize, Instant>)>,
    modules: Mutex<(usize, HashMap<usize, LoadedModule>)>,
    kernels: Mutex<Vec<Kernel>>,
}

impl EmulatedBackend {
    pub fn open(emulation: &Emulation, cache: Option<&Path>) -> Result<EmulatedBackend> {
        let compiler = compiler::find()?;
        let runtime = Runtime::open(&compiler, cache)?;
        let mut emulation = emulation.clone();
        if emulation.workers == 0 {
            emulation.workers = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        }
        let properties = Properties {
            kind: Kind::Emulated,
            name: format!("emulated device on {} cores", emulation.workers),
            architecture: match (emulation.checked, emulation.strict) {
                (true, true) => "emulated-strict".to_string(),
                (true, false) => "emulated-checked".to_string(),
                _ => "emulated".to_string(),
            },
            multiprocessors: emulation.workers,
            threads_per_multiprocessor: 1024,
            shared_memory_per_block: 227 << 10,
            l2_bytes: 1 << 20,
            memory_bytes: emulation.memory_bytes,
            driver_version: 0,
        };
        Ok(EmulatedBackend {
            emulation,
            properties,
            compiler,
            runtime,
            used: Mutex::default(),
            locked: Mutex::default(),
            events: Mutex::default(),
            modules: Mutex::default(),
            kernels: Mutex::default(),
        })
    }
}

impl EmulatedBackend {
    /// Counts bytes that somebody wants.
    fn take(&self, bytes: u64) -> Result<()> {
        let mut used = self.used.lock();
        let total = self.emulation.memory_bytes;
        if bytes > total - *used {
            return Err(Error::DriverOutOfMemory { requested: bytes, free: total - *used, total });
        }
        *used += bytes;
        Ok(())
    }

    fn mapped(&self, memory: BorrowedFd<'_>, bytes: u64, writable: bool) -> Result<u64> {
        self.take(bytes)?;
        let mapped = ipc_memory::map(memory, bytes, self.margin(), writable);
        match &mapped {
            Ok(address) => self.runtime.register(*address, bytes),
            Err(_) => *self.used.lock() -= bytes,
        }
        mapped
    }

    fn margin(&self) -> usize {
        if self.emulation.strict { STRICT_MARGIN } else { MARGIN }
    }
}

fn layout(bytes: u64, margin: usize) -> Layout {
    // A size that overflows was refused by the ledger long before.
    Layout::from_size_align(bytes as usize + 2 * margin, MARGIN).unwrap_or(Layout::new::<u128>())
}

// SAFETY of the blocks below: by the contract of `Backend`, addresses and lengths lie in allocations of this device,
// which are memory of this process.
impl Backend for EmulatedBackend {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<(u64, u64)> {
        let total = self.emulation.memory_bytes;
        Ok((total - *self.used.lock(), total))
    }

    fn pool_bytes(&self) -> Result<u64> {
        Ok(*self.used.lock())
    }

    /// Nothing is kept: memory that was freed is not to be found again.
    fn set_cache_capacity(&self, _capacity: u64) {}

    fn release_cached(&self) -> Result<()> {
        Ok(())
    }

    fn trim_pool(&self, _keep: u64) -> Result<()> {
        Ok(())
    }

    unsafe fn allocate(&self, bytes: u64, _on: Handle) -> Result<u64> {
        self.take(bytes)?;
        // SAFETY: the size is not zero.
        let start = unsafe { alloc(layout(bytes, self.margin())) };
        if start.is_null() {
            *self.used.lock() -= bytes;
            let (free, total) = self.memory()?;
            return Err(Error::DriverOutOfMemory { requested: bytes, free, total });
        }
        let address = start as u64 + self.margin() as u64;
        if self.emulation.checked {
            // SAFETY: the memory was just allocated. Fresh memory on a GPU holds anything, too.
            unsafe { std::ptr::write_bytes(address as *mut u8, 0xa5, bytes as usize) };
        }
        self.runtime.register(address, bytes);
        Ok(address)
    }

    unsafe fn free(&self, address: u64, bytes: u64, _on: Handle) -> Result<()> {
        self.runtime.unregister(address);
        *self.used.lock() -= bytes;
        let margin = self.margin();
        // SAFETY: allocated with the same layout.
        unsafe { dealloc((address - margin as u64) as *mut u8, layout(bytes, margin)) };
        Ok(())
    }

    fn export(&self, bytes: u64) -> Result<(u64, OwnedFd)> {
        let file = ipc_memory::file(bytes)?;
        Ok((self.mapped(file.as_fd(), bytes, true)?, file))
    }

    fn import(&self, memory: BorrowedFd<'_>, bytes: u64) -> Result<u64> {
        self.mapped(memory, bytes, false)
    }

    unsafe fn protect(&self, address: u64, bytes: u64) -> Result<()> {
        // SAFETY: see above.
        unsafe { ipc_memory::protect(address, bytes) }
    }

    unsafe fn unmap(&self, address: u64, bytes: u64) -> Result<()> {
        self.runtime.unregister(address);
        *self.used.lock() -= bytes;
        // SAFETY: see above.
        unsafe { ipc_memory::unmap(address, bytes, self.margin()) }
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8> {
        // SAFETY: the size is not zero.
        Ok(unsafe { alloc(Layout::from_size_align(bytes.max(1), 64).unwrap_or(Layout::new::<u128>())) })
    }

    unsafe fn free_pinned(&self, address: *mut u8, bytes: usize) -> Result<()> {
        self.runtime.unregister(address as u64);
        // SAFETY: allocated with the same layout.
        unsafe { dealloc(address, Layout::from_size_align(bytes.max(1), 64).unwrap_or(Layout::new::<u128>())) };
        Ok(())
    }

    /// As strict as CUDA: memory is locked once.
    unsafe fn lock_pages(&self, address: *mut u8, bytes: usize) -> Result<()> {
        let mut locked = self.locked.lock();
        let start = address as usize;
        let near = locked.range(..start + bytes).next_back();
        if near.is_some_and(|(from, length)| from + length > start) {
            return Err(Error::Driver { call: "lock_pages", code: "some of the memory is locked already".into() });
        }
        locked.insert(start, bytes);
        Ok(())
    }

    unsafe fn unlock_pages(&self, address: *mut u8) -> Result<()> {
        match self.locked.lock().remove(&(address as usize)) {
            Some(_) => Ok(()),
            None => Err(Error::Driver { call: "unlock_pages", code: "the memory is not locked".into() }),
        }
    }

    fn map_pinned(&self, address: *mut u8, bytes: usize) {
        self.runtime.register(address as u64, bytes as u64);
    }

    fn create_stream(&self, _priority: Priority) -> Result<Handle> {
        self.create_event()
    }

    unsafe fn destroy_stream(&self, _on: Handle) -> Result<()> {
        Ok(())
    }

    unsafe fn synchronize_stream(&self, _on: Handle) -> Result<()> {
        Ok(())
    }

    fn create_event(&self) -> Result<Handle> {
        let mut events = self.events.lock();
        events.0 += 1;
        Ok(Handle(events.0))
    }

    unsafe fn destroy_event(&self, event: Handle) -> Result<()> {
        self.events.lock().1.remove(&event.0);
        Ok(())
    }

    unsafe fn record(&self, event: Handle, _on: Handle) -> Result<()> {
        self.events.lock().1.insert(event.0, Instant::now());
        Ok(())
    }

    unsafe fn wait(&self, _on: Handle, _event: Handle) -> Result<()> {
        Ok(())
    }

    unsafe fn is_done(&self, _event: Handle) -> Result<bool> {
        Ok(true)
    }

    unsafe fn synchronize_event(&self, _event: Handle) -> Result<()> {
        Ok(())
    }

    unsafe fn elapsed(&self, from: Handle, to: Handle) -> Result<Duration> {
        let events = self.events.lock();
        match (events.1.get(&from.0), events.1.get(&to.0)) {
            (Some(from), Some(to)) => Ok(to.saturating_duration_since(*from)),
            _ => Err(Error::Driver { call: "elapsed", code: "an event was not recorded".into() }),
        }
    }

    unsafe fn copy_to_device(&self, to: u64, from: *const u8, bytes: usize, _on: Handle) -> Result<()> {
        // SAFETY: see above.
        unsafe { std::ptr::copy_nonoverlapping(from, to as *mut u8, bytes) };
        Ok(())
    }

    unsafe fn copy_to_host(&self, to: *mut u8, from: u64, bytes: usize, _on: Handle) -> Result<()> {
        // SAFETY: see above.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to, bytes) };
        Ok(())
    }

    unsafe fn copy_on_device(&self, to: u64, from: u64, bytes: usize, _on: Handle) -> Result<()> {
        // SAFETY: see above; the two may be the same buffer.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
        Ok(())
    }

    unsafe fn fill(&self, address: u64, value: u8, bytes: usize, _on: Handle) -> Result<()> {
        // SAFETY: see above.
        unsafe { std::ptr::write_bytes(address as *mut u8, value, bytes) };
        Ok(())
    }

    fn compiler(&self) -> Result<String> {
        Ok(format!("{} {}", self.compiler.identity, self.runtime.identity()))
    }

    fn compile(&self, source: &Source, options: &CompileOptions) -> Result<Vec<u8>> {
        self.compiler.compile(source, options, &self.emulation, &self.runtime)
    }

    fn has_quick_compiler(&self) -> bool {
        self.emulation.quick
    }

    fn load(&self, image: &[u8]) -> Result<Handle> {
        let loaded = LoadedModule::open(image)?;
        let mut modules = self.modules.lock();
        modules.0 += 1;
        let number = modules.0;
        modules.1.insert(number, loaded);
        Ok(Handle(number))
    }

    unsafe fn unload(&self, module: Handle) -> Result<()> {
        self.modules.lock().1.remove(&module.0);
        Ok(())
    }

    unsafe fn function(&self, module: Handle, name: &str) -> Result<Handle> {
        let modules = self.modules.lock();
        let kernel = modules.1.get(&module.0).and_then(|loaded| loaded.kernel(name));
        let kernel = kernel.ok_or_else(|| Error::NoSuchFunction { name: name.to_string() })?;
        let mut kernels = self.kernels.lock();
        kernels.push(kernel);
        Ok(Handle(kernels.len() - 1))
    }

    unsafe fn function_usage(&self, _function: Handle) -> Result<FunctionUsage> {
        Ok(FunctionUsage { max_threads: 1024, ..FunctionUsage::default() })
    }

    unsafe fn allow_dynamic_shared(&self, _function: Handle, bytes: u32) -> Result<()> {
        let limit = self.properties.shared_memory_per_block;
        if bytes > limit {
            let code = format!("{bytes} bytes of shared memory, and a block has at most {limit}");
            return Err(Error::Driver { call: "launch", code });
        }
        Ok(())
    }

    unsafe fn blocks_per_multiprocessor(&self, _function: Handle, threads: u32, _dynamic_shared: u32) -> Result<u32> {
        // At least two, so that blocks meet each other on a machine with one core too.
        Ok((1024 / threads.max(1)).clamp(2, 4))
    }

    unsafe fn launch(&self, function: Handle, grid: &Grid, arguments: &mut [*mut c_void], _on: Handle) -> Result<()> {
        let kernel = self.kernels.lock()[function.0].clone();
        // SAFETY: the arguments are what the kernel takes, by the contract of `Backend`.
        unsafe { self.runtime.launch(&kernel, grid, arguments, &self.emulation) }
    }
}
