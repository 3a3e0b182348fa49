//! A chain of transformers and a final estimator (scikit-learn's `Pipeline`).

use std::borrow::Cow;

use onrush_wire::learn::Spec;

use super::{TransformedRows, distinct_names, samplers, transformer};
use crate::check::is_passthrough_or_drop;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::inside::inside;
use crate::estimators::{FittedModel, Pipeline, Trainer};
use crate::run::Run;
use crate::text;

/// Trains the steps one after the other.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<Pipeline, Error> {
    let (mut steps, data) = before_last(spec, data, run, fit)?;
    if let Some(last) = spec.parts.last().filter(|part| !is_passthrough_or_drop(&part.spec)) {
        let fitted = fit(&last.spec, &data, run).map_err(|e| inside(&last.name, e))?;
        steps.push((last.name.clone(), fitted));
    }
    Ok(Pipeline { steps })
}

/// Trains the steps, and gives the transformed training rows.
pub fn fit_transform(
    spec: &Spec,
    data: &Data,
    run: &Run<'_>,
    fit: Trainer<'_>,
) -> Result<(Pipeline, TransformedRows), Error> {
    let (mut steps, data) = before_last(spec, data, run, fit)?;
    let Some(last) = spec.parts.last().filter(|part| !is_passthrough_or_drop(&part.spec)) else {
        let Data { features, sparse, .. } = data.into_owned();
        let dense = features.into_iter().map(|c| c.values).collect();
        return Ok((Pipeline { steps }, TransformedRows { dense, sparse }));
    };
    let (fitted, values) = super::transform_training(&last.spec, &data, run, fit).map_err(|e| inside(&last.name, e))?;
    steps.push((last.name.clone(), fitted));
    Ok((Pipeline { steps }, values))
}

type Steps<'a> = (Vec<(String, FittedModel)>, Cow<'a, Data>);

/// Trains all steps but the last one: the models, and what the last one is trained on.
fn before_last<'a>(spec: &Spec, data: &'a Data, run: &Run<'_>, fit: Trainer<'_>) -> Result<Steps<'a>, Error> {
    distinct_names(spec)?;
    let Some((_, before)) = spec.parts.split_last() else {
        return Err(Error::new(ErrorKind::Parameter, "the pipeline has no steps")
            .help("`.step(StandardScaler::new())` adds one"));
    };
    if let Some(part) = spec.parts.iter().find(|part| part.spec.estimator == "drop") {
        let message = format!("step `{}` is \"drop\": a pipeline takes estimators and \"passthrough\"", part.name);
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let mut later = spec.parts.iter().filter(|part| !is_passthrough_or_drop(&part.spec)).skip(1);
    if let Some(part) = later.find(|part| text::takes_documents(&part.spec)) {
        let message =
            format!("step `{}` takes documents, which come from a frame and not from another step", part.name);
        return Err(Error::new(ErrorKind::Estimator, message)
            .help("put it first: `fill_null(\"\")` and other functions of strings work on the frame"));
    }
    if data.rows == 0 {
        return Err(Error::new(ErrorKind::NoRows, "the pipeline got no rows"));
    }
    let mut steps = Vec::new();
    let mut now = Cow::Borrowed(data);
    for (k, part) in before.iter().enumerate().filter(|(_, part)| !is_passthrough_or_drop(&part.spec)) {
        run.check(|| format!("{k} of {} steps", spec.parts.len()))?;
        run.stage(format!("step {} of {}: {}", k + 1, spec.parts.len(), part.name));
        if samplers::is_sampler(&part.spec) {
            // It changes the rows of the training alone, so that the model has no step for it.
            let next = samplers::resampled(&part.spec, &now, run).map_err(|e| inside(&part.name, e))?;
            now = Cow::Owned(next);
            continue;
        }
        let (fitted, next) = transformer(&part.name, &part.spec, &now, run, fit)?;
        steps.push((part.name.clone(), fitted));
        now = Cow::Owned(next);
    }
    run.check(|| format!("{} of {} steps", before.len(), spec.parts.len()))?;
    Ok((steps, now))
}
