//! What every cell imports.

pub use crate::{
    Column, DataType, Error, Expr, Exprs, Frame, Keep, Matrix, Plot, Schema, TimeUnit, Value, all, asc, attempt, bar,
    clear_output, coalesce, col, concat, concat_diagonal, concat_horizontal, concat_str, csv, desc, frame, from_batch,
    get, hist, input, len, lit, max_horizontal, min_horizontal, on, password, plot, progress, publish, raise, read_csv,
    read_json, read_ndjson, read_parquet, scatter, show, sql, sum_horizontal, using, when, x,
};

pub use arrow;
pub use arrow::record_batch::RecordBatch;
pub use chrono;
pub use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
pub use serde;
pub use serde::{Deserialize, Serialize};
