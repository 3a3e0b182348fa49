//! Missing values replaced by a statistic of their feature (scikit-learn's `impute/_base.py`).

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::levels::distinct;
use super::{each, lying, outputs};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::quantile;
use crate::run::Run;
use crate::sums;
use crate::tensor::Tensor;

/// `SimpleImputer`.
#[derive(Serialize, Deserialize)]
pub struct Imputer {
    /// The value that replaces missing ones: a number, or the code of a category in `kinds`. NaN if the feature is left
    /// out.
    pub(crate) fill: Tensor,
    /// The kind of each feature afterwards. A constant may have added a category at the end.
    kinds: Vec<Kind>,
    /// The number of categories of each feature in training.
    seen: Vec<usize>,
    /// Features that get an indicator.
    indicators: Vec<usize>,
    notes: Vec<String>,
}

/// Finds the value that fills each feature.
pub fn fit(params: &params::SimpleImputer, data: &Data, run: &Run<'_>) -> Result<Imputer, Error> {
    let fills = each(data, run, |_, column| match &column.kind {
        Kind::Number | Kind::Text => number(params, column).map(|fill| (fill, Kind::Number)),
        Kind::Category(names) => category(params, column, names),
    })?;
    let left_out: Vec<&str> =
        data.features.iter().zip(&fills).filter(|(_, (fill, _))| fill.is_nan()).map(|(c, _)| c.name.as_str()).collect();
    let mut notes = Vec::new();
    if !left_out.is_empty() {
        notes.push(format!("left out, because all values are missing: {}", left_out.join(", ")));
    }
    let with_missing = (0..data.width()).filter(|j| data.features[*j].values.iter().any(|v| v.is_nan()));
    Ok(Imputer {
        fill: Tensor::vector(fills.iter().map(|(fill, _)| *fill).collect()),
        indicators: if params.add_indicator { with_missing.collect() } else { Vec::new() },
        seen: data.features.iter().map(|c| c.categories().map_or(0, <[String]>::len)).collect(),
        kinds: fills.into_iter().map(|(_, kind)| kind).collect(),
        notes,
    })
}

fn number(params: &params::SimpleImputer, column: &Column) -> Result<f64, Error> {
    let mut values: Vec<f64> = column.values.iter().copied().filter(|v| !v.is_nan()).collect();
    if values.is_empty() && !params.keep_empty_features {
        return Ok(f64::NAN);
    }
    let strategy = params.strategy.as_str();
    if strategy == "constant" {
        return match &params.fill_value {
            Param::None => Ok(0.0),
            value => value.as_f64().filter(|v| v.is_finite()).ok_or_else(|| {
                let message =
                    format!("`fill_value` is {value}, and `{}` holds numbers: expected a number", column.name);
                Error::new(ErrorKind::Parameter, message)
            }),
        };
    }
    if values.is_empty() {
        return Ok(0.0);
    }
    Ok(match strategy {
        "median" => quantile::median(&mut values),
        "most_frequent" => most_frequent(&distinct(&values)).unwrap_or(f64::NAN),
        _ => sums::mean(&values, None),
    })
}

/// The first of the values with the highest count.
fn most_frequent<T: Copy>(counts: &[(T, u64)]) -> Option<T> {
    // `max_by_key` gives the last of equal ones.
    counts.iter().rev().max_by_key(|(_, n)| *n).map(|(value, _)| *value)
}

fn category(params: &params::SimpleImputer, column: &Column, names: &[String]) -> Result<(f64, Kind), Error> {
    let same = || Kind::Category(names.to_vec());
    let mut counts = distinct(&column.values);
    counts.retain(|(code, _)| (*code as usize) < names.len());
    if counts.is_empty() && !params.keep_empty_features {
        return Ok((f64::NAN, same()));
    }
    let strategy = params.strategy.as_str();
    match strategy {
        "constant" => {}
        "most_frequent" => {
            counts.sort_by(|a, b| names[a.0 as usize].cmp(&names[b.0 as usize]));
            if let Some(code) = most_frequent(&counts) {
                return Ok((code, same()));
            }
        }
        _ => {
            let message = format!("`{}` holds strings, and strategy \"{strategy}\" takes numbers", column.name);
            return Err(Error::new(ErrorKind::Strings, message)
                .help("`.strategy(\"most_frequent\")` or `.strategy(\"constant\")` take strings")
                .help("a `ColumnTransformer` gives numbers and strings separate imputers"));
        }
    }
    let constant = match &params.fill_value {
        Param::Str(word) if strategy == "constant" => word.clone(),
        Param::None => "missing_value".to_string(),
        _ if strategy != "constant" => "missing_value".to_string(),
        value => {
            let message = format!("`fill_value` is {value}, and `{}` holds strings: expected a string", column.name);
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    match names.iter().position(|n| *n == constant) {
        Some(code) => Ok((code as f64, same())),
        None => {
            let names = names.iter().cloned().chain([constant]).collect::<Vec<String>>();
            Ok(((names.len() - 1) as f64, Kind::Category(names)))
        }
    }
}

impl Imputer {
    fn kept(&self) -> Vec<usize> {
        (0..self.kinds.len()).filter(|j| !self.fill.data[*j].is_nan()).collect()
    }

    fn filled(&self, column: &Column, j: usize) -> Vec<f64> {
        let fill = self.fill.data[j];
        // The code of an unseen category is that after the last one, which may be the constant's.
        let (seen, unseen) = match &self.kinds[j] {
            Kind::Number | Kind::Text => (f64::INFINITY, 0.0),
            Kind::Category(names) => (self.seen[j] as f64, names.len() as f64),
        };
        let value = |v: f64| {
            if v.is_nan() {
                fill
            } else if v >= seen {
                unseen
            } else {
                v
            }
        };
        column.values.iter().map(|v| value(*v)).collect()
    }
}

impl Model for Imputer {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let kept = self.kept();
        let filled = kept.iter().map(|j| Role::Feature(features[*j].name.clone(), self.kinds[*j].clone()));
        let indicator = |j: &usize| Role::Feature(format!("missingindicator_{}", features[*j].name), Kind::Number);
        filled.chain(self.indicators.iter().map(indicator)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let kept = self.kept();
        Ok(outputs(wanted, |k| match kept.get(k) {
            Some(j) => self.filled(&data.features[*j], *j),
            None => {
                let column = &data.features[self.indicators[k - kept.len()]];
                column.values.iter().map(|v| f64::from(u8::from(v.is_nan()))).collect()
            }
        }))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        if name != "statistics" {
            return None;
        }
        if self.kinds.iter().all(|k| *k == Kind::Number) {
            return Some(Attribute::by_feature(features, "statistic", &self.fill.data));
        }
        let shown = |(fill, kind): (&f64, &Kind)| match kind {
            Kind::Category(names) if !fill.is_nan() => names.get(*fill as usize).cloned().unwrap_or_default(),
            _ => fill.to_string(),
        };
        Some(Attribute::Frame(vec![
            ("feature".to_string(), Values::Strs(features.iter().map(|f| f.name.clone()).collect())),
            ("statistic".to_string(), Values::Strs(self.fill.data.iter().zip(&self.kinds).map(shown).collect())),
        ]))
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let lengths = [self.fill.data.len(), self.kinds.len(), self.seen.len()];
        if lengths.iter().any(|n| *n != features) || self.indicators.iter().any(|j| *j >= features) {
            return Err(lying(format!("the statistics of an imputer do not fit {features} features")));
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.fill.bytes()
    }
}
