//! Votes, stacks, bagging, calibration and boosting against scikit-learn 1.9.1 (`tests/learn/ensemble.json`, written by
//! `expect_ensemble.py`), and by their properties.

use std::sync::atomic::{AtomicUsize, Ordering};

use onrush_learn::{Attribute, Column, Data, ErrorKind, FittedModel, Param, Run, Spec, Values, save};
use onrush_wire::learn::{Grid, Part, Splitter};
use serde_json::Value;

use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};
use crate::trees::param;

/// The specification of a case, with the estimators inside.
fn spec(case: &Value) -> Spec {
    let mut spec = Spec::new(case["estimator"].as_str().unwrap());
    for (name, value) in case["params"].as_object().into_iter().flatten() {
        spec.set(name, param(value));
    }
    let part = |case: &Value| part(case["name"].as_str().unwrap(), self::spec(case));
    spec.parts = case["parts"].as_array().unwrap().iter().map(part).collect();
    spec
}

fn part(name: &str, spec: Spec) -> Part {
    Part { name: name.to_string(), columns: Vec::new(), spec }
}

/// The rows of a case.
fn rows(all: &Value, case: &Value) -> Data {
    let name = case["data"].as_str().unwrap();
    let mut data = match name {
        "diabetes" => regression(name),
        "generated" => generated(all, case["target"].as_str().unwrap()),
        _ => classification(name),
    };
    if case["weighted"] == true {
        data.weight = Some(match name {
            "generated" => numbers(&all["generated"]["weight"]),
            _ => (0..data.rows).map(|i| (i % 4) as f64 + 0.5).collect(),
        });
    }
    data
}

fn generated(all: &Value, target: &str) -> Data {
    let set = &all["generated"];
    let (x, width) = (numbers(&set["x"]), set["width"].as_u64().unwrap() as usize);
    let column = |j: usize| Column::number(format!("x{j}"), x.iter().skip(j).step_by(width).copied().collect());
    let (y, count) = match target {
        "y" => (numbers(&set["y"]), 0),
        "classes" => (numbers(&set["classes"]), 3),
        _ => (numbers(&set["classes"]).into_iter().map(|c| c.min(1.0)).collect(), 2),
    };
    let classes = (0..count).map(|c: usize| c.to_string()).collect();
    Data { y, classes, target: "y".to_string(), ..Data::new((0..width).map(column).collect()) }
}

/// Predictions, or probabilities if there are some, at a few rows.
fn predicted(fitted: &FittedModel, data: &Data) -> Vec<f64> {
    let count = fitted.outputs().len();
    let wanted: Vec<usize> = if count == 1 { vec![0] } else { (1..count).collect() };
    let columns = fitted.apply(data, &wanted).unwrap();
    let rows = (0..data.rows).step_by((data.rows / 20).max(1)).take(20);
    rows.flat_map(|row| columns.iter().map(move |c| c[row])).collect()
}

fn everything(fitted: &FittedModel, data: &Data) -> Vec<Vec<f64>> {
    fitted.apply(data, &(0..fitted.outputs().len()).collect::<Vec<_>>()).unwrap()
}

/// All columns of numbers of an attribute, one after the other.
fn floats(fitted: &FittedModel, name: &str) -> Vec<Vec<f64>> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("no frame {name}") };
    let of = |(_, values): (String, Values)| match values {
        Values::Floats(values) => Some(values),
        _ => None,
    };
    columns.into_iter().filter_map(of).collect()
}

/// Calls `check` for each case of a group with its model, its rows, and a description.
fn for_each(group: &str, check: impl Fn(&Value, &FittedModel, &Data, &str)) {
    let all = expected("ensemble.json");
    for case in all[group].as_array().unwrap() {
        let (spec, data) = (spec(&case["spec"]), rows(&all, case));
        let what = format!("{} {:?} {} weighted {}", spec.estimator, spec.params, case["data"], case["weighted"]);
        check(case, &fit(&spec, &data), &data, &what);
    }
}

#[test]
fn votes_are_those_of_scikit_learn() {
    for_each("votes", |case, fitted, data, what| {
        assert_close(&predicted(fitted, data), &numbers(&case["predict"]), 1e-8, what);
    });
}

#[test]
fn stacks_are_those_of_scikit_learn() {
    for_each("stacks", |case, fitted, data, what| {
        assert_close(&attribute(fitted, "coef"), &numbers(&case["coef"]), 1e-7, &format!("{what}: coef"));
        assert_close(&predicted(fitted, data), &numbers(&case["predict"]), 1e-8, what);
    });
}

#[test]
fn samples_of_bagging_are_those_of_scikit_learn() {
    for_each("bags", |case, fitted, data, what| {
        let Some(Attribute::Frame(columns)) = fitted.attribute("estimators_features") else { panic!("{what}") };
        let Values::Strs(names) = &columns[1].1 else { panic!("{what}") };
        let theirs: Vec<&str> =
            numbers(&case["features"]).iter().map(|j| data.features[*j as usize].name.as_str()).collect();
        assert_eq!(*names, theirs, "{what}");
        assert_close(&predicted(fitted, data), &numbers(&case["predict"]), 1e-7, what);
        if !case["oob"].is_null() {
            let name = if data.classes.is_empty() { "oob_prediction" } else { "oob_decision_function" };
            let columns = floats(fitted, name);
            let found: Vec<f64> = (0..15).flat_map(|row| columns.iter().map(move |c| c[row])).collect();
            assert_close(&found, &numbers(&case["oob"]), 1e-7, &format!("{what}: {name}"));
            assert_close(&attribute(fitted, "oob_score"), &numbers(&case["oob_score"]), 1e-9, what);
        }
    });
}

#[test]
fn calibrators_are_those_of_scikit_learn() {
    for_each("calibrations", |case, fitted, data, what| {
        let found = floats(fitted, "calibrators");
        assert_close(&found[0], &numbers(&case["first"]), 1e-6, &format!("{what}: a or x"));
        assert_close(&found[1], &numbers(&case["second"]), 1e-6, &format!("{what}: b or y"));
        assert_close(&predicted(fitted, data), &numbers(&case["predict"]), 1e-6, what);
    });
}

#[test]
fn several_classes_by_two_are_those_of_scikit_learn() {
    for_each("several_classes", |case, fitted, data, what| {
        assert_close(&predicted(fitted, data), &numbers(&case["predict"]), 1e-7, what);
        assert_eq!(fitted.apply(data, &[0]).unwrap()[0], numbers(&case["classes"]), "{what}");
        let some = data.take(&(0..data.rows).step_by(9).collect::<Vec<usize>>());
        let decision = fitted.model().decision(&some).unwrap();
        assert_eq!(decision.is_some(), !case["decision"].is_null(), "{what}");
        if let Some(decision) = decision {
            assert_close(&decision.concat(), &numbers(&case["decision"]), 1e-7, &format!("{what}: decision"));
        }
    });
}

#[test]
fn boosting_by_weights_is_that_of_scikit_learn() {
    for_each("boosted_by_weights", |case, fitted, data, what| {
        for (name, theirs) in [("estimator_weights", "weights"), ("estimator_errors", "errors")] {
            assert_close(&attribute(fitted, name), &numbers(&case[theirs]), 1e-6, &format!("{what}: {name}"));
        }
        if !case["importances"].is_null() {
            let found = attribute(fitted, "feature_importances");
            assert_close(&found, &numbers(&case["importances"]), 1e-8, &format!("{what}: importances"));
        }
        assert_close(&predicted(fitted, data), &numbers(&case["predict"]), 1e-6, what);
    });
}

#[test]
fn boosting_by_gradients_is_that_of_scikit_learn() {
    for_each("boosted_by_gradients", |case, fitted, data, what| {
        // Sums that are rounded in another order break ties of equally good splits in another way.
        let has_ties = case["ties"] == true;
        let tolerance = if has_ties { 0.05 } else { 1e-9 };
        assert_close(&attribute(fitted, "n_estimators"), &numbers(&case["n_estimators"]), 0.0, what);
        let found = attribute(fitted, "train_score");
        assert_close(&found, &numbers(&case["train_score"]), tolerance, &format!("{what}: train_score"));
        if has_ties {
            return;
        }
        assert_close(&predicted(fitted, data), &numbers(&case["predict"]), 1e-8, what);
        if case["feature_ties"] == false {
            let found = attribute(fitted, "feature_importances");
            assert_close(&found, &numbers(&case["importances"]), 1e-8, &format!("{what}: importances"));
        }
        if !case["decision"].is_null() {
            let first = data.take(&(0..10).collect::<Vec<usize>>());
            let found = fitted.model().decision(&first).unwrap().unwrap().concat();
            assert_close(&found, &numbers(&case["decision"]), 1e-8, &format!("{what}: decision"));
        }
        if !case["oob_score"].is_null() {
            for name in ["oob_improvement", "oob_score"] {
                assert_close(&attribute(fitted, name), &numbers(&case[name]), 1e-7, &format!("{what}: {name}"));
            }
        }
        assert!(fitted.model().curves().iter().all(|(_, points)| points.len() == found_rounds(fitted)), "{what}");
    });
}

fn found_rounds(fitted: &FittedModel) -> usize {
    attribute(fitted, "n_estimators")[0] as usize
}

/// A specification of each estimator of the family, with rows for it.
fn every_estimator() -> Vec<(Spec, Data)> {
    let lr = || part("lr", Spec::new("LogisticRegression"));
    let forest = || part("rf", Spec::new("RandomForestClassifier").with("n_estimators", 5usize));
    let pipeline = || {
        let parts = vec![part("scale", Spec::new("StandardScaler")), part("ridge", Spec::new("Ridge"))];
        Spec { parts, ..Spec::new("Pipeline") }
    };
    let of = |name: &str, parts: Vec<Part>| Spec { parts, ..Spec::new(name) };
    let one = |name: &str, inner: Spec| of(name, vec![part("estimator", inner)]);
    let numbers = || vec![part("a", pipeline()), part("b", Spec::new("DecisionTreeRegressor"))];
    let classes = [
        of("VotingClassifier", vec![lr(), forest()]),
        of("VotingClassifier", vec![lr(), forest()]).with("voting", "soft"),
        of("StackingClassifier", vec![lr(), forest()]),
        one("BaggingClassifier", Spec::new("KNeighborsClassifier")).with("max_features", 2usize),
        Spec::new("BaggingClassifier").with("oob_score", true),
        one("CalibratedClassifierCV", Spec::new("GaussianNB")),
        one("CalibratedClassifierCV", Spec::new("LogisticRegression")).with("method", "isotonic"),
        one("OneVsRestClassifier", Spec::new("GaussianNB")),
        one("OneVsOneClassifier", Spec::new("LogisticRegression")),
        Spec::new("AdaBoostClassifier").with("n_estimators", 5usize),
        Spec::new("GradientBoostingClassifier").with("n_estimators", 5usize).with("subsample", 0.8),
    ];
    let values = [
        of("VotingRegressor", numbers()),
        of("StackingRegressor", numbers()).with("passthrough", true),
        one("BaggingRegressor", pipeline()),
        Spec::new("AdaBoostRegressor").with("n_estimators", 5usize),
        Spec::new("GradientBoostingRegressor").with("n_estimators", 5usize).with("n_iter_no_change", 2usize),
    ];
    let (iris, diabetes) = (classification("iris"), regression("diabetes"));
    let classes = classes.into_iter().map(|spec| (spec, iris.clone()));
    classes.chain(values.into_iter().map(|spec| (spec, diabetes.clone()))).collect()
}

#[test]
fn models_repeat_and_survive_a_file_bit_by_bit() {
    for (spec, data) in every_estimator() {
        let fitted = fit(&spec, &data);
        let predicted = everything(&fitted, &data);
        assert!(predicted.iter().flatten().all(|p| p.is_finite()), "{spec:?}");
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        assert_eq!(one_thread.install(|| everything(&fit(&spec, &data), &data)), predicted, "{spec:?}");
        let read = save::from_bytes(&save::to_bytes(&fitted).unwrap()).unwrap();
        assert_eq!(everything(&read, &data), predicted, "{spec:?}");
        assert_eq!(read.model().decision(&data), fitted.model().decision(&data), "{spec:?}");
    }
}

#[test]
fn a_damaged_file_is_refused_or_harmless() {
    for (spec, data) in every_estimator() {
        let bytes = save::to_bytes(&fit(&spec, &data)).unwrap();
        for at in (8..bytes.len()).step_by(bytes.len() / 40) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            if let Ok(model) = save::from_bytes(&damaged) {
                let outputs = 0..model.outputs().len();
                let _ = model.apply(&data, &outputs.collect::<Vec<usize>>());
            }
        }
    }
}

#[test]
fn a_stopped_training_gives_no_model() {
    for (spec, data) in every_estimator() {
        for most in [0, 2, 7] {
            let asked = AtomicUsize::new(0);
            let is_stopped = || asked.fetch_add(1, Ordering::Relaxed) >= most;
            let run = Run { is_stopped: &is_stopped, ..Run::silent() };
            match onrush_learn::fit(&spec, &data, &run) {
                Ok(_) => assert!(asked.load(Ordering::Relaxed) <= most, "{spec:?} went on"),
                Err(error) => assert!(error.is_stopped(), "{spec:?}: {error}"),
            }
        }
    }
}

#[test]
fn soft_votes_are_the_weighted_mean_of_the_parts() {
    let data = classification("wine");
    let inner = [Spec::new("GaussianNB"), Spec::new("RandomForestClassifier").with("n_estimators", 7usize)];
    let parts = vec![part("nb", inner[0].clone()), part("rf", inner[1].clone())];
    let spec = Spec { parts, ..Spec::new("VotingClassifier") };
    let spec = spec.with("voting", "soft").with("weights", vec![3.0, 1.0]);
    let (all, nb, rf) = (everything(&fit(&spec, &data), &data), fit(&inner[0], &data), fit(&inner[1], &data));
    let (nb, rf) = (everything(&nb, &data), everything(&rf, &data));
    for class in 1..=3 {
        let mean: Vec<f64> = nb[class].iter().zip(&rf[class]).map(|(a, b)| (3.0 * a + b) / 4.0).collect();
        assert_close(&all[class], &mean, 1e-15, "soft votes");
    }
}

#[test]
fn stages_and_errors_name_the_estimator() {
    let parts = vec![part("nb", Spec::new("GaussianNB")), part("knn", Spec::new("KNeighborsClassifier"))];
    let spec = Spec { parts, ..Spec::new("VotingClassifier") };
    let stages = std::sync::Mutex::new(Vec::new());
    let stage = |stage: String| stages.lock().unwrap().push(stage);
    onrush_learn::fit(&spec, &classification("iris"), &Run { stage: &stage, ..Run::silent() }).unwrap();
    let stages = stages.into_inner().unwrap();
    assert!(stages.contains(&"1 of 2: nb".to_string()) && stages.contains(&"2 of 2: knn".to_string()), "{stages:?}");

    let message = |spec: Spec, data: &Data| onrush_learn::fit(&spec, data, &Run::silent()).err().unwrap().message;
    let few = classification("iris").take(&[0, 1, 60]);
    assert!(message(spec.clone(), &few).starts_with("estimator `knn`: "), "{}", message(spec.clone(), &few));
    let regressor = Spec { parts: vec![part("r", Spec::new("Ridge"))], ..Spec::new("VotingClassifier") };
    let wanted = "estimator `r` is Ridge, and VotingClassifier takes classifiers";
    assert_eq!(message(regressor, &few), wanted);
    let twice = Spec { parts: vec![spec.parts[0].clone(), spec.parts[0].clone()], ..spec.clone() };
    assert_eq!(message(twice, &few), "VotingClassifier has two estimators named `nb`");
    let weights = spec.clone().with("weights", vec![1.0]);
    assert_eq!(message(weights, &few), "`weights` is [1.0]: one finite number for each of 2 estimators");
    let boosted =
        Spec { parts: vec![part("estimator", Spec::new("KNeighborsClassifier"))], ..Spec::new("AdaBoostClassifier") };
    let wanted = "KNeighborsClassifier takes no sample weights, by which AdaBoostClassifier trains";
    assert_eq!(message(boosted, &classification("iris")), wanted);
    let rare = classification("iris").take(&[0, 1, 2, 3, 4, 60, 61, 120, 121]);
    let calibrated =
        Spec { parts: vec![part("estimator", Spec::new("GaussianNB"))], ..Spec::new("CalibratedClassifierCV") };
    let error = onrush_learn::fit(&calibrated, &rare, &Run::silent()).err().unwrap();
    assert_eq!(error.kind, ErrorKind::CrossValidation, "{error}");
}

#[test]
fn searches_reach_the_estimators_inside() {
    let parts = vec![
        part("lr", Spec::new("LogisticRegression")),
        part("rf", Spec::new("RandomForestClassifier").with("n_estimators", 3usize)),
    ];
    let voting = Spec { parts, ..Spec::new("VotingClassifier") }.with("voting", "soft");
    let grid = vec![
        ("lr__c".to_string(), Grid::List(vec![Param::Float(0.1), Param::Float(1.0)])),
        ("rf".to_string(), Grid::List(vec![Param::from("drop"), Param::from("GaussianNB")])),
    ];
    let search = Spec { parts: vec![part("estimator", voting)], grid, ..Spec::new("GridSearchCV") };
    let search = Spec { cv: Some(Splitter::Auto { n_splits: 3 }), ..search };
    let fitted = fit(&search, &classification("iris"));
    let Some(Attribute::Frame(columns)) = fitted.attribute("results") else { panic!() };
    let Some((_, Values::Strs(states))) = columns.iter().find(|(name, _)| name == "state") else { panic!() };
    assert_eq!(states, &["done"; 4]);
}

#[test]
fn whole_pipelines_with_strings_can_vote() {
    let names: Vec<Option<&str>> = (0..40).map(|i| Some(["a", "b", "c"][i % 3])).collect();
    let number = Column::number("x", (0..40).map(f64::from).collect());
    let y = (0..40).map(|i| f64::from(u8::from(i % 3 == 1 || i > 30))).collect();
    let classes = vec!["no".to_string(), "yes".to_string()];
    let data = Data { y, classes, ..Data::new(vec![Column::category("name", &names), number]) };
    let on = |column: &str, estimator: &str| Part {
        name: column.to_string(),
        columns: vec![column.to_string()],
        spec: Spec::new(estimator),
    };
    let columns = vec![on("name", "OneHotEncoder"), on("x", "StandardScaler")];
    let columns = Spec { parts: columns, ..Spec::new("ColumnTransformer") };
    let whole = |last: &str| Spec {
        parts: vec![part("columns", columns.clone()), part("last", Spec::new(last))],
        ..Spec::new("Pipeline")
    };
    let parts = || vec![part("lr", whole("LogisticRegression")), part("nb", whole("GaussianNB"))];
    for spec in [
        Spec { parts: parts(), ..Spec::new("VotingClassifier") },
        Spec { parts: parts(), ..Spec::new("StackingClassifier") },
        Spec { parts: parts().split_off(1), ..Spec::new("BaggingClassifier") },
        Spec { parts: parts().split_off(1), ..Spec::new("CalibratedClassifierCV") },
    ] {
        let fitted = fit(&spec, &data);
        let right = fitted.apply(&data, &[0]).unwrap()[0].iter().zip(&data.y).filter(|(a, b)| a == b).count();
        assert!(right > 30, "{}: {right} of 40", spec.estimator);
    }
}
