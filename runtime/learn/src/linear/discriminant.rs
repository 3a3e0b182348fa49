//! Classification by ridge regression on targets of -1 and 1: `RidgeClassifier` of scikit-learn
//! (`sklearn/linear_model/_ridge.py`).

use onrush_dense::Matrix;
use serde::{Deserialize, Serialize};

use super::design::{Design, Gram};
use super::least_squares::WIDE;
use super::logistic::{decisions, predicted};
use super::{finite, ridge};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role, Values};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::weights;

/// Linear scores of classes, without probabilities.
#[derive(Serialize, Deserialize)]
pub struct Discriminant {
    /// Outputs x features. There is one output for two classes, that of the second one, else one for each class.
    pub coef: Tensor,
    /// For each output.
    pub intercept: Tensor,
}

/// Trains `RidgeClassifier`.
///
/// # Errors
/// If a weight cannot be used, the coefficients overflow, or the user stops the work.
pub fn fit(params: &params::RidgeClassifier, data: &Data, run: &Run<'_>) -> Result<Discriminant, Error> {
    let (alpha, centre, width) = (finite("alpha", params.alpha)?, params.fit_intercept, data.width());
    let weight = weights::of_rows(&params.class_weight, data)?;
    let first = usize::from(data.classes.len() == 2);
    let sign = |class: usize| data.y.iter().map(|y| if *y as usize == class { 1.0 } else { -1.0 }).collect();
    let targets: Vec<Vec<f64>> = (first..data.classes.len()).map(sign).collect();
    let columns = data.features.iter().map(|c| c.values.as_slice()).chain(targets.iter().map(Vec::as_slice));
    let design = Design::new(columns.collect(), weight.as_deref(), None, centre)?;
    let active: Vec<usize> = (0..width).filter(|j| !design.constant[*j]).collect();
    let d = active.len();
    let all: Vec<usize> = active.iter().copied().chain(width..width + targets.len()).collect();
    let products = match d > 0 && d <= design.rows && d <= WIDE {
        true => Some(design.with(&all).products(run)?),
        false => None,
    };
    let (mut coef, mut intercept) = (Vec::new(), Vec::new());
    for output in 0..targets.len() {
        run.check(|| format!("{output} of {} classes", targets.len()))?;
        let inner = design.with(&[active.as_slice(), &[width + output]].concat());
        let picked: Vec<usize> = (0..d).chain([d + output, d + targets.len()]).collect();
        let gram = products.as_ref().map(|p| Gram::new(&part(p, &picked), &inner.mean, &inner.scale, centre));
        let (w, b) = ridge::solve(&inner, gram.as_ref(), &active, width, alpha, centre, run)?;
        coef.extend(w);
        intercept.push(b);
    }
    if !intercept.iter().chain(&coef).all(|w| w.is_finite()) {
        let message = "the coefficients are not finite numbers: the values of the data are too large";
        return Err(
            Error::new(ErrorKind::Overflow, message).help("scale the features, for example with `StandardScaler`")
        );
    }
    Ok(Discriminant { coef: Tensor::new(vec![targets.len(), width], coef), intercept: Tensor::vector(intercept) })
}

/// The rows and columns of a matrix at these positions.
fn part(matrix: &Matrix, picked: &[usize]) -> Matrix {
    let values = picked.iter().flat_map(|j| picked.iter().map(|i| matrix.at(*i, *j))).collect();
    Matrix::new(picked.len(), picked.len(), values)
}

impl Model for Discriminant {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Prediction]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let classes = predicted(&decisions(data, &self.coef.data, &self.intercept.data));
        Ok(wanted.iter().map(|_| classes.clone()).collect())
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        Ok(Some(decisions(data, &self.coef.data, &self.intercept.data)))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let first = usize::from(self.intercept.data.len() == 1);
        let outputs = classes.get(first..)?;
        match name {
            "classes" => Some(Attribute::Strs(classes.to_vec())),
            "coef" if outputs.len() == 1 => Some(Attribute::by_feature(features, "coef", &self.coef.data)),
            "coef" => {
                let names = outputs.iter().flat_map(|_| features.iter().map(|f| f.name.clone())).collect();
                let classes = outputs.iter().flat_map(|c| features.iter().map(move |_| c.clone())).collect();
                Some(Attribute::Frame(vec![
                    ("feature".to_string(), Values::Strs(names)),
                    ("class".to_string(), Values::Strs(classes)),
                    ("coef".to_string(), Values::Floats(self.coef.data.clone())),
                ]))
            }
            "intercept" => Some(Attribute::Frame(vec![
                ("class".to_string(), Values::Strs(outputs.to_vec())),
                ("intercept".to_string(), Values::Floats(self.intercept.data.clone())),
            ])),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        (self.intercept.data.len() == 1).then(|| ("coefficient", self.coef.data.clone()))
    }

    fn linear(&self) -> Option<LinearScores> {
        let width = *self.coef.shape.get(1)?;
        let coef: Vec<Vec<f64>> = (0..self.intercept.data.len()).map(|k| self.coef.row(k).to_vec()).collect();
        let link = if coef.len() == 1 { Link::Logistic } else { Link::Softmax };
        Some(LinearScores { coef, intercept: self.intercept.data.clone(), shift: vec![0.0; width], link })
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let outputs = self.intercept.data.len();
        if outputs == 0 || outputs != if classes == 2 { 1 } else { classes } || self.coef.shape != [outputs, features] {
            let shape = &self.coef.shape;
            let message = format!("coefficients of the shape {shape:?} for {classes} classes and {features} features");
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.coef.bytes() + self.intercept.bytes()
    }
}
