//! Sort keys: numbers of 64 bits without a sign, in the order of the values.

use arrow::compute::SortOptions;
use arrow::datatypes::DataType;
use datafusion::physical_expr::PhysicalSortExpr;
use onrush_kernels::Scalar;
use onrush_ops::{DeviceType, LiteralValue, NodeId, Op, OverflowPolicy, SortKey};

use super::cpu_reason::CpuReason;
use super::fragment_builder::FragmentBuilder;

impl FragmentBuilder {
    /// Whether its values are decimals of two words.
    pub fn is_wide(&self, by: &PhysicalSortExpr) -> Result<bool, CpuReason> {
        Ok(matches!(self.lowering.dtype(&by.expr)?, DataType::Decimal128(precision, _) if precision > 18))
    }

    /// The sort keys of an expression. A decimal of 128 bits has two: its upper word, then its lower one.
    pub fn sort_keys(&mut self, by: &PhysicalSortExpr) -> Result<Vec<SortKey>, CpuReason> {
        if !self.is_wide(by)? {
            return Ok(vec![self.sort_key(by)?]);
        }
        let value = self.lowering.key(&by.expr)?;
        let graph = &mut self.lowering.graph;
        let wide = graph.kind(value);
        let by_word = graph.literal(wide, LiteralValue::I128(64));
        let all = graph.literal(wide, LiteralValue::I128(u64::MAX.into()));
        let upper = graph.add(Op::ShiftRight, &[value, by_word], wide);
        let lower = graph.add(Op::BitAnd, &[value, all], wide);
        let upper = graph.add(Op::Convert(OverflowPolicy::Error), &[upper], DeviceType::Number(Scalar::I64));
        let lower = graph.add(Op::Convert(OverflowPolicy::Error), &[lower], DeviceType::Number(Scalar::U64));
        Ok(vec![self.ordered(upper, by.options), self.ordered(lower, by.options)])
    }

    /// The sort key of an expression whose values have one 64-bit word.
    pub fn sort_key(&mut self, by: &PhysicalSortExpr) -> Result<SortKey, CpuReason> {
        let value = self.lowering.key(&by.expr)?;
        if self.is_wide(by)? {
            return Err(CpuReason::feature("this sort by decimals of more than 18 digits"));
        }
        Ok(self.ordered(value, by.options))
    }

    pub fn ordered(&mut self, value: NodeId, options: SortOptions) -> SortKey {
        let (long, unsigned) = (DeviceType::Number(Scalar::I64), DeviceType::Number(Scalar::U64));
        let graph = &mut self.lowering.graph;
        let key = match graph.kind(value) {
            DeviceType::Number(Scalar::U64) => value,
            kind => {
                let signed = match kind {
                    DeviceType::Bool | DeviceType::DictIndex | DeviceType::Number(Scalar::I128) => {
                        graph.add(Op::Convert(OverflowPolicy::Error), &[value], long)
                    }
                    _ => graph.add(Op::OrderKey, &[value], long),
                };
                let bits = graph.add(Op::Bits, &[signed], unsigned);
                let sign = graph.literal(unsigned, LiteralValue::U64(1 << 63));
                graph.add(Op::BitXor, &[bits, sign], unsigned)
            }
        };
        let all = graph.literal(unsigned, LiteralValue::U64(u64::MAX));
        let key = if options.descending { graph.add(Op::BitXor, &[key, all], unsigned) } else { key };
        let null = graph.literal(unsigned, LiteralValue::U64(if options.nulls_first { 0 } else { u64::MAX }));
        let key = graph.add(Op::Coalesce, &[key, null], unsigned);
        let mut absent = graph.add(Op::IsNull, &[value], DeviceType::Bool);
        if options.nulls_first {
            absent = graph.add(Op::Not, &[absent], DeviceType::Bool);
        }
        let absent = graph.add(Op::Convert(OverflowPolicy::Error), &[absent], unsigned);
        SortKey { value, key, absent, descending: options.descending }
    }
}
