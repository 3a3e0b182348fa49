//! Memory that another process can have too: the driver's virtual memory, exported as a descriptor.
//!
//! A mapping and a descriptor each keep the memory: it outlives the process that made it, and what that process died
//! of.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use cudarc::driver::DriverError;
use cudarc::driver::sys::{self, CUmemAccess_flags, CUresult};
use libc::c_void;

use super::{CudaBackend, failed};
use crate::error::{Error, Result};

const DESCRIPTOR: sys::CUmemAllocationHandleType =
    sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

impl CudaBackend {
    fn location(&self) -> sys::CUmemLocation {
        // SAFETY: all zeros is a value of each field.
        let mut location: sys::CUmemLocation = unsafe { std::mem::zeroed() };
        location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        location.id = self.device;
        location
    }

    fn kind(&self) -> sys::CUmemAllocationProp {
        // SAFETY: all zeros is the documented state of what is not set here.
        let mut kind: sys::CUmemAllocationProp = unsafe { std::mem::zeroed() };
        kind.type_ = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        kind.requestedHandleTypes = DESCRIPTOR;
        kind.location = self.location();
        kind
    }

    /// The bytes of a mapping: whole pages of the GPU, which are 2 MB.
    fn pages(&self, bytes: u64) -> Result<usize> {
        let mut page = 0usize;
        let least = sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM;
        // SAFETY: both are valid and outlive the call.
        unsafe { sys::cuMemGetAllocationGranularity(&mut page, &self.kind(), least) }
            .result()
            .map_err(failed("cuMemGetAllocationGranularity"))?;
        Ok((bytes.max(1) as usize).next_multiple_of(page.max(1)))
    }

    pub(super) fn export_mapped(&self, bytes: u64) -> Result<(u64, OwnedFd)> {
        self.bind()?;
        let length = self.pages(bytes)?;
        let mut memory = 0;
        // SAFETY: the handle has room, and the properties outlive the call.
        match unsafe { sys::cuMemCreate(&mut memory, length, &self.kind(), 0) }.result() {
            Ok(()) => {}
            Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                let (free, total) = crate::backend::Backend::memory(self)?;
                return Err(Error::DriverOutOfMemory { requested: length as u64, free, total });
            }
            Err(error) => return Err(failed("cuMemCreate")(error)),
        }
        let exported = self.descriptor(memory);
        let mapped = exported.and_then(|descriptor| {
            Ok((self.map(memory, length, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE)?, descriptor))
        });
        // SAFETY: created above; mapping and descriptor keep the memory on their own.
        unsafe { sys::cuMemRelease(memory) }.result().map_err(failed("cuMemRelease"))?;
        mapped
    }

    fn descriptor(&self, memory: sys::CUmemGenericAllocationHandle) -> Result<OwnedFd> {
        let mut descriptor = -1i32;
        // SAFETY: the memory is alive, and a descriptor is an `int`.
        unsafe { sys::cuMemExportToShareableHandle((&raw mut descriptor).cast::<c_void>(), memory, DESCRIPTOR, 0) }
            .result()
            .map_err(failed("cuMemExportToShareableHandle"))?;
        // SAFETY: the driver has just opened it for us.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
    }

    pub(super) fn import_mapped(&self, memory: BorrowedFd<'_>, bytes: u64) -> Result<u64> {
        self.bind()?;
        let length = self.pages(bytes)?;
        let mut imported = 0;
        let descriptor = memory.as_raw_fd() as usize as *mut c_void;
        // SAFETY: the descriptor is open; the driver refuses one that is not its own.
        unsafe { sys::cuMemImportFromShareableHandle(&mut imported, descriptor, DESCRIPTOR) }
            .result()
            .map_err(failed("cuMemImportFromShareableHandle"))?;
        let mapped = self.map(imported, length, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ);
        // SAFETY: imported above; the mapping keeps the memory.
        unsafe { sys::cuMemRelease(imported) }.result().map_err(failed("cuMemRelease"))?;
        mapped
    }

    fn map(&self, memory: sys::CUmemGenericAllocationHandle, length: usize, access: CUmemAccess_flags) -> Result<u64> {
        let mut address = 0;
        // SAFETY: the address has room.
        unsafe { sys::cuMemAddressReserve(&mut address, length, 0, 0, 0) }
            .result()
            .map_err(failed("cuMemAddressReserve"))?;
        // SAFETY: the range was just reserved, and the memory has that length.
        let mapped = unsafe { sys::cuMemMap(address, length, 0, memory, 0) }
            .result()
            .map_err(failed("cuMemMap"))
            .and_then(|()| {
                self.allow(address, length, access).inspect_err(|_| {
                    // SAFETY: mapped just now. The first error is the one to tell.
                    let _ = unsafe { sys::cuMemUnmap(address, length) };
                })
            });
        if mapped.is_err() {
            // SAFETY: reserved above, and nothing is mapped there.
            let _ = unsafe { sys::cuMemAddressFree(address, length) };
        }
        mapped.map(|()| address)
    }

    fn allow(&self, address: u64, length: usize, access: CUmemAccess_flags) -> Result<()> {
        let allowed = sys::CUmemAccessDesc { location: self.location(), flags: access };
        // SAFETY: the range is mapped, and the description outlives the call.
        unsafe { sys::cuMemSetAccess(address, length, &allowed, 1) }.result().map_err(failed("cuMemSetAccess"))
    }

    pub(super) fn protect_mapped(&self, address: u64, bytes: u64) -> Result<()> {
        self.bind()?;
        self.allow(address, self.pages(bytes)?, CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ)
    }

    /// # Safety
    /// Mapped here with this size, and nothing uses it any more.
    pub(super) unsafe fn unmap_mapped(&self, address: u64, bytes: u64) -> Result<()> {
        self.bind()?;
        let length = self.pages(bytes)?;
        // SAFETY: by the contract of this function.
        unsafe {
            sys::cuMemUnmap(address, length).result().map_err(failed("cuMemUnmap"))?;
            sys::cuMemAddressFree(address, length).result().map_err(failed("cuMemAddressFree"))
        }
    }
}
