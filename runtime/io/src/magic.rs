//! The kind of a file by its first bytes. A reader that gets another kind of file names the kind and its reader.
//!
//! The bytes and names are in the vocabulary ([`FILE_KINDS`]). Text formats have no magic bytes and are not recognised
//! here.

use onrush_wire::plan::{FILE_KINDS, FileKind};

/// Bytes that are enough for [`kind_of`].
pub(crate) const HEAD: usize = 4096;

/// The kind of a file by its first bytes: [`HEAD`] of them, or the whole file. `None` for text and for what is not
/// known.
pub(crate) fn kind_of(bytes: &[u8]) -> Option<FileKind> {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return Some(archive(&bytes[..bytes.len().min(HEAD)]));
    }
    // A text can start with `ORC` or `BZh`. The bytes behind it decide.
    let mut starts = FILE_KINDS.iter().flat_map(|info| info.starts.iter().map(move |start| (info.kind, start)));
    if let Some((kind, start)) = starts.find(|(_, start)| bytes.starts_with(start)) {
        let sure = match kind {
            FileKind::Orc => !is_text(&bytes[..bytes.len().min(HEAD)]),
            FileKind::Bzip2 => matches!(bytes.get(3..5), None | Some([b'1'..=b'9', b'1' | 0x17])),
            kind if kind.info().format.is_some() && start.is_ascii() && is_text(start) => {
                bytes.len() == start.len() || !is_text(&bytes[..bytes.len().min(HEAD)])
            }
            _ => true,
        };
        return sure.then_some(kind);
    }
    if bytes.get(8..12) == Some(b"DUCK") {
        return Some(FileKind::DuckDb);
    }
    let head = bytes[..bytes.len().min(256)].trim_ascii_start().to_ascii_lowercase();
    (head.starts_with(b"<!doctype html") || head.starts_with(b"<html")).then_some(FileKind::Html)
}

/// Whether bytes may be text: they have no control characters but line ends and tabs.
fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| *byte < b' ' && !b"\r\n\t".contains(byte))
}

/// A zip archive by the names of its first members.
fn archive(head: &[u8]) -> FileKind {
    let name = head.get(30..).unwrap_or_default();
    let has = |text: &[u8]| memchr::memmem::find(head, text).is_some();
    if name.starts_with(b"mimetype") && has(b"opendocument.spreadsheet") {
        return FileKind::OpenDocument;
    }
    let is_office = [&b"xl/"[..], b"[Content_Types].xml", b"_rels/.rels", b"docProps/"];
    // A Word document has the same first members.
    if is_office.iter().any(|start| name.starts_with(start)) && !has(b"word/") && !has(b"ppt/") {
        return FileKind::Excel;
    }
    FileKind::Zip
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_of_no_kind() {
        for text in [
            "",
            "a,b\n1,2\n",
            "ORC,b\n",
            "Object,x\n",
            "BZhx,y",
            "PAR,a\n",
            "{\"a\": 1}",
            "PK,a\n",
            "ORC\nx\n",
            "PARENT,CHILD\n",
            "ARROW1,b\n",
        ] {
            assert_eq!(kind_of(text.as_bytes()), None, "{text}");
        }
    }

    /// The bytes are those of the formats' specifications.
    #[test]
    fn kinds_by_their_first_bytes() {
        assert_eq!(kind_of(b"PAR1\x15\x04"), Some(FileKind::Parquet));
        assert_eq!(kind_of(b"ARROW1\0\0"), Some(FileKind::ArrowFile));
        assert_eq!(kind_of(b"Obj\x01\x04\x14avro.codec"), Some(FileKind::Avro));
        assert_eq!(kind_of(b"ORC\x08\x03"), Some(FileKind::Orc));
        assert_eq!(kind_of(b"BZh91AY&SY"), Some(FileKind::Bzip2));
        assert_eq!(kind_of(b"\n<!DOCTYPE HTML><html>"), Some(FileKind::Html));
        let zip = |name: &str| {
            let mut bytes = b"PK\x03\x04".to_vec();
            bytes.resize(30, 0);
            bytes.extend(name.as_bytes());
            kind_of(&bytes)
        };
        assert_eq!(zip("[Content_Types].xml"), Some(FileKind::Excel));
        assert_eq!(zip("mimetypeapplication/vnd.oasis.opendocument.spreadsheet"), Some(FileKind::OpenDocument));
        assert_eq!(zip("plain.csv"), Some(FileKind::Zip));
    }
}
