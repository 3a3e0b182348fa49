//! The calls that led to a panic or to a raise. They are noted as addresses, which takes microseconds; the kernel
//! process looks up what stands there, and only if the cell ends over it.

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::Mutex;

use onrush_wire::host::Address;

/// A deeper recursion keeps its innermost calls.
const DEEPEST: usize = 2000;

static CALLS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

thread_local! {
    /// The panic or raise that comes next has its calls already, or needs none.
    static ARE_KEPT: Cell<bool> = const { Cell::new(false) };
}

/// Has the panic or raise that comes next leave what was noted before.
pub fn leave() {
    let _ = ARE_KEPT.try_with(|kept| kept.set(true));
}

/// Notes down the calls of a panic that begins to unwind, unless [`keep`] has done so for this panic or the one passed
/// on.
pub fn keep_of_unwinding() {
    if !ARE_KEPT.try_with(|kept| kept.replace(false)).unwrap_or(true) && !super::error::is_panic_known() {
        keep();
        let _ = ARE_KEPT.try_with(|kept| kept.set(false));
    }
}

/// Notes down the calls of this thread, in place of what was noted before.
pub fn keep() {
    leave();
    let mut addresses = [std::ptr::null_mut::<c_void>(); DEEPEST];
    // SAFETY: there is room for as many addresses as are asked for.
    let count = unsafe { libc::backtrace(addresses.as_mut_ptr(), DEEPEST as i32) };
    let found = &addresses[..usize::try_from(count).unwrap_or(0).min(DEEPEST)];
    // The address that is found is behind the call: one less is in it.
    let mut kept: Vec<usize> = found.iter().map(|address| (*address as usize).saturating_sub(1)).collect();
    // A function that calls itself does so from one place.
    kept.dedup();
    *lock() = kept;
}

/// The calls that were noted down last, the innermost first, as places in shared objects.
pub fn take() -> Vec<Address> {
    let addresses = std::mem::take(&mut *lock());
    addresses.into_iter().filter_map(locate).collect()
}

fn lock() -> std::sync::MutexGuard<'static, Vec<usize>> {
    CALLS.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn locate(address: usize) -> Option<Address> {
    // SAFETY: zeros are a valid value of this struct of pointers.
    let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: any address may be asked for.
    if unsafe { libc::dladdr(address as *const c_void, &mut found) } == 0 || found.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the loader's own text; no library is ever unloaded.
    let library = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy().into_owned();
    Some(Address { library, offset: (address - found.dli_fbase as usize) as u64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_function_is_among_its_calls() {
        keep();
        let calls = take();
        let own = locate(this_function_is_among_its_calls as *const () as usize).unwrap();
        assert!(calls.iter().any(|call| call.library == own.library && call.offset.abs_diff(own.offset) < 4096));
        assert!(take().is_empty());
    }
}
