//! Lowers functions of lists and structs. A list on the device is a range of rows of a column.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use onrush_kernels::Scalar;
use onrush_ops::{
    Comparison, DeviceType, ExprGraph, ListOp, LiteralValue, Lookup, NodeId, Op, OverflowPolicy, StringSource, kind_of,
};

use super::strings::{self, is_text};
use super::{Lowering, literal_of};
use crate::arithmetic::element_of;
use crate::cpu_reason::CpuReason;

const LONG: DeviceType = DeviceType::Number(Scalar::I64);
const WORD: DeviceType = DeviceType::Number(Scalar::U32);

pub fn is_list(dtype: &DataType) -> bool {
    element_of(dtype).is_some()
}

/// Whether values are pieces of other columns.
pub fn is_nested(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Struct(_)) || is_list(dtype)
}

/// Whether a kernel that has a list knows where its elements are.
pub fn has_elements(graph: &ExprGraph, id: NodeId) -> bool {
    let node = graph.node(id);
    match node.op {
        Op::Input(_) | Op::BuildColumn(..) | Op::Gather(_) | Op::Null | Op::Literal(_) => true,
        Op::List(ListOp::Rows(_)) => true,
        Op::List(ListOp::Element | ListOp::Field(_) | ListOp::Slice) => has_elements(graph, node.args[0]),
        Op::IfElse => node.args[1..].iter().all(|arg| has_elements(graph, *arg)),
        Op::Coalesce => node.args.iter().all(|arg| has_elements(graph, *arg)),
        _ => false,
    }
}

/// A list whose elements are read.
fn list(lowering: &mut Lowering, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
    let id = lowering.expr(expr)?;
    if lowering.graph.kind(id) != DeviceType::ListView {
        return Err(CpuReason::NotA { expression: expr.to_string(), expected: "a list" });
    }
    match has_elements(&lowering.graph, id) {
        true => Ok(id),
        false => {
            lowering.requests.table = true;
            Err(CpuReason::feature(format!("an element of `{expr}`")))
        }
    }
}

/// Whether an expression gives a text of a list.
pub fn is_element(lowering: &Lowering, expr: &Arc<dyn PhysicalExpr>) -> bool {
    let any: &dyn Any = expr.as_ref();
    let Some(function) = any.downcast_ref::<ScalarFunctionExpr>() else { return false };
    let is_of_list = |arg: &Arc<dyn PhysicalExpr>| lowering.dtype(arg).is_ok_and(|dtype| is_nested(&dtype));
    is_text(function.return_type()) && function.args().iter().any(is_of_list)
}

/// The list below a cast that only widens integer elements and thus does not change their values. Else the expression
/// itself.
fn uncast<'a>(lowering: &Lowering, expr: &'a Arc<dyn PhysicalExpr>) -> &'a Arc<dyn PhysicalExpr> {
    let any: &dyn Any = expr.as_ref();
    let Some(cast) = any.downcast_ref::<CastExpr>() else { return expr };
    let Ok(from) = lowering.dtype(cast.expr()) else { return expr };
    let stays = element_of(&from).zip(element_of(cast.cast_type())).is_some_and(|(from, to)| {
        let (from, to) = (from.data_type(), to.data_type());
        let is_wider = from.primitive_width() < to.primitive_width();
        *to == DataType::Int64 && from.is_integer() && is_wider
    });
    if stays { cast.expr() } else { expr }
}

pub fn length(graph: &mut ExprGraph, list: NodeId, kind: DeviceType) -> NodeId {
    graph.add(Op::List(ListOp::Length), &[list], kind)
}

/// A function of lists, or one that gives them.
pub fn call(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Result<NodeId, CpuReason> {
    let (name, args) = (function.name(), function.args());
    let refused = || CpuReason::Function(name.to_string());
    let kind = kind_of(function.return_type()).ok_or_else(refused)?;
    let types = args.iter().map(|arg| lowering.dtype(arg)).collect::<Result<Vec<_>, _>>()?;
    let of = types.first().and_then(element_of).map(|field| field.data_type().clone());
    let is_one = |arg: &Arc<dyn PhysicalExpr>| literal_of(arg) == Some(&ScalarValue::Int64(Some(1)));
    match (name, args, of) {
        ("array_length" | "len", [of], Some(_)) => {
            let of = lowering.expr(of)?;
            Ok(length(&mut lowering.graph, of, kind))
        }
        ("array_length", [of, dimension], Some(_)) if is_one(dimension) => {
            let of = lowering.expr(of)?;
            Ok(length(&mut lowering.graph, of, kind))
        }
        // For lists of lists it counts the elements of the inner lists.
        ("cardinality", [of], Some(element)) if !is_list(&element) => {
            let of = lowering.expr(of)?;
            Ok(length(&mut lowering.graph, of, kind))
        }
        ("empty", [of], Some(_)) => {
            let of = lowering.expr(of)?;
            let length = length(&mut lowering.graph, of, WORD);
            let none = lowering.graph.number(Scalar::U32, 0);
            Ok(lowering.graph.add(Op::Compare(Comparison::Equal), &[length, none], DeviceType::Bool))
        }
        ("array_element", [of, index], Some(_)) if types[1].is_integer() => {
            let is_short =
                matches!(literal_of(index), Some(ScalarValue::Int64(Some(index))) if i32::try_from(*index).is_ok());
            let (of, mut index) = (list(lowering, of)?, lowering.expr(index)?);
            // As an offset of the list, or an error.
            if !is_short && !matches!(types[0], DataType::LargeList(_)) {
                index =
                    lowering.graph.add(Op::Convert(OverflowPolicy::Error), &[index], DeviceType::Number(Scalar::I32));
            }
            let index = lowering.graph.add(Op::Convert(OverflowPolicy::Error), &[index], LONG);
            Ok(lowering.graph.add(Op::List(ListOp::Element), &[of, index], kind))
        }
        ("array_slice", [of, from, to, step @ ..], Some(_))
            if matches!(types[0], DataType::List(_))
                && types[1].is_integer()
                && types[2].is_integer()
                && step.iter().all(is_one) =>
        {
            let of = lowering.expr(of)?;
            let mut args = vec![of];
            for edge in [from, to] {
                let edge = lowering.expr(edge)?;
                args.push(lowering.graph.add(Op::Convert(OverflowPolicy::Error), &[edge], LONG));
            }
            Ok(lowering.graph.add(Op::List(ListOp::Slice), &args, kind))
        }
        ("array_has", [of, item], Some(element)) if is_text(&element) => {
            let text = literal_of(item).and_then(|value| value.try_as_str().flatten()).ok_or_else(refused)?;
            let of = list(lowering, of)?;
            has_text(lowering, of, text)
        }
        ("array_has", [of, item], Some(element)) if element == types[1] && !is_nested(&element) => {
            let (of, item) = (list(lowering, uncast(lowering, of))?, lowering.expr(item)?);
            Ok(lowering.graph.add(Op::List(ListOp::Contains), &[of, item], DeviceType::Bool))
        }
        ("array_min" | "array_max", [of], Some(element))
            if element == *function.return_type() && !is_nested(&element) =>
        {
            let of = list(lowering, of)?;
            let op = if name == "array_min" { ListOp::Min } else { ListOp::Max };
            Ok(lowering.graph.add(Op::List(op), &[of], kind))
        }
        ("get_field", [of, path @ ..], None) if !path.is_empty() => field(lowering, of, path),
        ("named_struct" | "struct", _, _) => materialised(lowering, function),
        _ => Err(refused()),
    }
}

/// A field of a struct, or of one in it.
fn field(
    lowering: &mut Lowering,
    of: &Arc<dyn PhysicalExpr>,
    path: &[Arc<dyn PhysicalExpr>],
) -> Result<NodeId, CpuReason> {
    let mut dtype = lowering.dtype(of)?;
    let mut id = list(lowering, of)?;
    for name in path {
        let name = literal_of(name).and_then(|name| name.try_as_str().flatten());
        let name = name.ok_or(CpuReason::feature("a field whose name is computed"))?;
        let DataType::Struct(fields) = &dtype else {
            return Err(CpuReason::NotA { expression: dtype.to_string(), expected: "a struct" });
        };
        let (place, found) =
            fields.find(name).ok_or_else(|| CpuReason::Unexpected(format!("no field `{name}`").into()))?;
        let kind = kind_of(found.data_type()).ok_or_else(|| CpuReason::of_type("a field", found.data_type()))?;
        id = lowering.graph.add(Op::List(ListOp::Field(place as u32)), &[id], kind);
        dtype = found.data_type().clone();
    }
    Ok(id)
}

/// A struct of columns of a table: what is computed is made one before.
fn materialised(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Result<NodeId, CpuReason> {
    let args = function.args();
    let values: Vec<&Arc<dyn PhysicalExpr>> = match function.name() {
        "struct" => args.iter().collect(),
        _ => args.iter().skip(1).step_by(2).collect(),
    };
    let mut columns = Vec::new();
    let mut lacks = !lowering.is_as_read();
    for value in values {
        let any: &dyn Any = value.as_ref();
        let column = lowering.materialised(value).or_else(|| any.downcast_ref::<Column>().map(Column::index));
        let Some(column) = column else {
            // Its arguments may have to be materialised first.
            strings::column(lowering, value)?;
            lowering.requests.text(value);
            lacks = true;
            continue;
        };
        let id = match is_text(lowering.schema.field(column).data_type()) {
            true => lowering.column_as(column, false)?,
            false => lowering.column(column)?,
        };
        match lowering.graph.node(id).op {
            Op::Input(input) => columns.push(input),
            _ => lacks = true,
        }
    }
    if lacks {
        lowering.requests.table = true;
        return Err(CpuReason::feature("a struct of computed values"));
    }
    lowering.structs.push(columns);
    let number = lowering.structs.len() as u32 - 1;
    Ok(lowering.graph.add(Op::List(ListOp::Struct(number)), &[], DeviceType::ListView))
}

/// Checks alternatives of which one list is chosen. All but empty lists and nulls must be one column, because a kernel
/// reads one array of elements.
pub fn are_of_one_column<'a>(lists: impl Iterator<Item = &'a Arc<dyn PhysicalExpr>>) -> Result<(), CpuReason> {
    let is_some =
        |list: &&Arc<dyn PhysicalExpr>| !is_empty(list) && !literal_of(list).is_some_and(ScalarValue::is_null);
    let mut some = lists.filter(is_some);
    let first = some.next();
    match some.all(|other| Some(other) == first) {
        true => Ok(()),
        false => Err(CpuReason::feature("CASE with lists of several columns")),
    }
}

pub fn or_empty(lowering: &mut Lowering, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, CpuReason> {
    match is_empty(expr) {
        true => Ok(lowering.graph.literal(DeviceType::ListView, LiteralValue::U64(0))),
        false => lowering.expr(expr),
    }
}

fn is_empty(expr: &Arc<dyn PhysicalExpr>) -> bool {
    match literal_of(expr) {
        Some(ScalarValue::List(list)) => !list.is_null(0) && list.value(0).is_empty(),
        Some(ScalarValue::LargeList(list)) => !list.is_null(0) && list.value(0).is_empty(),
        _ => false,
    }
}

/// Each different text is compared once.
fn has_text(lowering: &mut Lowering, of: NodeId, text: &str) -> Result<NodeId, CpuReason> {
    let Op::Input(column) = lowering.graph.node(of).op else {
        lowering.requests.table = true;
        return Err(CpuReason::feature("a search for a string in a computed list"));
    };
    let text = text.to_string();
    let evaluate = move |texts: &ArrayRef| -> onrush_ops::Result<ArrayRef> {
        let texts = cast(texts, &DataType::Utf8View)?;
        let same = texts.as_string_view().iter().map(|one| Some(one == Some(text.as_str())));
        Ok(Arc::new(same.collect::<BooleanArray>()))
    };
    lowering.lookups.push(Lookup::Strings { of: StringSource::Elements(column), evaluate: Arc::new(evaluate) });
    let table = lowering.lookups.len() as u32 - 1;
    Ok(lowering.graph.add(Op::List(ListOp::ContainsString(table)), &[of], DeviceType::Bool))
}
