//! Successive halving against scikit-learn 1.9.1 (`tests/learn/expect_halving.py`), and searches of hostile input.

use std::collections::BTreeMap;

use onrush_learn::{Attribute, Data, FittedModel, Param, Run, Spec, Values};
use onrush_wire::learn::{Grid, Part, Splitter};

use crate::support::{assert_close, classification, expected, fit, numbers, regression};

fn searching(search: &str, estimator: Spec, grid: Vec<(&str, Grid)>) -> Spec {
    let part = Part { name: "estimator".to_string(), columns: Vec::new(), spec: estimator };
    let grid = grid.into_iter().map(|(path, grid)| (path.to_string(), grid)).collect();
    Spec { parts: vec![part], grid, ..Spec::new(search) }
}

/// `numpy.geomspace`.
fn geometric(low: f64, high: f64, count: usize) -> Grid {
    let step = (high / low).log10() / (count - 1) as f64;
    let value = |i: usize| 10f64.powf(low.log10() + step * i as f64);
    Grid::List((0..count).map(|i| Param::Float(value(i))).collect())
}

fn frame(fitted: &FittedModel, name: &str) -> BTreeMap<String, Vec<f64>> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("no frame {name}") };
    let floats = |values: Values| match values {
        Values::Floats(values) => Some(values),
        Values::Ints(values) => Some(values.into_iter().map(|v| v as f64).collect()),
        _ => None,
    };
    columns.into_iter().filter_map(|(name, values)| Some((name, floats(values)?))).collect()
}

fn compare(name: &str, spec: &Spec, data: &Data) -> FittedModel {
    let file = &expected("halving.json")[name];
    let fitted = fit(spec, data);
    let (results, iterations) = (frame(&fitted, "results"), frame(&fitted, "iterations"));
    let check = |found: &[f64], wanted: &str, tolerance: f64| {
        assert_close(found, &numbers(&file[wanted]), tolerance, &format!("{name} {wanted}"));
    };
    check(&iterations["n_resources"], "n_resources", 0.0);
    check(&iterations["n_candidates"], "n_candidates", 0.0);
    check(&results["iter"], "iter", 0.0);
    check(&results["n_resources"], "resources", 0.0);
    for (param, values) in file["params"].as_object().unwrap() {
        assert_close(&results[&format!("param_{param}")], &numbers(values), 1e-13, &format!("{name} {param}"));
    }
    check(&results["mean_test_score"], "mean", 1e-9);
    check(&results["std_test_score"], "std", 1e-9);
    let trained = results.get("mean_train_score").cloned().unwrap_or_default();
    check(&trained, "train", 1e-9);
    if numbers(&file["mean"]).iter().all(|mean| !mean.is_nan()) {
        check(&results["rank_test_score"], "rank", 0.0);
    }
    assert_eq!(fitted.attribute("best_index"), Some(Attribute::Int(file["best_index"].as_i64().unwrap())), "{name}");
    let Some(Attribute::Float(score)) = fitted.attribute("best_score") else { panic!() };
    assert_close(&[score], &numbers(&file["best_score"]), 1e-10, name);
    fitted
}

#[test]
fn iterations_are_those_of_scikit_learn() {
    let data = regression("diabetes");
    let alphas = || vec![("alpha", geometric(1e-4, 1e3, 15))];
    let grid = || searching("HalvingGridSearchCV", Spec::new("Ridge"), alphas());
    compare("grid", &grid(), &data);
    let folds = Splitter::KFold { n_splits: 4, shuffle: false, random_state: 0 };
    let sized = grid().with("factor", 2.0).with("min_resources", 20).with("max_resources", 300).with("random_state", 5);
    compare("factor", &Spec { cv: Some(folds), ..sized }, &data);
    let aggressive = grid().with("min_resources", 100).with("aggressive_elimination", true).with("random_state", 1);
    compare("aggressive", &aggressive, &data);
    let random = |grid| searching("HalvingRandomSearchCV", Spec::new("Ridge"), grid);
    let uniform = || random(vec![("alpha", Grid::LogUniform(1e-4, 1e3))]).with("random_state", 3);
    compare("random", &uniform().with("scoring", "neg_mean_absolute_error"), &data);
    let fitted = compare("undefined", &uniform().with("n_candidates", 12), &data);
    let wanted = "no candidate of iteration 0 has a score with 10 of `n_samples`, so that the last ones stay: set \
                  `min_resources` higher";
    assert_eq!(fitted.model().notes()[0], wanted);
    let exhaust = random(alphas()).with("n_candidates", 9).with("min_resources", "exhaust").with("random_state", 4);
    compare("random_exhaust", &exhaust.with("scoring", "neg_mean_absolute_error"), &data);
}

#[test]
fn a_parameter_is_the_resource() {
    let powers = Grid::List((1..=5).map(|p| Param::Float(f64::from(p))).collect());
    let spec = searching("HalvingGridSearchCV", Spec::new("KNeighborsRegressor"), vec![("p", powers)])
        .with("resource", "n_neighbors")
        .with("max_resources", 30);
    let fitted = compare("parameter", &spec, &regression("diabetes"));
    let Some(Attribute::Frame(best)) = fitted.attribute("best_params") else { panic!() };
    assert_eq!(best[0].1, Values::Strs(["n_neighbors", "p"].map(String::from).to_vec()));
}

#[test]
fn classes_count_in_the_smallest_resources() {
    let spec =
        searching("HalvingGridSearchCV", Spec::new("GaussianNB"), vec![("var_smoothing", geometric(1e-4, 1e2, 11))]);
    let spec = spec.with("min_resources", "smallest").with("scoring", "neg_brier_score").with("random_state", 2);
    let spec = Spec { cv: Some(Splitter::Auto { n_splits: 3 }), ..spec.with("return_train_score", false) };
    compare("classes", &spec, &classification("breast_cancer"));
}

#[test]
fn a_halving_that_cannot_be_says_why() {
    let data = regression("diabetes");
    let error = |spec: &Spec| onrush_learn::fit(spec, &data, &Run::silent()).err().unwrap().message;
    let alphas = || vec![("alpha", geometric(0.1, 10.0, 3))];
    let grid = || searching("HalvingGridSearchCV", Spec::new("Ridge"), alphas());
    let random = || searching("HalvingRandomSearchCV", Spec::new("Ridge"), alphas());
    assert_eq!(error(&grid().with("factor", 1.0)), "`factor` is 1.0: above 1");
    assert_eq!(
        error(&grid().with("min_resources", 0)),
        "`min_resources` is 0: at least 1, or \"exhaust\" or \"smallest\""
    );
    assert_eq!(error(&grid().with("max_resources", 500)), "`max_resources` is 500: there are 442 rows");
    let wanted = "`min_resources` is 300: at most `max_resources`, which is 200";
    assert_eq!(error(&grid().with("min_resources", 300).with("max_resources", 200)), wanted);
    let wanted = "`max_resources` is \"auto\", and the resource is `max_iter`";
    assert_eq!(
        error(&searching("HalvingGridSearchCV", Spec::new("Lasso"), alphas()).with("resource", "max_iter")),
        wanted
    );
    assert_eq!(error(&grid().with("resource", "alpha")), "`alpha` is the resource, and cannot be tried as well");
    assert!(
        error(&grid().with("resource", "n_trees")).starts_with("`resource` is `n_trees`, and there is no parameter")
    );
    let wanted = "`n_candidates` and `min_resources` are both \"exhaust\"";
    assert_eq!(error(&random().with("min_resources", "exhaust")), wanted);
    let wanted = "`n_candidates` is 0: at least 1, or \"exhaust\"";
    assert_eq!(error(&random().with("n_candidates", 0)), wanted);
    let wanted = "`scoring` is [r2, neg_max_error]: successive halving takes one scorer";
    assert_eq!(error(&grid().with("scoring", ["r2", "neg_max_error"])), wanted);
    let none = searching("HalvingGridSearchCV", Spec::new("Ridge"), Vec::new());
    assert_eq!(error(&none), "HalvingGridSearchCV has no parameters to try");
    assert_eq!(error(&grid().with("n_jobs", 0)), "`n_jobs` is 0: at least 1, or -1 for one on each thread");
}
