//! A function of a cell with the content of its shared objects, as it goes to the workers.

use std::fs;
use std::io;
use std::path::Path;

use onrush_wire::cell_function::{CellFunction, FunctionEntry};
use onrush_wire::limits::size;
use onrush_wire::{Class, Diagnostic};
use serde::{Deserialize, Serialize};

/// Bytes of all objects of a function, at most.
const MOST: u64 = 64 << 20;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Function {
    /// A hash of all that follows.
    pub(crate) key: [u8; 32],
    /// For messages.
    pub name: String,
    /// `onrush-cell`, and `libonrush.so` with the hash of its content: the same files on every machine.
    pub(crate) host: String,
    pub(crate) prelude: (String, [u8; 32]),
    pub(crate) folders: Vec<String>,
    pub(crate) objects: Vec<Object>,
    pub(crate) entry: (u32, u64),
}

/// A shared object: the name and the content of its file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Object {
    pub name: String,
    pub content: Vec<u8>,
}

impl Function {
    /// Reads the objects of a function.
    ///
    /// # Errors
    /// A file that is gone; objects that are too large to be sent.
    pub fn read(function: &CellFunction) -> Result<Function, Diagnostic> {
        let failed = |path: &str, error: io::Error| {
            Diagnostic::error(Class::Environment, "cluster-call", format!("`{path}` cannot be read: {error}"))
                .help("restart the kernel, and run the cells again")
        };
        let mut total = 0;
        let mut objects = Vec::new();
        for path in &function.objects {
            let content = fs::read(path).map_err(|e| failed(path, e))?;
            total += content.len() as u64;
            let name = path.rsplit('/').next().unwrap_or(path).to_string();
            objects.push(Object { name, content });
        }
        if total > MOST {
            let message = format!(
                "the compiled cells and crates that {} needs have {}, and at most {} are sent to the workers",
                function.name,
                size(total),
                size(MOST)
            );
            return Err(Diagnostic::error(Class::Resources, "cluster-call", message)
                .help("restart the kernel and run only the cells that the function needs"));
        }
        let hash = hash_of(Path::new(&function.prelude)).map_err(|e| failed(&function.prelude, e))?;
        let FunctionEntry { object, offset } = function.entry;
        let mut key = blake3::Hasher::new();
        for object in &objects {
            key.update(&(object.name.len() as u64).to_le_bytes()).update(object.name.as_bytes());
            key.update(&(object.content.len() as u64).to_le_bytes()).update(&object.content);
        }
        // Lists of text and numbers, whose bytes differ if they do.
        key.update(&onrush_wire::codec::content(&(function, hash)));
        Ok(Function {
            key: *key.finalize().as_bytes(),
            name: function.name.clone(),
            host: function.host.clone(),
            prelude: (function.prelude.clone(), hash),
            folders: function.folders.clone(),
            objects,
            entry: (object, offset),
        })
    }

    /// Fails if this machine does not have the prelude that the function was compiled for.
    pub(crate) fn check_prelude(&self) -> Result<(), Diagnostic> {
        let (path, wanted) = &self.prelude;
        let what = match hash_of(Path::new(path)) {
            Ok(found) if found == *wanted => return Ok(()),
            Ok(_) => "it is another build there".to_string(),
            Err(error) => error.to_string(),
        };
        let message = format!("a worker cannot call {}: `{path}` is needed, and {what}", self.name);
        Err(Diagnostic::error(Class::Environment, "cluster-prelude", message)
            .help("the wheels with the toolchain have the same prelude on all machines: install them at the same path"))
    }
}

fn hash_of(path: &Path) -> io::Result<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(fs::File::open(path)?)?;
    Ok(*hasher.finalize().as_bytes())
}
