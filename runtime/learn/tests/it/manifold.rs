//! Embeddings against scikit-learn 1.9.1 (`tests/learn/expect_manifold.py`).

use onrush_learn::{Attribute, Column, Data, FittedModel, Run, Spec, Values, save};

use crate::support::{
    applied, assert_close, assert_repeats, attribute, expected, fit, numbers, regression, row_major, sample,
};

/// The features of a data set without its target.
fn features(name: &str) -> Data {
    Data::new(regression(name).features)
}

fn first(name: &str, rows: usize) -> Data {
    features(name).take(&(0..rows).collect::<Vec<usize>>())
}

/// The columns of a frame of numbers.
fn columns(fitted: &FittedModel, name: &str) -> Vec<Vec<f64>> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{name} is not a frame") };
    let numbers = columns.into_iter().map(|(_, values)| match values {
        Values::Floats(values) => values,
        other => panic!("{other:?}"),
    });
    numbers.collect()
}

/// For each row the other rows by their distance.
fn ranked(columns: &[&[f64]], distance: impl Fn(&[f64], &[f64]) -> f64) -> Vec<Vec<usize>> {
    let rows = columns[0].len();
    let points: Vec<Vec<f64>> = (0..rows).map(|row| columns.iter().map(|c| c[row]).collect()).collect();
    let of = |row: usize| {
        let mut others: Vec<(f64, usize)> =
            (0..rows).filter(|o| *o != row).map(|o| (distance(&points[row], &points[o]), o)).collect();
        others.sort_by(|a, b| a.0.total_cmp(&b.0));
        others.into_iter().map(|(_, other)| other).collect()
    };
    (0..rows).map(of).collect()
}

/// `sklearn.manifold.trustworthiness` with 12 neighbours (Venna and Kaski 2001).
fn trustworthiness(data: &Data, embedding: &[Vec<f64>]) -> f64 {
    const K: usize = 12;
    let euclidean = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
    let far: Vec<&[f64]> = data.features.iter().map(|c| c.values.as_slice()).collect();
    let near: Vec<&[f64]> = embedding.iter().map(Vec::as_slice).collect();
    let (far, near) = (ranked(&far, euclidean), ranked(&near, euclidean));
    let mut total = 0.0;
    for (far, near) in far.iter().zip(&near) {
        for other in &near[..K] {
            let rank = far.iter().position(|o| o == other).unwrap() + 1;
            total += rank.saturating_sub(K) as f64;
        }
    }
    let n = data.rows as f64;
    let k = K as f64;
    1.0 - total * 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0))
}

#[test]
fn embeddings_are_as_good_as_those_of_scikit_learn() {
    let expect = expected("manifold.json");
    let spec = || Spec::new("TSNE");
    let cases = vec![
        ("iris", spec(), features("iris")),
        ("iris_exact", spec().with("method", "exact").with("perplexity", 15.0), features("iris")),
        ("iris_exact_3", spec().with("method", "exact").with("n_components", 3), features("iris")),
        (
            "wine_manhattan",
            spec().with("metric", "manhattan").with("perplexity", 20.0).with("learning_rate", 100.0),
            features("wine"),
        ),
        ("digits", spec(), features("digits")),
        (
            "digits_random",
            spec().with("init", "random").with("max_iter", 500).with("perplexity", 20.0),
            first("digits", 700),
        ),
        ("digits_3", spec().with("n_components", 3).with("max_iter", 400), first("digits", 800)),
        ("digits_cosine", spec().with("metric", "cosine").with("early_exaggeration", 20.0), first("digits", 600)),
    ];
    let mut worse = Vec::new();
    for (name, spec, data) in cases {
        let want = &expect["tsne"][name];
        let fitted = fit(&spec, &data);
        let divergence = attribute(&fitted, "kl_divergence")[0];
        let bound = want["kl_divergence"].as_f64().unwrap() * 1.02;
        if divergence > bound {
            worse.push(format!("{name}: the divergence {divergence}, at most {bound}"));
        }
        let embedding = columns(&fitted, "embedding");
        assert_eq!(embedding.iter().map(Vec::len).collect::<Vec<usize>>(), vec![data.rows; embedding.len()]);
        let found = trustworthiness(&data, &embedding);
        let least = want["trustworthiness"].as_f64().unwrap() - 0.01;
        if found < least {
            worse.push(format!("{name}: the trustworthiness {found}, at least {least}"));
        }
        assert_eq!(attribute(&fitted, "n_iter"), [want["n_iter"].as_f64().unwrap()], "{name}");
    }
    assert!(worse.is_empty(), "{worse:?}");
}

#[test]
fn embeddings_repeat_and_are_saved() {
    let data = first("digits", 520);
    let spec = Spec::new("TSNE").with("max_iter", 300);
    let (a, b) = (fit(&spec, &data), fit(&spec, &data));
    assert_eq!(a.model().embedding(), b.model().embedding());
    let back = save::from_bytes(&save::to_bytes(&a).unwrap()).unwrap();
    assert_eq!(a.model().embedding(), back.model().embedding());
    let names: Vec<String> = a.model().embedding().unwrap().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["tsne0", "tsne1"]);
    let (_, values) = onrush_learn::fit_transform(&spec, &data, &Run::silent()).unwrap();
    assert_eq!(values, columns(&a, "embedding"));
    assert!(a.outputs().is_empty());
}

#[test]
fn embeddings_take_any_data_and_say_what_does_not_fit() {
    let same = Data::new(vec![Column::number("a", vec![1.0; 700]), Column::number("b", vec![2.0; 700])]);
    for init in ["pca", "random"] {
        let fitted = fit(&Spec::new("TSNE").with("init", init).with("max_iter", 250), &same);
        assert!(columns(&fitted, "embedding").iter().flatten().all(|v| v.is_finite()));
    }
    let error = |spec: &Spec, data: &Data| match onrush_learn::fit(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} is trained"),
        Err(error) => error.message,
    };
    let few = first("iris", 20);
    assert_eq!(error(&Spec::new("TSNE"), &few), "`perplexity` is 30, and there are 20 rows: it must be below the rows");
    let narrow = Data::new(features("iris").features[..1].to_vec());
    assert_eq!(error(&Spec::new("TSNE"), &narrow), "`init` is \"pca\", and 1 features have fewer than 2 components");
    assert_eq!(
        error(&Spec::new("TSNE").with("init", "spectral"), &features("iris")),
        "`init` is spectral: \"pca\", \"random\" or a list of places"
    );
    assert_eq!(
        error(&Spec::new("TSNE").with("learning_rate", 0.0), &features("iris")),
        "`learning_rate` is 0.0: \"auto\" or a number above 0"
    );
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    assert!(onrush_learn::fit(&Spec::new("TSNE"), &features("iris"), &stopped).is_err_and(|e| e.is_stopped()));
}

/// The rows of `iris` without copies of a row.
fn distinct() -> Data {
    let iris = features("iris");
    let row = |i: usize| iris.features.iter().map(|c| c.values[i]).collect::<Vec<f64>>();
    let rows: Vec<usize> = (0..iris.rows).filter(|i| (0..*i).all(|j| row(j) != row(*i))).collect();
    iris.take(&rows)
}

/// Features in different sizes, so that few distances are equal.
fn skewed(data: &Data) -> Data {
    let factor = |j: usize| 1.0 + 0.0137 * j as f64 + 0.000_31 * (j * j) as f64;
    let column = |(j, c): (usize, &Column)| Column::number(&c.name, c.values.iter().map(|v| v * factor(j)).collect());
    Data::new(data.features.iter().enumerate().map(column).collect())
}

fn times(data: &Data, factor: f64) -> Data {
    let column = |c: &Column| Column::number(&c.name, c.values.iter().map(|v| v * factor).collect());
    Data::new(data.features.iter().map(column).collect())
}

#[test]
fn places_are_those_of_scikit_learn() {
    let expect = expected("manifold.json");
    let narrow = Data::new(features("wine").features[..3].to_vec());
    let (isomap, mds) = (|| Spec::new("Isomap"), || Spec::new("MDS").with("random_state", 0));
    let spectral = || Spec::new("SpectralEmbedding");
    let linear = || Spec::new("LocallyLinearEmbedding");
    let cases = vec![
        ("isomap_digits", isomap(), first("digits", 300)),
        ("isomap_iris", isomap().with("n_neighbors", 60).with("n_components", 3), distinct()),
        ("isomap_parts", isomap().with("n_neighbors", 5).with("metric", "manhattan"), skewed(&distinct())),
        ("isomap_radius", isomap().with("radius", 1.5).with("n_neighbors", onrush_learn::Param::None), narrow),
        ("linear_digits", linear().with("n_neighbors", 10), skewed(&first("digits", 200))),
        ("linear_wine", linear().with("n_neighbors", 12).with("n_components", 3).with("reg", 0.01), features("wine")),
        ("mds_iris", mds(), distinct()),
        (
            "mds_wine",
            mds()
                .with("n_init", 3)
                .with("max_iter", 60)
                .with("n_components", 3)
                .with("normalized_stress", true)
                .with("random_state", 4),
            features("wine"),
        ),
        (
            "mds_classical",
            mds().with("init", "classical_mds").with("metric", "manhattan").with("eps", 1e-9),
            distinct(),
        ),
        ("classical_iris", Spec::new("ClassicalMDS"), distinct()),
        (
            "classical_wine",
            Spec::new("ClassicalMDS").with("n_components", 3).with("metric", "manhattan"),
            features("wine"),
        ),
        ("spectral_digits", spectral(), skewed(&first("digits", 300))),
        ("spectral_iris", spectral().with("affinity", "rbf").with("gamma", 0.5).with("n_components", 3), distinct()),
        ("spectral_near", spectral().with("n_neighbors", 60), distinct()),
    ];
    for (name, spec, data) in cases {
        let want = &expect["others"][name];
        let fitted = fit(&spec, &data);
        let found = row_major(&columns(&fitted, "embedding"));
        let is_linear = name.starts_with("linear");
        let signed = |values: Vec<f64>| if is_linear { values.iter().map(|v| v.abs()).collect() } else { values };
        assert_close(&signed(sample(&found, 120)), &numbers(&want["embedding"]), 1e-6, name);
        for what in ["reconstruction_error", "eigenvalues", "stress", "n_iter"] {
            if !want[what].is_null() {
                assert_close(&attribute(&fitted, what), &numbers(&want[what]), 1e-7, &format!("{name}: {what}"));
            }
        }
        if !want["transform"].is_null() {
            let test = match name {
                "isomap_digits" => {
                    let rows: Vec<usize> = (300..400).collect();
                    features("digits").take(&rows)
                }
                "linear_digits" => skewed(&features("digits").take(&(200..260).collect::<Vec<usize>>())),
                "isomap_iris" => times(&data, 1.05),
                _ => times(&data, 1.01),
            };
            let made = signed(sample(&row_major(&applied(&fitted, &test)), 80));
            assert_close(&made, &numbers(&want["transform"]), 1e-6, &format!("{name}: transform"));
            if !is_linear {
                let own = row_major(&applied(&fitted, &data));
                assert_close(&own, &found, 1e-9, &format!("{name}: the rows of the training"));
            }
        }
        assert_repeats(&spec, &data);
    }
}

#[test]
fn places_say_what_does_not_fit() {
    let iris = features("iris");
    let error = |spec: &Spec| crate::support::error(spec, &iris);
    assert_eq!(
        error(&Spec::new("Isomap").with("n_neighbors", 150)),
        "`n_neighbors` is 150: from 1 to 149, the number of rows minus 1"
    );
    assert_eq!(
        error(&Spec::new("MDS").with("metric_mds", false)),
        "`metric_mds` is false: distances are kept as they are, and scaling by ranks is not there"
    );
    assert_eq!(
        error(&Spec::new("SpectralEmbedding").with("n_neighbors", 151)),
        "`n_neighbors` is 151, and there are 150 rows: at most as many as rows"
    );
}
