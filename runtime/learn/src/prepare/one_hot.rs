//! A column of 0 and 1 for each category (scikit-learn's `OneHotEncoder`).

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::levels::{self, CategoryCounts, Levels};
use super::{few, largest, long, lying, outputs};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::run::Run;

/// `OneHotEncoder`.
#[derive(Serialize, Deserialize)]
pub struct OneHot {
    features: Vec<Feature>,
    /// Whether an unknown category is an error.
    strict: bool,
    notes: Vec<String>,
}

/// The columns of a feature.
#[derive(Serialize, Deserialize)]
struct Feature {
    levels: Levels,
    /// The column of each category among those of the feature. `None` for a category that was dropped.
    columns: Vec<Option<u32>>,
    /// The suffixes of the columns' names.
    names: Vec<String>,
    /// Categories that share the last column.
    infrequent: Vec<String>,
    /// The column of unknown categories.
    unknown: Option<u32>,
}

/// Finds the categories and their columns.
pub fn fit(params: &params::OneHotEncoder, data: &Data, run: &Run<'_>) -> Result<OneHot, Error> {
    let mut notes = Vec::new();
    let mut features = Vec::new();
    let strict = params.handle_unknown == "error";
    for counted in levels::fit(&params.categories, strict.then_some("OneHotEncoder"), data, run)? {
        notes.extend(counted.notes.iter().cloned());
        features.push(feature(params, data.rows, counted));
    }
    let model = OneHot { features, strict, notes };
    let fields: Vec<Field> =
        data.features.iter().map(|c| Field { name: c.name.clone(), kind: c.kind.clone() }).collect();
    let mut names = model.names(&fields);
    names.sort();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::new(
            ErrorKind::DuplicateColumn,
            format!("two categories would make the column `{}`", pair[0]),
        )
        .help("rename a feature or a category first"));
    }
    Ok(model)
}

/// Finds the categories that share a column: `_identify_infrequent`.
fn infrequent(params: &params::OneHotEncoder, rows: usize, counts: &[u64]) -> Vec<bool> {
    let mut rare: Vec<bool> = match params.min_frequency {
        Some(share) if share < 1.0 => counts.iter().map(|n| (*n as f64) < share * rows as f64).collect(),
        Some(least) => counts.iter().map(|n| (*n as f64) < least).collect(),
        None => vec![false; counts.len()],
    };
    let columns = counts.len() - rare.iter().filter(|r| **r).count() + 1;
    if let Some(most) = params.max_categories
        && most < columns
    {
        // The shared column counts too. The first of categories with equal counts are rarer.
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by_key(|k| counts[*k]);
        let rarest = counts.len().saturating_sub(most - 1);
        order[..rarest].iter().for_each(|k| rare[*k] = true);
    }
    rare
}

fn feature(params: &params::OneHotEncoder, rows: usize, counted: CategoryCounts) -> Feature {
    let rare = infrequent(params, rows, &counted.counts);
    let all = &counted.levels.names;
    let mut names: Vec<String> = all.iter().zip(&rare).filter(|(_, rare)| !**rare).map(|(n, _)| n.clone()).collect();
    let shared = names.len() as u32;
    let mut next = 0;
    let mut columns: Vec<Option<u32>> = Vec::new();
    for rare in &rare {
        columns.push(Some(if *rare { shared } else { next }));
        next += u32::from(!*rare);
    }
    let infrequent: Vec<String> = all.iter().zip(&rare).filter(|(_, rare)| **rare).map(|(n, _)| n.clone()).collect();
    if !infrequent.is_empty() {
        names.push("infrequent_sklearn".to_string());
    }
    let to_infrequent = params.handle_unknown == "infrequent_if_exist";
    let mut unknown = (to_infrequent && !infrequent.is_empty()).then_some(shared);
    let drops = match params.drop.as_deref() {
        Some("first") => !names.is_empty(),
        Some("if_binary") => names.len() == 2,
        _ => false,
    };
    if drops {
        names.remove(0);
        let without_first = |column: Option<u32>| column.and_then(|c| c.checked_sub(1));
        columns.iter_mut().for_each(|c| *c = without_first(*c));
        unknown = without_first(unknown);
    }
    Feature { levels: counted.levels, columns, names, infrequent, unknown }
}

impl Feature {
    /// The categories of rows, from the columns of the feature. Categories that share a column are all called
    /// `infrequent_sklearn`, as in scikit-learn.
    fn inverse(&self, block: &[Column], name: &str, rows: usize, strict: bool) -> Result<Column, Error> {
        // The category of each column, and that of a row of zeros.
        let shared = (!self.infrequent.is_empty()).then(|| block.len().saturating_sub(1));
        let single = |column: usize| self.columns.iter().position(|c| *c == Some(column as u32));
        let dropped = self.columns.iter().position(Option::is_none);
        let found = largest(block, rows);
        if let Some(row) = found.iter().position(Option::is_none)
            && dropped.is_none()
            && strict
        {
            let message = format!("row {row} has 0 in all columns of `{name}`, which no category makes");
            return Err(Error::new(ErrorKind::UnknownCategory, message)
                .help("`handle_unknown(\"ignore\")` makes such rows, and reads them as missing"));
        }
        let Some(shared) = shared else {
            let positions = found.into_iter().map(|column| column.map_or(dropped, single));
            return Ok(self.levels.column(name, &positions.collect::<Vec<_>>()));
        };
        let mut names = self.levels.names.clone();
        names.push("infrequent_sklearn".to_string());
        let of = |column: Option<usize>| match column {
            Some(column) if column == shared => Some(names.len() - 1),
            Some(column) => single(column),
            None => dropped,
        };
        let values = found.into_iter().map(|column| of(column).map_or(f64::NAN, |p| p as f64)).collect();
        Ok(Column { name: name.to_string(), kind: Kind::Category(names), values })
    }
}

impl OneHot {
    fn names(&self, features: &[Field]) -> Vec<String> {
        let pairs = features.iter().zip(&self.features);
        pairs.flat_map(|(field, f)| f.names.iter().map(|n| format!("{}_{n}", field.name))).collect()
    }

    /// The feature of each output, and the output's position among the feature's columns.
    fn places(&self) -> Vec<(usize, u32)> {
        let all = self.features.iter().enumerate();
        all.flat_map(|(j, f)| (0..f.names.len() as u32).map(move |c| (j, c))).collect()
    }

    /// The column of each row among those of the feature. `u32::MAX` if all are 0.
    fn columns(&self, data: &Data, j: usize) -> Result<Vec<u32>, Error> {
        let (feature, column) = (&self.features[j], &data.features[j]);
        let why = "OneHotEncoder did not see in training";
        let mut positions = match self.strict {
            true => feature.levels.known(column, "OneHotEncoder", why)?,
            false => feature.levels.positions(&column.values),
        };
        let unknown = feature.unknown.unwrap_or(u32::MAX);
        let of = |p: u32| feature.columns.get(p as usize).map_or(unknown, |c| c.unwrap_or(u32::MAX));
        positions.iter_mut().for_each(|p| *p = of(*p));
        Ok(positions)
    }
}

impl Model for OneHot {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        self.names(features).into_iter().map(|name| Role::Feature(name, Kind::Number)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        few("OneHotEncoder", data.rows, wanted.len())?;
        let places = self.places();
        let mut needed = vec![false; self.features.len()];
        wanted.iter().for_each(|k| needed[places[*k].0] = true);
        let columns: Vec<Result<Vec<u32>, Error>> = (0..self.features.len())
            .into_par_iter()
            .map(|j| if needed[j] { self.columns(data, j) } else { Ok(Vec::new()) })
            .collect();
        let columns: Vec<Vec<u32>> = columns.into_iter().collect::<Result<_, Error>>()?;
        Ok(outputs(wanted, |k| {
            let (j, column) = places[k];
            columns[j].iter().map(|c| f64::from(u8::from(*c == column))).collect()
        }))
    }

    fn inverse(&self, data: &Data, features: &[Field]) -> Result<Option<Vec<Column>>, Error> {
        let (mut columns, mut first) = (Vec::new(), 0);
        for (feature, field) in self.features.iter().zip(features) {
            let block = &data.features[first..first + feature.names.len()];
            first += feature.names.len();
            columns.push(feature.inverse(block, &field.name, data.rows, self.strict)?);
        }
        Ok(Some(columns))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let lists: Vec<Vec<String>> = match name {
            "categories" => self.features.iter().map(|f| f.levels.names.clone()).collect(),
            "infrequent_categories" => self.features.iter().map(|f| f.infrequent.clone()).collect(),
            _ => return None,
        };
        Some(long(features, &lists, "category", |all| Values::Strs(all.into_iter().cloned().collect())))
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        if self.features.len() != features {
            return Err(lying(format!("categories of {} features for {features} features", self.features.len())));
        }
        self.features.iter().try_for_each(|f| f.levels.check())
    }

    fn bytes(&self) -> u64 {
        self.features.iter().map(|f| f.levels.bytes()).sum()
    }
}
