//! The emulated device's C++ runtime: compiled once, loaded once in a process, called for each launch.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::{DirBuilder, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, OnceLock};
use std::{env, fs};

use libc::{c_char, c_void};
use libloading::Library;
use libloading::os::unix::{Library as UnixLibrary, RTLD_GLOBAL, RTLD_LOCAL, RTLD_NOW};
use parking_lot::Mutex;

use super::Emulation;
use super::compiler::{HostCompiler, RUNTIME_FLAGS};
use crate::error::{Error, Result};
use crate::fault::{Access, Fault, FaultKind, Memory, StopCause, ThreadSite, Variable};
use crate::grid::Grid;

const SOURCES: [(&str, &str); 6] = [
    ("fiber.h", include_str!("../../emulated/fiber.h")),
    ("memcheck_racecheck.h", include_str!("../../emulated/memcheck_racecheck.h")),
    ("ubsan_hooks.h", include_str!("../../emulated/ubsan_hooks.h")),
    ("library.h", include_str!("../../emulated/library.h")),
    ("initcheck.h", include_str!("../../emulated/initcheck.h")),
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
    strict: u32,
    patience_seconds: u32,
    static_shared: u32,
    shared_count: u32,
    variable_count: u32,
    shared: *const Extent,
    variables: *const Extent,
}

/// As in runtime.cpp.
#[repr(C)]
struct Extent {
    offset: u64,
    bytes: u64,
    constant: u64,
}

impl Extent {
    fn of(variable: &Variable) -> Extent {
        Extent { offset: variable.offset, bytes: variable.bytes, constant: u64::from(variable.constant) }
    }
}

/// As in runtime.cpp.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Who {
    thread: [u32; 3],
    block: [u32; 3],
}

/// As in runtime.cpp.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Detail {
    kind: u32,
    space: u32,
    access: [u32; 2],
    who: [Who; 2],
    start: u64,
    offset: u64,
    bytes: u64,
    size: u64,
    column: u64,
    type_name: [c_char; 32],
}

/// As in runtime.cpp.
#[repr(C)]
struct Answer {
    status: u32,
    cause: u32,
    place: [u64; 2],
    text: [c_char; 1000],
    detail: Detail,
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
static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

impl Runtime {
    pub fn open(compiler: &HostCompiler, cache: Option<&Path>) -> Result<Runtime> {
        let mut loaded = RUNTIME.lock();
        if let Some(runtime) = &*loaded {
            return Ok(runtime.clone());
        }
        let mut hasher = DefaultHasher::new();
        (SOURCES, RUNTIME_FLAGS, &compiler.identity).hash(&mut hasher);
        let identity = format!("{:016x}", hasher.finish());
        let folder = cache.map_or_else(default_cache, Path::to_path_buf);
        let path = folder.join(format!("libonrush-emulated-{identity}.so"));
        let file = |path: &Path| {
            let path = path.to_path_buf();
            move |source| Error::File { path, source }
        };
        if !path.is_file() {
            // For its owner alone, whatever the umask: what lies there is loaded into this process.
            DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(file(&folder))?;
            let mut builder = tempfile::Builder::new();
            let scratch =
                builder.permissions(Permissions::from_mode(0o700)).tempdir_in(&folder).map_err(file(&folder))?;
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
            return Err(Error::Kernel { kernel: kernel.name.clone(), reason, cause: StopCause::Other, fault: None });
        }
        let name = CString::new(kernel.name.as_str()).unwrap_or_default();
        let strict = emulation.checked && emulation.strict;
        let shared: Vec<Extent> = if strict { kernel.shared_extents() } else { Vec::new() };
        let variables: Vec<Extent> = if strict { kernel.variable_extents() } else { Vec::new() };
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
            strict: u32::from(strict),
            patience_seconds: emulation.patience.as_secs().clamp(1, 3600) as u32,
            static_shared: if strict { kernel.static_shared() } else { u32::MAX },
            shared_count: shared.len() as u32,
            variable_count: variables.len() as u32,
            shared: shared.as_ptr(),
            variables: variables.as_ptr(),
        };
        let detail = Detail::default();
        let mut answer = Answer { status: 0, cause: 0, place: [0; 2], text: [0; 1000], detail };
        // SAFETY: both structs are as the runtime has them; the entry belongs to a loaded module, which `kernel` holds.
        let status = unsafe { (self.functions.launch)(&request, &mut answer) };
        if status == 0 {
            return Ok(());
        }
        let mut reason = text_of(&answer.text);
        let lines = answer.place.map(|place| if place == 0 { String::new() } else { kernel.module.line_of(place) });
        for (index, line) in lines.iter().enumerate() {
            let place = format!("{{{index}}}");
            reason = match line.is_empty() {
                true => reason.replace(&format!(" at {place}"), ""),
                false => reason.replace(&place, line),
            };
        }
        let fault = kernel.module.fault(&answer.detail, lines).map(Box::new);
        let cause = StopCause::of_number(answer.cause);
        Err(Error::Kernel { kernel: kernel.name.clone(), reason, cause, fault })
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
pub struct LoadedModule {
    inner: Arc<LoadedModuleInner>,
}

struct LoadedModuleInner {
    library: Library,
    // Kept for the line numbers of reports. Its file is removed as soon as it is loaded, so that a killed process
    // leaves none.
    image: Vec<u8>,
    lines: Mutex<HashMap<u64, String>>,
    symbols: OnceLock<Symbols>,
}

#[derive(Default)]
struct Symbols {
    shared: Vec<Variable>,
    /// The compiler's guard variables of shared memory whose type has constructors: whether they have run.
    guards: Vec<Variable>,
    device: Vec<Variable>,
    kernels: Vec<String>,
}

/// An entry of a loaded module, which lives as long.
#[derive(Clone)]
pub struct Kernel {
    module: LoadedModule,
    name: String,
    entry: usize,
}

impl Kernel {
    /// The extents of its static shared memory, without that of other kernels.
    fn shared_extents(&self) -> Vec<Extent> {
        let symbols = self.module.inner.symbols.get_or_init(|| self.module.read_symbols());
        let of_another = |function: &String| *function != self.name && symbols.kernels.contains(function);
        let own = symbols.shared.iter().filter(|variable| !of_another(&variable.function));
        let guards = symbols.guards.iter().map(|guard| Extent { constant: 1, ..Extent::of(guard) });
        own.map(Extent::of).chain(guards).collect()
    }

    /// Bytes of it, or the highest number where nobody knows.
    fn static_shared(&self) -> u32 {
        let symbols = self.module.inner.symbols.get_or_init(|| self.module.read_symbols());
        match symbols.kernels.is_empty() {
            true => u32::MAX,
            false => {
                let extents = self.shared_extents();
                let bytes =
                    extents.iter().filter(|extent| extent.constant == 0).map(|extent| extent.bytes).sum::<u64>();
                bytes.min(u64::from(u32::MAX - 1)) as u32
            }
        }
    }

    /// The extents of the module's variables.
    fn variable_extents(&self) -> Vec<Extent> {
        let symbols = self.module.inner.symbols.get_or_init(|| self.module.read_symbols());
        symbols.device.iter().map(Extent::of).collect()
    }
}

impl LoadedModule {
    pub fn open(image: &[u8]) -> Result<LoadedModule> {
        let temporary = |source| Error::File { path: env::temp_dir(), source };
        let file = write_image(image).map_err(temporary)?;
        // All it calls must be there now: a function that is missing at its first call would end the process.
        // SAFETY: the object was compiled from kernels, which have no initialisers.
        let library = unsafe { UnixLibrary::open(Some(file.path()), RTLD_NOW | RTLD_LOCAL) }.map(Library::from);
        let why =
            |error: &libloading::Error| std::error::Error::source(error).map_or(error.to_string(), |e| e.to_string());
        let library = library.map_err(|error| Error::EmulationFailed { reason: why(&error) })?;
        let image = image.to_vec();
        Ok(LoadedModule {
            inner: Arc::new(LoadedModuleInner { library, image, lines: Mutex::default(), symbols: OnceLock::new() }),
        })
    }

    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        let symbol = CString::new(format!("onrush_entry_{name}")).ok()?;
        // SAFETY: entries have this signature, by the macro that makes them.
        let entry = unsafe {
            *self.inner.library.get::<unsafe extern "C" fn(*mut *mut c_void)>(symbol.as_bytes_with_nul()).ok()?
        };
        Some(Kernel { module: self.clone(), name: name.to_string(), entry: entry as usize })
    }

    fn fault(&self, detail: &Detail, lines: [String; 2]) -> Option<Fault> {
        let kind = match detail.kind {
            1 => FaultKind::OutOfBounds,
            2 => FaultKind::Race,
            3 => FaultKind::UninitializedShared,
            4 => FaultKind::BarrierDivergence,
            5 => FaultKind::BarrierExit,
            6 => FaultKind::Misaligned { type_name: text_of(&detail.type_name) },
            7 => FaultKind::Division,
            8 => FaultKind::Shift,
            9 => FaultKind::Constant,
            10 => FaultKind::MissingSyncwarp,
            _ => return None,
        };
        let memory = match detail.space {
            1 => Memory::Device { address: detail.start },
            2 => Memory::Shared(self.variables(true)),
            3 => Memory::Dynamic,
            4 => Memory::Variables(self.variables(false)),
            5 => Memory::Array { dimensions: detail.start as u32 },
            _ => Memory::None,
        };
        let access = |number: u32| match number {
            0 => Access::Read,
            1 => Access::Write,
            2 => Access::Update,
            _ => Access::Use,
        };
        let [first, second] = lines;
        let party = |at: usize, line| ThreadSite {
            thread: detail.who[at].thread,
            block: detail.who[at].block,
            access: access(detail.access[at]),
            line,
        };
        Some(Fault {
            kind,
            parties: [party(0, first), party(1, second)],
            memory,
            offset: detail.offset as i64,
            bytes: detail.bytes,
            size: detail.size,
            column: u32::try_from(detail.column).ok().filter(|column| *column > 0),
        })
    }

    /// The module's variables and where they lie, those in shared memory or the others; none where `nm` is not
    /// installed.
    fn variables(&self, shared: bool) -> Vec<Variable> {
        let symbols = self.inner.symbols.get_or_init(|| self.read_symbols());
        if shared { symbols.shared.clone() } else { symbols.device.clone() }
    }

    fn read_symbols(&self) -> Symbols {
        let options = ["--format=sysv", "--demangle", "--defined-only"];
        let Some(output) = self.tool("nm", &options, None) else { return Symbols::default() };
        let mut symbols = Symbols::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            // `kernel(float*, int)::tile |0000000000000000| b | TLS|0000000000000100| |.tbss`
            let words: Vec<&str> = line.split('|').map(str::trim).collect();
            let [name, offset, _, kind, bytes, _, section] = words[..] else { continue };
            if let Some(kernel) = name.strip_prefix("onrush_entry_") {
                symbols.kernels.push(kernel.to_string());
            }
            let numbers = (u64::from_str_radix(offset, 16), u64::from_str_radix(bytes, 16));
            let (Ok(offset), Ok(bytes)) = numbers else { continue };
            let is_guard = name.starts_with("guard variable for ") || name == "__tls_guard";
            let (function, name) = name.rsplit_once("::").unwrap_or(("", name));
            let function = function.split('(').next().unwrap_or("").to_string();
            let constant = section.starts_with(".onrush_constant");
            let variable = Variable { name: name.to_string(), function, offset, bytes, constant };
            match kind {
                "TLS" if is_guard => symbols.guards.push(variable),
                // Shared memory is the thread-local one.
                "TLS" => symbols.shared.push(variable),
                // Variables of the emulation belong to nobody.
                "OBJECT" if !variable.name.starts_with("onrush_") => symbols.device.push(variable),
                _ => {}
            }
        }
        symbols
    }

    /// The place of a return address in the source: `reduce.cuh:41`, or the offset where `addr2line` is not installed.
    fn line_of(&self, address: u64) -> String {
        let offset = self.offset_of(address).unwrap_or(address);
        let mut lines = self.inner.lines.lock();
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
        let before = format!("{:#x}", offset.saturating_sub(1));
        let output = self.tool("addr2line", &["--inlines", "-e"], Some(before))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // The innermost place first; what the kernel's author wrote is the first that is not our header's.
        let name = |line: &str| line.split(" (").next()?.trim().rsplit('/').next().map(str::to_string);
        let mut names = text.lines().filter_map(name).filter(|name| !name.starts_with("??"));
        names.find(|name| !name.starts_with("emulated.h:"))
    }

    /// The output of a tool about the module's file. `None` if the tool is not installed.
    fn tool(&self, program: &str, options: &[&str], last: Option<String>) -> Option<Output> {
        let file = write_image(&self.inner.image).ok()?;
        Command::new(program).args(options).arg(file.path()).args(last).stdin(Stdio::null()).output().ok()
    }
}

/// A C string that fills its array or ends before.
fn text_of(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn write_image(image: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("onrush-kernel-").suffix(".so").tempfile()?;
    file.write_all(image)?;
    Ok(file)
}
