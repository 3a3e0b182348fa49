//! `compact` against a loop, and its speed.

use super::values::{Nulls, Random, Value, bitmap};
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::compact::Compact;
use crate::error::Result;
use crate::scalar::Scalar;

fn check_type<T: Value>(cases: &mut Cases) {
    let mut random = Random(31 + T::SCALAR.bytes());
    for rows in cases.depth.sizes() {
        for pattern in [Nulls::None, Nulls::All, Nulls::Alternating, Nulls::Random, Nulls::Ends] {
            // Integers, so that they compare by their bits.
            let first = T::column(&mut random, rows + 1);
            let second = u16::column(&mut random, rows);
            let keep = pattern.valid(&mut random, rows);
            let bits = bitmap(&mut random, &keep, 0);
            cases.case(
                || format!("compact {} {rows} rows, kept {pattern:?} of", T::SCALAR.cuda()),
                |context| {
                    let (a, b) = (context.upload(&first)?, context.upload(&second)?);
                    let bits = context.upload(&bits)?;
                    let (out_a, out_b) = (context.allocate(a.bytes())?, context.allocate(b.bytes())?);
                    let compact = Compact::new(context, rows as u64)?;
                    compact.first(context, &Column::new(T::SCALAR, &a).slice(1, rows as u64), &bits, &out_a)?;
                    compact.more(context, &Column::new(Scalar::U16, &b), &bits, &out_b)?;
                    let count = compact.count(context)? as usize;
                    let kept = |row: &usize| keep[*row];
                    let expected: Vec<T> = (0..rows).filter(kept).map(|row| first[row + 1]).collect();
                    let others: Vec<u16> = (0..rows).filter(kept).map(|row| second[row]).collect();
                    if count != expected.len() {
                        return Ok(Err(format!("{count} rows are kept, expected {}", expected.len())));
                    }
                    let found = out_a.read::<T>(0..count, &context.stream)?;
                    let found_others = out_b.read::<u16>(0..count, &context.stream)?;
                    Ok(same(&found, &expected).and_then(|()| same(&found_others, &others)))
                },
            );
        }
    }
}

pub fn check(cases: &mut Cases) {
    check_type::<u8>(cases);
    check_type::<i32>(cases);
    check_type::<i64>(cases);
    check_type::<i128>(cases);
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let rows = bench.rows;
    let mut random = Random(1);
    for percent in [1, 50, 99] {
        let words: Vec<u32> = (0..rows.div_ceil(32))
            .map(|_| (0..32).fold(0, |word, bit| word | u32::from(random.below(100) < percent) << bit))
            .collect();
        let kept: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        let keep = bench.context.upload(&words)?;
        let values = bench.context.zeros(rows * 8)?;
        let out = bench.context.allocate(rows * 8)?;
        let compact = Compact::new(bench.context, rows)?;
        // What is read is whole sectors of four values.
        let read = if percent == 1 { kept * 32 } else { rows * 8 };
        bench.measure(format!("compact f64, {percent} % kept"), rows, rows / 8 + read + kept * 8, |context| {
            compact.first(context, &Column::new(Scalar::F64, &values), &keep, &out)
        })?;
        bench.measure(
            format!("compact f64, {percent} % kept, next column"),
            rows,
            rows / 8 + read + kept * 8,
            |context| compact.more(context, &Column::new(Scalar::F64, &values), &keep, &out),
        )?;
    }
    Ok(())
}
