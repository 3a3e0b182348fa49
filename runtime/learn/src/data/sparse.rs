//! Sparse features: most of their values are 0.

use std::sync::Arc;

use super::Column;

/// Features of which the values other than 0 are stored, row after row (compressed sparse rows). Values are not
/// missing.
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

    /// The columns at these positions as dense values.
    pub fn dense(&self, wanted: &[usize]) -> Vec<Vec<f64>> {
        let mut places = vec![Vec::new(); self.width()];
        wanted.iter().enumerate().for_each(|(place, column)| places[*column].push(place));
        let mut out = vec![vec![0.0; self.rows()]; wanted.len()];
        for row in 0..self.rows() {
            let (columns, values) = self.row(row);
            for (column, value) in columns.iter().zip(values) {
                for place in &places[*column as usize] {
                    let values: &mut Vec<f64> = &mut out[*place];
                    values[row] = *value;
                }
            }
        }
        out
    }

    /// The columns of several blocks of the same rows, block after block, under other names.
    pub fn joined(blocks: &[Sparse], names: Arc<Vec<String>>) -> Sparse {
        if let [block] = blocks {
            return Sparse { names, ..block.clone() };
        }
        let rows = blocks.first().map_or(0, Sparse::rows);
        let mut joined = Sparse { names, starts: vec![0], ..Sparse::default() };
        for row in 0..rows {
            let mut before = 0;
            for block in blocks {
                let (columns, values) = block.row(row);
                joined.columns.extend(columns.iter().map(|column| column + before));
                joined.values.extend_from_slice(values);
                before += block.width() as u32;
            }
            joined.starts.push(joined.columns.len());
        }
        joined
    }

    /// The columns at these positions, which ascend.
    pub fn select(&self, wanted: &[usize]) -> Sparse {
        let mut places = vec![None; self.width()];
        wanted.iter().enumerate().for_each(|(place, column)| places[*column] = Some(place as u32));
        let names = wanted.iter().map(|column| self.names[*column].clone()).collect();
        let mut selected = Sparse { names: Arc::new(names), starts: vec![0], ..Sparse::default() };
        for row in 0..self.rows() {
            let (columns, values) = self.row(row);
            for (column, value) in columns.iter().zip(values) {
                if let Some(place) = places[*column as usize] {
                    selected.columns.push(place);
                    selected.values.push(*value);
                }
            }
            selected.starts.push(selected.columns.len());
        }
        selected
    }

    /// The same places with other values. `value` gets the column and the value.
    #[must_use]
    pub fn mapped(mut self, value: impl Fn(usize, f64) -> f64) -> Sparse {
        self.columns.iter().zip(&mut self.values).for_each(|(column, old)| *old = value(*column as usize, *old));
        self
    }

    /// The columns from this position on, without their names.
    #[must_use]
    pub fn after(self, first: usize) -> Sparse {
        let first = first as u32;
        let mut rest = Sparse { starts: vec![0], ..Sparse::default() };
        for row in 0..self.rows() {
            let (columns, values) = self.row(row);
            let from = columns.partition_point(|column| *column < first);
            rest.columns.extend(columns[from..].iter().map(|column| column - first));
            rest.values.extend_from_slice(&values[from..]);
            rest.starts.push(rest.columns.len());
        }
        rest
    }
}
