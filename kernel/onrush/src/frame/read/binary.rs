//! Readers of binary formats: Parquet, workbooks, Arrow IPC, Avro, ORC, and of any format by its name.

use std::path::Path;

use onrush_wire::plan::{ExcelOptions, Format, ParquetOptions, Sheet};

use super::source;
use crate::expr::IntoColumns;
use crate::frame::{Frame, path_text};
use crate::raise::here;

/// Reads a file of any format that is known: its first bytes and its extension say which. With `*` in the path all
/// files have the format of the first one; a folder stands for all files of known formats below it.
///
/// The formats are CSV, TSV, JSON, JSON lines, Parquet, Arrow IPC (Feather), Avro, ORC and workbooks (their first
/// sheet).
#[track_caller]
pub fn read(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Any), here("read"))
}

/// Reads a Parquet file, or several with `*` in the path, or all below a folder. Only the used columns and row groups
/// are read. Folders named `key=value` give columns, if the path is a folder or has a `*`. For options see [`parquet`].
#[track_caller]
pub fn read_parquet(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Parquet(ParquetOptions::default())), here("read_parquet"))
}

/// Reads an Arrow IPC file or stream, or several with `*` in the path. Columns of dictionaries are strings.
#[track_caller]
pub fn read_ipc(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Ipc), here("read_ipc"))
}

/// Reads a Feather file: an alias of [`read_ipc`].
#[track_caller]
pub fn read_feather(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Ipc), here("read_feather"))
}

/// Reads an Arrow IPC file or stream: an alias of [`read_ipc`].
#[track_caller]
pub fn read_arrow(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Ipc), here("read_arrow"))
}

/// Reads an Avro file, or several with `*` in the path. Enumerations are strings.
#[track_caller]
pub fn read_avro(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Avro), here("read_avro"))
}

/// Reads an ORC file, or several with `*` in the path.
#[track_caller]
pub fn read_orc(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Orc), here("read_orc"))
}

/// Reads the first sheet of a workbook: xlsx, xlsm, xlsb, xls or ods. The first row with a value is the header. For
/// another sheet or a part of it see [`excel`].
#[track_caller]
pub fn read_excel(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Excel(ExcelOptions::default())), here("read_excel"))
}

/// The sheets of a workbook: a frame with the columns `sheet`, the name, and `visible`.
#[track_caller]
pub fn sheets(path: impl AsRef<Path>) -> Frame {
    Frame::step(source(path_text(path), Format::Sheets), here("sheets"))
}

/// Options for reading Parquet: `parquet().union_by_name().read("data/*.parquet")`.
pub fn parquet() -> ParquetReader {
    ParquetReader { options: ParquetOptions::default() }
}

/// Options of a Parquet reader; see [`parquet`].
#[derive(Clone, Debug)]
#[must_use = "`.read(path)` reads the file"]
pub struct ParquetReader {
    options: ParquetOptions,
}

impl ParquetReader {
    /// Whether folders named `key=value` give columns. Default: if the path is a folder or has a `*`.
    pub fn hive(mut self, hive: bool) -> Self {
        self.options.hive = Some(hive);
        self
    }

    /// Reads files of different columns: the frame has the columns of all of them, and what a file lacks is null.
    pub fn union_by_name(mut self) -> Self {
        self.options.union_by_name = true;
        self
    }

    /// Reads only these columns.
    pub fn columns(mut self, names: impl IntoColumns) -> Self {
        self.options.columns = names.into_columns();
        self
    }

    /// Reads the file, several with `*` in the path, or all below a folder.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> Frame {
        Frame::step(source(path_text(path), Format::Parquet(self.options.clone())), here("read"))
    }
}

/// Options for reading a sheet of a workbook: `excel().sheet("2024").range("B3:F200").read("x.xlsx")`.
pub fn excel() -> ExcelReader {
    ExcelReader { options: ExcelOptions::default() }
}

/// Options of a reader of workbooks; see [`excel`].
#[derive(Clone, Debug)]
#[must_use = "`.read(path)` reads the file"]
pub struct ExcelReader {
    options: ExcelOptions,
}

impl ExcelReader {
    /// The sheet, by name or by position from 0. Default: the first. [`sheets`] lists them.
    pub fn sheet(mut self, sheet: impl Into<Sheet>) -> Self {
        self.options.sheet = sheet.into();
        self
    }

    /// Reads only these cells: `"B3:F200"`, the columns `"B:F"`, or the rows `"3:200"`.
    pub fn range(mut self, cells: impl Into<String>) -> Self {
        self.options.range = Some(cells.into());
        self
    }

    /// Whether the first row with a value is a header with names. Without: `column_1`, `column_2`, ...
    pub fn header(mut self, has_header: bool) -> Self {
        self.options.has_header = has_header;
        self
    }

    /// Reads only these columns, by name.
    pub fn columns(mut self, names: impl IntoColumns) -> Self {
        self.options.columns = names.into_columns();
        self
    }

    /// Reads only the first rows.
    pub fn limit(mut self, rows: usize) -> Self {
        self.options.limit = Some(rows as u64);
        self
    }

    /// Reads the sheet of the workbook, or that of several with `*` in the path.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> Frame {
        Frame::step(source(path_text(path), Format::Excel(self.options.clone())), here("read"))
    }
}
