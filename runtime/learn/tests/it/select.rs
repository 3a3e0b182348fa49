//! Splitters and metrics against scikit-learn 1.9.1 (`tests/learn/expect_select.py`).

use onrush_learn::metrics::classification::{Average, Confusion, accuracy, zero_one_loss};
use onrush_learn::metrics::ranking::{self, PrecisionRecallCurve, RocCurve};
use onrush_learn::metrics::{cluster_score, clusters, probability, regression};
use onrush_learn::random::Mt19937;
use onrush_learn::split::{self, RowSplit, splits, train_test_split};
use onrush_learn::{Column, Data, Run};
use onrush_wire::learn::{Size, Splitter};
use serde_json::Value;

use crate::support::{assert_close, expected, numbers};

fn indices(value: &Value) -> Vec<usize> {
    numbers(value).into_iter().map(|v| v as usize).collect()
}

fn cases() -> Vec<(&'static str, Splitter)> {
    let share = Size::Share;
    vec![
        ("kfold", Splitter::KFold { n_splits: 4, shuffle: false, random_state: 0 }),
        ("kfold_shuffled", Splitter::KFold { n_splits: 5, shuffle: true, random_state: 42 }),
        ("stratified", Splitter::StratifiedKFold { n_splits: 3, shuffle: false, random_state: 0 }),
        ("stratified", Splitter::Auto { n_splits: 3 }),
        ("stratified_shuffled", Splitter::StratifiedKFold { n_splits: 4, shuffle: true, random_state: 7 }),
        ("group", Splitter::GroupKFold { n_splits: 3 }),
        ("time", Splitter::TimeSeriesSplit { n_splits: 4, gap: 0, test_size: None, max_train_size: None }),
        ("time_gap", Splitter::TimeSeriesSplit { n_splits: 3, gap: 2, test_size: Some(4), max_train_size: Some(6) }),
        ("shuffle", Splitter::ShuffleSplit { n_splits: 3, test_size: share(0.3), train_size: None, random_state: 1 }),
        (
            "shuffle_train",
            Splitter::ShuffleSplit {
                n_splits: 2,
                test_size: Size::Rows(5),
                train_size: Some(share(0.5)),
                random_state: 3,
            },
        ),
        (
            "stratified_shuffle",
            Splitter::StratifiedShuffleSplit {
                n_splits: 3,
                test_size: share(0.35),
                train_size: None,
                random_state: 11,
            },
        ),
        (
            "stratified_shuffle_train",
            Splitter::StratifiedShuffleSplit {
                n_splits: 2,
                test_size: Size::Rows(4),
                train_size: Some(Size::Rows(9)),
                random_state: 5,
            },
        ),
        ("repeated", Splitter::RepeatedKFold { n_splits: 3, n_repeats: 2, random_state: 9 }),
        ("repeated_stratified", Splitter::RepeatedStratifiedKFold { n_splits: 3, n_repeats: 2, random_state: 9 }),
        ("leave_one_out", Splitter::LeaveOneOut),
        (
            "group_shuffle",
            Splitter::GroupShuffleSplit { n_splits: 3, test_size: share(0.4), train_size: None, random_state: 2 },
        ),
        (
            "group_shuffle_train",
            Splitter::GroupShuffleSplit {
                n_splits: 2,
                test_size: Size::Rows(3),
                train_size: Some(share(0.5)),
                random_state: 6,
            },
        ),
        ("stratified_group", Splitter::StratifiedGroupKFold { n_splits: 3, shuffle: false, random_state: 0 }),
        ("stratified_group_shuffled", Splitter::StratifiedGroupKFold { n_splits: 3, shuffle: true, random_state: 5 }),
        ("leave_group", Splitter::LeaveOneGroupOut),
        ("leave_groups", Splitter::LeavePGroupsOut { n_groups: 2 }),
        ("leave_rows", Splitter::LeavePOut { p: 2 }),
    ]
}

#[test]
fn splitters_give_the_rows_of_scikit_learn() {
    let file = &expected("select.json")["splitters"];
    let (y, groups) = (numbers(&file["y"]), numbers(&file["groups"]));
    for (name, splitter) in cases() {
        // The sets of two rows are those of the first rows only.
        let rows = if name == "leave_rows" { 7 } else { y.len() };
        let found = splits(&splitter, rows, Some(&y[..rows]), true, Some(&groups[..rows])).unwrap();
        let wanted: Vec<RowSplit> = file["splits"][name]
            .as_array()
            .unwrap()
            .iter()
            .map(|pair| (indices(&pair[0]), indices(&pair[1])))
            .collect();
        assert_eq!(found, wanted, "{name}");
        assert_eq!(splitter.n_splits(rows, 8), wanted.len(), "{name}");
    }
}

#[test]
fn folds_of_many_groups_and_classes_are_those_of_scikit_learn() {
    let file = &expected("select.json")["splitters"]["splits"]["many"];
    let (y, groups) = (numbers(&file["y"]), numbers(&file["groups"]));
    for (name, shuffle) in [("plain", false), ("shuffled", true)] {
        let splitter = Splitter::StratifiedGroupKFold { n_splits: 5, shuffle, random_state: 1 };
        let mut fold_of = vec![0.0; y.len()];
        for (fold, (_, test)) in splits(&splitter, y.len(), Some(&y), true, Some(&groups)).unwrap().iter().enumerate() {
            test.iter().for_each(|row| fold_of[*row] = fold as f64);
        }
        assert_eq!(fold_of, numbers(&file[name]), "{name}");
    }
}

#[test]
fn train_test_splits_are_those_of_scikit_learn() {
    let file = &expected("select.json")["splitters"]["splits"];
    let rows = 1003;
    let strata: Vec<f64> = (0..rows).map(|i| ((i * i) % 7) as f64).collect();
    let compare = |name: &str, (train, test): RowSplit| {
        let every = |rows: &[usize]| rows.iter().copied().step_by(37).collect::<Vec<usize>>();
        assert_eq!(every(&train), indices(&file[name][0]), "{name}");
        assert_eq!(every(&test), indices(&file[name][1]), "{name}");
    };
    compare("train_test", train_test_split(rows, None, None, true, None, 42).unwrap());
    let sizes = (Some(Size::Rows(101)), Some(Size::Share(0.6)));
    compare("train_test_sizes", train_test_split(rows, sizes.0, sizes.1, true, None, 1).unwrap());
    compare("train_test_plain", train_test_split(rows, None, None, false, None, 0).unwrap());
    compare("train_test_stratified", train_test_split(rows, None, None, true, Some(&strata), 8).unwrap());
}

#[test]
fn samples_without_replacement_are_those_of_scikit_learn() {
    let file = &expected("select.json")["splitters"]["splits"]["sample"];
    for (i, (n, size)) in [(50, 20), (100_000, 5), (6, 6)].into_iter().enumerate() {
        let found: Vec<usize> =
            Mt19937::new(4).sample_without_replacement(n, size).into_iter().map(|v| v as usize).collect();
        assert_eq!(found, indices(&file[i]), "{size} of {n}");
    }
}

#[test]
fn splits_that_cannot_be_made_say_why() {
    let message = |splitter: Splitter, rows: usize, y: Option<&[f64]>| {
        splits(&splitter, rows, y, y.is_some(), None).unwrap_err().message
    };
    let kfold = |n_splits: usize| Splitter::KFold { n_splits, shuffle: false, random_state: 0 };
    assert_eq!(message(kfold(5), 3, None), "5 folds need as many rows, and there are 3 rows");
    assert_eq!(message(kfold(1), 3, None), "`n_splits` is 1: at least 2");
    let stratified = Splitter::StratifiedKFold { n_splits: 3, shuffle: false, random_state: 0 };
    let y = [0.0, 0.0, 1.0, 1.0];
    assert_eq!(message(stratified.clone(), 4, Some(&y)), "3 folds are more than the 2 rows of the largest class");
    assert_eq!(message(stratified, 4, None), "StratifiedKFold needs a target with classes");
    assert_eq!(message(Splitter::GroupKFold { n_splits: 2 }, 4, None), "GroupKFold needs a column of groups");
    assert_eq!(message(Splitter::LeaveOneOut, 1, None), "LeaveOneOut needs at least 2 rows, and there is 1 row");
    assert_eq!(
        message(Splitter::LeavePOut { p: 4 }, 4, None),
        "LeavePOut of 4 rows needs more rows, and there are 4 rows"
    );
    assert_eq!(message(Splitter::LeavePOut { p: 0 }, 4, None), "`p` is 0: at least 1");
    assert_eq!(message(Splitter::LeaveOneGroupOut, 4, None), "LeaveOneGroupOut needs a column of groups");
    let grouped =
        |splitter: Splitter| splits(&splitter, 4, Some(&y), true, Some(&[1.0, 1.0, 2.0, 2.0])).unwrap_err().message;
    let wanted = "LeavePGroupsOut needs at least 3 groups, and there are 2";
    assert_eq!(grouped(Splitter::LeavePGroupsOut { n_groups: 2 }), wanted);
    let half = Splitter::GroupShuffleSplit { n_splits: 1, test_size: Size::Rows(2), train_size: None, random_state: 0 };
    let wanted = "groups are split: `test_size` is 2: a share between 0 and 1, or a number of rows from 1 to 1";
    assert_eq!(grouped(half), wanted);
    let time = Splitter::TimeSeriesSplit { n_splits: 2, gap: 3, test_size: Some(2), max_train_size: None };
    let wanted = "2 splits of 2 test rows and a gap of 3 leave no row for training, and there are 7 rows";
    assert_eq!(message(time, 7, None), wanted);
    let single = Splitter::StratifiedShuffleSplit {
        n_splits: 1,
        test_size: Size::Share(0.5),
        train_size: None,
        random_state: 0,
    };
    let wanted = "class 1 of 2 has 1 row, and a stratified split needs 2 of each class";
    assert_eq!(message(single, 3, Some(&[0.0, 0.0, 1.0])), wanted);
    assert_eq!(
        train_test_split(10, Some(Size::Rows(10)), None, true, None, 0).unwrap_err().message,
        "`test_size` is 10: a share between 0 and 1, or a number of rows from 1 to 9"
    );
    let note = split::small_class_note(&Splitter::Auto { n_splits: 3 }, &y, &["a".to_string(), "b".to_string()]);
    assert_eq!(note.unwrap(), "class `a` has 2 rows, fewer than the 3 folds");
    // No splitter panics on few rows.
    for (_, splitter) in cases() {
        for rows in 0..6 {
            let y: Vec<f64> = (0..rows).map(|i| f64::from(i > 2)).collect();
            let made = splits(&splitter, rows, Some(&y), true, Some(&y));
            assert!(made.is_ok() || !made.unwrap_err().message.is_empty());
        }
    }
}

/// A column of row-major numbers.
fn column(values: &[f64], width: usize, j: usize) -> Vec<f64> {
    values.iter().skip(j).step_by(width).copied().collect()
}

fn compare(file: &Value, name: &str, found: &[f64], what: &str) {
    assert!(!file[name].is_null() || found[0].is_nan(), "{what}: {name}: nothing is expected");
    assert_close(found, &numbers(&file[name]), 1e-12, &format!("{what}: {name}"));
}

#[test]
fn scores_of_classes_are_those_of_scikit_learn() {
    let file = &expected("select.json")["classes"];
    let (y, predicted) = (numbers(&file["y"]), numbers(&file["predicted"]));
    let proba = numbers(&file["proba"]);
    let p: Vec<f64> = column(&proba, 4, 0).iter().map(|p| ((1.0 - p) * 100.0).round_ties_even() / 100.0).collect();
    let binary: Vec<f64> = y.iter().map(|v| f64::from(*v > 0.0)).collect();
    let guess: Vec<f64> = p.iter().map(|p| f64::from(*p > 0.5)).collect();
    let weight = numbers(&file["weight"]);
    for (number, weight) in [None, Some(weight.as_slice())].into_iter().enumerate() {
        for (name, t, q, classes) in [("multi", &y, &predicted, 4), ("binary", &binary, &guess, 2)] {
            let file = &file["cases"][number][name];
            let what = format!("{name} {number}");
            let c = Confusion::new(t, q, weight, classes);
            let averages = [
                ("macro", Average::Macro),
                ("micro", Average::Micro),
                ("weighted", Average::Weighted),
                ("binary", Average::Binary),
            ];
            for (word, average) in averages.into_iter().filter(|(word, _)| *word != "binary" || name == "binary") {
                compare(file, &format!("precision_{word}"), &[c.precision(average)], &what);
                compare(file, &format!("recall_{word}"), &[c.recall(average)], &what);
                compare(file, &format!("f1_{word}"), &[c.fbeta(1.0, average)], &what);
                compare(file, &format!("fbeta_{word}"), &[c.fbeta(0.5, average)], &what);
                compare(file, &format!("jaccard_{word}"), &[c.jaccard(average)], &what);
            }
            compare(file, "precision_each", &c.precisions(), &what);
            compare(file, "recall_each", &c.recalls(), &what);
            compare(file, "f1_each", &c.fbetas(1.0), &what);
            compare(file, "fbeta_each", &c.fbetas(0.5), &what);
            compare(file, "jaccard_each", &c.jaccards(), &what);
            compare(file, "accuracy", &[c.accuracy()], &what);
            compare(file, "accuracy", &[accuracy(t, q, weight)], &what);
            compare(file, "balanced", &[c.balanced_accuracy()], &what);
            compare(file, "matthews", &[c.matthews_corrcoef()], &what);
            compare(file, "kappa", &[c.cohen_kappa(None)], &what);
            compare(file, "kappa_linear", &[c.cohen_kappa(Some(1))], &what);
            compare(file, "kappa_quadratic", &[c.cohen_kappa(Some(2))], &what);
            compare(file, "hamming", &[zero_one_loss(t, q, weight)], &what);
            compare(file, "zero_one", &[zero_one_loss(t, q, weight)], &what);
            compare(file, "confusion", &c.counts, &what);
            if name == "binary" {
                let ratios = c.likelihood_ratios();
                compare(file, "ratios", &[ratios.0, ratios.1], &what);
            }
        }
    }
}

#[test]
fn scores_of_probabilities_are_those_of_scikit_learn() {
    let file = &expected("select.json")["classes"];
    let (y, flat, weight) = (numbers(&file["y"]), numbers(&file["proba"]), numbers(&file["weight"]));
    let columns: Vec<Vec<f64>> = (0..4).map(|j| column(&flat, 4, j)).collect();
    let proba: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    let p: Vec<f64> = columns[0].iter().map(|p| ((1.0 - p) * 100.0).round_ties_even() / 100.0).collect();
    let none: Vec<f64> = p.iter().map(|p| 1.0 - p).collect();
    let two: Vec<&[f64]> = vec![&none, &p];
    let positive: Vec<bool> = y.iter().map(|v| *v > 0.0).collect();
    let binary: Vec<f64> = y.iter().map(|v| f64::from(*v > 0.0)).collect();
    for (number, weight) in [None, Some(weight.as_slice())].into_iter().enumerate() {
        let file = &file["cases"][number]["scores"];
        let what = format!("case {number}");
        let check = |name: &str, found: f64| compare(file, name, &[found], &what);
        check("roc_auc", ranking::roc_auc(&positive, &p, weight));
        check("ovr_macro", ranking::one_versus_rest(&y, &proba, weight, false, ranking::roc_auc));
        check("ovr_weighted", ranking::one_versus_rest(&y, &proba, weight, true, ranking::roc_auc));
        if weight.is_none() {
            check("ovo_macro", ranking::roc_auc_one_versus_one(&y, &proba, weight, false));
            check("ovo_weighted", ranking::roc_auc_one_versus_one(&y, &proba, weight, true));
            let bins = ranking::calibration_curve(&positive, &p, weight, 7);
            let (a, b): (Vec<f64>, Vec<f64>) = bins.iter().map(|bin| (bin.prob_true, bin.prob_pred)).unzip();
            compare(file, "calibration", &[a, b].concat(), &what);
        }
        check("average_precision", ranking::average_precision(&positive, &p, weight));
        check("average_precision_macro", ranking::average_precision_macro(&y, &proba, weight));
        check("log_loss", probability::log_loss(&y, &proba, weight));
        check("log_loss_binary", probability::log_loss(&binary, &two, weight));
        check("brier", probability::brier_score(&y, &proba, weight));
        check("brier_binary", probability::brier_score(&binary, &two, weight));
        check("d2_log_loss", probability::d2_log_loss(&y, &proba, weight));
        check("d2_brier", probability::d2_brier_score(&y, &proba, weight));
        check("top_2", ranking::top_k_accuracy(&y, &proba, weight, 2));
        let roc = RocCurve::new(&positive, &p, weight, true);
        let every = |values: &[f64], n: usize| values.iter().copied().step_by(n).collect::<Vec<f64>>();
        let length = vec![roc.fpr.len() as f64];
        let found = [every(&roc.fpr, 5), every(&roc.tpr, 5), every(&roc.thresholds[1..], 5), length];
        assert_close(&found.concat(), &numbers(&file["roc"]), 1e-13, "roc");
        let pr = PrecisionRecallCurve::new(&positive, &p, weight);
        let length = vec![pr.precision.len() as f64];
        let found = [every(&pr.precision, 7), every(&pr.recall, 7), every(&pr.thresholds, 7), length];
        assert_close(&found.concat(), &numbers(&file["pr"]), 1e-13, "pr");
    }
}

#[test]
fn scores_of_numbers_are_those_of_scikit_learn() {
    let file = &expected("select.json")["numbers"];
    let (y, q, weight) = (numbers(&file["y"]), numbers(&file["predicted"]), numbers(&file["weight"]));
    for (number, weight) in [None, Some(weight.as_slice())].into_iter().enumerate() {
        let file = &file["cases"][number];
        let check = |name: &str, found: f64| compare(file, name, &[found], &format!("case {number}"));
        check("r2_score", regression::r2(&y, &q, weight));
        check("explained_variance_score", regression::explained_variance(&y, &q, weight));
        check("mean_squared_error", regression::mean_squared_error(&y, &q, weight));
        check("root_mean_squared_error", regression::root_mean_squared_error(&y, &q, weight));
        check("mean_absolute_error", regression::mean_absolute_error(&y, &q, weight));
        check("median_absolute_error", regression::median_absolute_error(&y, &q, weight));
        check("mean_absolute_percentage_error", regression::mean_absolute_percentage_error(&y, &q, weight));
        check("mean_squared_log_error", regression::mean_squared_log_error(&y, &q, weight).unwrap());
        check("mean_poisson_deviance", regression::mean_tweedie_deviance(&y, &q, weight, 1.0).unwrap());
        check("mean_gamma_deviance", regression::mean_tweedie_deviance(&y, &q, weight, 2.0).unwrap());
        check("d2_absolute_error_score", regression::d2_absolute_error_score(&y, &q, weight));
        check("max_error", regression::max_error(&y, &q));
        for (word, power) in [("-0.5", -0.5), ("0", 0.0), ("1", 1.0), ("1.5", 1.5), ("2", 2.0), ("3", 3.0)] {
            let found = regression::mean_tweedie_deviance(&y, &q, weight, power).unwrap();
            check(&format!("tweedie_{word}"), found);
            check(&format!("d2_tweedie_{word}"), regression::d2_tweedie_score(&y, &q, weight, power).unwrap());
        }
        for alpha in [0.1, 0.5, 0.9] {
            check(&format!("pinball_{alpha}"), regression::mean_pinball_loss(&y, &q, weight, alpha));
            check(&format!("d2_pinball_{alpha}"), regression::d2_pinball_score(&y, &q, weight, alpha));
        }
    }
}

#[test]
fn scores_of_clusters_are_those_of_scikit_learn() {
    let file = &expected("select.json")["clusters"];
    let (truth, labels) = (numbers(&file["truth"]), numbers(&file["labels"]));
    let h = |a: &[f64], b: &[f64]| clusters::homogeneity_completeness_v_measure(a, b);
    type Score<'a> = &'a dyn Fn(&[f64], &[f64]) -> f64;
    let all: [(&str, Score<'_>); 9] = [
        ("rand_score", &clusters::rand_score),
        ("adjusted_rand_score", &clusters::adjusted_rand_score),
        ("mutual_info_score", &clusters::mutual_info_score),
        ("normalized_mutual_info_score", &clusters::normalized_mutual_info_score),
        ("adjusted_mutual_info_score", &clusters::adjusted_mutual_info_score),
        ("homogeneity_score", &|a, b| h(a, b).0),
        ("completeness_score", &|a, b| h(a, b).1),
        ("v_measure_score", &|a, b| h(a, b).2),
        ("fowlkes_mallows_score", &clusters::fowlkes_mallows_score),
    ];
    for (name, score) in all {
        compare(&file["scores"], name, &[score(&truth, &labels), score(&truth, &truth)], "clusters");
    }
    // The expected mutual information is a difference of logarithms of factorials near 2000 ln 2000, so fewer digits
    // agree.
    let large = clusters::adjusted_mutual_info_score(&numbers(&file["large"][0]), &numbers(&file["large"][1]));
    let wanted = numbers(&file["scores"]["adjusted_mutual_info_large"]);
    assert!((large - wanted[0]).abs() < 1e-11, "{large} {wanted:?}");
    let iris = crate::support::regression("iris");
    let points = iris.row_major();
    compare(&file["iris"], "silhouette_score", &[clusters::silhouette_score(&points, 4, &iris.y)], "iris");
    compare(
        &file["iris"],
        "calinski_harabasz_score",
        &[clusters::calinski_harabasz_score(&points, 4, &iris.y)],
        "iris",
    );
    compare(&file["iris"], "davies_bouldin_score", &[clusters::davies_bouldin_score(&points, 4, &iris.y)], "iris");
}

#[test]
fn undefined_scores_are_nan_and_nothing_panics() {
    let none: [f64; 0] = [];
    assert!(accuracy(&none, &none, None).is_nan() && regression::r2(&[2.0, 2.0], &[1.0, 2.0], None).is_nan());
    assert!(Confusion::new(&[0.0, 0.0], &[0.0, 0.0], None, 2).precision(Average::Binary).is_nan());
    assert!(ranking::roc_auc(&[true, true], &[0.1, 0.2], None).is_nan());
    assert!(clusters::silhouette_score(&[1.0, 2.0], 1, &[0.0, 0.0]).is_nan());
    // -0 and 0 are one label.
    assert_eq!(clusters::adjusted_rand_score(&[0.0, -0.0, 1.0], &[1.0, 1.0, 0.0]), 1.0);
    let groups = splits(&Splitter::GroupKFold { n_splits: 2 }, 3, None, false, Some(&[0.0, -0.0, 1.0])).unwrap();
    assert!(groups.iter().any(|(_, test)| *test == [0, 1]), "{groups:?}");
    let data = Data::new(vec![Column::number("x", (0..10).map(f64::from).collect())]);
    let labels: Vec<f64> = (0..10).map(|i| f64::from(i / 5)).collect();
    assert!(cluster_score("silhouette", &data, &labels, &Run::silent()).unwrap() > 0.5);
    let stopped = Run { is_stopped: &|| true, ..Run::silent() };
    assert!(cluster_score("silhouette", &data, &labels, &stopped).unwrap_err().is_stopped());
    assert!(regression::weighted_quantile(&none, None, 0.5).is_nan());
    assert!(regression::median_absolute_error(&[1.0], &[2.0], Some(&[0.0])).is_nan());
    assert!(
        RocCurve::new(&[], &none, None, true).area().is_nan() || RocCurve::new(&[], &none, None, true).area() == 0.0
    );
    assert_eq!(PrecisionRecallCurve::new(&[], &none, None).thresholds, none);
    let error = regression::mean_squared_log_error(&[-2.0], &[1.0], None).unwrap_err();
    assert_eq!(error.message, "the squared log error takes values above -1, and the target has -2");
    let error = regression::mean_tweedie_deviance(&[1.0], &[0.0], None, 1.0).unwrap_err();
    assert_eq!(error.message, "the Tweedie deviance of power 1 takes predictions above 0, and the prediction has 0");
}
