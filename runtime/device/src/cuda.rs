//! NVIDIA GPUs by the CUDA driver, through cudarc's thin functions. The library is looked for when the device is
//! opened: cudarc panics where it is missing, so everything here comes after `probe`.

mod block_cache;
mod ipc_memory;
pub mod nvrtc;

use std::cell::Cell;
use std::ffi::CString;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUfunction_attribute as FunctionAttribute, CUresult};
use libc::c_void;
use parking_lot::Mutex;

use crate::backend::{Backend, Handle, Priority};
use crate::error::{Error, Result};
use crate::grid::{FunctionUsage, Grid};
use crate::ledger::UNIT;
use crate::properties::{Kind, Properties};
use crate::source::{CompileOptions, Source};
use block_cache::{Block, BlockCache};
use nvrtc::Nvrtc;

/// CUDA 12.0: the functions that cudarc binds exist from there on.
const OLDEST_DRIVER: u32 = 12000;

/// A driver that works, with at least one GPU.
pub struct DriverInfo {
    pub version: u32,
    names: Vec<String>,
}

impl DriverInfo {
    pub fn sentence(&self) -> String {
        let (major, minor) = (self.version / 1000, self.version % 1000 / 10);
        format!("{}, driver for CUDA {major}.{minor}", self.names.join(", "))
    }
}

/// Whether the driver can be used at all. No context is made.
pub fn probe() -> Result<DriverInfo> {
    // SAFETY: loads the driver's library, whose initialisers are NVIDIA's.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoDriver);
    }
    // An old driver lacks functions, and cudarc panics about each.
    let version = std::panic::catch_unwind(|| {
        let mut version = 0;
        // SAFETY: the function needs no initialised driver.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result().map(|()| version as u32)
    });
    let version = match version {
        Ok(Ok(version)) => version,
        Ok(Err(error)) => return Err(Error::DriverFailed { reason: code(error) }),
        Err(_) => return Err(Error::DriverFailed { reason: "libcuda lacks cuDriverGetVersion".into() }),
    };
    if version < OLDEST_DRIVER {
        return Err(Error::OldDriver { found: version, needed: OLDEST_DRIVER });
    }
    match result::init() {
        Ok(()) => {}
        Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => return Err(Error::NoGpu),
        Err(error) => return Err(Error::DriverFailed { reason: code(error) }),
    }
    let failed = |error| Error::DriverFailed { reason: code(error) };
    let count = result::device::get_count().map_err(failed)?;
    if count == 0 {
        return Err(Error::NoGpu);
    }
    let name = |ordinal| result::device::get(ordinal).and_then(result::device::get_name);
    let names = (0..count).map(|ordinal| name(ordinal).unwrap_or_else(code)).collect();
    Ok(DriverInfo { version, names })
}

fn code(error: DriverError) -> String {
    let text = |bytes: std::result::Result<&std::ffi::CStr, DriverError>| {
        bytes.map(|text| text.to_string_lossy().into_owned()).unwrap_or_else(|_| "an unknown error".into())
    };
    format!("{} ({})", text(error.error_name()), text(error.error_string()))
}

/// The error of a call. Some mean that the context is gone.
fn failed(call: &'static str) -> impl FnOnce(DriverError) -> Error {
    move |error| {
        let lost = matches!(
            error.0,
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
                | CUresult::CUDA_ERROR_LAUNCH_FAILED
                | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
                | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
                | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
                | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
                | CUresult::CUDA_ERROR_INVALID_PC
                | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
                | CUresult::CUDA_ERROR_ASSERT
                | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
                | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
        );
        let code = code(error);
        if lost { Error::Lost { call, code } } else { Error::Driver { call, code } }
    }
}

thread_local! {
    static CURRENT_CONTEXT: Cell<usize> = const { Cell::new(0) };
}

pub struct CudaBackend {
    device: sys::CUdevice,
    context: sys::CUcontext,
    pool: sys::CUmemoryPool,
    properties: Properties,
    /// Looked for when something is compiled: a process whose kernels are all cached needs none.
    nvrtc: Mutex<Option<Arc<Nvrtc>>>,
    block_cache: Mutex<BlockCache>,
    /// Bytes that the pool may have with what is kept.
    capacity: AtomicU64,
    /// Bytes that may be allocated before the driver is asked how large the pool is: that takes longer than an
    /// allocation.
    unasked: AtomicU64,
    /// Held while blocks of other streams are freed, which must not end meanwhile, and while a stream ends.
    streams: Mutex<()>,
}

/// Large blocks that were freed are kept up to one in so many of the bytes that there are.
const BLOCK_CACHE_DIVISOR: u64 = 8;

/// No allocation makes the pool grow by more than its size and this.
const MAX_POOL_GROWTH: u64 = 64 << 20;

// SAFETY: handles of the driver may be used from any thread that has made the context current, which each call here
// does.
unsafe impl Send for CudaBackend {}
// SAFETY: the driver's functions are thread-safe.
unsafe impl Sync for CudaBackend {}

impl CudaBackend {
    pub fn open(ordinal: usize) -> Result<CudaBackend> {
        let found = probe()?;
        if ordinal >= found.names.len() {
            return Err(Error::NoSuchGpu { ordinal, count: found.names.len() });
        }
        let device = result::device::get(ordinal as i32).map_err(failed("cuDeviceGet"))?;
        // SAFETY: the device comes from `get`, here and below.
        let attribute = |which| unsafe {
            result::device::get_attribute(device, which)
                .map(|value| value as u32)
                .map_err(failed("cuDeviceGetAttribute"))
        };
        let major = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        // SAFETY: as above.
        let memory = unsafe { result::device::total_mem(device) }.map_err(failed("cuDeviceTotalMem"))?;
        let properties = Properties {
            kind: Kind::Cuda,
            name: found.names[ordinal].clone(),
            architecture: format!("sm_{major}{minor}"),
            multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            threads_per_multiprocessor: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            shared_memory_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            memory_bytes: memory as u64,
            driver_version: found.version,
        };
        // SAFETY: as above. The context is released when the process ends: the driver may be gone before our
        // destructors run.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(failed("cuDevicePrimaryCtxRetain"))?;
        // SAFETY: the context was just retained.
        unsafe { result::ctx::set_current(context) }.map_err(failed("cuCtxSetCurrent"))?;
        let pool = create_pool(ordinal as i32)?;
        Ok(CudaBackend {
            device,
            context,
            pool,
            properties,
            nvrtc: Mutex::default(),
            block_cache: Mutex::default(),
            capacity: AtomicU64::new(0),
            unasked: AtomicU64::new(0),
            streams: Mutex::default(),
        })
    }

    /// # Safety
    /// Blocks of the pool that nobody has, whose streams do not end before this does.
    unsafe fn release(&self, blocks: &[Block]) -> Result<()> {
        // All of them, also where one fails.
        let mut done = Ok(());
        for block in blocks {
            // SAFETY: by the contract of this function.
            let freed = unsafe { result::free_async(block.address, stream(block.stream)) };
            done = done.and(freed.map_err(failed("cuMemFreeAsync")));
        }
        done
    }

    /// Whether something is kept with which the pool may have more than its capacity after an allocation of so many
    /// bytes.
    fn outgrows(&self, bytes: u64) -> Result<bool> {
        let most = bytes + MAX_POOL_GROWTH;
        let left = |left: u64| left.checked_sub(most);
        if self.unasked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok() {
            return Ok(false);
        }
        if self.block_cache.lock().bytes() == 0 {
            self.unasked.store(0, Ordering::Relaxed);
            return Ok(false);
        }
        let room = self.capacity.load(Ordering::Relaxed).saturating_sub(self.pool_bytes()?);
        self.unasked.store(room.saturating_sub(most), Ordering::Relaxed);
        Ok(bytes > room)
    }

    /// Makes the context the calling thread's.
    fn bind(&self) -> Result<()> {
        let context = self.context as usize;
        if CURRENT_CONTEXT.get() != context {
            // SAFETY: the context is never released.
            unsafe { result::ctx::set_current(self.context) }.map_err(failed("cuCtxSetCurrent"))?;
            CURRENT_CONTEXT.set(context);
        }
        Ok(())
    }

    fn nvrtc(&self) -> Result<Arc<Nvrtc>> {
        let mut nvrtc = self.nvrtc.lock();
        if let Some(nvrtc) = &*nvrtc {
            return Ok(Arc::clone(nvrtc));
        }
        let found = Arc::new(Nvrtc::find(self.properties.driver_version / 1000)?);
        *nvrtc = Some(Arc::clone(&found));
        Ok(found)
    }
}

/// Creates a separate memory pool that returns nothing to the driver by itself: the ledger decides.
fn create_pool(ordinal: i32) -> Result<sys::CUmemoryPool> {
    // SAFETY: all zeros is the documented state of the reserved fields, and the enumerations have a value 0 or are set.
    let mut properties: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
    properties.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.handleTypes = sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
    properties.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    properties.location.id = ordinal;
    // SAFETY: the properties are valid and outlive the call.
    let pool = unsafe { result::mem_pool::create(&properties) }.map_err(failed("cuMemPoolCreate"))?;
    let mut threshold = u64::MAX;
    // SAFETY: the attribute is 64 bits.
    unsafe {
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        result::mem_pool::set_attribute(pool, attribute, (&raw mut threshold).cast())
    }
    .map_err(failed("cuMemPoolSetAttribute"))?;
    Ok(pool)
}

fn stream(handle: Handle) -> sys::CUstream {
    handle.0 as sys::CUstream
}

fn event(handle: Handle) -> sys::CUevent {
    handle.0 as sys::CUevent
}

fn module(handle: Handle) -> sys::CUmodule {
    handle.0 as sys::CUmodule
}

fn function(handle: Handle) -> sys::CUfunction {
    handle.0 as sys::CUfunction
}

// SAFETY of the blocks below: the handles, addresses and lengths are good by the contract of `Backend`, and `bind` has
// made the context current.
impl Backend for CudaBackend {
    fn properties(&self) -> &Properties {
        &self.properties
    }

    fn memory(&self) -> Result<(u64, u64)> {
        self.bind()?;
        let (free, total) = result::mem_get_info().map_err(failed("cuMemGetInfo"))?;
        Ok((free as u64, total as u64))
    }

    fn pool_bytes(&self) -> Result<u64> {
        let mut bytes = 0u64;
        // SAFETY: the pool lives as long as `self`, and the attribute is 64 bits.
        unsafe {
            let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
            result::mem_pool::get_attribute(self.pool, attribute, (&raw mut bytes).cast())
        }
        .map_err(failed("cuMemPoolGetAttribute"))?;
        Ok(bytes)
    }

    fn set_cache_capacity(&self, capacity: u64) {
        self.capacity.store(capacity, Ordering::Relaxed);
        self.unasked.store(0, Ordering::Relaxed);
        self.block_cache.lock().set_limit(capacity / BLOCK_CACHE_DIVISOR);
    }

    fn release_cached(&self) -> Result<()> {
        self.bind()?;
        let _streams = self.streams.lock();
        let blocks = self.block_cache.lock().drain(None);
        // SAFETY: a stream takes its blocks along when it ends, and none does now.
        unsafe { self.release(&blocks) }
    }

    fn trim_pool(&self, keep: u64) -> Result<()> {
        self.bind()?;
        // SAFETY: the pool lives as long as `self`.
        unsafe { result::mem_pool::trim_to(self.pool, keep as usize) }.map_err(failed("cuMemPoolTrimTo"))
    }

    unsafe fn allocate(&self, bytes: u64, on: Handle) -> Result<u64> {
        // The driver looks at the size that was asked for when it copies.
        let bytes = bytes.next_multiple_of(UNIT);
        if let Some(address) = self.block_cache.lock().take(bytes, on) {
            return Ok(address);
        }
        self.bind()?;
        // Cached blocks must not take the place of other allocations if memory is short.
        if self.outgrows(bytes)? {
            self.release_cached()?;
        }
        // SAFETY: see above.
        match unsafe { result::mem_pool::alloc_async(self.pool, bytes as usize, stream(on)) } {
            Ok(address) => Ok(address),
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                let (free, total) = self.memory()?;
                Err(Error::DriverOutOfMemory { requested: bytes, free, total })
            }
            Err(error) => Err(failed("cuMemAllocFromPoolAsync")(error)),
        }
    }

    unsafe fn free(&self, address: u64, bytes: u64, on: Handle) -> Result<()> {
        self.bind()?;
        let _streams = self.streams.lock();
        let rest = self.block_cache.lock().put(address, bytes, on);
        // SAFETY: see above.
        unsafe { self.release(&rest) }
    }

    fn export(&self, bytes: u64) -> Result<(u64, OwnedFd)> {
        self.export_mapped(bytes)
    }

    fn import(&self, memory: BorrowedFd<'_>, bytes: u64) -> Result<u64> {
        self.import_mapped(memory, bytes)
    }

    unsafe fn protect(&self, address: u64, bytes: u64) -> Result<()> {
        self.protect_mapped(address, bytes)
    }

    unsafe fn unmap(&self, address: u64, bytes: u64) -> Result<()> {
        // SAFETY: see above.
        unsafe { self.unmap_mapped(address, bytes) }
    }

    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8> {
        self.bind()?;
        // SAFETY: the memory is uninitialised and typed as bytes. Not write-combined: it is read, too.
        match unsafe { result::malloc_host(bytes, 0) } {
            Ok(address) => Ok(address.cast()),
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                Err(Error::OutOfHostMemory { requested: bytes as u64 })
            }
            Err(error) => Err(failed("cuMemHostAlloc")(error)),
        }
    }

    unsafe fn free_pinned(&self, address: *mut u8, _bytes: usize) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { result::free_host(address.cast()) }.map_err(failed("cuMemFreeHost"))
    }

    unsafe fn lock_pages(&self, address: *mut u8, bytes: usize) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { sys::cuMemHostRegister_v2(address.cast(), bytes, 0) }.result().map_err(failed("cuMemHostRegister"))
    }

    unsafe fn unlock_pages(&self, address: *mut u8) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { sys::cuMemHostUnregister(address.cast()) }.result().map_err(failed("cuMemHostUnregister"))
    }

    fn map_pinned(&self, _address: *mut u8, _bytes: usize) {}

    fn create_stream(&self, priority: Priority) -> Result<Handle> {
        self.bind()?;
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are integers of ours.
        unsafe { sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) }
            .result()
            .map_err(failed("cuCtxGetStreamPriorityRange"))?;
        let level = if priority == Priority::High { greatest } else { least };
        let mut created = std::ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the handle has room.
        unsafe { sys::cuStreamCreateWithPriority(&mut created, flags, level) }
            .result()
            .map_err(failed("cuStreamCreateWithPriority"))?;
        Ok(Handle(created as usize))
    }

    unsafe fn destroy_stream(&self, on: Handle) -> Result<()> {
        self.bind()?;
        let _streams = self.streams.lock();
        let blocks = self.block_cache.lock().drain(Some(on));
        // SAFETY: see above.
        unsafe { self.release(&blocks)? };
        // SAFETY: see above.
        unsafe { result::stream::destroy(stream(on)) }.map_err(failed("cuStreamDestroy"))
    }

    unsafe fn synchronize_stream(&self, on: Handle) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { result::stream::synchronize(stream(on)) }.map_err(failed("cuStreamSynchronize"))
    }

    fn create_event(&self) -> Result<Handle> {
        self.bind()?;
        let created = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT);
        Ok(Handle(created.map_err(failed("cuEventCreate"))? as usize))
    }

    unsafe fn destroy_event(&self, which: Handle) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { result::event::destroy(event(which)) }.map_err(failed("cuEventDestroy"))
    }

    unsafe fn record(&self, which: Handle, on: Handle) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { result::event::record(event(which), stream(on)) }.map_err(failed("cuEventRecord"))
    }

    unsafe fn wait(&self, on: Handle, which: Handle) -> Result<()> {
        self.bind()?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: see above.
        unsafe { result::stream::wait_event(stream(on), event(which), flags) }.map_err(failed("cuStreamWaitEvent"))
    }

    unsafe fn is_done(&self, which: Handle) -> Result<bool> {
        self.bind()?;
        // SAFETY: see above.
        match unsafe { result::event::query(event(which)) } {
            Ok(()) => Ok(true),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_READY)) => Ok(false),
            Err(error) => Err(failed("cuEventQuery")(error)),
        }
    }

    unsafe fn synchronize_event(&self, which: Handle) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { result::event::synchronize(event(which)) }.map_err(failed("cuEventSynchronize"))
    }

    unsafe fn elapsed(&self, from: Handle, to: Handle) -> Result<Duration> {
        self.bind()?;
        // SAFETY: see above.
        let milliseconds =
            unsafe { result::event::elapsed(event(from), event(to)) }.map_err(failed("cuEventElapsedTime"))?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds).max(0.0) / 1e3))
    }

    unsafe fn copy_to_device(&self, to: u64, from: *const u8, bytes: usize, on: Handle) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { sys::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, stream(on)) }
            .result()
            .map_err(failed("cuMemcpyHtoDAsync"))
    }

    unsafe fn copy_to_host(&self, to: *mut u8, from: u64, bytes: usize, on: Handle) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { sys::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, stream(on)) }
            .result()
            .map_err(failed("cuMemcpyDtoHAsync"))
    }

    unsafe fn copy_on_device(&self, to: u64, from: u64, bytes: usize, on: Handle) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { result::memcpy_dtod_async(to, from, bytes, stream(on)) }.map_err(failed("cuMemcpyDtoDAsync"))
    }

    unsafe fn fill(&self, address: u64, value: u8, bytes: usize, on: Handle) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { result::memset_d8_async(address, value, bytes, stream(on)) }.map_err(failed("cuMemsetD8Async"))
    }

    fn compiler(&self) -> Result<String> {
        Ok(self.nvrtc()?.identity())
    }

    fn compile(&self, source: &Source, options: &CompileOptions) -> Result<Vec<u8>> {
        self.nvrtc()?.compile(source, options, &self.properties.architecture)
    }

    fn has_quick_compiler(&self) -> bool {
        self.nvrtc().is_ok_and(|nvrtc| nvrtc.has_quick_mode())
    }

    fn load(&self, image: &[u8]) -> Result<Handle> {
        self.bind()?;
        // SAFETY: the driver reads the length from the ELF header of the cubin, and copies it.
        let loaded = unsafe { result::module::load_data(image.as_ptr().cast()) };
        Ok(Handle(loaded.map_err(failed("cuModuleLoadData"))? as usize))
    }

    unsafe fn unload(&self, which: Handle) -> Result<()> {
        self.bind()?;
        // SAFETY: see above.
        unsafe { result::module::unload(module(which)) }.map_err(failed("cuModuleUnload"))
    }

    unsafe fn function(&self, which: Handle, name: &str) -> Result<Handle> {
        self.bind()?;
        let no_such = || Error::NoSuchFunction { name: name.to_string() };
        let symbol = CString::new(name).map_err(|_| no_such())?;
        // SAFETY: see above.
        match unsafe { result::module::get_function(module(which), symbol) } {
            Ok(function) => Ok(Handle(function as usize)),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_FOUND)) => Err(no_such()),
            Err(error) => Err(failed("cuModuleGetFunction")(error)),
        }
    }

    unsafe fn function_usage(&self, which: Handle) -> Result<FunctionUsage> {
        self.bind()?;
        let attribute = |attribute| {
            // SAFETY: see above.
            let value = unsafe { result::function::get_function_attribute(function(which), attribute) };
            value.map(|value| value as u32).map_err(failed("cuFuncGetAttribute"))
        };
        Ok(FunctionUsage {
            registers: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            static_shared: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            local: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)?,
            max_threads: attribute(FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        })
    }

    unsafe fn allow_dynamic_shared(&self, which: Handle, bytes: u32) -> Result<()> {
        self.bind()?;
        let attribute = FunctionAttribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: see above.
        unsafe { result::function::set_function_attribute(function(which), attribute, bytes as i32) }
            .map_err(failed("cuFuncSetAttribute"))
    }

    unsafe fn blocks_per_multiprocessor(&self, which: Handle, threads: u32, dynamic_shared: u32) -> Result<u32> {
        self.bind()?;
        // SAFETY: see above.
        let blocks = unsafe {
            let (threads, shared) = (threads as i32, dynamic_shared as usize);
            result::occupancy::max_active_block_per_multiprocessor(function(which), threads, shared)
        };
        Ok(blocks.map_err(failed("cuOccupancyMaxActiveBlocksPerMultiprocessor"))? as u32)
    }

    unsafe fn launch(&self, which: Handle, grid: &Grid, arguments: &mut [*mut c_void], on: Handle) -> Result<()> {
        self.bind()?;
        let (blocks, threads) = (grid.blocks.into(), grid.threads.into());
        // SAFETY: see above; the arguments are copied before the call returns.
        unsafe { result::launch_kernel(function(which), blocks, threads, grid.dynamic_shared, stream(on), arguments) }
            .map_err(failed("cuLaunchKernel"))
    }
}

impl Drop for CudaBackend {
    fn drop(&mut self) {
        if self.bind().is_ok() {
            // SAFETY: no buffer is left: they hold the device. Nobody is left to tell of a failure.
            unsafe {
                let _ = result::mem_pool::destroy(self.pool);
                let _ = result::ctx::set_current(std::ptr::null_mut());
                let _ = result::primary_ctx::release(self.device);
            }
            CURRENT_CONTEXT.set(0);
        }
    }
}
