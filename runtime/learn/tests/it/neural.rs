//! Perceptrons of several layers and stochastic gradient descent compared with scikit-learn 1.9
//! (`tests/learn/expect_neural.py`).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onrush_learn::data::sparse::Sparse;
use onrush_learn::{Attribute, Column, Data, FittedModel, Link, Param, Run, Spec, Values, save};
use serde_json::Value;

use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};

pub fn param(value: &Value) -> Param {
    match value {
        Value::Null => Param::None,
        Value::Bool(value) => Param::Bool(*value),
        Value::Number(number) if number.is_i64() => Param::Int(number.as_i64().unwrap()),
        Value::Number(number) => Param::Float(number.as_f64().unwrap()),
        Value::String(word) if word == "-inf" => Param::Float(f64::NEG_INFINITY),
        Value::String(word) => Param::Str(word.clone()),
        Value::Array(values) => Param::List(values.iter().map(param).collect()),
        Value::Object(_) => panic!("{value}"),
    }
}

fn spec(case: &Value) -> Spec {
    let mut spec = Spec::new(case["estimator"].as_str().unwrap());
    for (name, value) in case["params"].as_object().unwrap() {
        spec.set(name, param(value));
    }
    spec
}

/// Each feature with mean 0 and variance 1. Constant ones stay, with mean 0.
pub fn scaled(data: &Data) -> Data {
    let columns = data.features.iter().map(|c| {
        let n = c.values.len() as f64;
        let mean = c.values.iter().sum::<f64>() / n;
        let variance = c.values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        let spread = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        Column::number(c.name.clone(), c.values.iter().map(|v| (v - mean) / spread).collect())
    });
    data.with_features(columns.collect())
}

/// The weights of the expectations: 0.5, 1.25, 2, 2.75, 0, ...
pub fn weights(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| if i % 5 == 4 { 0.0 } else { 0.5 + 0.75 * (i % 4) as f64 }).collect()
}

/// The same rows with sparse features.
fn sparse(data: &Data) -> Data {
    let names = data.features.iter().map(|c| c.name.clone()).collect();
    let mut sparse = Sparse { names: Arc::new(names), starts: vec![0], ..Sparse::default() };
    for row in 0..data.rows {
        for (j, column) in data.features.iter().enumerate().filter(|(_, c)| c.values[row] != 0.0) {
            sparse.columns.push(j as u32);
            sparse.values.push(column.values[row]);
        }
        sparse.starts.push(sparse.columns.len());
    }
    Data { sparse: Some(sparse), ..data.with_features(Vec::new()) }
}

/// The rows of a case.
fn rows(case: &Value) -> Data {
    let wanted = &case["data"];
    let name = wanted["name"].as_str().unwrap();
    let mut data = if name == "diabetes" { regression(name) } else { classification(name) };
    let step = wanted["step"].as_u64().unwrap_or(1) as usize;
    let classes = wanted["classes"].as_f64().unwrap_or(f64::INFINITY);
    let picked: Vec<usize> =
        (0..data.rows).step_by(step).filter(|row| name == "diabetes" || data.y[*row] < classes).collect();
    data = data.take(&picked);
    if classes.is_finite() {
        data.classes.truncate(classes as usize);
    }
    if wanted["scaled"].as_bool().unwrap_or(true) {
        data = scaled(&data);
    }
    let factor = case["target_scale"].as_f64().unwrap();
    if name == "diabetes" {
        data.y.iter_mut().for_each(|y| *y *= factor);
    }
    if case["weight"].as_bool().unwrap() {
        data.weight = Some(weights(data.rows));
    }
    if case["sparse"].as_bool().unwrap() { sparse(&data) } else { data }
}

/// Every so many values that at most `most` stay, as in the expectations.
pub fn strided(values: &[f64], most: usize) -> Vec<f64> {
    values.iter().step_by(values.len().div_ceil(most).max(1)).copied().collect()
}

/// The values of the last column of an attribute.
pub fn last(fitted: &FittedModel, name: &str) -> Vec<f64> {
    match fitted.attribute(name) {
        Some(Attribute::Frame(mut columns)) => match columns.pop() {
            Some((_, Values::Floats(values))) => values,
            other => panic!("{name}: {other:?}"),
        },
        Some(_) => attribute(fitted, name),
        None => panic!("no attribute {name}"),
    }
}

/// Columns as rows after each other.
fn by_row(columns: &[Vec<f64>]) -> Vec<f64> {
    (0..columns[0].len()).flat_map(|i| columns.iter().map(move |c| c[i])).collect()
}

fn check(name: &str, case: &Value) {
    let (spec, data, tolerance) = (spec(case), rows(case), case["tolerance"].as_f64().unwrap());
    let fitted = fit(&spec, &data);
    let close = |found: &[f64], what: &str| {
        assert_close(found, &numbers(&case[what]), tolerance, &format!("{name}: {what}"));
    };
    close(&attribute(&fitted, "n_iter"), "n_iter");
    for (what, most) in [
        ("loss_curve", 20),
        ("validation_scores", 20),
        ("coefs", 40),
        ("intercepts", 20),
        ("loss", 1),
        ("best_loss", 1),
        ("best_validation_score", 1),
        ("coef", 40),
        ("intercept", 30),
        ("t", 1),
    ] {
        if !case[what].is_null() {
            close(&strided(&last(&fitted, what), most), what);
        }
    }
    // A model does not look at the features by name, so that sparse ones need no place in the fitted model.
    let all: Vec<usize> = (0..fitted.outputs().len()).collect();
    let out = fitted.model().apply(&data, &all).unwrap();
    close(&strided(&out[0], 30), "predict");
    assert_eq!(out.len() > 1, !case["proba"].is_null(), "{name}: probabilities");
    if out.len() > 1 {
        close(&strided(&by_row(&out[1..]), 30), "proba");
    }
    if !case["decision"].is_null() {
        close(&strided(&by_row(&fitted.model().decision(&data).unwrap().unwrap()), 30), "decision");
    }
}

#[test]
fn perceptrons_of_several_layers_have_the_results_of_scikit_learn() {
    for (name, case) in expected("neural.json")["mlp"].as_object().unwrap() {
        check(name, case);
    }
}

#[test]
fn stochastic_gradient_descent_has_the_results_of_scikit_learn() {
    for (name, case) in expected("neural.json")["sgd"].as_object().unwrap() {
        check(name, case);
    }
}

fn error(spec: &Spec, data: &Data) -> String {
    match onrush_learn::fit(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} was trained"),
        Err(error) => format!("{error}; {}", error.help.join("; ")),
    }
}

fn notes(fitted: &FittedModel) -> Vec<String> {
    fitted.model().notes()
}

/// Specifications that between them use all solvers.
fn all() -> Vec<(Spec, Data)> {
    let (iris, cancer) = (scaled(&classification("iris")), scaled(&classification("breast_cancer")));
    let diabetes = scaled(&regression("diabetes"));
    let mlp = |name: &str| Spec::new(name).with("max_iter", 6).with("hidden_layer_sizes", [9, 4]);
    vec![
        (mlp("MLPClassifier"), iris.clone()),
        (mlp("MLPClassifier").with("early_stopping", true), cancer.clone()),
        (mlp("MLPClassifier").with("solver", "lbfgs").with("activation", "tanh"), cancer.clone()),
        (mlp("MLPRegressor").with("solver", "sgd").with("learning_rate_init", 1e-5), diabetes.clone()),
        (Spec::new("SGDClassifier").with("loss", "log_loss"), iris.clone()),
        (Spec::new("SGDClassifier").with("loss", "modified_huber"), cancer.clone()),
        (Spec::new("SGDClassifier"), iris),
        (Spec::new("SGDRegressor").with("early_stopping", true), diabetes.clone()),
        (Spec::new("Perceptron"), cancer.clone()),
        (Spec::new("PassiveAggressiveClassifier"), cancer),
        (Spec::new("PassiveAggressiveRegressor"), diabetes),
    ]
}

#[test]
fn training_repeats_on_any_number_of_threads_and_survives_a_file() {
    for (spec, data) in all() {
        let first = fit(&spec, &data);
        let bytes = save::to_bytes(&first).unwrap();
        let outputs: Vec<usize> = (0..first.outputs().len()).collect();
        let wanted = first.apply(&data, &outputs).unwrap();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let again = pool.install(|| fit(&spec, &data));
            assert_eq!(again.apply(&data, &outputs).unwrap(), wanted, "{spec:?} on {threads} threads");
        }
        let read = save::from_bytes(&bytes).unwrap();
        assert_eq!(read.apply(&data, &outputs).unwrap(), wanted, "{spec:?}");
        assert_eq!(notes(&read), notes(&first));
        for attribute in onrush_wire::learn::info(&spec.estimator).unwrap().attributes.iter() {
            let (a, b) = (read.attribute(attribute.0), first.attribute(attribute.0));
            assert_eq!(format!("{a:?}"), format!("{b:?}"), "{spec:?} {}", attribute.0);
        }
    }
}

#[test]
fn stopping_stops_and_curves_are_shown() {
    for (spec, data) in all() {
        let run = Run { is_stopped: &|| true, ..Run::silent() };
        let error = onrush_learn::fit(&spec, &data, &run).err().unwrap();
        assert!(error.is_stopped(), "{spec:?}: {error}");
    }
    // The fourth look ends the training in the middle: an error, as for boosted trees.
    let looks = AtomicUsize::new(0);
    let shown = AtomicUsize::new(0);
    let run = Run {
        is_stopped: &|| looks.fetch_add(1, Ordering::Relaxed) >= 3,
        detail: &|_| {
            shown.fetch_add(1, Ordering::Relaxed);
        },
        ..Run::silent()
    };
    let data = scaled(&classification("iris"));
    let error = onrush_learn::fit(&Spec::new("MLPClassifier"), &data, &run).err().unwrap();
    assert_eq!(error.message, "stopped after 3 of 200 iterations");
    assert_eq!(shown.load(Ordering::Relaxed), 3);
}

#[test]
fn a_training_that_overflows_is_an_error() {
    let data = regression("diabetes");
    let huge = Data { y: data.y.iter().map(|y| y * 1e200).collect(), ..data.clone() };
    let mlp = Spec::new("MLPRegressor").with("solver", "sgd").with("learning_rate_init", 1e6);
    let message = error(&mlp, &data);
    assert!(message.starts_with("the weights overflowed in iteration "), "{message}");
    assert!(message.ends_with("or lower `learning_rate_init`, which is 1000000"), "{message}");
    let steep = Spec::new("SGDRegressor").with("learning_rate", "constant").with("eta0", 1e300);
    let message = error(&steep, &huge);
    assert!(message.starts_with("the coefficients overflowed in pass 1; scale the features"), "{message}");
}

#[test]
fn trainings_that_do_not_converge_say_so() {
    let iris = scaled(&classification("iris"));
    let found = notes(&fit(&Spec::new("MLPClassifier").with("max_iter", 3), &iris));
    assert_eq!(found, ["stopped after 3 of 3 iterations; the loss still improves; raise `max_iter`"]);
    let lbfgs = Spec::new("MLPClassifier").with("max_iter", 3).with("solver", "lbfgs");
    let found = notes(&fit(&lbfgs, &iris));
    assert_eq!(found, ["stopped after 3 of 3 iterations; raise `max_iter`, or scale the features"]);
    let found = notes(&fit(&Spec::new("SGDClassifier").with("max_iter", 2), &iris));
    assert_eq!(found, ["stopped after 2 of 2 passes before convergence; raise `max_iter`"]);
    let found = notes(&fit(&Spec::new("MLPClassifier").with("max_iter", 300).with("batch_size", 500), &iris));
    assert_eq!(found[0], "`batch_size` is 500, and a batch has all 150 rows");
    let end = fit(&Spec::new("SGDClassifier").with("max_iter", 2).with("tol", f64::NEG_INFINITY), &iris);
    assert_eq!((notes(&end).len(), attribute(&end, "t")), (0, vec![301.0]));
}

#[test]
fn a_batch_may_lack_a_class_and_weights_of_zero() {
    let iris = scaled(&classification("iris"));
    let spec = Spec::new("MLPClassifier").with("batch_size", 7).with("shuffle", false).with("max_iter", 30);
    let fitted = fit(&spec, &iris);
    let out = fitted.apply(&iris, &[0, 1, 2, 3]).unwrap();
    assert!((0..150).all(|i| (out[1][i] + out[2][i] + out[3][i] - 1.0).abs() < 1e-12));
    let weight = Some((0..150).map(|i| f64::from(u8::from(i >= 7))).collect());
    let message = error(&spec, &Data { weight, ..iris.clone() });
    assert!(
        message.starts_with("the sample weights of a batch are all 0; leave out rows with the weight 0"),
        "{message}"
    );
    for name in ["MLPClassifier", "SGDClassifier"] {
        let none = Data { weight: Some(vec![0.0; 150]), ..iris.clone() };
        assert!(error(&Spec::new(name), &none).starts_with("the sample weights are all 0"));
    }
}

#[test]
fn wrong_parameters_are_named() {
    let (iris, diabetes) = (classification("iris"), regression("diabetes"));
    for (spec, start) in [
        (
            Spec::new("MLPClassifier").with("hidden_layer_sizes", [3.5]),
            "`hidden_layer_sizes` is [3.5]: expected an integer",
        ),
        (
            Spec::new("MLPClassifier").with("hidden_layer_sizes", "many"),
            "`hidden_layer_sizes` is many: expected an integer",
        ),
        (Spec::new("MLPClassifier").with("hidden_layer_sizes", [0]), "`hidden_layer_sizes` is [0]: at least 1"),
        (
            Spec::new("MLPClassifier").with("hidden_layer_sizes", [1 << 20, 1 << 20]),
            "layers of 4, 1048576, 1048576, 3 units",
        ),
        (Spec::new("MLPClassifier").with("batch_size", "all"), "`batch_size` is all: \"auto\", or an integer"),
        (
            Spec::new("MLPClassifier").with("early_stopping", true).with("validation_fraction", 0.001),
            "early stopping holds out 1 of 150 rows: at least 2, and not all",
        ),
        (
            Spec::new("SGDClassifier").with("learning_rate", "pa1").with("loss", "log_loss"),
            "`learning_rate` is \"pa1\" and",
        ),
        (Spec::new("SGDClassifier").with("alpha", 0.0), "`alpha` is 0 and `learning_rate` is \"optimal\""),
        (Spec::new("SGDClassifier").with("average", 0.5), "`average` is 0.5: true, false, or an integer"),
        (Spec::new("SGDClassifier").with("tol", -1.0), "`tol` is -1.0: at least 0, or minus infinity"),
        (
            Spec::new("SGDClassifier").with("class_weight", [1.0]),
            "`class_weight` is [1.0]: \"balanced\", or one number",
        ),
    ] {
        let message = error(&spec, &iris);
        assert!(message.starts_with(start), "{message}");
    }
    let negative = Data { y: diabetes.y.iter().map(|y| y - 100.0).collect(), ..diabetes };
    let message = error(&Spec::new("MLPRegressor").with("loss", "poisson"), &negative);
    assert!(message.contains("and `loss` poisson takes values of at least 0"), "{message}");
}

#[test]
fn linear_scores_are_the_decisions_and_sparse_models_take_dense_rows() {
    let digits = classification("digits").every(4);
    let spec = Spec::new("SGDClassifier").with("random_state", 1);
    let fitted = fit(&spec, &sparse(&digits));
    let decisions = fitted.model().decision(&digits).unwrap().unwrap();
    let same = fitted.model().decision(&sparse(&digits)).unwrap().unwrap();
    let scores = fitted.model().linear().unwrap();
    assert_eq!((scores.link, scores.coef.len()), (Link::Softmax, 10));
    for (k, coef) in scores.coef.iter().enumerate() {
        let by_hand: Vec<f64> = (0..digits.rows)
            .map(|i| scores.intercept[k] + coef.iter().zip(&digits.features).map(|(w, c)| w * c.values[i]).sum::<f64>())
            .collect();
        assert_close(&decisions[k], &by_hand, 1e-12, "decisions");
        assert_close(&same[k], &by_hand, 1e-12, "sparse decisions");
    }
    let few = digits.with_features(digits.features[..9].to_vec());
    let message = fitted.model().apply(&few, &[0]).err().unwrap().message;
    assert_eq!(message, "9 features, and the model was trained on 64");
    let huber = fit(&spec.with("loss", "modified_huber"), &scaled(&classification("breast_cancer")));
    assert!(huber.model().linear().is_none());
}

#[test]
fn models_that_lie_are_refused() {
    let refused = |mut fitted: FittedModel, change: fn(&mut FittedModel), end: &str| {
        change(&mut fitted);
        let message = save::from_bytes(&save::to_bytes(&fitted).unwrap()).err().unwrap().message;
        assert!(message.ends_with(end), "{message}");
    };
    let (iris, diabetes) = (classification("iris"), regression("diabetes"));
    let pop: fn(&mut FittedModel) = |fitted| {
        fitted.features.pop();
    };
    let push: fn(&mut FittedModel) = |fitted| fitted.classes.push("more".to_string());
    let mlp = Spec::new("MLPClassifier").with("max_iter", 2);
    refused(fit(&mlp, &iris), pop, "layers of [4, 100, 3] units for 3 features and 3 outputs");
    refused(fit(&mlp, &iris), push, "3 layers and 3 classes, expected 4");
    refused(fit(&Spec::new("SGDClassifier"), &iris), push, "3 intercepts and 3 classes, expected 4");
    refused(fit(&Spec::new("PassiveAggressiveRegressor"), &diabetes), pop, "10 coefficients for 9 features");
}

#[test]
fn odd_data_neither_panics_nor_gives_nonsense() {
    let column = |name: &str, values: &[f64]| Column::number(name, values.to_vec());
    let sets = [
        vec![column("a", &[1.0, 1.0])],
        vec![column("a", &[2.0, 2.0, 2.0])],
        vec![column("a", &[0.0, 0.0, 0.0, 0.0]), column("b", &[1.0, 2.0, 4.0, -1.0])],
        vec![column("a", &[1e300, -1e300, 5e299, 0.0]), column("b", &[1e-300, 2e-300, 5e-300, 1e-301])],
        vec![column("a", &[f64::MAX, -f64::MAX, 1.0])],
    ];
    let names = [
        "MLPClassifier",
        "MLPRegressor",
        "SGDClassifier",
        "SGDRegressor",
        "Perceptron",
        "PassiveAggressiveClassifier",
        "PassiveAggressiveRegressor",
    ];
    for features in sets {
        for name in names {
            let rows = features[0].values.len();
            let mut data = Data { target: "y".to_string(), ..Data::new(features.clone()) };
            data.y = (0..rows).map(|i| f64::from(u8::from(i % 2 == 0))).collect();
            if !name.ends_with("Regressor") {
                data.classes = vec!["no".to_string(), "yes".to_string()];
            }
            let solvers = if name.starts_with("MLP") { vec!["adam", "sgd", "lbfgs"] } else { vec![""] };
            for solver in solvers {
                let spec = if solver.is_empty() { Spec::new(name) } else { Spec::new(name).with("solver", solver) };
                for spec in [spec.clone(), spec.with("early_stopping", true).with("validation_fraction", 0.5)] {
                    if let Ok(fitted) = onrush_learn::fit(&spec, &data, &Run::silent()) {
                        let found = &fitted.apply(&data, &[0]).unwrap()[0];
                        assert!(found.iter().all(|v| !v.is_nan()), "{spec:?} on {features:?}: {found:?}");
                        save::from_bytes(&save::to_bytes(&fitted).unwrap()).unwrap();
                    }
                }
            }
        }
    }
}
