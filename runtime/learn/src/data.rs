//! The data of a training: columns of numbers, with names.

pub mod products;
pub mod sparse;
pub mod values;

use onrush_dense::Matrix;
use rayon::prelude::*;

use self::sparse::Sparse;
use crate::device::DeviceRows;
use crate::error::{Error, ErrorKind};
use crate::sums;

/// The kind of the values of a column.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Kind {
    Number,
    /// Positions in a list of strings.
    Category(Vec<String>),
    /// Documents, of which a model keeps none. Only features of models have this kind: their columns are categories.
    Text,
}

/// A column: its name, what its values are, and the values. NaN is missing.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    pub values: Vec<f64>,
}

impl Column {
    pub fn number(name: impl Into<String>, values: Vec<f64>) -> Self {
        Column { name: name.into(), kind: Kind::Number, values }
    }

    /// Strings as a category. `None` is missing. Categories are in the order of their strings.
    pub fn category<S: AsRef<str>>(name: impl Into<String>, values: &[Option<S>]) -> Self {
        let mut names: Vec<String> = values.iter().flatten().map(|s| s.as_ref().to_string()).collect();
        names.sort();
        names.dedup();
        let code = |s: &S| names.binary_search_by(|n| n.as_str().cmp(s.as_ref())).map_or(f64::NAN, |c| c as f64);
        let values = values.iter().map(|v| v.as_ref().map_or(f64::NAN, code)).collect();
        Column { name: name.into(), kind: Kind::Category(names), values }
    }

    /// The names of a category. `None` for numbers.
    pub fn categories(&self) -> Option<&[String]> {
        match &self.kind {
            Kind::Category(names) => Some(names),
            Kind::Number | Kind::Text => None,
        }
    }

    pub fn missing(&self) -> usize {
        self.values.iter().filter(|v| v.is_nan()).count()
    }
}

/// Rows of features, and for a supervised estimator their targets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    pub rows: usize,
    pub features: Vec<Column>,
    /// Sparse features, which come after the others.
    pub sparse: Option<Sparse>,
    /// The name of the target. Empty if there is none.
    pub target: String,
    /// For each row the value of a regressor's target, or the position of the class in `classes`. Empty if there is no
    /// target.
    pub y: Vec<f64>,
    /// The classes of a classifier's target as strings, in scikit-learn's order: numbers by value, strings by code
    /// point. Empty for a regressor.
    pub classes: Vec<String>,
    /// For each row its weight.
    pub weight: Option<Vec<f64>>,
    /// For each row the number of its group.
    pub groups: Option<Vec<f64>>,
    /// Rows on which a boosted model is scored after each round: the same features and target.
    pub eval: Vec<Data>,
    /// The columns on a device, if the values are there: the features and a regressor's target then have no values
    /// here. Only for trainings that [`crate::runs_on_device`] allows.
    pub device: Option<DeviceRows>,
}

impl Data {
    /// Rows without a target.
    pub fn new(features: Vec<Column>) -> Self {
        Data { rows: features.first().map_or(0, |c| c.values.len()), features, ..Data::default() }
    }

    /// How many dense features there are.
    pub fn width(&self) -> usize {
        self.features.len()
    }

    /// How many features there are, dense and sparse ones.
    pub fn total_width(&self) -> usize {
        self.width() + self.sparse.as_ref().map_or(0, Sparse::width)
    }

    /// The same rows with all features as dense columns.
    ///
    /// # Errors
    /// If they have more than 2^27 cells. `estimator` is for the message.
    pub fn to_dense(&self, estimator: &str) -> Result<Data, Error> {
        const MOST_CELLS: usize = 1 << 27;
        let Some(sparse) = &self.sparse else { return Ok(self.clone()) };
        if self.rows.saturating_mul(sparse.width()) > MOST_CELLS {
            let (rows, width) = (self.rows, sparse.width());
            let message = format!("{estimator} takes dense features, and {rows} rows x {width} terms do not fit");
            return Err(Error::new(ErrorKind::Size, message)
                .help("set `max_features` or `min_df` of the vectorizer")
                .help(
                    "or take an estimator of sparse features: LogisticRegression, LinearSVC, MultinomialNB, \
                       SGDClassifier, Ridge, TruncatedSVD",
                ));
        }
        let features = self.features.iter().cloned().chain(sparse.to_columns()).collect();
        let eval = self.eval.iter().map(|eval| eval.to_dense(estimator)).collect::<Result<Vec<Data>, Error>>()?;
        Ok(Data { features, eval, ..self.with_features(Vec::new()) })
    }

    pub fn names(&self) -> Vec<String> {
        self.features.iter().map(|c| c.name.clone()).collect()
    }

    pub fn weight_of(&self, row: usize) -> f64 {
        self.weight.as_ref().map_or(1.0, |w| w[row])
    }

    /// The features as a matrix, rows x features.
    pub fn matrix(&self) -> Matrix {
        let mut data = Vec::with_capacity(self.rows * self.width());
        self.features.iter().for_each(|c| data.extend_from_slice(&c.values));
        Matrix::new(self.rows, self.width(), data)
    }

    /// The features row after row.
    pub fn row_major(&self) -> Vec<f64> {
        self.shifted(&vec![0.0; self.width()])
    }

    /// The features minus `shift`, row after row: column by column in blocks of rows that fit the cache, on all
    /// threads.
    pub fn shifted(&self, shift: &[f64]) -> Vec<f64> {
        const ROWS: usize = 64;
        let width = self.width();
        let mut out = vec![0.0; self.rows * width];
        out.par_chunks_mut(ROWS * width.max(1)).enumerate().for_each(|(block, out)| {
            let first = block * ROWS;
            for (j, column) in self.features.iter().enumerate() {
                let values = &column.values[first..(first + ROWS).min(self.rows)];
                for (i, value) in values.iter().enumerate() {
                    out[i * width + j] = value - shift[j];
                }
            }
        });
        out
    }

    /// The mean of each feature.
    pub fn means(&self) -> Vec<f64> {
        self.features.par_iter().map(|c| sums::mean(&c.values, None)).collect()
    }

    /// The rows at these positions, in this order. Evaluation sets stay.
    pub fn take(&self, rows: &[usize]) -> Data {
        Data { eval: self.eval.clone(), ..self.rows_at(rows) }
    }

    /// Every `step`th row, without evaluation sets.
    pub fn every(&self, step: usize) -> Data {
        self.rows_at(&(0..self.rows).step_by(step.max(1)).collect::<Vec<usize>>())
    }

    fn rows_at(&self, rows: &[usize]) -> Data {
        let pick = |values: &[f64]| rows.iter().map(|r| values[*r]).collect::<Vec<f64>>();
        let features = self.features.iter();
        let features = features.map(|c| Column { values: pick(&c.values), name: c.name.clone(), kind: c.kind.clone() });
        Data {
            rows: rows.len(),
            features: features.collect(),
            sparse: self.sparse.as_ref().map(|sparse| sparse.take(rows)),
            target: self.target.clone(),
            y: if self.y.is_empty() { Vec::new() } else { pick(&self.y) },
            classes: self.classes.clone(),
            weight: self.weight.as_deref().map(pick),
            groups: self.groups.as_deref().map(pick),
            eval: Vec::new(),
            device: None,
        }
    }

    /// The same rows, target and weights with other features, none of them sparse, and without evaluation sets.
    pub fn with_features(&self, features: Vec<Column>) -> Data {
        Data {
            rows: self.rows,
            features,
            sparse: None,
            target: self.target.clone(),
            y: self.y.clone(),
            classes: self.classes.clone(),
            weight: self.weight.clone(),
            groups: self.groups.clone(),
            eval: Vec::new(),
            device: None,
        }
    }

    /// The feature of this name.
    pub fn feature(&self, name: &str) -> Option<&Column> {
        self.features.iter().find(|c| c.name == name)
    }
}
