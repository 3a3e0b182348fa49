//! Accumulators of aggregates and their slot layout: 64-bit words, in shared and in device memory.

use crate::ir::expr::NodeId;

/// The function that an accumulator computes of the values that are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AggregateOp {
    SumFloat,
    /// A sum of 64-bit integers, signed or not, which wraps.
    SumInteger,
    /// A sum of 128-bit integers.
    SumI128,
    /// The same where no sum can leave 64 bits.
    SumFitsI64,
    /// A product of floats, or of 64-bit integers, which wraps. One if there is no value.
    ProductFloat,
    ProductInteger,
    /// A count of values, or of rows.
    Count,
    Min,
    Max,
    MinUnsigned,
    MaxUnsigned,
    /// Floats: the sum of their distances from the group's mean, and the sum of the squares of these. In a second round
    /// over the rows.
    DeviationSum,
    M2,
    /// Pairs of floats that are both valid or both null: the sum of the products of their distances from their means.
    CoMoment,
    /// The sum of the squares of distances from the mean of the values so far. Rows are seen once and in their order:
    /// along windows.
    Welford,
    /// How many different values there are, and their sum.
    Distinct,
    DistinctFloat,
    DistinctInteger,
    DistinctI128,
    /// 128-bit numbers: the upper words, and in a second pass the lower words of the numbers with that upper word.
    MinHigh,
    MinLow,
    MaxHigh,
    MaxLow,
}

impl AggregateOp {
    /// 64-bit words in device memory.
    pub fn words(self) -> u32 {
        match self {
            AggregateOp::SumI128 | AggregateOp::DistinctI128 => 2,
            AggregateOp::Welford => 3,
            _ => 1,
        }
    }

    /// The pass that finds it: the first (0), a second with the results of the first (1), or one over keys and values
    /// (2).
    fn pass(self) -> u32 {
        match self {
            AggregateOp::DeviationSum | AggregateOp::M2 | AggregateOp::CoMoment => 1,
            AggregateOp::MinLow | AggregateOp::MaxLow => 1,
            AggregateOp::Distinct
            | AggregateOp::DistinctFloat
            | AggregateOp::DistinctInteger
            | AggregateOp::DistinctI128 => 2,
            _ => 0,
        }
    }

    /// Whether it is found in one round, by adding one value after the other.
    pub fn is_plain(self) -> bool {
        self.pass() == 0 && !matches!(self, AggregateOp::MinHigh | AggregateOp::MaxHigh)
    }

    /// The accumulators of the first pass that the second pass needs.
    fn needs(self) -> &'static [AggregateOp] {
        match self {
            AggregateOp::DeviationSum | AggregateOp::M2 | AggregateOp::CoMoment => {
                &[AggregateOp::SumFloat, AggregateOp::Count]
            }
            AggregateOp::MinLow => &[AggregateOp::MinHigh],
            AggregateOp::MaxLow => &[AggregateOp::MaxHigh],
            _ => &[],
        }
    }

    /// How it is added up.
    pub fn update_op(self) -> UpdateOp {
        match self {
            AggregateOp::SumFloat | AggregateOp::DistinctFloat => UpdateOp::Float,
            AggregateOp::DeviationSum | AggregateOp::M2 | AggregateOp::CoMoment => UpdateOp::Float,
            AggregateOp::SumInteger | AggregateOp::SumFitsI64 | AggregateOp::DistinctInteger => UpdateOp::Integer,
            AggregateOp::SumI128 | AggregateOp::DistinctI128 => UpdateOp::I128,
            AggregateOp::ProductFloat => UpdateOp::Product,
            AggregateOp::ProductInteger => UpdateOp::ProductInteger,
            AggregateOp::Welford => UpdateOp::Welford,
            AggregateOp::Count | AggregateOp::Distinct => UpdateOp::Count,
            AggregateOp::Min | AggregateOp::MinHigh => UpdateOp::Min,
            AggregateOp::Max | AggregateOp::MaxHigh => UpdateOp::Max,
            AggregateOp::MinUnsigned | AggregateOp::MinLow => UpdateOp::MinUnsigned,
            AggregateOp::MaxUnsigned | AggregateOp::MaxLow => UpdateOp::MaxUnsigned,
        }
    }

    /// Bytes in shared memory, where counts are short.
    pub fn shared_bytes(self) -> u32 {
        match self {
            AggregateOp::Count | AggregateOp::Distinct => 4,
            AggregateOp::SumI128 | AggregateOp::DistinctI128 => 16,
            AggregateOp::Welford => 24,
            _ => 8,
        }
    }

    /// The words of an empty group.
    pub fn init_words(self) -> u64 {
        match self {
            AggregateOp::Min | AggregateOp::MinHigh => i64::MAX as u64,
            AggregateOp::Max | AggregateOp::MaxHigh => i64::MIN as u64,
            AggregateOp::MinUnsigned | AggregateOp::MinLow => u64::MAX,
            AggregateOp::ProductFloat => 1.0_f64.to_bits(),
            AggregateOp::ProductInteger => 1,
            _ => 0,
        }
    }
}

/// The operation on the words of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UpdateOp {
    Float,
    Integer,
    I128,
    Product,
    ProductInteger,
    /// Count, mean and spread: Welford, "Note on a method for calculating corrected sums of squares and products",
    /// 1962; two of them as Chan, Golub and LeVeque do it.
    Welford,
    Count,
    Min,
    Max,
    MinUnsigned,
    MaxUnsigned,
}

/// The pass over the rows that a kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pass {
    First,
    Second,
    /// Over the groups of keys and different values of one accumulator, by its number; the column of the values.
    Distinct(u32, NodeId),
}

/// `of` is none for a count of rows. Values are of the kind that `op` takes: `f64`, 64-bit integers, or 128-bit ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accumulator {
    pub op: AggregateOp,
    pub of: Option<NodeId>,
    /// The other value of a pair.
    pub with: Option<NodeId>,
}

impl Accumulator {
    pub fn new(op: AggregateOp, of: Option<NodeId>) -> Accumulator {
        Accumulator { op, of, with: None }
    }

    /// The node that a pass reads of each row. Each group of distinct values counts as one.
    pub fn value(&self, round: Pass) -> Option<NodeId> {
        match round {
            Pass::Distinct(..) if self.op == AggregateOp::Distinct => None,
            Pass::Distinct(_, values) => Some(values),
            _ => self.of,
        }
    }

    /// The same, the other value of a pair, too.
    pub fn values(&self, round: Pass) -> impl Iterator<Item = NodeId> + use<> {
        self.value(round).into_iter().chain(self.with)
    }
}

/// Accumulators in their order, and the word at which each begins.
#[derive(Clone, Debug, Hash)]
pub struct SlotLayout {
    pub accumulators: Vec<Accumulator>,
    pub at: Vec<u32>,
    pub words: u32,
    /// The number of the accumulator for each one that was asked for.
    pub asked: Vec<usize>,
}

impl SlotLayout {
    /// In the order of their turns, so that those of one lie together.
    pub fn new(accumulators: &[Accumulator]) -> SlotLayout {
        debug_assert!(accumulators.is_sorted_by_key(|a| a.op.pass()));
        let mut words = 0;
        let at = accumulators
            .iter()
            .map(|accumulator| {
                words += accumulator.op.words();
                words - accumulator.op.words()
            })
            .collect();
        let asked = (0..accumulators.len()).collect();
        SlotLayout { accumulators: accumulators.to_vec(), at, words, asked }
    }

    /// For accumulators that are asked for, each kept once, with what they need. A count of values that are never null
    /// is a count of rows. `rows`: one of these is kept in any case, to know which groups are there.
    pub fn of(asked: &[Accumulator], nullable: &dyn Fn(NodeId) -> bool, rows: bool) -> SlotLayout {
        let plain = |mut accumulator: Accumulator| {
            if accumulator.op == AggregateOp::Count && accumulator.of.is_some_and(|of| !nullable(of)) {
                accumulator.of = None;
            }
            accumulator
        };
        let needed = asked.iter().flat_map(|a| {
            let each = [a.of].into_iter().chain(a.with.map(Some));
            each.flat_map(|of| a.op.needs().iter().map(move |op| Accumulator::new(*op, of)))
        });
        let rows = rows.then_some(Accumulator::new(AggregateOp::Count, None));
        let all: Vec<Accumulator> = asked.iter().copied().chain(needed).chain(rows).map(plain).collect();
        let mut kept: Vec<Accumulator> = Vec::new();
        for pass in 0..3 {
            for accumulator in all.iter().filter(|a| a.op.pass() == pass) {
                if !kept.contains(accumulator) {
                    kept.push(*accumulator);
                }
            }
        }
        let place = |a: &Accumulator| kept.iter().position(|k| *k == plain(*a)).unwrap_or_default();
        let asked = asked.iter().map(place).collect();
        SlotLayout { asked, ..SlotLayout::new(&kept) }
    }

    /// The word of another accumulator of the same values.
    pub fn word_of(&self, op: AggregateOp, of: Option<NodeId>) -> Option<u32> {
        let find = |of: Option<NodeId>| self.accumulators.iter().position(|a| a.op == op && a.of == of);
        // Counts of values that are never null are counts of rows.
        find(of).or_else(|| find(None)).map(|index| self.at[index])
    }

    pub fn has(&self, round: Pass) -> bool {
        self.in_pass(round).next().is_some()
    }

    /// The accumulators of a round, with their numbers.
    pub fn in_pass(&self, round: Pass) -> impl Iterator<Item = (usize, &Accumulator)> {
        self.accumulators.iter().enumerate().filter(move |(index, a)| match round {
            Pass::First => a.op.pass() == 0,
            Pass::Second => a.op.pass() == 1,
            Pass::Distinct(number, _) => *index == number as usize,
        })
    }

    /// The values whose different ones are asked for, with the numbers of the accumulators that ask.
    pub fn distinct(&self) -> Vec<(NodeId, Vec<u32>)> {
        let mut all: Vec<(NodeId, Vec<u32>)> = Vec::new();
        for (accumulator, number) in self.accumulators.iter().zip(0..).filter(|(a, _)| a.op.pass() == 2) {
            let Some(of) = accumulator.of else { continue };
            match all.iter_mut().find(|(known, _)| *known == of) {
                Some((_, numbers)) => numbers.push(number),
                None => all.push((of, vec![number])),
            }
        }
        all
    }

    /// Bytes of a group in shared memory.
    pub fn shared_bytes(&self, round: Pass) -> u32 {
        self.in_pass(round).map(|(_, a)| a.op.shared_bytes()).sum()
    }

    /// The accumulator that counts rows.
    pub fn rows(&self) -> Option<usize> {
        self.accumulators.iter().position(|a| a.op == AggregateOp::Count && a.of.is_none())
    }

    /// The words of an empty slot.
    pub fn init_words(&self) -> Vec<u64> {
        let words = self.accumulators.iter().flat_map(|a| vec![a.op.init_words(); a.op.words() as usize]);
        words.collect()
    }
}
