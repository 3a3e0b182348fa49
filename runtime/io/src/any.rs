//! The format of a file, by its first bytes and its extension.

use std::fs::File;
use std::io::Read;

use onrush_wire::plan::{FORMATS, Format, FormatKind};
use onrush_wire::{Class, Diagnostic};

use crate::file::{FileState, extension, io_diagnostic};
use crate::magic::{HEAD, kind_of};

/// The format of files: that of the first one.
///
/// # Errors
/// If neither the first bytes nor the extension say it.
pub(crate) fn format_of(files: &[FileState]) -> Result<Format, Diagnostic> {
    let path = &files[0].path;
    let failed = |e: std::io::Error| io_diagnostic("read", path, &e);
    let mut head = Vec::with_capacity(HEAD);
    File::open(path).map_err(failed)?.take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
    let kind = kind_of(&head);
    let extension = extension(path);
    // Without magic bytes the reader of the extension has the error of an empty or damaged file.
    let format = kind.and_then(|kind| kind.info().format).or_else(|| FormatKind::of_extension(&extension));
    if let Some(format) = format {
        return Ok((format.info().format)(&extension));
    }
    if head.trim_ascii_start().starts_with(b"{") {
        return Ok(Format::JsonLines);
    }
    let what = match kind {
        Some(kind) => format!("it is {}", kind.name()),
        None if extension.is_empty() => "it has no extension".to_string(),
        None => format!("`.{extension}` is not an extension that is known"),
    };
    let message = format!("the format of `{}` is not known: {what}", path.display());
    let error = Diagnostic::error(Class::Data, "unknown-format", message);
    Err(match kind {
        Some(kind) => error.help(kind.help()),
        None => {
            let readers: Vec<&str> = FORMATS.iter().map(|info| info.readers[0]).collect();
            error.help(format!("name the reader: {}", readers.join(", ")))
        }
    })
}
