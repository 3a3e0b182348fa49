//! Compiled kernels of one device: from source to a launchable function, through a cache in memory and one on disk.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use onrush_device::phases::{self, Phase};
use onrush_device::{CompileOptions, Device, Function, Module, Owner, Source, Stream};
use parking_lot::Mutex;

use crate::cache::{CacheStatistics, DiskCache};
use crate::error::Result;
use crate::headers::{self, Header};

/// A unit of compilation: headers, and a body whose kernels are `entries`. Literals that choose code belong into the
/// body. All others are parameters, so that one compilation serves them all.
#[derive(Clone, Debug)]
pub struct Program {
    /// User source before the headers, each piece once. The body must mention it in a way that distinguishes it from
    /// all other pieces.
    pub before: Vec<Arc<str>>,
    pub headers: Vec<&'static Header>,
    pub body: String,
    pub entries: Vec<String>,
    pub options: CompileOptions,
}

impl Program {
    pub fn new<S: Into<String>>(
        headers: &[&'static Header],
        body: String,
        entries: impl IntoIterator<Item = S>,
    ) -> Self {
        let entries = entries.into_iter().map(Into::into).collect();
        Program { before: Vec::new(), headers: headers.to_vec(), body, entries, options: CompileOptions::default() }
    }

    /// The input of the compiler.
    pub fn source(&self) -> Source {
        let mut text = String::new();
        for (number, piece) in self.before.iter().enumerate() {
            if !self.before[..number].contains(piece) {
                text.push_str(piece);
            }
        }
        text.push_str(&headers::assemble(&self.headers, &self.body));
        Source { name: "program.cu".into(), text, entries: self.entries.clone() }
    }
}

/// The number of running compilers in this process.
static COMPILING: AtomicUsize = AtomicUsize::new(0);

struct CompileMark;

impl CompileMark {
    fn begin() -> CompileMark {
        COMPILING.fetch_add(1, Ordering::Relaxed);
        CompileMark
    }
}

impl Drop for CompileMark {
    fn drop(&mut self) {
        COMPILING.fetch_sub(1, Ordering::Relaxed);
        *LAST.lock() = Some(Instant::now());
    }
}

/// When a compiler that somebody waited for last ended.
static LAST: Mutex<Option<Instant>> = Mutex::new(None);

/// Whether nobody has waited for a compiler for a while. Code is optimised then.
fn is_quiet() -> bool {
    const WHILE: Duration = Duration::from_millis(300);
    !is_compiling() && LAST.lock().is_none_or(|last| last.elapsed() > WHILE)
}

/// Whether a kernel is being compiled.
pub fn is_compiling() -> bool {
    COMPILING.load(Ordering::Relaxed) > 0
}

/// A kernel that was requested before.
struct CachedKernel {
    body: String,
    entry: String,
    function: Function,
}

/// FxHash over whole words: bodies have thousands of bytes and are looked up at each call.
fn quick(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let add = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let hash = words.iter().fold(text.len() as u64, |hash, word| add(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| add(hash, u64::from(*byte)))
}

/// The kernels of one device. Clones are the same library.
#[derive(Clone)]
pub struct Library {
    inner: Arc<Inner>,
}

struct Inner {
    device: Device,
    disk: DiskCache,
    /// By key; if two threads need a program at once, the first compiles it.
    modules: Mutex<HashMap<blake3::Hash, Arc<Mutex<Option<Module>>>>>,
    /// By body: most calls find their kernels here without a hash of all headers. The hash is a fast one, so bodies are
    /// compared.
    functions: Mutex<HashMap<u64, Vec<CachedKernel>>>,
    statistics: Mutex<CacheStatistics>,
    programs: Mutex<Vec<Program>>,
    /// Programs whose kernels run as they were compiled quickly.
    to_optimise: Mutex<ToOptimise>,
    /// How often kernels were replaced by optimised ones.
    generation: AtomicU64,
}

#[derive(Default)]
struct ToOptimise {
    programs: VecDeque<(blake3::Hash, Program)>,
    threads: usize,
    /// Replaced modules: a stream may still run their kernels.
    replaced: Vec<Module>,
}

impl Library {
    /// `folder` is where compiled kernels are kept; without it they live as long as the library.
    pub fn new(device: &Device, folder: Option<&Path>) -> Library {
        Library {
            inner: Arc::new(Inner {
                device: device.clone(),
                disk: DiskCache::new(folder),
                modules: Mutex::default(),
                functions: Mutex::default(),
                statistics: Mutex::default(),
                programs: Mutex::default(),
                to_optimise: Mutex::default(),
                generation: AtomicU64::new(0),
            }),
        }
    }

    pub fn device(&self) -> &Device {
        &self.inner.device
    }

    pub fn statistics(&self) -> CacheStatistics {
        *self.inner.statistics.lock()
    }

    /// All programs that were requested so far, each once.
    pub fn programs(&self) -> Vec<Program> {
        self.inner.programs.lock().clone()
    }

    /// A kernel of a program, compiled if it is not cached.
    pub fn function(&self, program: &Program, entry: &str) -> Result<Function> {
        let hash = quick(&program.body);
        let find = |known: &CachedKernel| known.entry == entry && known.body == program.body;
        if let Some(known) = self.inner.functions.lock().get(&hash).and_then(|all| all.iter().find(|k| find(k))) {
            self.inner.statistics.lock().from_memory += 1;
            return Ok(known.function.clone());
        }
        let time = phases::scope(Phase::Compile);
        let generation = self.generation();
        let mut function = self.module(program)?.function(entry)?;
        drop(time);
        let mut functions = self.inner.functions.lock();
        // Another thread may have replaced the module before this function is known here.
        if self.generation() != generation {
            drop(functions);
            function = self.module(program)?.function(entry)?;
            functions = self.inner.functions.lock();
        }
        let known = CachedKernel { body: program.body.clone(), entry: entry.to_string(), function: function.clone() };
        functions.entry(hash).or_default().push(known);
        Ok(function)
    }

    /// Grows when kernels are replaced by optimised ones. Callers that keep functions ask for them again then.
    pub fn generation(&self) -> u64 {
        self.inner.generation.load(Ordering::Acquire)
    }

    fn module(&self, program: &Program) -> Result<Module> {
        let source = program.source();
        let key = self.key(&source.text, program)?;
        let place = Arc::clone(self.inner.modules.lock().entry(key).or_default());
        let mut place = place.lock();
        if let Some(module) = &*place {
            return Ok(module.clone());
        }
        let image = match self.inner.disk.get(&key) {
            Some(image) => {
                self.inner.statistics.lock().from_disk += 1;
                image
            }
            None => {
                let begun = Instant::now();
                let compiling = CompileMark::begin();
                let quick = self.device().has_quick_compiler();
                let image = self.device().compile(&source, &CompileOptions { quick, ..program.options })?;
                drop(compiling);
                let mut statistics = self.inner.statistics.lock();
                statistics.compiled += 1;
                statistics.compiling += begun.elapsed();
                drop(statistics);
                match quick {
                    true => self.optimise_later(key, program),
                    false => self.inner.disk.put(&key, &image),
                }
                image
            }
        };
        let begun = Instant::now();
        let module = self.device().load(&image)?;
        self.inner.statistics.lock().loading += begun.elapsed();
        *place = Some(module.clone());
        self.inner.programs.lock().push(program.clone());
        Ok(module)
    }

    /// Compiles a program again on another thread, while nobody waits for a compiler.
    fn optimise_later(&self, key: blake3::Hash, program: &Program) {
        const PART: usize = 4;
        const MOST: usize = 8;
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        let mut queue = self.inner.to_optimise.lock();
        queue.programs.push_back((key, program.clone()));
        if queue.threads >= (cores / PART).clamp(1, MOST) {
            return;
        }
        let library = Arc::downgrade(&self.inner);
        let thread = std::thread::Builder::new().name("optimise kernels".to_string());
        // Without a thread the quick kernels stay.
        queue.threads += usize::from(thread.spawn(move || optimise_all(&library)).is_ok());
    }

    /// The quick kernels stay if this fails.
    fn optimise(&self, key: &blake3::Hash, program: &Program) -> Result<()> {
        let image = self.device().compile(&program.source(), &program.options)?;
        self.inner.disk.put(key, &image);
        let module = self.device().load(&image)?;
        let place = self.inner.modules.lock().get(key).map(Arc::clone);
        let old = place.and_then(|place| place.lock().replace(module.clone()));
        let mut functions = self.inner.functions.lock();
        for known in functions.get_mut(&quick(&program.body)).into_iter().flatten() {
            if known.body == program.body {
                known.function = module.function(&known.entry)?;
            }
        }
        // Under the lock: who adds a function later sees that its module may be the old one.
        self.inner.generation.fetch_add(1, Ordering::Release);
        drop(functions);
        self.inner.to_optimise.lock().replaced.extend(old);
        self.inner.statistics.lock().optimised += 1;
        Ok(())
    }

    /// All inputs that determine the output of the compiler.
    fn key(&self, text: &str, program: &Program) -> Result<blake3::Hash> {
        let mut hasher = blake3::Hasher::new();
        let compiler = self.device().compiler()?;
        let options = format!("{:?}", program.options);
        let entries = program.entries.join(" ");
        for part in [text, &self.device().properties().architecture, &compiler, &options, &entries] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        Ok(hasher.finalize())
    }
}

/// Works until the queue is empty or the library is gone.
fn optimise_all(library: &Weak<Inner>) {
    const LOOK: Duration = Duration::from_millis(10);
    loop {
        while !is_quiet() {
            std::thread::sleep(LOOK);
            if library.strong_count() == 0 {
                return;
            }
        }
        let Some(inner) = library.upgrade() else { return };
        let mut queue = inner.to_optimise.lock();
        let Some((key, program)) = queue.programs.pop_front() else {
            queue.threads -= 1;
            return;
        };
        drop(queue);
        drop(Library { inner }.optimise(&key, &program));
    }
}

/// Context of an algorithm: kernels, the stream, and the owner of its memory in the ledger.
#[derive(Clone)]
pub struct Context {
    pub library: Library,
    pub stream: Stream,
    pub owner: Owner,
}

impl Context {
    pub fn new(library: &Library, owner: &Owner) -> Result<Context> {
        Ok(Context { library: library.clone(), stream: library.device().stream()?, owner: owner.clone() })
    }

    pub fn device(&self) -> &Device {
        self.library.device()
    }

    /// Uninitialised memory.
    pub fn allocate(&self, bytes: u64) -> Result<onrush_device::Buffer> {
        Ok(self.device().allocate(&self.owner, bytes, &self.stream)?)
    }

    pub fn zeros(&self, bytes: u64) -> Result<onrush_device::Buffer> {
        Ok(self.device().zeros(&self.owner, bytes, &self.stream)?)
    }

    pub fn upload<T: onrush_device::Pod>(&self, values: &[T]) -> Result<onrush_device::Buffer> {
        Ok(self.device().upload(&self.owner, values, &self.stream)?)
    }
}
