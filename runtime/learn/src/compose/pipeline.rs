//! A chain of transformers and a final estimator (scikit-learn's `Pipeline`).

use std::borrow::Cow;

use onrush_wire::learn::Spec;
use serde::{Deserialize, Serialize};

use super::{
    check_inside, distinct_names, features_of, inside, is_passthrough_or_drop, named_bars, transformed, transformer,
};
use crate::check;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::fit as fit_one;
use crate::model::{Attribute, Field, FittedModel, LinearScores, Model, Role};
use crate::run::Run;

/// Trained steps. Steps that pass their features through are left out.
#[derive(Serialize, Deserialize)]
pub struct Pipeline {
    steps: Vec<(String, FittedModel)>,
}

/// Trains the steps one after the other.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<Pipeline, Error> {
    let (mut steps, data) = before_last(spec, data, run)?;
    if let Some(last) = spec.parts.last().filter(|part| !is_passthrough_or_drop(&part.spec)) {
        let fitted = fit_one(&last.spec, &data, run).map_err(|e| inside(&last.name, e))?;
        steps.push((last.name.clone(), fitted));
    }
    Ok(Pipeline { steps })
}

/// Trains the steps, and gives the transformed training rows.
pub fn fit_transform(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<(Pipeline, Vec<Vec<f64>>), Error> {
    let (mut steps, data) = before_last(spec, data, run)?;
    let Some(last) = spec.parts.last().filter(|part| !is_passthrough_or_drop(&part.spec)) else {
        let values = data.into_owned().features.into_iter().map(|c| c.values);
        return Ok((Pipeline { steps }, values.collect()));
    };
    let (fitted, values) = super::fit_transform(&last.spec, &data, run).map_err(|e| inside(&last.name, e))?;
    steps.push((last.name.clone(), fitted));
    Ok((Pipeline { steps }, values))
}

type Steps<'a> = (Vec<(String, FittedModel)>, Cow<'a, Data>);

/// Trains all steps but the last one: the models, and what the last one is trained on.
fn before_last<'a>(spec: &Spec, data: &'a Data, run: &Run<'_>) -> Result<Steps<'a>, Error> {
    distinct_names(spec)?;
    let Some((_, before)) = spec.parts.split_last() else {
        return Err(Error::new(ErrorKind::Parameter, "the pipeline has no steps")
            .help("`.step(StandardScaler::new())` adds one"));
    };
    if let Some(part) = spec.parts.iter().find(|part| part.spec.estimator == "drop") {
        let message = format!("step `{}` is \"drop\": a pipeline takes estimators and \"passthrough\"", part.name);
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    if data.rows == 0 {
        return Err(Error::new(ErrorKind::NoRows, "the pipeline got no rows"));
    }
    let mut steps = Vec::new();
    let mut now = Cow::Borrowed(data);
    for (k, part) in before.iter().enumerate().filter(|(_, part)| !is_passthrough_or_drop(&part.spec)) {
        run.check(|| format!("{k} of {} steps", spec.parts.len()))?;
        run.stage(format!("step {} of {}: {}", k + 1, spec.parts.len(), part.name));
        let (fitted, next) = transformer(&part.name, &part.spec, &now, run)?;
        steps.push((part.name.clone(), fitted));
        now = Cow::Owned(next);
    }
    run.check(|| format!("{} of {} steps", before.len(), spec.parts.len()))?;
    Ok((steps, now))
}

impl Pipeline {
    fn last(&self) -> Option<&FittedModel> {
        self.steps.last().map(|(_, fitted)| fitted)
    }

    /// Names and models of the steps.
    pub fn steps(&self) -> impl Iterator<Item = (&str, &FittedModel)> {
        self.steps.iter().map(|(name, fitted)| (name.as_str(), fitted))
    }
}

impl Model for Pipeline {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        match self.last() {
            Some(last) => last.model().outputs(&last.features),
            None => features.iter().map(|f| Role::Feature(f.name.clone(), f.kind.clone())).collect(),
        }
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let Some(((name, last), before)) = self.steps.split_last() else {
            return Ok(wanted.iter().map(|k| data.features[*k].values.clone()).collect());
        };
        let mut now = Cow::Borrowed(data);
        for (name, fitted) in before {
            now = Cow::Owned(transformed(name, fitted, &now)?);
        }
        check::features(&last.spec, &now).map_err(|e| inside(name, e))?;
        last.model().apply(&now, wanted).map_err(|e| inside(name, e))
    }

    fn linear(&self) -> Option<LinearScores> {
        let ((_, last), before) = self.steps.split_last()?;
        let mut scores = last.model().linear()?;
        for (_, step) in before.iter().rev() {
            // (x - s) * f - t is (x - (s + t / f)) * f.
            let (factor, shift) = step.affine()?;
            for (own, (f, s)) in scores.shift.iter_mut().zip(factor.iter().zip(&shift)) {
                *own = s + *own / f;
            }
            for coef in &mut scores.coef {
                coef.iter_mut().zip(&factor).for_each(|(c, f)| *c *= f);
            }
        }
        Some(scores)
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        self.last().and_then(|last| last.attribute(name))
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        self.last().and_then(|last| last.model().bars())
    }

    fn bar_names(&self) -> Option<Vec<String>> {
        self.last().map(|last| named_bars(last.model(), &last.features))
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        self.last().map_or_else(Vec::new, |last| last.model().curves())
    }

    fn notes(&self) -> Vec<String> {
        let of = |(name, fitted): (&str, &FittedModel)| {
            let name = name.to_string();
            fitted.model().notes().into_iter().map(move |note| format!("{name}: {note}"))
        };
        self.steps().flat_map(of).collect()
    }

    fn rows(&self) -> Option<Vec<f64>> {
        self.last().and_then(|last| last.model().rows())
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |name: &str| {
            Err(Error::new(ErrorKind::ModelFile, format!("step `{name}` does not fit the step before it")))
        };
        let predicts = |fitted: &&FittedModel| fitted.model().outputs(&fitted.features).contains(&Role::Prediction);
        if let Some(last) = self.last().filter(predicts)
            && last.classes.len() != classes
        {
            let message = format!("the last step has {} classes, and the pipeline has {classes}", last.classes.len());
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        let mut before: Option<Vec<Field>> = None;
        for (k, (name, fitted)) in self.steps.iter().enumerate() {
            check_inside(fitted)?;
            if before.as_ref().map_or(fitted.features.len() != features, |before| *before != fitted.features) {
                return wrong(name);
            }
            if k + 1 < self.steps.len() {
                before = Some(features_of(name, fitted)?.into_iter().map(|(_, field)| field).collect());
            }
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.steps().map(|(_, fitted)| fitted.model().bytes()).sum()
    }
}

#[cfg(test)]
mod tests {
    use onrush_wire::learn::Part;

    use super::*;
    use crate::data::Column;

    #[test]
    fn a_file_has_the_classes_of_the_last_step() {
        let x = Column::number("x", (0..20).map(f64::from).collect());
        let y = (0..20).map(|i| f64::from(u8::from(i > 9))).collect();
        let data = Data { y, classes: vec!["a".to_string(), "b".to_string()], ..Data::new(vec![x]) };
        let step = |name: &str| Part { name: name.to_string(), columns: Vec::new(), spec: Spec::new(name) };
        let parts = vec![step("StandardScaler"), step("LogisticRegression")];
        let fitted = fit_one(&Spec { parts, ..Spec::new("Pipeline") }, &data, &Run::silent()).unwrap();
        assert_eq!(fitted.model().check(1, 2), Ok(()));
        let error = fitted.model().check(1, 3).unwrap_err();
        assert_eq!(error.message, "the last step has 2 classes, and the pipeline has 3");
    }
}
