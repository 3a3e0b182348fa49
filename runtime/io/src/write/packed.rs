//! Text that is compressed while it is written, by the extension of the file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use onrush_wire::{Class, Diagnostic};

/// zstd's default, as for Parquet.
const ZSTD_LEVEL: i32 = 3;

/// A file of text, compressed or not.
pub(super) enum PackedFile {
    Plain(BufWriter<File>),
    Gzip(flate2::write::GzEncoder<BufWriter<File>>),
    Zstd(zstd::stream::write::Encoder<'static, BufWriter<File>>),
    Bzip2(bzip2::write::BzEncoder<BufWriter<File>>),
}

impl PackedFile {
    /// `.gz`, `.zst` and `.bz2` are compressed.
    ///
    /// # Errors
    /// An extension of a compression that is not written.
    pub fn by_name(path: &Path, file: BufWriter<File>) -> Result<PackedFile, Diagnostic> {
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        Ok(match extension.as_str() {
            "gz" | "gzip" => PackedFile::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default())),
            "zst" | "zstd" => PackedFile::Zstd(
                zstd::stream::write::Encoder::new(file, ZSTD_LEVEL)
                    .map_err(|e| crate::file::io_diagnostic("written", path, &e))?,
            ),
            "bz2" => PackedFile::Bzip2(bzip2::write::BzEncoder::new(file, bzip2::Compression::default())),
            "zip" | "xz" | "7z" | "lz4" | "br" | "lzma" => {
                let message = format!("`{}`: `.{extension}` is not written", path.display());
                return Err(Diagnostic::error(Class::Plan, "bad-option", message)
                    .help("use .gz, .zst or .bz2 for a compressed file"));
            }
            _ => PackedFile::Plain(file),
        })
    }

    /// Ends the compressed text.
    pub fn finish(self) -> io::Result<BufWriter<File>> {
        match self {
            PackedFile::Plain(file) => Ok(file),
            PackedFile::Gzip(encoder) => encoder.finish(),
            PackedFile::Zstd(encoder) => encoder.finish(),
            PackedFile::Bzip2(encoder) => encoder.finish(),
        }
    }

    fn inner(&mut self) -> &mut dyn Write {
        match self {
            PackedFile::Plain(file) => file,
            PackedFile::Gzip(encoder) => encoder,
            PackedFile::Zstd(encoder) => encoder,
            PackedFile::Bzip2(encoder) => encoder,
        }
    }
}

impl Write for PackedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.inner().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner().flush()
    }
}
