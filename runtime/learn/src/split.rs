//! Splitters: which rows train and which rows test. Seeds give the rows of `sklearn.model_selection` (`_split.py`).

mod groups;

use onrush_wire::learn::{Size, Splitter};

use crate::check::plural;
use crate::error::{Error, ErrorKind};
use crate::metrics::clusters::encode;
use crate::random::Mt19937;
use groups::Groups;

/// Rows of training and rows of test, as positions.
pub type RowSplit = (Vec<usize>, Vec<usize>);

/// The splits of a splitter.
///
/// `y` holds positions of classes for stratified splitters, `groups` the number of the group of each row. Both are
/// `rows` long. `is_classifier` decides what [`Splitter::Auto`] means: stratified folds, or consecutive folds.
///
/// # Errors
/// If there are too few rows, classes or groups for the splitter, or if it needs classes or groups that are not
/// there.
pub fn splits(
    splitter: &Splitter,
    rows: usize,
    y: Option<&[f64]>,
    is_classifier: bool,
    groups: Option<&[f64]>,
) -> Result<Vec<RowSplit>, Error> {
    let in_groups = |name: &str| Groups::of(name, groups);
    let n_groups = match splitter {
        Splitter::LeaveOneGroupOut => in_groups("LeaveOneGroupOut")?.count,
        Splitter::LeavePGroupsOut { .. } => in_groups("LeavePGroupsOut")?.count,
        _ => 0,
    };
    let (n_splits, most) = (splitter.n_splits(rows, n_groups), 1 << 28);
    if n_splits.saturating_mul(rows) > most {
        let message = format!("{n_splits} splits of {rows} rows are too many: at most {most} rows in all splits");
        return Err(Error::new(ErrorKind::Split, message).help("take fewer splits, such as `KFold` with 10 folds"));
    }
    if n_splits == 0 && !splitter.counts_rows() && !splitter.counts_groups() {
        return Err(Error::new(ErrorKind::Split, "the splitter makes 0 splits: at least 1"));
    }
    let classes = |name: &str| match y {
        Some(y) if is_classifier => Ok(y),
        _ => Err(Error::new(ErrorKind::Split, format!("{name} needs a target with classes"))
            .help("take `KFold` or `ShuffleSplit` for other targets")),
    };
    match splitter {
        Splitter::Auto { n_splits } => match y {
            Some(y) if is_classifier => stratified_folds(*n_splits, rows, y, None),
            _ => folds(*n_splits, rows, None),
        },
        Splitter::KFold { n_splits, shuffle, random_state } => {
            folds(*n_splits, rows, shuffle.then(|| Mt19937::new(*random_state)).as_mut())
        }
        Splitter::StratifiedKFold { n_splits, shuffle, random_state } => {
            let mut random = shuffle.then(|| Mt19937::new(*random_state));
            stratified_folds(*n_splits, rows, classes("StratifiedKFold")?, random.as_mut())
        }
        Splitter::GroupKFold { n_splits } => groups::group_folds(*n_splits, &in_groups("GroupKFold")?),
        Splitter::TimeSeriesSplit { n_splits, gap, test_size, max_train_size } => {
            time_series(*n_splits, rows, *gap, *test_size, *max_train_size)
        }
        Splitter::ShuffleSplit { n_splits, test_size, train_size, random_state } => {
            let (train, test) = sizes(rows, Some(*test_size), *train_size)?;
            let mut random = Mt19937::new(*random_state);
            Ok((0..*n_splits).map(|_| shuffled(rows, train, test, &mut random)).collect())
        }
        Splitter::StratifiedShuffleSplit { n_splits, test_size, train_size, random_state } => {
            let y = classes("StratifiedShuffleSplit")?;
            let sizes = sizes(rows, Some(*test_size), *train_size)?;
            stratified_shuffles(*n_splits, rows, y, sizes, &mut Mt19937::new(*random_state))
        }
        Splitter::RepeatedKFold { n_splits, n_repeats, random_state } => {
            repeated(*n_repeats, *random_state, |random| folds(*n_splits, rows, Some(random)))
        }
        Splitter::RepeatedStratifiedKFold { n_splits, n_repeats, random_state } => {
            let y = classes("RepeatedStratifiedKFold")?;
            repeated(*n_repeats, *random_state, |random| stratified_folds(*n_splits, rows, y, Some(random)))
        }
        Splitter::LeaveOneOut => leave_one_out(rows),
        Splitter::GroupShuffleSplit { n_splits, test_size, train_size, random_state } => {
            let (groups, mut random) = (in_groups("GroupShuffleSplit")?, Mt19937::new(*random_state));
            groups::group_shuffles(*n_splits, &groups, (*test_size, *train_size), &mut random)
        }
        Splitter::StratifiedGroupKFold { n_splits, shuffle, random_state } => {
            let (y, groups) = (classes("StratifiedGroupKFold")?, in_groups("StratifiedGroupKFold")?);
            let mut random = shuffle.then(|| Mt19937::new(*random_state));
            groups::stratified_group_folds(*n_splits, y, &groups, random.as_mut())
        }
        Splitter::LeaveOneGroupOut => groups::leave_groups_out("LeaveOneGroupOut", 1, &in_groups("LeaveOneGroupOut")?),
        Splitter::LeavePOut { p } => groups::leave_rows_out(*p, rows),
        Splitter::LeavePGroupsOut { n_groups } => {
            groups::leave_groups_out("LeavePGroupsOut", *n_groups, &in_groups("LeavePGroupsOut")?)
        }
    }
}

/// A note if a class has fewer rows than a stratified splitter has folds: some folds then test no row of the class.
pub fn small_class_note(splitter: &Splitter, y: &[f64], classes: &[String]) -> Option<String> {
    let n_splits = match splitter {
        Splitter::Auto { n_splits }
        | Splitter::StratifiedKFold { n_splits, .. }
        | Splitter::RepeatedStratifiedKFold { n_splits, .. }
        | Splitter::StratifiedGroupKFold { n_splits, .. } => *n_splits,
        _ => return None,
    };
    let mut counts = vec![0usize; classes.len()];
    y.iter().for_each(|class| counts[*class as usize] += 1);
    let (count, class) = counts.iter().zip(classes).filter(|(count, _)| **count > 0).min()?;
    let rows = plural(*count, "row");
    (*count < n_splits).then(|| format!("class `{class}` has {rows}, fewer than the {n_splits} folds"))
}

/// Checks that no class has a single row, which a stratified split cannot have in both sets.
///
/// # Errors
/// Names the class.
pub fn all_have_two(y: &[f64], classes: &[String]) -> Result<(), Error> {
    let mut counts = vec![0usize; classes.len()];
    if !classes.is_empty() {
        y.iter().for_each(|class| counts[*class as usize] += 1);
    }
    match counts.iter().position(|count| *count == 1) {
        Some(class) => {
            let class = &classes[class];
            let message = format!("class `{class}` has 1 row, and a stratified split needs 2 of each class");
            Err(Error::new(ErrorKind::Split, message).help("leave rare classes out, or split without `stratify`"))
        }
        None => Ok(()),
    }
}

/// One split into training and test rows: `sklearn.model_selection.train_test_split`.
///
/// `stratify` holds positions of classes; each class then has the same share in both sets. Without any size a quarter
/// of the rows is for test. Without `shuffle` the first rows are for training.
///
/// # Errors
/// If a size does not fit the rows, or a class is too small to be in both sets. If `stratify` is set without `shuffle`.
pub fn train_test_split(
    rows: usize,
    test_size: Option<Size>,
    train_size: Option<Size>,
    shuffle: bool,
    stratify: Option<&[f64]>,
    random_state: u32,
) -> Result<RowSplit, Error> {
    let default = (test_size.is_none() && train_size.is_none()).then_some(Size::Share(0.25));
    let sizes = sizes(rows, test_size.or(default), train_size)?;
    match (shuffle, stratify) {
        (false, None) => Ok(((0..sizes.0).collect(), (sizes.0..sizes.0 + sizes.1).collect())),
        (false, Some(_)) => Err(Error::new(ErrorKind::Split, "`stratify` is set and `shuffle` is false")
            .help("a stratified split shuffles: leave `shuffle` at true")),
        (true, stratify) => drawn(rows, sizes, stratify, &mut Mt19937::new(random_state)),
    }
}

/// The split of `train_test_split` whose `random_state` is a generator: it goes on from where `random` is.
///
/// # Errors
/// As [`train_test_split`].
pub(crate) fn train_test_split_with(
    rows: usize,
    test_size: Size,
    stratify: Option<&[f64]>,
    random: &mut Mt19937,
) -> Result<RowSplit, Error> {
    drawn(rows, sizes(rows, Some(test_size), None)?, stratify, random)
}

fn drawn(
    rows: usize,
    (train, test): (usize, usize),
    stratify: Option<&[f64]>,
    random: &mut Mt19937,
) -> Result<RowSplit, Error> {
    match stratify {
        None => Ok(shuffled(rows, train, test, random)),
        Some(y) => {
            let mut all = stratified_shuffles(1, rows, y, (train, test), random)?;
            Ok(all.swap_remove(0))
        }
    }
}

fn too_few(what: String, rows: usize) -> Error {
    let are = if rows == 1 { "is" } else { "are" };
    Error::new(ErrorKind::Split, format!("{what}, and there {are} {}", plural(rows, "row")))
}

fn at_least_two(n_splits: usize, rows: usize) -> Result<(), Error> {
    if n_splits < 2 {
        return Err(Error::new(ErrorKind::Split, format!("`n_splits` is {n_splits}: at least 2")));
    }
    if n_splits > rows {
        let error = too_few(format!("{n_splits} folds need as many rows"), rows);
        return Err(error.help("take a smaller `n_splits`"));
    }
    Ok(())
}

fn leave_one_out(rows: usize) -> Result<Vec<RowSplit>, Error> {
    if rows < 2 {
        return Err(too_few("LeaveOneOut needs at least 2 rows".to_string(), rows));
    }
    Ok((0..rows).map(|row| ((0..rows).filter(|r| *r != row).collect(), vec![row])).collect())
}

/// Rows of each fold from the number of the fold of each row.
fn by_fold(n_splits: usize, fold_of: &[usize]) -> Vec<RowSplit> {
    let split = |fold: usize| (0..fold_of.len()).partition(|row: &usize| fold_of[*row] != fold);
    (0..n_splits).map(split).collect()
}

fn folds(n_splits: usize, rows: usize, random: Option<&mut Mt19937>) -> Result<Vec<RowSplit>, Error> {
    at_least_two(n_splits, rows)?;
    let mut order: Vec<usize> = (0..rows).collect();
    if let Some(random) = random {
        random.shuffle(&mut order);
    }
    let mut fold_of = vec![0; rows];
    let mut start = 0;
    for fold in 0..n_splits {
        let size = rows / n_splits + usize::from(fold < rows % n_splits);
        order[start..start + size].iter().for_each(|row| fold_of[*row] = fold);
        start += size;
    }
    Ok(by_fold(n_splits, &fold_of))
}

fn counts(encoded: &[usize], classes: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    encoded.iter().for_each(|class| counts[*class] += 1);
    counts
}

fn stratified_folds(
    n_splits: usize,
    rows: usize,
    y: &[f64],
    mut random: Option<&mut Mt19937>,
) -> Result<Vec<RowSplit>, Error> {
    at_least_two(n_splits, rows)?;
    let (by_value, classes) = encode(y);
    // Classes are counted in the order in which they appear, so that names of classes do not change the folds.
    let mut rank = vec![usize::MAX; classes];
    let mut seen = 0;
    for class in &by_value {
        if rank[*class] == usize::MAX {
            rank[*class] = seen;
            seen += 1;
        }
    }
    let y: Vec<usize> = by_value.iter().map(|class| rank[*class]).collect();
    let counts = counts(&y, classes);
    let largest = counts.iter().copied().max().unwrap_or(0);
    if n_splits > largest {
        let message = format!("{n_splits} folds are more than the {largest} rows of the largest class");
        return Err(Error::new(ErrorKind::Split, message).help("take a smaller `n_splits`"));
    }
    // Round robin over the sorted classes says how many rows of a class a fold tests.
    let mut allocation = vec![vec![0usize; n_splits]; classes];
    let sorted = counts.iter().enumerate().flat_map(|(class, count)| std::iter::repeat_n(class, *count));
    sorted.enumerate().for_each(|(position, class)| allocation[class][position % n_splits] += 1);
    let mut next: Vec<std::vec::IntoIter<usize>> = Vec::new();
    for shares in &allocation {
        let mut folds: Vec<usize> =
            shares.iter().enumerate().flat_map(|(fold, n)| std::iter::repeat_n(fold, *n)).collect();
        if let Some(random) = random.as_deref_mut() {
            random.shuffle(&mut folds);
        }
        next.push(folds.into_iter());
    }
    let fold_of: Vec<usize> = y.iter().map(|class| next[*class].next().unwrap_or(0)).collect();
    Ok(by_fold(n_splits, &fold_of))
}

fn time_series(
    n_splits: usize,
    rows: usize,
    gap: usize,
    test_size: Option<usize>,
    max_train_size: Option<usize>,
) -> Result<Vec<RowSplit>, Error> {
    if n_splits < 2 {
        return Err(Error::new(ErrorKind::Split, format!("`n_splits` is {n_splits}: at least 2")));
    }
    if n_splits >= rows {
        let error = too_few(format!("{n_splits} splits need at least {} rows", n_splits.saturating_add(1)), rows);
        return Err(error.help("take a smaller `n_splits`"));
    }
    let test_size = test_size.unwrap_or(rows / (n_splits + 1));
    if test_size == 0 {
        return Err(Error::new(ErrorKind::Split, "`test_size` is 0: at least 1"));
    }
    let tested = test_size.saturating_mul(n_splits);
    if tested.saturating_add(gap) >= rows {
        let what = format!("{n_splits} splits of {test_size} test rows and a gap of {gap} leave no row for training");
        return Err(too_few(what, rows).help("take a smaller `n_splits`, `test_size` or `gap`"));
    }
    let split = |fold: usize| {
        let start = rows - tested + fold * test_size;
        let end = start - gap;
        let first = max_train_size.filter(|most| *most > 0 && *most < end).map_or(0, |most| end - most);
        ((first..end).collect(), (start..start + test_size).collect())
    };
    Ok((0..n_splits).map(split).collect())
}

fn repeated(
    n_repeats: usize,
    random_state: u32,
    mut once: impl FnMut(&mut Mt19937) -> Result<Vec<RowSplit>, Error>,
) -> Result<Vec<RowSplit>, Error> {
    if n_repeats == 0 {
        return Err(Error::new(ErrorKind::Split, "`n_repeats` is 0: at least 1"));
    }
    // One generator goes on through all repeats.
    let mut random = Mt19937::new(random_state);
    let mut all = Vec::new();
    for _ in 0..n_repeats {
        all.extend(once(&mut random)?);
    }
    Ok(all)
}

/// Numbers of rows for training and for test: `_validate_shuffle_split`.
fn sizes(rows: usize, test: Option<Size>, train: Option<Size>) -> Result<(usize, usize), Error> {
    for (name, size) in [("test_size", test), ("train_size", train)] {
        let wrong = |value: String| {
            let wanted = format!("a share between 0 and 1, or a number of rows from 1 to {}", rows.saturating_sub(1));
            Err(Error::new(ErrorKind::Split, format!("`{name}` is {value}: {wanted}")))
        };
        match size {
            Some(Size::Rows(n)) if n == 0 || n >= rows => return wrong(n.to_string()),
            Some(Size::Share(share)) if !(share > 0.0 && share < 1.0) => return wrong(share.to_string()),
            _ => {}
        }
    }
    if let (Some(Size::Share(a)), Some(Size::Share(b))) = (test, train)
        && a + b > 1.0
    {
        return Err(Error::new(
            ErrorKind::Split,
            format!("`test_size` and `train_size` add up to {}: at most 1", a + b),
        ));
    }
    let n_test = test.map(|size| match size {
        Size::Rows(n) => n,
        Size::Share(share) => (share * rows as f64).ceil() as usize,
    });
    let n_train = train.map(|size| match size {
        Size::Rows(n) => n,
        Size::Share(share) => (share * rows as f64).floor() as usize,
    });
    let n_test = n_test.unwrap_or_else(|| rows - n_train.unwrap_or(0).min(rows));
    let n_train = n_train.unwrap_or_else(|| rows - n_test.min(rows));
    if n_train.saturating_add(n_test) > rows {
        let what = format!("{n_train} rows for training and {n_test} for test are more than all");
        return Err(too_few(what, rows).help("take a smaller `test_size` or `train_size`"));
    }
    if n_train == 0 {
        return Err(too_few("no row is left for training".to_string(), rows).help("take a smaller `test_size`"));
    }
    Ok((n_train, n_test))
}

fn shuffled(rows: usize, train: usize, test: usize, random: &mut Mt19937) -> RowSplit {
    let order = random.permutation(rows);
    (order[test..test + train].to_vec(), order[..test].to_vec())
}

fn stratified_shuffles(
    n_splits: usize,
    rows: usize,
    y: &[f64],
    (train, test): (usize, usize),
    random: &mut Mt19937,
) -> Result<Vec<RowSplit>, Error> {
    let (y, classes) = encode(y);
    let counts = counts(&y, classes);
    if let Some(small) = counts.iter().position(|n| *n < 2) {
        let message = format!("class {small} of {classes} has 1 row, and a stratified split needs 2 of each class");
        return Err(Error::new(ErrorKind::Split, message).help("leave rare classes out, or split without `stratify`"));
    }
    for (name, n) in [("train_size", train), ("test_size", test)] {
        if n < classes {
            let message = format!("`{name}` gives {n} rows for {classes} classes: at least one row of each class");
            return Err(Error::new(ErrorKind::Split, message).help(format!("take a larger `{name}`")));
        }
    }
    let mut rows_of_class = vec![Vec::new(); classes];
    (0..rows).for_each(|row| rows_of_class[y[row]].push(row));
    let mut all = Vec::new();
    for _ in 0..n_splits {
        let of_train = random.approximate_mode(&counts, train);
        let left: Vec<usize> = counts.iter().zip(&of_train).map(|(n, taken)| n - taken).collect();
        let of_test = random.approximate_mode(&left, test);
        let mut split: RowSplit = (Vec::with_capacity(train), Vec::with_capacity(test));
        for (class, members) in rows_of_class.iter().enumerate() {
            let order = random.permutation(members.len());
            let (a, b) = (of_train[class], of_train[class] + of_test[class]);
            split.0.extend(order[..a].iter().map(|i| members[*i]));
            split.1.extend(order[a..b].iter().map(|i| members[*i]));
        }
        random.shuffle(&mut split.0);
        random.shuffle(&mut split.1);
        all.push(split);
    }
    Ok(all)
}
