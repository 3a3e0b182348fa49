//! Attributes that a model stores as they are shown. For tables that no other code reads.

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Values};
use crate::tensor::Tensor;

/// How the values of an attribute are shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum StoredForm {
    Float,
    Int,
    /// A value for each feature, in a column of this name.
    ByFeature(String),
    /// A column for each feature, after a column of this name with the number of the row.
    ByRow(String),
    /// Numbers in a column of the second name, after a column of the first name with the number of the row.
    Numbered(String, String),
    /// Numbers in named columns, row after row.
    Columns(Vec<String>),
    /// Integers in named columns, row after row.
    Counts(Vec<String>),
    /// `true` and `false` in a column of this name.
    Flags(String),
}

/// An attribute.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct StoredAttribute {
    name: String,
    form: StoredForm,
    values: Tensor,
}

/// The attributes of a model by their names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredAttributes {
    list: Vec<StoredAttribute>,
}

impl StoredAttributes {
    fn with(mut self, name: &str, form: StoredForm, values: Vec<f64>) -> Self {
        self.list.push(StoredAttribute { name: name.to_string(), form, values: Tensor::vector(values) });
        self
    }

    /// A number.
    #[must_use]
    pub fn float(self, name: &str, value: f64) -> Self {
        self.with(name, StoredForm::Float, vec![value])
    }

    /// An integer.
    #[must_use]
    pub fn int(self, name: &str, value: usize) -> Self {
        self.with(name, StoredForm::Int, vec![value as f64])
    }

    /// A value for each feature: the columns `feature` and `column`.
    #[must_use]
    pub fn by_feature(self, name: &str, column: &str, values: Vec<f64>) -> Self {
        self.with(name, StoredForm::ByFeature(column.to_string()), values)
    }

    /// A row-major matrix with a column for each feature. The column `first` numbers the rows.
    #[must_use]
    pub fn by_row(self, name: &str, first: &str, values: Vec<f64>) -> Self {
        self.with(name, StoredForm::ByRow(first.to_string()), values)
    }

    /// Numbers in the column `column`. The column `first` numbers the rows.
    #[must_use]
    pub fn numbered(self, name: &str, first: &str, column: &str, values: Vec<f64>) -> Self {
        self.with(name, StoredForm::Numbered(first.to_string(), column.to_string()), values)
    }

    /// A row-major matrix with named columns.
    #[must_use]
    pub fn columns(self, name: &str, columns: Vec<String>, values: Vec<f64>) -> Self {
        self.with(name, StoredForm::Columns(columns), values)
    }

    /// A row-major matrix of integers with named columns.
    #[must_use]
    pub fn counts(self, name: &str, columns: &[&str], values: Vec<f64>) -> Self {
        self.with(name, StoredForm::Counts(columns.iter().map(ToString::to_string).collect()), values)
    }

    /// `true` and `false` in the column `column`.
    #[must_use]
    pub fn flags(self, name: &str, column: &str, values: &[bool]) -> Self {
        let values = values.iter().map(|v| f64::from(u8::from(*v))).collect();
        self.with(name, StoredForm::Flags(column.to_string()), values)
    }

    /// The attribute of this name.
    pub fn get(&self, name: &str, features: &[Field]) -> Option<Attribute> {
        let StoredAttribute { form, values, .. } = self.list.iter().find(|stored| stored.name == name)?;
        let numbers = |rows: usize| Values::Ints((0..rows as i64).collect());
        let column = |width: usize, at: usize| values.data.iter().skip(at).step_by(width).copied();
        Some(match form {
            StoredForm::Float => Attribute::Float(*values.data.first()?),
            StoredForm::Int => Attribute::Int(*values.data.first()? as i64),
            StoredForm::ByFeature(title) => Attribute::by_feature(features, title, &values.data),
            StoredForm::ByRow(first) => {
                let rows = values.data.len() / features.len().max(1);
                Attribute::by_row(Some((first, numbers(rows))), features, &values.data)
            }
            StoredForm::Numbered(first, title) => Attribute::Frame(vec![
                (first.clone(), numbers(values.data.len())),
                (title.clone(), Values::Floats(values.data.clone())),
            ]),
            StoredForm::Flags(title) => {
                let flags = values.data.iter().map(|v| *v != 0.0).collect();
                Attribute::Frame(vec![(title.clone(), Values::Bools(flags))])
            }
            StoredForm::Columns(names) => {
                let of =
                    |(at, name): (usize, &String)| (name.clone(), Values::Floats(column(names.len(), at).collect()));
                Attribute::Frame(names.iter().enumerate().map(of).collect())
            }
            StoredForm::Counts(names) => {
                let of = |(at, name): (usize, &String)| {
                    (name.clone(), Values::Ints(column(names.len(), at).map(|v| v as i64).collect()))
                };
                Attribute::Frame(names.iter().enumerate().map(of).collect())
            }
        })
    }

    /// Whether the tables of a file are rectangles.
    ///
    /// # Errors
    /// Names the attribute that is not.
    pub fn check(&self, features: usize) -> Result<(), Error> {
        let fits = |stored: &StoredAttribute| {
            let count = stored.values.data.len();
            match &stored.form {
                StoredForm::Float | StoredForm::Int => count == 1,
                StoredForm::ByFeature(_) => count == features,
                StoredForm::ByRow(_) => features > 0 && count.is_multiple_of(features),
                StoredForm::Numbered(..) | StoredForm::Flags(_) => true,
                StoredForm::Columns(names) | StoredForm::Counts(names) => {
                    !names.is_empty() && count.is_multiple_of(names.len())
                }
            }
        };
        match self.list.iter().find(|stored| !fits(stored)) {
            Some(stored) => {
                let (name, count) = (&stored.name, stored.values.data.len());
                let message = format!("`{name}` has {count} values, which do not fit {features} features");
                Err(Error::new(ErrorKind::ModelFile, message))
            }
            None => Ok(()),
        }
    }

    /// Bytes of the values.
    pub fn bytes(&self) -> u64 {
        self.list.iter().map(|stored| stored.values.bytes()).sum()
    }
}
