//! The function that gives every NaN of an expression the bits of the one NaN (see `onrush_frame::nan`). The optimizer
//! puts it around arithmetic that can make another one; users never see it.

use std::any::Any;
use std::sync::{Arc, LazyLock};

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use onrush_frame::nan::canonical;

/// The function's name.
pub const NAME: &str = "one_nan";

#[derive(Debug, PartialEq, Eq, Hash)]
struct OneNan {
    signature: Signature,
}

/// Its argument, in which every NaN is the one NaN. Null stays null, and a column that cannot be null stays so.
pub fn one_nan() -> Arc<ScalarUDF> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(1, Volatility::Immutable);
        Arc::new(ScalarUDF::new_from_impl(OneNan { signature }))
    });
    Arc::clone(&FUNCTION)
}

/// Whether a function is [`one_nan`].
pub fn is_one_nan(function: &ScalarUDF) -> bool {
    let inner: &dyn Any = function.inner().as_ref();
    inner.is::<OneNan>()
}

/// A result with the one NaN.
pub(crate) fn with_one(value: ColumnarValue) -> ColumnarValue {
    match value {
        ColumnarValue::Array(array) => ColumnarValue::Array(canonical(&array)),
        ColumnarValue::Scalar(ScalarValue::Float64(Some(v))) if v.is_nan() => {
            ColumnarValue::Scalar(ScalarValue::Float64(Some(f64::NAN)))
        }
        ColumnarValue::Scalar(ScalarValue::Float32(Some(v))) if v.is_nan() => {
            ColumnarValue::Scalar(ScalarValue::Float32(Some(f32::NAN)))
        }
        scalar => scalar,
    }
}

impl ScalarUDFImpl for OneNan {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [dtype] => Ok(dtype.clone()),
            _ => internal_err!("`{NAME}` takes one argument"),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        match args.arg_fields {
            [field] => Ok(Arc::new(Field::new(NAME, field.data_type().clone(), field.is_nullable()))),
            _ => internal_err!("`{NAME}` takes one argument"),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.into_iter().next() {
            Some(value) => Ok(with_one(value)),
            None => internal_err!("`{NAME}` takes one argument"),
        }
    }
}
