//! Quantiles and modes of many groups at once. An accumulator for each group would be called once for each group and
//! batch.

use std::collections::HashMap;
use std::fmt;
use std::mem::size_of;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Int64Array, ListArray, PrimitiveArray};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Int64Type};
use arrow::row::{RowConverter, SortField};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};

/// Calls `each` for the rows that count: row and group.
fn for_rows(groups: &[usize], filter: Option<&BooleanArray>, mut each: impl FnMut(usize, usize)) {
    for (row, group) in groups.iter().enumerate() {
        if filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row)) {
            each(row, *group);
        }
    }
}

/// Lists of values that lie one after another, cut at `ends`.
fn lists(values: ArrayRef, lengths: impl IntoIterator<Item = usize>) -> Result<ArrayRef> {
    if values.len() > i32::MAX as usize {
        return exec_err!("a state of {} values is too large: at most {}", values.len(), i32::MAX);
    }
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Ok(Arc::new(ListArray::new(field, OffsetBuffer::from_lengths(lengths), values, None)))
}

/// The values of all groups in the order of arrival, and what is made of each group's values at the end.
pub struct GroupedValues<T: ArrowPrimitiveType, F> {
    groups: Vec<u32>,
    values: Vec<T::Native>,
    made: F,
    dtype: DataType,
}

impl<T: ArrowPrimitiveType, F> fmt::Debug for GroupedValues<T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupedValues({})", self.values.len())
    }
}

impl<T: ArrowPrimitiveType, F: Fn(&mut [T::Native]) -> Result<ScalarValue>> GroupedValues<T, F> {
    /// `made` may put values in another order; nulls are not among them. `dtype` is that of its results.
    pub fn new(made: F, dtype: DataType) -> Self {
        GroupedValues { groups: Vec::new(), values: Vec::new(), made, dtype }
    }

    /// The values of the first `count` groups, one group after another, and where each group ends. They are removed,
    /// and the others' numbers go down.
    fn take(&mut self, count: usize) -> (Vec<T::Native>, Vec<usize>) {
        let mut ends = vec![0_usize; count + 1];
        self.groups.iter().map(|g| *g as usize).filter(|g| *g < count).for_each(|g| ends[g + 1] += 1);
        (0..count).for_each(|g| ends[g + 1] += ends[g]);
        let mut next = ends.clone();
        let mut sorted = vec![T::default_value(); ends[count]];
        let mut kept = 0;
        for at in 0..self.groups.len() {
            let (group, value) = (self.groups[at] as usize, self.values[at]);
            if group < count {
                sorted[next[group]] = value;
                next[group] += 1;
            } else {
                (self.groups[kept], self.values[kept]) = ((group - count) as u32, value);
                kept += 1;
            }
        }
        // State that is given away is dropped: the caller counts on the memory.
        self.groups.truncate(kept);
        self.groups.shrink_to(2 * kept);
        self.values.truncate(kept);
        self.values.shrink_to(2 * kept);
        (sorted, ends)
    }
}

impl<T: ArrowPrimitiveType, F> GroupedValues<T, F> {
    fn lengths(&self, groups: usize) -> Vec<usize> {
        let mut lengths = vec![0; groups];
        self.groups.iter().for_each(|group| lengths[*group as usize] += 1);
        lengths
    }

    fn add(&mut self, group: usize, values: &PrimitiveArray<T>, row: usize) {
        if values.is_valid(row) {
            self.groups.push(group as u32);
            self.values.push(values.value(row));
        }
    }
}

/// An accumulator that remembers how many groups there are.
#[derive(Debug)]
pub struct GroupCounter<A> {
    inner: A,
    groups: usize,
}

impl<A> GroupCounter<A> {
    pub fn new(inner: A) -> Self {
        GroupCounter { inner, groups: 0 }
    }

    fn emitted(&mut self, emit: EmitTo) -> usize {
        let count = match emit {
            EmitTo::All => self.groups,
            EmitTo::First(n) => n,
        };
        self.groups -= count;
        count
    }
}

impl<T, F> GroupsAccumulator for GroupCounter<GroupedValues<T, F>>
where
    T: ArrowPrimitiveType + Send,
    F: Fn(&mut [T::Native]) -> Result<ScalarValue> + Send + Sync + 'static,
{
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.groups = total;
        let values = cast(&values[0], &T::DATA_TYPE)?;
        let values = values.as_primitive::<T>();
        for_rows(groups, filter, |row, group| self.inner.add(group, values, row));
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let count = self.emitted(emit);
        let (mut values, ends) = self.inner.take(count);
        let mut results = Vec::with_capacity(count);
        for group in 0..count {
            results.push((self.inner.made)(&mut values[ends[group]..ends[group + 1]])?);
        }
        match results.is_empty() {
            true => Ok(arrow::array::new_empty_array(&self.inner.dtype)),
            false => ScalarValue::iter_to_array(results),
        }
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let count = self.emitted(emit);
        let (values, ends) = self.inner.take(count);
        let values = PrimitiveArray::<T>::new(ScalarBuffer::from(values), None).with_data_type(T::DATA_TYPE);
        Ok(vec![lists(Arc::new(values), ends.windows(2).map(|pair| pair[1] - pair[0]))?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.groups = total;
        let lists = states[0].as_list::<i32>();
        let values = lists.values().as_primitive::<T>();
        for_rows(groups, None, |row, group| {
            let range = lists.value_offsets()[row] as usize..lists.value_offsets()[row + 1] as usize;
            if lists.is_valid(row) {
                range.for_each(|at| self.inner.add(group, values, at));
            }
        });
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let values = cast(&values[0], &T::DATA_TYPE)?;
        let rows: Vec<usize> = (0..values.len()).collect();
        let mut alone = GroupedValues { groups: Vec::new(), values: Vec::new(), made: (), dtype: T::DATA_TYPE };
        for_rows(&rows, filter, |row, group| alone.add(group, values.as_primitive::<T>(), row));
        let lengths = alone.lengths(rows.len());
        let values = PrimitiveArray::<T>::new(ScalarBuffer::from(alone.values), None);
        Ok(vec![lists(Arc::new(values), lengths)?])
    }

    fn size(&self) -> usize {
        self.inner.groups.capacity() * size_of::<u32>() + self.inner.values.capacity() * size_of::<T::Native>()
    }
}

/// How often each value occurs in each group.
pub struct GroupedCounts {
    dtype: DataType,
    converter: RowConverter,
    /// Distinct values as rows of `converter`, whose bytes are in the order of the values.
    codes: HashMap<Box<[u8]>, u32>,
    rows: Vec<Box<[u8]>>,
    counts: HashMap<(u32, u32), i64>,
    bytes: usize,
}

impl fmt::Debug for GroupedCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupedCounts({})", self.counts.len())
    }
}

impl GroupedCounts {
    /// # Errors
    /// If values of this type cannot be compared.
    pub fn new(dtype: &DataType) -> Result<Self> {
        let converter = RowConverter::new(vec![SortField::new(dtype.clone())])?;
        Ok(GroupedCounts {
            dtype: dtype.clone(),
            converter,
            codes: HashMap::new(),
            rows: Vec::new(),
            counts: HashMap::new(),
            bytes: 0,
        })
    }

    /// The codes of values.
    fn codes(&mut self, values: &ArrayRef) -> Result<Vec<u32>> {
        let rows = self.converter.convert_columns(&[Arc::clone(values)])?;
        let mut codes = Vec::with_capacity(rows.num_rows());
        for row in rows.iter() {
            let bytes: &[u8] = row.as_ref();
            codes.push(match self.codes.get(bytes) {
                Some(code) => *code,
                None => {
                    let code = self.rows.len() as u32;
                    self.rows.push(bytes.into());
                    self.codes.insert(bytes.into(), code);
                    self.bytes += 2 * (bytes.len() + size_of::<Box<[u8]>>()) + size_of::<u32>();
                    code
                }
            });
        }
        Ok(codes)
    }

    fn values(&self, codes: impl Iterator<Item = Option<u32>>) -> Result<ArrayRef> {
        // The bytes of a null differ from those of each value.
        let null = self.converter.convert_columns(&[arrow::array::new_null_array(&self.dtype, 1)])?;
        let parser = self.converter.parser();
        let null = null.row(0);
        let rows = codes.map(|code| match code {
            Some(code) => parser.parse(&self.rows[code as usize]),
            None => parser.parse(null.data()),
        });
        Ok(cast(&self.converter.convert_rows(rows)?.remove(0), &self.dtype)?)
    }

    /// Lets go of values that no group counts any more.
    fn forget(&mut self) {
        self.counts.shrink_to(2 * self.counts.len());
        if self.counts.is_empty() {
            (self.codes, self.rows, self.bytes) = (HashMap::new(), Vec::new(), 0);
        }
    }

    /// Takes the counts of the first `count` groups, in the order of groups and values. The numbers of the other groups
    /// go down.
    fn take(&mut self, count: usize) -> Vec<(u32, u32, i64)> {
        let all = std::mem::take(&mut self.counts);
        let mut taken = Vec::new();
        for ((group, code), times) in all {
            match (group as usize) < count {
                true => taken.push((group, code, times)),
                false => {
                    self.counts.insert((group - count as u32, code), times);
                }
            }
        }
        taken
            .sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.rows[a.1 as usize].cmp(&self.rows[b.1 as usize])));
        taken
    }
}

impl GroupsAccumulator for GroupCounter<GroupedCounts> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.groups = total;
        let codes = self.inner.codes(&values[0])?;
        for_rows(groups, filter, |row, group| {
            if values[0].is_valid(row) {
                *self.inner.counts.entry((group as u32, codes[row])).or_default() += 1;
            }
        });
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let count = self.emitted(emit);
        let mut best: Vec<Option<(u32, i64)>> = vec![None; count];
        // In the order of values: the smallest of those that are equally frequent comes first.
        for (group, code, times) in self.inner.take(count) {
            let best = &mut best[group as usize];
            if best.is_none_or(|(_, most)| times > most) {
                *best = Some((code, times));
            }
        }
        let found = self.inner.values(best.into_iter().map(|best| best.map(|(code, _)| code)))?;
        self.inner.forget();
        Ok(found)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let count = self.emitted(emit);
        let taken = self.inner.take(count);
        let mut lengths = vec![0; count];
        taken.iter().for_each(|(group, ..)| lengths[*group as usize] += 1);
        let values = self.inner.values(taken.iter().map(|(_, code, _)| Some(*code)))?;
        let counts: ArrayRef = Arc::new(Int64Array::from_iter_values(taken.iter().map(|(.., times)| *times)));
        self.inner.forget();
        Ok(vec![lists(values, lengths.clone())?, lists(counts, lengths)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.groups = total;
        let (values, counts) = (states[0].as_list::<i32>(), states[1].as_list::<i32>());
        let codes = self.inner.codes(values.values())?;
        let times = counts.values().as_primitive::<Int64Type>();
        for_rows(groups, None, |row, group| {
            let (first, from) = (values.value_offsets()[row] as usize, counts.value_offsets()[row] as usize);
            for at in 0..values.value_length(row) as usize {
                *self.inner.counts.entry((group as u32, codes[first + at])).or_default() += times.value(from + at);
            }
        });
        Ok(())
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let mut alone = GroupCounter::new(GroupedCounts::new(&self.inner.dtype)?);
        let rows: Vec<usize> = (0..values[0].len()).collect();
        alone.update_batch(values, &rows, filter, rows.len())?;
        alone.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.inner.bytes + self.inner.counts.capacity() * (size_of::<(u32, u32)>() + size_of::<i64>())
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float64Array, StringViewArray};
    use arrow::datatypes::Float64Type;

    use super::*;

    fn sums() -> GroupCounter<GroupedValues<Float64Type, impl Fn(&mut [f64]) -> Result<ScalarValue>>> {
        // Not the same for other orders of values.
        let made = |values: &mut [f64]| Ok(ScalarValue::Float64(values.iter().copied().reduce(|a, b| 10.0 * a + b)));
        GroupCounter::new(GroupedValues::new(made, DataType::Float64))
    }

    fn floats(values: &[Option<f64>]) -> ArrayRef {
        Arc::new(Float64Array::from(values.to_vec()))
    }

    #[test]
    fn values_keep_their_order_and_groups_are_given_in_parts() {
        let mut all = sums();
        let first = floats(&[Some(1.0), Some(2.0), None, Some(3.0)]);
        all.update_batch(&[first], &[0, 1, 0, 0], None, 2).unwrap();
        let filter = BooleanArray::from(vec![Some(true), Some(false), None]);
        let second = floats(&[Some(4.0), Some(5.0), Some(6.0)]);
        all.update_batch(&[second], &[2, 2, 0], Some(&filter), 4).unwrap();
        let part = all.evaluate(EmitTo::First(1)).unwrap();
        assert_eq!(part.as_ref(), floats(&[Some(13.0)]).as_ref());
        // Group 1 is 0 now.
        all.update_batch(&[floats(&[Some(7.0)])], &[0], None, 3).unwrap();
        let states = all.state(EmitTo::All).unwrap();
        let mut other = sums();
        other.merge_batch(&states, &[1, 0, 1], 3).unwrap();
        let found = other.evaluate(EmitTo::All).unwrap();
        assert_eq!(found.as_ref(), floats(&[Some(4.0), Some(27.0), None]).as_ref());
    }

    #[test]
    fn modes_are_the_most_frequent_values_and_the_smallest_of_several() {
        let strings = |values: &[Option<&str>]| Arc::new(StringViewArray::from(values.to_vec())) as ArrayRef;
        let new = || GroupCounter::new(GroupedCounts::new(&DataType::Utf8View).unwrap());
        let mut all = new();
        let values = strings(&[Some("b"), Some("a"), Some("b"), None, Some("c"), Some("c"), Some("d")]);
        all.update_batch(&[values], &[0, 0, 0, 1, 2, 2, 2], None, 4).unwrap();
        let mut other = new();
        other.update_batch(&[strings(&[Some("a"), Some("a"), Some("d")])], &[0, 0, 1], None, 2).unwrap();
        all.merge_batch(&other.state(EmitTo::All).unwrap(), &[0, 2], 4).unwrap();
        assert_eq!(all.evaluate(EmitTo::First(2)).unwrap().as_ref(), strings(&[Some("a"), None]).as_ref());
        assert_eq!(all.evaluate(EmitTo::All).unwrap().as_ref(), strings(&[Some("c"), None]).as_ref());
    }
}
