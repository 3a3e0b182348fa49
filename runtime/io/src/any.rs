//! The format of a file, by its first bytes and its extension.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use onrush_wire::plan::{CsvOptions, ExcelOptions, Format, ParquetOptions};
use onrush_wire::{Class, Diagnostic};

use crate::cache::{FileState, io_diagnostic};
use crate::magic::{FileKind, HEAD, kind_of};

/// Extensions of compressed text.
const COMPRESSED: &[&str] = &["gz", "zst", "bz2", "xz", "zip"];

/// Extensions of the files that a folder of a format has. `None`: folders are not read.
pub(crate) fn extensions(format: &Format) -> Option<&'static [&'static str]> {
    Some(match format {
        Format::Any => &[
            "csv", "tsv", "tab", "json", "jsonl", "ndjson", "parquet", "pq", "parq", "arrow", "feather", "ipc",
            "arrows", "avro", "orc",
        ],
        Format::Csv(_) => &["csv", "tsv", "tab"],
        Format::Parquet(_) => &["parquet", "pq", "parq"],
        Format::JsonLines | Format::JsonAt(_) => &["json", "jsonl", "ndjson"],
        Format::Ipc => &["arrow", "feather", "ipc", "arrows"],
        Format::Avro => &["avro"],
        Format::Orc => &["orc"],
        Format::Excel(_) => &["xlsx", "xlsm", "xlsb", "xls", "ods"],
        Format::Sheets | Format::Graph { .. } | Format::Database { .. } => return None,
    })
}

/// The extension of a name in small letters, without that of a compression.
pub(crate) fn extension(path: &Path) -> String {
    let lower = |path: &Path| path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let last = lower(path);
    if COMPRESSED.contains(&last.as_str()) {
        path.file_stem().map(|s| lower(Path::new(s))).unwrap_or(last)
    } else {
        last
    }
}

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
    match kind {
        Some(FileKind::Parquet) => return Ok(Format::Parquet(ParquetOptions::default())),
        Some(FileKind::ArrowFile | FileKind::ArrowStream | FileKind::Feather1) => return Ok(Format::Ipc),
        Some(FileKind::Avro) => return Ok(Format::Avro),
        Some(FileKind::Orc) => return Ok(Format::Orc),
        Some(FileKind::Excel | FileKind::OldExcel | FileKind::OpenDocument) => {
            return Ok(Format::Excel(ExcelOptions::default()));
        }
        _ => {}
    }
    Ok(match extension(path).as_str() {
        "csv" | "txt" => Format::Csv(CsvOptions::default()),
        "tsv" | "tab" => Format::Csv(CsvOptions { separator: '\t', ..CsvOptions::default() }),
        "json" | "jsonl" | "ndjson" => Format::JsonLines,
        // Their readers have the error of an empty or damaged file.
        "parquet" | "pq" | "parq" => Format::Parquet(ParquetOptions::default()),
        "arrow" | "feather" | "ipc" | "arrows" => Format::Ipc,
        "avro" => Format::Avro,
        "orc" => Format::Orc,
        "xlsx" | "xlsm" | "xlsb" | "xls" | "ods" => Format::Excel(ExcelOptions::default()),
        _ if head.trim_ascii_start().starts_with(b"{") => Format::JsonLines,
        other => {
            let what = match kind {
                Some(kind) => format!("it is {}", kind.name()),
                None if other.is_empty() => "it has no extension".to_string(),
                None => format!("`.{other}` is not an extension that is known"),
            };
            let message = format!("the format of `{}` is not known: {what}", path.display());
            let error = Diagnostic::error(Class::Data, "unknown-format", message);
            return Err(match kind {
                Some(kind) => error.help(kind.help()),
                None => error.help(
                    "name the reader: read_csv, read_json, read_parquet, read_ipc, read_avro, read_orc, read_excel",
                ),
            });
        }
    })
}

/// The function that reads a format.
pub(crate) fn reader(format: &Format) -> &'static str {
    match format {
        Format::Any => "read",
        Format::Csv(_) => "read_csv",
        Format::Parquet(_) => "read_parquet",
        Format::JsonLines | Format::JsonAt(_) => "read_json",
        Format::Excel(_) => "read_excel",
        Format::Sheets => "sheets",
        Format::Ipc => "read_ipc",
        Format::Avro => "read_avro",
        Format::Orc => "read_orc",
        Format::Graph { .. } => "read_graph",
        Format::Database { .. } => "read_database",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_are_those_inside_of_a_compression() {
        for (name, expected) in
            [("a.CSV", "csv"), ("a.tsv.gz", "tsv"), ("b/c.jsonl.zst", "jsonl"), ("x.gz", ""), ("x", "")]
        {
            assert_eq!(extension(Path::new(name)), expected, "{name}");
        }
    }
}
