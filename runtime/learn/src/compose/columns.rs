//! Transformers on subsets of columns, whose outputs are concatenated (scikit-learn's `ColumnTransformer` and
//! `FeatureUnion`).

use std::borrow::Cow;
use std::collections::HashSet;

use onrush_wire::learn::Spec;

use super::{TransformedRows, distinct_names, transformer};
use crate::check;
use crate::data::sparse::Sparse;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::estimators::{Block, ColumnModels, Trainer};
use crate::params;
use crate::run::Run;

/// Trains the transformers.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<ColumnModels, Error> {
    Ok(fit_transform(spec, data, run, fit)?.0)
}

/// Trains the transformers, and gives the transformed training rows.
pub fn fit_transform(
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<(ColumnModels, TransformedRows), Error> {
    distinct_names(spec)?;
    if data.rows == 0 {
        return Err(Error::new(ErrorKind::NoRows, format!("{} got no rows", spec.estimator)));
    }
    let by_column = spec.estimator == "ColumnTransformer";
    // Terms are not chosen by their names while they are sparse.
    let data = &*if by_column && data.sparse.is_some() {
        Cow::Owned(data.to_dense(&spec.estimator)?)
    } else {
        Cow::Borrowed(data)
    };
    let sparse = data.sparse.as_ref().map_or(0, Sparse::width);
    let mut taken = vec![!by_column; data.width()];
    let (mut blocks, mut outputs, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for (k, part) in spec.parts.iter().enumerate() {
        run.check(|| format!("{k} of {} transformers", spec.parts.len()))?;
        let columns = match by_column {
            true => positions(&part.columns, data, &part.name)?,
            false => (0..data.width()).collect(),
        };
        columns.iter().for_each(|j| taken[*j] = true);
        if columns.len() + sparse == 0 || part.spec.estimator == "drop" {
            continue;
        }
        let of_block = subset(data, &columns);
        let (model, of_block) = match part.spec.estimator.as_str() {
            "passthrough" => (None, of_block),
            _ => {
                run.stage(format!("transformer {} of {}: {}", k + 1, spec.parts.len(), part.name));
                let (model, of_block) = transformer(&part.name, &part.spec, &of_block, run, fit)?;
                (Some(model), of_block)
            }
        };
        blocks.push(Block { name: part.name.clone(), columns, sparse, model });
        outputs.extend(of_block.features);
        parts.push(of_block.sparse);
    }
    if by_column && params::ColumnTransformer::of(spec).remainder == "passthrough" {
        let columns: Vec<usize> = (0..data.width()).filter(|j| !taken[*j]).collect();
        outputs.extend(subset(data, &columns).features);
        blocks.push(Block { name: "remainder".to_string(), columns, sparse: 0, model: None });
        parts.push(None);
    }
    let models = ColumnModels::new(blocks);
    let sparse = models.joined(parts);
    if outputs.is_empty() && sparse.is_none() {
        return Err(Error::new(ErrorKind::NoFeatures, format!("{} makes no columns", spec.estimator)));
    }
    let mut names: Vec<&str> = outputs.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::new(ErrorKind::DuplicateColumn, format!("two transformers make the column `{}`", pair[0]))
            .help("give each column to one transformer, or rename a feature first"));
    }
    let mut dense: HashSet<&str> = HashSet::with_capacity(names.len());
    dense.extend(names);
    if let Some(name) = sparse.iter().flat_map(|sparse| sparse.names.iter()).find(|name| dense.contains(name.as_str()))
    {
        return Err(Error::new(ErrorKind::DuplicateColumn, format!("two transformers make the column `{name}`"))
            .help("rename the transformer, or a feature first"));
    }
    Ok((models, TransformedRows { dense: outputs.into_iter().map(|c| c.values).collect(), sparse }))
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

/// The same rows with some of the dense features and all sparse ones, also in the evaluation sets.
fn subset(data: &Data, columns: &[usize]) -> Data {
    let some = |data: &Data| {
        let features = columns.iter().map(|j| data.features[*j].clone()).collect::<Vec<Column>>();
        Data { sparse: data.sparse.clone(), ..data.with_features(features) }
    };
    Data { eval: data.eval.iter().map(some).collect(), ..some(data) }
}
