//! The steps of a frame's plan, each on top of frames that the session already has.
//!
//! A step is checked against its inputs' schemas when it is sent, and runs nothing until the frame is shown, collected,
//! persisted or written.

mod csv;
mod database;
mod files;
mod visit;

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::cell_function::CellFunction;
use crate::expr::{Expr, SortKey};
use crate::graph::{GraphCall, GraphSpec};
use crate::learn::{Size, Splitter};
use crate::schema::{DataType, Schema};
use crate::value::Value;

pub use csv::{CsvOptions, DuplicateNames, OnError};
pub use database::{IfExists, database_name};
pub use files::*;

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
    /// A call of a function for each row of `input`, on the workers of a cluster. Columns of `input`: `n`, a number,
    /// and `argument`, bytes. Columns of the result, in any order of rows: `n`, `value` as bytes, and `error` as text.
    /// One of the two is null.
    Map {
        input: FrameId,
        cluster: String,
        function: CellFunction,
        /// Another number for each call: functions may give other values each time.
        call: u64,
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
