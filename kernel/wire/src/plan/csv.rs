//! Options of CSV files.

use serde::{Deserialize, Serialize};

use crate::schema::DataType;

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
    /// The rows with an error are the frame, instead of the others: `file`, `line`, `column`, `text` and `reason` of
    /// the first 100,000.
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
