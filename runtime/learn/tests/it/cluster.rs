//! Clustering, decompositions, nearest neighbours and naive Bayes against scikit-learn 1.9.1
//! (`tests/learn/expect_cluster.py`).

use onrush_learn::random::Philox;
use onrush_learn::{Attribute, Column, Data, FittedModel, Param, Run, Spec, Values, save};

use crate::support::{assert_close, attribute, classification, expected, fit, numbers, regression};

/// The features of a data set without its target.
fn features(name: &str) -> Data {
    Data::new(regression(name).features)
}

/// Weights 0 to 4 in turn.
fn weighted(data: Data) -> Data {
    Data { weight: Some((0..data.rows).map(|i| (i % 5) as f64).collect()), ..data }
}

/// Eight copies in different sizes: enough rows for the path of large data.
fn stacked(data: &Data) -> Data {
    let copies =
        |c: &Column| (0..8).flat_map(|k| c.values.iter().map(move |v| v * (1.0 + f64::from(k) / 16.0))).collect();
    Data::new(data.features.iter().map(|c| Column::number(&c.name, copies(c))).collect())
}

/// The rows at these positions one after the other, as a parameter.
fn centers(data: &Data, rows: &[usize]) -> Vec<f64> {
    rows.iter().flat_map(|r| data.features.iter().map(|c| c.values[*r])).collect()
}

/// The columns of numbers of an attribute, row after row.
fn matrix(fitted: &FittedModel, name: &str) -> Vec<f64> {
    let Some(Attribute::Frame(columns)) = fitted.attribute(name) else { panic!("{name} is not a frame") };
    let columns: Vec<Vec<f64>> = columns
        .into_iter()
        .filter_map(|(_, values)| match values {
            Values::Floats(values) => Some(values),
            _ => None,
        })
        .collect();
    (0..columns[0].len()).flat_map(|i| columns.iter().map(move |c| c[i]).collect::<Vec<f64>>()).collect()
}

fn error(spec: &Spec, data: &Data) -> String {
    match onrush_learn::fit(spec, data, &Run::silent()) {
        Ok(_) => panic!("{spec:?} is trained"),
        Err(error) => error.message,
    }
}

/// All columns that a model makes.
fn applied(fitted: &FittedModel, data: &Data) -> Vec<Vec<f64>> {
    let all: Vec<usize> = (0..fitted.outputs().len()).collect();
    fitted.apply(data, &all).unwrap_or_else(|e| panic!("{e}"))
}

fn every(values: &[f64], stride: usize) -> Vec<f64> {
    values.iter().step_by(stride.max(1)).copied().collect()
}

/// The arrays of a model's file: what follows the header, whose length stands in front.
fn arrays(file: &[u8]) -> &[u8] {
    let header = u64::from_le_bytes(*file.first_chunk().unwrap()) as usize;
    &file[8 + header..]
}

/// Asserts that a training repeats bit for bit, and that the saved model does the same as the trained one.
fn assert_repeats(spec: &Spec, data: &Data) {
    let (a, b) = (fit(spec, data), fit(spec, data));
    let bytes = save::to_bytes(&a).unwrap();
    assert!(arrays(&bytes) == arrays(&save::to_bytes(&b).unwrap()), "{spec:?}: two trainings differ");
    let back = save::from_bytes(&bytes).unwrap();
    let bits = |columns: Vec<Vec<f64>>| columns.into_iter().flatten().map(f64::to_bits).collect::<Vec<u64>>();
    assert!(bits(applied(&a, data)) == bits(applied(&back, data)), "{spec:?}: the saved model differs");
    assert_eq!(a.model().rows(), back.model().rows());
}

/// Normally distributed values around a few points, by Philox.
fn blobs(rows: usize, width: usize, centers: usize) -> Data {
    let random = Philox::new(5, 1);
    let value = |row: usize, j: usize| {
        let center = 10.0 * random.uniform(1, ((row % centers) * width + j) as u64);
        let noise: f64 = (0..4).map(|k| random.uniform(2 + k, (row * width + j) as u64) - 0.5).sum();
        center + noise
    };
    Data::new((0..width).map(|j| Column::number(format!("x{j}"), (0..rows).map(|r| value(r, j)).collect())).collect())
}

#[test]
fn k_means_has_the_clusters_of_scikit_learn() {
    let expect = expected("cluster.json");
    let (iris, wine, digits) = (features("iris"), features("wine"), features("digits"));
    let spec = |k: i64| Spec::new("KMeans").with("n_clusters", k);
    let elevens: Vec<usize> = (0..178).step_by(11).collect();
    let far = [centers(&iris, &[0, 50]), vec![100.0; 8]].concat();
    let tens = centers(&digits, &(0..10).collect::<Vec<usize>>());
    let cases: Vec<(&str, Spec, Data)> = vec![
        ("iris_init", spec(3).with("init", centers(&iris, &[0, 50, 100])), iris.clone()),
        ("iris_weighted", spec(4).with("init", centers(&iris, &[0, 50, 100, 149])), weighted(iris.clone())),
        ("iris_empty", spec(4).with("init", far), iris.clone()),
        ("digits_init", spec(10).with("init", tens.clone()), digits.clone()),
        ("digits_tol", spec(10).with("init", tens).with("tol", 0.0).with("max_iter", 7), digits.clone()),
        ("wine_init", spec(17).with("init", centers(&wine, &elevens)), wine.clone()),
        ("iris_seed", spec(5), iris),
        ("wine_seed", spec(6).with("random_state", 3), weighted(wine.clone())),
        ("wine_random", spec(3).with("init", "random").with("n_init", 3).with("random_state", 1), wine),
        ("digits_best", spec(10).with("n_init", 20), digits),
    ];
    for (name, spec, data) in cases {
        let want = &expect["kmeans"][name];
        let fitted = fit(&spec, &data);
        let inertia = want["inertia"].as_f64().unwrap();
        assert!(
            attribute(&fitted, "inertia")[0] <= inertia * 1.001,
            "{name}: {fitted:?}",
            fitted = attribute(&fitted, "inertia")
        );
        if name == "digits_best" {
            continue;
        }
        assert_close(&matrix(&fitted, "cluster_centers"), &numbers(&want["centers"]), 1e-6, name);
        assert_close(&attribute(&fitted, "inertia"), &[inertia], 1e-9, name);
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        let labels = fitted.model().rows().unwrap();
        assert_eq!(every(&labels, data.rows / 200), numbers(&want["labels"]), "{name}");
        let moved = data.take(&(0..data.rows).step_by(7).collect::<Vec<usize>>());
        let shifted = |c: &Column| Column::number(&c.name, c.values.iter().map(|v| v + 0.1).collect());
        let moved = Data::new(moved.features.iter().map(shifted).collect());
        let predicted = applied(&fitted, &moved).remove(0);
        assert_eq!(predicted[..predicted.len().min(50)], numbers(&want["predict"]), "{name}");
    }
}

#[test]
fn the_bounds_of_k_means_never_change_a_label() {
    for (rows, width, k) in [(1, 1, 1), (7, 3, 7), (1025, 5, 9), (5000, 17, 40)] {
        let data = blobs(rows, width, k);
        let fitted = fit(&Spec::new("KMeans").with("n_clusters", k).with("tol", 0.0), &data);
        let found = fitted.model().rows().unwrap();
        let centers = matrix(&fitted, "cluster_centers");
        let distance = |row: usize, c: usize| {
            let squares =
                data.features.iter().enumerate().map(|(j, f)| (f.values[row] - centers[c * width + j]).powi(2));
            squares.sum::<f64>()
        };
        for (row, label) in found.iter().enumerate() {
            let best = (0..k).map(|c| distance(row, c)).fold(f64::INFINITY, f64::min);
            let own = distance(row, *label as usize);
            assert!(own <= best * (1.0 + 1e-9) + 1e-20, "row {row} of {rows} x {width}");
        }
        assert_eq!(applied(&fitted, &data)[0], found);
    }
}

#[test]
fn k_means_takes_any_data_and_says_what_does_not_fit() {
    let spec = |k: i64| Spec::new("KMeans").with("n_clusters", k);
    for values in [vec![1.0; 20], vec![1e300, -1e300, 0.0, 1e-300], vec![0.0; 3]] {
        let data = Data::new(vec![Column::number("a", values.clone()), Column::number("b", values)]);
        let fitted = fit(&spec(3), &data);
        assert_eq!(fitted.model().rows().unwrap().len(), data.rows);
    }
    let same = fit(&spec(3), &Data::new(vec![Column::number("a", vec![2.0; 9])]));
    assert!(same.model().notes()[0].starts_with("1 of 3 clusters have rows"), "{:?}", same.model().notes());
    let iris = features("iris");
    assert_eq!(
        error(&spec(200), &iris),
        "`n_clusters` is 200, and there are 150 rows: at least as many rows as clusters"
    );
    assert_eq!(
        error(&spec(2).with("init", [1.0, 2.0]), &iris),
        "`init` has 2 finite numbers: expected 8, the 2 centres of 4 features one after the other"
    );
    assert_eq!(
        error(&spec(2).with("init", "pca"), &iris),
        "`init` is pca: \"k-means++\", \"random\" or a list of centres"
    );
    let zero = Data { weight: Some(vec![0.0; 150]), ..iris.clone() };
    assert_eq!(error(&spec(2), &zero), "all sample weights are 0: at least one must be above 0");
    assert_repeats(&spec(4), &weighted(iris));
    assert_repeats(&spec(12), &blobs(9000, 6, 12));
}

#[test]
fn principal_components_are_those_of_scikit_learn() {
    let expect = expected("cluster.json");
    let (iris, wine, digits, cancer) =
        (features("iris"), features("wine"), features("digits"), features("breast_cancer"));
    let pca = |n: Param| Spec::new("PCA").with("n_components", n);
    let svd = |n: i64| Spec::new("TruncatedSVD").with("n_components", n);
    let wide = digits.take(&(0..40).collect::<Vec<usize>>());
    let cases: Vec<(&str, Spec, Data)> = vec![
        ("pca_iris", Spec::new("PCA"), iris),
        ("pca_wine_share", pca(Param::Float(0.9999)), wine),
        ("pca_cancer_mle", pca(Param::Str("mle".to_string())), cancer),
        ("pca_digits_whiten", pca(Param::Int(10)).with("whiten", true), digits.clone()),
        ("pca_wide", pca(Param::Int(12)), wide),
        ("pca_large", pca(Param::Int(9)), stacked(&digits)),
        ("svd_digits", svd(5), digits.clone()),
        ("svd_large", svd(3), stacked(&digits)),
    ];
    for (name, spec, data) in cases {
        let want = &expect["decompositions"][name];
        let fitted = fit(&spec, &data);
        let components = matrix(&fitted, "components");
        let shape = numbers(&want["shape"]);
        assert_eq!(components.len() as f64, shape[0] * shape[1], "{name}");
        let stride = want["stride"].as_u64().unwrap() as usize;
        assert_close(&every(&components, stride), &numbers(&want["components"]), 1e-9, name);
        let start = |values: Vec<f64>| values.into_iter().take(20).collect::<Vec<f64>>();
        for what in ["explained_variance", "explained_variance_ratio", "singular_values"] {
            assert_close(&start(attribute(&fitted, what)), &numbers(&want[what]), 1e-12, &format!("{name} {what}"));
        }
        let columns = applied(&fitted, &data);
        let sampled = |column: &[f64]| every(column, data.rows / 20);
        assert_close(&sampled(&columns[0]), &numbers(&want["first"]), 1e-9, name);
        if want["last"].as_array().is_some_and(|l| !l.is_empty()) {
            assert_close(&sampled(columns.last().unwrap()), &numbers(&want["last"]), 1e-8, name);
        }
        if name.starts_with("pca") {
            assert_close(&attribute(&fitted, "mean"), &numbers(&want["mean"]), 1e-13, name);
            let largest = attribute(&fitted, "explained_variance")[0];
            let noise = want["noise_variance"].as_f64().unwrap();
            assert!((attribute(&fitted, "noise_variance")[0] - noise).abs() <= 1e-12 * largest, "{name}");
            assert_eq!(attribute(&fitted, "n_components")[0], shape[0], "{name}");
        }
        assert_eq!(fitted.outputs()[0].0, if name.starts_with("pca") { "pca0" } else { "truncatedsvd0" });
        assert_repeats(&spec, &data);
    }
}

#[test]
fn principal_components_take_any_data_and_say_what_does_not_fit() {
    let iris = features("iris");
    let pca = |n: Param| Spec::new("PCA").with("n_components", n);
    assert_eq!(
        error(&pca(Param::Int(5)), &iris),
        "`n_components` is 5: at most 4, the smaller of 150 rows and 4 features"
    );
    let wrong =
        |found: &str| format!("`n_components` is {found}: an integer from 1, a share between 0 and 1, or \"mle\"");
    assert_eq!(error(&pca(Param::Float(1.5)), &iris), wrong("1.5"));
    assert_eq!(error(&pca(Param::Str("all".to_string())), &iris), wrong("all"));
    assert_eq!(error(&Spec::new("PCA"), &iris.take(&[0])), "PCA got 1 row: at least 2 rows have a variance");
    let constant = Data::new(vec![Column::number("a", vec![3.0; 10]), Column::number("b", vec![-1.0; 10])]);
    assert_eq!(attribute(&fit(&Spec::new("PCA"), &constant), "explained_variance"), [0.0, 0.0]);
    let huge =
        Data::new(vec![Column::number("a", vec![1e300, -1e300, 1e299]), Column::number("b", vec![1e-300, 0.0, 1.0])]);
    let _ = onrush_learn::fit(&Spec::new("PCA"), &huge, &Run::silent());
    // Scaling all features scales the singular values and keeps the components.
    let doubled = |c: &Column| Column::number(&c.name, c.values.iter().map(|v| 2.0 * v).collect());
    let doubled = Data::new(iris.features.iter().map(doubled).collect());
    let (a, b) = (fit(&Spec::new("PCA"), &iris), fit(&Spec::new("PCA"), &doubled));
    assert_close(&matrix(&b, "components"), &matrix(&a, "components"), 1e-12, "components");
    let twice: Vec<f64> = attribute(&a, "singular_values").iter().map(|s| 2.0 * s).collect();
    assert_close(&attribute(&b, "singular_values"), &twice, 1e-13, "singular values");
}

/// The rows of a data set at each `stride`, and the others.
fn divided(data: &Data, stride: usize) -> (Data, Data) {
    let (picked, rest): (Vec<usize>, Vec<usize>) = (0..data.rows).partition(|row| row % stride == 0);
    (data.take(&picked), data.take(&rest))
}

#[test]
fn the_order_of_the_rows_does_not_matter() {
    let iris = features("iris");
    let turned = iris.take(&(0..150).rev().collect::<Vec<usize>>());
    let pca = Spec::new("PCA");
    let (a, b) = (fit(&pca, &iris), fit(&pca, &turned));
    assert_close(&matrix(&b, "components"), &matrix(&a, "components"), 1e-9, "components");
    let k_means = Spec::new("KMeans").with("n_clusters", 3).with("init", centers(&iris, &[0, 50, 100]));
    let (a, b) = (fit(&k_means, &iris), fit(&k_means, &turned));
    assert_close(&matrix(&b, "cluster_centers"), &matrix(&a, "cluster_centers"), 1e-12, "centres");
    let labels = |fitted: &FittedModel| fitted.model().rows().unwrap();
    assert_eq!(labels(&a), labels(&b).into_iter().rev().collect::<Vec<f64>>());
    let dbscan = Spec::new("DBSCAN");
    let noise = |fitted: &FittedModel| labels(fitted).iter().map(|l| *l < 0.0).collect::<Vec<bool>>();
    let (a, b) = (fit(&dbscan, &iris), fit(&dbscan, &turned));
    assert_eq!(noise(&a), noise(&b).into_iter().rev().collect::<Vec<bool>>());
}

#[test]
fn a_training_that_the_user_stops_ends() {
    let data = Data { target: "y".to_string(), ..stacked(&classification("digits")) };
    let y = (0..data.rows).map(|row| (row % 2) as f64).collect();
    let data = Data { y, classes: vec!["a".to_string(), "b".to_string()], ..data };
    let run = Run { is_stopped: &|| true, ..Run::silent() };
    for name in ["KMeans", "PCA", "GaussianNB", "DBSCAN"] {
        let error = onrush_learn::fit(&Spec::new(name), &data, &run).err().unwrap_or_else(|| panic!("{name} goes on"));
        assert!(error.is_stopped() && error.message.starts_with("stopped after"), "{name}: {error}");
    }
}

#[test]
fn the_nearest_rows_are_those_of_all_distances() {
    let expect = expected("cluster.json");
    let (iris, wine, digits) = (features("iris"), features("wine"), features("digits"));
    for (name, value) in expect["neighbors"].as_object().unwrap() {
        let (set, metric) = name.split_once('_').unwrap_or((name, ""));
        let (data, stride) = match set {
            "iris" => (&iris, 11),
            "wine" => (&wine, 9),
            "digits" => (&digits, 90),
            _ => continue,
        };
        let p = match (set, metric) {
            ("wine", "minkowski") => 3.0,
            (_, "minkowski") => 1.5,
            _ => 2.0,
        };
        let (queries, rest) = divided(data, stride);
        let k = value["neighbors"][0].as_array().unwrap().len();
        let radius = value["radius"].as_f64().unwrap();
        let spec = Spec::new("NearestNeighbors").with("metric", metric).with("p", p).with("radius", radius);
        let fitted = fit(&spec, &rest);
        let found = fitted.kneighbors(&queries, Some(k), None, &Run::silent()).unwrap();
        let wanted = numbers(&value["distances"]);
        assert_close(&found.distances[..wanted.len()], &wanted, 1e-12, name);
        let neighbors: Vec<f64> = found.neighbors[..wanted.len()].iter().map(|n| *n as f64).collect();
        // Tenths are no binary fractions: distances of iris that are equal on paper differ in the last bits.
        if set != "iris" {
            assert_eq!(neighbors, numbers(&value["neighbors"]), "{name}");
        }
        assert_eq!(found.rows.len(), queries.rows * k, "{name}");
        let within = fitted.radius_neighbors(&queries, &Run::silent()).unwrap();
        let counts = (0..queries.rows).map(|row| within.rows.iter().filter(|r| **r == row).count() as f64);
        assert_eq!(counts.collect::<Vec<f64>>(), numbers(&value["within"]), "{name}");
        assert!(within.distances.iter().all(|d| *d <= radius * (1.0 + 1e-12)), "{name}");
    }
}

#[test]
fn neighbours_are_those_of_a_double_loop() {
    // Small integers: many distances are equal, and all are exact.
    let random = Philox::new(11, 2);
    for (rows, width, metric) in [
        (1, 1, "euclidean"),
        (33, 2, "manhattan"),
        (700, 3, "euclidean"),
        (333, 16, "euclidean"),
        (257, 20, "chebyshev"),
        (90, 40, "manhattan"),
    ] {
        let column = |j: usize| (0..rows).map(|r| random.below(j as u64, r as u64, 4) as f64).collect::<Vec<f64>>();
        let data = Data::new((0..width).map(|j| Column::number(format!("x{j}"), column(j))).collect());
        let fitted = fit(&Spec::new("NearestNeighbors").with("metric", metric), &data);
        let k = rows.min(13);
        let found = fitted.kneighbors(&data, Some(k), None, &Run::silent()).unwrap();
        for row in 0..rows {
            let distance = |other: usize| {
                let gaps = data.features.iter().map(|c| (c.values[row] - c.values[other]).abs());
                match metric {
                    "euclidean" => gaps.map(|g| g * g).sum::<f64>().sqrt(),
                    "manhattan" => gaps.sum(),
                    _ => gaps.fold(0.0, f64::max),
                }
            };
            let mut all: Vec<(f64, usize)> = (0..rows).map(|other| (distance(other), other)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let wanted: Vec<usize> = all[..k].iter().map(|a| a.1).collect();
            assert_eq!(found.neighbors[row * k..(row + 1) * k], wanted, "row {row} of {rows} x {width} {metric}");
        }
    }
}

#[test]
fn neighbours_vote_as_in_scikit_learn() {
    let expect = expected("cluster.json");
    let classifier = || Spec::new("KNeighborsClassifier");
    let regressor = || Spec::new("KNeighborsRegressor");
    let (wine, digits) = (classification("wine"), classification("digits"));
    let diabetes = regression("diabetes");
    let cases = [
        ("classifier_wine", classifier(), &wine),
        ("classifier_wine_distance", classifier().with("weights", "distance").with("n_neighbors", 8), &wine),
        ("classifier_digits", classifier().with("weights", "distance").with("n_neighbors", 3), &digits),
        ("classifier_cosine", classifier().with("metric", "cosine").with("n_neighbors", 11), &wine),
        ("regressor", regressor(), &diabetes),
        ("regressor_distance", regressor().with("weights", "distance").with("n_neighbors", 7), &diabetes),
        ("regressor_manhattan", regressor().with("metric", "manhattan").with("weights", "distance"), &diabetes),
    ];
    for (name, spec, data) in cases {
        let want = &expect["neighbors"][name];
        let (test, train) = divided(data, 3);
        let fitted = fit(&spec, &train);
        let columns = applied(&fitted, &test);
        let predict = numbers(&want["predict"]);
        assert_close(&columns[0][..predict.len()], &predict, 1e-12, name);
        if want["proba"].is_array() {
            let classes = columns.len() - 1;
            let proba: Vec<f64> = (0..test.rows).flat_map(|r| columns[1..].iter().map(move |c| c[r])).collect();
            let stride = (test.rows * classes / 60).max(1);
            assert_close(&every(&proba, stride), &numbers(&want["proba"]), 1e-12, name);
        }
        assert_repeats(&spec, &train);
        assert_eq!(fitted.kneighbors(&test, None, None, &Run::silent()).unwrap().rows.len() % test.rows, 0);
    }
}

#[test]
fn searches_say_what_does_not_fit() {
    let iris = classification("iris");
    let few = iris.take(&[0, 60, 120]);
    assert_eq!(
        error(&Spec::new("KNeighborsClassifier"), &few),
        "`n_neighbors` is 5: at least 1 and at most 3, the number of rows of the training"
    );
    let index = fit(&Spec::new("NearestNeighbors"), &features("iris"));
    let message = |found: Result<onrush_learn::Neighbors, onrush_learn::Error>| found.unwrap_err().message;
    assert_eq!(
        message(index.kneighbors(&iris, Some(3), Some(1.0), &Run::silent())),
        "`n_neighbors` and `radius` are both set: one of them"
    );
    assert_eq!(message(index.kneighbors(&iris, None, Some(-1.0), &Run::silent())), "`radius` is -1: at least 0");
    assert_eq!(
        message(index.kneighbors(&iris, Some(151), None, &Run::silent())),
        "`n_neighbors` is 151: at least 1 and at most 150, the number of rows of the training"
    );
    let missing = Column::number(&iris.features[0].name, vec![f64::NAN; 150]);
    let with_null = Data::new([&[missing], &iris.features[1..]].concat());
    let wanted =
        format!("`{}` has 150 nulls in 150 rows, and NearestNeighbors takes no missing values", iris.features[0].name);
    assert_eq!(message(index.kneighbors(&with_null, None, None, &Run::silent())), wanted);
    let other = fit(&Spec::new("GaussianNB"), &iris);
    assert_eq!(
        message(other.kneighbors(&iris, None, None, &Run::silent())),
        "GaussianNB does not store its training rows, so it has no `kneighbors`"
    );
    for width in [2, 20] {
        let values = vec![1e300, -1e300, 0.0, 1e-300, 1e300];
        let huge = Data::new((0..width).map(|j| Column::number(format!("x{j}"), values.clone())).collect());
        for metric in ["euclidean", "manhattan", "chebyshev", "cosine"] {
            let fitted = fit(&Spec::new("NearestNeighbors").with("metric", metric), &huge);
            assert_eq!(fitted.kneighbors(&huge, Some(5), None, &Run::silent()).unwrap().rows.len(), 25);
            assert!(fit(&Spec::new("DBSCAN").with("metric", metric), &huge).model().rows().is_some());
        }
    }
}

#[test]
fn naive_bayes_is_that_of_scikit_learn() {
    let expect = expected("cluster.json");
    let cases = [
        ("iris", Spec::new("GaussianNB"), classification("iris")),
        ("wine_weighted", Spec::new("GaussianNB"), weighted(classification("wine"))),
        ("digits", Spec::new("GaussianNB"), classification("digits")),
        (
            "cancer_priors",
            Spec::new("GaussianNB").with("priors", [0.2, 0.8]).with("var_smoothing", 1e-6),
            classification("breast_cancer"),
        ),
    ];
    for (name, spec, data) in cases {
        let want = &expect["bayes"][name];
        let fitted = fit(&spec, &data);
        let stride = want["stride"].as_u64().unwrap() as usize;
        for what in ["theta", "var"] {
            assert_close(&every(&matrix(&fitted, what), stride), &numbers(&want[what]), 1e-12, name);
        }
        assert_close(&attribute(&fitted, "class_prior"), &numbers(&want["class_prior"]), 1e-13, name);
        let columns = applied(&fitted, &data);
        assert_eq!(every(&columns[0], 9), numbers(&want["predict"]), "{name}");
        let logs: Vec<f64> =
            (0..data.rows).flat_map(|r| columns[1..].iter().map(move |c| c[r].ln().max(-600.0))).collect();
        let stride = want["log_proba_stride"].as_u64().unwrap() as usize;
        for (found, wanted) in every(&logs, stride).iter().zip(numbers(&want["log_proba"])) {
            assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{name}: {found}, expected {wanted}");
        }
        assert_repeats(&spec, &data);
    }
    let iris = classification("iris");
    let spec = Spec::new("GaussianNB");
    assert_eq!(
        error(&spec.clone().with("priors", [0.5, 0.5]), &iris),
        "`priors` has 2 numbers: one for each of 0, 1, 2"
    );
    assert_eq!(
        error(&spec.clone().with("priors", [0.5, 0.2, 0.2]), &iris),
        "`priors` sum to 0.8999999999999999: expected 1"
    );
    let constant = Data {
        y: vec![0.0, 1.0],
        classes: vec!["a".to_string(), "b".to_string()],
        ..Data::new(vec![Column::number("x", vec![4.0, 4.0])])
    };
    assert_eq!(error(&spec, &constant), "`x` has the variance 0 in the class `a`, so that its density is infinite");
    // A row with the weight 2 counts as two rows.
    let twice = iris.take(&(0..150).chain(0..30).collect::<Vec<usize>>());
    let weight = (0..150).map(|i| if i < 30 { 2.0 } else { 1.0 }).collect();
    let (a, b) = (fit(&spec, &twice), fit(&spec.with("var_smoothing", 1e-9), &Data { weight: Some(weight), ..iris }));
    assert_close(&matrix(&b, "theta"), &matrix(&a, "theta"), 1e-13, "theta");
}

#[test]
fn dbscan_has_the_labels_of_scikit_learn() {
    let expect = expected("cluster.json");
    let (iris, wine, digits) = (features("iris"), features("wine"), features("digits"));
    let spec = |eps: f64, min_samples: i64| Spec::new("DBSCAN").with("eps", eps).with("min_samples", min_samples);
    let cases = [
        ("iris", Spec::new("DBSCAN"), iris.clone()),
        ("iris_weighted", spec(0.4, 12), weighted(iris.clone())),
        ("iris_manhattan", spec(0.6, 4).with("metric", "manhattan"), iris),
        ("wine", spec(25.0, 4), wine.clone()),
        ("digits", spec(21.0, 6), digits.clone()),
        ("digits_cosine", spec(0.12, 4).with("metric", "cosine"), digits.take(&(0..600).collect::<Vec<usize>>())),
        ("noise", spec(0.001, 5), wine),
    ];
    for (name, spec, data) in cases {
        let want = &expect["dbscan"][name];
        let fitted = fit(&spec, &data);
        assert_eq!(fitted.model().rows().unwrap(), numbers(&want["labels"]), "{name}");
        let Some(Attribute::Frame(cores)) = fitted.attribute("core_sample_indices") else { panic!("{name}") };
        let Values::Ints(cores) = &cores[0].1 else { panic!("{name}") };
        assert_eq!(cores.len() as u64, want["cores"].as_u64().unwrap(), "{name}");
        assert_eq!(cores.iter().sum::<i64>(), want["core_sum"].as_i64().unwrap(), "{name}");
        let components = matrix(&fitted, "components");
        assert_eq!(every(&components, components.len() / 20), numbers(&want["components"]), "{name}");
        assert!(fitted.outputs().is_empty());
        assert_repeats(&spec, &data);
    }
}

#[test]
fn naive_bayes_of_counts_is_that_of_scikit_learn() {
    let expect = expected("cluster.json");
    let spec = || Spec::new("MultinomialNB");
    let cases = [
        ("iris", spec(), classification("iris")),
        ("wine_weighted", spec().with("alpha", 0.25), weighted(classification("wine"))),
        ("digits", spec().with("fit_prior", false), classification("digits")),
        (
            "cancer_priors",
            spec().with("class_prior", [0.2, 0.8]).with("alpha", 0.0).with("force_alpha", false),
            classification("breast_cancer"),
        ),
    ];
    for (name, spec, data) in cases {
        let want = &expect["multinomial"][name];
        let fitted = fit(&spec, &data);
        let stride = want["stride"].as_u64().unwrap() as usize;
        for what in ["feature_count", "feature_log_prob"] {
            assert_close(&every(&matrix(&fitted, what), stride), &numbers(&want[what]), 1e-12, name);
        }
        for what in ["class_count", "class_log_prior"] {
            assert_close(&attribute(&fitted, what), &numbers(&want[what]), 1e-13, name);
        }
        let columns = applied(&fitted, &data);
        assert_eq!(every(&columns[0], 9), numbers(&want["predict"]), "{name}");
        let logs: Vec<f64> =
            (0..data.rows).flat_map(|r| columns[1..].iter().map(move |c| c[r].ln().max(-600.0))).collect();
        let stride = want["log_proba_stride"].as_u64().unwrap() as usize;
        for (found, wanted) in every(&logs, stride).iter().zip(numbers(&want["log_proba"])) {
            assert!((found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{name}: {found}, expected {wanted}");
        }
        assert_repeats(&spec, &data);
    }
    let iris = classification("iris");
    assert_eq!(
        error(&spec().with("class_prior", [0.5, 0.5]), &iris),
        "`class_prior` has 2 numbers: one for each of 0, 1, 2"
    );
    let mut below = iris.clone();
    below.features[1].values[7] = -0.5;
    let name = &below.features[1].name;
    assert_eq!(
        error(&spec(), &below),
        format!("`{name}` is -0.5 in row 7, and MultinomialNB takes counts of at least 0")
    );
    let mut absent = iris;
    (0..50).for_each(|row| absent.features[2].values[row] = 0.0);
    let name = &absent.features[2].name;
    assert_eq!(
        error(&spec().with("alpha", 0.0), &absent),
        format!("`{name}` is 0 in all rows of the class `0`, and `alpha` is 0")
    );
}

#[test]
fn lying_model_files_are_refused() {
    let iris = classification("iris");
    let names = [
        "KMeans",
        "PCA",
        "TruncatedSVD",
        "NearestNeighbors",
        "KNeighborsClassifier",
        "GaussianNB",
        "MultinomialNB",
        "DBSCAN",
    ];
    for name in names {
        let fitted = fit(&Spec::new(name), &iris);
        let model = fitted.model();
        model.check(4, 3).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(model.check(5, 3).is_err(), "{name} takes 5 features");
        assert!(model.check(0, 3).is_err(), "{name} takes no features");
        if ["KNeighborsClassifier", "GaussianNB", "MultinomialNB"].contains(&name) {
            assert!(model.check(4, 2).is_err(), "{name} takes 2 classes");
        }
    }
}

#[test]
fn searches_are_limited_and_stop() {
    let column = |rows: usize| Data::new(vec![Column::number("x", (0..rows).map(|i| i as f64).collect())]);
    let index = fit(&Spec::new("NearestNeighbors"), &column(20_000));
    let error = index.kneighbors(&column(10_000), Some(20_000), None, &Run::silent()).unwrap_err();
    assert_eq!(error.message, "the search finds more than 134217728 pairs of rows");
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    assert!(index.kneighbors(&column(10), None, Some(1.0), &stopped).unwrap_err().is_stopped());
    assert!(onrush_learn::fit(&Spec::new("DBSCAN"), &column(10), &stopped).err().unwrap().is_stopped());
}

#[test]
fn dense_rows_are_one_cluster() {
    // All pairs of rows are neighbours, and there are several rounds.
    let data = Data::new(vec![Column::number("x", (0..3000).map(|i| f64::from(i % 7)).collect())]);
    let fitted = fit(&Spec::new("DBSCAN").with("eps", 100.0), &data);
    assert!(fitted.model().rows().unwrap().iter().all(|label| *label == 0.0));
}

#[test]
fn values_that_overflow_are_an_error() {
    let column = Column::number("x", vec![1.7e308, 1.7e308, 1.6e308, 1.6e308]);
    let message = error(&Spec::new("KMeans").with("n_clusters", 2), &Data::new(vec![column]));
    assert_eq!(message, "the centres are not finite numbers: the values are too large");
}
