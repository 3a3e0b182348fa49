//! Naive Bayes with normally distributed features, as in scikit-learn's `sklearn/naive_bayes.py`.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params::{self, Floats};
use crate::run::Run;
use crate::sums;
use crate::tensor::Tensor;

/// Means and variances of the features in each class.
#[derive(Serialize, Deserialize)]
pub struct GaussianNb {
    /// classes x features: the means.
    pub theta: Tensor,
    /// classes x features: the variances, with the smoothing.
    pub var: Tensor,
    pub class_prior: Tensor,
    pub class_count: Tensor,
}

/// Trains `GaussianNB`. A class whose rows all weigh 0 has the means 0 and the probability 0.
///
/// # Errors
/// If the priors do not fit the classes, or all weights are 0.
pub fn fit(params: &params::GaussianNB, data: &Data, run: &Run<'_>) -> Result<GaussianNb, Error> {
    let (classes, width) = (data.classes.len(), data.width());
    let priors = params.priors.as_ref().map(|given| priors("priors", given, data)).transpose()?;
    let codes: Vec<u32> = data.y.iter().map(|class| *class as u32).collect();
    let weight = data.weight.as_deref();
    let counts = by_class(classes, &codes, weight, |_, _| 1.0);
    let total: f64 = counts.iter().sum();
    if total <= 0.0 {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
    }
    run.check(|| "the weights of the classes".to_string())?;
    let columns: Vec<(Vec<f64>, Vec<f64>, f64)> = data
        .features
        .par_iter()
        .map(|column| {
            let values = &column.values;
            let divide = |sums: Vec<f64>| -> Vec<f64> {
                sums.iter().zip(&counts).map(|(s, n)| if *n > 0.0 { s / n } else { 0.0 }).collect()
            };
            let theta = divide(by_class(classes, &codes, weight, |row, _| values[row]));
            let square = |row: usize, class: usize| (values[row] - theta[class]) * (values[row] - theta[class]);
            let var = divide(by_class(classes, &codes, weight, square));
            let all = variance(values, weight, &counts, &theta, &var);
            (theta, var, all)
        })
        .collect();
    run.check(|| "means and variances".to_string())?;
    let smoothing = params.var_smoothing * columns.iter().map(|c| c.2).fold(0.0, f64::max);
    let matrix = |value: &dyn Fn(usize, usize) -> f64| {
        let values = (0..classes).flat_map(|c| (0..width).map(move |j| (c, j))).map(|(c, j)| value(c, j));
        Tensor::new(vec![classes, width], values.collect())
    };
    let var = matrix(&|c, j| columns[j].1[c] + smoothing);
    if let Some(at) = var.data.iter().position(|v| *v == 0.0) {
        let (feature, class) = (&data.features[at % width].name, &data.classes[at / width]);
        let message = format!("`{feature}` has the variance 0 in the class `{class}`, so that its density is infinite");
        return Err(Error::new(ErrorKind::Constant, message)
            .help("set `var_smoothing` above 0")
            .help(format!("or leave `{feature}` out with `.features(..)`")));
    }
    let shares = counts.iter().map(|n| n / total).collect();
    Ok(GaussianNb {
        theta: matrix(&|c, j| columns[j].0[c]),
        var,
        class_prior: Tensor::vector(priors.unwrap_or(shares)),
        class_count: Tensor::vector(counts),
    })
}

/// Weighted sums of `value(row, class)` over the rows of each class.
pub(crate) fn by_class(
    classes: usize,
    codes: &[u32],
    weight: Option<&[f64]>,
    value: impl Fn(usize, usize) -> f64 + Sync,
) -> Vec<f64> {
    let chunk = |rows: std::ops::Range<usize>| {
        let mut sums = vec![0.0; classes];
        match weight {
            None => rows.for_each(|row| sums[codes[row] as usize] += value(row, codes[row] as usize)),
            Some(weight) => {
                rows.for_each(|row| sums[codes[row] as usize] += weight[row] * value(row, codes[row] as usize));
            }
        }
        sums
    };
    let add = |a: Vec<f64>, b: Vec<f64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
    sums::over_rows(codes.len(), chunk, add).unwrap_or_default()
}

/// The variance of a feature over all rows. It has no weights, as in scikit-learn. Without weights it follows from
/// those of the classes.
fn variance(values: &[f64], weight: Option<&[f64]>, counts: &[f64], theta: &[f64], var: &[f64]) -> f64 {
    let rows = values.len() as f64;
    let classes = || counts.iter().zip(theta.iter().zip(var));
    if weight.is_none() {
        let mean = classes().map(|(n, (theta, _))| n * theta).sum::<f64>() / rows;
        return classes().map(|(n, (theta, var))| n * (var + (theta - mean) * (theta - mean))).sum::<f64>() / rows;
    }
    let mean = sums::mean(values, None);
    let chunk = |rows: std::ops::Range<usize>| values[rows].iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    sums::over_rows(values.len(), chunk, |a, b| a + b).unwrap_or(0.0) / rows
}

/// Probabilities of classes that the parameter `name` gives.
pub(crate) fn priors(name: &str, priors: &Floats, data: &Data) -> Result<Vec<f64>, Error> {
    let sum: f64 = priors.iter().sum();
    if priors.len() != data.classes.len() {
        let message = format!("`{name}` has {} numbers: one for each of {}", priors.len(), data.classes.join(", "));
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    if (sum - 1.0).abs() > 1e-5 {
        return Err(Error::new(ErrorKind::Parameter, format!("`{name}` sum to {sum}: expected 1")));
    }
    Ok(priors.to_vec())
}

/// The most probable class and the probability of each class, from logarithms of joint densities: `joint` gives those
/// of some rows, row after row.
pub(crate) fn posteriors(
    rows: usize,
    classes: usize,
    wanted: &[usize],
    joint: impl Fn(std::ops::Range<usize>) -> Vec<f64> + Sync,
) -> Vec<Vec<f64>> {
    let starts: Vec<usize> = (0..rows).step_by(sums::CHUNK).collect();
    let chunks: Vec<Vec<f64>> = starts
        .into_par_iter()
        .map(|start| {
            let row = |logs: &[f64]| {
                let best = (0..classes).fold(0, |a, b| if logs[b] > logs[a] { b } else { a });
                let sum: f64 = logs.iter().map(|l| (l - logs[best]).exp()).sum();
                let value = |output: &usize| match *output {
                    0 => best as f64,
                    class => (logs[class - 1] - logs[best] - sum.ln()).exp(),
                };
                wanted.iter().map(value).collect::<Vec<f64>>()
            };
            joint(start..rows.min(start + sums::CHUNK)).chunks_exact(classes).flat_map(row).collect()
        })
        .collect();
    let column =
        |c: usize| chunks.iter().flat_map(|chunk| chunk.iter().skip(c).step_by(wanted.len()).copied()).collect();
    (0..wanted.len()).map(column).collect()
}

impl GaussianNb {
    /// For each row and class the logarithm of the joint density, row after row, for some rows.
    fn joint(&self, data: &Data, rows: std::ops::Range<usize>) -> Vec<f64> {
        let (classes, width) = (self.class_prior.data.len(), data.width());
        let mut out = vec![0.0; rows.len() * classes];
        for class in 0..classes {
            let (theta, var) = (self.theta.row(class), self.var.row(class));
            let logs: f64 = var.iter().map(|v| (2.0 * std::f64::consts::PI * v).ln()).sum();
            let constant = self.class_prior.data[class].ln() - 0.5 * logs;
            let mut sums = vec![0.0; rows.len()];
            for j in 0..width {
                let values = &data.features[j].values[rows.clone()];
                let (mean, inverse) = (theta[j], 1.0 / var[j]);
                sums.iter_mut().zip(values).for_each(|(s, v)| *s += (v - mean) * (v - mean) * inverse);
            }
            sums.iter().enumerate().for_each(|(i, s)| out[i * classes + class] = constant - 0.5 * s);
        }
        out
    }
}

impl Model for GaussianNb {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        std::iter::once(Role::Prediction).chain((0..self.class_prior.data.len()).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(posteriors(data.rows, self.class_prior.data.len(), wanted, |rows| self.joint(data, rows)))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let class = || ("class".to_string(), Values::Strs(classes.to_vec()));
        let matrix = |values: &Tensor| {
            let first = Some(("class", Values::Strs(classes.to_vec())));
            Some(Attribute::by_row(first, features, &values.data))
        };
        let vector = |values: &Tensor| {
            Some(Attribute::Frame(vec![class(), (name.to_string(), Values::Floats(values.data.clone()))]))
        };
        match name {
            "theta" => matrix(&self.theta),
            "var" => matrix(&self.var),
            "class_prior" => vector(&self.class_prior),
            "class_count" => vector(&self.class_count),
            _ => None,
        }
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wanted = vec![classes, features];
        let lists = [&self.class_prior, &self.class_count];
        if classes == 0 || self.theta.shape != wanted || self.var.shape != wanted {
            let message =
                format!("means of the shape {:?} for {classes} classes and {features} features", self.theta.shape);
            return Err(Error::new(ErrorKind::ModelFile, message));
        }
        match lists.iter().find(|list| list.data.len() != classes) {
            Some(list) => {
                Err(Error::new(ErrorKind::ModelFile, format!("{} numbers for {classes} classes", list.data.len())))
            }
            None => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        self.theta.bytes() + self.var.bytes()
    }
}
