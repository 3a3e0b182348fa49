//! Shared memory: sealed, and refused if it is none.

use std::fs::File;
use std::io::Write;

use onrush_session::memfd::{keep, length, read, sealed};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

#[test]
fn sealed_memory_cannot_be_changed() {
    let memory = sealed("test", b"abc").unwrap();
    assert_eq!(length(&memory).unwrap(), 3);
    let mut file = File::from(memory.try_clone().unwrap());
    assert!(file.write_all(b"x").is_err());
    assert!(file.set_len(0).is_err());
    assert_eq!(read(&keep(memory).unwrap()).unwrap(), b"abc");
}

#[test]
fn what_is_no_memory_or_says_that_it_is_huge_is_refused() {
    let huge = File::from(memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap());
    huge.set_len(1 << 42).unwrap();
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW;
    fcntl_add_seals(&huge, seals).unwrap();
    assert!(read(&huge.try_clone().unwrap().into()).unwrap_err().to_string().contains("ONRUSH_MEMORY"));
    assert!(keep(huge.into()).unwrap_err().to_string().contains("they have 4.4 TB"));
    let endless = File::open("/dev/zero").unwrap();
    assert!(keep(endless.into()).unwrap_err().to_string().contains("not shared memory"));
    let open = File::from(memfd_create("test", MemfdFlags::CLOEXEC).unwrap());
    (&open).write_all(b"abc").unwrap();
    assert_eq!(read(&keep(open.into()).unwrap()).unwrap(), b"abc");
}
