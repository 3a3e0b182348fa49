//! Evaluations of a fitted model on rows with their target, as frames: the tables and curves of `sklearn.metrics` and
//! `sklearn.inspection`.

use onrush_wire::Value;
use onrush_wire::learn::Evaluation;
use rayon::prelude::*;

use super::score::{self, Answers};
use crate::check::nearest;
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::estimators::FittedModel;
use crate::metrics::classification::Average;
use crate::metrics::ranking::{PrecisionRecallCurve, RocCurve, calibration_curve};
use crate::metrics::{average, regression};
use crate::model::{Attribute, Role, Values};
use crate::random::Mt19937;
use crate::run::Run;

/// Bins of a calibration curve up to which a request is sensible.
const MOST_BINS: usize = 100_000;

/// An evaluation of a model on rows.
///
/// Rows count with their weights. Undefined scores are NaN.
/// - Report of classes: class, precision, recall, f1_score, support for each class, then `accuracy` (in each column),
///   `macro avg`, `weighted avg`.
/// - Report of numbers: metric, value, with a row for r2 and for each error.
/// - Confusion matrix: actual, predicted, count for all pairs of classes.
/// - ROC and precision-recall: a row for each threshold. Without `class`, two classes give the curve of the second one.
///   More classes give a curve for each, with its name in a column `class`.
/// - Calibration: prob_pred, prob_true, count for each bin of equal width that has rows.
/// - Permutation importance: feature, importance_mean, importance_std. The permutations are those of scikit-learn for
///   the same seed.
/// - Decision: a column of scores for two classes, else one for each class.
/// - Inverse: the features from the outputs of a transformer. `data` has the outputs.
/// - Partial dependence: a value of the feature, and the mean prediction. Classes have the mean probability of the
///   second of two, or of each class.
///
/// # Errors
/// If the evaluation does not fit the model, or a feature or a class is not there. If the user stops the work.
pub fn evaluate(fitted: &FittedModel, data: &Data, what: &Evaluation, run: &Run<'_>) -> Result<Attribute, Error> {
    match what {
        Evaluation::Score(scorer) => {
            let name = scorer.as_deref().unwrap_or("");
            let shown = if name.is_empty() { score::default_scorer(!fitted.classes.is_empty()) } else { name };
            let value = score::score(name, fitted, data)?;
            Ok(Attribute::Frame(vec![floats(shown, vec![value])]))
        }
        Evaluation::Report if fitted.classes.is_empty() => numbers_report(&answers(fitted, data, false)?),
        Evaluation::Report => classes_report(&classified(fitted, data, "a report", false)?),
        Evaluation::ConfusionMatrix => {
            let answers = classified(fitted, data, "a confusion matrix", false)?;
            let counts = answers.confusion("a confusion matrix")?.counts;
            let n = answers.classes.len();
            let name = |of: fn(usize, usize) -> usize| (0..n * n).map(|i| answers.classes[of(i, n)].clone()).collect();
            let counts = match answers.weight() {
                None => Values::Ints(counts.iter().map(|c| *c as i64).collect()),
                Some(_) => Values::Floats(counts),
            };
            Ok(Attribute::Frame(vec![
                ("actual".to_string(), Values::Strs(name(|i, n| i / n))),
                ("predicted".to_string(), Values::Strs(name(|i, n| i % n))),
                ("count".to_string(), counts),
            ]))
        }
        Evaluation::Roc { class } => curves(fitted, data, class.as_ref(), "an ROC curve", |positive, p, weight| {
            let curve = RocCurve::new(positive, p, weight, true);
            vec![("fpr", curve.fpr), ("tpr", curve.tpr), ("threshold", curve.thresholds)]
        }),
        Evaluation::PrecisionRecall { class } => {
            curves(fitted, data, class.as_ref(), "a precision-recall curve", |positive, p, weight| {
                let mut curve = PrecisionRecallCurve::new(positive, p, weight);
                // The last point has no threshold.
                curve.thresholds.push(f64::NAN);
                vec![("recall", curve.recall), ("precision", curve.precision), ("threshold", curve.thresholds)]
            })
        }
        Evaluation::Calibration { class, bins } => {
            if *bins == 0 || *bins > MOST_BINS {
                return Err(Error::new(ErrorKind::Parameter, format!("`bins` is {bins}: from 1 to {MOST_BINS}")));
            }
            curves(fitted, data, class.as_ref(), "a calibration curve", |positive, p, weight| {
                let made = calibration_curve(positive, p, weight, *bins);
                vec![
                    ("prob_pred", made.iter().map(|bin| bin.prob_pred).collect()),
                    ("prob_true", made.iter().map(|bin| bin.prob_true).collect()),
                    ("count", made.iter().map(|bin| bin.count).collect()),
                ]
            })
        }
        Evaluation::PermutationImportance { n_repeats, scoring, random_state } => {
            importance(fitted, data, *n_repeats, scoring.as_deref().unwrap_or(""), *random_state, run)
        }
        Evaluation::PartialDependence { feature, grid } => partial_dependence(fitted, data, feature, *grid, run),
        Evaluation::Decision => {
            let scores = fitted.decision_function(data)?;
            let names: Vec<String> = match scores.len() {
                1 => vec!["decision".to_string()],
                n if n == fitted.classes.len() => fitted.classes.iter().map(|c| format!("decision_{c}")).collect(),
                n => (0..n).map(|k| format!("decision_{k}")).collect(),
            };
            Ok(Attribute::Frame(names.into_iter().zip(scores.into_iter().map(Values::Floats)).collect()))
        }
        Evaluation::Inverse => {
            let columns = fitted.inverse(data)?.into_iter().map(|column| match &column.kind {
                Kind::Number | Kind::Text => (column.name, Values::Floats(column.values)),
                Kind::Category(names) => {
                    let name = |v: &f64| if v.is_nan() { None } else { names.get(*v as usize).cloned() };
                    (column.name.clone(), Values::Nullable(column.values.iter().map(name).collect()))
                }
            });
            Ok(Attribute::Frame(columns.collect()))
        }
        Evaluation::Kneighbors { n_neighbors, radius } => {
            let found = fitted.kneighbors(data, *n_neighbors, *radius, &Run::silent())?;
            let integers = |values: Vec<usize>| Values::Ints(values.into_iter().map(|v| v as i64).collect());
            Ok(Attribute::Frame(vec![
                ("row".to_string(), integers(found.rows)),
                ("neighbor".to_string(), integers(found.neighbors)),
                ("distance".to_string(), Values::Floats(found.distances)),
            ]))
        }
    }
}

fn floats(name: &str, values: Vec<f64>) -> (String, Values) {
    (name.to_string(), Values::Floats(values))
}

fn answers<'a>(fitted: &'a FittedModel, data: &'a Data, with_proba: bool) -> Result<Answers<'a>, Error> {
    Answers::with(fitted, data, with_proba, !fitted.classes.is_empty())
}

fn classified<'a>(fitted: &'a FittedModel, data: &'a Data, what: &str, with_proba: bool) -> Result<Answers<'a>, Error> {
    let estimator = &fitted.spec.estimator;
    if fitted.classes.is_empty() {
        return Err(Error::new(ErrorKind::Evaluation, format!("{what} needs classes, and {estimator} has none")));
    }
    let answers = answers(fitted, data, with_proba)?;
    if with_proba && answers.proba.len() < 2 {
        let message = format!("{what} needs probabilities, and {estimator} predicts none");
        return Err(Error::new(ErrorKind::Evaluation, message));
    }
    Ok(answers)
}

fn numbers_report(answers: &Answers<'_>) -> Result<Attribute, Error> {
    let (y, q, w) = (&answers.y, &answers.predicted, answers.weight());
    if y.len() != q.len() {
        return Err(Error::new(ErrorKind::Evaluation, "a report needs a target, and these rows have none"));
    }
    let rows = [
        ("r2", regression::r2(y, q, w)),
        ("explained_variance", regression::explained_variance(y, q, w)),
        ("root_mean_squared_error", regression::root_mean_squared_error(y, q, w)),
        ("mean_absolute_error", regression::mean_absolute_error(y, q, w)),
        ("median_absolute_error", regression::median_absolute_error(y, q, w)),
        ("mean_absolute_percentage_error", regression::mean_absolute_percentage_error(y, q, w)),
        ("max_error", regression::max_error(y, q)),
    ];
    let names = rows.iter().map(|(name, _)| name.to_string()).collect();
    Ok(Attribute::Frame(vec![
        ("metric".to_string(), Values::Strs(names)),
        floats("value", rows.iter().map(|(_, value)| *value).collect()),
    ]))
}

fn classes_report(answers: &Answers<'_>) -> Result<Attribute, Error> {
    let c = answers.confusion("a report")?;
    let mut names = answers.classes.clone();
    names.extend(["accuracy", "macro avg", "weighted avg"].map(String::from));
    let rows = |each: Vec<f64>, of: &dyn Fn(Average) -> f64| {
        [each, vec![c.accuracy(), of(Average::Macro), of(Average::Weighted)]].concat()
    };
    let support: Vec<f64> = (0..c.classes).map(|k| c.of_class(k)).collect();
    Ok(Attribute::Frame(vec![
        ("class".to_string(), Values::Strs(names)),
        floats("precision", rows(c.precisions(), &|a| c.precision(a))),
        floats("recall", rows(c.recalls(), &|a| c.recall(a))),
        floats("f1_score", rows(c.fbetas(1.0), &|a| c.fbeta(1.0, a))),
        floats("support", rows_of_support(support, c.total())),
    ]))
}

fn rows_of_support(mut support: Vec<f64>, total: f64) -> Vec<f64> {
    support.extend([total; 3]);
    support
}

/// A class as the string that [`Data::classes`] has for it.
fn class_name(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Boolean(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::Float32(value) => value.to_string(),
        other => format!("{other:?}"),
    }
}

/// The position of a class.
///
/// # Errors
/// If it is not there.
pub(super) fn position_of_class(known: &[String], value: &Value) -> Result<usize, Error> {
    let name = class_name(value);
    known.iter().position(|k| *k == name).ok_or_else(|| {
        let message = format!("there is no class `{name}`: the classes are {}", known.join(", "));
        Error::new(ErrorKind::Evaluation, message)
    })
}

type Columns = Vec<(&'static str, Vec<f64>)>;

/// Columns that are computed of rows that are positive or not and of their probabilities, for one class or for each.
fn curves(
    fitted: &FittedModel,
    data: &Data,
    class: Option<&Value>,
    what: &str,
    make: impl Fn(&[bool], &[f64], Option<&[f64]>) -> Columns,
) -> Result<Attribute, Error> {
    let answers = classified(fitted, data, what, true)?;
    let known = &fitted.classes;
    let of = |k: usize| {
        let positive: Vec<bool> = answers.y.iter().map(|v| *v as usize == k).collect();
        make(&positive, &answers.proba[k], answers.weight())
    };
    let single = match class {
        Some(value) => Some(position_of_class(known, value)?),
        None => (answers.proba.len() == 2).then_some(1),
    };
    if let Some(class) = single.filter(|k| *k < answers.proba.len()) {
        return Ok(Attribute::Frame(of(class).into_iter().map(|(name, values)| floats(name, values)).collect()));
    }
    let (mut names, mut columns): (Vec<String>, Columns) = (Vec::new(), Vec::new());
    for (k, name) in known.iter().enumerate().take(answers.proba.len()) {
        let made = of(k);
        names.extend(std::iter::repeat_n(name.clone(), made.first().map_or(0, |c| c.1.len())));
        match columns.is_empty() {
            true => columns = made,
            false => columns.iter_mut().zip(made).for_each(|(all, (_, more))| all.1.extend(more)),
        }
    }
    let mut frame = vec![("class".to_string(), Values::Strs(names))];
    frame.extend(columns.into_iter().map(|(name, values)| floats(name, values)));
    Ok(Attribute::Frame(frame))
}

/// How much a score falls when the values of a feature are shuffled: `sklearn.inspection.permutation_importance`.
fn importance(
    fitted: &FittedModel,
    data: &Data,
    repeats: usize,
    scorer: &str,
    seed: u32,
    run: &Run<'_>,
) -> Result<Attribute, Error> {
    if repeats == 0 {
        return Err(Error::new(ErrorKind::Parameter, "`n_repeats` is 0: at least 1"));
    }
    let data = fitted.aligned(data)?;
    let base = score::score(scorer, fitted, &data)?;
    // One seed for all features: each is shuffled in the same ways.
    let seed = Mt19937::new(seed).randint(0, 1 << 31) as u32;
    let of_feature = |j: usize| -> Result<Vec<f64>, Error> {
        let mut random = Mt19937::new(seed);
        let mut order: Vec<usize> = (0..data.rows).collect();
        let mut shuffled = data.clone();
        let mut drops = Vec::new();
        for repeat in 0..repeats {
            run.check(|| format!("{repeat} of {repeats} repeats of `{}`", data.features[j].name))?;
            random.shuffle(&mut order);
            // scikit-learn shuffles the column that it shuffled before.
            let before = shuffled.features[j].values.clone();
            order.iter().zip(&mut shuffled.features[j].values).for_each(|(from, to)| *to = before[*from]);
            drops.push(base - score::score(scorer, fitted, &shuffled)?);
        }
        Ok(drops)
    };
    // A few copies of the rows at a time.
    let mut drops: Vec<Vec<f64>> = Vec::new();
    let features: Vec<usize> = (0..data.width()).collect();
    for wave in features.chunks(rayon::current_num_threads()) {
        let made: Vec<Result<Vec<f64>, Error>> = wave.par_iter().map(|j| of_feature(*j)).collect();
        for result in made {
            drops.push(result?);
        }
    }
    let n = repeats as f64;
    let means: Vec<f64> = drops.iter().map(|d| d.iter().sum::<f64>() / n).collect();
    let spread = |(d, mean): (&Vec<f64>, &f64)| (d.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt();
    let stds = drops.iter().zip(&means).map(spread).collect();
    Ok(Attribute::Frame(vec![
        ("feature".to_string(), Values::Strs(fitted.features.iter().map(|f| f.name.clone()).collect())),
        floats("importance_mean", means),
        floats("importance_std", stds),
    ]))
}

/// Mean predictions with a feature set to values of a grid: `sklearn.inspection.partial_dependence`, method `brute`.
fn partial_dependence(
    fitted: &FittedModel,
    data: &Data,
    feature: &str,
    grid: usize,
    run: &Run<'_>,
) -> Result<Attribute, Error> {
    if grid < 2 {
        return Err(Error::new(ErrorKind::Parameter, format!("`grid` is {grid}: at least 2")));
    }
    let data = fitted.aligned(data)?;
    let Some(position) = fitted.features.iter().position(|f| f.name == feature) else {
        let names: Vec<&str> = fitted.features.iter().map(|f| f.name.as_str()).collect();
        let error = Error::new(ErrorKind::UnknownColumn, format!("the model was not trained on a feature `{feature}`"));
        return Err(match nearest(feature, &names) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("its features are {}", names.join(", "))),
        });
    };
    let column = &data.features[position];
    let values = grid_of(&column.values, column.kind != Kind::Number, grid);
    if values.is_empty() {
        return Err(Error::new(ErrorKind::NoRows, format!("`{feature}` has no values in these rows")));
    }
    let outputs = fitted.outputs();
    let named: Vec<usize> = match fitted.classes.is_empty() {
        true => (0..outputs.len()).filter(|i| outputs[*i].1 == Role::Prediction).collect(),
        false => (0..outputs.len()).filter(|i| matches!(outputs[*i].1, Role::Proba(_))).collect(),
    };
    let wanted = if fitted.classes.len() == 2 && named.len() == 2 { vec![named[1]] } else { named };
    if wanted.is_empty() {
        let message = format!("{} predicts neither numbers nor probabilities", fitted.spec.estimator);
        return Err(Error::new(ErrorKind::Evaluation, message));
    }
    let mut changed = data.clone();
    let mut means = vec![Vec::with_capacity(values.len()); wanted.len()];
    for (done, value) in values.iter().enumerate() {
        run.check(|| format!("{done} of {} values", values.len()))?;
        changed.features[position].values.fill(*value);
        for (mean, column) in means.iter_mut().zip(fitted.apply(&changed, &wanted)?) {
            mean.push(average(column.len(), data.weight.as_deref(), |row| column[row]));
        }
    }
    let shown = match &data.features[position].kind {
        Kind::Number | Kind::Text => Values::Floats(values),
        Kind::Category(names) => {
            let name = |v: &f64| names.get(*v as usize).cloned().unwrap_or_default();
            Values::Strs(values.iter().map(name).collect())
        }
    };
    let mut frame = vec![(feature.to_string(), shown)];
    frame.extend(wanted.iter().zip(means).map(|(i, mean)| floats(&outputs[*i].0, mean)));
    Ok(Attribute::Frame(frame))
}

/// All values of a category or of a column with few of them, else numbers in equal steps between the quantiles 0.05
/// and 0.95 (`scipy.stats.mstats.mquantiles`). Missing values are left out.
fn grid_of(values: &[f64], is_category: bool, grid: usize) -> Vec<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    let quantile = |p: f64| {
        let n = sorted.len() as f64;
        let place = n * p + 0.4 + p * 0.2;
        let below = place.clamp(1.0, (n - 1.0).max(1.0)).floor();
        let share = (place - below).clamp(0.0, 1.0);
        let at = below as usize;
        (1.0 - share) * sorted[at - 1] + share * sorted[at.min(sorted.len() - 1)]
    };
    let mut distinct = sorted.clone();
    distinct.dedup();
    if is_category || distinct.len() < grid {
        return distinct;
    }
    let (low, high) = (quantile(0.05), quantile(0.95));
    if low == high {
        return distinct;
    }
    let step = (high - low) / (grid - 1) as f64;
    (0..grid).map(|i| if i + 1 == grid { high } else { low + i as f64 * step }).collect()
}
