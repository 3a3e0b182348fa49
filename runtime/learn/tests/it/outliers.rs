//! The search for outliers, agglomerative and density clustering, and k-means on small batches, against
//! scikit-learn 1.9.1 (`tests/learn/expect_outliers.py`).

use onrush_learn::{Attribute, Column, Data, FittedModel, Run, Spec, Values, save};

use crate::support::{assert_close, attribute, expected, fit, numbers, regression};

/// The features of a data set without its target.
fn features(name: &str) -> Data {
    Data::new(regression(name).features)
}

fn first(name: &str, rows: usize) -> Data {
    features(name).take(&(0..rows).collect::<Vec<usize>>())
}

/// At most about `count` values at a fixed stride, as the script takes them.
fn sample(values: &[f64], count: usize) -> Vec<f64> {
    values.iter().step_by((values.len() / count).max(1)).copied().collect()
}

/// All columns that a model makes.
fn applied(fitted: &FittedModel, data: &Data) -> Vec<Vec<f64>> {
    let all: Vec<usize> = (0..fitted.outputs().len()).collect();
    fitted.apply(data, &all).unwrap_or_else(|e| panic!("{e}"))
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
    assert_eq!(a.model().rows(), back.model().rows(), "{spec:?}");
}

#[test]
fn local_outlier_factors_are_those_of_scikit_learn() {
    let expect = expected("outliers.json");
    let spec = || Spec::new("LocalOutlierFactor");
    let (wine, cancer) = (features("wine"), features("breast_cancer"));
    let cases = vec![
        ("wine", spec(), wine.clone()),
        ("cancer", spec().with("n_neighbors", 35).with("contamination", 0.1), cancer.clone()),
        ("cancer_manhattan", spec().with("metric", "manhattan"), cancer.clone()),
        ("digits_cosine", spec().with("metric", "cosine").with("contamination", 0.05), first("digits", 500)),
        ("wine_all", spec(), first("wine", 15)),
    ];
    for (name, spec, data) in cases {
        let want = &expect["local"][name];
        let fitted = fit(&spec, &data);
        let factors = sample(&attribute(&fitted, "negative_outlier_factor"), 200);
        assert_close(&factors, &numbers(&want["factors"]), 1e-9, name);
        assert_close(&attribute(&fitted, "offset"), &numbers(&want["offset"]), 1e-9, name);
        assert_eq!(sample(&fitted.model().rows().unwrap(), 200), numbers(&want["labels"]), "{name}");
        assert!(fitted.outputs().is_empty());
        assert_repeats(&spec, &data);
    }
    let novel = || spec().with("novelty", true);
    let cases = vec![
        ("novel_wine", novel(), wine),
        ("novel_cancer", novel().with("n_neighbors", 5).with("contamination", 0.2), cancer),
        ("novel_diabetes", novel().with("metric", "manhattan"), features("diabetes")),
    ];
    for (name, spec, data) in cases {
        let want = &expect["local"][name];
        let moved = |c: &Column| {
            Column::number(&c.name, c.values.iter().step_by(3).map(|v| v * 1.07 + 0.013).collect::<Vec<f64>>())
        };
        let moved = Data::new(data.features.iter().map(moved).collect());
        let columns = applied(&fit(&spec, &data), &moved);
        assert_close(&sample(&columns[1], 200), &numbers(&want["score"]), 1e-9, name);
        assert_eq!(sample(&columns[0], 200), numbers(&want["label"]), "{name}");
        assert_repeats(&spec, &data);
    }
}

#[test]
fn isolation_forests_are_those_of_scikit_learn_in_distribution() {
    let expect = expected("outliers.json");
    let spec = || Spec::new("IsolationForest");
    let cases = vec![
        ("wine", spec(), features("wine")),
        ("cancer", spec().with("contamination", 0.1), features("breast_cancer")),
        ("digits", spec().with("n_estimators", 60).with("max_samples", 0.1), features("digits")),
        ("cancer_some", spec().with("max_features", 0.2).with("max_samples", 100), features("breast_cancer")),
        ("iris_bootstrap", spec().with("bootstrap", true).with("max_features", 2), features("iris")),
    ];
    for (name, spec, data) in cases {
        let want = &expect["isolation"][name];
        let fitted: Vec<FittedModel> =
            (0..12).map(|seed| fit(&spec.clone().with("random_state", seed), &data)).collect();
        let made: Vec<Vec<Vec<f64>>> = fitted.iter().map(|fitted| applied(fitted, &data)).collect();
        let count = made.len() as f64;
        let mean: Vec<f64> = (0..data.rows).map(|row| made.iter().map(|m| m[1][row]).sum::<f64>() / count).collect();
        // The standard error of both means is the spread divided by the root of 12.
        let spread = want["spread"].as_f64().unwrap();
        let wanted = numbers(&want["mean"]);
        let off: Vec<f64> = sample(&mean, 300).iter().zip(&wanted).map(|(a, b)| (a - b).abs()).collect();
        let largest = off.iter().copied().fold(0.0, f64::max);
        assert!(off.iter().sum::<f64>() / off.len() as f64 <= spread, "{name}: {off:?}, the spread is {spread}");
        assert!(largest <= 4.0 * spread, "{name}: {largest}, the spread is {spread}");
        let outliers = made.iter().flat_map(|m| &m[0]).filter(|label| **label < 0.0).count() as f64;
        let share = outliers / count / data.rows as f64;
        assert!((share - want["outliers"].as_f64().unwrap()).abs() < 0.03, "{name}: {share}");
        let offset = fitted.iter().map(|fitted| attribute(fitted, "offset")[0]).sum::<f64>() / count;
        assert!((offset - want["offset"].as_f64().unwrap()).abs() <= spread, "{name}: {offset}");
        assert_eq!(attribute(&fitted[0], "max_samples"), numbers(&want["max_samples"]), "{name}");
        assert_repeats(&spec, &data);
    }
}

#[test]
fn agglomerative_clusters_are_those_of_scikit_learn() {
    let expect = expected("outliers.json");
    let spec = |n: i64| Spec::new("AgglomerativeClustering").with("n_clusters", n);
    let (wine, cancer, digits) = (features("wine"), first("breast_cancer", 250), first("digits", 200));
    let mut cases = vec![
        ("cancer_threshold".to_string(), spec(2).with("distance_threshold", 600.0), cancer.clone()),
        ("cancer_manhattan".to_string(), spec(7).with("metric", "manhattan").with("linkage", "average"), cancer),
        ("wine_cosine".to_string(), spec(4).with("metric", "cosine").with("linkage", "complete"), wine.clone()),
        ("wine_one".to_string(), spec(1), wine.clone()),
    ];
    for linkage in ["ward", "complete", "average", "single"] {
        cases.push((format!("wine_{linkage}"), spec(5).with("linkage", linkage), wine.clone()));
        cases.push((format!("digits_{linkage}"), spec(13).with("linkage", linkage), digits.clone()));
    }
    for (name, spec, data) in cases {
        let want = &expect["agglomerative"][&name];
        let fitted = fit(&spec, &data);
        let Some(Attribute::Frame(merges)) = fitted.attribute("merges") else { panic!("{name} has no merges") };
        let (Values::Ints(left), Values::Ints(right), Values::Floats(distances)) =
            (&merges[0].1, &merges[1].1, &merges[2].1)
        else {
            panic!("{merges:?}")
        };
        assert_close(&sample(distances, 100), &numbers(&want["distances"]), 1e-9, &name);
        let pairs: Vec<f64> = left.iter().zip(right).flat_map(|(l, r)| [*l as f64, *r as f64]).collect();
        assert_eq!(pairs, numbers(&want["children"]), "{name}");
        assert_eq!(fitted.model().rows().unwrap(), numbers(&want["labels"]), "{name}");
        assert_eq!(attribute(&fitted, "n_clusters"), numbers(&want["n_clusters"]), "{name}");
        assert_repeats(&spec, &data);
    }
}

#[test]
fn density_clusters_are_those_of_scikit_learn() {
    let expect = expected("outliers.json");
    let spec = |size: i64| Spec::new("HDBSCAN").with("min_cluster_size", size);
    let (wine, cancer) = (features("wine"), features("breast_cancer"));
    let leaf = |size: i64| spec(size).with("cluster_selection_method", "leaf");
    let cases = vec![
        ("wine", spec(5), wine.clone()),
        ("wine_leaf", leaf(4).with("min_samples", 3), wine),
        ("cancer", spec(8).with("min_samples", 2), cancer.clone()),
        ("cancer_single", spec(40).with("allow_single_cluster", true), cancer.clone()),
        ("cancer_most", spec(4).with("max_cluster_size", 60), cancer),
        ("diabetes_manhattan", spec(4).with("min_samples", 1).with("metric", "manhattan"), features("diabetes")),
        ("digits", spec(6).with("alpha", 1.2), first("digits", 900)),
    ];
    for (name, spec, data) in cases {
        let want = &expect["hdbscan"][name];
        let fitted = fit(&spec, &data);
        assert_eq!(fitted.model().rows().unwrap(), numbers(&want["labels"]), "{name}");
        let found = sample(&attribute(&fitted, "probabilities"), 200);
        assert_close(&found, &numbers(&want["probabilities"]), 1e-9, name);
        assert_repeats(&spec, &data);
    }
}

#[test]
fn mean_shift_has_the_clusters_of_scikit_learn() {
    let expect = expected("outliers.json");
    let spec = |bandwidth: f64| Spec::new("MeanShift").with("bandwidth", bandwidth);
    let (wine, cancer) = (features("wine"), features("breast_cancer"));
    let cases = vec![
        ("iris", Spec::new("MeanShift"), features("iris")),
        ("wine", spec(60.0), wine.clone()),
        ("wine_bins", spec(50.0).with("bin_seeding", true).with("min_bin_freq", 3), wine),
        ("cancer_some", spec(150.0).with("cluster_all", false), cancer),
    ];
    for (name, spec, data) in cases {
        let want = &expect["mean_shift"][name];
        let fitted = fit(&spec, &data);
        let Some(Attribute::Frame(columns)) = fitted.attribute("cluster_centers") else { panic!("{name}") };
        let columns: Vec<Vec<f64>> = columns
            .into_iter()
            .map(|(_, values)| match values {
                Values::Floats(values) => values,
                other => panic!("{other:?}"),
            })
            .collect();
        let centers: Vec<f64> = (0..columns[0].len()).flat_map(|i| columns.iter().map(move |c| c[i])).collect();
        assert_close(&sample(&centers, 100), &numbers(&want["centers"]), 1e-9, name);
        assert_eq!(fitted.model().rows().unwrap(), numbers(&want["labels"]), "{name}");
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        assert_repeats(&spec, &data);
    }
}

#[test]
fn small_batches_reach_the_inertia_of_scikit_learn() {
    let expect = expected("outliers.json");
    let spec = |n: i64| Spec::new("MiniBatchKMeans").with("n_clusters", n);
    let (wine, digits) = (features("wine"), features("digits"));
    let cases = vec![
        ("wine", spec(5).with("batch_size", 40), wine.clone()),
        ("digits", spec(10), digits.clone()),
        ("digits_random", spec(20).with("init", "random").with("batch_size", 200).with("n_init", 2), digits),
    ];
    for (name, spec, data) in cases {
        let inertia = |seed: usize| attribute(&fit(&spec.clone().with("random_state", seed), &data), "inertia")[0];
        let mean = (0..20).map(inertia).sum::<f64>() / 20.0;
        let bound = expect["mini_batch"][name].as_f64().unwrap() * 1.03;
        assert!(mean <= bound, "{name}: the mean inertia {mean}, at most {bound}");
        let fitted = fit(&spec, &data);
        assert_eq!(fitted.model().rows().unwrap(), applied(&fitted, &data)[0], "{name}");
        assert_repeats(&spec, &data);
    }
    assert_eq!(
        error(&spec(200), &wine),
        "`n_clusters` is 200, and there are 178 rows: at least as many rows as clusters"
    );
}

#[test]
fn searches_for_outliers_say_what_does_not_fit() {
    let iris = features("iris");
    let spec = Spec::new;
    assert_eq!(
        error(&spec("IsolationForest").with("contamination", 0.7), &iris),
        "`contamination` is 0.7: \"auto\" or a number above 0 and at most 0.5"
    );
    assert_eq!(
        error(&spec("IsolationForest").with("max_samples", 0.0), &iris),
        "`max_samples` is 0.0: an integer from 1, or a share above 0 and at most 1"
    );
    assert_eq!(
        error(&spec("LocalOutlierFactor"), &first("iris", 1)),
        "LocalOutlierFactor got 1 row: at least 2 rows are neighbours"
    );
    assert_eq!(
        error(&spec("AgglomerativeClustering").with("metric", "l1"), &iris),
        "`metric` is \"l1\", and the linkage `ward` takes euclidean distances"
    );
    assert_eq!(
        error(&spec("AgglomerativeClustering").with("n_clusters", 151), &iris),
        "`n_clusters` is 151, and there are 150 rows: at least as many rows as clusters"
    );
    assert_eq!(
        error(&spec("HDBSCAN").with("min_samples", 200), &iris),
        "`min_samples` is 200, and there are 150 rows: at least as many rows"
    );
    let same = Data::new(vec![Column::number("a", vec![1.0; 40])]);
    for name in ["IsolationForest", "LocalOutlierFactor", "AgglomerativeClustering", "HDBSCAN"] {
        let fitted = fit(&spec(name), &same);
        assert!(applied(&fitted, &same).iter().flatten().all(|v| v.is_finite()), "{name}");
    }
}
