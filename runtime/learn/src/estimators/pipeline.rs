//! A trained chain of transformers and a final estimator.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::FittedModel;
use super::inside::{check_inside, features_of, inside, named_bars, named_notes, transformed};
use crate::data::sparse::Sparse;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, LinearScores, Model, Role};

/// Trained steps. Steps that pass their features through are left out.
#[derive(Serialize, Deserialize)]
pub struct Pipeline {
    pub(crate) steps: Vec<(String, FittedModel)>,
}

impl Pipeline {
    pub(crate) fn last(&self) -> Option<&FittedModel> {
        self.steps.last().map(|(_, fitted)| fitted)
    }

    /// The rows as the last step gets them.
    pub(crate) fn before_last<'a>(&self, data: &'a Data) -> Result<Cow<'a, Data>, Error> {
        let mut now = Cow::Borrowed(data);
        for (name, fitted) in &self.steps[..self.steps.len().saturating_sub(1)] {
            now = Cow::Owned(transformed(name, fitted, &now)?);
        }
        Ok(now)
    }

    /// Names and models of the steps.
    pub fn steps(&self) -> impl Iterator<Item = (&str, &FittedModel)> {
        self.steps.iter().map(|(name, fitted)| (name.as_str(), fitted))
    }
}

/// A feature as it is.
pub(super) fn passed(data: &Data, position: usize) -> Vec<f64> {
    match (data.features.get(position), &data.sparse) {
        (Some(column), _) => column.values.clone(),
        (None, Some(sparse)) => sparse.dense(&[position - data.width()]).remove(0),
        (None, None) => Vec::new(),
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
        let Some((name, last)) = self.steps.last() else {
            return Ok(wanted.iter().map(|k| passed(data, *k)).collect());
        };
        let now = self.before_last(data)?;
        let now = last.ready(&now).map_err(|e| inside(name, e))?;
        last.model().apply(&now, wanted).map_err(|e| inside(name, e))
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        let mut now = data.clone();
        for (name, step) in self.steps().collect::<Vec<_>>().into_iter().rev() {
            match step.model().inverse(&now, &step.features).map_err(|e| inside(name, e))? {
                Some(columns) => now = now.with_features(columns),
                None => return Ok(None),
            }
        }
        Ok((now.features.len() == features.len()).then_some(now.features))
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let Some((name, last)) = self.steps.last() else { return Ok(None) };
        let now = self.before_last(data)?;
        let now = last.ready(&now).map_err(|e| inside(name, e))?;
        last.model().decision(&now).map_err(|e| inside(name, e))
    }

    fn sparse_outputs(&self, sparse: usize) -> usize {
        self.last().map_or(sparse, FittedModel::sparse_outputs)
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        let Some((name, last)) = self.steps.last() else { return Ok(data.sparse.clone()) };
        if last.sparse_outputs() == 0 {
            return Ok(None);
        }
        let now = self.before_last(data)?;
        let now = last.ready(&now).map_err(|e| inside(name, e))?;
        last.model().apply_sparse(&now).map_err(|e| inside(name, e))
    }

    fn dense_outputs(&self, features: &[Field], sparse: usize) -> Vec<Role> {
        match self.last() {
            Some(last) => last.model().dense_outputs(&last.features, last.sparse),
            None => self.outputs(&features[..features.len() - sparse]),
        }
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
        named_notes(self.steps())
    }

    fn rows(&self) -> Option<Vec<f64>> {
        self.last().and_then(|last| last.model().rows())
    }

    fn embedding(&self) -> Option<Vec<(String, Vec<f64>)>> {
        self.last().and_then(|last| last.model().embedding())
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
        let mut sparse = self.steps.first().map_or(0, |(_, first)| first.sparse);
        for (k, (name, fitted)) in self.steps.iter().enumerate() {
            check_inside(fitted)?;
            if before.as_ref().map_or(fitted.features.len() != features, |before| *before != fitted.features) {
                return wrong(name);
            }
            // An estimator of dense features has none that are sparse.
            if fitted.sparse != sparse && fitted.sparse != 0 {
                return wrong(name);
            }
            sparse = fitted.sparse_outputs();
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
