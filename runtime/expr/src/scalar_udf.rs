//! Scalar functions of ours where DataFusion has none with the meaning that is needed: a name, types, and a plain
//! function over arrays.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Float32Array, Float64Array, PrimitiveArray, StringViewArray,
    StringViewBuilder, new_empty_array,
};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{
    DataType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use onrush_frame::nan::canonical;
use onrush_wire::Span;
use serde::{Deserialize, Serialize};

use crate::code_address::CodeAddress;
use crate::diagnostics;
use crate::error::{diagnose, external, internal};
use crate::ipc_type::IpcType;
use crate::nan::with_one;

/// The implementation: arrays of equal length in, one of that length out.
pub type Body = fn(&[ArrayRef]) -> Result<ArrayRef>;

/// The type of what a kernel gives, or how it follows from the types of its arguments.
#[derive(Debug)]
enum Output {
    Is(DataType),
    Of(fn(&[DataType]) -> Result<DataType>),
}

impl Output {
    fn fixed(&self) -> Option<&DataType> {
        match self {
            Output::Is(dtype) => Some(dtype),
            Output::Of(_) => None,
        }
    }
}

#[derive(Debug)]
struct Kernel {
    name: Cow<'static, str>,
    output: Output,
    signature: Signature,
    body: Body,
    place: Option<Span>,
}

impl Kernel {
    fn new(name: &'static str, output: Output, body: Body, place: Option<Span>) -> Self {
        let signature = Signature::variadic_any(Volatility::Immutable);
        Kernel { name: Cow::Borrowed(name), output, signature, body, place }
    }
}

/// One name, one body: the address of a function says nothing. The place changes no value.
impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.output.fixed() == other.output.fixed()
    }
}

impl Eq for Kernel {}

impl std::hash::Hash for Kernel {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
        self.output.fixed().hash(state);
    }
}

impl ScalarUDFImpl for Kernel {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match &self.output {
            Output::Is(dtype) => Ok(dtype.clone()),
            Output::Of(output) => output(types),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let scalar = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let rows = if scalar { 1 } else { args.number_rows };
        if rows == 0 {
            return Ok(ColumnarValue::Array(new_empty_array(args.return_field.data_type())));
        }
        let arrays = args.args.iter().map(|a| a.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let result = (self.body)(&arrays).map_err(|e| placed(e, self.place.as_ref()))?;
        let result = canonical(&result);
        Ok(match scalar {
            true => ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&result, 0)?),
            false => ColumnarValue::Array(result),
        })
    }
}

/// A kernel as a function of DataFusion. Arguments must be cast to what `body` reads.
pub fn kernel(name: &'static str, output: DataType, body: Body) -> Arc<ScalarUDF> {
    kernel_at(name, output, body, None)
}

/// A kernel whose type depends on those of its arguments.
pub fn kernel_by_types(name: &'static str, output: fn(&[DataType]) -> Result<DataType>, body: Body) -> ScalarUDF {
    ScalarUDF::new_from_impl(Kernel::new(name, Output::Of(output), body, None))
}

/// As [`kernel_by_types`], of a function whose values also depend on the time of the query.
pub fn stable_kernel(name: &'static str, output: fn(&[DataType]) -> Result<DataType>, body: Body) -> ScalarUDF {
    let signature = Signature::variadic_any(Volatility::Stable);
    ScalarUDF::new_from_impl(Kernel { signature, ..Kernel::new(name, Output::Of(output), body, None) })
}

/// As [`kernel`]; its errors stand at `place`.
pub fn kernel_at(name: &'static str, output: DataType, body: Body, place: Option<&Span>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::new_from_impl(Kernel::new(name, Output::Is(output), body, place.cloned())))
}

/// Whether a function is one of ours, not one of DataFusion's of the same name.
pub fn is_ours(function: &ScalarUDF) -> bool {
    let inner: &dyn Any = function.inner().as_ref();
    inner.is::<Kernel>()
}

/// The type of a function of ours that has one whatever its arguments are.
pub fn fixed_output(function: &ScalarUDF) -> Option<&DataType> {
    let inner: &dyn Any = function.inner().as_ref();
    inner.downcast_ref::<Kernel>()?.output.fixed()
}

/// A kernel as data, for other processes of this executable.
#[derive(Serialize, Deserialize)]
pub(crate) struct KernelForm {
    name: String,
    output: OutputForm,
    /// Whether values also depend on the time of the query.
    is_stable: bool,
    body: CodeAddress,
    place: Option<Span>,
}

#[derive(Serialize, Deserialize)]
enum OutputForm {
    Is(IpcType),
    Of(CodeAddress),
}

impl KernelForm {
    /// The form of a kernel. `None` for any other function.
    ///
    /// # Errors
    /// If its code is in another library than this executable.
    pub(crate) fn of(function: &ScalarUDF) -> Result<Option<KernelForm>> {
        let inner: &dyn Any = function.inner().as_ref();
        let Some(kernel) = inner.downcast_ref::<Kernel>() else { return Ok(None) };
        let near = |address: Option<CodeAddress>| {
            address.ok_or_else(|| {
                external(internal(&format!("the code of `{}` is in another library than the engine", kernel.name)))
            })
        };
        let output = match &kernel.output {
            Output::Is(dtype) => OutputForm::Is(IpcType(dtype.clone())),
            Output::Of(rule) => OutputForm::Of(near(CodeAddress::of_type_rule(*rule))?),
        };
        Ok(Some(KernelForm {
            name: kernel.name.to_string(),
            output,
            is_stable: kernel.signature.volatility == Volatility::Stable,
            body: near(CodeAddress::of_body(kernel.body))?,
            place: kernel.place.clone(),
        }))
    }

    pub(crate) fn into_function(self) -> Arc<ScalarUDF> {
        let output = match self.output {
            OutputForm::Is(IpcType(dtype)) => Output::Is(dtype),
            OutputForm::Of(rule) => Output::Of(rule.type_rule()),
        };
        let volatility = if self.is_stable { Volatility::Stable } else { Volatility::Immutable };
        Arc::new(ScalarUDF::new_from_impl(Kernel {
            name: Cow::Owned(self.name),
            output,
            signature: Signature::variadic_any(volatility),
            body: self.body.body(),
            place: self.place,
        }))
    }
}

/// An error of the data, with the place of the expression that met it.
fn placed(error: DataFusionError, place: Option<&Span>) -> DataFusionError {
    match place {
        Some(place) => {
            let diagnostic = diagnose(error);
            let unplaced = diagnostic.labels.is_empty();
            let diagnostic = if unplaced { diagnostic.at(place.clone(), "") } else { diagnostic };
            external(diagnostic)
        }
        None => error,
    }
}

/// A cast that knows where it stands in the cell. DataFusion's own does not, and when the rows are computed, the call
/// that asks for them may be far from the expression that is wrong.
#[derive(Debug)]
struct Cast {
    /// `cast_i64`: `explain/expr_display.rs` reads the type from it.
    name: String,
    to: DataType,
    signature: Signature,
    place: Span,
}

impl PartialEq for Cast {
    fn eq(&self, other: &Self) -> bool {
        self.to == other.to
    }
}

impl Eq for Cast {}

impl std::hash::Hash for Cast {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.to.hash(state);
    }
}

impl ScalarUDFImpl for Cast {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.first() {
            Some(value) => value.cast_to(&self.to, None).map(with_one).map_err(|e| placed(e, Some(&self.place))),
            None => Err(error("a cast without a value")),
        }
    }
}

/// A strict cast of one value, whose errors stand at `place`.
pub fn cast_at(to: &DataType, place: &Span) -> Arc<ScalarUDF> {
    let signature = Signature::any(1, Volatility::Immutable);
    let name = format!("{CAST}{}", diagnostics::type_name(to));
    Arc::new(ScalarUDF::new_from_impl(Cast { name, to: to.clone(), signature, place: place.clone() }))
}

/// The target type of a [`cast_at`].
pub fn cast_target(function: &ScalarUDF) -> Option<&DataType> {
    let inner: &dyn Any = function.inner().as_ref();
    inner.downcast_ref::<Cast>().map(|cast| &cast.to)
}

/// A [`cast_at`] as data.
#[derive(Serialize, Deserialize)]
pub(crate) struct CastForm {
    to: IpcType,
    place: Span,
}

impl CastForm {
    /// The form of a cast. `None` for any other function.
    pub(crate) fn of(function: &ScalarUDF) -> Option<CastForm> {
        let inner: &dyn Any = function.inner().as_ref();
        let cast = inner.downcast_ref::<Cast>()?;
        Some(CastForm { to: IpcType(cast.to.clone()), place: cast.place.clone() })
    }

    pub(crate) fn into_function(self) -> Arc<ScalarUDF> {
        cast_at(&self.to.0, &self.place)
    }
}

/// With what the name of a [`cast_at`] starts; the type follows.
pub const CAST: &str = "cast_";

/// A cast of which each value has a place in the other type, or else an error.
pub fn strict(values: &ArrayRef, dtype: &DataType) -> Result<ArrayRef> {
    Ok(cast_with_options(values, dtype, &CastOptions { safe: false, ..CastOptions::default() })?)
}

/// A literal in the layout that text kernels read.
pub fn text_literal(text: &str) -> Expr {
    Expr::Literal(datafusion::common::ScalarValue::Utf8View(Some(text.to_string())), None)
}

pub fn error(message: impl Into<String>) -> DataFusionError {
    DataFusionError::Execution(message.into())
}

/// Two columns of one integer type, row by row; `None` where either is null or `f` gives nothing.
fn integers<T: ArrowPrimitiveType>(
    args: &[ArrayRef],
    f: impl Fn(T::Native, T::Native) -> Option<T::Native>,
) -> ArrayRef {
    let (a, b) = (args[0].as_primitive::<T>(), args[1].as_primitive::<T>());
    let values = a.iter().zip(b.iter()).map(|(a, b)| f(a?, b?));
    Arc::new(values.collect::<PrimitiveArray<T>>())
}

macro_rules! by_integer_type {
    ($args:expr, $signed:expr, $unsigned:expr) => {
        match $args[0].data_type() {
            DataType::Int8 => integers::<Int8Type>($args, |a, b| $signed(a.into(), b.into()).map(|v: i128| v as i8)),
            DataType::Int16 => integers::<Int16Type>($args, |a, b| $signed(a.into(), b.into()).map(|v: i128| v as i16)),
            DataType::Int32 => integers::<Int32Type>($args, |a, b| $signed(a.into(), b.into()).map(|v: i128| v as i32)),
            DataType::Int64 => integers::<Int64Type>($args, |a, b| $signed(a.into(), b.into()).map(|v: i128| v as i64)),
            DataType::UInt8 => integers::<UInt8Type>($args, |a, b| $signed(a.into(), b.into()).map(|v: i128| v as u8)),
            DataType::UInt16 => {
                integers::<UInt16Type>($args, |a, b| $signed(a.into(), b.into()).map(|v: i128| v as u16))
            }
            DataType::UInt32 => {
                integers::<UInt32Type>($args, |a, b| $signed(a.into(), b.into()).map(|v: i128| v as u32))
            }
            DataType::UInt64 => {
                integers::<UInt64Type>($args, |a, b| $signed(a.into(), b.into()).map(|v: i128| v as u64))
            }
            DataType::Float32 => {
                let (a, b) = ($args[0].as_primitive::<Float32Type>(), $args[1].as_primitive::<Float32Type>());
                let values = a.iter().zip(b.iter()).map(|(a, b)| Some($unsigned(a? as f64, b? as f64) as f32));
                Arc::new(values.collect::<Float32Array>()) as ArrayRef
            }
            DataType::Float64 => {
                let (a, b) = ($args[0].as_primitive::<Float64Type>(), $args[1].as_primitive::<Float64Type>());
                let values = a.iter().zip(b.iter()).map(|(a, b)| Some($unsigned(a?, b?)));
                Arc::new(values.collect::<Float64Array>()) as ArrayRef
            }
            other => return Err(error(format!("no whole division for {other}"))),
        }
    };
}

/// `a % b` with the sign of `b`; null if an integer is divided by zero.
pub fn floor_mod(dtype: &DataType) -> Arc<ScalarUDF> {
    kernel("mod", dtype.clone(), |args| {
        let whole = |a: i128, b: i128| (b != 0).then(|| ((a % b) + b) % b);
        let float = |a: f64, b: f64| a - (a / b).floor() * b;
        Ok(by_integer_type!(args, whole, float))
    })
}

/// `floor(a / b)`; null if an integer is divided by zero.
pub fn floor_div(dtype: &DataType) -> Arc<ScalarUDF> {
    kernel("floor_div", dtype.clone(), |args| {
        let whole = |a: i128, b: i128| (b != 0).then(|| a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0));
        let float = |a: f64, b: f64| (a / b).floor();
        Ok(by_integer_type!(args, whole, float))
    })
}

/// A function of one text; the argument is a `Utf8View` column.
pub fn map_text(args: &[ArrayRef], f: impl Fn(&str) -> Option<String>) -> Result<ArrayRef> {
    let texts = args[0].as_string_view();
    let mut out = StringViewBuilder::with_capacity(texts.len());
    for text in texts {
        out.append_option(text.and_then(&f));
    }
    Ok(Arc::new(out.finish()))
}

/// The text in the first row of an argument that is a literal.
pub fn literal_text(array: &ArrayRef) -> Option<&str> {
    let texts: &StringViewArray = array.as_string_view();
    (!texts.is_empty() && texts.is_valid(0)).then(|| texts.value(0))
}

/// An argument that is read once for all rows.
pub fn one_text(texts: &ArrayRef, what: &str) -> Result<String> {
    let first = literal_text(texts).unwrap_or_default();
    let all = texts.as_string_view();
    match all.iter().all(|text| text.unwrap_or_default() == first) {
        true => Ok(first.to_string()),
        false => {
            let message = format!("{what} that differs from row to row");
            let help = "write it as a text, one query or one `case` branch for each";
            Err(external(diagnostics::plan_error("not-supported", message).help(help)))
        }
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::Int64Array;

    use super::*;

    /// From Polars 2.1: `[7, -7, 7, -7] % [2, 2, -2, -2]` and `//`.
    #[test]
    fn whole_division_rounds_down() {
        let a: ArrayRef = Arc::new(Int64Array::from(vec![7, -7, 7, -7, 6, 1]));
        let b: ArrayRef = Arc::new(Int64Array::from(vec![2, 2, -2, -2, -3, 0]));
        let run = |f: Arc<ScalarUDF>| {
            let args = ScalarFunctionArgs {
                args: vec![ColumnarValue::Array(Arc::clone(&a)), ColumnarValue::Array(Arc::clone(&b))],
                arg_fields: Vec::new(),
                number_rows: 6,
                return_field: Arc::new(arrow::datatypes::Field::new("r", DataType::Int64, true)),
                config_options: Arc::new(Default::default()),
            };
            let array = f.invoke_with_args(args).unwrap().to_array(6).unwrap();
            array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>()
        };
        assert_eq!(run(floor_mod(&DataType::Int64)), [Some(1), Some(1), Some(-1), Some(-1), Some(0), None]);
        assert_eq!(run(floor_div(&DataType::Int64)), [Some(3), Some(-4), Some(-4), Some(3), Some(-2), None]);
    }
}
