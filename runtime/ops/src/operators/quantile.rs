//! Quantiles of all rows of a pipeline. Each value is written and sorted by itself, and the host reads the one or two
//! numbers at the rank.

use onrush_device::Buffer;
use onrush_kernels::Scalar;
use onrush_kernels::sort::sort_keys;

use crate::codegen::source::ColumnRef;
use crate::codegen::{KernelBody, RowSource};
use crate::ir::expr::{DeviceType, LiteralValue, NodeId, Op};
use crate::launch::stream_context::StreamContext;
use crate::operators::write;
use crate::pipeline::{Interpolation, Output, Quantile};
use crate::{Error, Result};

const WORD: DeviceType = DeviceType::Number(Scalar::U64);

/// Adds the quantiles of a body's rows to the inputs of a source, in their order, and returns the memory that holds
/// them. Waits.
///
/// # Errors
/// If there are 2^32 rows or more, or too little memory for the values and their order.
pub fn append(lane: &StreamContext, body: &KernelBody, all: &[Quantile], to: &mut RowSource) -> Result<Option<Buffer>> {
    if all.is_empty() {
        return Ok(None);
    }
    let mut values: Vec<Option<f64>> = vec![None; all.len()];
    for (index, first) in all.iter().enumerate() {
        let is_new = !all[..index].iter().any(|before| before.of == first.of);
        if !is_new {
            continue;
        }
        let Some(sorted) = sorted(lane, body, first.of)? else { continue };
        for (value, quantile) in values.iter_mut().zip(all).filter(|(_, quantile)| quantile.of == first.of) {
            *value = Some(sorted.quantile(lane, quantile)?);
        }
    }
    // All values, then whether they are there: hundreds of parameters would be more than a kernel takes.
    let are_there = values.iter().map(|value| f64::from(u8::from(value.is_some())));
    let words: Vec<f64> = values.iter().map(|value| value.unwrap_or_default()).chain(are_there).collect();
    let memory = lane.context.upload(&words)?;
    to.parameters.buffer("const f64* __restrict__", "quantiles", &memory);
    for index in 0..all.len() {
        to.inputs.push(ColumnRef {
            kind: DeviceType::Number(Scalar::F64),
            value: format!("quantiles[{index}]"),
            valid: Some(format!("(quantiles[{}] != 0.0)", all.len() + index)),
            range: None,
            elements: Vec::new(),
        });
    }
    Ok(Some(memory))
}

/// Values that are there, as the numbers that order them.
struct SortedKeys {
    keys: Buffer,
    count: u64,
}

/// The values of a node, in IEEE 754's total order. `None` if there is no value.
fn sorted(lane: &StreamContext, body: &KernelBody, of: NodeId) -> Result<Option<SortedKeys>> {
    if body.source.rows >= u64::from(u32::MAX) {
        return Err(Error::TooManyRows(format!("quantiles of {} rows", body.source.rows)));
    }
    let mut graph = body.graph.clone();
    let signed = graph.add(Op::OrderKey, &[of], DeviceType::Number(Scalar::I64));
    let bits = graph.add(Op::Bits, &[signed], WORD);
    let sign = graph.literal(WORD, LiteralValue::U64(1 << 63));
    let key = graph.add(Op::BitXor, &[bits, sign], WORD);
    let none = graph.literal(WORD, LiteralValue::U64(0));
    let key = graph.add(Op::Coalesce, &[key, none], WORD);
    let mut filter = body.filter;
    if body.nullable(&[of]).contains(&true) {
        let null = graph.add(Op::IsNull, &[of], DeviceType::Bool);
        let there = graph.add(Op::Not, &[null], DeviceType::Bool);
        filter = Some(match filter {
            Some(filter) => graph.add(Op::And, &[filter, there], DeviceType::Bool),
            None => there,
        });
    }
    let keyed = KernelBody::new(body.source, &graph, body.beside, filter, body.memo);
    let found = write::output(lane, &keyed, &Output { columns: vec![key], skip: 0, limit: None }, &|_| None)?;
    if found.rows == 0 {
        return Ok(None);
    }
    let keys = sort_keys(&lane.context, &found.columns[0].numbers(Scalar::U64))?;
    Ok(Some(SortedKeys { keys, count: found.rows }))
}

impl SortedKeys {
    fn quantile(&self, lane: &StreamContext, quantile: &Quantile) -> Result<f64> {
        let at = |place: f64| -> Result<f64> {
            let place = (place as u64).min(self.count - 1) as usize;
            let key = self.keys.read::<u64>(place..place + 1, &lane.context.stream)?[0];
            let signed = (key ^ 1 << 63).cast_signed();
            // Numbers below zero are in the opposite order of their bits.
            let bits = signed ^ ((signed >> 63).cast_unsigned() >> 1).cast_signed();
            Ok(f64::from_bits(bits.cast_unsigned()))
        };
        let position = f64::from_bits(quantile.rank) * (self.count - 1) as f64;
        let (low, high) = (position.floor(), position.ceil());
        Ok(match quantile.how {
            Interpolation::Nearest => at(position.round())?,
            Interpolation::Lower => at(low)?,
            Interpolation::Higher => at(high)?,
            _ if low == high => at(low)?,
            Interpolation::Midpoint => (at(low)? + at(high)?) / 2.0,
            Interpolation::Linear => {
                let (a, b) = (at(low)?, at(high)?);
                a + (b - a) * (position - low)
            }
        })
    }
}
