//! Whether parameters and data are what an estimator takes, before a row is looked at.

use std::borrow::Cow;

use onrush_wire::learn::{Check, EstimatorInfo, EstimatorKind, Param, ParamInfo, ParamType, Spec, info};
use rayon::prelude::*;

use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};

/// Checks names, types and ranges of all parameters of a specification, and of those inside it.
///
/// # Errors
/// Names the parameter, what it is and what it may be.
pub fn spec(spec: &Spec) -> Result<(), Error> {
    let info = info(&spec.estimator)
        .ok_or_else(|| Error::new(ErrorKind::Estimator, format!("there is no estimator `{}`", spec.estimator)))?;
    for (name, value) in &spec.params {
        let Some(known) = info.param(name) else {
            let names: Vec<&str> = info.params.iter().map(|p| p.name).collect();
            let error = Error::new(ErrorKind::Parameter, format!("`{}` has no parameter `{name}`", spec.estimator));
            return Err(match nearest(name, &names) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(format!("its parameters are {}", names.join(", "))),
            });
        };
        param(known, value)?;
    }
    parts(spec)?;
    let inside = spec.parts.iter().filter(|part| !is_passthrough_or_drop(&part.spec));
    inside.map(|part| &part.spec).try_for_each(self::spec)
}

/// Whether the estimator is one of the words `passthrough` and `drop`.
pub(crate) fn is_passthrough_or_drop(spec: &Spec) -> bool {
    matches!(spec.estimator.as_str(), "passthrough" | "drop")
}

/// Checks that steps have no weight, features or groups: nothing would look at them.
fn parts(spec: &Spec) -> Result<(), Error> {
    const SEVERAL: [&str; 7] = [
        "Pipeline",
        "ColumnTransformer",
        "FeatureUnion",
        "VotingClassifier",
        "VotingRegressor",
        "StackingClassifier",
        "StackingRegressor",
    ];
    if !SEVERAL.contains(&spec.estimator.as_str()) {
        return Ok(());
    }
    let whole = if spec.estimator == "Pipeline" { "the pipeline" } else { spec.estimator.as_str() };
    for part in &spec.parts {
        let set = [
            ("sample_weight", part.spec.weight.is_some()),
            ("features", part.spec.features.is_some()),
            ("groups", part.spec.groups.is_some()),
        ];
        if let Some((method, _)) = set.iter().find(|(_, is_set)| *is_set) {
            let message = format!("`{method}` of step `{}` has no effect: set it on {whole}", part.name);
            return Err(Error::new(ErrorKind::Parameter, message));
        }
    }
    Ok(())
}

/// `1 null in 2 rows`.
pub(crate) fn nulls(missing: usize, rows: usize) -> String {
    format!("{} in {}", plural(missing, "null"), plural(rows, "row"))
}

/// `1 row`, `2 rows`, `2 classes`.
pub fn plural(count: usize, what: &str) -> String {
    let end = if count == 1 {
        ""
    } else if what.ends_with('s') {
        "es"
    } else {
        "s"
    };
    format!("{count} {what}{end}")
}

/// The closest of several names, if one is close.
pub fn nearest<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let best = names.iter().map(|n| (strsim::damerau_levenshtein(name, n), *n)).min()?;
    (best.0 <= 1 + name.chars().count() / 4).then_some(best.1)
}

fn param(info: &ParamInfo, value: &Param) -> Result<(), Error> {
    let name = info.name;
    let wrong = |wanted: &str| {
        let shown = match value {
            Param::Str(text) => format!("{text:?}"),
            other => other.to_string(),
        };
        Err(Error::new(ErrorKind::Parameter, format!("`{name}` is {shown}: {wanted}")))
    };
    if value == &info.default {
        return Ok(());
    }
    match (info.dtype, value) {
        (ParamType::Float, Param::Float(v)) if v.is_nan() => return wrong("expected a number"),
        (ParamType::Float, Param::Float(_) | Param::Int(_))
        | (ParamType::Int, Param::Int(_))
        | (ParamType::Bool, Param::Bool(_))
        | (ParamType::Str, Param::Str(_))
        | (ParamType::Floats | ParamType::Strs, Param::List(_))
        | (ParamType::Any, _) => {}
        (ParamType::Float, _) => return wrong("expected a number"),
        (ParamType::Int, _) => return wrong("expected an integer"),
        (ParamType::Bool, _) => return wrong("expected `true` or `false`"),
        (ParamType::Str, _) => return wrong("expected a string"),
        (ParamType::Floats, _) => return wrong("expected a list of numbers"),
        (ParamType::Strs, _) => return wrong("expected a list of strings"),
    }
    let each = |test: &dyn Fn(f64) -> bool| match value {
        Param::List(values) => values.iter().filter_map(Param::as_f64).all(test),
        value => value.as_f64().is_none_or(test),
    };
    match info.check {
        Check::AtLeast(low) if !each(&|v| v >= low) => wrong(&format!("at least {low}")),
        Check::Above(low) if !each(&|v| v > low) => wrong(&format!("above {low}")),
        Check::Within(low, high) if !each(&|v| v >= low && v <= high) => wrong(&format!("between {low} and {high}")),
        Check::OneOf(words) => match value {
            Param::Str(word) if !words.contains(&word.as_str()) => match nearest(word, words) {
                Some(near) => wrong(&format!("did you mean {near:?}?")),
                None => wrong(&format!("one of {}", words.join(", "))),
            },
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// Checks that an estimator can take these columns, and that there are enough rows.
///
/// # Errors
/// Names the column, how many of its values are at fault, and ways out.
pub fn data(spec: &Spec, data: &Data) -> Result<(), Error> {
    let info = info(&spec.estimator)
        .ok_or_else(|| Error::new(ErrorKind::Estimator, format!("there is no estimator `{}`", spec.estimator)))?;
    let estimator = &spec.estimator;
    if info.kind == EstimatorKind::Meta {
        return Ok(());
    }
    if data.rows == 0 {
        return Err(Error::new(ErrorKind::NoRows, format!("{estimator} got no rows")));
    }
    if data.total_width() == 0 {
        return Err(Error::new(ErrorKind::NoFeatures, format!("{estimator} got no features")));
    }
    if info.kind == EstimatorKind::Classifier && data.classes.len() < 2 {
        let class = data.classes.first().map_or("", String::as_str);
        let message = format!("`{}` has one class in these rows: `{class}`", data.target);
        return Err(Error::new(ErrorKind::OneClass, message));
    }
    features(spec, data)?;
    target(data)?;
    if let Some(weight) = &data.weight
        && let Some(bad) = weight.iter().find(|w| !(w.is_finite() && **w >= 0.0))
    {
        return Err(Error::new(ErrorKind::Weight, format!("a sample weight is {bad}: at least 0")));
    }
    Ok(())
}

/// Checks the target alone: every value is there and finite.
///
/// # Errors
/// Says how many values are not.
pub fn target(data: &Data) -> Result<(), Error> {
    let missing = data.y.iter().filter(|y| y.is_nan()).count();
    let infinite = data.y.iter().filter(|y| y.is_infinite()).count();
    let (rows, infinities) = (plural(data.rows, "row"), plural(infinite, "infinite value"));
    let (kind, found, help) = match (missing, infinite) {
        (0, 0) => return Ok(()),
        (0, _) => (ErrorKind::Infinite, infinities, "`filter` leaves these rows out"),
        (_, 0) => (ErrorKind::Nulls, plural(missing, "null"), "`drop_nulls()` leaves these rows out"),
        _ => {
            let found = format!("{} and {infinities}", plural(missing, "null"));
            (ErrorKind::Nulls, found, "`drop_nulls()` and `filter` leave these rows out")
        }
    };
    Err(Error::new(kind, format!("the target `{}` has {found} in {rows}", data.target)).help(help))
}

/// The rows as an estimator takes them: with dense columns unless it takes sparse ones, or has other estimators inside.
///
/// # Errors
/// If the dense columns have too many cells.
pub fn densified<'a>(spec: &Spec, data: &'a Data) -> Result<Cow<'a, Data>, Error> {
    let takes_sparse = |info: &EstimatorInfo| info.sparse || info.kind == EstimatorKind::Meta;
    match data.sparse.is_none() || info(&spec.estimator).is_some_and(takes_sparse) {
        true => Ok(Cow::Borrowed(data)),
        false => data.to_dense(&spec.estimator).map(Cow::Owned),
    }
}

/// The rows as a trained estimator takes them, checked.
///
/// # Errors
/// As [`densified`] and [`features`].
pub fn ready<'a>(spec: &Spec, data: &'a Data) -> Result<Cow<'a, Data>, Error> {
    let data = densified(spec, data)?;
    features(spec, &data)?;
    Ok(data)
}

/// Checks that a vectorizer gets one column of strings.
fn documents(estimator: &str, data: &Data) -> Result<(), Error> {
    let [column] = &data.features[..] else {
        let names = data.names();
        let shown = names.iter().take(8).cloned().collect::<Vec<String>>().join(", ");
        let more = if names.len() > 8 { ", ..." } else { "" };
        let message = format!("{estimator} takes one column of documents, and got {}: {shown}{more}", names.len());
        return Err(Error::new(ErrorKind::Strings, message).help("`.features(..)` chooses the column").help(format!(
            "or a `ColumnTransformer` gives each column a vectorizer: `.on([\"title\"], {estimator}::new())`"
        )));
    };
    match &column.kind {
        Kind::Category(_) => Ok(()),
        Kind::Number | Kind::Text => {
            let message = format!("`{}` holds numbers, and {estimator} takes strings", column.name);
            Err(Error::new(ErrorKind::TypeMismatch, message).help("choose a column of strings with `.features(..)`"))
        }
    }
}

/// Checks features alone: before training and before prediction.
///
/// # Errors
/// As [`data`].
pub fn features(spec: &Spec, data: &Data) -> Result<(), Error> {
    let Some(info) = info(&spec.estimator) else { return Ok(()) };
    if info.kind == EstimatorKind::Meta {
        return Ok(());
    }
    let estimator = &spec.estimator;
    if info.text {
        documents(estimator, data)?;
    }
    // In parallel, because on wide data a pass over the values takes as long as a cheap training.
    let faults: Vec<(Option<usize>, usize)> = data
        .features
        .par_iter()
        .map(|column| {
            let finite = column.values.iter().all(|v| v.is_finite());
            let infinite = || column.values.iter().position(|v| v.is_infinite());
            if finite { (None, 0) } else { (infinite(), column.missing()) }
        })
        .collect();
    for (column, (infinite, missing)) in data.features.iter().zip(faults) {
        let name = &column.name;
        if let (Kind::Category(names), false) = (&column.kind, info.categories || info.text) {
            let message =
                format!("`{name}` holds strings with {} different values, and {estimator} takes numbers", names.len());
            return Err(Error::new(ErrorKind::Strings, message)
                .help(format!("leave `{name}` out with `.features(..)`"))
                .help("or encode it with `OneHotEncoder` or `OrdinalEncoder` in a pipeline"));
        }
        if let Some(row) = infinite {
            return Err(Error::new(
                ErrorKind::Infinite,
                format!("`{name}` is infinite in row {row}, and {estimator} takes finite numbers"),
            )
            .help("filter the rows first, or replace the value"));
        }
        if missing > 0 && !info.missing {
            let message =
                format!("`{name}` has {}, and {estimator} takes no missing values", nulls(missing, data.rows));
            if info.text {
                return Err(Error::new(ErrorKind::Nulls, message)
                    .help("`fill_null(\"\")` makes empty documents of them, `drop_nulls()` leaves the rows out"));
            }
            return Err(Error::new(ErrorKind::Nulls, message)
                .help("`SimpleImputer` in a pipeline fills them, `drop_nulls()` leaves the rows out")
                .help(
                    "or take an estimator that learns from missing values: HistGradientBoosting*, RandomForest*, XGB*",
                ));
        }
    }
    Ok(())
}
