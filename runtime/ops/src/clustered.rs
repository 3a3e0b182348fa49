//! Rows moved so that those of a part of a large table in device memory come one after another: whoever then goes over them looks at one part of the
//! table at a time, which the L2 cache holds.
//!
//! On an H200, 1e8 rows in 1e7 groups by a computed key take 3.5 ms to add up once they are in their parts, and 1.9 ms to get there: in place,
//! 8.9 ms. Joined tables of dense keys stay in place: rows of one part meet at the words that say which slots are taken, and 1e8 rows took 12.3 ms to be put
//! down rather than 6.1. Those of hashed keys are parted as well (`partitioned.rs`).

use std::hash::{DefaultHasher, Hash, Hasher};

use onrush_device::Buffer;

use crate::Result;
use crate::aggregate::Accumulator;
use crate::codegen::group::Finding;
use crate::codegen::parted::{self, Moved};
use crate::codegen::{Access, Beside, Body, Parameters, Source};
use crate::graph::{Graph, Id, Kind};
use crate::group::Tools;
use crate::memo::Memo;
use crate::parted::{IN_PLACE, Shifted, WIDEST, is_movable};

/// Bytes of a part of a table: rows that are under way at once may be of two of them, or three. Half and a quarter of that took longer on an H200.
const PART: u64 = 16 << 20;
/// Parts at least and at most: of many, few rows of a tile are written side by side.
const PARTS: (u64, u64) = (8, 256);
/// Tables of more than so many times the bytes that the L2 cache holds are parted. Measured on an H200: 1e8 rows in a table of 128 MB take 6.9 ms in place
/// and 8.7 parted, in one of 1.3 GB 15.5 and 11.0.
const FAR: u64 = 6;

/// Into how many parts a table of so many bytes is cut.
pub(crate) fn parts_of(bytes: u64) -> u64 {
    (bytes / PART).clamp(PARTS.0, PARTS.1)
}

/// Rows in another order, as columns of their own.
pub struct Clustered {
    source: Source,
    graph: Graph,
    /// What was computed of each row, and the column that it is now.
    columns: Vec<(Id, Id)>,
    _memory: Vec<Buffer>,
}

impl Tools<'_> {
    /// Whether so many rows may be worth moving for a table of so many bytes.
    pub fn is_far(&self, rows: u64, bytes: u64) -> bool {
        bytes > FAR * self.tuning.cached_bytes && rows >= (self.tuning.rows / 8).max(1)
    }

    /// Moves rows to their parts of a table of so many bytes, with their keys and what is `read` of them behind that (`true`: the value, and
    /// not only whether there is one). None where that is not worth it, or where there is no room.
    pub fn cluster(
        &self,
        body: &Body,
        finding: &Finding,
        read: impl Iterator<Item = (Id, bool)>,
        bytes: u64,
        place: u64,
    ) -> Result<Option<Clustered>> {
        let place = {
            let mut hasher = DefaultHasher::new();
            ("clustered", place).hash(&mut hasher);
            hasher.finish()
        };
        if !self.is_far(body.source.rows, bytes) || self.sizes.get(place) == Some(IN_PLACE) {
            return Ok(None);
        }
        let read: Vec<_> = read.chain(finding.keys().into_iter().map(|key| (key, true))).collect();
        if !is_movable(body, finding, &read) {
            return Ok(None);
        }
        let moved = Moved::all(body, read);
        if parted::staged_bytes(&moved) > WIDEST {
            return Ok(None);
        }
        let parts = parts_of(bytes);
        let each = match finding {
            Finding::Dense { size, .. } if *size > u64::from(u32::MAX) => return Ok(None),
            Finding::Dense { size, .. } => size.div_ceil(parts).max(1),
            _ => 1,
        };
        match self.shift(body, finding, (each, parts, false), moved, place) {
            Err(error) if error.is_memory() => Ok(None),
            shifted => Ok(shifted?.map(|shifted| Clustered::new(body, shifted, place))),
        }
    }
}

impl Clustered {
    fn new(body: &Body, shifted: Shifted, identity: u64) -> Clustered {
        let (mut graph, mut parameters) = (Graph::new(), Parameters::new());
        let (mut inputs, mut columns) = (Vec::new(), Vec::new());
        for (index, (moved, (values, valid))) in shifted.moved.iter().zip(&shifted.rows.columns).enumerate() {
            let mut value = format!("({})0", moved.kind.cuda());
            if moved.value {
                parameters.address(&format!("const {}* __restrict__", moved.stored()), &format!("r{index}"), *values);
                value = match moved.kind {
                    Kind::Bool => format!("(r{index}[row] != 0)"),
                    kind if kind.cuda() != moved.stored() => format!("({})r{index}[row]", kind.cuda()),
                    _ => format!("r{index}[row]"),
                };
            }
            let valid = moved.nullable.then(|| {
                parameters.address("const u8* __restrict__", &format!("rv{index}"), *valid);
                format!("(rv{index}[row] != 0)")
            });
            inputs.push(Access { kind: moved.kind, value, valid, range: body.range(moved.of), elements: Vec::new() });
            columns.push((moved.of, graph.input(index, moved.kind)));
        }
        // Several rows of a group find it in the cache, also where rows drift apart; with fewer of them under way it takes longer.
        let parted = false;
        let source =
            Source { rows: shifted.count, parameters, inputs, fetched: Vec::new(), present: None, identity, parted };
        Clustered { source, graph, columns, _memory: shifted.memory }
    }

    /// What a value of the rows before is now: none if it was not read.
    fn now(&self, of: Id) -> Option<Id> {
        self.columns.iter().find(|(before, _)| *before == of).map(|(_, now)| *now)
    }

    /// The same of keys, all of which are read.
    pub fn keys(&self, of: &[Id]) -> Vec<Id> {
        of.iter().filter_map(|id| self.now(*id)).collect()
    }

    /// What is not read of accumulators are values that are never null, of which only that is counted: rows, then.
    pub fn accumulators(&self, of: &[Accumulator]) -> Vec<Accumulator> {
        let now = |of: Option<Id>| of.and_then(|of| self.now(of));
        of.iter().map(|a| Accumulator { of: now(a.of), with: now(a.with), ..*a }).collect()
    }

    pub fn body<'a>(&'a self, memo: &'a Memo) -> Body<'a> {
        Body::new(&self.source, &self.graph, Beside::default(), None, memo)
    }
}
