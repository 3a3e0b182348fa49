//! Replays single-kernel executions: the recorded launch is reused if stages and input buffers are unchanged. A
//! replay saves tens of microseconds of host time, more than many such kernels take.

use std::sync::{Arc, OnceLock, Weak};

use onrush_device::Buffer;
use parking_lot::Mutex;

use crate::Result;
use crate::column::dictionary::Dictionary;
use crate::column::output_column::OutputColumn;
use crate::column::string::StringBuffers;
use crate::column::{DeviceColumn, DeviceTable};
use crate::ir::expr::DeviceType;
use crate::launch::launch_blocks;
use crate::launch::stream_context::StreamContext;
use crate::operators::write::{OutputSlot, RecordedLaunch};
use crate::pipeline::Stage;

/// Runs that a lane keeps.
const EXECUTIONS: usize = 32;

/// The runs of a lane: their arguments have addresses that are its own.
#[derive(Default)]
pub struct ReplayCache {
    runs: Mutex<Vec<RecordedExecution>>,
}

struct RecordedExecution {
    stages: Weak<Vec<Stage>>,
    rows: u64,
    columns: Vec<ColumnFingerprint>,
    again: Arc<Replay>,
    /// Generation of the kernel library: a later one has faster kernels.
    generation: u64,
}

impl RecordedExecution {
    /// Whether what it was made of is: else it only holds memory.
    fn is_there(&self) -> bool {
        self.stages.strong_count() > 0 && self.columns.iter().all(|print| print.values.strong_count() > 0)
    }
}

/// The identity of a column as long as its memory lives.
struct ColumnFingerprint {
    kind: DeviceType,
    values: Weak<Buffer>,
    validity: Option<Weak<Buffer>>,
    dictionary: Option<Weak<Dictionary>>,
    texts: Option<Weak<StringBuffers>>,
    /// The place of the same strings in the other representation, which the kernel may read.
    other: Weak<OnceLock<DeviceColumn>>,
}

fn is_same<T>(known: Option<&Weak<T>>, other: Option<&Arc<T>>) -> bool {
    // An address is not used again as long as someone holds it weakly.
    known.map(Weak::as_ptr) == other.map(Arc::as_ptr)
}

impl ColumnFingerprint {
    fn of(column: &DeviceColumn) -> ColumnFingerprint {
        ColumnFingerprint {
            kind: column.kind,
            values: Arc::downgrade(&column.values),
            validity: column.validity.as_ref().map(Arc::downgrade),
            dictionary: column.dictionary.as_ref().map(Arc::downgrade),
            texts: column.texts.as_ref().map(Arc::downgrade),
            other: Arc::downgrade(&column.other),
        }
    }

    fn is(&self, column: &DeviceColumn) -> bool {
        self.kind == column.kind
            && is_same(Some(&self.values), Some(&column.values))
            && is_same(self.validity.as_ref(), column.validity.as_ref())
            && is_same(self.dictionary.as_ref(), column.dictionary.as_ref())
            && is_same(self.texts.as_ref(), column.texts.as_ref())
            && is_same(Some(&self.other), Some(&column.other))
    }
}

/// A recorded execution: a launch, or columns that are passed through.
pub enum Replay {
    Launch(RecordedLaunch),
    /// Its columns are some of the table's.
    PassThrough(Vec<PassThrough>),
}

/// A column of a table as it is, or with another dictionary for the same indices.
pub struct PassThrough {
    pub column: usize,
    pub dictionary: Option<Arc<Dictionary>>,
}

impl PassThrough {
    pub fn of(&self, table: &DeviceTable) -> DeviceColumn {
        let column = &table.columns[self.column];
        let Some(dictionary) = &self.dictionary else { return column.clone() };
        DeviceColumn {
            stored: column.stored,
            validity: column.validity.clone(),
            dictionary: Some(Arc::clone(dictionary)),
            ..DeviceColumn::plain(column.kind, Arc::clone(&column.values), column.rows)
        }
    }
}

impl ReplayCache {
    /// The run of some stages over a table, if it was one kernel or none.
    pub fn get(&self, generation: u64, stages: &Arc<Vec<Stage>>, table: &DeviceTable) -> Option<Arc<Replay>> {
        let mut runs = self.runs.lock();
        runs.retain(|known| known.generation == generation && known.is_there());
        let place = runs.iter().rposition(|known| {
            is_same(Some(&known.stages), Some(stages))
                && known.rows == table.rows
                && known.columns.len() == table.columns.len()
                && known.columns.iter().zip(&table.columns).all(|(print, column)| print.is(column))
        })?;
        let known = runs.remove(place);
        let again = Arc::clone(&known.again);
        // The one that was used last is the last.
        runs.push(known);
        Some(again)
    }

    /// Lists and structs hold the columns that they are pieces of: who kept such a run would keep these.
    pub fn put(&self, generation: u64, stages: &Arc<Vec<Stage>>, table: &DeviceTable, again: Replay) {
        let has_lists = match &again {
            Replay::Launch(run) => run.results.iter().any(|made| made.kind == DeviceType::ListView),
            Replay::PassThrough(columns) => {
                columns.iter().any(|shared| table.columns[shared.column].kind == DeviceType::ListView)
            }
        };
        if has_lists {
            return;
        }
        let mut runs = self.runs.lock();
        if runs.len() >= EXECUTIONS {
            runs.remove(0);
        }
        let columns = table.columns.iter().map(ColumnFingerprint::of).collect();
        runs.push(RecordedExecution {
            stages: Arc::downgrade(stages),
            rows: table.rows,
            columns,
            again: Arc::new(again),
            generation,
        });
    }
}

impl Replay {
    /// Runs again over the table under which it was recorded. Waits.
    pub fn run(&self, lane: &StreamContext, table: &DeviceTable) -> Result<DeviceTable> {
        match self {
            Replay::Launch(run) => launch_again(run, lane),
            Replay::PassThrough(columns) => {
                let columns = columns.iter().map(|shared| shared.of(table)).collect();
                Ok(DeviceTable { rows: table.rows, columns })
            }
        }
    }
}

/// Launches again what was recorded.
fn launch_again(run: &RecordedLaunch, lane: &StreamContext) -> Result<DeviceTable> {
    let mut arguments = run.arguments.clone();
    let mut at = run.first;
    let mut targets = Vec::new();
    for made in &run.results {
        let values = lane.scratch(made.values)?;
        arguments.set(at, values.address());
        at += 1;
        let valid = made.valid.map(|bytes| lane.scratch(bytes)).transpose()?;
        if let Some(valid) = &valid {
            arguments.set(at, valid.address());
            at += 1;
        }
        targets.push(OutputColumn { values, valid, packed: true });
    }
    let (items, threads, blocks) = run.grid;
    lane.launch_and_wait(|| {
        launch_blocks(&lane.context, &run.function, arguments, items, (threads, blocks), 0)?;
        lane.restock();
        Ok(())
    })?;
    let column = |(made, target): (&OutputSlot, OutputColumn)| {
        DeviceColumn::written(&lane.context, made.kind, target, run.rows, made.dictionary.clone())
    };
    Ok(DeviceTable { rows: run.rows, columns: run.results.iter().zip(targets).map(column).collect::<Result<_>>()? })
}
