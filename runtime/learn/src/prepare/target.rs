//! Categories as means of the target (scikit-learn's `TargetEncoder`; Micci-Barreca 2001, "A preprocessing scheme for
//! high-cardinality categorical attributes").

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::levels::{self, Levels, UNKNOWN};
use super::{each, long, lying, outputs};
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Attribute, Field, Model, Role, Values};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::tensor::Tensor;

/// `TargetEncoder`.
#[derive(Serialize, Deserialize)]
pub struct TargetEncoder {
    features: Vec<Levels>,
    /// The classes that have a column for each feature. Empty: one column for each feature, under its name.
    classes: Vec<String>,
    /// For each feature, and there for each class: the value of each category.
    encodings: Vec<Tensor>,
    /// For each class the mean of the target.
    means: Tensor,
    notes: Vec<String>,
}

/// Learns from all rows.
pub fn fit(params: &params::TargetEncoder, data: &Data, run: &Run<'_>) -> Result<TargetEncoder, Error> {
    Ok(learn(params, data, run)?.0)
}

/// Learns from all rows, and encodes the training rows by cross fitting: the values of a row are those of the other
/// folds.
///
/// # Errors
/// As [`fit`], and if there are fewer rows or rows of each class than folds.
pub fn fit_transform(
    params: &params::TargetEncoder,
    data: &Data,
    run: &Run<'_>,
) -> Result<(TargetEncoder, Vec<Vec<f64>>), Error> {
    let (model, positions, targets) = learn(params, data, run)?;
    let folds = params.cv;
    let fold_of = folds_of_rows(params, data, folds)?;
    let smooth = params.smooth.as_f64();
    let mut out = vec![vec![0.0; data.rows]; positions.len() * targets.len()];
    for fold in 0..folds as u32 {
        run.check(|| format!("{fold} of {folds} folds"))?;
        run.stage(format!("cross fitting: fold {} of {folds}", fold + 1));
        let statistics: Vec<Statistics> = targets.iter().map(|y| statistics(y, |row| fold_of[row] != fold)).collect();
        out.par_iter_mut().enumerate().for_each(|(k, column)| {
            let (feature, class) = (k / targets.len(), k % targets.len());
            let codes = &positions[feature];
            let categories = model.features[feature].len();
            let means =
                encode(smooth, codes, categories, &targets[class], &statistics[class], |row| fold_of[row] != fold);
            for row in (0..codes.len()).filter(|row| fold_of[*row] == fold) {
                column[row] = means.get(codes[row] as usize).copied().unwrap_or(statistics[class].mean);
            }
        });
    }
    Ok((model, out))
}

/// The model, the position of the category of each row by feature, and the values of the target by class.
type TrainedEncoder = (TargetEncoder, Vec<Vec<u32>>, Vec<Vec<f64>>);

fn learn(params: &params::TargetEncoder, data: &Data, run: &Run<'_>) -> Result<TrainedEncoder, Error> {
    if data.y.len() != data.rows {
        return Err(
            Error::new(ErrorKind::NoTarget, "TargetEncoder needs a target").help("name it: `.fit(&frame, \"target\")`")
        );
    }
    let classes = classes(&params.target_type, data)?;
    let targets: Vec<Vec<f64>> = match classes.is_empty() {
        true => vec![data.y.clone()],
        false => {
            (0..classes.len()).map(|c| data.y.iter().map(|y| f64::from(u8::from(*y == c as f64))).collect()).collect()
        }
    };
    match &params.smooth {
        Param::Int(_) | Param::Float(_) => {}
        Param::Str(word) if word == "auto" => {}
        other => {
            return Err(Error::new(
                ErrorKind::Parameter,
                format!("`smooth` is {other}: expected \"auto\" or a number"),
            ));
        }
    }
    let strict = None;
    let counted = levels::fit(&params.categories, strict, data, run)?;
    let notes = counted.iter().flat_map(|c| c.notes.iter().cloned()).collect();
    let features: Vec<Levels> = counted.into_iter().map(|c| c.levels).collect();
    let positions = each(data, run, |j, column| Ok(features[j].positions(&column.values)))?;
    let statistics: Vec<Statistics> = targets.iter().map(|y| statistics(y, |_| true)).collect();
    let smooth = params.smooth.as_f64();
    let encodings = each(data, run, |j, _| {
        let of_class =
            |c: usize| encode(smooth, &positions[j], features[j].len(), &targets[c], &statistics[c], |_| true);
        Ok(Tensor::vector((0..targets.len()).flat_map(of_class).collect()))
    })?;
    let means = Tensor::vector(statistics.iter().map(|s| s.mean).collect());
    Ok((TargetEncoder { features, classes, encodings, means, notes }, positions, targets))
}

/// The classes with a column each. Empty for a target of numbers or of two classes.
fn classes(wanted: &str, data: &Data) -> Result<Vec<String>, Error> {
    let found = match data.classes.len() {
        0 => "continuous",
        1 | 2 => "binary",
        _ => "multiclass",
    };
    match (wanted, found) {
        ("multiclass", "binary") | ("auto", _) => {}
        // Means of 0 and 1 are the same for numbers and for classes.
        ("binary", "continuous") if data.y.iter().all(|y| *y == 0.0 || *y == 1.0) => {}
        ("continuous", "binary") => {}
        (wanted, found) if wanted == found => {}
        (wanted, found) => {
            let message = format!("`target_type` is \"{wanted}\", but the target `{}` is {found}", data.target);
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    }
    let several = wanted == "multiclass" || data.classes.len() > 2;
    Ok(if several { data.classes.clone() } else { Vec::new() })
}

struct Statistics {
    mean: f64,
    var: f64,
}

fn statistics(y: &[f64], is_used: impl Fn(usize) -> bool) -> Statistics {
    let rows = || (0..y.len()).filter(|row| is_used(*row));
    let count = rows().count() as f64;
    let mean = rows().map(|row| y[row]).sum::<f64>() / count;
    Statistics { mean, var: rows().map(|row| (y[row] - mean) * (y[row] - mean)).sum::<f64>() / count }
}

/// The value of each category from the rows that are used: equations 5 and 6 of the paper, or 7 with a given `smooth`.
fn encode(
    smooth: Option<f64>,
    codes: &[u32],
    categories: usize,
    y: &[f64],
    all: &Statistics,
    is_used: impl Fn(usize) -> bool,
) -> Vec<f64> {
    let start = smooth.unwrap_or(0.0);
    let mut counts = vec![start; categories];
    let mut sums = vec![start * all.mean; categories];
    for (row, code) in codes.iter().enumerate() {
        if *code != UNKNOWN && is_used(row) {
            counts[*code as usize] += 1.0;
            sums[*code as usize] += y[row];
        }
    }
    let means = || sums.iter().zip(&counts).map(|(s, n)| s / n);
    if smooth.is_some() {
        return means().zip(&counts).map(|(mean, n)| if *n == 0.0 { all.mean } else { mean }).collect();
    }
    let means: Vec<f64> = means().collect();
    let mut squares = vec![0.0; categories];
    for (row, code) in codes.iter().enumerate() {
        if *code != UNKNOWN && is_used(row) {
            let difference = y[row] - means[*code as usize];
            squares[*code as usize] += difference * difference;
        }
    }
    let value = |c: usize| {
        let between = all.var * counts[c];
        let share = between / (between + squares[c] / counts[c]);
        // NaN: no rows, or a constant target.
        if share.is_nan() { all.mean } else { share * means[c] + (1.0 - share) * all.mean }
    };
    (0..categories).map(value).collect()
}

/// The fold of each row: `KFold` or `StratifiedKFold` of scikit-learn, shuffled.
fn folds_of_rows(params: &params::TargetEncoder, data: &Data, folds: usize) -> Result<Vec<u32>, Error> {
    if folds > data.rows {
        let message = format!("`cv` is {folds}, but there are {} rows: at most one fold for each row", data.rows);
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let mut random = Mt19937::new(params::seed(params.random_state));
    let mut fold_of = vec![0u32; data.rows];
    if data.classes.is_empty() || params.target_type == "continuous" {
        let order = random.permutation(data.rows);
        let (size, larger) = (data.rows / folds, data.rows % folds);
        let mut start = 0;
        for fold in 0..folds {
            let end = start + size + usize::from(fold < larger);
            order[start..end].iter().for_each(|row| fold_of[*row] = fold as u32);
            start = end;
        }
        return Ok(fold_of);
    }
    // Classes in the order of their first rows, as `StratifiedKFold` numbers them.
    let mut order: Vec<usize> = Vec::new();
    let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); data.classes.len()];
    for (row, y) in data.y.iter().enumerate() {
        let class = *y as usize;
        if rows_of[class].is_empty() {
            order.push(class);
        }
        rows_of[class].push(row);
    }
    let largest = rows_of.iter().map(Vec::len).max().unwrap_or(0);
    if folds > largest {
        let message =
            format!("`cv` is {folds}, but no class has more than {largest} rows: at least one row for each fold");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let mut start = 0;
    for class in order {
        let rows = &rows_of[class];
        // Rows sorted by class are dealt out in turn; this is how many of the class each fold gets.
        let mut dealt = vec![0usize; folds];
        (start..start + rows.len()).for_each(|place| dealt[place % folds] += 1);
        let mut list: Vec<u32> = (0..folds).flat_map(|fold| vec![fold as u32; dealt[fold]]).collect();
        random.shuffle(&mut list);
        rows.iter().zip(list).for_each(|(row, fold)| fold_of[*row] = fold);
        start += rows.len();
    }
    Ok(fold_of)
}

impl TargetEncoder {
    fn columns(&self) -> usize {
        self.classes.len().max(1)
    }
}

impl Model for TargetEncoder {
    fn outputs(&self, features: &[Field]) -> Vec<Role> {
        let one = |f: &Field| vec![Role::Feature(f.name.clone(), Kind::Number)];
        let several = |f: &Field| {
            let name = |class: &String| Role::Feature(format!("{}_{class}", f.name), Kind::Number);
            self.classes.iter().map(name).collect()
        };
        features.iter().flat_map(|f| if self.classes.is_empty() { one(f) } else { several(f) }).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        Ok(outputs(wanted, |k| {
            let (j, class) = (k / self.columns(), k % self.columns());
            let levels = &self.features[j];
            let values = &self.encodings[j].data[class * levels.len()..(class + 1) * levels.len()];
            let mean = self.means.data[class];
            let positions = levels.positions(&data.features[j].values);
            positions.iter().map(|p| values.get(*p as usize).copied().unwrap_or(mean)).collect()
        }))
    }

    fn attribute(&self, name: &str, features: &[Field], _: &[String]) -> Option<Attribute> {
        let names: Vec<Vec<String>> = self.features.iter().map(|f| f.names.clone()).collect();
        let categories = long(features, &names, "category", |all| Values::Strs(all.into_iter().cloned().collect()));
        let title = |class: &String| format!("encoding_{class}");
        match (name, categories) {
            ("categories", categories) => Some(categories),
            ("encodings", Attribute::Frame(mut columns)) => {
                for class in 0..self.columns() {
                    let of = |(e, f): (&Tensor, &Levels)| e.data[class * f.len()..(class + 1) * f.len()].to_vec();
                    let values = self.encodings.iter().zip(&self.features).flat_map(of).collect();
                    let title = self.classes.get(class).map_or("encoding".to_string(), title);
                    columns.push((title, Values::Floats(values)));
                }
                Some(Attribute::Frame(columns))
            }
            ("target_mean", _) => {
                let mean = ("target_mean".to_string(), Values::Floats(self.means.data.clone()));
                let classes = ("class".to_string(), Values::Strs(self.classes.clone()));
                Some(Attribute::Frame(if self.classes.is_empty() { vec![mean] } else { vec![classes, mean] }))
            }
            _ => None,
        }
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, _: usize) -> Result<(), Error> {
        let fits = self.features.len() == features
            && self.encodings.len() == features
            && self.means.data.len() == self.columns()
            && self.encodings.iter().zip(&self.features).all(|(e, f)| e.data.len() == f.len() * self.columns());
        if !fits {
            return Err(lying(format!("the encodings do not fit {features} features")));
        }
        self.features.iter().try_for_each(Levels::check)
    }

    fn bytes(&self) -> u64 {
        self.encodings.iter().map(Tensor::bytes).sum::<u64>() + self.features.iter().map(Levels::bytes).sum::<u64>()
    }
}
