//! Linear models by stochastic gradient descent: `SGDClassifier`, `SGDRegressor`, `Perceptron` and the
//! passive-aggressive models (`sklearn/linear_model/_stochastic_gradient.py`). A seed gives scikit-learn's order of
//! rows.

use onrush_wire::learn::{Param, Size};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::descent::{Descent, DescentLoss, DescentPlan, DescentRows, Schedule, Source, descend};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::linear::logistic::predicted;
use crate::linear::scores;
use crate::metrics::regression::r2;
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role, Values};
use crate::params;
use crate::random::Mt19937;
use crate::run::Run;
use crate::split::train_test_split_with;
use crate::tensor::Tensor;
use crate::weights;

/// How probabilities follow from scores.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Probabilities {
    None,
    /// The logistic function, divided by its sum over the classes.
    Logistic,
    /// Scores between -1 and 1, moved to 0 and 1, divided by their sum over the classes.
    Clipped,
}

/// A linear model.
#[derive(Serialize, Deserialize)]
pub struct Stochastic {
    /// Classes. 0 for a regressor.
    pub classes: usize,
    pub probabilities: Probabilities,
    /// Outputs x features. There is one output for two classes, that of the second one, else one for each class.
    pub coef: Tensor,
    /// For each output.
    pub intercept: Tensor,
    /// Passes of the output with the most of them.
    pub n_iter: u64,
    /// The number of the step after the last one.
    pub t: u64,
    /// For each output the objective after each pass, or the score of held-out rows.
    pub values: Vec<Tensor>,
    pub is_scored: bool,
    pub notes: Vec<String>,
}

/// The parameters of all estimators of this file.
struct Settings<'a> {
    plan: DescentPlan,
    early_stopping: bool,
    validation_fraction: f64,
    class_weight: &'a Param,
    random_state: Option<usize>,
    probabilities: Probabilities,
}

/// Gives the settings that all estimators of this file name in the same way.
macro_rules! plan {
    ($params:ident, $loss:expr, $schedule:expr, $eta0:expr, $average:expr) => {
        DescentPlan {
            loss: $loss,
            has_penalty: false,
            alpha: 1.0,
            l1_ratio: 0.0,
            has_intercept: $params.fit_intercept,
            intercept_decay: 1.0,
            max_iter: $params.max_iter,
            tol: tolerance($params.tol)?,
            shuffle: $params.shuffle,
            schedule: $schedule,
            eta0: $eta0,
            power: 0.5,
            patience: $params.n_iter_no_change,
            average: $average,
        }
    };
}

/// Gives the settings of an estimator.
macro_rules! settings {
    ($params:ident, $plan:expr, $class_weight:expr, $probabilities:expr) => {
        Settings {
            plan: $plan,
            early_stopping: $params.early_stopping,
            validation_fraction: $params.validation_fraction,
            class_weight: $class_weight,
            random_state: $params.random_state.into(),
            probabilities: $probabilities,
        }
    };
}

/// Trains `SGDClassifier`.
///
/// # Errors
/// As [`passive_regressor`].
pub fn classifier(params: &params::SGDClassifier, data: &Data, run: &Run<'_>) -> Result<Stochastic, Error> {
    let loss = loss(&params.loss, params.epsilon);
    let schedule = schedule(&params.learning_rate, &params.loss, "hinge", params.alpha)?;
    let plan = plan!(params, loss, schedule, params.eta0, average(&params.average)?);
    let plan = DescentPlan { power: params.power_t, ..penalised(plan, &params.penalty, params.alpha, params.l1_ratio) };
    let probabilities = match loss {
        DescentLoss::Log => Probabilities::Logistic,
        DescentLoss::ModifiedHuber => Probabilities::Clipped,
        _ => Probabilities::None,
    };
    fit(&settings!(params, plan, &params.class_weight, probabilities), data, run)
}

/// Trains `SGDRegressor`.
///
/// # Errors
/// As [`passive_regressor`].
pub fn regressor(params: &params::SGDRegressor, data: &Data, run: &Run<'_>) -> Result<Stochastic, Error> {
    let loss = loss(&params.loss, params.epsilon);
    let schedule = schedule(&params.learning_rate, &params.loss, "epsilon_insensitive", params.alpha)?;
    let plan = plan!(params, loss, schedule, params.eta0, average(&params.average)?);
    let plan = DescentPlan { power: params.power_t, ..penalised(plan, &params.penalty, params.alpha, params.l1_ratio) };
    fit(&settings!(params, plan, &Param::None, Probabilities::None), data, run)
}

/// Trains `Perceptron`.
///
/// # Errors
/// As [`passive_regressor`].
pub fn perceptron(params: &params::Perceptron, data: &Data, run: &Run<'_>) -> Result<Stochastic, Error> {
    let plan = plan!(params, DescentLoss::Hinge(0.0), Schedule::Constant, params.eta0, 0);
    let plan = penalised(plan, &params.penalty, params.alpha, params.l1_ratio);
    fit(&settings!(params, plan, &params.class_weight, Probabilities::None), data, run)
}

/// Trains `PassiveAggressiveClassifier`.
///
/// # Errors
/// As [`passive_regressor`].
pub fn passive_classifier(
    params: &params::PassiveAggressiveClassifier,
    data: &Data,
    run: &Run<'_>,
) -> Result<Stochastic, Error> {
    let schedule = if params.loss == "hinge" { Schedule::Pa1 } else { Schedule::Pa2 };
    let plan = plan!(params, DescentLoss::Hinge(1.0), schedule, params.c, average(&params.average)?);
    fit(&settings!(params, plan, &params.class_weight, Probabilities::None), data, run)
}

/// Trains `PassiveAggressiveRegressor`.
///
/// # Errors
/// If a parameter does not fit the others or the data, all weights are 0, or a coefficient overflows. If the user stops
/// the training.
pub fn passive_regressor(
    params: &params::PassiveAggressiveRegressor,
    data: &Data,
    run: &Run<'_>,
) -> Result<Stochastic, Error> {
    let schedule = if params.loss == "epsilon_insensitive" { Schedule::Pa1 } else { Schedule::Pa2 };
    let plan = plan!(params, DescentLoss::Insensitive(params.epsilon), schedule, params.c, average(&params.average)?);
    fit(&settings!(params, plan, &Param::None, Probabilities::None), data, run)
}

fn loss(name: &str, epsilon: f64) -> DescentLoss {
    match name {
        "log_loss" => DescentLoss::Log,
        "modified_huber" => DescentLoss::ModifiedHuber,
        "squared_hinge" => DescentLoss::SquaredHinge,
        "perceptron" => DescentLoss::Hinge(0.0),
        "squared_error" => DescentLoss::Squared,
        "huber" => DescentLoss::Huber(epsilon),
        "epsilon_insensitive" => DescentLoss::Insensitive(epsilon),
        "squared_epsilon_insensitive" => DescentLoss::SquaredInsensitive(epsilon),
        _ => DescentLoss::Hinge(1.0),
    }
}

/// The schedule, if it fits the loss.
fn schedule(name: &str, loss: &str, passive: &str, alpha: f64) -> Result<Schedule, Error> {
    if matches!(name, "pa1" | "pa2") && loss != passive {
        let message = format!("`learning_rate` is {name:?} and `loss` is {loss:?}: expected the loss {passive:?}");
        return Err(Error::new(ErrorKind::Parameter, message));
    }
    if name == "optimal" && alpha == 0.0 {
        let message =
            "`alpha` is 0 and `learning_rate` is \"optimal\", which divides by it: expected an `alpha` above 0";
        return Err(Error::new(ErrorKind::Parameter, message).help("or set `learning_rate(\"adaptive\")`"));
    }
    Ok(match name {
        "optimal" => Schedule::Optimal,
        "invscaling" => Schedule::InvScaling,
        "adaptive" => Schedule::Adaptive,
        "pa1" => Schedule::Pa1,
        "pa2" => Schedule::Pa2,
        _ => Schedule::Constant,
    })
}

fn penalised(plan: DescentPlan, penalty: &str, alpha: f64, l1_ratio: f64) -> DescentPlan {
    let l1_ratio = match penalty {
        "l1" => 1.0,
        "elasticnet" => l1_ratio,
        _ => 0.0,
    };
    DescentPlan { has_penalty: penalty != "none", alpha, l1_ratio, ..plan }
}

fn tolerance(tol: f64) -> Result<f64, Error> {
    match tol >= 0.0 || tol == f64::NEG_INFINITY {
        true => Ok(tol),
        false => {
            let message = format!("`tol` is {}: at least 0, or minus infinity", Param::Float(tol));
            Err(Error::new(ErrorKind::Parameter, message))
        }
    }
}

fn average(given: &Param) -> Result<usize, Error> {
    match given {
        Param::Bool(average) => Ok(usize::from(*average)),
        other => params::count(other).filter(|count| *count > 0).ok_or_else(|| {
            let message = format!("`average` is {other}: true, false, or an integer of at least 1");
            Error::new(ErrorKind::Parameter, message)
        }),
    }
}

/// Factors of the steps of an intercept: that of sparse rows is smaller, as in scikit-learn.
const SPARSE_INTERCEPT: f64 = 0.01;

/// The seeds of scikit-learn are below this number.
const SEEDS: u64 = 0x7fff_ffff;

fn fit(settings: &Settings<'_>, data: &Data, run: &Run<'_>) -> Result<Stochastic, Error> {
    let width = data.total_width();
    if data.rows > i32::MAX as usize {
        return Err(Error::new(ErrorKind::Size, format!("{} rows: at most 2^31 - 1", data.rows)));
    }
    if data.weight.as_ref().is_some_and(|w| w.iter().sum::<f64>() <= 0.0) {
        return Err(Error::new(ErrorKind::Weight, "the sample weights are all 0: expected at least one above 0"));
    }
    let by_class = weights::of_classes(settings.class_weight, data)?;
    let class_weight = |class: usize| by_class.as_ref().map_or(1.0, |w| w[class]);
    let seed = params::seed(settings.random_state);
    let held = held_out(settings, data, seed)?;
    let source = match &data.sparse {
        Some(sparse) => Source::Mixed(data.row_major(), sparse),
        None => Source::Dense(data.row_major()),
    };
    let mut plan = settings.plan;
    plan.intercept_decay = if data.sparse.is_some() { SPARSE_INTERCEPT } else { 1.0 };
    let one = |y: &[f64], sides: (f64, f64), seed: u32, name: &str| {
        let weight = data.weight.as_deref();
        let rows = DescentRows { source: &source, width, y, weight, sides, held: &held };
        let is_classifier = !data.classes.is_empty();
        let score = |coef: &[f64], intercept: f64| score(&rows, is_classifier, coef, intercept);
        descend(&plan, &rows, seed, &score, name, run)
    };
    let target = |class: usize| -> Vec<f64> {
        let other = if plan.loss == DescentLoss::Log { 0.0 } else { -1.0 };
        data.y.iter().map(|y| if *y as usize == class { 1.0 } else { other }).collect()
    };
    let mut random = Mt19937::new(seed);
    let ends = match data.classes.len() {
        0 => vec![one(&data.y, (1.0, 1.0), random.randint(0, SEEDS) as u32, "")?],
        2 => {
            // scikit-learn seeds its rows first.
            let seed = inner_seed(&mut random);
            vec![one(&target(1), (class_weight(1), class_weight(0)), seed, "")?]
        }
        classes => {
            let seeds: Vec<u32> = (0..classes).map(|_| random.randint(0, SEEDS) as u32).collect();
            let work = |class: usize| {
                let seed = inner_seed(&mut Mt19937::new(seeds[class]));
                let name = format!("class {}, ", data.classes[class]);
                one(&target(class), (class_weight(class), 1.0), seed, &name)
            };
            (0..classes).into_par_iter().map(work).collect::<Result<Vec<Descent>, Error>>()?
        }
    };
    Ok(model(settings, data, ends))
}

/// The seed of the order of rows: the second number of a generator, whose first one scikit-learn does not use.
fn inner_seed(random: &mut Mt19937) -> u32 {
    random.randint(1, SEEDS);
    random.randint(0, SEEDS) as u32
}

fn model(settings: &Settings<'_>, data: &Data, ends: Vec<Descent>) -> Stochastic {
    let (plan, width) = (&settings.plan, data.total_width());
    let n_iter = ends.iter().map(|end| end.values.len()).max().unwrap_or(0);
    let steps = (n_iter * data.rows) as f64;
    let outputs = ends.len();
    let (mut coef, mut intercept, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for end in ends {
        let (w, b) = match end.average {
            Some(average) if plan.average as f64 <= steps => average,
            _ => (end.coef, end.intercept),
        };
        coef.extend(w);
        intercept.push(b);
        values.push(Tensor::vector(end.values));
    }
    let unfinished = plan.tol > f64::NEG_INFINITY && n_iter == plan.max_iter;
    Stochastic {
        classes: data.classes.len(),
        probabilities: settings.probabilities,
        coef: Tensor::new(vec![outputs, width], coef),
        intercept: Tensor::vector(intercept),
        n_iter: n_iter as u64,
        t: 1 + (n_iter * data.rows) as u64,
        values,
        is_scored: settings.early_stopping,
        notes: match unfinished {
            true => vec![format!("stopped after {n_iter} of {n_iter} passes before convergence; raise `max_iter`")],
            false => Vec::new(),
        },
    }
}

/// For each row whether early stopping holds it out. Empty without early stopping.
fn held_out(settings: &Settings<'_>, data: &Data, seed: u32) -> Result<Vec<bool>, Error> {
    if !settings.early_stopping {
        return Ok(Vec::new());
    }
    let share = settings.validation_fraction;
    let test = (share * data.rows as f64).ceil();
    if test < 1.0 || share >= 1.0 || test >= data.rows as f64 {
        let message = format!("early stopping holds out {test} of {} rows: at least 1, and not all", data.rows);
        return Err(Error::new(ErrorKind::Parameter, message)
            .help("set `early_stopping(false)`, or another `validation_fraction`"));
    }
    let stratify = (!data.classes.is_empty()).then_some(&data.y[..]);
    let (_, test) = train_test_split_with(data.rows, Size::Share(share), stratify, &mut Mt19937::new(seed))?;
    if test.iter().all(|row| data.weight_of(*row) == 0.0) {
        let message = "the sample weights of the rows that early stopping holds out are all 0";
        return Err(Error::new(ErrorKind::Weight, message).help("set another `random_state`"));
    }
    let mut held = vec![false; data.rows];
    test.iter().for_each(|row| held[*row] = true);
    Ok(held)
}

/// The score of held-out rows: r2, or the share of rows whose target is the predicted -1 or 1. With the log loss
/// targets are 0 and 1, and only rows of the class count as right: so does scikit-learn 1.9.
fn score(rows: &DescentRows<'_>, is_classifier: bool, coef: &[f64], intercept: f64) -> f64 {
    let held: Vec<usize> = (0..rows.y.len()).filter(|row| rows.held[*row]).collect();
    let predicted: Vec<f64> = held.iter().map(|row| rows.source.dot(*row, coef) + intercept).collect();
    let y: Vec<f64> = held.iter().map(|row| rows.y[*row]).collect();
    let weight: Option<Vec<f64>> = rows.weight.map(|w| held.iter().map(|row| w[*row]).collect());
    if !is_classifier {
        return r2(&y, &predicted, weight.as_deref());
    }
    let weight = |i: usize| weight.as_ref().map_or(1.0, |w| w[i]);
    let is_right = |i: usize| y[i] == if predicted[i] > 0.0 { 1.0 } else { -1.0 };
    let right: f64 = (0..y.len()).filter(|i| is_right(*i)).map(weight).sum();
    right / (0..y.len()).map(weight).sum::<f64>()
}

impl Stochastic {
    fn outputs(&self) -> usize {
        self.intercept.data.len()
    }

    fn width(&self) -> usize {
        self.coef.data.len() / self.outputs().max(1)
    }

    /// The scores of each output.
    fn scores(&self, data: &Data) -> Result<Vec<Vec<f64>>, Error> {
        let width = self.width();
        if data.total_width() != width {
            let message = format!("{} features, and the model was trained on {width}", data.total_width());
            return Err(Error::new(ErrorKind::UnknownColumn, message));
        }
        let of_output = |(coef, intercept): (&[f64], &f64)| scores(data, coef, *intercept);
        Ok(self.coef.data.chunks_exact(width.max(1)).zip(&self.intercept.data).map(of_output).collect())
    }

    /// The probability of each class.
    fn proba(&self, mut scores: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let one = |z: f64| match self.probabilities {
            Probabilities::Clipped => (z.clamp(-1.0, 1.0) + 1.0) / 2.0,
            _ => {
                let small = (-z.abs()).exp();
                if z >= 0.0 { 1.0 / (1.0 + small) } else { small / (1.0 + small) }
            }
        };
        scores.par_iter_mut().for_each(|scores| scores.iter_mut().for_each(|z| *z = one(*z)));
        if scores.len() == 1 {
            let first = scores[0].iter().map(|p| 1.0 - p).collect();
            scores.insert(0, first);
            return scores;
        }
        for row in 0..scores.first().map_or(0, Vec::len) {
            let total: f64 = scores.iter().map(|p| p[row]).sum();
            let classes = scores.len() as f64;
            scores.iter_mut().for_each(|p| p[row] = if total == 0.0 { 1.0 / classes } else { p[row] / total });
        }
        scores
    }
}

impl Model for Stochastic {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        let classes = if self.probabilities == Probabilities::None { 0 } else { self.classes };
        std::iter::once(Role::Prediction).chain((0..classes).map(Role::Proba)).collect()
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        let scores = self.scores(data)?;
        let prediction = match (wanted.contains(&0), self.classes) {
            (false, _) => Vec::new(),
            (true, 0) => scores[0].clone(),
            (true, _) => predicted(&scores),
        };
        let proba = if wanted.iter().any(|w| *w > 0) { self.proba(scores) } else { Vec::new() };
        Ok(wanted.iter().map(|w| if *w == 0 { prediction.clone() } else { proba[w - 1].clone() }).collect())
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        match self.classes {
            0 => Ok(None),
            _ => self.scores(data).map(Some),
        }
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        let outputs = match self.classes {
            0 => Vec::new(),
            2 => classes.get(1).cloned().into_iter().collect(),
            _ => classes.to_vec(),
        };
        match name {
            "classes" => Some(Attribute::Strs(classes.to_vec())),
            "coef" if outputs.len() < 2 => Some(Attribute::by_feature(features, "coef", &self.coef.data)),
            "coef" => {
                let names = outputs.iter().flat_map(|_| features.iter().map(|f| f.name.clone())).collect();
                let classes = outputs.iter().flat_map(|c| features.iter().map(move |_| c.clone())).collect();
                Some(Attribute::Frame(vec![
                    ("feature".to_string(), Values::Strs(names)),
                    ("class".to_string(), Values::Strs(classes)),
                    ("coef".to_string(), Values::Floats(self.coef.data.clone())),
                ]))
            }
            "intercept" if outputs.is_empty() => self.intercept.data.first().map(|b| Attribute::Float(*b)),
            "intercept" => Some(Attribute::Frame(vec![
                ("class".to_string(), Values::Strs(outputs)),
                ("intercept".to_string(), Values::Floats(self.intercept.data.clone())),
            ])),
            "n_iter" => Some(Attribute::Int(self.n_iter as i64)),
            "t" => Some(Attribute::Int(self.t as i64)),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        (Stochastic::outputs(self) == 1).then(|| ("coefficient", self.coef.data.clone()))
    }

    fn linear(&self) -> Option<LinearScores> {
        let link = match (self.classes, self.probabilities) {
            (0, _) => Link::Identity,
            (2, Probabilities::None | Probabilities::Logistic) => Link::Logistic,
            (_, Probabilities::None) => Link::Softmax,
            _ => return None,
        };
        let coef: Vec<Vec<f64>> = self.coef.data.chunks_exact(self.width().max(1)).map(<[f64]>::to_vec).collect();
        Some(LinearScores { coef, intercept: self.intercept.data.clone(), shift: vec![0.0; self.width()], link })
    }

    fn curves(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let title = if self.is_scored { "validation score" } else { "objective" };
        let points = |values: &Tensor| values.data.iter().enumerate().map(|(i, v)| ((i + 1) as f64, *v)).collect();
        let named = self.values.iter().enumerate().map(|(output, values)| match self.values.len() {
            1 => (title.to_string(), points(values)),
            _ => (format!("{title} {output}"), points(values)),
        });
        named.take(10).collect()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::new(ErrorKind::ModelFile, what));
        let outputs = Stochastic::outputs(self);
        let wanted = if classes == 2 || classes == 0 { 1 } else { classes };
        if self.classes != classes || outputs != wanted || classes == 1 {
            return wrong(format!("{outputs} intercepts and {} classes, expected {classes}", self.classes));
        }
        if classes == 0 && self.probabilities != Probabilities::None {
            return wrong("probabilities of a regressor".to_string());
        }
        match Some(self.coef.data.len()) == outputs.checked_mul(features) {
            true => Ok(()),
            false => wrong(format!("{} coefficients for {features} features", self.coef.data.len())),
        }
    }

    fn bytes(&self) -> u64 {
        self.coef.bytes() + self.intercept.bytes() + self.values.iter().map(Tensor::bytes).sum::<u64>()
    }
}
