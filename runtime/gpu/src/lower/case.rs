//! Lowers CASE. If all results are string literals, their dictionary is known before any row.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow::array::ArrayRef;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::CaseExpr;
use onrush_expr::device_udf::is_in;
use onrush_kernels::Scalar;
use onrush_ops::dictionary::{self, Dictionary};
use onrush_ops::{Comparison, DeviceType, NodeId, Op, kind_of};

use super::strings::is_text;
use super::{Lowering, lists, strings, text_literal, udf};
use crate::cpu_reason::CpuReason;

impl Lowering {
    /// Lowers a CASE. With `as_bytes` its strings are lowered as bytes.
    pub fn case(
        &mut self,
        case: &CaseExpr,
        whole: &Arc<dyn PhysicalExpr>,
        as_bytes: bool,
    ) -> Result<NodeId, CpuReason> {
        let outer = self.guard;
        let done = self.case_within(case, whole, as_bytes);
        self.guard = outer;
        done
    }

    fn case_within(
        &mut self,
        case: &CaseExpr,
        whole: &Arc<dyn PhysicalExpr>,
        as_bytes: bool,
    ) -> Result<NodeId, CpuReason> {
        let result = self.dtype(whole)?;
        let mut kind = kind_of(&result).ok_or_else(|| CpuReason::of_type("a CASE result", &result))?;
        if kind == DeviceType::ListView {
            lists::are_of_one_column(case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr()))?;
        }
        let mut texts = None;
        if kind == DeviceType::DictIndex {
            match texts_of(case) {
                Ok(found) if !as_bytes => texts = Some(found),
                _ => kind = DeviceType::String,
            }
        }
        let base = match case.expr() {
            Some(base) if is_text(&self.dtype(base)?) => Some(strings::piece(self, base)?),
            Some(base) => Some(self.expr(base)?),
            None => None,
        };
        if base.is_some_and(|base| self.graph.kind(base) == DeviceType::ListView) {
            return Err(CpuReason::feature("CASE that compares lists or structs"));
        }
        // A text is its number among the results until one is chosen.
        let kind = if texts.is_some() { DeviceType::Number(Scalar::U32) } else { kind };
        let then = |lowering: &mut Lowering, then: &Arc<dyn PhysicalExpr>| match &texts {
            None if kind == DeviceType::String => strings::piece(lowering, then),
            None if kind == DeviceType::ListView => lists::or_empty(lowering, then),
            None => lowering.expr(then),
            Some((numbers, _)) => Ok(match text_literal(then) {
                Some(Some(text)) => lowering.graph.number(Scalar::U32, numbers[&text].into()),
                _ => lowering.graph.null(kind),
            }),
        };
        let mut conditions = Vec::new();
        let guarded = is_in(whole);
        for (when, _) in case.when_then_expr() {
            let condition = match base {
                Some(base) => {
                    let when = match self.graph.kind(base) {
                        DeviceType::String => strings::piece(self, when)?,
                        _ => self.expr(when)?,
                    };
                    self.graph.add(Op::Compare(Comparison::Equal), &[base, when], DeviceType::Bool)
                }
                None => self.boolean(when)?,
            };
            let before = self.guard;
            if guarded {
                self.guard = Some(udf::unless(&mut self.graph, before, condition));
            }
            conditions.push((condition, before));
        }
        let mut chosen = match case.else_expr() {
            Some(otherwise) => then(self, otherwise)?,
            None => self.graph.null(kind),
        };
        for ((_, result), (condition, before)) in case.when_then_expr().iter().zip(conditions).rev() {
            if guarded {
                self.guard = Some(udf::and(&mut self.graph, before, condition));
            }
            let result = then(self, result)?;
            if self.graph.kind(result) != kind || self.graph.kind(chosen) != kind {
                return Err(CpuReason::feature("CASE with results of several types"));
            }
            chosen = self.graph.add(Op::IfElse, &[condition, result, chosen], kind);
        }
        Ok(match texts {
            None => chosen,
            Some((_, dictionary)) => {
                self.texts.push(Arc::new(dictionary));
                self.graph.add(Op::ToDictIndex(self.texts.len() as u32 - 1), &[chosen], DeviceType::DictIndex)
            }
        })
    }
}

/// The dictionary of the results of a CASE whose results are all string literals, and the index of each string. Indices
/// have the order of the strings.
fn texts_of(case: &CaseExpr) -> Result<(BTreeMap<String, u32>, Dictionary), CpuReason> {
    let results = case.when_then_expr().iter().map(|(_, then)| then).chain(case.else_expr());
    let texts: Option<BTreeSet<Option<String>>> = results.map(text_literal).collect();
    let texts = texts.ok_or(CpuReason::feature("CASE with strings of several columns"))?;
    let texts: Vec<String> = texts.into_iter().flatten().collect();
    let array: ArrayRef = Arc::new(arrow::array::StringArray::from_iter_values(&texts));
    let (_, dictionary) = dictionary::encode(&[array]).map_err(|e| CpuReason::Planner(e.to_string()))?;
    Ok((texts.into_iter().zip(0..).collect(), dictionary))
}
