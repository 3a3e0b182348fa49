//! Locks in variables whose holder is gone. After a failed cell, threads of earlier cells do not run any more, and
//! their locks would stay locked for ever.
//!
//! Known types are `Mutex` and `RwLock` of the standard library, as variables and in an `Arc`. A lock inside of a value
//! of another type stays as it is: nothing says where it lies.

use std::any::{Any, type_name};
use std::mem::size_of;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, RwLock};

/// Before the value of an `Arc` stand two counters.
const COUNTERS: usize = 2 * size_of::<usize>();

/// The names of the types that are known, up to what they hold.
struct KnownTypes {
    locks: Vec<&'static str>,
    arc: Option<&'static str>,
}

/// The first word of a lock.
fn word<L>(lock: &L) -> u32 {
    // SAFETY: the locks that are asked for are at least a word, which is aligned and initialised.
    unsafe { &*std::ptr::from_ref(lock).cast::<AtomicU32>() }.load(Ordering::Relaxed)
}

/// Only those that look as expected with this standard library: a lock begins with a word that is 0 while nobody holds
/// it. That does not depend on what is locked, which comes last because it may be unsized.
fn known() -> KnownTypes {
    let before = |name: &'static str| name.strip_suffix("u8>");
    let mut locks = Vec::new();
    let (small, large) = (Mutex::new(0u8), Mutex::new(0u128));
    let free = word(&small) == 0 && word(&large) == 0;
    let (held, held_too) = (small.lock(), large.lock());
    if free && word(&small) == 1 && word(&large) == 1 {
        locks.extend(before(type_name::<Mutex<u8>>()));
    }
    drop((held, held_too));
    let (small, large) = (RwLock::new(0u8), RwLock::new(0u128));
    let free = word(&small) == 0 && word(&large) == 0;
    let (held, held_too) = (small.write(), large.read());
    if free && word(&small) != 0 && word(&large) != 0 {
        locks.extend(before(type_name::<RwLock<u8>>()));
    }
    drop((held, held_too));
    let shared = Arc::new(0u8);
    // SAFETY: an `Arc` of a sized value is one pointer.
    let inner = unsafe { std::ptr::from_ref(&shared).cast::<usize>().read() };
    let as_expected = size_of::<Arc<u8>>() == size_of::<usize>() && inner + COUNTERS == Arc::as_ptr(&shared).addr();
    KnownTypes { locks, arc: before(type_name::<Arc<u8>>()).filter(|_| as_expected) }
}

/// Opens what is locked, and gives the names of these variables.
///
/// # Safety
/// No other thread runs, and no code of a cell does. The type names are those of the values.
pub unsafe fn open<'a>(variables: impl Iterator<Item = (&'a str, &'static str, &'a dyn Any)>) -> Vec<String> {
    let known = known();
    let mut opened = Vec::new();
    for (name, type_name, value) in variables {
        let address = std::ptr::from_ref(value).cast::<u8>();
        let inner = known.arc.and_then(|arc| type_name.strip_prefix(arc));
        if !known.locks.iter().any(|lock| inner.unwrap_or(type_name).starts_with(lock)) {
            continue;
        }
        let lock = match inner {
            // SAFETY: by its name an `Arc`, which is one pointer to the counters and the value. One whose value must be
            // aligned to more than the counters has padding there, which may be written, too.
            Some(_) => unsafe { address.cast::<*const u8>().read().add(COUNTERS) },
            None => address,
        };
        // SAFETY: by its name a lock, which begins with this word; nobody uses it.
        let word = unsafe { &*lock.cast::<AtomicU32>() };
        if word.swap(0, Ordering::Relaxed) != 0 {
            opened.push(name.to_string());
        }
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named<'a, T: 'static>(name: &'a str, value: &'a T) -> (&'a str, &'static str, &'a dyn Any) {
        (name, type_name::<T>(), value)
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "guards that a thread holds that is gone")]
    fn held_locks_are_opened_and_nothing_else_is_touched() {
        let (mutex, shared) = (Mutex::new(vec![1]), Arc::new(Mutex::new([0u8; 3])));
        let (read, written) = (Arc::new(RwLock::new(1u64)), RwLock::new(String::from("text")));
        let (free, number, arc) = (Mutex::new(1), 7u32, Arc::new(9u64));
        std::mem::forget(mutex.lock().unwrap());
        std::mem::forget(shared.lock().unwrap());
        std::mem::forget(read.read().unwrap());
        std::mem::forget(written.write().unwrap());
        let variables = [
            named("mutex", &mutex),
            named("shared", &shared),
            named("read", &read),
            named("written", &written),
            named("free", &free),
            named("number", &number),
            named("arc", &arc),
        ];
        // SAFETY: the locks are this thread's own.
        let opened = unsafe { open(variables.into_iter()) };
        assert_eq!(opened, ["mutex", "shared", "read", "written"]);
        assert_eq!((mutex.try_lock().unwrap().len(), shared.try_lock().unwrap().len()), (1, 3));
        assert_eq!((*read.try_write().unwrap(), written.try_write().unwrap().as_str()), (1, "text"));
        assert_eq!((*free.lock().unwrap(), number, *arc), (1, 7, 9));
    }
}
