//! Columns of numbers that a specification declares as categories.

use std::borrow::Cow;
use std::collections::HashMap;

use onrush_wire::learn::{Param, Spec, info};

use crate::check::nearest;
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};

/// The parameters with the names of columns that are categories: those of scikit-learn, LightGBM and CatBoost.
const DECLARATIONS: [&str; 3] = ["categorical_features", "categorical_feature", "cat_features"];

/// The columns that are declared as categories, and where numbers are, the positions of these columns.
///
/// Columns of strings are categories in any case. A number becomes the category of its decimal form, in the order of
/// the numbers. NaN stays missing. Evaluation sets are treated in the same way.
///
/// # Errors
/// If a name is not that of a feature, or the parameter is not a list of names.
pub(crate) fn declared<'a>(spec: &Spec, data: &'a Data) -> Result<(Cow<'a, Data>, Vec<usize>), Error> {
    let mut positions = Vec::new();
    for name in names(spec)? {
        let Some(position) = data.features.iter().position(|column| column.name == name) else {
            let known = data.names();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let parameter = parameter(spec).unwrap_or_default();
            let error =
                Error::new(ErrorKind::UnknownColumn, format!("`{name}` of `{parameter}` is not one of the features"));
            return Err(match nearest(&name, &known) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("the features are {}", known.join(", "))),
            });
        };
        if data.features[position].kind == Kind::Number && !positions.contains(&position) {
            positions.push(position);
        }
    }
    if positions.is_empty() {
        return Ok((Cow::Borrowed(data), positions));
    }
    let mut data = data.clone();
    let columns: Vec<String> = positions.iter().map(|position| data.features[*position].name.clone()).collect();
    for rows in std::iter::once(&mut data.features).chain(data.eval.iter_mut().map(|eval| &mut eval.features)) {
        let declared = rows.iter_mut().filter(|column| columns.contains(&column.name));
        declared.filter(|column| column.kind == Kind::Number).for_each(|column| *column = coded(column));
    }
    positions.sort_unstable();
    Ok((Cow::Owned(data), positions))
}

/// The parameter of an estimator that declares categories, if it has one.
fn parameter(spec: &Spec) -> Option<&'static str> {
    let info = info(&spec.estimator)?;
    DECLARATIONS.into_iter().find(|name| info.params.iter().any(|param| param.name == *name))
}

/// The names that a specification declares. Empty for the default.
fn names(spec: &Spec) -> Result<Vec<String>, Error> {
    let Some(parameter) = parameter(spec) else { return Ok(Vec::new()) };
    let value = spec.param(parameter);
    let wrong = || {
        let default = info(&spec.estimator).and_then(|info| info.param(parameter)).map(|param| param.default.clone());
        let default = default.filter(|default| *default != Param::None);
        let default = default.map_or_else(String::new, |default| format!(" or `{default}`"));
        let message = format!("`{parameter}` is {value}: expected a list of column names{default}");
        Error::new(ErrorKind::Parameter, message)
    };
    match &value {
        Param::List(values) => values
            .iter()
            .map(|value| match value {
                Param::Str(name) => Ok(name.clone()),
                _ => Err(wrong()),
            })
            .collect(),
        value if info(&spec.estimator).and_then(|info| info.param(parameter)).is_some_and(|p| p.default == *value) => {
            Ok(Vec::new())
        }
        Param::Str(name) => Ok(vec![name.clone()]),
        _ => Err(wrong()),
    }
}

/// A column of numbers as categories.
fn coded(column: &Column) -> Column {
    let mut values: Vec<f64> = column.values.iter().copied().filter(|value| !value.is_nan()).collect();
    values.sort_by(f64::total_cmp);
    // The zeros are equal, and have one category.
    values.dedup();
    let names: Vec<String> = values.iter().map(|value| (value + 0.0).to_string()).collect();
    let values = codes(&names, column);
    Column { name: column.name.clone(), kind: Kind::Category(names), values }
}

/// The positions of numbers in a list of categories that [`declared`] made. A number that is not in it becomes the
/// position after the last one, and NaN stays NaN.
pub(crate) fn codes(names: &[String], column: &Column) -> Vec<f64> {
    let numbers = names.iter().enumerate().filter_map(|(code, name)| Some((name.parse::<f64>().ok()?.to_bits(), code)));
    let known: HashMap<u64, usize> = numbers.collect();
    let code = |value: &f64| known.get(&(value + 0.0).to_bits()).copied().unwrap_or(names.len()) as f64;
    column.values.iter().map(|value| if value.is_nan() { f64::NAN } else { code(value) }).collect()
}
