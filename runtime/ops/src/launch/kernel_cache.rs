//! A cache of generated kernels, keyed by all that their source depends on. Generating the source takes longer than
//! many kernels run.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use onrush_device::Function;
use onrush_kernels::{Context, Program};
use parking_lot::Mutex;

use crate::Result;

/// All that some generated text depends on.
#[derive(Clone, Hash)]
pub struct KernelKey {
    bytes: Vec<u8>,
}

impl KernelKey {
    pub fn new(what: &str) -> KernelKey {
        let mut bytes = Vec::with_capacity(1 << 10);
        bytes.extend_from_slice(what.as_bytes());
        bytes.push(0);
        KernelKey { bytes }
    }

    pub fn add(&mut self, other: &KernelKey) {
        self.bytes.extend_from_slice(&other.bytes);
    }
}

/// FxHash, of whole words: keys are thousands of bytes long, and are looked up at each call. They are compared, too.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        let add = |hash: u64, word: u64| (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
        let hash = words.iter().fold(self.0, |hash, word| add(hash, u64::from_le_bytes(*word)));
        self.0 = rest.iter().fold(hash, |hash, byte| add(hash, u64::from(*byte)));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Map<V> = HashMap<Vec<u8>, V, BuildHasherDefault<WordHasher>>;

/// So that what derives `Hash` can be written to it.
impl Hasher for KernelKey {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        self.bytes.len() as u64
    }
}

#[derive(Default)]
pub struct KernelCache {
    /// With the generation of the library that they are of.
    functions: Mutex<(u64, Map<Function>)>,
    flags: Mutex<Map<Vec<bool>>>,
}

/// Keys that are kept: literals are no part of them, so that few notebooks have as many.
const ENTRIES: usize = 20_000;

impl KernelCache {
    /// The kernel of a key. Two threads that want one at once both write it; the library compiles it once.
    pub fn function(
        &self,
        context: &Context,
        key: KernelKey,
        entry: &str,
        program: impl FnOnce() -> Program,
    ) -> Result<Function> {
        let generation = context.library.generation();
        let mut functions = self.functions.lock();
        if functions.0 != generation {
            *functions = (generation, Map::default());
        }
        if let Some(known) = functions.1.get(&key.bytes) {
            return Ok(known.clone());
        }
        drop(functions);
        let function = context.library.function(&program(), entry)?;
        let mut functions = self.functions.lock();
        if functions.1.len() >= ENTRIES {
            functions.1.clear();
        }
        // A function of an older generation is not kept.
        if functions.0 == generation && context.library.generation() == generation {
            functions.1.insert(key.bytes, function.clone());
        }
        Ok(function)
    }

    pub fn flags(&self, key: KernelKey, find: impl FnOnce() -> Vec<bool>) -> Vec<bool> {
        if let Some(known) = self.flags.lock().get(&key.bytes) {
            return known.clone();
        }
        let found = find();
        let mut flags = self.flags.lock();
        if flags.len() >= ENTRIES {
            flags.clear();
        }
        flags.insert(key.bytes, found.clone());
        found
    }
}
