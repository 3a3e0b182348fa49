//! What aggregates keep of a group, and where: 64-bit words of a slot, in shared and in device memory.

use crate::graph::Id;

/// What an accumulator does with the values that are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    SumFloat,
    /// Of 64 bits, signed or not; wraps.
    SumInteger,
    /// Of 128 bits.
    SumWide,
    /// Of values, or of rows.
    Count,
    Least,
    Greatest,
    LeastUnsigned,
    GreatestUnsigned,
}

impl What {
    /// 64-bit words in device memory.
    pub fn words(self) -> u32 {
        if self == What::SumWide { 2 } else { 1 }
    }

    /// Bytes in shared memory, where counts are short.
    pub fn shared_bytes(self) -> u32 {
        match self {
            What::Count => 4,
            What::SumWide => 16,
            _ => 8,
        }
    }

    /// What an empty group holds.
    pub fn start(self) -> u64 {
        match self {
            What::Least => i64::MAX as u64,
            What::Greatest => i64::MIN as u64,
            What::LeastUnsigned => u64::MAX,
            _ => 0,
        }
    }
}

/// `of` is none for a count of rows. Values are of the kind that `what` takes: `f64`, 64-bit integers, or 128-bit ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accumulator {
    pub what: What,
    pub of: Option<Id>,
}

/// Accumulators in their order, and the word at which each begins.
#[derive(Clone, Debug)]
pub struct Layout {
    pub accumulators: Vec<Accumulator>,
    pub at: Vec<u32>,
    pub words: u32,
    /// Which of them each of those that were asked for is.
    pub asked: Vec<usize>,
}

impl Layout {
    pub fn new(accumulators: &[Accumulator]) -> Layout {
        let mut words = 0;
        let at = accumulators
            .iter()
            .map(|accumulator| {
                words += accumulator.what.words();
                words - accumulator.what.words()
            })
            .collect();
        let asked = (0..accumulators.len()).collect();
        Layout { accumulators: accumulators.to_vec(), at, words, asked }
    }

    /// For accumulators that are asked for, each kept once. A count of values that are never null is a count of rows. `rows`: one of
    /// these is kept in any case, to know which groups are there.
    pub fn of(asked: &[Accumulator], nullable: &dyn Fn(Id) -> bool, rows: bool) -> Layout {
        let mut kept: Vec<Accumulator> = Vec::new();
        let mut add = |mut accumulator: Accumulator| {
            if accumulator.what == What::Count && accumulator.of.is_some_and(|of| !nullable(of)) {
                accumulator.of = None;
            }
            kept.iter().position(|a| *a == accumulator).unwrap_or_else(|| {
                kept.push(accumulator);
                kept.len() - 1
            })
        };
        let asked = asked.iter().map(|accumulator| add(*accumulator)).collect();
        if rows {
            add(Accumulator { what: What::Count, of: None });
        }
        Layout { asked, ..Layout::new(&kept) }
    }

    /// Bytes of a group in shared memory.
    pub fn shared_bytes(&self) -> u32 {
        self.accumulators.iter().map(|a| a.what.shared_bytes()).sum()
    }

    /// The accumulator that counts rows.
    pub fn rows(&self) -> Option<usize> {
        self.accumulators.iter().position(|a| a.what == What::Count && a.of.is_none())
    }

    /// What an empty slot holds.
    pub fn start(&self) -> Vec<u64> {
        let words = self.accumulators.iter().flat_map(|a| vec![a.what.start(); a.what.words() as usize]);
        words.collect()
    }
}
