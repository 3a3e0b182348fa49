//! Compiled code on a device, its kernels, and their launch.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::backend::Handle;
use crate::buffer::{Buffer, Pod};
use crate::device::{Device, Stream};
use crate::error::Result;
use crate::grid::{FunctionUsage, Grid};
use crate::phases::{self, Phase};

/// Loaded code. Clones are the same module.
#[derive(Clone)]
pub struct Module {
    inner: Arc<ModuleInner>,
}

struct ModuleInner {
    device: Device,
    handle: Handle,
}

impl Module {
    fn load(device: &Device, image: &[u8]) -> Result<Module> {
        let handle = device.backend().load(image)?;
        Ok(Module { inner: Arc::new(ModuleInner { device: device.clone(), handle }) })
    }

    pub fn function(&self, name: &str) -> Result<Function> {
        // SAFETY: the module is alive.
        let handle = unsafe { self.inner.device.backend().function(self.inner.handle, name)? };
        Ok(Function {
            module: self.clone(),
            handle,
            dynamic_shared: Arc::new(AtomicU32::new(48 << 10)),
            occupancy: Arc::default(),
        })
    }
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        // SAFETY: no function of it is left: they hold the module.
        let done = unsafe { self.device.backend().unload(self.handle) };
        self.device.defer(done);
    }
}

impl Device {
    pub fn load(&self, image: &[u8]) -> Result<Module> {
        self.check()?;
        Module::load(self, image)
    }
}

/// A kernel of a module.
#[derive(Clone)]
pub struct Function {
    module: Module,
    handle: Handle,
    /// Dynamic shared memory that the driver was told to allow.
    dynamic_shared: Arc<AtomicU32>,
    /// Blocks by threads and dynamic shared memory: the driver takes a few microseconds to say it.
    occupancy: Arc<Mutex<HashMap<(u32, u32), u32>>>,
}

impl Function {
    pub fn device(&self) -> &Device {
        &self.module.inner.device
    }

    pub fn usage(&self) -> Result<FunctionUsage> {
        // SAFETY: the module is alive.
        unsafe { self.device().backend().function_usage(self.handle) }
    }

    /// Blocks of this size that one multiprocessor holds at a time.
    pub fn blocks_per_multiprocessor(&self, threads: u32, dynamic_shared: u32) -> Result<u32> {
        let known = || self.occupancy.lock();
        if let Some(blocks) = known().get(&(threads, dynamic_shared)) {
            return Ok(*blocks);
        }
        self.allow(dynamic_shared)?;
        // SAFETY: the module is alive.
        let blocks =
            unsafe { self.device().backend().blocks_per_multiprocessor(self.handle, threads, dynamic_shared) }?;
        known().insert((threads, dynamic_shared), blocks);
        Ok(blocks)
    }

    /// Blocks that fill the device once: the grid of a kernel that loops over its input.
    pub fn resident_blocks(&self, threads: u32, dynamic_shared: u32) -> Result<u32> {
        let each = self.blocks_per_multiprocessor(threads, dynamic_shared)?.max(1);
        Ok(each * self.device().properties().multiprocessors)
    }

    /// Gives the kernel to the stream. A grid without blocks does nothing.
    ///
    /// # Safety
    /// The arguments match the kernel's parameters in number, size and meaning. The buffers among them live until the
    /// stream has passed the kernel, and are as long as the kernel expects. A dropped buffer is freed in its own
    /// stream's order.
    pub unsafe fn launch(&self, grid: &Grid, mut arguments: Arguments, stream: &Stream) -> Result<()> {
        self.device().check()?;
        if grid.blocks.contains(&0) {
            return Ok(());
        }
        let _time = phases::scope(Phase::Device);
        self.allow(grid.dynamic_shared)?;
        let mut addresses = arguments.addresses();
        // SAFETY: as the caller argues; the driver copies the values before it returns.
        unsafe { self.device().backend().launch(self.handle, grid, &mut addresses, stream.handle()) }
    }

    fn allow(&self, dynamic_shared: u32) -> Result<()> {
        if dynamic_shared <= self.dynamic_shared.load(Ordering::Relaxed) {
            return Ok(());
        }
        // SAFETY: the module is alive.
        unsafe { self.device().backend().allow_dynamic_shared(self.handle, dynamic_shared)? };
        self.dynamic_shared.store(dynamic_shared, Ordering::Relaxed);
        Ok(())
    }
}

/// The values of a kernel's parameters, in order.
#[derive(Clone, Default)]
pub struct Arguments {
    /// In units that are aligned for any parameter.
    values: Vec<u128>,
    starts: Vec<usize>,
}

impl Arguments {
    pub fn new() -> Self {
        Arguments::default()
    }

    #[must_use]
    pub fn buffer(self, buffer: &Buffer) -> Self {
        self.value(buffer.address())
    }

    /// The address of a buffer, or a null pointer.
    #[must_use]
    pub fn optional(self, buffer: Option<&Buffer>) -> Self {
        self.value(buffer.map_or(0, Buffer::address))
    }

    /// A parameter of the same size and layout.
    #[must_use]
    pub fn value<T: Pod>(mut self, value: T) -> Self {
        let start = self.values.len();
        self.starts.push(start);
        self.values.resize(start + size_of::<T>().div_ceil(16).max(1), 0);
        // SAFETY: there is room for a `T` from `start` on, aligned for it up to 16 bytes and written without regard to
        // alignment.
        unsafe { self.values.as_mut_ptr().add(start).cast::<T>().write_unaligned(value) };
        self
    }

    pub fn len(&self) -> usize {
        self.starts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Another value of the same size.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn set<T: Pod>(&mut self, index: usize, value: T) {
        let start = self.starts[index];
        // SAFETY: as in `value`: there was room for one of this size.
        unsafe { self.values.as_mut_ptr().add(start).cast::<T>().write_unaligned(value) };
    }

    /// The arguments of another list behind these.
    #[must_use]
    pub fn then(mut self, others: &Arguments) -> Self {
        let by = self.values.len();
        self.values.extend_from_slice(&others.values);
        self.starts.extend(others.starts.iter().map(|start| start + by));
        self
    }

    fn addresses(&mut self) -> Vec<*mut libc::c_void> {
        let base = self.values.as_mut_ptr();
        // SAFETY: each start is inside of `values`.
        self.starts.iter().map(|start| unsafe { base.add(*start) }.cast()).collect()
    }
}
