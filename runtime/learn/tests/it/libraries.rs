//! LightGBM and CatBoost: the same values as their Python packages, their files without them, and files that lie.
//! Expected values come from lightgbm 4.7.0 (`tests/learn/expect_lightgbm.py`) and from catboost 1.2.10
//! (`tests/learn/expect_catboost.py`).

use std::sync::OnceLock;

use onrush_learn::{Attribute, Column, Data, ErrorKind, FittedModel, Param, Run, Spec, Values, save};
use parking_lot::Mutex;
use serde_json::Value;

use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};

/// Calls `work` with as many threads as the expectations had, or says that a library is not installed.
fn with_library(estimator: &str, work: impl FnOnce() + Send) {
    let rounds = if estimator.starts_with("LGBM") { "n_estimators" } else { "iterations" };
    match onrush_learn::fit(&Spec::new(estimator).with(rounds, 1), &plain(20), &Run::silent()) {
        Err(error) if matches!(error.kind, ErrorKind::LightgbmMissing | ErrorKind::CatboostMissing) => {
            eprintln!("skipped, because {error}: {:?}", error.help)
        }
        _ => rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(work),
    }
}

fn plain(rows: usize) -> Data {
    let values: Vec<f64> = (0..rows).map(|i| (i * 7 % 10) as f64).collect();
    let y = values.iter().map(|v| v * 2.0).collect();
    Data { y, target: "target".to_string(), ..Data::new(vec![Column::number("a", values)]) }
}

fn has(case: &Value, change: &str) -> bool {
    case["changes"].as_array().unwrap().iter().any(|c| c == change)
}

/// The data of a case: all rows with the changes of the scripts.
fn data(case: &Value) -> Data {
    let name = case["data"].as_str().unwrap();
    let mut data = match case["kind"].as_str().unwrap() {
        "classifier" => classification(name),
        _ => regression(name),
    };
    let rows = data.rows;
    if has(case, "holes") {
        for (j, column) in data.features.iter_mut().enumerate() {
            let holes = column.values.iter_mut().enumerate().filter(|(i, _)| (i * 7 + j * 3) % 11 == 0);
            holes.for_each(|(_, v)| *v = f64::NAN);
        }
    }
    if has(case, "zeros") {
        let values = data.features.iter_mut().flat_map(|column| &mut column.values);
        values.filter(|v| v.abs() < 0.02).for_each(|v| *v = 0.0);
    }
    if has(case, "categories") {
        let first = &data.features[0].values;
        let kind = |i: usize| Some(format!("k{:02}", (i * 5 + if first[i] > 0.0 { 3 } else { 0 }) % 13));
        let kinds: Vec<Option<String>> = (0..rows).map(kind).collect();
        let level = |i: usize| (!i.is_multiple_of(9)).then(|| format!("l{}", i % 3));
        let levels: Vec<Option<String>> = (0..rows).map(level).collect();
        data.features.push(Column::category("kind", &kinds));
        data.features.push(Column::category("level", &levels));
    }
    if has(case, "mixed target") {
        let kinds = &data.features[data.features.len() - 2].values;
        let level = |i: usize| if i.is_multiple_of(9) { 1.0 } else { (i % 3) as f64 };
        data.y = (0..rows).map(|i| f64::from(u8::from(kinds[i] % 3.0 == level(i)))).collect();
    }
    if has(case, "only categories") {
        let last = data.features.len() - 2;
        data.features.drain(1..last);
    }
    if has(case, "weight") {
        data.weight = Some((0..rows).map(|i| 1.0 + (i % 3) as f64).collect());
    }
    if has(case, "groups") {
        data.groups = Some((0..rows).map(|i| (i / 20) as f64).collect());
        data.y.iter_mut().for_each(|y| *y = (*y / 60.0).floor().min(5.0));
    }
    data
}

/// The rows that train, with the rows for evaluation inside.
fn training(case: &Value, all: &Data) -> Data {
    if !has(case, "eval") {
        return all.clone();
    }
    let number = |i: usize| if has(case, "groups") { i / 20 } else { i };
    let (valid, train): (Vec<usize>, Vec<usize>) = (0..all.rows).partition(|i| number(*i) % 4 == 0);
    let (train, valid) = (all.take(&train), all.take(&valid));
    Data { eval: vec![train.clone(), valid], ..train }
}

fn param(value: &Value) -> Param {
    match value {
        Value::String(text) => Param::Str(text.clone()),
        Value::Bool(value) => Param::Bool(*value),
        Value::Array(values) => Param::List(values.iter().map(param).collect()),
        Value::Number(number) => number.as_i64().map_or_else(|| Param::Float(number.as_f64().unwrap()), Param::Int),
        other => panic!("{other}"),
    }
}

/// The files of expectations, and the beginning of the estimators' names.
const LIBRARIES: [(&str, &str); 2] = [("lightgbm.json", "LGBM"), ("catboost.json", "CatBoost")];

fn spec(library: &str, case: &Value) -> Spec {
    let kind = match case["kind"].as_str().unwrap() {
        "classifier" => "Classifier",
        "ranker" => "Ranker",
        _ => "Regressor",
    };
    let mut spec = Spec::new(&format!("{library}{kind}"));
    let mut extra = Vec::new();
    let known = onrush_wire::learn::info(&spec.estimator).unwrap();
    for (name, value) in case["params"].as_object().unwrap() {
        match known.param(name) {
            Some(_) => spec.set(name, param(value)),
            None => extra.push(Param::List(vec![Param::Str(name.clone()), param(value)])),
        }
    }
    if !extra.is_empty() {
        spec.set("extra", Param::List(extra));
    }
    spec
}

/// All values of a prediction: those of a regressor, or rows x classes.
fn predictions(fitted: &FittedModel, data: &Data) -> Vec<f64> {
    let outputs = fitted.outputs().len();
    if outputs == 1 {
        return fitted.apply(data, &[0]).unwrap().remove(0);
    }
    let columns = fitted.apply(data, &(1..outputs).collect::<Vec<usize>>()).unwrap();
    (0..data.rows).flat_map(|i| columns.iter().map(move |c| c[i])).collect()
}

fn bits(values: &[f64]) -> u64 {
    values.iter().fold(0u64, |sum, v| sum.wrapping_add(v.to_bits())) % (1 << 53)
}

fn every(values: &[f64]) -> Vec<f64> {
    values.iter().copied().step_by((values.len() / 20).max(1)).collect()
}

/// Asserts that a prediction is that of the Python package: of LightGBM bit for bit. CatBoost's exponential function is
/// an approximation, so its probabilities differ in the last bits.
fn assert_predicts(fitted: &FittedModel, data: &Data, case: &Value, what: &str) {
    let found = predictions(fitted, data);
    assert_close(&every(&found), &numbers(&case["values"]), 1e-14, what);
    if case.get("raw_bits").is_none_or(|raw| *raw == case["bits"]) {
        assert_eq!(bits(&found), case["bits"].as_u64().unwrap(), "{what}: bits of all predictions");
    }
    if let Some(labels) = case.get("labels") {
        assert_eq!(every(&fitted.apply(data, &[0]).unwrap().remove(0)), numbers(labels), "{what}: labels");
    }
}

#[test]
fn trained_models_are_those_of_lightgbm() {
    with_library("LGBMRegressor", || trained_models_are_those_of(0, "m.txt"));
}

#[test]
fn trained_models_are_those_of_catboost() {
    with_library("CatBoostRegressor", || trained_models_are_those_of(1, "m.json"));
}

fn trained_models_are_those_of(library: usize, file: &str) {
    let (expectations, library) = LIBRARIES[library];
    for (name, case) in expected(expectations)["cases"].as_object().unwrap() {
        let all = data(case);
        let fitted = fit(&spec(library, case), &training(case, &all));
        assert_predicts(&fitted, &all, case, name);
        assert_close(&attribute(&fitted, "feature_importances"), &numbers(&case["importances"]), 1e-12, name);
        assert_scores(&fitted, "evals_result", case.get("evals"), name);
        assert_scores(&fitted, "best_score", case.get("best_score"), name);
        if let Some(best) = case.get("best_iteration") {
            assert_eq!(attribute(&fitted, "best_iteration"), [best.as_f64().unwrap()], "{name}");
        }
        for file in ["m.safetensors", file] {
            let loaded = save::load(file, &save::save(&fitted, file).unwrap()).unwrap();
            assert_predicts(&loaded, &all, case, &format!("{name}: {file}"));
            assert_eq!(loaded.spec.estimator, fitted.spec.estimator, "{name}: {file}");
            let names = |m: &FittedModel| m.features.iter().map(|f| f.name.clone()).collect::<Vec<String>>();
            assert_eq!(names(&loaded), names(&fitted), "{name}: {file}");
        }
    }
}

/// Compares an attribute with the columns `set`, `metric` and `value` with the scores by set and metric.
fn assert_scores(fitted: &FittedModel, attribute: &str, scores: Option<&Value>, name: &str) {
    let Some(scores) = scores else { return };
    let Some(Attribute::Frame(columns)) = fitted.attribute(attribute) else { panic!("{name}: no {attribute}") };
    let [(_, Values::Strs(sets)), (_, Values::Strs(metrics)), (_, Values::Floats(values))] =
        &columns[columns.len() - 3..]
    else {
        panic!("{name}: {columns:?}")
    };
    let mut seen = 0;
    for (set, scores) in scores.as_object().unwrap() {
        for (metric, scores) in scores.as_object().unwrap() {
            let rows = (0..sets.len()).filter(|i| sets[*i] == *set && metrics[*i] == *metric);
            let found: Vec<f64> = rows.map(|i| values[i]).collect();
            assert_close(&found, &numbers(scores), 1e-15, &format!("{name}: {set} {metric}"));
            seen += found.len();
        }
    }
    assert_eq!(seen, values.len(), "{name}: scores of other sets");
}

#[test]
fn files_of_the_python_packages_predict_without_them() {
    for ((expectations, _), file) in LIBRARIES.into_iter().zip(["m.txt", "m.json"]) {
        for (name, case) in expected(expectations)["files"].as_object().unwrap() {
            let all = data(case);
            let text = case["text"].as_str().unwrap().as_bytes();
            let fitted = save::load(file, text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_predicts(&fitted, &all, case, name);
            if file == "m.txt" {
                let found = attribute(&fitted, "feature_importances");
                assert_close(&found, &numbers(&case["importances"]), 1e-15, name);
            }
            assert_eq!(save::save(&fitted, file).unwrap(), text, "{name}: the text stays as it is");
            let again = save::load("m.safetensors", &save::save(&fitted, "m.safetensors").unwrap()).unwrap();
            assert_predicts(&again, &all, case, name);
            let mut turned = all.clone();
            turned.features.reverse();
            assert_eq!(predictions(&fitted, &all), predictions(&fitted, &turned), "{name}: order of features");
        }
    }
}

/// A file that lies is an error or a model that predicts something, and in no case a panic.
fn is_harmless(bytes: &[u8], all: &Data, case: &str) {
    if let Ok(fitted) = save::load(case, bytes) {
        let outputs = fitted.outputs().len();
        let _ = fitted.apply(all, &(0..outputs).collect::<Vec<usize>>());
        for name in ["best_iteration", "evals_result", "feature_importances", "best_score"] {
            let _ = fitted.attribute(name);
        }
    }
}

#[test]
fn files_that_lie_are_harmless() {
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for ((expectations, _), names) in
        LIBRARIES.into_iter().zip([["classes", "categories", "missing"], ["classes", "statistics", "depthwise"]])
    {
        let file = expected(expectations);
        for name in names {
            let case = &file["files"][name];
            let all = data(case).take(&[0, 1, 5, 9, 77]);
            let text = case["text"].as_str().unwrap().as_bytes().to_vec();
            let container = save::to_bytes(&save::load("m", &text).unwrap()).unwrap();
            for bytes in [&text, &container] {
                for len in (0..bytes.len()).filter(|len| *len < 300 || len % 97 == 0) {
                    is_harmless(&bytes[..len], &all, "cut off");
                }
                for _ in 0..500 {
                    let mut broken = bytes.clone();
                    for _ in 0..=random(4) {
                        let at = random(broken.len());
                        broken[at] = match random(4) {
                            0 => b'9',
                            1 => b'-',
                            2 => broken[at] ^ (1 << random(7)),
                            _ => b'0' + random(10) as u8,
                        };
                    }
                    is_harmless(&broken, &all, "flipped");
                }
            }
        }
    }
}

#[test]
fn trees_that_lie_are_named() {
    let file = expected("lightgbm.json");
    let text = file["files"]["categories"]["text"].as_str().unwrap();
    // The line that begins so, with other values.
    let changed = |line: &str, values: &dyn Fn(&str) -> String| {
        let mut done = false;
        let lines: Vec<String> = text
            .lines()
            .map(|found| match found.strip_prefix(line).and_then(|rest| rest.strip_prefix('=')) {
                Some(rest) if !done => {
                    done = true;
                    format!("{line}={}", values(rest))
                }
                _ => found.to_string(),
            })
            .collect();
        assert!(done, "{line}");
        save::load("m.txt", lines.join("\n").as_bytes()).err().map_or(String::new(), |e| e.message)
    };
    let first = |value: &'static str| {
        move |rest: &str| format!("{value} {}", rest.split_once(' ').map_or("", |(_, rest)| rest))
    };
    let cases: [(&str, &dyn Fn(&str) -> String, &str); 13] = [
        ("left_child", &first("1000000000"), "there is no node 1000000000"),
        ("left_child", &first("-1000000000"), "there is no leaf 999999999"),
        ("left_child", &first("0"), "node 0 is reached in two ways"),
        ("right_child", &first("x"), "right_child has `x`"),
        ("split_feature", &first("99"), "node 0 asks for feature 99 of 12"),
        ("num_leaves", &|_| "1000000000".to_string(), "values of leaves for 1000000000 leaves"),
        ("num_leaves", &|_| "0".to_string(), "num_leaves is missing"),
        ("leaf_value", &|_| "1 2".to_string(), "it has 2 values of leaves"),
        ("threshold", &|_| "1".to_string(), "its arrays have"),
        ("num_tree_per_iteration", &|_| "1000000000".to_string(), "3 trees for 1000000000 values"),
        ("max_feature_idx", &|_| "18446744073709551615".to_string(), "max_feature_idx is missing"),
        ("max_feature_idx", &|_| "1000000000".to_string(), "it has 12 names for 1000000001 features"),
        ("objective", &|_| "mine".to_string(), "its objective is `mine`"),
    ];
    for (line, values, part) in cases {
        let found = changed(line, values);
        assert!(found.contains(part), "{line}: {found}\nexpected {part}");
    }
    assert!(changed("cat_boundaries", &|_| "0 1000000".to_string()).contains("cat_boundaries does not fit"));

    let file = expected("catboost.json");
    let json: Value = serde_json::from_str(file["files"]["categories"]["text"].as_str().unwrap()).unwrap();
    let cases = [
        ("/oblivious_trees/0/splits/0/split_index", Value::from(1_000_000), "there is no split 1000000"),
        ("/oblivious_trees/0/leaf_values", Value::from(vec![1.0]), "it has 1 values for 16 leaves"),
        ("/oblivious_trees/1/leaf_values", Value::from(vec![1.0; 32]), "a leaf has 2 values, and others have 1"),
        ("/features_info/float_features/0/flat_feature_index", Value::from(99), "feature 99 is one of 12"),
        ("/features_info/float_features/0/flat_feature_index", Value::from(1), "two features are number 1"),
        ("/features_info/ctrs/0/ctr_type", Value::from("Mine"), "a statistic is `Mine`"),
        ("/features_info/ctrs/0/identifier", Value::from("Mine"), "the table of a statistic is missing"),
        ("/features_info/ctrs/0/elements/0/cat_feature_index", Value::from(9), "a statistic asks for the category 9"),
    ];
    for (path, value, part) in cases {
        let mut json = json.clone();
        *json.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
        let found = save::load("m.json", json.to_string().as_bytes()).err().map_or(String::new(), |e| e.message);
        assert!(found.contains(part), "{path}: {found}\nexpected {part}");
    }
}

#[test]
fn a_training_shows_its_scores_and_stops_when_asked() {
    for (estimator, rounds, score) in
        [("LGBMRegressor", "n_estimators", "valid_0 l2"), ("CatBoostRegressor", "iterations", "validation RMSE")]
    {
        with_library(estimator, || {
            let mut data = regression("diabetes");
            data.eval = vec![data.clone()];
            let (stages, reached) = (Mutex::new(Vec::new()), OnceLock::new());
            let spec = Spec::new(estimator).with(rounds, 1_000_000);
            let run = Run {
                is_stopped: &|| reached.get().is_some(),
                stage: &|stage| stages.lock().push(stage),
                steps: &|done, of| {
                    if done == 3 {
                        reached.get_or_init(|| of);
                    }
                },
                detail: &|_| {},
            };
            let error = onrush_learn::fit(&spec, &data, &run).err().unwrap();
            assert!(error.is_stopped());
            assert_eq!(error.message, "stopped after 3 of 1000000 rounds");
            let last = stages.lock().last().unwrap().clone();
            assert!(last.starts_with(&format!("round 3 of 1000000, {score} ")), "{last}");
            // The next training starts a process.
            fit(&Spec::new(estimator).with(rounds, 2), &data);
        });
    }
}

fn refused(spec: &Spec, data: &Data) -> String {
    let error = onrush_learn::fit(spec, data, &Run::silent()).err().unwrap();
    format!("{error} | {}", error.help.join(" | "))
}

#[test]
fn wrong_parameters_and_data_are_a_sentence() {
    let extra = |name: &str, value: &str| Param::from(vec![Param::from(vec![name, value])]);
    with_library("LGBMRegressor", || {
        let spec = || Spec::new("LGBMRegressor").with("n_estimators", 2);
        let data = plain(20);
        let mut poisson = data.clone();
        poisson.y[0] = -1.0;
        let cases = [
            (spec().with("objective", "poison"), &data, "did you mean \"poisson\"?"),
            (
                spec().with("objective", "poisson"),
                &poisson,
                "LightGBM: [poisson]: at least one target label is negative",
            ),
            (spec().with("extra", extra("num_leaf", "3")), &data, "`.num_leaves(..)` sets it"),
            (
                spec().with("extra", extra("num_leavs", "3")),
                &data,
                "`extra` sets `num_leavs`, which LightGBM does not know",
            ),
            (
                spec().with("extra", extra("linear_tree", "true")),
                &data,
                "`extra` sets `linear_tree`, which cannot be chosen here",
            ),
            (spec().with("early_stopping_rounds", 3), &data, "there are no rows to score"),
            (Spec::new("LGBMRanker"), &data, "LGBMRanker got no groups"),
        ];
        for (spec, data, part) in cases {
            let found = refused(&spec, data);
            assert!(found.contains(part), "{found}\nexpected {part}");
        }
    });
    with_library("CatBoostRegressor", || {
        let spec = || Spec::new("CatBoostRegressor").with("iterations", 2);
        let data = plain(20);
        let cases = [
            (spec().with("loss_function", "Mine"), &data, "CatBoost: "),
            (spec().with("loss_function", "MultiQuantile"), &data, "which predicts several values"),
            (spec().with("extra", extra("eta", "0.1")), &data, "`.learning_rate(..)` sets it"),
        ];
        for (spec, data, part) in cases {
            let found = refused(&spec, data);
            assert!(found.contains(part), "{found}\nexpected {part}");
        }
    });
}

/// Trains in a separate process, whose surroundings say where the library is.
#[test]
fn a_library_that_is_not_there_is_a_sentence() {
    if std::env::var_os("ONRUSH_TEST_CHILD").is_some() {
        println!("{}", refused(&Spec::new("LGBMRegressor"), &plain(20)));
        return println!("{}", refused(&Spec::new("CatBoostRegressor"), &plain(20)));
    }
    let trained = |path: &str, python: Option<&str>| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "libraries::a_library_that_is_not_there_is_a_sentence", "--nocapture"])
            .env("ONRUSH_TEST_CHILD", "1")
            .env("PATH", path);
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX", "ONRUSH_PYTHON", "ONRUSH_LIGHTGBM", "ONRUSH_CATBOOST"] {
            child.env_remove(name);
        }
        if let Some(python) = python {
            child.env("ONRUSH_LIGHTGBM", python);
        }
        String::from_utf8(child.output().unwrap().stdout).unwrap()
    };
    let found = trained("/nowhere", None);
    let help = "into the active Python, then run the cell again; HistGradientBoostingClassifier is built in";
    assert!(found.contains(&format!("LightGBM is not installed | `pip install lightgbm` {help}")), "{found}");
    assert!(found.contains(&format!("CatBoost is not installed | `pip install catboost` {help}")), "{found}");
    let found = trained("/nowhere", Some("/nowhere/python"));
    assert!(found.contains("LightGBM cannot be loaded by /nowhere/python: No such file"), "{found}");
    // A program that dies.
    let found = trained("/nowhere", Some("/bin/false"));
    assert!(found.contains("the process of LightGBM ended with code 1 after 0 of 100 rounds"), "{found}");
}

#[test]
fn groups_may_be_in_any_order_and_an_unseen_category_is_missing() {
    with_library("LGBMRegressor", || {
        let mut data = regression("diabetes");
        data.groups = Some((0..data.rows).map(|i| (i / 20) as f64).collect());
        data.y.iter_mut().for_each(|y| *y = (*y / 60.0).floor().min(5.0));
        // Groups from the last to the first, rows of a group in their order.
        let mut order: Vec<usize> = (0..data.rows).collect();
        order.sort_by_key(|i| std::cmp::Reverse(i / 20));
        let spec = Spec::new("LGBMRanker").with("n_estimators", 5);
        let (a, b) = (fit(&spec, &data), fit(&spec, &data.take(&order)));
        assert_eq!(predictions(&a, &data), predictions(&b, &data));

        let file = expected("lightgbm.json");
        let case = &file["cases"]["categories"];
        let all = self::data(case);
        let fitted = fit(&self::spec("LGBM", case), &all);
        // The Python package reads the names of categories in the last line.
        let last = |text: &str| text.lines().last().map(str::to_string);
        let text = String::from_utf8(save::save(&fitted, "m.txt").unwrap()).unwrap();
        let theirs = last(file["files"]["categories"]["text"].as_str().unwrap()).unwrap();
        assert_eq!(last(&text).unwrap().replace(' ', ""), theirs.replace(' ', ""));
        let with = |names: [Option<&str>; 2]| {
            let mut two = all.take(&[0, 1]);
            *two.features.iter_mut().find(|c| c.name == "kind").unwrap() = Column::category("kind", &names);
            predictions(&fitted, &two)
        };
        assert_eq!(with([Some("k99"), Some("a")]), with([None, None]));
        // Names that the library does not take.
        let mut odd = plain(60);
        odd.features[0].name = "a \"b\" [c]: {d}".to_string();
        odd.features.push(Column { name: "a_\"b\"_[c]:_{d}".to_string(), ..odd.features[0].clone() });
        let fitted = fit(&Spec::new("LGBMRegressor").with("n_estimators", 2), &odd);
        assert_eq!(fitted.features[0].name, odd.features[0].name);
        let text = String::from_utf8(save::save(&fitted, "m.txt").unwrap()).unwrap();
        assert!(text.contains("feature_names=a__b___c____d_ a__b___c____d__1"), "{}", &text[..400]);
    });
}
