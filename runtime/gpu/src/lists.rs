//! Lists and structs: their functions, rows made of them, and lists made of rows. A list on the device is a piece of a column, so that those of
//! groups are rows of a table that is sorted by the groups.

use std::any::Any;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::{SortOptions, cast};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::{NullHandling, ScalarValue};
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr, ScalarFunctionExpr};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::unnest::UnnestExec;
use onrush_kernels::Scalar;
use onrush_ops::{
    AggregateOp, Comparison, DeviceType, ExprGraph, ListOp, LiteralValue, Lookup, NodeId, Op, OverflowPolicy,
    StringSource, kind_of,
};

use super::aggregates::{self, AggregateResult};
use super::arithmetic;
use super::lower::{ColumnSource, Lowering, literal_of};
use super::placement::FragmentBuilder;
use super::strings::{self, is_text};
use super::unsupported::Unsupported;

const LONG: DeviceType = DeviceType::Number(Scalar::I64);
const WORD: DeviceType = DeviceType::Number(Scalar::U32);

/// The type of the elements of a list.
pub fn element_of(dtype: &DataType) -> Option<&FieldRef> {
    match dtype {
        DataType::List(of) | DataType::LargeList(of) | DataType::FixedSizeList(of, _) => Some(of),
        _ => None,
    }
}

pub fn is_list(dtype: &DataType) -> bool {
    element_of(dtype).is_some()
}

/// Whether values are pieces of other columns.
pub fn is_nested(dtype: &DataType) -> bool {
    matches!(dtype, DataType::Struct(_)) || is_list(dtype)
}

/// Whether a kernel that has a list knows where its elements are.
fn has_elements(graph: &ExprGraph, id: NodeId) -> bool {
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
fn list(lowering: &mut Lowering, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, Unsupported> {
    let id = lowering.expr(expr)?;
    if lowering.graph.kind(id) != DeviceType::ListView {
        return Err(Unsupported::NotA { expression: expr.to_string(), expected: "a list" });
    }
    match has_elements(&lowering.graph, id) {
        true => Ok(id),
        false => {
            lowering.requests.table = true;
            Err(Unsupported::feature(format!("an element of `{expr}`")))
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

/// The list below a cast that only widens integer elements and thus does not change their values. Else the expression itself.
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

fn length(graph: &mut ExprGraph, list: NodeId, kind: DeviceType) -> NodeId {
    graph.add(Op::List(ListOp::Length), &[list], kind)
}

/// A function of lists, or one that gives them.
pub fn call(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Result<NodeId, Unsupported> {
    let (name, args) = (function.name(), function.args());
    let refused = || Unsupported::Function(name.to_string());
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
        // Of lists of lists it counts what is in those.
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
) -> Result<NodeId, Unsupported> {
    let mut dtype = lowering.dtype(of)?;
    let mut id = list(lowering, of)?;
    for name in path {
        let name = literal_of(name).and_then(|name| name.try_as_str().flatten());
        let name = name.ok_or(Unsupported::feature("a field whose name is computed"))?;
        let DataType::Struct(fields) = &dtype else {
            return Err(Unsupported::NotA { expression: dtype.to_string(), expected: "a struct" });
        };
        let (place, found) =
            fields.find(name).ok_or_else(|| Unsupported::Unexpected(format!("no field `{name}`").into()))?;
        let kind = kind_of(found.data_type()).ok_or_else(|| Unsupported::of_type("a field", found.data_type()))?;
        id = lowering.graph.add(Op::List(ListOp::Field(place as u32)), &[id], kind);
        dtype = found.data_type().clone();
    }
    Ok(id)
}

/// A struct of columns of a table: what is computed is made one before.
fn materialised(lowering: &mut Lowering, function: &ScalarFunctionExpr) -> Result<NodeId, Unsupported> {
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
            // What it is made of may have to be made first.
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
        return Err(Unsupported::feature("a struct of computed values"));
    }
    lowering.structs.push(columns);
    let number = lowering.structs.len() as u32 - 1;
    Ok(lowering.graph.add(Op::List(ListOp::Struct(number)), &[], DeviceType::ListView))
}

/// Checks alternatives of which one list is chosen. All but empty lists and nulls must be one column, because a kernel reads one array of
/// elements.
pub fn are_of_one_column<'a>(lists: impl Iterator<Item = &'a Arc<dyn PhysicalExpr>>) -> Result<(), Unsupported> {
    let is_some =
        |list: &&Arc<dyn PhysicalExpr>| !is_empty(list) && !literal_of(list).is_some_and(ScalarValue::is_null);
    let mut some = lists.filter(is_some);
    let first = some.next();
    match some.all(|other| Some(other) == first) {
        true => Ok(()),
        false => Err(Unsupported::feature("CASE with lists of several columns")),
    }
}

pub fn or_empty(lowering: &mut Lowering, expr: &Arc<dyn PhysicalExpr>) -> Result<NodeId, Unsupported> {
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
fn has_text(lowering: &mut Lowering, of: NodeId, text: &str) -> Result<NodeId, Unsupported> {
    let Op::Input(column) = lowering.graph.node(of).op else {
        lowering.requests.table = true;
        return Err(Unsupported::feature("a search for a string in a computed list"));
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

/// Columns of the fields of structs.
fn fields_of(open: &mut FragmentBuilder, structs: &[usize]) -> Result<(), Unsupported> {
    let lowering = &mut open.lowering;
    let mut columns = Vec::new();
    for index in 0..lowering.columns.len() {
        if !structs.contains(&index) {
            columns.push(lowering.columns[index].clone());
            continue;
        }
        let DataType::Struct(fields) = lowering.schema.field(index).data_type().clone() else {
            return Err(Unsupported::Unexpected("a field of a value that is not a struct".into()));
        };
        let id = lowering.column(index)?;
        if !has_elements(&lowering.graph, id) {
            lowering.requests.table = true;
            return Err(Unsupported::feature("a field of a computed struct"));
        }
        for (place, field) in fields.iter().enumerate() {
            let kind = kind_of(field.data_type()).ok_or_else(|| Unsupported::of_type("a field", field.data_type()))?;
            let field = lowering.graph.add(Op::List(ListOp::Field(place as u32)), &[id], kind);
            columns.push(ColumnSource::Node(field));
        }
    }
    lowering.columns = columns;
    Ok(())
}

/// Rows of the elements of lists: as many as the longest of a row's lists has, with nulls behind the ends of the others.
pub fn unnest(open: &mut FragmentBuilder, unnest: &UnnestExec) -> Result<(), Unsupported> {
    let lists = unnest.list_column_indices();
    if lists.is_empty() {
        return fields_of(open, unnest.struct_column_indices());
    }
    if !unnest.struct_column_indices().is_empty() {
        return Err(Unsupported::feature("unnesting structs and lists in one step"));
    }
    if lists.iter().any(|list| list.depth != 1) {
        return Err(Unsupported::feature("exploding lists of lists"));
    }
    let lowering = &open.lowering;
    let is_read = |slot: &ColumnSource| match slot {
        ColumnSource::Source(_) => true,
        ColumnSource::Joined { .. } => false,
        ColumnSource::Node(id) => matches!(lowering.graph.node(*id).op, Op::Input(_)),
    };
    if !open.is_fresh() || !lists.iter().all(|list| is_read(&lowering.columns[list.index_in_input_schema])) {
        open.materialise();
    }
    let lowering = &mut open.lowering;
    let handling = &unnest.options().null_handling;
    let of_null = u8::from(*handling != NullHandling::Drop);
    let mut longest: Option<NodeId> = None;
    let mut found = Vec::new();
    let place = lowering.graph.add(Op::RepeatIndex, &[], WORD);
    for unnested in lists {
        let index = unnested.index_in_input_schema;
        let dtype = lowering.schema.field(index).data_type().clone();
        let element = element_of(&dtype).and_then(|of| kind_of(of.data_type()));
        let element = element.ok_or_else(|| Unsupported::of_type("exploding values", &dtype))?;
        let of = lowering.column(index)?;
        let graph = &mut lowering.graph;
        let mut count = length(graph, of, WORD);
        let of_null = graph.number(Scalar::U32, of_null.into());
        count = graph.add(Op::Coalesce, &[count, of_null], WORD);
        if *handling == NullHandling::PreserveAndExpandEmpty {
            let (none, one) = (graph.number(Scalar::U32, 0), graph.number(Scalar::U32, 1));
            let is_empty = graph.add(Op::Compare(Comparison::Equal), &[count, none], DeviceType::Bool);
            count = graph.add(Op::IfElse, &[is_empty, one, count], WORD);
        }
        longest = Some(match longest {
            None => count,
            Some(other) => {
                let is_shorter = graph.add(Op::Compare(Comparison::Less), &[other, count], DeviceType::Bool);
                graph.add(Op::IfElse, &[is_shorter, count, other], WORD)
            }
        });
        let (place, one) =
            (graph.add(Op::Convert(OverflowPolicy::Error), &[place], LONG), graph.number(Scalar::I64, 1));
        let number = graph.add(Op::Add, &[place, one], LONG);
        found.push((index, graph.add(Op::List(ListOp::Element), &[of, number], element)));
    }
    for (index, element) in found {
        lowering.columns[index] = ColumnSource::Node(element);
    }
    open.lowering.repeat = longest;
    Ok(())
}

/// Whether an aggregate makes lists.
pub fn collects(aggregate: &AggregateExec) -> bool {
    aggregate.aggr_expr().iter().any(|function| function.fun().name() == "array_agg")
}

/// Lists of groups: rows sorted by group, in the order that the lists are to have; those that are left out come last.
pub fn aggregate(open: &mut FragmentBuilder, aggregate: &AggregateExec) -> Result<(), Unsupported> {
    let group = aggregate.group_expr();
    if !group.is_single() {
        return Err(Unsupported::feature("a grouping set"));
    }
    let functions: Vec<_> = aggregate.aggr_expr().iter().zip(aggregate.filter_expr()).collect();
    let refused = |why: &'static str| Err(Unsupported::form("array_agg", why));
    let mut how = None;
    for (function, filter) in &functions {
        if function.fun().name() != "array_agg" {
            if matches!(function.fun().name(), "first_value" | "last_value") {
                return refused("with `first_value` or `last_value` in one aggregate");
            }
            continue;
        }
        if function.is_distinct() {
            return refused("of distinct values");
        }
        let args = function.expressions();
        let [arg] = &args[..] else { return refused("of several columns") };
        // What decides which rows are in a list, and in which order.
        let past_nulls = function.ignore_nulls().then(|| Arc::clone(arg));
        // One that a rule turned round gathers the rows in the other order, and reads them from the end.
        let order = function.order_bys().iter().map(|key| match function.is_reversed() {
            true => PhysicalSortExpr::new(Arc::clone(&key.expr), !key.options),
            false => key.clone(),
        });
        let this = (order.collect::<Vec<_>>(), filter.as_ref().map(Arc::clone), past_nulls);
        if how.get_or_insert_with(|| this.clone()) != &this {
            return refused("with several orders or filters in one aggregate");
        }
    }
    let Some((order, filter, past_nulls)) = how else { return refused("without arguments") };

    // The rows in order, with keys and values as separate columns.
    if !open.can_be_sorted() {
        open.materialise();
    }
    let mut fields: Vec<FieldRef> = open.lowering.schema.fields().iter().map(Arc::clone).collect();
    let mut column = |lowering: &mut Lowering, dtype: DataType, id: NodeId| {
        fields.push(Arc::new(Field::new(format!("of a list {}", fields.len()), dtype, true)));
        lowering.columns.push(ColumnSource::Node(id));
        fields.len() - 1
    };
    let mut keys = Vec::new();
    let ascending = |expr: &Arc<dyn PhysicalExpr>| PhysicalSortExpr::new_default(Arc::clone(expr));
    for (key, _) in group.expr() {
        let dtype = open.lowering.dtype(key)?;
        keys.extend(match dtype.is_floating() {
            // The rows of a group lie together only if its floats are one to the order, too.
            true => {
                let value = open.lowering.key(key)?;
                let value = arithmetic::as_group(&mut open.lowering.graph, value);
                vec![open.ordered(value, SortOptions::default())]
            }
            false => open.sort_keys(&ascending(key))?,
        });
    }
    let lowering = &mut open.lowering;
    let mut by_group = Vec::new();
    for (key, _) in group.expr() {
        let (dtype, id) = (lowering.dtype(key)?, lowering.key(key)?);
        let id = arithmetic::as_group(&mut lowering.graph, id);
        by_group.push(column(lowering, dtype, id));
    }
    let filter = filter.as_ref().map(|filter| lowering.boolean(filter)).transpose()?;
    let there = match past_nulls {
        None => None,
        Some(value) => {
            let value = lowering.expr(&value)?;
            let absent = lowering.graph.add(Op::IsNull, &[value], DeviceType::Bool);
            Some(lowering.graph.add(Op::Not, &[absent], DeviceType::Bool))
        }
    };
    let no = lowering.graph.bool(false);
    let passes =
        [filter, there].into_iter().flatten().reduce(|a, b| lowering.graph.add(Op::And, &[a, b], DeviceType::Bool));
    let passes = passes.map(|passes| lowering.graph.add(Op::Coalesce, &[passes, no], DeviceType::Bool));
    let mut passing = None;
    if let Some(passes) = passes {
        let lacks = lowering.graph.add(Op::Not, &[passes], DeviceType::Bool);
        passing = Some(column(lowering, DataType::Boolean, passes));
        keys.push(open.ordered(lacks, SortOptions::default()));
    }
    for by in &order {
        keys.extend(open.sort_keys(by)?);
    }
    let lowering = &mut open.lowering;
    let mut values = Vec::new();
    for (function, _) in &functions {
        values.push(match (function.fun().name(), &function.expressions()[..]) {
            ("array_agg", [arg]) => {
                let dtype = lowering.dtype(arg)?;
                let id = if is_nested(&dtype) { lowering.expr(arg)? } else { lowering.key(arg)? };
                Some(column(lowering, dtype, id))
            }
            _ => None,
        });
    }
    open.lowering.schema = Arc::new(Schema::new(fields));
    open.order = (!keys.is_empty()).then_some(keys);
    open.materialise();

    let lowering = &mut open.lowering;
    let number = DeviceType::Number(Scalar::U64);
    let row = lowering.graph.add(Op::RowNumber, &[], number);
    let passing = passing.map(|passing| lowering.column(passing)).transpose()?;
    let counted = passing.map(|passing| {
        let null = lowering.graph.null(DeviceType::Bool);
        lowering.graph.add(Op::IfElse, &[passing, passing, null], DeviceType::Bool)
    });
    let keys = by_group.into_iter().map(|key| lowering.column_as(key, false)).collect::<Result<Vec<_>, _>>()?;
    open.aggregate_by(aggregate, keys, &mut |lowering, accumulators, index| {
        let (function, filter) = functions[index];
        let Some(column) = values[index] else {
            return aggregates::aggregate(lowering, accumulators, function, filter.as_ref()).map(|one| vec![one]);
        };
        let value = lowering.column_as(column, false)?;
        let Op::Input(input) = lowering.graph.node(value).op else {
            return Err(Unsupported::Unexpected("a list of no column".into()));
        };
        let row = accumulators.add(AggregateOp::MinUnsigned, Some(row));
        Ok(vec![AggregateResult::Rows { row, count: accumulators.add(AggregateOp::Count, counted), input }])
    })
}
