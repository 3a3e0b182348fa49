//! XGBoost: the same bits as its Python package, its files without its library, and files that lie. Expected values
//! come from xgboost-cpu 3.2.0 (`tests/learn/expect_foreign.py`).

use std::sync::OnceLock;

use onrush_learn::{Attribute, Column, Data, ErrorKind, FittedModel, Param, Run, Spec, Values, save};
use parking_lot::Mutex;
use rayon::prelude::*;
use serde_json::Value;

use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};

/// Calls `work` with as many threads as the expectations had, or says that there is no library.
fn with_library(work: impl FnOnce() + Send) {
    let spec = Spec::new("XGBRegressor").with("n_estimators", 1);
    match onrush_learn::fit(&spec, &plain(20), &Run::silent()) {
        Err(error) if error.kind == ErrorKind::XgboostMissing => {
            eprintln!("skipped, because {error}: {:?}", error.help)
        }
        _ => rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(work),
    }
}

/// The version of the library, as its files say it.
fn version() -> String {
    let fitted = fit(&Spec::new("XGBRegressor").with("n_estimators", 1), &plain(20));
    let file: Value = serde_json::from_slice(&save::save(&fitted, "m.json").unwrap()).unwrap();
    let numbers: Vec<String> = file["version"].as_array().unwrap().iter().map(ToString::to_string).collect();
    numbers.join(".")
}

fn plain(rows: usize) -> Data {
    let values: Vec<f64> = (0..rows).map(|i| (i * 7 % 10) as f64).collect();
    let y = values.iter().map(|v| v * 2.0).collect();
    Data { y, target: "target".to_string(), ..Data::new(vec![Column::number("a", values)]) }
}

/// The data of a case: all rows with the changes of `expect_foreign.py`.
fn data(case: &Value) -> Data {
    let name = case["data"].as_str().unwrap();
    let mut data = match case["kind"].as_str().unwrap() {
        "classifier" => classification(name),
        _ => regression(name),
    };
    let rows = data.rows;
    for change in case["changes"].as_array().unwrap() {
        match change.as_str().unwrap() {
            "holes" => {
                for (j, column) in data.features.iter_mut().enumerate() {
                    let holes = column.values.iter_mut().enumerate().filter(|(i, _)| (i * 7 + j * 3) % 11 == 0);
                    holes.for_each(|(_, v)| *v = f64::NAN);
                }
            }
            "categories" => {
                let first = &data.features[0].values;
                let kind = |i: usize| Some(format!("k{:02}", (i * 5 + if first[i] > 0.0 { 3 } else { 0 }) % 13));
                let kinds: Vec<Option<String>> = (0..rows).map(kind).collect();
                let level = |i: usize| (!i.is_multiple_of(9)).then(|| format!("l{}", i % 3));
                let levels: Vec<Option<String>> = (0..rows).map(level).collect();
                data.features.push(Column::category("kind", &kinds));
                data.features.push(Column::category("level", &levels));
            }
            "weight" => data.weight = Some((0..rows).map(|i| 1.0 + (i % 3) as f64).collect()),
            "groups" => {
                data.groups = Some((0..rows).map(|i| (i / 20) as f64).collect());
                data.y.iter_mut().for_each(|y| *y = (*y / 60.0).floor().min(5.0));
            }
            "eval" => {}
            other => panic!("{other}"),
        }
    }
    if let (Some(groups), true) = (&data.groups, data.weight.is_some()) {
        data.weight = Some(groups.iter().map(|g| 1.0 + g % 3.0).collect());
    }
    data
}

/// The rows that train, with the rows for evaluation inside.
fn training(case: &Value, all: &Data) -> Data {
    let is = |change: &str| case["changes"].as_array().unwrap().iter().any(|c| c == change);
    if !is("eval") {
        return all.clone();
    }
    let number = |i: usize| if is("groups") { i / 20 } else { i };
    let (valid, train): (Vec<usize>, Vec<usize>) = (0..all.rows).partition(|i| number(*i) % 4 == 0);
    let (train, valid) = (all.take(&train), all.take(&valid));
    Data { eval: vec![train.clone(), valid], ..train }
}

fn param(value: &Value) -> Param {
    match value {
        Value::String(text) => Param::Str(text.clone()),
        Value::Array(values) => Param::List(values.iter().map(param).collect()),
        Value::Number(number) => number.as_i64().map_or_else(|| Param::Float(number.as_f64().unwrap()), Param::Int),
        other => panic!("{other}"),
    }
}

fn spec(case: &Value) -> Spec {
    let mut spec = Spec::new(match case["kind"].as_str().unwrap() {
        "classifier" => "XGBClassifier",
        "ranker" => "XGBRanker",
        _ => "XGBRegressor",
    });
    let mut extra = Vec::new();
    for (name, value) in case["params"].as_object().unwrap() {
        match name.as_str() {
            // Coordinate descent is the default here.
            "updater" => assert_eq!(value, "coord_descent"),
            "rate_drop" => extra.push(Param::List(vec![Param::Str(name.clone()), param(value)])),
            _ => spec.set(name, param(value)),
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
    values.iter().map(|v| u64::from((*v as f32).to_bits())).sum()
}

fn every(values: &[f64]) -> Vec<f64> {
    values.iter().copied().step_by((values.len() / 20).max(1)).collect()
}

/// Asserts that a prediction is that of the Python package.
fn assert_predicts(fitted: &FittedModel, data: &Data, case: &Value, what: &str) {
    let found = predictions(fitted, data);
    assert_close(&every(&found), &numbers(&case["values"]), 1e-6, what);
    // The soft maximum of `multi:softmax` comes from SciPy there.
    if what != "softmax" {
        assert_eq!(bits(&found), case["bits"].as_u64().unwrap(), "{what}: bits of all predictions");
    }
}

#[test]
fn trained_models_are_those_of_the_python_package() {
    with_library(|| {
        let file = expected("foreign.json");
        if version() != file["version"] {
            return eprintln!("skipped, because XGBoost is {}, expected {}", version(), file["version"]);
        }
        for (name, case) in file["cases"].as_object().unwrap() {
            let all = data(case);
            let fitted = fit(&spec(case), &training(case, &all));
            assert_predicts(&fitted, &all, case, name);
            assert_eq!(attribute(&fitted, "n_iter"), [case["rounds"].as_f64().unwrap()], "{name}");
            if let Some(labels) = case.get("labels") {
                let found = fitted.apply(&all, &[0]).unwrap().remove(0);
                assert_eq!(every(&found), numbers(labels), "{name}: labels");
            }
            if !case["importances"].is_null() {
                let found = attribute(&fitted, "feature_importances");
                assert_close(&found, &numbers(&case["importances"]), 1e-6, name);
            }
            if let Some(best) = case.get("best_iteration") {
                assert_eq!(attribute(&fitted, "best_iteration"), [best.as_f64().unwrap()], "{name}");
                assert_eq!(attribute(&fitted, "best_score"), [case["best_score"].as_f64().unwrap()], "{name}");
            }
            assert_evals(&fitted, case, name);
            saved_and_loaded(&fitted, &all, name);
        }
    });
}

fn assert_evals(fitted: &FittedModel, case: &Value, name: &str) {
    let Some(Attribute::Frame(columns)) = fitted.attribute("evals_result") else { panic!("{name}: no evals_result") };
    let (Values::Strs(sets), Values::Strs(metrics), Values::Floats(values)) =
        (&columns[1].1, &columns[2].1, &columns[3].1)
    else {
        panic!("{name}: {columns:?}")
    };
    let mut seen = 0;
    for (set, scores) in case.get("evals").and_then(Value::as_object).into_iter().flatten() {
        for (metric, scores) in scores.as_object().unwrap() {
            let found: Vec<f64> =
                (0..sets.len()).filter(|i| sets[*i] == *set && metrics[*i] == *metric).map(|i| values[i]).collect();
            // `serde_json` reads some numbers with a wrong last bit.
            assert_close(&found, &numbers(scores), 1e-15, &format!("{name}: {set} {metric}"));
            seen += found.len();
        }
    }
    assert_eq!(seen, values.len(), "{name}: scores of other sets");
    assert_eq!(
        fitted.model().curves().len(),
        case.get("evals")
            .map_or(0, |e| { e.as_object().unwrap().values().map(|s| s.as_object().unwrap().len()).sum() })
    );
}

/// The library predicts for the trained model, our own code for the loaded one: the same bits.
fn saved_and_loaded(fitted: &FittedModel, data: &Data, name: &str) {
    let before = bits(&predictions(fitted, data));
    for file in ["m.safetensors", "m.ubj", "m.json"] {
        let bytes = save::save(fitted, file).unwrap();
        let loaded = save::load(file, &bytes).unwrap_or_else(|e| panic!("{name} {file}: {e}"));
        assert_eq!(bits(&predictions(&loaded, data)), before, "{name}: {file}");
        assert_eq!(loaded.spec.estimator, fitted.spec.estimator, "{name}: {file}");
        assert_eq!(loaded.features, fitted.features, "{name}: {file}");
        assert_eq!(loaded.attribute("best_iteration"), fitted.attribute("best_iteration"), "{name}: {file}");
        assert_eq!(loaded.attribute("n_iter"), fitted.attribute("n_iter"), "{name}: {file}");
    }
}

#[test]
fn files_of_the_python_package_predict_without_the_library() {
    let file = expected("foreign.json");
    for (name, case) in file["files"].as_object().unwrap() {
        let all = data(case);
        let ubj = unhex(case["ubj"].as_str().unwrap());
        let json = case["json"].as_str().unwrap().as_bytes().to_vec();
        for (kind, bytes) in [("ubj", &ubj), ("json", &json)] {
            let fitted = save::load(&format!("m.{kind}"), bytes).unwrap_or_else(|e| panic!("{name} {kind}: {e}"));
            assert_predicts(&fitted, &all, case, name);
            if !case["importances"].is_null() {
                let found = attribute(&fitted, "feature_importances");
                assert_close(&found, &numbers(&case["importances"]), 1e-5, name);
            }
            // Through the other format and a container.
            for to in ["m.ubj", "m.json", "m.safetensors"] {
                let again = save::load(to, &save::save(&fitted, to).unwrap()).unwrap();
                assert_predicts(&again, &all, case, name);
            }
            assert_eq!(save::save(&fitted, &format!("m.{kind}")).unwrap(), *bytes, "{name}: {kind} stays as it is");
        }
    }
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn two_trainings_give_the_same_bits_and_the_order_of_features_does_not_matter() {
    with_library(|| {
        let data = classification("wine");
        let spec = Spec::new("XGBClassifier").with("n_estimators", 5).with("subsample", 0.7);
        let (a, b) = (fit(&spec, &data), fit(&spec, &data));
        assert_eq!(save::save(&a, "a.ubj").unwrap(), save::save(&b, "b.ubj").unwrap());
        // Several threads predict at once.
        let all: Vec<Vec<f64>> = (0..16).into_par_iter().map(|_| predictions(&a, &data)).collect();
        assert!(all.iter().all(|values| *values == all[0]));
        let mut turned = data.clone();
        turned.features.reverse();
        assert_eq!(predictions(&a, &data), predictions(&a, &turned));
        // A feature times a power of two has the same splits.
        let mut scaled = data.clone();
        scaled.features[3].values.iter_mut().for_each(|v| *v *= 8.0);
        assert_eq!(predictions(&fit(&spec, &scaled), &scaled), predictions(&a, &data));
        assert_eq!(fit(&spec, &data).apply(&data.take(&[]), &[0, 1]).unwrap(), vec![Vec::<f64>::new(); 2]);
    });
}

#[test]
fn groups_may_be_in_any_order_and_an_unseen_category_is_missing() {
    with_library(|| {
        let mut data = regression("diabetes");
        data.groups = Some((0..data.rows).map(|i| (i / 20) as f64).collect());
        data.y.iter_mut().for_each(|y| *y = (*y / 60.0).floor().min(5.0));
        // Groups from the last to the first, rows of a group in their order.
        let mut order: Vec<usize> = (0..data.rows).collect();
        order.sort_by_key(|i| std::cmp::Reverse(i / 20));
        let spec = Spec::new("XGBRanker").with("n_estimators", 5);
        let (a, b) = (fit(&spec, &data), fit(&spec, &data.take(&order)));
        assert_eq!(predictions(&a, &data), predictions(&b, &data));

        let file = expected("foreign.json");
        let case = &file["cases"]["categories"];
        let all = self::data(case);
        let fitted = fit(&self::spec(case), &all);
        let with = |names: [Option<&str>; 2]| {
            let mut two = all.take(&[0, 1]);
            *two.features.iter_mut().find(|c| c.name == "kind").unwrap() = Column::category("kind", &names);
            predictions(&fitted, &two)
        };
        assert_eq!(with([Some("k99"), Some("a")]), with([None, None]));
    });
}

#[test]
fn odd_data_give_a_model_or_a_sentence() {
    with_library(|| {
        let spec = Spec::new("XGBRegressor").with("n_estimators", 3);
        let number = |name: &str, values: &[f64]| Column::number(name, values.to_vec());
        for (columns, y) in [
            (vec![number("a", &[1.0])], vec![2.0]),
            (vec![number("a", &[3.0; 5])], vec![1.0, 2.0, 3.0, 4.0, 5.0]),
            (vec![number("a", &[f64::NAN; 4]), number("b", &[1.0, 2.0, 3.0, 4.0])], vec![7.0; 4]),
            (vec![number("a", &[1e-300, 1e38, -1e38, 0.0])], vec![1e-30, 1e30, 0.0, -1e30]),
        ] {
            let data = Data { y, target: "y".to_string(), ..Data::new(columns) };
            let fitted = fit(&spec, &data);
            assert_eq!(predictions(&fitted, &data).len(), data.rows);
            saved_and_loaded(&fitted, &data, "odd data");
        }
        let empty = vec![Column::category::<&str>("c", &[None; 3]), number("b", &[1.0, 2.0, 3.0])];
        let empty = Data { y: vec![1.0, 2.0, 3.0], target: "y".to_string(), ..Data::new(empty) };
        assert_eq!(predictions(&fit(&spec, &empty), &empty).len(), 3);
        let none = fit(&Spec::new("XGBRegressor").with("n_estimators", 0), &plain(10));
        let values = predictions(&none, &plain(10));
        assert!(values.iter().all(|v| *v == values[0]));
        // A weight of 0 for all rows, names with odd letters, and a name that is there twice.
        let mut zero = plain(10);
        zero.weight = Some(vec![0.0; 10]);
        zero.features[0].name = "a[<\u{0}\"é".to_string();
        let _ = onrush_learn::fit(&spec, &zero, &Run::silent());
    });
}

fn refused(spec: &Spec, data: &Data) -> String {
    let error = onrush_learn::fit(spec, data, &Run::silent()).err().unwrap_or_else(|| panic!("{spec:?} was taken"));
    format!("{error} | {}", error.help.join(" | "))
}

#[test]
fn wrong_input_is_a_sentence() {
    with_library(|| {
        let spec = || Spec::new("XGBRegressor").with("n_estimators", 2);
        let pair = |name: &str, value: &str| Param::List(vec![Param::List(vec![name.into(), value.into()])]);
        let data = plain(20);
        let cases = [
            (spec().with("max_dept", 3), "`XGBRegressor` has no parameter `max_dept` | did you mean `max_depth`?"),
            (spec().with("subsample", 1.5), "`subsample` is 1.5: between 0 and 1"),
            (spec().with("objective", "reg:squarederor"), "did you mean \"reg:squarederror\"?"),
            (spec().with("early_stopping_rounds", 3), "`early_stopping_rounds` is set, and there are no rows to score"),
            (spec().with("extra", pair("max_dpth", "3")), "`extra` sets `max_dpth`, which XGBoost does not use"),
            (spec().with("extra", pair("quantile_alpha", "[0.1,0.9]")), "which cannot be chosen here"),
            (spec().with("extra", "max_depth"), "`extra` is max_depth: expected pairs of a name and a value"),
            (spec().with("eval_metric", 3), "`eval_metric` is 3: expected a name"),
            (spec().with("monotone_constraints", vec![1, 1]), "expected -1, 0 or 1 for each of 1 features"),
            (
                spec().with("interaction_constraints", vec![vec!["b"]]),
                "`interaction_constraints` names `b`, which is not a feature",
            ),
            (Spec::new("XGBRanker"), "XGBRanker got no groups"),
        ];
        for (spec, part) in cases {
            let found = refused(&spec, &data);
            assert!(found.contains(part), "{found}\nexpected {part}");
        }
        let mut metric = data.clone();
        metric.eval = vec![data.clone()];
        let found = refused(&spec().with("eval_metric", "rmsee"), &metric);
        assert!(found.contains("XGBoost: Unknown metric function rmsee"), "{found}");
    });
}

#[test]
fn extra_parameters_that_have_a_method_are_refused() {
    let pair = |name: &str| Param::List(vec![Param::List(vec![name.into(), "dart".into()])]);
    let spec = |name: &str| Spec::new("XGBRegressor").with("extra", pair(name));
    let found = refused(&spec("booster"), &plain(20));
    assert_eq!(found, "`extra` sets `booster`, which is a parameter of XGBRegressor | `.booster(..)` sets it");
    let found = refused(&spec("eta"), &plain(20));
    assert_eq!(found, "`extra` sets `eta`, which is a parameter of XGBRegressor | `.learning_rate(..)` sets it");
}

#[test]
fn not_a_number_in_a_file_survives_both_formats() {
    let case = &expected("foreign.json")["files"]["categories"];
    let (all, text) = (data(case), case["json"].as_str().unwrap());
    let wanted = predictions(&save::load("m.json", text.as_bytes()).unwrap(), &all);
    // Older versions write NaN as the threshold of a split by categories, which nothing reads.
    let mut file: Value = serde_json::from_str(text).unwrap();
    let mut changed = 0;
    for tree in file["learner"]["gradient_booster"]["model"]["trees"].as_array_mut().unwrap() {
        for node in tree["categories_nodes"].as_array().unwrap().clone() {
            tree["split_conditions"][node.as_u64().unwrap() as usize] = "<NaN>".into();
            changed += 1;
        }
    }
    assert!(changed > 0);
    let json = file.to_string().replace("\"<NaN>\"", "NaN");
    let loaded = save::load("m.json", json.as_bytes()).unwrap();
    for name in ["m.ubj", "m.json"] {
        let again = save::load(name, &save::save(&loaded, name).unwrap()).unwrap();
        let json = save::load("m.json", &save::save(&again, "m.json").unwrap()).unwrap();
        assert_eq!(predictions(&json, &all), wanted, "{name}");
    }
}

#[test]
fn wrong_data_are_a_sentence() {
    with_library(|| {
        let spec = || Spec::new("XGBRegressor").with("n_estimators", 2);
        let data = plain(20);
        let mut huge = data.clone();
        huge.features[0].values[3] = 1e300;
        let mut category = data.clone();
        category.features.push(Column::category("c", &["x"; 20].map(Some)));
        let mut poisson = data.clone();
        poisson.y[0] = -1.0;
        let mut other = data.clone();
        other.eval = vec![Data { features: vec![Column::number("b", vec![1.0; 20])], ..data.clone() }];
        let mut weights = data.clone();
        weights.groups = Some((0..20).map(|i| f64::from(i / 10)).collect());
        weights.weight = Some((0..20).map(f64::from).collect());
        let cases = [
            (spec(), &huge, "`a` is 1e300 in row 3, and XGBoost takes up to 3.4e38"),
            (spec().with("enable_categorical", false), &category, "`c` holds strings, and `enable_categorical`"),
            (spec().with("tree_method", "exact"), &category, "`tree_method` \"exact\" takes numbers"),
            (spec().with("objective", "count:poisson"), &poisson, "XGBoost: "),
            (spec(), &other, "`a` is missing: the model was trained on a"),
            (Spec::new("XGBRanker"), &weights, "rows of group 0 have different weights"),
        ];
        for (spec, data, part) in cases {
            let found = refused(&spec, data);
            assert!(found.contains(part), "{found}\nexpected {part}");
        }
        let mut classes = Data { classes: vec!["no".into(), "yes".into()], ..data.clone() };
        classes.y.iter_mut().for_each(|y| *y = if *y > 9.0 { 1.0 } else { 0.0 });
        let eval = Data { classes: vec!["maybe".into(), "yes".into()], ..classes.clone() };
        classes.eval = vec![eval];
        let found = refused(&Spec::new("XGBClassifier"), &classes);
        assert!(found.contains("`eval_set` has the class `maybe`"), "{found}");
    });
}

#[test]
fn a_training_shows_its_scores_and_stops_when_asked() {
    with_library(|| {
        let mut data = regression("diabetes");
        data.eval = vec![data.clone()];
        let (stages, rounds) = (Mutex::new(Vec::new()), OnceLock::new());
        let spec = Spec::new("XGBRegressor").with("n_estimators", 1_000_000);
        let run = Run {
            is_stopped: &|| rounds.get().is_some(),
            stage: &|stage| stages.lock().push(stage),
            steps: &|done, of| {
                if done == 3 {
                    rounds.get_or_init(|| of);
                }
            },
            detail: &|_| {},
        };
        let error = onrush_learn::fit(&spec, &data, &run).err().unwrap();
        assert!(error.is_stopped());
        assert_eq!(error.message, "stopped after 3 of 1000000 rounds");
        assert!(stages.lock().last().unwrap().starts_with("round 3 of 1000000, validation_0 rmse "));
    });
}

/// Trains in a separate process, whose surroundings say where the library is.
#[test]
fn a_library_that_is_not_there_is_a_sentence() {
    if std::env::var_os("ONRUSH_TEST_CHILD").is_some() {
        return println!("{}", refused(&Spec::new("XGBRegressor"), &plain(20)));
    }
    let trained = |file: Option<&str>| {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child
            .args(["--exact", "foreign::a_library_that_is_not_there_is_a_sentence", "--nocapture"])
            .env("ONRUSH_TEST_CHILD", "1")
            .env("PATH", "/nowhere");
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX", "ONRUSH_XGBOOST"] {
            child.env_remove(name);
        }
        if let Some(file) = file {
            child.env("ONRUSH_XGBOOST", file);
        }
        String::from_utf8(child.output().unwrap().stdout).unwrap()
    };
    let found = trained(None);
    let help = "`pip install xgboost` (or xgboost-cpu) into the active Python, then run the cell again";
    assert!(found.contains(&format!("XGBoost is not installed | {help}")), "{found}");
    let found = trained(Some("/nowhere/libxgboost.so"));
    assert!(found.contains("XGBoost's library /nowhere/libxgboost.so cannot be loaded: "), "{found}");
}

#[test]
fn files_that_are_none_are_refused() {
    let load = |name: &str, bytes: &[u8]| {
        let error = save::load(name, bytes).err().unwrap();
        format!("{error} | {}", error.help.join(" | "))
    };
    let pickle = "this looks like a pickle or a joblib file, which can run code when it is read";
    assert!(load("m.pkl", b"\x80\x04\x95").contains(pickle));
    assert!(load("m.joblib", b"anything").contains(pickle));
    assert!(load("m.bin", b"binf....").contains("old binary format"));
    assert!(
        load("m.json", b"{\"a\": 1}")
            .contains("this is not a model of XGBoost: learner.learner_model_param is missing")
    );
    assert!(load("m.json", b"{\"a\": ").contains("this is not a model of XGBoost: EOF"));
    assert!(load("m.ubj", b"").contains("`m.ubj` cannot be loaded"));
    let case = &expected("foreign.json")["files"]["binary"];
    let fitted = save::load("m.json", case["json"].as_str().unwrap().as_bytes()).unwrap();
    let error = save::save(&fitted, "m.pmml").unwrap_err();
    assert_eq!(error.message, "`m.pmml` has no known extension");
    let error = save::save(&fitted, "m.txt").unwrap_err();
    assert_eq!(error.message, "files of LightGBM hold models of LightGBM, and this one is XGBClassifier");
}

/// A file that lies is an error or a model that predicts something, and in no case a panic.
fn is_harmless(bytes: &[u8], all: &Data, case: &str) {
    if let Ok(fitted) = save::load(case, bytes) {
        let outputs = fitted.outputs().len();
        let _ = fitted.apply(all, &(0..outputs).collect::<Vec<usize>>());
        for name in ["best_iteration", "evals_result", "feature_importances"] {
            let _ = fitted.attribute(name);
        }
    }
}

#[test]
fn files_that_lie_are_harmless() {
    let file = expected("foreign.json");
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for name in ["classes", "categories", "dart", "linear classes"] {
        let case = &file["files"][name];
        let all = data(case).take(&[0, 1, 5, 9, 77]);
        let ubj = unhex(case["ubj"].as_str().unwrap());
        let json = case["json"].as_str().unwrap().as_bytes().to_vec();
        let container = save::to_bytes(&save::load("m.ubj", &ubj).unwrap()).unwrap();
        for bytes in [&ubj, &json, &container] {
            // Every length at the beginning, then every 13th.
            for len in (0..bytes.len()).filter(|len| *len < 300 || len % 13 == 0) {
                is_harmless(&bytes[..len], &all, "cut off");
            }
            for _ in 0..700 {
                let mut broken = bytes.clone();
                for _ in 0..=random(4) {
                    let at = random(broken.len());
                    broken[at] = match random(4) {
                        0 => 0xff,
                        1 => 0x7f,
                        2 => broken[at] ^ (1 << random(8)),
                        _ => random(256) as u8,
                    };
                }
                is_harmless(&broken, &all, "flipped");
            }
        }
    }
}

#[test]
fn trees_that_lie_are_named() {
    let file = expected("foreign.json");
    let json: Value = serde_json::from_str(file["files"]["binary"]["json"].as_str().unwrap()).unwrap();
    let trees = "/learner/gradient_booster/model/trees";
    let changed = |path: String, value: Value| {
        let mut json = json.clone();
        *json.pointer_mut(&path).unwrap_or_else(|| panic!("{path}")) = value;
        save::load("m.json", json.to_string().as_bytes()).err().map_or(String::new(), |e| e.message)
    };
    let cases = [
        (format!("{trees}/0/left_children/0"), Value::from(1_000_000_000), "node 0 has the child 1000000000"),
        (format!("{trees}/0/left_children/0"), Value::from(-2), "node 0 has the child -2"),
        (format!("{trees}/0/left_children/0"), Value::from(0), "node 0 is reached in two ways"),
        (format!("{trees}/0/left_children/1"), Value::from(2), "is reached in two ways"),
        (format!("{trees}/0/split_indices/0"), Value::from(30), "node 0 asks for feature 30 of 30"),
        (format!("{trees}/0/split_conditions"), Value::from(vec![1.0]), "tree 0: its arrays have"),
        (format!("{trees}/0/tree_param/size_leaf_vector"), Value::from("3"), "its leaves are vectors"),
        ("/learner/gradient_booster/model/tree_info/0".into(), Value::from(1), "tree 0 is for output 1 of 1"),
        ("/learner/gradient_booster/model/iteration_indptr/3".into(), Value::from(9), "does not lead to 3 trees"),
        ("/learner/learner_model_param/num_class".into(), Value::from("1000000000"), "but its objective is"),
        (
            "/learner/learner_model_param/num_feature".into(),
            Value::from("1000000000"),
            "30 names for 1000000000 features",
        ),
        ("/learner/learner_model_param/base_score".into(), Value::from("[x]"), "base_score is not a number"),
        ("/learner/objective/name".into(), Value::from("reg:mine"), "its objective is `reg:mine`"),
        ("/learner/gradient_booster/name".into(), Value::from("gbmine"), "its booster is `gbmine`"),
    ];
    for (path, value, part) in cases {
        let found = changed(path.clone(), value);
        assert!(found.contains(part), "{path}: {found}\nexpected {part}");
    }
    // NaN as a threshold sends every row to the right.
    let ubj = unhex(file["files"]["binary"]["ubj"].as_str().unwrap());
    let at = ubj.windows(16).position(|w| w == b"split_conditions").unwrap() + 16;
    let mut broken = ubj.clone();
    // `[$d#L` and the number of nodes, then the thresholds.
    broken[at + 13..at + 17].copy_from_slice(&f32::NAN.to_be_bytes());
    let all = data(&file["files"]["binary"]);
    assert_eq!(predictions(&save::load("m.ubj", &broken).unwrap(), &all).len(), all.rows * 2);
}

#[test]
fn counts_that_lie_take_no_memory() {
    // Arrays that say they have 2^60 values, typed and not, and values inside of each other.
    let mut typed = b"{L\0\0\0\0\0\0\0\x01a[$d#L".to_vec();
    typed.extend((1i64 << 60).to_be_bytes());
    let mut untyped = b"{L\0\0\0\0\0\0\0\x01a[#L".to_vec();
    untyped.extend((1i64 << 60).to_be_bytes());
    let mut string = b"{L".to_vec();
    string.extend((1i64 << 60).to_be_bytes());
    let mut negative = b"{L".to_vec();
    negative.extend((-1i64).to_be_bytes());
    let mut deep = b"{L\0\0\0\0\0\0\0\x01a".to_vec();
    deep.extend([b'['; 100_000]);
    for bytes in [typed, untyped, string, negative, deep] {
        let error = save::load("m.ubj", &bytes).err().unwrap();
        assert!(error.message.contains("this is not a model of XGBoost"), "{error}");
    }
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    assert!(save::load("m.json", deep.as_bytes()).is_err());
}
