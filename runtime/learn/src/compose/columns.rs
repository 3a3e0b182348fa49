//! Transformers on subsets of columns, whose outputs are concatenated (scikit-learn's `ColumnTransformer` and
//! `FeatureUnion`).

use onrush_wire::learn::Spec;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{check_inside, distinct_names, features_of, fields, inside, transformer};
use crate::check;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, FittedModel, Model, Role};
use crate::params;
use crate::run::Run;

/// Trained transformers of columns. Their outputs are in a row.
#[derive(Serialize, Deserialize)]
pub struct ColumnModels {
    blocks: Vec<Block>,
}

#[derive(Serialize, Deserialize)]
struct Block {
    name: String,
    /// The positions of its features among all.
    columns: Vec<usize>,
    /// `None`: the features pass through.
    model: Option<FittedModel>,
}

/// Trains the transformers.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<ColumnModels, Error> {
    Ok(fit_transform(spec, data, run)?.0)
}

/// Trains the transformers, and gives the transformed training rows.
pub fn fit_transform(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<(ColumnModels, Vec<Vec<f64>>), Error> {
    distinct_names(spec)?;
    if data.rows == 0 {
        return Err(Error::new(ErrorKind::NoRows, format!("{} got no rows", spec.estimator)));
    }
    let by_column = spec.estimator == "ColumnTransformer";
    let mut taken = vec![!by_column; data.width()];
    let (mut blocks, mut outputs) = (Vec::new(), Vec::new());
    for (k, part) in spec.parts.iter().enumerate() {
        run.check(|| format!("{k} of {} transformers", spec.parts.len()))?;
        let columns = match by_column {
            true => positions(&part.columns, data, &part.name)?,
            false => (0..data.width()).collect(),
        };
        columns.iter().for_each(|j| taken[*j] = true);
        if columns.is_empty() || part.spec.estimator == "drop" {
            continue;
        }
        let of_block = subset(data, &columns);
        let (model, of_block) = match part.spec.estimator.as_str() {
            "passthrough" => (None, of_block),
            _ => {
                run.stage(format!("transformer {} of {}: {}", k + 1, spec.parts.len(), part.name));
                let (model, of_block) = transformer(&part.name, &part.spec, &of_block, run)?;
                (Some(model), of_block)
            }
        };
        blocks.push(Block { name: part.name.clone(), columns, model });
        outputs.extend(of_block.features);
    }
    if by_column && params::ColumnTransformer::of(spec).remainder == "passthrough" {
        let columns: Vec<usize> = (0..data.width()).filter(|j| !taken[*j]).collect();
        outputs.extend(subset(data, &columns).features);
        blocks.push(Block { name: "remainder".to_string(), columns, model: None });
    }
    if outputs.is_empty() {
        return Err(Error::new(ErrorKind::NoFeatures, format!("{} makes no columns", spec.estimator)));
    }
    let mut names: Vec<&str> = outputs.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::new(ErrorKind::DuplicateColumn, format!("two transformers make the column `{}`", pair[0]))
            .help("give each column to one transformer, or rename a feature first"));
    }
    Ok((ColumnModels { blocks }, outputs.into_iter().map(|c| c.values).collect()))
}

/// The positions of columns by their names.
fn positions(columns: &[String], data: &Data, part: &str) -> Result<Vec<usize>, Error> {
    let position = |name: &String| {
        data.features.iter().position(|c| c.name == *name).ok_or_else(|| {
            let names = data.names();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let error = Error::new(
                ErrorKind::UnknownColumn,
                format!("transformer `{part}` takes `{name}`, which is not a feature"),
            );
            match check::nearest(name, &names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("the features are {}", names.join(", "))),
            }
        })
    };
    columns.iter().map(position).collect()
}

/// The same rows with some of the features, also in the evaluation sets.
fn subset(data: &Data, columns: &[usize]) -> Data {
    let features = |data: &Data| columns.iter().map(|j| data.features[*j].clone()).collect::<Vec<Column>>();
    let eval = data.eval.iter().map(|eval| eval.with_features(features(eval))).collect();
    Data { eval, ..data.with_features(features(data)) }
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
