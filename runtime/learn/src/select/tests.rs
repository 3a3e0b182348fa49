//! Searches, scores and evaluations against scikit-learn 1.9.1 (`tests/learn/expect_select.py`), with a small model
//! that is only here.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use onrush_dense::{Matrix, solve_positive, transpose_multiply};
use onrush_wire::Value;
use onrush_wire::learn::{Detail, Evaluation, Grid, Part, Spec, Splitter};
use parking_lot::Mutex;

use super::candidates;
use super::evaluate::evaluate;
use super::score::{self, score};
use super::search;
use super::validate::cross_validate;
use crate::data::{Column, Data};
use crate::error::{Error, ErrorKind};
use crate::estimators::slopes::Slopes;
use crate::estimators::{FittedModel, Search, trained};
use crate::model::{Attribute, Model, Role, Values};
use crate::params::Ridge;
use crate::run::Run;
use crate::save;
use crate::tensor::Tensor;

/// Trains [`Slopes`]. A penalty above 1e6 fails.
fn train(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<FittedModel, Error> {
    run.check(|| "nothing".to_string())?;
    let alpha = Ridge::of(spec).alpha;
    if alpha > 1e6 {
        return Err(Error::new(ErrorKind::Fit, "the penalty is too strong"));
    }
    let x = data.matrix();
    let mut gram = transpose_multiply(&x, &x);
    (0..x.columns).for_each(|j| gram.set(j, j, gram.at(j, j) + alpha));
    let classes = data.classes.len();
    let lines = if classes > 2 { classes } else { 1 };
    let target = |k: usize, y: f64| match classes {
        0 => y,
        2 => 2.0 * y - 1.0,
        _ => {
            if y as usize == k {
                1.0
            } else {
                -1.0
            }
        }
    };
    let y: Vec<f64> = (0..lines).flat_map(|k| data.y.iter().map(move |y| target(k, *y))).collect();
    let right = transpose_multiply(&x, &Matrix::new(data.rows, lines, y));
    let coef = solve_positive(&gram, &right).unwrap().data;
    let model = Slopes { coef: Tensor::new(vec![lines, x.columns], coef), classes };
    Ok(FittedModel::new(spec, data, model.into()))
}

fn folder() -> std::path::PathBuf {
    std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/learn")
}

fn expected(section: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(folder().join("select.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()[section].clone()
}

fn numbers(value: &serde_json::Value) -> Vec<f64> {
    match value {
        serde_json::Value::Array(values) => values.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().unwrap_or(f64::NAN)],
    }
}

/// A set of `tests/learn/data` with the features at these positions.
fn load(name: &str, features: std::ops::Range<usize>) -> Data {
    let text = std::fs::read_to_string(folder().join(format!("data/{name}.csv"))).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|v| v.parse().unwrap()).collect()).collect();
    let column = |j: usize| rows.iter().map(|r| r[j]).collect::<Vec<f64>>();
    let y = column(names.len() - 1);
    let features = features.map(|j| Column::number(names[j], column(j))).collect();
    Data { y, target: "target".to_string(), ..Data::new(features) }
}

fn diabetes() -> Data {
    load("diabetes", 2..6)
}

/// Iris: three classes, or the last two.
fn iris(classes: usize) -> Data {
    let data = load("iris", 0..4);
    let rows: Vec<usize> = (0..data.rows).filter(|r| data.y[*r] as usize + classes >= 3).collect();
    let mut data = data.take(&rows);
    data.y.iter_mut().for_each(|y| *y -= (3 - classes) as f64);
    data.classes = (0..classes).map(|k| format!("kind {k}")).collect();
    data
}

fn close(found: &[f64], wanted: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let scale = wanted.iter().filter(|v| v.is_finite()).fold(f64::MIN_POSITIVE, |a, b| a.max(b.abs()));
    for (i, (a, b)) in found.iter().zip(wanted).enumerate() {
        assert!(a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * scale, "{what} {i}: {a}, not {b}");
    }
}

fn frame(attribute: Attribute) -> BTreeMap<String, Values> {
    match attribute {
        Attribute::Frame(columns) => columns.into_iter().collect(),
        other => panic!("{other:?}"),
    }
}

fn floats(values: &Values) -> Vec<f64> {
    match values {
        Values::Floats(values) => values.clone(),
        Values::Ints(values) => values.iter().map(|v| *v as f64).collect(),
        other => panic!("{other:?}"),
    }
}

fn searching(estimator: &str, grid: Vec<(&str, Grid)>) -> Spec {
    let part = Part { name: "estimator".to_string(), columns: Vec::new(), spec: Spec::new("Ridge") };
    let grid = grid.into_iter().map(|(path, grid)| (path.to_string(), grid)).collect();
    Spec { parts: vec![part], grid, ..Spec::new(estimator) }
}

fn list(values: &[f64]) -> Grid {
    Grid::List(values.iter().map(|v| (*v).into()).collect())
}

const ALPHAS: [f64; 5] = [0.001, 0.1, 10.0, 0.01, 0.1];

fn search(spec: &Spec, data: &Data) -> (Search, FittedModel) {
    let made = || search::fit(spec, data, &Run::silent(), &train).unwrap_or_else(|e| panic!("{e}"));
    (made(), FittedModel::new(spec, data, made().into()))
}

fn results(search: &Search) -> BTreeMap<String, Values> {
    frame(search.attribute("results", &[], &[]).unwrap())
}

fn compare(spec: &Spec, name: &str) {
    let file = &expected("searches")[name];
    let data = diabetes();
    let (search, fitted) = search(spec, &data);
    let results = results(&search);
    close(&floats(&results["param_alpha"]), &numbers(&file["alpha"]), 1e-14, &format!("{name} alpha"));
    close(&floats(&results["mean_test_score"]), &numbers(&file["mean"]), 1e-11, &format!("{name} mean"));
    close(&floats(&results["std_test_score"]), &numbers(&file["std"]), 1e-11, &format!("{name} std"));
    close(&floats(&results["rank_test_score"]), &numbers(&file["rank"]), 0.0, &format!("{name} rank"));
    let folds = results.keys().filter(|k| k.starts_with("split")).count();
    let columns: Vec<Vec<f64>> = (0..folds).map(|k| floats(&results[&format!("split{k}_test_score")])).collect();
    let found: Vec<f64> = (0..columns[0].len()).flat_map(|i| columns.iter().map(move |c| c[i])).collect();
    close(&found, &numbers(&file["folds"]), 1e-11, &format!("{name} folds"));
    let best = numbers(&file["best"]);
    assert_eq!(fitted.attribute("best_index"), Some(Attribute::Int(best[0] as i64)), "{name}");
    assert!(matches!(fitted.attribute("best_score"), Some(Attribute::Float(s)) if (s - best[1]).abs() < 1e-10));
    let coef = frame(fitted.attribute("coef").unwrap());
    close(&floats(&coef["coef"]), &numbers(&file["coef"]), 1e-10, &format!("{name} coef"));
}

#[test]
fn searches_find_what_scikit_learn_finds() {
    let grid = || vec![("tol", list(&[0.1, 0.2])), ("alpha", list(&ALPHAS))];
    let folds = Splitter::KFold { n_splits: 4, shuffle: false, random_state: 0 };
    compare(&Spec { cv: Some(folds), ..searching("GridSearchCV", grid()) }, "grid");
    compare(&searching("GridSearchCV", grid()).with("scoring", "neg_mean_absolute_error"), "grid_mae");
    let powers: Vec<f64> = numbers(&expected("searches")["random_lists"]["alpha"]);
    assert_eq!(powers.len(), 7);
    let geometric: Vec<f64> = (0..9).map(|i| 10f64.powf(-3.0 + 0.5 * f64::from(i))).collect();
    let lists = vec![("alpha", list(&geometric)), ("tol", list(&[0.1, 0.2, 0.3]))];
    let random = |grid| searching("RandomizedSearchCV", grid).with("random_state", 3);
    compare(&random(lists).with("n_iter", 7), "random_lists");
    compare(&random(vec![("alpha", Grid::LogUniform(1e-3, 10.0))]).with("n_iter", 6), "random");
}

#[test]
fn a_saved_search_predicts_the_same_bits() {
    let (data, spec) = (diabetes(), searching("GridSearchCV", vec![("alpha", list(&ALPHAS))]));
    let (_, fitted) = search(&spec, &data);
    let (_, again) = search(&spec, &data);
    let loaded = save::from_bytes(&save::to_bytes(&fitted).unwrap()).unwrap();
    let predicted = |fitted: &FittedModel| fitted.apply(&data, &[0]).unwrap();
    assert_eq!(predicted(&fitted), predicted(&again));
    assert_eq!(predicted(&fitted), predicted(&loaded));
    assert_eq!(fitted.attribute("results"), loaded.attribute("results"));
    assert_eq!(fitted.outputs(), vec![("prediction".to_string(), Role::Prediction)]);
    // A file whose best trial is not there is refused.
    let Attribute::Int(best) = fitted.attribute("best_index").unwrap() else { panic!() };
    let mut bytes = save::to_bytes(&fitted).unwrap();
    let place = format!("\\\"best_index\\\":{best},").into_bytes();
    let at = bytes.windows(place.len()).position(|w| w == place).unwrap();
    bytes[at + place.len() - 2] = b'9';
    let error = save::from_bytes(&bytes).err().unwrap();
    assert!(error.message.contains("no trial at the position"), "{error}");
}

#[test]
fn a_failing_trial_is_recorded_and_the_search_goes_on() {
    let (data, spec) = (diabetes(), searching("GridSearchCV", vec![("alpha", list(&[1e7, 1.0, 1e8]))]));
    let (search, _) = search(&spec, &data);
    let results = results(&search);
    assert_eq!(results["state"], Values::Strs(["failed", "done", "failed"].map(String::from).to_vec()));
    assert_eq!(floats(&results["rank_test_score"]), [2.0, 1.0, 2.0]);
    assert!(floats(&results["mean_test_score"])[0].is_nan());
    assert_eq!(search.notes(), ["2 of 3 trials failed, the first with: the penalty is too strong"]);
    let all = searching("GridSearchCV", vec![("alpha", list(&[1e7, 1e8]))]);
    let error = search::fit(&all, &data, &Run::silent(), &train).err().unwrap();
    assert_eq!(error.message, "all 2 trials failed, the first with: the penalty is too strong");
}

#[test]
fn a_stopped_search_keeps_its_best_complete_trial() {
    let data = diabetes();
    let alphas: Vec<f64> = (0..400).map(|i| 1.0 + f64::from(i)).collect();
    let spec = searching("GridSearchCV", vec![("alpha", list(&alphas))]);
    let (trained, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let counted = |spec: &Spec, data: &Data, run: &Run<'_>| {
        if trained.fetch_add(1, Ordering::Relaxed) > 300 {
            stopped.store(true, Ordering::Relaxed);
        }
        train(spec, data, run)
    };
    let run = Run { is_stopped: &|| stopped.load(Ordering::Relaxed), ..Run::silent() };
    let search = search::fit(&spec, &data, &run, &counted).unwrap_or_else(|e| panic!("{e}"));
    assert!(search.notes()[0].starts_with("stopped after "), "{:?}", search.notes());
    assert!(search.apply(&data, &[0]).is_ok());
    let run = Run { is_stopped: &|| true, ..Run::silent() };
    let error = search::fit(&spec, &data, &run, &train).err().unwrap();
    assert!(error.is_stopped() && error.message == "stopped before one of 400 trials was complete", "{error}");
}

#[test]
fn a_search_whose_last_training_fails_keeps_its_trials() {
    let (data, spec) = (diabetes(), searching("GridSearchCV", vec![("alpha", list(&ALPHAS))]));
    let small = |spec: &Spec, part: &Data, run: &Run<'_>| match part.rows == data.rows {
        true => Err(Error::stopped("stopped after 3 rounds")),
        false => train(spec, part, run),
    };
    let made = search::fit(&spec, &data, &Run::silent(), &small).unwrap_or_else(|e| panic!("{e}"));
    let fitted = FittedModel::new(&spec, &data, made.into());
    let loaded = save::from_bytes(&save::to_bytes(&fitted).unwrap()).unwrap();
    let wanted = "the best parameters were not trained on all rows: stopped after 3 rounds";
    let (_, trained) = search(&spec, &data);
    for fitted in [&fitted, &loaded] {
        assert_eq!(fitted.model().notes(), [wanted]);
        assert_eq!(fitted.apply(&data, &[]).unwrap_err().message, wanted);
        assert_eq!(fitted.attribute("best_score"), trained.attribute("best_score"));
    }
}

#[test]
fn a_search_refuses_missing_values_that_its_best_model_does_not_take() {
    let (data, spec) = (diabetes(), searching("GridSearchCV", vec![("alpha", list(&ALPHAS))]));
    let (_, fitted) = search(&spec, &data);
    let mut hole = data.clone();
    hole.features[0].values[7] = f64::NAN;
    let error = fitted.apply(&hole, &[0]).unwrap_err();
    assert_eq!(error.message, "`bmi` has 1 null in 442 rows, and Ridge takes no missing values");
}

#[test]
fn a_search_without_a_defined_score_survives_a_file() {
    let spec = Spec { cv: Some(Splitter::LeaveOneOut), ..searching("GridSearchCV", vec![("alpha", list(&[1.0]))]) };
    // r2 of a single row is not defined.
    let data = diabetes().take(&[0, 1, 2, 3, 4, 5, 6, 7]);
    let (_, fitted) = search(&spec, &data);
    let loaded = save::from_bytes(&save::to_bytes(&fitted).unwrap()).unwrap();
    let Some(Attribute::Float(score)) = loaded.attribute("best_score") else { panic!() };
    assert!(score.is_nan());
}

#[test]
fn many_classes_have_an_accuracy_and_no_table() {
    let values: Vec<f64> = (0..2100).map(f64::from).collect();
    let classes = (0..2100).map(|class| class.to_string()).collect();
    let data =
        Data { y: values.clone(), classes, target: "y".to_string(), ..Data::new(vec![Column::number("x", values)]) };
    let spec = Spec::new("KNeighborsClassifier").with("n_neighbors", 1);
    let fitted = FittedModel::new(
        &spec,
        &data,
        trained(&spec, &data, &Run::silent()).unwrap().unwrap_or_else(|e| panic!("{e}")),
    );
    assert_eq!(score("", &fitted, &data), Ok(1.0));
    let wanted = "needs a table of 2100 x 2100 classes: at most 2048";
    assert_eq!(score("f1_macro", &fitted, &data).unwrap_err().message, format!("`f1_macro` {wanted}"));
    let error = evaluate(&fitted, &data, &Evaluation::ConfusionMatrix, &Run::silent()).unwrap_err();
    assert_eq!(error.message, format!("a confusion matrix {wanted}"));
}

#[test]
fn cross_validation_of_many_rows_ends_with_its_first_error() {
    let values: Vec<f64> = (0..20_001).map(f64::from).collect();
    let data = Data { y: values.clone(), target: "y".to_string(), ..Data::new(vec![Column::number("x", values)]) };
    let trained = AtomicUsize::new(0);
    let fails = |_: &Spec, _: &Data, _: &Run<'_>| {
        let number = trained.fetch_add(1, Ordering::Relaxed);
        Err(Error::new(ErrorKind::Fit, format!("training {number} failed")))
    };
    let folds = Splitter::KFold { n_splits: 5, shuffle: false, random_state: 0 };
    let spec = Spec::new("Ridge");
    let error = cross_validate(&spec, &data, &folds, &[], false, &Run::silent(), &fails).unwrap_err();
    assert_eq!((error.message.as_str(), trained.load(Ordering::Relaxed)), ("training 0 failed", 1));
    let spec = Spec { cv: Some(folds), ..searching("GridSearchCV", vec![("alpha", list(&[1.0, 2.0]))]) };
    assert!(search::fit(&spec, &data, &Run::silent(), &fails).is_err());
    assert_eq!(trained.load(Ordering::Relaxed), 3, "a fold of each trial");
}

#[test]
fn evaluations_stop() {
    let (data, stopped) = (diabetes(), Run { is_stopped: &|| true, ..Run::silent() });
    let fitted = train(&Spec::new("Ridge"), &data, &Run::silent()).unwrap();
    let importance = Evaluation::PermutationImportance { n_repeats: 2, scoring: None, random_state: 0 };
    let dependence = Evaluation::PartialDependence { feature: "bmi".to_string(), grid: 5 };
    for what in [importance, dependence] {
        assert!(evaluate(&fitted, &data, &what, &stopped).unwrap_err().is_stopped(), "{what:?}");
    }
}

#[test]
fn pruning_ends_hopeless_trials_and_keeps_the_winner() {
    let data = diabetes();
    let alphas = [1e5, 0.01, 3e4, 0.5, 1e4, 1e3, 0.1];
    let folds = Splitter::KFold { n_splits: 8, shuffle: true, random_state: 0 };
    let spec = Spec { cv: Some(folds), ..searching("GridSearchCV", vec![("alpha", list(&alphas))]) };
    let plain = search::fit(&spec, &data, &Run::silent(), &train).unwrap_or_else(|e| panic!("{e}"));
    let seen = Mutex::new(Vec::new());
    let run = Run { detail: &|detail| seen.lock().push(detail), ..Run::silent() };
    let raced = search::fit(&spec.clone().with("prune", true), &data, &run, &train).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(plain.attribute("best_index", &[], &[]), raced.attribute("best_index", &[], &[]));
    let Values::Strs(states) = &results(&raced)["state"] else { panic!() };
    assert!(states.iter().any(|s| s == "pruned") && states.iter().any(|s| s == "done"), "{states:?}");
    let Some(Detail::Trials(last)) = seen.into_inner().pop() else { panic!() };
    assert_eq!(last.len(), alphas.len());
    assert!(last.iter().all(|t| t.state == "done" || t.state == "pruned"), "{last:?}");
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let prune = spec.with("prune", true);
    let alone = one.install(|| search::fit(&prune, &data, &Run::silent(), &train)).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(results(&alone)["state"], results(&raced)["state"]);
}

#[test]
fn equal_proposals_are_trained_once() {
    let (data, trained) = (diabetes(), AtomicUsize::new(0));
    let counted = |spec: &Spec, data: &Data, run: &Run<'_>| {
        trained.fetch_add(1, Ordering::Relaxed);
        train(spec, data, run)
    };
    let spec = searching("TpeSearchCV", vec![("alpha", list(&[0.1, 1.0, 10.0]))]).with("n_iter", 60);
    let made = search::fit(&spec, &data, &Run::silent(), &counted).unwrap_or_else(|e| panic!("{e}"));
    let Values::Strs(states) = &results(&made)["state"] else { panic!() };
    assert!(states.len() == 60 && states.iter().all(|state| state == "done"));
    // Ten trials at the start run at the same time, on five folds each. The last training is that of the best.
    assert!(trained.load(Ordering::Relaxed) <= 51 + 15, "{trained:?}");
}

#[test]
fn failing_proposals_are_recorded_and_the_search_goes_on() {
    let data = diabetes();
    let spec = searching("TpeSearchCV", vec![("alpha", Grid::LogUniform(1e-2, 1e10))]).with("n_iter", 30);
    let made = search::fit(&spec, &data, &Run::silent(), &train).unwrap_or_else(|e| panic!("{e}"));
    let Values::Strs(states) = &results(&made)["state"] else { panic!() };
    let failed = states.iter().filter(|state| *state == "failed").count();
    assert!(states.len() == 30 && failed > 0 && failed < 30, "{failed}");
    assert!(made.notes()[0].starts_with(&format!("{failed} of 30 trials failed, the first with: the penalty")));
    let error = search::fit(&spec.with("error_score", "raise"), &data, &Run::silent(), &train).err().unwrap();
    assert_eq!(error.message, "the penalty is too strong");
}

#[test]
fn stopped_searches_of_growing_trials_keep_the_best() {
    let data = diabetes();
    for (spec, last) in [
        (searching("TpeSearchCV", vec![("alpha", Grid::LogUniform(1e-2, 1e2))]).with("n_iter", 40), 90),
        (searching("HalvingGridSearchCV", vec![("alpha", list(&[0.01, 0.1, 1.0, 10.0]))]), 24),
    ] {
        let (trained, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let counted = |spec: &Spec, data: &Data, run: &Run<'_>| {
            if trained.fetch_add(1, Ordering::Relaxed) == last {
                stopped.store(true, Ordering::Relaxed);
            }
            train(spec, data, run)
        };
        let run = Run { is_stopped: &|| stopped.load(Ordering::Relaxed), ..Run::silent() };
        let made = search::fit(&spec, &data, &run, &counted).unwrap_or_else(|e| panic!("{e}"));
        assert!(made.notes().iter().any(|note| note.starts_with("stopped after ")), "{:?}", made.notes());
        assert!(made.apply(&data, &[0]).is_ok());
        let run = Run { is_stopped: &|| true, ..Run::silent() };
        let error = search::fit(&spec, &data, &run, &train).err().unwrap();
        assert!(error.is_stopped(), "{error}");
    }
}

#[test]
fn a_saved_halving_has_its_iterations() {
    let alphas: Vec<f64> = (0..9).map(f64::from).collect();
    let (data, spec) = (diabetes(), searching("HalvingGridSearchCV", vec![("alpha", list(&alphas))]));
    let (_, fitted) = search(&spec, &data);
    let loaded = save::from_bytes(&save::to_bytes(&fitted).unwrap()).unwrap();
    assert!(matches!(fitted.attribute("iterations"), Some(Attribute::Frame(_))));
    assert_eq!(fitted.attribute("iterations"), loaded.attribute("iterations"));
    assert_eq!(fitted.attribute("results"), loaded.attribute("results"));
}

#[test]
fn cross_validation_gives_the_scores_of_scikit_learn() {
    let file = &expected("searches")["cross_validate"];
    let folds = cross_validate(
        &Spec::new("Ridge"),
        &diabetes(),
        &Splitter::Auto { n_splits: 3 },
        &["r2".to_string(), "neg_max_error".to_string()],
        true,
        &Run::silent(),
        &train,
    )
    .unwrap();
    assert_eq!(folds.iter().map(|f| f.fold).collect::<Vec<usize>>(), [0, 1, 2]);
    for (i, name) in ["r2", "neg_max_error"].into_iter().enumerate() {
        let found: Vec<f64> = folds.iter().map(|f| f.test[i].1).collect();
        close(&found, &numbers(&file[format!("test_{name}")]), 1e-11, name);
        let found: Vec<f64> = folds.iter().map(|f| f.train[i].1).collect();
        close(&found, &numbers(&file[format!("train_{name}")]), 1e-11, name);
    }
}

#[test]
fn scorers_are_those_of_scikit_learn() {
    let file = expected("scorers");
    let names: Vec<&str> = file["names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    let ours = score::names();
    assert_eq!(names.iter().filter(|n| !ours.contains(n)).collect::<Vec<_>>(), Vec::<&&str>::new());
    for (case, data) in [("three", iris(3)), ("two", iris(2)), ("numbers", diabetes())] {
        let fitted = train(&Spec::new("Ridge").with("alpha", 1.0), &data, &Run::silent()).unwrap();
        let mut compared = 0;
        for (name, wanted) in file[case].as_object().unwrap() {
            // scikit-learn also takes classes as numbers.
            if score::check(name, case != "numbers").is_err() {
                continue;
            }
            if case == "numbers"
                && ["homogeneity_score", "completeness_score", "v_measure_score"].contains(&name.as_str())
            {
                continue;
            }
            close(&[score(name, &fitted, &data).unwrap()], &numbers(wanted), 1e-11, &format!("{case} {name}"));
            compared += 1;
        }
        assert!(compared >= 9, "{case}: {compared}");
    }
}

#[test]
fn scores_that_do_not_fit_say_why() {
    let (three, two, plain) = (iris(3), iris(2), diabetes());
    let fitted = |data: &Data| train(&Spec::new("Ridge"), data, &Run::silent()).unwrap();
    let error = |name: &str, data: &Data| score(name, &fitted(data), data).unwrap_err();
    let made = error("roc_auc", &three);
    assert_eq!(made.message, "`roc_auc` scores two classes, and there are 3");
    assert_eq!(made.help, ["take `roc_auc_ovr` or `roc_auc_ovo`"]);
    let made = error("mean_squared_error", &plain);
    assert_eq!(made.message, "there is no scorer `mean_squared_error`");
    assert_eq!(made.help, ["did you mean `neg_mean_squared_error`?"]);
    assert_eq!(error("acuracy", &two).help, ["did you mean `accuracy`?"]);
    assert_eq!(error("r2", &two).message, "`r2` scores numbers, and the target has classes");
    assert_eq!(error("f1", &plain).message, "`f1` scores classes, and the target has none");
    let rows = Data { y: Vec::new(), ..plain.clone() };
    let made = score("r2", &fitted(&plain), &rows).unwrap_err();
    assert_eq!(made.message, "the rows have no target `target` to compare predictions with");
    // Rows with classes in another order, and with one that the model has not seen.
    let mut other = two.clone();
    other.classes = vec!["kind 1".to_string(), "kind 0".to_string(), "new".to_string()];
    other.y.iter_mut().for_each(|y| *y = 1.0 - *y);
    let model = fitted(&two);
    assert_eq!(score("f1", &model, &other), score("f1", &model, &two));
    other.y[0] = 2.0;
    assert!(score("accuracy", &model, &other).unwrap() < score("accuracy", &model, &two).unwrap() + 1e-12);
    let made = score("neg_log_loss", &model, &other).unwrap_err();
    assert_eq!(made.message, "`target` has class `new`, which the model was not trained on");
    assert!(score("accuracy", &model, &two.take(&[])).unwrap().is_nan());
}

#[test]
fn grids_that_cannot_be_tried_say_why() {
    let data = diabetes();
    let error = |spec: Spec| search::fit(&spec, &data, &Run::silent(), &train).err().unwrap().message;
    let grid = |path: &str, grid: Grid| searching("GridSearchCV", vec![(path, grid)]);
    assert_eq!(error(grid("alpha", list(&[]))), "`alpha` has no values to try");
    assert_eq!(error(grid("alpha", list(&[-1.0]))), "`alpha` is -1.0: at least 0");
    assert_eq!(error(grid("alhpa", list(&[1.0]))), "there is no parameter `alhpa`: did you mean `alpha`?");
    let wanted = "`alpha` is a distribution, and GridSearchCV tries lists of values";
    assert_eq!(error(grid("alpha", Grid::Uniform(0.0, 1.0))), wanted);
    let integers = candidates::grid(&grid("alpha", Grid::Integers(1, 3))).unwrap();
    assert_eq!(integers.iter().map(|c| c[0].1.as_f64().unwrap()).collect::<Vec<f64>>(), [1.0, 2.0, 3.0]);
    let wanted = "`alpha` has 1000001 values from 0 to 1000000: at most 1000000";
    assert_eq!(error(grid("alpha", Grid::Integers(0, 1_000_000))), wanted);
    assert_eq!(error(searching("GridSearchCV", Vec::new())), "GridSearchCV has no parameters to try");
    let random = searching("RandomizedSearchCV", vec![("alpha", Grid::LogUniform(0.0, 1.0))]);
    let wanted = "`alpha` is log-uniform from 0 to 1: the first must be above 0 and less than the second";
    assert_eq!(error(random), wanted);
    let spec = searching("GridSearchCV", vec![("alpha", list(&ALPHAS))]).with("scoring", "r22");
    assert_eq!(error(spec), "there is no scorer `r22`");
    let all = [("alpha", Grid::Integers(i64::MIN, i64::MAX)), ("tol", Grid::Uniform(1.0, 2.0))];
    assert_eq!(candidates::sample(&searching("RandomizedSearchCV", all.to_vec()), 10, 0).unwrap().len(), 10);
    let spec = searching("GridSearchCV", vec![("alpha", list(&ALPHAS))]).with("refit", false);
    let (search, fitted) = search(&spec, &data);
    assert!(fitted.outputs().is_empty() && search.attribute("coef", &[], &[]).is_none());
    let error = fitted.apply(&data, &[]).unwrap_err();
    assert_eq!(error.message, "the search has no model: it was run with `refit` = false");
}

#[test]
fn reports_have_the_numbers_of_scikit_learn() {
    let file = expected("scorers");
    for (case, data) in [("three_report", iris(3)), ("two_report", iris(2))] {
        let fitted = train(&Spec::new("Ridge").with("alpha", 1.0), &data, &Run::silent()).unwrap();
        let report = frame(evaluate(&fitted, &data, &Evaluation::Report, &Run::silent()).unwrap());
        for (i, name) in ["precision", "recall", "f1_score", "support"].into_iter().enumerate() {
            let wanted: Vec<f64> = file[case].as_array().unwrap().iter().map(|row| numbers(&row[i])[0]).collect();
            close(&floats(&report[name]), &wanted, 1e-12, name);
        }
        let confusion = frame(evaluate(&fitted, &data, &Evaluation::ConfusionMatrix, &Run::silent()).unwrap());
        assert_eq!(floats(&confusion["count"]).iter().sum::<f64>(), data.rows as f64);
        let roc = frame(evaluate(&fitted, &data, &Evaluation::Roc { class: None }, &Run::silent()).unwrap());
        assert_eq!(roc.contains_key("class"), case == "three_report");
        let class = Some(Value::Text("kind 1".to_string()));
        let one = frame(
            evaluate(&fitted, &data, &Evaluation::PrecisionRecall { class: class.clone() }, &Run::silent()).unwrap(),
        );
        assert!(!one.contains_key("class") && floats(&one["recall"]).first() == Some(&1.0));
        let bins =
            frame(evaluate(&fitted, &data, &Evaluation::Calibration { class, bins: 5 }, &Run::silent()).unwrap());
        assert_eq!(floats(&bins["count"]).iter().sum::<f64>(), data.rows as f64);
        let class = Some(Value::Text("other".to_string()));
        let error = evaluate(&fitted, &data, &Evaluation::Roc { class }, &Run::silent()).unwrap_err();
        assert!(error.message.starts_with("there is no class `other`: the classes are kind 0, kind 1"), "{error}");
    }
}

#[test]
fn importances_and_dependences_are_those_of_scikit_learn() {
    let (file, data) = (expected("searches"), diabetes());
    let fitted = train(&Spec::new("Ridge"), &data, &Run::silent()).unwrap();
    let what = Evaluation::PermutationImportance { n_repeats: 5, scoring: None, random_state: 7 };
    let found = frame(evaluate(&fitted, &data, &what, &Run::silent()).unwrap());
    let scale = numbers(&file["importance"]);
    close(&[floats(&found["importance_mean"]), floats(&found["importance_std"])].concat(), &scale, 1e-10, "importance");
    let feature = data.features[1].name.clone();
    let what = Evaluation::PartialDependence { feature: feature.clone(), grid: 9 };
    let found = frame(evaluate(&fitted, &data, &what, &Run::silent()).unwrap());
    let values = [floats(&found[&feature]), floats(&found["prediction"])].concat();
    close(&values, &numbers(&file["dependence"]), 1e-11, "dependence");
    let what = Evaluation::PartialDependence { feature: "bpp".to_string(), grid: 9 };
    let error = evaluate(&fitted, &data, &what, &Run::silent()).unwrap_err();
    assert_eq!(error.help, ["did you mean `bp`?"]);
    let error = evaluate(&fitted, &data, &Evaluation::Roc { class: None }, &Run::silent()).unwrap_err();
    assert_eq!(error.message, "an ROC curve needs classes, and Ridge has none");
}
