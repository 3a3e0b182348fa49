//! Which nodes of a physical plan run on the device. Plans are walked from their inputs up; a node joins the fragment below it, or starts
//! one, or stays on the CPU with a reason.

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef, Schema};
use datafusion::common::JoinType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::memory::DataSourceExec;
use datafusion::error::Result;
use datafusion::physical_expr::{LexOrdering, OrderingRequirements};
use datafusion::physical_plan::InputOrderMode;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use onrush_ops::{
    Accumulator, DeviceType, Join, NodeId, Op, Output, Quantile, Sink, Sort, SortKey, Stage, TopK, Window, kind_of,
};

use super::aggregates::{self, Accumulators, AggregateResult};
use super::classify::{display_name, is_known, is_larger, is_transparent, rows_there};
use super::concat_exec::ConcatExec;
use super::gpu_exec::{FragmentNode, GpuExec, with_input, with_inputs};
use super::joins::Joining;
use super::keyed_windows::{KeyedCall, KeyedStage};
use super::lower::{ColumnSource, Lowering, MaterialiseRequests, StringRepresentation, strings};
use super::memory_input::{memory_as_bytes, memory_column, memory_rows};
use super::placements::Placements;
use super::single_partition::in_one_partition;
use super::unsupported::Unsupported;
use super::{Accelerator, Policy, arithmetic, describe, list_aggregate, quantiles, unnest, window};

/// More first rows than this are sorted by the CPU.
const MOST_SORTED: u64 = 10_000;
/// Limit of attempts to place a node: each attempt but the last may add a stage that materialises strings for it.
const MOST_STAGES: usize = 6;

fn plan_is<T: ExecutionPlan>(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    any.is::<T>()
}

/// Whether a node sorts all rows, and not only to find the first ones.
fn is_whole_sort(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let any: &dyn Any = plan.as_ref();
    let fetch = any.downcast_ref::<SortExec>().map(SortExec::fetch);
    fetch.is_some_and(|fetch| fetch.is_none_or(|rows| rows as u64 > MOST_SORTED))
}

/// A stage whose rows another one goes on with.
pub struct StageDraft {
    lowering: Lowering,
    filter: Option<NodeId>,
    window: Option<Window>,
    end: StageEnd,
}

pub enum StageEnd {
    /// Of the stage that gives the result.
    Last,
    Groups {
        keys: Vec<NodeId>,
        accumulators: Vec<Accumulator>,
        quantiles: Vec<Quantile>,
    },
    /// Those of its columns that the next stage reads.
    Rows {
        order: Option<Vec<SortKey>>,
        skip: u64,
        limit: Option<u64>,
    },
}

/// A fragment that may still grow.
pub struct FragmentBuilder {
    input: Arc<dyn ExecutionPlan>,
    /// What is joined to it, and the columns of these that are read, once their stage is done.
    pub others: Vec<(Arc<dyn ExecutionPlan>, Vec<usize>)>,
    pub chain: Vec<FragmentNode>,
    /// What comes before the stage that is being written.
    pub before: Vec<StageDraft>,
    pub lowering: Lowering,
    pub filter: Option<NodeId>,
    pub window: Option<Window>,
    skip: u64,
    pub limit: Option<u64>,
    /// What all rows are sorted by.
    pub order: Option<Vec<SortKey>>,
    /// Whether that only puts them back in the order in which they came.
    pub restores: bool,
    /// The stage that is being written, if more windows by its keys can be added.
    pub keyed: Option<KeyedStage>,
    /// The key by which the rows are to be the first, and how many.
    top: Option<(NodeId, u64)>,
    /// How many of the last nodes run on the host, over the few rows that are left.
    pub finish: usize,
    /// Whether anything is computed: a choice of columns is nothing.
    pub works: bool,
}

enum Placed {
    Cpu(Arc<dyn ExecutionPlan>),
    Gpu(Box<FragmentBuilder>),
}

struct Placer<'a> {
    accelerator: &'a Arc<Accelerator>,
    placements: Placements,
}

/// The plan with fragments for the device, and why other nodes are not in them.
pub fn place(
    plan: Arc<dyn ExecutionPlan>,
    accelerator: &Arc<Accelerator>,
) -> Result<(Arc<dyn ExecutionPlan>, Placements)> {
    let plan = in_one_partition(plan, accelerator)?;
    let mut walk = Placer { accelerator, placements: Placements::default() };
    let placed = walk.node(plan)?;
    let plan = walk.close(placed)?;
    Ok((in_order(plan)?, walk.placements))
}

/// The plan with sorts below nodes on the CPU that relied on an order which fragments do not promise.
fn in_order(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let sorted = |node: Arc<dyn ExecutionPlan>| {
        let mut inputs: Vec<Arc<dyn ExecutionPlan>> = Vec::new();
        let mut changed = false;
        for (input, required) in node.children().into_iter().zip(node.required_input_ordering()) {
            let mut input = Arc::clone(input);
            if let Some(OrderingRequirements::Hard(ways)) = required
                && !plan_is::<DataSourceExec>(&input)
            {
                let known = input.equivalence_properties();
                let mut is_met = false;
                for way in &ways {
                    is_met |= known.ordering_satisfy_requirement(way.clone())?;
                }
                if let (false, Some(way)) = (is_met, ways.into_iter().next()) {
                    input = Arc::new(SortExec::new(LexOrdering::from(way), input));
                    changed = true;
                }
            }
            inputs.push(input);
        }
        Ok(match changed {
            true => Transformed::yes(with_inputs(&node, inputs)?),
            false => Transformed::no(node),
        })
    };
    Ok(plan.transform_up(sorted)?.data)
}

impl Placer<'_> {
    fn node(&mut self, plan: Arc<dyn ExecutionPlan>) -> Result<Placed> {
        if let Some(join) = Joining::of(&plan) {
            return self.join(&plan, &join);
        }
        let below: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().map(Arc::clone).collect();
        if describe::is_description(&plan) {
            let rows = below.iter().map(|row| self.described(row)).collect::<Result<Vec<_>>>()?;
            return Ok(Placed::Cpu(with_inputs(&plan, rows)?));
        }
        let [child] = &below[..] else {
            if below.is_empty() {
                return Ok(Placed::Cpu(plan));
            }
            let mut inputs = Vec::new();
            for child in below {
                let placed = self.node(child)?;
                inputs.push(self.close(placed)?);
            }
            let plan = with_inputs(&plan, inputs)?;
            // Concatenation costs nothing: the reader takes the rows of each input. Therefore it gets no reason.
            if !plan_is::<ConcatExec>(&plan) {
                self.note(&plan, Unsupported::feature(display_name(&plan)));
            }
            return Ok(Placed::Cpu(plan));
        };
        let below = self.node(Arc::clone(child))?;
        let open = match below {
            Placed::Gpu(open) => Ok(open),
            Placed::Cpu(input) => match self.start(&input, &plan) {
                Ok(open) => Ok(Box::new(open)),
                Err(reason) => Err((input, reason)),
            },
        };
        match open {
            Ok(mut open) => match open.add(&plan) {
                Ok(()) => Ok(Placed::Gpu(open)),
                Err(reason) => {
                    let below = self.close(Placed::Gpu(open))?;
                    let plan = with_input(&plan, below)?;
                    self.note(&plan, reason);
                    Ok(Placed::Cpu(plan))
                }
            },
            Err((input, reason)) => {
                let any: &dyn Any = plan.as_ref();
                let plan_is_limit = any.is::<GlobalLimitExec>() || any.is::<LocalLimitExec>();
                let plan = with_input(&plan, input)?;
                // A limit over host rows copies nothing, so it needs no reason.
                if !plan_is_limit {
                    self.note(&plan, reason);
                }
                Ok(Placed::Cpu(plan))
            }
        }
    }

    /// A row of aggregates that a description shows. Strings of high cardinality stay where they are: numbering all of them
    /// takes longer than to look for the least and the greatest.
    fn described(&mut self, row: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        if let Some((columns, input)) = describe::only_strings(row) {
            let input = self.node(Arc::clone(input))?;
            let input = self.close(input)?;
            let preference = self.preference(&input);
            if columns.iter().any(|column| preference.is_bytes(*column)) {
                return with_input(row, input);
            }
        }
        let row = self.node(Arc::clone(row))?;
        self.close(row)
    }

    /// The side whose rows are kept, or are many, goes on as a pipeline; in the other one they find theirs.
    fn join(&mut self, plan: &Arc<dyn ExecutionPlan>, join: &Joining) -> Result<Placed> {
        let (left, right) = (self.node(Arc::clone(join.left))?, self.node(Arc::clone(join.right))?);
        let left_goes_on = match join.kind {
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => true,
            // An order of the right side is the join's on the CPU, and may be relied upon.
            JoinType::Inner => {
                let is_ordered = join.keeps_order || join.right.properties().output_ordering().is_some();
                !is_ordered && is_larger(join.left, join.right)
            }
            _ => false,
        };
        let (below, other) = if left_goes_on { (left, right) } else { (right, left) };
        let other = self.end(other, true)?;
        let (below, reason) = match below {
            Placed::Gpu(open) => (Ok(open), None),
            Placed::Cpu(input) => match self.start(&input, plan) {
                Ok(open) => (Ok(Box::new(open)), None),
                Err(reason) => (Err(input), Some(reason)),
            },
        };
        let (below, reason) = match below {
            Ok(mut open) => match open.add_join(plan, join, (&other, self.preference(&other)), left_goes_on) {
                Ok(()) => return Ok(Placed::Gpu(open)),
                Err(reason) => (self.close(Placed::Gpu(open))?, Some(reason)),
            },
            Err(input) => (input, reason),
        };
        let inputs = if left_goes_on { vec![below, other] } else { vec![other, below] };
        let plan = with_inputs(plan, inputs)?;
        if let Some(reason) = reason {
            self.note(&plan, reason);
        }
        Ok(Placed::Cpu(plan))
    }

    fn note(&mut self, plan: &Arc<dyn ExecutionPlan>, reason: Unsupported) {
        self.placements.note(plan, reason);
    }

    /// A fragment over an input on the CPU, if it is worth one.
    fn start(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        plan: &Arc<dyn ExecutionPlan>,
    ) -> std::result::Result<FragmentBuilder, Unsupported> {
        if !is_known(plan) {
            return Err(Unsupported::feature(display_name(plan)));
        }
        let rows = rows_there(input);
        match (self.accelerator.policy, rows) {
            (Policy::FromRows(least), Some(rows)) if rows < least => {
                return Err(Unsupported::TooFewRows { rows, least });
            }
            // What comes from a node on the CPU is worth its way to the GPU only where it becomes much less there.
            (Policy::FromRows(_), None) => {
                let any: &dyn Any = plan.as_ref();
                if !any.is::<AggregateExec>() {
                    return Err(Unsupported::InputOnCpu);
                }
            }
            _ => {}
        }
        Ok(FragmentBuilder {
            lowering: Lowering { preference: self.preference(input), ..Lowering::new(&input.schema()) },
            input: Arc::clone(input),
            others: Vec::new(),
            chain: Vec::new(),
            before: Vec::new(),
            filter: None,
            window: None,
            skip: 0,
            limit: None,
            order: None,
            restores: false,
            keyed: None,
            top: None,
            finish: 0,
            works: false,
        })
    }

    /// The preferred representation of the string columns of an input.
    fn preference(&self, input: &Arc<dyn ExecutionPlan>) -> StringRepresentation {
        let any: &dyn Any = input.as_ref();
        if let (true, Some(first)) = (any.is::<ConcatExec>(), input.children().first()) {
            return self.preference(first);
        }
        if let Some(below) = any.downcast_ref::<GpuExec>() {
            return StringRepresentation::Known(below.as_bytes());
        }
        if memory_rows(input).is_none() {
            return StringRepresentation::Numbers;
        }
        let (input, accelerator) = (Arc::clone(input), Arc::clone(self.accelerator));
        StringRepresentation::Of(Arc::new(move |index| {
            memory_as_bytes(&input, index).unwrap_or_else(|| {
                memory_column(&input, index).is_some_and(|parts| accelerator.gpu.residency.has_many_strings(&parts))
            })
        }))
    }

    fn close(&mut self, placed: Placed) -> Result<Arc<dyn ExecutionPlan>> {
        self.end(placed, false)
    }

    /// `is_joined`: its rows stay on the device.
    fn end(&mut self, placed: Placed, is_joined: bool) -> Result<Arc<dyn ExecutionPlan>> {
        let mut open = match placed {
            Placed::Cpu(plan) => return Ok(plan),
            Placed::Gpu(open) => open,
        };
        let finished = if open.works { open.finish(is_joined) } else { Err(Unsupported::Requested) };
        match finished {
            Ok((stages, used)) => {
                let FragmentBuilder { input, others, mut chain, finish, .. } = *open;
                chain.reverse();
                let inputs = [(input, used)].into_iter().chain(others).collect();
                Ok(Arc::new(GpuExec::new(self.accelerator, chain, finish, inputs, stages)))
            }
            Err(reason) => {
                let others: Vec<Arc<dyn ExecutionPlan>> =
                    open.others.iter().map(|(plan, _)| Arc::clone(plan)).collect();
                let mut plan = Arc::clone(&open.input);
                for link in &open.chain {
                    plan = link.fresh(plan, &others)?;
                    if reason != Unsupported::Requested {
                        self.note(&plan, reason.clone());
                    }
                }
                Ok(plan)
            }
        }
    }
}

impl FragmentBuilder {
    /// Joins a node, or leaves the fragment as it was: what nobody reads would be uploaded and computed all the same, and could fail.
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) -> std::result::Result<(), Unsupported> {
        let (saved, works, before) = (self.lowering.save(), self.works, self.before.len());
        let (schema, order) = (Arc::clone(&self.lowering.schema), self.order.clone());
        let restores = self.restores;
        // Expressions on computed strings wait for a stage that materialises the strings, unless that stage is not possible.
        let mut stages: Vec<MaterialiseRequests> = Vec::new();
        for attempt in 0..=MOST_STAGES {
            self.lowering.requests =
                MaterialiseRequests { allowed: attempt < MOST_STAGES, ..MaterialiseRequests::default() };
            if attempt == MOST_STAGES {
                stages.clear();
            }
            let made = stages.iter().try_for_each(|requests| self.make(requests));
            let added = made.and_then(|()| self.join(plan));
            let requests = std::mem::take(&mut self.lowering.requests);
            let Err(reason) = added else {
                if !stages.is_empty() {
                    self.lowering.made.clear();
                    self.lowering.columns.truncate(plan.schema().fields().len());
                    self.lowering.schema = plan.schema();
                }
                return Ok(());
            };
            self.undo(before);
            self.lowering.restore(saved.clone());
            self.lowering.made.clear();
            (self.lowering.schema, self.order) = (Arc::clone(&schema), order.clone());
            (self.works, self.restores, self.keyed) = (works, restores, None);
            if attempt == MOST_STAGES || (stages.is_empty() && requests.are_none()) {
                return Err(reason);
            }
            stages.push(requests);
        }
        Err(Unsupported::Stages { limit: MOST_STAGES })
    }

    /// Materialises the requested strings as columns after the existing ones.
    fn make(&mut self, requests: &MaterialiseRequests) -> std::result::Result<(), Unsupported> {
        let lowering = &mut self.lowering;
        let mut fields: Vec<FieldRef> = lowering.schema.fields().iter().map(Arc::clone).collect();
        for expr in &requests.texts {
            let dtype = lowering.dtype(expr)?;
            let id = strings::column(lowering, expr)?;
            lowering.made.push((Arc::clone(expr), fields.len()));
            fields.push(Arc::new(Field::new(format!("made {}", fields.len()), dtype, true)));
            lowering.columns.push(ColumnSource::Node(id));
        }
        lowering.schema = Arc::new(Schema::new(fields));
        self.materialise();
        Ok(())
    }

    /// The rows so far as a table that the next stage reads: of its columns those that are needed, in its order.
    pub fn materialise(&mut self) {
        (self.restores, self.keyed) = (false, None);
        let next = Lowering {
            preference: self.lowering.preferences(),
            rising_columns: if self.order.is_none() { self.lowering.rising_results() } else { Vec::new() },
            made: std::mem::take(&mut self.lowering.made),
            requests: self.lowering.requests.clone(),
            ..Lowering::new(&self.lowering.schema)
        };
        self.before.push(StageDraft {
            lowering: std::mem::replace(&mut self.lowering, next),
            filter: self.filter.take(),
            window: self.window.take(),
            end: StageEnd::Rows {
                order: self.order.take(),
                skip: std::mem::take(&mut self.skip),
                limit: self.limit.take(),
            },
        });
    }

    /// Whether the stage that is being written reads a table as it is.
    pub fn is_fresh(&self) -> bool {
        let plain = self.lowering.is_as_read() && self.lowering.structs.is_empty() && self.window.is_none();
        let plain = plain && self.lowering.rising.is_empty();
        plain && self.filter.is_none() && self.limit.is_none() && self.order.is_none()
    }

    /// Whether an order can end the stage that is being written.
    pub fn can_be_sorted(&self) -> bool {
        self.limit.is_none() && self.order.is_none() && self.window.is_none()
    }

    /// Takes back what was materialised since there were so many parts.
    pub fn undo(&mut self, before: usize) {
        self.before.truncate(before + 1);
        if self.before.len() > before
            && let Some(StageDraft { lowering, filter, window, end: StageEnd::Rows { order, skip, limit } }) =
                self.before.pop()
        {
            (self.lowering, self.filter, self.window) = (lowering, filter, window);
            (self.order, self.skip, self.limit) = (order, skip, limit);
        }
    }

    fn join(&mut self, plan: &Arc<dyn ExecutionPlan>) -> std::result::Result<(), Unsupported> {
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
                return Err(Unsupported::AboveTopK);
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
                return Err(Unsupported::feature("a filter with a limit"));
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
                return Err(Unsupported::feature("the final step of a two-step aggregate"));
            }
            match *aggregate.mode() != partial {
                true if quantiles::has_quantiles(aggregate) => quantiles::aggregate(self, aggregate)?,
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
                Some(rows) if rows <= MOST_SORTED => {
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
                return Err(Unsupported::feature("a window over rows that are not sorted by its partitions"));
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
            return Err(Unsupported::feature(display_name(plan)));
        }
        self.lowering.schema = plan.schema();
        self.chain.push(FragmentNode::new(plan));
        Ok(())
    }

    /// What has been written, as a stage.
    fn stage(&mut self, part: StageDraft, sink: Sink) -> Stage {
        let StageDraft { lowering, filter, window, .. } = part;
        let joins = lowering.joins.into_iter().map(|side| {
            self.others[side.table].1 = side.lowering.used;
            Join {
                table: side.table,
                graph: side.lowering.graph,
                keys: side.keys,
                probe: side.probe,
                nulls_equal: side.nulls_equal,
                how: side.how,
                residual: side.residual,
                probe_filter: side.probe_filter,
            }
        });
        Stage {
            joins: joins.collect(),
            graph: lowering.graph,
            lookups: lowering.lookups,
            texts: lowering.texts,
            structs: lowering.structs,
            window,
            repeat: lowering.repeat,
            filter,
            sink,
        }
    }

    /// Adds a top-k: the device selects candidates by the first key, and the host sorts the candidates.
    fn top_k(&mut self, sort: &SortExec, rows: u64) -> std::result::Result<(), Unsupported> {
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
    fn sort(&mut self, sort: &SortExec) -> std::result::Result<(), Unsupported> {
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

    /// Sorts by one float alone have its two zeros in any order if nothing else is wanted, unless the key is not the float itself.
    fn keep_zeros(&mut self, keys: &mut [SortKey]) {
        if let [key] = keys
            && let DeviceType::Number(scalar) = self.lowering.graph.kind(key.value)
            && scalar.is_float()
        {
            let zero = self.lowering.graph.number(scalar, 0);
            key.value = self.lowering.graph.add(Op::Add, &[key.value, zero], DeviceType::Number(scalar));
        }
    }

    fn aggregate(&mut self, aggregate: &AggregateExec) -> std::result::Result<(), Unsupported> {
        let group = aggregate.group_expr();
        if !group.is_single() {
            return Err(Unsupported::feature("a grouping set"));
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

    /// Groups rows by some keys; `recipes` are those of a function by its number.
    pub fn aggregate_by(
        &mut self,
        aggregate: &AggregateExec,
        keys: Vec<NodeId>,
        recipes: &mut dyn FnMut(
            &mut Lowering,
            &mut Accumulators,
            usize,
        ) -> std::result::Result<Vec<AggregateResult>, Unsupported>,
    ) -> std::result::Result<(), Unsupported> {
        let mut accumulators = Accumulators::default();
        let mut all = Vec::new();
        for index in 0..aggregate.aggr_expr().len() {
            all.extend(recipes(&mut self.lowering, &mut accumulators, index)?);
        }
        let mut next = Lowering { begins: false, ..Lowering::new(&aggregate.schema()) };
        let kinds: Vec<DeviceType> = keys.iter().map(|key| self.lowering.graph.kind(*key)).collect();
        let mut columns: Vec<ColumnSource> = Vec::new();
        for (index, kind) in kinds.iter().enumerate() {
            columns.push(ColumnSource::Node(next.graph.input(index, *kind)));
        }
        let mut of = onrush_ops::operators::group::kinds(&self.lowering.graph, &accumulators.all);
        let quantiles = of.len();
        of.extend(accumulators.quantiles.iter().map(|quantile| self.lowering.graph.kind(quantile.of)));
        for recipe in &mut all {
            if let AggregateResult::Quantile(index) = recipe {
                *index += quantiles;
            }
            let at = |graph: &mut onrush_ops::ExprGraph, index: usize| graph.input(keys.len() + index, of[index]);
            columns.push(ColumnSource::Node(aggregates::result(&mut next.graph, recipe, &at)));
        }
        next.columns = columns;
        self.before.push(StageDraft {
            lowering: std::mem::replace(&mut self.lowering, next),
            filter: self.filter.take(),
            window: self.window.take(),
            end: StageEnd::Groups { keys, accumulators: accumulators.all, quantiles: accumulators.quantiles },
        });
        Ok(())
    }

    /// The stages. The last stage writes the columns of the topmost node. Strings for a join on the device are dictionary indices, because
    /// grouping and joining need indices, and to encode strings is slow. Strings for the host may be bytes.
    fn finish(&mut self, is_joined: bool) -> std::result::Result<(Vec<Stage>, Vec<usize>), Unsupported> {
        let schema = Arc::clone(&self.lowering.schema);
        let preferred = |index: usize| (index, !is_joined && self.lowering.prefers_bytes(index));
        let all: Vec<(usize, bool)> = (0..schema.fields().len()).map(preferred).collect();
        let columns = columns_of(&mut self.lowering, &all)?;
        let (skip, limit) = (self.skip, self.limit);
        let sink = match self.top {
            Some((key, rows)) => Sink::TopK(TopK { columns, key, rows }),
            None => rows_of(columns, self.order.take(), skip, limit),
        };
        let lowering = std::mem::replace(&mut self.lowering, Lowering::new(&schema));
        let mut used: Vec<(usize, bool)> = wanted_of(&lowering);
        let (filter, window) = (self.filter.take(), self.window.take());
        let mut stages = vec![self.stage(StageDraft { lowering, filter, window, end: StageEnd::Last }, sink)];
        for mut part in std::mem::take(&mut self.before).into_iter().rev() {
            let sink = match std::mem::replace(&mut part.end, StageEnd::Last) {
                StageEnd::Groups { keys, accumulators, quantiles } => Sink::Aggregate { keys, accumulators, quantiles },
                StageEnd::Rows { order, skip, limit } => {
                    rows_of(columns_of(&mut part.lowering, &used)?, order, skip, limit)
                }
                StageEnd::Last => return Err(Unsupported::Unexpected("a last stage before other stages".into())),
            };
            used = wanted_of(&part.lowering);
            stages.push(self.stage(part, sink));
        }
        stages.reverse();
        Ok((stages, used.into_iter().map(|(column, _)| column).collect()))
    }
}

/// The columns that a stage reads of the one before, and whether as bytes.
fn wanted_of(lowering: &Lowering) -> Vec<(usize, bool)> {
    lowering.used.iter().copied().zip(lowering.as_bytes.iter().copied()).collect()
}

/// The nodes of some columns, which are what the device says they are.
fn columns_of(lowering: &mut Lowering, wanted: &[(usize, bool)]) -> std::result::Result<Vec<NodeId>, Unsupported> {
    let mut columns = Vec::new();
    for (index, as_bytes) in wanted {
        let id = match lowering.columns.get(*index) {
            // What is computed has one form; its reader makes the other one.
            Some(ColumnSource::Node(id)) => *id,
            _ => lowering.column_as(*index, *as_bytes)?,
        };
        let dtype = lowering.schema.field(*index).data_type();
        let kind = match lowering.graph.kind(id) {
            DeviceType::String => DeviceType::DictIndex,
            kind => kind,
        };
        if kind_of(dtype) != Some(kind) {
            return Err(Unsupported::of_type("a result", dtype));
        }
        columns.push(id);
    }
    Ok(columns)
}

fn rows_of(columns: Vec<NodeId>, order: Option<Vec<SortKey>>, skip: u64, limit: Option<u64>) -> Sink {
    match order {
        Some(keys) => Sink::Sort(Sort { columns, keys, skip, limit }),
        None => Sink::Output(Output { columns, skip, limit }),
    }
}

pub fn and(graph: &mut onrush_ops::ExprGraph, before: Option<NodeId>, condition: NodeId) -> NodeId {
    match before {
        Some(before) => graph.add(Op::And, &[before, condition], DeviceType::Bool),
        None => condition,
    }
}
