//! The C library's own functions, where this executable's of the same name come first in the loader's search.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use libc::c_void;

/// A function that is looked up once.
pub struct Next {
    name: &'static CStr,
    address: AtomicUsize,
}

impl Next {
    pub const fn new(name: &'static CStr) -> Next {
        Next { name, address: AtomicUsize::new(0) }
    }

    /// The address of the function. Ends the process if there is none: the C library has all of those that are asked
    /// for.
    pub fn address(&self) -> *const c_void {
        let mut address = self.address.load(Ordering::Relaxed);
        if address == 0 {
            // SAFETY: the name ends with a zero.
            address = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
            if address == 0 {
                super::stdio::exit(4);
            }
            self.address.store(address, Ordering::Relaxed);
        }
        address as *const c_void
    }
}
