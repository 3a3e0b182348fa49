//! Compiled kernels on disk.

use std::fs;

use onrush_kernels::DiskCache;

#[test]
fn a_damaged_file_is_a_miss() {
    let folder = tempfile::tempdir().unwrap();
    let cache = DiskCache::new(Some(folder.path()));
    let key = blake3::hash(b"source and options");
    assert_eq!(cache.get(&key), None);
    cache.put(&key, b"machine code");
    assert_eq!(cache.get(&key).as_deref(), Some(&b"machine code"[..]));
    let path = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&path).unwrap();
    for damage in [whole.len() - 1, 3, 20] {
        let mut bytes = whole.clone();
        bytes[damage] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(cache.get(&key), None, "byte {damage}");
    }
    fs::write(&path, &whole[..10]).unwrap();
    assert_eq!(cache.get(&key), None);
    // The file is written again.
    cache.put(&key, b"machine code");
    assert_eq!(cache.get(&key).as_deref(), Some(&b"machine code"[..]));
}
