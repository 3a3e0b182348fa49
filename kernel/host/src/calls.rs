//! `onrush-cell --calls`: a process that calls one function of a cell, again and again, for a worker of a cluster. It
//! reads arguments from the standard input, and writes results to what was the standard output. Output of the function
//! goes to the standard error.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, BufReader, BufWriter};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::with_exposed_provenance;
use std::sync::mpsc::{self, Receiver};

use libc::{c_int, c_void, dl_phdr_info, size_t};
use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
use onrush::host::CallEntry;
use onrush_wire::cell_function::{CallResult, LoadFunction};
use onrush_wire::codec::{CodecError, MAX_MESSAGE, read_message, write_message};
use onrush_wire::limits::size;

/// Stack of a call: that of a cell.
const STACK_BYTES: u64 = 64 << 20;

/// Serves calls until the input ends. The process ends then at once, also in the middle of a call.
pub fn serve() -> ! {
    prepare();
    let status = match answer_calls() {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("onrush-cell --calls: {error}");
            3
        }
    };
    end(status)
}

fn end(status: c_int) -> ! {
    // SAFETY: no destructor of the user's code is to run.
    unsafe { libc::_exit(status) }
}

/// Ends the process, and the programs that the function has started. The worker has made a group of them.
fn end_group() -> ! {
    // SAFETY: plain system calls.
    if unsafe { libc::getpgrp() == libc::getpid() } {
        // SAFETY: as above.
        unsafe { libc::kill(0, libc::SIGKILL) };
    }
    end(0)
}

fn answer_calls() -> Result<(), String> {
    let (input, output) = channel().map_err(|e| format!("the channel cannot be made: {e}"))?;
    let (mut input, mut output) = (BufReader::new(input), BufWriter::new(output));
    let load: LoadFunction = read_message(&mut input).map_err(|e| e.to_string())?;
    let entry = match open(&load) {
        Ok(entry) => entry,
        Err(reason) => return write_message(&mut output, &Err::<(), String>(reason)).map_err(|e| e.to_string()),
    };
    write_message(&mut output, &Ok::<(), String>(())).map_err(|e| e.to_string())?;
    let arguments = reader(input)?;
    while let Ok(argument) = arguments.recv() {
        match write_message(&mut output, &entry(&argument)) {
            Err(CodecError::TooLong(bytes)) => {
                let reason =
                    format!("the value has {}, and at most {} are sent", size(bytes as u64), size(MAX_MESSAGE as u64));
                write_message(&mut output, &CallResult::Err(reason)).map_err(|e| e.to_string())?;
            }
            written => written.map_err(|e| e.to_string())?,
        }
    }
    Ok(())
}

/// The process is as that of a cell: a deep stack, and no file of a crash. If memory is short, it dies before the
/// worker.
fn prepare() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` outlives the calls. There is one thread, which nobody else asks for its environment.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_STACK, &mut limit) == 0 {
            limit.rlim_cur = STACK_BYTES.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_STACK, &limit);
        }
        libc::setrlimit(libc::RLIMIT_CORE, &libc::rlimit { rlim_cur: 0, rlim_max: 0 });
        // The loader has read it; programs that the function starts should not get it.
        #[expect(clippy::disallowed_methods, reason = "there is one thread")]
        std::env::remove_var("LD_LIBRARY_PATH");
    }
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
}

/// The ends of the channel to the worker. The function's own input is empty, and its output is the standard error.
fn channel() -> io::Result<(File, File)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let nothing = File::open("/dev/null")?;
    // SAFETY: the descriptors are open, and there is one thread.
    if unsafe { libc::dup2(nothing.as_raw_fd(), 0) < 0 || libc::dup2(2, 1) < 0 } {
        return Err(io::Error::last_os_error());
    }
    Ok((input.into(), output.into()))
}

/// Arguments as they come. The thread ends the process where they end, so that a call for a worker that is gone does
/// not go on.
fn reader(mut input: BufReader<File>) -> Result<Receiver<Vec<u8>>, String> {
    let (sender, arguments) = mpsc::channel();
    let read = move || {
        while let Ok(argument) = read_message(&mut input) {
            if sender.send(argument).is_err() {
                break;
            }
        }
        end_group()
    };
    std::thread::Builder::new().name("arguments".into()).spawn(read).map_err(|e| e.to_string())?;
    Ok(arguments)
}

/// Loads the objects, and finds the function.
fn open(load: &LoadFunction) -> Result<CallEntry, String> {
    for object in &load.objects {
        // SAFETY: the objects are those that a cell process of this prelude had loaded, in the same order.
        let library = unsafe { Library::open(Some(object), RTLD_NOW | RTLD_GLOBAL) }
            .map_err(|e| std::error::Error::source(&e).map_or_else(|| e.to_string(), ToString::to_string))?;
        // It stays loaded.
        let _library = std::mem::ManuallyDrop::new(library);
    }
    let path = load.objects.get(load.entry.object as usize).ok_or("the function is in no object")?;
    let start = start_of(path).ok_or_else(|| format!("`{path}` is not loaded"))?;
    let address = with_exposed_provenance::<()>(start + load.entry.offset as usize);
    // SAFETY: the object has the content of that in the cell process, where the function was at this offset with this
    // type. The message comes from a worker, which checks that a holder of the cluster's token has sent it.
    Ok(unsafe { std::mem::transmute::<*const (), CallEntry>(address) })
}

/// The start of a loaded object in memory.
fn start_of(path: &str) -> Option<usize> {
    struct Search<'a> {
        path: &'a str,
        start: Option<usize>,
    }
    extern "C" fn each(info: *mut dl_phdr_info, _: size_t, wanted: *mut c_void) -> c_int {
        // SAFETY: both pointers are valid for the call: the loader's, and that of `start_of`.
        let (info, wanted) = unsafe { (&*info, &mut *wanted.cast::<Search<'_>>()) };
        if !info.dlpi_name.is_null() {
            // SAFETY: the loader's names end with a zero.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) };
            if name.to_bytes() == wanted.path.as_bytes() {
                wanted.start = Some(info.dlpi_addr as usize);
            }
        }
        0
    }
    let mut wanted = Search { path, start: None };
    // SAFETY: `each` matches the signature, and `wanted` outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut wanted).cast()) };
    wanted.start
}
