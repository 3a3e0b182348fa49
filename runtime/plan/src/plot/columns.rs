//! Columns as a chart sees them: positions, moments or categories.

use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, TimeUnit, TimestampMicrosecondType};
use onrush_frame::Table;
use onrush_wire::Diagnostic;

use crate::check::{plan_error, type_name};
use crate::error::internal;
use crate::types;

#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    Number(Vec<Option<f64>>),
    /// Seconds since 1970-01-01.
    Time(Vec<Option<f64>>),
    Text(Vec<Option<String>>),
}

impl Values {
    pub fn of(table: &Table, index: usize) -> Result<Values, Diagnostic> {
        let array = table.column(index).map_err(|e| internal(&e.to_string()))?;
        let convert = |to: &DataType| cast(&array, to).map_err(|e| internal(&e.to_string()));
        Ok(match array.data_type() {
            DataType::Null => Values::Number(vec![None; array.len()]),
            d if types::is_number(d) => {
                let numbers = convert(&DataType::Float64)?;
                Values::Number(numbers.as_primitive::<Float64Type>().iter().collect())
            }
            DataType::Duration(_) => {
                let micros = cast(&convert(&DataType::Duration(TimeUnit::Microsecond))?, &DataType::Int64);
                let micros = cast(&micros.map_err(|e| internal(&e.to_string()))?, &DataType::Float64);
                let micros = micros.map_err(|e| internal(&e.to_string()))?;
                Values::Number(micros.as_primitive::<Float64Type>().iter().map(|v| v.map(|v| v / 1e6)).collect())
            }
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) => {
                let moments = convert(&DataType::Timestamp(TimeUnit::Microsecond, None))?;
                let moments = moments.as_primitive::<TimestampMicrosecondType>();
                Values::Time(moments.iter().map(|v| v.map(|v| v as f64 / 1e6)).collect())
            }
            d if types::is_text(d) || matches!(d, DataType::Boolean | DataType::Time32(_) | DataType::Time64(_)) => {
                let texts = convert(&DataType::Utf8)?;
                Values::Text(texts.as_string::<i32>().iter().map(|t| t.map(String::from)).collect())
            }
            other => {
                let message = format!("a plot cannot show a column of type `{}`", type_name(other));
                return Err(plan_error("type-mismatch", message));
            }
        })
    }

    pub fn len(&self) -> usize {
        match self {
            Values::Number(v) | Values::Time(v) => v.len(),
            Values::Text(v) => v.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The position in a row; `None` for null, and for text.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Values::Number(v) | Values::Time(v) => v[row],
            Values::Text(_) => None,
        }
    }

    /// What a category or a legend says.
    pub fn label(&self, row: usize) -> Option<String> {
        match self {
            Values::Text(v) => v[row].clone(),
            Values::Number(v) => v[row].map(number_label),
            Values::Time(v) => v[row].and_then(time_label),
        }
    }
}

pub fn number_label(value: f64) -> String {
    match value {
        v if v.fract() == 0.0 && v.abs() < 1e15 => format!("{v:.0}"),
        v if v.abs() >= 1000.0 => format!("{v:.0}"),
        v => {
            let text = format!("{v:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_string()
        }
    }
}

fn time_label(seconds: f64) -> Option<String> {
    let moment = chrono::DateTime::from_timestamp(seconds.floor() as i64, 0)?.naive_utc();
    let day = seconds.rem_euclid(86_400.0) == 0.0;
    Some(moment.format(if day { "%Y-%m-%d" } else { "%Y-%m-%d %H:%M" }).to_string())
}

/// The distinct labels of a column with the rank of each row; in order of size for numbers and times, of first
/// appearance for text. Nulls have no rank.
pub fn categories(values: &Values) -> (Vec<String>, Vec<Option<usize>>) {
    let mut labels: Vec<String> = Vec::new();
    let mut known = std::collections::HashMap::new();
    let mut rows: Vec<usize> = (0..values.len()).collect();
    if !matches!(values, Values::Text(_)) {
        rows.sort_by(|a, b| {
            let key = |row: &usize| values.number(*row).unwrap_or(f64::NAN);
            key(a).total_cmp(&key(b))
        });
    }
    let mut ranks = vec![None; values.len()];
    for row in rows {
        let Some(label) = values.label(row) else { continue };
        let rank = *known.entry(label.clone()).or_insert_with(|| {
            labels.push(label);
            labels.len() - 1
        });
        ranks[row] = Some(rank);
    }
    (labels, ranks)
}

/// Groups for colours: each value of text or of few numbers; many numbers in five ranges of equal counts.
pub fn groups(values: &Values) -> (Vec<String>, Vec<Option<usize>>) {
    const FEW: usize = 10;
    let (labels, ranks) = categories(values);
    if matches!(values, Values::Text(_)) || labels.len() <= FEW {
        return (labels, ranks);
    }
    let mut sorted: Vec<f64> = (0..values.len()).filter_map(|r| values.number(r)).filter(|v| v.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return (Vec::new(), vec![None; values.len()]);
    }
    let mut limits: Vec<f64> = (1..5).map(|i| sorted[i * sorted.len() / 5]).collect();
    limits.dedup();
    let edge = |value: f64| match values {
        Values::Time(_) => time_label(value).unwrap_or_default(),
        _ => number_label(value),
    };
    let mut names = vec![format!("below {}", edge(limits[0]))];
    names.extend(limits.windows(2).map(|w| format!("{} to {}", edge(w[0]), edge(w[1]))));
    names.push(format!("from {}", edge(limits[limits.len() - 1])));
    let rank = |row| values.number(row).filter(|v| v.is_finite()).map(|v| limits.partition_point(|l| *l <= v));
    (names, (0..values.len()).map(rank).collect())
}
