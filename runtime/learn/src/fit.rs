//! Trains any estimator.

use onrush_wire::learn::{Grid, Param, Spec, Splitter, TrainSizes};

use crate::categories;
use crate::check;
use crate::compose;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::estimators::{Any, Candidate, FittedModel, search_column, trained};
use crate::model::{Output, Values};
use crate::run::Run;
use crate::select::{self, Fold, candidates, search, selectors, validate};
use crate::text;

/// Trains the estimator of a specification.
///
/// # Errors
/// If a parameter or the data are not what the estimator takes, and if the user stops the training.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<FittedModel, Error> {
    check::spec(spec)?;
    let data = &*check::densified(spec, data)?;
    check::data(spec, data)?;
    text::check_columns(spec, data)?;
    let (data, declared) = categories::declared(spec, data)?;
    let data = &*data;
    let model = match spec.estimator.as_str() {
        _ if spec.is_search() => search::fit(spec, data, run, &fit).map(Any::from)?,
        "Pipeline" => compose::pipeline::fit(spec, data, run, &fit).map(Any::from)?,
        "ColumnTransformer" | "FeatureUnion" => compose::columns::fit(spec, data, run, &fit).map(Any::from)?,
        "TransformedTargetRegressor" => compose::target::fit(spec, data, run, &fit).map(Any::from)?,
        "VotingClassifier" | "VotingRegressor" => compose::voting::fit(spec, data, run, &fit).map(Any::from)?,
        "StackingClassifier" | "StackingRegressor" => compose::stacking::fit(spec, data, run, &fit).map(Any::from)?,
        "BaggingClassifier" | "BaggingRegressor" => compose::bagging::fit(spec, data, run, &fit).map(Any::from)?,
        "CalibratedClassifierCV" => compose::calibrated::fit(spec, data, run, &fit).map(Any::from)?,
        "OneVsRestClassifier" => compose::one_vs::rest(spec, data, run, &fit).map(Any::from)?,
        "OneVsOneClassifier" => compose::one_vs::one(spec, data, run, &fit).map(Any::from)?,
        "AdaBoostClassifier" => compose::adaboost::classifier(spec, data, run, &fit).map(Any::from)?,
        "AdaBoostRegressor" => compose::adaboost::regressor(spec, data, run, &fit).map(Any::from)?,
        "SelectFromModel" | "RFE" | "RFECV" | "SequentialFeatureSelector" => {
            selectors::fit(spec, data, run, &fit).map(Any::from)?
        }
        "SMOTE" | "RandomOverSampler" | "RandomUnderSampler" => return Err(compose::samplers::alone(&spec.estimator)),
        name => trained(spec, data, run)
            .unwrap_or_else(|| Err(Error::new(ErrorKind::Estimator, format!("`{name}` cannot be trained yet"))))?,
    };
    Ok(FittedModel { declared, ..FittedModel::new(spec, data, model) })
}

/// Trains a transformer and transforms its training rows: the model, and the columns of [`FittedModel::outputs`], or
/// those of [`crate::Model::embedding`] if there are any.
///
/// The result is that of [`fit`] and [`FittedModel::apply`], except for a `TargetEncoder`, also inside of other
/// estimators. Its training rows get values by cross fitting, as in scikit-learn.
///
/// # Errors
/// Errors of the training, and of values that cannot be transformed.
pub fn fit_transform(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<(FittedModel, Vec<Vec<f64>>), Error> {
    compose::fit_transform(spec, data, run, &fit)
}

/// Trains a model for each split and scores it.
///
/// Without scorers the default one is used: accuracy for classes, else r2. A training set has only the classes of its
/// rows. Rows count with their weights, in training and in scores.
///
/// # Errors
/// If a split, a training or a score fails, and if the user stops the work.
pub fn cross_validate(
    spec: &Spec,
    data: &Data,
    splitter: &Splitter,
    scorers: &[String],
    return_train_score: bool,
    run: &Run<'_>,
) -> Result<Vec<Fold>, Error> {
    validate::cross_validate(spec, data, splitter, scorers, return_train_score, run, &fit)
}

/// Predicts each row by a model that was not trained on it (`sklearn.model_selection.cross_val_predict`).
///
/// `method` is `predict`, `predict_proba` or `decision_function`. The columns are `prediction`, `proba_<class>` for
/// each class of all rows, or `decision_<class>`. Two classes have one column `decision`. A class that the training
/// rows of a fold do not have gets the probability 0, or the score [`f64::MIN`].
///
/// # Errors
/// As [`cross_validate`], and if the splitter does not test each row once.
pub fn cross_val_predict(
    spec: &Spec,
    data: &Data,
    splitter: &Splitter,
    method: &str,
    run: &Run<'_>,
) -> Result<Vec<Output>, Error> {
    select::cross_val_predict(spec, data, splitter, method, run, &fit)
}

/// Trains on the first rows of each training set, for each number of rows, and scores
/// (`sklearn.model_selection.learning_curve`). Gives the numbers in order, and for each number the folds.
///
/// # Errors
/// As [`cross_validate`], and if a number does not fit the rows.
pub fn learning_curve(
    spec: &Spec,
    data: &Data,
    splitter: &Splitter,
    sizes: &TrainSizes,
    scorers: &[String],
    run: &Run<'_>,
) -> Result<Vec<(usize, Fold)>, Error> {
    select::learning_curve(spec, data, splitter, sizes, scorers, run, &fit)
}

/// The scores of an estimator on folds for each value of one parameter (`sklearn.model_selection.validation_curve`).
pub struct ValidationCurve {
    /// For each value its estimator.
    specs: Vec<(Param, Spec)>,
}

impl ValidationCurve {
    /// `param` is the path of the parameter, through the steps of a pipeline.
    ///
    /// # Errors
    /// If there are no values or too many, and for a distribution. If the estimator does not have the parameter or does
    /// not take a value.
    pub fn new(spec: &Spec, param: &str, values: Grid) -> Result<Self, Error> {
        check::spec(spec)?;
        let grid = Spec { grid: vec![(param.to_string(), values)], ..spec.clone() };
        let candidates = candidates::grid(&grid)?;
        let spec_of = |candidate: Candidate| {
            let spec = candidates::with_params(spec, &candidate)?;
            Ok((candidate.into_iter().next().map(|(_, value)| value).unwrap_or_default(), spec))
        };
        Ok(ValidationCurve { specs: candidates.into_iter().map(spec_of).collect::<Result<_, Error>>()? })
    }

    /// Trains and scores: a fold for each value and split, with the scores of the training rows.
    ///
    /// # Errors
    /// As [`cross_validate`].
    pub fn score(
        &self,
        data: &Data,
        splitter: &Splitter,
        scorers: &[String],
        run: &Run<'_>,
    ) -> Result<Vec<(usize, Fold)>, Error> {
        let mut folds = Vec::new();
        for (at, (_, spec)) in self.specs.iter().enumerate() {
            let (before, values) = (at as u64, self.specs.len() as u64);
            let steps = |done: u64, all: u64| (run.steps)(before * all + done, values * all);
            let inner = Run { is_stopped: run.is_stopped, stage: run.stage, steps: &steps, detail: run.detail };
            folds.extend(
                cross_validate(spec, data, splitter, scorers, true, &inner)?.into_iter().map(|fold| (at, fold)),
            );
        }
        Ok(folds)
    }

    /// The value of each fold of [`ValidationCurve::score`].
    pub fn column(&self, folds: &[(usize, Fold)]) -> Values {
        search_column(&folds.iter().map(|(at, _)| &self.specs[*at].0).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use onrush_wire::learn::Part;

    use super::*;
    use crate::data::Column;

    #[test]
    fn a_file_has_the_classes_of_the_last_step() {
        let x = Column::number("x", (0..20).map(f64::from).collect());
        let y = (0..20).map(|i| f64::from(u8::from(i > 9))).collect();
        let data = Data { y, classes: vec!["a".to_string(), "b".to_string()], ..Data::new(vec![x]) };
        let step = |name: &str| Part { name: name.to_string(), columns: Vec::new(), spec: Spec::new(name) };
        let parts = vec![step("StandardScaler"), step("LogisticRegression")];
        let fitted = fit(&Spec { parts, ..Spec::new("Pipeline") }, &data, &Run::silent()).unwrap();
        assert_eq!(fitted.model().check(1, 2), Ok(()));
        let error = fitted.model().check(1, 3).unwrap_err();
        assert_eq!(error.message, "the last step has 2 classes, and the pipeline has 3");
    }
}
