//! Samplers in pipelines against imbalanced-learn, and the iterative imputer against scikit-learn 1.9.1
//! (`tests/learn/expect_resampled.py`).

use onrush_learn::{Column, Data, Spec};
use onrush_wire::learn::{Part, Splitter};

use crate::support::{
    applied, assert_close, assert_repeats, attribute, classification, error, expected, fit, matrix, numbers,
    regression, row_major, sample,
};

fn pipeline(specs: &[Spec]) -> Spec {
    let part = |spec: &Spec| Part { name: spec.estimator.to_lowercase(), columns: Vec::new(), spec: spec.clone() };
    Spec { parts: specs.iter().map(part).collect(), ..Spec::new("Pipeline") }
}

#[test]
fn trainings_have_the_rows_of_imbalanced_learn() {
    let expect = expected("resampled.json");
    let over = |seed: i64| Spec::new("RandomOverSampler").with("random_state", seed);
    let under = |seed: i64| Spec::new("RandomUnderSampler").with("random_state", seed);
    let smote = |seed: i64| Spec::new("SMOTE").with("random_state", seed);
    let cases = vec![
        ("over", over(0), "wine"),
        ("over_minority", over(3).with("sampling_strategy", "minority"), "wine"),
        ("over_ratio", over(1).with("sampling_strategy", 0.9), "breast_cancer"),
        ("over_shrinkage", over(2).with("shrinkage", 0.7), "wine"),
        ("under", under(0), "wine"),
        ("under_majority", under(3).with("sampling_strategy", "majority"), "wine"),
        ("under_ratio", under(1).with("sampling_strategy", 0.8), "breast_cancer"),
        ("under_replacement", under(2).with("replacement", true), "wine"),
        ("smote", smote(0), "wine"),
        ("smote_near", smote(5).with("k_neighbors", 2).with("sampling_strategy", "not minority"), "wine"),
        ("smote_ratio", smote(1).with("sampling_strategy", 0.8), "breast_cancer"),
    ];
    let bayes = Spec::new("GaussianNB").with("var_smoothing", 0.0);
    for (name, sampler, file) in cases {
        let (want, data) = (&expect["samplers"][name], classification(file));
        let spec = pipeline(&[sampler, bayes.clone()]);
        let fitted = fit(&spec, &data);
        assert_close(&sample(&matrix(&fitted, "theta"), 60), &numbers(&want["theta"]), 1e-11, name);
        assert_close(&sample(&matrix(&fitted, "var"), 60), &numbers(&want["var"]), 1e-9, name);
        let columns = applied(&fitted, &data);
        assert_eq!(columns[0].len(), data.rows, "{name}: all rows are predicted");
        let found: Vec<f64> = columns[0].iter().step_by(5).copied().collect();
        assert_eq!(found, numbers(&want["predict"]), "{name}");
        assert_repeats(&spec, &data);
    }
}

#[test]
fn test_rows_of_folds_are_not_sampled() {
    let data = classification("wine");
    let spec = pipeline(&[Spec::new("SMOTE"), Spec::new("GaussianNB")]);
    let splitter = Splitter::StratifiedKFold { n_splits: 3, shuffle: false, random_state: 0 };
    let run = onrush_learn::Run::silent();
    let found = onrush_learn::cross_val_predict(&spec, &data, &splitter, "predict", &run).unwrap();
    assert_eq!(found[0].values.len(), data.rows);
}

#[test]
fn samplers_say_what_does_not_fit() {
    let data = classification("wine");
    let with = |sampler: Spec| pipeline(&[sampler, Spec::new("GaussianNB")]);
    assert_eq!(
        error(&Spec::new("SMOTE"), &data),
        "SMOTE changes the rows of a training: it is a step of a pipeline before the last one"
    );
    assert_eq!(
        error(&pipeline(&[Spec::new("SMOTE"), Spec::new("Ridge")]), &regression("diabetes")),
        "step `smote`: SMOTE takes a target of classes"
    );
    assert_eq!(
        error(&with(Spec::new("SMOTE").with("k_neighbors", 48)), &data),
        "step `smote`: class `2` has 48 rows, and `k_neighbors` is 48: it takes more rows"
    );
    assert_eq!(
        error(&with(Spec::new("RandomUnderSampler").with("sampling_strategy", 0.5)), &data),
        "step `randomundersampler`: `sampling_strategy` is 0.5, and there are 3 classes: a number takes 2"
    );
    assert_eq!(
        error(&with(Spec::new("SMOTE").with("sampling_strategy", "majority")), &data),
        "step `smote`: `sampling_strategy` is \"majority\": \"auto\", \"minority\", \"not minority\", \"not majority\", \
         \"all\" or a number"
    );
    let weighted = Data { weight: Some(vec![1.0; data.rows]), ..data.clone() };
    assert_eq!(
        error(&with(Spec::new("SMOTE")), &weighted),
        "step `smote`: SMOTE makes rows without a weight and a group: `sample_weight` and `groups` are not taken"
    );
    fit(&with(Spec::new("RandomOverSampler")), &weighted);
}

/// The features with missing values at fixed places, as in the script.
fn holes(name: &str, every: usize, shift: usize) -> Data {
    let mut data = Data::new(regression(name).features);
    for (j, column) in data.features.iter_mut().enumerate() {
        for (i, value) in column.values.iter_mut().enumerate() {
            if (i * 7 + j * 11 + shift) % every < 1 + j % 3 {
                *value = f64::NAN;
            }
        }
    }
    data
}

#[test]
fn imputed_values_are_those_of_scikit_learn() {
    let expect = expected("resampled.json");
    let spec = || Spec::new("IterativeImputer").with("random_state", 0);
    let order = |word: &str| spec().with("imputation_order", word);
    let cases = vec![
        ("iris", spec(), holes("iris", 13, 0), holes("iris", 9, 3)),
        (
            "iris_median",
            order("descending").with("initial_strategy", "median"),
            holes("iris", 13, 0),
            holes("iris", 13, 0),
        ),
        ("wine", order("roman").with("max_iter", 3), holes("wine", 17, 0), holes("wine", 17, 0)),
        (
            "wine_range",
            order("arabic").with("min_value", 1.0).with("max_value", 100.0),
            holes("wine", 17, 0),
            holes("wine", 23, 1),
        ),
        (
            "diabetes",
            spec().with("tol", 1e-6).with("max_iter", 25).with("skip_complete", true),
            holes("diabetes", 19, 0),
            holes("diabetes", 19, 0),
        ),
        (
            "iris_random",
            order("random").with("tol", 0.01).with("random_state", 4),
            holes("iris", 13, 0),
            holes("iris", 13, 0),
        ),
    ];
    for (name, spec, data, test) in cases {
        let want = &expect["imputer"][name];
        let fitted = fit(&spec, &data);
        assert_eq!(attribute(&fitted, "n_iter"), numbers(&want["n_iter"]), "{name}");
        let found = sample(&row_major(&applied(&fitted, &test)), 150);
        assert_close(&found, &numbers(&want["transform"]), 1e-7, name);
        assert_repeats(&spec, &test);
    }
    let none = vec![f64::NAN; 4];
    let data = Data::new(vec![
        Column::number("a", vec![1.0, 2.0, f64::NAN, 4.0]),
        Column::number("b", none),
        Column::number("c", vec![2.0, 4.0, 6.0, 8.0]),
    ]);
    let names = |spec: &Spec| fit(spec, &data).outputs().into_iter().map(|(name, _)| name).collect::<Vec<String>>();
    assert_eq!(names(&spec()), ["a", "c"]);
    let kept = spec().with("keep_empty_features", true).with("add_indicator", true);
    assert_eq!(names(&kept), ["a", "b", "c", "missingindicator_a", "missingindicator_b"]);
    let filled = applied(&fit(&spec(), &data), &data);
    assert_close(&[filled[0][2]], &[3.0], 1e-3, "a missing value of a line");
    assert_eq!(
        error(&spec().with("sample_posterior", true), &data),
        "`sample_posterior` is true: values are the predictions, and random ones are not there"
    );
}
