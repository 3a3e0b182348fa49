//! Choice of features against scikit-learn 1.9.1 (`tests/learn/expect_selection.py`), and properties that follow from
//! definitions.

use onrush_learn::data::sparse::Sparse;
use onrush_learn::{Attribute, Column, Data, FittedModel, Kind, Param, Run, Spec, Values, fit_transform, save};
use onrush_wire::learn::{Grid, Part, Splitter};
use serde_json::Value;

use crate::support::{assert_close, classification, expected, fit, numbers, regression};

fn param(value: &Value) -> Param {
    match value {
        Value::Null => Param::None,
        Value::Bool(b) => Param::Bool(*b),
        Value::Number(n) => n.as_i64().map_or_else(|| Param::Float(n.as_f64().unwrap()), Param::Int),
        Value::String(s) => match s.as_str() {
            "inf" => Param::Float(f64::INFINITY),
            "-inf" => Param::Float(f64::NEG_INFINITY),
            word => Param::from(word),
        },
        other => panic!("{other}"),
    }
}

fn with_params(mut spec: Spec, params: &Value) -> Spec {
    for pair in params.as_array().unwrap() {
        spec.set(pair[0].as_str().unwrap(), param(&pair[1]));
    }
    spec
}

fn positions(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

/// The same rows with all features as sparse ones.
fn sparse(data: &Data) -> Data {
    let names = std::sync::Arc::new(data.names());
    let mut sparse = Sparse { names, starts: vec![0], ..Sparse::default() };
    for row in 0..data.rows {
        for (j, column) in data.features.iter().enumerate().filter(|(_, c)| c.values[row] != 0.0) {
            sparse.columns.push(j as u32);
            sparse.values.push(column.values[row]);
        }
        sparse.starts.push(sparse.columns.len());
    }
    Data { features: Vec::new(), sparse: Some(sparse), ..data.clone() }
}

/// Features of mean 0 and variance 1.
fn scaled(mut data: Data) -> Data {
    for column in &mut data.features {
        let n = column.values.len() as f64;
        let mean = column.values.iter().sum::<f64>() / n;
        let var = column.values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        column.values.iter_mut().for_each(|v| *v = (*v - mean) / var.sqrt());
    }
    data
}

fn frame(fitted: &FittedModel, name: &str) -> Vec<(String, Values)> {
    match fitted.attribute(name) {
        Some(Attribute::Frame(columns)) => columns,
        other => panic!("{name} is {other:?}"),
    }
}

fn floats(columns: &[(String, Values)], name: &str) -> Vec<f64> {
    match &columns.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no column {name}")).1 {
        Values::Floats(values) => values.clone(),
        Values::Ints(values) => values.iter().map(|v| *v as f64).collect(),
        Values::Nullable(_) => panic!("{name} holds strings"),
        Values::Bools(values) => values.iter().map(|v| f64::from(u8::from(*v))).collect(),
        Values::Strs(values) => panic!("{values:?}"),
    }
}

/// The positions of the features that stay.
fn support(fitted: &FittedModel, name: &str) -> Vec<usize> {
    let selected = floats(&frame(fitted, name), "selected");
    (0..selected.len()).filter(|j| selected[*j] == 1.0).collect()
}

fn error(spec: &Spec, data: &Data) -> String {
    match onrush_learn::fit(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} is trained"),
        Err(error) => error.message,
    }
}

fn part(name: &str, spec: Spec) -> Part {
    Part { name: name.to_string(), columns: Vec::new(), spec }
}

/// A selector with an estimator inside.
fn of(selector: &str, inner: Spec) -> Spec {
    Spec { parts: vec![part("estimator", inner)], ..Spec::new(selector) }
}

/// Asserts that the model of a file is the same, and that files with other numbers of features are refused.
fn survives_a_file(fitted: &FittedModel, width: usize, what: &str) {
    let read = save::from_bytes(&save::to_bytes(fitted).unwrap()).unwrap_or_else(|e| panic!("{what}: {e}"));
    for name in ["scores", "support", "ranking", "threshold", "n_features", "cv_results"] {
        // NaN equals NaN as a string.
        assert_eq!(format!("{:?}", read.attribute(name)), format!("{:?}", fitted.attribute(name)), "{what}");
    }
    assert_eq!(read.outputs(), fitted.outputs(), "{what}");
    assert!(fitted.model().check(width, 0).is_ok(), "{what}");
    assert!(fitted.model().check(width + 1, 0).is_err(), "{what} takes more features");
    assert!(width == 0 || fitted.model().check(width - 1, 0).is_err(), "{what} takes fewer features");
}

fn dataset(case: &Value, is_classes: bool) -> Data {
    let name = case["data"].as_str().unwrap();
    if is_classes { classification(name) } else { regression(name) }
}

/// Asserts that numbers are equal up to a share of each one. The smallest numbers have fewer digits.
fn each_close(found: &[f64], wanted: &[f64], relative: f64, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    for (j, (a, b)) in found.iter().zip(wanted).enumerate() {
        let same = a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= relative * b.abs() + 1e-300;
        assert!(same, "{what}: value {j} is {a}, expected {b}");
    }
}

#[test]
fn scores_of_single_features_are_those_of_scikit_learn() {
    for case in expected("selection.json")["univariate"].as_array().unwrap() {
        let is_sparse = case["sparse"] == true;
        let what = format!("{} {} {} sparse {is_sparse}", case["estimator"], case["data"], case["params"]);
        // A target of classes and one of numbers have the same scores.
        for is_classes in [true, false] {
            if is_classes && case["data"] == "diabetes" {
                continue;
            }
            let dense = dataset(case, is_classes);
            let data = if is_sparse { sparse(&dense) } else { dense.clone() };
            let spec = with_params(Spec::new(case["estimator"].as_str().unwrap()), &case["params"]);
            let fitted = fit(&spec, &data);
            let scores = frame(&fitted, "scores");
            // Sparse features are not shifted, so that constant ones have rounding errors.
            let wanted = numbers(&case["scores"]);
            each_close(&floats(&scores, "score"), &wanted, 1e-8, &what);
            if !case["pvalues"].is_null() {
                each_close(&floats(&scores, "pvalue"), &numbers(&case["pvalues"]), 1e-7, &what);
            }
            let kept = positions(&case["support"]);
            assert_eq!(support(&fitted, "scores"), kept, "{what}");
            survives_a_file(&fitted, data.width(), &what);
            let names: Vec<String> = fitted.outputs().into_iter().map(|(name, _)| name).collect();
            let wanted: Vec<String> = kept.iter().map(|j| dense.features[*j].name.clone()).collect();
            assert_eq!(names, wanted, "{what}");
            let all: Vec<usize> = (0..kept.len()).collect();
            let values = fitted.model().apply(&data, &all).unwrap();
            assert!(kept.iter().zip(&values).all(|(j, values)| dense.features[*j].values == *values), "{what}");
        }
    }
}

#[test]
fn selectors_with_an_estimator_choose_what_scikit_learn_chooses() {
    for case in expected("selection.json")["selectors"].as_array().unwrap() {
        let name = case["estimator"].as_str().unwrap();
        let what = format!("{name} {} {} {}", case["data"], case["params"], case["inner"]);
        let data = dataset(case, case["classes"] == true);
        let data = if case["scaled"] == true { scaled(data) } else { data };
        let inner = with_params(Spec::new(case["inner"].as_str().unwrap()), &case["inner_params"]);
        let mut spec = with_params(of(name, inner), &case["params"]);
        spec.cv = case["cv"].as_u64().map(|n| Splitter::Auto { n_splits: n as usize });
        let fitted = fit(&spec, &data);
        assert_eq!(support(&fitted, "support"), positions(&case["support"]), "{what}");
        if name == "SelectFromModel" {
            let found = floats(&frame(&fitted, "support"), "importance");
            assert_close(&found, &numbers(&case["importances"]), 1e-7, &what);
            let Some(Attribute::Float(threshold)) = fitted.attribute("threshold") else { panic!("{what}") };
            let wanted = case["threshold"].as_f64().unwrap();
            assert!((threshold.max(-1e300) - wanted).abs() <= 1e-7 * wanted.abs(), "{what}: {threshold}");
        }
        if !case["ranking"].is_null() {
            assert_eq!(floats(&frame(&fitted, "ranking"), "ranking"), numbers(&case["ranking"]), "{what}");
        }
        if let Some(scores) = case["cv_results"].as_object() {
            let found = frame(&fitted, "cv_results");
            assert_eq!(floats(&found, "n_features"), numbers(&case["n_features"]), "{what}");
            for (column, wanted) in scores {
                assert_close(&floats(&found, column), &numbers(wanted), 1e-7, &what);
            }
        }
        survives_a_file(&fitted, data.width(), &what);
    }
}

#[test]
fn constant_features_and_targets_have_the_scores_of_their_definitions() {
    let rows = 40;
    let values = |f: &dyn Fn(usize) -> f64| (0..rows).map(f).collect::<Vec<f64>>();
    let features = vec![
        Column::number("constant", vec![0.1; rows]),
        Column::number("class", values(&|i| [0.3, 0.7][i % 2])),
        Column::number("noise", values(&|i| (i * 7 % 11) as f64)),
        Column::number("zero", vec![0.0; rows]),
    ];
    let y = values(&|i| (i % 2) as f64);
    let classes = vec!["a".to_string(), "b".to_string()];
    let data = Data { y: y.clone(), target: "t".to_string(), ..Data::new(features) };
    let classified = Data { classes, ..data.clone() };
    let scores = |score: &str, k: usize, data: &Data| {
        let fitted = fit(&Spec::new("SelectKBest").with("score_func", score).with("k", k), data);
        let found = frame(&fitted, "scores");
        (floats(&found, "score"), floats(&found, "pvalue"), support(&fitted, "scores"))
    };
    let (f, p, kept) = scores("f_classif", 3, &classified);
    assert!(f[0].is_nan() && p[0].is_nan() && f[1].is_infinite() && p[1] == 0.0 && f[3].is_nan());
    // A score that is not defined is the lowest, and the later one of two equal ones counts.
    assert_eq!(kept, [1, 2, 3]);
    let (f, p, kept) = scores("f_regression", 1, &data);
    assert_eq!((f[0], p[0], f[1], p[1], kept), (0.0, 1.0, f64::MAX, 0.0, vec![1]));
    let (r, _, _) = scores("r_regression", 1, &data);
    assert!(r[0] == 0.0 && (r[1] - 1.0).abs() < 1e-12 && r[3] == 0.0);
    let (x, p, _) = scores("chi2", 1, &classified);
    assert!(x[0].abs() < 1e-12 && p[0] > 0.999 && x[3].is_nan() && p[3].is_nan());
    let same = Data { y: vec![1.0; rows], ..data.clone() };
    assert_eq!(scores("f_regression", 1, &same).0, [0.0; 4]);
    // The first one of two equal scores counts, here.
    let twins = Data { features: vec![data.features[2].clone(), data.features[2].clone()], ..classified.clone() };
    assert_eq!(support(&fit(&Spec::new("SelectPercentile").with("percentile", 50), &twins), "scores"), [0]);
    // One feature.
    let one = Data { features: vec![data.features[2].clone()], ..classified };
    assert_eq!(scores("f_classif", 1, &one).2, [0]);
}

#[test]
fn a_wrong_selection_is_an_error() {
    let iris = classification("iris");
    let best = |name: &str, value: Param| Spec::new("SelectKBest").with(name, value);
    let below = "`k` is 5: at least 1 and at most 4, the number of features";
    assert_eq!(error(&best("k", 5.into()), &iris), below);
    assert_eq!(error(&best("k", "al".into()), &iris), "`k` is al: expected a number of features, or \"all\"");
    assert_eq!(
        error(&best("score_func", "f_clasif".into()), &iris),
        "`score_func` is \"f_clasif\": did you mean \"f_classif\"?"
    );
    let negative = scaled(iris.clone());
    let message = error(&best("score_func", "chi2".into()).with("k", 1), &negative);
    assert!(message.ends_with(", and `chi2` takes counts of at least 0"), "{message}");
    let diabetes = regression("diabetes");
    let few = best("k", 2.into());
    assert_eq!(error(&few, &Data { y: Vec::new(), ..diabetes.clone() }), "`f_classif` needs a target");
    let mut decimals = diabetes.clone();
    decimals.y[3] = 0.5;
    assert_eq!(
        error(&few, &decimals),
        "`f_classif` compares classes, and the target `target` holds numbers with decimals"
    );
    let one = Data { y: vec![3.0; diabetes.rows], ..diabetes.clone() };
    assert_eq!(error(&few, &one), "`target` has one class in these rows, and `f_classif` compares classes");
    let words = Data { classes: vec!["x".to_string(), "y".to_string(), "z".to_string()], ..iris.clone() };
    let message = error(&best("score_func", "f_regression".into()).with("k", 1), &words);
    assert_eq!(message, "the target `target` has the class `x`: expected numbers");
    let strict = Spec::new("SelectFpr").with("score_func", "f_regression").with("alpha", 1e-300);
    assert!(error(&strict, &diabetes).starts_with("no feature has a p-value below 1e-300: the least is "));
    assert_eq!(
        error(&Spec::new("SelectPercentile").with("percentile", 0), &iris),
        "0 percent of 4 features is less than one feature"
    );
    let generic = Spec::new("GenericUnivariateSelect").with("mode", "fpr").with("param", 2);
    assert_eq!(error(&generic, &iris), "`param` is 2: for the mode \"fpr\" expected a number between 0 and 1");
    let generic = generic.with("score_func", "r_regression").with("param", 0.1);
    assert_eq!(error(&generic, &iris), "`r_regression` has no p-values, and `alpha` is a limit of p-values");
}

#[test]
fn a_wrong_selector_is_an_error() {
    let iris = classification("iris");
    let tree = || Spec::new("DecisionTreeClassifier");
    assert_eq!(
        error(&of("SelectFromModel", tree()).with("threshold", "men"), &iris),
        "`threshold` is men: expected a number, \"mean\", \"median\", or a multiple such as \"1.25*mean\""
    );
    assert!(
        error(&of("SelectFromModel", tree()).with("threshold", 9), &iris)
            .starts_with("no feature has an importance of at least 9: the largest is ")
    );
    assert_eq!(
        error(&of("RFE", Spec::new("KNeighborsClassifier")), &iris),
        "KNeighborsClassifier has no coefficient or importance of each feature"
    );
    assert_eq!(error(&of("RFE", Spec::new("KMeans")), &iris), "RFE has KMeans: expected a regressor or a classifier");
    assert_eq!(error(&Spec::new("RFE"), &iris), "RFE has 0 estimators inside: expected one");
    assert_eq!(
        error(&of("RFE", tree()).with("step", 1.5), &iris),
        "`step` is 1.5: expected a number of features above 0, or a share below 1"
    );
    assert_eq!(
        error(&of("RFE", tree()).with("n_features_to_select", 0.1), &iris),
        "`n_features_to_select` is 0.1: expected a number of features above 0, or a share of 4 features"
    );
    let one = Data { features: vec![iris.features[0].clone()], ..iris.clone() };
    assert_eq!(error(&of("RFECV", tree()), &one), "RFECV chooses among features, and there is one");
    assert_eq!(
        error(&of("SequentialFeatureSelector", tree()).with("n_features_to_select", 4), &iris),
        "`n_features_to_select` is 4: below 4, the number of features"
    );
    assert_eq!(
        error(&of("SequentialFeatureSelector", tree()).with("tol", -0.1), &iris),
        "`tol` is -0.1: at least 0 for the direction \"forward\""
    );
    let message = error(&of("RFECV", tree()).with("scoring", "r2"), &iris);
    assert_eq!(message, "`r2` scores numbers, and the target has classes");
    let diabetes = regression("diabetes");
    let mut decimals = diabetes.clone();
    decimals.y[3] = 0.5;
    let message = "the target `target` holds numbers with decimals, and DecisionTreeClassifier predicts classes";
    assert_eq!(error(&of("RFE", tree()), &decimals), message);
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    for name in ["SelectFromModel", "RFE", "RFECV", "SequentialFeatureSelector"] {
        let error = onrush_learn::fit(&of(name, Spec::new("Lasso")), &diabetes, &stopped).err().unwrap();
        assert!(error.is_stopped(), "{name}: {error}");
    }
}

#[test]
fn selectors_are_steps_of_pipelines_and_searches() {
    let iris = classification("iris");
    let logistic = || Spec::new("LogisticRegression");
    let rfe = of("RFE", logistic()).with("n_features_to_select", 2);
    let parts = vec![part("rfe", rfe.clone()), part("logisticregression", logistic())];
    let pipeline = Spec { parts, ..Spec::new("Pipeline") };
    let fitted = fit(&pipeline, &iris);
    let kept = support(&fit(&rfe, &iris), "support");
    let taken = Data { features: kept.iter().map(|j| iris.features[*j].clone()).collect(), ..iris.clone() };
    let alone = fit(&logistic(), &taken);
    assert_eq!(fitted.apply(&iris, &[0, 1]).unwrap(), alone.apply(&taken, &[0, 1]).unwrap());
    let grid = vec![
        ("rfe__n_features_to_select".to_string(), Grid::List(vec![1.into(), 3.into()])),
        ("rfe__estimator__c".to_string(), Grid::List(vec![0.1.into(), 1.0.into()])),
    ];
    let search = Spec { parts: vec![part("estimator", pipeline)], grid, ..Spec::new("GridSearchCV") };
    let results = frame(&fit(&search, &iris), "results");
    assert_eq!(floats(&results, "param_rfe__n_features_to_select"), [1.0, 3.0, 1.0, 3.0]);
    assert!(floats(&results, "mean_test_score").iter().all(|score| *score > 0.9));
    // Univariate scores, in a pipeline that ends with them.
    let parts = vec![
        part("standardscaler", Spec::new("StandardScaler")),
        part("selectkbest", Spec::new("SelectKBest").with("k", 1)),
    ];
    let (fitted, values) = fit_transform(&Spec { parts, ..Spec::new("Pipeline") }, &iris, &Run::silent()).unwrap();
    assert_eq!((fitted.outputs()[0].0.as_str(), values.len()), ("petal_length", 1));
}

#[test]
fn categories_stay_categories() {
    let rows = 60;
    let words: Vec<Option<&str>> = (0..rows).map(|i| Some(["x", "y", "z"][i % 3])).collect();
    let noise = (0..rows).map(|i| (i * 7 % 5) as f64).collect();
    let mut data = Data::new(vec![Column::number("noise", noise), Column::category("word", &words)]);
    data.y = (0..rows).map(|i| f64::from(u8::from(i % 3 == 1))).collect();
    data.target = "t".to_string();
    let tree = of("SelectFromModel", Spec::new("DecisionTreeClassifier"));
    // Numbers become classes for a classifier, and classes become numbers for a regressor.
    let classes = vec!["0".to_string(), "1".to_string()];
    let regressor = of("SelectFromModel", Spec::new("DecisionTreeRegressor"));
    for (spec, data) in [(&tree, data.clone()), (&regressor, Data { classes, ..data })] {
        match onrush_learn::fit(spec, &data, &Run::silent()) {
            Ok(fitted) => {
                let outputs = fitted.outputs();
                assert_eq!(outputs[0].0, "word");
                assert!(
                    matches!(&outputs[0].1, onrush_learn::Role::Feature(_, Kind::Category(names)) if names.len() == 3)
                );
            }
            Err(error) => assert!(error.message.contains("holds strings"), "{error}"),
        }
    }
}
