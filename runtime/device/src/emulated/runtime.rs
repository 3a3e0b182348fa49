//! The emulated device's C++ runtime: compiled once, loaded once in a process, called for each launch.

use std::collections::HashMap;
use std::ffi::CString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::{env, fs};

use libc::{c_char, c_void};
use libloading::Library;
use libloading::os::unix::{Library as UnixLibrary, RTLD_GLOBAL, RTLD_NOW};

use super::Emulation;
use super::compiler::HostCompiler;
use crate::error::{Error, Result};
use crate::module::Grid;

const SOURCES: [(&str, &str); 3] = [
    ("fiber.h", include_str!("../../emulated/fiber.h")),
    ("checker.h", include_str!("../../emulated/checker.h")),
    ("runtime.cpp", include_str!("../../emulated/runtime.cpp")),
];

/// As in runtime.cpp.
#[repr(C)]
struct Request {
    kernel: *const c_char,
    entry: *mut c_void,
    arguments: *mut *mut c_void,
    handle: *mut c_void,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared: u32,
    workers: u32,
    checked: u32,
    patience_seconds: u32,
}

/// As in runtime.cpp.
#[repr(C)]
struct Answer {
    status: u32,
    places: u32,
    place: [u64; 2],
    text: [c_char; 1000],
}

type Launch = unsafe extern "C" fn(*const Request, *mut Answer) -> i32;

struct Functions {
    register: unsafe extern "C" fn(u64, u64),
    unregister: unsafe extern "C" fn(u64),
    launch: Launch,
    path: PathBuf,
    identity: String,
}

/// Handle of the loaded runtime. Clones are the same.
#[derive(Clone)]
pub struct Runtime {
    functions: Arc<Functions>,
}

/// One for the process: kernels find its symbols globally, and its picture of memory must be one.
static LOADED: OnceLock<Mutex<Option<Runtime>>> = OnceLock::new();

impl Runtime {
    pub fn open(compiler: &HostCompiler, cache: Option<&Path>) -> Result<Runtime> {
        let mut loaded = LOADED.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(runtime) = &*loaded {
            return Ok(runtime.clone());
        }
        let mut hasher = DefaultHasher::new();
        (SOURCES, &compiler.identity).hash(&mut hasher);
        let identity = format!("{:016x}", hasher.finish());
        let folder = cache.map_or_else(default_cache, Path::to_path_buf);
        let path = folder.join(format!("libonrush-emulated-{identity}.so"));
        let file = |path: &Path| {
            let path = path.to_path_buf();
            move |source| Error::File { path, source }
        };
        if !path.is_file() {
            fs::create_dir_all(&folder).map_err(file(&folder))?;
            let scratch = tempfile::tempdir_in(&folder).map_err(file(&folder))?;
            for (name, text) in SOURCES {
                fs::write(scratch.path().join(name), text).map_err(file(scratch.path()))?;
            }
            let output = scratch.path().join("runtime.so");
            compiler.compile_runtime(scratch.path(), &output)?;
            // In one step, so that another process never sees half a file.
            fs::rename(&output, &path).map_err(file(&path))?;
        }
        let runtime = Runtime { functions: Arc::new(Functions::load(&path, identity)?) };
        *loaded = Some(runtime.clone());
        Ok(runtime)
    }

    pub fn path(&self) -> &Path {
        &self.functions.path
    }

    pub fn identity(&self) -> &str {
        &self.functions.identity
    }

    pub fn register(&self, address: u64, bytes: u64) {
        // SAFETY: the function keeps books only.
        unsafe { (self.functions.register)(address, bytes) };
    }

    pub fn unregister(&self, address: u64) {
        // SAFETY: the function keeps books only.
        unsafe { (self.functions.unregister)(address) };
    }

    /// Runs a kernel to its end.
    ///
    /// # Safety
    /// The arguments are the addresses of values of the kernel's parameter types.
    pub unsafe fn launch(
        &self,
        kernel: &Kernel,
        grid: &Grid,
        arguments: &mut [*mut c_void],
        emulation: &Emulation,
    ) -> Result<()> {
        let threads: u64 = grid.threads.iter().map(|n| u64::from(*n)).product();
        if !(1..=1024).contains(&threads) {
            let reason = format!("blocks of {threads} threads, and a block has 1 to 1024");
            return Err(Error::Kernel { kernel: kernel.name.clone(), reason });
        }
        let name = CString::new(kernel.name.as_str()).unwrap_or_default();
        let request = Request {
            kernel: name.as_ptr(),
            entry: kernel.entry as *mut c_void,
            arguments: arguments.as_mut_ptr(),
            handle: std::ptr::null_mut(),
            grid: grid.blocks,
            block: grid.threads,
            dynamic_shared: grid.dynamic_shared,
            workers: emulation.workers,
            checked: u32::from(emulation.checked),
            patience_seconds: emulation.patience.as_secs().clamp(1, 3600) as u32,
        };
        let mut answer = Answer { status: 0, places: 0, place: [0; 2], text: [0; 1000] };
        // SAFETY: both structs are as the runtime has them; the entry belongs to a loaded module, which `kernel` holds.
        let status = unsafe { (self.functions.launch)(&request, &mut answer) };
        if status == 0 {
            return Ok(());
        }
        let bytes: Vec<u8> = answer.text.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
        let mut reason = String::from_utf8_lossy(&bytes).into_owned();
        for (index, place) in answer.place.iter().enumerate() {
            let hole = format!("{{{index}}}");
            if reason.contains(&hole) {
                reason = reason.replace(&hole, &kernel.module.line_of(*place));
            }
        }
        Err(Error::Kernel { kernel: kernel.name.clone(), reason })
    }
}

impl Functions {
    fn load(path: &Path, identity: String) -> Result<Functions> {
        let failed = |error: libloading::Error| Error::EmulationFailed { reason: error.to_string() };
        // SAFETY: the library was compiled from our source; its initialisers allocate nothing but empty maps.
        let library = unsafe { UnixLibrary::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map_err(failed)?;
        // Kernels and the threads that ran them refer to it until the process ends.
        let library: &'static Library = Box::leak(Box::new(library.into()));
        // SAFETY: the signatures are those of runtime.cpp.
        unsafe {
            Ok(Functions {
                register: *library.get(b"onrush_register\0").map_err(failed)?,
                unregister: *library.get(b"onrush_unregister\0").map_err(failed)?,
                launch: *library.get::<Launch>(b"onrush_launch\0").map_err(failed)?,
                path: path.to_path_buf(),
                identity,
            })
        }
    }
}

/// Not a shared folder: what lies there is loaded into this process.
fn default_cache() -> PathBuf {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("ONRUSH_CACHE_DIR")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("onrush")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/onrush")))
        .unwrap_or_else(|| PathBuf::from(".onrush"))
        .join("emulated")
}

/// A compiled kernel file that is loaded.
#[derive(Clone)]
pub struct Loaded {
    inner: Arc<LoadedInner>,
}

struct LoadedInner {
    library: Library,
    // Kept for the line numbers of reports.
    file: tempfile::NamedTempFile,
    lines: Mutex<HashMap<u64, String>>,
}

/// An entry of a loaded module, which lives as long.
#[derive(Clone)]
pub struct Kernel {
    module: Loaded,
    name: String,
    entry: usize,
}

impl Loaded {
    pub fn open(image: &[u8]) -> Result<Loaded> {
        let temporary = |source| Error::File { path: env::temp_dir(), source };
        let mut file = tempfile::Builder::new().prefix("onrush-kernel-").suffix(".so").tempfile().map_err(temporary)?;
        file.write_all(image).map_err(temporary)?;
        // SAFETY: the object was compiled from kernels, which have no initialisers.
        let library = unsafe { Library::new(file.path()) };
        let library = library.map_err(|error| Error::EmulationFailed { reason: error.to_string() })?;
        Ok(Loaded { inner: Arc::new(LoadedInner { library, file, lines: Mutex::default() }) })
    }

    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        let symbol = CString::new(format!("onrush_entry_{name}")).ok()?;
        // SAFETY: entries have this signature, by the macro that makes them.
        let entry = unsafe {
            *self.inner.library.get::<unsafe extern "C" fn(*mut *mut c_void)>(symbol.as_bytes_with_nul()).ok()?
        };
        Some(Kernel { module: self.clone(), name: name.to_string(), entry: entry as usize })
    }

    /// Where in the source a return address is: `reduce.cuh:41`, or the offset where `addr2line` is not installed.
    fn line_of(&self, address: u64) -> String {
        let offset = self.offset_of(address).unwrap_or(address);
        let mut lines = self.inner.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines
            .entry(offset)
            .or_insert_with(|| self.look_up(offset).unwrap_or_else(|| format!("offset {offset:#x}")))
            .clone()
    }

    fn offset_of(&self, address: u64) -> Option<u64> {
        // SAFETY: dladdr fills the struct or returns 0.
        unsafe {
            let mut found: libc::Dl_info = std::mem::zeroed();
            (libc::dladdr(address as *const c_void, &mut found) != 0).then(|| address - found.dli_fbase as u64)
        }
    }

    fn look_up(&self, offset: u64) -> Option<String> {
        // The call is before the place that it returns to.
        let output = Command::new("addr2line")
            .args(["--inlines", "-e"])
            .arg(self.inner.file.path())
            .arg(format!("{:#x}", offset.saturating_sub(1)))
            .stdin(Stdio::null())
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // The innermost place first; what the kernel's author wrote is the first that is not our header's.
        let name = |line: &str| line.split(" (").next()?.trim().rsplit('/').next().map(str::to_string);
        let mut names = text.lines().filter_map(name).filter(|name| !name.starts_with("??"));
        names.find(|name| !name.starts_with("emulated.h:"))
    }
}
