//! How nodes and functions of plans are written: all of them by one codec, functions with their parameters.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, BinaryArray, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Schema, UInt64Type};
use datafusion::common::internal_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, WindowUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_distributed::DistributedCodec;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::PhysicalExprNode;
use onrush_calls::{CallExec, Function};
use onrush_expr::error::external;
use onrush_expr::ipc_type::IpcType;
use onrush_logical::ops::describe::{DescribeExec, Place};
use onrush_wire::{Class, Diagnostic};
use prost::Message;
use serde::{Deserialize, Serialize};

/// The first byte of a function of DataFusion, which has its name alone. A function of ours begins with the byte of its
/// crate.
const OWN: u8 = 0;
const EXPR: u8 = 1;
const SQL: u8 = 2;
const LOGICAL: u8 = 3;

/// The first byte of a node of `datafusion-distributed`, and of ours.
const NODE: u8 = 0;
const DESCRIBE: u8 = 1;
const CALLS: u8 = 2;

/// Calls as data: the function, the number and the argument of each call, and the columns that are wanted.
#[derive(Serialize, Deserialize)]
struct CallsForm {
    function: Function,
    calls: Vec<(u64, Vec<u8>)>,
    columns: Vec<usize>,
}

/// A description as data, without its inputs.
#[derive(Serialize, Deserialize)]
struct DescribeForm {
    /// Expressions as messages of datafusion-proto.
    values: Vec<Vec<u8>>,
    places: Vec<Place>,
    names: Vec<String>,
    rows: IpcType,
}

/// Functions of one kind, by name.
type FunctionsByName<F> = HashMap<String, Arc<F>>;

static SCALARS: LazyLock<FunctionsByName<ScalarUDF>> = LazyLock::new(|| {
    let all = datafusion::functions::all_default_functions().into_iter();
    let all = all.chain(datafusion::functions_nested::all_default_nested_functions());
    all.map(|function| (function.name().to_string(), function)).collect()
});

static AGGREGATES: LazyLock<FunctionsByName<AggregateUDF>> = LazyLock::new(|| {
    let all = datafusion::functions_aggregate::all_default_aggregate_functions().into_iter();
    all.map(|function| (function.name().to_string(), function)).collect()
});

static WINDOWS: LazyLock<FunctionsByName<WindowUDF>> = LazyLock::new(|| {
    let all = datafusion::functions_window::all_default_window_functions().into_iter();
    all.map(|function| (function.name().to_string(), function)).collect()
});

static HIGHER: LazyLock<FunctionsByName<HigherOrderUDF>> = LazyLock::new(|| {
    let all = datafusion::functions_nested::all_default_higher_order_functions().into_iter();
    all.map(|function| (function.name().to_string(), function)).collect()
});

/// Advice for what does not travel.
const IN_SESSION: &str = "`persist()` the frame before this step: its rows are then in the session, which can do it";

/// Fails unless the worker finds the very function under its name.
fn by_name<F: PartialEq>(known: &FunctionsByName<F>, name: &str, function: &F, buf: &mut Vec<u8>) -> Result<()> {
    match known.get(name) {
        Some(found) if found.as_ref() == function => {
            buf.push(OWN);
            Ok(())
        }
        _ => {
            let message = format!("the function `{name}` cannot run on the workers of a cluster");
            Err(external(Diagnostic::error(Class::Plan, "not-supported", message).help(IN_SESSION)))
        }
    }
}

fn found<F>(known: &FunctionsByName<F>, name: &str) -> Result<Arc<F>> {
    match known.get(name) {
        Some(function) => Ok(Arc::clone(function)),
        None => internal_err!("a worker knows no function `{name}`"),
    }
}

/// Aggregates of DataFusion that are told whether their rows come in order.
const SORTING: [&str; 5] = ["array_agg", "first_value", "last_value", "nth_value", "string_agg"];

/// Whether a function is DataFusion's own of its name, whatever it was told.
fn is_default(function: &AggregateUDF) -> bool {
    let kind = |function: &AggregateUDF| {
        let inner: &dyn Any = function.inner().as_ref();
        inner.type_id()
    };
    AGGREGATES.get(function.name()).is_some_and(|own| kind(own) == kind(function))
}

fn unknown<T>(name: &str, buf: &[u8]) -> Result<T> {
    internal_err!("the function `{name}` came in an unknown form ({:?})", buf.first())
}

/// Functions, the nodes of `datafusion-distributed`, and those of ours that travel.
#[derive(Debug)]
pub(crate) struct Codec;

impl PhysicalExtensionCodec for Codec {
    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buf: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some(describe) = node.downcast_ref::<DescribeExec>() {
            buf.push(DESCRIBE);
            let (values, places, names, schema) = describe.parts();
            let written = |value| Ok(converter.physical_expr_to_proto(value, self)?.encode_to_vec());
            let form = DescribeForm {
                values: values.iter().map(written).collect::<Result<_>>()?,
                places: places.to_vec(),
                names: names.to_vec(),
                rows: IpcType(DataType::Struct(schema.fields().clone())),
            };
            buf.extend(postcard::to_stdvec(&form).map_err(|e| DataFusionError::External(Box::new(e)))?);
            return Ok(());
        }
        if let Some(calls) = node.downcast_ref::<CallExec>() {
            buf.push(CALLS);
            let (function, arguments, columns) = calls.parts();
            let (numbers, bytes) =
                (arguments.column(0).as_primitive::<UInt64Type>(), arguments.column(1).as_binary::<i32>());
            let calls = numbers.values().iter().zip(bytes.iter().flatten());
            let form = CallsForm {
                function: function.as_ref().clone(),
                calls: calls.map(|(number, bytes)| (*number, bytes.to_vec())).collect(),
                columns: columns.to_vec(),
            };
            buf.extend(postcard::to_stdvec(&form).map_err(|e| DataFusionError::External(Box::new(e)))?);
            return Ok(());
        }
        buf.push(NODE);
        let name = node.name().to_string();
        DistributedCodec.try_encode(node, buf, converter).map_err(|e| {
            let message = format!("the step `{name}` cannot run on the workers of a cluster");
            external(Diagnostic::error(Class::Plan, "not-supported", message).note(e.to_string()).help(IN_SESSION))
        })
    }

    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match buf.split_first() {
            Some((&NODE, rest)) => DistributedCodec.try_decode(rest, inputs, context, converter),
            Some((&DESCRIBE, rest)) => {
                let form: DescribeForm =
                    postcard::from_bytes(rest).map_err(|e| DataFusionError::External(Box::new(e)))?;
                let IpcType(DataType::Struct(fields)) = form.rows else { return internal_err!("rows without columns") };
                // The columns of all inputs are one row.
                let columns = inputs.iter().flat_map(|input| input.schema().fields().to_vec());
                let row = Schema::new(columns.collect::<Vec<_>>());
                let decode = PhysicalPlanDecodeContext::new(context, self);
                let value = |bytes: Vec<u8>| {
                    let node =
                        PhysicalExprNode::decode(&bytes[..]).map_err(|e| DataFusionError::External(Box::new(e)))?;
                    converter.proto_to_physical_expr(&node, &row, &decode)
                };
                let values = form.values.into_iter().map(value).collect::<Result<_>>()?;
                let schema = Arc::new(Schema::new(fields));
                Ok(Arc::new(DescribeExec::new(
                    inputs.to_vec(),
                    values,
                    Arc::new(form.places),
                    form.names.into(),
                    schema,
                )))
            }
            Some((&CALLS, rest)) => {
                let form: CallsForm = postcard::from_bytes(rest).map_err(|e| DataFusionError::External(Box::new(e)))?;
                let numbers = UInt64Array::from_iter_values(form.calls.iter().map(|(number, _)| *number));
                let bytes = BinaryArray::from_iter_values(form.calls.iter().map(|(_, bytes)| bytes));
                let arguments = RecordBatch::try_from_iter([
                    ("n", Arc::new(numbers) as ArrayRef),
                    ("argument", Arc::new(bytes) as ArrayRef),
                ])?;
                Ok(Arc::new(CallExec::new(Arc::new(form.function), arguments, form.columns)?))
            }
            _ => internal_err!("a step came in an unknown form"),
        }
    }

    fn try_encode_udf(&self, function: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        let ours = match onrush_expr::serialize::scalar(function)? {
            Some(bytes) => Some(bytes),
            None => onrush_sql::serialize::scalar(function)?,
        };
        match ours {
            Some(bytes) => buf.extend(bytes),
            None => by_name(&SCALARS, function.name(), function, buf)?,
        }
        Ok(())
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        match buf.first() {
            Some(&OWN) => found(&SCALARS, name),
            Some(&EXPR) => onrush_expr::serialize::scalar_from(buf),
            Some(&SQL) => onrush_sql::serialize::scalar_from(buf),
            _ => unknown(name, buf),
        }
    }

    fn try_encode_udaf(&self, function: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        match onrush_expr::serialize::aggregate(function)? {
            Some(bytes) => buf.extend(bytes),
            // The planner has told the function that its rows come in order; without it, it sorts them itself.
            None if SORTING.contains(&function.name()) && is_default(function) => buf.push(OWN),
            None => by_name(&AGGREGATES, function.name(), function, buf)?,
        }
        Ok(())
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        match buf.first() {
            Some(&OWN) => found(&AGGREGATES, name),
            Some(&EXPR) => onrush_expr::serialize::aggregate_from(buf),
            _ => unknown(name, buf),
        }
    }

    fn try_encode_udwf(&self, function: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        let ours = match onrush_expr::serialize::window(function)? {
            Some(bytes) => Some(bytes),
            None => onrush_logical::serialize::window(function)?,
        };
        match ours {
            Some(bytes) => buf.extend(bytes),
            None => by_name(&WINDOWS, function.name(), function, buf)?,
        }
        Ok(())
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        match buf.first() {
            Some(&OWN) => found(&WINDOWS, name),
            Some(&EXPR) => onrush_expr::serialize::window_from(buf),
            Some(&LOGICAL) => onrush_logical::serialize::window_from(buf),
            _ => unknown(name, buf),
        }
    }

    fn try_encode_higher_order_function(&self, function: &HigherOrderUDF, buf: &mut Vec<u8>) -> Result<()> {
        by_name(&HIGHER, function.name(), function, buf)
    }

    fn try_decode_higher_order_function(&self, name: &str, buf: &[u8]) -> Result<Arc<HigherOrderUDF>> {
        if buf.first() == Some(&OWN) { found(&HIGHER, name) } else { unknown(name, buf) }
    }
}
