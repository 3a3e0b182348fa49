//! Predictions of rows by models that were not trained on them (`sklearn.model_selection.cross_val_predict`).

use std::sync::atomic::{AtomicU64, Ordering};

use onrush_wire::learn::{Spec, Splitter};

use super::validate::{self, FirstFailure, FoldModel};
use crate::check::{self, nearest, plural};
use crate::data::{Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::estimators::Trainer;
use crate::model::{Output, Role, codes};
use crate::run::Run;
use crate::split::RowSplit;

/// The values that are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Predict,
    Proba,
    Decision,
}

impl Method {
    fn of(name: &str) -> Result<Self, Error> {
        const NAMES: [(&str, Method); 3] =
            [("predict", Method::Predict), ("predict_proba", Method::Proba), ("decision_function", Method::Decision)];
        if let Some((_, method)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(*method);
        }
        let error = Error::new(ErrorKind::Parameter, format!("there is no method `{name}`"));
        let names = NAMES.map(|(name, _)| name);
        Err(match nearest(name, &names) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help(format!("methods are {}", names.join(", "))),
        })
    }
}

/// The work of [`crate::cross_val_predict`] with any trainer.
///
/// # Errors
/// If a split or a training fails, if the folds do not test each row once, and if the user stops the work.
pub(crate) fn cross_val_predict(
    spec: &Spec,
    data: &Data,
    splitter: &Splitter,
    method: &str,
    run: &Run<'_>,
    trainer: Trainer<'_>,
) -> Result<Vec<Output>, Error> {
    check::spec(spec)?;
    let method = Method::of(method)?;
    let splits = validate::splits_of(data, splitter)?;
    each_row_once(data.rows, &splits)?;
    let mut outputs = outputs(spec, data, method)?;
    let (done, failed, all) = (AtomicU64::new(0), FirstFailure::default(), splits.len() as u64);
    run.stage(format!("predict by {} on folds", spec.estimator));
    (run.steps)(0, all);
    let folds = validate::in_waves(data.rows, (0..splits.len()).collect(), |fold| {
        failed.check(fold)?;
        run.check(|| format!("{} of {all} folds", done.load(Ordering::Relaxed)))?;
        let inner = Run { is_stopped: run.is_stopped, ..Run::silent() };
        let model = validate::train_fold(spec, data, &splits[fold], &inner, trainer);
        let made = model.and_then(|model| of_fold(&model, data, method));
        (run.steps)(done.fetch_add(1, Ordering::Relaxed) + 1, all);
        failed.record(fold, &made);
        made
    });
    for (made, (_, test)) in folds.into_iter().zip(&splits) {
        for (output, values) in outputs.iter_mut().zip(made?) {
            test.iter().zip(values).for_each(|(row, value)| output.values[*row] = value);
        }
    }
    Ok(outputs)
}

fn each_row_once(rows: usize, splits: &[RowSplit]) -> Result<(), Error> {
    let mut tested = vec![0usize; rows];
    splits.iter().flat_map(|(_, test)| test).for_each(|row| tested[*row] += 1);
    match tested.iter().position(|times| *times != 1) {
        None => Ok(()),
        Some(row) => {
            let times = plural(tested[row], "time");
            let message = format!("the splitter tests row {row} {times}, and each row must be tested once");
            Err(Error::new(ErrorKind::Split, message)
                .help("take `KFold`, `StratifiedKFold`, `GroupKFold` or `LeaveOneOut`"))
        }
    }
}

/// The columns, without values yet.
fn outputs(spec: &Spec, data: &Data, method: Method) -> Result<Vec<Output>, Error> {
    let of = |name: String, role: Role| Output { name, role, values: vec![f64::NAN; data.rows] };
    let by_class = |prefix: &str| {
        let classes = data.classes.iter().enumerate();
        classes.map(|(class, name)| of(format!("{prefix}_{name}"), Role::Proba(class))).collect()
    };
    match method {
        Method::Predict => Ok(vec![of("prediction".to_string(), Role::Prediction)]),
        _ if data.classes.is_empty() => {
            let what = if method == Method::Proba { "probabilities" } else { "scores of classes" };
            let message = format!("{} predicts no {what}: the target has no classes", spec.estimator);
            Err(Error::new(ErrorKind::Evaluation, message).help("leave `method` out: it then predicts numbers"))
        }
        Method::Proba => Ok(by_class("proba")),
        Method::Decision if data.classes.len() == 2 => {
            Ok(vec![of("decision".to_string(), Role::Feature("decision".to_string(), Kind::Number))])
        }
        Method::Decision => Ok(by_class("decision")),
    }
}

/// The columns of the test rows of a fold, whose model may not know all classes.
fn of_fold(model: &FoldModel, data: &Data, method: Method) -> Result<Vec<Vec<f64>>, Error> {
    let (fitted, test) = (&model.fitted, &model.test);
    let outputs = fitted.outputs();
    let find = |wanted: Role| outputs.iter().position(|(_, role)| *role == wanted);
    let none = |what: &str| {
        let message = format!("{} predicts no {what}", fitted.spec.estimator);
        Error::new(ErrorKind::Evaluation, message).help("leave `method` out: it then predicts classes or numbers")
    };
    let known: Vec<usize> = codes(&data.classes, &fitted.classes).into_iter().map(|class| class as usize).collect();
    match method {
        Method::Predict => {
            let place = find(Role::Prediction).ok_or_else(|| none("numbers and no classes"))?;
            let mut made = fitted.apply(test, &[place])?;
            if !known.is_empty() {
                made.iter_mut().flatten().for_each(|class| *class = known[*class as usize] as f64);
            }
            Ok(made)
        }
        Method::Proba => {
            let places: Option<Vec<usize>> = (0..known.len()).map(|class| find(Role::Proba(class))).collect();
            let places = places.filter(|places| !places.is_empty()).ok_or_else(|| none("probabilities"))?;
            // A class that the training rows do not have is as improbable as can be.
            let mut columns = vec![vec![0.0; test.rows]; data.classes.len()];
            fitted.apply(test, &places)?.into_iter().zip(&known).for_each(|(column, class)| columns[*class] = column);
            Ok(columns)
        }
        Method::Decision => {
            let scores = fitted.decision(test)?.ok_or_else(|| none("scores of classes (`decision_function`)"))?;
            if known.len() == data.classes.len() {
                return Ok(scores);
            }
            if scores.len() != known.len() {
                let (some, all) = (plural(known.len(), "class"), data.classes.len());
                let message = format!(
                    "the training rows of a fold have {some} of {all}, and `decision_function` \
                    then has no column for each"
                );
                return Err(Error::new(ErrorKind::OneClass, message).help("take stratified folds"));
            }
            let mut columns = vec![vec![f64::MIN; test.rows]; data.classes.len()];
            scores.into_iter().zip(&known).for_each(|(column, class)| columns[*class] = column);
            Ok(columns)
        }
    }
}
