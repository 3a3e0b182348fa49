//! The steps of a frame's plan, each on top of frames that the session already has.
//!
//! A step is checked against its inputs' schemas when it is sent, and runs nothing until the frame is shown, collected,
//! persisted or written.

mod visit;

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::expr::{Expr, SortKey};
use crate::graph::{GraphCall, GraphSpec};
use crate::learn::{Size, Splitter};
use crate::schema::{DataType, Schema};
use crate::value::Value;

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
    Pivot {
        input: FrameId,
        on: String,
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
    /// A hash of the first and the last 64 KiB.
    pub ends: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Format {
    Csv(CsvOptions),
    Parquet,
    JsonLines,
    /// A file of a graph. `format` is the name of the format (`graphml`, `gexf`, ...) if the extension does not say it.
    Graph {
        format: Option<String>,
        part: GraphPart,
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
    pub has_header: bool,
    pub comment: Option<char>,
    /// Strings that mean null, in addition to the empty field. Default: `NA`.
    pub nulls: Vec<String>,
    /// Rows at the top to skip before the header.
    pub skip_rows: u64,
    /// Types for named columns; the others are inferred from the whole file.
    pub dtypes: Vec<(String, DataType)>,
    /// Recognise ISO dates and timestamps. Default: true.
    pub parse_dates: bool,
    /// Keep only these columns, in this order, if not empty.
    pub columns: Vec<String>,
    pub limit: Option<u64>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions {
            separator: ',',
            quote: Some('"'),
            has_header: true,
            comment: None,
            nulls: vec!["NA".to_string()],
            skip_rows: 0,
            dtypes: Vec::new(),
            parse_dates: true,
            columns: Vec::new(),
            limit: None,
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
    Csv {
        separator: char,
        header: bool,
        null: String,
    },
    /// `compression`: `zstd`, `snappy`, `lz4`, `gzip`, `brotli` or `none`.
    Parquet {
        compression: String,
    },
    JsonLines,
}
