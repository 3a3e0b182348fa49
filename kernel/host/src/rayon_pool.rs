//! Rayon's pool in a snapshot: a fork copies the static that knows the pool, and none of its threads. Work given to it
//! would wait for ever.
//!
//! `rayon-core` is a separate library. Its statics are copied when it is loaded, before any code ran. A snapshot that
//! takes over puts the copy back, and the next parallel iterator starts a new pool. Pools that a cell's variables hold
//! stay dead.

use std::ffi::CStr;
use std::sync::Mutex;

use libc::{c_int, c_void, dl_phdr_info, size_t};

/// Libraries whose statics know threads, by the start of their file names.
const WITH_THREADS: [&str; 1] = ["librayon_core-"];

/// The statics of one library as they were when it had just been loaded.
struct Statics {
    address: usize,
    bytes: Vec<u8>,
}

static COPIES: Mutex<Vec<Statics>> = Mutex::new(Vec::new());

/// Called after each load, before the cell's code runs.
pub fn remember() {
    let Ok(mut copies) = COPIES.lock() else { return };
    // SAFETY: `each` matches the signature, and the vector outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut *copies).cast()) };
}

/// Called in a snapshot that takes over, which has one thread.
pub fn forget() {
    let Ok(copies) = COPIES.lock() else { return };
    for copy in copies.iter() {
        // SAFETY: the library is never unloaded, the range is its own and writable, and no other thread can look at it.
        unsafe { std::ptr::copy_nonoverlapping(copy.bytes.as_ptr(), copy.address as *mut u8, copy.bytes.len()) };
    }
}

extern "C" fn each(info: *mut dl_phdr_info, _: size_t, copies: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid description, and `copies` is what `remember` gave.
    let (info, copies) = unsafe { (&*info, &mut *copies.cast::<Vec<Statics>>()) };
    if info.dlpi_name.is_null() {
        return 0;
    }
    // SAFETY: the loader's name ends with a zero.
    let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_string_lossy();
    let file = name.rsplit('/').next().unwrap_or(&name);
    if !WITH_THREADS.iter().any(|start| file.starts_with(start)) {
        return 0;
    }
    // SAFETY: the loader gives that many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum as usize) };
    let base = info.dlpi_addr as usize;
    // SAFETY: plain system call.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    // The loader made this part read-only, up to the last whole page.
    let sealed = headers.iter().find(|h| h.p_type == libc::PT_GNU_RELRO);
    let sealed = sealed.map(|h| {
        let start = base + h.p_vaddr as usize;
        start..(start + h.p_memsz as usize) / page * page
    });
    for header in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W != 0) {
        let (mut start, end) = (base + header.p_vaddr as usize, base + (header.p_vaddr + header.p_memsz) as usize);
        if let Some(sealed) = sealed.as_ref().filter(|sealed| sealed.start < end && sealed.end > start) {
            start = sealed.end;
        }
        if start >= end || copies.iter().any(|copy| copy.address == start) {
            continue;
        }
        // SAFETY: a loaded segment of the library, readable and not in use yet.
        let bytes = unsafe { std::slice::from_raw_parts(start as *const u8, end - start) }.to_vec();
        copies.push(Statics { address: start, bytes });
    }
    0
}
