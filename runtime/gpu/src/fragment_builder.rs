//! A fragment that may still grow: its stages so far, and the stage that is being written.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use onrush_ops::{
    Accumulator, DeviceType, Join, NodeId, Op, Output, Quantile, Sink, Sort, SortKey, Stage, TopK, Window, kind_of,
};

use super::aggregates::{self, Accumulators, AggregateResult};
use super::cpu_reason::CpuReason;
use super::fragment::FragmentNode;
use super::keyed_stage::KeyedStage;
use super::lower::{ColumnSource, Lowering, StringRepresentation};

/// A stage whose rows another one goes on with.
pub struct StageDraft {
    lowering: Lowering,
    filter: Option<NodeId>,
    window: Option<Window>,
    end: StageEnd,
}

pub enum StageEnd {
    /// The end of the stage that gives the result.
    Last,
    Groups {
        keys: Vec<NodeId>,
        accumulators: Vec<Accumulator>,
        quantiles: Vec<Quantile>,
    },
    /// The columns that the next stage reads.
    Rows {
        order: Option<Vec<SortKey>>,
        skip: u64,
        limit: Option<u64>,
    },
}

/// A fragment that may still grow.
pub struct FragmentBuilder {
    pub input: Arc<dyn ExecutionPlan>,
    /// The build sides, and their columns that are read, once their stage is done.
    pub others: Vec<(Arc<dyn ExecutionPlan>, Vec<usize>)>,
    pub chain: Vec<FragmentNode>,
    /// The stages before the one that is being written.
    pub before: Vec<StageDraft>,
    pub lowering: Lowering,
    pub filter: Option<NodeId>,
    pub window: Option<Window>,
    pub skip: u64,
    pub limit: Option<u64>,
    /// The keys that all rows are sorted by.
    pub order: Option<Vec<SortKey>>,
    /// Whether that only puts them back in the order in which they came.
    pub restores: bool,
    /// The stage that is being written, if more windows by its keys can be added.
    pub keyed: Option<KeyedStage>,
    /// The key by which the rows are to be the first, and how many.
    pub top: Option<(NodeId, u64)>,
    /// How many of the last nodes run on the host, over the few rows that are left.
    pub finish: usize,
    /// Whether anything is computed: a choice of columns is nothing.
    pub works: bool,
}

impl FragmentBuilder {
    /// A fragment over an input, without a node so far.
    pub fn new(input: &Arc<dyn ExecutionPlan>, preference: StringRepresentation) -> FragmentBuilder {
        FragmentBuilder {
            lowering: Lowering { preference, ..Lowering::new(&input.schema()) },
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
        }
    }

    /// The rows so far as a table that the next stage reads: of its columns those that are needed, in its order.
    pub fn materialise(&mut self) {
        (self.restores, self.keyed) = (false, None);
        let next = Lowering {
            preference: self.lowering.preferences(),
            rising_columns: if self.order.is_none() { self.lowering.rising_results() } else { Vec::new() },
            materialised: std::mem::take(&mut self.lowering.materialised),
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

    /// Groups rows by some keys; `recipes` are those of a function by its number.
    pub fn aggregate_by(
        &mut self,
        aggregate: &AggregateExec,
        keys: Vec<NodeId>,
        recipes: &mut dyn FnMut(
            &mut Lowering,
            &mut Accumulators,
            usize,
        ) -> std::result::Result<Vec<AggregateResult>, CpuReason>,
    ) -> std::result::Result<(), CpuReason> {
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

    /// Makes a stage of a draft.
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

    /// The stages. The last stage writes the columns of the topmost node. Strings for a join on the device are
    /// dictionary indices, because grouping and joining need indices, and to encode strings is slow. Strings for the
    /// host may be bytes.
    pub fn finish(&mut self, is_joined: bool) -> std::result::Result<(Vec<Stage>, Vec<usize>), CpuReason> {
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
                StageEnd::Last => return Err(CpuReason::Unexpected("a last stage before other stages".into())),
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
fn columns_of(lowering: &mut Lowering, wanted: &[(usize, bool)]) -> std::result::Result<Vec<NodeId>, CpuReason> {
    let mut columns = Vec::new();
    for (index, as_bytes) in wanted {
        let id = match lowering.columns.get(*index) {
            // A computed value has one representation; its reader makes the other one.
            Some(ColumnSource::Node(id)) => *id,
            _ => lowering.column_as(*index, *as_bytes)?,
        };
        let dtype = lowering.schema.field(*index).data_type();
        let kind = match lowering.graph.kind(id) {
            DeviceType::String => DeviceType::DictIndex,
            kind => kind,
        };
        if kind_of(dtype) != Some(kind) {
            return Err(CpuReason::of_type("a result", dtype));
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
