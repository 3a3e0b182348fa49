//! Products of all features with vectors, if some of them are sparse: rows and columns of the values other than 0.

use std::borrow::Cow;

use rayon::prelude::*;

use super::Data;
use super::sparse::Sparse;

/// The dense features and then the sparse ones, as compressed rows and as compressed columns.
pub struct FeatureProducts<'a> {
    rows: Cow<'a, Sparse>,
    /// For each column where it starts in `places` and `values`, and the end of the last one.
    starts: Vec<usize>,
    places: Vec<u32>,
    values: Vec<f64>,
}

/// Rows or columns of a task.
const CHUNK: usize = 512;

impl<'a> FeatureProducts<'a> {
    pub fn new(data: &'a Data) -> Self {
        let rows = data.all_sparse();
        let mut starts = vec![0_usize; data.total_width() + 1];
        rows.columns.iter().for_each(|column| starts[*column as usize + 1] += 1);
        for column in 1..starts.len() {
            starts[column] += starts[column - 1];
        }
        let mut next = starts.clone();
        let (mut places, mut values) = (vec![0; rows.columns.len()], vec![0.0; rows.columns.len()]);
        for row in 0..rows.rows() {
            let (columns, of_row) = rows.row(row);
            for (column, value) in columns.iter().zip(of_row) {
                let at = &mut next[*column as usize];
                (places[*at], values[*at]) = (row as u32, *value);
                *at += 1;
            }
        }
        FeatureProducts { rows, starts, places, values }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows.rows()
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows and the values of a column.
    pub fn column(&self, column: usize) -> (&[u32], &[f64]) {
        let range = self.starts[column]..self.starts[column + 1];
        (&self.places[range.clone()], &self.values[range])
    }

    /// The columns and the values of a row.
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        self.rows.row(row)
    }

    /// The product with a number for each column: a number for each row.
    pub fn times(&self, with: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows()];
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            out.iter_mut().enumerate().for_each(|(i, out)| *out = self.rows.dot(chunk * CHUNK + i, with));
        });
        out
    }

    /// The product of the transpose with a number for each row: a number for each column.
    pub fn transposed_times(&self, with: &[f64]) -> Vec<f64> {
        self.by_column(|rows, values| rows.iter().zip(values).map(|(row, value)| value * with[*row as usize]).sum())
    }

    /// A number for each column, from its rows and values.
    pub fn by_column(&self, work: impl Fn(&[u32], &[f64]) -> f64 + Sync) -> Vec<f64> {
        let mut out = vec![0.0; self.width()];
        out.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, out)| {
            for (j, out) in out.iter_mut().enumerate() {
                let (rows, values) = self.column(chunk * CHUNK + j);
                *out = work(rows, values);
            }
        });
        out
    }
}

impl Data {
    /// All features as sparse ones: the dense ones first, without their zeros. The names are not filled unless all are
    /// sparse already.
    pub fn all_sparse(&self) -> Cow<'_, Sparse> {
        let none = Sparse { starts: vec![0; self.rows + 1], ..Sparse::default() };
        let sparse = match &self.sparse {
            Some(sparse) if self.features.is_empty() => return Cow::Borrowed(sparse),
            Some(sparse) => Cow::Borrowed(sparse),
            None => Cow::Owned(none),
        };
        let width = self.width() as u32;
        let mut all = Sparse { starts: vec![0], ..Sparse::default() };
        for row in 0..self.rows {
            let dense = self.features.iter().map(|column| column.values[row]);
            for (column, value) in (0..).zip(dense).filter(|(_, value)| *value != 0.0) {
                all.columns.push(column);
                all.values.push(value);
            }
            let (columns, values) = sparse.row(row);
            all.columns.extend(columns.iter().map(|column| column + width));
            all.values.extend_from_slice(values);
            all.starts.push(all.columns.len());
        }
        Cow::Owned(all)
    }

    /// The name of the feature at this position, dense ones first.
    pub fn name_of(&self, position: usize) -> &str {
        match self.features.get(position) {
            Some(column) => &column.name,
            None => {
                let names = self.sparse.as_ref().map_or(&[][..], |sparse| &sparse.names);
                names.get(position - self.width()).map_or("", String::as_str)
            }
        }
    }
}
