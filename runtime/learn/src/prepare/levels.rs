//! The categories of a feature, as the encoders use them (scikit-learn's `_BaseEncoder`).

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use onrush_wire::learn::Param;
use serde::{Deserialize, Serialize};

use super::{each, lying};
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::run::Run;
use crate::tensor::Tensor;

/// The position of a value that is not a category.
pub const UNKNOWN: u32 = u32::MAX;

/// The categories of a feature in their order.
#[derive(Serialize, Deserialize)]
pub struct Levels {
    /// How categories are shown, in order. The missing value is `nan`, the last.
    pub names: Vec<String>,
    /// Whether the missing value is a category, the last one.
    pub missing: bool,
    /// Whether the feature holds strings.
    strings: bool,
    /// The value of each category of a feature of numbers. The position of the category of each code of a feature of
    /// strings; -1 if the training did not see the code.
    values: Tensor,
}

/// The categories of a feature, and the number of rows of each.
pub struct CategoryCounts {
    pub levels: Levels,
    pub counts: Vec<u64>,
    pub notes: Vec<String>,
}

impl Levels {
    /// A column of these categories by their positions. `None` is missing.
    pub fn column(&self, name: &str, positions: &[Option<usize>]) -> Column {
        let present = self.names.len() - usize::from(self.missing);
        let there = positions.iter().map(|position| position.filter(|p| *p < present));
        match self.strings {
            true => Column {
                name: name.to_string(),
                kind: Kind::Category(self.names[..present].to_vec()),
                values: there.map(|position| position.map_or(f64::NAN, |p| p as f64)).collect(),
            },
            false => {
                let value = |position: Option<usize>| position.and_then(|p| self.values.data.get(p).copied());
                Column::number(name, there.map(|position| value(position).unwrap_or(f64::NAN)).collect())
            }
        }
    }
}

/// Finds the categories of all features: `categories` is `auto` or a list for each feature. `strict`: the estimator
/// whose values must be listed.
///
/// # Errors
/// If `categories` does not fit the features, and if values are not listed although unknown ones are an error.
pub fn fit(categories: &Param, strict: Option<&str>, data: &Data, run: &Run<'_>) -> Result<Vec<CategoryCounts>, Error> {
    let listed = match categories {
        Param::List(lists) if lists.len() == data.width() => Some(lists),
        Param::None => None,
        Param::Str(word) if word == "auto" => None,
        Param::List(lists) => {
            let message = format!("`categories` has {} lists for {} features", lists.len(), data.width());
            return Err(Error::new(ErrorKind::Parameter, message).help("give a list of categories for each feature"));
        }
        other => {
            let message =
                format!("`categories` is {other}: expected \"auto\", or a list of categories for each feature");
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    };
    each(data, run, |j, column| match &listed {
        None => Ok(automatic(column)),
        Some(lists) => {
            let counted = from_list(column, &lists[j])?;
            if let Some(estimator) = strict {
                counted.levels.known(column, estimator, "are not listed in `categories`")?;
            }
            Ok(counted)
        }
    })
}

/// The values of a column, sorted.
fn automatic(column: &Column) -> CategoryCounts {
    let missing = column.missing() as u64;
    let (mut names, mut counts, values) = match &column.kind {
        Kind::Category(all) => {
            let mut rows = vec![0u64; all.len()];
            for value in column.values.iter().filter(|v| !v.is_nan()) {
                if let Some(n) = rows.get_mut(*value as usize) {
                    *n += 1;
                }
            }
            let mut seen: Vec<usize> = (0..all.len()).filter(|code| rows[*code] > 0).collect();
            seen.sort_by(|a, b| all[*a].cmp(&all[*b]));
            let mut positions = vec![-1.0; all.len()];
            seen.iter().enumerate().for_each(|(position, code)| positions[*code] = position as f64);
            let names: Vec<String> = seen.iter().map(|code| all[*code].clone()).collect();
            (names, seen.iter().map(|code| rows[*code]).collect::<Vec<u64>>(), positions)
        }
        Kind::Number | Kind::Text => {
            let distinct = distinct(&column.values);
            let names = distinct.iter().map(|(v, _)| v.to_string()).collect();
            (names, distinct.iter().map(|(_, n)| *n).collect(), distinct.iter().map(|(v, _)| *v).collect())
        }
    };
    if missing > 0 {
        names.push("nan".to_string());
        counts.push(missing);
    }
    let strings = column.kind != Kind::Number;
    let levels = Levels { names, missing: missing > 0, strings, values: Tensor::vector(values) };
    CategoryCounts { levels, counts, notes: Vec::new() }
}

/// The categories that the user lists. `None` and NaN are the missing value, which must be the last one.
fn from_list(column: &Column, list: &Param) -> Result<CategoryCounts, Error> {
    let name = &column.name;
    let Param::List(list) = list else {
        return Err(Error::new(
            ErrorKind::Parameter,
            format!("`categories` is {list} for `{name}`: expected a list of values"),
        ));
    };
    let is_missing = |v: &Param| *v == Param::None || v.as_f64().is_some_and(f64::is_nan);
    let (list, missing) = match list.split_last() {
        Some((last, rest)) if is_missing(last) => (rest, true),
        _ => (&list[..], false),
    };
    let wrong = |what: String| Error::new(ErrorKind::Parameter, format!("`categories` of `{name}`: {what}"));
    let mut names = Vec::new();
    let mut values = Vec::new();
    for value in list {
        match (&column.kind, value) {
            (Kind::Category(_), Param::Str(word)) => names.push(word.clone()),
            (Kind::Number | Kind::Text, Param::Int(_) | Param::Float(_)) => {
                let number = value.as_f64().unwrap_or_default() + 0.0;
                if !number.is_finite() {
                    return Err(wrong(format!(
                        "{number} is not a finite number, and the missing value must be the last one"
                    )));
                }
                values.push(number);
                names.push(number.to_string());
            }
            (Kind::Number | Kind::Text, other) => {
                return Err(wrong(format!("`{other}` is not a number, and the column holds numbers")));
            }
            (Kind::Category(_), other) => {
                return Err(wrong(format!("`{other}` is not a string, and the column holds strings")));
            }
        }
    }
    let mut sorted = names.clone();
    sorted.sort();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(wrong(format!("`{}` is listed twice", pair[0])));
    }
    let mut notes = Vec::new();
    if let Kind::Category(all) = &column.kind {
        let position = |known: &String| names.iter().position(|n| n == known).map_or(-1.0, |p| p as f64);
        values = all.iter().map(position).collect();
        let absent: Vec<&str> = names.iter().filter(|n| !all.contains(n)).map(String::as_str).collect();
        if !absent.is_empty() {
            notes.push(format!(
                "`{name}` lists categories without training rows, which count as unseen: {}",
                absent.join(", ")
            ));
        }
    }
    if missing {
        names.push("nan".to_string());
    }
    let strings = column.kind != Kind::Number;
    let levels = Levels { names, missing, strings, values: Tensor::vector(values) };
    let mut counts = vec![0; levels.len()];
    for position in levels.positions(&column.values) {
        if let Some(n) = counts.get_mut(position as usize) {
            *n += 1;
        }
    }
    Ok(CategoryCounts { levels, counts, notes })
}

impl Levels {
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// The position of the category of each value, or [`UNKNOWN`].
    pub fn positions(&self, values: &[f64]) -> Vec<u32> {
        let lookup = self.lookup();
        let missing = if self.missing { self.len() as u32 - 1 } else { UNKNOWN };
        let position = |v: f64| if v.is_nan() { missing } else { lookup.find(v) };
        values.iter().map(|v| position(*v)).collect()
    }

    fn lookup(&self) -> Lookup {
        let values = &self.values.data;
        if self.strings {
            let table = values.iter().map(|p| if *p < 0.0 { UNKNOWN } else { *p as u32 }).collect();
            return Lookup::Table { low: 0.0, table };
        }
        let (low, high) = values.iter().fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(*v), b.max(*v)));
        // A table of small integers answers without a search.
        if values.iter().all(|v| v.fract() == 0.0) && high - low < 65_536.0 {
            let mut table = vec![UNKNOWN; if values.is_empty() { 0 } else { (high - low) as usize + 1 }];
            values.iter().enumerate().for_each(|(position, v)| table[(v - low) as usize] = position as u32);
            return Lookup::Table { low, table };
        }
        let mut sorted: Vec<(f64, u32)> = values.iter().enumerate().map(|(p, v)| (*v, p as u32)).collect();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        Lookup::Sorted(sorted)
    }

    /// The positions of a column whose values must all be categories.
    ///
    /// # Errors
    /// Names the column, the number of rows that are not, and one of their values.
    pub fn known(&self, column: &Column, estimator: &str, why: &str) -> Result<Vec<u32>, Error> {
        let positions = self.positions(&column.values);
        let unknown = positions.iter().filter(|p| **p == UNKNOWN).count();
        let Some(row) = positions.iter().position(|p| *p == UNKNOWN) else { return Ok(positions) };
        let value = column.values[row];
        let shown = match &column.kind {
            _ if value.is_nan() => "the missing value".to_string(),
            Kind::Number | Kind::Text => format!("`{value}`"),
            Kind::Category(names) => match names.get(value as usize) {
                Some(name) => format!("`{name}`"),
                None => format!("that in row {row}"),
            },
        };
        let rows = if unknown == 1 { "1 row".to_string() } else { format!("{unknown} rows") };
        let message =
            format!("`{}` has {rows} of {} with categories that {why}, such as {shown}", column.name, positions.len());
        let error = Error::new(ErrorKind::UnknownCategory, message);
        Err(match estimator {
            "OneHotEncoder" => {
                error.help("`.handle_unknown(\"ignore\")` gives such rows zeros in all columns of the feature")
            }
            "OrdinalEncoder" => {
                error.help("`.handle_unknown(\"use_encoded_value\")` and `.unknown_value(-1)` give such rows a number")
            }
            _ => error,
        })
    }

    /// Whether a model file tells the truth.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn check(&self) -> Result<(), Error> {
        let categories = self.len() - usize::from(self.missing).min(self.len());
        let values = &self.values.data;
        let fits = match self.strings {
            true => values.iter().all(|p| *p == -1.0 || (p.fract() == 0.0 && *p >= 0.0 && *p < categories as f64)),
            false => values.len() == categories && values.iter().all(|v| v.is_finite()),
        };
        if !fits || (self.missing && self.len() == 0) || self.len() >= UNKNOWN as usize {
            return Err(lying("the categories of a feature contradict themselves"));
        }
        Ok(())
    }

    pub fn bytes(&self) -> u64 {
        self.values.bytes() + self.names.iter().map(|n| n.len() as u64 + 24).sum::<u64>()
    }
}

/// How a value finds its position.
enum Lookup {
    /// Positions by the integer above `low`.
    Table {
        low: f64,
        table: Vec<u32>,
    },
    Sorted(Vec<(f64, u32)>),
}

impl Lookup {
    #[inline]
    fn find(&self, value: f64) -> u32 {
        match self {
            Lookup::Table { low, table } => {
                let place = value - low;
                // A conversion cuts off the fraction and saturates, so a round trip shows whether the value is such an
                // integer.
                let index = place as usize;
                if index as f64 == place { table.get(index).copied().unwrap_or(UNKNOWN) } else { UNKNOWN }
            }
            Lookup::Sorted(sorted) => {
                let place = sorted.partition_point(|(v, _)| *v < value);
                sorted.get(place).filter(|(v, _)| *v == value).map_or(UNKNOWN, |(_, p)| *p)
            }
        }
    }
}

/// The different values that are not missing, in ascending order, and how often they occur. -0 counts as 0.
pub fn distinct(values: &[f64]) -> Vec<(f64, u64)> {
    let mut counts: HashMap<u64, u64, BuildHasherDefault<BitsHasher>> = HashMap::default();
    for value in values.iter().filter(|v| !v.is_nan()) {
        *counts.entry((value + 0.0).to_bits()).or_insert(0) += 1;
    }
    let mut counts: Vec<(f64, u64)> = counts.into_iter().map(|(bits, n)| (f64::from_bits(bits), n)).collect();
    counts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    counts
}

/// A multiplicative hash of the bits of a number. The results are sorted, so its order is never seen.
#[derive(Default)]
struct BitsHasher(u64);

impl Hasher for BitsHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }

    fn write_u64(&mut self, bits: u64) {
        let mixed = u128::from(bits ^ self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        self.0 = (mixed >> 64) as u64 ^ mixed as u64;
    }
}
