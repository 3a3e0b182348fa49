//! Calls of a function of a cell from other processes: arguments and values as bytes, and the place of the function.

use std::ffi::CStr;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use libc::{c_int, c_void, dl_phdr_info, size_t};
use onrush_wire::Diagnostic;
use onrush_wire::cell_function::{CallResult, CellFunction, FunctionEntry};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A function that takes an argument as bytes and gives its value as bytes.
pub type CallEntry = fn(&[u8]) -> CallResult;

/// Calls `F`, a function or a closure without captures, with an argument in postcard.
pub fn call_entry<F: Fn(A) -> R + Copy, A: DeserializeOwned, R: Serialize>(argument: &[u8]) -> CallResult {
    let argument = postcard::from_bytes::<A>(argument).map_err(|e| format!("the argument cannot be read: {e}"))?;
    if size_of::<F>() != 0 {
        return Err("the function captures variables".to_string());
    }
    // SAFETY: a value of a type without bytes has no content that could be wrong. One was there in the cell, and the
    // type may be copied.
    let function: F = unsafe { std::ptr::NonNull::<F>::dangling().read() };
    // The process goes on after a panic, and the function sees nothing of the call before.
    let value = catch_unwind(AssertUnwindSafe(|| postcard::to_stdvec(&function(argument))));
    match value {
        Ok(value) => value.map_err(|e| format!("the value cannot be sent: {e}")),
        Err(payload) => Err(message_of(&*payload)),
    }
}

fn message_of(payload: &(dyn std::any::Any + Send)) -> String {
    match payload.downcast_ref::<Diagnostic>() {
        Some(diagnostic) => diagnostic.message.clone(),
        None => super::payload_text(payload).unwrap_or_else(|| "a panic without a message".to_string()),
    }
}

/// The function for other processes.
///
/// # Errors
/// Why it cannot be found, as a reason.
pub(crate) fn function_at(entry: CallEntry, name: String) -> Result<CellFunction, String> {
    let objects = objects();
    let address = entry as *const c_void;
    // SAFETY: an all-zero structure of pointers is valid, and the call fills it.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `info` outlives the call.
    if unsafe { libc::dladdr(address, &mut info) } == 0 || info.dli_fname.is_null() {
        return Err("it is in no shared object".to_string());
    }
    // SAFETY: the loader's names end with a zero and live as long as the object, which is never unloaded.
    let object = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned();
    let Some(number) = objects.iter().position(|path| *path == object) else {
        return Err(format!("`{object}` is not a compiled cell"));
    };
    let offset = (address.addr() - info.dli_fbase.addr()) as u64;
    let host = fs::read_link("/proc/self/exe").map_err(|e| e.to_string())?.to_string_lossy().into_owned();
    let prelude = all_objects().into_iter().find(|path| is_named(path, "libonrush"));
    Ok(CellFunction {
        name,
        host,
        prelude: prelude.ok_or("the prelude is not loaded")?,
        folders: loader_folders(),
        objects,
        entry: FunctionEntry { object: number as u32, offset },
    })
}

/// Whether a path is that of a library of this name, with or without a hash.
fn is_named(path: &str, name: &str) -> bool {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.strip_prefix(name).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('-'))
}

/// Compiled cells and their crates. Libraries of the system, of Rust and of Onrush are on every machine.
fn objects() -> Vec<String> {
    let elsewhere = |path: &String| {
        let system = ["/lib/", "/lib64/", "/usr/", "linux-vdso"].iter().any(|folder| path.starts_with(folder));
        !system && !["libonrush", "libstd"].iter().any(|name| is_named(path, name))
    };
    all_objects().into_iter().filter(elsewhere).collect()
}

/// All shared objects of this process, in the order in which they were loaded. The program itself has no name.
fn all_objects() -> Vec<String> {
    extern "C" fn each(info: *mut dl_phdr_info, _: size_t, found: *mut c_void) -> c_int {
        // SAFETY: both pointers are valid for the call: the loader's, and that of `all_objects`.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<String>>()) };
        if !info.dlpi_name.is_null() {
            // SAFETY: the loader's names end with a zero.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            if !name.is_empty() {
                found.push(name.to_string_lossy().into_owned());
            }
        }
        0
    }
    let mut found: Vec<String> = Vec::new();
    // SAFETY: `each` matches the signature, and `found` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
    found
}

/// `LD_LIBRARY_PATH` as this process was started with it: the process has removed it for the programs of cells.
fn loader_folders() -> Vec<String> {
    let environment = fs::read("/proc/self/environ").unwrap_or_default();
    let path = environment.split(|byte| *byte == 0).find_map(|line| line.strip_prefix(b"LD_LIBRARY_PATH="));
    let path = String::from_utf8_lossy(path.unwrap_or_default()).into_owned();
    path.split(':').filter(|folder| !folder.is_empty()).map(str::to_string).collect()
}
