//! What was generated before, by what it was generated from: writing the text of a kernel takes longer than many kernels run.

use std::collections::HashMap;
use std::hash::Hasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use onrush_device::Function;
use onrush_kernels::{Context, Program};

use crate::Result;

/// Of 256 bits: no two keys share one.
pub type Digest = [u8; 32];

/// All that some generated text depends on.
pub struct Key {
    bytes: Vec<u8>,
}

impl Key {
    pub fn new(what: &str) -> Key {
        let mut bytes = Vec::with_capacity(1 << 10);
        bytes.extend_from_slice(what.as_bytes());
        bytes.push(0);
        Key { bytes }
    }

    pub fn add(&mut self, digest: &Digest) {
        self.bytes.extend_from_slice(digest);
    }

    pub fn digest(&self) -> Digest {
        *blake3::hash(&self.bytes).as_bytes()
    }
}

/// So that what derives `Hash` can be written to it.
impl Hasher for Key {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        self.bytes.len() as u64
    }
}

#[derive(Default)]
pub struct Memo {
    functions: Mutex<HashMap<Digest, Function>>,
    flags: Mutex<HashMap<Digest, Vec<bool>>>,
}

/// Keys that are kept: literals are no part of them, so that few notebooks have as many.
const KEPT: usize = 20_000;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Memo {
    /// The kernel of a key. Two threads that want one at once both write it; the library compiles it once.
    pub fn function(
        &self,
        context: &Context,
        key: Digest,
        entry: &str,
        program: impl FnOnce() -> Program,
    ) -> Result<Function> {
        if let Some(known) = lock(&self.functions).get(&key) {
            return Ok(known.clone());
        }
        let function = context.library.function(&program(), entry)?;
        let mut functions = lock(&self.functions);
        if functions.len() >= KEPT {
            functions.clear();
        }
        functions.insert(key, function.clone());
        Ok(function)
    }

    pub fn flags(&self, key: Digest, find: impl FnOnce() -> Vec<bool>) -> Vec<bool> {
        if let Some(known) = lock(&self.flags).get(&key) {
            return known.clone();
        }
        let found = find();
        let mut flags = lock(&self.flags);
        if flags.len() >= KEPT {
            flags.clear();
        }
        flags.insert(key, found.clone());
        found
    }
}
