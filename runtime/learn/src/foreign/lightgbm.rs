//! LightGBM: trained by its own library in a process of Python, and predicted by its model text.
//!
//! Ke, Meng, Finley, Wang, Chen, Ma, Ye and Liu 2017, "LightGBM: A Highly Efficient Gradient Boosting Decision Tree".

pub mod text;

use std::collections::HashSet;
use std::sync::OnceLock;

use onrush_wire::learn::{Param, Spec};
use serde_json::{Value, json};

pub use self::text::LightgbmForest;
use super::library::{LibraryForest, LibraryModel, LibraryTraining, params, value_of};
use super::packed;
use super::worker::Library;
use crate::check::nearest;
use crate::data::{Column, Data, Kind};
use crate::error::{Error, ErrorKind};
use crate::model::{Field, Model};
use crate::run::Run;
use crate::tensor::Tensor;
use crate::weights;

/// Parameters of the table that do not go to the library as they are.
const HANDLED: [&str; 8] = [
    "categorical_feature",
    "objective",
    "class_weight",
    "n_estimators",
    "importance_type",
    "eval_metric",
    "early_stopping_rounds",
    "eval_at",
];
/// The library's other names of parameters, and their methods. Empty: it cannot be chosen.
const ALIASES: [(&str, &str); 37] = [
    ("application", "objective"),
    ("loss", "objective"),
    ("boosting", "boosting_type"),
    ("boost", "boosting_type"),
    ("num_iterations", "n_estimators"),
    ("num_iteration", "n_estimators"),
    ("num_boost_round", "n_estimators"),
    ("num_trees", "n_estimators"),
    ("num_round", "n_estimators"),
    ("num_rounds", "n_estimators"),
    ("shrinkage_rate", "learning_rate"),
    ("eta", "learning_rate"),
    ("num_leaf", "num_leaves"),
    ("max_leaves", "num_leaves"),
    ("min_data_in_leaf", "min_child_samples"),
    ("min_data", "min_child_samples"),
    ("min_sum_hessian_in_leaf", "min_child_weight"),
    ("min_gain_to_split", "min_split_gain"),
    ("bagging_fraction", "subsample"),
    ("bagging", "subsample"),
    ("bagging_freq", "subsample_freq"),
    ("feature_fraction", "colsample_bytree"),
    ("lambda_l1", "reg_alpha"),
    ("l1_regularization", "reg_alpha"),
    ("lambda_l2", "reg_lambda"),
    ("lambda", "reg_lambda"),
    ("bin_construct_sample_cnt", "subsample_for_bin"),
    ("seed", "random_state"),
    ("random_seed", "random_state"),
    ("metric", "eval_metric"),
    ("early_stopping_round", "early_stopping_rounds"),
    ("num_class", ""),
    ("num_classes", ""),
    ("num_threads", ""),
    ("n_jobs", ""),
    ("linear_tree", ""),
    ("linear_trees", ""),
];
const REGRESSION: [&str; 14] = [
    "regression",
    "regression_l1",
    "huber",
    "fair",
    "poisson",
    "quantile",
    "mape",
    "gamma",
    "tweedie",
    "cross_entropy",
    "cross_entropy_lambda",
    "l2",
    "l1",
    "rmse",
];

/// Trains `LGBMClassifier`, `LGBMRegressor` or `LGBMRanker`. NaN is missing. Categories are split as sets.
///
/// # Errors
/// If the library is missing or refuses the training. If a parameter or the data are not what it takes. If the user
/// stops the training.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<LibraryModel, Error> {
    let (kind, default) = match (spec.estimator.as_str(), data.classes.len()) {
        ("LGBMClassifier", 0..=2) => ("classifier", "binary"),
        ("LGBMClassifier", _) => ("classifier", "multiclass"),
        ("LGBMRanker", _) => ("ranker", "lambdarank"),
        _ => ("regressor", "regression"),
    };
    let mut params = params(spec, &HANDLED, &ALIASES)?;
    let objective = objective(spec, default, data)?;
    params.insert("objective".to_string(), json!(objective));
    if data.classes.len() > 2 {
        params.insert("num_class".to_string(), json!(data.classes.len()));
    }
    if kind == "ranker" {
        let places = spec.param("eval_at");
        let places = if places == Param::None { json!([1, 2, 3, 4, 5]) } else { value_of(&places) };
        params.insert("eval_at".to_string(), places);
    }
    params.insert("metric".to_string(), metrics(&spec.param("eval_metric"), &objective, data.classes.len())?);
    if let Param::Int(rounds) = spec.param("early_stopping_rounds") {
        params.insert("early_stopping_round".to_string(), json!(rounds));
    }
    // The same bits in every training.
    params.entry("deterministic").or_insert(json!(true));
    if !params.contains_key("force_col_wise") {
        params.entry("force_row_wise").or_insert(json!(true));
    }
    params.insert("num_threads".to_string(), json!(rayon::current_num_threads()));
    let weight = weights::of_rows(&spec.param("class_weight"), data)?;
    let rounds = match spec.param("n_estimators") {
        Param::Int(rounds) => usize::try_from(rounds).unwrap_or(1),
        _ => 1,
    };
    let importance = spec.param("importance_type").to_string();
    let training = LibraryTraining {
        library: Library::Lightgbm,
        kind,
        params,
        rounds,
        importance: &importance,
        names: plain_names(&data.features),
        named_categories: false,
    };
    match weight == data.weight {
        true => training.run(spec, data, run),
        false => training.run(spec, &Data { weight, ..data.clone() }, run),
    }
}

/// The objective: that of the specification, made to fit the number of classes, as the Python package does.
fn objective(spec: &Spec, default: &str, data: &Data) -> Result<String, Error> {
    let chosen = match spec.param("objective") {
        Param::Str(chosen) => chosen,
        _ => default.to_string(),
    };
    let allowed: &[&str] = match (spec.estimator.as_str(), data.classes.len()) {
        ("LGBMClassifier", 0..=2) => &["binary", "cross_entropy"],
        ("LGBMClassifier", _) => &["multiclass", "multiclassova"],
        ("LGBMRanker", _) => &["lambdarank", "rank_xendcg"],
        _ => &REGRESSION,
    };
    if data.classes.len() > 2 && matches!(chosen.as_str(), "binary" | "cross_entropy") {
        return Ok(default.to_string());
    }
    if allowed.contains(&chosen.as_str()) {
        return Ok(chosen);
    }
    let error = Error::new(ErrorKind::Parameter, format!("`objective` is {chosen:?}: one of {}", allowed.join(", ")));
    Err(match nearest(&chosen, allowed) {
        Some(near) => error.help(format!("did you mean {near:?}?")),
        None => error,
    })
}

/// The metrics of the user, then the objective's, as the Python package has them.
fn metrics(given: &Param, objective: &str, classes: usize) -> Result<Value, Error> {
    let mut metrics: Vec<String> = Vec::new();
    let wrong = || {
        let message = format!("`eval_metric` is {given}: expected a name such as \"auc\", or a list of names");
        Error::new(ErrorKind::Parameter, message)
    };
    match given {
        Param::None => {}
        Param::Str(metric) => metrics.push(metric.clone()),
        Param::List(list) => {
            for metric in list {
                match metric {
                    Param::Str(metric) => metrics.push(metric.clone()),
                    _ => return Err(wrong()),
                }
            }
        }
        _ => return Err(wrong()),
    }
    for metric in &mut metrics {
        let fitting = match (metric.as_str(), classes) {
            ("logloss" | "binary_logloss", 3..) => "multi_logloss",
            ("error" | "binary_error", 3..) => "multi_error",
            ("logloss" | "multi_logloss", 2) => "binary_logloss",
            ("error" | "multi_error", 2) => "binary_error",
            _ => continue,
        };
        *metric = fitting.to_string();
    }
    metrics.retain(|metric| metric != objective);
    metrics.push(objective.to_string());
    Ok(json!(metrics))
}

/// Names as the library takes them: without white space and characters of JSON, no two equal.
fn plain_names(features: &[Column]) -> Vec<String> {
    let mut taken = HashSet::new();
    let is_strange = |c: char| c.is_whitespace() || c.is_control() || "\"[]{},:=".contains(c);
    let plain = |column: &Column| {
        let base: String = column.name.chars().map(|c| if is_strange(c) { '_' } else { c }).collect();
        let base = if base.is_empty() { "_".to_string() } else { base };
        let mut name = base.clone();
        let mut number = 1;
        while !taken.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    };
    features.iter().map(plain).collect()
}

/// The text with the names of the categories in the line that the Python package reads.
pub fn with_categories(bytes: Vec<u8>, features: &[Column]) -> Vec<u8> {
    let levels: Vec<&[String]> = features.iter().filter_map(Column::categories).collect();
    let line = format!("\n{}null", text::PANDAS);
    let ends = String::from_utf8_lossy(&bytes).trim_end().ends_with(&line);
    if levels.is_empty() || !ends {
        return bytes;
    }
    let mut out = String::from_utf8_lossy(&bytes).trim_end().trim_end_matches("null").to_string();
    out.push_str(&json!(levels).to_string());
    out.push('\n');
    out.into_bytes()
}

/// Whether these bytes look like a model text of LightGBM.
pub fn is_file(bytes: &[u8]) -> bool {
    bytes.starts_with(b"tree\n") || bytes.starts_with(b"tree\r\n")
}

/// The model of a text, and what it was trained on as far as the text says. Classes have the names `0`, `1` and so on,
/// because the text has none.
///
/// # Errors
/// If the text is not a model, is cut off or contradicts itself.
pub fn read(bytes: &[u8]) -> Result<(Spec, Vec<Field>, Vec<String>, LibraryModel), Error> {
    let broken = |why: String| Error::new(ErrorKind::ModelFile, format!("this is not a model of LightGBM: {why}"));
    let forest = LightgbmForest::read(bytes).map_err(broken)?;
    let name = forest.objective.split_ascii_whitespace().next().unwrap_or_default().to_string();
    let (estimator, classes) = match name.as_str() {
        "binary" => ("LGBMClassifier", 2),
        "multiclass" | "multiclassova" if forest.outputs > 1 => ("LGBMClassifier", forest.outputs),
        "lambdarank" | "rank_xendcg" => ("LGBMRanker", 0),
        _ => ("LGBMRegressor", 0),
    };
    let mut spec = Spec::new(estimator);
    if !name.is_empty() {
        spec.set("objective", name.as_str());
    }
    let model = LibraryModel {
        library: Library::Lightgbm,
        file: packed::numbers(bytes),
        file_len: bytes.len(),
        classes,
        rounds: forest.rounds(),
        best: Tensor::vector(Vec::new()),
        best_sets: Vec::new(),
        best_metrics: Vec::new(),
        best_scores: Tensor::vector(Vec::new()),
        sets: Vec::new(),
        metrics: Vec::new(),
        scores: Tensor::vector(Vec::new()),
        importances: Tensor::vector(forest.splits.clone()),
        notes: Vec::new(),
        forest: OnceLock::new(),
    };
    let features = fields(&forest);
    model.forest.get_or_init(|| LibraryForest::Lightgbm(forest));
    model.check(features.len(), classes).map_err(|e| broken(e.message))?;
    Ok((spec, features, (0..classes).map(|class| class.to_string()).collect(), model))
}

/// Names and kinds of the features. Categories are numbers if their names are unknown.
fn fields(forest: &LightgbmForest) -> Vec<Field> {
    let named = forest.categorical.iter().filter(|is| **is).count() == forest.levels.len();
    let mut levels = forest.levels.iter();
    let field = |(name, is_category): (&String, &bool)| {
        let names = if *is_category && named { levels.next().filter(|names| !names.is_empty()) } else { None };
        Field { name: name.clone(), kind: names.map_or(Kind::Number, |names| Kind::Category(names.clone())) }
    };
    forest.names.iter().zip(&forest.categorical).map(field).collect()
}
