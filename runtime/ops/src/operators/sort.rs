//! Sort and top-k of a pipeline's rows.

use std::sync::Arc;

use onrush_device::{Buffer, Grid};
use onrush_kernels::sort::{sort as sort_by, sort_keys};
use onrush_kernels::top_k::{Extreme, TopK as TopRows};
use onrush_kernels::{Column, Scalar, gather};

use crate::codegen::top_k::{self, Candidates, Sample};
use crate::codegen::{ColumnRef, KernelBody, Parameters, RowSource, SideInputs};
use crate::column::dictionary::Dictionary;
use crate::column::{DeviceColumn, DeviceTable};
use crate::ir::expr::{Comparison, DeviceType, ExprGraph, LiteralValue, NodeId, Op, OverflowPolicy};
use crate::launch::stream_context::StreamContext;
use crate::launch::{launch, launch_grid};
use crate::operators::write;
use crate::pipeline::{Output, Sort, SortKey, TopK};
use crate::{Error, Result};

const UNSIGNED: DeviceType = DeviceType::Number(Scalar::U64);
const SHORT: DeviceType = DeviceType::Number(Scalar::U32);

/// Some bits of a sort key: `node` without `low`.
struct KeyField {
    node: NodeId,
    low: u64,
    bits: u32,
    /// These bits are arbitrary in rows without a value.
    nullable: bool,
}

/// A sort word: fields side by side in one number of 32 or 64 bits.
struct SortWord {
    node: NodeId,
    scalar: Scalar,
}

/// The lowest and the highest sort key that a column can have.
fn bounds(body: &KernelBody, key: &SortKey) -> Option<(u64, u64)> {
    let kind = body.graph.kind(key.value);
    let ordered = |value: i128| match kind {
        UNSIGNED => u64::try_from(value).ok(),
        _ => i64::try_from(value).ok().map(|value| value as u64 ^ 1 << 63),
    };
    let (low, high) = match kind {
        DeviceType::Number(Scalar::F32) => (i32::MIN.into(), i32::MAX.into()),
        _ => body.range(key.value)?,
    };
    let (low, high) = (ordered(low)?, ordered(high)?);
    match (low <= high, key.descending) {
        (false, _) => None,
        (true, false) => Some((low, high)),
        (true, true) => Some((!high, !low)),
    }
}

/// The keys as fields, the most important first. Keys whose values are all equal are left out.
fn fields(body: &KernelBody, keys: &[SortKey]) -> Vec<KeyField> {
    let values: Vec<NodeId> = keys.iter().map(|key| key.value).collect();
    let mut fields = Vec::new();
    for (key, nullable) in keys.iter().zip(body.nullable(&values)) {
        if nullable {
            fields.push(KeyField { node: key.absent, low: 0, bits: 1, nullable: false });
        }
        let (low, high) = bounds(body, key).unwrap_or((0, u64::MAX));
        fields.push(KeyField { node: key.key, low, bits: 64 - (high - low).leading_zeros(), nullable });
    }
    fields.retain(|field| field.bits > 0);
    fields
}

/// Fields side by side, as many as 64 bits have room for.
fn words(graph: &mut ExprGraph, fields: &[KeyField]) -> Vec<SortWord> {
    let mut words: Vec<(NodeId, u32)> = Vec::new();
    for field in fields {
        let literal = |graph: &mut ExprGraph, value: u64| graph.literal(UNSIGNED, LiteralValue::U64(value));
        let mut node = field.node;
        if field.low != 0 {
            let low = literal(graph, field.low);
            node = graph.add(Op::Subtract, &[node, low], UNSIGNED);
        }
        if field.nullable && field.bits < 64 {
            let mask = literal(graph, (1 << field.bits) - 1);
            node = graph.add(Op::BitAnd, &[node, mask], UNSIGNED);
        }
        match words.last_mut() {
            Some((word, bits)) if *bits + field.bits <= 64 => {
                let by = literal(graph, field.bits.into());
                let upper = graph.add(Op::ShiftLeft, &[*word, by], UNSIGNED);
                *word = graph.add(Op::BitOr, &[upper, node], UNSIGNED);
                *bits += field.bits;
            }
            _ => words.push((node, field.bits)),
        }
    }
    let narrow = |(node, bits): (NodeId, u32)| match bits {
        0..=32 => SortWord { node: graph.add(Op::Convert(OverflowPolicy::Error), &[node], SHORT), scalar: Scalar::U32 },
        _ => SortWord { node, scalar: Scalar::U64 },
    };
    words.into_iter().map(narrow).collect()
}

/// The value of a sort key from `input`, which is what rows were sorted by: the key without `low`.
fn from_key(graph: &mut ExprGraph, input: NodeId, low: u64, (kind, descending): (DeviceType, bool)) -> NodeId {
    let mut key = input;
    if graph.kind(input) != UNSIGNED {
        key = graph.add(Op::Convert(OverflowPolicy::Error), &[key], UNSIGNED);
    }
    if low != 0 {
        let low = graph.literal(UNSIGNED, LiteralValue::U64(low));
        key = graph.add(Op::Add, &[key, low], UNSIGNED);
    }
    let mut flip = |graph: &mut ExprGraph, bits: u64| {
        let bits = graph.literal(UNSIGNED, LiteralValue::U64(bits));
        key = graph.add(Op::BitXor, &[key, bits], UNSIGNED);
    };
    if descending {
        flip(graph, u64::MAX);
    }
    if kind == UNSIGNED {
        return key;
    }
    flip(graph, 1 << 63);
    let signed = graph.add(Op::FromBits, &[key], DeviceType::Number(Scalar::I64));
    match kind {
        DeviceType::Bool | DeviceType::DictIndex | DeviceType::Number(Scalar::I128) => {
            graph.add(Op::Convert(OverflowPolicy::Error), &[signed], kind)
        }
        _ => graph.add(Op::FromOrderKey, &[signed], kind),
    }
}

/// The key of floats that are sorted by themselves and needed for nothing else. Its numbers tell the zeros apart, which
/// are one value to the order, and so the sorted keys are the result. All that are not a number are one, the highest.
fn key_of_itself(graph: &mut ExprGraph, nullable: bool, sort: &Sort) -> Option<SortKey> {
    let [SortKey { value, descending, absent, .. }] = sort.keys[..] else { return None };
    let node = graph.node(value).clone();
    let (Op::Add, [float, zero]) = (node.op, &node.args[..]) else { return None };
    let Op::Literal(zero) = graph.node(*zero).op else { return None };
    let is_zero = matches!(graph.literals()[zero as usize].1, LiteralValue::F64(0) | LiteralValue::F32(0));
    if nullable || !is_zero || sort.columns.iter().any(|column| column != float) {
        return None;
    }
    let (float, kind) = (*float, graph.kind(*float));
    let unknown = graph.add(Op::MathFn("is_nan"), &[float], DeviceType::Bool);
    let nan = match kind {
        DeviceType::Number(Scalar::F32) => graph.literal(kind, LiteralValue::F32(f32::NAN.to_bits())),
        _ => graph.literal(kind, LiteralValue::F64(f64::NAN.to_bits())),
    };
    let one = graph.add(Op::IfElse, &[unknown, nan, float], kind);
    let signed = graph.add(Op::OrderKey, &[one], DeviceType::Number(Scalar::I64));
    let bits = graph.add(Op::Bits, &[signed], UNSIGNED);
    let flipped = graph.literal(UNSIGNED, LiteralValue::U64(if descending { !(1 << 63) } else { 1 << 63 }));
    let key = graph.add(Op::BitXor, &[bits, flipped], UNSIGNED);
    Some(SortKey { value: float, key, absent, descending })
}

/// The rows of a pipeline in an order. Keys are written, then their order, and then the columns, which are computed by
/// the numbers of the rows. Keys of known ranges share numbers; a key that is the only one is read in its order rather
/// than looked for by row.
pub fn sort(
    lane: &StreamContext,
    body: &KernelBody,
    sort: &Sort,
    dictionary_of: &dyn Fn(NodeId) -> Option<Arc<Dictionary>>,
) -> Result<DeviceTable> {
    let context = &lane.context;
    if body.source.rows >= u64::from(u32::MAX) {
        return Err(Error::TooManyRows(format!("sorting {} rows", body.source.rows)));
    }
    let mut graph = body.graph.clone();
    let nullable = body.nullable(&sort.columns).contains(&true);
    let of_itself = key_of_itself(&mut graph, nullable, sort);
    let keys = of_itself.as_ref().map_or(&sort.keys[..], std::slice::from_ref);
    let Some(first) = keys.first() else {
        return Err(Error::Unsupported("an order without keys".to_string()));
    };
    let keyed = KernelBody::new(body.source, &graph, body.beside, body.filter, body.memo);
    let mut fields = fields(&keyed, keys);
    if fields.is_empty() {
        fields.push(KeyField { node: first.key, low: 0, bits: 64, nullable: false });
    }
    let mut graph = graph.clone();
    let words = words(&mut graph, &fields);
    let mut wanted: Vec<NodeId> = words.iter().map(|word| word.node).collect();
    // Without a filter the rows are those of the source.
    let is_filtered = body.filter.is_some() || body.source.present.is_some();
    if is_filtered {
        wanted.push(row_number(&mut graph));
    }
    let keyed = KernelBody::new(body.source, &graph, body.beside, body.filter, body.memo);
    let keys = write::output(lane, &keyed, &Output { columns: wanted, skip: 0, limit: None }, &|_| None)?;
    let column = |index: usize, word: &SortWord| keys.columns[index].numbers(word.scalar);
    let skip = sort.skip.min(keys.rows);
    let count = sort.limit.unwrap_or(u64::MAX).min(keys.rows - skip);
    let alone = match (&words[..], &fields[..]) {
        ([word], [field]) if !field.nullable && field.node == first.key => Some((word, field)),
        _ => None,
    };
    let text_of = |value: NodeId| move |id: NodeId| dictionary_of(if id == value { first.value } else { id });
    let of_value = (body.graph.kind(first.value), first.descending);
    if let Some((word, field)) = alone
        && sort.columns.iter().all(|column| *column == first.value)
    {
        let sorted = sort_keys(context, &column(0, word))?;
        let source = in_order(None, (&sorted, word.scalar), (skip, count), "row");
        let mut graph = ExprGraph::new();
        let input = graph.input(0, DeviceType::Number(word.scalar));
        let value = from_key(&mut graph, input, field.low, of_value);
        let columns = vec![value; sort.columns.len()];
        let body = KernelBody::new(&source, &graph, SideInputs::default(), None, body.memo);
        return write::write(lane, &body, &columns, None, &text_of(value));
    }

    let gathered = |column: &Column, by: &Buffer| -> Result<Buffer> {
        let out = context.allocate((keys.rows * column.scalar.bytes()).max(1))?;
        gather::gather(context, column, &Column::new(Scalar::U32, by).slice(0, keys.rows), &out, None)?;
        Ok(out)
    };
    // The last word first: what is equal in a later sort keeps the order of the earlier ones.
    let mut order: Option<Buffer> = None;
    let mut sorted = None;
    for (index, word) in words.iter().enumerate().rev() {
        order = Some(match order {
            None => {
                let found = sort_by(context, &column(index, word))?;
                sorted = Some(found.keys);
                found.rows
            }
            Some(before) => {
                let there = gathered(&column(index, word), &before)?;
                let found = sort_by(context, &Column::new(word.scalar, &there).slice(0, keys.rows))?;
                gathered(&Column::new(Scalar::U32, &before).slice(0, keys.rows), &found.rows)?
            }
        });
    }
    let mut order = order.ok_or_else(|| Error::Unsupported("an order without keys".to_string()))?;
    if is_filtered {
        order = gathered(&keys.columns[words.len()].numbers(Scalar::U32), &order)?;
    }
    let order = (order.address() + 4 * skip, count);
    let (Some((word, field)), Some(sorted)) = (alone, sorted) else {
        return write::write(lane, body, &sort.columns, Some(order), dictionary_of);
    };
    let source = in_order(Some(body.source), (&sorted, word.scalar), (skip, body.source.rows), "to");
    let mut graph = body.graph.clone();
    let input = graph.input(source.inputs.len() - 1, DeviceType::Number(word.scalar));
    let value = from_key(&mut graph, input, field.low, of_value);
    let columns: Vec<NodeId> = sort.columns.iter().map(|c| if *c == first.value { value } else { *c }).collect();
    let body = KernelBody::new(&source, &graph, body.beside, None, body.memo);
    write::write(lane, &body, &columns, Some(order), &text_of(value))
}

/// A source with what was sorted behind its inputs, from the row `skip` on, read at `at`.
fn in_order(base: Option<&RowSource>, of: (&Buffer, Scalar), (skip, rows): (u64, u64), at: &str) -> RowSource {
    let (sorted, scalar) = of;
    let mut parameters = base.map_or_else(Parameters::new, |base| base.parameters.clone());
    let mut inputs = base.map_or_else(Vec::new, |base| base.inputs.clone());
    let address = sorted.address() + scalar.bytes() * skip;
    parameters.address(&format!("const {}* __restrict__", scalar.cuda()), "sorted", address);
    let kind = DeviceType::Number(scalar);
    inputs.push(ColumnRef { kind, value: format!("sorted[{at}]"), valid: None, range: None, elements: Vec::new() });
    let fetched = base.map_or_else(Vec::new, |base| base.fetched.clone());
    let identity = base.map_or(address, |base| base.identity);
    RowSource { rows, parameters, inputs, fetched, present: None, identity, is_partitioned: false }
}

fn row_number(graph: &mut ExprGraph) -> NodeId {
    let row = graph.add(Op::RowNumber, &[], UNSIGNED);
    graph.add(Op::Convert(OverflowPolicy::Error), &[row], SHORT)
}

/// Rows up to which all are wanted rather than the top ones looked for.
const FEW: u64 = 1 << 14;
const FEW_EMULATED: u64 = 8;
/// Rows that are looked at first at most, to know how high the top ones may be.
const SAMPLE: u64 = 1 << 20;
const LEAST_SAMPLE: u64 = 64;
const SAMPLE_EMULATED: u64 = 16;
/// Keys that are read rather than looked at on the device, and those that come to the host by themselves.
const ON_HOST: (u64, u64) = (1 << 15, Candidates::NEAR);
const ON_HOST_EMULATED: (u64, u64) = (3000, 2000);

/// Numbers of rows in memory that the device reads.
struct RowNumbers {
    address: u64,
    count: u64,
    /// `None` if the numbers are in the room of the stream's completion flag.
    _memory: Option<Buffer>,
}

/// The key of each row, the highest of those that are wanted, and the rows up to that one.
pub fn top_k(
    lane: &StreamContext,
    body: &KernelBody,
    top: &TopK,
    dictionary_of: &dyn Fn(NodeId) -> Option<Arc<Dictionary>>,
) -> Result<DeviceTable> {
    let context = &lane.context;
    let all = Output { columns: top.columns.clone(), skip: 0, limit: None };
    let few = if context.device().is_emulated() { FEW_EMULATED } else { FEW };
    if body.source.rows <= few.max(top.rows) {
        return write::output(lane, body, &all, dictionary_of);
    }
    if let Some(rows) = sampled_top_k(lane, body, top)? {
        let whole = KernelBody::new(body.source, body.graph, body.beside, None, body.memo);
        return write::write(lane, &whole, &top.columns, Some((rows.address, rows.count)), dictionary_of);
    }
    let keys = Output { columns: vec![top.key], skip: 0, limit: None };
    let keys = write::output(lane, body, &keys, &|_| None)?;
    if keys.rows <= top.rows {
        return write::output(lane, body, &all, dictionary_of);
    }
    let edge = highest_wanted(lane, &keys.columns[0].numbers(Scalar::U64), top.rows)?;
    let mut graph = body.graph.clone();
    let filter = up_to(&mut graph, top.key, edge, body.filter);
    let body = KernelBody::new(body.source, &graph, body.beside, Some(filter), body.memo);
    write::output(lane, &body, &all, dictionary_of)
}

/// The highest of the `wanted` lowest keys, of which there are more. Waits.
fn highest_wanted(lane: &StreamContext, keys: &Column, wanted: u64) -> Result<u64> {
    let context = &lane.context;
    let found = TopRows::new(context, Scalar::U64, Extreme::Smallest, wanted)?;
    found.launch(context, keys)?;
    let edge = context.allocate(8 * wanted)?;
    gather::gather(context, keys, &Column::new(Scalar::U64, found.selected()).slice(0, wanted), &edge, None)?;
    Ok(edge.read::<u64>(0..wanted as usize, &context.stream)?.into_iter().max().unwrap_or(u64::MAX))
}

/// The numbers of the rows up to the highest key that is wanted. A sample bounds the lowest keys, one pass over all
/// rows finds the rows below the bound, and the highest is looked for among them. `None` if rows are few or most of
/// them are wanted. Also `None` if the sample was wrong: its bound allows too few rows, or many more than it predicted.
/// Waits.
fn sampled_top_k(lane: &StreamContext, body: &KernelBody, top: &TopK) -> Result<Option<RowNumbers>> {
    let context = &lane.context;
    let rows = body.source.rows;
    let (most, least, (on_host, near)) = match context.device().is_emulated() {
        true => (SAMPLE_EMULATED, SAMPLE_EMULATED, ON_HOST_EMULATED),
        false => (SAMPLE, LEAST_SAMPLE, ON_HOST),
    };
    // With about one of those that are wanted, so that few others are looked at in the end.
    let sample = most.min(rows / top.rows.max(1)).min(rows / 64);
    if top.rows == 0 || sample < least || rows >= u64::from(u32::MAX) || body.source.present.is_some() {
        return Ok(None);
    }
    let part = rows / sample;
    let blocks = sample.min(u64::from(top_k::THREADS));
    // As many as the sample has of those that are wanted, and some more: it hardly ever has too few then.
    let share = (top.rows * sample) as f64 / rows as f64;
    let rank = ((share + 5.0 * share.sqrt()).ceil() as u64 + 4).min(blocks);
    let of = Sample { rows: sample, part, rank: rank as u32 };
    let lowest = lane.scratch(8 * blocks)?;
    let parameters = top_k::sample_parameters(body, lane, of, &lowest);
    let program = || top_k::sample(body, top.key, &parameters);
    let function = body.kernel(context, "top_sample", top.key, program)?;
    let grid = Grid::new(blocks as u32, top_k::THREADS);
    let limit = lane.launch_and_wait(|| launch_grid(context, &function, parameters.arguments(), &grid))?;
    if limit == u64::MAX {
        return Ok(None);
    }

    let room = 4 * rank * part;
    let (keys, numbers) = (context.allocate(8 * room)?, context.allocate(4 * room)?);
    let of = Candidates { keys: &keys, numbers: &numbers, room, near, limit };
    let parameters = top_k::candidates_parameters(body, lane, &of);
    let program = || top_k::candidates(body, top.key, &parameters);
    let function = body.kernel(context, "top_candidates", top.key, program)?;
    let count = lane.launch_and_wait(|| launch(context, &function, parameters.arguments(), rows, top_k::THREADS, 0))?;
    if count < top.rows || count > room {
        return Ok(None);
    }
    if count <= on_host {
        let all = 0..count as usize;
        let (keys, numbers) = match count <= near {
            true => (lane.mailbox.copy(0, all.len()), lane.mailbox.copy(Candidates::NUMBERS, all.len())),
            false => (keys.read::<u64>(all.clone(), &context.stream)?, numbers.read::<u32>(all, &context.stream)?),
        };
        let mut edge = keys.clone();
        let edge = *edge.select_nth_unstable(top.rows as usize - 1).1;
        let mut wanted: Vec<u32> =
            keys.iter().zip(numbers).filter(|(key, _)| **key <= edge).map(|(_, number)| number).collect();
        wanted.sort_unstable();
        let (address, memory) = match count <= near {
            // The kernel that was waited for is the last one that the stream was given.
            true => (lane.mailbox.put(Candidates::RESULT_NUMBERS, &wanted), None),
            false => {
                let memory = context.upload(&wanted)?;
                (memory.address(), Some(memory))
            }
        };
        return Ok(Some(RowNumbers { address, count: wanted.len() as u64, _memory: memory }));
    }
    let edge = highest_wanted(lane, &Column::new(Scalar::U64, &keys).slice(0, count), top.rows)?;
    let columns = [(UNSIGNED, keys), (SHORT, numbers)];
    let columns = columns.map(|(kind, values)| DeviceColumn::plain(kind, Arc::new(values), count));
    let found = DeviceTable { rows: count, columns: columns.into() };
    let mut graph = ExprGraph::new();
    let (key, number) = (graph.input(0, UNSIGNED), graph.input(1, SHORT));
    let filter = up_to(&mut graph, key, edge, None);
    let source = RowSource::of(context, &found, &|_| false)?;
    let body = KernelBody::new(&source, &graph, SideInputs::default(), Some(filter), body.memo);
    let numbers = Output { columns: vec![number], skip: 0, limit: None };
    let numbers = write::output(lane, &body, &numbers, &|_| None)?;
    // In the order in which the rows came.
    let sorted = sort_keys(context, &numbers.columns[0].numbers(Scalar::U32))?;
    Ok(Some(RowNumbers { address: sorted.address(), count: numbers.rows, _memory: Some(sorted) }))
}

/// The filter for keys that are not above `edge`, combined with another filter.
fn up_to(graph: &mut ExprGraph, key: NodeId, edge: u64, before: Option<NodeId>) -> NodeId {
    let edge = graph.literal(UNSIGNED, LiteralValue::U64(edge));
    let filter = graph.add(Op::Compare(Comparison::LessEqual), &[key, edge], DeviceType::Bool);
    match before {
        Some(before) => graph.add(Op::And, &[before, filter], DeviceType::Bool),
        None => filter,
    }
}
