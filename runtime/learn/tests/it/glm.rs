//! Generalized linear models, robust and Bayesian regression and the ridge classifier compared with scikit-learn 1.9
//! (`tests/learn/expect_glm.py`).

use onrush_learn::{Attribute, Column, Data, FittedModel, Link, Param, Run, Spec, Values, save};
use serde_json::Value;

use crate::neural::{last, param, scaled, strided, weights};
use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};

fn spec(case: &Value) -> Spec {
    let mut spec = Spec::new(case["estimator"].as_str().unwrap());
    for (name, value) in case["params"].as_object().unwrap() {
        spec.set(name, param(value));
    }
    spec
}

/// The rows of a case.
fn rows(case: &Value) -> Data {
    let wanted = &case["data"];
    let name = wanted["name"].as_str().unwrap();
    let mut data = if name == "diabetes" { regression(name) } else { classification(name) };
    if let Some(rows) = wanted["rows"].as_u64() {
        data = data.take(&(0..rows as usize).collect::<Vec<_>>());
    }
    if wanted["scaled"].as_bool().unwrap_or(true) {
        data = scaled(&data);
    }
    if case["counts"].as_bool().unwrap() {
        data.y.iter_mut().for_each(|y| *y = ((*y - 60.0).max(0.0) / 20.0).floor());
    }
    if case["weight"].as_bool().unwrap() {
        data.weight = Some(weights(data.rows));
    }
    data
}

fn all() -> Vec<(String, Spec, Data, Value)> {
    let cases = expected("glm.json");
    let cases = cases.as_object().unwrap().iter();
    cases.map(|(name, case)| (name.clone(), spec(case), rows(case), case.clone())).collect()
}

#[test]
fn the_results_are_those_of_scikit_learn() {
    for (name, spec, data, case) in all() {
        let tolerance = case["tolerance"].as_f64().unwrap();
        let fitted = fit(&spec, &data);
        let close = |found: &[f64], what: &str| {
            assert_close(found, &numbers(&case[what]), tolerance, &format!("{name}: {what}"));
        };
        close(&strided(&last(&fitted, "coef"), 40), "coef");
        close(&last(&fitted, "intercept"), "intercept");
        close(&strided(&fitted.apply(&data, &[0]).unwrap()[0], 30), "predict");
        for what in ["scale", "alpha", "lambda", "scores", "n_iter"] {
            if !case[what].is_null() {
                close(&strided(&last(&fitted, what), 30), what);
            }
        }
        if !case["sigma"].is_null() {
            let Some(Attribute::Frame(columns)) = fitted.attribute("sigma") else { panic!() };
            let values = columns.iter().filter_map(|(_, values)| match values {
                Values::Floats(values) => Some(values.clone()),
                _ => None,
            });
            let columns: Vec<Vec<f64>> = values.collect();
            let flat: Vec<f64> = (0..columns.len()).flat_map(|i| columns.iter().map(move |c| c[i])).collect();
            close(&strided(&flat, 30), "sigma");
        }
        if !case["decision"].is_null() {
            let scores = fitted.model().decision(&data).unwrap().unwrap();
            let flat: Vec<f64> = (0..data.rows).flat_map(|i| scores.iter().map(move |s| s[i])).collect();
            close(&strided(&flat, 30), "decision");
        }
    }
}

#[test]
fn training_repeats_on_any_number_of_threads_survives_a_file_and_stops() {
    for (name, spec, data, _) in all() {
        let first = fit(&spec, &data);
        let wanted = first.apply(&data, &[0]).unwrap();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert_eq!(pool.install(|| fit(&spec, &data)).apply(&data, &[0]).unwrap(), wanted, "{name}");
        }
        let read = save::from_bytes(&save::to_bytes(&first).unwrap()).unwrap();
        assert_eq!(read.apply(&data, &[0]).unwrap(), wanted, "{name}");
        let mut lies: FittedModel = read;
        lies.features.pop();
        assert!(save::from_bytes(&save::to_bytes(&lies).unwrap()).is_err(), "{name}");
        if data.rows > 25 {
            let run = Run { is_stopped: &|| true, ..Run::silent() };
            assert!(onrush_learn::fit(&spec, &data, &run).err().is_some_and(|e| e.is_stopped()), "{name}");
        }
    }
}

#[test]
fn targets_outside_of_a_domain_are_named() {
    let diabetes = scaled(&regression("diabetes"));
    let error = |spec: &Spec, y: fn(f64) -> f64| {
        let data = Data { y: diabetes.y.iter().map(|v| y(*v)).collect(), ..diabetes.clone() };
        onrush_learn::fit(spec, &data, &Run::silent()).err().unwrap().message
    };
    let message = error(&Spec::new("PoissonRegressor"), |y| y - 200.0);
    assert!(
        message.starts_with("the target `target` has the value -49, and the power 1 takes values of at least 0"),
        "{message}"
    );
    let message = error(&Spec::new("GammaRegressor"), |y| (y - 151.0).max(0.0));
    assert!(
        message.starts_with("the target `target` has the value 0, and the power 2 takes values above 0"),
        "{message}"
    );
    let message = error(&Spec::new("PoissonRegressor"), |_| 0.0);
    assert!(message.starts_with("the mean of the target `target` is 0: a logarithmic link"), "{message}");
    let message = error(&Spec::new("TweedieRegressor").with("power", 0.5), |y| y);
    assert_eq!(message, "`power` is 0.5: no distribution has a power between 0 and 1");
}

/// By its definition: the covariance times `lambda I + alpha X'X` is the identity.
#[test]
fn the_covariance_of_a_target_without_noise_is_exact() {
    let x = |i: usize, j: usize| ((i * 7 + j * 13 + i * j) as f64 * 0.61).sin();
    let columns = (0..3).map(|j| Column::number(format!("x{j}"), (0..12).map(|i| x(i, j)).collect())).collect();
    let y = (0..12).map(|i| 3.0 * x(i, 0) - x(i, 1) + 2.0 * x(i, 2)).collect();
    let data = Data { y, target: "y".to_string(), ..Data::new(columns) };
    let fitted = fit(&Spec::new("BayesianRidge").with("fit_intercept", false), &data);
    let (alpha, lambda) = (attribute(&fitted, "alpha")[0], attribute(&fitted, "lambda")[0]);
    let Some(Attribute::Frame(columns)) = fitted.attribute("sigma") else { panic!("no covariance") };
    let sigma: Vec<&Vec<f64>> =
        columns.iter().filter_map(|(_, v)| if let Values::Floats(v) = v { Some(v) } else { None }).collect();
    let gram = |j: usize, k: usize| alpha * (0..12).map(|i| x(i, j) * x(i, k)).sum::<f64>();
    let product =
        |row: usize, k: usize| (0..3).map(|j| sigma[j][row] * (gram(j, k) + if j == k { lambda } else { 0.0 })).sum();
    let found: Vec<f64> = (0..9).map(|cell| product(cell / 3, cell % 3)).collect();
    assert!(alpha / lambda > 1e5, "the noise is small: {alpha} {lambda}");
    assert_close(&found, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], 1e-10, "the identity");
}

#[test]
fn only_identity_links_are_linear() {
    let diabetes = scaled(&regression("diabetes"));
    let link = |spec: Spec| fit(&spec, &diabetes).model().linear().map(|scores| scores.link);
    assert_eq!(link(Spec::new("TweedieRegressor")), Some(Link::Identity));
    assert_eq!(link(Spec::new("PoissonRegressor")), None);
    assert_eq!(link(Spec::new("HuberRegressor")), Some(Link::Identity));
    let stopped = fit(&Spec::new("GammaRegressor").with("max_iter", 1).with("tol", 1e-9), &diabetes);
    assert!(stopped.model().notes()[0].starts_with("stopped after 1 of 1 iterations; the gradient is "));
    assert_eq!(spec_param("huber", "tol"), Param::Float(1e-10));
}

fn spec_param(case: &str, name: &str) -> Param {
    spec(&expected("glm.json")[case]).param(name)
}
