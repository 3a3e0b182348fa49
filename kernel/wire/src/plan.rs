//! The steps of a frame's plan, each on top of frames that the session already has.
//!
//! A step is checked against its inputs' schemas when it is sent, and runs nothing until the frame is shown, collected,
//! persisted or written.

mod database;
mod files;
mod visit;

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::expr::{Expr, SortKey};
use crate::graph::{GraphCall, GraphSpec};
use crate::learn::{Size, Splitter};
use crate::schema::{DataType, Schema};
use crate::value::Value;

pub use database::{IfExists, database_name};
pub use files::{ExcelOptions, ParquetOptions, Sheet};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Op {
    /// Files; no input.
    Read(Source),
    /// A frame from Rust values: an Arrow IPC stream in `bytes`, or in the descriptor that comes with the message.
    FromArrow {
        schema: Schema,
        bytes: Option<Vec<u8>>,
    },
    /// No input; `tables` are the frames that the query can name.
    Sql {
        query: String,
        tables: Vec<(String, FrameId)>,
    },
    Select {
        input: FrameId,
        exprs: Vec<Expr>,
    },
    WithColumns {
        input: FrameId,
        exprs: Vec<Expr>,
    },
    Filter {
        input: FrameId,
        predicate: Expr,
    },
    /// Without `aggs`: one row for each group. The result is in the order of its keys, nulls first.
    GroupBy {
        input: FrameId,
        keys: Vec<Expr>,
        aggs: Vec<Expr>,
    },
    Join {
        left: FrameId,
        right: FrameId,
        how: JoinKind,
        left_on: Vec<Expr>,
        right_on: Vec<Expr>,
        suffix: String,
    },
    /// All rows of `left`, in order, each with at most one of `right`.
    JoinAsof {
        left: FrameId,
        right: FrameId,
        with: Asof,
    },
    Sort {
        input: FrameId,
        keys: Vec<SortKey>,
    },
    /// A negative offset counts from the end. `length: None` goes to the end.
    Slice {
        input: FrameId,
        offset: i64,
        length: Option<u64>,
    },
    Sample {
        input: FrameId,
        amount: SampleSize,
        seed: u64,
        with_replacement: bool,
    },
    /// Keeps one row for each distinct `subset` (all columns if empty).
    Unique {
        input: FrameId,
        subset: Vec<Expr>,
        keep: Keep,
    },
    /// Drops rows with a null in `subset` (any column if empty).
    DropNulls {
        input: FrameId,
        subset: Vec<Expr>,
    },
    /// In every column whose type can hold `value`.
    FillNull {
        input: FrameId,
        value: Value,
    },
    /// Old and new name.
    Rename {
        input: FrameId,
        names: Vec<(String, String)>,
    },
    Drop {
        input: FrameId,
        columns: Vec<String>,
    },
    Cast {
        input: FrameId,
        columns: Vec<(String, DataType)>,
        strict: bool,
    },
    Concat {
        inputs: Vec<FrameId>,
        how: ConcatHow,
    },
    /// count, null_count, mean, std, min, 25%, 50%, 75%, max; one row each, first column `statistic`.
    Describe {
        input: FrameId,
    },
    /// Distinct values of a column with their `count`, most frequent first.
    ValueCounts {
        input: FrameId,
        column: Expr,
    },
    /// A column for each combination of the values of `on`.
    Pivot {
        input: FrameId,
        on: Vec<String>,
        index: Vec<String>,
        values: Vec<String>,
        aggregate: String,
    },
    Unpivot {
        input: FrameId,
        index: Vec<String>,
        on: Vec<String>,
        variable_name: String,
        value_name: String,
    },
    WithRowIndex {
        input: FrameId,
        name: String,
        offset: u64,
    },
    /// One row for each element of list columns.
    Explode {
        input: FrameId,
        columns: Vec<String>,
    },
    /// The training or the test rows of a split, in the order of the split. Computed at once.
    Split {
        input: FrameId,
        split: Split,
        part: SplitPart,
    },
    /// The result of an algorithm on a graph over a frame of edges. Computed at once.
    Graph {
        input: FrameId,
        graph: GraphSpec,
        call: GraphCall,
    },
}

/// How rows are divided into training and test rows, with scikit-learn's rows for the same seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Split {
    /// `train_test_split`.
    TrainTest {
        test_size: Option<Size>,
        train_size: Option<Size>,
        shuffle: bool,
        /// The column whose shares both sides keep.
        stratify: Option<String>,
        random_state: u32,
    },
    /// A fold of a splitter.
    Fold { splitter: Splitter, fold: usize, target: Option<String>, groups: Option<String> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SplitPart {
    Train,
    Test,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum JoinKind {
    Inner,
    Left,
    Right,
    Full,
    Semi,
    Anti,
    Cross,
}

/// Which row an as-of join takes: of those that are equal in `by`, the one nearest in `on`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asof {
    pub left_on: Expr,
    pub right_on: Expr,
    pub left_by: Vec<Expr>,
    pub right_by: Vec<Expr>,
    pub strategy: AsofStrategy,
    /// The largest distance: a number, or a time span such as `5m`.
    pub tolerance: Option<Value>,
    /// Whether equal keys match.
    pub exact: bool,
    pub suffix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AsofStrategy {
    /// The last row whose key is not above the left one's.
    Backward,
    /// The first row whose key is not below it.
    Forward,
    /// Whichever of the two is nearer; the one before, if they are as near.
    Nearest,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum SampleSize {
    Rows(u64),
    Fraction(f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Keep {
    First,
    Last,
    Any,
    /// Only rows that have no double.
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ConcatHow {
    /// Same columns, by name.
    Vertical,
    /// The union of the columns; what is missing is null.
    Diagonal,
    /// Side by side, same number of rows.
    Horizontal,
}

/// Files to read. `path` may hold `*`, `?`, `[...]` and `**`; relative paths are relative to `folder`, the cell process's
/// working folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// With its password, if it is the address of a database: [`database_name`] is for messages.
    pub path: String,
    pub folder: String,
    pub format: Format,
}

/// A file as it was when it was read: the lineage of a frame has one for each of its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMark {
    /// Absolute, without links.
    pub path: String,
    pub bytes: u64,
    /// Nanoseconds since 1970.
    pub modified: u128,
    /// The file system's number of the file, and nanoseconds from 1970 to the last change of its content, name or rights: no
    /// program can set them. 0 for copies of files in other places, whose name stands for the content.
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
}

/// What a frame has of a file of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GraphPart {
    /// One row: whether the graph is `directed`, and whether its edges are `weighted`.
    Kind,
    /// `node`, then the columns of the nodes.
    Nodes,
    /// `source` and `target`, then the columns of the edges.
    Edges,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CsvOptions {
    pub separator: char,
    pub quote: Option<char>,
    /// The character before a quote, a separator or itself that makes it a part of the value. Default: none.
    pub escape: Option<char>,
    pub has_header: bool,
    /// Names of the columns from the left, instead of those of the header. The others keep theirs.
    pub names: Vec<String>,
    pub duplicate_names: DuplicateNames,
    pub comment: Option<char>,
    /// Blanks around fields, and before and after quotes, are not a part of the value. Default: false.
    pub trim: bool,
    /// Strings that mean null, in addition to the empty field. Default: `NA`.
    pub nulls: Vec<String>,
    /// Whether the strings mean null within quotes in a string column, too. Default: false.
    pub quoted_nulls: bool,
    /// Strings that mean null in one column, instead of `nulls`.
    pub column_nulls: Vec<(String, Vec<String>)>,
    /// Whether an empty field without quotes is null in a string column. Default: true.
    pub empty_is_null: bool,
    /// Rows at the top to skip before the header.
    pub skip_rows: u64,
    /// Rows to skip after the header.
    pub skip_after_header: u64,
    /// Types for named columns; the others are inferred from the whole file.
    pub dtypes: Vec<(String, DataType)>,
    /// Recognise dates and timestamps. Default: true.
    pub parse_dates: bool,
    /// Formats of dates and timestamps in the notation of `strftime`, in addition to those that are recognised.
    pub dates: Vec<String>,
    /// The decimal separator of numbers. Default: a point.
    pub decimal: char,
    /// The character between groups of digits. Default: none.
    pub thousands: Option<char>,
    /// The encoding of the file. `None`: UTF-8, or as a byte order mark says.
    pub encoding: Option<String>,
    /// Keep only these columns, in this order, if not empty.
    pub columns: Vec<String>,
    pub limit: Option<u64>,
    /// The name of a first column that numbers the rows from 0.
    pub row_number: Option<String>,
    /// The name of a last column with the path of the file of each row.
    pub file_name: Option<String>,
    /// Files of a pattern may lack columns of others, which are null then.
    pub union_by_name: bool,
    /// Whether folders named `key=value` give columns. `None`: if the path is a folder or a pattern.
    pub hive: Option<bool>,
    /// Missing fields at the end of a row are null. Default: false.
    pub pad_rows: bool,
    /// Surplus fields at the end of a row are left out. Default: false.
    pub cut_rows: bool,
    pub on_error: OnError,
    /// Rows with an error after which the file is refused.
    pub max_errors: Option<u64>,
    /// The rows with an error are the frame, instead of the others: `file`, `line`, `column`, `text` and `reason` of the first 100,000.
    pub rejects: bool,
}

/// The treatment of rows that do not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OnError {
    /// The first one is the error of the read.
    #[default]
    Fail,
    /// Values of another type are null, missing fields are null, surplus fields are left out.
    Null,
    /// The row is left out.
    Skip,
}

/// The treatment of a header that names a column more than once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum DuplicateNames {
    /// `a`, `a_duplicated_0`, ... but a header of nothing but numbers is refused.
    #[default]
    Auto,
    /// `a`, `a_duplicated_0`, ...
    Rename,
    Error,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions {
            separator: ',',
            quote: Some('"'),
            escape: None,
            has_header: true,
            names: Vec::new(),
            duplicate_names: DuplicateNames::Auto,
            comment: None,
            trim: false,
            nulls: vec!["NA".to_string()],
            quoted_nulls: false,
            column_nulls: Vec::new(),
            empty_is_null: true,
            skip_rows: 0,
            skip_after_header: 0,
            dtypes: Vec::new(),
            parse_dates: true,
            dates: Vec::new(),
            decimal: '.',
            thousands: None,
            encoding: None,
            columns: Vec::new(),
            limit: None,
            row_number: None,
            file_name: None,
            union_by_name: false,
            hive: None,
            pad_rows: false,
            cut_rows: false,
            on_error: OnError::Fail,
            max_errors: None,
            rejects: false,
        }
    }
}

/// Where a frame is written. The file appears under its name when it is complete.
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
