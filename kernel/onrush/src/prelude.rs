//! The imports of every cell.

pub use crate::{
    Buffer, Button, Checkbox, Choice, Choices, Cluster, Column, ControlBox, Dashboard, DataType, Error, Expr, Exprs,
    Frame, Graph, GraphPlot, GraphView, Keep, Matrix, MimeBundle, NumberField, Plot, ProgressBar, RangeSlider,
    RichDisplay, Schema, Slider, TextField, TextLabel, TimeUnit, Value, all, area, asc, asof, attempt, bar, booleans,
    box_plot, button, checkbox, clear_output, coalesce, col, concat, concat_diagonal, concat_horizontal, concat_str,
    connect, csv, dashboard, date_range, density, desc, dropdown, excel, frame, from_batch, fwf, get, hbox, heatmap,
    hist, html, input, int_range, interact, json, label, len, line, lit, matching, max_horizontal, min_horizontal,
    multi_select, number_field, on, panels, parquet, password, plot, progress, progress_bar, publish, radio, raise,
    random, range_slider, read, read_arrow, read_avro, read_csv, read_database, read_excel, read_feather, read_fwf,
    read_graph, read_ipc, read_json, read_ndjson, read_orc, read_parquet, scatter, sheets, show, show_html, show_latex,
    show_markdown, show_png, show_svg, slider, sql, strings, struct_of, sum_horizontal, temporal, text_area,
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
