//! What a table explorer asks of the session: pages of rows, filtered and sorted, summaries of columns, files. Every
//! request names the whole [`View`], so that a session that was restarted, or that has let a view go, computes it anew.

use serde::{Deserialize, Serialize};

use crate::FrameId;
use crate::expr::{Expr, SortKey};
use crate::plan::Sink;
use crate::value::Value;

/// A frame's rows as they are looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    pub frame: FrameId,
    /// Rows for which this is true. Over columns of the frame; neither aggregates nor windows.
    pub filter: Option<Expr>,
    /// Each a column. Ties keep their order; NaN is the largest number.
    pub sort: Vec<SortKey>,
}

impl View {
    /// All expressions of the view.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        self.filter.iter().chain(self.sort.iter().map(|key| &key.expr))
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Explore {
    /// Computes which rows the view has, and in which order. Answer: [`ExploreReply::Count`].
    ComputeView,
    /// Rows `offset..offset + count` of the columns at these positions, with long strings cut. Answer:
    /// [`ExploreReply::Rows`].
    Rows { offset: u64, count: u32, columns: Vec<u32> },
    /// Answer: [`ExploreReply::Summary`].
    Summary(SummaryRequest),
    /// Writes the view's rows, of the columns at these positions (all if none). Answer: [`ExploreReply::Written`].
    Write { columns: Vec<u32>, sink: Sink },
    /// Nobody looks at the view any more. Answer: [`ExploreReply::Done`].
    DropView,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SummaryRequest {
    pub column: u32,
    /// Bars of the histogram at most; 0: none.
    pub bins: u32,
    /// Most frequent values; 0: none.
    pub top: u32,
    /// Of numbers and times, between 0 and 1.
    pub quantiles: Vec<f64>,
    /// The middle value, if that is quick.
    pub median: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExploreReply {
    Done,
    Count(u64),
    Rows {
        total: u64,
        /// A list for each column that was asked for.
        columns: Vec<Vec<Value>>,
        /// Positions of the rows in the frame.
        positions: Vec<u64>,
    },
    Summary(Summary),
    Written {
        path: String,
        rows: u64,
        bytes: u64,
    },
}

/// Of one column, over the view's rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    pub rows: u64,
    pub nulls: u64,
    /// Of floats.
    pub nans: u64,
    /// NaN counts as one value, null as none. `None` for lists, structs and the like.
    pub distinct: Option<Distinct>,
    /// Of numbers, times and booleans, without NaN.
    pub min: Option<Value>,
    pub max: Option<Value>,
    /// Of numbers, without NaN.
    pub mean: Option<f64>,
    /// Sample standard deviation.
    pub std: Option<f64>,
    /// Number of empty strings.
    pub empty: u64,
    pub histogram: Option<Histogram>,
    /// The most frequent values with their counts. `None` if there are too many values to count each.
    pub top: Option<Vec<(Value, u64)>>,
    /// Those that were asked for, without NaN; none of a column without values.
    pub quantiles: Vec<Quantile>,
    pub median: Option<Value>,
}

/// Between two values that are next to each other lies their weighted mean, where the type has one, else the lower one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    pub q: f64,
    pub value: Value,
    /// Otherwise from counts of a 65,536th of the range each.
    pub exact: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distinct {
    pub count: u64,
    /// Otherwise estimated, with a standard error of 0.8 %.
    pub exact: bool,
}

/// Counts of finite values between edges; each bar has its lower edge, the last one both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// One more than bars; of the column's type where that has them, else floats.
    pub edges: Vec<Value>,
    pub counts: Vec<u64>,
}
