//! Linear models: least squares, ridge, lasso, elastic net, logistic regression and generalized linear models.

pub mod ard;
pub mod bayesian;
mod convex;
mod descent;
mod design;
pub mod discriminant;
mod folds;
pub mod glm;
pub mod huber;
pub mod lasso;
mod lbfgs;
pub mod least_squares;
pub mod logistic;
pub mod logistic_cv;
mod newton;
mod nnls;
pub mod pinball;
pub mod ridge;
pub mod ridge_cv;
pub mod robust;
mod simplex;
mod sparse;
pub mod t_distribution;
pub mod theil_sen;

pub use bayesian::Bayesian;
pub use discriminant::Discriminant;
pub use glm::Glm;
pub use logistic::Logistic;
pub use robust::RobustLinear;

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role, Values};
use crate::tensor::Tensor;

/// A linear regressor: `x coef + intercept`.
#[derive(Default, Serialize, Deserialize)]
pub struct Linear {
    pub coef: Tensor,
    #[serde(with = "crate::tensor::scalar")]
    pub intercept: f64,
    /// The rank of the centred features, of least squares.
    pub rank: Option<usize>,
    /// The singular values of the centred features, of least squares.
    pub singular: Option<Tensor>,
    /// Coefficient, standard error, t, p, and the 95 % interval of each coefficient, the intercept first if there is
    /// one.
    pub summary: Option<Tensor>,
    /// The iterations of a solver that iterates.
    pub n_iter: Option<u64>,
    /// How far the objective is from its optimum at most.
    #[serde(with = "crate::tensor::scalar")]
    pub dual_gap: Option<f64>,
    /// The strength of the penalty that cross-validation chose.
    #[serde(with = "crate::tensor::scalar")]
    pub alpha: Option<f64>,
    /// The share of l1 in the penalty that cross-validation chose.
    pub l1_ratio: Option<f64>,
    /// The mean score of `alpha`.
    #[serde(with = "crate::tensor::scalar")]
    pub best_score: Option<f64>,
    /// `l1_ratio` and `alpha` of each penalty that cross-validation tried: rows of two.
    pub alphas: Option<Tensor>,
    /// `l1_ratio`, `alpha`, fold and mean squared error: rows of four.
    pub mse_path: Option<Tensor>,
    /// The scale of the residuals, of a robust loss.
    #[serde(default, with = "crate::tensor::scalar")]
    pub scale: Option<f64>,
    pub notes: Vec<String>,
}

/// The model, if its coefficients are finite numbers.
///
/// # Errors
/// If they are not.
pub(crate) fn finite_model(model: Linear) -> Result<Linear, Error> {
    let sound = model.intercept.is_finite() && model.coef.data.iter().all(|w| w.is_finite());
    match sound {
        true => Ok(model),
        false => Err(Error::new(
            ErrorKind::Overflow,
            "the coefficients are not finite numbers: the values of the data are too large",
        )
        .help("scale the features and the target, for example with `StandardScaler`")),
    }
}

/// A parameter that must be a finite number.
pub(crate) fn finite(name: &str, value: f64) -> Result<f64, Error> {
    match value.is_finite() {
        true => Ok(value),
        false => {
            let message = format!("`{name}` is {}: expected a finite number", Param::Float(value));
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

/// Names of columns for a message: at most eight of them.
pub(crate) fn listed(names: &[&str]) -> String {
    match names.len() {
        0..=8 => names.join(", "),
        n => format!("{} and {} more", names[..8].join(", "), n - 8),
    }
}

impl Linear {
    /// The columns of a table of `width` values for each row.
    fn columns(table: &Tensor, width: usize) -> Vec<Vec<f64>> {
        (0..width).map(|j| table.data.chunks_exact(width).map(|row| row[j]).collect()).collect()
    }

    fn several_ratios(&self) -> bool {
        let Some(alphas) = &self.alphas else { return false };
        alphas.data.chunks_exact(2).any(|row| row[0] != alphas.data[0])
    }

    fn summary_frame(&self, features: &[Field]) -> Option<Attribute> {
        let table = self.summary.as_ref()?;
        let mut names: Vec<String> = features.iter().map(|f| f.name.clone()).collect();
        if table.data.len() / 6 > names.len() {
            names.insert(0, "intercept".to_string());
        }
        let mut columns = vec![("feature".to_string(), Values::Strs(names))];
        let titles = ["coef", "std_err", "t", "p", "lower", "upper"];
        let values = Linear::columns(table, 6).into_iter().map(Values::Floats);
        columns.extend(titles.iter().map(ToString::to_string).zip(values));
        Some(Attribute::Frame(columns))
    }

    fn alphas_frame(&self) -> Option<Attribute> {
        let columns = Linear::columns(self.alphas.as_ref()?, 2);
        let mut named =
            ["l1_ratio", "alpha"].iter().map(ToString::to_string).zip(columns.into_iter().map(Values::Floats));
        let skipped = usize::from(!self.several_ratios());
        Some(Attribute::Frame(named.by_ref().skip(skipped).collect()))
    }

    fn path_frame(&self) -> Option<Attribute> {
        let mut columns = Linear::columns(self.mse_path.as_ref()?, 4).into_iter();
        let mut next = || columns.next().unwrap_or_default();
        let (ratio, alpha, fold, mse) = (next(), next(), next(), next());
        let mut out = vec![
            ("alpha".to_string(), Values::Floats(alpha)),
            ("fold".to_string(), Values::Ints(fold.iter().map(|f| *f as i64).collect())),
            ("mse".to_string(), Values::Floats(mse)),
        ];
        if self.several_ratios() {
            out.insert(0, ("l1_ratio".to_string(), Values::Floats(ratio)));
        }
        Some(Attribute::Frame(out))
    }
}

impl Model for Linear {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Prediction]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(wanted.iter().map(|_| scores(data, &self.coef.data, self.intercept)).collect())
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "coef" => Some(Attribute::by_feature(features, "coef", &self.coef.data)),
            "intercept" => Some(Attribute::Float(self.intercept)),
            "rank" => self.rank.map(|r| Attribute::Int(r as i64)),
            "singular" => {
                let values = self.singular.as_ref()?.data.clone();
                Some(Attribute::Frame(vec![("singular".to_string(), Values::Floats(values))]))
            }
            "summary" => self.summary_frame(features),
            "n_iter" => self.n_iter.map(|n| Attribute::Int(n as i64)),
            "dual_gap" => self.dual_gap.map(Attribute::Float),
            "alpha" => self.alpha.map(Attribute::Float),
            "scale" => self.scale.map(Attribute::Float),
            "l1_ratio" => self.l1_ratio.map(Attribute::Float),
            "best_score" => self.best_score.map(Attribute::Float),
            "alphas" => self.alphas_frame(),
            "mse_path" => self.path_frame(),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        Some(("coefficient", self.coef.data.clone()))
    }

    fn linear(&self) -> Option<LinearScores> {
        let (coef, intercept) = (vec![self.coef.data.clone()], vec![self.intercept]);
        let shift = vec![0.0; self.coef.data.len()];
        Some(LinearScores { coef, intercept, shift, link: Link::Identity })
    }

    /// The mean squared error of the folds by log10 of alpha, a line for each `l1_ratio`.
    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let Some(path) = &self.mse_path else { return Vec::new() };
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        let mut means: Vec<(f64, f64, f64, f64)> = Vec::new();
        for row in path.data.chunks_exact(4) {
            match means.last_mut() {
                Some(last) if last.0 == row[0] && last.1 == row[1] => {
                    last.2 += row[3];
                    last.3 += 1.0;
                }
                _ => means.push((row[0], row[1], row[3], 1.0)),
            }
        }
        for (ratio, alpha, sum, folds) in means {
            let name = format!("mean squared error, l1_ratio {ratio}");
            let point = (alpha.log10(), sum / folds);
            match lines.last_mut() {
                Some((known, points)) if *known == name => points.push(point),
                _ => lines.push((name, vec![point])),
            }
        }
        lines
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::new(ErrorKind::ModelFile, what));
        if self.coef.data.len() != features {
            return wrong(format!("{} coefficients for {features} features", self.coef.data.len()));
        }
        if let Some(table) = &self.summary
            && table.data.len() != 6 * features
            && table.data.len() != 6 * (features + 1)
        {
            return wrong(format!("a summary of {} values for {features} features", table.data.len()));
        }
        let odd = |table: &Option<Tensor>, width: usize| table.as_ref().is_some_and(|t| t.data.len() % width != 0);
        match odd(&self.alphas, 2) || odd(&self.mse_path, 4) {
            true => wrong("tables of penalties that are cut off".to_string()),
            false => Ok(()),
        }
    }

    fn bytes(&self) -> u64 {
        let tables = [&self.singular, &self.summary, &self.alphas, &self.mse_path];
        self.coef.bytes() + tables.iter().filter_map(|t| t.as_ref()).map(Tensor::bytes).sum::<u64>()
    }
}

/// `x coef + intercept` for each row.
pub fn scores(data: &Data, coef: &[f64], intercept: f64) -> Vec<f64> {
    use rayon::prelude::*;

    let mut out = vec![intercept; data.rows];
    out.par_chunks_mut(design::BLOCK * 8).enumerate().for_each(|(chunk, out)| {
        for (block, out) in out.chunks_mut(design::BLOCK).enumerate() {
            let start = (chunk * 8 + block) * design::BLOCK;
            for (column, weight) in data.features.iter().zip(coef) {
                out.iter_mut().zip(&column.values[start..]).for_each(|(o, x)| *o += x * weight);
            }
            if let Some(sparse) = &data.sparse {
                let coef = &coef[data.width()..];
                out.iter_mut().enumerate().for_each(|(i, o)| *o += sparse.dot(start + i, coef));
            }
        }
    });
    out
}
