//! Mixtures and discriminant analysis against scikit-learn 1.9.1 (`tests/learn/expect_mixture.py`).

use onrush_learn::{Attribute, Column, Data, FittedModel, Run, Spec, Values, save};

use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};

/// The features of a data set without its target.
fn features(name: &str) -> Data {
    Data::new(regression(name).features)
}

/// The rows at these positions one after the other, as a parameter.
fn centers(data: &Data, rows: &[usize]) -> Vec<f64> {
    rows.iter().flat_map(|r| data.features.iter().map(|c| c.values[*r])).collect()
}

/// The columns of numbers of an attribute, row after row.
fn matrix(fitted: &FittedModel, name: &str) -> Vec<f64> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{name} is not a frame") };
    let numbers = columns.into_iter().filter_map(|(_, values)| match values {
        Values::Floats(values) => Some(values),
        _ => None,
    });
    row_major(&numbers.collect::<Vec<Vec<f64>>>())
}

fn row_major(columns: &[Vec<f64>]) -> Vec<f64> {
    (0..columns[0].len()).flat_map(|i| columns.iter().map(move |c| c[i])).collect()
}

/// All columns that a model makes.
fn applied(fitted: &FittedModel, data: &Data) -> Vec<Vec<f64>> {
    let all: Vec<usize> = (0..fitted.outputs().len()).collect();
    fitted.apply(data, &all).unwrap_or_else(|e| panic!("{e}"))
}

/// At most about `count` values at a fixed stride, as the script takes them.
fn sample(values: &[f64], count: usize) -> Vec<f64> {
    values.iter().step_by((values.len() / count).max(1)).copied().collect()
}

fn error(spec: &Spec, data: &Data) -> String {
    match onrush_learn::fit(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} is trained"),
        Err(error) => error.message,
    }
}

/// Asserts that a training repeats bit for bit, and that the saved model does the same as the trained one.
fn assert_repeats(spec: &Spec, data: &Data) {
    let (a, b) = (fit(spec, data), fit(spec, data));
    let back = save::from_bytes(&save::to_bytes(&b).unwrap()).unwrap();
    let bits = |columns: Vec<Vec<f64>>| columns.into_iter().flatten().map(f64::to_bits).collect::<Vec<u64>>();
    assert!(bits(applied(&a, data)) == bits(applied(&back, data)), "{spec:?}: two trainings differ");
}

#[test]
fn linear_discriminants_are_those_of_scikit_learn() {
    let expect = expected("mixture.json");
    let spec = || Spec::new("LinearDiscriminantAnalysis");
    let solver = |name: &str| spec().with("solver", name);
    let cases = vec![
        ("iris", spec(), "iris"),
        ("wine", spec().with("store_covariance", true), "wine"),
        ("digits", spec().with("n_components", 3), "digits"),
        ("cancer_priors", spec().with("priors", [0.3, 0.7]), "breast_cancer"),
        ("wine_lsqr", solver("lsqr"), "wine"),
        ("iris_lsqr_auto", solver("lsqr").with("shrinkage", "auto"), "iris"),
        ("digits_lsqr_share", solver("lsqr").with("shrinkage", 0.3), "digits"),
        ("wine_eigen", solver("eigen"), "wine"),
        ("cancer_eigen_auto", solver("eigen").with("shrinkage", "auto"), "breast_cancer"),
    ];
    for (name, spec, file) in cases {
        let (want, data) = (&expect["linear"][name], classification(file));
        let fitted = fit(&spec, &data);
        for what in ["coef", "intercept", "means", "priors", "covariance"] {
            if want[what].is_array() {
                let found = sample(&matrix(&fitted, what), 60);
                assert_close(&found, &numbers(&want[what]), 1e-8, &format!("{name} {what}"));
            }
        }
        let columns = applied(&fitted, &data);
        let classes = data.classes.len();
        assert_eq!(columns[0].iter().step_by(9).copied().collect::<Vec<f64>>(), numbers(&want["predict"]), "{name}");
        let proba = sample(&row_major(&columns[1..=classes]), 80);
        assert_close(&proba, &numbers(&want["proba"]), 1e-9, &format!("{name} proba"));
        let decision = fitted.model().decision(&data).unwrap().unwrap();
        assert_close(
            &sample(&row_major(&decision), 80),
            &numbers(&want["decision"]),
            1e-9,
            &format!("{name} decision"),
        );
        if want["ratio"].is_array() {
            let ratio = attribute(&fitted, "explained_variance_ratio");
            assert_close(&ratio, &numbers(&want["ratio"]), 1e-9, &format!("{name} ratio"));
            let expected = want["transform"].as_array().unwrap();
            assert_eq!(columns.len() - classes - 1, expected.len(), "{name}");
            for (found, expected) in columns[classes + 1..].iter().zip(expected) {
                let found: Vec<f64> = sample(found, 40).iter().map(|v| v.abs()).collect();
                assert_close(&found, &numbers(expected), 1e-8, &format!("{name} transform"));
            }
            assert_eq!(fitted.outputs()[classes + 1].0, "lda0");
        }
        assert_repeats(&spec, &data);
    }
}

#[test]
fn quadratic_discriminants_are_those_of_scikit_learn() {
    let expect = expected("mixture.json");
    let spec = || Spec::new("QuadraticDiscriminantAnalysis");
    let eigen = || spec().with("solver", "eigen");
    let cases = vec![
        ("iris", spec().with("store_covariance", true), "iris"),
        ("wine_priors", spec().with("priors", [0.2, 0.5, 0.3]).with("tol", 1e-7), "wine"),
        ("digits_reg", spec().with("reg_param", 0.1), "digits"),
        ("cancer_eigen", eigen().with("shrinkage", "auto").with("tol", 0.0), "breast_cancer"),
        ("wine_eigen_share", eigen().with("shrinkage", 0.2).with("store_covariance", true), "wine"),
    ];
    for (name, spec, file) in cases {
        let (want, data) = (&expect["quadratic"][name], classification(file));
        let fitted = fit(&spec, &data);
        for what in ["means", "scalings", "covariance"] {
            if want[what].is_array() {
                let found = sample(&matrix(&fitted, what), 60);
                assert_close(&found, &numbers(&want[what]), 1e-9, &format!("{name} {what}"));
            }
        }
        let columns = applied(&fitted, &data);
        assert_eq!(columns[0].iter().step_by(9).copied().collect::<Vec<f64>>(), numbers(&want["predict"]), "{name}");
        let proba = sample(&row_major(&columns[1..]), 80);
        assert_close(&proba, &numbers(&want["proba"]), 1e-8, &format!("{name} proba"));
        let decision = fitted.model().decision(&data).unwrap().unwrap();
        assert_close(
            &sample(&row_major(&decision), 80),
            &numbers(&want["decision"]),
            1e-8,
            &format!("{name} decision"),
        );
        assert_repeats(&spec, &data);
    }
}

#[test]
fn gaussian_mixtures_are_those_of_scikit_learn() {
    let expect = expected("mixture.json");
    let (iris, wine, digits) = (features("iris"), features("wine"), features("digits"));
    let spec = |n: i64, form: &str| Spec::new("GaussianMixture").with("n_components", n).with("covariance_type", form);
    let mut cases = vec![
        (
            "digits_diag".to_string(),
            spec(10, "diag")
                .with("means_init", centers(&digits, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
                .with("reg_covar", 0.01),
            digits.clone(),
        ),
        ("digits_tied".to_string(), spec(5, "tied").with("reg_covar", 0.1), digits),
        (
            "iris_plus".to_string(),
            spec(4, "full").with("init_params", "k-means++").with("reg_covar", 1e-3),
            iris.clone(),
        ),
        ("iris_random".to_string(), spec(2, "full").with("init_params", "random").with("tol", 1e-6), iris.clone()),
        (
            "iris_from_data".to_string(),
            spec(3, "full").with("init_params", "random_from_data").with("reg_covar", 1e-2),
            iris.clone(),
        ),
        ("wine_one".to_string(), Spec::new("GaussianMixture"), wine.clone()),
    ];
    for form in ["full", "tied", "diag", "spherical"] {
        let means = centers(&iris, &[0, 50, 100]);
        let given = spec(3, form).with("means_init", means).with("weights_init", [0.2, 0.3, 0.5]);
        cases.push((format!("iris_{form}"), given, iris.clone()));
        cases.push((format!("wine_{form}"), spec(3, form).with("tol", 1e-8).with("max_iter", 40), wine.clone()));
    }
    for (name, spec, data) in cases {
        let want = &expect["gaussian"][&name];
        let fitted = fit(&spec, &data);
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        assert_eq!(attribute(&fitted, "converged"), numbers(&want["converged"]), "{name}");
        for what in ["weights", "means", "covariances", "lower_bound", "aic", "bic"] {
            let found = match want[what].is_array() {
                true => sample(&matrix(&fitted, what), 60),
                false => attribute(&fitted, what),
            };
            assert_close(&found, &numbers(&want[what]), 1e-8, &format!("{name} {what}"));
        }
        let columns = applied(&fitted, &data);
        let labels: Vec<f64> = columns[0].iter().step_by((data.rows / 100).max(1)).copied().collect();
        assert_eq!(labels, numbers(&want["predict"]), "{name}");
        let last = columns.len() - 1;
        assert_close(&sample(&row_major(&columns[1..last]), 80), &numbers(&want["proba"]), 1e-7, &name);
        assert_close(&sample(&columns[last], 80), &numbers(&want["score_samples"]), 1e-8, &name);
        assert_repeats(&spec, &data);
    }
}

#[test]
fn mixtures_and_discriminants_say_what_does_not_fit() {
    let iris = features("iris");
    let spec = |n: i64| Spec::new("GaussianMixture").with("n_components", n);
    assert_eq!(error(&spec(200), &iris), "`n_components` is 200, and there are 150 rows: at least as many rows, and 2");
    assert_eq!(
        error(&spec(2).with("means_init", [1.0, 2.0]), &iris),
        "`means_init` has 2 numbers: expected 8, the means of the components one after the other"
    );
    assert_eq!(error(&spec(2).with("weights_init", [0.5, 0.4]), &iris), "`weights_init` sum to 0.9: expected 1");
    let same = Data::new(vec![Column::number("a", vec![1.0; 9]), Column::number("b", vec![2.0; 9])]);
    assert_eq!(
        error(&Spec::new("GaussianMixture").with("reg_covar", 0.0), &same),
        "the covariance of a component is not positive definite"
    );
    let classes = classification("iris");
    let linear = Spec::new("LinearDiscriminantAnalysis");
    assert_eq!(
        error(&linear.clone().with("n_components", 3), &classes),
        "`n_components` is 3: at most 2, the smaller of 4 features and one less than 3 classes"
    );
    assert_eq!(
        error(&linear.clone().with("shrinkage", "auto"), &classes),
        "`shrinkage` has no effect with the solver `svd`"
    );
    assert_eq!(
        error(&linear.with("solver", "lsqr").with("shrinkage", 2.0), &classes),
        "`shrinkage` is 2.0: None, \"auto\" or a number between 0 and 1"
    );
    let few = classes.take(&[0, 1, 2, 50, 51, 52, 53, 54, 100, 101, 102, 103, 104]);
    assert_eq!(
        error(&Spec::new("QuadraticDiscriminantAnalysis"), &few),
        "the covariance of the class `0` with 3 rows of 4 features is not of full rank"
    );
    let best = fit(&spec(5).with("n_init", 3).with("random_state", 4), &iris);
    assert!(
        attribute(&best, "lower_bound")[0]
            >= attribute(&fit(&spec(5).with("random_state", 4), &iris), "lower_bound")[0]
    );
}

#[test]
fn variational_mixtures_are_those_of_scikit_learn() {
    let expect = expected("mixture.json");
    let spec = |count: i64| Spec::new("BayesianGaussianMixture").with("n_components", count).with("random_state", 0);
    let form = |word: &str| spec(4).with("covariance_type", word).with("max_iter", 300);
    let cases = vec![
        ("iris_full", form("full"), "iris"),
        ("iris_tied", form("tied"), "iris"),
        ("iris_diag", form("diag"), "iris"),
        ("iris_spherical", form("spherical"), "iris"),
        (
            "wine",
            spec(3)
                .with("weight_concentration_prior_type", "dirichlet_distribution")
                .with("weight_concentration_prior", 0.01),
            "wine",
        ),
        (
            "wine_diag",
            spec(5)
                .with("covariance_type", "diag")
                .with("mean_precision_prior", 0.1)
                .with("degrees_of_freedom_prior", 20.0),
            "wine",
        ),
        (
            "iris_prior",
            spec(3)
                .with("covariance_type", "spherical")
                .with("covariance_prior", 0.5)
                .with("mean_prior", [5.0, 3.0, 4.0, 1.0]),
            "iris",
        ),
    ];
    for (name, spec, file) in cases {
        let (want, data) = (&expect["bayesian"][name], features(file));
        let fitted = fit(&spec, &data);
        let numbers_of = |what: &str| numbers(&want[what]);
        for what in ["n_iter", "converged"] {
            assert_eq!(attribute(&fitted, what), numbers_of(what), "{name}: {what}");
        }
        for what in ["lower_bound", "weights", "mean_precision", "degrees_of_freedom"] {
            assert_close(&attribute(&fitted, what), &numbers_of(what), 1e-7, &format!("{name}: {what}"));
        }
        for what in ["means", "covariances", "weight_concentration"] {
            let found = sample(&matrix(&fitted, what), 60);
            assert_close(&found, &numbers_of(what), 1e-6, &format!("{name}: {what}"));
        }
        let columns = applied(&fitted, &data);
        let labels: Vec<f64> = columns[0].iter().step_by((data.rows / 100).max(1)).copied().collect();
        assert_eq!(labels, numbers_of("predict"), "{name}");
        let count = columns.len() - 1;
        assert_close(&sample(&row_major(&columns[1..count]), 60), &numbers_of("proba"), 1e-6, name);
        assert_close(&sample(&columns[count], 60), &numbers_of("score_samples"), 1e-6, name);
        assert!(fitted.attribute("aic").is_none());
        assert_repeats(&spec, &data);
    }
    assert_eq!(
        error(&spec(2).with("degrees_of_freedom_prior", 2.0), &features("iris")),
        "`degrees_of_freedom_prior` is 2: above 3"
    );
}
