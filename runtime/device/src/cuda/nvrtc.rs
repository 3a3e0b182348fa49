//! NVRTC, NVIDIA's compiler as a library. It is found in the system's CUDA or in a wheel of the active Python, and
//! loaded by its path. The crate cudarc would look for it by name alone, which never finds that of a wheel.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::{env, fs, ptr};

use libloading::Library;

use crate::error::{Error, Result};
use crate::source::{CompileOptions, Source};

type Program = *mut libc::c_void;

pub struct Nvrtc {
    // Never unloaded: its own threads and caches outlive a compilation.
    library: &'static Library,
    pub version: (u32, u32),
    pub place: String,
    /// Length of the file: two builds of one version differ there.
    bytes: u64,
}

impl Nvrtc {
    /// The newest one that is not newer than the driver: a driver does not load the cubins of a later major version.
    pub fn find(max_major: u32) -> Result<Nvrtc> {
        let mut rejected = None;
        let mut best: Option<Nvrtc> = None;
        for candidate in candidates(max_major) {
            match Nvrtc::open(&candidate) {
                Some(found) if found.version.0 > max_major => {
                    rejected = Some(format!("{} is {}.{}", found.place, found.version.0, found.version.1));
                }
                Some(found) if best.as_ref().is_none_or(|best| found.version > best.version) => best = Some(found),
                _ => {}
            }
        }
        best.ok_or(Error::NoNvrtc { max_major: (max_major < u32::MAX).then_some(max_major), rejected })
    }

    fn open(candidate: &Path) -> Option<Nvrtc> {
        // SAFETY: NVRTC's initialisers are NVIDIA's.
        let library = unsafe { Library::new(candidate) }.ok()?;
        let library: &'static Library = Box::leak(Box::new(library));
        load_builtins(candidate);
        let mut version = (0 as c_int, 0 as c_int);
        // SAFETY: the signature is nvrtc.h's.
        unsafe {
            type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int;
            let function = library.get::<Version>(b"nvrtcVersion\0").ok()?;
            if function(&mut version.0, &mut version.1) != 0 {
                return None;
            }
        }
        let bytes = fs::metadata(candidate).map_or(0, |found| found.len());
        let place = candidate.display().to_string();
        Some(Nvrtc { library, version: (version.0 as u32, version.1 as u32), place, bytes })
    }

    pub fn identity(&self) -> String {
        format!("nvrtc {}.{} {}", self.version.0, self.version.1, self.bytes)
    }

    /// Whether it knows `--Ofast-compile`.
    pub fn has_quick_mode(&self) -> bool {
        self.version.0 >= 13
    }

    /// CUDA C++ to a cubin of one architecture.
    pub fn compile(&self, source: &Source, options: &CompileOptions, architecture: &str) -> Result<Vec<u8>> {
        let mut flags = vec![
            format!("--gpu-architecture={architecture}"),
            "--std=c++17".to_string(),
            "--device-int128".to_string(),
            "--device-as-default-execution-space".to_string(),
            format!("--fmad={}", options.contract),
            "--disable-warnings".to_string(),
        ];
        // No textures, surfaces or launches from kernels: a fifth less for a small kernel.
        if self.version.0 >= 13 {
            flags.push("--minimal".to_string());
        }
        if options.quick && self.has_quick_mode() {
            flags.push("--Ofast-compile=mid".to_string());
        }
        if options.lines {
            flags.push("--generate-line-info".to_string());
        }
        if options.registers > 0 {
            flags.push(format!("--maxrregcount={}", options.registers));
        }
        let failed = |call, code| Error::Driver { call, code: self.error_string(code) };
        let inner_zero = |_| Error::Compile { name: source.name.clone(), log: "the source holds a zero byte".into() };
        let text = CString::new(source.text.as_str()).map_err(inner_zero)?;
        let name = CString::new(source.name.as_str()).map_err(inner_zero)?;
        let flags: Vec<CString> = flags.into_iter().filter_map(|flag| CString::new(flag).ok()).collect();
        let flags: Vec<*const c_char> = flags.iter().map(|flag| flag.as_ptr()).collect();

        let mut program: Program = ptr::null_mut();
        // SAFETY: the signatures here and below are nvrtc.h's, the strings outlive the calls, and the program is
        // destroyed once.
        unsafe {
            type Create = unsafe extern "C" fn(
                *mut Program,
                *const c_char,
                *const c_char,
                c_int,
                *const *const c_char,
                *const *const c_char,
            ) -> c_int;
            type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
            type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
            type Get = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
            type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
            let create = self.symbol::<Create>("nvrtcCreateProgram")?;
            let compile = self.symbol::<Compile>("nvrtcCompileProgram")?;
            let log_size = self.symbol::<Size>("nvrtcGetProgramLogSize")?;
            let log = self.symbol::<Get>("nvrtcGetProgramLog")?;
            let cubin_size = self.symbol::<Size>("nvrtcGetCUBINSize")?;
            let cubin = self.symbol::<Get>("nvrtcGetCUBIN")?;
            let destroy = self.symbol::<Destroy>("nvrtcDestroyProgram")?;

            let created = create(&mut program, text.as_ptr(), name.as_ptr(), 0, ptr::null(), ptr::null());
            if created != 0 {
                return Err(failed("nvrtcCreateProgram", created));
            }
            let read = |size: Size, get: Get| {
                let mut bytes = 0usize;
                if size(program, &mut bytes) != 0 || bytes == 0 {
                    return Vec::new();
                }
                let mut buffer = vec![0u8; bytes];
                if get(program, buffer.as_mut_ptr().cast()) != 0 {
                    buffer.clear();
                }
                buffer
            };
            let compiled = compile(program, flags.len() as c_int, flags.as_ptr());
            let outcome = if compiled == 0 {
                let image = read(cubin_size, cubin);
                if image.is_empty() { Err(failed("nvrtcGetCUBIN", 0)) } else { Ok(image) }
            } else {
                let mut text = read(log_size, log);
                text.retain(|byte| *byte != 0);
                let mut log = String::from_utf8_lossy(&text).trim_end().to_string();
                if log.is_empty() {
                    log = self.error_string(compiled);
                }
                Err(Error::Compile { name: source.name.clone(), log })
            };
            destroy(&mut program);
            outcome
        }
    }

    /// # Safety
    /// `T` is the type of the function in nvrtc.h.
    unsafe fn symbol<T: Copy>(&self, name: &'static str) -> Result<T> {
        // SAFETY: as the caller argues; the library is never unloaded.
        let symbol = unsafe { self.library.get::<T>(name.as_bytes()) };
        symbol.map(|symbol| *symbol).map_err(|_| Error::Driver { call: name, code: "not in this NVRTC".into() })
    }

    fn error_string(&self, code: c_int) -> String {
        type Text = unsafe extern "C" fn(c_int) -> *const c_char;
        // SAFETY: the signature is nvrtc.h's, and the strings are constants of the library.
        unsafe {
            match self.symbol::<Text>("nvrtcGetErrorString") {
                Ok(text) => {
                    let text = text(code);
                    if text.is_null() { code.to_string() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
                }
                Err(_) => code.to_string(),
            }
        }
    }
}

/// NVRTC opens its companion by name alone, which finds the one of a wheel only if it is loaded already.
fn load_builtins(nvrtc: &Path) {
    for entry in nvrtc.parent().map(entries).unwrap_or_default() {
        let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("libnvrtc-builtins.so") {
            // SAFETY: NVIDIA's data, without initialisers of note. Without it NVRTC says what is missing when it
            // compiles.
            if let Ok(library) = unsafe { Library::new(&entry) } {
                Box::leak(Box::new(library));
            }
        }
    }
}

/// Compiles for a GPU that need not be here, with the newest NVRTC that is found.
pub fn compile_for(architecture: &str, source: &Source, options: &CompileOptions) -> Result<Vec<u8>> {
    Nvrtc::find(u32::MAX)?.compile(source, options, architecture)
}

/// Candidates for NVRTC: by name on the linker's path, in the toolkit's folders, and in the wheels of the active
/// Python.
fn candidates(max_major: u32) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    found.extend(env::var_os("ONRUSH_NVRTC").map(PathBuf::from));
    let mut folders: Vec<PathBuf> = Vec::new();
    for variable in ["CUDA_HOME", "CUDA_PATH"] {
        folders.extend(env::var_os(variable).map(|home| PathBuf::from(home).join("lib64")));
    }
    folders.push(PathBuf::from("/usr/local/cuda/lib64"));
    for entry in entries(Path::new("/usr/local")) {
        if entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cuda-")) {
            folders.push(entry.join("lib64"));
        }
    }
    for site in python_sites() {
        for folder in entries(&site.join("nvidia")) {
            // `cuda_nvrtc` for CUDA 12, `cu13` and later for all of a version.
            let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name == "cuda_nvrtc" || name.starts_with("cu1") {
                folders.push(folder.join("lib"));
            }
        }
    }
    for folder in folders {
        for entry in entries(&folder) {
            let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            // The short link only: libnvrtc.so.13, and neither libnvrtc.so.13.0.88 nor libnvrtc-builtins.so.13.0.
            if name.strip_prefix("libnvrtc.so.").is_some_and(|rest| rest.parse::<u32>().is_ok()) {
                found.push(entry);
            }
        }
    }
    if found.is_empty() {
        let newest = if max_major > 99 { 13 } else { max_major };
        found.extend((12..=newest.max(12)).rev().map(|major| PathBuf::from(format!("libnvrtc.so.{major}"))));
        found.push(PathBuf::from("libnvrtc.so"));
    }
    found
}

/// The folders of the active Python's packages: of VIRTUAL_ENV, and of the `python3` that the shell would start. No
/// Python runs.
fn python_sites() -> Vec<PathBuf> {
    let mut prefixes: Vec<PathBuf> = env::var_os("VIRTUAL_ENV").map(PathBuf::from).into_iter().collect();
    for folder in env::var_os("PATH").iter().flat_map(env::split_paths).collect::<Vec<_>>() {
        if folder.join("python3").is_file() {
            prefixes.extend(folder.parent().map(Path::to_path_buf));
            break;
        }
    }
    let mut sites = Vec::new();
    for prefix in prefixes {
        for lib in [prefix.join("lib"), prefix.join("local/lib")] {
            for entry in entries(&lib) {
                if entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with("python3")) {
                    sites.push(entry.join("site-packages"));
                    sites.push(entry.join("dist-packages"));
                }
            }
        }
    }
    sites
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    paths.sort();
    paths
}
