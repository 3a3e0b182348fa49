//! Robust, quantile and relevance regression against scikit-learn 1.9.1 (`tests/learn/expect_robust.py`).

use onrush_learn::{Attribute, Data, FittedModel, Spec, Values};

use crate::support::{
    applied, assert_close, assert_repeats, attribute, error, expected, fit, matrix, numbers, regression,
};

/// The diabetes data with every seventh target far away.
fn far() -> Data {
    let mut data = regression("diabetes");
    for row in (0..data.rows).step_by(7) {
        data.y[row] = data.y[row] * 3.0 + 500.0;
    }
    data
}

fn columns(data: &Data, places: &[usize], rows: usize) -> Data {
    let features = places.iter().map(|j| data.features[*j].clone()).collect();
    data.with_features(features).take(&(0..rows).collect::<Vec<usize>>())
}

fn assert_coefficients(fitted: &FittedModel, want: &serde_json::Value, relative: f64, name: &str) {
    assert_close(&attribute(fitted, "coef"), &numbers(&want["coef"]), relative, &format!("{name}: coef"));
    assert_close(
        &attribute(fitted, "intercept"),
        &numbers(&want["intercept"]),
        relative,
        &format!("{name}: intercept"),
    );
}

#[test]
fn relevant_features_are_those_of_scikit_learn() {
    let expect = expected("robust.json");
    let spec = || Spec::new("ARDRegression");
    let few = regression("diabetes").take(&(0..8).collect::<Vec<usize>>());
    let cases = vec![
        ("diabetes", spec(), regression("diabetes")),
        (
            "diabetes_scores",
            spec().with("compute_score", true).with("tol", 1e-5).with("threshold_lambda", 1e3),
            regression("diabetes"),
        ),
        (
            "wine",
            spec().with("fit_intercept", false).with("max_iter", 20).with("compute_score", true),
            regression("wine"),
        ),
        ("few", spec().with("threshold_lambda", 1e6), few),
    ];
    for (name, spec, data) in cases {
        let want = &expect["ard"][name];
        let fitted = fit(&spec, &data);
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        assert_coefficients(&fitted, want, 1e-6, name);
        for what in ["alpha", "lambda", "scores"] {
            assert_close(&attribute(&fitted, what), &numbers(&want[what]), 1e-6, &format!("{name}: {what}"));
        }
        assert_close(&matrix(&fitted, "sigma"), &numbers(&want["sigma"]), 1e-6, &format!("{name}: sigma"));
        assert_repeats(&spec, &data);
    }
}

#[test]
fn quantiles_are_those_of_scikit_learn() {
    let expect = expected("robust.json");
    let spec =
        |quantile: f64, alpha: f64| Spec::new("QuantileRegressor").with("quantile", quantile).with("alpha", alpha);
    let cases = vec![
        ("median", spec(0.5, 0.0), regression("diabetes")),
        ("low", spec(0.13, 0.0), regression("diabetes")),
        ("high_penalty", spec(0.8, 0.02), regression("diabetes")),
        ("penalty", Spec::new("QuantileRegressor"), regression("diabetes")),
        ("weighted", spec(0.3, 0.001), regression("diabetes")),
        ("no_intercept", spec(0.6, 0.01).with("fit_intercept", false), regression("diabetes")),
        ("wine", spec(0.37, 0.001), regression("wine")),
        ("far", spec(0.5, 0.0), far()),
    ];
    for (name, spec, mut data) in cases {
        let want = &expect["quantile"][name];
        if name == "weighted" {
            data.weight = Some((0..data.rows).map(|row| 0.5 + (row % 3) as f64).collect());
        }
        let fitted = fit(&spec, &data);
        let (quantile, alpha) = (spec.param("quantile").as_f64().unwrap(), spec.param("alpha").as_f64().unwrap());
        let loss = |y: f64, p: f64| if y >= p { quantile * (y - p) } else { (quantile - 1.0) * (y - p) };
        let predicted = &applied(&fitted, &data)[0];
        let total: f64 = (0..data.rows).map(|row| data.weight_of(row)).sum();
        let pinball = (0..data.rows).map(|row| data.weight_of(row) * loss(data.y[row], predicted[row])).sum::<f64>();
        let objective = pinball / total + alpha * attribute(&fitted, "coef").iter().map(|w| w.abs()).sum::<f64>();
        assert_close(&[objective], &numbers(&want["objective"]), 1e-9, &format!("{name}: objective"));
        assert_coefficients(&fitted, want, 1e-6, name);
        assert_repeats(&spec, &data);
    }
    assert_eq!(error(&spec(0.0, 1.0), &far()), "`quantile` is 0: above 0 and below 1");
}

#[test]
fn samples_of_ransac_are_those_of_scikit_learn() {
    let expect = expected("robust.json");
    let spec = |seed: i64| Spec::new("RANSACRegressor").with("random_state", seed);
    let cases = vec![
        ("far", spec(0), far()),
        ("share", spec(3).with("min_samples", 0.3), far()),
        (
            "count",
            spec(0)
                .with("min_samples", 50)
                .with("loss", "squared_error")
                .with("residual_threshold", 4000.0)
                .with("max_trials", 30),
            far(),
        ),
        ("enough", spec(1).with("min_samples", 40).with("stop_n_inliers", 200), far()),
        ("near", spec(5).with("residual_threshold", 30.0).with("min_samples", 20), far()),
    ];
    for (name, spec, data) in cases {
        let want = &expect["ransac"][name];
        let fitted = fit(&spec, &data);
        let Some(Attribute::Frame(mask)) = fitted.attribute("inlier_mask") else { panic!("{name}") };
        let wanted = numbers(&want["inlier_mask"]).iter().map(|v| *v == 1.0).collect();
        assert_eq!(mask[0].1, Values::Bools(wanted), "{name}");
        for what in ["n_trials", "n_skips_no_inliers"] {
            assert_eq!(attribute(&fitted, what), numbers(&want[what]), "{name}: {what}");
        }
        assert_coefficients(&fitted, want, 1e-9, name);
        assert_repeats(&spec, &data);
    }
    assert_eq!(
        error(&spec(0).with("min_samples", 900), &far()),
        "`min_samples` is 900, and there are 442 rows: at most as many as rows"
    );
}

#[test]
fn medians_of_subsets_are_those_of_scikit_learn() {
    let expect = expected("robust.json");
    let spec = |seed: i64| Spec::new("TheilSenRegressor").with("random_state", seed);
    let data = far();
    let cases = vec![
        ("one", spec(0).with("tol", 1e-9), columns(&data, &[2], 60)),
        ("one_no_intercept", spec(0).with("fit_intercept", false), columns(&data, &[2], 60)),
        ("three", spec(2).with("max_subpopulation", 600.0), columns(&data, &[2, 3, 8], data.rows)),
        ("all", spec(0).with("max_subpopulation", 300.0).with("n_subsamples", 60).with("tol", 1e-6), data.clone()),
    ];
    for (name, spec, data) in cases {
        let want = &expect["theil_sen"][name];
        let fitted = fit(&spec, &data);
        for what in ["n_iter", "n_subpopulation"] {
            assert_eq!(attribute(&fitted, what), numbers(&want[what]), "{name}: {what}");
        }
        assert_close(&attribute(&fitted, "breakdown"), &numbers(&want["breakdown"]), 1e-12, name);
        assert_coefficients(&fitted, want, 1e-7, name);
        assert_repeats(&spec, &data);
    }
    assert_eq!(
        error(&spec(0).with("n_subsamples", 3), &data),
        "`n_subsamples` is 3: from 11 to 442, the number of rows"
    );
}
