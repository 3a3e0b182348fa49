//! Trees, forests and boosting against scikit-learn 1.9.1 (`tests/learn/trees.json`, written by `expect_trees.py`), and
//! by their properties.

use onrush_learn::{Attribute, Column, Data, FittedModel, Param, Run, Spec, Values, save};
use onrush_wire::learn::Part;
use serde_json::Value;

use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};

/// A parameter as it is written in JSON.
pub fn param(value: &Value) -> Param {
    match value {
        Value::Null => Param::None,
        Value::Bool(b) => Param::Bool(*b),
        Value::Number(n) if n.is_i64() => Param::Int(n.as_i64().unwrap()),
        Value::Number(n) => Param::Float(n.as_f64().unwrap()),
        Value::String(s) => Param::Str(s.clone()),
        Value::Array(list) => Param::List(list.iter().map(param).collect()),
        Value::Object(_) => panic!("{value}"),
    }
}

fn spec(case: &Value) -> Spec {
    let mut spec = Spec::new(case["estimator"].as_str().unwrap());
    for (name, value) in case["params"].as_object().into_iter().flatten() {
        spec.set(name, param(value));
    }
    spec
}

/// A data set row after row, with the target `y`, and `classes` classes if there are some.
fn data(x: &[f64], y: Vec<f64>, classes: usize) -> Data {
    let width = x.len() / y.len();
    let column = |j: usize| Column::number(format!("x{j}"), x.iter().skip(j).step_by(width).copied().collect());
    let features = (0..width).map(column).collect();
    let classes = (0..classes).map(|c| c.to_string()).collect();
    Data { y, classes, target: "y".to_string(), ..Data::new(features) }
}

/// Columns `from..` of the outputs, row after row, at every 15th row.
fn predicted(fitted: &FittedModel, data: &Data) -> Vec<f64> {
    let count = fitted.outputs().len();
    let wanted: Vec<usize> = if count == 1 { vec![0] } else { (1..count).collect() };
    let columns = fitted.apply(data, &wanted).unwrap();
    let rows = (0..data.rows).step_by((data.rows / 20).max(1)).take(20);
    rows.flat_map(|row| columns.iter().map(move |c| c[row])).collect()
}

/// A set of the expectations with the target of a case.
fn set(all: &Value, case: &Value) -> Data {
    let name = case["data"].as_str().unwrap();
    let (y, classes) = (numbers(&all["y"]), numbers(&all["classes"]));
    let (y, count) = match case["target"].as_str() {
        Some("y") => (y.iter().map(|v| v.abs() + 0.01).collect(), 0),
        Some("binary") => (classes.iter().map(|c| c.min(1.0)).collect(), 2),
        Some(_) => (classes, 3),
        None if case["binary"] == true => (classes.iter().map(|c| c.min(1.0)).collect(), 2),
        None if case["estimator"].as_str().unwrap().ends_with("Classifier") => (classes, 3),
        None => (y, 0),
    };
    let mut data = data(&numbers(&all["sets"][name]), y, count);
    if name == "category" {
        let codes = &data.features[3].values;
        let names: Vec<Option<String>> = codes.iter().map(|c| Some(format!("c{c}"))).collect();
        data.features[3] = Column::category("x3", &names);
    }
    if case["weighted"] == true {
        data.weight = Some(numbers(&all["weight"]));
    }
    data
}

#[test]
fn trees_without_ties_are_those_of_scikit_learn() {
    let all = expected("trees.json");
    for case in all["trees"].as_array().unwrap() {
        let data = set(&all, case);
        let fitted = fit(&spec(case), &data);
        let what = format!("{} {}", case["estimator"], case["params"]);
        let whole = |name: &str| match fitted.attribute(name) {
            Some(Attribute::Int(v)) => v,
            other => panic!("{name} is {other:?}"),
        };
        assert_eq!(whole("n_leaves"), case["leaves"].as_i64().unwrap(), "{what}");
        assert_eq!(whole("depth"), case["depth"].as_i64().unwrap(), "{what}");
        assert_close(&attribute(&fitted, "feature_importances"), &numbers(&case["importances"]), 1e-10, &what);
        assert_close(&predicted(&fitted, &data), &numbers(&case["predict"]), 1e-12, &what);
    }
}

#[test]
fn a_tree_grows_until_its_leaves_are_pure() {
    let all = expected("trees.json");
    for (name, leaves) in all["bundled"].as_object().unwrap() {
        let data = classification(name);
        let fitted = fit(&Spec::new("DecisionTreeClassifier"), &data);
        assert_eq!(fitted.apply(&data, &[0]).unwrap()[0], data.y, "{name}");
        let Some(Attribute::Int(found)) = fitted.attribute("n_leaves") else { panic!() };
        // Ties are broken by the order of features, in scikit-learn at random: the fewest and the most of 10 seeds,
        // with some room.
        let (fewest, most) = (leaves["fewest"].as_i64().unwrap(), leaves["most"].as_i64().unwrap());
        assert!(found >= fewest - 2 - fewest / 10 && found <= most + 2 + most / 10, "{name}: {found} leaves, {leaves}");
    }
}

/// Accuracy, or R².
fn score(fitted: &FittedModel, data: &Data) -> f64 {
    let found = &fitted.apply(data, &[0]).unwrap()[0];
    let pairs = || found.iter().zip(&data.y);
    if data.classes.is_empty() {
        let mean = data.y.iter().sum::<f64>() / data.rows as f64;
        let total: f64 = data.y.iter().map(|y| (y - mean).powi(2)).sum();
        1.0 - pairs().map(|(p, y)| (p - y).powi(2)).sum::<f64>() / total
    } else {
        pairs().filter(|(p, y)| p == y).count() as f64 / data.rows as f64
    }
}

#[test]
fn forests_score_as_those_of_scikit_learn_over_twenty_seeds() {
    let all = expected("trees.json");
    for case in all["forests"].as_array().unwrap() {
        let name = case["data"].as_str().unwrap();
        let data = match name {
            "friedman1" => data(&numbers(&all["friedman1"]["x"]), numbers(&all["friedman1"]["y"]), 0),
            "diabetes" => regression(name),
            _ => classification(name),
        };
        let fold = |k: usize, test: bool| (0..data.rows).filter(|r| (r % 3 == k) == test).collect::<Vec<_>>();
        let folds: Vec<(Data, Data)> =
            (0..3).map(|k| (data.take(&fold(k, false)), data.take(&fold(k, true)))).collect();
        let spec = spec(case).with("n_estimators", param(&case["n_estimators"]));
        let one = |seed: i64| {
            let spec = spec.clone().with("random_state", seed);
            folds.iter().map(|(train, test)| score(&fit(&spec, train), test)).sum::<f64>() / 3.0
        };
        let scores: Vec<f64> = (0..20).map(one).collect();
        let mean = scores.iter().sum::<f64>() / 20.0;
        let variance = scores.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / 19.0;
        let (theirs, std) = (case["mean"].as_f64().unwrap(), case["std"].as_f64().unwrap());
        let error = ((variance + std * std) / 20.0).sqrt();
        println!("{} {name}: {mean:.4}, scikit-learn {theirs:.4}, error {error:.4}", case["estimator"]);
        assert!(
            (mean - theirs).abs() <= 2.0 * error,
            "{} {name}: {mean}, expected {theirs} +- {error}",
            case["estimator"]
        );
    }
}

#[test]
fn boosting_is_that_of_scikit_learn() {
    let all = expected("trees.json");
    for case in all["boosted"].as_array().unwrap() {
        let data = set(&all, case);
        let fitted = fit(&spec(case), &data);
        let what = format!("{} {} {} {}", case["estimator"], case["data"], case["params"], case["weighted"]);
        let Some(Attribute::Int(rounds)) = fitted.attribute("n_iter") else { panic!("{what}") };
        assert_eq!(rounds, case["rounds"].as_i64().unwrap(), "{what}");
        let first = rounds == 1;
        // The gradients of a quantile have two values, so that splits tie often; sums that are rounded in another order
        // break them.
        let has_ties = case["params"]["loss"] == "quantile" && !first;
        if !has_ties {
            let tolerance = if first { 1e-7 } else { 1e-6 };
            assert_close(&predicted(&fitted, &data), &numbers(&case["predict"]), tolerance, &what);
        }
        for name in ["train_score", "validation_score"] {
            let (found, theirs) = (attribute(&fitted, name), numbers(&case[name]));
            let found: Vec<f64> = found.into_iter().take(theirs.len()).collect();
            assert_close(&found, &theirs, 1e-9, &format!("{what} {name}"));
        }
        if case["params"]["early_stopping"] != true && case["params"]["class_weight"].is_null() {
            let found = -*attribute(&fitted, "train_score").last().unwrap();
            let theirs = case["loss"].as_f64().unwrap();
            let tolerance = if has_ties { 0.05 } else { 1e-6 };
            assert!(
                (found - theirs).abs() <= tolerance * theirs.abs().max(1e-3),
                "{what}: loss {found}, expected {theirs}"
            );
        }
    }
}

/// Sets of all kinds, and a specification for each estimator of the family.
fn every_estimator() -> Vec<(Spec, Data)> {
    let all = expected("trees.json");
    let of =
        |data: &str, target: &str| set(&all, &serde_json::json!({"data": data, "target": target, "weighted": false}));
    let names = ["DecisionTree", "RandomForest", "ExtraTrees", "HistGradientBoosting"];
    let mut out = Vec::new();
    for name in names {
        for data in ["missing", "category"] {
            for (kind, target) in [("Classifier", "classes"), ("Classifier", "binary"), ("Regressor", "y")] {
                let mut spec = Spec::new(&format!("{name}{kind}"));
                match name {
                    "HistGradientBoosting" => spec.set("max_iter", 15),
                    "DecisionTree" => {}
                    _ => spec.set("n_estimators", 12),
                }
                out.push((spec, of(data, target)));
            }
        }
    }
    out
}

fn everything(fitted: &FittedModel, data: &Data) -> Vec<Vec<f64>> {
    fitted.apply(data, &(0..fitted.outputs().len()).collect::<Vec<_>>()).unwrap()
}

#[test]
fn models_repeat_and_survive_a_file_bit_by_bit() {
    for (spec, data) in every_estimator() {
        let fitted = fit(&spec, &data);
        let predicted = everything(&fitted, &data);
        assert!(predicted.iter().flatten().all(|p| p.is_finite()), "{spec:?}");
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(one_thread.install(|| everything(&fit(&spec, &data), &data)), predicted, "{spec:?}");
        let bytes = save::to_bytes(&fitted).unwrap();
        let read = save::from_bytes(&bytes).unwrap();
        assert_eq!(everything(&read, &data), predicted, "{spec:?}");
        assert!(save::to_bytes(&read).unwrap() == bytes, "{spec:?}: the file of a model that was read differs");
        assert!(score(&fitted, &data) > 0.6, "{spec:?}");
    }
}

#[test]
fn a_damaged_file_is_refused_or_harmless() {
    for (spec, data) in every_estimator() {
        let bytes = save::to_bytes(&fit(&spec, &data)).unwrap();
        for at in (bytes.len() / 3..bytes.len()).step_by(bytes.len() / 60) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            if let Ok(model) = save::from_bytes(&damaged) {
                let _ = everything(&model, &data);
            }
        }
    }
}

#[test]
fn scaled_features_give_the_same_tree() {
    for (spec, data) in every_estimator() {
        // Twice each value, exactly; scikit-learn's and our thresholds are scaled with it.
        let mut scaled = data.clone();
        for column in scaled.features.iter_mut().filter(|c| c.categories().is_none()) {
            column.values.iter_mut().for_each(|v| *v *= 1024.0);
        }
        assert_eq!(everything(&fit(&spec, &scaled), &scaled), everything(&fit(&spec, &data), &data), "{spec:?}");
    }
}

#[test]
fn rows_in_another_order_give_the_same_tree() {
    let all = expected("trees.json");
    let data = set(&all, &serde_json::json!({"data": "plain", "target": "y"}));
    let order: Vec<usize> = (0..data.rows).map(|i| i * 7 % data.rows).collect();
    for estimator in ["DecisionTreeRegressor", "HistGradientBoostingRegressor"] {
        let spec = Spec::new(estimator).with("min_samples_leaf", 8);
        let (one, other) = (fit(&spec, &data), fit(&spec, &data.take(&order)));
        assert_close(&everything(&other, &data)[0], &everything(&one, &data)[0], 1e-9, estimator);
    }
}

#[test]
fn a_weight_of_two_is_a_row_twice() {
    let all = expected("trees.json");
    let data = set(&all, &serde_json::json!({"data": "missing", "target": "y"}));
    let twice: Vec<usize> = (0..data.rows).flat_map(|r| vec![r; 1 + r % 2]).collect();
    let weighted = Data { weight: Some((0..data.rows).map(|r| 1.0 + (r % 2) as f64).collect()), ..data.clone() };
    let spec = Spec::new("DecisionTreeRegressor").with("max_depth", 4);
    let (one, other) = (fit(&spec, &weighted), fit(&spec, &data.take(&twice)));
    assert_close(&everything(&other, &data)[0], &everything(&one, &data)[0], 1e-12, "predictions");
}

/// As in scikit-learn's `test_sample_weight_non_uniform`.
#[test]
fn a_row_of_weight_zero_is_no_row_of_a_tree() {
    let all = regression("diabetes");
    let odd = all.take(&(0..all.rows).filter(|row| row % 2 == 1).collect::<Vec<usize>>());
    let weighted = Data { weight: Some((0..all.rows).map(|row| (row % 2) as f64).collect()), ..all.clone() };
    let spec = Spec::new("DecisionTreeRegressor").with("max_depth", 5);
    assert_eq!(predicted(&fit(&spec, &weighted), &all), predicted(&fit(&spec, &odd), &all));
}

/// As in scikit-learn's `test_poisson_zero_nodes`: a mean of 0 is outside of the domain.
#[test]
fn a_leaf_of_the_poisson_criterion_is_above_zero() {
    let x = |i: usize, j: usize| ((i * 31 + j * 17 + i * i * (j + 3)) as f64 * 0.37).sin();
    let columns = (0..4).map(|j| Column::number(format!("x{j}"), (0..300).map(|i| x(i, j)).collect())).collect();
    let y = (0..300).map(|i| if i % 3 == 0 { 0.1 * (x(i, 0) + 2.0).exp() } else { 0.0 }).collect();
    let data = Data { y, target: "y".to_string(), ..Data::new(columns) };
    let fitted = fit(&Spec::new("DecisionTreeRegressor").with("criterion", "poisson"), &data);
    let least = predicted(&fitted, &data).into_iter().fold(f64::INFINITY, f64::min);
    assert!(least > 1e-6, "the least prediction is {least}");
}

#[test]
fn constraints_hold_over_the_range_of_a_feature() {
    let all = expected("trees.json");
    for (estimator, target) in [
        ("DecisionTreeRegressor", "y"),
        ("RandomForestClassifier", "binary"),
        ("HistGradientBoostingRegressor", "y"),
        ("HistGradientBoostingClassifier", "binary"),
    ] {
        let data = set(&all, &serde_json::json!({"data": "plain", "target": target}));
        let signs = Param::List([0, 0, 0, 1, -1].map(Param::from).to_vec());
        let fitted = fit(&Spec::new(estimator).with("monotonic_cst", signs), &data);
        for (feature, sign) in [(3, 1.0), (4, -1.0)] {
            let at = |value: f64| {
                let mut moved = data.clone();
                moved.features[feature].values.fill(value);
                everything(&fitted, &moved).pop().unwrap()
            };
            for step in 0..20 {
                let (low, high) = (at(f64::from(step) * 0.05), at(f64::from(step + 1) * 0.05));
                assert!(low.iter().zip(&high).all(|(l, h)| (h - l) * sign >= -1e-12), "{estimator} feature {feature}");
            }
        }
    }
}

#[test]
fn any_data_is_fitted() {
    let y = |n: usize| (0..n).map(|i| (i % 2) as f64).collect::<Vec<f64>>();
    let sets: Vec<(&str, Vec<Column>, usize)> = vec![
        ("two rows", vec![Column::number("a", vec![1.0, 2.0])], 2),
        ("constant", vec![Column::number("a", vec![3.0; 50]), Column::number("b", vec![0.0; 50])], 50),
        ("all missing", vec![Column::number("a", vec![f64::NAN; 50])], 50),
        (
            "missing says it",
            vec![Column::number("a", (0..50).map(|i| if i % 2 == 0 { f64::NAN } else { 1.0 }).collect())],
            50,
        ),
        (
            "huge and tiny",
            vec![Column::number("a", (0..50).map(|i| [1e308, -1e308, 1e-308, 0.0][i % 4]).collect())],
            50,
        ),
        (
            "neighbours",
            vec![Column::number("a", (0..50).map(|i| f64::from_bits(1.0f64.to_bits() + i % 2)).collect())],
            50,
        ),
        (
            "strings",
            vec![Column::category("a", &(0..50).map(|i| [Some("x"), None, Some("y")][i % 3]).collect::<Vec<_>>())],
            50,
        ),
        ("empty strings", vec![Column::category::<&str>("a", &[None; 50])], 50),
    ];
    for (name, columns, rows) in sets {
        for scale in [1.0, 1e-200, 1e200] {
            for (spec, other) in every_estimator() {
                let classes =
                    if other.classes.is_empty() { Vec::new() } else { vec!["0".to_string(), "1".to_string()] };
                let scale = if classes.is_empty() { scale } else { 1.0 };
                let y = y(rows).into_iter().map(|v| v * scale).collect();
                let data = Data { y, classes, target: "y".to_string(), ..Data::new(columns.clone()) };
                let spec = spec.with("min_samples_leaf", 1);
                let fitted = fit(&spec, &data);
                let found = everything(&fitted, &data);
                if scale == 1.0 {
                    assert!(found.iter().flatten().all(|v| v.is_finite()), "{name} {spec:?}");
                }
                let tells = ["neighbours", "missing says it", "two rows"];
                if scale == 1.0 && spec.estimator.starts_with("DecisionTree") && tells.contains(&name) {
                    assert_eq!(found[0], data.y, "{name} {spec:?}");
                }
            }
        }
    }
}

#[test]
fn strings_that_the_training_did_not_see_go_with_the_missing_ones() {
    let names: Vec<Option<&str>> = (0..90).map(|i| [Some("a"), Some("b"), None][i % 3]).collect();
    let y: Vec<f64> = (0..90).map(|i| [1.0, 5.0, 9.0][i % 3]).collect();
    let data = Data { y, target: "y".to_string(), ..Data::new(vec![Column::category("s", &names)]) };
    for estimator in ["DecisionTreeRegressor", "HistGradientBoostingRegressor"] {
        let fitted = fit(&Spec::new(estimator), &data);
        let other = Data::new(vec![Column::category("s", &[Some("z"), None, Some("b")])]);
        let found = &fitted.apply(&other, &[0]).unwrap()[0];
        assert_eq!(found[0], found[1], "{estimator}");
        assert!((found[0] - 9.0).abs() < 0.01 && (found[2] - 5.0).abs() < 0.01, "{estimator}: {found:?}");
    }
}

/// The same rows with strings have scikit-learn's predictions in `trees_without_ties_are_those_of_scikit_learn`.
#[test]
fn numbers_that_are_declared_as_categories_are_split_like_strings() {
    let all = expected("trees.json");
    let case = serde_json::json!({"data": "category", "target": "y"});
    let strings = set(&all, &case);
    let values = data(&numbers(&all["sets"]["category"]), strings.y.clone(), 0).features.remove(3);
    let mut numbers = strings.clone();
    numbers.features[3] = values;
    let spec = || Spec::new("HistGradientBoostingRegressor").with("max_iter", 10);
    let declared = spec().with("categorical_features", ["x3"]);
    let (by_name, by_number) = (fit(&spec(), &strings), fit(&declared, &numbers));
    let wanted = &by_name.apply(&strings, &[0]).unwrap()[0];
    assert_eq!(wanted, &by_number.apply(&numbers, &[0]).unwrap()[0]);
    assert_ne!(wanted, &fit(&spec(), &numbers).apply(&numbers, &[0]).unwrap()[0]);
    assert!(!by_number.takes_strings(3) && by_name.takes_strings(3));
    let file = save::from_bytes(&save::to_bytes(&by_number).unwrap()).unwrap();
    assert_eq!(wanted, &file.apply(&numbers, &[0]).unwrap()[0]);
    // A number that the training did not see is as a missing one.
    let with = |value: f64| {
        let mut other = numbers.clone();
        other.features[3].values.fill(value);
        file.apply(&other, &[0]).unwrap()
    };
    assert_eq!(with(99.0), with(f64::NAN));
    assert!((0..8).any(|code| with(99.0) != with(f64::from(code))));
    // Inside of a pipeline the columns come from the step before.
    let step = |name: &str, spec: Spec| Part { name: name.to_string(), columns: Vec::new(), spec };
    let parts = vec![step("scale", Spec::new("MinMaxScaler")), step("boost", declared)];
    let pipeline = fit(&Spec { parts, ..Spec::new("Pipeline") }, &numbers);
    assert_eq!(wanted, &pipeline.apply(&numbers, &[0]).unwrap()[0]);
    let message =
        |value: Param| match onrush_learn::fit(&spec().with("categorical_features", value), &numbers, &Run::silent()) {
            Err(error) => format!("{error} | {}", error.help.join(" | ")),
            Ok(_) => String::new(),
        };
    assert_eq!(
        message(vec!["x33"].into()),
        "`x33` of `categorical_features` is not one of the features | did you mean `x3`?"
    );
    assert!(
        message(vec![3].into())
            .starts_with("`categorical_features` is [3]: expected a list of column names or `from_dtype`")
    );
    let strings = by_number.apply(&strings, &[0]).unwrap_err();
    assert_eq!(strings.message, "`x3` holds strings, but the model was trained on numbers");
}

#[test]
fn rows_outside_of_the_bag_score_a_forest() {
    let all = expected("trees.json");
    for (estimator, target, name, width) in [
        ("RandomForestClassifier", "classes", "oob_decision_function", 3),
        ("RandomForestRegressor", "y", "oob_prediction", 1),
    ] {
        let data = set(&all, &serde_json::json!({"data": "plain", "target": target}));
        let fitted = fit(&Spec::new(estimator).with("oob_score", true), &data);
        let [found] = attribute(&fitted, "oob_score")[..] else { panic!() };
        assert!(found > 0.6 && found < score(&fitted, &data), "{estimator}: {found}");
        let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!() };
        assert_eq!(columns.len(), width);
        let few = fit(&Spec::new(estimator).with("oob_score", true).with("n_estimators", 1), &data);
        assert!(few.model().notes()[0].contains("have no out-of-bag prediction"), "{:?}", few.model().notes());
    }
}

#[test]
fn classes_are_balanced_in_each_bootstrap_sample() {
    // One row in 20 is of the second class: a stump predicts it only if classes are balanced.
    let x: Vec<f64> = (0..400).map(|i| f64::from(u8::from(i % 20 == 0 || i % 7 == 0))).collect();
    let y: Vec<f64> = (0..400).map(|i| f64::from(u8::from(i % 20 == 0))).collect();
    let classes = vec!["0".to_string(), "1".to_string()];
    let data = Data { y, classes, target: "y".to_string(), ..Data::new(vec![Column::number("x", x)]) };
    let found = |weight: Option<&str>| {
        let spec = Spec::new("RandomForestClassifier").with("class_weight", weight.map(str::to_string));
        fit(&spec, &data).apply(&data, &[0]).unwrap()[0].iter().sum::<f64>()
    };
    assert_eq!(found(None), 0.0);
    assert!(found(Some("balanced_subsample")) > 50.0);
    assert!(found(Some("balanced")) > 50.0);
}

#[test]
fn rounds_lower_the_loss_and_are_scored_on_an_evaluation_set() {
    let all = expected("trees.json");
    let data = set(&all, &serde_json::json!({"data": "plain", "target": "y"}));
    let (train, test): (Vec<usize>, Vec<usize>) = (0..data.rows).partition(|r| r % 4 > 0);
    let eval = data.take(&test);
    let train = Data { eval: vec![eval], ..data.take(&train) };
    let spec = Spec::new("HistGradientBoostingRegressor").with("early_stopping", true).with("n_iter_no_change", 3);
    let fitted = fit(&spec.with("max_iter", 500), &train);
    let (own, other) = (attribute(&fitted, "train_score"), attribute(&fitted, "validation_score"));
    assert!(own.windows(2).all(|pair| pair[1] >= pair[0]), "{own:?}");
    assert!(own.len() < 501 && own.len() == other.len());
    let curves = fitted.model().curves();
    assert_eq!(curves.len(), 2);
    assert_eq!(curves[0].1.len(), own.len());
    let total = 2.0 * own.last().unwrap();
    let predicted = fitted.apply(&train, &[0]).unwrap();
    let squares: f64 = predicted[0].iter().zip(&train.y).map(|(p, y)| (p - y).powi(2)).sum();
    assert!((squares / train.rows as f64 + total).abs() < 1e-9);
}

#[test]
fn wrong_parameters_and_data_say_what_is_expected() {
    let all = expected("trees.json");
    let data = set(&all, &serde_json::json!({"data": "plain", "target": "y"}));
    let message = |spec: Spec, data: &Data| match onrush_learn::fit(&spec, data, &Run::silent()) {
        Err(error) => error.message,
        Ok(_) => panic!("{spec:?} was fitted"),
    };
    let tree = || Spec::new("DecisionTreeRegressor");
    assert_eq!(
        message(tree().with("min_samples_leaf", 1.5), &data),
        "`min_samples_leaf` is 1.5: an integer of at least 1, or a share between 0 and 1"
    );
    assert_eq!(
        message(tree().with("max_features", "sqr"), &data),
        "`max_features` is sqr: an integer of at least 1, a share up to 1.0, sqrt, log2 or None"
    );
    assert_eq!(
        message(tree().with("monotonic_cst", vec![1, 0]), &data),
        "`monotonic_cst` has 2 values: one for each of the 5 features"
    );
    assert_eq!(
        message(tree().with("criterion", "absolute_error"), &data),
        "`criterion` is \"absolute_error\": one of squared_error, friedman_mse, poisson"
    );
    assert_eq!(
        message(Spec::new("RandomForestRegressor").with("max_samples", 5_000_000_000i64), &data),
        "`max_samples` asks for 5e9 rows: at most 4e9"
    );
    assert_eq!(
        message(tree().with("random_state", 1i64 << 32), &data),
        "`random_state` is 4294967296: between 0 and 4294967295"
    );
    assert_eq!(message(tree().with("max_depth", 0), &data), "`max_depth` is 0: at least 1");
    let forest = || Spec::new("RandomForestRegressor").with("bootstrap", false);
    assert_eq!(
        message(forest().with("oob_score", true), &data),
        "`oob_score` is true, and `bootstrap` is false: each tree sees all rows"
    );
    assert_eq!(
        message(forest().with("max_samples", 10), &data),
        "`max_samples` is 10, and `bootstrap` is false: there are no samples"
    );
    let negative = Data { y: data.y.iter().map(|y| -y).collect(), ..data.clone() };
    let gamma = message(Spec::new("HistGradientBoostingRegressor").with("loss", "gamma"), &negative);
    assert!(gamma.starts_with("the target `y` has the value -") && gamma.contains("`loss` gamma takes"), "{gamma}");
    let strings: Vec<Option<String>> = (0..300).map(|i| Some(format!("s{i}"))).collect();
    let many = Data { features: vec![Column::category("name", &strings)], ..data.clone() };
    assert_eq!(message(tree(), &many), "`name` has 300 different values: at most 255 are taken as categories");
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    let error = onrush_learn::fit(&Spec::new("RandomForestRegressor"), &data, &stopped).err().unwrap();
    assert!(error.is_stopped() && error.message.starts_with("stopped after "), "{error}");
    let Some(Attribute::Frame(tree)) = fit(&tree().with("max_depth", 1), &data).attribute("tree") else { panic!() };
    assert_eq!(tree[2], ("feature".to_string(), Values::Strs(vec!["x3".to_string(), String::new(), String::new()])));
}
