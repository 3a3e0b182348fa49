//! Kinds of files by their first bytes. A reader that gets another kind of file names the kind and its reader.
//!
//! Text formats have no magic bytes and are not recognised here.

/// A kind of file that starts with magic bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Parquet,
    /// The file format of Arrow IPC, which is Feather 2.
    ArrowFile,
    ArrowStream,
    Feather1,
    Avro,
    Orc,
    /// `xlsx`, `xlsm`, `xlsb`.
    Excel,
    /// `xls` of Excel 97 to 2003, and other compound files of that time.
    OldExcel,
    OpenDocument,
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Zip,
    SevenZip,
    Lz4,
    Sqlite,
    DuckDb,
    Hdf5,
    Numpy,
    Pdf,
    Html,
}

impl FileKind {
    /// The name for messages, with its article.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Parquet => "a Parquet file",
            FileKind::ArrowFile => "an Arrow IPC file (Feather 2)",
            FileKind::ArrowStream => "an Arrow IPC stream",
            FileKind::Feather1 => "a Feather 1 file",
            FileKind::Avro => "an Avro file",
            FileKind::Orc => "an ORC file",
            FileKind::Excel => "an Excel file",
            FileKind::OldExcel => "an Excel file of the old kind (xls)",
            FileKind::OpenDocument => "an OpenDocument spreadsheet",
            FileKind::Gzip => "a gzip file",
            FileKind::Zstd => "a zstd file",
            FileKind::Bzip2 => "a bzip2 file",
            FileKind::Xz => "an xz file",
            FileKind::Zip => "a zip archive",
            FileKind::SevenZip => "a 7z archive",
            FileKind::Lz4 => "an LZ4 file",
            FileKind::Sqlite => "a SQLite database",
            FileKind::DuckDb => "a DuckDB database",
            FileKind::Hdf5 => "an HDF5 file",
            FileKind::Numpy => "a NumPy array",
            FileKind::Pdf => "a PDF document",
            FileKind::Html => "an HTML page",
        }
    }

    /// The function that reads it. `None` if there is none, and for compressed files, whose content decides.
    pub fn reader(self) -> Option<&'static str> {
        Some(match self {
            FileKind::Parquet => "read_parquet",
            FileKind::ArrowFile | FileKind::ArrowStream => "read_ipc",
            FileKind::Avro => "read_avro",
            FileKind::Orc => "read_orc",
            FileKind::Excel | FileKind::OldExcel | FileKind::OpenDocument => "read_excel",
            _ => return None,
        })
    }

    /// What to do with a file that was given to a reader of another kind.
    pub fn help(self) -> String {
        if let Some(reader) = self.reader() {
            return format!("read it with `{reader}`");
        }
        match self {
            FileKind::Feather1 => {
                "read it with pandas and write it again: Feather 1 has not been written since 2020".into()
            }
            FileKind::Gzip
            | FileKind::Zstd
            | FileKind::Bzip2
            | FileKind::Xz
            | FileKind::Zip
            | FileKind::SevenZip
            | FileKind::Lz4 => "unpack it first".into(),
            FileKind::Sqlite | FileKind::DuckDb => {
                "read a table of it: read_database(path, \"select * from t\")".into()
            }
            FileKind::Html => "an error page may have been saved in place of the file: fetch it again".into(),
            _ => "write it as Parquet or CSV with the program that made it, and read that".into(),
        }
    }
}

/// Bytes that are enough for [`kind_of`].
pub(crate) const HEAD: usize = 4096;

const STARTS: &[(&[u8], FileKind)] = &[
    (b"PAR1", FileKind::Parquet),
    (b"PARE", FileKind::Parquet),
    (b"ARROW1", FileKind::ArrowFile),
    (&[0xff; 4], FileKind::ArrowStream),
    (b"FEA1", FileKind::Feather1),
    (b"Obj\x01", FileKind::Avro),
    (b"ORC", FileKind::Orc),
    (&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1], FileKind::OldExcel),
    (&[0x1f, 0x8b], FileKind::Gzip),
    (&[0x28, 0xb5, 0x2f, 0xfd], FileKind::Zstd),
    (b"BZh", FileKind::Bzip2),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], FileKind::Xz),
    (b"7z\xbc\xaf\x27\x1c", FileKind::SevenZip),
    (&[0x04, 0x22, 0x4d, 0x18], FileKind::Lz4),
    (b"SQLite format 3\0", FileKind::Sqlite),
    (b"\x89HDF\r\n\x1a\n", FileKind::Hdf5),
    (b"\x93NUMPY", FileKind::Numpy),
    (b"%PDF-", FileKind::Pdf),
];

/// The kind of a file by its first bytes: [`HEAD`] of them, or the whole file. `None` for text and for what is not known.
pub(crate) fn kind_of(bytes: &[u8]) -> Option<FileKind> {
    if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
        return Some(archive(&bytes[..bytes.len().min(HEAD)]));
    }
    // A text can start with `ORC` or `BZh`. What comes after decides.
    if let Some((start, kind)) = STARTS.iter().find(|(start, _)| bytes.starts_with(start)) {
        let sure = match kind {
            FileKind::Orc => bytes.iter().take(HEAD).any(|byte| *byte < b' ' && !b"\r\n\t".contains(byte)),
            FileKind::Bzip2 => matches!(bytes.get(3..5), None | Some([b'1'..=b'9', b'1' | 0x17])),
            _ => bytes.len() >= start.len(),
        };
        return sure.then_some(*kind);
    }
    if bytes.get(8..12) == Some(b"DUCK") {
        return Some(FileKind::DuckDb);
    }
    let head = bytes[..bytes.len().min(256)].trim_ascii_start().to_ascii_lowercase();
    (head.starts_with(b"<!doctype html") || head.starts_with(b"<html")).then_some(FileKind::Html)
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
        for text in ["", "a,b\n1,2\n", "ORC,b\n", "Object,x\n", "BZhx,y", "PAR,a\n", "{\"a\": 1}", "PK,a\n", "ORC\nx\n"]
        {
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
        assert_eq!(FileKind::OldExcel.help(), "read it with `read_excel`");
    }
}
