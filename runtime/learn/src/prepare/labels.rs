//! Columns of 0 and 1 of one column of labels (scikit-learn's `LabelBinarizer` and `MultiLabelBinarizer`).

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::levels::{self, Levels};
use super::{few, lying, outputs};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role};
use crate::params;
use crate::run::Run;
use crate::tensor::Tensor;

/// `LabelBinarizer`.
#[derive(Serialize, Deserialize)]
pub struct Labels {
    levels: Levels,
    /// The value of other labels, and that of the column's label.
    values: Tensor,
}

/// `MultiLabelBinarizer`.
#[derive(Serialize, Deserialize)]
pub struct LabelSets {
    /// The labels in the order of the columns.
    labels: Vec<String>,
    separator: String,
}

/// The only column.
fn only<'a>(estimator: &str, data: &'a Data) -> Result<&'a Column, Error> {
    match &data.features[..] {
        [column] => Ok(column),
        _ => {
            let message = format!("{estimator} takes one column, and there are {}", data.width());
            Err(Error::new(ErrorKind::Parameter, message)
                .help("`.features([\"name\"])` chooses one")
                .help("`OneHotEncoder` encodes several columns"))
        }
    }
}

/// Trains `LabelBinarizer`.
///
/// # Errors
/// If there are several columns, or if `neg_label` is not below `pos_label`.
pub fn labels(params: &params::LabelBinarizer, data: &Data, run: &Run<'_>) -> Result<Labels, Error> {
    only("LabelBinarizer", data)?;
    let number = |name: &str, value: &Param| match value {
        Param::Int(value) => Ok(*value as f64),
        other => Err(Error::new(ErrorKind::Parameter, format!("`{name}` is {other}: expected an integer"))),
    };
    let (low, high) = (number("neg_label", &params.neg_label)?, number("pos_label", &params.pos_label)?);
    if low >= high {
        let message = format!("`neg_label` is {low}: below `pos_label`, which is {high}");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let levels = levels::fit(&Param::from("auto"), None, data, run)?.swap_remove(0).levels;
    few("LabelBinarizer", data.rows, levels.len())?;
    Ok(Labels { levels, values: Tensor::vector(vec![low, high]) })
}

/// Trains `MultiLabelBinarizer`.
///
/// # Errors
/// If there are several columns or one of numbers, or if `classes` is not a list of different strings.
pub fn label_sets(params: &params::MultiLabelBinarizer, data: &Data) -> Result<LabelSets, Error> {
    let column = only("MultiLabelBinarizer", data)?;
    let Kind::Category(names) = &column.kind else {
        let message = format!("`{}` holds numbers, and MultiLabelBinarizer takes strings", column.name);
        return Err(Error::new(ErrorKind::TypeMismatch, message).help("`LabelBinarizer` takes numbers"));
    };
    if params.sep.is_empty() {
        return Err(Error::new(ErrorKind::Parameter, "`sep` is empty: expected a separator such as \"|\""));
    }
    let labels = match &params.classes {
        Param::None => {
            let mut seen = vec![false; names.len()];
            column.values.iter().filter(|v| !v.is_nan()).for_each(|v| seen[*v as usize] = true);
            let all = names.iter().zip(&seen).filter(|(_, seen)| **seen).flat_map(|(name, _)| split(name, &params.sep));
            let mut labels: Vec<String> = all.map(str::to_string).collect();
            labels.sort();
            labels.dedup();
            labels
        }
        given => listed(given)?,
    };
    if labels.is_empty() {
        let message = format!("`{}` has no labels in these rows", column.name);
        return Err(Error::new(ErrorKind::NoFeatures, message));
    }
    few("MultiLabelBinarizer", data.rows, labels.len())?;
    Ok(LabelSets { labels, separator: params.sep.clone() })
}

/// Labels in the order that the user gives.
fn listed(given: &Param) -> Result<Vec<String>, Error> {
    let wrong =
        || Error::new(ErrorKind::Parameter, format!("`classes` is {given}: expected a list of different strings"));
    let Param::List(list) = given else { return Err(wrong()) };
    let labels: Vec<String> =
        list.iter().map(|v| params::word(v).map(str::to_string)).collect::<Option<_>>().ok_or_else(wrong)?;
    let mut sorted = labels.clone();
    sorted.sort();
    match sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        true => Err(wrong()),
        false => Ok(labels),
    }
}

/// The labels of a string. Empty ones are none.
fn split<'a>(text: &'a str, separator: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(separator).filter(|label| !label.is_empty())
}

impl Model for Labels {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let column = features.first().map_or("", |f| f.name.as_str());
        // Two labels have one column: that of the second one.
        let names = if self.levels.len() == 2 { &self.levels.names[1..] } else { &self.levels.names[..] };
        names.iter().map(|name| Role::Feature(format!("{column}_{name}"), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let positions = self.levels.positions(&data.features[0].values);
        let (low, high) = (self.values.data[0], self.values.data[1]);
        Ok(outputs(wanted, |k| {
            // As in scikit-learn, the column of a single label has no 1.
            let label = match self.levels.len() {
                1 => None,
                2 => Some(1),
                _ => Some(k as u32),
            };
            positions.iter().map(|p| if Some(*p) == label { high } else { low }).collect()
        }))
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        (name == "classes").then(|| Attribute::Strs(self.levels.names.clone()))
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        match features == 1 && self.values.data.len() == 2 && self.levels.len() > 0 {
            true => self.levels.check(),
            false => Err(lying(format!("labels of one column for {features} features"))),
        }
    }

    fn bytes(&self) -> u64 {
        self.levels.bytes()
    }
}

impl Model for LabelSets {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let column = features.first().map_or("", |f| f.name.as_str());
        self.labels.iter().map(|label| Role::Feature(format!("{column}_{label}"), Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let column = &data.features[0];
        let names = column.categories().unwrap_or_default();
        Ok(outputs(wanted, |k| {
            let has = |name: &String| split(name, &self.separator).any(|label| label == self.labels[k]);
            let has: Vec<f64> = names.iter().map(|name| f64::from(u8::from(has(name)))).collect();
            // A missing value has no labels.
            column
                .values
                .iter()
                .map(|v| if v.is_nan() { 0.0 } else { has.get(*v as usize).copied().unwrap_or(0.0) })
                .collect()
        }))
    }

    fn attribute(&self, name: &str, _: &[Field], _: &[String]) -> Option<Attribute> {
        (name == "classes").then(|| Attribute::Strs(self.labels.clone()))
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        match features == 1 && !self.labels.is_empty() && !self.separator.is_empty() {
            true => Ok(()),
            false => Err(lying(format!("labels of one column for {features} features"))),
        }
    }
}
