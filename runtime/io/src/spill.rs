//! Files for the rows that operators spill to disk. They have no name in any folder, so nothing is left on disk however
//! the process ends.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::spill_file::{SpillFile, SpillWriter, TempFileFactory};
use futures::{Stream, stream};

/// Bytes of a read. Each read is a task of a thread for blocking calls.
const BLOCK: usize = 256 << 10;

/// Spills into files of `folder`. `None`: the system's folder for temporary files.
pub fn disk_manager(folder: Option<PathBuf>) -> DiskManagerBuilder {
    let folder = folder.unwrap_or_else(std::env::temp_dir);
    DiskManagerBuilder::default().with_temp_file_factory(Arc::new(UnnamedFiles { folder }))
}

struct UnnamedFiles {
    folder: PathBuf,
}

impl TempFileFactory for UnnamedFiles {
    fn create_temp_file(&self, _: &str) -> Result<Arc<dyn SpillFile>> {
        let file = tempfile::tempfile_in(&self.folder).map_err(|error| {
            let message = format!("rows cannot be spilled to `{}`: {error}", self.folder.display());
            DataFusionError::IoError(io::Error::new(error.kind(), message))
        })?;
        Ok(Arc::new(UnnamedFile { file: Arc::new(file), bytes: Arc::default() }))
    }
}

struct UnnamedFile {
    file: Arc<File>,
    bytes: Arc<AtomicU64>,
}

impl SpillFile for UnnamedFile {
    fn size(&self) -> Option<u64> {
        Some(self.bytes.load(Ordering::Relaxed))
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        // Each reader keeps a separate offset.
        let start = (Arc::clone(&self.file), 0);
        Ok(Box::pin(stream::try_unfold(start, |(file, at)| async move {
            let read = tokio::task::spawn_blocking(move || {
                let mut block = vec![0; BLOCK];
                let read = file.read_at(&mut block, at)?;
                block.truncate(read);
                io::Result::Ok((file, block))
            });
            let (file, block) = read.await.map_err(|e| DataFusionError::External(Box::new(e)))??;
            let next = at + block.len() as u64;
            Ok((!block.is_empty()).then(|| (Bytes::from(block), (file, next))))
        })))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        Ok(Box::new(Writer { file: Arc::clone(&self.file), bytes: Arc::clone(&self.bytes) }))
    }
}

struct Writer {
    file: Arc<File>,
    bytes: Arc<AtomicU64>,
}

impl Write for Writer {
    fn write(&mut self, rows: &[u8]) -> io::Result<usize> {
        let written = (&*self.file).write(rows)?;
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SpillWriter for Writer {
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}
