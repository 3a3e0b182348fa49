//! Categories as their positions (scikit-learn's `OrdinalEncoder` and `LabelEncoder`).

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::levels::{self, Levels, UNKNOWN};
use super::{long, lying};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// `OrdinalEncoder` and `LabelEncoder`.
#[derive(Serialize, Deserialize)]
pub struct Ordinal {
    features: Vec<Levels>,
    /// The values of the categories of each feature in order, all features in a row.
    values: Tensor,
    /// The value of unknown categories. `None`: they are an error.
    unknown: Option<Tensor>,
    /// The name of the estimator, for messages.
    estimator: String,
    notes: Vec<String>,
}

/// Trains `LabelEncoder`.
pub fn label(data: &Data, run: &Run<'_>) -> Result<Ordinal, Error> {
    if data.width() != 1 {
        let message = format!("LabelEncoder encodes one column, and there are {}", data.width());
        return Err(Error::new(ErrorKind::Parameter, message).help("`OrdinalEncoder` encodes several columns"));
    }
    learn(&params::OrdinalEncoder::default(), "LabelEncoder", data, run)
}

/// Trains `OrdinalEncoder`.
pub fn fit(params: &params::OrdinalEncoder, data: &Data, run: &Run<'_>) -> Result<Ordinal, Error> {
    learn(params, "OrdinalEncoder", data, run)
}

/// Finds the categories of each feature.
fn learn(params: &params::OrdinalEncoder, estimator: &str, data: &Data, run: &Run<'_>) -> Result<Ordinal, Error> {
    let label = estimator == "LabelEncoder";
    let number = |name: &str, value: &Param| match value {
        Param::None => Ok(None),
        Param::Int(value) => Ok(Some(*value as f64)),
        Param::Float(value) if !value.is_infinite() => Ok(Some(*value)),
        other => Err(Error::new(ErrorKind::Parameter, format!("`{name}` is {other}: expected a number or NaN"))),
    };
    let mut unknown = number("unknown_value", &params.unknown_value)?;
    match (params.handle_unknown.as_str(), unknown) {
        ("use_encoded_value", None) => {
            let message = "`unknown_value` is missing, and `handle_unknown` is \"use_encoded_value\"";
            return Err(Error::new(ErrorKind::Parameter, message)
                .help("`.unknown_value(-1)` gives unknown categories the number -1"));
        }
        ("use_encoded_value", Some(_)) => {}
        (_, Some(value)) => {
            let message = format!("`unknown_value` is {value}, but `handle_unknown` is \"error\"");
            return Err(Error::new(ErrorKind::Parameter, message).help("add `.handle_unknown(\"use_encoded_value\")`"));
        }
        (_, None) => unknown = None,
    }
    let missing = number("encoded_missing_value", &params.encoded_missing_value)?.unwrap_or(f64::NAN);
    let strict = params.handle_unknown == "error";
    let counted = levels::fit(&params.categories, strict.then_some(estimator), data, run)?;
    let notes = counted.iter().flat_map(|c| c.notes.iter().cloned()).collect();
    let features: Vec<Levels> = counted.into_iter().map(|c| c.levels).collect();
    let mut values = Vec::new();
    for (column, levels) in data.features.iter().zip(&features) {
        let categories = levels.len() - usize::from(levels.missing && !label);
        let taken = |value: f64| value.fract() == 0.0 && value >= 0.0 && value < categories as f64;
        for (name, value) in [("unknown_value", unknown), ("encoded_missing_value", levels.missing.then_some(missing))]
        {
            if !label && value.is_some_and(taken) {
                let value = value.unwrap_or_default();
                let message = format!("`{name}` is {value}, which is the number of a category of `{}`", column.name);
                return Err(Error::new(ErrorKind::Parameter, message).help("take a negative number, or NaN"));
            }
        }
        values.extend((0..categories).map(|position| position as f64));
        values.extend((categories < levels.len()).then_some(missing));
    }
    let unknown = unknown.map(|value| Tensor::vector(vec![value]));
    Ok(Ordinal { features, values: Tensor::vector(values), unknown, estimator: estimator.to_string(), notes })
}

impl Model for Ordinal {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        features.iter().map(|f| Role::Feature(f.name.clone(), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let mut out = Vec::new();
        for j in wanted {
            let (levels, column) = (&self.features[*j], &data.features[*j]);
            let first: usize = self.features[..*j].iter().map(Levels::len).sum();
            let values = &self.values.data[first..first + levels.len()];
            let positions = match self.unknown {
                None => {
                    levels.known(column, &self.estimator, &format!("{} did not see in training", self.estimator))?
                }
                Some(_) => levels.positions(&column.values),
            };
            let unknown = self.unknown.as_ref().map_or(f64::NAN, |u| u.data[0]);
            out.push(positions.iter().map(|p| if *p == UNKNOWN { unknown } else { values[*p as usize] }).collect());
        }
        Ok(out)
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        let (mut columns, mut first) = (Vec::new(), 0);
        for ((levels, field), column) in self.features.iter().zip(features).zip(&data.features) {
            let values = &self.values.data[first..first + levels.len()];
            first += levels.len();
            let unknown = self.unknown.as_ref().map(|u| u.data[0]);
            let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
            let position = |(row, value): (usize, &f64)| {
                let known = match *value >= 0.0 && value.fract() == 0.0 {
                    true => Some(*value as usize).filter(|p| values.get(*p) == Some(value)),
                    false => None,
                };
                let known = known.or_else(|| values.iter().position(|v| same(*v, *value)));
                if known.is_none() && !value.is_nan() && !unknown.is_some_and(|u| same(u, *value)) {
                    let message =
                        format!("`{}` is {value} in row {row}, which is the number of no category", field.name);
                    return Err(Error::new(ErrorKind::UnknownCategory, message)
                        .help(format!("its numbers are from 0 to {}", values.len().saturating_sub(1))));
                }
                Ok(known)
            };
            let positions = column.values.iter().enumerate().map(position).collect::<Result<Vec<_>, Error>>()?;
            columns.push(levels.column(&field.name, &positions));
        }
        Ok(Some(columns))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        match name {
            "categories" => {
                let lists: Vec<Vec<String>> = self.features.iter().map(|f| f.names.clone()).collect();
                Some(long(features, &lists, "category", |all| Values::Strs(all.into_iter().cloned().collect())))
            }
            "classes" => self.features.first().map(|f| Attribute::Strs(f.names.clone())),
            _ => None,
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let categories: usize = self.features.iter().map(Levels::len).sum();
        let unknown = self.unknown.as_ref().is_none_or(|u| u.data.len() == 1);
        if self.features.len() != features || self.values.data.len() != categories || !unknown {
            return Err(lying(format!("the categories do not fit {features} features")));
        }
        self.features.iter().try_for_each(Levels::check)
    }

    fn bytes(&self) -> u64 {
        self.values.bytes() + self.features.iter().map(Levels::bytes).sum::<u64>()
    }
}
