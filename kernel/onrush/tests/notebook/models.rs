//! Builders of estimators and folds: what is sent, and what is refused before anything is sent.

use onrush::prelude::*;
use onrush_wire::Expr as Tree;
use onrush_wire::expr::ExprKind;
use onrush_wire::learn::{Fit, Param, Spec, Splitter};
use onrush_wire::plan::{Op, Split};

use crate::fake::{FITS, STEPS, last, session};

fn fits() -> Vec<Fit> {
    FITS.lock().unwrap().clone()
}

fn steps() -> Vec<Op> {
    STEPS.lock().unwrap().iter().map(|(op, _)| op.clone()).collect()
}

/// The splits that were sent, each once.
fn splits() -> Vec<(Splitter, Option<String>, Option<String>)> {
    let split = |op: Op| match op {
        Op::Split { split: Split::Fold { splitter, target, groups, .. }, .. } => Some((splitter, target, groups)),
        _ => None,
    };
    let mut all: Vec<_> = steps().into_iter().filter_map(split).collect();
    all.dedup();
    all
}

fn names(spec: &Spec) -> Vec<&str> {
    spec.parts.iter().map(|part| part.name.as_str()).collect()
}

#[test]
fn only_models_that_predict_have_a_prediction() {
    let _session = session();
    let f = read_csv("x.csv");
    let scaler = StandardScaler::new().fit(&f);
    let error = attempt(|| scaler.predict(&f)).unwrap_err();
    assert_eq!(error.message, "`StandardScaler` predicts nothing");
    assert_eq!(error.help, ["`.transform(&frame)` gives its columns"]);
    assert_eq!(attempt(|| scaler.prediction()).unwrap_err().help, ["`.outputs()` gives its columns as expressions"]);
    let error = attempt(|| NearestNeighbors::new().fit(&f).predict(&f)).unwrap_err();
    assert_eq!(error.help, ["`.kneighbors(&frame, 5)` gives neighbors"]);
    KMeans::new().fit(&f).predict(&f);
    let Op::WithColumns { exprs, .. } = last() else { panic!() };
    assert!(matches!(&exprs[0].kind, ExprKind::Alias(_, name) if name == "label"));
}

#[test]
fn the_report_of_a_computed_target_computes_it_again() {
    let _session = session();
    let f = read_csv("x.csv");
    let actual = |model: &Model| {
        model.report(&f);
        let Some(Op::WithColumns { exprs, .. }) =
            steps().into_iter().rev().find(|op| matches!(op, Op::WithColumns { .. }))
        else {
            panic!()
        };
        exprs.get(1).map(|expr| format!("{expr:?}"))
    };
    assert_eq!(actual(&Ridge::new().fit(&f, "b")), None);
    let computed = actual(&Ridge::new().fit(&f, x!(twice = b * 2))).unwrap();
    assert!(computed.contains("\"actual\"") && !computed.contains("twice"), "{computed}");
}

#[test]
fn an_evaluation_set_is_never_dropped() {
    let _session = session();
    let f = read_csv("x.csv");
    let boosted = || XGBRegressor::new().eval_set(&f);
    let error = attempt(|| make_pipeline((StandardScaler::new(), boosted())).spec()).unwrap_err();
    assert!(error.message.starts_with("`eval_set` of a step: `XGBRegressor`"), "{error}");
    make_pipeline((StandardScaler::new(), XGBRegressor::new())).eval_set(&f).fit(&f, "b");
    TransformedTargetRegressor::new(boosted(), "log").fit(&f, "b");
    GridSearchCV::new(boosted()).fit(&f, "b");
    cross_validate(&boosted(), &f, "b", 2);
    cross_val_predict(&boosted(), &f, "b", 2);
    learning_curve(&boosted(), &f, "b", [0.5, 1.0], 2);
    validation_curve(&boosted(), &f, "b", "max_depth", [2, 3], 2);
    cross_validate(&boosted(), &f, "b", cv(2).scoring(x!(m = prediction.mean())));
    assert_eq!(fits().len(), 9);
    assert!(fits().iter().all(|fit| fit.eval == [f.id()]));
}

#[test]
fn a_model_that_stops_early_is_scored_on_the_test_rows_of_a_fold() {
    let _session = session();
    let f = read_csv("x.csv");
    let how = || cv(2).scoring(x!(m = prediction.mean()));
    cross_validate(&XGBRegressor::new(), &f, "b", how());
    assert!(fits().iter().all(|fit| fit.eval.is_empty()));
    let early = || make_pipeline((StandardScaler::new(), XGBRegressor::new().early_stopping_rounds(5)));
    cross_validate(&early(), &f, "b", how());
    assert!(fits()[2..].iter().all(|fit| fit.eval.len() == 1 && fit.eval[0] != fit.frame));
    // The folds of a search are its own.
    cross_validate(&GridSearchCV::new(early()), &f, "b", how());
    assert!(fits()[4..].iter().all(|fit| fit.eval.is_empty()));
}

#[test]
fn predictions_on_folds_replace_columns_of_their_names() {
    let _session = session();
    let f = read_csv("x.csv");
    cross_val_predict(&Ridge::new(), &f, "b", cv(2).method("predict_proba"));
    let Some(Op::Drop { columns, .. }) = steps().into_iter().rev().nth(1) else { panic!("{:?}", steps()) };
    // The answer of the session has the names of all columns.
    assert_eq!(columns, ["a", "b", "name", "day"]);
    assert!(matches!(last(), Op::Concat { .. }));
    let refused = |message: String, wanted: &str| assert_eq!(message, wanted);
    let of = |error: onrush_wire::Diagnostic| error.message;
    let predict = || cross_val_predict(&Ridge::new(), &f, "b", cv(2).scoring("r2"));
    refused(of(attempt(predict).unwrap_err()), "`cross_val_predict` does not take scorers");
    let score = || cross_val_score(&Ridge::new(), &f, "b", cv(2).scoring(["r2", "neg_max_error"]));
    refused(of(attempt(score).unwrap_err()), "`cross_val_score` takes one scorer");
    let curve = || learning_curve(&Ridge::new(), &f, "b", [1.0], cv(2).scoring(x!(m = prediction.mean())));
    refused(of(attempt(curve).unwrap_err()), "`learning_curve` does not take aggregates");
    let method = || cross_validate(&Ridge::new(), &f, "b", cv(2).method("predict"));
    refused(of(attempt(method).unwrap_err()), "`cross_validate` does not take `method`");
}

#[test]
fn the_outer_estimator_has_the_columns_of_the_inner_one() {
    let inner = || Ridge::new().features(["a"]).sample_weight("w").groups("g");
    for spec in [TransformedTargetRegressor::new(inner(), "log").spec(), GridSearchCV::new(inner()).spec()] {
        assert_eq!(spec.features, Some(vec![Tree::column("a")]));
        assert_eq!((spec.weight.as_deref(), spec.groups.as_deref()), (Some("w"), Some("g")));
        let part = &spec.parts[0].spec;
        assert_eq!((&part.features, &part.weight, &part.groups), (&None, &None, &None));
    }
}

#[test]
fn ensembles_name_their_estimators_as_scikit_learn_does() {
    let two = (LogisticRegression::new(), RandomForestClassifier::new());
    // make_pipeline's names: VotingClassifier itself takes names.
    assert_eq!(names(&VotingClassifier::new(two).spec()), ["logisticregression", "randomforestclassifier"]);
    let mixed = (("lr", LogisticRegression::new()), GaussianNB::new(), GaussianNB::new());
    assert_eq!(names(&VotingClassifier::new(mixed).spec()), ["lr", "gaussiannb-1", "gaussiannb-2"]);
    let many: Vec<Box<dyn Estimator>> = vec![Box::new(Ridge::new()), Box::new(LinearRegression::new())];
    let stack = StackingRegressor::new(many).final_estimator(Ridge::new().alpha(2.0)).cv(3);
    assert_eq!(names(&stack.spec()), ["ridge", "linearregression", "final_estimator"]);
    assert_eq!(names(&AdaBoostClassifier::new().spec()), ["estimator"]);
    let inner = || Ridge::new().features(["a"]).sample_weight("w");
    for spec in [BaggingRegressor::new(inner()).spec(), AdaBoostRegressor::new().estimator(inner()).spec()] {
        assert_eq!((spec.weight.as_deref(), &spec.parts[0].spec.weight), (Some("w"), &None));
        assert_eq!((spec.features.is_some(), &spec.parts[0].spec.features), (true, &None));
    }
}

#[test]
fn parts_of_one_name_are_numbered_as_in_scikit_learn() {
    let columns = ColumnTransformer::new().on(["a"], StandardScaler::new()).on(["b"], StandardScaler::new());
    // make_column_transformer((StandardScaler(), ["a"]), (StandardScaler(), ["b"])).transformers
    assert_eq!(names(&columns.spec()), ["standardscaler-1", "standardscaler-2"]);
    assert_eq!(names(&columns.on(["c"], PCA::new()).spec()), ["standardscaler-1", "standardscaler-2", "pca"]);
}

#[test]
fn transformers_that_learn_from_a_target_are_given_it() {
    let _session = session();
    let f = read_csv("x.csv");
    let columns = ColumnTransformer::new().on(["name"], TargetEncoder::new());
    columns.fit_supervised(&f, "b");
    make_pipeline((TargetEncoder::new(), StandardScaler::new())).fit_supervised(&f, "b");
    make_union((TargetEncoder::new(), StandardScaler::new())).fit_supervised(&f, "b");
    assert_eq!(fits().len(), 3);
    assert!(fits().iter().all(|fit| format!("{:?}", fit.target).contains("\"b\"")));
}

#[test]
fn selectors_ask_the_estimator_inside() {
    let _session = session();
    let f = read_csv("x.csv");
    let rfe = RFE::new(Ridge::new().features(["a"]).sample_weight("w")).n_features_to_select(5).step(0.5);
    let spec = rfe.spec();
    assert_eq!((spec.estimator.as_str(), names(&spec)), ("RFE", vec!["estimator"]));
    assert_eq!((&spec.features, spec.weight.as_deref()), (&Some(vec![Tree::column("a")]), Some("w")));
    assert_eq!(spec.parts[0].spec, Spec::new("Ridge"));
    let wanted = vec![("n_features_to_select".to_string(), Param::Int(5)), ("step".to_string(), Param::Float(0.5))];
    assert_eq!(spec.params, wanted);
    let chosen = SelectFromModel::new(LogisticRegression::new()).threshold("mean").max_features(3);
    let pipeline = make_pipeline((chosen, SelectKBest::new().k("all"), LogisticRegression::new()));
    assert_eq!(names(&pipeline.spec()), ["selectfrommodel", "selectkbest", "logisticregression"]);
    pipeline.fit(&f, "b");
    RFECV::new(Ridge::new()).cv(3).scoring("r2").min_features_to_select(2).fit(&f, "b");
    SequentialFeatureSelector::new(Ridge::new()).tol(0.1).direction("backward").cv(KFold::new(4)).fit(&f, "b");
    assert_eq!(fits().len(), 3);
    assert_eq!(fits()[1].spec.cv, Some(Splitter::Auto { n_splits: 3 }));
    let error = attempt(|| RFE::new(XGBRegressor::new().eval_set(&f)).spec()).unwrap_err();
    assert_eq!(error.message, "`eval_set` of the estimator in `RFE` has no effect");
    let generic = GenericUnivariateSelect::new().mode("k_best").param("param", 5).spec();
    assert_eq!(generic.param("param"), Param::Int(5));
}

#[test]
fn estimators_nested_too_deeply_are_refused() {
    let _session = session();
    let f = read_csv("x.csv");
    let nested = |depth: usize| {
        let mut estimator: Box<dyn Estimator> = Box::new(Ridge::new());
        for _ in 1..depth {
            estimator = Box::new(make_pipeline(estimator));
        }
        estimator
    };
    let error = attempt(|| cross_validate(&nested(65), &f, "b", cv(2).scoring(x!(m = b.mean())))).unwrap_err();
    assert_eq!(error.message, "`Pipeline` holds estimators nested more than 64 deep");
    cross_validate(&nested(64), &f, "b", cv(2).scoring(x!(m = b.mean())));
}

#[test]
fn aggregates_over_folds_stand_alone() {
    let _session = session();
    let f = read_csv("x.csv");
    let mean = || x!(m = prediction.mean());
    let refused = |how: Cv| attempt(|| cross_validate(&Ridge::new(), &f, "b", how)).unwrap_err().message;
    assert_eq!(refused(cv(2).scoring("r2").scoring(mean())), "aggregates and names of scorers are in one `scoring`");
    assert_eq!(refused(cv(2).scoring(mean()).return_train_score(true)), "aggregates score the test rows alone");
    assert_eq!(refused(cv(0).scoring(mean())), "the splitter makes 0 folds: at least 1");
    assert!(fits().is_empty());
}

#[test]
fn the_estimator_decides_whether_folds_are_stratified() {
    let _session = session();
    let f = read_csv("x.csv");
    let how = || cv(3).scoring(x!(m = prediction.mean()));
    let stratified = Splitter::StratifiedKFold { n_splits: 3, shuffle: false, random_state: 0 };
    // Integers are a regressor's numbers.
    cross_validate(&Ridge::new(), &f, "a", how());
    assert_eq!(splits(), [(Splitter::KFold { n_splits: 3, shuffle: false, random_state: 0 }, None, None)]);
    STEPS.lock().unwrap().clear();
    let search = GridSearchCV::new(make_pipeline((StandardScaler::new(), LogisticRegression::new())).groups("day"));
    cross_validate(&search, &f, "name", how());
    assert_eq!(splits(), [(stratified.clone(), Some("name".to_string()), Some("day".to_string()))]);
    STEPS.lock().unwrap().clear();
    // A float target and a computed target are stratified by a temporary column, which is dropped before the training.
    for target in [x!(big = a > 1), x!(b)] {
        cross_validate(&GaussianNB::new(), &f, target, how());
        assert_eq!(splits(), [(stratified.clone(), Some("__onrush_classes".to_string()), None)]);
        let dropped = steps().iter().filter(|op| matches!(op, Op::Drop { .. })).count();
        assert_eq!(dropped, 6);
        STEPS.lock().unwrap().clear();
    }
}

#[test]
fn a_frame_is_split_by_groups() {
    let _session = session();
    let f = read_csv("x.csv");
    assert_eq!(GroupKFold::new(2).split_groups(&f, "name").len(), 2);
    assert_eq!(splits(), [(Splitter::GroupKFold { n_splits: 2 }, None, Some("name".to_string()))]);
    assert_eq!(LeaveOneOut.split(&f, None).len(), 3);
    assert_eq!(LeavePOut::new(2).split(&f, None).len(), 3);
    assert_eq!(LeaveOneGroupOut.split_groups(&f, "name").len(), 3);
    assert_eq!(LeavePGroupsOut::new(2).split_groups(&f, "name").len(), 3);
    assert_eq!(StratifiedGroupKFold::new(2).split_stratified_groups(&f, "a", "name").len(), 2);
    assert_eq!(GroupShuffleSplit::new(4).split_groups(&f, "name").len(), 4);
    assert!(attempt(|| KFold::new(0).split(&f, None)).is_err());
}

#[test]
fn searches_can_leave_out_the_last_training() {
    let spec = GridSearchCV::new(Ridge::new()).refit(false).spec();
    assert_eq!(spec.param("refit"), Param::Bool(false));
    assert_eq!(GridSearchCV::new(Ridge::new()).spec().param("refit"), Param::Bool(true));
    let spec = RandomizedSearchCV::new(Ridge::new()).scoring(["r2", "neg_max_error"]).refit("r2").spec();
    assert_eq!(spec.param("refit"), Param::from("r2"));
    assert_eq!(spec.param("scoring"), Param::from(["r2", "neg_max_error"]));
}

#[test]
fn searches_take_the_parameters_of_their_kind() {
    let spec = TpeSearchCV::new(Ridge::new())
        .param("alpha", log_uniform(1e-3, 10.0))
        .n_iter(30)
        .n_startup_trials(5)
        .multivariate(false)
        .prune(true)
        .n_jobs(-1)
        .study("rents")
        .spec();
    assert!(spec.is_search());
    assert_eq!((spec.param("n_iter"), spec.param("n_startup_trials")), (Param::Int(30), Param::Int(5)));
    assert_eq!((spec.param("multivariate"), spec.param("n_jobs")), (Param::Bool(false), Param::Int(-1)));
    let folder = std::env::current_dir().unwrap();
    let file = |name: &str| Param::from(folder.join(name).display().to_string());
    assert_eq!(spec.param("study"), file("rents.jsonl"));
    assert_eq!(GridSearchCV::new(Ridge::new()).study("a/rents.txt").spec().param("study"), file("a/rents.txt"));
    assert_eq!(
        GridSearchCV::new(Ridge::new()).study("/tmp/rents").spec().param("study"),
        Param::from("/tmp/rents.jsonl")
    );
    let spec = HalvingRandomSearchCV::new(Ridge::new())
        .n_candidates(40)
        .factor(2)
        .min_resources("smallest")
        .max_resources(100)
        .resource("max_iter")
        .aggressive_elimination(true)
        .spec();
    assert_eq!((spec.param("factor"), spec.param("n_candidates")), (Param::Float(2.0), Param::Int(40)));
    assert_eq!((spec.param("min_resources"), spec.param("max_resources")), (Param::from("smallest"), Param::Int(100)));
    assert_eq!(HalvingGridSearchCV::new(Ridge::new()).spec().param("min_resources"), Param::from("exhaust"));
}
