//! CatBoost: trained by its own library in a process of Python, and predicted by its JSON.
//!
//! Prokhorenkova, Gusev, Vorobev, Dorogush and Gulin 2018, "CatBoost: unbiased boosting with categorical features".

mod counters;
mod json;

use std::sync::OnceLock;

use onrush_wire::learn::{Param, Spec};
use serde_json::json;

pub use self::json::CatboostForest;
use super::library::{LibraryForest, LibraryModel, LibraryTraining, params};
use super::packed;
use super::worker::Library;
use crate::data::Data;
use crate::error::{Error, ErrorKind};
use crate::model::{Field, Model};
use crate::run::Run;
use crate::tensor::Tensor;

/// The library's other names of parameters, and their methods. Empty: it cannot be chosen.
const ALIASES: [(&str, &str); 30] = [
    ("n_estimators", "iterations"),
    ("num_boost_round", "iterations"),
    ("num_trees", "iterations"),
    ("eta", "learning_rate"),
    ("max_depth", "depth"),
    ("reg_lambda", "l2_leaf_reg"),
    ("objective", "loss_function"),
    ("max_bin", "border_count"),
    ("min_child_samples", "min_data_in_leaf"),
    ("num_leaves", "max_leaves"),
    ("colsample_bylevel", "rsm"),
    ("random_state", "random_seed"),
    ("od_wait", "early_stopping_rounds"),
    ("custom_loss", ""),
    ("custom_metric", ""),
    ("verbose", ""),
    ("verbose_eval", ""),
    ("silent", ""),
    ("logging_level", ""),
    ("metric_period", ""),
    ("allow_writing_files", ""),
    ("train_dir", ""),
    ("save_snapshot", ""),
    ("callback", ""),
    ("thread_count", ""),
    ("text_features", ""),
    ("embedding_features", ""),
    ("ignored_features", ""),
    ("class_names", ""),
    ("classes_count", ""),
];

/// Trains `CatBoostClassifier` or `CatBoostRegressor`. NaN is missing. A missing category is the category `nan`.
///
/// # Errors
/// If the library is missing or refuses the training. If a parameter or the data are not what it takes. If the user
/// stops the training.
pub fn fit(spec: &Spec, data: &Data, run: &Run<'_>) -> Result<LibraryModel, Error> {
    let loss = spec.param("loss_function").to_string();
    let name = loss.split(':').next().unwrap_or_default();
    if data.classes.len() == 2 && matches!(name, "MultiClass" | "MultiClassOneVsAll") {
        let message = format!("`loss_function` is {name:?}, and the target has two classes");
        return Err(Error::new(ErrorKind::Parameter, message).help("\"Logloss\" is the loss of two classes"));
    }
    if matches!(name, "MultiRMSE" | "MultiQuantile" | "RMSEWithUncertainty" | "MultiLogloss" | "MultiCrossEntropy") {
        let message = format!("`loss_function` is {name:?}, which predicts several values");
        return Err(Error::new(ErrorKind::Parameter, message).help("a model predicts one target"));
    }
    let mut params = params(spec, &["cat_features"], &ALIASES)?;
    params.insert("thread_count".to_string(), json!(rayon::current_num_threads()));
    let rounds = match spec.param("iterations") {
        Param::Int(rounds) => usize::try_from(rounds).unwrap_or(1),
        _ => 1,
    };
    let training = LibraryTraining {
        library: Library::Catboost,
        kind: if data.classes.is_empty() { "regressor" } else { "classifier" },
        params,
        rounds,
        importance: "",
        names: data.names(),
        named_categories: true,
    };
    training.run(spec, data, run)
}

/// Whether these bytes look like a model of CatBoost as JSON.
pub fn is_file(bytes: &[u8]) -> bool {
    let name = b"\"features_info\"";
    bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
        && bytes.windows(name.len()).any(|window| window == name)
}

/// The model of a file, and what it was trained on as far as the file says. Classes have the names `0`, `1` and so on.
/// Each categorical feature has the categories of all.
///
/// # Errors
/// If the bytes are not a CatBoost model, are cut off, contradict themselves, or hold an unsupported model.
pub fn read(bytes: &[u8]) -> Result<(Spec, Vec<Field>, Vec<String>, LibraryModel), Error> {
    let broken = |why: String| Error::new(ErrorKind::ModelFile, format!("this is not a model of CatBoost: {why}"));
    let forest = CatboostForest::read(bytes).map_err(broken)?;
    let classes = forest.classes();
    let mut spec = Spec::new(if classes > 0 { "CatBoostClassifier" } else { "CatBoostRegressor" });
    if !forest.loss.is_empty() {
        spec.set("loss_function", forest.loss.as_str());
    }
    let model = LibraryModel {
        library: Library::Catboost,
        file: packed::numbers(bytes),
        file_len: bytes.len(),
        classes,
        rounds: forest.trees(),
        best: Tensor::vector(Vec::new()),
        best_sets: Vec::new(),
        best_metrics: Vec::new(),
        best_scores: Tensor::vector(Vec::new()),
        sets: Vec::new(),
        metrics: Vec::new(),
        scores: Tensor::vector(Vec::new()),
        importances: Tensor::vector(Vec::new()),
        notes: Vec::new(),
        forest: OnceLock::new(),
    };
    let fields = forest.fields().map_err(broken)?;
    model.forest.get_or_init(|| LibraryForest::Catboost(forest));
    model.check(fields.len(), classes).map_err(|e| broken(e.message))?;
    Ok((spec, fields, (0..classes).map(|class| class.to_string()).collect(), model))
}
