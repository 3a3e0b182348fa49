//! Rows in shared memory: results are mapped, and read as Arrow arrays in place; frames of Rust values are written
//! there.

use std::fs::File;
use std::io::BufWriter;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::compute::concat_batches;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::{FileDecoder, read_footer_length};
use arrow::ipc::writer::StreamWriter;
use arrow::ipc::{Block, root_as_footer};
use onrush_wire::{Class, Diagnostic};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

fn damaged(what: impl std::fmt::Display) -> Diagnostic {
    Diagnostic::error(Class::Internal, "shared-memory", "the session's result could not be read")
        .note(what.to_string())
        .help("restart the kernel: the session may be of another version")
}

/// The rows of a result: an Arrow IPC file in `inline` or in the memory behind `descriptor`.
pub fn batch(inline: Option<Vec<u8>>, descriptor: Option<OwnedFd>, bytes: u64) -> Result<RecordBatch, Diagnostic> {
    let buffer = match (inline, descriptor) {
        (Some(bytes), _) => Buffer::from_vec(bytes),
        (None, Some(descriptor)) => map(File::from(descriptor), bytes)?,
        (None, None) => return Err(damaged("no shared memory came with it")),
    };
    decode(&buffer).map_err(damaged)
}

/// All bytes of shared memory.
pub fn bytes(descriptor: OwnedFd) -> Result<Vec<u8>, Diagnostic> {
    use std::io::{Read as _, Seek as _};
    let mut file = File::from(descriptor);
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).map_err(damaged)?;
    Ok(bytes)
}

/// Rows on their way to the session.
pub enum Stream {
    Inline(Vec<u8>),
    Shared(OwnedFd),
}

/// Above this size rows travel in shared memory.
const INLINE: usize = 256 << 10;

/// An Arrow IPC stream of the batch's rows.
pub fn stream(batch: &RecordBatch) -> Result<Stream, Diagnostic> {
    let refused = |what: &dyn std::fmt::Display| {
        Diagnostic::error(Class::Resources, "shared-memory", "these rows cannot be sent to the session")
            .note(what.to_string())
    };
    if batch.get_array_memory_size() <= INLINE {
        let mut bytes = Vec::new();
        write(batch, &mut bytes).map_err(|e| refused(&e))?;
        return Ok(Stream::Inline(bytes));
    }
    let memory =
        memfd_create("onrush-values", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).map_err(|e| refused(&e))?;
    let mut out = BufWriter::with_capacity(1 << 20, File::from(memory));
    write(batch, &mut out).map_err(|e| refused(&e))?;
    let memory = OwnedFd::from(out.into_inner().map_err(|e| refused(&e))?);
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    fcntl_add_seals(&memory, seals).map_err(|e| refused(&e))?;
    Ok(Stream::Shared(memory))
}

fn write(batch: &RecordBatch, out: impl std::io::Write) -> Result<(), arrow::error::ArrowError> {
    let mut writer = StreamWriter::try_new(out, &batch.schema())?;
    writer.write(batch)?;
    writer.finish()
}

fn map(file: File, bytes: u64) -> Result<Buffer, Diagnostic> {
    let length = file.metadata().map_err(damaged)?.len();
    if length < bytes || bytes == 0 {
        return Err(damaged(format!("{length} bytes of shared memory where {bytes} were announced")));
    }
    // SAFETY: the session seals the memory against writing and shrinking before it sends the descriptor. The mapped
    // bytes never change and never go away while the mapping lives. The mapping is read-only.
    let mapping = unsafe { memmap2::Mmap::map(&file) }.map_err(damaged)?;
    Ok(Buffer::from(bytes::Bytes::from_owner(mapping)))
}

fn decode(buffer: &Buffer) -> Result<RecordBatch, Box<dyn std::error::Error>> {
    let length = buffer.len();
    let trailer: [u8; 10] = buffer.get(length.saturating_sub(10)..).ok_or("no trailer")?.try_into()?;
    let footer_length = read_footer_length(trailer)?;
    let start = length.checked_sub(10 + footer_length).ok_or("the footer is longer than the file")?;
    let footer = root_as_footer(&buffer[start..length - 10]).map_err(|e| e.to_string())?;
    let schema = Arc::new(fb_to_schema(footer.schema().ok_or("no schema")?));
    let slice = |block: &Block| {
        let (offset, size) = (block.offset() as usize, block.bodyLength() as usize + block.metaDataLength() as usize);
        if offset.checked_add(size).is_none_or(|end| end > length) {
            return Err("a block lies outside of the file");
        }
        Ok(buffer.slice_with_length(offset, size))
    };
    let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
    for block in footer.dictionaries().iter().flatten() {
        decoder.read_dictionary(block, &slice(block)?)?;
    }
    let mut batches = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        batches.extend(decoder.read_record_batch(block, &slice(block)?)?);
    }
    Ok(match batches.len() {
        1 => batches.swap_remove(0),
        _ => concat_batches(&schema, &batches)?,
    })
}
