//! Sparse features: most of their values are 0.

use std::sync::Arc;

use super::Column;

/// Features of which the values other than 0 are stored, row after row (compressed sparse rows). Values are not missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sparse {
    /// The names of the columns.
    pub names: Arc<Vec<String>>,
    /// For each row where it starts in `columns` and `values`, and the end of the last one.
    pub starts: Vec<usize>,
    /// The columns of the values, ascending in each row.
    pub columns: Vec<u32>,
    pub values: Vec<f64>,
}

impl Sparse {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// The columns and the values of a row.
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.starts[row]..self.starts[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The product of a row and a vector with a number for each column.
    pub fn dot(&self, row: usize, with: &[f64]) -> f64 {
        let (columns, values) = self.row(row);
        columns.iter().zip(values).map(|(column, value)| value * with[*column as usize]).sum()
    }

    /// Adds a multiple of a row to a vector with a number for each column.
    pub fn add(&self, row: usize, factor: f64, to: &mut [f64]) {
        let (columns, values) = self.row(row);
        columns.iter().zip(values).for_each(|(column, value)| to[*column as usize] += factor * value);
    }

    /// The rows at these positions, in this order.
    pub fn take(&self, rows: &[usize]) -> Sparse {
        let mut taken = Sparse { names: Arc::clone(&self.names), starts: vec![0], ..Sparse::default() };
        for row in rows {
            let (columns, values) = self.row(*row);
            taken.columns.extend_from_slice(columns);
            taken.values.extend_from_slice(values);
            taken.starts.push(taken.columns.len());
        }
        taken
    }

    /// The same values as dense columns.
    pub fn to_columns(&self) -> Vec<Column> {
        let rows = self.rows();
        let mut columns: Vec<Column> =
            self.names.iter().map(|name| Column::number(name.as_str(), vec![0.0; rows])).collect();
        for row in 0..rows {
            let (positions, values) = self.row(row);
            positions.iter().zip(values).for_each(|(column, value)| columns[*column as usize].values[row] = *value);
        }
        columns
    }
}
