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
    /// The same where no sum can leave 64 bits.
    SumShort,
    /// Of values, or of rows.
    Count,
    Least,
    Greatest,
    LeastUnsigned,
    GreatestUnsigned,
    /// Of floats: the sum of their distances from the group's mean, and that of the squares of these. In a second round over the rows.
    About,
    SquaresAbout,
    /// Of pairs of floats that are both there or both not: the sum of the products of their distances from their means.
    ProductsAbout,
    /// The sum of the squares of distances from the mean of the values so far, where rows are seen once and in their order: along windows.
    Spread,
    /// How many different values there are, and their sum.
    Distinct,
    DistinctFloat,
    DistinctInteger,
    DistinctWide,
    /// Of 128-bit numbers: the upper words, and in a second round the lower words of those that have that upper word.
    LeastUpper,
    LeastLower,
    GreatestUpper,
    GreatestLower,
}

impl What {
    /// 64-bit words in device memory.
    pub fn words(self) -> u32 {
        match self {
            What::SumWide | What::DistinctWide => 2,
            What::Spread => 3,
            _ => 1,
        }
    }

    /// When it is found: with the others, in a second round over the rows that knows what the first one found, or by the groups of
    /// keys and values.
    fn turn(self) -> u32 {
        match self {
            What::About | What::SquaresAbout | What::ProductsAbout => 1,
            What::LeastLower | What::GreatestLower => 1,
            What::Distinct | What::DistinctFloat | What::DistinctInteger | What::DistinctWide => 2,
            _ => 0,
        }
    }

    /// Whether it is found in one round, by adding one value after the other.
    pub fn is_plain(self) -> bool {
        self.turn() == 0 && !matches!(self, What::LeastUpper | What::GreatestUpper)
    }

    /// What the second round needs of the first.
    fn needs(self) -> &'static [What] {
        match self {
            What::About | What::SquaresAbout | What::ProductsAbout => &[What::SumFloat, What::Count],
            What::LeastLower => &[What::LeastUpper],
            What::GreatestLower => &[What::GreatestUpper],
            _ => &[],
        }
    }

    /// How it is added up.
    pub fn way(self) -> Way {
        match self {
            What::SumFloat | What::DistinctFloat => Way::Float,
            What::About | What::SquaresAbout | What::ProductsAbout => Way::Float,
            What::SumInteger | What::SumShort | What::DistinctInteger => Way::Integer,
            What::SumWide | What::DistinctWide => Way::Wide,
            What::Spread => Way::Spread,
            What::Count | What::Distinct => Way::Count,
            What::Least | What::LeastUpper => Way::Least,
            What::Greatest | What::GreatestUpper => Way::Greatest,
            What::LeastUnsigned | What::LeastLower => Way::LeastUnsigned,
            What::GreatestUnsigned | What::GreatestLower => Way::GreatestUnsigned,
        }
    }

    /// Bytes in shared memory, where counts are short.
    pub fn shared_bytes(self) -> u32 {
        match self {
            What::Count | What::Distinct => 4,
            What::SumWide | What::DistinctWide => 16,
            What::Spread => 24,
            _ => 8,
        }
    }

    /// What an empty group holds.
    pub fn start(self) -> u64 {
        match self {
            What::Least | What::LeastUpper => i64::MAX as u64,
            What::Greatest | What::GreatestUpper => i64::MIN as u64,
            What::LeastUnsigned | What::LeastLower => u64::MAX,
            _ => 0,
        }
    }
}

/// What is done to the words of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    Float,
    Integer,
    Wide,
    /// Count, mean and spread: Welford, "Note on a method for calculating corrected sums of squares and products", 1962; two of them as Chan,
    /// Golub and LeVeque do it.
    Spread,
    Count,
    Least,
    Greatest,
    LeastUnsigned,
    GreatestUnsigned,
}

/// Which rounds over the rows a kernel is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Round {
    First,
    Second,
    /// Over the groups of keys and different values of one accumulator, by its number; the column of the values.
    Distinct(u32, Id),
}

/// `of` is none for a count of rows. Values are of the kind that `what` takes: `f64`, 64-bit integers, or 128-bit ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Accumulator {
    pub what: What,
    pub of: Option<Id>,
    /// The other value of a pair.
    pub with: Option<Id>,
}

impl Accumulator {
    pub fn new(what: What, of: Option<Id>) -> Accumulator {
        Accumulator { what, of, with: None }
    }

    /// What a round reads of each row. Of groups of different values each counts as one.
    pub fn value(&self, round: Round) -> Option<Id> {
        match round {
            Round::Distinct(..) if self.what == What::Distinct => None,
            Round::Distinct(_, values) => Some(values),
            _ => self.of,
        }
    }

    /// The same, the other value of a pair, too.
    pub fn values(&self, round: Round) -> impl Iterator<Item = Id> + use<> {
        self.value(round).into_iter().chain(self.with)
    }
}

/// Accumulators in their order, and the word at which each begins.
#[derive(Clone, Debug, Hash)]
pub struct Layout {
    pub accumulators: Vec<Accumulator>,
    pub at: Vec<u32>,
    pub words: u32,
    /// Which of them each of those that were asked for is.
    pub asked: Vec<usize>,
}

impl Layout {
    /// In the order of their turns, so that those of one lie together.
    pub fn new(accumulators: &[Accumulator]) -> Layout {
        debug_assert!(accumulators.is_sorted_by_key(|a| a.what.turn()));
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

    /// For accumulators that are asked for, each kept once, with what they need. A count of values that are never null is a count of
    /// rows. `rows`: one of these is kept in any case, to know which groups are there.
    pub fn of(asked: &[Accumulator], nullable: &dyn Fn(Id) -> bool, rows: bool) -> Layout {
        let plain = |mut accumulator: Accumulator| {
            if accumulator.what == What::Count && accumulator.of.is_some_and(|of| !nullable(of)) {
                accumulator.of = None;
            }
            accumulator
        };
        let needed = asked.iter().flat_map(|a| {
            let each = [a.of].into_iter().chain(a.with.map(Some));
            each.flat_map(|of| a.what.needs().iter().map(move |what| Accumulator::new(*what, of)))
        });
        let rows = rows.then_some(Accumulator::new(What::Count, None));
        let all: Vec<Accumulator> = asked.iter().copied().chain(needed).chain(rows).map(plain).collect();
        let mut kept: Vec<Accumulator> = Vec::new();
        for turn in 0..3 {
            for accumulator in all.iter().filter(|a| a.what.turn() == turn) {
                if !kept.contains(accumulator) {
                    kept.push(*accumulator);
                }
            }
        }
        let place = |a: &Accumulator| kept.iter().position(|k| *k == plain(*a)).unwrap_or_default();
        let asked = asked.iter().map(place).collect();
        Layout { asked, ..Layout::new(&kept) }
    }

    /// Where the word of another accumulator of the same values is.
    pub fn word_of(&self, what: What, of: Option<Id>) -> Option<u32> {
        let find = |of: Option<Id>| self.accumulators.iter().position(|a| a.what == what && a.of == of);
        // Counts of values that are never null are counts of rows.
        find(of).or_else(|| find(None)).map(|index| self.at[index])
    }

    pub fn has(&self, round: Round) -> bool {
        self.in_round(round).next().is_some()
    }

    /// The accumulators of a round, with their numbers.
    pub fn in_round(&self, round: Round) -> impl Iterator<Item = (usize, &Accumulator)> {
        self.accumulators.iter().enumerate().filter(move |(index, a)| match round {
            Round::First => a.what.turn() == 0,
            Round::Second => a.what.turn() == 1,
            Round::Distinct(number, _) => *index == number as usize,
        })
    }

    /// The values whose different ones are asked for, with the numbers of the accumulators that ask.
    pub fn distinct(&self) -> Vec<(Id, Vec<u32>)> {
        let mut all: Vec<(Id, Vec<u32>)> = Vec::new();
        for (accumulator, number) in self.accumulators.iter().zip(0..).filter(|(a, _)| a.what.turn() == 2) {
            let Some(of) = accumulator.of else { continue };
            match all.iter_mut().find(|(known, _)| *known == of) {
                Some((_, numbers)) => numbers.push(number),
                None => all.push((of, vec![number])),
            }
        }
        all
    }

    /// Bytes of a group in shared memory.
    pub fn shared_bytes(&self, round: Round) -> u32 {
        self.in_round(round).map(|(_, a)| a.what.shared_bytes()).sum()
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
