//! Trained transformers on subsets of columns, whose outputs are concatenated.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::FittedModel;
use super::inside::{check_inside, features_of, fields, inside};
use crate::check;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};

/// Trained transformers of columns. Their outputs are in a row.
#[derive(Serialize, Deserialize)]
pub struct ColumnModels {
    pub(crate) blocks: Vec<Block>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Block {
    pub name: String,
    /// The positions of its features among all.
    pub columns: Vec<usize>,
    /// `None`: the features pass through.
    pub model: Option<FittedModel>,
}

impl Block {
    /// The outputs: the position among those of the model, or the position of the feature.
    fn outputs(&self, features: &[Field]) -> Vec<(usize, Field)> {
        match &self.model {
            Some(fitted) => features_of(&self.name, fitted).unwrap_or_default(),
            None => self.columns.iter().map(|j| (*j, features[*j].clone())).collect(),
        }
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let Some(fitted) = &self.model else {
            return Ok(wanted.iter().map(|j| data.features[*j].values.clone()).collect());
        };
        let data = Data::new(self.columns.iter().map(|j| data.features[*j].clone()).collect());
        check::features(&fitted.spec, &data).map_err(|e| inside(&self.name, e))?;
        fitted.model().apply(&data, wanted).map_err(|e| inside(&self.name, e))
    }
}

impl Model for ColumnModels {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let all = self.blocks.iter().flat_map(|block| block.outputs(features));
        all.map(|(_, field)| Role::Feature(field.name, field.kind)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let features = fields(data);
        // For each block the wanted positions among the outputs of its model, and the places in the answer.
        let mut places: Vec<(usize, usize)> = Vec::new();
        for (b, block) in self.blocks.iter().enumerate() {
            places.extend(block.outputs(&features).into_iter().map(|(k, _)| (b, k)));
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
            if let Some(fitted) = &block.model {
                check_inside(fitted)?;
                features_of(&block.name, fitted)?;
                if fitted.features.len() != block.columns.len() {
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
