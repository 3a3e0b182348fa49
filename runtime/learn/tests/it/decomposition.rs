//! Decompositions and random projections against scikit-learn 1.9.1 (`tests/learn/expect_decomposition.py`).

use onrush_learn::{Data, FittedModel, Run, Spec, fit_transform};
use onrush_wire::learn::Part;

use crate::support::{
    applied, assert_close, assert_repeats, attribute, classification, error, expected, fit, matrix, numbers,
    regression, row_major, sample,
};

/// The features of a data set without its target.
fn features(name: &str) -> Data {
    Data::new(regression(name).features)
}

fn first(name: &str, rows: usize) -> Data {
    features(name).take(&(0..rows).collect::<Vec<usize>>())
}

fn absolute(values: &[f64]) -> Vec<f64> {
    values.iter().map(|v| v.abs()).collect()
}

/// Asserts that the columns of the training rows come back from the model's columns.
fn assert_inverse(fitted: &FittedModel, data: &Data, relative: f64, what: &str) {
    let made = applied(fitted, data);
    let columns = fitted.outputs().into_iter().zip(made);
    let columns = columns.map(|((name, _), values)| onrush_learn::Column::number(name, values)).collect();
    let back = fitted.inverse(&Data::new(columns)).unwrap();
    for (found, wanted) in back.iter().zip(&data.features) {
        assert_close(&found.values, &wanted.values, relative, &format!("{what}: {}", wanted.name));
    }
}

#[test]
fn non_negative_factors_are_those_of_scikit_learn() {
    let expect = expected("decomposition.json");
    let spec = |n: i64| Spec::new("NMF").with("n_components", n).with("random_state", 0);
    let cases = vec![
        ("iris", spec(2), features("iris")),
        ("iris_svd", spec(3).with("init", "nndsvd").with("max_iter", 500), features("iris")),
        ("iris_random", spec(2).with("init", "random").with("random_state", 7), features("iris")),
        ("wine_auto", Spec::new("NMF").with("tol", 1e-3).with("random_state", 0), features("wine")),
        ("digits", spec(8).with("max_iter", 60), first("digits", 400)),
        (
            "digits_penalty",
            spec(5).with("alpha_W", 0.01).with("alpha_H", 0.02).with("l1_ratio", 0.4).with("max_iter", 40),
            first("digits", 300),
        ),
        (
            "iris_shuffled",
            spec(3).with("init", "nndsvdar").with("shuffle", true).with("max_iter", 30),
            features("iris"),
        ),
    ];
    for (name, spec, data) in cases {
        let want = &expect["nmf"][name];
        let (fitted, weights) = fit_transform(&spec, &data, &Run::silent()).unwrap();
        assert_close(&sample(&matrix(&fitted, "components"), 60), &numbers(&want["components"]), 1e-6, name);
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        let error = attribute(&fitted, "reconstruction_err");
        assert_close(&error, &numbers(&want["reconstruction_err"]), 1e-7, name);
        assert_close(&sample(&row_major(&weights), 80), &numbers(&want["fit_transform"]), 1e-6, name);
        let some = data.take(&(0..data.rows.min(200)).collect::<Vec<usize>>());
        let found = sample(&row_major(&applied(&fitted, &some)), 80);
        assert_close(&found, &numbers(&want["transform"]), 1e-6, &format!("{name}: transform"));
        assert_repeats(&spec, &data);
    }
    let fitted = fit(&spec(4).with("max_iter", 2000).with("tol", 1e-9), &features("iris"));
    assert_inverse(&fitted, &features("iris"), 0.05, "NMF");
    assert_eq!(fitted.outputs()[1].0, "nmf1");
    assert!(error(&spec(2).with("solver", "mu"), &features("iris")).starts_with("`solver` is \"mu\""));
    assert_eq!(
        error(&spec(3), &features("diabetes")),
        "`age` has the value -0.0018820165277906047, and NMF takes values of at least 0"
    );
}

#[test]
fn independent_components_are_those_of_scikit_learn() {
    let expect = expected("decomposition.json");
    let spec = || Spec::new("FastICA").with("random_state", 0);
    let mut white = features("iris");
    for column in &mut white.features {
        let n = column.values.len() as f64;
        let mean = column.values.iter().sum::<f64>() / n;
        let deviation = (column.values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
        column.values.iter_mut().for_each(|v| *v = (*v - mean) / deviation);
    }
    let digits = Data::new(features("digits").features[10..14].to_vec());
    let cases = vec![
        ("iris", spec(), features("iris")),
        ("wine", spec().with("n_components", 3).with("tol", 1e-10).with("max_iter", 2000), features("wine")),
        (
            "wine_eigh",
            spec().with("n_components", 4).with("whiten_solver", "eigh").with("fun", "cube"),
            features("wine"),
        ),
        (
            "iris_exp",
            spec()
                .with("n_components", 3)
                .with("fun", "exp")
                .with("whiten", "arbitrary-variance")
                .with("random_state", 3),
            features("iris"),
        ),
        ("iris_deflation", spec().with("n_components", 3).with("algorithm", "deflation"), features("iris")),
        ("digits", spec().with("max_iter", 400), digits),
        ("plain", spec().with("whiten", false).with("max_iter", 5), white),
    ];
    for (name, spec, data) in cases {
        let want = &expect["ica"][name];
        let fitted = fit(&spec, &data);
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        for what in ["components", "mixing", "whitening"] {
            if want[what].is_array() {
                let found = sample(&matrix(&fitted, what), 60);
                assert_close(&found, &numbers(&want[what]), 1e-6, &format!("{name}: {what}"));
            }
        }
        let found = sample(&row_major(&applied(&fitted, &data)), 80);
        assert_close(&found, &numbers(&want["transform"]), 1e-6, &format!("{name}: transform"));
        assert_repeats(&spec, &data);
        if fitted.outputs().len() == data.width() {
            assert_inverse(&fitted, &data, 1e-9, name);
        }
    }
    assert_eq!(
        error(&spec().with("whiten", "yes"), &features("iris")),
        "`whiten` is yes: \"unit-variance\", \"arbitrary-variance\" or false"
    );
}

#[test]
fn factors_are_those_of_scikit_learn() {
    let expect = expected("decomposition.json");
    let spec = |n: i64| Spec::new("FactorAnalysis").with("n_components", n);
    let cases = vec![
        ("iris", spec(2), "iris"),
        ("iris_lapack", spec(2).with("svd_method", "lapack").with("tol", 1e-6), "iris"),
        ("wine", spec(4).with("tol", 1e-4), "wine"),
        ("wine_varimax", spec(3).with("rotation", "varimax"), "wine"),
        (
            "iris_quartimax",
            spec(2).with("rotation", "quartimax").with("noise_variance_init", [0.1, 0.2, 0.3, 0.4]),
            "iris",
        ),
    ];
    for (name, spec, file) in cases {
        let (want, data) = (&expect["factors"][name], features(file));
        let fitted = fit(&spec, &data);
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        // The signs of singular vectors are those of the library.
        let found = absolute(&sample(&matrix(&fitted, "components"), 60));
        assert_close(&found, &numbers(&want["components"]), 1e-6, &format!("{name}: components"));
        for what in ["noise_variance", "loglike", "mean"] {
            let found = sample(&attribute(&fitted, what), 60);
            assert_close(&found, &numbers(&want[what]), 1e-6, &format!("{name}: {what}"));
        }
        let found = absolute(&sample(&row_major(&applied(&fitted, &data)), 80));
        assert_close(&found, &numbers(&want["transform"]), 1e-6, &format!("{name}: transform"));
        assert_repeats(&spec, &data);
    }
}

#[test]
fn incremental_components_are_those_of_scikit_learn() {
    let expect = expected("decomposition.json");
    let spec = || Spec::new("IncrementalPCA");
    let cases = vec![
        ("iris", spec(), features("iris")),
        ("iris_2", spec().with("n_components", 2).with("batch_size", 40), features("iris")),
        ("wine", spec().with("n_components", 5).with("whiten", true), features("wine")),
        ("digits", spec().with("n_components", 6).with("batch_size", 211), first("digits", 900)),
    ];
    for (name, spec, data) in cases {
        let want = &expect["incremental"][name];
        let fitted = fit(&spec, &data);
        let one = ["explained_variance", "explained_variance_ratio", "singular_values", "mean", "var"];
        for what in one.into_iter().chain(["noise_variance", "n_components", "n_samples_seen", "batch_size"]) {
            let found = sample(&attribute(&fitted, what), 60);
            assert_close(&found, &numbers(&want[what]), 1e-9, &format!("{name}: {what}"));
        }
        assert_close(&sample(&matrix(&fitted, "components"), 60), &numbers(&want["components"]), 1e-8, name);
        let found = sample(&row_major(&applied(&fitted, &data)), 80);
        assert_close(&found, &numbers(&want["transform"]), 1e-8, &format!("{name}: transform"));
        assert_repeats(&spec, &data);
    }
    assert_inverse(&fit(&spec().with("whiten", true), &features("iris")), &features("iris"), 1e-9, "IncrementalPCA");
    assert_eq!(
        error(&spec().with("n_components", 3).with("batch_size", 2), &features("iris")),
        "`n_components` is 3: at most 2, the smaller of the first batch of 2 rows and 4 features"
    );
}

#[test]
fn random_projections_are_those_of_scikit_learn() {
    let expect = expected("decomposition.json");
    let gaussian = || Spec::new("GaussianRandomProjection");
    let sparse = || Spec::new("SparseRandomProjection");
    let wide = {
        let iris = first("iris", 2);
        let sum: Vec<f64> = (0..2).map(|row| iris.features.iter().map(|c| c.values[row]).sum()).collect();
        Data::new((0..50).map(|j| onrush_learn::Column::number(format!("x{j}"), sum.clone())).collect())
    };
    let cases = vec![
        ("gaussian", gaussian().with("n_components", 5).with("random_state", 0), features("digits")),
        (
            "gaussian_inverse",
            gaussian().with("n_components", 4).with("compute_inverse_components", true).with("random_state", 3),
            features("wine"),
        ),
        ("gaussian_auto", gaussian().with("eps", 0.6).with("random_state", 1), wide),
        ("sparse", sparse().with("n_components", 7).with("random_state", 0), features("digits")),
        (
            "sparse_third",
            sparse().with("n_components", 6).with("density", 1.0 / 3.0).with("random_state", 5),
            features("digits"),
        ),
        (
            "sparse_full",
            sparse()
                .with("n_components", 3)
                .with("density", 1.0)
                .with("compute_inverse_components", true)
                .with("random_state", 2),
            features("wine"),
        ),
    ];
    for (name, spec, data) in cases {
        let want = &expect["projections"][name];
        let fitted = fit(&spec, &data);
        assert_eq!(attribute(&fitted, "n_components"), numbers(&want["n_components"]), "{name}");
        assert_close(&sample(&matrix(&fitted, "components"), 120), &numbers(&want["components"]), 1e-12, name);
        let found = sample(&row_major(&applied(&fitted, &data)), 80);
        assert_close(&found, &numbers(&want["transform"]), 1e-11, &format!("{name}: transform"));
        if want["inverse_components"].is_array() {
            let found = sample(&matrix(&fitted, "inverse_components"), 60);
            assert_close(&found, &numbers(&want["inverse_components"]), 1e-9, name);
        }
        assert_repeats(&spec, &data);
    }
    assert_eq!(
        error(&gaussian(), &features("iris")),
        "`eps` 0.1 and 150 rows need 4294 components, and there are 4 features"
    );
}

#[test]
fn pipelines_train_on_the_weights_of_the_training_rows() {
    let data = classification("iris");
    let nmf = Spec::new("NMF").with("n_components", 3).with("max_iter", 20);
    let part = |name: &str, spec: &Spec| Part { name: name.to_string(), columns: Vec::new(), spec: spec.clone() };
    let parts = vec![part("nmf", &nmf), part("tree", &Spec::new("DecisionTreeClassifier"))];
    let fitted = fit(&Spec { parts, ..Spec::new("Pipeline") }, &data);
    let (_, weights) = fit_transform(&nmf, &Data::new(data.features.clone()), &Run::silent()).unwrap();
    let columns = weights.into_iter().enumerate().map(|(k, w)| onrush_learn::Column::number(format!("nmf{k}"), w));
    let tree = fit(&Spec::new("DecisionTreeClassifier"), &data.with_features(columns.collect()));
    let importances = |fitted: &FittedModel| fitted.bars().unwrap().1;
    assert_eq!(importances(&fitted), importances(&tree));
}
