//! Adds a node of the plan to a fragment: as part of the stage that is being written, or after it as a new one.

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef, Schema};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode};
use onrush_ops::{DeviceType, Op, SortKey};

use super::classify::{display_name, is_transparent};
use super::cpu_reason::CpuReason;
use super::fragment::FragmentNode;
use super::fragment_builder::{FragmentBuilder, and};
use super::keyed_stage::KeyedCall;
use super::lower::{ColumnSource, MaterialiseRequests, strings};
use super::{aggregates, arithmetic, list_aggregate, quantile_aggregate, quantiles, unnest, window};

/// More first rows than this are sorted by the CPU.
const MAX_TOP_K_ROWS: u64 = 10_000;
/// Limit of attempts to place a node: each attempt but the last may add a stage that materialises strings for it.
const MAX_STAGES: usize = 6;

/// Whether a node sorts all rows, and not only to find the first ones.
fn is_whole_sort(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    let fetch = any.downcast_ref::<SortExec>().map(SortExec::fetch);
    fetch.is_some_and(|fetch| fetch.is_none_or(|rows| rows as u64 > MAX_TOP_K_ROWS))
}

impl FragmentBuilder {
    /// Joins a node, or leaves the fragment as it was: what nobody reads would be uploaded and computed all the same,
    /// and could fail.
    pub fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) -> std::result::Result<(), CpuReason> {
        let (saved, works, before) = (self.lowering.save(), self.works, self.before.len());
        let (schema, order) = (Arc::clone(&self.lowering.schema), self.order.clone());
        let restores = self.restores;
        // Expressions on computed strings wait for a stage that materialises the strings, unless that stage is not
        // possible.
        let mut stages: Vec<MaterialiseRequests> = Vec::new();
        for attempt in 0..=MAX_STAGES {
            self.lowering.requests =
                MaterialiseRequests { allowed: attempt < MAX_STAGES, ..MaterialiseRequests::default() };
            if attempt == MAX_STAGES {
                stages.clear();
            }
            let made = stages.iter().try_for_each(|requests| self.make(requests));
            let added = made.and_then(|()| self.add_node(plan));
            let requests = std::mem::take(&mut self.lowering.requests);
            let Err(reason) = added else {
                if !stages.is_empty() {
                    self.lowering.materialised.clear();
                    self.lowering.columns.truncate(plan.schema().fields().len());
                    self.lowering.schema = plan.schema();
                }
                return Ok(());
            };
            self.undo(before);
            self.lowering.restore(saved.clone());
            self.lowering.materialised.clear();
            (self.lowering.schema, self.order) = (Arc::clone(&schema), order.clone());
            (self.works, self.restores, self.keyed) = (works, restores, None);
            if attempt == MAX_STAGES || (stages.is_empty() && requests.are_none()) {
                return Err(reason);
            }
            stages.push(requests);
        }
        Err(CpuReason::Stages { limit: MAX_STAGES })
    }

    /// Materialises the requested strings as columns after the existing ones.
    fn make(&mut self, requests: &MaterialiseRequests) -> std::result::Result<(), CpuReason> {
        let lowering = &mut self.lowering;
        let mut fields: Vec<FieldRef> = lowering.schema.fields().iter().map(Arc::clone).collect();
        for expr in &requests.texts {
            let dtype = lowering.dtype(expr)?;
            let id = strings::column(lowering, expr)?;
            lowering.materialised.push((Arc::clone(expr), fields.len()));
            fields.push(Arc::new(Field::new(format!("made {}", fields.len()), dtype, true)));
            lowering.columns.push(ColumnSource::Node(id));
        }
        lowering.schema = Arc::new(Schema::new(fields));
        self.materialise();
        Ok(())
    }

    fn add_node(&mut self, plan: &Arc<dyn ExecutionPlan>) -> std::result::Result<(), CpuReason> {
        let any: &dyn Any = plan.as_ref();
        // More windows by the keys of the last ones.
        let adds = any.downcast_ref::<WindowAggExec>().is_some_and(|windows| {
            let stage = self.keyed.as_ref();
            stage.zip(KeyedCall::only(windows.window_expr())).is_some_and(|(stage, call)| stage.takes(&call))
        });
        if !adds && !is_transparent(plan) {
            self.keyed = None;
        }
        if self.finish > 0 {
            // A few rows are left: the host goes on with them.
            let is_sort = any.is::<SortExec>();
            let light = any.is::<ProjectionExec>() || any.is::<GlobalLimitExec>() || is_sort || is_transparent(plan);
            if !light {
                return Err(CpuReason::AboveTopK);
            }
            self.finish += 1;
            self.chain.push(FragmentNode::new(plan));
            return Ok(());
        }
        let is_light = is_transparent(plan) || any.is::<ProjectionExec>();
        let is_limit = any.is::<GlobalLimitExec>() || any.is::<LocalLimitExec>();
        // Computed strings have dictionary indices only after they are materialised.
        let computed = |slot: &ColumnSource| matches!(slot, ColumnSource::Node(id) if self.lowering.graph.kind(*id) == DeviceType::String);
        let is_filter = any.is::<FilterExec>() && !is_transparent(plan);
        if !is_light && !is_limit && !is_filter && !adds && self.lowering.columns.iter().any(computed) {
            self.materialise();
        }
        // Rows that another sort follows need not be put back before it.
        if self.restores && self.limit.is_none() && is_whole_sort(plan) {
            self.order = None;
        }
        let waits = self.order.is_some() && !is_limit && !(self.restores && is_filter);
        if !is_light && !adds && (self.limit.is_some() || waits) {
            self.materialise();
        }
        if let Some(filter) = any.downcast_ref::<FilterExec>().filter(|_| is_filter) {
            if plan.fetch().is_some() {
                return Err(CpuReason::feature("a filter with a limit"));
            }
            let condition = self.lowering.boolean(filter.predicate())?;
            self.filter = Some(and(&mut self.lowering.graph, self.filter, condition));
            if let Some(projection) = filter.projection() {
                self.lowering.columns = projection.iter().map(|i| self.lowering.columns[*i].clone()).collect();
            }
            self.works = true;
        } else if let Some(projection) = any.downcast_ref::<ProjectionExec>() {
            let mut columns = Vec::new();
            // All are tried: what they wish for is made at once.
            let mut refused = None;
            for item in projection.expr() {
                let any: &dyn Any = item.expr.as_ref();
                columns.push(match any.downcast_ref::<datafusion::physical_expr::expressions::Column>() {
                    Some(column) => self.lowering.columns[column.index()].clone(),
                    None => {
                        self.works = true;
                        match self.lowering.expr(&item.expr) {
                            Ok(id) => ColumnSource::Node(id),
                            Err(reason) => {
                                refused.get_or_insert(reason);
                                continue;
                            }
                        }
                    }
                });
            }
            if let Some(reason) = refused {
                return Err(reason);
            }
            self.lowering.columns = columns;
        } else if let Some(aggregate) = any.downcast_ref::<AggregateExec>() {
            let (partial, whole) = (AggregateMode::Partial, [AggregateMode::Single, AggregateMode::SinglePartitioned]);
            if *aggregate.mode() != partial && !whole.contains(aggregate.mode()) {
                return Err(CpuReason::feature("the final step of a two-step aggregate"));
            }
            match *aggregate.mode() != partial {
                true if quantiles::has_quantiles(aggregate) => quantile_aggregate::aggregate(self, aggregate)?,
                true if list_aggregate::collects(aggregate) => list_aggregate::aggregate(self, aggregate)?,
                _ => self.aggregate(aggregate)?,
            }
            self.works = true;
        } else if let Some(limit) = any.downcast_ref::<GlobalLimitExec>() {
            self.skip = limit.skip() as u64;
            self.limit = Some(limit.fetch().map_or(u64::MAX, |n| n as u64));
        } else if let Some(sort) = any.downcast_ref::<SortExec>() {
            self.works = true;
            match sort.fetch().map(|rows| rows as u64) {
                Some(rows) if rows <= MAX_TOP_K_ROWS => {
                    self.top_k(sort, rows.max(1))?;
                    self.finish = 1;
                    self.chain.push(FragmentNode::new(plan));
                    return Ok(());
                }
                _ => self.sort(sort)?,
            }
            self.restores = false;
        } else if let Some(limit) = any.downcast_ref::<LocalLimitExec>() {
            self.limit = Some(limit.fetch() as u64);
        } else if let Some(windows) = any.downcast_ref::<BoundedWindowAggExec>() {
            if windows.input_order_mode != InputOrderMode::Sorted {
                return Err(CpuReason::feature("a window over rows that are not sorted by its partitions"));
            }
            window::windows(self, windows.window_expr(), plan)?;
            self.works = true;
        } else if let Some(windows) = any.downcast_ref::<WindowAggExec>() {
            window::windows(self, windows.window_expr(), plan)?;
            self.works = true;
        } else if let Some(unnest) = any.downcast_ref::<UnnestExec>() {
            unnest::unnest(self, unnest)?;
            self.works = true;
        } else if !is_transparent(plan) {
            return Err(CpuReason::feature(display_name(plan)));
        }
        self.lowering.schema = plan.schema();
        self.chain.push(FragmentNode::new(plan));
        Ok(())
    }

    /// Adds a top-k: the device selects candidates by the first key, and the host sorts the candidates.
    fn top_k(&mut self, sort: &SortExec, rows: u64) -> std::result::Result<(), CpuReason> {
        let first = sort.expr().first();
        let key = match self.is_wide(first)? {
            true => {
                let value = self.lowering.key(&first.expr)?;
                let clamped = arithmetic::clamped(&mut self.lowering.graph, value);
                self.ordered(clamped, first.options)
            }
            false => self.sort_key(first)?,
        };
        // Nulls are next to the lowest or the highest value, and may be selected with it.
        self.top = Some((key.key, rows));
        Ok(())
    }

    /// All rows in an order.
    fn sort(&mut self, sort: &SortExec) -> std::result::Result<(), CpuReason> {
        let mut keys = Vec::new();
        for by in sort.expr() {
            if !by.options.descending {
                let key = self.lowering.key(&by.expr)?;
                // Equal rows keep their order by themselves.
                if self.lowering.rises(key) {
                    self.keep_zeros(&mut keys);
                    break;
                }
            }
            keys.extend(self.sort_keys(by)?);
        }
        self.order = (!keys.is_empty()).then_some(keys);
        self.limit = sort.fetch().map(|rows| rows as u64);
        Ok(())
    }

    /// Sorts by one float alone have its two zeros in any order if nothing else is wanted, unless the key is not the
    /// float itself.
    fn keep_zeros(&mut self, keys: &mut [SortKey]) {
        if let [key] = keys
            && let DeviceType::Number(scalar) = self.lowering.graph.kind(key.value)
            && scalar.is_float()
        {
            let zero = self.lowering.graph.number(scalar, 0);
            key.value = self.lowering.graph.add(Op::Add, &[key.value, zero], DeviceType::Number(scalar));
        }
    }

    fn aggregate(&mut self, aggregate: &AggregateExec) -> std::result::Result<(), CpuReason> {
        let group = aggregate.group_expr();
        if !group.is_single() {
            return Err(CpuReason::feature("a grouping set"));
        }
        let mut keys = Vec::new();
        for (key, _) in group.expr() {
            keys.push(self.lowering.key(key)?);
        }
        let is_partial = *aggregate.mode() == AggregateMode::Partial;
        self.aggregate_by(aggregate, keys, &mut |lowering, accumulators, index| {
            let (function, filter) = (&aggregate.aggr_expr()[index], aggregate.filter_expr()[index].as_ref());
            match is_partial {
                true => aggregates::state(lowering, accumulators, function, filter),
                false => Ok(vec![aggregates::aggregate(lowering, accumulators, function, filter)?]),
            }
        })
    }
}
