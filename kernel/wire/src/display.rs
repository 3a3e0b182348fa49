//! What a cell shows, before it is HTML: the kernel process turns it into MIME bundles (`widgets/view`).

use serde::{Deserialize, Serialize};

use crate::control::Panel;
use crate::plot::Plot;
use crate::schema::DataType;
use crate::value::Value;

/// One output of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Display {
    pub content: Content,
    /// With an id the output can be replaced later.
    pub display_id: Option<String>,
    /// Replaces the output of that id instead of adding one.
    pub update: bool,
    /// The value of the cell's last expression (`execute_result`), not something shown on the way (`display_data`).
    pub is_result: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Content {
    Table(TablePreview),
    Plot(Plot),
    Panel(Panel),
    /// Plain text, as of `Debug` or `Display`.
    Text(String),
    /// A bundle as it is: MIME type and data. Binary types carry base64, JSON types carry JSON text.
    Mime(Vec<(String, String)>),
}

/// The part of a frame that its table shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TablePreview {
    /// `frame`, `column`: what it is called in the caption.
    pub kind: TableKind,
    pub columns: Vec<PreviewColumn>,
    pub total_rows: u64,
    /// The first rows, each with one value for each column.
    pub head: Vec<Vec<Value>>,
    /// The last rows; empty if `head` holds them all.
    pub tail: Vec<Vec<Value>>,
    /// Bytes that the frame holds in memory, if it is resident.
    pub bytes: Option<u64>,
    /// Where it lives: `memory`, `plan`, `cuda:0`.
    pub location: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableKind {
    Frame,
    Column,
    Values,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PreviewColumn {
    pub name: String,
    pub dtype: DataType,
    /// Nulls in the whole column; `None` if it was not counted.
    pub nulls: Option<u64>,
}
