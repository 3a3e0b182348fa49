//! Functions of this crate as bytes, for plans that run in other processes of the same executable.
//!
//! Each module has the forms of its functions, and this one puts them together. Functions of DataFusion have no bytes
//! here: their names are enough ([`datafusion_aggregate`]).

use std::any::Any;
use std::sync::Arc;

use datafusion::error::{DataFusionError, Result};
use datafusion::functions_aggregate::all_default_aggregate_functions;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use onrush_wire::codec;
use onrush_wire::plan::Keep;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::chains::StepsForm;
use crate::correlation::{corr, is_corr};
use crate::device_udf::NativeForm;
use crate::error::{external, internal};
use crate::first_last::{self, KeyedUdf, SpreadForm};
use crate::metrics::MetricForm;
use crate::min_max::{extreme, is_maximum};
use crate::model::ModelForm;
use crate::nan::{is_one_nan, one_nan};
use crate::quantile::QuantileForm;
use crate::scalar_udf::{CastForm, KernelForm};
use crate::series::{self, Work};
use crate::temporal_aggregates::TimesForm;

/// The first byte of each function of this crate.
pub const TAG: u8 = 1;

#[derive(Serialize, Deserialize)]
enum ScalarForm {
    Kernel(KernelForm),
    Cast(CastForm),
    OneNan,
    Model(ModelForm),
    Steps(StepsForm),
    Native(NativeForm),
}

#[derive(Serialize, Deserialize)]
enum AggregateForm {
    Times(TimesForm),
    Quantile(QuantileForm),
    Correlation,
    Extreme { is_maximum: bool },
    Metric(MetricForm),
}

#[derive(Serialize, Deserialize)]
enum WindowForm {
    Series(Work),
    Distinct(Keep),
    Spread(SpreadForm, NestedForm),
}

/// An aggregate inside of another function.
#[derive(Serialize, Deserialize)]
enum NestedForm {
    Ours(AggregateForm),
    /// The name of a function of DataFusion.
    Datafusion(String),
}

/// Writes a form after the byte that says whose form it is.
pub fn tagged(tag: u8, form: &impl Serialize) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend(codec::content(form));
    bytes
}

/// Reads what [`tagged`] wrote.
///
/// # Errors
/// If the bytes have another tag or are cut off.
pub fn untagged<T: DeserializeOwned>(tag: u8, bytes: &[u8]) -> Result<T> {
    match bytes.split_first() {
        Some((first, rest)) if *first == tag => codec::decode(rest)
            .map_err(|error| external(internal(&format!("a function of another process cannot be read: {error}")))),
        _ => Err(external(internal("a function of another process is not of this part of the engine"))),
    }
}

/// Writes a scalar function. `None` if it is not one of this crate.
///
/// # Errors
/// If it cannot run in another process: a model whose file cannot be written, or code of another library.
pub fn scalar(function: &ScalarUDF) -> Result<Option<Vec<u8>>> {
    let form = if let Some(form) = KernelForm::of(function)? {
        ScalarForm::Kernel(form)
    } else if let Some(form) = CastForm::of(function) {
        ScalarForm::Cast(form)
    } else if is_one_nan(function) {
        ScalarForm::OneNan
    } else if let Some(form) = ModelForm::of(function)? {
        ScalarForm::Model(form)
    } else if let Some(form) = StepsForm::of(function)? {
        ScalarForm::Steps(form)
    } else if let Some(form) = NativeForm::of(function) {
        ScalarForm::Native(form)
    } else {
        return Ok(None);
    };
    Ok(Some(tagged(TAG, &form)))
}

/// Reads what [`scalar`] wrote.
///
/// The bytes must come from a process of the same executable, over a connection that authenticates them. They hold the
/// address of a kernel's body, which a query calls: other bytes may run any code of this process.
///
/// # Errors
/// If the bytes are of another kind, or if a model of them cannot be made in this process.
pub fn scalar_from(bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
    Ok(match untagged::<ScalarForm>(TAG, bytes)? {
        ScalarForm::Kernel(form) => form.into_function(),
        ScalarForm::Cast(form) => form.into_function(),
        ScalarForm::OneNan => one_nan(),
        ScalarForm::Model(form) => form.into_function()?,
        ScalarForm::Steps(form) => form.into_function()?,
        ScalarForm::Native(form) => form.into_function()?,
    })
}

fn aggregate_form(function: &AggregateUDF) -> Option<AggregateForm> {
    if let Some(form) = TimesForm::of(function) {
        Some(AggregateForm::Times(form))
    } else if let Some(form) = QuantileForm::of(function) {
        Some(AggregateForm::Quantile(form))
    } else if is_corr(function) {
        Some(AggregateForm::Correlation)
    } else if let Some(is_maximum) = is_maximum(function) {
        Some(AggregateForm::Extreme { is_maximum })
    } else {
        MetricForm::of(function).map(AggregateForm::Metric)
    }
}

impl AggregateForm {
    fn into_function(self) -> Result<Arc<AggregateUDF>> {
        Ok(match self {
            AggregateForm::Times(form) => form.into_function(),
            AggregateForm::Quantile(form) => form.into_function(),
            AggregateForm::Correlation => corr(),
            AggregateForm::Extreme { is_maximum } => extreme(is_maximum),
            AggregateForm::Metric(form) => form.into_function()?,
        })
    }
}

/// Writes an aggregate. `None` if it is not one of this crate.
///
/// # Errors
/// None today: as of [`scalar`].
pub fn aggregate(function: &AggregateUDF) -> Result<Option<Vec<u8>>> {
    Ok(aggregate_form(function).map(|form| tagged(TAG, &form)))
}

/// Reads what [`aggregate`] wrote.
///
/// # Errors
/// If the bytes are of another kind.
pub fn aggregate_from(bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
    untagged::<AggregateForm>(TAG, bytes)?.into_function()
}

/// DataFusion's aggregate of a name, also if a function of this crate has the name, too.
pub fn datafusion_aggregate(name: &str) -> Option<Arc<AggregateUDF>> {
    all_default_aggregate_functions().into_iter().find(|function| function.name() == name)
}

impl NestedForm {
    fn of(function: &AggregateUDF) -> Result<NestedForm> {
        if let Some(form) = aggregate_form(function) {
            return Ok(NestedForm::Ours(form));
        }
        // A function with other parameters may have the name, too.
        match datafusion_aggregate(function.name()) {
            Some(found) if found.as_ref() == function => Ok(NestedForm::Datafusion(function.name().to_string())),
            _ => Err(unknown_aggregate(function.name())),
        }
    }

    fn into_function(self) -> Result<Arc<AggregateUDF>> {
        match self {
            NestedForm::Ours(form) => form.into_function(),
            NestedForm::Datafusion(name) => datafusion_aggregate(&name).ok_or_else(|| unknown_aggregate(&name)),
        }
    }
}

fn unknown_aggregate(name: &str) -> DataFusionError {
    external(internal(&format!("the aggregate `{name}` cannot run in another process")))
}

/// Writes a window function. `None` if it is not one of this crate.
///
/// # Errors
/// If an aggregate inside of it is neither one of this crate nor one of DataFusion.
pub fn window(function: &WindowUDF) -> Result<Option<Vec<u8>>> {
    let inner: &dyn Any = function.inner().as_ref();
    let form = if let Some(work) = series::work(function) {
        WindowForm::Series(work)
    } else if let Some(KeyedUdf::Distinct(keep)) = first_last::keyed(inner) {
        WindowForm::Distinct(keep)
    } else if let Some((form, aggregate)) = SpreadForm::of(function) {
        WindowForm::Spread(form, NestedForm::of(aggregate)?)
    } else {
        return Ok(None);
    };
    Ok(Some(tagged(TAG, &form)))
}

/// Reads what [`window`] wrote.
///
/// # Errors
/// If the bytes are of another kind.
pub fn window_from(bytes: &[u8]) -> Result<Arc<WindowUDF>> {
    Ok(match untagged::<WindowForm>(TAG, bytes)? {
        WindowForm::Series(work) => series::series(work),
        WindowForm::Distinct(keep) => first_last::distinct(keep),
        WindowForm::Spread(form, aggregate) => form.into_function(aggregate.into_function()?),
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, AsArray, Int64Array};
    use arrow::datatypes::{DataType, Field, Int64Type};
    use datafusion::functions_aggregate::min_max::min_udaf;
    use datafusion::functions_aggregate::sum::sum_udaf;
    use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};
    use onrush_wire::Span;

    use super::*;
    use crate::quantile::{self, Interpolation};
    use crate::scalar_udf::{cast_at, floor_div, kernel_by_types, stable_kernel};
    use crate::series::{Bits, ClosedEnds, Reach, Statistic};
    use crate::temporal_aggregates;

    fn again(function: &ScalarUDF) -> Arc<ScalarUDF> {
        scalar_from(&scalar(function).unwrap().unwrap()).unwrap()
    }

    fn same_first(types: &[DataType]) -> Result<DataType> {
        Ok(types[0].clone())
    }

    /// By hand: the body that comes back is the one that was sent.
    #[test]
    fn a_kernel_keeps_its_code() {
        let division = again(&floor_div(&DataType::Int64));
        let column = |values: Vec<i64>| ColumnarValue::Array(Arc::new(Int64Array::from(values)) as ArrayRef);
        let args = ScalarFunctionArgs {
            args: vec![column(vec![7, -7]), column(vec![2, 2])],
            arg_fields: Vec::new(),
            number_rows: 2,
            return_field: Arc::new(Field::new("r", DataType::Int64, true)),
            config_options: Arc::new(Default::default()),
        };
        let array = division.invoke_with_args(args).unwrap().to_array(2).unwrap();
        assert_eq!(array.as_primitive::<Int64Type>().values()[..], [3, -4]);
        assert_eq!(division, floor_div(&DataType::Int64));
        let by_types = again(&kernel_by_types("same", same_first, |args| Ok(Arc::clone(&args[0]))));
        assert_eq!(by_types.return_type(&[DataType::Utf8View]).unwrap(), DataType::Utf8View);
        let stable = stable_kernel("stable", same_first, |args| Ok(Arc::clone(&args[0])));
        assert_eq!(again(&stable).signature(), stable.signature());
    }

    /// By definition: functions come back as they were, and those of DataFusion have no bytes.
    #[test]
    fn scalar_functions_come_back() {
        let place = Span { file: "cell_1.rs".to_string(), line: 1, column: 2, length: 3 };
        for function in [cast_at(&DataType::Int8, &place), one_nan()] {
            assert_eq!(again(&function), function);
        }
        assert!(scalar(&datafusion::functions::math::abs()).unwrap().is_none());
    }

    /// By definition, as for scalar functions. `min` stays that of this crate.
    #[test]
    fn aggregates_come_back() {
        let interpolations = [Interpolation::Nearest, Interpolation::Linear];
        let quantiles = interpolations.map(|interpolation| quantile::quantile(0.1, interpolation));
        let others = [quantile::quartiles(), quantile::product(), quantile::mode(), quantile::mode_desc()];
        let times = [temporal_aggregates::quantile(0.3), temporal_aggregates::mean()];
        let rest = [temporal_aggregates::any_quantile(0.5), corr(), extreme(true), extreme(false)];
        for function in quantiles.into_iter().chain(others).chain(times).chain(rest) {
            let read = aggregate_from(&aggregate(&function).unwrap().unwrap()).unwrap();
            assert_eq!((read.name(), &read), (function.name(), &function));
        }
        assert_ne!(extreme(false), min_udaf());
        assert!(aggregate(&min_udaf()).unwrap().is_none());
    }

    /// By definition, as for scalar functions.
    #[test]
    fn window_functions_come_back() {
        let closed = ClosedEnds { left: false, right: true };
        let statistic = Statistic::Quantile(Bits::new(0.1), Interpolation::Lower);
        let by_time = Work::ByTime { statistic, reach: Reach::Months(2), closed, min_samples: 1 };
        let mut functions = vec![series::series(by_time), first_last::distinct(Keep::Last)];
        for aggregate in [extreme(true), sum_udaf()] {
            functions.push(first_last::spread(&aggregate, &[DataType::Float64], false).unwrap());
        }
        for function in functions {
            assert_eq!(window_from(&window(&function).unwrap().unwrap()).unwrap(), function);
        }
        assert!(window(&datafusion::functions_window::row_number::row_number_udwf()).unwrap().is_none());
    }

    /// By definition: a byte that stands in front tells the crates apart.
    #[test]
    fn bytes_of_another_kind_are_errors() {
        assert!(scalar_from(&[]).is_err());
        assert!(scalar_from(&[2, 2]).is_err());
        assert!(scalar_from(&[TAG, 200]).is_err());
    }
}
