//! XGBoost's own files, UBJSON and JSON, as models and back. The library is not needed.

use std::sync::OnceLock;

use onrush_wire::learn::Spec;

use super::{Task, XgbModel};
use crate::data::Kind;
use crate::error::{Error, ErrorKind};
use crate::foreign::document::{Document, is_ubj};
use crate::foreign::forest::XgbForest;
use crate::foreign::packed;
use crate::model::{Field, Model};
use crate::tensor::Tensor;

/// Features that are named `f0` and so on, if the file has no names.
const NAMELESS: usize = 1 << 20;

/// Whether these bytes look like a file of XGBoost.
pub fn is_file(bytes: &[u8]) -> bool {
    is_ubj(bytes) || bytes.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'{')
}

/// The model of a file, and what it was trained on as far as the file says.
pub struct FileModel {
    pub spec: Spec,
    pub features: Vec<Field>,
    pub classes: Vec<String>,
    pub model: XgbModel,
}

/// The model of XGBoost's file. Classes have the names `0`, `1` and so on, because the file has none.
///
/// # Errors
/// If the bytes are no model of XGBoost, are cut off, contradict themselves, or hold a model of several targets.
pub fn read(bytes: &[u8]) -> Result<FileModel, Error> {
    let broken = |why: String| Error::new(ErrorKind::ModelFile, format!("this is not a model of XGBoost: {why}"));
    let document = Document::read(bytes).map_err(broken)?;
    let forest = XgbForest::read(&document).map_err(broken)?;
    let (features, numeric_categories) = features(&document, &forest).map_err(broken)?;
    let (estimator, task) = estimator(&document, &forest);
    let attribute = |name: &str| document.at("learner.attributes").and_then(|a| a.get(name)).and_then(Document::str);
    let best = attribute("best_iteration").and_then(|round| round.parse::<u32>().ok());
    let best = best.zip(attribute("best_score").and_then(|score| score.parse::<f64>().ok()));
    let rounds = match forest.rounds() {
        // A linear model has its weights only.
        0 => document.at("learner.gradient_booster.model.boosted_rounds").and_then(Document::int).unwrap_or(0),
        rounds => rounds as i64,
    };
    let classes = match task {
        Task::Value => 0,
        Task::Binary => 2,
        Task::Classes => forest.outputs,
    };
    let mut spec = Spec::new(estimator);
    spec.set("objective", forest.objective.as_str());
    let model = XgbModel {
        file: packed::numbers(bytes),
        file_len: bytes.len(),
        task,
        outputs: forest.outputs,
        rounds: usize::try_from(rounds).unwrap_or(0),
        best: Tensor::vector(best.map_or(Vec::new(), |(round, score)| vec![f64::from(round), score])),
        sets: Vec::new(),
        metrics: Vec::new(),
        scores: Tensor::vector(Vec::new()),
        importances: Tensor::vector(gains(&document, features.len())),
        numeric_categories,
        known: Tensor::vector(Vec::new()),
        notes: Vec::new(),
        booster: None,
        forest: OnceLock::from(forest),
    };
    model.check(features.len(), classes).map_err(|e| broken(e.message))?;
    Ok(FileModel { spec, features, classes: (0..classes).map(|class| class.to_string()).collect(), model })
}

/// A model as XGBoost's file: UBJSON, or JSON if `json`.
///
/// # Errors
/// If the bytes of the model cannot be read.
pub fn write(model: &XgbModel, json: bool) -> Result<Vec<u8>, Error> {
    let bytes = model.bytes_of_file();
    if is_ubj(&bytes) != json {
        return Ok(bytes);
    }
    let document = Document::read(&bytes).map_err(|why| Error::new(ErrorKind::ModelFile, why))?;
    Ok(if json { document.to_json().into_bytes() } else { document.to_ubj() })
}

fn estimator(document: &Document, forest: &XgbForest) -> (&'static str, Task) {
    let kind = document.at("learner.attributes.scikit_learn").and_then(Document::str).unwrap_or_default();
    match forest.objective.as_str() {
        "multi:softmax" | "multi:softprob" => ("XGBClassifier", Task::Classes),
        "binary:logistic" | "binary:logitraw" | "binary:hinge" if !kind.contains("regressor") => {
            ("XGBClassifier", Task::Binary)
        }
        objective if objective.starts_with("rank:") => ("XGBRanker", Task::Value),
        _ => ("XGBRegressor", Task::Value),
    }
}

/// Names and kinds of the features, and the categories that are numbers.
fn features(document: &Document, forest: &XgbForest) -> Result<(Vec<Field>, Vec<(usize, Tensor)>), String> {
    let strings = |path: &str| -> Vec<String> {
        let list = document.at(path).and_then(Document::list).unwrap_or_default();
        list.iter().filter_map(|name| name.str().map(str::to_string)).collect()
    };
    let mut names = strings("learner.feature_names");
    if names.is_empty() {
        if forest.features > NAMELESS {
            return Err(format!("it has {} features without names, and {NAMELESS} are the most", forest.features));
        }
        names = (0..forest.features).map(|j| format!("f{j}")).collect();
    }
    if names.len() != forest.features {
        return Err(format!("it has {} names for {} features", names.len(), forest.features));
    }
    let types = strings("learner.feature_types");
    let model = document.at("learner.gradient_booster");
    let model = model.and_then(|m| m.at("model.cats.enc").or_else(|| m.at("gbtree.model.cats.enc")));
    let encoded = model.and_then(Document::list).unwrap_or_default();
    let mut numeric = Vec::new();
    let mut fields = Vec::new();
    for (j, name) in names.into_iter().enumerate() {
        let mut kind = Kind::Number;
        if let (Some("c"), Some(entry)) = (types.get(j).map(String::as_str), encoded.get(j)) {
            if entry.get("offsets").is_some() {
                let names = category_names(entry).ok_or_else(|| format!("the categories of `{name}` are broken"))?;
                if !names.is_empty() {
                    kind = Kind::Category(names);
                }
            } else if let Some(values) = entry.get("values").and_then(Document::floats) {
                numeric.push((j, Tensor::vector(values.into_iter().map(f64::from).collect())));
            }
        }
        fields.push(Field { name, kind });
    }
    Ok((fields, numeric))
}

/// Strings from their concatenation.
fn category_names(entry: &Document) -> Option<Vec<String>> {
    let offsets = entry.get("offsets").and_then(Document::ints)?;
    let bytes: Vec<u8> = entry.get("values").and_then(Document::ints)?.into_iter().map(|b| b as u8).collect();
    let name = |pair: &[i64]| {
        let range = usize::try_from(pair[0]).ok()?..usize::try_from(pair[1]).ok()?;
        Some(String::from_utf8_lossy(bytes.get(range)?).into_owned())
    };
    // Ranges that overlap would make more text than the file has.
    match offsets.windows(2).all(|pair| pair[0] <= pair[1]) {
        true => offsets.windows(2).map(name).collect(),
        false => None,
    }
}

/// The mean gain of each feature's splits as a share, as `feature_importances_` of the Python package. Empty for a
/// linear model.
fn gains(document: &Document, features: usize) -> Vec<f64> {
    let model = document.at("learner.gradient_booster");
    let trees = model.and_then(|m| m.at("model.trees").or_else(|| m.at("gbtree.model.trees")));
    let Some(trees) = trees.and_then(Document::list) else { return Vec::new() };
    let (mut sums, mut counts) = (vec![0.0f32; features], vec![0u32; features]);
    for tree in trees {
        let arrays =
            (tree.get("left_children").and_then(Document::ints), tree.get("split_indices").and_then(Document::ints));
        let (Some(left), Some(feature)) = arrays else { return Vec::new() };
        let Some(gain) = tree.get("loss_changes").and_then(Document::floats) else { return Vec::new() };
        for ((left, feature), gain) in left.iter().zip(&feature).zip(&gain) {
            if let (true, Some(at)) = (*left != -1, usize::try_from(*feature).ok().filter(|at| *at < features)) {
                sums[at] += gain;
                counts[at] += 1;
            }
        }
    }
    let means: Vec<f32> =
        sums.iter().zip(&counts).map(|(sum, n)| if *n == 0 { 0.0 } else { sum / *n as f32 }).collect();
    let sum: f32 = means.iter().sum();
    means.iter().map(|v| f64::from(if sum == 0.0 { *v } else { v / sum })).collect()
}
