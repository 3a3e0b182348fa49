//! SHAP values of a fitted model: how each model is explained, of which output, and on which features.

use onrush_wire::Value;

use super::evaluate::position_of_class;
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::estimators::{Any, FittedModel};
use crate::explain::shape::without_covers;
use crate::explain::{Scale, ShapValues, linear, permutation};
use crate::model::{Attribute, Link, Role, Values};
use crate::random::Mt19937;
use crate::run::Run;

/// Background rows of the permutation explainer, if none are given.
const BACKGROUND: usize = 100;

/// How SHAP values are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct ShapOptions {
    /// The class to explain. `None`: the second of two classes, else all.
    pub class: Option<Value>,
    /// Calls of the model for each row, by the permutation explainer alone. `None`: 500.
    pub evaluations: Option<usize>,
    /// The seed of the permutations and of the background rows.
    pub random_state: u32,
}

/// SHAP values of rows with what they are about.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The features that were explained: those of the last step of a pipeline.
    pub data: Data,
    pub scale: Scale,
    /// The class of each output. Empty for a number.
    pub classes: Vec<String>,
    pub values: ShapValues,
}

/// The SHAP values of rows.
///
/// Trees are explained exactly, with the training rows as the background: forests by their probabilities, boosted trees
/// by their margins. Linear models are explained by their scores against the means of `background`, or of the rows. The
/// last step of a pipeline is explained on the columns that it gets. Other models are explained by permutations against
/// `background`, or up to 100 of the rows: by probabilities, scores or predictions.
///
/// # Errors
/// If a feature is missing, the model does not predict, or the class is not there. If the user stops the work.
pub fn shap(
    fitted: &FittedModel,
    data: &Data,
    background: Option<&Data>,
    options: &ShapOptions,
    run: &Run<'_>,
) -> Result<Explanation, Error> {
    let data = fitted.aligned(data)?;
    let background = background.map(|rows| fitted.aligned(rows)).transpose()?;
    if data.rows == 0 || background.as_ref().is_some_and(|rows| rows.rows == 0) {
        let what = if data.rows == 0 { "frame" } else { "background" };
        return Err(Error::new(ErrorKind::NoRows, format!("the {what} has no rows: SHAP values need at least one")));
    }
    run.stage("SHAP values");
    let made = match exact(fitted, &data, background.as_ref(), run)? {
        Some(made) => made,
        None => permuted(fitted, &data, background.as_ref(), options, run)?,
    };
    chosen(made, options.class.as_ref())
}

/// One class, if one is asked for.
fn chosen(made: Explanation, class: Option<&Value>) -> Result<Explanation, Error> {
    let wanted = match class {
        None => None,
        Some(value) if made.classes.is_empty() => {
            let message = format!("there is no class {value:?}: the model predicts numbers");
            return Err(Error::new(ErrorKind::Evaluation, message).help("leave `class` out"));
        }
        Some(value) => Some(position_of_class(&made.classes, value)?),
    };
    let Explanation { data, scale, classes, values } = made;
    Ok(match wanted {
        // The margin of the first of two classes is the negative one.
        Some(wanted) if values.base.len() == 1 && classes.len() == 2 => {
            let mut values = values;
            if wanted == 0 {
                values.base.iter_mut().for_each(|v| *v = -*v);
                values.values.iter_mut().flatten().flatten().for_each(|v| *v = -*v);
            }
            Explanation { data, scale, classes: vec![classes[wanted].clone()], values }
        }
        None if values.base.len() == 1 && classes.len() == 2 => {
            Explanation { data, scale, classes: vec![classes[1].clone()], values }
        }
        None if classes.len() == 2 => {
            Explanation { data, scale, classes: vec![classes[1].clone()], values: values.only(1) }
        }
        Some(wanted) => {
            Explanation { data, scale, classes: vec![classes[wanted].clone()], values: values.only(wanted) }
        }
        None => Explanation { data, scale, classes, values },
    })
}

/// Trees and linear models, alone or as the last step of a pipeline. `None`: another model. The rows have the features
/// of the model in its order.
fn exact(
    fitted: &FittedModel,
    data: &Data,
    background: Option<&Data>,
    run: &Run<'_>,
) -> Result<Option<Explanation>, Error> {
    let inner = match &fitted.model {
        Any::Search(search) => search.best.as_deref(),
        Any::Pipeline(pipeline) => pipeline.last(),
        _ => None,
    };
    if let Some(inner) = inner {
        let ready = |rows: &Data| -> Result<Data, Error> {
            let rows = match &fitted.model {
                Any::Pipeline(pipeline) => pipeline.before_last(rows)?.into_owned(),
                _ => rows.clone(),
            };
            rows.to_dense(&inner.spec.estimator)
        };
        // Without an exact explanation, the whole is explained on its own features.
        if !is_exact(inner) {
            return Ok(None);
        }
        return exact(inner, &ready(data)?, background.map(ready).transpose()?.as_ref(), run);
    }
    let model = fitted.model();
    let data = fitted.ready(data)?.to_dense(&fitted.spec.estimator)?;
    if let Some(shapes) = model.shapes(&data)? {
        let (scale, values) = (shapes.scale, shapes.explain(&data, run)?);
        drop(shapes);
        return Ok(Some(Explanation { data, scale, classes: fitted.classes.clone(), values }));
    }
    if matches!(&fitted.model, Any::Foreign(_)) {
        return Err(without_covers("XGBoost's linear booster and files without `sum_hessian` are not explained"));
    }
    if matches!(&fitted.model, Any::Library(library) if library.is_lightgbm()) {
        return Err(without_covers("train with LightGBM again: its text then has `leaf_count` and `internal_count`"));
    }
    let predicts = model.outputs(&fitted.features).contains(&Role::Prediction);
    let Some(scores) = model.linear().filter(|_| predicts) else { return Ok(None) };
    let scale = if scores.link == Link::Identity { Scale::Value } else { Scale::Margin };
    let background = match background {
        Some(rows) => Some(fitted.ready(rows)?.to_dense(&fitted.spec.estimator)?),
        None => None,
    };
    let values = {
        let rows = (&data, background.as_ref().unwrap_or(&data));
        linear::explain(&scores.coef, &scores.intercept, &scores.shift, rows)
    };
    Ok(Some(Explanation { data, scale, classes: fitted.classes.clone(), values }))
}

/// Whether a model is made of trees or linear, or a chain that ends with one.
fn is_exact(fitted: &FittedModel) -> bool {
    match &fitted.model {
        Any::Search(search) => search.best.as_deref().is_some_and(is_exact),
        Any::Pipeline(pipeline) => pipeline.last().is_some_and(is_exact),
        Any::Forest(_) | Any::BoostedTrees(_) | Any::GradientBoosted(_) | Any::Foreign(_) => true,
        Any::Library(library) => library.is_lightgbm(),
        _ => {
            let model = fitted.model();
            model.outputs(&fitted.features).contains(&Role::Prediction) && model.linear().is_some()
        }
    }
}

/// Any model, by permutations.
fn permuted(
    fitted: &FittedModel,
    data: &Data,
    background: Option<&Data>,
    options: &ShapOptions,
    run: &Run<'_>,
) -> Result<Explanation, Error> {
    let outputs = fitted.outputs();
    let of =
        |wanted: fn(&Role) -> bool| -> Vec<usize> { (0..outputs.len()).filter(|i| wanted(&outputs[*i].1)).collect() };
    let proba = of(|role| matches!(role, Role::Proba(_)));
    let (wanted, scale) = match fitted.classes.is_empty() {
        true => (of(|role| *role == Role::Prediction), Scale::Value),
        false if proba.is_empty() => (Vec::new(), Scale::Margin),
        false => (proba, Scale::Probability),
    };
    if wanted.is_empty() && scale == Scale::Value {
        let message = format!("{} predicts nothing that SHAP values could explain", fitted.spec.estimator);
        return Err(Error::new(ErrorKind::Evaluation, message).help("take a regressor or a classifier"));
    }
    let predict = |rows: &Data| match wanted.is_empty() {
        true => fitted.decision_function(rows),
        false => fitted.apply(rows, &wanted),
    };
    let data = data.to_dense(&fitted.spec.estimator)?;
    let background = match background {
        Some(rows) => rows.to_dense(&fitted.spec.estimator)?,
        None => sample(&data, options.random_state),
    };
    let evaluations = options.evaluations.unwrap_or(permutation::EVALUATIONS);
    let least = 2 * data.width() + 1;
    if evaluations < least && options.evaluations.is_some() {
        let message = format!("`max_evals` is {evaluations}: at least {least}, twice the number of features and 1");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    let budget = (evaluations, options.random_state);
    let values = permutation::explain(&predict, &data, &background, budget, run)?;
    let classes = &fitted.classes;
    if !classes.is_empty() && values.base.len() != classes.len() && !(values.base.len() == 1 && classes.len() == 2) {
        let message = format!("{} has scores of pairs of classes, which are not explained", fitted.spec.estimator);
        return Err(Error::new(ErrorKind::Evaluation, message).help("take an estimator with probabilities"));
    }
    Ok(Explanation { data, scale, classes: classes.clone(), values })
}

/// Up to 100 rows: `shap.sample`, which is `sklearn.utils.resample` without replacement.
fn sample(data: &Data, seed: u32) -> Data {
    if data.rows <= BACKGROUND {
        return data.clone();
    }
    let mut rows: Vec<usize> = (0..data.rows).collect();
    Mt19937::new(seed).shuffle(&mut rows);
    data.take(&rows[..BACKGROUND])
}

impl Explanation {
    /// Columns `base|scale|class` for each output, `shap|output|feature` for each output and feature, and
    /// `value|feature` with the values of the features. The separators are the first ones of a name.
    pub fn frame(self) -> Attribute {
        let rows = self.data.rows;
        let mut columns = Vec::new();
        for (k, base) in self.values.base.iter().enumerate() {
            let class = self.classes.get(k).map_or("", String::as_str);
            columns.push((format!("base|{}|{class}", self.scale.word()), Values::Floats(vec![*base; rows])));
        }
        for (k, output) in self.values.values.into_iter().enumerate() {
            for (feature, values) in self.data.features.iter().zip(output) {
                columns.push((format!("shap|{k}|{}", feature.name), Values::Floats(values)));
            }
        }
        for feature in self.data.features {
            let values = match feature.kind {
                Kind::Number | Kind::Text => Values::Floats(feature.values),
                Kind::Category(names) => {
                    let name = |v: &f64| if v.is_nan() { None } else { names.get(*v as usize).cloned() };
                    Values::Nullable(feature.values.iter().map(name).collect())
                }
            };
            columns.push((format!("value|{}", feature.name), values));
        }
        Attribute::Frame(columns)
    }
}
