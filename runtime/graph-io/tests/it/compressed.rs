//! Compressed files.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use onrush_graph_io::{Error, load_up_to};

#[test]
fn a_decompression_bomb_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.edgelist.gz");
    // 40 MB of spaces in 40 KB.
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(" ".repeat(40 << 20).as_bytes()).unwrap();
    std::fs::write(&path, encoder.finish().unwrap()).unwrap();
    let Err(Error::Content { message, help, .. }) = load_up_to(&path, 32 << 20) else { panic!("it was read") };
    assert_eq!(message, "decompressed, it has more than 32 MiB, the limit");
    assert_eq!(help.unwrap(), "decompress the file before reading it");
    assert_eq!(load_up_to(&path, 40 << 20).unwrap().len(), 40 << 20);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(load_up_to(&path, 40 << 20), Err(Error::Io { .. })), "a file that is cut off was read");
}
