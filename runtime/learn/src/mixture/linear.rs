//! Linear discriminant analysis, as in `sklearn/discriminant_analysis.py` (Hastie, Tibshirani and Friedman, The
//! Elements of Statistical Learning, 2009, 4.3).

use onrush_dense::{self as dense, Matrix};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::covariance::{Shrinkage, block, singular};
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::bayes::{by_class, posteriors, priors};
use crate::params;
use crate::run::Run;
use crate::sums;
use crate::tensor::Tensor;

/// A linear function for each class, and the directions in which the classes differ.
#[derive(Serialize, Deserialize)]
pub struct LinearDiscriminant {
    /// classes x features; for two classes one row, the difference of both.
    pub coef: Tensor,
    pub intercept: Tensor,
    /// classes x features.
    pub means: Tensor,
    pub priors: Tensor,
    /// The shift of the features before the projection. Zeros for the solver `eigen`.
    pub shift: Tensor,
    /// features x components.
    pub scalings: Tensor,
    /// Components that `transform` gives.
    pub components: usize,
    pub explained_variance_ratio: Tensor,
    /// features x features, if it is stored.
    pub covariance: Option<Tensor>,
}

/// The result of a solver.
struct Solution {
    coef: Matrix,
    intercept: Vec<f64>,
    shift: Vec<f64>,
    scalings: Matrix,
    ratio: Vec<f64>,
    covariance: Option<Matrix>,
}

/// Trains `LinearDiscriminantAnalysis`.
///
/// # Errors
/// If a parameter does not fit the classes or the solver. If there are no more rows than classes, or a decomposition
/// fails.
pub fn fit(
    params: &params::LinearDiscriminantAnalysis,
    data: &Data,
    run: &Run<'_>,
) -> Result<LinearDiscriminant, Error> {
    let (classes, width) = (data.classes.len(), data.width());
    if data.rows <= classes {
        let message = format!("{} rows for {classes} classes: more rows than classes", data.rows);
        return Err(Error::new(ErrorKind::NoRows, message));
    }
    let most = width.min(classes - 1);
    let components = params.n_components.unwrap_or(most);
    if components > most {
        let message = format!(
            "`n_components` is {components}: at most {most}, the smaller of {width} features and one less \
             than {classes} classes"
        );
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    if params.solver == "svd" && params.shrinkage != onrush_wire::learn::Param::None {
        let message = "`shrinkage` has no effect with the solver `svd`";
        return Err(Error::new(ErrorKind::Parameter, message).help("set `solver` to \"lsqr\" or \"eigen\""));
    }
    let shrinkage = Shrinkage::of(&params.shrinkage)?;
    let (means, priors) = means_and_priors(params.priors.as_ref(), data)?;
    run.check(|| "the means of the classes".to_string())?;
    let fitting = Fitting { data, means: &means, priors: &priors };
    let solution = match params.solver.as_str() {
        "svd" => fitting.svd(params.tol, params.store_covariance)?,
        "lsqr" => fitting.least_squares(shrinkage)?,
        _ => fitting.eigen(shrinkage)?,
    };
    let Solution { coef, intercept, shift, scalings, ratio, covariance } = solution;
    let rows = |matrix: &Matrix| Tensor::new(vec![matrix.rows, matrix.columns], matrix.transposed().data);
    let (coef, intercept) = match classes {
        2 => {
            let coef = (0..width).map(|j| coef.at(1, j) - coef.at(0, j)).collect();
            (Tensor::new(vec![1, width], coef), vec![intercept[1] - intercept[0]])
        }
        _ => (rows(&coef), intercept),
    };
    if coef.data.iter().chain(&intercept).any(|v| !v.is_finite()) {
        let message = "the coefficients are not finite: the features are constant or too different in size";
        return Err(Error::new(ErrorKind::Numeric, message).help("scale the features, or leave constant ones out"));
    }
    Ok(LinearDiscriminant {
        coef,
        intercept: Tensor::vector(intercept),
        means: rows(&means),
        priors: Tensor::vector(priors),
        shift: Tensor::vector(shift),
        components: components.min(scalings.columns),
        scalings: rows(&scalings),
        explained_variance_ratio: Tensor::vector(ratio.into_iter().take(components).collect()),
        covariance: covariance.as_ref().map(rows),
    })
}

/// The mean of each feature in each class (classes x features), and the probability of each class.
pub(super) fn means_and_priors(given: Option<&params::Floats>, data: &Data) -> Result<(Matrix, Vec<f64>), Error> {
    let classes = data.classes.len();
    let codes: Vec<u32> = data.y.iter().map(|class| *class as u32).collect();
    let counts = by_class(classes, &codes, None, |_, _| 1.0);
    let columns: Vec<Vec<f64>> = data
        .features
        .par_iter()
        .map(|column| {
            // Sums around one of the values lose fewer digits.
            let start = column.values[0];
            let sums = by_class(classes, &codes, None, |row, _| column.values[row] - start);
            sums.iter().zip(&counts).map(|(sum, count)| start + sum / count).collect()
        })
        .collect();
    let shares = counts.iter().map(|count| count / data.rows as f64).collect();
    let priors = given.map_or(Ok(shares), |given| priors("priors", given, data))?;
    Ok((Matrix::new(classes, data.width(), columns.concat()), priors))
}

/// The rows of a class.
pub(super) fn of_class(data: &Data, class: usize) -> Data {
    let rows: Vec<usize> = (0..data.rows).filter(|row| data.y[*row] as usize == class).collect();
    data.take(&rows)
}

fn broken() -> Error {
    let message = "a decomposition does not converge: the values are too large or too different in size";
    Error::new(ErrorKind::NoConvergence, message).help("scale the features first, for example with StandardScaler")
}

struct Fitting<'a> {
    data: &'a Data,
    /// classes x features.
    means: &'a Matrix,
    priors: &'a [f64],
}

impl Fitting<'_> {
    fn classes(&self) -> usize {
        self.priors.len()
    }

    /// Scales the rows around the means of their classes to a unit covariance, by singular values.
    fn svd(&self, tol: f64, store_covariance: bool) -> Result<Solution, Error> {
        let (data, means, width) = (self.data, self.means, self.data.width());
        let rows = data.rows as f64;
        let by_row = means.transposed();
        let shift = |row: usize| by_row.column(data.y[row] as usize);
        let deviations: Vec<f64> = data
            .features
            .par_iter()
            .enumerate()
            .map(|(j, column)| {
                let square = |row: usize| (column.values[row] - means.at(data.y[row] as usize, j)).powi(2);
                let total = sums::over_rows(data.rows, |range| range.map(square).sum::<f64>(), |a, b| a + b);
                Some((total.unwrap_or(0.0) / rows).sqrt()).filter(|s| *s > 0.0).unwrap_or(1.0)
            })
            .collect();
        let factor: Vec<f64> = deviations.iter().map(|s| 1.0 / (s * rows.sqrt())).collect();
        let (singular_values, vectors) = singular(data, shift, &factor).ok_or_else(broken)?;
        let rank = singular_values.iter().filter(|s| **s > tol).count();
        if rank == 0 {
            let message = format!("all features are constant within the classes, or vary by less than `tol` = {tol}");
            return Err(Error::new(ErrorKind::Constant, message).help("set `tol` to a smaller number"));
        }
        let mut within = Matrix::zeros(width, rank);
        for (c, singular) in singular_values.iter().enumerate().take(rank) {
            let vector = vectors.column(c).iter().zip(&deviations).map(|(v, s)| v / s / singular);
            within.column_mut(c).iter_mut().zip(vector).for_each(|(to, v)| *to = v);
        }
        let center: Vec<f64> =
            (0..width).map(|j| means.column(j).iter().zip(self.priors).map(|(m, p)| m * p).sum()).collect();
        let centered = self.centered(&center);
        let mut between = centered.clone();
        for column in 0..width {
            let weights = self.priors.iter().map(|p| (rows * p / (self.classes() - 1) as f64).sqrt());
            between.column_mut(column).iter_mut().zip(weights).for_each(|(v, w)| *v *= w);
        }
        let (_, values, vectors) = dense::svd(&dense::multiply(&between, &within)).ok_or_else(broken)?;
        let total: f64 = values.iter().map(|s| s * s).sum();
        let ratio = values.iter().map(|s| s * s / total).collect();
        let rank = values.iter().filter(|s| **s > tol * values[0]).count();
        let kept = Matrix::new(vectors.rows, rank, vectors.data[..vectors.rows * rank].to_vec());
        let scalings = signed(dense::multiply(&within, &kept));
        let places = dense::multiply(&centered, &scalings);
        let coef = dense::multiply(&places, &scalings.transposed());
        let intercept = (0..self.classes())
            .map(|c| {
                let square: f64 = (0..places.columns).map(|k| places.at(c, k).powi(2)).sum();
                let shift: f64 = (0..width).map(|j| center[j] * coef.at(c, j)).sum();
                -0.5 * square + self.priors[c].ln() - shift
            })
            .collect();
        let covariance = store_covariance.then(|| self.within(Shrinkage::Share(0.0)));
        Ok(Solution { coef, intercept, shift: center, scalings, ratio, covariance })
    }

    /// The means of the classes minus their common mean.
    fn centered(&self, center: &[f64]) -> Matrix {
        let mut out = self.means.clone();
        for (j, mean) in center.iter().enumerate() {
            out.column_mut(j).iter_mut().for_each(|v| *v -= mean);
        }
        out
    }

    /// The mean covariance of the classes, by their probabilities.
    fn within(&self, shrinkage: Shrinkage) -> Matrix {
        let width = self.data.width();
        let mut total = Matrix::zeros(width, width);
        for (class, prior) in self.priors.iter().enumerate() {
            let covariance = shrinkage.covariance(&of_class(self.data, class));
            total.data.iter_mut().zip(&covariance.data).for_each(|(t, c)| *t += prior * c);
        }
        total
    }

    fn intercept(&self, coef: &Matrix) -> Vec<f64> {
        let width = self.data.width();
        let product = |c: usize| (0..width).map(|j| self.means.at(c, j) * coef.at(c, j)).sum::<f64>();
        (0..self.classes()).map(|c| -0.5 * product(c) + self.priors[c].ln()).collect()
    }

    /// Solves for the coefficients, by singular values if the covariance is not of full rank.
    fn least_squares(&self, shrinkage: Shrinkage) -> Result<Solution, Error> {
        let width = self.data.width();
        let covariance = self.within(shrinkage);
        let (u, values, v) = dense::svd(&covariance).ok_or_else(broken)?;
        let least = values.first().copied().unwrap_or(0.0) * f64::EPSILON;
        let mut products = dense::transpose_multiply(&u, &self.means.transposed());
        for column in 0..products.columns {
            let scaled = products.column_mut(column).iter_mut().zip(&values);
            scaled.for_each(|(p, s)| *p = if *s > least { *p / s } else { 0.0 });
        }
        let coef = dense::multiply(&v, &products).transposed();
        let intercept = self.intercept(&coef);
        let (shift, scalings) = (vec![0.0; width], Matrix::zeros(width, 0));
        Ok(Solution { coef, intercept, shift, scalings, ratio: Vec::new(), covariance: Some(covariance) })
    }

    /// The generalised eigenvectors of the covariance between the classes.
    fn eigen(&self, shrinkage: Shrinkage) -> Result<Solution, Error> {
        let width = self.data.width();
        let within = self.within(shrinkage);
        let total = shrinkage.covariance(self.data);
        let between = Matrix::new(width, width, total.data.iter().zip(&within.data).map(|(t, w)| t - w).collect());
        let lower = dense::cholesky(&within).ok_or_else(|| {
            let message = "the covariance within the classes is not positive definite";
            Error::new(ErrorKind::Numeric, message).help("set `shrinkage` above 0, or take the solver `svd`")
        })?;
        let inverse = super::inverse_lower(&lower);
        let product = dense::multiply(&dense::multiply(&inverse, &between), &inverse.transposed());
        let (values, vectors) = dense::eigh(&product).ok_or_else(broken)?;
        let sum: f64 = values.iter().sum();
        let ratio = values.iter().rev().map(|v| v / sum).collect();
        let mut descending = Matrix::zeros(width, width);
        for column in 0..width {
            descending.column_mut(column).copy_from_slice(vectors.column(width - 1 - column));
        }
        let scalings = signed(dense::transpose_multiply(&inverse, &descending));
        let coef = dense::multiply(&dense::multiply(self.means, &scalings), &scalings.transposed());
        let intercept = self.intercept(&coef);
        Ok(Solution { coef, intercept, shift: vec![0.0; width], scalings, ratio, covariance: Some(within) })
    }
}

/// Columns with the sign that makes their largest value positive.
fn signed(mut matrix: Matrix) -> Matrix {
    for c in 0..matrix.columns {
        let column = matrix.column_mut(c);
        let largest = column.iter().fold(0.0f64, |a, b| if b.abs() > a.abs() { *b } else { a });
        if largest < 0.0 {
            column.iter_mut().for_each(|v| *v = -*v);
        }
    }
    matrix
}

impl LinearDiscriminant {
    fn classes(&self) -> usize {
        self.priors.data.len()
    }

    /// For some rows the score of each class, row after row. For two classes the first score is 0.
    fn scores(&self, data: &Data, rows: std::ops::Range<usize>) -> Vec<f64> {
        let (classes, count) = (self.classes(), self.intercept.data.len());
        let mut out = vec![0.0; rows.len() * classes];
        for (k, intercept) in self.intercept.data.iter().enumerate() {
            let mut scores = vec![*intercept; rows.len()];
            for (column, coef) in data.features.iter().zip(self.coef.row(k)) {
                scores.iter_mut().zip(&column.values[rows.clone()]).for_each(|(s, v)| *s += v * coef);
            }
            let place = classes - count + k;
            scores.iter().enumerate().for_each(|(i, s)| out[i * classes + place] = *s);
        }
        out
    }

    /// The components of all rows at these positions.
    fn projected(&self, data: &Data, wanted: &[usize]) -> Vec<Vec<f64>> {
        let width = data.width();
        let mut map = Matrix::zeros(width, wanted.len());
        for (k, component) in wanted.iter().enumerate() {
            (0..width).for_each(|j| map.set(j, k, self.scalings.row(j)[*component]));
        }
        let starts: Vec<usize> = (0..data.rows).step_by(sums::CHUNK).collect();
        let of = |start: usize| {
            dense::multiply(&block(data, start..data.rows.min(start + sums::CHUNK), &self.shift.data), &map)
        };
        let blocks: Vec<Matrix> = starts.into_par_iter().map(of).collect();
        (0..wanted.len()).map(|k| blocks.iter().flat_map(|b| b.column(k).iter().copied()).collect()).collect()
    }
}

impl Model for LinearDiscriminant {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        let component = |c: usize| Role::Feature(format!("lda{c}"), Kind::Number);
        let classes = std::iter::once(Role::Prediction).chain((0..self.classes()).map(Role::Proba));
        classes.chain((0..self.components).map(component)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let classes = self.classes();
        let of_classes: Vec<usize> = wanted.iter().copied().filter(|output| *output <= classes).collect();
        let rest: Vec<usize> = wanted.iter().filter(|o| **o > classes).map(|o| o - classes - 1).collect();
        let mut made = match of_classes.is_empty() {
            true => Vec::new(),
            false => posteriors(data.rows, classes, &of_classes, |rows| self.scores(data, rows)),
        }
        .into_iter();
        let mut projected = self.projected(data, &rest).into_iter();
        let column = |output: &usize| if *output <= classes { made.next() } else { projected.next() };
        Ok(wanted.iter().filter_map(column).collect())
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let classes = self.classes();
        let scores = self.scores(data, 0..data.rows);
        let first = classes - self.intercept.data.len();
        let column = |c: usize| scores.iter().skip(c).step_by(classes).copied().collect();
        Ok(Some((first..classes).map(column).collect()))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let all = || Values::Strs(classes.to_vec());
        let scored = || Values::Strs(classes[classes.len() - self.intercept.data.len()..].to_vec());
        let frame = |first: (&str, Values), values: &Tensor| {
            let column = (name.to_string(), Values::Floats(values.data.clone()));
            Some(Attribute::Frame(vec![(first.0.to_string(), first.1), column]))
        };
        let by_feature = |values: &Tensor, word: &str| {
            let width = values.shape[1];
            let names = Values::Strs(features.iter().map(|f| f.name.clone()).collect());
            let column = |c: usize| Values::Floats(values.data.iter().skip(c).step_by(width).copied().collect());
            let columns = (0..width).map(|c| (format!("{word}{c}"), column(c)));
            Some(Attribute::Frame(std::iter::once(("feature".to_string(), names)).chain(columns).collect()))
        };
        match name {
            "coef" => Some(Attribute::by_row(Some(("class", scored())), features, &self.coef.data)),
            "intercept" => frame(("class", scored()), &self.intercept),
            "means" => Some(Attribute::by_row(Some(("class", all())), features, &self.means.data)),
            "priors" => frame(("class", all()), &self.priors),
            "scalings" => by_feature(&self.scalings, "lda"),
            "xbar" => Some(Attribute::by_feature(features, "xbar", &self.shift.data)),
            "explained_variance_ratio" => {
                let numbers = (0..self.explained_variance_ratio.data.len() as i64).collect();
                frame(("component", Values::Ints(numbers)), &self.explained_variance_ratio)
            }
            "covariance" => {
                let names = Values::Strs(features.iter().map(|f| f.name.clone()).collect());
                Some(Attribute::by_row(Some(("feature", names)), features, &self.covariance.as_ref()?.data))
            }
            _ => None,
        }
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let scores = if classes == 2 { 1 } else { classes };
        let shape = &self.scalings.shape;
        let fits = classes > 1
            && features > 0
            && self.coef.shape == [scores, features]
            && self.intercept.data.len() == scores
            && self.means.shape == [classes, features]
            && self.priors.data.len() == classes
            && self.shift.data.len() == features
            && shape.len() == 2
            && shape[0] == features
            && self.components <= shape[1]
            && self.covariance.as_ref().is_none_or(|c| c.shape == [features, features]);
        if fits {
            return Ok(());
        }
        let message =
            format!("coefficients of the shape {:?} for {classes} classes and {features} features", self.coef.shape);
        Err(Error::new(ErrorKind::ModelFile, message))
    }

    fn bytes(&self) -> u64 {
        self.coef.bytes() + self.scalings.bytes() + self.covariance.as_ref().map_or(0, Tensor::bytes)
    }
}
