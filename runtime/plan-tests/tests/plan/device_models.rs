//! Trainings and predictions on a device: the emulated one, or a GPU (`ONRUSH_TEST_ENGINE=cuda`). Values are
//! scikit-learn's (`tests/learn/expect_*.py`), in the same files that the tests of the estimators on the host read.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, StringArray};
use onrush_frame::TaskHandle;
use onrush_learn::{Attribute, Column, Data, FittedModel, Values};
use onrush_wire::learn::{Fit, ModelId, ModelInfo, Spec};
use onrush_wire::plan::Op;
use onrush_wire::{Expr, ExprKind, FrameId, ModelOutput};

use super::expectations::{assert_close, attribute, classification, expected, numbers, regression};
use super::support::*;

fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

/// A frame of the features and, unless it is empty, the target: classes as integers.
fn frame(b: &TestEngine, data: &Data) -> FrameId {
    let mut columns: Vec<(&str, ArrayRef)> =
        data.features.iter().map(|c| (c.name.as_str(), floats(&c.values))).collect();
    match (data.y.is_empty(), data.classes.is_empty()) {
        (true, _) => {}
        (false, true) => columns.push(("target", floats(&data.y))),
        (false, false) => {
            columns.push(("target", Arc::new(Int64Array::from_iter_values(data.y.iter().map(|y| *y as i64)))));
        }
    }
    b.frame(columns)
}

fn train(b: &TestEngine, spec: &Spec, frame: FrameId, target: bool) -> (ModelInfo, FittedModel) {
    let fit = Fit { spec: spec.clone(), frame, target: target.then(|| Expr::column("target")), eval: Vec::new() };
    let (info, file) = b
        .engine
        .fit(ModelId(b.id().0), &fit, None, &TaskHandle::new())
        .unwrap_or_else(|d| panic!("{spec:?}: {d} {:?}", d.help));
    (info, onrush_learn::save::from_bytes(&file).unwrap())
}

/// A model that was trained on the device.
fn trained(b: &TestEngine, spec: &Spec, data: &Data) -> FittedModel {
    let (info, fitted) = train(b, spec, frame(b, data), !data.y.is_empty());
    assert_eq!(info.card.place, place(), "{spec:?}");
    fitted
}

fn place() -> &'static str {
    if is_cuda() { "gpu" } else { "emulated" }
}

/// Trains again on the host: what the device refuses.
fn host(b: &TestEngine, spec: &Spec, frame: FrameId, target: bool) -> (ModelInfo, FittedModel) {
    let (info, fitted) = train(b, spec, frame, target);
    assert_eq!(info.card.place, "cpu", "{spec:?}");
    (info, fitted)
}

fn column(fitted: &FittedModel, name: &str, column: &str) -> Vec<f64> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{name} is not a frame") };
    match columns.into_iter().find(|(known, _)| known == column) {
        Some((_, Values::Floats(values))) => values,
        other => panic!("{name} has no numbers {column}: {other:?}"),
    }
}

/// Row after row.
fn matrix(fitted: &FittedModel, name: &str) -> Vec<f64> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{name} is not a frame") };
    let columns: Vec<Vec<f64>> = columns
        .into_iter()
        .filter_map(|(_, values)| if let Values::Floats(values) = values { Some(values) } else { None })
        .collect();
    (0..columns[0].len()).flat_map(|i| columns.iter().map(move |c| c[i])).collect()
}

/// The first features, each with mean 0 and variance 1.
fn scaled(data: &Data, width: usize) -> Data {
    let columns = data.features.iter().take(width).map(|c| {
        let mean = c.values.iter().sum::<f64>() / c.values.len() as f64;
        let variance = c.values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / c.values.len() as f64;
        Column::number(c.name.clone(), c.values.iter().map(|v| (v - mean) / variance.sqrt()).collect())
    });
    data.with_features(columns.collect())
}

fn features(name: &str) -> Data {
    Data { y: Vec::new(), ..regression(name) }
}

fn strided(values: &[f64], most: usize) -> Vec<f64> {
    values.iter().step_by(values.len().div_ceil(most).max(1)).copied().collect()
}

#[test]
fn linear_models_have_the_results_of_scikit_learn() {
    let b = device();
    let data = regression("diabetes");
    let tight = |name: &str| Spec::new(name).with("tol", 1e-10).with("max_iter", 100_000);
    let cases = [
        ("ols", Spec::new("LinearRegression"), 1e-10),
        ("ols_origin", Spec::new("LinearRegression").with("fit_intercept", false), 1e-10),
        ("ridge", Spec::new("Ridge").with("alpha", 0.5), 1e-10),
        ("lasso", tight("Lasso").with("alpha", 0.1), 1e-7),
        ("elastic", tight("ElasticNet").with("alpha", 0.01).with("l1_ratio", 0.3), 1e-7),
    ];
    for (name, spec, tolerance) in cases {
        let wanted = &expected("linear.json")[name];
        let fitted = trained(&b, &spec, &data);
        assert_close(&attribute(&fitted, "coef"), &numbers(&wanted["coef"]), tolerance, &format!("{name}: coef"));
        assert_close(
            &attribute(&fitted, "intercept"),
            &numbers(&wanted["intercept"]),
            1e-9,
            &format!("{name}: intercept"),
        );
        if !wanted["summary"].is_null() {
            for (j, title) in ["coef", "std_err", "t", "p", "lower", "upper"].iter().enumerate() {
                let wanted: Vec<f64> = numbers(&wanted["summary"]).into_iter().skip(j).step_by(6).collect();
                assert_close(&column(&fitted, "summary", title), &wanted, 1e-9, &format!("{name}: {title}"));
            }
        }
    }
    // Other types of numbers, and a target that is computed.
    let f = b.frame(vec![
        ("a", Arc::new(Float32Array::from_iter_values((0..300).map(|i| (i % 17) as f32)))),
        ("b", Arc::new(Int64Array::from_iter_values((0..300).map(|i| i * i % 23)))),
        ("target", floats(&(0..300).map(|i| f64::from(3 + 2 * (i % 17) - i * i % 23)).collect::<Vec<f64>>())),
    ]);
    let (info, fitted) = train(&b, &Spec::new("LinearRegression"), f, true);
    assert_eq!(info.card.place, place());
    assert_close(&attribute(&fitted, "coef"), &[2.0, -1.0], 1e-12, "coef");
    assert_close(&attribute(&fitted, "intercept"), &[3.0], 1e-12, "intercept");
    assert!(info.card.title.contains("r2 1.000"), "{}", info.card.title);
}

#[test]
fn logistic_regression_has_the_results_of_scikit_learn() {
    let b = device();
    let tight = || Spec::new("LogisticRegression").with("tol", 1e-10).with("max_iter", 1000);
    let cancer = classification("breast_cancer");
    let cases = [
        ("breast_cancer", tight(), scaled(&cancer, 30), 1e-7),
        ("binary_origin", tight().with("fit_intercept", false), scaled(&cancer, 30), 1e-7),
        ("binary_l1_intercept", tight().with("penalty", "l1").with("c", 0.2), scaled(&cancer, 10), 1e-6),
    ];
    for (name, spec, data, tolerance) in cases {
        let wanted = &expected("linear.json")[name];
        let fitted = trained(&b, &spec, &data);
        assert_close(&attribute(&fitted, "coef"), &numbers(&wanted["coef"]), tolerance, &format!("{name}: coef"));
        let proba = fitted.apply(&data, &[1, 2]).unwrap();
        let proba: Vec<f64> = (0..data.rows).flat_map(|i| proba.iter().map(move |p| p[i])).collect();
        assert_close(&strided(&proba, 30), &numbers(&wanted["proba"]), 1e-6, &format!("{name}: proba"));
    }
}

#[test]
fn components_and_clusters_have_the_results_of_scikit_learn() {
    let b = device();
    let expect = expected("cluster.json");
    for (name, data) in [("pca_iris", "iris"), ("pca_digits_whiten", "digits")] {
        let want = &expect["decompositions"][name];
        let spec = match name {
            "pca_iris" => Spec::new("PCA"),
            _ => Spec::new("PCA").with("n_components", 10).with("whiten", true),
        };
        let fitted = trained(&b, &spec, &features(data));
        let stride = want["stride"].as_u64().unwrap() as usize;
        let components: Vec<f64> = matrix(&fitted, "components").into_iter().step_by(stride).collect();
        assert_close(&components, &numbers(&want["components"]), 1e-9, name);
        let first: Vec<f64> = attribute(&fitted, "explained_variance").into_iter().take(20).collect();
        assert_close(&first, &numbers(&want["explained_variance"]), 1e-12, name);
    }
    let (iris, digits) = (features("iris"), features("digits"));
    let centers = |data: &Data, rows: &[usize]| -> Vec<f64> {
        rows.iter().flat_map(|row| data.features.iter().map(|c| c.values[*row]).collect::<Vec<f64>>()).collect()
    };
    let spec = |k: i64| Spec::new("KMeans").with("n_clusters", k);
    let cases = [
        ("iris_init", spec(3).with("init", centers(&iris, &[0, 50, 100])), iris.clone()),
        ("digits_init", spec(10).with("init", centers(&digits, &(0..10).collect::<Vec<_>>())), digits),
        ("iris_seed", spec(5), iris),
        ("wine_random", spec(3).with("init", "random").with("n_init", 3).with("random_state", 1), features("wine")),
    ];
    for (name, spec, data) in cases {
        let want = &expect["kmeans"][name];
        let fitted = trained(&b, &spec, &data);
        assert_close(&matrix(&fitted, "cluster_centers"), &numbers(&want["centers"]), 1e-6, name);
        assert_close(&attribute(&fitted, "inertia"), &numbers(&want["inertia"]), 1e-9, name);
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        let labels: Vec<f64> = fitted.model().rows().unwrap().into_iter().step_by((data.rows / 200).max(1)).collect();
        assert_eq!(labels, numbers(&want["labels"]), "{name}");
    }
}

#[test]
fn what_the_device_does_not_take_is_trained_on_the_host() {
    let b = device();
    let iris = regression("iris");
    let f = frame(&b, &iris);
    // Three classes, weights of classes, no negative coefficients.
    let classes = frame(&b, &classification("iris"));
    host(&b, &Spec::new("LogisticRegression"), classes, true);
    host(&b, &Spec::new("Ridge").with("positive", true), f, true);
    // Columns that depend on each other: the decomposition of the rows finds out.
    let first = iris.features[0].values.clone();
    let twice = Column::number("twice", first.iter().map(|v| 2.0 * v).collect());
    let dependent = iris.with_features([vec![twice], iris.features.clone()].concat());
    let (_, fitted) = host(&b, &Spec::new("LinearRegression"), frame(&b, &dependent), true);
    assert_eq!(attribute(&fitted, "rank"), [4.0]);
    // A cluster without rows.
    let far = [vec![5.0, 3.0, 1.0, 0.2], vec![100.0; 8]].concat();
    let alone = Data { y: Vec::new(), ..iris };
    host(&b, &Spec::new("KMeans").with("n_clusters", 3).with("init", far), frame(&b, &alone), false);
    // Values that no estimator of these takes have the error of the host.
    for (values, message) in [
        (Float64Array::from(vec![Some(1.0), None, Some(2.0), Some(4.0)]), "`x` has 1 null in 4 rows"),
        (Float64Array::from(vec![1.0, f64::INFINITY, 2.0, 4.0]), "`x` is infinite in row 1"),
    ] {
        let f = b.frame(vec![("x", Arc::new(values)), ("target", floats(&[1.0, 2.0, 3.0, 5.0]))]);
        let fit = Fit { spec: Spec::new("Ridge"), frame: f, target: Some(Expr::column("target")), eval: Vec::new() };
        let error = b.engine.fit(ModelId(b.id().0), &fit, None, &TaskHandle::new()).unwrap_err();
        assert!(error.message.starts_with(message), "{error}");
    }
}

fn output(info: &ModelInfo, name: &str) -> Expr {
    Expr::new(ExprKind::Model(ModelOutput { model: ModelId(0), key: info.key, output: name.to_string() }))
}

/// Trains, asks the device and the host for outputs of the same rows, and compares them.
fn same_outputs(spec: &Spec, target: Option<ArrayRef>, outputs: &[&str]) {
    let iris = regression("iris");
    let table = |b: &TestEngine| {
        let mut columns: Vec<(&str, ArrayRef)> =
            iris.features.iter().map(|c| (c.name.as_str(), floats(&c.values))).collect();
        columns.extend(target.clone().map(|y| ("target", y)));
        b.frame(columns)
    };
    let (only, cpu) = (only_device(), TestEngine::on_cpu());
    let (f, g) = (table(&only), table(&cpu));
    let has_target = target.is_some();
    let (info, _) = train(&only, spec, f, has_target);
    let (same, _) = train(&cpu, spec, g, has_target);
    for name in outputs {
        let column = |b: &TestEngine, frame, info| {
            let expr = match name.starts_with("prediction") && has_target {
                true => output(info, name),
                // Rounded, so that both print the same.
                false => Expr::call("round", [output(info, name), Expr::literal(9)]),
            };
            b.column(b.step(Op::Select { input: frame, exprs: vec![expr] }), 0)
        };
        assert_eq!(column(&only, f, &info), column(&cpu, g, &same), "{spec:?} {name}");
    }
}

#[test]
fn linear_models_predict_inside_of_the_kernel() {
    let classes = regression("iris").y;
    let is_first: Vec<bool> = classes.iter().map(|c| *c == 0.0).collect();
    let names = |class: &f64| ["setosa", "versicolor", "virginica"][*class as usize];
    let strings: ArrayRef = Arc::new(StringArray::from(classes.iter().map(names).collect::<Vec<_>>()));
    same_outputs(&Spec::new("LogisticRegression"), Some(strings), &["prediction", "proba_setosa", "proba_virginica"]);
    let bools: ArrayRef = Arc::new(BooleanArray::from(is_first));
    same_outputs(&Spec::new("LogisticRegression"), Some(bools), &["prediction", "proba_true", "proba_false"]);
    same_outputs(&Spec::new("PCA").with("n_components", 2), None, &["pca0", "pca1"]);
}

#[test]
fn a_prediction_for_a_null_has_the_error_of_the_host() {
    let b = device();
    let f = b.frame(vec![
        ("x", floats(&(0..100).map(f64::from).collect::<Vec<f64>>())),
        ("target", floats(&(0..100).map(|i| f64::from(2 * i + 1)).collect::<Vec<f64>>())),
    ]);
    let (info, _) = train(&b, &Spec::new("LinearRegression"), f, true);
    let g = b.frame(vec![("x", Arc::new(Float64Array::from(vec![Some(1.0), None])))]);
    let id = b.try_select(g, output(&info, "prediction")).unwrap();
    let error = b.try_rows(id).unwrap_err();
    assert!(error.message.starts_with("`x` has 1 null in 2 rows"), "{error}");
    let h = b.frame(vec![("x", floats(&[1.0, 10.0]))]);
    assert_eq!(b.select(h, Expr::call("round", [output(&info, "prediction"), Expr::literal(6)])), "f64: 3.0 21.0");
}
