//! Models as files: a safetensors container with the arrays, and a JSON description in its metadata under
//! `onrush-model`.

use onrush_wire::learn::Spec;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};

use crate::error::{Error, ErrorKind};
use crate::estimators::{Any, FittedModel};
use crate::foreign::file::{self, FileModel};
use crate::foreign::{Library, catboost, lightgbm};
use crate::model::Field;
use crate::tensor::{self, Tensor};

/// The name and version of the format, in the metadata.
const FORMAT: &str = "onrush-model/1";

/// The model of a file, by its content: a container of Onrush, UBJSON or JSON of XGBoost, JSON of CatBoost, or
/// LightGBM's text. The libraries are not needed. `path_name` is for messages.
///
/// # Errors
/// If the bytes are of another format, are cut off or contradict themselves.
pub fn load(path_name: &str, bytes: &[u8]) -> Result<FittedModel, Error> {
    let named = |error: Error| Error { message: format!("`{path_name}` cannot be loaded: {}", error.message), ..error };
    let ends = |end: &str| path_name.to_ascii_lowercase().ends_with(end);
    if lightgbm::is_file(bytes) {
        let (spec, features, classes, model) = lightgbm::read(bytes).map_err(named)?;
        return Ok(of_file(spec, features, classes, Any::Library(model)));
    }
    if catboost::is_file(bytes) && bytes.get(8) != Some(&b'{') {
        let (spec, features, classes, model) = catboost::read(bytes).map_err(named)?;
        return Ok(of_file(spec, features, classes, Any::Library(model)));
    }
    // A safetensors file begins with the length of its header, eight bytes. A length of 123 reads as `{`.
    if bytes.get(8) == Some(&b'{') || !file::is_file(bytes) {
        if [".pkl", ".pickle", ".joblib"].iter().any(|end| ends(end)) {
            return Err(named(pickle()));
        }
        if bytes.starts_with(b"binf") {
            let message = "it is in XGBoost's old binary format, which newer versions do not read either";
            return Err(named(Error::new(ErrorKind::ModelFile, message))
                .help("load it with the XGBoost that wrote it, and save it as `.ubj` or `.json`"));
        }
        return from_bytes(bytes).map_err(named);
    }
    let FileModel { spec, features, classes, model } = file::read(bytes).map_err(named)?;
    Ok(of_file(spec, features, classes, Any::Foreign(model)))
}

/// A model of another library's file, which does not say more about its training.
fn of_file(spec: Spec, features: Vec<Field>, classes: Vec<String>, model: Any) -> FittedModel {
    let (target, session) = ("target".to_string(), String::new());
    FittedModel { spec, features, sparse: 0, declared: Vec::new(), target, classes, rows: 0, session, model }
}

/// The bytes of a model's file, in the format that the end of its name says: `.safetensors` for every model, `.ubj`
/// and `.json` for models of XGBoost, `.json` for models of CatBoost and `.txt` for models of LightGBM. The libraries
/// read them.
///
/// # Errors
/// If the name has another end, or the model does not go into the format.
pub fn save(fitted: &FittedModel, file_name: &str) -> Result<Vec<u8>, Error> {
    match file_name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase()).as_deref() {
        Some("safetensors") => to_bytes(fitted),
        Some("ubj") => xgboost_file(fitted, false),
        Some("json") => match &fitted.model {
            Any::Library(_) => library_file(fitted, Library::Catboost),
            _ => xgboost_file(fitted, true),
        },
        Some("txt") => library_file(fitted, Library::Lightgbm),
        _ => Err(Error::new(ErrorKind::ModelFile, format!("`{file_name}` has no known extension"))
            .help("`.safetensors` takes every model, `.ubj` and `.json` take models of XGBoost, `.json` of CatBoost, `.txt` of LightGBM")),
    }
}

/// The bytes of XGBoost's own file: UBJSON, or JSON if `json`.
fn xgboost_file(fitted: &FittedModel, json: bool) -> Result<Vec<u8>, Error> {
    match &fitted.model {
        Any::Foreign(model) => file::write(model, json),
        _ => {
            let message = format!("files of XGBoost hold models of XGBoost, and this one is {}", fitted.spec.estimator);
            Err(Error::new(ErrorKind::ModelFile, message).help("save it under a name that ends with `.safetensors`"))
        }
    }
}

/// The bytes of the file of a library that trains in a process of Python.
fn library_file(fitted: &FittedModel, library: Library) -> Result<Vec<u8>, Error> {
    if let Any::Library(model) = &fitted.model
        && let Some(bytes) = model.file_of(library)
    {
        return Ok(bytes);
    }
    let name = library.name();
    let message = format!("files of {name} hold models of {name}, and this one is {}", fitted.spec.estimator);
    Err(Error::new(ErrorKind::ModelFile, message).help("save it under a name that ends with `.safetensors`"))
}

fn pickle() -> Error {
    Error::new(ErrorKind::ModelFile, "this looks like a pickle or a joblib file, which can run code when it is read")
        .help("train the model here, or save an XGBoost model as `.ubj` or `.json` in Python and load that")
}

/// The bytes of a model's file.
///
/// # Errors
/// If the model cannot be written; this is a bug.
pub fn to_bytes(fitted: &FittedModel) -> Result<Vec<u8>, Error> {
    let broken =
        |e: &dyn std::fmt::Display| Error::new(ErrorKind::ModelFile, format!("the model cannot be written: {e}"));
    let (json, arrays) = tensor::collect(|| serde_json::to_string(fitted));
    let json = json.map_err(|e| broken(&e))?;
    let bytes: Vec<Vec<u8>> = arrays.iter().map(|t| t.data.iter().flat_map(|v| v.to_le_bytes()).collect()).collect();
    let mut views = Vec::new();
    for (number, (array, bytes)) in arrays.iter().zip(&bytes).enumerate() {
        let view = TensorView::new(Dtype::F64, array.shape.clone(), bytes).map_err(|e| broken(&e))?;
        views.push((format!("array_{number:05}"), view));
    }
    let bytes = safetensors::serialize(views, None).map_err(|e| broken(&e))?;
    described(&bytes, &json).ok_or_else(|| broken(&"its header has no length"))
}

/// A safetensors file with our metadata in front of its header. The crate takes them in a `HashMap`, so that files of
/// equal models would differ.
fn described(bytes: &[u8], json: &str) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (header, data) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let entries = header.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (format, model) = (quoted(FORMAT), quoted(json));
    let mut header = format!("{{\"__metadata__\":{{\"format\":{format},\"onrush-model\":{model}}}").into_bytes();
    if !entries.is_empty() {
        header.push(b',');
    }
    header.extend_from_slice(entries);
    header.push(b'}');
    // The data are aligned.
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = (header.len() as u64).to_le_bytes();
    Some([&length[..], &header, data].concat())
}

/// The model of a file.
///
/// # Errors
/// If the bytes are no model's file, are cut off or contradict themselves.
pub fn from_bytes(bytes: &[u8]) -> Result<FittedModel, Error> {
    let broken = |why: String| Error::new(ErrorKind::ModelFile, format!("this is not a model file of Onrush: {why}"));
    // A safetensors file begins with the length of its header, eight bytes, whose first can be that of a pickle.
    if bytes.get(8).is_some_and(|byte| *byte != b'{') && (bytes.first() == Some(&0x80) || bytes.starts_with(b"PK")) {
        return Err(pickle());
    }
    let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| broken(e.to_string()))?;
    let entries = metadata.metadata().clone().unwrap_or_default();
    match entries.get("format").map(String::as_str) {
        Some(FORMAT) => {}
        Some(other) => return Err(broken(format!("its format is `{other}`, expected `{FORMAT}`"))),
        None => return Err(broken("it is a safetensors file without a description of a model".to_string())),
    }
    let json = entries.get("onrush-model").ok_or_else(|| broken("the description is missing".to_string()))?;
    let container = SafeTensors::deserialize(bytes).map_err(|e| broken(e.to_string()))?;
    let mut arrays = Vec::new();
    for number in 0..container.len() {
        let view = container.tensor(&format!("array_{number:05}")).map_err(|e| broken(e.to_string()))?;
        if view.dtype() != Dtype::F64 {
            return Err(broken(format!("array {number} has the type {:?}, expected F64", view.dtype())));
        }
        let (chunks, _) = view.data().as_chunks::<8>();
        arrays.push(Tensor::new(view.shape().to_vec(), chunks.iter().map(|b| f64::from_le_bytes(*b)).collect()));
    }
    let fitted: FittedModel =
        tensor::supply(arrays, || serde_json::from_str(json)).map_err(|e| broken(e.to_string()))?;
    fitted.model().check(fitted.features.len(), fitted.classes.len()).map_err(|why| broken(why.message))?;
    Ok(fitted)
}
