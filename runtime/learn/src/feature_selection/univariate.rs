//! Features chosen by their scores alone (scikit-learn's `SelectKBest` and its relatives).

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::scores::{self, FeatureScores};
use crate::data::sparse::Sparse;
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::quantile::{self, Method};
use crate::run::Run;
use crate::tensor::Tensor;

/// Features with their scores, dense ones first.
#[derive(Serialize, Deserialize)]
pub struct Univariate {
    pub scores: Tensor,
    /// `None`: the score has no p-value.
    pub pvalues: Option<Tensor>,
    /// The positions of the features that stay, ascending.
    pub kept: Vec<usize>,
    /// The names of the sparse features.
    pub terms: Vec<String>,
}

/// How features are chosen.
enum Rule {
    All,
    Best(usize),
    Percentile(f64),
    /// P-values below a limit.
    Fpr(f64),
    Fdr(f64),
    Fwe(f64),
}

/// Trains `SelectKBest`.
///
/// # Errors
/// As [`scores::score`], and if `k` is above the number of features.
pub fn k_best(params: &params::SelectKBest, data: &Data, run: &Run<'_>) -> Result<Univariate, Error> {
    select(&params.score_func, &best("k", &params.k, data)?, data, run)
}

/// Trains `SelectPercentile`.
///
/// # Errors
/// As [`scores::score`], and if nothing is kept.
pub fn percentile(params: &params::SelectPercentile, data: &Data, run: &Run<'_>) -> Result<Univariate, Error> {
    select(&params.score_func, &Rule::Percentile(params.percentile), data, run)
}

/// Trains `SelectFpr`.
///
/// # Errors
/// As [`scores::score`], and if nothing is kept.
pub fn fpr(params: &params::SelectFpr, data: &Data, run: &Run<'_>) -> Result<Univariate, Error> {
    select(&params.score_func, &Rule::Fpr(params.alpha), data, run)
}

/// Trains `SelectFdr`.
///
/// # Errors
/// As [`scores::score`], and if nothing is kept.
pub fn fdr(params: &params::SelectFdr, data: &Data, run: &Run<'_>) -> Result<Univariate, Error> {
    select(&params.score_func, &Rule::Fdr(params.alpha), data, run)
}

/// Trains `SelectFwe`.
///
/// # Errors
/// As [`scores::score`], and if nothing is kept.
pub fn fwe(params: &params::SelectFwe, data: &Data, run: &Run<'_>) -> Result<Univariate, Error> {
    select(&params.score_func, &Rule::Fwe(params.alpha), data, run)
}

/// Trains `GenericUnivariateSelect`.
///
/// # Errors
/// As [`scores::score`], if `param` does not fit the mode, and if nothing is kept.
pub fn generic(params: &params::GenericUnivariateSelect, data: &Data, run: &Run<'_>) -> Result<Univariate, Error> {
    let number = |high: f64| {
        params.param.as_f64().filter(|v| (0.0..=high).contains(v)).ok_or_else(|| {
            let message = format!(
                "`param` is {}: for the mode \"{}\" expected a number between 0 and {high}",
                params.param, params.mode
            );
            Error::new(ErrorKind::Parameter, message)
        })
    };
    let rule = match params.mode.as_str() {
        "k_best" => best("param", &params.param, data)?,
        "fpr" => Rule::Fpr(number(1.0)?),
        "fdr" => Rule::Fdr(number(1.0)?),
        "fwe" => Rule::Fwe(number(1.0)?),
        _ => Rule::Percentile(number(100.0)?),
    };
    select(&params.score_func, &rule, data, run)
}

/// The rule of a number of features.
fn best(name: &str, value: &Param, data: &Data) -> Result<Rule, Error> {
    if params::word(value) == Some("all") {
        return Ok(Rule::All);
    }
    let width = data.total_width();
    match params::count(value) {
        Some(k) if (1..=width).contains(&k) => Ok(Rule::Best(k)),
        Some(k) => {
            let message = format!("`{name}` is {k}: at least 1 and at most {width}, the number of features");
            Err(Error::new(ErrorKind::Parameter, message).help("`\"all\"` keeps all features"))
        }
        None => {
            let message = format!("`{name}` is {value}: expected a number of features, or \"all\"");
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

fn select(score: &str, rule: &Rule, data: &Data, run: &Run<'_>) -> Result<Univariate, Error> {
    let FeatureScores { scores, pvalues } = scores::score(score, data, run)?;
    let kept = kept(score, rule, &scores, pvalues.as_deref())?;
    let terms = data.sparse.as_ref().map_or_else(Vec::new, |sparse| sparse.names.to_vec());
    Ok(Univariate { scores: Tensor::vector(scores), pvalues: pvalues.map(Tensor::vector), kept, terms })
}

/// The positions of the features that stay, ascending.
fn kept(score: &str, rule: &Rule, scores: &[f64], pvalues: Option<&[f64]>) -> Result<Vec<usize>, Error> {
    let width = scores.len();
    let below = |limit: f64, is_within: &dyn Fn(f64) -> bool| {
        let Some(pvalues) = pvalues else {
            let message = format!("`{score}` has no p-values, and `alpha` is a limit of p-values");
            let error = Error::new(ErrorKind::Parameter, message);
            return Err(error.help("take `f_classif`, `f_regression` or `chi2`, or choose by the number of features"));
        };
        let kept: Vec<usize> = (0..width).filter(|j| is_within(pvalues[*j])).collect();
        if kept.is_empty() {
            let least = pvalues.iter().copied().fold(f64::NAN, f64::min);
            // Small numbers are shown with an exponent.
            let (limit, least) = (Param::Float(limit), Param::Float(least));
            let message = format!("no feature has a p-value below {limit}: the least is {least}");
            return Err(Error::new(ErrorKind::NoFeatures, message).help("take a higher `alpha`"));
        }
        Ok(kept)
    };
    match *rule {
        Rule::All => Ok((0..width).collect()),
        Rule::Best(k) => {
            let mut order: Vec<usize> = (0..width).collect();
            order.sort_by(|a, b| clean(scores[*a]).total_cmp(&clean(scores[*b])));
            let mut kept = order.split_off(width - k);
            kept.sort_unstable();
            Ok(kept)
        }
        Rule::Percentile(percent) => top(scores, percent),
        Rule::Fpr(alpha) => below(alpha, &|p| p < alpha),
        Rule::Fwe(alpha) => below(alpha / width as f64, &|p| p < alpha / width as f64),
        Rule::Fdr(alpha) => {
            let mut sorted: Vec<f64> = pvalues.unwrap_or_default().iter().copied().filter(|p| !p.is_nan()).collect();
            sorted.sort_unstable_by(f64::total_cmp);
            let is_found = |(rank, p): &(usize, &f64)| **p <= alpha / width as f64 * (rank + 1) as f64;
            let limit = sorted.iter().enumerate().filter(is_found).map(|(_, p)| *p).next_back();
            below(limit.unwrap_or(alpha / width as f64), &|p| limit.is_some_and(|limit| p <= limit))
        }
    }
}

/// scikit-learn's order: a score that is not defined is the lowest one. -0 equals 0.
fn clean(score: f64) -> f64 {
    if score.is_nan() { f64::MIN } else { score + 0.0 }
}

/// A percentage of the features with the highest scores.
fn top(scores: &[f64], percent: f64) -> Result<Vec<usize>, Error> {
    let width = scores.len();
    if percent == 100.0 {
        return Ok((0..width).collect());
    }
    let cleaned: Vec<f64> = scores.iter().map(|s| clean(*s)).collect();
    let limit = match percent > 0.0 {
        true => quantile::percentiles(&mut cleaned.clone(), &[100.0 - percent], Method::Linear)[0],
        false => f64::INFINITY,
    };
    let above = cleaned.iter().filter(|s| **s > limit).count();
    let mut ties = ((width as f64 * percent / 100.0) as usize).saturating_sub(above);
    let mut kept = Vec::new();
    for (j, score) in cleaned.iter().enumerate() {
        if *score > limit {
            kept.push(j);
        } else if *score == limit && ties > 0 {
            ties -= 1;
            kept.push(j);
        }
    }
    if kept.is_empty() {
        let message = format!("{percent} percent of {width} features is less than one feature");
        return Err(Error::new(ErrorKind::NoFeatures, message).help("take a higher `percentile`, or `SelectKBest`"));
    }
    Ok(kept)
}

impl Univariate {
    fn check_width(&self, data: &Data) -> Result<(), Error> {
        let (width, own) = (data.total_width(), self.scores.data.len());
        if width == own {
            return Ok(());
        }
        let message = format!("the rows have {width} features, and the selector was trained on {own}");
        Err(Error::new(ErrorKind::TypeMismatch, message))
    }
}

impl Model for Univariate {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let dense = self.scores.data.len() - self.terms.len();
        let role = |j: &usize| match features.get(*j) {
            Some(field) => Role::Feature(field.name.clone(), field.kind.clone()),
            None => Role::Feature(self.terms[*j - dense].clone(), Kind::Number),
        };
        self.kept.iter().map(role).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        self.check_width(data)?;
        let column = |k: &usize| match data.features.get(self.kept[*k]) {
            Some(column) => column.values.clone(),
            None => vec![0.0; data.rows],
        };
        let mut out: Vec<Vec<f64>> = wanted.par_iter().map(column).collect();
        if let Some(sparse) = &data.sparse {
            let mut places: Vec<Vec<usize>> = vec![Vec::new(); sparse.width()];
            for (place, k) in wanted.iter().enumerate() {
                if let Some(at) = self.kept[*k].checked_sub(data.width()) {
                    places[at].push(place);
                }
            }
            (0..sparse.rows()).for_each(|row| {
                let (columns, values) = sparse.row(row);
                for (column, value) in columns.iter().zip(values) {
                    places[*column as usize].iter().for_each(|place| out[*place][row] = *value);
                }
            });
        }
        Ok(out)
    }

    fn sparse_outputs(&self, sparse: usize) -> usize {
        let dense = self.scores.data.len().saturating_sub(sparse);
        self.kept.iter().filter(|j| **j >= dense).count()
    }

    fn apply_sparse(&self, data: &Data) -> Result<Option<Sparse>, Error> {
        self.check_width(data)?;
        let Some(sparse) = &data.sparse else { return Ok(None) };
        let kept: Vec<usize> = self.kept.iter().filter_map(|j| j.checked_sub(data.width())).collect();
        Ok((!kept.is_empty()).then(|| sparse.select(&kept)))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        if name != "scores" {
            return None;
        }
        let width = self.scores.data.len();
        let names = features.iter().map(|f| &f.name).chain(&self.terms).take(width).cloned().collect();
        let pvalues = self.pvalues.as_ref().map_or_else(|| vec![f64::NAN; width], |p| p.data.clone());
        let mut selected = vec![false; width];
        self.kept.iter().for_each(|j| selected[*j] = true);
        Some(Attribute::Frame(vec![
            ("feature".to_string(), Values::Strs(names)),
            ("score".to_string(), Values::Floats(self.scores.data.clone())),
            ("pvalue".to_string(), Values::Floats(pvalues)),
            ("selected".to_string(), Values::Bools(selected)),
        ]))
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let width = self.scores.data.len();
        let fits = width == features || width == features + self.terms.len();
        let pvalues = self.pvalues.as_ref().is_none_or(|p| p.data.len() == width);
        match fits && self.terms.len() <= width && pvalues && ascending(&self.kept, width) {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::ModelFile, format!("{width} scores do not fit {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        2 * self.scores.bytes()
    }
}

/// Whether positions are different ones below `width`, in ascending order.
pub(super) fn ascending(kept: &[usize], width: usize) -> bool {
    kept.windows(2).all(|pair| pair[0] < pair[1]) && kept.last().is_none_or(|j| *j < width)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::Column;

    #[test]
    fn sparse_features_stay_sparse() {
        let sparse = Sparse {
            names: Arc::new(["a", "b", "c"].map(str::to_string).to_vec()),
            starts: vec![0, 2, 3, 5],
            columns: vec![0, 2, 1, 1, 2],
            values: vec![1.0, 2.0, 3.0, 4.0, 5.0],
        };
        let data = Data { sparse: Some(sparse), ..Data::new(vec![Column::number("x", vec![7.0, 8.0, 9.0])]) };
        let kept = |kept: &[usize]| Univariate {
            scores: Tensor::vector(vec![0.0; 4]),
            pvalues: None,
            kept: kept.to_vec(),
            terms: ["a", "b", "c"].map(str::to_string).to_vec(),
        };
        let model = kept(&[0, 1, 3]);
        let found = model.apply_sparse(&data).unwrap().unwrap();
        assert_eq!((model.sparse_outputs(3), &found.names[..]), (2, &["a".to_string(), "c".to_string()][..]));
        assert_eq!((found.starts, found.columns, found.values), (vec![0, 2, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 5.0]));
        let dense = model.apply(&data, &[0, 1, 2]).unwrap();
        assert_eq!(dense, [vec![7.0, 8.0, 9.0], vec![1.0, 0.0, 0.0], vec![2.0, 0.0, 5.0]]);
        assert_eq!((kept(&[0]).sparse_outputs(3), kept(&[0]).apply_sparse(&data).unwrap()), (0, None));
    }
}
