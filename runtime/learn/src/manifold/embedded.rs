//! Places of the rows of a training, for estimators that place no other rows.

use onrush_dense::Matrix;
use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// Rows of matrices of all pairs at most, 8 bytes each.
const MOST_ROWS: usize = 5_000;

/// The places of the rows of a training.
#[derive(Serialize, Deserialize)]
pub struct EmbeddedRows {
    /// The names of the columns are this word and a number.
    pub name: String,
    /// rows x components.
    pub places: Tensor,
    pub attributes: StoredAttributes,
    pub notes: Vec<String>,
}

/// Checks the number of rows of an estimator that decomposes a matrix of all pairs.
///
/// # Errors
/// If there are too many.
pub(super) fn check_rows(estimator: &str, rows: usize) -> Result<(), Error> {
    match rows {
        0 | 1 => {
            Err(Error::new(ErrorKind::NoRows, format!("{estimator} got {rows} row: at least 2 rows are compared")))
        }
        _ if rows <= MOST_ROWS => Ok(()),
        _ => {
            let message = format!("{rows} rows: {estimator} compares all pairs, and takes at most {MOST_ROWS}");
            Err(Error::new(ErrorKind::Size, message).help("take a sample of the rows, or `TSNE`"))
        }
    }
}

/// Changes the sign of each column so that its value furthest from 0 is positive.
pub(super) fn flipped(columns: &mut Matrix) {
    for k in 0..columns.columns {
        let column = columns.column_mut(k);
        let largest = column.iter().fold(0.0f64, |a, b| if b.abs() > a.abs() { *b } else { a });
        if largest < 0.0 {
            column.iter_mut().for_each(|v| *v = -*v);
        }
    }
}

/// The columns of an embedding as an attribute.
pub(super) fn frame(name: &str, places: &Tensor) -> Option<Vec<(String, Vec<f64>)>> {
    let width = places.shape.get(1).copied().filter(|width| *width > 0)?;
    let column = |c: usize| places.data.iter().skip(c).step_by(width).copied().collect();
    Some((0..width).map(|c| (format!("{name}{c}"), column(c))).collect())
}

impl Model for EmbeddedRows {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        Vec::new()
    }

    fn apply(&self, _: &Data, _: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(Vec::new())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        if name == "embedding" {
            let columns = self.embedding()?.into_iter().map(|(name, values)| (name, Values::Floats(values)));
            return Some(Attribute::Frame(columns.collect()));
        }
        self.attributes.get(name, features)
    }

    fn embedding(&self) -> Option<Vec<(String, Vec<f64>)>> {
        frame(&self.name, &self.places)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        match self.places.shape.len() == 2 {
            true => self.attributes.check(features),
            false => Err(Error::new(ErrorKind::ModelFile, format!("places of the shape {:?}", self.places.shape))),
        }
    }

    fn bytes(&self) -> u64 {
        self.places.bytes() + self.attributes.bytes()
    }
}
