//! Quadratic discriminant analysis: a normal distribution for each class, as in `sklearn/discriminant_analysis.py`.

use onrush_dense::{self as dense, Matrix};
use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::covariance::{Shrinkage, block, singular};
use super::linear::{means_and_priors, of_class};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::neighbors::bayes::posteriors;
use crate::params;
use crate::run::Run;
use crate::sums;
use crate::tensor::Tensor;

/// The principal axes of each class.
#[derive(Serialize, Deserialize)]
pub struct QuadraticDiscriminant {
    /// classes x features.
    pub means: Tensor,
    pub priors: Tensor,
    /// classes x features: the variances along the axes.
    pub scalings: Tensor,
    /// classes x axes x features.
    pub rotations: Tensor,
    /// classes x features x features, if they are stored.
    pub covariance: Option<Tensor>,
}

/// Trains `QuadraticDiscriminantAnalysis`.
///
/// # Errors
/// If a parameter does not fit, or the rows of a class do not span all features.
pub fn fit(
    params: &params::QuadraticDiscriminantAnalysis,
    data: &Data,
    run: &Run<'_>,
) -> Result<QuadraticDiscriminant, Error> {
    let (classes, width) = (data.classes.len(), data.width());
    let by_svd = params.solver == "svd";
    if by_svd && params.shrinkage != Param::None {
        let message = "`shrinkage` has no effect with the solver `svd`";
        return Err(Error::new(ErrorKind::Parameter, message).help("set `solver` to \"eigen\", or set `reg_param`"));
    }
    let shrinkage = Shrinkage::of(&params.shrinkage)?;
    let (means, priors) = means_and_priors(params.priors.as_ref(), data)?;
    let mut scalings = Vec::with_capacity(classes * width);
    let mut rotations = Vec::with_capacity(classes * width * width);
    let mut covariances = Vec::new();
    for (class, name) in data.classes.iter().enumerate() {
        run.check(|| format!("{class} of {classes} classes"))?;
        let rows = of_class(data, class);
        if rows.rows < 2 {
            let message = format!("the class `{name}` has {} row: at least 2 have a covariance", rows.rows);
            return Err(Error::new(ErrorKind::NoRows, message));
        }
        let mean: Vec<f64> = (0..width).map(|j| means.at(class, j)).collect();
        let (values, axes) = match by_svd {
            true => by_singular_values(&rows, &mean, params.reg_param),
            false => descending(&shrinkage.covariance(&rows)),
        }
        .ok_or_else(|| {
            let message = format!("the decomposition of the class `{name}` does not converge");
            Error::new(ErrorKind::NoConvergence, message)
                .help("scale the features first, for example with StandardScaler")
        })?;
        if values.iter().filter(|v| **v > params.tol).count() < width {
            let (count, word) = (rows.rows, if by_svd { "reg_param" } else { "shrinkage" });
            let message = format!(
                "the covariance of the class `{name}` with {count} rows of {width} features is not of full rank"
            );
            return Err(Error::new(ErrorKind::Numeric, message)
                .help(format!("set `{word}` to a larger number"))
                .help("or leave out features that depend on others"));
        }
        if params.store_covariance {
            covariances.extend(product(&values, &axes).data);
        }
        scalings.extend(values);
        rotations.extend(axes.data);
    }
    Ok(QuadraticDiscriminant {
        means: Tensor::new(vec![classes, width], means.transposed().data),
        priors: Tensor::vector(priors),
        scalings: Tensor::new(vec![classes, width], scalings),
        rotations: Tensor::new(vec![classes, width, width], rotations),
        covariance: params.store_covariance.then(|| Tensor::new(vec![classes, width, width], covariances)),
    })
}

/// The variances and axes of some rows. Empty variances if there are fewer rows than features.
fn by_singular_values(rows: &Data, mean: &[f64], reg_param: f64) -> Option<(Vec<f64>, Matrix)> {
    let width = rows.width();
    let (singular_values, axes) = singular(rows, |_| mean, &vec![1.0; width])?;
    let variance = |s: &f64| (1.0 - reg_param) * (s * s / rows.rows as f64) + reg_param;
    if rows.rows < width {
        return Some((Vec::new(), axes));
    }
    Some((singular_values.iter().map(variance).collect(), axes))
}

/// Eigenvalues and eigenvectors in descending order.
fn descending(matrix: &Matrix) -> Option<(Vec<f64>, Matrix)> {
    let (values, vectors) = dense::eigh(matrix)?;
    let width = matrix.rows;
    let mut out = Matrix::zeros(width, width);
    for column in 0..width {
        out.column_mut(column).copy_from_slice(vectors.column(width - 1 - column));
    }
    Some((values.into_iter().rev().collect(), out))
}

/// The matrix of these eigenvalues and eigenvectors.
fn product(values: &[f64], axes: &Matrix) -> Matrix {
    let mut scaled = axes.clone();
    for (column, value) in values.iter().enumerate() {
        scaled.column_mut(column).iter_mut().for_each(|v| *v *= value);
    }
    dense::multiply(&scaled, &axes.transposed())
}

impl QuadraticDiscriminant {
    /// For some rows the logarithm of the joint density of each class, row after row.
    fn joint(&self, data: &Data, rows: std::ops::Range<usize>) -> Vec<f64> {
        let (classes, width) = (self.priors.data.len(), data.width());
        let mut out = vec![0.0; rows.len() * classes];
        for class in 0..classes {
            let scalings = self.scalings.row(class);
            let mut map = Matrix::new(width, width, self.rotations.row(class).to_vec());
            for (column, scaling) in scalings.iter().enumerate() {
                map.column_mut(column).iter_mut().for_each(|v| *v /= scaling.sqrt());
            }
            let places = dense::multiply(&block(data, rows.clone(), self.means.row(class)), &map);
            let mut squares = vec![0.0; rows.len()];
            for column in 0..width {
                squares.iter_mut().zip(places.column(column)).for_each(|(s, v)| *s += v * v);
            }
            let logs: f64 = scalings.iter().map(|s| s.ln()).sum();
            let prior = self.priors.data[class].ln();
            squares.iter().enumerate().for_each(|(i, s)| out[i * classes + class] = -0.5 * (s + logs) + prior);
        }
        out
    }
}

impl Model for QuadraticDiscriminant {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        std::iter::once(Role::Prediction).chain((0..self.priors.data.len()).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(posteriors(data.rows, self.priors.data.len(), wanted, |rows| self.joint(data, rows)))
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        let classes = self.priors.data.len();
        let joint = |rows| (classes, self.joint(data, rows));
        let all = sums::over_rows(data.rows, joint, |a, b| (a.0, [a.1, b.1].concat())).unwrap_or_default().1;
        let column = |c: usize| all.iter().skip(c).step_by(classes).copied().collect::<Vec<f64>>();
        Ok(Some(match classes {
            2 => vec![column(1).iter().zip(column(0)).map(|(a, b)| a - b).collect()],
            _ => (0..classes).map(column).collect(),
        }))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let class = || Some(("class", Values::Strs(classes.to_vec())));
        let width = features.len();
        // A row for each class and axis.
        let axes = |values: &Tensor, second: Values, word: &str| {
            let names = classes.iter().flat_map(|c| std::iter::repeat_n(c.clone(), width)).collect();
            let Attribute::Frame(columns) = Attribute::by_row(class(), features, &values.data) else { return None };
            let mut columns = columns;
            columns[0].1 = Values::Strs(names);
            columns.insert(1, (word.to_string(), second));
            Some(Attribute::Frame(columns))
        };
        match name {
            "means" => Some(Attribute::by_row(class(), features, &self.means.data)),
            "priors" => {
                let column = ("priors".to_string(), Values::Floats(self.priors.data.clone()));
                Some(Attribute::Frame(vec![("class".to_string(), Values::Strs(classes.to_vec())), column]))
            }
            "scalings" => {
                let names = classes.iter().flat_map(|c| std::iter::repeat_n(c.clone(), width)).collect();
                let numbers = classes.iter().flat_map(|_| 0..width as i64).collect();
                Some(Attribute::Frame(vec![
                    ("class".to_string(), Values::Strs(names)),
                    ("axis".to_string(), Values::Ints(numbers)),
                    ("scaling".to_string(), Values::Floats(self.scalings.data.clone())),
                ]))
            }
            "rotations" => {
                axes(&self.rotations, Values::Ints(classes.iter().flat_map(|_| 0..width as i64).collect()), "axis")
            }
            "covariance" => {
                let names = classes.iter().flat_map(|_| features.iter().map(|f| f.name.clone())).collect();
                axes(self.covariance.as_ref()?, Values::Strs(names), "feature")
            }
            _ => None,
        }
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let matrices = [classes, features, features];
        let fits = classes > 1
            && features > 0
            && self.means.shape == [classes, features]
            && self.scalings.shape == [classes, features]
            && self.priors.data.len() == classes
            && self.rotations.shape == matrices
            && self.covariance.as_ref().is_none_or(|c| c.shape == matrices);
        if fits {
            return Ok(());
        }
        let shape = &self.rotations.shape;
        let message = format!("axes of the shape {shape:?} for {classes} classes and {features} features");
        Err(Error::new(ErrorKind::ModelFile, message))
    }

    fn bytes(&self) -> u64 {
        self.rotations.bytes() + self.covariance.as_ref().map_or(0, Tensor::bytes)
    }
}
