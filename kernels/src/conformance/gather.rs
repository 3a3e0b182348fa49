//! `gather` and `scatter` against loops, and their speed.

use super::values::{Nulls, Random, Value, bitmap};
use super::{Bench, Cases, same};
use crate::column::Column;
use crate::error::Result;
use crate::gather::{gather, scatter};
use crate::scalar::Scalar;

fn check_type<T: Value, I: Value + TryFrom<u64>>(cases: &mut Cases) {
    let mut random = Random(51 + T::SCALAR.bytes() + I::SCALAR.bytes());
    for rows in cases.depth.sizes() {
        for (nulls, index_nulls) in
            [(Nulls::Absent, Nulls::Absent), (Nulls::Random, Nulls::Absent), (Nulls::Alternating, Nulls::Random)]
        {
            let length = rows / 2 + 3;
            let values = T::column(&mut random, length);
            let valid = nulls.valid(&mut random, length);
            let has_index = index_nulls.valid(&mut random, rows);
            let picks: Vec<u64> = (0..rows).map(|_| random.below(length as u64)).collect();
            let indices: Vec<I> = picks.iter().filter_map(|pick| I::try_from(*pick).ok()).collect();
            let (bits, index_bits) = (bitmap(&mut random, &valid, 0), bitmap(&mut random, &has_index, 0));
            cases.case(
                || {
                    format!(
                        "gather {} by {}, {rows} rows, nulls {nulls:?} and {index_nulls:?}",
                        T::SCALAR.cuda(),
                        I::SCALAR.cuda()
                    )
                },
                |context| {
                    let (values_there, indices_there) = (context.upload(&values)?, context.upload(&indices)?);
                    let (bits, index_bits) = (context.upload(&bits)?, context.upload(&index_bits)?);
                    let mut column = Column::new(T::SCALAR, &values_there);
                    if nulls != Nulls::Absent {
                        column = column.with_validity(&bits);
                    }
                    let mut by = Column::new(I::SCALAR, &indices_there);
                    if index_nulls != Nulls::Absent {
                        by = by.with_validity(&index_bits);
                    }
                    let out = context.allocate(rows as u64 * T::SCALAR.bytes())?;
                    let words = rows.div_ceil(32);
                    let out_bits = context.allocate(words as u64 * 4)?;
                    gather(context, &column, &by, &out, Some(&out_bits))?;
                    let found = out.read::<T>(0..rows, &context.stream)?;
                    let found_bits = out_bits.read::<u32>(0..words, &context.stream)?;
                    let nulls = nulls != Nulls::Absent || index_nulls != Nulls::Absent;
                    let read = |row: usize| {
                        let there = !nulls || found_bits[row / 32] >> (row % 32) & 1 == 1;
                        there.then_some(found[row])
                    };
                    let pick = |row: usize| {
                        let at = picks[row] as usize;
                        (has_index[row] && valid[at]).then_some(values[at])
                    };
                    let found: Vec<Option<T>> = (0..rows).map(read).collect();
                    let expected: Vec<Option<T>> = (0..rows).map(pick).collect();
                    Ok(same(&found, &expected))
                },
            );
        }
        let values = T::column(&mut random, rows);
        // A shuffle: each row once.
        let mut order: Vec<u64> = (0..rows as u64).collect();
        for row in (1..rows).rev() {
            order.swap(row, random.below(row as u64 + 1) as usize);
        }
        let indices: Vec<I> = order.iter().filter_map(|to| I::try_from(*to).ok()).collect();
        cases.case(
            || format!("scatter {} by {}, {rows} rows", T::SCALAR.cuda(), I::SCALAR.cuda()),
            |context| {
                let (values_there, indices_there) = (context.upload(&values)?, context.upload(&indices)?);
                let out = context.allocate(rows as u64 * T::SCALAR.bytes())?;
                let by = Column::new(I::SCALAR, &indices_there);
                scatter(context, &Column::new(T::SCALAR, &values_there), &by, &out)?;
                let found = out.read::<T>(0..rows, &context.stream)?;
                let mut expected = values.clone();
                order.iter().zip(&values).for_each(|(to, value)| expected[*to as usize] = *value);
                Ok(same(&found, &expected))
            },
        );
    }
}

pub fn check(cases: &mut Cases) {
    check_type::<u8, u32>(cases);
    check_type::<i32, u64>(cases);
    check_type::<i64, u32>(cases);
    check_type::<i128, u64>(cases);
}

pub fn measure(bench: &mut Bench) -> Result<()> {
    let (rows, context) = (bench.rows, bench.context);
    let mut random = Random(17);
    let indices: Vec<u32> = (0..rows).map(|_| random.below(rows) as u32).collect();
    let indices = context.upload(&indices)?;
    let values = context.zeros(rows * 8)?;
    let out = context.allocate(rows * 8)?;
    let (values, indices) = (Column::new(Scalar::F64, &values), Column::new(Scalar::U32, &indices));
    bench.measure("gather f64 by random u32", rows, rows * (4 + 32 + 8), |context| {
        gather(context, &values, &indices, &out, None)
    })?;
    bench.measure("scatter f64 by random u32", rows, rows * (4 + 8 + 32), |context| {
        scatter(context, &values, &indices, &out)
    })
}
