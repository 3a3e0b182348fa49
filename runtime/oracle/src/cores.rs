//! The same bits on any number of cores. Queries run in partitions of 33 rows: on one thread in order, and on several
//! with partitions that end at random times. Results are compared value by value and row by row, bits of floats
//! included.

use std::sync::Arc;
use std::time::Instant;

use arrow::compute::concat_batches;
use onrush_frame::Table;
use onrush_wire::Diagnostic;

use crate::engines::{Answers, Subject};
use crate::random::{self, values::Random};
use crate::{corpus, slt};

/// The engine that the others must agree with.
const REFERENCE: &str = "cpu-chunks-1";
/// On 2, 3 and 16 threads.
const OTHERS: [&str; 3] = ["cpu-chunks-2", "cpu-chunks", "cpu-chunks-16"];

type Answer = Result<Arc<Table>, Diagnostic>;

/// # Errors
/// What is different, with the query. Two equal errors are equal answers.
fn compare(query: &str, name: &str, reference: &Answer, other: &Answer) -> Result<(), String> {
    let different = |what: String| Err(format!("{name} and {REFERENCE} differ: {what}\n{query}"));
    match (reference, other) {
        (Ok(reference), Ok(other)) => {
            if reference.schema() != other.schema() {
                return different(format!("{:?} and {:?}", other.schema(), reference.schema()));
            }
            let whole = |table: &Table| concat_batches(table.schema(), table.batches()).map_err(|e| e.to_string());
            let (reference, other) = (whole(reference)?, whole(other)?);
            // Arrow compares the bytes of values that are there.
            match reference == other {
                true => Ok(()),
                false => different(format!("{} and {} rows, or their values", other.num_rows(), reference.num_rows())),
            }
        }
        (Err(reference), Err(other)) if reference.code == other.code && reference.message == other.message => Ok(()),
        (Err(reference), Err(other)) => different(format!("`{other}` and `{reference}`")),
        (Ok(_), Err(error)) => different(format!("only {name} fails: {error}")),
        (Err(error), Ok(_)) => different(format!("only {REFERENCE} fails: {error}")),
    }
}

/// Compares the answers to the queries of `tests/sql` whose file name contains `only`, and to `plans` random plans.
///
/// # Errors
/// The first difference, or an engine that does not start.
pub fn run(only: &str, plans: u64, seed: u64) -> Result<String, String> {
    let begun = Instant::now();
    let mut reference = Subject::open(REFERENCE, None)?;
    let mut others = OTHERS.map(|name| Subject::open(name, None));
    let (mut queries, mut seen) = (0, 0);
    corpus::load(&mut reference, None)?;
    for other in &mut others {
        corpus::load(other.as_mut().map_err(|e| e.clone())?, None)?;
    }
    for (name, text) in corpus::FILES.iter().filter(|(name, _)| name.contains(only)) {
        for case in slt::read(text).map_err(|e| format!("{name}: {e}"))? {
            let expected = reference.sql(&case.sql);
            queries += 1;
            // One of them for each query; all of them are seen.
            let other = &mut others[queries % OTHERS.len()];
            let Ok(other) = other else { continue };
            let answer = other.sql(&case.sql);
            compare(&case.sql, other.name(), &expected, &answer)?;
        }
    }
    for number in 0..plans {
        let case = random::case(Random(seed.wrapping_add(number)).0, true);
        let query = case.sql();
        case.load(&mut reference, false)?;
        let expected = reference.sql(&query);
        seen += usize::from(expected.as_ref().is_ok_and(|table| table.rows() > 0));
        let other = &mut others[number as usize % OTHERS.len()];
        let Ok(other) = other else { continue };
        case.load(other, false)?;
        let answer = other.sql(&query);
        compare(&query, other.name(), &expected, &answer)?;
    }
    Ok(format!(
        "{queries} queries and {plans} random plans ({seen} with rows) give the same bits on 1, 2, 3 and 16 threads, in {:.1} s",
        begun.elapsed().as_secs_f64()
    ))
}
