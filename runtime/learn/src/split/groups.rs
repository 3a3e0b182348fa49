//! Splitters by group: rows of one group are on one side of a split.

use super::{RowSplit, at_least_two, by_fold, counts, shuffled, sizes, too_few};
use crate::error::{Error, ErrorKind};
use crate::metrics::clusters::encode;
use crate::random::Mt19937;
use crate::sums::numpy_sum;

/// The group of each row as a position in the sorted groups, and how many groups there are.
pub(super) struct Groups {
    pub of_row: Vec<usize>,
    pub count: usize,
}

impl Groups {
    /// # Errors
    /// If there are no groups, or a row has none. `splitter` is for the message.
    pub fn of(splitter: &str, groups: Option<&[f64]>) -> Result<Self, Error> {
        let groups = groups.ok_or_else(|| {
            Error::new(ErrorKind::Split, format!("{splitter} needs a column of groups"))
                .help("name it with `.groups(..)`")
        })?;
        if groups.iter().any(|g| g.is_nan()) {
            return Err(Error::new(ErrorKind::Split, "the column of groups has nulls")
                .help("`drop_nulls()` leaves these rows out"));
        }
        let (of_row, count) = encode(groups);
        Ok(Groups { of_row, count })
    }

    fn enough(&self, n_splits: usize) -> Result<(), Error> {
        if n_splits > self.count {
            let message = format!("{n_splits} folds need as many groups, and there are {}", self.count);
            return Err(Error::new(ErrorKind::Split, message).help("take a smaller `n_splits`"));
        }
        Ok(())
    }

    /// Rows of these groups, and all others.
    fn split(&self, is_test: impl Fn(usize) -> bool) -> RowSplit {
        (0..self.of_row.len()).partition(|row| !is_test(self.of_row[*row]))
    }
}

pub(super) fn group_folds(n_splits: usize, groups: &Groups) -> Result<Vec<RowSplit>, Error> {
    at_least_two(n_splits, groups.of_row.len())?;
    groups.enough(n_splits)?;
    let sizes = counts(&groups.of_row, groups.count);
    let mut order: Vec<usize> = (0..groups.count).collect();
    order.sort_by_key(|group| sizes[*group]);
    // The largest group goes first, each into the fold with the fewest rows.
    let mut rows_of_fold = vec![0usize; n_splits];
    let mut fold_of_group = vec![0; groups.count];
    for group in order.into_iter().rev() {
        let lightest = (0..n_splits).min_by_key(|fold| rows_of_fold[*fold]).unwrap_or(0);
        rows_of_fold[lightest] += sizes[group];
        fold_of_group[group] = lightest;
    }
    let fold_of: Vec<usize> = groups.of_row.iter().map(|group| fold_of_group[*group]).collect();
    Ok(by_fold(n_splits, &fold_of))
}

/// Random splits of the groups.
pub(super) fn group_shuffles(
    n_splits: usize,
    groups: &Groups,
    (test, train): (onrush_wire::learn::Size, Option<onrush_wire::learn::Size>),
    random: &mut Mt19937,
) -> Result<Vec<RowSplit>, Error> {
    let of_groups = |error: Error| Error { message: format!("groups are split: {}", error.message), ..error };
    let (train, test) = sizes(groups.count, Some(test), train).map_err(of_groups)?;
    let one = |_| {
        let (of_train, of_test) = shuffled(groups.count, train, test, random);
        let mut side = vec![None; groups.count];
        of_train.into_iter().for_each(|group| side[group] = Some(true));
        of_test.into_iter().for_each(|group| side[group] = Some(false));
        let rows = |wanted: bool| {
            (0..groups.of_row.len()).filter(|row| side[groups.of_row[*row]] == Some(wanted)).collect::<Vec<usize>>()
        };
        (rows(true), rows(false))
    };
    Ok((0..n_splits).map(one).collect())
}

/// Folds of whole groups with about the same shares of classes, by scikit-learn's greedy rule. Groups with the most
/// uneven classes go first, each into the fold that leaves the shares of the folds nearest to each other.
pub(super) fn stratified_group_folds(
    n_splits: usize,
    y: &[f64],
    groups: &Groups,
    random: Option<&mut Mt19937>,
) -> Result<Vec<RowSplit>, Error> {
    at_least_two(n_splits, y.len())?;
    let (class_of, classes) = encode(y);
    let of_class = counts(&class_of, classes);
    let largest = of_class.iter().copied().max().unwrap_or(0);
    if n_splits > largest {
        let message = format!("{n_splits} folds are more than the {largest} rows of the largest class");
        return Err(Error::new(ErrorKind::Split, message).help("take a smaller `n_splits`"));
    }
    groups.enough(n_splits)?;
    let mut of_group = vec![vec![0.0; classes]; groups.count];
    groups.of_row.iter().zip(&class_of).for_each(|(group, class)| of_group[*group][*class] += 1.0);
    let mut order: Vec<usize> = (0..groups.count).collect();
    if let Some(random) = random {
        random.shuffle(&mut order);
    }
    let spreads: Vec<f64> = of_group.iter().map(|counts| deviation(counts)).collect();
    order.sort_by(|a, b| spreads[*b].total_cmp(&spreads[*a]));
    let mut of_fold = vec![vec![0.0; classes]; n_splits];
    let mut fold_of_group = vec![0; groups.count];
    for group in order {
        let fold = best_fold(&mut of_fold, &of_class, &of_group[group]);
        of_fold[fold].iter_mut().zip(&of_group[group]).for_each(|(all, own)| *all += own);
        fold_of_group[group] = fold;
    }
    let fold_of: Vec<usize> = groups.of_row.iter().map(|group| fold_of_group[*group]).collect();
    Ok(by_fold(n_splits, &fold_of))
}

/// The population's standard deviation, with the sums of numpy: its ties decide.
fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = numpy_sum(values) / n;
    let squares: Vec<f64> = values.iter().map(|v| (v - mean) * (v - mean)).collect();
    (numpy_sum(&squares) / n).sqrt()
}

/// `_find_best_fold` of scikit-learn.
fn best_fold(of_fold: &mut [Vec<f64>], of_class: &[usize], group: &[f64]) -> usize {
    let (mut best, mut least, mut fewest) = (0, f64::INFINITY, f64::INFINITY);
    for fold in 0..of_fold.len() {
        of_fold[fold].iter_mut().zip(group).for_each(|(all, own)| *all += own);
        let spread = |class: usize| {
            // numpy sums over the folds one after the other.
            let shares: Vec<f64> = of_fold.iter().map(|counts| counts[class] / of_class[class] as f64).collect();
            let n = shares.len() as f64;
            let mean = shares.iter().sum::<f64>() / n;
            (shares.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n).sqrt()
        };
        let spreads: Vec<f64> = (0..of_class.len()).map(spread).collect();
        let value = numpy_sum(&spreads) / spreads.len() as f64;
        of_fold[fold].iter_mut().zip(group).for_each(|(all, own)| *all -= own);
        let rows: f64 = of_fold[fold].iter().sum();
        let is_close = least.is_finite() && (value - least).abs() <= 1e-8 + 1e-5 * least.abs();
        if value < least || (is_close && rows < fewest) {
            (best, least, fewest) = (fold, value, rows);
        }
    }
    best
}

/// Each set of `size` groups is a test set, in the order of `itertools.combinations`.
pub(super) fn leave_groups_out(splitter: &str, size: usize, groups: &Groups) -> Result<Vec<RowSplit>, Error> {
    if size == 0 {
        return Err(Error::new(ErrorKind::Split, "`n_groups` is 0: at least 1"));
    }
    if groups.count <= size {
        let message = format!("{splitter} needs at least {} groups, and there are {}", size + 1, groups.count);
        return Err(Error::new(ErrorKind::Split, message));
    }
    let split = |test: Vec<usize>| groups.split(|group| test.binary_search(&group).is_ok());
    Ok(combinations(groups.count, size).map(split).collect())
}

/// Each set of `p` rows is a test set.
pub(super) fn leave_rows_out(p: usize, rows: usize) -> Result<Vec<RowSplit>, Error> {
    if p == 0 {
        return Err(Error::new(ErrorKind::Split, "`p` is 0: at least 1"));
    }
    if p >= rows {
        return Err(too_few(format!("LeavePOut of {p} rows needs more rows"), rows));
    }
    let split = |test: Vec<usize>| ((0..rows).filter(|row| test.binary_search(row).is_err()).collect(), test);
    Ok(combinations(rows, p).map(split).collect())
}

/// The sets of `size` out of `all` numbers, each sorted, in lexicographic order.
fn combinations(all: usize, size: usize) -> impl Iterator<Item = Vec<usize>> {
    let first = (size <= all).then(|| (0..size).collect::<Vec<usize>>());
    std::iter::successors(first, move |now| {
        let place = (0..size).rev().find(|k| now[*k] < all - size + k)?;
        let mut next = now.clone();
        next[place] += 1;
        (place + 1..size).for_each(|k| next[k] = next[k - 1] + 1);
        Some(next)
    })
}
