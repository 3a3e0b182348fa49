//! The crate that cells use: frames, expressions, plots, controls, display. Cells import [`prelude`] by default.
//!
//! Frames and plans are handles; the session does the work. The crate holds no resident data and starts no threads, so
//! that the cell process can be forked and killed freely.

#[doc(hidden)]
#[path = "x_macro_runtime.rs"]
pub mod __x;
mod arrow_conversion;
#[doc(hidden)]
pub mod bindings;
mod cluster;
mod column;
pub mod controls;
pub mod cuda;
mod dashboard;
#[doc(hidden)]
pub mod display;
mod expr;
mod frame;
pub mod graph;
mod handle;
#[doc(hidden)]
pub mod host;
mod into_column;
pub mod learn;
mod matrix;
#[doc(hidden)]
pub mod monomorphizations;
mod plot;
pub mod prelude;
mod process;
mod progress;
mod raise;
mod rich;
mod session;
mod stdin;
mod text_table;

/// Runtime support for the expansion of `frame!`.
#[doc(hidden)]
pub mod __frame {
    pub use crate::into_column::{column, frame};
}

pub use cluster::{Cluster, connect};
pub use column::{Column, Element};
pub use controls::{
    Button, Checkbox, Choice, Choices, ControlBox, NumberField, ProgressBar, RangeSlider, Slider, TextField, TextLabel,
    button, checkbox, dropdown, hbox, html, label, multi_select, number_field, progress_bar, radio, range_slider,
    slider, text_area, text_field, vbox,
};
pub use cuda::Buffer;
pub use dashboard::{Dashboard, IntoWanted, dashboard};
pub use display::show;
pub use expr::{
    Expr, ExprDt, ExprList, ExprStr, Exprs, IntoColumns, IntoDataType, IntoExprs, IntoSortKeys, SortKey, Then, ToExpr,
    When, all, asc, booleans, coalesce, col, concat_str, desc, len, lit, matching, max_horizontal, min_horizontal,
    random, strings, struct_of, sum_horizontal, temporal, when,
};
pub use frame::read::binary::*;
pub use frame::read::*;
pub use frame::text::*;
pub use frame::{
    Asof, CsvWriter, DatabaseWriter, ExcelWriter, Explanation, FromValue, GroupBy, IntoAsof, IntoFrames, IntoJoin,
    IntoPairs, IntoSampleSize, IpcWriter, JsonWriter, On, ParquetWriter, Resample, asof, concat, concat_diagonal,
    concat_horizontal, date_range, get, int_range, on, publish, read_database, sql, using,
};
pub use graph::{Graph, GraphPlot, GraphReader, GraphView, read_graph};
pub use handle::Frame;
pub use into_column::{ColumnValue, IntoColumn};
pub use matrix::{Matrix, Number};
pub use onrush_macros::{frame, interact, x};
pub use onrush_wire::plan::Keep;
pub use onrush_wire::{DataType, Diagnostic, Schema, TimeUnit, Value};
pub use plot::{Plot, PlotValue, area, bar, box_plot, density, heatmap, hist, line, panels, plot, scatter};
pub use progress::{Progress, progress};
pub use raise::{Error, attempt, raise};
pub use rich::{MimeBundle, RichDisplay, show_html, show_latex, show_markdown, show_png, show_svg};
pub use session::use_session;
pub use stdin::{clear_output, input, password};

pub use arrow;
pub use chrono;
pub use serde;

/// The derives of serde name the crate `serde`, and in cells that name is this crate's file (`--extern
/// serde=libonrush.so`). Therefore its items are re-exported here, and types that derive in a cell use the same
/// `Deserialize` as the prelude.
#[doc(hidden)]
pub use serde::*;
