//! Arrow IPC: the file format, which is Feather 2, and the stream format. Buffers may be compressed by LZ4 or zstd.
//!
//! A file is read into one buffer, of which uncompressed columns are slices. Sizes in the file are checked before the
//! decoder sees them: it allocates what they say.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow::ipc::{Block, Message, root_as_footer, root_as_message};
use onrush_frame::TaskHandle;
use onrush_wire::plan::FileKind;
use onrush_wire::{Class, Diagnostic};

use crate::file::{FileState, io_diagnostic};
use crate::formats::binary::{Binary, ColumnBatches, PARTS, damaged};
use crate::magic::kind_of;
use crate::memory::Reservation;
use crate::text::{SHARED, read_shared};

pub(crate) const IPC: Binary = Binary {
    name: "an Arrow IPC file",
    kinds: &[FileKind::ArrowFile, FileKind::ArrowStream, FileKind::Feather1],
    open,
};

/// How many times its size a compressed buffer may have.
const RATIO: u64 = 100_000;
/// Bytes of the start of a file: `ARROW1` and padding.
const START: usize = 8;

fn open(file: &FileState, taken: &Reservation<'_>) -> Result<Vec<ColumnBatches>, Diagnostic> {
    let path = &file.path;
    let failed = |e: std::io::Error| io_diagnostic("read", path, &e);
    taken.take(path, file.bytes)?;
    let handle = File::open(path).map_err(failed)?;
    let shared = match file.bytes >= SHARED {
        true => read_shared(path, &handle, file.bytes as usize, &TaskHandle::new())?,
        false => None,
    };
    let bytes = match shared {
        Some(bytes) => bytes,
        None => {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(file.bytes as usize).map_err(|e| {
                Diagnostic::error(
                    Class::Resources,
                    "out-of-memory",
                    format!("`{}` does not fit into memory: {e}", path.display()),
                )
            })?;
            handle.take(file.bytes).read_to_end(&mut bytes).map_err(failed)?;
            bytes
        }
    };
    let kind = kind_of(&bytes);
    let bytes = Buffer::from_vec(bytes);
    let broken = |e: ArrowError| damaged(path, IPC.name, &e.to_string());
    match kind {
        Some(FileKind::ArrowStream) => stream(bytes, path, taken).map_err(broken),
        Some(FileKind::Feather1) => Err(Diagnostic::error(
            Class::Data,
            "unsupported-format",
            format!("`{}` is a Feather 1 file, which is not read", path.display()),
        )
        .help(FileKind::Feather1.help())),
        _ => self::file(bytes, path, taken).map_err(broken),
    }
}

/// Refuses a file of a machine with another byte order: the decoder takes its values as they are.
fn check_byte_order(schema: arrow::ipc::Schema<'_>) -> Result<(), ArrowError> {
    match schema.endianness().equals_to_target_endianness() {
        true => Ok(()),
        false => Err(invalid("it was written on a machine with another order of bytes")),
    }
}

fn invalid(what: &str) -> ArrowError {
    ArrowError::IpcError(what.to_string())
}

/// Counts the memory of a message. The error of too little memory is that of the file.
fn counted(message: Message<'_>, body: &[u8], path: &Path, taken: &Reservation<'_>) -> Result<(), ArrowError> {
    let batch = message.header_as_record_batch();
    let batch = batch.or_else(|| message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data()));
    let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else { return Ok(()) };
    let mut total = 0u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let part = range.and_then(|(at, length)| body.get(at..at.checked_add(length)?));
        let part = part.ok_or_else(|| invalid("a buffer lies behind the end of its message"))?;
        let Some(size) = part.first_chunk::<8>().map(|size| i64::from_le_bytes(*size)) else { continue };
        // -1 stands for a buffer that is not compressed.
        let size = if size == -1 { part.len() as u64 } else { u64::try_from(size).unwrap_or(u64::MAX) };
        if size > (part.len() as u64).saturating_mul(RATIO) {
            return Err(invalid("a compressed buffer has an impossible size"));
        }
        total = total.saturating_add(size);
    }
    taken.take(path, total).map_err(|e| ArrowError::ExternalError(Box::new(e)))
}

/// The schema and a slice of a message in a file: its bytes with the prefix, and the body.
fn block<'a>(bytes: &'a Buffer, block: &Block) -> Option<(Buffer, &'a [u8], &'a [u8])> {
    let at = usize::try_from(block.offset()).ok()?;
    let meta = usize::try_from(block.metaDataLength()).ok()?;
    let body = usize::try_from(block.bodyLength()).ok()?;
    let end = at.checked_add(meta)?.checked_add(body)?;
    let message = bytes.get(at..at.checked_add(meta)?)?;
    // Files before 0.15 have no continuation marker.
    let message = message.get(if message.starts_with(&[0xff; 4]) { 8 } else { 4 }..)?;
    Some((bytes.slice_with_length(at, end.checked_sub(at)?), message, bytes.get(at + meta..end)?))
}

fn file(bytes: Buffer, path: &Path, taken: &Reservation<'_>) -> Result<Vec<ColumnBatches>, ArrowError> {
    let cut = || invalid("its end is not there");
    let tail = bytes.last_chunk::<10>().ok_or_else(cut)?;
    let length = read_footer_length(*tail).map_err(|_| cut())?;
    let end = bytes.len() - tail.len();
    let start = end.checked_sub(length).filter(|start| *start >= START).ok_or_else(cut)?;
    let footer = root_as_footer(&bytes[start..end]).map_err(|e| invalid(&format!("its footer is damaged: {e}")))?;
    let schema = footer.schema().ok_or_else(|| invalid("its footer has no schema"))?;
    check_byte_order(schema)?;
    let schema: SchemaRef = Arc::new(fb_to_schema(schema));
    let outside = || invalid("a message lies behind the end of the file");
    let checked = |at: &Block| {
        let (slice, message, body) = block(&bytes, at).ok_or_else(outside)?;
        let message = root_as_message(message).map_err(|e| invalid(&format!("a message is damaged: {e}")))?;
        counted(message, body, path, taken)?;
        Ok::<_, ArrowError>(slice)
    };
    let blocks = footer.recordBatches().into_iter().flatten();
    let blocks = blocks.map(|at| Ok((*at, checked(at)?))).collect::<Result<Vec<_>, ArrowError>>()?;
    let blocks: Arc<[(Block, Buffer)]> = blocks.into();
    let part = |schema: SchemaRef, decoder: FileDecoder| {
        let blocks = Arc::clone(&blocks);
        let batches = (0..blocks.len()).filter_map(move |i| {
            let (at, slice) = &blocks[i];
            decoder.read_record_batch(at, slice).transpose()
        });
        ColumnBatches { schema, batches: Box::new(batches) }
    };
    let decoder = || FileDecoder::new(Arc::clone(&schema), footer.version());
    let columns: Vec<usize> = (0..schema.fields().len()).collect();
    let mut dictionaries = footer.dictionaries().into_iter().flatten().peekable();
    if columns.is_empty() || dictionaries.peek().is_some() {
        // A decoder holds all dictionaries of the file: one for each part would decode them several times.
        let mut decoder = decoder();
        for at in dictionaries {
            decoder.read_dictionary(at, &checked(at)?)?;
        }
        return Ok(vec![part(Arc::clone(&schema), decoder)]);
    }
    let parts = columns.chunks(columns.len().div_ceil(PARTS)).map(|columns| {
        let projected = Arc::new(schema.project(columns)?);
        Ok(part(projected, decoder().with_projection(columns.to_vec())))
    });
    parts.collect()
}

fn stream(bytes: Buffer, path: &Path, taken: &Reservation<'_>) -> Result<Vec<ColumnBatches>, ArrowError> {
    check_stream(&bytes, path, taken)?;
    let mut decoder = StreamDecoder::new();
    let mut rest = bytes;
    let mut batches: Vec<RecordBatch> = Vec::new();
    while !rest.is_empty() {
        match decoder.decode(&mut rest)? {
            Some(batch) => batches.push(batch),
            None => break,
        }
    }
    let schema = decoder.schema().ok_or_else(|| invalid("it has no schema"))?;
    Ok(vec![ColumnBatches { schema, batches: Box::new(batches.into_iter().map(Ok)) }])
}

/// Follows the messages of a stream to its end.
fn check_stream(bytes: &Buffer, path: &Path, taken: &Reservation<'_>) -> Result<(), ArrowError> {
    let cut = || invalid("its last message is cut off");
    let mut at = 0;
    while at < bytes.len() {
        let number =
            |at: usize| bytes.get(at..at + 4).and_then(|n| n.first_chunk::<4>()).map(|n| u32::from_le_bytes(*n));
        let mut length = number(at).ok_or_else(cut)?;
        at += 4;
        if length == u32::MAX {
            length = number(at).ok_or_else(cut)?;
            at += 4;
        }
        if length == 0 {
            return Ok(());
        }
        let end = at.checked_add(length as usize).ok_or_else(cut)?;
        let message = bytes.get(at..end).ok_or_else(cut)?;
        let message = root_as_message(message).map_err(|e| invalid(&format!("a message is damaged: {e}")))?;
        message.header_as_schema().map_or(Ok(()), check_byte_order)?;
        let body = usize::try_from(message.bodyLength()).ok().and_then(|body| end.checked_add(body)).ok_or_else(cut)?;
        counted(message, bytes.get(end..body).ok_or_else(cut)?, path, taken)?;
        at = body;
    }
    Ok(())
}
