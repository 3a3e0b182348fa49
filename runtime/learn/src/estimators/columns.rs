//! Trained transformers on subsets of columns, whose outputs are concatenated.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::FittedModel;
use super::inside::{check_inside, dense_features_of, features_of, fields, inside};
use super::pipeline::passed;
use crate::data::Data;
use crate::data::sparse::Sparse;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};

/// Trained transformers of columns. Their dense outputs are in a row, then their sparse ones.
#[derive(Serialize, Deserialize)]
pub struct ColumnModels {
    pub(crate) blocks: Vec<Block>,
    /// The names of the sparse outputs, once they are made.
    #[serde(skip)]
    names: OnceLock<Arc<Vec<String>>>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Block {
    pub name: String,
    /// The positions of its dense features among all.
    pub columns: Vec<usize>,
    /// How many sparse features it takes: none or all.
    #[serde(default)]
    pub sparse: usize,
    /// `None`: the features pass through.
    pub model: Option<FittedModel>,
}

impl Block {
    /// The outputs: the position among those of the model, or the position of the feature.
    fn outputs(&self, features: &[Field]) -> Vec<(usize, Field)> {
        match &self.model {
            Some(fitted) => features_of(&self.name, fitted).unwrap_or_default(),
            None => {
                let sparse = features.len() - self.sparse..features.len();
                self.columns.iter().copied().chain(sparse).map(|j| (j, features[j].clone())).collect()
            }
        }
    }

    /// The outputs that are not sparse.
    fn dense_outputs(&self, features: &[Field]) -> Vec<(usize, Field)> {
        match &self.model {
            Some(fitted) => dense_features_of(&self.name, fitted).unwrap_or_default(),
            None => self.columns.iter().map(|j| (*j, features[*j].clone())).collect(),
        }
    }

    fn sparse_outputs(&self) -> usize {
        self.model.as_ref().map_or(self.sparse, FittedModel::sparse_outputs)
    }

    /// The features of the block.
    fn rows(&self, data: &Data) -> Data {
        let columns = self.columns.iter().map(|j| data.features[*j].clone()).collect();
        let sparse = data.sparse.as_ref().filter(|_| self.sparse > 0).cloned();
        Data { rows: data.rows, sparse, ..Data::new(columns) }
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let Some(fitted) = &self.model else {
            return Ok(wanted.iter().map(|j| passed(data, *j)).collect());
        };
        let data = self.rows(data);
        let data = fitted.ready(&data).map_err(|e| inside(&self.name, e))?;
        fitted.model().apply(&data, wanted).map_err(|e| inside(&self.name, e))
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        if self.sparse_outputs() == 0 {
            return Ok(None);
        }
        let data = self.rows(data);
        let Some(fitted) = &self.model else { return Ok(data.sparse) };
        let data = fitted.ready(&data).map_err(|e| inside(&self.name, e))?;
        let sparse = fitted.model().apply_sparse(&data).map_err(|e| inside(&self.name, e))?;
        match sparse.as_ref().map_or(0, Sparse::width) == self.sparse_outputs() {
            true => Ok(sparse),
            false => {
                let message = format!("transformer `{}` has other sparse outputs than in training", self.name);
                Err(Error::new(ErrorKind::TypeMismatch, message))
            }
        }
    }

    /// The name of a sparse output, as in scikit-learn: terms of different columns are different.
    fn sparse_name(&self, name: &str) -> String {
        format!("{}__{name}", self.name)
    }
}

impl ColumnModels {
    pub fn new(blocks: Vec<Block>) -> Self {
        ColumnModels { blocks, names: OnceLock::new() }
    }

    /// The sparse outputs of the blocks as one. `None` if there are none.
    pub fn joined(&self, parts: Vec<Option<Sparse>>) -> Option<Sparse> {
        if parts.iter().all(Option::is_none) {
            return None;
        }
        let names = self.names.get_or_init(|| {
            let named = |(block, part): (&Block, &Option<Sparse>)| {
                let names = part.iter().flat_map(|part| part.names.iter());
                names.map(|name| block.sparse_name(name)).collect::<Vec<String>>()
            };
            Arc::new(self.blocks.iter().zip(&parts).flat_map(named).collect())
        });
        let parts: Vec<Sparse> = parts.into_iter().flatten().collect();
        Some(Sparse::joined(&parts, Arc::clone(names)))
    }

    /// The rows with as many sparse features as the training had.
    fn rows<'a>(&self, data: &'a Data) -> Result<Cow<'a, Data>, Error> {
        let Some(sparse) = &data.sparse else {
            return match self.blocks.iter().all(|block| block.sparse == 0) {
                true => Ok(Cow::Borrowed(data)),
                false => {
                    Err(Error::new(ErrorKind::TypeMismatch, "the features are dense, and were sparse in training"))
                }
            };
        };
        if self.blocks.iter().all(|block| block.sparse == 0) {
            return data.to_dense("ColumnTransformer").map(Cow::Owned);
        }
        match self.blocks.iter().all(|block| block.sparse == 0 || block.sparse == sparse.width()) {
            true => Ok(Cow::Borrowed(data)),
            false => Err(Error::new(ErrorKind::TypeMismatch, "there are other sparse features than in training")),
        }
    }
}

impl Model for ColumnModels {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let mut outputs = self.dense_outputs(features, 0);
        for block in self.blocks.iter().filter(|block| block.sparse_outputs() > 0) {
            let all = block.outputs(features);
            let sparse = &all[all.len().saturating_sub(block.sparse_outputs())..];
            outputs.extend(
                sparse.iter().map(|(_, field)| Role::Feature(block.sparse_name(&field.name), field.kind.clone())),
            );
        }
        outputs
    }

    fn dense_outputs(&self, features: &[Field], _: usize) -> Vec<Role> {
        let all = self.blocks.iter().flat_map(|block| block.dense_outputs(features));
        all.map(|(_, field)| Role::Feature(field.name, field.kind)).collect()
    }

    fn sparse_outputs(&self, _: usize) -> usize {
        self.blocks.iter().map(Block::sparse_outputs).sum()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let data = &*self.rows(data)?;
        let features = fields(data);
        // For each block the wanted positions among the outputs of its model, and the places in the answer.
        let mut places: Vec<(usize, usize)> = Vec::new();
        for (b, block) in self.blocks.iter().enumerate() {
            places.extend(block.dense_outputs(&features).into_iter().map(|(k, _)| (b, k)));
        }
        if wanted.iter().any(|k| *k >= places.len()) {
            for (b, block) in self.blocks.iter().enumerate().filter(|(_, block)| block.sparse_outputs() > 0) {
                let all = block.outputs(&features);
                let sparse = &all[all.len().saturating_sub(block.sparse_outputs())..];
                places.extend(sparse.iter().map(|(k, _)| (b, *k)));
            }
        }
        let mut asked: Vec<(Vec<usize>, Vec<usize>)> = vec![Default::default(); self.blocks.len()];
        for (place, k) in wanted.iter().enumerate() {
            let (block, output) = places[*k];
            asked[block].0.push(output);
            asked[block].1.push(place);
        }
        let results: Vec<Result<Vec<Vec<f64>>, Error>> = asked
            .par_iter()
            .zip(&self.blocks)
            .map(|((outputs, _), block)| if outputs.is_empty() { Ok(Vec::new()) } else { block.apply(data, outputs) })
            .collect();
        let mut answer = vec![Vec::new(); wanted.len()];
        for (values, (_, places)) in results.into_iter().zip(&asked) {
            values?.into_iter().zip(places).for_each(|(values, place)| answer[*place] = values);
        }
        Ok(answer)
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        let data = &*self.rows(data)?;
        let parts = self.blocks.iter().map(|block| block.apply_sparse(data)).collect::<Result<Vec<_>, Error>>()?;
        Ok(self.joined(parts))
    }

    fn attribute(&self, _: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        None
    }

    fn notes(&self) -> Vec<String> {
        let of = |block: &Block| {
            let notes = block.model.as_ref().map_or_else(Vec::new, |fitted| fitted.model().notes());
            notes.into_iter().map(|note| format!("{}: {note}", block.name)).collect::<Vec<String>>()
        };
        self.blocks.iter().flat_map(of).collect()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        for block in &self.blocks {
            if let Some(j) = block.columns.iter().find(|j| **j >= features) {
                let message = format!("transformer `{}` takes feature {j} of {features}", block.name);
                return Err(Error::new(ErrorKind::ModelFile, message));
            }
            if block.sparse > features {
                let message = format!("transformer `{}` takes {} of {features} features", block.name, block.sparse);
                return Err(Error::new(ErrorKind::ModelFile, message));
            }
            if let Some(fitted) = &block.model {
                check_inside(fitted)?;
                features_of(&block.name, fitted)?;
                if fitted.features.len() != block.columns.len() + block.sparse || fitted.sparse > block.sparse {
                    let message = format!("transformer `{}` has the wrong number of features", block.name);
                    return Err(Error::new(ErrorKind::ModelFile, message));
                }
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.blocks.iter().filter_map(|b| b.model.as_ref()).map(|fitted| fitted.model().bytes()).sum()
    }
}
