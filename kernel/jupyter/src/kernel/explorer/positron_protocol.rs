//! Requests to a data explorer: those of Positron's contract (its `data_explorer` comm, version of 2026), by the same
//! names. Two methods are our own: `export_file` and `get_value`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Clone, Debug, Deserialize)]
pub struct Indices {
    pub column_indices: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct SearchSchema {
    pub filters: Vec<ColumnFilter>,
    #[serde(default)]
    pub sort_order: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ColumnFilters {
    pub filters: Vec<ColumnFilter>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ColumnFilter {
    pub filter_type: String,
    pub params: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum ArraySelection {
    Range { first_index: u64, last_index: u64 },
    Indices { indices: Vec<u64> },
}

impl ArraySelection {
    /// First index and how many from there on.
    pub fn extent(&self) -> (u64, u64) {
        match self {
            ArraySelection::Range { first_index, last_index } => {
                (*first_index, (last_index + 1).saturating_sub(*first_index))
            }
            ArraySelection::Indices { indices } => {
                let first = indices.iter().min().copied().unwrap_or(0);
                (first, indices.iter().max().map_or(0, |last| last - first + 1))
            }
        }
    }

    /// The indices, if there are not more than `most`.
    pub fn positions(&self, most: u64) -> Option<Vec<u64>> {
        match self {
            ArraySelection::Indices { indices } => (indices.len() as u64 <= most).then(|| indices.clone()),
            ArraySelection::Range { first_index, .. } => {
                let (_, count) = self.extent();
                (count <= most).then(|| (*first_index..*first_index + count).collect())
            }
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct ColumnSelection {
    pub column_index: usize,
    pub spec: ArraySelection,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct FormatOptions {
    pub max_value_length: Option<usize>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct DataValues {
    pub columns: Vec<ColumnSelection>,
    #[serde(default)]
    pub format_options: FormatOptions,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RowLabels {
    pub selection: ArraySelection,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RowFilters {
    pub filters: Vec<Value>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct RowFilter {
    pub filter_type: String,
    pub column_schema: ColumnOf,
    #[serde(default)]
    pub condition: String,
    #[serde(default)]
    pub params: Value,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ColumnOf {
    pub column_index: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct SortKey {
    pub column_index: usize,
    pub ascending: bool,
}

#[derive(Clone, Debug, Deserialize)]
pub struct SortColumns {
    pub sort_keys: Vec<SortKey>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ColumnProfiles {
    pub callback_id: String,
    pub profiles: Vec<ProfileRequest>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ProfileRequest {
    pub column_index: usize,
    pub profiles: Vec<ProfileSpec>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ProfileSpec {
    pub profile_type: String,
    #[serde(default)]
    pub params: Value,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ExportSelection {
    pub selection: Selection,
    pub format: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Selection {
    pub kind: String,
    pub selection: Value,
}

#[derive(Clone, Debug, Deserialize)]
pub struct ConvertToCode {
    #[serde(default)]
    pub column_filters: Vec<ColumnFilter>,
    #[serde(default)]
    pub row_filters: Vec<Value>,
    #[serde(default)]
    pub sort_keys: Vec<SortKey>,
}

/// Our own: the view as a file in the notebook's folder.
#[derive(Clone, Debug, Deserialize)]
pub struct ExportFile {
    /// `csv` or `parquet`.
    pub format: String,
    /// A name without folders; one that is taken gets a number.
    pub name: String,
    /// All if none.
    #[serde(default)]
    pub column_indices: Vec<u32>,
}

/// Our own: one value, longer than a cell of the table shows it.
#[derive(Clone, Debug, Deserialize)]
pub struct GetValue {
    pub row_index: u64,
    pub column_index: u32,
}
