//! SHAP values (Lundberg and Lee 2017): how much each feature moves the output of a model for a row away from the
//! expected output. The values of a row and the expected output sum to the output of the row.
//!
//! Trees are explained exactly (`quadrature`), linear models by their coefficients (`linear`), and other models by
//! random orders of the features (`permutation`). `select/shap.rs` chooses among them.

pub mod linear;
pub mod permutation;
mod quadrature;
pub mod shape;

use crate::data::Data;

/// The kind of output that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A prediction.
    Value,
    /// The probability of a class.
    Probability,
    /// A score that a classifier decides by, or a prediction before the inverse link.
    Margin,
}

impl Scale {
    pub fn word(self) -> &'static str {
        match self {
            Scale::Value => "value",
            Scale::Probability => "probability",
            Scale::Margin => "margin",
        }
    }
}

/// SHAP values of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapValues {
    /// The expected output, for each output.
    pub base: Vec<f64>,
    /// outputs x features x rows.
    pub values: Vec<Vec<Vec<f64>>>,
}

impl ShapValues {
    /// From values row after row: rows x outputs x features.
    pub(crate) fn of_rows(base: Vec<f64>, rows: &[f64], width: usize) -> ShapValues {
        let all = base.len() * width;
        let column = |output: usize, feature: usize| {
            rows.iter().skip(output * width + feature).step_by(all.max(1)).copied().collect::<Vec<f64>>()
        };
        let values = (0..base.len()).map(|k| (0..width).map(|j| column(k, j)).collect()).collect();
        ShapValues { base, values }
    }

    /// The output of each row: the sum of its values and the expected output.
    pub fn sums(&self, output: usize) -> Vec<f64> {
        let mut sums = vec![self.base[output]; self.values[output].first().map_or(0, Vec::len)];
        for column in &self.values[output] {
            sums.iter_mut().zip(column).for_each(|(sum, value)| *sum += value);
        }
        sums
    }

    /// One output alone.
    pub fn only(mut self, output: usize) -> ShapValues {
        ShapValues { base: vec![self.base[output]], values: vec![self.values.swap_remove(output)] }
    }
}

/// The features of some rows, row after row.
fn row_major(data: &Data, rows: std::ops::Range<usize>) -> Vec<f64> {
    let width = data.width();
    let mut values = vec![0.0; rows.len() * width];
    for (j, column) in data.features.iter().enumerate() {
        for (i, value) in column.values[rows.clone()].iter().enumerate() {
            values[i * width + j] = *value;
        }
    }
    values
}
