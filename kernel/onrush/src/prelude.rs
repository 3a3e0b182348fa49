//! What every cell imports.

pub use crate::{
    Buffer, Button, Checkbox, Choice, Choices, Column, ControlBox, DataType, Error, Expr, Exprs, Frame, Graph,
    GraphPlot, GraphView, Keep, Matrix, NumberField, Plot, ProgressBar, RangeSlider, Schema, Slider, TextField,
    TextLabel, TimeUnit, Value, all, area, asc, asof, attempt, bar, box_plot, button, checkbox, clear_output, coalesce,
    col, concat, concat_diagonal, concat_horizontal, concat_str, csv, density, desc, dropdown, frame, from_batch, get,
    hbox, heatmap, hist, html, input, interact, label, len, line, lit, max_horizontal, min_horizontal, multi_select,
    number_field, on, panels, password, plot, progress, progress_bar, publish, radio, raise, range_slider, read_csv,
    read_graph, read_json, read_ndjson, read_parquet, scatter, show, slider, sql, sum_horizontal, text_area,
    text_field, using, vbox, when, x,
};

pub use crate::cuda::SharedMemory as _;
pub use arrow;
pub use arrow::record_batch::RecordBatch;
pub use chrono;
pub use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
pub use serde;
pub use serde::{Deserialize, Serialize};

pub use crate::learn::*;
