//! Columns of fitted models in expressions: their features found by name, and a function of DataFusion that calls the
//! model.
//!
//! An expression names a model by its key. The engine that trained or loaded it has registered what it can do
//! ([`register`]).

mod linear_formula;

use std::any::Any;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock, OnceLock, Weak};

use arrow::array::{ArrayRef, AsArray, StructArray};
use arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_wire::{Diagnostic, Span};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::{Lower, TypedExpr};
use crate::diagnostics::{self, type_name};
use crate::error::{external, internal};
use crate::type_coercion;

/// A column that a model is given.
#[derive(Clone, Debug)]
pub struct Input {
    /// The name of the feature.
    pub name: String,
    /// How it is computed from the columns of a frame: mostly a column of that name.
    pub expr: onrush_wire::Expr,
    /// Holds strings, not numbers.
    pub is_string: bool,
}

/// A fitted model as expressions use it.
pub trait Predictor: Send + Sync + std::fmt::Debug {
    /// Equal for models that give the same results.
    fn key(&self) -> u128;

    /// The columns that it takes, in order.
    fn inputs(&self) -> &[Input];

    /// The columns that it makes, in order.
    fn outputs(&self) -> &[FieldRef];

    /// The outputs as functions of linear scores, if they are: a query then needs no call.
    fn linear(&self) -> Option<LinearForm> {
        None
    }

    /// All columns that it makes, for `rows` rows.
    ///
    /// # Errors
    /// If a value cannot be used, such as a null or a category that was not seen in training.
    fn predict(&self, columns: &[ArrayRef], rows: usize) -> std::result::Result<Vec<ArrayRef>, Diagnostic>;

    /// The bytes of the model's file, of which another process makes it again ([`set_loader`]).
    ///
    /// # Errors
    /// If the model cannot be written.
    fn file(&self) -> std::result::Result<Vec<u8>, Diagnostic> {
        let message = "predictions of this model cannot run on the workers of a cluster";
        Err(diagnostics::plan_error("not-supported", message).help("collect the rows first, and predict them then"))
    }
}

/// Makes a model of the bytes of its file.
pub type Loader = fn(&[u8]) -> std::result::Result<Arc<dyn Predictor>, Diagnostic>;

static LOADER: OnceLock<Loader> = OnceLock::new();

/// Sets how models that come from another process are made. The first loader of a process stays.
pub fn set_loader(loader: Loader) {
    let _ = LOADER.set(loader);
}

/// Models from other processes by hashes of their files, as long as they live. Their keys could be those of other
/// models: a process may get models of several sessions.
static LOADED: LazyLock<Mutex<HashMap<[u64; 2], Weak<dyn Predictor>>>> = LazyLock::new(Mutex::default);

fn loaded(file: &[u8]) -> std::result::Result<Arc<dyn Predictor>, Diagnostic> {
    let load = LOADER.get().ok_or_else(|| internal("this process has no loader of models"))?;
    let half = |seed: u8| {
        let mut hasher = DefaultHasher::new();
        (seed, file).hash(&mut hasher);
        hasher.finish()
    };
    let hash = [half(0), half(1)];
    // The parts of a plan come at the same time. One of them loads the model, and the others wait.
    let mut models = LOADED.lock();
    if let Some(model) = models.get(&hash).and_then(Weak::upgrade) {
        return Ok(model);
    }
    let model = load(file)?;
    models.retain(|_, other| other.strong_count() > 0);
    models.insert(hash, Arc::downgrade(&model));
    Ok(model)
}

/// Outputs that follow from linear scores of the features, which are numbers without nulls.
#[derive(Clone, Debug)]
pub struct LinearForm {
    /// scores x features.
    pub coef: Vec<Vec<f64>>,
    /// For each score.
    pub intercept: Vec<f64>,
    /// The value that is subtracted from each feature.
    pub shift: Vec<f64>,
    pub link: LinearLink,
}

/// How outputs follow from scores. The class is the first output, probabilities follow it.
#[derive(Clone, Debug)]
pub enum LinearLink {
    /// The outputs are the scores.
    Identity,
    /// Two classes: the second one if the only score is above 0.
    Logistic(Vec<ScalarValue>),
    /// The class of the highest score.
    Softmax(Vec<ScalarValue>),
}

/// Models by key, as long as they live.
static KNOWN: LazyLock<Mutex<HashMap<u128, Weak<dyn Predictor>>>> = LazyLock::new(Mutex::default);

/// Makes a model known to expressions for as long as it lives.
pub fn register(predictor: &Arc<dyn Predictor>) {
    let mut known = KNOWN.lock();
    known.retain(|_, other| other.strong_count() > 0);
    known.insert(predictor.key(), Arc::downgrade(predictor));
}

fn known(key: u128) -> Option<Arc<dyn Predictor>> {
    KNOWN.lock().get(&key)?.upgrade()
}

/// A column of a model over the columns of a frame.
pub fn output(
    lower: &mut Lower,
    wanted: &onrush_wire::ModelOutput,
    span: Option<&Span>,
) -> std::result::Result<TypedExpr, Diagnostic> {
    let model = known(wanted.key).ok_or_else(|| {
        let error = diagnostics::plan_error("unknown-model", "the session has no such model any more");
        lower.fail(error.help("run the cell again that trains or loads it"), span, "")
    })?;
    let names = || model.outputs().iter().map(|field| field.name().as_str());
    let Some(position) = names().position(|name| name == wanted.output) else {
        let list: Vec<&str> = names().take(10).collect();
        let error = diagnostics::plan_error("unknown-output", format!("the model makes no column `{}`", wanted.output));
        let error = match diagnostics::nearest(&wanted.output, names()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        };
        return Err(lower.fail(error.note(format!("its columns: {}", list.join(", "))), span, ""));
    };
    let mut values = Vec::new();
    for input in model.inputs() {
        values.push(value(lower, model.as_ref(), input, span)?);
    }
    let dtype = model.outputs()[position].data_type().clone();
    let several = model.outputs().len() > 1;
    let call = ScalarUDF::new_from_impl(ModelCall::new(model)).call(values);
    let column = || ScalarUDF::new_from_impl(Output::new(position));
    let expr = if several { column().call(vec![call]) } else { call };
    Ok(TypedExpr { expr, dtype, name: wanted.output.clone(), span: span.cloned(), literal: None })
}

/// A feature, as the model takes it.
fn value(
    lower: &mut Lower,
    model: &dyn Predictor,
    input: &Input,
    span: Option<&Span>,
) -> std::result::Result<datafusion::logical_expr::Expr, Diagnostic> {
    let found = lower.expr(&input.expr).map_err(|error| {
        if error.code != "unknown-column" {
            return error;
        }
        let list: Vec<&str> = model.inputs().iter().map(|i| i.name.as_str()).collect();
        let message = format!("{}, which the model needs", error.message);
        let error = diagnostics::plan_error("unknown-column", message);
        lower.fail(error.note(format!("the model was trained on {}", list.join(", "))), span, "")
    })?;
    let is_string = type_coercion::is_string(&found.dtype);
    let fits = is_string == input.is_string && (is_string || type_coercion::is_feature(&found.dtype))
        || found.dtype == DataType::Null;
    if !fits {
        let wanted = if input.is_string { "strings" } else { "numbers" };
        let message =
            format!("`{}` is `{}`, but the model was trained on {wanted}", input.name, type_name(&found.dtype));
        return Err(lower.fail(diagnostics::plan_error("type-mismatch", message), span, ""));
    }
    // A column without a type has nulls of either kind.
    Ok(match (is_string, input.is_string) {
        (true, _) => found.expr,
        (false, true) => found.text(),
        (false, false) => found.f64(),
    })
}

/// The model and the features of a call, and which output is wanted; `None` if a function does not call a model.
fn called(function: &ScalarFunctionExpr) -> Option<(&Arc<dyn Predictor>, &[Arc<dyn PhysicalExpr>], usize)> {
    let inner: &dyn Any = function.fun().inner().as_ref();
    if let Some(call) = inner.downcast_ref::<ModelCall>() {
        return (call.model.outputs().len() == 1).then(|| (&call.model, function.args(), 0));
    }
    let position = inner.downcast_ref::<Output>()?.position;
    let [argument] = function.args() else { return None };
    let argument = (argument.as_ref() as &dyn Any).downcast_ref::<ScalarFunctionExpr>()?;
    let inner: &dyn Any = argument.fun().inner().as_ref();
    let call = inner.downcast_ref::<ModelCall>()?;
    Some((&call.model, argument.args(), position))
}

/// A column of a linear model as an expression of its features. A row whose score is null or not finite is a division
/// by zero. A call of the model then reports the reason.
pub fn formula(function: &ScalarFunctionExpr) -> Option<Arc<dyn PhysicalExpr>> {
    let (model, features, position) = called(function)?;
    let form = model.linear()?;
    let size = form.coef.len() * features.len();
    if size > MOST_TERMS
        || form.shift.len() != features.len()
        || form.coef.iter().any(|coef| coef.len() != features.len())
    {
        return None;
    }
    linear_formula::output(&form, features, position)
}

/// Products of coefficients and features that become an expression at most.
const MOST_TERMS: usize = 1024;

/// Outputs have names that a user chose, with any characters: fields of the struct are named by position.
fn position_name(position: usize) -> String {
    format!("c{position}")
}

/// The model as DataFusion knows it: a function of its features. Several outputs come as a struct.
#[derive(Debug)]
pub struct ModelCall {
    model: Arc<dyn Predictor>,
    signature: Signature,
    name: String,
}

impl ModelCall {
    fn new(model: Arc<dyn Predictor>) -> ModelCall {
        let name = format!("model_{:032x}", model.key());
        ModelCall { model, name, signature: Signature::variadic_any(Volatility::Immutable) }
    }

    fn fields(&self) -> Fields {
        let renamed = self.model.outputs().iter().enumerate();
        renamed.map(|(i, field)| field.as_ref().clone().with_name(position_name(i))).collect()
    }
}

/// One of the outputs of a model. It is not `get_field`: DataFusion moves that towards files, and would call the model
/// once for each output.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Output {
    position: usize,
    name: String,
    signature: Signature,
}

impl Output {
    fn new(position: usize) -> Output {
        let name = format!("model_output_{position}");
        Output { position, name, signature: Signature::any(1, Volatility::Immutable) }
    }
}

/// A function of this module as data.
#[derive(Serialize, Deserialize)]
pub(crate) enum ModelForm {
    /// A call of the model of these bytes.
    Call {
        file: Vec<u8>,
    },
    Output {
        position: usize,
    },
}

impl ModelForm {
    /// The form of a function of this module. `None` for any other function.
    ///
    /// # Errors
    /// If the model has no file.
    pub(crate) fn of(function: &ScalarUDF) -> Result<Option<ModelForm>> {
        let inner: &dyn Any = function.inner().as_ref();
        if let Some(output) = inner.downcast_ref::<Output>() {
            return Ok(Some(ModelForm::Output { position: output.position }));
        }
        let Some(call) = inner.downcast_ref::<ModelCall>() else { return Ok(None) };
        let file = call.model.file().map_err(external)?;
        Ok(Some(ModelForm::Call { file }))
    }

    /// # Errors
    /// If this process cannot make the model.
    pub(crate) fn into_function(self) -> Result<Arc<ScalarUDF>> {
        Ok(Arc::new(match self {
            ModelForm::Call { file } => ScalarUDF::new_from_impl(ModelCall::new(loaded(&file).map_err(external)?)),
            ModelForm::Output { position } => ScalarUDF::new_from_impl(Output::new(position)),
        }))
    }
}

impl ScalarUDFImpl for Output {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        match args {
            [DataType::Struct(fields)] if self.position < fields.len() => Ok(fields[self.position].data_type().clone()),
            _ => Err(DataFusionError::Internal("a model has no such output".to_string())),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = matches!(args.args[0], ColumnarValue::Scalar(_));
        let rows = if scalar { 1 } else { args.number_rows };
        let outputs = args.args[0].to_array(rows)?;
        let column = Arc::clone(outputs.as_struct().column(self.position));
        Ok(match scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&column, 0)?),
            false => ColumnarValue::Array(column),
        })
    }
}

impl PartialEq for ModelCall {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ModelCall {}

impl Hash for ModelCall {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for ModelCall {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.model.outputs() {
            [only] => only.data_type().clone(),
            _ => DataType::Struct(self.fields()),
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let columns = self.model.predict(&arrays, rows).map_err(|e| DataFusionError::External(Box::new(e)))?;
        let result: ArrayRef = match <[ArrayRef; 1]>::try_from(columns) {
            Ok([only]) => only,
            Err(several) => Arc::new(StructArray::try_new(self.fields(), several, None)?),
        };
        Ok(match scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?),
            false => ColumnarValue::Array(result),
        })
    }
}
