//! Joins, as parts of a pipeline.

use std::sync::Arc;

use datafusion::common::{JoinSide, JoinType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use onrush_kernels::Scalar;
use onrush_ops::{DeviceType, ExprGraph, JoinKind, NodeId, Op};

use super::arithmetic;
use super::cpu_reason::CpuReason;
use super::fragment::FragmentNode;
use super::fragment_builder::{FragmentBuilder, and};
use super::join_node::JoinNode;
use super::lower::{BuildSide, ColumnSource, Lowering, StringRepresentation};

const LONG: DeviceType = DeviceType::Number(Scalar::I64);

/// A float as the bits that tell it from all others; both zeros are one, and so are all NaNs.
fn bits(graph: &mut ExprGraph, value: NodeId) -> NodeId {
    let value = arithmetic::as_group(graph, value);
    graph.add(Op::OrderKey, &[value], LONG)
}

impl FragmentBuilder {
    /// Joins another table, or leaves the fragment as it was.
    pub fn add_join(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        join: &JoinNode,
        (other, preference): (&Arc<dyn ExecutionPlan>, StringRepresentation),
        left_goes_on: bool,
    ) -> std::result::Result<(), CpuReason> {
        let (saved, joins, before) = (self.lowering.save(), self.lowering.joins.len(), self.before.len());
        let added = self.hash_join(plan, join, (other, preference), left_goes_on);
        if added.is_err() {
            self.undo(before);
            self.lowering.joins.truncate(joins);
            self.lowering.restore(saved);
        }
        added
    }

    fn hash_join(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        join: &JoinNode,
        (other, preference): (&Arc<dyn ExecutionPlan>, StringRepresentation),
        left_goes_on: bool,
    ) -> std::result::Result<(), CpuReason> {
        if self.finish > 0 {
            return Err(CpuReason::AboveTopK);
        }
        let computed = |slot: &ColumnSource| matches!(slot, ColumnSource::Node(id) if self.lowering.graph.kind(*id) == DeviceType::String);
        let texts = self.lowering.columns.iter().any(computed);
        let stays = self.lowering.repeat.is_none() && self.lowering.structs.is_empty();
        // Numbers of rows are those before the join.
        let stays = stays && self.lowering.rising.is_empty();
        if self.limit.is_some() || self.order.is_some() || self.window.is_some() || texts || !stays {
            self.materialise();
        }
        let kind = join.kind;
        let how = match kind {
            JoinType::Inner => JoinKind::Inner,
            JoinType::Left | JoinType::Right => JoinKind::Outer,
            JoinType::Full => JoinKind::Full,
            _ => JoinKind::Semi,
        };
        // If rows of the pipeline can be missing, their computed values must be null. Therefore these become columns of
        // a table before the join.
        if how == JoinKind::Full && !(self.is_fresh() && self.lowering.is_untouched()) {
            self.materialise();
        }
        let preferred = preference.clone();
        let mut side = Lowering { preference, ..Lowering::new(&other.schema()) };
        let (mut mine, mut its) = (Vec::new(), Vec::new());
        let mut aware = None;
        for (left, right) in join.on {
            let (here, there) = if left_goes_on { (left, right) } else { (right, left) };
            let types = (self.lowering.dtype(here)?, side.dtype(there)?);
            let (mut a, mut b) = (self.lowering.key(here)?, side.key(there)?);
            let kind = side.graph.kind(b);
            let is_text = kind == DeviceType::DictIndex && self.lowering.graph.kind(a) == DeviceType::DictIndex;
            if types.0 != types.1 && !is_text {
                return Err(CpuReason::feature(format!("a join of {} with {}", types.0, types.1)));
            }
            if kind.is_float() {
                a = bits(&mut self.lowering.graph, a);
                b = bits(&mut side.graph, b);
            }
            if is_text && !matches!(side.graph.node(b).op, Op::Input(_)) {
                return Err(CpuReason::feature("a join by a computed string"));
            }
            mine.push(a);
            its.push(b);
        }
        if join.on.is_empty() {
            // All pairs have the same key.
            mine.push(self.lowering.graph.number(Scalar::I64, 0));
            its.push(side.graph.number(Scalar::I64, 0));
        }
        if !side.lookups.is_empty() || !side.texts.is_empty() {
            return Err(CpuReason::feature("a join by a function of a string"));
        }
        let number = self.lowering.joins.len();
        let graph = &mut self.lowering.graph;
        let probe = graph.add(Op::Probe(number as u32), &mine, DeviceType::Number(Scalar::U32));
        let none = graph.add(Op::IsNull, &[probe], DeviceType::Bool);
        let found = graph.add(Op::Not, &[none], DeviceType::Bool);
        // NOT IN: what is compared with a null is neither in nor out. The host answers where there is nothing that it
        // could be in.
        if join.null_aware {
            let ([key], None) = (&mine[..], join.filter) else {
                return Err(CpuReason::feature("NOT IN with several columns"));
            };
            let key = *key;
            let graph = &mut self.lowering.graph;
            let absent = graph.add(Op::IsNull, &[key], DeviceType::Bool);
            let here = graph.add(Op::Not, &[absent], DeviceType::Bool);
            let null = graph.null(graph.kind(key));
            let probe = graph.add(Op::Probe(number as u32 + 1), &[null], DeviceType::Number(Scalar::U32));
            let no_null = graph.add(Op::IsNull, &[probe], DeviceType::Bool);
            let condition = graph.add(Op::And, &[here, no_null], DeviceType::Bool);
            let there = if left_goes_on { &join.on[0].1 } else { &join.on[0].0 };
            let mut again = Lowering { preference: preferred, ..Lowering::new(&other.schema()) };
            let mut key = again.key(there)?;
            if again.graph.kind(key).is_float() {
                key = bits(&mut again.graph, key);
            }
            aware = Some((condition, probe, again, key));
        }
        self.lowering.joins.push(BuildSide {
            lowering: side,
            table: self.others.len(),
            keys: its,
            probe,
            nulls_equal: join.nulls_equal,
            how,
            residual: None,
            probe_filter: self.filter,
        });
        let mut filter = self.filter;
        if let Some((condition, probe, lowering, key)) = aware {
            filter = Some(and(&mut self.lowering.graph, filter, condition));
            self.lowering.joins.push(BuildSide {
                lowering,
                table: self.others.len(),
                keys: vec![key],
                probe,
                nulls_equal: true,
                how: JoinKind::Semi,
                residual: None,
                probe_filter: None,
            });
        }
        let here = self.lowering.columns.clone();
        let mut there: Vec<ColumnSource> =
            (0..other.schema().fields().len()).map(|column| ColumnSource::Joined { join: number, column }).collect();
        // Keys that are equal need not be read a second time. The two zeros of floats are equal, too.
        for (left, right) in join.on.iter().filter(|_| how == JoinKind::Inner) {
            let (from, to) = if left_goes_on { (left, right) } else { (right, left) };
            let column = |of: &Arc<dyn PhysicalExpr>| of.as_ref().downcast_ref::<Column>().map(Column::index);
            if let (Some(from), Some(to)) = (column(from), column(to))
                && !other.schema().field(to).data_type().is_floating()
            {
                there[to] = here[from].clone();
            }
        }
        let graph = &mut self.lowering.graph;
        match kind {
            JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => filter = Some(and(graph, filter, found)),
            JoinType::LeftAnti | JoinType::RightAnti => filter = Some(and(graph, filter, none)),
            _ => {}
        }
        if let Some(beside) = join.filter {
            let slots = beside.column_indices().iter().map(|column| {
                let is_here = (column.side == JoinSide::Left) == left_goes_on;
                if is_here { here[column.index].clone() } else { there[column.index].clone() }
            });
            let columns = std::mem::replace(&mut self.lowering.columns, slots.collect());
            let schema = std::mem::replace(&mut self.lowering.schema, Arc::clone(beside.schema()));
            let condition = self.lowering.boolean(beside.expression());
            (self.lowering.columns, self.lowering.schema) = (columns, schema);
            match how {
                // Nested-loop joins apply the condition before writing matches.
                JoinKind::Inner if !join.on.is_empty() => {
                    filter = Some(and(&mut self.lowering.graph, filter, condition?))
                }
                _ => self.lowering.joins[number].residual = Some(condition?),
            }
        }
        let mut columns = match kind {
            JoinType::Inner | JoinType::Left | JoinType::Right if left_goes_on => [here, there].concat(),
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => [there, here].concat(),
            JoinType::LeftMark | JoinType::RightMark => [here, vec![ColumnSource::Node(found)]].concat(),
            _ => here,
        };
        if let Some(projection) = join.projection {
            columns = projection.iter().map(|index| columns[*index].clone()).collect();
        }
        self.lowering.columns = columns;
        self.lowering.schema = plan.schema();
        self.filter = filter;
        self.limit = plan.fetch().map(|rows| rows as u64);
        self.chain.push(FragmentNode { node: Arc::clone(plan), other: Some((self.others.len(), !left_goes_on)) });
        self.others.push((Arc::clone(other), Vec::new()));
        self.works = true;
        Ok(())
    }
}
