//! Predictions on folds, learning curves, searches with several scorers and importances against scikit-learn 1.9.1 and
//! XGBoost 3.2.0 (`tests/learn/expect_validation.py`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use onrush_learn::model::Output;
use onrush_learn::select::evaluate;
use onrush_learn::{Attribute, Data, ErrorKind, Param, Run, Spec, Values, cross_val_predict, cross_validate};
use onrush_wire::Value;
use onrush_wire::learn::{Evaluation, Grid, Part, Size, Splitter, TrainSizes};

use crate::support::{assert_close, classification, expected, fit, numbers, regression};

fn kfold(n_splits: usize) -> Splitter {
    Splitter::KFold { n_splits, shuffle: false, random_state: 0 }
}

fn part(name: &str, spec: Spec) -> Part {
    Part { name: name.to_string(), columns: Vec::new(), spec }
}

fn scaled() -> Spec {
    let logistic = Spec::new("LogisticRegression").with("C", 0.5).with("tol", 1e-10).with("max_iter", 10_000);
    let parts = vec![part("standardscaler", Spec::new("StandardScaler")), part("logisticregression", logistic)];
    Spec { parts, ..Spec::new("Pipeline") }
}

/// The columns of an attribute by their names. Strings are left out.
fn columns(attribute: Attribute) -> BTreeMap<String, Vec<f64>> {
    let Attribute::Frame(columns) = attribute else { panic!("{attribute:?}") };
    let floats = |values: Values| match values {
        Values::Floats(values) => Some(values),
        Values::Ints(values) => Some(values.into_iter().map(|v| v as f64).collect()),
        _ => None,
    };
    columns.into_iter().filter_map(|(name, values)| Some((name, floats(values)?))).collect()
}

#[test]
fn rows_are_predicted_by_models_that_have_not_seen_them() {
    let file = &expected("validation.json")["predictions"];
    let compare = |spec: &Spec, data: &Data, cv: &Splitter, method: &str, name: &str, tolerance: f64| -> Vec<Output> {
        let made = cross_val_predict(spec, data, cv, method, &Run::silent()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let rows = (0..data.rows).step_by(7);
        let found: Vec<f64> = rows.flat_map(|row| made.iter().map(move |column| column.values[row])).collect();
        assert_close(&found, &numbers(&file[name]), tolerance, name);
        made
    };
    let shuffled = Splitter::KFold { n_splits: 4, shuffle: true, random_state: 3 };
    let stratified = Splitter::StratifiedKFold { n_splits: 3, shuffle: true, random_state: 1 };
    let (iris, cancer, bayes) = (classification("iris"), classification("breast_cancer"), Spec::new("GaussianNB"));
    compare(&Spec::new("Ridge").with("alpha", 0.5), &regression("diabetes"), &shuffled, "predict", "ridge", 1e-10);
    compare(&bayes, &iris, &Splitter::Auto { n_splits: 5 }, "predict", "classes", 0.0);
    let made = compare(&bayes, &iris, &stratified, "predict_proba", "proba", 1e-10);
    let names: Vec<&str> = made.iter().map(|output| output.name.as_str()).collect();
    assert_eq!(names, ["proba_0", "proba_1", "proba_2"]);
    compare(&bayes, &iris, &kfold(3), "predict_proba", "proba_missing", 1e-10);
    let made = compare(&scaled(), &iris, &stratified, "decision_function", "decision", 1e-6);
    assert_eq!(made[2].name, "decision_2");
    let made = compare(&scaled(), &cancer, &Splitter::Auto { n_splits: 3 }, "decision_function", "decision_two", 1e-6);
    assert_eq!(made.iter().map(|output| output.name.as_str()).collect::<Vec<_>>(), ["decision"]);
}

#[test]
fn predictions_that_cannot_be_made_say_why() {
    let (iris, diabetes) = (classification("iris"), regression("diabetes"));
    let error = |spec: &Spec, data: &Data, cv: &Splitter, method: &str| {
        cross_val_predict(spec, data, cv, method, &Run::silent()).unwrap_err()
    };
    let ridge = Spec::new("Ridge");
    let twice = Splitter::RepeatedKFold { n_splits: 3, n_repeats: 2, random_state: 0 };
    let made = error(&ridge, &diabetes, &twice, "predict");
    assert_eq!(made.message, "the splitter tests row 0 2 times, and each row must be tested once");
    let never = Splitter::TimeSeriesSplit { n_splits: 3, gap: 0, test_size: None, max_train_size: None };
    assert_eq!(error(&ridge, &diabetes, &never, "predict").kind, ErrorKind::Split);
    let made = error(&ridge, &diabetes, &kfold(3), "predict_probas");
    assert_eq!(
        (made.message.as_str(), made.help[0].as_str()),
        ("there is no method `predict_probas`", "did you mean `predict_proba`?")
    );
    let made = error(&ridge, &diabetes, &kfold(3), "predict_proba");
    assert_eq!(made.message, "Ridge predicts no probabilities: the target has no classes");
    let made = error(&Spec::new("GaussianNB"), &iris, &Splitter::Auto { n_splits: 3 }, "decision_function");
    assert_eq!(made.message, "GaussianNB predicts no scores of classes (`decision_function`)");
    // Consecutive folds: each training set has two of three classes, and one column.
    let made = error(&scaled(), &iris, &kfold(3), "decision_function");
    assert!(made.message.starts_with("the training rows of a fold have 2 classes of 3"), "{made}");
}

#[test]
fn learning_curves_are_those_of_scikit_learn() {
    let (file, data) = (&expected("validation.json")["curves"], regression("diabetes"));
    let spec = Spec::new("Ridge").with("alpha", 0.5);
    let shares = |shares: &[f64]| shares.iter().map(|share| Size::Share(*share)).collect::<Vec<Size>>();
    let cases = [
        ("shares", shares(&[0.1, 0.33, 1.0]), false),
        ("rows", vec![Size::Rows(200), Size::Rows(50)], true),
        ("shuffled", shares(&[0.05, 1.0]), true),
    ];
    let curve = |sizes: Vec<Size>, shuffle: bool| {
        let sizes = TrainSizes { sizes, shuffle, random_state: 8 };
        onrush_learn::learning_curve(&spec, &data, &kfold(4), &sizes, &[], &Run::silent())
    };
    for (name, sizes, shuffle) in cases {
        let found = curve(sizes, shuffle).unwrap();
        let numbers_of_rows: Vec<f64> = found.iter().step_by(4).map(|(rows, _)| *rows as f64).collect();
        assert_eq!(numbers_of_rows, numbers(&file[name]["sizes"]), "{name}");
        let test: Vec<f64> = found.iter().map(|(_, fold)| fold.test[0].1).collect();
        assert_close(&test, &numbers(&file[name]["test"]), 1e-10, name);
        let train: Vec<f64> = found.iter().map(|(_, fold)| fold.train[0].1).collect();
        assert_close(&train, &numbers(&file[name]["train"]), 1e-10, name);
    }
    let message = |sizes: Vec<Size>| curve(sizes, false).unwrap_err().message;
    assert_eq!(message(vec![]), "`train_sizes` is empty: at least one number or share");
    assert_eq!(message(shares(&[0.5, 1.5])), "`train_sizes` has 1.5: a share is above 0 and at most 1");
    let wanted = "`train_sizes` has 332: from 1 to 331, the training rows of the first fold";
    assert_eq!(message(vec![Size::Rows(332)]), wanted);
    // The first rows of iris are of one class.
    let sizes = TrainSizes { sizes: vec![Size::Rows(10)], shuffle: false, random_state: 0 };
    let (logistic, iris) = (Spec::new("LogisticRegression"), classification("iris"));
    let error = onrush_learn::learning_curve(&logistic, &iris, &kfold(5), &sizes, &[], &Run::silent()).unwrap_err();
    assert!(error.help.iter().any(|help| help.contains("shuffle(true)")), "{error:?}");
}

fn search(refit: impl Into<Param>, scoring: impl Into<Param>) -> Spec {
    let alphas = Grid::List([0.001, 0.1, 10.0, 1.0].map(Param::Float).to_vec());
    Spec {
        parts: vec![part("estimator", Spec::new("Ridge"))],
        grid: vec![("alpha".to_string(), alphas)],
        cv: Some(Splitter::Auto { n_splits: 4 }),
        ..Spec::new("GridSearchCV").with("scoring", scoring).with("refit", refit)
    }
}

#[test]
fn a_search_has_columns_for_each_scorer() {
    let (file, data) = (&expected("validation.json")["searches"], regression("diabetes"));
    let scorers = ["r2", "neg_max_error", "neg_mean_absolute_error"];
    let fitted = fit(&search("neg_max_error", scorers).with("return_train_score", true), &data);
    let results = columns(fitted.attribute("results").unwrap());
    for (name, values) in file.as_object().unwrap() {
        if name != "best" {
            assert_close(&results[name], &numbers(values), 1e-10, name);
        }
    }
    let best = numbers(&file["best"]);
    assert_eq!(fitted.attribute("best_index"), Some(Attribute::Int(best[0] as i64)));
    assert!(matches!(fitted.attribute("best_score"), Some(Attribute::Float(score)) if (score - best[1]).abs() < 1e-8));
    // A file keeps the tables.
    let bytes = onrush_learn::save::to_bytes(&fitted).unwrap();
    let again = onrush_learn::save::from_bytes(&bytes).unwrap();
    assert_eq!(again.attribute("results"), fitted.attribute("results"));
    // One scorer has scikit-learn's names without it.
    let plain = columns(fit(&search(true, "r2").with("return_train_score", true), &data).attribute("results").unwrap());
    assert_eq!(plain["mean_test_score"], results["mean_test_r2"]);
    assert_eq!(plain["split3_train_score"], results["split3_train_r2"]);
    assert!(fit(&search(false, scorers), &data).outputs().is_empty());
    // Without a name the first scorer decides.
    let first = fit(&search(true, scorers), &data);
    assert_eq!(first.attribute("best_index"), fit(&search(true, "r2"), &data).attribute("best_index"));
    assert!(first.model().notes()[0].starts_with("`r2`, the first of the scorers, decides"));
}

#[test]
fn parameters_of_searches_that_do_not_fit_say_why() {
    let data = regression("diabetes");
    let message = |spec: &Spec| onrush_learn::fit(spec, &data, &Run::silent()).err().unwrap().message;
    assert_eq!(message(&search("max", ["r2"])), "`refit` is `max`: one of the scorers, which are r2");
    assert_eq!(message(&search(true, ["r2", "r2"])), "`scoring` has `r2` twice");
    assert_eq!(message(&search(true, 3)), "`scoring` is 3: a name of a scorer, or a list of names");
    assert_eq!(message(&search(true, ["r2", "f1"])), "`f1` scores classes, and the target has none");
    assert_eq!(message(&search(1, "r2")), "`refit` is 1: true, false or the name of a scorer");
    let spec = search(true, "r2").with("error_score", "rise");
    assert_eq!(message(&spec), "`error_score` is rise: a number or \"raise\"");
}

#[test]
fn a_failed_fold_is_recorded_scored_or_raised() {
    let data = regression("diabetes");
    // Five neighbours of rows that are no more than three.
    let neighbors = Grid::List([2, 400].map(Param::from).to_vec());
    let spec = |error_score: Param| Spec {
        parts: vec![part("estimator", Spec::new("KNeighborsRegressor"))],
        grid: vec![("n_neighbors".to_string(), neighbors.clone())],
        ..Spec::new("GridSearchCV").with("error_score", error_score)
    };
    let states = |fitted: &onrush_learn::FittedModel| {
        let Some(Attribute::Frame(columns)) = fitted.attribute("results") else { panic!() };
        columns.into_iter().find(|(name, _)| name == "state").unwrap().1
    };
    let fitted = fit(&spec(Param::None), &data);
    assert_eq!(states(&fitted), Values::Strs(vec!["done".to_string(), "failed".to_string()]));
    let fitted = fit(&spec(Param::Float(-5.0)), &data);
    assert_eq!(states(&fitted), Values::Strs(vec!["done".to_string(), "done".to_string()]));
    assert_eq!(columns(fitted.attribute("results").unwrap())["mean_test_score"][1], -5.0);
    let error = onrush_learn::fit(&spec(Param::from("raise")), &data, &Run::silent()).err().unwrap();
    assert!(error.message.starts_with("`n_neighbors` is 400"), "{error}");
}

#[test]
fn a_stopped_search_at_the_end_of_a_pipeline_keeps_its_best() {
    let data = regression("diabetes");
    let alphas = Grid::List((0..400).map(|i| Param::Float(1.0 + f64::from(i))).collect());
    let last = Spec {
        parts: vec![part("estimator", Spec::new("Ridge"))],
        grid: vec![("alpha".to_string(), alphas)],
        ..Spec::new("GridSearchCV")
    };
    let parts = vec![part("standardscaler", Spec::new("StandardScaler")), part("gridsearchcv", last)];
    let spec = Spec { parts, ..Spec::new("Pipeline") };
    assert!(spec.ends_with_search() && !spec.is_search());
    let asked = AtomicUsize::new(0);
    let is_stopped = || asked.fetch_add(1, Ordering::Relaxed) > 500;
    let run = Run { is_stopped: &is_stopped, ..Run::silent() };
    let fitted = onrush_learn::fit(&spec, &data, &run).unwrap_or_else(|e| panic!("{e}"));
    assert!(fitted.model().notes()[0].contains("stopped after "), "{:?}", fitted.model().notes());
    assert!(onrush_learn::select::score("r2", &fitted, &data).unwrap() > 0.3);
    // A search of a fold that was stopped is not a result.
    asked.store(0, Ordering::Relaxed);
    assert!(cross_validate(&spec, &data, &kfold(2), &[], false, &run).unwrap_err().is_stopped());
}

#[test]
fn capital_letters_of_scikit_learn_are_aliases() {
    let cancer = classification("breast_cancer");
    let spec = |path: &str| Spec {
        parts: vec![part("estimator", scaled())],
        grid: vec![(path.to_string(), Grid::List([0.01, 1.0].map(Param::Float).to_vec()))],
        ..Spec::new("GridSearchCV")
    };
    let scores = |path: &str| columns(fit(&spec(path), &cancer).attribute("results").unwrap());
    let (big, small) = (scores("logisticregression__C"), scores("logisticregression__c"));
    assert_eq!(big["mean_test_score"], small["mean_test_score"]);
    assert!(big.contains_key("param_logisticregression__C"));
    assert_eq!(Spec::new("LogisticRegression").with("C", 2.0), Spec::new("LogisticRegression").with("c", 2.0));
}

#[test]
fn importances_by_scorers_and_curves_of_classes_are_those_of_scikit_learn() {
    let file = &expected("validation.json")["importances"];
    let mut cancer = classification("breast_cancer");
    cancer.features.truncate(6);
    let fitted = fit(&Spec::new("GaussianNB"), &cancer);
    for scorer in ["roc_auc", "neg_log_loss"] {
        let what =
            Evaluation::PermutationImportance { n_repeats: 7, scoring: Some(scorer.to_string()), random_state: 4 };
        let found = columns(evaluate(&fitted, &cancer, &what, &Run::silent()).unwrap());
        let found = [found["importance_mean"].clone(), found["importance_std"].clone()].concat();
        assert_close(&found, &numbers(&file[scorer]), 1e-8, scorer);
    }
    let iris = classification("iris");
    let fitted = fit(&Spec::new("GaussianNB"), &iris);
    let what = Evaluation::Roc { class: Some(Value::Int(1)) };
    let found = columns(evaluate(&fitted, &iris, &what, &Run::silent()).unwrap());
    assert_close(&[found["fpr"].clone(), found["tpr"].clone()].concat(), &numbers(&file["roc_1"]), 1e-12, "roc");
}

#[test]
fn boosted_models_stop_early_on_the_test_rows_of_folds() {
    let (file, data) = (&expected("validation.json")["boosted"], regression("diabetes"));
    let spec = Spec::new("XGBRegressor").with("n_estimators", 60).with("max_depth", 3).with("early_stopping_rounds", 4);
    let plain = Spec { params: Vec::new(), ..spec.clone() }.with("n_estimators", 1);
    if onrush_learn::fit(&plain, &data, &Run::silent()).is_err_and(|e| e.kind == ErrorKind::XgboostMissing) {
        eprintln!("skipped, because there is no library of XGBoost");
        return;
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let folds = cross_validate(&spec, &data, &kfold(3), &[], false, &Run::silent()).unwrap();
        let rounds: Vec<f64> = folds.iter().map(|fold| fold.best_iteration.unwrap() as f64).collect();
        assert_eq!(rounds, numbers(&file["rounds"]));
        let scores: Vec<f64> = folds.iter().map(|fold| fold.test[0].1).collect();
        assert_close(&scores, &numbers(&file["scores"]), 1e-6, "scores");
        let predicted = &cross_val_predict(&spec, &data, &kfold(3), "predict", &Run::silent()).unwrap()[0].values;
        let found: Vec<f64> = predicted.iter().copied().step_by(7).collect();
        assert_close(&found, &numbers(&file["predicted"]), 1e-6, "predicted");
        // A search trains the best trial on all rows for the mean number of rounds.
        let search = Spec {
            parts: vec![part("estimator", spec.clone())],
            grid: vec![("max_depth".to_string(), Grid::List(vec![Param::Int(3)]))],
            cv: Some(kfold(3)),
            ..Spec::new("GridSearchCV")
        };
        let fitted = fit(&search, &data);
        let all = numbers(&file["all"]);
        assert_eq!(fitted.attribute("n_iter"), Some(Attribute::Int(all[0] as i64)));
        let score = onrush_learn::select::score("r2", &fitted, &data).unwrap();
        assert!((score - all[1]).abs() < 1e-6, "{score}");
        assert!(columns(fitted.attribute("results").unwrap()).contains_key("mean_best_iteration"));
        // An evaluation set that was given stays.
        let given = Data { eval: vec![data.take(&[0, 1, 2, 3, 4, 5, 6, 7])], ..data.clone() };
        let other = cross_validate(&spec, &given, &kfold(3), &[], false, &Run::silent()).unwrap();
        assert!(other.iter().zip(&folds).any(|(a, b)| a.best_iteration != b.best_iteration));
    });
}
