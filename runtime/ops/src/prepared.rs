//! Runs that are one kernel or none, as they were last: the same stages over the same memory are run again without a look at what they are made of.
//! What that saves is tens of microseconds of the host, more than many such kernels take.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use onrush_device::{Arguments, Buffer, Function};

use crate::Result;
use crate::codegen::Table;
use crate::codegen::output::Target;
use crate::column::{DeviceColumn, DeviceTable};
use crate::dictionary::Dictionary;
use crate::graph::Kind;
use crate::lane::Lane;
use crate::launch::launch_blocks;
use crate::run::Stage;
use crate::text::Texts;

/// Runs that a lane keeps.
const KEPT: usize = 32;

/// The runs of a lane: their arguments have addresses that are its own.
#[derive(Default)]
pub struct Known {
    runs: Mutex<Vec<Prepared>>,
}

struct Prepared {
    stages: Weak<Vec<Stage>>,
    rows: u64,
    columns: Vec<Print>,
    again: Arc<Again>,
}

impl Prepared {
    /// Whether what it was made of is: else it only holds memory.
    fn is_there(&self) -> bool {
        self.stages.strong_count() > 0 && self.columns.iter().all(|print| print.values.strong_count() > 0)
    }
}

/// What tells a column from all others, as long as this is there: its memory.
struct Print {
    kind: Kind,
    values: Weak<Buffer>,
    validity: Option<Weak<Buffer>>,
    dictionary: Option<Weak<Dictionary>>,
    texts: Option<Weak<Texts>>,
    /// The same texts in the form that the kernel reads, maybe.
    other: Weak<OnceLock<DeviceColumn>>,
}

fn is_same<T>(known: Option<&Weak<T>>, other: Option<&Arc<T>>) -> bool {
    // An address is not used again as long as someone holds it weakly.
    known.map(Weak::as_ptr) == other.map(Arc::as_ptr)
}

impl Print {
    fn of(column: &DeviceColumn) -> Print {
        Print {
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

/// What a run does.
pub enum Again {
    Launch(Run),
    /// Its columns are some of the table's.
    Shared(Vec<Shared>),
}

/// A column of a table as it is, or with other texts for the same numbers.
pub struct Shared {
    pub column: usize,
    pub dictionary: Option<Arc<Dictionary>>,
}

impl Shared {
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

/// A launch, and what becomes of it.
pub struct Run {
    pub function: Function,
    pub arguments: Arguments,
    /// Items, threads of a block, and blocks at most.
    pub grid: (u64, u32, u32),
    /// Which argument is the first of its results: each is its values, then whether they are there, where that is not so of all.
    pub first: usize,
    pub results: Vec<Made>,
    pub rows: u64,
    /// What the kernel reads beside the table.
    pub tables: Vec<Arc<Table>>,
}

/// A column of a result.
pub struct Made {
    pub kind: Kind,
    pub values: u64,
    pub valid: Option<u64>,
    pub dictionary: Option<Arc<Dictionary>>,
}

impl Made {
    pub fn of(kind: Kind, target: &Target, dictionary: Option<Arc<Dictionary>>) -> Made {
        Made { kind, values: target.values.bytes(), valid: target.valid.as_ref().map(Buffer::bytes), dictionary }
    }
}

impl Known {
    /// The run of some stages over a table, if it was one kernel or none.
    pub fn get(&self, stages: &Arc<Vec<Stage>>, table: &DeviceTable) -> Option<Arc<Again>> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.retain(Prepared::is_there);
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
    pub fn put(&self, stages: &Arc<Vec<Stage>>, table: &DeviceTable, again: Again) {
        let has_lists = match &again {
            Again::Launch(run) => run.results.iter().any(|made| made.kind == Kind::List),
            Again::Shared(columns) => columns.iter().any(|shared| table.columns[shared.column].kind == Kind::List),
        };
        if has_lists {
            return;
        }
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= KEPT {
            runs.remove(0);
        }
        let columns = table.columns.iter().map(Print::of).collect();
        runs.push(Prepared { stages: Arc::downgrade(stages), rows: table.rows, columns, again: Arc::new(again) });
    }
}

impl Again {
    /// Waits. The table is that which it was found by.
    pub fn run(&self, lane: &Lane, table: &DeviceTable) -> Result<DeviceTable> {
        match self {
            Again::Launch(run) => run.again(lane),
            Again::Shared(columns) => {
                let columns = columns.iter().map(|shared| shared.of(table)).collect();
                Ok(DeviceTable { rows: table.rows, columns })
            }
        }
    }
}

impl Run {
    fn again(&self, lane: &Lane) -> Result<DeviceTable> {
        let mut arguments = self.arguments.clone();
        let mut at = self.first;
        let mut targets = Vec::new();
        for made in &self.results {
            let values = lane.piece(made.values)?;
            arguments.set(at, values.address());
            at += 1;
            let valid = made.valid.map(|bytes| lane.piece(bytes)).transpose()?;
            if let Some(valid) = &valid {
                arguments.set(at, valid.address());
                at += 1;
            }
            targets.push(Target { values, valid, packed: true });
        }
        let (items, threads, blocks) = self.grid;
        lane.told(|| {
            launch_blocks(&lane.context, &self.function, arguments, items, (threads, blocks), 0)?;
            lane.restock();
            Ok(())
        })?;
        let column = |(made, target): (&Made, Target)| {
            DeviceColumn::written(&lane.context, made.kind, target, self.rows, made.dictionary.clone())
        };
        Ok(DeviceTable {
            rows: self.rows,
            columns: self.results.iter().zip(targets).map(column).collect::<Result<_>>()?,
        })
    }
}
