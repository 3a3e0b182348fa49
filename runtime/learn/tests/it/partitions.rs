//! Spectral, bisecting, BIRCH and affinity clusters against scikit-learn 1.9.1 (`tests/learn/expect_partitions.py`).

use onrush_learn::{Attribute, Column, Data, FittedModel, Param, Spec, Values};

use crate::support::{
    applied, assert_close, assert_repeats, attribute, error, expected, fit, matrix, numbers, regression, row_major,
    sample,
};

/// The features of a data set without its target.
fn features(name: &str) -> Data {
    Data::new(regression(name).features)
}

fn first(name: &str, rows: usize) -> Data {
    features(name).take(&(0..rows).collect::<Vec<usize>>())
}

/// `wine` with means of 0 and variances of 1.
fn scaled() -> Data {
    let scaled = |column: &Column| {
        let n = column.values.len() as f64;
        let mean = column.values.iter().sum::<f64>() / n;
        let deviation = (column.values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt();
        Column::number(&column.name, column.values.iter().map(|v| (v - mean) / deviation).collect())
    };
    Data::new(features("wine").features.iter().map(scaled).collect())
}

fn times(data: &Data, factor: f64) -> Data {
    let column = |c: &Column| Column::number(&c.name, c.values.iter().map(|v| v * factor).collect());
    Data::new(data.features.iter().map(column).collect())
}

/// Labels as the script writes them: a character each.
fn shown(labels: &[f64]) -> String {
    labels.iter().map(|label| char::from(48 + *label as u8)).collect()
}

fn rows(fitted: &FittedModel) -> String {
    shown(&fitted.model().rows().unwrap())
}

#[test]
fn spectral_clusters_are_those_of_scikit_learn() {
    let expect = expected("partitions.json");
    let spec = |n: i64| Spec::new("SpectralClustering").with("n_clusters", n).with("random_state", 0);
    let near = |n: i64, count: i64| spec(n).with("affinity", "nearest_neighbors").with("n_neighbors", count);
    let cases = vec![
        ("iris", spec(3), features("iris")),
        ("iris_near", near(3, 60), features("iris")),
        ("wine", spec(3).with("gamma", 0.05).with("random_state", 7), scaled()),
        ("wine_qr", spec(3).with("gamma", 0.05).with("assign_labels", "cluster_qr"), scaled()),
        ("wine_near", near(5, 20).with("assign_labels", "cluster_qr"), scaled()),
    ];
    for (name, spec, data) in cases {
        let fitted = fit(&spec, &data);
        assert_eq!(rows(&fitted), expect["spectral"][name]["labels"].as_str().unwrap(), "{name}");
        assert_repeats(&spec, &data);
    }
    assert_eq!(
        error(&Spec::new("SpectralClustering").with("assign_labels", "discretize"), &features("iris")),
        "`assign_labels` is \"discretize\": one of kmeans, cluster_qr"
    );
}

#[test]
fn splits_are_those_of_scikit_learn() {
    let expect = expected("partitions.json");
    let spec = |n: i64, seed: i64| Spec::new("BisectingKMeans").with("n_clusters", n).with("random_state", seed);
    let weighted = Data { weight: Some((0..150).map(|i| 1.0 + (i % 3) as f64).collect()), ..features("iris") };
    let cases = vec![
        ("iris", spec(4, 0), features("iris")),
        ("wine", spec(6, 2).with("n_init", 3), scaled()),
        (
            "digits",
            spec(8, 0).with("init", "k-means++").with("bisecting_strategy", "largest_cluster"),
            first("digits", 500),
        ),
        ("weighted", spec(5, 0), weighted),
    ];
    for (name, spec, data) in cases {
        let want = &expect["bisecting"][name];
        let fitted = fit(&spec, &data);
        assert_eq!(rows(&fitted), want["labels"].as_str().unwrap(), "{name}");
        let centers = sample(&matrix(&fitted, "cluster_centers"), 80);
        assert_close(&centers, &numbers(&want["cluster_centers"]), 1e-9, name);
        assert_close(&attribute(&fitted, "inertia"), &numbers(&want["inertia"]), 1e-9, name);
        let predicted = applied(&fitted, &times(&data, 1.1)).remove(0);
        assert_eq!(shown(&predicted), want["predict"].as_str().unwrap(), "{name}");
        assert_repeats(&spec, &data);
    }
    let same = Data::new(vec![Column::number("a", vec![1.0; 5])]);
    assert!(error(&spec(6, 0), &same).starts_with("`n_clusters` is 6, and there are 5 rows"));
}

#[test]
fn small_clusters_are_those_of_scikit_learn() {
    let expect = expected("partitions.json");
    let spec = |threshold: f64| Spec::new("Birch").with("threshold", threshold);
    let cases = vec![
        ("iris", Spec::new("Birch"), features("iris")),
        ("iris_small", spec(0.23).with("branching_factor", 4).with("n_clusters", 5), features("iris")),
        ("wine", spec(1.2).with("branching_factor", 10), scaled()),
        ("wine_none", spec(2.6).with("n_clusters", Param::None), scaled()),
        ("digits", spec(20.0).with("n_clusters", 10).with("branching_factor", 20), features("digits")),
    ];
    for (name, spec, data) in cases {
        let want = &expect["birch"][name];
        let fitted = fit(&spec, &data);
        let centers = sample(&matrix(&fitted, "subcluster_centers"), 100);
        assert_close(&centers, &numbers(&want["subcluster_centers"]), 1e-9, name);
        assert_eq!(rows(&fitted), want["labels"].as_str().unwrap(), "{name}");
        let columns = applied(&fitted, &data);
        assert_eq!(shown(&columns[0]), want["labels"].as_str().unwrap(), "{name}");
        assert_close(&sample(&row_major(&columns[1..]), 100), &numbers(&want["transform"]), 1e-6, name);
        assert_repeats(&spec, &data);
    }
}

#[test]
fn exemplars_are_those_of_scikit_learn() {
    let expect = expected("partitions.json");
    let spec = |seed: i64| Spec::new("AffinityPropagation").with("random_state", seed);
    let cases = vec![
        ("iris", spec(0), features("iris")),
        ("wine_few", spec(0).with("preference", -90.0).with("damping", 0.8), scaled()),
        ("wine", spec(3).with("preference", -200.0), scaled()),
    ];
    for (name, spec, data) in cases {
        let want = &expect["affinity"][name];
        let fitted = fit(&spec, &data);
        assert_eq!(rows(&fitted), want["labels"].as_str().unwrap(), "{name}");
        let centers = sample(&matrix(&fitted, "cluster_centers"), 80);
        assert_close(&centers, &numbers(&want["cluster_centers"]), 1e-12, name);
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        let predicted = applied(&fitted, &times(&data, 1.1)).remove(0);
        assert_eq!(shown(&predicted), want["predict"].as_str().unwrap(), "{name}");
        assert_repeats(&spec, &data);
    }
}

#[test]
fn orders_of_reachability_are_those_of_scikit_learn() {
    let expect = expected("partitions.json");
    let spec = || Spec::new("OPTICS");
    let cases = vec![
        ("iris", spec(), features("iris")),
        ("iris_large", spec().with("min_samples", 10).with("min_cluster_size", 0.1).with("xi", 0.1), features("iris")),
        (
            "wine",
            spec().with("min_samples", 0.03).with("metric", "manhattan").with("predecessor_correction", false),
            scaled(),
        ),
        ("wine_dbscan", spec().with("cluster_method", "dbscan").with("eps", 2.3).with("max_eps", 4.0), scaled()),
    ];
    for (name, spec, data) in cases {
        let want = &expect["optics"][name];
        let fitted = fit(&spec, &data);
        let labels: Vec<f64> = fitted.model().rows().unwrap().iter().map(|label| label + 1.0).collect();
        assert_eq!(shown(&labels), want["labels"].as_str().unwrap(), "{name}");
        for what in ["ordering", "predecessor", "cluster_hierarchy"] {
            if !want[what].is_null() {
                assert_eq!(integers(&fitted, what), numbers(&want[what]), "{name}: {what}");
            }
        }
        for what in ["core_distances", "reachability"] {
            let found: Vec<f64> = attribute(&fitted, what).iter().map(|v| v.min(1e300)).collect();
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs();
            let (found, wanted) = (sample(&found, 60), numbers(&want[what]));
            assert!(found.iter().zip(&wanted).all(near), "{name}: {what}: {found:?}, expected {wanted:?}");
        }
        assert_repeats(&spec, &data);
    }
    assert_eq!(
        error(&spec().with("min_samples", 1), &features("iris")),
        "`min_samples` is 1: an integer from 2, or a share between 0 and 1"
    );
}

/// The columns of integers of an attribute, row after row.
fn integers(fitted: &FittedModel, name: &str) -> Vec<f64> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{name} is not a frame") };
    let columns = columns.into_iter().map(|(_, values)| match values {
        Values::Ints(values) => values.into_iter().map(|v| v as f64).collect::<Vec<f64>>(),
        other => panic!("{name}: {other:?}"),
    });
    row_major(&columns.collect::<Vec<Vec<f64>>>())
}
