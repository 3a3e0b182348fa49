//! `dictionary` against the standard library's map, and its speed.

use std::collections::HashMap;
use std::hash::Hash;

use super::values::{Nulls, Random, bitmap};
use super::{Bench, Cases};
use crate::dictionary::{Dictionary, Values, encode};
use crate::error::Result;
use crate::library::Context;
use crate::scalar::Scalar;

/// Rows share a code exactly if they share a value, codes are dense, and the row that stands for a code has its value.
fn compare<T: Hash + Eq + Clone>(
    context: &Context,
    dictionary: &Dictionary,
    values: &[T],
    valid: &[bool],
) -> Result<std::result::Result<(), String>> {
    let codes = dictionary.codes.read::<u32>(0..values.len(), &context.stream)?;
    let count = dictionary.count as usize;
    let mut code_of: HashMap<&T, u32> = HashMap::new();
    for (row, value) in values.iter().enumerate().filter(|(row, _)| valid[*row]) {
        let code = *code_of.entry(value).or_insert(codes[row]);
        if code != codes[row] {
            return Ok(Err(format!("row {row} has code {}, its value has {code}", codes[row])));
        }
    }
    if code_of.len() != count {
        return Ok(Err(format!("{count} codes for {} values", code_of.len())));
    }
    let rows = dictionary.first_rows.read::<u64>(0..count, &context.stream)?;
    for (code, row) in rows.iter().enumerate() {
        let row = *row as usize;
        if row >= values.len() || !valid[row] || codes[row] != code as u32 {
            return Ok(Err(format!("row {row} stands for code {code}")));
        }
    }
    Ok(Ok(()))
}

fn integers(cases: &mut Cases, random: &mut Random, rows: usize, domain: u64, estimate: u64, nulls: Nulls) {
    let values: Vec<i64> =
        (0..rows).map(|_| (random.below(domain) as i64 - 3).wrapping_mul(0x1234_5678_9abc_def1)).collect();
    let valid = nulls.valid(random, rows);
    let bits = bitmap(random, &valid, 0);
    cases.case(
        || format!("dictionary of integers, {rows} rows, {domain} values, estimate {estimate}, nulls {nulls:?}"),
        |context| {
            let (there, bits) = (context.upload(&values)?, context.upload(&bits)?);
            let validity = (nulls != Nulls::Absent).then_some(&bits);
            let fixed = Values::Fixed { scalar: Scalar::I64, values: &there };
            let found = encode(context, fixed, validity, rows as u64, estimate)?;
            compare(context, &found, &values, &valid)
        },
    );
}

/// Strings of 0 to 20 bytes, many with a long beginning in common.
fn text(number: u64) -> Vec<u8> {
    match number % 4 {
        0 => number.to_string().into_bytes(),
        1 => format!("a long beginning {number}").into_bytes(),
        2 => vec![b'x'; (number / 4 % 21) as usize],
        _ => number.to_le_bytes()[..(number / 4 % 9) as usize].to_vec(),
    }
}

fn strings(cases: &mut Cases, random: &mut Random, rows: usize, domain: u64, wide: bool, nulls: Nulls) {
    let values: Vec<Vec<u8>> = (0..rows).map(|_| text(random.below(domain))).collect();
    let valid = nulls.valid(random, rows);
    let bits = bitmap(random, &valid, 0);
    let bytes: Vec<u8> = values.concat();
    let mut end = 0_i64;
    let ends = values.iter().map(|value| {
        end += value.len() as i64;
        end
    });
    let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
    cases.case(
        || format!("dictionary of strings, {rows} rows, {domain} values, offsets of 64 bits {wide}, nulls {nulls:?}"),
        |context| {
            let narrow: Vec<i32> = offsets.iter().map(|offset| *offset as i32).collect();
            let offsets = if wide { context.upload(&offsets)? } else { context.upload(&narrow)? };
            let (bytes, bits) = (context.upload(&bytes)?, context.upload(&bits)?);
            let validity = (nulls != Nulls::Absent).then_some(&bits);
            let there = Values::Strings { offsets: &offsets, bytes: &bytes, wide };
            let found = encode(context, there, validity, rows as u64, domain.min(rows as u64))?;
            compare(context, &found, &values, &valid)
        },
    );
}

pub fn check(cases: &mut Cases) {
    let mut random = Random(37);
    for rows in cases.depth.sizes() {
        for domain in [1, 100, 1 << 50] {
            integers(cases, &mut random, rows, domain, domain.min(rows as u64), Nulls::Absent);
            strings(cases, &mut random, rows, domain, rows % 2 == 0, Nulls::Random);
        }
    }
    for rows in cases.depth.few_sizes() {
        for nulls in Nulls::ALL {
            integers(cases, &mut random, rows, 50, 50, nulls);
            strings(cases, &mut random, rows, 50, false, nulls);
        }
        // Ten values were expected, and all are different.
        integers(cases, &mut random, rows, 1 << 60, 10, Nulls::Absent);
    }
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let (rows, context) = (bench.rows / 10, bench.context);
    let mut random = Random(19);
    for count in [6u64, 1_000_000] {
        if count > rows {
            continue;
        }
        let (mut offsets, mut bytes) = (vec![0_i32], Vec::new());
        for _ in 0..rows {
            bytes.extend_from_slice(format!("key {:07}", random.below(count)).as_bytes());
            offsets.push(bytes.len() as i32);
        }
        let floor = rows * (4 + 11 + 4);
        let (offsets, bytes) = (context.upload(&offsets)?, context.upload(&bytes)?);
        let strings = Values::Strings { offsets: &offsets, bytes: &bytes, wide: false };
        bench.measure(format!("dictionary of strings, {count} values"), rows, floor, |context| {
            encode(context, strings, None, rows, count).map(drop)
        })?;
    }
    Ok(())
}
