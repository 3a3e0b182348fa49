//! SHAP values against shap 0.51.0, sums over all subsets, and the contributions of XGBoost 3.2.0 and LightGBM 4.7.0.
//! `tests/learn/expect_shap.py` writes `shap.json`.

use onrush_learn::explain::Scale;
use onrush_learn::select::{Explanation, ShapOptions, shap};
use onrush_learn::{Attribute, Column, Data, Error, FittedModel, Run, Spec, Values, save};
use onrush_wire::Value as Class;
use onrush_wire::learn::Part;
use serde_json::Value;

use crate::support::{assert_close, classification, expected, fit, numbers, regression};
use crate::trees::param;

fn options() -> ShapOptions {
    ShapOptions { class: None, evaluations: None, random_state: 0 }
}

fn explained(fitted: &FittedModel, data: &Data) -> Explanation {
    shap(fitted, data, None, &options(), &Run::silent()).unwrap_or_else(|e| panic!("{:?}: {e}", fitted.spec))
}

/// The generated rows with a target.
fn generated(all: &Value, rows: &str, target: &str) -> Data {
    let set = &all["generated"];
    let columns = set[rows].as_array().unwrap().chunks(160).enumerate();
    let column =
        |(j, values): (usize, &[Value])| Column::number(format!("x{j}"), values.iter().flat_map(numbers).collect());
    let (y, count) = match target {
        "y" => (numbers(&set["y"]), 0),
        "classes" => (numbers(&set["classes"]), 3),
        _ => (numbers(&set["classes"]).into_iter().map(|c| c.min(1.0)).collect(), 2),
    };
    let classes = (0..count).map(|c: usize| c.to_string()).collect();
    Data { y, classes, target: "y".to_string(), ..Data::new(columns.map(column).collect()) }
}

fn some(data: &Data, step: usize) -> Data {
    data.take(&(0..data.rows).step_by(step).collect::<Vec<usize>>())
}

fn spec(case: &Value) -> Spec {
    let mut spec = Spec::new(case["estimator"].as_str().unwrap());
    for (name, value) in case["params"].as_object().unwrap() {
        spec.set(name, param(value));
    }
    spec
}

/// All values, output after output.
fn flat(made: &Explanation) -> Vec<f64> {
    made.values.values.iter().flatten().flatten().copied().collect()
}

/// Asserts that an explanation of all outputs is that of a case. Two probabilities have those of the second class.
fn assert_explains(made: &Explanation, case: &Value, relative: f64, what: &str) {
    let (mut values, mut base) = (numbers(&case["values"]), numbers(&case["base"]));
    if base.len() == 2 && made.values.base.len() == 1 {
        values.drain(..values.len() / 2);
        base.remove(0);
    }
    assert_close(&flat(made), &values, relative, what);
    assert_close(&made.values.base, &base, relative, &format!("{what}: base"));
}

/// The outputs that an explanation sums to: predictions, probabilities of all classes, or scores.
fn outputs(fitted: &FittedModel, made: &Explanation, data: &Data) -> Vec<Vec<f64>> {
    match made.scale {
        Scale::Value => fitted.apply(data, &[0]).unwrap(),
        Scale::Probability if made.classes.len() == 1 => fitted.apply(data, &[2]).unwrap(),
        Scale::Probability => fitted.apply(data, &(1..=made.classes.len()).collect::<Vec<_>>()).unwrap(),
        Scale::Margin if fitted.classes.is_empty() => fitted.apply(data, &[0]).unwrap(),
        Scale::Margin => fitted.decision_function(data).unwrap(),
    }
}

/// Asserts that the values of each row sum to its output.
fn assert_sums(fitted: &FittedModel, made: &Explanation, data: &Data, what: &str) {
    let expected = outputs(fitted, made, data);
    assert_eq!(expected.len(), made.values.base.len(), "{what}");
    for (k, expected) in expected.iter().enumerate() {
        assert_close(&made.values.sums(k), expected, 1e-10, &format!("{what}: sums"));
    }
}

#[test]
fn trees_are_explained_as_shap_does() {
    let all = expected("shap.json");
    let step = all["generated"]["step"].as_u64().unwrap() as usize;
    for case in all["trees"].as_array().unwrap() {
        let (rows, target) = (case["rows"].as_str().unwrap(), case["target"].as_str().unwrap());
        let mut data = generated(&all, rows, target);
        if case["weighted"] == true {
            data.weight = Some(numbers(&all["generated"]["weight"]));
        }
        let what = format!("{} {} {target}", case["estimator"], case["params"]);
        let fitted = fit(&spec(case), &data);
        let rows = some(&data, step);
        let made = explained(&fitted, &rows);
        // Leaves of scikit-learn's HistGradientBoosting are in single precision while it is trained.
        let relative = if what.contains("Boosting") { 1e-6 } else { 1e-10 };
        assert_explains(&made, case, relative, &what);
        assert_sums(&fitted, &made, &rows, &what);
        if case["brute"].is_array() {
            let mut brute = numbers(&case["brute"]);
            if made.classes.len() == 1 {
                brute.drain(..brute.len() / 2);
            }
            assert_close(&flat(&made), &brute, 1e-12, &format!("{what}: all subsets"));
        }
    }
}

#[test]
fn linear_models_are_explained_as_shap_does() {
    let all = expected("shap.json");
    let step = all["generated"]["step"].as_u64().unwrap() as usize;
    for case in all["linear"].as_array().unwrap() {
        let data = generated(&all, "x", case["target"].as_str().unwrap());
        let what = format!("{} {}", case["estimator"], case["target"]);
        let fitted = fit(&spec(case), &data);
        let (rows, background) = (some(&data, step), data.take(&(0..50).collect::<Vec<_>>()));
        let made = shap(&fitted, &rows, Some(&background), &options(), &Run::silent()).unwrap();
        assert_explains(&made, case, 1e-5, &what);
        assert_sums(&fitted, &made, &rows, &what);
    }
}

#[test]
fn the_last_step_of_a_pipeline_is_explained_on_its_features() {
    let all = expected("shap.json");
    let data = generated(&all, "x", "binary");
    let part = |name: &str, spec: Spec| Part { name: name.to_string(), columns: Vec::new(), spec };
    let case = &all["pipeline"];
    let mut chain = Spec::new("Pipeline");
    chain.parts = vec![part("scale", Spec::new("StandardScaler")), part("model", spec(case))];
    let fitted = fit(&chain, &data);
    let rows = some(&data, all["generated"]["step"].as_u64().unwrap() as usize);
    let background = data.take(&(0..50).collect::<Vec<_>>());
    let made = shap(&fitted, &rows, Some(&background), &options(), &Run::silent()).unwrap();
    assert_explains(&made, case, 1e-5, "pipeline");
    let found: Vec<f64> = made.data.features.iter().flat_map(|c| c.values.clone()).collect();
    assert_close(&found, &numbers(&case["data"]), 1e-10, "the features of the last step");
}

#[test]
fn other_models_are_explained_by_the_permutations_of_shap() {
    let all = expected("shap.json");
    let step = all["generated"]["step"].as_u64().unwrap() as usize;
    for case in all["permutation"].as_array().unwrap() {
        let data = generated(&all, "x", case["target"].as_str().unwrap());
        let fitted = fit(&spec(case), &data);
        let (rows, background) = (some(&data, step), data.take(&(0..30).collect::<Vec<_>>()));
        let evaluations = case["evaluations"].as_u64().map(|n| n as usize);
        let options = ShapOptions { class: None, evaluations, random_state: 5 };
        let made = shap(&fitted, &rows, Some(&background), &options, &Run::silent()).unwrap();
        let what = case["estimator"].to_string();
        assert_explains(&made, case, 1e-6, &what);
        assert_sums(&fitted, &made, &rows, &what);
    }
}

/// The data of a file of XGBoost's or LightGBM's expectations, with its changes.
fn changed(case: &Value) -> Data {
    let name = case["data"].as_str().unwrap();
    let mut data = match case["kind"].as_str().unwrap() {
        "classifier" => classification(name),
        _ => regression(name),
    };
    let rows = data.rows;
    let has = |change: &str| case["changes"].as_array().unwrap().iter().any(|c| c == change);
    if has("holes") {
        for (j, column) in data.features.iter_mut().enumerate() {
            let holes = column.values.iter_mut().enumerate().filter(|(i, _)| (i * 7 + j * 3) % 11 == 0);
            holes.for_each(|(_, v)| *v = f64::NAN);
        }
    }
    if has("zeros") {
        let values = data.features.iter_mut().flat_map(|column| &mut column.values);
        values.filter(|v| v.abs() < 0.02).for_each(|v| *v = 0.0);
    }
    if has("categories") {
        let first = &data.features[0].values;
        let kind = |i: usize| Some(format!("k{:02}", (i * 5 + if first[i] > 0.0 { 3 } else { 0 }) % 13));
        let kinds: Vec<Option<String>> = (0..rows).map(kind).collect();
        let level = |i: usize| (!i.is_multiple_of(9)).then(|| format!("l{}", i % 3));
        let levels: Vec<Option<String>> = (0..rows).map(level).collect();
        data.features.push(Column::category("kind", &kinds));
        data.features.push(Column::category("level", &levels));
    }
    data
}

#[test]
fn models_of_libraries_have_the_contributions_of_the_libraries() {
    let all = expected("shap.json");
    let step = all["generated"]["step_of_libraries"].as_u64().unwrap() as usize;
    // XGBoost computes in single precision.
    for (library, file, text, relative) in
        [("xgboost", "foreign.json", "json", 2e-5), ("lightgbm", "lightgbm.json", "text", 1e-7)]
    {
        let files = expected(file);
        let cases = all[library].as_object().unwrap();
        assert!(cases.len() > 5, "{library}");
        for (name, case) in cases {
            let source = &files["files"][name];
            let bytes = source[text].as_str().unwrap().as_bytes();
            let fitted = save::load(if text == "json" { "m.json" } else { "m.txt" }, bytes).unwrap();
            let data = some(&changed(source), step);
            let made = explained(&fitted, &data);
            assert_explains(&made, case, relative, &format!("{library} {name}"));
        }
    }
}

#[test]
fn values_sum_to_the_output_for_every_kind_of_trees() {
    let mut data = regression("diabetes");
    let kind = |i: usize| (!i.is_multiple_of(7)).then(|| format!("k{}", i * 5 % 11));
    let kinds: Vec<Option<String>> = (0..data.rows).map(kind).collect();
    for (i, y) in data.y.iter_mut().enumerate() {
        *y += (i * 5 % 11) as f64 * 20.0;
    }
    data.features.iter_mut().flat_map(|c| c.values.iter_mut().step_by(23)).for_each(|v| *v = f64::NAN);
    let with_kinds = {
        let mut data = data.clone();
        data.features.push(Column::category("kind", &kinds));
        data
    };
    let boost = Spec::new("HistGradientBoostingRegressor").with("max_iter", 30);
    // Deep trees have more features on a path than the largest rule has points for in one half.
    let forest = Spec::new("RandomForestRegressor").with("n_estimators", 10).with("max_bins", 255);
    let extra = Spec::new("ExtraTreesRegressor").with("n_estimators", 10);
    for (spec, data) in [(boost, &with_kinds), (forest, &with_kinds), (extra, &data)] {
        let fitted = fit(&spec, data);
        let made = explained(&fitted, data);
        assert_sums(&fitted, &made, data, &spec.estimator);
        let bytes = save::to_bytes(&fitted).unwrap();
        let again = explained(&save::from_bytes(&bytes).unwrap(), data);
        assert_eq!(again.values, made.values, "{}: from a file", spec.estimator);
    }
}

#[test]
fn many_features_on_a_path_are_explained_exactly() {
    // Two rows for each feature, so that each split takes one more feature: the path to the last leaf has 150.
    let width = 150;
    let column = |j: usize| (0..=width).map(|i| f64::from(u8::from(i == j))).collect::<Vec<f64>>();
    let features = (0..width).map(|j| Column::number(format!("x{j}"), column(j))).collect();
    let y = (0..=width).map(|i| if i < width { 2f64.powi(-(i as i32) / 4) * 100.0 } else { 0.0 }).collect();
    let data = Data { y, target: "y".to_string(), ..Data::new(features) };
    let fitted = fit(&Spec::new("DecisionTreeRegressor"), &data);
    let made = explained(&fitted, &data);
    assert_sums(&fitted, &made, &data, "a long path");
}

#[test]
fn a_class_can_be_chosen() {
    let error = |result: Result<Explanation, Error>| result.err().unwrap().message;
    let data = classification("breast_cancer");
    let rows = some(&data, 50);
    let of = |class: Option<Class>| ShapOptions { class, ..options() };
    for (spec, scale) in [
        (Spec::new("RandomForestClassifier").with("n_estimators", 5), Scale::Probability),
        (Spec::new("HistGradientBoostingClassifier").with("max_iter", 5), Scale::Margin),
        (Spec::new("GaussianNB"), Scale::Probability),
    ] {
        let fitted = fit(&spec, &data);
        let both: Vec<Explanation> = [Some(Class::Int(0)), Some(Class::Int(1)), None]
            .map(|class| shap(&fitted, &rows, None, &of(class), &Run::silent()).unwrap())
            .into();
        assert_eq!(both[0].classes, ["0"]);
        assert_eq!((&both[1].classes, both[1].scale), (&vec!["1".to_string()], scale));
        assert_eq!(both[1].values, both[2].values, "the second class without a choice");
        let negative: Vec<f64> = flat(&both[0]).iter().map(|v| -v).collect();
        assert_close(&negative, &flat(&both[1]), 1e-9, &spec.estimator);
        let other = shap(&fitted, &rows, None, &of(Some(Class::Int(7))), &Run::silent());
        assert!(error(other).contains("there is no class `7`"));
    }
    let wine = classification("wine");
    let fitted = fit(&Spec::new("ExtraTreesClassifier").with("n_estimators", 5), &wine);
    let (every, third) = (explained(&fitted, &wine), of(Some(Class::Int(2))));
    let third = shap(&fitted, &wine, None, &third, &Run::silent()).unwrap();
    assert_eq!(every.classes, ["0", "1", "2"]);
    assert_eq!(every.values.values[2], third.values.values[0]);
    let numbers = fit(&Spec::new("Ridge"), &regression("diabetes"));
    let wrong = shap(&numbers, &regression("diabetes"), None, &of(Some(Class::Int(1))), &Run::silent());
    assert!(error(wrong).contains("the model predicts numbers"));
}

#[test]
fn models_that_cannot_be_explained_say_why() {
    let data = regression("diabetes");
    let message = |fitted: &FittedModel, data: &Data| {
        let error = shap(fitted, data, None, &options(), &Run::silent()).err().unwrap();
        (error.message, error.help.join(" "))
    };
    let scaler = fit(&Spec::new("StandardScaler"), &data);
    assert!(message(&scaler, &data).0.contains("predicts nothing that SHAP values could explain"));
    let tree = fit(&Spec::new("DecisionTreeRegressor").with("max_depth", 2), &data);
    assert!(message(&tree, &data.take(&[])).0.contains("no rows"));
    // The file of an older version has no weights of leaves.
    let bytes = save::to_bytes(&tree).unwrap();
    let text = String::from_utf8_lossy(&bytes[8..]).into_owned();
    let at = text.find("\\\"covers\\\":").unwrap() + 8 + "\\\"covers\\\":".len();
    let end = at + bytes[at..].iter().position(|b| !b.is_ascii_digit()).unwrap();
    let mut old = bytes.clone();
    assert_eq!(end, at + 1);
    // A number and three spaces of the header become `null`, which keeps all other places.
    old.splice(at..end, *b"null");
    let length = u64::from_le_bytes(old[..8].try_into().unwrap()) + 3;
    old[..8].copy_from_slice(&length.to_le_bytes());
    let old = save::from_bytes(&old).unwrap();
    assert_eq!(old.apply(&data, &[0]).unwrap(), tree.apply(&data, &[0]).unwrap());
    let (why, help) = message(&old, &data);
    assert!(why.contains("how many training rows") && help.contains("fit it again"), "{why} {help}");
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    for spec in [Spec::new("DecisionTreeRegressor"), Spec::new("KNeighborsRegressor")] {
        let error = shap(&fit(&spec, &data), &data, None, &options(), &stopped).err().unwrap();
        assert!(error.is_stopped(), "{error}");
    }
}

#[test]
fn the_frame_of_an_explanation_has_bases_values_and_features() {
    let data = classification("iris");
    let fitted = fit(&Spec::new("DecisionTreeClassifier"), &data);
    let Attribute::Frame(columns) = explained(&fitted, &data).frame() else { panic!() };
    let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[..4], ["base|probability|0", "base|probability|1", "base|probability|2", "shap|0|sepal_length"]);
    assert_eq!(names[3 + 12..], ["value|sepal_length", "value|sepal_width", "value|petal_length", "value|petal_width"]);
    assert!(columns.iter().all(|(_, values)| matches!(values, Values::Floats(values) if values.len() == data.rows)));
}
