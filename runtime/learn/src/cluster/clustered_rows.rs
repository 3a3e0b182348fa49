//! Clusters of the rows of a training, for estimators that find no cluster for other rows.

use serde::{Deserialize, Serialize};

use super::labels;
use crate::data::Data;
use crate::error::Error;
use crate::model::{Attribute, Field, Model, Role};
use crate::stored::StoredAttributes;
use crate::tensor::Tensor;

/// Labels of the rows of a training.
#[derive(Serialize, Deserialize)]
pub struct ClusteredRows {
    pub labels: Tensor,
    pub attributes: StoredAttributes,
    pub notes: Vec<String>,
}

impl Model for ClusteredRows {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        Vec::new()
    }

    fn apply(&self, _: &Data, _: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(Vec::new())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "labels" => Some(labels(&self.labels.data)),
            _ => self.attributes.get(name, features),
        }
    }

    fn rows(&self) -> Option<Vec<f64>> {
        Some(self.labels.data.clone())
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        self.attributes.check(features)
    }

    fn bytes(&self) -> u64 {
        self.labels.bytes() + self.attributes.bytes()
    }
}
