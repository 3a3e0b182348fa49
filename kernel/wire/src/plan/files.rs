//! Files to read and to write: their formats and the options of most of them.

use serde::{Deserialize, Serialize};

use super::{CsvOptions, IfExists};

/// Files to read. `path` may hold `*`, `?`, `[...]` and `**`; relative paths are relative to `folder`, the cell
/// process's working folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// With its password, if it is the address of a database: [`database_name`](super::database_name) is for messages.
    pub path: String,
    pub folder: String,
    pub format: Format,
    /// The canonical address of the cluster whose workers read the files. `None`: the session reads them.
    pub cluster: Option<String>,
}

/// A file as it was when it was read: the lineage of a frame has one for each of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Absolute, without links.
    pub path: String,
    pub bytes: u64,
    /// Nanoseconds since 1970.
    pub modified: u128,
    /// The file system's number of the file, and nanoseconds from 1970 to the last change of its content, name or
    /// rights. No program can set them. Both are 0 for copies of files in other places, whose name stands for the
    /// content.
    pub inode: u64,
    pub changed: u128,
    /// A hash of all bytes of a file of at most 8 MiB, else of blocks that are spread over it.
    pub hash: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Format {
    /// By the extension and the first bytes of the first file.
    Any,
    Csv(CsvOptions),
    Parquet(ParquetOptions),
    /// JSON lines, one array of objects, or objects one after another.
    JsonLines,
    /// As [`Format::JsonLines`], of the value under a path of keys with points between them: `data.records`.
    JsonAt(String),
    /// A sheet of a workbook: xlsx, xlsm, xlsb, xls, ods.
    Excel(ExcelOptions),
    /// The names of the sheets of a workbook.
    Sheets,
    /// Arrow IPC, file or stream; Feather 2.
    Ipc,
    Avro,
    Orc,
    /// A file of a graph. `format` is the name of the format (`graphml`, `gexf`, ...) if the extension does not say it.
    Graph {
        format: Option<String>,
        part: GraphPart,
    },
    /// The rows of a query. The path is the address of a database.
    Database {
        query: String,
    },
    /// Text with columns of fixed width.
    FixedWidth(FixedWidthOptions),
}

/// The part of a file of a graph that a frame has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphPart {
    /// One row: whether the graph is `directed`, and whether its edges are `weighted`.
    Kind,
    /// `node`, then the columns of the nodes.
    Nodes,
    /// `source` and `target`, then the columns of the edges.
    Edges,
}

/// The target of a written frame. The file appears under its name when it is complete.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sink {
    pub path: String,
    pub folder: String,
    pub format: SinkFormat,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum SinkFormat {
    /// By the extension.
    Any,
    Csv {
        separator: char,
        header: bool,
        null: String,
    },
    /// `compression`: `zstd`, `snappy`, `lz4`, `gzip`, `brotli` or `none`.
    /// `row_group_rows`: the most rows of a row group, 1,048,576 if not given.
    Parquet {
        compression: String,
        row_group_rows: Option<u64>,
    },
    JsonLines,
    /// The file format of Arrow IPC. `compression`: `none`, `lz4` or `zstd`.
    Ipc {
        compression: String,
    },
    /// `compression`: `snappy`, `deflate`, `zstd`, `bzip2` or `none`.
    Avro {
        compression: String,
    },
    /// `compression`: `zstd`, `zlib`, `snappy`, `lz4` or `none`.
    Orc {
        compression: String,
    },
    Excel {
        sheet: String,
    },
    /// Files in folders `key=value`, one level for each column of `by`. The path is a folder.
    Folders {
        by: Vec<String>,
        format: Box<SinkFormat>,
    },
    /// One array of objects.
    JsonArray,
    /// A table. The path is the address of a database.
    Database {
        table: String,
        if_exists: IfExists,
    },
}

/// Options for Parquet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParquetOptions {
    /// Whether folders named `key=value` give columns. `None`: for folders and patterns, and not for a single file.
    pub hive: Option<bool>,
    /// Columns that a file lacks are null. Without it, all files must have the same columns.
    pub union_by_name: bool,
    /// Keep only these columns, in this order, if not empty.
    pub columns: Vec<String>,
}

/// Options for text with columns of fixed width.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FixedWidthOptions {
    /// The columns from the left: the first character from 0, and the one behind the last. Empty: the first 100 lines
    /// say them.
    pub columns: Vec<(u64, u64)>,
    /// The options of the text within the columns. Separators and quotes are not used.
    pub text: CsvOptions,
}

/// Extensions of compressed text that is read.
pub const COMPRESSED: &[&str] = &["gz", "zst", "bz2", "xz", "zip"];

/// Options for workbooks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExcelOptions {
    pub sheet: Sheet,
    /// Cells such as `B3:F200`, `B:F` or `3:200`. `None`: all cells that are used.
    pub range: Option<String>,
    pub has_header: bool,
    /// Keep only these columns, in this order, if not empty.
    pub columns: Vec<String>,
    pub limit: Option<u64>,
}

impl Default for ExcelOptions {
    fn default() -> Self {
        ExcelOptions { sheet: Sheet::Position(0), range: None, has_header: true, columns: Vec::new(), limit: None }
    }
}

/// A sheet of a workbook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sheet {
    Name(String),
    /// From 0.
    Position(u64),
}

impl From<&str> for Sheet {
    fn from(name: &str) -> Self {
        Sheet::Name(name.to_string())
    }
}

impl From<String> for Sheet {
    fn from(name: String) -> Self {
        Sheet::Name(name)
    }
}

impl From<&String> for Sheet {
    fn from(name: &String) -> Self {
        Sheet::Name(name.clone())
    }
}

impl From<usize> for Sheet {
    fn from(position: usize) -> Self {
        Sheet::Position(position as u64)
    }
}

impl From<i32> for Sheet {
    /// A negative position is the position of no sheet.
    fn from(position: i32) -> Self {
        Sheet::Position(u64::try_from(position).unwrap_or(u64::MAX))
    }
}

/// A format, whatever its options are. [`FORMATS`] has its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormatKind {
    Csv,
    Json,
    Parquet,
    Ipc,
    Avro,
    Orc,
    Excel,
    FixedWidth,
}

/// The facts of a format. Readers, writers, completion and messages look them up here.
#[derive(Debug)]
pub struct FormatInfo {
    pub kind: FormatKind,
    /// The name in the documentation.
    pub title: &'static str,
    /// Functions of a path that read a file. The first one is the usual one, the others are its aliases.
    pub readers: &'static [&'static str],
    /// The function that gives a reader with options. Empty: there are no options.
    pub reader_options: &'static str,
    /// Functions of SQL that read a file.
    pub sql_readers: &'static [&'static str],
    /// Methods of a frame that write a file.
    pub writers: &'static [&'static str],
    /// The method that gives a writer with options. Empty: there are no options.
    pub writer_options: &'static str,
    /// Compressions of a written file, for the documentation. Empty: none, or that of text.
    pub compressions: &'static str,
    /// Extensions, in small letters, that a reader looks for in a folder, and that `read` takes the format from.
    pub extensions: &'static [&'static str],
    /// Further extensions that `read` takes the format of a single file from.
    pub more_extensions: &'static [&'static str],
    /// Whether the files are text, which may be compressed.
    pub is_text: bool,
    /// Whether `read` of a folder takes the files of the format.
    pub is_in_folders: bool,
    /// The format with its default options for a file with an extension.
    pub format: fn(extension: &str) -> Format,
    /// Extensions that `write` takes the format from. The first one is that of files in folders.
    pub written: &'static [&'static str],
    /// The number of extensions of `written` that a message suggests.
    pub suggested: usize,
    /// The format with its default options for a file to write with an extension of `written`. `None`: it is not
    /// written.
    pub sink: Option<fn(extension: &str) -> SinkFormat>,
}

/// The formats in the order of [`FormatKind`].
pub const FORMATS: &[FormatInfo] = &[
    FormatInfo {
        kind: FormatKind::Csv,
        title: "CSV, TSV",
        readers: &["read_csv"],
        reader_options: "csv",
        sql_readers: &["read_csv", "read_csv_auto"],
        writers: &["write_csv"],
        writer_options: "csv_writer",
        compressions: "",
        extensions: &["csv", "tsv", "tab"],
        more_extensions: &["txt"],
        is_text: true,
        is_in_folders: true,
        format: |extension| Format::Csv(CsvOptions { separator: separator(extension), ..CsvOptions::default() }),
        written: &["csv", "tsv", "tab", "txt"],
        suggested: 2,
        sink: Some(|extension| SinkFormat::Csv { separator: separator(extension), header: true, null: String::new() }),
    },
    FormatInfo {
        kind: FormatKind::Json,
        title: "JSON lines, JSON",
        readers: &["read_json", "read_ndjson"],
        reader_options: "json",
        sql_readers: &["read_json", "read_json_auto", "read_ndjson", "read_ndjson_auto"],
        writers: &["write_json", "write_ndjson", "write_json_array"],
        writer_options: "json_writer",
        compressions: "",
        extensions: &["json", "jsonl", "ndjson"],
        more_extensions: &[],
        is_text: true,
        is_in_folders: true,
        format: |_| Format::JsonLines,
        written: &["jsonl", "json", "ndjson"],
        suggested: 1,
        sink: Some(|_| SinkFormat::JsonLines),
    },
    FormatInfo {
        kind: FormatKind::Parquet,
        title: "Parquet",
        readers: &["read_parquet"],
        reader_options: "parquet",
        sql_readers: &["read_parquet", "parquet_scan"],
        writers: &["write_parquet"],
        writer_options: "parquet_writer",
        compressions: "zstd (default), snappy, lz4, gzip, brotli, none",
        extensions: &["parquet", "pq", "parq"],
        more_extensions: &[],
        is_text: false,
        is_in_folders: true,
        format: |_| Format::Parquet(ParquetOptions::default()),
        written: &["parquet", "pq", "parq"],
        suggested: 1,
        sink: Some(|_| SinkFormat::Parquet { compression: String::new(), row_group_rows: None }),
    },
    FormatInfo {
        kind: FormatKind::Ipc,
        title: "Arrow IPC, Feather 2",
        readers: &["read_ipc", "read_arrow", "read_feather"],
        reader_options: "",
        sql_readers: &["read_arrow"],
        writers: &["write_ipc", "write_feather"],
        writer_options: "ipc_writer",
        compressions: "none (default of `write_ipc`), lz4 (of `write_feather`), zstd",
        extensions: &["arrow", "feather", "ipc", "arrows"],
        more_extensions: &[],
        is_text: false,
        is_in_folders: true,
        format: |_| Format::Ipc,
        written: &["arrow", "feather", "ipc"],
        suggested: 2,
        sink: Some(|extension| SinkFormat::Ipc {
            compression: if extension == "feather" { "lz4" } else { "none" }.to_string(),
        }),
    },
    FormatInfo {
        kind: FormatKind::Avro,
        title: "Avro",
        readers: &["read_avro"],
        reader_options: "",
        sql_readers: &["read_avro"],
        writers: &["write_avro"],
        writer_options: "",
        compressions: "snappy",
        extensions: &["avro"],
        more_extensions: &[],
        is_text: false,
        is_in_folders: true,
        format: |_| Format::Avro,
        written: &["avro"],
        suggested: 1,
        sink: Some(|_| SinkFormat::Avro { compression: String::new() }),
    },
    FormatInfo {
        kind: FormatKind::Orc,
        title: "ORC",
        readers: &["read_orc"],
        reader_options: "",
        sql_readers: &["read_orc"],
        writers: &["write_orc"],
        writer_options: "",
        compressions: "zstd",
        extensions: &["orc"],
        more_extensions: &[],
        is_text: false,
        is_in_folders: true,
        format: |_| Format::Orc,
        written: &["orc"],
        suggested: 1,
        sink: Some(|_| SinkFormat::Orc { compression: String::new() }),
    },
    FormatInfo {
        kind: FormatKind::Excel,
        title: "Excel",
        readers: &["read_excel"],
        reader_options: "excel",
        sql_readers: &["read_xlsx", "read_excel"],
        writers: &["write_excel"],
        writer_options: "excel_writer",
        compressions: "",
        extensions: &["xlsx", "xlsm", "xlsb", "xls", "ods"],
        more_extensions: &[],
        is_text: false,
        is_in_folders: false,
        format: |_| Format::Excel(ExcelOptions::default()),
        written: &["xlsx"],
        suggested: 1,
        sink: Some(|_| SinkFormat::Excel { sheet: "Sheet1".to_string() }),
    },
    FormatInfo {
        kind: FormatKind::FixedWidth,
        title: "fixed width",
        readers: &["read_fwf"],
        reader_options: "fwf",
        sql_readers: &["read_fwf"],
        writers: &[],
        writer_options: "",
        compressions: "",
        extensions: &["fwf"],
        more_extensions: &[],
        is_text: true,
        is_in_folders: true,
        format: |_| Format::FixedWidth(FixedWidthOptions::default()),
        written: &[],
        suggested: 0,
        sink: None,
    },
];

fn separator(extension: &str) -> char {
    if matches!(extension, "tsv" | "tab") { '\t' } else { ',' }
}

impl FormatKind {
    pub fn info(self) -> &'static FormatInfo {
        &FORMATS[self as usize]
    }

    /// The format whose file has an extension, in small letters, if `read` takes it from there.
    pub fn of_extension(extension: &str) -> Option<FormatKind> {
        let has =
            |info: &&FormatInfo| info.extensions.contains(&extension) || info.more_extensions.contains(&extension);
        FORMATS.iter().find(has).map(|info| info.kind)
    }
}

impl Format {
    /// `None` for a format without a file of rows: any format, a list of sheets, a graph, a database.
    pub fn kind(&self) -> Option<FormatKind> {
        Some(match self {
            Format::Csv(_) => FormatKind::Csv,
            Format::JsonLines | Format::JsonAt(_) => FormatKind::Json,
            Format::Parquet(_) => FormatKind::Parquet,
            Format::Ipc => FormatKind::Ipc,
            Format::Avro => FormatKind::Avro,
            Format::Orc => FormatKind::Orc,
            Format::Excel(_) => FormatKind::Excel,
            Format::FixedWidth(_) => FormatKind::FixedWidth,
            Format::Any | Format::Sheets | Format::Graph { .. } | Format::Database { .. } => return None,
        })
    }

    /// The function that reads it.
    pub fn reader(&self) -> &'static str {
        match self {
            Format::Any => "read",
            Format::Sheets => "sheets",
            Format::Graph { .. } => "read_graph",
            Format::Database { .. } => "read_database",
            format => format.kind().map_or("read", |kind| kind.info().readers[0]),
        }
    }

    /// Extensions of the files that a folder of the format has. `None`: folders are not read.
    pub fn extensions(&self) -> Option<Vec<&'static str>> {
        let infos = match self {
            Format::Any => FORMATS.iter().filter(|info| info.is_in_folders).collect(),
            format => vec![format.kind()?.info()],
        };
        Some(infos.into_iter().flat_map(|info: &FormatInfo| info.extensions).copied().collect())
    }
}

impl SinkFormat {
    /// The extension of a file in a folder of the format.
    pub fn extension(&self) -> &'static str {
        let kind = match self {
            SinkFormat::JsonArray => return "json",
            SinkFormat::Csv { .. } => FormatKind::Csv,
            SinkFormat::JsonLines => FormatKind::Json,
            SinkFormat::Ipc { .. } => FormatKind::Ipc,
            SinkFormat::Avro { .. } => FormatKind::Avro,
            SinkFormat::Orc { .. } => FormatKind::Orc,
            SinkFormat::Excel { .. } => FormatKind::Excel,
            SinkFormat::Parquet { .. } | SinkFormat::Any | SinkFormat::Folders { .. } | SinkFormat::Database { .. } => {
                FormatKind::Parquet
            }
        };
        kind.info().written[0]
    }
}

/// A kind of file that starts with certain bytes. [`FILE_KINDS`] has its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
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

/// The facts of a kind of file.
#[derive(Debug)]
pub struct FileKindInfo {
    pub kind: FileKind,
    /// The name for messages, with its article.
    pub name: &'static str,
    /// The first bytes, one of several. Empty: it is recognised by other means.
    pub starts: &'static [&'static [u8]],
    /// The format that it is a file of.
    pub format: Option<FormatKind>,
    /// The help for a file that was given to a reader of another kind. Empty: the format's reader.
    help: &'static str,
}

const UNPACK: &str = "unpack it first";
const DATABASE: &str = "read a table of it: read_database(path, \"select * from t\")";
const CONVERT: &str = "write it as Parquet or CSV with the program that made it, and read that";

impl FileKindInfo {
    const fn of(kind: FileKind, name: &'static str, starts: &'static [&'static [u8]], format: FormatKind) -> Self {
        FileKindInfo { kind, name, starts, format: Some(format), help: "" }
    }

    const fn foreign(kind: FileKind, name: &'static str, starts: &'static [&'static [u8]], help: &'static str) -> Self {
        FileKindInfo { kind, name, starts, format: None, help }
    }
}

/// The kinds of files in the order of [`FileKind`].
pub const FILE_KINDS: &[FileKindInfo] = &[
    FileKindInfo::of(FileKind::Parquet, "a Parquet file", &[b"PAR1", b"PARE"], FormatKind::Parquet),
    FileKindInfo::of(FileKind::ArrowFile, "an Arrow IPC file (Feather 2)", &[b"ARROW1"], FormatKind::Ipc),
    FileKindInfo::of(FileKind::ArrowStream, "an Arrow IPC stream", &[&[0xff; 4]], FormatKind::Ipc),
    FileKindInfo {
        help: "read it with pandas and write it again: Feather 1 has not been written since 2020",
        ..FileKindInfo::of(FileKind::Feather1, "a Feather 1 file", &[b"FEA1"], FormatKind::Ipc)
    },
    FileKindInfo::of(FileKind::Avro, "an Avro file", &[b"Obj\x01"], FormatKind::Avro),
    FileKindInfo::of(FileKind::Orc, "an ORC file", &[b"ORC"], FormatKind::Orc),
    FileKindInfo::of(FileKind::Excel, "an Excel file", &[], FormatKind::Excel),
    FileKindInfo::of(
        FileKind::OldExcel,
        "an Excel file of the old kind (xls)",
        &[&[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]],
        FormatKind::Excel,
    ),
    FileKindInfo::of(FileKind::OpenDocument, "an OpenDocument spreadsheet", &[], FormatKind::Excel),
    FileKindInfo::foreign(FileKind::Gzip, "a gzip file", &[&[0x1f, 0x8b]], UNPACK),
    FileKindInfo::foreign(FileKind::Zstd, "a zstd file", &[&[0x28, 0xb5, 0x2f, 0xfd]], UNPACK),
    FileKindInfo::foreign(FileKind::Bzip2, "a bzip2 file", &[b"BZh"], UNPACK),
    FileKindInfo::foreign(FileKind::Xz, "an xz file", &[b"\xfd7zXZ\0"], UNPACK),
    FileKindInfo::foreign(FileKind::Zip, "a zip archive", &[], UNPACK),
    FileKindInfo::foreign(FileKind::SevenZip, "a 7z archive", &[b"7z\xbc\xaf\x27\x1c"], UNPACK),
    FileKindInfo::foreign(FileKind::Lz4, "an LZ4 file", &[&[0x04, 0x22, 0x4d, 0x18]], UNPACK),
    FileKindInfo::foreign(FileKind::Sqlite, "a SQLite database", &[b"SQLite format 3\0"], DATABASE),
    FileKindInfo::foreign(FileKind::DuckDb, "a DuckDB database", &[], DATABASE),
    FileKindInfo::foreign(FileKind::Hdf5, "an HDF5 file", &[b"\x89HDF\r\n\x1a\n"], CONVERT),
    FileKindInfo::foreign(FileKind::Numpy, "a NumPy array", &[b"\x93NUMPY"], CONVERT),
    FileKindInfo::foreign(FileKind::Pdf, "a PDF document", &[b"%PDF-"], CONVERT),
    FileKindInfo::foreign(
        FileKind::Html,
        "an HTML page",
        &[],
        "an error page may have been saved in place of the file: fetch it again",
    ),
];

impl FileKind {
    pub fn info(self) -> &'static FileKindInfo {
        &FILE_KINDS[self as usize]
    }

    /// The name for messages, with its article.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The function that reads it. `None` if there is none, and for compressed files, whose content decides.
    pub fn reader(self) -> Option<&'static str> {
        let info = self.info();
        info.format.filter(|_| info.help.is_empty()).map(|format| format.info().readers[0])
    }

    /// The treatment of a file that was given to a reader of another kind.
    pub fn help(self) -> String {
        match self.reader() {
            Some(reader) => format!("read it with `{reader}`"),
            None => self.info().help.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_the_order_of_their_kinds() {
        for (i, info) in FORMATS.iter().enumerate() {
            assert_eq!(info.kind as usize, i, "{:?}", info.kind);
            assert!(!info.readers.is_empty());
            // The default options are those of the format.
            assert_eq!((info.format)("").kind(), Some(info.kind));
            assert_eq!(info.sink.map(|sink| sink("").extension()), info.written.first().copied());
        }
        assert!(FILE_KINDS.iter().enumerate().all(|(i, info)| info.kind as usize == i));
        assert_eq!(FILE_KINDS.len(), FileKind::Html as usize + 1);
    }

    #[test]
    fn extensions_belong_to_one_format() {
        let all = FORMATS.iter().flat_map(|info| info.extensions.iter().chain(info.more_extensions));
        let mut all: Vec<_> = all.collect();
        all.sort();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        assert_eq!(FormatKind::of_extension("pq"), Some(FormatKind::Parquet));
        assert_eq!(FileKind::OldExcel.help(), "read it with `read_excel`");
    }
}
