//! Random plans over random tables, of which two engines must say the same.
//!
//! A case is made from one number alone, so that it can be made again. A failing case is made smaller before it is
//! shown. Generated plans have one answer: floats that depend on the order of the rows are compared with a tolerance
//! and decide nothing further up.

pub mod expression;
pub mod plan;
pub mod values;

use std::fmt::Write;
use std::time::{Duration, Instant};

use onrush_frame::Table;

use crate::answer::{self, Tolerance};
use crate::engines::Answers;
use plan::Plan;
use values::{Random, Source};

/// One plan over its tables.
#[derive(Clone)]
pub struct Case {
    pub seed: u64,
    pub tables: Vec<Source>,
    pub plan: Plan,
}

/// `ordered`: both engines keep the order of rows.
pub fn case(seed: u64, ordered: bool) -> Case {
    let mut random = Random(seed);
    let tables: Vec<Source> = (0..2 + random.below(2)).map(|i| Source::random(&mut random, i as usize)).collect();
    let plan = Plan::random(&mut random, &tables, ordered);
    Case { seed, tables, plan }
}

/// The comparison of two answers to a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    Same,
    /// The answers are the same and have no rows.
    Empty,
    /// Both failed, with the same code.
    BothFail,
    /// One failed where an engine may or may not look at a value that overflows, or DataFusion does not get its own
    /// plan right.
    Either,
    /// They agree once the first engine has only one NaN: docs/semantics.md, "On a GPU".
    NanSign,
    /// The answers differ: the difference.
    Different(String),
}

/// Errors of DataFusion 55, on the CPU, for some windows over columns that its optimizer knows to be constant or equal.
const FAULTS_OF_PLANS: [&str; 3] = [
    "Expects PARTITION BY expression to be ordered",
    "does not satisfy order requirements",
    "All partition by columns should have an ordering",
];

/// For sums of at most some thousand values up to a thousand each, and their variances.
const TOLERANCE: Tolerance = Tolerance { relative: 1e-9, absolute: 1e-6 };

impl Case {
    pub fn sql(&self) -> String {
        self.plan.sql(&self.tables)
    }

    /// Makes the tables of the case known to an engine, in one piece or in several.
    ///
    /// # Errors
    /// If the engine does not take a table.
    pub fn load(&self, engine: &mut dyn Answers, chunks: bool) -> Result<(), String> {
        for source in &self.tables {
            let table: Table = if chunks { source.chunked() } else { source.table() };
            engine.load(&source.name, &table).map_err(|d| d.to_string())?;
        }
        Ok(())
    }

    /// The first engine gets each table in one piece.
    pub fn check(&self, a: &mut dyn Answers, b: &mut dyn Answers) -> Verdict {
        let query = self.sql();
        let loaded = self.load(a, false).and_then(|()| self.load(b, true));
        if let Err(error) = loaded {
            return Verdict::Different(format!("a table was not taken: {error}"));
        }
        match (a.sql(&query), b.sql(&query)) {
            (Ok(left), Ok(right)) => {
                let exact: Vec<bool> = self.plan.columns(&self.tables).iter().map(|c| c.exact).collect();
                match answer::compare(&left, &right, &exact, TOLERANCE, self.plan.is_ordered()) {
                    Ok(()) if left.rows() == 0 => Verdict::Empty,
                    Ok(()) => Verdict::Same,
                    Err(error) => {
                        let one_nan = expression::with_one_nan(|| self.sql());
                        let again = a
                            .sql(&one_nan)
                            .map(|left| answer::compare(&left, &right, &exact, TOLERANCE, self.plan.is_ordered()));
                        if matches!(again, Ok(Ok(()))) { Verdict::NanSign } else { Verdict::Different(error) }
                    }
                }
            }
            // Two calculated columns to which DataFusion gives one name.
            (Err(left), Err(right)) if left.code == "duplicate-column" && right.code == left.code => Verdict::BothFail,
            (Err(d), _) | (_, Err(d)) if FAULTS_OF_PLANS.iter().any(|fault| d.to_string().contains(fault)) => {
                Verdict::Either
            }
            // A plan that the first engine does not take is a mistake of the generator.
            (Err(d), _) if d.class == onrush_wire::Class::Plan || d.class == onrush_wire::Class::Internal => {
                Verdict::Different(format!("{} does not take the plan: `{}`: {d}", a.name(), d.code))
            }
            (Err(left), Err(right)) if left.code == right.code => Verdict::BothFail,
            (Err(left), Err(right)) => Verdict::Different(format!(
                "{} says `{}`: {left}\n{} says `{}`: {right}",
                a.name(),
                left.code,
                b.name(),
                right.code
            )),
            (Err(d), Ok(_)) | (Ok(_), Err(d)) if d.class == onrush_wire::Class::Data && self.plan.may_fail() => {
                Verdict::Either
            }
            (Err(d), Ok(t)) => {
                Verdict::Different(format!("only {} fails, `{}`: {d}; {} rows", a.name(), d.code, t.rows()))
            }
            (Ok(t), Err(d)) => {
                Verdict::Different(format!("only {} fails, `{}`: {d}; {} rows", b.name(), d.code, t.rows()))
            }
        }
    }

    /// A smaller case with a difference, found within so many tries.
    pub fn shrunk(&self, a: &mut dyn Answers, b: &mut dyn Answers, mut tries: u32) -> Case {
        let mut best = self.clone();
        loop {
            let mut smaller = None;
            for candidate in best.smaller() {
                if tries == 0 {
                    return best;
                }
                tries -= 1;
                if matches!(candidate.check(a, b), Verdict::Different(_)) {
                    smaller = Some(candidate);
                    break;
                }
            }
            match smaller {
                Some(case) => best = case,
                None => return best,
            }
        }
    }

    fn smaller(&self) -> Vec<Case> {
        let mut all: Vec<Case> = self.plan.smaller().into_iter().map(|plan| Case { plan, ..self.clone() }).collect();
        for (index, source) in self.tables.iter().enumerate() {
            for rows in source.smaller() {
                let mut tables = self.tables.clone();
                tables[index] = rows;
                all.push(Case { tables, ..self.clone() });
            }
        }
        all
    }

    /// The query and the rows of the tables that it reads.
    pub fn show(&self) -> String {
        let mut out = self.sql();
        for source in self.tables.iter().filter(|s| self.plan.reads(&s.name)) {
            let _ = write!(out, "\n\n{}", source.show());
        }
        out
    }
}

#[derive(Debug, Default)]
pub struct Report {
    pub same: usize,
    pub empty: usize,
    pub both_fail: usize,
    pub either: usize,
    pub nan_sign: usize,
    /// Seed, plan and difference, ready to be read.
    pub differences: Vec<String>,
    pub took: Duration,
}

impl Report {
    pub fn line(&self) -> String {
        format!(
            "{} plans agree, {} of them without a row, {} fail alike, {} fail on one engine where they may, \
             {} differ by the sign of a NaN, {} DIFFER, in {:.1} s",
            self.same + self.empty,
            self.empty,
            self.both_fail,
            self.either,
            self.nan_sign,
            self.differences.len(),
            self.took.as_secs_f64()
        )
    }
}

/// Plans from here are tested unless a command asks for others, so that the result of a test does not change by itself.
const SEED: u64 = 20_785_000_000;

/// The first seed: the number in `ONRUSH_SEED`, or the same one in each run. A seed that is not a number is an error.
pub fn seed() -> Result<u64, String> {
    match std::env::var("ONRUSH_SEED") {
        Ok(text) => text.parse().map_err(|_| format!("ONRUSH_SEED has to be an integer, not `{text}`")),
        Err(_) => Ok(SEED),
    }
}

/// Plans `seed`, `seed + 1`, ... Stops after five differences.
pub fn run(a: &mut dyn Answers, b: &mut dyn Answers, seed: u64, plans: u64) -> Report {
    let begun = Instant::now();
    let ordered = a.keeps_order() && b.keeps_order();
    let mut report = Report::default();
    for seed in seed..seed + plans {
        let case = case(seed, ordered);
        match case.check(a, b) {
            Verdict::Same => report.same += 1,
            Verdict::Empty => report.empty += 1,
            Verdict::BothFail => report.both_fail += 1,
            Verdict::Either => report.either += 1,
            Verdict::NanSign => report.nan_sign += 1,
            Verdict::Different(_) => {
                let small = case.shrunk(a, b, 400);
                let difference = match small.check(a, b) {
                    Verdict::Different(difference) => difference,
                    other => format!("{other:?} when it was run again"),
                };
                report.differences.push(format!(
                    "seed {seed}: {} and {} differ: {difference}\n{}\nagain: onrush-oracle random --engine {} --against {} --seed {seed} --plans 1",
                    a.name(),
                    b.name(),
                    small.show(),
                    b.name(),
                    a.name()
                ));
                if report.differences.len() == 5 {
                    break;
                }
            }
        }
    }
    report.took = begun.elapsed();
    report
}
