//! Groups whose table does not fit into shared memory, one part of the table after another: rows are moved to the part that they belong to,
//! and a part's groups are added up where a block has them to itself.
//!
//! In place, each row costs one or two atomic operations at a random place of device memory: 14 to 50 G rows a second on an H200, by whether
//! the table fits into its L2 cache. Moved, a row is read once more and its values are written and read once.

use onrush_device::{Buffer, Grid};

use crate::Result;
use crate::aggregate::{Layout, Round};
use crate::codegen::Body;
use crate::codegen::group::{Finding, shared_threads};
use crate::codegen::parted::{self, Cut, MOST, Moved, Rows};
use crate::graph::{Kind, Op};
use crate::group::{HALF_SHARED, Tools};
use crate::run::{launch, launch_grid};

/// When rows are moved, and keys numbered.
#[derive(Clone, Copy, Debug)]
pub struct Tuning {
    /// Bytes that the table of a block in shared memory may have.
    pub shared_bytes: u32,
    /// Rows from which on they are, and an eighth of that where the table has more bytes than so many.
    pub rows: u64,
    pub cached_bytes: u64,
    /// Rows from which on keys that lie anywhere are numbered.
    pub encode_from: u64,
}

impl Tuning {
    /// As measured on an H200: tables in its L2 cache are as fast in place as long as rows are few.
    pub fn new(shared_bytes: u32) -> Tuning {
        Tuning { shared_bytes, rows: 1 << 25, cached_bytes: 32 << 20, encode_from: 1 << 20 }
    }

    /// Always where a table has more than a few groups or rows, for tests.
    pub fn small() -> Tuning {
        Tuning { shared_bytes: 400, rows: 0, cached_bytes: 0, encode_from: 6 }
    }
}

/// Rows of a value that are moved, at most: beyond, moving costs as much as it saves.
const WIDEST: u64 = 64;
/// An item has the rows of so many parts of average size at most, and at least so many.
const ITEM: u64 = 2;
const LEAST: u64 = 1 << 14;
/// A row in so many begins another part at least; else rows lie together as they are.
const TOGETHER: u64 = 8;

/// Rows in their parts.
pub struct Parted<'b> {
    body: Body<'b>,
    cut: Cut,
    size: u64,
    moved: Vec<Moved>,
    rows: Rows,
    shared: u32,
    _memory: Vec<Buffer>,
}

impl Tools<'_> {
    /// Moves the rows of a large table of groups, if that is worth it.
    pub fn part<'b>(
        &self,
        body: &Body<'b>,
        finding: &Finding,
        layout: &Layout,
        place: u64,
    ) -> Result<Option<Parted<'b>>> {
        let Finding::Dense { size, .. } = *finding else { return Ok(None) };
        let place = place ^ OF_ROWS;
        let (rows, tuning) = (body.source.rows, self.tuning);
        let each_bytes = layout.shared_bytes(Round::First).max(layout.shared_bytes(Round::Second)).max(4);
        let table = size.saturating_mul(u64::from(finding.stride(layout)) * 8);
        let is_large = size.saturating_mul(u64::from(each_bytes)) > u64::from(tuning.shared_bytes);
        let least = if table > tuning.cached_bytes { tuning.rows / 8 } else { tuning.rows };
        let worth = rows >= least.max(size).max(1);
        if !is_large || !worth || size > u64::from(u32::MAX) || self.sizes.get(place) == Some(IN_PLACE) {
            return Ok(None);
        }
        // The kernel has a few words beside the table.
        let room = tuning.shared_bytes - tuning.shared_bytes / 64;
        // Two blocks on a multiprocessor, or one with more of the table.
        let most = |bytes: u32| u64::from(bytes / each_bytes).clamp(1, 1 << 16);
        let (half, full) = (most(HALF_SHARED.min(room)), most(room));
        let blocks = 2 * u64::from(self.context.device().properties().multiprocessors);
        let needed = if size.div_ceil(half) <= MOST / 2 { size.div_ceil(half) } else { size.div_ceil(full) };
        // As many as make all blocks work as long as the others.
        let even = needed.next_multiple_of(blocks);
        let each = size.div_ceil(if even <= MOST { even } else { needed }).max(1);
        let parts = size.div_ceil(each);
        let reads = |op: &Op| matches!(op, Op::Probe(_));
        let values = layout.in_round(Round::First).chain(layout.in_round(Round::Second));
        let values = values.flat_map(|(_, a)| a.of.into_iter().chain(a.with));
        let roots: Vec<_> = values.chain(finding.keys()).chain(body.filter).collect();
        let probes = body.graph.needed(&roots).iter().any(|id| reads(&body.graph.node(*id).op));
        let texts = roots.iter().any(|id| body.graph.kind(*id) == Kind::Text);
        if parts > MOST || probes || texts || body.beside.window.is_some() {
            return Ok(None);
        }
        let moved = Moved::all(body, layout);
        if parted::staged_bytes(&moved) > WIDEST {
            return Ok(None);
        }
        match self.move_rows(body, finding, (each, parts), moved, place) {
            // The rows stay where they are.
            Err(error) if error.is_memory() => Ok(None),
            Ok(Some(parted)) => Ok(Some(Parted { size, shared: each as u32 * each_bytes, ..parted })),
            other => other,
        }
    }

    fn move_rows<'b>(
        &self,
        body: &Body<'b>,
        finding: &Finding,
        (each, parts): (u64, u64),
        moved: Vec<Moved>,
        place: u64,
    ) -> Result<Option<Parted<'b>>> {
        let (context, rows) = (self.context, body.source.rows);
        let state = context.zeros((4 * parts + 3) * 8)?;
        let changes = state.address() + (4 * parts + 2) * 8;
        let limit = (rows / parts * ITEM).max(LEAST);
        let cut = Cut { each: each as u32, parts: parts as u32, limit, state: state.address() };
        let fault = self.status.fault();
        let parameters = parted::count_parameters(body, finding, fault, self.status.ticket(), changes, &cut);
        let program = || parted::count(body, finding, &parameters);
        let function = body.kernel(context, "part_count", finding.form(), program)?;
        launch(context, &function, parameters.arguments(), rows, parted::THREADS, 4 * cut.parts)?;
        let mut kept = rows;
        let is_known = self.sizes.get(place) == Some(MOVED);
        if !is_known || body.filter.is_some() || body.source.present.is_some() {
            // The rows that are kept, and how often the part changes.
            let (from, to) = (3 * parts as usize, (4 * parts + 3) as usize);
            let words = state.read::<u64>(from..to, &context.stream)?;
            kept = words[0];
            let together = words[words.len() - 1].saturating_mul(4 * TOGETHER) < kept;
            self.sizes.put(place, if together { IN_PLACE } else { MOVED });
            if together {
                return Ok(None);
            }
        }
        let mut memory = Vec::new();
        let mut take = |bytes: u64| -> Result<u64> {
            let buffer = context.allocate(bytes * kept)?;
            let address = buffer.address();
            memory.push(buffer);
            Ok(address)
        };
        let group = take(2)?;
        let mut columns = Vec::new();
        for moved in &moved {
            let values = if moved.value { take(moved.width())? } else { 0 };
            columns.push((values, if moved.nullable { take(1)? } else { 0 }));
        }
        let to = Rows { group, columns };
        let parameters = parted::move_parameters(body, finding, fault, &cut, &moved, &to);
        let items = parted::items(&moved, cut.parts);
        let program = || parted::moving(body, finding, &moved, items, &parameters);
        let function = body.kernel(context, "part_move", (finding.form(), &moved, items), program)?;
        let tiles = rows.div_ceil(u64::from(parted::THREADS * items));
        let grid = Grid::new(tiles as u32, parted::THREADS).shared(parted::moving_bytes(&moved, cut.parts));
        launch_grid(context, &function, parameters.arguments(), &grid)?;
        memory.push(state);
        let body = Body::new(body.source, body.graph, body.beside, None, body.memo);
        Ok(Some(Parted { body, cut, size: 0, moved, rows: to, shared: 0, _memory: memory }))
    }
}

/// What is known of a place whose groups have a slot each, beside the number of groups of one whose keys are hashed.
const IN_PLACE: u64 = u64::MAX;
const MOVED: u64 = u64::MAX - 1;
/// Makes another place of it.
const OF_ROWS: u64 = 0x9e37_79b9_7f4a_7c15;

impl Parted<'_> {
    /// Adds the moved rows to a table.
    pub fn add(&self, tools: &Tools, finding: &Finding, layout: &Layout, round: Round, table: &Buffer) -> Result<()> {
        let body = &self.body;
        let moved = (&self.moved[..], &self.rows);
        let fault = tools.status.fault();
        let parameters = parted::add_parameters(body, fault, &self.cut, self.size, moved, table.address());
        let program = || parted::add(body, layout, round, finding, &self.moved, &parameters);
        let function = body.kernel(tools.context, "group_parted", (layout, round, &self.moved), program)?;
        let threads = shared_threads(layout);
        // Items are parts, or pieces of these.
        let items = u64::from(self.cut.parts) + body.source.rows / self.cut.limit;
        launch(tools.context, &function, parameters.arguments(), items * u64::from(threads), threads, self.shared)
    }
}
