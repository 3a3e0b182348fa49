//! The type of a column of a sheet, and its array.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, DurationMicrosecondArray, Float64Array, Int64Array, StringViewArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, TimeUnit};
use arrow::temporal_conversions::date32_to_datetime;

use super::cells::{CellValue, DAY};

/// The largest integer up to which each one is a float.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The kinds of values that a column has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ColumnKinds {
    bools: bool,
    integers: bool,
    floats: bool,
    texts: bool,
    dates: bool,
    moments: bool,
    times: bool,
    spans: bool,
}

impl ColumnKinds {
    pub fn with(mut self, value: &CellValue) -> Self {
        match value {
            CellValue::Bool(_) => self.bools = true,
            CellValue::Int(_) => self.integers = true,
            CellValue::Float(value) if value.trunc() == *value && value.abs() <= EXACT => self.integers = true,
            CellValue::Float(_) => self.floats = true,
            CellValue::Text(_) => self.texts = true,
            CellValue::Moment { micros: 0, .. } => self.dates = true,
            CellValue::Moment { .. } => self.moments = true,
            CellValue::Time(_) => self.times = true,
            CellValue::Span(_) => self.spans = true,
        }
        self
    }

    /// The type that holds all values. Strings hold what has no other type together.
    pub fn data_type(self) -> DataType {
        let families =
            [self.bools, self.integers || self.floats, self.dates || self.moments, self.times, self.spans, self.texts];
        match families {
            [true, false, false, false, false, false] => DataType::Boolean,
            [false, true, false, false, false, false] if self.floats => DataType::Float64,
            [false, true, false, false, false, false] => DataType::Int64,
            [false, false, true, false, false, false] if self.moments => {
                DataType::Timestamp(TimeUnit::Microsecond, None)
            }
            [false, false, true, false, false, false] => DataType::Date32,
            [false, false, false, true, false, false] => DataType::Time64(TimeUnit::Microsecond),
            // A span of less than a day has the form of a time.
            [false, false, false, _, true, false] => DataType::Duration(TimeUnit::Microsecond),
            _ => DataType::Utf8View,
        }
    }
}

impl CellValue {
    /// The value as a string: integers without a point, dates and times as in ISO 8601.
    pub fn text(&self) -> String {
        let time = |micros: i64| {
            let seconds = micros.div_euclid(1_000_000);
            let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
            match micros.rem_euclid(1_000_000) {
                0 => format!("{hours:02}:{minutes:02}:{seconds:02}"),
                rest => format!("{hours:02}:{minutes:02}:{seconds:02}.{rest:06}"),
            }
        };
        match self {
            CellValue::Bool(value) => value.to_string(),
            CellValue::Int(value) => value.to_string(),
            CellValue::Float(value) => value.to_string(),
            CellValue::Text(text) => text.clone(),
            CellValue::Moment { day, micros } => {
                let date = date32_to_datetime(*day).map(|date| date.date().to_string()).unwrap_or_default();
                if *micros == 0 { date } else { format!("{date} {}", time(*micros)) }
            }
            CellValue::Time(micros) => time(*micros),
            CellValue::Span(micros) => time(*micros),
        }
    }
}

/// The values as an array of a type that [`ColumnKinds`] gave for them.
pub(super) fn array(values: &[Option<CellValue>], dtype: &DataType) -> ArrayRef {
    let values = values.iter().map(Option::as_ref);
    let micros = |value: Option<&CellValue>| match value? {
        CellValue::Moment { day, micros } => Some(i64::from(*day) * DAY + micros),
        CellValue::Time(micros) | CellValue::Span(micros) => Some(*micros),
        _ => None,
    };
    match dtype {
        DataType::Boolean => Arc::new(
            values
                .map(|v| if let Some(CellValue::Bool(value)) = v { Some(*value) } else { None })
                .collect::<BooleanArray>(),
        ),
        DataType::Int64 => Arc::new(
            values
                .map(|v| match v? {
                    CellValue::Int(value) => Some(*value),
                    CellValue::Float(value) => Some(*value as i64),
                    _ => None,
                })
                .collect::<Int64Array>(),
        ),
        DataType::Float64 => Arc::new(
            values
                .map(|v| match v? {
                    CellValue::Int(value) => Some(*value as f64),
                    CellValue::Float(value) => Some(*value),
                    _ => None,
                })
                .collect::<Float64Array>(),
        ),
        DataType::Date32 => Arc::new(
            values
                .map(|v| if let Some(CellValue::Moment { day, .. }) = v { Some(*day) } else { None })
                .collect::<Date32Array>(),
        ),
        DataType::Timestamp(..) => Arc::new(values.map(micros).collect::<TimestampMicrosecondArray>()),
        DataType::Time64(_) => Arc::new(values.map(micros).collect::<Time64MicrosecondArray>()),
        DataType::Duration(_) => Arc::new(values.map(micros).collect::<DurationMicrosecondArray>()),
        _ => Arc::new(values.map(|v| v.map(CellValue::text)).collect::<StringViewArray>()),
    }
}
