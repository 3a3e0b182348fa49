//! Order-preserving integer ranks of strings and of wide decimals, for the radix sort.
//!
//! A merge sort of chunks, so that it can be cancelled. Strings are mostly compared by their first eight bytes.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayAccessor, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type};
use onrush_expr::error::internal;
use onrush_frame::{CancelError, TaskHandle};
use onrush_wire::Diagnostic;

/// Rows between two looks at whether the work was stopped.
pub const PIECE: usize = 1 << 16;

/// A rank for each row of the chunks, equal for equal values; anything for nulls. None if the type is already numeric.
pub fn ranks(chunks: &[ArrayRef], task: &TaskHandle) -> Result<Option<Vec<u32>>, Diagnostic> {
    let Some(first) = chunks.first() else { return Ok(None) };
    match first.data_type() {
        DataType::Utf8 => {
            of_texts(&chunks.iter().map(|c| c.as_string::<i32>()).collect::<Vec<_>>(), chunks, task).map(Some)
        }
        DataType::LargeUtf8 => {
            of_texts(&chunks.iter().map(|c| c.as_string::<i64>()).collect::<Vec<_>>(), chunks, task).map(Some)
        }
        DataType::Utf8View => {
            of_texts(&chunks.iter().map(|c| c.as_string_view()).collect::<Vec<_>>(), chunks, task).map(Some)
        }
        DataType::Dictionary(..) => of_dictionaries(chunks, task).map(Some),
        DataType::Decimal128(..) => {
            let value = |chunk: usize, row: usize| chunks[chunk].as_primitive::<Decimal128Type>().value(row);
            of_values(chunks, value, task).map(Some)
        }
        DataType::Decimal256(..) => {
            let value = |chunk: usize, row: usize| chunks[chunk].as_primitive::<Decimal256Type>().value(row);
            of_values(chunks, value, task).map(Some)
        }
        _ => Ok(None),
    }
}

/// A row of a chunk, with what it is compared by.
type Item<T> = (T, u32, u32);

fn of_texts<'a, A: ArrayAccessor<Item = &'a str>>(
    texts: &[A],
    chunks: &[ArrayRef],
    task: &TaskHandle,
) -> Result<Vec<u32>, Diagnostic> {
    let place = |item: &Item<u64>| texts[item.1 as usize].value(item.2 as usize).as_bytes();
    let skip = common(texts, chunks, task)?;
    let prefix = |chunk: usize, row: usize| {
        let text = &texts[chunk].value(row).as_bytes()[skip..];
        let mut bytes = [0; 8];
        let length = text.len().min(8);
        bytes[..length].copy_from_slice(&text[..length]);
        u64::from_be_bytes(bytes)
    };
    let items = items(chunks, prefix, task)?;
    // A text that ends within the eight bytes has zeros there, as another one may have.
    let compare = |a: &Item<u64>, b: &Item<u64>| a.0.cmp(&b.0).then_with(|| place(a)[skip..].cmp(&place(b)[skip..]));
    Ok(numbered(items, compare, chunks, task)?)
}

/// Counts the bytes of the common prefix of all strings.
fn common<'a, A: ArrayAccessor<Item = &'a str>>(
    texts: &[A],
    chunks: &[ArrayRef],
    task: &TaskHandle,
) -> Result<usize, CancelError> {
    let mut first: Option<&[u8]> = None;
    for (texts, chunk) in texts.iter().zip(chunks) {
        let nulls = chunk.logical_nulls();
        for row in 0..chunk.len() {
            if row % PIECE == 0 {
                task.check()?;
            }
            if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                continue;
            }
            let text = texts.value(row).as_bytes();
            let known = first.unwrap_or(text);
            let alike = known.iter().zip(text).take_while(|(a, b)| a == b).count();
            first = Some(&known[..alike]);
            if alike == 0 {
                return Ok(0);
            }
        }
    }
    Ok(first.map_or(0, <[u8]>::len))
}

fn of_values<T: Ord + Copy>(
    chunks: &[ArrayRef],
    value: impl Fn(usize, usize) -> T,
    task: &TaskHandle,
) -> Result<Vec<u32>, Diagnostic> {
    let items = items(chunks, value, task)?;
    Ok(numbered(items, |a, b| a.0.cmp(&b.0), chunks, task)?)
}

/// Ranks the entries of the dictionaries, not the rows.
fn of_dictionaries(chunks: &[ArrayRef], task: &TaskHandle) -> Result<Vec<u32>, Diagnostic> {
    let DataType::Dictionary(_, values) = chunks[0].data_type() else { return Ok(Vec::new()) };
    let to = match **values {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8View,
        ref other => other.clone(),
    };
    // Batches often share a dictionary.
    let mut known: HashMap<usize, usize> = HashMap::new();
    let (mut dictionaries, mut of_chunk) = (Vec::new(), Vec::new());
    for chunk in chunks {
        task.check()?;
        let values = chunk.as_any_dictionary().values();
        let next = dictionaries.len();
        let index = *known.entry(Arc::as_ptr(values).cast::<()>() as usize).or_insert(next);
        if index == next {
            dictionaries.push(arrow::compute::cast(values, &to).map_err(|e| internal(&e.to_string()))?);
        }
        of_chunk.push(index);
    }
    let ranked = match ranks(&dictionaries, task)? {
        Some(ranked) => ranked,
        None => {
            let values: Vec<&dyn Array> = dictionaries.iter().map(AsRef::as_ref).collect();
            let all = arrow::compute::concat(&values).map_err(|e| internal(&e.to_string()))?;
            arrow::compute::rank(&all, None).map_err(|e| internal(&e.to_string()))?
        }
    };
    let starts = starts(&dictionaries);
    let mut out = Vec::with_capacity(rows(chunks));
    for (chunk, dictionary) in chunks.iter().zip(of_chunk) {
        for start in (0..chunk.len()).step_by(PIECE) {
            task.check()?;
            let piece = chunk.slice(start, PIECE.min(chunk.len() - start));
            let keys = piece.as_any_dictionary().normalized_keys();
            // A row without a value may have any key, and the dictionary may be empty.
            out.extend(keys.into_iter().map(|key| ranked.get(starts[dictionary] + key).copied().unwrap_or(0)));
        }
    }
    Ok(out)
}

/// The first row of each chunk.
fn starts(chunks: &[ArrayRef]) -> Vec<usize> {
    let mut next = 0;
    let starts = chunks.iter().map(|chunk| {
        let start = next;
        next += chunk.len();
        start
    });
    starts.collect()
}

fn rows(chunks: &[ArrayRef]) -> usize {
    chunks.iter().map(|chunk| chunk.len()).sum()
}

/// The rows that are not null, with what they are compared by.
fn items<T>(
    chunks: &[ArrayRef],
    of: impl Fn(usize, usize) -> T,
    task: &TaskHandle,
) -> Result<Vec<Item<T>>, CancelError> {
    let mut items = Vec::with_capacity(rows(chunks));
    for (at, chunk) in chunks.iter().enumerate() {
        let nulls = chunk.logical_nulls();
        for row in 0..chunk.len() {
            if row % PIECE == 0 {
                task.check()?;
            }
            if nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                items.push((of(at, row), at as u32, row as u32));
            }
        }
    }
    Ok(items)
}

fn numbered<T: Copy>(
    items: Vec<Item<T>>,
    compare: impl Fn(&Item<T>, &Item<T>) -> Ordering,
    chunks: &[ArrayRef],
    task: &TaskHandle,
) -> Result<Vec<u32>, CancelError> {
    let sorted = sorted(items, &compare, task)?;
    let starts = starts(chunks);
    let (mut ranks, mut rank) = (vec![0; rows(chunks)], 0);
    for (at, item) in sorted.iter().enumerate() {
        if at % PIECE == 0 {
            task.check()?;
        }
        rank += u32::from(at > 0 && compare(&sorted[at - 1], item) != Ordering::Equal);
        ranks[starts[item.1 as usize] + item.2 as usize] = rank;
    }
    Ok(ranks)
}

/// Merge sort whose steps are short.
fn sorted<T: Copy>(
    mut from: Vec<T>,
    compare: impl Fn(&T, &T) -> Ordering,
    task: &TaskHandle,
) -> Result<Vec<T>, CancelError> {
    for piece in from.chunks_mut(PIECE) {
        task.check()?;
        piece.sort_unstable_by(&compare);
    }
    let mut width = PIECE;
    let mut to = Vec::with_capacity(if from.len() > width { from.len() } else { 0 });
    while width < from.len() {
        for pair in from.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let ([a, rest_a @ ..], [b, rest_b @ ..]) = (left, right) {
                if compare(b, a) == Ordering::Less {
                    to.push(*b);
                    right = rest_b;
                } else {
                    to.push(*a);
                    left = rest_a;
                }
                if to.len() % PIECE == 0 {
                    task.check()?;
                }
            }
            to.extend_from_slice(left);
            to.extend_from_slice(right);
        }
        std::mem::swap(&mut from, &mut to);
        to.clear();
        width *= 2;
    }
    Ok(from)
}

#[cfg(test)]
mod tests {
    use arrow::array::{Decimal128Array, DictionaryArray, StringArray, StringViewArray};
    use arrow::datatypes::Int32Type;

    use super::*;

    /// Against the standard library's order of strings.
    #[test]
    fn ranks_are_the_places_of_the_different_texts() {
        let texts: Vec<Option<String>> = (0..200_000u64)
            .map(|i| {
                let n = i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                (n % 11 != 0).then(|| match n % 3 {
                    0 => format!("a common beginning {}", n % 5_000),
                    1 => format!("é{}", n % 300),
                    _ => ["", "\0", "\0\0", "a", "a\0", "ab"][(n % 6) as usize].to_string(),
                })
            })
            .collect();
        let mut different: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
        different.sort_unstable();
        different.dedup();
        let expected =
            |text: &Option<String>| text.as_deref().map(|text| different.binary_search(&text).unwrap() as u32);
        let expected: Vec<Option<u32>> = texts.iter().map(expected).collect();
        // With something in common, the order is the same.
        let long: Vec<Option<String>> = texts.iter().map(|t| t.as_ref().map(|t| format!("row a{t}"))).collect();
        let long: ArrayRef = Arc::new(long.into_iter().collect::<StringArray>());
        let found = ranks(&[long], &TaskHandle::new()).unwrap().unwrap();
        assert!(found.iter().zip(&expected).all(|(found, expected)| expected.is_none_or(|e| e == *found)));
        let (first, second) = texts.split_at(70_001);
        let views = |part: &[Option<String>]| Arc::new(part.iter().cloned().collect::<StringViewArray>()) as ArrayRef;
        let plain = |part: &[Option<String>]| Arc::new(part.iter().cloned().collect::<StringArray>()) as ArrayRef;
        let named = |part: &[Option<String>]| {
            Arc::new(part.iter().map(Option::as_deref).collect::<DictionaryArray<Int32Type>>()) as ArrayRef
        };
        for chunks in [[views(first), views(second)], [plain(first), plain(second)], [named(first), named(second)]] {
            let found = ranks(&chunks, &TaskHandle::new()).unwrap().unwrap();
            let found: Vec<Option<u32>> = found.into_iter().zip(&texts).map(|(r, t)| t.as_ref().map(|_| r)).collect();
            assert!(found == expected, "{}", chunks[0].data_type());
        }
    }

    #[test]
    fn decimals_are_ranked_and_a_stop_is_heard() {
        let decimals: ArrayRef =
            Arc::new(Decimal128Array::from(vec![Some(5), Some(-7), None, Some(i128::MAX), Some(5)]));
        let found = ranks(&[decimals], &TaskHandle::new()).unwrap().unwrap();
        assert_eq!([found[0], found[1], found[3], found[4]], [1, 0, 2, 1]);
        let task = TaskHandle::new();
        task.cancel();
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        assert!(ranks(&[texts], &task).is_err());
    }
}
