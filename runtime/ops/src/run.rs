//! Running pipelines: stages one behind the other, each a kernel over the rows or the groups of the one before.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use onrush_device::{Arguments, Buffer, Device, Owner};
use onrush_kernels::{Context, Library};

use crate::aggregate::Accumulator;
use crate::certain;
use crate::coded::{Coded, Numbering};
use crate::codegen::output::{self, Target};
use crate::codegen::{Beside, Body, Source, Table};
use crate::column::{DeviceColumn, DeviceTable};
use crate::dictionary::Dictionary;
use crate::graph::{Graph, Id, Kind, ListOp, Op};
use crate::join::{Builder, Built, Join, Renumberings};
use crate::lane::{Lane, Lanes, Working};
use crate::launch::{launch, launch_blocks, launch_tiles};
use crate::list::{self, Spread};
use crate::lookup::{Lookup, Lookups, Origin};
use crate::meaning::{Dictionaries, fetches, text_of};
use crate::memo::Memo;
use crate::pairs::{Open, Paired};
use crate::parted::Tuning;
use crate::prepared::{Again, Made, Run, Shared};
use crate::residency::Residency;
use crate::text::{Rows, Texts, has_texts, with_row_number};
use crate::window::{self, Window};
use crate::{Error, Result, group, numbered, partitioned};

/// A device with what is compiled for it and what lies on it.
pub struct Gpu {
    context: Context,
    pub residency: Arc<Residency>,
    /// Runs, and their nanoseconds.
    runs: AtomicU64,
    spent: AtomicU64,
    sizes: group::Sizes,
    pub(crate) memo: Memo,
    renumberings: Renumberings,
    lookups: Lookups,
    lanes: Lanes,
    /// When the rows of groups are moved, and keys numbered.
    pub tuning: Tuning,
}

/// Pairs of rows that a join without keys looks at in a run: seconds of work. More are those of several runs, if they are aggregated.
const MOST_PAIRS: u64 = 1 << 38;
const MOST_PAIRS_EMULATED: u64 = 1 << 26;

/// Columns, and how many rows of them are wanted.
#[derive(Clone, Debug)]
pub struct Output {
    pub columns: Vec<Id>,
    /// Rows that are left out at the start.
    pub skip: u64,
    pub limit: Option<u64>,
}

/// The rows with the lowest keys, at least as many as are wanted and all that are equal at the edge, in the order in which they came.
#[derive(Clone, Debug)]
pub struct Top {
    pub columns: Vec<Id>,
    /// Of 64 bits without a sign, never null.
    pub key: Id,
    pub rows: u64,
}

/// What rows are sorted by.
#[derive(Clone, Debug)]
pub struct SortKey {
    pub value: Id,
    /// Of 64 bits without a sign, never null.
    pub key: Id,
    /// The same of whether there is no value: looked at first, where there may be none.
    pub absent: Id,
    pub descending: bool,
}

/// All rows in an order, the first key the most important; equal ones in the order in which they came, but for the two zeros of a float of
/// which nothing else is wanted.
#[derive(Clone, Debug)]
pub struct Sort {
    pub columns: Vec<Id>,
    pub keys: Vec<SortKey>,
    pub skip: u64,
    pub limit: Option<u64>,
}

/// Where the rows of a pipeline go.
#[derive(Clone, Debug)]
pub enum Sink {
    Output(Output),
    Sort(Sort),
    Top(Top),
    /// The next stage's inputs are the keys, then the accumulators.
    Aggregate {
        keys: Vec<Id>,
        accumulators: Vec<Accumulator>,
    },
}

/// A pipeline: what is computed of each row, which rows count, and where they go.
#[derive(Clone)]
pub struct Stage {
    pub graph: Graph,
    pub joins: Vec<Join>,
    /// Only in a stage without joins that reads a table.
    pub window: Option<Window>,
    /// How many rows each row becomes, a number of 32 bits that is never null. The same holds as of windows, of which there is none.
    pub spread: Option<Id>,
    /// The columns of [`ListOp::Made`], by their places in the stage's table; only in a stage that goes over one, without joins.
    pub structs: Vec<Vec<u32>>,
    pub lookups: Vec<Lookup>,
    /// The lists of [`Op::Text`].
    pub texts: Vec<Arc<Dictionary>>,
    pub filter: Option<Id>,
    pub sink: Sink,
}

impl Stage {
    /// What its rows are grouped or sorted by.
    fn keys(&self) -> Vec<Id> {
        match &self.sink {
            Sink::Aggregate { keys, .. } => keys.clone(),
            Sink::Sort(sort) => sort.keys.iter().map(|key| key.value).collect(),
            Sink::Output(_) | Sink::Top(_) => Vec::new(),
        }
    }
}

/// What reads a fragment's table of this number: the first one is what it goes over, the others are joined.
pub fn graph_of(stages: &[Stage], table: usize) -> Option<&Graph> {
    match table {
        0 => stages.first().map(|stage| &stage.graph),
        _ => stages.iter().flat_map(|stage| &stage.joins).find(|join| join.table + 1 == table).map(|join| &join.graph),
    }
}

/// What a stage reads: its source, the dictionaries of its columns, and the memory that must live as long.
struct Flow {
    source: Source,
    dictionaries: Vec<Option<Arc<Dictionary>>>,
    /// Those of the columns that can be fetched.
    fetched: Vec<Option<Arc<Dictionary>>>,
    _memory: Option<Buffer>,
    /// Of the rows that can be fetched.
    _pairs: Option<(Option<Paired>, Option<Spread>)>,
    _coded: Coded,
    /// Lists of rows of columns of the table before, by their columns.
    rows_of: HashMap<u32, Arc<Dictionary>>,
}

impl Gpu {
    /// Compiled kernels are kept in `cache`.
    pub fn new(device: &Device, cache: Option<&std::path::Path>) -> Result<Gpu> {
        let library = Library::new(device, cache);
        Ok(Gpu {
            context: Context::new(&library, &Owner::new("session"))?,
            residency: Arc::default(),
            runs: AtomicU64::new(0),
            spent: AtomicU64::new(0),
            sizes: group::Sizes::default(),
            memo: Memo::default(),
            renumberings: Renumberings::default(),
            lookups: Lookups::default(),
            lanes: Lanes::default(),
            tuning: Tuning::new(device.properties().shared_memory_per_block),
        })
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Writes far behind a buffer's end, for tests of what comes after: on a GPU the driver ends the context, the emulated device finds it.
    ///
    /// # Errors
    /// Always, unless the device has a page there.
    pub fn fault(&self) -> Result<()> {
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

    /// A stream for a run and what comes before and after it: uploads, downloads. Others run beside it.
    /// Those that look at few `rows` come first; [`work`] says how many some stages do.
    pub fn lane(&self, rows: u64) -> Result<Working<'_>> {
        self.lanes.take(&self.context, &self.residency, rows)
    }

    /// Runs stages over a table, with the tables `beside` it that they join. The last one must give columns; those of an earlier one are
    /// the next one's table. Waits until all of it is done, even where it fails.
    pub fn run(
        &self,
        lane: &Lane,
        table: &DeviceTable,
        beside: &[DeviceTable],
        stages: &Arc<Vec<Stage>>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<DeviceTable> {
        let begun = Instant::now();
        let result = match lane.known.get(stages, table) {
            Some(again) if beside.is_empty() => again.run(lane, table),
            _ => {
                let keep = |again: Again| lane.known.put(stages, table, again);
                let moved = Cell::new(false);
                let result = self.stages(lane, (table, beside), stages, &keep, cancelled, Some(&moved));
                match result {
                    // Beside copies of both tables there was too little room for the rest.
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

    /// `moves`: rows of joins may be moved to their parts, and whether they were.
    fn stages(
        &self,
        lane: &Lane,
        (table, others): (&DeviceTable, &[DeviceTable]),
        stages: &[Stage],
        keep: &dyn Fn(Again),
        cancelled: &dyn Fn() -> bool,
        moves: Option<&Cell<bool>>,
    ) -> Result<DeviceTable> {
        // A run of one kernel, if its last stage is.
        let first = &stages[0];
        let is_as_read = first.window.is_none() && first.spread.is_none();
        // Structs hold the columns that they are made of: whoever keeps such a run keeps these.
        let is_plain = others.is_empty() && is_as_read && first.structs.is_empty();
        let Lane { context, status, .. } = lane;
        let tools = group::Tools { context, status, sizes: &self.sizes, tuning: &self.tuning };
        let builder = Builder { tools: &tools, memo: &self.memo, renumberings: &self.renumberings };
        let mut flow: Option<Flow> = None;
        let given = table;
        let mut table = Cow::Borrowed(table);
        let mut others = others.to_vec();
        for join in stages.iter().flat_map(|stage| &stage.joins) {
            others[join.table] = others[join.table].in_forms(context, &join.graph)?;
        }
        let mut stages = Cow::Borrowed(stages);
        numbered::joins(context, &mut stages, &mut table, &mut others, self.tuning.encode_from)?;
        if let Some(moved) = moves {
            moved.set(partitioned::joins(&tools, &self.memo, &stages, &mut table, &mut others)?);
        }
        for (number, stage) in stages.iter().enumerate() {
            if cancelled() {
                return Err(Error::Cancelled);
            }
            let begins = flow.is_none();
            let is_last = number + 1 == stages.len();
            let Flow { mut source, dictionaries, fetched, _memory, _pairs, _coded, rows_of } = match flow.take() {
                Some(flow) => flow,
                None => {
                    table = Cow::Owned(table.in_forms(context, &stage.graph)?);
                    let mut known = stage.keys();
                    if let Some(window) = stage.window.as_ref().filter(|_| table.rows >= self.tuning.encode_from) {
                        known.extend(window.sums());
                    }
                    let needed = stage.graph.needed(&known);
                    // Of keys and long sums, and of decimals, which are computed in fewer bits if they can.
                    let ranged = |index: usize| {
                        let column = &table.columns[index];
                        column.is_narrow()
                            || needed.iter().any(|id| stage.graph.node(*id).op == Op::Input(index as u32))
                    };
                    Flow {
                        source: table.source(context, &ranged)?,
                        dictionaries: table.columns.iter().map(|c| c.dictionary.clone()).collect(),
                        fetched: Vec::new(),
                        _memory: None,
                        _pairs: None,
                        _coded: Coded::default(),
                        rows_of: HashMap::new(),
                    }
                }
            };
            let joined: Vec<Vec<_>> = stage
                .joins
                .iter()
                .map(|join| others[join.table].columns.iter().map(|column| column.dictionary.clone()).collect())
                .collect();
            let mut tables = Vec::new();
            let mut found_texts = Vec::new();
            for lookup in &stage.lookups {
                let (table, dictionary) = self.lookups.get(context, lookup, &dictionaries, &joined)?;
                tables.push(table);
                found_texts.push(dictionary);
            }
            let mut structs = Vec::new();
            for columns in stage.structs.iter().filter(|_| begins) {
                structs.push(list::pieces_of(context, &table, columns)?);
            }
            let dictionary_of = |id: Id| {
                text_of(
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
            let mut coded = Coded::default();
            if let Sink::Aggregate { keys, .. } = &stage.sink
                && begins
                && stage.spread.is_none()
                && table.rows >= self.tuning.encode_from
            {
                let with =
                    Numbering { context, memo: &self.memo, fault: status.fault(), filtered: stage.filter.is_some() };
                coded = Coded::new(&with, &table, &stage.graph, keys, &mut source)?;
            }
            let mut built: Vec<Built> = Vec::new();
            let mut pairs: Option<Paired> = None;
            let mut open: Option<Open> = None;
            let all = stage.graph.needed(&stage.keys());
            for (number, join) in stage.joins.iter().enumerate() {
                if cancelled() {
                    return Err(Error::Cancelled);
                }
                let key_texts: Vec<_> =
                    stage.graph.node(join.probe).args.iter().map(|key| dictionary_of(*key)).collect();
                let ranged = |column: usize| {
                    all.iter().any(|id| stage.graph.node(*id).op == Op::Joined(number as u32, column as u32))
                };
                let table = &others[join.table];
                // All pairs are looked at, and a kernel does not end before it is done.
                let most = if context.device().is_emulated() { MOST_PAIRS_EMULATED } else { MOST_PAIRS };
                if join.is_all() && source.rows.saturating_mul(table.rows) > most {
                    return Err(Error::TooManyRows(format!("{} by {} rows without keys", source.rows, table.rows)));
                }
                let wanted = (stage, source.rows);
                built.push(builder.build((number, join), wanted, table, &ranged, &key_texts)?);
                if built[number].has_pairs(join) {
                    let (of, here) = ((stage, &tables[..]), (number, join, table));
                    if pairs.is_none() {
                        open = builder.open(&source, of, here, &mut built)?;
                    }
                    if open.is_none() {
                        pairs = Some(builder.pairs(&source, pairs.take(), of, here, &mut built)?);
                    }
                }
            }
            if let Some(pairs) = &mut pairs {
                std::mem::swap(&mut source, &mut pairs.source);
            }
            let mut filter = stage.filter;
            if begins {
                filter = certain::note(context, (&*table, &source), stage, &mut built)?;
            }
            let mut spread = None;
            if let Some(count) = stage.spread {
                let beside = Beside { tables: &tables, ..Beside::default() };
                let body = Body::new(&source, &stage.graph, beside, None, &self.memo);
                let mut found = self.spread(lane, &body, count)?;
                std::mem::swap(&mut source, &mut found.source);
                spread = Some(found);
            }
            let probings: Vec<_> = built.iter().map(|built| &built.probing).collect();
            let mut beside = Beside { tables: &tables, joins: &probings, window: None };
            let mut found = None;
            if let Some(of) = &stage.window {
                // Rows that windows name are read where they are.
                source.fetched = source.inputs.clone();
                let body = Body::new(&source, &stage.graph, beside, None, &self.memo);
                found = Some(window::find(context, status, &body, of)?);
            }
            beside.window = found.as_ref();
            let body = || Body::new(&source, &stage.graph, beside, filter, &self.memo);
            let written = match (&stage.sink, &open) {
                (Sink::Output(Output { columns, .. }), Some(open)) => {
                    let (targets, count) = builder.expand(&body(), open, columns)?;
                    self.written(lane, &body(), columns, targets, count, &dictionary_of)?
                }
                (Sink::Output(output), None) => {
                    let all = filter.is_none() && output.skip == 0 && output.limit.is_none();
                    let is_table = begins && pairs.is_none() && stage.window.is_none() && spread.is_none();
                    let shared: Vec<Option<Shared>> = match all && is_table {
                        true => output
                            .columns
                            .iter()
                            .map(|root| shared(stage, *root, &table, &tables, &found_texts))
                            .collect(),
                        false => output.columns.iter().map(|_| None).collect(),
                    };
                    if shared.iter().any(Option::is_some) {
                        let others = output.columns.iter().zip(&shared).filter(|(_, shared)| shared.is_none());
                        let columns: Vec<Id> = others.map(|(root, _)| *root).collect();
                        let mut others = Vec::new().into_iter();
                        if !columns.is_empty() {
                            let output = Output { columns, ..output.clone() };
                            others = self.output(lane, &body(), &output, &dictionary_of)?.columns.into_iter();
                        }
                        let column = |shared: &Option<Shared>| match shared {
                            Some(shared) => Some(shared.of(&table)),
                            None => others.next(),
                        };
                        let columns = shared.iter().filter_map(column).collect();
                        let written = DeviceTable { rows: table.rows, columns };
                        // Not read in another form.
                        let is_as_given =
                            |column: usize| Arc::ptr_eq(&given.columns[column].values, &table.columns[column].values);
                        if is_last
                            && is_plain
                            && let Some(shared) = shared.into_iter().collect::<Option<Vec<_>>>()
                            && shared.iter().all(|shared| is_as_given(shared.column))
                        {
                            keep(Again::Shared(shared));
                        }
                        written
                    } else {
                        let keep = |run: Run| keep(Again::Launch(Run { tables: tables.clone(), ..run }));
                        let keep: Option<&dyn Fn(Run)> = if begins && is_last && is_plain { Some(&keep) } else { None };
                        self.output_and(lane, &body(), output, &dictionary_of, keep)?
                    }
                }
                (Sink::Sort(sort), _) => self.sort(lane, &body(), sort, &dictionary_of)?,
                (Sink::Top(top), _) => self.top(lane, &body(), top, &dictionary_of)?,
                (Sink::Aggregate { keys, accumulators }, _) => {
                    let mut graph = Cow::Borrowed(&stage.graph);
                    let mut found_by = keys.clone();
                    coded.replace(&mut graph, &mut found_by);
                    let body = Body::new(&source, &graph, beside, filter, &self.memo);
                    if keys.is_empty()
                        && let [last] = &stages[number + 1..]
                        && let Some(row) = self.row(lane, &body, accumulators, last, &dictionary_of)?
                    {
                        let (row, run) = row;
                        if begins && is_plain {
                            keep(Again::Launch(Run { tables: tables.clone(), ..run }));
                        }
                        return Ok(row);
                    }
                    let (mut groups, memory) = match keys.is_empty() {
                        true => group::all(&tools, &body, accumulators)?,
                        false => {
                            let (groups, table) = group::run(&tools, &body, &found_by, accumulators)?;
                            (groups, Some(table))
                        }
                    };
                    coded.decode(&mut groups, &|key| stage.graph.kind(keys[key]));
                    let mut texts: Vec<_> = keys.iter().map(|key| dictionary_of(*key)).collect();
                    texts.extend(accumulators.iter().map(|a| a.of.and_then(dictionary_of)));
                    let mut fetched = Vec::new();
                    let mut rows_of = HashMap::new();
                    if begins && stages.get(number + 1).is_some_and(|next| fetches(&next.graph)) {
                        for node in stages[number + 1].graph.nodes() {
                            if let Op::List(ListOp::Rows(column)) = node.op {
                                rows_of.insert(column, list::pieces_of(context, &table, &[column])?);
                            }
                        }
                        source.inputs.truncate(table.columns.len());
                        groups.parameters.extend(&source.parameters);
                        groups.fetched = source.inputs;
                        fetched = dictionaries;
                    }
                    let _pairs = (!fetched.is_empty()).then_some((pairs, spread));
                    flow = Some(Flow {
                        source: groups,
                        dictionaries: texts,
                        fetched,
                        _memory: memory,
                        _pairs,
                        _coded: coded,
                        rows_of,
                    });
                    continue;
                }
            };
            if is_last {
                return Ok(written);
            }
            table = Cow::Owned(written);
        }
        Err(Error::Unsupported("a plan without a result".to_string()))
    }

    /// All of a pipeline's rows as one, with what the last stage makes of it, in one kernel, which tells the host when it is done. None where
    /// that takes more than one look at the rows.
    fn row(
        &self,
        lane: &Lane,
        body: &Body,
        accumulators: &[Accumulator],
        last: &Stage,
        dictionary_of: &dyn Fn(Id) -> Option<Arc<Dictionary>>,
    ) -> Result<Option<(DeviceTable, Run)>> {
        let Sink::Output(Output { columns, skip: 0, limit: None | Some(1..) }) = &last.sink else { return Ok(None) };
        let is_plain =
            last.joins.is_empty() && last.lookups.is_empty() && last.window.is_none() && last.filter.is_none();
        if !is_plain || fetches(&last.graph) || has_texts(&last.graph, columns) {
            return Ok(None);
        }
        let tools =
            group::Tools { context: &lane.context, status: &lane.status, sizes: &self.sizes, tuning: &self.tuning };
        let Some((targets, mut run)) = group::row(&tools, lane, body, accumulators, (&last.graph, columns))? else {
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
        let mut row = |(root, target): (&Id, Target)| {
            let kind = last.graph.kind(*root);
            let dictionary = if kind.has_dictionary() { text_of(&last.graph, *root, &texts) } else { None };
            run.results.push(Made::of(kind, &target, dictionary.clone()));
            DeviceColumn::written(&lane.context, kind, target, 1, dictionary)
        };
        let columns = columns.iter().zip(targets).map(&mut row).collect::<Result<_>>()?;
        Ok(Some((DeviceTable { rows: 1, columns }, run)))
    }

    pub(crate) fn output(
        &self,
        lane: &Lane,
        body: &Body,
        output: &Output,
        dictionary_of: &dyn Fn(Id) -> Option<Arc<Dictionary>>,
    ) -> Result<DeviceTable> {
        self.output_and(lane, body, output, dictionary_of, None)
    }

    /// The same; `keep` is given the run if it was one kernel.
    fn output_and(
        &self,
        lane: &Lane,
        body: &Body,
        output: &Output,
        dictionary_of: &dyn Fn(Id) -> Option<Arc<Dictionary>>,
        keep: Option<&dyn Fn(Run)>,
    ) -> Result<DeviceTable> {
        let rows = body.source.rows;
        let filtered = body.filter.is_some() || body.source.present.is_some();
        let most = rows.saturating_sub(output.skip);
        let capacity = output.limit.map_or(most, |limit| limit.min(most));
        if !filtered && capacity == rows {
            return self.write_and(lane, body, &output.columns, None, dictionary_of, keep);
        }
        let kept = |count: u64| count.saturating_sub(output.skip).min(capacity);
        if !has_texts(body.graph, &output.columns) {
            let (targets, count) = self.compact(lane, body, &output.columns, output.skip, capacity)?;
            return self.written(lane, body, &output.columns, targets, kept(count), dictionary_of);
        }
        let (graph, roots) = with_row_number(body.graph, &output.columns);
        let body = Body::new(body.source, &graph, body.beside, body.filter, body.memo);
        let (mut targets, count) = self.compact(lane, &body, &roots, output.skip, capacity)?;
        let numbers = targets.pop().map(|target| target.values);
        let rows = Rows { numbers: numbers.as_ref().map(|buffer| ("u64", buffer.address())), count: kept(count) };
        let texts = self.write_texts(lane, &body, &output.columns, &targets, &rows)?;
        self.with_texts(lane, &body, &output.columns, (targets, texts), rows.count, dictionary_of)
    }

    /// The rows that are there and pass the filter, behind the first `skip` and at most `capacity` of them, and how many there are in all.
    /// Waits.
    pub(crate) fn compact(
        &self,
        lane: &Lane,
        body: &Body,
        roots: &[Id],
        skip: u64,
        capacity: u64,
    ) -> Result<(Vec<Target>, u64)> {
        let context = &lane.context;
        let rows = body.source.rows;
        let mut targets = Vec::new();
        for (root, nullable) in roots.iter().zip(body.nullable(roots)) {
            targets.push(Target::new(context, body.graph.kind(*root), nullable, capacity, false)?);
        }
        let tiles = rows.div_ceil(u64::from(output::FILTERING * output::items(body))).max(1);
        let state = context.zeros(8 + 8 * tiles)?;
        let scratch = output::Scratch { state: &state, skip, limit: capacity };
        let parameters = output::filtered_parameters(body, roots, &targets, lane, &scratch);
        let program = || output::filtered(body, roots, &parameters);
        let function = body.kernel(context, "output_filtered", roots, program)?;
        let count = lane.told(|| launch_tiles(context, &function, parameters.arguments(), tiles, output::FILTERING))?;
        Ok((targets, count))
    }

    /// All rows of a pipeline, or those that an order names.
    pub(crate) fn write(
        &self,
        lane: &Lane,
        body: &Body,
        roots: &[Id],
        order: Option<output::Order>,
        dictionary_of: &dyn Fn(Id) -> Option<Arc<Dictionary>>,
    ) -> Result<DeviceTable> {
        self.write_and(lane, body, roots, order, dictionary_of, None)
    }

    fn write_and(
        &self,
        lane: &Lane,
        body: &Body,
        roots: &[Id],
        order: Option<output::Order>,
        dictionary_of: &dyn Fn(Id) -> Option<Arc<Dictionary>>,
        keep: Option<&dyn Fn(Run)>,
    ) -> Result<DeviceTable> {
        let context = &lane.context;
        let rows = order.map_or(body.source.rows, |(_, count)| count);
        let mut targets = Vec::new();
        for (root, nullable) in roots.iter().zip(body.nullable(roots)) {
            targets.push(Target::new(context, body.graph.kind(*root), nullable, rows, true)?);
        }
        let parameters = output::all_parameters(body, roots, &targets, lane, order);
        let program = || output::all(body, roots, &parameters, order.is_some());
        let function = body.kernel(context, "output_all", (roots, order.is_some()), program)?;
        lane.told(|| launch(context, &function, parameters.arguments(), rows, output::THREADS, 0))?;
        if !has_texts(body.graph, roots) {
            if let Some(keep) = keep {
                let made = |(root, target): (&Id, &Target)| {
                    let kind = body.graph.kind(*root);
                    Made::of(kind, target, if kind.has_dictionary() { dictionary_of(*root) } else { None })
                };
                let results: Vec<Made> = roots.iter().zip(&targets).map(made).collect();
                let values = results.len() + results.iter().filter(|made| made.valid.is_some()).count();
                keep(Run {
                    function,
                    first: parameters.len() - values,
                    arguments: parameters.arguments(),
                    grid: (rows, output::THREADS, u32::MAX),
                    results,
                    rows,
                    tables: Vec::new(),
                });
            }
            return self.written(lane, body, roots, targets, rows, dictionary_of);
        }
        let which = Rows { numbers: order.map(|(numbers, _)| ("u32", numbers)), count: rows };
        let texts = self.write_texts(lane, body, roots, &targets, &which)?;
        self.with_texts(lane, body, roots, (targets, texts), rows, dictionary_of)
    }

    pub(crate) fn written(
        &self,
        lane: &Lane,
        body: &Body,
        roots: &[Id],
        targets: Vec<Target>,
        rows: u64,
        dictionary_of: &dyn Fn(Id) -> Option<Arc<Dictionary>>,
    ) -> Result<DeviceTable> {
        let texts = roots.iter().map(|_| None).collect();
        self.with_texts(lane, body, roots, (targets, texts), rows, dictionary_of)
    }

    fn with_texts(
        &self,
        lane: &Lane,
        body: &Body,
        roots: &[Id],
        (targets, texts): (Vec<Target>, Vec<Option<Texts>>),
        rows: u64,
        dictionary_of: &dyn Fn(Id) -> Option<Arc<Dictionary>>,
    ) -> Result<DeviceTable> {
        // Bits are packed, and texts written, behind what told that it is done.
        if targets.iter().any(|target| !target.packed) || texts.iter().any(Option::is_some) {
            lane.is_idle.store(false, Ordering::Relaxed);
        }
        let mut columns = Vec::new();
        for ((root, target), texts) in roots.iter().zip(targets).zip(texts) {
            let kind = body.graph.kind(*root);
            let dictionary = if kind.has_dictionary() { dictionary_of(*root) } else { None };
            let mut column = DeviceColumn::written(&lane.context, kind, target, rows, dictionary)?;
            if let Some(texts) = texts {
                column.values = Arc::clone(&texts.bytes);
                column.texts = Some(Arc::new(texts));
            }
            columns.push(column);
        }
        Ok(DeviceTable { rows, columns })
    }
}

/// A column of the table, if that is what a result is.
fn shared(
    stage: &Stage,
    root: Id,
    table: &DeviceTable,
    tables: &[Arc<Table>],
    texts: &[Option<Arc<Dictionary>>],
) -> Option<Shared> {
    let kind = stage.graph.kind(root);
    let of = |input: u32| {
        let column = input as usize;
        table.columns.get(column).filter(|column| column.kind == kind).map(|_| column)
    };
    match stage.graph.node(root).op {
        Op::Input(input) => of(input).map(|column| Shared { column, dictionary: None }),
        Op::Lookup(number) => {
            let Lookup::Texts { of: Origin::Input(input), .. } = stage.lookups.get(number as usize)? else {
                return None;
            };
            let (column, dictionary) = (of(*input)?, texts.get(number as usize)?.clone()?);
            let is_same = kind == Kind::Code && tables.get(number as usize)?.is_same;
            is_same.then_some(Shared { column, dictionary: Some(dictionary) })
        }
        _ => None,
    }
}

/// How many rows stages look at, over a table of so many and those that they join: about, and more where each is looked at often.
pub fn work(stages: &[Stage], rows: &[u64]) -> u64 {
    /// For each row of an order, and of a window, whose frames may have a thousand.
    const SORTED: u64 = 8;
    const WINDOW: u64 = 256;
    let all: u64 = rows.iter().sum();
    let mut most = all;
    for stage in stages {
        for join in stage.joins.iter().filter(|join| join.is_all()) {
            let right = rows.get(join.table + 1).copied().unwrap_or_default();
            most = most.max(all.saturating_mul(right));
        }
        if stage.window.is_some() {
            most = most.max(all.saturating_mul(WINDOW));
        }
        if matches!(stage.sink, Sink::Sort(_)) {
            most = most.max(all.saturating_mul(SORTED));
        }
    }
    most
}
