//! Functions of `%%cuda` cells in expressions: their arguments checked and cast, and a function of DataFusion that calls them.
//!
//! How they run is in `crate::native` (on the CPU, batch by batch) and in `gpu/native.rs` (within fragments).

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use onrush_wire::{Diagnostic, NativeFunction, Span, Value};

use super::{Lower, Typed};
use crate::check::{self, type_name};
use crate::error::internal;
use crate::native::{Compiled, Hosts};
use crate::types;

/// A call: arguments go into the parameters' types, and a null among them gives null.
pub fn call(
    lower: &mut Lower,
    function: &NativeFunction,
    args: &[onrush_wire::Expr],
    span: Option<&Span>,
) -> std::result::Result<Typed, Diagnostic> {
    let shown = usage(function);
    if args.len() != function.parameters.len() {
        let (wanted, found) = (function.parameters.len(), args.len());
        let message = format!("`{}` takes {wanted} arguments, and {found} are given", function.name);
        let error = check::plan_error("argument", message).help(format!("it is called as `{shown}`"));
        return Err(lower.fail(error, span, ""));
    }
    let mut values = Vec::new();
    for (arg, (name, dtype)) in args.iter().zip(&function.parameters) {
        let value = lower.expr(&super::catalogue::fold(arg))?;
        let dtype = onrush_frame::dtype_from_wire(dtype).map_err(|e| lower.fail(e, span, ""))?;
        let found = into(&value, &dtype, value.span.as_ref().or(span)).ok_or_else(|| {
            let (this, wanted) = (type_name(&value.dtype), type_name(&dtype));
            let message = format!("`{name}` of `{}` is `{wanted}`, but this is `{this}`", function.name);
            let error = check::plan_error("type-mismatch", message).help(advice(&value.dtype, &dtype));
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
    Ok(Typed { expr, dtype: result, name, span: span.cloned(), literal: None })
}

fn usage(function: &NativeFunction) -> String {
    let list: Vec<String> = function.parameters.iter().map(|(name, dtype)| format!("{name}: {dtype}")).collect();
    format!("{}({})", function.name, list.join(", "))
}

/// An argument as a parameter's type. Integers take integers that have a place there, which is looked at for each value; floats take all numbers,
/// rounded as C rounds them. Nothing else goes without a cast that is written.
fn into(value: &Typed, dtype: &DataType, place: Option<&Span>) -> Option<Typed> {
    let from = &value.dtype;
    let bool_as_number = from == &DataType::Boolean && types::is_number(dtype);
    let whole = dtype.is_integer() && from.is_integer();
    let float = dtype.is_floating() && types::is_number(from);
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
    match (integer, types::integer_range(dtype)) {
        (Some(integer), Some((low, high))) if !(low..=high).contains(&integer) => None,
        _ => Some(value.strictly(dtype, place)),
    }
}

fn advice(from: &DataType, to: &DataType) -> String {
    let to = type_name(to);
    match from {
        from if types::is_text(from) => format!("make the text a number first: `.cast(\"{to}\")`"),
        from if from.is_floating() || types::is_decimal(from) => {
            format!("say what becomes of the rest: `.round().cast(\"{to}\")`, or let the function take a `double`")
        }
        from if from.is_integer() && to == "bool" => "write what is to be true: `x != 0`".to_string(),
        from if from.is_integer() => format!("it has no place in `{to}`: let the function take a wider type"),
        _ => "functions of `%%cuda` cells take numbers and booleans; `.dt.epoch()`, `.str.len_chars()` and the like make some"
            .to_string(),
    }
}

/// The function as DataFusion knows it.
#[derive(Debug)]
pub struct Native {
    name: String,
    /// Name, file and text.
    compiled: Arc<Compiled>,
    signature: Signature,
    result: DataType,
    place: Option<Span>,
}

/// One text, one meaning, wherever it is called.
impl PartialEq for Native {
    fn eq(&self, other: &Self) -> bool {
        self.compiled.native == other.compiled.native && self.name == other.name && self.result == other.result
    }
}

impl Eq for Native {}

impl std::hash::Hash for Native {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.compiled.native.symbol.hash(state);
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
        let compiled = Compiled::new(function, &parameters, &result)
            .ok_or_else(|| internal("a function takes or gives what has no place in a kernel"))?;
        Ok(Native {
            name: function.name.clone(),
            compiled: Arc::new(compiled),
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

    pub fn compiled(&self) -> &Arc<Compiled> {
        &self.compiled
    }
}

impl ScalarUDFImpl for Native {
    fn name(&self) -> &str {
        &self.name
    }

    /// Functions of one name in two cells are two.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let list: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("{}({})", self.compiled.native.symbol, list.join(",")))
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
        let hosts = Hosts::of(&args.config_options).map_err(failed)?;
        let result = hosts.call(&self.compiled, &arrays, rows).map_err(failed)?;
        Ok(match scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?),
            false => ColumnarValue::Array(result),
        })
    }
}
