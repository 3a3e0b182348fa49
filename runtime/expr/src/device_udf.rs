//! Functions of `%%cuda` cells in expressions: their arguments checked and cast, and a function of DataFusion that
//! calls them.
//!
//! How they run is in `runtime/gpu`: batch by batch behind [`UdfRunner`], and within fragments.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_wire::{Diagnostic, NativeFunction, Span, Value};
use serde::{Deserialize, Serialize};

use super::{Lower, TypedExpr};
use crate::diagnostics::{self, type_name};
use crate::error::{external, internal};
use crate::type_coercion;

/// A call: arguments go into the parameters' types, and a null among them gives null.
pub fn call(
    lower: &mut Lower,
    function: &NativeFunction,
    args: &[onrush_wire::Expr],
    span: Option<&Span>,
) -> std::result::Result<TypedExpr, Diagnostic> {
    let shown = usage(function);
    if args.len() != function.parameters.len() {
        let (wanted, found) = (function.parameters.len(), args.len());
        let message = format!("`{}` takes {wanted} arguments, and {found} are given", function.name);
        let error = diagnostics::plan_error("argument", message).help(format!("it is called as `{shown}`"));
        return Err(lower.fail(error, span, ""));
    }
    let mut values = Vec::new();
    for (arg, (name, dtype)) in args.iter().zip(&function.parameters) {
        let value = lower.expr(&super::function::fold(arg))?;
        let dtype = onrush_frame::dtype_from_wire(dtype).map_err(|e| lower.fail(e, span, ""))?;
        let found = into(&value, &dtype, value.span.as_ref().or(span)).ok_or_else(|| {
            let (this, wanted) = (type_name(&value.dtype), type_name(&dtype));
            let message = format!("`{name}` of `{}` is `{wanted}`, but this is `{this}`", function.name);
            let error = diagnostics::plan_error("type-mismatch", message).help(advice(&value.dtype, &dtype));
            lower.fail(error, value.span.as_ref().or(span), &format!("this is `{this}`"))
        })?;
        values.push((value, found.expr));
    }
    let result = onrush_frame::dtype_from_wire(&function.result).map_err(|e| lower.fail(e, span, ""))?;
    // As of other functions: the leftmost column's name.
    let first = values.iter().map(|(value, _)| value).find(|value| value.literal.is_none());
    let name = first.or(values.first().map(|(value, _)| value)).map_or("literal", |value| &value.name).to_string();
    let native = Native::new(function, result.clone(), span)?;
    let expr = ScalarUDF::new_from_impl(native).call(values.into_iter().map(|(_, expr)| expr).collect());
    Ok(TypedExpr { expr, dtype: result, name, span: span.cloned(), literal: None })
}

fn usage(function: &NativeFunction) -> String {
    let list: Vec<String> = function.parameters.iter().map(|(name, dtype)| format!("{name}: {dtype}")).collect();
    format!("{}({})", function.name, list.join(", "))
}

/// An argument as a parameter's type. Integers take integers that have a place there, which is looked at for each
/// value; floats take all numbers, rounded as C rounds them. Nothing else goes without a cast that is written.
fn into(value: &TypedExpr, dtype: &DataType, place: Option<&Span>) -> Option<TypedExpr> {
    let from = &value.dtype;
    let bool_as_number = from == &DataType::Boolean && type_coercion::is_number(dtype);
    let whole = dtype.is_integer() && from.is_integer();
    let float = dtype.is_floating() && type_coercion::is_number(from);
    if from == dtype || from == &DataType::Null || bool_as_number || float {
        return Some(value.to(dtype));
    }
    if !whole {
        return None;
    }
    let integer = match value.literal {
        Some(Value::Int(v)) => Some(i128::from(v)),
        Some(Value::UInt(v)) => Some(i128::from(v)),
        _ => None,
    };
    match (integer, type_coercion::integer_range(dtype)) {
        (Some(integer), Some((low, high))) if !(low..=high).contains(&integer) => None,
        _ => Some(value.strictly(dtype, place)),
    }
}

fn advice(from: &DataType, to: &DataType) -> String {
    let to = type_name(to);
    match from {
        from if type_coercion::is_text(from) => format!("make the text a number first: `.cast(\"{to}\")`"),
        from if from.is_floating() || type_coercion::is_decimal(from) => {
            format!("say what becomes of the rest: `.round().cast(\"{to}\")`, or let the function take a `double`")
        }
        from if from.is_integer() && to == "bool" => "write what is to be true: `x != 0`".to_string(),
        from if from.is_integer() => format!("it has no place in `{to}`: let the function take a wider type"),
        _ => "functions of `%%cuda` cells take numbers and booleans; `.dt.epoch()`, `.str.len_chars()` and the like make some"
            .to_string(),
    }
}

/// Runs functions of `%%cuda` cells that are in no fragment of a device, a batch at a time.
pub trait UdfRunner: Send + Sync + std::fmt::Debug {
    /// The function's results for the rows of its arguments.
    ///
    /// # Errors
    /// If the function does not compile or does not end well, and if there is no device to run it on.
    fn call(&self, function: &Native, args: &[ArrayRef], rows: usize) -> std::result::Result<ArrayRef, Diagnostic>;
}

/// The runner of an engine. Goes with DataFusion's settings, which are what its functions are given.
#[derive(Clone, Debug)]
pub struct UdfHost(pub Arc<dyn UdfRunner>);

impl UdfHost {
    fn of(settings: &ConfigOptions) -> std::result::Result<&UdfHost, Diagnostic> {
        settings.extensions.get().ok_or_else(|| internal("a function of a `%%cuda` cell has nothing to run on"))
    }
}

impl ConfigExtension for UdfHost {
    const PREFIX: &'static str = "onrush";
}

/// Nothing that anybody could set.
impl ExtensionOptions for UdfHost {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, _: &str) -> Result<()> {
        Err(DataFusionError::Configuration(format!("there is no setting `{key}`")))
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        Vec::new()
    }
}

/// The function as DataFusion knows it.
#[derive(Debug)]
pub struct Native {
    function: NativeFunction,
    parameters: Vec<DataType>,
    /// Made from all that makes a difference: name, text and types.
    symbol: String,
    /// See [`Native::compiled`].
    compiled: OnceLock<Arc<dyn Any + Send + Sync>>,
    signature: Signature,
    result: DataType,
    place: Option<Span>,
}

/// One text, one meaning, wherever it is called.
impl PartialEq for Native {
    fn eq(&self, other: &Self) -> bool {
        self.symbol == other.symbol
    }
}

impl Eq for Native {}

impl Hash for Native {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.symbol.hash(state);
    }
}

impl Native {
    fn new(
        function: &NativeFunction,
        result: DataType,
        place: Option<&Span>,
    ) -> std::result::Result<Native, Diagnostic> {
        let parameters = function.parameters.iter().map(|(_, dtype)| onrush_frame::dtype_from_wire(dtype));
        let parameters = parameters.collect::<std::result::Result<Vec<_>, _>>()?;
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            (seed, &function.name, &function.text, &parameters, &result).hash(&mut hasher);
            hasher.finish()
        };
        Ok(Native {
            function: function.clone(),
            symbol: format!("native_{:016x}{:016x}", half(0), half(1)),
            parameters,
            compiled: OnceLock::new(),
            signature: match function.parameters.is_empty() {
                true => Signature::nullary(Volatility::Immutable),
                false => Signature::variadic_any(Volatility::Immutable),
            },
            result,
            place: place.cloned(),
        })
    }

    /// The function of an expression, if it is one of a `%%cuda` cell.
    pub fn of(function: &ScalarUDF) -> Option<&Native> {
        let inner: &dyn Any = function.inner().as_ref();
        inner.downcast_ref()
    }

    /// The function as it was written.
    pub fn function(&self) -> &NativeFunction {
        &self.function
    }

    /// Types of the parameters.
    pub fn parameters(&self) -> &[DataType] {
        &self.parameters
    }

    /// Type of the result.
    pub fn result(&self) -> &DataType {
        &self.result
    }

    /// The compiled form of the crate that runs the function, made once. `None` if another type was made before.
    pub fn compiled<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Option<Arc<T>> {
        let compiled = self.compiled.get_or_init(|| Arc::new(make()));
        Arc::clone(compiled).downcast().ok()
    }
}

/// The function as data. It is compiled again where it runs.
#[derive(Serialize, Deserialize)]
pub(crate) struct NativeForm {
    function: NativeFunction,
    place: Option<Span>,
}

impl NativeForm {
    /// The form of a function of a `%%cuda` cell. `None` for any other function.
    pub(crate) fn of(function: &ScalarUDF) -> Option<NativeForm> {
        let native = Native::of(function)?;
        Some(NativeForm { function: native.function.clone(), place: native.place.clone() })
    }

    /// # Errors
    /// If its types are not those of a frame.
    pub(crate) fn into_function(self) -> Result<Arc<ScalarUDF>> {
        let result = onrush_frame::dtype_from_wire(&self.function.result).map_err(external)?;
        let native = Native::new(&self.function, result, self.place.as_ref()).map_err(external)?;
        Ok(Arc::new(ScalarUDF::new_from_impl(native)))
    }
}

/// The function that an expression calls, if it is one of a `%%cuda` cell.
fn called(expr: &Arc<dyn PhysicalExpr>) -> Option<&Native> {
    let any: &dyn Any = expr.as_ref();
    Native::of(any.downcast_ref::<ScalarFunctionExpr>()?.fun())
}

/// Whether an expression calls one anywhere.
pub fn is_in(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let mut found = false;
    let walked = expr.apply(|node| {
        found |= called(node).is_some();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    walked.is_err() || found
}

impl ScalarUDFImpl for Native {
    fn name(&self) -> &str {
        &self.function.name
    }

    /// Functions of one name in two cells are two.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let list: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("{}({})", self.symbol, list.join(",")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let failed = |error: Diagnostic| {
            let unplaced = error.labels.is_empty();
            let error = match &self.place {
                Some(place) if unplaced => error.at(place.clone(), ""),
                _ => error,
            };
            DataFusionError::External(Box::new(error))
        };
        let scalar = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { args.number_rows };
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let UdfHost(runner) = UdfHost::of(&args.config_options).map_err(failed)?;
        let result = runner.call(self, &arrays, rows).map_err(failed)?;
        Ok(match scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?),
            false => ColumnarValue::Array(result),
        })
    }
}
