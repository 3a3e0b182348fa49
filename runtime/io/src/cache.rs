//! Decoded files, kept by path, size, times, number in the file system and options; least recently used out.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

use onrush_frame::{Table, TaskHandle};
use onrush_wire::Diagnostic;
use onrush_wire::plan::{FileMark, Format, Source};
use parking_lot::Mutex;

use crate::content::{Content, DecodedFiles, LoadedSource};
use crate::file::{FileState, SourceFiles};
use crate::memory::{Memory, NoLimit};
use crate::{file_marks, formats, paths};

/// Bytes that the shared cache holds until [`FileCache::set_limit`] says otherwise.
const DEFAULT_LIMIT: u64 = 2 << 30;

/// Tables by what they were read from. Thread-safe; a file that two requests want at once is decoded once.
#[derive(Debug, Default)]
pub struct FileCache {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    limit: u64,
    clock: u64,
    entries: HashMap<u128, Arc<Mutex<Entry>>>,
    /// The state of each file when it was read, the number of its bytes that are compared, and their hash.
    hashes: HashMap<PathBuf, (FileState, u64, u64)>,
}

impl Default for State {
    fn default() -> Self {
        State { limit: DEFAULT_LIMIT, clock: 0, entries: HashMap::new(), hashes: HashMap::new() }
    }
}

#[derive(Debug, Default)]
struct Entry {
    loaded: Option<LoadedSource>,
    /// An evicted table that may live on in a frame: its file is not decoded again.
    elsewhere: Option<Elsewhere>,
    bytes: u64,
    used: u64,
}

#[derive(Debug)]
struct Elsewhere {
    loaded: LoadedSource,
    table: Weak<Table>,
}

impl Entry {
    /// Lets the rows go.
    fn forget(&mut self) {
        let Some(mut loaded) = self.loaded.take() else { return };
        self.bytes = 0;
        if let Content::Memory(table) = &loaded.content {
            let table = (Arc::downgrade(table), Arc::new(Table::empty(Arc::clone(&loaded.schema))));
            loaded.content = Content::Memory(table.1);
            self.elsewhere = Some(Elsewhere { loaded, table: table.0 });
        }
    }

    /// The table that is here, or that was evicted and still lives elsewhere.
    fn known(&mut self) -> Option<LoadedSource> {
        if self.loaded.is_none()
            && let Some(Elsewhere { loaded, table }) = self.elsewhere.take()
            && let Some(table) = table.upgrade()
        {
            self.bytes = table.bytes();
            self.loaded = Some(LoadedSource { content: Content::Memory(table), ..loaded });
        }
        self.loaded.clone()
    }

    fn is_empty(&self) -> bool {
        self.loaded.is_none() && self.elsewhere.as_ref().is_none_or(|e| e.table.strong_count() == 0)
    }
}

impl FileCache {
    pub fn new(limit: u64) -> Self {
        let cache = FileCache::default();
        cache.set_limit(limit);
        cache
    }

    /// The one of this process.
    pub fn shared() -> &'static FileCache {
        static SHARED: OnceLock<FileCache> = OnceLock::new();
        SHARED.get_or_init(FileCache::default)
    }

    /// The one of files that other machines read: no Parquet file is held.
    pub fn of_scans() -> &'static FileCache {
        static SCANS: OnceLock<FileCache> = OnceLock::new();
        SCANS.get_or_init(|| FileCache::new(0))
    }

    /// Bytes of decoded files to keep. A Parquet file that would take more than half of it is scanned instead of held.
    pub fn set_limit(&self, limit: u64) {
        self.state.lock().limit = limit;
        self.shrink(0);
    }

    /// Bytes held now.
    pub fn bytes(&self) -> u64 {
        self.state.lock().entries.values().filter_map(|e| e.try_lock().map(|e| e.bytes)).sum()
    }

    /// Forgets what nobody else holds until at most `keep` bytes are left; returns what is left.
    pub fn trim(&self, keep: u64) -> u64 {
        self.evict(keep, None);
        self.bytes()
    }

    /// Opens a source; see [`crate::open`].
    pub fn open_marked(
        &self,
        source: &Source,
        marked: Option<&[FileMark]>,
        memory: &dyn Memory,
        task: &TaskHandle,
    ) -> Result<(LoadedSource, Vec<FileMark>), Diagnostic> {
        let resolved = paths::resolve(&source.path, &source.folder, source.format.extensions().as_deref(), task)?;
        let files = &resolved.files;
        if let Some(marked) = marked {
            file_marks::unchanged(source, marked, files)?;
        }
        let loaded = match &source.format {
            Format::Any => {
                formats::format_of(files).and_then(|format| self.load(&resolved, (source, &format), memory, task))
            }
            format => self.load(&resolved, (source, format), memory, task),
        };
        let loaded = loaded.map_err(|error| resolved.named(error))?;
        let depth = file_marks::depth(files);
        let marks = files.iter().map(|file| self.mark(file, depth, task)).collect::<Result<_, _>>()?;
        // The file that was read and the one that is marked are the same.
        file_marks::still(files, marked.is_none())?;
        Ok((loaded, marks))
    }

    /// Files that are as they were when they were marked are not opened again.
    fn mark(&self, file: &FileState, depth: u64, task: &TaskHandle) -> Result<FileMark, Diagnostic> {
        task.check()?;
        let is_known = |(state, known, _): &&(FileState, u64, u64)| state == file && *known == depth;
        let known = self.state.lock().hashes.get(&file.path).filter(is_known).map(|(_, _, hash)| *hash);
        if let Some(hash) = known {
            return Ok(file_marks::with_hash(file, hash));
        }
        let mark = file_marks::mark(file, depth)?;
        self.state.lock().hashes.insert(file.path.clone(), (file.clone(), depth, mark.hash));
        Ok(mark)
    }

    /// The same, whatever the files were before.
    pub fn open(&self, source: &Source, task: &TaskHandle) -> Result<LoadedSource, Diagnostic> {
        Ok(self.open_marked(source, None, &NoLimit, task)?.0)
    }

    fn load(
        &self,
        resolved: &SourceFiles,
        (source, format): (&Source, &Format),
        memory: &dyn Memory,
        task: &TaskHandle,
    ) -> Result<LoadedSource, Diagnostic> {
        let files = resolved.files.as_slice();
        let title = match files {
            [one] => format!("read {}", paths::short(&one.path)),
            many => format!("read {} files", many.len()),
        };
        task.stage(title);
        let key = key(resolved, format);
        let (entry, clock, limit) = {
            let mut state = self.state.lock();
            state.clock += 1;
            (Arc::clone(state.entries.entry(key).or_default()), state.clock, state.limit)
        };
        // Waits here while another request decodes the same files.
        let mut guard = entry.lock();
        guard.used = clock;
        if let Some(loaded) = guard.known() {
            drop(guard);
            self.shrink(key);
            return Ok(loaded);
        }
        let read = formats::read(resolved, &source.folder, format, limit / 2, memory, task);
        let content = match read {
            Ok(content) => content,
            Err(error) => {
                drop(guard);
                self.state.lock().entries.remove(&key);
                return Err(error);
            }
        };
        let (schema, rows, content) = match content {
            DecodedFiles::Table(table) => {
                guard.bytes = table.bytes();
                (Arc::clone(table.schema()), table.rows() as u64, Content::Memory(Arc::new(table)))
            }
            DecodedFiles::Scan { provider, rows } => (provider.schema(), rows, Content::Scan(provider)),
        };
        let files = files.iter().map(|f| f.path.clone()).collect();
        let loaded = LoadedSource { files, schema, key, rows, content };
        guard.loaded = Some(loaded.clone());
        drop(guard);
        self.shrink(key);
        Ok(loaded)
    }

    /// Back under the limit, but never at the price of what was just read.
    fn shrink(&self, keep_key: u128) {
        let limit = self.state.lock().limit;
        self.evict(limit, Some(keep_key));
    }

    fn evict(&self, keep: u64, keep_key: Option<u128>) {
        let mut state = self.state.lock();
        // An entry that another thread holds is being filled.
        state
            .entries
            .retain(|_, entry| Arc::strong_count(entry) > 1 || !entry.try_lock().is_some_and(|e| e.is_empty()));
        let mut order: Vec<(u64, u128, u64)> = state
            .entries
            .iter()
            .filter_map(|(key, entry)| {
                let entry = entry.try_lock()?;
                entry.loaded.is_some().then_some((entry.used, *key, entry.bytes))
            })
            .collect();
        order.sort_unstable();
        let mut total: u64 = order.iter().map(|e| e.2).sum();
        for (_, key, bytes) in order {
            if total <= keep {
                break;
            }
            if Some(key) == keep_key {
                continue;
            }
            if let Some(mut entry) = state.entries.get(&key).and_then(|entry| entry.try_lock()) {
                entry.forget();
                total -= bytes;
            }
        }
    }
}

/// 128 bits from two differently seeded hashes of the files and options.
fn key(resolved: &SourceFiles, format: &Format) -> u128 {
    let half = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        seed.hash(&mut hasher);
        resolved.files.hash(&mut hasher);
        resolved.hive.hash(&mut hasher);
        resolved.is_set.hash(&mut hasher);
        // Options are small; their debug form names every field.
        format!("{format:?}").hash(&mut hasher);
        hasher.finish()
    };
    (u128::from(half(1)) << 64) | u128::from(half(2))
}
