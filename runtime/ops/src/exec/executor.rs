//! Runs pipelines: one kernel or more for each stage, over the rows or the groups of the stage before.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arrow::datatypes::DataType;
use onrush_device::{Arguments, Buffer, Device, Owner};
use onrush_kernels::{Context, Library};

use crate::codegen::{KernelBody, LookupTable, RowSource, SideInputs};
use crate::column::dictionary::Dictionary;
use crate::column::list;
use crate::column::output_column::OutputColumn;
use crate::column::residency::Residency;
use crate::column::string::has_strings;
use crate::column::{DeviceColumn, DeviceTable};
use crate::exec::replay::{PassThrough, Replay, ReplayCache};
use crate::ir::aggregate::Accumulator;
use crate::ir::expr::{DeviceType, ListOp, NodeId, Op};
use crate::launch::kernel_cache::KernelCache;
use crate::launch::launch_blocks;
use crate::launch::stream_context::{Meanwhile, StreamContext, StreamGuard, StreamPool};
use crate::operators::explode::Explode;
use crate::operators::group::key_encoding::{EncodedKeys, EncodingContext};
use crate::operators::join::encoded_keys;
use crate::operators::join::expand::{ExpandedRows, LazyMatches};
use crate::operators::join::{BuildSide, DictionaryRemaps, JoinBuilder};
use crate::operators::join::{guaranteed_match, radix};
use crate::operators::lookup_table::LookupCache;
use crate::operators::partition::shared::Tuning;
use crate::operators::window;
use crate::operators::write::{self, OutputSlot, RecordedLaunch};
use crate::operators::{explode, group, quantile, sort};
use crate::pipeline::dictionary_propagation::{Dictionaries, node_dictionary, reads_previous_stage};
use crate::pipeline::lookup::{Lookup, StringSource};
use crate::pipeline::{Output, Sink, Stage};
use crate::{Error, Result};

/// A device with what is compiled for it and what lies on it.
pub struct Executor {
    context: Context,
    pub residency: Arc<Residency>,
    /// Runs, and their nanoseconds.
    runs: AtomicU64,
    spent: AtomicU64,
    sizes: group::GroupCountHints,
    pub(crate) memo: KernelCache,
    renumberings: DictionaryRemaps,
    lookups: LookupCache,
    lanes: StreamPool,
    /// Columns that nobody holds are let go of while a kernel runs.
    meanwhile: Meanwhile,
    /// Thresholds of partitioning and of dictionary-encoding keys.
    pub tuning: Tuning,
}

/// Pairs of rows that a join without keys looks at in a run: seconds of work. More are those of several runs, if they
/// are aggregated.
const MOST_PAIRS: u64 = 1 << 38;
const MOST_PAIRS_EMULATED: u64 = 1 << 26;

/// The input of a stage: its source, the dictionaries of its columns, and the memory that must live as long.
struct StageInput {
    source: RowSource,
    dictionaries: Vec<Option<Arc<Dictionary>>>,
    /// Dictionaries of the columns that can be fetched.
    fetched: Vec<Option<Arc<Dictionary>>>,
    /// Memory of groups and of quantiles.
    _memory: [Option<Buffer>; 2],
    /// Memory of the rows that can be fetched.
    _pairs: Option<(Option<ExpandedRows>, Option<Explode>)>,
    _coded: EncodedKeys,
    /// Lists of rows of columns of the table before, by their columns.
    rows_of: HashMap<u32, Arc<Dictionary>>,
}

impl Executor {
    /// Compiled kernels are kept in `cache`.
    pub fn new(device: &Device, cache: Option<&std::path::Path>) -> Result<Executor> {
        let library = Library::new(device, cache);
        let residency: Arc<Residency> = Arc::default();
        let swept = Arc::clone(&residency);
        Ok(Executor {
            context: Context::new(&library, &Owner::new("session"))?,
            residency,
            runs: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            sizes: group::GroupCountHints::default(),
            memo: KernelCache::default(),
            renumberings: DictionaryRemaps::default(),
            lookups: LookupCache::default(),
            lanes: StreamPool::default(),
            meanwhile: Arc::new(move || swept.sweep_at_times()),
            tuning: Tuning::new(device.properties().shared_memory_per_block),
        })
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Writes far behind a buffer's end, for tests of what comes after: on a GPU the driver ends the context, the
    /// emulated device finds it.
    ///
    /// # Errors
    /// Always, unless the device has a page there.
    pub fn inject_fault(&self) -> Result<()> {
        let body = "extern \"C\" __global__ void out_of_bounds(u64* words, u64 far) { words[far + threadIdx.x] = 1; }";
        let program =
            onrush_kernels::Program::new(&[&onrush_kernels::headers::PRELUDE], body.to_string(), ["out_of_bounds"]);
        let function = self.context.library.function(&program, "out_of_bounds")?;
        let words = self.context.zeros(64)?;
        launch_blocks(&self.context, &function, Arguments::new().buffer(&words).value(1_u64 << 40), 1, (32, 1), 0)?;
        words.read_one::<u64>(&self.context.stream)?;
        Ok(())
    }

    /// How many runs there were, and how long they took together: from their stages to the result in device memory.
    pub fn spent(&self) -> (u64, Duration) {
        (self.runs.load(Ordering::Relaxed), Duration::from_nanos(self.spent.load(Ordering::Relaxed)))
    }

    /// Whether nothing runs.
    pub fn is_idle(&self) -> bool {
        self.lanes.are_idle()
    }

    /// Takes a stream for an execution and for the uploads and downloads around it. Other streams run at the same time.
    /// Executions over few `rows` come first; `work` says how many rows some stages process.
    pub fn lane(&self, rows: u64) -> Result<StreamGuard<'_>> {
        self.lanes.take(&self.context, &self.meanwhile, rows)
    }

    /// Compacts a column that is to be kept. A list column may share the elements of many more rows; the result has
    /// only its elements.
    pub fn compacted(&self, lane: &StreamContext, dtype: &DataType, column: &DeviceColumn) -> Result<DeviceColumn> {
        explode::compacted(&self.memo, lane, dtype, column)
    }

    /// Runs stages over a table, with the tables `beside` it that they join. The last one must give columns; those of
    /// an earlier one are the next one's table. Waits until all of it is done, even where it fails.
    pub fn run(
        &self,
        lane: &StreamContext,
        table: &DeviceTable,
        beside: &[DeviceTable],
        stages: &Arc<Vec<Stage>>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<DeviceTable> {
        let begun = Instant::now();
        let generation = lane.context.library.generation();
        let result = match lane.attached::<ReplayCache>().get(generation, stages, table) {
            Some(again) if beside.is_empty() => again.run(lane, table),
            _ => {
                let keep = |again: Replay| lane.attached::<ReplayCache>().put(generation, stages, table, again);
                let moved = Cell::new(false);
                let result = self.stages(lane, (table, beside), stages, &keep, cancelled, Some(&moved));
                match result {
                    // With copies of both tables there was too little memory for the rest.
                    Err(error) if error.is_memory() && moved.get() => {
                        lane.status.clear(&lane.context)?;
                        self.stages(lane, (table, beside), stages, &keep, cancelled, None)
                    }
                    result => result,
                }
            }
        };
        let mut cleared = Ok(());
        if result.is_err() {
            lane.is_idle.store(false, Ordering::Relaxed);
            cleared = lane.status.clear(&lane.context);
        }
        if !lane.is_idle.load(Ordering::Relaxed) {
            lane.context.stream.synchronize()?;
            lane.is_idle.store(true, Ordering::Relaxed);
        }
        cleared?;
        self.runs.fetch_add(1, Ordering::Relaxed);
        self.spent.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        result
    }

    /// `moves`: whether rows of joins may be partitioned, and on return whether they were.
    fn stages(
        &self,
        lane: &StreamContext,
        (table, others): (&DeviceTable, &[DeviceTable]),
        stages: &[Stage],
        keep: &dyn Fn(Replay),
        cancelled: &dyn Fn() -> bool,
        moves: Option<&Cell<bool>>,
    ) -> Result<DeviceTable> {
        // A run of one kernel, if its last stage is.
        let first = &stages[0];
        let is_as_read = first.window.is_none() && first.repeat.is_none();
        // Structs hold the columns that they are made of, and a cached replay would hold the structs.
        let is_plain = others.is_empty() && is_as_read && first.structs.is_empty();
        let StreamContext { context, status, .. } = lane;
        let tools = group::GroupContext { context, status, sizes: &self.sizes, tuning: &self.tuning };
        let builder = JoinBuilder { tools: &tools, memo: &self.memo, renumberings: &self.renumberings };
        let execution = Execution { gpu: self, lane, tools: &tools, builder: &builder, given: table, keep, cancelled };
        let mut flow: Option<StageInput> = None;
        let mut table = Cow::Borrowed(table);
        let mut others = others.to_vec();
        for join in stages.iter().flat_map(|stage| &stage.joins) {
            others[join.table] = others[join.table].to_representation(context, &join.graph)?;
        }
        let mut stages = Cow::Borrowed(stages);
        encoded_keys::joins(context, &mut stages, &mut table, &mut others, self.tuning.encode_from)?;
        if let Some(moved) = moves {
            moved.set(radix::joins(&tools, &self.memo, &stages, &mut table, &mut others)?);
        }
        for (number, stage) in stages.iter().enumerate() {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            let begins = flow.is_none();
            let input = match flow.take() {
                Some(flow) => flow,
                None => {
                    table = Cow::Owned(table.to_representation(context, &stage.graph)?);
                    execution.first_input(stage, &table)?
                }
            };
            let is_replayable = begins && number == 0 && is_plain;
            let next = &stages[number + 1..];
            let at = StageTables { stage, next, begins, is_replayable, table: &table, others: &others };
            match execution.stage(&at, input)? {
                StageOutput::Table(written) if at.next.is_empty() => return Ok(written),
                StageOutput::Table(written) => table = Cow::Owned(written),
                StageOutput::Result(row) => return Ok(row),
                StageOutput::Groups(groups) => flow = Some(*groups),
            }
        }
        Err(Error::Unsupported("a plan without a result".to_string()))
    }

    /// Computes the aggregate of all rows of a pipeline, and the output of the last stage from it, in one kernel. The
    /// kernel sets the completion flag. None where that takes more than one look at the rows.
    fn fused_scalar_aggregate(
        &self,
        lane: &StreamContext,
        body: &KernelBody,
        accumulators: &[Accumulator],
        last: &Stage,
        dictionary_of: &dyn Fn(NodeId) -> Option<Arc<Dictionary>>,
    ) -> Result<Option<(DeviceTable, RecordedLaunch)>> {
        let Sink::Output(Output { columns, skip: 0, limit: None | Some(1..) }) = &last.sink else { return Ok(None) };
        let is_plain =
            last.joins.is_empty() && last.lookups.is_empty() && last.window.is_none() && last.filter.is_none();
        if !is_plain || reads_previous_stage(&last.graph) || has_strings(&last.graph, columns) {
            return Ok(None);
        }
        let tools = group::GroupContext {
            context: &lane.context,
            status: &lane.status,
            sizes: &self.sizes,
            tuning: &self.tuning,
        };
        let Some((targets, mut run)) =
            group::fused_scalar_aggregate(&tools, lane, body, accumulators, (&last.graph, columns))?
        else {
            return Ok(None);
        };
        let inputs: Vec<_> = accumulators.iter().map(|a| a.of.and_then(dictionary_of)).collect();
        let texts = Dictionaries {
            inputs: &inputs,
            lookups: &[],
            fetched: &[],
            joined: &[],
            lists: &last.texts,
            rows_of: &HashMap::new(),
            structs: &[],
            window: None,
        };
        let mut row = |(root, target): (&NodeId, OutputColumn)| {
            let kind = last.graph.kind(*root);
            let dictionary = if kind.has_dictionary() { node_dictionary(&last.graph, *root, &texts) } else { None };
            run.results.push(OutputSlot::of(kind, &target, dictionary.clone()));
            DeviceColumn::written(&lane.context, kind, target, 1, dictionary)
        };
        let columns = columns.iter().zip(targets).map(&mut row).collect::<Result<_>>()?;
        Ok(Some((DeviceTable { rows: 1, columns }, run)))
    }
}

/// State that the stages of an execution share.
struct Execution<'a> {
    gpu: &'a Executor,
    lane: &'a StreamContext,
    tools: &'a group::GroupContext<'a>,
    builder: &'a JoinBuilder<'a>,
    /// The table before its strings changed their representation.
    given: &'a DeviceTable,
    keep: &'a dyn Fn(Replay),
    cancelled: &'a dyn Fn() -> bool,
}

/// A stage with the tables that it reads.
struct StageTables<'a> {
    stage: &'a Stage,
    /// The stages after it.
    next: &'a [Stage],
    /// Whether it reads `table`, and not the groups of the stage before.
    begins: bool,
    /// Whether a launch over `table` can be replayed: `table` is what the execution was given. Results of an earlier
    /// stage are freed after the execution.
    is_replayable: bool,
    table: &'a DeviceTable,
    others: &'a [DeviceTable],
}

/// The rows of a stage.
enum StageOutput {
    Table(DeviceTable),
    /// The row of the last stage, which was computed with this one.
    Result(DeviceTable),
    Groups(Box<StageInput>),
}

/// The joins of a stage.
struct StageJoins {
    built: Vec<BuildSide>,
    pairs: Option<ExpandedRows>,
    open: Option<LazyMatches>,
}

/// The dictionary of a node.
type DictionaryOf<'a> = &'a dyn Fn(NodeId) -> Option<Arc<Dictionary>>;

impl Execution<'_> {
    /// A table as the source of a stage.
    fn first_input(&self, stage: &Stage, table: &DeviceTable) -> Result<StageInput> {
        let mut known = stage.keys();
        if let Some(window) = stage.window.as_ref().filter(|_| table.rows >= self.gpu.tuning.encode_from) {
            known.extend(window.sums());
        }
        let needed = stage.graph.needed(&known);
        // Columns whose range is needed: keys, long sums, and decimals, which are computed in fewer bits if possible.
        let ranged = |index: usize| {
            let column = &table.columns[index];
            column.is_decimal64() || needed.iter().any(|id| stage.graph.node(*id).op == Op::Input(index as u32))
        };
        Ok(StageInput {
            source: RowSource::of(&self.lane.context, table, &ranged)?,
            dictionaries: table.columns.iter().map(|c| c.dictionary.clone()).collect(),
            fetched: Vec::new(),
            _memory: [None, None],
            _pairs: None,
            _coded: EncodedKeys::default(),
            rows_of: HashMap::new(),
        })
    }

    /// Runs one stage.
    fn stage(&self, at: &StageTables, input: StageInput) -> Result<StageOutput> {
        let &StageTables { stage, begins, table, others, .. } = at;
        let (lane, context, memo) = (self.lane, &self.lane.context, &self.gpu.memo);
        let StageInput { mut source, dictionaries, fetched, _memory, _pairs, _coded, rows_of } = input;
        let joined: Vec<Vec<_>> = stage
            .joins
            .iter()
            .map(|join| others[join.table].columns.iter().map(|column| column.dictionary.clone()).collect())
            .collect();
        let mut tables = Vec::new();
        let mut found_texts = Vec::new();
        for lookup in &stage.lookups {
            let (table, dictionary) = self.gpu.lookups.get(context, lookup, &dictionaries, &joined)?;
            tables.push(table);
            found_texts.push(dictionary);
        }
        let mut structs = Vec::new();
        for columns in stage.structs.iter().filter(|_| begins) {
            structs.push(list::pieces_of(context, table, columns)?);
        }
        let dictionary_of = |id: NodeId| {
            node_dictionary(
                &stage.graph,
                id,
                &Dictionaries {
                    inputs: &dictionaries,
                    lookups: &found_texts,
                    fetched: if stage.window.is_some() { &dictionaries } else { &fetched },
                    joined: &joined,
                    lists: &stage.texts,
                    rows_of: &rows_of,
                    structs: &structs,
                    window: stage.window.as_ref(),
                },
            )
        };
        let coded = self.encode_keys(at, &mut source)?;
        let StageJoins { mut built, mut pairs, open } = self.joins(at, &source, &tables, &dictionary_of)?;
        if let Some(pairs) = &mut pairs {
            std::mem::swap(&mut source, &mut pairs.source);
        }
        let mut filter = stage.filter;
        if begins {
            filter = guaranteed_match::note(context, (table, &source), stage, &mut built)?;
        }
        let mut exploded = None;
        if let Some(count) = stage.repeat {
            let beside = SideInputs { tables: &tables, ..SideInputs::default() };
            let body = KernelBody::new(&source, &stage.graph, beside, None, memo);
            let mut found = explode::explode(lane, &body, count)?;
            std::mem::swap(&mut source, &mut found.source);
            exploded = Some(found);
        }
        let probings: Vec<_> = built.iter().map(|built| &built.probing).collect();
        let mut beside = SideInputs { tables: &tables, joins: &probings, window: None };
        let mut found = None;
        if let Some(of) = &stage.window {
            // Rows that windows name are read where they are.
            source.fetched = source.inputs.clone();
            let body = KernelBody::new(&source, &stage.graph, beside, None, memo);
            found = Some(window::find(context, &lane.status, &body, of)?);
        }
        beside.window = found.as_ref();
        let body = || KernelBody::new(&source, &stage.graph, beside, filter, memo);
        let written = match (&stage.sink, &open) {
            (Sink::Output(Output { columns, .. }), Some(open)) => {
                let (targets, count) = self.builder.expand(&body(), open, columns)?;
                write::written(lane, &body(), columns, targets, count, &dictionary_of)?
            }
            (Sink::Output(output), None) => {
                let is_as_read = begins && pairs.is_none() && stage.window.is_none() && exploded.is_none();
                let is_table = is_as_read && filter.is_none() && output.skip == 0 && output.limit.is_none();
                let column = |root: &NodeId| match is_table {
                    true => shared(stage, *root, table, &tables, &found_texts),
                    false => None,
                };
                let shared = output.columns.iter().map(column).collect();
                self.output(at, &body, output, shared, &dictionary_of)?
            }
            (Sink::Sort(sort), _) => sort::sort(lane, &body(), sort, &dictionary_of)?,
            (Sink::TopK(top), _) => sort::top_k(lane, &body(), top, &dictionary_of)?,
            (Sink::Aggregate { keys, accumulators, quantiles }, _) => {
                let mut graph = Cow::Borrowed(&stage.graph);
                let mut found_by = keys.clone();
                coded.replace(&mut graph, &mut found_by);
                let body = KernelBody::new(&source, &graph, beside, filter, memo);
                if keys.is_empty()
                    && quantiles.is_empty()
                    && let Some(row) = self.scalar_row(at, &body, accumulators, &dictionary_of)?
                {
                    return Ok(StageOutput::Result(row));
                }
                let mut found_quantiles = None;
                let (mut groups, memory) = match keys.is_empty() {
                    true => {
                        let (mut row, memory) = group::all(self.tools, &body, accumulators)?;
                        found_quantiles = quantile::append(lane, &body, quantiles, &mut row)?;
                        (row, memory)
                    }
                    false => {
                        let (groups, table) = group::run(self.tools, &body, &found_by, accumulators)?;
                        (groups, Some(table))
                    }
                };
                coded.decode(&mut groups, &|key| stage.graph.kind(keys[key]));
                let mut texts: Vec<_> = keys.iter().map(|key| dictionary_of(*key)).collect();
                texts.extend(accumulators.iter().map(|a| a.of.and_then(dictionary_of)));
                texts.extend(quantiles.iter().map(|_| None));
                let mut fetched = Vec::new();
                let mut rows_of = HashMap::new();
                if begins && at.next.first().is_some_and(|next| reads_previous_stage(&next.graph)) {
                    for node in at.next[0].graph.nodes() {
                        if let Op::List(ListOp::Rows(column)) = node.op {
                            rows_of.insert(column, list::pieces_of(context, table, &[column])?);
                        }
                    }
                    source.inputs.truncate(table.columns.len());
                    groups.parameters.extend(&source.parameters);
                    groups.fetched = source.inputs;
                    fetched = dictionaries;
                }
                let _pairs = (!fetched.is_empty()).then_some((pairs, exploded));
                let groups = StageInput {
                    source: groups,
                    dictionaries: texts,
                    fetched,
                    _memory: [memory, found_quantiles],
                    _pairs,
                    _coded: coded,
                    rows_of,
                };
                return Ok(StageOutput::Groups(Box::new(groups)));
            }
        };
        Ok(StageOutput::Table(written))
    }

    /// Dictionary-encodes the keys of groups of a table, if its size is worth it.
    fn encode_keys(&self, at: &StageTables, source: &mut RowSource) -> Result<EncodedKeys> {
        let (stage, gpu) = (at.stage, self.gpu);
        let Sink::Aggregate { keys, .. } = &stage.sink else { return Ok(EncodedKeys::default()) };
        if !at.begins || stage.repeat.is_some() || at.table.rows < gpu.tuning.encode_from {
            return Ok(EncodedKeys::default());
        }
        let with = EncodingContext {
            context: &self.lane.context,
            memo: &gpu.memo,
            fault: self.lane.status.fault(),
            filtered: stage.filter.is_some(),
        };
        EncodedKeys::new(&with, at.table, &stage.graph, keys, source)
    }

    /// Builds the tables of a stage's joins, and expands joins with duplicate keys.
    fn joins(
        &self,
        at: &StageTables,
        source: &RowSource,
        tables: &[Arc<LookupTable>],
        dictionary_of: DictionaryOf,
    ) -> Result<StageJoins> {
        let (stage, context) = (at.stage, &self.lane.context);
        let mut built: Vec<BuildSide> = Vec::new();
        let mut pairs: Option<ExpandedRows> = None;
        let mut open: Option<LazyMatches> = None;
        let all = stage.graph.needed(&stage.keys());
        for (number, join) in stage.joins.iter().enumerate() {
            if (self.cancelled)() {
                return Err(Error::Cancelled);
            }
            let key_texts: Vec<_> = stage.graph.node(join.probe).args.iter().map(|key| dictionary_of(*key)).collect();
            let ranged = |column: usize| {
                all.iter().any(|id| stage.graph.node(*id).op == Op::BuildColumn(number as u32, column as u32))
            };
            let table = &at.others[join.table];
            // All pairs are looked at, and a kernel does not end before it is done.
            let most = if context.device().is_emulated() { MOST_PAIRS_EMULATED } else { MOST_PAIRS };
            if join.is_all() && source.rows.saturating_mul(table.rows) > most {
                return Err(Error::TooManyRows(format!("{} by {} rows without keys", source.rows, table.rows)));
            }
            let wanted = (stage, source.rows);
            built.push(self.builder.build((number, join), wanted, table, &ranged, &key_texts)?);
            if built[number].has_pairs(join) {
                let (of, here) = ((stage, tables), (number, join, table));
                if pairs.is_none() {
                    open = self.builder.open(source, of, here, &mut built)?;
                }
                if open.is_none() {
                    pairs = Some(self.builder.pairs(source, pairs.take(), of, here, &mut built)?);
                }
            }
        }
        Ok(StageJoins { built, pairs, open })
    }

    /// Writes the columns of an output that are not `shared` with the table.
    fn output<'b>(
        &self,
        at: &StageTables,
        body: &dyn Fn() -> KernelBody<'b>,
        output: &Output,
        shared: Vec<Option<PassThrough>>,
        dictionary_of: DictionaryOf,
    ) -> Result<DeviceTable> {
        let (lane, table, is_last) = (self.lane, at.table, at.next.is_empty());
        if !shared.iter().any(Option::is_some) {
            let body = body();
            let keep = |run: RecordedLaunch| {
                (self.keep)(Replay::Launch(RecordedLaunch { tables: body.beside.tables.to_vec(), ..run }))
            };
            let keep: Option<&dyn Fn(RecordedLaunch)> = if is_last && at.is_replayable { Some(&keep) } else { None };
            return write::output_and(lane, &body, output, dictionary_of, keep);
        }
        let others = output.columns.iter().zip(&shared).filter(|(_, shared)| shared.is_none());
        let columns: Vec<NodeId> = others.map(|(root, _)| *root).collect();
        let mut others = Vec::new().into_iter();
        if !columns.is_empty() {
            let output = Output { columns, ..output.clone() };
            others = write::output(lane, &body(), &output, dictionary_of)?.columns.into_iter();
        }
        let column = |shared: &Option<PassThrough>| match shared {
            Some(shared) => Some(shared.of(table)),
            None => others.next(),
        };
        let columns = shared.iter().filter_map(column).collect();
        let written = DeviceTable { rows: table.rows, columns };
        // Not read in another form.
        let is_as_given =
            |column: usize| Arc::ptr_eq(&self.given.columns[column].values, &table.columns[column].values);
        if is_last
            && at.is_replayable
            && let Some(shared) = shared.into_iter().collect::<Option<Vec<_>>>()
            && shared.iter().all(|shared| is_as_given(shared.column))
        {
            (self.keep)(Replay::PassThrough(shared));
        }
        Ok(written)
    }

    /// The row of the last stage, if it is the next one and one kernel can compute both.
    fn scalar_row(
        &self,
        at: &StageTables,
        body: &KernelBody,
        accumulators: &[Accumulator],
        dictionary_of: DictionaryOf,
    ) -> Result<Option<DeviceTable>> {
        let [last] = at.next else { return Ok(None) };
        let found = self.gpu.fused_scalar_aggregate(self.lane, body, accumulators, last, dictionary_of)?;
        let Some((row, run)) = found else { return Ok(None) };
        if at.is_replayable {
            (self.keep)(Replay::Launch(RecordedLaunch { tables: body.beside.tables.to_vec(), ..run }));
        }
        Ok(Some(row))
    }
}

/// A column of the table, if that is what a result is.
fn shared(
    stage: &Stage,
    root: NodeId,
    table: &DeviceTable,
    tables: &[Arc<LookupTable>],
    texts: &[Option<Arc<Dictionary>>],
) -> Option<PassThrough> {
    let kind = stage.graph.kind(root);
    let of = |input: u32| {
        let column = input as usize;
        table.columns.get(column).filter(|column| column.kind == kind).map(|_| column)
    };
    match stage.graph.node(root).op {
        Op::Input(input) => of(input).map(|column| PassThrough { column, dictionary: None }),
        Op::Lookup(number) => {
            let Lookup::Strings { of: StringSource::Input(input), .. } = stage.lookups.get(number as usize)? else {
                return None;
            };
            let (column, dictionary) = (of(*input)?, texts.get(number as usize)?.clone()?);
            let is_same = kind == DeviceType::DictIndex && tables.get(number as usize)?.is_same;
            is_same.then_some(PassThrough { column, dictionary: Some(dictionary) })
        }
        _ => None,
    }
}
