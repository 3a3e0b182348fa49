//! Rows of the elements of lists, and columns of the fields of structs.

use arrow::datatypes::DataType;
use datafusion::common::NullHandling;
use datafusion::physical_plan::unnest::UnnestExec;
use onrush_kernels::Scalar;
use onrush_ops::{Comparison, DeviceType, ListOp, NodeId, Op, OverflowPolicy, kind_of};

use super::arithmetic::element_of;
use super::cpu_reason::CpuReason;
use super::fragment_builder::FragmentBuilder;
use super::lower::ColumnSource;
use super::lower::lists::{has_elements, length};

const LONG: DeviceType = DeviceType::Number(Scalar::I64);
const WORD: DeviceType = DeviceType::Number(Scalar::U32);

/// Columns of the fields of structs.
fn fields_of(open: &mut FragmentBuilder, structs: &[usize]) -> Result<(), CpuReason> {
    let lowering = &mut open.lowering;
    let mut columns = Vec::new();
    for index in 0..lowering.columns.len() {
        if !structs.contains(&index) {
            columns.push(lowering.columns[index].clone());
            continue;
        }
        let DataType::Struct(fields) = lowering.schema.field(index).data_type().clone() else {
            return Err(CpuReason::Unexpected("a field of a value that is not a struct".into()));
        };
        let id = lowering.column(index)?;
        if !has_elements(&lowering.graph, id) {
            lowering.requests.table = true;
            return Err(CpuReason::feature("a field of a computed struct"));
        }
        for (place, field) in fields.iter().enumerate() {
            let kind = kind_of(field.data_type()).ok_or_else(|| CpuReason::of_type("a field", field.data_type()))?;
            let field = lowering.graph.add(Op::List(ListOp::Field(place as u32)), &[id], kind);
            columns.push(ColumnSource::Node(field));
        }
    }
    lowering.columns = columns;
    Ok(())
}

/// Rows of the elements of lists: as many as the longest of a row's lists has, with nulls behind the ends of the
/// others.
pub fn unnest(open: &mut FragmentBuilder, unnest: &UnnestExec) -> Result<(), CpuReason> {
    let lists = unnest.list_column_indices();
    if lists.is_empty() {
        return fields_of(open, unnest.struct_column_indices());
    }
    if !unnest.struct_column_indices().is_empty() {
        return Err(CpuReason::feature("unnesting structs and lists in one step"));
    }
    if lists.iter().any(|list| list.depth != 1) {
        return Err(CpuReason::feature("exploding lists of lists"));
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
        let element = element.ok_or_else(|| CpuReason::of_type("exploding values", &dtype))?;
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
