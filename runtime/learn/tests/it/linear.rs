//! Linear models compared with scikit-learn 1.9 and statsmodels 0.15 (`tests/learn/expect_linear.py`), and NIST's
//! certified values.

use onrush_learn::{Attribute, Column, Data, FittedModel, Run, Spec, Values, save};
use serde_json::Value;

use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};

/// The weights of the expectations: 0.5, 1.25, 2, 2.75, 0, ...
fn weights(rows: usize) -> Vec<f64> {
    (0..rows).map(|i| if i % 5 == 4 { 0.0 } else { 0.5 + 0.75 * (i % 4) as f64 }).collect()
}

fn weighted(data: &Data) -> Data {
    Data { weight: Some(weights(data.rows)), ..data.clone() }
}

fn raised(data: &Data) -> Data {
    Data { weight: Some(weights(data.rows).into_iter().map(|w| w.max(0.25)).collect()), ..data.clone() }
}

fn first_rows(data: &Data, rows: usize) -> Data {
    data.take(&(0..rows).collect::<Vec<_>>())
}

/// The first features, each with mean 0 and variance 1.
fn scaled(data: &Data, width: usize) -> Data {
    let columns = data.features.iter().take(width).map(|c| {
        let mean = c.values.iter().sum::<f64>() / c.values.len() as f64;
        let variance = c.values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / c.values.len() as f64;
        let sd = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        Column::number(c.name.clone(), c.values.iter().map(|v| (v - mean) / sd).collect())
    });
    data.with_features(columns.collect())
}

/// Every so many values that at most `most` stay, as in the expectations.
fn strided(values: &[f64], most: usize) -> Vec<f64> {
    values.iter().step_by(values.len().div_ceil(most).max(1)).copied().collect()
}

/// The values of a column of an attribute.
fn column(fitted: &FittedModel, name: &str, column: &str) -> Vec<f64> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{name} is not a frame") };
    match columns.into_iter().find(|(known, _)| known == column) {
        Some((_, Values::Floats(values))) => values,
        other => panic!("{name} has no numbers {column}: {other:?}"),
    }
}

fn notes(fitted: &FittedModel) -> Vec<String> {
    fitted.model().notes()
}

fn error(spec: &Spec, data: &Data) -> String {
    match onrush_learn::fit(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} was trained"),
        Err(error) => format!("{error}; {}", error.help.join("; ")),
    }
}

/// A regressor and an expectation: coefficients, intercept, predictions and chosen numbers.
fn check_regressor(name: &str, spec: &Spec, data: &Data, tolerance: f64) -> FittedModel {
    let wanted = &expected("linear.json")[name];
    let fitted = fit(spec, data);
    assert_close(&attribute(&fitted, "coef"), &numbers(&wanted["coef"]), tolerance, &format!("{name}: coef"));
    for what in ["intercept", "dual_gap", "alpha", "l1_ratio", "best_score", "n_iter"] {
        let known = onrush_learn_knows(spec, what);
        if known && !wanted[what].is_null() && !(what == "dual_gap" && tolerance < 1e-6) {
            assert_close(
                &attribute(&fitted, what),
                &numbers(&wanted[what]),
                tolerance.max(1e-9),
                &format!("{name}: {what}"),
            );
        }
    }
    if !wanted["predict"].is_null() {
        let predicted = &fitted.apply(data, &[0]).unwrap()[0];
        assert_close(&strided(predicted, 20), &numbers(&wanted["predict"]), tolerance, &format!("{name}: predict"));
    }
    fitted
}

/// Whether the table of estimators has this attribute.
fn onrush_learn_knows(spec: &Spec, attribute: &str) -> bool {
    let info = onrush_wire::learn::info(&spec.estimator).unwrap();
    info.attributes.iter().any(|(name, _)| *name == attribute)
}

fn check_summary(name: &str, fitted: &FittedModel) {
    let wanted = numbers(&expected("linear.json")[name]["summary"]);
    for (j, title) in ["coef", "std_err", "t", "p", "lower", "upper"].iter().enumerate() {
        let wanted: Vec<f64> = wanted.iter().skip(j).step_by(6).copied().collect();
        let found = column(fitted, "summary", title);
        assert_close(&found, &wanted, 1e-9, &format!("{name}: summary {title}"));
        if *title == "p" {
            found
                .iter()
                .zip(&wanted)
                .for_each(|(a, b)| assert!((a / b - 1.0).abs() < 1e-6, "{name}: p {a}, expected {b}"));
        }
    }
}

#[test]
fn least_squares_has_the_results_of_scikit_learn_and_statsmodels() {
    let data = regression("diabetes");
    let spec = Spec::new("LinearRegression");
    let fitted = check_regressor("ols", &spec, &data, 1e-10);
    let wanted = &expected("linear.json")["ols"];
    assert_close(&attribute(&fitted, "singular"), &numbers(&wanted["singular"]), 1e-11, "singular");
    assert_eq!(attribute(&fitted, "rank"), [10.0]);
    check_summary("ols", &fitted);
    let Some(Attribute::Frame(columns)) = fitted.attribute("summary") else { panic!() };
    let Values::Strs(names) = &columns[0].1 else { panic!() };
    assert_eq!((names[0].as_str(), names[1].as_str(), names.len()), ("intercept", "age", 11));

    check_summary("ols_weighted", &check_regressor("ols_weighted", &spec, &weighted(&data), 1e-10));
    let origin = spec.clone().with("fit_intercept", false);
    check_summary("ols_origin", &check_regressor("ols_origin", &origin, &data, 1e-10));
    let positive = spec.with("positive", true);
    check_regressor("ols_positive", &positive, &data, 1e-10);
    check_regressor("ols_positive_weighted", &positive, &weighted(&data), 1e-10);
}

#[test]
fn dependent_columns_are_named() {
    let data = regression("diabetes");
    let mut columns: Vec<Column> = data.features[..3].to_vec();
    let sum = columns[0].values.iter().zip(&columns[1].values).map(|(a, b)| a + b).collect();
    columns.push(Column::number("sum", sum));
    columns.push(Column::number("seven", vec![7.0; data.rows]));
    let data = data.with_features(columns);
    let fitted = check_regressor("ols_dependent", &Spec::new("LinearRegression"), &data, 1e-10);
    assert_eq!(attribute(&fitted, "rank"), [3.0]);
    assert_eq!(attribute(&fitted, "singular").len(), 5);
    let note = "rank 3 of 5: these columns depend on each other: age, sex, sum; these columns are constant: seven";
    assert_eq!(notes(&fitted), [note]);
    let errors = column(&fitted, "summary", "std_err");
    assert!(errors[1].is_nan() && errors[3].is_finite(), "{errors:?}");

    let wide = first_rows(&regression("diabetes"), 8);
    let fitted = check_regressor("ols_wide", &Spec::new("LinearRegression"), &wide, 1e-9);
    assert!(notes(&fitted)[0].ends_with("8 rows for 11 coefficients"), "{:?}", notes(&fitted));
}

/// The data of one of NIST's sets. Powers of a predictor are further columns.
fn certified(set: &Value) -> (Data, Vec<f64>, Vec<f64>) {
    let rows: Vec<Vec<f64>> = set["rows"].as_array().unwrap().iter().map(numbers).collect();
    let y = rows.iter().map(|r| r[0]).collect();
    let columns: Vec<Vec<f64>> = match set["degree"].as_u64().unwrap() {
        0 => (1..rows[0].len()).map(|j| rows.iter().map(|r| r[j]).collect()).collect(),
        degree => (1..=degree as i32).map(|k| rows.iter().map(|r| r[1].powi(k)).collect()).collect(),
    };
    let features = columns.into_iter().enumerate().map(|(j, c)| Column::number(format!("b{j}"), c)).collect();
    let values = numbers(&set["certified"]);
    let data = Data { y, target: "y".to_string(), ..Data::new(features) };
    (data, values.iter().step_by(2).copied().collect(), values.iter().skip(1).step_by(2).copied().collect())
}

#[test]
fn certified_values_of_nist_are_reached() {
    let sets = &expected("linear.json")["nist"];
    // The least number of correct digits of coefficients and of their standard errors.
    for (name, digits, of_errors) in [
        ("Norris", 12.0, 11.0),
        ("Pontius", 11.0, 9.0),
        ("NoInt1", 13.0, 12.0),
        ("NoInt2", 13.0, 12.0),
        ("Filip", 7.0, 6.0),
        ("Longley", 12.0, 11.0),
        ("Wampler1", 9.0, 0.0),
        ("Wampler2", 12.0, 0.0),
        ("Wampler3", 9.0, 9.0),
        ("Wampler4", 8.0, 9.0),
        ("Wampler5", 6.0, 9.0),
    ] {
        let (data, coef, errors) = certified(&sets[name]);
        let spec = Spec::new("LinearRegression").with("fit_intercept", sets[name]["intercept"] == true);
        let fitted = fit(&spec, &data);
        let correct = |found: &[f64], wanted: &[f64]| {
            assert_eq!(found.len(), wanted.len(), "{name}");
            let digits = found.iter().zip(wanted).map(|(a, b)| -((a - b).abs() / b.abs()).max(1e-15).log10());
            digits.fold(15.0, f64::min)
        };
        let found = correct(&column(&fitted, "summary", "coef"), &coef);
        assert!(found >= digits, "{name}: {found:.1} correct digits of {digits}");
        if of_errors > 0.0 {
            let found = correct(&column(&fitted, "summary", "std_err"), &errors);
            assert!(found >= of_errors, "{name}: {found:.1} correct digits of standard errors of {of_errors}");
        }
        assert_eq!(notes(&fitted), [] as [String; 0], "{name}");
    }
}

#[test]
fn ridge_has_the_results_of_scikit_learn() {
    let data = regression("diabetes");
    let spec = |alpha: f64| Spec::new("Ridge").with("alpha", alpha);
    check_regressor("ridge", &spec(0.5), &data, 1e-10);
    check_regressor("ridge_weighted", &spec(2.0), &weighted(&data), 1e-10);
    check_regressor("ridge_origin", &spec(0.01).with("fit_intercept", false), &data, 1e-10);
    check_regressor("ridge_positive", &spec(0.5).with("positive", true), &data, 1e-10);
    check_regressor("ridge_wide", &spec(0.1), &first_rows(&data, 8), 1e-10);
    check_regressor("ols", &spec(0.0), &data, 1e-10);
    assert_eq!(error(&spec(-1.0), &data), "`alpha` is -1.0: at least 0; ");
    assert_eq!(error(&spec(f64::INFINITY), &data), "`alpha` is inf: expected a finite number; ");
}

#[test]
fn ridge_chooses_its_penalty_as_scikit_learn_does() {
    let data = regression("diabetes");
    let spec = Spec::new("RidgeCV").with("alphas", [0.001, 0.01, 0.1, 1.0, 10.0]);
    check_regressor("ridge_cv", &spec, &data, 1e-9);
    check_regressor("ridge_cv_weighted", &spec, &raised(&data), 1e-9);
    check_regressor("ridge_cv_r2", &spec.clone().with("scoring", "r2"), &data, 1e-9);
    check_regressor("ridge_cv_mae", &spec.clone().with("scoring", "neg_mean_absolute_error"), &data, 1e-9);
    check_regressor("ridge_cv_folds", &spec.clone().with("cv", 4), &data, 1e-9);
    let mse = spec.clone().with("cv", 4).with("scoring", "neg_mean_squared_error");
    check_regressor("ridge_cv_folds_weighted", &mse, &raised(&data), 1e-9);
    check_regressor("ridge_cv_wide", &spec, &first_rows(&data, 8), 1e-8);
    let zero = spec.with("alphas", [0.0, 1.0]);
    assert_eq!(error(&zero, &data), "`alphas` holds 0: expected finite numbers above 0; ");
    assert!(error(&zero.with("cv", 500), &data).starts_with("500 folds of 442 rows: each fold needs a row"));
}

#[test]
fn lasso_and_elastic_net_have_the_results_of_scikit_learn() {
    let data = regression("diabetes");
    let tight =
        |name: &str, alpha: f64| Spec::new(name).with("alpha", alpha).with("tol", 1e-10).with("max_iter", 100_000);
    let fitted = check_regressor("lasso", &tight("Lasso", 0.1), &data, 1e-7);
    let zeros = numbers(&expected("linear.json")["lasso"]["coef"]).iter().map(|w| *w == 0.0).collect::<Vec<_>>();
    assert_eq!(attribute(&fitted, "coef").iter().map(|w| *w == 0.0).collect::<Vec<_>>(), zeros);
    check_regressor("lasso_default", &Spec::new("Lasso").with("alpha", 0.1), &data, 1e-6);
    let random = Spec::new("Lasso").with("alpha", 0.1).with("selection", "random").with("random_state", 3);
    check_regressor("lasso_random", &random, &data, 1e-6);
    check_regressor("lasso_weighted", &tight("Lasso", 0.1), &weighted(&data), 1e-7);
    check_regressor("lasso_positive", &tight("Lasso", 0.05).with("positive", true), &data, 1e-7);
    check_regressor("lasso_wide", &tight("Lasso", 0.5), &first_rows(&data, 8), 1e-7);
    check_regressor("elastic", &tight("ElasticNet", 0.01).with("l1_ratio", 0.3), &data, 1e-7);
    check_regressor("elastic_origin", &tight("ElasticNet", 0.01).with("fit_intercept", false), &data, 1e-7);
    let slow = fit(&Spec::new("Lasso").with("alpha", 1e-3).with("tol", 1e-12).with("max_iter", 2), &data);
    assert!(notes(&slow)[0].starts_with("stopped after 2 of 2 iterations; the duality gap is "), "{:?}", notes(&slow));
}

#[test]
fn lasso_and_elastic_net_choose_their_penalty_as_scikit_learn_does() {
    let data = regression("diabetes");
    let tight = |name: &str| Spec::new(name).with("tol", 1e-10).with("max_iter", 100_000);
    let check = |name: &str, spec: &Spec, data: &Data| {
        let fitted = check_regressor(name, spec, data, 1e-7);
        let wanted = &expected("linear.json")[name];
        assert_close(
            &column(&fitted, "alphas", "alpha"),
            &numbers(&wanted["alphas"]),
            1e-12,
            &format!("{name}: alphas"),
        );
        let path = column(&fitted, "mse_path", "mse");
        assert_close(&strided(&path, 60), &numbers(&wanted["mse_path"]), 1e-8, &format!("{name}: mse_path"));
        fitted
    };
    check("lasso_cv", &tight("LassoCV").with("alphas", 30), &data);
    let given = tight("LassoCV").with("alphas", [0.01, 1.0, 0.1]).with("cv", 3);
    check("lasso_cv_weighted", &given, &weighted(&data));
    let spec = tight("ElasticNetCV").with("l1_ratio", [0.2, 0.9]).with("alphas", 20).with("cv", 4).with("eps", 1e-2);
    let fitted = check("elastic_cv", &spec, &data);
    assert_eq!(column(&fitted, "mse_path", "l1_ratio").len(), 2 * 20 * 4);
    assert_eq!(fitted.model().curves().len(), 2);
    assert!(error(&spec.with("l1_ratio", 0.0), &data).starts_with("`l1_ratio` is 0, which has no largest penalty"));
}

/// A classifier and an expectation.
fn check_classifier(name: &str, spec: &Spec, data: &Data, coef: f64) -> FittedModel {
    let wanted = &expected("linear.json")[name];
    let fitted = fit(spec, data);
    let found = column(&fitted, "coef", "coef");
    assert_close(&strided(&found, 60), &numbers(&wanted["coef"]), coef, &format!("{name}: coef"));
    let found = column(&fitted, "intercept", "intercept");
    assert_close(&found, &numbers(&wanted["intercept"]), coef.max(1e-9), &format!("{name}: intercept"));
    let all: Vec<usize> = (0..=data.classes.len()).collect();
    let out = fitted.apply(data, &all).unwrap();
    let proba: Vec<f64> = (0..data.rows).flat_map(|i| out[1..].iter().map(move |p| p[i])).collect();
    assert_close(&strided(&proba, 30), &numbers(&wanted["proba"]), coef.max(1e-6), &format!("{name}: proba"));
    assert_eq!(strided(&out[0], 30), numbers(&wanted["predict"]), "{name}: predict");
    if let Some(objective) = wanted["objective"].as_f64() {
        let (_, points) = &fitted.model().curves()[0];
        assert_close(&[points[points.len() - 1].1], &[objective], 1e-9, &format!("{name}: objective"));
    }
    fitted
}

fn tight() -> Spec {
    Spec::new("LogisticRegression").with("tol", 1e-10).with("max_iter", 1000)
}

#[test]
fn logistic_regression_has_the_results_of_scikit_learn() {
    check_classifier("iris", &tight(), &classification("iris"), 1e-7);
    check_classifier("wine", &tight(), &scaled(&classification("wine"), 13), 1e-7);
    let cancer = scaled(&classification("breast_cancer"), 30);
    let fitted = check_classifier("breast_cancer", &tight(), &cancer, 1e-7);
    assert_eq!(fitted.model().bars().unwrap().1.len(), 30);
    assert_eq!(fitted.outputs().iter().map(|o| o.0.as_str()).collect::<Vec<_>>(), ["prediction", "proba_0", "proba_1"]);
    check_classifier("binary_weighted", &tight().with("c", 0.3), &weighted(&cancer), 1e-7);
    let balanced = tight().with("class_weight", "balanced");
    check_classifier("binary_balanced", &balanced, &cancer, 1e-7);
    check_classifier("binary_balanced_weighted", &balanced, &weighted(&cancer), 1e-7);
    check_classifier("binary_classes", &tight().with("class_weight", [2.0, 0.5]), &cancer, 1e-7);
    check_classifier("binary_origin", &tight().with("fit_intercept", false), &cancer, 1e-7);
    let origin = tight().with("fit_intercept", false).with("c", 10.0);
    check_classifier("iris_origin", &origin, &classification("iris"), 1e-7);
}

#[test]
fn logistic_regression_without_a_penalty_and_with_many_coefficients_agrees() {
    let iris = classification("iris");
    // Classes that no line separates.
    let mixed = Data { y: (0..iris.rows).map(|i| (i * i % 3 + i / 100) as f64).collect(), ..iris };
    check_classifier("iris_free", &tight().with("c", f64::INFINITY), &mixed, 1e-6);
    check_classifier("iris_free", &tight().with("penalty", "none"), &mixed, 1e-6);
    // scikit-learn's L-BFGS stops this far from the optimum; the objectives agree to nine digits.
    check_classifier("digits", &tight(), &scaled(&classification("digits"), 64), 1e-4);
}

#[test]
fn logistic_regression_with_l1_has_the_results_of_scikit_learn() {
    let iris = scaled(&classification("iris"), 4);
    let l1 = tight().with("l1_ratio", 1.0);
    check_classifier("iris_l1", &l1.clone().with("c", 0.5), &iris, 1e-6);
    check_classifier("iris_elastic", &tight().with("l1_ratio", 0.4).with("c", 0.5), &iris, 1e-6);
    let cancer = scaled(&classification("breast_cancer"), 10);
    let sparse = check_classifier("binary_l1", &l1.clone().with("c", 0.2).with("fit_intercept", false), &cancer, 1e-6);
    check_classifier("binary_l1_intercept", &tight().with("penalty", "l1").with("c", 0.2), &cancer, 1e-6);
    assert!(column(&sparse, "coef", "coef").contains(&0.0));
}

#[test]
fn logistic_regression_chooses_its_penalty_as_scikit_learn_does() {
    let spec = Spec::new("LogisticRegressionCV").with("tol", 1e-10).with("max_iter", 1000);
    for (name, spec, data) in [
        ("logistic_cv", spec.clone().with("cs", 5), scaled(&classification("breast_cancer"), 10)),
        (
            "logistic_cv_loss",
            spec.with("cs", [0.01, 0.1, 1.0, 10.0]).with("cv", 3).with("scoring", "neg_log_loss"),
            scaled(&classification("iris"), 4),
        ),
    ] {
        let fitted = check_classifier(name, &spec, &data, 1e-6);
        let wanted = &expected("linear.json")[name];
        assert_close(&attribute(&fitted, "c"), &numbers(&wanted["c"]), 1e-12, name);
        assert_close(
            &column(&fitted, "scores", "score"),
            &numbers(&wanted["scores"]),
            1e-7,
            &format!("{name}: scores"),
        );
    }
}

/// Specifications that between them use all solvers.
fn all() -> Vec<(Spec, Data)> {
    let diabetes = regression("diabetes");
    let cancer = classification("breast_cancer");
    let iris = classification("iris");
    vec![
        (Spec::new("LinearRegression"), diabetes.clone()),
        (Spec::new("LinearRegression").with("positive", true), diabetes.clone()),
        (Spec::new("LinearRegression"), first_rows(&diabetes, 7)),
        (Spec::new("Ridge"), diabetes.clone()),
        (Spec::new("RidgeCV"), diabetes.clone()),
        (Spec::new("Lasso").with("selection", "random"), diabetes.clone()),
        (Spec::new("ElasticNet"), first_rows(&diabetes, 7)),
        (Spec::new("LassoCV").with("alphas", 10), diabetes.clone()),
        (Spec::new("ElasticNetCV").with("alphas", 10), weighted(&diabetes)),
        (Spec::new("LogisticRegression"), cancer.clone()),
        (Spec::new("LogisticRegression"), iris.clone()),
        (Spec::new("LogisticRegression").with("l1_ratio", 0.5), iris.clone()),
        (Spec::new("LogisticRegression"), scaled(&classification("digits"), 64)),
        (Spec::new("LogisticRegressionCV").with("cs", 3), iris),
    ]
}

#[test]
fn training_repeats_on_any_number_of_threads_and_survives_a_file() {
    for (spec, data) in all() {
        let outputs: Vec<usize> = (0..if data.classes.is_empty() { 1 } else { data.classes.len() + 1 }).collect();
        let first = fit(&spec, &data);
        let bytes = save::to_bytes(&first).unwrap();
        let wanted = first.apply(&data, &outputs).unwrap();
        let info = onrush_wire::learn::info(&spec.estimator).unwrap();
        let attributes = |fitted: &FittedModel| {
            info.attributes.iter().map(|(a, _)| format!("{:?}", fitted.attribute(a))).collect::<Vec<_>>()
        };
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let again = pool.install(|| fit(&spec, &data));
            assert_eq!(again.apply(&data, &outputs).unwrap(), wanted, "{spec:?} on {threads} threads");
            // All digits are printed.
            assert_eq!(attributes(&again), attributes(&first), "{spec:?} on {threads} threads");
        }
        let read = save::from_bytes(&bytes).unwrap();
        assert_eq!(read.apply(&data, &outputs).unwrap(), wanted, "{spec:?}");
        assert_eq!((notes(&read), attributes(&read)), (notes(&first), attributes(&first)));
    }
}

#[test]
fn order_of_rows_and_scales_of_columns_change_nothing_but_rounding() {
    for name in ["LinearRegression", "LogisticRegression"] {
        let classifier = name == "LogisticRegression";
        let data = if classifier { scaled(&classification("breast_cancer"), 5) } else { regression("diabetes") };
        let spec = match classifier {
            true => tight().with("c", f64::INFINITY),
            false => Spec::new(name),
        };
        let coef = |data: &Data| column(&fit(&spec, data), "coef", "coef");
        let plain = coef(&data);
        let order: Vec<usize> = (0..data.rows).map(|i| (i * 101) % data.rows).collect();
        assert_close(&coef(&data.take(&order)), &plain, 1e-9, &format!("{name}: order"));
        // A weight of 2 is a row twice.
        let twice: Vec<usize> = (0..data.rows).chain((0..data.rows).step_by(2)).collect();
        let weight = Some((0..data.rows).map(|i| if i % 2 == 0 { 2.0 } else { 1.0 }).collect());
        let weighted = Data { weight, ..data.clone() };
        assert_close(&coef(&weighted), &coef(&data.take(&twice)), 1e-9, &format!("{name}: weights"));
        let mut moved = data.clone();
        moved.features[0].values.iter_mut().for_each(|v| *v = *v * 1e-6 + 3.0);
        moved.features[1].values.iter_mut().for_each(|v| *v *= 1e5);
        let mut found = coef(&moved);
        found[0] *= 1e-6;
        found[1] *= 1e5;
        assert_close(&found, &plain, 1e-7, &format!("{name}: scales"));
    }
}

#[test]
fn gradients_at_the_optimum_are_zero() {
    let data = scaled(&classification("breast_cancer"), 30);
    let fitted = fit(&tight(), &data);
    let (coef, proba) = (column(&fitted, "coef", "coef"), &fitted.apply(&data, &[2]).unwrap()[0]);
    for (column, w) in data.features.iter().zip(&coef) {
        let slope: f64 = (0..data.rows).map(|i| column.values[i] * (proba[i] - data.y[i])).sum();
        assert!((slope + w).abs() < 1e-7, "{}: {slope} and {w}", column.name);
    }
}

#[test]
fn an_iteration_that_stops_early_is_a_note() {
    let data = scaled(&classification("breast_cancer"), 30);
    let fitted = fit(&Spec::new("LogisticRegression").with("max_iter", 2), &data);
    let note = &notes(&fitted)[0];
    assert!(note.starts_with("stopped after 2 of 2 iterations; the gradient is "), "{note}");
    assert!(note.ends_with("`tol` asks for 1e-4; raise `max_iter` or scale the features"), "{note}");
    assert_eq!(fitted.model().curves()[0].1.len(), 2);
}

#[test]
fn odd_data_neither_panics_nor_gives_nonsense() {
    let column = |name: &str, values: &[f64]| Column::number(name, values.to_vec());
    let sets = [
        vec![column("a", &[1.0])],
        vec![column("a", &[2.0, 2.0, 2.0])],
        vec![column("a", &[0.0, 0.0, 0.0]), column("b", &[1.0, 2.0, 4.0])],
        vec![column("a", &[1e300, -1e300, 5e299, 0.0]), column("b", &[1e-300, 2e-300, 5e-300, 1e-301])],
        vec![column("a", &[1e9, 1e9 + 1.0, 1e9 + 2.0, 1e9 + 4.0]), column("b", &[1.0, 0.0, 1.0, 0.0])],
        vec![column("a", &[f64::MAX, -f64::MAX, 1.0])],
        vec![column("a", &[f64::MIN_POSITIVE, 0.0, f64::MIN_POSITIVE / 8.0])],
    ];
    let names = [
        "LinearRegression",
        "Ridge",
        "RidgeCV",
        "Lasso",
        "ElasticNet",
        "LassoCV",
        "ElasticNetCV",
        "LogisticRegression",
        "LogisticRegressionCV",
    ];
    for features in sets {
        for name in names {
            let rows = features[0].values.len();
            let mut data = Data::new(features.clone());
            data.target = "y".to_string();
            data.y = (0..rows).map(|i| f64::from(u8::from(i % 2 == 0))).collect();
            if name.starts_with("Logistic") {
                data.classes = vec!["no".to_string(), "yes".to_string()];
            }
            let specs = match name.ends_with("CV") {
                true => vec![Spec::new(name).with("cv", 2)],
                false => vec![Spec::new(name), Spec::new(name).with("fit_intercept", false)],
            };
            for spec in specs {
                for weight in [None, Some(vec![1.0; rows]), Some((0..rows).map(|i| i as f64).collect())] {
                    let data = Data { weight, ..data.clone() };
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

#[test]
fn an_infinite_parameter_survives_a_file() {
    let data = classification("iris");
    let fitted = fit(&Spec::new("LogisticRegression").with("c", f64::INFINITY), &data);
    let read = save::from_bytes(&save::to_bytes(&fitted).unwrap()).unwrap();
    assert_eq!(read.spec, fitted.spec);
    assert_eq!(read.apply(&data, &[0, 1]).unwrap(), fitted.apply(&data, &[0, 1]).unwrap());
}

#[test]
fn wrong_input_is_named() {
    let data = regression("diabetes");
    let none = Data { weight: Some(vec![0.0; data.rows]), ..data.clone() };
    let message = error(&Spec::new("LinearRegression"), &none);
    assert!(message.starts_with("the sample weights are all 0"), "{message}");
    let mut hole = data.clone();
    hole.features[2].values[3] = f64::NAN;
    let message = error(&Spec::new("Lasso"), &hole);
    assert!(message.starts_with("`bmi` has 1 null in 442 rows, and Lasso takes no missing values"), "{message}");
    let iris = classification("iris");
    let message = error(&Spec::new("LogisticRegression").with("class_weight", [1.0, 2.0]), &iris);
    assert!(
        message.starts_with("`class_weight` is [1.0, 2.0]: \"balanced\", or one number for each of 0, 1, 2"),
        "{message}"
    );
    let message = error(&Spec::new("LogisticRegression").with("class_weight", [1.0, -2.0, 1.0]), &iris);
    assert!(
        message.starts_with("`class_weight` is [1.0, -2.0, 1.0]: expected finite numbers of at least 0"),
        "{message}"
    );
    let message = error(&Spec::new("HistGradientBoostingClassifier").with("class_weight", [1.0, -2.0, 1.0]), &iris);
    assert!(
        message.starts_with("`class_weight` is [1.0, -2.0, 1.0]: expected finite numbers of at least 0"),
        "{message}"
    );
    let message = error(&Spec::new("LogisticRegression").with("l2_ratio", 2.0), &iris);
    let expected = "`LogisticRegression` has no parameter `l2_ratio`; did you mean `l1_ratio`?";
    assert!(message.starts_with(expected), "{message}");
    let message = error(&Spec::new("LogisticRegressionCV").with("cv", 60), &iris);
    assert!(message.starts_with("60 folds, but no class has more than 50 rows"), "{message}");
    let message = error(&Spec::new("LassoCV").with("alphas", [1.0, f64::INFINITY]), &data);
    assert!(message.starts_with("`alphas` is [1.0, inf]: expected a count, or finite numbers"), "{message}");
}

#[test]
fn fewer_rows_than_coefficients_is_a_note() {
    let few = first_rows(&regression("diabetes"), 10);
    let found = notes(&fit(&Spec::new("LinearRegression"), &few));
    assert_eq!(found, ["rank 9 of 10: 10 rows for 11 coefficients"]);
}

#[test]
fn too_many_features_are_refused_before_memory_runs_out() {
    let column =
        |j: usize| Column::number(format!("x{j}"), (0..6).map(|i| (((i + 1) * (j + 1)) as f64).sin()).collect());
    let wide =
        |width: usize| Data { y: vec![0.0, 1.0, 0.0, 1.0, 0.5, 2.0], ..Data::new((0..width).map(column).collect()) };
    for name in ["LinearRegression", "Ridge"] {
        let message = error(&Spec::new(name).with("positive", true), &wide(4097));
        assert!(message.starts_with("`positive` with 4097 features: at most 4096"), "{message}");
    }
    let classes = vec!["a".to_string(), "b".to_string()];
    let classes = Data { y: vec![0.0, 1.0, 0.0, 1.0, 0.0, 1.0], classes, ..wide(8200) };
    let spec = Spec::new("LogisticRegression");
    let message = error(&spec.clone().with("penalty", "l1"), &classes);
    assert!(message.starts_with("an l1 penalty with 8200 features: at most 8192"), "{message}");
    assert_eq!(fit(&spec, &classes).apply(&classes, &[0]).unwrap()[0], classes.y);
}

#[test]
fn folds_times_rows_are_limited() {
    let values: Vec<f64> = (0..17_000).map(|i| f64::from(i).sin()).collect();
    let data = Data { y: values.clone(), ..Data::new(vec![Column::number("x", values)]) };
    let message = error(&Spec::new("LassoCV").with("cv", 17_000), &data);
    assert!(message.starts_with("17000 splits of 17000 rows are too many"), "{message}");
}

#[test]
fn ridge_ignores_directions_of_rounding() {
    // Two equal rows. With the mean target `y`, the solution of the smallest norm is `y x / |x|^2` by hand.
    let x = [0.1, 0.2, 0.7];
    let columns = x.iter().enumerate().map(|(j, v)| Column::number(format!("x{j}"), vec![*v; 2])).collect();
    let data = Data { y: vec![1.0, 2.0], ..Data::new(columns) };
    let fitted = fit(&Spec::new("Ridge").with("alpha", 1e-40).with("fit_intercept", false), &data);
    let wanted: Vec<f64> = x.iter().map(|v| 1.5 * v / 0.54).collect();
    assert_close(&attribute(&fitted, "coef"), &wanted, 1e-12, "coef");
}

#[test]
fn stopping_stops() {
    let run = Run { is_stopped: &|| true, ..Run::silent() };
    for (spec, data) in all() {
        if data.rows > 7 {
            let error = onrush_learn::fit(&spec, &data, &run).err().unwrap_or_else(|| panic!("{spec:?} did not stop"));
            assert!(error.is_stopped(), "{spec:?}: {error}");
        }
    }
}

#[test]
fn models_that_lie_are_refused() {
    let data = classification("iris");
    let mut fitted = fit(&Spec::new("LogisticRegression"), &data);
    fitted.classes.push("more".to_string());
    let message = save::from_bytes(&save::to_bytes(&fitted).unwrap()).err().unwrap().message;
    assert!(message.ends_with("3 intercepts for 4 classes"), "{message}");
    let mut fitted = fit(&Spec::new("LinearRegression"), &regression("diabetes"));
    fitted.features.pop();
    let message = save::from_bytes(&save::to_bytes(&fitted).unwrap()).err().unwrap().message;
    assert!(message.ends_with("10 coefficients for 9 features"), "{message}");
}
