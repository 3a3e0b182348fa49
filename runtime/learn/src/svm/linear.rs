//! `LinearSVC` and `LinearSVR`, with the objectives of LIBLINEAR (Fan et al. 2008). The intercept is the coefficient of
//! a constant feature, and is penalised like the others.

use onrush_wire::learn::Param;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::design::MachineDesign;
use super::newton::{MachineLoss, NewtonEnd};
use super::{descent, newton};
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::linear::finite;
use crate::linear::logistic::predicted;
use crate::model::{Attribute, Field, LinearScores, Link, Model, Role, Values};
use crate::params::{self, seed, word};
use crate::run::Run;
use crate::tensor::Tensor;
use crate::weights;

/// Linear scores of a target, or of classes. Two classes have one output, that of the second one.
#[derive(Serialize, Deserialize)]
pub struct LinearMachine {
    /// Outputs x features.
    pub coef: Tensor,
    /// For each output.
    pub intercept: Tensor,
    /// The largest number of passes of an output.
    pub n_iter: u64,
    pub is_classifier: bool,
    pub notes: Vec<String>,
}

/// The parts of both estimators that are equal.
struct Settings {
    tol: f64,
    max_iter: usize,
    seed: u32,
    /// The value of the constant feature. 0: there is none.
    bias: f64,
}

/// Trains `LinearSVC`.
///
/// # Errors
/// If parameters do not fit each other, a class has no weight, or a coefficient is not finite.
pub fn classifier(params: &params::LinearSVC, data: &Data, run: &Run<'_>) -> Result<LinearMachine, Error> {
    check_classifier(params)?;
    let c = finite("c", params.c)?;
    let settings = Settings {
        tol: finite("tol", params.tol)?,
        max_iter: params.max_iter,
        seed: seed(params.random_state),
        bias: if params.fit_intercept { finite("intercept_scaling", params.intercept_scaling)? } else { 0.0 },
    };
    let classes = data.classes.len();
    let mut counts = vec![0.0; classes];
    (0..data.rows).for_each(|row| counts[data.y[row] as usize] += data.weight_of(row));
    let by_class = weights::of_counts(&params.class_weight, data, &counts)?.unwrap_or_else(|| vec![1.0; classes]);
    if let Some(class) = counts.iter().position(|sum| *sum <= 0.0) {
        let message = format!("the class `{}` has no row with a weight above 0", data.classes[class]);
        return Err(Error::new(ErrorKind::Weight, message).help("leave its rows out"));
    }
    let design = MachineDesign::new(data, settings.bias);
    let by_row = (params.loss == "hinge").then(|| design.by_row());
    let by_column = (params.penalty == "l1").then(|| design.by_column());
    let outputs = if classes == 2 { vec![1] } else { (0..classes).collect() };
    let solve = |class: usize| {
        let is_class = |row: usize| data.y[row] as usize == class;
        let y: Vec<f64> = (0..data.rows).map(|row| if is_class(row) { 1.0 } else { -1.0 }).collect();
        // As in LIBLINEAR: of several classes, the others weigh 1 against the one.
        let weight = |row: usize| match classes == 2 || is_class(row) {
            true => by_class[data.y[row] as usize],
            false => 1.0,
        };
        let c: Vec<f64> = (0..data.rows).map(|row| c * data.weight_of(row) * weight(row)).collect();
        let passes = (settings.max_iter, settings.seed);
        let positive = y.iter().filter(|y| **y > 0.0).count();
        // As in LIBLINEAR: the smaller class sets the tolerance.
        let share = positive.min(data.rows - positive).max(1) as f64 / data.rows as f64;
        match (&by_row, &by_column) {
            (Some(rows), _) => descent::hinge(rows, design.width(), &y, &c, settings.tol, passes, run),
            (_, Some(columns)) => descent::sparse_coefficients(columns, &y, &c, settings.tol * share, passes, run),
            _ => newton::solve(&design, MachineLoss::Hinge(&y), &c, settings.tol * share, settings.max_iter, run),
        }
    };
    let ends: Vec<NewtonEnd> = outputs.into_par_iter().map(solve).collect::<Result<_, Error>>()?;
    model(ends, data, &settings, true)
}

/// Checks the combinations of words.
fn check_classifier(params: &params::LinearSVC) -> Result<(), Error> {
    let wrong = |message: String, help: &str| Err(Error::new(ErrorKind::Parameter, message).help(help));
    check_dual(&params.dual)?;
    if params.multi_class == "crammer_singer" {
        let message = "`multi_class` is \"crammer_singer\": the objective over all classes cannot be trained";
        return wrong(message.to_string(), "take \"ovr\"");
    }
    let dual = match params.dual {
        Param::Bool(dual) => Some(dual),
        _ => None,
    };
    match (params.penalty.as_str(), params.loss.as_str(), dual) {
        ("l1", "hinge", _) => wrong("the penalty `l1` has no loss `hinge`".to_string(), "take `squared_hinge`"),
        ("l1", _, Some(true)) => wrong("the penalty `l1` has no dual problem".to_string(), "leave `dual` out"),
        ("l2", "hinge", Some(false)) => {
            wrong("the loss `hinge` is trained in the dual problem only".to_string(), "leave `dual` out")
        }
        _ => Ok(()),
    }
}

fn check_dual(dual: &Param) -> Result<(), Error> {
    if matches!(dual, Param::Bool(_)) || word(dual) == Some("auto") {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Parameter, format!("`dual` is {dual}: \"auto\", `true` or `false`")))
}

/// Trains `LinearSVR`.
///
/// # Errors
/// If parameters do not fit each other, all weights are 0, or a coefficient is not finite.
pub fn regressor(params: &params::LinearSVR, data: &Data, run: &Run<'_>) -> Result<LinearMachine, Error> {
    check_dual(&params.dual)?;
    let is_squared = params.loss == "squared_epsilon_insensitive";
    if !is_squared && params.dual == Param::Bool(false) {
        let message = "the loss `epsilon_insensitive` is trained in the dual problem only";
        return Err(Error::new(ErrorKind::Parameter, message).help("leave `dual` out"));
    }
    let (c, epsilon) = (finite("c", params.c)?, finite("epsilon", params.epsilon)?);
    let settings = Settings {
        tol: finite("tol", params.tol)?,
        max_iter: params.max_iter,
        seed: seed(params.random_state),
        bias: if params.fit_intercept { finite("intercept_scaling", params.intercept_scaling)? } else { 0.0 },
    };
    let c: Vec<f64> = (0..data.rows).map(|row| c * data.weight_of(row)).collect();
    if c.iter().all(|c| *c <= 0.0) {
        return Err(Error::new(ErrorKind::Weight, "all sample weights are 0: at least one must be above 0"));
    }
    let design = MachineDesign::new(data, settings.bias);
    let end = match is_squared {
        true => {
            let loss = MachineLoss::Insensitive(&data.y, epsilon);
            newton::solve(&design, loss, &c, settings.tol, settings.max_iter, run)?
        }
        false => {
            let passes = (settings.max_iter, settings.seed);
            let target = (data.y.as_slice(), epsilon);
            descent::insensitive(&design.by_row(), design.width(), target, &c, settings.tol, passes, run)?
        }
    };
    model(vec![end], data, &settings, false)
}

/// The model at the end of the trainings of its outputs.
fn model(ends: Vec<NewtonEnd>, data: &Data, settings: &Settings, is_classifier: bool) -> Result<LinearMachine, Error> {
    let width = data.total_width();
    if ends.iter().any(|end| end.w.iter().any(|w| !w.is_finite())) {
        let message = "the coefficients are not finite numbers: the values of the data are too large";
        return Err(Error::new(ErrorKind::Overflow, message).help("scale the features, such as with `StandardScaler`"));
    }
    let note = format!("stopped after {} passes; raise `max_iter` or scale the features", settings.max_iter);
    let intercept = |end: &NewtonEnd| if settings.bias == 0.0 { 0.0 } else { settings.bias * end.w[width] };
    Ok(LinearMachine {
        intercept: Tensor::vector(ends.iter().map(intercept).collect()),
        n_iter: ends.iter().map(|end| end.n_iter as u64).max().unwrap_or(0),
        is_classifier,
        notes: if ends.iter().all(|end| end.converged) { Vec::new() } else { vec![note] },
        coef: Tensor::new(
            vec![ends.len(), width],
            ends.into_iter().flat_map(|end| end.w.into_iter().take(width)).collect(),
        ),
    })
}

impl LinearMachine {
    /// For each output the scores of the rows.
    fn scores(&self, data: &Data) -> Vec<Vec<f64>> {
        let design = MachineDesign::new(data, 0.0);
        let of = |(k, intercept): (usize, &f64)| {
            let mut scores = design.times(self.coef.row(k));
            scores.iter_mut().for_each(|score| *score += intercept);
            scores
        };
        self.intercept.data.iter().enumerate().map(of).collect()
    }

    /// The names of the classes of the outputs.
    fn named(&self, classes: &[String]) -> Vec<String> {
        match self.intercept.data.len() {
            1 => classes.get(1).cloned().into_iter().collect(),
            _ => classes.to_vec(),
        }
    }

    fn coef_frame(&self, features: &[Field], classes: &[String]) -> Attribute {
        let outputs = self.intercept.data.len();
        if outputs == 1 {
            return Attribute::by_feature(features, "coef", &self.coef.data);
        }
        let names = (0..outputs).flat_map(|_| features.iter().map(|f| f.name.clone())).collect();
        let classes = classes.iter().flat_map(|c| features.iter().map(move |_| c.clone())).collect();
        Attribute::Frame(vec![
            ("feature".to_string(), Values::Strs(names)),
            ("class".to_string(), Values::Strs(classes)),
            ("coef".to_string(), Values::Floats(self.coef.data.clone())),
        ])
    }
}

impl Model for LinearMachine {
    fn outputs(&self, _: &[Field]) -> Vec<Role> {
        vec![Role::Prediction]
    }

    fn apply(&self, data: &Data, wanted: &[usize]) -> Result<Vec<Vec<f64>>, Error> {
        check_width(data, self.coef.shape[1])?;
        let mut scores = self.scores(data);
        let found = if self.is_classifier { predicted(&scores) } else { scores.swap_remove(0) };
        Ok(wanted.iter().map(|_| found.clone()).collect())
    }

    fn decision(&self, data: &Data) -> Result<Option<Vec<Vec<f64>>>, Error> {
        check_width(data, self.coef.shape[1])?;
        Ok(self.is_classifier.then(|| self.scores(data)))
    }

    fn attribute(&self, name: &str, features: &[Field], classes: &[String]) -> Option<Attribute> {
        match name {
            "classes" if self.is_classifier => Some(Attribute::Strs(classes.to_vec())),
            "coef" => Some(self.coef_frame(features, classes)),
            "intercept" if !self.is_classifier => self.intercept.data.first().map(|b| Attribute::Float(*b)),
            "intercept" => Some(Attribute::Frame(vec![
                ("class".to_string(), Values::Strs(self.named(classes))),
                ("intercept".to_string(), Values::Floats(self.intercept.data.clone())),
            ])),
            "n_iter" => Some(Attribute::Int(self.n_iter as i64)),
            _ => None,
        }
    }

    fn bars(&self) -> Option<(&'static str, Vec<f64>)> {
        (self.intercept.data.len() == 1).then(|| ("coefficient", self.coef.data.clone()))
    }

    fn linear(&self) -> Option<LinearScores> {
        let (coef, shift) = (vec![self.coef.data.clone()], vec![0.0; self.coef.shape[1]]);
        let scores = LinearScores { coef, intercept: self.intercept.data.clone(), shift, link: Link::Identity };
        (!self.is_classifier).then_some(scores)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn check(&self, features: usize, classes: usize) -> Result<(), Error> {
        let wrong = |what: String| Err(Error::new(ErrorKind::ModelFile, what));
        let outputs = self.intercept.data.len();
        let wanted = match (self.is_classifier, classes) {
            (false, _) | (true, 2) => 1,
            (true, classes) => classes,
        };
        if outputs != wanted || outputs == 0 {
            return wrong(format!("{outputs} intercepts for {classes} classes"));
        }
        if self.coef.shape != [outputs, features] {
            return wrong(format!("coefficients of the shape {:?} for {features} features", self.coef.shape));
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.coef.bytes() + self.intercept.bytes()
    }
}

/// Whether rows have as many features as a model.
fn check_width(data: &Data, width: usize) -> Result<(), Error> {
    let found = data.total_width();
    match found == width {
        true => Ok(()),
        false => {
            let message = format!("the rows have {found} features, and the model has {width}");
            Err(Error::new(ErrorKind::NoFeatures, message))
        }
    }
}
